/* SPDX-License-Identifier: Apache-2.0 */
/* The result of the method as outputs of the residual graph. */
#ifndef BSM_LOWERING_SPECIALIZE_METHODS_RESIDUAL_OUTPUTS_H_
#define BSM_LOWERING_SPECIALIZE_METHODS_RESIDUAL_OUTPUTS_H_

#include "lowering/specialize/methods/methods.h"

/* The leaves of the result, and its structure around them; in cx->arena. */
typedef struct bsm_spec_outputs {
  BSM_VEC(bsm_lowered_leaf) leaves;
  BSM_VEC(bsm_lowered_node) nodes;
} bsm_spec_outputs;

BSM_NODISCARD bsm_status bsm_spec_add_result_node(bsm_spec *s,
                                                  const bsm_lowered_node *node,
                                                  bsm_spec_outputs *outputs);
/* Adds a value of the result and what is in it. `key`: of an item of a dict, or
 * NULL. `declared`: the type that the method gives the value; may be NULL. */
BSM_NODISCARD bsm_status bsm_spec_flatten(bsm_spec *s, const bsm_ivalue *value,
                                          const bsm_ivalue *key,
                                          const bsm_type *declared,
                                          size_t depth,
                                          bsm_spec_outputs *outputs);

#endif /* BSM_LOWERING_SPECIALIZE_METHODS_RESIDUAL_OUTPUTS_H_ */
