/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: operators, functions, methods, constructors. */
#include <inttypes.h>

#include "torchscript/op_aliases.h"
#include "torchscript/script_emit.h"
#include "torchscript/upgraders.h"

/* ---- arguments ---- */

static void set_arg(bsm_se_args *args, size_t index, const char *name,
                    bsm_value *value) {
  args->values[index] = value;
  args->args[index] = (bsm_match_arg){.name = name, .type = value->type};
}

/* A bare [] has no type of its own: as an argument it fits any list. Once it
 * has a name it is a list of tensors. */
static bool is_bare_list(const bsm_expr *expr) {
  return expr->kind == BSM_EXPR_LIST && expr->item_count == 0;
}

static bsm_status add_arg(bsm_script_emitter *e, const bsm_expr *expr,
                          const char *name, size_t index, bsm_se_args *args) {
  bsm_value *value = NULL;
  BSM_TRY(bsm_se_value(e, expr, NULL, &value));
  set_arg(args, index, name, value);
  args->args[index].empty_list = is_bare_list(expr);
  return BSM_OK;
}

static bsm_status new_args(bsm_script_emitter *e, size_t count,
                           bsm_se_args *out) {
  out->count = count;
  out->args = BSM_NEW_ARRAY(e->arena, bsm_match_arg, count + 1);
  out->values = BSM_NEW_ARRAY(e->arena, bsm_value *, count + 1);
  BSM_TRY_ALLOC(out->args && out->values);
  return BSM_OK;
}

bsm_status bsm_se_pack(bsm_script_emitter *e, bsm_value *const *values,
                       size_t count, bsm_se_args *out) {
  BSM_TRY(new_args(e, count, out));
  for (size_t i = 0; i < count; i++) set_arg(out, i, NULL, values[i]);
  return BSM_OK;
}

bsm_status bsm_se_gather(bsm_script_emitter *e, const bsm_expr *call,
                         bsm_value *self, bsm_se_args *out) {
  const size_t positional = call->item_count - 1;
  size_t at = 0;
  BSM_TRY(new_args(e, (self ? 1 : 0) + positional + call->keyword_count, out));
  if (self) set_arg(out, at++, NULL, self);
  for (size_t i = 0; i < positional; i++) {
    BSM_TRY(add_arg(e, call->items[1 + i], NULL, at++, out));
  }
  for (size_t i = 0; i < call->keyword_count; i++) {
    const bsm_keyword *keyword = &call->keywords[i];
    BSM_TRY(add_arg(e, keyword->value, keyword->name, at++, out));
  }
  return BSM_OK;
}

/* ---- integral floats ---- */

/* The serializer prints a float with an integral value of 1e10 and more, below
 * 1e17, without a point; the text then reads as an integer. */
static bool may_be_float(const bsm_value *value) {
  const int64_t low = INT64_C(10000000000), high = INT64_C(100000000000000000);
  const bsm_ivalue *constant = bsm_value_constant(value);
  if (!constant || constant->tag != BSM_IVALUE_INT) return false;
  const int64_t i = constant->u.i;
  return (i >= low && i < high) || (i <= -low && i > -high);
}

static bsm_status float_constant(bsm_script_emitter *e, bsm_code_pos pos,
                                 const bsm_value *value, bsm_value **out) {
  const bsm_ivalue *constant = bsm_value_constant(value);
  return bsm_se_constant(e, pos, bsm_iv_double((double)constant->u.i), NULL,
                         out);
}

static bool is_int_constant(const bsm_value *value) {
  const bsm_ivalue *constant = bsm_value_constant(value);
  return constant && constant->tag == BSM_IVALUE_INT;
}

/* A list literal of integers alone. */
static bool is_int_list_literal(const bsm_value *value) {
  if (!bsm_node_is(value->node, "prim::ListConstruct")) return false;
  const bsm_node *node = value->node;
  for (size_t i = 0; i < node->inputs.len; i++) {
    if (!is_int_constant(bsm_node_in(node, i))) return false;
  }
  return node->inputs.len > 0;
}

static bsm_status float_list(bsm_script_emitter *e, bsm_code_pos pos,
                             const bsm_value *value, bsm_value **out) {
  const bsm_node *node = value->node;
  const size_t count = node->inputs.len;
  bsm_value **items = BSM_NEW_ARRAY(e->arena, bsm_value *, count);
  const bsm_type *real = bsm_type_simple(e->cx->types, BSM_TYPE_FLOAT);
  BSM_TRY_ALLOC(items && real);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(float_constant(e, pos, bsm_node_in(node, i), &items[i]));
  }
  return bsm_se_simple(e, pos, "prim::ListConstruct", items, count,
                       bsm_type_list(e->cx->types, real), out);
}

/* Reads arguments that may be such floats as floats. False when there are
 * none. */
static bsm_status read_as_floats(bsm_script_emitter *e, bsm_code_pos pos,
                                 bsm_se_args *args, bool *any) {
  *any = false;
  for (size_t i = 0; i < args->count; i++) {
    bsm_value *value = args->values[i];
    if (may_be_float(value)) {
      BSM_TRY(float_constant(e, pos, value, &value));
    } else if (is_int_list_literal(value) &&
               may_be_float(bsm_node_in(value->node, 0))) {
      BSM_TRY(float_list(e, pos, value, &value));
    } else {
      continue;
    }
    set_arg(args, i, args->args[i].name, value);
    *any = true;
  }
  return BSM_OK;
}

/* ---- matching ---- */

/* An error of overload resolution as one of this file. */
static bsm_status match_error(bsm_script_emitter *e, bsm_code_pos pos,
                              bsm_status status) {
  const bsm_code code = bsm_status_code(status);
  if (code == BSM_OUT_OF_MEMORY || code == BSM_LIMIT) return status;
  bsm_status made = bsm_code_error(&e->file->code, pos, BSM_UNSUPPORTED,
                                   "no overload fits this call");
  return bsm_status_join(made, status);
}

static bsm_status match(bsm_script_emitter *e, bsm_code_pos pos,
                        const bsm_schema *const *candidates, size_t count,
                        bsm_se_args *args, bsm_schema_match *out) {
  bsm_match_call call = {e->cx->types, e->arena, args->args, args->count};
  bool any;
  bsm_status status = bsm_schema_match_overloads(&call, candidates, count, out);
  if (bsm_status_code(status) != BSM_UNSUPPORTED) return status;
  bsm_status again = read_as_floats(e, pos, args, &any);
  if (!again && any) {
    again = bsm_schema_match_overloads(&call, candidates, count, out);
    if (!again) {
      bsm_status_free(status);
      return BSM_OK;
    }
  }
  bsm_status_free(again);
  return match_error(e, pos, status);
}

static bsm_status build(bsm_script_emitter *e, bsm_code_pos pos,
                        const bsm_schema_match *found, const bsm_se_args *args,
                        bsm_node **out) {
  bsm_source source;
  BSM_TRY(bsm_se_source(e, pos, &source));
  return bsm_schema_match_build(e->graph, found, args->values, e->block, NULL,
                                &source, out);
}

/* ---- operators ---- */

static bsm_status set_function(bsm_node *node, bsm_function *fn) {
  return bsm_node_set_attr(node, "function",
                           (bsm_ivalue){BSM_IVALUE_FUNCTION, {.function = fn}});
}

/* What a schema-built node becomes when it stands for a function of code. */
static bsm_status make_call(bsm_script_emitter *e, bsm_node *node,
                            const char *kind) {
  node->kind = bsm_intern(&e->cx->names, bsm_str_of(kind));
  BSM_TRY_ALLOC(node->kind);
  node->schema = NULL;
  return BSM_OK;
}

/* Of the keyword `out`, or the number of arguments. */
static size_t find_out(const bsm_se_args *args) {
  size_t i = 0;
  while (i < args->count &&
         !(args->args[i].name && strcmp(args->args[i].name, "out") == 0)) {
    i++;
  }
  return i;
}

static bsm_status call_operator(bsm_script_emitter *e, const char *name,
                                bsm_code_pos pos, bsm_se_args *args,
                                bsm_node **out) {
  const bsm_schema *const *candidates = NULL;
  bsm_schema_match found;
  bsm_function *upgrader = NULL;
  size_t count = 0;
  BSM_TRY(bsm_upgraders_candidates(e->file, name, &candidates, &count));
  if (count == 0) {
    return bsm_se_error(e, pos, BSM_UNSUPPORTED,
                        "there is no schema for the operator '%s': a plug-in "
                        "that has it must be given (docs/plugins.md)",
                        name);
  }
  BSM_TRY(match(e, pos, candidates, count, args, &found));
  BSM_TRY(build(e, pos, &found, args, out));
  BSM_TRY(bsm_upgraders_function(e->script, found.schema, &upgrader));
  if (!upgrader) return bsm_op_alias_resolve(*out);
  BSM_TRY(make_call(e, *out, "prim::CallFunction"));
  return set_function(*out, upgrader);
}

/* f(x, out=y) is copy_(y, f(x)): no schema with `out` is needed. (The original
 * would also resize y; copy_ says so when it would have to.) */
static bsm_status call_with_out(bsm_script_emitter *e, const char *name,
                                bsm_code_pos pos, bsm_se_args *args,
                                size_t which, bsm_node **out) {
  bsm_value *values[2] = {args->values[which], NULL};
  bsm_se_args copy;
  bsm_node *node = NULL;
  args->count--;
  for (size_t i = which; i < args->count; i++) {
    args->args[i] = args->args[i + 1];
    args->values[i] = args->values[i + 1];
  }
  BSM_TRY(call_operator(e, name, pos, args, &node));
  if (node->outputs.len != 1) {
    return bsm_se_error(e, pos, BSM_UNSUPPORTED,
                        "'%s' with out and %zu results", name,
                        node->outputs.len);
  }
  values[1] = bsm_node_out(node, 0);
  BSM_TRY(bsm_se_pack(e, values, 2, &copy));
  return call_operator(e, "aten::copy_", pos, &copy, out);
}

bsm_status bsm_se_operator(bsm_script_emitter *e, const char *name,
                           bsm_code_pos pos, bsm_se_args *args,
                           bsm_sugar *out) {
  bsm_node *node = NULL;
  /* Forked calls have been made already. */
  if (args->count == 1 && (strcmp(name, "aten::wait") == 0 ||
                           strcmp(name, "prim::awaitable_wait") == 0)) {
    *out = bsm_sugar_value(args->values[0]);
    return BSM_OK;
  }
  const size_t which = find_out(args);
  if (which < args->count &&
      args->values[which]->type->kind == BSM_TYPE_TENSOR) {
    BSM_TRY(call_with_out(e, name, pos, args, which, &node));
  } else {
    BSM_TRY(call_operator(e, name, pos, args, &node));
  }
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUES,
                     .values = node->outputs.items,
                     .count = node->outputs.len};
  if (out->count == 1) *out = bsm_sugar_value(bsm_node_out(node, 0));
  return BSM_OK;
}

/* ---- functions of the archive ---- */

bsm_status bsm_se_invoke(bsm_script_emitter *e, bsm_function *fn,
                         const char *method, bsm_code_pos pos,
                         bsm_se_args *args, bsm_value **out) {
  const bsm_schema *schema = NULL;
  bsm_schema_match found;
  bsm_node *node = NULL;
  bsm_ivalue name;
  const bsm_status status = bsm_script_schema(fn, &schema);
  if (status) return bsm_code_note(&e->file->code, pos, status);
  BSM_TRY(match(e, pos, &schema, 1, args, &found));
  BSM_TRY(build(e, pos, &found, args, &node));
  *out = bsm_node_out(node, 0);
  if (!method) {
    BSM_TRY(make_call(e, node, "prim::CallFunction"));
    return set_function(node, fn);
  }
  BSM_TRY(make_call(e, node, "prim::CallMethod"));
  BSM_TRY(bsm_iv_string(e->arena, bsm_str_of(method), &name));
  return bsm_node_set_attr(node, "name", name);
}

/* ---- constructors ---- */

/* __torch__.P(a, b): a NamedTuple's fields are its arguments. */
static bsm_status make_named_tuple(bsm_script_emitter *e, const bsm_expr *call,
                                   const bsm_type *type, bsm_value **out) {
  bsm_se_args args;
  const size_t count = type->arg_count;
  BSM_TRY(bsm_se_gather(e, call, NULL, &args));
  bsm_value **fields = BSM_NEW_ARRAY(e->arena, bsm_value *, count + 1);
  BSM_TRY_ALLOC(fields);
  for (size_t i = 0; i < args.count; i++) {
    size_t at = i;
    if (args.args[i].name) {
      for (at = 0; at < count; at++) {
        if (strcmp(type->field_names[at], args.args[i].name) == 0) break;
      }
    }
    if (at >= count || fields[at]) {
      return bsm_se_error(e, call->pos, BSM_CORRUPT,
                          "argument %zu is no field of '%s'", i + 1,
                          type->name);
    }
    BSM_TRY(bsm_se_convert(e, call->pos, args.values[i], type->args[at],
                           &fields[at]));
  }
  for (size_t i = 0; i < count; i++) {
    if (fields[i]) continue;
    return bsm_se_error(e, call->pos, BSM_CORRUPT,
                        "field '%s' of '%s' is missing", type->field_names[i],
                        type->name);
  }
  return bsm_se_simple(e, call->pos, "prim::TupleConstruct", fields, count,
                       type, out);
}

/* C.__new__(C), or C(a, b), which calls __init__ too. */
static bsm_status make_object(bsm_script_emitter *e, const bsm_expr *call,
                              const bsm_type *type, bool init,
                              bsm_value **out) {
  bsm_se_args args;
  bsm_value *unused = NULL;
  if (!type->cls || type->cls->is_enum || type->cls->is_interface) {
    return bsm_se_error(e, call->pos, BSM_UNSUPPORTED,
                        "an instance of '%s' is made here", type->name);
  }
  BSM_TRY(
      bsm_se_simple(e, call->pos, "prim::CreateObject", NULL, 0, type, out));
  bsm_function *fn = bsm_class_find_method(type->cls, "__init__");
  if (!init || !fn) return BSM_OK;
  BSM_TRY(bsm_se_gather(e, call, *out, &args));
  return bsm_se_invoke(e, fn, "__init__", call->pos, &args, &unused);
}

/* ---- all of them ---- */

bsm_status bsm_se_call(bsm_script_emitter *e, const bsm_expr *call,
                       bsm_sugar *out) {
  bsm_sugar callee;
  bsm_se_args args;
  BSM_TRY(bsm_se_sugar(e, call->items[0], NULL, &callee));
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
  switch (callee.kind) {
    case BSM_SUGAR_OPERATOR:
      BSM_TRY(bsm_se_gather(e, call, callee.value, &args));
      return bsm_se_operator(e, callee.name, call->pos, &args, out);
    case BSM_SUGAR_FUNCTION:
      BSM_TRY(bsm_se_gather(e, call, NULL, &args));
      return bsm_se_invoke(e, callee.fn, NULL, call->pos, &args, &out->value);
    case BSM_SUGAR_METHOD:
      BSM_TRY(bsm_se_gather(e, call, callee.value, &args));
      return bsm_se_invoke(e, callee.fn, callee.name, call->pos, &args,
                           &out->value);
    case BSM_SUGAR_SPECIAL:
      return callee.special->emit(e, call, callee.special, out);
    case BSM_SUGAR_NEW:
      return make_object(e, call, callee.type, false, &out->value);
    case BSM_SUGAR_CLASS:
      return callee.type->kind == BSM_TYPE_TUPLE
                 ? make_named_tuple(e, call, callee.type, &out->value)
                 : make_object(e, call, callee.type, true, &out->value);
    case BSM_SUGAR_CLOSURE:
      return bsm_se_closure(e, callee.def, call->pos, &out->value);
    case BSM_SUGAR_MODULE:
      return bsm_se_error(e, call->pos, BSM_CORRUPT,
                          "the archive has no class or function '%s'",
                          callee.name);
    default:
      break;
  }
  return bsm_se_error(e, call->pos, BSM_CORRUPT, "this cannot be called");
}

/* ---- conversion ---- */

static bool is_float_list(const bsm_type *type) {
  return type->kind == BSM_TYPE_LIST && type->args[0]->kind == BSM_TYPE_FLOAT;
}

/* The conversions of a call with one argument, without the call. */
static bsm_status convert_by_match(bsm_script_emitter *e, bsm_code_pos pos,
                                   bsm_value *value, const bsm_type *type,
                                   bsm_value **out) {
  bsm_schema_arg arg = {.name = "value", .type = type};
  const bsm_schema schema = {.text = "value",
                             .name = "prim::convert",
                             .overload = "",
                             .qualified = "prim::convert",
                             .args = &arg,
                             .arg_count = 1};
  bsm_se_args args;
  bsm_schema_match found;
  bsm_node *node = NULL;
  bool matched;
  BSM_TRY(bsm_se_pack(e, &value, 1, &args));
  bsm_match_call call = {e->cx->types, e->arena, args.args, args.count};
  BSM_TRY(bsm_schema_match_one(&call, &schema, true, &found, &matched));
  if (!matched) {
    return bsm_se_error(e, pos, BSM_CORRUPT,
                        "a value of type %s where %s is wanted",
                        bsm_script_type_text(e->script, value->type),
                        bsm_script_type_text(e->script, type));
  }
  BSM_TRY(build(e, pos, &found, &args, &node));
  *out = bsm_node_in(node, 0);
  bsm_node_destroy(node);
  return BSM_OK;
}

/* Converts a tuple that is made right here element by element. */
static bsm_status convert_tuple(bsm_script_emitter *e, bsm_code_pos pos,
                                bsm_value *value, const bsm_type *type,
                                bsm_value **out) {
  const size_t count = type->arg_count;
  bsm_value **items = BSM_NEW_ARRAY(e->arena, bsm_value *, count + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_se_convert(e, pos, bsm_node_in(value->node, i), type->args[i],
                           &items[i]));
  }
  return bsm_se_simple(e, pos, "prim::TupleConstruct", items, count, type, out);
}

bsm_status bsm_se_convert(bsm_script_emitter *e, bsm_code_pos pos,
                          bsm_value *value, const bsm_type *type,
                          bsm_value **out) {
  *out = value;
  BSM_TRY_ALLOC(type);
  if (bsm_type_is_subtype(value->type, type)) return BSM_OK;
  const bsm_type *wanted =
      type->kind == BSM_TYPE_OPTIONAL ? type->args[0] : type;
  if (wanted->kind == BSM_TYPE_FLOAT && is_int_constant(value)) {
    return float_constant(e, pos, value, out);
  }
  if (is_float_list(wanted) && is_int_list_literal(value)) {
    return float_list(e, pos, value, out);
  }
  if (wanted->kind == BSM_TYPE_TUPLE &&
      bsm_node_is(value->node, "prim::TupleConstruct") &&
      value->node->inputs.len == wanted->arg_count) {
    return convert_tuple(e, pos, value, wanted, out);
  }
  return convert_by_match(e, pos, value, type, out);
}
