/* SPDX-License-Identifier: Apache-2.0 */
/* First convolutions of networks with a pooling of 2 by 2 pixels behind them:
 * one kernel stores what is pooled, with the same bits as where others read
 * what the convolution makes, and two kernels do it. */
#include "cuda/cuda_kit.h"

#include <math.h>
#include <stdio.h>

#include "aten/tensor.h"
#include "backend/cuda/steps/cuda_first_layers.h"
#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

enum { MAPS = 3, MOST = 1 << 15 };

typedef struct pooled_case {
  const char *activation, *pooling;
  int made, height, width, stride;
  uint32_t precision;
  bool is_half; /* images are: nothing is cast */
  bool is_flat; /* rows are made of the images behind it, which copies them */
  bool is_pooled;
  uint32_t steps;
} pooled_case;

#define LARGEST "max_pool2d(%a, %pair, %pair, %zeros, %ones, %no)"
#define MEAN "avg_pool2d(%a, %pair, %pair, %zeros, %no, %yes, %none)"

static const pooled_case cases[] = {
    {"tanh", MEAN, 6, 12, 12, 1, BSM_PRECISION_FP16, false, false, true, 3},
    {"relu", LARGEST, 40, 11, 19, 1, BSM_PRECISION_FP16, false, false, true, 3},
    {"relu", MEAN, 9, 37, 21, 2, BSM_PRECISION_BF16, false, true, true, 4},
    {"tanh", LARGEST, 16, 9, 30, 1, BSM_PRECISION_FP16, true, false, true, 2},
    {"tanh", MEAN, 6, 12, 12, 1, BSM_PRECISION_FP16, false, true, true, 4},
    /* Windows that overlap, reach outside, or are cut off. */
    {"relu", "max_pool2d(%a, %three_pair, %pair, %zeros, %ones, %no)", 8, 9, 9,
     1, BSM_PRECISION_FP16, false, false, false, 2},
    {"relu", "max_pool2d(%a, %pair, %pair, %ones, %ones, %no)", 8, 10, 10, 1,
     BSM_PRECISION_FP16, false, false, false, 2},
    {"relu", "max_pool2d(%a, %pair, %pair, %zeros, %ones, %yes)", 8, 9, 9, 1,
     BSM_PRECISION_FP16, false, false, false, 2},
    {"relu", "avg_pool2d(%a, %pair, %pair, %zeros, %no, %yes, %three)", 8, 8, 8,
     1, BSM_PRECISION_FP16, false, false, false, 2},
};

static standin gpu;
static union {
  float wide[MOST];
  uint16_t half[MOST];
} x;

static void write_text(const pooled_case *c, bool apart, char *text,
                       size_t size) {
  const int length = snprintf(
      text, size,
      "graph(%%x : Tensor):\n"
      "  %%none : NoneType = prim::Constant()\n"
      "  %%no : bool = prim::Constant[value=0]()\n"
      "  %%yes : bool = prim::Constant[value=1]()\n"
      "  %%zero : int = prim::Constant[value=0]()\n"
      "  %%one : int = prim::Constant[value=1]()\n"
      "  %%two : int = prim::Constant[value=2]()\n"
      "  %%three : int = prim::Constant[value=3]()\n"
      "  %%apart : int = prim::Constant[value=%d]()\n"
      "  %%made : int = prim::Constant[value=%d]()\n"
      "  %%count : int = prim::Constant[value=%d]()\n"
      "  %%six : int = prim::Constant[value=6]()\n"
      "  %%r : Tensor = aten::arange(%%count, %%six, %%none, %%none, %%none)\n"
      "  %%s : Tensor = aten::sin(%%r)\n"
      "  %%m : int[] = prim::ListConstruct(%%made, %%three, %%three, %%three)\n"
      "  %%v : Tensor = aten::view(%%s, %%m)\n"
      "  %%dtype : int = prim::Constant[value=%d]()\n"
      "  %%w : Tensor = aten::to(%%v, %%dtype, %%no, %%no, %%none)\n"
      "  %%stride : int[] = prim::ListConstruct(%%apart, %%apart)\n"
      "  %%ones : int[] = prim::ListConstruct(%%one, %%one)\n"
      "  %%zeros : int[] = prim::ListConstruct(%%zero, %%zero)\n"
      "  %%pair : int[] = prim::ListConstruct(%%two, %%two)\n"
      "  %%three_pair : int[] = prim::ListConstruct(%%three, %%three)\n"
      "  %%c : Tensor = aten::_convolution(%%x, %%w, %%none, %%stride, %%ones, "
      "%%ones, %%no, %%zeros, %%one, %%no, %%no, %%no, %%no)\n"
      "  %%a : Tensor = aten::%s(%%c)\n"
      "  %%p : Tensor = aten::%s\n"
      "  %%minus : int = prim::Constant[value=-1]()\n"
      "  %%f : Tensor = aten::flatten(%%p, %%one, %%minus)\n"
      "  %%y : Tensor = aten::neg(%%%s)\n"
      "  return (%%y%s)\n",
      c->stride, c->made, c->made * MAPS * 9, c->is_half ? 5 : 6, c->activation,
      c->pooling, c->is_flat ? "f" : "p", apart ? ", %a" : "");
  assert_true(length > 0 && (size_t)length < size);
}

static bsm_engine *compile(const pooled_case *c, bool apart) {
  char text[4096];
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const int64_t dims[] = {2, MAPS, c->height, c->width};
  write_text(c, apart, text, sizeof(text));
  spec.dtype = c->is_half ? BSM_DTYPE_HALF : BSM_DTYPE_FLOAT;
  spec.rank = 4;
  memcpy(spec.min, dims, sizeof(dims));
  options.target = "cuda";
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  options.precisions = c->precision;
  assert_ok(
      bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static uint32_t joined_steps(const bsm_plan *plan) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    found += bsm_cuda_first_layers_steps(plan, i, 90);
  }
  return found;
}

static size_t count_of(bsm_dims dims) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (size_t)dims.d[i];
  return count;
}

/* Runs an engine; returns how many numbers of 4 bytes are in `y`, its first
 * output. */
static size_t run(const bsm_engine *engine, float *y) {
  static float rest[MOST];
  bsm_context *context = NULL;
  bsm_binding binding = BSM_BINDING_INIT;
  bsm_array in = {.data = &x}, out[2] = {{.data = y}, {.data = rest}};
  assert_ok(bsm_engine_input(engine, 0, &binding));
  in.dims = binding.dims;
  in.dtype = binding.dtype;
  assert_true(count_of(in.dims) <= MOST);
  const size_t count = bsm_engine_output_count(engine);
  for (size_t i = 0; i < count; i++) {
    bsm_binding made = BSM_BINDING_INIT;
    assert_ok(bsm_engine_output(engine, i, &made));
    out[i].dims = made.dims;
    out[i].dtype = made.dtype;
    assert_true(count_of(made.dims) <= MOST);
  }
  memset(y, 0xff, MOST * sizeof(*y));
  assert_ok(bsm_context_create(engine, NULL, &context));
  assert_ok(bsm_context_run(context, &in, 1, out, count));
  bsm_context_destroy(context);
  return count_of(out[0].dims) * (out[0].dtype == BSM_DTYPE_FLOAT ? 4 : 2);
}

static void fill(const pooled_case *c) {
  for (int i = 0; i < 2 * MAPS * c->height * c->width; i++) {
    const float value = cosf((float)i * 0.7f);
    if (c->is_half) {
      x.half[i] = bsm_float_to_half(value);
    } else {
      x.wide[i] = value;
    }
  }
}

static void bits_are_those_of_two_kernels(void **state) {
  static float one[MOST], two[MOST];
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const pooled_case *c = &cases[i];
    bsm_engine *joined = compile(c, false);
    assert_int_equal(joined_steps(joined->plan), c->steps);
    if (!c->is_pooled) {
      bsm_engine_destroy(joined);
      continue;
    }
    bsm_engine *apart = compile(c, true);
    assert_int_equal(joined_steps(apart->plan), c->is_half ? 0 : 2);
    fill(c);
    const size_t bytes = run(joined, one);
    assert_int_equal(run(apart, two), bytes);
    if (memcmp(one, two, bytes) != 0) fail_msg("case %zu: other bits", i);
    bsm_engine_destroy(joined);
    bsm_engine_destroy(apart);
  }
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(bits_are_those_of_two_kernels, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
