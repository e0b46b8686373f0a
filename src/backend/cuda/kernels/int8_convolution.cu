// SPDX-License-Identifier: Apache-2.0
// Convolutions of bytes, and products of rows: images have any strides, and any
// number of groups. A block makes a tile of one group (tile.cuh). What the step
// does besides is parameters: there is one such kernel, and one of e4m3 (K_FP8).
#define CODES_VARY
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

DEVICE i32 add_product(i32 sum, i32 a, i32 b) {
  return (i32)((u32)sum + (u32)(a * b));
}

#include "tile.cuh"

#define K_TRANSPOSED 0
#include "pixels.cuh"
#include "int8_end.cuh"

DEVICE i32 number_of(u8 x) { return x; }
DEVICE i32 number_of(i8 x) { return x; }
DEVICE float number_of(e4m3 x) { return to_float(x); }

DEVICE void store_value(const bsm_cuda_int8_convolution &p, const pixel &x,
                        int map, sum_of_bytes sum) {
  const bsm_cuda_int8_end &e = p.end;
  const bsm_cuda_convolution &c = p.convolution;
  int8_column column;
  column.load(e, map);
  float v = column.scaled(sum);
  if (e.residual != NO_NUMBERS) {
    v += load_residual(e, (int)e.residual, c.residual.address,
                       find_output(c.residual, x, map));
  }
  v = activate((int)e.activation, v, e.alpha, e.beta);
  const i64 at = find_output(c.y, x, map);
  switch (e.y) {
    case FLOATS: ((float *)c.y.address)[at] = v; break;
    case HALVES: ((f16 *)c.y.address)[at] = result_of<f16>(e, v); break;
    case BFLOATS: ((bf16 *)c.y.address)[at] = result_of<bf16>(e, v); break;
    default: ((u8 *)c.y.address)[at] = result_of<u8>(e, v);
  }
}

KERNEL_OF(TILE_THREADS, int8_convolution, bsm_cuda_int8_convolution) {
  __shared__ tiles<sum_of_bytes> t;
  const bsm_cuda_convolution &c = p.convolution;
  const byte_of_a *image = (const byte_of_a *)c.x.address;
  const byte_of_b *kernel = (const byte_of_b *)c.kernel;
  const int row = threadIdx.x / 16, column = threadIdx.x % 16;
  const i64 across = (c.out + TILE_N - 1) / TILE_N;
  const i64 m0 = blockIdx.x / across * TILE_M, n0 = blockIdx.x % across * TILE_N;
  const i64 window = c.window.kernel[0] * c.window.kernel[1] * c.window.kernel[2];
  const i64 depth = window * c.in;
  for (i64 g = blockIdx.y; g < c.groups; g += gridDim.y) {
    pixel mine[4];
#pragma unroll
    for (int i = 0; i < 4; i++) mine[i] = find_pixel(c, m0 + row + 16 * i);
    sum_of_bytes sum[4][4] = {};
    for (i64 k0 = 0; k0 < depth; k0 += TILE_K) {
      const i64 k = k0 + column;
      const i64 tap = k / c.in, map = g * c.in + k % c.in;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const i64 from = k < depth ? find_input(c, mine[i], tap) : -1;
        t.a[column][row + 16 * i] =
            from >= 0 ? number_of(image[from + map * c.x.c_stride])
                      : (sum_of_bytes)p.end.x_zero;
        const i64 n = n0 + row + 16 * i;
        t.b[column][row + 16 * i] =
            k < depth && n < c.out
                ? number_of(kernel[(g * c.out + n) * p.kernel_map +
                                   k / p.line * p.next_line +
                                   k % p.line * p.kernel_k])
                : 0;
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
        const i64 n = n0 + column + 16 * j;
        if (n < c.out) {
          store_value(p, mine[i], (int)(g * c.out + n), sum[i][j]);
        }
      }
    }
  }
}
