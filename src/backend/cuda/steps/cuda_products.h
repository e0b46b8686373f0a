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

/* Adds a launch of a product that has elements; its slots are the caller's. */
BSM_NODISCARD bsm_status
bsm_cuda_launch_product(bsm_cuda_launches *l, const bsm_cuda_product *product,
                        const bsm_cuda_product_kind *kind);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_PRODUCTS_H_ */
