/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes: sums of uint8 times int8 in int32, exact on every
 * instruction set, and what is made of the sums: floats, or uint8 again.
 *
 * As in gemm_f32.h, A is given by row pointers, one for each row of the tile
 * and each of `taps` runs of K. B is packed in panels of 16 columns, in groups
 * of BSM_K_INT8_DEPTH bytes along K: [K / 4][16][4], the order in which one
 * instruction multiplies and adds them. A is read in whole groups. */
#ifndef BSM_KERNELS_INT8_H_
#define BSM_KERNELS_INT8_H_

#include <stdbool.h>
#include <stdint.h>

#include "backend/cpu/kernels/copy_runs.h"
#include "backend/cpu/kernels/int8/int8_winograd.h"
#include "backend/cpu/kernels/kernel_isa.h"

#define BSM_K_INT8_PANEL 16
#define BSM_K_INT8_DEPTH 4 /* bytes of a column in a group */
#define BSM_K_INT8_MAX_ROWS 16
#define BSM_K_INT8_ROWS 12 /* of a tile without `levels` */
#define BSM_K_INT8_MAX_COLUMNS 32
#define BSM_K_INT8_MAX_TAPS 52

/* Where four bytes of a row of A are. */
typedef struct bsm_k_int8_place {
  int32_t tap, offset; /* offset: bytes from the row's pointer of the tap */
} bsm_k_int8_place;

/* A pair of weights, and which of the pairs of bytes of a row it multiplies:
 * of all taps in a row. */
typedef struct bsm_k_int8_piece {
  int32_t pair;
  int16_t w[2];
} bsm_k_int8_piece;

/* What is missing from a B that is made smaller so that no sum saturates (see
 * `split`): groups of 4 bytes of `split` columns each. Those of unit i, which
 * is `split` columns, are first[i] .. first[i + 1] - 1. With `levels` a unit is
 * a column, and has pieces. */
typedef struct bsm_k_int8_rest {
  const int32_t *first;
  const bsm_k_int8_place *places;
  const int8_t *b; /* [4 * split] for each */
  const bsm_k_int8_piece *pieces;
} bsm_k_int8_rest;

typedef struct bsm_k_int8_tile {
  const uint8_t *const *a; /* [taps][rows] */
  int64_t rows;            /* 1 .. BSM_K_INT8_MAX_ROWS */
  int64_t taps, groups;    /* groups of 4 bytes in each tap */
  const int8_t *b;         /* first panel */
  int64_t b_panel;         /* bytes from one panel to the next */
  int64_t panels;          /* 1 or 2 */
  const int32_t *offset;   /* [16 * panels], what sums begin with */
  int32_t *sums;           /* [rows][BSM_K_INT8_MAX_COLUMNS] */
  bsm_k_int8_rest rest;    /* from the first panel's units on; `split` only */
  int32_t level;           /* with `levels` only */
  /* With pieces only: what `arrange` has made of the rows of A, for all
   * columns. 64 * groups * taps * (rows > 8 ? 2 : 1) bytes are enough. */
  uint8_t *arranged;
} bsm_k_int8_tile;

/* A level at which all weights are safe: groups of B are the sizes of weights
 * as uint8, and 64 bytes of masks behind them. Of bytes of A that have been
 * xored with these, as int8, sums are made. A mask is 0x80 for a weight that is
 * not negative, which takes 128 off the byte, and else 0x7f, which takes the
 * byte off 127: offsets hold what sums lack. */
#define BSM_K_INT8_MASKED 0
#define BSM_K_INT8_MASK(w) ((int8_t)((w) < 0 ? INT8_MAX : INT8_MIN))
#define BSM_K_INT8_LACK(w) ((w) * ((w) < 0 ? 127 : 128))

/* sums[r][c] = offset[c] + sum over the taps t of
 * a[t][r][column + c] * w[t][column + c]: of each map by itself. */
typedef struct bsm_k_int8_depthwise {
  const uint8_t *const *a; /* [taps][rows] */
  int64_t rows, taps;
  int64_t column, n; /* 1 .. BSM_K_INT8_MAX_COLUMNS */
  const int8_t *w;
  int64_t w_tap;         /* in whole panels */
  const int32_t *offset; /* [BSM_K_INT8_MAX_COLUMNS] */
  int32_t *sums;         /* [rows][BSM_K_INT8_MAX_COLUMNS] */
} bsm_k_int8_depthwise;
typedef void bsm_k_int8_depthwise_kernel(const bsm_k_int8_depthwise *args);

/* Whether a pair of weights may be multiplied by any two uint8 and summed in an
 * int16: what is positive in it, and what is negative, is at most 128. */
static inline int bsm_k_int8_is_safe(const int8_t *pair) {
  const int a = pair[0], b = pair[1];
  return (a > 0 ? a : 0) + (b > 0 ? b : 0) <= 128 &&
         (a < 0 ? -a : 0) + (b < 0 ? -b : 0) <= 128;
}

typedef struct bsm_k_int8_product {
  const char *name;
  /* Not 0: sums of pairs of products are int16, so that all pairs of B have to
   * be safe, and those of `rest` too, which has units of so many columns. */
  int32_t split;
  /* Besides, as many pairs as `level` of the tile says, 1, 2 or 4 of as many
   * groups in a row, are summed in int16; what is left in a tap one by one.
   * Tiles have up to BSM_K_INT8_MAX_ROWS rows then, and with a rest they are
   * arranged before. */
  bool levels;
  void (*arrange)(const bsm_k_int8_tile *args);
  void (*tile)(const bsm_k_int8_tile *args);
  /* Of BSM_K_INT8_MAX_COLUMNS columns and at most BSM_K_INT8_MAX_TAPS taps;
   * NULL: there is no such kernel. With `split` it masks bytes. */
  bsm_k_int8_depthwise_kernel *depthwise;
} bsm_k_int8_product;

/* How floats become uint8: clamp(round(x * inverse) + zero, least, greatest),
 * half to even; NaN becomes `least`. */
typedef struct bsm_k_int8_grid {
  float inverse;
  int32_t zero, least, greatest;
} bsm_k_int8_grid;

/* v = sum * scale[c] + bias[c], each rounded; plus the residual:
 * a float, or (byte - residual_zero) * residual_scale; then
 * min(max(v, lo), hi); stored as a float or on the grid. Exactly n columns are
 * touched but for sums, scale and bias, which have whole panels. */
typedef struct bsm_k_int8_finish {
  const int32_t *sums; /* [rows][BSM_K_INT8_MAX_COLUMNS] */
  int64_t rows, n;     /* columns, 1 .. BSM_K_INT8_MAX_COLUMNS */
  const float *scale, *bias;
  int64_t column;   /* added to the pointers to rows of the residual */
  int64_t y_column; /* and to those of the output */
  const float *const *residual;
  const uint8_t *const *residual_bytes; /* NULL, both: no residual */
  float residual_scale;
  int32_t residual_zero;
  float lo, hi;
  float *const *y; /* [rows]; NULL: to y_bytes */
  uint8_t *const *y_bytes;
  bsm_k_int8_grid grid;
} bsm_k_int8_finish;

#define BSM_K_INT8_TILE_ROWS 16
#define BSM_K_INT8_TILE_DEPTH 64

/* A product in tiles of `rows` rows and `depth` bytes along K. Tile i of A
 * begins i * depth bytes from the row's start, and that of B at K = i * depth,
 * but the last of B at K = last: where depth divides no K, it has bytes of the
 * tile before again, and A has zeros for these. */
typedef struct bsm_k_int8_tiles {
  const uint8_t *a;
  int64_t a_row; /* bytes from one row to the next */
  int32_t rows;  /* of a tile, all of which are read */
  bool two;      /* tiles of rows, not one */
  int64_t depth, count, last;
  const int8_t *b; /* as in bsm_k_int8_tile */
  int64_t b_panel, panels;
  const int32_t *offset; /* [16 * panels], what sums begin with */
  int32_t *sums;         /* [rows, or 2 * rows][BSM_K_INT8_MAX_COLUMNS] */
} bsm_k_int8_tiles;

/* The ends of rows that are copied: of `size` bytes, those from `at` on move by
 * `gap`; what is before and behind them in a tile becomes zeros. 64 bytes from
 * `at` on are written. */
typedef struct bsm_k_int8_tile_ends {
  uint8_t *to;
  int64_t rows, to_row, size, at, gap;
} bsm_k_int8_tile_ends;

/* With registers of tiles: a thread calls begin before a product and end
 * after. */
typedef struct bsm_k_int8_tile_product {
  const char *name;
  void (*begin)(int32_t rows, int64_t depth);
  void (*multiply)(const bsm_k_int8_tiles *args);
  void (*end)(void);
  /* Up to 63 bytes behind the runs of a row are written. */
  bsm_k_copy_runs *copy;
  void (*fill_up)(const bsm_k_int8_tile_ends *args);
} bsm_k_int8_tile_product;

typedef struct bsm_k_int8 {
  const bsm_k_int8_product *product;
  /* With instructions that multiply and add bytes, which need `vnni_isa`. */
  const bsm_k_int8_product *vnni;
  uint32_t vnni_isa;
  const bsm_k_int8_tile_product *tiles; /* NULL: none, whatever the CPU has */
  const bsm_k_int8_winograd *winograd;  /* NULL: none; beside `product` */
  bsm_k_int8_depthwise_kernel *depthwise;
  void (*finish)(const bsm_k_int8_finish *args);
  /* The same to bytes, without a residual of floats, where clamps do not
   * exclude each other and nothing exceeds an int32; NULL: there is none. */
  void (*finish_bytes)(const bsm_k_int8_finish *args);
  /* y[i] = x[i] on the grid, for i < n. */
  void (*quantize)(const float *x, int64_t n, const bsm_k_int8_grid *grid,
                   uint8_t *y);
  /* y[i] = max(y[i], x[i]) for i < n. */
  void (*greatest)(const uint8_t *x, int64_t n, uint8_t *y);
  /* y[i] = (x[i] - zero) * scale, each rounded. */
  void (*widen)(const uint8_t *x, int64_t n, float zero, float scale, float *y);
  void (*widen_signed)(const int8_t *x, int64_t n, float zero, float scale,
                       float *y);
  /* y[i] = the low byte of x[i] without its fraction. */
  void (*narrow)(const float *x, int64_t n, uint8_t *y);
  /* y[i] = table[x[i]]; of 256 bytes. */
  void (*look_up)(const uint8_t *x, int64_t n, const uint8_t *table,
                  uint8_t *y);
} bsm_k_int8;

BSM_K_FAMILY(int8)

#endif /* BSM_KERNELS_INT8_H_ */
