// SPDX-License-Identifier: Apache-2.0
// Products of warpgroups, four warps that hold 64 rows of sums, of operands in
// shared memory: by wgmma where there is one, else by the products of warps, as
// in the PTX that later GPUs run. Lanes hold the same elements either way: warp
// w has rows 16 w to 16 w + 15, and of each 8 columns what mma has.
#pragma once
#include "mma.cuh"
#ifndef BSM_EMULATED
#include "ptx_hopper.cuh"
#endif

// A matrix of 16-bit elements in shared memory. Its rows of ROW_BYTES (128 or
// 64) lie behind each other and are swizzled as copies of tiles do it: bits 7
// to 9 (or 8) of an address are added to bits 4 to 6 (or 5). Groups of 8 rows
// are `group` bytes apart; where rows end, and the matrix goes on beside them,
// that is `beside` bytes away. Matrices begin at a multiple of 1024 bytes.
struct matrix {
  u32 address, beside, group;
};

DEVICE matrix moved(const matrix &m, u32 bytes) {
  return {m.address + bytes, m.beside, m.group};
}

template <int ROW_BYTES>
DEVICE u32 swizzled(u32 address) {
  return address ^ (address >> 7 & (ROW_BYTES == 128 ? 7u : 3u)) << 4;
}

// Where 8 elements of a row lie, from byte `at` of it on; rows do not end.
template <int ROW_BYTES>
DEVICE u32 place(const matrix &m, int row, int at) {
  return swizzled<ROW_BYTES>(m.address + (u32)(row / 8) * m.group +
                             (u32)(row % 8 * ROW_BYTES + at));
}

// This warp's rows of 64, of 16 k of `a`, as mma has them.
template <int ROW_BYTES>
DEVICE void load_own_rows(const matrix &a, int lane, u32 *fa) {
  const int warp = (int)threadIdx.x / 32 % 4;
  ptx_ldmatrix_x4(place<ROW_BYTES>(a, warp * 16 + lane % 16, lane / 16 * 16),
                  fa);
}

#ifdef HAS_WGMMA

DEVICE void products_begin() { ptx_wgmma_fence(); }
DEVICE void products_commit() { ptx_wgmma_commit(); }
template <int LEFT>
DEVICE void products_wait() {
  ptx_wgmma_wait<LEFT>();
}

template <int ROW_BYTES>
DEVICE u64 describe(const matrix &m) {
  return (u64)(m.address >> 4 & 0x3fffu) | (u64)(m.beside >> 4) << 16 |
         (u64)(m.group >> 4) << 32 | (u64)(ROW_BYTES == 128 ? 1 : 2) << 62;
}

// By overloads, as a name cannot be made of a type.
#define WGMMA_OF(T)                                                       \
  template <int N, int B_ROWS>                                            \
  DEVICE void multiply_group(T, float *d, u64 a, u64 b, int adding) {     \
    static_assert(N == 32 || N == 64 || N == 96 || N == 128 || N == 192 || \
                      N == 256,                                           \
                  "columns of a product");                                \
    if constexpr (N == 32) ptx_wgmma_n32_##T<B_ROWS>(d, a, b, adding);    \
    if constexpr (N == 64) ptx_wgmma_n64_##T<B_ROWS>(d, a, b, adding);    \
    if constexpr (N == 96) ptx_wgmma_n96_##T<B_ROWS>(d, a, b, adding);    \
    if constexpr (N == 128) ptx_wgmma_n128_##T<B_ROWS>(d, a, b, adding);  \
    if constexpr (N == 192) ptx_wgmma_n192_##T<B_ROWS>(d, a, b, adding);  \
    if constexpr (N == 256) ptx_wgmma_n256_##T<B_ROWS>(d, a, b, adding);  \
  }
WGMMA_OF(f16)
WGMMA_OF(bf16)
// Bytes, two of which are an element; B has a row for each column.
template <int N, int B_ROWS>
DEVICE void multiply_group(u8, i32 *d, u64 a, u64 b, int adding) {
  static_assert(!B_ROWS && (N == 32 || N == 64 || N == 96 || N == 128 ||
                            N == 192 || N == 256),
                "columns of a product");
  if constexpr (N == 32) ptx_wgmma_n32_u8_s8(d, a, b, adding);
  if constexpr (N == 64) ptx_wgmma_n64_u8_s8(d, a, b, adding);
  if constexpr (N == 96) ptx_wgmma_n96_u8_s8(d, a, b, adding);
  if constexpr (N == 128) ptx_wgmma_n128_u8_s8(d, a, b, adding);
  if constexpr (N == 192) ptx_wgmma_n192_u8_s8(d, a, b, adding);
  if constexpr (N == 256) ptx_wgmma_n256_u8_s8(d, a, b, adding);
}

template <int N, int B_ROWS>
DEVICE void multiply_group(e4m3, float *d, u64 a, u64 b, int adding) {
  static_assert(!B_ROWS && (N == 32 || N == 64 || N == 96 || N == 128 ||
                            N == 192 || N == 256),
                "columns of a product");
  if constexpr (N == 32) ptx_wgmma_n32_e4m3(d, a, b, adding);
  if constexpr (N == 64) ptx_wgmma_n64_e4m3(d, a, b, adding);
  if constexpr (N == 96) ptx_wgmma_n96_e4m3(d, a, b, adding);
  if constexpr (N == 128) ptx_wgmma_n128_e4m3(d, a, b, adding);
  if constexpr (N == 192) ptx_wgmma_n192_e4m3(d, a, b, adding);
  if constexpr (N == 256) ptx_wgmma_n256_e4m3(d, a, b, adding);
}

#define HELD_WGMMA_OF(T)                                                   \
  template <int N>                                                         \
  DEVICE void multiply_held_group(T, float *d, const u32 *a, u64 b) {      \
    static_assert(N == 64 || N == 128 || N == 192 || N == 256,             \
                  "columns of a product");                                 \
    if constexpr (N == 64) ptx_held_wgmma_n64_##T(d, a, b);                \
    if constexpr (N == 128) ptx_held_wgmma_n128_##T(d, a, b);              \
    if constexpr (N == 192) ptx_held_wgmma_n192_##T(d, a, b);              \
    if constexpr (N == 256) ptx_held_wgmma_n256_##T(d, a, b);              \
  }
HELD_WGMMA_OF(f16)
HELD_WGMMA_OF(bf16)

// d[64][N] += a[64][16] b[16][N]: `a` is in registers, of each warp as mma has
// it, and must not change before products_wait; b has a row for each k.
template <class T, int N>
DEVICE void multiply_held(float *d, const u32 *a, const matrix &b) {
  multiply_held_group<N>(T(), d, a, describe<128>(b));
}

template <int N>
DEVICE void multiply_tf32_group(float *d, const u32 *a, u64 b, int adding) {
  static_assert(N == 32 || N == 64 || N == 96 || N == 128 || N == 192 ||
                    N == 256,
                "columns of a product");
  if constexpr (N == 32) ptx_wgmma_n32_tf32(d, a, b, adding);
  if constexpr (N == 64) ptx_wgmma_n64_tf32(d, a, b, adding);
  if constexpr (N == 96) ptx_wgmma_n96_tf32(d, a, b, adding);
  if constexpr (N == 128) ptx_wgmma_n128_tf32(d, a, b, adding);
  if constexpr (N == 192) ptx_wgmma_n192_tf32(d, a, b, adding);
  if constexpr (N == 256) ptx_wgmma_n256_tf32(d, a, b, adding);
}

// The same of 8 k of tf32: `b` has a row for each column.
template <int N, int ROW_BYTES>
DEVICE void multiply_held_tf32(float *d, const u32 *a, const matrix &b,
                               int adding) {
  multiply_tf32_group<N>(d, a, describe<ROW_BYTES>(b), adding);
}

// d[64][N] (+)= a[64][16] b[16][N]: 16 k of `a` and `b`, which have a row for
// each row and for each column; with B_ROWS, b has one for each k. The sums are
// there after products_wait.
template <class T, int N, int ROW_BYTES, int B_ROWS, class S>
DEVICE void multiply_16(S *d, const matrix &a, const matrix &b, int adding) {
  multiply_group<N, B_ROWS>(T(), d, describe<ROW_BYTES>(a),
                            describe<B_ROWS ? 128 : ROW_BYTES>(b), adding);
}

#else

DEVICE void products_begin() {}
DEVICE void products_commit() {}
template <int LEFT>
DEVICE void products_wait() {}

// 16 k of `b` for columns n to n + 15, where it has a row for each k.
DEVICE void load_rows(const matrix &b, int n, int lane, u32 (*fb)[2]) {
  ptx_ldmatrix_x4_trans(
      place<128>(moved(b, (u32)(n / 64) * b.beside),
                 lane % 8 + lane / 8 % 2 * 8, (n % 64 + lane / 16 * 8) * 2),
      &fb[0][0]);
}

// The same where it has a row for each column.
template <int ROW_BYTES>
DEVICE void load_columns(const matrix &b, int n, int lane, u32 (*fb)[2]) {
  ptx_ldmatrix_x4(place<ROW_BYTES>(b, n + lane % 8 + lane / 16 * 8,
                                   lane / 8 % 2 * 16),
                  &fb[0][0]);
}

template <int N, int ROW_BYTES>
DEVICE void multiply_held_tf32(float *d, const u32 *a, const matrix &b,
                               int adding) {
  const int lane = (int)threadIdx.x % 32;
  u32 fb[2][2];
#pragma unroll
  for (int n = 0; n < N; n += 16) {
    load_columns<ROW_BYTES>(b, n, lane, fb);
#pragma unroll
    for (int j = 0; j < 2; j++) {
      float *sums = d + n / 2 + j * 4;
      if (!adding) sums[0] = sums[1] = sums[2] = sums[3] = 0;
      multiply<float>(sums, a, fb[j]);
    }
  }
}

template <class T, int N>
DEVICE void multiply_held(float *d, const u32 *a, const matrix &b) {
  const int lane = (int)threadIdx.x % 32;
  u32 fb[2][2];
#pragma unroll
  for (int n = 0; n < N; n += 16) {
    load_rows(b, n, lane, fb);
    multiply<T>(d + n / 2, a, fb[0]);
    multiply<T>(d + n / 2 + 4, a, fb[1]);
  }
}

template <class T>
DEVICE void multiply_of_warp(T, float *d, const u32 *a, const u32 *b) {
  multiply<T>(d, a, b);
}
DEVICE void multiply_of_warp(u8, i32 *d, const u32 *a, const u32 *b) {
  ptx_mma_m16n8k32_u8_s8(d, a, b);
}
DEVICE void multiply_of_warp(e4m3, float *d, const u32 *a, const u32 *b) {
  ptx_mma_m16n8k32_e4m3(d, a, b);
}

template <class T, int N, int ROW_BYTES, int B_ROWS, class S>
DEVICE void multiply_16(S *d, const matrix &a, const matrix &b, int adding) {
  const int lane = (int)threadIdx.x % 32;
  u32 fa[4], fb[2][2];
  load_own_rows<ROW_BYTES>(a, lane, fa);
#pragma unroll
  for (int n = 0; n < N; n += 16) {
    if constexpr (B_ROWS) {
      load_rows(b, n, lane, fb);
    } else {
      load_columns<ROW_BYTES>(b, n, lane, fb);
    }
#pragma unroll
    for (int j = 0; j < 2; j++) {
      S *sums = d + n / 2 + j * 4;
      if (!adding) sums[0] = sums[1] = sums[2] = sums[3] = 0;
      multiply_of_warp(T(), sums, fa, fb[j]);
    }
  }
}

#endif
