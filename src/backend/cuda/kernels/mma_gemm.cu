// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of half and bfloat16 on tensor cores:
//   y[m, n] = act(scale * sum_k A[m, k] B[k, n] + bias[n] + residual[m, n])
// with sums in float. A convolution is the product of its windows: m is a pixel
// of the output, k a tap (a place in the window, then a map of the input), n a
// map of the output. Sizes and strides are parameters; what is compiled is the
// tile of a block, and how operands come to shared memory:
//   K_T: f16 | bf16; K_ACTIVATION
//   K_BM, K_BN, K_BK: the tile of a block; K_WM, K_WN: warps in its rows and
//     columns; K_STAGES: tiles of k that are on their way or used
//   K_IMAGE: 0: A is a matrix; 2, 3: A is the windows of images, of which that
//     many dimensions are of a size other than 1; K_TRANSPOSED: windows of a
//     deconvolution
//   K_A: ELEMENTS, or ALONG_K: 8 elements along k lie together, aligned
//   K_B: ELEMENTS, ALONG_K, or ALONG_N
//   K_WEIGHTS: 1: B is weights, which are there before the kernel begins
//   K_SPLIT: 1: there may be splits: some blocks share the k of one tile. Their
//     partial sums are added in a fixed order by the one that ends last, so
//     bits never change
// grid: (tiles, splits, batches)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "mma.cuh"
#include "mma_store.cuh"

#define ELEMENTS 0
#define ALONG_K 1
#define ALONG_N 2

typedef K_T T;

enum {
  THREADS = 32 * K_WM * K_WN,
  K_CHUNKS = K_BK / 8,  // of 16 bytes
  N_CHUNKS = K_BN / 8,
  A_CHUNKS = K_BM * K_CHUNKS / THREADS,  // of one thread
  B_CHUNKS = K_BN * K_CHUNKS / THREADS,
  A_BYTES = K_BM * K_BK * 2,
  STAGE_BYTES = A_BYTES + K_BN * K_BK * 2,
  TM = K_BM / K_WM / 16,  // tiles of 16 rows of a warp
  TN = K_BN / K_WN / 8,   // tiles of 8 columns of a warp
  // The dimensions of images that are looked at: the last ones.
  FIRST_DIM = K_IMAGE == 3 ? 0 : 1
};

static_assert(K_BM * K_CHUNKS % THREADS == 0, "threads fetch equal parts");
static_assert(K_BN * K_CHUNKS % THREADS == 0, "threads fetch equal parts");
static_assert(TN % 2 == 0, "B is fetched for 16 columns at a time");

// ---- A ----

// Which tap of the window and which map a number of k is.
struct tap {
  int map, at[3];
};

DEVICE tap find_tap(const bsm_cuda_mma &p, int k) {
  tap t = {k, {0, 0, 0}};
  if constexpr (K_IMAGE) {
    int place = k / p.maps;
    t.map = k - place * p.maps;
#pragma unroll
    for (int d = 2; d >= FIRST_DIM; d--) {
      t.at[d] = place % p.kernel[d];
      place /= p.kernel[d];
    }
  }
  return t;
}

DEVICE void advance(const bsm_cuda_mma &p, tap &t, int k) {
  t.map += k;
  if constexpr (K_IMAGE) {
    while (t.map >= p.maps) {
      t.map -= p.maps;
      if (++t.at[2] < p.kernel[2]) continue;
      t.at[2] = 0;
      if (++t.at[1] < p.kernel[1] || K_IMAGE < 3) continue;
      t.at[1] = 0;
      t.at[0]++;
    }
  }
}

// A row of A. `at`: K_IMAGE: where the window begins, which may be outside; of
// a deconvolution, the pixel and its padding.
struct row_of_a {
  const T *base;
  int at[3];
  bool exists;
};

DEVICE row_of_a make_row(const bsm_cuda_mma &p, const T *a, int m) {
  row_of_a row;
  row.exists = m < p.m;
  if constexpr (K_IMAGE) {
    int pixel = m;
#pragma unroll
    for (int d = 2; d >= FIRST_DIM; d--) {
      const int at = pixel % p.out[d];
      pixel /= p.out[d];
      row.at[d] = K_TRANSPOSED ? at + p.pre[d] : at * p.stride[d] - p.pre[d];
    }
    row.base = a + pixel * p.image_stride;
  } else {
    row.base = a + m * p.a_row;
  }
  return row;
}

// The address of a tap; NULL: it is outside.
DEVICE const T *find(const bsm_cuda_mma &p, const row_of_a &row, const tap &t) {
  bool inside = row.exists;
  const T *from = row.base + t.map * p.a_column;
  if constexpr (K_IMAGE) {
    int offset = 0;
#pragma unroll
    for (int d = FIRST_DIM; d < 3; d++) {
      int at = K_TRANSPOSED ? row.at[d] - t.at[d] * p.dilation[d]
                            : row.at[d] + t.at[d] * p.dilation[d];
      if constexpr (K_TRANSPOSED) {
        inside = inside && at % p.stride[d] == 0 && at >= 0;
        at /= p.stride[d];
      }
      inside = inside && (u32)at < (u32)p.in[d];
      offset += at * p.in_stride[d];
    }
    from += offset;
  }
  return inside ? from : 0;
}

// ---- the end of a tile ----

struct accumulators {
  float at[TM][TN][4];
};

// Leaves the sums for the block that ends last; true in that one, with all
// sums added in the order of the splits.
DEVICE bool join_splits(const bsm_cuda_mma &p, accumulators &sums, int tile,
                        int split) {
  __shared__ u32 arrived;
  const i64 size = K_BM * K_BN;
  float *all = (float *)p.partial + (i64)tile * p.splits * size;
  u32 *counter = (u32 *)p.counters + tile;
  const int thread = (int)threadIdx.x;
#pragma unroll
  for (int i = 0; i < TM * TN; i++) {
    const float *v = sums.at[i / TN][i % TN];
    *(float4 *)(all + split * size + (i * THREADS + thread) * 4) =
        make_float4(v[0], v[1], v[2], v[3]);
  }
  __threadfence();
  __syncthreads();
  if (thread == 0) arrived = atomicAdd(counter, 1);
  __syncthreads();
  if (arrived != (u32)p.splits - 1) return false;
  __threadfence();
  if (thread == 0) *counter = 0;
#pragma unroll
  for (int i = 0; i < TM * TN; i++) {
    float *v = sums.at[i / TN][i % TN];
    v[0] = v[1] = v[2] = v[3] = 0;
  }
  for (int s = 0; s < p.splits; s++) {
#pragma unroll
    for (int i = 0; i < TM * TN; i++) {
      float *v = sums.at[i / TN][i % TN];
      const float4 x = __ldcg(
          (const float4 *)(all + s * size + (i * THREADS + thread) * 4));
      v[0] += x.x;
      v[1] += x.y;
      v[2] += x.z;
      v[3] += x.w;
    }
  }
  return true;
}

// ---- multiplying ----

// One tile of k that is in shared memory, at the addresses `a` and `b`.
DEVICE void multiply_tile(accumulators &sums, u32 a, u32 b, int warp_row,
                          int warp_column, int lane) {
#pragma unroll
  for (int k = 0; k < K_BK / 16; k++) {
    u32 fa[TM][4], fb[TN][2];
#pragma unroll
    for (int i = 0; i < TM; i++) {
      load_a<K_CHUNKS>(a, warp_row * (K_BM / K_WM) + i * 16, k, lane, fa[i]);
    }
#pragma unroll
    for (int j = 0; j < TN; j += 2) {
      const int n = warp_column * (K_BN / K_WN) + j * 8;
      if constexpr (K_B == ALONG_N) {
        load_b_rows<N_CHUNKS>(b, n, k, lane, &fb[j]);
      } else {
        load_b<K_CHUNKS>(b, n, k, lane, &fb[j]);
      }
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
#pragma unroll
      for (int j = 0; j < TN; j++) multiply<T>(sums.at[i][j], fa[i], fb[j]);
    }
  }
}

EARLY_KERNEL_OF(THREADS, mma_gemm, bsm_cuda_mma) {
  DYNAMIC_SHARED(memory);
  const u32 shared = shared_address(memory);
  const int thread = (int)threadIdx.x;
  const int lane = thread % 32, warp = thread / 32;
  const int warp_row = warp / K_WN, warp_column = warp % K_WN;
  const int n0 = (int)(blockIdx.x % (u32)p.tiles_n) * K_BN;
  const int m0 = (int)(blockIdx.x / (u32)p.tiles_n) * K_BM;
  const int split = (int)blockIdx.y, batch = (int)blockIdx.z;
  i64 a_at = 0, b_at = 0, y_at = 0, residual_at = 0;
  for (int loop = p.loops - 1, rest = batch; loop >= 0; loop--) {
    const int at = rest % p.batch_sizes[loop];
    rest /= p.batch_sizes[loop];
    a_at += at * p.a_batch[loop];
    b_at += at * p.b_batch[loop];
    y_at += at * p.y_batch[loop];
    residual_at += at * p.residual_batch[loop];
  }
  const T *a = (const T *)p.a + a_at, *b = (const T *)p.b + b_at;
  const int k_first = split * p.split_k;
  const int k_end = K_SPLIT && k_first + p.split_k < p.k ? k_first + p.split_k
                                                         : p.k;
  const int tiles = (k_end - k_first + K_BK - 1) / K_BK;

  // Threads fetch along rows of chunks, so that what lies together is read
  // together; elements, which lie together in other ways, along columns.
  row_of_a rows[A_CHUNKS];
  tap taps[K_A == ELEMENTS ? A_CHUNKS : 1];
#pragma unroll
  for (int i = 0; i < A_CHUNKS; i++) {
    const int at = i * THREADS + thread;
    const int r = K_A == ELEMENTS ? at % K_BM : at / K_CHUNKS;
    const int c = K_A == ELEMENTS ? at / K_BM : at % K_CHUNKS;
    rows[i] = make_row(p, a, m0 + r);
    if (K_A == ELEMENTS || i == 0) {
      taps[K_A == ELEMENTS ? i : 0] = find_tap(p, k_first + c * 8);
    }
  }
  static_assert(THREADS % K_CHUNKS == 0, "the chunks of a thread have one k");

  auto fetch_a = [&](int tile) {
    const u32 to_a = (u32)(tile % K_STAGES * STAGE_BYTES);
    const int k0 = k_first + tile * K_BK;
#pragma unroll
    for (int i = 0; i < A_CHUNKS; i++) {
      const int at = i * THREADS + thread;
      if constexpr (K_A == ELEMENTS) {
        const int r = at % K_BM, c = at / K_BM;
        tap t = taps[i];
        u32 x[8];
#pragma unroll
        for (int e = 0; e < 8; e++) {
          const T *from = k0 + c * 8 + e < k_end ? find(p, rows[i], t) : 0;
          x[e] = from ? from->bits : 0;
          advance(p, t, 1);
        }
        *(uint4 *)(memory + to_a + swizzle<K_CHUNKS>(r, c)) = chunk_of(x);
        advance(p, taps[i], K_BK);
      } else {
        const int r = at / K_CHUNKS, c = at % K_CHUNKS;
        const int count = elements_left(k0 + c * 8, k_end);
        const T *from = count ? find(p, rows[i], taps[0]) : 0;
        ptx_copy16_async(shared + to_a + swizzle<K_CHUNKS>(r, c), from ? from : a,
                         from ? 2 * count : 0);
      }
    }
    if constexpr (K_A != ELEMENTS) advance(p, taps[0], K_BK);
  };
  auto fetch_b = [&](int tile) {
    const u32 to_b = (u32)(tile % K_STAGES * STAGE_BYTES) + A_BYTES;
    const int k0 = k_first + tile * K_BK;
#pragma unroll
    for (int i = 0; i < B_CHUNKS; i++) {
      const int at = i * THREADS + thread;
      if constexpr (K_B == ELEMENTS) {
        const int r = at % K_BN, c = at / K_BN, n = n0 + r, k = k0 + c * 8;
        u32 x[8];
#pragma unroll
        for (int e = 0; e < 8; e++) {
          x[e] = n < p.n && k + e < k_end
                     ? b[(k + e) * p.b_row + n * p.b_column].bits
                     : 0;
        }
        *(uint4 *)(memory + to_b + swizzle<K_CHUNKS>(r, c)) = chunk_of(x);
      } else if constexpr (K_B == ALONG_N) {
        const int r = at / N_CHUNKS, c = at % N_CHUNKS, k = k0 + r;
        const int count = k < k_end ? elements_left(n0 + c * 8, p.n) : 0;
        ptx_copy16_async(shared + to_b + swizzle<N_CHUNKS>(r, c),
                         count ? b + k * p.b_row + (n0 + c * 8) : b, 2 * count);
      } else {
        const int r = at / K_CHUNKS, c = at % K_CHUNKS, n = n0 + r;
        const int count = n < p.n ? elements_left(k0 + c * 8, k_end) : 0;
        ptx_copy16_async(shared + to_b + swizzle<K_CHUNKS>(r, c),
                         count ? b + n * p.b_column + (k0 + c * 8) : b,
                         2 * count);
      }
    }
  };

  accumulators sums;
#pragma unroll
  for (int i = 0; i < TM * TN * 4; i++) {
    sums.at[i / (TN * 4)][i / 4 % TN][i % 4] = 0;
  }
  if (!K_WEIGHTS) wait_for_previous();
#pragma unroll
  for (int s = 0; s < K_STAGES - 1; s++) {
    if (s < tiles) fetch_b(s);
  }
  if (K_WEIGHTS) wait_for_previous();
#pragma unroll
  for (int s = 0; s < K_STAGES - 1; s++) {
    if (s < tiles) fetch_a(s);
    copies_commit();
  }
  for (int tile = 0; tile < tiles; tile++) {
    copies_wait<K_STAGES - 2>();
    __syncthreads();
    const int next = tile + K_STAGES - 1;
    if (next < tiles) {
      fetch_a(next);
      fetch_b(next);
    }
    copies_commit();
    const u32 stage = shared + (u32)(tile % K_STAGES * STAGE_BYTES);
    multiply_tile(sums, stage, stage + A_BYTES, warp_row, warp_column, lane);
  }
  if constexpr (K_SPLIT) {
    const int tile = (int)(blockIdx.z * gridDim.x + blockIdx.x);
    if (p.splits > 1 && !join_splits(p, sums, tile, split)) return;
  }
  const T *bias = p.bias ? (const T *)p.bias + batch * p.bias_batch : 0;
  const T *residual = p.residual ? (const T *)p.residual + residual_at : 0;
  T *y = (T *)p.y + y_at;
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
      const float *v = sums.at[i][j];
      const int m = m0 + warp_row * (K_BM / K_WM) + i * 16 + lane / 4;
      const int n = n0 + warp_column * (K_BN / K_WN) + j * 8 + lane % 4 * 2;
      store_pair<T>(p, bias, residual, y, m, n, v[0], v[1]);
      store_pair<T>(p, bias, residual, y, m + 8, n, v[2], v[3]);
    }
  }
}
