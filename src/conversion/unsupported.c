/* SPDX-License-Identifier: Apache-2.0 */
/* Reports operators without a converter together, each with its nodes and their
 * places in the model. */
#include "conversion/conversion_internal.h"
#include "ir/draws.h"

/* One operator with all its places. */
typedef struct listed_op {
  const char *schema;
  const char *reason; /* of the first node, or NULL */
  size_t count;
  bsm_text places;
} listed_op;

typedef struct op_list {
  const bsm_conversion_ctx *ctx;
  bsm_arena *arena;
  bsm_strmap by_name;
  BSM_VEC(listed_op *) ops;
  size_t nodes, unsupported;
} op_list;

static bsm_status add_node(op_list *list, const bsm_node *node,
                           const char *reason) {
  bsm_str name = bsm_str_of(bsm_node_qualified(node));
  listed_op *op = bsm_strmap_get(&list->by_name, name);
  if (!op) {
    op = BSM_NEW(list->arena, listed_op);
    BSM_TRY_ALLOC(op);
    op->schema = node->schema ? node->schema->text : node->kind;
    op->reason = reason;
    bsm_text_init(&op->places, list->arena);
    if (!bsm_strmap_set(list->arena, &list->by_name, name, op) ||
        !bsm_vec_push(list->arena, &list->ops, op)) {
      return BSM_FAIL_OOM();
    }
  }
  op->count++;
  list->nodes++;
  bsm_text_puts(&op->places, "\n    at ");
  if (node->source.python_file || node->source.code_file) {
    bsm_source_print(&op->places, &node->source);
  } else {
    bsm_text_puts(&op->places, "an unknown place");
  }
  return op->places.failed ? BSM_FAIL_OOM() : BSM_OK;
}

/* One status for the whole list; OK when it is empty. */
static bsm_status list_status(const op_list *list, const char *what) {
  if (list->ops.len == 0) return BSM_OK;
  bsm_text text;
  bsm_text_init(&text, list->arena);
  for (size_t i = 0; i < list->ops.len; i++) {
    const listed_op *op = list->ops.items[i];
    bsm_text_printf(&text, "\n  %s (%zu node%s)", op->schema, op->count,
                    op->count == 1 ? "" : "s");
    if (op->reason) {
      bsm_text_printf(&text, ": %.*s", (int)strcspn(op->reason, "\n"),
                      op->reason);
    }
    bsm_text_puts(&text, op->places.data);
  }
  if (text.failed) return BSM_FAIL_OOM();
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "%zu operator%s of the model (%zu node%s) %s %s:%s",
                  list->ops.len, list->ops.len == 1 ? "" : "s", list->nodes,
                  list->nodes == 1 ? "" : "s",
                  list->ops.len == 1 ? "has" : "have", what, text.data);
}

static bsm_status collect(void *user, const bsm_node *node,
                          bsm_node_handler handler, const char *why) {
  op_list *list = user;
  const bsm_conversion_impl *impl = list->ctx->impl;
  if (handler == BSM_NODE_UNSUPPORTED) {
    list->unsupported++;
    return add_node(list, node, why);
  }
  if (handler == BSM_NODE_REFERENCE &&
      impl->options->require_full_compilation) {
    return add_node(list, node, "only the reference library has it");
  }
  return BSM_OK;
}

bsm_status bsm_check_support(bsm_conversion_ctx *ctx, const bsm_graph *graph) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, ctx->impl->arena->allocator);
  op_list list = {.ctx = ctx, .arena = &scratch};
  bsm_status status = bsm_classify_nodes(graph, ctx->impl->aten,
                                         ctx->impl->registry, collect, &list);
  /* What falls back is listed after conversion, when all of it is known. */
  if (!status && list.unsupported) status = list_status(&list, "no converter");
  bsm_arena_destroy(&scratch);
  return status;
}

bool bsm_node_is_convertible(const bsm_aten_library *aten,
                             const bsm_converter_registry *registry,
                             const bsm_node *node) {
  return !bsm_node_draws(node, aten) &&
         (bsm_registry_find_converter(registry, node) ||
          bsm_registry_find_evaluator(registry, node) ||
          !bsm_fallback_refusal(aten, node));
}

/* Programs may write, and draw random numbers. */
const char *bsm_call_refusal(const bsm_aten_library *aten,
                             const bsm_node *node) {
  const bsm_aten_op *op =
      bsm_aten_find(aten, bsm_str_of(bsm_node_qualified(node)));
  if (!op) return bsm_fallback_refusal(aten, node);
  if ((op->flags & BSM_ATEN_EFFECT) || bsm_aten_only_writes(op)) return NULL;
  return bsm_node_draws(node, aten) ? bsm_op_refusal(op)
                                    : bsm_fallback_refusal(aten, node);
}

bool bsm_node_is_callable(const bsm_aten_library *aten, const bsm_node *node) {
  return bsm_call_refusal(aten, node) == NULL;
}

bsm_status bsm_check_calls(const bsm_aten_library *aten,
                           const bsm_node *const *nodes, size_t count,
                           bool all) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, NULL);
  op_list list = {.arena = &scratch};
  bsm_status status = BSM_OK;
  for (size_t i = 0; i < count && !status; i++) {
    const char *reason = bsm_call_refusal(aten, nodes[i]);
    if (!reason && all) {
      reason = "it depends on data, so only the reference library can run it";
    }
    if (reason) status = add_node(&list, nodes[i], reason);
  }
  if (!status) status = list_status(&list, "no converter");
  bsm_arena_destroy(&scratch);
  return status;
}

bsm_status bsm_report_fallbacks(bsm_conversion_ctx *ctx) {
  const bsm_conversion_impl *impl = ctx->impl;
  bsm_arena scratch;
  bsm_arena_init(&scratch, impl->arena->allocator);
  op_list list = {.ctx = ctx, .arena = &scratch};
  bsm_status status = BSM_OK;
  for (size_t i = 0; i < impl->fallbacks.len && !status; i++) {
    status = add_node(&list, impl->fallbacks.items[i].node,
                      impl->fallbacks.items[i].reason);
  }
  for (size_t i = 0; i < list.ops.len && !status; i++) {
    const listed_op *op = list.ops.items[i];
    BSM_LOG_INFO("%s runs by the reference library (%zu node%s): %.*s",
                 op->schema, op->count, op->count == 1 ? "" : "s",
                 (int)strcspn(op->reason, "\n"), op->reason);
  }
  if (!status && impl->options->require_full_compilation) {
    status = list_status(&list, "no converter that takes it");
  }
  bsm_arena_destroy(&scratch);
  return status;
}
