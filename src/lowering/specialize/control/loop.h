/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose length only the run will tell, or that are too long to unroll. */
#ifndef BSM_LOWERING_SPECIALIZE_CONTROL_LOOP_H_
#define BSM_LOWERING_SPECIALIZE_CONTROL_LOOP_H_

#include "lowering/specialize/control/control.h"

/* prim::Loop from iteration `first` on, when the number of iterations or the
 * condition is a symbol, or unrolling it goes beyond `limit` (which the
 * residual loop has as its attribute; NULL: none). The carried values are those
 * bound to the inputs of its body; binds them to the outputs of `node`. */
BSM_NODISCARD bsm_status bsm_spec_loop(bsm_spec *s, const bsm_node *node,
                                       int64_t first, const bsm_ivalue *trips,
                                       const bsm_ivalue *condition,
                                       const char *limit);

#endif /* BSM_LOWERING_SPECIALIZE_CONTROL_LOOP_H_ */
