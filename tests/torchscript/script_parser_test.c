/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of the code language: trees as text, and what it refuses. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>

#include "ir/graph.h"
#include "torchscript/script_parser.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_code_file file;
} fixture;

static void open_text(fixture *f, bsm_str text) {
  bsm_arena_init(&f->arena, NULL);
  assert_null(bsm_ir_ctx_create(&f->arena, NULL, NULL, &f->cx));
  f->file = (bsm_code_file){"t.py", BSM_STR("t"), text};
}

/* ---- trees as text ---- */

static void print_expr(bsm_text *out, const bsm_expr *e);

static void print_list(bsm_text *out, const bsm_expr *e, size_t first) {
  for (size_t i = first; i < e->item_count; i++) {
    if (i > first) bsm_text_puts(out, " ");
    if (e->items[i]) {
      print_expr(out, e->items[i]);
    } else {
      bsm_text_puts(out, "_");
    }
  }
}

static void print_expr(bsm_text *out, const bsm_expr *e) {
  static const char *const heads[] = {
      [BSM_EXPR_SUBSCRIPT] = "at", [BSM_EXPR_SLICE] = "slice",
      [BSM_EXPR_LIST] = "list",    [BSM_EXPR_TUPLE] = "tuple",
      [BSM_EXPR_DICT] = "dict",    [BSM_EXPR_NEG] = "neg",
      [BSM_EXPR_CALL] = "call"};
  switch (e->kind) {
    case BSM_EXPR_NAME:
      bsm_text_puts(out, e->name);
      return;
    case BSM_EXPR_ATTR:
      print_expr(out, e->items[0]);
      bsm_text_printf(out, ".%s", e->name);
      return;
    case BSM_EXPR_INT:
      bsm_text_printf(out, "%lld", (long long)e->integer);
      return;
    case BSM_EXPR_FLOAT:
      bsm_text_double(out, e->re);
      return;
    case BSM_EXPR_COMPLEX:
      bsm_text_puts(out, "<");
      bsm_text_double(out, e->re);
      bsm_text_puts(out, ",");
      bsm_text_double(out, e->im);
      bsm_text_puts(out, ">");
      return;
    case BSM_EXPR_STRING:
      bsm_text_quoted(out, e->string);
      return;
    case BSM_EXPR_NONE:
      bsm_text_puts(out, "None");
      return;
    case BSM_EXPR_BOOL:
      bsm_text_puts(out, e->integer ? "True" : "False");
      return;
    default:
      break;
  }
  bsm_text_printf(out, "(%s ", heads[e->kind]);
  print_list(out, e, 0);
  for (size_t i = 0; i < e->keyword_count; i++) {
    bsm_text_printf(out, " %s=", e->keywords[i].name);
    print_expr(out, e->keywords[i].value);
  }
  bsm_text_puts(out, ")");
}

static void check_expr(const char *text, const char *wanted) {
  fixture f;
  bsm_expr *expr = NULL;
  bsm_text out;
  open_text(&f, bsm_str_of(text));
  bsm_status status = bsm_parse_expression(&f.arena, &f.cx->names,
                                           &f.cx->limits, &f.file, &expr);
  if (status) fail_msg("%s", bsm_status_message(status));
  bsm_text_init(&out, &f.arena);
  print_expr(&out, expr);
  assert_string_equal(out.data, wanted);
  bsm_arena_destroy(&f.arena);
}

static void test_expressions(void **state) {
  (void)state;
  check_expr("torch.add(a, b, alpha=2)", "(call torch.add a b alpha=2)");
  check_expr("(self.conv).forward(x, )", "(call self.conv.forward x)");
  check_expr("f()", "(call f)");
  check_expr("(a)", "a");
  check_expr("(a,)", "(tuple a)");
  check_expr("()", "(tuple )");
  check_expr("(a, [b, ], {})", "(tuple a (list b) (dict ))");
  check_expr("{\"k\": 1, \"j\": [2]}", "(dict \"k\" 1 \"j\" (list 2))");
  check_expr("(t)[1:3]", "(slice t 1 3)");
  check_expr("l[:-2]", "(slice l _ -2)");
  check_expr("l[1:]", "(slice l 1 _)");
  check_expr("d[\"a\"][0]", "(at (at d \"a\") 0)");
  check_expr("Dict[str, Tuple[()]]",
             "(at Dict (tuple str (at Tuple (tuple ))))");
  check_expr("\"a\" 'b'\n", "\"ab\"");
}

static void test_numbers(void **state) {
  (void)state;
  check_expr("-9223372036854775808", "-9223372036854775808");
  check_expr("9223372036854775807", "9223372036854775807");
  check_expr("-0.5", "-0.5");
  check_expr("-inf", "(neg inf)");
  check_expr("1.+2.j", "<1.0,2.0>");
  check_expr("1.-2.j", "<1.0,-2.0>");
  check_expr("-inf+nanj", "<-inf,nan>");
  check_expr("2.j", "<0.0,2.0>");
}

static bsm_status parse(fixture *f, bsm_syntax *out) {
  return bsm_parse_file(&f->arena, &f->cx->names, &f->cx->limits, &f->file,
                        out);
}

static void test_class(void **state) {
  (void)state;
  fixture f;
  bsm_syntax s;
  open_text(&f, BSM_STR("op_version_set = 1\n"
                        "import __torch__.a\n"
                        "class M(Module):\n"
                        "  __parameters__ = [\"w\", ]\n"
                        "  __annotations__ = []\n"
                        "  __annotations__[\"b-c\"] = Tensor\n"
                        "  w : Tensor\n"
                        "  eps : Final[float] = 1.0e-05\n"
                        "  def forward(self: __torch__.M,\n"
                        "    x: Tensor=None) -> Tensor:\n"
                        "    return x\n"
                        "class E:\n"
                        "def f(a, b: int=3): \n"
                        "  pass\n"));
  assert_null(parse(&f, &s));
  assert_int_equal(s.class_count, 2);
  assert_int_equal(s.def_count, 1);
  const bsm_class_def *m = s.classes[0];
  assert_string_equal(m->base, "Module");
  assert_int_equal(m->field_count, 4);
  assert_string_equal(m->fields[1].name, "b-c");
  assert_non_null(m->fields[1].type);
  assert_non_null(m->fields[3].value);
  assert_int_equal(m->method_count, 1);
  assert_int_equal(m->methods[0]->param_count, 2);
  assert_non_null(m->methods[0]->params[1].value);
  assert_non_null(m->methods[0]->result);
  assert_null(s.classes[1]->base);
  assert_int_equal(s.defs[0]->param_count, 2);
  bsm_arena_destroy(&f.arena);
}

static void test_statements(void **state) {
  (void)state;
  static const bsm_stmt_kind kinds[] = {
      BSM_STMT_ASSIGN, BSM_STMT_ASSIGN, BSM_STMT_ASSIGN, BSM_STMT_ASSIGN,
      BSM_STMT_EXPR,   BSM_STMT_IF,     BSM_STMT_WHILE,  BSM_STMT_FOR,
      BSM_STMT_WITH,   BSM_STMT_DEF,    BSM_STMT_PASS,   BSM_STMT_RETURN};
  fixture f;
  bsm_syntax s;
  open_text(&f, BSM_STR("def f(x):\n"
                        "  a, b, = x\n"
                        "  a, b = b, a\n"
                        "  c : Optional[int] = None\n"
                        "  self.k = 3\n"
                        "  g(a)\n"
                        "  if a:\n"
                        "    pass\n"
                        "  else:\n"
                        "    pass\n"
                        "  while b:\n"
                        "    b = False\n"
                        "  for i in range(n):\n"
                        "    pass\n"
                        "  with e as v:\n"
                        "    pass\n"
                        "  def h():\n"
                        "    return 1\n"
                        "  pass\n"
                        "  return a, b"));
  assert_null(parse(&f, &s));
  const bsm_stmts *body = &s.defs[0]->body;
  assert_int_equal(body->count, sizeof kinds / sizeof kinds[0]);
  for (size_t i = 0; i < body->count; i++) {
    assert_int_equal(body->items[i]->kind, kinds[i]);
  }
  assert_true(body->items[0]->unpack);
  assert_false(body->items[1]->unpack);
  assert_int_equal(body->items[1]->value_count, 2);
  assert_non_null(body->items[2]->type);
  assert_int_equal(body->items[3]->targets[0]->kind, BSM_EXPR_ATTR);
  assert_int_equal(body->items[5]->other.count, 1);
  assert_int_equal(body->items[11]->value_count, 2);
  bsm_arena_destroy(&f.arena);
}

/* ---- errors ---- */

static void check_error(bsm_str text, bsm_code code, const char *message) {
  fixture f;
  bsm_syntax s;
  open_text(&f, text);
  bsm_status status = parse(&f, &s);
  if (!status) fail_msg("accepted: %s", text.data);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), message)) {
    fail_msg("%s: %s", bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
  bsm_arena_destroy(&f.arena);
}

static void test_errors(void **state) {
  (void)state;
  check_error(BSM_STR("x = 1\n"), BSM_CORRUPT, "t.py:1:1: expected a class");
  check_error(BSM_STR("def f(x)\n  pass\n"), BSM_CORRUPT,
              "t.py:1:9: expected ':', found the end of the line");
  check_error(BSM_STR("def f(x):\npass\n"), BSM_CORRUPT, "an indented block");
  check_error(BSM_STR("def f(x):\n  return a + b\n"), BSM_UNSUPPORTED,
              "t.py:2:12: infix operators");
  check_error(BSM_STR("def f(x):\n  return a * b\n"), BSM_UNSUPPORTED,
              "the operator '*'");
  check_error(BSM_STR("def f(x):\n  return not a\n"), BSM_UNSUPPORTED, "'not'");
  check_error(BSM_STR("def f(x):\n  f(a) = 3\n"), BSM_CORRUPT,
              "only a name or an attribute");
  check_error(BSM_STR("def f(x):\n  f(a=1, b)\n"), BSM_CORRUPT,
              "behind keywords");
  check_error(BSM_STR("def f(x):\n  a = (1, 2\n"), BSM_CORRUPT, "expected ')'");
  check_error(BSM_STR("def f(x):\n  a = [1 2]\n"), BSM_CORRUPT, "expected ']'");
  check_error(BSM_STR("def f(x):\n  a = x[]\n"), BSM_CORRUPT, "an expression");
  check_error(BSM_STR("def f(x):\n  a = 99999999999999999999\n"), BSM_CORRUPT,
              "beyond 64 bits");
  check_error(BSM_STR("def f(x):\n  for i in x:\n    pass\n"), BSM_CORRUPT,
              "range(...)");
  check_error(BSM_STR("class C(A, B):\n  x : int\n"), BSM_CORRUPT, "')'");
  check_error(BSM_STR("class C:\n  x int\n"), BSM_CORRUPT, "':' or '='");
}

/* `before` + `piece` repeated + `after`. */
static bsm_str repeated(const char *before, const char *piece, size_t count,
                        const char *after, char **memory) {
  const size_t a = strlen(before), b = strlen(piece), c = strlen(after);
  char *text = malloc(a + b * count + c + 1);
  assert_non_null(text);
  memcpy(text, before, a);
  for (size_t i = 0; i < count; i++) memcpy(text + a + i * b, piece, b);
  memcpy(text + a + b * count, after, c + 1);
  *memory = text;
  return (bsm_str){text, a + b * count + c};
}

static void test_depth(void **state) {
  (void)state;
  static const char *const pieces[] = {"(", "[",  "{1: ", "f(",
                                       "-", "x[", "(a, "};
  char *text;
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
    check_error(repeated("def f(x):\n  y = ", pieces[i], 100000, "", &text),
                BSM_LIMIT, "max_depth");
    free(text);
  }
  check_error(repeated("def f(x):\n  y = x", ".abs()", 100000, "\n", &text),
              BSM_LIMIT, "max_depth");
  free(text);
  check_error(repeated("def f(x):\n  y = x", "[0]", 100000, "\n", &text),
              BSM_LIMIT, "max_depth");
  free(text);
  check_error(repeated("def f(x: ", "List[", 100000, "", &text), BSM_LIMIT,
              "max_depth");
  free(text);
}

/* Long is not deep. */
static void test_long(void **state) {
  (void)state;
  fixture f;
  bsm_syntax s;
  char *text;
  open_text(&f, repeated("def f(x):\n", "  x = g(x, 1)\n", 50000,
                         "  return x\n", &text));
  assert_null(parse(&f, &s));
  assert_int_equal(s.defs[0]->body.count, 50001);
  bsm_arena_destroy(&f.arena);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expressions), cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_class),       cmocka_unit_test(test_statements),
      cmocka_unit_test(test_errors),      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
