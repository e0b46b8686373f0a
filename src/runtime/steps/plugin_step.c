/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that call a layer of a plug-in. Devices do not know them.
 *
 * What an engine file says of such a step is checked in three stages: its
 * tensors and sizes when it is loaded; then, as soon as the layer is
 * registered, its arguments against the layer's schema (or its parameters by
 * the layer's `check`), and its outputs against the layer's shape function.
 * Nothing runs before all three passed: preparing fails without the layer. */
#include "runtime/steps/plugin_step.h"

#include <inttypes.h>
#include <stdio.h>

#include "plugin/call.h"
#include "plugin/plugin_registry.h"
#include "runtime/steps/step_driver.h"

/* Belongs to one context, which one thread uses at a time. So the call is
 * filled in place, and running allocates nothing. */
typedef struct prepared_plugin {
  const bsm_layer_plugin *layer;
  const char *description;
  bsm_call call;
} prepared_plugin;

static const bsm_plan_tensor *tensor_at(const bsm_plan *plan, uint32_t id) {
  return &plan->tensors[id];
}

static bsm_status check_contiguous(const bsm_plan_tensor *t) {
  int64_t wanted = 1;
  for (int32_t i = 0; i < t->dims.rank; i++) {
    if (t->dims.d[i] == 0) return BSM_OK;
  }
  for (int32_t i = t->dims.rank - 1; i >= 0; i--) {
    if (t->dims.d[i] != 1 && t->strides[i] != wanted) {
      return BSM_FAIL(BSM_CORRUPT, "tensor '%s' is not contiguous", t->name);
    }
    wanted *= t->dims.d[i]; /* the plan's verifier has bounded the product */
  }
  return BSM_OK;
}

/* Checks of what the plan says. */
static bsm_status check_plan(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_plugin *p = &step->params->plugin;
  if (!p->name[0] || !memchr(p->name, 0, sizeof(p->name))) {
    return BSM_FAIL(BSM_CORRUPT, "a custom layer without a name");
  }
  if (step->input_count > BSM_PLUGIN_MAX_INPUTS || step->output_count == 0 ||
      step->output_count > BSM_PLUGIN_MAX_OUTPUTS) {
    return BSM_FAIL(BSM_CORRUPT,
                    "a custom layer with %" PRIu32 " inputs and %" PRIu32
                    " outputs",
                    step->input_count, step->output_count);
  }
  for (uint32_t i = 0; i < step->input_count; i++) {
    BSM_TRY_NOTE(check_contiguous(tensor_at(plan, step->inputs[i])),
                 "input %" PRIu32, i);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    BSM_TRY_NOTE(check_contiguous(tensor_at(plan, step->outputs[i])),
                 "output %" PRIu32, i);
  }
  return BSM_OK;
}

/* The parameters, copied to memory that is aligned for reading them in place.
 */
static bsm_status find_params(const bsm_plan *plan, const bsm_plan_step *step,
                              bsm_arena *arena, const void **out,
                              size_t *size) {
  const uint32_t id = step->weights[0];
  *out = NULL;
  *size = 0;
  if (id == BSM_NO_WEIGHTS) return BSM_OK;
  const bsm_plan_weights *w = &plan->weights[id];
  if (w->size > SIZE_MAX) return BSM_FAIL(BSM_LIMIT, "too many parameters");
  *out = w->data;
  *size = (size_t)w->size;
  if ((uintptr_t)w->data % 8 == 0) return BSM_OK;
  void *copy = bsm_arena_alloc(arena, *size + 1, 8);
  BSM_TRY_ALLOC(copy);
  memcpy(copy, w->data, *size);
  *out = copy;
  return BSM_OK;
}

static bsm_status read_params(const bsm_plan *plan, const bsm_plan_step *step,
                              const bsm_layer_plugin *layer, bsm_call *call,
                              bsm_arena *arena) {
  const void *params;
  size_t size;
  BSM_TRY(find_params(plan, step, arena, &params, &size));
  if (layer->schema) {
    return bsm_status_note(bsm_call_args_decode(call, layer->schema, params,
                                                size, step->input_count, arena),
                           "in the arguments of %s", layer->name);
  }
  call->params = params;
  call->params_size = size;
  return bsm_status_note(layer->check(params, size), "in the parameters of %s",
                         layer->name);
}

/* Checks by the layer. Fills *call, whose arrays have no data yet. */
static bsm_status check_layer(const bsm_plan *plan, const bsm_plan_step *step,
                              const bsm_layer_plugin *layer, bsm_arena *arena,
                              bsm_call *call) {
  bsm_call_init(call, layer->name, bsm_plugin_outputs(layer));
  if (!layer->run || step->output_count != bsm_plugin_outputs(layer)) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " outputs of %s, which %s %" PRIu32,
                    step->output_count, layer->name,
                    layer->run ? "has" : "cannot run and has",
                    bsm_plugin_outputs(layer));
  }
  call->input_count = step->input_count;
  for (uint32_t i = 0; i < step->input_count; i++) {
    const bsm_plan_tensor *t = tensor_at(plan, step->inputs[i]);
    call->inputs[i] = (bsm_array){NULL, t->dtype, t->dims, NULL};
  }
  BSM_TRY(read_params(plan, step, layer, call, arena));
  BSM_TRY(bsm_call_shape(call, layer));
  for (uint32_t i = 0; i < step->output_count; i++) {
    const bsm_plan_tensor *t = tensor_at(plan, step->outputs[i]);
    const bsm_array *wanted = &call->outputs[i];
    if (t->dtype != wanted->dtype || !bsm_dims_equal(t->dims, wanted->dims)) {
      return BSM_FAIL(BSM_CORRUPT,
                      "output %" PRIu32
                      " of %s is %s%s, its shape function "
                      "says %s%s",
                      i, layer->name, bsm_dtype_name(t->dtype),
                      bsm_dims_str(t->dims), bsm_dtype_name(wanted->dtype),
                      bsm_dims_str(wanted->dims));
    }
  }
  return BSM_OK;
}

static bsm_status check(const bsm_step_env *env, const bsm_plan *plan,
                        const bsm_plan_step *step) {
  BSM_TRY(check_plan(plan, step));
  const bsm_layer_plugin *layer = bsm_plugin_find_layer(
      env->plugins, step->params->plugin.name, step->params->plugin.version);
  if (!layer) return BSM_OK;
  bsm_arena scratch;
  bsm_call call;
  bsm_arena_init(&scratch, env->allocator);
  bsm_status status = check_layer(plan, step, layer, &scratch, &call);
  bsm_arena_destroy(&scratch);
  return status;
}

static bsm_status enqueue(const bsm_prepared_step *prepared,
                          const bsm_run *run) {
  prepared_plugin *p = (prepared_plugin *)(uintptr_t)prepared->impl;
  const bsm_plan_step *step = prepared->step;
  for (uint32_t i = 0; i < step->input_count; i++) {
    p->call.inputs[i].data =
        bsm_run_address(run, prepared->plan, step->inputs[i]);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    p->call.outputs[i].data =
        bsm_run_address(run, prepared->plan, step->outputs[i]);
  }
  p->call.workspace = prepared->scratch_size ? run->scratch : NULL;
  return bsm_call_do(&p->call, p->layer->run);
}

static bsm_status prepare(const bsm_step_env *env, const bsm_run *runs,
                          const bsm_plan *plan, const bsm_plan_step *step,
                          bsm_arena *arena, bsm_prepared_step *out) {
  const bsm_step_plugin *params = &step->params->plugin;
  const bsm_layer_plugin *layer;
  (void)runs;
  BSM_TRY(bsm_plugin_need_layer(env->plugins, params->name, params->version,
                                &layer));
  prepared_plugin *p = BSM_NEW(arena, prepared_plugin);
  BSM_TRY_ALLOC(p);
  p->layer = layer;
  p->description = bsm_arena_printf(arena, "%s version %" PRIu32, layer->name,
                                    layer->version);
  BSM_TRY_ALLOC(p->description);
  BSM_TRY(check_layer(plan, step, layer, arena, &p->call));
  *out = (bsm_prepared_step){
      .enqueue = enqueue, .plan = plan, .step = step, .impl = p};
  BSM_TRY(bsm_call_workspace_size(&p->call, layer, &out->scratch_size));
  p->call.phase = BSM_CALL_RUN;
  p->call.pool = env->pool;
  return BSM_OK;
}

/* "demo::swish_clamp version 1" */
static const char *describe(const bsm_step_env *env,
                            const bsm_prepared_step *prepared) {
  (void)env;
  return ((const prepared_plugin *)prepared->impl)->description;
}

const bsm_step_driver bsm_plugin_step_driver = {check, prepare, NULL, describe};

/* ---- what an engine needs ---- */

bsm_status bsm_plugin_list_layers(const bsm_plan *plan, bsm_arena *arena,
                                  bsm_engine_layer **out, size_t *count) {
  BSM_VEC(bsm_engine_layer) list = {0};
  bsm_strmap seen = {0};
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].kind != BSM_STEP_PLUGIN) continue;
    const bsm_step_plugin *p = &plan->steps[i].params->plugin;
    char key[sizeof(p->name) + 16];
    const int n =
        snprintf(key, sizeof(key), "%s %" PRIu32, p->name, p->version);
    const bsm_str text = {key, n > 0 ? (size_t)n : 0};
    if (bsm_strmap_get(&seen, text)) continue;
    const bsm_engine_layer layer = {.name = p->name, .version = p->version};
    BSM_TRY_ALLOC(bsm_vec_push(arena, &list, layer));
    BSM_TRY_ALLOC(bsm_strmap_set(arena, &seen, text, arena));
  }
  *out = list.items;
  *count = list.len;
  return BSM_OK;
}
