// SPDX-License-Identifier: Apache-2.0
// The end of a product: sums become elements of the output. K_ACTIVATION is the
// activation. K_LINES: 1: rows of y come in lines, as pixels of which some are
// left out; 2: in loops, as windows of an image do.
#pragma once
#include "narrow_activation.cuh"

#ifndef K_LINES
#define K_LINES 0
#endif

DEVICE i64 row_of_y(const bsm_cuda_mma &p, int m) {
  if constexpr (K_LINES == BSM_CUDA_LINES_OF_ROWS) {
    const int line = m / p.out[2];
    return line * p.y_line + (m - line * p.out[2]) * p.y_row;
  }
  if constexpr (K_LINES == BSM_CUDA_LOOPS_OF_ROWS) {
    i64 at = 0;
    u32 rest = (u32)m;
#pragma unroll
    for (int loop = 0; loop < BSM_CUDA_ROW_LOOPS - 1; loop++) {
      const u32 next = rest / (u32)p.row_sizes[loop];
      at += (rest - next * (u32)p.row_sizes[loop]) * p.row_strides[loop];
      rest = next;
    }
    return at + rest * p.row_strides[BSM_CUDA_ROW_LOOPS - 1];
  }
  return m * p.y_row;
}

template <class T, class V>
DEVICE V finish(const bsm_cuda_mma &p, const T *bias, const T *residual, int m,
                int n, V x) {
  x *= (V)p.scale;
  if (bias) x += element<T>::load(bias[n]);
  if (residual) {
    x += element<T>::load(
        residual[m * p.residual_row + n * p.residual_column]);
  }
  return activate_sum<T>(K_ACTIVATION, x, (V)p.alpha, (V)p.beta);
}

template <class T, class Y, class V>
DEVICE void store_one(const bsm_cuda_mma &p, const T *bias, const T *residual,
                      Y *y, int m, int n, V x) {
  if (m >= p.m || n >= p.n) return;
  y[row_of_y(p, m) + n] =
      element<Y>::store(finish(p, bias, residual, m, n, x));
}

DEVICE void store_two(float *to, float a, float b) {
  *(float2 *)to = make_float2(a, b);
}
template <class T>
DEVICE void store_two(T *to, float a, float b) {
  *(u32 *)to = pack2<T>(a, b);
}

// Two sums that are beside each other in a row.
template <class T, class Y>
DEVICE void store_pair(const bsm_cuda_mma &p, const T *bias, const T *residual,
                       Y *y, int m, int n, float x0, float x1) {
  if (m >= p.m || n >= p.n) return;
  Y *to = y + row_of_y(p, m) + n;
  const bool two = n + 1 < p.n;
  x0 = finish(p, bias, residual, m, n, x0);
  if (two) x1 = finish(p, bias, residual, m, n + 1, x1);
  if (two && (u64)to % (2 * sizeof(Y)) == 0) {
    store_two(to, x0, x1);
    return;
  }
  to[0] = from_float<Y>(x0);
  if (two) to[1] = from_float<Y>(x1);
}
