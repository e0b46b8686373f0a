/* SPDX-License-Identifier: Apache-2.0 */
/* Gives convolutions and matrix multiplies a dtype that the target multiplies
 * in, where it multiplies in none of theirs. For half in float:
 *
 *   y: half = op(x: half, w: half)
 * becomes
 *   y: half = cast(op(cast(x): float, w: float): float)
 *
 * The weights are converted too, big ones when they are packed (bsm_deferred),
 * so an engine holds them as floats. A tensor
 * is cast once however many products read it. Runs before fusion: what fuses
 * into a float product would otherwise skip the rounding. */
#include "aten/tensor.h"
#include "builder/passes.h"

typedef struct widening {
  bsm_network *net;
  bsm_arena *scratch;
  bsm_itensor **wide; /* by tensor id: its cast, or NULL */
  size_t wide_count;
  BSM_VEC(bsm_layer *) layers; /* the new order */
} widening;

static bool is_product(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_CONVOLUTION ||
         layer->kind == BSM_LAYER_DECONVOLUTION ||
         layer->kind == BSM_LAYER_MATRIX_MULTIPLY;
}

/* Weights of so many elements are converted when they are packed. */
#define MANY 1024

static bsm_status widen_weights(widening *w, bsm_weights *weights,
                                bsm_dtype dtype, bsm_deferred *deferred) {
  if (weights->count == 0) return BSM_OK;
  if (deferred && weights->count >= MANY) {
    *deferred = (bsm_deferred){.cast = true, .held = weights->dtype};
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

/* Moves the layer that was just appended to the network to the new order. */
static bsm_status take_last(widening *w) {
  bsm_layer *layer = w->net->layers.items[--w->net->layers.len];
  BSM_TRY_ALLOC(bsm_vec_push(w->scratch, &w->layers, layer));
  return BSM_OK;
}

/* `t` in `dtype`: a cast, or a constant converted here. */
static bsm_status widen_input(widening *w, bsm_itensor *t, bsm_dtype dtype,
                              bsm_itensor **out) {
  if (t->id < w->wide_count && w->wide[t->id]) {
    *out = w->wide[t->id];
    return BSM_OK;
  }
  bsm_layer *layer;
  if (t->producer && t->producer->kind == BSM_LAYER_CONSTANT) {
    bsm_weights weights = t->producer->p.constant.weights;
    bsm_deferred deferred = {0};
    BSM_TRY(widen_weights(w, &weights, dtype, &deferred));
    layer = bsm_network_add_constant(w->net, t->dims, &weights);
    if (layer) layer->p.constant.deferred = deferred;
  } else {
    layer = bsm_network_add_cast(w->net, t, dtype);
  }
  BSM_TRY(bsm_network_take_error(w->net));
  if (!layer) return BSM_FAIL_OOM();
  layer->name = t->producer ? t->producer->name : t->name;
  *out = layer->outputs.items[0];
  if (t->id < w->wide_count) w->wide[t->id] = *out;
  return take_last(w);
}

/* The layer computes in `wide` and a cast makes the old output of it. */
static bsm_status widen_layer(widening *w, bsm_layer *layer, bsm_dtype wide) {
  bsm_itensor *old = layer->outputs.items[0];
  for (size_t i = 0; i < layer->inputs.len; i++) {
    BSM_TRY(
        widen_input(w, layer->inputs.items[i], wide, &layer->inputs.items[i]));
  }
  if (layer->kind == BSM_LAYER_MATRIX_MULTIPLY) {
    BSM_TRY(widen_weights(w, &layer->p.matrix_multiply.bias, wide, NULL));
  } else {
    BSM_TRY(widen_weights(w, &layer->p.convolution.kernel, wide,
                          &layer->p.convolution.deferred));
    BSM_TRY(widen_weights(w, &layer->p.convolution.bias, wide, NULL));
  }
  BSM_TRY_ALLOC(bsm_vec_push(w->scratch, &w->layers, layer));
  /* A cast of the layer's result; then the two exchange their outputs, so that
   * every reader goes on with the tensor it knows. */
  const bsm_dtype narrow = old->dtype;
  bsm_layer *cast = bsm_network_add_cast(w->net, old, narrow);
  BSM_TRY(bsm_network_take_error(w->net));
  if (!cast) return BSM_FAIL_OOM();
  bsm_itensor *sum = cast->outputs.items[0];
  cast->name = layer->name;
  cast->source = layer->source;
  layer->outputs.items[0] = sum;
  sum->producer = layer;
  sum->dtype = wide;
  sum->dims = old->dims;
  cast->outputs.items[0] = old;
  old->producer = cast;
  cast->inputs.items[0] = sum;
  BSM_TRY(bsm_layer_infer(layer));
  return take_last(w);
}

bsm_status bsm_pass_widen_products(const bsm_target *target, bsm_network *net,
                                   bsm_arena *scratch) {
  const size_t tensors = net->tensors.len, layers = net->layers.len;
  widening w = {.net = net, .scratch = scratch, .wide_count = tensors};
  w.wide = BSM_NEW_ARRAY(scratch, bsm_itensor *, tensors + 1);
  BSM_TRY_ALLOC(w.wide);
  bool found = false;
  for (size_t i = 0; i < layers; i++) {
    bsm_layer *layer = net->layers.items[i];
    const bsm_dtype dtype = layer->outputs.items[0]->dtype;
    const bool widens = !layer->removed && is_product(layer);
    const bsm_dtype wide =
        widens ? target->ops->compute_dtype(target, layer, dtype) : dtype;
    if (wide != dtype) {
      found = true;
      BSM_TRY_NOTE(widen_layer(&w, layer, wide), "in layer %s",
                   layer->name ? layer->name : "?");
    } else {
      BSM_TRY_ALLOC(bsm_vec_push(scratch, &w.layers, layer));
    }
  }
  if (!found) return BSM_OK;
  net->layers.len = 0;
  for (size_t i = 0; i < w.layers.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, w.layers.items[i]));
  }
  return BSM_OK;
}
