/* SPDX-License-Identifier: Apache-2.0 */
/* prim::If on a condition that only the run will tell: both blocks are
 * specialised into blocks of a residual prim::If, from the same state. Their
 * results, and the locations that either wrote to, become outputs of the If
 * where they differ. */
#include "lowering/specialize/control/branch.h"

#include "lowering/specialize/control/reachable.h"
#include "lowering/specialize/control/residual_block.h"
#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/locations.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/worlds/world_ops.h"

/* Both blocks of one If. */
typedef struct branches {
  const bsm_node *from;
  bsm_node *node; /* the residual prim::If */
  bsm_residual_block filled[2];
  bsm_ivalue *results[2]; /* one for each output of `from` */
  const bsm_ivalue *condition;
  bsm_spec_references references[2]; /* by the results */
  size_t depth;                      /* of s, where results are merged */
  bool in_slot;                      /* what is merged is an attribute */
} branches;

static bsm_status fill_side(bsm_spec *s, branches *b, size_t which) {
  const bsm_block *from = b->from->blocks.items[which];
  bsm_residual_block *filled = &b->filled[which];
  BSM_TRY(bsm_residual_block_run(s, filled, from));
  for (size_t i = 0; i < b->from->outputs.len && !filled->raised; i++) {
    BSM_TRY(
        bsm_spec_get(s, bsm_node_in(from->returns, i), &b->results[which][i]));
    BSM_TRY(bsm_residual_block_capture(s, filled, &b->results[which][i]));
  }
  return BSM_OK;
}

static bsm_status run_side(bsm_spec *s, branches *b, size_t which) {
  const bsm_block *from = b->from->blocks.items[which];
  if (from->returns->inputs.len != b->from->outputs.len) {
    return BSM_FAIL(BSM_INTERNAL, "malformed prim::If");
  }
  b->results[which] =
      BSM_NEW_ARRAY(s->scratch, bsm_ivalue, b->from->outputs.len + 1);
  BSM_TRY_ALLOC(b->results[which]);
  /* The worlds in which this side is taken. */
  const uint64_t worlds = s->worlds.possible;
  s->worlds.possible = bsm_spec_worlds_where(s, b->condition, which == 0);
  bsm_status st = bsm_residual_block_open(s, b->node, &b->filled[which]);
  /* The optimal shape is one that the model takes. */
  b->filled[which].may_fail =
      bsm_spec_symbol_of(b->condition)->worlds && !(s->worlds.possible & 1u);
  b->filled[which].on_data = s->worlds.count == 0;
  if (!st) {
    st = fill_side(s, b, which);
  }
  s->worlds.possible = worlds;
  return bsm_residual_block_close(s, &b->filled[which], st);
}

/* ---- putting the two sides together ---- */

static bsm_status side_value(bsm_spec *s, branches *b, size_t which,
                             const bsm_ivalue *v, const bsm_ivalue *other,
                             const bsm_type *type, bsm_value **out) {
  const bsm_residual_block *filled = &b->filled[which];
  return bsm_spec_is_undefined(v)
             ? bsm_spec_placeholder(s, filled->block, other, type, out)
             : bsm_residual_block_value(s, filled, v, type, out);
}

static bsm_status add_output(branches *b, bsm_value *x, bsm_value *y,
                             const bsm_type *type, bsm_value **out) {
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_block_add_output(b->filled[0].block, x));
  BSM_TRY(bsm_block_add_output(b->filled[1].block, y));
  return bsm_node_add_output(b->node, type, out);
}

/* The type that holds both; Optional when one is None, Any for a Union. */
static bsm_status common_type(bsm_spec *s, const bsm_ivalue *x,
                              const bsm_ivalue *y, const bsm_type **out) {
  const bsm_type *a = bsm_spec_type_of(s, x), *c = bsm_spec_type_of(s, y);
  *out = bsm_spec_is_undefined(x)   ? c
         : bsm_spec_is_undefined(y) ? a
         : a == c                   ? a
                                    : bsm_type_unify(s->cx->types, a, c);
  if (!*out) *out = bsm_type_simple(s->cx->types, BSM_TYPE_ANY);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

static bool same_shape(const bsm_ivalue *x, const bsm_ivalue *y) {
  return x->tag == BSM_IVALUE_TENSOR && y->tag == BSM_IVALUE_TENSOR &&
         x->u.tensor->dtype == y->u.tensor->dtype &&
         bsm_dims_equal(x->u.tensor->sizes, y->u.tensor->sizes);
}

/* What is merged is another value from now on. *aliased: others have a list or
 * dict in it, which may be the merged one when the engine runs. */
static bsm_status note_merged(bsm_spec *s, const branches *b,
                              const bsm_ivalue *x, const bsm_ivalue *y,
                              bool *aliased) {
  const bsm_ivalue *sides[2] = {x, y};
  for (size_t i = 0; i < 2 && bsm_spec_tracks_sharing(s) && !*aliased; i++) {
    /* note_shared() tells how else a result itself can be reached. */
    const bool nested = b->in_slot || s->at.depth > b->depth;
    const uint64_t stamp = nested ? b->filled[i].left.created : 0;
    BSM_TRY(bsm_spec_may_alias(s, &b->references[i], sides[i], stamp, aliased));
  }
  BSM_TRY(bsm_spec_note_shared(s, x));
  return bsm_spec_note_shared(s, y);
}

/* Values that a graph can hold: one output of the If. */
static bsm_status merge_leaf(bsm_spec *s, branches *b, const bsm_ivalue *x,
                             const bsm_ivalue *y, bsm_ivalue *out) {
  bsm_value *vx = NULL, *vy = NULL, *value = NULL;
  const bsm_ivalue *known = bsm_spec_is_undefined(x) ? y : x;
  const bool one = known == y || bsm_spec_is_undefined(y);
  const bsm_type *type = NULL;
  bool aliased = false;
  BSM_TRY(common_type(s, x, y, &type));
  BSM_TRY(side_value(s, b, 0, x, y, type, &vx));
  BSM_TRY(side_value(s, b, 1, y, x, type, &vy));
  BSM_TRY(note_merged(s, b, x, y, &aliased));
  if (same_shape(x, y) || (one && known->tag == BSM_IVALUE_TENSOR)) {
    const bsm_tensor *like = known->u.tensor;
    bsm_tensor *t = NULL;
    BSM_TRY(bsm_tensor_new(s->cx->arena, like->dtype, like->sizes, true, &t));
    BSM_TRY(add_output(b, vx, vy, bsm_spec_tensor_type(s, t), &value));
    BSM_TRY(bsm_spec_bind_aliased(s, t, value));
    *out = bsm_iv_tensor(t);
    return BSM_OK;
  }
  BSM_TRY(add_output(b, vx, vy, type, &value));
  if (type->kind == BSM_TYPE_LIST || type->kind == BSM_TYPE_DICT) {
    BSM_TRY(bsm_spec_dynamic_new(s, type, value, out));
    return aliased ? bsm_spec_share_container(s, out) : BSM_OK;
  }
  BSM_TRY(bsm_spec_new_symbol(s, value, type, out));
  bsm_spec_symbol_of(out)->aliased = true;
  return bsm_spec_worlds_merge(s, b->condition, x, y, out);
}

static bsm_status merge_values(bsm_spec *s, branches *b, const bsm_ivalue *x,
                               const bsm_ivalue *y, bsm_ivalue *out);

static bsm_status merge_items(bsm_spec *s, branches *b, const bsm_ivalue *x,
                              const bsm_ivalue *y, size_t n, bsm_ivalue *out) {
  if (++s->at.depth > s->cx->limits.max_depth) {
    s->at.depth--;
    return BSM_FAIL(BSM_LIMIT, "a result of an if is nested too deep");
  }
  bsm_status st = BSM_OK;
  for (size_t i = 0; i < n && !st; i++) {
    st = merge_values(s, b, &x[i], &y[i], &out[i]);
  }
  s->at.depth--;
  return st;
}

static bool same_keys(const bsm_dict *x, const bsm_dict *y) {
  bool same = x->len == y->len;
  for (size_t i = 0; same && i < x->len; i++) {
    same = bsm_iv_equal(&x->keys[i], &y->keys[i]);
  }
  return same;
}

/* Two containers of the same structure stay known here; item by item. */
static bsm_status merge_structure(bsm_spec *s, branches *b, const bsm_ivalue *x,
                                  const bsm_ivalue *y, bool *done,
                                  bsm_ivalue *out) {
  bool aliased = false;
  *done = x->tag == y->tag && !bsm_spec_dynamic_find(s, x) &&
          !bsm_spec_dynamic_find(s, y);
  if (bsm_spec_containers_have_identity(s) &&
      x->tag != BSM_IVALUE_TUPLE) { /* they have identity */
    *done = false;
    return BSM_OK;
  }
  if (*done && x->tag == BSM_IVALUE_LIST && x->u.list->len == y->u.list->len) {
    const bsm_list *a = x->u.list;
    bsm_list *list = NULL;
    BSM_TRY(note_merged(s, b, x, y, &aliased));
    BSM_TRY(bsm_list_new(s->cx->arena, a->elem_type, a->len, &list));
    *out = bsm_iv_list(list);
    BSM_TRY(bsm_spec_note_allocation(s, out));
    if (aliased) BSM_TRY(bsm_spec_share_container(s, out));
    return merge_items(s, b, a->items, y->u.list->items, a->len, list->items);
  }
  if (*done && x->tag == BSM_IVALUE_TUPLE &&
      x->u.tuple->len == y->u.tuple->len) {
    const bsm_tuple *a = x->u.tuple;
    bsm_tuple *tuple = NULL;
    BSM_TRY(bsm_tuple_new(s->cx->arena, a->len, &tuple));
    tuple->type = a->type;
    *out = bsm_iv_tuple(tuple);
    return merge_items(s, b, a->items, y->u.tuple->items, a->len, tuple->items);
  }
  if (*done && x->tag == BSM_IVALUE_DICT && same_keys(x->u.dict, y->u.dict)) {
    const bsm_dict *a = x->u.dict;
    bsm_dict *dict = NULL;
    BSM_TRY(note_merged(s, b, x, y, &aliased));
    BSM_TRY(bsm_dict_new(s->cx->arena, a->key_type, a->value_type, &dict));
    for (size_t i = 0; i < a->len; i++) {
      BSM_TRY(bsm_dict_set(dict, a->keys[i], a->values[i]));
    }
    *out = bsm_iv_dict(dict);
    BSM_TRY(bsm_spec_note_allocation(s, out));
    if (aliased) BSM_TRY(bsm_spec_share_container(s, out));
    return merge_items(s, b, a->values, y->u.dict->values, a->len,
                       dict->values);
  }
  *done = false;
  return BSM_OK;
}

/* Whether a value that the other side leaves undefined, where it is never read,
 * can be what this side gives: a known one, or a container from outside. */
static bool can_stand(const bsm_spec *s, const branches *b,
                      const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_LIST || v->tag == BSM_IVALUE_DICT) {
    return bsm_spec_was_there(s, v, b->filled[0].left.created);
  }
  return bsm_spec_is_plain(v);
}

static bsm_status merge_values(bsm_spec *s, branches *b, const bsm_ivalue *x,
                               const bsm_ivalue *y, bsm_ivalue *out) {
  bool done = false;
  bsm_ivalue spread;
  *out = *x;
  /* Of a tensor or container from outside, what was written to it is an output
   * of its own. */
  if (bsm_iv_is(x, y) ||
      (bsm_spec_is_undefined(x) && bsm_spec_is_undefined(y))) {
    return BSM_OK;
  }
  if (bsm_spec_is_undefined(x) && can_stand(s, b, y)) {
    *out = *y;
    return BSM_OK;
  }
  if (bsm_spec_is_undefined(y) && can_stand(s, b, x)) {
    return BSM_OK;
  }
  if (bsm_spec_is_undefined(x) && y->tag == BSM_IVALUE_TUPLE) {
    BSM_TRY(bsm_spec_spread_undefined(s, y, &spread));
    x = &spread;
  } else if (bsm_spec_is_undefined(y) && x->tag == BSM_IVALUE_TUPLE) {
    BSM_TRY(bsm_spec_spread_undefined(s, x, &spread));
    y = &spread;
  }
  BSM_TRY(merge_structure(s, b, x, y, &done, out));
  if (done) {
    return BSM_OK;
  }
  if (x->tag == BSM_IVALUE_OBJECT || y->tag == BSM_IVALUE_OBJECT) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the two sides of an if whose condition depends on data "
                    "give different objects");
  }
  return merge_leaf(s, b, x, y, out);
}

/* A location that a side wrote to: its new content is an output of the If. */
static bsm_status merge_location(bsm_spec *s, branches *b,
                                 bsm_spec_location location) {
  const bsm_spec_content before = bsm_spec_content_of(location);
  bsm_spec_content sides[2];
  for (size_t i = 0; i < 2; i++) {
    const bsm_spec_content *c =
        bsm_residual_block_find(&b->filled[i], location);
    sides[i] = c ? *c : before;
  }
  if (location.kind == BSM_LOCATION_SLOT) {
    bsm_ivalue merged;
    /* A side that did not write has not captured the attribute either. */
    b->in_slot = true;
    BSM_TRY(merge_values(s, b, &sides[0].slot, &sides[1].slot, &merged));
    b->in_slot = false;
    BSM_TRY(bsm_spec_log(s, location));
    *location.u.slot = merged;
    return BSM_OK;
  }
  bsm_value *value = NULL;
  BSM_TRY(add_output(b, sides[0].value, sides[1].value,
                     bsm_spec_location_type(s, location), &value));
  BSM_TRY(bsm_spec_log(s, location));
  bsm_spec_location_set(s, location, value);
  return BSM_OK;
}

static bsm_status merge_locations(bsm_spec *s, branches *b) {
  for (size_t k = 0; k < 2; k++) {
    for (size_t i = 0; i < b->filled[k].write_count; i++) {
      const bsm_spec_location location = b->filled[k].writes[i].location;
      if (k == 0 || !bsm_residual_block_find(&b->filled[0], location)) {
        BSM_TRY(merge_location(s, b, location));
      }
    }
  }
  return BSM_OK;
}

/* ---- one side raises ---- */

/* The If has no results then: it only raises. What the other side does is done
 * after it. */
static bsm_status only_check(bsm_spec *s, branches *b, size_t raising) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_block *empty = NULL;
  if (raising == 1) { /* without what the first side did */
    bsm_value *condition = bsm_node_in(b->node, 0);
    bsm_node_destroy(b->node);
    BSM_TRY(bsm_node_create(s->residual.graph, "prim::If", &b->node));
    BSM_TRY(bsm_node_add_input(b->node, condition));
    BSM_TRY(bsm_node_add_block(b->node, &empty));
    BSM_TRY(run_side(s, b, 1));
  } else {
    BSM_TRY(bsm_node_add_block(b->node, &empty));
  }
  bsm_ir_link(&e, b->node);
  const bsm_block *other = b->from->blocks.items[1 - raising];
  BSM_TRY(bsm_spec_run_block(s, other));
  for (size_t i = 0; i < b->from->outputs.len; i++) {
    bsm_ivalue value;
    BSM_TRY(bsm_spec_get(s, bsm_node_in(other->returns, i), &value));
    BSM_TRY(bsm_spec_set(s, bsm_node_out(b->from, i), value));
  }
  return BSM_OK;
}

/* A list or dict that one side takes from outside is merged into a new one:
 * when others can still get at it, writes to one would not reach the other. */
static bsm_status note_shared(bsm_spec *s, const branches *b, size_t i,
                              const bsm_ivalue *out) {
  for (size_t k = 0;
       k < 2 && !b->filled[k].raised && bsm_spec_tracks_sharing(s); k++) {
    const bsm_ivalue *v = &b->results[k][i];
    const bsm_value *value = bsm_node_in(b->from->blocks.items[k]->returns, i);
    if ((v->tag != BSM_IVALUE_LIST && v->tag != BSM_IVALUE_DICT) ||
        v->u.container == out->u.container) {
      continue;
    }
    if (bsm_spec_was_made_after(s, v, b->filled[k].left.created) ||
        !bsm_spec_is_reachable(value, b->from)) {
      continue;
    }
    BSM_TRY(bsm_spec_share_container(s, v));
    BSM_TRY(bsm_spec_share_container(s, out));
  }
  return BSM_OK;
}

/* What both sides give. */
static bsm_status count_references(bsm_spec *s, branches *b) {
  for (size_t k = 0; k < 2; k++) {
    bsm_spec_references references = {0};
    for (size_t i = 0; i < b->from->outputs.len; i++) {
      BSM_TRY(bsm_spec_count_references(s, &references, &b->results[k][i]));
    }
    for (size_t i = 0; i < b->filled[k].write_count; i++) {
      if (b->filled[k].writes[i].location.kind == BSM_LOCATION_SLOT) {
        BSM_TRY(bsm_spec_count_references(s, &references,
                                          &b->filled[k].writes[i].slot));
      }
    }
    b->references[k] = references;
  }
  return BSM_OK;
}

static bsm_status merge_all(bsm_spec *s, branches *b) {
  b->depth = s->at.depth;
  BSM_TRY(count_references(s, b));
  BSM_TRY(merge_locations(s, b));
  for (size_t i = 0; i < b->from->outputs.len; i++) {
    bsm_ivalue out;
    BSM_TRY(merge_values(s, b, &b->results[0][i], &b->results[1][i], &out));
    BSM_TRY(note_shared(s, b, i, &out));
    BSM_TRY(bsm_spec_set(s, bsm_node_out(b->from, i), out));
  }
  return BSM_OK;
}

static bsm_status branch_once(bsm_spec *s, branches *b,
                              const bsm_ivalue *condition) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_value *value = NULL;
  BSM_TRY(bsm_spec_residual(s, condition, NULL, &value));
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::If", &b->node));
  BSM_TRY(bsm_node_add_input(b->node, value));
  for (size_t i = 0; i < 2; i++) {
    bsm_status st = run_side(s, b, i);
    if (st) {
      bsm_node_destroy(b->node);
      return st;
    }
    if (b->filled[i].raised) {
      return only_check(s, b, i);
    }
  }
  bsm_status st = merge_all(s, b);
  if (st) {
    bsm_node_destroy(b->node);
    return st;
  }
  bsm_ir_link(&e, b->node);
  return BSM_OK;
}

bsm_status bsm_spec_branch(bsm_spec *s, const bsm_node *node,
                           const bsm_ivalue *condition) {
  bsm_status st = BSM_OK;
  do {
    branches b = {.from = node, .condition = condition};
    st = branch_once(s, &b, condition);
  } while (bsm_spec_retry_dynamic(s, &st));
  return bsm_status_note(
      st, "in the if at %s, whose condition depends on data (%s)",
      bsm_spec_where(s), bsm_spec_symbol_origin(s, condition));
}
