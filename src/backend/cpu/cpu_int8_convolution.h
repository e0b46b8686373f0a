/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution of bytes, and what its ways to compute it share. */
#ifndef BSM_BACKEND_CPU_INT8_CONVOLUTION_H_
#define BSM_BACKEND_CPU_INT8_CONVOLUTION_H_

#include "backend/cpu/cpu_byte_windows.h"
#include "backend/cpu/cpu_int8_split.h"

/* How a product is cut into tiles of registers (kernels/int8/int8.h). */
typedef struct bsm_cpu_int8_tiling {
  int32_t rows;               /* of a tile */
  int64_t depth, count, last; /* along K */
  bool copies;                /* windows; else rows are read where they are */
  int64_t a_row;              /* bytes from one row of A to the next */
  int64_t copy_row;           /* the same of copies */
} bsm_cpu_int8_tiling;

/* A convolution by Winograd's algorithm. */
typedef struct bsm_cpu_int8_winograd {
  const bsm_k_int8_winograd *kernels; /* NULL: it is not */
  const int16_t *u;
  int64_t panel;        /* elements of U of 16 columns */
  int64_t pairs, v_row; /* of maps of input; elements of a tile's row of V */
  int64_t tiles, block, blocks; /* all, of a block, how many blocks */
  int64_t columns;              /* of a unit */
} bsm_cpu_int8_winograd;

typedef struct bsm_cpu_int8_convolution {
  bsm_cpu_impl base;
  const bsm_k_int8 *kernels;
  const bsm_k_int8_product *product;
  const bsm_k_int8_tile_product *tiles; /* instead of the product, or NULL */
  const bsm_step_int8_convolution *params;
  bsm_cpu_byte_windows windows;
  bsm_cpu_rows y_rows, residual_rows; /* pixels */
  bool has_residual, residual_is_float, y_is_float;
  bool depthwise, by_fours; /* the kernel of the product */
  bool is_tame;             /* for `finish_bytes` of the kernels */
  int64_t rows, groups, ci, co;
  /* Groups of few maps whose results are made at once, of sums that lie side by
   * side; 0: each group is computed by itself. */
  int64_t together;
  const int8_t *kernel;
  int64_t panel;            /* bytes of the kernel */
  bsm_cpu_int8_split split; /* what is smaller, where the product needs that */
  int32_t level;            /* of sums in int16, where the product has levels */
  int64_t width;            /* columns of a group, of which `co` are maps */
  const float *scale, *bias; /* [groups][width] */
  int32_t *offset;
  bsm_cpu_epilogue epilogue;
  bsm_cpu_int8_tiling tiling;
  bsm_cpu_int8_winograd winograd;
  int64_t row_block, column_block;
  uint64_t windows_size; /* bytes of scratch */
} bsm_cpu_int8_convolution;

/* A run of it. */
typedef struct bsm_cpu_int8_work {
  const bsm_cpu_int8_convolution *c;
  const uint8_t *x;
  uint8_t *y;
  const uint8_t *residual;
  uint8_t *scratch;
  size_t slot_size;
} bsm_cpu_int8_work;

/* What a unit computes: rows and columns of a group; of all maps, where groups
 * are computed together. */
typedef struct bsm_cpu_int8_part {
  int64_t group, row, row_end, column, columns;
} bsm_cpu_int8_part;

/* ---- results ---- */

#define BSM_CPU_INT8_ROWS (2 * BSM_K_INT8_TILE_ROWS)

/* The rows of a tile in the output and the residual, at the group's first map.
 */
typedef struct bsm_cpu_int8_results {
  int64_t count;
  float *y[BSM_CPU_INT8_ROWS];
  uint8_t *y_bytes[BSM_CPU_INT8_ROWS];
  const float *residual[BSM_CPU_INT8_ROWS];
  const uint8_t *residual_bytes[BSM_CPU_INT8_ROWS];
} bsm_cpu_int8_results;

/* Whether `finish_bytes` is there and may be used: no result exceeds an int32
 * before it is clamped, and clamps do not exclude each other. */
bool bsm_cpu_int8_is_tame(const bsm_cpu_int8_convolution *c);
/* Adds rows. */
void bsm_cpu_int8_point_to_results(const bsm_cpu_int8_work *work, int64_t row,
                                   int64_t rows, int64_t map,
                                   bsm_cpu_int8_results *out);
/* The epilogue of `n` columns from `column` of the group on, with the sums
 * [rows][BSM_K_INT8_MAX_COLUMNS]. An activation that is no clamp is computed on
 * floats, in `block`, which is as large. */
void bsm_cpu_int8_finish(const bsm_cpu_int8_convolution *c,
                         const bsm_cpu_int8_results *results, int64_t group,
                         int64_t column, int64_t n, int64_t rows,
                         const int32_t *sums, float *block);

/* ---- tiles ---- */

/* Cuts the product into tiles; returns the bytes of scratch of a unit. */
uint64_t bsm_cpu_int8_plan_tiles(bsm_cpu_int8_convolution *convolution);
void bsm_cpu_int8_run_tiles(const bsm_cpu_int8_work *work,
                            const bsm_cpu_int8_part *part, uint8_t *scratch);

/* ---- Winograd ---- */

/* Sets `winograd`, and the bytes of scratch of a unit, where it is faster than
 * products that take the time `level` (cpu_int8_relief.h) and no sum is too
 * large for it. */
bsm_status bsm_cpu_int8_plan_winograd(const bsm_cpu_prepare *p, double level,
                                      bsm_cpu_int8_convolution *convolution,
                                      uint64_t *scratch);
int64_t bsm_cpu_int8_winograd_units(const bsm_cpu_int8_convolution *c);
void bsm_cpu_int8_run_winograd(const bsm_cpu_int8_work *work, int64_t unit,
                               uint8_t *scratch);

#endif /* BSM_BACKEND_CPU_INT8_CONVOLUTION_H_ */
