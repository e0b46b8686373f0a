/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. Sums are in double (int64 for integers), rounded once. */
#include "aten/packed/aten_matmul.h"
#include "aten/complex_math.h"

/* ---- the product of two batches of matrices ---- */

/* c[m][n] += a[m][k] b[k][n]; four rows at a time share the reads of b. */
static void gemm_f64(const double *a, const double *b, double *c, size_t m,
                     size_t k, size_t n) {
  size_t i = 0;
  for (; i + 4 <= m; i += 4) {
    double *c0 = c + i * n, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
    for (size_t p = 0; p < k; p++) {
      const double a0 = a[i * k + p], a1 = a[(i + 1) * k + p],
                   a2 = a[(i + 2) * k + p], a3 = a[(i + 3) * k + p];
      const double *row = b + p * n;
      for (size_t j = 0; j < n; j++) {
        c0[j] += a0 * row[j];
        c1[j] += a1 * row[j];
        c2[j] += a2 * row[j];
        c3[j] += a3 * row[j];
      }
    }
  }
  for (; i < m; i++) {
    for (size_t p = 0; p < k; p++) {
      const double x = a[i * k + p];
      for (size_t j = 0; j < n; j++) c[i * n + j] += x * b[p * n + j];
    }
  }
}

/* The same for complex numbers, without the sharing. */
static void gemm_c128(const bsm_c128 *a, const bsm_c128 *b, bsm_c128 *c,
                      size_t m, size_t k, size_t n) {
  for (size_t i = 0; i < m; i++) {
    for (size_t p = 0; p < k; p++) {
      const bsm_c128 x = a[i * k + p];
      for (size_t j = 0; j < n; j++) {
        c[i * n + j] = bsm_c_add(c[i * n + j], bsm_c_mul(x, b[p * n + j]));
      }
    }
  }
}

static bsm_status complex_product(bsm_op_ctx *cx, const bsm_tensor *a,
                                  const bsm_tensor *b, const bsm_tensor *out) {
  const size_t batch = (size_t)a->sizes.d[0], m = (size_t)a->sizes.d[1],
               k = (size_t)a->sizes.d[2], n = (size_t)b->sizes.d[2];
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const bsm_c128 *x = bsm_op_load_complex(cx, a),
                 *y = bsm_op_load_complex(cx, b);
  bsm_c128 *z = BSM_NEW_ARRAY(cx->arena, bsm_c128, batch * m * n);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  BSM_TRY_ALLOC(z);
  for (size_t i = 0; i < batch; i++) {
    gemm_c128(x + i * m * k, y + i * k * n, z + i * m * n, m, k, n);
  }
  bsm_op_store_complex(out, z);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

/* The same for integers, which wrap. */
static void gemm_i64(const int64_t *a, const int64_t *b, int64_t *c, size_t m,
                     size_t k, size_t n) {
  for (size_t i = 0; i < m; i++) {
    for (size_t p = 0; p < k; p++) {
      const uint64_t x = (uint64_t)a[i * k + p];
      for (size_t j = 0; j < n; j++) {
        c[i * n + j] =
            (int64_t)((uint64_t)c[i * n + j] + x * (uint64_t)b[p * n + j]);
      }
    }
  }
}

static bsm_status integer_product(bsm_op_ctx *cx, const bsm_tensor *a,
                                  const bsm_tensor *b, const bsm_tensor *out) {
  const size_t batch = (size_t)a->sizes.d[0], m = (size_t)a->sizes.d[1],
               k = (size_t)a->sizes.d[2], n = (size_t)b->sizes.d[2];
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const int64_t *x = bsm_op_load_ints(cx, a), *y = bsm_op_load_ints(cx, b);
  int64_t *z = BSM_NEW_ARRAY(cx->arena, int64_t, batch * m * n);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  BSM_TRY_ALLOC(z);
  for (size_t i = 0; i < batch; i++) {
    gemm_i64(x + i * m * k, y + i * k * n, z + i * m * n, m, k, n);
  }
  bsm_op_store_ints(out, z);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

/* [batch, m, k] x [batch, k, n]; batches may be broadcast views. */
static bsm_status batch_product(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                                bsm_tensor **out) {
  const int64_t batch = a->sizes.d[0], m = a->sizes.d[1], k = a->sizes.d[2],
                n = b->sizes.d[2];
  BSM_TRY(bsm_op_number(a));
  if (a->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected m1 and m2 to have the same dtype, but got: %s != "
                    "%s",
                    bsm_op_type_name(a->dtype), bsm_op_type_name(b->dtype));
  }
  if (a->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"addmm_impl_cpu_\" not implemented for 'Bool'");
  }
  BSM_TRY(bsm_op_new(cx, a->dtype, op_dims3(batch, m, n), out));
  if (cx->meta || bsm_tensor_numel(*out) == 0 || k == 0) return BSM_OK;
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(*out), k,
                        bsm_dtype_is_complex(a->dtype) ? 4 : 1));
  if (bsm_dtype_is_integral(a->dtype, true)) {
    return integer_product(cx, a, b, *out);
  }
  if (bsm_dtype_is_complex(a->dtype)) return complex_product(cx, a, b, *out);
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const double *x = bsm_op_load_all(cx, a), *y = bsm_op_load_all(cx, b);
  double *z = BSM_NEW_ARRAY(cx->arena, double, (size_t)(batch * m * n));
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  BSM_TRY_ALLOC(z);
  for (int64_t i = 0; i < batch; i++) {
    gemm_f64(x + i * m * k, y + i * k * n, z + i * m * n, (size_t)m, (size_t)k,
             (size_t)n);
  }
  bsm_op_store_all(*out, z);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static bsm_status need_rank(const bsm_tensor *t, int32_t rank,
                            const char *what) {
  if (t->sizes.rank == rank) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s: expected %dD tensor, got %dD",
                  what, (int)rank, (int)t->sizes.rank);
}

static bsm_status bmm(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                      bsm_tensor **out) {
  BSM_TRY(need_rank(a, 3, "batch1 must be a 3D tensor"));
  BSM_TRY(need_rank(b, 3, "batch2 must be a 3D tensor"));
  if (a->sizes.d[0] != b->sizes.d[0] || a->sizes.d[2] != b->sizes.d[1]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected size for first two dimensions of batch2 tensor "
                    "to be: [%lld, %lld] but got: [%lld, %lld].",
                    (long long)a->sizes.d[0], (long long)a->sizes.d[2],
                    (long long)b->sizes.d[0], (long long)b->sizes.d[1]);
  }
  return batch_product(cx, a, b, out);
}

static bsm_status mm(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                     bsm_tensor **out) {
  BSM_TRY(need_rank(a, 2, "self must be a matrix"));
  BSM_TRY(need_rank(b, 2, "mat2 must be a matrix"));
  if (a->sizes.d[1] != b->sizes.d[0]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and "
                    "%lldx%lld)",
                    (long long)a->sizes.d[0], (long long)a->sizes.d[1],
                    (long long)b->sizes.d[0], (long long)b->sizes.d[1]);
  }
  const bsm_dims shape = op_dims2(a->sizes.d[0], b->sizes.d[1]);
  BSM_TRY(bsm_op_unsqueeze(cx, a, 0, &a));
  BSM_TRY(bsm_op_unsqueeze(cx, b, 0, &b));
  BSM_TRY(batch_product(cx, a, b, out));
  return bsm_op_reshape(cx, *out, shape, out);
}

/* torch.matmul: vectors become matrices, batches broadcast. */
bsm_status bsm_op_matmul(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                         bsm_tensor **out) {
  const int32_t ra = a->sizes.rank, rb = b->sizes.rank;
  if (ra == 0 || rb == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "both arguments to matmul need to be at least 1D, but they "
                    "are %dD and %dD",
                    (int)ra, (int)rb);
  }
  if (ra == 1) BSM_TRY(bsm_op_unsqueeze(cx, a, 0, &a));
  if (rb == 1) BSM_TRY(bsm_op_unsqueeze(cx, b, 1, &b));
  const int64_t m = a->sizes.d[a->sizes.rank - 2],
                k = a->sizes.d[a->sizes.rank - 1],
                n = b->sizes.d[b->sizes.rank - 1];
  if (k != b->sizes.d[b->sizes.rank - 2]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and "
                    "%lldx%lld)",
                    (long long)m, (long long)k,
                    (long long)b->sizes.d[b->sizes.rank - 2], (long long)n);
  }
  bsm_dims batch_a = a->sizes, batch_b = b->sizes, batch;
  batch_a.rank -= 2;
  batch_b.rank -= 2;
  BSM_TRY(bsm_op_broadcast(batch_a, batch_b, &batch));
  int64_t count;
  if (!bsm_dims_numel(batch, &count)) {
    return BSM_FAIL(BSM_LIMIT, "matmul: too many batches");
  }
  bsm_dims shape = batch;
  if (ra > 1) shape.d[shape.rank++] = m;
  if (rb > 1) shape.d[shape.rank++] = n;
  const bool shared = batch_b.rank == 0; /* one matrix for all batches */
  if (shared) {
    BSM_TRY(bsm_op_reshape(cx, a, op_dims3(1, count * m, k), &a));
    BSM_TRY(bsm_op_unsqueeze(cx, b, 0, &b));
  } else {
    bsm_dims da = batch, db = batch;
    da.d[da.rank++] = m;
    da.d[da.rank++] = k;
    db.d[db.rank++] = k;
    db.d[db.rank++] = n;
    BSM_TRY(bsm_op_expand(cx, a, da, &a));
    BSM_TRY(bsm_op_expand(cx, b, db, &b));
    BSM_TRY(bsm_op_reshape(cx, a, op_dims3(count, m, k), &a));
    BSM_TRY(bsm_op_reshape(cx, b, op_dims3(count, k, n), &b));
  }
  BSM_TRY(batch_product(cx, a, b, out));
  return bsm_op_reshape(cx, *out, shape, out);
}

bsm_status bsm_op_linear(bsm_op_ctx *cx, bsm_tensor *x, bsm_tensor *weight,
                         bsm_tensor *bias, bsm_tensor **out) {
  bsm_tensor *w;
  if (weight->sizes.rank == 0 || weight->sizes.rank > 2 || x->sizes.rank == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "linear(): input %s and weight %s",
                    bsm_dims_str(x->sizes), bsm_dims_str(weight->sizes));
  }
  if (x->dtype != weight->dtype || (bias && bias->dtype != x->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mat1 and mat2 must have the same dtype, but got %s and %s",
                    bsm_op_type_name(x->dtype),
                    bsm_op_type_name(weight->dtype));
  }
  const int32_t rank = weight->sizes.rank;
  if (bias && bias->sizes.rank >= rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "linear(): weight %s and bias %s",
                    bsm_dims_str(weight->sizes), bsm_dims_str(bias->sizes));
  }
  BSM_TRY(bsm_op_transpose(cx, weight, rank - 1, rank > 1 ? 0 : 0, &w));
  BSM_TRY(bsm_op_matmul(cx, x, w, out));
  return bias ? bsm_op_add(cx, *out, bias, 1.0, out) : BSM_OK;
}

enum { MM_MM, MM_BMM, MM_MATMUL, MM_MV, MM_DOT, MM_VDOT };

static bsm_status op_matmul(OP_PARAMS) {
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]), *out;
  switch (self->variant) {
    case MM_MM:
      BSM_TRY(mm(cx, a, b, &out));
      break;
    case MM_BMM:
      BSM_TRY(bmm(cx, a, b, &out));
      break;
    case MM_MV:
      BSM_TRY(need_rank(a, 2, "vector + matrix @ vector"));
      BSM_TRY(need_rank(b, 1, "vector + matrix @ vector"));
      BSM_TRY(bsm_op_matmul(cx, a, b, &out));
      break;
    case MM_VDOT:
      BSM_TRY(bsm_op_conj(cx, a, &a));
      /* fall through */
    case MM_DOT:
      if (a->sizes.rank != 1 || b->sizes.rank != 1) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "1D tensors expected, but got %dD and %dD tensors",
                        (int)a->sizes.rank, (int)b->sizes.rank);
      }
      if (a->sizes.d[0] != b->sizes.d[0]) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "inconsistent tensor size, expected tensor %s and src "
                        "%s to have the same number of elements",
                        bsm_dims_str(a->sizes), bsm_dims_str(b->sizes));
      }
      BSM_TRY(bsm_op_matmul(cx, a, b, &out));
      break;
    default:
      BSM_TRY(bsm_op_matmul(cx, a, b, &out));
  }
  return op_return(outs, out);
}

static bsm_status op_linear(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(bsm_op_linear(cx, op_tensor(&args[0]), op_tensor(&args[1]),
                        op_tensor(&args[2]), &out));
  return op_return(outs, out);
}

/* beta * c + alpha * p, in one rounding; c is not read when beta is 0. */
typedef struct axpy {
  double alpha, beta;
  bsm_c128 calpha, cbeta;
} axpy;

static void f_axpy(double *out, const double *const *in, size_t n,
                   const void *params) {
  const axpy *p = params;
  for (size_t k = 0; k < n; k++) {
    out[k] = p->alpha * in[1][k] + (p->beta == 0.0 ? 0.0 : p->beta * in[0][k]);
  }
}
static void i_axpy(int64_t *out, const int64_t *const *in, size_t n,
                   const void *params) {
  const axpy *p = params;
  const uint64_t alpha = (uint64_t)(int64_t)p->alpha,
                 beta = (uint64_t)(int64_t)p->beta;
  for (size_t k = 0; k < n; k++) {
    out[k] = (int64_t)(alpha * (uint64_t)in[1][k] + beta * (uint64_t)in[0][k]);
  }
}

static void c_axpy(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                   const void *params) {
  const axpy *p = params;
  const bool without = p->cbeta.re == 0.0 && p->cbeta.im == 0.0;
  for (size_t k = 0; k < n; k++) {
    out[k] = bsm_c_mul(p->calpha, in[1][k]);
    if (!without) out[k] = bsm_c_add(out[k], bsm_c_mul(p->cbeta, in[0][k]));
  }
}

static bsm_status combine(bsm_op_ctx *cx, bsm_tensor *c, bsm_tensor *p,
                          const bsm_ivalue *beta, const bsm_ivalue *alpha,
                          bsm_tensor *dst, bsm_tensor **out) {
  const axpy params = {op_double(alpha), op_double(beta), op_complex(alpha),
                       op_complex(beta)};
  const bsm_pointwise pw = {"addmm", f_axpy, i_axpy, 0,
                            &params, 0,      false,  c_axpy};
  bsm_tensor *wide;
  if (c->dtype != p->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "self and mat2 must have the same dtype, but got %s and %s",
                    bsm_op_type_name(c->dtype), bsm_op_type_name(p->dtype));
  }
  BSM_TRY(bsm_op_expand(cx, c, p->sizes, &wide));
  bsm_tensor *in[] = {dst ? dst : wide, p};
  return bsm_op_pointwise(cx, &pw, in, 2, dst, out);
}

enum { ADD_MM, ADD_BADDBMM, ADD_ADDBMM, ADD_MV, ADD_R };

/* Casts tensors to the dtype of all; the first one only where it is not the
 * result, too. */
static bsm_status promote_all(bsm_op_ctx *cx, bool first, bsm_tensor **c,
                              bsm_tensor **a, bsm_tensor **b) {
  bsm_tensor *all[] = {*c, *a, *b};
  const bsm_dtype common = bsm_op_result_type(all, 3);
  if (first) BSM_TRY(bsm_op_cast(cx, *c, common, c));
  BSM_TRY(bsm_op_cast(cx, *a, common, a));
  return bsm_op_cast(cx, *b, common, b);
}

/* addmm(self, mat1, mat2, *, beta, alpha) and its family */
static bsm_status op_addmm(OP_PARAMS) {
  bsm_tensor *c = op_tensor(&args[0]), *a = op_tensor(&args[1]),
             *b = op_tensor(&args[2]), *p, *out;
  switch (self->variant) {
    case ADD_BADDBMM:
      BSM_TRY(bmm(cx, a, b, &p));
      break;
    case ADD_ADDBMM: { /* the sum over the batch: one long k */
      BSM_TRY(need_rank(a, 3, "batch1 must be a 3D tensor"));
      BSM_TRY(need_rank(b, 3, "batch2 must be a 3D tensor"));
      if (a->sizes.d[0] != b->sizes.d[0]) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "batch1 and batch2 must have same number of batches, "
                        "got %lld and %lld",
                        (long long)a->sizes.d[0], (long long)b->sizes.d[0]);
      }
      const int64_t batch = a->sizes.d[0], m = a->sizes.d[1], k = a->sizes.d[2],
                    n = b->sizes.d[2];
      BSM_TRY(bsm_op_transpose(cx, a, 0, 1, &a));
      BSM_TRY(bsm_op_reshape(cx, a, op_dims2(m, batch * k), &a));
      BSM_TRY(bsm_op_reshape(cx, b, op_dims2(batch * b->sizes.d[1], n), &b));
      BSM_TRY(mm(cx, a, b, &p));
      break;
    }
    case ADD_MV:
      BSM_TRY(need_rank(a, 2, "vector + matrix @ vector"));
      BSM_TRY(need_rank(b, 1, "vector + matrix @ vector"));
      BSM_TRY(bsm_op_matmul(cx, a, b, &p));
      break;
    case ADD_R:
      BSM_TRY(need_rank(a, 1, "addr: Expected 1-D argument vec1"));
      BSM_TRY(need_rank(b, 1, "addr: Expected 1-D argument vec2"));
      BSM_TRY(promote_all(cx, !(self->flags & BSM_ATEN_INPLACE), &c, &a, &b));
      BSM_TRY(bsm_op_unsqueeze(cx, a, 1, &a));
      BSM_TRY(bsm_op_mul(cx, a, b, &p));
      if (c->dtype != p->dtype) { /* PyTorch promotes them */
        return BSM_FAIL(BSM_UNSUPPORTED, "addr of %s and %s",
                        bsm_op_type_name(c->dtype), bsm_op_type_name(p->dtype));
      }
      break;
    default:
      BSM_TRY(mm(cx, a, b, &p));
  }
  BSM_TRY(combine(cx, c, p, &args[3], &args[4],
                  self->flags & BSM_ATEN_INPLACE ? c : NULL, &out));
  return op_return(outs, out);
}

static bsm_status op_outer(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]), *out;
  BSM_TRY(need_rank(a, 1, "outer: Expected 1-D argument self"));
  BSM_TRY(need_rank(b, 1, "outer: Expected 1-D argument vec2"));
  BSM_TRY(bsm_op_unsqueeze(cx, a, 1, &a));
  BSM_TRY(bsm_op_mul(cx, a, b, &out));
  return op_return(outs, out);
}

/* ---- einsum ---- */

enum { MAX_OPERANDS = 5, ELLIPSIS_BASE = 64, MAX_LABELS = 96 };

typedef struct einsum_plan {
  size_t n;
  int labels[MAX_OPERANDS + 1][BSM_MAX_RANK]; /* the last row: the result */
  int counts[MAX_OPERANDS + 1];
  int64_t sizes[MAX_LABELS]; /* 0 beyond what is used */
  bool known[MAX_LABELS];
  int ellipsis; /* dims of the longest "..." */
  bool has_result;
} einsum_plan;

static int label_of(char c) {
  if (c >= 'A' && c <= 'Z') return 1 + c - 'A';
  if (c >= 'a' && c <= 'z') return 27 + c - 'a';
  return 0;
}

/* Reads the labels of one operand (or of the result, with rank -1). */
static bsm_status read_term(bsm_str term, int rank, int ellipsis, int *labels,
                            int *count) {
  int letters = 0;
  *count = 0;
  for (size_t i = 0; i < term.len; i++) letters += label_of(term.data[i]) > 0;
  for (size_t i = 0; i < term.len; i++) {
    const char c = term.data[i];
    if (c == ' ') continue;
    int dots = 0;
    if (c == '.') {
      if (i + 2 >= term.len || term.data[i + 1] != '.' ||
          term.data[i + 2] != '.') {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "einsum(): found '.' that is not part of any ellipsis");
      }
      i += 2;
      dots = rank < 0 ? ellipsis : rank - letters;
    } else if (!label_of(c)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "einsum(): invalid subscript given, subscripts must be "
                      "in [a-zA-Z]");
    }
    if (*count + (dots > 0 ? dots : 1) > BSM_MAX_RANK) {
      return BSM_FAIL(BSM_LIMIT, "einsum(): more than %d dimensions",
                      BSM_MAX_RANK);
    }
    if (c != '.') {
      labels[(*count)++] = label_of(c);
      continue;
    }
    /* Ellipsis dims align at the right. */
    for (int d = 0; d < dots; d++) {
      labels[(*count)++] = ELLIPSIS_BASE + BSM_MAX_RANK - dots + d;
    }
  }
  if (rank >= 0 && *count != rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "einsum(): the number of subscripts in the equation (%d) "
                    "does not match the number of dimensions (%d) for an "
                    "operand",
                    *count, rank);
  }
  return BSM_OK;
}

static bsm_status note_sizes(einsum_plan *plan, const bsm_tensor *t, size_t k) {
  for (int i = 0; i < plan->counts[k]; i++) {
    const int label = plan->labels[k][i];
    const int64_t size = t->sizes.d[i];
    if (label >= ELLIPSIS_BASE) {
      const int depth = ELLIPSIS_BASE + BSM_MAX_RANK - label;
      if (depth > plan->ellipsis) plan->ellipsis = depth;
    }
    if (!plan->known[label] || plan->sizes[label] == 1) {
      plan->sizes[label] = size;
      plan->known[label] = true;
    } else if (size != 1 && size != plan->sizes[label]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "einsum(): subscript has size %lld for operand %zu which "
                      "does not broadcast with previously seen size %lld",
                      (long long)size, k, (long long)plan->sizes[label]);
    }
  }
  return BSM_OK;
}

/* Without "->": the ellipsis, then the labels that occur once, sorted. */
static void implicit_result(einsum_plan *plan) {
  int seen[MAX_LABELS] = {0};
  int *out = plan->labels[plan->n], *count = &plan->counts[plan->n];
  *count = 0;
  for (size_t k = 0; k < plan->n; k++) {
    for (int i = 0; i < plan->counts[k]; i++) seen[plan->labels[k][i]]++;
  }
  for (int d = plan->ellipsis; d > 0 && *count < BSM_MAX_RANK; d--) {
    out[(*count)++] = ELLIPSIS_BASE + BSM_MAX_RANK - d;
  }
  for (int label = 1; label < ELLIPSIS_BASE; label++) {
    if (seen[label] == 1 && *count < BSM_MAX_RANK) out[(*count)++] = label;
  }
}

static bsm_status parse_einsum(bsm_str text, bsm_tensor *const *in, size_t n,
                               einsum_plan *plan) {
  *plan = (einsum_plan){.n = n};
  size_t start = 0, k = 0;
  bsm_str result = {NULL, 0};
  for (size_t i = 0; i <= text.len; i++) {
    const bool arrow =
        i + 1 < text.len && text.data[i] == '-' && text.data[i + 1] == '>';
    if (i < text.len && text.data[i] != ',' && !arrow) continue;
    if (k >= n) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "einsum(): more subscripts than operands (%zu)", n);
    }
    BSM_TRY(read_term((bsm_str){text.data + start, i - start},
                      (int)in[k]->sizes.rank, 0, plan->labels[k],
                      &plan->counts[k]));
    BSM_TRY(note_sizes(plan, in[k], k));
    k++;
    start = i + 1;
    if (arrow) {
      result = (bsm_str){text.data + i + 2, text.len - i - 2};
      plan->has_result = true;
      break;
    }
  }
  if (k != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "einsum(): more operands were provided than specified in "
                    "the equation");
  }
  if (!plan->has_result) {
    implicit_result(plan);
    return BSM_OK;
  }
  BSM_TRY(
      read_term(result, -1, plan->ellipsis, plan->labels[n], &plan->counts[n]));
  bool used[MAX_LABELS] = {false};
  for (int i = 0; i < plan->counts[n]; i++) {
    const int label = plan->labels[n][i];
    if (!plan->known[label] || used[label]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "einsum(): output subscript does not appear in the "
                      "equation for any input operand, or appears twice");
    }
    used[label] = true;
  }
  return BSM_OK;
}

/* The operand as a view over all `space` labels: repeated labels are a
 * diagonal, missing ones have stride 0. */
static bsm_tensor spread(const bsm_tensor *t, const int *labels, int count,
                         const int *space, bsm_dims shape) {
  bsm_tensor v = *t;
  v.sizes = shape;
  for (int32_t i = 0; i < shape.rank; i++) {
    v.strides[i] = 0;
    for (int d = 0; d < count; d++) {
      if (labels[d] == space[i] && t->sizes.d[d] != 1) {
        v.strides[i] += t->strides[d];
      }
    }
  }
  return v;
}

static void contract(const bsm_tensor *operands, size_t n,
                     const bsm_tensor *sums, bsm_dims shape) {
  const bsm_tensor *all[MAX_OPERANDS + 1] = {sums};
  double product[BSM_ROW], factor[BSM_ROW];
  bsm_iter it;
  for (size_t k = 0; k < n; k++) all[k + 1] = &operands[k];
  bsm_iter_init(&it, shape, all, (int)n + 1);
  while (bsm_iter_next(&it)) {
    for (int64_t at = 0; at < it.count; at += BSM_ROW) {
      const int64_t left = it.count - at;
      const size_t m = (size_t)(left < BSM_ROW ? left : BSM_ROW);
      for (size_t k = 0; k < n; k++) {
        double *to = k == 0 ? product : factor;
        bsm_load_f64(operands[k].dtype, it.ptr[k + 1] + at * it.step[k + 1],
                     it.step[k + 1], m, to);
        for (size_t i = 0; i < m && k > 0; i++) product[i] *= factor[i];
      }
      char *sum = it.ptr[0] + at * it.step[0];
      for (size_t i = 0; i < m; i++, sum += it.step[0]) {
        *(double *)(void *)sum += product[i];
      }
    }
  }
}

/* contract() for integers, which wrap around. */
static void contract_ints(const bsm_tensor *operands, size_t n,
                          const bsm_tensor *sums, bsm_dims shape) {
  const bsm_tensor *all[MAX_OPERANDS + 1] = {sums};
  int64_t product[BSM_ROW], factor[BSM_ROW];
  bsm_iter it;
  for (size_t k = 0; k < n; k++) all[k + 1] = &operands[k];
  bsm_iter_init(&it, shape, all, (int)n + 1);
  while (bsm_iter_next(&it)) {
    for (int64_t at = 0; at < it.count; at += BSM_ROW) {
      const int64_t left = it.count - at;
      const size_t m = (size_t)(left < BSM_ROW ? left : BSM_ROW);
      for (size_t k = 0; k < n; k++) {
        bsm_load_i64(operands[k].dtype, it.ptr[k + 1] + at * it.step[k + 1],
                     it.step[k + 1], m, k == 0 ? product : factor);
        for (size_t i = 0; i < m && k > 0; i++) {
          product[i] = (int64_t)((uint64_t)product[i] * (uint64_t)factor[i]);
        }
      }
      char *sum = it.ptr[0] + at * it.step[0];
      for (size_t i = 0; i < m; i++, sum += it.step[0]) {
        *(uint64_t *)(void *)sum += (uint64_t)product[i];
      }
    }
  }
}

/* contract() for complex numbers. */
static void contract_complex(const bsm_tensor *operands, size_t n,
                             const bsm_tensor *sums, bsm_dims shape) {
  const bsm_tensor *all[MAX_OPERANDS + 1] = {sums};
  bsm_c128 product[BSM_ROW], factor[BSM_ROW];
  bsm_iter it;
  for (size_t k = 0; k < n; k++) all[k + 1] = &operands[k];
  bsm_iter_init(&it, shape, all, (int)n + 1);
  while (bsm_iter_next(&it)) {
    for (int64_t at = 0; at < it.count; at += BSM_ROW) {
      const int64_t left = it.count - at;
      const size_t m = (size_t)(left < BSM_ROW ? left : BSM_ROW);
      for (size_t k = 0; k < n; k++) {
        bsm_c128 *to = k == 0 ? product : factor;
        bsm_load_c128(operands[k].dtype, it.ptr[k + 1] + at * it.step[k + 1],
                      it.step[k + 1], m, to);
        for (size_t i = 0; i < m && k > 0; i++) {
          product[i] = bsm_c_mul(product[i], factor[i]);
        }
      }
      char *sum = it.ptr[0] + at * it.step[0];
      for (size_t i = 0; i < m; i++, sum += it.step[0]) {
        bsm_c128 *to = (bsm_c128 *)(void *)sum;
        *to = bsm_c_add(*to, product[i]);
      }
    }
  }
}

static bsm_status einsum(bsm_op_ctx *cx, bsm_str text, bsm_tensor *const *in,
                         size_t n, bsm_tensor **out) {
  einsum_plan plan;
  if (n == 0 || n > MAX_OPERANDS) {
    return BSM_FAIL(n ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
                    "einsum(): %zu operands; 1 to %d are supported", n,
                    MAX_OPERANDS);
  }
  BSM_TRY(parse_einsum(text, in, n, &plan));
  bsm_dims result = {plan.counts[n], {0}}, shape;
  int space[BSM_MAX_RANK];
  bool used[MAX_LABELS] = {false};
  for (int i = 0; i < plan.counts[n]; i++) {
    space[i] = plan.labels[n][i];
    used[space[i]] = true;
    result.d[i] = plan.sizes[space[i]];
  }
  shape = result;
  for (int label = 1; label < MAX_LABELS; label++) {
    if (!plan.known[label] || used[label]) continue;
    if (shape.rank == BSM_MAX_RANK) {
      return BSM_FAIL(BSM_LIMIT, "einsum(): more than %d subscripts",
                      BSM_MAX_RANK);
    }
    space[shape.rank] = label;
    shape.d[shape.rank++] = plan.sizes[label];
  }
  for (size_t k = 0; k < n; k++) {
    BSM_TRY(bsm_op_number(in[k]));
    if (in[k]->dtype != in[0]->dtype) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "einsum(): operands of different dtypes (%s and %s)",
                      bsm_op_type_name(in[0]->dtype),
                      bsm_op_type_name(in[k]->dtype));
    }
  }
  /* The sum of one operand is PyTorch's sum: of integers, int64. */
  const bool plain_sum = n == 1 && shape.rank > result.rank &&
                         bsm_dtype_is_integral(in[0]->dtype, true);
  BSM_TRY(
      bsm_op_new(cx, plain_sum ? BSM_DTYPE_INT64 : in[0]->dtype, result, out));
  if (cx->meta) return BSM_OK;
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  bsm_tensor *sums, operands[MAX_OPERANDS];
  const bool is_complex = bsm_dtype_is_complex(in[0]->dtype);
  const bool integral = bsm_dtype_is_integral(in[0]->dtype, true);
  BSM_TRY(bsm_tensor_new(cx->arena,
                         is_complex ? BSM_DTYPE_COMPLEX_DOUBLE
                         : integral ? BSM_DTYPE_INT64
                                    : BSM_DTYPE_DOUBLE,
                         result, false, &sums));
  int64_t all;
  if (!bsm_dims_numel(shape, &all)) all = INT64_MAX;
  BSM_TRY(bsm_op_charge(cx, all, (int64_t)n + 1, 2));
  for (size_t k = 0; k < n; k++) {
    operands[k] = spread(in[k], plan.labels[k], plan.counts[k], space, shape);
  }
  const bsm_tensor wide =
      spread(sums, plan.labels[n], plan.counts[n], space, shape);
  (is_complex ? contract_complex
   : integral ? contract_ints
              : contract)(operands, n, &wide, shape);
  BSM_TRY(bsm_tensor_copy(*out, sums));
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static bsm_status op_einsum(OP_PARAMS) {
  (void)self;
  bsm_tensor **in, *out;
  size_t n;
  BSM_TRY(bsm_op_tensors(cx, &args[1], &in, &n));
  BSM_TRY(einsum(cx, op_str(&args[0]), in, n, &out));
  return op_return(outs, out);
}

/* bilinear(x1, x2, weight, bias) */
static bsm_status op_bilinear(OP_PARAMS) {
  (void)self;
  bsm_tensor *in[] = {op_tensor(&args[0]), op_tensor(&args[2]),
                      op_tensor(&args[1])};
  bsm_tensor *bias = op_tensor(&args[3]), *out;
  for (int i = 0; i < 3; i++) {
    const bsm_dtype other = i < 2  ? in[i + 1]->dtype
                            : bias ? bias->dtype
                                   : in[0]->dtype;
    if (other == in[0]->dtype) continue;
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "bilinear(): all tensors must have the same dtype");
  }
  if (bias && in[1]->sizes.rank > 0 &&
      bsm_tensor_numel(bias) != in[1]->sizes.d[0]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "bilinear(): bias size does not match weight size: got "
                    "%lld but expected %lld",
                    (long long)bsm_tensor_numel(bias),
                    (long long)in[1]->sizes.d[0]);
  }
  BSM_TRY(einsum(cx, BSM_STR("...i,oij,...j->...o"), in, 3, &out));
  if (bias) BSM_TRY(bsm_op_add(cx, out, bias, 1.0, &out));
  return op_return(outs, out);
}

/* tensordot(self, other, dims_self, dims_other) */
static bsm_status op_tensordot(OP_PARAMS) {
  (void)self;
  bsm_tensor *in[] = {op_tensor(&args[0]), op_tensor(&args[1])}, *out;
  const size_t n = op_list_len(&args[2]);
  char text[4 * BSM_MAX_RANK + 8];
  char letters[2][BSM_MAX_RANK];
  char next = 'a';
  if (n != op_list_len(&args[3])) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "both dimension lists should have same length");
  }
  memset(letters, 0, sizeof(letters));
  for (size_t i = 0; i < n; i++, next++) {
    int a, b;
    BSM_TRY(bsm_op_wrap_dim(op_list_int(&args[2], i), in[0]->sizes.rank, &a));
    BSM_TRY(bsm_op_wrap_dim(op_list_int(&args[3], i), in[1]->sizes.rank, &b));
    const bool scalars = in[0]->sizes.rank == 0 || in[1]->sizes.rank == 0;
    if (scalars || in[0]->sizes.d[a] != in[1]->sizes.d[b] || letters[0][a] ||
        letters[1][b]) {
      /* PyTorch sums over a dim that the other has not. */
      const bool lacking =
          scalars || in[0]->sizes.d[a] == 1 || in[1]->sizes.d[b] == 1;
      return BSM_FAIL(lacking ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
                      "contracted dimensions need to match, but first has size "
                      "%s and second has size %s",
                      bsm_dims_str(in[0]->sizes), bsm_dims_str(in[1]->sizes));
    }
    letters[0][a] = letters[1][b] = next;
  }
  char *p = text, rest[2 * BSM_MAX_RANK + 1], *q = rest;
  for (int k = 0; k < 2; k++) {
    for (int32_t d = 0; d < in[k]->sizes.rank; d++) {
      if (!letters[k][d]) *q++ = letters[k][d] = next++;
      *p++ = letters[k][d];
    }
    if (k == 0) *p++ = ',';
  }
  *p++ = '-';
  *p++ = '>';
  memcpy(p, rest, (size_t)(q - rest));
  p += q - rest;
  BSM_TRY(einsum(cx, (bsm_str){text, (size_t)(p - text)}, in, 2, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::mm(Tensor self, Tensor mat2) -> Tensor", op_matmul, MM_MM, 0),
    OP("aten::bmm(Tensor self, Tensor mat2) -> Tensor", op_matmul, MM_BMM, 0),
    OP("aten::matmul(Tensor self, Tensor other) -> Tensor", op_matmul,
       MM_MATMUL, 0),
    OP("aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", op_matmul,
       MM_MATMUL, 0),
    OP("aten::mv(Tensor self, Tensor vec) -> Tensor", op_matmul, MM_MV, 0),
    OP("aten::dot(Tensor self, Tensor tensor) -> Tensor", op_matmul, MM_DOT, 0),
    OP("aten::vdot(Tensor self, Tensor other) -> Tensor", op_matmul, MM_VDOT,
       0),
    OP("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
       op_linear, 0, 0),
    OP("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
       "Scalar alpha=1) -> Tensor",
       op_addmm, ADD_MM, BSM_ATEN_COMPLEX),
    OP("aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar "
       "beta=1, Scalar alpha=1) -> Tensor(a!)",
       op_addmm, ADD_MM, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar "
       "beta=1, Scalar alpha=1) -> Tensor",
       op_addmm, ADD_BADDBMM, BSM_ATEN_COMPLEX),
    OP("aten::baddbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, "
       "Scalar "
       "beta=1, Scalar alpha=1) -> Tensor(a!)",
       op_addmm, ADD_BADDBMM, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar "
       "beta=1, Scalar alpha=1) -> Tensor",
       op_addmm, ADD_ADDBMM, BSM_ATEN_COMPLEX),
    OP("aten::addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar "
       "beta=1, Scalar alpha=1) -> Tensor(a!)",
       op_addmm, ADD_ADDBMM, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, "
       "Scalar alpha=1) -> Tensor",
       op_addmm, ADD_MV, BSM_ATEN_COMPLEX),
    OP("aten::addmv_(Tensor(a!) self, Tensor mat, Tensor vec, *, Scalar "
       "beta=1, "
       "Scalar alpha=1) -> Tensor(a!)",
       op_addmm, ADD_MV, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, "
       "Scalar alpha=1) -> Tensor",
       op_addmm, ADD_R, BSM_ATEN_COMPLEX),
    OP("aten::addr_(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar "
       "beta=1, "
       "Scalar alpha=1) -> Tensor(a!)",
       op_addmm, ADD_R, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::outer(Tensor self, Tensor vec2) -> Tensor", op_outer, 0, 0),
    OP("aten::ger(Tensor self, Tensor vec2) -> Tensor", op_outer, 0, 0),
    OP("aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> "
       "Tensor",
       op_einsum, 0, 0),
    OP("aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? "
       "bias=None) -> Tensor",
       op_bilinear, 0, 0),
    OP("aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] "
       "dims_other) -> Tensor",
       op_tensordot, 0, 0),
};
BSM_ATEN_TABLE(matmul, rows);
