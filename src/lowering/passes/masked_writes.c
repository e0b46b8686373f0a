/* SPDX-License-Identifier: Apache-2.0 */
/* What is written where a mask is true: the k-th place gets the k-th row. So
 * each place takes the row of the number of places ahead of it, and keeps what
 * it has where the mask is false: no size depends on data. */
#include "lowering/passes/masked_writes.h"

static bool has_sizes(bsm_dims dims) {
  for (int32_t i = 0; i < dims.rank; i++) {
    if (dims.d[i] < 0) return false;
  }
  return true;
}

static bsm_status flatten(const bsm_node_emitter *e, bsm_value *x,
                          bsm_value **out) {
  bsm_dims dims;
  bsm_dtype dtype;
  int64_t count;
  *out = NULL;
  return bsm_value_dims(x, &dims, &dtype) && bsm_dims_numel(dims, &count)
             ? bsm_ir_reshape(e, x, (bsm_dims){1, {count}}, out)
             : BSM_OK;
}

/* int64[n]: how many places are true ahead of each, or 0. NULL: not known. */
static bsm_status number_places(const bsm_node_emitter *e, bsm_value *mask,
                                bsm_value **out) {
  bsm_value *in[3] = {NULL, NULL, NULL};
  *out = NULL;
  BSM_TRY(flatten(e, mask, &in[0]));
  if (!in[0]) return BSM_OK;
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  BSM_TRY(bsm_ir_none(e, &in[2]));
  BSM_TRY(bsm_bounded_op(e, "aten::cumsum", in, 3, &in[0]));
  if (!in[0]) return BSM_OK;
  BSM_TRY(bsm_ir_int(e, 1, &in[1]));
  BSM_TRY(bsm_ir_int(e, 1, &in[2]));
  BSM_TRY(bsm_bounded_op(e, "aten::sub.Scalar", in, 3, &in[0]));
  if (!in[0]) return BSM_OK;
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  return bsm_bounded_op(e, "aten::clamp_min", in, 2, out);
}

/* x, of known sizes, with rows where the mask is true, which has its first
 * dims. */
static bsm_status write_rows(bsm_bounding *p, const bsm_node_emitter *e,
                             bsm_value *x, bsm_value *mask, bsm_value *rows,
                             bsm_value *old) {
  bsm_value *in[3], *where[3];
  bsm_dims dims, of_mask;
  bsm_dtype dtype, mask_dtype;
  if (!bsm_value_rank(x, &dims, &dtype) ||
      !bsm_value_rank(mask, &of_mask, &mask_dtype)) {
    return BSM_OK;
  }
  in[0] = rows;
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  BSM_TRY(number_places(e, mask, &in[2]));
  if (!in[2]) return BSM_OK;
  BSM_TRY(bsm_bounded_op(e, "aten::index_select", in, 3, &in[0]));
  if (!in[0]) return BSM_OK;
  BSM_TRY(bsm_ir_reshape(e, in[0], dims, &where[1]));
  where[0] = mask;
  where[2] = x;
  for (int32_t i = of_mask.rank; i < dims.rank && where[0]; i++) {
    in[0] = where[0];
    BSM_TRY(bsm_ir_int(e, -1, &in[1]));
    BSM_TRY(bsm_bounded_op(e, "aten::unsqueeze", in, 2, &where[0]));
  }
  if (where[0]) BSM_TRY(bsm_bounded_op(e, "aten::where.self", where, 3, &x));
  return where[0] && x ? bsm_rewrite_value(p->graph, old, x) : BSM_OK;
}

/* ---- masked_scatter ---- */

bsm_status bsm_bound_masked_scatter(bsm_bounding *p, const bsm_node_emitter *e,
                                    bsm_node *node) {
  bsm_value *x = bsm_node_in(node, 0), *mask = bsm_node_in(node, 1);
  bsm_value *rows = bsm_node_in(node, 2);
  bsm_dims dims, of_mask, of_rows;
  bsm_dtype dtype, mask_dtype, rows_dtype;
  if (bsm_value_constant(mask) || bsm_bounded_rows(p, x) ||
      bsm_bounded_rows(p, mask) || bsm_bounded_rows(p, rows) ||
      !bsm_value_rank(x, &dims, &dtype) ||
      !bsm_value_rank(mask, &of_mask, &mask_dtype) ||
      !bsm_value_rank(rows, &of_rows, &rows_dtype) ||
      mask_dtype != BSM_DTYPE_BOOL || dtype != rows_dtype ||
      bsm_dtype_is_complex(dtype)) {
    return BSM_OK;
  }
  int64_t count;
  if (!has_sizes(dims) || !has_sizes(of_mask) || !has_sizes(of_rows) ||
      dims.rank == 0 || of_mask.rank > dims.rank ||
      !bsm_dims_numel(of_rows, &count) || count == 0) {
    return BSM_OK;
  }
  for (int32_t i = 0; i < of_mask.rank; i++) {
    const int64_t size = of_mask.d[of_mask.rank - 1 - i];
    if (size != 1 && size != dims.d[dims.rank - 1 - i]) return BSM_OK;
  }
  BSM_TRY(bsm_ir_expand(e, mask, dims, &mask));
  BSM_TRY(flatten(e, rows, &rows));
  return rows ? write_rows(p, e, x, mask, rows, bsm_node_out(node, 0)) : BSM_OK;
}

/* ---- x[mask] = rows ---- */

bsm_status bsm_bound_masked_put(bsm_bounding *p, const bsm_node_emitter *e,
                                bsm_node *node) {
  const bsm_node *list = bsm_value_list_node(bsm_node_in(node, 1));
  bsm_value *x = bsm_node_in(node, 0);
  const bsm_bounded *rows = bsm_bounded_rows(p, bsm_node_in(node, 2)), *found;
  bsm_dims dims, of_mask, of_rows;
  bsm_dtype dtype, mask_dtype, rows_dtype;
  bool adds = true;
  if (!list || list->inputs.len != 1 || !rows || bsm_bounded_rows(p, x) ||
      !bsm_value_bool(bsm_node_in(node, 3), &adds) || adds) {
    return BSM_OK;
  }
  bsm_value *mask = bsm_node_in(list, 0);
  found = bsm_ptrmap_get(&p->found, mask);
  if (!found || found->count != rows->count || bsm_bounded_rows(p, mask) ||
      !bsm_value_rank(x, &dims, &dtype) ||
      !bsm_value_rank(mask, &of_mask, &mask_dtype) ||
      !bsm_value_rank(rows->padded, &of_rows, &rows_dtype) ||
      mask_dtype != BSM_DTYPE_BOOL || dtype != rows_dtype) {
    return BSM_OK;
  }
  if (!has_sizes(dims) || !has_sizes(of_mask) || of_mask.rank > dims.rank ||
      of_rows.rank != dims.rank - of_mask.rank + 1 || rows->most == 0) {
    return BSM_OK;
  }
  for (int32_t i = 0; i < dims.rank; i++) { /* nothing is repeated */
    const bool masked = i < of_mask.rank;
    const int64_t size =
        masked ? of_mask.d[i] : of_rows.d[i - of_mask.rank + 1];
    if (size != dims.d[i]) return BSM_OK;
  }
  return write_rows(p, e, x, mask, rows->padded, bsm_node_out(node, 0));
}
