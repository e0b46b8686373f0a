/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized tensors: made, read and dequantized. Values are integers on a grid,
 * x = (q - zero_point) * scale, with one scale or one for each channel.
 *
 * As PyTorch's CPU: q = zero_point + nearest(x * (1 / scale)) in float, clamped
 * to the dtype; NaN becomes the highest value, of qint32 the
 * lowest. */
#include "aten/packed/aten_quantized.h"
#include "aten/op_kit.h"

/* ---- quantizers ---- */

static bool is_quantized(const bsm_tensor *t) {
  return t->dtype == BSM_DTYPE_QINT8 || t->dtype == BSM_DTYPE_QUINT8 ||
         t->dtype == BSM_DTYPE_QINT32;
}

static bsm_status need_quantized(const bsm_tensor *t, const char *what) {
  if (is_quantized(t) && t->quantizer) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "%s: a quantized tensor is needed, got %s", what,
                  bsm_op_type_name(t->dtype));
}

/* The integer dtype of the values, and what it holds. */
static bsm_status value_dtype(int64_t dtype, bsm_dtype *out, double *low,
                              double *high) {
  switch (dtype) {
    case BSM_DTYPE_QINT8:
      *out = BSM_DTYPE_INT8;
      *low = -128;
      *high = 127;
      return BSM_OK;
    case BSM_DTYPE_QUINT8:
      *out = BSM_DTYPE_UINT8;
      *low = 0;
      *high = 255;
      return BSM_OK;
    case BSM_DTYPE_QINT32:
      *out = BSM_DTYPE_INT32;
      *low = INT32_MIN;
      *high = INT32_MAX;
      return BSM_OK;
    default:
      return BSM_FAIL(BSM_UNSUPPORTED, "quantization to dtype number %lld",
                      (long long)dtype);
  }
}

/* The tensor as its integers: a view of another dtype. */
static bsm_status as_integers(bsm_op_ctx *cx, const bsm_tensor *t,
                              bsm_tensor **out) {
  double low, high;
  BSM_TRY(bsm_tensor_view(cx->arena, t, t->sizes, t->strides, t->offset, out));
  (*out)->quantizer = NULL;
  return value_dtype(t->dtype, &(*out)->dtype, &low, &high);
}

/* The scale and zero point of each element, in row-major order. */
typedef struct channels {
  const double *scales, *zeros;
  int64_t count, inner; /* element i belongs to i / inner % count */
} channels;

static bsm_status find_channels(bsm_op_ctx *cx, const bsm_tensor *t,
                                const bsm_quantizer *q, channels *out) {
  out->inner = 1;
  if (!q->scales) {
    out->scales = &q->scale;
    double *zero = BSM_NEW(cx->arena, double);
    BSM_TRY_ALLOC(zero);
    *zero = (double)q->zero_point;
    out->zeros = zero;
    out->count = 1;
    return BSM_OK;
  }
  if (q->axis < 0 || q->axis >= t->sizes.rank ||
      t->sizes.d[q->axis] != bsm_tensor_numel(q->scales) ||
      bsm_tensor_numel(q->scales) != bsm_tensor_numel(q->zero_points)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a tensor of shape %s with %lld scales and %lld zero "
                    "points along axis %d",
                    bsm_dims_str(t->sizes),
                    (long long)bsm_tensor_numel(q->scales),
                    (long long)bsm_tensor_numel(q->zero_points), (int)q->axis);
  }
  out->scales = bsm_op_load_all(cx, q->scales);
  out->zeros = bsm_op_load_all(cx, q->zero_points);
  if (!out->scales || !out->zeros) return BSM_FAIL_OOM();
  out->count = bsm_tensor_numel(q->scales);
  for (int32_t i = q->axis + 1; i < t->sizes.rank; i++) {
    out->inner *= t->sizes.d[i];
  }
  return BSM_OK;
}

static double quantized_value(double x, double scale, double zero, double low,
                              double high) {
  const float y = (float)x * (1.0f / (float)scale);
  if (isnan(y)) return high > 255 ? low : high;
  return fmin(fmax((double)(nearbyintf(y) + (float)zero), low), high);
}

/* ---- quantize ---- */

static bsm_status quantize(bsm_op_ctx *cx, const bsm_tensor *x,
                           const bsm_quantizer *quantizer, int64_t dtype,
                           bsm_tensor **out) {
  bsm_dtype integers;
  double low, high;
  BSM_TRY(value_dtype(dtype, &integers, &low, &high));
  if (x->dtype != BSM_DTYPE_FLOAT) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Quantize only works on Float Tensor, got %s",
                    bsm_op_type_name(x->dtype));
  }
  bsm_quantizer *q = BSM_NEW(cx->arena, bsm_quantizer);
  BSM_TRY_ALLOC(q);
  *q = *quantizer;
  BSM_TRY(bsm_op_new_like(cx, (bsm_dtype)dtype, x, out));
  (*out)->quantizer = q;
  if (cx->meta) return BSM_OK;
  channels c;
  bsm_tensor *values;
  BSM_TRY(find_channels(cx, x, q, &c));
  double *all = bsm_op_load_all(cx, x);
  BSM_TRY_ALLOC(all);
  const int64_t n = bsm_tensor_numel(x);
  for (int64_t i = 0; i < n; i++) {
    const int64_t k = i / c.inner % c.count;
    const double zero = q->float_zero_points ? 0 : c.zeros[k];
    if (q->float_zero_points) {
      const float y =
          (float)all[i] * (1.0f / (float)c.scales[k]) + (float)c.zeros[k];
      all[i] = fmin(fmax((double)nearbyintf(y), low), high);
    } else {
      all[i] = quantized_value(all[i], c.scales[k], zero, low, high);
    }
  }
  BSM_TRY(as_integers(cx, *out, &values));
  bsm_op_store_all(values, all);
  return BSM_OK;
}

/* A number from an argument that is a number or a tensor of one element. */
static bsm_status number_of(const bsm_ivalue *a, const char *what,
                            double *out) {
  const bsm_tensor *t = op_tensor(a);
  if (!t) {
    *out = op_double(a);
    return BSM_OK;
  }
  if (bsm_tensor_numel(t) != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s of %lld elements", what,
                    (long long)bsm_tensor_numel(t));
  }
  if (bsm_tensor_is_meta(t)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "the %s of a quantized tensor", what);
  }
  *out = bsm_tensor_get_double(t, 0);
  return BSM_OK;
}

static bsm_status op_quantize_per_tensor(OP_PARAMS) {
  bsm_quantizer q = {.axis = -1};
  double zero;
  bsm_tensor *out;
  (void)self;
  BSM_TRY(number_of(&args[1], "scale", &q.scale));
  BSM_TRY(number_of(&args[2], "zero point", &zero));
  q.zero_point = bsm_double_to_i64(zero);
  BSM_TRY(quantize(cx, op_tensor(&args[0]), &q, op_int(&args[3]), &out));
  outs[0] = bsm_iv_tensor(out);
  return BSM_OK;
}

/* Scales and zero points as a quantizer keeps them. */
static bsm_status channel_quantizer(bsm_op_ctx *cx, const bsm_tensor *scales,
                                    const bsm_tensor *zeros, int64_t axis,
                                    const bsm_tensor *t, bsm_quantizer *q) {
  if (scales->sizes.rank != 1 || zeros->sizes.rank != 1 || axis < 0 ||
      axis >= t->sizes.rank || scales->sizes.d[0] != t->sizes.d[axis] ||
      zeros->sizes.d[0] != scales->sizes.d[0]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "per-channel quantization of %s along axis %lld with %s "
                    "scales and %s zero points",
                    bsm_dims_str(t->sizes), (long long)axis,
                    bsm_dims_str(scales->sizes), bsm_dims_str(zeros->sizes));
  }
  *q = (bsm_quantizer){.scales = scales, .zero_points = zeros};
  q->axis = (int32_t)axis;
  q->float_zero_points = bsm_dtype_is_floating(zeros->dtype);
  (void)cx;
  return BSM_OK;
}

static bsm_status op_quantize_per_channel(OP_PARAMS) {
  bsm_quantizer q;
  bsm_tensor *out;
  const bsm_tensor *x = op_tensor(&args[0]);
  (void)self;
  BSM_TRY(channel_quantizer(cx, op_tensor(&args[1]), op_tensor(&args[2]),
                            op_int(&args[3]), x, &q));
  BSM_TRY(quantize(cx, x, &q, op_int(&args[4]), &out));
  outs[0] = bsm_iv_tensor(out);
  return BSM_OK;
}

/* ---- from integers ---- */

static bsm_status from_integers(bsm_op_ctx *cx, const bsm_tensor *t,
                                const bsm_quantizer *quantizer,
                                bsm_ivalue *out) {
  bsm_dtype dtype;
  switch (t->dtype) {
    case BSM_DTYPE_INT8:
      dtype = BSM_DTYPE_QINT8;
      break;
    case BSM_DTYPE_UINT8:
      dtype = BSM_DTYPE_QUINT8;
      break;
    case BSM_DTYPE_INT32:
      dtype = BSM_DTYPE_QINT32;
      break;
    default:
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "a quantized tensor of %s values",
                      bsm_op_type_name(t->dtype));
  }
  bsm_quantizer *q = BSM_NEW(cx->arena, bsm_quantizer);
  BSM_TRY_ALLOC(q);
  *q = *quantizer;
  bsm_tensor *copy;
  BSM_TRY(bsm_tensor_clone(cx->arena, t, &copy));
  copy->dtype = dtype;
  copy->quantizer = q;
  *out = bsm_iv_tensor(copy);
  return BSM_OK;
}

static bsm_status op_make_per_tensor(OP_PARAMS) {
  const bsm_quantizer q = {
      .scale = op_double(&args[1]), .zero_point = op_int(&args[2]), .axis = -1};
  (void)self;
  return from_integers(cx, op_tensor(&args[0]), &q, &outs[0]);
}

static bsm_status op_make_per_channel(OP_PARAMS) {
  bsm_quantizer q;
  const bsm_tensor *t = op_tensor(&args[0]);
  (void)self;
  BSM_TRY(channel_quantizer(cx, op_tensor(&args[1]), op_tensor(&args[2]),
                            op_int(&args[3]), t, &q));
  return from_integers(cx, t, &q, &outs[0]);
}

/* ---- dequantize ---- */

static bsm_status dequantize(bsm_op_ctx *cx, const bsm_tensor *t,
                             bsm_tensor **out) {
  if (!is_quantized(t)) {
    return bsm_op_cast(cx, (bsm_tensor *)(uintptr_t)t, BSM_DTYPE_FLOAT, out);
  }
  BSM_TRY(need_quantized(t, "dequantize"));
  BSM_TRY(bsm_op_new_like(cx, BSM_DTYPE_FLOAT, t, out));
  if (cx->meta) return BSM_OK;
  channels c;
  bsm_tensor *values;
  BSM_TRY(find_channels(cx, t, t->quantizer, &c));
  BSM_TRY(as_integers(cx, t, &values));
  double *all = bsm_op_load_all(cx, values);
  BSM_TRY_ALLOC(all);
  const int64_t n = bsm_tensor_numel(t);
  for (int64_t i = 0; i < n; i++) {
    const int64_t k = i / c.inner % c.count;
    all[i] = (double)((float)(all[i] - c.zeros[k]) * (float)c.scales[k]);
  }
  bsm_op_store_all(*out, all);
  return BSM_OK;
}

static bsm_status op_dequantize(OP_PARAMS) {
  bsm_tensor *out;
  (void)self;
  BSM_TRY(dequantize(cx, op_tensor(&args[0]), &out));
  outs[0] = bsm_iv_tensor(out);
  return BSM_OK;
}

static bsm_status op_dequantize_list(OP_PARAMS) {
  bsm_tensor **tensors;
  size_t n;
  (void)self;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &tensors, &n));
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(dequantize(cx, tensors[i], &tensors[i]));
  }
  return bsm_iv_tensor_list(cx->arena, tensors, n, &outs[0]);
}

/* ---- what a quantized tensor is ---- */

static bsm_status op_int_repr(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  bsm_tensor *values, *out;
  (void)self;
  BSM_TRY(need_quantized(t, "int_repr"));
  BSM_TRY(as_integers(cx, t, &values));
  BSM_TRY(bsm_tensor_clone(cx->arena, values, &out));
  outs[0] = bsm_iv_tensor(out);
  return BSM_OK;
}

enum { Q_SCALE, Q_ZERO_POINT, Q_SCALES, Q_ZERO_POINTS, Q_AXIS };

static bsm_status op_parameter(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  (void)cx;
  BSM_TRY(need_quantized(t, "q_scale"));
  const bsm_quantizer *q = t->quantizer;
  const bool per_channel = self->variant >= Q_SCALES;
  if (per_channel != (q->scales != NULL)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Expected quantizer->qscheme() == %s",
                    per_channel ? "kPerChannelAffine" : "kPerTensorAffine");
  }
  switch (self->variant) {
    case Q_SCALE:
      outs[0] = bsm_iv_double(q->scale);
      break;
    case Q_ZERO_POINT:
      outs[0] = bsm_iv_int(q->zero_point);
      break;
    case Q_AXIS:
      outs[0] = bsm_iv_int(q->axis);
      break;
    default:
      outs[0] = bsm_iv_tensor((
          bsm_tensor *)(uintptr_t)(self->variant == Q_SCALES ? q->scales
                                                             : q->zero_points));
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::quantize_per_tensor(Tensor self, float scale, int zero_point, "
       "ScalarType dtype) -> Tensor",
       op_quantize_per_tensor, 0, 0),
    OP("aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, "
       "Tensor zero_point, ScalarType dtype) -> Tensor",
       op_quantize_per_tensor, 0, 0),
    OP("aten::quantize_per_channel(Tensor self, Tensor scales, Tensor "
       "zero_points, int axis, ScalarType dtype) -> Tensor",
       op_quantize_per_channel, 0, 0),
    OP("aten::_make_per_tensor_quantized_tensor(Tensor self, float scale, int "
       "zero_point) -> Tensor",
       op_make_per_tensor, 0, 0),
    OP("aten::_make_per_channel_quantized_tensor(Tensor self, Tensor scale, "
       "Tensor zero_point, int axis) -> Tensor",
       op_make_per_channel, 0, 0),
    OP("aten::dequantize.self(Tensor self) -> Tensor", op_dequantize, 0, 0),
    OP("aten::dequantize.tensor(Tensor qtensor) -> Tensor", op_dequantize, 0,
       0),
    OP("aten::dequantize.tensors(Tensor[] tensors) -> Tensor[]",
       op_dequantize_list, 0, 0),
    OP("aten::dequantize.list(Tensor[] qtensors) -> Tensor[]",
       op_dequantize_list, 0, 0),
    OP("aten::int_repr(Tensor self) -> Tensor", op_int_repr, 0, 0),
    OP("aten::q_scale(Tensor self) -> float", op_parameter, Q_SCALE, 0),
    OP("aten::q_zero_point(Tensor self) -> int", op_parameter, Q_ZERO_POINT, 0),
    OP("aten::q_per_channel_scales(Tensor self) -> Tensor", op_parameter,
       Q_SCALES, 0),
    OP("aten::q_per_channel_zero_points(Tensor self) -> Tensor", op_parameter,
       Q_ZERO_POINTS, 0),
    OP("aten::q_per_channel_axis(Tensor self) -> int", op_parameter, Q_AXIS, 0),
};
BSM_ATEN_TABLE(quantized, rows);
