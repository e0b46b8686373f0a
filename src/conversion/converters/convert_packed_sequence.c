/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and padding of sequences whose lengths are static: rows gathered by
 * constant indices. With lengths known only when the model runs, the size of
 * the packed data is not known either. */
#include "conversion/packed_sequence.h"

/* The static tensor of an arg; NULL when the model computes it. */
static const bsm_tensor *static_tensor(const bsm_args *args, size_t i) {
  return bsm_arg_is_tensor(args, i) ? bsm_arg_unwrap_to_tensor(args, i) : NULL;
}

static bsm_status bind_numbers(bsm_conversion_ctx *ctx, const bsm_node *node,
                               bsm_tensor *values) {
  return bsm_associate_ivalue(ctx, bsm_node_output(node, 1),
                              bsm_iv_tensor(values));
}

/* _pack_padded_sequence(input, lengths, batch_first) -> (data, batch_sizes) */
static bsm_status convert_pack(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { INPUT, LENGTHS, BATCH_FIRST };
  const bsm_tensor *lengths = static_tensor(args, LENGTHS);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  bsm_packed_rows rows;
  if (!x) return bsm_ctx_take_error(ctx);
  if (!lengths) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the lengths of a packed sequence are known only when the "
                    "model runs");
  }
  BSM_CHECK(bsm_rank(x) >= 2, "a sequence of dims %s", bsm_dims_str(x->dims));
  BSM_CHECK(bsm_itensor_numel(x) > 0, "Cannot pack empty tensors.");
  if (bsm_arg_unwrap_to_bool(args, BATCH_FIRST)) {
    x = bsm_emit_transpose(ctx, x, 0, 1);
    if (!x) return bsm_ctx_take_error(ctx);
  }
  BSM_TRY(
      bsm_packed_from_lengths(ctx, lengths, x->dims.d[0], x->dims.d[1], &rows));
  BSM_TRY(bsm_emit_output(ctx, node, 0, bsm_emit_pack(ctx, x, &rows)));
  return bind_numbers(ctx, node, rows.sizes);
}

/* `rows` rows of `value` behind those of x. */
static bsm_itensor *append_rows(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                int64_t rows, double value) {
  bsm_dims dims = x->dims;
  dims.d[0] = rows;
  bsm_itensor *both[] = {x, bsm_emit_fill(ctx, x->dtype, dims, value)};
  return both[1] ? bsm_emit_concat(ctx, both, 2, 0) : NULL;
}

/* The packed rows as [T, B, ...] with `value` in the padding. */
static bsm_itensor *pad_rows(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_packed_rows *rows, double value) {
  if (!rows->uniform) {
    /* Padding reads the row behind the last one. */
    const int64_t *lengths = bsm_tensor_data(rows->lengths);
    int64_t *index = bsm_tensor_data(rows->to_padded);
    for (int64_t i = 0; i < rows->length * rows->batch; i++) {
      if (i / rows->batch >= lengths[i % rows->batch]) index[i] = rows->rows;
    }
    x = append_rows(ctx, x, 1, value);
  }
  return bsm_emit_unpack(ctx, x, rows);
}

/* _pad_packed_sequence(data, batch_sizes, batch_first, padding_value,
 * total_length) -> (padded, lengths) */
static bsm_status convert_pad(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { DATA, SIZES, BATCH_FIRST, PADDING_VALUE, TOTAL_LENGTH };
  const bsm_tensor *sizes = static_tensor(args, SIZES);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, DATA);
  const int64_t total = bsm_arg_unwrap_to_int(args, TOTAL_LENGTH);
  const double value = bsm_arg_unwrap_to_scalar(args, PADDING_VALUE).d;
  bsm_packed_rows rows;
  if (!x) return bsm_ctx_take_error(ctx);
  if (!sizes) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the lengths of a packed sequence are known only when the "
                    "model runs");
  }
  BSM_CHECK(bsm_rank(x) >= 1, "packed data without dimensions");
  BSM_TRY(bsm_packed_from_sizes(ctx, sizes, x->dims.d[0], &rows));
  BSM_CHECK(total <= 0 || total >= rows.length,
            "Expected total_length to be at least the length of the longest "
            "sequence in input, but got total_length=%lld and max sequence "
            "length being %lld",
            (long long)total, (long long)rows.length);
  x = pad_rows(ctx, x, &rows, value);
  if (x && total > rows.length) {
    x = append_rows(ctx, x, total - rows.length, value);
  }
  if (x && bsm_arg_unwrap_to_bool(args, BATCH_FIRST)) {
    x = bsm_emit_transpose(ctx, x, 0, 1);
  }
  BSM_TRY(bsm_emit_output(ctx, node, 0, x));
  return bind_numbers(ctx, node, rows.lengths);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool "
     "batch_first) -> (Tensor, Tensor)",
     convert_pack, 0},
    {"aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool "
     "batch_first, Scalar padding_value, int total_length) -> (Tensor, "
     "Tensor)",
     convert_pad, 0},
};
BSM_CONVERTER_TABLE(packed_sequence, patterns);
