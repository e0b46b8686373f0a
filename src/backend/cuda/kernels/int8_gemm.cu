// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of bytes on tensor cores: uint8 by int8, with exact
// sums in int32, or with K_FP8 e4m3 by e4m3, with sums in float. They become
// what int8_end.cuh says. Tiles, windows and splits
// are as in gemm.cuh; what is different:
//   K_BK: pairs of bytes of a tile of k
//   K_PIECE: 16, 8 or 4 bytes along k lie together, aligned; 1: they come one
//     by one. What is outside of the image is its zero point
//   K_LINED: 1: k are the lines of a window, each of which is padded to 16
//     bytes, and lies together in the image; 2: whose lines are whole words
//   K_Y: u8 (e4m3), float, f16 or bf16; K_RESIDUAL; K_VECTOR: 1: rows of y and of the
//     residual are aligned to 16 bytes, and columns of a row a multiple of 16
// B is weights, whose rows are padded with zeros to a multiple of 16 bytes.
// grid: (tiles, splits, batches)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "chunks.cuh"
#include "mma.cuh"
#include "int8_end.cuh"
#include "narrow_activation.cuh"
#include "arrival.cuh"

typedef u8 T;

#include "windows.cuh"

enum {
  THREADS = 32 * K_WM * K_WN,
  CHUNK = 16,
  BYTES_K = 2 * K_BK,
  K_CHUNKS = BYTES_K / CHUNK,
  A_CHUNKS = K_BM * K_CHUNKS / THREADS,  // of one thread
  B_CHUNKS = K_BN * K_CHUNKS / THREADS,
  PIECES = CHUNK / K_PIECE,
  TAPS = K_PIECE == 1 ? 1 : PIECES,  // that a thread has
  A_BYTES = K_BM * BYTES_K,
  STAGE_BYTES = A_BYTES + K_BN * BYTES_K,
  TM = K_BM / K_WM / 16,  // tiles of 16 rows of a warp
  TN = K_BN / K_WN / 8,   // tiles of 8 columns of a warp
  RUN = 2 * TN,           // columns of a thread, which lie together
  SUMS = TM * TN * 4
};

static_assert(K_BM * K_CHUNKS % THREADS == 0, "threads fetch equal parts");
static_assert(K_BN * K_CHUNKS % THREADS == 0, "threads fetch equal parts");
static_assert(THREADS % K_CHUNKS == 0, "the chunks of a thread have one k");
static_assert(TN % 2 == 0, "B is fetched for 16 columns at a time");

// ---- where a block is ----

struct int8_place {
  const u8 *a;
  const i8 *b;
  i64 y, residual;  // offsets
  int map;          // of the batch's first column
  int m0, n0;
  int k_first, k_end, tiles;
};

DEVICE int8_place find_place(const bsm_cuda_mma &p) {
  int8_place at;
  const i64 batch = blockIdx.z;
  at.n0 = (int)(blockIdx.x % (u32)p.tiles_n) * K_BN;
  at.m0 = (int)(blockIdx.x / (u32)p.tiles_n) * K_BM;
  at.a = (const u8 *)p.a + batch * p.a_batch[0];
  at.b = (const i8 *)p.b + batch * p.b_batch[0];
  at.y = batch * p.y_batch[0];
  at.residual = batch * p.residual_batch[0];
  at.map = (int)(batch * p.bias_batch);
  at.k_first = (int)blockIdx.y * p.split_k;
  at.k_end = K_SPLIT && at.k_first + p.split_k < p.k ? at.k_first + p.split_k
                                                     : p.k;
  at.tiles = (at.k_end - at.k_first + BYTES_K - 1) / BYTES_K;
  return at;
}

// ---- fetching ----

struct a_fetcher {
  row_of_a rows[A_CHUNKS];
  tap taps[TAPS];

  DEVICE void start(const bsm_cuda_mma &p, const int8_place &block) {
    const int c = (int)threadIdx.x % K_CHUNKS;
#pragma unroll
    for (int i = 0; i < A_CHUNKS; i++) {
      rows[i] = make_row(p, block.a,
                         block.m0 + (i * THREADS + (int)threadIdx.x) / K_CHUNKS);
    }
#pragma unroll
    for (int i = 0; i < TAPS; i++) {
      taps[i] = find_tap(p, block.k_first + c * CHUNK + i * K_PIECE);
    }
  }

  // The next tile of k, which begins at k0, to the shared memory of a stage.
  DEVICE void fetch(const bsm_cuda_int8_gemm &g, const int8_place &block, int k0,
                    char *stage) {
    const bsm_cuda_mma &p = g.product;
    const int c = (int)threadIdx.x % K_CHUNKS, k = k0 + c * CHUNK;
    const u32 zero = (u32)g.end.x_zero;
    if constexpr (K_PIECE == 1) {
      u32 x[A_CHUNKS][4] = {};
#pragma unroll
      for (int e = 0; e < CHUNK; e++) {
#pragma unroll
        for (int i = 0; i < A_CHUNKS; i++) {
          const u8 *from = k + e < block.k_end ? find(p, rows[i], taps[0]) : 0;
          x[i][e / 4] |= (from ? (u32)*from : zero) << (e % 4 * 8);
        }
        advance(p, taps[0], 1);
      }
#pragma unroll
      for (int i = 0; i < A_CHUNKS; i++) {
        const int r = (i * THREADS + (int)threadIdx.x) / K_CHUNKS;
        *(uint4 *)(stage + swizzle<K_CHUNKS>(r, c)) =
            make_uint4(x[i][0], x[i][1], x[i][2], x[i][3]);
      }
      advance(p, taps[0], BYTES_K - CHUNK);
    } else {
      const u32 filling = zero * 0x01010101u;
#pragma unroll
      for (int i = 0; i < A_CHUNKS; i++) {
        const int r = (i * THREADS + (int)threadIdx.x) / K_CHUNKS;
        char *to = stage + swizzle<K_CHUNKS>(r, c);
#pragma unroll
        for (int e = 0; e < PIECES; e++) {
          const u8 *from =
              k + e * K_PIECE < block.k_end ? find(p, rows[i], taps[e]) : 0;
          if (from) {
            ptx_copy_async<K_PIECE>(shared_address(to + e * K_PIECE), from);
            continue;
          }
#pragma unroll
          for (int w = 0; w < K_PIECE / 4; w++) {
            *(u32 *)(to + e * K_PIECE + w * 4) = filling;
          }
        }
      }
#pragma unroll
      for (int e = 0; e < TAPS; e++) advance(p, taps[e], BYTES_K);
    }
  }
};

// ---- fetching lines of windows ----

// 16 bytes from `at` on, which are inside of a line of whole words.
DEVICE uint4 load_words(const u8 *at) {
  const u32 shift = (u32)((u64)at & 3) * 8;
  const u32 *from = (const u32 *)((u64)at & ~3ull);
  u32 x[5];
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = from[i];
  x[4] = shift ? from[4] : 0;
  return make_uint4(__funnelshift_r(x[0], x[1], shift),
                    __funnelshift_r(x[1], x[2], shift),
                    __funnelshift_r(x[2], x[3], shift),
                    __funnelshift_r(x[3], x[4], shift));
}

// The bytes q to q + 15 of a line of `width`, which may be outside.
DEVICE uint4 load_bytes(const u8 *line, int q, int width, u32 zero) {
  u32 x[4] = {0, 0, 0, 0};
#pragma unroll
  for (int e = 0; e < CHUNK; e++) {
    const bool inside = (u32)(q + e) < (u32)width;
    x[e / 4] |= (inside ? (u32)line[q + e] : zero) << (e % 4 * 8);
  }
  return make_uint4(x[0], x[1], x[2], x[3]);
}

// Chunks of one k; `offset` is where in a line of the window they are.
struct line_fetcher {
  row_of_a rows[A_CHUNKS];
  int offset, at[2];

  DEVICE void start(const bsm_cuda_mma &p, const int8_place &block) {
    const int k = block.k_first + (int)threadIdx.x % K_CHUNKS * CHUNK;
    const int length = length_of(p), line = k / length;
#pragma unroll
    for (int i = 0; i < A_CHUNKS; i++) {
      rows[i] = make_row(p, block.a,
                         block.m0 + (i * THREADS + (int)threadIdx.x) / K_CHUNKS);
    }
    offset = k - line * length;
    at[1] = line % p.kernel[1];
    at[0] = line / p.kernel[1];
  }

  // Bytes of a line of the window, with its padding.
  static DEVICE int length_of(const bsm_cuda_mma &p) {
    return (p.kernel[2] * p.maps + CHUNK - 1) / CHUNK * CHUNK;
  }

  DEVICE void fetch(const bsm_cuda_int8_gemm &g, const int8_place &block, int k0,
                    char *stage) {
    const bsm_cuda_mma &p = g.product;
    const int c = (int)threadIdx.x % K_CHUNKS, width = p.in[2] * p.maps;
    const u32 zero = (u32)g.end.x_zero, filling = zero * 0x01010101u;
    const bool exists = k0 + c * CHUNK < block.k_end;
#pragma unroll
    for (int i = 0; i < A_CHUNKS; i++) {
      const int r = (i * THREADS + (int)threadIdx.x) / K_CHUNKS;
      const int y = rows[i].at[1] + at[1] * p.dilation[1];
      const int q = rows[i].at[2] * p.maps + offset;
      const u8 *line = rows[i].base + y * p.in_stride[1];
      bool inside = exists && rows[i].exists && (u32)y < (u32)p.in[1];
      if constexpr (K_IMAGE == 3) {
        const int z = rows[i].at[0] + at[0] * p.dilation[0];
        line += z * p.in_stride[0];
        inside = inside && (u32)z < (u32)p.in[0];
      }
      uint4 x = make_uint4(filling, filling, filling, filling);
      if (inside) {
        x = K_LINED == 2 && q >= 0 && q + CHUNK <= width
                ? load_words(line + q)
                : load_bytes(line, q, width, zero);
      }
      *(uint4 *)(stage + swizzle<K_CHUNKS>(r, c)) = x;
    }
    const int length = length_of(p);
    for (offset += BYTES_K; offset >= length; offset -= length) {
      if (++at[1] < p.kernel[1]) continue;
      at[1] = 0;
      at[0]++;
    }
  }
};

// The column of B that row r of a tile in shared memory has: so that columns of
// a thread, two of each tile of 8 of its warp, lie together.
DEVICE int column_of(int r) {
  const int at = r % (8 * TN), tile = at / 8, c = at % 8;
  return r - at + c / 2 * RUN + tile * 2 + c % 2;
}

DEVICE void fetch_b(const bsm_cuda_mma &p, const int8_place &block, int k0,
                    char *stage) {
  const u32 to = shared_address(stage);
#pragma unroll
  for (int i = 0; i < B_CHUNKS; i++) {
    const int at = i * THREADS + (int)threadIdx.x;
    const int r = at / K_CHUNKS, c = at % K_CHUNKS;
    const int n = block.n0 + column_of(r), k = k0 + c * CHUNK;
    const bool exists = n < p.n && k < block.k_end;
    copy16_async(to + swizzle<K_CHUNKS>(r, c),
                 exists ? block.b + n * p.b_column + k : block.b, exists);
  }
}

// ---- multiplying ----

// 32 bytes along k of what is in shared memory, at `a` and `b`.
DEVICE void multiply_chunks(sum_of_bytes (&sums)[SUMS], char *a, char *b, int k) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int m0 = warp / K_WN * (K_BM / K_WM), n0 = warp % K_WN * (K_BN / K_WN);
  u32 fa[TM][4], fb[TN][2];
#pragma unroll
  for (int i = 0; i < TM; i++) {
    load_a<K_CHUNKS>(shared_address(a), m0 + i * 16, k, lane, fa[i]);
  }
#pragma unroll
  for (int j = 0; j < TN; j += 2) {
    load_b<K_CHUNKS>(shared_address(b), n0 + j * 8, k, lane, &fb[j]);
  }
#pragma unroll
  for (int i = 0; i < TM; i++) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
#if K_FP8
      ptx_mma_m16n8k32_e4m3(&sums[(i * TN + j) * 4], fa[i], fb[j]);
#else
      ptx_mma_m16n8k32_u8_s8(&sums[(i * TN + j) * 4], fa[i], fb[j]);
#endif
    }
  }
}

template <bool FIRST, class A, class B>
struct chosen {
  typedef A type;
};
template <class A, class B>
struct chosen<false, A, B> {
  typedef B type;
};

DEVICE void multiply_all(const bsm_cuda_int8_gemm &g, const int8_place &block,
                         char *memory, sum_of_bytes (&sums)[SUMS]) {
  const bsm_cuda_mma &p = g.product;
  chosen<K_LINED != 0, line_fetcher, a_fetcher>::type a;
  a.start(p, block);
  auto stage_of = [&](int tile) {
    return memory + tile % K_STAGES * STAGE_BYTES;
  };
  auto k_of = [&](int tile) { return block.k_first + tile * BYTES_K; };
#pragma unroll
  for (int s = 0; s < K_STAGES - 1; s++) {
    if (s < block.tiles) fetch_b(p, block, k_of(s), stage_of(s) + A_BYTES);
  }
  wait_for_previous();
#pragma unroll
  for (int s = 0; s < K_STAGES - 1; s++) {
    if (s < block.tiles) a.fetch(g, block, k_of(s), stage_of(s));
    copies_commit();
  }
  for (int tile = 0; tile < block.tiles; tile++) {
    copies_wait<K_STAGES - 2>();
    __syncthreads();
    const int next = tile + K_STAGES - 1;
    if (next < block.tiles) {
      a.fetch(g, block, k_of(next), stage_of(next));
      fetch_b(p, block, k_of(next), stage_of(next) + A_BYTES);
    }
    copies_commit();
#pragma unroll
    for (int k = 0; k < K_CHUNKS / 2; k++) {
      multiply_chunks(sums, stage_of(tile), stage_of(tile) + A_BYTES, k);
    }
  }
}

// ---- the end of a tile ----

DEVICE int4 bits_of_sums(const i32 *v) {
  return make_int4(v[0], v[1], v[2], v[3]);
}
DEVICE int4 bits_of_sums(const float *v) {
  return make_int4(__float_as_int(v[0]), __float_as_int(v[1]),
                   __float_as_int(v[2]), __float_as_int(v[3]));
}
DEVICE void add_bits(i32 &sum, int bits) { sum += bits; }
DEVICE void add_bits(float &sum, int bits) { sum += __int_as_float(bits); }

// Leaves the sums for the block that ends last; true in that one, with the sums
// of all, added in the order of k.
DEVICE bool join_splits(const bsm_cuda_mma &p, sum_of_bytes (&sums)[SUMS]) {
  const i64 size = K_BM * K_BN;
  const int tile = (int)(blockIdx.z * gridDim.x + blockIdx.x);
  const int thread = (int)threadIdx.x;
  i32 *all = (i32 *)p.partial + (i64)tile * p.splits * size;
  u32 *counter = (u32 *)p.counters + tile;
#pragma unroll
  for (int i = 0; i < SUMS; i += 4) {
    *(int4 *)(all + (int)blockIdx.y * size + i * THREADS + thread * 4) =
        bits_of_sums(&sums[i]);
  }
  if (!block_ends_last(counter, p.splits)) return false;
#pragma unroll
  for (int i = 0; i < SUMS; i++) sums[i] = 0;
  for (int s = 0; s < p.splits; s++) {
#pragma unroll
    for (int i = 0; i < SUMS; i += 4) {
      const int4 x =
          __ldcg((const int4 *)(all + s * size + i * THREADS + thread * 4));
      add_bits(sums[i], x.x);
      add_bits(sums[i + 1], x.y);
      add_bits(sums[i + 2], x.z);
      add_bits(sums[i + 3], x.w);
    }
  }
  return true;
}

template <class V>
struct __align__(sizeof(V) * RUN < 16 ? sizeof(V) * RUN : 16) run_of {
  V at[RUN];
};

// The columns of a thread in one row of y.
DEVICE void store_run(const bsm_cuda_int8_gemm &g, const int8_place &block,
                      const int8_column (&columns)[RUN], int m, int n,
                      const sum_of_bytes (&sums)[RUN]) {
  const bsm_cuda_mma &p = g.product;
  if (m >= p.m || n >= p.n) return;
  const i64 residual = block.residual + m * p.residual_row;
  run_of<K_Y> out;
  run_of<u8> bytes;
  run_of<u16> halves;
  if constexpr (K_RESIDUAL == BYTES && K_VECTOR) {
    bytes = *(const run_of<u8> *)((const u8 *)p.residual + residual + n);
  }
  if constexpr (K_RESIDUAL >= HALVES && K_VECTOR) {
    halves = *(const run_of<u16> *)((const u16 *)p.residual + residual + n);
  }
#pragma unroll
  for (int i = 0; i < RUN; i++) {
    float v = columns[i].scaled(sums[i]);
    if constexpr (K_RESIDUAL == BYTES && K_VECTOR) {
      v += residual_of_byte(g.end, bytes.at[i]);
    } else if constexpr (K_RESIDUAL >= HALVES && K_VECTOR) {
      v += number_of_bits<K_RESIDUAL>(halves.at[i]);
    } else if constexpr (K_RESIDUAL != NO_NUMBERS) {
      if (n + i < p.n) {
        v += load_residual(g.end, K_RESIDUAL, p.residual,
                           residual + (n + i) * p.residual_column);
      }
    }
    v = activate_sum<K_Y>(K_ACTIVATION, v, g.end.alpha, g.end.beta);
    out.at[i] = result_of<K_Y>(g.end, v);
  }
  K_Y *to = (K_Y *)p.y + block.y + m * p.y_row + n;
  if constexpr (K_VECTOR) {
    *(run_of<K_Y> *)to = out;
  } else {
#pragma unroll
    for (int i = 0; i < RUN; i++) {
      if (n + i < p.n) to[i] = out.at[i];
    }
  }
}

EARLY_KERNEL_OF(THREADS, int8_gemm, bsm_cuda_int8_gemm) {
  DYNAMIC_SHARED(memory);
  const int8_place block = find_place(p.product);
  sum_of_bytes sums[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; i++) sums[i] = 0;
  multiply_all(p, block, memory, sums);
  if constexpr (K_SPLIT) {
    if (p.product.splits > 1 && !join_splits(p.product, sums)) return;
  }
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int m0 = block.m0 + warp / K_WN * (K_BM / K_WM) + lane / 4;
  const int n0 = block.n0 + warp % K_WN * (K_BN / K_WN) + lane % 4 * RUN;
  int8_column columns[RUN];
  if constexpr (K_VECTOR) {
    if (n0 < p.product.n) load_columns<RUN>(p.end, block.map + n0, columns);
  } else {
#pragma unroll
    for (int i = 0; i < RUN; i++) {
      if (n0 + i < p.product.n) columns[i].load(p.end, block.map + n0 + i);
    }
  }
#pragma unroll
  for (int i = 0; i < TM * 2; i++) {
    sum_of_bytes row[RUN];
#pragma unroll
    for (int j = 0; j < RUN; j++) {
      row[j] = sums[(i / 2 * TN + j / 2) * 4 + i % 2 * 2 + j % 2];
    }
    store_run(p, block, columns, m0 + i / 2 * 16 + i % 2 * 8, n0, row);
  }
}
