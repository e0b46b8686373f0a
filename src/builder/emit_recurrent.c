/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: a step for each, its weights packed together. Sequences
 * and states are read with any strides; batch-first output is a layout. */
#include <string.h>

#include "builder/emit_internal.h"

/* Appends the values of `w`, or `count` zeros for an absent bias. */
static float *put(float *to, const bsm_weights *w, int64_t count) {
  if (w->count) {
    memcpy(to, w->values, (size_t)w->count * sizeof(float));
  } else {
    memset(to, 0, (size_t)count * sizeof(float));
  }
  return to + (w->count ? w->count : count);
}

/* All weights in the order that the backend packs. */
static bsm_status gather_weights(bsm_emitter *e, const bsm_layer *layer,
                                 float **out) {
  const bsm_recurrent_weights *w = layer->p.recurrent.weights;
  const int32_t directions = layer->p.recurrent.directions;
  const int64_t rows = w->input.shape.d[0];
  size_t count = 1;
  for (int32_t d = 0; d < directions; d++) {
    count += (size_t)(w[d].input.count + w[d].recurrent.count +
                      w[d].projection.count + 2 * rows);
  }
  float *to = BSM_NEW_ARRAY(e->scratch, float, count);
  BSM_TRY_ALLOC(to);
  *out = to;
  for (int32_t d = 0; d < directions; d++) {
    to = put(to, &w[d].input, 0);
    to = put(to, &w[d].recurrent, 0);
    to = put(to, &w[d].projection, 0);
    to = put(to, &w[d].input_bias, rows);
    to = put(to, &w[d].recurrent_bias, rows);
  }
  return BSM_OK;
}

bsm_status bsm_build_recurrent(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_recurrent_weights *w = layer->p.recurrent.weights;
  const bsm_step_recurrent params = {
      .operation = (int32_t)layer->p.recurrent.operation,
      .directions = layer->p.recurrent.directions,
      .input = w->input.shape.d[1],
      .hidden = layer->inputs.len > 2 ? layer->inputs.items[2]->dims.d[2]
                                      : layer->inputs.items[1]->dims.d[2],
      .projection = w->projection.count ? w->projection.shape.d[0] : 0};
  const uint32_t count = (uint32_t)layer->inputs.len;
  uint32_t inputs[3] = {0}, outputs[3] = {0};
  for (uint32_t i = 0; i < count && i < 3; i++) {
    const bsm_itensor *y = layer->outputs.items[i];
    inputs[i] = bsm_build_value(e, layer->inputs.items[i]);
    BSM_TRY(bsm_build_new(
        e, y->name, y->dtype,
        i == 0 ? bsm_build_preferred(e, y) : bsm_layout_contiguous(y->dims),
        &outputs[i]));
    e->value[y->id] = outputs[i];
  }
  bsm_plan_step *step;
  float *values;
  BSM_TRY(
      bsm_build_step(e,
                     &(bsm_step_spec){BSM_STEP_RECURRENT, layer->name, inputs,
                                      count, outputs, count, &params},
                     &step));
  BSM_TRY(gather_weights(e, layer, &values));
  const bsm_weights *lengths = &layer->p.recurrent.lengths;
  if (lengths->count) {
    BSM_TRY(bsm_build_weights(e, lengths->values,
                              (uint64_t)lengths->count * sizeof(int64_t),
                              &step->weights[1]));
  }
  return bsm_build_pack(e, step, params.input, values, sizeof(float), false);
}
