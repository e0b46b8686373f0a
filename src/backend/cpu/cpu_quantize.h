/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs that put floats on a grid of bytes: a pass of its own
 * in place of the instructions that do it. */
#ifndef BSM_BACKEND_CPU_QUANTIZE_H_
#define BSM_BACKEND_CPU_QUANTIZE_H_

#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/int8/int8.h"

typedef struct bsm_cpu_quantize {
  bsm_k_int8_grid grid;
  int32_t source; /* the register of the floats */
  int32_t count;  /* instructions that make them, the program's first */
} bsm_cpu_quantize;

/* Whether a program ends so; the step was checked. */
bool bsm_cpu_quantize_find(const bsm_cpu_prepare *p, bsm_cpu_quantize *out);

#endif /* BSM_BACKEND_CPU_QUANTIZE_H_ */
