/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked matrix products of double, int32 and int64: what convolutions and
 * matrix multiplies of these dtypes have in common. Other dtypes are cast to
 * one of them, or to float, by the builder (widen_products.c).
 *
 * As in cpu_gemm.h the product is cut into units that run in any order, and
 * every element is summed in the order of K however it is cut. A is always
 * copied, a block of rows and a part of K at a time. */
#ifndef BSM_BACKEND_CPU_TYPED_GEMM_H_
#define BSM_BACKEND_CPU_TYPED_GEMM_H_

#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/typed_gemm/typed_gemm.h"

/* The dtypes with such products. */
bool bsm_cpu_typed_of(bsm_dtype dtype, bsm_k_typed *out);

typedef struct bsm_cpu_typed_gemm {
  const bsm_k_typed_product *kernels;
  bsm_dtype dtype;
  size_t size; /* bytes of an element */
  int64_t rows, columns, k;
  /* Chosen by bsm_cpu_typed_gemm_plan: */
  int64_t row_block, column_block, k_block;
} bsm_cpu_typed_gemm;

typedef struct bsm_cpu_typed_operands {
  const void *source;
  /* Writes elements k .. k + length - 1 of `count` rows of A, `stride`
   * elements from row to row. */
  void (*pack)(const void *source, int64_t row, int64_t count, int64_t k,
               int64_t length, void *to, int64_t stride);
  const uint8_t *b;    /* [panels][k][16] */
  const uint8_t *bias; /* of the columns, or NULL */
  uint8_t *c;
  const bsm_cpu_rows *c_rows; /* columns are adjacent */
} bsm_cpu_typed_operands;

/* Chooses blocks; kernels, dtype, rows, columns and k are set. `products`: how
 * many such products the step has. */
void bsm_cpu_typed_gemm_plan(bsm_cpu_typed_gemm *gemm, int threads,
                             int64_t products);
int64_t bsm_cpu_typed_gemm_units(const bsm_cpu_typed_gemm *gemm);
/* Bytes of scratch of one slot. */
uint64_t bsm_cpu_typed_gemm_scratch(const bsm_cpu_typed_gemm *gemm);
void bsm_cpu_typed_gemm_run(const bsm_cpu_typed_gemm *gemm,
                            const bsm_cpu_typed_operands *operands,
                            int64_t unit, void *scratch);

/* sums[i] += bias[i]: wrapping, or in double. */
void bsm_cpu_typed_add(bsm_dtype dtype, const void *bias, int64_t n,
                       void *sums);
/* to[i] = from[i * stride] for i < n; elements of 4 or 8 bytes. */
void bsm_cpu_typed_gather(size_t size, const void *from, int64_t stride,
                          int64_t n, void *to);

/* A step of these dtypes has no fused scale, residual or activation. */
bsm_status bsm_cpu_typed_check_epilogue(const bsm_step_epilogue *epilogue);

/* The drivers of such steps: BSM_CPU_TYPED_KINDS. */
extern const bsm_cpu_kind bsm_cpu_typed_matrix_multiply;
extern const bsm_cpu_kind bsm_cpu_typed_convolution; /* and deconvolution */

/* Whether the step's output has one of these dtypes. */
static inline bool bsm_cpu_is_typed(const bsm_plan *plan,
                                    const bsm_plan_step *step) {
  bsm_k_typed type;
  return bsm_cpu_typed_of(bsm_step_output(plan, step, 0)->dtype, &type);
}

#endif /* BSM_BACKEND_CPU_TYPED_GEMM_H_ */
