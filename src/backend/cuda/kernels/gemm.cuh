// SPDX-License-Identifier: Apache-2.0
// Products in tiles, whatever multiplies them:
//   y[m, n] = act(scale * sum_k A[m, k] B[k, n] + bias[n] + residual[m, n])
// A convolution is the product of its windows: m is a pixel of the output, k a
// tap (a place in the window, then a map of the input), n a map of the output.
// Sizes and strides are parameters; what is compiled is the tile of a block, and
// how operands come to shared memory:
//   K_T: the dtype; K_Y: that of y, where it is another one; K_ACTIVATION
//   K_BM, K_BN, K_BK: the tile of a block; K_WM, K_WN: warps in its rows and
//     columns; K_STAGES: tiles of k that are on their way or used
//   K_IMAGE: 0: A is a matrix; 2, 3: A is the windows of images, of which that
//     many dimensions are of a size other than 1; K_TRANSPOSED: windows of a
//     deconvolution
//   K_A: ELEMENTS, or ALONG_K: a chunk of elements along k lies together,
//     aligned
//   K_B: ELEMENTS, ALONG_K, or ALONG_N
//   K_WEIGHTS: 1: B is weights, which are there before the kernel begins
//   K_SPLIT: 1: there may be splits: some blocks share the k of one tile. Their
//     partial sums are added in a fixed order by the one that ends last, so
//     bits never change
// grid: (tiles, splits, batches)
//
// A tile in shared memory is rows of swizzled chunks: A has one for each m, B
// one for each n, or for each k with ALONG_N. What multiplies says where chunks
// of the latter are, by the function swizzle_n(row, chunk).
#pragma once

#define ELEMENTS 0
#define ALONG_K 1
#define ALONG_N 2

typedef K_T T;
typedef element<T>::value value;

enum {
  THREADS = 32 * K_WM * K_WN,
  CHUNK = 16 / (int)sizeof(T),  // elements of a chunk
  K_CHUNKS = K_BK / CHUNK,
  N_CHUNKS = K_BN / CHUNK,
  A_CHUNKS = K_BM * K_CHUNKS / THREADS,  // of one thread
  B_CHUNKS = K_BN * K_CHUNKS / THREADS,
  A_BYTES = K_BM * K_BK * (int)sizeof(T),
  STAGE_BYTES = A_BYTES + K_BN * K_BK * (int)sizeof(T),
  SUMS = K_BM * K_BN / THREADS  // of one thread
};

static_assert(K_BM * K_CHUNKS % THREADS == 0, "threads fetch equal parts");
static_assert(K_BN * K_CHUNKS % THREADS == 0, "threads fetch equal parts");
static_assert(THREADS % K_CHUNKS == 0, "the chunks of a thread have one k");

DEVICE u32 swizzle_n(int r, int c);

#include "windows.cuh"
#include "arrival.cuh"

// ---- where a block is ----

struct gemm_place {
  const T *a, *b;
  i64 y, residual;  // offsets
  int m0, n0;
  int k_first, k_end, tiles;
};

DEVICE gemm_place find_place(const bsm_cuda_mma &p) {
  gemm_place at;
  i64 a = 0, b = 0;
  at.n0 = (int)(blockIdx.x % (u32)p.tiles_n) * K_BN;
  at.m0 = (int)(blockIdx.x / (u32)p.tiles_n) * K_BM;
  at.y = at.residual = 0;
  for (int loop = p.loops - 1, rest = (int)blockIdx.z; loop >= 0; loop--) {
    const int i = rest % p.batch_sizes[loop];
    rest /= p.batch_sizes[loop];
    a += i * p.a_batch[loop];
    b += i * p.b_batch[loop];
    at.y += i * p.y_batch[loop];
    at.residual += i * p.residual_batch[loop];
  }
  at.a = (const T *)p.a + a;
  at.b = (const T *)p.b + b;
  at.k_first = (int)blockIdx.y * p.split_k;
  at.k_end = K_SPLIT && at.k_first + p.split_k < p.k ? at.k_first + p.split_k
                                                     : p.k;
  at.tiles = (at.k_end - at.k_first + K_BK - 1) / K_BK;
  return at;
}

// ---- fetching ----

// Threads fetch along rows of chunks, so that what lies together is read
// together; elements, which lie together in other ways, along columns.
struct a_fetcher {
  row_of_a rows[A_CHUNKS];
  tap taps[K_A == ELEMENTS ? A_CHUNKS : 1];

  DEVICE void start(const bsm_cuda_mma &p, const gemm_place &block) {
#pragma unroll
    for (int i = 0; i < A_CHUNKS; i++) {
      const int at = i * THREADS + (int)threadIdx.x;
      const int r = K_A == ELEMENTS ? at % K_BM : at / K_CHUNKS;
      const int c = K_A == ELEMENTS ? at / K_BM : at % K_CHUNKS;
      rows[i] = make_row(p, block.a, block.m0 + r);
      if (K_A == ELEMENTS || i == 0) {
        taps[K_A == ELEMENTS ? i : 0] =
            find_tap(p, block.k_first + c * CHUNK);
      }
    }
  }

  // The next tile of k, which begins at k0, to the shared memory of a stage.
  DEVICE void fetch(const bsm_cuda_mma &p, const gemm_place &block, int k0,
                    char *stage) {
    const u32 to = shared_address(stage);
#pragma unroll
    for (int i = 0; i < A_CHUNKS; i++) {
      const int at = i * THREADS + (int)threadIdx.x;
      if constexpr (K_A == ELEMENTS) {
        const int r = at % K_BM, c = at / K_BM;
        tap t = taps[i];
        decltype(bits_of(T())) x[CHUNK];
#pragma unroll
        for (int e = 0; e < CHUNK; e++) {
          const T *from =
              k0 + c * CHUNK + e < block.k_end ? find(p, rows[i], t) : 0;
          x[e] = from ? bits_of(*from) : 0;
          advance(p, t, 1);
        }
        *(uint4 *)(stage + swizzle<K_CHUNKS>(r, c)) = chunk_of(x);
        advance(p, taps[i], K_BK);
      } else {
        const int r = at / K_CHUNKS, c = at % K_CHUNKS;
        const int count = elements_left<CHUNK>(k0 + c * CHUNK, block.k_end);
        const T *from = count ? find(p, rows[i], taps[0]) : 0;
        ptx_copy16_async(to + swizzle<K_CHUNKS>(r, c), from ? from : block.a,
                         from ? (u32)sizeof(T) * (u32)count : 0);
      }
    }
    if constexpr (K_A != ELEMENTS) advance(p, taps[0], K_BK);
  }
};

DEVICE void fetch_b(const bsm_cuda_mma &p, const gemm_place &block, int k0,
                    char *stage) {
  const T *b = block.b;
  const u32 to = shared_address(stage);
#pragma unroll
  for (int i = 0; i < B_CHUNKS; i++) {
    const int at = i * THREADS + (int)threadIdx.x;
    if constexpr (K_B == ELEMENTS) {
      const int r = at % K_BN, c = at / K_BN;
      const int n = block.n0 + r, k = k0 + c * CHUNK;
      decltype(bits_of(T())) x[CHUNK];
#pragma unroll
      for (int e = 0; e < CHUNK; e++) {
        x[e] = n < p.n && k + e < block.k_end
                   ? bits_of(b[(k + e) * p.b_row + n * p.b_column])
                   : 0;
      }
      *(uint4 *)(stage + swizzle<K_CHUNKS>(r, c)) = chunk_of(x);
    } else {
      const bool along_n = K_B == ALONG_N;
      const int r = along_n ? at / N_CHUNKS : at / K_CHUNKS;
      const int c = along_n ? at % N_CHUNKS : at % K_CHUNKS;
      const int k = k0 + (along_n ? r : c * CHUNK);
      const int n = block.n0 + (along_n ? c * CHUNK : r);
      const int count = along_n
                            ? k < block.k_end ? elements_left<CHUNK>(n, p.n) : 0
                        : n < p.n ? elements_left<CHUNK>(k, block.k_end)
                                  : 0;
      ptx_copy16_async(
          to + (along_n ? swizzle_n(r, c) : swizzle<K_CHUNKS>(r, c)),
          !count    ? b
          : along_n ? b + k * p.b_row + n
                    : b + n * p.b_column + k,
          (u32)sizeof(T) * (u32)count);
    }
  }
}

// Goes along k: what comes to shared memory is given to `multiply`, one tile of
// A and one of B at a time.
template <class F>
DEVICE void multiply_all(const bsm_cuda_mma &p, const gemm_place &block,
                         char *memory, F multiply) {
  a_fetcher a;
  a.start(p, block);
  auto stage_of = [&](int tile) {
    return memory + tile % K_STAGES * STAGE_BYTES;
  };
  auto k_of = [&](int tile) { return block.k_first + tile * K_BK; };
  if (!K_WEIGHTS) wait_for_previous();
#pragma unroll
  for (int s = 0; s < K_STAGES - 1; s++) {
    if (s < block.tiles) fetch_b(p, block, k_of(s), stage_of(s) + A_BYTES);
  }
  if (K_WEIGHTS) wait_for_previous();
#pragma unroll
  for (int s = 0; s < K_STAGES - 1; s++) {
    if (s < block.tiles) a.fetch(p, block, k_of(s), stage_of(s));
    copies_commit();
  }
  for (int tile = 0; tile < block.tiles; tile++) {
    copies_wait<K_STAGES - 2>();
    __syncthreads();
    const int next = tile + K_STAGES - 1;
    if (next < block.tiles) {
      a.fetch(p, block, k_of(next), stage_of(next));
      fetch_b(p, block, k_of(next), stage_of(next) + A_BYTES);
    }
    copies_commit();
    multiply(stage_of(tile), stage_of(tile) + A_BYTES);
  }
}

// ---- the end of a tile ----

// Sums of a thread in memory that the blocks of a tile share, 16 bytes at a
// time.
DEVICE void put_sums(float *to, const float *v) {
  *(float4 *)to = make_float4(v[0], v[1], v[2], v[3]);
}
DEVICE void put_sums(double *to, const double *v) {
  *(double2 *)to = make_double2(v[0], v[1]);
}
DEVICE void add_sums(const float *from, float *v) {
  const float4 x = __ldcg((const float4 *)from);
  v[0] += x.x;
  v[1] += x.y;
  v[2] += x.z;
  v[3] += x.w;
}
DEVICE void add_sums(const double *from, double *v) {
  const double2 x = __ldcg((const double2 *)from);
  v[0] += x.x;
  v[1] += x.y;
}

// Leaves the sums for the block that ends last; true in that one, with all
// sums added in the order of the splits.
DEVICE bool join_splits(const bsm_cuda_mma &p, value (&sums)[SUMS]) {
  constexpr int SOME = 16 / (int)sizeof(value);
  const i64 size = K_BM * K_BN;
  const int tile = (int)(blockIdx.z * gridDim.x + blockIdx.x);
  const int thread = (int)threadIdx.x;
  value *all = (value *)p.partial + (i64)tile * p.splits * size;
  u32 *counter = (u32 *)p.counters + tile;
#pragma unroll
  for (int i = 0; i < SUMS; i += SOME) {
    put_sums(all + (int)blockIdx.y * size + i * THREADS + thread * SOME,
             &sums[i]);
  }
  if (!block_ends_last(counter, p.splits)) return false;
#pragma unroll
  for (int i = 0; i < SUMS; i++) sums[i] = 0;
  for (int s = 0; s < p.splits; s++) {
#pragma unroll
    for (int i = 0; i < SUMS; i += SOME) {
      add_sums(all + s * size + i * THREADS + thread * SOME, &sums[i]);
    }
  }
  return true;
}

// Where the operands of the end are, of the block's batch.
#ifdef K_Y
typedef K_Y Y;
#else
typedef T Y;
#endif

struct gemm_end {
  const T *bias, *residual;
  Y *y;
};

DEVICE gemm_end find_end(const bsm_cuda_mma &p, const gemm_place &block) {
  return {p.bias ? (const T *)p.bias + blockIdx.z * p.bias_batch : 0,
          p.residual ? (const T *)p.residual + block.residual : 0,
          (Y *)p.y + block.y};
}
