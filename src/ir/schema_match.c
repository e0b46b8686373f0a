/* SPDX-License-Identifier: Apache-2.0 */
/* Overload resolution: see schema_match.h for the rules. */
#include "ir/schema_match.h"

/* Why a schema does not fit, formatted only when someone will read it. */
typedef struct matcher {
  const bsm_match_call *call;
  const bsm_schema *schema;
  bool conversions;
  bsm_type_env env;
  bsm_text *why; /* NULL: nobody reads it */
  bool out_of_memory;
} matcher;

static void explain(matcher *m, const char *text, const bsm_schema_arg *arg) {
  if (!m->why) return;
  bsm_text_puts(m->why, text);
  if (arg) bsm_text_printf(m->why, " '%s'", arg->name);
}

static void explain_type(matcher *m, const bsm_schema_arg *arg,
                         const bsm_type *actual) {
  if (!m->why) return;
  bsm_text_printf(m->why, "argument '%s' wants ", arg->name);
  bsm_type_print(m->why, arg->type, BSM_TYPE_STYLE_IR);
  bsm_text_puts(m->why, ", not ");
  bsm_type_print(m->why, actual, BSM_TYPE_STYLE_IR);
}

static const bsm_type *unwrap_optional(const bsm_type *type) {
  return type->kind == BSM_TYPE_OPTIONAL ? type->args[0] : type;
}

static bsm_match_value *new_values(matcher *m, size_t count) {
  bsm_match_value *values =
      BSM_NEW_ARRAY(m->call->arena, bsm_match_value, count ? count : 1);
  if (!values) m->out_of_memory = true;
  return values;
}

/* `value` wrapped into an operation over it. */
static bool wrap(matcher *m, bsm_match_value *value, bsm_match_op op,
                 const char *call, const bsm_type *type) {
  bsm_match_value *items = new_values(m, 1);
  if (!items) return false;
  items[0] = *value;
  *value = (bsm_match_value){
      .op = op, .call = call, .type = type, .items = items, .item_count = 1};
  return true;
}

/* ---- one value to one type ---- */

/* Whether `type` is a list that fits, or a tuple whose elements all do. */
static bool convertible_to_list(const bsm_type *type, const bsm_type *list) {
  if (list->kind != BSM_TYPE_LIST) return false;
  if (bsm_type_is_subtype(type, list)) return true;
  if (type->kind != BSM_TYPE_TUPLE) return false;
  for (size_t i = 0; i < type->arg_count; i++) {
    if (!bsm_type_is_subtype(type->args[i], list->args[0])) return false;
  }
  return true;
}

static bool is_truth_for_number(const bsm_type *from, const bsm_type *to) {
  return from->kind == BSM_TYPE_BOOL &&
         unwrap_optional(to)->kind == BSM_TYPE_NUMBER;
}

/* The operator that turns a value of type `from` into `to`, or NULL. */
static const char *conversion_of(const bsm_type *from, const bsm_type *to) {
  if (from->kind == BSM_TYPE_TENSOR) {
    if (to->kind == BSM_TYPE_FLOAT) return "aten::FloatImplicit";
    if (to->kind == BSM_TYPE_COMPLEX) return "aten::ComplexImplicit";
    if (to->kind == BSM_TYPE_INT) return "aten::IntImplicit";
    if (to->kind == BSM_TYPE_NUMBER) return "aten::ScalarImplicit";
  } else if (from->kind == BSM_TYPE_NUMBER) {
    if (to->kind == BSM_TYPE_FLOAT) return "aten::Float.Scalar";
    if (to->kind == BSM_TYPE_COMPLEX) return "aten::Complex.Scalar";
    if (to->kind == BSM_TYPE_INT) return "aten::Int.Scalar";
  } else if (from->kind == BSM_TYPE_BOOL) {
    if (to->kind == BSM_TYPE_INT || to->kind == BSM_TYPE_NUMBER) {
      return "aten::Int.bool";
    }
  } else if (from->kind == BSM_TYPE_STRING && to->kind == BSM_TYPE_DEVICE) {
    return "aten::device";
  }
  return NULL;
}

/* What a conversion makes. */
static const bsm_type *converted_type(bsm_type_table *types,
                                      const bsm_type *from,
                                      const bsm_type *to) {
  return from->kind == BSM_TYPE_BOOL ? bsm_type_simple(types, BSM_TYPE_INT)
                                     : to;
}

static bool convert_value(matcher *m, bsm_match_value *value, bool empty_list,
                          const bsm_type *to);

/* A tuple becomes a tuple of converted elements. */
static bool convert_tuple(matcher *m, bsm_match_value *value,
                          const bsm_type *to) {
  const bsm_type *from = value->type;
  size_t n = from->arg_count;
  bsm_match_value *items = new_values(m, n + 1);
  const bsm_type **types =
      BSM_NEW_ARRAY(m->call->arena, const bsm_type *, n + 1);
  if (!items || !types) {
    m->out_of_memory = true;
    return false;
  }
  items[0] = *value;
  for (size_t i = 0; i < n; i++) {
    items[i + 1] = (bsm_match_value){
        .op = BSM_MATCH_ELEMENT, .index = i, .type = from->args[i]};
    if (!convert_value(m, &items[i + 1], false, to->args[i])) return false;
    types[i] = items[i + 1].type;
  }
  *value = (bsm_match_value){.op = BSM_MATCH_TUPLE,
                             .type = bsm_type_tuple(m->call->types, types, n),
                             .items = items,
                             .item_count = n + 1};
  if (!value->type) m->out_of_memory = true;
  return value->type != NULL;
}

/* Makes `value` one of type `to` as far as the rules allow. What is left is
 * decided by subtyping. False only when out of memory. */
static bool convert_value(matcher *m, bsm_match_value *value, bool empty_list,
                          const bsm_type *to) {
  if (to->kind == BSM_TYPE_OPTIONAL && value->type->kind != BSM_TYPE_OPTIONAL &&
      value->type->kind != BSM_TYPE_NONE) {
    to = to->args[0];
  }
  if (empty_list && to->kind == BSM_TYPE_LIST) {
    *value = (bsm_match_value){.op = BSM_MATCH_LIST, .type = to};
    return true;
  }
  if (value->type->kind == BSM_TYPE_TUPLE) {
    const bsm_type *list = unwrap_optional(to);
    if (convertible_to_list(value->type, list)) {
      if (!wrap(m, value, BSM_MATCH_TUPLE_TO_LIST, NULL, list)) return false;
    } else if (to->kind == BSM_TYPE_TUPLE &&
               to->arg_count == value->type->arg_count &&
               !bsm_type_is_subtype(value->type, to)) {
      return convert_tuple(m, value, to);
    }
  }
  const char *call = m->conversions ? conversion_of(value->type, to) : NULL;
  if (!call) return true;
  return wrap(m, value, BSM_MATCH_CALL, call,
              converted_type(m->call->types, value->type, to));
}

/* int for int[N], float for float[N]: a list of N times the value. */
static bool repeat_value(matcher *m, const bsm_schema_arg *arg,
                         bsm_match_value *value) {
  const bsm_type *list = unwrap_optional(arg->type);
  if (list->kind != BSM_TYPE_LIST || list->size <= 0 ||
      (value->type->kind != BSM_TYPE_INT &&
       value->type->kind != BSM_TYPE_FLOAT) ||
      list->args[0]->kind != value->type->kind) {
    return true;
  }
  size_t n = (size_t)list->size;
  bsm_match_value *items = new_values(m, n);
  if (!items) return false;
  for (size_t i = 0; i < n; i++) items[i] = *value;
  *value = (bsm_match_value){.op = BSM_MATCH_LIST,
                             .type = bsm_type_list(m->call->types, value->type),
                             .items = items,
                             .item_count = n};
  if (!value->type) m->out_of_memory = true;
  return value->type != NULL;
}

/* The argument `index` for the formal `arg`; false with the reason explained
 * when it does not fit. */
static bool match_arg(matcher *m, const bsm_schema_arg *arg, size_t index,
                      bsm_match_value *out) {
  const bsm_match_arg *actual = &m->call->args[index];
  *out = (bsm_match_value){
      .op = BSM_MATCH_ACTUAL, .index = index, .type = actual->type};
  if (!repeat_value(m, arg, out)) return false;
  if (!bsm_type_match_vars(m->call->types, arg->type, out->type, &m->env)) {
    explain_type(m, arg, actual->type);
    return false;
  }
  const bsm_type *to = bsm_type_eval_vars(m->call->types, arg->type, &m->env);
  if (!to) {
    explain(m, "nothing tells the type of argument", arg);
    return false;
  }
  if (m->call->truth_is_number && is_truth_for_number(out->type, to)) {
    return true;
  }
  if (!convert_value(m, out, actual->empty_list, to)) return false;
  if (!bsm_type_is_subtype(out->type, to)) {
    explain_type(m, arg, actual->type);
    return false;
  }
  return true;
}

/* ---- one schema ---- */

/* Schemas that PyTorch never resolves to: they cannot be told from others when
 * a ScalarType is an int. */
static bool is_blocked(const bsm_schema *schema) {
  static const char *const blocked[] = {
      "aten::view.dtype", "aten::max.unary_out", "aten::min.unary_out"};
  for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++) {
    if (strcmp(schema->qualified, blocked[i]) == 0) return true;
  }
  return false;
}

/* Whether the formal may take all remaining positional arguments as a list. */
static bool takes_varargs(const matcher *m, size_t formal) {
  const bsm_schema *s = m->schema;
  const bsm_type *type = s->args[formal].type;
  bool last = formal + 1 == s->arg_count || s->args[formal + 1].kwarg_only;
  return m->conversions && last && type->kind == BSM_TYPE_LIST &&
         type->size <= 0 && type->args[0]->kind != BSM_TYPE_VAR;
}

/* The arguments [from, to) as one list for the formal `arg`. */
static bool collect_list(matcher *m, const bsm_schema_arg *arg, size_t from,
                         size_t to, bsm_match_value *out) {
  bsm_schema_arg elem = *arg;
  elem.type = arg->type->args[0];
  bsm_match_value *items = new_values(m, to - from);
  if (!items) return false;
  for (size_t i = from; i < to; i++) {
    if (!match_arg(m, &elem, i, &items[i - from])) return false;
  }
  *out = (bsm_match_value){.op = BSM_MATCH_LIST,
                           .type = bsm_type_list(m->call->types, elem.type),
                           .items = items,
                           .item_count = to - from};
  if (!out->type) m->out_of_memory = true;
  return out->type != NULL;
}

/* The keyword argument for a formal's name, or arg_count. */
static size_t find_keyword(const matcher *m, const char *name,
                           size_t positional) {
  bool self = strcmp(name, "self") == 0 &&
              strncmp(m->schema->name, "aten::", strlen("aten::")) == 0;
  for (size_t i = positional; i < m->call->arg_count; i++) {
    const char *given = m->call->args[i].name;
    if (!given) continue;
    if (strcmp(given, name) == 0 || (self && strcmp(given, "input") == 0)) {
      return i;
    }
  }
  return m->call->arg_count;
}

static size_t count_positional(const bsm_match_call *call) {
  size_t n = 0;
  while (n < call->arg_count && !call->args[n].name) n++;
  return n;
}

/* Walks the formals; the number of positional arguments used goes to *used. */
static bool match_formals(matcher *m, size_t positional, bool *used_keyword,
                          bsm_match_value *inputs, size_t *used) {
  *used = 0;
  for (size_t i = 0; i < m->schema->arg_count; i++) {
    const bsm_schema_arg *arg = &m->schema->args[i];
    if (!arg->kwarg_only && *used < positional) {
      const bsm_type *actual = m->call->args[*used].type;
      if (takes_varargs(m, i) && actual->kind != BSM_TYPE_LIST &&
          !convertible_to_list(actual, arg->type)) {
        if (!collect_list(m, arg, *used, positional, &inputs[i])) return false;
        *used = positional;
      } else if (!match_arg(m, arg, (*used)++, &inputs[i])) {
        return false;
      }
      continue;
    }
    size_t keyword = find_keyword(m, arg->name, positional);
    if (keyword < m->call->arg_count) {
      if (used_keyword[keyword]) {
        explain(m, "two formals take keyword", arg);
        return false;
      }
      used_keyword[keyword] = true;
      if (!match_arg(m, arg, keyword, &inputs[i])) return false;
    } else if (arg->has_default) {
      inputs[i] = (bsm_match_value){
          .op = BSM_MATCH_DEFAULT, .index = i, .type = arg->type};
    } else {
      explain(m, "no value for argument", arg);
      return false;
    }
  }
  return true;
}

/* The types of the results, for what the variables were bound to. */
static const bsm_type **return_types(bsm_type_table *types, bsm_arena *arena,
                                     const bsm_schema *schema,
                                     const bsm_type_env *env) {
  const bsm_type **out =
      BSM_NEW_ARRAY(arena, const bsm_type *, schema->return_count + 1);
  if (!out) return NULL;
  for (size_t i = 0; i < schema->return_count; i++) {
    out[i] = bsm_type_eval_vars_or_tensor(types, schema->returns[i].type, env);
    if (!out[i]) return NULL;
  }
  return out;
}

/* The match of m->schema; false when it does not fit or memory is out. */
static bool match_schema(matcher *m, bsm_schema_match *out) {
  const bsm_match_call *call = m->call;
  const bsm_schema *schema = m->schema;
  size_t positional = count_positional(call), used;
  size_t room = schema->arg_count + (schema->is_vararg ? positional : 0);
  /* Most attempts fail: they should leave nothing in the arena. */
  enum { FEW = 32 };
  bsm_match_value few_inputs[FEW], *inputs = few_inputs;
  bool few_keywords[FEW] = {false}, *used_keyword = few_keywords;
  if (room > FEW) inputs = new_values(m, room);
  if (call->arg_count > FEW) {
    used_keyword = BSM_NEW_ARRAY(call->arena, bool, call->arg_count);
  }
  if (!inputs || !used_keyword) {
    m->out_of_memory = true;
    return false;
  }
  if (!match_formals(m, positional, used_keyword, inputs, &used)) return false;
  size_t count = schema->arg_count;
  for (; schema->is_vararg && used < positional; used++) {
    inputs[count++] = (bsm_match_value){
        .op = BSM_MATCH_ACTUAL, .index = used, .type = call->args[used].type};
  }
  if (used < positional) {
    if (m->why) {
      bsm_text_printf(m->why, "takes %zu positional arguments, not %zu", used,
                      positional);
    }
    return false;
  }
  for (size_t i = positional; i < call->arg_count; i++) {
    if (!used_keyword[i]) {
      if (m->why) {
        const char *name = call->args[i].name;
        bsm_text_printf(m->why, "has no argument '%s'", name ? name : "");
      }
      return false;
    }
  }
  if (inputs == few_inputs) {
    inputs = new_values(m, count);
    if (!inputs) return false;
    memcpy(inputs, few_inputs, count * sizeof *inputs);
  }
  *out = (bsm_schema_match){
      .schema = schema, .inputs = inputs, .input_count = count};
  out->return_types = return_types(call->types, call->arena, schema, &m->env);
  if (!out->return_types) m->out_of_memory = true;
  return out->return_types != NULL;
}

static bsm_status try_schema(const bsm_match_call *call,
                             const bsm_schema *schema, bool conversions,
                             bsm_text *why, bsm_schema_match *out,
                             bool *matched) {
  *matched = false;
  if (is_blocked(schema)) {
    if (why) bsm_text_puts(why, "is never chosen");
    return BSM_OK;
  }
  matcher m = {
      .call = call, .schema = schema, .conversions = conversions, .why = why};
  *matched = match_schema(&m, out);
  if (m.out_of_memory) return BSM_FAIL_OOM();
  return BSM_OK;
}

bsm_status bsm_schema_match_one(const bsm_match_call *call,
                                const bsm_schema *schema, bool conversions,
                                bsm_schema_match *out, bool *matched) {
  return try_schema(call, schema, conversions, NULL, out, matched);
}

/* ---- many schemas ---- */

/* The failure that lists the candidates and why each does not fit. */
static bsm_status no_match(const bsm_match_call *call,
                           const bsm_schema *const *candidates, size_t count) {
  bsm_text text;
  bsm_text_init(&text, call->arena);
  bsm_text_puts(&text, "(");
  for (size_t i = 0; i < call->arg_count; i++) {
    if (i) bsm_text_puts(&text, ", ");
    if (call->args[i].name) bsm_text_printf(&text, "%s=", call->args[i].name);
    bsm_type_print(&text, call->args[i].type, BSM_TYPE_STYLE_IR);
  }
  bsm_text_puts(&text, "):");
  enum { SHOWN = 12 };
  for (size_t i = 0; i < count && i < SHOWN; i++) {
    bsm_schema_match match;
    bool matched;
    bsm_text_printf(&text, "\n  %s\n    ", candidates[i]->text);
    BSM_TRY(try_schema(call, candidates[i], true, &text, &match, &matched));
  }
  if (count > SHOWN) {
    bsm_text_printf(&text, "\n  and %zu more", count - SHOWN);
  }
  if (text.failed) return BSM_FAIL_OOM();
  return BSM_FAIL(BSM_UNSUPPORTED, "no overload of %s fits the arguments %s",
                  count ? candidates[0]->name : "the operator", text.data);
}

bsm_status bsm_schema_match_overloads(const bsm_match_call *call,
                                      const bsm_schema *const *candidates,
                                      size_t candidate_count,
                                      bsm_schema_match *out) {
  /* A single candidate is tried with conversions at once. */
  for (int pass = candidate_count == 1; pass < 2; pass++) {
    for (size_t i = 0; i < candidate_count; i++) {
      bool matched;
      BSM_TRY(try_schema(call, candidates[i], pass == 1, NULL, out, &matched));
      if (matched) return BSM_OK;
    }
  }
  return no_match(call, candidates, candidate_count);
}

bsm_status bsm_schema_match_name(const bsm_match_call *call,
                                 bsm_schema_table *schemas, bsm_str name,
                                 bsm_schema_match *out) {
  const bsm_schema *const *candidates;
  size_t count;
  BSM_TRY(bsm_schema_table_overloads(schemas, name, &candidates, &count));
  if (count == 0) {
    return BSM_FAIL(BSM_NOT_FOUND, "unknown operator '%.*s'",
                    (int)(name.len < 200 ? name.len : 200), name.data);
  }
  return bsm_schema_match_overloads(call, candidates, count, out);
}

/* ---- complete nodes ---- */

static bool node_fits(bsm_type_table *table, const bsm_schema *schema,
                      const bsm_type *const *types, size_t count,
                      bool truth_is_number, bsm_type_env *env) {
  if (count < schema->arg_count ||
      (count > schema->arg_count && !schema->is_vararg)) {
    return false;
  }
  for (size_t i = 0; i < schema->arg_count; i++) {
    const bsm_type *formal = schema->args[i].type;
    const bsm_type *actual = types[i];
    /* None binds no variable, and yet fits T? for any T. */
    bool none =
        formal->kind == BSM_TYPE_OPTIONAL && actual->kind == BSM_TYPE_NONE;
    if (!none && !bsm_type_match_vars(table, formal, actual, env)) {
      return false;
    }
    const bsm_type *to = bsm_type_eval_vars(table, formal, env);
    if (!bsm_type_is_subtype(actual, to ? to : formal) &&
        !(truth_is_number && is_truth_for_number(actual, formal))) {
      return false;
    }
  }
  return true;
}

bsm_status bsm_schema_match_node(bsm_type_table *table, bsm_arena *arena,
                                 const bsm_type *const *types, size_t count,
                                 const bsm_schema *const *candidates,
                                 size_t candidate_count, const bsm_schema **out,
                                 const bsm_type ***returns) {
  *out = NULL;
  for (size_t k = 0; k < 2 * candidate_count; k++) {
    const bsm_schema *candidate = candidates[k % candidate_count];
    bsm_type_env env = {.count = 0};
    if (candidate_count > 1 && is_blocked(candidate)) continue;
    if (!node_fits(table, candidate, types, count, k >= candidate_count,
                   &env)) {
      continue;
    }
    *out = candidate;
    if (returns) {
      *returns = return_types(table, arena, candidate, &env);
      BSM_TRY_ALLOC(*returns);
    }
    break;
  }
  return BSM_OK;
}
