/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of floats that are computed in double, on every instruction set:
 * errors against the C library in double over all floats, the values of
 * PyTorch, divisions bit by bit, and the same values at any place of a row. */
#include "tests/backend/math_tables.h"

#include "backend/cpu/cpu_scalar_ops.h"

/* In units of the last place: half a unit is what rounding takes. The C
 * library's own functions of floats are what plain C has. */
#define BOUND 0.51
#define LIBRARY_BOUND 2.0

typedef struct function {
  const char *name;
  bool has_two;
  int32_t code;
  double (*one)(double);
  double (*two)(double, double);
} function;

#define ONE(NAME, name) \
  { #name, false, BSM_UNARY_##NAME, name, NULL }
#define TWO(NAME, name) \
  { #name, true, BSM_ELEMENT_WISE_##NAME, NULL, name }

static const function functions[] = {
    ONE(SIN, sin),     ONE(COS, cos),     ONE(TAN, tan),    ONE(SINH, sinh),
    ONE(COSH, cosh),   ONE(ASIN, asin),   ONE(ACOS, acos),  ONE(ATAN, atan),
    ONE(ASINH, asinh), ONE(ACOSH, acosh), ONE(ATANH, atanh)};
static const function pairs[] = {TWO(ATAN2, atan2), TWO(POW, pow)};
enum { ONES = 11, DIVISIONS = 4 };

static const char *const division_names[] = {"fmod", "remainder",
                                             "floor_divide", "trunc_divide"};
static const int32_t divisions[] = {
    BSM_ELEMENT_WISE_FMOD, BSM_ELEMENT_WISE_REMAINDER,
    BSM_ELEMENT_WISE_FLOOR_DIV, BSM_ELEMENT_WISE_TRUNC_DIV};

static const bsm_cpu_elements elements; /* nothing here needs these */

static void apply(const bsm_k_math *m, const function *f, const float *a,
                  const float *b, float *y, int64_t n) {
  if (f->has_two) {
    bsm_cpu_binary(&elements, m, f->code, BSM_CPU_F32, BSM_DTYPE_FLOAT, a, b, y,
                   n);
  } else {
    bsm_cpu_unary(&elements, m, f->code, BSM_CPU_F32, BSM_DTYPE_FLOAT, a, y, n);
  }
}

static float of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

static bool same_bits(float a, float b) {
  return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static float any_float(harness_rng *r) {
  const uint32_t high = (uint32_t)rng_range(r, 0, 65535);
  return of_bits(high << 16 | (uint32_t)rng_range(r, 0, 65535));
}

/* ---- errors ---- */

static void check_error(const bsm_k_math *m, const function *f, float a,
                        float b, float got) {
  const double y =
      f->has_two ? f->two((double)a, (double)b) : f->one((double)a);
  const float rounded = (float)y;
  if (same_bits(rounded, got)) return;
  /* Between the largest float and infinity either may be the nearer. */
  if (isinf(rounded) && fabs(y) < 0x1.ffffff01p127 && fabsf(got) == FLT_MAX) {
    return;
  }
  int exponent;
  frexp(y, &exponent);
  const double unit = ldexp(1.0, exponent < -125 ? -149 : exponent - 24);
  const double bound = (m->wide ? BOUND : LIBRARY_BOUND) * unit;
  if (!(fabs((double)got - y) <= bound) || !signbit(got) != !signbit(y)) {
    fail_msg("%s %s(%a, %a) = %a, expected %a", m->name, f->name, (double)a,
             (double)b, (double)got, y);
  }
}

/* Of all floats; of small ones; and of powers that are finite. */
static void fill(harness_rng *r, bool is_power, float *a, float *b, int n) {
  for (int i = 0; i < n; i++) {
    a[i] = i % 2 ? any_float(r) : (float)rng_range(r, -40000, 40000) / 7919.0f;
    b[i] = i % 4 > 1 ? any_float(r) : (float)rng_range(r, -99, 99) / 8.0f;
    if (is_power && i % 8 == 1) {
      a[i] = fabsf(a[i]);
      b[i] = (float)rng_range(r, -10000, 10000) / 110.0f / logf(a[i]);
    }
  }
}

static void test_errors(void **state) {
  enum { N = 30000 };
  static float a[N], b[N], y[N];
  harness_rng r = {5};
  (void)state;
  for (int k = 0; k < ONES + 2; k++) {
    const function *f = k < ONES ? &functions[k] : &pairs[k - ONES];
    fill(&r, k == ONES + 1, a, b, N);
    for (int t = 0; t < table_count; t++) {
      apply(tables[t], f, a, b, y, N);
      for (int i = 0; i < N; i++) check_error(tables[t], f, a[i], b[i], y[i]);
    }
  }
}

/* ---- PyTorch ---- */

static void check_pytorch(const char *line, const function *f, float a, float b,
                          float wanted) {
  for (int t = 0; t < table_count; t++) {
    float y;
    apply(tables[t], f, &a, &b, &y, 1);
    if (same_bits(y, wanted)) continue;
    const bool is_next =
        nextafterf(y, wanted) == wanted && !signbit(y) == !signbit(wanted);
    const bool is_division = f->has_two && !f->two;
    if (is_division || !is_next) {
      fail_msg("%s: %s of %s is %a, not %a", line, f->name, tables[t]->name,
               (double)y, (double)wanted);
    }
  }
}

static void check_line(const char *line) {
  uint32_t v[2 + ONES];
  int count = 0, length;
  const bool is_pair = line[0] == 'p';
  for (const char *p = line + 4; sscanf(p, "%x%n", &v[count], &length) == 1;) {
    p += length;
    if (++count == 2 + ONES) break;
  }
  assert_int_equal(count, is_pair ? 2 + 2 + DIVISIONS : 1 + ONES);
  const float a = of_bits(v[0]), b = of_bits(v[1]);
  if (!is_pair) {
    for (int k = 0; k < ONES; k++) {
      check_pytorch(line, &functions[k], a, a, of_bits(v[1 + k]));
    }
    return;
  }
  for (int k = 0; k < 2; k++) {
    check_pytorch(line, &pairs[k], a, b, of_bits(v[2 + k]));
  }
  for (int k = 0; k < DIVISIONS; k++) {
    const function f = {division_names[k], true, divisions[k], NULL, NULL};
    check_pytorch(line, &f, a, b, of_bits(v[4 + k]));
  }
}

static void test_pytorch(void **state) {
  FILE *f = fopen(BSM_TEST_DATA_DIR "/backend/wide_math.txt", "r");
  char line[256];
  int count = 0;
  (void)state;
  assert_non_null(f);
  for (; fgets(line, sizeof(line), f); count++) {
    line[strcspn(line, "\n")] = '\0';
    check_line(line);
  }
  fclose(f);
  assert_true(count > 700);
}

/* ---- divisions ---- */

/* As the C library and operations of float give them. */
static float divided(int k, float a, float b) {
  const float mod = fmodf(a, b), zero = 0.0f;
  const bool other = mod != zero && (b < zero) != (mod < zero);
  if (k == 0) return mod;
  if (k == 1) return other ? mod + b : mod;
  if (k == 3) return truncf(a / b);
  if (b == zero) return a / b;
  float y = (a - mod) / b;
  if (other) y -= 1.0f;
  if (y == zero) return copysignf(zero, a / b);
  return floorf(y) + (y - floorf(y) > 0.5f ? 1.0f : zero);
}

static void check_divisions(const float *a, const float *b, int n) {
  static float y[20000];
  for (int t = 0; t < table_count; t++) {
    for (int k = 0; k < DIVISIONS; k++) {
      bsm_cpu_binary(&elements, tables[t], divisions[k], BSM_CPU_F32,
                     BSM_DTYPE_FLOAT, a, b, y, n);
      for (int i = 0; i < n; i++) {
        const float wanted = divided(k, a[i], b[i]);
        if (!same_bits(y[i], wanted)) {
          fail_msg("%s %s(%a, %a) = %a, not %a", tables[t]->name,
                   division_names[k], (double)a[i], (double)b[i], (double)y[i],
                   (double)wanted);
        }
      }
    }
  }
}

static void test_divisions(void **state) {
  enum { N = 20000 };
  static float a[N], b[N];
  harness_rng r = {9};
  (void)state;
  fill(&r, false, a, b, N);
  /* Quotients next to integers of any size. */
  for (int i = 0; i < N; i += 4) {
    const int bits = rng_range(&r, 0, 80);
    b[i] = any_float(&r);
    a[i] = b[i] * ldexpf((float)rng_range(&r, 1 << 14, 1 << 15), bits - 14);
    if (i % 8) a[i] = nextafterf(a[i], 0.0f);
  }
  check_divisions(a, b, N);
  /* All of them small, for denormal divisors too. */
  for (int i = 0; i < N; i++) {
    const float sign = rng_range(&r, 0, 1) ? 1.0f : -1.0f;
    b[i] = of_bits((uint32_t)rng_range(&r, 1, 0x4fffffff));
    if (i % 5 == 0) b[i] = of_bits((uint32_t)rng_range(&r, 1, 1 << 23));
    if (i % 3 == 0) b[i] = (float)rng_range(&r, 1, 40) / 8.0f;
    a[i] = b[i] * sign * (float)rng_range(&r, 0, 1 << rng_range(&r, 1, 21));
    if (i % 2) a[i] = nextafterf(a[i], i % 4 == 1 ? INFINITY : -INFINITY);
    if (i % 7 == 0) b[i] = -b[i];
  }
  check_divisions(a, b, N);
}

/* ---- places ---- */

/* Rows of every length at the end of a page, in place, among values that take
 * the slow way of others. */
static void check_places(const bsm_k_math *m, const function *f) {
  enum { N = 40 };
  float a[N], b[N], whole[N];
  for (int i = 0; i < N; i++) {
    a[i] = i % 7 == 3 ? ldexpf(1.7f, 31 + i) : (float)(i - 17) * 0.37f;
    b[i] = (float)(i % 9 - 4) + (i % 5 == 0 ? 1e-9f : 0.0f);
  }
  apply(m, f, a, b, whole, N);
  for (size_t n = 0; n <= N; n++) {
    guarded x = guard_alloc(n * sizeof(float), sizeof(float));
    guarded z = guard_alloc(n * sizeof(float), sizeof(float));
    float *p = (float *)(void *)x.data, *q = (float *)(void *)z.data;
    memcpy(p, a + N - n, n * sizeof(float));
    memcpy(q, b + N - n, n * sizeof(float));
    if (n > 0) p[-1] = 42.0f;
    apply(m, f, p, q, p, (int64_t)n);
    if (n > 0) assert_true(p[-1] == 42.0f);
    for (size_t i = 0; i < n; i++) {
      if (!same_bits(p[i], whole[N - n + i])) {
        fail_msg("%s %s: element %zu of %zu", m->name, f->name, i, n);
      }
    }
    guard_free(&x);
    guard_free(&z);
  }
}

static void test_places(void **state) {
  (void)state;
  for (int t = 0; t < table_count; t++) {
    for (int k = 0; k < ONES; k++) check_places(tables[t], &functions[k]);
    for (int k = 0; k < 2; k++) check_places(tables[t], &pairs[k]);
    for (int k = 0; k < DIVISIONS; k++) {
      const function f = {division_names[k], true, divisions[k], NULL, NULL};
      check_places(tables[t], &f);
    }
  }
}

/* One exponent for all is as one for each. */
static void test_power(void **state) {
  enum { N = 200 };
  float a[N], b[N], one[N], each[N];
  (void)state;
  for (int t = 0; t < table_count; t++) {
    for (int n = 0; n < N; n += 33) {
      for (int i = 0; i < N; i++) {
        a[i] = (float)(i - 20) / 9.0f;
        b[i] = 2.2f;
        one[i] = each[i] = 7.0f;
      }
      bsm_cpu_power(tables[t], BSM_CPU_F32, a, 2.2, one, n);
      apply(tables[t], &pairs[1], a, b, each, n);
      for (int i = 0; i < N; i++) assert_true(same_bits(one[i], each[i]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_errors), cmocka_unit_test(test_pytorch),
      cmocka_unit_test(test_divisions), cmocka_unit_test(test_places),
      cmocka_unit_test(test_power)};
  find_tables();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
