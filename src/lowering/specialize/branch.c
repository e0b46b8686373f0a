/* SPDX-License-Identifier: Apache-2.0 */
/* prim::If on a condition that only the run will tell: both blocks are
 * specialised into blocks of a residual prim::If.
 *
 * Each block starts from the same state: what it writes to storages from
 * outside is undone after it, and becomes an output of the If. Lists, dicts and
 * objects from outside may not be changed. A block that raises is left out,
 * with a warning: an engine cannot raise. */
#include "lowering/specialize/specialize.h"

/* One block, specialised. */
typedef struct side {
  bsm_block *block;
  bool raised;
  uint64_t birth;        /* stamp when it began */
  bsm_ivalue *results;   /* one for each output of the If */
  bsm_ptrmap values;     /* bsm_tensor of the results -> its residual value */
  bsm_spec_undo *writes; /* storages from outside, with their new values */
  size_t write_count;
} side;

/* The residual values of all tensors of a result, while they can be had. */
static bsm_status capture(bsm_spec *s, side *out, const bsm_ivalue *value,
                          size_t depth) {
  const bsm_ivalue *items = NULL;
  size_t n = 0;
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a result of an if is nested too deep");
  }
  if (value->tag == BSM_IVALUE_TENSOR) {
    bsm_value *residual = NULL;
    BSM_TRY(bsm_spec_tensor_value(s, value->u.tensor, &residual));
    BSM_TRY_ALLOC(
        bsm_ptrmap_set(s->scratch, &out->values, value->u.tensor, residual));
    return BSM_OK;
  }
  if (value->tag == BSM_IVALUE_LIST) {
    items = value->u.list->items;
    n = value->u.list->len;
  } else if (value->tag == BSM_IVALUE_TUPLE) {
    items = value->u.tuple->items;
    n = value->u.tuple->len;
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(capture(s, out, &items[i], depth + 1));
  }
  return BSM_OK;
}

/* Takes back what was written since `mark`; keeps the new values. */
static bsm_status undo_writes(bsm_spec *s, size_t mark, side *out) {
  out->writes =
      BSM_NEW_ARRAY(s->scratch, bsm_spec_undo, s->undo.len - mark + 1);
  BSM_TRY_ALLOC(out->writes);
  while (s->undo.len > mark) {
    const bsm_spec_undo undo = s->undo.items[--s->undo.len];
    bsm_spec_storage *storage = undo.storage;
    bool skip = storage->birth > out->birth; /* of the block itself */
    for (size_t i = 0; i < out->write_count && !skip; i++) {
      skip = out->writes[i].storage == storage;
    }
    if (!skip) {
      out->writes[out->write_count++] =
          (bsm_spec_undo){storage, storage->value, storage->version};
    }
    storage->value = undo.value;
    storage->version = undo.version;
  }
  return BSM_OK;
}

static bsm_status run_inside(bsm_spec *s, const bsm_node *node,
                             const bsm_block *from, side *out) {
  bsm_status st = bsm_spec_run_block(s, from);
  if (bsm_status_code(st) == BSM_RAISED) {
    bsm_log(s->logger, BSM_LOG_LEVEL_WARNING,
            "a check that depends on data is left out of the engine: %s",
            bsm_status_message(st));
    bsm_status_free(st);
    out->raised = true;
    return BSM_OK;
  }
  BSM_TRY(st);
  for (size_t i = 0; i < node->outputs.len; i++) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(from->returns, i), &out->results[i]));
    BSM_TRY(capture(s, out, &out->results[i], 0));
  }
  return BSM_OK;
}

static bsm_status run_side(bsm_spec *s, const bsm_node *node, size_t which,
                           bsm_node *residual, side *out) {
  const bsm_block *from = node->blocks.items[which];
  const size_t mark = s->undo.len;
  bsm_block *outer = s->block;
  const uint64_t outer_birth = s->branch_birth;
  if (from->returns->inputs.len != node->outputs.len) {
    return BSM_FAIL(BSM_INTERNAL, "malformed prim::If");
  }
  BSM_TRY(bsm_node_add_block(residual, &out->block));
  out->results = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, node->outputs.len + 1);
  BSM_TRY_ALLOC(out->results);
  BSM_TRY_ALLOC(bsm_vec_push(s->scratch, &s->open_blocks, out->block));
  s->block = out->block;
  s->branch_depth++;
  out->birth = s->branch_birth = bsm_spec_tick(s);
  bsm_status st = run_inside(s, node, from, out);
  s->branch_birth = outer_birth;
  s->branch_depth--;
  s->block = outer;
  s->open_blocks.len--;
  return bsm_status_join(st, undo_writes(s, mark, out));
}

/* ---- putting the two sides together ---- */

typedef struct merge {
  bsm_node *node; /* the residual prim::If */
  side *sides[2];
} merge;

static bsm_status add_output(merge *m, bsm_value *a, bsm_value *b,
                             const bsm_type *type, bsm_value **out) {
  BSM_TRY(bsm_block_add_output(m->sides[0]->block, a));
  BSM_TRY(bsm_block_add_output(m->sides[1]->block, b));
  return bsm_node_add_output(m->node, type, out);
}

/* The residual value of a leaf of one side. */
static bsm_status leaf_value(bsm_spec *s, merge *m, size_t which,
                             const bsm_ivalue *v, bsm_value **out) {
  side *from = m->sides[which];
  if (v->tag == BSM_IVALUE_TENSOR) {
    *out = bsm_ptrmap_get(&from->values, v->u.tensor);
    return *out ? BSM_OK : BSM_FAIL(BSM_INTERNAL, "a result without a value");
  }
  bsm_block *outer = s->block;
  s->block = from->block;
  bsm_status st = bsm_spec_residual(s, v, NULL, out);
  s->block = outer;
  return st;
}

static bool undefined(const bsm_ivalue *v) {
  return bsm_spec_is_symbol(v) && !bsm_spec_symbol_of(v)->value;
}

static const bsm_type *leaf_type(bsm_spec *s, const bsm_ivalue *v) {
  return bsm_spec_is_symbol(v) ? bsm_spec_symbol_of(v)->type
                               : bsm_type_of_value(s->cx->types, v);
}

/* What never is read may be anything: a tensor of zeros, a zero. */
static bsm_status any_value_like(bsm_spec *s, merge *m, size_t which,
                                 const bsm_ivalue *other, bsm_value **out) {
  bsm_ivalue filler = *other;
  const bsm_emitter e = {.graph = s->graph,
                         .block = m->sides[which]->block,
                         .aten = s->aten,
                         .source = bsm_spec_source(s)};
  if (other->tag == BSM_IVALUE_TENSOR) {
    const bsm_tensor *like = other->u.tensor;
    const int64_t strides[BSM_MAX_RANK] = {0};
    bsm_tensor *one = NULL, *all = NULL;
    BSM_TRY(bsm_tensor_from_int(s->cx->arena, like->dtype, 0, &one));
    BSM_TRY(bsm_tensor_view(s->cx->arena, one, like->sizes, strides, 0, &all));
    filler = bsm_iv_tensor(all);
  } else if (bsm_spec_is_symbol(other)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a value is left undefined on one side of an if whose "
                    "condition depends on data");
  }
  return bsm_ir_constant(&e, filler, NULL, out);
}

static bsm_status merge_leaf(bsm_spec *s, merge *m, const bsm_ivalue *a,
                             const bsm_ivalue *b, bsm_ivalue *out) {
  bsm_value *va = NULL, *vb = NULL, *value = NULL;
  const bsm_ivalue *known = undefined(a) ? b : a;
  BSM_TRY(undefined(a) ? any_value_like(s, m, 0, b, &va)
                       : leaf_value(s, m, 0, a, &va));
  BSM_TRY(undefined(b) ? any_value_like(s, m, 1, a, &vb)
                       : leaf_value(s, m, 1, b, &vb));
  const bool one_side = undefined(a) || undefined(b);
  if (known->tag == BSM_IVALUE_TENSOR &&
      (one_side || (b->tag == BSM_IVALUE_TENSOR &&
                    a->u.tensor->dtype == b->u.tensor->dtype &&
                    bsm_dims_equal(a->u.tensor->sizes, b->u.tensor->sizes)))) {
    const bsm_tensor *like = known->u.tensor;
    bsm_tensor *t = NULL;
    BSM_TRY(bsm_tensor_new(s->cx->arena, like->dtype, like->sizes, true, &t));
    BSM_TRY(add_output(m, va, vb, bsm_spec_tensor_type(s, t), &value));
    BSM_TRY(bsm_spec_bind_base(s, t, value));
    bsm_spec_tensor_find(s, t)->storage->joined = true;
    *out = bsm_iv_tensor(t);
    return BSM_OK;
  }
  const bsm_type *ta = leaf_type(s, a), *tb = leaf_type(s, b);
  const bsm_type *type = undefined(a)   ? tb
                         : undefined(b) ? ta
                         : ta == tb     ? ta
                                        : bsm_type_unify(s->cx->types, ta, tb);
  if (!type || type->kind == BSM_TYPE_OPTIONAL) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a value is a %s or a %s, depending on data",
                    bsm_iv_tag_name(a->tag), bsm_iv_tag_name(b->tag));
  }
  BSM_TRY(add_output(m, va, vb, type, &value));
  BSM_TRY(bsm_spec_new_symbol(s, value, type, out));
  bsm_spec_symbol_of(out)->aliased = true;
  return BSM_OK;
}

static bsm_status merge_values(bsm_spec *s, merge *m, const bsm_ivalue *a,
                               const bsm_ivalue *b, size_t depth,
                               bsm_ivalue *out);

static bsm_status merge_items(bsm_spec *s, merge *m, const bsm_ivalue *a,
                              const bsm_ivalue *b, size_t n, size_t depth,
                              bsm_ivalue *out) {
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(merge_values(s, m, &a[i], &b[i], depth + 1, &out[i]));
  }
  return BSM_OK;
}

static bool is_leaf(const bsm_ivalue *v) {
  switch (v->tag) {
    case BSM_IVALUE_INT:
    case BSM_IVALUE_DOUBLE:
    case BSM_IVALUE_BOOL:
    case BSM_IVALUE_TENSOR:
    case BSM_IVALUE_CONTAINER:
      return true;
    default:
      return false;
  }
}

/* A tensor from outside, written to or not: its storage's own output of the If
 * carries what was written. */
static bool same_tensor(const bsm_ivalue *a, const bsm_ivalue *b) {
  return a->tag == BSM_IVALUE_TENSOR && b->tag == BSM_IVALUE_TENSOR &&
         a->u.tensor == b->u.tensor;
}

static bsm_status merge_values(bsm_spec *s, merge *m, const bsm_ivalue *a,
                               const bsm_ivalue *b, size_t depth,
                               bsm_ivalue *out) {
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a result of an if is nested too deep");
  }
  if (undefined(a) && undefined(b)) {
    *out = *a;
    return BSM_OK;
  }
  if (same_tensor(a, b) ||
      (a->tag != BSM_IVALUE_TENSOR && a->tag != BSM_IVALUE_LIST &&
       a->tag != BSM_IVALUE_TUPLE && a->tag == b->tag && bsm_iv_equal(a, b))) {
    *out = *a;
    return BSM_OK;
  }
  if (is_leaf(a) && is_leaf(b)) {
    return merge_leaf(s, m, a, b, out);
  }
  if (undefined(a) || undefined(b)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a container is left undefined on one side of an if whose "
                    "condition depends on data");
  }
  if (a->tag == BSM_IVALUE_LIST && b->tag == BSM_IVALUE_LIST &&
      a->u.list->len == b->u.list->len) {
    if (a->u.list == b->u.list) {
      *out = *a;
      return BSM_OK;
    }
    bsm_list *list = NULL;
    BSM_TRY(bsm_list_new(s->cx->arena, a->u.list->elem_type, a->u.list->len,
                         &list));
    *out = bsm_iv_list(list);
    return merge_items(s, m, a->u.list->items, b->u.list->items, list->len,
                       depth, list->items);
  }
  if (a->tag == BSM_IVALUE_TUPLE && b->tag == BSM_IVALUE_TUPLE &&
      a->u.tuple->len == b->u.tuple->len) {
    bsm_tuple *tuple = NULL;
    BSM_TRY(bsm_tuple_new(s->cx->arena, a->u.tuple->len, &tuple));
    tuple->type = a->u.tuple->type;
    *out = bsm_iv_tuple(tuple);
    return merge_items(s, m, a->u.tuple->items, b->u.tuple->items, tuple->len,
                       depth, tuple->items);
  }
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "the two sides of an if whose condition depends on data give "
                  "a %s and a %s that cannot be told apart later",
                  bsm_iv_tag_name(a->tag), bsm_iv_tag_name(b->tag));
}

/* The new value of a storage on one side: what it wrote, else the old one. */
static bsm_value *written(const side *from, bsm_spec_storage *storage) {
  for (size_t i = 0; i < from->write_count; i++) {
    if (from->writes[i].storage == storage) {
      return from->writes[i].value;
    }
  }
  return storage->value;
}

static bsm_status merge_writes(bsm_spec *s, merge *m) {
  for (size_t k = 0; k < 2; k++) {
    for (size_t i = 0; i < m->sides[k]->write_count; i++) {
      bsm_spec_storage *storage = m->sides[k]->writes[i].storage;
      bsm_value *value = NULL;
      bool seen = false;
      for (size_t j = 0; k == 1 && j < m->sides[0]->write_count; j++) {
        seen = seen || m->sides[0]->writes[j].storage == storage;
      }
      if (seen) {
        continue;
      }
      const bsm_type *type = bsm_spec_tensor_type(s, storage->base->tensor);
      BSM_TRY_ALLOC(type);
      BSM_TRY(add_output(m, written(m->sides[0], storage),
                         written(m->sides[1], storage), type, &value));
      if (s->branch_depth > 0) { /* inside another branch: to be undone too */
        const bsm_spec_undo undo = {storage, storage->value, storage->version};
        BSM_TRY_ALLOC(bsm_vec_push(s->scratch, &s->undo, undo));
      }
      storage->value = value;
      storage->version = bsm_spec_tick(s);
    }
  }
  return BSM_OK;
}

static bsm_status run_alone(bsm_spec *s, const bsm_node *node, size_t which) {
  const bsm_block *block = node->blocks.items[which];
  BSM_TRY(bsm_spec_run_block(s, block));
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_ivalue value;
    BSM_TRY(bsm_spec_get(s, bsm_node_in(block->returns, i), &value));
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), value));
  }
  return BSM_OK;
}

bsm_status bsm_spec_branch(bsm_spec *s, const bsm_node *node,
                           const bsm_ivalue *condition) {
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_value *value = NULL;
  side sides[2] = {{0}};
  merge m = {.sides = {&sides[0], &sides[1]}};
  BSM_TRY(bsm_spec_residual(s, condition, NULL, &value));
  BSM_TRY(bsm_node_create(s->graph, "prim::If", &m.node));
  BSM_TRY(bsm_node_add_input(m.node, value));
  for (size_t i = 0; i < 2; i++) {
    BSM_TRY_NOTE(run_side(s, node, i, m.node, &sides[i]),
                 "in the if at %s, whose condition depends on data (%s)",
                 bsm_spec_where(s), bsm_spec_symbol_origin(s, condition));
    if (sides[i].raised) {
      bsm_node_destroy(m.node);
      return run_alone(s, node, 1 - i);
    }
  }
  bsm_ivalue *outs = BSM_NEW_ARRAY(s->stack, bsm_ivalue, node->outputs.len + 1);
  BSM_TRY_ALLOC(outs);
  BSM_TRY(merge_writes(s, &m));
  for (size_t i = 0; i < node->outputs.len; i++) {
    BSM_TRY_NOTE(merge_values(s, &m, &sides[0].results[i], &sides[1].results[i],
                              0, &outs[i]),
                 "in the if at %s, whose condition depends on data (%s)",
                 bsm_spec_where(s), bsm_spec_symbol_origin(s, condition));
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), outs[i]));
  }
  if (m.node->outputs.len == 0) {
    bsm_node_destroy(m.node);
    return BSM_OK;
  }
  bsm_ir_link(&e, m.node);
  return BSM_OK;
}
