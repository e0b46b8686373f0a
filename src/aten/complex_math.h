/* SPDX-License-Identifier: Apache-2.0 */
/* Complex arithmetic as PyTorch does it (c10::complex), and row functions for
 * the elementwise driver. Products follow the plain formula: an infinity may
 * give NaN. */
#ifndef BSM_ATEN_COMPLEX_MATH_H_
#define BSM_ATEN_COMPLEX_MATH_H_

#include "aten/op_kit.h"

static inline bsm_c128 bsm_c_add(bsm_c128 a, bsm_c128 b) {
  return (bsm_c128){a.re + b.re, a.im + b.im};
}
static inline bsm_c128 bsm_c_sub(bsm_c128 a, bsm_c128 b) {
  return (bsm_c128){a.re - b.re, a.im - b.im};
}
static inline bsm_c128 bsm_c_mul(bsm_c128 a, bsm_c128 b) {
  return (bsm_c128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline bsm_c128 bsm_c_conj(bsm_c128 a) {
  return (bsm_c128){a.re, -a.im};
}
static inline bsm_c128 bsm_c_scale(bsm_c128 a, double s) {
  return (bsm_c128){a.re * s, a.im * s};
}
static inline bool bsm_c_equal(bsm_c128 a, bsm_c128 b) {
  return a.re == b.re && a.im == b.im;
}
double bsm_c_abs(bsm_c128 a);
bsm_c128 bsm_c_div(bsm_c128 a, bsm_c128 b);
bsm_c128 bsm_c_pow(bsm_c128 a, bsm_c128 b);

/* Functions of one number. */
/* clang-format off */
#define BSM_COMPLEX_UNARY(F)                                              \
  F(neg) F(conj) F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) \
  F(sqrt) F(rsqrt) F(reciprocal) F(sin) F(cos) F(tan) F(asin) F(acos)     \
  F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(sgn)       \
  F(sigmoid) F(square) F(sinc) F(angle) F(isnan) F(isinf)                 \
  F(isfinite) F(logical_not) F(same)
/* clang-format on */

/* bsm_c_exp(z), and bsm_c_row_exp as a row function. Real results (absolute,
 * angle, isnan, ...) are real parts. */
#define F(name)                                                             \
  bsm_c128 bsm_c_##name##_of(bsm_c128 z);                                   \
  void bsm_c_row_##name(bsm_c128 *out, const bsm_c128 *const *in, size_t n, \
                        const void *params);
BSM_COMPLEX_UNARY(F)
F(absolute)
#undef F

#endif /* BSM_ATEN_COMPLEX_MATH_H_ */
