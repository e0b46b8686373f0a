/* SPDX-License-Identifier: Apache-2.0 */
/* Products of half and bfloat16 by constants: matrix multiplies, and
 * convolutions, whose rows are the windows of the output's pixels. Sums are
 * floats, and what is stored is rounded once, behind the epilogue. */
#ifndef BSM_BACKEND_CPU_HALF_H_
#define BSM_BACKEND_CPU_HALF_H_

#include "backend/cpu/cpu_step.h"

/* The drivers of such steps: BSM_CPU_HALF_KINDS. */
extern const bsm_cpu_kind bsm_cpu_half_convolution;
extern const bsm_cpu_kind bsm_cpu_half_matrix_multiply;

static inline bool bsm_cpu_is_half(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_BFLOAT16;
}

#endif /* BSM_BACKEND_CPU_HALF_H_ */
