// SPDX-License-Identifier: Apache-2.0
// The end of a tile of wgmma_gemm.cu where y is floats: rows of so many columns
// as a line of memory has go through shared memory, so that a warp stores them
// whole, wherever they begin. Rows of an odd number of columns begin at no
// multiple of 16 bytes, and cannot be stored in tiles.
#pragma once

enum {
  ROW_COLUMNS = 32,
  ROW_PITCH = 40,  // lanes that write rows at the same time have other banks
  ROWS_ROOM = 16 * ROW_PITCH  // floats of a warp
};

static_assert(N % ROW_COLUMNS == 0 && !K_RESIDUAL && !K_LINES, "whole rows");

// 16 rows of sums of ROW_COLUMNS columns, from n on, into the warp's memory.
DEVICE void fill_rows(const bsm_cuda_mma &p, const T *bias, int n,
                      const float *sums, float *room, int lane) {
#pragma unroll
  for (int j = 0; j < ROW_COLUMNS / 8; j++) {
    const int column = j * 8 + lane % 4 * 2;
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int at = n + column + i % 2;
      const T *own = at < p.n ? bias : 0;
      v[i] = finish(p, own, (const T *)0, 0, at, sums[j * 4 + i]);
    }
    float *to = room + lane / 4 * ROW_PITCH + column;
    *(float2 *)to = make_float2(v[0], v[1]);
    *(float2 *)(to + 8 * ROW_PITCH) = make_float2(v[2], v[3]);
  }
}

DEVICE void store_rows(const bsm_cuda_mma &p, const accumulators &sums,
                       const place_of_tile &t, int m0, int n0, float *room,
                       int lane) {
  i64 y_at = 0;
  for (int loop = p.loops - 1, rest = t.batch; loop >= 0; loop--) {
    const int at = rest % p.batch_sizes[loop];
    rest /= p.batch_sizes[loop];
    y_at += at * p.y_batch[loop];
  }
  const T *bias = p.bias ? (const T *)p.bias + t.batch * p.bias_batch : 0;
  float *y = (float *)p.y + y_at;
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int c = 0; c < N / ROW_COLUMNS; c++) {
      const int n = n0 + c * ROW_COLUMNS, m = m0 + i * 64;
      fill_rows(p, bias, n, &sums.at[i][c * (ROW_COLUMNS / 2)], room, lane);
      __syncwarp();
      const int column = n + lane;
      const int rows = column < p.n ? p.m - m : 0;
      float *to = y + m * p.y_row + column;
#pragma unroll
      for (int r = 0; r < 16; r++) {
        if (r < rows) *to = room[r * ROW_PITCH + lane];
        to += p.y_row;
      }
      __syncwarp();  // before it is written again
    }
  }
}
