/* SPDX-License-Identifier: Apache-2.0 */
/* The op around a plug-in's functions. */
#include "plugin/plugin_op.h"

#include "plugin/call.h"
#include "plugin/plugin_registry.h"

typedef struct plugin_op {
  bsm_aten_op op; /* first: an op points here */
  const bsm_layer_plugin *layer;
  const bsm_evaluator_plugin *evaluator;
} plugin_op;

/* As many results as a schema may have; more are refused by the caller. */
#define MAX_RESULTS BSM_PLUGIN_MAX_OUTPUTS

static bsm_status evaluate(bsm_op_ctx *cx, const plugin_op *self,
                           bsm_call *call, bsm_ivalue *outs) {
  call->phase = BSM_CALL_EVALUATE;
  call->op = cx;
  call->results = outs;
  BSM_TRY(bsm_call_do(call, self->evaluator->evaluate));
  for (size_t i = 0; i < call->output_count; i++) {
    if (call->outputs[i].dims.rank < 0) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "the evaluator of %s did not give result %zu", call->what,
                      i);
    }
  }
  return BSM_OK;
}

static bsm_status run_layer(bsm_op_ctx *cx, const plugin_op *self,
                            bsm_call *call, bsm_ivalue *outs) {
  size_t size;
  BSM_TRY(bsm_call_shape(call, self->layer));
  for (size_t i = 0; i < call->output_count; i++) {
    bsm_tensor *tensor;
    BSM_TRY(
        bsm_op_new(cx, call->outputs[i].dtype, call->outputs[i].dims, &tensor));
    outs[i] = bsm_iv_tensor(tensor);
    call->outputs[i].data = bsm_tensor_data(tensor);
  }
  if (cx->meta) return BSM_OK;
  if (!self->layer->run) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "%s has no function to compute with",
                    call->what);
  }
  BSM_TRY(bsm_call_workspace_size(call, self->layer, &size));
  if (size) {
    call->workspace = bsm_arena_alloc(cx->arena, size, 64);
    BSM_TRY_ALLOC(call->workspace);
  }
  call->phase = BSM_CALL_RUN;
  return bsm_call_do(call, self->layer->run);
}

static bsm_status call_plugin(bsm_op_ctx *cx, const bsm_ivalue *args,
                              bsm_ivalue *outs, const bsm_aten_op *op) {
  const plugin_op *self = (const plugin_op *)op;
  const bsm_evaluator_plugin *evaluator = self->evaluator;
  const bool early = evaluator && (evaluator->flags & BSM_EVALUATOR_OF_SHAPES);
  bsm_call call;
  bsm_call_init(&call, self->layer ? self->layer->name : evaluator->schema,
                (size_t)op->variant);
  BSM_TRY(bsm_call_from_ivalues(&call, args, cx->arg_count, cx->arena));
  if (evaluator && (!cx->meta || early)) {
    bsm_status status = evaluate(cx, self, &call, outs);
    if (bsm_status_code(status) != BSM_DATA_DEPENDENT || !self->layer) {
      return status;
    }
    bsm_status_free(status);
    call.op = NULL;
    for (size_t i = 0; i < call.output_count; i++) {
      call.outputs[i].dims.rank = -1;
    }
  }
  if (self->layer) return run_layer(cx, self, &call, outs);
  return BSM_FAIL(BSM_DATA_DEPENDENT, "%s needs the values of its arguments",
                  call.what);
}

bool bsm_plugin_is_op(const bsm_aten_op *op) {
  return op && op->fn == call_plugin;
}

static bsm_str qualified(const char *schema) {
  return (bsm_str){schema, strcspn(schema, "(")};
}

/* The op of this name, new when it is not yet a plug-in's. */
static bsm_status op_for(bsm_arena *arena, bsm_aten_library *library,
                         const char *schema, uint32_t results,
                         plugin_op **out) {
  const bsm_aten_op *found = bsm_aten_find(library, qualified(schema));
  if (bsm_plugin_is_op(found) && found->variant == (int32_t)results) {
    *out = (plugin_op *)(uintptr_t)found;
    return BSM_OK;
  }
  *out = BSM_NEW(arena, plugin_op);
  BSM_TRY_ALLOC(*out);
  (*out)->op = (bsm_aten_op){schema, call_plugin, (int32_t)results, 0};
  return bsm_aten_library_add(arena, library, &(*out)->op);
}

/* The number of values behind "->" of an evaluator's schema. */
static uint32_t results_of(const char *schema) {
  const char *p = strstr(schema, "->");
  uint32_t count = 1;
  int depth = 0;
  if (!p) return 0;
  p += 2 + strspn(p + 2, " ");
  if (*p != '(') return 1;
  if (p[1] == ')') return 0;
  for (p++; *p && (depth > 0 || *p != ')'); p++) {
    if (*p == '(' || *p == '[') depth++;
    if (*p == ')' || *p == ']') depth--;
    if (*p == ',' && depth == 0) count++;
  }
  return count;
}

bsm_status bsm_plugin_add_ops(bsm_arena *arena, bsm_aten_library *library,
                              const bsm_plugin_registry *registry) {
  for (size_t i = 0; i < bsm_plugin_registry_count(registry); i++) {
    const bsm_plugin *plugin = bsm_plugin_registry_at(registry, i);
    plugin_op *op;
    for (size_t k = 0; k < plugin->layer_count; k++) {
      const bsm_layer_plugin *layer = &plugin->layers[k];
      if (!layer->schema) continue;
      BSM_TRY(op_for(arena, library, layer->schema, bsm_plugin_outputs(layer),
                     &op));
      op->layer = layer;
    }
    for (size_t k = 0; k < plugin->evaluator_count; k++) {
      const bsm_evaluator_plugin *evaluator = &plugin->evaluators[k];
      const uint32_t results = results_of(evaluator->schema);
      if (results < 1 || results > MAX_RESULTS) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "the evaluator of %s: 1 to %d results are possible",
                        evaluator->schema, MAX_RESULTS);
      }
      BSM_TRY(op_for(arena, library, evaluator->schema, results, &op));
      op->evaluator = evaluator;
    }
  }
  return BSM_OK;
}
