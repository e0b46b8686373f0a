// SPDX-License-Identifier: Apache-2.0
// Products and convolutions on tensor cores, with sums in float (gemm.cuh). K_T:
// f16, bf16, or float, whose elements are rounded to tf32.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "chunks.cuh"
#include "mma.cuh"
#include "gemm.cuh"
#include "mma_store.cuh"

enum {
  TM = K_BM / K_WM / 16,  // tiles of 16 rows of a warp
  TN = K_BN / K_WN / 8,   // tiles of 8 columns of a warp
  IS_TF32 = sizeof(T) == 4
};

static_assert(TN % 2 == 0, "B is fetched for 16 columns at a time");

// Lanes of tf32 read four rows of k and eight columns at once.
DEVICE u32 swizzle_n(int r, int c) {
  return IS_TF32 ? 16u * (u32)(r * N_CHUNKS + (c ^ ((r & 3) << 1)))
                 : swizzle<N_CHUNKS>(r, c);
}

// Columns n to n + 15 and rows 8 k to 8 k + 7 of B, whose rows lie together, of
// 32 bits.
DEVICE void load_b_words(const char *b, int n, int k, int lane,
                         u32 (*fragments)[2]) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int r = k * 8 + lane % 4 + i % 2 * 4, at = n + i / 2 * 8 + lane / 4;
    fragments[i / 2][i % 2] =
        *(const u32 *)(b + swizzle_n(r, at / 4) + at % 4 * 4);
  }
}

// Rounds what was loaded to what the product takes.
DEVICE void round_fragment(u32 *fragment, int count) {
  if constexpr (IS_TF32) {
#pragma unroll
    for (int i = 0; i < count; i++) {
      fragment[i] = ptx_f32_to_tf32(__uint_as_float(fragment[i]));
    }
  }
}

// Two chunks along k of what is in shared memory, at `a` and `b`.
DEVICE void multiply_chunks(float (&sums)[SUMS], char *a, char *b, int k) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int m0 = warp / K_WN * (K_BM / K_WM), n0 = warp % K_WN * (K_BN / K_WN);
  u32 fa[TM][4], fb[TN][2];
#pragma unroll
  for (int i = 0; i < TM; i++) {
    load_a<K_CHUNKS>(shared_address(a), m0 + i * 16, k, lane, fa[i]);
    round_fragment(fa[i], 4);
  }
#pragma unroll
  for (int j = 0; j < TN; j += 2) {
    if constexpr (K_B == ALONG_N && IS_TF32) {
      load_b_words(b, n0 + j * 8, k, lane, &fb[j]);
    } else if constexpr (K_B == ALONG_N) {
      load_b_rows<N_CHUNKS>(shared_address(b), n0 + j * 8, k, lane, &fb[j]);
    } else {
      load_b<K_CHUNKS>(shared_address(b), n0 + j * 8, k, lane, &fb[j]);
    }
    round_fragment(fb[j], 2);
    round_fragment(fb[j + 1], 2);
  }
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
      multiply<T>(&sums[(i * TN + j) * 4], fa[i], fb[j]);
    }
  }
}

EARLY_KERNEL_OF(THREADS, mma_gemm, bsm_cuda_mma) {
  DYNAMIC_SHARED(memory);
  const gemm_place block = find_place(p);
  float sums[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; i++) sums[i] = 0;
  multiply_all(p, block, memory, [&](char *a, char *b) {
#pragma unroll
    for (int k = 0; k < K_CHUNKS / 2; k++) multiply_chunks(sums, a, b, k);
  });
  if constexpr (K_SPLIT) {
    if (p.splits > 1 && !join_splits(p, sums)) return;
  }
  const gemm_end end = find_end(p, block);
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int m0 = block.m0 + warp / K_WN * (K_BM / K_WM) + lane / 4;
  const int n0 = block.n0 + warp % K_WN * (K_BN / K_WN) + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
      const float *v = &sums[(i * TN + j) * 4];
      const int m = m0 + i * 16, n = n0 + j * 8;
      store_pair(p, end.bias, end.residual, end.y, m, n, v[0], v[1]);
      store_pair(p, end.bias, end.residual, end.y, m + 8, n, v[2], v[3]);
    }
  }
}
