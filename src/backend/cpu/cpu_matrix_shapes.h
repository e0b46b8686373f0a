/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a matrix multiply step, whatever their dtype: the matrices
 * of a batch and the rows of each. When B is the same for the whole batch, the
 * rows of all matrices A are rows of one. */
#ifndef BSM_BACKEND_CPU_MATRIX_SHAPES_H_
#define BSM_BACKEND_CPU_MATRIX_SHAPES_H_

#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/rows/rows.h"

typedef struct bsm_cpu_matrix_shapes {
  bool constant_b, has_residual;
  int64_t batch, rows, k, n;
  int64_t a_k, b_k, b_n; /* strides */
  /* Offsets of the matrices of the batch; one matrix when merged. */
  bsm_cpu_rows a_batch, b_batch, c_batch, residual_batch;
  bsm_cpu_rows a_rows, c_rows, residual_rows;
} bsm_cpu_matrix_shapes;

/* A of one matrix, as bsm_cpu_gemm_operands takes it. */
typedef struct bsm_cpu_matrix_source {
  const bsm_cpu_matrix_shapes *shapes;
  const float *a;
  const bsm_k_rows *rows; /* copies a transposed A */
} bsm_cpu_matrix_source;
void bsm_cpu_matrix_pointers(const void *source, int64_t row, int count,
                             int64_t tap, int64_t taps, const float **a);
void bsm_cpu_matrix_pack(const void *source, int64_t row, int count, int64_t k,
                         int64_t length, float *to, int64_t stride);
/* Whether rows of A start in the same sets of a cache: then they are packed. */
bool bsm_cpu_matrix_rows_collide(const bsm_cpu_matrix_shapes *shapes);

/* The driver of B of few bits: BSM_CPU_FEW_BITS_KINDS. */
extern const bsm_cpu_kind bsm_cpu_few_bits_matrix_multiply;

/* Everything but what an epilogue of the dtype may be. */
bsm_status bsm_cpu_check_matrices(const bsm_plan *plan,
                                  const bsm_plan_step *step, bsm_dtype dtype);
void bsm_cpu_matrix_shapes_init(bsm_cpu_matrix_shapes *shapes,
                                const bsm_plan *plan,
                                const bsm_plan_step *step);

#endif /* BSM_BACKEND_CPU_MATRIX_SHAPES_H_ */
