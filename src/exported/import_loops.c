/* SPDX-License-Identifier: Apache-2.0 */
/* Higher-order operators that repeat a graph become loops. What each turn
 * gives goes into a list, and the list into one tensor. */
#include "exported/import_node.h"

/* ---- building ---- */

typedef struct loop {
  bsm_node *node;
  bsm_block *outer;
  bsm_value *turn;
  bsm_xi_values carried; /* at the beginning of a turn */
} loop;

/* Opens a loop; nodes go to its body until it is closed. */
static bsm_status open_loop(bsm_importer *im, bsm_value *trips,
                            bsm_value *condition, const bsm_xi_values *carried,
                            loop *out) {
  bsm_value *value;
  *out = (loop){.outer = im->block};
  BSM_TRY(bsm_xi_node(im, "prim::Loop", &trips, 1, NULL, &out->node));
  BSM_TRY(bsm_node_add_input(out->node, condition));
  BSM_TRY(bsm_node_add_block(out->node, &im->block));
  BSM_TRY(bsm_block_add_input(im->block, bsm_xi_type(im, BSM_TYPE_INT),
                              &out->turn));
  for (size_t i = 0; i < carried->len; i++) {
    const bsm_type *type = carried->items[i]->type;
    BSM_TRY(bsm_node_add_input(out->node, carried->items[i]));
    BSM_TRY(bsm_block_add_input(im->block, type, &value));
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, &out->carried, value));
  }
  return BSM_OK;
}

/* The loop goes on while `more` holds, with the first of `results`; *out: what
 * they are behind it. */
static bsm_status close_loop(bsm_importer *im, loop *l, bsm_value *more,
                             const bsm_xi_values *results, bsm_xi_values *out) {
  bsm_value *value;
  const size_t n = l->carried.len;
  if (results->len < n) {
    return BSM_FAIL(BSM_CORRUPT, "a turn gives %zu values, %zu are carried",
                    results->len, n);
  }
  BSM_TRY(bsm_block_add_output(im->block, more));
  for (size_t i = 0; i < n; i++) {
    const bsm_type *type = l->carried.items[i]->type;
    if (!bsm_type_is_subtype(results->items[i]->type, type)) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "a carried value changes its type from %s to %s",
                      bsm_type_str(im->arena, type),
                      bsm_type_str(im->arena, results->items[i]->type));
    }
    BSM_TRY(bsm_block_add_output(im->block, results->items[i]));
    BSM_TRY(bsm_node_add_output(l->node, type, &value));
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, out, value));
  }
  im->block = l->outer;
  return BSM_OK;
}

static bsm_status push_all(bsm_importer *im, bsm_xi_values *to,
                           const bsm_xi_values *from) {
  for (size_t i = 0; i < from->len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, to, from->items[i]));
  }
  return BSM_OK;
}

/* ---- while_loop(cond_graph, body_graph, carried, additional) ---- */

static bsm_status loop_condition(bsm_importer *im,
                                 const bsm_exported_graph *graph,
                                 const bsm_xi_values *args, bsm_value **out) {
  bsm_xi_values results = {0};
  BSM_TRY(bsm_xi_apply(im, graph, args->items, args->len, &results));
  if (results.len != 1) {
    return BSM_FAIL(BSM_CORRUPT, "a condition of %zu results", results.len);
  }
  return bsm_xi_truth(im, results.items[0], out);
}

bsm_status bsm_xi_while_loop(bsm_importer *im, bsm_import_scope *scope,
                             const bsm_exported_node *node) {
  const bsm_exported_graph *condition, *body;
  bsm_xi_values carried = {0}, additional = {0}, all = {0}, results = {0};
  bsm_xi_values out = {0};
  bsm_value *trips, *more;
  loop l;
  BSM_TRY(bsm_xi_graph_argument(node, 0, &condition));
  BSM_TRY(bsm_xi_graph_argument(node, 1, &body));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 2, &carried));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 3, &additional));
  BSM_TRY(push_all(im, &all, &carried));
  BSM_TRY(push_all(im, &all, &additional));
  BSM_TRY(bsm_xi_int(im, INT64_MAX, &trips));
  BSM_TRY(loop_condition(im, condition, &all, &more));
  BSM_TRY(open_loop(im, trips, more, &carried, &l));
  all.len = 0;
  BSM_TRY(push_all(im, &all, &l.carried));
  BSM_TRY(push_all(im, &all, &additional));
  BSM_TRY(bsm_xi_apply(im, body, all.items, all.len, &results));
  all.len = 0;
  BSM_TRY(push_all(im, &all, &results));
  BSM_TRY(push_all(im, &all, &additional));
  BSM_TRY(loop_condition(im, condition, &all, &more));
  BSM_TRY(close_loop(im, &l, more, &results, &out));
  return bsm_xi_bind_outputs(im, scope, node, out.items, out.len);
}

/* ---- lists of what each turn gives ---- */

/* Element `turn` along dimension 0: without it, or as a slice of length 1. */
static bsm_status element(bsm_importer *im, bsm_value *x, bsm_value *turn,
                          bool keep_dim, bsm_value **out) {
  bsm_value *args[4] = {x, NULL, turn, NULL};
  BSM_TRY(bsm_xi_int(im, 0, &args[1]));
  if (!keep_dim) return bsm_xi_op(im, "aten::select.int", args, 3, out);
  BSM_TRY(bsm_xi_int(im, 1, &args[3]));
  return bsm_xi_op(im, "aten::narrow", args, 4, out);
}

static bsm_status elements(bsm_importer *im, const bsm_xi_values *xs,
                           bsm_value *turn, bool keep_dim, bsm_xi_values *out) {
  bsm_value *value;
  for (size_t i = 0; i < xs->len; i++) {
    BSM_TRY(element(im, xs->items[i], turn, keep_dim, &value));
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, out, value));
  }
  return BSM_OK;
}

/* The size of dimension 0 of the first. */
static bsm_status count_turns(bsm_importer *im, const bsm_exported_node *node,
                              const bsm_xi_values *xs, bsm_value **out) {
  bsm_value *args[2];
  if (!xs->len) {
    return BSM_FAIL(BSM_CORRUPT, "%s has nothing to go over", node->target);
  }
  args[0] = xs->items[0];
  BSM_TRY(bsm_xi_int(im, 0, &args[1]));
  return bsm_xi_op(im, "aten::size.int", args, 2, out);
}

static bsm_status new_lists(bsm_importer *im, size_t count,
                            bsm_xi_values *out) {
  bsm_value *list;
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_xi_list(im, bsm_xi_type(im, BSM_TYPE_TENSOR), NULL, 0, &list));
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, out, list));
  }
  return BSM_OK;
}

static bsm_status append_all(bsm_importer *im, const bsm_xi_values *lists,
                             bsm_value *const *items) {
  for (size_t i = 0; i < lists->len; i++) {
    BSM_TRY(bsm_xi_append(im, lists->items[i], items[i]));
  }
  return BSM_OK;
}

static bsm_status join_lists(bsm_importer *im, const bsm_xi_values *lists,
                             const char *op, bsm_xi_values *out) {
  bsm_value *args[2], *value;
  for (size_t i = 0; i < lists->len; i++) {
    args[0] = lists->items[i];
    BSM_TRY(bsm_xi_int(im, 0, &args[1]));
    BSM_TRY(bsm_xi_op(im, op, args, 2, &value));
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, out, value));
  }
  return BSM_OK;
}

/* ---- scan(combine_graph, init, xs, additional) ---- */

/* (carried, x of this turn, additional) -> (carried, y of this turn) */
static bsm_status scan(bsm_importer *im, bsm_import_scope *scope,
                       const bsm_exported_node *node,
                       const bsm_exported_graph *graph,
                       const bsm_xi_values *init, const bsm_xi_values *xs,
                       const bsm_xi_values *additional) {
  bsm_xi_values lists = {0}, args = {0}, results = {0}, out = {0};
  bsm_value *trips, *more;
  loop l;
  if (graph->output_count < init->len) {
    return BSM_FAIL(BSM_CORRUPT, "%s carries %zu values, its graph gives %zu",
                    node->target, init->len, graph->output_count);
  }
  BSM_TRY(count_turns(im, node, xs, &trips));
  BSM_TRY(new_lists(im, graph->output_count - init->len, &lists));
  BSM_TRY(bsm_xi_bool(im, true, &more));
  BSM_TRY(open_loop(im, trips, more, init, &l));
  BSM_TRY(push_all(im, &args, &l.carried));
  BSM_TRY(elements(im, xs, l.turn, false, &args));
  BSM_TRY(push_all(im, &args, additional));
  BSM_TRY(bsm_xi_apply(im, graph, args.items, args.len, &results));
  if (results.len != init->len + lists.len) {
    return BSM_FAIL(BSM_CORRUPT, "%s: its graph gives %zu values, not %zu",
                    node->target, results.len, init->len + lists.len);
  }
  BSM_TRY(append_all(im, &lists, results.items + init->len));
  BSM_TRY(bsm_xi_bool(im, true, &more));
  BSM_TRY(close_loop(im, &l, more, &results, &out));
  BSM_TRY(join_lists(im, &lists, "aten::stack", &out));
  return bsm_xi_bind_outputs(im, scope, node, out.items, out.len);
}

bsm_status bsm_xi_scan(bsm_importer *im, bsm_import_scope *scope,
                       const bsm_exported_node *node) {
  const bsm_exported_graph *graph;
  bsm_xi_values init = {0}, xs = {0}, additional = {0};
  BSM_TRY(bsm_xi_graph_argument(node, 0, &graph));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 1, &init));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 2, &xs));
  /* Older ones have numbers here, which the graph has been made for. */
  if (node->input_count > 3) {
    BSM_TRY(bsm_xi_list_argument(im, scope, node, node->input_count - 1,
                                 &additional));
  }
  return scan(im, scope, node, graph, &init, &xs, &additional);
}

/* map_impl(graph, xs, additional): a scan that carries nothing. */
bsm_status bsm_xi_map(bsm_importer *im, bsm_import_scope *scope,
                      const bsm_exported_node *node) {
  const bsm_exported_graph *graph;
  const bsm_xi_values none = {0};
  bsm_xi_values xs = {0}, additional = {0};
  BSM_TRY(bsm_xi_graph_argument(node, 0, &graph));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 1, &xs));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 2, &additional));
  return scan(im, scope, node, graph, &none, &xs, &additional);
}

/* ---- associative_scan(combine_graph, xs, additional) ---- */

static bool keeps_dim(const bsm_exported_graph *graph,
                      const bsm_exported_graph *outer,
                      const bsm_exported_node *node) {
  const bsm_exported_arg *xs = &node->inputs[1].arg;
  if (!graph->input_count || graph->inputs[0].tag != BSM_EXPORTED_TENSOR ||
      xs->tag != BSM_EXPORTED_TENSORS || !xs->u.strings.len) {
    return false;
  }
  const bsm_exported_meta *inner =
      bsm_exported_tensor(graph, graph->inputs[0].u.s);
  const bsm_exported_meta *whole =
      bsm_exported_tensor(outer, xs->u.strings.items[0]);
  return inner && whole && inner->rank == whole->rank;
}

/* From the first element on, one after the other: any order gives the same, as
 * the graph is associative. */
bsm_status bsm_xi_associative_scan(bsm_importer *im, bsm_import_scope *scope,
                                   const bsm_exported_node *node) {
  const bsm_exported_graph *graph;
  bsm_xi_values xs = {0}, additional = {0}, first = {0}, args = {0};
  bsm_xi_values lists = {0}, results = {0}, out = {0}, joined = {0};
  bsm_value *trips, *more, *zero, *pair[2];
  loop l;
  BSM_TRY(bsm_xi_graph_argument(node, 0, &graph));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 1, &xs));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 2, &additional));
  const bool keep =
      node->input_count > 1 && keeps_dim(graph, scope->graph, node);
  BSM_TRY(count_turns(im, node, &xs, &pair[0]));
  BSM_TRY(bsm_xi_int(im, 1, &pair[1]));
  BSM_TRY(bsm_xi_call(im, "aten::sub", pair, 2, &trips));
  BSM_TRY(bsm_xi_int(im, 0, &zero));
  BSM_TRY(elements(im, &xs, zero, keep, &first));
  BSM_TRY(new_lists(im, xs.len, &lists));
  BSM_TRY(append_all(im, &lists, first.items));
  BSM_TRY(bsm_xi_bool(im, true, &more));
  BSM_TRY(open_loop(im, trips, more, &first, &l));
  pair[0] = l.turn;
  BSM_TRY(bsm_xi_int(im, 1, &pair[1]));
  BSM_TRY(bsm_xi_call(im, "aten::add", pair, 2, &pair[0]));
  BSM_TRY(push_all(im, &args, &l.carried));
  BSM_TRY(elements(im, &xs, pair[0], keep, &args));
  BSM_TRY(push_all(im, &args, &additional));
  BSM_TRY(bsm_xi_apply(im, graph, args.items, args.len, &results));
  if (results.len != xs.len) {
    return BSM_FAIL(BSM_CORRUPT, "%s: its graph gives %zu values, not %zu",
                    node->target, results.len, xs.len);
  }
  BSM_TRY(append_all(im, &lists, results.items));
  BSM_TRY(bsm_xi_bool(im, true, &more));
  BSM_TRY(close_loop(im, &l, more, &results, &out));
  BSM_TRY(join_lists(im, &lists, keep ? "aten::cat" : "aten::stack", &joined));
  return bsm_xi_bind_outputs(im, scope, node, joined.items, joined.len);
}
