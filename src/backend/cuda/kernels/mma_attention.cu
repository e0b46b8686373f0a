// SPDX-License-Identifier: Apache-2.0
// out = softmax(mask(scale Q K^T)) V on tensor cores: a block for some queries
// of a head, 16 of them in each warp. Keys come in tiles; what was summed is
// scaled down when a tile has a greater score. Of the last tile the keys that
// exist are multiplied, in steps of 16. Sums are in float, and weights are rounded
// before they multiply values. Options: K_T (f16, bf16), K_HEADS (loops),
// K_BIASES, K_MASK (0, 1: keep, 2: hide), K_CAUSAL, K_CLEARS, K_WARPS, K_DEPTH,
// K_WIDTH (room for the columns of Q and V: 32, 64, or a multiple of 64 up to
// 256), K_CHUNKS (1: rows of Q, K and V are read 16 bytes at a time); of sizes:
// K_FLAT (attention_scores.cuh).
// grid: (tiles of queries, heads)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "mma.cuh"
#include "attention_rows.cuh"

typedef K_T T;

#include "attention_scores.cuh"

enum {
  THREADS = 32 * K_WARPS,
  QUERIES = 16 * K_WARPS,
  Q_BYTES = QUERIES * K_DEPTH * 2,
  K_BYTES = KEYS * K_DEPTH * 2,
  STAGE_BYTES = K_BYTES + KEYS * K_WIDTH * 2,
  TD = K_DEPTH / 16,  // steps along the columns of Q
  // Queries stay in registers where these hold them, too.
  HELD = K_DEPTH <= 128 && K_WIDTH <= 128,
  // Blocks that the registers of an SM are to hold.
  RESIDENT = (K_DEPTH <= 64 && K_WIDTH <= 64 ? 12 : HELD ? 8 : 4) / K_WARPS
};

struct queries {
  u32 at[HELD ? TD : 1][4];
};

DEVICE void load_queries(u32 memory, int warp, int lane, queries &q) {
  if constexpr (HELD) {
#pragma unroll
    for (int k = 0; k < TD; k++) {
      load_a<K_DEPTH / 8>(memory, warp * 16, k, lane, q.at[k]);
    }
  }
}

DEVICE void multiply_keys(u32 memory, u32 keys, const queries &q, int warp,
                          int lane, const key_tile &t, float (&score)[TN][4]) {
#pragma unroll
  for (int j = 0; j < TN * 4; j++) score[j / 4][j % 4] = 0;
#pragma unroll
  for (int k = 0; k < TD; k++) {
    u32 a[4], b[2][2];
    if constexpr (HELD) {
#pragma unroll
      for (int i = 0; i < 4; i++) a[i] = q.at[k][i];
    } else {
      load_a<K_DEPTH / 8>(memory, warp * 16, k, lane, a);
    }
#pragma unroll
    for (int j = 0; j < TN; j += 2) {
      if (j / 2 >= t.groups) break;
      load_b<K_DEPTH / 8>(keys, j * 8, k, lane, b);
      multiply<T>(score[j], a, b[0]);
      multiply<T>(score[j + 1], a, b[1]);
    }
  }
}

DEVICE void multiply_values(u32 values, int lane, const key_tile &t,
                            const float (&score)[TN][4], found &f) {
#pragma unroll
  for (int k = 0; k < KEYS / 16; k++) {
    if (k >= t.groups) break;
    u32 a[4];
    weights_of(score, k, a);
#pragma unroll
    for (int j = 0; j < TW; j += 2) {
      u32 b[2][2];
      load_b_rows<K_WIDTH / 8>(values, j * 8, k, lane, b);
      multiply<T>(f.out[j], a, b[0]);
      multiply<T>(f.out[j + 1], a, b[1]);
    }
  }
}

EARLY_RESIDENT_KERNEL_OF(THREADS, RESIDENT, mma_attention, bsm_cuda_attention) {
  DYNAMIC_SHARED(memory);
  const u32 shared = shared_address(memory);
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int q0 = (int)blockIdx.x * QUERIES, row = q0 + warp * 16 + lane / 4;
  const int count = (int)p.queries, keys = (int)p.keys;
  i64 at[OPERANDS] = {};
  seek<OPERANDS>(K_HEADS, blockIdx.y, p.head_sizes, p.head_strides, at);
  const int seen = keys_seen(p, q0 + QUERIES);
  const int tiles = (seen + KEYS - 1) / KEYS;
  auto fetch = [&](int tile) {
    const u32 to = (u32)(Q_BYTES + tile % 2 * STAGE_BYTES);
    fetch_rows<T, K_DEPTH, THREADS, K_CHUNKS != 0>(
        memory, to, (const T *)p.address[K] + at[K], tile * KEYS, KEYS, keys,
        (int)p.depth, p.row[K], p.column[K]);
    fetch_rows<T, K_WIDTH, THREADS, K_CHUNKS != 0>(
        memory, to + K_BYTES, (const T *)p.address[V] + at[V], tile * KEYS, KEYS,
        keys, (int)p.width, p.row[V], p.column[V]);
  };
  wait_for_previous();
  fetch_rows<T, K_DEPTH, THREADS, K_CHUNKS != 0>(
      memory, 0, (const T *)p.address[Q] + at[Q], q0, QUERIES, count,
      (int)p.depth, p.row[Q], p.column[Q]);
  if (tiles) fetch(0);
  copies_commit();

  const row_places places = find_rows(p, at, row);
  found f;
  clear(f);
  queries q;
  for (int tile = 0; tile < tiles; tile++) {
    if (tile + 1 < tiles) fetch(tile + 1);
    copies_commit();
    copies_wait<1>();
    __syncthreads();
    if (tile == 0) load_queries(shared, warp, lane, q);
    key_tile t = {tile * KEYS, (seen - tile * KEYS + 15) / 16, false};
    t.whole = sees_all(p, t.first, q0 + warp * 16);
    const u32 k_tile = shared + (u32)(Q_BYTES + tile % 2 * STAGE_BYTES);
    if (q0 + warp * 16 < count) {
      float score[TN][4];
      multiply_keys(shared, k_tile, q, warp, lane, t, score);
      finish_scores(p, places, row, lane, t, score);
      weigh(score, f);
      multiply_values(k_tile + K_BYTES, lane, t, score, f);
    }
    __syncthreads();
  }
  copies_wait<0>();
  store_rows(p, at[OUT], row, lane, f);
}
