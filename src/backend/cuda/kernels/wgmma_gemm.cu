// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of half and bfloat16 on the tensor cores of sm_90:
//   y[m, n] = act(scale * sum_k A[m, k] B[k, n] + bias[n] + residual[m, n])
// with sums in float, as mma_gemm.cu has them. One warp, the producer, asks for
// tiles of A and B, which the GPU copies into a ring of stages in shared
// memory; warpgroups multiply them. The GPU finds the pixels of a convolution's
// windows, too. Blocks stay and take tile after tile, so that copies for the
// next one are on their way while one is stored. What is compiled:
//   K_T: f16 | bf16; K_ACTIVATION
//   K_BM, K_BN, K_BK: the tile; K_WM, K_WN: warpgroups in its rows and columns;
//     K_STAGES
//   K_TURNS: 1: two warpgroups multiply whole tiles in turns: one stores while
//     the other multiplies
//   K_IMAGE: 0: A is a matrix; 2, 3: A is the windows of images, of which that
//     many dimensions are of a size other than 1
//   K_RANK: dimensions of the matrices' tensors: 3, or 5
//   K_B: ALONG_K: B has a row for each column; ALONG_N: for each k
//   K_WEIGHTS: 1: B is weights, which are there before the kernel begins
//   K_SHARED: 1: the k of some tiles is shared by blocks. Their partial sums
//     are added in the order of k by the one that ends last, so bits never
//     change
//   K_VECTOR: 1: rows of y and of the residual are aligned to 8 elements, and
//     the columns of a row are a multiple of 8: y is stored in tiles, too
//   K_LINES: 1: rows of y come in lines (mma_store.cuh), of whole 16 rows where
//     it is stored in tiles; there are two loops of batches
//   K_RESIDUAL: 1: there is one; K_RESIDENT: blocks that an SM is to hold
// grid: blocks
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "mma.cuh"
#include "mma_store.cuh"
#include "warpgroup.cuh"

#define ALONG_K 1
#define ALONG_N 2

typedef K_T T;

enum {
  GROUPS = K_TURNS ? 2 : K_WM * K_WN,  // warpgroups that multiply
  CONSUMERS = 128 * GROUPS,
  THREADS = CONSUMERS + 32,
  // Of those that multiply the same tile.
  TEAM = 128 * K_WM * K_WN,
  TM = K_BM / K_WM / 64,  // tiles of 64 rows of a warpgroup
  N = K_BN / K_WN,        // its columns
  A_BYTES = K_BM * K_BK * 2,
  B_BYTES = K_BN * K_BK * 2,
  STAGE_BYTES = A_BYTES + B_BYTES,
  ROW_BYTES = K_BK * 2,
  BLOCK_OF_N = 64 * K_BK * 2,  // 64 columns of B, where it has rows of k
  // Of y, a warp stores 16 rows of so many columns at a time.
  CHUNK = N < 64 ? 32 : 64,
  CHUNK_BYTES = 16 * CHUNK * 2,
  BUFFERS = K_RESIDUAL ? 3 : 2,  // of a warp
  ALIGNMENT = 1024
};

static_assert(K_BK == 64 || K_BK == 32, "rows that are swizzled");
static_assert(!K_TURNS || K_WM * K_WN == 1, "one warpgroup has a whole tile");
static_assert(N % CHUNK == 0 && (K_B != ALONG_N || N % 64 == 0), "columns");

struct accumulators {
  float at[TM][N / 2];
};

#include "wgmma_work.cuh"
#include "wgmma_fetch.cuh"
#include "wgmma_store.cuh"

// ---- multiplying ----

DEVICE void multiply_stage(accumulators &sums, u32 a, u32 b, int group_m,
                           int group_n, int adding) {
  const matrix of_a = {a + (u32)(group_m * TM * 64 * ROW_BYTES), 16,
                       8 * ROW_BYTES};
  const matrix of_b =
      K_B == ALONG_N
          ? matrix{b + (u32)(group_n * (N / 64) * BLOCK_OF_N), BLOCK_OF_N, 1024}
          : matrix{b + (u32)(group_n * N * ROW_BYTES), 16, 8 * ROW_BYTES};
  products_begin();
#pragma unroll
  for (int k = 0; k < K_BK / 16; k++) {
    const matrix b_k = moved(of_b, K_B == ALONG_N ? k * 16 * 128u : k * 32u);
#pragma unroll
    for (int i = 0; i < TM; i++) {
      multiply_16<T, N, ROW_BYTES, K_B == ALONG_N>(
          sums.at[i], moved(of_a, (u32)(i * 64 * ROW_BYTES + k * 32)), b_k,
          adding || k > 0);
    }
  }
  products_commit();
}

DEVICE void release(const stages &s, int stage, int lane) {
  if (lane == 0) ptx_mbarrier_arrive(s.empty(stage));
}

// One tile's steps; the products of a stage go on while those of the next one
// are asked for.
DEVICE void multiply_all(accumulators &sums, const stages &s, ring &r,
                         int count, int group_m, int group_n, int lane) {
  int before = 0;
  for (int k = 0; k < count; k++) {
    ptx_mbarrier_wait(s.full(r.stage), r.parity);
    multiply_stage(sums, s.a(r.stage), s.b(r.stage), group_m, group_n, k > 0);
    if (k > 0) {
      products_wait<1>();
      release(s, before, lane);
    }
    before = r.stage;
    step(r);
  }
  products_wait<0>();
  release(s, before, lane);
}

// ---- the end of a tile ----

// Of a tile whose k is shared: leaves the sums for the block that ends last;
// true in that one, with all sums added in the order of k.
DEVICE bool join(const bsm_cuda_tiled &p, accumulators &sums, const work &w,
                 u32 *arrived, int team, int thread) {
  const i64 at = (i64)w.tile * p.steps;
  const int first = block_of(p, at), last = block_of(p, at + p.steps - 1);
  if (first == last) return true;
  const i64 size = K_BM * K_BN;
  const int vectors = TM * N / 8;
  float *all = (float *)p.product.partial;
  u32 *counter = (u32 *)p.product.counters + w.tile;
  // A block has parts of two tiles at most: its first one and another.
  auto part_of = [&](int block) {
    const bool is_first = share_of(p, block) / p.steps == w.tile;
    return all + ((i64)block * 2 + !is_first) * size + thread * 4;
  };
  float *own = part_of((int)blockIdx.x);
#pragma unroll
  for (int i = 0; i < vectors; i++) {
    const float *v = &sums.at[i / (N / 8)][i % (N / 8) * 4];
    *(float4 *)(own + i * TEAM * 4) = make_float4(v[0], v[1], v[2], v[3]);
  }
  __threadfence();
  ptx_barrier(1 + team, TEAM);
  if (thread == 0) *arrived = atomicAdd(counter, 1);
  ptx_barrier(1 + team, TEAM);
  const bool ends = *arrived == (u32)(last - first);
  ptx_barrier(1 + team, TEAM);
  if (!ends) return false;
  __threadfence();
  if (thread == 0) *counter = 0;
#pragma unroll
  for (int i = 0; i < vectors; i++) {
    float *v = &sums.at[i / (N / 8)][i % (N / 8) * 4];
    v[0] = v[1] = v[2] = v[3] = 0;
  }
  for (int block = first; block <= last; block++) {
    const float *part = part_of(block);
#pragma unroll
    for (int i = 0; i < vectors; i++) {
      float *v = &sums.at[i / (N / 8)][i % (N / 8) * 4];
      const float4 x = __ldcg((const float4 *)(part + i * TEAM * 4));
      v[0] += x.x;
      v[1] += x.y;
      v[2] += x.z;
      v[3] += x.w;
    }
  }
  return true;
}

DEVICE void consume(const bsm_cuda_tiled &p, const stages &s, u32 *arrived) {
  const int thread = (int)threadIdx.x, lane = thread % 32;
  const int group = thread / 128, warp = thread / 32 % 4;
  const int team = K_TURNS ? group : 0;
  const int group_m = K_TURNS ? 0 : group / K_WN;
  const int group_n = K_TURNS ? 0 : group % K_WN;
  schedule left = begin(p);
  work w;
  ring r = {0, 0};
  writer out = {s.a(K_STAGES) + (u32)(thread / 32 * BUFFERS * CHUNK_BYTES), 0};
  int turn = 0;
  wait_for_previous();
  while (next(p, left, w)) {
    if (K_TURNS && turn++ % 2 != group) {
      const int at = r.stage + w.count;
      r.parity ^= (u32)(at / K_STAGES) & 1u;
      r.stage = at % K_STAGES;
      continue;
    }
    if (K_TURNS && turn > 1) {
      ptx_mbarrier_wait(s.multiplied(1 - group), (u32)(turn / 2 - 1) & 1u);
    }
    accumulators sums;
    multiply_all(sums, s, r, w.count, group_m, group_n, lane);
    if (K_TURNS && lane == 0) ptx_mbarrier_arrive(s.multiplied(group));
    if constexpr (K_SHARED) {
      if (w.count < p.steps &&
          !join(p, sums, w, arrived + team, team, thread % TEAM)) {
        continue;
      }
    }
    const place_of_tile t = find_tile(p, w.tile);
    const int m = t.m + group_m * TM * 64 + warp * 16, n = t.n + group_n * N;
    if constexpr (K_VECTOR) {
      store_tiles(p, sums, t, m, n, out, lane);
    } else {
      store_pairs(p.product, sums, t, m, n, lane);
    }
  }
  if (K_VECTOR && lane == 0) ptx_stores_wait();
}

EARLY_RESIDENT_KERNEL_OF(THREADS, K_RESIDENT, wgmma_gemm, bsm_cuda_tiled) {
  DYNAMIC_SHARED(memory);
  __shared__ u64 barriers[2 * K_STAGES + 2];
  __shared__ u32 arrived[GROUPS];
  const int thread = (int)threadIdx.x;
  const u32 room = shared_address(memory);
  const stages s = {(room + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                    shared_address(barriers)};
  if (thread == CONSUMERS) {
    ptx_prefetch_map(&p.a);
    ptx_prefetch_map(&p.b);
    if (K_VECTOR) ptx_prefetch_map(&p.y);
    for (int i = 0; i < K_STAGES; i++) {
      ptx_mbarrier_init(s.full(i), 1);
      ptx_mbarrier_init(s.empty(i), TEAM / 32);
    }
    for (int i = 0; i < 2; i++) ptx_mbarrier_init(s.multiplied(i), 4);
    ptx_mbarrier_init_done();
  }
  __syncthreads();
  if (thread >= CONSUMERS) {
    if (thread == CONSUMERS) produce(p, s);
  } else {
    consume(p, s, arrived);
  }
}
