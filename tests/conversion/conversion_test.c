/* SPDX-License-Identifier: Apache-2.0 */
/* The converter system: goldens, errors, user converters, lists, outputs. */
#include "tests/conversion/conversion_fixture.h"
#include "tests/conversion/network_eval.h"
#include "tests/conversion/user_converter.h"

/* ---- goldens: a graph and the network it converts to ---- */

/* goldens.txt: "== name", a graph, "--", the dump. With BSM_GOLDENS_OUT in the
 * environment the file is written there as it should be. */
static void test_goldens(void **state) {
  fixture *f = *state;
  char *text = fixture_file(f, BSM_TEST_DATA_DIR "/conversion/goldens.txt");
  size_t count = 0, failed = 0;
  bsm_text fresh;
  bsm_text_init(&fresh, &f->arena);
  for (char *at = strstr(text, "== "); at;) {
    char *name = at + 3, *graph = strchr(name, '\n');
    *graph++ = '\0';
    char *want = strstr(graph, "--\n");
    assert_non_null(want);
    *want = '\0';
    want += 3;
    char *next = strstr(want, "== ");
    if (next) *next = '\0';
    const char *have = dump_of(f, graph);
    bsm_text_printf(&fresh, "== %s\n%s--\n%s", name, graph, have);
    count++;
    if (strcmp(have, want) != 0) {
      failed++;
      print_error("%s: wanted\n%sgot\n%s", name, want, have);
    }
    at = next;
  }
  const char *path = getenv("BSM_GOLDENS_OUT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) {
    fputs(fresh.data, file);
    fclose(file);
  }
  assert_true(count >= 12);
  assert_int_equal(failed, 0);
}

/* ---- what nothing takes ---- */

static void test_unsupported(void **state) {
  fixture *f = *state;
  bsm_network *net;
  bsm_status status =
      convert_text(f,
                   "graph(%x : Float(4, 4)):\n"
                   "  %1 : Tensor = aten::log_sigmoid_backward(%x, %x, %x) "
                   "# /models/net.py:12:3\n"
                   "  %2 : Tensor = aten::relu(%1)\n"
                   "  %3 : Tensor = aten::log_sigmoid_backward(%x, %x, %x) "
                   "# /models/net.py:30:3\n"
                   "  %4 : Tensor = aten::bernoulli(%x) # /models/net.py:31:3\n"
                   "  %5 : Tensor = aten::add(%3, %2)\n"
                   "  return (%5)\n",
                   &net);
  assert_non_null(status);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  const char *message = bsm_status_message(status);
  static const char *const pieces[] = {
      "2 operators of the model (3 nodes) have no converter:",
      ("aten::log_sigmoid_backward (2 nodes): the reference library has no "
       "such op"),
      "net.py:12",
      "net.py:30",
      "-> Tensor (1 node): it draws random numbers",
      "net.py:31"};
  for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
    if (!strstr(message, pieces[i])) {
      fail_msg("'%s' is not in: %s", pieces[i], message);
    }
  }
  assert_null(strstr(message, "aten::relu"));
  assert_null(net);
  bsm_status_free(status);
}

/* A node nothing could convert is no problem when its inputs are static. */
static void test_static_nodes(void **state) {
  fixture *f = *state;
  bsm_network *net;
  assert_ok(convert_text(f,
                         "graph(%x : Float(2)):\n"
                         "  %w : Tensor = prim::Constant[value=Float(2){1., "
                         "2.}]()\n"
                         "  %1 : int = prim::Constant[value=1]()\n"
                         "  %2 : Tensor = aten::add(%w, %w, %1)\n"
                         "  %3 : Tensor = aten::mul(%x, %2)\n"
                         "  return (%3)\n",
                         &net));
  assert_int_equal(net->layers.len, 2); /* the constant and the product */
  const bsm_weights *w = &net->layers.items[0]->p.constant.weights;
  assert_int_equal(w->count, 2);
  assert_true(((const float *)w->values)[1] > 3.9f);
}

/* ---- defective converters ---- */

/* Associates nothing. */
static bsm_status convert_nothing(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  (void)ctx;
  (void)node;
  (void)args;
  return BSM_OK;
}

/* Unwraps a tensor of the network as a number. */
static bsm_status convert_wrongly(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  (void)ctx;
  (void)node;
  double value = bsm_arg_unwrap_to_double(args, 0);
  (void)value;
  return BSM_OK;
}

/* Unwraps an argument that the schema does not have. */
static bsm_status convert_by_index(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  (void)ctx;
  (void)node;
  return bsm_arg_unwrap_to_int(args, 7) ? BSM_OK : BSM_OK;
}

static bsm_status convert_refusing(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  (void)ctx;
  (void)node;
  BSM_CHECK(bsm_args_count(args) == 0, "this build cannot do it");
  return BSM_OK;
}

/* Adds a layer that cannot be. */
static bsm_status convert_to_bad_layer(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  bsm_layer *layer =
      bsm_network_add_softmax(ctx->net, bsm_arg_itensor(args, 0), 7, false);
  BSM_CHECK(layer, "unable to create the layer");
  bsm_associate_value_and_tensor(ctx, bsm_node_output(node, 0),
                                 bsm_layer_output(layer, 0));
  return BSM_OK;
}

static void replace_relu(fixture *f, bsm_converter_fn convert,
                         bsm_conversion_pattern *pattern) {
  *pattern =
      (bsm_conversion_pattern){"aten::relu(Tensor self) -> Tensor", convert, 0};
  assert_ok(bsm_register_conversion_patterns(f->registry, pattern, 1));
}

static const char relu_graph[] =
    "graph(%x : Float(2, 3)):\n"
    "  %y : Tensor = aten::relu(%x) # /models/net.py:7:1\n"
    "  %z : Tensor = aten::exp(%y)\n"
    "  return (%z)\n";

static void test_unassociated(void **state) {
  fixture *f = *state;
  bsm_conversion_pattern pattern;
  bsm_network *net;
  replace_relu(f, convert_nothing, &pattern);
  assert_fails(convert_text(f, relu_graph, &net), BSM_INVALID_ARGUMENT,
               "input 0, %y, has neither a tensor nor a static value");
  assert_non_null(strstr(f->log.data, "output 0 of node %y = aten::relu(%x)"));
  assert_fails(convert_text(f,
                            "graph(%x : Float(2, 3)):\n"
                            "  %y : Tensor = aten::relu(%x)\n"
                            "  return (%y)\n",
                            &net),
               BSM_INVALID_ARGUMENT,
               "graph output 0, %y, has neither a tensor nor a static value");
}

static void test_wrong_unwrap(void **state) {
  fixture *f = *state;
  bsm_conversion_pattern pattern;
  bsm_network *net;
  replace_relu(f, convert_wrongly, &pattern);
  /* The model may be right: the reference library takes the node. */
  assert_ok(convert_text(f, relu_graph, &net));
  assert_non_null(strstr(f->log.data,
                         "argument 0 (self): a number was asked for, it is a "
                         "tensor known only at run time"));
  assert_int_equal(net->layers.items[0]->kind, BSM_LAYER_ATEN_CALL);
  replace_relu(f, convert_by_index, &pattern);
  bsm_status status = convert_text(f, relu_graph, &net);
  assert_non_null(status);
  const char *message = bsm_status_message(status);
  assert_non_null(strstr(message,
                         "argument 7 was asked for; aten::relu has 1, counted "
                         "from 0: aten::relu(Tensor self) -> Tensor"));
  assert_non_null(strstr(message, "in node %y = aten::relu(%x)"));
  assert_non_null(strstr(message, "net.py:7"));
  bsm_status_free(status);
}

static void test_failing_converter(void **state) {
  fixture *f = *state;
  bsm_conversion_pattern pattern;
  bsm_network *net;
  replace_relu(f, convert_refusing, &pattern);
  assert_ok(convert_text(f, relu_graph, &net));
  assert_non_null(strstr(f->log.data, "this build cannot do it"));
  replace_relu(f, convert_to_bad_layer, &pattern);
  /* The network's reason comes before the converter's words. */
  assert_fails(convert_text(f, relu_graph, &net), BSM_OUT_OF_RANGE,
               "softmax: axis 7 of dims [2, 3]");
}

static void test_bad_schema(void **state) {
  fixture *f = *state;
  static const bsm_conversion_pattern bad[] = {
      {"aten::relu(Tensor self -> Tensor", convert_nothing, 0}};
  static const bsm_conversion_pattern none[] = {{NULL, convert_nothing, 0}};
  assert_fails(bsm_register_conversion_patterns(f->registry, bad, 1),
               BSM_INVALID_ARGUMENT, "aten::relu(Tensor self -> Tensor");
  assert_fails(bsm_register_conversion_patterns(f->registry, none, 1),
               BSM_INVALID_ARGUMENT, "no schema");
  assert_fails(bsm_register_conversion_patterns(NULL, none, 1),
               BSM_INVALID_ARGUMENT, "no registry");
}

/* ---- the guide ---- */

static const char hardtanh_graph[] =
    "graph(%x : Float(2, 3)):\n"
    "  %lo : float = prim::Constant[value=-0.5]()\n"
    "  %hi : int = prim::Constant[value=2]()\n"
    "  %y : Tensor = aten::hardtanh(%x, %lo, %hi)\n"
    "  return (%y)\n";

static void test_user_converter(void **state) {
  fixture *f = *state;
  const char *built_in = dump_of(f, hardtanh_graph);
  assert_null(strstr(f->log.data, "output shape: [2, 3]"));
  assert_ok(bsm_register_conversion_patterns(f->registry, my_patterns,
                                             my_pattern_count));
  assert_non_null(
      strstr(f->log.data, "the converter for aten::hardtanh is replaced"));
  const char *own = dump_of(f, hardtanh_graph);
  assert_string_equal(own, built_in);
  assert_non_null(strstr(own, "activation(%x) clip alpha=-0.5 beta=2."));
  assert_non_null(strstr(f->log.data, "output shape: [2, 3]"));
}

/* The text between two marks, which must be there. */
static char *between(char *text, const char *start, const char *end) {
  char *from = strstr(text, start);
  assert_non_null(from);
  from += strlen(start);
  char *to = strstr(from, end);
  assert_non_null(to);
  *to = '\0';
  return from;
}

static void test_guide_is_tested(void **state) {
  fixture *f = *state;
  char *source =
      fixture_file(f, BSM_TEST_DATA_DIR "/../conversion/user_converter.c");
  char *guide =
      fixture_file(f, BSM_TEST_DATA_DIR "/../../docs/writing-converters.md");
  assert_string_equal(
      between(source, "/* begin example */\n", "/* end example */"),
      between(guide, "<!-- tests/conversion/user_converter.c -->\n```c\n",
              "```\n"));
}

/* ---- args ---- */

/* Looks at every kind of argument. */
static bsm_status convert_probe(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, I, D, B, S, LIST, NONE, TENSOR };
  size_t count = 9;
  assert_int_equal(bsm_args_count(args), 8);
  assert_int_equal(bsm_args_variant(args), 42);
  assert_true(bsm_arg_is_itensor(args, SELF));
  assert_false(bsm_arg_is_ivalue(args, SELF));
  assert_true(bsm_arg_is_int(args, I));
  assert_int_equal(bsm_arg_unwrap_to_int(args, I), 3);
  assert_true(bsm_arg_unwrap_to_double(args, I) > 2.9);
  assert_true(bsm_arg_is_double(args, D));
  assert_int_equal(bsm_arg_unwrap_to_int(args, D), 4); /* no fraction */
  assert_true(bsm_arg_unwrap_to_bool(args, B));
  assert_string_equal(bsm_arg_unwrap_to_string(args, S), "mode");
  const int64_t *list = bsm_arg_unwrap_to_int_list(args, LIST, &count);
  assert_int_equal(count, 2);
  assert_int_equal(list[1], 6);
  list = bsm_arg_unwrap_to_int_list(args, I, &count);
  assert_int_equal(count, 1); /* an int is a list of one */
  assert_true(bsm_arg_is_none(args, NONE));
  assert_int_equal(bsm_arg_unwrap_to_int_or(args, NONE, -7), -7);
  assert_string_equal(bsm_arg_unwrap_to_string_or(args, NONE, "no"), "no");
  assert_null(bsm_arg_unwrap_to_int_list_or_none(args, NONE, &count));
  assert_int_equal(count, 0);
  assert_null(bsm_arg_unwrap_to_tensor_or_none(args, NONE));
  bsm_scalar scalar = bsm_arg_unwrap_to_scalar(args, D);
  assert_int_equal(scalar.dtype, BSM_DTYPE_DOUBLE);
  assert_true(bsm_arg_is_tensor(args, TENSOR));
  bsm_weights w =
      bsm_weights_from_tensor(ctx, bsm_arg_unwrap_to_tensor(args, TENSOR));
  assert_int_equal(w.count, 4);
  assert_int_equal(w.num_output_maps, 1);
  assert_int_equal(w.num_input_maps, 2);
  assert_int_equal(w.kernel_shape.rank, 1);
  assert_int_equal(w.kernel_shape.d[0], 2);
  bsm_associate_value_and_tensor(ctx, bsm_node_output(node, 0),
                                 bsm_arg_itensor(args, SELF));
  return BSM_OK;
}

static void test_args(void **state) {
  fixture *f = *state;
  bsm_network *net;
  static const bsm_conversion_pattern probe[] = {
      {"my::probe(Tensor self, int i, float d, bool b, str s, int[] l, int? "
       "n=None, Tensor? t=None) -> Tensor",
       convert_probe, 42}};
  assert_ok(bsm_schema_table_add(f->cx->schemas, bsm_str_of(probe[0].schema)));
  assert_ok(bsm_register_conversion_patterns(f->registry, probe, 1));
  assert_ok(convert_text(
      f,
      "graph(%x : Float(2)):\n"
      "  %i : int = prim::Constant[value=3]()\n"
      "  %d : float = prim::Constant[value=4.]()\n"
      "  %b : bool = prim::Constant[value=1]()\n"
      "  %s : str = prim::Constant[value=\"mode\"]()\n"
      "  %l : int[] = prim::Constant[value=[5, 6]]()\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %t : Tensor = prim::Constant[value=Float(1, 2, 2){1., 2., 3., 4.}]()\n"
      "  %y : Tensor = my::probe(%x, %i, %d, %b, %s, %l, %n, %t)\n"
      "  return (%y)\n",
      &net));
}

/* ---- lists, outputs, inputs ---- */

static void test_outputs(void **state) {
  fixture *f = *state;
  bsm_network *net;
  /* An input, the same tensor twice, and a constant. */
  assert_ok(
      convert_text(f,
                   "graph(%x : Float(2)):\n"
                   "  %w : Tensor = prim::Constant[value=Float(1){7.}]()\n"
                   "  %y : Tensor = aten::relu(%x)\n"
                   "  return (%x, %y, %y, %w)\n",
                   &net));
  assert_int_equal(net->outputs.len, 4);
  assert_string_equal(net->output_names.items[3], "output_3");
  assert_string_equal(net->inputs.items[0]->name, "x");
  for (size_t i = 0; i < 4; i++) {
    assert_non_null(net->outputs.items[i]->producer);
    for (size_t k = 0; k < i; k++) {
      assert_ptr_not_equal(net->outputs.items[i], net->outputs.items[k]);
    }
  }
  assert_fails(convert_text(f,
                            "graph(%x : Float(2)):\n"
                            "  %n : int = prim::Constant[value=3]()\n"
                            "  return (%n)\n",
                            &net),
               BSM_UNSUPPORTED, "only tensors can be outputs");
}

static void test_input_types(void **state) {
  fixture *f = *state;
  bsm_network *net;
  assert_fails(convert_text(f,
                            "graph(%x : Tensor):\n"
                            "  %y : Tensor = aten::relu(%x)\n"
                            "  return (%y)\n",
                            &net),
               BSM_INVALID_ARGUMENT, "its dtype or dims are not known");
  assert_fails(convert_text(f,
                            "graph(%x : int):\n"
                            "  return (%x)\n",
                            &net),
               BSM_UNSUPPORTED, "is not a tensor");
}

static void test_lists(void **state) {
  fixture *f = *state;
  bsm_network *net;
  assert_ok(convert_text(f,
                         "graph(%x : Float(4, 2)):\n"
                         "  %n : int = prim::Constant[value=2]()\n"
                         "  %d : int = prim::Constant[value=0]()\n"
                         "  %l : Tensor[] = aten::chunk(%x, %n, %d)\n"
                         "  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)\n"
                         "  %c : Tensor = aten::__getitem__(%l, %d)\n"
                         "  %m : Tensor[] = prim::ListConstruct(%b, %a, %c)\n"
                         "  %y : Tensor = aten::cat(%m, %d)\n"
                         "  return (%y)\n",
                         &net));
  assert_int_equal(net->outputs.items[0]->dims.d[0], 6);
  assert_fails(convert_text(f,
                            "graph(%x : Float(4, 2)):\n"
                            "  %n : int = prim::Constant[value=2]()\n"
                            "  %d : int = prim::Constant[value=0]()\n"
                            "  %l : Tensor[] = aten::chunk(%x, %n, %d)\n"
                            "  %c : Tensor = aten::__getitem__(%l, %n)\n"
                            "  return (%c)\n",
                            &net),
               BSM_OUT_OF_RANGE, "list index out of range: 2 of 2");
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
  fixture *f = *state;
  bsm_network *net;
  assert_ok(convert_text(f,
                         "graph(%x : Float(4), %m : Bool(4), %s : Float(4)):\n"
                         "  %y : Tensor = aten::masked_scatter(%x, %m, %s)\n"
                         "  return (%y)\n",
                         &net));
  assert_non_null(strstr(f->log.data,
                         "argument 1 is computed at run time; only the data "
                         "may be"));
  assert_fails(convert_text(f,
                            "graph(%x : Float(2, 3)):\n"
                            "  %p : float = prim::Constant[value=0.5]()\n"
                            "  %t : bool = prim::Constant[value=1]()\n"
                            "  %y : Tensor = aten::dropout(%x, %p, %t)\n"
                            "  return (%y)\n",
                            &net),
               BSM_UNSUPPORTED, "training mode");
  assert_fails(convert_text(f,
                            "graph(%x : Float(2, 3)):\n"
                            "  %d : int = prim::Constant[value=2]()\n"
                            "  %n : NoneType = prim::Constant()\n"
                            "  %y : Tensor = aten::softmax(%x, %d, %n)\n"
                            "  return (%y)\n",
                            &net),
               BSM_OUT_OF_RANGE, "Dimension out of range");
  assert_fails(convert_text(f,
                            "graph(%x : Float(2, 3), %z : Float(2)):\n"
                            "  %y : Tensor = aten::mm(%x, %z)\n"
                            "  return (%y)\n",
                            &net),
               BSM_INVALID_ARGUMENT, "aten::mm");
}

/* ---- the registry ---- */

static void test_registry(void **state) {
  fixture *f = *state;
  assert_true(bsm_registry_has_converter(f->registry, "aten::add.Tensor"));
  assert_false(bsm_registry_has_converter(f->registry, "aten::det"));
  assert_true(bsm_registry_has_evaluator(f->registry, "prim::ListConstruct"));
  size_t count = bsm_registry_converter_count(f->registry);
  assert_true(count > 500);
  assert_null(bsm_registry_converter_schema(f->registry, count));
  assert_true(bsm_registry_evaluator_count(f->registry) > 20);
  /* Every converter is for an operator of PyTorch's, argument by argument. */
  for (size_t i = 0; i < count; i++) {
    const char *text = bsm_registry_converter_schema(f->registry, i);
    bsm_schema *own;
    const bsm_schema *theirs;
    assert_ok(
        bsm_schema_parse(f->cx->types, &f->arena, bsm_str_of(text), &own));
    if (strcmp(own->qualified, "trt::const") == 0) continue;
    assert_ok(bsm_schema_table_find(f->cx->schemas, bsm_str_of(own->qualified),
                                    &theirs));
    if (!theirs) fail_msg("no operator for %s", text);
    assert_int_equal(own->arg_count, theirs->arg_count);
    for (size_t k = 0; k < own->arg_count; k++) {
      assert_string_equal(own->args[k].name, theirs->args[k].name);
    }
  }
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_goldens),         TEST(test_unsupported),
      TEST(test_static_nodes),    TEST(test_unassociated),
      TEST(test_wrong_unwrap),    TEST(test_failing_converter),
      TEST(test_bad_schema),      TEST(test_user_converter),
      TEST(test_guide_is_tested), TEST(test_args),
      TEST(test_outputs),         TEST(test_input_types),
      TEST(test_lists),           TEST(test_refusals),
      TEST(test_registry),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
