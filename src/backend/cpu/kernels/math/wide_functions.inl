/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of floats that are computed in double and rounded once, in the
 * vocabulary of doubles_*.h: BSM_K_WIDES of vector_math.h.
 *
 * Doubles make short what floats would need many steps for: a sum of two terms
 * that cancel keeps enough digits, no function but the powers of e overflows,
 * and denormals are normal. The polynomials interpolate at Chebyshev nodes; the
 * errors of the functions are below 2^-33 before they are rounded.
 *
 * All functions share their code: wide_value chooses for each vector, which
 * costs less than the code of a loop for each. */

#include "backend/cpu/kernels/simd/unroll.h"

#define WIDE_SHARED __attribute__((noinline))

#define WIDE_POLY(z, c) wide_poly(z, c, (int)(sizeof(c) / sizeof((c)[0])))

VF_INLINE vd wide_poly(vd z, const double *c, int n) {
  vd p = vd_set(c[0]);
  for (int i = 1; i < n; i++) p = vd_fma(p, z, vd_set(c[i]));
  return p;
}

VF_INLINE vd wide_sign(vd x) {
  return vd_and(x, vd_set(-0.0));
}
VF_INLINE vd wide_abs(vd x) {
  return vd_xor(x, wide_sign(x));
}

/* ---- sine, cosine, tangent ---- */

/* Adding it moves an integer below 2^51 to the low bits. */
#define WIDE_MAGIC 0x1.8p52
/* Up to here two terms of pi / 2 are enough. */
#define WIDE_NEAR 0x1p30

/* 2 / pi in pieces that have exact products with floats. */
static const double wide_two_over_pi[] = {
    0x1.45f306dp-1,   0x1.9391054p-30, 0x1.4fe13abp-59, 0x1.d1f534dp-88,
    0x1.b81b6c5p-117, 0x1.5993c4p-148, 0x1.c820ff2p-175};

/* r = a - n pi / 2 for any a >= 0, n modulo 4. Of each product what is a
 * multiple of 4 is left out; `lost` is what the sum rounds off. */
static WIDE_SHARED vd wide_reduce_far(vd a, vd *n) {
  const vd quarter = vd_set(0.25), four = vd_set(4.0);
  vd sum = vd_set(0.0), lost = vd_set(0.0);
  ROLLED for (int i = 0; i < 7; i++) {
    vd p = vd_mul(a, vd_set(wide_two_over_pi[i]));
    p = vd_fnma(vd_round(vd_mul(p, quarter)), four, p);
    const vd s = vd_add(sum, p), q = vd_sub(s, sum);
    lost = vd_add(lost, vd_add(vd_sub(sum, vd_sub(s, q)), vd_sub(p, q)));
    sum = vd_fnma(vd_round(vd_mul(s, quarter)), four, s);
  }
  *n = vd_round(sum);
  return vd_mul(vd_add(vd_sub(sum, *n), lost), vd_set(0x1.921fb54442d18p+0));
}

VF_INLINE vd wide_reduce(vd a, vd *n) {
  const vdm near = vd_le(a, vd_set(WIDE_NEAR));
  *n = vd_round(vd_mul(a, vd_set(0x1.45f306dc9c883p-1)));
  vd r = vd_fnma(*n, vd_set(0x1.921fb54442d18p+0), a);
  r = vd_fnma(*n, vd_set(0x1.1a62633145c07p-54), r);
  if (vdm_all(near)) return r;
  vd m;
  const vd far = wide_reduce_far(a, &m);
  *n = vd_select(near, *n, m);
  return vd_select(near, r, far);
}

VF_INLINE vd wide_trigonometric(int32_t function, vd x) {
  static const double sines[] = {2.7249864655139585e-06,
                                 -0.00019840086263755443, 0.008333331873837089,
                                 -0.16666666663853044};
  static const double cosines[] = {-2.73009081679551e-07,
                                   2.480059998353126e-05,
                                   -0.0013888887671288108,
                                   0.04166666666431933,
                                   -0.5,
                                   1.0};
  vd n;
  const vd r = wide_reduce(wide_abs(x), &n), z = vd_mul(r, r);
  const vd s = vd_fma(vd_mul(r, z), WIDE_POLY(z, sines), r);
  const vd c = WIDE_POLY(z, cosines);
  if (function == BSM_K_COS) n = vd_add(n, vd_set(1.0));
  const vd bits = vd_add(n, vd_set(WIDE_MAGIC));
  const vd odd = vd_shl(bits, 63);
  const vdm swap = vd_negative(odd);
  vd y = vd_select(swap, c, s), sign = wide_sign(vd_shl(bits, 62));
  if (function == BSM_K_TAN) {
    y = vd_div(y, vd_select(swap, s, c));
    sign = odd;
  }
  if (function != BSM_K_COS) sign = vd_xor(sign, wide_sign(x));
  return vd_xor(y, sign);
}

/* ---- powers of e, and logarithms ---- */

/* e^x - 1 for |x| <= 200, or e^x, which the difference would lose for x < 0. */
static WIDE_SHARED vd wide_exp(vd x, vd minus) {
  static const double terms[] = {2.4860745193047496e-05,
                                 0.00019900441465296745,
                                 0.001388885263392293,
                                 0.008333297067428719,
                                 0.041666666722201,
                                 0.16666666722219042,
                                 0.5};
  const vd n = vd_round(vd_mul(x, vd_set(1.4426950408889634)));
  const vd r = vd_fnma(n, vd_set(0x1.62e42fefa39efp-1), x);
  const vd m = vd_fma(vd_mul(r, r), WIDE_POLY(r, terms), r);
  const vd power = vd_shl(vd_add(n, vd_set(WIDE_MAGIC + 1023.0)), 52);
  return vd_fma(power, m, vd_sub(power, minus));
}

/* The second is NaN when it is. */
VF_INLINE vd wide_at_most(double most, vd x) {
  return vd_min(vd_set(most), x);
}

VF_INLINE vd wide_hyperbolic(int32_t function, vd x) {
  const vd half = vd_set(0.5), one = vd_set(1.0);
  const vd m = wide_exp(wide_at_most(100.0, wide_abs(x)), one);
  const vd e = vd_add(m, one);
  if (function == BSM_K_COSH) {
    return vd_mul(half, vd_add(e, vd_div(one, e)));
  }
  return vd_xor(vd_mul(half, vd_add(m, vd_div(m, e))), wide_sign(x));
}

/* Of x = m 2^n with m in [sqrt(1/2), sqrt(2)): n log(2) + log(m), by the series
 * of log((1 + s) / (1 - s)). */
static WIDE_SHARED vd wide_log(vd x) {
  static const double terms[] = {0.23331614471843498, 0.28550778633191964,
                                 0.4000012221181065, 0.6666666655404201};
  /* As bits: 1 - sqrt(1/2), the mantissa, sqrt(1/2), 2^52. */
  const vd least = vd_set(0x1.6a09e667f3bcdp-1), low = vd_set(0x1p52);
  const vd shift = vd_set(0x0.95f619980c433p-1022);
  const vd mantissa = vd_set(0x0.fffffffffffffp-1022);
  const vd moved = vd_add_bits(x, shift), one = vd_set(1.0);
  const vd n = vd_sub(vd_or(vd_shr(moved, 52), low), vd_set(0x1p52 + 1023.0));
  const vd m = vd_add_bits(vd_and(moved, mantissa), least);
  const vd s = vd_div(vd_sub(m, one), vd_add(m, one)), z = vd_mul(s, s);
  vd y = vd_fma(vd_mul(s, z), WIDE_POLY(z, terms), vd_add(s, s));
  y = vd_fma(n, vd_set(0x1.62e42fefa39efp-1), y);
  const vd zero = vd_set(0.0), inf = vd_set(__builtin_inf());
  const vd none = vd_select(vd_eq(x, zero), vd_set(-__builtin_inf()),
                            vd_set(__builtin_nan("")));
  return vd_select(vd_eq(x, inf), x, vd_select(vd_lt(zero, x), y, none));
}

/* What the inverses of the hyperbolic functions are logarithms of. */
VF_INLINE vd wide_inverse(int32_t function, vd x) {
  const vd one = vd_set(1.0), a = wide_abs(x);
  vd y, factor = one;
  if (function == BSM_K_ATANH) {
    y = vd_div(vd_add(one, a), vd_sub(one, a));
    factor = vd_set(0.5);
  } else {
    const vd square = function == BSM_K_ACOSH ? vd_set(-1.0) : one;
    y = vd_add(a, vd_sqrt(vd_fma(a, a, square)));
  }
  y = vd_mul(wide_log(y), factor);
  if (function == BSM_K_ACOSH) {
    return vd_select(vd_le(one, x), y, vd_set(__builtin_nan("")));
  }
  y = vd_select(vd_lt(a, vd_set(0x1p-15)), a, y);
  return vd_xor(y, wide_sign(x));
}

/* x^y: e^(y log |x|), with a sign and what is no number for x < 0. */
VF_INLINE vd wide_power(vd x, vd y) {
  const vd zero = vd_set(0.0), one = vd_set(1.0), half = vd_set(0.5);
  const vd nan = vd_set(__builtin_nan(""));
  y = wide_at_most(1e30, vd_max(vd_set(-1e30), y)); /* times log(1) it is 0 */
  vd t = vd_mul(y, wide_log(wide_abs(x)));
  t = vd_select(vd_eq(y, zero), zero, vd_select(vd_eq(x, one), zero, t));
  t = wide_at_most(200.0, vd_max(vd_set(-200.0), t));
  const vd e = wide_exp(t, zero), h = vd_mul(y, half);
  /* Zeros and infinities have all powers. */
  const vd broken = vd_select(vd_eq(vd_add(x, x), x), one, nan);
  const vd whole = vd_select(vd_eq(vd_trunc(h), h), one, vd_set(-1.0));
  const vd factor = vd_select(vd_eq(vd_trunc(y), y), whole, broken);
  return vd_mul(e, vd_select(vd_negative(x), factor, one));
}

/* ---- angles ---- */

/* The angle of the point (x, y), of [0, 1] at first, with the arctangent of
 * what is at most tan(pi / 8). Infinities are taken for 1e300. */
VF_INLINE vd wide_angle(vd y, vd x) {
  static const double terms[] = {-0.040413140264706375, 0.07134420201218257,
                                 -0.09028824015576213,  0.11107482298859685,
                                 -0.14285612049555613,  0.19999998911296413,
                                 -0.33333333331428355};
  const vd ay = wide_at_most(1e300, wide_abs(y));
  const vd ax = wide_at_most(1e300, wide_abs(x));
  const vdm steep = vd_lt(ax, ay);
  const vd low = vd_select(steep, ax, ay);
  const vd high = vd_max(vd_set(1e-300), vd_select(steep, ay, ax));
  const vdm wide = vd_lt(vd_mul(high, vd_set(0.41421356237309503)), low);
  const vd t = vd_div(vd_select(wide, vd_sub(low, high), low),
                      vd_select(wide, vd_add(low, high), high));
  const vd z = vd_mul(t, t);
  vd a = vd_fma(vd_mul(t, z), WIDE_POLY(z, terms), t);
  a = vd_add(a, vd_select(wide, vd_set(0x1.921fb54442d18p-1), vd_set(0.0)));
  a = vd_select(steep, vd_sub(vd_set(0x1.921fb54442d18p+0), a), a);
  a = vd_select(vd_negative(x), vd_sub(vd_set(0x1.921fb54442d18p+1), a), a);
  return vd_or(a, wide_sign(y));
}

/* sqrt(1 - x^2): the other side of a triangle. */
VF_INLINE vd wide_side(vd x) {
  const vd one = vd_set(1.0);
  return vd_sqrt(vd_mul(vd_sub(one, x), vd_add(one, x)));
}

/* ---- division ---- */

/* a modulo b with the sign of a, exact for all floats: each turn takes 52 bits
 * of the quotient, or all of its rest. A quotient that was rounded up leaves a
 * negative rest. */
VF_INLINE vd wide_modulo(vd a, vd b) {
  const vd d = wide_abs(b);
  vd r = wide_abs(a);
  for (vdm more = vd_le(d, r); vdm_any(more); more = vd_le(d, wide_abs(r))) {
    r = vd_select(more, vd_fnma(vd_trunc(vd_div(r, d)), d, r), r);
  }
  r = vd_select(vd_lt(r, vd_set(0.0)), vd_add(r, d), r);
  return vd_select(vd_eq(d, d), vd_or(r, wide_sign(a)), d);
}

/* PyTorch's functions round each operation to float; a sum, a difference and a
 * quotient of floats are the same when they are rounded to double before. */
VF_INLINE vd wide_division(int32_t function, vd a, vd b) {
  const vd zero = vd_set(0.0);
  if (function == BSM_K_TRUNC_DIV) return vd_trunc(vd_to_float(vd_div(a, b)));
  vd mod = wide_modulo(a, b);
  if (function == BSM_K_FMOD) return mod;
  /* By zero the quotient is that of a. */
  if (function == BSM_K_FLOOR_DIV) mod = vd_select(vd_eq(b, zero), zero, mod);
  /* Whether there is a rest and its sign is not that of b. */
  const vd signs = vd_select(vd_eq(mod, zero), zero, vd_xor(mod, b));
  const vdm other = vd_negative(signs);
  if (function == BSM_K_REMAINDER) {
    return vd_select(other, vd_add(mod, b), mod);
  }
  vd y = vd_to_float(vd_div(vd_to_float(vd_sub(a, mod)), b));
  y = vd_select(other, vd_to_float(vd_sub(y, vd_set(1.0))), y);
  const vd floor = vd_floor(y);
  const vdm up = vd_lt(vd_set(0.5), vd_sub(y, floor));
  const vd whole = vd_select(up, vd_add(floor, vd_set(1.0)), floor);
  return vd_select(vd_eq(y, zero), wide_sign(vd_xor(a, b)), whole);
}

/* ---- all of them ---- */

static WIDE_SHARED vd wide_value(int32_t function, vd a, vd b) {
  switch (function) {
    case BSM_K_SIN:
    case BSM_K_COS:
    case BSM_K_TAN:
      return wide_trigonometric(function, a);
    case BSM_K_SINH:
    case BSM_K_COSH:
      return wide_hyperbolic(function, a);
    case BSM_K_ASINH:
    case BSM_K_ACOSH:
    case BSM_K_ATANH:
      return wide_inverse(function, a);
    case BSM_K_POW:
      return wide_power(a, b);
    case BSM_K_ASIN:
      b = wide_side(a);
      break;
    case BSM_K_ACOS:
      b = a;
      a = wide_side(a);
      break;
    case BSM_K_ATAN:
      b = vd_set(1.0);
      break;
    case BSM_K_ATAN2:
      break;
    default:
      return wide_division(function, a, b);
  }
  return wide_angle(a, b);
}

/* Divisions of VF_W floats whose quotients are below 2^22: the rest is exact in
 * float. Returns whether all are such; the result is the same as by
 * wide_division. */
static WIDE_SHARED bool near_division(int32_t function, const float *x,
                                      const float *z, float *y) {
  const vf a = vf_load(x), b = vf_load(z), q = vf_div(a, b);
  const vf zero = vf_zero(), one = vf_set(1.0f), inf = vf_set(__builtin_inff());
  const vf size = vf_select(vf_lt(vf_abs(b), inf), vf_abs(q), inf);
  if (!vm_all(vf_lt(size, vf_set(0x1p22f)))) return false;
  const vf whole = vf_trunc(q);
  /* Negative where the quotient was rounded up. */
  vf mod = vf_mul(vf_fnma(whole, b, a), vf_copysign(one, a));
  mod = vf_select(vf_lt(mod, zero), vf_add(mod, vf_abs(b)), mod);
  mod = vf_copysign(mod, a);
  const vm other = vf_lt(vf_mul(mod, vf_copysign(one, b)), zero);
  vf r = mod;
  if (function == BSM_K_TRUNC_DIV) {
    r = whole;
  } else if (function == BSM_K_REMAINDER) {
    r = vf_select(other, vf_add(mod, b), mod);
  } else if (function == BSM_K_FLOOR_DIV) {
    vf d = vf_div(vf_sub(a, mod), b);
    d = vf_select(other, vf_sub(d, one), d);
    const vf floor = vf_floor(d);
    const vm up = vf_gt(vf_sub(d, floor), vf_set(0.5f));
    r = vf_select(up, vf_add(floor, one), floor);
    r = vf_select(vf_eq(d, zero), vf_copysign(zero, q), r);
  }
  vf_store(y, r);
  return true;
}

static void wide_f32(int32_t function, const float *a, const float *b, float *y,
                     int64_t n) {
  for (int64_t i = 0; i < n; i += VD_W) {
    const int64_t rest = n - i;
    if (function >= BSM_K_FMOD && rest >= VF_W &&
        near_division(function, a + i, b + i, y + i)) {
      i += VF_W - VD_W;
      continue;
    }
    const vd p = vd_load_floats(a + i, rest);
    const vd q = vd_load_floats(b + i, rest);
    vd_store_floats(y + i, wide_value(function, p, q), rest);
  }
}
