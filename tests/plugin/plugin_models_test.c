/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins through the C API: compiled with, run with and without, of another
 * version, and from files that lie. */
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
#include <unistd.h>

#include "bessemer/bessemer.h"
#include "engine/engine_file.h"

static void check(bsm_status status) {
  if (!status) return;
  print_error("%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

/* Fails unless the status has the code and the text. */
static void check_fails(bsm_status status, bsm_code code, const char *text) {
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    print_error("%s is not expected; %s \"%s\" is\n",
                bsm_status_message(status), bsm_code_name(code), text);
    fail();
  }
  bsm_status_free(status);
}

/* ---- the plug-in under test ---- */

/* test::mix(Tensor[] xs, int[] weights, str mode, float? scale=None)
 *   -> (Tensor sum, Tensor count): weighted sum, through the workspace. */
static size_t numel(const bsm_array *x) {
  size_t n = 1;
  for (int32_t i = 0; i < x->dims.rank; i++) n *= (size_t)x->dims.d[i];
  return n;
}

static bsm_status mix_shape(bsm_call *call) {
  size_t count, weights;
  const bsm_array *xs = bsm_call_tensor_list(call, 0, &count);
  bsm_call_int_list(call, 1, &weights);
  BSM_CHECK(count > 0 && count == weights, "mix: %zu tensors, %zu weights",
            count, weights);
  for (size_t i = 0; i < count; i++) {
    BSM_CHECK(xs[i].dtype == BSM_DTYPE_FLOAT && numel(&xs[i]) == numel(xs),
              "mix: tensor %zu does not fit", i);
  }
  BSM_TRY(bsm_call_set_output(call, 0, BSM_DTYPE_FLOAT, xs[0].dims));
  return bsm_call_set_output(call, 1, BSM_DTYPE_INT64, (bsm_dims){0, {0}});
}

static bsm_status mix_workspace(bsm_call *call, size_t *size) {
  size_t count;
  *size = numel(bsm_call_tensor_list(call, 0, &count)) * sizeof(double);
  return BSM_OK;
}

static bsm_status mix_run(bsm_call *call) {
  size_t count, weight_count;
  const bsm_array *xs = bsm_call_tensor_list(call, 0, &count);
  const int64_t *weights = bsm_call_int_list(call, 1, &weight_count);
  const bool negate = strcmp(bsm_call_string(call, 2), "negate") == 0;
  const double scale = bsm_call_is_none(call, 3) ? 1 : bsm_call_double(call, 3);
  double *sum = bsm_call_workspace(call);
  const size_t n = numel(xs);
  memset(sum, 0, n * sizeof(*sum));
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < n; k++) {
      sum[k] += (double)weights[i] * ((const float *)xs[i].data)[k];
    }
  }
  float *out = bsm_call_output(call, 0)->data;
  for (size_t k = 0; k < n; k++) {
    out[k] = (float)(negate ? -scale * sum[k] : scale * sum[k]);
  }
  *(int64_t *)bsm_call_output(call, 1)->data = (int64_t)count;
  return BSM_OK;
}

/* test::half(Tensor x) -> Tensor: a shape alone; a converter makes it. */
static bsm_status like_first(bsm_call *call) {
  const bsm_array *x = bsm_call_input(call, 0);
  BSM_CHECK(x, "no input");
  return bsm_call_set_output(call, 0, x->dtype, x->dims);
}

static bsm_status convert_half(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  bsm_layer *c = bsm_network_add_constant(
      ctx->net, (bsm_dims){0, {0}},
      bsm_weights_of_scalar(ctx, BSM_DTYPE_FLOAT, 0.5));
  bsm_layer *product = bsm_network_add_element_wise(
      ctx->net, bsm_arg_itensor(args, 0), bsm_layer_output(c, 0),
      BSM_ELEMENT_WISE_PROD);
  BSM_CHECK(product, "half: no layer");
  bsm_associate_value_and_tensor(ctx, bsm_node_output(node, 0),
                                 bsm_layer_output(product, 0));
  return BSM_OK;
}

/* test::power, without a schema: its converter gives it parameters. */
typedef struct power_params {
  int64_t exponent;
} power_params;

static bsm_status power_check(const void *params, size_t size) {
  BSM_CHECK(size == sizeof(power_params) &&
                ((const power_params *)params)->exponent >= 0 &&
                ((const power_params *)params)->exponent < 10,
            "power: bad parameters");
  return BSM_OK;
}

static bsm_status power_run(bsm_call *call) {
  size_t size;
  const power_params *p = bsm_call_params(call, &size);
  const bsm_array *x = bsm_call_input(call, 0);
  float *out = bsm_call_output(call, 0)->data;
  for (size_t i = 0; i < numel(x); i++) {
    out[i] = powf(((const float *)x->data)[i], (float)p->exponent);
  }
  return BSM_OK;
}

static const bsm_layer_plugin test_layers[] = {
    {.name = "test::mix",
     .version = 7,
     .outputs = 2,
     .schema = "test::mix(Tensor[] xs, int[] weights, str mode, float? "
               "scale=None) -> (Tensor, Tensor)",
     .shape = mix_shape,
     .run = mix_run,
     .workspace = mix_workspace},
    {.name = "test::half",
     .schema = "test::half(Tensor x) -> Tensor",
     .shape = like_first},
    {.name = "test::cube",
     .schema = "test::cube(Tensor x) -> Tensor",
     .shape = like_first},
    {.name = "test::power",
     .version = 1,
     .shape = like_first,
     .run = power_run,
     .check = power_check}};

static bsm_status convert_cube(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  static const power_params params = {3};
  bsm_itensor *x = bsm_arg_itensor(args, 0);
  bsm_layer *layer = bsm_network_add_plugin(ctx->net, &test_layers[3], &params,
                                            sizeof(params), &x, 1);
  BSM_CHECK(layer, "cube: no layer");
  bsm_associate_value_and_tensor(ctx, bsm_node_output(node, 0),
                                 bsm_layer_output(layer, 0));
  return BSM_OK;
}

/* aten::relu becomes a negation: to see that it is replaced. */
static bsm_status convert_relu(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  bsm_layer *layer =
      bsm_network_add_unary(ctx->net, bsm_arg_itensor(args, 0), BSM_UNARY_NEG);
  BSM_CHECK(layer, "relu: no layer");
  bsm_associate_value_and_tensor(ctx, bsm_node_output(node, 0),
                                 bsm_layer_output(layer, 0));
  return BSM_OK;
}

static const bsm_conversion_pattern test_patterns[] = {
    {"test::half(Tensor x) -> Tensor", convert_half, 0},
    {"test::cube(Tensor x) -> Tensor", convert_cube, 0},
    {"aten::relu(Tensor self) -> Tensor", convert_relu, 0}};

static bsm_status round_up(bsm_call *call) {
  const int64_t a = bsm_call_int(call, 0), b = bsm_call_int(call, 1);
  BSM_CHECK(b > 0, "round_up to a multiple of %lld", (long long)b);
  return bsm_call_return_int(call, 0, (a + b - 1) / b * b);
}

static bsm_status pair_of(bsm_call *call) {
  const bsm_array *x = bsm_call_tensor(call, 0);
  const int64_t dims[2] = {x->dims.d[0], x->dims.d[1] * x->dims.d[2]};
  BSM_TRY(bsm_call_return_int_list(call, 0, dims, 2));
  return bsm_call_return_double(call, 1, 0.25);
}

static const bsm_evaluator_plugin test_evaluators[] = {
    {"test::round_up(int a, int b=4) -> int", round_up, 0},
    {"test::pair_of(Tensor x) -> (int[], float)", pair_of,
     BSM_EVALUATOR_OF_SHAPES}};

static const bsm_plugin test_plugin = {.abi = BSM_PLUGIN_ABI,
                                       .name = "test",
                                       .version = "7.0",
                                       .layers = test_layers,
                                       .layer_count = 4,
                                       .evaluators = test_evaluators,
                                       .evaluator_count = 2,
                                       .patterns = test_patterns,
                                       .pattern_count = 3};

static bsm_plugin_registry *registry_of(const bsm_plugin *plugin) {
  bsm_plugin_registry *registry;
  check(bsm_plugin_registry_create(NULL, &registry));
  if (plugin) check(bsm_plugin_registry_add(registry, plugin));
  return registry;
}

/* ---- compiling and running ---- */

#define MIX_IR                                                       \
  "graph(%x : Float(2, 3, 4), %y : Float(2, 3, 4)):\n"               \
  "  %w : int[] = prim::Constant[value=[2, -1]]()\n"                 \
  "  %mode : str = prim::Constant[value=\"negate\"]()\n"             \
  "  %scale : float = prim::Constant[value=0.5]()\n"                 \
  "  %a : int = prim::Constant[value=1]()\n"                         \
  "  %b : int = prim::Constant[value=2]()\n"                         \
  "  %t : Tensor = aten::transpose(%x, %a, %b)\n"                    \
  "  %u : Tensor = aten::transpose(%y, %a, %b)\n"                    \
  "  %xs : Tensor[] = prim::ListConstruct(%t, %u)\n"                 \
  "  %m : Tensor, %n : Tensor = test::mix(%xs, %w, %mode, %scale)\n" \
  "  return (%m, %n)\n"

static bsm_status compile_text(const char *text,
                               const bsm_plugin_registry *plugins,
                               bsm_engine **out) {
  bsm_module_options module_options = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_module *module;
  *out = NULL;
  module_options.plugins = plugins;
  options.no_timing = true;
  BSM_TRY(bsm_module_load_memory(text, strlen(text), "test", &module_options,
                                 &module));
  bsm_status status = bsm_compile(module, &options, out);
  bsm_module_destroy(module);
  return status;
}

/* Runs an engine whose tensors have at most 64 elements on 0, 1, 2, ... */
static bsm_status run_engine(const bsm_engine *engine, float out[64],
                             int64_t *number) {
  static float data[2][64];
  bsm_array inputs[2], outputs[2];
  bsm_context *context;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 2;
  BSM_TRY(bsm_context_create(engine, &options, &context));
  const size_t in = bsm_engine_input_count(engine);
  const size_t count = bsm_engine_output_count(engine);
  assert_true(in <= 2 && count <= 2);
  for (size_t i = 0; i < in; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    check(bsm_engine_input(engine, i, &binding));
    for (size_t k = 0; k < 64; k++) data[i][k] = (float)(k * (i + 1));
    inputs[i] = (bsm_array){data[i], binding.dtype, binding.dims, NULL};
    assert_true(numel(&inputs[i]) <= 64);
  }
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    check(bsm_engine_output(engine, i, &binding));
    void *memory = i ? (void *)number : (void *)out;
    outputs[i] = (bsm_array){memory, binding.dtype, binding.dims, NULL};
    assert_true(numel(&outputs[i]) <= (i ? 1 : 64));
  }
  bsm_status status = bsm_context_run(context, inputs, in, outputs, count);
  bsm_context_destroy(context);
  return status;
}

static void check_mix(const bsm_engine *engine) {
  float out[64];
  int64_t count = 0;
  check(run_engine(engine, out, &count));
  assert_int_equal(count, 2);
  for (size_t i = 0; i < 2; i++) {
    for (size_t j = 0; j < 3; j++) {
      for (size_t k = 0; k < 4; k++) {
        /* x is n and y is 2n: -0.5 * (2 n - 2 n) */
        assert_float_equal(out[i * 12 + k * 3 + j], 0, 0);
      }
    }
  }
}

static void test_layer(void **state) {
  (void)state;
  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  bsm_engine *engine;
  check(compile_text(MIX_IR, plugins, &engine));
  check_mix(engine);
  assert_int_equal(bsm_engine_layer_count(engine), 1);
  bsm_engine_layer layer = BSM_ENGINE_LAYER_INIT;
  check(bsm_engine_get_layer(engine, 0, &layer));
  assert_string_equal(layer.name, "test::mix");
  assert_int_equal(layer.version, 7);
  assert_true(layer.registered);
  check_fails(bsm_engine_get_layer(engine, 1, &layer), BSM_OUT_OF_RANGE, "1");
  bsm_engine_destroy(engine);
  bsm_plugin_registry_destroy(plugins);
}

/* Not all weights cancel out: one of the inputs alone. */
static void test_values_and_layout(void **state) {
  (void)state;
  static const char text[] =
      "graph(%x : Float(2, 3)):\n"
      "  %w : int[] = prim::Constant[value=[3]]()\n"
      "  %mode : str = prim::Constant[value=\"\"]()\n"
      "  %none : NoneType = prim::Constant()\n"
      "  %a : int = prim::Constant[value=0]()\n"
      "  %b : int = prim::Constant[value=1]()\n"
      "  %t : Tensor = aten::transpose(%x, %a, %b)\n"
      "  %xs : Tensor[] = prim::ListConstruct(%t)\n"
      "  %m : Tensor, %n : Tensor = test::mix(%xs, %w, %mode, %none)\n"
      "  return (%m)\n";
  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  bsm_engine *engine;
  float out[64];
  check(compile_text(text, plugins, &engine));
  check(run_engine(engine, out, NULL));
  for (size_t i = 0; i < 2; i++) {
    for (size_t k = 0; k < 3; k++) {
      assert_float_equal(out[k * 2 + i], 3.0F * (float)(i * 3 + k), 0);
    }
  }
  bsm_engine_destroy(engine);
  bsm_plugin_registry_destroy(plugins);
}

static void test_converters(void **state) {
  (void)state;
  static const char text[] =
      "graph(%x : Float(4)):\n"
      "  %h : Tensor = test::half(%x)\n"
      "  %c : Tensor = test::cube(%h)\n"
      "  %y : Tensor = aten::relu(%c)\n"
      "  return (%y)\n";
  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  bsm_engine *engine;
  float out[64];
  check(compile_text(text, plugins, &engine));
  check(run_engine(engine, out, NULL));
  for (int i = 0; i < 4; i++) {
    assert_float_equal(out[i], -0.125F * (float)(i * i * i), 0);
  }
  bsm_engine_destroy(engine);
  bsm_plugin_registry_destroy(plugins);
}

static void test_evaluation(void **state) {
  (void)state;
  static const char text[] =
      "graph(%x : Float(2, 3, 4)):\n"
      "  %s : int[], %f : float = test::pair_of(%x)\n"
      "  %a : Tensor = aten::reshape(%x, %s)\n"
      "  %b : Tensor = aten::mul(%a, %f)\n"
      "  %five : int = prim::Constant[value=5]()\n"
      "  %four : int = prim::Constant[value=4]()\n"
      "  %n : int = test::round_up(%five, %four)\n"
      "  %dim : int = prim::Constant[value=1]()\n"
      "  %zero : int = prim::Constant[value=0]()\n"
      "  %c : Tensor = aten::slice(%b, %dim, %zero, %n, %dim)\n"
      "  return (%c)\n";
  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  bsm_engine *engine;
  bsm_binding binding = BSM_BINDING_INIT;
  float out[64];
  check(compile_text(text, plugins, &engine));
  check(bsm_engine_output(engine, 0, &binding));
  assert_int_equal(binding.dims.rank, 2);
  assert_int_equal(binding.dims.d[0], 2);
  assert_int_equal(binding.dims.d[1], 8);
  check(run_engine(engine, out, NULL));
  assert_float_equal(out[0], 0, 0);
  assert_float_equal(out[15], 0.25 * 19, 0);
  assert_int_equal(bsm_engine_layer_count(engine), 0);
  bsm_engine_destroy(engine);
  bsm_plugin_registry_destroy(plugins);
}

/* On constants an operator runs while compiling. */
static void test_constants(void **state) {
  (void)state;
  static const char text[] =
      "graph(%x : Float(2)):\n"
      "  %w : int[] = prim::Constant[value=[1]]()\n"
      "  %mode : str = prim::Constant[value=\"\"]()\n"
      "  %none : NoneType = prim::Constant()\n"
      "  %size : int[] = prim::Constant[value=[2]]()\n"
      "  %v : float = prim::Constant[value=1.5]()\n"
      "  %f : int = prim::Constant[value=6]()\n"
      "  %k : Tensor = aten::full(%size, %v, %f, %none, %none, %none)\n"
      "  %xs : Tensor[] = prim::ListConstruct(%k)\n"
      "  %m : Tensor, %n : Tensor = test::mix(%xs, %w, %mode, %none)\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %y : Tensor = aten::add(%x, %m, %one)\n"
      "  return (%y)\n";
  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  bsm_engine *engine;
  float out[64];
  check(compile_text(text, plugins, &engine));
  assert_int_equal(bsm_engine_layer_count(engine), 0);
  check(run_engine(engine, out, NULL));
  assert_float_equal(out[1], 2.5, 0);
  bsm_engine_destroy(engine);
  bsm_plugin_registry_destroy(plugins);
}

/* ---- without the plug-in, or with another ---- */

static void temporary(char path[64]) {
  snprintf(path, 64, "/tmp/bsm_plugin_test_XXXXXX");
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
}

static void save_mix(const char *path) {
  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  bsm_engine *engine;
  check(compile_text(MIX_IR, plugins, &engine));
  check(bsm_engine_save(engine, path));
  bsm_engine_destroy(engine);
  bsm_plugin_registry_destroy(plugins);
}

static void load_with(const char *path, const bsm_plugin_registry *plugins,
                      bsm_engine **out) {
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.plugins = plugins;
  check(bsm_engine_load(path, &options, out));
}

static void test_registration(void **state) {
  (void)state;
  char path[64];
  bsm_engine *engine;
  bsm_context *context;
  bsm_engine_layer layer = BSM_ENGINE_LAYER_INIT;
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  temporary(path);
  save_mix(path);

  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  load_with(path, plugins, &engine);
  check_mix(engine);
  bsm_engine_destroy(engine);
  bsm_plugin_registry_destroy(plugins);

  /* It loads, so that it can be looked at; it does not run. */
  load_with(path, NULL, &engine);
  check(bsm_engine_get_layer(engine, 0, &layer));
  assert_false(layer.registered);
  check_fails(bsm_context_create(engine, NULL, &context), BSM_NOT_FOUND,
              "custom layer test::mix version 7 is not registered");
  assert_null(context);
  check_fails(bsm_engine_memory(engine, 1, &memory), BSM_NOT_FOUND,
              "test::mix");
  bsm_engine_destroy(engine);

  bsm_layer_plugin other_layer = test_layers[0];
  bsm_plugin other = test_plugin;
  other_layer.version = 8;
  other.layers = &other_layer;
  other.layer_count = 1;
  plugins = registry_of(&other);
  load_with(path, plugins, &engine);
  check_fails(bsm_context_create(engine, NULL, &context), BSM_NOT_FOUND,
              "test::mix version 7 is not registered; there is version 8 "
              "(test)");
  bsm_engine_destroy(engine);
  /* Both versions may be registered. */
  bsm_plugin first = test_plugin;
  first.patterns = NULL;
  first.pattern_count = 0;
  check(bsm_plugin_registry_add(plugins, &first));
  load_with(path, plugins, &engine);
  check_mix(engine);
  bsm_engine_destroy(engine);
  bsm_plugin_registry_destroy(plugins);
  unlink(path);

  check_fails(compile_text(MIX_IR, NULL, &engine), BSM_UNSUPPORTED,
              "test::mix");
}

/* ---- what is refused ---- */

static bsm_status add_changed(bsm_layer_plugin layer) {
  bsm_plugin plugin = test_plugin;
  bsm_plugin_registry *registry;
  plugin.layers = &layer;
  plugin.layer_count = 1;
  check(bsm_plugin_registry_create(NULL, &registry));
  bsm_status status = bsm_plugin_registry_add(registry, &plugin);
  if (!status) {
    bsm_engine *engine;
    status = compile_text("graph(%x : Float(2)):\n  return (%x)\n", registry,
                          &engine);
    bsm_engine_destroy(engine);
  }
  bsm_plugin_registry_destroy(registry);
  return status;
}

static void test_refused(void **state) {
  (void)state;
  bsm_plugin_registry *registry = registry_of(&test_plugin);
  bsm_plugin plugin = test_plugin;
  plugin.abi = BSM_PLUGIN_ABI + 1;
  check_fails(bsm_plugin_registry_add(registry, &plugin), BSM_VERSION,
              "was built for version 2 of the plug-in interface");
  check_fails(bsm_plugin_registry_add(registry, &test_plugin),
              BSM_INVALID_ARGUMENT, "is registered already");
  check_fails(bsm_plugin_registry_add(registry, NULL), BSM_INVALID_ARGUMENT,
              "NULL");
  plugin = test_plugin;
  plugin.name = NULL;
  check_fails(bsm_plugin_registry_add(registry, &plugin), BSM_INVALID_ARGUMENT,
              "without a name");
  plugin = test_plugin;
  plugin.layers = NULL;
  check_fails(bsm_plugin_registry_add(registry, &plugin), BSM_INVALID_ARGUMENT,
              "a table is NULL");
  assert_int_equal(bsm_plugin_registry_count(registry), 1);
  assert_null(bsm_plugin_registry_at(registry, 1));
  bsm_plugin_registry_destroy(registry);

  bsm_layer_plugin layer = test_layers[0];
  layer.shape = NULL;
  check_fails(add_changed(layer), BSM_INVALID_ARGUMENT, "`shape`");
  layer = test_layers[3];
  layer.check = NULL;
  check_fails(add_changed(layer), BSM_INVALID_ARGUMENT, "`check`");
  layer = test_layers[0];
  layer.outputs = 1;
  check_fails(add_changed(layer), BSM_INVALID_ARGUMENT, "its schema 2 results");
  layer = test_layers[2];
  layer.schema = "test::cube(Tensor(a!) x) -> Tensor(a!)";
  check_fails(add_changed(layer), BSM_UNSUPPORTED, "writes to its argument x");
  layer.schema = "test::cube(Tensor x) -> int";
  check_fails(add_changed(layer), BSM_UNSUPPORTED, "results are new tensors");
  layer.schema = "test::cubed(Tensor x, flot limit) -> Tensor";
  check_fails(add_changed(layer), BSM_INVALID_ARGUMENT,
              "there is no type flot, perhaps float: test::cubed(");
  layer.schema = "test::cubed(Tensor x, innt[] limits) -> Tensor";
  check_fails(add_changed(layer), BSM_INVALID_ARGUMENT,
              "there is no type innt, perhaps int");
  layer.schema = "test::cube(Tensor x";
  check_fails(add_changed(layer), BSM_CORRUPT, "in plug-in test");
}

/* The plug-in's own refusals, and readings that do not fit. */
static bsm_status wrong_reading(bsm_call *call) {
  (void)bsm_call_int(call, 2);
  (void)bsm_call_double(call, 9);
  assert_null(bsm_call_tensor(call, 1));
  assert_string_equal(bsm_call_string(call, 1), "");
  return bsm_call_set_output(call, 0, BSM_DTYPE_FLOAT, (bsm_dims){0, {0}});
}

static void test_wrong_calls(void **state) {
  (void)state;
  bsm_layer_plugin layer = test_layers[0];
  bsm_plugin plugin = test_plugin;
  bsm_engine *engine;
  plugin.layers = &layer;
  plugin.layer_count = 1;
  plugin.patterns = NULL;
  plugin.pattern_count = 0;
  layer.shape = wrong_reading;
  bsm_plugin_registry *plugins = registry_of(&plugin);
  check_fails(compile_text(MIX_IR, plugins, &engine), BSM_UNSUPPORTED,
              "argument 2 of test::mix is not a whole number");
  bsm_plugin_registry_destroy(plugins);

  plugins = registry_of(&test_plugin);
  char text[sizeof(MIX_IR)];
  memcpy(text, MIX_IR, sizeof(text));
  memcpy(strstr(text, "[2, -1]"), "[2    ]", 7);
  check_fails(compile_text(text, plugins, &engine), BSM_UNSUPPORTED,
              "mix: 2 tensors, 1 weights");
  bsm_plugin_registry_destroy(plugins);
}

/* A converter that asks for more arguments than there are. */
static bsm_status convert_beyond(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  (void)ctx, (void)node;
  (void)bsm_arg_unwrap_to_double(args, 1);
  return BSM_OK;
}

static void test_wrong_index(void **state) {
  (void)state;
  static const bsm_conversion_pattern pattern = {
      "test::half(Tensor x) -> Tensor", convert_beyond, 0};
  bsm_plugin plugin = test_plugin;
  bsm_engine *engine;
  plugin.patterns = &pattern;
  plugin.pattern_count = 1;
  bsm_plugin_registry *plugins = registry_of(&plugin);
  check_fails(compile_text("graph(%x : Float(4)):\n"
                           "  %h : Tensor = test::half(%x)\n"
                           "  return (%h)\n",
                           plugins, &engine),
              BSM_INVALID_ARGUMENT,
              "argument 1 was asked for; test::half has 1, counted from 0: "
              "test::half(Tensor x) -> Tensor");
  bsm_plugin_registry_destroy(plugins);
}

/* ---- how operators run ---- */

static const char *runs_of(bsm_operator_list *list, const char *start) {
  for (size_t i = 0; i < bsm_operator_list_count(list); i++) {
    bsm_operator_info info = BSM_OPERATOR_INFO_INIT;
    check(bsm_operator_list_get(list, i, &info));
    if (strncmp(info.schema, start, strlen(start)) == 0) return info.runs;
  }
  return "";
}

/* A layer of a plug-in, until a converter takes its place. */
static void test_listing(void **state) {
  (void)state;
  const bsm_conversion_pattern patterns[] = {
      test_patterns[0], {test_layers[0].schema, convert_half, 0}};
  bsm_plugin plugin = test_plugin;
  for (size_t count = 1; count <= 2; count++) {
    bsm_operator_list *list;
    plugin.patterns = patterns;
    plugin.pattern_count = count;
    bsm_plugin_registry *plugins = registry_of(&plugin);
    check(bsm_operators_with(plugins, &list));
    assert_string_equal(runs_of(list, "test::mix("),
                        count == 1 ? "plugin" : "layers");
    assert_string_equal(runs_of(list, "test::half("), "layers");
    bsm_operator_list_free(list);
    bsm_plugin_registry_destroy(plugins);
  }
}

/* ---- shapes that range ---- */

static void note_warning(void *user, bsm_log_level level, const char *text) {
  char *log = user;
  if (level == BSM_LOG_LEVEL_WARNING) snprintf(log, 512, "%s", text);
}

/* What converters cannot do when the engine runs is said. */
static void test_ranges(void **state) {
  (void)state;
  static const char text[] =
      "graph(%x : Tensor):\n"
      "  %y : Tensor = aten::relu(%x)\n"
      "  %h : Tensor = test::half(%y)\n"
      "  return (%h)\n";
  char log[512] = "";
  const bsm_logger logger = {BSM_LOG_LEVEL_WARNING, note_warning, log};
  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  bsm_module_options module_options = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_input_spec spec = {
      .dtype = BSM_DTYPE_FLOAT, .rank = 1, .min = {1}, .opt = {4}, .max = {9}};
  bsm_module *module;
  bsm_engine *engine;
  module_options.plugins = plugins;
  options.no_timing = true;
  options.inputs = &spec;
  options.input_count = 1;
  options.logger = &logger;
  check(bsm_module_load_memory(text, strlen(text), "test", &module_options,
                               &module));
  check_fails(bsm_compile(module, &options, &engine), BSM_UNSUPPORTED,
              "it is a plug-in's, which runs in plans alone, and its shapes or "
              "arguments are known only when the engine runs");
  assert_non_null(strstr(log, "inputs range, and there are plug-ins"));
  bsm_module_destroy(module);
  bsm_plugin_registry_destroy(plugins);
}

/* ---- hostile engines ---- */

/* Makes the header's checksum of the description right, as an attacker would:
 * what changed must get past the reader. */
static void repair(uint8_t *file, size_t size) {
  uint64_t description;
  memcpy(&description, file + 24, 8);
  if (description > size - 64) return;
  uint32_t format;
  memcpy(&format, file + 8, sizeof(format));
  const uint64_t hash =
      bsm_engine_file_hash(format, file + 64, (size_t)description);
  memcpy(file + 48, &hash, 8);
}

/* Every byte of the file changed in turn: loading and running either fail or
 * give something, and nothing is read that is not there (ASan looks). */
static void test_hostile(void **state) {
  (void)state;
  char path[64];
  size_t refused = 0, ran = 0;
  temporary(path);
  save_mix(path);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  static uint8_t bytes[1 << 16], copy[1 << 16];
  const size_t size = fread(bytes, 1, sizeof(bytes), file);
  fclose(file);
  unlink(path);
  assert_true(size > 0 && size < sizeof(bytes));
  bsm_plugin_registry *plugins = registry_of(&test_plugin);
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.plugins = plugins;
  options.skip_checksum = true;
  static const uint8_t masks[] = {0x01, 0x80, 0x7f};
  for (size_t i = 0; i < size * 3; i++) {
    bsm_engine *engine = NULL;
    float out[64];
    int64_t number;
    memcpy(copy, bytes, size);
    copy[i / 3] ^= masks[i % 3];
    repair(copy, size);
    bsm_status status = bsm_engine_load_memory(copy, size, &options, &engine);
    if (!status) {
      bsm_binding binding = BSM_BINDING_INIT;
      bool same = bsm_engine_input_count(engine) == 2 &&
                  bsm_engine_output_count(engine) == 2;
      for (size_t k = 0; same && k < 2; k++) {
        check(bsm_engine_input(engine, k, &binding));
        same = same && binding.dtype == BSM_DTYPE_FLOAT &&
               numel(&(bsm_array){NULL, 0, binding.dims, NULL}) <= 64;
        check(bsm_engine_output(engine, k, &binding));
        same = same &&
               binding.dtype == (k ? BSM_DTYPE_INT64 : BSM_DTYPE_FLOAT) &&
               numel(&(bsm_array){NULL, 0, binding.dims, NULL}) <= (k ? 1 : 64);
      }
      /* A context may ask for any workspace: a program looks before. */
      bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
      if (same) status = bsm_engine_memory(engine, 1, &memory);
      same = same && !status && memory.workspace < 1 << 24 &&
             memory.host_workspace < 1 << 24;
      if (same) status = run_engine(engine, out, &number);
    }
    refused += status != NULL;
    ran += status == NULL;
    bsm_status_free(status);
    bsm_engine_destroy(engine);
  }
  assert_true(refused > 100 && ran > 0);
  bsm_plugin_registry_destroy(plugins);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_layer),
                                     cmocka_unit_test(test_values_and_layout),
                                     cmocka_unit_test(test_converters),
                                     cmocka_unit_test(test_evaluation),
                                     cmocka_unit_test(test_constants),
                                     cmocka_unit_test(test_registration),
                                     cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_wrong_calls),
                                     cmocka_unit_test(test_wrong_index),
                                     cmocka_unit_test(test_listing),
                                     cmocka_unit_test(test_ranges),
                                     cmocka_unit_test(test_hostile)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
