/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of convolutions: one step for the layers that a pass of the target has
 * joined. Weights are packed as for single steps, so that they can be shared
 * with plans that have single steps. */
#include "builder/emit_internal.h"

bool bsm_build_is_chain(const bsm_layer *layer) {
  if (layer->kind != BSM_LAYER_CONVOLUTION) return false;
  const bsm_layer *before = layer->inputs.items[0]->producer;
  return layer->p.convolution.has_scale ||
         (before && before->kind == BSM_LAYER_CONVOLUTION &&
          before->p.convolution.joins_next);
}

/* Finds the layers of the parts, beginning with the last. */
static bsm_status find_parts(const bsm_layer *layer, const bsm_layer **parts) {
  int at = BSM_CHAIN_PROJECT;
  if (layer->p.convolution.groups != 1) at = BSM_CHAIN_DEPTHWISE;
  for (;; at--) {
    parts[at] = layer;
    const bsm_layer *before = layer->inputs.items[0]->producer;
    if (!before || before->kind != BSM_LAYER_CONVOLUTION ||
        !before->p.convolution.joins_next) {
      return BSM_OK;
    }
    if (at == 0) {
      return BSM_FAIL(BSM_INTERNAL, "a chain of more than %d convolutions",
                      BSM_CHAIN_PARTS);
    }
    layer = before;
  }
}

/* The packed kernel and the bias of a part. */
static bsm_status add_weights(bsm_emitter *e, const bsm_layer *layer,
                              uint32_t weights[2]) {
  const bsm_convolution_params *p = &layer->p.convolution;
  bsm_step_params params = {.convolution = bsm_build_convolution_params(layer)};
  bsm_plan_step alone = {.kind = BSM_STEP_CONVOLUTION,
                         .name = layer->name,
                         .weights = BSM_STEP_NO_WEIGHTS,
                         .params = &params};
  bsm_raw_weights raw;
  const bsm_pending_pack pending = {
      .params = &params, .packing = bsm_build_kernel_packing(layer, &raw)};
  BSM_TRY(bsm_build_pending(e, &pending, &alone));
  weights[0] = alone.weights[0];
  if (!p->bias.count) return BSM_OK;
  return bsm_build_weights(
      e, p->bias.values,
      (uint64_t)p->bias.count * bsm_dtype_size(p->bias.dtype), &weights[1]);
}

/* The names of all parts. */
static bsm_status name_chain(bsm_emitter *e, const bsm_layer *const *parts,
                             const char **out) {
  bsm_text text;
  bsm_text_init(&text, e->scratch);
  for (int i = 0; i < BSM_CHAIN_PARTS; i++) {
    if (!parts[i] || !parts[i]->name || !parts[i]->name[0]) continue;
    bsm_text_printf(&text, "%s%s", text.len ? " + " : "", parts[i]->name);
  }
  *out = text.len ? text.data : "";
  return text.failed ? BSM_FAIL_OOM() : BSM_OK;
}

bsm_status bsm_build_chain(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_convolution_params *last = &layer->p.convolution;
  const bsm_layer *parts[BSM_CHAIN_PARTS] = {NULL};
  const bsm_itensor *y = layer->outputs.items[0];
  bsm_step_convolution_chain params = {.has_scale = last->has_scale};
  uint32_t weights[BSM_STEP_MAX_WEIGHTS] = BSM_STEP_NO_WEIGHTS;
  BSM_TRY(find_parts(layer, parts));
  const bsm_layer *first = layer;
  for (int i = BSM_CHAIN_PARTS - 1; i >= 0; i--) {
    if (!parts[i]) continue;
    first = parts[i];
    params.has[i] = 1;
    params.part[i] = bsm_build_convolution_params(parts[i]);
    BSM_TRY(add_weights(e, parts[i], weights + (size_t)2 * (size_t)i));
  }
  uint32_t inputs[3], count = 0;
  const bsm_itensor *x = first->inputs.items[0];
  inputs[count] = bsm_build_value(e, x);
  if (!parts[BSM_CHAIN_EXPAND] ||
      !e->target->ops->reads_any_layout(e->target, parts[BSM_CHAIN_EXPAND])) {
    BSM_TRY(bsm_build_as_image(e, first, x, &inputs[count]));
  }
  count++;
  if (last->has_scale) {
    BSM_TRY(
        bsm_build_as_image(e, layer, layer->inputs.items[1], &inputs[count++]));
  }
  if (last->epilogue.has_residual) {
    BSM_TRY(bsm_build_as_image(e, layer,
                               layer->inputs.items[layer->inputs.len - 1],
                               &inputs[count++]));
  }
  BSM_TRY(bsm_build_new(e, y->name, y->dtype,
                        bsm_build_convolved_layout(e, layer),
                        &e->value[y->id]));
  bsm_plan_step *step;
  const char *name;
  BSM_TRY(name_chain(e, parts, &name));
  BSM_TRY(
      bsm_build_step(e,
                     &(bsm_step_spec){BSM_STEP_CONVOLUTION_CHAIN, name, inputs,
                                      count, &e->value[y->id], 1, &params},
                     &step));
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) step->weights[i] = weights[i];
  return BSM_OK;
}
