// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of float and double, each sum in its own dtype and
// along k, without tensor cores (gemm.cuh). Options: K_LM, rows of lanes that a
// warp has; K_RESIDENT, blocks that an SM has registers for.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "chunks.cuh"
#include "gemm.cuh"
#include "mma_store.cuh"

enum {
  LM = K_LM,
  LN = 32 / K_LM,
  TM = K_BM / K_WM / LM,  // rows and columns of a thread
  TN = K_BN / K_WN / LN
};

static_assert(K_B != ALONG_N || TN % CHUNK == 0, "columns come in chunks");

DEVICE u32 swizzle_n(int r, int c) { return 16u * (u32)(r * N_CHUNKS + c); }

// What is read along k at once, of float half a chunk where that is as fast or
// registers are few; and how many of these are unrolled: where sums leave
// registers, the next are read ahead.
constexpr int PART = K_B == ALONG_N && TM <= 8 ? CHUNK : 2;
constexpr int PARTS = CHUNK / PART;
constexpr int UNROLLED = PART > 2 || SUMS * sizeof(T) > 128 ? 1 : 2;

template <int COUNT>
struct __align__(COUNT * sizeof(T)) elements {
  T at[COUNT];
};

template <int COUNT>
DEVICE const elements<COUNT> &read(const char *memory, u32 offset) {
  return *(const elements<COUNT> *)(memory + offset);
}

// Of a warp, the row and the column of which sum (i, j) of a lane is. What
// depends on the lane and what on the sum are different bits; so of chunks of
// their rows in shared memory, too.
DEVICE constexpr int row_of(int lane_m, int i) {
  return K_CHUNKS >= 8 ? i * LM + lane_m : (i / 2 * LM + lane_m) * 2 + i % 2;
}
DEVICE constexpr int column_of(int lane_n, int j) {
  return K_B == ALONG_N ? (j / CHUNK * LN + lane_n) * CHUNK + j % CHUNK
                        : j * LN + lane_n;
}

// Where the rows of a lane begin in a stage, and which chunk comes first.
struct lane_rows {
  u32 begin;
  int key;
};

DEVICE lane_rows rows_from(int r) {
  return {16u * (u32)(r * K_CHUNKS), swizzle_key<K_CHUNKS>(r)};
}

// The numbers of part `part` along k that are in the row `r` rows further.
DEVICE const elements<PART> &part_of(const char *stage, const lane_rows &rows,
                                     int r, int part) {
  const u32 chunk = 16u * (u32)(part / PARTS ^ rows.key);
  const u32 in_chunk = (u32)(part % PARTS * PART * (int)sizeof(T));
  return read<PART>(stage + rows.begin,
                    16u * (u32)(r * K_CHUNKS) +
                        (chunk ^ 16u * (u32)swizzle_key<K_CHUNKS>(r)) +
                        in_chunk);
}

// Part `part` along k of what is in shared memory.
DEVICE void multiply_part(value (&sums)[SUMS], const char *a, const char *b,
                          const lane_rows &a_rows, const lane_rows &b_rows,
                          int part) {
  elements<PART> x[TM];
#pragma unroll
  for (int i = 0; i < TM; i++) x[i] = part_of(a, a_rows, row_of(0, i), part);
  if constexpr (K_B == ALONG_N) {
#pragma unroll
    for (int k = 0; k < PART; k++) {
#pragma unroll
      for (int j = 0; j < TN; j += CHUNK) {
        const elements<CHUNK> w =
            read<CHUNK>(b + b_rows.begin,
                        swizzle_n(part * PART + k, column_of(0, j) / CHUNK));
#pragma unroll
        for (int i = 0; i < TM * CHUNK; i++) {
          value &sum = sums[i / CHUNK * TN + j + i % CHUNK];
          sum = add_product(sum, x[i / CHUNK].at[k], w.at[i % CHUNK]);
        }
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < TN; j++) {
      const elements<PART> w = part_of(b, b_rows, column_of(0, j), part);
#pragma unroll
      for (int i = 0; i < TM * PART; i++) {
        value &sum = sums[i % TM * TN + j];
        sum = add_product(sum, x[i % TM].at[i / TM], w.at[i / TM]);
      }
    }
  }
}

EARLY_RESIDENT_KERNEL_OF(THREADS, K_RESIDENT, simt_gemm, bsm_cuda_mma) {
  DYNAMIC_SHARED(memory);
  const gemm_place block = find_place(p);
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  // Neighbours have the same row, and neighbours of neighbours the same column:
  // so the halves of a warp read shared memory at once.
  const int lane_m = (lane >> 1 & 1) | lane / (2 * LN) * 2;
  const int lane_n = (lane & 1) | (lane >> 1 & (LN - 2));
  const int m = warp / K_WN * (K_BM / K_WM) + row_of(lane_m, 0);
  const int n = warp % K_WN * (K_BN / K_WN) + column_of(lane_n, 0);
  const lane_rows a_rows = rows_from(m), b_along_k = rows_from(n);
  const lane_rows b_rows =
      K_B == ALONG_N ? lane_rows{swizzle_n(0, n / CHUNK), 0} : b_along_k;
  value sums[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; i++) sums[i] = 0;
  multiply_all(p, block, memory, [&](char *a, char *b) {
#pragma unroll UNROLLED
    for (int part = 0; part < K_BK / PART; part++) {
      multiply_part(sums, a, b, a_rows, b_rows, part);
    }
  });
  if constexpr (K_SPLIT) {
    if (p.splits > 1 && !join_splits(p, sums)) return;
  }
  const gemm_end end = find_end(p, block);
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
      store_one(p, end.bias, end.residual, end.y, block.m0 + m + row_of(0, i),
                block.n0 + n + column_of(0, j), sums[i * TN + j]);
    }
  }
}
