/* SPDX-License-Identifier: Apache-2.0 */
/* Group and instance norms of images whose maps lie together, with activations
 * behind them: which kernels do them, and what these give. */
#include "cuda/cuda_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/steps/cuda_group_norm.h"
#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

static standin gpu;

/* Its input has the maps last. */
static const char model[] =
    "graph(%%x : Tensor, %%w : Tensor, %%b : Tensor):\n"
    "  %%0 : int = prim::Constant[value=0]()\n"
    "  %%1 : int = prim::Constant[value=1]()\n"
    "  %%2 : int = prim::Constant[value=2]()\n"
    "  %%3 : int = prim::Constant[value=3]()\n"
    "  %%groups : int = prim::Constant[value=%d]()\n"
    "  %%epsilon : float = prim::Constant[value=1e-05]()\n"
    "  %%no : bool = prim::Constant[value=0]()\n"
    "  %%to : int[] = prim::ListConstruct(%%0, %%3, %%1, %%2)\n"
    "  %%from : int[] = prim::ListConstruct(%%0, %%2, %%3, %%1)\n"
    "  %%p : Tensor = aten::permute(%%x, %%to)\n"
    "  %%n : Tensor = aten::group_norm(%%p, %%groups, %%w, %%b, %%epsilon, "
    "%%no)\n"
    "  %%a : Tensor = aten::%s(%%n)\n"
    "  %%y : Tensor = aten::permute(%%a, %%from)\n"
    "  return (%%y)\n";

/* What is behind the norm is not stored where it is, as that is read again, and
 * may be stored where the scale was, which is computed. */
static const char model_read_again[] =
    "graph(%%x : Tensor, %%w : Tensor, %%b : Tensor):\n"
    "  %%0 : int = prim::Constant[value=0]()\n"
    "  %%1 : int = prim::Constant[value=1]()\n"
    "  %%2 : int = prim::Constant[value=2]()\n"
    "  %%3 : int = prim::Constant[value=3]()\n"
    "  %%groups : int = prim::Constant[value=%d]()\n"
    "  %%epsilon : float = prim::Constant[value=1e-05]()\n"
    "  %%no : bool = prim::Constant[value=0]()\n"
    "  %%to : int[] = prim::ListConstruct(%%0, %%3, %%1, %%2)\n"
    "  %%from : int[] = prim::ListConstruct(%%0, %%2, %%3, %%1)\n"
    "  %%p : Tensor = aten::permute(%%x, %%to)\n"
    "  %%scale : Tensor = aten::mul(%%w, %%w)\n"
    "  %%n : Tensor = aten::group_norm(%%p, %%groups, %%scale, %%b, %%epsilon, "
    "%%no)\n"
    "  %%a : Tensor = aten::%s(%%n)\n"
    "  %%yes : bool = prim::Constant[value=1]()\n"
    "  %%none : NoneType = prim::Constant()\n"
    "  %%pixels : int[] = prim::ListConstruct(%%2, %%3)\n"
    "  %%m : Tensor = aten::mean(%%a, %%pixels, %%yes, %%none)\n"
    "  %%d : Tensor = aten::mul(%%n, %%m)\n"
    "  %%y : Tensor = aten::permute(%%d, %%from)\n"
    "  return (%%y)\n";

typedef struct norm {
  int n, maps, height, width, groups;
  const char *activation;
  bsm_precision precision;
  uint32_t steps, launches; /* that are joined; of the kernel */
  bool read_again;          /* model_read_again */
} norm;

static bsm_engine *compile(const norm *t) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  char text[2048];
  bsm_input_spec specs[3] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT,
                             BSM_INPUT_SPEC_INIT};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const int dims[4] = {t->n, t->height, t->width, t->maps};
  for (int i = 0; i < 3; i++) {
    specs[i].dtype = BSM_DTYPE_FLOAT;
    specs[i].rank = i ? 1 : 4;
    for (int d = 0; d < specs[i].rank; d++) {
      specs[i].min[d] = i ? t->maps : dims[d];
    }
  }
  options.target = "cuda";
  options.inputs = specs;
  options.input_count = 3;
  options.no_timing = true;
  options.threads = 1;
  options.precisions = (uint32_t)t->precision;
  snprintf(text, sizeof(text), t->read_again ? model_read_again : model,
           t->groups, t->activation);
  assert_ok(
      bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static double activate(const norm *t, double x) {
  return strcmp(t->activation, "relu") == 0   ? fmax(x, 0)
         : strcmp(t->activation, "silu") == 0 ? x / (1 + exp(-x))
         : strcmp(t->activation, "neg") == 0  ? -x
                                              : x;
}

static void multiply_by_means(const norm *t, double *y) {
  const int pixels = t->height * t->width;
  for (int i = 0; i < t->n * t->maps; i++) {
    double *first =
        y + (ptrdiff_t)(i / t->maps * pixels) * t->maps + i % t->maps;
    double mean = 0;
    for (int k = 0; k < pixels; k++) {
      mean += activate(t, first[(ptrdiff_t)k * t->maps]) / pixels;
    }
    for (int k = 0; k < pixels; k++) first[(ptrdiff_t)k * t->maps] *= mean;
  }
}

/* What [n, height, width, maps] becomes, in double. */
static void expect(const norm *t, const float *x, const float *w,
                   const float *b, double *y) {
  const int pixels = t->height * t->width, size = t->maps / t->groups;
  for (int i = 0; i < t->n * t->groups; i++) {
    const size_t first = (size_t)(i / t->groups) * (size_t)(pixels * t->maps);
    const int map = i % t->groups * size;
    double mean = 0, squares = 0;
    for (int k = 0; k < pixels * size; k++) {
      mean += (double)x[first + (size_t)(k / size * t->maps + map + k % size)];
    }
    mean /= pixels * size;
    for (int k = 0; k < pixels * size; k++) {
      const size_t at = first + (size_t)(k / size * t->maps + map + k % size);
      squares += ((double)x[at] - mean) * ((double)x[at] - mean);
    }
    const double factor = 1 / sqrt(squares / (pixels * size) + 1e-5);
    for (int k = 0; k < pixels * size; k++) {
      const int c = map + k % size;
      const size_t at = first + (size_t)(k / size * t->maps + c);
      const double scale = (double)w[c] * (t->read_again ? (double)w[c] : 1);
      y[at] = ((double)x[at] - mean) * factor * scale + (double)b[c];
      if (!t->read_again) y[at] = activate(t, y[at]);
    }
  }
  if (t->read_again) multiply_by_means(t, y);
}

/* Launches of the kernel for the plan's steps; joined ones count once. */
static void check_plan(const norm *t, const bsm_plan *plan) {
  bsm_arena arena;
  uint32_t steps = 0, launches = 0;
  bsm_arena_init(&arena, NULL);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    static bsm_cuda_launches l;
    steps += bsm_cuda_activated_norm_steps(plan, i, 80);
    assert_ok(bsm_cuda_make_launches(plan, plan->steps + i, BSM_CUDA_FOR_SIZES,
                                     80, &arena, &l));
    for (uint32_t k = 0; k < l.count; k++) {
      launches += strcmp(l.items[k].kernel.source, "group_normalization") == 0;
    }
  }
  assert_int_equal(steps, t->steps);
  assert_int_equal(launches, t->launches);
  bsm_arena_destroy(&arena);
}

/* Numbers that half has, too, and that are far from zero. */
static void fill(float *x, size_t count, float mean, uint32_t seed) {
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = mean + (float)(int)(seed >> 24) / 64 - 2;
  }
}

static void check(const norm *t) {
  const size_t count = (size_t)(t->n * t->maps * t->height * t->width);
  float *x = malloc(count * sizeof(float)), *y = malloc(count * sizeof(float));
  double *want = malloc(count * sizeof(double));
  float w[64], b[64];
  assert_true(x && y && want && t->maps <= 64);
  fill(x, count, 20, 1);
  fill(w, (size_t)t->maps, 1, 2);
  fill(b, (size_t)t->maps, 0, 3);
  expect(t, x, w, b, want);
  bsm_engine *engine = compile(t);
  check_plan(t, engine->plan);
  bsm_context *context = NULL;
  const bsm_dims image = {4, {t->n, t->height, t->width, t->maps}};
  const bsm_dims row = {1, {t->maps}};
  const bsm_array in[3] = {{.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = image},
                           {.data = w, .dtype = BSM_DTYPE_FLOAT, .dims = row},
                           {.data = b, .dtype = BSM_DTYPE_FLOAT, .dims = row}};
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = image};
  assert_ok(bsm_context_create(engine, NULL, &context));
  assert_ok(bsm_context_run(context, in, 3, &out, 1));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  /* Means and products round three times more. */
  const double share = (t->precision == BSM_PRECISION_FP16 ? 0x1p-9 : 0x1p-17) *
                       (t->read_again ? 4 : 1);
  for (size_t i = 0; i < count; i++) {
    const double limit = share * fmax(1, fabs(want[i]));
    if (!(fabs((double)y[i] - want[i]) <= limit)) {
      fail_msg("element %zu of %d maps in %d groups: %g, not %g", i, t->maps,
               t->groups, (double)y[i], want[i]);
    }
  }
  free(x);
  free(y);
  free(want);
}

static void half(void **state) {
  (void)state;
  check(&(norm){2, 32, 5, 7, 8, "silu", BSM_PRECISION_FP16, 2, 1});
  check(&(norm){1, 24, 4, 5, 2, "relu", BSM_PRECISION_FP16, 2, 1});
}

/* Blocks share the pixels of an image. */
static void chunks(void **state) {
  (void)state;
  check(&(norm){1, 40, 28, 30, 1, "silu", BSM_PRECISION_FP16, 2, 2});
  check(&(norm){1, 64, 33, 19, 64, "neg", BSM_PRECISION_FP16, 0, 2});
}

static void wide(void **state) {
  (void)state;
  check(&(norm){2, 6, 9, 4, 3, "relu", BSM_PRECISION_FP32, 2, 1});
  check(&(norm){3, 5, 2, 3, 5, "relu", BSM_PRECISION_FP32, 2, 1});
}

/* A scale that the plan needs no longer than the norm. */
static void read_again(void **state) {
  (void)state;
  check(&(norm){2, 40, 28, 30, 5, "silu", BSM_PRECISION_FP16, 0, 2, true});
  check(&(norm){3, 32, 12, 10, 4, "relu", BSM_PRECISION_FP32, 0, 1, true});
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(half, nothing_is_left),
      cmocka_unit_test_teardown(chunks, nothing_is_left),
      cmocka_unit_test_teardown(wide, nothing_is_left),
      cmocka_unit_test_teardown(read_again, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
