/* SPDX-License-Identifier: Apache-2.0 */
/* Products by matrices of few bits, of targets that have such, against plain
 * loops in double over what the matrices stand for. */
#include "tests/conformance/step_harness.h"

typedef struct product {
  int m, k, n, batch; /* batch: 0: none */
  int bits, group;
  bsm_dtype dtype;
  bool transposed, bias, residual, gaps;
  bsm_activation_type activation;
  double scale;
} product;

static uint16_t bits_of(bsm_dtype dtype, float x) {
  return dtype == BSM_DTYPE_HALF ? bsm_float_to_half(x)
                                 : bsm_float_to_bfloat16(x);
}

static double number_at(const product *p, const void *from, int64_t i) {
  if (p->dtype == BSM_DTYPE_FLOAT) return (double)((const float *)from)[i];
  const uint16_t bits = ((const uint16_t *)from)[i];
  return (double)(p->dtype == BSM_DTYPE_HALF ? bsm_half_to_float(bits)
                                             : bsm_bfloat16_to_float(bits));
}

static void fill_numbers(const product *p, harness_rng *r, void *to,
                         size_t bytes) {
  if (p->dtype == BSM_DTYPE_FLOAT) {
    fill_floats(r, to, bytes);
    return;
  }
  for (size_t i = 0; i < bytes / 2; i++) {
    ((uint16_t *)to)[i] = bits_of(p->dtype, rng_float(r));
  }
}

typedef struct expected {
  const product *p;
  const double *values;
} expected;

static int rows_of(const product *p) {
  return p->m * (p->batch ? p->batch : 1);
}

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  const product *p = e->p;
  const double rounding = p->dtype == BSM_DTYPE_FLOAT  ? 0
                          : p->dtype == BSM_DTYPE_HALF ? 0x1p-10
                                                       : 0x1p-7;
  char what[96];
  (void)snprintf(what, sizeof(what), "isa %u, %d bits, %d x %d x %d", isa,
                 p->bits, p->m, p->k, p->n);
  for (int i = 0; i < rows_of(p) * p->n; i++) {
    assert_close(
        number_at(p, h->outputs[0], i), e->values[i],
        4e-6 * (4 + sqrt((double)p->k)) + rounding * fabs(e->values[i]), what);
  }
}

static bsm_dims dims_of_rows(const product *p, int columns) {
  return p->batch ? dims_of(3, p->batch, p->m, columns)
                  : dims_of(2, p->m, columns);
}

/* Strides of A: its rows lie side by side, or apart, where there are gaps. */
static void lay_out(const product *p, int64_t *strides) {
  const int64_t row = p->gaps ? p->k + 3 : p->k;
  strides[0] = p->batch ? row * p->m + (p->gaps ? 5 : 0) : row;
  strides[1] = p->batch ? row : 1;
  strides[2] = 1;
}

static double expect(const product *p, const int64_t *strides, const void *a,
                     const float *b, int row, int column) {
  const int64_t at = p->batch
                         ? row / p->m * strides[0] + row % p->m * strides[1]
                         : row * strides[0];
  double sum = 0;
  for (int k = 0; k < p->k; k++) {
    sum += number_at(p, a, at + k) *
           (double)b[p->transposed ? column * p->k + k : k * p->n + column];
  }
  return sum * p->scale;
}

static double activate(const product *p, double v) {
  return p->activation == BSM_ACTIVATION_RELU   ? (v > 0 ? v : 0)
         : p->activation == BSM_ACTIVATION_TANH ? tanh(v)
                                                : v;
}

/* The step but for its tensors, with a matrix of floats where the target has no
 * such form; false: it has none for the dtype. */
static bool start(harness *h, const product *p) {
  const bsm_target *t = suite_target();
  const int32_t form =
      t->ops->few_bits_form
          ? t->ops->few_bits_form(t, p->dtype, p->bits, p->group)
          : 0;
  harness_init(h, BSM_STEP_MATRIX_MULTIPLY);
  h->params.matrix_multiply = (bsm_step_matrix_multiply){
      .constant_b = 1,
      .form = form,
      .k = p->k,
      .n = p->n,
      .scale = p->scale,
      .epilogue = {(int32_t)p->activation, p->residual, 0, 0}};
  return form || p->dtype == BSM_DTYPE_FLOAT;
}

static void run_product(const product *p, harness_rng *rng) {
  const bsm_target *t = suite_target();
  const size_t count = (size_t)(p->k * p->n);
  const size_t rows = (size_t)rows_of(p), n = (size_t)p->n;
  int64_t strides[3];
  harness h;
  if (!start(&h, p)) return;
  lay_out(p, strides);
  const void *a = add_input(&h, p->dtype, dims_of_rows(p, p->k), strides);
  fill_numbers(p, rng, h.inputs[0], h.data[h.step.inputs[0]].size);
  float *b = malloc(count * sizeof(float) + 1);
  double *y = malloc(rows * n * sizeof(double) + 1);
  assert_true(b && y);
  fill_floats(rng, b, count * sizeof(float));
  add_packed_for(&h, 0, &h.step, 1, b, sizeof(*b), p->transposed);
  if (h.params.matrix_multiply.form) {
    assert_null(
        t->ops->unpack(t, &h.step, h.weight_data[0].data, p->transposed, b));
  }
  add_output(&h, p->dtype, dims_of_rows(p, p->n), NULL);
  const void *r = NULL, *bias = NULL;
  if (p->residual) {
    r = add_input(&h, p->dtype, dims_of_rows(p, p->n), NULL);
    fill_numbers(p, rng, h.inputs[1], h.data[h.step.inputs[1]].size);
  }
  if (p->bias) {
    const size_t size = n * bsm_dtype_size(p->dtype);
    void *to = add_weights(&h, 1, size);
    fill_numbers(p, rng, to, size);
    bias = to;
  }
  for (size_t i = 0; i < rows * n; i++) {
    const int row = (int)(i / n), column = (int)(i % n);
    y[i] = activate(p, expect(p, strides, a, b, row, column) +
                           (bias ? number_at(p, bias, column) : 0) +
                           (r ? number_at(p, r, (int64_t)i) : 0));
  }
  harness_run_all(&h, compare, &(expected){p, y});
  free(y);
  free(b);
  harness_free(&h);
}

static void set_bits(product *p, int which) {
  p->bits = which == 0 ? 8 : 4;
  p->group = which == 0 ? 0 : 16 << which;
}

static void test_random(void **state) {
  static const bsm_activation_type acts[] = {
      BSM_ACTIVATION_NONE, BSM_ACTIVATION_RELU, BSM_ACTIVATION_TANH};
  static const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_HALF,
                                     BSM_DTYPE_BFLOAT16};
  harness_rng r = {83};
  (void)state;
  for (int i = 0; i < 48; i++) {
    product p = {.m = rng_range(&r, 1, 9),
                 .k = rng_range(&r, 1, 300),
                 .n = rng_range(&r, 1, 90),
                 .batch = rng_range(&r, 0, 3) == 0 ? 2 : 0,
                 .dtype = dtypes[i % 3],
                 .transposed = rng_range(&r, 0, 1),
                 .bias = rng_range(&r, 0, 1),
                 .residual = rng_range(&r, 0, 2) == 0,
                 .gaps = rng_range(&r, 0, 2) == 0,
                 .activation = acts[rng_range(&r, 0, 2)],
                 .scale = rng_range(&r, 0, 1) ? 1.0 : 0.125};
    set_bits(&p, rng_range(&r, 0, 3));
    run_product(&p, &r);
  }
}

/* More of k than threads ask for at once. */
static void test_long_sums(void **state) {
  harness_rng r = {89};
  (void)state;
  for (int i = 0; i < 4; i++) {
    product p = {.m = 1 + i,
                 .k = 2500 + i,
                 .n = 35,
                 .dtype = BSM_DTYPE_FLOAT,
                 .bias = true,
                 .scale = 1};
    set_bits(&p, i);
    run_product(&p, &r);
  }
}

static void test_hostile(void **state) {
  harness_rng r = {97};
  (void)state;
  for (int defect = 0; defect < 3; defect++) {
    product p = {
        .m = 1, .k = 64, .n = 16, .dtype = BSM_DTYPE_FLOAT, .scale = 1};
    harness h;
    set_bits(&p, defect);
    if (!start(&h, &p) || !h.params.matrix_multiply.form) continue;
    add_input(&h, p.dtype, dims_of(2, p.m, p.k), NULL);
    fill_input(&h, &r, 0);
    add_output(&h, p.dtype, dims_of(2, p.m, p.n), NULL);
    add_weights(&h, 0, defect == 0 ? 1024 : 512); /* but no scales */
    if (defect == 2) h.params.matrix_multiply.form = 77;
    bsm_status st = harness_run(&h, BSM_ISA_SCALAR, 1);
    assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
    bsm_status_free(st);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_long_sums),
      cmocka_unit_test(test_hostile),
  };
  return suite_run(argc, argv, tests);
}
