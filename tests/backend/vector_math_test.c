/* SPDX-License-Identifier: Apache-2.0 */
/* Vector mathematics against the C library in double: error in units in the
 * last place over the whole range, special values, tails, and exact bounds of
 * what is read and written. */
#include "tests/backend/math_tables.h"

typedef double oracle(double x, double alpha, double beta);

static double o_sigmoid(double x, double a, double b) {
  (void)a, (void)b;
  return 1 / (1 + exp(-x));
}
static double softplus(double x) {
  return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}
static double clamp(double x, double lo, double hi) {
  return x < lo ? lo : x > hi ? hi : x;
}

#define ORACLE(name, expression)                         \
  static double o_##name(double x, double a, double b) { \
    (void)a, (void)b;                                    \
    return expression;                                   \
  }
ORACLE(exp, exp(x))
ORACLE(expm1, expm1(x))
ORACLE(exp2, exp2(x))
ORACLE(log, log(x))
ORACLE(log2, log2(x))
ORACLE(log10, log10(x))
ORACLE(log1p, log1p(x))
ORACLE(sqrt, sqrt(x))
ORACLE(rsqrt, 1 / sqrt(x))
ORACLE(recip, 1 / x)
ORACLE(abs, fabs(x))
ORACLE(neg, -x)
ORACLE(square, x *x)
ORACLE(tanh, tanh(x))
ORACLE(erf, erf(x))
ORACLE(ceil, ceil(x))
ORACLE(floor, floor(x))
ORACLE(round, nearbyint(x))
ORACLE(trunc, trunc(x))
ORACLE(frac, x - trunc(x))
ORACLE(sign, isnan(x) ? 0 : (x > 0) - (x < 0))
ORACLE(relu, x < 0 ? 0 : x)
ORACLE(leaky_relu, x > 0 ? x : a * x)
ORACLE(elu, x > 0 ? x : a * expm1(x))
ORACLE(selu, b *(x > 0 ? x : a * expm1(x)))
ORACLE(softsign, x / (1 + fabs(x)))
ORACLE(softplus, x *b > a ? x : softplus(x * b) / b)
ORACLE(clip, isnan(x) ? x : clamp(x, a, b))
ORACLE(hard_sigmoid, isnan(x) ? x : clamp(a *x + b, 0, 1))
ORACLE(thresholded_relu, x <= a ? 0 : x)
ORACLE(gelu_erf, 0.5 * x * (1 + erf(x / sqrt(2.0))))
ORACLE(gelu_tanh,
       0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))
ORACLE(silu, x / (1 + exp(-x)))
ORACLE(hard_swish, isnan(x) ? x : x *clamp(x + 3, 0, 6) / 6)
ORACLE(mish, x *tanh(softplus(x)))
ORACLE(log_sigmoid, -softplus(-x))
ORACLE(threshold, x <= a ? b : x)

/* The table of tolerances. `ulps`: relative error in units of 2^-23 of the
 * result; `absolute`: allowed besides, for functions that cancel (their error
 * is relative to x); lo and hi: the range tested beyond special values. */
typedef struct row {
  const char *name;
  size_t offset; /* in bsm_k_math */
  oracle *expected;
  double ulps, absolute, lo, hi;
  float alpha, beta;
  bool specials; /* infinities and NaN behave as in C */
} row;

#define ROW(name, ulps, absolute, lo, hi, alpha, beta, specials)         \
  {                                                                      \
#name, offsetof(bsm_k_math, name), o_##name, ulps, absolute, lo, hi, \
        alpha, beta, specials                                            \
  }

static const row rows[] = {
    ROW(exp, 1.5, 0, -110, 90, 0, 0, true),
    ROW(expm1, 2.5, 0, -30, 90, 0, 0, true),
    ROW(exp2, 1.5, 0, -155, 130, 0, 0, true),
    ROW(log, 1.5, 0, -1, 1e38, 0, 0, true),
    ROW(log2, 2.5, 0, -1, 1e38, 0, 0, true),
    ROW(log10, 2.5, 0, -1, 1e38, 0, 0, true),
    ROW(log1p, 2.5, 0, -1.5, 1e38, 0, 0, true),
    ROW(sqrt, 0.51, 0, -1, 1e38, 0, 0, true),
    ROW(rsqrt, 1.1, 0, 0, 1e38, 0, 0, true),
    ROW(recip, 0.51, 0, -1e30, 1e30, 0, 0, true),
    ROW(abs, 0, 0, -1e30, 1e30, 0, 0, true),
    ROW(neg, 0, 0, -1e30, 1e30, 0, 0, true),
    ROW(square, 0.51, 0, -1e15, 1e15, 0, 0, true),
    ROW(tanh, 2.5, 0, -12, 12, 0, 0, true),
    ROW(erf, 2.5, 0, -6, 6, 0, 0, true),
    ROW(ceil, 0, 0, -1e8, 1e8, 0, 0, true),
    ROW(floor, 0, 0, -1e8, 1e8, 0, 0, true),
    ROW(round, 0, 0, -1e8, 1e8, 0, 0, true),
    ROW(trunc, 0, 0, -1e8, 1e8, 0, 0, true),
    ROW(frac, 0, 0, -1e8, 1e8, 0, 0, false),
    ROW(sign, 0, 0, -10, 10, 0, 0, true),
    ROW(relu, 0, 0, -10, 10, 0, 0, true),
    ROW(sigmoid, 2.5, 1e-37, -100, 100, 0, 0, true),
    ROW(leaky_relu, 1, 0, -10, 10, 0.01f, 0, true),
    ROW(elu, 3.5, 0, -30, 30, 1.3f, 0, true),
    ROW(selu, 4.5, 0, -30, 30, 1.67326324f, 1.05070099f, true),
    ROW(softsign, 1.5, 0, -100, 100, 0, 0, false),
    ROW(softplus, 4, 0, -50, 100, 20, 2, true),
    ROW(clip, 0, 0, -10, 10, -1.25f, 3.5f, true),
    ROW(hard_sigmoid, 1, 1e-7, -10, 10, 0.166666667f, 0.5f, true),
    ROW(thresholded_relu, 0, 0, -10, 10, 1, 0, true),
    ROW(gelu_erf, 4, 3e-7, -12, 12, 0, 0, false),
    ROW(gelu_tanh, 4, 3e-7, -12, 12, 0, 0, false),
    ROW(silu, 4, 1e-9, -110, 110, 0, 0, false),
    ROW(hard_swish, 3, 3e-7, -10, 10, 0, 0, false),
    ROW(mish, 5, 1e-37, -80, 80, 0, 0, false),
    ROW(log_sigmoid, 4, 0, -80, 80, 0, 0, true),
    ROW(threshold, 0, 0, -10, 10, 0.5f, 20, true),
};

static bsm_k_unary_f32 *function_of(const bsm_k_math *m, const row *r) {
  bsm_k_unary_f32 *fn;
  memcpy(&fn, (const char *)m + r->offset, sizeof(fn));
  return fn;
}

static void check_value(const bsm_k_math *m, const row *r, float x, float got) {
  const double y = r->expected((double)x, (double)r->alpha, (double)r->beta);
  const float rounded = (float)y;
  if (isnan(rounded) ? isnan(got) != 0 : got == rounded) return;
  /* A unit in the last place of the result, also among denormals. */
  double unit = fabs(y) * 0x1p-23;
  if (unit < 0x1p-149) unit = 0x1p-149;
  /* Next to infinity the largest float is as good. */
  if (isinf(rounded) && fabs((double)got) >= 3.402e38) return;
  if (!(fabs((double)got - y) <= r->ulps * unit + r->absolute)) {
    fail_msg("%s %s(%.9g) = %.9g, expected %.9g (%.2f ulp)", m->name, r->name,
             (double)x, (double)got, y, fabs((double)got - y) / unit);
  }
}

/* Linear over [lo, hi], and geometric towards zero on both sides. */
static void test_accuracy(void **state) {
  enum { N = 200000 };
  float *x = malloc(3 * N * sizeof(float)), *y = malloc(3 * N * sizeof(float));
  (void)state;
  assert_non_null(x);
  assert_non_null(y);
  for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
    const row *r = &rows[k];
    for (int i = 0; i < N; i++) {
      const double t = (double)i / (N - 1);
      const double most = fmax(fabs(r->lo), fabs(r->hi));
      const double near = most * exp2(-190.0 * t);
      x[i] = (float)(r->lo + (r->hi - r->lo) * t);
      x[N + i] = (float)(r->hi > 0 ? near : 0);
      x[2 * N + i] = (float)(r->lo < 0 ? fmax(-near, r->lo) : 0);
    }
    for (int i = 0; i < table_count; i++) {
      function_of(tables[i], r)(x, y, 3 * N, r->alpha, r->beta);
      for (int j = 0; j < 3 * N; j++) check_value(tables[i], r, x[j], y[j]);
    }
  }
  free(x);
  free(y);
}

static void test_specials(void **state) {
  const float x[] = {0.0f,       -0.0f,    INFINITY,  -INFINITY,  NAN,
                     FLT_MIN,    -FLT_MIN, 0x1p-149f, -0x1p-149f, FLT_MAX,
                     -FLT_MAX,   1.0f,     -1.0f,     0.5f,       -0.5f,
                     8388609.0f, 2.5f,     3.5f,      -2.5f};
  enum { N = sizeof(x) / sizeof(x[0]) };
  float y[N];
  (void)state;
  for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
    if (!rows[k].specials) continue;
    for (int i = 0; i < table_count; i++) {
      function_of(tables[i], &rows[k])(x, y, N, rows[k].alpha, rows[k].beta);
      for (int j = 0; j < N; j++) check_value(tables[i], &rows[k], x[j], y[j]);
    }
  }
}

/* NaN stays NaN in every activation. */
static void test_nan(void **state) {
  float x[20], y[20];
  (void)state;
  for (int j = 0; j < 20; j++) x[j] = NAN;
  for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
    if (strcmp(rows[k].name, "sign") == 0) continue;
    for (int i = 0; i < table_count; i++) {
      function_of(tables[i], &rows[k])(x, y, 20, rows[k].alpha, rows[k].beta);
      for (int j = 0; j < 20; j++) {
        if (!isnan(y[j])) fail_msg("%s(NaN) = %g", rows[k].name, (double)y[j]);
      }
    }
  }
}

/* Every length up to some vectors, at the end of a page; the same values in
 * any position and in place. */
static void test_lengths(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
    const row *r = &rows[k];
    for (int i = 0; i < table_count; i++) {
      bsm_k_unary_f32 *fn = function_of(tables[i], r);
      float whole[70], all[70];
      for (int j = 0; j < 70; j++) all[j] = (float)(j - 35) * 0.37f;
      fn(all, whole, 70, r->alpha, r->beta);
      for (size_t n = 0; n < 70; n++) {
        guarded g = guard_alloc(n * sizeof(float), sizeof(float));
        float *p = (float *)(void *)g.data;
        memcpy(p, all, n * sizeof(float));
        if (n > 0) p[-1] = 42.0f;
        fn(p, p, (int64_t)n, r->alpha, r->beta);
        if (n > 0) assert_true(p[-1] == 42.0f);
        for (size_t j = 0; j < n; j++) {
          if (memcmp(&p[j], &whole[j], sizeof(float)) != 0) {
            fail_msg("%s: element %zu of %zu differs", r->name, j, n);
          }
        }
        guard_free(&g);
      }
    }
  }
}

static void test_binaries(void **state) {
  const float values[] = {1.5f, -2.0f, 0.0f, -0.0f, NAN, INFINITY, -INFINITY};
  enum { V = 7, N = V * V };
  float a[N], b[N], y[N];
  (void)state;
  for (int i = 0; i < N; i++) {
    a[i] = values[i / V];
    b[i] = values[i % V];
  }
  for (int t = 0; t < table_count; t++) {
    const bsm_k_math *m = tables[t];
    for (int f = 0; f < 6; f++) {
      bsm_k_binary_f32 *const fns[] = {m->sum, m->prod, m->sub,
                                       m->div, m->max,  m->min};
      fns[f](a, b, y, N);
      for (int i = 0; i < N; i++) {
        const float p = a[i], q = b[i];
        const bool nan = isnan(p) || isnan(q);
        const float expected = f == 0   ? p + q
                               : f == 1 ? p * q
                               : f == 2 ? p - q
                               : f == 3 ? p / q
                               : nan    ? NAN
                               : f == 4 ? (p > q ? p : q)
                                        : (p < q ? p : q);
        assert_true(y[i] == expected || (isnan(y[i]) && isnan(expected)));
      }
    }
  }
}

static void test_comparisons(void **state) {
  const float values[] = {1.5f, -2.0f, 0.0f, -0.0f, NAN, INFINITY, -INFINITY};
  enum { V = 7, N = V * V };
  float a[N], b[N], z[N];
  (void)state;
  for (int i = 0; i < N; i++) {
    a[i] = values[i / V];
    b[i] = values[i % V];
  }
  for (int t = 0; t < table_count; t++) {
    const bsm_k_math *m = tables[t];
    for (size_t n = 0; n <= N; n++) {
      guarded g = guard_alloc(n, 1);
      for (int f = 0; f < 3; f++) {
        bsm_k_compare_f32 *const fns[] = {m->less, m->less_equal, m->equal};
        fns[f](a, b, g.data, (int64_t)n);
        for (size_t i = 0; i < n; i++) {
          const int expected = f == 0   ? a[i] < b[i]
                               : f == 1 ? a[i] <= b[i]
                                        : a[i] == b[i];
          assert_int_equal(g.data[i], expected);
        }
        for (size_t i = 0; i < n; i++) g.data[i] = (uint8_t)(g.data[i] * 6);
        m->select(g.data, a, b, z, (int64_t)n);
        for (size_t i = 0; i < n; i++) {
          assert_memory_equal(&z[i], g.data[i] ? &a[i] : &b[i], sizeof(float));
        }
      }
      guard_free(&g);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accuracy), cmocka_unit_test(test_specials),
      cmocka_unit_test(test_nan),      cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_binaries), cmocka_unit_test(test_comparisons),
  };
  find_tables();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
