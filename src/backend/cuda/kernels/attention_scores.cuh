// SPDX-License-Identifier: Apache-2.0
// What mma_attention.cu and wgmma_attention.cu do with the scores of a tile of
// keys, and with what was summed. Four lanes have a row of scores, and of each 8
// columns two beside each other, and the same 8 rows below. T is the type of
// elements; K_WIDTH, K_BIASES, K_MASK, K_CAUSAL and K_CLEARS are the kernels', and
// K_FLAT: 1: biases and masks are the same for all queries.
#pragma once

#ifndef K_FLAT
#define K_FLAT 0
#endif

enum {
  OUT, Q, K, V, BIAS, MASK = BIAS + 2, OPERANDS,
  KEYS = 64,         // of a tile
  TN = KEYS / 8,     // tiles of 8 keys
  TW = K_WIDTH / 8,  // tiles of 8 columns of V
  ADDS = K_BIASES > 0 || K_MASK > 0
};

// What a warp has found for its 16 queries, of which a thread has rows
// lane / 4 and lane / 4 + 8.
struct found {
  float most[2], total[2], out[TW][4];
};

// Where a tile of keys is, and what of it is multiplied.
struct key_tile {
  int first, groups;  // of 16 keys
  bool whole;         // all of its keys are seen by all queries of the warp
};

// Where the biases and the mask of a thread's rows are.
struct row_places {
  i64 bias[2][2], mask[2];
};

DEVICE void clear(found &f) {
#pragma unroll
  for (int r = 0; r < 2; r++) {
    f.most[r] = lowest(0.0f);
    f.total[r] = 0;
  }
#pragma unroll
  for (int j = 0; j < TW * 4; j++) f.out[j / 4][j % 4] = 0;
}

// Of the queries before `end`: a causal one sees the keys up to its diagonal.
DEVICE int keys_seen(const bsm_cuda_attention &p, int end) {
  const int keys = (int)p.keys, count = (int)p.queries;
  if (!K_CAUSAL) return keys;
  const i64 last = (end < count ? end : count) + p.diagonal;
  return last < 0 ? 0 : last < keys ? (int)last : keys;
}

// Whether a query and all after it see all keys of a tile.
DEVICE bool sees_all(const bsm_cuda_attention &p, int first_key, int query) {
  return first_key + KEYS <= (int)p.keys &&
         (!K_CAUSAL || first_key + KEYS - 1 <= query + p.diagonal);
}

// Two weights beside each other in rows, as the left operand of a product: the
// keys of `group`.
DEVICE void weights_of(const float (&score)[TN][4], int group, u32 (&a)[4]) {
  const float(*w)[4] = &score[2 * group];
  a[0] = pack2<T>(w[0][0], w[0][1]);
  a[1] = pack2<T>(w[0][2], w[0][3]);
  a[2] = pack2<T>(w[1][0], w[1][1]);
  a[3] = pack2<T>(w[1][2], w[1][3]);
}

// Scales the scores, adds to them, and hides those of keys that are not seen:
// without branches, so that all that is loaded is on its way at once.
DEVICE void add_and_hide(const bsm_cuda_attention &p, const row_places &rows,
                         int row, int lane, const key_tile &t,
                         float (&score)[TN][4]) {
  const int last = (int)p.keys - 1;
#pragma unroll
  for (int i = 0; i < TN * 2; i++) {
    const int key = t.first + i / 2 * 8 + lane % 4 * 2 + i % 2;
    const i64 at = key < last ? key : last;
    float bias = 0;
    bool hides = false;
#pragma unroll
    for (int r = 0; r < 2; r++) {
      if (r == 0 || !K_FLAT) {
        bias = 0;
#pragma unroll
        for (int b = 0; b < K_BIASES; b++) {
          bias += load<T>(p.address[BIAS + b],
                          rows.bias[r][b] + at * p.column[BIAS + b]);
        }
        if (K_MASK) {
          hides = load<bool>(p.address[MASK],
                             rows.mask[r] + at * p.column[MASK]) ==
                  (K_MASK == 2);
        }
      }
      float &s = score[i / 2][2 * r + i % 2];
      s = hides ? (float)p.fill : s * (float)p.scale + bias;
      bool sees = key <= last;
      if (K_CAUSAL) sees = sees && key <= row + r * 8 + p.diagonal;
      if (!sees) s = lowest(0.0f);
    }
  }
}

DEVICE void finish_scores(const bsm_cuda_attention &p, const row_places &rows,
                          int row, int lane, const key_tile &t,
                          float (&score)[TN][4]) {
  if (t.whole && !ADDS) {
#pragma unroll
    for (int i = 0; i < TN * 4; i++) score[i / 4][i % 4] *= (float)p.scale;
  } else {
    add_and_hide(p, rows, row, lane, t, score);
  }
}

// Scores become weights, of which the greatest so far is 1.
DEVICE void weigh(float (&score)[TN][4], found &f) {
  float base[2], moved[2];
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float greatest = f.most[r];
#pragma unroll
    for (int j = 0; j < TN; j++) {
      greatest = largest(greatest, score[j][2 * r]);
      greatest = largest(greatest, score[j][2 * r + 1]);
    }
    greatest = largest(greatest, shuffle_xor(greatest, 1));
    greatest = largest(greatest, shuffle_xor(greatest, 2));
    base[r] = base_of(greatest);
    moved[r] = base[r] * LOG2_E;
    const float shrink = share_of(f.most[r], base[r]);
    f.most[r] = greatest;
    f.total[r] *= shrink;
#pragma unroll
    for (int j = 0; j < TW; j++) {
      f.out[j][2 * r] *= shrink;
      f.out[j][2 * r + 1] *= shrink;
    }
  }
#pragma unroll
  for (int i = 0; i < TN * 4; i++) {
    float &x = score[i / 4][i % 4];
    const int r = i / 2 % 2;
    // What is added may be close to the largest number.
    x = ptx_exp2(ADDS ? (x - base[r]) * LOG2_E : x * LOG2_E - moved[r]);
    f.total[r] += x;
  }
}

DEVICE void store_rows(const bsm_cuda_attention &p, i64 at, int row, int lane,
                       const found &f) {
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float total = f.total[r];
    total += shuffle_xor(total, 1);
    total += shuffle_xor(total, 2);
    const int query = row + 8 * r;
    if (query >= (int)p.queries) continue;
    // Without keys, PyTorch multiplies nothing with nothing.
    const bool clears = p.keys == 0 || (K_CLEARS && total == 0);
    T *y = (T *)p.address[OUT] + at + query * p.row[OUT];
    const float scale = 1.0f / total;
#pragma unroll
    for (int j = 0; j < TW; j++) {
      const int column = j * 8 + lane % 4 * 2;
      if (column >= p.width) continue;
      store_two<T>(y + column, clears ? 0 : f.out[j][2 * r] * scale,
                   clears ? 0 : f.out[j][2 * r + 1] * scale,
                   column + 1 < p.width);
    }
  }
}

DEVICE row_places find_rows(const bsm_cuda_attention &p, const i64 *at, int row) {
  row_places places;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int last = (int)p.queries - 1;
    const i64 own = row + 8 * r < last ? row + 8 * r : last;
#pragma unroll
    for (int b = 0; b < 2; b++) {
      places.bias[r][b] = at[BIAS + b] + own * p.row[BIAS + b];
    }
    places.mask[r] = at[MASK] + own * p.row[MASK];
  }
  return places;
}
