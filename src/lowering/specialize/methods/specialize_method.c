/* SPDX-License-Identifier: Apache-2.0 */
/* A method from end to end: its arguments, its nodes, its result. It is
 * specialised again as long as that admits loops or more shapes. */
#include "lowering/specialize/specialize.h"

#include "lowering/specialize/control/control.h"
#include "lowering/specialize/control/unrolling.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/memory/residual.h"
#include "lowering/specialize/memory/shadow.h"
#include "lowering/specialize/methods/methods.h"
#include "lowering/specialize/methods/residual_inputs.h"
#include "lowering/specialize/methods/residual_outputs.h"
#include "lowering/specialize/methods/run_nodes.h"
#include "lowering/specialize/ops/ops.h"
#include "lowering/specialize/values/abstract_value.h"
#include "lowering/specialize/worlds/counterexamples.h"
#include "lowering/specialize/worlds/worlds.h"

/* Where lower folders call higher ones. */
static const bsm_spec_interpreter interpreter = {
    .residual = bsm_spec_make_residual,
    .apply = bsm_spec_apply_op,
    .run_block = bsm_spec_execute_block,
};

/* `unroller`: NULL, loops are unrolled. */
static bsm_status begin(bsm_spec *s, bsm_ir_ctx *cx, bsm_arena *scratch,
                        bsm_arena *stack, const bsm_aten_library *aten,
                        bsm_spec_unroller *unroller) {
  BSM_TRY(bsm_spec_init(s, cx, scratch, stack, aten, &interpreter));
  BSM_TRY(bsm_spec_memory_init(s));
  BSM_TRY(bsm_spec_ops_init(s));
  BSM_TRY(bsm_spec_control_init(s, unroller));
  return bsm_spec_methods_init(s);
}

/* ---- specialising ---- */

static bsm_status run(bsm_spec *s, bsm_graph *method, bsm_object *root,
                      const bsm_lowering_input *inputs, size_t count,
                      bsm_lowered *out) {
  const size_t first = root ? 1 : 0, n = count + first;
  const bsm_block *block = method->block;
  bsm_spec_inputs given = {0};
  bsm_spec_outputs list = {0};
  bsm_ivalue *args = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n + 1);
  const size_t m = block->returns->inputs.len;
  bsm_ivalue *outs = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, m + 1);
  BSM_TRY_ALLOC(args && outs);
  if (block->params->outputs.len != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the model takes %zu inputs, %zu given",
                    block->params->outputs.len - first, count);
  }
  if (root) {
    BSM_TRY(bsm_spec_shadow(s, bsm_iv_object(root), NULL, &args[0]));
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->methods->paths,
                                 args[0].u.object, (void *)(uintptr_t) ""));
  }
  for (size_t i = 0; i < count; i++) {
    args[i + first] = inputs[i].value;
    const char *name = inputs[i].name ? inputs[i].name : "input";
    BSM_TRY(bsm_spec_bind_argument(s, &args[i + first], name, 0, &given));
  }
  BSM_TRY(bsm_spec_run_graph(s, method, NULL, "", args, n, outs, m));
  /* IR text may have several results, or none: they are a tuple. */
  const bsm_lowered_node tuple = {.tag = BSM_IVALUE_TUPLE, .child_count = m};
  if (m != 1) BSM_TRY(bsm_spec_add_result_node(s, &tuple, &list));
  for (size_t i = 0; i < m; i++) {
    BSM_TRY(bsm_spec_flatten(s, &outs[i], NULL,
                             bsm_node_in(block->returns, i)->type, m != 1,
                             &list));
  }
  *out = (bsm_lowered){
      .graph = s->residual.graph,
      .literal = s->policy.literal,
      .leaves = list.leaves.items,
      .leaf_count = list.leaves.len,
      .nodes = list.nodes.items,
      .node_count = list.nodes.len,
      .input_names = given.names.items,
      .input_ranges = given.ranges.items,
      .result_type = m == 1 ? bsm_node_in(block->returns, 0)->type : NULL};
  return BSM_OK;
}

static bsm_status specialize_once(bsm_graph *method, bsm_object *root,
                                  const bsm_lowering_input *inputs,
                                  size_t input_count,
                                  const bsm_aten_library *aten,
                                  bsm_spec_unroller *unroller,
                                  const bsm_world_samples *samples,
                                  bool literal, bsm_lowered *out) {
  bsm_arena scratch, stack;
  bsm_spec s;
  bsm_arena_init(&scratch, method->cx->arena->allocator);
  bsm_arena_init(&stack, method->cx->arena->allocator);
  bsm_status st = begin(&s, method->cx, &scratch, &stack, aten, unroller);
  s.worlds.samples = samples;
  s.policy.literal = literal;
  if (!st) {
    st = run(&s, method, root, inputs, input_count, out);
  }
  bsm_arena_destroy(&stack);
  bsm_arena_destroy(&scratch);
  return st;
}

/* How often more shapes are looked for. */
#define MAX_ROUNDS 16

/* Specialises again as long as that admits loops or more shapes. */
bsm_status bsm_specialize(bsm_graph *method, bsm_object *root,
                          const bsm_lowering_input *inputs, size_t input_count,
                          const bsm_aten_library *aten, bool literal,
                          bsm_lowered *out) {
  bsm_arena arena;
  bsm_spec_unroller unroller = {.arena = &arena};
  bsm_world_samples samples = {.count = 0};
  bool again = true;
  bsm_status st = BSM_OK;
  bsm_arena_init(&arena, method->cx->arena->allocator);
  for (int round = 0; again && !st && round < MAX_ROUNDS; round++) {
    bsm_lowered found = {0};
    do {
      st = specialize_once(method, root, inputs, input_count, aten, &unroller,
                           &samples, literal, &found);
    } while (bsm_spec_unroll_again(&unroller, &st));
    if (st && round > 0 && bsm_status_code(st) != BSM_OUT_OF_MEMORY) {
      bsm_log(method->cx->logger, BSM_LOG_LEVEL_INFO,
              "some shapes in range are refused when running: %s",
              bsm_status_message(st));
      bsm_status_free(st); /* what was found before stands */
      st = BSM_OK;
      break;
    }
    *out = found;
    if (!st) {
      st = bsm_find_counterexamples(out, aten, &samples, &again);
    }
  }
  bsm_arena_destroy(&arena);
  return st;
}

/* ---- evaluating ---- */

static bsm_status evaluate(bsm_spec *s, const bsm_graph *graph,
                           const bsm_function *function, const bsm_ivalue *args,
                           size_t n, bsm_ivalue *outs, size_t n_outs) {
  BSM_TRY(bsm_spec_run_graph(s, graph, function, NULL, args, n, outs, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    bsm_spec_leaves leaves = {false, false};
    BSM_TRY(bsm_spec_scan(s, &outs[i], &leaves));
    if (leaves.symbol || leaves.meta) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "%s cannot be computed here: %s has no implementation",
                      function ? function->qualified : "the graph",
                      bsm_spec_is_symbol(&outs[i])
                          ? bsm_spec_symbol_origin(s, &outs[i])
                          : "an operator");
    }
  }
  return BSM_OK;
}

bsm_status bsm_evaluate(const bsm_graph *graph, const bsm_function *function,
                        const bsm_aten_library *aten, const bsm_ivalue *args,
                        size_t n, bsm_ivalue *outs, size_t n_outs) {
  bsm_arena scratch, stack;
  bsm_spec s;
  bsm_arena_init(&scratch, graph->cx->arena->allocator);
  bsm_arena_init(&stack, graph->cx->arena->allocator);
  bsm_status st = begin(&s, graph->cx, &scratch, &stack, aten, NULL);
  s.policy.own_objects = true;
  if (!st) {
    st = evaluate(&s, graph, function, args, n, outs, n_outs);
  }
  bsm_arena_destroy(&stack);
  bsm_arena_destroy(&scratch);
  return st;
}
