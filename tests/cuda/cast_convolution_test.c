/* SPDX-License-Identifier: Apache-2.0 */
/* First convolutions of networks of float that compute in 16 bits: one kernel
 * rounds the images and multiplies their windows, where nobody else reads what
 * is rounded; with the same bits as two. */
#include "cuda/cuda_kit.h"

#include <math.h>

#include "aten/tensor.h"
#include "backend/cuda/steps/cuda_first_layers.h"
#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

enum {
  IMAGES = 2,
  MAPS = 3,
  HEIGHT = 9,
  WIDTH = 11,
  MADE = 8,
  KERNEL = 3,
  OUT_HEIGHT = 5,
  OUT_WIDTH = 6,
  COUNT = IMAGES * MADE * OUT_HEIGHT * OUT_WIDTH,
  PIXELS = IMAGES * MAPS * HEIGHT * WIDTH
};

static standin gpu;
static float x[PIXELS];

/* Strides of 2, padding of 1. */
#define CONVOLUTION                                                      \
  "graph(%x : Tensor):\n"                                                \
  "  %none : NoneType = prim::Constant()\n"                              \
  "  %no : bool = prim::Constant[value=0]()\n"                           \
  "  %zero : int = prim::Constant[value=0]()\n"                          \
  "  %one : int = prim::Constant[value=1]()\n"                           \
  "  %two : int = prim::Constant[value=2]()\n"                           \
  "  %three : int = prim::Constant[value=3]()\n"                         \
  "  %eight : int = prim::Constant[value=8]()\n"                         \
  "  %six : int = prim::Constant[value=6]()\n"                           \
  "  %count : int = prim::Constant[value=216]()\n"                       \
  "  %a : Tensor = aten::arange(%count, %six, %none, %none, %none)\n"    \
  "  %s : Tensor = aten::sin(%a)\n"                                      \
  "  %m : int[] = prim::ListConstruct(%eight, %three, %three, %three)\n" \
  "  %w : Tensor = aten::view(%s, %m)\n"                                 \
  "  %stride : int[] = prim::ListConstruct(%two, %two)\n"                \
  "  %pad : int[] = prim::ListConstruct(%one, %one)\n"                   \
  "  %zeros : int[] = prim::ListConstruct(%zero, %zero)\n"

#define CONVOLVE(from)                             \
  "  %c : Tensor = aten::_convolution(" from       \
  ", %w, %none, %stride, %pad, "                   \
  "%pad, %no, %zeros, %one, %no, %no, %no, %no)\n" \
  "  %y : Tensor = aten::relu(%c)\n"

static const char images[] = CONVOLUTION CONVOLVE("%x") "  return (%y)\n";

/* What is rounded is seen in another order: two kernels. */
static const char pixels[] = CONVOLUTION
    "  %order : int[] = prim::ListConstruct(%zero, %three, %one, %two)\n"
    "  %p : Tensor = aten::permute(%x, %order)\n" CONVOLVE(
        "%p") "  return (%y)\n";

/* The sum reads what is rounded, too. */
static const char read_twice[] = CONVOLUTION CONVOLVE("%x")
    "  %axes : int[] = prim::ListConstruct(%two, %three)\n"
    "  %z : Tensor = aten::sum(%x, %axes, %no, %none)\n"
    "  return (%y, %z)\n";

static bsm_engine *compile(const char *text, bool last, uint32_t precisions) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const int64_t dims[] = {IMAGES, MAPS, HEIGHT, WIDTH};
  const int64_t moved[] = {IMAGES, HEIGHT, WIDTH, MAPS};
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = 4;
  memcpy(spec.min, last ? moved : dims, sizeof(dims));
  options.target = "cuda";
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  options.precisions = precisions;
  assert_ok(
      bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static uint32_t joined_steps(const bsm_plan *plan, int sm) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    found += bsm_cuda_first_layers_steps(plan, i, sm);
  }
  return found;
}

/* A number of the images, whatever their layout. */
static float pixel_at(int image, int map, int row, int column) {
  return cosf((float)(((image * MAPS + map) * HEIGHT + row) * WIDTH + column) *
              0.7f);
}

static void fill(bool last) {
  for (int i = 0; i < PIXELS; i++) {
    const int column = i % WIDTH, row = i / WIDTH % HEIGHT;
    const int map = i / (WIDTH * HEIGHT) % MAPS;
    const int image = i / (WIDTH * HEIGHT * MAPS);
    const int at =
        last ? ((image * HEIGHT + row) * WIDTH + column) * MAPS + map : i;
    x[at] = pixel_at(image, map, row, column);
  }
}

static void run(const bsm_engine *engine, bool last, float *y, float *z) {
  bsm_context *context = NULL;
  bsm_binding binding = BSM_BINDING_INIT;
  bsm_array in = {.data = x, .dtype = BSM_DTYPE_FLOAT};
  bsm_array out[2] = {{.data = y, .dtype = BSM_DTYPE_FLOAT},
                      {.data = z, .dtype = BSM_DTYPE_FLOAT}};
  const size_t count = bsm_engine_output_count(engine);
  fill(last);
  assert_ok(bsm_engine_input(engine, 0, &binding));
  in.dims = binding.dims;
  for (size_t i = 0; i < count; i++) {
    bsm_binding made = BSM_BINDING_INIT;
    assert_ok(bsm_engine_output(engine, i, &made));
    out[i].dims = made.dims;
  }
  assert_ok(bsm_context_create(engine, NULL, &context));
  for (int i = 0; i < 3; i++) {
    memset(y, 0xff, COUNT * sizeof(float));
    assert_ok(bsm_context_run(context, &in, 1, out, count));
  }
  bsm_context_destroy(context);
}

static double rounded(float value) {
  return (double)bsm_half_to_float(bsm_float_to_half(value));
}

static double expected(int image, int map, int row, int column) {
  double sum = 0;
  for (int k = 0; k < MAPS * KERNEL * KERNEL; k++) {
    const int from = k / (KERNEL * KERNEL);
    const int r = row * 2 - 1 + k / KERNEL % KERNEL;
    const int c = column * 2 - 1 + k % KERNEL;
    if (r < 0 || r >= HEIGHT || c < 0 || c >= WIDTH) continue;
    sum += rounded(pixel_at(image, from, r, c)) *
           rounded(sinf((float)(map * MAPS * KERNEL * KERNEL + k)));
  }
  return sum > 0 ? sum : 0;
}

/* Of half, whose results are rounded once. */
static void check_values(const float *y) {
  for (int i = 0; i < COUNT; i++) {
    const int column = i % OUT_WIDTH, row = i / OUT_WIDTH % OUT_HEIGHT;
    const int map = i / (OUT_WIDTH * OUT_HEIGHT) % MADE;
    const int image = i / (OUT_WIDTH * OUT_HEIGHT * MADE);
    const double want = expected(image, map, row, column);
    if (!(fabs((double)y[i] - want) <= 0x1p-11 * want + 1e-4)) {
      fail_msg("number %d: %g instead of %g", i, (double)y[i], want);
    }
  }
}

static void images_are_rounded(void **state) {
  (void)state;
  float y[COUNT];
  bsm_engine *engine = compile(images, false, BSM_PRECISION_FP16);
  assert_int_equal(joined_steps(engine->plan, 90), 2);
  run(engine, false, y, NULL);
  check_values(y);
  bsm_engine_destroy(engine);
}

static void others_are_two_steps(void **state) {
  (void)state;
  float y[COUNT];
  bsm_engine *engine = compile(pixels, true, BSM_PRECISION_FP16);
  assert_int_equal(joined_steps(engine->plan, 90), 0);
  run(engine, true, y, NULL);
  check_values(y);
  bsm_engine_destroy(engine);
}

static void rounded_ones_are_read(void **state) {
  (void)state;
  float y[COUNT], z[IMAGES * MAPS];
  bsm_engine *engine = compile(read_twice, false, BSM_PRECISION_FP16);
  run(engine, false, y, z);
  check_values(y);
  for (int i = 0; i < IMAGES * MAPS; i++) {
    double sum = 0;
    for (int k = 0; k < HEIGHT * WIDTH; k++) {
      sum += rounded(pixel_at(i / MAPS, i % MAPS, k / WIDTH, k % WIDTH));
    }
    assert_true(fabs((double)z[i] - sum) <= 2e-2);
  }
  bsm_engine_destroy(engine);
}

static void float_has_no_cast(void **state) {
  (void)state;
  bsm_engine *engine = compile(images, false, BSM_PRECISION_FP32);
  assert_int_equal(joined_steps(engine->plan, 90), 0);
  bsm_engine_destroy(engine);
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(images_are_rounded, nothing_is_left),
      cmocka_unit_test_teardown(others_are_two_steps, nothing_is_left),
      cmocka_unit_test_teardown(rounded_ones_are_read, nothing_is_left),
      cmocka_unit_test_teardown(float_has_no_cast, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
