/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of the code language. */
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
#include "torchscript/lexer.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_limits limits;
  bsm_code_file file;
  bsm_lexer lexer;
} fixture;

static void open_text(fixture *f, bsm_str text) {
  bsm_ir_ctx *cx = NULL;
  bsm_arena_init(&f->arena, NULL);
  assert_null(bsm_ir_ctx_create(&f->arena, NULL, NULL, &cx));
  f->limits = cx->limits;
  f->file = (bsm_code_file){"t.py", BSM_STR("t"), text};
}

/* The tokens as text: kinds of layout as |, >, <; the rest as written, strings
 * decoded and in brackets. */
static bsm_status scan(fixture *f, bsm_text *out) {
  BSM_TRY(bsm_lexer_init(&f->lexer, &f->arena, &f->file, &f->limits));
  for (;;) {
    bsm_token t;
    BSM_TRY(bsm_lexer_next(&f->lexer, &t));
    switch (t.kind) {
      case BSM_TOKEN_END:
        return BSM_OK;
      case BSM_TOKEN_NEWLINE:
        bsm_text_puts(out, "| ");
        break;
      case BSM_TOKEN_INDENT:
        bsm_text_puts(out, "> ");
        break;
      case BSM_TOKEN_DEDENT:
        bsm_text_puts(out, "< ");
        break;
      case BSM_TOKEN_STRING:
        bsm_text_printf(out, "{%.*s} ", (int)t.string.len, t.string.data);
        break;
      case BSM_TOKEN_FLOAT:
        bsm_text_printf(out, "f%.17g ", t.number);
        break;
      case BSM_TOKEN_COMPLEX:
        bsm_text_printf(out, "j%.17g ", t.number);
        break;
      default:
        bsm_text_append(out, t.text);
        bsm_text_puts(out, " ");
    }
  }
}

static void check(bsm_str text, const char *wanted) {
  fixture f;
  bsm_text out;
  open_text(&f, text);
  bsm_text_init(&out, &f.arena);
  bsm_status status = scan(&f, &out);
  if (status) fail_msg("%s", bsm_status_message(status));
  assert_string_equal(out.data, wanted);
  bsm_arena_destroy(&f.arena);
}

static void check_error(bsm_str text, bsm_code code, const char *message) {
  fixture f;
  bsm_text out;
  open_text(&f, text);
  f.limits.max_depth = 10;
  f.limits.max_name_bytes = 20;
  f.limits.max_string_bytes = 30;
  bsm_text_init(&out, &f.arena);
  bsm_status status = scan(&f, &out);
  assert_non_null(status);
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), message)) {
    fail_msg("'%s' lacks '%s'", bsm_status_message(status), message);
  }
  bsm_status_free(status);
  bsm_arena_destroy(&f.arena);
}

static void test_layout(void **state) {
  (void)state;
  check(BSM_STR("a\n\n  # c\nb"), "a | b ");
  check(BSM_STR("if x:\n  y\n  if z:\n    w\nv\n"),
        "if x : | > y | if z : | > w | < < v | ");
  check(BSM_STR("if x:\n  y"), "if x : | > y | < ");
  check(BSM_STR("f(a,\n    b,\n\n  )\nc"), "f ( a , b , ) | c ");
  check(BSM_STR("a = \\\n  b\r\nc"), "a = b | c ");
  check(BSM_STR(""), "");
}

static void test_numbers(void **state) {
  (void)state;
  check(BSM_STR("1 0.5 1. .5 1e5 1e+22 3.e-07"),
        "1 f0.5 f1 f0.5 f100000 f1e+22 f2.9999999999999999e-07 ");
  check(BSM_STR("9223372036854775808 10000000000000000"),
        "9223372036854775808 10000000000000000 ");
  check(BSM_STR("1.+2.j 3j"), "f1 + j2 j3 ");
  check(BSM_STR("0.10000000000000001"), "f0.10000000000000001 ");
  check(BSM_STR("x[1:2].y"), "x [ 1 : 2 ] . y ");
}

static void test_strings(void **state) {
  (void)state;
  check(BSM_STR("'a' \"b'\" '''c\nd'''"), "{a} {b'} {c\nd} ");
  check(BSM_STR("'\\t\\n\\r\\v\\f\\b\\a\\'\\\"\\\\'"),
        "{\t\n\r\v\f\b\a'\"\\} ");
  check(BSM_STR("'\\101\\x42\\0601'"), "{AB01} ");
  check(BSM_STR("'a\\\nb'"), "{ab} ");
  check(BSM_STR("'# no comment'"), "{# no comment} ");
}

static void test_places(void **state) {
  (void)state;
  fixture f;
  bsm_token t;
  open_text(&f, BSM_STR("ab cd\n  ef"));
  assert_null(bsm_lexer_init(&f.lexer, &f.arena, &f.file, &f.limits));
  assert_null(bsm_lexer_next(&f.lexer, &t));
  assert_null(bsm_lexer_next(&f.lexer, &t));
  assert_int_equal(t.pos.offset, 3);
  assert_int_equal(t.pos.line, 1);
  assert_int_equal(t.pos.col, 4);
  assert_null(bsm_lexer_next(&f.lexer, &t)); /* newline */
  assert_null(bsm_lexer_next(&f.lexer, &t)); /* indent */
  assert_null(bsm_lexer_next(&f.lexer, &t));
  assert_int_equal(t.pos.offset, 8);
  assert_int_equal(t.pos.line, 2);
  assert_int_equal(t.pos.col, 3);
  bsm_arena_destroy(&f.arena);
}

static void test_errors(void **state) {
  (void)state;
  check_error(BSM_STR("a\n  $"), BSM_CORRUPT, "t.py:2:3: byte 0x24");
  check_error(BSM_STR("a\0b"), BSM_CORRUPT, "t.py:1:2: byte 0x00");
  check_error(BSM_STR("\xff"), BSM_CORRUPT, "byte 0xff");
  check_error(BSM_STR("'abc"), BSM_CORRUPT, "t.py:1:1: string without an end");
  check_error(BSM_STR("'abc\n'"), BSM_CORRUPT, "string without an end");
  check_error(BSM_STR("'''abc\n''"), BSM_CORRUPT, "string without an end");
  check_error(BSM_STR("'\\"), BSM_CORRUPT, "unknown escape");
  check_error(BSM_STR("'\\q'"), BSM_CORRUPT, "unknown escape");
  check_error(BSM_STR("'\\777'"), BSM_CORRUPT, "octal");
  check_error(BSM_STR("12ab"), BSM_CORRUPT, "malformed number");
  check_error(BSM_STR("if x:\n    a\n  b"), BSM_CORRUPT,
              "matches no enclosing block");
  check_error(BSM_STR("if x:\n\ta"), BSM_CORRUPT, "tab in indentation");
  check_error(BSM_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), BSM_LIMIT,
              "max_name_bytes");
  check_error(BSM_STR("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"),
              BSM_LIMIT, "max_string_bytes");
  check_error(BSM_STR("a\n b\n  c\n   d\n    e\n     f\n      g\n       h\n"
                      "        i\n         j\n          k\n           l"),
              BSM_LIMIT, "max_depth");
}

static void test_long_line_excerpt(void **state) {
  (void)state;
  fixture f;
  char text[5000];
  memset(text, 'x', sizeof text);
  memcpy(text + 4000, " $ ", 3);
  open_text(&f, (bsm_str){text, sizeof text});
  bsm_text out;
  bsm_text_init(&out, &f.arena);
  bsm_status status = scan(&f, &out);
  assert_non_null(strstr(bsm_status_message(status), "t.py:1:4002"));
  assert_true(strlen(bsm_status_message(status)) < 400);
  bsm_status_free(status);
  bsm_arena_destroy(&f.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layout),  cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_strings), cmocka_unit_test(test_places),
      cmocka_unit_test(test_errors),  cmocka_unit_test(test_long_line_excerpt),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
