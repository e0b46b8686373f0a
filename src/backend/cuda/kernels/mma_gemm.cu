// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of half and bfloat16 on tensor cores:
//   C[m, n] = act(scale * sum_k A[m, k] B[n, k] + bias[n] + residual[m, n])
// with sums in float. A convolution is the product of its windows: m is a pixel
// (image, row, column), k a tap (kernel row, kernel column, channel) of
// channels-last data; n an output map. B has the taps of a map in a row.
//
// Compiled for one shape: everything about it is a constant.
//   T: f16 | bf16; ACTIVATION: act_...; ALPHA, BETA, SCALE
//   BM, BN, BK: the tile of a block; WM, WN: warps in rows and columns; STAGES
//   SPLITS: blocks that share the k of one tile; their partial sums are added
//     in a fixed order by the one that ends last, so bits never change
//   M, N, K: sizes of one batch or group; K a multiple of 8, as are the strides
//   CONV: 0, or 1 with IH IW IC OH OW KH KW SH SW PH PW DH DW (IC: channels of
//     one group, a multiple of 8)
//   A_ROW, C_ROW, R_ROW: elements from row to row; A_BATCH, B_BATCH, C_BATCH,
//     R_BATCH: from batch to batch (or group to group); BIAS_BATCH
//   HAS_BIAS, HAS_RESIDUAL
#include "device.cuh"

struct mma_gemm_args {
  const T *a, *b;
  const float *bias;
  const T *residual;
  T *c;
  float *partial;  // SPLITS > 1: [batch tiles SPLITS][BM BN]
  u32 *counters;   // SPLITS > 1: one of each tile, zero before and after
};

#define THREADS (32 * WM * WN)
#define CHUNKS (BK / 8)  // of 16 bytes in a row of a tile
#define A_CHUNKS (BM * CHUNKS / THREADS)
#define B_CHUNKS (BN * CHUNKS / THREADS)
#define STAGE_ELEMENTS ((BM + BN) * BK)
#define TM (BM / WM / 16)  // tiles of 16 rows of a warp
#define TN (BN / WN / 8)   // tiles of 8 columns of a warp
#define KTILES ((K + BK - 1) / BK)
#define KTILES_SPLIT ((KTILES + SPLITS - 1) / SPLITS)

static_assert(BM * CHUNKS % THREADS == 0 && BN * CHUNKS % THREADS == 0, "");
static_assert(TN % 2 == 0, "B is fetched for 16 columns at a time");

// Where chunk `c` of row `r` lies, so that eight rows of one column of chunks
// are in different banks.
DEVICE int swizzle(int r, int c) {
  return CHUNKS >= 8 ? (r * CHUNKS + (c ^ (r & 7))) * 8
                     : (r * CHUNKS + (c ^ ((r >> 1) & (CHUNKS - 1)))) * 8;
}

// ---- rows of A ----

struct row_of_a {
  const T *base;
  int y, x;  // CONV: of the window's first tap, may be negative
  bool valid;
};

DEVICE row_of_a make_row(const T *a, int m) {
  row_of_a row;
  row.valid = m < M;
#if CONV
  const int n = m / (OH * OW), pixel = m % (OH * OW);
  row.y = pixel / OW * SH - PH;
  row.x = pixel % OW * SW - PW;
  row.base = a + (i64)n * IH * IW * A_ROW;
#else
  row.y = row.x = 0;
  row.base = a + (i64)m * A_ROW;
#endif
  return row;
}

DEVICE void fetch_a(const row_of_a &row, int k, u32 to) {
  bool valid = row.valid && k < K;
  const T *from = row.base;
#if CONV
  const int tap = k / IC, channel = k % IC;
  const int y = row.y + tap / KW * DH, x = row.x + tap % KW * DW;
  valid = valid && (unsigned)y < (unsigned)IH && (unsigned)x < (unsigned)IW;
  if (valid) from += (i64)(y * IW + x) * A_ROW + channel;
#else
  if (valid) from += k;
#endif
  copy16_async(to, from, valid);
}

// ---- multiplying ----

struct accumulators {
  float at[TM][TN][4];
};

// One tile of k that is in shared memory.
DEVICE void multiply_tile(accumulators &sums, u32 a, u32 b, int warp_row,
                          int warp_column, int lane) {
#pragma unroll
  for (int k = 0; k < BK / 16; k++) {
    u32 fa[TM][4], fb[TN][2];
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const int r = warp_row * (BM / WM) + i * 16 + lane % 16;
      ptx_ldmatrix_x4(a + 2 * swizzle(r, 2 * k + lane / 16), fa[i]);
    }
#pragma unroll
    for (int j = 0; j < TN; j += 2) {
      const int r = warp_column * (BN / WN) + j * 8 + lane % 8 + lane / 16 * 8;
      u32 both[4];
      ptx_ldmatrix_x4(b + 2 * swizzle(r, 2 * k + lane / 8 % 2), both);
      fb[j][0] = both[0];
      fb[j][1] = both[1];
      fb[j + 1][0] = both[2];
      fb[j + 1][1] = both[3];
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
#pragma unroll
      for (int j = 0; j < TN; j++) multiply<T>(sums.at[i][j], fa[i], fb[j]);
    }
  }
}

// ---- the end of a tile ----

DEVICE void store_pair(const mma_gemm_args &p, int batch, int m, int n,
                       float x0, float x1) {
  if (m >= M || n >= N) return;
  const bool two = n + 1 < N;
  float v[2] = {x0, x1};
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (i && !two) break;
    v[i] *= (float)(SCALE);
#if HAS_BIAS
    v[i] += p.bias[batch * BIAS_BATCH + n + i];
#endif
#if HAS_RESIDUAL
    v[i] += to_float(
        p.residual[(i64)batch * R_BATCH + (i64)m * R_ROW + n + i]);
#endif
    v[i] = ACTIVATION::run(v[i], (float)(ALPHA), (float)(BETA));
  }
  T *to = p.c + (i64)batch * C_BATCH + (i64)m * C_ROW + n;
  if (two && C_ROW % 2 == 0 && C_BATCH % 2 == 0) {
    *(u32 *)to = pack2<T>(v[0], v[1]);
    return;
  }
  to[0] = from_float<T>(v[0]);
  if (two) to[1] = from_float<T>(v[1]);
}

DEVICE void store_tile(const mma_gemm_args &p, const accumulators &sums,
                       int batch, int m0, int n0, int warp_row,
                       int warp_column, int lane) {
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
      const int m = m0 + warp_row * (BM / WM) + i * 16 + lane / 4;
      const int n = n0 + warp_column * (BN / WN) + j * 8 + lane % 4 * 2;
      store_pair(p, batch, m, n, sums.at[i][j][0], sums.at[i][j][1]);
      store_pair(p, batch, m + 8, n, sums.at[i][j][2], sums.at[i][j][3]);
    }
  }
}

#if SPLITS > 1
// Leaves the sums for the block that ends last; true in that one, with all
// sums added in the order of the splits.
DEVICE bool join_splits(const mma_gemm_args &p, accumulators &sums, int tile,
                        int split) {
  __shared__ u32 arrived;
  float *own = p.partial + ((i64)tile * SPLITS + split) * (BM * BN);
#pragma unroll
  for (int i = 0; i < TM * TN; i++) {
    const float *v = sums.at[i / TN][i % TN];
    *(float4 *)(own + (i * THREADS + threadIdx.x) * 4) =
        make_float4(v[0], v[1], v[2], v[3]);
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) arrived = atomicAdd(p.counters + tile, 1);
  __syncthreads();
  if (arrived != SPLITS - 1) return false;
  __threadfence();
  if (threadIdx.x == 0) p.counters[tile] = 0;
  const float *all = p.partial + (i64)tile * SPLITS * (BM * BN);
#pragma unroll
  for (int i = 0; i < TM * TN; i++) {
    float *v = sums.at[i / TN][i % TN];
    v[0] = v[1] = v[2] = v[3] = 0;
#pragma unroll 4
    for (int s = 0; s < SPLITS; s++) {
      const float4 x = __ldcg((const float4 *)(all + (i64)s * (BM * BN) +
                                               (i * THREADS + threadIdx.x) * 4));
      v[0] += x.x;
      v[1] += x.y;
      v[2] += x.z;
      v[3] += x.w;
    }
  }
  return true;
}
#endif

// grid: (tiles of n, tiles of m, batches * SPLITS)
KERNEL_OF(THREADS, mma_gemm, mma_gemm_args) {
  DYNAMIC_SHARED(memory);
  const u32 shared = shared_address(memory);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / WN, warp_column = warp % WN;
  const int n0 = blockIdx.x * BN, m0 = blockIdx.y * BM;
  const int batch = blockIdx.z / SPLITS, split = blockIdx.z % SPLITS;
  const T *a = p.a + (i64)batch * A_BATCH, *b = p.b + (i64)batch * B_BATCH;
  const int first = split * KTILES_SPLIT;
  const int last = first + KTILES_SPLIT < KTILES ? first + KTILES_SPLIT : KTILES;

  row_of_a rows[A_CHUNKS];
#pragma unroll
  for (int i = 0; i < A_CHUNKS; i++) {
    rows[i] = make_row(a, m0 + (i * THREADS + (int)threadIdx.x) / CHUNKS);
  }
  auto fetch = [&](int tile, int stage) {
    const u32 to_a = shared + stage * STAGE_ELEMENTS * 2;
    const u32 to_b = to_a + BM * BK * 2;
#pragma unroll
    for (int i = 0; i < A_CHUNKS; i++) {
      const int at = i * THREADS + threadIdx.x, r = at / CHUNKS, c = at % CHUNKS;
      fetch_a(rows[i], tile * BK + c * 8, to_a + 2 * swizzle(r, c));
    }
#pragma unroll
    for (int i = 0; i < B_CHUNKS; i++) {
      const int at = i * THREADS + threadIdx.x, r = at / CHUNKS, c = at % CHUNKS;
      const int n = n0 + r, k = tile * BK + c * 8;
      const bool valid = n < N && k < K;
      copy16_async(to_b + 2 * swizzle(r, c), valid ? b + (i64)n * K + k : b,
                   valid);
    }
  };

  accumulators sums;
#pragma unroll
  for (int i = 0; i < TM * TN * 4; i++) {
    sums.at[i / (TN * 4)][i / 4 % TN][i % 4] = 0;
  }
#pragma unroll
  for (int s = 0; s < STAGES - 1; s++) {
    if (first + s < last) fetch(first + s, s);
    copies_commit();
  }
  for (int tile = first; tile < last; tile++) {
    const int at = tile - first;
    copies_wait<STAGES - 2>();
    __syncthreads();
    const int next = tile + STAGES - 1;
    if (next < last) fetch(next, (at + STAGES - 1) % STAGES);
    copies_commit();
    const u32 stage = shared + at % STAGES * STAGE_ELEMENTS * 2;
    multiply_tile(sums, stage, stage + BM * BK * 2, warp_row, warp_column, lane);
  }
#if SPLITS > 1
  const int tile = (batch * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (!join_splits(p, sums, tile, split)) return;
#endif
  store_tile(p, sums, batch, m0, n0, warp_row, warp_column, lane);
}
