/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose length only the run will tell, or that are too long to unroll:
 * one iteration is specialised, as the body of a residual prim::Loop.
 *
 * What an iteration may find differs from iteration to iteration. The first
 * attempt assumes that nothing does; what turns out to change, among the
 * carried values and the older locations that the body writes to, becomes a
 * carried value of the residual loop, in the most precise form that holds both,
 * and the body is tried again until nothing new changes. Forms only get wider,
 * so this ends. */
#include "lowering/specialize/control/loop.h"

#include "lowering/specialize/control/loop_forms.h"
#include "lowering/specialize/control/reachable.h"
#include "lowering/specialize/control/residual_block.h"
#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/locations.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"

/* Each attempt widens a form or adds a location, so far fewer do. */
#define MAX_TRIES 1000

/* A value that is carried: an output of the loop, or an older location. */
typedef struct carried {
  bool is_location;
  bsm_spec_location location;
  bsm_loop_form form;
  bsm_ivalue initial; /* values, and attributes */
  bsm_ivalue inside;  /* what the body began with */
  bsm_ivalue result;  /* what the body ended with */
  bool shared;        /* others have its lists or dicts, too */
} carried;

typedef struct loop {
  const bsm_node *from;
  bsm_node *node; /* the residual prim::Loop */
  bsm_residual_block filled;
  BSM_VEC(carried *) items; /* first the outputs of `from` */
  const bsm_ivalue *trips, *condition;
  bsm_ivalue go_on; /* the condition after an iteration */
  int64_t first;
  const char *limit;
} loop;

/* The abstract value of a form: leaves become new inputs of the body, or new
 * outputs of the node when `body` is NULL. */
static bsm_status bind(bsm_spec *s, loop *l, const bsm_loop_form *f,
                       const bsm_ivalue *initial, bsm_block *body,
                       bsm_ivalue *out) {
  bsm_value *value = NULL;
  const bsm_type *type = f->type;
  *out = *initial;
  if (f->kind == BSM_FORM_SAME) {
    return BSM_OK;
  }
  if (f->kind == BSM_FORM_TUPLE) {
    bsm_tuple *tuple = NULL;
    BSM_TRY(bsm_tuple_new(s->cx->arena, f->count, &tuple));
    tuple->type = initial->u.tuple->type;
    for (size_t i = 0; i < f->count; i++) {
      BSM_TRY(bind(s, l, &f->items[i], &initial->u.tuple->items[i], body,
                   &tuple->items[i]));
    }
    *out = bsm_iv_tuple(tuple);
    return BSM_OK;
  }
  if (f->kind == BSM_FORM_META) {
    type = bsm_type_tensor(s->cx->types, f->dtype, f->dims);
    BSM_TRY_ALLOC(type);
  }
  BSM_TRY(body ? bsm_block_add_input(body, type, &value)
               : bsm_node_add_output(l->node, type, &value));
  if (f->kind == BSM_FORM_DYNAMIC) {
    return bsm_spec_dynamic_new(s, type, value, out);
  }
  if (f->kind == BSM_FORM_SYMBOL) {
    BSM_TRY(bsm_spec_new_symbol(s, value, type, out));
    bsm_spec_symbol_of(out)->aliased = true;
    return BSM_OK;
  }
  bsm_tensor *t = NULL;
  BSM_TRY(bsm_tensor_new(s->cx->arena, f->dtype, f->dims, true, &t));
  BSM_TRY(bsm_spec_bind_aliased(s, t, value));
  *out = bsm_iv_tensor(t);
  return BSM_OK;
}

/* The residual values of the leaves of a value, in the order of bind(): inputs
 * of the node when `filled` is NULL, outputs of the body otherwise. */
static bsm_status feed(bsm_spec *s, loop *l, const bsm_loop_form *f,
                       const bsm_ivalue *value,
                       const bsm_residual_block *filled) {
  bsm_value *residual = NULL;
  if (f->kind == BSM_FORM_SAME) {
    return BSM_OK;
  }
  if (f->kind == BSM_FORM_TUPLE) {
    for (size_t i = 0; i < f->count; i++) {
      BSM_TRY(feed(s, l, &f->items[i], &value->u.tuple->items[i], filled));
    }
    return BSM_OK;
  }
  BSM_TRY(bsm_spec_note_shared(s, value));
  if (bsm_spec_is_undefined(value)) {
    bsm_ivalue like = bsm_iv_none();
    if (f->kind == BSM_FORM_META) {
      bsm_tensor *t = NULL;
      BSM_TRY(bsm_tensor_new(s->scratch, f->dtype, f->dims, true, &t));
      like = bsm_iv_tensor(t);
    }
    BSM_TRY(bsm_spec_placeholder(s, filled ? filled->block : s->residual.block,
                                 &like, f->type, &residual));
  } else {
    BSM_TRY(filled
                ? bsm_residual_block_value(s, filled, value, f->type, &residual)
                : bsm_spec_residual(s, value, f->type, &residual));
  }
  return filled ? bsm_block_add_output(filled->block, residual)
                : bsm_node_add_input(l->node, residual);
}

/* ---- one attempt ---- */

static bsm_status add_location(bsm_spec *s, loop *l,
                               bsm_spec_location location) {
  carried *c = BSM_NEW(s->scratch, carried);
  BSM_TRY_ALLOC(c);
  c->is_location = true;
  c->location = location;
  if (location.kind == BSM_LOCATION_SLOT) {
    c->initial = *location.u.slot;
  }
  BSM_TRY_ALLOC(bsm_vec_push(s->scratch, &l->items, c));
  return BSM_OK;
}

/* The value of a carried item when an iteration begins, or (body NULL) after
 * the loop. */
static bsm_status enter(bsm_spec *s, loop *l, carried *c, bsm_block *body,
                        bsm_ivalue *out) {
  bsm_value *value = NULL;
  if (!c->is_location) {
    BSM_TRY(bind(s, l, &c->form, &c->initial, body, out));
    return c->shared ? bsm_spec_share_all(s, out) : BSM_OK;
  }
  if (c->location.kind == BSM_LOCATION_SLOT) {
    BSM_TRY(bind(s, l, &c->form, &c->initial, body, out));
    if (c->shared) BSM_TRY(bsm_spec_share_all(s, out));
    BSM_TRY(bsm_spec_log(s, c->location));
    *c->location.u.slot = *out;
    return BSM_OK;
  }
  const bsm_type *type = bsm_spec_location_type(s, c->location);
  BSM_TRY_ALLOC(type);
  BSM_TRY(body ? bsm_block_add_input(body, type, &value)
               : bsm_node_add_output(l->node, type, &value));
  BSM_TRY(bsm_spec_log(s, c->location));
  bsm_spec_location_set(s, c->location, value);
  return BSM_OK;
}

/* A list or dict that changes from iteration to iteration, and that others can
 * still get at: what is done to the variable would not reach it. */
static bsm_status note_shared(bsm_spec *s, const loop *l, size_t i,
                              const bsm_ivalue *variable) {
  const carried *c = l->items.items[i];
  if (!bsm_spec_tracks_sharing(s) || c->is_location ||
      c->form.kind != BSM_FORM_DYNAMIC ||
      (c->initial.tag != BSM_IVALUE_LIST &&
       c->initial.tag != BSM_IVALUE_DICT) ||
      !bsm_spec_is_reachable(bsm_node_in(l->from, i + 2), l->from)) {
    return BSM_OK;
  }
  BSM_TRY(bsm_spec_share_container(s, &c->initial));
  return bsm_spec_share_container(s, variable);
}

/* The inputs of the residual loop, from the state before it. */
static bsm_status begin_node(bsm_spec *s, loop *l) {
  const bsm_ivalue rest = bsm_iv_int(
      l->trips->tag == BSM_IVALUE_INT ? l->trips->u.i - l->first : 0);
  bsm_value *trips = NULL, *condition = NULL;
  BSM_TRY(bsm_spec_residual(
      s, l->trips->tag == BSM_IVALUE_INT ? &rest : l->trips, NULL, &trips));
  BSM_TRY(bsm_spec_residual(s, l->condition, NULL, &condition));
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::Loop", &l->node));
  if (l->limit) {
    bsm_ivalue name;
    BSM_TRY(bsm_iv_string(s->cx->arena, bsm_str_of(l->limit), &name));
    BSM_TRY(bsm_node_set_attr(l->node, "limit", name));
  }
  BSM_TRY(bsm_node_add_input(l->node, trips));
  BSM_TRY(bsm_node_add_input(l->node, condition));
  for (size_t i = 0; i < l->items.len; i++) {
    carried *c = l->items.items[i];
    if (!c->is_location || c->location.kind == BSM_LOCATION_SLOT) {
      BSM_TRY(feed(s, l, &c->form, &c->initial, NULL));
      continue;
    }
    if (c->location.kind == BSM_LOCATION_STORAGE) {
      BSM_TRY(bsm_spec_materialize(s, c->location.u.storage->base->tensor));
    }
    const bsm_spec_content now = bsm_spec_content_of(c->location);
    BSM_TRY(bsm_node_add_input(l->node, now.value));
  }
  return BSM_OK;
}

/* The number of the iteration: an input of the body, plus the iterations before
 * it. */
static bsm_status bind_iteration(bsm_spec *s, loop *l, bsm_block *body) {
  bsm_value *iteration = NULL;
  bsm_ivalue args[2], out;
  const bsm_type *type = bsm_type_simple(s->cx->types, BSM_TYPE_INT);
  BSM_TRY(bsm_block_add_input(body, type, &iteration));
  BSM_TRY(bsm_spec_new_symbol(s, iteration, type, &out));
  if (l->first) {
    args[0] = out;
    args[1] = bsm_iv_int(l->first);
    BSM_TRY(bsm_spec_op_named(s, "aten::add.int", args, 2, &out));
  }
  return bsm_spec_set(s, bsm_node_out(l->from->blocks.items[0]->params, 0),
                      out);
}

static bsm_status run_iteration(bsm_spec *s, loop *l) {
  const bsm_block *body = l->from->blocks.items[0];
  const size_t outputs = l->from->outputs.len;
  BSM_TRY(bind_iteration(s, l, l->filled.block));
  for (size_t i = 0; i < l->items.len; i++) {
    carried *c = l->items.items[i];
    BSM_TRY(enter(s, l, c, l->filled.block, &c->inside));
    BSM_TRY(note_shared(s, l, i, &c->inside));
    if (!c->is_location) {
      BSM_TRY(bsm_spec_set(s, bsm_node_out(body->params, i + 1), c->inside));
    }
  }
  BSM_TRY(bsm_residual_block_run(s, &l->filled, body));
  l->go_on = bsm_iv_bool(false);
  for (size_t i = 0; i < outputs; i++) {
    carried *c = l->items.items[i];
    c->result = c->inside;
    if (!l->filled.raised) {
      BSM_TRY(bsm_spec_get(s, bsm_node_in(body->returns, i + 1), &c->result));
    }
    BSM_TRY(bsm_residual_block_capture(s, &l->filled, &c->result));
  }
  return l->filled.raised
             ? BSM_OK
             : bsm_spec_get(s, bsm_node_in(body->returns, 0), &l->go_on);
}

static bool holds_values(const carried *c) {
  return !c->is_location || c->location.kind == BSM_LOCATION_SLOT;
}

/* Whether a list or dict that the item carries is what the item began with, or
 * another did: they only change places. */
static bool is_inside(const loop *l, const bsm_ivalue *v) {
  for (size_t i = 0; i < l->items.len; i++) {
    if (bsm_spec_is_identical(&l->items.items[i]->inside, v)) return true;
  }
  return false;
}

/* Lists and dicts that change from iteration to iteration while others have
 * them. */
static bsm_status widen_shared(bsm_spec *s, loop *l, bool *changed) {
  bsm_spec_references before = {0}, after = {0};
  for (size_t i = 0; i < l->items.len; i++) {
    const carried *c = l->items.items[i];
    if (!holds_values(c)) continue;
    BSM_TRY(bsm_spec_count_references(s, &before, &c->initial));
    BSM_TRY(bsm_spec_count_references(s, &after, &c->result));
  }
  for (size_t i = 0; i < l->items.len && bsm_spec_tracks_sharing(s); i++) {
    carried *c = l->items.items[i];
    bool result_aliased = false, initial_aliased = false;
    if (!holds_values(c) || c->shared || c->form.kind == BSM_FORM_SAME ||
        c->form.kind == BSM_FORM_META || c->form.kind == BSM_FORM_SYMBOL) {
      continue;
    }
    BSM_TRY(bsm_spec_may_alias(
        s, &after, &c->result,
        is_inside(l, &c->result) ? 0 : l->filled.left.created,
        &result_aliased));
    /* The loop itself keeps what the item began with. */
    BSM_TRY(bsm_spec_may_alias(s, &before, &c->initial,
                               c->form.kind == BSM_FORM_TUPLE,
                               &initial_aliased));
    if (result_aliased || initial_aliased) c->shared = *changed = true;
  }
  return BSM_OK;
}

/* What the iteration changed that is not carried yet. */
static bsm_status widen(bsm_spec *s, loop *l, bool *changed) {
  const size_t known = l->items.len;
  for (size_t i = 0; i < known; i++) {
    carried *c = l->items.items[i];
    if (c->is_location) {
      const bsm_spec_content *now =
          bsm_residual_block_find(&l->filled, c->location);
      c->result = now ? now->slot : c->initial;
    }
    if (!c->is_location || c->location.kind == BSM_LOCATION_SLOT) {
      BSM_TRY(
          bsm_loop_form_join(s, &c->initial, &c->result, &c->form, changed));
    }
  }
  BSM_TRY(widen_shared(s, l, changed));
  for (size_t i = 0; i < l->filled.write_count; i++) {
    bool found = false;
    const bsm_spec_location location = l->filled.writes[i].location;
    for (size_t k = l->from->outputs.len; k < known && !found; k++) {
      found = l->items.items[k]->location.u.key == location.u.key;
    }
    if (!found) {
      BSM_TRY(add_location(s, l, location));
      *changed = true;
    }
  }
  return BSM_OK;
}

/* The outputs of the body, and of the node. */
static bsm_status finish(bsm_spec *s, loop *l) {
  const bsm_residual_block *filled = &l->filled;
  bsm_value *condition = NULL;
  BSM_TRY(bsm_residual_block_value(s, filled, &l->go_on, NULL, &condition));
  BSM_TRY(bsm_block_add_output(filled->block, condition));
  for (size_t i = 0; i < l->items.len; i++) {
    const carried *c = l->items.items[i];
    if (!c->is_location || c->location.kind == BSM_LOCATION_SLOT) {
      BSM_TRY(feed(s, l, &c->form, &c->result, filled));
      continue;
    }
    const bsm_spec_content *left = bsm_residual_block_find(filled, c->location);
    if (!left) {
      return BSM_FAIL(BSM_INTERNAL, "a loop lost what it writes to");
    }
    BSM_TRY(bsm_block_add_output(filled->block, left->value));
  }
  for (size_t i = 0; i < l->items.len; i++) {
    carried *c = l->items.items[i];
    bsm_ivalue out;
    BSM_TRY(enter(s, l, c, NULL, &out));
    BSM_TRY(note_shared(s, l, i, &out));
    if (!c->is_location) {
      BSM_TRY(bsm_spec_set(s, bsm_node_out(l->from, i), out));
    }
  }
  return BSM_OK;
}

static bsm_status attempt(bsm_spec *s, loop *l, bool *changed) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  *changed = false;
  BSM_TRY(begin_node(s, l));
  /* In a branch, what fails is the iteration: there may be none. */
  const bool inside = s->residual.block_depth > 0;
  bsm_status st = bsm_residual_block_open(s, l->node, &l->filled);
  l->filled.on_data = inside && s->worlds.count == 0;
  if (!st) {
    st = run_iteration(s, l);
  }
  st = bsm_residual_block_close(s, &l->filled, st);
  if (!st) {
    st = widen(s, l, changed);
  }
  if (!st && !*changed) {
    st = finish(s, l);
  }
  if (st || *changed) {
    bsm_node_destroy(l->node);
    return st;
  }
  bsm_ir_link(&e, l->node);
  return BSM_OK;
}

bsm_status bsm_spec_loop(bsm_spec *s, const bsm_node *node, int64_t first,
                         const bsm_ivalue *trips, const bsm_ivalue *condition,
                         const char *limit) {
  const bsm_block *body = node->blocks.items[0];
  loop l = {.from = node,
            .trips = trips,
            .condition = condition,
            .first = first,
            .limit = limit};
  for (size_t i = 0; i < node->outputs.len; i++) {
    carried *c = BSM_NEW(s->scratch, carried);
    BSM_TRY_ALLOC(c);
    BSM_TRY(bsm_spec_get(s, bsm_node_out(body->params, i + 1), &c->initial));
    BSM_TRY_ALLOC(bsm_vec_push(s->scratch, &l.items, c));
  }
  bool changed = true;
  bsm_status st = BSM_OK;
  for (int tries = 0; changed && !st; tries++) {
    if (tries == MAX_TRIES) {
      return BSM_FAIL(BSM_INTERNAL,
                      "what changes in the turns of a loop was not found after "
                      "%d attempts",
                      MAX_TRIES);
    }
    st = attempt(s, &l, &changed);
    if (bsm_spec_retry_dynamic(s, &st)) {
      changed = true;
    }
  }
  return bsm_status_note(st,
                         limit ? "in the loop at %s, which is too long to "
                                 "unroll"
                               : "in the loop at %s, whose length depends on "
                                 "data",
                         bsm_spec_where(s));
}
