/* SPDX-License-Identifier: Apache-2.0 */
/* Reads symbolic expressions: calls as srepr writes them, and operators as
 * Python does. One recursive descent takes both. */
#include <math.h>
#include <stdio.h>

#include "exported/symbolic.h"

/* Whatever max_depth allows: the parser recurses. */
enum { MOST_DEPTH = 1000 };

typedef const bsm_sym_expr *operand;

typedef struct parser {
  bsm_arena *arena;
  bsm_str text;
  size_t pos;
  uint64_t depth, max_depth;
  bsm_symbol_table *symbols;
} parser;

typedef BSM_VEC(operand) operand_list;

static bsm_status parse_expression(parser *p, int binds, operand *out);

static bsm_status fail_at(const parser *p, const char *what) {
  const size_t rest = p->text.len - p->pos;
  return BSM_FAIL(BSM_CORRUPT, "expression, column %zu: %s at \"%.*s\"",
                  p->pos + 1, what, (int)(rest < 20 ? rest : 20),
                  p->text.data + p->pos);
}

/* ---- nodes ---- */

static bsm_status make(parser *p, bsm_sym_op op, const operand *args,
                       size_t count, bsm_sym_expr **out) {
  bsm_sym_expr *e = BSM_NEW(p->arena, bsm_sym_expr);
  BSM_TRY_ALLOC(e);
  e->op = op;
  e->height = 1;
  e->arg_count = count;
  if (count) {
    operand *copy = BSM_NEW_ARRAY(p->arena, operand, count);
    BSM_TRY_ALLOC(copy);
    memcpy(copy, args, count * sizeof(*copy));
    e->args = copy;
  }
  for (size_t i = 0; i < count; i++) {
    if (args[i]->height >= e->height) e->height = args[i]->height + 1;
  }
  *out = e;
  if (e->height <= p->max_depth) return BSM_OK;
  return BSM_FAIL(BSM_LIMIT, "an expression nests deeper than %llu",
                  (unsigned long long)p->max_depth);
}

static bsm_status make_node(parser *p, bsm_sym_op op, const operand *args,
                            size_t count, operand *out) {
  bsm_sym_expr *e = NULL;
  *out = NULL;
  BSM_TRY(make(p, op, args, count, &e));
  *out = e;
  return BSM_OK;
}

static bsm_status make_unary(parser *p, bsm_sym_op op, operand a,
                             operand *out) {
  return make_node(p, op, &a, 1, out);
}

static bsm_status make_binary(parser *p, bsm_sym_op op, operand a, operand b,
                              operand *out) {
  return make_node(p, op, (operand[]){a, b}, 2, out);
}

static bsm_status make_leaf(parser *p, bsm_sym_op op, int64_t i, double d,
                            operand *out) {
  bsm_sym_expr *e = NULL;
  *out = NULL;
  BSM_TRY(make(p, op, NULL, 0, &e));
  e->i = i;
  e->d = d;
  *out = e;
  return BSM_OK;
}

static bsm_status make_integer(parser *p, int64_t value, operand *out) {
  return make_leaf(p, BSM_SYM_INTEGER, value, 0, out);
}

static bsm_status make_negated(parser *p, operand a, operand *out) {
  if (a->op == BSM_SYM_INTEGER && a->i != INT64_MIN) {
    return make_integer(p, -a->i, out);
  }
  if (a->op == BSM_SYM_FLOAT) return make_leaf(p, a->op, 0, -a->d, out);
  operand minus = NULL;
  BSM_TRY(make_integer(p, -1, &minus));
  return make_binary(p, BSM_SYM_MUL, minus, a, out);
}

static bsm_status make_inverse(parser *p, operand a, operand *out) {
  operand minus = NULL;
  BSM_TRY(make_integer(p, -1, &minus));
  return make_binary(p, BSM_SYM_POW, a, minus, out);
}

static bsm_status make_unknown(parser *p, bsm_str name, const operand *args,
                               size_t count, operand *out) {
  bsm_sym_expr *e = NULL;
  *out = NULL;
  BSM_TRY(make(p, BSM_SYM_UNKNOWN, args, count, &e));
  e->name = bsm_arena_strndup(p->arena, name.data, name.len);
  BSM_TRY_ALLOC(e->name);
  *out = e;
  return BSM_OK;
}

static bool is_half(operand e) {
  return e->op == BSM_SYM_POW && e->args[0]->op == BSM_SYM_INTEGER &&
         e->args[0]->i == 2 && e->args[1]->op == BSM_SYM_INTEGER &&
         e->args[1]->i == -1;
}

/* Powers of one half are roots. */
static bsm_status make_power(parser *p, operand a, operand b, operand *out) {
  if (is_half(b)) return make_unary(p, BSM_SYM_SQRT, a, out);
  return make_binary(p, BSM_SYM_POW, a, b, out);
}

/* ---- tokens ---- */

static void skip_spaces(parser *p) {
  while (p->pos < p->text.len &&
         (p->text.data[p->pos] == ' ' || p->text.data[p->pos] == '\n')) {
    p->pos++;
  }
}

static bool accept(parser *p, const char *token) {
  skip_spaces(p);
  const size_t len = strlen(token);
  if (p->text.len - p->pos < len ||
      memcmp(p->text.data + p->pos, token, len) != 0) {
    return false;
  }
  p->pos += len;
  return true;
}

static bsm_status expect(parser *p, const char *token) {
  if (accept(p, token)) return BSM_OK;
  char what[32];
  snprintf(what, sizeof(what), "'%s' is missing", token);
  return fail_at(p, what);
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         c == '_' || c == '.';
}

/* Letters, digits, dots: "s77", "torch.sym_max", "0.5". */
static bsm_str read_word(parser *p) {
  skip_spaces(p);
  const size_t start = p->pos;
  while (p->pos < p->text.len && is_word(p->text.data[p->pos])) {
    const char c = p->text.data[p->pos++];
    /* The sign of an exponent belongs to its number. */
    if ((c == 'e' || c == 'E') && is_digit(p->text.data[start]) &&
        p->pos < p->text.len &&
        (p->text.data[p->pos] == '-' || p->text.data[p->pos] == '+')) {
      p->pos++;
    }
  }
  return (bsm_str){p->text.data + start, p->pos - start};
}

static bsm_status read_quoted(parser *p, bsm_str *out) {
  skip_spaces(p);
  *out = (bsm_str){0};
  if (p->pos == p->text.len) return fail_at(p, "a string is missing");
  const char quote = p->text.data[p->pos];
  if (quote != '\'' && quote != '"') return fail_at(p, "a string is missing");
  const char *start = p->text.data + p->pos + 1;
  const char *end = memchr(start, quote, p->text.len - p->pos - 1);
  if (!end) return fail_at(p, "a string does not end");
  *out = (bsm_str){start, (size_t)(end - start)};
  p->pos += out->len + 2;
  return BSM_OK;
}

/* ---- leaves ---- */

static bsm_status parse_number(parser *p, bsm_str word, operand *out) {
  int64_t i = 0;
  double d = 0;
  if (bsm_parse_i64(word, &i)) return make_integer(p, i, out);
  if (!bsm_parse_double(word, &d)) return fail_at(p, "not a number");
  return make_leaf(p, BSM_SYM_FLOAT, 0, d, out);
}

/* An integer of any size, with its sign; one that does not fit is unknown. */
static bsm_status parse_integer(parser *p, operand *out) {
  skip_spaces(p);
  const size_t start = p->pos;
  if (p->pos < p->text.len && p->text.data[p->pos] == '-') p->pos++;
  const size_t digits = p->pos;
  while (p->pos < p->text.len && is_digit(p->text.data[p->pos])) p->pos++;
  if (p->pos == digits) return fail_at(p, "an integer is missing");
  const bsm_str word = {p->text.data + start, p->pos - start};
  int64_t value = 0;
  if (!bsm_parse_i64(word, &value)) return make_unknown(p, word, NULL, 0, out);
  return make_integer(p, value, out);
}

static bsm_status parse_float_call(parser *p, operand *out) {
  bsm_str text = {0}, word;
  double value = 0;
  BSM_TRY(read_quoted(p, &text));
  if (!bsm_parse_double(text, &value)) return fail_at(p, "not a number");
  while (accept(p, ",")) { /* precision=53 */
    word = read_word(p);
    if (!word.len || !accept(p, "=")) return fail_at(p, "not a keyword");
    read_word(p);
  }
  return make_leaf(p, BSM_SYM_FLOAT, 0, value, out);
}

static bsm_status parse_rational_call(parser *p, operand *out) {
  operand numerator = NULL, denominator = NULL;
  BSM_TRY(parse_integer(p, &numerator));
  BSM_TRY(expect(p, ","));
  BSM_TRY(parse_integer(p, &denominator));
  BSM_TRY(make_inverse(p, denominator, &denominator));
  if (numerator->op == BSM_SYM_INTEGER && numerator->i == 1) {
    *out = denominator;
    return BSM_OK;
  }
  return make_binary(p, BSM_SYM_MUL, numerator, denominator, out);
}

static bsm_status make_symbol(parser *p, bsm_str name, bool is_float,
                              operand *out) {
  if (!name.len || memchr(name.data, '\0', name.len)) {
    return fail_at(p, "a symbol without a name");
  }
  const bool is_new = bsm_symbol_find(p->symbols, name) == BSM_NO_SYMBOL;
  size_t index = 0;
  BSM_TRY(bsm_symbol_add(p->arena, p->symbols, name, &index));
  if (is_new) p->symbols->symbols.items[index].is_float = is_float;
  return make_leaf(p, BSM_SYM_SYMBOL, (int64_t)index, 0, out);
}

/* Symbol('s77', positive=True, integer=True) */
static bsm_status parse_symbol_call(parser *p, operand *out) {
  bsm_str name = {0};
  bool is_integer = false, is_real = false;
  BSM_TRY(read_quoted(p, &name));
  while (accept(p, ",")) {
    const bsm_str word = read_word(p);
    if (!word.len || !accept(p, "=")) return fail_at(p, "not a keyword");
    const bool value = bsm_str_eq(read_word(p), BSM_STR("True"));
    if (bsm_str_eq(word, BSM_STR("integer"))) is_integer = value;
    if (bsm_str_eq(word, BSM_STR("real"))) is_real = value;
  }
  return make_symbol(p, name, is_real && !is_integer, out);
}

static const struct {
  const char *name;
  bsm_sym_op op;
  double value;
} constants[] = {
    {"true", BSM_SYM_BOOL, 1},
    {"True", BSM_SYM_BOOL, 1},
    {"false", BSM_SYM_BOOL, 0},
    {"False", BSM_SYM_BOOL, 0},
    {"oo", BSM_SYM_FLOAT, INFINITY},
    {"int_oo", BSM_SYM_FLOAT, INFINITY},
    {"nan", BSM_SYM_FLOAT, NAN},
    {"zoo", BSM_SYM_FLOAT, NAN},
    {"pi", BSM_SYM_FLOAT, 0x1.921fb54442d18p+1},
    {"E", BSM_SYM_FLOAT, 0x1.5bf0a8b145769p+1},
};

static bsm_status parse_name(parser *p, bsm_str word, operand *out) {
  for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++) {
    if (bsm_str_eq(word, bsm_str_of(constants[i].name))) {
      return make_leaf(p, constants[i].op, constants[i].value == 1,
                       constants[i].value, out);
    }
  }
  /* The names that torch gives to floats. */
  return make_symbol(p, word,
                     bsm_str_starts_with(word, BSM_STR("zf")) ||
                         bsm_str_starts_with(word, BSM_STR("zuf")),
                     out);
}

/* ---- calls ---- */

typedef struct function {
  const char *name;
  bsm_sym_op op;
  uint8_t least, most; /* operands; 255: any number */
} function;

#define ANY 255
static const function functions[] = {
    {"Add", BSM_SYM_ADD, 1, ANY},
    {"Mul", BSM_SYM_MUL, 1, ANY},
    {"Pow", BSM_SYM_POW, 2, 2},
    {"PowByNatural", BSM_SYM_POW, 2, 2},
    {"FloatPow", BSM_SYM_POW, 2, 2},
    {"Max", BSM_SYM_MAX, 1, ANY},
    {"Min", BSM_SYM_MIN, 1, ANY},
    {"Abs", BSM_SYM_ABS, 1, 1},
    {"FloorDiv", BSM_SYM_FLOOR_DIV, 2, 2},
    {"CleanDiv", BSM_SYM_FLOOR_DIV, 2, 2},
    {"Mod", BSM_SYM_MOD, 2, 2},
    {"PythonMod", BSM_SYM_MOD, 2, 2},
    {"FloatTrueDiv", BSM_SYM_TRUE_DIV, 2, 2},
    {"IntTrueDiv", BSM_SYM_TRUE_DIV, 2, 2},
    {"TrueDiv", BSM_SYM_TRUE_DIV, 2, 2},
    {"floor", BSM_SYM_FLOOR, 1, 1},
    {"FloorToInt", BSM_SYM_FLOOR, 1, 1},
    {"ceiling", BSM_SYM_CEILING, 1, 1},
    {"CeilToInt", BSM_SYM_CEILING, 1, 1},
    {"TruncToInt", BSM_SYM_TRUNC, 1, 1},
    {"Trunc", BSM_SYM_TRUNC, 1, 1},
    {"RoundToInt", BSM_SYM_ROUND, 1, 1},
    {"Round", BSM_SYM_ROUND, 1, 1},
    {"RoundDecimal", BSM_SYM_ROUND_DIGITS, 2, 2},
    {"ToFloat", BSM_SYM_TO_FLOAT, 1, 1},
    {"sqrt", BSM_SYM_SQRT, 1, 1},
    {"exp", BSM_SYM_EXP, 1, 1},
    {"log", BSM_SYM_LOG, 1, 1},
    {"log2", BSM_SYM_LOG2, 1, 1},
    {"sin", BSM_SYM_SIN, 1, 1},
    {"cos", BSM_SYM_COS, 1, 1},
    {"tan", BSM_SYM_TAN, 1, 1},
    {"asin", BSM_SYM_ASIN, 1, 1},
    {"acos", BSM_SYM_ACOS, 1, 1},
    {"atan", BSM_SYM_ATAN, 1, 1},
    {"sinh", BSM_SYM_SINH, 1, 1},
    {"cosh", BSM_SYM_COSH, 1, 1},
    {"tanh", BSM_SYM_TANH, 1, 1},
    {"asinh", BSM_SYM_ASINH, 1, 1},
    {"Equality", BSM_SYM_EQ, 2, 2},
    {"Eq", BSM_SYM_EQ, 2, 2},
    {"Unequality", BSM_SYM_NE, 2, 2},
    {"Ne", BSM_SYM_NE, 2, 2},
    {"StrictLessThan", BSM_SYM_LT, 2, 2},
    {"Lt", BSM_SYM_LT, 2, 2},
    {"LessThan", BSM_SYM_LE, 2, 2},
    {"Le", BSM_SYM_LE, 2, 2},
    {"StrictGreaterThan", BSM_SYM_GT, 2, 2},
    {"Gt", BSM_SYM_GT, 2, 2},
    {"GreaterThan", BSM_SYM_GE, 2, 2},
    {"Ge", BSM_SYM_GE, 2, 2},
    {"And", BSM_SYM_AND, 0, ANY},
    {"Or", BSM_SYM_OR, 0, ANY},
    {"Not", BSM_SYM_NOT, 1, 1},
    {"Where", BSM_SYM_WHERE, 3, 3},
    {"ITE", BSM_SYM_WHERE, 3, 3},
    {"LShift", BSM_SYM_LSHIFT, 2, 2},
    {"RShift", BSM_SYM_RSHIFT, 2, 2},
    {"BitwiseFn_bitwise_and", BSM_SYM_BIT_AND, 2, 2},
    {"BitwiseFn_bitwise_or", BSM_SYM_BIT_OR, 2, 2},
    {"BitwiseFn_bitwise_xor", BSM_SYM_BIT_XOR, 2, 2},
    {"IsNonOverlappingAndDenseIndicator", BSM_SYM_IS_NON_OVERLAPPING, 0, ANY},
};

static const function *find_function(bsm_str name) {
  static const bsm_str opaque = {"OpaqueUnaryFn_", 14};
  if (bsm_str_starts_with(name, opaque)) {
    name = (bsm_str){name.data + opaque.len, name.len - opaque.len};
  }
  for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
    if (bsm_str_eq(name, bsm_str_of(functions[i].name))) return &functions[i];
  }
  return NULL;
}

/* The (value, condition) pairs of Piecewise, each parsed as a WHERE of two. */
static bsm_status make_piecewise(parser *p, const operand_list *args,
                                 operand *out) {
  operand_list flat = {0};
  for (size_t i = 0; i < args->len; i++) {
    operand pair = args->items[i];
    if (pair->op != BSM_SYM_PIECEWISE || pair->arg_count != 2) {
      return fail_at(p, "Piecewise takes pairs");
    }
    if (!bsm_vec_push(p->arena, &flat, pair->args[0]) ||
        !bsm_vec_push(p->arena, &flat, pair->args[1])) {
      return BSM_FAIL_OOM();
    }
  }
  if (!flat.len) return fail_at(p, "Piecewise without pairs");
  return make_node(p, BSM_SYM_PIECEWISE, flat.items, flat.len, out);
}

/* Functions that are made of others. */
static bsm_status make_composed(parser *p, bsm_str name,
                                const operand_list *args, bool *done,
                                operand *out) {
  operand inner = NULL;
  *done = true;
  if (bsm_str_eq(name, BSM_STR("ExprCondPair")) && args->len == 2) {
    return make_node(p, BSM_SYM_PIECEWISE, args->items, 2, out);
  }
  if (bsm_str_eq(name, BSM_STR("Piecewise"))) {
    return make_piecewise(p, args, out);
  }
  if (bsm_str_eq(name, BSM_STR("Identity")) && args->len == 1) {
    *out = args->items[0];
    return BSM_OK;
  }
  if (bsm_str_eq(name, BSM_STR("TruncToFloat")) && args->len == 1) {
    BSM_TRY(make_unary(p, BSM_SYM_TRUNC, args->items[0], &inner));
    return make_unary(p, BSM_SYM_TO_FLOAT, inner, out);
  }
  if (bsm_str_eq(name, BSM_STR("ModularIndexing")) && args->len == 3) {
    BSM_TRY(make_binary(p, BSM_SYM_FLOOR_DIV, args->items[0], args->items[1],
                        &inner));
    return make_binary(p, BSM_SYM_MOD, inner, args->items[2], out);
  }
  *done = false;
  return BSM_OK;
}

static bsm_status make_call(parser *p, bsm_str name, const operand_list *args,
                            operand *out) {
  bool done = false;
  BSM_TRY(make_composed(p, name, args, &done, out));
  if (done) return BSM_OK;
  const function *f = find_function(name);
  if (!f) return make_unknown(p, name, args->items, args->len, out);
  if (args->len < f->least || (f->most != ANY && args->len > f->most)) {
    char what[96];
    snprintf(what, sizeof(what), "%s with %zu operands", f->name, args->len);
    return fail_at(p, what);
  }
  if (f->op == BSM_SYM_POW) {
    return make_power(p, args->items[0], args->items[1], out);
  }
  return make_node(p, f->op, args->items, args->len, out);
}

static bsm_status parse_call(parser *p, bsm_str name, operand *out) {
  bsm_status (*special)(parser *, operand *) = NULL;
  if (bsm_str_eq(name, BSM_STR("Symbol"))) special = parse_symbol_call;
  if (bsm_str_eq(name, BSM_STR("Integer"))) special = parse_integer;
  if (bsm_str_eq(name, BSM_STR("Float"))) special = parse_float_call;
  if (bsm_str_eq(name, BSM_STR("Rational"))) special = parse_rational_call;
  if (special) {
    BSM_TRY(special(p, out));
    return expect(p, ")");
  }
  operand_list args = {0};
  while (!accept(p, ")")) {
    operand arg = NULL;
    if (args.len) BSM_TRY(expect(p, ","));
    BSM_TRY(parse_expression(p, 0, &arg));
    if (!bsm_vec_push(p->arena, &args, arg)) return BSM_FAIL_OOM();
  }
  return make_call(p, name, &args, out);
}

/* ---- operators ---- */

enum { BINDS_NOT = 6, BINDS_MINUS = 10, BINDS_POWER = 11 };

/* Longer ones first. Each binds its right operand one tighter. */
static const struct {
  const char *token;
  bsm_sym_op op;
  int binds;
} operators[] = {
    {"**", BSM_SYM_POW, BINDS_POWER},
    {"//", BSM_SYM_FLOOR_DIV, 9},
    {"<<", BSM_SYM_LSHIFT, 7},
    {">>", BSM_SYM_RSHIFT, 7},
    {"==", BSM_SYM_EQ, 1},
    {"!=", BSM_SYM_NE, 1},
    {"<=", BSM_SYM_LE, 1},
    {">=", BSM_SYM_GE, 1},
    {"<", BSM_SYM_LT, 1},
    {">", BSM_SYM_GT, 1},
    {"|", BSM_SYM_OR, 3},
    {"&", BSM_SYM_AND, 5},
    {"+", BSM_SYM_ADD, 8},
    {"-", BSM_SYM_ADD, 8},
    {"*", BSM_SYM_MUL, 9},
    {"/", BSM_SYM_MUL, 9},
    {"%", BSM_SYM_MOD, 9},
};

static bsm_status parse_primary(parser *p, operand *out) {
  if (accept(p, "(")) {
    BSM_TRY(parse_expression(p, 0, out));
    return expect(p, ")");
  }
  operand inner = NULL;
  if (accept(p, "-")) {
    BSM_TRY(parse_expression(p, BINDS_MINUS, &inner));
    return make_negated(p, inner, out);
  }
  if (accept(p, "~")) {
    BSM_TRY(parse_expression(p, BINDS_NOT, &inner));
    return make_unary(p, BSM_SYM_NOT, inner, out);
  }
  const bsm_str word = read_word(p);
  if (!word.len) return fail_at(p, "an expression is missing");
  if (is_digit(word.data[0]) || word.data[0] == '.') {
    return parse_number(p, word, out);
  }
  if (accept(p, "(")) return parse_call(p, word, out);
  return parse_name(p, word, out);
}

static bsm_status combine(parser *p, const char *token, bsm_sym_op op,
                          operand left, operand right, operand *out) {
  if (op == BSM_SYM_POW) return make_power(p, left, right, out);
  if (token[0] == '-') BSM_TRY(make_negated(p, right, &right));
  if (op == BSM_SYM_MUL && token[0] == '/') {
    BSM_TRY(make_inverse(p, right, &right));
  }
  return make_binary(p, op, left, right, out);
}

static bsm_status parse_operators(parser *p, int binds, operand *out) {
  BSM_TRY(parse_primary(p, out));
  for (;;) {
    size_t k = 0;
    const size_t count = sizeof(operators) / sizeof(*operators);
    const size_t before = p->pos;
    while (k < count && !accept(p, operators[k].token)) k++;
    if (k == count) return BSM_OK;
    if (operators[k].binds < binds) {
      p->pos = before;
      return BSM_OK;
    }
    operand right = NULL;
    /* Powers associate to the right, and take a minus after them. */
    const int next =
        operators[k].op == BSM_SYM_POW ? BINDS_MINUS : operators[k].binds + 1;
    BSM_TRY(parse_expression(p, next, &right));
    BSM_TRY(combine(p, operators[k].token, operators[k].op, *out, right, out));
  }
}

static bsm_status parse_expression(parser *p, int binds, operand *out) {
  *out = NULL;
  if (++p->depth > p->max_depth) {
    return BSM_FAIL(BSM_LIMIT, "an expression nests deeper than %llu",
                    (unsigned long long)p->max_depth);
  }
  const bsm_status status = parse_operators(p, binds, out);
  p->depth--;
  return status;
}

bsm_status bsm_sym_parse(bsm_arena *arena, bsm_str text,
                         const bsm_limits *limits, bsm_symbol_table *symbols,
                         const bsm_sym_expr **out) {
  parser p = {.arena = arena,
              .text = text,
              .max_depth = limits->max_depth < MOST_DEPTH ? limits->max_depth
                                                          : MOST_DEPTH,
              .symbols = symbols};
  BSM_TRY(parse_expression(&p, 0, out));
  skip_spaces(&p);
  if (p.pos == text.len) return BSM_OK;
  *out = NULL;
  return fail_at(&p, "more than an expression");
}
