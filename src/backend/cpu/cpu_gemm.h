/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked matrix products over the micro-kernels: what convolutions,
 * deconvolutions and matrix multiplications have in common.
 *
 * The product [rows, K] * [K, columns] is cut into units of row_block x
 * column_block, run in any order on any thread. Within a unit K goes in blocks,
 * so that a block of B stays in the second-level cache while the tiles of A
 * pass over it; partial sums wait in scratch memory. Each element is summed in
 * the order of K however the work is cut. */
#ifndef BSM_BACKEND_CPU_GEMM_H_
#define BSM_BACKEND_CPU_GEMM_H_

#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"

typedef struct bsm_cpu_gemm {
  const bsm_k_gemm *kernels;
  bsm_cpu_epilogue epilogue;
  float scale;
  int64_t rows, columns, taps, kc;
  bool packs; /* A is copied to scratch: then taps is 1 */
  /* A row of A is read by one tile of a block, its K side by side, and
   * `pointers` may be called for any tile at any time: the rows of the next
   * tile may be asked for early. */
  bool streams;
  /* Chosen by bsm_cpu_gemm_plan: */
  bool fetches_a; /* the rows of the next tile are asked for */
  bool fetches_c; /* C does not stay in the second-level cache */
  bool thin;      /* few rows: kernels that read B once */
  int64_t row_block, column_block;
  int64_t tap_block, k_block; /* whole taps at once, or parts of one */
} bsm_cpu_gemm;

/* Where A comes from: the pointers of `count` rows at taps tap .. tap + taps -
 * 1, a[t * count + i]; or with `packs`, the floats k .. k + length - 1 of each
 * row written to to[i * stride]. */
typedef struct bsm_cpu_gemm_operands {
  const void *source;
  void (*pointers)(const void *source, int64_t row, int count, int64_t tap,
                   int64_t taps, const float **a);
  void (*pack)(const void *source, int64_t row, int count, int64_t k,
               int64_t length, float *to, int64_t stride);
  const float *b;
  int64_t b_tap, b_panel;
  const int64_t *tap_list; /* or NULL */
  const float *bias;       /* or NULL */
  float *c;
  const bsm_cpu_rows *c_rows;
  const float *residual; /* or NULL */
  const bsm_cpu_rows *residual_rows;
} bsm_cpu_gemm_operands;

/* Chooses the blocks. rows, columns, taps, kc and packs are set. `products`:
 * how many such products the step has (groups, batches). */
void bsm_cpu_gemm_plan(bsm_cpu_gemm *gemm, int threads, int64_t products);
int64_t bsm_cpu_gemm_units(const bsm_cpu_gemm *gemm);
/* Bytes of scratch of one slot. */
uint64_t bsm_cpu_gemm_scratch(const bsm_cpu_gemm *gemm);
void bsm_cpu_gemm_run(const bsm_cpu_gemm *gemm,
                      const bsm_cpu_gemm_operands *operands, int64_t unit,
                      void *scratch);
/* Writes C from sums that were made elsewhere: [rows][column_block], of the
 * rows and columns from `row` and `column` on. */
void bsm_cpu_gemm_finish(const bsm_cpu_gemm *gemm,
                         const bsm_cpu_gemm_operands *operands, int64_t row,
                         int64_t rows, int64_t column, int64_t columns,
                         float *sums);

#endif /* BSM_BACKEND_CPU_GEMM_H_ */
