/* SPDX-License-Identifier: Apache-2.0 */
/* The specialiser's calls of itself: what a folder needs of those above it goes
 * through the table in the state (bsm_spec_interpreter). */
#ifndef BSM_LOWERING_SPECIALIZE_VALUES_INTERPRETER_H_
#define BSM_LOWERING_SPECIALIZE_VALUES_INTERPRETER_H_

#include "lowering/specialize/values/specializer.h"

/* The value of the residual graph that stands for an abstract value now, as an
 * argument of type `type` (NULL: any). BSM_UNSUPPORTED for what a graph cannot
 * hold (objects). Implemented by memory/residual.c. */
BSM_NODISCARD bsm_status bsm_spec_residual(bsm_spec *s, const bsm_ivalue *value,
                                           const bsm_type *type,
                                           bsm_value **out);
/* Runs an op of the schema on abstract values; `args` may be changed.
 * Implemented by ops/apply_op.c. */
BSM_NODISCARD bsm_status bsm_spec_op(bsm_spec *s, const bsm_schema *schema,
                                     bsm_ivalue *args, size_t n,
                                     bsm_ivalue *outs, size_t n_outs);
/* The same by qualified name, with all args given; one output. BSM_INTERNAL:
 * there is no such schema. */
BSM_NODISCARD bsm_status bsm_spec_op_named(bsm_spec *s, const char *qualified,
                                           const bsm_ivalue *args, size_t n,
                                           bsm_ivalue *out);
/* Runs the nodes of a block of the method in order. Implemented by
 * methods/run_nodes.c. */
BSM_NODISCARD bsm_status bsm_spec_run_block(bsm_spec *s,
                                            const bsm_block *block);

#endif /* BSM_LOWERING_SPECIALIZE_VALUES_INTERPRETER_H_ */
