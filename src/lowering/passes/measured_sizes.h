/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of bound_sizes.c for ops that are as long as elements say. */
#ifndef BSM_LOWERING_PASSES_MEASURED_SIZES_H_
#define BSM_LOWERING_PASSES_MEASURED_SIZES_H_

#include "lowering/passes/bound_by_rows.h"

bsm_bound_fn bsm_measure_bincount;
/* repeat_interleave without the size of its output. */
bsm_bound_fn bsm_measure_repeats;

#endif /* BSM_LOWERING_PASSES_MEASURED_SIZES_H_ */
