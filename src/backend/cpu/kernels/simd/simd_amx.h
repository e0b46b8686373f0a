/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles (AMX): eight registers of up to 16 rows of 64 bytes, for products of a
 * matrix A with B, whose columns are 4 bytes wide, in blocks of two by two:
 *
 *   tiles 0 1    sums, of rows * 16 numbers of 4 bytes
 *   tiles 2 3
 *   tiles 4 5    A: rows * depth bytes, of the upper and the lower sums
 *   tiles 6 7    B: depth / 4 * 16 groups of 4 bytes, of the left and the right
 *
 * The numbers of tiles are constants. A thread that uses tiles sets their sizes
 * first and releases them after, so that nothing is kept for it when threads
 * are switched, and nobody sees another's sizes: tiles belong to the code
 * between. */
#ifndef BSM_KERNELS_SIMD_AMX_H_
#define BSM_KERNELS_SIMD_AMX_H_

#include <immintrin.h>
#include <stdint.h>

#define TILE_ROWS 16
#define TILE_BYTES 64 /* of a row */
#define TILE_COLUMNS 16

/* What the processor reads. */
typedef struct tile_sizes {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_sizes;

/* rows: 1 to 16, of A and of the sums; depth: bytes of a row of A, in fours, 4
 * to 64. */
static inline void tiles_begin(int rows, int depth) {
  tile_sizes s = {.palette = 1};
  for (int i = 0; i < 8; i++) {
    s.rows[i] = (uint8_t)(i < 6 ? rows : depth / 4);
    s.row_bytes[i] = (uint16_t)(i < 4 || i > 5 ? TILE_BYTES : depth);
  }
  /* Compilers do not know that all of it is read. */
  __asm__ volatile("" : : "r"(&s) : "memory");
  _tile_loadconfig(&s);
}

static inline void tiles_end(void) {
  _tile_release();
}

/* Bytes that were stored before are in memory for the loads that follow. */
static inline void tiles_wait(void) {
  __asm__ volatile("" : : : "memory");
}

/* Rows of the tile are `stride` bytes apart; 0 repeats one. */
#define TILE_LOAD(tile, from, stride) _tile_loadd(tile, from, stride)
#define TILE_STORE(tile, to, stride) _tile_stored(tile, to, stride)
#define TILE_ZERO(tile) _tile_zero(tile)
/* sums += a * b, of uint8 by int8, and of pairs of bfloat16. */
#define TILE_ADD_BYTES(sums, a, b) _tile_dpbusd(sums, a, b)
#define TILE_ADD_BF16(sums, a, b) _tile_dpbf16ps(sums, a, b)

#endif /* BSM_KERNELS_SIMD_AMX_H_ */
