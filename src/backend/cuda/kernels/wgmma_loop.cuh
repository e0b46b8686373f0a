// SPDX-License-Identifier: Apache-2.0
// What a block of wgmma_gemm.cu, of wgmma_int8.cu and of wgmma_tf32.cu does: the
// warp that asks for tiles, and the warpgroups that multiply them. The source
// says before what an element T and a sum is, whether A is rounded on its way,
// and stores tiles by a function of its own.
#pragma once

#ifndef ROUNDS_A
#define ROUNDS_A 0
#endif

#define ALONG_K 1
#define ALONG_N 2

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
  ALIGNMENT = 1024
};

static_assert(K_BK == 64 || K_BK == 32, "rows that are swizzled");
static_assert(!K_TURNS || K_WM * K_WN == 1, "one warpgroup has a whole tile");
static_assert(N % 32 == 0 && (K_B != ALONG_N || N % 64 == 0), "columns");

struct accumulators {
  sum at[TM][N / 2];
};

#include "wgmma_work.cuh"
#include "wgmma_fetch.cuh"
#include "arrival.cuh"

// ---- multiplying ----

DEVICE matrix b_of(u32 b, int group_n) {
  return K_B == ALONG_N
             ? matrix{b + (u32)(group_n * (N / 64) * BLOCK_OF_N), BLOCK_OF_N,
                      1024}
             : matrix{b + (u32)(group_n * N * ROW_BYTES), 16, 8 * ROW_BYTES};
}

DEVICE void release(const stages &s, int stage, int lane) {
  if (lane == 0) ptx_mbarrier_arrive(s.empty(stage));
}

#if ROUNDS_A
enum { HALF = K_BK / 32 };  // products along k of half of a stage

// Of a warp's rows of A half of a stage in registers, rounded to tf32.
struct rows_of_a {
  u32 at[HALF][TM][4];
};

DEVICE void hold(rows_of_a &x, u32 a, int group_m, int half, int lane) {
  const matrix of_a = {a + (u32)(group_m * TM * 64 * ROW_BYTES), 16,
                       8 * ROW_BYTES};
#pragma unroll
  for (int k = 0; k < HALF; k++) {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      u32 *own = x.at[k][i];
      load_own_rows<ROW_BYTES>(
          moved(of_a, (u32)(i * 64 * ROW_BYTES + (half * HALF + k) * 32)), lane,
          own);
#pragma unroll
      for (int e = 0; e < 4; e++) {
        own[e] = ptx_f32_to_tf32(__uint_as_float(own[e]));
      }
    }
  }
}

DEVICE void multiply_half(accumulators &sums, const rows_of_a &a, u32 b,
                          int group_n, int half, int adding) {
  const matrix of_b = b_of(b, group_n);
  products_begin();
#pragma unroll
  for (int k = 0; k < HALF; k++) {
    const matrix b_k = moved(of_b, (u32)((half * HALF + k) * 32));
#pragma unroll
    for (int i = 0; i < TM; i++) {
      multiply_held_tf32<N, ROW_BYTES>(sums.at[i], a.at[k][i], b_k,
                                       adding || k > 0);
    }
  }
  products_commit();
}

// One tile's steps; the products of half a stage go on while the rows of the
// next half are loaded to other registers.
DEVICE void multiply_all(accumulators &sums, const stages &s, ring &r,
                         int count, int group_m, int group_n, int lane) {
  rows_of_a first, second;
  int before = 0;
  for (int k = 0; k < count; k++) {
    ptx_mbarrier_wait(s.full(r.stage), r.parity);
    hold(first, s.a(r.stage), group_m, 0, lane);
    multiply_half(sums, first, s.b(r.stage), group_n, 0, k > 0);
    if (k > 0) {
      products_wait<1>();
      release(s, before, lane);
    }
    hold(second, s.a(r.stage), group_m, 1, lane);
    multiply_half(sums, second, s.b(r.stage), group_n, 1, 1);
    products_wait<1>();
    before = r.stage;
    step(r);
  }
  products_wait<0>();
  release(s, before, lane);
}
#else
DEVICE void multiply_stage(accumulators &sums, u32 a, u32 b, int group_m,
                           int group_n, int adding) {
  const matrix of_a = {a + (u32)(group_m * TM * 64 * ROW_BYTES), 16,
                       8 * ROW_BYTES};
  const matrix of_b = b_of(b, group_n);
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
#endif

// ---- the end of a tile ----

// Four sums in memory that the blocks of a tile share.
DEVICE void put_sums(float *to, const float *v) {
  *(float4 *)to = make_float4(v[0], v[1], v[2], v[3]);
}
DEVICE void put_sums(i32 *to, const i32 *v) {
  *(int4 *)to = make_int4(v[0], v[1], v[2], v[3]);
}
DEVICE void add_sums(const float *from, float *v) {
  const float4 x = __ldcg((const float4 *)from);
  v[0] += x.x;
  v[1] += x.y;
  v[2] += x.z;
  v[3] += x.w;
}
DEVICE void add_sums(const i32 *from, i32 *v) {
  const int4 x = __ldcg((const int4 *)from);
  v[0] += x.x;
  v[1] += x.y;
  v[2] += x.z;
  v[3] += x.w;
}

// Of a tile whose k is shared: leaves the sums for the block that ends last;
// true in that one, with all sums added in the order of k.
DEVICE bool join(const bsm_cuda_tiled &p, accumulators &sums, const work &w,
                 u32 *arrived, int team, int thread) {
  const i64 at = (i64)w.tile * p.steps;
  const int first = block_of(p, at), last = block_of(p, at + p.steps - 1);
  if (first == last) return true;
  const i64 size = K_BM * K_BN;
  const int vectors = TM * N / 8;
  sum *all = (sum *)p.product.partial;
  u32 *counter = (u32 *)p.product.counters + w.tile;
  // A block has parts of two tiles at most: its first one and another.
  auto part_of = [&](int block) {
    const bool is_first = share_of(p, block) / p.steps == w.tile;
    return all + ((i64)block * 2 + !is_first) * size + thread * 4;
  };
  sum *own = part_of((int)blockIdx.x);
#pragma unroll
  for (int i = 0; i < vectors; i++) {
    put_sums(own + i * TEAM * 4, &sums.at[i / (N / 8)][i % (N / 8) * 4]);
  }
  auto barrier = [&] { ptx_barrier(1 + team, TEAM); };
  const bool ends =
      ends_last(counter, last - first + 1, arrived, thread, barrier);
  barrier();  // before another tile's blocks are counted there
  if (!ends) return false;
#pragma unroll
  for (int i = 0; i < vectors; i++) {
    sum *v = &sums.at[i / (N / 8)][i % (N / 8) * 4];
    v[0] = v[1] = v[2] = v[3] = 0;
  }
  for (int block = first; block <= last; block++) {
    const sum *part = part_of(block);
#pragma unroll
    for (int i = 0; i < vectors; i++) {
      add_sums(part + i * TEAM * 4, &sums.at[i / (N / 8)][i % (N / 8) * 4]);
    }
  }
  return true;
}

// `end` stores the rows and columns that a warp has of a tile, whose first ones
// are m and n: 16 rows of each 64, and all N columns of its warpgroup. It may
// ask for what it needs before the tile is multiplied.
template <class E>
DEVICE void consume(const bsm_cuda_tiled &p, const stages &s, u32 *arrived,
                    E end) {
  const int thread = (int)threadIdx.x, lane = thread % 32;
  const int group = thread / 128, warp = thread / 32 % 4;
  const int team = K_TURNS ? group : 0;
  const int group_m = K_TURNS ? 0 : group / K_WN;
  const int group_n = K_TURNS ? 0 : group % K_WN;
  schedule left = begin(p);
  work w;
  ring r = {0, 0};
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
    const place_of_tile t = find_tile(p, w.tile);
    const int m = t.m + group_m * TM * 64 + warp * 16, n = t.n + group_n * N;
    end.prepare(t, m, n, lane);
    accumulators sums;
    multiply_all(sums, s, r, w.count, group_m, group_n, lane);
    if (K_TURNS && lane == 0) ptx_mbarrier_arrive(s.multiplied(group));
    if constexpr (K_SHARED) {
      if (w.count < p.steps &&
          !join(p, sums, w, arrived + team, team, thread % TEAM)) {
        continue;
      }
    }
    end.store(sums, t, m, n, lane);
  }
  end.finish(lane);
}

// Shared memory of a block, which kernels declare.
struct block_memory {
  char *tiles;
  u64 *barriers;  // 2 K_STAGES + 2
  u32 *arrived;   // GROUPS
};
#define BLOCK_MEMORY(name)                     \
  DYNAMIC_SHARED(name##_tiles);                \
  __shared__ u64 name##_barriers[2 * K_STAGES + 2]; \
  __shared__ u32 name##_arrived[GROUPS];       \
  const block_memory name = {name##_tiles, name##_barriers, name##_arrived}

// All of a block; `make_end`, of the stages and a warp of the block, says how
// that stores.
template <class F>
DEVICE void run_block(const bsm_cuda_tiled &p, const block_memory &b,
                      F make_end) {
  const int thread = (int)threadIdx.x;
  const u32 room = shared_address(b.tiles);
  const stages s = {(room + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                    shared_address(b.barriers)};
  if (thread == CONSUMERS) {
    ptx_prefetch_map(&p.a);
    ptx_prefetch_map(&p.b);
    if (STORES_TILES) ptx_prefetch_map(&p.y);
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
    consume(p, s, b.arrived, make_end(s, thread / 32));
  }
}
