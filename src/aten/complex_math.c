/* SPDX-License-Identifier: Apache-2.0 */
/* Complex functions, on the C library's. */
#include "aten/complex_math.h"

#include <complex.h>

static double _Complex to_c(bsm_c128 z) {
  union {
    bsm_c128 parts;
    double _Complex whole;
  } u = {.parts = z};
  return u.whole;
}

static bsm_c128 from_c(double _Complex z) {
  return (bsm_c128){creal(z), cimag(z)};
}

/* hypot() takes ten times as long, which only great and small squares need. */
static inline double square_of(bsm_c128 a) {
  return a.re * a.re + a.im * a.im;
}

/* Whether a root of the square is as good as hypot. */
static inline bool is_usual(double square) {
  return square > 0x1p-900 && square < 0x1p900;
}

double bsm_c_abs(bsm_c128 a) {
  const double square = square_of(a);
  return is_usual(square) ? sqrt(square) : hypot(a.re, a.im);
}

/* Scaled by the larger part of the divisor. */
bsm_c128 bsm_c_div(bsm_c128 a, bsm_c128 b) {
  const double c = b.re, d = b.im;
  if (fabs(c) >= fabs(d)) {
    if (c == 0.0 && d == 0.0) {
      return (bsm_c128){a.re / fabs(c), a.im / fabs(d)};
    }
    const double ratio = d / c, scale = 1.0 / (c + d * ratio);
    return (bsm_c128){(a.re + a.im * ratio) * scale,
                      (a.im - a.re * ratio) * scale};
  }
  const double ratio = c / d, scale = 1.0 / (c * ratio + d);
  return (bsm_c128){(a.re * ratio + a.im) * scale,
                    (a.im * ratio - a.re) * scale};
}

bsm_c128 bsm_c_pow(bsm_c128 a, bsm_c128 b) {
  if (b.re == 0.0 && b.im == 0.0) return (bsm_c128){1.0, 0.0};
  if (a.re == 0.0 && a.im == 0.0 && b.im == 0.0 && b.re > 0.0) return a;
  if (b.re == 1.0 && b.im == 0.0) return a;
  if (b.re == 2.0 && b.im == 0.0) return bsm_c_mul(a, a);
  return from_c(cpow(to_c(a), to_c(b)));
}

#define LIBM(name)                         \
  bsm_c128 bsm_c_##name##_of(bsm_c128 z) { \
    return from_c(c##name(to_c(z)));       \
  }
LIBM(exp)
LIBM(log)
LIBM(sqrt)
LIBM(sin)
LIBM(cos)
LIBM(tan)
LIBM(asin)
LIBM(acos)
LIBM(atan)
LIBM(sinh)
LIBM(cosh)
LIBM(tanh)
LIBM(asinh)
LIBM(acosh)
LIBM(atanh)

#define FORMULA(name, expr)                \
  bsm_c128 bsm_c_##name##_of(bsm_c128 z) { \
    return (expr);                         \
  }
#define REAL(value) \
  (bsm_c128) {      \
    (value), 0.0    \
  }

FORMULA(neg, ((bsm_c128){-z.re, -z.im}))
FORMULA(conj, bsm_c_conj(z))
FORMULA(same, z)
FORMULA(exp2, bsm_c_exp_of(bsm_c_scale(z, M_LN2)))
FORMULA(log2, bsm_c_scale(bsm_c_log_of(z), 1.0 / M_LN2))
FORMULA(log10, bsm_c_scale(bsm_c_log_of(z), 1.0 / M_LN10))
FORMULA(rsqrt, bsm_c_div(REAL(1.0), bsm_c_sqrt_of(z)))
FORMULA(reciprocal, bsm_c_div(REAL(1.0), z))
FORMULA(square, bsm_c_mul(z, z))
FORMULA(absolute, REAL(bsm_c_abs(z)))
FORMULA(angle, REAL(atan2(z.im, z.re)))
FORMULA(isnan, REAL(isnan(z.re) || isnan(z.im) ? 1.0 : 0.0))
FORMULA(isinf, REAL(isinf(z.re) || isinf(z.im) ? 1.0 : 0.0))
FORMULA(isfinite, REAL(isfinite(z.re) && isfinite(z.im) ? 1.0 : 0.0))
FORMULA(logical_not, REAL(z.re == 0.0 && z.im == 0.0 ? 1.0 : 0.0))
FORMULA(sigmoid,
        bsm_c_div(REAL(1.0),
                  bsm_c_add(REAL(1.0), bsm_c_exp_of((bsm_c128){-z.re, -z.im}))))

/* exp(z) - 1 without cancellation near 0. */
bsm_c128 bsm_c_expm1_of(bsm_c128 z) {
  const double s = sin(z.im / 2.0), e = exp(z.re);
  return (bsm_c128){expm1(z.re) * cos(z.im) - 2.0 * s * s, e * sin(z.im)};
}

bsm_c128 bsm_c_log1p_of(bsm_c128 z) {
  const double x = 1.0 + z.re, angle = atan2(z.im, x);
  if (fabs(z.re) < 0.5 && fabs(z.im) < 0.5) {
    return (bsm_c128){0.5 * log1p(z.re * (2.0 + z.re) + z.im * z.im), angle};
  }
  return (bsm_c128){log(hypot(x, z.im)), angle};
}

bsm_c128 bsm_c_sgn_of(bsm_c128 z) {
  const double r = bsm_c_abs(z);
  return r == 0.0 ? REAL(0.0) : (bsm_c128){z.re / r, z.im / r};
}

bsm_c128 bsm_c_sinc_of(bsm_c128 z) {
  if (z.re == 0.0 && z.im == 0.0) return REAL(1.0);
  const bsm_c128 p = bsm_c_scale(z, M_PI);
  return bsm_c_div(bsm_c_sin_of(p), p);
}

#define F(name)                                                             \
  void bsm_c_row_##name(bsm_c128 *out, const bsm_c128 *const *in, size_t n, \
                        const void *params) {                               \
    (void)params;                                                           \
    for (size_t k = 0; k < n; k++) out[k] = bsm_c_##name##_of(in[0][k]);    \
  }
BSM_COMPLEX_UNARY(F)
#undef F

/* Roots one after the other, without a branch for each. */
void bsm_c_row_absolute(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                        const void *params) {
  bool usual = true;
  (void)params;
  for (size_t k = 0; k < n; k++) {
    const double square = square_of(in[0][k]);
    usual &= is_usual(square);
    out[k] = REAL(sqrt(square));
  }
  for (size_t k = 0; k < n && !usual; k++) out[k].re = bsm_c_abs(in[0][k]);
}
