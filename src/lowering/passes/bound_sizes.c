/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that depend on data get a bound: what nonzero, masks and nms find is
 * computed in memory for all that could be found, whose size is known, and
 * beside it how many there are. So plans can have them. What works row by row
 * on what was found works on all of that memory instead; only what does not
 * gets the rows that there are, as a slice of them up to a number that the
 * program reads. Rows behind those hold numbers of no meaning, but no index
 * among them is out of range.
 *
 * It is for targets whose memory is not the host's: there, a number that comes
 * home is cheaper than all tensors that the reference library would read.
 *
 * Requires:    refined types; a functional graph.
 * Establishes: nonzero, where, masked_select, indices that are masks, unique,
 *              and nms, of tensors of known dims, are nonzero_static, gathers,
 *              and padded_nms, each followed by Int and slice.
 * Breaks:      leaves what it replaced dead. */
#include <math.h>

#include "lowering/pass.h"
#include "lowering/passes/unique_parts.h"

/* Rows whose number depends on data: the first `count` (int64, 0-dim) of
 * `padded`. */
typedef struct bounded {
  bsm_value *padded, *count;
  int64_t most; /* the first size of `padded` */
} bounded;

typedef struct pass {
  bsm_graph *graph;
  const bsm_aten_library *aten;
  bsm_arena *arena;
  bsm_ptrmap rows;  /* value -> its bounded */
  bsm_ptrmap found; /* mask -> bounded places: [most, rank] */
} pass;

static const bounded *rows_of(const pass *p, const bsm_value *value) {
  return bsm_ptrmap_get(&p->rows, value);
}

/* The dims of a value, or of the memory for its rows. */
static bool dims_of(const pass *p, const bsm_value *value, bsm_dims *dims,
                    bsm_dtype *dtype) {
  const bounded *b = rows_of(p, value);
  return bsm_value_dims(b ? b->padded : value, dims, dtype);
}

/* Emits an op. *out is NULL when it refuses its arguments: whether they come to
 * it is not known. */
static bsm_status emit(const bsm_node_emitter *e, const char *name,
                       bsm_value *const *in, size_t n, bsm_value **out) {
  bsm_dims dims;
  bsm_dtype dtype;
  bsm_status status = bsm_ir_op(e, name, in, n, out);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  if (status || !bsm_value_dims(*out, &dims, &dtype)) *out = NULL;
  bsm_status_free(status);
  return BSM_OK;
}

/* Notes that `padded` and `count` are what `old` is, and replaces it. */
static bsm_status publish(pass *p, const bsm_node_emitter *e, bsm_value *old,
                          bsm_value *padded, bsm_value *count) {
  bsm_value *in[5] = {padded, NULL, NULL, NULL, NULL}, *exact;
  bounded *b = BSM_NEW(p->arena, bounded);
  bsm_dims dims;
  bsm_dtype dtype;
  BSM_TRY_ALLOC(b);
  if (!bsm_value_dims(padded, &dims, &dtype)) return BSM_OK;
  *b = (bounded){padded, count, dims.d[0]};
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  in[2] = in[1];
  BSM_TRY(bsm_ir_op(e, "aten::Int.Tensor", &count, 1, &in[3]));
  BSM_TRY(bsm_ir_int(e, 1, &in[4]));
  BSM_TRY(bsm_ir_op(e, "aten::slice.Tensor", in, 5, &exact));
  BSM_TRY(bsm_rewrite_value(p->graph, old, exact));
  BSM_TRY_ALLOC(bsm_ptrmap_set(p->arena, &p->rows, exact, b));
  return BSM_OK;
}

/* bool[most, 1, ...] of some rank: which of the rows there are. */
static bsm_status valid_rows(const bsm_node_emitter *e, const bounded *b,
                             int32_t rank, bsm_value **out) {
  bsm_tensor *numbers;
  bsm_value *in[2] = {NULL, b->count};
  bsm_dims dims = {rank, {b->most}};
  for (int32_t i = 1; i < rank; i++) dims.d[i] = 1;
  BSM_TRY(bsm_tensor_new(e->graph->cx->arena, BSM_DTYPE_INT64, dims, false,
                         &numbers));
  int64_t *at = bsm_tensor_data(numbers);
  for (int64_t i = 0; i < b->most; i++) at[i] = i;
  const bsm_type *type =
      bsm_type_tensor(e->graph->cx->types, BSM_DTYPE_INT64, dims);
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_ir_constant(e, bsm_iv_tensor(numbers), type, &in[0]));
  return bsm_ir_op(e, "aten::lt.Tensor", in, 2, out);
}

/* ---- what is found ---- */

/* Emits behind the node that makes a value, so that all who use it can use
 * that. */
static bsm_node_emitter after(const bsm_node_emitter *e,
                              const bsm_value *value) {
  bsm_node_emitter out = *e;
  out.block = value->node->block;
  out.before =
      value->node->kind[0] ? value->node->next : value->node->block->first;
  return out;
}

/* The places of a mask that are not zero: rows of as many columns as it has
 * dims. *out is NULL when its dims are not known. */
static bsm_status find_places(pass *p, const bsm_node_emitter *at,
                              bsm_value *mask, const bounded **out) {
  const bsm_node_emitter behind = after(at, mask), *e = &behind;
  const bounded *rows = rows_of(p, mask);
  bsm_value *in[3] = {rows ? rows->padded : mask, NULL, NULL};
  bsm_dims dims;
  bsm_dtype dtype;
  *out = bsm_ptrmap_get(&p->found, mask);
  if (*out || !dims_of(p, mask, &dims, &dtype) || dims.rank == 0 ||
      bsm_dtype_is_complex(dtype)) {
    return BSM_OK;
  }
  bounded *b = BSM_NEW(p->arena, bounded);
  BSM_TRY_ALLOC(b);
  if (!bsm_dims_numel(dims, &b->most)) return BSM_OK;
  if (rows) {
    BSM_TRY(valid_rows(e, rows, dims.rank, &in[1]));
    BSM_TRY(emit(e, "aten::logical_and", in, 2, &in[0]));
    if (!in[0]) return BSM_OK;
  }
  BSM_TRY(bsm_ir_none(e, &in[1]));
  BSM_TRY(emit(e, "aten::count_nonzero", in, 2, &b->count));
  BSM_TRY(bsm_ir_int(e, b->most, &in[1]));
  BSM_TRY(bsm_ir_int(e, 0, &in[2]));
  BSM_TRY(emit(e, "aten::nonzero_static", in, 3, &b->padded));
  if (!b->count || !b->padded) return BSM_OK;
  BSM_TRY_ALLOC(bsm_ptrmap_set(p->arena, &p->found, mask, b));
  *out = b;
  return BSM_OK;
}

static bsm_status nonzero(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  const bounded *b;
  BSM_TRY(find_places(p, e, bsm_node_in(node, 0), &b));
  return b ? publish(p, e, bsm_node_out(node, 0), b->padded, b->count) : BSM_OK;
}

/* The outputs that a list of columns is taken apart to. */
static bsm_status publish_column(pass *p, const bsm_node_emitter *e,
                                 const bounded *b, int64_t rank,
                                 bsm_node *user) {
  for (size_t i = 0; i < user->outputs.len; i++) {
    int64_t column = (int64_t)i;
    bsm_value *values;
    if (!bsm_node_is(user, "prim::ListUnpack") &&
        (!bsm_value_int(bsm_node_in(user, 1), &column) ||
         !bsm_ir_wrap_dim(&column, (int32_t)rank))) {
      return BSM_OK;
    }
    if (column >= rank) return BSM_OK;
    BSM_TRY(bsm_ir_select(e, b->padded, 1, column, &values));
    BSM_TRY(publish(p, e, bsm_node_out(user, i), values, b->count));
  }
  return BSM_OK;
}

/* where(condition), nonzero_numpy(x): a list of columns */
static bsm_status columns(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  const bsm_value *list = bsm_node_out(node, 0);
  const bounded *b;
  bsm_dims dims;
  bsm_dtype dtype;
  BSM_TRY(find_places(p, e, bsm_node_in(node, 0), &b));
  if (!b || !bsm_value_dims(b->padded, &dims, &dtype)) return BSM_OK;
  for (size_t i = 0; i < list->uses.len; i++) {
    bsm_node *user = list->uses.items[i].user;
    if (bsm_node_is(user, "aten::__getitem__") ||
        bsm_node_is(user, "prim::ListUnpack")) {
      BSM_TRY(publish_column(p, e, b, dims.d[1], user));
    }
  }
  return BSM_OK;
}

/* x at `count` columns of places. */
static bsm_status gather(const bsm_node_emitter *e, bsm_value *x,
                         bsm_value *const *places, size_t count,
                         bsm_value **out) {
  bsm_value *in[2] = {x, NULL};
  bsm_node *list;
  const bsm_type *type = bsm_type_list(
      e->graph->cx->types,
      bsm_type_optional(e->graph->cx->types,
                        bsm_type_simple(e->graph->cx->types, BSM_TYPE_TENSOR)));
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_node_create(e->graph, "prim::ListConstruct", &list));
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_node_add_input(list, places[i]));
  }
  BSM_TRY(bsm_node_add_output(list, type, &in[1]));
  bsm_ir_link(e, list);
  return emit(e, "aten::index.Tensor", in, 2, out);
}

/* The elements of x where a mask over its first dims is true. */
static bsm_status take_masked(pass *p, const bsm_node_emitter *e, bsm_value *x,
                              bsm_value *mask, bsm_value *old) {
  const bounded *rows = rows_of(p, x), *of_mask = rows_of(p, mask), *b;
  bsm_value *places[BSM_MAX_RANK], *taken;
  bsm_dims dims, wanted;
  bsm_dtype dtype;
  if (!dims_of(p, x, &dims, &dtype) || !dims_of(p, mask, &wanted, &dtype) ||
      wanted.rank > dims.rank || wanted.rank == 0 || !rows != !of_mask ||
      (rows && rows->count != of_mask->count)) {
    return BSM_OK;
  }
  for (int32_t i = 0; i < wanted.rank; i++) {
    if (wanted.d[i] != dims.d[i]) return BSM_OK;
  }
  BSM_TRY(find_places(p, e, mask, &b));
  if (!b) return BSM_OK;
  for (int32_t i = 0; i < wanted.rank; i++) {
    BSM_TRY(bsm_ir_select(e, b->padded, 1, i, &places[i]));
  }
  BSM_TRY(
      gather(e, rows ? rows->padded : x, places, (size_t)wanted.rank, &taken));
  return taken ? publish(p, e, old, taken, b->count) : BSM_OK;
}

/* The rows of x that a bounded index names. */
static bsm_status take_rows(pass *p, const bsm_node_emitter *e, bsm_value *x,
                            bsm_value *index, bsm_value *old) {
  const bounded *rows = rows_of(p, x), *b = rows_of(p, index);
  bsm_dims dims, wanted;
  bsm_dtype dtype;
  bsm_value *taken;
  if (!dims_of(p, x, &dims, &dtype) || dims.rank == 0 ||
      !bsm_value_dims(b->padded, &wanted, &dtype) ||
      (dims.d[0] == 0 && b->most > 0)) {
    return BSM_OK;
  }
  BSM_TRY(gather(e, rows ? rows->padded : x, &b->padded, 1, &taken));
  return taken ? publish(p, e, old, taken, b->count) : BSM_OK;
}

/* x[mask], x[index]; with one of several, or behind other dims, it stays. */
static bsm_status take(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  bsm_node *list = bsm_value_list_node(bsm_node_in(node, 1));
  bsm_value *x = bsm_node_in(node, 0), *old = bsm_node_out(node, 0);
  bsm_dims dims;
  bsm_dtype dtype;
  if (!list || list->inputs.len != 1) return BSM_OK;
  bsm_value *index = bsm_node_in(list, 0);
  if (!dims_of(p, index, &dims, &dtype)) return BSM_OK;
  if (dtype == BSM_DTYPE_BOOL || dtype == BSM_DTYPE_UINT8) {
    return take_masked(p, e, x, index, old);
  }
  return rows_of(p, index) ? take_rows(p, e, x, index, old) : BSM_OK;
}

static bsm_status index_select(pass *p, const bsm_node_emitter *e,
                               bsm_node *node) {
  int64_t dim;
  return bsm_value_int(bsm_node_in(node, 1), &dim) && dim == 0 &&
                 rows_of(p, bsm_node_in(node, 2))
             ? take_rows(p, e, bsm_node_in(node, 0), bsm_node_in(node, 2),
                         bsm_node_out(node, 0))
             : BSM_OK;
}

static bsm_status masked_select(pass *p, const bsm_node_emitter *e,
                                bsm_node *node) {
  bsm_value *both[2] = {bsm_node_in(node, 0), bsm_node_in(node, 1)};
  bsm_dims dims[2], all = {0};
  bsm_dtype dtype;
  for (int i = 0; i < 2; i++) {
    if (rows_of(p, both[i]) || !bsm_value_dims(both[i], &dims[i], &dtype)) {
      return BSM_OK;
    }
    if (dims[i].rank > all.rank) all = dims[i];
  }
  for (int i = 0; i < 2; i++) { /* sizes of 1 become the other's */
    for (int32_t k = 0; k < dims[i].rank; k++) {
      int64_t *size = &all.d[all.rank - dims[i].rank + k];
      if (*size == 1) *size = dims[i].d[k];
    }
  }
  for (int i = 0; i < 2; i++) {
    if (bsm_dims_equal(dims[i], all)) continue;
    bsm_value *in[3] = {both[i], NULL, NULL};
    BSM_TRY(bsm_ir_dims(e, all, &in[1]));
    BSM_TRY(bsm_ir_bool(e, false, &in[2]));
    BSM_TRY(emit(e, "aten::expand", in, 3, &both[i]));
    if (!both[i]) return BSM_OK;
  }
  return take_masked(p, e, both[0], both[1], bsm_node_out(node, 0));
}

/* Of rows that a number counts, those behind it would be elements too. */
static bsm_status unique(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  bsm_unique_parts parts;
  if (rows_of(p, bsm_node_in(node, 0))) return BSM_OK;
  BSM_TRY(bsm_make_unique_parts(e, node, &parts));
  if (!parts.elements) return BSM_OK;
  BSM_TRY(
      take_masked(p, e, parts.elements, parts.first, bsm_node_out(node, 0)));
  if (parts.inverse) {
    BSM_TRY(bsm_rewrite_value(p->graph, bsm_node_out(node, 1), parts.inverse));
  }
  return parts.counts ? take_masked(p, e, parts.counts, parts.first,
                                    bsm_node_out(node, 2))
                      : BSM_OK;
}

/* ---- nms ---- */

/* Boxes that there are not get the least score. *kept: places, -1 behind them;
 * *ok: which of these are of boxes that there are. */
static bsm_status suppress(const bsm_node_emitter *e, const bounded *boxes,
                           const bounded *scores, bsm_value *threshold,
                           bsm_value **kept, bsm_value **ok) {
  bsm_value *in[3] = {scores->padded, NULL, NULL}, *inside;
  *kept = *ok = NULL;
  if (boxes->count) {
    BSM_TRY(valid_rows(e, boxes, 1, &inside));
    BSM_TRY(bsm_ir_op(e, "aten::logical_not", &inside, 1, &in[1]));
    BSM_TRY(bsm_ir_double(e, -INFINITY, &in[2]));
    BSM_TRY(emit(e, "aten::masked_fill.Scalar", in, 3, &in[0]));
    if (!in[0]) return BSM_OK;
  }
  bsm_value *args[3] = {boxes->padded, in[0], threshold};
  BSM_TRY(emit(e, "bessemer::padded_nms", args, 3, kept));
  if (!*kept) return BSM_OK;
  in[0] = *kept;
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  BSM_TRY(emit(e, "aten::ge.Scalar", in, 2, ok));
  if (!*ok || !boxes->count) return BSM_OK;
  in[1] = boxes->count;
  BSM_TRY(emit(e, "aten::lt.Tensor", in, 2, &inside));
  in[0] = *ok;
  in[1] = inside;
  return emit(e, "aten::logical_and", in, 2, ok);
}

static bsm_status nms(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  bounded both[2];
  bsm_dims dims[2];
  bsm_dtype dtypes[2];
  for (size_t i = 0; i < 2; i++) {
    bsm_value *value = bsm_node_in(node, i);
    const bounded *b = rows_of(p, value);
    if (!dims_of(p, value, &dims[i], &dtypes[i])) return BSM_OK;
    both[i] = b ? *b : (bounded){.padded = value};
  }
  if (dims[0].rank != 2 || dims[0].d[1] != 4 || dims[1].rank != 1 ||
      dims[0].d[0] != dims[1].d[0] || dtypes[0] != dtypes[1] ||
      both[0].count != both[1].count) {
    return BSM_OK;
  }
  bsm_value *in[3], *ok, *count, *places;
  BSM_TRY(suppress(e, &both[0], &both[1], bsm_node_in(node, 2), &in[0], &ok));
  if (!ok) return BSM_OK;
  bsm_value *counted[2] = {ok, NULL};
  BSM_TRY(bsm_ir_none(e, &counted[1]));
  BSM_TRY(emit(e, "aten::count_nonzero", counted, 2, &count));
  BSM_TRY(bsm_ir_op(e, "aten::logical_not", &ok, 1, &in[1]));
  BSM_TRY(bsm_ir_int(e, 0, &in[2]));
  BSM_TRY(emit(e, "aten::masked_fill.Scalar", in, 3, &places));
  return places && count ? publish(p, e, bsm_node_out(node, 0), places, count)
                         : BSM_OK;
}

/* ---- row by row ---- */

/* Whether the node can have the memory for rows in place of the rows: all of
 * its rows are of one number, and nothing else has as many. *in: its inputs
 * then. */
static bool is_by_rows(const pass *p, const bsm_node *node, bsm_value **in,
                       const bounded **out) {
  bsm_dims dims, all;
  bsm_dtype dtype;
  *out = NULL;
  for (size_t i = 0; i < node->inputs.len; i++) {
    const bounded *b = rows_of(p, bsm_node_in(node, i));
    in[i] = b ? b->padded : bsm_node_in(node, i);
    if (!b) continue;
    if (*out && (b->count != (*out)->count || b->most != (*out)->most)) {
      return false;
    }
    *out = b;
  }
  if (!*out || !bsm_value_dims((*out)->padded, &all, &dtype)) return false;
  for (size_t i = 0; i < node->inputs.len; i++) {
    const bsm_value *value = bsm_node_in(node, i);
    const bsm_type *type = value->type;
    if (bsm_value_constant(value) && !bsm_value_tensor(value)) continue;
    if (type &&
        (type->kind == BSM_TYPE_INT || type->kind == BSM_TYPE_FLOAT ||
         type->kind == BSM_TYPE_BOOL || type->kind == BSM_TYPE_NUMBER)) {
      continue;
    }
    if (!bsm_value_dims(in[i], &dims, &dtype)) return false;
    const bool has_rows = rows_of(p, value) != NULL;
    if (has_rows ? dims.rank != all.rank
                 : dims.rank > all.rank ||
                       (dims.rank == all.rank && dims.d[0] != 1)) {
      return false;
    }
  }
  return true;
}

/* Replaces the outputs of a node by what it makes of all rows. */
static bsm_status run_on_rows(pass *p, const bsm_node_emitter *e,
                              bsm_node *node, bsm_value *const *in,
                              const bounded *b) {
  bsm_node *copy;
  bsm_dims dims;
  bsm_dtype dtype;
  BSM_TRY(bsm_ir_node(e, node->schema->qualified, in, node->inputs.len, &copy));
  bsm_status status = bsm_infer_types(copy, p->aten);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bool fits = !status;
  bsm_status_free(status);
  for (size_t i = 0; fits && i < copy->outputs.len; i++) {
    fits = bsm_value_dims(bsm_node_out(copy, i), &dims, &dtype) && dims.rank &&
           dims.d[0] == b->most;
  }
  for (size_t i = 0; fits && i < copy->outputs.len; i++) {
    BSM_TRY(
        publish(p, e, bsm_node_out(node, i), bsm_node_out(copy, i), b->count));
  }
  return BSM_OK;
}

#define MAX_INPUTS 8

static bsm_status element_wise(pass *p, const bsm_node_emitter *e,
                               bsm_node *node) {
  bsm_value *in[MAX_INPUTS];
  const bounded *b;
  return node->inputs.len <= MAX_INPUTS && is_by_rows(p, node, in, &b)
             ? run_on_rows(p, e, node, in, b)
             : BSM_OK;
}

/* Ops whose second argument is a dim, which is not that of the rows. */
static bsm_status along_dim(pass *p, const bsm_node_emitter *e,
                            bsm_node *node) {
  const bounded *b = rows_of(p, bsm_node_in(node, 0));
  bsm_dims dims;
  bsm_dtype dtype;
  int64_t dim;
  if (!b || !bsm_value_dims(b->padded, &dims, &dtype) ||
      !bsm_value_int(bsm_node_in(node, 1), &dim)) {
    return BSM_OK;
  }
  const bool adds = strcmp(node->schema->name, "aten::unsqueeze") == 0;
  return bsm_ir_wrap_dim(&dim, dims.rank + adds) && dim > 0
             ? element_wise(p, e, node)
             : BSM_OK;
}

/* The first rows of those that there are. */
static bsm_status first_rows(pass *p, const bsm_node_emitter *e,
                             bsm_node *node) {
  const bounded *b = rows_of(p, bsm_node_in(node, 0));
  int64_t dim, start = 0, end, step;
  bsm_value *padded, *in[2], *count;
  if (!b || !bsm_value_int(bsm_node_in(node, 1), &dim)) return BSM_OK;
  if (dim != 0) return along_dim(p, e, node);
  if ((!bsm_value_is_none(bsm_node_in(node, 2)) &&
       !bsm_value_int(bsm_node_in(node, 2), &start)) ||
      !bsm_value_int(bsm_node_in(node, 3), &end) ||
      !bsm_value_int(bsm_node_in(node, 4), &step) || start != 0 || end < 0 ||
      step != 1) {
    return BSM_OK;
  }
  if (end > b->most) end = b->most;
  BSM_TRY(bsm_ir_slice(e, b->padded, 0, 0, end, 1, &padded));
  in[0] = b->count;
  BSM_TRY(bsm_ir_int(e, end, &in[1]));
  BSM_TRY(emit(e, "aten::clamp_max", in, 2, &count));
  return count ? publish(p, e, bsm_node_out(node, 0), padded, count) : BSM_OK;
}

/* How many rows there are. */
static bsm_status size(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  bsm_value *value = bsm_node_in(node, 0), *number;
  const bounded *b = rows_of(p, value);
  int64_t dim;
  if (!b || !bsm_value_int(bsm_node_in(node, 1), &dim) || dim != 0) {
    return BSM_OK;
  }
  bsm_value *count = b->count;
  BSM_TRY(bsm_ir_op(e, "aten::Int.Tensor", &count, 1, &number));
  return bsm_rewrite_value(p->graph, bsm_node_out(node, 0), number);
}

/* ---- the pass ---- */

typedef bsm_status (*bound_fn)(pass *p, const bsm_node_emitter *e,
                               bsm_node *node);
typedef struct rule {
  const char *schema; /* qualified */
  bound_fn bound;
} rule;

static const rule rules[] = {
    {"aten::nonzero", nonzero},
    {"aten::argwhere", nonzero},
    {"aten::nonzero_numpy", columns},
    {"aten::where", columns}, /* (condition) */
    {"aten::index.Tensor", take},
    {"aten::index_select", index_select},
    {"aten::masked_select", masked_select},
    {"aten::_unique", unique},
    {"aten::_unique2", unique},
    {"aten::unique_consecutive", unique},
    {"aten::unique_dim", unique},
    {"aten::unique_dim_consecutive", unique},
    {"torchvision::nms", nms},
    {"aten::slice.Tensor", first_rows},
    {"aten::size.int", size},
    {"aten::select.int", along_dim},
    {"aten::squeeze.dim", along_dim},
    {"aten::unsqueeze", along_dim},
    {"aten::softmax.int", along_dim},
    {"aten::max.dim", along_dim},
    {"aten::min.dim", along_dim},
    {"aten::add.Tensor", element_wise},
    {"aten::add.Scalar", element_wise},
    {"aten::sub.Tensor", element_wise},
    {"aten::sub.Scalar", element_wise},
    {"aten::mul.Tensor", element_wise},
    {"aten::mul.Scalar", element_wise},
    {"aten::div.Tensor", element_wise},
    {"aten::div.Scalar", element_wise},
    {"aten::gt.Tensor", element_wise},
    {"aten::gt.Scalar", element_wise},
    {"aten::ge.Tensor", element_wise},
    {"aten::ge.Scalar", element_wise},
    {"aten::lt.Tensor", element_wise},
    {"aten::lt.Scalar", element_wise},
    {"aten::le.Tensor", element_wise},
    {"aten::le.Scalar", element_wise},
    {"aten::eq.Tensor", element_wise},
    {"aten::eq.Scalar", element_wise},
    {"aten::ne.Tensor", element_wise},
    {"aten::ne.Scalar", element_wise},
    {"aten::logical_and", element_wise},
    {"aten::logical_or", element_wise},
    {"aten::logical_not", element_wise},
    {"aten::bitwise_not", element_wise},
    {"aten::__and__.Tensor", element_wise},
    {"aten::__or__.Tensor", element_wise},
    {"aten::clamp", element_wise},
    {"aten::clamp_min", element_wise},
    {"aten::clamp_max", element_wise},
    {"aten::minimum", element_wise},
    {"aten::maximum", element_wise},
    {"aten::where.self", element_wise},
    {"aten::exp", element_wise},
    {"aten::log", element_wise},
    {"aten::sqrt", element_wise},
    {"aten::sigmoid", element_wise},
    {"aten::tanh", element_wise},
    {"aten::relu", element_wise},
    {"aten::abs", element_wise},
    {"aten::neg", element_wise},
    {"aten::to.dtype", element_wise},
    {"aten::to.dtype_layout", element_wise},
    {"aten::_to_copy", element_wise},
    {"aten::clone", element_wise},
};

static bsm_status visit(pass *p, bsm_node *node) {
  const bsm_node_emitter e = bsm_node_emitter_before(node, p->aten);
  const char *name = node->schema ? node->schema->qualified : "";
  for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
    if (strcmp(name, rules[i].schema) == 0) return rules[i].bound(p, &e, node);
  }
  return BSM_OK;
}

static bsm_status visit_block(pass *p, bsm_block *block, size_t depth) {
  if (depth > p->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks are nested too deep");
  }
  bsm_node *next = NULL;
  for (bsm_node *node = block->first; node; node = next) {
    next = node->next;
    BSM_TRY(visit(p, node));
    for (size_t i = 0; i < node->blocks.len; i++) {
      BSM_TRY(visit_block(p, node->blocks.items[i], depth + 1));
    }
  }
  return BSM_OK;
}

bsm_status bsm_lower_bound_sizes(bsm_graph *graph,
                                 const bsm_aten_library *aten) {
  bsm_arena arena;
  bsm_arena_init(&arena, graph->cx->arena->allocator);
  pass p = {.graph = graph, .aten = aten, .arena = &arena};
  bsm_status status = visit_block(&p, graph->block, 0);
  bsm_arena_destroy(&arena);
  return status;
}
