/* SPDX-License-Identifier: Apache-2.0 */
/* Special functions, orthogonal polynomials, and the less common arithmetic:
 * logaddexp, gcd, heaviside, float_power, ... */
#include "aten/packed/aten_special.h"
#include "aten/complex_math.h"
#include "aten/special.h"

/* ---- of one number ---- */

#define UNARY(fn, expr)                                          \
  static void fn(double *out, const double *const *in, size_t n, \
                 const void *params) {                           \
    (void)params;                                                \
    for (size_t k = 0; k < n; k++) {                             \
      const double x = in[0][k];                                 \
      out[k] = (expr);                                           \
    }                                                            \
  }

UNARY(f_i0, bsm_sf_i0(x))
UNARY(f_i0e, bsm_sf_i0e(x))
UNARY(f_i1, bsm_sf_i1(x))
UNARY(f_i1e, bsm_sf_i1e(x))
UNARY(f_k0, bsm_sf_k0(x))
UNARY(f_k0e, bsm_sf_k0e(x))
UNARY(f_k1, bsm_sf_k1(x))
UNARY(f_k1e, bsm_sf_k1e(x))
/* At infinity PyTorch's have no value. */
UNARY(f_j0, isinf(x) ? NAN : j0(fabs(x)))
UNARY(f_j1, isinf(x) ? NAN : j1(x))
UNARY(f_y0, x < 0.0 || isinf(x) ? NAN : x == 0.0 ? -INFINITY : y0(x))
UNARY(f_y1, x < 0.0 || isinf(x) ? NAN : x == 0.0 ? -INFINITY : y1(x))
UNARY(f_spherical_j0, bsm_sf_spherical_j0(x))
UNARY(f_airy_ai, bsm_sf_airy_ai(x))
UNARY(f_ndtr, bsm_sf_ndtr(x))
UNARY(f_ndtri, bsm_sf_ndtri(x))
UNARY(f_log_ndtr, bsm_sf_log_ndtr(x))
UNARY(f_erfcx, bsm_sf_erfcx(x))
UNARY(f_entr, bsm_sf_entr(x))

enum {
  SPECIAL_I0,
  SPECIAL_I0E,
  SPECIAL_I1,
  SPECIAL_I1E,
  SPECIAL_K0,
  SPECIAL_K0E,
  SPECIAL_K1,
  SPECIAL_K1E,
  SPECIAL_J0,
  SPECIAL_J1,
  SPECIAL_Y0,
  SPECIAL_Y1,
  SPECIAL_SPHERICAL_J0,
  SPECIAL_AIRY_AI,
  SPECIAL_NDTR,
  SPECIAL_NDTRI,
  SPECIAL_LOG_NDTR,
  SPECIAL_ERFCX,
  SPECIAL_ENTR
};

/* What a series does for an element. */
enum { SERIES_WORK = 128 };

static bsm_status op_special(OP_PARAMS) {
  static const bsm_pw_f64 rows[] = {
      f_i0,   f_i0e,   f_i1,       f_i1e,   f_k0,  f_k0e,          f_k1,
      f_k1e,  f_j0,    f_j1,       f_y0,    f_y1,  f_spherical_j0, f_airy_ai,
      f_ndtr, f_ndtri, f_log_ndtr, f_erfcx, f_entr};
  const bsm_pointwise pw = {.name = "special",
                            .f = rows[self->variant],
                            .flags = BSM_PW_FLOAT,
                            .work = SERIES_WORK};
  bsm_tensor *t = op_tensor(&args[0]), *out;
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1,
                           self->flags & BSM_ATEN_INPLACE ? t : NULL, &out));
  return op_return(outs, out);
}

static void f_polygamma(double *out, const double *const *in, size_t n,
                        const void *params) {
  const int order = *(const int *)params;
  for (size_t k = 0; k < n; k++) out[k] = bsm_sf_polygamma(order, in[0][k]);
}

/* polygamma(n, self); polygamma_(self, n) */
static bsm_status op_polygamma(OP_PARAMS) {
  const bool inplace = self->flags & BSM_ATEN_INPLACE;
  bsm_tensor *t = op_tensor(&args[inplace ? 0 : 1]), *out;
  const int64_t n = op_int(&args[inplace ? 1 : 0]);
  if (n < 0 || n > 100000) {
    return BSM_FAIL(n < 0 ? BSM_INVALID_ARGUMENT : BSM_LIMIT,
                    "polygamma(n, x) does not support n = %lld.", (long long)n);
  }
  const int order = (int)n;
  const bsm_pointwise pw = {.name = "polygamma",
                            .f = f_polygamma,
                            .flags = BSM_PW_FLOAT,
                            .params = &order,
                            .work = SERIES_WORK};
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1, inplace ? t : NULL, &out));
  return op_return(outs, out);
}

static void f_mvlgamma(double *out, const double *const *in, size_t n,
                       const void *params) {
  const int p = *(const int *)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = p * (p - 1.0) / 4.0 * log(M_PI);
    for (int j = 0; j < p; j++) out[k] += lgamma(in[0][k] - j / 2.0);
  }
}

/* mvlgamma(self, p) */
static bsm_status op_mvlgamma(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int64_t p = op_int(&args[1]);
  if (p < 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "p has to be greater than or equal to 1");
  }
  if (p > 100000) {
    return BSM_FAIL(BSM_LIMIT, "mvlgamma: p may be 100000 at most, got %lld",
                    (long long)p);
  }
  const int order = (int)p;
  const bsm_pointwise pw = {.name = "mvlgamma",
                            .f = f_mvlgamma,
                            .flags = BSM_PW_FLOAT,
                            .params = &order,
                            .work = 32 * order};
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1,
                           self->flags & BSM_ATEN_INPLACE ? t : NULL, &out));
  return op_return(outs, out);
}

/* ---- of two numbers ---- */

#define BINARY(fn, expr)                                         \
  static void fn(double *out, const double *const *in, size_t n, \
                 const void *params) {                           \
    (void)params;                                                \
    for (size_t k = 0; k < n; k++) {                             \
      const double a = in[0][k], b = in[1][k];                   \
      out[k] = (expr);                                           \
    }                                                            \
  }
#define BINARY_INT(fn, expr)                                       \
  static void fn(int64_t *out, const int64_t *const *in, size_t n, \
                 const void *params) {                             \
    (void)params;                                                  \
    for (size_t k = 0; k < n; k++) {                               \
      const int64_t a = in[0][k], b = in[1][k];                    \
      out[k] = (expr);                                             \
    }                                                              \
  }

static double x_times_log(double x, double y, bool plus_one) {
  if (isnan(y)) return y;
  if (x == 0.0) return 0.0;
  return x * (plus_one ? log1p(y) : log(y));
}

static double log_add(double a, double b, bool base2) {
  if (isinf(a) && a == b) return a;
  const double most = fmax(a, b), gap = -fabs(a - b);
  if (isnan(a) || isnan(b)) return NAN;
  return base2 ? most + log1p(exp2(gap)) / M_LN2 : most + log1p(exp(gap));
}

static int64_t multiple(int64_t a, int64_t b) {
  const int64_t g = bsm_i64_gcd(a, b);
  if (g == 0) return 0;
  const uint64_t q = (uint64_t)(g == -1 ? a : a / g);
  const int64_t m = (int64_t)(q * (uint64_t)b);
  return m < 0 ? (int64_t)((uint64_t)0 - (uint64_t)m) : m;
}

BINARY(f_xlogy, x_times_log(a, b, false))
BINARY(f_xlog1py, x_times_log(a, b, true))
BINARY(f_zeta, bsm_sf_zeta(a, b))
BINARY(f_igamma, bsm_sf_igamma(a, b))
BINARY(f_igammac, bsm_sf_igammac(a, b))
BINARY(f_logaddexp, log_add(a, b, false))
BINARY(f_logaddexp2, log_add(a, b, true))
BINARY(f_heaviside, a == 0.0 ? b : (double)(a > 0.0))
BINARY_INT(i_heaviside, a == 0 ? b : (int64_t)(a > 0))
BINARY_INT(i_gcd, bsm_i64_gcd(a, b))
BINARY_INT(i_lcm, multiple(a, b))
BINARY(f_next, nextafter(a, b))
BINARY(f_next_single, (double)nextafterf((float)a, (float)b))

enum {
  PAIR_XLOGY,
  PAIR_XLOG1PY,
  PAIR_ZETA,
  PAIR_IGAMMA,
  PAIR_IGAMMAC,
  PAIR_LOGADDEXP,
  PAIR_LOGADDEXP2,
  PAIR_HEAVISIDE,
  PAIR_GCD,
  PAIR_LCM,
  PAIR_NEXTAFTER
};

static const bsm_pointwise pairs[] = {
    [PAIR_XLOGY] = {"xlogy_cpu", f_xlogy, NULL, BSM_PW_FLOAT},
    [PAIR_XLOG1PY] = {"xlog1py_cpu", f_xlog1py, NULL, BSM_PW_FLOAT},
    [PAIR_ZETA] = {"zeta", f_zeta, NULL, BSM_PW_FLOAT},
    [PAIR_IGAMMA] = {"igamma", f_igamma, NULL, 0},
    [PAIR_IGAMMAC] = {"igammac", f_igammac, NULL, 0},
    [PAIR_LOGADDEXP] = {"logaddexp_cpu", f_logaddexp, NULL, 0},
    [PAIR_LOGADDEXP2] = {"logaddexp2_cpu", f_logaddexp2, NULL, 0},
    [PAIR_HEAVISIDE] = {"heaviside_cpu", f_heaviside, i_heaviside, 0},
    [PAIR_GCD] = {"gcd_cpu", NULL, i_gcd, 0},
    [PAIR_LCM] = {"lcm_cpu", NULL, i_lcm, 0},
    [PAIR_NEXTAFTER] = {"nextafter_cpu", f_next, NULL, 0},
};

static bsm_status operand(bsm_op_ctx *cx, const bsm_ivalue *a,
                          bsm_tensor **out) {
  *out = op_tensor(a);
  return *out ? BSM_OK : bsm_op_wrap(cx, a, out);
}

static bsm_status op_pair(OP_PARAMS) {
  bsm_tensor *in[2], *out;
  bsm_pointwise pw = pairs[self->variant];
  pw.work = SERIES_WORK;
  BSM_TRY(operand(cx, &args[0], &in[0]));
  BSM_TRY(operand(cx, &args[1], &in[1]));
  const bsm_dtype common = bsm_op_result_type(in, 2);
  if (self->variant == PAIR_HEAVISIDE && in[0]->dtype != in[1]->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "heaviside is not yet implemented for tensors with "
                    "different dtypes.");
  }
  if ((self->variant == PAIR_GCD || self->variant == PAIR_LCM) &&
      common == BSM_DTYPE_BOOL) {
    pw.i = NULL;
  }
  if (self->variant == PAIR_NEXTAFTER) {
    if (common == BSM_DTYPE_HALF || common == BSM_DTYPE_BFLOAT16) pw.f = NULL;
    if (common == BSM_DTYPE_FLOAT) pw.f = f_next_single;
  }
  BSM_TRY(bsm_op_pointwise(
      cx, &pw, in, 2, self->flags & BSM_ATEN_INPLACE ? in[0] : NULL, &out));
  return op_return(outs, out);
}

BINARY(f_times, a *b)
UNARY(f_power_of_2, exp2(x))

/* ldexp(self, other): self * 2^other */
static bsm_status op_ldexp(OP_PARAMS) {
  bsm_pointwise power = {"pow", f_power_of_2, NULL, BSM_PW_FLOAT};
  static const bsm_pointwise times = {"mul_cpu", f_times, NULL, 0};
  bsm_tensor *in[] = {op_tensor(&args[0]), op_tensor(&args[1])}, *out;
  if (bsm_dtype_is_integral(in[1]->dtype, true) &&
      bsm_dtype_is_floating(in[0]->dtype)) {
    power.common = in[0]->dtype;
    power.has_common = true;
  }
  BSM_TRY(bsm_op_pointwise(cx, &power, &in[1], 1, NULL, &in[1]));
  BSM_TRY(bsm_op_pointwise(
      cx, &times, in, 2, self->flags & BSM_ATEN_INPLACE ? in[0] : NULL, &out));
  return op_return(outs, out);
}

BINARY(f_pow, pow(a, b))
static void c_pow(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                  const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) out[k] = bsm_c_pow(in[0][k], in[1][k]);
}

/* float_power(self, exponent): in double, or complex128 */
static bsm_status op_float_power(OP_PARAMS) {
  bsm_pointwise pw = {"pow", f_pow, NULL, 0, .has_common = true, .c = c_pow};
  bsm_tensor *in[2], *out;
  const bool inplace = self->flags & BSM_ATEN_INPLACE;
  pw.common = BSM_DTYPE_DOUBLE;
  for (int i = 0; i < 2; i++) {
    BSM_TRY(operand(cx, &args[i], &in[i]));
    if (bsm_dtype_is_complex(in[i]->dtype)) {
      pw.common = BSM_DTYPE_COMPLEX_DOUBLE;
    }
  }
  if (inplace && in[0]->dtype != pw.common) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the base given to float_power_ has dtype %s but the "
                    "operation's result requires dtype %s",
                    bsm_op_type_name(in[0]->dtype),
                    bsm_op_type_name(pw.common));
  }
  BSM_TRY(bsm_op_pointwise(cx, &pw, in, 2, inplace ? in[0] : NULL, &out));
  return op_return(outs, out);
}

/* frexp(self) -> (mantissa, exponent) */
static bsm_status op_frexp(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *mantissa, *exponent;
  if (!bsm_dtype_is_floating(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.frexp() only supports floating-point dtypes");
  }
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &mantissa));
  BSM_TRY(bsm_op_new_like(cx, BSM_DTYPE_INT32, t, &exponent));
  outs[0] = bsm_iv_tensor(mantissa);
  outs[1] = bsm_iv_tensor(exponent);
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(t);
  double *m = bsm_op_load_all(cx, t);
  double *e = BSM_NEW_ARRAY(cx->arena, double, (size_t)n + 1);
  BSM_TRY_ALLOC(m);
  BSM_TRY_ALLOC(e);
  for (int64_t i = 0; i < n; i++) {
    int power = 0;
    m[i] = frexp(m[i], &power);
    e[i] = power;
  }
  bsm_op_store_all(mantissa, m);
  bsm_op_store_all(exponent, e);
  return BSM_OK;
}

/* ---- orthogonal polynomials ---- */

enum { POLY_T, POLY_U, POLY_V, POLY_W, POLY_H, POLY_HE, POLY_L, POLY_P };
enum {
  POLY_SHIFTED = 16, /* of 2 x - 1 */
  LARGEST_DEGREE = 100000
};

/* The polynomial of degree n at x, by its recurrence. */
static double polynomial(int32_t kind, double x, double degree) {
  if (kind & POLY_SHIFTED) x = 2.0 * x - 1.0;
  kind &= ~POLY_SHIFTED;
  /* The degree is truncated; NaN is a negative one. */
  if (!(degree >= 1.0)) return degree > -1.0 ? 1.0 : 0.0;
  if (degree > LARGEST_DEGREE) {
    return kind == POLY_T && fabs(x) <= 1.0 ? cos(trunc(degree) * acos(x))
                                            : NAN;
  }
  const int n = (int)degree;
  double previous = 1.0, current = 2.0 * x;
  if (kind == POLY_T || kind == POLY_HE || kind == POLY_P) current = x;
  if (kind == POLY_V) current = 2.0 * x - 1.0;
  if (kind == POLY_W) current = 2.0 * x + 1.0;
  if (kind == POLY_L) current = 1.0 - x;
  for (int k = 1; k < n; k++) {
    double next = 2.0 * x * current - previous;
    if (kind == POLY_H) next = 2.0 * (x * current - k * previous);
    if (kind == POLY_HE) next = x * current - k * previous;
    if (kind == POLY_L) {
      next = ((2.0 * k + 1.0 - x) * current - k * previous) / (k + 1.0);
    }
    if (kind == POLY_P) {
      next = ((2.0 * k + 1.0) * x * current - k * previous) / (k + 1.0);
    }
    previous = current;
    current = next;
  }
  return current;
}

static void f_polynomial(double *out, const double *const *in, size_t n,
                         const void *params) {
  const int32_t kind = *(const int32_t *)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = polynomial(kind, in[0][k], in[1][k]);
  }
}

static int32_t largest_degree(const bsm_tensor *degrees) {
  double most = 0.0;
  for (int64_t i = 0; i < bsm_tensor_numel(degrees); i++) {
    const double n = bsm_tensor_get_double(degrees, i);
    if (n > most && n <= LARGEST_DEGREE) most = n;
  }
  return (int32_t)most;
}

/* special_chebyshev_polynomial_t(x, n) and its kin */
static bsm_status op_polynomial(OP_PARAMS) {
  bsm_pointwise pw = {.name = "polynomial",
                      .f = f_polynomial,
                      .flags = BSM_PW_FLOAT,
                      .params = &self->variant};
  bsm_tensor *in[2], *out;
  BSM_TRY(operand(cx, &args[0], &in[0]));
  BSM_TRY(operand(cx, &args[1], &in[1]));
  if (!cx->meta) pw.work = 8 * largest_degree(in[1]);
  BSM_TRY(bsm_op_pointwise(cx, &pw, in, 2, NULL, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::i0(Tensor self) -> Tensor", op_special, SPECIAL_I0, 0),
    OP("aten::special_i0(Tensor self) -> Tensor", op_special, SPECIAL_I0, 0),
    OP("aten::special_i0e(Tensor self) -> Tensor", op_special, SPECIAL_I0E, 0),
    OP("aten::special_i1(Tensor self) -> Tensor", op_special, SPECIAL_I1, 0),
    OP("aten::special_i1e(Tensor self) -> Tensor", op_special, SPECIAL_I1E, 0),
    OP("aten::special_modified_bessel_i0(Tensor self) -> Tensor", op_special,
       SPECIAL_I0, 0),
    OP("aten::special_modified_bessel_i1(Tensor self) -> Tensor", op_special,
       SPECIAL_I1, 0),
    OP("aten::special_modified_bessel_k0(Tensor self) -> Tensor", op_special,
       SPECIAL_K0, 0),
    OP("aten::special_modified_bessel_k1(Tensor self) -> Tensor", op_special,
       SPECIAL_K1, 0),
    OP("aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor",
       op_special, SPECIAL_K0E, 0),
    OP("aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor",
       op_special, SPECIAL_K1E, 0),
    OP("aten::special_bessel_j0(Tensor self) -> Tensor", op_special, SPECIAL_J0,
       0),
    OP("aten::special_bessel_j1(Tensor self) -> Tensor", op_special, SPECIAL_J1,
       0),
    OP("aten::special_bessel_y0(Tensor self) -> Tensor", op_special, SPECIAL_Y0,
       0),
    OP("aten::special_bessel_y1(Tensor self) -> Tensor", op_special, SPECIAL_Y1,
       0),
    OP("aten::special_spherical_bessel_j0(Tensor x) -> Tensor", op_special,
       SPECIAL_SPHERICAL_J0, 0),
    OP("aten::special_airy_ai(Tensor x) -> Tensor", op_special, SPECIAL_AIRY_AI,
       0),
    OP("aten::special_ndtr(Tensor self) -> Tensor", op_special, SPECIAL_NDTR,
       0),
    OP("aten::special_ndtri(Tensor self) -> Tensor", op_special, SPECIAL_NDTRI,
       0),
    OP("aten::special_log_ndtr(Tensor self) -> Tensor", op_special,
       SPECIAL_LOG_NDTR, 0),
    OP("aten::special_erfcx(Tensor self) -> Tensor", op_special, SPECIAL_ERFCX,
       0),
    OP("aten::special_entr(Tensor self) -> Tensor", op_special, SPECIAL_ENTR,
       0),
    OP("aten::i0_(Tensor(a!) self) -> Tensor(a!)", op_special, SPECIAL_I0,
       BSM_ATEN_INPLACE),
    OP("aten::polygamma(int n, Tensor self) -> Tensor", op_polygamma, 0, 0),
    OP("aten::special_polygamma(int n, Tensor self) -> Tensor", op_polygamma, 0,
       0),
    OP("aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", op_polygamma,
       0, BSM_ATEN_INPLACE),
    OP("aten::mvlgamma(Tensor self, int p) -> Tensor", op_mvlgamma, 0, 0),
    OP("aten::special_multigammaln(Tensor self, int p) -> Tensor", op_mvlgamma,
       0, 0),
    OP("aten::mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!)", op_mvlgamma, 0,
       BSM_ATEN_INPLACE),
    OP("aten::special_xlogy(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_XLOGY, 0),
    OP("aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
       op_pair, PAIR_XLOGY, 0),
    OP("aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
       op_pair, PAIR_XLOGY, 0),
    OP("aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_XLOG1PY, 0),
    OP("aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> "
       "Tensor",
       op_pair, PAIR_XLOG1PY, 0),
    OP("aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
       op_pair, PAIR_XLOG1PY, 0),
    OP("aten::special_zeta(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_ZETA, 0),
    OP("aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
       op_pair, PAIR_ZETA, 0),
    OP("aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
       op_pair, PAIR_ZETA, 0),
    OP("aten::xlogy_.Scalar_Other(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_pair, PAIR_XLOGY, BSM_ATEN_INPLACE),
    OP("aten::igamma(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_IGAMMA, 0),
    OP("aten::igamma_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_pair,
       PAIR_IGAMMA, BSM_ATEN_INPLACE),
    OP("aten::igammac(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_IGAMMAC, 0),
    OP("aten::igammac_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_pair,
       PAIR_IGAMMAC, BSM_ATEN_INPLACE),
    OP("aten::heaviside(Tensor self, Tensor values) -> Tensor", op_pair,
       PAIR_HEAVISIDE, 0),
    OP("aten::heaviside_(Tensor(a!) self, Tensor values) -> Tensor(a!)",
       op_pair, PAIR_HEAVISIDE, BSM_ATEN_INPLACE),
    OP("aten::gcd(Tensor self, Tensor other) -> Tensor", op_pair, PAIR_GCD, 0),
    OP("aten::gcd_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_pair,
       PAIR_GCD, BSM_ATEN_INPLACE),
    OP("aten::lcm(Tensor self, Tensor other) -> Tensor", op_pair, PAIR_LCM, 0),
    OP("aten::lcm_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_pair,
       PAIR_LCM, BSM_ATEN_INPLACE),
    OP("aten::nextafter(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_NEXTAFTER, 0),
    OP("aten::nextafter_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_pair,
       PAIR_NEXTAFTER, BSM_ATEN_INPLACE),
    OP("aten::special_gammainc(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_IGAMMA, 0),
    OP("aten::special_gammaincc(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_IGAMMAC, 0),
    OP("aten::logaddexp(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_LOGADDEXP, 0),
    OP("aten::logaddexp2(Tensor self, Tensor other) -> Tensor", op_pair,
       PAIR_LOGADDEXP2, 0),
    OP("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", op_ldexp, 0,
       0),
    OP("aten::ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_ldexp, 0,
       BSM_ATEN_INPLACE),
    OP("aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
       op_frexp, 0, 0),
    OP("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> "
       "Tensor",
       op_float_power, 0, BSM_ATEN_COMPLEX),
    OP("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> "
       "Tensor",
       op_float_power, 0, BSM_ATEN_COMPLEX),
    OP("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
       op_float_power, 0, BSM_ATEN_COMPLEX),
    OP("aten::float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> "
       "Tensor(a!)",
       op_float_power, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> "
       "Tensor(a!)",
       op_float_power, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
       op_polynomial, POLY_T, 0),
    OP("aten::special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_T, 0),
    OP("aten::special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> "
       "Tensor",
       op_polynomial, POLY_T, 0),
    OP("aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
       op_polynomial, POLY_U, 0),
    OP("aten::special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_U, 0),
    OP("aten::special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> "
       "Tensor",
       op_polynomial, POLY_U, 0),
    OP("aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
       op_polynomial, POLY_V, 0),
    OP("aten::special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_V, 0),
    OP("aten::special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> "
       "Tensor",
       op_polynomial, POLY_V, 0),
    OP("aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
       op_polynomial, POLY_W, 0),
    OP("aten::special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_W, 0),
    OP("aten::special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> "
       "Tensor",
       op_polynomial, POLY_W, 0),
    OP("aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor",
       op_polynomial, POLY_H, 0),
    OP("aten::special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_H, 0),
    OP("aten::special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> "
       "Tensor",
       op_polynomial, POLY_H, 0),
    OP("aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor",
       op_polynomial, POLY_HE, 0),
    OP("aten::special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_HE, 0),
    OP("aten::special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> "
       "Tensor",
       op_polynomial, POLY_HE, 0),
    OP("aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor",
       op_polynomial, POLY_L, 0),
    OP("aten::special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_L, 0),
    OP("aten::special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> "
       "Tensor",
       op_polynomial, POLY_L, 0),
    OP("aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor",
       op_polynomial, POLY_P, 0),
    OP("aten::special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_P, 0),
    OP("aten::special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> "
       "Tensor",
       op_polynomial, POLY_P, 0),
    OP("aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_SHIFTED | POLY_T, 0),
    OP("aten::special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor "
       "n) -> Tensor",
       op_polynomial, POLY_SHIFTED | POLY_T, 0),
    OP("aten::special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar "
       "n) -> Tensor",
       op_polynomial, POLY_SHIFTED | POLY_T, 0),
    OP("aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_SHIFTED | POLY_U, 0),
    OP("aten::special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor "
       "n) -> Tensor",
       op_polynomial, POLY_SHIFTED | POLY_U, 0),
    OP("aten::special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar "
       "n) -> Tensor",
       op_polynomial, POLY_SHIFTED | POLY_U, 0),
    OP("aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_SHIFTED | POLY_V, 0),
    OP("aten::special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor "
       "n) -> Tensor",
       op_polynomial, POLY_SHIFTED | POLY_V, 0),
    OP("aten::special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar "
       "n) -> Tensor",
       op_polynomial, POLY_SHIFTED | POLY_V, 0),
    OP("aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> "
       "Tensor",
       op_polynomial, POLY_SHIFTED | POLY_W, 0),
    OP("aten::special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor "
       "n) -> Tensor",
       op_polynomial, POLY_SHIFTED | POLY_W, 0),
    OP("aten::special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar "
       "n) -> Tensor",
       op_polynomial, POLY_SHIFTED | POLY_W, 0),
};
BSM_ATEN_TABLE(special, rows);
