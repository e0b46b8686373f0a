// SPDX-License-Identifier: Apache-2.0
// Products of few rows, when the columns of B lie together (few_rows.cuh). The
// threads of a block, which has K_COLUMNS pieces of columns, share k. Option
// besides: K_COLUMNS: a power of two, 32 at most.
// grid: (blocks of columns)
#include "few_rows.cuh"

enum {
  HELD = 8,  // pieces of B that a thread asks for
  DEPTH = THREADS / K_COLUMNS,  // threads that share k
  RANGE = DEPTH * HELD,
  SUMS = K_ROWS * K_PIECE,
  LANES = 32 / K_COLUMNS,      // of a warp, that share k
  WIDTH = K_COLUMNS * K_PIECE  // columns of a block
};
static_assert(K_ROWS * WIDTH <= THREADS, "each thread makes a number at most");

EARLY_KERNEL_OF(THREADS, few_rows, bsm_cuda_mma) {
  __shared__ float a[K_ROWS][RANGE];
  __shared__ float partial[THREADS / 32][K_ROWS][WIDTH];
  const int thread = (int)threadIdx.x;
  const int column = thread % K_COLUMNS, first = thread / K_COLUMNS;
  const int n = ((int)blockIdx.x * K_COLUMNS + column) * K_PIECE;
  finisher finish(p, thread / WIDTH,
                  (int)blockIdx.x * WIDTH + thread % WIDTH);
  part_of_b b[HELD];
  float sums[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; i++) sums[i] = 0;
  auto load_b = [&](int k0) {
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      const int k = k0 + first + i * DEPTH;
      b[i].clear();
      if (k < p.k && n < p.n) b[i].load((const T *)p.b + k * p.b_row + n);
    }
  };
  if (!K_WEIGHTS) wait_for_previous();
  load_b(0);
  finish.load_bias(p);
  if (K_WEIGHTS) wait_for_previous();
  finish.load_residual(p);
  for (int k0 = 0; k0 < p.k; k0 += RANGE) {
    if (k0) __syncthreads();
    bring_a<RANGE>(p, k0, a);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < HELD; i++) {
#pragma unroll
      for (int m = 0; m < K_ROWS; m++) {
        const float x = a[m][first + i * DEPTH];
#pragma unroll
        for (int e = 0; e < K_PIECE; e++) {
          float &sum = sums[m * K_PIECE + e];
          sum = fmaf(x, b[i].get(e), sum);
        }
      }
    }
    if (k0 + RANGE < p.k) load_b(k0 + RANGE);
  }
  spread_sums<SUMS, 16, K_COLUMNS>(sums);
#pragma unroll
  for (int i = 0; i < spread<SUMS, LANES>::OWN; i++) {
    const int which = spread_index<SUMS, LANES>(thread % 32 / K_COLUMNS, i);
    partial[thread / 32][which / K_PIECE]
           [column * K_PIECE + which % K_PIECE] = sums[i];
  }
  __syncthreads();
  if (!finish.makes || thread >= K_ROWS * WIDTH) return;
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < THREADS / 32; warp++) {
    sum += partial[warp][thread / WIDTH][thread % WIDTH];
  }
  finish.store(p, sum);
}
