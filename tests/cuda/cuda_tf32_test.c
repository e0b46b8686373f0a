/* SPDX-License-Identifier: Apache-2.0 */
/* Products of float in tf32 on a GPU: they are those of operands that were
 * rounded to nearest, ties away from zero, with sums in float; in whatever way
 * operands lie. */
#include "cuda/cuda_kit.h"

#include <math.h>
#include <stdlib.h>

#include "bessemer/bessemer.h"

static standin gpu;

#define MOST 4096
static float a[MOST], b[MOST], y[MOST];

/* Of 10 bits. */
static double rounded(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  bits = (bits + 0x1000u) & ~0x1fffu;
  memcpy(&x, &bits, sizeof(x));
  return (double)x;
}

static void fill(float *x, uint32_t seed) {
  for (int i = 0; i < MOST; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) * 0x1p-23f - 1;
  }
}

static int64_t count_of(const bsm_dims *d) {
  int64_t count = 1;
  for (int i = 0; i < d->rank; i++) count *= d->d[i];
  assert_true(count <= MOST);
  return count;
}

/* Runs a function of two tensors. */
static void run(const char *model, bsm_dims a_dims, bsm_dims b_dims,
                bsm_dims y_dims) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_input_spec specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_dims *dims[] = {&a_dims, &b_dims};
  for (int i = 0; i < 2; i++) {
    specs[i].dtype = BSM_DTYPE_FLOAT;
    specs[i].rank = dims[i]->rank;
    for (int d = 0; d < dims[i]->rank; d++) {
      specs[i].min[d] = dims[i]->d[d];
    }
    count_of(dims[i]);
  }
  count_of(&y_dims);
  options.target = "cuda";
  options.inputs = specs;
  options.input_count = 2;
  options.no_timing = true;
  options.threads = 1;
  options.precisions = BSM_PRECISION_TF32;
  assert_ok(
      bsm_module_load_memory(model, strlen(model), "test.ir", NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  assert_ok(bsm_context_create(engine, NULL, &context));
  const bsm_array in[2] = {
      {.data = a, .dtype = BSM_DTYPE_FLOAT, .dims = a_dims},
      {.data = b, .dtype = BSM_DTYPE_FLOAT, .dims = b_dims}};
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = y_dims};
  assert_ok(bsm_context_run(context, in, 2, &out, 1));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

static void check(int at, double want, double size) {
  if (!(fabs((double)y[at] - want) <= 1e-6 * (size + 1))) {
    fail_msg("%d is %.9g, not %.9g", at, (double)y[at], want);
  }
}

/* [M, K] by [K, N], or by [N, K] transposed. */
static void check_product(int m, int k, int n, bool transposed) {
  run(transposed ? "graph(%a : Tensor, %b : Tensor):\n"
                   "  %t : Tensor = aten::t(%b)\n"
                   "  %y : Tensor = aten::matmul(%a, %t)\n"
                   "  return (%y)\n"
                 : "graph(%a : Tensor, %b : Tensor):\n"
                   "  %y : Tensor = aten::matmul(%a, %b)\n"
                   "  return (%y)\n",
      (bsm_dims){2, {m, k}},
      (bsm_dims){2, {transposed ? n : k, transposed ? k : n}},
      (bsm_dims){2, {m, n}});
  for (int i = 0; i < m * n; i++) {
    double sum = 0, size = 0;
    for (int j = 0; j < k; j++) {
      const double x = rounded(a[i / n * k + j]) *
                       rounded(b[transposed ? i % n * k + j : j * n + i % n]);
      sum += x;
      size += fabs(x);
    }
    check(i, sum, size);
  }
}

static void multiplies(void **state) {
  (void)state;
  check_product(37, 84, 44, false);
  check_product(37, 84, 44, true);
  check_product(29, 51, 35, false);
}

enum { IN = 8, OUT = 12, SIZE = 9 };

/* An image of 8 maps by a window of 3 x 3, padded. */
static void convolves(void **state) {
  (void)state;
  run("graph(%a : Tensor, %b : Tensor):\n"
      "  %none : NoneType = prim::Constant()\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %ones : int[] = prim::ListConstruct(%one, %one)\n"
      "  %y : Tensor = aten::conv2d(%a, %b, %none, %ones, %ones, %ones, %one)\n"
      "  return (%y)\n",
      (bsm_dims){4, {1, IN, SIZE, SIZE}}, (bsm_dims){4, {OUT, IN, 3, 3}},
      (bsm_dims){4, {1, OUT, SIZE, SIZE}});
  for (int i = 0; i < OUT * SIZE * SIZE; i++) {
    const int map = i / (SIZE * SIZE), h = i / SIZE % SIZE, w = i % SIZE;
    double sum = 0, size = 0;
    for (int t = 0; t < IN * 9; t++) {
      const int at_y = h + t / 3 % 3 - 1, at_x = w + t % 3 - 1;
      if (at_y < 0 || at_y >= SIZE || at_x < 0 || at_x >= SIZE) continue;
      const double x = rounded(a[(t / 9 * SIZE + at_y) * SIZE + at_x]) *
                       rounded(b[map * IN * 9 + t]);
      sum += x;
      size += fabs(x);
    }
    check(i, sum, size);
  }
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(multiplies, nothing_is_left),
      cmocka_unit_test_teardown(convolves, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  fill(a, 1);
  fill(b, 2);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
