/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of complex tensors give the same numbers when these are pairs of real
 * ones: the cases of data/lowering/golden/split_complex.ir, by the reference
 * library, before the pass and behind it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "lowering/interpret.h"
#include "lowering/pass.h"

#define MOST_INPUTS 4
#define MOST_OUTPUTS 4

static void assert_ok(bsm_status status) {
  if (status) print_error("%s\n", bsm_status_message(status));
  assert_null(status);
}

/* Numbers of [-1, 1], others for each input. */
static bsm_ivalue draw(bsm_arena *arena, const bsm_value *input,
                       uint32_t *state) {
  bsm_dims dims;
  bsm_dtype dtype;
  bsm_tensor *t;
  assert_true(bsm_value_dims(input, &dims, &dtype));
  assert_int_equal(dtype, BSM_DTYPE_FLOAT);
  assert_ok(bsm_tensor_new(arena, dtype, dims, false, &t));
  float *to = bsm_tensor_data(t);
  for (int64_t i = 0; i < bsm_tensor_numel(t); i++) {
    *state = *state * 1664525u + 1013904223u;
    to[i] = (float)(*state >> 8) / (float)(1 << 23) - 1;
  }
  return bsm_iv_tensor(t);
}

static bool is_complex(const bsm_value *v) {
  return v->type && v->type->kind == BSM_TYPE_TENSOR && v->type->has_dtype &&
         bsm_dtype_is_complex(v->type->dtype);
}

static size_t complex_values(const bsm_graph *graph) {
  size_t count = 0;
  for (const bsm_node *n = graph->block->first; n; n = n->next) {
    for (size_t i = 0; i < n->outputs.len; i++) {
      count += is_complex(bsm_node_out(n, i));
    }
  }
  return count;
}

/* Numbers as they are in memory, a pair for a complex one. */
static void assert_close(bsm_arena *arena, const bsm_ivalue *got,
                         const bsm_ivalue *want) {
  bsm_tensor *a, *b;
  assert_int_equal(got->tag, BSM_IVALUE_TENSOR);
  assert_int_equal(got->u.tensor->dtype, want->u.tensor->dtype);
  assert_true(bsm_dims_equal(got->u.tensor->sizes, want->u.tensor->sizes));
  assert_ok(bsm_tensor_contiguous(arena, got->u.tensor, &a));
  assert_ok(bsm_tensor_contiguous(arena, want->u.tensor, &b));
  const float *x = bsm_tensor_data(a), *y = bsm_tensor_data(b);
  const size_t size = bsm_dtype_size(a->dtype) / sizeof(float);
  const size_t count = (size_t)bsm_tensor_numel(a) * size;
  double most = 0, worst = 0;
  for (size_t i = 0; i < count; i++) {
    most = fmax(most, fabs((double)y[i]));
    worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
  }
  assert_true(most > 0);
  assert_true(worst <= 1e-6 * most);
}

static void run_case(bsm_str title, bsm_str text) {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_graph *graph;
  bsm_aten_library *aten;
  bsm_ivalue in[MOST_INPUTS], want[MOST_OUTPUTS], got[MOST_OUTPUTS];
  uint32_t state = 1;
  bsm_arena_init(&arena, NULL);
  assert_ok(bsm_ir_ctx_create(&arena, NULL, NULL, &cx));
  assert_ok(bsm_aten_library_create(&arena, &aten));
  assert_ok(bsm_graph_parse(cx, text, "case", &graph));
  const bsm_node *params = graph->block->params;
  const size_t inputs = params->outputs.len;
  const size_t outputs = graph->block->returns->inputs.len;
  assert_true(inputs <= MOST_INPUTS && outputs <= MOST_OUTPUTS);
  for (size_t i = 0; i < inputs; i++) {
    in[i] = draw(&arena, bsm_node_out(params, i), &state);
  }
  assert_ok(bsm_interpret_graph(graph, aten, in, inputs, want, outputs));
  assert_ok(bsm_lower_run_pass("split_complex", graph, aten));
  assert_ok(bsm_lower_run_pass("eliminate_dead_code", graph, aten));
  assert_ok(bsm_graph_verify(graph));
  /* Titles tell what has no rule. */
  const bool some = memmem(title.data, title.len, "complex results", 15) ||
                    memmem(title.data, title.len, "stay complex", 12);
  if (some != (complex_values(graph) > 0)) {
    print_error("%.*s\n", (int)title.len, title.data);
  }
  assert_int_equal(some, complex_values(graph) > 0);
  assert_ok(bsm_interpret_graph(graph, aten, in, inputs, got, outputs));
  for (size_t i = 0; i < outputs; i++) assert_close(&arena, &got[i], &want[i]);
  bsm_arena_destroy(&arena);
}

static void test_cases(void **state) {
  bsm_file_map map;
  size_t cases = 0;
  (void)state;
  assert_ok(bsm_file_map_open(
      BSM_TEST_DATA_DIR "/lowering/golden/split_complex.ir", NULL, &map));
  const char *at = (const char *)map.data, *end = at + map.size;
  while ((at = memmem(at, (size_t)(end - at), "=== ", 4)) != NULL) {
    const char *line = memchr(at, '\n', (size_t)(end - at));
    assert_non_null(line);
    const char *stop = memmem(line, (size_t)(end - line), "\n---\n", 5);
    assert_non_null(stop);
    run_case((bsm_str){at, (size_t)(line - at)},
             (bsm_str){line + 1, (size_t)(stop - line)});
    cases++;
    at = stop;
  }
  assert_true(cases > 10);
  bsm_file_map_close(&map);
}

/* A graph of `layers` transforms of n points; how many stay transforms when
 * compiling may take so many bytes. */
static size_t left_of(uint64_t bytes, int64_t n, size_t layers) {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_aten_library *aten;
  bsm_graph *graph;
  char text[2048];
  size_t left = 0;
  int size = snprintf(text, sizeof(text),
                      "graph(%%x0 : Float(2, %d)):\n"
                      "  %%n : NoneType = prim::Constant()\n"
                      "  %%d : int = prim::Constant[value=-1]()\n",
                      (int)n);
  for (size_t i = 0; i < layers; i++) {
    size += snprintf(text + size, sizeof(text) - (size_t)size,
                     "  %%z%zu : ComplexFloat(2, %d) = aten::fft_fft(%%x%zu, "
                     "%%n, %%d, %%n)\n"
                     "  %%x%zu : Float(2, %d) = aten::real(%%z%zu)\n",
                     i, (int)n, i, i + 1, (int)n, i);
  }
  size += snprintf(text + size, sizeof(text) - (size_t)size,
                   "  return (%%x%zu)\n", layers);
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_memory_bytes = bytes;
  bsm_arena_init(&arena, NULL);
  assert_ok(bsm_ir_ctx_create(&arena, &limits, NULL, &cx));
  assert_ok(bsm_aten_library_create(&arena, &aten));
  assert_ok(
      bsm_graph_parse(cx, (bsm_str){text, (size_t)size}, "layers", &graph));
  assert_ok(bsm_lower_run_pass("split_complex", graph, aten));
  assert_ok(bsm_lower_run_pass("eliminate_dead_code", graph, aten));
  for (const bsm_node *node = graph->block->first; node; node = node->next) {
    left += strcmp(node->kind, "aten::fft_fft") == 0;
  }
  bsm_arena_destroy(&arena);
  return left;
}

/* Equal transforms have one matrix, here of 4 MiB; those for which there is no
 * room stay. */
static void test_room(void **state) {
  (void)state;
  assert_int_equal(left_of(UINT64_C(60) << 20, 512, 8), 0);
  assert_int_equal(left_of(UINT64_C(10) << 20, 512, 8), 8);
  assert_int_equal(left_of(UINT64_C(60) << 20, 1021, 1), 0);
  assert_int_equal(left_of(UINT64_C(50) << 20, 1021, 1), 1);
  assert_int_equal(left_of(UINT64_C(10) << 20, 1024, 1), 0);
}

/* Transforms of more points than a matrix has, in two steps; a number of points
 * with a factor that is too large stays. */
static void test_steps(void **state) {
#define HEAD(dims)                               \
  "graph(%a : Float(" dims                       \
  ")):\n"                                        \
  "  %none : NoneType = prim::Constant()\n"      \
  "  %yes : bool = prim::Constant[value=1]()\n"  \
  "  %no : bool = prim::Constant[value=0]()\n"   \
  "  %last : int = prim::Constant[value=-1]()\n" \
  "  %first : int = prim::Constant[value=0]()\n"
#define REAL(dims) "  %r : Float(" dims ", 2) = aten::view_as_real(%c)\n"
#define OF(dims) "  %z : ComplexFloat(" dims ") = aten::view_as_complex(%a)\n"
  static const char *const cases[][2] = {
      {"real numbers",
       HEAD("2, 4096") "  %c : ComplexFloat(2, 2049) = aten::fft_rfft(%a, "
                       "%none, %last, %none)\n" REAL(
                           "2, 2049") "  return (%r)\n"},
      {"1201 points by a matrix",
       HEAD("1201") "  %c : ComplexFloat(601) = aten::fft_rfft(%a, %none, "
                    "%last, %none)\n" REAL("601") "  return (%r)\n"},
      {"an odd number of points",
       HEAD("3, 3969") "  %c : ComplexFloat(3, 1985) = aten::fft_rfft(%a, "
                       "%none, %last, %none)\n" REAL(
                           "3, 1985") "  return (%r)\n"},
      {"real numbers on both sides, filled up, along the first dim",
       HEAD("2000, 2") "  %n : int = prim::Constant[value=2100]()\n"
                       "  %o : str = prim::Constant[value=\"ortho\"]()\n"
                       "  %c : ComplexFloat(2100, 2) = aten::fft_fft(%a, %n, "
                       "%first, %o)\n" REAL("2100, 2") "  return (%r)\n"},
      {"complex numbers and back",
       HEAD("1089, 2")
           OF("1089") "  %f : ComplexFloat(1089) = aten::fft_fft(%z, %none, "
                      "%last, %none)\n"
                      "  %s : ComplexFloat(1089) = aten::mul(%f, %f)\n"
                      "  %c : ComplexFloat(1089) = aten::fft_ifft(%s, %none, "
                      "%last, "
                      "%none)\n" REAL("1089") "  return (%r)\n"},
      {"to real numbers",
       HEAD("2, 2049, 2")
           OF("2, 2049") "  %r : Float(2, 4096) = aten::fft_irfft(%z, %none, "
                         "%last, %none)\n"
                         "  return (%r)\n"},
      {"to an odd number of real numbers",
       HEAD("1985, 2") OF("1985") "  %n : int = prim::Constant[value=3969]()\n"
                                  "  %r : Float(3969) = aten::fft_irfft(%z, "
                                  "%n, %last, %none)\n"
                                  "  return (%r)\n"},
      {"a spectrogram, and what it was of",
       HEAD("2, 9000") "  %n : int = prim::Constant[value=4096]()\n"
                       "  %h : int = prim::Constant[value=1024]()\n"
                       "  %w : int = prim::Constant[value=4000]()\n"
                       "  %c : ComplexFloat(2, 2049, 5) = aten::stft(%a, %n, "
                       "%h, %w, %none, %yes, %yes, %yes, %no)\n"
                       "  %s : ComplexFloat(2, 2049, 5) = aten::mul(%c, %c)\n"
                       "  %b : Float(2, 4096) = aten::istft(%s, %n, %h, %w, "
                       "%none, %yes, %yes, %yes, %none, %no)\n" REAL(
                           "2, 2049, 5") "  return (%r, %b)\n"},
      {"4099 points stay complex",
       HEAD("4099") "  %c : ComplexFloat(2050) = aten::fft_rfft(%a, %none, "
                    "%last, %none)\n" REAL("2050") "  return (%r)\n"}};
#undef HEAD
#undef REAL
#undef OF
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    run_case(bsm_str_of(cases[i][0]), bsm_str_of(cases[i][1]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases),
                                     cmocka_unit_test(test_steps),
                                     cmocka_unit_test(test_room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
