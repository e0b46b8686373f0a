/* SPDX-License-Identifier: Apache-2.0 */
/* The array functions of vector_math.h, for the simd_*.h included before.
 * BSM_K_SUFFIX names the instance. */
#include "backend/cpu/kernels/math/vector_functions.inl"

typedef struct parameters {
  vf alpha, beta;
} parameters;

/* ---- functions of one argument ---- */
#define DEFINE(name, expression)                     \
  VF_INLINE vf f_##name(vf x, const parameters *p) { \
    (void)p;                                         \
    return expression;                               \
  }
#define ONE vf_set(1.0f)
#define ZERO vf_zero()

DEFINE(exp, vf_exp(x))
DEFINE(expm1, vf_expm1(x))
DEFINE(exp2, vf_exp2(x))
DEFINE(log, vf_log(x))
DEFINE(log2, vf_log2(x))
DEFINE(log10, vf_log10(x))
DEFINE(log1p, vf_log1p(x))
DEFINE(sqrt, vf_sqrt(x))
DEFINE(rsqrt, vf_div(ONE, vf_sqrt(x)))
DEFINE(recip, vf_div(ONE, x))
DEFINE(abs, vf_abs(x))
DEFINE(neg, vf_neg(x))
DEFINE(square, vf_mul(x, x))
DEFINE(tanh, vf_tanh(x))
DEFINE(erf, vf_erf(x))
DEFINE(ceil, vf_ceil(x))
DEFINE(floor, vf_floor(x))
DEFINE(round, vf_round(x))
DEFINE(trunc, vf_trunc(x))
DEFINE(frac, vf_sub(x, vf_trunc(x)))
DEFINE(sign, vf_select(vf_gt(x, ZERO), ONE,
                       vf_select(vf_lt(x, ZERO), vf_set(-1.0f), ZERO)))
DEFINE(relu, vf_max(ZERO, x))
DEFINE(sigmoid, vf_sigmoid(x))
DEFINE(leaky_relu, vf_select(vf_gt(x, ZERO), x, vf_mul(x, p->alpha)))
DEFINE(elu, vf_select(vf_gt(x, ZERO), x, vf_mul(p->alpha, vf_expm1(x))))
DEFINE(selu, vf_mul(p->beta, f_elu(x, p)))
DEFINE(softsign, vf_div(x, vf_add(ONE, vf_abs(x))))
DEFINE(clip, vf_clamp(x, p->alpha, p->beta))
DEFINE(hard_sigmoid, vf_clamp(vf_add(vf_mul(x, p->alpha), p->beta), ZERO, ONE))
DEFINE(thresholded_relu, vf_select(vf_le(x, p->alpha), ZERO, x))
DEFINE(gelu_erf, vf_gelu_erf(x))
DEFINE(gelu_tanh, vf_gelu_tanh(x))
DEFINE(silu, vf_silu(x))
DEFINE(hard_swish,
       vf_mul(vf_mul(x, vf_set(1.0f / 6.0f)),
              vf_clamp(vf_add(x, vf_set(3.0f)), ZERO, vf_set(6.0f))))
DEFINE(log_sigmoid, vf_neg(vf_softplus(vf_neg(x))))
DEFINE(threshold, vf_select(vf_le(x, p->alpha), p->beta, x))

VF_INLINE vf f_softplus(vf x, const parameters *p) {
  const vf bx = vf_mul(x, p->beta);
  return vf_select(vf_gt(bx, p->alpha), x, vf_div(vf_softplus(bx), p->beta));
}

/* x tanh(log(1 + e^x)) = x (e^2x + 2 e^x) / (e^2x + 2 e^x + 2) */
VF_INLINE vf f_mish(vf x, const parameters *p) {
  (void)p;
  const vf e = vf_exp(vf_min(vf_set(20.0f), x));
  const vf n = vf_fma(e, e, vf_add(e, e));
  const vf y = vf_div(vf_mul(x, n), vf_add(n, vf_set(2.0f)));
  return vf_select(vf_gt(x, vf_set(20.0f)), x, y);
}

/* Less than a vector: in a whole one, so that there is one instance of f. */
static __attribute__((noinline)) void unary_rest(bsm_k_unary_f32 *f,
                                                 const float *x, float *y,
                                                 int64_t n, float alpha,
                                                 float beta) {
  float rest[VF_W];
  vf_store(rest, vf_load_n(x, n));
  f(rest, rest, VF_W, alpha, beta);
  vf_store_n(y, vf_load(rest), n);
}

#define X(name)                                                              \
  static void unary_##name(const float *x, float *y, int64_t n, float alpha, \
                           float beta) {                                     \
    const parameters p = {vf_set(alpha), vf_set(beta)};                      \
    int64_t i = 0;                                                           \
    for (; i + VF_W <= n; i += VF_W) {                                       \
      vf_store(y + i, f_##name(vf_load(x + i), &p));                         \
    }                                                                        \
    if (i < n) unary_rest(unary_##name, x + i, y + i, n - i, alpha, beta);   \
  }
BSM_K_UNARIES(X)
#undef X

/* ---- functions of two arguments ---- */
#define DEFINE2(name, expression)     \
  VF_INLINE vf g_##name(vf a, vf b) { \
    return expression;                \
  }
DEFINE2(sum, vf_add(a, b))
DEFINE2(prod, vf_mul(a, b))
DEFINE2(sub, vf_sub(a, b))
DEFINE2(div, vf_div(a, b))
DEFINE2(max, vf_select(vf_is_nan(a), a, vf_max(a, b)))
DEFINE2(min, vf_select(vf_is_nan(a), a, vf_min(a, b)))

#define X(name)                                                             \
  static void binary_##name(const float *a, const float *b, float *y,       \
                            int64_t n) {                                    \
    int64_t i = 0;                                                          \
    for (; i + VF_W <= n; i += VF_W) {                                      \
      vf_store(y + i, g_##name(vf_load(a + i), vf_load(b + i)));            \
    }                                                                       \
    if (i < n) {                                                            \
      const int64_t r = n - i;                                              \
      vf_store_n(y + i, g_##name(vf_load_n(a + i, r), vf_load_n(b + i, r)), \
                 r);                                                        \
    }                                                                       \
  }
BSM_K_BINARIES(X)
#undef X

/* ---- comparisons and selection ---- */
#define COMPARE(name, test)                                                   \
  static void compare_##name(const float *a, const float *b, uint8_t *y,      \
                             int64_t n) {                                     \
    int64_t i = 0;                                                            \
    for (; i + VF_W <= n; i += VF_W) {                                        \
      vm_store_bytes(y + i, test(vf_load(a + i), vf_load(b + i)));            \
    }                                                                         \
    if (i < n) {                                                              \
      uint8_t rest[VF_W];                                                     \
      vm_store_bytes(rest,                                                    \
                     test(vf_load_n(a + i, n - i), vf_load_n(b + i, n - i))); \
      for (int64_t j = 0; i + j < n; j++) y[i + j] = rest[j];                 \
    }                                                                         \
  }
COMPARE(less, vf_lt)
COMPARE(less_equal, vf_le)
COMPARE(equal, vf_eq)

static void select_f32(const uint8_t *k, const float *a, const float *b,
                       float *y, int64_t n) {
  int64_t i = 0;
  for (; i + VF_W <= n; i += VF_W) {
    vf_store(y + i,
             vf_select(vm_load_bytes(k + i), vf_load(a + i), vf_load(b + i)));
  }
  for (; i < n; i++) y[i] = k[i] ? a[i] : b[i];
}

#ifdef VD_W
#include "backend/cpu/kernels/math/wide_functions.inl"
#define WIDE wide_f32
#else
#define WIDE NULL
#endif

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
#define X(name) .name = unary_##name,
#define Y(name) .name = binary_##name,
const bsm_k_math JOIN(bsm_k_math_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX),
    BSM_K_UNARIES(X) BSM_K_BINARIES(Y).wide = WIDE,
    .less = compare_less,
    .less_equal = compare_less_equal,
    .equal = compare_equal,
    .select = select_f32};
