/* SPDX-License-Identifier: Apache-2.0 */
/* What is left to the reference library: operators without a converter, and
 * converters that refuse. */
#include "tests/conversion/conversion_fixture.h"
#include "tests/conversion/network_eval.h"

static bsm_itensor *first_output(bsm_layer *layer) {
  return bsm_layer_output(layer, 0);
}

/* Adds two layers and a constant, binds the output, and then refuses. */
static bsm_status refuse_late(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  bsm_itensor *x = bsm_arg_itensor(args, 0);
  bsm_weights w = bsm_weights_from_scalar(ctx, BSM_DTYPE_FLOAT, 2);
  bsm_itensor *two =
      first_output(bsm_network_add_constant(ctx->net, (bsm_dims){1, {1}}, &w));
  x = first_output(
      bsm_network_add_element_wise(ctx->net, x, two, BSM_ELEMENT_WISE_PROD));
  x = first_output(bsm_network_add_unary(ctx->net, x, BSM_UNARY_EXP));
  bsm_associate_value_and_tensor(ctx, bsm_node_output(node, 0), x);
  return BSM_FAIL(BSM_UNSUPPORTED, "not on a Sunday");
}

/* Leaves a layer that has no shape. */
static bsm_status refuse_stale(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  (void)node;
  bsm_itensor *x = first_output(
      bsm_network_add_cast(ctx->net, bsm_arg_itensor(args, 0), BSM_DTYPE_BOOL));
  bsm_network_add_pooling_nd(ctx->net, x, BSM_POOLING_MAX,
                             (bsm_dims){2, {1, 1}});
  return BSM_FAIL(BSM_UNSUPPORTED, "not today");
}

/* Freezes a constant of the node, which the call will need too. */
static bsm_status refuse_frozen(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  (void)node;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  bsm_itensor *y = bsm_arg_itensor_or_freeze(ctx, args, 1);
  bsm_network_add_element_wise(ctx->net, x, y, BSM_ELEMENT_WISE_MAX);
  return BSM_FAIL(BSM_UNSUPPORTED, "not with constants");
}

static bsm_status refuse(bsm_conversion_ctx *ctx, const bsm_node *node,
                         const bsm_args *args) {
  (void)ctx;
  (void)node;
  (void)args;
  return BSM_FAIL(BSM_UNSUPPORTED, "never");
}

static bsm_status fail_otherwise(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  (void)ctx;
  (void)node;
  (void)args;
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "a wrong model");
}

static void replace(fixture *f, const char *schema, bsm_converter_fn convert) {
  bsm_conversion_pattern *pattern = BSM_NEW(&f->arena, bsm_conversion_pattern);
  assert_non_null(pattern);
  *pattern = (bsm_conversion_pattern){schema, convert, 0};
  assert_ok(bsm_register_conversion_patterns(f->registry, pattern, 1));
}

#define RELU "aten::relu(Tensor self) -> Tensor"
#define MAXIMUM "aten::maximum(Tensor self, Tensor other) -> Tensor"
#define SPLIT                                                           \
  "aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) " \
  "-> Tensor(a)[]"

static const char relu_graph[] =
    "graph(%x : Float(1, 1, 2, 3)):\n"
    "  %y : Tensor = aten::relu(%x) # /models/net.py:7:1\n"
    "  %z : Tensor = aten::neg(%y)\n"
    "  return (%z)\n";

/* Runs a network of one float input and gives the first output. */
static const bsm_tensor *run(fixture *f, const bsm_network *net,
                             const float *values, size_t count) {
  bsm_tensor *x, *outs[8];
  const bsm_itensor *in = net->inputs.items[0];
  assert_ok(bsm_tensor_new(&f->arena, in->dtype, in->dims, false, &x));
  memcpy(bsm_tensor_data(x), values, count * sizeof(*values));
  assert_ok(network_eval(net, f->aten, &f->arena, &x, outs));
  return outs[0];
}

static void test_converter_that_refuses(void **state) {
  fixture *f = *state;
  static const bsm_converter_fn refusing[] = {refuse_late, refuse_stale};
  const float x[] = {-1, 2, -3, 4, -5, 6};
  for (size_t i = 0; i < 2; i++) {
    bsm_network *net;
    replace(f, RELU, refusing[i]);
    assert_ok(convert_text(f, relu_graph, &net));
    assert_int_equal(net->layers.len, 2);
    assert_int_equal(net->layers.items[0]->kind, BSM_LAYER_ATEN_CALL);
    assert_string_equal(net->layers.items[0]->p.aten_call.op, "aten::relu");
    assert_non_null(strstr(net->layers.items[0]->name, "net.py:7"));
    for (size_t k = 0; k < net->tensors.len; k++) {
      assert_int_equal(net->tensors.items[k]->id, k);
    }
    const bsm_tensor *y = run(f, net, x, 6);
    for (int k = 0; k < 6; k++) {
      const float want = x[k] > 0 ? -x[k] : 0;
      assert_true(bsm_tensor_get_double(y, k) == (double)want);
    }
  }
  assert_non_null(strstr(f->log.data,
                         "aten::relu(Tensor self) -> Tensor runs by the "
                         "reference library (1 node): not on a Sunday"));
}

/* A constant that the converter froze is frozen again for the call. */
static void test_constants(void **state) {
  fixture *f = *state;
  bsm_network *net;
  replace(f, MAXIMUM, refuse_frozen);
  assert_ok(convert_text(f,
                         "graph(%x : Float(2)):\n"
                         "  %w : Tensor = prim::Constant[value=Float(2){1., "
                         "2.}]()\n"
                         "  %1 : Tensor = aten::maximum(%x, %w)\n"
                         "  %2 : Tensor = aten::maximum(%w, %1)\n"
                         "  return (%2)\n",
                         &net));
  assert_int_equal(net->layers.len, 3);
  assert_int_equal(net->layers.items[0]->kind, BSM_LAYER_CONSTANT);
  assert_int_equal(net->layers.items[2]->kind, BSM_LAYER_ATEN_CALL);
  const float x[] = {-1, 5};
  const bsm_tensor *y = run(f, net, x, 2);
  assert_true(bsm_tensor_get_double(y, 0) == 1);
  assert_true(bsm_tensor_get_double(y, 1) == 5);
}

static void test_lists(void **state) {
  fixture *f = *state;
  bsm_network *net;
  replace(f, SPLIT, refuse);
  assert_ok(convert_text(
      f,
      "graph(%x : Float(5)):\n"
      "  %n : int = prim::Constant[value=2]()\n"
      "  %d : int = prim::Constant[value=0]()\n"
      "  %l : Tensor[] = aten::split(%x, %n, %d)\n"
      "  %a : Tensor, %b : Tensor, %c : Tensor = prim::ListUnpack(%l)\n"
      "  return (%c, %a)\n",
      &net));
  const bsm_layer *call = net->layers.items[0];
  assert_int_equal(call->outputs.len, 3);
  assert_int_equal(call->p.aten_call.results[0], 3);
  const float x[] = {1, 2, 3, 4, 5};
  const bsm_tensor *y = run(f, net, x, 5);
  assert_int_equal(bsm_tensor_numel(y), 1);
  assert_true(bsm_tensor_get_double(y, 0) == 5);
}

/* Complex tensors flow from call to call. */
static void test_complex(void **state) {
  fixture *f = *state;
  const char *dump = dump_of(f,
                             "graph(%x : Float(3, 2)):\n"
                             "  %c : Tensor = aten::view_as_complex(%x)\n"
                             "  %d : Tensor = aten::mul(%c, %c)\n"
                             "  %y : Tensor = aten::view_as_real(%d)\n"
                             "  return (%y)\n");
  assert_non_null(strstr(dump,
                         "%d: complex64[3] = aten_call(%c) "
                         "aten::mul.Tensor(%c, %c)"));
}

static void test_full_compilation(void **state) {
  fixture *f = *state;
  const bsm_convert_options full = {.require_full_compilation = true};
  bsm_network *net;
  bsm_graph *graph;
  replace(f, RELU, refuse_late);
  assert_ok(parse_graph(f, relu_graph, &graph));
  bsm_status status = bsm_convert_graph_with(graph, f->aten, f->registry,
                                             &f->arena, NULL, &full, &net);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(strstr(bsm_status_message(status),
                         "aten::relu(Tensor self) -> Tensor (1 node): not on a "
                         "Sunday\n    at /models/net.py:7"));
  assert_null(net);
  bsm_status_free(status);
  assert_ok(parse_graph(f,
                        "graph(%x : Float(3, 2)):\n"
                        "  %c : Tensor = aten::view_as_complex(%x)\n"
                        "  return (%c)\n",
                        &graph));
  assert_fails(bsm_convert_graph_with(graph, f->aten, f->registry, &f->arena,
                                      NULL, &full, &net),
               BSM_UNSUPPORTED,
               "1 operator of the model (1 node) has no converter that takes "
               "it:");
}

/* An engine has no lists of where millions of elements come from: each of
 * these would take more memory than a model may. */
static void test_many_positions(void **state) {
  fixture *f = *state;
  static const char *const graphs[] = {
      "graph(%x : Float(3000)):\n"
      "  %d : int = prim::Constant[value=0]()\n"
      "  %y : Tensor = aten::diag(%x, %d)\n"
      "  return (%y)\n",
      "graph(%x : Float(3000, 3000), %s : Float(3000)):\n"
      "  %d : int = prim::Constant[value=0]()\n"
      "  %e : int = prim::Constant[value=1]()\n"
      "  %y : Tensor = aten::diagonal_scatter(%x, %s, %d, %d, %e)\n"
      "  return (%y)\n",
      "graph(%x : Float(3000)):\n"
      "  %r : int = prim::Constant[value=2]()\n"
      "  %w : bool = prim::Constant[value=0]()\n"
      "  %y : Float(4498500, 2) = aten::combinations(%x, %r, %w)\n"
      "  return (%y)\n"};
  bsm_network *net;
  for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
    assert_ok(convert_text(f, graphs[i], &net));
    assert_int_equal(net->layers.len, 1);
    assert_int_equal(net->layers.items[0]->kind, BSM_LAYER_ATEN_CALL);
  }
  assert_ok(convert_text(f,
                         "graph(%x : Float(3, 1000, 1000)):\n"
                         "  %n : NoneType = prim::Constant()\n"
                         "  %y : Tensor = aten::fft_fftshift(%x, %n)\n"
                         "  return (%y)\n",
                         &net));
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer_kind kind = net->layers.items[i]->kind;
    assert_true(kind != BSM_LAYER_ATEN_CALL && kind != BSM_LAYER_CONSTANT);
  }
}

/* What cannot fall back says why; other failures stay what they are. */
static void test_refused(void **state) {
  fixture *f = *state;
  bsm_network *net;
  assert_fails(convert_text(f,
                            "graph(%x : Float(4)):\n"
                            "  %y : Tensor = aten::nonzero(%x)\n"
                            "  return (%y)\n",
                            &net),
               BSM_UNSUPPORTED, "the reference library cannot take it either");
  assert_fails(convert_text(f,
                            "graph(%x : Float(4)):\n"
                            "  %n : NoneType = prim::Constant()\n"
                            "  %y : Tensor = aten::bernoulli(%x, %n)\n"
                            "  return (%y)\n",
                            &net),
               BSM_UNSUPPORTED, "it draws random numbers");
  replace(f, RELU, fail_otherwise);
  assert_fails(convert_text(f, relu_graph, &net), BSM_INVALID_ARGUMENT,
               "a wrong model");
}

typedef struct seen {
  size_t counts[5];
} seen;

static bsm_status count_handler(void *user, const bsm_node *node,
                                bsm_node_handler handler, const char *why) {
  (void)node;
  assert_true((why != NULL) == (handler == BSM_NODE_REFERENCE));
  ((seen *)user)->counts[handler]++;
  return BSM_OK;
}

static void test_handlers(void **state) {
  fixture *f = *state;
  seen told = {{0}};
  const bsm_convert_options options = {.visit = count_handler, .user = &told};
  bsm_network *net;
  bsm_graph *graph;
  replace(f, RELU, refuse);
  assert_ok(parse_graph(f, relu_graph, &graph));
  assert_ok(bsm_convert_graph_with(graph, f->aten, f->registry, &f->arena, NULL,
                                   &options, &net));
  assert_int_equal(told.counts[BSM_NODE_REFERENCE], 1);
  assert_int_equal(told.counts[BSM_NODE_CONVERTED], 1);
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_converter_that_refuses),
      TEST(test_constants),
      TEST(test_lists),
      TEST(test_complex),
      TEST(test_full_compilation),
      TEST(test_many_positions),
      TEST(test_refused),
      TEST(test_handlers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
