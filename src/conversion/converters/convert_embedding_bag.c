/* SPDX-License-Identifier: Apache-2.0 */
/* embedding_bag: rows of a table, summed, averaged or their maximum, bag by
 * bag. Bags of one size, known now, are a reshape; the others multiply the
 * rows by a matrix that says which row is in which bag, or scatter them. */
#include "conversion/scatter.h"

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

typedef struct bags {
  bsm_itensor *rows; /* [n, d] */
  bsm_itensor *keep; /* [n]: false for padding, which counts nothing; NULL */
  int64_t n, d, count, mode;
} bags;

/* The size of every bag when the offsets are 0, size, 2 * size, ..., else 0. */
static int64_t uniform_size(const bags *b, const bsm_tensor *offsets) {
  int64_t size = b->count > 0 ? b->n / b->count : 0;
  if (!offsets || size * b->count != b->n) return 0;
  for (int64_t i = 0; i < b->count; i++) {
    if (bsm_tensor_get_int(offsets, i) != i * size) return 0;
  }
  return size;
}

static bsm_itensor *reduce_uniform(bsm_conversion_ctx *ctx, const bags *b,
                                   int64_t size) {
  static const bsm_reduce_operation operations[] = {
      BSM_REDUCE_SUM, BSM_REDUCE_AVG, BSM_REDUCE_MAX};
  bsm_itensor *x =
      bsm_emit_reshape(ctx, b->rows, (bsm_dims){3, {b->count, size, b->d}});
  return bsm_emit_reduce(ctx, x, operations[b->mode], 1u << 1, false);
}

/* The maxima: each row goes to the bag whose end is the first behind it. What
 * is in none goes to one more bag. Bags without rows stay 0. */
static bsm_itensor *reduce_max(bsm_conversion_ctx *ctx, const bags *b,
                               bsm_itensor *starts, bsm_itensor *ends) {
  static const bsm_scatter_options most = {BSM_SCATTER_MAX, true, false};
  bsm_itensor *at = bsm_emit_arange(ctx, 0, b->n, 1);
  bsm_itensor *passed = bsm_emit_binary(
      ctx, ends, bsm_emit_unsqueeze(ctx, at, 1), BSM_ELEMENT_WISE_LESS_EQUAL);
  bsm_itensor *bag =
      bsm_emit_reduce(ctx, bsm_emit_cast(ctx, passed, BSM_DTYPE_INT64),
                      BSM_REDUCE_SUM, 1u << 1, false);
  bsm_itensor *inside =
      bsm_emit_binary(ctx, at, bsm_emit_slice(ctx, starts, 0, 0, 1, 1),
                      BSM_ELEMENT_WISE_GREATER_EQUAL);
  if (b->keep) {
    inside = bsm_emit_binary(ctx, inside, b->keep, BSM_ELEMENT_WISE_AND);
  }
  bag = bsm_emit_select(ctx, inside, bag,
                        bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, b->count));
  if (!b->rows) return NULL;
  bsm_itensor *none = bsm_emit_fill(ctx, b->rows->dtype,
                                    (bsm_dims){2, {b->count + 1, b->d}}, 0);
  return bsm_emit_slice(ctx,
                        bsm_emit_index_write(ctx, none, 0, bag, b->rows, most),
                        0, 0, b->count, 1);
}

/* `starts` [count]: row i is in bag k when starts[k] <= i < starts[k + 1]. */
static bsm_itensor *reduce_any(bsm_conversion_ctx *ctx, const bags *b,
                               bsm_itensor *starts, bsm_itensor *ends) {
  if (b->mode == BAG_MAX && b->count > 0) {
    return reduce_max(ctx, b, starts, ends);
  }
  bsm_itensor *at = bsm_emit_arange(ctx, 0, b->n, 1);
  const bsm_dims column = {2, {b->count, 1}};
  bsm_itensor *after =
      bsm_emit_binary(ctx, at, bsm_emit_reshape(ctx, starts, column),
                      BSM_ELEMENT_WISE_GREATER_EQUAL);
  bsm_itensor *before = bsm_emit_binary(
      ctx, at, bsm_emit_reshape(ctx, ends, column), BSM_ELEMENT_WISE_LESS);
  bsm_itensor *inside =
      bsm_emit_binary(ctx, after, before, BSM_ELEMENT_WISE_AND);
  if (b->keep) {
    inside = bsm_emit_binary(ctx, inside, b->keep, BSM_ELEMENT_WISE_AND);
  }
  inside = bsm_emit_cast(ctx, inside, bsm_itensor_dtype(b->rows));
  bsm_itensor *out = bsm_emit_matmul(ctx, inside, false, b->rows, false);
  if (b->mode == BAG_SUM || !inside) return out;
  bsm_itensor *size =
      bsm_emit_reduce(ctx, inside, BSM_REDUCE_SUM, 1u << 1, true);
  size = bsm_emit_binary(ctx, size, bsm_emit_scalar(ctx, inside->dtype, 1),
                         BSM_ELEMENT_WISE_MAX);
  return bsm_emit_binary(ctx, out, size, BSM_ELEMENT_WISE_DIV);
}

/* Rows that the padding index picks become zeros, and are not counted. */
static bsm_status skip_padding(bsm_conversion_ctx *ctx, int64_t index,
                               const bsm_itensor *weight, bsm_itensor *indices,
                               bags *b) {
  const int64_t rows = weight->dims.d[0];
  BSM_CHECK(index >= -rows && index < rows,
            "padding_idx must be within the number of embeddings, %lld, but "
            "got %lld",
            (long long)rows, (long long)index);
  if (index < 0) index += rows;
  b->keep = bsm_emit_binary(ctx, indices,
                            bsm_emit_int_scalar(ctx, indices->dtype, index),
                            BSM_ELEMENT_WISE_NOT_EQUAL);
  b->rows = bsm_emit_select(ctx, bsm_emit_unsqueeze(ctx, b->keep, 1), b->rows,
                            bsm_emit_scalar(ctx, weight->dtype, 0));
  return BSM_OK;
}

static bsm_status convert_embedding_bag(bsm_conversion_ctx *ctx,
                                        const bsm_node *node,
                                        const bsm_args *args) {
  enum {
    WEIGHT,
    INDICES,
    OFFSETS,
    SCALE_GRAD,
    MODE,
    SPARSE,
    PER_SAMPLE,
    INCLUDE_LAST,
    PADDING
  };
  bsm_itensor *weight = bsm_arg_itensor_or_freeze(ctx, args, WEIGHT);
  bsm_itensor *indices = bsm_arg_itensor_or_freeze(ctx, args, INDICES);
  bsm_itensor *offsets = bsm_emit_cast(
      ctx, bsm_arg_itensor_or_freeze(ctx, args, OFFSETS), BSM_DTYPE_INT64);
  bags b = {.mode = bsm_arg_unwrap_to_int(args, MODE)};
  if (!weight || !indices || !offsets) return bsm_ctx_take_error(ctx);
  BSM_CHECK(
      bsm_rank(weight) == 2 && bsm_rank(indices) == 1 && bsm_rank(offsets) == 1,
      "embedding_bag of dims %s with indices %s and offsets %s",
      bsm_dims_str(weight->dims), bsm_dims_str(indices->dims),
      bsm_dims_str(offsets->dims));
  BSM_CHECK(b.mode >= BAG_SUM && b.mode <= BAG_MAX, "embedding_bag mode %lld",
            (long long)b.mode);
  /* -1 is none where the schema has no None. */
  const bool padded =
      bsm_args_count(args) > PADDING && !bsm_arg_is_none(args, PADDING) &&
      (!bsm_args_variant(args) || bsm_arg_unwrap_to_int(args, PADDING) >= 0);
  for (size_t i = 1; i < bsm_node_output_count(node); i++) {
    BSM_CHECK(bsm_node_out(node, i)->uses.len == 0,
              "output %zu of embedding_bag is used; only the first is given",
              i);
  }
  bool last = bsm_arg_unwrap_to_bool(args, INCLUDE_LAST);
  b.n = indices->dims.d[0];
  b.d = weight->dims.d[1];
  b.count = offsets->dims.d[0] - (last ? 1 : 0);
  BSM_CHECK(offsets->dims.d[0] > 0, "embedding_bag without offsets");
  b.rows = bsm_emit_gather(ctx, weight, indices, BSM_GATHER_SELECT, 0);
  if (!bsm_arg_is_none(args, PER_SAMPLE)) {
    bsm_itensor *by = bsm_arg_itensor_or_freeze(ctx, args, PER_SAMPLE);
    b.rows = bsm_emit_binary(ctx, b.rows, bsm_emit_unsqueeze(ctx, by, 1),
                             BSM_ELEMENT_WISE_PROD);
  }
  if (padded) {
    BSM_TRY(skip_padding(ctx, bsm_arg_unwrap_to_int(args, PADDING), weight,
                         indices, &b));
  }
  const bsm_tensor *known = bsm_arg_is_itensor(args, OFFSETS)
                                ? NULL
                                : bsm_arg_unwrap_to_tensor(args, OFFSETS);
  int64_t size = padded ? 0 : uniform_size(&b, known);
  bsm_itensor *out;
  if (size > 0) {
    out = reduce_uniform(ctx, &b, size);
  } else {
    bsm_itensor *ends[2] = {
        bsm_emit_slice(ctx, offsets, 0, 1, offsets->dims.d[0] - 1, 1),
        bsm_emit_int64s(ctx, &b.n, (bsm_dims){1, {1}})};
    out = reduce_any(ctx, &b, bsm_emit_slice(ctx, offsets, 0, 0, b.count, 1),
                     last ? ends[0] : bsm_emit_concat(ctx, ends, 2, 0));
  }
  for (size_t i = 1; i < bsm_node_output_count(node); i++) {
    BSM_TRY(bsm_associate_ivalue(ctx, bsm_node_out(node, i), bsm_iv_none()));
  }
  return bsm_emit_output(ctx, node, 0, out);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
     "per_sample_weights=None, bool include_last_offset=False) -> (Tensor, "
     "Tensor, Tensor, Tensor)",
     convert_embedding_bag, 0},
    {"aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor "
     "offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? "
     "per_sample_weights, bool include_last_offset, int? padding_idx) -> "
     "(Tensor, Tensor, Tensor, Tensor)",
     convert_embedding_bag, 0},
    {"aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
     "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
     "per_sample_weights=None, bool include_last_offset=False, int "
     "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     convert_embedding_bag, 1},
    {"aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, "
     "Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool "
     "sparse=False, Tensor? per_sample_weights=None, bool "
     "include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, "
     "Tensor, Tensor)",
     convert_embedding_bag, 1},
};
BSM_CONVERTER_TABLE(embedding_bag, patterns);
