/* SPDX-License-Identifier: Apache-2.0 */
/* The report of operators, of many models: with fixed shapes and ranges, as
 * plans and programs, with options that send nodes elsewhere, and with a
 * plug-in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "tests/compiler/report_check.h"

static bsm_module *load(const char *name, const bsm_plugin_registry *plugins) {
  char path[512];
  bsm_module *module = NULL;
  bsm_module_options options = BSM_MODULE_OPTIONS_INIT;
  options.plugins = plugins;
  snprintf(path, sizeof(path), "%s/%s.ts", BSM_TEST_DATA_DIR, name);
  bsm_status status = bsm_module_load(path, &options, &module);
  if (status) fail_msg("%s", bsm_status_message(status));
  return module;
}

static bsm_compile_options defaults(const bsm_input_spec *specs, size_t count) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = count;
  options.no_timing = true;
  options.threads = 1;
  return options;
}

static bsm_input_spec spec_of(bsm_dtype dtype, int32_t rank,
                              const int64_t (*sizes)[3]) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.dtype = dtype;
  spec.rank = rank;
  for (int32_t i = 0; i < rank; i++) {
    spec.min[i] = sizes[i][0];
    spec.opt[i] = sizes[i][1];
    spec.max[i] = sizes[i][2];
  }
  return spec;
}

/* Each way to send nodes elsewhere, by itself and all together. */
static void check_with_options(bsm_module *module, bsm_compile_options options,
                               const char *op) {
  for (unsigned i = 0; i < 16; i++) {
    options.fallback_ops = &op;
    options.fallback_op_count = i & 1;
    options.min_block_size = i & 2 ? 4 : 0;
    options.truncate_long_and_double = i & 4;
    options.require_full_compilation = i & 8;
    (void)report_check(module, &options);
  }
}

/* Shapes that the archive tells, or that a range allows. */
static void test_models_of_fixed_shapes(void **state) {
  static const struct {
    const char *name, *op;
    int32_t rank;
    int64_t dims[4];
  } models[] = {{"models/resnet-script", "aten::relu", 4, {1, 3, 32, 32}},
                {"models/mobilenet-trace", "aten::add", 4, {2, 3, 32, 32}},
                {"models/unet-frozen", "aten::cat", 4, {1, 3, 32, 32}},
                {"models/vit-script", "aten::linear", 4, {2, 3, 16, 16}}};
  (void)state;
  for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
    bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
    spec.rank = models[i].rank;
    memcpy(spec.min, models[i].dims, sizeof(models[i].dims));
    const bsm_compile_options options = defaults(&spec, 1);
    bsm_module *module = load(models[i].name, NULL);
    assert_true(report_check(module, &options));
    check_with_options(module, options, models[i].op);
    bsm_module_destroy(module);
  }
}

static void test_models_of_ranges(void **state) {
  static const int64_t image[][3] = {
      {1, 1, 3}, {3, 3, 3}, {32, 32, 64}, {32, 32, 64}};
  static const int64_t adaptive[][3] = {
      {1, 1, 5}, {3, 3, 3}, {4, 16, 20}, {4, 12, 20}};
  static const int64_t text[][3] = {{1, 2, 6}, {2, 8, 20}};
  static const int64_t ways[][3] = {{1, 4, 24}, {1, 4, 9}};
  const bsm_input_spec images = spec_of(BSM_DTYPE_FLOAT, 4, image);
  const bsm_input_spec sizes = spec_of(BSM_DTYPE_FLOAT, 4, adaptive);
  const bsm_input_spec ids = spec_of(BSM_DTYPE_INT64, 2, text);
  const bsm_input_spec rows = spec_of(BSM_DTYPE_FLOAT, 2, ways);
  const bsm_input_spec both[] = {ids, ids};
  const struct {
    const char *name, *op;
    const bsm_input_spec *specs;
    size_t count;
  } models[] = {{"models/resnet-script", "aten::relu", &images, 1},
                {"models/resnet-trace", "aten::conv2d", &images, 1},
                {"dynamic/adaptive", "aten::linear", &sizes, 1},
                {"dynamic/text", "aten::add", both, 2},
                {"dynamic/ways", "aten::add", &rows, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
    const bsm_compile_options options =
        defaults(models[i].specs, models[i].count);
    bsm_module *module = load(models[i].name, NULL);
    assert_true(report_check(module, &options));
    check_with_options(module, options, models[i].op);
    bsm_module_destroy(module);
  }
}

/* Control flow, lists, dicts, early returns, views, in-place writes; with fixed
 * shapes and with a range. */
static void test_programs(void **state) {
  static const int64_t range[][3] = {{1, 3, 5}, {3, 3, 3}};
  static const int64_t fixed[][3] = {{2, 2, 2}, {3, 3, 3}};
  bsm_module *module = load("programs/programs", NULL);
  size_t compiled = 0, methods = 0;
  const char *name;
  (void)state;
  for (size_t i = 0; (name = bsm_module_method_name(module, i)); i += 9) {
    for (int k = 0; k < 2; k++) {
      const bsm_input_spec floats =
          spec_of(BSM_DTYPE_FLOAT, 2, k ? range : fixed);
      const bsm_input_spec numbers = spec_of(BSM_DTYPE_INT64, 0, NULL);
      const bsm_input_spec specs[] = {floats, floats, numbers};
      bsm_compile_options options = defaults(specs, 3);
      options.method = name;
      compiled += report_check(module, &options);
      methods++;
    }
  }
  /* One or the other may refuse a shape; the report says so. */
  assert_true(methods > 20 && compiled > methods / 2);
  bsm_module_destroy(module);
}

/* ---- a plug-in ---- */

static bsm_status same_shape(bsm_call *call) {
  const bsm_array *x = bsm_call_tensor(call, 0);
  return bsm_call_set_output(call, 0, x->dtype, x->dims);
}

static bsm_status copy(bsm_call *call) {
  const bsm_array *x = bsm_call_tensor(call, 0);
  const bsm_array *y = bsm_call_output(call, 0);
  size_t n = bsm_dtype_size(x->dtype);
  for (int32_t i = 0; i < x->dims.rank; i++) n *= (size_t)x->dims.d[i];
  memcpy(y->data, x->data, n);
  return BSM_OK;
}

static void test_plugin(void **state) {
  static const bsm_layer_plugin layer = {
      .name = "test::copy",
      .version = 1,
      .schema = "test::copy(Tensor x) -> Tensor",
      .shape = same_shape,
      .run = copy};
  static const bsm_plugin plugin = {.abi = BSM_PLUGIN_ABI,
                                    .name = "test",
                                    .version = "1",
                                    .layers = &layer,
                                    .layer_count = 1};
  static const char text[] =
      "graph(%x : Tensor):\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %y : Tensor = test::copy(%x)\n"
      "  %z : Tensor = aten::add(%y, %x, %1)\n"
      "  %n : Tensor = aten::nonzero(%z)\n"
      "  return (%z, %n)\n";
  static const int64_t range[][3] = {{1, 2, 7}, {4, 4, 4}};
  static const int64_t fixed[][3] = {{2, 2, 2}, {4, 4, 4}};
  bsm_plugin_registry *plugins = NULL;
  (void)state;
  assert_null(bsm_plugin_registry_create(NULL, &plugins));
  assert_null(bsm_plugin_registry_add(plugins, &plugin));
  for (int k = 0; k < 2; k++) {
    const bsm_input_spec spec = spec_of(BSM_DTYPE_FLOAT, 2, k ? range : fixed);
    const bsm_compile_options options = defaults(&spec, 1);
    bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
    bsm_module *module = NULL;
    bsm_operator_list *list = NULL;
    loading.plugins = plugins;
    assert_null(
        bsm_module_load_memory(text, strlen(text), "text", &loading, &module));
    /* Whether it compiles or not: the report says the same. */
    assert_true(report_check(module, &options) || k == 1);
    check_with_options(module, options, "aten::add");
    assert_null(bsm_module_operators(module, &options, &list));
    const bsm_operator_info *op = report_find(list, "test::copy");
    assert_non_null(op);
    assert_true((op->unsupported_nodes == 0) ==
                (bsm_operator_list_failure(list) == NULL));
    assert_string_equal(op->source, "text:3");
    assert_int_equal(op->count, 1);
    bsm_operator_list_free(list);
    bsm_module_destroy(module);
  }
  bsm_plugin_registry_destroy(plugins);
}

/* Loops that are too long to unroll are the program's. */
static void test_long_loop(void **state) {
  static const char text[] =
      "graph(%x : Tensor):\n"
      "  %n : int = prim::Constant[value=200]()\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %y : Tensor = prim::Loop(%n, %t, %x)\n"
      "    block0(%i : int, %a : Tensor):\n"
      "      %b : Tensor = aten::sin(%a)\n"
      "      -> (%t, %b)\n"
      "  return (%y)\n";
  static const int64_t fixed[][3] = {{2, 2, 2}, {4, 4, 4}};
  const bsm_input_spec spec = spec_of(BSM_DTYPE_FLOAT, 2, fixed);
  const bsm_compile_options options = defaults(&spec, 1);
  (void)state;
  for (uint64_t trips = 0; trips < 400; trips += 100) {
    bsm_limits limits = BSM_LIMITS_INIT;
    bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
    bsm_module *module = NULL;
    bsm_operator_list *list = NULL;
    limits.max_loop_trips = trips;
    loading.limits = &limits;
    assert_null(
        bsm_module_load_memory(text, strlen(text), "text", &loading, &module));
    assert_true(report_check(module, &options));
    assert_null(bsm_module_operators(module, &options, &list));
    const bsm_operator_info *loop = report_find(list, "prim::Loop");
    assert_int_equal(loop ? loop->program_nodes : 0, trips == 100);
    if (loop) assert_non_null(strstr(loop->why, "the limit max_loop_trips"));
    assert_int_equal(report_find(list, "aten::sin")->layer_nodes,
                     trips == 100 ? 1 : 200);
    bsm_operator_list_free(list);
    bsm_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_models_of_fixed_shapes),
      cmocka_unit_test(test_models_of_ranges),
      cmocka_unit_test(test_programs),
      cmocka_unit_test(test_plugin),
      cmocka_unit_test(test_long_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
