/* SPDX-License-Identifier: Apache-2.0 */
/* What an op gives in each world, and what that makes of its results. */
#ifndef BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_RESULTS_H_
#define BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_RESULTS_H_

#include "lowering/specialize/worlds/worlds.h"

/* Row w is that of world w. */
typedef struct bsm_world_results {
  bsm_ivalue *rows[BSM_MAX_WORLDS];
  size_t first; /* a possible world */
} bsm_world_results;

/* An op and what it gave. */
typedef struct bsm_world_op_call {
  const bsm_schema *schema;
  const bsm_ivalue *args;
  size_t n;
  const bsm_world_results *results;
} bsm_world_op_call;

/* Result `i`, for which the op was emitted as `symbol`: known where it is the
 * same in all worlds (the residual graph gets a check, unless it is sure), a
 * tensor of known dims, or the symbol with what it is in each world. */
BSM_NODISCARD bsm_status bsm_world_bind_result(bsm_spec *s,
                                               const bsm_world_op_call *call,
                                               size_t i,
                                               const bsm_ivalue *symbol,
                                               bsm_ivalue *out);

#endif /* BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_RESULTS_H_ */
