/* SPDX-License-Identifier: Apache-2.0 */
/* Vector mathematics: float arrays through elementary functions.
 *
 * y[i] = f(x[i]) for i < n; x and y are equal or do not overlap; no alignment
 * is needed and nothing outside is touched. alpha and beta are parameters of
 * the activations. NaN gives NaN; infinities, zeros and denormals give what
 * the C library gives. Errors against the exact result, tested for all ISAs:
 * at most 2.5 ulp for the elementary functions
 * (tests/backend/vector_math_test.c). */
#ifndef BSM_KERNELS_VECTOR_MATH_H_
#define BSM_KERNELS_VECTOR_MATH_H_

#include "backend/cpu/kernels/kernel_isa.h"

/* clang-format finds no rest in a list of calls. */
/* clang-format off */
/* X(name): functions of one argument; the activations are the last three
 * lines. */
#define BSM_K_UNARIES(X)                                                  \
  X(exp) X(expm1) X(exp2) X(log) X(log2) X(log10) X(log1p) X(sqrt)        \
  X(rsqrt) X(recip) X(abs) X(neg) X(square) X(tanh) X(erf) X(ceil)        \
  X(floor) X(round) X(trunc) X(frac) X(sign)                              \
  X(relu) X(sigmoid) X(leaky_relu) X(elu) X(selu) X(softsign) X(softplus) \
  X(clip) X(hard_sigmoid) X(thresholded_relu) X(gelu_erf) X(gelu_tanh)    \
  X(silu) X(hard_swish) X(mish) X(log_sigmoid) X(threshold)
/* clang-format on */

/* X(name): functions of two arguments. max and min keep a NaN. */
#define BSM_K_BINARIES(X) X(sum) X(prod) X(sub) X(div) X(max) X(min)

/* Functions of one argument, and of two, which have one kernel together. They
 * are within 0.51 ulp of the exact result; what divides is what PyTorch's
 * operators are, bit by bit. */
typedef enum bsm_k_wide {
  BSM_K_SIN,
  BSM_K_COS,
  BSM_K_TAN,
  BSM_K_SINH,
  BSM_K_COSH,
  BSM_K_ASIN,
  BSM_K_ACOS,
  BSM_K_ATAN,
  BSM_K_ASINH,
  BSM_K_ACOSH,
  BSM_K_ATANH,
  BSM_K_ATAN2,
  BSM_K_POW,
  BSM_K_FMOD, /* divisions, from here on */
  BSM_K_REMAINDER,
  BSM_K_FLOOR_DIV,
  BSM_K_TRUNC_DIV,
} bsm_k_wide;

typedef void bsm_k_unary_f32(const float *x, float *y, int64_t n, float alpha,
                             float beta);
typedef void bsm_k_binary_f32(const float *a, const float *b, float *y,
                              int64_t n);

typedef void bsm_k_compare_f32(const float *a, const float *b, uint8_t *y,
                               int64_t n);

typedef struct bsm_k_math {
  const char *name;
#define X(f) bsm_k_unary_f32 *f;
  BSM_K_UNARIES(X)
#undef X
#define X(f) bsm_k_binary_f32 *f;
  BSM_K_BINARIES(X)
#undef X
  /* `function`: of bsm_k_wide; b: readable also where there is one argument.
   * NULL in plain C: the C library is as good. */
  void (*wide)(int32_t function, const float *a, const float *b, float *y,
               int64_t n);
  /* y[i] = 1 or 0; false when either is NaN. */
  bsm_k_compare_f32 *less, *less_equal, *equal;
  /* y[i] = k[i] is not 0 ? a[i] : b[i] */
  void (*select)(const uint8_t *k, const float *a, const float *b, float *y,
                 int64_t n);
} bsm_k_math;

BSM_K_FAMILY(math)

#endif /* BSM_KERNELS_VECTOR_MATH_H_ */
