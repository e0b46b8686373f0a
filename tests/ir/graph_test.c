/* SPDX-License-Identifier: Apache-2.0 */
/* Building and changing graphs. */
#include "ir/graph.h"

#include "bessemer/conversion.h"
#include "ir/ir_fixture.h"

static bsm_value *add_input(bsm_graph *graph, const bsm_type *type,
                            const char *name) {
  bsm_value *value;
  assert_ok(bsm_block_add_input(graph->block, type, &value));
  assert_ok(bsm_value_set_name(graph, value, name));
  return value;
}

/* aten::relu over `input` at the end of the graph. */
static bsm_value *add_relu(fixture *f, bsm_graph *graph, bsm_value *input,
                           const char *name) {
  const bsm_schema *schema;
  bsm_node *node;
  assert_ok(
      bsm_schema_table_find(f->cx->schemas, BSM_STR("aten::relu"), &schema));
  assert_ok(bsm_node_create_schema(graph, schema, &node));
  assert_ok(bsm_node_add_input(node, input));
  bsm_node_append(graph->block, node);
  assert_ok(bsm_value_set_name(graph, bsm_node_out(node, 0), name));
  return bsm_node_out(node, 0);
}

static void a_graph_is_built(void **state) {
  fixture *f = *state;
  bsm_graph *graph;
  const bsm_type *tensor = bsm_type_simple(f->cx->types, BSM_TYPE_TENSOR);
  assert_ok(bsm_graph_create(f->cx, &graph));
  bsm_value *x = add_input(graph, tensor, "x");
  bsm_value *y = add_relu(f, graph, x, "y");
  assert_ok(bsm_block_add_output(graph->block, y));
  assert_ok(bsm_graph_verify(graph));
  assert_string_equal(text_of(f, graph),
                      "graph(%x : Tensor):\n"
                      "  %y : Tensor = aten::relu(%x)\n"
                      "  return (%y)\n");
  assert_int_equal(x->uses.len, 1);
  assert_ptr_equal(x->uses.items[0].user, y->node);
  assert_string_equal(bsm_node_kind(y->node), "aten::relu");
  assert_int_equal(bsm_node_output_count(y->node), 1);
  assert_ptr_equal(bsm_node_output(y->node, 0), y);
  assert_null(bsm_node_output(y->node, 1));
}

static void names_are_unique(void **state) {
  fixture *f = *state;
  bsm_graph *graph;
  char label[128];
  const bsm_type *tensor = bsm_type_simple(f->cx->types, BSM_TYPE_TENSOR);
  assert_ok(bsm_graph_create(f->cx, &graph));
  bsm_value *a = add_input(graph, tensor, "x");
  bsm_value *b = add_input(graph, tensor, "x");
  bsm_value *c = add_input(graph, tensor, "x.1");
  bsm_value *d = add_input(graph, tensor, "x");
  assert_string_equal(a->debug_name, "x");
  assert_string_equal(b->debug_name, "x.1");
  assert_string_equal(c->debug_name, "x.2");
  assert_string_equal(d->debug_name, "x.3");
  /* A name that its value gives up is free. */
  assert_ok(bsm_value_set_name(graph, a, "y"));
  bsm_value *e = add_input(graph, tensor, "x");
  assert_string_equal(e->debug_name, "x");
  /* Digits alone are a number; other characters do not survive. */
  bsm_value *n = add_input(graph, tensor, "12");
  assert_null(n->debug_name);
  assert_string_equal(bsm_value_label(n, label), "%5");
  bsm_value *odd = add_input(graph, tensor, "a b-c%");
  assert_string_equal(bsm_value_label(odd, label), "%a_b_c_");
  assert_ok(bsm_graph_verify(graph));
}

static void uses_follow_changes(void **state) {
  fixture *f = *state;
  bsm_graph *graph =
      graph_of(f,
               "graph(%a : Tensor, %b : Tensor):\n"
               "  %l : Tensor[] = prim::ListConstruct(%a, %b, %a, %b, %a)\n"
               "  %m : Tensor[] = prim::ListConstruct(%a)\n"
               "  return (%l, %m)\n");
  bsm_value *a = graph->block->params->outputs.items[0];
  bsm_value *b = graph->block->params->outputs.items[1];
  bsm_node *list = graph->block->first;
  assert_int_equal(a->uses.len, 4);
  bsm_node_remove_input(list, 0);
  assert_ok(bsm_graph_verify(graph));
  assert_int_equal(a->uses.len, 3);
  assert_ok(bsm_node_set_input(list, 1, b));
  assert_ok(bsm_graph_verify(graph));
  assert_int_equal(a->uses.len, 2);
  assert_int_equal(b->uses.len, 3);
  assert_ok(bsm_value_replace_all_uses(a, b));
  assert_int_equal(a->uses.len, 0);
  assert_int_equal(b->uses.len, 5);
  assert_ok(bsm_graph_verify(graph));
  assert_string_equal(text_of(f, graph),
                      "graph(%a : Tensor,\n"
                      "      %b : Tensor):\n"
                      "  %l : Tensor[] = prim::ListConstruct(%b, %b, %b, %b)\n"
                      "  %m : Tensor[] = prim::ListConstruct(%b)\n"
                      "  return (%l, %m)\n");
}

static void nodes_move_and_go(void **state) {
  fixture *f = *state;
  bsm_graph *graph = graph_of(f,
                              "graph(%x : Tensor, %c : bool):\n"
                              "  %a : Tensor = aten::relu(%x)\n"
                              "  %b : Tensor = aten::tanh(%x)\n"
                              "  %z : Tensor = prim::If(%c)\n"
                              "    block0():\n"
                              "      %i : Tensor = aten::sin(%a)\n"
                              "      -> (%i)\n"
                              "    block1():\n"
                              "      -> (%b)\n"
                              "  return (%x)\n");
  bsm_block *block = graph->block;
  bsm_node *relu = block->first, *tanh = relu->next, *branch = block->last;
  bsm_node_move_before(tanh, relu);
  assert_ok(bsm_graph_verify(graph));
  assert_ptr_equal(block->first, tanh);
  bsm_node_destroy(branch);
  assert_int_equal(bsm_node_out(relu, 0)->uses.len, 0);
  bsm_node_destroy(relu);
  bsm_node_destroy(tanh);
  assert_null(block->first);
  assert_null(block->last);
  assert_ok(bsm_graph_verify(graph));
  /* Ends of a block as positions. */
  bsm_node *first, *last;
  assert_ok(bsm_node_create_constant(graph, bsm_iv_int(1), NULL, &first));
  assert_ok(bsm_node_create_constant(graph, bsm_iv_none(), NULL, &last));
  bsm_node_insert_before(last, block->returns);
  bsm_node_insert_after(first, block->params);
  assert_ptr_equal(block->first, first);
  assert_ptr_equal(first->next, last);
  assert_ok(bsm_graph_verify(graph));
}

static void constants_are_seen(void **state) {
  fixture *f = *state;
  bsm_graph *graph =
      graph_of(f,
               "graph(%x : Tensor):\n"
               "  %i : int = prim::Constant[value=3]()\n"
               "  %n : NoneType = prim::Constant()\n"
               "  %o : int? = prim::Constant()\n"
               "  %f : Function = prim::Constant[name=\"relu\"]()\n"
               "  return (%x)\n");
  bsm_node *n = graph->block->first;
  assert_int_equal(bsm_value_constant(bsm_node_out(n, 0))->u.i, 3);
  n = n->next;
  assert_int_equal(bsm_value_constant(bsm_node_out(n, 0))->tag,
                   BSM_IVALUE_NONE);
  n = n->next;
  assert_int_equal(bsm_value_constant(bsm_node_out(n, 0))->tag,
                   BSM_IVALUE_NONE);
  n = n->next;
  assert_null(bsm_value_constant(bsm_node_out(n, 0)));
  assert_null(bsm_value_constant(graph->block->params->outputs.items[0]));
}

static bsm_status compile_loop(bsm_function *fn) {
  bsm_graph *graph;
  return bsm_function_graph(fn, &graph);
}

static void recursion_is_refused(void **state) {
  (void)state;
  bsm_graph *graph;
  bsm_function fn = {.qualified = "__torch__.f", .compile = compile_loop};
  assert_fails(bsm_function_graph(&fn, &graph), BSM_UNSUPPORTED,
               "function '__torch__.f' calls itself");
  assert_false(fn.compiling);
}

static void node_count_is_limited(void **state) {
  fixture *f = *state;
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_nodes = 10;
  bsm_ir_ctx *cx;
  bsm_graph *graph;
  bsm_node *node;
  assert_ok(bsm_ir_ctx_create(&f->arena, &limits, NULL, &cx));
  assert_ok(bsm_graph_create(cx, &graph));
  for (int i = 0; i < 8; i++) assert_ok(bsm_node_create(graph, "a::b", &node));
  assert_fails(bsm_node_create(graph, "a::b", &node), BSM_LIMIT,
               "more than 10 nodes");
}

static void sources_are_told(void **state) {
  fixture *f = *state;
  const struct {
    bsm_source source;
    const char *want;
  } cases[] = {
      {{.code_file = "code/m.py",
        .code_line = 3,
        .python_file = "m.py",
        .python_line = 84,
        .scope = "layer1.0"},
       "m.py:84 (layer1.0)"},
      {{.code_file = "code/m.py", .code_line = 3}, "code/m.py:3"},
      {{.scope = "fc"}, "(fc)"},
      {{.code_line = 0}, "unknown place"},
      {{.python_file = "a (b).py", .scope = "f"}, "a (b).py (f)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    bsm_text text;
    bsm_text_init(&text, &f->arena);
    bsm_source_print(&text, &cases[i].source);
    assert_string_equal(text.data, cases[i].want);
  }
}

/* What was printed is read, and is printed again as it was. */
static void sources_are_read(void **state) {
  fixture *f = *state;
  const struct {
    const char *text, *file;
    uint32_t line;
    const char *scope;
  } cases[] = {
      {"m.py:84 (layer1.0)", "m.py", 84, "layer1.0"},
      {"m.py:84", "m.py", 84, NULL},
      {"(fc)", NULL, 0, "fc"},
      {"a (b).py:7 (f)", "a (b).py", 7, "f"},
      {"C:\\m.py", "C:\\m.py", 0, NULL},
      {"m.py:", "m.py:", 0, NULL},
      {"m.py:4294967296", "m.py:4294967296", 0, NULL},
      {"m.py:12x", "m.py:12x", 0, NULL},
      {"f(x)", "f(x)", 0, NULL},
      {"unknown place", NULL, 0, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    bsm_source source;
    bsm_text text;
    assert_ok(bsm_source_parse(cases[i].text, &f->arena, &source));
    assert_int_equal(source.python_line, cases[i].line);
    assert_int_equal(!source.python_file, !cases[i].file);
    assert_int_equal(!source.scope, !cases[i].scope);
    if (cases[i].file) assert_string_equal(source.python_file, cases[i].file);
    if (cases[i].scope) assert_string_equal(source.scope, cases[i].scope);
    bsm_text_init(&text, &f->arena);
    bsm_source_print(&text, &source);
    assert_string_equal(text.data, cases[i].text);
  }
  bsm_source source;
  assert_ok(bsm_source_parse("", &f->arena, &source));
  assert_null(source.python_file);
}

/* ---- what the verifier refuses ---- */

static void broken_links_are_found(void **state) {
  fixture *f = *state;
  bsm_graph *graph = graph_of(f,
                              "graph(%x : Tensor):\n"
                              "  %a : Tensor = aten::relu(%x)\n"
                              "  %b : Tensor = aten::relu(%a)\n"
                              "  return (%b)\n");
  bsm_node *first = graph->block->first, *second = first->next;
  bsm_node_move_before(second, first);
  assert_fails(bsm_graph_verify(graph), BSM_CORRUPT,
               "%a is used before it is defined");
  bsm_node_move_before(first, second);
  assert_ok(bsm_graph_verify(graph));
  second->inputs.items[0] = graph->block->params->outputs.items[0];
  assert_fails(bsm_graph_verify(graph), BSM_INTERNAL, "its user");
  second->inputs.items[0] = bsm_node_out(first, 0);
  second->prev = NULL;
  assert_fails(bsm_graph_verify(graph), BSM_INTERNAL, "linked wrongly");
  second->prev = first;
  assert_ok(bsm_node_set_input(first, 0, bsm_node_out(first, 0)));
  assert_fails(bsm_graph_verify(graph), BSM_CORRUPT, "used before");
}

static void types_must_fit_schemas(void **state) {
  fixture *f = *state;
  bsm_graph *graph =
      graph_of(f,
               "graph(%x : Tensor, %n : int):\n"
               "  %y : Tensor = aten::select(%x, %n, %n) # code/m.py:7:2\n"
               "  return (%y)\n");
  bsm_node *node = graph->block->first;
  bsm_value *n = graph->block->params->outputs.items[1];
  n->type = bsm_type_simple(f->cx->types, BSM_TYPE_FLOAT);
  assert_fails(bsm_graph_verify(graph), BSM_CORRUPT,
               "inputs (Tensor, float, float) do not fit aten::select.int(");
  n->type = bsm_type_simple(f->cx->types, BSM_TYPE_INT);
  bsm_node_remove_input(node, 2);
  assert_fails(bsm_graph_verify(graph), BSM_CORRUPT, "2 inputs for");
  assert_ok(bsm_node_add_input(node, n));
  bsm_value *more;
  assert_ok(bsm_node_add_output(node, n->type, &more));
  assert_fails(bsm_graph_verify(graph), BSM_CORRUPT,
               "2 outputs instead of 1\nin %y = aten::select, code/m.py:7");
  bsm_node_remove_output(node, 1);
  assert_ok(bsm_graph_verify(graph));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fixture_test(a_graph_is_built),
      fixture_test(names_are_unique),
      fixture_test(uses_follow_changes),
      fixture_test(nodes_move_and_go),
      fixture_test(constants_are_seen),
      fixture_test(recursion_is_refused),
      fixture_test(node_count_is_limited),
      fixture_test(sources_are_told),
      fixture_test(sources_are_read),
      fixture_test(broken_links_are_found),
      fixture_test(types_must_fit_schemas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
