// SPDX-License-Identifier: Apache-2.0
// Convolutions of images of few maps, as the first of a network, on tensor
// cores: a tile of 64 pixels by K_BN maps with all of its k at once. Images have
// any strides. A thread gathers the taps of one pixel, whose places are in a
// table, so that neighbours read what lies together. Options: K_T (f16, bf16),
// K_ACTIVATION, K_BN (32, 64), K_ROOM (for k: a multiple of 64).
// grid: (tiles)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "mma.cuh"
#include "mma_store.cuh"

typedef K_T T;

enum {
  THREADS = 128,
  ROWS = 64,
  CHUNKS = K_ROOM / 8,  // of 16 bytes, of a row
  A_BYTES = ROWS * K_ROOM * 2,
  TM = 2,        // tiles of 16 rows of a warp, of two in a column
  TN = K_BN / 16  // tiles of 8 columns of a warp, of two in a row
};

struct place {
  int y, x, offset;
};

KERNEL_OF(THREADS, few_maps, bsm_cuda_mma) {
  DYNAMIC_SHARED(memory);
  __shared__ place places[K_ROOM];
  const u32 shared = shared_address(memory);
  const int thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int n0 = (int)(blockIdx.x % (u32)p.tiles_n) * K_BN;
  const int m0 = (int)(blockIdx.x / (u32)p.tiles_n) * ROWS;
  const int steps = (p.k + 15) / 16;
  for (int k = thread; k < p.k; k += THREADS) {
    const int tap = k / p.maps, map = k % p.maps;
    const int y = tap / p.kernel[2] * p.dilation[1];
    const int x = tap % p.kernel[2] * p.dilation[2];
    places[k] = {y, x, y * p.in_stride[1] + x * p.in_stride[2] +
                           map * (int)p.a_column};
  }
  for (int at = thread; at < K_BN * 2 * steps; at += THREADS) {
    const int r = at / (2 * steps), c = at % (2 * steps);
    u32 x[8];
#pragma unroll
    for (int e = 0; e < 8; e++) {
      const int k = c * 8 + e;
      x[e] = n0 + r < p.n && k < p.k
                 ? ((const T *)p.b)[(n0 + r) * p.b_column + k].bits
                 : 0;
    }
    *(uint4 *)(memory + A_BYTES + swizzle<CHUNKS>(r, c)) = chunk_of(x);
  }
  __syncthreads();

  const int m = m0 + thread % ROWS, out_x = m % p.out[2];
  const int out_y = m / p.out[2] % p.out[1];
  const int from_y = out_y * p.stride[1] - p.pre[1];
  const int from_x = out_x * p.stride[2] - p.pre[2];
  const T *image = (const T *)p.a +
                   m / p.out[2] / p.out[1] * p.image_stride +
                   from_y * p.in_stride[1] + from_x * p.in_stride[2];
  for (int c = thread / ROWS; c < 2 * steps; c += THREADS / ROWS) {
    u32 x[8];
#pragma unroll
    for (int e = 0; e < 8; e++) {
      x[e] = 0;
      if (m >= p.m || c * 8 + e >= p.k) continue;
      const place at = places[c * 8 + e];
      if ((u32)(from_y + at.y) < (u32)p.in[1] &&
          (u32)(from_x + at.x) < (u32)p.in[2]) {
        x[e] = image[at.offset].bits;
      }
    }
    *(uint4 *)(memory + swizzle<CHUNKS>(thread % ROWS, c)) = chunk_of(x);
  }
  __syncthreads();

  const int row = warp / 2 * 32, column = warp % 2 * (K_BN / 2);
  float sums[TM][TN][4];
#pragma unroll
  for (int i = 0; i < TM * TN * 4; i++) {
    sums[i / (TN * 4)][i / 4 % TN][i % 4] = 0;
  }
  for (int k = 0; k < steps; k++) {
    u32 a[TM][4], b[TN][2];
#pragma unroll
    for (int i = 0; i < TM; i++) {
      load_a<CHUNKS>(shared, row + i * 16, k, lane, a[i]);
    }
#pragma unroll
    for (int j = 0; j < TN; j += 2) {
      load_b<CHUNKS>(shared + A_BYTES, column + j * 8, k, lane, &b[j]);
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
#pragma unroll
      for (int j = 0; j < TN; j++) multiply<T>(sums[i][j], a[i], b[j]);
    }
  }
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
      const float *v = sums[i][j];
      const int at_m = m0 + row + i * 16 + lane / 4;
      const int at_n = n0 + column + j * 8 + lane % 4 * 2;
      store_pair<T>(p, (const T *)p.bias, (const T *)p.residual, (T *)p.y, at_m,
                    at_n, v[0], v[1]);
      store_pair<T>(p, (const T *)p.bias, (const T *)p.residual, (T *)p.y,
                    at_m + 8, at_n, v[2], v[3]);
    }
  }
}
