/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are other names of one: PyTorch's compiler replaces them by
 * the one it knows best (absolute by abs), and so do we, so that nobody behind
 * the front end sees two names for the same thing. */
#ifndef BSM_TORCHSCRIPT_OP_ALIASES_H_
#define BSM_TORCHSCRIPT_OP_ALIASES_H_

#include "ir/graph.h"

/* Renames a node that was just made for a call of an operator. */
BSM_NODISCARD bsm_status bsm_op_alias_resolve(bsm_node *node);

#endif /* BSM_TORCHSCRIPT_OP_ALIASES_H_ */
