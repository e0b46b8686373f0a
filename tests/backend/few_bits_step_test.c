/* SPDX-License-Identifier: Apache-2.0 */
/* Products by matrices of few bits against plain loops in double, and how
 * numbers are rounded to 8 and 4 bits. */
#include "backend/cpu/target/cpu_few_bits.h"

#include "backend/cpu/cpu_forms.h"
#include "tests/conformance/step_harness.h"

typedef struct product {
  int m, k, n, form;
  bool transposed, bias, residual, gaps;
  bsm_activation_type activation;
  double scale;
} product;

typedef struct expected {
  const product *p;
  const double *values;
} expected;

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  const float *got = h->outputs[0];
  const double tolerance = 4e-6 * (4 + sqrt((double)e->p->k));
  char what[96];
  snprintf(what, sizeof(what), "isa %u, form %d, %d x %d x %d", isa, e->p->form,
           e->p->m, e->p->k, e->p->n);
  for (int i = 0; i < e->p->m * e->p->n; i++) {
    assert_close((double)got[i], e->values[i], tolerance, what);
  }
}

static void start(harness *h, const product *p) {
  harness_init(h, BSM_STEP_MATRIX_MULTIPLY);
  h->params.matrix_multiply = (bsm_step_matrix_multiply){
      .constant_b = 1,
      .form = p->form,
      .k = p->k,
      .n = p->n,
      .scale = p->scale,
      .epilogue = {(int32_t)p->activation, p->residual, 0, 0}};
}

/* [M, K], its columns adjacent when there are `gaps` between those of K. */
static const float *add_left(harness *h, const product *p, harness_rng *rng,
                             int64_t *strides) {
  strides[0] = p->gaps ? 1 : p->k;
  strides[1] = p->gaps ? p->m : 1;
  const float *a =
      add_input(h, BSM_DTYPE_FLOAT, dims_of(2, p->m, p->k), strides);
  fill_input(h, rng, 0);
  return a;
}

static void run_product(const product *p, harness_rng *rng) {
  harness h;
  int64_t s[2];
  const size_t count = (size_t)(p->k * p->n);
  start(&h, p);
  const float *a = add_left(&h, p, rng, s);
  float *b = malloc(count * sizeof(float) + 1);
  double *y = malloc((size_t)(p->m * p->n) * sizeof(double) + 1);
  assert_true(b && y);
  fill_floats(rng, b, count * sizeof(float));
  add_packed(&h, 1, b, p->transposed);
  assert_null(bsm_cpu_few_bits_unpack(&h.params.matrix_multiply,
                                      h.weight_data[0].data, p->transposed, b));
  const float *r = NULL, *bias = NULL;
  add_output(&h, BSM_DTYPE_FLOAT, dims_of(2, p->m, p->n), NULL);
  if (p->residual) {
    r = add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, p->m, p->n), NULL);
    fill_input(&h, rng, 1);
  }
  if (p->bias) {
    float *to = add_weights(&h, 1, (size_t)p->n * sizeof(float));
    fill_floats(rng, to, (size_t)p->n * sizeof(float));
    bias = to;
  }
  for (int i = 0; i < p->m * p->n; i++) {
    const int row = i / p->n, column = i % p->n;
    double v = 0;
    for (int k = 0; k < p->k; k++) {
      v += (double)a[row * s[0] + k * s[1]] *
           (double)b[p->transposed ? column * p->k + k : k * p->n + column];
    }
    v = v * p->scale + (bias ? (double)bias[column] : 0) +
        (r ? (double)r[i] : 0);
    if (p->activation == BSM_ACTIVATION_RELU) v = v > 0 ? v : 0;
    if (p->activation == BSM_ACTIVATION_TANH) v = tanh(v);
    y[i] = v;
  }
  harness_run_all(&h, compare, &(expected){p, y});
  free(y);
  free(b);
  harness_free(&h);
}

static void test_random(void **state) {
  static const int ms[] = {1, 2, 3, 4, 5, 8, 9, 12, 13, 25, 40};
  static const bsm_activation_type acts[] = {
      BSM_ACTIVATION_NONE, BSM_ACTIVATION_RELU, BSM_ACTIVATION_TANH};
  harness_rng r = {21};
  (void)state;
  for (int i = 0; i < 160; i++) {
    const product p = {
        .m = ms[rng_range(&r, 0, 10)],
        .k = rng_range(&r, 1, 300),
        .n = rng_range(&r, 1, 150),
        .form = rng_range(&r, BSM_CPU_MATRIX_INT8, BSM_CPU_MATRIX_INT4_128),
        .transposed = rng_range(&r, 0, 1),
        .bias = rng_range(&r, 0, 1),
        .residual = rng_range(&r, 0, 2) == 0,
        .gaps = rng_range(&r, 0, 4) == 0,
        .activation = acts[rng_range(&r, 0, 2)],
        .scale = rng_range(&r, 0, 1) ? 1.0 : 0.125};
    run_product(&p, &r);
  }
}

/* Several blocks of K and of rows. */
static void test_large(void **state) {
  harness_rng r = {22};
  (void)state;
  for (int form = BSM_CPU_MATRIX_INT8; form <= BSM_CPU_MATRIX_INT4_32; form++) {
    const product one = {1, 3000, 130, form, true, true, false, false, 0, 1};
    const product many = {250,  2500, 40,    form, false,
                          true, true, false, 0,    0.5};
    run_product(&one, &r);
    run_product(&many, &r);
  }
}

/* ---- rounding ---- */

static void *packed_of(const bsm_step_matrix_multiply *p, const float *values,
                       float *back) {
  uint64_t size;
  assert_null(bsm_cpu_few_bits_pack(p, values, true, NULL, &size));
  void *packed = malloc((size_t)size);
  assert_non_null(packed);
  assert_null(bsm_cpu_few_bits_pack(p, values, true, packed, &size));
  assert_null(bsm_cpu_few_bits_unpack(p, packed, true, back));
  return packed;
}

/* 8 bits: no number moves by more than half a step of its column. */
static void test_steps_of_8_bits(void **state) {
  enum { K = 77, N = 19 };
  float x[K * N], back[K * N];
  harness_rng r = {23};
  const bsm_step_matrix_multiply p = {
      .constant_b = 1, .form = BSM_CPU_MATRIX_INT8, .k = K, .n = N};
  (void)state;
  fill_floats(&r, x, sizeof(x));
  for (int k = 0; k < K; k++) x[3 * K + k] = 0;
  free(packed_of(&p, x, back));
  for (int j = 0; j < N; j++) {
    float greatest = 0;
    for (int k = 0; k < K; k++) greatest = fmaxf(greatest, fabsf(x[j * K + k]));
    for (int k = 0; k < K; k++) {
      const float error = fabsf(x[j * K + k] - back[j * K + k]);
      assert_true(error <= greatest / 127 * 0.50001f);
    }
  }
}

/* Numbers that lie on a grid stay what they are. */
static void test_grids_are_kept(void **state) {
  enum { K = 64, N = 5 };
  float x[K * N], back[K * N];
  const bsm_step_matrix_multiply p = {
      .constant_b = 1, .form = BSM_CPU_MATRIX_INT8, .k = K, .n = N};
  (void)state;
  for (int j = 0; j < N; j++) {
    for (int k = 0; k < K; k++) {
      x[j * K + k] = (float)((k * 37 + j * 11) % 201 - 100) * 0.0123f;
    }
  }
  free(packed_of(&p, x, back));
  assert_memory_equal(x, back, sizeof(x));
}

/* The signal over the noise of uniform numbers: of 4 bits with 15 steps over
 * the range it is 23.5 dB in one group. */
static void test_noise_of_4_bits(void **state) {
  enum { K = 256, N = 32 };
  static float x[K * N], back[K * N];
  harness_rng r = {24};
  (void)state;
  fill_floats(&r, x, sizeof(x));
  for (int form = BSM_CPU_MATRIX_INT4_32; form <= BSM_CPU_MATRIX_INT4_128;
       form++) {
    const bsm_step_matrix_multiply p = {
        .constant_b = 1, .form = form, .k = K, .n = N};
    double signal = 0, noise = 0;
    free(packed_of(&p, x, back));
    for (int i = 0; i < K * N; i++) {
      signal += (double)x[i] * (double)x[i];
      noise += pow((double)x[i] - (double)back[i], 2);
    }
    assert_true(10 * log10(signal / noise) > 23);
  }
}

static void test_not_finite(void **state) {
  static const float bad[] = {NAN, INFINITY, -INFINITY};
  (void)state;
  for (int i = 0; i < 3; i++) {
    for (int form = BSM_CPU_MATRIX_INT8; form <= BSM_CPU_MATRIX_INT4_32;
         form++) {
      const bsm_step_matrix_multiply p = {
          .constant_b = 1, .form = form, .k = 3, .n = 1};
      const float x[3] = {1, bad[i], 0.3f};
      uint8_t packed[256];
      uint64_t size;
      bsm_status st = bsm_cpu_few_bits_pack(&p, x, true, packed, &size);
      assert_int_equal(bsm_status_code(st), BSM_INVALID_ARGUMENT);
      bsm_status_free(st);
    }
  }
}

/* ---- what is refused ---- */

static void assert_refused(harness *h, const char *text) {
  bsm_status st = harness_check(h);
  assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
  if (!strstr(bsm_status_message(st), text)) {
    fail_msg("no \"%s\" in: %s", text, bsm_status_message(st));
  }
  bsm_status_free(st);
}

static void test_refused(void **state) {
  const product p = {3,     40, 20, BSM_CPU_MATRIX_INT8, true, false, false,
                     false, 0,  1};
  static float b[40 * 20];
  harness h;
  harness_rng r = {25};
  int64_t strides[2];
  (void)state;
  start(&h, &p);
  add_left(&h, &p, &r, strides);
  add_output(&h, BSM_DTYPE_FLOAT, dims_of(2, p.m, p.n), NULL);
  add_packed(&h, 1, b, true);
  assert_null(harness_check(&h));
  h.params.matrix_multiply.form = BSM_CPU_MATRIX_INT4_32;
  assert_refused(&h, "bytes");
  h.params.matrix_multiply.form = BSM_CPU_MATRIX_INT4_128 + 1;
  assert_refused(&h, "form 5");
  h.params.matrix_multiply.form = -1;
  assert_refused(&h, "form -1");
  h.params.matrix_multiply.form = BSM_CPU_MATRIX_INT8;
  h.tensors[0].dtype = h.tensors[1].dtype = BSM_DTYPE_DOUBLE;
  assert_refused(&h, "float32");
  harness_free(&h);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_steps_of_8_bits),
      cmocka_unit_test(test_grids_are_kept),
      cmocka_unit_test(test_noise_of_4_bits),
      cmocka_unit_test(test_not_finite),
      cmocka_unit_test(test_refused),
  };
  (void)argc;
  (void)argv;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
