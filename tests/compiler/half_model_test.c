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
  double tolerance; /* of the root mean square; 0: 1.5 times PyTorch's error */
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

static void check_network(const network *n) {
  static const char *const isas[] = {"scalar",      "avx2", "avx512",
                                     "avx512_bf16", "amx",  "neon"};
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
  assert_true(count <= MOST);
  for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
    float out[MOST], first[MOST];
    uint32_t isa;
    if (!bsm_isa_parse(isas[i], &isa) || (isa & ~bsm_isa_detect())) continue;
    if (!isa) isa = BSM_CONTEXT_ISA_SCALAR;
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
      {"cnn", BSM_PRECISION_FP16, BSM_DTYPE_FLOAT, 0},
      {"cnn", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, 0},
      {"block", BSM_PRECISION_FP16, BSM_DTYPE_FLOAT, 0},
      {"block", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, 0},
      {"great", BSM_PRECISION_BF16, BSM_DTYPE_FLOAT, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
    check_network(&networks[i]);
    assert_null(strstr(heard, "stays in fp32"));
  }
}

static void test_dtypes(void **state) {
  static const network networks[] = {
      {"cnn_half", BSM_PRECISION_NONE, BSM_DTYPE_HALF, 0},
      {"cnn_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, 0},
      {"block_half", BSM_PRECISION_NONE, BSM_DTYPE_HALF, 0},
      {"block_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, 0},
      {"great_bfloat", BSM_PRECISION_NONE, BSM_DTYPE_BFLOAT16, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
    check_network(&networks[i]);
  }
}

/* What float16 does not hold stays in float32, and is named. */
static void test_great_values(void **state) {
  static const network great = {"great", BSM_PRECISION_FP16, BSM_DTYPE_FLOAT,
                                1e-3};
  (void)state;
  check_network(&great);
  assert_non_null(strstr(heard, "stays in fp32"));
  assert_non_null(strstr(heard, "is too great for float16"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_precisions),
                                     cmocka_unit_test(test_dtypes),
                                     cmocka_unit_test(test_great_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
