/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes in program order: prim:: nodes by their handlers, all others by schema.
 */
#include "lowering/specialize/methods/run_nodes.h"

#include "lowering/specialize/control/control.h"
#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/memory/shadow.h"
#include "lowering/specialize/methods/node_handlers.h"
#include "lowering/specialize/values/interpreter.h"

/* Nodes run before giving up: unrolled loops and calls count again each time,
 * so a small file cannot keep the compiler busy for ever. */
#define STEPS_PER_NODE 16u
/* A node that is run, as so many multiply-adds. */
#define NODE_WORK 128

/* A trace keeps `x + 1.5` as an addition of a constant tensor without
 * dimensions. PyTorch makes a number of it again before it runs the graph
 * (CanonicalizeOps), for these operators alone, so that it does not count as a
 * tensor of float64 in type promotion. */
static bsm_status number_operand(bsm_spec *s, const bsm_node *node,
                                 bsm_ivalue *arg) {
  static const char *const canonical[] = {
      "aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor",
      "aten::div.Tensor"};
  if (node->inputs.len < 2 || arg->tag != BSM_IVALUE_TENSOR ||
      !bsm_node_is(bsm_node_in(node, 1)->node, "prim::Constant")) {
    return BSM_OK;
  }
  bool is = false;
  for (size_t i = 0; i < sizeof(canonical) / sizeof(canonical[0]); i++) {
    is = is || strcmp(node->schema->qualified, canonical[i]) == 0;
  }
  const bsm_tensor *t = arg->u.tensor;
  const bsm_spec_tensor *record = bsm_spec_tensor_find(s, t);
  if (record && record->known) t = record->known;
  if (!is || t->sizes.rank != 0 || t->wrapped_number || bsm_tensor_is_meta(t)) {
    return BSM_OK;
  }
  bsm_tensor *number;
  if (bsm_dtype_is_floating(t->dtype)) {
    BSM_TRY(bsm_tensor_from_double(s->cx->arena, BSM_DTYPE_DOUBLE,
                                   bsm_tensor_get_double(t, 0), &number));
  } else if (bsm_dtype_is_integral(t->dtype, true)) {
    BSM_TRY(bsm_tensor_from_int(
        s->cx->arena,
        t->dtype == BSM_DTYPE_BOOL ? BSM_DTYPE_BOOL : BSM_DTYPE_INT64,
        bsm_tensor_get_int(t, 0), &number));
  } else {
    return BSM_OK;
  }
  number->wrapped_number = true;
  return bsm_spec_shadow(s, bsm_iv_tensor(number),
                         bsm_node_in(node, 1)->debug_name, arg);
}

/* An op by schema: gathers its arguments, binds its results. */
static bsm_status run_schema_node(bsm_spec *s, const bsm_node *node) {
  const size_t n = node->inputs.len, m = node->outputs.len;
  const bsm_schema *schema = node->schema;
  if ((n != schema->arg_count && !schema->is_vararg) || n < schema->arg_count ||
      (m != schema->return_count && !schema->is_varret)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s has %zu inputs and %zu outputs, its schema %zu and %zu",
                    schema->qualified, n, m, schema->arg_count,
                    schema->return_count);
  }
  bsm_ivalue *args = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  bsm_ivalue *outs = BSM_NEW_ARRAY(s->stack, bsm_ivalue, m + 1);
  BSM_TRY_ALLOC(args && outs);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i), &args[i]));
  }
  if (n > 1) BSM_TRY(number_operand(s, node, &args[1]));
  BSM_TRY(bsm_spec_op(s, node->schema, args, n, outs, m));
  for (size_t i = 0; i < m; i++) {
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), outs[i]));
  }
  return BSM_OK;
}

static bsm_status run_node_inner(bsm_spec *s, const bsm_node *node) {
  typedef bsm_status (*handler)(bsm_spec *, const bsm_node *, bool *);
  static const handler handlers[] = {bsm_spec_control_node, bsm_spec_call_node,
                                     bsm_spec_container_node,
                                     bsm_spec_prim_node};
  static const char *const ours[] = {"aten::format", "aten::warn",
                                     "aten::wait"};
  bool special = strncmp(node->kind, "prim::", 6) == 0 || !node->schema;
  for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
    special = special || bsm_node_is(node, ours[i]);
  }
  if (special) {
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
      bool done = false;
      BSM_TRY(handlers[i](s, node, &done));
      if (done) {
        return BSM_OK;
      }
    }
  }
  if (!node->schema) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s is not an operator known here: a plug-in that has "
                    "it must be given (docs/plugins.md)",
                    node->kind);
  }
  return run_schema_node(s, node);
}

static bsm_status run_node(bsm_spec *s, const bsm_node *node) {
  BSM_TRY(bsm_progress_count(s->cx->progress, "lowering", s->at.steps, 0));
  if (++s->at.steps > s->cx->limits.max_nodes * STEPS_PER_NODE) {
    return BSM_FAIL(
        BSM_LIMIT,
        "the method runs more than %llu operations while compiling (at %s): %u "
        "for each node of the limit max_nodes",
        (unsigned long long)s->cx->limits.max_nodes * STEPS_PER_NODE,
        bsm_spec_where(s), STEPS_PER_NODE);
  }
  BSM_TRY_NOTE(bsm_work_budget_charge(&s->cx->work, NODE_WORK), "at %s",
               bsm_spec_where(s));
  const bsm_node *outer = s->at.node;
  const bsm_arena_mark mark = bsm_arena_get_mark(s->stack);
  s->at.node = node;
  bsm_status st = run_node_inner(s, node);
  bsm_arena_rewind(s->stack, mark);
  /* The innermost failing node names its place; a call adds its own line. */
  if (st && node->blocks.len == 0) {
    const bool call = strncmp(node->kind, "prim::Call", 10) == 0;
    st = bsm_status_note(st, call ? "called as %s at %s" : "in %s at %s",
                         node->kind, bsm_spec_where(s));
  }
  s->at.node = outer;
  return st;
}

bsm_status bsm_spec_execute_block(bsm_spec *s, const bsm_block *block) {
  if (++s->at.depth > s->cx->limits.max_depth) {
    s->at.depth--;
    return BSM_FAIL(BSM_LIMIT, "calls and blocks nest more than %llu deep",
                    (unsigned long long)s->cx->limits.max_depth);
  }
  bsm_status st = BSM_OK;
  for (const bsm_node *n = block->first; n && !st; n = n->next) {
    st = run_node(s, n);
  }
  s->at.depth--;
  return st;
}
