/* SPDX-License-Identifier: Apache-2.0 */
/* Products by a constant matrix whose numbers have 8 or 4 bits.
 *
 * The matrix is as the CPU beside the GPU packs it: in panels of 16 columns,
 * the last of which is filled with zeros. A panel has its codes, then its
 * scales, filled to a multiple of 64 bytes: 8 bits: int8 [k][16]; float [16] 4
 * bits: a word of eight k each, the first in the lowest bits, [k / 8][16];
 *           bfloat16 [k / group][16]
 * k is filled up with zeros where it has to be. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_FEW_BITS_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_FEW_BITS_H_

#include "backend/cuda/steps/cuda_steps.h"

#define BSM_CUDA_PANEL 16

/* bsm_step_matrix_multiply.form. */
typedef enum bsm_cuda_matrix_form {
  BSM_CUDA_MATRIX_PLAIN = 0,
  BSM_CUDA_MATRIX_INT8 = 1,
  BSM_CUDA_MATRIX_INT4_32 = 2,
  BSM_CUDA_MATRIX_INT4_64 = 3,
  BSM_CUDA_MATRIX_INT4_128 = 4,
  /* No few bits: floats that are rounded to tf32, a row for each column. */
  BSM_CUDA_MATRIX_TF32 = -1
} bsm_cuda_matrix_form;

static inline bool bsm_cuda_has_few_bits(const bsm_step_matrix_multiply *p) {
  return p->form != BSM_CUDA_MATRIX_PLAIN && p->form != BSM_CUDA_MATRIX_TF32;
}

typedef struct bsm_cuda_few_bits_layout {
  int32_t bits, group;  /* group: of 4 bits */
  int64_t codes, panel; /* bytes: of the codes of a panel, and of all of it */
  uint64_t size;
} bsm_cuda_few_bits_layout;

/* BSM_CORRUPT: parameters that make no sense. */
BSM_NODISCARD bsm_status bsm_cuda_few_bits_layout_of(
    const bsm_step_matrix_multiply *params, bsm_cuda_few_bits_layout *out);

/* The launch of a step that has such a form; addresses are those of `product`,
 * which is the first of the parameters. */
BSM_NODISCARD bsm_status
bsm_cuda_launch_few_bits(bsm_cuda_launches *l, const bsm_cuda_product *product);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_FEW_BITS_H_ */
