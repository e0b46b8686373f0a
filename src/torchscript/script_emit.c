/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and statements. */
#include "torchscript/script_emit.h"

#include <stdarg.h>
#include <stdio.h>

bsm_status bsm_se_error(const bsm_script_emitter *e, bsm_code_pos pos,
                        bsm_code code, const char *format, ...) {
  char what[900];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return bsm_code_error(&e->file->code, pos, code, "%s", what);
}

/* ---- nodes ---- */

bsm_status bsm_se_source(const bsm_script_emitter *e, bsm_code_pos pos,
                         bsm_source *out) {
  const bsm_script_hooks *hooks = &e->script->hooks;
  *out = (bsm_source){.code_file = e->file->code.path,
                      .code_line = pos.line,
                      .code_col = pos.col};
  if (!hooks->python_source) return BSM_OK;
  return hooks->python_source(hooks->user, e->file->code.module, pos.offset,
                              &out->python_file, &out->python_line);
}

bsm_status bsm_se_node(bsm_script_emitter *e, bsm_code_pos pos,
                       const char *kind, bsm_value *const *inputs, size_t count,
                       const bsm_type *type, bsm_node **out) {
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create(e->graph, kind, &node));
  BSM_TRY(bsm_se_source(e, pos, &node->source));
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_node_add_input(node, inputs[i]));
  }
  if (type) {
    bsm_value *value = NULL;
    BSM_TRY(bsm_node_add_output(node, type, &value));
  }
  bsm_node_append(e->block, node);
  *out = node;
  return BSM_OK;
}

bsm_status bsm_se_simple(bsm_script_emitter *e, bsm_code_pos pos,
                         const char *kind, bsm_value *const *inputs,
                         size_t count, const bsm_type *type, bsm_value **out) {
  bsm_node *node = NULL;
  BSM_TRY_ALLOC(type);
  /* The type table gives up on huge types. */
  if (type->kind == BSM_TYPE_ANY &&
      bsm_str_ends_with(bsm_str_of(kind), BSM_STR("Construct"))) {
    return bsm_se_error(e, pos, BSM_LIMIT, "the type is too large");
  }
  BSM_TRY(bsm_se_node(e, pos, kind, inputs, count, type, &node));
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

bsm_status bsm_se_constant(bsm_script_emitter *e, bsm_code_pos pos,
                           bsm_ivalue value, const bsm_type *type,
                           bsm_value **out) {
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create_constant(e->graph, value, type, &node));
  BSM_TRY(bsm_se_source(e, pos, &node->source));
  bsm_node_append(e->block, node);
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

bsm_status bsm_se_tuple(bsm_script_emitter *e, bsm_code_pos pos,
                        bsm_value *const *values, size_t count,
                        bsm_value **out) {
  const bsm_type **types =
      BSM_NEW_ARRAY(e->arena, const bsm_type *, count ? count : 1);
  BSM_TRY_ALLOC(types);
  for (size_t i = 0; i < count; i++) types[i] = values[i]->type;
  return bsm_se_simple(e, pos, "prim::TupleConstruct", values, count,
                       bsm_type_tuple(e->cx->types, types, count), out);
}

bsm_status bsm_se_unpack(bsm_script_emitter *e, bsm_code_pos pos,
                         bsm_value *value, size_t count, bsm_value ***out) {
  const bsm_type *type = value->type;
  const bool tuple = type->kind == BSM_TYPE_TUPLE;
  if (!tuple && type->kind != BSM_TYPE_LIST) {
    return bsm_se_error(e, pos, BSM_CORRUPT, "a value of type %s is unpacked",
                        bsm_script_type_text(e->script, type));
  }
  if (tuple && type->arg_count != count) {
    return bsm_se_error(e, pos, BSM_CORRUPT,
                        "a tuple of %zu values is unpacked into %zu",
                        type->arg_count, count);
  }
  bsm_node *node = NULL;
  BSM_TRY(bsm_se_node(e, pos, tuple ? "prim::TupleUnpack" : "prim::ListUnpack",
                      &value, 1, NULL, &node));
  bsm_value **values = BSM_NEW_ARRAY(e->arena, bsm_value *, count + 1);
  BSM_TRY_ALLOC(values);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_node_add_output(node, type->args[tuple ? i : 0], &values[i]));
  }
  *out = values;
  return BSM_OK;
}

/* ---- assignment ---- */

/* Printed names such as _12 say nothing. */
static bool is_meaningful(const char *name) {
  if (*name++ != '_') return true;
  while (*name >= '0' && *name <= '9') name++;
  return *name != '\0';
}

bsm_status bsm_se_bind(bsm_script_emitter *e, const char *name,
                       bsm_code_pos pos, bsm_sugar sugar) {
  if (sugar.kind == BSM_SUGAR_VALUES) {
    bsm_value *value = NULL;
    BSM_TRY(bsm_se_as_value(e, sugar, pos, &value));
    sugar = bsm_sugar_value(value);
  }
  if (sugar.kind == BSM_SUGAR_VALUE && !sugar.value->debug_name &&
      is_meaningful(name)) {
    BSM_TRY(bsm_value_set_name(e->graph, sugar.value, name));
  }
  return bsm_scope_bind(e->arena, e->scope, name, sugar);
}

/* self.k = v */
static bsm_status store_attribute(bsm_script_emitter *e, const bsm_expr *target,
                                  bsm_sugar sugar) {
  bsm_value *inputs[2];
  bsm_node *node = NULL;
  bsm_ivalue name;
  BSM_TRY(bsm_se_value(e, target->items[0], NULL, &inputs[0]));
  const bsm_class *cls = inputs[0]->type->cls;
  const int64_t slot = cls ? bsm_class_find_attribute(cls, target->name) : -1;
  if (slot < 0) {
    return bsm_se_error(e, target->pos, BSM_CORRUPT,
                        "a value of type %s has no attribute '%s' to assign",
                        bsm_script_type_text(e->script, inputs[0]->type),
                        target->name);
  }
  BSM_TRY(bsm_se_as_value(e, sugar, target->pos, &inputs[1]));
  BSM_TRY(bsm_se_convert(e, target->pos, inputs[1],
                         cls->attributes.items[slot].type, &inputs[1]));
  BSM_TRY(bsm_se_node(e, target->pos, "prim::SetAttr", inputs, 2, NULL, &node));
  BSM_TRY(bsm_iv_string(e->arena, bsm_str_of(target->name), &name));
  return bsm_node_set_attr(node, "name", name);
}

static bsm_status assign(bsm_script_emitter *e, const bsm_expr *target,
                         bsm_sugar sugar) {
  if (target->kind == BSM_EXPR_ATTR) {
    return store_attribute(e, target, sugar);
  }
  return bsm_se_bind(e, target->name, target->pos, sugar);
}

/* a, b = x, y: all of the right side first, then all of the left. */
static bsm_status assign_parallel(bsm_script_emitter *e, const bsm_stmt *stmt) {
  bsm_sugar *sugars = BSM_NEW_ARRAY(e->arena, bsm_sugar, stmt->value_count);
  BSM_TRY_ALLOC(sugars);
  for (size_t i = 0; i < stmt->value_count; i++) {
    BSM_TRY(bsm_se_sugar(e, stmt->values[i], NULL, &sugars[i]));
  }
  for (size_t i = 0; i < stmt->target_count; i++) {
    BSM_TRY(assign(e, stmt->targets[i], sugars[i]));
  }
  return BSM_OK;
}

/* a, b = f(x): the results of one operator, or the elements of a value. */
static bsm_status assign_unpacked(bsm_script_emitter *e, const bsm_stmt *stmt) {
  bsm_sugar sugar;
  bsm_value *value, **values;
  BSM_TRY(bsm_se_sugar(e, stmt->values[0], NULL, &sugar));
  if (sugar.kind == BSM_SUGAR_VALUES && sugar.count == stmt->target_count) {
    values = sugar.values;
  } else {
    BSM_TRY(bsm_se_as_value(e, sugar, stmt->values[0]->pos, &value));
    BSM_TRY(bsm_se_unpack(e, stmt->pos, value, stmt->target_count, &values));
  }
  for (size_t i = 0; i < stmt->target_count; i++) {
    BSM_TRY(assign(e, stmt->targets[i], bsm_sugar_value(values[i])));
  }
  return BSM_OK;
}

/* x : T = e: from here on x is a T, whatever e is. */
static bsm_status assign_annotated(bsm_script_emitter *e,
                                   const bsm_stmt *stmt) {
  const bsm_type *type = NULL;
  bsm_value *value = NULL;
  BSM_TRY(bsm_script_type(e->file, stmt->type, &type));
  BSM_TRY(bsm_se_value(e, stmt->values[0], type, &value));
  BSM_TRY(bsm_se_convert(e, stmt->pos, value, type, &value));
  if (value->type != type) {
    BSM_TRY(bsm_se_simple(e, stmt->pos, "prim::unchecked_cast", &value, 1, type,
                          &value));
  }
  return assign(e, stmt->targets[0], bsm_sugar_value(value));
}

/* The expressions of a right side as one value. */
static bsm_status one_value(bsm_script_emitter *e, const bsm_stmt *stmt,
                            const bsm_type *hint, bsm_sugar *out) {
  if (stmt->value_count == 1 && !stmt->value_tuple) {
    return bsm_se_sugar(e, stmt->values[0], hint, out);
  }
  bsm_value **values = BSM_NEW_ARRAY(e->arena, bsm_value *, stmt->value_count);
  bsm_value *tuple = NULL;
  BSM_TRY_ALLOC(values);
  for (size_t i = 0; i < stmt->value_count; i++) {
    BSM_TRY(bsm_se_value(e, stmt->values[i], NULL, &values[i]));
  }
  BSM_TRY(bsm_se_tuple(e, stmt->pos, values, stmt->value_count, &tuple));
  *out = bsm_sugar_value(tuple);
  return BSM_OK;
}

static bsm_status emit_assign(bsm_script_emitter *e, const bsm_stmt *stmt) {
  if (stmt->type) {
    if (stmt->value_count != 1 || stmt->value_tuple) {
      return bsm_se_error(e, stmt->pos, BSM_UNSUPPORTED,
                          "an annotated assignment of several values");
    }
    return assign_annotated(e, stmt);
  }
  if (stmt->target_count == 1 && !stmt->unpack) {
    bsm_sugar sugar;
    BSM_TRY(one_value(e, stmt, NULL, &sugar));
    return assign(e, stmt->targets[0], sugar);
  }
  if (stmt->value_count == 1 && !stmt->value_tuple) {
    return assign_unpacked(e, stmt);
  }
  if (stmt->value_count == stmt->target_count) {
    return assign_parallel(e, stmt);
  }
  return bsm_se_error(e, stmt->pos, BSM_CORRUPT,
                      "%zu values are assigned to %zu names", stmt->value_count,
                      stmt->target_count);
}

/* ---- statements ---- */

/* Serialized code returns once, at the end of the function. */
static bsm_status emit_return(bsm_script_emitter *e, const bsm_stmt *stmt) {
  bsm_sugar sugar;
  bsm_value *value = NULL;
  if (e->scope != e->top) {
    return bsm_se_error(e, stmt->pos, BSM_UNSUPPORTED,
                        "a return inside a block");
  }
  if (stmt->value_count == 0) {
    BSM_TRY(bsm_se_constant(e, stmt->pos, bsm_iv_none(), NULL, &value));
  } else {
    BSM_TRY(one_value(e, stmt, e->result, &sugar));
    BSM_TRY(bsm_se_as_value(e, sugar, stmt->pos, &value));
  }
  if (e->result) {
    BSM_TRY(bsm_se_convert(e, stmt->pos, value, e->result, &value));
  }
  e->returned = value;
  return BSM_OK;
}

static bsm_status emit_stmt(bsm_script_emitter *e, const bsm_stmt *stmt) {
  bsm_sugar sugar;
  switch (stmt->kind) {
    case BSM_STMT_ASSIGN:
      return emit_assign(e, stmt);
    case BSM_STMT_EXPR:
      for (size_t i = 0; i < stmt->value_count; i++) {
        BSM_TRY(bsm_se_sugar(e, stmt->values[i], NULL, &sugar));
      }
      return BSM_OK;
    case BSM_STMT_IF:
      return bsm_se_if(e, stmt);
    case BSM_STMT_WHILE:
      return bsm_se_while(e, stmt);
    case BSM_STMT_FOR:
      return bsm_se_for(e, stmt);
    case BSM_STMT_WITH:
      return bsm_se_with(e, stmt);
    case BSM_STMT_RETURN:
      return emit_return(e, stmt);
    case BSM_STMT_PASS:
      return BSM_OK;
    case BSM_STMT_DEF:
      return bsm_se_bind(
          e, stmt->def->name, stmt->pos,
          (bsm_sugar){.kind = BSM_SUGAR_CLOSURE, .def = stmt->def});
  }
  return BSM_FAIL(BSM_INTERNAL, "statement kind %d", (int)stmt->kind);
}

bsm_status bsm_se_stmts(bsm_script_emitter *e, const bsm_stmts *stmts) {
  if (stmts->count == 0) return BSM_OK;
  const bsm_status status = bsm_script_enter(e->script, "this block");
  if (status) {
    return bsm_code_note(&e->file->code, stmts->items[0]->pos, status);
  }
  for (size_t i = 0; i < stmts->count; i++) {
    if (e->returned) {
      return bsm_se_error(e, stmts->items[i]->pos, BSM_UNSUPPORTED,
                          "a statement behind the return");
    }
    BSM_TRY(emit_stmt(e, stmts->items[i]));
  }
  e->script->depth--;
  return BSM_OK;
}

/* ---- functions ---- */

/* The value of a body that ended: of its return, or None. */
static bsm_status body_value(bsm_script_emitter *e, bsm_code_pos pos,
                             bsm_value **out) {
  *out = e->returned;
  if (*out) return BSM_OK;
  BSM_TRY(bsm_se_constant(e, pos, bsm_iv_none(), NULL, out));
  return e->result ? bsm_se_convert(e, pos, *out, e->result, out) : BSM_OK;
}

bsm_status bsm_se_closure(bsm_script_emitter *e, const bsm_def *def,
                          bsm_code_pos pos, bsm_value **out) {
  bsm_scope scope = {.parent = e->scope};
  const bsm_script_emitter outer = *e;
  if (def->param_count > 0) {
    return bsm_se_error(e, pos, BSM_UNSUPPORTED,
                        "a forked function with parameters");
  }
  e->scope = &scope;
  e->top = &scope;
  e->result = NULL;
  e->returned = NULL;
  if (def->result) BSM_TRY(bsm_script_type(e->file, def->result, &e->result));
  BSM_TRY(bsm_se_stmts(e, &def->body));
  BSM_TRY(body_value(e, pos, out));
  *e = outer;
  return BSM_OK;
}

static bsm_status emitter_init(bsm_script_emitter *e, bsm_script_fn *fn,
                               bsm_scope *scope) {
  bsm_script *script = fn->file->script;
  *e = (bsm_script_emitter){.script = script,
                            .file = fn->file,
                            .cx = script->cx,
                            .arena = script->cx->arena,
                            .scope = scope,
                            .top = scope};
  BSM_TRY(bsm_graph_create(script->cx, &e->graph));
  e->block = e->graph->block;
  return BSM_OK;
}

static bsm_status add_param(bsm_script_emitter *e, const char *name,
                            const bsm_type *type, bsm_value **out) {
  BSM_TRY(bsm_block_add_input(e->graph->block, type, out));
  BSM_TRY(bsm_value_set_name(e->graph, *out, name));
  return bsm_scope_bind(e->arena, e->scope, name, bsm_sugar_value(*out));
}

/* The parameters' types. The schema has them, unless it is being made: a
 * function without a return type is compiled for it. */
static bsm_status param_type(bsm_script_emitter *e, bsm_script_fn *fn,
                             size_t index, const bsm_type **out) {
  const bsm_param *param = &fn->def->params[index];
  if (index == 0 && fn->self) {
    *out = fn->self;
    return BSM_OK;
  }
  if (param->type) return bsm_script_type(e->file, param->type, out);
  *out = bsm_type_simple(e->cx->types, BSM_TYPE_TENSOR);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

static bsm_status emit_function(bsm_script_fn *fn) {
  bsm_script_emitter e;
  bsm_scope scope = {0};
  bsm_value *value = NULL;
  const bsm_def *def = fn->def;
  BSM_TRY(emitter_init(&e, fn, &scope));
  for (size_t i = 0; i < def->param_count; i++) {
    const bsm_type *type = NULL;
    BSM_TRY(param_type(&e, fn, i, &type));
    if (bsm_scope_find_own(&scope, def->params[i].name)) {
      return bsm_se_error(&e, def->params[i].pos, BSM_CORRUPT,
                          "parameter '%s' is there twice", def->params[i].name);
    }
    BSM_TRY(add_param(&e, def->params[i].name, type, &value));
  }
  if (fn->self && fn->self->cls->is_interface) {
    return bsm_se_error(&e, def->pos, BSM_UNSUPPORTED,
                        "'%s' belongs to an interface and has no body",
                        fn->fn.qualified);
  }
  if (def->result) BSM_TRY(bsm_script_type(e.file, def->result, &e.result));
  BSM_TRY(bsm_se_stmts(&e, &def->body));
  BSM_TRY(body_value(&e, def->pos, &value));
  BSM_TRY(bsm_block_add_output(e.graph->block, value));
  fn->fn.graph = e.graph;
  return BSM_OK;
}

bsm_status bsm_script_compile(bsm_function *function) {
  bsm_script_fn *fn = bsm_script_fn_of(function);
  const bsm_schema *schema = NULL;
  const uint64_t depth = fn->file->script->depth;
  bsm_status status = emit_function(fn);
  if (!status && !fn->in_schema) status = bsm_script_schema(function, &schema);
  fn->file->script->depth = depth;
  return bsm_status_note(status, "in %s", fn->fn.qualified);
}

/* ---- forward with its hooks ---- */

/* Calls every hook with self, the inputs and, behind forward, the output. A
 * hook that returns None changes nothing. */
static bsm_status run_hooks(bsm_script_emitter *e, bsm_script_fn *fn, bool pre,
                            bsm_value *inputs[3], bsm_code_pos pos) {
  const bsm_class *cls = fn->self->cls;
  const size_t count =
      pre ? cls->forward_pre_hooks.len : cls->forward_hooks.len;
  for (size_t i = 0; i < count; i++) {
    const char *name =
        pre ? cls->forward_pre_hooks.items[i] : cls->forward_hooks.items[i];
    bsm_function *hook = bsm_class_find_method(cls, name);
    bsm_se_args args;
    bsm_value *result = NULL;
    if (!hook) {
      return BSM_FAIL(BSM_CORRUPT, "class '%s' has no hook '%s'", cls->name,
                      name);
    }
    BSM_TRY(bsm_se_pack(e, inputs, pre ? 2 : 3, &args));
    BSM_TRY(bsm_se_invoke(e, hook, name, pos, &args, &result));
    if (result->type->kind == BSM_TYPE_NONE) continue;
    if (pre && result->type->kind != BSM_TYPE_TUPLE) {
      BSM_TRY(bsm_se_tuple(e, pos, &result, 1, &result));
    }
    inputs[pre ? 1 : 2] = result;
  }
  return BSM_OK;
}

bsm_status bsm_script_compile_hooked(bsm_function *function) {
  bsm_script_fn *fn = bsm_script_fn_of(function);
  bsm_function *forward = bsm_class_find_method(fn->self->cls, "forward");
  const bsm_schema *schema = function->schema;
  const bsm_code_pos pos = bsm_script_fn_of(forward)->def->pos;
  bsm_script_emitter e;
  bsm_scope scope = {0};
  bsm_se_args args;
  bsm_value *inputs[3], **all;
  BSM_TRY(emitter_init(&e, fn, &scope));
  all = BSM_NEW_ARRAY(e.arena, bsm_value *, schema->arg_count + 1);
  BSM_TRY_ALLOC(all);
  for (size_t i = 0; i < schema->arg_count; i++) {
    BSM_TRY(add_param(&e, schema->args[i].name, schema->args[i].type, &all[i]));
  }
  inputs[0] = all[0];
  BSM_TRY(bsm_se_tuple(&e, pos, all + 1, schema->arg_count - 1, &inputs[1]));
  BSM_TRY(run_hooks(&e, fn, true, inputs, pos));
  const size_t count = inputs[1]->type->arg_count;
  bsm_value **unpacked;
  BSM_TRY(bsm_se_unpack(&e, pos, inputs[1], count, &unpacked));
  all = BSM_NEW_ARRAY(e.arena, bsm_value *, count + 1);
  BSM_TRY_ALLOC(all);
  all[0] = inputs[0];
  memcpy(all + 1, unpacked, count * sizeof *all);
  BSM_TRY(bsm_se_pack(&e, all, count + 1, &args));
  BSM_TRY(bsm_se_invoke(&e, forward, "forward", pos, &args, &inputs[2]));
  BSM_TRY(run_hooks(&e, fn, false, inputs, pos));
  BSM_TRY(bsm_block_add_output(e.graph->block, inputs[2]));
  fn->fn.graph = e.graph;
  return BSM_OK;
}
