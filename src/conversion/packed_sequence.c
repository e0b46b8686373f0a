/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of packed sequences as indices. */
#include "conversion/packed_sequence.h"

/* The numbers 0 .. count - 1, of the given dims. */
static bsm_status numbers(bsm_conversion_ctx *ctx, bsm_dims dims,
                          bsm_tensor **out) {
  BSM_TRY(bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_INT64, dims, false, out));
  int64_t *values = bsm_tensor_data(*out);
  const int64_t count = bsm_tensor_numel(*out);
  for (int64_t i = 0; i < count; i++) values[i] = i;
  return BSM_OK;
}

static bsm_status pack_numbers(bsm_conversion_ctx *ctx,
                               const bsm_tensor *lengths, int64_t steps,
                               int64_t batch, bsm_packed_rows *out) {
  bsm_tensor *rows;
  bsm_ivalue outs[2];
  BSM_TRY(numbers(ctx, (bsm_dims){2, {steps, batch}}, &rows));
  const bsm_ivalue args[] = {bsm_iv_tensor(rows),
                             bsm_iv_tensor((bsm_tensor *)lengths),
                             bsm_iv_bool(false)};
  BSM_TRY(bsm_host_call(ctx, "aten::_pack_padded_sequence", args, 3, outs, 2));
  out->to_packed = outs[0].u.tensor;
  out->sizes = outs[1].u.tensor;
  return BSM_OK;
}

static bsm_status pad_numbers(bsm_conversion_ctx *ctx, const bsm_tensor *sizes,
                              int64_t rows, bsm_packed_rows *out) {
  bsm_tensor *packed;
  bsm_ivalue outs[2];
  BSM_TRY(numbers(ctx, (bsm_dims){1, {rows}}, &packed));
  const bsm_ivalue args[] = {
      bsm_iv_tensor(packed), bsm_iv_tensor((bsm_tensor *)sizes),
      bsm_iv_bool(false), bsm_iv_double(0), bsm_iv_int(-1)};
  BSM_TRY(bsm_host_call(ctx, "aten::_pad_packed_sequence", args, 5, outs, 2));
  out->to_padded = outs[0].u.tensor;
  out->lengths = outs[1].u.tensor;
  return BSM_OK;
}

static bsm_status finish(bsm_conversion_ctx *ctx, bsm_packed_rows *out) {
  out->length = out->to_padded->sizes.d[0];
  out->batch = out->to_padded->sizes.d[1];
  out->rows = out->to_packed->sizes.d[0];
  out->uniform = out->rows == out->length * out->batch;
  return bsm_tensor_view(ctx->impl->arena, out->to_padded,
                         (bsm_dims){1, {out->length * out->batch}},
                         (const int64_t[]){1}, 0, &out->to_padded);
}

bsm_status bsm_packed_from_sizes(bsm_conversion_ctx *ctx,
                                 const bsm_tensor *sizes, int64_t rows,
                                 bsm_packed_rows *out) {
  *out = (bsm_packed_rows){0};
  BSM_TRY(pad_numbers(ctx, sizes, rows, out));
  const bsm_dims dims = out->to_padded->sizes;
  BSM_TRY(pack_numbers(ctx, out->lengths, dims.d[0], dims.d[1], out));
  if (out->to_packed->sizes.d[0] != rows) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "batch sizes of %lld rows for packed data of %lld rows",
                    (long long)out->to_packed->sizes.d[0], (long long)rows);
  }
  return finish(ctx, out);
}

bsm_status bsm_packed_from_lengths(bsm_conversion_ctx *ctx,
                                   const bsm_tensor *lengths, int64_t steps,
                                   int64_t batch, bsm_packed_rows *out) {
  *out = (bsm_packed_rows){0};
  BSM_TRY(pack_numbers(ctx, lengths, steps, batch, out));
  BSM_TRY(pad_numbers(ctx, out->sizes, out->to_packed->sizes.d[0], out));
  return finish(ctx, out);
}

bsm_itensor *bsm_emit_pack(bsm_conversion_ctx *ctx, bsm_itensor *x,
                           const bsm_packed_rows *rows) {
  if (!x) return NULL;
  bsm_dims dims = {.rank = x->dims.rank - 1};
  dims.d[0] = x->dims.d[0] * x->dims.d[1];
  for (int32_t i = 1; i < dims.rank; i++) dims.d[i] = x->dims.d[i + 1];
  x = bsm_emit_reshape(ctx, x, dims);
  if (!x || dims.d[0] == rows->rows) return x;
  return bsm_emit_gather(ctx, x, bsm_freeze_tensor(ctx, rows->to_packed),
                         BSM_GATHER_DEFAULT, 0);
}

bsm_itensor *bsm_emit_unpack(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             const bsm_packed_rows *rows) {
  if (!x) return NULL;
  bsm_dims dims = {.rank = x->dims.rank + 1, .d = {rows->length, rows->batch}};
  for (int32_t i = 2; i < dims.rank; i++) dims.d[i] = x->dims.d[i - 1];
  if (!rows->uniform) {
    x = bsm_emit_gather(ctx, x, bsm_freeze_tensor(ctx, rows->to_padded),
                        BSM_GATHER_DEFAULT, 0);
  }
  return x ? bsm_emit_reshape(ctx, x, dims) : NULL;
}
