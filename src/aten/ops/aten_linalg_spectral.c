/* SPDX-License-Identifier: Apache-2.0 */
/* Eigenvalues, singular values and what is made of them: norms of matrices,
 * pseudo-inverses, ranks, condition numbers, least squares; powers and
 * exponentials of matrices. */
#include "aten/packed/aten_linalg_spectral.h"
#include "aten/linalg_ops.h"

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static bsm_status new_doubles(bsm_op_ctx *cx, int64_t n, double **out) {
  *out = BSM_NEW_ARRAY(cx->arena, double, (size_t)n + 1);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

/* A new tensor of a real dtype with these numbers; NULL: meta. */
static bsm_status store_doubles(bsm_op_ctx *cx, bsm_dtype dtype, bsm_dims shape,
                                const double *values, bsm_ivalue *out) {
  bsm_tensor *t;
  BSM_TRY(bsm_op_new(cx, dtype, shape, &t));
  if (values && !cx->meta) bsm_op_store_all(t, values);
  *out = bsm_iv_tensor(t);
  return BSM_OK;
}

/* ---- eigenvalues of Hermitian matrices ---- */

/* Reads one triangle as the whole matrix. */
static void mirror(bsm_c128 *a, int64_t n, bool upper) {
  for (int64_t i = 0; i < n; i++) {
    a[i * n + i].im = 0.0;
    for (int64_t j = 0; j < i; j++) {
      if (upper) {
        a[i * n + j] = bsm_c_conj(a[j * n + i]);
      } else {
        a[j * n + i] = bsm_c_conj(a[i * n + j]);
      }
    }
  }
}

/* What Jacobi's sweeps do for each element and column: some ten sweeps, which
 * look at pairs of columns and rotate them. */
enum { SWEEPS_WORK = 64 };

/* w: n eigenvalues for each matrix; v: eigenvectors, or NULL. */
static bsm_status eigh(bsm_op_ctx *cx, const bsm_tensor *t,
                       const bsm_matrices *d, bool upper, double **w,
                       bsm_c128 **v) {
  const int64_t n = d->n;
  bsm_c128 *a;
  BSM_TRY(bsm_op_charge(cx, d->batch * n, n, SWEEPS_WORK * n));
  BSM_TRY(bsm_la_load(cx, t, d->outer, &a));
  BSM_TRY(new_doubles(cx, d->batch * n, w));
  if (v) BSM_TRY(bsm_la_new(cx, d->batch, n, n, v));
  for (int64_t b = 0; b < d->batch; b++) {
    mirror(a + b * n * n, n, upper);
    bsm_la_eigh(a + b * n * n, n, *w + b * n, v ? *v + b * n * n : NULL);
  }
  return BSM_OK;
}

enum { EIGH_VALUES, EIGH_BOTH, EIGH_INNER };

/* linalg_eigh(self, UPLO) -> (w, v), linalg_eigvalsh(self, UPLO),
 * _linalg_eigh(A, UPLO, compute_v) -> (w, v or nothing) */
static bsm_status op_eigh(OP_PARAMS) {
  const bool inner = self->variant == EIGH_INNER;
  const bool vectors = inner ? op_bool(&args[2]) : self->variant == EIGH_BOTH;
  const bsm_tensor *t = op_tensor(&args[0]);
  const bsm_str which = op_str(&args[1]);
  bsm_matrices d;
  BSM_TRY(bsm_la_squares(t, "linalg.eigh", &d));
  const char c = which.len == 1 ? which.data[0] : ' ';
  if (c != 'L' && c != 'U' && c != 'l' && c != 'u') {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected UPLO argument to be 'L' or 'U', but got %.*s",
                    (int)which.len, which.data);
  }
  double *w = NULL;
  bsm_c128 *v = NULL;
  if (!cx->meta) {
    BSM_TRY(eigh(cx, t, &d, c == 'U' || c == 'u', &w, vectors ? &v : NULL));
  }
  BSM_TRY(store_doubles(cx, bsm_dtype_value_type(t->dtype),
                        bsm_la_shape(d.outer, d.n, -1), w, &outs[0]));
  if (inner && !vectors) {
    return bsm_la_store(cx, t->dtype, op_dims1(0), NULL, &outs[1]);
  }
  return vectors ? bsm_la_store(cx, t->dtype, t->sizes, v, &outs[1]) : BSM_OK;
}

/* ---- singular values ---- */

/* Of each matrix: U [m, k], s [k], V [n, k], k = min(m, n). */
typedef struct svd_result {
  bsm_matrices d;
  int64_t k;
  bsm_c128 *u, *v;
  double *s;
} svd_result;

/* A wide matrix goes through its adjoint. */
static bsm_status svd(bsm_op_ctx *cx, const bsm_tensor *t, svd_result *r) {
  const int64_t m = r->d.m, n = r->d.n, batch = r->d.batch;
  const bool wide = m < n;
  r->k = lesser(m, n);
  bsm_c128 *a;
  BSM_TRY(bsm_op_charge(cx, batch * m, n, SWEEPS_WORK * r->k));
  BSM_TRY(bsm_la_load(cx, t, r->d.outer, &a));
  BSM_TRY(bsm_la_new(cx, batch, m, r->k, &r->u));
  BSM_TRY(bsm_la_new(cx, batch, n, r->k, &r->v));
  BSM_TRY(new_doubles(cx, batch * r->k, &r->s));
  for (int64_t b = 0; b < batch; b++) {
    const bsm_c128 *x = a + b * m * n;
    bsm_c128 *u = r->u + b * m * r->k, *v = r->v + b * n * r->k;
    bsm_c128 *left = wide ? v : u, *right = wide ? u : v;
    const int64_t rows = wide ? n : m;
    double *s = r->s + b * r->k;
    if (wide) {
      bsm_la_adjoint(x, left, m, n);
    } else {
      memcpy(left, x, (size_t)(m * n) * sizeof(*x));
    }
    bsm_la_svd(left, rows, r->k, s, right);
    int64_t rank = 0;
    while (rank < r->k && s[rank] > s[0] * 1e-15) rank++;
    bsm_la_complete(left, rows, r->k, rank);
  }
  return BSM_OK;
}

/* [m, k] with orthonormal columns to [m, m]. */
static bsm_status extend(bsm_op_ctx *cx, bsm_c128 **u, int64_t batch, int64_t m,
                         int64_t k) {
  bsm_c128 *all;
  if (m == k) return BSM_OK;
  BSM_TRY(bsm_op_charge(cx, batch * m, m, 8 * m));
  BSM_TRY(bsm_la_new(cx, batch, m, m, &all));
  for (int64_t b = 0; b < batch; b++) {
    for (int64_t i = 0; i < m; i++) {
      memcpy(all + (b * m + i) * m, *u + (b * m + i) * k,
             (size_t)k * sizeof(**u));
    }
    bsm_la_complete(all + b * m * m, m, m, k);
  }
  *u = all;
  return BSM_OK;
}

enum { SVD_LINALG, SVD_OLD, SVD_VALUES, SVD_INNER };

/* linalg_svd(A, full_matrices, *, driver) -> (U, S, Vh); linalg_svdvals(A);
 * _linalg_svd(A, full_matrices, compute_uv, *, driver) -> (U, S, Vh);
 * svd(self, some, compute_uv) -> (U, S, V) */
static bsm_status op_svd(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  svd_result r = {0};
  const bool values = self->variant == SVD_VALUES;
  const bool old = self->variant == SVD_OLD;
  const bool full = !values && op_bool(&args[1]) != old;
  BSM_TRY(bsm_la_matrices(t, values ? "linalg.svdvals" : "linalg.svd", &r.d));
  const int64_t m = r.d.m, n = r.d.n, batch = r.d.batch;
  r.k = lesser(m, n);
  const int64_t mu = full ? m : r.k, nv = full ? n : r.k;
  bsm_c128 *vh = NULL;
  if (!cx->meta) {
    BSM_TRY(svd(cx, t, &r));
    if (full) {
      BSM_TRY(extend(cx, &r.u, batch, m, r.k));
      BSM_TRY(extend(cx, &r.v, batch, n, r.k));
    }
    BSM_TRY(bsm_la_new(cx, batch, nv, n, &vh));
    for (int64_t b = 0; b < batch && !old; b++) {
      bsm_la_adjoint(r.v + b * n * nv, vh + b * n * nv, n, nv);
    }
  }
  const bsm_dtype value = bsm_dtype_value_type(t->dtype);
  BSM_TRY(store_doubles(cx, value, bsm_la_shape(r.d.outer, r.k, -1), r.s,
                        &outs[values ? 0 : 1]));
  if (values) return BSM_OK;
  if (self->variant == SVD_INNER && !op_bool(&args[2])) {
    BSM_TRY(bsm_la_store(cx, t->dtype, op_dims1(0), NULL, &outs[0]));
    return bsm_la_store(cx, t->dtype, op_dims1(0), NULL, &outs[2]);
  }
  const bool zeros = old && !op_bool(&args[2]); /* full shapes, no vectors */
  BSM_TRY(bsm_la_store(cx, t->dtype, bsm_la_shape(r.d.outer, m, zeros ? m : mu),
                       zeros ? NULL : r.u, &outs[0]));
  if (old) {
    return bsm_la_store(cx, t->dtype,
                        bsm_la_shape(r.d.outer, n, zeros ? n : nv),
                        zeros ? NULL : r.v, &outs[2]);
  }
  return bsm_la_store(cx, t->dtype, bsm_la_shape(r.d.outer, nv, n), vh,
                      &outs[2]);
}

/* ---- rank, pseudo-inverse, least squares ---- */

static double epsilon(bsm_dtype d) {
  return bsm_dtype_value_type(d) == BSM_DTYPE_DOUBLE ? 0x1p-52 : 0x1p-23;
}

/* What counts as zero: max(atol, rtol * the largest); rtol is eps * max(m, n)
 * when neither is given. */
typedef struct tolerances {
  double atol, rtol;
} tolerances;

static bsm_status read_tolerance(bsm_op_ctx *cx, const bsm_ivalue *a,
                                 double fallback, double *out) {
  const bsm_tensor *t = op_tensor(a);
  *out = fallback;
  if (op_none(a)) return BSM_OK;
  if (!t) {
    *out = op_double(a);
    return BSM_OK;
  }
  if (bsm_tensor_numel(t) != 1) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a tolerance for each matrix");
  }
  if (!cx->meta) *out = bsm_tensor_get_double(t, 0);
  return BSM_OK;
}

enum { TOLERANCE_ONE_ATOL, TOLERANCE_ONE_RTOL, TOLERANCE_BOTH };

static bsm_status read_tolerances(bsm_op_ctx *cx, int32_t variant,
                                  const bsm_ivalue *args, bsm_dtype dtype,
                                  const bsm_matrices *d, tolerances *out) {
  const double largest = (double)(d->m > d->n ? d->m : d->n);
  *out = (tolerances){0.0, 0.0};
  if (variant == TOLERANCE_ONE_ATOL) {
    return read_tolerance(cx, &args[1], 0.0, &out->atol);
  }
  if (variant == TOLERANCE_ONE_RTOL) {
    return read_tolerance(cx, &args[1], 0.0, &out->rtol);
  }
  BSM_TRY(read_tolerance(cx, &args[1], 0.0, &out->atol));
  const double usual = out->atol > 0.0 ? 0.0 : epsilon(dtype) * largest;
  return read_tolerance(cx, &args[2], usual, &out->rtol);
}

static double threshold_of(const double *s, int64_t k, const tolerances *tol) {
  double most = 0.0;
  for (int64_t i = 0; i < k; i++) most = fabs(s[i]) > most ? fabs(s[i]) : most;
  const double relative = tol->rtol * most;
  return tol->atol > relative ? tol->atol : relative;
}

/* linalg_matrix_rank(self, tol, hermitian) and overloads */
static bsm_status op_matrix_rank(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  svd_result r = {0};
  tolerances tol;
  bsm_tensor *out;
  BSM_TRY(bsm_la_matrices(t, "torch.linalg.matrix_rank", &r.d));
  BSM_TRY(read_tolerances(cx, self->variant, args, t->dtype, &r.d, &tol));
  const bool both = self->variant == TOLERANCE_BOTH;
  if (op_bool(&args[both ? 3 : 2])) {
    BSM_TRY(bsm_la_squares(t, "torch.linalg.matrix_rank", &r.d));
  }
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, r.d.outer, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  BSM_TRY(svd(cx, t, &r));
  int64_t *ranks = bsm_tensor_data(out);
  for (int64_t b = 0; b < r.d.batch; b++) {
    const double *s = r.s + b * r.k, least = threshold_of(s, r.k, &tol);
    for (int64_t i = 0; i < r.k; i++) ranks[b] += s[i] > least;
  }
  return BSM_OK;
}

/* V diag(1 / s) U^H, small s left out. */
static bsm_status pseudo_inverse(bsm_op_ctx *cx, const bsm_tensor *t,
                                 svd_result *r, const tolerances *tol,
                                 bsm_c128 **out) {
  const int64_t m = r->d.m, n = r->d.n;
  bsm_c128 *uh;
  BSM_TRY(svd(cx, t, r));
  const int64_t k = r->k;
  BSM_TRY(bsm_la_new(cx, r->d.batch, m, n, out));
  BSM_TRY(bsm_la_new(cx, m, k, 1, &uh));
  for (int64_t b = 0; b < r->d.batch; b++) {
    const double *s = r->s + b * k, least = threshold_of(s, k, tol);
    bsm_la_adjoint(r->u + b * m * k, uh, m, k);
    for (int64_t i = 0; i < k * m; i++) {
      const double f = s[i / m] > least ? 1.0 / s[i / m] : 0.0;
      uh[i] = bsm_c_scale(uh[i], f);
    }
    bsm_la_multiply(r->v + b * n * k, uh, *out + b * m * n, n, k, m);
  }
  return BSM_OK;
}

/* linalg_pinv(self, rcond, hermitian), pinverse(self, rcond) and overloads */
static bsm_status op_pinv(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  svd_result r = {0};
  tolerances tol;
  bsm_c128 *inverse = NULL;
  BSM_TRY(bsm_la_matrices(t, "linalg.pinv", &r.d));
  BSM_TRY(read_tolerances(cx, self->variant, args, t->dtype, &r.d, &tol));
  if (!cx->meta) BSM_TRY(pseudo_inverse(cx, t, &r, &tol, &inverse));
  return bsm_la_store(cx, t->dtype, bsm_la_shape(r.d.outer, r.d.n, r.d.m),
                      inverse, &outs[0]);
}

/* linalg_lstsq(self, b, rcond?, *, driver) -> (solution, residuals, rank,
 * singular_values). The minimum-norm solution, as of PyTorch's default driver
 * (gelsy), which has neither residuals nor singular values. */
static bsm_status op_lstsq(OP_PARAMS) {
  (void)self;
  const bsm_tensor *t = op_tensor(&args[0]);
  bsm_tensor *b = op_tensor(&args[1]), *ranks;
  svd_result r = {0};
  bsm_matrices d;
  BSM_TRY(bsm_la_matrices(t, "torch.linalg.lstsq", &r.d));
  const bsm_str driver = op_str(&args[3]);
  if (driver.len > 0 && !bsm_str_eq(driver, BSM_STR("gelsy"))) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "torch.linalg.lstsq with the driver %.*s; gelsy is there",
                    (int)driver.len, driver.data);
  }
  const bool vector = b->sizes.rank == t->sizes.rank - 1;
  if (vector) BSM_TRY(bsm_op_unsqueeze(cx, b, b->sizes.rank, &b));
  BSM_TRY(bsm_la_matrices(b, "torch.linalg.lstsq", &d));
  if (d.m != r.d.m || b->dtype != t->dtype ||
      !bsm_dims_equal(d.outer, r.d.outer)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.linalg.lstsq: input %s and other %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(b->sizes));
  }
  const int64_t m = d.m, n = r.d.n, k = d.n;
  const double largest = (double)(m > n ? m : n);
  tolerances tol = {0.0, epsilon(t->dtype) * largest};
  BSM_TRY(read_tolerance(cx, &args[2], tol.rtol, &tol.rtol));
  bsm_c128 *inverse, *rhs, *x = NULL;
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, d.outer, &ranks));
  if (!cx->meta) {
    BSM_TRY(pseudo_inverse(cx, t, &r, &tol, &inverse));
    BSM_TRY(bsm_op_charge(cx, d.batch * m, n, 4 * k));
    BSM_TRY(bsm_la_load(cx, b, d.outer, &rhs));
    BSM_TRY(bsm_la_new(cx, d.batch, n, k, &x));
    for (int64_t i = 0; i < d.batch; i++) {
      int64_t *rank = (int64_t *)bsm_tensor_data(ranks) + i;
      bsm_la_multiply(inverse + i * m * n, rhs + i * m * k, x + i * n * k, n, m,
                      k);
      const double least = threshold_of(r.s + i * r.k, r.k, &tol);
      for (int64_t j = 0; j < r.k; j++) *rank += r.s[i * r.k + j] > least;
    }
  }
  BSM_TRY(bsm_la_store(cx, t->dtype, bsm_la_shape(d.outer, n, vector ? -1 : k),
                       x, &outs[0]));
  const bsm_dtype value = bsm_dtype_value_type(t->dtype);
  BSM_TRY(store_doubles(cx, value, op_dims1(0), NULL, &outs[1]));
  outs[2] = bsm_iv_tensor(ranks);
  return store_doubles(cx, value, op_dims1(0), NULL, &outs[3]);
}

/* ---- norms ---- */

/* The dims `order` last, read as matrices or vectors. */
static bsm_status move_last(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims order,
                            bsm_tensor **out) {
  bsm_dims dims = {0};
  int64_t strides[BSM_MAX_RANK] = {0};
  uint32_t moved = 0;
  for (int32_t i = 0; i < order.rank; i++) moved |= 1u << order.d[i];
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (moved & 1u << i) continue;
    strides[dims.rank] = t->strides[i];
    dims.d[dims.rank++] = t->sizes.d[i];
  }
  for (int32_t i = 0; i < order.rank; i++) {
    strides[dims.rank] = t->strides[order.d[i]];
    dims.d[dims.rank++] = t->sizes.d[order.d[i]];
  }
  return bsm_tensor_view(cx->arena, t, dims, strides, t->offset, out);
}

static double vector_norm(const bsm_c128 *x, int64_t n, int64_t step,
                          double p) {
  double sum = isinf(p) && p < 0 ? INFINITY : 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double a = bsm_c_abs(x[i * step]);
    if (isinf(p)) {
      if (isnan(a) || (p > 0 ? a > sum : a < sum)) sum = a;
      if (isnan(a)) return a;
    } else {
      sum += p == 0.0 ? (double)(a != 0.0) : p == 2.0 ? a * a : pow(a, p);
    }
  }
  if (isinf(p) || p == 0.0 || p == 1.0) return sum;
  return p == 2.0 ? sqrt(sum) : pow(sum, 1.0 / p);
}

enum { NORM_FRO, NORM_NUC, NORM_P };

/* 1 and inf: the largest (or, for -1 and -inf, least) sum of a column or row.
 */
static double extreme_sum(const bsm_c128 *x, int64_t m, int64_t n, double p) {
  const bool rows = isinf(p);
  double best = p > 0 ? 0.0 : INFINITY;
  for (int64_t i = 0; i < (rows ? m : n); i++) {
    const double s = rows ? vector_norm(x + i * n, n, 1, 1.0)
                          : vector_norm(x + i, m, n, 1.0);
    if (isnan(s)) return s;
    if (p > 0 ? s > best : s < best) best = s;
  }
  return best;
}

/* Norms of the matrices in the last two dims. */
static bsm_status matrix_norms(bsm_op_ctx *cx, const bsm_tensor *t, int kind,
                               double p, double **out) {
  svd_result r = {0};
  bsm_c128 *x;
  BSM_TRY(bsm_la_matrices(t, "linalg.matrix_norm", &r.d));
  const int64_t m = r.d.m, n = r.d.n;
  BSM_TRY(new_doubles(cx, r.d.batch, out));
  const bool spectral = kind == NORM_NUC || (kind == NORM_P && fabs(p) == 2.0);
  if (spectral) BSM_TRY(svd(cx, t, &r));
  BSM_TRY(bsm_la_load(cx, t, r.d.outer, &x));
  for (int64_t b = 0; b < r.d.batch; b++) {
    const double *s = spectral ? r.s + b * r.k : NULL;
    double v = 0.0;
    if (kind == NORM_FRO) {
      v = vector_norm(x + b * m * n, m * n, 1, 2.0);
    } else if (!spectral) {
      v = extreme_sum(x + b * m * n, m, n, p);
    } else if (kind == NORM_P && r.k > 0) {
      v = p > 0 ? s[0] : s[r.k - 1];
    }
    for (int64_t i = 0; i < r.k && kind == NORM_NUC; i++) v += s[i];
    (*out)[b] = v;
  }
  return BSM_OK;
}

typedef struct norm_request {
  int kind;
  double p;
  bsm_dims dims;
  bool keepdim;
  const bsm_ivalue *dtype;
} norm_request;

static bsm_status prepare_norm(bsm_op_ctx *cx, bsm_tensor **t,
                               const norm_request *r, bsm_dims *shape) {
  const bsm_dtype from = (*t)->dtype, value = bsm_dtype_value_type(from);
  const bsm_dtype asked = r->dtype ? op_dtype_or(r->dtype, from) : from;
  if (!bsm_dtype_is_floating(value) ||
      !bsm_dtype_is_floating(bsm_dtype_value_type(asked)) ||
      bsm_dtype_is_complex(asked) != bsm_dtype_is_complex(from)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.norm: Expected a floating point or complex tensor "
                    "as input. Got %s",
                    bsm_op_type_name(from));
  }
  BSM_TRY(bsm_op_cast(cx, *t, asked, t));
  uint32_t mask = 0;
  for (int32_t i = 0; i < r->dims.rank; i++) mask |= 1u << r->dims.d[i];
  *shape = (bsm_dims){0};
  for (int32_t i = 0; i < (*t)->sizes.rank; i++) {
    if (!(mask & 1u << i)) {
      shape->d[shape->rank++] = (*t)->sizes.d[i];
    } else if (r->keepdim) {
      shape->d[shape->rank++] = 1;
    }
  }
  return BSM_OK;
}

static bsm_status norm_of_matrices(bsm_op_ctx *cx, bsm_tensor *t,
                                   const norm_request *r, bsm_ivalue *out) {
  bsm_dims shape;
  double *values = NULL;
  BSM_TRY(prepare_norm(cx, &t, r, &shape));
  const bsm_dtype dtype = bsm_dtype_value_type(t->dtype);
  if (r->kind == NORM_P && fabs(r->p) != 1.0 && fabs(r->p) != 2.0 &&
      !isinf(r->p)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.matrix_norm: Order %g not supported.", r->p);
  }
  if (r->kind == NORM_P && bsm_tensor_numel(t) == 0) {
    for (int32_t i = 0; i < 2; i++) {
      if (t->sizes.d[r->dims.d[i]] != 0) continue;
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "linalg.matrix_norm: the norm of an empty matrix");
    }
  }
  BSM_TRY(move_last(cx, t, r->dims, &t));
  if (!cx->meta) BSM_TRY(matrix_norms(cx, t, r->kind, r->p, &values));
  return store_doubles(cx, dtype, shape, values, out);
}

static bsm_status norm_of_vectors(bsm_op_ctx *cx, bsm_tensor *t,
                                  const norm_request *r, bsm_ivalue *out) {
  bsm_dims shape;
  double *values = NULL;
  BSM_TRY(prepare_norm(cx, &t, r, &shape));
  const bsm_dtype dtype = bsm_dtype_value_type(t->dtype);
  int64_t n = 1, count;
  for (int32_t i = 0; i < r->dims.rank; i++) n *= t->sizes.d[r->dims.d[i]];
  if (!bsm_dims_numel(shape, &count)) {
    return BSM_FAIL(BSM_LIMIT, "norms of shape %s", bsm_dims_str(shape));
  }
  if (n == 0 && (r->p < 0 || isinf(r->p))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.vector_norm cannot compute the %g norm on an empty "
                    "tensor because the operation does not have an identity",
                    r->p);
  }
  if (!cx->meta) {
    BSM_TRY(move_last(cx, t, r->dims, &t));
    const bsm_c128 *x = bsm_op_load_complex(cx, t);
    BSM_TRY_ALLOC(x);
    BSM_TRY(new_doubles(cx, count, &values));
    for (int64_t i = 0; i < count; i++) {
      values[i] = vector_norm(x + i * n, n, 1, r->p);
    }
  }
  return store_doubles(cx, dtype, shape, values, out);
}

/* Reads dims, wrapped; all of them when there are none. */
static bsm_status read_dims(const bsm_ivalue *a, int32_t rank, bsm_dims *out) {
  uint32_t mask;
  *out = (bsm_dims){rank, {0}};
  for (int32_t i = 0; i < rank; i++) out->d[i] = i;
  if (op_none(a)) return BSM_OK;
  BSM_TRY(bsm_op_dim_mask(a, rank, true, &mask)); /* no dim twice */
  if (rank == 0) return BSM_OK; /* 0 and -1 mean the number itself */
  if (a->tag != BSM_IVALUE_INT && op_list_len(a) == 0) return BSM_OK;
  BSM_TRY(bsm_op_dims(a, out));
  for (int32_t i = 0; i < out->rank; i++) {
    if (out->d[i] < 0) out->d[i] += rank;
  }
  return BSM_OK;
}

static bsm_status read_order(const bsm_ivalue *a, norm_request *r) {
  r->kind = NORM_P;
  r->p = 2.0;
  if (a->tag != BSM_IVALUE_STRING) {
    if (!op_none(a)) r->p = op_double(a);
    return BSM_OK;
  }
  const bsm_str name = op_str(a);
  r->kind = bsm_str_eq(name, BSM_STR("nuc")) ? NORM_NUC : NORM_FRO;
  if (r->kind == NORM_NUC || bsm_str_eq(name, BSM_STR("fro"))) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "linalg.matrix_norm: Order %.*s not supported.",
                  (int)name.len, name.data);
}

/* linalg_matrix_norm(self, ord, dim, keepdim, *, dtype), nuclear_norm(self,
 * [dim], keepdim) */
static bsm_status op_matrix_norm(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  norm_request r = {.kind = NORM_NUC};
  const bool linalg = self->variant == 0;
  const bsm_ivalue none = bsm_iv_none();
  const bsm_ivalue *dims = self->variant == 2 ? &args[1] : &none;
  if (linalg) {
    BSM_TRY(read_order(&args[1], &r));
    dims = &args[2];
    r.dtype = &args[4];
  }
  r.keepdim = op_bool(&args[linalg ? 3 : self->variant == 2 ? 2 : 1]);
  BSM_TRY(read_dims(dims, t->sizes.rank, &r.dims));
  if (self->variant == 1)
    r.dims = op_dims2(t->sizes.rank - 2, t->sizes.rank - 1);
  if (r.dims.rank != 2 || t->sizes.rank < 2) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        "linalg.matrix_norm: dim must be a 2-tuple of the dims of a "
        "tensor with at least 2 dimensions. Got %s",
        bsm_dims_str(t->sizes));
  }
  return norm_of_matrices(cx, t, &r, &outs[0]);
}

/* linalg_norm(self, ord?, dim?, keepdim, *, dtype) */
static bsm_status op_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  norm_request r = {.keepdim = op_bool(&args[3]), .dtype = &args[4]};
  const bool any = op_none(&args[1]);
  BSM_TRY(read_order(&args[1], &r));
  BSM_TRY(read_dims(&args[2], t->sizes.rank, &r.dims));
  const bool number = t->sizes.rank == 0 && !op_none(&args[2]);
  const int32_t n = number ? 1 : r.dims.rank;
  const bool good = n == 1 || n == 2;
  if (!any && (!good || (n == 1 && r.kind != NORM_P))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.norm: If ord is specified, dim must be of length 1 "
                    "or 2, or the input must be 1D or 2D. Got %d dims",
                    (int)n);
  }
  return any || n == 1 ? norm_of_vectors(cx, t, &r, &outs[0])
                       : norm_of_matrices(cx, t, &r, &outs[0]);
}

/* The ratio of the greatest and the least singular value, or the inverse. */
static bsm_status ratios_of(bsm_op_ctx *cx, const bsm_tensor *t, bool inverse,
                            svd_result *s, double *ratios) {
  BSM_TRY(svd(cx, t, s));
  for (int64_t i = 0; i < s->d.batch; i++) {
    const double most = s->s[i * s->k], least = s->s[i * s->k + s->k - 1];
    ratios[i] = inverse ? least / most : most / least;
  }
  return BSM_OK;
}

/* The norm times the norm of the inverse. Zero times infinity is infinity, as
 * NumPy has it. */
static bsm_status products_of(bsm_op_ctx *cx, bsm_tensor *t, norm_request *r,
                              double *products) {
  const int32_t rank = t->sizes.rank;
  bsm_tensor *inverse;
  bsm_ivalue a, b;
  r->dims = op_dims2(rank - 2, rank - 1);
  BSM_TRY(norm_of_matrices(cx, t, r, &a));
  BSM_TRY(bsm_la_inverse_or_infinity(cx, t, "linalg.cond", &inverse));
  BSM_TRY(norm_of_matrices(cx, inverse, r, &b));
  for (int64_t i = 0; !cx->meta && i < bsm_tensor_numel(a.u.tensor); i++) {
    products[i] = bsm_tensor_get_double(a.u.tensor, i) *
                  bsm_tensor_get_double(b.u.tensor, i);
    if (isnan(products[i])) products[i] = INFINITY;
  }
  return BSM_OK;
}

/* linalg_cond(self, p?); 0 of a matrix without elements. */
static bsm_status op_cond(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  norm_request r = {0};
  svd_result s = {0};
  double *numbers = NULL;
  BSM_TRY(read_order(&args[1], &r));
  BSM_TRY(bsm_la_matrices(t, "linalg.cond", &s.d));
  const bsm_dtype value = bsm_dtype_value_type(t->dtype);
  if (!cx->meta) BSM_TRY(new_doubles(cx, s.d.batch, &numbers));
  if (bsm_tensor_numel(t) == 0) {
    for (int64_t i = 0; numbers && i < s.d.batch; i++) numbers[i] = 0;
  } else if (r.kind != NORM_P || fabs(r.p) != 2.0) {
    BSM_TRY(products_of(cx, t, &r, numbers));
  } else if (!cx->meta) {
    BSM_TRY(ratios_of(cx, t, r.p < 0, &s, numbers));
  }
  return store_doubles(cx, value, s.d.outer, numbers, &outs[0]);
}

/* ---- powers ---- */

static bsm_status identity_like(bsm_op_ctx *cx, const bsm_tensor *t,
                                bsm_tensor **out) {
  const int32_t rank = t->sizes.rank;
  const int64_t n = t->sizes.d[rank - 1];
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, out));
  if (cx->meta) return BSM_OK;
  const int64_t total = bsm_tensor_numel(*out);
  const bsm_c128 one = {1.0, 0.0};
  for (int64_t i = 0; i < total; i++) {
    if (i / n % n != i % n) continue;
    bsm_store_c128(
        t->dtype,
        (char *)bsm_tensor_data(*out) + (size_t)i * bsm_dtype_size(t->dtype), 0,
        1, &one);
  }
  return BSM_OK;
}

/* linalg_matrix_power(self, n), matrix_power(self, n) */
static bsm_status op_matrix_power(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out = NULL;
  const int64_t power = op_int(&args[1]);
  const int32_t rank = t->sizes.rank;
  if (rank < 2 || t->sizes.d[rank - 1] != t->sizes.d[rank - 2]) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        "linalg.matrix_power: A must be batches of square matrices, "
        "but they are %s",
        bsm_dims_str(t->sizes));
  }
  if (power == 0) {
    BSM_TRY(identity_like(cx, t, &out));
    return op_return(outs, out);
  }
  if (power < 0) BSM_TRY(bsm_la_inverse(cx, t, "linalg.matrix_power", &t));
  uint64_t k = power < 0 ? (uint64_t)0 - (uint64_t)power : (uint64_t)power;
  for (; k > 0; k >>= 1) {
    if (k & 1u) {
      if (out) {
        BSM_TRY(bsm_op_matmul(cx, out, t, &out));
      } else {
        out = t;
      }
    }
    if (k > 1) BSM_TRY(bsm_op_matmul(cx, t, t, &t));
  }
  if (out == op_tensor(&args[0])) {
    BSM_TRY(bsm_tensor_clone(cx->arena, out, &out));
  }
  return op_return(outs, out);
}

/* exp(a) by scaling, a Taylor series, and squaring. */
static bsm_status exponential(bsm_op_ctx *cx, bsm_c128 *a, int64_t n) {
  enum { TERMS = 20 };
  bsm_c128 *term, *sum, *next;
  BSM_TRY(bsm_la_new(cx, n, n, 1, &term));
  BSM_TRY(bsm_la_new(cx, n, n, 1, &sum));
  BSM_TRY(bsm_la_new(cx, n, n, 1, &next));
  const double size = extreme_sum(a, n, n, 1.0);
  int squarings = 0;
  if (isfinite(size) && size > 0.5) (void)frexp(size / 0.5, &squarings);
  BSM_TRY(bsm_op_charge(cx, n * n, n, 4 * (TERMS + squarings)));
  for (int64_t i = 0; i < n * n; i++) {
    a[i] = bsm_c_scale(a[i], ldexp(1.0, -squarings));
    term[i] = sum[i] = (bsm_c128){i / n == i % n ? 1.0 : 0.0, 0.0};
  }
  for (int k = 1; k <= TERMS; k++) {
    bsm_la_multiply(term, a, next, n, n, n);
    for (int64_t i = 0; i < n * n; i++) {
      term[i] = bsm_c_scale(next[i], 1.0 / k);
      sum[i] = bsm_c_add(sum[i], term[i]);
    }
  }
  for (; squarings > 0; squarings--) {
    bsm_la_multiply(sum, sum, next, n, n, n);
    memcpy(sum, next, (size_t)(n * n) * sizeof(*sum));
  }
  memcpy(a, sum, (size_t)(n * n) * sizeof(*sum));
  return BSM_OK;
}

static bsm_status op_matrix_exp(OP_PARAMS) {
  (void)self;
  const bsm_tensor *t = op_tensor(&args[0]);
  bsm_matrices d;
  bsm_c128 *a = NULL;
  BSM_TRY(bsm_la_squares(t, "linalg.matrix_exp", &d));
  if (!cx->meta) {
    BSM_TRY(bsm_la_load(cx, t, d.outer, &a));
    for (int64_t b = 0; b < d.batch; b++) {
      BSM_TRY(exponential(cx, a + b * d.n * d.n, d.n));
    }
  }
  return bsm_la_store(cx, t->dtype, t->sizes, a, &outs[0]);
}

static const bsm_aten_op rows[] = {
    OP("aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, "
       "Tensor eigenvectors)",
       op_eigh, EIGH_BOTH, 0),
    OP("aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", op_eigh,
       0, 0),
    OP("aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? "
       "driver=None) "
       "-> (Tensor U, Tensor S, Tensor Vh)",
       op_svd, SVD_LINALG, 0),
    OP("aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> "
       "(Tensor "
       "U, Tensor S, Tensor V)",
       op_svd, SVD_OLD, 0),
    OP("aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", op_svd,
       SVD_VALUES, 0),
    OP("aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) "
       "-> Tensor",
       op_matrix_rank, TOLERANCE_ONE_ATOL, 0),
    OP("aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool "
       "hermitian=False) -> Tensor",
       op_matrix_rank, TOLERANCE_ONE_ATOL, 0),
    OP("aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? "
       "atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
       op_matrix_rank, TOLERANCE_BOTH, 0),
    OP("aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? "
       "atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
       op_matrix_rank, TOLERANCE_BOTH, 0),
    OP("aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> "
       "Tensor",
       op_pinv, TOLERANCE_ONE_RTOL, 0),
    OP("aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool "
       "hermitian=False) -> Tensor",
       op_pinv, TOLERANCE_ONE_RTOL, 0),
    OP("aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> "
       "Tensor",
       op_pinv, TOLERANCE_ONE_RTOL, 0),
    OP("aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, "
       "float? rtol=None, bool hermitian=False) -> Tensor",
       op_pinv, TOLERANCE_BOTH, 0),
    OP("aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, "
       "Tensor? rtol=None, bool hermitian=False) -> Tensor",
       op_pinv, TOLERANCE_BOTH, 0),
    OP("aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? "
       "driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, "
       "Tensor "
       "singular_values)",
       op_lstsq, 0, 0),
    OP("aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], "
       "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       op_matrix_norm, 0, 0),
    OP("aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] "
       "dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       op_matrix_norm, 0, 0),
    OP("aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
       op_matrix_norm, 1, 0),
    OP("aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> "
       "Tensor",
       op_matrix_norm, 2, 0),
    OP("aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, "
       "bool "
       "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       op_norm, 0, 0),
    OP("aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool "
       "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       op_norm, 0, 0),
    OP("aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", op_cond, 0,
       0),
    OP("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", op_cond, 0, 0),
    OP("aten::linalg_matrix_power(Tensor self, int n) -> Tensor",
       op_matrix_power, 0, 0),
    OP("aten::matrix_power(Tensor self, int n) -> Tensor", op_matrix_power, 0,
       0),
    OP("aten::linalg_matrix_exp(Tensor self) -> Tensor", op_matrix_exp, 0, 0),
    OP("aten::matrix_exp(Tensor self) -> Tensor", op_matrix_exp, 0, 0),
    OP("aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> "
       "(Tensor eigenvalues, Tensor eigenvectors)",
       op_eigh, EIGH_INNER, 0),
    OP("aten::_linalg_svd(Tensor A, bool full_matrices=False, bool "
       "compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor "
       "Vh)",
       op_svd, SVD_INNER, 0),
};
BSM_ATEN_TABLE(linalg_spectral, rows);
