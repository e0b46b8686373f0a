/* SPDX-License-Identifier: Apache-2.0 */
/* The inner forms of layers, as exported graphs have them: norms with their
 * statistics, convolutions under other names, masked softmax, attention with
 * its log-sum; integrals over samples. */
#include "aten/packed/aten_layers.h"
#include "aten/op_compose.h"

static bsm_status list1(bsm_op_ctx *cx, int64_t v, bsm_ivalue *out) {
  return bsm_iv_int_list(cx->arena, &v, 1, out);
}

/* ---- norms ---- */

/* Mean and 1 / sqrt(variance + eps) of rows of `row` elements. */
static bsm_status row_moments(bsm_op_ctx *cx, bsm_tensor *t, int64_t row,
                              double eps, bsm_tensor *mean,
                              bsm_tensor *invstd) {
  const int64_t n = bsm_tensor_numel(mean);
  const double *x = bsm_op_load_all(cx, t);
  double *m = bsm_op_load_all(cx, mean), *s = bsm_op_load_all(cx, invstd);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(m);
  BSM_TRY_ALLOC(s);
  for (int64_t r = 0; r < n; r++, x += row) {
    double sum = 0.0, squares = 0.0;
    for (int64_t k = 0; k < row; k++) sum += x[k];
    m[r] = sum / (double)row;
    for (int64_t k = 0; k < row; k++) {
      squares += (x[k] - m[r]) * (x[k] - m[r]);
    }
    s[r] = 1.0 / sqrt(squares / (double)row + eps);
  }
  bsm_op_store_all(mean, m);
  bsm_op_store_all(invstd, s);
  return BSM_OK;
}

/* native_group_norm(input, weight, bias, N, C, HxW, group, eps) */
static bsm_status op_native_group_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out, *stats[2];
  const int64_t batch = op_int(&args[3]), channels = op_int(&args[4]),
                inner = op_int(&args[5]), groups = op_int(&args[6]);
  int64_t n;
  if (batch < 0 || groups <= 0 || channels < 0 || inner < 0 ||
      channels % groups != 0 || !bsm_i64_mul(batch, channels, &n) ||
      !bsm_i64_mul(n, inner, &n) || n != bsm_tensor_numel(t)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "native_group_norm of %s as %lld x %lld x %lld in %lld "
                    "groups",
                    bsm_dims_str(t->sizes), (long long)batch,
                    (long long)channels, (long long)inner, (long long)groups);
  }
  bsm_tensor *flat;
  BSM_TRY(bsm_op_reshape(cx, t, op_dims3(batch, channels, inner), &flat));
  OP_CALL1(cx, &out, "aten::group_norm", T(flat), args[6], args[1], args[2],
           args[7], B(false));
  BSM_TRY(bsm_op_reshape(cx, out, t->sizes, &out));
  const bsm_tensor *weight = op_tensor(&args[1]);
  const bsm_dtype dtype = weight ? weight->dtype : t->dtype;
  for (int i = 0; i < 2; i++) {
    BSM_TRY(bsm_op_new(cx, dtype, op_dims2(batch, groups), &stats[i]));
    outs[1 + i] = bsm_iv_tensor(stats[i]);
  }
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || n == 0) return BSM_OK;
  return row_moments(cx, t, n / batch / groups, op_double(&args[7]), stats[0],
                     stats[1]);
}

enum { LEGIT, LEGIT_NO_STATS, LEGIT_FUNCTIONAL };

/* The statistics after a step of training. */
static bsm_status updated(bsm_op_ctx *cx, bsm_tensor *running,
                          bsm_tensor *batch, double momentum, double factor,
                          bsm_tensor **out) {
  bsm_tensor *kept;
  OP_CALL1(cx, &kept, "aten::mul.Scalar", T(running), D(1.0 - momentum));
  return bsm_op_add(cx, kept, batch, momentum * factor, out);
}

/* _native_batch_norm_legit(input, weight, bias, running_mean, running_var,
 * training, momentum, eps), without the running ones, or with them as results
 * 3 and 4 */
static bsm_status op_batch_norm_legit(OP_PARAMS) {
  const int kind = self->variant, at = kind == LEGIT_NO_STATS ? 3 : 5;
  const bool training = op_bool(&args[at]), stats = kind != LEGIT_NO_STATS;
  const bsm_ivalue momentum = args[at + 1], eps = args[at + 2];
  if (!training && !stats) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected running_mean and running_var to be defined when "
                    "training=False");
  }
  if (training && kind == LEGIT) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "batch_norm in training mode updates its statistics, which "
                    "is not supported: call .eval() on the model before saving "
                    "it");
  }
  const bsm_ivalue norm[] = {args[0],
                             args[1],
                             args[2],
                             training ? NONE : args[3],
                             training ? NONE : args[4],
                             args[at],
                             momentum,
                             eps};
  BSM_TRY(bsm_op_call(cx, "aten::native_batch_norm", norm, 8, outs, 3));
  if (kind != LEGIT_FUNCTIONAL) return BSM_OK;
  for (int i = 0; i < 2; i++) outs[3 + i] = args[3 + i];
  bsm_tensor *t = op_tensor(&args[0]), *variance, *mean, *out;
  if (!training) {
    for (int i = 0; i < 2; i++) {
      BSM_TRY(bsm_tensor_clone(cx->arena, op_tensor(&args[3 + i]), &out));
      outs[3 + i] = bsm_iv_tensor(out);
    }
    return BSM_OK;
  }
  bsm_dims dims = {0};
  for (int d = 0; d < t->sizes.rank; d++) {
    if (d != 1) dims.d[dims.rank++] = d;
  }
  bsm_ivalue list;
  BSM_TRY(op_ints(cx, dims, &list));
  const double m = op_double(&momentum);
  OP_CALL1(cx, &mean, "aten::mean.dim", T(t), list, B(false), NONE);
  OP_CALL1(cx, &variance, "aten::var.dim", T(t), list, B(true), B(false));
  BSM_TRY(updated(cx, op_tensor(&args[3]), mean, m, 1.0, &out));
  outs[3] = bsm_iv_tensor(out);
  BSM_TRY(updated(cx, op_tensor(&args[4]), variance, m, 1.0, &out));
  outs[4] = bsm_iv_tensor(out);
  return BSM_OK;
}

/* The norms of all slices of dim `dim` (-1: of everything), as dims of 1. */
static bsm_status norm_but(bsm_op_ctx *cx, bsm_tensor *t, const bsm_ivalue *p,
                           int64_t dim, bsm_tensor **out) {
  bsm_ivalue dims;
  bsm_dims others = {0};
  if (dim == -1) {
    OP_CALL1(cx, out, "aten::norm.Scalar", T(t), *p);
    return BSM_OK;
  }
  if (dim < -1 || dim >= t->sizes.rank) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "norm_except_dim: dim %lld",
                    (long long)dim);
  }
  for (int d = 0; d < t->sizes.rank; d++) {
    if (d != dim) others.d[others.rank++] = d;
  }
  if (others.rank == 0) { /* of single elements */
    OP_CALL1(cx, out, "aten::abs", T(t));
    return BSM_OK;
  }
  BSM_TRY(op_ints(cx, others, &dims));
  OP_CALL1(cx, out, "aten::norm.ScalarOpt_dim", T(t), *p, dims, B(true));
  return BSM_OK;
}

/* norm_except_dim(v, pow, dim) */
static bsm_status op_norm_except_dim(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(norm_but(cx, op_tensor(&args[0]), &args[1], op_int(&args[2]), &out));
  return op_return(outs, out);
}

/* _weight_norm_interface(v, g, dim): also the norms */
static bsm_status op_weight_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *v = op_tensor(&args[0]), *norm, *out;
  const bsm_ivalue two = I(2);
  const int64_t dim = op_int(&args[2]);
  const int last = v->sizes.rank - 1;
  if (dim != 0 && dim != last) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "fused kernels can only be applied for first or last dim");
  }
  BSM_TRY(norm_but(cx, v, &two, dim, &norm));
  OP_CALL1(cx, &out, "aten::_weight_norm", args[0], args[1], args[2]);
  outs[0] = bsm_iv_tensor(out);
  if (v->dtype == BSM_DTYPE_BFLOAT16 || v->dtype == BSM_DTYPE_HALF) {
    bsm_tensor *wide;
    BSM_TRY(bsm_op_cast(cx, v, BSM_DTYPE_FLOAT, &wide));
    BSM_TRY(norm_but(cx, wide, &two, dim, &norm));
  }
  outs[1] = bsm_iv_tensor(norm);
  return BSM_OK;
}

/* log_sigmoid_forward(self): also exp(-|self|) */
static bsm_status op_log_sigmoid(OP_PARAMS) {
  (void)self;
  bsm_tensor *out, *t;
  OP_CALL1(cx, &out, "aten::log_sigmoid", args[0]);
  OP_CALL1(cx, &t, "aten::abs", args[0]);
  OP_CALL1(cx, &t, "aten::neg", T(t));
  OP_CALL1(cx, &t, "aten::exp", T(t));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(t);
  return BSM_OK;
}

/* ---- convolutions ---- */

enum { CONV_SLOW, CONV_DILATED, CONV_TRANSPOSED };

/* slow_conv3d(self, weight, kernel_size, bias, stride, padding[, dilation]),
 * slow_conv_transpose2d(..., stride, padding, output_padding, dilation) */
static bsm_status op_named_conv(OP_PARAMS) {
  const int kind = self->variant % 4, n = self->variant / 4;
  const bsm_tensor *t = op_tensor(&args[0]), *w = op_tensor(&args[1]);
  bsm_ivalue ones, zeros;
  int64_t kernel[3];
  BSM_TRY(list1(cx, 1, &ones));
  BSM_TRY(list1(cx, 0, &zeros));
  BSM_TRY(bsm_op_ints(&args[2], n, NULL, "kernel_size", kernel));
  bool ok = w->sizes.rank == n + 2 &&
            (t->sizes.rank == n + 1 || t->sizes.rank == n + 2);
  for (int i = 0; i < n && ok; i++) ok = w->sizes.d[2 + i] == kernel[i];
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a convolution of %s with a weight of shape %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(w->sizes));
  }
  const bool turned = kind == CONV_TRANSPOSED;
  const bsm_ivalue conv[] = {
      args[0],   args[1],
      args[3],   args[4],
      args[5],   kind == CONV_SLOW ? ones : args[turned ? 7 : 6],
      B(turned), turned ? args[6] : zeros,
      I(1)};
  return bsm_op_call(cx, "aten::convolution", conv, 9, outs, 1);
}

/* conv_tbc(self, weight, bias, pad): time, batch, channels */
static bsm_status op_conv_tbc(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *w = op_tensor(&args[1]), *out;
  bsm_ivalue ones, pad;
  if (t->sizes.rank != 3 || w->sizes.rank != 3 ||
      op_tensor(&args[2])->sizes.rank != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Input must have 3 dims: time, batch, in_channel; the "
                    "weight kernel_width, in_channels, out_channels; the bias "
                    "out_channels");
  }
  BSM_TRY(list1(cx, 1, &ones));
  BSM_TRY(list1(cx, op_int(&args[3]), &pad));
  BSM_TRY(bsm_op_transpose(cx, t, 0, 1, &t));
  BSM_TRY(bsm_op_transpose(cx, t, 1, 2, &t));
  BSM_TRY(bsm_op_transpose(cx, w, 0, 2, &w));
  OP_CALL1(cx, &out, "aten::conv1d", T(t), T(w), args[2], ones, pad, ones,
           I(1));
  BSM_TRY(bsm_op_transpose(cx, out, 1, 2, &out));
  BSM_TRY(bsm_op_transpose(cx, out, 0, 1, &out));
  BSM_TRY(bsm_tensor_contiguous(cx->arena, out, &out));
  return op_return(outs, out);
}

/* ---- attention ---- */

/* _masked_softmax(self, mask, dim, mask_type): 0 where the mask is true,
 * NaN where all is masked */
static bsm_status op_masked_softmax(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *mask = op_tensor(&args[1]), *out;
  const int rank = t->sizes.rank;
  const int64_t type = op_int_or(&args[3], 2);
  if (mask->dtype != BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Mask should be a boolean tensor");
  }
  if (type == 1 && rank == 4 && mask->sizes.rank == 2) { /* batch and keys */
    BSM_TRY(bsm_op_unsqueeze(cx, mask, 1, &mask));
    BSM_TRY(bsm_op_unsqueeze(cx, mask, 1, &mask));
  } else if (type != 2 && !(type == 0 && mask->sizes.rank == 2) &&
             !bsm_dims_equal(mask->sizes, t->sizes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "_masked_softmax: mask %s of type %lld for input %s",
                    bsm_dims_str(mask->sizes), (long long)type,
                    bsm_dims_str(t->sizes));
  }
  BSM_TRY(bsm_op_expand(cx, mask, t->sizes, &mask));
  OP_CALL1(cx, &out, "aten::masked_fill.Scalar", T(t), T(mask), D(-INFINITY));
  const bsm_ivalue dim = op_none(&args[2]) ? I(-1) : args[2];
  OP_CALL1(cx, &out, "aten::_softmax", T(out), dim, B(false));
  return op_return(outs, out);
}

/* _transform_bias_rescale_qkv(qkv, qkv_bias, num_heads) */
static bsm_status op_rescale_qkv(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *bias = op_tensor(&args[1]), *all;
  const int64_t heads = op_int(&args[2]);
  const int64_t width = t->sizes.rank == 3 ? t->sizes.d[2] / 3 : 0;
  if (t->sizes.rank != 3 || heads <= 0 || t->sizes.d[2] % 3 != 0 ||
      width % heads != 0 || !bsm_dtype_is_floating(t->dtype) ||
      bsm_tensor_numel(bias) != t->sizes.d[2]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected 3-dim qkv tensor, with `dim` divisible by "
                    "num_heads, but got %s and %lld",
                    bsm_dims_str(t->sizes), (long long)heads);
  }
  BSM_TRY(bsm_op_add(cx, t, bias, 1.0, &all));
  for (int i = 0; i < 3; i++) {
    bsm_tensor *part;
    BSM_TRY(bsm_op_narrow(cx, all, 2, i * width, width, &part));
    BSM_TRY(bsm_op_reshape(
        cx, part, op_dims4(t->sizes.d[0], t->sizes.d[1], heads, width / heads),
        &part));
    BSM_TRY(bsm_op_transpose(cx, part, 1, 2, &part));
    BSM_TRY(bsm_tensor_clone(cx->arena, part, &part));
    if (i == 0) {
      OP_CALL1(cx, &part, "aten::mul.Scalar", T(part),
               D(1.0 / sqrt((double)(width / heads))));
    }
    outs[i] = bsm_iv_tensor(part);
  }
  return BSM_OK;
}

/* _addmm_activation(self, mat1, mat2, *, beta, alpha, use_gelu) */
static bsm_status op_addmm_activation(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  bsm_ivalue none;
  OP_CALL1(cx, &out, "aten::addmm", args[0], args[1], args[2], args[3],
           args[4]);
  BSM_TRY(bsm_iv_string(cx->arena, BSM_STR("none"), &none));
  if (op_bool(&args[5])) {
    OP_CALL1(cx, &out, "aten::gelu", T(out), none);
  } else {
    OP_CALL1(cx, &out, "aten::relu", T(out));
  }
  return op_return(outs, out);
}

/* ---- integrals, norms of slices, extremes ---- */

/* Neighbours along dim: from and to the second and from the first on. */
static bsm_status neighbours(bsm_op_ctx *cx, bsm_tensor *t, int dim,
                             bsm_tensor **left, bsm_tensor **right) {
  const int64_t n = t->sizes.d[dim] - 1;
  BSM_TRY(bsm_op_narrow(cx, t, dim, 0, n, left));
  return bsm_op_narrow(cx, t, dim, 1, n, right);
}

/* Gives x as many dims as y, the one given at `dim`. */
static bsm_status align_x(bsm_op_ctx *cx, bsm_tensor *x, bsm_tensor *y, int dim,
                          bsm_tensor **out) {
  bsm_dims dims = {y->sizes.rank, {0}};
  const int lead = y->sizes.rank - x->sizes.rank;
  *out = x;
  if (lead <= 0 && x->sizes.rank != 1) return BSM_OK;
  for (int i = 0; i < dims.rank; i++) {
    dims.d[i] = x->sizes.rank == 1 ? (i == dim ? x->sizes.d[0] : 1)
                : i < lead         ? 1
                                   : x->sizes.d[i - lead];
  }
  return bsm_op_reshape(cx, x, dims, out);
}

enum { TRAPEZOID_DX, TRAPEZOID_X, CUMULATIVE_DX, CUMULATIVE_X };

/* trapezoid.x(y, x, *, dim), trapezoid.dx(y, *, dx, dim), trapz (arguments in
 * order), cumulative_trapezoid */
static bsm_status op_trapezoid(OP_PARAMS) {
  const int kind = self->variant;
  bsm_tensor *y = op_tensor(&args[0]), *left, *right, *dx = NULL, *out;
  bsm_ivalue dims;
  int dim;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), y->sizes.rank, &dim));
  if (y->sizes.rank == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "trapezoid of a 0-dim tensor");
  }
  if (y->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "trapezoid: received a bool input for `y`, but bool is not "
                    "supported");
  }
  BSM_TRY(list1(cx, dim, &dims));
  if (y->sizes.d[dim] == 0 && kind < CUMULATIVE_DX) {
    OP_CALL1(cx, &out, "aten::sum.dim_IntList", T(y), dims, B(false), NONE);
    return op_return(outs, out);
  }
  if (y->sizes.d[dim] == 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "cumulative_trapezoid of no samples");
  }
  BSM_TRY(neighbours(cx, y, dim, &left, &right));
  BSM_TRY(bsm_op_add(cx, left, right, 1.0, &out));
  if (kind == TRAPEZOID_X || kind == CUMULATIVE_X) {
    bsm_tensor *x = op_tensor(&args[1]);
    if (x->sizes.rank == 1 && x->sizes.d[0] != y->sizes.d[dim]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "trapezoid: There must be one `x` value for each sample "
                      "point");
    }
    BSM_TRY(align_x(cx, x, y, dim, &x));
    if (x->sizes.d[dim] < 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "trapezoid: no `x` values");
    }
    BSM_TRY(neighbours(cx, x, dim, &left, &right));
    BSM_TRY(bsm_op_add(cx, right, left, -1.0, &dx));
    BSM_TRY(bsm_op_mul(cx, out, dx, &out));
  } else {
    OP_CALL1(cx, &out, "aten::mul.Scalar", T(out), args[1]);
  }
  if (kind < CUMULATIVE_DX) {
    OP_CALL1(cx, &out, "aten::sum.dim_IntList", T(out), dims, B(false), NONE);
  } else {
    OP_CALL1(cx, &out, "aten::cumsum", T(out), I(dim), NONE);
  }
  OP_CALL1(cx, &out, "aten::div.Scalar", T(out), D(2.0));
  return op_return(outs, out);
}

/* renorm(self, p, dim, maxnorm): slices longer than maxnorm are shortened */
static bsm_status op_renorm(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *norm, *scale, *mask, *out, *one;
  const double max = op_double(&args[3]);
  int dim;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  if (t->sizes.rank < 2 || !(op_double(&args[1]) > 0.0) || !(max >= 0.0) ||
      !bsm_dtype_is_floating(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "renorm: input needs at least 2 dimensions, p > 0 and "
                    "maxnorm >= 0; got %s, %g and %g",
                    bsm_dims_str(t->sizes), op_double(&args[1]), max);
  }
  bsm_tensor *wide = t;
  if (t->dtype != BSM_DTYPE_DOUBLE) {
    BSM_TRY(bsm_op_cast(cx, t, BSM_DTYPE_FLOAT, &wide));
  }
  BSM_TRY(norm_but(cx, wide, &args[1], dim, &norm));
  OP_CALL1(cx, &scale, "aten::add.Scalar", T(norm), D(1e-7), I(1));
  OP_CALL1(cx, &scale, "aten::reciprocal", T(scale));
  OP_CALL1(cx, &scale, "aten::mul.Scalar", T(scale), D(max));
  OP_CALL1(cx, &mask, "aten::gt.Scalar", T(norm), D(max));
  OP_CALL1(cx, &one, "aten::where.ScalarOther", T(mask), T(scale), D(1.0));
  BSM_TRY(bsm_op_cast(cx, one, t->dtype, &one));
  BSM_TRY(bsm_op_mul(cx, t, one, &out));
  if (!(self->flags & BSM_ATEN_INPLACE)) return op_return(outs, out);
  outs[0] = args[0];
  BSM_TRY(bsm_op_writable(cx, t));
  return cx->meta ? BSM_OK : bsm_tensor_copy(t, out);
}

/* _aminmax(self), _aminmax.dim(self, dim, keepdim) */
static bsm_status op_aminmax(OP_PARAMS) {
  const bool dim = self->variant != 0;
  const bsm_ivalue all[] = {args[0], dim ? args[1] : NONE,
                            dim ? args[2] : B(false)};
  return bsm_op_call(cx, "aten::aminmax", all, 3, outs, 2);
}

enum { RENAMED_LOGCUMSUMEXP, RENAMED_CHANNEL_SHUFFLE };

static bsm_status op_renamed(OP_PARAMS) {
  static const char *const names[] = {"aten::logcumsumexp",
                                      "aten::channel_shuffle"};
  return bsm_op_call(cx, names[self->variant], args, cx->arg_count, outs, 1);
}

static const bsm_aten_op rows[] = {
    OP("aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, "
       "SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, "
       "Tensor, Tensor)",
       op_native_group_norm, 0, 0),
    OP("aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? "
       "bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, "
       "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       op_batch_norm_legit, LEGIT, 0),
    OP("aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, "
       "Tensor? bias, bool training, float momentum, float eps) -> (Tensor, "
       "Tensor, Tensor)",
       op_batch_norm_legit, LEGIT_NO_STATS, 0),
    OP("aten::_native_batch_norm_legit_functional(Tensor input, Tensor? "
       "weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool "
       "training, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
       "Tensor running_mean_out, Tensor running_var_out)",
       op_batch_norm_legit, LEGIT_FUNCTIONAL, 0),
    OP("aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
       op_norm_except_dim, 0, 0),
    OP("aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> "
       "(Tensor, Tensor)",
       op_weight_norm, 0, 0),
    OP("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor "
       "buffer)",
       op_log_sigmoid, 0, 0),
    OP("aten::slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, "
       "Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, "
       "0, 0]) -> Tensor",
       op_named_conv, 4 * 3 + CONV_SLOW, 0),
    OP("aten::_slow_conv2d_forward(Tensor self, Tensor weight, SymInt[2] "
       "kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding) -> "
       "Tensor",
       op_named_conv, 4 * 2 + CONV_SLOW, 0),
    OP("aten::slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2] "
       "kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] "
       "padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor",
       op_named_conv, 4 * 2 + CONV_DILATED, 0),
    OP("aten::slow_conv_dilated3d(Tensor self, Tensor weight, SymInt[3] "
       "kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] "
       "padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor",
       op_named_conv, 4 * 3 + CONV_DILATED, 0),
    OP("aten::slow_conv_transpose2d(Tensor self, Tensor weight, SymInt[2] "
       "kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] "
       "padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt[2] "
       "dilation=[1, 1]) -> Tensor",
       op_named_conv, 4 * 2 + CONV_TRANSPOSED, 0),
    OP("aten::slow_conv_transpose3d(Tensor self, Tensor weight, SymInt[3] "
       "kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] "
       "padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt[3] "
       "dilation=[1, 1, 1]) -> Tensor",
       op_named_conv, 4 * 3 + CONV_TRANSPOSED, 0),
    OP("aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> "
       "Tensor",
       op_conv_tbc, 0, 0),
    OP("aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? "
       "mask_type=None) -> Tensor",
       op_masked_softmax, 0, 0),
    OP("aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int "
       "num_heads) -> (Tensor, Tensor, Tensor)",
       op_rescale_qkv, 0, 0),
    OP("aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, "
       "Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor",
       op_addmm_activation, 0, 0),
    OP("aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
       op_trapezoid, TRAPEZOID_X, 0),
    OP("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
       op_trapezoid, TRAPEZOID_DX, 0),
    OP("aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
       op_trapezoid, TRAPEZOID_X, 0),
    OP("aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor",
       op_trapezoid, TRAPEZOID_DX, 0),
    OP("aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> "
       "Tensor",
       op_trapezoid, CUMULATIVE_X, 0),
    OP("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) "
       "-> Tensor",
       op_trapezoid, CUMULATIVE_DX, 0),
    OP("aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
       op_renorm, 0, 0),
    OP("aten::renorm_(Tensor(a!) self, Scalar p, int dim, Scalar maxnorm) -> "
       "Tensor(a!)",
       op_renorm, 0, BSM_ATEN_INPLACE),
    OP("aten::_aminmax(Tensor self) -> (Tensor, Tensor)", op_aminmax, 0, 0),
    OP("aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> "
       "(Tensor, Tensor)",
       op_aminmax, 1, 0),
    OP("aten::_logcumsumexp(Tensor self, int dim) -> Tensor", op_renamed,
       RENAMED_LOGCUMSUMEXP, 0),
    OP("aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
       op_renamed, RENAMED_CHANNEL_SHUFFLE, 0),
};
BSM_ATEN_TABLE_CALLING(layers, rows, &bsm_aten_ops_activation,
                       &bsm_aten_ops_binary, &bsm_aten_ops_conv,
                       &bsm_aten_ops_index, &bsm_aten_ops_matmul,
                       &bsm_aten_ops_norm, &bsm_aten_ops_reduce,
                       &bsm_aten_ops_shape, &bsm_aten_ops_unary);
