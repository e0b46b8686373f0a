/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: walks the graph once and builds the network. */
#include <stdio.h>
#include <string.h>

#include "conversion/conversion_internal.h"

static bsm_status add_inputs(bsm_conversion_ctx *ctx, const bsm_graph *graph,
                             const char *const *input_names) {
  const bsm_node *params = graph->block->params;
  for (size_t i = 0; i < params->outputs.len; i++) {
    const bsm_value *value = bsm_node_out(params, i);
    const bsm_type *type = value->type;
    const char *label = bsm_value_text(ctx, value);
    const char *name = input_names && input_names[i] ? input_names[i] : NULL;
    BSM_TRY_ALLOC(label);
    if (!name) name = label + 1;
    if (!type || type->kind != BSM_TYPE_TENSOR) {
      return BSM_FAIL(BSM_UNSUPPORTED, "graph input %zu, %s, is not a tensor",
                      i, label);
    }
    if (!type->has_dtype || !type->has_dims) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "graph input %zu, %s: its dtype or dims are not known", i,
                      label);
    }
    bsm_itensor *tensor =
        bsm_network_add_input(ctx->net, name, type->dtype, type->dims);
    if (!tensor || !bsm_associate_value_and_tensor(ctx, value, tensor)) {
      BSM_TRY(bsm_ctx_take_error(ctx));
    }
  }
  return BSM_OK;
}

/* The converter's own failure, after what accessors and layers recorded. */
static bsm_status run_converter(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_converter_entry *entry) {
  bsm_args args;
  BSM_TRY(bsm_args_init(ctx, node, entry, &args));
  bsm_status status = entry->pattern->convert(ctx, node, &args);
  return bsm_status_join(bsm_ctx_take_error(ctx), status);
}

static bsm_status convert_node(bsm_conversion_ctx *ctx, const bsm_node *node) {
  bsm_conversion_impl *impl = ctx->impl;
  bool done = false;
  if (bsm_node_is(node, "prim::Constant")) {
    const bsm_ivalue *value = bsm_node_attr_get(node, "value");
    if (!value)
      return bsm_associate_ivalue(ctx, bsm_node_out(node, 0), bsm_iv_none());
    return bsm_associate_value_and_ivalue(ctx, bsm_node_out(node, 0), value);
  }
  const bsm_evaluator_pattern *evaluator =
      bsm_registry_find_evaluator(impl->registry, node);
  if (evaluator) {
    bsm_status status =
        evaluator->evaluate(ctx, node, evaluator->variant, &done);
    BSM_TRY(bsm_status_join(bsm_ctx_take_error(ctx), status));
    if (done) return BSM_OK;
  }
  BSM_TRY(bsm_evaluate_node(ctx, node, &done));
  if (done) return BSM_OK;
  const bsm_converter_entry *entry =
      bsm_registry_find_converter(impl->registry, node);
  if (!entry) {
    return BSM_FAIL(BSM_UNSUPPORTED, "no converter for %s",
                    bsm_node_qualified(node));
  }
  return run_converter(ctx, node, entry);
}

/* Every output must stand for something; using one that does not is an
 * error, so here it is only a warning. */
static void check_outputs(bsm_conversion_ctx *ctx, const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_var var = bsm_ctx_var(ctx, bsm_node_out(node, i));
    if (var.itensor || var.ivalue) continue;
    BSM_LOG_WARNING(
        "output %zu of node %s has neither a tensor nor a static value: its "
        "converter or evaluator is defective",
        i, bsm_node_info(ctx, node));
  }
}

static bsm_status convert_nodes(bsm_conversion_ctx *ctx,
                                const bsm_graph *graph) {
  for (const bsm_node *node = graph->block->first; node; node = node->next) {
    ctx->impl->node = node;
    size_t before = ctx->net->layers.len;
    bsm_status status = convert_node(ctx, node);
    if (status) {
      return bsm_status_note(status, "in node %s", bsm_node_info(ctx, node));
    }
    for (size_t i = before; i < ctx->net->layers.len; i++) {
      bsm_layer *layer = ctx->net->layers.items[i];
      if (!layer->name) layer->name = bsm_node_info(ctx, node);
      layer->source = bsm_node_info(ctx, node);
    }
    check_outputs(ctx, node);
  }
  ctx->impl->node = NULL;
  return BSM_OK;
}

/* The tensor of graph output `i`: a static tensor becomes a constant layer. */
static bsm_status output_tensor(bsm_conversion_ctx *ctx, const bsm_value *value,
                                size_t i, bsm_itensor **out) {
  bsm_var var = bsm_ctx_var(ctx, value);
  *out = var.itensor;
  if (var.itensor) return BSM_OK;
  if (!var.ivalue) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "graph output %zu, %s, has neither a tensor nor a static "
                    "value: its producer did not associate it",
                    i, bsm_value_text(ctx, value));
  }
  if (var.ivalue->tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "graph output %zu, %s, is of type %s; only tensors can be "
                    "outputs",
                    i, bsm_value_text(ctx, value),
                    bsm_iv_tag_name(var.ivalue->tag));
  }
  *out = bsm_freeze_tensor(ctx, var.ivalue->u.tensor);
  return bsm_ctx_take_error(ctx);
}

static bsm_status mark_outputs(bsm_conversion_ctx *ctx,
                               const bsm_graph *graph) {
  const bsm_node *returns = graph->block->returns;
  bsm_ptrmap marked = {0};
  if (returns->inputs.len == 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "the graph has no outputs");
  }
  for (size_t i = 0; i < returns->inputs.len; i++) {
    char name[32];
    bsm_itensor *tensor;
    BSM_TRY(output_tensor(ctx, bsm_node_in(returns, i), i, &tensor));
    /* An input, or a tensor returned twice, is copied: an output has a buffer
     * of its own. */
    if (!tensor->producer || bsm_ptrmap_get(&marked, tensor)) {
      bsm_layer *copy = bsm_network_add_identity(ctx->net, tensor);
      if (!copy) return bsm_ctx_take_error(ctx);
      tensor = bsm_layer_output(copy, 0);
    }
    BSM_TRY_ALLOC(bsm_ptrmap_set(ctx->net->arena, &marked, tensor, tensor));
    snprintf(name, sizeof name, "output_%zu", i);
    BSM_TRY(bsm_network_mark_output(ctx->net, tensor, name));
  }
  return BSM_OK;
}

/* ---- what nothing takes ---- */

typedef struct classify_state {
  const bsm_graph *graph;
  const bsm_aten_library *aten;
  const bsm_converter_registry *registry;
  bsm_arena *arena;
  bsm_ptrmap known; /* values that will be static */
} classify_state;

static bsm_status classify(classify_state *state, const bsm_node *node,
                           bsm_node_handler *out) {
  bool all = true, is_static;
  *out = BSM_NODE_UNSUPPORTED;
  if (bsm_node_is(node, "prim::Constant")) {
    *out = BSM_NODE_CONSTANT;
    is_static = true;
  } else {
    for (size_t i = 0; i < node->inputs.len; i++) {
      all &= bsm_ptrmap_get(&state->known, bsm_node_in(node, i)) != NULL;
    }
    const bsm_evaluator_pattern *evaluator =
        bsm_registry_find_evaluator(state->registry, node);
    bool evaluable = bsm_node_is_evaluable(state->aten, node);
    is_static = (all && (evaluator || evaluable)) ||
                (evaluator && evaluator->always_static);
    if (evaluator || is_static) {
      *out = BSM_NODE_EVALUATED;
    } else if (bsm_registry_find_converter(state->registry, node)) {
      *out = BSM_NODE_CONVERTED;
    }
  }
  for (size_t i = 0; is_static && i < node->outputs.len; i++) {
    bsm_value *value = bsm_node_out(node, i);
    if (!bsm_ptrmap_set(state->arena, &state->known, value, value)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

bsm_status bsm_classify_nodes(const bsm_graph *graph,
                              const bsm_aten_library *aten,
                              const bsm_converter_registry *registry,
                              bsm_status (*visit)(void *user,
                                                  const bsm_node *node,
                                                  bsm_node_handler handler),
                              void *user) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, graph->cx->arena->allocator);
  classify_state state = {graph, aten, registry, &scratch, {0}};
  bsm_status status = BSM_OK;
  for (const bsm_node *node = graph->block->first; node && !status;
       node = node->next) {
    bsm_node_handler handler;
    status = classify(&state, node, &handler);
    if (!status) status = visit(user, node, handler);
  }
  bsm_arena_destroy(&scratch);
  return status;
}

/* One operator that nothing takes, with all its places. */
typedef struct unsupported_op {
  const char *schema;
  size_t count;
  bsm_text places;
} unsupported_op;

typedef struct unsupported_list {
  bsm_arena *arena;
  bsm_strmap by_name;
  BSM_VEC(unsupported_op *) ops;
} unsupported_list;

static bsm_status collect_unsupported(void *user, const bsm_node *node,
                                      bsm_node_handler handler) {
  unsupported_list *list = user;
  if (handler != BSM_NODE_UNSUPPORTED) return BSM_OK;
  bsm_str name = bsm_str_of(bsm_node_qualified(node));
  unsupported_op *op = bsm_strmap_get(&list->by_name, name);
  if (!op) {
    op = BSM_NEW(list->arena, unsupported_op);
    BSM_TRY_ALLOC(op);
    op->schema = node->schema ? node->schema->text : node->kind;
    bsm_text_init(&op->places, list->arena);
    if (!bsm_strmap_set(list->arena, &list->by_name, name, op) ||
        !bsm_vec_push(list->arena, &list->ops, op)) {
      return BSM_FAIL_OOM();
    }
  }
  op->count++;
  bsm_text_puts(&op->places, "\n    at ");
  if (node->source.python_file || node->source.code_file) {
    bsm_source_print(&op->places, &node->source);
  } else {
    bsm_text_puts(&op->places, "an unknown place");
  }
  return op->places.failed ? BSM_FAIL_OOM() : BSM_OK;
}

/* One status that lists all operators nothing takes. */
static bsm_status check_support(const bsm_graph *graph,
                                const bsm_aten_library *aten,
                                const bsm_converter_registry *registry,
                                bsm_arena *scratch) {
  unsupported_list list = {scratch, {0}, {0}};
  bsm_text text;
  size_t nodes = 0;
  BSM_TRY(
      bsm_classify_nodes(graph, aten, registry, collect_unsupported, &list));
  if (list.ops.len == 0) return BSM_OK;
  bsm_text_init(&text, scratch);
  for (size_t i = 0; i < list.ops.len; i++) {
    const unsupported_op *op = list.ops.items[i];
    nodes += op->count;
    bsm_text_printf(&text, "\n  %s (%zu node%s)%s", op->schema, op->count,
                    op->count == 1 ? "" : "s", op->places.data);
  }
  if (text.failed) return BSM_FAIL_OOM();
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "%zu operator%s of the model (%zu node%s) %s no converter:%s",
                  list.ops.len, list.ops.len == 1 ? "" : "s", nodes,
                  nodes == 1 ? "" : "s", list.ops.len == 1 ? "has" : "have",
                  text.data);
}

static bsm_status convert(bsm_conversion_ctx *ctx, const bsm_graph *graph,
                          const char *const *input_names) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, ctx->impl->arena->allocator);
  bsm_status status =
      check_support(graph, ctx->impl->aten, ctx->impl->registry, &scratch);
  bsm_arena_destroy(&scratch);
  if (!status) status = add_inputs(ctx, graph, input_names);
  if (!status) status = convert_nodes(ctx, graph);
  if (!status) status = mark_outputs(ctx, graph);
  return bsm_status_join(status, bsm_ctx_take_error(ctx));
}

bsm_status bsm_convert_graph(const bsm_graph *graph,
                             const bsm_aten_library *aten,
                             bsm_converter_registry *registry, bsm_arena *arena,
                             const bsm_logger *logger,
                             const char *const *input_names,
                             bsm_network **out) {
  bsm_conversion_impl impl = {
      .arena = arena, .graph = graph, .aten = aten, .registry = registry};
  bsm_conversion_ctx ctx = {NULL, logger, &impl};
  *out = NULL;
  BSM_TRY(bsm_network_create(arena, logger, &ctx.net));
  bsm_status status = convert(&ctx, graph, input_names);
  if (status) {
    bsm_network_release(ctx.net);
    return status;
  }
  *out = ctx.net;
  return BSM_OK;
}
