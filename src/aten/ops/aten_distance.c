/* SPDX-License-Identifier: Apache-2.0 */
/* Distances between rows: cdist, pdist, pairwise_distance, dist. */
#include "aten/packed/aten_distance.h"
#include "aten/op_kit.h"

/* The p-norm of a - b + eps over n numbers. */
static double distance(const double *a, const double *b, int64_t n, double p,
                       double eps) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double d = fabs(a[i] - b[i] + eps);
    if (isnan(d)) return d;
    if (isinf(p)) {
      if (p > 0 ? d > sum : i == 0 || d < sum) sum = d;
    } else {
      sum += p == 0.0   ? (double)(d != 0.0)
             : p == 1.0 ? d
             : p == 2.0 ? d * d
                        : pow(d, p);
    }
  }
  if (isinf(p) || p == 0.0 || p == 1.0) return sum;
  return p == 2.0 ? sqrt(sum) : pow(sum, 1.0 / p);
}

/* Of `pairs` of rows of k elements; powers take their time. */
static bsm_status charge(bsm_op_ctx *cx, int64_t pairs, int64_t k, double p) {
  return bsm_op_charge(cx, pairs, k, p == 1.0 || p == 2.0 ? 2 : 16);
}

static bsm_status need_float(const bsm_tensor *t, const char *name) {
  if (t->dtype == BSM_DTYPE_FLOAT || t->dtype == BSM_DTYPE_DOUBLE) {
    return BSM_OK;
  }
  const bool is_half = bsm_dtype_is_floating(t->dtype);
  return BSM_FAIL(is_half ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
                  "%s only supports float and double tensors, got: %s", name,
                  bsm_op_type_name(t->dtype));
}

/* _cdist_forward(x1, x2, p, compute_mode), _euclidean_dist(x1, x2): between all
 * rows of two batches */
static bsm_status op_cdist(OP_PARAMS) {
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]), *out;
  const double p = self->variant ? 2.0 : op_double(&args[2]);
  const int32_t ra = a->sizes.rank, rb = b->sizes.rank;
  BSM_TRY(need_float(a, "cdist"));
  if (ra < 2 || rb < 2 || a->dtype != b->dtype || p < 0.0 ||
      a->sizes.d[ra - 1] != b->sizes.d[rb - 1]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "cdist: X1 %s and X2 %s must have two dimensions or more, "
                    "the same number of columns and one dtype, and p = %g be "
                    "non-negative",
                    bsm_dims_str(a->sizes), bsm_dims_str(b->sizes), p);
  }
  bsm_dims da = a->sizes, db = b->sizes, outer;
  da.rank -= 2;
  db.rank -= 2;
  BSM_TRY(bsm_op_broadcast(da, db, &outer));
  const int64_t m = a->sizes.d[ra - 2], n = b->sizes.d[rb - 2],
                k = a->sizes.d[ra - 1];
  int64_t batch;
  if (!bsm_dims_numel(outer, &batch)) {
    return BSM_FAIL(BSM_LIMIT, "cdist: too many batches");
  }
  da = db = outer;
  da.d[da.rank++] = m;
  bsm_dims shape = da;
  shape.d[shape.rank++] = n;
  da.d[da.rank++] = k;
  db.d[db.rank++] = n;
  db.d[db.rank++] = k;
  BSM_TRY(bsm_op_expand(cx, a, da, &a));
  BSM_TRY(bsm_op_expand(cx, b, db, &b));
  BSM_TRY(bsm_op_new(cx, a->dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  BSM_TRY(charge(cx, bsm_tensor_numel(out), k, p));
  const double *x = bsm_op_load_all(cx, a), *y = bsm_op_load_all(cx, b);
  double *z = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  BSM_TRY_ALLOC(z);
  for (int64_t i = 0; i < batch * m; i++) {
    for (int64_t j = 0; j < n; j++) {
      z[i * n + j] = distance(x + i * k, y + (i / m * n + j) * k, k, p, 0.0);
    }
  }
  bsm_op_store_all(out, z);
  return BSM_OK;
}

/* pdist(self, p), _pdist_forward(self, p): between the rows of a matrix */
static bsm_status op_pdist(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const double p = op_double(&args[1]);
  BSM_TRY(need_float(t, "pdist"));
  if (t->sizes.rank != 2 || !(p >= 0.0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "pdist only supports 2D tensors and non-negative p values, "
                    "got: %s and %g",
                    bsm_dims_str(t->sizes), p);
  }
  const int64_t n = t->sizes.d[0], k = t->sizes.d[1];
  int64_t pairs;
  if (!bsm_i64_mul(n, n - 1, &pairs)) {
    return BSM_FAIL(BSM_LIMIT, "pdist of %lld rows", (long long)n);
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, op_dims1(n > 1 ? pairs / 2 : 0), &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  BSM_TRY(charge(cx, bsm_tensor_numel(out), k, p));
  const double *x = bsm_op_load_all(cx, t);
  double *z = bsm_op_load_all(cx, out), *to = z;
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(z);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i + 1; j < n; j++) {
      *to++ = distance(x + i * k, x + j * k, k, p, 0.0);
    }
  }
  bsm_op_store_all(out, z);
  return BSM_OK;
}

/* pairwise_distance(x1, x2, p, eps, keepdim): of rows to rows, along the last
 * dim; dist(self, other, p): of everything */
static bsm_status op_pairwise(OP_PARAMS) {
  const bool all = self->variant != 0;
  bsm_tensor *in[] = {op_tensor(&args[0]), op_tensor(&args[1])}, *out;
  bsm_dims shape, result = {0};
  const bsm_dtype dtype = bsm_op_result_type(in, 2);
  BSM_TRY(bsm_op_broadcast(in[0]->sizes, in[1]->sizes, &shape));
  if (!bsm_dtype_is_floating(dtype) || (!all && shape.rank == 0)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "linalg.vector_norm: Expected a floating point tensor as "
                    "input. Got %s of %s",
                    bsm_op_type_name(dtype), bsm_dims_str(shape));
  }
  int64_t n, rows = 1;
  if (!bsm_dims_numel(shape, &n)) {
    return BSM_FAIL(BSM_LIMIT, "distances of shape %s", bsm_dims_str(shape));
  }
  if (!all) {
    n = shape.d[shape.rank - 1];
    result = shape;
    if (op_bool(&args[4])) {
      result.d[result.rank - 1] = 1;
    } else {
      result.rank--;
    }
    for (int32_t i = 0; i < shape.rank - 1; i++) rows *= shape.d[i];
  }
  BSM_TRY(bsm_op_new(cx, dtype, result, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  BSM_TRY(charge(cx, rows, n, op_double(&args[2])));
  for (int i = 0; i < 2; i++) BSM_TRY(bsm_op_expand(cx, in[i], shape, &in[i]));
  const double *x = bsm_op_load_all(cx, in[0]);
  const double *y = bsm_op_load_all(cx, in[1]);
  double *z = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  BSM_TRY_ALLOC(z);
  for (int64_t i = 0; i < rows; i++) {
    z[i] = distance(x + i * n, y + i * n, n, op_double(&args[2]),
                    all ? 0.0 : op_double(&args[3]));
  }
  bsm_op_store_all(out, z);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) "
       "-> Tensor",
       op_cdist, 0, 0),
    OP("aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", op_cdist, 1, 0),
    OP("aten::pdist(Tensor self, float p=2.) -> Tensor", op_pdist, 0, 0),
    OP("aten::_pdist_forward(Tensor self, float p=2.) -> Tensor", op_pdist, 0,
       0),
    OP("aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float "
       "eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
       op_pairwise, 0, 0),
    OP("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
       op_pairwise, 1, 0),
};
BSM_ATEN_TABLE(distance, rows);
