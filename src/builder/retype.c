/* SPDX-License-Identifier: Apache-2.0 */
/* Lets layers compute in another dtype: see retype.h. */
#include "builder/retype.h"

#include "aten/tensor.h"
#include "builder/quantized_grid.h"

/* Weights of at least this many elements are converted when they are packed. */
#define MANY 1024

bsm_dtype bsm_stored_dtype(const bsm_layer *layer) {
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_dtype dtype = layer->inputs.items[i]->dtype;
    if (bsm_dtype_is_floating(dtype)) return dtype;
  }
  return BSM_DTYPE_UNDEFINED;
}

bool bsm_can_retype(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
    case BSM_LAYER_MATRIX_MULTIPLY:
    case BSM_LAYER_ACTIVATION:
    case BSM_LAYER_POOLING:
    case BSM_LAYER_SOFTMAX:
    case BSM_LAYER_SCALE:
    case BSM_LAYER_ELEMENT_WISE:
    case BSM_LAYER_UNARY:
    case BSM_LAYER_REDUCE:
    case BSM_LAYER_NORMALIZATION:
    case BSM_LAYER_PARAMETRIC_RELU:
    case BSM_LAYER_RESIZE:
    case BSM_LAYER_RECURRENT:
      return layer->outputs.items[0]->dtype == bsm_stored_dtype(layer);
    default:
      return false;
  }
}

bool bsm_layer_moves(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_GATHER:
    case BSM_LAYER_SELECT:
      return true;
    default:
      return false;
  }
}

static bsm_status retype_weights(bsm_retyping *w, bsm_weights *weights,
                                 bsm_dtype dtype, bsm_deferred *deferred) {
  if (weights->count == 0) return BSM_OK;
  if (deferred && (deferred->cast || w->defers || weights->count >= MANY)) {
    if (!deferred->cast) deferred->held = weights->dtype;
    deferred->cast = true;
    weights->dtype = dtype;
    return BSM_OK;
  }
  bsm_tensor *from, *to;
  const bsm_array values = {.data = (void *)(uintptr_t)weights->values,
                            .dtype = weights->dtype,
                            .dims = {1, {weights->count}}};
  BSM_TRY(bsm_tensor_from_array(w->net->arena, &values, true, &from));
  BSM_TRY(bsm_tensor_to_dtype(w->net->arena, from, dtype, &to));
  weights->dtype = dtype;
  weights->values = bsm_tensor_data(to);
  return BSM_OK;
}

/* Moves the layer that was appended last to the new order. */
static bsm_status take_last(bsm_retyping *w) {
  bsm_layer *layer = w->net->layers.items[--w->net->layers.len];
  BSM_TRY_ALLOC(bsm_vec_push(w->scratch, &w->layers, layer));
  return BSM_OK;
}

/* Whether casting to a dtype and back changes no value. */
static bool loses_nothing(bsm_dtype from, bsm_dtype to) {
  return to == BSM_DTYPE_FLOAT &&
         (from == BSM_DTYPE_HALF || from == BSM_DTYPE_BFLOAT16);
}

/* `t` in `dtype`: a cast of it, the tensor that it was cast from, or a constant
 * that is converted here. */
static bsm_status retype_input(bsm_retyping *w, bsm_itensor *t, bsm_dtype dtype,
                               bsm_itensor **out) {
  bsm_itensor *known = t->id < w->count ? w->cast[t->id] : NULL;
  if (known && known->dtype == dtype) {
    *out = known;
    return BSM_OK;
  }
  const bsm_layer *from = t->producer;
  if (from && from->kind == BSM_LAYER_CAST &&
      from->inputs.items[0]->dtype == dtype && loses_nothing(dtype, t->dtype)) {
    *out = from->inputs.items[0];
    return BSM_OK;
  }
  bsm_layer *layer;
  if (t->producer && t->producer->kind == BSM_LAYER_CONSTANT) {
    bsm_weights weights = t->producer->p.constant.weights;
    bsm_deferred deferred = t->producer->p.constant.deferred;
    BSM_TRY(retype_weights(w, &weights, dtype, &deferred));
    weights.dtype = dtype; /* of no elements, too */
    layer = bsm_network_add_constant(w->net, t->dims, &weights);
    if (layer) layer->p.constant.deferred = deferred;
  } else {
    layer = bsm_network_add_cast(w->net, t, dtype);
  }
  BSM_TRY(bsm_network_take_error(w->net));
  if (!layer) return BSM_FAIL_OOM();
  layer->name = t->producer ? t->producer->name : t->name;
  *out = layer->outputs.items[0];
  if (t->id < w->count) w->cast[t->id] = *out;
  return take_last(w);
}

/* Their values stay until they are packed. */
static bsm_status retype_recurrent(bsm_retyping *w, bsm_layer *layer,
                                   bsm_dtype dtype) {
  const size_t count = (size_t)layer->p.recurrent.directions;
  const bsm_recurrent_weights *old = layer->p.recurrent.weights;
  bsm_recurrent_weights *changed =
      BSM_NEW_ARRAY(w->net->arena, bsm_recurrent_weights, count);
  BSM_TRY_ALLOC(changed);
  bsm_deferred *deferred = &layer->p.recurrent.deferred;
  if (!deferred->cast) deferred->held = old[0].input.dtype;
  deferred->cast = true;
  for (size_t i = 0; i < count; i++) {
    changed[i] = old[i];
    changed[i].input.dtype = changed[i].recurrent.dtype = dtype;
    changed[i].input_bias.dtype = changed[i].recurrent_bias.dtype = dtype;
    changed[i].projection.dtype = dtype;
  }
  layer->p.recurrent.weights = changed;
  return BSM_OK;
}

static bsm_status retype_params(bsm_retyping *w, bsm_layer *layer,
                                bsm_dtype dtype) {
  switch (layer->kind) {
    case BSM_LAYER_SCALE:
      BSM_TRY(retype_weights(w, &layer->p.scale.shift, dtype, NULL));
      BSM_TRY(retype_weights(w, &layer->p.scale.scale, dtype, NULL));
      return retype_weights(w, &layer->p.scale.power, dtype, NULL);
    case BSM_LAYER_MATRIX_MULTIPLY:
      return retype_weights(w, &layer->p.matrix_multiply.bias, dtype, NULL);
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
      BSM_TRY(retype_weights(w, &layer->p.convolution.kernel, dtype,
                             &layer->p.convolution.deferred));
      return retype_weights(w, &layer->p.convolution.bias, dtype, NULL);
    case BSM_LAYER_RECURRENT:
      return retype_recurrent(w, layer, dtype);
    default:
      return BSM_OK;
  }
}

/* Adds a cast of one of the layer's results to what it was. Then the two
 * exchange their outputs, so that readers keep the tensor that they read. */
static bsm_status cast_output(bsm_retyping *w, bsm_layer *layer, size_t index,
                              bsm_dtype dtype) {
  bsm_itensor *old = layer->outputs.items[index];
  const bsm_dtype stored = old->dtype;
  bsm_layer *cast = bsm_network_add_cast(w->net, old, stored);
  BSM_TRY(bsm_network_take_error(w->net));
  if (!cast) return BSM_FAIL_OOM();
  bsm_itensor *sum = cast->outputs.items[0];
  cast->name = layer->name;
  cast->source = layer->source;
  layer->outputs.items[index] = sum;
  sum->producer = layer;
  /* An integer that wraps around is another value before. */
  if (bsm_dtype_is_floating(dtype) && bsm_dtype_is_floating(stored)) {
    sum->name = old->name;
  }
  sum->dtype = dtype;
  sum->dims = old->dims;
  cast->outputs.items[0] = old;
  old->producer = cast;
  cast->inputs.items[0] = sum;
  if (w->keeps_wide && old->id < w->count) w->cast[old->id] = sum;
  return take_last(w);
}

bsm_status bsm_retype_layer(bsm_retyping *w, bsm_layer *layer,
                            bsm_dtype dtype) {
  const bsm_dtype stored = layer->outputs.items[0]->dtype;
  bsm_grid grid;
  /* What multiplies quantized values may be on a grid, which rounding hides. */
  w->defers = bsm_dequantized_from(layer->inputs.items[0], &grid) != NULL;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    bsm_itensor **input = &layer->inputs.items[i];
    if ((*input)->dtype != stored) continue;
    BSM_TRY(retype_input(w, *input, dtype, input));
  }
  BSM_TRY(retype_params(w, layer, dtype));
  BSM_TRY_ALLOC(bsm_vec_push(w->scratch, &w->layers, layer));
  for (size_t i = 0; i < layer->outputs.len; i++) {
    if (layer->outputs.items[i]->dtype != stored) continue;
    BSM_TRY(cast_output(w, layer, i, dtype));
  }
  return bsm_layer_infer(layer);
}

bsm_status bsm_retyping_start(bsm_retyping *w, bsm_network *net,
                              bsm_arena *scratch) {
  *w =
      (bsm_retyping){.net = net, .scratch = scratch, .count = net->tensors.len};
  w->cast = BSM_NEW_ARRAY(scratch, bsm_itensor *, w->count + 1);
  BSM_TRY_ALLOC(w->cast);
  return BSM_OK;
}

bsm_status bsm_retyping_keep(bsm_retyping *w, bsm_layer *layer) {
  BSM_TRY_ALLOC(bsm_vec_push(w->scratch, &w->layers, layer));
  return BSM_OK;
}

bsm_status bsm_retyping_finish(bsm_retyping *w) {
  bsm_network *net = w->net;
  net->layers.len = 0;
  for (size_t i = 0; i < w->layers.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, w->layers.items[i]));
  }
  return BSM_OK;
}
