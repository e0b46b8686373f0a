/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and ops in several worlds at once. */
#ifndef BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_OPS_H_
#define BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_OPS_H_

#include "lowering/specialize/worlds/worlds.h"

/* An input of dims that range. */
BSM_NODISCARD bsm_status bsm_spec_range_input(bsm_spec *s,
                                              const bsm_lowering_range *range,
                                              bsm_value *value,
                                              bsm_ivalue *out);
/* An op on values that differ between worlds, but are known in each. *done is
 * false when some are not. */
BSM_NODISCARD bsm_status bsm_spec_worlds_op(bsm_spec *s,
                                            const bsm_schema *schema,
                                            const bsm_aten_op *op,
                                            const bsm_ivalue *args, size_t n,
                                            bsm_ivalue *outs, size_t n_outs,
                                            bool *done);
/* The worlds in which a condition holds. */
uint64_t bsm_spec_worlds_where(const bsm_spec *s, const bsm_ivalue *condition,
                               bool value);
/* After an If on `condition`: the merged symbol is what either side was. */
BSM_NODISCARD bsm_status bsm_spec_worlds_merge(bsm_spec *s,
                                               const bsm_ivalue *condition,
                                               const bsm_ivalue *x,
                                               const bsm_ivalue *y,
                                               bsm_ivalue *merged);

#endif /* BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_OPS_H_ */
