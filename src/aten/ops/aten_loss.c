/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and distances. */
#include "aten/packed/aten_loss.h"
#include "aten/op_kit.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

/* ---- elementwise losses ---- */

enum {
  LOSS_MSE,
  LOSS_L1,
  LOSS_SMOOTH_L1,
  LOSS_HUBER,
  LOSS_BCE,
  LOSS_BCE_LOGITS,
  LOSS_KL,
  LOSS_KL_LOG,
  LOSS_SOFT_MARGIN
};

typedef struct loss_params {
  int kind;
  double beta;
  bool weighted, positive; /* bce: operands 2 and 3 */
} loss_params;

static double clamped_log(double x) {
  const double l = log(x);
  return l < -100.0 ? -100.0 : l;
}

static double loss_value(const loss_params *p, double x, double t, double w,
                         double pos) {
  const double d = fabs(x - t);
  switch (p->kind) {
    case LOSS_MSE:
      return d * d;
    case LOSS_L1:
      return d;
    case LOSS_SMOOTH_L1:
      return d < p->beta ? 0.5 * d * d / p->beta : d - 0.5 * p->beta;
    case LOSS_HUBER:
      return d <= p->beta ? 0.5 * d * d : p->beta * (d - 0.5 * p->beta);
    case LOSS_BCE:
      return w * ((t - 1.0) * clamped_log(1.0 - x) - t * clamped_log(x));
    case LOSS_BCE_LOGITS: {
      const double log_sigmoid = (x < 0 ? x : 0.0) - log1p(exp(-fabs(x)));
      return w * ((1.0 - t) * x - (1.0 + (pos - 1.0) * t) * log_sigmoid);
    }
    case LOSS_KL:
      return t > 0.0 ? t * (log(t) - x) : t == 0.0 ? 0.0 : NAN;
    case LOSS_KL_LOG:
      return exp(t) * (t - x);
    default:
      return log1p(exp(-x * t));
  }
}

static void f_loss(double *out, const double *const *in, size_t n,
                   const void *params) {
  const loss_params *p = params;
  for (size_t k = 0; k < n; k++) {
    const double w = p->weighted ? in[2][k] : 1.0;
    const double pos = p->positive ? in[p->weighted ? 3 : 2][k] : 1.0;
    out[k] = loss_value(p, in[0][k], in[1][k], w, pos);
  }
}

static void i_l1(int64_t *out, const int64_t *const *in, size_t n,
                 const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    const int64_t a = in[0][k], b = in[1][k];
    out[k] = a > b ? a - b : b - a;
  }
}

static bsm_status reduce_loss(bsm_op_ctx *cx, bsm_tensor *t, int64_t how,
                              bsm_tensor **out) {
  *out = t;
  if (how == REDUCE_NONE) return BSM_OK;
  BSM_TRY(bsm_op_new(cx, t->dtype, (bsm_dims){0}, out));
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(t);
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) sum += bsm_tensor_get_double(t, i);
  bsm_store1_f64(t->dtype, bsm_tensor_data(*out),
                 how == REDUCE_MEAN ? sum / (double)n : sum);
  return BSM_OK;
}

/* Both kinds of binary cross entropy are computed in a tensor of the target's
 * dims, which what it is multiplied with must not enlarge. */
static bsm_status check_in_place(const loss_params *p, bsm_tensor *const *in,
                                 const bsm_tensor *out) {
  if ((p->kind != LOSS_BCE && p->kind != LOSS_BCE_LOGITS) ||
      bsm_dims_equal(in[1]->sizes, out->sizes)) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "output with shape %s doesn't match the broadcast shape %s",
                  bsm_dims_str(in[1]->sizes), bsm_dims_str(out->sizes));
}

static bsm_status op_loss(OP_PARAMS) {
  bsm_tensor *in[4] = {op_tensor(&args[0]), op_tensor(&args[1]), NULL, NULL};
  bsm_tensor *out;
  loss_params p = {.kind = self->variant};
  int n = 2, reduction = 2;
  if (p.kind == LOSS_BCE || p.kind == LOSS_BCE_LOGITS) {
    p.weighted = !op_none(&args[2]);
    if (p.weighted) in[n++] = op_tensor(&args[2]);
    reduction = 3;
    if (p.kind == LOSS_BCE_LOGITS) {
      p.positive = !op_none(&args[3]);
      if (p.positive) in[n++] = op_tensor(&args[3]);
      reduction = 4;
    } else if (!bsm_dims_equal(in[0]->sizes, in[1]->sizes)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Using a target size (%s) that is different to the input "
                      "size (%s) is deprecated. Please ensure they have the "
                      "same size.",
                      bsm_dims_str(in[1]->sizes), bsm_dims_str(in[0]->sizes));
    } else if (in[0]->dtype != in[1]->dtype) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "Found dtype %s but expected %s",
                      bsm_op_type_name(in[1]->dtype),
                      bsm_op_type_name(in[0]->dtype));
    }
  }
  if (p.kind == LOSS_SMOOTH_L1 || p.kind == LOSS_HUBER) {
    p.beta = op_double(&args[3]);
    if (p.beta < 0.0 || (p.kind == LOSS_HUBER && p.beta == 0.0)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "loss does not support negative values for beta.");
    }
    if (p.beta == 0.0) p.kind = LOSS_L1;
  }
  if (p.kind == LOSS_KL && op_bool(&args[3])) p.kind = LOSS_KL_LOG;
  bsm_pointwise pw = {"loss", f_loss, NULL, 0, &p, 0, false};
  if (p.kind == LOSS_L1 && self->variant == LOSS_L1) pw.i = i_l1;
  BSM_TRY(bsm_op_pointwise(cx, &pw, in, n, NULL, &out));
  BSM_TRY(check_in_place(&p, in, out));
  if (bsm_dtype_is_integral(out->dtype, true)) {
    const bsm_ivalue args_[] = {bsm_iv_tensor(out), bsm_iv_none()};
    if (out->dtype == BSM_DTYPE_BOOL || op_int(&args[reduction]) == 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "\"loss\" not implemented for '%s'",
                      bsm_op_type_name(out->dtype));
    }
    if (op_int(&args[reduction]) == REDUCE_NONE) return op_return(outs, out);
    return bsm_op_call(cx, "aten::sum", args_, 2, outs, 1);
  }
  if (p.kind == LOSS_HUBER || p.kind == LOSS_SOFT_MARGIN ||
      p.kind == LOSS_BCE) {
    BSM_TRY(bsm_op_cast(cx, out, in[0]->dtype, &out));
  } else if (p.kind == LOSS_BCE_LOGITS) { /* computed in place of 1 - target */
    if (bsm_dtype_is_integral(in[1]->dtype, true)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "result type %s can't be cast to the desired output type "
                      "%s",
                      bsm_op_type_name(out->dtype),
                      bsm_op_type_name(in[1]->dtype));
    }
    BSM_TRY(bsm_op_cast(cx, out, in[1]->dtype, &out));
  }
  BSM_TRY(reduce_loss(cx, out, op_int(&args[reduction]), &out));
  return op_return(outs, out);
}

/* ---- classification ---- */

typedef struct nll_params {
  const bsm_tensor *weight; /* of each class, or NULL */
  int64_t reduction, ignore;
  double smoothing;
} nll_params;

/* Classes in dim 1 (dim 0 of a vector); `t` holds log-probabilities. */
static bsm_status nll(bsm_op_ctx *cx, bsm_tensor *t, bsm_tensor *target,
                      const nll_params *p, bsm_tensor **out,
                      bsm_tensor **total_weight) {
  const int dim = t->sizes.rank == 1 ? 0 : 1;
  bool ok = t->sizes.rank > 0 && target->sizes.rank == t->sizes.rank - 1 &&
            bsm_dtype_is_floating(t->dtype);
  for (int32_t d = 0, k = 0; d < t->sizes.rank && ok; d++) {
    if (d != dim) ok = t->sizes.d[d] == target->sizes.d[k++];
  }
  if (!ok) {
    /* PyTorch takes some of these as if they had other dims. */
    const bool odd = t->sizes.rank <= 1 || bsm_dtype_is_complex(t->dtype);
    return BSM_FAIL(odd ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
                    "Expected target of the shape of the input without its "
                    "class dimension, got input %s and target %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(target->sizes));
  }
  if (target->dtype != BSM_DTYPE_INT64 && target->dtype != BSM_DTYPE_UINT8) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected scalar type Long but found "
                    "%s",
                    bsm_op_type_name(target->dtype));
  }
  const int64_t classes = t->sizes.d[dim];
  if (p->weight &&
      (p->weight->sizes.rank != 1 || bsm_tensor_numel(p->weight) != classes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "weight tensor should be defined either for all %lld "
                    "classes or no classes but got weight tensor of shape: %s",
                    (long long)classes, bsm_dims_str(p->weight->sizes));
  }
  const bsm_dims shape =
      p->reduction == REDUCE_NONE ? target->sizes : (bsm_dims){0};
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, out));
  BSM_TRY(bsm_op_new(cx, t->dtype, (bsm_dims){0}, total_weight));
  if (cx->meta) return BSM_OK;
  bsm_tensor *moved = t;
  if (t->sizes.rank > 1) { /* classes last */
    bsm_dims dims = t->sizes;
    int64_t strides[BSM_MAX_RANK] = {0};
    for (int32_t d = 0, k = 0; d < t->sizes.rank; d++) {
      const int32_t to = d == dim ? t->sizes.rank - 1 : k++;
      dims.d[to] = t->sizes.d[d];
      strides[to] = t->strides[d];
    }
    BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides, t->offset, &moved));
  }
  const double *x = bsm_op_load_all(cx, moved);
  BSM_TRY_ALLOC(x);
  const int64_t n = bsm_tensor_numel(target);
  const size_t size = bsm_dtype_size(t->dtype);
  double sum = 0.0, weights = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t c = bsm_tensor_get_int(target, i);
    double loss = 0.0, w = 0.0;
    if (c != p->ignore) {
      if (c < 0 || c >= classes) {
        return BSM_FAIL(BSM_OUT_OF_RANGE, "Target %lld is out of bounds.",
                        (long long)c);
      }
      w = p->weight ? bsm_tensor_get_double(p->weight, c) : 1.0;
      loss = -w * x[i * classes + c] * (1.0 - p->smoothing);
      for (int64_t k = 0; k < classes && p->smoothing > 0.0; k++) {
        const double wk = p->weight ? bsm_tensor_get_double(p->weight, k) : 1.0;
        loss -= p->smoothing / (double)classes * wk * x[i * classes + k];
      }
    }
    sum += loss;
    weights += w;
    if (p->reduction == REDUCE_NONE) {
      bsm_store1_f64(t->dtype, (char *)bsm_tensor_data(*out) + (size_t)i * size,
                     loss);
    }
  }
  if (p->reduction != REDUCE_NONE) {
    bsm_store1_f64(t->dtype, bsm_tensor_data(*out),
                   p->reduction == REDUCE_MEAN ? sum / weights : sum);
  }
  bsm_store1_f64(t->dtype, bsm_tensor_data(*total_weight),
                 p->reduction == REDUCE_NONE ? 0.0 : weights);
  return BSM_OK;
}

/* nll_loss(self, target, weight, reduction, ignore_index); the variant is the
 * number of results */
static bsm_status op_nll(OP_PARAMS) {
  bsm_tensor *out, *total;
  const nll_params p = {op_tensor(&args[2]), op_int(&args[3]), op_int(&args[4]),
                        0.0};
  BSM_TRY(nll(cx, op_tensor(&args[0]), op_tensor(&args[1]), &p, &out, &total));
  outs[0] = bsm_iv_tensor(out);
  if (self->variant == 2) outs[1] = bsm_iv_tensor(total);
  return BSM_OK;
}

/* Probabilities of `n` classes, moved towards 1 / n. */
static bsm_status smooth(bsm_op_ctx *cx, bsm_tensor *t, double by, int64_t n,
                         bsm_tensor **out) {
  *out = t;
  if (by == 0.0) return BSM_OK;
  const bsm_ivalue numbers[] = {bsm_iv_double(1.0 - by),
                                bsm_iv_double(by / (double)n)};
  bsm_tensor *keep, *add;
  BSM_TRY(bsm_op_wrap(cx, &numbers[0], &keep));
  BSM_TRY(bsm_op_wrap(cx, &numbers[1], &add));
  BSM_TRY(bsm_op_mul(cx, t, keep, out));
  return bsm_op_add(cx, *out, add, 1.0, out);
}

/* cross_entropy_loss(self, target, weight, reduction, ignore_index,
 * label_smoothing) */
static bsm_status op_cross_entropy(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *target = op_tensor(&args[1]);
  bsm_tensor *logs, *out, *total;
  const nll_params p = {op_tensor(&args[2]), op_int(&args[3]), op_int(&args[4]),
                        op_double(&args[5])};
  BSM_TRY(
      bsm_op_softmax(cx, t, t->sizes.rank == 1 ? 0 : 1, true, t->dtype, &logs));
  if (bsm_dims_equal(t->sizes, target->sizes)) {
    /* Probabilities as the target: -sum over the classes of t log p. */
    bsm_tensor *product;
    const int32_t dim = t->sizes.rank == 1 ? 0 : 1;
    BSM_TRY(smooth(cx, target, p.smoothing, t->sizes.d[dim], &target));
    BSM_TRY(bsm_op_mul(cx, logs, target, &product));
    if (p.weight) {
      bsm_dims dims = t->sizes;
      for (int32_t d = 0; d < dims.rank; d++) {
        if (d != dim) dims.d[d] = 1;
      }
      if (p.weight->sizes.rank != 1 ||
          bsm_tensor_numel(p.weight) != dims.d[dim]) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "cross_entropy: weight tensor should be defined either "
                        "for all %lld classes or no classes but got weight "
                        "tensor of shape: %s",
                        (long long)dims.d[dim], bsm_dims_str(p.weight->sizes));
      }
      bsm_tensor *weight;
      BSM_TRY(bsm_op_reshape(cx, p.weight, dims, &weight));
      BSM_TRY(bsm_op_mul(cx, product, weight, &product));
    }
    const int64_t n = bsm_tensor_numel(product);
    bsm_dims shape = {0};
    for (int32_t d = 0; d < t->sizes.rank; d++) {
      if (d != dim) shape.d[shape.rank++] = t->sizes.d[d];
    }
    const bool none = p.reduction == REDUCE_NONE;
    BSM_TRY(bsm_op_new(cx, t->dtype, none ? shape : (bsm_dims){0}, &out));
    outs[0] = bsm_iv_tensor(out);
    if (cx->meta) return BSM_OK;
    int64_t inner = 1;
    for (int32_t d = dim + 1; d < t->sizes.rank; d++) inner *= t->sizes.d[d];
    const int64_t classes = t->sizes.d[dim];
    double *y = bsm_op_load_all(cx, out), sum = 0.0;
    BSM_TRY_ALLOC(y);
    for (int64_t i = 0; i < n; i++) {
      const double v = -bsm_tensor_get_double(product, i);
      sum += v;
      if (none) y[i / (inner * classes) * inner + i % inner] += v;
    }
    const double batch = (double)(n / (classes ? classes : 1));
    if (!none) y[0] = p.reduction == REDUCE_MEAN ? sum / batch : sum;
    bsm_op_store_all(out, y);
    return BSM_OK;
  }
  BSM_TRY(nll(cx, logs, target, &p, &out, &total));
  return op_return(outs, out);
}

/* ---- distances ---- */

/* cosine_similarity(x1, x2, dim, eps) */
static bsm_status op_cosine_similarity(OP_PARAMS) {
  (void)self;
  bsm_tensor *in[] = {op_tensor(&args[0]), op_tensor(&args[1])}, *out;
  bsm_dims shape;
  int dim;
  double eps = op_double(&args[3]);
  const bsm_dtype dtype = bsm_op_result_type(in, 2);
  bsm_tensor *least; /* eps as a number of the dtype: 0 where it is too small */
  if (!(eps >= 0.0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "eps must be non-negative, got: %g",
                    eps);
  }
  if (!bsm_dtype_is_floating(dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected common dtype to be floating point, yet common "
                    "dtype is %s",
                    bsm_op_type_name(dtype));
  }
  BSM_TRY(bsm_tensor_from_double(cx->arena, dtype, eps, &least));
  eps = bsm_tensor_get_double(least, 0);
  BSM_TRY(bsm_op_broadcast(in[0]->sizes, in[1]->sizes, &shape));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), shape.rank, &dim));
  const int last = shape.rank > 0 ? shape.rank - 1 : 0;
  for (int i = 0; i < 2; i++) {
    BSM_TRY(bsm_op_expand(cx, in[i], shape, &in[i]));
    /* The dim to reduce goes last, the others keep their order. */
    bsm_tensor *t = in[i];
    for (int d = dim; d < last; d++) {
      BSM_TRY(bsm_op_transpose(cx, t, d, d + 1, &t));
    }
    in[i] = t;
  }
  bsm_dims result = in[0]->sizes;
  if (result.rank > 0) result.rank--;
  BSM_TRY(bsm_op_new(cx, dtype, result, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const int64_t n = shape.rank > 0 ? shape.d[dim] : 1,
                rows_ = bsm_tensor_numel(out);
  BSM_TRY(bsm_op_charge(cx, rows_, n, 8));
  const double *a = bsm_op_load_all(cx, in[0]), *b = bsm_op_load_all(cx, in[1]);
  double *y = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(a);
  BSM_TRY_ALLOC(b);
  BSM_TRY_ALLOC(y);
  for (int64_t r = 0; r < rows_; r++) {
    double ab = 0.0, aa = 0.0, bb = 0.0;
    for (int64_t i = r * n; i < r * n + n; i++) {
      ab += a[i] * b[i];
      aa += a[i] * a[i];
      bb += b[i] * b[i];
    }
    const double na = sqrt(aa) > eps ? sqrt(aa) : eps;
    const double nb = sqrt(bb) > eps ? sqrt(bb) : eps;
    y[r] = n > 0 ? ab / (na * nb) : 0.0;
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

static double distance(const double *a, const double *b, int64_t n, double p) {
  double s = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double d = fabs(a[i] - b[i]);
    if (isinf(p)) {
      s = d > s || isnan(d) ? d : s;
    } else {
      s += p == 0.0 ? (double)(d != 0.0) : p == 2.0 ? d * d : pow(d, p);
    }
  }
  if (isinf(p) || p == 0.0) return s;
  return p == 2.0 ? sqrt(s) : pow(s, 1.0 / p);
}

/* cdist(x1, x2, p, compute_mode) */
static bsm_status op_cdist(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]), *out;
  const double p = op_double(&args[2]);
  const int32_t ra = a->sizes.rank, rb = b->sizes.rank;
  if (ra < 2 || rb < 2 || a->sizes.d[ra - 1] != b->sizes.d[rb - 1] ||
      !bsm_dtype_is_floating(a->dtype) || !bsm_dtype_is_floating(b->dtype) ||
      p < 0.0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "cdist: X1 of shape %s and X2 of shape %s",
                    bsm_dims_str(a->sizes), bsm_dims_str(b->sizes));
  }
  const int64_t m = a->sizes.d[ra - 2], n = b->sizes.d[rb - 2],
                k = a->sizes.d[ra - 1];
  bsm_dims da = a->sizes, db = b->sizes, batch;
  da.rank -= 2;
  db.rank -= 2;
  BSM_TRY(bsm_op_broadcast(da, db, &batch));
  da = db = batch;
  da.d[da.rank++] = m;
  da.d[da.rank++] = k;
  db.d[db.rank++] = n;
  db.d[db.rank++] = k;
  BSM_TRY(bsm_op_expand(cx, a, da, &a));
  BSM_TRY(bsm_op_expand(cx, b, db, &b));
  bsm_tensor *both[] = {a, b};
  const bsm_dtype dtype = bsm_op_result_type(both, 2);
  bsm_dims shape = batch;
  shape.d[shape.rank++] = m;
  shape.d[shape.rank++] = n;
  BSM_TRY(bsm_op_new(cx, dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  const int64_t total = bsm_tensor_numel(out);
  if (cx->meta || total == 0) return BSM_OK;
  BSM_TRY(bsm_op_charge(cx, total, k, p == 2.0 ? 2 : 16)); /* powers are slow */
  const double *x = bsm_op_load_all(cx, a), *y = bsm_op_load_all(cx, b);
  double *z = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  BSM_TRY_ALLOC(z);
  for (int64_t i = 0; i < total; i++) {
    const int64_t row = i / n;
    z[i] = distance(x + row * k, y + (row / m * n + i % n) * k, k, p);
  }
  bsm_op_store_all(out, z);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       op_loss, LOSS_MSE, 0),
    OP("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       op_loss, LOSS_L1, 0),
    OP("aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, "
       "float "
       "beta=1.) -> Tensor",
       op_loss, LOSS_SMOOTH_L1, 0),
    OP("aten::huber_loss(Tensor self, Tensor target, int reduction=1, float "
       "delta=1.) -> Tensor",
       op_loss, LOSS_HUBER, 0),
    OP("aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? "
       "weight=None, int reduction=1) -> Tensor",
       op_loss, LOSS_BCE, 0),
    OP("aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, "
       "Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> "
       "Tensor",
       op_loss, LOSS_BCE_LOGITS, 0),
    OP("aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool "
       "log_target=False) -> Tensor",
       op_loss, LOSS_KL, 0),
    OP("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> "
       "Tensor",
       op_loss, LOSS_SOFT_MARGIN, 0),
    OP("aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int "
       "reduction=1, SymInt ignore_index=-100) -> Tensor",
       op_nll, 1, 0),
    OP("aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int "
       "reduction=1, SymInt ignore_index=-100) -> Tensor",
       op_nll, 1, 0),
    OP("aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int "
       "reduction=1, SymInt ignore_index=-100) -> Tensor",
       op_nll, 1, 0),
    OP("aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int "
       "reduction, SymInt ignore_index) -> (Tensor output, Tensor "
       "total_weight)",
       op_nll, 2, 0),
    OP("aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, "
       "int "
       "reduction, SymInt ignore_index) -> (Tensor output, Tensor "
       "total_weight)",
       op_nll, 2, 0),
    OP("aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? "
       "weight=None, int reduction=1, SymInt ignore_index=-100, float "
       "label_smoothing=0.) -> Tensor",
       op_cross_entropy, 0, 0),
    OP("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float "
       "eps=1e-08) -> Tensor",
       op_cosine_similarity, 0, 0),
    OP("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) "
       "-> "
       "Tensor",
       op_cdist, 0, 0),
};
BSM_ATEN_TABLE_CALLING(loss, rows, &bsm_aten_ops_reduce);
