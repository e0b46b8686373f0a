// SPDX-License-Identifier: Apache-2.0
// out = softmax(mask(scale Q K^T)) V of float, without tensor cores: a block of
// K_LINES by 16 threads has K_LINES K_ROWS queries of a head. Keys and values come
// in tiles, the next one while one is multiplied. A thread of line y and column x
// has the queries y, y + K_LINES, ... with the keys x, x + 16, ... of a tile, and
// later with some columns of the values. The 16 threads of a line are half of a warp, and tell
// each other the weights through shared memory. What was summed is scaled down
// when a tile has a greater score. Options: K_HEADS (loops), K_BIASES, K_MASK (0,
// 1: keep, 2: hide), K_CAUSAL, K_CLEARS, K_LINES, K_ROWS, K_KEYS (of a tile), K_DEPTH,
// K_WIDTH (room for the columns of Q and V), K_CHUNKS (1: rows of Q, K and V are
// read 16 bytes at a time).
// grid: (tiles of queries, heads)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "chunks.cuh"

enum {
  OUT, Q, K, V, BIAS, MASK = BIAS + 2, OPERANDS,
  THREADS = 16 * K_LINES,
  QUERIES = K_LINES * K_ROWS,
  // In floats. Rows that 16 threads read at once begin in different banks.
  Q_PITCH = K_DEPTH + 4,
  W_PITCH = K_KEYS + 4,
  K_AT = QUERIES * Q_PITCH,
  V_AT = K_AT + 2 * K_KEYS * Q_PITCH,
  WEIGHTS_AT = V_AT + 2 * K_KEYS * K_WIDTH,
  TK = K_KEYS / 16,  // keys of a thread
  // Columns of V that a thread has beside each other, and how often.
  PIECE = K_WIDTH >= 64 ? 4 : K_WIDTH / 16,
  PIECES = K_WIDTH / 16 / PIECE
};

static_assert(K_DEPTH % 16 == 0 && K_WIDTH % (16 * PIECE) == 0, "room");

// What a thread has found for its queries.
struct found {
  float most[K_ROWS], total[K_ROWS], out[K_ROWS][PIECES * PIECE];
};

struct scores {
  float at[K_ROWS][TK];
};

// `count` rows from `first` on, of which those before `end` exist.
template <int COLUMNS, int PITCH>
DEVICE void fetch_floats(float *memory, int to, const float *from, int first,
                         int count, int end, int columns, i64 row, i64 column) {
  const u32 shared = shared_address(memory);
  constexpr int chunks = COLUMNS / 4;
  if constexpr (K_CHUNKS && THREADS % chunks == 0) {
    // A thread has chunks of one column.
    constexpr int STEP = THREADS / chunks;
    const int c = (int)threadIdx.x % chunks * 4, r0 = (int)threadIdx.x / chunks;
    const u32 bytes = 4 * (u32)elements_left<4>(c, columns);
    const float *source = from + (first + r0) * row + c;
    const i64 step = STEP * row;
#pragma unroll 4
    for (int r = r0; r < count; r += STEP) {
      const u32 n = first + r < end ? bytes : 0;
      ptx_copy16_async(shared + 4 * (u32)(to + r * PITCH + c),
                       n ? source : from, n);
      source += step;
    }
    return;
  }
#pragma unroll 4
  for (int at = (int)threadIdx.x; at < count * chunks; at += THREADS) {
    const int r = at / chunks, c = at % chunks * 4;
    const int n = first + r < end ? elements_left<4>(c, columns) : 0;
    const float *source = from + (first + r) * row + c * column;
    const int place = to + r * PITCH + c;
    if (K_CHUNKS) {
      ptx_copy16_async(shared + 4 * (u32)place, n ? source : from, 4u * (u32)n);
    } else {
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; e++) x[e] = e < n ? source[e * column] : 0;
      *(float4 *)(memory + place) = make_float4(x[0], x[1], x[2], x[3]);
    }
  }
}

DEVICE float dot(float sum, float4 a, float4 b) {
  sum = add_product(sum, a.x, b.x);
  sum = add_product(sum, a.y, b.y);
  sum = add_product(sum, a.z, b.z);
  return add_product(sum, a.w, b.w);
}

// Of a tile the first 16 COUNT keys.
template <int COUNT>
DEVICE void multiply_keys(const float *q, const float *k, scores &s) {
  const int x = (int)threadIdx.x % 16, y = (int)threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < K_ROWS * TK; i++) s.at[i / TK][i % TK] = 0;
#pragma unroll 4
  for (int d = 0; d < K_DEPTH; d += 4) {
    float4 a[K_ROWS], b[COUNT];
#pragma unroll
    for (int i = 0; i < K_ROWS; i++) {
      a[i] = *(const float4 *)(q + (y + K_LINES * i) * Q_PITCH + d);
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
      b[j] = *(const float4 *)(k + (x + 16 * j) * Q_PITCH + d);
    }
#pragma unroll
    for (int i = 0; i < K_ROWS; i++) {
#pragma unroll
      for (int j = 0; j < COUNT; j++) s.at[i][j] = dot(s.at[i][j], a[i], b[j]);
    }
  }
}

// What is added to scores, and which keys are not seen.
DEVICE void scale_scores(const bsm_cuda_attention &p, scores &s) {
#pragma unroll
  for (int i = 0; i < K_ROWS * TK; i++) s.at[i / TK][i % TK] *= (float)p.scale;
}

DEVICE void mask_scores(const bsm_cuda_attention &p, const i64 *at, int q0,
                        int first_key, scores &s) {
  const int x = (int)threadIdx.x % 16, y = (int)threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < K_ROWS; i++) {
    const int query = q0 + y + K_LINES * i;
#pragma unroll
    for (int j = 0; j < TK; j++) {
      const int key = first_key + x + 16 * j;
      float v = s.at[i][j] * (float)p.scale;
      bool sees = key < (int)p.keys && query < (int)p.queries;
      if (K_CAUSAL) sees = sees && key <= query + p.diagonal;
      if (sees) {
#pragma unroll
        for (int b = 0; b < K_BIASES; b++) {
          v += load<float>(p.address[BIAS + b],
                           at[BIAS + b] + query * p.row[BIAS + b] +
                               key * p.column[BIAS + b]);
        }
        if (K_MASK) {
          const bool m =
              load<bool>(p.address[MASK],
                         at[MASK] + query * p.row[MASK] + key * p.column[MASK]);
          if (m == (K_MASK == 2)) v = (float)p.fill;
        }
      }
      s.at[i][j] = sees ? v : lowest(0.0f);
    }
  }
}

DEVICE float largest(float a, float b) { return ptx_largest(a, b); }

// Scores become weights, of which the greatest so far is 1, in shared memory.
DEVICE void weigh(scores &s, found &f, float *weights) {
  const int x = (int)threadIdx.x % 16, y = (int)threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < K_ROWS; i++) {
    float most = f.most[i];
#pragma unroll
    for (int j = 0; j < TK; j++) most = largest(most, s.at[i][j]);
#pragma unroll
    for (int lane = 1; lane < 16; lane *= 2) {
      most = largest(most, shuffle_xor(most, lane));
    }
    // Where all are -inf, the differences would be NaN.
    const float base = most == lowest(0.0f) ? 0 : most;
    const float shrink = f.most[i] == lowest(0.0f) ? 0 : expf(f.most[i] - base);
    f.most[i] = most;
    f.total[i] *= shrink;
#pragma unroll
    for (int c = 0; c < PIECES * PIECE; c++) f.out[i][c] *= shrink;
#pragma unroll
    for (int j = 0; j < TK; j++) {
      const float w = expf(s.at[i][j] - base);
      f.total[i] += w;
      weights[(y + K_LINES * i) * W_PITCH + x + 16 * j] = w;
    }
  }
}

// PIECE columns of a row of V.
DEVICE void load_piece(const float *from, float *to) {
  if constexpr (PIECE == 4) {
    const float4 v = *(const float4 *)from;
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
  } else {
#pragma unroll
    for (int i = 0; i < PIECE; i++) to[i] = from[i];
  }
}

// Of a tile the first `keys`, a multiple of 4.
DEVICE void multiply_values(const float *weights, const float *v, int keys,
                            found &f) {
  const int x = (int)threadIdx.x % 16, y = (int)threadIdx.x / 16;
#pragma unroll 2
  for (int k = 0; k < keys; k += 4) {
    float4 w[K_ROWS];
#pragma unroll
    for (int i = 0; i < K_ROWS; i++) {
      w[i] = *(const float4 *)(weights + (y + K_LINES * i) * W_PITCH + k);
    }
#pragma unroll
    for (int g = 0; g < PIECES; g++) {
      float b[4][PIECE];
#pragma unroll
      for (int e = 0; e < 4; e++) {
        load_piece(v + (k + e) * K_WIDTH + (g * 16 + x) * PIECE, b[e]);
      }
#pragma unroll
      for (int i = 0; i < K_ROWS; i++) {
#pragma unroll
        for (int c = 0; c < PIECE; c++) {
          f.out[i][g * PIECE + c] =
              dot(f.out[i][g * PIECE + c], w[i],
                  make_float4(b[0][c], b[1][c], b[2][c], b[3][c]));
        }
      }
    }
  }
}

DEVICE void store_rows(const bsm_cuda_attention &p, i64 at, int q0,
                       const found &f) {
  const int x = (int)threadIdx.x % 16, y = (int)threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < K_ROWS; i++) {
    float total = f.total[i];
#pragma unroll
    for (int lane = 1; lane < 16; lane *= 2) total += shuffle_xor(total, lane);
    const int query = q0 + y + K_LINES * i;
    if (query >= (int)p.queries) continue;
    // Without keys, PyTorch multiplies nothing with nothing.
    const bool clears = p.keys == 0 || (K_CLEARS && total == 0);
    float *to = (float *)p.address[OUT] + at + query * p.row[OUT];
#pragma unroll
    for (int c = 0; c < PIECES * PIECE; c++) {
      const int column = (c / PIECE * 16 + x) * PIECE + c % PIECE;
      if (column >= (int)p.width) continue;
      to[column * p.column[OUT]] = clears ? 0 : f.out[i][c] / total;
    }
  }
}

KERNEL_OF(THREADS, float_attention, bsm_cuda_attention) {
  DYNAMIC_SHARED(dynamic);
  float *memory = (float *)dynamic;
  const int q0 = (int)blockIdx.x * QUERIES;
  const int queries = (int)p.queries, keys = (int)p.keys;
  i64 at[OPERANDS] = {};
  seek<OPERANDS>(K_HEADS, blockIdx.y, p.head_sizes, p.head_strides, at);
  // Of this block: a causal query sees the keys up to its diagonal.
  int seen = keys;
  if (K_CAUSAL) {
    const i64 last = (q0 + QUERIES < queries ? q0 + QUERIES : queries) + p.diagonal;
    seen = last < 0 ? 0 : last < keys ? (int)last : keys;
  }
  const int tiles = (seen + K_KEYS - 1) / K_KEYS;
  auto fetch = [&](int tile) {
    fetch_floats<K_DEPTH, Q_PITCH>(
        memory, K_AT + tile % 2 * K_KEYS * Q_PITCH,
        (const float *)p.address[K] + at[K], tile * K_KEYS, K_KEYS, keys,
        (int)p.depth, p.row[K], p.column[K]);
    fetch_floats<K_WIDTH, K_WIDTH>(
        memory, V_AT + tile % 2 * K_KEYS * K_WIDTH,
        (const float *)p.address[V] + at[V], tile * K_KEYS, K_KEYS, keys,
        (int)p.width, p.row[V], p.column[V]);
  };
  fetch_floats<K_DEPTH, Q_PITCH>(memory, 0, (const float *)p.address[Q] + at[Q],
                                 q0, QUERIES, queries, (int)p.depth, p.row[Q],
                                 p.column[Q]);
  if (tiles) fetch(0);
  copies_commit();
  found f;
#pragma unroll
  for (int i = 0; i < K_ROWS; i++) {
    f.most[i] = lowest(0.0f);
    f.total[i] = 0;
#pragma unroll
    for (int c = 0; c < PIECES * PIECE; c++) f.out[i][c] = 0;
  }
  float *weights = memory + WEIGHTS_AT;
  for (int tile = 0; tile < tiles; tile++) {
    if (tile + 1 < tiles) fetch(tile + 1);
    copies_commit();
    copies_wait<1>();
    __syncthreads();
    scores s;
    const float *k_tile = memory + K_AT + tile % 2 * K_KEYS * Q_PITCH;
    const int left = seen - tile * K_KEYS;
    if (TK > 1 && left <= K_KEYS / 2) {
      multiply_keys<(TK + 1) / 2>(memory, k_tile, s);
    } else {
      multiply_keys<TK>(memory, k_tile, s);
    }
    const bool whole = tile * K_KEYS + K_KEYS <= keys &&
                       (!K_CAUSAL || tile * K_KEYS + K_KEYS - 1 <= q0 + p.diagonal);
    if (K_BIASES == 0 && !K_MASK && whole) {
      scale_scores(p, s);
    } else {
      mask_scores(p, at, q0, tile * K_KEYS, s);
    }
    weigh(s, f, weights);
    __syncwarp();
    multiply_values(weights, memory + V_AT + tile % 2 * K_KEYS * K_WIDTH,
                    left < K_KEYS ? (left + 3) / 4 * 4 : K_KEYS, f);
    __syncthreads();
  }
  copies_wait<0>();
  store_rows(p, at[OUT], q0, f);
}
