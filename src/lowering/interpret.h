/* SPDX-License-Identifier: Apache-2.0 */
/* Running a function on known values: __setstate__ of an archive, and tests
 * that compare a graph with PyTorch. This is specialisation that leaves no
 * nodes behind: everything is known, and the reference library computes it. */
#ifndef BSM_LOWERING_INTERPRET_H_
#define BSM_LOWERING_INTERPRET_H_

#include "aten/op.h"
#include "ir/graph.h"

/* Runs `function` on `args` (self first for methods). Objects and lists are
 * changed for real; tensors with read-only storage are copied before they are
 * written to. BSM_UNSUPPORTED when an op has no reference implementation. */
BSM_NODISCARD bsm_status bsm_interpret(bsm_function *function,
                                       const bsm_aten_library *aten,
                                       const bsm_ivalue *args, size_t n_args,
                                       bsm_ivalue *out);

/* The same for a graph without a function; `outs` has room for its outputs. */
BSM_NODISCARD bsm_status bsm_interpret_graph(const bsm_graph *graph,
                                             const bsm_aten_library *aten,
                                             const bsm_ivalue *args,
                                             size_t n_args, bsm_ivalue *outs,
                                             size_t n_outs);

#endif /* BSM_LOWERING_INTERPRET_H_ */
