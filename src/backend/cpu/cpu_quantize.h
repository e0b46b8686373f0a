/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs that put floats on a grid of bytes, in one pass. */
#ifndef BSM_BACKEND_CPU_QUANTIZE_H_
#define BSM_BACKEND_CPU_QUANTIZE_H_

#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/int8/int8.h"

typedef struct bsm_cpu_quantize {
  const bsm_k_int8 *kernels;
  bsm_k_int8_grid grid;
} bsm_cpu_quantize;

/* Whether a program is of this form; the step was checked. `space`: operand 0
 * is the output, 1 the input. */
bool bsm_cpu_quantize_find(const bsm_cpu_prepare *p, const bsm_cpu_space *space,
                           bsm_cpu_quantize *out);
/* Elements first .. end - 1 of the space. */
void bsm_cpu_quantize_run(const bsm_cpu_quantize *q, const bsm_cpu_space *space,
                          const float *x, uint8_t *y, int64_t first,
                          int64_t end);

#endif /* BSM_BACKEND_CPU_QUANTIZE_H_ */
