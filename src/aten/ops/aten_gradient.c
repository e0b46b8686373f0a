/* SPDX-License-Identifier: Apache-2.0 */
/* gradient: differences of a sampled function along dims, second-order inside,
 * of order 1 or 2 at the ends. */
#include "aten/packed/aten_gradient.h"
#include "aten/op_kit.h"

enum { SPACING_ONE, SPACING_SCALAR, SPACING_LIST, SPACING_TENSORS };

/* What three neighbours with gaps p and q count for at the middle one, at the
 * first and at the last. */
enum { AT_MIDDLE, AT_FIRST, AT_LAST };

static double weigh(int where, const double *x, double p, double q) {
  switch (where) {
    case AT_MIDDLE:
      return -q / (p * (p + q)) * x[0] + (q - p) / (p * q) * x[1] +
             p / (q * (p + q)) * x[2];
    case AT_FIRST:
      return -(2.0 * p + q) / (p * (p + q)) * x[0] + (p + q) / (p * q) * x[1] -
             p / (q * (p + q)) * x[2];
    default:
      return q / (p * (p + q)) * x[0] - (p + q) / (p * q) * x[1] +
             (2.0 * q + p) / (q * (p + q)) * x[2];
  }
}

/* One row of n samples, `gaps` apart. */
static void differentiate(const double *x, const double *gaps, int64_t n,
                          int64_t order, double *out) {
  for (int64_t i = 1; i + 1 < n; i++) {
    out[i] = weigh(AT_MIDDLE, x + i - 1, gaps[i - 1], gaps[i]);
  }
  if (order == 1) {
    out[0] = (x[1] - x[0]) / gaps[0];
    out[n - 1] = (x[n - 1] - x[n - 2]) / gaps[n - 2];
  } else {
    out[0] = weigh(AT_FIRST, x, gaps[0], gaps[1]);
    out[n - 1] = weigh(AT_LAST, x + n - 3, gaps[n - 3], gaps[n - 2]);
  }
}

typedef struct gradient_args {
  bsm_tensor *t;
  const bsm_ivalue *spacing; /* NULL: 1 */
  int32_t kind;
  int64_t order;
} gradient_args;

static bsm_status read_gaps(bsm_op_ctx *cx, const gradient_args *a, size_t i,
                            int64_t n, double *gaps) {
  double gap = 1.0;
  if (a->kind == SPACING_TENSORS) {
    const bsm_tensor *t = op_list_tensor(a->spacing, i);
    if (t->sizes.rank != 1 || t->sizes.d[0] != n) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "torch.gradient expected each tensor to have one "
                      "dimension of %lld coordinates, but got %s",
                      (long long)n, bsm_dims_str(t->sizes));
    }
    const double *x = cx->meta ? NULL : bsm_op_load_all(cx, t);
    for (int64_t k = 0; x && k + 1 < n; k++) gaps[k] = x[k + 1] - x[k];
    return cx->meta || x ? BSM_OK : BSM_FAIL_OOM();
  }
  if (a->kind == SPACING_LIST) gap = op_double(&a->spacing->u.list->items[i]);
  if (a->kind == SPACING_SCALAR) gap = op_double(a->spacing);
  for (int64_t k = 0; k + 1 < n; k++) gaps[k] = gap;
  return BSM_OK;
}

static bsm_status gradient(bsm_op_ctx *cx, const gradient_args *a, int dim,
                           size_t i, bsm_tensor **out) {
  bsm_tensor *t = a->t, *from, *to;
  const int64_t n = t->sizes.d[dim];
  bsm_tensor *both[] = {t, NULL};
  if (a->kind == SPACING_TENSORS) both[1] = op_list_tensor(a->spacing, i);
  bsm_dtype dtype = bsm_op_result_type(both, 2);
  if (bsm_dtype_is_integral(dtype, true)) dtype = BSM_DTYPE_FLOAT;
  if (n < a->order + 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.gradient expected each dimension size to be at "
                    "least edge_order+1");
  }
  BSM_TRY(bsm_op_new(cx, dtype, t->sizes, out));
  double *gaps = BSM_NEW_ARRAY(cx->arena, double, (size_t)n);
  BSM_TRY_ALLOC(gaps);
  BSM_TRY(read_gaps(cx, a, i, n, gaps));
  const int64_t total = bsm_tensor_numel(t);
  if (cx->meta || total == 0) return BSM_OK;
  const int last = t->sizes.rank - 1;
  BSM_TRY(bsm_op_transpose(cx, t, dim, last, &from));
  BSM_TRY(bsm_op_transpose(cx, *out, dim, last, &to));
  const double *x = bsm_op_load_all(cx, from);
  double *y = BSM_NEW_ARRAY(cx->arena, double, (size_t)total);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  for (int64_t row = 0; row < total; row += n) {
    differentiate(x + row, gaps, n, a->order, y + row);
  }
  bsm_op_store_all(to, y);
  return BSM_OK;
}

/* gradient(self, *, spacing, dim, edge_order): a dim may be one, a list, or
 * None for all; .array has no spacing */
static bsm_status op_gradient(OP_PARAMS) {
  gradient_args a = {.t = op_tensor(&args[0]), .kind = self->variant};
  const bsm_ivalue *dim = &args[self->variant == SPACING_ONE ? 1 : 2];
  a.order = op_int(&dim[1]);
  if (a.kind != SPACING_ONE) a.spacing = &args[1];
  if (a.spacing && op_none(a.spacing)) a.kind = SPACING_ONE;
  bsm_dims dims = {a.t->sizes.rank, {0}};
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = i;
  uint32_t mask;
  BSM_TRY(bsm_op_real(a.t));
  BSM_TRY(bsm_op_dim_mask(dim, a.t->sizes.rank, false, &mask));
  if (!op_none(dim)) BSM_TRY(bsm_op_dims(dim, &dims));
  const bool lists = a.kind == SPACING_LIST || a.kind == SPACING_TENSORS;
  if ((a.order != 1 && a.order != 2) || a.t->sizes.rank == 0 ||
      (lists && op_list_len(a.spacing) != (size_t)dims.rank)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.gradient expected edge_order 1 or 2 and a spacing "
                    "for each of the %d dims, but got %lld and %zu",
                    (int)dims.rank, (long long)a.order,
                    lists ? op_list_len(a.spacing) : (size_t)dims.rank);
  }
  bsm_tensor *results[BSM_MAX_RANK];
  for (int32_t i = 0; i < dims.rank; i++) {
    int d;
    BSM_TRY(bsm_op_wrap_dim(dims.d[i], a.t->sizes.rank, &d));
    BSM_TRY(gradient(cx, &a, d, (size_t)i, &results[i]));
  }
  return bsm_iv_tensor_list(cx->arena, results, (size_t)dims.rank, &outs[0]);
}

static const bsm_aten_op rows[] = {
    OP("aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? "
       "dim=None, int edge_order=1) -> Tensor[]",
       op_gradient, SPACING_SCALAR, 0),
    OP("aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, "
       "int edge_order=1) -> Tensor[]",
       op_gradient, SPACING_SCALAR, 0),
    OP("aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> "
       "Tensor[]",
       op_gradient, SPACING_ONE, 0),
    OP("aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? "
       "dim=None, int edge_order=1) -> Tensor[]",
       op_gradient, SPACING_LIST, 0),
    OP("aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] "
       "dim, int edge_order=1) -> Tensor[]",
       op_gradient, SPACING_LIST, 0),
    OP("aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? "
       "dim=None, int edge_order=1) -> Tensor[]",
       op_gradient, SPACING_TENSORS, 0),
    OP("aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] "
       "dim, "
       "int edge_order=1) -> Tensor[]",
       op_gradient, SPACING_TENSORS, 0),
};
BSM_ATEN_TABLE(gradient, rows);
