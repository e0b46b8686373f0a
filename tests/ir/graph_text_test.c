/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text: what PyTorch prints is read, what we print reads back to the
 * same text, and what is malformed is refused with its line and column. */
#include <math.h>

#include "base/test_allocator.h"
#include "ir/ir_fixture.h"
#include "ir/literal.h"

static const char *with_sources(fixture *f, const bsm_graph *graph) {
  const bsm_print_options options = {.sources = true};
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_graph_print(&text, graph, &options);
  assert_false(text.failed);
  return text.data;
}

static void reads_back(fixture *f, const char *text) {
  assert_string_equal(text_of(f, graph_of(f, text)), text);
}

static void pytorch_graphs_are_read(void **state) {
  fixture *f = *state;
  static const char *const names[] = {
      "net_scripted", "net_inlined",      "net_frozen",
      "net_traced",   "control",          "containers",
      "constants",    "traced_constants", "lstm_traced",
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char file[64];
    snprintf(file, sizeof file, "%s.graph", names[i]);
    bsm_graph *graph = graph_of(f, fixture_read(f, file));
    const char *once = with_sources(f, graph);
    assert_string_equal(with_sources(f, graph_of(f, once)), once);
  }
}

/* The nodes of a graph by their schemas, in order. */
static void list_schemas(bsm_text *text, const bsm_block *block) {
  for (const bsm_node *n = block->first; n; n = n->next) {
    if (n->schema) bsm_text_printf(text, "%s ", n->schema->qualified);
    for (size_t i = 0; i < n->blocks.len; i++) {
      list_schemas(text, n->blocks.items[i]);
    }
  }
}

static void overloads_are_found(void **state) {
  fixture *f = *state;
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  list_schemas(&text, graph_of(f, fixture_read(f, "control.graph"))->block);
  const char *const want[] = {
      "aten::zeros_like ", "aten::__isnot__ ",   "aten::gt.int ",
      "aten::mul.Scalar ", "aten::add_.Tensor ", "aten::sum.dim_IntList ",
      "aten::sub.Tensor ", "aten::append.t ",    "aten::lt.Scalar ",
      "aten::len.t ",      "aten::Bool.Tensor ",
  };
  for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
    if (!strstr(text.data, want[i])) fail_msg("%s: %s", want[i], text.data);
  }
}

static void places_are_kept(void **state) {
  fixture *f = *state;
  bsm_graph *graph = graph_of(
      f,
      "graph(%x : Float(1, 3, strides=[3, 1], requires_grad=0, device=cpu)):\n"
      "  %1 : Tensor = aten::relu(%x), scope: __module.a/__module.a.b # "
      "/usr/lib/a b.py:84:8\n"
      "  %2 : Tensor = aten::relu(%1) # code/__torch__.py:12:4\n"
      "  %3 : Tensor = aten::relu(%2)\n"
      "  return (%3)\n");
  const bsm_source *s = &graph->block->first->source;
  assert_string_equal(s->python_file, "/usr/lib/a b.py");
  assert_int_equal(s->python_line, 84);
  assert_string_equal(s->scope, "__module.a/__module.a.b");
  s = &graph->block->first->next->source;
  assert_null(s->python_file);
  assert_string_equal(s->code_file, "code/__torch__.py");
  assert_int_equal(s->code_line, 12);
  assert_int_equal(s->code_col, 4);
  s = &graph->block->last->source; /* its place in this text */
  assert_string_equal(s->code_file, "test");
  assert_int_equal(s->code_line, 4);
  assert_int_equal(s->code_col, 3);
  assert_string_equal(
      with_sources(f, graph),
      "graph(%x : Float(1, 3)):\n"
      "  %1 : Tensor = aten::relu(%x), scope: __module.a/__module.a.b # "
      "/usr/lib/a b.py:84:0\n"
      "  %2 : Tensor = aten::relu(%1) # code/__torch__.py:12:4\n"
      "  %3 : Tensor = aten::relu(%2) # test:4:3\n"
      "  return (%3)\n");
}

static void our_text_reads_back(void **state) {
  fixture *f = *state;
  reads_back(f, "graph():\n  return ()\n");
  reads_back(f,
             "graph(%self : __torch__.M,\n"
             "      %x : Float(1, 3),\n"
             "      %12 : Dict(str, Tensor[]?)):\n"
             "  %0.weight : Tensor = prim::GetAttr[name=\"weight\"](%self)\n"
             "  %3 : int = prim::Constant[value=-9223372036854775808]()\n"
             "   = my::effect(%12, %3)\n"
             "  return (%0.weight, %3)\n");
  reads_back(f,
             "graph(%x : Tensor,\n"
             "      %n : int,\n"
             "      %c : bool):\n"
             "  %y : Tensor, %m : int = prim::Loop(%n, %c, %x, %n)\n"
             "    block0(%i : int, %a : Tensor, %b : int):\n"
             "      %d : Tensor = prim::If(%c)\n"
             "        block0():\n"
             "          %e : Tensor = aten::relu(%a)\n"
             "          -> (%e)\n"
             "        block1():\n"
             "          -> (%a)\n"
             "      -> (%c, %d, %i)\n"
             "  return (%y, %m)\n");
}

static void constants_read_back(void **state) {
  fixture *f = *state;
  static const char *const constants[] = {
      "int = prim::Constant[value=9223372036854775807]()",
      "float = prim::Constant[value=0.1]()",
      "float = prim::Constant[value=1e-05]()",
      "float = prim::Constant[value=1e+16]()",
      "float = prim::Constant[value=1.7976931348623157e+308]()",
      "float = prim::Constant[value=5e-324]()",
      "float = prim::Constant[value=-0.]()",
      "float = prim::Constant[value=inf]()",
      "float = prim::Constant[value=-inf]()",
      "float = prim::Constant[value=nan]()",
      "bool = prim::Constant[value=1]()",
      "bool = prim::Constant[value=0]()",
      "bool? = prim::Constant[value=True]()",
      "NoneType = prim::Constant()",
      "Tensor? = prim::Constant()",
      "complex = prim::Constant[value=1.+2.j]()",
      "complex = prim::Constant[value=-1.5-0.25j]()",
      "complex = prim::Constant[value=complex(nan, inf)]()",
      "str = prim::Constant[value=\"\"]()",
      "str = prim::Constant[value=\"a\\n\\t\\r\\\\\\\"\\' \\000\\033\\377\"]()",
      "Device = prim::Constant[value=\"cpu\"]()",
      "Device = prim::Constant[value=\"cuda:1\"]()",
      "Device? = prim::Constant[value=\"cuda\"]()",
      "int[] = prim::Constant[value=[1, -2]]()",
      "int[] = prim::Constant[value=[]]()",
      "float[] = prim::Constant[value=[1., 2.5]]()",
      "bool[] = prim::Constant[value=[True, False]]()",
      "str[] = prim::Constant[value=[\"a\", \"b\"]]()",
      "int?[] = prim::Constant[value=[1, None]]()",
      "int[][]? = prim::Constant[value=[[1], []]]()",
      "Device[] = prim::Constant[value=[\"cpu\"]]()",
      "Tensor[] = prim::Constant[value=[Long(2){1, 2}, Float(){1.5}]]()",
      "(int, float, str, NoneType, bool) = "
      "prim::Constant[value=(1, 2., \"x\", None, True)]()",
      "(int) = prim::Constant[value=(1,)]()",
      "() = prim::Constant[value=()]()",
      "(Device, int[]) = prim::Constant[value=(\"cpu\", [1])]()",
      "NamedTuple[__torch__.P](x : int, y : float[]) = "
      "prim::Constant[value=(1, [2.])]()",
      "Dict(str, int) = prim::Constant[value={\"a\": 1, \"b\": 2}]()",
      "Dict(int, float[]) = prim::Constant[value={1: [], 2: [1.]}]()",
      "Scalar = prim::Constant[value=1]()",
      "Scalar = prim::Constant[value=1.]()",
      "Any = prim::Constant[value=annotate(int[], [1])]()",
      "Any = prim::Constant[value=annotate(Device, \"cpu\")]()",
      "Any = prim::Constant[value=annotate((int, float[]), (1, []))]()",
      "Any = prim::Constant[value=True]()",
      "Float(2, 2) = prim::Constant[value=Float(2, 2){1., -2.5, inf, nan}]()",
      "Tensor = prim::Constant[value=Double(1){0.1}]()",
      "Tensor = prim::Constant[value=Half(2){1.5, -0.}]()",
      "Tensor = prim::Constant[value=BFloat16(1){1.5}]()",
      "Tensor = prim::Constant[value=Long(){-9223372036854775808}]()",
      "Tensor = prim::Constant[value=Bool(2){1, 0}]()",
      "Tensor = prim::Constant[value=Byte(0, 3){}]()",
      "Tensor? = prim::Constant[value=Char(1){-3}]()",
      "Function = prim::Constant[name=\"relu\"]()",
  };
  for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
    bsm_text text;
    bsm_text_init(&text, &f->arena);
    bsm_text_printf(&text, "graph():\n  %%0 : %s\n  return (%%0)\n",
                    constants[i]);
    reads_back(f, text.data);
  }
}

/* The constant of the first node of a graph. */
static bsm_ivalue constant_of(fixture *f, const char *node) {
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_text_printf(&text, "graph():\n  %s\n  return (%%0)\n", node);
  bsm_graph *graph = graph_of(f, text.data);
  return *bsm_value_constant(bsm_node_out(graph->block->first, 0));
}

static void constants_of_pytorch_are_read(void **state) {
  fixture *f = *state;
  /* An integral double is printed without a dot. */
  bsm_ivalue v =
      constant_of(f, "%0 : float = prim::Constant[value=10000000000000000]()");
  assert_int_equal(v.tag, BSM_IVALUE_DOUBLE);
  assert_true(v.u.d == 1e16);
  v = constant_of(f,
                  "%0 : Long(requires_grad=0, device=cpu) = "
                  "prim::Constant[value={2}]()");
  assert_int_equal(v.u.tensor->dtype, BSM_DTYPE_INT64);
  assert_int_equal(v.u.tensor->sizes.rank, 0);
  assert_int_equal(bsm_tensor_get_int(v.u.tensor, 0), 2);
  v = constant_of(f,
                  "%0 : Float(1, strides=[1], device=cpu) = "
                  "prim::Constant[value={0.5}]()");
  assert_int_equal(v.u.tensor->dtype, BSM_DTYPE_FLOAT);
  assert_int_equal(v.u.tensor->sizes.rank, 1);
  v = constant_of(f,
                  "%0 : Float(2, 2, device=cpu) = prim::Constant[value="
                  "-0.3663 -0.2094  0.3169 inf [ CPUFloatType{2,2} ]]()");
  assert_int_equal(v.u.tensor->sizes.d[1], 2);
  assert_true(bsm_tensor_get_double(v.u.tensor, 0) == (double)-0.3663f);
  assert_true(bsm_tensor_get_double(v.u.tensor, 3) == HUGE_VAL);
  v = constant_of(f,
                  "%0 : Tensor = prim::Constant[value=0.01 *  1  2 "
                  "[ CPUDoubleType{2} ]]()");
  assert_int_equal(v.u.tensor->dtype, BSM_DTYPE_DOUBLE);
  assert_true(bsm_tensor_get_double(v.u.tensor, 1) == 0.02);
  v = constant_of(f,
                  "%0 : Tensor = prim::Constant[value=(1,.,.) =   1  2  "
                  "(2,.,.) =   3  4 [ CPULongType{2,1,2} ]]()");
  assert_int_equal(v.u.tensor->sizes.rank, 3);
  assert_int_equal(bsm_tensor_get_int(v.u.tensor, 3), 4);
  v = constant_of(f,
                  "%0 : Tensor = prim::Constant[value=[ CPUFloatType{0} ]]"
                  "()");
  assert_int_equal(bsm_tensor_numel(v.u.tensor), 0);
}

/* Containers that the caller gave no types are what their place says. */
static void untyped_containers_take_the_type_of_their_place(void **state) {
  fixture *f = *state;
  bsm_graph *graph = graph_of(f, "graph():\n  return ()\n");
  bsm_list *empty, *some;
  bsm_tuple *tuple;
  bsm_node *node;
  assert_ok(bsm_list_new(&f->arena, NULL, 0, &empty));
  assert_ok(bsm_list_new(&f->arena, NULL, 0, &some));
  assert_ok(bsm_list_append(some, bsm_iv_int(1)));
  assert_ok(bsm_tuple_new(&f->arena, 2, &tuple));
  tuple->items[0] = bsm_iv_list(empty);
  tuple->items[1] = bsm_iv_list(some);
  assert_ok(bsm_node_create_constant(graph, bsm_iv_tuple(tuple),
                                     type_of(f, "(float[], int[])"), &node));
  bsm_node_append(graph->block, node);
  assert_ok(bsm_block_add_output(graph->block, bsm_node_out(node, 0)));
  assert_ok(bsm_graph_verify(graph));
  const char *text =
      "graph():\n"
      "  %0 : (float[], int[]) = prim::Constant[value=([], [1])]()\n"
      "  return (%0)\n";
  assert_string_equal(text_of(f, graph), text);
  reads_back(f, text);
  bsm_node_out(node, 0)->type = type_of(f, "(float[], float[])");
  assert_fails(bsm_graph_verify(graph), BSM_CORRUPT, "the value is (");
}

static void large_tensors_become_inputs(void **state) {
  fixture *f = *state;
  bsm_graph *graph = graph_of(f, "graph(%x : Tensor):\n  return (%x)\n");
  bsm_tensor *tensor;
  bsm_node *node;
  const bsm_dims dims = {.rank = 2, .d = {13, 5}};
  assert_ok(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, dims, false, &tensor));
  assert_ok(
      bsm_node_create_constant(graph, bsm_iv_tensor(tensor), NULL, &node));
  bsm_node_append(graph->block, node);
  assert_ok(bsm_value_set_name(graph, bsm_node_out(node, 0), "fc.weight"));
  assert_ok(
      bsm_node_set_input(graph->block->returns, 0, bsm_node_out(node, 0)));
  const char *text = text_of(f, graph);
  assert_string_equal(
      text,
      "graph(%x : Tensor):\n"
      "  %fc.weight : Tensor = prim::Constant[value=<Tensor: Float(13, 5)>]()\n"
      "  return (%fc.weight)\n");
  assert_string_equal(text_of(f, graph_of(f, text)),
                      "graph(%x : Tensor,\n"
                      "      %fc.weight : Float(13, 5)):\n"
                      "  return (%fc.weight)\n");
  /* PyTorch's own placeholder has its type beside it. */
  assert_string_equal(
      text_of(f, graph_of(f,
                          "graph():\n  %w : Half(3, 4, device=cpu) = "
                          "prim::Constant[value=<Tensor>]()\n"
                          "  return (%w)\n")),
      "graph(%w : Half(3, 4)):\n  return (%w)\n");
}

static void text_by_hand_is_completed(void **state) {
  fixture *f = *state;
  /* No types, no defaults, an int for a float tensor's int[2]. */
  assert_string_equal(
      text_of(f, graph_of(f,
                          "# a comment\n"
                          "graph(%x, %k: int):\n"
                          "  # and another\n"
                          "  %y = aten::max_pool2d(%x, %k)   # one more\n"
                          "  %z, %i = aten::max(%y, %k)\n"
                          "  return (%z, %i)")),
      "graph(%x : Tensor,\n"
      "      %k : int):\n"
      "  %2 : int[] = prim::ListConstruct(%k, %k)\n"
      "  %3 : int[] = prim::Constant[value=[]]()\n"
      "  %4 : int[] = prim::Constant[value=[0, 0]]()\n"
      "  %5 : int[] = prim::Constant[value=[1, 1]]()\n"
      "  %6 : bool = prim::Constant[value=0]()\n"
      "  %y : Tensor = aten::max_pool2d(%x, %2, %3, %4, %5, %6)\n"
      "  %8 : bool = prim::Constant[value=0]()\n"
      "  %z : Tensor, %i : Tensor = aten::max(%y, %k, %8)\n"
      "  return (%z, %i)\n");
}

static void comments_end_any_line(void **state) {
  fixture *f = *state;
  assert_string_equal(
      text_of(f, graph_of(f,
                          "graph(  # of two\n"
                          "    %x : Tensor,  # one, (%y)\n"
                          "    # two\n"
                          "    %y : Tensor  # the last\n"
                          "    ):\n"
                          "  %a : int = prim::Constant[value=1]()\n"
                          "  %z : Tensor = aten::add(  # these:\n"
                          "    %x,  # one\n"
                          "    %y   # two\n"
                          "    ,\n"
                          "    # three\n"
                          "    %a)\n"
                          "  return (%z,  # a sum\n"
                          "          %x   # and what it is of\n"
                          "  )  # no more\n")),
      "graph(%x : Tensor,\n"
      "      %y : Tensor):\n"
      "  %a : int = prim::Constant[value=1]()\n"
      "  %z : Tensor = aten::add(%x, %y, %a)\n"
      "  return (%z, %x)\n");
}

/* An overload that the inputs would not lead to is part of the text. */
static void overloads_are_printed_where_needed(void **state) {
  fixture *f = *state;
  const char *text =
      "graph(%x : Tensor,\n"
      "      %d : int):\n"
      "  %2 : Tensor = aten::view.dtype(%x, %d)\n"
      "  return (%2)\n";
  bsm_graph *graph = graph_of(f, text);
  assert_string_equal(graph->block->first->schema->overload, "dtype");
  assert_string_equal(graph->block->first->kind, "aten::view");
  assert_string_equal(text_of(f, graph), text);
}

static void unknown_operators_are_kept(void **state) {
  fixture *f = *state;
  reads_back(f,
             "graph(%x : Tensor):\n"
             "  %1 : int, %2 : Tensor = my::op[a=1, b=\"s\", c=1.5](%x)\n"
             "  return (%2)\n");
}

/* Numbers are kept, also where two blocks use the same. */
static void numbers_are_kept(void **state) {
  fixture *f = *state;
  assert_string_equal(
      text_of(f, graph_of(f,
                          "graph(%7 : bool, %x : int):\n"
                          "  %3 : int = prim::If(%7)\n"
                          "    block0():\n"
                          "      %5 : int = prim::Constant[value=1]()\n"
                          "      -> (%5)\n"
                          "    block1():\n"
                          "      %5 : int = prim::Constant[value=2]()\n"
                          "      -> (%5)\n"
                          "  return (%3)\n")),
      "graph(%7 : bool,\n"
      "      %x : int):\n"
      "  %3 : int = prim::If(%7)\n"
      "    block0():\n"
      "      %5 : int = prim::Constant[value=1]()\n"
      "      -> (%5)\n"
      "    block1():\n"
      "      %11 : int = prim::Constant[value=2]()\n"
      "      -> (%11)\n"
      "  return (%3)\n");
}

/* A name means the value that was given it last, in the block and around it;
 * behind the block what it meant before. */
static void names_shadow(void **state) {
  fixture *f = *state;
  assert_string_equal(
      text_of(f, graph_of(f,
                          "graph(%c : bool, %x : Tensor):\n"
                          "  %x : Tensor = aten::relu(%x)\n"
                          "  %r : Tensor = prim::If(%c)\n"
                          "    block0():\n"
                          "      %x : Tensor = aten::neg(%x)\n"
                          "      -> (%x)\n"
                          "    block1():\n"
                          "      -> (%x)\n"
                          "  %s : Tensor = aten::abs(%x)\n"
                          "  %c : int = prim::Constant[value=2.5]()\n"
                          "  return (%r, %s, %c)\n")),
      "graph(%c : bool,\n"
      "      %x : Tensor):\n"
      "  %x.1 : Tensor = aten::relu(%x)\n"
      "  %r : Tensor = prim::If(%c)\n"
      "    block0():\n"
      "      %x.2 : Tensor = aten::neg(%x.1)\n"
      "      -> (%x.2)\n"
      "    block1():\n"
      "      -> (%x.1)\n"
      "  %s : Tensor = aten::abs(%x.1)\n"
      "  %c.1 : float = prim::Constant[value=2.5]()\n"
      "  return (%r, %s, %c.1)\n");
}

static void malformed_text_is_refused(void **state) {
  fixture *f = *state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "test:1:1: expected 'graph('"},
      {"graph", "test:1:6: expected '(' at the end"},
      {"graph(%x", "expected ')' at the end"},
      {"graph(x):", "test:1:7: expected ')' before 'x'"},
      {"graph(% : int):", "expected a value's name"},
      {"graph(%x : foo):", "test:1:12: unknown type 'foo'"},
      {"graph():\n", "test:2:1: expected 'return' at the end"},
      {"graph():\n  return (%x)", "test:2:11: %x is not defined here"},
      {"graph():\n  return () x", "test:2:13: text after the graph"},
      {"graph():\n  return ()\nwith f = graph()", "subgraphs"},
      {"graph(%x):\n  %y : Tensor aten::relu(%x)\n  return (%y)",
       "test:2:15: expected '=' before 'a'"},
      {"graph(%x):\n  %y : Tensor = relu(%x)\n  return (%y)",
       "expected 'namespace::operator'"},
      {"graph(%x):\n  %y : Tensor = aten::relu.none(%x)\n  return (%y)",
       "test:2:17: unknown overload 'aten::relu.none'"},
      {"graph(%x):\n  %y : Tensor = aten::relu(%z)\n  return (%y)",
       "test:2:28: %z is not defined here"},
      {"graph(%x):\n  %y : Tensor = aten::relu(%y)\n  return (%y)",
       "%y is not defined here"},
      {"graph(%x):\n  %y : int = aten::relu(%x, %x)\n  return (%y)",
       "at test:2:14"},
      {"graph(%x):\n  %y, %z = aten::relu(%x)\n  return (%y)",
       "test:2:12: 2 outputs, but aten::relu has 1"},
      {"graph(%x):\n  %y : int = prim::Constant[value=]()\n  return (%y)",
       "test:2:35: expected a number"},
      {"graph(%x):\n  %y : int = prim::Constant[=1]()\n  return (%y)",
       "expected an attribute's name"},
      {"graph(%x):\n  %y : int[] = prim::Constant[value=[1, 2]()\n",
       "expected ']' before '('"},
      {"graph(%x):\n  %y : str = prim::Constant[value=\"a]()\n",
       "test:2:35: string without an end"},
      {"graph(%x):\n  %y : Device = prim::Constant[value=\"cpu:x\"]()\n",
       "malformed device"},
      {"graph(%x):\n  %y : Tensor = prim::Constant[value=<Tensor]()\n",
       "expected '>' before ']'"},
      {"graph(%x):\n  %y : int = prim::Constant[value=<Object M>]()\n",
       "does not hold"},
      {"graph(%x):\n  %y : int = prim::Constant[value=__torch__.C.A]()\n",
       "'__torch__.C.A' is not known without its model"},
      {"graph(%x):\n  %y : Tensor = prim::Constant[value=Float(2){1.}]()\n",
       "1 elements for a tensor of [2]"},
      {"graph(%x):\n  %y : Tensor = prim::Constant[value= 1 2 "
       "[ CPUFloatType{3} ]]()\n",
       "2 elements for a tensor of [3]"},
      {"graph(%x):\n  %y : Tensor = prim::Constant[value= 1 "
       "[ CPUFooType{1} ]]()\n",
       "unknown tensor type 'CPUFooType'"},
      {"graph(%x):\n  %y : Tensor = prim::Constant[value=Float(*){1.}]()\n",
       "expected a tensor's full type"},
      {"graph(%c : bool):\n  %y : int = prim::If(%c)\n    block0():\n"
       "      %z : int = prim::Constant[value=1]()\n      -> (%z)\n"
       "    block1():\n      -> (%z)\n  return (%y)",
       "test:7:11: %z is not defined here"},
      {"graph(%c : int):\n  %y : int = prim::If(%c)\n    block0():\n"
       "      -> (%c)\n    block1():\n      -> (%c)\n  return (%y)",
       "the condition is int, not bool"},
      {"graph(%c : bool):\n  %y : int = prim::If(%c)\n    block0():\n"
       "      -> (%c)\n    block1():\n      -> (%c)\n  return (%y)",
       "a block output is bool, not int"},
      {"graph(%c : bool):\n  %y : bool = prim::If(%c)\n    block0():\n"
       "      -> (%c)\n  return (%y)",
       "1 blocks instead of 2"},
      {"graph(%n : int):\n  %y : int = prim::Loop(%n)\n  return (%y)",
       "1 inputs instead of at least 2"},
      {"graph(%n : int, %c : bool):\n  %y : int = prim::Loop(%n, %c, %n)\n"
       "    block0(%i : int):\n      -> (%c)\n  return (%y)",
       "1 block inputs instead of 2"},
      {"graph(%n : int):\n  %y : Tensor[] = prim::ListConstruct(%n)\n"
       "  return (%y)",
       "an element is int, not Tensor"},
      {"graph(%n : int):\n  %y : (int) = prim::TupleConstruct(%n, %n)\n"
       "  return (%y)",
       "2 inputs instead of 1"},
      {"graph(%n : int):\n  %y : int = prim::TupleUnpack(%n)\n  return (%y)",
       "the input is int, not a tuple"},
      {"graph(%s : __torch__.M):\n  %y : int = prim::GetAttr(%s)\n"
       "  return (%y)",
       "no attribute's name"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    bsm_graph *graph;
    bsm_status status =
        bsm_graph_parse(f->cx, bsm_str_of(bad[i].text), "test", &graph);
    if (!status) fail_msg("accepted: %s", bad[i].text);
    if (!strstr(bsm_status_message(status), bad[i].message)) {
      fail_msg("'%s' is not in: %s", bad[i].message,
               bsm_status_message(status));
    }
    bsm_status_free(status);
    assert_null(graph);
  }
}

static void depth_is_limited(void **state) {
  fixture *f = *state;
  bsm_text text;
  bsm_graph *graph;
  bsm_text_init(&text, &f->arena);
  bsm_text_puts(&text, "graph(%c : bool):\n");
  for (int i = 0; i < 100000; i++) {
    bsm_text_puts(&text, "= prim::If(%c)\nblock0():\n");
  }
  assert_fails(
      bsm_graph_parse(f->cx, (bsm_str){text.data, text.len}, "test", &graph),
      BSM_LIMIT, "nested more than 200 deep");
  bsm_text_init(&text, &f->arena);
  bsm_text_puts(&text, "graph():\n %0 : Any = prim::Constant[value=");
  for (int i = 0; i < 100000; i++) bsm_text_puts(&text, "[");
  assert_fails(
      bsm_graph_parse(f->cx, (bsm_str){text.data, text.len}, "test", &graph),
      BSM_LIMIT, "nested more than 200 deep");
}

/* Every truncation is refused; nothing is read past the end. */
static void truncated_text(void **state) {
  fixture *f = *state;
  const char *text = fixture_read(f, "traced_constants.graph");
  size_t size = strlen(text) - 1;
  while (text[size - 1] != ')') size--;
  for (size_t n = 0; n < size; n += 1 + n / 64) {
    bsm_arena arena;
    bsm_ir_ctx *cx;
    bsm_graph *graph;
    bsm_arena_init(&arena, NULL);
    assert_ok(bsm_ir_ctx_create(&arena, NULL, NULL, &cx));
    char *copy = malloc(n + 1);
    memcpy(copy, text, n);
    bsm_status status = bsm_graph_parse(cx, (bsm_str){copy, n}, "test", &graph);
    assert_non_null(status);
    bsm_status_free(status);
    free(copy);
    bsm_arena_destroy(&arena);
  }
}

/* Fails each allocation in turn: an error, never a crash or a leak. */
static void memory_runs_out(void **state) {
  fixture *f = *state;
  const char *text = fixture_read(f, "net_traced.graph");
  bool done = false;
  int allowed = 0;
  for (; !done; allowed++) {
    test_allocator memory;
    bsm_arena arena;
    bsm_ir_ctx *cx;
    bsm_graph *graph;
    test_allocator_init(&memory, allowed);
    bsm_arena_init(&arena, &memory.base);
    bsm_status status = bsm_ir_ctx_create(&arena, NULL, NULL, &cx);
    if (!status) {
      status = bsm_graph_parse(cx, bsm_str_of(text), "test", &graph);
    }
    if (!status) {
      bsm_text printed;
      bsm_text_init(&printed, &arena);
      bsm_graph_print(&printed, graph, NULL);
      done = !printed.failed;
    } else {
      assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    }
    bsm_status_free(status);
    bsm_arena_destroy(&arena);
    assert_int_equal(memory.live, 0);
  }
  assert_true(allowed > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fixture_test(pytorch_graphs_are_read),
      fixture_test(overloads_are_found),
      fixture_test(places_are_kept),
      fixture_test(our_text_reads_back),
      fixture_test(constants_read_back),
      fixture_test(constants_of_pytorch_are_read),
      fixture_test(untyped_containers_take_the_type_of_their_place),
      fixture_test(large_tensors_become_inputs),
      fixture_test(text_by_hand_is_completed),
      fixture_test(comments_end_any_line),
      fixture_test(overloads_are_printed_where_needed),
      fixture_test(unknown_operators_are_kept),
      fixture_test(numbers_are_kept),
      fixture_test(names_shadow),
      fixture_test(malformed_text_is_refused),
      fixture_test(depth_is_limited),
      fixture_test(truncated_text),
      fixture_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
