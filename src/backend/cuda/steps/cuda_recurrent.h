/* SPDX-License-Identifier: Apache-2.0 */
/* The packed weights of a recurrent step on a GPU. For each direction, in the
 * dtype of the tensors: input weights [G H, I], recurrent weights [G H, P],
 * projection [P, H] if there is one, input bias [G H], recurrent bias [G H]. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_RECURRENT_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_RECURRENT_H_

#include "engine/plan.h"

typedef struct bsm_cuda_recurrent_layout {
  int64_t rows;  /* G H */
  int64_t state; /* P */
  /* Elements from the start of a direction, and of a whole direction. */
  int64_t recurrent, projection, input_bias, bias, size;
} bsm_cuda_recurrent_layout;

/* Fails when the parameters make no sense. */
BSM_NODISCARD bsm_status bsm_cuda_recurrent_layout_of(
    const bsm_step_recurrent *params, bsm_cuda_recurrent_layout *out);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_RECURRENT_H_ */
