// SPDX-License-Identifier: Apache-2.0
// Products by a constant matrix whose numbers have 8 or 4 bits:
//   y = act(scale * A B + bias + residual)
// B is in panels of 16 columns (steps/cuda_few_bits.h). A block makes a panel of
// some rows; its threads share k, and make floats of the numbers that they have.
// Such a product takes as long as reading B, of which a thread asks for 16 bytes
// at a time, before the kernel ahead has ended. Sums are in float; a row has the
// same bits however many others there are. Options: K_T; of the step:
// K_ACTIVATION, K_BITS; of sizes: K_ROWS: 1, 2 or 4.
// grid: (panels, rows)
#ifndef K_ACTIVATION
#define CODES_VARY
#endif
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "sums.cuh"

#ifndef K_ACTIVATION
#define K_ACTIVATION (int)p.product.activation
#define K_BITS p.bits
#endif
#ifndef K_ROWS
#define K_ROWS 4
#endif

typedef K_T T;

enum { THREADS = 256, WARPS = THREADS / 32, PANEL = 16 };

// What 16 bytes of codes are: STEP of k, of EACH columns.
template <int BITS>
struct form {
  enum {
    STEP = BITS == 8 ? 1 : 8,
    EACH = BITS == 8 ? PANEL : 4,
    ACROSS = PANEL / EACH,      // threads of a panel's columns
    DEPTH = THREADS / ACROSS,   // threads that share k
    HELD = BITS == 8 ? 4 : 2,   // pieces that a thread asks for
    RANGE = DEPTH * HELD * STEP  // of k
  };
};

// Whole numbers below 2^23 are the last bits of floats from 2^23 on.
DEVICE float small_number(u32 code, float zero) {
  return __uint_as_float(code | 0x4b000000u) - zero;
}

// Byte `i`, signed, of a word whose bytes had their upper bit turned.
DEVICE float number_of_byte(u32 turned, int i) {
  return small_number(turned >> (8 * i) & 0xffu, 8388608.0f + 128);
}

// The same of four bits.
DEVICE float number_of_nibble(u32 turned, int i) {
  return small_number(turned >> (4 * i) & 15u, 8388608.0f + 8);
}

struct __align__(16) codes {
  u32 at[4];
};

// One row of the output, and where it begins.
struct row_place {
  i64 a, y, residual;
  bool is_there;
};

DEVICE row_place find_row(const bsm_cuda_product &p, i64 row, i64 rows) {
  row_place at = {0, 0, 0, row < rows};
  if (!at.is_there) return at;
  const i64 m = row % p.m;
  i64 rest = row / p.m;
  at.a = m * p.a_row;
  at.y = m * p.y_row;
  at.residual = m * p.residual_row;
  for (int i = (int)p.loops - 1; i >= 0; i--) {
    const i64 index = rest % p.batch_sizes[i];
    rest /= p.batch_sizes[i];
    at.a += index * p.a_batch[i];
    at.y += index * p.y_batch[i];
    at.residual += index * p.residual_batch[i];
  }
  return at;
}

// One thread's part of a panel.
template <int BITS>
struct part_of_panel {
  typedef form<BITS> f;
  const char *panel;
  int column, first;  // of its columns; of its k, in pieces
  codes held[f::HELD];
  u64 scales[f::HELD];  // four bfloat16, of 4 bits

  DEVICE void load(const bsm_cuda_few_bits &p, i64 k0) {
#pragma unroll
    for (int i = 0; i < f::HELD; i++) {
      const i64 k = k0 + (i64)(first + i * f::DEPTH) * f::STEP;
      held[i] = {};
      scales[i] = 0;
      if (k >= p.product.k) continue;
      const char *from = panel + k / f::STEP * (f::ACROSS * 16) + column * 16;
      held[i] = *(const codes *)from;
      if constexpr (BITS == 4) {
        scales[i] = *(const u64 *)(panel + p.codes +
                                   (k / p.group * PANEL + column * 4) * 2);
      }
    }
  }

  // Adds products with `a`, which is as long as RANGE, in each row.
  template <int ROWS>
  DEVICE void multiply(const float (*a)[f::RANGE], float *sums) const {
#pragma unroll
    for (int i = 0; i < f::HELD; i++) {
      const int k = (first + i * f::DEPTH) * f::STEP;
#pragma unroll
      for (int w = 0; w < 4; w++) {
        if constexpr (BITS == 8) {
          const u32 turned = held[i].at[w] ^ 0x80808080u;
#pragma unroll
          for (int e = 0; e < 4; e++) {
            const float b = number_of_byte(turned, e);
#pragma unroll
            for (int m = 0; m < ROWS; m++) {
              float &sum = sums[m * PANEL + w * 4 + e];
              sum = fmaf(a[m][k], b, sum);
            }
          }
        } else {
          const u32 turned = held[i].at[w] ^ 0x88888888u;
          const bf16 scale = {(u16)(scales[i] >> (16 * w))};
          float part[ROWS];
#pragma unroll
          for (int m = 0; m < ROWS; m++) part[m] = 0;
#pragma unroll
          for (int e = 0; e < 8; e++) {
            const float b = number_of_nibble(turned, e);
#pragma unroll
            for (int m = 0; m < ROWS; m++) {
              part[m] = fmaf(a[m][k + e], b, part[m]);
            }
          }
#pragma unroll
          for (int m = 0; m < ROWS; m++) {
            float &sum = sums[m * 4 + w];
            sum = fmaf(part[m], to_float(scale), sum);
          }
        }
      }
    }
  }
};

// k0 to k0 + RANGE of some rows, zeros where there are none.
template <int ROWS, int RANGE>
DEVICE void bring_a(const bsm_cuda_product &p, const row_place *rows, i64 k0,
                    float (*to)[RANGE]) {
  for (int i = (int)threadIdx.x; i < ROWS * RANGE; i += THREADS) {
    const i64 k = k0 + i % RANGE;
    const row_place &row = rows[i / RANGE];
    float x = 0;
    if (row.is_there && k < p.k) {
      x = to_float(((const T *)p.a)[row.a + k * p.a_column]);
    }
    to[i / RANGE][i % RANGE] = x;
  }
}

template <int BITS, int ROWS>
DEVICE void store(const bsm_cuda_few_bits &p, const row_place *rows,
                  const char *panel, const float (*partial)[ROWS][PANEL]) {
  const bsm_cuda_product &q = p.product;
  const int m = (int)threadIdx.x / PANEL, own = (int)threadIdx.x % PANEL;
  const i64 n = (i64)blockIdx.x * PANEL + own;
  if (m >= ROWS || n >= q.n || !rows[m].is_there) return;
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < WARPS; warp++) sum += partial[warp][m][own];
  if (BITS == 8) sum *= ((const float *)(panel + p.codes))[own];
  float x = sum * (float)q.scale;
  if (q.bias) x += to_float(((const T *)q.bias)[n]);
  if (q.residual) {
    x += to_float(((const T *)q.residual)[rows[m].residual +
                                          n * q.residual_column]);
  }
  x = activate(K_ACTIVATION, x, (float)q.alpha, (float)q.beta);
  ((T *)q.y)[rows[m].y + n] = from_float<T>(x);
}

template <int BITS, int ROWS>
DEVICE void run(const bsm_cuda_few_bits &p, float *memory) {
  typedef form<BITS> f;
  enum { SUMS = ROWS * f::EACH, LANES = 32 / f::ACROSS };
  __shared__ row_place rows[ROWS];
  __shared__ float partial[WARPS][ROWS][PANEL];
  float(*a)[f::RANGE] = (float(*)[f::RANGE])memory;
  const bsm_cuda_product &q = p.product;
  const int thread = (int)threadIdx.x;
  part_of_panel<BITS> b;
  b.panel = (const char *)q.b + blockIdx.x * p.panel;
  b.column = thread % f::ACROSS;
  b.first = thread / f::ACROSS;
  i64 all = q.m;
  for (int i = 0; i < (int)q.loops; i++) all *= q.batch_sizes[i];
  for (i64 row = (i64)blockIdx.y * ROWS; row < all;
       row += (i64)gridDim.y * ROWS) {
    float sums[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; i++) sums[i] = 0;
    b.load(p, 0);
    __syncthreads();
    if (thread < ROWS) rows[thread] = find_row(q, row + thread, all);
    wait_for_previous();
    for (i64 k0 = 0; k0 < q.k; k0 += f::RANGE) {
      __syncthreads();
      bring_a<ROWS, f::RANGE>(q, rows, k0, a);
      __syncthreads();
      b.template multiply<ROWS>(a, sums);
      if (k0 + f::RANGE < q.k) b.load(p, k0 + f::RANGE);
    }
    spread_sums<SUMS, 16, f::ACROSS>(sums);
#pragma unroll
    for (int i = 0; i < spread<SUMS, LANES>::OWN; i++) {
      const int which =
          spread_index<SUMS, LANES>(thread % 32 / f::ACROSS, i);
      partial[thread / 32][which / f::EACH]
             [b.column * f::EACH + which % f::EACH] = sums[i];
    }
    __syncthreads();
    store<BITS, ROWS>(p, rows, b.panel, partial);
  }
}

EARLY_KERNEL_OF(THREADS, few_bits, bsm_cuda_few_bits) {
  __shared__ __align__(16) float memory[K_ROWS * form<8>::RANGE];
  static_assert((int)form<8>::RANGE >= (int)form<4>::RANGE, "room for both");
  if (K_BITS == 8) {
    run<8, K_ROWS>(p, memory);
  } else {
    run<4, K_ROWS>(p, memory);
  }
}
