/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions on vectors of floats, in the vocabulary of simd_*.h.
 *
 * The polynomials are minimax fits (weighted least squares on Chebyshev nodes
 * with Lawson's iteration) of the functions named beside them. */

/* clang-format off */
#define LN2_HI 0.693359375f      /* 10 bits: n * LN2_HI is exact */
#define LN2_LO (-2.12194440e-4f)
#define LOG2_E 1.44269504f
/* clang-format on */

/* 2^n for n in [-126, 127]. */
VF_INLINE vf vf_pow2i(vi n) {
  return vi_as_float(vi_shl(vi_add(n, vi_set(127)), 23));
}

/* a * 2^n for n in [-252, 254], rounded once, into the denormals. */
VF_INLINE vf vf_scale_pow2(vf a, vi n) {
  const vi half = vi_sar(n, 1);
  return vf_mul(vf_mul(a, vf_pow2i(half)), vf_pow2i(vi_sub(n, half)));
}

/* Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits; below
 * 2^22. */
#define ROUND_MAGIC 12582912.0f
#define ROUND_MAGIC_BITS 0x4b400000

/* a * 2^n, where `shifted` is n + ROUND_MAGIC: as vf_scale_pow2. */
VF_INLINE vf vf_scale_shifted(vf a, vf n, vf shifted) {
#if VF_W == 16
  (void)shifted;
  return _mm512_scalef_ps(a, n);
#else
  (void)n;
  return vf_scale_pow2(a, vi_sub(vf_bits(shifted), vi_set(ROUND_MAGIC_BITS)));
#endif
}

/* The same for n in [-126, 127] and a normal result. */
VF_INLINE vf vf_scale_near(vf a, vf n, vf shifted) {
#if VF_W == 16
  (void)shifted;
  return _mm512_scalef_ps(a, n);
#else
  (void)n;
  return vi_as_float(vi_add(vf_bits(a), vi_shl(vf_bits(shifted), 23)));
#endif
}

/* 1 / d for 1 <= d < 2^126, 1.5 ulp. */
VF_INLINE vf vf_recip_near(vf d) {
#if VF_W == 16
  const vf r = _mm512_rcp14_ps(d);
  return vf_fma(r, vf_fnma(d, r, vf_set(1.0f)), r);
#else
  return vf_div(vf_set(1.0f), d);
#endif
}

/* e^r for |r| <= ln(2) / 2. */
VF_INLINE vf vf_exp_reduced(vf r) {
  vf p = vf_set(1.381456852e-03f);
  p = vf_fma(p, r, vf_set(8.368730545e-03f));
  p = vf_fma(p, r, vf_set(4.166838899e-02f));
  p = vf_fma(p, r, vf_set(1.666652113e-01f));
  p = vf_fma(p, r, vf_set(4.999999404e-01f));
  p = vf_fma(p, r, vf_set(1.0f));
  return vf_fma(p, r, vf_set(1.0f));
}

VF_INLINE vf vf_exp(vf x) {
  x = vf_min(vf_set(89.0f), vf_max(vf_set(-104.0f), x));
  const vf shifted = vf_fma(x, vf_set(LOG2_E), vf_set(ROUND_MAGIC));
  const vf n = vf_sub(shifted, vf_set(ROUND_MAGIC));
  vf r = vf_fnma(n, vf_set(LN2_HI), x);
  r = vf_fnma(n, vf_set(LN2_LO), r);
  return vf_scale_shifted(vf_exp_reduced(r), n, shifted);
}

/* e^x with x moved into [-87, 87], for what adds it to 1. */
#define NEAR_END 87.0f
VF_INLINE vf vf_exp_near(vf x) {
  x = vf_min(vf_set(NEAR_END), vf_max(vf_set(-NEAR_END), x));
  const vf shifted = vf_fma(x, vf_set(LOG2_E), vf_set(ROUND_MAGIC));
  const vf n = vf_sub(shifted, vf_set(ROUND_MAGIC));
  vf r = vf_fnma(n, vf_set(LN2_HI), x);
  r = vf_fnma(n, vf_set(LN2_LO), r);
  return vf_scale_near(vf_exp_reduced(r), n, shifted);
}

VF_INLINE vf vf_exp2(vf x) {
  x = vf_min(vf_set(129.0f), vf_max(vf_set(-151.0f), x));
  const vf n = vf_round(x);
  const vf r = vf_mul(vf_sub(x, n), vf_set(0.693147181f));
  return vf_scale_pow2(vf_exp_reduced(r), vf_to_int(n));
}

VF_INLINE vf vf_expm1(vf x) {
  const vf c = vf_min(vf_set(89.0f), vf_max(vf_set(-20.0f), x));
  const vf n = vf_round(vf_mul(c, vf_set(LOG2_E)));
  vf r = vf_fnma(n, vf_set(LN2_HI), c);
  r = vf_fnma(n, vf_set(LN2_LO), r);
  vf p = vf_set(1.984587871e-04f); /* (e^r - 1 - r) / r^2 */
  p = vf_fma(p, r, vf_set(1.394064748e-03f));
  p = vf_fma(p, r, vf_set(8.333389647e-03f));
  p = vf_fma(p, r, vf_set(4.166636243e-02f));
  p = vf_fma(p, r, vf_set(1.666666567e-01f));
  p = vf_fma(p, r, vf_set(0.5f));
  p = vf_fma(vf_mul(r, r), p, r);
  const vi i = vf_to_int(n);
  const vf small_n = vf_min(n, vf_set(64.0f));
  const vf s = vf_pow2i(vf_to_int(small_n));
  const vf near = vf_fma(s, p, vf_sub(s, vf_set(1.0f)));
  const vf far = vf_scale_pow2(vf_add(p, vf_set(1.0f)), i);
  const vf y = vf_select(vf_gt(n, vf_set(25.0f)), far, near);
  return vf_select(vf_eq(x, vf_zero()), x, y); /* the sign of zero */
}

/* Splits x > 0 into m * 2^e with m in [sqrt(1/2), sqrt(2)). */
VF_INLINE vf vf_split(vf x, vf *e) {
  const vm tiny = vf_lt(x, vf_set(1.17549435e-38f));
  x = vf_select(tiny, vf_mul(x, vf_set(33554432.0f)), x);
  const vi bits = vf_bits(x);
  const vi n = vi_sar(vi_sub(bits, vi_set(0x3f3504f3)), 23);
  *e = vf_sub(vi_to_float(n), vf_select(tiny, vf_set(25.0f), vf_zero()));
  return vi_as_float(vi_sub(bits, vi_shl(n, 23)));
}

/* log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)). */
VF_INLINE vf vf_log1p_tail(vf f) {
  vf p = vf_set(6.746601313e-02f);
  p = vf_fma(p, f, vf_set(-1.167564094e-01f));
  p = vf_fma(p, f, vf_set(1.188817471e-01f));
  p = vf_fma(p, f, vf_set(-1.240559146e-01f));
  p = vf_fma(p, f, vf_set(1.421955079e-01f));
  p = vf_fma(p, f, vf_set(-1.666799635e-01f));
  p = vf_fma(p, f, vf_set(2.000211924e-01f));
  p = vf_fma(p, f, vf_set(-2.500000894e-01f));
  p = vf_fma(p, f, vf_set(3.333331347e-01f));
  const vf f2 = vf_mul(f, f);
  return vf_fma(vf_mul(f2, f), p, vf_mul(f2, vf_set(-0.5f)));
}

/* The values of a logarithm where x is not positive and finite. */
VF_INLINE vf vf_log_special(vf x, vf y) {
  const vf inf = vf_set(__builtin_inff());
  y = vf_select(vf_eq(x, inf), inf, y);
  y = vf_select(vf_eq(x, vf_zero()), vf_neg(inf), y);
  y = vf_select(vf_lt(x, vf_zero()), vf_set(__builtin_nanf("")), y);
  return vf_select(vf_is_nan(x), x, y);
}

VF_INLINE vf vf_log(vf x) {
  vf e;
  const vf f = vf_sub(vf_split(x, &e), vf_set(1.0f));
  vf y = vf_fma(e, vf_set(LN2_LO), vf_log1p_tail(f));
  y = vf_add(y, f);
  y = vf_fma(e, vf_set(LN2_HI), y);
  return vf_log_special(x, y);
}

VF_INLINE vf vf_log2(vf x) {
  vf e;
  const vf f = vf_sub(vf_split(x, &e), vf_set(1.0f));
  const vf y = vf_add(f, vf_log1p_tail(f));
  /* log2(e) = 1.4375 + 0.00519504... */
  vf z = vf_mul(y, vf_set(5.19504089e-03f));
  z = vf_fma(y, vf_set(1.4375f), z);
  return vf_log_special(x, vf_add(e, z));
}

VF_INLINE vf vf_log10(vf x) {
  vf e;
  const vf f = vf_sub(vf_split(x, &e), vf_set(1.0f));
  const vf y = vf_add(f, vf_log1p_tail(f));
  /* log10(2) = 0.30078125 + 0.00024874566..., log10(e) = 0.434294482 */
  vf z = vf_mul(e, vf_set(2.48745663981195e-4f));
  z = vf_fma(y, vf_set(4.34294482e-1f), z);
  return vf_log_special(x, vf_fma(e, vf_set(0.30078125f), z));
}

VF_INLINE vf vf_log1p(vf x) {
  const vf u = vf_add(x, vf_set(1.0f));
  const vf lost = vf_sub(x, vf_sub(u, vf_set(1.0f)));
  const vf y = vf_log(u);
  const vf fixed = vf_add(y, vf_div(lost, u));
  const vf plain = vf_select(vf_eq(u, vf_set(1.0f)), x, fixed);
  const vm ends = vf_lt(vf_abs(u), vf_set(__builtin_inff()));
  return vf_select(ends, vf_select(vf_eq(u, vf_zero()), y, plain), y);
}

VF_INLINE vf vf_tanh(vf x) {
  const vf z = vf_abs(x), s = vf_mul(x, x);
  vf p = vf_set(-5.704990588e-03f); /* (tanh(x) - x) / x^3 in x^2 */
  p = vf_fma(p, s, vf_set(2.063908987e-02f));
  p = vf_fma(p, s, vf_set(-5.373971537e-02f));
  p = vf_fma(p, s, vf_set(1.333144158e-01f));
  p = vf_fma(p, s, vf_set(-3.333328068e-01f));
  const vf small = vf_fma(vf_mul(s, x), p, x);
  const vf one = vf_set(1.0f);
  const vf e = vf_add(vf_exp_near(vf_add(z, z)), one);
  const vf big = vf_fnma(vf_set(2.0f), vf_recip_near(e), one);
  return vf_select(vf_lt(z, vf_set(0.625f)), small, vf_copysign(big, x));
}

VF_INLINE vf vf_sigmoid(vf x) {
  return vf_recip_near(vf_add(vf_set(1.0f), vf_exp_near(vf_neg(x))));
}

/* x / (1 + e^a), 0 times x where a is large, with fewer steps than by
 * vf_sigmoid: the error of e^a is 1.4e-8 |a| besides 2 ulp. */
VF_INLINE vf vf_gate(vf x, vf a) {
  const vm large = vf_gt(a, vf_set(NEAR_END));
  a = vf_min(vf_set(NEAR_END), vf_max(vf_set(-NEAR_END), a));
  const vf shifted = vf_fma(a, vf_set(LOG2_E), vf_set(ROUND_MAGIC));
  const vf n = vf_sub(shifted, vf_set(ROUND_MAGIC));
  const vf r = vf_fnma(a, vf_set(LOG2_E), n); /* 2^-r for |r| <= 1/2 */
  vf p = vf_set(-1.326472498e-03f);
  p = vf_fma(p, r, vf_set(9.671512991e-03f));
  p = vf_fma(p, r, vf_set(-5.550733581e-02f));
  p = vf_fma(p, r, vf_set(2.402224243e-01f));
  p = vf_fma(p, r, vf_set(-6.931470037e-01f));
  p = vf_fma(p, r, vf_set(1.0f));
  const vf d = vf_add(vf_scale_near(p, n, shifted), vf_set(1.0f));
#if VF_W == 16
  const vf q = _mm512_rcp14_ps(d), rest = vf_fnma(d, q, vf_set(1.0f));
  return vf_mul(x, _mm512_maskz_fmadd_ps((vm)~large, q, rest, q));
#else
  return vf_div(x, vf_select(large, vf_set(__builtin_inff()), d));
#endif
}

VF_INLINE vf vf_silu(vf x) {
  return vf_gate(x, vf_neg(x));
}

/* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), where (1 + tanh(u)) / 2 is
 * 1 / (1 + e^-2u). */
VF_INLINE vf vf_gelu_tanh(vf x) {
  const vf s = vf_mul(x, x);
  const vf a = vf_fma(s, vf_set(-7.13548163e-02f), vf_set(-1.59576912f));
  return vf_gate(x, vf_mul(a, x));
}

/* 0.5 x (1 + erf(x / sqrt(2))): 0.5 x erfc(t) for x < 0 and 0.5 x (2 - erfc(t))
 * otherwise, with t = |x| / sqrt(2). The polynomial is -log2(erfc(t)) / |x|;
 * the result is within 1e-7 besides 4 ulp. Beyond 6 erfc is taken for 0. */
VF_INLINE vf vf_gelu_erf(vf x) {
  const vf t = vf_abs(x);
  vf q = vf_set(1.730022859e-06f);
  q = vf_fma(q, t, vf_set(-2.587579911e-05f));
  q = vf_fma(q, t, vf_set(1.205545414e-04f));
  q = vf_fma(q, t, vf_set(2.996188123e-04f));
  q = vf_fma(q, t, vf_set(-7.282380015e-03f));
  q = vf_fma(q, t, vf_set(5.265304819e-02f));
  q = vf_fma(q, t, vf_set(4.591543674e-01f));
  q = vf_fma(q, t, vf_set(1.151111722f));
  const vf shifted = vf_fnma(q, t, vf_set(ROUND_MAGIC));
  const vf n = vf_sub(shifted, vf_set(ROUND_MAGIC));
  const vf r = vf_neg(vf_fma(q, t, n)); /* 2^r for |r| <= 1/2 */
  vf p = vf_set(1.326472498e-03f);
  p = vf_fma(p, r, vf_set(9.671512991e-03f));
  p = vf_fma(p, r, vf_set(5.550733581e-02f));
  p = vf_fma(p, r, vf_set(2.402224243e-01f));
  p = vf_fma(p, r, vf_set(6.931470037e-01f));
  p = vf_fma(p, r, vf_set(1.0f));
  vf e = vf_scale_near(p, n, shifted);
  e = vf_select(vf_gt(t, vf_set(6.0f)), vf_zero(), e);
  const vf f = vf_select(vf_lt(x, vf_zero()), e, vf_sub(vf_set(2.0f), e));
  return vf_mul(vf_mul(x, vf_set(0.5f)), f);
}

VF_INLINE vf vf_erf(vf x) {
  const vf t = vf_min(vf_set(4.0f), vf_abs(x)), s = vf_mul(x, x);
  vf p = vf_set(8.316909225e-05f); /* (erf(x) - x) / x in x^2 */
  p = vf_fma(p, s, vf_set(-8.130050264e-04f));
  p = vf_fma(p, s, vf_set(5.199910607e-03f));
  p = vf_fma(p, s, vf_set(-2.685894445e-02f));
  p = vf_fma(p, s, vf_set(1.128368750e-01f));
  p = vf_fma(p, s, vf_set(-3.761263192e-01f));
  p = vf_fma(p, s, vf_set(1.283791661e-01f));
  const vf small = vf_fma(p, x, x);
  vf q = vf_set(4.938206530e-06f); /* (-log(erfc(t)) - t) / t */
  q = vf_fma(q, t, vf_set(-4.558108776e-05f));
  q = vf_fma(q, t, vf_set(-4.958724458e-05f));
  q = vf_fma(q, t, vf_set(2.930158982e-03f));
  q = vf_fma(q, t, vf_set(-2.267413959e-02f));
  q = vf_fma(q, t, vf_set(1.052627042e-01f));
  q = vf_fma(q, t, vf_set(6.356252432e-01f));
  q = vf_fma(q, t, vf_set(1.285517514e-01f));
  const vf e = vf_exp_near(vf_neg(vf_fma(q, t, t)));
  const vf big = vf_copysign(vf_sub(vf_set(1.0f), e), x);
  return vf_select(vf_is_nan(x), x,
                   vf_select(vf_lt(t, vf_set(0.925f)), small, big));
}

/* log(1 + e^x) without overflow. */
VF_INLINE vf vf_softplus(vf x) {
  const vf tail = vf_log1p(vf_exp(vf_neg(vf_abs(x))));
  return vf_add(vf_max(vf_zero(), x), tail);
}

VF_INLINE vf vf_clamp(vf x, vf lo, vf hi) {
  return vf_min(hi, vf_max(lo, x)); /* keeps a NaN in x */
}
