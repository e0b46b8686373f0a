/* SPDX-License-Identifier: Apache-2.0 */
/* Makes packed parameters, and checks what they are made of. */
#include "quantized/packed_params.h"

#include <math.h>

#include "base/checked.h"

/* ---- checks ---- */

static bsm_status fail(const char *format, const char *what) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT, format, what);
}

static bool is_scale(double scale) {
  return isfinite(scale) && scale > 0;
}

static bool is_zero_point(double zero, bsm_dtype dtype) {
  const double low = dtype == BSM_DTYPE_QINT8    ? INT8_MIN
                     : dtype == BSM_DTYPE_QUINT8 ? 0
                                                 : INT32_MIN;
  const double high = dtype == BSM_DTYPE_QINT8    ? INT8_MAX
                      : dtype == BSM_DTYPE_QUINT8 ? UINT8_MAX
                                                  : INT32_MAX;
  return zero >= low && zero <= high;
}

/* Scales and zero points along an axis. Floating zero points may be any. */
static bsm_status check_channels(const bsm_tensor *t, const char *what) {
  const bsm_quantizer *q = t->quantizer;
  const int64_t n = bsm_tensor_numel(q->scales);
  if (q->axis < 0 || q->axis >= t->sizes.rank || n != t->sizes.d[q->axis] ||
      bsm_tensor_numel(q->zero_points) != n) {
    return fail(
        "%s has other numbers of scales and zero points than of "
        "channels",
        what);
  }
  for (int64_t i = 0; i < n; i++) {
    const double scale = bsm_tensor_get_double(q->scales, i);
    const double zero = bsm_tensor_get_double(q->zero_points, i);
    /* A row of zeros in an embedding has the scale 0. */
    if (!is_scale(scale) && !(q->float_zero_points && scale == 0)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "%s has the scale %g in channel "
                      "%lld",
                      what, scale, (long long)i);
    }
    if (q->float_zero_points ? !isfinite(zero)
                             : !is_zero_point(zero, t->dtype)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "%s has the zero point %g in channel %lld", what, zero,
                      (long long)i);
    }
  }
  return BSM_OK;
}

static bsm_status check_quantized(const bsm_ivalue *v, const char *what,
                                  const bsm_tensor **out) {
  const bsm_tensor *t = v->tag == BSM_IVALUE_TENSOR ? v->u.tensor : NULL;
  if (!t) return fail("%s is no tensor", what);
  *out = t;
  if (!bsm_dtype_is_quantized(t->dtype) || !t->quantizer) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s is not quantized, but %s", what,
                    bsm_dtype_name(t->dtype));
  }
  if (bsm_tensor_is_meta(t)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "%s is packed", what);
  }
  if (t->quantizer->scales) return check_channels(t, what);
  if (!is_scale(t->quantizer->scale)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s has the scale %g", what,
                    t->quantizer->scale);
  }
  if (!is_zero_point((double)t->quantizer->zero_point, t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s has the zero point %lld", what,
                    (long long)t->quantizer->zero_point);
  }
  return BSM_OK;
}

/* A weight of convolutions and products: int8. */
static bsm_status check_weight(const bsm_ivalue *v, int32_t rank,
                               const bsm_tensor **out) {
  BSM_TRY(check_quantized(v, "a packed weight", out));
  if ((*out)->dtype != BSM_DTYPE_QINT8 || (*out)->sizes.rank != rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a packed weight is %s of shape %s; %d dimensions of qint8 "
                    "are needed",
                    bsm_dtype_name((*out)->dtype), bsm_dims_str((*out)->sizes),
                    (int)rank);
  }
  if ((*out)->quantizer->float_zero_points) {
    return fail("%s has zero points that are no integers", "a packed weight");
  }
  return BSM_OK;
}

static bsm_status check_bias(const bsm_ivalue *v, int64_t channels) {
  if (v->tag == BSM_IVALUE_NONE) return BSM_OK;
  if (v->tag != BSM_IVALUE_TENSOR) return fail("%s is no tensor", "the bias");
  const bsm_tensor *t = v->u.tensor;
  if (!bsm_dtype_is_floating(t->dtype) || t->sizes.rank != 1 ||
      t->sizes.d[0] != channels) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the bias is %s of shape %s; %lld floats are needed",
                    bsm_dtype_name(t->dtype), bsm_dims_str(t->sizes),
                    (long long)channels);
  }
  return BSM_OK;
}

static bsm_status check_ints(const bsm_ivalue *v, int32_t n, int64_t least,
                             const char *what) {
  const bool list = v->tag == BSM_IVALUE_LIST && v->u.list->len == (size_t)n;
  for (int32_t i = 0; list && i < n; i++) {
    const bsm_ivalue *item = &v->u.list->items[i];
    if (item->tag == BSM_IVALUE_INT && item->u.i >= least &&
        item->u.i <= INT32_MAX) {
      continue;
    }
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the %s of a packed convolution must be integers of at "
                    "least %lld",
                    what, (long long)least);
  }
  return list ? BSM_OK
              : BSM_FAIL(BSM_INVALID_ARGUMENT,
                         "the %s of a packed convolution of %d dimensions "
                         "must be a list of so many integers",
                         what, (int)n);
}

/* ---- makers ---- */

static bsm_status make(bsm_arena *arena, bsm_packed_kind kind, size_t slots,
                       bsm_ivalue *out) {
  bsm_object *object = NULL;
  BSM_TRY(bsm_object_new(arena, NULL, slots, &object));
  object->slots[BSM_PACKED_KIND] = bsm_iv_int(kind);
  *out = bsm_iv_object(object);
  return BSM_OK;
}

bsm_status bsm_packed_conv_new(bsm_arena *arena, const bsm_packed_conv *conv,
                               bsm_ivalue *out) {
  const bsm_tensor *weight;
  const int32_t n = conv->dims;
  BSM_TRY(check_weight(&conv->weight, n + 2, &weight));
  BSM_TRY(check_ints(&conv->stride, n, 1, "stride"));
  BSM_TRY(check_ints(&conv->padding, n, 0, "padding"));
  BSM_TRY(check_ints(&conv->dilation, n, 1, "dilation"));
  BSM_TRY(check_ints(&conv->output_padding, n, 0, "output_padding"));
  const int64_t groups = conv->groups;
  if (groups < 1 || weight->sizes.d[0] % groups != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a packed convolution of %lld channels in %lld groups",
                    (long long)weight->sizes.d[0], (long long)groups);
  }
  int64_t channels = weight->sizes.d[0];
  if (conv->transposed && !bsm_i64_mul(weight->sizes.d[1], groups, &channels)) {
    return fail("%s has too many channels", "a packed weight");
  }
  BSM_TRY(check_bias(&conv->bias, channels));
  BSM_TRY(make(arena, BSM_PACKED_CONV, BSM_PACKED_CONV_SLOTS, out));
  bsm_ivalue *slots = out->u.object->slots;
  slots[BSM_PACKED_WEIGHT] = conv->weight;
  slots[BSM_PACKED_BIAS] = conv->bias;
  slots[BSM_PACKED_STRIDE] = conv->stride;
  slots[BSM_PACKED_PADDING] = conv->padding;
  slots[BSM_PACKED_DILATION] = conv->dilation;
  slots[BSM_PACKED_OUTPUT_PADDING] = conv->output_padding;
  slots[BSM_PACKED_GROUPS] = bsm_iv_int(groups);
  slots[BSM_PACKED_TRANSPOSED] = bsm_iv_bool(conv->transposed);
  return BSM_OK;
}

bsm_status bsm_packed_linear_new(bsm_arena *arena, const bsm_ivalue *weight,
                                 const bsm_ivalue *bias, bsm_ivalue *out) {
  const bsm_tensor *t =
      weight->tag == BSM_IVALUE_TENSOR ? weight->u.tensor : NULL;
  if (!t || !bsm_dtype_is_floating(t->dtype)) { /* else of half precision */
    BSM_TRY(check_weight(weight, 2, &t));
  } else if (t->sizes.rank != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a packed weight of shape %s",
                    bsm_dims_str(t->sizes));
  }
  BSM_TRY(check_bias(bias, t->sizes.d[0]));
  BSM_TRY(make(arena, BSM_PACKED_LINEAR, BSM_PACKED_LINEAR_SLOTS, out));
  out->u.object->slots[BSM_PACKED_WEIGHT] = *weight;
  out->u.object->slots[BSM_PACKED_BIAS] = *bias;
  return BSM_OK;
}

bsm_status bsm_packed_embedding_new(bsm_arena *arena, const bsm_ivalue *weight,
                                    int64_t bits, bsm_ivalue *out) {
  const bsm_tensor *t;
  BSM_TRY(check_quantized(weight, "a packed embedding", &t));
  if (t->dtype != BSM_DTYPE_QUINT8 || t->sizes.rank != 2 ||
      !t->quantizer->scales || t->quantizer->axis != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a packed embedding is %s of shape %s; a matrix of quint8 "
                    "with a scale for each row is needed",
                    bsm_dtype_name(t->dtype), bsm_dims_str(t->sizes));
  }
  if (bits != 8 && bits != 4) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a packed embedding of %lld bits",
                    (long long)bits);
  }
  BSM_TRY(make(arena, BSM_PACKED_EMBEDDING, BSM_PACKED_EMBEDDING_SLOTS, out));
  out->u.object->slots[BSM_PACKED_WEIGHT] = *weight;
  out->u.object->slots[BSM_PACKED_BITS] = bsm_iv_int(bits);
  return BSM_OK;
}

bsm_status bsm_packed_cell_new(bsm_arena *arena, const bsm_ivalue linear[2],
                               const bsm_ivalue bias[2], bool reduce_range,
                               bsm_ivalue *out) {
  BSM_TRY(make(arena, BSM_PACKED_CELL, BSM_PACKED_CELL_SLOTS, out));
  bsm_ivalue *slots = out->u.object->slots;
  slots[BSM_PACKED_REDUCE_RANGE] = bsm_iv_bool(reduce_range);
  int64_t rows = 0;
  for (int i = 0; i < 2; i++) {
    const bsm_ivalue *parts;
    BSM_TRY(bsm_packed_read(&linear[i], BSM_PACKED_LINEAR, &parts));
    const bsm_dims dims = parts[BSM_PACKED_WEIGHT].u.tensor->sizes;
    if (i == 1 && dims.d[0] != rows) {
      return fail("%s differ in their rows", "the weights of a packed cell");
    }
    rows = dims.d[0];
    BSM_TRY(check_bias(&bias[i], rows));
    slots[BSM_PACKED_CELL_INPUT + i] = linear[i];
    slots[BSM_PACKED_CELL_BIAS_INPUT + i] = bias[i];
  }
  return BSM_OK;
}

/* ---- reading ---- */

bsm_status bsm_packed_read(const bsm_ivalue *value, bsm_packed_kind kind,
                           const bsm_ivalue **slots) {
  static const size_t lengths[] = {
      0, BSM_PACKED_CONV_SLOTS, BSM_PACKED_LINEAR_SLOTS,
      BSM_PACKED_EMBEDDING_SLOTS, BSM_PACKED_CELL_SLOTS};
  static const char *const names[] = {"", "convolutions", "linear layers",
                                      "embeddings", "recurrent cells"};
  const bsm_object *o =
      value->tag == BSM_IVALUE_OBJECT ? value->u.object : NULL;
  if (o && o->len == lengths[kind] &&
      o->slots[BSM_PACKED_KIND].tag == BSM_IVALUE_INT &&
      o->slots[BSM_PACKED_KIND].u.i == (int64_t)kind) {
    *slots = o->slots;
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "%s where packed parameters of %s are needed",
                  bsm_iv_tag_name(value->tag), names[kind]);
}
