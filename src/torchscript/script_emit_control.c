/* SPDX-License-Identifier: Apache-2.0 */
/* if, while, for, with. */
#include "torchscript/script_emit.h"

/* ---- if ---- */

typedef struct branch {
  bsm_block *block;
  bsm_scope scope;
} branch;

static bsm_status emit_branch(bsm_script_emitter *e, bsm_node *node,
                              const bsm_stmts *stmts, branch *out) {
  bsm_block *outer = e->block;
  out->scope = (bsm_scope){.parent = e->scope};
  BSM_TRY(bsm_node_add_block(node, &out->block));
  e->block = out->block;
  e->scope = &out->scope;
  BSM_TRY(bsm_se_stmts(e, stmts));
  e->scope = out->scope.parent;
  e->block = outer;
  return BSM_OK;
}

static bool same_sugar(const bsm_sugar *a, const bsm_sugar *b) {
  return a->kind == b->kind && a->value == b->value && a->fn == b->fn &&
         a->name == b->name && a->type == b->type && a->special == b->special &&
         a->def == b->def;
}

static bsm_status bind_unusable(bsm_script_emitter *e, const char *name,
                                const bsm_sugar *a, const bsm_sugar *b) {
  const bool values = a->kind == BSM_SUGAR_VALUE && b->kind == BSM_SUGAR_VALUE;
  char *why = bsm_arena_printf(
      e->arena, "'%s' is a %s in one branch and a %s in the other", name,
      values ? bsm_script_type_text(e->script, a->value->type) : "value",
      values ? bsm_script_type_text(e->script, b->value->type) : "function");
  BSM_TRY_ALLOC(why);
  return bsm_scope_bind(e->arena, e->scope, name,
                        (bsm_sugar){.kind = BSM_SUGAR_UNUSABLE, .name = why});
}

/* What `name` is behind the if, given what it is at the end of each branch. */
static bsm_status join(bsm_script_emitter *e, bsm_node *node, const char *name,
                       branch branches[2], const bsm_sugar *a,
                       const bsm_sugar *b) {
  if (same_sugar(a, b)) return bsm_scope_bind(e->arena, e->scope, name, *a);
  if (a->kind != BSM_SUGAR_VALUE || b->kind != BSM_SUGAR_VALUE) {
    return bind_unusable(e, name, a, b);
  }
  const bsm_type *type =
      bsm_type_unify(e->cx->types, a->value->type, b->value->type);
  if (!type) return bind_unusable(e, name, a, b);
  bsm_value *out = NULL;
  BSM_TRY(bsm_block_add_output(branches[0].block, a->value));
  BSM_TRY(bsm_block_add_output(branches[1].block, b->value));
  BSM_TRY(bsm_node_add_output(node, type, &out));
  return bsm_se_bind(e, name, (bsm_code_pos){0}, bsm_sugar_value(out));
}

/* The names that one branch assigned and the other knows too. A name that only
 * one branch has is not there behind the if. */
static bsm_status join_names(bsm_script_emitter *e, bsm_node *node,
                             branch branches[2], int which) {
  const bsm_scope *own = &branches[which].scope;
  for (size_t i = 0; i < own->order.len; i++) {
    const bsm_binding *mine = own->order.items[i];
    const bsm_scope *other = &branches[1 - which].scope;
    const bsm_binding *theirs = bsm_scope_find(other, mine->name);
    if (!theirs) continue;
    if (which == 1 && bsm_scope_find_own(other, mine->name)) continue;
    const bsm_sugar *a = which == 0 ? &mine->sugar : &theirs->sugar;
    const bsm_sugar *b = which == 0 ? &theirs->sugar : &mine->sugar;
    BSM_TRY(join(e, node, mine->name, branches, a, b));
  }
  return BSM_OK;
}

bsm_status bsm_se_if(bsm_script_emitter *e, const bsm_stmt *stmt) {
  bsm_value *condition = NULL;
  bsm_node *node = NULL;
  branch branches[2] = {{0}};
  BSM_TRY(bsm_se_condition(e, stmt->test, &condition));
  /* Decided already: the other branch may not even have valid types. */
  const bsm_ivalue *known = bsm_value_constant(condition);
  if (known && known->tag == BSM_IVALUE_BOOL) {
    return bsm_se_stmts(e, known->u.b ? &stmt->body : &stmt->other);
  }
  BSM_TRY(bsm_se_node(e, stmt->pos, "prim::If", &condition, 1, NULL, &node));
  BSM_TRY(emit_branch(e, node, &stmt->body, &branches[0]));
  BSM_TRY(emit_branch(e, node, &stmt->other, &branches[1]));
  BSM_TRY(join_names(e, node, branches, 0));
  return join_names(e, node, branches, 1);
}

/* ---- loops ---- */

typedef struct carried {
  const char *name;
  bsm_value *inner; /* input of the body */
} carried;

typedef struct loop {
  bsm_node *node;
  bsm_block *body;
  bsm_scope scope;
  carried *items;
  size_t count;
} loop;

/* Makes the node with what it carries: the names that the body assigns and
 * that are values before. */
static bsm_status loop_begin(bsm_script_emitter *e, const bsm_stmt *stmt,
                             bsm_value *trips, bsm_value *condition,
                             loop *out) {
  bsm_value *inputs[] = {trips, condition};
  bsm_assigned assigned = {0};
  bsm_value *index = NULL;
  for (size_t i = 0; i < stmt->target_count; i++) {
    BSM_TRY(bsm_assigned_name(e->arena, stmt->targets[i]->name, &assigned));
  }
  BSM_TRY(bsm_assigned_add(e->arena, &stmt->body, &assigned));
  BSM_TRY(bsm_se_node(e, stmt->pos, "prim::Loop", inputs, 2, NULL, &out->node));
  BSM_TRY(bsm_node_add_block(out->node, &out->body));
  BSM_TRY(bsm_block_add_input(
      out->body, bsm_type_simple(e->cx->types, BSM_TYPE_INT), &index));
  out->scope.parent = e->scope;
  out->items = BSM_NEW_ARRAY(e->arena, carried, assigned.names.len + 1);
  BSM_TRY_ALLOC(out->items);
  for (size_t i = 0; i < assigned.names.len; i++) {
    const char *name = assigned.names.items[i];
    const bsm_binding *before = bsm_scope_find(e->scope, name);
    if (!before || before->sugar.kind != BSM_SUGAR_VALUE) continue;
    carried *item = &out->items[out->count++];
    item->name = name;
    BSM_TRY(bsm_node_add_input(out->node, before->sugar.value));
    BSM_TRY(bsm_block_add_input(out->body, before->sugar.value->type,
                                &item->inner));
  }
  e->block = out->body;
  e->scope = &out->scope;
  for (size_t i = 0; i < out->count; i++) {
    BSM_TRY(bsm_se_bind(e, out->items[i].name, stmt->pos,
                        bsm_sugar_value(out->items[i].inner)));
  }
  if (stmt->target_count == 0) return BSM_OK;
  return bsm_se_bind(e, stmt->targets[0]->name, stmt->targets[0]->pos,
                     bsm_sugar_value(index));
}

/* The body's outputs, and the names behind the loop. `condition`: whether to go
 * on, a value of the body. */
static bsm_status loop_end(bsm_script_emitter *e, const bsm_stmt *stmt, loop *l,
                           bsm_value *condition) {
  BSM_TRY(bsm_block_add_output(l->body, condition));
  for (size_t i = 0; i < l->count; i++) {
    const carried *item = &l->items[i];
    const bsm_binding *after = bsm_scope_find_own(&l->scope, item->name);
    bsm_value *value = NULL;
    if (after->sugar.kind != BSM_SUGAR_VALUE) {
      return bsm_se_error(e, stmt->pos, BSM_CORRUPT,
                          "'%s' is no value at the end of the loop",
                          item->name);
    }
    BSM_TRY_NOTE(bsm_se_convert(e, stmt->pos, after->sugar.value,
                                item->inner->type, &value),
                 "for '%s', carried by the loop", item->name);
    BSM_TRY(bsm_block_add_output(l->body, value));
  }
  e->block = l->node->block;
  e->scope = l->scope.parent;
  for (size_t i = 0; i < l->count; i++) {
    bsm_value *out = NULL;
    BSM_TRY(bsm_node_add_output(l->node, l->items[i].inner->type, &out));
    BSM_TRY(bsm_se_bind(e, l->items[i].name, stmt->pos, bsm_sugar_value(out)));
  }
  return BSM_OK;
}

bsm_status bsm_se_while(bsm_script_emitter *e, const bsm_stmt *stmt) {
  loop l = {0};
  bsm_value *trips, *condition;
  BSM_TRY(bsm_se_constant(e, stmt->pos, bsm_iv_int(INT64_MAX), NULL, &trips));
  BSM_TRY(bsm_se_condition(e, stmt->test, &condition));
  BSM_TRY(loop_begin(e, stmt, trips, condition, &l));
  BSM_TRY(bsm_se_stmts(e, &stmt->body));
  BSM_TRY(bsm_se_condition(e, stmt->test, &condition));
  return loop_end(e, stmt, &l, condition);
}

bsm_status bsm_se_for(bsm_script_emitter *e, const bsm_stmt *stmt) {
  loop l = {0};
  bsm_value *trips, *condition;
  BSM_TRY(bsm_se_value(e, stmt->test, NULL, &trips));
  BSM_TRY(bsm_se_convert(e, stmt->test->pos, trips,
                         bsm_type_simple(e->cx->types, BSM_TYPE_INT), &trips));
  BSM_TRY(bsm_se_constant(e, stmt->pos, bsm_iv_bool(true), NULL, &condition));
  BSM_TRY(loop_begin(e, stmt, trips, condition, &l));
  BSM_TRY(bsm_se_stmts(e, &stmt->body));
  BSM_TRY(bsm_se_constant(e, stmt->pos, bsm_iv_bool(true), NULL, &condition));
  return loop_end(e, stmt, &l, condition);
}

/* ---- with ---- */

/* Gradient modes have no meaning for inference. */
static bool is_grad_mode(const char *name) {
  return bsm_str_starts_with(bsm_str_of(name),
                             BSM_STR("__torch__.torch.autograd."));
}

static bsm_status call_context(bsm_script_emitter *e, const bsm_stmt *stmt,
                               bsm_value *context, const char *name,
                               size_t nones, bsm_value **out) {
  bsm_value *values[4] = {context};
  bsm_se_args args;
  bsm_function *fn = bsm_class_find_method(context->type->cls, name);
  if (!fn) {
    return bsm_se_error(e, stmt->pos, BSM_CORRUPT,
                        "a class without %s stands in a with", name);
  }
  for (size_t i = 0; i < nones; i++) {
    BSM_TRY(bsm_se_constant(e, stmt->pos, bsm_iv_none(), NULL, &values[1 + i]));
  }
  BSM_TRY(bsm_se_pack(e, values, 1 + nones, &args));
  return bsm_se_invoke(e, fn, name, stmt->pos, &args, out);
}

bsm_status bsm_se_with(bsm_script_emitter *e, const bsm_stmt *stmt) {
  bsm_value *context, *entered, *unused;
  BSM_TRY(bsm_se_value(e, stmt->test, NULL, &context));
  if (!context->type->cls) {
    return bsm_se_error(e, stmt->pos, BSM_CORRUPT,
                        "a value of type %s stands in a with",
                        bsm_script_type_text(e->script, context->type));
  }
  if (is_grad_mode(context->type->name)) return bsm_se_stmts(e, &stmt->body);
  BSM_TRY(call_context(e, stmt, context, "__enter__", 0, &entered));
  if (stmt->target_count > 0) {
    BSM_TRY(bsm_se_bind(e, stmt->targets[0]->name, stmt->pos,
                        bsm_sugar_value(entered)));
  }
  BSM_TRY(bsm_se_stmts(e, &stmt->body));
  return call_context(e, stmt, context, "__exit__", 3, &unused);
}
