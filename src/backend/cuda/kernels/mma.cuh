// SPDX-License-Identifier: Apache-2.0
// Matrices in shared memory, as tensor cores take them: in chunks, which are
// swizzled. What is said of 16 elements along k holds for those of 16 bits; of
// 32 bits there are 8.
#pragma once
#include "chunks.cuh"

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
