// SPDX-License-Identifier: Apache-2.0
// The end of a tile of wgmma_gemm.cu where rows are not aligned, and of
// wgmma_tf32.cu: lanes store two sums at a time.
#pragma once

DEVICE void store_pairs(const bsm_cuda_mma &p, const accumulators &sums,
                        const place_of_tile &t, int m0, int n0, int lane) {
  i64 y_at = 0, residual_at = 0;
  for (int loop = p.loops - 1, rest = t.batch; loop >= 0; loop--) {
    const int at = rest % p.batch_sizes[loop];
    rest /= p.batch_sizes[loop];
    y_at += at * p.y_batch[loop];
    residual_at += at * p.residual_batch[loop];
  }
  const T *bias = p.bias ? (const T *)p.bias + t.batch * p.bias_batch : 0;
  const T *residual = K_RESIDUAL ? (const T *)p.residual + residual_at : 0;
  T *y = (T *)p.y + y_at;
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int j = 0; j < N / 8; j++) {
      const float *v = &sums.at[i][j * 4];
      const int m = m0 + i * 64 + lane / 4, n = n0 + j * 8 + lane % 4 * 2;
      store_pair(p, bias, residual, y, m, n, v[0], v[1]);
      store_pair(p, bias, residual, y, m + 8, n, v[2], v[3]);
    }
  }
}
