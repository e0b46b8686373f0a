/* SPDX-License-Identifier: Apache-2.0 */
/* IR text that calls one operator with hostile arguments, made from its schema
 * and from bytes that choose: a fuzzer's, or a random generator's. Used by the
 * test of all operators and by the fuzz target of the same. */
#ifndef BSM_TESTS_HOSTILE_OP_TEXT_H_
#define BSM_TESTS_HOSTILE_OP_TEXT_H_

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"

/* Choices: `data` first, then those of a generator (seed 0: always 0). */
typedef struct op_choices {
  const uint8_t *data;
  size_t size, at;
  uint64_t seed;
} op_choices;

static inline uint32_t op_choose(op_choices *c, uint32_t below) {
  if (c->at < c->size) return c->data[c->at++] % below;
  if (!c->seed) return 0;
  c->seed = c->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(c->seed >> 33) % below;
}

enum {
  OP_TEXT_SIZE = 8192,
  OP_MAX_TENSORS = 12,
  OP_TENSOR_ELEMENTS = 512,
  OP_MAX_ARGS = 40
};

/* The text, and a spec and memory for each of its tensor inputs: constant
 * tensors fold, the others are given when the engine runs. */
typedef struct op_text {
  char text[OP_TEXT_SIZE];
  size_t length;
  bool overflow;
  size_t values; /* names given so far */
  bsm_input_spec specs[OP_MAX_TENSORS];
  bsm_array arrays[OP_MAX_TENSORS];
  int64_t memory[OP_MAX_TENSORS][OP_TENSOR_ELEMENTS];
  size_t tensors;
} op_text;

static inline void op_put(op_text *t, const char *format, ...) BSM_PRINTF(2, 3);
static inline void op_put(op_text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n =
      vsnprintf(t->text + t->length, sizeof(t->text) - t->length, format, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof(t->text) - t->length) {
    t->overflow = true;
  } else {
    t->length += (size_t)n;
  }
}

static inline int64_t op_int(op_choices *c) {
  static const int64_t odd[] = {0,
                                -1,
                                1,
                                2,
                                3,
                                4,
                                5,
                                7,
                                8,
                                -2,
                                -3,
                                12,
                                13,
                                64,
                                127,
                                128,
                                255,
                                -128,
                                1000,
                                65536,
                                INT32_MAX,
                                INT32_MIN,
                                1LL << 31,
                                1LL << 32,
                                1LL << 40,
                                (1LL << 42) + 1,
                                1LL << 61,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MAX - 1,
                                INT64_MIN + 1,
                                99};
  /* Half of them sane, so that the first check is not always the last. */
  if (op_choose(c, 4) < 2) return op_choose(c, 4);
  return odd[op_choose(c, sizeof(odd) / sizeof(odd[0]))];
}

static inline const char *op_float(op_choices *c) {
  static const char *const values[] = {
      "0.",  "1.",    "-1.",   "0.5", "nan",  "inf",   "-inf", "1e-40",
      "-0.", "1e308", "1e-45", "2.",  "1e19", "-1e19", "3.5",  "9.3e18"};
  return values[op_choose(c, 16)];
}

/* A tensor of a choice of dtype, dims and elements. */
static inline size_t op_tensor(op_text *t, op_choices *c) {
  static const bsm_dtype dtypes[] = {
      BSM_DTYPE_FLOAT, BSM_DTYPE_FLOAT,  BSM_DTYPE_FLOAT, BSM_DTYPE_INT64,
      BSM_DTYPE_INT64, BSM_DTYPE_BOOL,   BSM_DTYPE_INT32, BSM_DTYPE_UINT8,
      BSM_DTYPE_HALF,  BSM_DTYPE_DOUBLE, BSM_DTYPE_INT8,  BSM_DTYPE_BFLOAT16};
  static const int64_t sizes[] = {1, 2, 3, 4, 2, 4, 0, 5};
  static const int32_t ranks[] = {2, 1, 3, 4, 0, 5, 2, 4, 3, 2, 1, 12};
  const size_t i = t->tensors;
  if (i >= OP_MAX_TENSORS) return op_choose(c, OP_MAX_TENSORS);
  t->tensors++;
  bsm_input_spec *spec = &t->specs[i];
  bsm_array *array = &t->arrays[i];
  *spec = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  spec->kind = op_choose(c, 2) ? BSM_INPUT_CONSTANT_TENSOR : BSM_INPUT_TENSOR;
  spec->dtype = dtypes[op_choose(c, sizeof(dtypes) / sizeof(dtypes[0]))];
  spec->rank = ranks[op_choose(c, sizeof(ranks) / sizeof(ranks[0]))];
  int64_t count = 1;
  for (int32_t d = 0; d < spec->rank; d++) {
    spec->min[d] = sizes[op_choose(c, 8)];
    if (count * spec->min[d] > OP_TENSOR_ELEMENTS) spec->min[d] = 1;
    count *= spec->min[d];
  }
  *array = (bsm_array){t->memory[i], spec->dtype, {spec->rank, {0}}, NULL};
  memcpy(array->dims.d, spec->min, sizeof(spec->min));
  spec->array = array;
  const uint32_t fill = op_choose(c, 4);
  for (size_t k = 0; k < OP_TENSOR_ELEMENTS; k++) {
    if (spec->dtype == BSM_DTYPE_BOOL) {
      t->memory[i][k] = fill ? 0x0100010100000101 : 0;
    } else {
      t->memory[i][k] = fill == 0   ? 0
                        : fill == 1 ? op_int(c)
                        : fill == 2 ? (int64_t)k - 1
                                    : -1;
    }
  }
  return i;
}

/* The text between `at` and the next of `stops` outside brackets. */
static inline size_t op_part(const char *at, const char *stops) {
  int depth = 0;
  size_t n = 0;
  for (; at[n]; n++) {
    if (depth == 0 && strchr(stops, at[n])) break;
    if (at[n] == '(' || at[n] == '[' || at[n] == '{') depth++;
    if (at[n] == ')' || at[n] == ']' || at[n] == '}') depth--;
    if (at[n] == '"') {
      for (n++; at[n] && at[n] != '"'; n++) continue;
      if (!at[n]) break;
    }
  }
  return n;
}

static inline size_t op_new_value(op_text *t, const char *type) {
  op_put(t, "  %%v%zu : %s = ", t->values, type);
  return t->values++;
}

static inline size_t op_int_constant(op_text *t, op_choices *c) {
  const size_t v = op_new_value(t, "int");
  op_put(t, "prim::Constant[value=%" PRId64 "]()\n", op_int(c));
  return v;
}

static inline void op_numbers(op_text *t, op_choices *c, const char *type,
                              uint32_t wanted) {
  static const uint32_t lengths[] = {2, 1, 0, 3, 4, 13, 2, 1};
  const uint32_t n =
      wanted && op_choose(c, 4) ? wanted : lengths[op_choose(c, 8)];
  op_put(t, "prim::Constant[value=[");
  for (uint32_t i = 0; i < n; i++) {
    op_put(t, "%s", i ? ", " : "");
    if (type[0] == 'f') {
      op_put(t, "%s", op_float(c));
    } else if (type[0] == 'b') {
      op_put(t, "%" PRIu32, op_choose(c, 2));
    } else {
      op_put(t, "%" PRId64, op_int(c));
    }
  }
  op_put(t, "]]()\n");
}

/* Writes the name of a tensor value into `name`. */
static inline void op_tensor_name(op_text *t, op_choices *c, char *name) {
  snprintf(name, 16, "%%t%zu", op_tensor(t, c));
}

static inline void op_tensor_list(op_text *t, op_choices *c, bool optional,
                                  char *name) {
  char items[3][16];
  const uint32_t n = op_choose(c, 4);
  for (uint32_t i = 0; i < n; i++) {
    if (optional && op_choose(c, 2)) {
      const size_t none = op_new_value(t, "NoneType");
      op_put(t, "prim::Constant()\n");
      snprintf(items[i], 16, "%%v%zu", none);
    } else {
      op_tensor_name(t, c, items[i]);
    }
  }
  const size_t v = op_new_value(t, optional ? "Tensor?[]" : "Tensor[]");
  op_put(t, "prim::ListConstruct(");
  for (uint32_t i = 0; i < n; i++) op_put(t, "%s%s", i ? ", " : "", items[i]);
  op_put(t, ")\n");
  snprintf(name, 16, "%%v%zu", v);
}

static inline void op_string(op_text *t, op_choices *c) {
  static const char *const texts[] = {
      "",        "none",   "tanh",        "mean",  "constant", "reflect",
      "floor",   "trunc",  "sum",         "ij,jk", "bilinear", "zeros",
      "%s%n{}{", "ii->ij", "abc...->...", "->->,"};
  op_put(t, "prim::Constant[value=\"%s\"]()\n", texts[op_choose(c, 16)]);
}

/* Declares a value for an argument of this type; its name goes to `name`.
 * Types that are not known get None: that is hostile too. */
static inline void op_argument(op_text *t, op_choices *c, const char *type,
                               char *name) {
  const size_t length = strlen(type);
  const bool optional = length && type[length - 1] == '?';
  const bool list = strchr(type, '[') != NULL;
  const char *bracket = strchr(type, '[');
  const uint32_t wanted = bracket && bracket[1] >= '1' && bracket[1] <= '9'
                              ? (uint32_t)(bracket[1] - '0')
                              : 0;
  const uint32_t kind = op_choose(c, 16);
  if (kind == 0 || (optional && kind < 6)) type = "None";
  if (kind == 1) type = op_choose(c, 2) ? "int" : "Tensor"; /* a wrong one */
  if (strncmp(type, "Tensor", 6) == 0 || type[0] == 't') {
    if (list) {
      op_tensor_list(t, c, strncmp(type, "Tensor?", 7) == 0, name);
    } else {
      op_tensor_name(t, c, name);
    }
    return;
  }
  size_t v;
  if (strncmp(type, "float", 5) == 0 ||
      (strncmp(type, "Scalar", 6) == 0 && type[6] != 'T' && (kind & 1))) {
    v = op_new_value(t, list ? "float[]" : "float");
    if (list) op_numbers(t, c, "float", wanted);
    if (!list) op_put(t, "prim::Constant[value=%s]()\n", op_float(c));
  } else if (strncmp(type, "int", 3) == 0 || strncmp(type, "SymInt", 6) == 0 ||
             strncmp(type, "Scalar", 6) == 0 || type[0] == 'L' ||
             type[0] == 'M') {
    if (list) {
      v = op_new_value(t, "int[]");
      op_numbers(t, c, "int", wanted);
    } else {
      v = op_int_constant(t, c);
    }
  } else if (strncmp(type, "bool", 4) == 0) {
    v = op_new_value(t, list ? "bool[]" : "bool");
    if (list) op_numbers(t, c, "bool", wanted);
    if (!list) op_put(t, "prim::Constant[value=%u]()\n", op_choose(c, 2));
  } else if (strncmp(type, "str", 3) == 0) {
    v = op_new_value(t, "str");
    op_string(t, c);
  } else if (strncmp(type, "Device", 6) == 0) {
    v = op_new_value(t, "Device");
    op_put(t, "prim::Constant[value=\"cpu\"]()\n");
  } else {
    v = op_new_value(t, "NoneType");
    op_put(t, "prim::Constant()\n");
  }
  snprintf(name, 16, "%%v%zu", v);
}

/* The type in front of an argument's name, without alias marks. */
static inline void op_argument_type(const char *at, size_t n, char *type) {
  size_t k = 0;
  for (size_t i = 0; i < n && at[i] != ' ' && k < 30; i++) {
    if (at[i] == '(') {
      while (i < n && at[i] != ')') i++;
    } else {
      type[k++] = at[i];
    }
  }
  type[k] = 0;
}

/* Declares the results of the call; returns how many. */
static inline size_t op_results(op_text *t, const char *schema) {
  const char *arrow = strstr(schema, "-> ");
  if (!arrow) return 0;
  arrow += 3;
  const bool tuple = arrow[0] == '(';
  if (tuple) arrow++;
  size_t count = 0;
  while (*arrow && *arrow != ')') {
    char type[32];
    const size_t n = op_part(arrow, tuple ? ",)" : ",");
    op_argument_type(arrow, n, type);
    op_put(t, "%s%%o%zu : %s", count ? ", " : "", count, type);
    count++;
    arrow += n;
    while (*arrow == ',' || *arrow == ' ') arrow++;
  }
  if (count) op_put(t, " = ");
  return count;
}

/* Makes the text; false when it is too long or the schema has varargs. */
static inline bool op_text_make(op_text *t, const char *schema, op_choices *c) {
  char names[OP_MAX_ARGS][16];
  char body[OP_TEXT_SIZE];
  t->length = t->values = t->tensors = 0;
  t->overflow = false;
  const char *open = strchr(schema, '(');
  if (!open) return false;
  size_t args = 0;
  for (const char *at = open + 1; *at && *at != ')' && args < OP_MAX_ARGS;) {
    const size_t n = op_part(at, ",)");
    if (n == 3 && strncmp(at, "...", 3) == 0) return false;
    if (!(n == 1 && at[0] == '*')) {
      char type[32];
      op_argument_type(at, n, type);
      op_argument(t, c, type, names[args++]);
    }
    at += n;
    while (*at == ',' || *at == ' ') at++;
  }
  /* Now and then the wrong number of arguments. */
  const uint32_t arity = op_choose(c, 24);
  if (arity == 1 && args > 0) args--;
  if (arity == 2 && args > 0 && args < OP_MAX_ARGS) {
    memcpy(names[args], names[0], 16);
    args++;
  }
  op_put(t, "  ");
  const size_t results = op_results(t, schema);
  op_put(t, "%.*s(", (int)strcspn(schema, ".("), schema);
  for (size_t i = 0; i < args; i++) op_put(t, "%s%s", i ? ", " : "", names[i]);
  op_put(t, ")\n  return (");
  for (size_t i = 0; i < results; i++) op_put(t, "%s%%o%zu", i ? ", " : "", i);
  op_put(t, ")\n");
  if (t->overflow) return false;
  memcpy(body, t->text, t->length + 1);
  t->length = 0;
  op_put(t, "graph(");
  for (size_t i = 0; i < t->tensors; i++) {
    op_put(t, "%s%%t%zu : Tensor", i ? ", " : "", i);
  }
  op_put(t, "):\n%s", body);
  return !t->overflow;
}

#endif /* BSM_TESTS_HOSTILE_OP_TEXT_H_ */
