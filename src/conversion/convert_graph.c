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
    if (!type->has_dtype || !bsm_type_has_sizes(type)) {
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

/* Returns the recorded failure of accessors and layers, and appends the
 * converter's own. */
static bsm_status run_converter(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_converter_entry *entry) {
  bsm_args args;
  BSM_TRY(bsm_args_init(ctx, node, entry, &args));
  bsm_status status = entry->pattern->convert(ctx, node, &args);
  return bsm_status_join(bsm_ctx_take_error(ctx), status);
}

/* ---- falling back ---- */

/* The size of the network before a converter, whose layers may have to be
 * removed. */
typedef struct net_mark {
  size_t layers, tensors, stale_count;
  uint32_t layer_id, tensor_id;
} net_mark;

static net_mark mark_network(const bsm_network *net) {
  return (net_mark){net->layers.len, net->tensors.len, net->stale_count,
                    net->next_layer_id, net->next_tensor_id};
}

/* Removes all layers since the mark, and the associations of the outputs of
 * `node`. Constants among the layers are removed too, which bsm_freeze_tensor
 * notices. */
static bsm_status undo(bsm_conversion_ctx *ctx, const bsm_node *node,
                       net_mark mark) {
  bsm_conversion_impl *impl = ctx->impl;
  bsm_network *net = ctx->net;
  net->layers.len = mark.layers;
  net->tensors.len = mark.tensors;
  net->stale_count = mark.stale_count;
  net->next_layer_id = mark.layer_id;
  net->next_tensor_id = mark.tensor_id;
  for (size_t i = 0; i < node->outputs.len; i++) {
    const bsm_value *value = bsm_node_out(node, i);
    if (!bsm_ptrmap_set(impl->arena, &impl->value_tensor_map, value, NULL) ||
        !bsm_ptrmap_set(impl->arena, &impl->evaluated_value_map, value, NULL)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

/* Leaves the node to the reference library. `why` says why no converter takes
 * it, and is freed. */
static bsm_status fall_back(bsm_conversion_ctx *ctx, const bsm_node *node,
                            bsm_status why) {
  bsm_conversion_impl *impl = ctx->impl;
  bsm_fallback fallback = {node, NULL};
  fallback.reason = bsm_arena_strdup(impl->arena, bsm_status_message(why));
  bsm_status_free(why);
  BSM_TRY_ALLOC(fallback.reason);
  bsm_status status = bsm_convert_by_reference(ctx, node);
  if (bsm_status_code(status) == BSM_UNSUPPORTED ||
      bsm_status_code(status) == BSM_DATA_DEPENDENT) {
    bsm_status both = BSM_FAIL(
        BSM_UNSUPPORTED, "%s; the reference library cannot take it either: %s",
        fallback.reason, bsm_status_message(status));
    bsm_status_free(status);
    return both;
  }
  if (status) return status;
  BSM_TRY_ALLOC(bsm_vec_push(impl->arena, &impl->fallbacks, fallback));
  return BSM_OK;
}

/* Whether the reference library is to take the node: no layers can, or what
 * its converter would compute now takes too much work. */
static bool is_left(const bsm_work_budget *work, bsm_status status) {
  return bsm_status_code(status) == BSM_UNSUPPORTED ||
         (bsm_status_code(status) == BSM_LIMIT && work->refused);
}

static bsm_status add_layers(bsm_conversion_ctx *ctx, const bsm_node *node,
                             bsm_node_handler *handler) {
  const bsm_converter_entry *entry =
      bsm_registry_find_converter(ctx->impl->registry, node);
  *handler = BSM_NODE_CONVERTED;
  bsm_status status;
  if (entry) {
    const net_mark mark = mark_network(ctx->net);
    bsm_work_budget *work = &ctx->impl->graph->cx->work;
    work->refused = false;
    status = run_converter(ctx, node, entry);
    if (!is_left(work, status)) return status;
    BSM_TRY(undo(ctx, node, mark));
  } else {
    status = BSM_FAIL(BSM_UNSUPPORTED, "no converter for %s",
                      bsm_node_qualified(node));
  }
  *handler = BSM_NODE_REFERENCE;
  return fall_back(ctx, node, status);
}

static bsm_status convert_node(bsm_conversion_ctx *ctx, const bsm_node *node,
                               bsm_node_handler *handler) {
  bsm_conversion_impl *impl = ctx->impl;
  bool done = false;
  *handler = BSM_NODE_CONSTANT;
  if (bsm_node_is(node, "prim::Constant")) {
    const bsm_ivalue *value = bsm_node_attr_get(node, "value");
    if (!value)
      return bsm_associate_ivalue(ctx, bsm_node_out(node, 0), bsm_iv_none());
    return bsm_associate_value_and_ivalue(ctx, bsm_node_out(node, 0), value);
  }
  *handler = BSM_NODE_EVALUATED;
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
  const bsm_convert_options *options = impl->options;
  const char *forced =
      options->must_fall_back
          ? options->must_fall_back(options->fallback_user, node)
          : NULL;
  if (!forced) return add_layers(ctx, node, handler);
  *handler = BSM_NODE_REFERENCE;
  return fall_back(ctx, node, BSM_FAIL(BSM_UNSUPPORTED, "%s", forced));
}

/* Warns of used outputs that have not been associated. Using such an output is
 * an error later. */
static void check_outputs(bsm_conversion_ctx *ctx, const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_var var = bsm_ctx_var(ctx, bsm_node_out(node, i));
    if (var.itensor || var.ivalue || bsm_node_out(node, i)->uses.len == 0) {
      continue;
    }
    BSM_LOG_WARNING(
        "output %zu of node %s has neither a tensor nor a static value: its "
        "converter or evaluator is defective",
        i, bsm_node_info(ctx, node));
  }
}

/* Why the last node that fell back did so. */
static const char *last_reason(const bsm_conversion_ctx *ctx) {
  const bsm_conversion_impl *impl = ctx->impl;
  const size_t count = impl->fallbacks.len;
  return count ? impl->fallbacks.items[count - 1].reason : NULL;
}

static bsm_status convert_nodes(bsm_conversion_ctx *ctx,
                                const bsm_graph *graph) {
  size_t done = 0;
  for (const bsm_node *node = graph->block->first; node; node = node->next) {
    BSM_TRY(bsm_progress_count(graph->cx->progress, "converting", done++,
                               graph->node_count));
    ctx->impl->node = node;
    size_t before = ctx->net->layers.len;
    bsm_node_handler handler;
    bsm_status status = convert_node(ctx, node, &handler);
    if (status) {
      return bsm_status_note(status, "in node %s", bsm_node_info(ctx, node));
    }
    for (size_t i = before; i < ctx->net->layers.len; i++) {
      bsm_layer *layer = ctx->net->layers.items[i];
      if (!layer->name) layer->name = bsm_node_info(ctx, node);
      layer->source = bsm_node_info(ctx, node);
      layer->scope = node->source.scope;
    }
    check_outputs(ctx, node);
    const bsm_convert_options *options = ctx->impl->options;
    if (!options->visit) continue;
    BSM_TRY(options->visit(
        options->user, node, handler,
        handler == BSM_NODE_REFERENCE ? last_reason(ctx) : NULL));
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
    /* An input, or a tensor that is returned several times, is copied, because
     * each output has its own buffer. */
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

/* ---- classification ---- */

typedef struct classify_state {
  const bsm_graph *graph;
  const bsm_aten_library *aten;
  const bsm_converter_registry *registry;
  bsm_arena *arena;
  bsm_ptrmap known; /* values that are going to be static */
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
    } else if (!bsm_fallback_refusal(state->aten, node)) {
      *out = BSM_NODE_REFERENCE;
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
                              bsm_node_visit *visit, void *user) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, graph->cx->arena->allocator);
  classify_state state = {graph, aten, registry, &scratch, {0}};
  bsm_status status = BSM_OK;
  for (const bsm_node *node = graph->block->first; node && !status;
       node = node->next) {
    bsm_node_handler handler;
    status = classify(&state, node, &handler);
    const char *why = handler == BSM_NODE_UNSUPPORTED
                          ? bsm_fallback_refusal(aten, node)
                          : NULL;
    if (!status) status = visit(user, node, handler, why);
  }
  bsm_arena_destroy(&scratch);
  return status;
}

static bsm_status convert(bsm_conversion_ctx *ctx, const bsm_graph *graph) {
  bsm_status status = bsm_check_support(ctx, graph);
  if (!status) {
    status = add_inputs(ctx, graph, ctx->impl->options->input_names);
  }
  if (!status) status = convert_nodes(ctx, graph);
  if (!status) status = bsm_report_fallbacks(ctx);
  if (!status) status = mark_outputs(ctx, graph);
  return bsm_status_join(status, bsm_ctx_take_error(ctx));
}

bsm_status bsm_convert_graph_with(const bsm_graph *graph,
                                  const bsm_aten_library *aten,
                                  bsm_converter_registry *registry,
                                  bsm_arena *arena, const bsm_logger *logger,
                                  const bsm_convert_options *options,
                                  bsm_network **out) {
  bsm_conversion_impl impl = {.arena = arena,
                              .graph = graph,
                              .aten = aten,
                              .registry = registry,
                              .options = options};
  bsm_conversion_ctx ctx = {NULL, logger, &impl};
  *out = NULL;
  BSM_TRY(bsm_network_create(arena, logger, &ctx.net));
  bsm_status status = convert(&ctx, graph);
  if (status) {
    bsm_network_release(ctx.net);
    return status;
  }
  *out = ctx.net;
  return BSM_OK;
}

bsm_status bsm_convert_graph(const bsm_graph *graph,
                             const bsm_aten_library *aten,
                             bsm_converter_registry *registry, bsm_arena *arena,
                             const bsm_logger *logger,
                             const char *const *input_names,
                             bsm_network **out) {
  const bsm_convert_options options = {.input_names = input_names};
  return bsm_convert_graph_with(graph, aten, registry, arena, logger, &options,
                                out);
}
