/* SPDX-License-Identifier: Apache-2.0 */
/* Running a function on known values. */
#include "lowering/interpret.h"

#include "lowering/specialize/specialize.h"

bsm_status bsm_interpret(bsm_function *function, const bsm_aten_library *aten,
                         const bsm_ivalue *args, size_t n_args,
                         bsm_ivalue *out) {
  bsm_graph *graph = NULL;
  BSM_TRY(bsm_function_graph(function, &graph));
  return bsm_evaluate(graph, function, aten, args, n_args, out, 1);
}

bsm_status bsm_interpret_graph(const bsm_graph *graph,
                               const bsm_aten_library *aten,
                               const bsm_ivalue *args, size_t n_args,
                               bsm_ivalue *outs, size_t n_outs) {
  return bsm_evaluate(graph, NULL, aten, args, n_args, outs, n_outs);
}
