/* SPDX-License-Identifier: Apache-2.0 */
/* Checks in the residual graph of what was taken as known because it is the
 * same in all worlds. */
#ifndef BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_CHECKS_H_
#define BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_CHECKS_H_

#include "lowering/specialize/worlds/worlds.h"

/* Whether a value is of a kind that the engine can compare. */
bool bsm_spec_can_check(const bsm_ivalue *known);
/* The engine refuses shapes for which `value` is not `known`. */
BSM_NODISCARD bsm_status bsm_spec_check_value(bsm_spec *s, bsm_value *value,
                                              const bsm_ivalue *known);
/* ... for which the tensor has other dims. */
BSM_NODISCARD bsm_status bsm_spec_check_dims(bsm_spec *s, bsm_value *value,
                                             bsm_dims dims);
/* Whether what an op says of its first argument - item `item` of it - needs no
 * check. When it does, the caller emits it: it is not asked for again. */
bool bsm_spec_is_invariant(bsm_spec *s, const bsm_schema *schema,
                           const bsm_ivalue *args, size_t n, size_t item);
/* Of the tensor that an op makes: whether its rank depends on dims, and whether
 * its own dims follow from those of arguments that are known. */
void bsm_spec_infer_invariance(const bsm_schema *schema, const bsm_ivalue *args,
                               size_t n, bool *rank_open, bool *dims_follow);

#endif /* BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_CHECKS_H_ */
