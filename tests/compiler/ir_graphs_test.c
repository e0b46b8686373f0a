/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs in IR text give what PyTorch's parser and interpreter make of them:
 * values named by numbers, names defined again, literals that contradict their
 * types. tests/data/make_ir_graphs.py makes them. Arrays bind by name. */
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

#define FOLDER BSM_TEST_DATA_DIR "/ir_graphs/"
#define MAX_ARRAYS 8

static const char *const graphs[] = {"numbers",
                                     "numbers_out_of_order",
                                     "mixed_names",
                                     "shadowed",
                                     "shadowed_number",
                                     "shadowed_constant",
                                     "shadowed_in_blocks",
                                     "float_literal_of_int",
                                     "float_literal_of_int_mul",
                                     "exponent_of_int",
                                     "float_without_point",
                                     "bool_as_number",
                                     "two_outputs",
                                     "data_dependent",
                                     "leading_zeros"};

static void check_status(bsm_status status, const char *what) {
  if (status) fail_msg("%s: %s", what, bsm_status_message(status));
}

/* The arrays of a graph: "GRAPH/in/NAME", in reverse, so that none binds by its
 * place. */
static size_t specs_of(const bsm_npy_file *file, const char *graph,
                       bsm_input_spec *specs) {
  char prefix[64];
  size_t count = 0;
  snprintf(prefix, sizeof(prefix), "%s/in/", graph);
  for (size_t i = file->count; i-- > 0;) {
    const bsm_npy_array *a = &file->items[i];
    if (strncmp(a->name, prefix, strlen(prefix)) != 0) continue;
    assert_true(count < MAX_ARRAYS);
    specs[count] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[count].name = a->name + strlen(prefix);
    specs[count].dtype = a->array.dtype;
    specs[count].rank = a->array.dims.rank;
    memcpy(specs[count].min, a->array.dims.d, sizeof(specs[count].min));
    count++;
  }
  return count;
}

static void check_outputs(const bsm_npy_file *file, const char *graph,
                          bsm_context *context) {
  const size_t count = bsm_context_output_count(context);
  assert_true(count > 0);
  for (size_t i = 0; i < count; i++) {
    char name[96];
    bsm_array got;
    snprintf(name, sizeof(name), "%s/out/%zu", graph, i);
    const bsm_array *want = bsm_npy_find(file, name);
    assert_non_null(want);
    check_status(bsm_context_output(context, i, &got), graph);
    assert_int_equal(got.dtype, want->dtype);
    assert_int_equal(got.dims.rank, want->dims.rank);
    size_t elements = 1;
    for (int32_t d = 0; d < got.dims.rank; d++) {
      assert_int_equal(got.dims.d[d], want->dims.d[d]);
      elements *= (size_t)got.dims.d[d];
    }
    for (size_t k = 0; k < elements; k++) {
      const double a = (double)((const float *)got.data)[k];
      const double b = (double)((const float *)want->data)[k];
      if (!(isnan(a) && isnan(b)) && !(fabs(a - b) <= 1e-5 * (1 + fabs(b)))) {
        fail_msg("%s: output %zu[%zu] is %g, not %g", graph, i, k, a, b);
      }
    }
  }
}

static void run_graph(const bsm_npy_file *file, const char *graph) {
  char path[256];
  bsm_input_spec specs[MAX_ARRAYS];
  bsm_array inputs[MAX_ARRAYS];
  bsm_module *module;
  bsm_engine *engine;
  bsm_context *context;
  snprintf(path, sizeof(path), FOLDER "%s.ir", graph);
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.no_timing = true;
  options.threads = 1;
  options.inputs = specs;
  options.input_count = specs_of(file, graph, specs);
  check_status(bsm_module_load(path, NULL, &module), path);
  check_status(bsm_compile(module, &options, &engine), graph);
  assert_int_equal(bsm_engine_input_count(engine), options.input_count);
  for (size_t i = 0; i < options.input_count; i++) {
    char name[96];
    size_t at;
    check_status(bsm_engine_find_input(engine, specs[i].name, &at), graph);
    snprintf(name, sizeof(name), "%s/in/%s", graph, specs[i].name);
    inputs[at] = *bsm_npy_find(file, name);
  }
  check_status(bsm_context_create(engine, NULL, &context), graph);
  check_status(bsm_context_run_keep(context, inputs, options.input_count),
               graph);
  check_outputs(file, graph, context);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

static void test_graphs(void **state) {
  (void)state;
  bsm_npy_file file;
  check_status(bsm_npy_open(FOLDER "arrays.npz", NULL, &file), "arrays");
  for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
    run_graph(&file, graphs[i]);
  }
  bsm_npy_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
