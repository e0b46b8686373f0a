// SPDX-License-Identifier: Apache-2.0
// The end of a product on tensor cores: two sums that are beside each other in
// a row become elements of the output. K_ACTIVATION is the activation.
#pragma once

template <class T>
DEVICE void store_pair(const bsm_cuda_mma &p, const T *bias, const T *residual,
                      T *y, int m, int n, float x0, float x1) {
  if (m >= p.m || n >= p.n) return;
  float v[2] = {x0 * p.scale, x1 * p.scale};
  const bool two = n + 1 < p.n;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (i && !two) break;
    if (bias) v[i] += to_float(bias[n + i]);
    if (residual) {
      v[i] += to_float(residual[m * p.residual_row +
                                (n + i) * p.residual_column]);
    }
    v[i] = activate(K_ACTIVATION, v[i], p.alpha, p.beta);
  }
  T *to = y + m * p.y_row + n;
  if (two && ((u64)to & 3) == 0) {
    *(u32 *)to = pack2<T>(v[0], v[1]);
    return;
  }
  to[0] = from_float<T>(v[0]);
  if (two) to[1] = from_float<T>(v[1]);
}
