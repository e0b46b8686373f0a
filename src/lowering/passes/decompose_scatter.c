/* SPDX-License-Identifier: Apache-2.0 */
/* Writes through views, as the specialiser leaves them, in terms of ops that
 * every backend has: a slice_scatter of step 1 and a select_scatter are a
 * concatenation of what is in front, the new part, and what is behind; other
 * steps are a scatter with constant indices.
 *
 * Requires:    constant dims and positions, known dims of the tensor.
 * Establishes: no select_scatter and no slice_scatter with such arguments.
 * Breaks:      nothing. */
#include "lowering/pass.h"

/* [0, start) of x, part, [end, size) of x along dim. */
static bsm_status replace_range(const bsm_emitter *e, bsm_value *x,
                                bsm_value *part, int64_t dim, int64_t start,
                                int64_t end, int64_t size, bsm_value **out) {
  bsm_value *pieces[3];
  size_t n = 0;
  if (start > 0) {
    BSM_TRY(bsm_ir_slice(e, x, dim, 0, start, 1, &pieces[n++]));
  }
  pieces[n++] = part;
  if (end < size) {
    BSM_TRY(bsm_ir_slice(e, x, dim, end, size, 1, &pieces[n++]));
  }
  if (n == 1) {
    *out = part;
    return BSM_OK;
  }
  return bsm_ir_cat(e, pieces, n, dim, out);
}

static bsm_status select_scatter(const bsm_emitter *e, bsm_node *node,
                                 bsm_value **outs) {
  bsm_value *x = bsm_node_in(node, 0), *part = NULL;
  int64_t dim = 0, index = 0;
  bsm_dims dims;
  bsm_dtype dtype;
  if (!bsm_value_dims(x, &dims, &dtype) ||
      !bsm_value_int(bsm_node_in(node, 2), &dim) ||
      !bsm_value_int(bsm_node_in(node, 3), &index) || dims.rank == 0 ||
      !bsm_ir_wrap_dim(&dim, dims.rank)) {
    return BSM_OK;
  }
  const int64_t size = dims.d[dim];
  index = index < 0 ? index + size : index;
  dims.d[dim] = 1;
  BSM_TRY(bsm_ir_reshape(e, bsm_node_in(node, 1), dims, &part));
  return replace_range(e, x, part, dim, index, index + 1, size, &outs[0]);
}

/* Indices start, start + step ... along dim, in the shape of the part. */
static bsm_status step_indices(const bsm_emitter *e, bsm_dims part, int64_t dim,
                               int64_t start, int64_t step, bsm_value **out) {
  bsm_arena *arena = e->graph->cx->arena;
  const bsm_dims line = {1, {part.d[dim]}};
  int64_t strides[BSM_MAX_RANK] = {0};
  bsm_tensor *values = NULL, *index = NULL;
  BSM_TRY(bsm_tensor_new(arena, BSM_DTYPE_INT64, line, false, &values));
  int64_t *data = bsm_tensor_data(values);
  for (int64_t i = 0; i < line.d[0]; i++) {
    data[i] = start + i * step;
  }
  strides[dim] = 1;
  BSM_TRY(bsm_tensor_view(arena, values, part, strides, 0, &index));
  const bsm_type *type =
      bsm_type_tensor(e->graph->cx->types, BSM_DTYPE_INT64, part);
  BSM_TRY_ALLOC(type);
  return bsm_ir_constant(e, bsm_iv_tensor(index), type, out);
}

/* start and end as Python's slices count them. */
static int64_t clamp_index(int64_t i, int64_t size) {
  i = i < 0 ? i + size : i;
  return i < 0 ? 0 : i > size ? size : i;
}

static bsm_status slice_scatter(const bsm_emitter *e, bsm_node *node,
                                bsm_value **outs) {
  bsm_value *x = bsm_node_in(node, 0), *part = bsm_node_in(node, 1);
  int64_t dim = 0, start = 0, end = INT64_MAX, step = 1;
  bsm_dims dims, of_part;
  bsm_dtype dtype;
  if (!bsm_value_dims(x, &dims, &dtype) ||
      !bsm_value_dims(part, &of_part, &dtype) || dims.rank == 0 ||
      of_part.rank != dims.rank || !bsm_value_int(bsm_node_in(node, 2), &dim) ||
      (!bsm_value_int(bsm_node_in(node, 3), &start) &&
       !bsm_value_is_none(bsm_node_in(node, 3))) ||
      (!bsm_value_int(bsm_node_in(node, 4), &end) &&
       !bsm_value_is_none(bsm_node_in(node, 4))) ||
      !bsm_value_int(bsm_node_in(node, 5), &step) || step < 1 ||
      !bsm_ir_wrap_dim(&dim, dims.rank)) {
    return BSM_OK;
  }
  const int64_t size = dims.d[dim];
  start = clamp_index(start, size);
  end = clamp_index(end, size);
  if (of_part.d[dim] == 0) {
    outs[0] = x;
    return BSM_OK;
  }
  if (step == 1) {
    return replace_range(e, x, part, dim, start, end, size, &outs[0]);
  }
  bsm_value *in[4] = {x, NULL, NULL, part};
  BSM_TRY(bsm_ir_int(e, dim, &in[1]));
  BSM_TRY(step_indices(e, of_part, dim, start, step, &in[2]));
  return bsm_ir_op(e, "aten::scatter.src", in, 4, &outs[0]);
}

static const bsm_rewrite rules[] = {
    {"aten::select_scatter", select_scatter},
    {"aten::slice_scatter", slice_scatter},
};

bsm_status bsm_lower_decompose_scatter(bsm_graph *graph,
                                       const bsm_aten_library *aten) {
  return bsm_rewrite_graph(graph, aten, rules,
                           sizeof(rules) / sizeof(rules[0]));
}
