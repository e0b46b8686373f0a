/* SPDX-License-Identifier: Apache-2.0 */
/* Higher-order operators that branch, or that are only marks around a graph. */
#include "exported/import_node.h"

bsm_status bsm_xi_graph_argument(const bsm_exported_node *node, size_t index,
                                 const bsm_exported_graph **out) {
  if (index >= node->input_count ||
      node->inputs[index].arg.tag != BSM_EXPORTED_GRAPH) {
    return BSM_FAIL(BSM_CORRUPT, "argument %zu of %s is no graph", index,
                    node->target);
  }
  *out = node->inputs[index].arg.u.graph;
  return BSM_OK;
}

bsm_status bsm_xi_list_argument(bsm_importer *im, const bsm_import_scope *scope,
                                const bsm_exported_node *node, size_t index,
                                bsm_xi_values *out) {
  if (index >= node->input_count) return BSM_OK;
  if (node->inputs[index].arg.tag == BSM_EXPORTED_NONE) return BSM_OK;
  return bsm_xi_items(im, scope, &node->inputs[index].arg, out);
}

/* All arguments from `first` on. */
static bsm_status rest_of(bsm_importer *im, const bsm_import_scope *scope,
                          const bsm_exported_node *node, size_t first,
                          bsm_xi_values *out) {
  bsm_value *value;
  for (size_t i = first; i < node->input_count; i++) {
    BSM_TRY(bsm_xi_argument(im, scope, &node->inputs[i].arg, NULL, &value));
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, out, value));
  }
  return BSM_OK;
}

/* ---- cond(pred, true_graph, false_graph, operands) ---- */

static bsm_status import_cond(bsm_importer *im, bsm_import_scope *scope,
                              const bsm_exported_node *node) {
  const bsm_exported_graph *sides[2];
  bsm_xi_values operands = {0}, results[2] = {{0}};
  bsm_value *condition;
  bsm_node *branch;
  bsm_block *const outer = im->block;
  for (size_t i = 0; i < 2; i++) {
    BSM_TRY(bsm_xi_graph_argument(node, 1 + i, &sides[i]));
  }
  BSM_TRY(bsm_xi_argument(im, scope, &node->inputs[0].arg, NULL, &condition));
  BSM_TRY(bsm_xi_truth(im, condition, &condition));
  BSM_TRY(bsm_xi_list_argument(im, scope, node, 3, &operands));
  BSM_TRY(bsm_xi_node(im, "prim::If", &condition, 1, NULL, &branch));
  for (size_t i = 0; i < 2; i++) {
    BSM_TRY(bsm_node_add_block(branch, &im->block));
    BSM_TRY_NOTE(
        bsm_xi_apply(im, sides[i], operands.items, operands.len, &results[i]),
        "in the %s side", i ? "false" : "true");
    for (size_t k = 0; k < results[i].len; k++) {
      BSM_TRY(bsm_block_add_output(im->block, results[i].items[k]));
    }
    im->block = outer;
  }
  const size_t n = results[0].len;
  bsm_value **out = BSM_NEW_ARRAY(im->arena, bsm_value *, n + 1);
  BSM_TRY_ALLOC(out);
  if (results[1].len != n) {
    return BSM_FAIL(BSM_CORRUPT, "the sides give %zu and %zu results", n,
                    results[1].len);
  }
  for (size_t k = 0; k < n; k++) {
    const bsm_type *type = bsm_type_unify(
        im->cx->types, results[0].items[k]->type, results[1].items[k]->type);
    if (!type) {
      return BSM_FAIL(BSM_UNSUPPORTED, "the sides give values of two types");
    }
    BSM_TRY(bsm_node_add_output(branch, type, &out[k]));
  }
  return bsm_xi_bind_outputs(im, scope, node, out, n);
}

/* ---- graphs that are run as they are ---- */

static bsm_status inline_graph(bsm_importer *im, bsm_import_scope *scope,
                               const bsm_exported_node *node,
                               const bsm_exported_graph *graph,
                               const bsm_xi_values *args) {
  bsm_xi_values results = {0};
  BSM_TRY(bsm_xi_apply(im, graph, args->items, args->len, &results));
  return bsm_xi_bind_outputs(im, scope, node, results.items, results.len);
}

/* The first graph among the arguments, on all that follow it: one by one, or as
 * one list. */
static bsm_status import_wrap(bsm_importer *im, bsm_import_scope *scope,
                              const bsm_exported_node *node) {
  size_t at = 0;
  const bsm_exported_graph *graph;
  bsm_xi_values args = {0};
  while (at < node->input_count &&
         node->inputs[at].arg.tag != BSM_EXPORTED_GRAPH) {
    at++;
  }
  BSM_TRY(bsm_xi_graph_argument(node, at, &graph));
  for (size_t i = at + 1; i < node->input_count; i++) {
    if (args.len >= graph->input_count) break; /* hints, and the like */
    BSM_TRY(bsm_xi_list_argument(im, scope, node, i, &args));
  }
  return inline_graph(im, scope, node, graph, &args);
}

/* wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, args...) */
static bsm_status import_autocast(bsm_importer *im, bsm_import_scope *scope,
                                  const bsm_exported_node *node) {
  const bsm_exported_arg *enabled = NULL, *device = NULL;
  for (size_t i = 0; i < node->input_count; i++) {
    const bsm_exported_arg *arg = &node->inputs[i].arg;
    if (arg->tag == BSM_EXPORTED_BOOL && !enabled) enabled = arg;
    if (arg->tag == BSM_EXPORTED_STRING && !device) device = arg;
  }
  /* Of another device's autocast nothing is seen on the CPU. */
  const bool here = !device || strcmp(device->u.s, "cpu") == 0;
  const bool outer = im->autocast;
  if (here && enabled) im->autocast = enabled->u.b;
  BSM_TRY(import_wrap(im, scope, node));
  im->autocast = outer;
  return BSM_OK;
}

/* invoke_subgraph(graph, identifier, operands...) */
static bsm_status import_invoke(bsm_importer *im, bsm_import_scope *scope,
                                const bsm_exported_node *node) {
  const bsm_exported_graph *graph;
  bsm_xi_values args = {0};
  BSM_TRY(bsm_xi_graph_argument(node, 0, &graph));
  size_t first = 1;
  if (node->input_count > 1 && node->inputs[1].arg.tag == BSM_EXPORTED_STRING) {
    first = 2;
  }
  for (size_t i = first; i < node->input_count; i++) {
    BSM_TRY(bsm_xi_list_argument(im, scope, node, i, &args));
  }
  return inline_graph(im, scope, node, graph, &args);
}

/* ---- calls of an operator ---- */

/* out_dtype(op, dtype, args...): computes in the output's dtype. */
static bsm_status import_out_dtype(bsm_importer *im, bsm_import_scope *scope,
                                   const bsm_exported_node *node) {
  const char *name;
  bsm_xi_values args = {0};
  bsm_value *dtype, *out;
  BSM_TRY(bsm_xi_operator_argument(im, node, 0, &name));
  if (node->input_count < 3 || node->output_count != 1) {
    return BSM_FAIL(BSM_CORRUPT, "out_dtype of %zu arguments",
                    node->input_count);
  }
  BSM_TRY(bsm_xi_argument(im, scope, &node->inputs[1].arg, NULL, &dtype));
  BSM_TRY(rest_of(im, scope, node, 2, &args));
  for (size_t i = 0; i < args.len; i++) {
    bsm_value *const cast[2] = {args.items[i], dtype};
    if (args.items[i]->type->kind != BSM_TYPE_TENSOR) continue;
    BSM_TRY(bsm_xi_op(im, "aten::to.dtype", cast, 2, &args.items[i]));
  }
  BSM_TRY(bsm_xi_op(im, name, args.items, args.len, &out));
  return bsm_xi_bind_output(im, scope, &node->outputs[0], out);
}

/* with_effects(token, op, args...): the token, then what the operator gives. */
static bsm_status import_effects(bsm_importer *im, bsm_import_scope *scope,
                                 const bsm_exported_node *node) {
  const char *name;
  bsm_node *made;
  bsm_xi_values results = {0};
  bsm_value *token;
  BSM_TRY(bsm_xi_operator_argument(im, node, 1, &name));
  BSM_TRY(bsm_xi_argument(im, scope, &node->inputs[0].arg, NULL, &token));
  BSM_TRY_ALLOC(bsm_vec_push(im->arena, &results, token));
  BSM_TRY(bsm_xi_call_operator(im, scope, name, node->inputs + 2,
                               node->input_count - 2, &made));
  for (size_t i = 0; i < made->outputs.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, &results, bsm_node_out(made, i)));
  }
  if (results.len < node->output_count) {
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, &results, token));
  }
  return bsm_xi_bind_outputs(im, scope, node, results.items, results.len);
}

/* ---- all of them ---- */

static const struct {
  const char *name;
  bsm_status (*import)(bsm_importer *im, bsm_import_scope *scope,
                       const bsm_exported_node *node);
} rows[] = {
    {"cond", import_cond},
    {"while_loop", bsm_xi_while_loop},
    {"map", bsm_xi_map},
    {"map_impl", bsm_xi_map},
    {"scan", bsm_xi_scan},
    {"associative_scan", bsm_xi_associative_scan},
    {"wrap", import_wrap},
    {"wrap_with_set_grad_enabled", import_wrap},
    {"wrap_with_autocast", import_autocast},
    {"wrap_activation_checkpoint", import_wrap},
    {"tag_activation_checkpoint", import_wrap},
    {"inductor_compiled_code", import_wrap},
    {"hints_wrapper", import_wrap},
    {"strict_mode", import_wrap},
    {"run_const_graph", import_wrap},
    {"run_with_rng_state", import_wrap},
    {"invoke_subgraph", import_invoke},
    {"out_dtype", import_out_dtype},
    {"auto_functionalized", bsm_xi_functionalized},
    {"auto_functionalized_v2", bsm_xi_functionalized},
    {"with_effects", import_effects},
};

bsm_status bsm_xi_higher_order(bsm_importer *im, bsm_import_scope *scope,
                               const bsm_exported_node *node,
                               const char *name) {
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const size_t length = strlen(rows[i].name);
    if (strncmp(name, rows[i].name, length) == 0 &&
        (!name[length] || strcmp(name + length, ".default") == 0)) {
      return rows[i].import(im, scope, node);
    }
  }
  if (strncmp(name, "flex_attention", 14) == 0) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "flex_attention: export the model with "
                    "scaled_dot_product_attention instead");
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "higher-order operator %s", name);
}
