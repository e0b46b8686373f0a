/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose result is as long as elements say, which bounds nothing: the number
 * alone is computed first and comes home, and what follows is of a size that
 * the program knows. */
#include "lowering/passes/measured_sizes.h"

#include <string.h>

/* A number of the program: that of a tensor of one element. */
static bsm_status read_number(const bsm_node_emitter *e, bsm_value *x,
                              bsm_value **out) {
  return bsm_ir_op(e, "aten::Int.Tensor", &x, 1, out);
}

static bsm_status with_number(const bsm_node_emitter *e, const char *name,
                              bsm_value *x, int64_t number, bsm_value **out) {
  bsm_value *in[2] = {x, NULL};
  BSM_TRY(bsm_ir_int(e, number, &in[1]));
  return bsm_ir_op(e, name, in, 2, out);
}

/* ---- bincount ---- */

/* One more than the greatest element, or the length that is asked for. */
static bsm_status find_length(const bsm_node_emitter *e, bsm_value *x,
                              bsm_value *least, bsm_value **out) {
  const int64_t behind[2] = {0, 1};
  bsm_value *in[3] = {x, NULL, NULL};
  /* Of no elements it is -1. */
  BSM_TRY(bsm_ir_ints(e, behind, 2, &in[1]));
  BSM_TRY(bsm_ir_int(e, -1, &in[2]));
  BSM_TRY(bsm_bounded_op(e, "aten::constant_pad_nd", in, 3, &in[0]));
  if (in[0]) BSM_TRY(bsm_bounded_op(e, "aten::max", in, 1, &in[0]));
  *out = NULL;
  if (!in[0]) return BSM_OK;
  BSM_TRY(read_number(e, in[0], &in[0]));
  BSM_TRY(with_number(e, "aten::add.int", in[0], 1, &in[0]));
  in[1] = least;
  return bsm_ir_op(e, "prim::max.int", in, 2, out);
}

static bsm_status filled(const bsm_node_emitter *e, const char *name,
                         bsm_value *like, bsm_dtype dtype, bsm_value **out) {
  const bool has_format = strcmp(name, "aten::ones_like") == 0;
  bsm_value *in[6] = {like, NULL, NULL, NULL, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, dtype, &in[1]));
  for (int i = 2; i < 6; i++) BSM_TRY(bsm_ir_none(e, &in[i]));
  BSM_TRY(bsm_ir_op(e, name, in, has_format ? 6 : 5, out));
  return bsm_bounded_set_rank(*out, dtype, (bsm_dims){1, {-1}});
}

/* The dtype of sums of weights, or of counts; false: it is not known. Without
 * elements there are counts, whatever the weights are. */
static bool find_sum(const bsm_value *x, const bsm_value *weights,
                     bsm_dtype *sum) {
  bsm_dims elements, dims;
  bsm_dtype dtype;
  *sum = BSM_DTYPE_INT64;
  if (bsm_value_is_none(weights)) return true;
  if (!bsm_value_dims(x, &elements, &dtype) || elements.d[0] == 0 ||
      !bsm_value_dims(weights, &dims, &dtype) ||
      !bsm_dims_equal(elements, dims) || bsm_dtype_is_complex(dtype)) {
    return false;
  }
  *sum = dtype == BSM_DTYPE_FLOAT ? BSM_DTYPE_FLOAT : BSM_DTYPE_DOUBLE;
  return true;
}

/* What is added up: ones, or the weights. */
static bsm_status find_added(const bsm_node_emitter *e, bsm_value *x,
                             bsm_value *weights, bsm_dtype sum,
                             bsm_value **out) {
  bsm_dims dims;
  bsm_dtype dtype;
  if (bsm_value_is_none(weights)) {
    return filled(e, "aten::ones_like", x, sum, out);
  }
  *out = weights;
  if (!bsm_value_rank(weights, &dims, &dtype) || dtype == sum) return BSM_OK;
  BSM_TRY(bsm_ir_cast(e, weights, sum, out));
  return bsm_bounded_set_rank(*out, sum, dims);
}

bsm_status bsm_measure_bincount(bsm_bounding *p, const bsm_node_emitter *e,
                                bsm_node *node) {
  bsm_value *x = bsm_node_in(node, 0), *length, *size, *in[5];
  bsm_type_table *types = e->graph->cx->types;
  const bsm_type *list =
      bsm_type_list(types, bsm_type_simple(types, BSM_TYPE_INT));
  bsm_dims dims;
  bsm_dtype dtype, sum;
  bsm_node *sizes;
  BSM_TRY_ALLOC(list);
  if (!bsm_value_rank(x, &dims, &dtype) || dims.rank != 1 ||
      !bsm_dtype_is_integral(dtype, false) ||
      !find_sum(x, bsm_node_in(node, 1), &sum)) {
    return BSM_OK;
  }
  if (dtype != BSM_DTYPE_INT64) {
    BSM_TRY(bsm_ir_cast(e, x, BSM_DTYPE_INT64, &x));
    BSM_TRY(bsm_bounded_set_rank(x, BSM_DTYPE_INT64, dims));
  }
  BSM_TRY(find_length(e, x, bsm_node_in(node, 2), &length));
  if (!length) return BSM_OK;
  BSM_TRY(bsm_node_create(e->graph, "prim::ListConstruct", &sizes));
  BSM_TRY(bsm_node_add_input(sizes, length));
  BSM_TRY(bsm_node_add_output(sizes, list, &size));
  bsm_ir_link(e, sizes);
  BSM_TRY(filled(e, "aten::zeros", size, sum, &in[0]));
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  in[2] = x;
  BSM_TRY(find_added(e, x, bsm_node_in(node, 1), sum, &in[3]));
  BSM_TRY(bsm_ir_int(e, 1, &in[4]));
  BSM_TRY(bsm_ir_op(e, "aten::index_add", in, 5, &in[0]));
  BSM_TRY(bsm_bounded_set_rank(in[0], sum, (bsm_dims){1, {-1}}));
  return bsm_rewrite_value(p->graph, bsm_node_out(node, 0), in[0]);
}

/* ---- repeat_interleave ---- */

/* The sum of counts; -1, which is no size, when one of them is negative. */
static bsm_status sum_counts(const bsm_node_emitter *e, bsm_value *counts,
                             bsm_value **out) {
  bsm_value *in[3] = {counts, NULL, NULL}, *bad, *sum;
  *out = NULL;
  BSM_TRY(bsm_ir_int(e, 0, &in[1]));
  BSM_TRY(bsm_bounded_op(e, "aten::lt.Scalar", in, 2, &bad));
  if (bad) BSM_TRY(bsm_bounded_op(e, "aten::any", &bad, 1, &bad));
  in[0] = counts;
  BSM_TRY(bsm_ir_none(e, &in[1]));
  BSM_TRY(bsm_bounded_op(e, "aten::sum", in, 2, &sum));
  if (!bad || !sum) return BSM_OK;
  in[0] = sum;
  in[1] = bad;
  BSM_TRY(bsm_ir_int(e, -1, &in[2]));
  BSM_TRY(bsm_bounded_op(e, "aten::masked_fill.Scalar", in, 3, &sum));
  return sum ? read_number(e, sum, out) : BSM_OK;
}

/* A single count is that of all rows. */
static bsm_status count_all(const bsm_node_emitter *e, bsm_value *x,
                            bsm_value *counts, bsm_value *dim,
                            bsm_value **total) {
  bsm_value *rows[2], *in[2];
  if (bsm_value_is_none(dim)) {
    BSM_TRY(bsm_ir_op(e, "aten::numel", &x, 1, &rows[0]));
  } else {
    in[0] = x;
    in[1] = dim;
    BSM_TRY(bsm_ir_op(e, "aten::size.int", in, 2, &rows[0]));
  }
  BSM_TRY(bsm_ir_op(e, "aten::numel", &counts, 1, &in[0]));
  BSM_TRY(bsm_ir_int(e, 1, &in[1]));
  BSM_TRY(bsm_ir_op(e, "prim::max.int", in, 2, &rows[1]));
  BSM_TRY(bsm_ir_op(e, "aten::floordiv.int", rows, 2, &in[1]));
  in[0] = *total;
  return bsm_ir_op(e, "aten::mul.int", in, 2, total);
}

bsm_status bsm_measure_repeats(bsm_bounding *p, const bsm_node_emitter *e,
                               bsm_node *node) {
  const bool alone = node->inputs.len == 2; /* of the numbers of rows */
  const size_t size_at = alone ? 1 : 3;
  bsm_value *counts = bsm_node_in(node, alone ? 0 : 1), *total;
  bsm_dims dims;
  bsm_dtype dtype;
  (void)p;
  if (!bsm_value_is_none(bsm_node_in(node, size_at)) ||
      bsm_value_constant(counts) || !bsm_value_rank(counts, &dims, &dtype) ||
      dims.rank > 1 || (dtype != BSM_DTYPE_INT64 && dtype != BSM_DTYPE_INT32)) {
    return BSM_OK;
  }
  BSM_TRY(sum_counts(e, counts, &total));
  if (!total) return BSM_OK;
  if (!alone) {
    BSM_TRY(count_all(e, bsm_node_in(node, 0), counts, bsm_node_in(node, 2),
                      &total));
  }
  return bsm_node_set_input(node, size_at, total);
}
