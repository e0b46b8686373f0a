// SPDX-License-Identifier: Apache-2.0
// A product of two tiles in shared memory, for any element type: 256 threads,
// of which each has 4 x 4 sums. Rows of a tile are one apart from a power of
// two, so that threads meet different banks.
#pragma once

enum { TILE_M = 64, TILE_N = 64, TILE_K = 16, TILE_THREADS = 256 };

template <class V>
struct tiles {
  V a[TILE_K][TILE_M + 1];
  V b[TILE_K][TILE_N + 1];
};

template <class V>
DEVICE void multiply_tiles(const tiles<V> &t, int row, int column,
                           V (&sum)[4][4]) {
#pragma unroll
  for (int k = 0; k < TILE_K; k++) {
    V a[4], b[4];
#pragma unroll
    for (int i = 0; i < 4; i++) a[i] = t.a[k][row + 16 * i];
#pragma unroll
    for (int j = 0; j < 4; j++) b[j] = t.b[k][column + 16 * j];
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
      for (int j = 0; j < 4; j++) sum[i][j] = add_product(sum[i][j], a[i], b[j]);
    }
  }
}
