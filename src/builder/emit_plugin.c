/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of plug-ins: contiguous tensors in and out, the arguments or
 * parameters as weights. */
#include "builder/emit_internal.h"
#include "plugin/plugin_registry.h"

bsm_status bsm_build_plugin(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_layer_plugin *plugin = layer->p.plugin.plugin;
  bsm_step_plugin params = {.version = plugin->version};
  uint32_t inputs[BSM_PLUGIN_MAX_INPUTS], outputs[BSM_PLUGIN_MAX_OUTPUTS];
  bsm_plan_step *step;
  const size_t length = strlen(plugin->name);
  if (length >= sizeof(params.name) ||
      layer->inputs.len > BSM_PLUGIN_MAX_INPUTS ||
      layer->outputs.len > BSM_PLUGIN_MAX_OUTPUTS) {
    return BSM_FAIL(BSM_INTERNAL, "a custom layer beyond its limits");
  }
  memcpy(params.name, plugin->name, length);
  for (size_t i = 0; i < layer->inputs.len; i++) {
    BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[i], &inputs[i]));
  }
  for (size_t i = 0; i < layer->outputs.len; i++) {
    const bsm_itensor *y = layer->outputs.items[i];
    BSM_TRY(bsm_build_new(e, y->name, y->dtype, bsm_layout_contiguous(y->dims),
                          &outputs[i]));
    e->value[y->id] = outputs[i];
  }
  BSM_TRY(
      bsm_build_step(e,
                     &(bsm_step_spec){BSM_STEP_PLUGIN, layer->name, inputs,
                                      (uint32_t)layer->inputs.len, outputs,
                                      (uint32_t)layer->outputs.len, &params},
                     &step));
  if (!layer->p.plugin.size) return BSM_OK;
  return bsm_build_weights(e, layer->p.plugin.params, layer->p.plugin.size,
                           &step->weights[0]);
}
