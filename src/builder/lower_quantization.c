/* SPDX-License-Identifier: Apache-2.0 */
/* Decomposes QUANTIZE and DEQUANTIZE layers that the target does not run into
 * element-wise layers:
 *
 *   q: int8 = quantize(x, scale, zero)
 *   y = dequantize(q, scale, zero)
 * becomes
 *   h = clamp(round(x * recip(scale)) + zero); q: int8 = cast(h)
 *   y = (h - zero) * scale
 * and where q is float8, whose cast rounds,
 *   q = cast(clamp(x * recip(scale))); y = q * scale
 *
 * A dequantize that computes in the dtype of `h` reads `h`: the cast to the
 * integer and back does not change it, and is removed when it has no other
 * reader. A dequantize of constants becomes a constant. Before this the
 * target's passes have seen what is quantized; after it the element-wise layers
 * are fused. Requires nothing. Establishes: the target runs all QUANTIZE and
 * DEQUANTIZE layers that are left. */
#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "builder/constants.h"
#include "builder/fold_dequantize.h"
#include "builder/passes.h"

typedef struct quantization_lowering {
  bsm_network *net;
  bsm_arena *scratch;
  const bsm_layer *layer;      /* the one that is decomposed */
  bsm_itensor **held;          /* by tensor id: `h` of it, or NULL */
  bsm_itensor **shaped;        /* by tensor id: reshaped for an axis, or NULL */
  size_t tensor_count;         /* of the network before the pass */
  BSM_VEC(bsm_layer *) layers; /* the new order */
} quantization_lowering;

static bool is_quantizing(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_QUANTIZE ||
         layer->kind == BSM_LAYER_DEQUANTIZE;
}

/* ---- short forms: NULL goes in and comes out, the failure is kept ---- */

static bsm_itensor *out_of(bsm_layer *layer) {
  return layer ? bsm_layer_output(layer, 0) : NULL;
}

static bsm_itensor *cast(quantization_lowering *s, bsm_itensor *t,
                         bsm_dtype dtype) {
  if (!t || t->dtype == dtype) return t;
  return out_of(bsm_network_add_cast(s->net, t, dtype));
}

static bsm_itensor *unary(quantization_lowering *s, bsm_itensor *t,
                          bsm_unary_operation operation) {
  return t ? out_of(bsm_network_add_unary(s->net, t, operation)) : NULL;
}

static bsm_itensor *binary(quantization_lowering *s, bsm_itensor *a,
                           bsm_itensor *b,
                           bsm_element_wise_operation operation) {
  if (!a || !b) return NULL;
  return out_of(bsm_network_add_element_wise(s->net, a, b, operation));
}

static bsm_itensor *number(quantization_lowering *s, bsm_dtype dtype,
                           double value) {
  const size_t size = bsm_dtype_size(dtype);
  void *data = bsm_arena_alloc(s->net->arena, sizeof(double), sizeof(double));
  if (!data) return NULL;
  const float narrow = (float)value;
  memcpy(data, size == sizeof(float) ? (const void *)&narrow : &value, size);
  const bsm_weights w = {.dtype = dtype, .values = data, .count = 1};
  return out_of(bsm_network_add_constant(s->net, (bsm_dims){0}, &w));
}

static double number_of(const bsm_weights *w) {
  switch (w->dtype) {
    case BSM_DTYPE_INT32:
      return *(const int32_t *)w->values;
    case BSM_DTYPE_INT64:
      return (double)*(const int64_t *)w->values;
    default:
      return bsm_constant_number(w, 0);
  }
}

/* The number that a constant of one element is, also one that is cast. */
static bool known_number(const bsm_itensor *t, double *out) {
  const bsm_layer *layer = t->producer;
  if (!layer) return false;
  if (layer->kind == BSM_LAYER_CAST || layer->kind == BSM_LAYER_SHUFFLE) {
    if (!known_number(layer->inputs.items[0], out)) return false;
  } else {
    const bsm_weights *w = bsm_constant_of(t, t->dtype);
    if (!w || w->count != 1) return false;
    *out = number_of(w);
  }
  if (t->dtype == BSM_DTYPE_FLOAT) *out = (double)(float)*out;
  return isfinite(*out);
}

/* A scale or zero point, reshaped so that it broadcasts along the axis. */
static bsm_itensor *parameter(quantization_lowering *s, size_t input,
                              int32_t axis) {
  bsm_itensor *t = s->layer->inputs.items[input];
  double value;
  if (axis < 0 && known_number(t, &value) &&
      (t->dtype == BSM_DTYPE_FLOAT || t->dtype == BSM_DTYPE_DOUBLE)) {
    return number(s, t->dtype, value);
  }
  const bsm_dims x = s->layer->inputs.items[0]->dims;
  bsm_dims dims = {0};
  if (axis >= 0) {
    dims.rank = x.rank;
    for (int32_t i = 0; i < x.rank; i++) dims.d[i] = 1;
    dims.d[axis] = x.d[axis];
  }
  if (bsm_dims_equal(t->dims, dims)) return t;
  bsm_itensor *known = t->id < s->tensor_count ? s->shaped[t->id] : NULL;
  if (known && bsm_dims_equal(known->dims, dims)) return known;
  bsm_layer *shuffle = bsm_network_add_shuffle(s->net, t);
  bsm_shuffle_set_reshape_dimensions(shuffle, dims);
  if (t->id < s->tensor_count) s->shaped[t->id] = out_of(shuffle);
  return out_of(shuffle);
}

/* 1 / scale in the dtype of the scale, then in that of the arithmetic; a number
 * where it is known, which programs have in them. */
static bsm_itensor *inverse_of(quantization_lowering *s, bsm_itensor *scale,
                               bsm_dtype wide) {
  double value;
  if (!scale || !known_number(scale, &value) ||
      (scale->dtype != BSM_DTYPE_FLOAT && scale->dtype != BSM_DTYPE_DOUBLE)) {
    return cast(s, unary(s, scale, BSM_UNARY_RECIP), wide);
  }
  value = scale->dtype == BSM_DTYPE_FLOAT ? (double)(1.0f / (float)value)
                                          : 1.0 / value;
  return number(s, wide, value);
}

/* ---- the two kinds ---- */

/* Where values are out of range and a clamp does not correct them: NaN, or what
 * is too large for any integer. */
static bsm_itensor *odd_values(quantization_lowering *s, bsm_itensor *q) {
  if (s->layer->p.quantize.nan != BSM_QUANTIZE_NAN_OR_HUGE_LEAST) {
    return unary(s, q, BSM_UNARY_ISNAN);
  }
  bsm_itensor *fits = binary(s, q, q ? number(s, q->dtype, 0x1p63) : NULL,
                             BSM_ELEMENT_WISE_LESS);
  return unary(s, fits, BSM_UNARY_NOT);
}

static bsm_itensor *clamp(quantization_lowering *s, bsm_itensor *q) {
  const double low = s->layer->p.quantize.least;
  const double high = s->layer->p.quantize.greatest;
  const bool selects = s->layer->p.quantize.nan != BSM_QUANTIZE_NAN_CAST;
  if (!q) return NULL;
  bsm_itensor *least = number(s, q->dtype, low);
  bsm_itensor *odd = selects ? odd_values(s, q) : NULL;
  if (low > -INFINITY) q = binary(s, q, least, BSM_ELEMENT_WISE_MAX);
  if (q && high < INFINITY) {
    q = binary(s, q, number(s, q->dtype, high), BSM_ELEMENT_WISE_MIN);
  }
  if (!selects || !odd || !q) return selects ? NULL : q;
  return out_of(bsm_network_add_select(s->net, odd, least, q));
}

static bsm_itensor *lower_quantize(quantization_lowering *s) {
  const bsm_layer *layer = s->layer;
  const int32_t axis = layer->p.quantize.axis;
  const bsm_dtype wide =
      bsm_quantize_compute_dtype(layer->inputs.items[0]->dtype);
  const bool whole = layer->p.quantize.dtype != BSM_DTYPE_FLOAT8_E4M3FN;
  const bool rounds_last = layer->p.quantize.rounds_last;
  bsm_itensor *scale = parameter(s, 1, axis);
  bsm_itensor *zero = layer->inputs.len == 3 ? parameter(s, 2, axis) : NULL;
  bsm_itensor *inverse = inverse_of(s, scale, wide);
  bsm_itensor *q = binary(s, cast(s, layer->inputs.items[0], wide), inverse,
                          BSM_ELEMENT_WISE_PROD);
  if (whole && !rounds_last) q = unary(s, q, BSM_UNARY_ROUND);
  if (layer->inputs.len == 3) q = binary(s, q, zero, BSM_ELEMENT_WISE_SUM);
  if (whole && rounds_last) q = unary(s, q, BSM_UNARY_ROUND);
  q = clamp(s, q);
  /* The integer dtype holds every whole number in its range, so a dequantize
   * may read `q` itself. */
  if (whole && layer->p.quantize.nan != BSM_QUANTIZE_NAN_CAST) {
    s->held[layer->outputs.items[0]->id] = q;
  }
  return cast(s, q, layer->p.quantize.dtype);
}

static bsm_itensor *lower_dequantize(quantization_lowering *s) {
  const bsm_layer *layer = s->layer;
  const int32_t axis = layer->p.dequantize.axis;
  bsm_itensor *q = layer->inputs.items[0];
  bsm_itensor *held = s->held[q->id];
  bsm_itensor *scale = parameter(s, 1, axis);
  bsm_itensor *zero = layer->inputs.len == 3 ? parameter(s, 2, axis) : NULL;
  if (!scale || (layer->inputs.len == 3 && !zero)) return NULL;
  const bsm_dtype whole = zero ? zero->dtype : scale->dtype;
  q = held && held->dtype == whole ? held : cast(s, q, whole);
  if (zero) q = binary(s, q, zero, BSM_ELEMENT_WISE_SUB);
  q = binary(s, cast(s, q, scale->dtype), scale, BSM_ELEMENT_WISE_PROD);
  return cast(s, q, layer->p.dequantize.dtype);
}

/* Puts the layers that replace a layer into the new order: those appended to
 * the network after the first `count`. The last of them makes the replaced
 * layer's own output tensor. */
static bsm_status take(quantization_lowering *s, size_t count, bsm_layer *layer,
                       bsm_itensor *result) {
  for (size_t i = count; i < s->net->layers.len; i++) {
    bsm_layer *made = s->net->layers.items[i];
    made->name = layer->name;
    made->source = layer->source;
    BSM_TRY_ALLOC(bsm_vec_push(s->scratch, &s->layers, made));
  }
  s->net->layers.len = count;
  result->producer->outputs.items[0] = layer->outputs.items[0];
  layer->outputs.items[0]->producer = result->producer;
  return BSM_OK;
}

static bsm_status lower_layer(quantization_lowering *s, size_t count,
                              bsm_layer *layer) {
  bool folded = false;
  if (layer->kind == BSM_LAYER_DEQUANTIZE) {
    BSM_TRY(bsm_fold_dequantize(layer, &folded));
  }
  if (folded) {
    BSM_TRY_ALLOC(bsm_vec_push(s->scratch, &s->layers, layer));
    return BSM_OK;
  }
  s->layer = layer;
  bsm_itensor *result = layer->kind == BSM_LAYER_QUANTIZE ? lower_quantize(s)
                                                          : lower_dequantize(s);
  BSM_TRY(bsm_network_take_error(s->net));
  if (!result) return BSM_FAIL_OOM();
  bsm_itensor *out = layer->outputs.items[0];
  BSM_TRY(take(s, count, layer, result));
  if (s->held[out->id] == result) s->held[out->id] = out;
  return BSM_OK;
}

bsm_status bsm_pass_lower_quantization(const bsm_target *target,
                                       bsm_network *net, bsm_arena *scratch) {
  const size_t count = net->layers.len;
  quantization_lowering s = {.net = net, .scratch = scratch};
  bool found = false;
  for (size_t i = 0; i < count && !found; i++) {
    found = is_quantizing(net->layers.items[i]);
  }
  if (!found) return BSM_OK;
  s.tensor_count = net->tensors.len;
  s.held = BSM_NEW_ARRAY(scratch, bsm_itensor *, s.tensor_count + 1);
  s.shaped = BSM_NEW_ARRAY(scratch, bsm_itensor *, s.tensor_count + 1);
  if (!s.held || !s.shaped) return BSM_FAIL_OOM();
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (is_quantizing(layer) && !layer->removed &&
        !target->ops->supports(target, layer)) {
      BSM_TRY_NOTE(lower_layer(&s, count, layer), "in layer %s",
                   layer->name ? layer->name : "?");
    } else {
      BSM_TRY_ALLOC(bsm_vec_push(scratch, &s.layers, layer));
    }
  }
  net->layers.len = 0;
  for (size_t i = 0; i < s.layers.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, s.layers.items[i]));
  }
  return BSM_OK;
}
