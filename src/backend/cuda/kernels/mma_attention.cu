// SPDX-License-Identifier: Apache-2.0
// out = softmax(mask(scale Q K^T)) V on tensor cores: a block for some queries
// of a head, 16 of them in each warp. Keys come in tiles; what was summed is
// scaled down when a tile has a greater score. Sums are in float, and weights
// are rounded before they multiply values. Options: K_T (f16, bf16), K_HEADS
// (loops), K_BIASES, K_MASK (0, 1: keep, 2: hide), K_CAUSAL, K_CLEARS, K_WARPS,
// K_DEPTH, K_WIDTH (room for the columns of Q and V: 32, 64 or 128), K_CHUNKS
// (1: rows of Q, K and V are read 16 bytes at a time).
// grid: (tiles of queries, heads)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "mma.cuh"
#include "attention_rows.cuh"

typedef K_T T;

enum {
  OUT, Q, K, V, BIAS, MASK = BIAS + 2, OPERANDS,
  THREADS = 32 * K_WARPS,
  QUERIES = 16 * K_WARPS,
  KEYS = 64,  // of a tile
  Q_BYTES = QUERIES * K_DEPTH * 2,
  K_BYTES = KEYS * K_DEPTH * 2,
  STAGE_BYTES = K_BYTES + KEYS * K_WIDTH * 2,
  TN = KEYS / 8,    // tiles of 8 keys
  TW = K_WIDTH / 8  // tiles of 8 columns of V
};

KERNEL_OF(THREADS, mma_attention, bsm_cuda_attention) {
  DYNAMIC_SHARED(memory);
  const u32 shared = shared_address(memory);
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int q0 = (int)blockIdx.x * QUERIES;
  const int queries = (int)p.queries, keys = (int)p.keys;
  i64 at[OPERANDS] = {};
  seek<OPERANDS>(K_HEADS, blockIdx.y, p.head_sizes, p.head_strides, at);
  const T *k_base = (const T *)p.address[K] + at[K];
  const T *v_base = (const T *)p.address[V] + at[V];

  // Of this block: a causal query sees the keys up to its diagonal.
  int seen = keys;
  if (K_CAUSAL) {
    const i64 last = (q0 + QUERIES < queries ? q0 + QUERIES : queries) + p.diagonal;
    seen = last < 0 ? 0 : last < keys ? (int)last : keys;
  }
  const int tiles = (seen + KEYS - 1) / KEYS;
  auto fetch = [&](int tile) {
    const u32 to = (u32)(Q_BYTES + tile % 2 * STAGE_BYTES);
    fetch_rows<T, K_DEPTH, THREADS, K_CHUNKS != 0>(
        memory, to, k_base, tile * KEYS, KEYS, keys, (int)p.depth, p.row[K],
        p.column[K]);
    fetch_rows<T, K_WIDTH, THREADS, K_CHUNKS != 0>(
        memory, to + K_BYTES, v_base, tile * KEYS, KEYS, keys, (int)p.width,
        p.row[V], p.column[V]);
  };
  fetch_rows<T, K_DEPTH, THREADS, K_CHUNKS != 0>(
      memory, 0, (const T *)p.address[Q] + at[Q], q0, QUERIES, queries,
      (int)p.depth, p.row[Q], p.column[Q]);
  if (tiles) fetch(0);
  copies_commit();

  // Rows of this thread: lane / 4 of its warp, and 8 more.
  const int row = q0 + warp * 16 + lane / 4;
  float most[2] = {lowest(0.0f), lowest(0.0f)}, total[2] = {0, 0};
  // Where the biases and the mask of its rows are.
  i64 bias_at[2][2], mask_at[2];
#pragma unroll
  for (int r = 0; r < 2; r++) {
#pragma unroll
    for (int b = 0; b < 2; b++) {
      bias_at[r][b] = at[BIAS + b] + (row + 8 * r) * p.row[BIAS + b];
    }
    mask_at[r] = at[MASK] + (row + 8 * r) * p.row[MASK];
  }
  float out[TW][4];
#pragma unroll
  for (int j = 0; j < TW * 4; j++) out[j / 4][j % 4] = 0;
  for (int tile = 0; tile < tiles; tile++) {
    if (tile + 1 < tiles) fetch(tile + 1);
    copies_commit();
    copies_wait<1>();
    __syncthreads();
    const u32 k_tile = shared + (u32)(Q_BYTES + tile % 2 * STAGE_BYTES);
    const u32 v_tile = k_tile + K_BYTES;
    float score[TN][4];
#pragma unroll
    for (int j = 0; j < TN * 4; j++) score[j / 4][j % 4] = 0;
#pragma unroll
    for (int k = 0; k < K_DEPTH / 16; k++) {
      u32 a[4], b[2][2];
      load_a<K_DEPTH / 8>(shared, warp * 16, k, lane, a);
#pragma unroll
      for (int j = 0; j < TN; j += 2) {
        load_b<K_DEPTH / 8>(k_tile, j * 8, k, lane, b);
        multiply<T>(score[j], a, b[0]);
        multiply<T>(score[j + 1], a, b[1]);
      }
    }
    float greatest[2] = {most[0], most[1]};
#pragma unroll
    for (int j = 0; j < TN; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int query = row + e / 2 * 8;
        const int key = tile * KEYS + j * 8 + lane % 4 * 2 + e % 2;
        float s = score[j][e] * (float)p.scale;
        bool sees = key < keys && query < queries;
        if (K_CAUSAL) sees = sees && key <= query + p.diagonal;
        if (sees) {
#pragma unroll
          for (int b = 0; b < K_BIASES; b++) {
            s += load<T>(p.address[BIAS + b],
                         bias_at[e / 2][b] + key * p.column[BIAS + b]);
          }
          if (K_MASK) {
            const bool m = load<bool>(p.address[MASK],
                                      mask_at[e / 2] + key * p.column[MASK]);
            if (m == (K_MASK == 2)) s = (float)p.fill;
          }
        } else {
          s = lowest(0.0f);
        }
        score[j][e] = s;
        greatest[e / 2] = largest(greatest[e / 2], s);
      }
    }
    float base[2], shrink[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
      greatest[r] = largest(greatest[r], shuffle_xor(greatest[r], 1));
      greatest[r] = largest(greatest[r], shuffle_xor(greatest[r], 2));
      base[r] = base_of(greatest[r]);
      shrink[r] = share_of(most[r], base[r]);
      most[r] = greatest[r];
      total[r] *= shrink[r];
    }
#pragma unroll
    for (int j = 0; j < TW; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) out[j][e] *= shrink[e / 2];
    }
#pragma unroll
    for (int j = 0; j < TN; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        score[j][e] = ptx_exp2((score[j][e] - base[e / 2]) * LOG2_E);
        total[e / 2] += score[j][e];
      }
    }
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
      const u32 a[4] = {pack2<T>(score[2 * k][0], score[2 * k][1]),
                        pack2<T>(score[2 * k][2], score[2 * k][3]),
                        pack2<T>(score[2 * k + 1][0], score[2 * k + 1][1]),
                        pack2<T>(score[2 * k + 1][2], score[2 * k + 1][3])};
#pragma unroll
      for (int j = 0; j < TW; j += 2) {
        u32 b[2][2];
        load_b_rows<K_WIDTH / 8>(v_tile, j * 8, k, lane, b);
        multiply<T>(out[j], a, b[0]);
        multiply<T>(out[j + 1], a, b[1]);
      }
    }
    __syncthreads();
  }
  copies_wait<0>();
#pragma unroll
  for (int r = 0; r < 2; r++) {
    total[r] += shuffle_xor(total[r], 1);
    total[r] += shuffle_xor(total[r], 2);
    const int query = row + 8 * r;
    if (query >= queries) continue;
    // Without keys, PyTorch multiplies nothing with nothing.
    const bool clears = keys == 0 || (K_CLEARS && total[r] == 0);
    T *y = (T *)p.address[OUT] + at[OUT] + query * p.row[OUT];
    const float scale = 1.0f / total[r];
#pragma unroll
    for (int j = 0; j < TW; j++) {
      const int column = j * 8 + lane % 4 * 2;
      if (column >= p.width) continue;
      store_two<T>(y + column, clears ? 0 : out[j][2 * r] * scale,
                   clears ? 0 : out[j][2 * r + 1] * scale,
                   column + 1 < p.width);
    }
  }
}
