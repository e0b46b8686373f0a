/* SPDX-License-Identifier: Apache-2.0 */
/* Networks in 16 bits: those that PyTorch has in half and bfloat16, and those
 * in float32 that are compiled with --precision. Against float64, their errors
 * are at most 1.5 times those of PyTorch in 16 bits, on every instruction set,
 * with the same bits on one and two threads. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aten/tensor.h"
#include "base/isa.h"
#include "bessemer/bessemer.h"
#include "tools/npy.h"

#define FOLDER BSM_TEST_DATA_DIR "/half/"
#define MOST 1024

typedef struct network {
  const char *name;
  bsm_precision precision; /* of a network of float32; NONE: of its own */
  bsm_dtype dtype;
  bool narrows;     /* 16 bits though float is faster */
  double tolerance; /* of the root mean square; 0: 1.5 times PyTorch's error */
  const char *target; /* that it is compiled for; NULL: this machine */
} network;

static char heard[8192];

static void hear(void *user, bsm_log_level level, const char *message) {
  (void)user;
  (void)level;
  strncat(heard, message, sizeof(heard) - strlen(heard) - 1);
}
static const bsm_logger logger = {.write = hear, .level = BSM_LOG_LEVEL_INFO};

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static bsm_engine *compile(const network *n, const bsm_dims *dims) {
  bsm_module *module;
  bsm_engine *engine;
  char path[256];
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  heard[0] = 0;
  spec.dtype = n->dtype;
  spec.rank = dims->rank;
  memcpy(spec.min, dims->d, sizeof(spec.min));
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.precisions = (uint32_t)n->precision;
  options.prefer_size = n->narrows;
  options.target = n->target;
  options.logger = &logger;
  snprintf(path, sizeof(path), FOLDER "%s.ts", n->name);
  check(bsm_module_load(path, NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static size_t count_of(const bsm_dims *d) {
  size_t count = 1;
  for (int32_t i = 0; i < d->rank; i++) count *= (size_t)d->d[i];
  return count;
}

static uint16_t narrow_of(bsm_dtype dtype, float x) {
  return dtype == BSM_DTYPE_HALF ? bsm_float_to_half(x)
                                 : bsm_float_to_bfloat16(x);
}
static float wide_of(bsm_dtype dtype, uint16_t x) {
  return dtype == BSM_DTYPE_HALF ? bsm_half_to_float(x)
                                 : bsm_bfloat16_to_float(x);
}

/* The root mean square of the differences. */
static double error_of(const float *got, const double *exact, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double d = (double)got[i] - exact[i];
    sum += d * d;
  }
  return sqrt(sum / (double)count);
}

static void run(const bsm_engine *engine, const network *n, const bsm_array *x,
                const bsm_dims *dims, uint32_t isa, int threads, float *out) {
  static uint16_t in[8192], narrow[MOST];
  const size_t count = count_of(&x->dims);
  const bool is_float = n->dtype == BSM_DTYPE_FLOAT;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context;
  bsm_array input = *x, output = {out, n->dtype, *dims, NULL};
  assert_true(count <= 8192);
  if (!is_float) {
    for (size_t i = 0; i < count; i++) {
      in[i] = narrow_of(n->dtype, ((const float *)x->data)[i]);
    }
    input = (bsm_array){in, n->dtype, x->dims, NULL};
    output.data = narrow;
  }
  options.threads = threads;
  options.isa = isa;
  check(bsm_context_create(engine, &options, &context));
  check(bsm_context_run(context, &input, 1, &output, 1));
  bsm_context_destroy(context);
  for (size_t i = 0; i < count_of(dims) && !is_float; i++) {
    out[i] = wide_of(n->dtype, narrow[i]);
  }
}

static const bsm_array *entry(const bsm_npy_file *file, const char *name) {
  const bsm_array *array = bsm_npy_find(file, name);
  assert_non_null(array);
  return array;
}

static const char *const isas[] = {"scalar",      "avx2", "avx512",
                                   "avx512_bf16", "amx",  "neon"};

/* Whether this machine has it; fills in what options of contexts take. */
static bool has_isa(const char *name, uint32_t *isa) {
  if (!bsm_isa_parse(name, isa) || (*isa & ~bsm_isa_detect())) return false;
  if (!*isa) *isa = BSM_CONTEXT_ISA_SCALAR;
  return true;
}

static void check_network(const network *n) {
  char path[256];
  bsm_npy_file file;
  snprintf(path, sizeof(path), FOLDER "%.*s.npz", (int)strcspn(n->name, "_"),
           n->name);
  check(bsm_npy_open(path, NULL, &file));
  const bsm_array *x = entry(&file, "x"), *exact = entry(&file, "exact");
  const bool is_half =
      n->precision == BSM_PRECISION_FP16 || n->dtype == BSM_DTYPE_HALF;
  const bsm_array *theirs = entry(&file, is_half ? "half" : "bfloat");
  const size_t count = count_of(&exact->dims);
  const double limit = n->tolerance > 0
                           ? n->tolerance
                           : 1.5 * error_of(theirs->data, exact->data, count);
  bsm_engine *engine = compile(n, &x->dims);
  char *dump;
  check(bsm_engine_dump(engine, &dump));
  assert_null(strstr(dump, "aten_call")); /* nothing is left to the library */
  bsm_string_free(dump);
  assert_true(count <= MOST);
  for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
    float out[MOST], first[MOST];
    uint32_t isa;
    if (!has_isa(isas[i], &isa)) continue;
    run(engine, n, x, &exact->dims, isa, 1, first);
    run(engine, n, x, &exact->dims, isa, 2, out);
    assert_memory_equal(out, first, count * sizeof(float));
    const double error = error_of(out, exact->data, count);
    if (!(error <= limit)) {
      fail_msg("%s in %s on %s: an error of %g, at most %g", n->name,
               n->precision ? bsm_precision_name(n->precision) : "its dtype",
               isas[i], error, limit);
    }
  }
  bsm_engine_destroy(engine);
  bsm_npy_close(&file);
}

static void test_precisions(void **state) {
  static const network networks[] = {
      {"cnn", BSM_PRECISION_FP16, BSM_DTYPE_FLOAT, true, 0, NULL},
      {"cnn", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, false, 0, NULL},
      {"block", BSM_PRECISION_FP16, BSM_DTYPE_FLOAT, true, 0, NULL},
      {"block", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, false, 0, NULL},
      {"great", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, false, 0, NULL},
      {"decoder", BSM_PRECISION_FP16, BSM_DTYPE_FLOAT, true, 0, NULL},
      {"decoder", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, true, 0, NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
    check_network(&networks[i]);
    assert_null(strstr(heard, "stays in fp32"));
  }
}

static void test_dtypes(void **state) {
  static const network networks[] = {
      {"cnn_half", BSM_PRECISION_NONE, BSM_DTYPE_HALF, true, 0, NULL},
      {"cnn_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, true, 0, NULL},
      {"block_half", BSM_PRECISION_NONE, BSM_DTYPE_HALF, true, 0, NULL},
      {"block_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, true, 0, NULL},
      {"great_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, true, 0, NULL},
      {"decoder_half", BSM_PRECISION_NONE, BSM_DTYPE_HALF, true, 0, NULL},
      {"decoder_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, true, 0, NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
    network wide = networks[i];
    check_network(&networks[i]);
    wide.narrows = false;
    check_network(&wide);
  }
}

/* What is built for tiles runs with whatever instructions there are, and what
 * is built for less with tiles. */
static void test_targets(void **state) {
  static const char *const targets[] = {"cpu:amx", "cpu:avx512_bf16",
                                        "cpu:avx512", "cpu:avx2"};
  static const network networks[] = {
      {"cnn", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, false, 0, NULL},
      {"block", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, false, 0, NULL},
      {"block_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, false, 0, NULL},
      {"decoder", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, false, 0, NULL},
      {"recurrent", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, false, 0, NULL},
      {"recurrent_half", BSM_PRECISION_NONE, BSM_DTYPE_HALF, false, 0, NULL},
      {"recurrent_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, false, 0,
       NULL},
  };
  (void)state;
  for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
      network n = networks[i];
      n.target = targets[t];
      check_network(&n);
      const bool wide = strstr(heard, "bf16 is not faster on the target");
      assert_int_equal(wide, t > 0 && n.precision == BSM_PRECISION_BF16);
    }
  }
}

/* What float16 does not hold stays in float32, and is named. */
static void test_great_values(void **state) {
  static const network great = {
      "great", BSM_PRECISION_FP16, BSM_DTYPE_FLOAT, true, 1e-3, NULL};
  (void)state;
  check_network(&great);
  assert_non_null(strstr(heard, "stays in fp32"));
  assert_non_null(strstr(heard, "is too great for float16"));
}

/* ---- what is no number ---- */

enum { MAPS = 16, OUT = 32, SIDE = 7, WIDTH = 9 };
enum { IN_COUNT = 2 * MAPS * SIDE * SIDE, OUT_COUNT = 2 * OUT * SIDE * SIDE };
enum { ROW_COUNT = 2 * MAPS * SIDE * WIDTH };

static const char odd_text[] =
    "graph(%x : Tensor, %w : Tensor, %v : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %two : int[] = prim::ListConstruct(%one, %one)\n"
    "  %c : Tensor = aten::conv2d(%x, %w, %none, %two, %two, %two, %one)\n"
    "  %r : Tensor = aten::relu(%c)\n"
    "  %m : Tensor = aten::matmul(%x, %v)\n"
    "  return (%r, %m)\n";

static bsm_engine *compile_odd(bsm_precision precision) {
  static float w[OUT * MAPS * 9], v[SIDE * WIDTH];
  bsm_array arrays[] = {{w, BSM_DTYPE_FLOAT, {4, {OUT, MAPS, 3, 3}}, NULL},
                        {v, BSM_DTYPE_FLOAT, {2, {SIDE, WIDTH}}, NULL}};
  bsm_input_spec specs[3];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_module *module;
  bsm_engine *engine;
  for (int i = 0; i < OUT * MAPS * 9; i++) w[i] = (float)(i % 13 - 6) / 16;
  for (int i = 0; i < SIDE * WIDTH; i++) v[i] = (float)(i % 11 - 5) / 8;
  for (int i = 0; i < 3; i++) specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  specs[0].dtype = BSM_DTYPE_FLOAT;
  specs[0].rank = 4;
  memcpy(specs[0].min, (int64_t[]){2, MAPS, SIDE, SIDE}, 4 * sizeof(int64_t));
  for (int i = 0; i < 2; i++) {
    specs[1 + i].kind = BSM_INPUT_CONSTANT_TENSOR;
    specs[1 + i].array = &arrays[i];
  }
  options.inputs = specs;
  options.input_count = 3;
  options.no_timing = true;
  options.precisions = (uint32_t)precision;
  options.prefer_size = true;
  check(bsm_module_load_memory(odd_text, strlen(odd_text), "odd.ir", NULL,
                               &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static void run_odd(const bsm_engine *engine, const float *x, uint32_t isa,
                    float *r, float *m) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context;
  const bsm_array in = {
      (void *)(uintptr_t)x, BSM_DTYPE_FLOAT, {4, {2, MAPS, SIDE, SIDE}}, NULL};
  const bsm_array out[] = {
      {r, BSM_DTYPE_FLOAT, {4, {2, OUT, SIDE, SIDE}}, NULL},
      {m, BSM_DTYPE_FLOAT, {4, {2, MAPS, SIDE, WIDTH}}, NULL}};
  options.isa = isa;
  options.threads = 1;
  check(bsm_context_create(engine, &options, &context));
  check(bsm_context_run(context, &in, 1, out, 2));
  bsm_context_destroy(context);
}

/* Of one kind: NaN, an infinity, or numbers that are nearly the same. */
static void check_kinds(const float *got, const float *expected, int count) {
  for (int i = 0; i < count; i++) {
    const float a = got[i], b = expected[i];
    const bool same = isnan(b)   ? isnan(a)
                      : isinf(b) ? a == b
                                 : fabsf(a - b) <= 0.1f + 0.02f * fabsf(b);
    if (!same) fail_msg("element %d: %g, not %g", i, (double)a, (double)b);
  }
}

/* bfloat16 has float32's range: what is infinite or no number is the same. */
static void test_infinities(void **state) {
  static float x[IN_COUNT], r[2][OUT_COUNT], m[2][ROW_COUNT];
  (void)state;
  for (int i = 0; i < IN_COUNT; i++) x[i] = (float)(i * 7 % 31 - 15) / 8;
  x[3 * SIDE * SIDE + 16] = NAN;
  x[IN_COUNT - 1] = INFINITY;
  x[IN_COUNT - 200] = -INFINITY;
  x[40] = 1e30f;
  bsm_engine *floats = compile_odd(BSM_PRECISION_NONE);
  bsm_engine *narrow = compile_odd(BSM_PRECISION_BF16);
  run_odd(floats, x, BSM_CONTEXT_ISA_SCALAR, r[0], m[0]);
  for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
    uint32_t isa;
    if (!has_isa(isas[i], &isa)) continue;
    run_odd(narrow, x, isa, r[1], m[1]);
    check_kinds(r[1], r[0], OUT_COUNT);
    check_kinds(m[1], m[0], ROW_COUNT);
  }
  bsm_engine_destroy(floats);
  bsm_engine_destroy(narrow);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_precisions), cmocka_unit_test(test_dtypes),
      cmocka_unit_test(test_targets), cmocka_unit_test(test_great_values),
      cmocka_unit_test(test_infinities)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
