// SPDX-License-Identifier: Apache-2.0
// Products of few rows, when the columns of B lie together (few_rows.cuh). The
// threads of a block, which has K_COLUMNS pieces of columns, share k. Options
// besides: K_COLUMNS: a power of two, 32 at most; K_SPLIT: 1: blocks share the k
// of the same columns. The one that ends last adds up their sums, in the order of
// k.
// grid: (blocks of columns, splits)
#include "few_rows.cuh"
#include "arrival.cuh"

enum {
  // Pieces of B that a thread asks for: of lines as many as registers allow.
  HELD = K_COLUMNS * K_PIECE >= 64 && K_ROWS <= 2 ? 16 : 8,
  DEPTH = THREADS / K_COLUMNS,  // threads that share k
  RANGE = DEPTH * HELD,
  SUMS = K_ROWS * K_PIECE,
  LANES = 32 / K_COLUMNS,       // of a warp, that share k
  WIDTH = K_COLUMNS * K_PIECE,  // columns of a block
  MADE = K_ROWS * WIDTH         // numbers
};
static_assert(MADE <= THREADS, "each thread makes a number at most");

// The sum of all blocks that share the number of this thread, in the one that
// ends last; false in the others.
DEVICE bool join_blocks(const bsm_cuda_mma &p, float &sum) {
  const int thread = (int)threadIdx.x;
  float *all = (float *)p.partial + (i64)blockIdx.x * p.splits * MADE;
  u32 *counter = (u32 *)p.counters + blockIdx.x;
  if (thread < MADE) all[(int)blockIdx.y * MADE + thread] = sum;
  if (!block_ends_last(counter, p.splits)) return false;
  sum = 0;
  if (thread >= MADE) return true;
#pragma unroll 8
  for (int s = 0; s < p.splits; s++) sum += __ldcg(all + s * MADE + thread);
  return true;
}

EARLY_KERNEL_OF(THREADS, few_rows, bsm_cuda_mma) {
  __shared__ float a[2][K_ROWS][RANGE];
  __shared__ float partial[THREADS / 32][K_ROWS][WIDTH];
  const int thread = (int)threadIdx.x;
  const int column = thread % K_COLUMNS, first = thread / K_COLUMNS;
  const int n = ((int)blockIdx.x * K_COLUMNS + column) * K_PIECE;
  const int begin = K_SPLIT ? (int)blockIdx.y * p.split_k : 0;
  const int end = K_SPLIT && begin + p.split_k < p.k ? begin + p.split_k : p.k;
  finisher finish(p, thread / WIDTH,
                  (int)blockIdx.x * WIDTH + thread % WIDTH);
  part_of_b b[HELD];
  float sums[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; i++) sums[i] = 0;
  auto load_b = [&](int i, int k0) {
    const int k = k0 + first + i * DEPTH;
    b[i].clear();
    if (k < end && n < p.n) b[i].load((const T *)p.b + k * p.b_row + n);
  };
  if (!K_WEIGHTS) wait_for_previous();
#pragma unroll
  for (int i = 0; i < HELD; i++) load_b(i, begin);
  finish.load_bias(p);
  if (K_WEIGHTS) wait_for_previous();
  finish.load_residual(p);
  bringer<RANGE> bring;
  bring.load(p, begin, end);
  bring.store(a[0]);
  for (int k0 = begin, half = 0; k0 < end; k0 += RANGE, half ^= 1) {
    const bool more = k0 + RANGE < end;
    __syncthreads();
    if (more) bring.load(p, k0 + RANGE, end);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
#pragma unroll
      for (int m = 0; m < K_ROWS; m++) {
        const float x = a[half][m][first + i * DEPTH];
#pragma unroll
        for (int e = 0; e < K_PIECE; e++) {
          float &sum = sums[m * K_PIECE + e];
          sum = fmaf(x, b[i].get(e), sum);
        }
      }
    }
    if (more) {
#pragma unroll
      for (int i = 0; i < HELD; i++) load_b(i, k0 + RANGE);
      bring.store(a[half ^ 1]);
    }
  }
  spread_sums<SUMS, 16, K_COLUMNS>(sums);
#pragma unroll
  for (int i = 0; i < spread<SUMS, LANES>::OWN; i++) {
    const int which = spread_index<SUMS, LANES>(thread % 32 / K_COLUMNS, i);
    partial[thread / 32][which / K_PIECE]
           [column * K_PIECE + which % K_PIECE] = sums[i];
  }
  __syncthreads();
  float sum = 0;
  if (thread < MADE) {
#pragma unroll
    for (int warp = 0; warp < THREADS / 32; warp++) {
      sum += partial[warp][thread / WIDTH][thread % WIDTH];
    }
  }
  if (K_SPLIT && !join_blocks(p, sum)) return;
  if (finish.makes && thread < MADE) finish.store(p, sum);
}
