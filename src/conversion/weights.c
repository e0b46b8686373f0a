/* SPDX-License-Identifier: Apache-2.0 */
/* Weights from host tensors and scalars, and constants of the network. */
#include <string.h>

#include "conversion/conversion_internal.h"

bsm_dims bsm_tensor_dims(const bsm_tensor *tensor) {
  return tensor ? tensor->sizes : (bsm_dims){0};
}

bsm_dtype bsm_tensor_dtype(const bsm_tensor *tensor) {
  return tensor ? tensor->dtype : BSM_DTYPE_UNDEFINED;
}

/* The metadata of TRTorch's Weights. */
static bsm_weights describe(bsm_dtype dtype, bsm_dims shape, int64_t count,
                            const void *values) {
  bsm_weights w = {0};
  w.dtype = dtype;
  w.values = values;
  w.count = count;
  w.shape = shape;
  w.num_output_maps = shape.rank >= 1 ? shape.d[0] : 1;
  w.num_input_maps = shape.rank >= 2 ? shape.d[1] : 1;
  for (int32_t i = 2; i < shape.rank; i++) {
    w.kernel_shape.d[w.kernel_shape.rank++] = shape.d[i];
  }
  return w;
}

static bsm_weights weights(bsm_conversion_ctx *ctx, const bsm_tensor *tensor,
                           bool copy) {
  bsm_tensor *kept = NULL;
  bsm_status status = BSM_OK;
  if (!tensor) {
    status = BSM_FAIL(BSM_INVALID_ARGUMENT, "weights from no tensor");
  } else if (bsm_tensor_is_meta(tensor)) {
    status = BSM_FAIL(BSM_DATA_DEPENDENT, "weights from a tensor without data");
  } else if (copy) {
    status = bsm_tensor_clone(ctx->impl->arena, tensor, &kept);
  } else {
    status = bsm_tensor_contiguous(ctx->impl->arena, tensor, &kept);
  }
  if (status) {
    bsm_ctx_fail(ctx, status);
    return (bsm_weights){0};
  }
  return describe(kept->dtype, kept->sizes, bsm_tensor_numel(kept),
                  bsm_tensor_data(kept));
}

bsm_weights bsm_weights_from_tensor(bsm_conversion_ctx *ctx,
                                    const bsm_tensor *tensor) {
  return weights(ctx, tensor, true);
}

bsm_weights bsm_weights_borrow(bsm_conversion_ctx *ctx,
                               const bsm_tensor *tensor) {
  return weights(ctx, tensor, false);
}

bsm_weights bsm_weights_from_scalar(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                                    double value) {
  bsm_tensor *tensor = NULL;
  bsm_status status =
      bsm_tensor_from_double(ctx->impl->arena, dtype, value, &tensor);
  if (status) {
    bsm_ctx_fail(ctx, status);
    return (bsm_weights){0};
  }
  return weights(ctx, tensor, false);
}

/* Where adders can read it until conversion ends. */
static const bsm_weights *keep(bsm_conversion_ctx *ctx, bsm_weights weights) {
  bsm_weights *kept = BSM_NEW(ctx->impl->arena, bsm_weights);
  if (!kept) bsm_ctx_fail(ctx, BSM_FAIL_OOM());
  if (kept) *kept = weights;
  return weights.values || !weights.count ? kept : NULL;
}

const bsm_weights *bsm_weights_of_tensor(bsm_conversion_ctx *ctx,
                                         const bsm_tensor *tensor) {
  return tensor ? keep(ctx, bsm_weights_from_tensor(ctx, tensor)) : NULL;
}

const bsm_weights *bsm_weights_of_scalar(bsm_conversion_ctx *ctx,
                                         bsm_dtype dtype, double value) {
  return keep(ctx, bsm_weights_from_scalar(ctx, dtype, value));
}

bsm_itensor *bsm_freeze_tensor(bsm_conversion_ctx *ctx,
                               const bsm_tensor *tensor) {
  bsm_itensor *known =
      tensor ? bsm_ptrmap_get(&ctx->impl->frozen, tensor) : NULL;
  /* The layer may have been removed with those of a converter that refused. */
  if (known && known->id < ctx->net->tensors.len &&
      ctx->net->tensors.items[known->id] == known) {
    return known;
  }
  bsm_weights w = bsm_weights_borrow(ctx, tensor);
  if (ctx->impl->error) return NULL;
  bsm_layer *layer = bsm_network_add_constant(ctx->net, w.shape, &w);
  if (!layer) return NULL;
  if (ctx->impl->node) {
    bsm_layer_set_name(layer, bsm_node_info(ctx, ctx->impl->node));
  }
  bsm_itensor *out = bsm_layer_output(layer, 0);
  if (!bsm_ptrmap_set(ctx->impl->arena, &ctx->impl->frozen, tensor, out)) {
    bsm_ctx_fail(ctx, BSM_FAIL_OOM());
  }
  return out;
}
