/* SPDX-License-Identifier: Apache-2.0 */
/* The fallback: a node that no converter takes becomes a call of the reference
 * library when the engine runs.
 *
 * The op is called here once, with tensors without data for those that are
 * known only at run time. The dtypes and dims of its results are those of the
 * call. */
#include "conversion/conversion_internal.h"

#include <string.h>

#include "ir/draws.h"
#include "plugin/plugin_op.h"

/* Values nest at most this deep in the arguments. */
#define MAX_DEPTH 16

/* A call under construction. */
typedef struct reference_call {
  bsm_conversion_ctx *ctx;
  const bsm_node *node;
  const bsm_aten_op *op;
  BSM_VEC(bsm_itensor *) inputs;
  BSM_VEC(bsm_tensor *) tensors; /* one for each input */
  BSM_VEC(bsm_aten_output) outputs;
  bsm_ptrmap stand_ins; /* bsm_itensor -> the bsm_tensor that stands for it */
  bsm_ivalue *args, *results;
  int32_t *kinds;
} reference_call;

const char *bsm_op_refusal(const bsm_aten_op *op) {
  if (bsm_plugin_is_op(op)) {
    return "it is a plug-in's, which runs in plans alone, and its shapes or "
           "arguments are known only when the engine runs";
  }
  if (op->flags & BSM_ATEN_EFFECT) {
    return "it does more than compute results";
  }
  if (op->flags & BSM_ATEN_INPLACE) {
    return "it changes its argument, and no operator without \"_\" stands for "
           "it";
  }
  return NULL;
}

const char *bsm_fallback_refusal(const bsm_aten_library *aten,
                                 const bsm_node *node) {
  const bsm_aten_op *op =
      bsm_aten_find(aten, bsm_str_of(bsm_node_qualified(node)));
  if (!op || node->blocks.len > 0) {
    return "the reference library has no such op";
  }
  return bsm_node_draws(node, aten)
             ? "it draws random numbers, which plans do not do"
             : bsm_op_refusal(op);
}

/* ---- arguments ---- */

static bsm_status check_dtype(bsm_dtype dtype) {
  if (!bsm_dtype_is_quantized(dtype)) return BSM_OK;
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "a %s tensor would pass through the engine, which does not "
                  "keep its scale: dequantize it first",
                  bsm_dtype_name(dtype));
}

static bsm_status add_input(reference_call *c, bsm_itensor *input,
                            bsm_tensor *tensor) {
  bsm_arena *arena = c->ctx->impl->arena;
  BSM_TRY(check_dtype(input->dtype));
  if (!bsm_vec_push(arena, &c->inputs, input) ||
      !bsm_vec_push(arena, &c->tensors, tensor) ||
      !bsm_ptrmap_set(arena, &c->stand_ins, input, tensor)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

/* A tensor that is known only at run time is replaced by one without data. */
static bsm_status tensor_argument(reference_call *c, bsm_itensor *input,
                                  bsm_ivalue *out) {
  bsm_tensor *tensor = bsm_ptrmap_get(&c->stand_ins, input);
  if (!tensor) {
    BSM_TRY(bsm_tensor_new(c->ctx->impl->arena, input->dtype, input->dims, true,
                           &tensor));
    BSM_TRY(add_input(c, input, tensor));
  }
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

/* A constant: its values may decide the shapes of the results. */
static bsm_status constant_argument(reference_call *c, bsm_tensor *tensor,
                                    bsm_ivalue *out) {
  bsm_itensor *input = bsm_freeze_tensor(c->ctx, tensor);
  if (!input) return bsm_ctx_take_error(c->ctx);
  *out = bsm_iv_tensor(tensor);
  if (bsm_ptrmap_get(&c->stand_ins, input) == tensor) return BSM_OK;
  return add_input(c, input, tensor);
}

static bsm_status argument(reference_call *c, const bsm_ivalue *v, int depth,
                           bsm_ivalue *out);

static bsm_status arguments(reference_call *c, const bsm_ivalue *v,
                            size_t count, int depth, bsm_ivalue *out) {
  if (depth == 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "its arguments nest too deeply");
  }
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(argument(c, &v[i], depth - 1, &out[i]));
  }
  return BSM_OK;
}

static bsm_status argument(reference_call *c, const bsm_ivalue *v, int depth,
                           bsm_ivalue *out) {
  bsm_arena *arena = c->ctx->impl->arena;
  bsm_list *list;
  bsm_tuple *tuple;
  switch (v->tag) {
    case BSM_IVALUE_CONTAINER:
      return tensor_argument(c, bsm_container_tensor(v), out);
    case BSM_IVALUE_TENSOR:
      return constant_argument(c, v->u.tensor, out);
    case BSM_IVALUE_LIST:
      BSM_TRY(bsm_list_new(arena, v->u.list->elem_type, v->u.list->len, &list));
      *out = bsm_iv_list(list);
      return arguments(c, v->u.list->items, v->u.list->len, depth, list->items);
    case BSM_IVALUE_TUPLE:
      BSM_TRY(bsm_tuple_new(arena, v->u.tuple->len, &tuple));
      *out = bsm_iv_tuple(tuple);
      return arguments(c, v->u.tuple->items, v->u.tuple->len, depth,
                       tuple->items);
    case BSM_IVALUE_NONE:
    case BSM_IVALUE_INT:
    case BSM_IVALUE_DOUBLE:
    case BSM_IVALUE_BOOL:
    case BSM_IVALUE_COMPLEX:
    case BSM_IVALUE_STRING:
    case BSM_IVALUE_DEVICE:
      *out = *v;
      return BSM_OK;
    default:
      return BSM_FAIL(BSM_UNSUPPORTED, "an argument is of type %s",
                      bsm_iv_tag_name(v->tag));
  }
}

/* The node's inputs, and the defaults of arguments that it leaves out. */
static bsm_status all_arguments(reference_call *c, size_t *count) {
  const bsm_node *node = c->node;
  const bsm_schema *schema = node->schema;
  size_t n = node->inputs.len;
  if (schema && schema->arg_count > n) n = schema->arg_count;
  c->args = BSM_NEW_ARRAY(c->ctx->impl->arena, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(c->args);
  *count = n;
  for (size_t i = 0; i < n; i++) {
    bsm_var var = {0};
    if (i < node->inputs.len) {
      var = bsm_ctx_var(c->ctx, bsm_node_in(node, i));
    } else if (schema->args[i].has_default) {
      var.ivalue = &schema->args[i].default_value;
    }
    if (!var.itensor && !var.ivalue) {
      return BSM_FAIL(BSM_UNSUPPORTED, "argument %zu has no value", i);
    }
    bsm_status status = var.itensor
                            ? tensor_argument(c, var.itensor, &c->args[i])
                            : argument(c, var.ivalue, MAX_DEPTH, &c->args[i]);
    if (status) return bsm_status_note(status, "in argument %zu", i);
  }
  return BSM_OK;
}

/* ---- results ---- */

static bsm_status add_output(reference_call *c, const bsm_ivalue *v) {
  if (v->tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a result holds a value of type %s",
                    bsm_iv_tag_name(v->tag));
  }
  const bsm_tensor *t = v->u.tensor;
  BSM_TRY(check_dtype(t->dtype));
  const bsm_aten_output output = {t->dtype, t->sizes};
  BSM_TRY_ALLOC(bsm_vec_push(c->ctx->impl->arena, &c->outputs, output));
  return BSM_OK;
}

/* Whether a result is not a tensor, and is known during conversion. */
static bool is_plain(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_NONE || v->tag == BSM_IVALUE_INT ||
         v->tag == BSM_IVALUE_DOUBLE || v->tag == BSM_IVALUE_BOOL ||
         v->tag == BSM_IVALUE_COMPLEX || v->tag == BSM_IVALUE_STRING ||
         v->tag == BSM_IVALUE_DEVICE;
}

static bsm_status plan_results(reference_call *c) {
  for (size_t i = 0; i < c->node->outputs.len; i++) {
    const bsm_ivalue *v = &c->results[i];
    if (is_plain(v)) {
      c->kinds[i] = BSM_ATEN_UNUSED;
    } else if (v->tag == BSM_IVALUE_LIST) {
      if (v->u.list->len > INT32_MAX) return BSM_FAIL(BSM_LIMIT, "a long list");
      c->kinds[i] = (int32_t)v->u.list->len;
      for (size_t k = 0; k < v->u.list->len; k++) {
        BSM_TRY(add_output(c, &v->u.list->items[k]));
      }
    } else {
      c->kinds[i] = BSM_ATEN_TENSOR;
      BSM_TRY(add_output(c, v));
    }
  }
  return BSM_OK;
}

static bsm_status bind_results(reference_call *c, bsm_layer *layer) {
  bsm_conversion_ctx *ctx = c->ctx;
  size_t at = 0;
  for (size_t i = 0; i < c->node->outputs.len; i++) {
    const bsm_value *value = bsm_node_out(c->node, i);
    if (c->kinds[i] == BSM_ATEN_UNUSED) {
      BSM_TRY(bsm_associate_ivalue(ctx, value, c->results[i]));
    } else if (c->kinds[i] == BSM_ATEN_TENSOR) {
      bsm_associate_value_and_tensor(ctx, value, bsm_layer_output(layer, at++));
    } else {
      const size_t n = (size_t)c->kinds[i];
      BSM_TRY(bsm_associate_value_and_itensor_list(
          ctx, value, layer ? layer->outputs.items + at : NULL, n));
      at += n;
    }
  }
  return bsm_ctx_take_error(ctx);
}

/* ---- the call ---- */

static bsm_status call_op(reference_call *c, size_t arg_count) {
  bsm_conversion_impl *impl = c->ctx->impl;
  const size_t n = c->node->outputs.len;
  c->results = BSM_NEW_ARRAY(impl->arena, bsm_ivalue, n + 1);
  c->kinds = BSM_NEW_ARRAY(impl->arena, int32_t, n + 1);
  if (!c->results || !c->kinds) return BSM_FAIL_OOM();
  BSM_TRY(bsm_aten_check_call(c->op, c->args, arg_count, n));
  bsm_op_ctx cx = {.arena = impl->arena, .logger = c->ctx->logger};
  cx.max_tensor_bytes = (size_t)impl->graph->cx->limits.max_tensor_bytes;
  cx.work = &impl->graph->cx->work;
  cx.work->refused = false;
  cx.may_leave = true;
  bsm_status status =
      bsm_aten_call(&cx, c->op, c->args, arg_count, c->results, n);
  if (bsm_status_code(status) == BSM_LIMIT && cx.work->refused) {
    bsm_status_free(status); /* a call on constants: its shapes will do */
    cx.no_data = true;
    status = bsm_aten_call(&cx, c->op, c->args, arg_count, c->results, n);
  }
  return status;
}

static bsm_status add_layer(reference_call *c, size_t arg_count) {
  bsm_conversion_ctx *ctx = c->ctx;
  bsm_layer *layer = NULL;
  if (c->outputs.len > 0) {
    bsm_aten_call_params params = {.args = c->args,
                                   .arg_count = arg_count,
                                   .tensors = c->tensors.items,
                                   .tensor_count = c->tensors.len,
                                   .results = c->kinds,
                                   .result_count = c->node->outputs.len,
                                   .outputs = c->outputs.items,
                                   .output_count = c->outputs.len};
    params.op = bsm_arena_strdup(ctx->impl->arena, bsm_node_qualified(c->node));
    BSM_TRY_ALLOC(params.op);
    BSM_TRY(bsm_network_add_aten_call(ctx->net, c->inputs.items, c->inputs.len,
                                      &params, &layer));
    bsm_layer_set_name(layer, bsm_node_info(ctx, c->node));
  }
  return bind_results(c, layer);
}

bsm_status bsm_convert_by_reference(bsm_conversion_ctx *ctx,
                                    const bsm_node *node) {
  reference_call c = {.ctx = ctx, .node = node};
  size_t arg_count;
  const char *refusal = bsm_fallback_refusal(ctx->impl->aten, node);
  if (refusal) return BSM_FAIL(BSM_UNSUPPORTED, "%s", refusal);
  c.op = bsm_aten_find(ctx->impl->aten, bsm_str_of(bsm_node_qualified(node)));
  BSM_TRY(all_arguments(&c, &arg_count));
  BSM_TRY(call_op(&c, arg_count));
  BSM_TRY(plan_results(&c));
  return add_layer(&c, arg_count);
}
