/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what quantizing layers say, and recognizes quantized constants by their
 * values: folding has made floats of them, which lie on a grid. */
#include "builder/quantized_grid.h"

#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "builder/constants.h"

/* ---- numbers ---- */

static double number_at(const bsm_weights *w, int64_t i) {
  switch (w->dtype) {
    case BSM_DTYPE_INT8:
      return ((const int8_t *)w->values)[i];
    case BSM_DTYPE_UINT8:
      return ((const uint8_t *)w->values)[i];
    case BSM_DTYPE_INT32:
      return ((const int32_t *)w->values)[i];
    case BSM_DTYPE_INT64:
      return (double)((const int64_t *)w->values)[i];
    default:
      return bsm_constant_number(w, i);
  }
}

static double rounded_to(bsm_dtype dtype, double number) {
  return dtype == BSM_DTYPE_FLOAT ? (double)(float)number : number;
}

/* `count` numbers of a constant, which may be cast and reshaped; false when it
 * is none, or has another count. */
static bool numbers_of(const bsm_itensor *t, int64_t count, double *out) {
  const bsm_layer *layer = t->producer;
  if (!layer) return false;
  if (layer->kind == BSM_LAYER_CAST ||
      (layer->kind == BSM_LAYER_SHUFFLE && !layer->p.shuffle.has_first &&
       !layer->p.shuffle.has_second)) {
    if (!numbers_of(layer->inputs.items[0], count, out)) return false;
    for (int64_t i = 0; i < count; i++) out[i] = rounded_to(t->dtype, out[i]);
    return true;
  }
  if (layer->kind == BSM_LAYER_FILL && count == 1) {
    *out = rounded_to(t->dtype, layer->p.fill.value);
    return true;
  }
  if (layer->kind != BSM_LAYER_CONSTANT || layer->p.constant.deferred.cast ||
      layer->p.constant.weights.count != count) {
    return false;
  }
  for (int64_t i = 0; i < count; i++) {
    out[i] = number_at(&layer->p.constant.weights, i);
    if (!isfinite(out[i])) return false;
  }
  return true;
}

/* ---- grids ---- */

static bool is_byte(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_UINT8 || dtype == BSM_DTYPE_INT8 ||
         dtype == BSM_DTYPE_FLOAT8_E4M3FN;
}

/* The scale and the zero point, which is a whole number. */
static bool read_parameters(const bsm_layer *layer, int32_t axis,
                            bsm_grid *out) {
  double scale, zero = 0;
  if (axis >= 0 || !numbers_of(layer->inputs.items[1], 1, &scale) ||
      (layer->inputs.len > 2 &&
       !numbers_of(layer->inputs.items[2], 1, &zero))) {
    return false;
  }
  const bsm_dtype dtype = layer->inputs.items[1]->dtype;
  if (dtype != BSM_DTYPE_FLOAT && dtype != BSM_DTYPE_DOUBLE) return false;
  const double inverse =
      dtype == BSM_DTYPE_FLOAT ? (double)(1.0f / (float)scale) : 1.0 / scale;
  out->scale = (float)scale;
  out->inverse = (float)inverse;
  if (!(scale > 0) || !isfinite(out->inverse) || fabs(zero) > 1024) {
    return false;
  }
  out->zero = (int32_t)zero;
  return !(zero < out->zero || zero > out->zero);
}

bool bsm_quantize_grid(const bsm_layer *layer, bsm_grid *out) {
  if (layer->kind != BSM_LAYER_QUANTIZE || layer->removed ||
      !is_byte(layer->p.quantize.dtype) || layer->p.quantize.rounds_last ||
      layer->inputs.items[0]->dtype == BSM_DTYPE_DOUBLE ||
      !read_parameters(layer, layer->p.quantize.axis, out)) {
    return false;
  }
  out->least = (int32_t)layer->p.quantize.least;
  out->greatest = (int32_t)layer->p.quantize.greatest;
  return out->zero >= out->least && out->zero <= out->greatest;
}

bool bsm_dequantize_grid(const bsm_layer *layer, bsm_grid *out) {
  double least, greatest;
  if (!layer || layer->kind != BSM_LAYER_DEQUANTIZE || layer->removed ||
      !is_byte(layer->inputs.items[0]->dtype) ||
      layer->p.dequantize.dtype != BSM_DTYPE_FLOAT ||
      !read_parameters(layer, layer->p.dequantize.axis, out)) {
    return false;
  }
  bsm_quantize_range(layer->inputs.items[0]->dtype, &least, &greatest);
  out->least = (int32_t)least;
  out->greatest = (int32_t)greatest;
  return out->zero >= out->least && out->zero <= out->greatest;
}

bsm_itensor *bsm_dequantized_from(const bsm_itensor *t, bsm_grid *out) {
  const bsm_layer *from = t->producer;
  if (from && from->kind == BSM_LAYER_CAST &&
      (t->dtype == BSM_DTYPE_HALF || t->dtype == BSM_DTYPE_BFLOAT16)) {
    from = from->inputs.items[0]->producer;
  }
  return bsm_dequantize_grid(from, out) ? from->inputs.items[0] : NULL;
}

bool bsm_same_grid(const bsm_grid *a, const bsm_grid *b) {
  return !(a->scale < b->scale || a->scale > b->scale) && a->zero == b->zero;
}

/* ---- constants ---- */

/* The parameters of each place along the axis of a quantizing layer. */
typedef struct places {
  double *scale, *zero;
  int64_t count, inner; /* elements of one place in a row */
} places;

static bsm_status read_places(const bsm_layer *layer, int32_t axis,
                              bsm_arena *scratch, places *out, bool *known) {
  const bsm_dims dims = layer->inputs.items[0]->dims;
  *out = (places){.count = axis < 0 ? 1 : dims.d[axis], .inner = 1};
  for (int32_t i = axis < 0 ? 0 : axis + 1; i < dims.rank; i++) {
    out->inner *= dims.d[i];
  }
  out->scale = BSM_NEW_ARRAY(scratch, double, (size_t)out->count + 1);
  out->zero = BSM_NEW_ARRAY(scratch, double, (size_t)out->count + 1);
  if (!out->scale || !out->zero) return BSM_FAIL_OOM();
  *known = out->inner > 0 && layer->inputs.items[1]->dtype == BSM_DTYPE_FLOAT &&
           numbers_of(layer->inputs.items[1], out->count, out->scale) &&
           (layer->inputs.len < 3 ||
            numbers_of(layer->inputs.items[2], out->count, out->zero));
  return BSM_OK;
}

static float quantized(const bsm_layer *layer, const places *p, float x,
                       int64_t place) {
  const float inverse = 1.0f / (float)p->scale[place];
  const bool is_float = layer->p.quantize.dtype == BSM_DTYPE_FLOAT8_E4M3FN;
  float q = x * inverse;
  if (!is_float) q = nearbyintf(q) + (float)p->zero[place];
  q = fmaxf(q, (float)layer->p.quantize.least);
  q = fminf(q, (float)layer->p.quantize.greatest);
  return is_float ? bsm_float8_to_float(
                        layer->p.quantize.dtype,
                        bsm_float_to_float8(layer->p.quantize.dtype, q))
                  : q;
}

/* x[i], `count` of them, through a layer that quantizes or dequantizes. */
static bsm_status apply(const bsm_layer *layer, bsm_arena *scratch,
                        int64_t count, const float *x, const float **out) {
  const bool quantizes = layer->kind == BSM_LAYER_QUANTIZE;
  places p;
  bool known;
  BSM_TRY(read_places(
      layer, quantizes ? layer->p.quantize.axis : layer->p.dequantize.axis,
      scratch, &p, &known));
  *out = NULL;
  if (!known || (quantizes && layer->p.quantize.rounds_last)) return BSM_OK;
  float *y = BSM_NEW_ARRAY(scratch, float, (size_t)count + 1);
  BSM_TRY_ALLOC(y);
  for (int64_t i = 0; i < count; i++) {
    const int64_t place = i / p.inner % p.count;
    y[i] = quantizes ? quantized(layer, &p, x[i], place)
                     : (x[i] - (float)p.zero[place]) * (float)p.scale[place];
  }
  *out = y;
  return BSM_OK;
}

static bsm_status floats_of_bytes(const bsm_layer *layer, bsm_arena *scratch,
                                  const float **out) {
  const bsm_weights *w = &layer->p.constant.weights;
  bsm_weights held = *w;
  if (layer->p.constant.deferred.cast) {
    held.dtype = layer->p.constant.deferred.held;
  }
  if (!is_byte(held.dtype)) return BSM_OK;
  float *y = BSM_NEW_ARRAY(scratch, float, (size_t)w->count + 1);
  BSM_TRY_ALLOC(y);
  for (int64_t i = 0; i < w->count; i++) y[i] = (float)number_at(&held, i);
  *out = y;
  return BSM_OK;
}

bsm_status bsm_constant_floats(const bsm_itensor *t, bsm_arena *scratch,
                               const float **out) {
  const bsm_layer *layer = t->producer;
  int64_t count = 1;
  *out = NULL;
  if (!layer) return BSM_OK;
  for (int32_t i = 0; i < t->dims.rank; i++) count *= t->dims.d[i];
  if (layer->kind == BSM_LAYER_CONSTANT) {
    const bsm_weights *w = bsm_constant_of(t, BSM_DTYPE_FLOAT);
    if (!w) return floats_of_bytes(layer, scratch, out);
    *out = w->values;
    return BSM_OK;
  }
  const bool quantizing =
      layer->kind == BSM_LAYER_QUANTIZE || layer->kind == BSM_LAYER_DEQUANTIZE;
  const float *x = NULL;
  if (quantizing && layer->inputs.items[0]->producer) {
    BSM_TRY(bsm_constant_floats(layer->inputs.items[0], scratch, &x));
  }
  return x ? apply(layer, scratch, count, x, out) : BSM_OK;
}

/* ---- recognizing ---- */

static bool lie_on(const float *x, int64_t n, int64_t stride, float scale,
                   int8_t *q) {
  const float inverse = 1.0f / scale;
  for (int64_t i = 0; i < n; i++) {
    const float v = x[i * stride];
    const float whole = nearbyintf(v * inverse);
    const float back = whole * scale;
    if (!(whole >= INT8_MIN && whole <= INT8_MAX) || back < v || back > v) {
      return false;
    }
    q[i] = (int8_t)whole;
  }
  return true;
}

bool bsm_find_grid(const float *x, int64_t n, int64_t stride, double *scale,
                   int8_t *q) {
  float greatest = 0;
  for (int64_t i = 0; i < n; i++) {
    const float v = fabsf(x[i * stride]);
    if (!isfinite(v)) return false;
    if (v > greatest) greatest = v;
  }
  *scale = 1;
  if (greatest < 0x1p-100f) { /* zeros, or too small to be divided */
    memset(q, 0, (size_t)n);
    return !(greatest > 0);
  }
  /* The greatest is some whole number times the scale, rounded, so that the
   * quotient may be a unit off. */
  for (int whole = 1; whole <= 128; whole++) {
    float s = greatest / (float)whole;
    s = nextafterf(nextafterf(s, 0), 0);
    for (int i = 0; i < 5; i++, s = nextafterf(s, INFINITY)) {
      if (!lie_on(x, n, stride, s, q)) continue;
      *scale = (double)s;
      return true;
    }
  }
  return false;
}
