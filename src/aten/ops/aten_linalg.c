/* SPDX-License-Identifier: Apache-2.0 */
/* Linear systems and factorizations: inv, solve, det, lu, cholesky, qr. */
#include "aten/packed/aten_linalg.h"
#include "aten/linalg_ops.h"

/* ---- batches of matrices ---- */

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

bsm_status bsm_la_matrices(const bsm_tensor *t, const char *name,
                           bsm_matrices *out) {
  const bsm_dtype value = bsm_dtype_value_type(t->dtype);
  if (t->sizes.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: The input tensor A must have at least 2 dimensions.",
                    name);
  }
  if (value != BSM_DTYPE_FLOAT && value != BSM_DTYPE_DOUBLE) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: Expected a floating point or complex tensor as input "
                    "(no low precision). Got %s",
                    name, bsm_op_type_name(t->dtype));
  }
  *out = (bsm_matrices){1, 0, 0, t->sizes};
  out->outer.rank -= 2;
  for (int32_t i = 0; i < out->outer.rank; i++) out->batch *= t->sizes.d[i];
  out->m = t->sizes.d[out->outer.rank];
  out->n = t->sizes.d[out->outer.rank + 1];
  return BSM_OK;
}

bsm_status bsm_la_squares(const bsm_tensor *t, const char *name,
                          bsm_matrices *out) {
  BSM_TRY(bsm_la_matrices(t, name, out));
  if (out->m == out->n) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "%s: A must be batches of square matrices, but they are %lld "
                  "by %lld matrices",
                  name, (long long)out->m, (long long)out->n);
}

bsm_dims bsm_la_shape(bsm_dims outer, int64_t m, int64_t n) {
  if (m >= 0) outer.d[outer.rank++] = m;
  if (n >= 0) outer.d[outer.rank++] = n;
  return outer;
}

bsm_status bsm_la_new(bsm_op_ctx *cx, int64_t batch, int64_t m, int64_t n,
                      bsm_c128 **out) {
  const size_t most =
      cx->max_tensor_bytes ? cx->max_tensor_bytes : (size_t)INT64_MAX;
  int64_t count;
  if (!bsm_i64_mul(batch, m, &count) || !bsm_i64_mul(count, n, &count) ||
      (uint64_t)count >= most / sizeof(bsm_c128)) {
    return BSM_FAIL(BSM_LIMIT,
                    "%lld matrices of %lld by %lld exceed the limit of %zu "
                    "bytes",
                    (long long)batch, (long long)m, (long long)n, most);
  }
  *out = BSM_NEW_ARRAY(cx->arena, bsm_c128, (size_t)count + 1);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

bsm_status bsm_la_load(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims outer,
                       bsm_c128 **out) {
  const int32_t rank = t->sizes.rank;
  const int64_t m = t->sizes.d[rank - 2], n = t->sizes.d[rank - 1];
  bsm_tensor *wide;
  BSM_TRY(bsm_op_expand(cx, t, bsm_la_shape(outer, m, n), &wide));
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(wide), lesser(m, n), 4));
  *out = bsm_op_load_complex(cx, wide);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

bsm_status bsm_la_store(bsm_op_ctx *cx, bsm_dtype dtype, bsm_dims shape,
                        const bsm_c128 *values, bsm_ivalue *out) {
  bsm_tensor *t;
  BSM_TRY(bsm_op_new(cx, dtype, shape, &t));
  if (values && !cx->meta) bsm_op_store_complex(t, values);
  *out = bsm_iv_tensor(t);
  return BSM_OK;
}

/* Of int32: pivots and infos. */
static bsm_status store_ints(bsm_op_ctx *cx, bsm_dims shape,
                             const int64_t *values, int64_t add,
                             bsm_ivalue *out) {
  bsm_tensor *t;
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT32, shape, &t));
  *out = bsm_iv_tensor(t);
  if (!values || cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(t);
  int32_t *p = bsm_tensor_data(t);
  for (int64_t i = 0; i < n; i++) p[i] = (int32_t)(values[i] + add);
  return BSM_OK;
}

static bsm_status new_ints(bsm_op_ctx *cx, int64_t n, int64_t **out) {
  *out = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)n + 1);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

/* ---- LU and what is made of it ---- */

typedef struct lu_factors {
  bsm_matrices d;
  bsm_c128 *lu;
  int64_t *pivots, *infos; /* min(m, n) and one for each matrix */
} lu_factors;

static bsm_status factor_lu(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims outer,
                            lu_factors *f) {
  const int64_t m = f->d.m, n = f->d.n, k = lesser(m, n);
  int64_t batch;
  if (!bsm_dims_numel(outer, &batch)) {
    return BSM_FAIL(BSM_LIMIT, "too many matrices");
  }
  BSM_TRY(bsm_la_load(cx, t, outer, &f->lu));
  BSM_TRY(new_ints(cx, batch * k, &f->pivots));
  BSM_TRY(new_ints(cx, batch, &f->infos));
  for (int64_t b = 0; b < batch; b++) {
    f->infos[b] = bsm_la_lu(f->lu + b * m * n, m, n, f->pivots + b * k);
  }
  return BSM_OK;
}

static bsm_status check_infos(const int64_t *infos, int64_t n,
                              const char *format) {
  for (int64_t i = 0; i < n; i++) {
    if (infos[i] == 0) continue;
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s (matrix %lld, order %lld)",
                    format, (long long)i, (long long)infos[i]);
  }
  return BSM_OK;
}

static const char singular[] =
    "the inversion could not be completed because the input matrix is singular";

typedef enum singular_rule {
  SINGULAR_STAYS, /* as the factors leave it */
  SINGULAR_FAILS,
  SINGULAR_IS_INFINITE
} singular_rule;

static bsm_status invert(bsm_op_ctx *cx, const bsm_tensor *t, const char *name,
                         singular_rule rule, bsm_ivalue *out,
                         bsm_ivalue *info) {
  lu_factors f = {0};
  bsm_c128 *inverse = NULL;
  BSM_TRY(bsm_la_squares(t, name, &f.d));
  const int64_t n = f.d.n;
  if (!cx->meta) {
    BSM_TRY(factor_lu(cx, t, f.d.outer, &f));
    if (rule == SINGULAR_FAILS) {
      BSM_TRY_NOTE(check_infos(f.infos, f.d.batch, singular), "%s", name);
    }
    BSM_TRY(bsm_la_new(cx, f.d.batch, n, n, &inverse));
    for (int64_t b = 0; b < f.d.batch; b++) {
      bsm_c128 *x = inverse + b * n * n;
      for (int64_t i = 0; i < n; i++) x[i * n + i].re = 1.0;
      bsm_la_lu_solve(f.lu + b * n * n, n, f.pivots + b * n, x, n);
      if (rule != SINGULAR_IS_INFINITE || f.infos[b] == 0) continue;
      for (int64_t i = 0; i < n * n; i++) x[i] = (bsm_c128){INFINITY, 0.0};
    }
  }
  if (info) BSM_TRY(store_ints(cx, f.d.outer, f.infos, 0, info));
  return bsm_la_store(cx, t->dtype, t->sizes, inverse, out);
}

bsm_status bsm_la_inverse(bsm_op_ctx *cx, const bsm_tensor *t, const char *name,
                          bsm_tensor **out) {
  bsm_ivalue v;
  BSM_TRY(invert(cx, t, name, SINGULAR_FAILS, &v, NULL));
  *out = v.u.tensor;
  return BSM_OK;
}

bsm_status bsm_la_inverse_or_infinity(bsm_op_ctx *cx, const bsm_tensor *t,
                                      const char *name, bsm_tensor **out) {
  bsm_ivalue v;
  BSM_TRY(invert(cx, t, name, SINGULAR_IS_INFINITE, &v, NULL));
  *out = v.u.tensor;
  return BSM_OK;
}

/* linalg_inv(A), inverse(self) */
static bsm_status op_inverse(OP_PARAMS) {
  (void)self;
  return invert(cx, op_tensor(&args[0]), "linalg.inv", SINGULAR_FAILS, &outs[0],
                NULL);
}

/* linalg_inv_ex(A, *, check_errors) -> (inverse, info) */
static bsm_status op_inverse_ex(OP_PARAMS) {
  (void)self;
  return invert(cx, op_tensor(&args[0]), "linalg.inv",
                op_bool(&args[1]) ? SINGULAR_FAILS : SINGULAR_STAYS, &outs[0],
                &outs[1]);
}

/* inverse(A) B, or B inverse(A) when not `left`; B may be a vector. */
static bsm_status solve(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b, bool left,
                        bool check, bsm_ivalue *outs, bool with_info) {
  static const char name[] = "linalg.solve";
  lu_factors f = {0};
  BSM_TRY(bsm_la_squares(a, name, &f.d));
  if (a->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: Expected A and B to have the same dtype, but found A "
                    "of type %s and B of type %s instead",
                    name, bsm_op_type_name(a->dtype),
                    bsm_op_type_name(b->dtype));
  }
  bsm_dims rows = a->sizes;
  rows.rank--;
  const bool vector = b->sizes.rank == 1 || bsm_dims_equal(rows, b->sizes);
  if (vector) BSM_TRY(bsm_op_unsqueeze(cx, b, b->sizes.rank, &b));
  bsm_matrices d;
  BSM_TRY(bsm_la_matrices(b, name, &d));
  if (vector && !left) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: Vector broadcasting of the left hand side is not "
                    "supported for left=False.",
                    name);
  }
  if (!left) { /* X A = B: A^T X^T = B^T */
    BSM_TRY(bsm_op_transpose(cx, a, a->sizes.rank - 1, a->sizes.rank - 2, &a));
    BSM_TRY(bsm_op_transpose(cx, b, b->sizes.rank - 1, b->sizes.rank - 2, &b));
    const int64_t m = d.m;
    d.m = d.n;
    d.n = m;
  }
  const int64_t n = f.d.n, k = d.n;
  if (d.m != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: Incompatible shapes of A and B for the equation AX = "
                    "B (%s and %s)",
                    name, bsm_dims_str(a->sizes), bsm_dims_str(b->sizes));
  }
  bsm_dims outer;
  BSM_TRY(bsm_op_broadcast(f.d.outer, d.outer, &outer));
  bsm_c128 *x = NULL;
  if (!cx->meta) {
    int64_t batch = 1;
    for (int32_t i = 0; i < outer.rank; i++) batch *= outer.d[i];
    BSM_TRY(factor_lu(cx, a, outer, &f));
    if (check) {
      BSM_TRY(check_infos(f.infos, batch,
                          "torch.linalg.solve: The solver failed because the "
                          "input matrix is singular."));
    }
    BSM_TRY(bsm_la_load(cx, b, outer, &x));
    for (int64_t i = 0; i < batch; i++) {
      bsm_la_lu_solve(f.lu + i * n * n, n, f.pivots + i * n, x + i * n * k, k);
    }
  }
  BSM_TRY(bsm_la_store(cx, a->dtype, bsm_la_shape(outer, n, vector ? -1 : k), x,
                       &outs[0]));
  if (with_info) BSM_TRY(store_ints(cx, f.d.outer, f.infos, 0, &outs[1]));
  if (left) return BSM_OK;
  bsm_tensor *t = outs[0].u.tensor;
  BSM_TRY(bsm_op_transpose(cx, t, t->sizes.rank - 1, t->sizes.rank - 2, &t));
  return op_return(outs, t);
}

/* linalg_solve(A, B, *, left) */
static bsm_status op_solve(OP_PARAMS) {
  (void)self;
  return solve(cx, op_tensor(&args[0]), op_tensor(&args[1]), op_bool(&args[2]),
               true, outs, false);
}

/* linalg_solve_ex(A, B, *, left, check_errors) -> (result, info) */
static bsm_status op_solve_ex(OP_PARAMS) {
  (void)self;
  return solve(cx, op_tensor(&args[0]), op_tensor(&args[1]), op_bool(&args[2]),
               op_bool(&args[3]), outs, true);
}

enum { DET_DET, DET_SIGN_LOG, DET_LOG, DET_FACTORS = 8 };

/* The product of the diagonal of U, with the sign of the exchanges; or its sign
 * and the logarithm of its size. */
static void determinant(const bsm_c128 *lu, int64_t n, const int64_t *pivots,
                        bsm_c128 *det, bsm_c128 *sign, double *logarithm) {
  *det = *sign = (bsm_c128){1.0, 0.0};
  *logarithm = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const bsm_c128 u = lu[i * n + i];
    if (pivots[i] != i) {
      *det = bsm_c_neg_of(*det);
      *sign = bsm_c_neg_of(*sign);
    }
    *det = bsm_c_mul(*det, u);
    *sign = bsm_c_mul(*sign, bsm_c_sgn_of(u));
    *logarithm += log(bsm_c_abs(u));
  }
}

/* The factors themselves as results, of the forms with an underscore. For
 * determinants PyTorch factors the transpose of a contiguous real matrix. */
static bsm_status with_factors(bsm_op_ctx *cx, bsm_tensor *t, bool det,
                               bsm_ivalue *outs) {
  lu_factors f = {0};
  BSM_TRY(bsm_la_squares(t, "linalg", &f.d));
  const bsm_dims shape = t->sizes;
  const bool turned =
      det && bsm_tensor_is_contiguous(t) && !bsm_dtype_is_complex(t->dtype);
  if (turned) {
    BSM_TRY(bsm_op_transpose(cx, t, shape.rank - 2, shape.rank - 1, &t));
  }
  if (!cx->meta) BSM_TRY(factor_lu(cx, t, f.d.outer, &f));
  BSM_TRY(bsm_la_store(cx, t->dtype, shape, f.lu, &outs[0]));
  return store_ints(cx, bsm_la_shape(f.d.outer, f.d.n, -1), f.pivots, 1,
                    &outs[1]);
}

/* det(A), slogdet(A), logdet(A); _linalg_det(A) -> (det, LU, pivots) and
 * _linalg_slogdet(A) -> (sign, logabsdet, LU, pivots) */
static bsm_status op_det(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  const int32_t variant = self->variant & ~DET_FACTORS;
  lu_factors f = {0};
  bsm_c128 *det = NULL, *sign = NULL, *logs = NULL;
  BSM_TRY(bsm_la_squares(t, "linalg.det", &f.d));
  const int64_t n = f.d.n;
  const bool real = !bsm_dtype_is_complex(t->dtype);
  if (!cx->meta) {
    BSM_TRY(factor_lu(cx, t, f.d.outer, &f));
    BSM_TRY(bsm_la_new(cx, f.d.batch, 1, 1, &det));
    BSM_TRY(bsm_la_new(cx, f.d.batch, 1, 1, &sign));
    BSM_TRY(bsm_la_new(cx, f.d.batch, 1, 1, &logs));
    for (int64_t b = 0; b < f.d.batch; b++) {
      determinant(f.lu + b * n * n, n, f.pivots + b * n, &det[b], &sign[b],
                  &logs[b].re);
      if (variant != DET_LOG) continue;
      if (real && sign[b].re < 0.0) logs[b].re = NAN;
      if (!real) logs[b].im = atan2(sign[b].im, sign[b].re);
    }
  }
  const bsm_dtype value = bsm_dtype_value_type(t->dtype);
  if (self->variant & DET_FACTORS) {
    BSM_TRY(with_factors(cx, t, true, &outs[variant == DET_DET ? 1 : 2]));
  }
  switch (variant) {
    case DET_SIGN_LOG:
      BSM_TRY(bsm_la_store(cx, t->dtype, f.d.outer, sign, &outs[0]));
      return bsm_la_store(cx, value, f.d.outer, logs, &outs[1]);
    case DET_LOG:
      return bsm_la_store(cx, t->dtype, f.d.outer, logs, &outs[0]);
    default:
      return bsm_la_store(cx, t->dtype, f.d.outer, det, &outs[0]);
  }
}

static bsm_status need_pivot(const bsm_ivalue *pivot) {
  if (op_bool(pivot)) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "linalg.lu_factor: LU without pivoting is not implemented on "
                  "the CPU");
}

/* linalg_lu_factor(A, *, pivot), and _ex(A, *, pivot, check_errors) */
static bsm_status op_lu_factor(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  lu_factors f = {0};
  BSM_TRY(bsm_la_matrices(t, "torch.linalg.lu_factor", &f.d));
  BSM_TRY(need_pivot(&args[1]));
  if (!cx->meta) {
    BSM_TRY(factor_lu(cx, t, f.d.outer, &f));
    if (!self->variant || op_bool(&args[2])) {
      BSM_TRY(check_infos(f.infos, f.d.batch,
                          "torch.linalg.lu_factor: U is singular, and using it "
                          "on lu_solve would result in a division by zero"));
    }
  }
  BSM_TRY(bsm_la_store(cx, t->dtype, t->sizes, f.lu, &outs[0]));
  BSM_TRY(store_ints(cx, bsm_la_shape(f.d.outer, lesser(f.d.m, f.d.n), -1),
                     f.pivots, 1, &outs[1]));
  if (!self->variant) return BSM_OK;
  return store_ints(cx, f.d.outer, f.infos, 0, &outs[2]);
}

/* P [m, m], L [m, k] and U [k, n] of packed factors. */
static bsm_status unpack(bsm_op_ctx *cx, bsm_dtype dtype, const lu_factors *f,
                         bool data, bool pivots, bsm_ivalue *outs) {
  const int64_t m = f->d.m, n = f->d.n, k = lesser(m, n), count = f->d.batch;
  bsm_c128 *p = NULL, *l = NULL, *u = NULL;
  const bsm_dims none = op_dims1(0);
  if (!cx->meta) {
    BSM_TRY(bsm_la_new(cx, count, m, m, &p));
    BSM_TRY(bsm_la_new(cx, count, m, k, &l));
    BSM_TRY(bsm_la_new(cx, count, k, n, &u));
  }
  for (int64_t b = 0; b < count && !cx->meta; b++) {
    const bsm_c128 *lu = f->lu + b * m * n;
    for (int64_t i = 0; i < m; i++) {
      p[b * m * m + i * m + i].re = 1.0;
      for (int64_t j = 0; j < k; j++) {
        l[(b * m + i) * k + j] = j < i    ? lu[i * n + j]
                                 : i == j ? (bsm_c128){1.0, 0.0}
                                          : (bsm_c128){0.0, 0.0};
      }
      for (int64_t j = i; j < n && i < k; j++) {
        u[(b * k + i) * n + j] = lu[i * n + j];
      }
    }
    if (f->pivots) {
      bsm_la_exchange(p + b * m * m, m, f->pivots + b * k, k, true);
    }
  }
  BSM_TRY(bsm_la_store(cx, dtype,
                       pivots ? bsm_la_shape(f->d.outer, m, m) : none,
                       pivots ? p : NULL, &outs[0]));
  BSM_TRY(bsm_la_store(cx, dtype, data ? bsm_la_shape(f->d.outer, m, k) : none,
                       data ? l : NULL, &outs[1]));
  return bsm_la_store(cx, dtype, data ? bsm_la_shape(f->d.outer, k, n) : none,
                      data ? u : NULL, &outs[2]);
}

/* linalg_lu(A, *, pivot) -> (P, L, U) */
static bsm_status op_lu(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  lu_factors f = {0};
  BSM_TRY(bsm_la_matrices(t, "torch.linalg.lu", &f.d));
  BSM_TRY(need_pivot(&args[1]));
  if (!cx->meta) BSM_TRY(factor_lu(cx, t, f.d.outer, &f));
  return unpack(cx, t->dtype, &f, true, true, outs);
}

/* Pivots as rows from 0, within [0, rows). */
static bsm_status load_pivots(bsm_op_ctx *cx, const bsm_tensor *t, int64_t rows,
                              int64_t **out) {
  const int64_t n = bsm_tensor_numel(t);
  if (t->dtype != BSM_DTYPE_INT32) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.lu_unpack: pivots are expected to be of dtype "
                    "torch.int32");
  }
  BSM_TRY(new_ints(cx, n, out));
  for (int64_t i = 0; i < n; i++) {
    (*out)[i] = bsm_tensor_get_int(t, i) - 1;
    if ((*out)[i] < 0 || (*out)[i] >= rows) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "pivots passed to lu_unpack must be between 1 and the "
                      "number of rows (%lld)",
                      (long long)rows);
    }
  }
  return BSM_OK;
}

/* Factors given as tensors, as lu_factor returns them. */
static bsm_status read_factors(bsm_op_ctx *cx, const bsm_tensor *lu,
                               const bsm_tensor *pivots, const char *name,
                               lu_factors *f) {
  BSM_TRY(bsm_la_matrices(lu, name, &f->d));
  const bsm_dims want = bsm_la_shape(f->d.outer, lesser(f->d.m, f->d.n), -1);
  if (!bsm_dims_equal(want, pivots->sizes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s: pivots of shape %s for LU of %s",
                    name, bsm_dims_str(pivots->sizes), bsm_dims_str(lu->sizes));
  }
  if (cx->meta) return BSM_OK;
  BSM_TRY(load_pivots(cx, pivots, f->d.m, &f->pivots));
  return bsm_la_load(cx, lu, f->d.outer, &f->lu);
}

/* lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots) -> (P, L, U) */
static bsm_status op_lu_unpack(OP_PARAMS) {
  (void)self;
  lu_factors f = {0};
  bsm_tensor *t = op_tensor(&args[0]);
  BSM_TRY(read_factors(cx, t, op_tensor(&args[1]), "torch.lu_unpack", &f));
  return unpack(cx, t->dtype, &f, op_bool(&args[2]), op_bool(&args[3]), outs);
}

/* linalg_lu_solve(LU, pivots, B, *, left, adjoint); lu_solve(B, LU, pivots) */
static bsm_status op_lu_solve(OP_PARAMS) {
  const bool old = self->variant != 0;
  bsm_tensor *lu = op_tensor(&args[old ? 1 : 0]);
  bsm_tensor *pivots = op_tensor(&args[old ? 2 : 1]);
  bsm_tensor *b = op_tensor(&args[old ? 0 : 2]);
  lu_factors f = {0};
  bsm_matrices d;
  bsm_dims outer;
  BSM_TRY(read_factors(cx, lu, pivots, "torch.linalg.lu_solve", &f));
  BSM_TRY(bsm_la_matrices(b, "torch.linalg.lu_solve", &d));
  if (!old && (!op_bool(&args[3]) || op_bool(&args[4]))) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "torch.linalg.lu_solve with left=False or adjoint=True");
  }
  if (f.d.m != f.d.n || d.m != f.d.n || lu->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.linalg.lu_solve: LU %s and B %s of %s and %s",
                    bsm_dims_str(lu->sizes), bsm_dims_str(b->sizes),
                    bsm_op_type_name(lu->dtype), bsm_op_type_name(b->dtype));
  }
  BSM_TRY(bsm_op_broadcast(f.d.outer, d.outer, &outer));
  bsm_c128 *x = NULL;
  const int64_t n = d.m, k = d.n;
  if (!cx->meta) {
    int64_t batch = 1;
    for (int32_t i = 0; i < outer.rank; i++) batch *= outer.d[i];
    if (batch != f.d.batch) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "torch.linalg.lu_solve of broadcast factors");
    }
    BSM_TRY(bsm_la_load(cx, b, outer, &x));
    for (int64_t i = 0; i < batch; i++) {
      bsm_la_lu_solve(f.lu + i * n * n, n, f.pivots + i * n, x + i * n * k, k);
    }
  }
  return bsm_la_store(cx, b->dtype, bsm_la_shape(outer, n, k), x, &outs[0]);
}

/* ---- Cholesky ---- */

/* Of the lower triangle, or the upper one, whose adjoint it then returns. */
static bsm_status cholesky(bsm_op_ctx *cx, bsm_tensor *t, bool upper,
                           bool check, bsm_ivalue *outs, bool with_info) {
  bsm_matrices d;
  bsm_c128 *a = NULL;
  int64_t *infos = NULL;
  BSM_TRY(bsm_la_squares(t, "linalg.cholesky", &d));
  const int64_t n = d.n;
  const bsm_dims shape = t->sizes;
  const bsm_dtype dtype = t->dtype;
  if (!cx->meta) {
    if (upper) {
      BSM_TRY(
          bsm_op_transpose(cx, t, t->sizes.rank - 1, t->sizes.rank - 2, &t));
      BSM_TRY(bsm_op_conj(cx, t, &t));
    }
    BSM_TRY(bsm_la_load(cx, t, d.outer, &a));
    BSM_TRY(new_ints(cx, d.batch, &infos));
    for (int64_t b = 0; b < d.batch; b++) {
      infos[b] = bsm_la_cholesky(a + b * n * n, n);
    }
    if (check) {
      BSM_TRY(check_infos(infos, d.batch,
                          "linalg.cholesky: The factorization could not be "
                          "completed because the input is not "
                          "positive-definite"));
    }
  }
  if (with_info) BSM_TRY(store_ints(cx, d.outer, infos, 0, &outs[1]));
  BSM_TRY(bsm_la_store(cx, dtype, shape, a, &outs[0]));
  if (!upper) return BSM_OK;
  bsm_tensor *l = outs[0].u.tensor;
  BSM_TRY(bsm_op_transpose(cx, l, shape.rank - 1, shape.rank - 2, &l));
  BSM_TRY(bsm_op_conj(cx, l, &l));
  return op_return(outs, l);
}

/* cholesky(self, upper), linalg_cholesky(self, *, upper) */
static bsm_status op_cholesky(OP_PARAMS) {
  (void)self;
  return cholesky(cx, op_tensor(&args[0]), op_bool(&args[1]), true, outs,
                  false);
}

static bsm_status op_cholesky_ex(OP_PARAMS) {
  (void)self;
  return cholesky(cx, op_tensor(&args[0]), op_bool(&args[1]), op_bool(&args[2]),
                  outs, true);
}

/* Solves L L^H X = B in place; the factor as it is, lower or upper. */
static bsm_status solve_cholesky(bsm_op_ctx *cx, const bsm_c128 *factor,
                                 int64_t n, bsm_c128 *b, int64_t k,
                                 bool upper) {
  bsm_c128 *other;
  BSM_TRY(bsm_la_new(cx, n, n, 1, &other));
  bsm_la_adjoint(factor, other, n, n);
  const bsm_c128 *lower = upper ? other : factor;
  bsm_la_triangular(lower, n, b, k, false, false);
  bsm_la_triangular(upper ? factor : other, n, b, k, true, false);
  return BSM_OK;
}

/* cholesky_solve(self, input2, upper); cholesky_inverse(self, upper) */
static bsm_status op_cholesky_solve(OP_PARAMS) {
  static const char name[] = "cholesky_solve";
  const bool inverse = self->variant != 0;
  bsm_tensor *l = op_tensor(&args[inverse ? 0 : 1]);
  bsm_tensor *b = inverse ? l : op_tensor(&args[0]);
  const bool upper = op_bool(&args[inverse ? 1 : 2]);
  bsm_matrices d, e;
  bsm_dims outer;
  BSM_TRY(bsm_la_squares(l, name, &d));
  BSM_TRY(bsm_la_matrices(b, name, &e));
  if (e.m != d.n || l->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Incompatible matrix sizes for %s: each A matrix is %lld "
                    "by %lld but each b matrix is %lld by %lld",
                    name, (long long)d.n, (long long)d.n, (long long)e.m,
                    (long long)e.n);
  }
  BSM_TRY(bsm_op_broadcast(d.outer, e.outer, &outer));
  const int64_t n = d.n, k = e.n;
  bsm_c128 *x = NULL, *factors;
  if (!cx->meta) {
    int64_t batch = 1;
    for (int32_t i = 0; i < outer.rank; i++) batch *= outer.d[i];
    BSM_TRY(bsm_la_load(cx, l, outer, &factors));
    BSM_TRY(bsm_la_load(cx, b, outer, &x));
    for (int64_t i = 0; i < batch * n * n && inverse; i++) {
      x[i] = (bsm_c128){i % (n * n) / n == i % n ? 1.0 : 0.0, 0.0};
    }
    for (int64_t i = 0; i < batch; i++) {
      BSM_TRY(
          solve_cholesky(cx, factors + i * n * n, n, x + i * n * k, k, upper));
    }
  }
  return bsm_la_store(cx, b->dtype, bsm_la_shape(outer, n, k), x, &outs[0]);
}

/* ---- triangles ---- */

typedef struct triangle {
  bool upper, left, unit;
} triangle;

static bsm_status solve_triangular(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                                   triangle how, bsm_ivalue *out) {
  static const char name[] = "linalg.solve_triangular";
  bsm_matrices d, e;
  bsm_dims outer;
  BSM_TRY(bsm_la_squares(a, name, &d));
  BSM_TRY(bsm_la_matrices(b, name, &e));
  if (!how.left) { /* X A = B: A^T X^T = B^T */
    bsm_ivalue v;
    bsm_tensor *t;
    BSM_TRY(bsm_op_transpose(cx, a, a->sizes.rank - 1, a->sizes.rank - 2, &a));
    BSM_TRY(bsm_op_transpose(cx, b, b->sizes.rank - 1, b->sizes.rank - 2, &b));
    BSM_TRY(
        solve_triangular(cx, a, b, (triangle){!how.upper, true, how.unit}, &v));
    t = v.u.tensor;
    BSM_TRY(bsm_op_transpose(cx, t, t->sizes.rank - 1, t->sizes.rank - 2, &t));
    *out = bsm_iv_tensor(t);
    return BSM_OK;
  }
  if (a->dtype != b->dtype || d.n != e.m) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: Incompatible A and B (%s %s and %s %s)", name,
                    bsm_op_type_name(a->dtype), bsm_dims_str(a->sizes),
                    bsm_op_type_name(b->dtype), bsm_dims_str(b->sizes));
  }
  BSM_TRY(bsm_op_broadcast(d.outer, e.outer, &outer));
  const int64_t n = d.n, k = e.n;
  bsm_c128 *x = NULL, *triangles;
  if (!cx->meta) {
    int64_t batch = 1;
    for (int32_t i = 0; i < outer.rank; i++) batch *= outer.d[i];
    BSM_TRY(bsm_la_load(cx, a, outer, &triangles));
    BSM_TRY(bsm_la_load(cx, b, outer, &x));
    for (int64_t i = 0; i < batch; i++) {
      bsm_la_triangular(triangles + i * n * n, n, x + i * n * k, k, how.upper,
                        how.unit);
    }
  }
  return bsm_la_store(cx, b->dtype, bsm_la_shape(outer, n, k), x, out);
}

/* linalg_solve_triangular(self, B, *, upper, left, unitriangular) */
static bsm_status op_solve_triangular(OP_PARAMS) {
  (void)self;
  return solve_triangular(
      cx, op_tensor(&args[0]), op_tensor(&args[1]),
      (triangle){op_bool(&args[2]), op_bool(&args[3]), op_bool(&args[4])},
      &outs[0]);
}

/* triangular_solve(self, A, upper, transpose, unitriangular) -> (X, A) */
static bsm_status op_triangular_solve(OP_PARAMS) {
  (void)self;
  bsm_tensor *b = op_tensor(&args[0]), *a = op_tensor(&args[1]), *copy;
  bool upper = op_bool(&args[2]);
  bsm_matrices d;
  BSM_TRY(bsm_la_squares(a, "triangular_solve", &d));
  BSM_TRY(bsm_tensor_clone(cx->arena, a, &copy));
  if (op_bool(&args[3])) {
    BSM_TRY(bsm_op_transpose(cx, a, a->sizes.rank - 1, a->sizes.rank - 2, &a));
    upper = !upper;
  }
  BSM_TRY(solve_triangular(cx, a, b, (triangle){upper, true, op_bool(&args[4])},
                           &outs[0]));
  bsm_dims shape = outs[0].u.tensor->sizes;
  shape.d[shape.rank - 1] = d.n;
  BSM_TRY(bsm_op_expand(cx, copy, shape, &copy));
  BSM_TRY(bsm_tensor_clone(cx->arena, copy, &copy));
  outs[1] = bsm_iv_tensor(copy);
  return BSM_OK;
}

/* ---- QR ---- */

/* _linalg_solve_ex(A, B, *, left, check_errors) -> (result, LU, pivots, info)
 */
static bsm_status op_solve_factors(OP_PARAMS) {
  (void)self;
  bsm_ivalue solved[2];
  bsm_tensor *a = op_tensor(&args[0]);
  BSM_TRY(solve(cx, a, op_tensor(&args[1]), op_bool(&args[2]),
                op_bool(&args[3]), solved, true));
  BSM_TRY(with_factors(cx, a, false, &outs[1]));
  outs[0] = solved[0];
  outs[3] = solved[1];
  return BSM_OK;
}

enum { QR_REDUCED, QR_COMPLETE, QR_R };

static bsm_status qr(bsm_op_ctx *cx, const bsm_tensor *t, int mode,
                     bsm_ivalue *outs) {
  bsm_matrices d;
  BSM_TRY(bsm_la_matrices(t, "linalg.qr", &d));
  const int64_t m = d.m, n = d.n, k = lesser(m, n);
  const int64_t columns = mode == QR_COMPLETE ? m : k;
  bsm_c128 *a = NULL, *q = NULL, *r = NULL, *tau;
  if (!cx->meta) {
    BSM_TRY(bsm_la_load(cx, t, d.outer, &a));
    BSM_TRY(bsm_op_charge(cx, d.batch * m, columns, 4 * k));
    BSM_TRY(bsm_la_new(cx, d.batch, m, columns, &q));
    BSM_TRY(bsm_la_new(cx, d.batch, columns, n, &r));
    BSM_TRY(bsm_la_new(cx, k, 1, 1, &tau));
    for (int64_t b = 0; b < d.batch; b++) {
      bsm_c128 *x = a + b * m * n;
      bsm_la_qr(x, m, n, tau);
      bsm_la_form_q(x, m, n, k, tau, q + b * m * columns, columns);
      for (int64_t i = 0; i < k; i++) {
        for (int64_t j = i; j < n; j++) {
          r[(b * columns + i) * n + j] = x[i * n + j];
        }
      }
    }
  }
  const bool without = mode == QR_R;
  BSM_TRY(bsm_la_store(
      cx, t->dtype, without ? op_dims1(0) : bsm_la_shape(d.outer, m, columns),
      without ? NULL : q, &outs[0]));
  return bsm_la_store(cx, t->dtype, bsm_la_shape(d.outer, columns, n), r,
                      &outs[1]);
}

/* linalg_qr(A, mode), qr(self, some) */
static bsm_status op_qr(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  if (self->variant) {
    return qr(cx, t, op_bool(&args[1]) ? QR_REDUCED : QR_COMPLETE, outs);
  }
  static const char *const modes[] = {"reduced", "complete", "r"};
  const bsm_str mode = op_str(&args[1]);
  for (int i = 0; i < 3; i++) {
    if (bsm_str_eq(mode, bsm_str_of(modes[i]))) return qr(cx, t, i, outs);
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "qr received unrecognized mode '%.*s' but expected one of "
                  "'reduced' (default), 'r', or 'complete'",
                  (int)mode.len, mode.data);
}

/* linalg_householder_product(input, tau): the first columns of Q. */
static bsm_status op_householder_product(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *tau = op_tensor(&args[1]);
  bsm_matrices d;
  BSM_TRY(bsm_la_matrices(t, "torch.linalg.householder_product", &d));
  const int32_t last = tau->sizes.rank - 1;
  const int64_t k = last >= 0 ? tau->sizes.d[last] : 0, m = d.m, n = d.n;
  if (last < 0 || m < n || n < k || tau->dtype != t->dtype ||
      !bsm_dims_equal(bsm_la_shape(d.outer, k, -1), tau->sizes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.linalg.householder_product: input %s and tau %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(tau->sizes));
  }
  bsm_c128 *q = NULL, *a;
  if (!cx->meta) {
    const bsm_c128 *scales = bsm_op_load_complex(cx, tau);
    BSM_TRY_ALLOC(scales);
    BSM_TRY(bsm_la_load(cx, t, d.outer, &a));
    BSM_TRY(bsm_la_new(cx, d.batch, m, n, &q));
    for (int64_t b = 0; b < d.batch; b++) {
      bsm_la_form_q(a + b * m * n, m, n, k, scales + b * k, q + b * m * n, n);
    }
  }
  return bsm_la_store(cx, t->dtype, t->sizes, q, &outs[0]);
}

static const bsm_aten_op rows[] = {
    OP("aten::linalg_inv(Tensor A) -> Tensor", op_inverse, 0, 0),
    OP("aten::inverse(Tensor self) -> Tensor", op_inverse, 0, 0),
    OP("aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor "
       "inverse, Tensor info)",
       op_inverse_ex, 0, 0),
    OP("aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
       op_solve, 0, 0),
    OP("aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool "
       "check_errors=False) -> (Tensor result, Tensor info)",
       op_solve_ex, 0, 0),
    OP("aten::linalg_det(Tensor A) -> Tensor", op_det, DET_DET, 0),
    OP("aten::det(Tensor self) -> Tensor", op_det, DET_DET, 0),
    OP("aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
       op_det, DET_SIGN_LOG, 0),
    OP("aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", op_det,
       DET_SIGN_LOG, 0),
    OP("aten::logdet(Tensor self) -> Tensor", op_det, DET_LOG, 0),
    OP("aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, "
       "Tensor pivots)",
       op_lu_factor, 0, 0),
    OP("aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool "
       "check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
       op_lu_factor, 1, 0),
    OP("aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, "
       "Tensor U)",
       op_lu, 0, 0),
    OP("aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool "
       "unpack_data=True, "
       "bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
       op_lu_unpack, 0, 0),
    OP("aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool "
       "left=True, bool adjoint=False) -> Tensor",
       op_lu_solve, 0, 0),
    OP("aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> "
       "Tensor",
       op_lu_solve, 1, 0),
    OP("aten::cholesky(Tensor self, bool upper=False) -> Tensor", op_cholesky,
       0, 0),
    OP("aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
       op_cholesky, 0, 0),
    OP("aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool "
       "check_errors=False) -> (Tensor L, Tensor info)",
       op_cholesky_ex, 0, 0),
    OP("aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> "
       "Tensor",
       op_cholesky_solve, 0, 0),
    OP("aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
       op_cholesky_solve, 1, 0),
    OP("aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, "
       "bool "
       "left=True, bool unitriangular=False) -> Tensor",
       op_solve_triangular, 0, 0),
    OP("aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool "
       "transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor "
       "cloned_coefficient)",
       op_triangular_solve, 0, 0),
    OP("aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor "
       "R)",
       op_qr, 0, 0),
    OP("aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", op_qr,
       1, 0),
    OP("aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
       op_householder_product, 0, 0),
    OP("aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor "
       "pivots)",
       op_det, DET_FACTORS | DET_DET, 0),
    OP("aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, "
       "Tensor LU, Tensor pivots)",
       op_det, DET_FACTORS | DET_SIGN_LOG, 0),
    OP("aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool "
       "check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, "
       "Tensor "
       "info)",
       op_solve_factors, 0, 0),
};
BSM_ATEN_TABLE(linalg, rows);
