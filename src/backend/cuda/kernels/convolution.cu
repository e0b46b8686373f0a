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

typedef element<K_T>::value value;

// A pixel of the output: where its sample begins in the input, and where its
// window does.
struct pixel {
  bool exists;
  i64 n, at[3];
};

DEVICE pixel find_pixel(const bsm_cuda_convolution &p, i64 m) {
  pixel x;
  x.at[2] = m % p.y.size[2];
  m /= p.y.size[2];
  x.at[1] = m % p.y.size[1];
  m /= p.y.size[1];
  x.at[0] = m % p.y.size[0];
  x.n = m / p.y.size[0];
  x.exists = x.n < p.y.n;
  return x;
}

// The offset of the input under a tap of the window; -1: it is outside.
DEVICE i64 find_input(const bsm_cuda_convolution &p, const pixel &x, i64 tap) {
  i64 offset = x.n * p.x.n_stride;
  bool inside = x.exists;
#pragma unroll
  for (int d = 2; d >= 0; d--) {
    const i64 k = tap % p.window.kernel[d];
    tap /= p.window.kernel[d];
    i64 at;
    if (K_TRANSPOSED) {
      at = x.at[d] + p.window.pre[d] - k * p.window.dilation[d];
      inside = inside && at >= 0 && at % p.window.stride[d] == 0;
      at /= p.window.stride[d];
    } else {
      at = x.at[d] * p.window.stride[d] - p.window.pre[d] +
           k * p.window.dilation[d];
    }
    inside = inside && at >= 0 && at < p.x.size[d];
    offset += at * p.x.stride[d];
  }
  return inside ? offset : -1;
}

DEVICE i64 find_output(const bsm_cuda_image &y, const pixel &x, i64 map) {
  return x.n * y.n_stride + map * y.c_stride + x.at[0] * y.stride[0] +
         x.at[1] * y.stride[1] + x.at[2] * y.stride[2];
}

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
