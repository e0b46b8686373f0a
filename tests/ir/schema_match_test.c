/* SPDX-License-Identifier: Apache-2.0 */
/* Overload resolution against PyTorch's, for the calls in calls.txt:
 *
 *   aten::add(Tensor; dtype=int) => aten::add.Scalar($0, =, [$1, $1]) : Tensor
 *
 * $i is argument i, = a constant, #i of $j an element of a tuple. */
#include "ir/schema_match.h"

#include "ir/ir_fixture.h"

enum { MAX_ARGS = 20 };

typedef struct call_text {
  bsm_match_arg args[MAX_ARGS];
  bool literal[MAX_ARGS];
  size_t count;
} call_text;

/* "Tensor; dim=int; []" up to the closing parenthesis at `end`. */
static void read_args(fixture *f, char *text, call_text *call) {
  memset(call, 0, sizeof *call);
  while (*text) {
    char *next = strchr(text, ';');
    if (next) *next = '\0';
    bsm_match_arg *arg = &call->args[call->count];
    char *equals = strchr(text, '=');
    if (equals) {
      *equals = '\0';
      arg->name = text;
      text = equals + 1;
    }
    arg->empty_list = strcmp(text, "[]") == 0;
    call->literal[call->count] = arg->empty_list || strcmp(text, "None") == 0;
    arg->type = type_of(f, arg->empty_list ? "List[Tensor]" : text);
    call->count++;
    if (!next) break;
    text = next + 2;
  }
}

static void render(bsm_text *out, const call_text *call,
                   const bsm_match_value *v, const char *tuple) {
  switch (v->op) {
    case BSM_MATCH_ACTUAL:
      if (call->literal[v->index]) {
        bsm_text_puts(out, "=");
      } else {
        bsm_text_printf(out, "$%zu", v->index);
      }
      break;
    case BSM_MATCH_DEFAULT:
      bsm_text_puts(out, "=");
      break;
    case BSM_MATCH_ELEMENT:
      bsm_text_printf(out, "#%zu of %s", v->index, tuple);
      break;
    case BSM_MATCH_CALL: {
      const char *dot = strchr(v->call, '.');
      int len = dot ? (int)(dot - v->call) : (int)strlen(v->call);
      bsm_text_printf(out, "%.*s(", len, v->call);
      render(out, call, &v->items[0], tuple);
      bsm_text_puts(out, ")");
      break;
    }
    case BSM_MATCH_LIST:
      bsm_text_puts(out, "[");
      for (size_t i = 0; i < v->item_count; i++) {
        if (i) bsm_text_puts(out, ", ");
        render(out, call, &v->items[i], tuple);
      }
      bsm_text_puts(out, "]");
      break;
    case BSM_MATCH_TUPLE_TO_LIST:
    case BSM_MATCH_TUPLE: {
      bool list = v->op == BSM_MATCH_TUPLE_TO_LIST;
      bsm_text inner;
      bsm_text_init(&inner, out->arena);
      render(&inner, call, &v->items[0], tuple);
      size_t n = v->items[0].type->arg_count;
      bsm_text_puts(out, list ? "[" : "(");
      for (size_t i = 0; i < n; i++) {
        bsm_match_value element = {.op = BSM_MATCH_ELEMENT, .index = i};
        if (i) bsm_text_puts(out, ", ");
        render(out, call, list ? &element : &v->items[i + 1], inner.data);
      }
      bsm_text_puts(out, list ? "]" : ")");
      break;
    }
  }
}

/* What we make of a call, in the form of calls.txt. */
static const char *resolve(fixture *f, const char *name, call_text *call) {
  bsm_text out;
  bsm_text_init(&out, &f->arena);
  bsm_match_call match_call = {f->cx->types, &f->arena, call->args,
                               call->count};
  bsm_schema_match match;
  bsm_status status = bsm_schema_match_name(&match_call, f->cx->schemas,
                                            bsm_str_of(name), &match);
  if (status) {
    assert_int_not_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
    return "fails";
  }
  bsm_text_printf(&out, "%s(", match.schema->qualified);
  for (size_t i = 0; i < match.input_count; i++) {
    if (i) bsm_text_puts(&out, ", ");
    render(&out, call, &match.inputs[i], "");
  }
  bsm_text_puts(&out, ") : ");
  for (size_t i = 0; i < match.schema->return_count; i++) {
    if (i) bsm_text_puts(&out, "; ");
    bsm_type_print(&out, match.return_types[i], BSM_TYPE_STYLE_PYTHON);
  }
  return out.data;
}

static void calls_resolve_as_in_pytorch(void **state) {
  fixture *f = *state;
  size_t calls = 0, wrong = 0;
  char *line = fixture_read(f, "calls.txt");
  for (char *end; *line && (end = strchr(line, '\n')); line = end + 1) {
    *end = '\0';
    char *want = strstr(line, " => ");
    assert_non_null(want);
    const char *whole =
        bsm_arena_strndup(&f->arena, line, (size_t)(want - line));
    want[-1] = '\0'; /* the closing parenthesis */
    want += 4;
    char *open = strchr(line, '(');
    *open = '\0';
    call_text call;
    read_args(f, open + 1, &call);
    const char *got = resolve(f, line, &call);
    calls++;
    if (strcmp(got, want) != 0) {
      print_error("%s\n  PyTorch: %s\n  ours:    %s\n", whole, want, got);
      wrong++;
    }
  }
  assert_true(calls > 500);
  assert_int_equal(wrong, 0);
}

static void overloads_stand_in_registry_order(void **state) {
  fixture *f = *state;
  char *line = fixture_read(f, "order.txt");
  size_t names = 0;
  for (char *end; *line && (end = strchr(line, '\n')); line = end + 1) {
    *end = '\0';
    char *colon = strstr(line, ": ");
    assert_non_null(colon);
    *colon = '\0';
    const bsm_schema *const *overloads;
    size_t count;
    assert_ok(bsm_schema_table_overloads(f->cx->schemas, bsm_str_of(line),
                                         &overloads, &count));
    bsm_text text;
    bsm_text_init(&text, &f->arena);
    for (size_t i = 0; i < count; i++) {
      bsm_text_printf(&text, "%s%s", i ? " " : "",
                      *overloads[i]->overload ? overloads[i]->overload : "-");
    }
    assert_string_equal(text.data, colon + 2);
    names++;
  }
  assert_true(names > 100);
}

static void failure_lists_every_candidate(void **state) {
  fixture *f = *state;
  bsm_match_arg args[] = {{.type = type_of(f, "Tensor")},
                          {.type = type_of(f, "str")},
                          {.name = "keepdim", .type = type_of(f, "bool")}};
  bsm_match_call call = {f->cx->types, &f->arena, args, 3};
  bsm_schema_match match;
  assert_fails(bsm_schema_match_name(&call, f->cx->schemas,
                                     BSM_STR("aten::argmax"), &match),
               BSM_UNSUPPORTED,
               "aten::argmax(Tensor self, int? dim=None, bool keepdim=False)");
  assert_fails(bsm_schema_match_name(&call, f->cx->schemas,
                                     BSM_STR("aten::argmax"), &match),
               BSM_UNSUPPORTED, "argument 'dim' wants int?, not str");
  args[1] = (bsm_match_arg){.name = "dims", .type = type_of(f, "int")};
  assert_fails(bsm_schema_match_name(&call, f->cx->schemas,
                                     BSM_STR("aten::argmax"), &match),
               BSM_UNSUPPORTED, "has no argument 'dims'");
  assert_fails(bsm_schema_match_name(&call, f->cx->schemas,
                                     BSM_STR("aten::nothing"), &match),
               BSM_NOT_FOUND, "unknown operator 'aten::nothing'");
}

/* The recipe for: view(x, n, t), dropping a Tensor into an int[]. */
static void a_match_becomes_nodes(void **state) {
  fixture *f = *state;
  bsm_graph *graph = graph_of(
      f, "graph(%x : Tensor, %n : int, %t : Tensor):\n  return (%x)\n");
  bsm_value *const *values = graph->block->params->outputs.items;
  bsm_match_arg args[3] = {{.type = values[0]->type},
                           {.type = values[1]->type},
                           {.type = values[2]->type}};
  bsm_match_call call = {f->cx->types, &f->arena, args, 3};
  bsm_schema_match match;
  bsm_node *node;
  assert_ok(bsm_schema_match_name(&call, f->cx->schemas, BSM_STR("aten::view"),
                                  &match));
  bsm_source source = {.code_file = "code/m.py", .code_line = 3};
  assert_ok(bsm_schema_match_build(graph, &match, values, graph->block, NULL,
                                   &source, &node));
  assert_ok(
      bsm_node_set_input(graph->block->returns, 0, bsm_node_out(node, 0)));
  assert_ok(bsm_graph_verify(graph));
  assert_int_equal(node->source.code_line, 3);
  assert_string_equal(text_of(f, graph),
                      "graph(%x : Tensor,\n"
                      "      %n : int,\n"
                      "      %t : Tensor):\n"
                      "  %3 : int = aten::IntImplicit(%t)\n"
                      "  %4 : int[] = prim::ListConstruct(%n, %3)\n"
                      "  %5 : Tensor = aten::view(%x, %4)\n"
                      "  return (%5)\n");
}

static void defaults_become_constants(void **state) {
  fixture *f = *state;
  bsm_graph *graph =
      graph_of(f,
               "graph(%x : Tensor, %k : (int, int)):\n"
               "  %2 : Tensor = aten::relu(%x)\n  return (%2)\n");
  bsm_value *const *values = graph->block->params->outputs.items;
  bsm_match_arg args[2] = {{.name = "input", .type = values[0]->type},
                           {.name = "kernel_size", .type = values[1]->type}};
  bsm_match_call call = {f->cx->types, &f->arena, args, 2};
  bsm_schema_match match;
  bsm_node *node;
  assert_ok(bsm_schema_match_name(&call, f->cx->schemas,
                                  BSM_STR("aten::max_pool2d"), &match));
  assert_ok(bsm_schema_match_build(graph, &match, values, graph->block,
                                   graph->block->first, NULL, &node));
  assert_ok(bsm_graph_verify(graph));
  assert_string_equal(
      text_of(f, graph),
      "graph(%x : Tensor,\n"
      "      %k : (int, int)):\n"
      "  %6 : int, %7 : int = prim::TupleUnpack(%k)\n"
      "  %8 : int[] = prim::ListConstruct(%6, %7)\n"
      "  %9 : int[] = prim::Constant[value=[]]()\n"
      "  %10 : int[] = prim::Constant[value=[0, 0]]()\n"
      "  %11 : int[] = prim::Constant[value=[1, 1]]()\n"
      "  %12 : bool = prim::Constant[value=0]()\n"
      "  %13 : Tensor = aten::max_pool2d(%x, %8, %9, %10, %11, %12)\n"
      "  %2 : Tensor = aten::relu(%x)\n"
      "  return (%2)\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fixture_test(calls_resolve_as_in_pytorch),
      fixture_test(overloads_stand_in_registry_order),
      fixture_test(failure_lists_every_candidate),
      fixture_test(a_match_becomes_nodes),
      fixture_test(defaults_become_constants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
