/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of steps that GPUs have: one row here and in cuda_steps.c for each,
 * one file in this folder for each family. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_STEPS_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_STEPS_H_

#include "backend/checks/checks.h"
#include "backend/cuda/cuda_launch.h"

/* X(KIND): those of BSM_BACKEND_STEP_KINDS that there are kernels for. */
#define BSM_CUDA_STEP_KINDS(X) \
  X(CONVOLUTION)               \
  X(INT8_CONVOLUTION)          \
  X(DECONVOLUTION)             \
  X(POOLING)                   \
  X(MATRIX_MULTIPLY)           \
  X(ELEMENT_WISE)              \
  X(SOFTMAX)                   \
  X(NORMALIZATION)             \
  X(REDUCE)                    \
  X(TOP_K)                     \
  X(SCAN)                      \
  X(NON_ZERO)                  \
  X(NMS)                       \
  X(REGIONS)                   \
  X(GATHER)                    \
  X(COPY)                      \
  X(FILL)                      \
  X(PAD)                       \
  X(RESIZE)                    \
  X(SCATTER)                   \
  X(ATTENTION)                 \
  X(RECURRENT)

#define X(name) extern const bsm_cuda_step_kind bsm_cuda_##name;
BSM_CUDA_STEP_KINDS(X)
#undef X

/* All tensors of the step have dtypes that kernels know: BSM_UNSUPPORTED. */
BSM_NODISCARD bsm_status bsm_cuda_check_dtypes(const bsm_plan *plan,
                                               const bsm_plan_step *step);

/* Whether kernels compute with a dtype in float. */
static inline bool bsm_cuda_is_float(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_FLOAT || dtype == BSM_DTYPE_HALF ||
         dtype == BSM_DTYPE_BFLOAT16;
}

static inline const bsm_plan_tensor *bsm_cuda_input(const bsm_cuda_launches *l,
                                                    uint32_t index) {
  return bsm_step_input(l->plan, l->step, index);
}
static inline const bsm_plan_tensor *bsm_cuda_output(const bsm_cuda_launches *l,
                                                     uint32_t index) {
  return bsm_step_output(l->plan, l->step, index);
}

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_STEPS_H_ */
