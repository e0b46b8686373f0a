/* SPDX-License-Identifier: Apache-2.0 */
/* What is found in a tensor, in as much memory as all of it would take: places
 * that are not zero, boxes that are kept. */
#include "conversion/emit.h"

static bsm_itensor *int_binary(bsm_conversion_ctx *ctx, bsm_itensor *x,
                               int64_t number,
                               bsm_element_wise_operation operation) {
  return bsm_emit_binary(
      ctx, x, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, number), operation);
}

/* Whether a place is one: -1 is none. */
static bsm_itensor *is_place(bsm_conversion_ctx *ctx, bsm_itensor *places) {
  return int_binary(ctx, places, 0, BSM_ELEMENT_WISE_GREATER_EQUAL);
}

static bsm_itensor *places_of(bsm_conversion_ctx *ctx, bsm_itensor *x) {
  return x ? bsm_emit(ctx, bsm_network_add_non_zero(ctx->net, x)) : NULL;
}

/* The first `size` of the places, with -1 where there are not so many. */
static bsm_itensor *fit_places(bsm_conversion_ctx *ctx, bsm_itensor *places,
                               int64_t size) {
  if (!places) return NULL;
  const int64_t have = places->dims.d[0];
  if (have >= size) return bsm_emit_slice(ctx, places, 0, 0, size, 1);
  bsm_itensor *const both[] = {
      places,
      bsm_emit_fill(ctx, BSM_DTYPE_INT64, (bsm_dims){1, {size - have}}, -1)};
  return both[1] ? bsm_emit_concat(ctx, both, 2, 0) : NULL;
}

static bsm_status convert_nonzero_static(bsm_conversion_ctx *ctx,
                                         const bsm_node *node,
                                         const bsm_args *args) {
  enum { SELF, SIZE, FILL_VALUE };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t size = bsm_arg_unwrap_to_int(args, SIZE);
  const int64_t fill = bsm_arg_unwrap_to_int(args, FILL_VALUE);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(size >= 0, "nonzero_static: size %lld", (long long)size);
  const bsm_dims sizes = x->dims;
  if (sizes.rank == 0) {
    return bsm_emit_output(
        ctx, node, 0,
        bsm_emit_fill(ctx, BSM_DTYPE_INT64, (bsm_dims){2, {size, 0}}, 0));
  }
  bsm_itensor *places = fit_places(ctx, places_of(ctx, x), size);
  bsm_itensor *found = is_place(ctx, places), *rest = places;
  bsm_itensor *columns[BSM_MAX_RANK];
  for (int32_t i = sizes.rank - 1; i >= 0; i--) {
    /* Of no elements there are no places, whatever the sizes are. */
    const int64_t n = sizes.d[i] > 0 ? sizes.d[i] : 1;
    bsm_itensor *at =
        i > 0 ? int_binary(ctx, rest, n, BSM_ELEMENT_WISE_FMOD) : rest;
    at = bsm_emit_select(ctx, found, at,
                         bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, fill));
    columns[i] = bsm_emit_unsqueeze(ctx, at, 1);
    if (i > 0) rest = int_binary(ctx, rest, n, BSM_ELEMENT_WISE_FLOOR_DIV);
    if (!columns[i]) return bsm_ctx_take_error(ctx);
  }
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_concat(ctx, columns, (size_t)sizes.rank, 1));
}

/* Boxes in the order of their scores, those of them that are kept, and which
 * they were before. */
static bsm_status convert_padded_nms(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { DETS, SCORES, IOU_THRESHOLD };
  bsm_itensor *boxes = bsm_arg_itensor_or_freeze(ctx, args, DETS);
  bsm_itensor *scores = bsm_arg_itensor_or_freeze(ctx, args, SCORES);
  if (!boxes || !scores) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(boxes) == 2 && boxes->dims.d[1] == 4 &&
                bsm_rank(scores) == 1 && scores->dims.d[0] == boxes->dims.d[0],
            "boxes should be a 2d tensor [N, 4] and scores [N]");
  BSM_CHECK(bsm_dtype_is_floating(boxes->dtype), "boxes of %s",
            bsm_dtype_name(boxes->dtype));
  bsm_layer *sort =
      bsm_network_add_top_k(ctx->net, scores, true, scores->dims.d[0], 0);
  if (!bsm_emit(ctx, sort)) return bsm_ctx_take_error(ctx);
  bsm_itensor *order = bsm_layer_output(sort, 1);
  boxes = bsm_emit_gather(ctx, boxes, order, BSM_GATHER_DEFAULT, 0);
  if (!boxes) return bsm_ctx_take_error(ctx);
  bsm_itensor *kept = bsm_emit(
      ctx, bsm_network_add_nms(ctx->net, boxes,
                               bsm_arg_unwrap_to_double(args, IOU_THRESHOLD)));
  bsm_itensor *places = places_of(ctx, kept);
  bsm_itensor *at = int_binary(ctx, places, 0, BSM_ELEMENT_WISE_MAX);
  at = bsm_emit_gather(ctx, order, at, BSM_GATHER_DEFAULT, 0);
  return bsm_emit_output(
      ctx, node, 0, bsm_emit_select(ctx, is_place(ctx, places), at, places));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> "
     "Tensor",
     convert_nonzero_static, 0},
    {"bessemer::padded_nms(Tensor dets, Tensor scores, float iou_threshold) -> "
     "Tensor",
     convert_padded_nms, 0},
};
BSM_CONVERTER_TABLE(non_zero, patterns);
