/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices, as a part of other steps too. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_PRODUCTS_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_PRODUCTS_H_

#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

/* What a product is besides its sizes and strides. */
typedef struct bsm_cuda_product_kind {
  bsm_dtype dtype, out; /* of the operands, and of the output */
  int activation;
  int loops; /* over matrices: those of batch_sizes */
} bsm_cuda_product_kind;

/* Elements from row to row of a packed matrix of n columns: with 8 of any type,
 * columns are loaded 16 bytes at a time whatever n is. */
static inline int64_t bsm_cuda_matrix_row(int64_t n) {
  return n > INT64_MAX - 7 ? n : (n + 7) / 8 * 8;
}

/* bsm_step_convolution.form: weights as they are, or floats that are rounded to
 * tf32. */
#define BSM_CUDA_KERNEL_PLAIN 0
#define BSM_CUDA_KERNEL_TF32 1

/* Adds a launch of a product that has elements; its slots are the caller's. */
BSM_NODISCARD bsm_status
bsm_cuda_launch_product(bsm_cuda_launches *l, const bsm_cuda_product *product,
                        const bsm_cuda_product_kind *kind);

/* Whether a step casts elements of a dtype, and does nothing else. */
bool bsm_cuda_is_cast(const bsm_plan *plan, const bsm_plan_step *step,
                      bsm_dtype from);
/* Whether a step behind that at `index` reads memory of a tensor. */
bool bsm_cuda_is_read_behind(const bsm_plan *plan, uint32_t index,
                             const bsm_plan_tensor *tensor);

/* The steps of plan from `index` on that one kernel does: a product in 16 bits
 * and, behind it, a cast of all that it makes to float, which nobody else
 * reads. The product's sums are stored as floats then, and what lies between
 * the two is not written. 2, or 0: there are none. */
uint32_t bsm_cuda_float_product_steps(const bsm_plan *plan, uint32_t index,
                                      int sm);
/* Adds the launch of both. */
BSM_NODISCARD bsm_status bsm_cuda_launch_float_product(bsm_cuda_launches *l,
                                                       uint32_t index);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_PRODUCTS_H_ */
