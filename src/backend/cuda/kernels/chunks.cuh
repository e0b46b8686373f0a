// SPDX-License-Identifier: Apache-2.0
// Chunks of 16 bytes, in which elements come to shared memory.
#pragma once

// Chunk `c` of row `r` lies where chunk c ^ key would, when rows have CHUNKS of
// them: so that eight rows of one column of chunks are in different banks.
template <int CHUNKS>
DEVICE constexpr int swizzle_key(int r) {
  return CHUNKS >= 8 ? r & 7 : CHUNKS == 4 ? (r >> 1) & 3 : (r >> 2) & 1;
}
// In bytes.
template <int CHUNKS>
DEVICE u32 swizzle(int r, int c) {
  return 16u * (u32)(r * CHUNKS + (c ^ swizzle_key<CHUNKS>(r)));
}

// Of the elements from `at` on that a chunk has room for, how many are before
// `end`.
template <int ROOM = 8>
DEVICE int elements_left(int at, int end) {
  const int n = end - at;
  return n < 0 ? 0 : n > ROOM ? ROOM : n;
}

// The bits of an element, and a chunk of those of some.
DEVICE u32 bits_of(f16 x) { return x.bits; }
DEVICE u32 bits_of(bf16 x) { return x.bits; }
DEVICE u32 bits_of(float x) { return __float_as_uint(x); }
DEVICE u64 bits_of(double x) { return (u64)__double_as_longlong(x); }

DEVICE uint4 chunk_of(const u32 (&x)[8]) {
  return make_uint4(x[0] | x[1] << 16, x[2] | x[3] << 16, x[4] | x[5] << 16,
                    x[6] | x[7] << 16);
}
DEVICE uint4 chunk_of(const u32 (&x)[4]) {
  return make_uint4(x[0], x[1], x[2], x[3]);
}
DEVICE uint4 chunk_of(const u64 (&x)[2]) {
  return make_uint4((u32)x[0], (u32)(x[0] >> 32), (u32)x[1], (u32)(x[1] >> 32));
}
