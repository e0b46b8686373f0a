/* SPDX-License-Identifier: Apache-2.0 */
/* Who can still get at a list or dict. */
#ifndef BSM_LOWERING_SPECIALIZE_CONTROL_REACHABLE_H_
#define BSM_LOWERING_SPECIALIZE_CONTROL_REACHABLE_H_

#include "ir/graph.h"

/* Whether the list or dict behind `value`, a result of one side of the If
 * `node`, can be got at after it in another way than by the If's result. */
bool bsm_spec_is_reachable(const bsm_value *value, const bsm_node *node);

#endif /* BSM_LOWERING_SPECIALIZE_CONTROL_REACHABLE_H_ */
