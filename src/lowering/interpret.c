/* SPDX-License-Identifier: Apache-2.0 */
/* Running a function on known values. */
#include "lowering/interpret.h"

#include "lowering/specialize/specialize.h"

static bsm_status run(const bsm_graph *graph, const bsm_function *function,
                      const bsm_aten_library *aten, const bsm_ivalue *args,
                      size_t n, bsm_ivalue *outs, size_t n_outs) {
  bsm_arena scratch, stack;
  bsm_spec s;
  bsm_arena_init(&scratch, graph->cx->arena->allocator);
  bsm_arena_init(&stack, graph->cx->arena->allocator);
  bsm_status st = bsm_spec_init(&s, graph->cx, &scratch, &stack, aten);
  if (!st) {
    s.own_objects = true;
    st = bsm_spec_run_graph(&s, graph, function, NULL, args, n, outs, n_outs);
  }
  for (size_t i = 0; i < n_outs && !st; i++) {
    bsm_spec_leaves leaves = {false, false};
    st = bsm_spec_scan(&s, &outs[i], 0, &leaves);
    if (!st && (leaves.symbol || leaves.meta)) {
      st = BSM_FAIL(BSM_UNSUPPORTED,
                    "%s cannot be computed here: %s has no implementation",
                    function ? function->qualified : "the graph",
                    bsm_spec_is_symbol(&outs[i])
                        ? bsm_spec_symbol_origin(&s, &outs[i])
                        : "an operator");
    }
  }
  bsm_arena_destroy(&stack);
  bsm_arena_destroy(&scratch);
  return st;
}

bsm_status bsm_interpret(bsm_function *function, const bsm_aten_library *aten,
                         const bsm_ivalue *args, size_t n_args,
                         bsm_ivalue *out) {
  bsm_graph *graph = NULL;
  BSM_TRY(bsm_function_graph(function, &graph));
  return run(graph, function, aten, args, n_args, out, 1);
}

bsm_status bsm_interpret_graph(const bsm_graph *graph,
                               const bsm_aten_library *aten,
                               const bsm_ivalue *args, size_t n_args,
                               bsm_ivalue *outs, size_t n_outs) {
  return run(graph, NULL, aten, args, n_args, outs, n_outs);
}
