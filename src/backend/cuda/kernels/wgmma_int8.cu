// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of bytes on the tensor cores of sm_90, as
// wgmma_gemm.cu has those of 16 bits: two bytes along k are one of its elements,
// K_BK and all that copies of tiles are told counts these. Sums are in int32, or
// with K_FP8, of e4m3, in float, and become what int8_end.cuh says. Padding has
// to be zeros. Options besides: K_Y: u8 (e4m3), float, f16 or bf16; K_RESIDUAL; K_VECTOR: 1: rows of y and of the
// residual are aligned to 16 bytes, and columns of a row a multiple of 16.
// grid: blocks
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "mma.cuh"
#include "warpgroup.cuh"
#include "int8_end.cuh"
#include "narrow_activation.cuh"

typedef byte_of_a T;
typedef sum_of_bytes sum;

#define STORES_TILES 0
#include "wgmma_loop.cuh"

// Lane i of four beside each other gives 16 bits to each of them, in order, and
// gets those that are for it.
DEVICE void exchange(u32 (&x)[2], int lane) {
  const bool upper = lane & 2, odd = lane & 1;
  const u32 got = shuffle_xor(upper ? x[0] : x[1], 2);
  const u32 low = upper ? got : x[0], high = upper ? x[1] : got;
  const u32 even_halves = __byte_perm(low, high, 0x5410);
  const u32 odd_halves = __byte_perm(low, high, 0x7632);
  const u32 own = odd ? odd_halves : even_halves;
  const u32 other = shuffle_xor(odd ? even_halves : odd_halves, 1);
  const u32 first = odd ? other : own, second = odd ? own : other;
  x[0] = __byte_perm(first, second, 0x5410);
  x[1] = __byte_perm(first, second, 0x7632);
}

// The same of 32 bits.
DEVICE void exchange(u32 (&x)[4], int lane) {
  const bool upper = lane & 2, odd = lane & 1;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const u32 got = shuffle_xor(upper ? x[i] : x[i + 2], 2);
    x[i] = upper ? got : x[i];
    x[i + 2] = upper ? x[i + 2] : got;
  }
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const u32 got = shuffle_xor(odd ? x[i] : x[i + 1], 1);
    x[i] = odd ? got : x[i];
    x[i + 1] = odd ? x[i + 1] : got;
  }
}

enum {
  PARTS = N / 32,  // of 32 columns
  ROWS = TM * 2,   // of a lane
  ASKS_BYTES = K_RESIDUAL == BYTES && K_VECTOR,
  ASKS_HALVES = K_RESIDUAL >= HALVES && K_VECTOR,
  ASKS_RESIDUAL = ASKS_BYTES || ASKS_HALVES,
  WORDS = ASKS_HALVES ? 4 : 2,  // of the residual, eight numbers
  // What fits in registers is asked for before a tile is multiplied.
  ASKS_EARLY = TM * N * WORDS <= 256,
  STORES_BYTES = sizeof(K_Y) == 1 && K_VECTOR,
  STORES_HALVES = sizeof(K_Y) == 2 && K_VECTOR
};

struct __align__(4 * WORDS) numbers {
  u32 at[WORDS];
};

template <class Y>
DEVICE u32 pair_of(const float *v) {
  if constexpr (sizeof(Y) == 2) return pack2<Y>(v[0], v[1]);
  return 0;
}

struct ending {
  const bsm_cuda_int8_tiled &p;
  numbers residual[ASKS_RESIDUAL && ASKS_EARLY ? ROWS * PARTS : 1];

  // Eight numbers of the residual, of what a lane stores of a row and a part.
  DEVICE numbers load_numbers(const place_of_tile &t, int m, int n,
                              int lane) const {
    const bsm_cuda_mma &q = p.tiled.product;
    const int own = n + lane % 4 * 8;
    if (m >= q.m || own >= q.n) return {};
    const i64 at =
        t.batch * q.residual_batch[0] + (i64)m * q.residual_row + own;
    return *(const numbers *)((const char *)q.residual + at * (WORDS / 2));
  }

  DEVICE void prepare(const place_of_tile &t, int m0, int n0, int lane) {
    if constexpr (ASKS_RESIDUAL && ASKS_EARLY) {
#pragma unroll
      for (int i = 0; i < ROWS * PARTS; i++) {
        const int row = i % ROWS;
        residual[i] = load_numbers(t, m0 + row / 2 * 64 + row % 2 * 8 + lane / 4,
                                   n0 + i / ROWS * 32, lane);
      }
    }
  }

  // Two sums beside each other; `added`: the residual, of bytes the lower half.
  DEVICE void make_pair(const sum *sums, const int8_column *columns, i64 at,
                        int n, u32 added, float *v) const {
    const bsm_cuda_mma &q = p.tiled.product;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      v[i] = columns[i].scaled(sums[i]);
      if constexpr (ASKS_BYTES) {
        v[i] += residual_of_byte(p.end, (int)(added >> (8 * i) & 0xffu));
      } else if constexpr (ASKS_HALVES) {
        v[i] += number_of_bits<K_RESIDUAL>((u16)(added >> (16 * i)));
      } else if constexpr (K_RESIDUAL != NO_NUMBERS) {
        if (n + i < q.n) {
          v[i] += load_residual(p.end, K_RESIDUAL, q.residual,
                                at + (n + i) * q.residual_column);
        }
      }
      v[i] = activate_sum<K_Y>(K_ACTIVATION, v[i], p.end.alpha, p.end.beta);
    }
  }

  DEVICE void store_two(i64 row, int n, const float *v) const {
    const bsm_cuda_mma &q = p.tiled.product;
    if constexpr (sizeof(K_Y) == 4 && K_VECTOR) {
      if (n < q.n) *(float2 *)((float *)q.y + row + n) = make_float2(v[0], v[1]);
    } else {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        if (n + i >= q.n) continue;
        ((K_Y *)q.y)[row + n + i] = result_of<K_Y>(p.end, v[i]);
      }
    }
  }

  // 32 columns from n on of the row m; eight numbers of a lane lie together,
  // `asked` those of the residual.
  DEVICE void store_row(const sum *sums, int half,
                        const int8_column (&columns)[4][2],
                        const place_of_tile &t, const numbers &asked, int m,
                        int n, int lane) const {
    const bsm_cuda_mma &q = p.tiled.product;
    const i64 row = t.batch * q.y_batch[0] + (i64)m * q.y_row;
    const i64 from = t.batch * q.residual_batch[0] + (i64)m * q.residual_row;
    const int own = n + lane % 4 * 8;  // the first column of those together
    u32 added[WORDS], out[STORES_HALVES ? 4 : 2] = {};
#pragma unroll
    for (int i = 0; i < WORDS; i++) added[i] = asked.at[i];
    if constexpr (ASKS_RESIDUAL) exchange(added, lane);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int column = n + j * 8 + lane % 4 * 2;
      float v[2];
      if (m < q.m) {
        make_pair(sums + j * 4 + half * 2, columns[j], from, column,
                  ASKS_HALVES ? added[j % WORDS]
                              : added[j / 2] >> (j % 2 * 16),
                  v);
      } else {
        v[0] = v[1] = 0;
      }
      if constexpr (STORES_HALVES) {
        out[j] = pair_of<K_Y>(v);
      } else if constexpr (STORES_BYTES) {
        out[j / 2] |= (on_grid(p.end, v[0]) | on_grid(p.end, v[1]) << 8)
                      << (j % 2 * 16);
      } else {
        if (m < q.m) store_two(row, column, v);
      }
    }
    if constexpr (STORES_BYTES) {
      exchange(out, lane);
      if (m < q.m && own < q.n) {
        *(uint2 *)((u8 *)q.y + row + own) = make_uint2(out[0], out[1]);
      }
    } else if constexpr (STORES_HALVES) {
      exchange(out, lane);
      if (m < q.m && own < q.n) {
        *(uint4 *)((u16 *)q.y + row + own) =
            make_uint4(out[0], out[1], out[2], out[3]);
      }
    }
  }

  DEVICE void store(const accumulators &sums, const place_of_tile &t, int m0,
                    int n0, int lane) const {
    const bsm_cuda_mma &q = p.tiled.product;
    const int map = (int)(t.batch * q.bias_batch);
#pragma unroll
    for (int c = 0; c < PARTS; c++) {
      const int n = n0 + c * 32;
      int8_column columns[4][2];
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int column = n + j * 8 + lane % 4 * 2;
        if constexpr (K_VECTOR) {
          if (column < q.n) load_columns<2>(p.end, map + column, columns[j]);
        } else {
          if (column < q.n) columns[j][0].load(p.end, map + column);
          if (column + 1 < q.n) columns[j][1].load(p.end, map + column + 1);
        }
      }
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        const int m = m0 + i / 2 * 64 + i % 2 * 8 + lane / 4;
        numbers asked = {};
        if constexpr (ASKS_RESIDUAL && ASKS_EARLY) {
          asked = residual[c * ROWS + i];
        } else if constexpr (ASKS_RESIDUAL) {
          asked = load_numbers(t, m, n, lane);
        }
        store_row(&sums.at[i / 2][c * 16], i % 2, columns, t, asked, m, n,
                  lane);
      }
    }
  }
  DEVICE void finish(int) const {}
};

EARLY_RESIDENT_KERNEL_OF(THREADS, K_RESIDENT, wgmma_int8, bsm_cuda_int8_tiled) {
  BLOCK_MEMORY(memory);
  run_block(p.tiled, memory, [&](const stages &, int) { return ending{p, {}}; });
}
