/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of plug-ins: the adder, and the shape rule, which asks the plug-in. */
#include "network/network_internal.h"
#include "plugin/call.h"
#include "plugin/plugin_registry.h"

/* The layer's arguments or parameters as the plug-in sees them. */
static bsm_status read_params(const bsm_layer *layer, bsm_call *call,
                              bsm_arena *arena) {
  const bsm_layer_plugin *plugin = layer->p.plugin.plugin;
  if (plugin->schema) {
    return bsm_call_args_decode(call, plugin->schema, layer->p.plugin.params,
                                layer->p.plugin.size, layer->inputs.len, arena);
  }
  call->params = layer->p.plugin.params;
  call->params_size = layer->p.plugin.size;
  return bsm_status_note(plugin->check(call->params, call->params_size),
                         "in the parameters of %s", plugin->name);
}

static bsm_status infer(bsm_layer *layer, bsm_arena *arena) {
  const bsm_layer_plugin *plugin = layer->p.plugin.plugin;
  bsm_call call;
  bsm_call_init(&call, plugin->name, layer->outputs.len);
  call.input_count = layer->inputs.len;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    call.inputs[i] = (bsm_array){NULL, t->dtype, t->dims, NULL};
  }
  BSM_TRY(read_params(layer, &call, arena));
  BSM_TRY(bsm_call_shape(&call, plugin));
  for (size_t i = 0; i < layer->outputs.len; i++) {
    BSM_TRY(bsm_layer_set_output(layer, i, call.outputs[i].dtype,
                                 call.outputs[i].dims));
  }
  return BSM_OK;
}

bsm_status bsm_infer_plugin(bsm_layer *layer) {
  bsm_arena scratch;
  if (layer->outputs.len != bsm_plugin_outputs(layer->p.plugin.plugin)) {
    return BSM_FAIL(BSM_INTERNAL, "%zu outputs", layer->outputs.len);
  }
  bsm_arena_init(&scratch, layer->net->arena->allocator);
  bsm_status status = infer(layer, &scratch);
  bsm_arena_destroy(&scratch);
  return status;
}

static bsm_status check_adding(const bsm_layer_plugin *plugin,
                               const void *params, size_t size, size_t inputs) {
  if (!plugin || (size && !params) || (uintptr_t)params % 8) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a custom layer without a plug-in, or whose parameters are "
                    "not at a multiple of 8");
  }
  if (!plugin->run) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s has no function that runs it: a converter must replace "
                    "it by other layers",
                    plugin->name);
  }
  if (inputs > BSM_PLUGIN_MAX_INPUTS) {
    return BSM_FAIL(BSM_LIMIT, "%zu tensors are given to %s; %d are possible",
                    inputs, plugin->name, BSM_PLUGIN_MAX_INPUTS);
  }
  return BSM_OK;
}

static bsm_status add(bsm_network *net, const bsm_layer_plugin *plugin,
                      const void *params, size_t size,
                      bsm_itensor *const *inputs, size_t count,
                      bsm_layer **out) {
  BSM_TRY(check_adding(plugin, params, size, count));
  void *copy = NULL;
  if (size) {
    copy = bsm_arena_alloc(net->arena, size, 64);
    BSM_TRY_ALLOC(copy);
    memcpy(copy, params, size);
  }
  BSM_TRY(bsm_network_new_layer(net, BSM_LAYER_PLUGIN, inputs, count,
                                bsm_plugin_outputs(plugin), out));
  (*out)->p.plugin.plugin = plugin;
  (*out)->p.plugin.params = copy;
  (*out)->p.plugin.size = size;
  return bsm_layer_infer(*out);
}

bsm_layer *bsm_network_add_plugin(bsm_network *net,
                                  const bsm_layer_plugin *plugin,
                                  const void *params, size_t size,
                                  bsm_itensor *const *inputs, size_t count) {
  bsm_layer *layer = NULL;
  const size_t layers = net->layers.len, tensors = net->tensors.len;
  bsm_status status = add(net, plugin, params, size, inputs, count, &layer);
  if (!status) return layer;
  net->layers.len = layers;
  net->tensors.len = tensors;
  bsm_network_fail(net, status);
  return NULL;
}
