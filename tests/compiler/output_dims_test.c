/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine tells of its outputs when dims of its inputs range: the dtype,
 * the rank, and every dim that does not range with them; and that a run gives
 * what was told. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"

/* x: [1 to 4, 3, 8 to 32]. */
static const char text[] =
    "graph(%x : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %false : bool = prim::Constant[value=0]()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %two : int = prim::Constant[value=2]()\n"
    "  %minus : int = prim::Constant[value=-1]()\n"
    "  %first : int[] = prim::Constant[value=[0]]()\n"
    "  %same : Tensor = aten::relu(%x)\n"
    "  %flat : Tensor = aten::flatten(%x, %one, %minus)\n"
    "  %sum : Tensor = aten::sum(%x, %first, %false, %none)\n"
    "  %mean : Tensor = aten::mean(%x, %none)\n"
    "  %arg : Tensor = aten::argmax(%x, %two, %false)\n"
    "  %turned : Tensor = aten::transpose(%x, %one, %two)\n"
    "  %item : Tensor = aten::select(%x, %zero, %zero)\n"
    "  %column : Tensor = aten::select(%item, %one, %zero)\n"
    "  %size : int = aten::size(%x, %two)\n"
    "  %places : Tensor = aten::nonzero(%x)\n"
    "  return (%same, %flat, %sum, %mean, %arg, %turned, %column, %size, "
    "%places)\n";

static const bsm_binding wanted[] = {
    {sizeof(bsm_binding), "same", BSM_DTYPE_FLOAT, {3, {-1, 3, -1}}},
    {sizeof(bsm_binding), "flat", BSM_DTYPE_FLOAT, {2, {-1, -1}}},
    {sizeof(bsm_binding), "sum", BSM_DTYPE_FLOAT, {2, {3, -1}}},
    {sizeof(bsm_binding), "mean", BSM_DTYPE_FLOAT, {0, {0}}},
    {sizeof(bsm_binding), "arg", BSM_DTYPE_INT64, {2, {-1, 3}}},
    {sizeof(bsm_binding), "turned", BSM_DTYPE_FLOAT, {3, {-1, -1, 3}}},
    {sizeof(bsm_binding), "column", BSM_DTYPE_FLOAT, {1, {3}}},
    {sizeof(bsm_binding), "size", BSM_DTYPE_INT64, {0, {0}}},
    {sizeof(bsm_binding),
     "places",
     BSM_DTYPE_UNDEFINED,
     {-1, {0}}}, /* only data tell */
};
enum { OUTPUTS = sizeof(wanted) / sizeof(wanted[0]) };

static void check(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static bsm_engine *compile(void) {
  bsm_input_spec spec = {.name = "x",
                         .dtype = BSM_DTYPE_FLOAT,
                         .rank = 3,
                         .min = {1, 3, 8},
                         .opt = {2, 3, 16},
                         .max = {4, 3, 32}};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_module_load_memory(text, strlen(text), "m.ir", NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static bool fits(const bsm_binding *told, bsm_dtype dtype, bsm_dims dims) {
  bool same = (told->dtype == dtype || told->dtype == BSM_DTYPE_UNDEFINED) &&
              (told->dims.rank == dims.rank || told->dims.rank == -1);
  for (int32_t i = 0; same && i < told->dims.rank; i++) {
    same = told->dims.d[i] == -1 || told->dims.d[i] == dims.d[i];
  }
  return same;
}

static void told_and_given(void **state) {
  (void)state;
  static float values[4 * 3 * 32];
  bsm_engine *engine = compile();
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  check(bsm_context_create(engine, &options, &context));
  assert_int_equal(bsm_engine_output_count(engine), OUTPUTS);
  for (size_t i = 0; i < OUTPUTS; i++) {
    bsm_binding told = BSM_BINDING_INIT;
    check(bsm_engine_output(engine, i, &told));
    if (wanted[i].dims.rank < 0) continue;
    assert_int_equal(told.dtype, wanted[i].dtype);
    assert_int_equal(told.dims.rank, wanted[i].dims.rank);
    for (int32_t k = 0; k < told.dims.rank; k++) {
      assert_int_equal(told.dims.d[k], wanted[i].dims.d[k]);
    }
  }
  static const int64_t shapes[][2] = {{1, 8}, {2, 16}, {4, 32}, {3, 9}};
  for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
    const bsm_array in = {
        values, BSM_DTYPE_FLOAT, {3, {shapes[s][0], 3, shapes[s][1]}}, NULL};
    check(bsm_context_run_keep(context, &in, 1));
    for (size_t i = 0; i < OUTPUTS; i++) {
      bsm_array out;
      check(bsm_context_output(context, i, &out));
      assert_true(fits(&wanted[i], out.dtype, out.dims));
    }
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* Arrays of the caller's are compared with what the run gives. */
static void into_arrays(void **state) {
  (void)state;
  static float values[2 * 3 * 10], same[2 * 3 * 10], flat[60], sum[30], mean[1],
      turned[60], column[3];
  static int64_t arg[6], size[1], places[1];
  bsm_engine *engine = compile();
  bsm_context *context = NULL;
  check(bsm_context_create(engine, NULL, &context));
  const bsm_array in = {values, BSM_DTYPE_FLOAT, {3, {2, 3, 10}}, NULL};
  bsm_array out[OUTPUTS] = {{same, BSM_DTYPE_FLOAT, {3, {2, 3, 10}}, NULL},
                            {flat, BSM_DTYPE_FLOAT, {2, {2, 30}}, NULL},
                            {sum, BSM_DTYPE_FLOAT, {2, {3, 10}}, NULL},
                            {mean, BSM_DTYPE_FLOAT, {0, {0}}, NULL},
                            {arg, BSM_DTYPE_INT64, {2, {2, 3}}, NULL},
                            {turned, BSM_DTYPE_FLOAT, {3, {2, 10, 3}}, NULL},
                            {column, BSM_DTYPE_FLOAT, {1, {3}}, NULL},
                            {size, BSM_DTYPE_INT64, {0, {0}}, NULL},
                            {places, BSM_DTYPE_INT64, {2, {0, 3}}, NULL}};
  check(bsm_context_run(context, &in, 1, out, OUTPUTS));
  assert_int_equal(size[0], 10);
  out[2].dims.d[0] = 4;
  bsm_status status = bsm_context_run(context, &in, 1, out, OUTPUTS);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  assert_non_null(strstr(bsm_status_message(status), "output 2"));
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(told_and_given),
      cmocka_unit_test(into_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
