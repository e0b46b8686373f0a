/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs y = act(x * scale + shift) on floats, in one pass:
 * batch norms that stand alone, gates of channels, residual sums. Either of
 * scale and shift may be absent; both lie along the rows as x does, or are
 * constant in each row. */
#ifndef BSM_BACKEND_CPU_AFFINE_H_
#define BSM_BACKEND_CPU_AFFINE_H_

#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/rows/rows.h"

typedef struct bsm_cpu_affine {
  int x, scale, shift; /* operands of the space; 0: absent */
  bool along;          /* scale and shift lie along the rows */
  bsm_cpu_epilogue epilogue;
  const bsm_k_rows *rows;
} bsm_cpu_affine;

/* Whether a program is of this form; the step was checked. `space`: operand 0
 * is the output, 1 + i input i. */
bool bsm_cpu_affine_find(const bsm_cpu_prepare *p, const bsm_cpu_space *space,
                         bsm_cpu_affine *out);
/* Elements first .. end - 1 of the space; `addresses` of the operands. */
void bsm_cpu_affine_run(const bsm_cpu_affine *a, const bsm_cpu_space *space,
                        char *const *addresses, int64_t first, int64_t end);

#endif /* BSM_BACKEND_CPU_AFFINE_H_ */
