/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_decomposed: quantization as arithmetic on plain tensors, as models
 * quantized by export have it. PyTorch writes these ops in Python, out of
 * others; here they are the same ones in the same order, so they round alike.
 */
#include "aten/packed/aten_quantized_decomposed.h"
#include "aten/op_compose.h"

/* q = clamp(round(x / scale) + zero, low, high), x = (q - zero) * scale */
typedef struct affine {
  bsm_ivalue scale, inverse, zero; /* numbers, or tensors that broadcast */
} affine;

static bsm_status mul(bsm_op_ctx *cx, bsm_tensor *t, const bsm_ivalue *by,
                      bsm_tensor **out) {
  OP_CALL1(cx, out, op_tensor(by) ? "aten::mul.Tensor" : "aten::mul.Scalar",
           T(t), *by);
  return BSM_OK;
}

static bsm_status add(bsm_op_ctx *cx, bsm_tensor *t, const bsm_ivalue *by,
                      int64_t alpha, bsm_tensor **out) {
  const bool tensor = op_tensor(by) != NULL;
  if (alpha > 0) {
    OP_CALL1(cx, out, tensor ? "aten::add.Tensor" : "aten::add.Scalar", T(t),
             *by, I(1));
  } else {
    OP_CALL1(cx, out, tensor ? "aten::sub.Tensor" : "aten::sub.Scalar", T(t),
             *by, I(1));
  }
  return BSM_OK;
}

static bsm_status round_it(bsm_op_ctx *cx, bsm_tensor *t, bsm_tensor **out) {
  OP_CALL1(cx, out, "aten::round", T(t));
  return BSM_OK;
}

/* round_last: the zero point is added before rounding. */
static bsm_status quantize(bsm_op_ctx *cx, bsm_tensor *x, const affine *a,
                           const bsm_ivalue *low, const bsm_ivalue *high,
                           bsm_dtype dtype, bool round_last, bsm_tensor **out) {
  bsm_tensor *t;
  BSM_TRY(mul(cx, x, &a->inverse, &t));
  if (!round_last) BSM_TRY(round_it(cx, t, &t));
  BSM_TRY(add(cx, t, &a->zero, 1, &t));
  if (round_last) BSM_TRY(round_it(cx, t, &t));
  OP_CALL1(cx, &t, "aten::clamp", T(t), *low, *high);
  return bsm_op_cast(cx, t, dtype, out);
}

static bsm_status dequantize(bsm_op_ctx *cx, bsm_tensor *q, const affine *a,
                             bsm_tensor **out) {
  *out = q;
  if (!op_none(&a->zero)) BSM_TRY(add(cx, q, &a->zero, -1, out));
  return mul(cx, *out, &a->scale, out);
}

/* A number, or the only element of a tensor. */
static bsm_status read_number(bsm_op_ctx *cx, const bsm_ivalue *a,
                              const char *what, bsm_ivalue *out) {
  const bsm_tensor *t = op_tensor(a);
  *out = *a;
  if (!t) return BSM_OK;
  if (bsm_tensor_numel(t) != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expecting %s tensor to be one element, but received : "
                    "%lld",
                    what, (long long)bsm_tensor_numel(t));
  }
  *out = bsm_dtype_is_floating(t->dtype) ? D(1) : I(1);
  if (cx->meta) return BSM_OK;
  const double value = bsm_tensor_get_double(t, 0);
  *out = bsm_dtype_is_floating(t->dtype) ? D(value) : I((int64_t)value);
  return BSM_OK;
}

static bsm_status check_bounds(const bsm_ivalue *low, const bsm_ivalue *high,
                               bsm_dtype dtype) {
  int64_t least = 0, most = 0;
  switch (dtype) {
    case BSM_DTYPE_UINT8:
      most = UINT8_MAX;
      break;
    case BSM_DTYPE_INT8:
      least = INT8_MIN;
      most = INT8_MAX;
      break;
    case BSM_DTYPE_INT16:
      least = INT16_MIN;
      most = INT16_MAX;
      break;
    case BSM_DTYPE_INT32:
      least = INT32_MIN;
      most = INT32_MAX;
      break;
    default:
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "Unsupported dtype: %s",
                      bsm_dtype_name(dtype));
  }
  if (op_int(low) < least || op_int(high) > most) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "quant_min or quant_max out of bound for dtype %s",
                    bsm_dtype_name(dtype));
  }
  return BSM_OK;
}

/* What is quantized, as float32. */
static bsm_status float_input(bsm_op_ctx *cx, const bsm_ivalue *a,
                              bsm_tensor **out) {
  bsm_tensor *t = op_tensor(a);
  if (t->dtype == BSM_DTYPE_HALF || t->dtype == BSM_DTYPE_BFLOAT16) {
    return bsm_op_cast(cx, t, BSM_DTYPE_FLOAT, out);
  }
  *out = t;
  if (t->dtype == BSM_DTYPE_FLOAT) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "Expecting input to have dtype torch.float32, but got dtype: "
                  "%s",
                  bsm_dtype_name(t->dtype));
}

static bsm_status check_dtype(const bsm_tensor *t, const bsm_ivalue *dtype) {
  if (t->dtype == op_dtype_or(dtype, t->dtype)) return BSM_OK;
  return BSM_FAIL(
      BSM_INVALID_ARGUMENT, "Expecting input to have dtype: %s, but got %s",
      bsm_dtype_name(op_dtype_or(dtype, t->dtype)), bsm_dtype_name(t->dtype));
}

/* ---- per tensor ---- */

static bsm_status tensor_affine(bsm_op_ctx *cx, const bsm_ivalue *args,
                                affine *out, bsm_ivalue range[2]) {
  BSM_TRY(read_number(cx, &args[1], "scale", &out->scale));
  BSM_TRY(read_number(cx, &args[2], "zero_point", &out->zero));
  BSM_TRY(read_number(cx, &args[3], "quant_min", &range[0]));
  BSM_TRY(read_number(cx, &args[4], "quant_max", &range[1]));
  out->inverse = D(1.0 / op_double(&out->scale));
  return BSM_OK;
}

/* quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype) */
static bsm_status op_quantize_tensor(OP_PARAMS) {
  (void)self;
  bsm_tensor *x, *out;
  bsm_ivalue range[2];
  affine a;
  BSM_TRY(float_input(cx, &args[0], &x));
  BSM_TRY(tensor_affine(cx, args, &a, range));
  const bsm_dtype dtype = op_dtype_or(&args[5], BSM_DTYPE_FLOAT);
  if (!cx->meta) BSM_TRY(check_bounds(&range[0], &range[1], dtype));
  BSM_TRY(quantize(cx, x, &a, &range[0], &range[1], dtype, false, &out));
  return op_return(outs, out);
}

/* dequantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype,
 * *, out_dtype) */
static bsm_status op_dequantize_tensor(OP_PARAMS) {
  (void)self;
  bsm_tensor *q = op_tensor(&args[0]), *out;
  bsm_ivalue range[2];
  affine a;
  BSM_TRY(check_dtype(q, &args[5]));
  BSM_TRY(tensor_affine(cx, args, &a, range));
  BSM_TRY(bsm_op_cast(cx, q, op_dtype_or(&args[6], BSM_DTYPE_FLOAT), &q));
  BSM_TRY(dequantize(cx, q, &a, &out));
  return op_return(outs, out);
}

/* ---- per channel ---- */

static bsm_status along(bsm_op_ctx *cx, const bsm_tensor *x, int64_t axis,
                        const bsm_ivalue *a, bsm_ivalue *out) {
  bsm_tensor *t = op_tensor(a);
  bsm_dims dims = {x->sizes.rank, {0}};
  *out = *a;
  if (!t) return BSM_OK;
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = 1;
  dims.d[axis] = bsm_tensor_numel(t);
  BSM_TRY(bsm_op_reshape(cx, t, dims, &t));
  *out = T(t);
  return BSM_OK;
}

static bsm_status channel_affine(bsm_op_ctx *cx, const bsm_ivalue *args,
                                 affine *out) {
  const bsm_tensor *x = op_tensor(&args[0]);
  const int64_t rank = x->sizes.rank, axis = op_int(&args[3]);
  bsm_tensor *inverse;
  if (axis >= rank || axis < -rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Expecting axis to be < %lld",
                    (long long)rank);
  }
  const int64_t at = axis < 0 ? axis + rank : axis;
  BSM_TRY(along(cx, x, at, &args[1], &out->scale));
  BSM_TRY(along(cx, x, at, &args[2], &out->zero));
  OP_CALL1(cx, &inverse, "aten::reciprocal", out->scale);
  out->inverse = T(inverse);
  return BSM_OK;
}

/* quantize_per_channel(input, scales, zero_points, axis, quant_min, quant_max,
 * dtype) */
static bsm_status op_quantize_channel(OP_PARAMS) {
  (void)self;
  bsm_tensor *x, *out;
  affine a;
  const bsm_dtype dtype = op_dtype_or(&args[6], BSM_DTYPE_FLOAT);
  BSM_TRY(float_input(cx, &args[0], &x));
  BSM_TRY(channel_affine(cx, args, &a));
  BSM_TRY(check_bounds(&args[4], &args[5], dtype));
  BSM_TRY(quantize(cx, x, &a, &args[4], &args[5], dtype, false, &out));
  return op_return(outs, out);
}

/* dequantize_per_channel(input, scales, zero_points, axis, quant_min,
 * quant_max, dtype, *, out_dtype) */
static bsm_status op_dequantize_channel(OP_PARAMS) {
  (void)self;
  bsm_tensor *q = op_tensor(&args[0]), *out;
  affine a;
  BSM_TRY(check_dtype(q, &args[6]));
  BSM_TRY(channel_affine(cx, args, &a));
  BSM_TRY(check_bounds(&args[4], &args[5], q->dtype));
  BSM_TRY(dequantize(cx, q, &a, &out));
  BSM_TRY(bsm_op_cast(cx, out, op_dtype_or(&args[7], BSM_DTYPE_FLOAT), &out));
  return op_return(outs, out);
}

/* ---- per token, and per group of a row ---- */

/* Where each group of a row has its own scale: the input as rows of groups, and
 * the scales and zero points (NULL: none) as one for each. */
static bsm_status cut_groups(bsm_op_ctx *cx, const bsm_ivalue *args,
                             const bsm_aten_op *self, bsm_tensor **x,
                             affine *a) {
  if (!self->variant) return BSM_OK;
  const int64_t group = op_int(&args[6]), n = bsm_tensor_numel(*x);
  if (group < 1 || n % group != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "group_size %lld of %s",
                    (long long)group, bsm_dims_str((*x)->sizes));
  }
  BSM_TRY(bsm_op_reshape(cx, *x, op_dims2(n / group, group), x));
  for (int i = 0; i < 2; i++) {
    bsm_tensor *t = op_tensor(&args[1 + i]);
    if (!t) continue;
    BSM_TRY(bsm_op_reshape(cx, t, op_dims2(bsm_tensor_numel(t), 1), &t));
    *(i ? &a->zero : &a->scale) = T(t);
  }
  return BSM_OK;
}

/* The result in the shape of the input, where it was cut into groups; else it
 * has the shape that input and scales broadcast to. */
static bsm_status join_groups(bsm_op_ctx *cx, const bsm_aten_op *self,
                              bsm_dims dims, bsm_tensor **out) {
  int64_t n = 1;
  if (!self->variant) return BSM_OK;
  /* The input has this many. */
  for (int32_t i = 0; i < dims.rank; i++) n *= dims.d[i];
  if (bsm_tensor_numel(*out) != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "more scales than the groups of %s",
                    bsm_dims_str(dims));
  }
  return bsm_op_reshape(cx, *out, dims, out);
}

/* quantize_per_token(input, scales, zero_points, quant_min, quant_max, dtype);
 * per_channel_group: also group_size, and each group has its own */
static bsm_status op_quantize_token(OP_PARAMS) {
  bsm_tensor *x = op_tensor(&args[0]), *inverse, *out;
  affine a = {args[1], NONE, args[2]};
  const bsm_dtype dtype = op_dtype_or(&args[5], BSM_DTYPE_FLOAT);
  const bsm_dims dims = x->sizes;
  if (!self->variant) BSM_TRY(check_bounds(&args[3], &args[4], dtype));
  BSM_TRY(cut_groups(cx, args, self, &x, &a));
  OP_CALL1(cx, &inverse, "aten::reciprocal", a.scale);
  a.inverse = T(inverse);
  BSM_TRY(quantize(cx, x, &a, &args[3], &args[4], dtype, true, &out));
  BSM_TRY(join_groups(cx, self, dims, &out));
  return op_return(outs, out);
}

/* dequantize_per_token(input, scales, zero_points, quant_min, quant_max, dtype,
 * output_dtype); per_channel_group: group_size before output_dtype */
static bsm_status op_dequantize_token(OP_PARAMS) {
  bsm_tensor *q = op_tensor(&args[0]), *out;
  affine a = {args[1], NONE, args[2]};
  const bsm_dims dims = q->sizes;
  const bsm_ivalue *dtype = &args[self->variant ? 7 : 6];
  BSM_TRY(cut_groups(cx, args, self, &q, &a));
  BSM_TRY(dequantize(cx, q, &a, &out));
  BSM_TRY(join_groups(cx, self, dims, &out));
  BSM_TRY(bsm_op_cast(cx, out, op_dtype_or(dtype, BSM_DTYPE_FLOAT), &out));
  return op_return(outs, out);
}

/* ---- choosing ---- */

/* Rounds to `dtype`, so that results agree with a computation in it. */
static double in_float(double x) {
  return (double)(float)x;
}

/* What is computed in float, and rounded to the dtype of a tensor. */
static double rounded_as(const bsm_tensor *t, double x) {
  x = in_float(x);
  bsm_round_f64(t->dtype, 1, &x);
  return x;
}

/* choose_qparams(input, quant_min, quant_max, eps, dtype); symmetric */
static bsm_status op_choose(OP_PARAMS) {
  bsm_tensor *x = op_tensor(&args[0]), *scale, *zero;
  const double low = op_double(&args[1]), high = op_double(&args[2]);
  const double eps = in_float(op_double(&args[3]));
  const bool unsigned_type =
      op_dtype_or(&args[4], BSM_DTYPE_INT8) == BSM_DTYPE_UINT8;
  if (low >= high) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "quant_min must be less than quant_max.");
  }
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_DOUBLE, op_dims1(1), &scale));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims1(1), &zero));
  outs[0] = T(scale);
  outs[1] = T(zero);
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(x);
  const double *values = bsm_op_load_all(cx, x);
  BSM_TRY_ALLOC(values);
  double least = 0.0, most = 0.0, s, z;
  for (int64_t i = 0; i < n; i++) {
    least = fmin(least, values[i]);
    most = fmax(most, values[i]);
  }
  if (self->variant) {
    s = fmax(rounded_as(x, fmax(-least, most) / ((high - low) / 2.0)), eps);
    z = unsigned_type ? 128.0 : 0.0;
  } else {
    s = fmax(rounded_as(x, rounded_as(x, most - least) / (high - low)), eps);
    z = low - nearbyint(in_float(least / s));
    z = fmin(fmax(z, low), high);
  }
  const int64_t whole = (int64_t)z;
  bsm_op_store_all(scale, &s);
  bsm_op_store_ints(zero, &whole);
  return BSM_OK;
}

/* choose_qparams_per_token(input, dtype): by the largest of a row */
static bsm_status op_choose_token(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *zero;
  bsm_ivalue last;
  if (op_dtype_or(&args[1], BSM_DTYPE_FLOAT) != BSM_DTYPE_INT8) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "unsupported dtype in choose_qparams_per_token");
  }
  BSM_TRY(op_ints(cx, op_dims1(-1), &last));
  BSM_TRY(bsm_op_abs(cx, t, &t));
  OP_CALL1(cx, &t, "aten::amax", T(t), last, B(true));
  if (t->dtype == BSM_DTYPE_HALF) {
    BSM_TRY(bsm_op_cast(cx, t, BSM_DTYPE_FLOAT, &t));
  }
  OP_CALL1(cx, &t, "aten::clamp", T(t), D(1e-5), NONE);
  OP_CALL1(cx, &t, "aten::div.Scalar", T(t), I(127));
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &zero));
  outs[0] = T(t);
  outs[1] = T(zero);
  return BSM_OK;
}

static bsm_status with_zero(bsm_op_ctx *cx, const bsm_ivalue *x,
                            const char *reduce, const char *clip,
                            const bsm_ivalue *last, bsm_tensor **out) {
  bsm_tensor *zero;
  OP_CALL1(cx, out, reduce, *x, *last, B(true));
  BSM_TRY(bsm_op_new_like(cx, (*out)->dtype, *out, &zero));
  OP_CALL1(cx, out, clip, T(*out), T(zero));
  return BSM_OK;
}

/* choose_qparams_per_token_asymmetric(input, dtype) */
static bsm_status op_choose_token_asymmetric(OP_PARAMS) {
  (void)self;
  bsm_tensor *low, *high, *scale, *from_low, *from_high, *sum, *zero;
  bsm_ivalue last;
  BSM_TRY(op_ints(cx, op_dims1(-1), &last));
  BSM_TRY(with_zero(cx, &args[0], "aten::amin", "aten::minimum", &last, &low));
  BSM_TRY(with_zero(cx, &args[0], "aten::amax", "aten::maximum", &last, &high));
  BSM_TRY(bsm_op_add(cx, high, low, -1.0, &scale));
  OP_CALL1(cx, &scale, "aten::div.Scalar", T(scale), D(255.0));
  OP_CALL1(cx, &scale, "aten::clamp", T(scale), D(0x1p-23), NONE);
  OP_CALL1(cx, &low, "aten::div.Tensor", T(low), T(scale));
  OP_CALL1(cx, &high, "aten::div.Tensor", T(high), T(scale));
  OP_CALL1(cx, &from_low, "aten::add.Scalar", T(low), I(-128), I(1));
  OP_CALL1(cx, &from_high, "aten::add.Scalar", T(high), I(127), I(1));
  BSM_TRY(bsm_op_add(cx, from_low, from_high, 1.0, &sum));
  OP_CALL1(cx, &sum, "aten::gt.Scalar", T(sum), I(0));
  OP_CALL1(cx, &low, "aten::rsub.Scalar", T(low), I(-128), I(1));
  OP_CALL1(cx, &high, "aten::rsub.Scalar", T(high), I(127), I(1));
  OP_CALL1(cx, &zero, "aten::where.self", T(sum), T(low), T(high));
  OP_CALL1(cx, &zero, "aten::clamp", T(zero), I(-128), I(127));
  BSM_TRY(round_it(cx, zero, &zero));
  BSM_TRY(bsm_op_cast(cx, scale, BSM_DTYPE_DOUBLE, &scale));
  BSM_TRY(bsm_op_cast(cx, zero, BSM_DTYPE_INT64, &zero));
  outs[0] = T(scale);
  outs[1] = T(zero);
  return BSM_OK;
}

/* convert_element_type.no_fuse(input, dtype) */
static bsm_status op_convert(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  BSM_TRY(bsm_op_cast(cx, t, op_dtype_or(&args[1], t->dtype), &out));
  if (out == t) BSM_TRY(bsm_tensor_clone(cx->arena, t, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("quantized_decomposed::quantize_per_tensor(Tensor input, float scale, "
       "int zero_point, int "
       "quant_min, int quant_max, ScalarType dtype) -> Tensor",
       op_quantize_tensor, 0, 0),
    OP("quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor "
       "scale, Tensor "
       "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
       op_quantize_tensor, 0, 0),
    OP("quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor "
       "scale, Tensor "
       "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> "
       "Tensor",
       op_quantize_tensor, 0, 0),
    OP("quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, "
       "int zero_point, int "
       "quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
       "out_dtype=None) -> Tensor",
       op_dequantize_tensor, 0, 0),
    OP("quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, "
       "Tensor scale, Tensor "
       "zero_point, int quant_min, int quant_max, ScalarType dtype, *, "
       "ScalarType? out_dtype=None) -> Tensor",
       op_dequantize_tensor, 0, 0),
    OP("quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, "
       "Tensor scale, Tensor "
       "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, "
       "ScalarType? out_dtype=None) -> Tensor",
       op_dequantize_tensor, 0, 0),
    OP("quantized_decomposed::quantize_per_channel(Tensor input, Tensor "
       "scales, Tensor zero_points, "
       "int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
       op_quantize_channel, 0, 0),
    OP("quantized_decomposed::dequantize_per_channel(Tensor input, Tensor "
       "scales, Tensor? "
       "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, "
       "*, ScalarType? out_dtype=None) -> Tensor",
       op_dequantize_channel, 0, 0),
    OP("quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, "
       "Tensor zero_points, "
       "int quant_min, int quant_max, ScalarType dtype) -> Tensor",
       op_quantize_token, 0, 0),
    OP("quantized_decomposed::dequantize_per_token(Tensor input, Tensor "
       "scales, Tensor zero_points, "
       "int quant_min, int quant_max, ScalarType dtype, ScalarType "
       "output_dtype) -> Tensor",
       op_dequantize_token, 0, 0),
    OP("quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor "
       "scales, Tensor "
       "zero_points, int quant_min, int quant_max, ScalarType dtype, int "
       "group_size) -> Tensor",
       op_quantize_token, 1, 0),
    OP("quantized_decomposed::dequantize_per_channel_group(Tensor input, "
       "Tensor scales, Tensor? "
       "zero_points, int quant_min, int quant_max, ScalarType dtype, int "
       "group_size, ScalarType output_dtype) -> Tensor",
       op_dequantize_token, 1, 0),
    OP("quantized_decomposed::choose_qparams.tensor(Tensor input, int "
       "quant_min, int quant_max, "
       "float eps, ScalarType dtype) -> (Tensor, Tensor)",
       op_choose, 0, 0),
    OP("quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, "
       "int quant_min, int "
       "quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
       op_choose, 1, 0),
    OP("quantized_decomposed::choose_qparams_per_token(Tensor input, "
       "ScalarType dtype) -> (Tensor, "
       "Tensor)",
       op_choose_token, 0, 0),
    OP("quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor "
       "input, ScalarType "
       "dtype) -> (Tensor, Tensor)",
       op_choose_token_asymmetric, 0, 0),
    OP("quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor "
       "input, ScalarType dtype) -> "
       "(Tensor, Tensor)",
       op_choose_token_asymmetric, 0, 0),
    OP("quantized_decomposed::convert_element_type.no_fuse(Tensor input, "
       "ScalarType dtype) -> "
       "Tensor",
       op_convert, 0, 0),
};
BSM_ATEN_TABLE_CALLING(quantized_decomposed, rows, &bsm_aten_ops_binary,
                       &bsm_aten_ops_index, &bsm_aten_ops_reduce,
                       &bsm_aten_ops_unary);
