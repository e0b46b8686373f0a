/* SPDX-License-Identifier: Apache-2.0 */
/* Weights alone in few bits: which products take them, what becomes of the
 * engine and its results, and what is refused. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"

enum { WIDTH = 256, MAX_ROWS = 24 };

static const char *const text =
    "graph(%x : Tensor, %w : Tensor, %b : Tensor, %v : Tensor, %s : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %a : Tensor = aten::linear(%x, %w, %b)\n"
    "  %c : Tensor = aten::relu(%a)\n"
    "  %d : Tensor = aten::linear(%c, %v, %none)\n"
    "  %e : Tensor = aten::tanh(%d)\n"
    "  %y : Tensor = aten::linear(%e, %s, %none)\n"
    "  return (%y)\n";

static float big[2][WIDTH * WIDTH], bias[WIDTH], small[8 * WIDTH];

static struct {
  bsm_module *module;
  bsm_logger logger;
  char log[8192];
} fx;

static void hear(void *user, bsm_log_level level, const char *message) {
  const size_t used = strlen(fx.log);
  (void)user;
  (void)level;
  snprintf(fx.log + used, sizeof(fx.log) - used, "%s\n", message);
}

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void fill(float *x, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = ((float)(seed >> 8) / 8388608.0f - 1) / 16;
  }
}

static int open_model(void **state) {
  (void)state;
  fill(big[0], WIDTH * WIDTH, 1);
  fill(big[1], WIDTH * WIDTH, 2);
  fill(bias, WIDTH, 3);
  fill(small, 8 * WIDTH, 4);
  fx.logger = (bsm_logger){BSM_LOG_LEVEL_INFO, hear, NULL};
  check(bsm_module_load_memory(text, strlen(text), "m.ir", NULL, &fx.module));
  return 0;
}

static int close_model(void **state) {
  (void)state;
  bsm_module_destroy(fx.module);
  return 0;
}

static bsm_array matrix(float *data, int64_t rows) {
  return (bsm_array){
      .data = data, .dtype = BSM_DTYPE_FLOAT, .dims = {2, {rows, WIDTH}}};
}

/* Of `rows` rows, or a range up to MAX_ROWS when that is greater than 1. */
typedef struct build {
  int64_t rows, most;
  int bits, group;
  int64_t weight_rows;
  const char *in_fp32; /* pattern of layers, or NULL */
} build;

static bsm_status try_compile(const build *b, bsm_engine **out) {
  bsm_array arrays[] = {
      matrix(big[0], WIDTH),
      {.data = bias, .dtype = BSM_DTYPE_FLOAT, .dims = {1, {WIDTH}}},
      matrix(big[1], WIDTH),
      matrix(small, 8)};
  bsm_input_spec specs[5];
  for (int i = 0; i < 5; i++) specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  specs[0].rank = 2;
  specs[0].min[0] = b->rows;
  specs[0].min[1] = WIDTH;
  if (b->most) {
    specs[0].opt[0] = b->rows;
    specs[0].max[0] = b->most;
    specs[0].opt[1] = specs[0].max[1] = WIDTH;
  }
  for (int i = 1; i < 5; i++) {
    specs[i].kind = BSM_INPUT_CONSTANT_TENSOR;
    specs[i].array = &arrays[i - 1];
  }
  const bsm_precision_override override = {.layer = b->in_fp32,
                                           .precision = BSM_PRECISION_FP32};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = 5;
  options.no_timing = true;
  options.threads = 1;
  options.logger = &fx.logger;
  options.weight_bits = b->bits;
  options.weight_group = b->group;
  options.weight_rows = b->weight_rows;
  options.precision_overrides = &override;
  options.precision_override_count = b->in_fp32 ? 1 : 0;
  fx.log[0] = '\0';
  return bsm_compile(fx.module, &options, out);
}

static bsm_engine *compile(const build *b) {
  bsm_engine *engine = NULL;
  check(try_compile(b, &engine));
  return engine;
}

static uint64_t weights_of(const bsm_engine *engine) {
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  check(bsm_engine_memory(engine, 1, &memory));
  return memory.weights;
}

static void run(bsm_engine *engine, int64_t rows, float *y) {
  static float x[MAX_ROWS * WIDTH];
  bsm_context *context;
  fill(x, (size_t)rows * WIDTH, 9);
  bsm_array in = matrix(x, rows);
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = {2, {rows, 8}}};
  check(bsm_context_create(engine, NULL, &context));
  check(bsm_context_run(context, &in, 1, &out, 1));
  bsm_context_destroy(context);
}

/* Bytes that a large matrix takes, packed. */
enum {
  FLOATS = WIDTH * WIDTH * 4,
  BYTES = WIDTH * WIDTH + WIDTH * 4,
  NIBBLES_32 = WIDTH * WIDTH / 2 + WIDTH * (WIDTH / 32) * 2,
  NIBBLES_128 = WIDTH * WIDTH / 2 + WIDTH * (WIDTH / 128) * 2
};

/* The two large products take few bits, the small one does not; what is near
 * the results follows from the noise of the weights. */
static void test_formats(void **state) {
  static const struct {
    int bits, group;
    size_t bytes;
    double error;
  } cases[] = {{8, 0, BYTES, 0.01},
               {4, 0, NIBBLES_32, 0.12},
               {4, 32, NIBBLES_32, 0.12},
               {4, 128, NIBBLES_128, 0.15}};
  (void)state;
  for (int64_t rows = 1; rows <= 11; rows += 5) {
    float expected[MAX_ROWS * 8], got[MAX_ROWS * 8];
    bsm_engine *plain = compile(&(build){.rows = rows});
    run(plain, rows, expected);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
      bsm_engine *engine = compile(&(build){
          .rows = rows, .bits = cases[i].bits, .group = cases[i].group});
      double signal = 0, noise = 0;
      run(engine, rows, got);
      for (int64_t k = 0; k < rows * 8; k++) {
        signal += (double)expected[k] * (double)expected[k];
        noise += pow((double)expected[k] - (double)got[k], 2);
      }
      assert_true(noise > 0 && sqrt(noise / signal) < cases[i].error);
      assert_int_equal(weights_of(plain) - weights_of(engine),
                       2 * (FLOATS - cases[i].bytes));
      assert_non_null(strstr(fx.log, "2 products have weights of"));
      bsm_engine_destroy(engine);
    }
    bsm_engine_destroy(plain);
  }
}

/* A file of it gives the same bits. */
static void test_saved(void **state) {
  float expected[3 * 8], got[3 * 8];
  void *data;
  size_t size;
  (void)state;
  for (int bits = 4; bits <= 8; bits += 4) {
    bsm_engine *engine = compile(&(build){.rows = 3, .bits = bits}), *loaded;
    run(engine, 3, expected);
    check(bsm_engine_save_memory(engine, NULL, &data, &size));
    check(bsm_engine_load_memory(data, size, NULL, &loaded));
    run(loaded, 3, got);
    assert_memory_equal(expected, got, sizeof(got));
    bsm_engine_destroy(loaded);
    bsm_engine_destroy(engine);
    bsm_bytes_free(data);
  }
}

static void assert_saves(const build *b, size_t products) {
  bsm_engine *plain = compile(&(build){.rows = b->rows});
  bsm_engine *engine = compile(b);
  assert_int_equal(weights_of(plain) - weights_of(engine),
                   products * (FLOATS - BYTES));
  bsm_engine_destroy(engine);
  bsm_engine_destroy(plain);
}

static void test_rules(void **state) {
  (void)state;
  assert_saves(&(build){.rows = MAX_ROWS, .bits = 8, .weight_rows = 23}, 0);
  assert_non_null(strstr(fx.log, "no product of this model takes them"));
  assert_saves(&(build){.rows = MAX_ROWS, .bits = 8, .weight_rows = 24}, 2);
  assert_saves(&(build){.rows = 1, .bits = 8, .in_fp32 = "*"}, 0);
  assert_saves(&(build){.rows = 1, .bits = 8, .in_fp32 = "%d = *"}, 1);
}

/* Plans for other shapes have the bits of engines for these alone. */
static void test_ranges(void **state) {
  float expected[MAX_ROWS * 8], got[MAX_ROWS * 8];
  void *data;
  size_t size;
  (void)state;
  bsm_engine *range = compile(
      &(build){.rows = 1, .most = MAX_ROWS, .bits = 4, .weight_rows = 9});
  check(bsm_engine_save_memory(range, NULL, &data, &size));
  bsm_engine_destroy(range);
  check(bsm_engine_load_memory(data, size, NULL, &range));
  for (int64_t rows = 1; rows <= MAX_ROWS; rows += 4) {
    bsm_engine *fixed =
        compile(&(build){.rows = rows, .bits = 4, .weight_rows = 9});
    run(fixed, rows, expected);
    run(range, rows, got);
    assert_memory_equal(expected, got, (size_t)rows * 8 * sizeof(float));
    bsm_engine_destroy(fixed);
  }
  bsm_engine_destroy(range);
  bsm_bytes_free(data);
}

static void assert_refused(const build *b, const char *what) {
  bsm_engine *engine = NULL;
  bsm_status status = try_compile(b, &engine);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  if (!strstr(bsm_status_message(status), what)) {
    fail_msg("no \"%s\" in: %s", what, bsm_status_message(status));
  }
  bsm_status_free(status);
}

static void test_refused(void **state) {
  (void)state;
  assert_refused(&(build){.rows = 1, .bits = 5}, "5 bits");
  assert_refused(&(build){.rows = 1, .bits = 4, .group = 48}, "48");
  assert_refused(&(build){.rows = 1, .bits = 8, .group = 64}, "64");
  assert_refused(&(build){.rows = 1, .bits = 8, .weight_rows = -1}, "rows");
  const float kept = big[1][77];
  big[1][77] = NAN;
  assert_refused(&(build){.rows = 1, .bits = 4}, "not finite");
  assert_refused(&(build){.rows = 1, .bits = 8}, "in the weights of");
  big[1][77] = kept;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats), cmocka_unit_test(test_saved),
      cmocka_unit_test(test_rules),   cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, open_model, close_model);
}
