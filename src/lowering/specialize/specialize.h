/* SPDX-License-Identifier: Apache-2.0 */
/* The specialiser: an abstract interpreter that runs a method in program order
 * and writes down, in a new flat graph (the residual graph), only what has to
 * be computed when the engine runs. Partial evaluation, in other words.
 *
 * Its folders, each knowing those before it (scripts/check_layers.py):
 *
 *   values    abstract values, the state of a run, the literal policy, and the
 *             table through which lower folders call higher ones
 *   memory    aliasing, in-place writes, lists and dicts of the run, copies of
 *             the module's values; residual values of abstract ones
 *   worlds    inputs whose dims range: several shapes at once, checks, shapes
 *             that show that one more has to be looked at
 *   ops       ops by schema
 *   control   If and Loop: branches, unrolling, loops of the engine
 *   methods   frames, calls, prim:: nodes, the two ends, and the whole */
#ifndef BSM_LOWERING_SPECIALIZE_SPECIALIZE_H_
#define BSM_LOWERING_SPECIALIZE_SPECIALIZE_H_

#include "lowering/lowering.h"

/* Specialises `method`; arguments and result as of bsm_lower. `literal`: with
 * the program's views and writes, as values/literal_policy.h says. */
BSM_NODISCARD bsm_status bsm_specialize(bsm_graph *method, bsm_object *root,
                                        const bsm_lowering_input *inputs,
                                        size_t input_count,
                                        const bsm_aten_library *aten,
                                        bool literal, bsm_lowered *out);

/* Runs a graph on known values, and objects in place; `function`: whose graph
 * it is, or NULL. BSM_UNSUPPORTED: a result would not be known. */
BSM_NODISCARD bsm_status bsm_evaluate(const bsm_graph *graph,
                                      const bsm_function *function,
                                      const bsm_aten_library *aten,
                                      const bsm_ivalue *args, size_t n,
                                      bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_SPECIALIZE_H_ */
