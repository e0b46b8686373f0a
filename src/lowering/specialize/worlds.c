/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that range, looked at in several worlds at once.
 *
 * Every op on a value that depends on the shapes of inputs alone is run in each
 * world. Its result is a symbol that knows what it is in each; what is the same
 * in all is a known value from then on: a rank, a dtype, the dims that do not
 * range, conditions on them. Such a number, when it was computed from ones that
 * do range, is checked in the engine: a shape for which it is another is
 * refused with a message. A world in which the model raises is not possible: it
 * drops out, unless it is the optimal shape's. */
#include <inttypes.h>

#include "lowering/specialize/specialize.h"

/* Tensors of known data are kept up to this size; larger ones only have dims.
 */
#define MAX_DATA 65536

static bool is_possible(const bsm_spec *s, size_t world) {
  return (s->worlds >> world & 1u) != 0;
}

/* ---- inputs ---- */

/* A size that as many dims of the input as possible can have. */
static int64_t common_size(const bsm_lowering_range *r, int32_t dim) {
  int64_t size = r->min.d[dim];
  for (int32_t i = 0; i < r->min.rank; i++) {
    const bool ranges = r->min.d[i] != r->max.d[i];
    if (ranges && r->min.d[i] > size && r->min.d[i] <= r->max.d[dim]) {
      size = r->min.d[i];
    }
  }
  return size;
}

/* The size of a dim in a world. Dims that range alike and stand at the same
 * place of different inputs are the same, such as the batch. The worlds differ
 * in which of two dims is the larger one, as models ask for that. */
static int64_t size_in(const bsm_lowering_range *r, int32_t dim, size_t world) {
  const int64_t low = r->min.d[dim], high = r->max.d[dim];
  const int64_t span = high - low;
  switch (world) {
    case 0:
      return r->opt.d[dim];
    case 1:
      return low;
    case 2:
      return high;
    case 3:
      return dim % 2 ? high : low;
    case 4:
      return dim % 2 ? low : high;
    case 5:
      return common_size(r, dim);
    default: {
      /* Apart from each other, and for each dim; one of them odd. */
      const int64_t step = 13 * (dim % 7);
      const int64_t part = world == 6 ? 7 + step : 94 - step;
      const int64_t size = low + span / 100 * part + span % 100 * part / 100;
      return world == 6 && size < high ? size | 1 : size;
    }
  }
}

bsm_status bsm_spec_range_input(bsm_spec *s, const bsm_lowering_range *range,
                                bsm_value *value, bsm_ivalue *out) {
  const bsm_type *type = bsm_type_tensor_dtype(s->cx->types, range->dtype);
  BSM_TRY_ALLOC(type);
  if (!s->worlds) {
    s->worlds = (1u << BSM_WORLDS) - 1;
  }
  BSM_TRY(bsm_spec_new_symbol(s, value, type, out));
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(out);
  symbol->worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, BSM_WORLDS);
  BSM_TRY_ALLOC(symbol->worlds);
  for (size_t w = 0; w < BSM_WORLDS; w++) {
    bsm_dims dims = {.rank = range->opt.rank};
    bsm_tensor *t = NULL;
    for (int32_t i = 0; i < dims.rank; i++) {
      dims.d[i] = size_in(range, i, w);
    }
    BSM_TRY(bsm_tensor_new(s->scratch, range->dtype, dims, true, &t));
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
  bsm_ivalue *rows[BSM_WORLDS];
  size_t first; /* a possible world */
} world_results;

static bsm_status run_worlds(bsm_spec *s, const bsm_aten_op *op,
                             const bsm_ivalue *args, size_t n, size_t n_outs,
                             world_results *r, bool *known) {
  *known = true;
  for (size_t w = 0; w < BSM_WORLDS && *known; w++) {
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
    bsm_status st = bsm_spec_call(s, op, own, n, r->rows[w], n_outs);
    if (bsm_status_code(st) == BSM_DATA_DEPENDENT) {
      bsm_status_free(st);
      *known = false;
      return BSM_OK;
    }
    if (st && (s->worlds & ~(1u << w)) && w != 0) {
      bsm_log(s->logger, BSM_LOG_LEVEL_DEBUG,
              "some shapes in range are not possible at %s: %s",
              bsm_spec_where(s), bsm_status_message(st));
      bsm_status_free(st);
      s->worlds &= ~(1u << w);
      continue;
    }
    BSM_TRY(st);
  }
  r->first = 0;
  while (r->first + 1 < BSM_WORLDS && !is_possible(s, r->first)) {
    r->first++;
  }
  return BSM_OK;
}

static bool same_data(const bsm_tensor *a, const bsm_tensor *b) {
  const int64_t n = bsm_tensor_numel(a);
  if (bsm_tensor_is_meta(a) || bsm_tensor_is_meta(b) || n > MAX_DATA) {
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
  for (size_t w = r->first + 1; w < BSM_WORLDS; w++) {
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

/* A tensor without data when it is large. */
static bsm_status light(bsm_spec *s, bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_TENSOR && !bsm_tensor_is_meta(v->u.tensor) &&
      bsm_tensor_numel(v->u.tensor) > MAX_DATA) {
    const bsm_tensor *t = v->u.tensor;
    bsm_tensor *meta = NULL;
    BSM_TRY(bsm_tensor_new(s->scratch, t->dtype, t->sizes, true, &meta));
    v->u.tensor = meta;
  }
  return BSM_OK;
}

/* Gives a symbol its values in the worlds: item `item` of result `out` when it
 * is a list, else (item < 0) the result. */
static bsm_status set_worlds(bsm_spec *s, const world_results *r, size_t out,
                             int64_t item, bsm_ivalue *symbol) {
  bsm_spec_symbol *own = bsm_spec_symbol_of(symbol);
  own->worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, BSM_WORLDS);
  BSM_TRY_ALLOC(own->worlds);
  for (size_t w = 0; w < BSM_WORLDS; w++) {
    const size_t row = r->rows[w] && is_possible(s, w) ? w : r->first;
    own->worlds[w] =
        item < 0 ? r->rows[row][out] : r->rows[row][out].u.list->items[item];
    BSM_TRY(light(s, &own->worlds[w]));
  }
  return BSM_OK;
}

/* Refuses, in the engine, shapes for which a number is not what it is in all
 * worlds. */
static bsm_status emit_check(bsm_spec *s, bsm_value *value,
                             const bsm_ivalue *known) {
  const bsm_emitter e = bsm_spec_emitter(s);
  const bool integer = known->tag == BSM_IVALUE_INT;
  bsm_value *in[2] = {value, NULL}, *same = NULL, *text = NULL;
  bsm_node *node = NULL, *check = NULL, *raise = NULL;
  bsm_block *fine = NULL, *wrong = NULL;
  bsm_ivalue message;
  BSM_TRY(bsm_ir_constant(&e, *known, NULL, &in[1]));
  BSM_TRY(bsm_ir_node(&e, integer ? "aten::eq.int" : "aten::eq.bool", in, 2,
                      &node));
  same = bsm_node_out(node, 0);
  const char *words = bsm_arena_printf(
      s->scratch,
      "the inputs have shapes that the engine was not built for: at %s the "
      "model goes another way than for the shapes that were tried",
      bsm_spec_where(s));
  BSM_TRY_ALLOC(words);
  BSM_TRY(bsm_iv_string(s->cx->arena, bsm_str_of(words), &message));
  BSM_TRY(bsm_node_create(s->graph, "prim::If", &check));
  BSM_TRY(bsm_node_add_input(check, same));
  BSM_TRY(bsm_node_add_block(check, &fine));
  BSM_TRY(bsm_node_add_block(check, &wrong));
  bsm_emitter inside = e;
  inside.block = wrong;
  BSM_TRY(bsm_ir_constant(&inside, message, NULL, &text));
  BSM_TRY(bsm_node_create(s->graph, "prim::RaiseException", &raise));
  BSM_TRY(bsm_node_add_input(raise, text));
  bsm_ir_link(&inside, raise);
  bsm_ir_link(&e, check);
  return BSM_OK;
}

/* Ranks, dtypes and dims that do not range are known for certain. */
static bool is_certain(const bsm_schema *schema) {
  static const char *const names[] = {"aten::dim",
                                      "aten::size",
                                      "aten::sym_size",
                                      "aten::len",
                                      "aten::is_floating_point",
                                      "aten::is_complex",
                                      "prim::dtype",
                                      "prim::device",
                                      "prim::is_cuda",
                                      "aten::__is__",
                                      "aten::__isnot__",
                                      NULL};
  for (const char *const *n = names; *n; n++) {
    if (strcmp(schema->name, *n) == 0) {
      return true;
    }
  }
  return false;
}

/* Whether item `item` of a list of results is the same in all worlds. */
static agreement item_agreement(const bsm_spec *s, const world_results *r,
                                size_t out, size_t item) {
  agreement all = AGREE_ALL;
  const bsm_ivalue *first = &r->rows[r->first][out].u.list->items[item];
  for (size_t w = r->first + 1; w < BSM_WORLDS; w++) {
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

/* The items of a list of results; those that differ become symbols. */
static bsm_status bind_list(bsm_spec *s, const bsm_schema *schema,
                            const world_results *r, size_t out,
                            const bsm_ivalue *list_symbol, bsm_ivalue *result) {
  const bsm_emitter e = bsm_spec_emitter(s);
  const bsm_list *first = r->rows[r->first][out].u.list;
  bsm_node *unpack = NULL;
  bsm_list *list = NULL;
  bsm_value *value = NULL;
  BSM_TRY(bsm_spec_symbol_value(s, list_symbol, &value));
  BSM_TRY(bsm_list_new(s->cx->arena, first->elem_type, first->len, &list));
  BSM_TRY(bsm_node_create(s->graph, "prim::ListUnpack", &unpack));
  BSM_TRY(bsm_node_add_input(unpack, value));
  for (size_t i = 0; i < first->len; i++) {
    const bsm_type *type = bsm_spec_type_of(s, &first->items[i]);
    const agreement how = item_agreement(s, r, out, i);
    const bool tensor = first->items[i].tag == BSM_IVALUE_TENSOR;
    if (tensor && how != AGREE_NOT &&
        bsm_tensor_is_meta(first->items[i].u.tensor)) {
      BSM_TRY(bsm_node_add_output(unpack, type, &value));
      BSM_TRY(bind_tensor(s, first->items[i].u.tensor, value, true,
                          &list->items[i]));
      continue;
    }
    if (type && type->kind == BSM_TYPE_TENSOR) {
      type = bsm_type_tensor_dtype(s->cx->types, type->dtype);
    }
    BSM_TRY_ALLOC(type);
    BSM_TRY(bsm_node_add_output(unpack, type, &value));
    if (!tensor && how == AGREE_ALL) {
      list->items[i] = first->items[i];
      continue;
    }
    BSM_TRY(bsm_spec_new_symbol(s, value, type, &list->items[i]));
    BSM_TRY(set_worlds(s, r, out, (int64_t)i, &list->items[i]));
    bsm_spec_symbol_of(&list->items[i])->aliased =
        schema->returns[out].has_alias || tensor;
  }
  bsm_ir_link(&e, unpack);
  *result = bsm_iv_list(list);
  return bsm_spec_note_birth(s, result);
}

static bool same_length(const bsm_spec *s, const world_results *r, size_t out) {
  const bsm_ivalue *first = &r->rows[r->first][out];
  for (size_t w = r->first; w < BSM_WORLDS; w++) {
    if (is_possible(s, w) &&
        (r->rows[w][out].tag != BSM_IVALUE_LIST ||
         r->rows[w][out].u.list->len != first->u.list->len)) {
      return false;
    }
  }
  return true;
}

static bsm_status bind_result(bsm_spec *s, const bsm_schema *schema,
                              const world_results *r, size_t i,
                              const bsm_ivalue *symbol, bsm_ivalue *out) {
  const bsm_ivalue *first = &r->rows[r->first][i];
  const agreement how = agreement_of(s, r, i);
  const bool shared = i < schema->return_count && schema->returns[i].has_alias;
  *out = *symbol;
  if (how == AGREE_ALL && first->tag != BSM_IVALUE_TENSOR) {
    const bool number =
        first->tag == BSM_IVALUE_INT || first->tag == BSM_IVALUE_BOOL;
    if (number && !is_certain(schema)) {
      BSM_TRY(emit_check(s, bsm_spec_symbol_of(symbol)->value, first));
    }
    *out = *first;
    return BSM_OK;
  }
  if (how == AGREE_DIMS && bsm_tensor_is_meta(first->u.tensor) && !shared) {
    return bind_tensor(s, first->u.tensor, bsm_spec_symbol_of(symbol)->value,
                       false, out);
  }
  if (first->tag == BSM_IVALUE_LIST && same_length(s, r, i)) {
    return bind_list(s, schema, r, i, symbol, out);
  }
  if (first->tag == BSM_IVALUE_LIST) {
    const bsm_spec_symbol *list = bsm_spec_symbol_of(symbol);
    return list->type && list->type->kind == BSM_TYPE_LIST
               ? bsm_spec_box_new(s, list->type, list->value, out)
               : BSM_OK;
  }
  if (first->tag == BSM_IVALUE_TENSOR) {
    bsm_spec_symbol *own = bsm_spec_symbol_of(symbol);
    /* A view stays a symbol, so that writes through it are followed. */
    own->type = how == AGREE_DIMS ? bsm_spec_tensor_type(s, first->u.tensor)
                                  : bsm_type_tensor_dtype(
                                        s->cx->types, first->u.tensor->dtype);
    BSM_TRY_ALLOC(own->type);
    own->value->type = own->type;
  }
  return set_worlds(s, r, i, -1, out);
}

/* Residual values have no strides that a view could ask for. */
static bsm_status plain_schema(bsm_spec *s, const bsm_schema **schema) {
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

bsm_status bsm_spec_worlds_op(bsm_spec *s, const bsm_schema *schema,
                              const bsm_aten_op *op, const bsm_ivalue *args,
                              size_t n, bsm_ivalue *outs, size_t n_outs,
                              bool *done) {
  world_results r = {.first = 0};
  size_t which = 0;
  bool known = false;
  *done = false;
  if (!s->worlds || !op || (op->flags & BSM_ATEN_RANDOM) ||
      bsm_spec_writes_container(schema, &which)) {
    return BSM_OK;
  }
  BSM_TRY(run_worlds(s, op, args, n, n_outs, &r, &known));
  if (!known) {
    return BSM_OK;
  }
  const bsm_schema *emitted = schema;
  bsm_ivalue *symbols = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n_outs + 1);
  BSM_TRY_ALLOC(symbols);
  BSM_TRY(plain_schema(s, &emitted));
  BSM_TRY(bsm_spec_emit(s, emitted, args, n, symbols, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    BSM_TRY(bind_result(s, schema, &r, i, &symbols[i], &outs[i]));
  }
  *done = true;
  return BSM_OK;
}

/* ---- branches ---- */

uint32_t bsm_spec_worlds_where(const bsm_spec *s, const bsm_ivalue *condition,
                               bool value) {
  const bsm_spec_symbol *symbol = bsm_spec_symbol_of(condition);
  uint32_t worlds = 0;
  if (!symbol->worlds) {
    return s->worlds;
  }
  for (size_t w = 0; w < BSM_WORLDS; w++) {
    if (is_possible(s, w) && symbol->worlds[w].tag == BSM_IVALUE_BOOL &&
        symbol->worlds[w].u.b == value) {
      worlds |= 1u << w;
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
  bsm_ivalue *worlds = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, BSM_WORLDS);
  BSM_TRY_ALLOC(worlds);
  bool known = true;
  for (size_t w = 0; w < BSM_WORLDS; w++) {
    const bool side = from->worlds[w].u.b;
    BSM_TRY(in_world(s, side ? x : y, w, 0, &worlds[w], &known));
  }
  if (known) {
    bsm_spec_symbol_of(merged)->worlds = worlds;
  }
  return BSM_OK;
}
