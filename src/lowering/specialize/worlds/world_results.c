/* SPDX-License-Identifier: Apache-2.0 */
/* What the results of an op become that was run in each world: where they agree
 * they are known, and checked in the residual graph; else they are symbols. */
#include "lowering/specialize/worlds/world_results.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/literal_ops.h"
#include "lowering/specialize/memory/symbol_views.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/worlds/world_checks.h"
#include "lowering/specialize/worlds/world_data.h"

static bool same_data(const bsm_tensor *a, const bsm_tensor *b) {
  const int64_t n = bsm_tensor_numel(a);
  if (bsm_tensor_is_meta(a) || bsm_tensor_is_meta(b) || n > BSM_WORLD_DATA) {
    return false;
  }
  for (int64_t i = 0; i < n; i++) {
    const double x = bsm_tensor_get_double(a, i);
    const double y = bsm_tensor_get_double(b, i);
    if (x < y || x > y ||
        bsm_tensor_get_int(a, i) != bsm_tensor_get_int(b, i)) {
      return false;
    }
  }
  return true;
}

typedef enum agreement {
  AGREE_NOT = 0,
  AGREE_DIMS, /* tensors of the same dims and dtype */
  AGREE_ALL
} agreement;

static agreement agree(const bsm_ivalue *a, const bsm_ivalue *b) {
  if (a->tag != b->tag) {
    return AGREE_NOT;
  }
  if (a->tag == BSM_IVALUE_TENSOR) {
    const bsm_tensor *x = a->u.tensor, *y = b->u.tensor;
    if (x->dtype != y->dtype || !bsm_dims_equal(x->sizes, y->sizes)) {
      return AGREE_NOT;
    }
    return same_data(x, y) ? AGREE_ALL : AGREE_DIMS;
  }
  if (a->tag == BSM_IVALUE_LIST) {
    agreement all = a->u.list->len == b->u.list->len ? AGREE_ALL : AGREE_NOT;
    for (size_t i = 0; i < a->u.list->len && all; i++) {
      const agreement one = agree(&a->u.list->items[i], &b->u.list->items[i]);
      all = one < all ? one : all;
    }
    return all == AGREE_DIMS ? AGREE_NOT : all;
  }
  return bsm_iv_equal(a, b) ? AGREE_ALL : AGREE_NOT;
}

static agreement agreement_of(const bsm_spec *s, const bsm_world_results *r,
                              size_t out) {
  agreement all = AGREE_ALL;
  const bsm_ivalue *first = &r->rows[r->first][out];
  for (size_t w = r->first + 1; w < s->worlds.count; w++) {
    if (bsm_world_is_possible(&s->worlds, w)) {
      const agreement one = agree(first, &r->rows[w][out]);
      all = one < all ? one : all;
    }
  }
  if (first->tag == BSM_IVALUE_TENSOR && all == AGREE_ALL &&
      !same_data(first->u.tensor, first->u.tensor)) {
    return AGREE_DIMS;
  }
  return all;
}

/* Gives a symbol its values in the worlds: item `item` of result `out` when it
 * is a list, else (item < 0) the result. */
static bsm_status set_worlds(bsm_spec *s, const bsm_world_results *r,
                             size_t out, int64_t item, bsm_ivalue *symbol) {
  bsm_spec_symbol *own = bsm_spec_symbol_of(symbol);
  own->worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, s->worlds.count);
  BSM_TRY_ALLOC(own->worlds);
  for (size_t w = 0; w < s->worlds.count; w++) {
    const size_t row =
        r->rows[w] && bsm_world_is_possible(&s->worlds, w) ? w : r->first;
    own->worlds[w] =
        item < 0 ? r->rows[row][out] : r->rows[row][out].u.list->items[item];
    BSM_TRY(bsm_world_drop_large_data(s->scratch, &own->worlds[w]));
  }
  return BSM_OK;
}

/* Whether item `item` of a list of results is the same in all worlds. */
static agreement item_agreement(const bsm_spec *s, const bsm_world_results *r,
                                size_t out, size_t item) {
  agreement all = AGREE_ALL;
  const bsm_ivalue *first = &r->rows[r->first][out].u.list->items[item];
  for (size_t w = r->first + 1; w < s->worlds.count; w++) {
    if (bsm_world_is_possible(&s->worlds, w)) {
      const agreement one = agree(first, &r->rows[w][out].u.list->items[item]);
      all = one < all ? one : all;
    }
  }
  return all;
}

/* A tensor of the same dims in all worlds, but of other data. */
static bsm_status bind_tensor(bsm_spec *s, const bsm_tensor *like,
                              bsm_value *value, bool shared, bsm_ivalue *out) {
  bsm_tensor *t = NULL;
  BSM_TRY(bsm_tensor_new(s->cx->arena, like->dtype, like->sizes, true, &t));
  value->type = bsm_spec_tensor_type(s, t);
  BSM_TRY_ALLOC(value->type);
  BSM_TRY(bsm_spec_bind_base(s, t, value));
  bsm_spec_tensor_find(s, t)->storage->may_alias = shared;
  *out = bsm_iv_tensor(t);
  return BSM_OK;
}

/* An item of a list of results, the output of `unpack` to come: known, of known
 * dims, or a symbol. */
static bsm_status bind_item(bsm_spec *s, const bsm_world_op_call *call,
                            size_t out, size_t i, agreement how,
                            bsm_node *unpack, bsm_ivalue *item) {
  const bsm_world_results *r = call->results;
  const bsm_ivalue *first = &r->rows[r->first][out].u.list->items[i];
  const bool tensor = first->tag == BSM_IVALUE_TENSOR;
  const bsm_type *type = bsm_spec_type_of(s, first);
  bsm_value *value = NULL;
  if (tensor && how != AGREE_NOT && bsm_tensor_is_meta(first->u.tensor)) {
    BSM_TRY(bsm_node_add_output(unpack, type, &value));
    return bind_tensor(s, first->u.tensor, value, true, item);
  }
  if (type && type->kind == BSM_TYPE_TENSOR) {
    type = bsm_type_tensor_dtype(s->cx->types, type->dtype);
  }
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_node_add_output(unpack, type, &value));
  if (how == AGREE_ALL && bsm_spec_can_check(first)) {
    *item = *first;
    return BSM_OK;
  }
  BSM_TRY(bsm_spec_new_symbol(s, value, type, item));
  BSM_TRY(set_worlds(s, r, out, (int64_t)i, item));
  bsm_spec_symbol_of(item)->aliased =
      call->schema->returns[out].has_alias || tensor;
  return BSM_OK;
}

/* The items of a list of results; those that differ become symbols. */
static bsm_status bind_list(bsm_spec *s, const bsm_world_op_call *call,
                            size_t out, const bsm_ivalue *list_symbol,
                            bsm_ivalue *result) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  const bsm_world_results *r = call->results;
  const bsm_list *first = r->rows[r->first][out].u.list;
  bsm_node *unpack = NULL;
  bsm_list *list = NULL;
  bsm_value *value = NULL;
  BSM_TRY(bsm_spec_symbol_value(s, list_symbol, &value));
  const bsm_type *type = bsm_spec_symbol_of(list_symbol)->type;
  const bsm_type *elem = first->elem_type;
  if (!elem && type && type->kind == BSM_TYPE_LIST) {
    elem = type->args[0];
  }
  BSM_TRY(bsm_list_new(s->cx->arena, elem, first->len, &list));
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::ListUnpack", &unpack));
  BSM_TRY(bsm_node_add_input(unpack, value));
  for (size_t i = 0; i < first->len; i++) {
    BSM_TRY(bind_item(s, call, out, i, item_agreement(s, r, out, i), unpack,
                      &list->items[i]));
  }
  bsm_ir_link(&e, unpack);
  for (size_t i = 0; i < first->len; i++) {
    const bsm_ivalue *item = &list->items[i];
    value = bsm_node_out(unpack, i);
    if (item->tag == BSM_IVALUE_TENSOR) {
      BSM_TRY(bsm_spec_check_dims(s, value, item->u.tensor->sizes));
    } else if (!bsm_spec_is_symbol(item) &&
               !bsm_spec_is_invariant(s, call->schema, call->args, call->n,
                                      i)) {
      BSM_TRY(bsm_spec_check_value(s, value, item));
    }
  }
  *result = bsm_iv_list(list);
  return bsm_spec_note_allocation(s, result);
}

static bool same_length(const bsm_spec *s, const bsm_world_results *r,
                        size_t out) {
  const bsm_ivalue *first = &r->rows[r->first][out];
  for (size_t w = r->first; w < s->worlds.count; w++) {
    if (bsm_world_is_possible(&s->worlds, w) &&
        (r->rows[w][out].tag != BSM_IVALUE_LIST ||
         r->rows[w][out].u.list->len != first->u.list->len)) {
      return false;
    }
  }
  return true;
}

/* The same in all worlds: known, and checked unless it is invariant. */
static bsm_status bind_agreed(bsm_spec *s, const bsm_world_op_call *call,
                              size_t i, const bsm_ivalue *symbol,
                              bsm_ivalue *out) {
  const bsm_world_results *r = call->results;
  const bsm_ivalue *known = &r->rows[r->first][i];
  const bool invariant =
      bsm_spec_is_invariant(s, call->schema, call->args, call->n, 0);
  if (!invariant && !bsm_spec_can_check(known)) {
    return set_worlds(s, r, i, -1, out);
  }
  *out = *known;
  return invariant ? BSM_OK
                   : bsm_spec_check_value(s, bsm_spec_symbol_of(symbol)->value,
                                          known);
}

/* Whether a tensor has as many dims in all worlds. */
static bool same_rank(const bsm_spec *s, const bsm_world_results *r,
                      size_t out) {
  const bsm_tensor *first = r->rows[r->first][out].u.tensor;
  for (size_t w = r->first; w < s->worlds.count; w++) {
    const bsm_ivalue *row = r->rows[w] ? &r->rows[w][out] : NULL;
    if (bsm_world_is_possible(&s->worlds, w) &&
        (!row || row->tag != BSM_IVALUE_TENSOR ||
         row->u.tensor->sizes.rank != first->sizes.rank ||
         row->u.tensor->dtype != first->dtype)) {
      return false;
    }
  }
  return true;
}

/* A tensor: its dims are known when they are the same in all worlds; else their
 * number is, in the type of the value. */
static bsm_status bind_tensor_result(bsm_spec *s, const bsm_world_op_call *call,
                                     size_t i, agreement how,
                                     const bsm_ivalue *symbol,
                                     bsm_ivalue *out) {
  const bsm_world_results *r = call->results;
  const bsm_tensor *first = r->rows[r->first][i].u.tensor;
  const bsm_schema *schema = call->schema;
  const bool shared = i < schema->return_count && schema->returns[i].has_alias;
  bsm_spec_symbol *own = bsm_spec_symbol_of(symbol);
  bool dims_follow = false;
  bsm_spec_infer_invariance(schema, call->args, call->n, &own->rank_open,
                            &dims_follow);
  if (!bsm_spec_data_is_known(s) && how == AGREE_ALL)
    how = AGREE_DIMS; /* data may change */
  own->fixed = how == AGREE_DIMS;
  if (own->fixed && !dims_follow) {
    BSM_TRY(bsm_spec_check_dims(s, own->value, first->sizes));
  }
  if (own->fixed && bsm_spec_tensors_have_identity(s)) {
    BSM_TRY(bind_tensor(s, first, own->value, shared, out));
    return bsm_spec_literal_strides(s, out->u.tensor, symbol, 1);
  }
  if (own->fixed && bsm_tensor_is_meta(first) && !shared) {
    return bind_tensor(s, first, own->value, false, out);
  }
  /* A view stays a symbol, so that writes through it are followed. */
  own->type = own->fixed ? bsm_spec_tensor_type(s, first)
                         : bsm_type_tensor_dtype(s->cx->types, first->dtype);
  BSM_TRY_ALLOC(own->type);
  own->value->type =
      own->fixed || own->rank_open || !same_rank(s, r, i)
          ? own->type
          : bsm_type_tensor_rank(s->cx->types, first->dtype, first->sizes.rank);
  BSM_TRY_ALLOC(own->value->type);
  return set_worlds(s, r, i, -1, out);
}

bsm_status bsm_world_bind_result(bsm_spec *s, const bsm_world_op_call *call,
                                 size_t i, const bsm_ivalue *symbol,
                                 bsm_ivalue *out) {
  const bsm_world_results *r = call->results;
  const bsm_ivalue *first = &r->rows[r->first][i];
  const agreement how = agreement_of(s, r, i);
  *out = *symbol;
  if (first->tag == BSM_IVALUE_TENSOR) {
    return bind_tensor_result(s, call, i, how, symbol, out);
  }
  if (first->tag == BSM_IVALUE_LIST && same_length(s, r, i)) {
    const bool shared =
        i < call->schema->return_count && call->schema->returns[i].has_alias;
    BSM_TRY(bind_list(s, call, i, symbol, out));
    return shared && bsm_spec_tracks_sharing(s)
               ? bsm_spec_share_container(s, out)
               : BSM_OK;
  }
  if (first->tag == BSM_IVALUE_LIST) {
    const bsm_spec_symbol *list = bsm_spec_symbol_of(symbol);
    return list->type && list->type->kind == BSM_TYPE_LIST
               ? bsm_spec_dynamic_new(s, list->type, list->value, out)
               : BSM_OK;
  }
  return how == AGREE_ALL ? bind_agreed(s, call, i, symbol, out)
                          : set_worlds(s, r, i, -1, out);
}
