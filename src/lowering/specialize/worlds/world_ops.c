/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that range, looked at in several worlds at once.
 *
 * Every op on a value that depends on the shapes of inputs alone is run in each
 * world. Its result is a symbol that knows what it is in each; what is the same
 * in all is a known value from then on: a rank, a dtype, the dims that do not
 * range, conditions on them. world_checks.c has it checked in the engine. A
 * world in which the model raises is not possible: it drops out, unless it is
 * the optimal shape's. */
#include "lowering/specialize/specialize.h"

static bool is_possible(const bsm_spec *s, size_t world) {
  return (s->worlds >> world & 1u) != 0;
}

/* ---- inputs ---- */

bsm_status bsm_spec_range_input(bsm_spec *s, const bsm_lowering_range *range,
                                bsm_value *value, bsm_ivalue *out) {
  const bsm_type *type = bsm_type_tensor_dtype(s->cx->types, range->dtype);
  BSM_TRY_ALLOC(type);
  if (!s->world_count) {
    const size_t more = s->samples ? s->samples->count : 0;
    s->world_count = BSM_FIRST_WORLDS + more;
    s->worlds = UINT64_MAX >> (BSM_MAX_WORLDS - s->world_count);
  }
  BSM_TRY(bsm_spec_new_symbol(s, value, type, out));
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(out);
  symbol->range = range;
  symbol->worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, s->world_count);
  BSM_TRY_ALLOC(symbol->worlds);
  for (size_t w = 0; w < s->world_count; w++) {
    const uint32_t shape = w < BSM_FIRST_WORLDS
                               ? (uint32_t)w
                               : s->samples->shapes[w - BSM_FIRST_WORLDS];
    bsm_tensor *t = NULL;
    BSM_TRY(bsm_tensor_new(s->scratch, range->dtype,
                           bsm_world_dims(range, shape), true, &t));
    symbol->worlds[w] = bsm_iv_tensor(t);
  }
  return BSM_OK;
}

/* ---- arguments in one world ---- */

static bsm_status in_world(bsm_spec *s, const bsm_ivalue *v, size_t world,
                           size_t depth, bsm_ivalue *out, bool *known);

static bsm_status items_in_world(bsm_spec *s, const bsm_ivalue *items, size_t n,
                                 size_t world, size_t depth, bsm_ivalue *out,
                                 bool *known) {
  for (size_t i = 0; i < n && *known; i++) {
    BSM_TRY(in_world(s, &items[i], world, depth + 1, &out[i], known));
  }
  return BSM_OK;
}

static bsm_status in_world(bsm_spec *s, const bsm_ivalue *v, size_t world,
                           size_t depth, bsm_ivalue *out, bool *known) {
  *out = *v;
  if (depth > s->cx->limits.max_depth || bsm_spec_box_find(s, v)) {
    *known = false;
    return BSM_OK;
  }
  if (bsm_spec_is_symbol(v)) {
    const bsm_spec_symbol *symbol = bsm_spec_symbol_of(v);
    if (!symbol->worlds) {
      *known = false;
    } else {
      BSM_TRY(bsm_spec_forget_data(s, v));
      *out = symbol->worlds[world];
    }
    return BSM_OK;
  }
  if (v->tag == BSM_IVALUE_LIST) {
    const bsm_list *from = v->u.list;
    bsm_list *list = NULL;
    BSM_TRY(bsm_list_new(s->scratch, from->elem_type, from->len, &list));
    *out = bsm_iv_list(list);
    return items_in_world(s, from->items, from->len, world, depth, list->items,
                          known);
  }
  if (v->tag == BSM_IVALUE_TUPLE) {
    bsm_tuple *tuple = NULL;
    BSM_TRY(bsm_tuple_new(s->scratch, v->u.tuple->len, &tuple));
    *out = bsm_iv_tuple(tuple);
    return items_in_world(s, v->u.tuple->items, v->u.tuple->len, world, depth,
                          tuple->items, known);
  }
  return BSM_OK;
}

/* ---- results of all worlds ---- */

/* What an op gives in each world: row w is that of world w. */
typedef struct world_results {
  bsm_ivalue *rows[BSM_MAX_WORLDS];
  size_t first; /* a possible world */
} world_results;

static bsm_status run_worlds(bsm_spec *s, const bsm_aten_op *op,
                             const bsm_ivalue *args, size_t n, size_t n_outs,
                             world_results *r, bool *known) {
  *known = true;
  for (size_t w = 0; w < s->world_count && *known; w++) {
    if (!is_possible(s, w)) {
      continue;
    }
    bsm_ivalue *own = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n + 1);
    r->rows[w] = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n_outs + 1);
    BSM_TRY_ALLOC(own && r->rows[w]);
    BSM_TRY(items_in_world(s, args, n, w, 0, own, known));
    if (!*known) {
      return BSM_OK;
    }
    bsm_op_ctx cx = {.arena = s->cx->arena,
                     .logger = s->logger,
                     .max_tensor_bytes = s->cx->limits.max_tensor_bytes};
    bsm_status st = bsm_world_call(&cx, op, own, n, r->rows[w], n_outs);
    if (bsm_status_code(st) == BSM_DATA_DEPENDENT) {
      bsm_status_free(st);
      *known = false;
      return BSM_OK;
    }
    if (st && (s->worlds & ~(UINT64_C(1) << w)) && w != 0) {
      bsm_log(s->logger, BSM_LOG_LEVEL_DEBUG,
              "some shapes in range are not possible at %s: %s",
              bsm_spec_where(s), bsm_status_message(st));
      bsm_status_free(st);
      s->worlds &= ~(UINT64_C(1) << w);
      continue;
    }
    BSM_TRY(st);
  }
  r->first = 0;
  while (r->first + 1 < s->world_count && !is_possible(s, r->first)) {
    r->first++;
  }
  return BSM_OK;
}

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

static agreement agreement_of(const bsm_spec *s, const world_results *r,
                              size_t out) {
  agreement all = AGREE_ALL;
  const bsm_ivalue *first = &r->rows[r->first][out];
  for (size_t w = r->first + 1; w < s->world_count; w++) {
    if (is_possible(s, w)) {
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

/* ---- what the results become ---- */

/* Gives a symbol its values in the worlds: item `item` of result `out` when it
 * is a list, else (item < 0) the result. */
static bsm_status set_worlds(bsm_spec *s, const world_results *r, size_t out,
                             int64_t item, bsm_ivalue *symbol) {
  bsm_spec_symbol *own = bsm_spec_symbol_of(symbol);
  own->worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, s->world_count);
  BSM_TRY_ALLOC(own->worlds);
  for (size_t w = 0; w < s->world_count; w++) {
    const size_t row = r->rows[w] && is_possible(s, w) ? w : r->first;
    own->worlds[w] =
        item < 0 ? r->rows[row][out] : r->rows[row][out].u.list->items[item];
    BSM_TRY(bsm_world_lighten(s->scratch, &own->worlds[w]));
  }
  return BSM_OK;
}

/* Whether item `item` of a list of results is the same in all worlds. */
static agreement item_agreement(const bsm_spec *s, const world_results *r,
                                size_t out, size_t item) {
  agreement all = AGREE_ALL;
  const bsm_ivalue *first = &r->rows[r->first][out].u.list->items[item];
  for (size_t w = r->first + 1; w < s->world_count; w++) {
    if (is_possible(s, w)) {
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
  bsm_spec_tensor_find(s, t)->storage->joined = shared;
  *out = bsm_iv_tensor(t);
  return BSM_OK;
}

/* What made the results. */
typedef struct op_call {
  const bsm_schema *schema;
  const bsm_ivalue *args;
  size_t n;
  const world_results *results;
} op_call;

/* An item of a list of results, the output of `unpack` to come: known, of known
 * dims, or a symbol. */
static bsm_status bind_item(bsm_spec *s, const op_call *call, size_t out,
                            size_t i, agreement how, bsm_node *unpack,
                            bsm_ivalue *item) {
  const world_results *r = call->results;
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
static bsm_status bind_list(bsm_spec *s, const op_call *call, size_t out,
                            const bsm_ivalue *list_symbol, bsm_ivalue *result) {
  const bsm_emitter e = bsm_spec_emitter(s);
  const world_results *r = call->results;
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
  BSM_TRY(bsm_node_create(s->graph, "prim::ListUnpack", &unpack));
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
               !bsm_spec_is_sure(s, call->schema, call->args, call->n, i)) {
      BSM_TRY(bsm_spec_check_value(s, value, item));
    }
  }
  *result = bsm_iv_list(list);
  return bsm_spec_note_birth(s, result);
}

static bool same_length(const bsm_spec *s, const world_results *r, size_t out) {
  const bsm_ivalue *first = &r->rows[r->first][out];
  for (size_t w = r->first; w < s->world_count; w++) {
    if (is_possible(s, w) &&
        (r->rows[w][out].tag != BSM_IVALUE_LIST ||
         r->rows[w][out].u.list->len != first->u.list->len)) {
      return false;
    }
  }
  return true;
}

/* The same in all worlds: known, and checked unless it is sure. */
static bsm_status bind_agreed(bsm_spec *s, const op_call *call, size_t i,
                              const bsm_ivalue *symbol, bsm_ivalue *out) {
  const world_results *r = call->results;
  const bsm_ivalue *known = &r->rows[r->first][i];
  const bool sure = bsm_spec_is_sure(s, call->schema, call->args, call->n, 0);
  if (!sure && !bsm_spec_can_check(known)) {
    return set_worlds(s, r, i, -1, out);
  }
  *out = *known;
  return sure ? BSM_OK
              : bsm_spec_check_value(s, bsm_spec_symbol_of(symbol)->value,
                                     known);
}

/* A tensor: its dims are known when they are the same in all worlds. */
static bsm_status bind_tensor_result(bsm_spec *s, const op_call *call, size_t i,
                                     agreement how, const bsm_ivalue *symbol,
                                     bsm_ivalue *out) {
  const world_results *r = call->results;
  const bsm_tensor *first = r->rows[r->first][i].u.tensor;
  const bsm_schema *schema = call->schema;
  const bool shared = i < schema->return_count && schema->returns[i].has_alias;
  bsm_spec_symbol *own = bsm_spec_symbol_of(symbol);
  bool dims_follow = false;
  bsm_spec_trust(schema, call->args, call->n, &own->rank_open, &dims_follow);
  if (s->literal && how == AGREE_ALL) how = AGREE_DIMS; /* data may change */
  own->fixed = how == AGREE_DIMS;
  if (own->fixed && !dims_follow) {
    BSM_TRY(bsm_spec_check_dims(s, own->value, first->sizes));
  }
  if (own->fixed && s->literal) {
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
  own->value->type = own->type;
  return set_worlds(s, r, i, -1, out);
}

static bsm_status bind_result(bsm_spec *s, const op_call *call, size_t i,
                              const bsm_ivalue *symbol, bsm_ivalue *out) {
  const world_results *r = call->results;
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
    return shared && !s->literal ? bsm_spec_box_share(s, out) : BSM_OK;
  }
  if (first->tag == BSM_IVALUE_LIST) {
    const bsm_spec_symbol *list = bsm_spec_symbol_of(symbol);
    return list->type && list->type->kind == BSM_TYPE_LIST
               ? bsm_spec_box_new(s, list->type, list->value, out)
               : BSM_OK;
  }
  return how == AGREE_ALL ? bind_agreed(s, call, i, symbol, out)
                          : set_worlds(s, r, i, -1, out);
}

/* Residual values have no strides that a view could ask for. */
static bsm_status plain_schema(bsm_spec *s, const bsm_schema **schema) {
  if (s->literal) {
    return BSM_OK;
  }
  if (strcmp((*schema)->qualified, "aten::view") != 0 &&
      strcmp((*schema)->qualified, "aten::_unsafe_view") != 0) {
    return BSM_OK;
  }
  const bsm_schema *reshape = NULL;
  BSM_TRY(bsm_schema_table_find(s->cx->schemas, BSM_STR("aten::reshape"),
                                &reshape));
  if (reshape) {
    *schema = reshape;
  }
  return BSM_OK;
}

/* Whether the results may be lists or dicts that the op was given. */
static bool passes_containers(const bsm_schema *schema, const bsm_ivalue *args,
                              size_t n) {
  bool open = false;
  for (size_t i = 0; i < schema->return_count; i++) {
    open = open || schema->returns[i].type->kind == BSM_TYPE_VAR;
  }
  for (size_t i = 0; open && i < n; i++) {
    const bsm_ivalue *items =
        args[i].tag == BSM_IVALUE_LIST   ? args[i].u.list->items
        : args[i].tag == BSM_IVALUE_DICT ? args[i].u.dict->values
                                         : NULL;
    const size_t len = args[i].tag == BSM_IVALUE_LIST   ? args[i].u.list->len
                       : args[i].tag == BSM_IVALUE_DICT ? args[i].u.dict->len
                                                        : 0;
    for (size_t k = 0; k < len; k++) {
      if (items[k].tag >= BSM_IVALUE_LIST &&
          items[k].tag <= BSM_IVALUE_OBJECT) {
        return true;
      }
    }
  }
  return false;
}

bsm_status bsm_spec_worlds_op(bsm_spec *s, const bsm_schema *schema,
                              const bsm_aten_op *op, const bsm_ivalue *args,
                              size_t n, bsm_ivalue *outs, size_t n_outs,
                              bool *done) {
  world_results r = {.first = 0};
  size_t which = 0;
  bool known = false;
  *done = false;
  if (s->literal && passes_containers(schema, args, n)) {
    return BSM_OK; /* they have identity */
  }
  if (!s->worlds || !op || (op->flags & BSM_ATEN_RANDOM) ||
      bsm_spec_writes_container(schema, &which)) {
    return BSM_OK;
  }
  BSM_TRY(run_worlds(s, op, args, n, n_outs, &r, &known));
  if (!known) {
    return BSM_OK;
  }
  const op_call call = {schema, args, n, &r};
  const bsm_schema *emitted = schema;
  bsm_ivalue *symbols = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n_outs + 1);
  BSM_TRY_ALLOC(symbols);
  BSM_TRY(plain_schema(s, &emitted));
  BSM_TRY(bsm_spec_emit(s, emitted, args, n, symbols, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    BSM_TRY(bind_result(s, &call, i, &symbols[i], &outs[i]));
  }
  *done = true;
  return BSM_OK;
}

bsm_dims bsm_spec_worlds_dims(const bsm_spec *s, const bsm_ivalue *symbol) {
  const bsm_ivalue *worlds = bsm_spec_symbol_of(symbol)->worlds;
  const bsm_dims unknown = {.rank = -1};
  bsm_dims dims = unknown;
  bool first = true;
  for (size_t w = 0; worlds && w < s->world_count; w++) {
    if (!is_possible(s, w)) continue;
    if (worlds[w].tag != BSM_IVALUE_TENSOR) return unknown;
    const bsm_dims own = worlds[w].u.tensor->sizes;
    if (first) dims = own;
    first = false;
    if (own.rank != dims.rank) return unknown;
    for (int32_t i = 0; i < own.rank; i++) {
      if (own.d[i] != dims.d[i]) dims.d[i] = -1;
    }
  }
  return dims;
}

/* ---- branches ---- */

uint64_t bsm_spec_worlds_where(const bsm_spec *s, const bsm_ivalue *condition,
                               bool value) {
  const bsm_spec_symbol *symbol = bsm_spec_symbol_of(condition);
  uint64_t worlds = 0;
  if (!symbol->worlds) {
    return s->worlds;
  }
  for (size_t w = 0; w < s->world_count; w++) {
    if (is_possible(s, w) && symbol->worlds[w].tag == BSM_IVALUE_BOOL &&
        symbol->worlds[w].u.b == value) {
      worlds |= UINT64_C(1) << w;
    }
  }
  return worlds;
}

bsm_status bsm_spec_worlds_merge(bsm_spec *s, const bsm_ivalue *condition,
                                 const bsm_ivalue *x, const bsm_ivalue *y,
                                 bsm_ivalue *merged) {
  const bsm_spec_symbol *from = bsm_spec_symbol_of(condition);
  if (!bsm_spec_is_symbol(merged) || !from->worlds) {
    return BSM_OK;
  }
  bsm_ivalue *worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, s->world_count);
  BSM_TRY_ALLOC(worlds);
  bool known = true;
  for (size_t w = 0; w < s->world_count; w++) {
    const bool side = from->worlds[w].u.b;
    BSM_TRY(in_world(s, side ? x : y, w, 0, &worlds[w], &known));
    /* A side may have written to it. */
    BSM_TRY(bsm_spec_drop_data(s, &worlds[w]));
  }
  if (known) {
    bsm_spec_symbol_of(merged)->worlds = worlds;
  }
  return BSM_OK;
}
