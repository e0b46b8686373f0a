/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of bound_sizes.c for what is written where a mask is true. */
#ifndef BSM_LOWERING_PASSES_MASKED_WRITES_H_
#define BSM_LOWERING_PASSES_MASKED_WRITES_H_

#include "lowering/passes/bound_by_rows.h"

bsm_bound_fn bsm_bound_masked_scatter;
/* x[mask] = rows that the same mask has found. */
bsm_bound_fn bsm_bound_masked_put;

#endif /* BSM_LOWERING_PASSES_MASKED_WRITES_H_ */
