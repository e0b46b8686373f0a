// SPDX-License-Identifier: Apache-2.0
// Sums, means and extremes over the pixels of images whose maps lie together: a
// thread has K_PIECE maps, and K_DEPTH threads of a block share the pixels. They
// are computed in float. Options: K_FROM, K_TO (types of what is computed in
// float); K_OPERATION (bsm_reduce_operation); K_PIECE; K_DEPTH.
// grid: (groups of maps, images). Loops: outer: images, maps; inner: pixels.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "pieces.cuh"

enum { SUM, PROD, MAX, MIN, AVG };
enum {
  THREADS = 256,
  COLUMNS = THREADS / K_DEPTH,  // pieces of maps of a block
  HELD = 8                      // pixels that a thread asks for at once
};

DEVICE float join(float a, float b) {
  if (K_OPERATION == MAX) return a != a || a > b ? a : b;
  if (K_OPERATION == MIN) return a != a || a < b ? a : b;
  return a + b;
}

KERNEL_OF(THREADS, reduce_maps, bsm_cuda_nested) {
  __shared__ float partial[K_DEPTH][COLUMNS * K_PIECE];
  const int column = (int)threadIdx.x % COLUMNS;
  const int first = (int)threadIdx.x / COLUMNS;
  const int maps = (int)p.outer_sizes[1], count = (int)p.inner_count;
  const int map = ((int)blockIdx.x * COLUMNS + column) * K_PIECE;
  const bool is = map < maps;
  const K_FROM *x = (const K_FROM *)p.address[1] +
                    blockIdx.y * p.outer_strides[1][0] + (is ? map : 0);
  const i64 pixel = p.inner_strides[1][0];
  // Extremes begin with the first pixel, which may come twice.
  float sums[K_PIECE];
  piece<K_FROM, K_PIECE> in[HELD];
  in[0].load(x);
#pragma unroll
  for (int e = 0; e < K_PIECE; e++) {
    sums[e] = K_OPERATION == MAX || K_OPERATION == MIN ? in[0].get(e) : 0.0f;
  }
  for (int i = first; i < count; i += K_DEPTH * HELD) {
#pragma unroll
    for (int j = 0; j < HELD; j++) {
      const int at = i + j * K_DEPTH;
      in[j].load(x + (at < count ? at : i) * pixel);
    }
#pragma unroll
    for (int j = 0; j < HELD; j++) {
#pragma unroll
      for (int e = 0; e < K_PIECE; e++) {
        if (i + j * K_DEPTH < count) sums[e] = join(sums[e], in[j].get(e));
      }
    }
  }
#pragma unroll
  for (int e = 0; e < K_PIECE; e++) {
    partial[first][column * K_PIECE + e] = sums[e];
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < COLUMNS * K_PIECE; i += THREADS) {
    const int own = (int)blockIdx.x * COLUMNS * K_PIECE + i;
    if (own >= maps) continue;
    float sum = partial[0][i];
#pragma unroll
    for (int d = 1; d < K_DEPTH; d++) sum = join(sum, partial[d][i]);
    if (K_OPERATION == AVG) sum = sum / (float)count;
    store<K_TO>(p.address[0],
                blockIdx.y * p.outer_strides[0][0] +
                    own * p.outer_strides[0][1],
                sum);
  }
}
