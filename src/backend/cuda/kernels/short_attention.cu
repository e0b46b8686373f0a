// SPDX-License-Identifier: Apache-2.0
// out = softmax(mask(scale Q K^T)) V on tensor cores, for sequences whose keys
// and values fit in shared memory: a block has 16 K_ROWS queries of a head, and
// a row of K_SHARES warps has 16 of these, of which each warp has some tiles of
// keys. So short sequences keep many warps busy, each with little to do. What
// the warps of a row have found is joined in the end, in their order. Sums are in
// float, and weights are rounded before they multiply values. Options: K_T (f16,
// bf16), K_HEADS (loops), K_BIASES, K_MASK (0, 1: keep, 2: hide), K_CAUSAL,
// K_CLEARS, K_ROWS, K_SHARES, K_KEYS (of a tile), K_DEPTH, K_WIDTH (room for the
// columns of Q and V: 32, 64 or 128), K_CHUNKS (1: rows of Q, K and V are read
// 16 bytes at a time).
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
  THREADS = 32 * K_ROWS * K_SHARES,
  QUERIES = 16 * K_ROWS,
  Q_BYTES = QUERIES * K_DEPTH * 2,
  TN = K_KEYS / 8,  // tiles of 8 keys
  TW = K_WIDTH / 8, // tiles of 8 columns of V
  PITCH = K_WIDTH + 8  // floats of a row of what a warp has found
};

// What a warp has found for its 16 queries, of which a thread has rows
// lane / 4 and lane / 4 + 8.
struct found {
  float most[2], total[2], out[TW][4];
};

// The scores of a tile, and what is added to them, or hides them.
struct score_tile {
  float at[TN][4], bias[K_BIASES ? TN : 1][4];
  u32 hidden;  // a bit for each score, where there is a mask
};

// Where the biases and the mask of a thread's two rows are.
struct row_places {
  i64 bias[2][2], mask[2];
};

// Without branches, so that all of it is on its way at once.
DEVICE void load_masks(const bsm_cuda_attention &p, const row_places &rows,
                       int first_key, score_tile &s) {
  const int lane = (int)threadIdx.x % 32, last = (int)p.keys - 1;
  s.hidden = 0;
#pragma unroll
  for (int i = 0; i < TN * 4; i++) {
    const int j = i / 4, e = i % 4;
    const int at = first_key + j * 8 + lane % 4 * 2 + e % 2;
    const i64 key = at < last ? at : last;
    if (K_BIASES) s.bias[j][e] = 0;
#pragma unroll
    for (int b = 0; b < K_BIASES; b++) {
      s.bias[j][e] += load<T>(p.address[BIAS + b],
                              rows.bias[e / 2][b] + key * p.column[BIAS + b]);
    }
    if (K_MASK) {
      const bool m = load<bool>(p.address[MASK],
                                rows.mask[e / 2] + key * p.column[MASK]);
      s.hidden |= (u32)(m == (K_MASK == 2)) << i;
    }
  }
}

DEVICE void multiply_keys(u32 q, u32 k, int row, int first_key, score_tile &s) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < TN * 4; i++) s.at[i / 4][i % 4] = 0;
#pragma unroll
  for (int d = 0; d < K_DEPTH / 16; d++) {
    u32 a[4], b[2][2];
    load_a<K_DEPTH / 8>(q, row, d, lane, a);
#pragma unroll
    for (int j = 0; j < TN; j += 2) {
      load_b<K_DEPTH / 8>(k, first_key + j * 8, d, lane, b);
      multiply<T>(s.at[j], a, b[0]);
      multiply<T>(s.at[j + 1], a, b[1]);
    }
  }
}

// Scores become weights, of which the greatest so far is 1.
DEVICE void weigh(const bsm_cuda_attention &p, int query, int first_key,
                  score_tile &s, found &f) {
  const int lane = (int)threadIdx.x % 32;
  float greatest[2] = {f.most[0], f.most[1]};
#pragma unroll
  for (int i = 0; i < TN * 4; i++) {
    const int j = i / 4, e = i % 4;
    const int key = first_key + j * 8 + lane % 4 * 2 + e % 2;
    float x = s.at[j][e] * (float)p.scale;
    if (K_BIASES) x += s.bias[j][e];
    if (K_MASK && (s.hidden >> i & 1u)) x = (float)p.fill;
    bool sees = key < (int)p.keys;
    if (K_CAUSAL) sees = sees && key <= query + e / 2 * 8 + p.diagonal;
    s.at[j][e] = sees ? x : lowest(0.0f);
    greatest[e / 2] = largest(greatest[e / 2], s.at[j][e]);
  }
  float base[2];
#pragma unroll
  for (int r = 0; r < 2; r++) {
    greatest[r] = largest(greatest[r], shuffle_xor(greatest[r], 1));
    greatest[r] = largest(greatest[r], shuffle_xor(greatest[r], 2));
    base[r] = base_of(greatest[r]);
    const float shrink = share_of(f.most[r], base[r]);
    f.most[r] = greatest[r];
    f.total[r] *= shrink;
#pragma unroll
    for (int j = 0; j < TW; j++) {
      f.out[j][2 * r] *= shrink;
      f.out[j][2 * r + 1] *= shrink;
    }
  }
#pragma unroll
  for (int i = 0; i < TN * 4; i++) {
    float &x = s.at[i / 4][i % 4];
    x = ptx_exp2((x - base[i / 2 % 2]) * LOG2_E);
    f.total[i / 2 % 2] += x;
  }
}

DEVICE void multiply_values(u32 v, int first_key, const score_tile &s,
                            found &f) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < K_KEYS / 16; k++) {
    const float(*w)[4] = &s.at[2 * k];
    const u32 a[4] = {pack2<T>(w[0][0], w[0][1]), pack2<T>(w[0][2], w[0][3]),
                      pack2<T>(w[1][0], w[1][1]), pack2<T>(w[1][2], w[1][3])};
#pragma unroll
    for (int j = 0; j < TW; j += 2) {
      u32 b[2][2];
      load_b_rows<K_WIDTH / 8>(v, j * 8, first_key / 16 + k, lane, b);
      multiply<T>(f.out[j], a, b[0]);
      multiply<T>(f.out[j + 1], a, b[1]);
    }
  }
}

// ---- joining what the warps of a row have found ----

// In shared memory: for each warp 16 rows of PITCH floats, then for each warp
// and row the greatest score and the sum of the weights.
DEVICE void leave(float *memory, const found &f) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  float *rows = memory + warp * 16 * PITCH;
  float *sums = memory + K_ROWS * K_SHARES * 16 * PITCH + warp * 32;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int row = lane / 4 + 8 * r;
    float total = f.total[r];
    total += shuffle_xor(total, 1);
    total += shuffle_xor(total, 2);
    if (lane % 4 == 0) {
      sums[2 * row] = f.most[r];
      sums[2 * row + 1] = total;
    }
#pragma unroll
    for (int j = 0; j < TW; j++) {
      *(float2 *)(rows + row * PITCH + j * 8 + lane % 4 * 2) =
          make_float2(f.out[j][2 * r], f.out[j][2 * r + 1]);
    }
  }
}

DEVICE void join(const bsm_cuda_attention &p, const float *memory, int q0,
                 T *out) {
  const float *sums = memory + K_ROWS * K_SHARES * 16 * PITCH;
  const int pairs = K_WIDTH / 2;
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < QUERIES * pairs; i += THREADS) {
    const int row = i / pairs, column = i % pairs * 2, query = q0 + row;
    const int warp = row / 16 * K_SHARES, own = row % 16;
    if (query >= (int)p.queries || column >= (int)p.width) continue;
    float most = lowest(0.0f), total = 0, x = 0, y = 0;
#pragma unroll
    for (int w = 0; w < K_SHARES; w++) {
      most = largest(most, sums[(warp + w) * 32 + 2 * own]);
    }
    const float base = base_of(most);
#pragma unroll
    for (int w = 0; w < K_SHARES; w++) {
      const float *its = sums + (warp + w) * 32 + 2 * own;
      const float share = share_of(its[0], base);
      const float2 v =
          *(const float2 *)(memory + ((warp + w) * 16 + own) * PITCH + column);
      total += share * its[1];
      x += share * v.x;
      y += share * v.y;
    }
    // Without keys, PyTorch multiplies nothing with nothing.
    const bool clears = p.keys == 0 || (K_CLEARS && total == 0);
    const float scale = 1.0f / total;
    store_two<T>(out + query * p.row[OUT] + column, clears ? 0 : x * scale,
                 clears ? 0 : y * scale, column + 1 < (int)p.width);
  }
}

EARLY_KERNEL_OF(THREADS, short_attention, bsm_cuda_attention) {
  DYNAMIC_SHARED(memory);
  const u32 shared = shared_address(memory);
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int row = warp / K_SHARES * 16, share = warp % K_SHARES;
  const int q0 = (int)blockIdx.x * QUERIES;
  const int queries = (int)p.queries, keys = (int)p.keys;
  const int query = q0 + row + lane / 4;
  i64 at[OPERANDS] = {};
  seek<OPERANDS>(K_HEADS, blockIdx.y, p.head_sizes, p.head_strides, at);
  // Of this block: a causal query sees the keys up to its diagonal.
  int seen = keys;
  if (K_CAUSAL) {
    const i64 last = (q0 + QUERIES < queries ? q0 + QUERIES : queries) + p.diagonal;
    seen = last < 0 ? 0 : last < keys ? (int)last : keys;
  }
  const int padded = (seen + K_KEYS - 1) / K_KEYS * K_KEYS;
  const u32 v_bytes = (u32)(Q_BYTES + padded * K_DEPTH * 2);
  row_places places;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const i64 own = query + 8 * r < queries ? query + 8 * r : queries - 1;
#pragma unroll
    for (int b = 0; b < 2; b++) {
      places.bias[r][b] = at[BIAS + b] + own * p.row[BIAS + b];
    }
    places.mask[r] = at[MASK] + own * p.row[MASK];
  }
  wait_for_previous();
  fetch_rows<T, K_DEPTH, THREADS, K_CHUNKS != 0>(
      memory, 0, (const T *)p.address[Q] + at[Q], q0, QUERIES, queries,
      (int)p.depth, p.row[Q], p.column[Q]);
  fetch_rows<T, K_DEPTH, THREADS, K_CHUNKS != 0>(
      memory, Q_BYTES, (const T *)p.address[K] + at[K], 0, padded, keys,
      (int)p.depth, p.row[K], p.column[K]);
  fetch_rows<T, K_WIDTH, THREADS, K_CHUNKS != 0>(
      memory, v_bytes, (const T *)p.address[V] + at[V], 0, padded, keys,
      (int)p.width, p.row[V], p.column[V]);
  copies_commit();

  found f;
  score_tile s;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    f.most[r] = lowest(0.0f);
    f.total[r] = 0;
  }
#pragma unroll
  for (int i = 0; i < TW * 4; i++) f.out[i / 4][i % 4] = 0;
  int key = share * K_KEYS;
  if (key < seen) load_masks(p, places, key, s);
  copies_wait<0>();
  __syncthreads();
  while (key < seen) {
    multiply_keys(shared, shared + Q_BYTES, row, key, s);
    weigh(p, query, key, s, f);
    multiply_values(shared + v_bytes, key, s, f);
    key += K_SHARES * K_KEYS;
    if (key < seen) load_masks(p, places, key, s);
  }
  __syncthreads();
  leave((float *)memory, f);
  __syncthreads();
  join(p, (const float *)memory, q0, (T *)p.address[OUT] + at[OUT]);
}
