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
  constexpr int chunks = COLUMNS / 8;
  if constexpr (CHUNKS && THREADS % chunks == 0) {
    // A thread has chunks of one column.
    constexpr int STEP = THREADS / chunks;
    const int c = (int)threadIdx.x % chunks, r0 = (int)threadIdx.x / chunks;
    const u32 bytes = 2 * (u32)elements_left(c * 8, columns);
    const T *source = from + (first + r0) * row + c * 8;
    const i64 step = STEP * row;
#pragma unroll 8
    for (int r = r0; r < count; r += STEP) {
      const u32 n = first + r < end ? bytes : 0;
      ptx_copy16_async(shared + to + swizzle<chunks>(r, c), n ? source : from, n);
      source += step;
    }
    return;
  }
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

DEVICE float largest(float a, float b) { return ptx_largest(a, b); }

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
