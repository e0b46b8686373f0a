// SPDX-License-Identifier: Apache-2.0
// What kernels of attention on tensor cores share: rows that go to shared
// memory, and weights of keys.
#pragma once

// `count` rows from `first` on, of which those before `end` exist, to shared
// memory, where they have COLUMNS elements: THREADS threads, and CHUNKS: 16
// bytes at a time.
template <class T, int COLUMNS, int THREADS, bool CHUNKS>
DEVICE void fetch_rows(char *memory, u32 to, const T *from, int first, int count,
                       int end, int columns, i64 row, i64 column) {
  const u32 shared = shared_address(memory);
  const int chunks = COLUMNS / 8;
#pragma unroll 4
  for (int at = (int)threadIdx.x; at < count * chunks; at += THREADS) {
    const int r = at / chunks, c = at % chunks;
    const int n = first + r < end ? elements_left(c * 8, columns) : 0;
    const T *source = from + (first + r) * row + c * 8 * column;
    const u32 place = to + swizzle<chunks>(r, c);
    if (CHUNKS) {
      ptx_copy16_async(shared + place, n ? source : from, 2 * n);
    } else {
      u32 x[8];
#pragma unroll
      for (int e = 0; e < 8; e++) x[e] = e < n ? source[e * column].bits : 0;
      *(uint4 *)(memory + place) = chunk_of(x);
    }
  }
}

DEVICE float largest(float a, float b) { return a != a || a > b ? a : b; }

#define LOG2_E 1.44269504088896f

// What scores are reduced by before they become weights: the greatest of them.
// Where all are -inf, the differences would be NaN.
DEVICE float base_of(float most) { return most == lowest(0.0f) ? 0 : most; }

// What the weights whose base was `most` are multiplied by when it is `base`.
DEVICE float share_of(float most, float base) {
  return most == lowest(0.0f) ? 0 : ptx_exp2((most - base) * LOG2_E);
}

// One or two elements, at an even column.
template <class T>
DEVICE void store_two(T *to, float a, float b, bool two) {
  if (two && ((u64)to & 3) == 0) {
    *(u32 *)to = pack2<T>(a, b);
    return;
  }
  to[0] = from_float<T>(a);
  if (two) to[1] = from_float<T>(b);
}
