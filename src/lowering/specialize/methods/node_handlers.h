/* SPDX-License-Identifier: Apache-2.0 */
/* The prim:: nodes: each of these runs a node when it is one of its own; else
 * *done is false. */
#ifndef BSM_LOWERING_SPECIALIZE_METHODS_NODE_HANDLERS_H_
#define BSM_LOWERING_SPECIALIZE_METHODS_NODE_HANDLERS_H_

#include "lowering/specialize/methods/methods.h"

/* Calls, attributes, objects. */
BSM_NODISCARD bsm_status bsm_spec_call_node(bsm_spec *s, const bsm_node *node,
                                            bool *done);
/* Lists, tuples, dicts. */
BSM_NODISCARD bsm_status bsm_spec_container_node(bsm_spec *s,
                                                 const bsm_node *node,
                                                 bool *done);
/* Constants, casts, type tests, exceptions, text. */
BSM_NODISCARD bsm_status bsm_spec_prim_node(bsm_spec *s, const bsm_node *node,
                                            bool *done);

#endif /* BSM_LOWERING_SPECIALIZE_METHODS_NODE_HANDLERS_H_ */
