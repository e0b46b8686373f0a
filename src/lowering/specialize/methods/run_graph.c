/* SPDX-License-Identifier: Apache-2.0 */
/* One activation of a function: a frame, the nodes of its graph, its results.
 */
#include "lowering/specialize/methods/methods.h"

#include "lowering/specialize/values/interpreter.h"

bsm_status bsm_spec_methods_init(bsm_spec *s) {
  s->methods = BSM_NEW(s->scratch, bsm_spec_methods);
  BSM_TRY_ALLOC(s->methods);
  return BSM_OK;
}

bsm_status bsm_spec_run_graph(bsm_spec *s, const bsm_graph *graph,
                              const bsm_function *function, const char *scope,
                              const bsm_ivalue *args, size_t n,
                              bsm_ivalue *outs, size_t n_outs) {
  const bsm_block *block = graph->block;
  const char *name = function ? function->qualified : "the graph";
  if (block->params->outputs.len != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s takes %zu inputs, %zu given",
                    name, block->params->outputs.len, n);
  }
  if (block->returns->inputs.len != n_outs) {
    return BSM_FAIL(BSM_INTERNAL, "%s returns %zu values, %zu expected", name,
                    block->returns->inputs.len, n_outs);
  }
  bsm_spec_frame frame = {.caller = s->at.frame,
                          .function = function,
                          .call = s->at.node,
                          .count = graph->next_value_id,
                          .scope = scope};
  frame.values = BSM_NEW_ARRAY(s->stack, bsm_ivalue, frame.count + 1);
  frame.bound = BSM_NEW_ARRAY(s->stack, bool, frame.count + 1);
  BSM_TRY_ALLOC(frame.values && frame.bound);
  s->at.frame = &frame;
  bsm_status st = BSM_OK;
  for (size_t i = 0; i < n && !st; i++) {
    st = bsm_spec_set(s, bsm_node_out(block->params, i), args[i]);
  }
  if (!st) {
    st = bsm_spec_run_block(s, block);
  }
  for (size_t i = 0; i < n_outs && !st; i++) {
    st = bsm_spec_get(s, bsm_node_in(block->returns, i), &outs[i]);
  }
  s->at.frame = frame.caller;
  return st;
}
