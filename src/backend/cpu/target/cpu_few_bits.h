/* SPDX-License-Identifier: Apache-2.0 */
/* Makes matrices of few bits (cpu_forms.h) from floats, and floats of these
 * again. */
#ifndef BSM_BACKEND_CPU_TARGET_FEW_BITS_H_
#define BSM_BACKEND_CPU_TARGET_FEW_BITS_H_

#include "engine/plan.h"

/* The form of a product whose weights have `bits` bits, with a scale for each
 * `group` rows when there are 4; BSM_CPU_MATRIX_PLAIN: there is none. */
int32_t bsm_cpu_few_bits_form_for(int32_t bits, int64_t group);

/* `values`: [K, N], or [N, K] with `transposed`. Columns that lie on a grid of
 * 8 bits already keep every number. BSM_INVALID_ARGUMENT: a number is not
 * finite. */
BSM_NODISCARD bsm_status bsm_cpu_few_bits_pack(
    const bsm_step_matrix_multiply *params, const float *values,
    bool transposed, void *packed, uint64_t *size);

/* Writes the floats that a packed matrix stands for, in the same order. */
BSM_NODISCARD bsm_status
bsm_cpu_few_bits_unpack(const bsm_step_matrix_multiply *params,
                        const void *packed, bool transposed, float *values);

#endif /* BSM_BACKEND_CPU_TARGET_FEW_BITS_H_ */
