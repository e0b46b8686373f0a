/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that depend on data get a bound: what nonzero, masks and nms find is
 * computed in memory for all that could be found, whose size is known or
 * follows from the shapes of a run, and beside it how many there are. So plans
 * can have them. What works row by row on what was found works on all of that
 * memory instead; only what does not gets the rows that there are, as a slice
 * of them up to a number that the program reads. Rows behind those hold numbers
 * of no meaning, but no index among them is out of range.
 *
 * It is for targets whose memory is not the host's: there, a number that comes
 * home is cheaper than all tensors that the reference library would read.
 *
 * Requires:    refined types; a functional graph.
 * Establishes: nonzero, where, masked_select, indices that are masks, unique,
 *              and nms, of tensors of known rank, are nonzero_static, gathers,
 *              and padded_nms, each followed by Int and slice.
 * Breaks:      leaves what it replaced dead. */
#include <math.h>

#include "lowering/passes/bound_by_rows.h"
#include "lowering/passes/masked_writes.h"
#include "lowering/passes/measured_sizes.h"
#include "lowering/passes/unique_parts.h"

typedef bsm_bounded bounded;
typedef bsm_bounding pass;

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

static bool has_sizes(bsm_dims dims) {
  for (int32_t i = 0; i < dims.rank; i++) {
    if (dims.d[i] < 0) return false;
  }
  return true;
}

/* The places of a mask that are not zero: rows of as many columns as it has
 * dims. *out is NULL when its dims are not known. */
static bsm_status find_places(pass *p, const bsm_node_emitter *at,
                              bsm_value *mask, const bounded **out) {
  const bsm_node_emitter behind = after(at, mask), *e = &behind;
  const bounded *rows = bsm_bounded_rows(p, mask);
  bsm_value *in[3] = {rows ? rows->padded : mask, NULL, NULL};
  bsm_dims dims;
  bsm_dtype dtype;
  *out = bsm_ptrmap_get(&p->found, mask);
  if (*out || !bsm_bounded_dims(p, mask, &dims, &dtype) || dims.rank == 0 ||
      bsm_dtype_is_complex(dtype)) {
    return BSM_OK;
  }
  bounded *b = BSM_NEW(p->arena, bounded);
  BSM_TRY_ALLOC(b);
  b->most = -1;
  if (has_sizes(dims) && !bsm_dims_numel(dims, &b->most)) return BSM_OK;
  if (rows) {
    BSM_TRY(bsm_bounded_valid(e, rows, dims.rank, &in[1]));
    BSM_TRY(bsm_bounded_op(e, "aten::logical_and", in, 2, &in[0]));
    if (!in[0]) return BSM_OK;
  }
  BSM_TRY(bsm_ir_none(e, &in[1]));
  BSM_TRY(bsm_bounded_op(e, "aten::count_nonzero", in, 2, &b->count));
  if (b->most < 0) {
    BSM_TRY(bsm_ir_op(e, "aten::numel", in, 1, &in[1]));
  } else {
    BSM_TRY(bsm_ir_int(e, b->most, &in[1]));
  }
  BSM_TRY(bsm_ir_int(e, 0, &in[2]));
  BSM_TRY(bsm_ir_op(e, "aten::nonzero_static", in, 3, &b->padded));
  BSM_TRY(bsm_bounded_set_rank(b->padded, BSM_DTYPE_INT64,
                               (bsm_dims){2, {b->most, dims.rank}}));
  if (!b->count || !b->padded) return BSM_OK;
  BSM_TRY_ALLOC(bsm_ptrmap_set(p->arena, &p->found, mask, b));
  *out = b;
  return BSM_OK;
}

static bsm_status nonzero(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  const bounded *b;
  BSM_TRY(find_places(p, e, bsm_node_in(node, 0), &b));
  return b ? bsm_bounded_publish(p, e, bsm_node_out(node, 0), b->padded,
                                 b->count)
           : BSM_OK;
}

/* A column of places. */
static bsm_status column(const bsm_node_emitter *e, const bounded *b,
                         int64_t index, bsm_value **out) {
  BSM_TRY(bsm_ir_select(e, b->padded, 1, index, out));
  return bsm_bounded_set_rank(*out, BSM_DTYPE_INT64, (bsm_dims){1, {b->most}});
}

/* The outputs that a list of columns is taken apart to. */
static bsm_status publish_column(pass *p, const bsm_node_emitter *e,
                                 const bounded *b, int64_t rank,
                                 bsm_node *user) {
  for (size_t i = 0; i < user->outputs.len; i++) {
    int64_t at = (int64_t)i;
    bsm_value *values;
    if (!bsm_node_is(user, "prim::ListUnpack") &&
        (!bsm_value_int(bsm_node_in(user, 1), &at) ||
         !bsm_ir_wrap_dim(&at, (int32_t)rank))) {
      return BSM_OK;
    }
    if (at >= rank) return BSM_OK;
    BSM_TRY(column(e, b, at, &values));
    BSM_TRY(bsm_bounded_publish(p, e, bsm_node_out(user, i), values, b->count));
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
  if (!b || !bsm_value_rank(b->padded, &dims, &dtype)) return BSM_OK;
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
  return bsm_bounded_op(e, "aten::index.Tensor", in, 2, out);
}

/* x, which is refused in the run unless its first sizes are the mask's: as many
 * elements are left when these take their place. */
static bsm_status check_sizes(const bsm_node_emitter *e, bsm_value *x,
                              bsm_value *mask, int32_t rank, bsm_value **out) {
  bsm_value *in[3] = {x, NULL, NULL};
  bsm_dims dims;
  bsm_dtype dtype;
  *out = x;
  if (!bsm_value_rank(x, &dims, &dtype)) return BSM_OK;
  BSM_TRY(bsm_bounded_sizes(e, x, dims.rank, mask, rank, &in[1]));
  BSM_TRY(bsm_ir_bool(e, false, &in[2]));
  BSM_TRY(bsm_ir_op(e, "aten::expand", in, 3, &in[0]));
  BSM_TRY(bsm_bounded_set_rank(in[0], dtype, dims));
  BSM_TRY(bsm_bounded_sizes(e, x, dims.rank, NULL, 0, &in[1]));
  BSM_TRY(bsm_ir_op(e, "aten::reshape", in, 2, out));
  return bsm_bounded_set_rank(*out, dtype, dims);
}

/* The elements of x where a mask over its first dims is true. */
static bsm_status take_masked(pass *p, const bsm_node_emitter *e, bsm_value *x,
                              bsm_value *mask, bsm_value *old) {
  const bounded *rows = bsm_bounded_rows(p, x),
                *of_mask = bsm_bounded_rows(p, mask), *b;
  bsm_value *places[BSM_MAX_RANK], *taken;
  bsm_dims dims, wanted;
  bsm_dtype dtype;
  if (!bsm_bounded_dims(p, x, &dims, &dtype) ||
      !bsm_bounded_dims(p, mask, &wanted, &dtype) || wanted.rank > dims.rank ||
      wanted.rank == 0 || !rows != !of_mask ||
      (rows && rows->count != of_mask->count)) {
    return BSM_OK;
  }
  bool known = true;
  for (int32_t i = 0; i < wanted.rank; i++) {
    known = known && wanted.d[i] >= 0 && dims.d[i] >= 0;
    if (wanted.d[i] >= 0 && dims.d[i] >= 0 && wanted.d[i] != dims.d[i]) {
      return BSM_OK;
    }
  }
  BSM_TRY(find_places(p, e, mask, &b));
  if (!b) return BSM_OK;
  for (int32_t i = 0; i < wanted.rank; i++) {
    BSM_TRY(column(e, b, i, &places[i]));
  }
  if (rows) x = rows->padded;
  if (!known) {
    bsm_value *of = of_mask ? of_mask->padded : mask;
    BSM_TRY(check_sizes(e, x, of, wanted.rank, &x));
  }
  BSM_TRY(gather(e, x, places, (size_t)wanted.rank, &taken));
  return taken ? bsm_bounded_publish(p, e, old, taken, b->count) : BSM_OK;
}

/* x with a row behind it where the run finds that it has none: places behind
 * those that were found are 0, and have to be some row's. */
static bsm_status have_a_row(const bsm_node_emitter *e, bsm_value *x,
                             int32_t rank, bsm_value **out) {
  bsm_type_table *types = e->graph->cx->types;
  const bsm_type *type =
      bsm_type_list(types, bsm_type_simple(types, BSM_TYPE_INT));
  bsm_value *in[3] = {x, NULL, NULL}, *zero, *ints[2], *missing;
  bsm_node *pads;
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_ir_int(e, 0, &zero));
  BSM_TRY(bsm_ir_int(e, 1, &ints[1]));
  BSM_TRY(bsm_bounded_size(e, x, 0, &ints[0]));
  BSM_TRY(bsm_ir_op(e, "prim::min.int", ints, 2, &missing));
  ints[0] = ints[1];
  ints[1] = missing;
  BSM_TRY(bsm_ir_op(e, "aten::sub.int", ints, 2, &missing));
  BSM_TRY(bsm_node_create(e->graph, "prim::ListConstruct", &pads));
  for (int32_t i = 0; i < 2 * rank; i++) {
    BSM_TRY(bsm_node_add_input(pads, i < 2 * rank - 1 ? zero : missing));
  }
  BSM_TRY(bsm_node_add_output(pads, type, &in[1]));
  bsm_ir_link(e, pads);
  in[2] = zero;
  return bsm_bounded_op(e, "aten::constant_pad_nd", in, 3, out);
}

/* The rows of x that a bounded index names. */
static bsm_status take_rows(pass *p, const bsm_node_emitter *e, bsm_value *x,
                            bsm_value *index, bsm_value *old) {
  const bounded *rows = bsm_bounded_rows(p, x), *b = bsm_bounded_rows(p, index);
  bsm_dims dims, wanted;
  bsm_dtype dtype;
  bsm_value *taken, *from = rows ? rows->padded : x;
  if (!bsm_bounded_dims(p, x, &dims, &dtype) || dims.rank == 0 ||
      !bsm_value_rank(b->padded, &wanted, &dtype) ||
      (dims.d[0] == 0 && b->most != 0)) {
    return BSM_OK;
  }
  if (dims.d[0] < 0) BSM_TRY(have_a_row(e, from, dims.rank, &from));
  if (!from) return BSM_OK;
  BSM_TRY(gather(e, from, &b->padded, 1, &taken));
  return taken ? bsm_bounded_publish(p, e, old, taken, b->count) : BSM_OK;
}

/* x[mask], x[index]; with one of several, or behind other dims, it stays. */
static bsm_status take(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  bsm_node *list = bsm_value_list_node(bsm_node_in(node, 1));
  bsm_value *x = bsm_node_in(node, 0), *old = bsm_node_out(node, 0);
  bsm_dims dims;
  bsm_dtype dtype;
  if (!list || list->inputs.len != 1) return BSM_OK;
  bsm_value *index = bsm_node_in(list, 0);
  if (!bsm_bounded_dims(p, index, &dims, &dtype)) return BSM_OK;
  if (dtype == BSM_DTYPE_BOOL || dtype == BSM_DTYPE_UINT8) {
    return take_masked(p, e, x, index, old);
  }
  return bsm_bounded_rows(p, index) ? take_rows(p, e, x, index, old) : BSM_OK;
}

static bsm_status index_select(pass *p, const bsm_node_emitter *e,
                               bsm_node *node) {
  int64_t dim;
  return bsm_value_int(bsm_node_in(node, 1), &dim) && dim == 0 &&
                 bsm_bounded_rows(p, bsm_node_in(node, 2))
             ? take_rows(p, e, bsm_node_in(node, 0), bsm_node_in(node, 2),
                         bsm_node_out(node, 0))
             : BSM_OK;
}

/* Expands x and a mask to the sizes of both, which the run will tell. */
static bsm_status have_all_sizes(const bsm_node_emitter *e, bsm_value **both) {
  bsm_value *in[6] = {both[0], NULL, NULL, NULL, NULL, NULL}, *ones;
  BSM_TRY(bsm_ir_int(e, BSM_DTYPE_BOOL, &in[1]));
  for (int i = 2; i < 6; i++) BSM_TRY(bsm_ir_none(e, &in[i]));
  BSM_TRY(bsm_bounded_op(e, "aten::ones_like", in, 6, &ones));
  bsm_value *of_mask[2] = {both[1], ones};
  if (ones)
    BSM_TRY(bsm_bounded_op(e, "aten::logical_and", of_mask, 2, &both[1]));
  if (!ones || !both[1]) {
    both[0] = NULL;
    return BSM_OK;
  }
  bsm_value *of_x[2] = {both[0], both[1]};
  return bsm_bounded_op(e, "aten::expand_as", of_x, 2, &both[0]);
}

static bsm_status masked_select(pass *p, const bsm_node_emitter *e,
                                bsm_node *node) {
  bsm_value *both[2] = {bsm_node_in(node, 0), bsm_node_in(node, 1)};
  bsm_dims dims[2], all = {0};
  bsm_dtype dtype;
  for (int i = 0; i < 2; i++) {
    if (bsm_bounded_rows(p, both[i]) ||
        !bsm_value_rank(both[i], &dims[i], &dtype)) {
      return BSM_OK;
    }
    if (dims[i].rank > all.rank) all = dims[i];
  }
  if (!has_sizes(dims[0]) || !has_sizes(dims[1])) {
    BSM_TRY(have_all_sizes(e, both));
    return both[0] ? take_masked(p, e, both[0], both[1], bsm_node_out(node, 0))
                   : BSM_OK;
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
    BSM_TRY(bsm_bounded_op(e, "aten::expand", in, 3, &both[i]));
    if (!both[i]) return BSM_OK;
  }
  return take_masked(p, e, both[0], both[1], bsm_node_out(node, 0));
}

/* The unique rows along another dim than the first, turned back. */
static bsm_status take_turned(pass *p, const bsm_node_emitter *e, int64_t dim,
                              const bsm_unique_parts *parts, bsm_value *old) {
  const bsm_node_emitter behind = after(e, old);
  bsm_value *turned;
  bsm_dims dims;
  bsm_dtype dtype;
  if (dim == 0) return take_masked(p, e, parts->elements, parts->first, old);
  if (!bsm_value_rank(parts->elements, &dims, &dtype)) return BSM_OK;
  BSM_TRY(bsm_ir_transpose(&behind, old, 0, dim, &turned));
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = -1;
  BSM_TRY(bsm_bounded_set_rank(turned, dtype, dims));
  bsm_node *turn = turned->node;
  BSM_TRY(bsm_rewrite_value(p->graph, old, turned));
  BSM_TRY(bsm_node_set_input(turn, 0, old));
  BSM_TRY(take_masked(p, e, parts->elements, parts->first, old));
  return bsm_node_in(turn, 0) == old ? bsm_rewrite_value(p->graph, turned, old)
                                     : BSM_OK;
}

/* Of rows that a number counts, those behind it would be elements too. */
static bsm_status unique(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  bsm_unique_parts parts;
  if (bsm_bounded_rows(p, bsm_node_in(node, 0))) return BSM_OK;
  BSM_TRY(bsm_make_unique_parts(e, node, &parts));
  if (!parts.elements) return BSM_OK;
  BSM_TRY(take_turned(p, e, parts.dim, &parts, bsm_node_out(node, 0)));
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
                           const bounded *scores, int64_t most,
                           bsm_value *threshold, bsm_value **kept,
                           bsm_value **ok) {
  bsm_value *in[3] = {scores->padded, NULL, NULL}, *inside;
  *kept = *ok = NULL;
  if (boxes->count) {
    BSM_TRY(bsm_bounded_valid(e, boxes, 1, &inside));
    BSM_TRY(bsm_bounded_op(e, "aten::logical_not", &inside, 1, &in[1]));
    if (!in[1]) return BSM_OK;
    BSM_TRY(bsm_ir_double(e, -INFINITY, &in[2]));
    BSM_TRY(bsm_bounded_op(e, "aten::masked_fill.Scalar", in, 3, &in[0]));
    if (!in[0]) return BSM_OK;
  }
  bsm_value *args[3] = {boxes->padded, in[0], threshold};
  BSM_TRY(bsm_ir_op(e, "bessemer::padded_nms", args, 3, kept));
  BSM_TRY(bsm_bounded_set_rank(*kept, BSM_DTYPE_INT64, (bsm_dims){1, {most}}));
  in[0] = *kept;
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  BSM_TRY(bsm_bounded_op(e, "aten::ge.Scalar", in, 2, ok));
  if (!*ok || !boxes->count) return BSM_OK;
  in[1] = boxes->count;
  BSM_TRY(bsm_bounded_op(e, "aten::lt.Tensor", in, 2, &inside));
  in[0] = *ok;
  in[1] = inside;
  return bsm_bounded_op(e, "aten::logical_and", in, 2, ok);
}

static bsm_status nms(pass *p, const bsm_node_emitter *e, bsm_node *node) {
  bounded both[2];
  bsm_dims dims[2];
  bsm_dtype dtypes[2];
  for (size_t i = 0; i < 2; i++) {
    bsm_value *value = bsm_node_in(node, i);
    const bounded *b = bsm_bounded_rows(p, value);
    if (!bsm_bounded_dims(p, value, &dims[i], &dtypes[i])) return BSM_OK;
    both[i] = b ? *b : (bounded){.padded = value};
  }
  if (dims[0].rank != 2 || (dims[0].d[1] != 4 && dims[0].d[1] != -1) ||
      dims[1].rank != 1 || dims[0].d[0] != dims[1].d[0] ||
      dtypes[0] != dtypes[1] || both[0].count != both[1].count) {
    return BSM_OK;
  }
  bsm_value *in[3], *ok, *count, *places;
  BSM_TRY(suppress(e, &both[0], &both[1], dims[0].d[0], bsm_node_in(node, 2),
                   &in[0], &ok));
  if (!ok) return BSM_OK;
  bsm_value *counted[2] = {ok, NULL};
  BSM_TRY(bsm_ir_none(e, &counted[1]));
  BSM_TRY(bsm_bounded_op(e, "aten::count_nonzero", counted, 2, &count));
  BSM_TRY(bsm_bounded_op(e, "aten::logical_not", &ok, 1, &in[1]));
  if (!in[1]) return BSM_OK;
  BSM_TRY(bsm_ir_int(e, 0, &in[2]));
  BSM_TRY(bsm_bounded_op(e, "aten::masked_fill.Scalar", in, 3, &places));
  return places && count
             ? bsm_bounded_publish(p, e, bsm_node_out(node, 0), places, count)
             : BSM_OK;
}

/* ---- the pass ---- */

typedef struct rule {
  const char *schema; /* qualified */
  bsm_bound_fn *bound;
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
    {"aten::bincount", bsm_measure_bincount},
    {"aten::repeat_interleave.Tensor", bsm_measure_repeats},
    {"aten::repeat_interleave.self_Tensor", bsm_measure_repeats},
    {"aten::masked_scatter", bsm_bound_masked_scatter},
    {"aten::index_put", bsm_bound_masked_put},
    {"aten::slice.Tensor", bsm_bound_first_rows},
    {"aten::size.int", bsm_bound_size},
    {"aten::select.int", bsm_bound_along_dim},
    {"aten::squeeze.dim", bsm_bound_along_dim},
    {"aten::unsqueeze", bsm_bound_along_dim},
    {"aten::softmax.int", bsm_bound_along_dim},
    {"aten::max.dim", bsm_bound_along_dim},
    {"aten::min.dim", bsm_bound_along_dim},
    {"aten::argmax", bsm_bound_along_dims},
    {"aten::argmin", bsm_bound_along_dims},
    {"aten::any.dim", bsm_bound_along_dims},
    {"aten::all.dim", bsm_bound_along_dims},
    {"aten::sum.dim_IntList", bsm_bound_along_dims},
    {"aten::mean.dim", bsm_bound_along_dims},
    {"aten::amax", bsm_bound_along_dims},
    {"aten::amin", bsm_bound_along_dims},
    {"aten::cat", bsm_bound_beside},
    {"aten::stack", bsm_bound_beside},
    {"aten::add.Tensor", bsm_bound_element_wise},
    {"aten::add.Scalar", bsm_bound_element_wise},
    {"aten::sub.Tensor", bsm_bound_element_wise},
    {"aten::sub.Scalar", bsm_bound_element_wise},
    {"aten::mul.Tensor", bsm_bound_element_wise},
    {"aten::mul.Scalar", bsm_bound_element_wise},
    {"aten::div.Tensor", bsm_bound_element_wise},
    {"aten::div.Scalar", bsm_bound_element_wise},
    {"aten::gt.Tensor", bsm_bound_element_wise},
    {"aten::gt.Scalar", bsm_bound_element_wise},
    {"aten::ge.Tensor", bsm_bound_element_wise},
    {"aten::ge.Scalar", bsm_bound_element_wise},
    {"aten::lt.Tensor", bsm_bound_element_wise},
    {"aten::lt.Scalar", bsm_bound_element_wise},
    {"aten::le.Tensor", bsm_bound_element_wise},
    {"aten::le.Scalar", bsm_bound_element_wise},
    {"aten::eq.Tensor", bsm_bound_element_wise},
    {"aten::eq.Scalar", bsm_bound_element_wise},
    {"aten::ne.Tensor", bsm_bound_element_wise},
    {"aten::ne.Scalar", bsm_bound_element_wise},
    {"aten::logical_and", bsm_bound_element_wise},
    {"aten::logical_or", bsm_bound_element_wise},
    {"aten::logical_not", bsm_bound_element_wise},
    {"aten::bitwise_not", bsm_bound_element_wise},
    {"aten::__and__.Tensor", bsm_bound_element_wise},
    {"aten::__or__.Tensor", bsm_bound_element_wise},
    {"aten::clamp", bsm_bound_element_wise},
    {"aten::clamp_min", bsm_bound_element_wise},
    {"aten::clamp_max", bsm_bound_element_wise},
    {"aten::minimum", bsm_bound_element_wise},
    {"aten::maximum", bsm_bound_element_wise},
    {"aten::where.self", bsm_bound_element_wise},
    {"aten::exp", bsm_bound_element_wise},
    {"aten::log", bsm_bound_element_wise},
    {"aten::sqrt", bsm_bound_element_wise},
    {"aten::sigmoid", bsm_bound_element_wise},
    {"aten::tanh", bsm_bound_element_wise},
    {"aten::relu", bsm_bound_element_wise},
    {"aten::abs", bsm_bound_element_wise},
    {"aten::neg", bsm_bound_element_wise},
    {"aten::rsub.Scalar", bsm_bound_element_wise},
    {"aten::reciprocal", bsm_bound_element_wise},
    {"aten::rsqrt", bsm_bound_element_wise},
    {"aten::pow.Tensor_Scalar", bsm_bound_element_wise},
    {"aten::floor", bsm_bound_element_wise},
    {"aten::ceil", bsm_bound_element_wise},
    {"aten::round", bsm_bound_element_wise},
    {"aten::sin", bsm_bound_element_wise},
    {"aten::cos", bsm_bound_element_wise},
    {"aten::to.dtype", bsm_bound_element_wise},
    {"aten::to.dtype_layout", bsm_bound_element_wise},
    {"aten::_to_copy", bsm_bound_element_wise},
    {"aten::clone", bsm_bound_element_wise},
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
