/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication against plain loops in double. */
#include "tests/conformance/step_harness.h"

typedef struct expected {
  const double *values;
  double tolerance;
} expected;

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const float *got = h->outputs[0];
  int64_t index[BSM_MAX_RANK] = {0};
  size_t i = 0;
  char what[64];
  snprintf(what, sizeof(what), "isa %u", isa);
  do {
    assert_close((double)got[offset_of(y, index)], e->values[i++], e->tolerance,
                 what);
  } while (next_index(y->dims, index));
}

typedef struct product {
  int batch[2], m, k, n;
  bool constant_b, transposed_a, transposed_b, bias, residual, heads;
  bool broadcast_a, broadcast_b; /* batch stride 0 */
  bsm_activation_type activation;
  double scale;
  const char *tactic; /* of other devices than the CPU */
} product;

/* [b0, b1, rows, columns]; `transposed`: the rows are adjacent. */
static void matrix_strides(const product *p, int rows, int columns,
                           bool transposed, bool broadcast, int64_t *s) {
  s[2] = transposed ? 1 : columns;
  s[3] = transposed ? rows : 1;
  s[1] = broadcast ? 0 : (int64_t)rows * columns;
  s[0] = broadcast ? 0 : (int64_t)rows * columns * p->batch[1];
}

static double at(const float *x, const int64_t *s, int64_t b0, int64_t b1,
                 int64_t i, int64_t j) {
  return (double)x[b0 * s[0] + b1 * s[1] + i * s[2] + j * s[3]];
}

static void run_product(const product *p, harness_rng *rng) {
  harness h;
  int64_t as[4], bs[4], cs[4], rs[4];
  harness_init(&h, BSM_STEP_MATRIX_MULTIPLY);
  bsm_step_matrix_multiply *params = &h.params.matrix_multiply;
  if (p->tactic && !suite_is_for("cpu")) h.step.tactic = p->tactic;
  params->constant_b = p->constant_b;
  params->k = p->k;
  params->n = p->n;
  params->scale = p->scale;
  params->epilogue.activation = (int32_t)p->activation;
  params->epilogue.has_residual = p->residual;
  const int b0 = p->batch[0], b1 = p->batch[1];
  matrix_strides(p, p->m, p->k, p->transposed_a, p->broadcast_a, as);
  const float *a =
      add_input(&h, BSM_DTYPE_FLOAT, dims_of(4, b0, b1, p->m, p->k), as);
  fill_input(&h, rng, 0);
  float *b = malloc((size_t)(p->k * p->n) * sizeof(float) + 1);
  assert_non_null(b);
  fill_floats(rng, b, (size_t)(p->k * p->n) * sizeof(float));
  const float *b_data = b;
  matrix_strides(p, p->k, p->n, p->transposed_b, p->broadcast_b, bs);
  if (p->constant_b) {
    bs[0] = bs[1] = 0;
    add_packed(&h, 1, b, p->transposed_b);
  } else {
    b_data = add_input(&h, BSM_DTYPE_FLOAT, dims_of(4, b0, b1, p->k, p->n), bs);
    fill_input(&h, rng, 1);
  }
  matrix_strides(p, p->m, p->n, false, false, cs);
  if (p->heads) { /* batch[1] heads beside each other in a row */
    cs[1] = p->n;
    cs[2] = (int64_t)p->n * b1;
    cs[0] = cs[2] * p->m;
  }
  const bsm_dims cd = dims_of(4, b0, b1, p->m, p->n);
  add_output(&h, BSM_DTYPE_FLOAT, cd, cs);
  const float *r = NULL, *bias = NULL;
  if (p->residual) {
    matrix_strides(p, p->m, p->n, false, false, rs);
    r = add_input(&h, BSM_DTYPE_FLOAT, cd, rs);
    fill_input(&h, rng, h.step.input_count - 1);
  }
  if (p->bias) {
    float *to = add_weights(&h, 1, (size_t)p->n * sizeof(float));
    fill_floats(rng, to, (size_t)p->n * sizeof(float));
    bias = to;
  }
  double *y = malloc((size_t)(b0 * b1 * p->m * p->n) * sizeof(double) + 1);
  assert_non_null(y);
  int64_t i[BSM_MAX_RANK] = {0};
  size_t done = 0;
  do {
    double v = 0;
    for (int k = 0; k < p->k; k++) {
      v += at(a, as, i[0], i[1], i[2], k) * at(b_data, bs, i[0], i[1], k, i[3]);
    }
    v = v * p->scale + (bias ? (double)bias[i[3]] : 0) +
        (r ? at(r, rs, i[0], i[1], i[2], i[3]) : 0);
    if (p->activation == BSM_ACTIVATION_RELU) v = v > 0 ? v : 0;
    if (p->activation == BSM_ACTIVATION_TANH) v = tanh(v);
    y[done++] = v;
  } while (next_index(cd, i));
  expected e = {y, 4e-6 * (4 + sqrt((double)p->k))};
  harness_run_all(&h, compare, &e);
  free(y);
  free(b);
  harness_free(&h);
}

static void random_product(product *p, harness_rng *r) {
  static const int ms[] = {1, 2, 3, 4, 5, 7, 12, 13, 24, 25, 49, 60};
  static const bsm_activation_type acts[] = {
      BSM_ACTIVATION_NONE, BSM_ACTIVATION_RELU, BSM_ACTIVATION_TANH};
  *p = (product){.batch = {rng_range(r, 1, 3), rng_range(r, 1, 3)},
                 .m = ms[rng_range(r, 0, 11)],
                 .k = rng_range(r, 1, 70),
                 .n = rng_range(r, 1, 100),
                 .constant_b = rng_range(r, 0, 1),
                 .transposed_a = rng_range(r, 0, 3) == 0,
                 .transposed_b = rng_range(r, 0, 1),
                 .bias = rng_range(r, 0, 1),
                 .residual = rng_range(r, 0, 2) == 0,
                 .heads = rng_range(r, 0, 1),
                 .broadcast_a = rng_range(r, 0, 4) == 0,
                 .broadcast_b = rng_range(r, 0, 3) == 0,
                 .activation = acts[rng_range(r, 0, 2)],
                 .scale = rng_range(r, 0, 1) ? 1.0 : 0.125};
}

/* Rows that tensor cores have no use for, in the ways of GPUs to share k. */
static void test_few_rows(void **state) {
  static const int ks[] = {640, 257, 70}, ns[] = {100, 64, 5};
  harness_rng r = {17};
  (void)state;
  suite_needs(BSM_STEP_MATRIX_MULTIPLY);
  for (int i = 0; i < 5; i++) {
    const product p = {.batch = {1, 1},
                       .m = 1 + i % 4,
                       .k = ks[i % 3],
                       .n = ns[i % 3],
                       .constant_b = true,
                       .bias = i % 2,
                       .residual = i == 2,
                       .scale = i % 2 ? 1.0 : 0.125,
                       .tactic = i < 4 ? "few rows shared" : "few rows"};
    run_product(&p, &r);
  }
}

static void test_random(void **state) {
  harness_rng r = {11};
  (void)state;
  suite_needs(BSM_STEP_MATRIX_MULTIPLY);
  for (int i = 0; i < 250; i++) {
    product p;
    random_product(&p, &r);
    run_product(&p, &r);
  }
}

/* Several blocks of K, of rows and of columns; colliding row strides. */
static void test_large(void **state) {
  harness_rng r = {12};
  (void)state;
  suite_needs(BSM_STEP_MATRIX_MULTIPLY);
  const int cases[][3] = {{130, 1024, 300}, {300, 700, 65}, {1, 3000, 700},
                          {37, 4096, 64},   {4, 1025, 129}, {50, 1, 50},
                          {260, 16, 16}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    for (int constant = 0; constant < 2; constant++) {
      const product p = {.batch = {1, 1},
                         .m = cases[i][0],
                         .k = cases[i][1],
                         .n = cases[i][2],
                         .constant_b = constant,
                         .transposed_b = i % 2,
                         .bias = true,
                         .residual = i % 3 == 0,
                         .scale = 0.5};
      run_product(&p, &r);
    }
  }
}

/* K = 0: zeros through the epilogue. */
static void test_empty_k(void **state) {
  harness_rng r = {13};
  (void)state;
  suite_needs(BSM_STEP_MATRIX_MULTIPLY);
  for (int m = 1; m < 20; m += 9) {
    for (int constant = 0; constant < 2; constant++) {
      const product p = {.batch = {1, 2},
                         .m = m,
                         .n = 18,
                         .constant_b = constant,
                         .bias = true,
                         .scale = 1.0};
      run_product(&p, &r);
    }
  }
}

static void compare_nothing(harness *h, uint32_t isa, void *arg) {
  (void)h;
  (void)isa;
  (void)arg;
}

/* An empty batch: the matrix that all of its products would share has no
 * elements, and is not read. */
static void test_empty_batch(void **state) {
  const int64_t shared[3] = {0, 4, 1};
  (void)state;
  suite_needs(BSM_STEP_MATRIX_MULTIPLY);
  for (int in_a = 0; in_a < 2; in_a++) {
    harness h;
    harness_init(&h, BSM_STEP_MATRIX_MULTIPLY);
    h.params.matrix_multiply =
        (bsm_step_matrix_multiply){.k = 4, .n = 4, .scale = 1};
    const bsm_dims a = dims_of(3, 0, 3, 4), b = dims_of(3, 0, 4, 4);
    add_input(&h, BSM_DTYPE_FLOAT, a, in_a ? shared : NULL);
    add_input(&h, BSM_DTYPE_FLOAT, b, in_a ? NULL : shared);
    add_output(&h, BSM_DTYPE_FLOAT, dims_of(3, 0, 3, 4), NULL);
    harness_run_all(&h, compare_nothing, NULL);
    harness_free(&h);
  }
}

/* Denormals are numbers as others are, and are so for the caller afterwards. */
static void test_denormals(void **state) {
  enum { M = 13, K = 40, N = 18 };
  (void)state;
  suite_needs(BSM_STEP_MATRIX_MULTIPLY);
  if (suite.is_narrow) skip(); /* half has no numbers as small */
  uint32_t isas[8];
  const int count = harness_isas(isas);
  for (int i = 0; i < count; i++) {
    harness h;
    harness_init(&h, BSM_STEP_MATRIX_MULTIPLY);
    h.params.matrix_multiply =
        (bsm_step_matrix_multiply){.k = K, .n = N, .scale = 1.0};
    float *a = add_input(&h, BSM_DTYPE_FLOAT, dims_of(3, 2, M, K), NULL);
    float *b = add_input(&h, BSM_DTYPE_FLOAT, dims_of(3, 2, K, N), NULL);
    const float *c = add_output(&h, BSM_DTYPE_FLOAT, dims_of(3, 2, M, N), NULL);
    const volatile float tiny = 0x1p-140f;
    for (int k = 0; k < 2 * M * K; k++) a[k] = k % K < 8 ? tiny : 0;
    for (int k = 0; k < 2 * K * N; k++) b[k] = 2.0f;
    assert_null(harness_run(&h, isas[i], 1));
    for (int k = 0; k < 2 * M * N; k++) assert_true(c[k] == 0x1p-136f);
    assert_true(tiny * 0.5f > 0);
    harness_free(&h);
  }
}

/* The result may be written over the residual. */
static void test_in_place_residual(void **state) {
  harness h;
  harness_rng r = {14};
  enum { M = 30, K = 900, N = 70 };
  (void)state;
  suite_needs(BSM_STEP_MATRIX_MULTIPLY);
  uint32_t isas[8];
  const int count = harness_isas(isas);
  for (int i = 0; i < count; i++) {
    float *w = calloc(K * N, sizeof(float)), before[M * N];
    assert_non_null(w);
    fill_floats(&r, w, K * N * sizeof(float));
    harness_init(&h, BSM_STEP_MATRIX_MULTIPLY);
    h.params.matrix_multiply =
        (bsm_step_matrix_multiply){.constant_b = 1,
                                   .k = K,
                                   .n = N,
                                   .scale = 1.0,
                                   .epilogue = {.has_residual = 1}};
    const float *a = add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, M, K), NULL);
    fill_input(&h, &r, 0);
    add_packed(&h, 1, w, false);
    float *c = add_output(&h, BSM_DTYPE_FLOAT, dims_of(2, M, N), NULL);
    add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, M, N), NULL);
    h.inputs[1] = c;
    fill_floats(&r, c, sizeof(before));
    memcpy(before, c, sizeof(before));
    assert_null(harness_run(&h, isas[i], 2));
    for (int m = 0; m < M; m++) {
      for (int n = 0; n < N; n++) {
        double v = (double)before[m * N + n];
        for (int k = 0; k < K; k++) {
          v += (double)a[m * K + k] * (double)w[k * N + n];
        }
        assert_close((double)c[m * N + n], v, 1e-4, "in place");
      }
    }
    free(w);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_few_rows),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_empty_k),
      cmocka_unit_test(test_empty_batch),
      cmocka_unit_test(test_denormals),
      cmocka_unit_test(test_in_place_residual),
  };
  return suite_run(argc, argv, tests);
}
