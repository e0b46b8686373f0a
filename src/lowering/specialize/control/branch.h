/* SPDX-License-Identifier: Apache-2.0 */
/* prim::If on a condition that only the run will tell. */
#ifndef BSM_LOWERING_SPECIALIZE_CONTROL_BRANCH_H_
#define BSM_LOWERING_SPECIALIZE_CONTROL_BRANCH_H_

#include "lowering/specialize/control/control.h"

/* Binds the outputs of `node`. `condition` is a symbol. */
BSM_NODISCARD bsm_status bsm_spec_branch(bsm_spec *s, const bsm_node *node,
                                         const bsm_ivalue *condition);

#endif /* BSM_LOWERING_SPECIALIZE_CONTROL_BRANCH_H_ */
