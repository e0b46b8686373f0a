/* SPDX-License-Identifier: Apache-2.0 */
/* Products of vectors and tensors: cross, vecdot, multi_dot, tensorinv,
 * vander, and covariances. */
#include "aten/packed/aten_products.h"
#include "aten/linalg_ops.h"

/* ---- cross, vecdot ---- */

/* out[i] = a[i + 1] b[i + 2] - a[i + 2] b[i + 1] along `dim`. */
static bsm_status cross(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b, int dim,
                        bsm_ivalue *outs) {
  bsm_tensor *out;
  bsm_dims shape;
  BSM_TRY(bsm_op_broadcast(a->sizes, b->sizes, &shape));
  if (a->sizes.d[dim] != 3 || b->sizes.d[dim] != 3 || a->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.cross: inputs of one dtype with 3 elements in "
                    "dimension %d are expected. Got %s %s and %s %s",
                    dim, bsm_op_type_name(a->dtype), bsm_dims_str(a->sizes),
                    bsm_op_type_name(b->dtype), bsm_dims_str(b->sizes));
  }
  BSM_TRY(bsm_op_new(cx, a->dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  for (int i = 0; i < 3; i++) {
    bsm_tensor *x[2], *y[2], *to, *p, *q;
    for (int k = 0; k < 2; k++) {
      BSM_TRY(bsm_op_select(cx, a, dim, (i + 1 + k) % 3, &x[k]));
      BSM_TRY(bsm_op_select(cx, b, dim, (i + 2 - k) % 3, &y[k]));
    }
    BSM_TRY(bsm_op_mul(cx, x[0], y[0], &p));
    BSM_TRY(bsm_op_mul(cx, x[1], y[1], &q));
    BSM_TRY(bsm_op_add(cx, p, q, -1.0, &p));
    BSM_TRY(bsm_op_select(cx, out, dim, i, &to));
    BSM_TRY(bsm_tensor_copy(to, p));
  }
  return BSM_OK;
}

/* linalg_cross(self, other, *, dim); cross(self, other, dim?): the first dim of
 * size 3 */
static bsm_status op_cross(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]);
  int dim = 0;
  if (a->sizes.rank != b->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.cross: inputs must have the same number of "
                    "dimensions.");
  }
  if (!op_none(&args[2])) {
    BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), a->sizes.rank, &dim));
  } else {
    while (dim < a->sizes.rank && a->sizes.d[dim] != 3) dim++;
  }
  if (dim >= a->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "no dimension of size 3 in input");
  }
  return cross(cx, a, b, dim, outs);
}

/* linalg_vecdot(x, y, *, dim): sums of conj(x) y */
static bsm_status op_vecdot(OP_PARAMS) {
  (void)self;
  bsm_tensor *x = op_tensor(&args[0]), *y = op_tensor(&args[1]), *out;
  bsm_dims shape;
  int dim;
  if (x->dtype != y->dtype || bsm_dtype_is_integral(x->dtype, true)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.vecdot: Expected floating point or complex x and y "
                    "of one dtype. Got %s and %s",
                    bsm_op_type_name(x->dtype), bsm_op_type_name(y->dtype));
  }
  BSM_TRY(bsm_op_broadcast(x->sizes, y->sizes, &shape));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), shape.rank, &dim));
  if (shape.rank == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "linalg.vecdot of 0-dim tensors");
  }
  BSM_TRY(bsm_op_expand(cx, x, shape, &x));
  BSM_TRY(bsm_op_expand(cx, y, shape, &y));
  const int last = shape.rank - 1;
  BSM_TRY(bsm_op_transpose(cx, x, dim, last, &x));
  BSM_TRY(bsm_op_transpose(cx, y, dim, last, &y));
  BSM_TRY(bsm_op_conj(cx, x, &x));
  BSM_TRY(bsm_op_unsqueeze(cx, x, last, &x));
  BSM_TRY(bsm_op_unsqueeze(cx, y, shape.rank, &y));
  BSM_TRY(bsm_op_matmul(cx, x, y, &out)); /* [..., 1, 1], dim moved away */
  bsm_dims result = shape;
  result.d[dim] = shape.d[last];
  result.rank--;
  BSM_TRY(bsm_op_reshape(cx, out, result, &out));
  if (dim == last || dim == last - 1) return op_return(outs, out);
  /* The last dim took the place of `dim`: move it back to the end. */
  int64_t strides[BSM_MAX_RANK];
  bsm_dims moved = result;
  for (int i = dim; i < result.rank; i++) {
    const int from = i + 1 < result.rank ? i + 1 : dim;
    strides[i] = out->strides[from];
    moved.d[i] = result.d[from];
  }
  for (int i = 0; i < dim; i++) strides[i] = out->strides[i];
  BSM_TRY(bsm_tensor_view(cx->arena, out, moved, strides, out->offset, &out));
  BSM_TRY(bsm_tensor_contiguous(cx->arena, out, &out));
  return op_return(outs, out);
}

/* ---- products of many ---- */

/* linalg_multi_dot(tensors): the first and the last may be vectors;
 * chain_matmul(matrices) */
static bsm_status op_multi_dot(OP_PARAMS) {
  bsm_tensor **in, *out;
  size_t n;
  const bool chain = self->variant != 0;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &in, &n));
  if (n == 0 || (!chain && n < 2)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "multi_dot(): expected at least 2 tensors but got %zu", n);
  }
  for (size_t i = 0; i < n; i++) {
    const bool end = !chain && (i == 0 || i + 1 == n);
    if (in[i]->dtype != in[0]->dtype ||
        (in[i]->sizes.rank != 2 && !(end && in[i]->sizes.rank == 1))) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "multi_dot(): tensor %zu must be 2D, of one dtype with "
                      "the others, but got %s %s",
                      i, bsm_op_type_name(in[i]->dtype),
                      bsm_dims_str(in[i]->sizes));
    }
  }
  out = in[0];
  for (size_t i = 1; i < n; i++) BSM_TRY(bsm_op_matmul(cx, out, in[i], &out));
  return op_return(outs, out);
}

static bsm_dims part_of(bsm_dims dims, int from, int to) {
  bsm_dims out = {to - from, {0}};
  for (int i = from; i < to; i++) out.d[i - from] = dims.d[i];
  return out;
}

static bsm_dims joined(bsm_dims a, bsm_dims b) {
  for (int i = 0; i < b.rank; i++) a.d[a.rank++] = b.d[i];
  return a;
}

/* linalg_tensorinv(self, ind) */
static bsm_status op_tensorinv(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int64_t ind = op_int(&args[1]);
  const int rank = t->sizes.rank;
  if (ind <= 0 || ind > rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected a strictly positive integer for 'ind'");
  }
  const bsm_dims head = part_of(t->sizes, 0, (int)ind);
  const bsm_dims tail = part_of(t->sizes, (int)ind, rank);
  int64_t m, n;
  if (!bsm_dims_numel(head, &m) || !bsm_dims_numel(tail, &n) || m != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected self to satisfy the requirement "
                    "prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                    "%s",
                    bsm_dims_str(t->sizes));
  }
  BSM_TRY(bsm_op_reshape(cx, t, op_dims2(m, n), &t));
  BSM_TRY(bsm_la_inverse(cx, t, "linalg.tensorinv", &out));
  BSM_TRY(bsm_op_reshape(cx, out, joined(tail, head), &out));
  return op_return(outs, out);
}

/* linalg_tensorsolve(self, other, dims?) */
static bsm_status op_tensorsolve(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *b = op_tensor(&args[1]), *x;
  const int rank = t->sizes.rank, given = b->sizes.rank;
  if (!op_none(&args[2])) {
    return BSM_FAIL(BSM_UNSUPPORTED, "linalg.tensorsolve with dims");
  }
  if (given > rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "linalg.tensorsolve: %s and %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(b->sizes));
  }
  const bsm_dims tail = part_of(t->sizes, given, rank);
  const int64_t n = bsm_tensor_numel(b), total = bsm_tensor_numel(t);
  int64_t unknowns; /* of empty tensors, no square tells */
  if (total != n * n || !bsm_dims_numel(tail, &unknowns) || unknowns != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected self to satisfy the requirement "
                    "prod(self.shape[other.ndim:]) == "
                    "prod(self.shape[:other.ndim]), but got %s and %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(b->sizes));
  }
  BSM_TRY(bsm_op_reshape(cx, t, op_dims2(n, n), &t));
  BSM_TRY(bsm_op_reshape(cx, b, op_dims2(n, 1), &b));
  BSM_TRY(bsm_la_inverse(cx, t, "linalg.tensorsolve", &t));
  BSM_TRY(bsm_op_matmul(cx, t, b, &x));
  BSM_TRY(bsm_op_reshape(cx, x, tail, &x));
  return op_return(outs, x);
}

/* linalg_diagonal(A, *, offset, dim1, dim2): a view */
static bsm_status op_diagonal(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int64_t offset = op_int(&args[1]);
  int a, b;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &a));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[3]), t->sizes.rank, &b));
  if (a == b) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "diagonal dimensions cannot be identical %d, %d", a, b);
  }
  const int64_t rows = t->sizes.d[a] + (offset < 0 ? offset : 0);
  const int64_t columns = t->sizes.d[b] - (offset > 0 ? offset : 0);
  int64_t n = rows < columns ? rows : columns, at = t->offset;
  if (n < 0) n = 0;
  if (n > 0) {
    at += offset < 0 ? -offset * t->strides[a] : offset * t->strides[b];
  }
  bsm_dims dims = {0};
  int64_t strides[BSM_MAX_RANK] = {0};
  for (int i = 0; i < t->sizes.rank; i++) {
    if (i == a || i == b) continue;
    strides[dims.rank] = t->strides[i];
    dims.d[dims.rank++] = t->sizes.d[i];
  }
  strides[dims.rank] = t->strides[a] + t->strides[b];
  dims.d[dims.rank++] = n;
  BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides, at, &out));
  return op_return(outs, out);
}

/* ---- vander ---- */

/* vander(x, N?, increasing), linalg_vander(x, *, N?): powers in a new dim */
static bsm_status op_vander(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bool linalg = self->variant != 0;
  const bool increasing = linalg || op_bool(&args[2]);
  const int32_t rank = t->sizes.rank;
  if (rank == 0 || (!linalg && rank != 1)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "x must be a one-dimensional tensor.");
  }
  const int64_t n = op_int_or(&args[1], t->sizes.d[rank - 1]);
  if (n < 0 || (linalg && n < 2)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "vander: N = %lld; N must be greater than %d", (long long)n,
                    linalg ? 1 : -1);
  }
  if (rank == BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  bsm_dims shape = t->sizes;
  shape.d[shape.rank++] = n;
  const bsm_dtype dtype =
      bsm_dtype_is_integral(t->dtype, true) ? BSM_DTYPE_INT64 : t->dtype;
  BSM_TRY(bsm_op_new(cx, dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const bsm_c128 *x = bsm_op_load_complex(cx, t);
  BSM_TRY_ALLOC(x);
  const int64_t count = bsm_tensor_numel(t);
  char *base = bsm_tensor_data(out);
  for (int64_t i = 0; i < count; i++) {
    bsm_c128 power = {1.0, 0.0};
    for (int64_t k = 0; k < n; k++) {
      const int64_t at = i * n + (increasing ? k : n - 1 - k);
      bsm_store_c128(dtype, base + (size_t)at * bsm_dtype_size(dtype), 0, 1,
                     &power);
      power = bsm_c_mul(power, x[i]);
    }
  }
  return BSM_OK;
}

/* ---- covariance ---- */

typedef struct weighted {
  int64_t rows, count;
  bsm_c128 *x;   /* [rows, count] */
  double *w, *a; /* the product of both weights, and aweights; or NULL */
  double sum;    /* of w */
} weighted;

static bsm_status read_weights(bsm_op_ctx *cx, const bsm_tensor *f,
                               const bsm_tensor *a, weighted *d) {
  const bsm_tensor *both[] = {f, a};
  d->sum = (double)d->count;
  for (int i = 0; i < 2; i++) {
    const bsm_tensor *t = both[i];
    if (!t) continue;
    if (t->sizes.rank > 1 || bsm_tensor_numel(t) != d->count ||
        (i == 0) != bsm_dtype_is_integral(t->dtype, false)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "cov(): expected %s weights in one dimension, one for "
                      "each of the %lld observations",
                      i == 0 ? "integral" : "floating point",
                      (long long)d->count);
    }
    if (cx->meta) continue;
    double *w = bsm_op_load_all(cx, t);
    BSM_TRY_ALLOC(w);
    if (i == 1) d->a = w;
    double *product = BSM_NEW_ARRAY(cx->arena, double, (size_t)d->count + 1);
    BSM_TRY_ALLOC(product);
    d->sum = 0.0;
    for (int64_t k = 0; k < d->count; k++) {
      if (w[k] < 0.0) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "cov(): weights cannot be negative");
      }
      product[k] = d->w ? d->w[k] * w[k] : w[k];
      d->sum += product[k];
    }
    d->w = product;
  }
  if (d->w && d->sum == 0.0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "cov(): weights sum to zero, can't be "
                    "normalized");
  }
  return BSM_OK;
}

/* c[i][j] = sum of w (x_i - mean) conj(x_j - mean), over the degrees of freedom
 */
static void covariance(const weighted *d, double correction, bsm_c128 *c) {
  const int64_t n = d->count;
  double freedom = d->sum - correction;
  if (d->a && correction != 0.0) {
    double both = 0.0;
    for (int64_t k = 0; k < n; k++) both += d->w[k] * d->a[k];
    freedom = d->sum - correction * both / d->sum;
  }
  if (freedom < 0.0) freedom = 0.0;
  for (int64_t i = 0; i < d->rows; i++) {
    bsm_c128 mean = {0.0, 0.0};
    bsm_c128 *x = d->x + i * n;
    for (int64_t k = 0; k < n; k++) {
      mean = bsm_c_add(mean, bsm_c_scale(x[k], d->w ? d->w[k] : 1.0));
    }
    mean = (bsm_c128){mean.re / d->sum, mean.im / d->sum};
    for (int64_t k = 0; k < n; k++) x[k] = bsm_c_sub(x[k], mean);
  }
  for (int64_t i = 0; i < d->rows; i++) {
    for (int64_t j = 0; j < d->rows; j++) {
      bsm_c128 sum = {0.0, 0.0};
      for (int64_t k = 0; k < n; k++) {
        const bsm_c128 y = bsm_c_conj(d->x[j * n + k]);
        sum = bsm_c_add(sum, bsm_c_scale(bsm_c_mul(d->x[i * n + k], y),
                                         d->w ? d->w[k] : 1.0));
      }
      c[i * d->rows + j] = (bsm_c128){sum.re / freedom, sum.im / freedom};
    }
  }
}

/* Divides by the standard deviations of rows and columns, into [-1, 1]. */
static bsm_status correlation(bsm_op_ctx *cx, bsm_c128 *c, int64_t n) {
  double *deviation = BSM_NEW_ARRAY(cx->arena, double, (size_t)n + 1);
  BSM_TRY_ALLOC(deviation);
  for (int64_t i = 0; i < n; i++) deviation[i] = sqrt(c[i * n + i].re);
  for (int64_t i = 0; i < n * n; i++) {
    const double by = deviation[i / n] * deviation[i % n];
    double parts[2] = {c[i].re / by, c[i].im / by};
    for (int k = 0; k < 2; k++) {
      if (parts[k] > 1.0) parts[k] = 1.0;
      if (parts[k] < -1.0) parts[k] = -1.0;
    }
    c[i] = (bsm_c128){parts[0], parts[1]};
  }
  return BSM_OK;
}

enum { COV_COV, COV_CORRELATION };

/* cov(self, *, correction, fweights?, aweights?), corrcoef(self) */
static bsm_status op_cov(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  const bool cov = self->variant == COV_COV;
  const int32_t rank = t->sizes.rank;
  if (rank > 2 || t->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "cov(): expected input to have two or fewer dimensions and "
                    "numbers but got %s of %s",
                    bsm_op_type_name(t->dtype), bsm_dims_str(t->sizes));
  }
  weighted d = {.rows = rank == 2 ? t->sizes.d[0] : 1,
                .count = rank == 0 ? 1 : t->sizes.d[rank - 1]};
  if (cov) {
    BSM_TRY(read_weights(cx, op_tensor(&args[2]), op_tensor(&args[3]), &d));
  } else {
    BSM_TRY(read_weights(cx, NULL, NULL, &d));
  }
  bsm_c128 *c = NULL;
  if (!cx->meta) {
    BSM_TRY(bsm_op_charge(cx, d.rows * d.rows, d.count, 4));
    d.x = bsm_op_load_complex(cx, t);
    BSM_TRY_ALLOC(d.x);
    BSM_TRY(bsm_la_new(cx, d.rows, d.rows, 1, &c));
    covariance(&d, cov ? (double)op_int(&args[1]) : 1.0, c);
    if (!cov) BSM_TRY(correlation(cx, c, d.rows));
  }
  const bsm_dtype dtype =
      bsm_dtype_is_integral(t->dtype, true) ? BSM_DTYPE_FLOAT : t->dtype;
  const bsm_dims shape = d.rows == 1 ? (bsm_dims){0} : op_dims2(d.rows, d.rows);
  return bsm_la_store(cx, dtype, shape, c, &outs[0]);
}

static const bsm_aten_op rows[] = {
    OP("aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
       op_cross, 0, 0),
    OP("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
       op_cross, 0, 0),
    OP("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
       op_vecdot, 0, 0),
    OP("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", op_multi_dot, 0,
       0),
    OP("aten::chain_matmul(Tensor[] matrices) -> Tensor", op_multi_dot, 1, 0),
    OP("aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", op_tensorinv,
       0, 0),
    OP("aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) "
       "-> "
       "Tensor",
       op_tensorsolve, 0, 0),
    OP("aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int "
       "dim2=-1) -> Tensor(a)",
       op_diagonal, 0, BSM_ATEN_VIEW),
    OP("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
       op_vander, 0, 0),
    OP("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", op_vander,
       1, 0),
    OP("aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, "
       "Tensor? aweights=None) -> Tensor",
       op_cov, COV_COV, 0),
    OP("aten::corrcoef(Tensor self) -> Tensor", op_cov, COV_CORRELATION, 0),
};
BSM_ATEN_TABLE(products, rows);
