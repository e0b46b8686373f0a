// SPDX-License-Identifier: Apache-2.0
// out = softmax(mask(scale Q K^T)) V on the tensor cores of sm_90: warpgroups have
// 64 queries each of a head. One warp, the producer, asks for tiles of keys and
// values, which the GPU copies into a ring of stages in shared memory. Weights
// multiply values from registers. What was summed is scaled down when a tile has
// a greater score. Sums are in float, and weights are rounded before they multiply
// values. Options: K_T (f16, bf16), K_HEADS (loops), K_BIASES, K_MASK (0, 1: keep,
// 2: hide), K_CAUSAL, K_CLEARS, K_FLAT (attention_scores.cuh), K_GROUPS (warpgroups), K_STAGES, K_DEPTH, K_WIDTH
// (room for the columns of Q and V: 64, 128, 192 or 256), K_RESIDENT (blocks that
// an SM is to hold).
// grid: (tiles of queries, heads)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "warpgroup.cuh"
#include "attention_rows.cuh"

typedef K_T T;

#include "attention_scores.cuh"

enum {
  CONSUMERS = 128 * K_GROUPS,
  THREADS = CONSUMERS + 32,
  QUERIES = 64 * K_GROUPS,
  // A block of 64 columns has rows of 128 bytes.
  COLUMNS = 64,
  ROW_BYTES = 2 * COLUMNS,
  Q_BYTES = QUERIES * K_DEPTH * 2,
  K_BYTES = KEYS * K_DEPTH * 2,
  V_BYTES = KEYS * K_WIDTH * 2,
  STAGE_BYTES = K_BYTES + V_BYTES,
  ALIGNMENT = 1024
};

static_assert(K_DEPTH % COLUMNS == 0 && K_WIDTH % COLUMNS == 0, "room");

struct attention_stages {
  u32 memory, barriers;
  DEVICE u32 queries() const { return memory; }
  DEVICE u32 keys(int stage) const {
    return memory + (u32)(Q_BYTES + stage * STAGE_BYTES);
  }
  DEVICE u32 values(int stage) const { return keys(stage) + K_BYTES; }
  DEVICE u32 asked() const { return barriers; }  // for the queries
  DEVICE u32 full_keys(int stage) const { return barriers + 8 + (u32)stage * 8; }
  DEVICE u32 full_values(int stage) const {
    return full_keys(K_STAGES + stage);
  }
  DEVICE u32 empty(int stage) const { return full_keys(2 * K_STAGES + stage); }
};

// ---- the producer ----

// `count` columns of `rows` rows of a head, in blocks of 64 columns.
DEVICE void fetch_blocks(const bsm_cuda_map &map, u32 to, u32 barrier, int count,
                         int rows, int first, const int (&head)[3]) {
  for (int c = 0; c < count; c += COLUMNS) {
    ptx_copy_tile_5d(to + (u32)(c / COLUMNS * rows * ROW_BYTES), &map, barrier, c,
                     first, head[0], head[1], head[2]);
  }
}

struct places {
  int of[3][3];  // of Q, K and V
};

DEVICE places find_heads(const bsm_cuda_tiled_attention &p) {
  places s = {};
  int rest = (int)blockIdx.y;
  for (int loop = K_HEADS - 1; loop >= 0; loop--) {
    const int size = (int)p.attention.head_sizes[loop];
    const int at = rest % size;
    rest /= size;
    for (int k = 0; k < 3; k++) s.of[k][loop] = p.moves[k][loop] ? at : 0;
  }
  return s;
}

DEVICE void produce(const bsm_cuda_tiled_attention &p, const attention_stages &s,
                    int q0, int tiles) {
  const places heads = find_heads(p);
  ptx_mbarrier_expect(s.asked(), Q_BYTES);
  // A map's tile has 64 rows.
  for (int g = 0; g < K_GROUPS; g++) {
    fetch_blocks(p.q, s.queries() + (u32)(g * 64 * K_DEPTH * 2), s.asked(),
                 K_DEPTH, 64, q0 + g * 64, heads.of[0]);
  }
  for (int tile = 0; tile < tiles; tile++) {
    const int stage = tile % K_STAGES;
    if (tile >= K_STAGES) {
      ptx_mbarrier_wait(s.empty(stage), (u32)(tile / K_STAGES - 1) & 1u);
    }
    ptx_mbarrier_expect(s.full_keys(stage), K_BYTES);
    fetch_blocks(p.k, s.keys(stage), s.full_keys(stage), K_DEPTH, KEYS,
                 tile * KEYS, heads.of[1]);
    ptx_mbarrier_expect(s.full_values(stage), V_BYTES);
    fetch_blocks(p.v, s.values(stage), s.full_values(stage), K_WIDTH, KEYS,
                 tile * KEYS, heads.of[2]);
  }
}

// ---- the others ----

// Of a tile the first COUNT keys.
template <int COUNT>
DEVICE void multiply_keys(u32 queries, u32 keys, float *score) {
  const matrix a = {queries, 16, 8 * ROW_BYTES};
  const matrix b = {keys, 16, 8 * ROW_BYTES};
  products_begin();
#pragma unroll
  for (int k = 0; k < K_DEPTH / 16; k++) {
    const u32 inside = (u32)(k % 4 * 32);
    multiply_16<T, COUNT, ROW_BYTES, 0>(
        score, moved(a, (u32)(k / 4 * 64 * ROW_BYTES) + inside),
        moved(b, (u32)(k / 4 * KEYS * ROW_BYTES) + inside), k > 0);
  }
  products_commit();
  products_wait<0>();
}

DEVICE void multiply_values(u32 values, const key_tile &t,
                            const float (&score)[TN][4], found &f) {
  const matrix b = {values, KEYS * ROW_BYTES, 8 * ROW_BYTES};
  u32 weights[KEYS / 16][4];
#pragma unroll
  for (int k = 0; k < KEYS / 16; k++) weights_of(score, k, weights[k]);
  products_begin();
#pragma unroll
  for (int k = 0; k < KEYS / 16; k++) {
    if (k >= t.groups) break;
    multiply_held<T, K_WIDTH>(&f.out[0][0], weights[k],
                              moved(b, (u32)(k * 16 * ROW_BYTES)));
  }
  products_commit();
  products_wait<0>();
}

DEVICE void consume(const bsm_cuda_attention &p, const attention_stages &s,
                    int q0, int seen, int tiles) {
  const int thread = (int)threadIdx.x, lane = thread % 32, group = thread / 128;
  const int first = q0 + group * 64 + thread / 32 % 4 * 16;
  const int row = first + lane / 4;
  const u32 queries = s.queries() + (u32)(group * 64 * K_DEPTH * 2);
  i64 at[OPERANDS] = {};
  seek<OPERANDS>(K_HEADS, blockIdx.y, p.head_sizes, p.head_strides, at);
  const row_places places = find_rows(p, at, row);
  found f;
  clear(f);
  wait_for_previous();
  ptx_mbarrier_wait(s.asked(), 0);
  for (int tile = 0; tile < tiles; tile++) {
    const int stage = tile % K_STAGES;
    const u32 parity = (u32)(tile / K_STAGES) & 1u;
    const int left = seen - tile * KEYS;
    const key_tile t = {tile * KEYS, left < KEYS ? (left + 15) / 16 : KEYS / 16,
                        sees_all(p, tile * KEYS, first)};
    float score[TN][4];
    ptx_mbarrier_wait(s.full_keys(stage), parity);
    if (left > KEYS / 2) {
      multiply_keys<KEYS>(queries, s.keys(stage), &score[0][0]);
    } else {
#pragma unroll
      for (int i = TN * 2; i < TN * 4; i++) score[i / 4][i % 4] = 0;
      multiply_keys<KEYS / 2>(queries, s.keys(stage), &score[0][0]);
    }
    finish_scores(p, places, row, lane, t, score);
    weigh(score, f);
    ptx_mbarrier_wait(s.full_values(stage), parity);
    multiply_values(s.values(stage), t, score, f);
    if (lane == 0) ptx_mbarrier_arrive(s.empty(stage));
  }
  store_rows(p, at[OUT], row, lane, f);
}

EARLY_RESIDENT_KERNEL_OF(THREADS, K_RESIDENT, wgmma_attention,
                         bsm_cuda_tiled_attention) {
  DYNAMIC_SHARED(memory);
  __shared__ u64 barriers[3 * K_STAGES + 1];
  const u32 room = shared_address(memory);
  const attention_stages s = {(room + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                              shared_address(barriers)};
  const int q0 = (int)blockIdx.x * QUERIES;
  const int seen = keys_seen(p.attention, q0 + QUERIES);
  const int tiles = (seen + KEYS - 1) / KEYS;
  if (threadIdx.x == CONSUMERS) {
    ptx_prefetch_map(&p.q);
    ptx_prefetch_map(&p.k);
    ptx_prefetch_map(&p.v);
    ptx_mbarrier_init(s.asked(), 1);
    for (int i = 0; i < K_STAGES; i++) {
      ptx_mbarrier_init(s.full_keys(i), 1);
      ptx_mbarrier_init(s.full_values(i), 1);
      ptx_mbarrier_init(s.empty(i), CONSUMERS / 32);
    }
    ptx_mbarrier_init_done();
  }
  __syncthreads();
  if (threadIdx.x >= CONSUMERS) {
    if (threadIdx.x == CONSUMERS) {
      wait_for_previous();
      produce(p, s, q0, tiles);
    }
  } else {
    consume(p.attention, s, q0, seen, tiles);
  }
}
