/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over dims, and scans along one.
 *
 * The tensor is permuted so that the reduced dims come last and read into one
 * array of double (or int64); each result is then a function of one row. Sums
 * of float, half and bfloat16 are exact to the last rounding. */
#include "aten/packed/aten_reduce.h"
#include "aten/complex_math.h"
#include "base/ordering.h"

typedef struct red_params {
  double p;        /* norms; the correction of a variance */
  bsm_dtype dtype; /* of the input; of the result, for sums and means */
} red_params;

typedef double (*red_f64)(const double *x, size_t n, const red_params *p);
typedef int64_t (*red_i64)(const int64_t *x, size_t n, const red_params *p);

/* ---- row functions ---- */

static double f_sum(const double *x, size_t n, const red_params *p) {
  double s = 0.0;
  (void)p;
  for (size_t i = 0; i < n; i++) s += x[i];
  return s;
}
static int64_t i_sum(const int64_t *x, size_t n, const red_params *p) {
  uint64_t s = 0;
  (void)p;
  for (size_t i = 0; i < n; i++) s += (uint64_t)x[i];
  return (int64_t)s;
}
static double f_nansum(const double *x, size_t n, const red_params *p) {
  double s = 0.0;
  (void)p;
  for (size_t i = 0; i < n; i++) s += isnan(x[i]) ? 0.0 : x[i];
  return s;
}
static double f_mean(const double *x, size_t n, const red_params *p) {
  return f_sum(x, n, p) / (double)n;
}
/* Both the sum and the count are of the dtype before they are divided. */
static double f_nanmean(const double *x, size_t n, const red_params *p) {
  double both[2] = {f_nansum(x, n, p), 0.0};
  for (size_t i = 0; i < n; i++) both[1] += isnan(x[i]) ? 0.0 : 1.0;
  bsm_round_f64(p->dtype, 2, both);
  return both[0] / both[1];
}
static double f_prod(const double *x, size_t n, const red_params *p) {
  double s = 1.0;
  (void)p;
  for (size_t i = 0; i < n; i++) s *= x[i];
  return s;
}
static int64_t i_prod(const int64_t *x, size_t n, const red_params *p) {
  uint64_t s = 1;
  (void)p;
  for (size_t i = 0; i < n; i++) s *= (uint64_t)x[i];
  return (int64_t)s;
}
/* The first of the largest (or smallest), or the first NaN. */
static size_t f_arg(const double *x, size_t n, bool max) {
  size_t best = 0;
  for (size_t i = 0; i < n; i++) {
    if (isnan(x[i])) return i;
    if (max ? x[i] > x[best] : x[i] < x[best]) best = i;
  }
  return best;
}
static size_t i_arg(const int64_t *x, size_t n, bool max) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++) {
    if (max ? x[i] > x[best] : x[i] < x[best]) best = i;
  }
  return best;
}
static double f_max(const double *x, size_t n, const red_params *p) {
  (void)p;
  return x[f_arg(x, n, true)];
}
static double f_min(const double *x, size_t n, const red_params *p) {
  (void)p;
  return x[f_arg(x, n, false)];
}
static int64_t i_max(const int64_t *x, size_t n, const red_params *p) {
  (void)p;
  return x[i_arg(x, n, true)];
}
static int64_t i_min(const int64_t *x, size_t n, const red_params *p) {
  (void)p;
  return x[i_arg(x, n, false)];
}
static double f_any(const double *x, size_t n, const red_params *p) {
  (void)p;
  for (size_t i = 0; i < n; i++) {
    if (x[i] != 0.0) return 1.0;
  }
  return 0.0;
}
static double f_all(const double *x, size_t n, const red_params *p) {
  (void)p;
  for (size_t i = 0; i < n; i++) {
    if (x[i] == 0.0) return 0.0;
  }
  return 1.0;
}
static double f_count(const double *x, size_t n, const red_params *p) {
  size_t count = 0;
  (void)p;
  for (size_t i = 0; i < n; i++) count += x[i] != 0.0;
  return (double)count;
}
static double f_var(const double *x, size_t n, const red_params *p) {
  if (n == 0) return NAN;
  /* Around the first, so that equal elements are their mean exactly. */
  double s = 0.0, rest = 0.0;
  for (size_t i = 0; i < n; i++) rest += x[i] - x[0];
  rest /= (double)n;
  for (size_t i = 0; i < n; i++) {
    const double off = x[i] - x[0] - rest;
    s += off * off;
  }
  const double d = (double)n - p->p;
  return s / (d > 0.0 ? d : 0.0);
}
static double f_std(const double *x, size_t n, const red_params *p) {
  return sqrt(f_var(x, n, p));
}
static double f_norm(const double *x, size_t n, const red_params *p) {
  double s = 0.0;
  if (isinf(p->p)) {
    if (n == 0) return 0.0;
    s = p->p > 0 ? 0.0 : INFINITY;
    for (size_t i = 0; i < n; i++) {
      const double a = fabs(x[i]);
      if (isnan(a)) return a;
      s = (p->p > 0 ? a > s : a < s) ? a : s;
    }
    return s;
  }
  for (size_t i = 0; i < n; i++) {
    const double a = fabs(x[i]);
    s += p->p == 0.0   ? (double)(a != 0.0)
         : p->p == 1.0 ? a
         : p->p == 2.0 ? a * a
                       : pow(a, p->p);
  }
  if (p->p == 2.0) return sqrt(s);
  return p->p == 0.0 || p->p == 1.0 ? s : pow(s, 1.0 / p->p);
}
static double f_logsumexp(const double *x, size_t n, const red_params *p) {
  if (n == 0) return -INFINITY;
  const double m = f_max(x, n, p);
  if (isinf(m)) return m; /* all -inf, or a +inf */
  double s = 0.0;
  for (size_t i = 0; i < n; i++) s += exp(x[i] - m);
  return m + log(s);
}

/* ---- driver ---- */

typedef struct red_plan {
  bsm_dims permuted; /* of the view with the reduced dims last */
  bsm_dims out;
  size_t rows, row; /* results, elements for each */
  bsm_tensor *view;
} red_plan;

static bsm_status plan_reduction(bsm_op_ctx *cx, const bsm_tensor *t,
                                 uint32_t mask, bool keepdim, red_plan *plan) {
  int64_t strides[BSM_MAX_RANK] = {0};
  *plan = (red_plan){.rows = 1, .row = 1};
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (mask & 1u << i) {
      if (keepdim) plan->out.d[plan->out.rank++] = 1;
      continue;
    }
    plan->out.d[plan->out.rank++] = t->sizes.d[i];
    plan->rows *= (size_t)t->sizes.d[i];
    strides[plan->permuted.rank] = t->strides[i];
    plan->permuted.d[plan->permuted.rank++] = t->sizes.d[i];
  }
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (!(mask & 1u << i)) continue;
    plan->row *= (size_t)t->sizes.d[i];
    strides[plan->permuted.rank] = t->strides[i];
    plan->permuted.d[plan->permuted.rank++] = t->sizes.d[i];
  }
  return bsm_tensor_view(cx->arena, t, plan->permuted, strides, t->offset,
                         &plan->view);
}

/* Reduces the dims of `mask`; integers with `i` when it is not NULL. */
static bsm_status reduce(bsm_op_ctx *cx, bsm_tensor *t, uint32_t mask,
                         bool keepdim, bsm_dtype dtype, red_f64 f, red_i64 i,
                         const red_params *params, bsm_tensor **out) {
  red_plan plan;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(plan_reduction(cx, t, mask, keepdim, &plan));
  BSM_TRY(bsm_op_new(cx, dtype, plan.out, out));
  if (cx->meta) return BSM_OK;
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  char *dst = bsm_tensor_data(*out);
  const size_t size = bsm_dtype_size(dtype);
  if (i && bsm_dtype_is_integral(t->dtype, true)) {
    const int64_t *x = bsm_op_load_ints(cx, plan.view);
    BSM_TRY_ALLOC(x);
    for (size_t r = 0; r < plan.rows; r++) {
      bsm_store1_i64(dtype, dst + r * size,
                     i(x + r * plan.row, plan.row, params));
    }
    bsm_arena_rewind(cx->arena, mark);
    return BSM_OK;
  }
  const double *x = bsm_op_load_all(cx, plan.view);
  BSM_TRY_ALLOC(x);
  for (size_t r = 0; r < plan.rows; r++) {
    bsm_store1_f64(dtype, dst + r * size,
                   f(x + r * plan.row, plan.row, params));
  }
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

/* Sums and means of complex numbers: of each part. */
static bsm_status reduce_parts(bsm_op_ctx *cx, bsm_tensor *t, uint32_t mask,
                               bool keepdim, red_f64 f, bsm_tensor **out) {
  BSM_TRY(bsm_op_view_as_real(cx, t, &t));
  BSM_TRY(reduce(cx, t, mask, keepdim, t->dtype, f, NULL, NULL, out));
  return bsm_op_view_as_complex(cx, *out, out);
}

static bsm_status reduce_product(bsm_op_ctx *cx, bsm_tensor *t, uint32_t mask,
                                 bool keepdim, bsm_tensor **out) {
  red_plan plan;
  BSM_TRY(plan_reduction(cx, t, mask, keepdim, &plan));
  BSM_TRY(bsm_op_new(cx, t->dtype, plan.out, out));
  if (cx->meta) return BSM_OK;
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const bsm_c128 *x = bsm_op_load_complex(cx, plan.view);
  BSM_TRY_ALLOC(x);
  char *dst = bsm_tensor_data(*out);
  for (size_t r = 0; r < plan.rows; r++) {
    bsm_c128 product = {1.0, 0.0};
    for (size_t k = 0; k < plan.row; k++) product = bsm_c_mul(product, *x++);
    bsm_store_c128(t->dtype, dst, 0, 1, &product);
    dst += bsm_dtype_size(t->dtype);
  }
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

/* ---- sum, mean, prod ---- */

enum { SUM_SUM, SUM_NANSUM, SUM_MEAN, SUM_NANMEAN, SUM_PROD };

static bsm_status sum_like(bsm_op_ctx *cx, int32_t variant, bsm_tensor *t,
                           uint32_t mask, bool keepdim, const bsm_ivalue *dtype,
                           bsm_ivalue *outs) {
  static const red_f64 f[] = {f_sum, f_nansum, f_mean, f_nanmean, f_prod};
  static const red_i64 i[] = {i_sum, i_sum, NULL, NULL, i_prod};
  const bool mean = variant == SUM_MEAN || variant == SUM_NANMEAN;
  const bool integral = bsm_dtype_is_integral(t->dtype, true);
  bsm_dtype result =
      op_dtype_or(dtype, integral && !mean ? BSM_DTYPE_INT64 : t->dtype);
  if (mean && bsm_dtype_is_integral(result, true)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mean(): could not infer output dtype. Input dtype must be "
                    "either a floating point or complex dtype. Got: %s",
                    bsm_op_type_name(t->dtype));
  }
  if (variant == SUM_NANSUM && !integral &&
      bsm_dtype_is_integral(result, true)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"nansum_cpu\" not implemented for '%s'",
                    bsm_op_type_name(result));
  }
  /* The input takes the dtype asked for before it is summed. */
  if (!op_none(dtype)) BSM_TRY(bsm_op_cast(cx, t, result, &t));
  bsm_tensor *out;
  if (bsm_dtype_is_complex(result)) {
    if (variant == SUM_NANSUM || variant == SUM_NANMEAN) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "nansum does not support complex inputs");
    }
    BSM_TRY(bsm_op_cast(cx, t, result, &t));
    BSM_TRY(variant == SUM_PROD
                ? reduce_product(cx, t, mask, keepdim, &out)
                : reduce_parts(cx, t, mask, keepdim, f[variant], &out));
    return op_return(outs, out);
  }
  const red_params params = {.dtype = result};
  BSM_TRY(reduce(cx, t, mask, keepdim, result, f[variant], i[variant], &params,
                 &out));
  return op_return(outs, out);
}

/* (self, *, dtype) */
static bsm_status op_sum_all(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  return sum_like(cx, self->variant, t, (1u << t->sizes.rank) - 1u, false,
                  &args[1], outs);
}

/* (self, dim, keepdim, *, dtype) */
static bsm_status op_sum_dim(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, true, &mask));
  return sum_like(cx, self->variant, t, mask, op_bool(&args[2]), &args[3],
                  outs);
}

/* ---- any, all, count_nonzero ---- */

enum { LOGIC_ANY, LOGIC_ALL, LOGIC_COUNT };

static bsm_status logic(bsm_op_ctx *cx, int32_t variant, bsm_tensor *t,
                        uint32_t mask, bool keepdim, bsm_ivalue *outs) {
  static const red_f64 f[] = {f_any, f_all, f_count};
  bsm_tensor *out;
  bsm_dtype dtype =
      t->dtype == BSM_DTYPE_UINT8 ? BSM_DTYPE_UINT8 : BSM_DTYPE_BOOL;
  if (variant == LOGIC_COUNT) dtype = BSM_DTYPE_INT64;
  if (bsm_dtype_is_complex(t->dtype)) {
    const bsm_ivalue zero = bsm_iv_int(0);
    BSM_TRY(bsm_op_wrap(cx, &zero, &out));
    BSM_TRY(bsm_op_not_equal(cx, t, out, &t));
  }
  BSM_TRY(reduce(cx, t, mask, keepdim, dtype, f[variant], NULL, NULL, &out));
  return op_return(outs, out);
}

static bsm_status op_logic_all(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  return logic(cx, self->variant, t, (1u << t->sizes.rank) - 1u, false, outs);
}

static bsm_status op_logic_dim(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, false, &mask));
  return logic(cx, self->variant, t, mask, op_bool(&args[2]), outs);
}

/* count_nonzero(self, dim?) and .dim_IntList */
static bsm_status op_count_nonzero(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, true, &mask));
  return logic(cx, LOGIC_COUNT, t, mask, false, outs);
}

/* ---- variance ---- */

enum { VAR_VAR, VAR_STD, VAR_MEAN, STD_MEAN };

/* Of complex numbers: the sum of the variances of their parts. */
static bsm_status complex_variance(bsm_op_ctx *cx, bsm_tensor *t, uint32_t mask,
                                   const red_params *params, bool keepdim,
                                   bool std, bsm_tensor **out) {
  bsm_tensor *parts;
  const red_params two = {2.0, BSM_DTYPE_DOUBLE};
  BSM_TRY(bsm_op_view_as_real(cx, t, &parts));
  BSM_TRY(reduce(cx, parts, mask, keepdim, BSM_DTYPE_DOUBLE,
                 std ? f_std : f_var, NULL, params, &parts));
  return reduce(cx, parts, 1u << (parts->sizes.rank - 1), false,
                bsm_dtype_value_type(t->dtype), std ? f_norm : f_sum, NULL,
                &two, out);
}

static bsm_status variance(bsm_op_ctx *cx, int32_t variant, bsm_tensor *t,
                           uint32_t mask, double correction, bool keepdim,
                           bsm_ivalue *outs) {
  const red_params params = {correction, t->dtype};
  bsm_tensor *out;
  const bool std = variant == VAR_STD || variant == STD_MEAN;
  if (bsm_dtype_is_complex(t->dtype)) {
    BSM_TRY(complex_variance(cx, t, mask, &params, keepdim, std, &out));
    outs[0] = bsm_iv_tensor(out);
    if (variant == VAR_MEAN || variant == STD_MEAN) {
      BSM_TRY(reduce_parts(cx, t, mask, keepdim, f_mean, &out));
      outs[1] = bsm_iv_tensor(out);
    }
    return BSM_OK;
  }
  if (!bsm_dtype_is_floating(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "std and var only support floating point and complex "
                    "dtypes");
  }
  BSM_TRY(reduce(cx, t, mask, keepdim, t->dtype, std ? f_std : f_var, NULL,
                 &params, &out));
  outs[0] = bsm_iv_tensor(out);
  if (variant == VAR_MEAN || variant == STD_MEAN) {
    BSM_TRY(reduce(cx, t, mask, keepdim, t->dtype, f_mean, NULL, NULL, &out));
    outs[1] = bsm_iv_tensor(out);
  }
  return BSM_OK;
}

/* (self, unbiased) */
static bsm_status op_var_all(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  return variance(cx, self->variant, t, (1u << t->sizes.rank) - 1u,
                  op_bool(&args[1]) ? 1.0 : 0.0, false, outs);
}

/* (self, dim, unbiased, keepdim) */
static bsm_status op_var_dim(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, true, &mask));
  return variance(cx, self->variant, t, mask, op_bool(&args[2]) ? 1.0 : 0.0,
                  op_bool(&args[3]), outs);
}

/* (self, dim, *, correction, keepdim) */
static bsm_status op_var_correction(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, true, &mask));
  return variance(cx, self->variant, t, mask,
                  op_none(&args[2]) ? 1.0 : op_double(&args[2]),
                  op_bool(&args[3]), outs);
}

/* ---- norms ---- */

static bsm_status norm(bsm_op_ctx *cx, bsm_tensor *t, const bsm_ivalue *p,
                       uint32_t mask, bool keepdim, const bsm_ivalue *dtype,
                       bsm_ivalue *outs) {
  const red_params params = {p && !op_none(p) ? op_double(p) : 2.0, t->dtype};
  bsm_tensor *out;
  const bsm_dtype wanted = dtype ? op_dtype_or(dtype, t->dtype) : t->dtype;
  const bsm_dtype result = bsm_dtype_value_type(wanted);
  if (bsm_dtype_is_complex(t->dtype)) BSM_TRY(bsm_op_abs(cx, t, &t));
  if (!bsm_dtype_is_floating(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.vector_norm: Expected a floating point or complex "
                    "tensor as input. Got %s",
                    bsm_op_type_name(t->dtype));
  }
  for (int32_t i = 0; i < t->sizes.rank && isinf(params.p); i++) {
    if (!(mask >> (unsigned)i & 1u) || t->sizes.d[i] > 0) continue;
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "linalg.vector_norm cannot compute the %g norm on an empty "
                    "tensor because the operation does not have an identity",
                    params.p);
  }
  BSM_TRY(reduce(cx, t, mask, keepdim, result, f_norm, NULL, &params, &out));
  return op_return(outs, out);
}

enum { NORM_ALL, NORM_ALL_DTYPE, NORM_DIM, NORM_DIM_DTYPE, NORM_FRO };

static bsm_status op_norm(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  uint32_t mask = (1u << t->sizes.rank) - 1u;
  bool keepdim = false;
  const bsm_ivalue *dtype = NULL, *p = &args[1];
  switch (self->variant) {
    case NORM_ALL_DTYPE:
      dtype = &args[2];
      break;
    case NORM_DIM_DTYPE: /* (self, ord, dim, keepdim, dtype) */
      dtype = &args[4];
      /* fall through */
    case NORM_DIM:
      BSM_TRY(bsm_op_dim_mask(&args[2], t->sizes.rank, true, &mask));
      keepdim = op_bool(&args[3]);
      break;
    case NORM_FRO:
      BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, true, &mask));
      keepdim = op_bool(&args[2]);
      p = NULL;
      break;
    default:
      break;
  }
  return norm(cx, t, p, mask, keepdim, dtype, outs);
}

static bsm_status op_logsumexp(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, true, &mask));
  const bsm_dtype dtype =
      bsm_dtype_is_floating(t->dtype) ? t->dtype : BSM_DTYPE_FLOAT;
  BSM_TRY(reduce(cx, t, mask, op_bool(&args[2]), dtype, f_logsumexp, NULL, NULL,
                 &out));
  return op_return(outs, out);
}

/* ---- extremes ---- */

static bsm_status need_elements(const bsm_tensor *t, uint32_t mask,
                                const char *name) {
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (!(mask & 1u << i) || t->sizes.d[i] != 0) continue;
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s(): Expected reduction dim %d to have non-zero size.",
                    name, (int)i);
  }
  return BSM_OK;
}

enum { EXT_MIN, EXT_MAX, EXT_BOTH };
static const char *const ext_names[] = {"min", "max", "aminmax"};

static bsm_status extreme(bsm_op_ctx *cx, bool max, bsm_tensor *t,
                          uint32_t mask, bool keepdim, bsm_ivalue *out) {
  bsm_tensor *result;
  BSM_TRY(need_elements(t, mask, ext_names[max]));
  BSM_TRY(reduce(cx, t, mask, keepdim, t->dtype, max ? f_max : f_min,
                 max ? i_max : i_min, NULL, &result));
  *out = bsm_iv_tensor(result);
  return BSM_OK;
}

/* max(self): over everything. */
static bsm_status op_extreme_all(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  if (bsm_tensor_numel(t) == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s(): Expected reduction dim to be specified for "
                    "input.numel() == 0. Specify the reduction dim with the "
                    "'dim' argument.",
                    ext_names[self->variant]);
  }
  return extreme(cx, self->variant == EXT_MAX, t, (1u << t->sizes.rank) - 1u,
                 false, &outs[0]);
}

/* amax(self, dim[], keepdim) */
static bsm_status op_amax(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, true, &mask));
  return extreme(cx, self->variant == EXT_MAX, t, mask, op_bool(&args[2]),
                 &outs[0]);
}

static bsm_status op_aminmax(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, true, &mask));
  BSM_TRY(extreme(cx, false, t, mask, op_bool(&args[2]), &outs[0]));
  return extreme(cx, true, t, mask, op_bool(&args[2]), &outs[1]);
}

/* Positions of the extremes in their rows. */
static bsm_status extreme_index(bsm_op_ctx *cx, bool max, bsm_tensor *t,
                                uint32_t mask, bool keepdim, bsm_tensor **out) {
  red_plan plan;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(plan_reduction(cx, t, mask, keepdim, &plan));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, plan.out, out));
  if (cx->meta) return BSM_OK;
  int64_t *dst = bsm_tensor_data(*out);
  if (bsm_dtype_is_integral(t->dtype, true)) {
    const int64_t *x = bsm_op_load_ints(cx, plan.view);
    BSM_TRY_ALLOC(x);
    for (size_t r = 0; r < plan.rows; r++) {
      dst[r] = (int64_t)i_arg(x + r * plan.row, plan.row, max);
    }
    return BSM_OK;
  }
  const double *x = bsm_op_load_all(cx, plan.view);
  BSM_TRY_ALLOC(x);
  for (size_t r = 0; r < plan.rows; r++) {
    dst[r] = (int64_t)f_arg(x + r * plan.row, plan.row, max);
  }
  return BSM_OK;
}

/* argmax(self, dim?, keepdim) */
static bsm_status op_argmax(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const char *name = self->variant == EXT_MAX ? "argmax" : "argmin";
  uint32_t mask = (1u << t->sizes.rank) - 1u;
  if (op_none(&args[1])) {
    if (bsm_tensor_numel(t) == 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "%s(): Expected reduction dim to be specified for "
                      "input.numel() == 0. Specify the reduction dim with the "
                      "'dim' argument.",
                      name);
    }
  } else {
    BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, false, &mask));
    BSM_TRY(need_elements(t, mask, name));
  }
  BSM_TRY(extreme_index(cx, self->variant == EXT_MAX, t, mask,
                        op_bool(&args[2]), &out));
  return op_return(outs, out);
}

/* max.dim(self, dim, keepdim) -> (values, indices) */
static bsm_status op_extreme_dim(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *index;
  uint32_t mask;
  BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, false, &mask));
  BSM_TRY(extreme(cx, self->variant == EXT_MAX, t, mask, op_bool(&args[2]),
                  &outs[0]));
  BSM_TRY(extreme_index(cx, self->variant == EXT_MAX, t, mask,
                        op_bool(&args[2]), &index));
  outs[1] = bsm_iv_tensor(index);
  return BSM_OK;
}

/* The lower median: its position, stable; the first NaN wins. `items` has room
 * for 2 n. */
static size_t median_index(const double *x, size_t n, bsm_ordered *items) {
  for (size_t i = 0; i < n; i++) {
    if (isnan(x[i])) return i;
    items[i] = (bsm_ordered){bsm_order_of_double(x[i]), (int64_t)i};
  }
  const size_t want = (n - 1) / 2;
  return (size_t)bsm_order_first(items, n, want + 1)[want].position;
}

enum { MEDIAN_ALL, MEDIAN_DIM };

static bsm_status op_median(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *values, *index;
  uint32_t mask = (1u << t->sizes.rank) - 1u;
  bool keepdim = false;
  if (self->variant == MEDIAN_DIM) {
    BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, false, &mask));
    BSM_TRY(need_elements(t, mask, "median"));
    keepdim = op_bool(&args[2]);
  }
  red_plan plan;
  BSM_TRY(bsm_op_real(t));
  if (t->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"median_out\" not implemented for 'Bool'");
  }
  BSM_TRY(plan_reduction(cx, t, mask, keepdim, &plan));
  BSM_TRY(bsm_op_new(cx, t->dtype, plan.out, &values));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, plan.out, &index));
  outs[0] = bsm_iv_tensor(values);
  if (self->variant == MEDIAN_DIM) outs[1] = bsm_iv_tensor(index);
  if (cx->meta) return BSM_OK;
  BSM_TRY(bsm_op_charge(cx, (int64_t)plan.rows, (int64_t)plan.row, 32));
  const double *x = bsm_op_load_all(cx, plan.view);
  bsm_ordered *items = BSM_NEW_ARRAY(cx->arena, bsm_ordered, 2 * plan.row + 1);
  BSM_TRY_ALLOC(x && items);
  for (size_t r = 0; r < plan.rows; r++) {
    const double *row = x + r * plan.row;
    const size_t at = plan.row ? median_index(row, plan.row, items) : 0;
    ((int64_t *)bsm_tensor_data(index))[r] = (int64_t)at;
    bsm_store1_f64(
        t->dtype,
        (char *)bsm_tensor_data(values) + r * bsm_dtype_size(t->dtype),
        plan.row ? row[at] : NAN);
  }
  return BSM_OK;
}

/* ---- scans ---- */

enum { SCAN_SUM, SCAN_PROD, SCAN_MAX, SCAN_MIN, SCAN_LOGSUMEXP };

static void scan_f64(int32_t variant, const double *x, size_t n, double *y,
                     double *at) {
  double acc = variant == SCAN_PROD ? 1.0 : 0.0, where = 0.0;
  for (size_t i = 0; i < n; i++) {
    switch (variant) {
      case SCAN_SUM:
        acc += x[i];
        break;
      case SCAN_PROD:
        acc *= x[i];
        break;
      case SCAN_LOGSUMEXP: {
        if (i == 0) {
          acc = x[0];
          break;
        }
        const double m = acc > x[i] ? acc : x[i], l = acc > x[i] ? x[i] : acc;
        acc = isnan(acc) || isnan(x[i]) ? NAN
              : isinf(m)                ? m
                                        : m + log1p(exp(l - m));
        break;
      }
      default: {
        const bool better =
            i == 0 || isnan(x[i]) ||
            (!isnan(acc) && (variant == SCAN_MAX ? x[i] >= acc : x[i] <= acc));
        if (better) {
          acc = x[i];
          where = (double)i;
        }
      }
    }
    y[i] = acc;
    at[i] = where;
  }
}

static void scan_i64(int32_t variant, const int64_t *x, size_t n, int64_t *y) {
  uint64_t acc = variant == SCAN_PROD ? 1u : 0u;
  for (size_t i = 0; i < n; i++) {
    acc = variant == SCAN_PROD ? acc * (uint64_t)x[i] : acc + (uint64_t)x[i];
    y[i] = (int64_t)acc;
  }
}

/* Runs a scan along `dim`; `index` may be NULL. */
static bsm_status scan(bsm_op_ctx *cx, int32_t variant, bsm_tensor *t, int dim,
                       bsm_tensor *out, bsm_tensor *index) {
  bsm_tensor *to, *at = NULL;
  const int last = t->sizes.rank > 0 ? t->sizes.rank - 1 : 0;
  BSM_TRY(bsm_op_transpose(cx, t, dim, last, &t));
  BSM_TRY(bsm_op_transpose(cx, out, dim, last, &to));
  if (index) BSM_TRY(bsm_op_transpose(cx, index, dim, last, &at));
  const size_t total = (size_t)bsm_tensor_numel(t);
  const size_t n = t->sizes.rank ? (size_t)t->sizes.d[last] : 1;
  const bool integral = bsm_dtype_is_integral(t->dtype, true);
  if (integral && variant <= SCAN_PROD) {
    int64_t *x = bsm_op_load_ints(cx, t);
    BSM_TRY_ALLOC(x);
    for (size_t r = 0; r < total; r += n) scan_i64(variant, x + r, n, x + r);
    const bsm_tensor *one[] = {to};
    bsm_iter it;
    bsm_iter_init(&it, to->sizes, one, 1);
    while (bsm_iter_next(&it)) {
      bsm_store_i64(to->dtype, it.ptr[0], it.step[0], (size_t)it.count, x);
      x += it.count;
    }
    return BSM_OK;
  }
  double *x = bsm_op_load_all(cx, t);
  double *y = BSM_NEW_ARRAY(cx->arena, double, 2 * total + 1);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(y);
  for (size_t r = 0; r < total; r += n) {
    scan_f64(variant, x + r, n, y + r, y + total + r);
  }
  bsm_op_store_all(to, y);
  if (at) bsm_op_store_all(at, y + total);
  return BSM_OK;
}

/* cumsum and cumprod of complex numbers along `dim`. */
static bsm_status scan_complex(bsm_op_ctx *cx, int32_t variant, bsm_tensor *t,
                               int dim, bsm_tensor *out) {
  const int last = t->sizes.rank > 0 ? t->sizes.rank - 1 : 0;
  BSM_TRY(bsm_op_transpose(cx, t, dim, last, &t));
  BSM_TRY(bsm_op_transpose(cx, out, dim, last, &out));
  const size_t total = (size_t)bsm_tensor_numel(t);
  const size_t n = t->sizes.rank ? (size_t)t->sizes.d[last] : 1;
  bsm_c128 *x = bsm_op_load_complex(cx, t);
  BSM_TRY_ALLOC(x);
  for (size_t i = 0; i < total; i++) {
    if (i % n == 0) continue;
    x[i] = variant == SCAN_SUM ? bsm_c_add(x[i - 1], x[i])
                               : bsm_c_mul(x[i - 1], x[i]);
  }
  bsm_op_store_complex(out, x);
  return BSM_OK;
}

/* cumsum(self, dim, *, dtype) */
static bsm_status op_scan(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int dim;
  if (self->variant == SCAN_LOGSUMEXP) BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_number(t));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  const bool inplace = self->flags & BSM_ATEN_INPLACE;
  bsm_dtype dtype = t->dtype;
  if (self->variant != SCAN_LOGSUMEXP) {
    const bool integral = bsm_dtype_is_integral(t->dtype, true);
    dtype = op_dtype_or(&args[2],
                        integral && !inplace ? BSM_DTYPE_INT64 : t->dtype);
  }
  if (inplace) {
    BSM_TRY(bsm_op_writable(cx, t));
    out = t;
  } else {
    BSM_TRY(bsm_op_new(cx, dtype, t->sizes, &out));
  }
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  BSM_TRY(bsm_op_cast(cx, t, dtype, &t));
  if (bsm_dtype_is_complex(dtype)) {
    return scan_complex(cx, self->variant, t, dim, out);
  }
  return scan(cx, self->variant, t, dim, out, NULL);
}

/* cummax(self, dim) -> (values, indices) */
static bsm_status op_scan_index(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out, *index;
  int dim;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, &out));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, t->sizes, &index));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(index);
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  return scan(cx, self->variant, t, dim, out, index);
}

static bsm_status op_trace(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  if (t->sizes.rank != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "trace: expected a matrix");
  }
  const int64_t n =
      t->sizes.d[0] < t->sizes.d[1] ? t->sizes.d[0] : t->sizes.d[1];
  bsm_tensor *diagonal;
  const int64_t stride = t->strides[0] + t->strides[1];
  BSM_TRY(bsm_tensor_view(cx->arena, t, op_dims1(n), &stride, t->offset,
                          &diagonal));
  const bsm_ivalue none = bsm_iv_none();
  return sum_like(cx, SUM_SUM, diagonal, 1u, false, &none, outs);
}

static const bsm_aten_op rows[] = {
    OP("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       op_sum_all, SUM_SUM, 0),
    OP("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor",
       op_sum_dim, SUM_SUM, 0),
    OP("aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor",
       op_sum_dim, SUM_NANSUM, 0),
    OP("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       op_sum_all, SUM_MEAN, 0),
    OP("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor",
       op_sum_dim, SUM_MEAN, 0),
    OP("aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor",
       op_sum_dim, SUM_NANMEAN, 0),
    OP("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       op_sum_all, SUM_PROD, 0),
    OP("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor",
       op_sum_dim, SUM_PROD, 0),
    OP("aten::any(Tensor self) -> Tensor", op_logic_all, LOGIC_ANY, 0),
    OP("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
       op_logic_dim, LOGIC_ANY, 0),
    OP("aten::all(Tensor self) -> Tensor", op_logic_all, LOGIC_ALL, 0),
    OP("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
       op_logic_dim, LOGIC_ALL, 0),
    OP("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> "
       "Tensor",
       op_logic_dim, LOGIC_ANY, 0),
    OP("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> "
       "Tensor",
       op_logic_dim, LOGIC_ALL, 0),
    OP("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
       op_count_nonzero, 0, 0),
    OP("aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
       op_count_nonzero, 0, 0),
    OP("aten::var(Tensor self, bool unbiased=True) -> Tensor", op_var_all,
       VAR_VAR, 0),
    OP("aten::std(Tensor self, bool unbiased=True) -> Tensor", op_var_all,
       VAR_STD, 0),
    OP("aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       op_var_all, VAR_MEAN, 0),
    OP("aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       op_var_all, STD_MEAN, 0),
    OP("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
       "keepdim=False) -> Tensor",
       op_var_dim, VAR_VAR, 0),
    OP("aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
       "keepdim=False) -> Tensor",
       op_var_dim, VAR_STD, 0),
    OP("aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
       "keepdim=False) -> (Tensor, Tensor)",
       op_var_dim, VAR_MEAN, 0),
    OP("aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
       "keepdim=False) -> (Tensor, Tensor)",
       op_var_dim, STD_MEAN, 0),
    OP("aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? "
       "correction=None, bool keepdim=False) -> Tensor",
       op_var_correction, VAR_VAR, 0),
    OP("aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? "
       "correction=None, bool keepdim=False) -> Tensor",
       op_var_correction, VAR_STD, 0),
    OP("aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
       "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
       op_var_correction, VAR_MEAN, 0),
    OP("aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
       "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
       op_var_correction, STD_MEAN, 0),
    OP("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", op_norm,
       NORM_ALL, 0),
    OP("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType "
       "dtype) "
       "-> Tensor",
       op_norm, NORM_ALL_DTYPE, 0),
    OP("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool "
       "keepdim=False) -> Tensor",
       op_norm, NORM_DIM, 0),
    OP("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, "
       "bool "
       "keepdim, *, ScalarType dtype) -> Tensor",
       op_norm, NORM_DIM_DTYPE, 0),
    OP("aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, "
       "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       op_norm, NORM_DIM_DTYPE, 0),
    OP("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) "
       "-> "
       "Tensor",
       op_norm, NORM_FRO, 0),
    OP("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
       op_logsumexp, 0, 0),
    OP("aten::max(Tensor self) -> Tensor", op_extreme_all, EXT_MAX, 0),
    OP("aten::min(Tensor self) -> Tensor", op_extreme_all, EXT_MIN, 0),
    OP("aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
       op_amax, EXT_MAX, 0),
    OP("aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
       op_amax, EXT_MIN, 0),
    OP("aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> "
       "(Tensor min, Tensor max)",
       op_aminmax, EXT_BOTH, 0),
    OP("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
       op_argmax, EXT_MAX, 0),
    OP("aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
       op_argmax, EXT_MIN, 0),
    OP("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
       "values, Tensor indices)",
       op_extreme_dim, EXT_MAX, 0),
    OP("aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
       "values, Tensor indices)",
       op_extreme_dim, EXT_MIN, 0),
    OP("aten::median(Tensor self) -> Tensor", op_median, MEDIAN_ALL, 0),
    OP("aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
       "values, Tensor indices)",
       op_median, MEDIAN_DIM, 0),
    OP("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> "
       "Tensor",
       op_scan, SCAN_SUM, 0),
    OP("aten::cumsum_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> "
       "Tensor(a!)",
       op_scan, SCAN_SUM, BSM_ATEN_INPLACE),
    OP("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> "
       "Tensor",
       op_scan, SCAN_PROD, 0),
    OP("aten::cumprod_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> "
       "Tensor(a!)",
       op_scan, SCAN_PROD, BSM_ATEN_INPLACE),
    OP("aten::logcumsumexp(Tensor self, int dim) -> Tensor", op_scan,
       SCAN_LOGSUMEXP, 0),
    OP("aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
       op_scan_index, SCAN_MAX, 0),
    OP("aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
       op_scan_index, SCAN_MIN, 0),
    OP("aten::trace(Tensor self) -> Tensor", op_trace, 0, 0),
    OP("aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) "
       "-> "
       "Tensor",
       op_logsumexp, 0, 0),
};
BSM_ATEN_TABLE(reduce, rows);
