/* SPDX-License-Identifier: Apache-2.0 */
/* _grouped_mm: products of groups of rows, of columns or of both, whose ends
 * come from a tensor: what mixtures of experts run. Programs of torch.export
 * call an operator of transformers' own where PyTorch has not this one. */
#include "aten/packed/aten_grouped_mm.h"
#include "aten/op_kit.h"

/* The dim of each operand and of the result that the groups lie along; -1: it
 * has one matrix for each group. */
typedef struct groups {
  bsm_tensor *a, *b, *out;
  int a_dim, b_dim, out_dim;
  int64_t count, limit; /* of the ends */
} groups;

static bsm_status part_of(bsm_op_ctx *cx, bsm_tensor *t, int dim, int64_t group,
                          int64_t start, int64_t length, bsm_tensor **out) {
  if (dim >= 0) return bsm_op_narrow(cx, t, dim, start, length, out);
  return bsm_op_select(cx, t, 0, group, out);
}

static bsm_status multiply(bsm_op_ctx *cx, const groups *g,
                           const bsm_tensor *ends) {
  int64_t start = 0;
  for (int64_t i = 0; i < g->count; i++) {
    const int64_t end = bsm_tensor_get_int(ends, i);
    bsm_tensor *a, *b, *product, *to;
    if (end < start || end > g->limit) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "_grouped_mm: group %lld ends at %lld, the last at %lld "
                      "of %lld",
                      (long long)i, (long long)end, (long long)start,
                      (long long)g->limit);
    }
    BSM_TRY(part_of(cx, g->a, g->a_dim, i, start, end - start, &a));
    BSM_TRY(part_of(cx, g->b, g->b_dim, i, start, end - start, &b));
    BSM_TRY(part_of(cx, g->out, g->out_dim, i, start, end - start, &to));
    BSM_TRY(bsm_op_matmul(cx, a, b, &product));
    BSM_TRY(bsm_tensor_copy(to, product));
    start = end;
  }
  return BSM_OK;
}

static bsm_status check_products(const bsm_tensor *a, const bsm_tensor *b) {
  if (a->sizes.d[a->sizes.rank - 1] != b->sizes.d[b->sizes.rank - 2]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "contraction dimension of mat_a and mat_b must match: %s "
                    "and %s",
                    bsm_dims_str(a->sizes), bsm_dims_str(b->sizes));
  }
  if (!bsm_dtype_is_floating(a->dtype) || a->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "_grouped_mm of %s and %s",
                    bsm_dtype_name(a->dtype), bsm_dtype_name(b->dtype));
  }
  return BSM_OK;
}

static bsm_status check_operands(const bsm_tensor *a, const bsm_tensor *b,
                                 const bsm_tensor *ends) {
  const int32_t ra = a->sizes.rank, rb = b->sizes.rank;
  if ((ra != 2 && ra != 3) || (rb != 2 && rb != 3)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mat_a and mat_b have to be 2 or 3 dimensional, they have "
                    "dims %s and %s",
                    bsm_dims_str(a->sizes), bsm_dims_str(b->sizes));
  }
  BSM_TRY(check_products(a, b));
  if ((ra == 3 && rb == 3) != !ends) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Have to provide offsets if there is a 2d matrix, and none "
                    "otherwise");
  }
  if (ends && (ends->dtype != BSM_DTYPE_INT32 || ends->sizes.rank != 1)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Offsets have to be a vector of int32, they are %s of dims "
                    "%s",
                    bsm_dtype_name(ends->dtype), bsm_dims_str(ends->sizes));
  }
  return BSM_OK;
}

/* The result, and where the groups lie. What no group covers is 0: PyTorch
 * leaves it undefined. */
static bsm_status lay_out(bsm_op_ctx *cx, const bsm_tensor *ends, groups *g) {
  const int32_t ra = g->a->sizes.rank, rb = g->b->sizes.rank;
  const int64_t m = g->a->sizes.d[ra - 2], n = g->b->sizes.d[rb - 1];
  g->count = ends->sizes.d[0];
  g->a_dim = g->b_dim = g->out_dim = -1;
  bsm_dims dims = op_dims2(m, n);
  int64_t matrices = g->count;
  if (ra == 2 && rb == 3) {
    g->a_dim = g->out_dim = 0;
    g->limit = m;
    matrices = g->b->sizes.d[0];
  } else if (ra == 3) {
    g->b_dim = g->out_dim = 1;
    g->limit = n;
    matrices = g->a->sizes.d[0];
  } else {
    g->a_dim = 1;
    g->b_dim = 0;
    g->limit = g->a->sizes.d[1];
    dims = op_dims3(g->count, m, n);
  }
  if (matrices != g->count) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%lld matrices in %lld groups",
                    (long long)matrices, (long long)g->count);
  }
  return bsm_tensor_new(cx->arena, g->a->dtype, dims, cx->meta, &g->out);
}

static bsm_status op_grouped_mm(OP_PARAMS) {
  enum { SELF, MAT2, OFFS, BIAS, OUT_DTYPE };
  bsm_tensor *ends = op_tensor(&args[OFFS]);
  groups g = {.a = op_tensor(&args[SELF]), .b = op_tensor(&args[MAT2])};
  (void)self;
  BSM_TRY(check_operands(g.a, g.b, ends));
  if (!op_none(&args[BIAS])) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Bias not supported yet");
  }
  if (op_dtype_or(&args[OUT_DTYPE], g.a->dtype) != g.a->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "grouped gemm output dtype must match the inputs'");
  }
  if (!ends) {
    BSM_TRY(bsm_op_matmul(cx, g.a, g.b, &g.out));
    return op_return(outs, g.out);
  }
  BSM_TRY(lay_out(cx, ends, &g));
  if (!cx->meta) BSM_TRY(multiply(cx, &g, ends));
  return op_return(outs, g.out);
}

/* grouped_mm_fallback(input, weight, offs): groups of rows, each by a matrix of
 * its own. */
static bsm_status op_grouped_mm_of_rows(OP_PARAMS) {
  enum { INPUT, WEIGHT, OFFS };
  bsm_tensor *ends = op_tensor(&args[OFFS]);
  groups g = {.a = op_tensor(&args[INPUT]), .b = op_tensor(&args[WEIGHT])};
  (void)self;
  if (g.a->sizes.rank != 2 || g.b->sizes.rank != 3 || ends->sizes.rank != 1 ||
      (ends->dtype != BSM_DTYPE_INT32 && ends->dtype != BSM_DTYPE_INT64)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "grouped_mm_fallback: rows of dims %s, matrices of dims %s "
                    "and ends of %s with dims %s",
                    bsm_dims_str(g.a->sizes), bsm_dims_str(g.b->sizes),
                    bsm_dtype_name(ends->dtype), bsm_dims_str(ends->sizes));
  }
  BSM_TRY(check_products(g.a, g.b));
  BSM_TRY(lay_out(cx, ends, &g));
  if (!cx->meta) BSM_TRY(multiply(cx, &g, ends));
  return op_return(outs, g.out);
}

static const bsm_aten_op rows[] = {
    OP("aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? "
       "bias=None, ScalarType? out_dtype=None) -> Tensor",
       op_grouped_mm, 0, 0),
    OP("transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor "
       "offs) -> Tensor",
       op_grouped_mm_of_rows, 0, 0),
};
BSM_ATEN_TABLE(grouped_mm, rows);
