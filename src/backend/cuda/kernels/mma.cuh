// SPDX-License-Identifier: Apache-2.0
// Matrices of 16-bit elements in shared memory, as tensor cores take them: in
// chunks of 8 elements, 16 bytes, which are swizzled.
#pragma once

// Where chunk `c` of row `r` lies, in bytes, when rows have CHUNKS of them: so
// that eight rows of one column of chunks are in different banks.
template <int CHUNKS>
DEVICE u32 swizzle(int r, int c) {
  return 16u * (u32)(r * CHUNKS + (CHUNKS >= 8   ? c ^ (r & 7)
                                   : CHUNKS == 4 ? c ^ ((r >> 1) & 3)
                                                 : c ^ ((r >> 2) & 1)));
}

// Of the 8 elements from `at` on, how many are before `end`.
DEVICE int elements_left(int at, int end) {
  const int n = end - at;
  return n < 0 ? 0 : n > 8 ? 8 : n;
}

// A chunk of the bits of 8 elements.
DEVICE uint4 chunk_of(const u32 (&x)[8]) {
  return make_uint4(x[0] | x[1] << 16, x[2] | x[3] << 16, x[4] | x[5] << 16,
                    x[6] | x[7] << 16);
}

// Rows `r` to `r` + 15 and elements 16 k to 16 k + 15 of a matrix at `a`.
template <int CHUNKS>
DEVICE void load_a(u32 a, int r, int k, int lane, u32 *fragment) {
  ptx_ldmatrix_x4(a + swizzle<CHUNKS>(r + lane % 16, 2 * k + lane / 16),
                  fragment);
}

// Columns `n` to `n` + 15 of the right operand and 16 of its rows, from 16 k
// on. Memory has a row for each column: the elements of k lie together.
template <int CHUNKS>
DEVICE void load_b(u32 b, int n, int k, int lane, u32 (*fragments)[2]) {
  const int r = n + lane % 8 + lane / 16 * 8;
  ptx_ldmatrix_x4(b + swizzle<CHUNKS>(r, 2 * k + lane / 8 % 2), &fragments[0][0]);
}

// The same, when memory has a row for each k: columns lie together.
template <int CHUNKS>
DEVICE void load_b_rows(u32 b, int n, int k, int lane, u32 (*fragments)[2]) {
  const int r = k * 16 + lane % 8 + lane / 8 % 2 * 8;
  ptx_ldmatrix_x4_trans(b + swizzle<CHUNKS>(r, n / 8 + lane / 16),
                        &fragments[0][0]);
}
