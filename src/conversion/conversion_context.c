/* SPDX-License-Identifier: Apache-2.0 */
/* The conversion context: both value maps, names, memory, the sticky error. */
#include <stdalign.h>
#include <string.h>

#include "aten/ivalue_parts.h"
#include "conversion/conversion_internal.h"

void bsm_ctx_fail(bsm_conversion_ctx *ctx, bsm_status status) {
  if (ctx->impl->error) {
    bsm_status_free(status);
  } else {
    ctx->impl->error = status;
  }
}

bsm_status bsm_ctx_take_error(bsm_conversion_ctx *ctx) {
  bsm_status status = ctx->impl->error;
  ctx->impl->error = BSM_OK;
  return bsm_status_join(status, bsm_network_take_error(ctx->net));
}

bool bsm_ctx_takes(const bsm_conversion_ctx *ctx, const bsm_layer *layer) {
  const bsm_convert_options *options = ctx->impl->options;
  return options->takes && options->takes(options->takes_user, layer);
}

bsm_var bsm_ctx_var(bsm_conversion_ctx *ctx, const bsm_value *value) {
  bsm_var var = {0};
  var.itensor = bsm_ptrmap_get(&ctx->impl->value_tensor_map, value);
  if (!var.itensor) {
    var.ivalue = bsm_ptrmap_get(&ctx->impl->evaluated_value_map, value);
  }
  return var;
}

bsm_status bsm_associate_value_and_ivalue(bsm_conversion_ctx *ctx,
                                          const bsm_value *value,
                                          const bsm_ivalue *ivalue) {
  if (!value || !ivalue) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "associating a static value: no value");
  }
  bsm_itensor *inner = bsm_container_tensor(ivalue);
  bsm_ptrmap *map =
      inner ? &ctx->impl->value_tensor_map : &ctx->impl->evaluated_value_map;
  if (!bsm_ptrmap_set(ctx->impl->arena, map, value,
                      inner ? (void *)inner : (void *)ivalue)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

bsm_status bsm_associate_ivalue(bsm_conversion_ctx *ctx, const bsm_value *value,
                                bsm_ivalue ivalue) {
  bsm_ivalue *copy = BSM_NEW(ctx->impl->arena, bsm_ivalue);
  BSM_TRY_ALLOC(copy);
  *copy = ivalue;
  return bsm_associate_value_and_ivalue(ctx, value, copy);
}

bsm_status bsm_associate_var(bsm_conversion_ctx *ctx, const bsm_value *value,
                             bsm_var var) {
  if (!var.itensor) {
    return bsm_associate_value_and_ivalue(ctx, value, var.ivalue);
  }
  if (!bsm_ptrmap_set(ctx->impl->arena, &ctx->impl->value_tensor_map, value,
                      var.itensor)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

bsm_itensor *bsm_associate_value_and_tensor(bsm_conversion_ctx *ctx,
                                            const bsm_value *value,
                                            bsm_itensor *tensor) {
  bsm_conversion_impl *impl = ctx->impl;
  if (!value || !tensor || tensor->net != ctx->net) {
    bsm_ctx_fail(ctx, bsm_status_join(
                          bsm_network_take_error(ctx->net),
                          BSM_FAIL(BSM_INVALID_ARGUMENT,
                                   "associating a value and a tensor: %s",
                                   !value    ? "no value"
                                   : !tensor ? "no tensor"
                                             : "a tensor of another network")));
    return NULL;
  }
  /* A tensor that several values stand for keeps its first name. */
  if (tensor->producer && !bsm_ptrmap_get(&impl->named, tensor)) {
    const char *label = bsm_value_text(ctx, value);
    if (!bsm_ptrmap_set(impl->arena, &impl->named, tensor, tensor)) {
      bsm_ctx_fail(ctx, BSM_FAIL_OOM());
    }
    if (label) bsm_itensor_set_name(tensor, label + 1);
  }
  if (!bsm_ptrmap_set(impl->arena, &impl->value_tensor_map, value, tensor)) {
    bsm_ctx_fail(ctx, BSM_FAIL_OOM());
    return NULL;
  }
  return tensor;
}

bsm_status bsm_iv_container(bsm_conversion_ctx *ctx, bsm_itensor *tensor,
                            bsm_ivalue *out) {
  bsm_tensor_container *container =
      BSM_NEW(ctx->impl->arena, bsm_tensor_container);
  BSM_TRY_ALLOC(container);
  container->tensor = tensor;
  *out = (bsm_ivalue){0};
  out->tag = BSM_IVALUE_CONTAINER;
  out->u.container = container;
  return BSM_OK;
}

bsm_itensor *bsm_container_tensor(const bsm_ivalue *ivalue) {
  if (!ivalue || ivalue->tag != BSM_IVALUE_CONTAINER) return NULL;
  return ((const bsm_tensor_container *)ivalue->u.container)->tensor;
}

static bool is_of_the_run(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_CONTAINER ||
         (v->tag == BSM_IVALUE_TENSOR && bsm_tensor_is_meta(v->u.tensor));
}

bool bsm_ivalue_is_static(const bsm_ivalue *ivalue) {
  return !bsm_iv_any(ivalue, 1, is_of_the_run);
}

bsm_status bsm_associate_value_and_itensor_list(bsm_conversion_ctx *ctx,
                                                const bsm_value *value,
                                                bsm_itensor *const *tensors,
                                                size_t count) {
  bsm_list *list;
  BSM_TRY(bsm_list_new(ctx->impl->arena, NULL, count, &list));
  for (size_t i = 0; i < count; i++) {
    if (!tensors[i] || tensors[i]->net != ctx->net) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "associating a list of tensors: element %zu is not a "
                      "tensor of this network",
                      i);
    }
    BSM_TRY(bsm_iv_container(ctx, tensors[i], &list->items[i]));
  }
  return bsm_associate_ivalue(ctx, value, bsm_iv_list(list));
}

void *bsm_conversion_alloc(bsm_conversion_ctx *ctx, size_t size) {
  return bsm_arena_alloc(ctx->impl->arena, size ? size : 1,
                         alignof(max_align_t));
}

const char *bsm_value_text(bsm_conversion_ctx *ctx, const bsm_value *value) {
  char buffer[128];
  const char *text =
      bsm_arena_strdup(ctx->impl->arena, bsm_value_label(value, buffer));
  if (!text) bsm_ctx_fail(ctx, BSM_FAIL_OOM());
  return text;
}

const char *bsm_node_info(bsm_conversion_ctx *ctx, const bsm_node *node) {
  const char *known = bsm_ptrmap_get(&ctx->impl->infos, node);
  char buffer[128];
  bsm_text text;
  if (known) return known;
  bsm_text_init(&text, ctx->impl->arena);
  for (size_t i = 0; i < node->outputs.len; i++) {
    if (i) bsm_text_puts(&text, ", ");
    bsm_text_puts(&text, bsm_value_label(bsm_node_out(node, i), buffer));
  }
  if (node->outputs.len) bsm_text_puts(&text, " = ");
  bsm_text_puts(&text, node->kind);
  bsm_text_puts(&text, "(");
  for (size_t i = 0; i < node->inputs.len; i++) {
    if (i) bsm_text_puts(&text, ", ");
    bsm_text_puts(&text, bsm_value_label(bsm_node_in(node, i), buffer));
  }
  bsm_text_puts(&text, ")");
  if (node->source.python_file || node->source.code_file ||
      (node->source.scope && *node->source.scope)) {
    bsm_text_puts(&text, " at ");
    bsm_source_print(&text, &node->source);
  }
  if (text.failed ||
      !bsm_ptrmap_set(ctx->impl->arena, &ctx->impl->infos, node, text.data)) {
    bsm_ctx_fail(ctx, BSM_FAIL_OOM());
    return node->kind;
  }
  return text.data;
}
