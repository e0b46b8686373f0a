// SPDX-License-Identifier: Apache-2.0
// Convolutions and deconvolutions as products: rows are the pixels of the
// output, columns its maps, and the sum goes over the window and the maps of
// the input, innermost. Images have any strides. A block makes a tile of one
// group. Options: K_T; of the step: K_ACTIVATION, K_TRANSPOSED.
#ifndef K_ACTIVATION
#define CODES_VARY
#endif
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "tile.cuh"

#ifndef K_ACTIVATION
#define K_ACTIVATION (int)p.activation
#define K_TRANSPOSED p.transposed
#endif

#include "pixels.cuh"

typedef element<K_T>::value value;

KERNEL_OF(TILE_THREADS, convolution, bsm_cuda_convolution) {
  __shared__ tiles<value> t;
  const int row = threadIdx.x / 16, column = threadIdx.x % 16;
  const i64 across = (p.out + TILE_N - 1) / TILE_N;
  const i64 m0 = blockIdx.x / across * TILE_M, n0 = blockIdx.x % across * TILE_N;
  const i64 window = p.window.kernel[0] * p.window.kernel[1] * p.window.kernel[2];
  const i64 depth = window * p.in;
  for (i64 g = blockIdx.y; g < p.groups; g += gridDim.y) {
    pixel mine[4];
#pragma unroll
    for (int i = 0; i < 4; i++) mine[i] = find_pixel(p, m0 + row + 16 * i);
    value sum[4][4] = {};
    for (i64 k0 = 0; k0 < depth; k0 += TILE_K) {
      const i64 k = k0 + column;
      const i64 tap = k / p.in, c = k % p.in;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const i64 from = k < depth ? find_input(p, mine[i], tap) : -1;
        t.a[column][row + 16 * i] =
            from >= 0 ? load<K_T>(p.x.address,
                                from + (g * p.in + c) * p.x.c_stride)
                      : (value)0;
        const i64 n = n0 + row + 16 * i;
        t.b[column][row + 16 * i] =
            k < depth && n < p.out
                ? load<K_T>(p.kernel, (g * p.out + n) * depth + k)
                : (value)0;
      }
      __syncthreads();
      multiply_tiles(t, row, column, sum);
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (!mine[i].exists) continue;
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const i64 n = n0 + column + 16 * j, map = g * p.out + n;
        if (n >= p.out) continue;
        value x = sum[i][j];
        if (p.bias) x = add(x, load<K_T>(p.bias, map));
        if (p.residual.address) {
          x = add(x, load<K_T>(p.residual.address,
                               find_output(p.residual, mine[i], map)));
        }
        store<K_T>(p.y.address, find_output(p.y, mine[i], map),
                 activate(K_ACTIVATION, x, (value)p.alpha, (value)p.beta));
      }
    }
  }
}
