/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls draw random numbers. All draws of a run come from one generator,
 * so such calls keep their order, and none is left out or made twice. */
#ifndef BSM_IR_DRAWS_H_
#define BSM_IR_DRAWS_H_

#include "aten/op.h"
#include "ir/graph.h"

/* Whether a call of `op` draws. `args` are as far as they are known: what is
 * not has another tag than its parameter's type. */
bool bsm_call_draws(const bsm_aten_op *op, const bsm_schema *schema,
                    const bsm_ivalue *args, size_t n);
/* Whether the node, or one inside of it, draws. */
bool bsm_node_draws(const bsm_node *node, const bsm_aten_library *aten);

#endif /* BSM_IR_DRAWS_H_ */
