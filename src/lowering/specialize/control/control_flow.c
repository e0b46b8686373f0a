/* SPDX-License-Identifier: Apache-2.0 */
/* If and Loop. A known condition leaves one branch, and a loop of a known trip
 * count is unrolled (unrolling.c says how far). branch.c and loop.c have the
 * others. */
#include "lowering/specialize/control/control.h"

#include "lowering/specialize/control/branch.h"
#include "lowering/specialize/control/loop.h"
#include "lowering/specialize/control/unrolling.h"
#include "lowering/specialize/values/interpreter.h"

/* Runs a block and binds its outputs to `values` of the same frame. */
static bsm_status run_into(bsm_spec *s, const bsm_block *block,
                           bsm_value *const *values, size_t n) {
  BSM_TRY(bsm_spec_run_block(s, block));
  if (block->returns->inputs.len != n) {
    return BSM_FAIL(BSM_INTERNAL, "a block returns %zu values, %zu expected",
                    block->returns->inputs.len, n);
  }
  /* All are read before any is bound: a loop may swap its values. */
  bsm_ivalue *items = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(block->returns, i), &items[i]));
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_spec_set(s, values[i], items[i]));
  }
  return BSM_OK;
}

static bsm_status run_if(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue condition;
  if (node->blocks.len != 2 || node->inputs.len != 1) {
    return BSM_FAIL(BSM_INTERNAL, "malformed prim::If");
  }
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &condition));
  if (bsm_spec_is_symbol(&condition)) {
    return bsm_spec_branch(s, node, &condition);
  }
  if (condition.tag != BSM_IVALUE_BOOL) {
    return BSM_FAIL(BSM_UNSUPPORTED, "an if on a value of kind %s",
                    bsm_iv_tag_name(condition.tag));
  }
  const bsm_block *live = node->blocks.items[condition.u.b ? 0 : 1];
  return run_into(s, live, node->outputs.items, node->outputs.len);
}

/* One pass through the body: inputs are (i, carried...), outputs are
 * (condition, carried...). */
static bsm_status run_body(bsm_spec *s, const bsm_node *node,
                           bsm_ivalue *go_on) {
  const bsm_block *body = node->blocks.items[0];
  const size_t carried = node->outputs.len;
  BSM_TRY(bsm_spec_run_block(s, body));
  BSM_TRY(bsm_spec_get(s, bsm_node_in(body->returns, 0), go_on));
  bsm_ivalue *items = BSM_NEW_ARRAY(s->stack, bsm_ivalue, carried + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < carried; i++) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(body->returns, i + 1), &items[i]));
  }
  for (size_t i = 0; i < carried; i++) {
    BSM_TRY(bsm_spec_set(s, bsm_node_out(body->params, i + 1), items[i]));
  }
  return BSM_OK;
}

static bsm_status check_loop(const bsm_node *node) {
  const size_t carried = node->outputs.len;
  if (node->blocks.len != 1 || node->inputs.len != carried + 2 ||
      node->blocks.items[0]->params->outputs.len != carried + 1 ||
      node->blocks.items[0]->returns->inputs.len != carried + 1) {
    return BSM_FAIL(BSM_INTERNAL, "malformed prim::Loop");
  }
  return BSM_OK;
}

/* Whether a loop of these iterations goes on; *known is false when only the run
 * will tell. */
static bsm_status goes_on(const bsm_node *node, const bsm_ivalue *trips,
                          const bsm_ivalue *condition, int64_t iteration,
                          bool *known, bool *out) {
  *known = true;
  *out = false;
  if (condition->tag == BSM_IVALUE_BOOL && !condition->u.b) {
    return BSM_OK;
  }
  if (trips->tag == BSM_IVALUE_INT && iteration >= trips->u.i) {
    return BSM_OK;
  }
  if (bsm_spec_is_symbol(trips) || bsm_spec_is_symbol(condition)) {
    *known = false;
    return BSM_OK;
  }
  if (trips->tag != BSM_IVALUE_INT || condition->tag != BSM_IVALUE_BOOL) {
    return BSM_FAIL(BSM_INTERNAL,
                    "%s: the trip count is no int or the "
                    "condition no bool",
                    node->kind);
  }
  *out = true;
  return BSM_OK;
}

/* As many iterations as are known; *known is false when there may be more. */
static bsm_status unroll(bsm_spec *s, const bsm_node *node,
                         bsm_unrolled_loop *own, const bsm_ivalue *trips,
                         bsm_ivalue *condition, int64_t *iteration,
                         bool *known) {
  const bsm_value *number = bsm_node_out(node->blocks.items[0]->params, 0);
  bool more = false;
  *iteration = 0;
  BSM_TRY(goes_on(node, trips, condition, *iteration, known, &more));
  while (*known && more) {
    const bsm_arena_mark mark = bsm_arena_get_mark(s->stack);
    BSM_TRY(bsm_unrolled_loop_count(s, own));
    BSM_TRY(bsm_spec_set(s, number, bsm_iv_int(*iteration)));
    BSM_TRY(run_body(s, node, condition));
    bsm_arena_rewind(s->stack, mark);
    BSM_TRY(goes_on(node, trips, condition, ++*iteration, known, &more));
  }
  return BSM_OK;
}

static bsm_status run_loop(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue trips, condition;
  const char *limit = NULL;
  bool known = false, more = false;
  int64_t iteration = 0;
  BSM_TRY(check_loop(node));
  const bsm_block *body = node->blocks.items[0];
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &trips));
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 1), &condition));
  for (size_t i = 2; i < node->inputs.len; i++) {
    bsm_ivalue value;
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i), &value));
    BSM_TRY(bsm_spec_set(s, bsm_node_out(body->params, i - 1), value));
  }
  BSM_TRY(goes_on(node, &trips, &condition, iteration, &known, &more));
  if (known && more) {
    BSM_TRY(bsm_spec_is_rolled(s, node, &trips, &limit));
    known = !limit;
  }
  if (known) {
    bsm_unrolled_loop own;
    bsm_unrolled_loop_begin(s, node, &trips, &own);
    const bsm_status st =
        unroll(s, node, &own, &trips, &condition, &iteration, &known);
    bsm_unrolled_loop_end(s, &own);
    BSM_TRY(st);
  }
  if (!known) {
    return bsm_spec_loop(s, node, iteration, &trips, &condition, limit);
  }
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_ivalue value;
    BSM_TRY(bsm_spec_get(s, bsm_node_out(body->params, i + 1), &value));
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), value));
  }
  return BSM_OK;
}

bsm_status bsm_spec_control_node(bsm_spec *s, const bsm_node *node,
                                 bool *done) {
  *done = true;
  if (bsm_node_is(node, "prim::If")) {
    return run_if(s, node);
  }
  if (bsm_node_is(node, "prim::Loop")) {
    return run_loop(s, node);
  }
  *done = false;
  return BSM_OK;
}
