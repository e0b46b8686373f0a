/* SPDX-License-Identifier: Apache-2.0 */
/* Factorizations whose vectors are determined but for their sign: the product
 * of the factors is the matrix, and the vectors are orthonormal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "aten/linalg.h"

enum { MOST = 24 };

/* Numbers in [-1, 1), the same in every run. */
static double draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-52 - 1.0;
}

static void fill(bsm_c128 *a, int64_t n, bool real, uint64_t seed) {
  for (int64_t i = 0; i < n; i++) {
    a[i].re = draw(&seed);
    a[i].im = real ? 0.0 : draw(&seed);
  }
}

static void near(const bsm_c128 *a, const bsm_c128 *b, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double gap = bsm_c_abs(bsm_c_sub(a[i], b[i]));
    if (gap > 1e-11) fail_msg("element %lld is off by %g", (long long)i, gap);
  }
}

/* q^H q = 1 */
static void orthonormal(const bsm_c128 *q, int64_t m, int64_t n) {
  bsm_c128 adjoint[MOST * MOST], product[MOST * MOST], one[MOST * MOST];
  bsm_la_adjoint(q, adjoint, m, n);
  bsm_la_multiply(adjoint, q, product, n, m, n);
  for (int64_t i = 0; i < n * n; i++) {
    one[i] = (bsm_c128){i / n == i % n ? 1.0 : 0.0, 0.0};
  }
  near(product, one, n * n);
}

static void test_svd(void **state) {
  static const int64_t shapes[][2] = {{1, 1}, {3, 3}, {5, 2}, {9, 9}, {20, 7}};
  bsm_c128 a[MOST * MOST], u[MOST * MOST], v[MOST * MOST], vh[MOST * MOST],
      back[MOST * MOST];
  double s[MOST];
  (void)state;
  for (size_t k = 0; k < 10; k++) {
    const int64_t m = shapes[k / 2][0], n = shapes[k / 2][1];
    fill(a, m * n, k % 2 == 0, k + 1);
    memcpy(u, a, sizeof(a));
    bsm_la_svd(u, m, n, s, v);
    orthonormal(u, m, n);
    orthonormal(v, n, n);
    for (int64_t j = 1; j < n; j++) assert_true(s[j - 1] >= s[j]);
    bsm_la_adjoint(v, vh, n, n);
    for (int64_t i = 0; i < m * n; i++) u[i] = bsm_c_scale(u[i], s[i % n]);
    bsm_la_multiply(u, vh, back, m, n, n);
    near(back, a, m * n);
  }
}

/* Of rank 1: zero columns are completed to an orthonormal base. */
static void test_svd_of_low_rank(void **state) {
  enum { M = 5, N = 3 };
  bsm_c128 u[M * N], v[N * N];
  double s[N];
  (void)state;
  for (int64_t i = 0; i < M * N; i++) u[i] = (bsm_c128){2.0, 0.0};
  bsm_la_svd(u, M, N, s, v);
  assert_true(fabs(s[0] - 2.0 * sqrt(M * N)) < 1e-12);
  assert_true(s[1] < 1e-12 && s[2] < 1e-12);
  bsm_la_complete(u, M, N, 1);
  orthonormal(u, M, N);
}

static void test_eigh(void **state) {
  static const int64_t sizes[] = {1, 2, 5, 16};
  bsm_c128 a[MOST * MOST], h[MOST * MOST], v[MOST * MOST], vh[MOST * MOST],
      back[MOST * MOST];
  double w[MOST];
  (void)state;
  for (size_t k = 0; k < 8; k++) {
    const int64_t n = sizes[k / 2];
    fill(a, n * n, k % 2 == 0, 100 + k);
    bsm_la_adjoint(a, h, n, n);
    for (int64_t i = 0; i < n * n; i++) h[i] = bsm_c_add(h[i], a[i]);
    memcpy(a, h, sizeof(a));
    bsm_la_eigh(a, n, w, v);
    orthonormal(v, n, n);
    for (int64_t j = 1; j < n; j++) assert_true(w[j - 1] <= w[j]);
    bsm_la_adjoint(v, vh, n, n);
    for (int64_t i = 0; i < n * n; i++) v[i] = bsm_c_scale(v[i], w[i % n]);
    bsm_la_multiply(v, vh, back, n, n, n);
    near(back, h, n * n);
  }
}

static void test_qr(void **state) {
  static const int64_t shapes[][2] = {{1, 1}, {4, 4}, {7, 3}, {3, 6}};
  bsm_c128 a[MOST * MOST], f[MOST * MOST], q[MOST * MOST], r[MOST * MOST],
      back[MOST * MOST], tau[MOST];
  (void)state;
  for (size_t k = 0; k < 8; k++) {
    const int64_t m = shapes[k / 2][0], n = shapes[k / 2][1];
    const int64_t least = m < n ? m : n;
    fill(a, m * n, k % 2 == 0, 200 + k);
    memcpy(f, a, sizeof(a));
    bsm_la_qr(f, m, n, tau);
    bsm_la_form_q(f, m, n, least, tau, q, m);
    orthonormal(q, m, m);
    for (int64_t i = 0; i < m * n; i++) {
      r[i] = i / n <= i % n ? f[i] : (bsm_c128){0.0, 0.0};
    }
    bsm_la_multiply(q, r, back, m, m, n);
    near(back, a, m * n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_svd),
      cmocka_unit_test(test_svd_of_low_rank),
      cmocka_unit_test(test_eigh),
      cmocka_unit_test(test_qr),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
