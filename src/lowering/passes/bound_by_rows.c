/* SPDX-License-Identifier: Apache-2.0 */
/* What works row by row on what was found works on the memory for all that
 * could be found; rows behind those that there are hold anything. */
#include <string.h>

#include "lowering/passes/bound_by_rows.h"

/* Whether the node can have the memory for rows in place of the rows: all of
 * its rows are of one number, and nothing else has as many. *in: its inputs
 * then. */
static bool is_by_rows(const bsm_bounding *p, const bsm_node *node,
                       bsm_value **in, const bsm_bounded **out) {
  bsm_dims dims, all;
  bsm_dtype dtype;
  *out = NULL;
  for (size_t i = 0; i < node->inputs.len; i++) {
    const bsm_bounded *b = bsm_bounded_rows(p, bsm_node_in(node, i));
    in[i] = b ? b->padded : bsm_node_in(node, i);
    if (!b) continue;
    if (*out && (b->count != (*out)->count || b->most != (*out)->most)) {
      return false;
    }
    *out = b;
  }
  if (!*out || !bsm_value_rank((*out)->padded, &all, &dtype)) return false;
  for (size_t i = 0; i < node->inputs.len; i++) {
    const bsm_value *value = bsm_node_in(node, i);
    const bsm_type *type = value->type;
    if (bsm_value_constant(value) && !bsm_value_tensor(value)) continue;
    /* A number that data tell would make another plan of each. */
    if ((*out)->most >= 0 && type &&
        (type->kind == BSM_TYPE_INT || type->kind == BSM_TYPE_FLOAT ||
         type->kind == BSM_TYPE_BOOL || type->kind == BSM_TYPE_NUMBER)) {
      continue;
    }
    if (!bsm_value_rank(in[i], &dims, &dtype)) return false;
    const bool has_rows = bsm_bounded_rows(p, value) != NULL;
    if (has_rows ? dims.rank != all.rank
                 : dims.rank > all.rank ||
                       (dims.rank == all.rank && dims.d[0] != 1)) {
      return false;
    }
  }
  return true;
}

/* Replaces the outputs of a node by what it makes of all rows. */
static bsm_status run_on_rows(bsm_bounding *p, const bsm_node_emitter *e,
                              bsm_node *node, bsm_value *const *in,
                              const bsm_bounded *b) {
  bsm_node *copy;
  bsm_dims dims;
  bsm_dtype dtype;
  BSM_TRY(bsm_ir_node(e, node->schema->qualified, in, node->inputs.len, &copy));
  bsm_status status = bsm_infer_types(copy, p->aten);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bool fits = !status;
  bsm_status_free(status);
  if (fits && !bsm_value_rank(bsm_node_out(copy, 0), &dims, &dtype)) {
    BSM_TRY(bsm_bounded_types(copy, p->aten));
  }
  for (size_t i = 0; fits && i < copy->outputs.len; i++) {
    fits = bsm_value_rank(bsm_node_out(copy, i), &dims, &dtype) && dims.rank &&
           dims.d[0] == b->most;
  }
  for (size_t i = 0; fits && i < copy->outputs.len; i++) {
    BSM_TRY(bsm_bounded_publish(p, e, bsm_node_out(node, i),
                                bsm_node_out(copy, i), b->count));
  }
  return BSM_OK;
}

#define MAX_INPUTS 8

bsm_status bsm_bound_element_wise(bsm_bounding *p, const bsm_node_emitter *e,
                                  bsm_node *node) {
  bsm_value *in[MAX_INPUTS];
  const bsm_bounded *b;
  return node->inputs.len <= MAX_INPUTS && is_by_rows(p, node, in, &b)
             ? run_on_rows(p, e, node, in, b)
             : BSM_OK;
}

/* Ops whose second argument is a dim, which is not that of the rows. */
bsm_status bsm_bound_along_dim(bsm_bounding *p, const bsm_node_emitter *e,
                               bsm_node *node) {
  const bsm_bounded *b = bsm_bounded_rows(p, bsm_node_in(node, 0));
  bsm_dims dims;
  bsm_dtype dtype;
  int64_t dim;
  if (!b || !bsm_value_rank(b->padded, &dims, &dtype) ||
      !bsm_value_int(bsm_node_in(node, 1), &dim)) {
    return BSM_OK;
  }
  const bool adds = strcmp(node->schema->name, "aten::unsqueeze") == 0;
  const bool drops = strcmp(node->schema->name, "aten::squeeze") == 0;
  return bsm_ir_wrap_dim(&dim, dims.rank + adds) && dim > 0 &&
                 (!drops || dims.d[dim] >= 0)
             ? bsm_bound_element_wise(p, e, node)
             : BSM_OK;
}

/* Ops whose second argument is a list of dims, or one. */
bsm_status bsm_bound_along_dims(bsm_bounding *p, const bsm_node_emitter *e,
                                bsm_node *node) {
  const bsm_bounded *b = bsm_bounded_rows(p, bsm_node_in(node, 0));
  int64_t along[BSM_MAX_RANK];
  size_t count;
  bsm_dims dims;
  bsm_dtype dtype;
  if (!b || !bsm_value_rank(b->padded, &dims, &dtype) ||
      !bsm_value_ints(bsm_node_in(node, 1), along, &count) || count == 0) {
    return BSM_OK;
  }
  for (size_t i = 0; i < count; i++) {
    if (!bsm_ir_wrap_dim(&along[i], dims.rank) || along[i] == 0) return BSM_OK;
  }
  return bsm_bound_element_wise(p, e, node);
}

/* Rows beside each other: of the same number, joined along another dim. */
bsm_status bsm_bound_beside(bsm_bounding *p, const bsm_node_emitter *e,
                            bsm_node *node) {
  bsm_node *list = bsm_value_list_node(bsm_node_in(node, 0)), *copy;
  const bsm_bounded *first = NULL;
  bsm_value *in[2] = {NULL, bsm_node_in(node, 1)}, *joined;
  const bool adds = strcmp(node->schema->name, "aten::stack") == 0;
  bsm_dims dims;
  bsm_dtype dtype;
  int64_t dim;
  if (!list || !bsm_value_int(in[1], &dim)) return BSM_OK;
  for (size_t i = 0; i < list->inputs.len; i++) {
    const bsm_bounded *b = bsm_bounded_rows(p, bsm_node_in(list, i));
    if (!b || (first && b->count != first->count)) return BSM_OK;
    if (!first) first = b;
  }
  if (!first || !bsm_value_rank(first->padded, &dims, &dtype) ||
      !bsm_ir_wrap_dim(&dim, dims.rank + adds) || dim == 0) {
    return BSM_OK;
  }
  BSM_TRY(bsm_node_create(p->graph, "prim::ListConstruct", &copy));
  for (size_t i = 0; i < list->inputs.len; i++) {
    const bsm_bounded *b = bsm_bounded_rows(p, bsm_node_in(list, i));
    BSM_TRY(bsm_node_add_input(copy, b->padded));
  }
  BSM_TRY(bsm_node_add_output(copy, bsm_node_out(list, 0)->type, &in[0]));
  bsm_ir_link(e, copy);
  BSM_TRY(bsm_bounded_op(e, node->schema->qualified, in, 2, &joined));
  return joined ? bsm_bounded_publish(p, e, bsm_node_out(node, 0), joined,
                                      first->count)
                : BSM_OK;
}

/* x[:], in front of another index. */
static bool is_whole(const bsm_node *node) {
  const bsm_value *start = bsm_node_in(node, 2), *end = bsm_node_in(node, 3);
  int64_t from = 0, to = INT64_MAX, step;
  return (bsm_value_is_none(start) || bsm_value_int(start, &from)) &&
         (bsm_value_is_none(end) || bsm_value_int(end, &to)) &&
         bsm_value_int(bsm_node_in(node, 4), &step) && from == 0 &&
         to == INT64_MAX && step == 1;
}

/* The first rows of those that there are. */
bsm_status bsm_bound_first_rows(bsm_bounding *p, const bsm_node_emitter *e,
                                bsm_node *node) {
  const bsm_bounded *b = bsm_bounded_rows(p, bsm_node_in(node, 0));
  int64_t dim, start = 0, end, step;
  bsm_value *padded, *in[2], *count;
  if (!b || !bsm_value_int(bsm_node_in(node, 1), &dim)) return BSM_OK;
  if (dim != 0) return bsm_bound_along_dim(p, e, node);
  if (is_whole(node)) {
    return bsm_bounded_publish(p, e, bsm_node_out(node, 0), b->padded,
                               b->count);
  }
  if ((!bsm_value_is_none(bsm_node_in(node, 2)) &&
       !bsm_value_int(bsm_node_in(node, 2), &start)) ||
      !bsm_value_int(bsm_node_in(node, 3), &end) ||
      !bsm_value_int(bsm_node_in(node, 4), &step) || start != 0 || end < 0 ||
      step != 1) {
    return BSM_OK;
  }
  if (b->most >= 0 && end > b->most) end = b->most;
  bsm_value *cut[5] = {b->padded, NULL, NULL, NULL, NULL};
  const int64_t ints[4] = {0, 0, end, 1};
  for (int i = 0; i < 4; i++) BSM_TRY(bsm_ir_int(e, ints[i], &cut[i + 1]));
  BSM_TRY(bsm_bounded_op(e, "aten::slice.Tensor", cut, 5, &padded));
  if (!padded) return BSM_OK;
  in[0] = b->count;
  BSM_TRY(bsm_ir_int(e, end, &in[1]));
  BSM_TRY(bsm_bounded_op(e, "aten::clamp_max", in, 2, &count));
  return count ? bsm_bounded_publish(p, e, bsm_node_out(node, 0), padded, count)
               : BSM_OK;
}

/* How many rows there are. */
bsm_status bsm_bound_size(bsm_bounding *p, const bsm_node_emitter *e,
                          bsm_node *node) {
  bsm_value *value = bsm_node_in(node, 0), *number;
  const bsm_bounded *b = bsm_bounded_rows(p, value);
  int64_t dim;
  if (!b || !bsm_value_int(bsm_node_in(node, 1), &dim) || dim != 0) {
    return BSM_OK;
  }
  bsm_value *count = b->count;
  BSM_TRY(bsm_ir_op(e, "aten::Int.Tensor", &count, 1, &number));
  return bsm_rewrite_value(p->graph, bsm_node_out(node, 0), number);
}
