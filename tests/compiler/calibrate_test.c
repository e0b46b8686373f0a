/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrating and compiling in int8 through the API. What a quantized network
 * computes is compared with PyTorch's fake_quantize
 * (tests/data/make_quantization.py). */
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
#include "tools/npy.h"

#define DATA(name) BSM_TEST_DATA_DIR "/quantization/" name
#define WEIGHTS 7

static const char *const weight_names[WEIGHTS] = {"w1", "b1", "w2", "b2",
                                                  "w3", "w4", "b4"};

static struct {
  bsm_module *module;
  bsm_npy_file arrays;
  bsm_input_spec specs[WEIGHTS + 1];
} f;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void refused(bsm_status status, bsm_code code, const char *part) {
  if (!strstr(bsm_status_message(status), part)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), part);
  }
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
}

static int set_up(void **state) {
  (void)state;
  check(bsm_module_load(DATA("net.ir"), NULL, &f.module));
  check(bsm_npy_open(DATA("net.npz"), NULL, &f.arrays));
  f.specs[0] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  f.specs[0].name = "x";
  f.specs[0].rank = 4;
  memcpy(f.specs[0].min, (int64_t[]){2, 3, 8, 8}, 4 * sizeof(int64_t));
  for (int i = 0; i < WEIGHTS; i++) {
    bsm_input_spec *spec = &f.specs[i + 1];
    *spec = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    spec->kind = BSM_INPUT_CONSTANT_TENSOR;
    spec->name = weight_names[i];
    spec->array = bsm_npy_find(&f.arrays, weight_names[i]);
    assert_non_null(spec->array);
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_module_destroy(f.module);
  bsm_npy_close(&f.arrays);
  return 0;
}

static bsm_compile_options options_for(const bsm_calibration *calibration) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = f.specs;
  options.input_count = WEIGHTS + 1;
  options.no_timing = true;
  options.threads = 1;
  options.calibration = calibration;
  if (!calibration) return options;
  options.precisions = BSM_PRECISION_INT8;
  options.prefer_size = true; /* also where int8 is slower */
  return options;
}

static void run(bsm_engine *engine, const bsm_array *x, float *y, size_t n) {
  bsm_context_options running = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  bsm_array out;
  running.threads = 1;
  check(bsm_context_create(engine, &running, &context));
  check(bsm_context_run_keep(context, x, 1));
  check(bsm_context_output(context, 0, &out));
  memcpy(y, out.data, n * sizeof(*y));
  bsm_context_destroy(context);
}

/* The output of the network as compiled with a calibration, or without. */
static void output_of(const bsm_calibration *calibration, float y[10]) {
  const bsm_compile_options options = options_for(calibration);
  bsm_engine *engine = NULL;
  check(bsm_compile(f.module, &options, &engine));
  run(engine, bsm_npy_find(&f.arrays, "x"), y, 10);
  bsm_engine_destroy(engine);
}

static double distance(const float *a, const float *b, size_t n) {
  double off = 0, all = 0;
  for (size_t i = 0; i < n; i++) {
    off += pow((double)a[i] - (double)b[i], 2);
    all += pow((double)b[i], 2);
  }
  return sqrt(off / all);
}

static const float *expected(const char *name) {
  return bsm_npy_find(&f.arrays, name)->data;
}

/* ---- what is computed ---- */

/* A value at the edge of a step may round to either side, and the network has
 * few outputs: they agree but for one such. */
static void computes_as_pytorch_does(void **state) {
  static const char *const files[][2] = {
      {DATA("net.calib"), "y_int8"}, {DATA("corrected.calib"), "y_corrected"}};
  float y[10], plain[10];
  (void)state;
  output_of(NULL, plain);
  assert_true(distance(plain, expected("y"), 10) < 1e-5);
  for (int i = 0; i < 2; i++) {
    bsm_calibration *c = NULL;
    check(bsm_calibration_load(files[i][0], &c));
    output_of(c, y);
    assert_true(distance(y, plain, 10) > 1e-2);
    const double off = distance(y, expected(files[i][1]), 10);
    if (!(off < 1e-4)) fail_msg("%s: %g", files[i][0], off);
    bsm_calibration_destroy(c);
  }
}

/* Float8 of the same ranges: the depthwise convolution and what it reads stay
 * as they are. */
static void computes_float8_as_pytorch_does(void **state) {
  bsm_calibration *c = NULL;
  bsm_engine *engine = NULL;
  float y[10], plain[10];
  (void)state;
  output_of(NULL, plain);
  check(bsm_calibration_load(DATA("net.calib"), &c));
  bsm_compile_options options = options_for(c);
  options.precisions = BSM_PRECISION_FP8;
  check(bsm_compile(f.module, &options, &engine));
  run(engine, bsm_npy_find(&f.arrays, "x"), y, 10);
  assert_true(distance(y, plain, 10) > 1e-3);
  const double off = distance(y, expected("y_fp8"), 10);
  if (!(off < 1e-4)) fail_msg("%g", off);
  bsm_engine_destroy(engine);
  bsm_calibration_destroy(c);
}

/* ---- calibrating ---- */

static bsm_calibrate_options data_of(const bsm_array *const *batches,
                                     size_t count) {
  bsm_calibrate_options options = BSM_CALIBRATE_OPTIONS_INIT;
  options.batches = batches;
  options.batch_count = count;
  return options;
}

static bsm_status calibrate(const bsm_calibrate_options *options,
                            bsm_calibration **out) {
  const bsm_compile_options compiling = options_for(NULL);
  return bsm_calibrate(f.module, &compiling, options, out);
}

static void ranges_are_those_of_the_data(void **state) {
  const bsm_array *batch = bsm_npy_find(&f.arrays, "x");
  bsm_calibrate_options options = data_of(&batch, 1);
  bsm_calibration *c = NULL, *given = NULL;
  (void)state;
  options.method = BSM_CALIBRATION_MIN_MAX;
  check(calibrate(&options, &c));
  check(bsm_calibration_load(DATA("corrected.calib"), &given));
  assert_int_equal(bsm_calibration_range_count(c), 5);
  assert_int_equal(bsm_calibration_layer_count(c), 4);
  for (size_t i = 0; i < 5; i++) {
    bsm_calibration_range r = BSM_CALIBRATION_RANGE_INIT, want = r;
    check(bsm_calibration_get_range(c, i, &r));
    bool found = false;
    for (size_t k = 0; k < 5 && !found; k++) {
      check(bsm_calibration_get_range(given, k, &want));
      found = strcmp(r.tensor, want.tensor) == 0;
    }
    /* The file has nine tenths of them, rounded; pooling keeps the greatest. */
    assert_true(found);
    assert_true(fabs(0.9 * r.low - want.low) < 0.001);
    assert_true(fabs(0.9 * r.high - want.high) < 0.001);
  }
  bsm_calibration_destroy(given);
  bsm_calibration_destroy(c);
}

/* A function that gives the batches of the list. */
static bsm_status next(void *user, size_t batch, const bsm_binding *inputs,
                       size_t count, bsm_array *arrays, bool *end) {
  size_t *calls = user;
  assert_int_equal(count, 1);
  assert_string_equal(inputs[0].name, "x");
  assert_int_equal(batch, *calls);
  *end = (*calls)++ == 3;
  arrays[0] = *bsm_npy_find(&f.arrays, "x");
  return BSM_OK;
}

static bsm_status failing(void *user, size_t batch, const bsm_binding *inputs,
                          size_t count, bsm_array *arrays, bool *end) {
  (void)user, (void)batch, (void)inputs, (void)count, (void)arrays, (void)end;
  return bsm_status_make(BSM_IO, "the disk is gone");
}

static void count_progress(void *user, const char *phase, size_t done,
                           size_t total) {
  size_t *calls = user;
  (void)total;
  calls[strcmp(phase, "ranges") == 0   ? 0
        : strcmp(phase, "layers") == 0 ? 1
                                       : 2]++;
  assert_true(done > 0);
}

static void data_may_come_from_a_function(void **state) {
  const bsm_array *batch = bsm_npy_find(&f.arrays, "x");
  const bsm_array *batches[3] = {batch, batch, batch};
  bsm_calibrate_options options = data_of(batches, 3);
  bsm_calibration *list = NULL, *function = NULL;
  size_t calls = 0, progress[3] = {0};
  char a[512], b[512];
  (void)state;
  check(calibrate(&options, &list));
  options = data_of(NULL, 0);
  options.next = next;
  options.next_user = &calls;
  options.progress = count_progress;
  options.progress_user = progress;
  check(calibrate(&options, &function));
  assert_int_equal(calls, 4);
  assert_int_equal(progress[0], 3);
  for (size_t i = 0; i < bsm_calibration_range_count(list); i++) {
    bsm_calibration_range r = BSM_CALIBRATION_RANGE_INIT;
    check(bsm_calibration_get_range(list, i, &r));
    snprintf(a, sizeof(a), "%s %.17g %.17g", r.tensor, r.low, r.high);
    check(bsm_calibration_get_range(function, i, &r));
    snprintf(b, sizeof(b), "%s %.17g %.17g", r.tensor, r.low, r.high);
    assert_string_equal(a, b);
  }
  bsm_calibration_destroy(list);
  bsm_calibration_destroy(function);
  options.next = failing;
  refused(calibrate(&options, &list), BSM_IO, "the disk is gone");
}

/* ---- accuracy ---- */

static double loss_of(const bsm_calibration *c) {
  bsm_calibration_info info = BSM_CALIBRATION_INFO_INIT;
  check(bsm_calibration_describe(c, &info));
  return info.loss;
}

static size_t narrow_layers(const bsm_calibration *c) {
  size_t count = 0;
  for (size_t i = 0; i < bsm_calibration_layer_count(c); i++) {
    bsm_calibration_layer l = BSM_CALIBRATION_LAYER_INIT;
    check(bsm_calibration_get_layer(c, i, &l));
    count += l.precision == BSM_PRECISION_INT8;
    assert_true(l.loss >= 0 && isfinite(l.loss) && l.sqnr > 10);
    assert_true(l.operations > 0);
  }
  return count;
}

/* The loss that is told is that of an engine, whatever the decisions. */
static void losses_are_those_of_engines(void **state) {
  const bsm_array *batch = bsm_npy_find(&f.arrays, "x");
  bsm_calibrate_options options = data_of(&batch, 1);
  const double limits[] = {0, 1e-9, 0};
  float plain[10], y[10];
  size_t narrow[3];
  double whole = 0;
  (void)state;
  output_of(NULL, plain);
  options.measure_layers = true;
  for (int i = 0; i < 3; i++) {
    bsm_calibration *c = NULL;
    options.max_loss = i == 2 ? whole / 2 : limits[i];
    check(calibrate(&options, &c));
    narrow[i] = narrow_layers(c);
    if (i == 0) whole = loss_of(c);
    assert_true(i == 0 || loss_of(c) <= options.max_loss);
    if (narrow[i]) {
      output_of(c, y);
      assert_true(fabs(distance(y, plain, 10) - loss_of(c)) <
                  1e-4 + 0.01 * loss_of(c));
    } else {
      const bsm_compile_options all = options_for(c);
      bsm_engine *engine = NULL;
      refused(bsm_compile(f.module, &all, &engine), BSM_INVALID_ARGUMENT,
              "no range of any layer");
    }
    bsm_calibration_destroy(c);
  }
  assert_int_equal(narrow[0], 4);
  assert_int_equal(narrow[1], 0);
  assert_true(narrow[2] > 0 && narrow[2] < 4);
}

/* A metric for which only the engine in float32 is good enough, at first. */
static bsm_status metric(void *user, bsm_engine *engine, double *out) {
  float y[10];
  size_t *calls = user;
  ++*calls;
  run(engine, bsm_npy_find(&f.arrays, "x"), y, 10);
  *out = -distance(y, expected("y"), 10);
  return BSM_OK;
}

static void users_may_measure(void **state) {
  const bsm_array *batch = bsm_npy_find(&f.arrays, "x");
  bsm_calibrate_options options = data_of(&batch, 1);
  bsm_calibration *c = NULL;
  size_t calls = 0, progress[3] = {0};
  (void)state;
  options.metric = metric;
  options.metric_user = &calls;
  options.max_loss = 0.002;
  options.progress = count_progress;
  options.progress_user = progress;
  check(calibrate(&options, &c));
  assert_true(calls > 2);
  assert_int_equal(progress[1], 4);
  assert_true(progress[2] > 1);
  assert_true(loss_of(c) <= 0.002);
  assert_true(narrow_layers(c) < 4);
  bsm_calibration_destroy(c);
}

static void products_may_be_dynamic(void **state) {
  const bsm_array *batch = bsm_npy_find(&f.arrays, "x");
  bsm_calibrate_options options = data_of(&batch, 1);
  bsm_calibration *c = NULL;
  bsm_calibration_layer l = BSM_CALIBRATION_LAYER_INIT;
  float plain[10], y[10];
  (void)state;
  options.dynamic_products = true;
  check(calibrate(&options, &c));
  check(bsm_calibration_get_layer(c, 3, &l));
  assert_string_equal(l.kind, "matrix_multiply");
  assert_true(l.dynamic);
  /* With the others in float32, only its own rounding is left. */
  for (size_t i = 0; i < 3; i++) {
    check(bsm_calibration_get_layer(c, i, &l));
    assert_false(l.dynamic);
    check(bsm_calibration_set_precision(c, l.name, BSM_PRECISION_FP32));
  }
  output_of(NULL, plain);
  output_of(c, y);
  assert_true(distance(y, plain, 10) > 1e-4);
  assert_true(distance(y, plain, 10) < 1e-2);
  bsm_calibration_destroy(c);
}

/* ---- what is faster ---- */

static bsm_status calibrate_text(const char *text, bsm_array x,
                                 bsm_calibration **out) {
  const bsm_array *batch = &x;
  const bsm_calibrate_options options = data_of(&batch, 1);
  bsm_module *module = NULL;
  check(bsm_module_load_memory(text, strlen(text), "m.ir", NULL, &module));
  bsm_status status = bsm_calibrate(module, NULL, &options, out);
  bsm_module_destroy(module);
  return status;
}

/* What the logger has been told. */
static char told[8192];

static void keep(void *user, bsm_log_level level, const char *message) {
  const size_t length = strlen(told);
  (void)user, (void)level;
  snprintf(told + length, sizeof(told) - length, "%s\n", message);
}

static void output_with(const bsm_compile_options *options, float y[10]) {
  bsm_engine *engine = NULL;
  told[0] = 0;
  check(bsm_compile(f.module, options, &engine));
  run(engine, bsm_npy_find(&f.arrays, "x"), y, 10);
  bsm_engine_destroy(engine);
}

/* A network that is slower in int8 stays in float32, unless it is to be small
 * or a rule wants int8; each layer says why. */
static void slow_networks_stay_in_float32(void **state) {
  static const bsm_logger logger = {BSM_LOG_LEVEL_INFO, keep, NULL};
  static const char *const slow[] = {"cpu:avx2,vnni=no", "cpu:avx512,vnni=no"};
  const bsm_precision_override all = {"*", NULL, BSM_PRECISION_INT8};
  const bsm_precision_override one = {"*linear*", NULL, BSM_PRECISION_INT8};
  bsm_calibration *c = NULL;
  float plain[10], int8[10], y[10];
  (void)state;
  output_of(NULL, plain);
  check(bsm_calibration_load(DATA("net.calib"), &c));
  output_of(c, int8);
  bsm_compile_options options = options_for(c);
  options.logger = &logger;
  for (int i = 0; i < 2; i++) {
    options.target = slow[i];
    options.prefer_size = false;
    options.precision_override_count = 0;
    output_with(&options, y);
    assert_true(distance(y, plain, 10) < 1e-5);
    assert_non_null(strstr(told, "4 layers stay in fp32, which is faster"));
    assert_non_null(strstr(told, "times as long"));
    assert_null(strstr(told, "compute in int8"));
    options.prefer_size = true;
    output_with(&options, y);
    assert_true(distance(y, int8, 10) < 1e-5);
    assert_non_null(strstr(told, "4 layers compute in int8"));
    options.prefer_size = false;
    options.precision_overrides = &all;
    options.precision_override_count = 1;
    output_with(&options, y);
    assert_true(distance(y, int8, 10) < 1e-5);
    options.precision_overrides = &one;
    output_with(&options, y);
    assert_true(distance(y, plain, 10) > 1e-4);
    assert_non_null(strstr(told, "1 layers compute in int8"));
    assert_non_null(strstr(told, "3 layers stay in fp32"));
  }
  options.precision_override_count = 0;
  options.target = "cpu:avx2,vnni=yes";
  output_with(&options, y);
  assert_true(distance(y, int8, 10) < 1e-5);
  bsm_calibration_destroy(c);
}

/* A product with a matrix of ones, or the identity, and a calibration of it. */
typedef struct square {
  bsm_module *module;
  bsm_calibration *calibration;
} square;

static square open_square(bool identity) {
  static float x[64 * 512];
  static char texts[2][512]; /* modules borrow theirs */
  char *text = texts[identity];
  square s;
  for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++) x[i] = (float)(i % 7);
  const bsm_array array = {x, BSM_DTYPE_FLOAT, {2, {64, 512}}, NULL};
  snprintf(text, sizeof(texts[0]),
           "graph(%%x : Float(64, 512)):\n"
           "  %%f : int = prim::Constant[value=512]()\n"
           "  %%s : int[] = prim::ListConstruct(%%f, %%f)\n"
           "  %%n : NoneType = prim::Constant()\n"
           "  %%w : Tensor = %s\n"
           "  %%y : Tensor = aten::matmul(%%x, %%w)\n"
           "  return (%%y)\n",
           identity ? "aten::eye(%f, %n, %n, %n, %n)"
                    : "aten::ones(%s, %n, %n, %n, %n)");
  check(calibrate_text(text, array, &s.calibration));
  check(bsm_module_load_memory(text, strlen(text), "m.ir", NULL, &s.module));
  return s;
}

static bsm_compile_options options_of_square(const square *s) {
  static const bsm_logger logger = {BSM_LOG_LEVEL_INFO, keep, NULL};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.no_timing = true;
  options.calibration = s->calibration;
  options.precisions = BSM_PRECISION_INT8;
  options.target = "cpu:avx512,vnni=no";
  options.logger = &logger;
  return options;
}

static void close_square(square *s) {
  bsm_calibration_destroy(s->calibration);
  bsm_module_destroy(s->module);
}

/* With AVX-512 a product is multiplied faster in int8 without instructions for
 * it, too, where sums of pairs of its weights do not saturate: those of an
 * identity, not those of equal numbers. An engine that gets other weights stays
 * what it is. With AVX2 it is faster for all weights. */
static void weights_decide_about_speed(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    square first = open_square(i), second = open_square(!i);
    const bsm_compile_options then = options_of_square(&first);
    const bsm_compile_options now = options_of_square(&second);
    const char *const expected =
        i ? "1 layers compute in int8" : "1 layers stay in fp32";
    bsm_engine *engine = NULL, *refitted = NULL;
    told[0] = 0;
    check(bsm_compile(first.module, &then, &engine));
    assert_non_null(strstr(told, expected));
    told[0] = 0;
    check(bsm_engine_refit(engine, second.module, &now, &refitted));
    assert_non_null(strstr(told, expected));
    assert_int_equal(bsm_engine_step_count(engine),
                     bsm_engine_step_count(refitted));
    bsm_engine_destroy(engine);
    bsm_engine_destroy(refitted);
    bsm_compile_options other = then;
    other.target = "cpu:avx2,vnni=no";
    told[0] = 0;
    check(bsm_compile(first.module, &other, &engine));
    assert_non_null(strstr(told, "1 layers compute in int8"));
    bsm_engine_destroy(engine);
    close_square(&first);
    close_square(&second);
  }
}

/* ---- what is refused ---- */

static void bad_data_is_refused(void **state) {
  static float values[2 * 3 * 8 * 8];
  const bsm_array bad = {values, BSM_DTYPE_FLOAT, {4, {2, 3, 8, 8}}, NULL};
  const bsm_array small = {values, BSM_DTYPE_FLOAT, {4, {1, 3, 8, 8}}, NULL};
  const bsm_array *batch = &bad;
  bsm_calibrate_options options = data_of(&batch, 1);
  bsm_calibration *c = NULL;
  (void)state;
  values[7] = NAN;
  refused(calibrate(&options, &c), BSM_INVALID_ARGUMENT,
          "value 7 is NaN\nin the values of tensor x\nin batch 0");
  values[7] = INFINITY;
  refused(calibrate(&options, &c), BSM_INVALID_ARGUMENT, "is infinite");
  values[7] = 0;
  batch = &small;
  refused(calibrate(&options, &c), BSM_INVALID_ARGUMENT, "[1, 3, 8, 8]");
  batch = NULL;
  refused(calibrate(&options, &c), BSM_INVALID_ARGUMENT, "batch 0 is NULL");
  options.batch_count = 0;
  refused(calibrate(&options, &c), BSM_INVALID_ARGUMENT,
          "there is no calibration data");
  refused(calibrate(NULL, &c), BSM_INVALID_ARGUMENT,
          "there is no calibration data");
  options.percentile = 101;
  refused(calibrate(&options, &c), BSM_INVALID_ARGUMENT, "percentile 101");
  options.percentile = 0;
  options.max_loss = -1;
  refused(calibrate(&options, &c), BSM_INVALID_ARGUMENT, "max_loss -1");
  options.max_loss = 0;
  options.method = (bsm_calibration_method)9;
  refused(calibrate(&options, &c), BSM_INVALID_ARGUMENT, "method 9 is none");
  assert_null(c);
}

static void models_without_use_for_int8_are_refused(void **state) {
  static float zeros[8];
  static int64_t whole[8];
  const bsm_dims dims = {2, {2, 4}};
  bsm_calibration *c = NULL;
  (void)state;
  refused(calibrate_text("graph(%x : Long(2, 4)):\n"
                         "  %y : Tensor = aten::mul(%x, %x)\n"
                         "  return (%y)\n",
                         (bsm_array){whole, BSM_DTYPE_INT64, dims, NULL}, &c),
          BSM_INVALID_ARGUMENT, "no layer that int8 could compute");
  const char *product =
      "graph(%x : Float(2, 4)):\n"
      "  %f : int = prim::Constant[value=4]()\n"
      "  %s : int[] = prim::ListConstruct(%f, %f)\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %w : Tensor = aten::ones(%s, %n, %n, %n, %n)\n"
      "  %y : Tensor = aten::matmul(%x, %w)\n"
      "  return (%y)\n";
  refused(calibrate_text(product,
                         (bsm_array){zeros, BSM_DTYPE_FLOAT, dims, NULL}, &c),
          BSM_INVALID_ARGUMENT, "no value of any layer's input is other");
  zeros[3] = 1;
  check(calibrate_text(product, (bsm_array){zeros, BSM_DTYPE_FLOAT, dims, NULL},
                       &c));
  /* It is of that model alone. */
  const bsm_compile_options compiling = options_for(c);
  bsm_engine *engine = NULL;
  refused(bsm_compile(f.module, &compiling, &engine), BSM_INVALID_ARGUMENT,
          "the calibration is of another model");
  /* Or of any whose tensors have the same names. */
  bsm_calibration_untie(c);
  check(bsm_compile(f.module, &compiling, &engine));
  bsm_engine_destroy(engine);
  bsm_calibration_destroy(c);
}

static void compiling_needs_int8_and_ranges(void **state) {
  bsm_calibration *c = NULL;
  bsm_engine *engine = NULL;
  (void)state;
  check(bsm_calibration_load(DATA("net.calib"), &c));
  bsm_compile_options options = options_for(c);
  options.precisions = 0;
  refused(bsm_compile(f.module, &options, &engine), BSM_INVALID_ARGUMENT,
          "do not allow int8");
  options = options_for(c);
  bsm_input_spec specs[WEIGHTS + 1];
  memcpy(specs, f.specs, sizeof(specs));
  memcpy(specs[0].opt, (int64_t[]){2, 3, 8, 8}, 4 * sizeof(int64_t));
  memcpy(specs[0].max, (int64_t[]){4, 3, 8, 8}, 4 * sizeof(int64_t));
  options.inputs = specs;
  refused(bsm_compile(f.module, &options, &engine), BSM_UNSUPPORTED,
          "takes shapes that are fixed");
  bsm_calibration_destroy(c);
  check(bsm_calibration_create(&c));
  options = options_for(c);
  refused(bsm_compile(f.module, &options, &engine), BSM_INVALID_ARGUMENT,
          "no range of any layer");
  bsm_calibration_destroy(c);
}

/* Rules about layers come before what the calibration says. */
static void rules_come_first(void **state) {
  const bsm_precision_override all = {"*", NULL, BSM_PRECISION_FP32};
  const bsm_precision_override linear[] = {
      {"*", NULL, BSM_PRECISION_FP32}, {"*linear*", NULL, BSM_PRECISION_INT8}};
  bsm_calibration *c = NULL;
  bsm_engine *engine = NULL;
  float plain[10], y[10];
  (void)state;
  check(bsm_calibration_load(DATA("net.calib"), &c));
  bsm_compile_options options = options_for(c);
  options.precision_overrides = &all;
  options.precision_override_count = 1;
  refused(bsm_compile(f.module, &options, &engine), BSM_INVALID_ARGUMENT,
          "no range of any layer");
  options.precision_overrides = linear;
  options.precision_override_count = 2;
  options.obey_precisions = true;
  check(bsm_compile(f.module, &options, &engine));
  run(engine, bsm_npy_find(&f.arrays, "x"), y, 10);
  output_of(NULL, plain);
  assert_true(distance(y, plain, 10) > 1e-4);
  assert_true(distance(y, expected("y_int8"), 10) > 1e-4);
  bsm_engine_destroy(engine);
  bsm_calibration_destroy(c);
}

/* Where fp8 is chosen, a rule may still want int8, of all layers or of some. */
static void rules_tell_int8_from_fp8(void **state) {
  const bsm_precision_override all = {"*", NULL, BSM_PRECISION_INT8};
  const bsm_precision_override linear = {"*linear*", NULL, BSM_PRECISION_INT8};
  bsm_calibration *c = NULL;
  bsm_engine *engine = NULL;
  float int8[10], y[10];
  (void)state;
  check(bsm_calibration_load(DATA("net.calib"), &c));
  output_of(c, int8);
  bsm_compile_options options = options_for(c);
  options.precisions = BSM_PRECISION_FP8;
  options.obey_precisions = true;
  options.precision_overrides = &all;
  options.precision_override_count = 1;
  check(bsm_compile(f.module, &options, &engine));
  run(engine, bsm_npy_find(&f.arrays, "x"), y, 10);
  assert_memory_equal(y, int8, sizeof(y));
  bsm_engine_destroy(engine);
  options.precision_overrides = &linear;
  check(bsm_compile(f.module, &options, &engine));
  run(engine, bsm_npy_find(&f.arrays, "x"), y, 10);
  assert_true(distance(y, int8, 10) > 1e-4);
  assert_true(distance(y, expected("y_fp8"), 10) > 1e-4);
  assert_true(distance(y, expected("y"), 10) < 0.1);
  bsm_engine_destroy(engine);
  bsm_calibration_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(computes_as_pytorch_does),
      cmocka_unit_test(computes_float8_as_pytorch_does),
      cmocka_unit_test(ranges_are_those_of_the_data),
      cmocka_unit_test(data_may_come_from_a_function),
      cmocka_unit_test(losses_are_those_of_engines),
      cmocka_unit_test(users_may_measure),
      cmocka_unit_test(products_may_be_dynamic),
      cmocka_unit_test(slow_networks_stay_in_float32),
      cmocka_unit_test(weights_decide_about_speed),
      cmocka_unit_test(bad_data_is_refused),
      cmocka_unit_test(models_without_use_for_int8_are_refused),
      cmocka_unit_test(compiling_needs_int8_and_ranges),
      cmocka_unit_test(rules_come_first),
      cmocka_unit_test(rules_tell_int8_from_fp8),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
