/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic expressions: the values that Python's arithmetic gives, and every
 * way a text can be wrong. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>

#include "base/resolve_limits.h"
#include "exported/symbolic.h"
#include "tests/base/test_allocator.h"

#define S "Symbol('s77', positive=True, integer=True)"
#define U "Symbol('u0', integer=True)"

/* s77 is 7 and u0 is -3. */
typedef struct world {
  bsm_arena arena;
  bsm_limits limits;
  bsm_symbol_table symbols;
} world;

static void begin(world *w) {
  *w = (world){.limits = bsm_resolve_limits(NULL)};
  bsm_arena_init(&w->arena, NULL);
}

static bsm_status parse(world *w, const char *text, const bsm_sym_expr **out) {
  return bsm_sym_parse(&w->arena, bsm_str_of(text), &w->limits, &w->symbols,
                       out);
}

static bsm_status evaluate(world *w, const bsm_sym_expr *expr,
                           bsm_sym_number *out) {
  int64_t values[8] = {0};
  const size_t s = bsm_symbol_find(&w->symbols, BSM_STR("s77"));
  const size_t u = bsm_symbol_find(&w->symbols, BSM_STR("u0"));
  if (s != BSM_NO_SYMBOL) values[s] = 7;
  if (u != BSM_NO_SYMBOL) values[u] = -3;
  return bsm_sym_evaluate(expr, &w->symbols, values, NULL, 8, out);
}

static void expect(const char *text, bsm_sym_number wanted) {
  world w;
  begin(&w);
  const bsm_sym_expr *expr;
  bsm_sym_number got;
  bsm_status status = parse(&w, text, &expr);
  if (!status) status = evaluate(&w, expr, &got);
  if (status) fail_msg("%s: %s", text, bsm_status_message(status));
  if (got.kind != wanted.kind || got.i != wanted.i) {
    fail_msg("%s: kind %d, %lld", text, got.kind, (long long)got.i);
  }
  const bool same = isnan(wanted.d) ? isnan(got.d)
                    : isinf(wanted.d)
                        ? got.d == wanted.d
                        : fabs(got.d - wanted.d) <= 1e-15 * fabs(wanted.d);
  if (!same) fail_msg("%s: %.17g, expected %.17g", text, got.d, wanted.d);
  bsm_arena_destroy(&w.arena);
}

static void expect_int(const char *text, int64_t value) {
  expect(text, (bsm_sym_number){BSM_SYM_KIND_INT, value, 0});
}

static void expect_double(const char *text, double value) {
  expect(text, (bsm_sym_number){BSM_SYM_KIND_FLOAT, 0, value});
}

static void expect_bool(const char *text, bool value) {
  expect(text, (bsm_sym_number){BSM_SYM_KIND_BOOL, value, 0});
}

static void expect_failure(const char *text, bsm_code code, const char *part) {
  world w;
  begin(&w);
  const bsm_sym_expr *expr;
  bsm_sym_number got;
  bsm_status status = parse(&w, text, &expr);
  if (!status) status = evaluate(&w, expr, &got);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), part)) {
    fail_msg("%s: %s: %s", text, bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
  bsm_arena_destroy(&w.arena);
}

/* ---- what sympy writes ---- */

static void integers_are_exact(void **state) {
  (void)state;
  expect_int("Integer(9223372036854775807)", INT64_MAX);
  expect_int("Integer(-9223372036854775808)", INT64_MIN);
  expect_int("Integer(0)", 0);
  expect_int(S, 7);
  expect_int("Mul(Integer(2), " S ")", 14);
  expect_int("Add(" S ", Mul(Integer(-1), " U "))", 10);
  expect_int("Add(Integer(4611686018427387904), Integer(4611686018427387903))",
             INT64_MAX);
  expect_int("Mul(" S ", " U ", Integer(2))", -42);
  /* Not through a double, and not through a product that is too large. */
  expect_int("Mul(Rational(1, 2), Integer(9223372036854775806))",
             INT64_C(4611686018427387903));
  expect_int("Pow(" S ", Integer(2))", 49);
  expect_int("PowByNatural(" U ", Integer(3))", -27);
  expect_int("Pow(" S ", Integer(0))", 1);
  expect_int("Pow(Integer(2), Integer(62))", INT64_C(1) << 62);
}

static void fractions_are_exact(void **state) {
  (void)state;
  expect_int("Mul(Rational(2, 7), " S ")", 2);
  expect_int("Mul(Pow(" S ", Integer(-1)), Integer(21))", 3);
  expect_int("Add(Rational(1, 3), Rational(2, 3))", 1);
  expect_double("Mul(Rational(1, 2), " S ")", 3.5);
  expect_double("Pow(" S ", Integer(-1))", 1.0 / 7);
  expect_int("floor(Mul(Rational(1, 2), " S "))", 3);
  expect_int("floor(Mul(Rational(1, 2), " U "))", -2);
  expect_int("ceiling(Mul(Rational(1, 2), " S "))", 4);
  expect_int("ceiling(Mul(Rational(1, 2), " U "))", -1);
  expect_bool("StrictLessThan(Rational(1, 3), Rational(1, 2))", true);
}

static void division_rounds_as_pythons(void **state) {
  (void)state;
  expect_int("FloorDiv(" S ", Integer(2))", 3);
  expect_int("FloorDiv(" U ", Integer(2))", -2);
  expect_int("FloorDiv(" S ", Integer(-2))", -4);
  expect_int("CleanDiv(Integer(12), Integer(4))", 3);
  expect_int("PythonMod(" U ", Integer(5))", 2);
  expect_int("PythonMod(" S ", Integer(-4))", -1);
  expect_int("Mod(" S ", Integer(4))", 3);
  expect_int("ModularIndexing(" S ", Integer(2), Integer(2))", 1);
  expect_double("IntTrueDiv(" S ", Integer(2))", 3.5);
  expect_double("FloatTrueDiv(ToFloat(" S "), Float('2.0', precision=53))",
                3.5);
  expect_int("LShift(" S ", Integer(3))", 56);
  expect_int("RShift(" U ", Integer(1))", -2);
}

static void floats_are_doubles(void **state) {
  (void)state;
  expect_double("Float('0.5', precision=53)", 0.5);
  expect_double("Float('1.0000000000000001e+300', precision=53)", 1e300);
  expect_double("Float('9.9999999999999995e-8', precision=53)", 1e-7);
  expect_double("ToFloat(" S ")", 7);
  expect_double("Pow(Integer(2), Rational(1, 2))", sqrt(2));
  expect_double("OpaqueUnaryFn_sqrt(ToFloat(" S "))", sqrt(7));
  expect_double("OpaqueUnaryFn_exp(Float('1.0', precision=53))", exp(1));
  expect_double("log(" S ")", log(7));
  expect_double("OpaqueUnaryFn_log2(Integer(8))", 3);
  expect_double("OpaqueUnaryFn_tanh(Integer(1))", tanh(1));
  expect_double("FloatPow(Float('2.0', precision=53), Rational(3, 2))",
                pow(2, 1.5));
  expect_double("TruncToFloat(Float('-2.5', precision=53))", -2);
  expect_int("TruncToInt(Float('-2.5', precision=53))", -2);
  expect_int("TruncToInt(Float('2.5', precision=53))", 2);
  expect_int("RoundToInt(Float('2.5', precision=53))", 2);
  expect_int("RoundToInt(Float('3.5', precision=53))", 4);
  expect_double("RoundDecimal(Float('2.375', precision=53), Integer(1))", 2.4);
  expect_int("FloorToInt(Float('-0.5', precision=53))", -1);
  expect_int("CeilToInt(Float('0.5', precision=53))", 1);
  expect_double("oo", INFINITY);
  expect_double("-int_oo", -INFINITY);
  expect_double("nan", NAN);
  expect_double("pi", 3.141592653589793);
}

static void relations_and_logic_are_bools(void **state) {
  (void)state;
  expect_bool("Equality(" S ", Integer(7))", true);
  expect_bool("Unequality(Mod(" S ", Integer(2)), Integer(0))", true);
  expect_bool("StrictGreaterThan(" S ", " U ")", true);
  expect_bool("GreaterThan(" S ", Integer(7))", true);
  expect_bool("StrictLessThan(" S ", Integer(7))", false);
  expect_bool("LessThan(" S ", Integer(7))", true);
  expect_bool("LessThan(" S ", int_oo)", true);
  expect_bool("LessThan(" S ", nan)", false);
  expect_bool("Unequality(nan, nan)", true);
  expect_bool("And(GreaterThan(" S ", Integer(2)), Not(LessThan(" U
              ", Integer(-4))))",
              true);
  expect_bool("Or(false, Equality(" S ", Integer(8)))", false);
  expect_bool("true", true);
  expect_int("Where(StrictGreaterThan(" S ", Integer(2)), " S ", " U ")", 7);
  expect_int("Piecewise(ExprCondPair(" S ", StrictLessThan(" S
             ", Integer(2))), ExprCondPair(" U ", true))",
             -3);
  expect_int("Max(Integer(2), " S ", " U ")", 7);
  expect_int("Min(Integer(2), " S ", " U ")", -3);
  expect_int("Abs(" U ")", 3);
  expect_int("Identity(" S ")", 7);
  expect_int("BitwiseFn_bitwise_and(" S ", Integer(5))", 5);
  expect_int("BitwiseFn_bitwise_or(" S ", Integer(8))", 15);
  expect_int("BitwiseFn_bitwise_xor(" S ", " U ")", 7 ^ -3);
  expect_int("IsNonOverlappingAndDenseIndicator(" S
             ", Integer(2), Integer(2), Integer(1))",
             1);
  expect_int("IsNonOverlappingAndDenseIndicator(" S
             ", Integer(2), Integer(1), Integer(7))",
             1);
  expect_int("IsNonOverlappingAndDenseIndicator(" S
             ", Integer(2), Integer(3), Integer(1))",
             0);
}

/* As versions before 2.6 have them. */
static void operators_are_read(void **state) {
  (void)state;
  expect_int("s77", 7);
  expect_int("2*s77 + 1", 15);
  expect_int("(s77 + 1)*2 - u0", 19);
  expect_int("-s77**2", -49);
  expect_int("2**-1*4", 2);
  expect_int("2**3**2", 512);
  expect_int("s77 - 1 - 2", 4);
  expect_int("s77//2", 3);
  expect_int("(s77//2) % 2", 1);
  expect_int("-u0", 3);
  expect_int("s77*4/2", 14);
  expect_double("s77/2", 3.5);
  expect_double("0.5*s77", 3.5);
  expect_double("1e-1", 0.1);
  expect_int("1 << 3 + 1", 16);
  expect_bool("s77 >= 2", true);
  expect_bool("(s77 > 2) & (u0 > 3)", false);
  expect_bool("(s77 > 2) | ~(u0 > 3)", true);
  expect_bool("Eq(s77, 7)", true);
  expect_bool("s77 + 1 == 4*2", true);
  expect_int("Max(2, s77)", 7);
}

/* ---- what is wrong ---- */

static void malformed_texts_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "(",
                                      "Mul(",
                                      "Mul(Integer(2)",
                                      "Mul(Integer(2),,Integer(2))",
                                      "Integer()",
                                      "Integer(2.5)",
                                      "Float(2)",
                                      "Float('x')",
                                      "Float('1')x",
                                      "Float('1', 53)",
                                      "Rational(1)",
                                      "Symbol(s)",
                                      "Symbol('s)",
                                      "Symbol('')",
                                      "Symbol('s', integer)",
                                      "1 +",
                                      "1 2",
                                      "1..2",
                                      "+ 1",
                                      "s ** ",
                                      "Piecewise(Integer(1))",
                                      "Piecewise()",
                                      "FloorDiv(Integer(1))",
                                      "Where(true, Integer(1))",
                                      "Not()",
                                      "s77\x80"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_failure(texts[i], BSM_CORRUPT, "column");
  }
}

static void what_has_no_value_says_why(void **state) {
  (void)state;
  expect_failure("Add(Integer(9223372036854775807), Integer(1))",
                 BSM_INVALID_ARGUMENT, "64-bit");
  expect_failure("Mul(Integer(4611686018427387904), Integer(2))",
                 BSM_INVALID_ARGUMENT, "64-bit");
  expect_failure("Pow(Integer(10), Integer(19))", BSM_INVALID_ARGUMENT,
                 "64-bit");
  expect_failure("Mul(Integer(-1), Integer(-9223372036854775808))",
                 BSM_INVALID_ARGUMENT, "64-bit");
  expect_failure("FloorDiv(Integer(-9223372036854775808), Integer(-1))",
                 BSM_INVALID_ARGUMENT, "64-bit");
  expect_failure("Abs(Integer(-9223372036854775808))", BSM_INVALID_ARGUMENT,
                 "64-bit");
  expect_failure("FloorDiv(" S ", Integer(0))", BSM_INVALID_ARGUMENT, "zero");
  expect_failure("PythonMod(" S ", Integer(0))", BSM_INVALID_ARGUMENT, "zero");
  expect_failure("Pow(Integer(0), Integer(-1))", BSM_INVALID_ARGUMENT, "zero");
  expect_failure("IntTrueDiv(" S ", Integer(0))", BSM_INVALID_ARGUMENT, "zero");
  expect_failure("FloorToInt(oo)", BSM_INVALID_ARGUMENT, "64-bit");
  expect_failure("TruncToInt(nan)", BSM_INVALID_ARGUMENT, "64-bit");
  expect_failure("RoundToInt(Float('1e19'))", BSM_INVALID_ARGUMENT, "64-bit");
  expect_failure("LShift(Integer(1), Integer(64))", BSM_INVALID_ARGUMENT,
                 "64-bit");
  expect_failure("LShift(Integer(1), Integer(-1))", BSM_INVALID_ARGUMENT,
                 "64-bit");
  expect_failure("BitwiseFn_bitwise_and(Rational(1, 2), Integer(1))",
                 BSM_INVALID_ARGUMENT, "no integer");
  expect_failure("IsNonOverlappingAndDenseIndicator(Integer(1))",
                 BSM_INVALID_ARGUMENT, "64-bit");
  expect_failure("Piecewise(ExprCondPair(Integer(1), false))",
                 BSM_INVALID_ARGUMENT, "piecewise");
  expect_failure("Zeta(" S ")", BSM_UNSUPPORTED, "Zeta");
  expect_failure("Integer(9223372036854775808)", BSM_UNSUPPORTED,
                 "9223372036854775808");
  expect_failure("ToFloat(Symbol('zuf0', real=True))", BSM_INVALID_ARGUMENT,
                 "zuf0");
}

static void symbols_without_value_are_named(void **state) {
  (void)state;
  world w;
  begin(&w);
  const bsm_sym_expr *expr;
  bsm_sym_number got;
  assert_null(parse(&w, "Add(" S ", " U ")", &expr));
  assert_int_equal(w.symbols.symbols.len, 2);
  const int64_t values[2] = {1, 2};
  const bool known[2] = {true, false};
  bsm_status status =
      bsm_sym_evaluate(expr, &w.symbols, values, known, 2, &got);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  assert_non_null(strstr(bsm_status_message(status), "u0"));
  bsm_status_free(status);
  status = bsm_sym_evaluate(expr, &w.symbols, values, NULL, 1, &got);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  bsm_status_free(status);
  assert_null(bsm_sym_evaluate(expr, &w.symbols, values, NULL, 2, &got));
  assert_int_equal(got.i, 3);
  assert_false(bsm_sym_is_constant(expr));
  bsm_arena_destroy(&w.arena);
}

/* ---- kinds and text ---- */

static void kinds_need_no_values(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bsm_sym_kind kind;
  } cases[] = {{"2*s0", BSM_SYM_KIND_INT},
               {"Mul(Rational(1, 2), " S ")", BSM_SYM_KIND_INT},
               {"ToFloat(" S ")", BSM_SYM_KIND_FLOAT},
               {"Symbol('zuf0', real=True)", BSM_SYM_KIND_FLOAT},
               {"zf3 + 1", BSM_SYM_KIND_FLOAT},
               {"TruncToInt(zf3)", BSM_SYM_KIND_INT},
               {"Max(2, s0)", BSM_SYM_KIND_INT},
               {"IntTrueDiv(" S ", Integer(2))", BSM_SYM_KIND_FLOAT},
               {"Eq(s0, 2)", BSM_SYM_KIND_BOOL},
               {"Not(Eq(s0, 2))", BSM_SYM_KIND_BOOL},
               {"Where(Eq(s0, 2), s0, 3)", BSM_SYM_KIND_INT},
               {"Where(Eq(s0, 2), 1.5, 3)", BSM_SYM_KIND_FLOAT},
               {"Pow(" S ", Rational(1, 2))", BSM_SYM_KIND_FLOAT}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    world w;
    begin(&w);
    const bsm_sym_expr *expr;
    assert_null(parse(&w, cases[i].text, &expr));
    assert_int_equal(bsm_sym_kind_of(expr, &w.symbols), cases[i].kind);
    bsm_arena_destroy(&w.arena);
  }
}

static void texts_read_back(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"Mul(Integer(2), " S ")", "2*s77"},
      {"Add(Integer(1), Mul(Integer(2), Add(" S ", " U ")))",
       "1 + 2*(s77 + u0)"},
      {"FloorDiv(Add(" S ", Integer(1)), Integer(2))", "(s77 + 1)//2"},
      {"Max(Integer(2), " S ")", "max(2, s77)"},
      {"GreaterThan(" S ", Integer(2))", "s77 >= 2"},
      {"And(GreaterThan(" S ", Integer(2)), true)", "s77 >= 2 and True"},
      {"Mul(Integer(-1), " S ")", "(-1)*s77"},
      {"Zeta(" S ")", "Zeta(s77)"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    world w;
    begin(&w);
    const bsm_sym_expr *expr;
    bsm_text text;
    bsm_text_init(&text, &w.arena);
    assert_null(parse(&w, cases[i][0], &expr));
    bsm_sym_print(&text, expr, &w.symbols);
    assert_string_equal(text.data, cases[i][1]);
    bsm_arena_destroy(&w.arena);
  }
}

/* ---- limits ---- */

static void nesting_is_limited(void **state) {
  (void)state;
  static const char *const openers[] = {"(", "Not(", "-", "~", "1+(", "Max(1,"};
  for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) {
    const size_t len = strlen(openers[i]), count = 100000;
    char *text = malloc(count * len + 2);
    assert_non_null(text);
    for (size_t k = 0; k < count; k++) memcpy(text + k * len, openers[i], len);
    memcpy(text + count * len, "1", 2);
    expect_failure(text, BSM_LIMIT, "nests");
    free(text);
  }
  /* Operators that lean to the left nest as well. */
  char chain[3 * 1000 + 2];
  for (size_t k = 0; k < 1000; k++) memcpy(chain + 3 * k, "1//", 3);
  memcpy(chain + 3000, "1", 2);
  world w;
  begin(&w);
  const bsm_sym_expr *expr;
  bsm_status status = parse(&w, chain, &expr);
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  bsm_status_free(status);
  w.limits.max_depth = 3;
  status = parse(&w, "Max(1, Max(2, 3))", &expr);
  assert_null(status);
  assert_int_equal(expr->height, 3);
  status = parse(&w, "Max(1, Max(2, Max(3, 4)))", &expr);
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  bsm_status_free(status);
  bsm_arena_destroy(&w.arena);
}

static void running_out_of_memory_is_a_status(void **state) {
  (void)state;
  static const char text[] =
      "Piecewise(ExprCondPair(Max(" S ", " U
      ", Rational(1, 3)), Not(Equality(" S
      ", Integer(2)))), ExprCondPair(Zeta(Float('1.5')), true))";
  bool succeeded = false;
  for (int n = 0; !succeeded; n++) {
    assert_in_range(n, 0, 1000);
    test_allocator allocator;
    test_allocator_init(&allocator, n);
    world w;
    begin(&w);
    bsm_arena_init(&w.arena, &allocator.base);
    const bsm_sym_expr *expr;
    const bsm_status status = parse(&w, text, &expr);
    succeeded = !status;
    if (status) assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
    bsm_arena_destroy(&w.arena);
    assert_int_equal(allocator.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_are_exact),
      cmocka_unit_test(fractions_are_exact),
      cmocka_unit_test(division_rounds_as_pythons),
      cmocka_unit_test(floats_are_doubles),
      cmocka_unit_test(relations_and_logic_are_bools),
      cmocka_unit_test(operators_are_read),
      cmocka_unit_test(malformed_texts_are_refused),
      cmocka_unit_test(what_has_no_value_says_why),
      cmocka_unit_test(symbols_without_value_are_named),
      cmocka_unit_test(kinds_need_no_values),
      cmocka_unit_test(texts_read_back),
      cmocka_unit_test(nesting_is_limited),
      cmocka_unit_test(running_out_of_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
