/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of one to three dimensions: max, average, adaptive. */
#include <string.h>

#include "conversion/emit.h"

/* `variant`: spatial dimensions. An input without a batch dimension gets one
 * for the time of the layer. */
static bsm_itensor *batched(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            int32_t spatial, bool *added) {
  *added = x && bsm_rank(x) == spatial + 1;
  if (x && bsm_rank(x) != spatial + 1 && bsm_rank(x) != spatial + 2) {
    return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                         "pooling of %d dimensions of an input with dims %s",
                         (int)spatial, bsm_dims_str(x->dims));
  }
  return *added ? bsm_emit_unsqueeze(ctx, x, 0) : x;
}

/* An empty stride is the window. */
static bool stride_or(bsm_conversion_ctx *ctx, const bsm_args *args, size_t i,
                      int32_t spatial, bsm_dims window, bsm_dims *out) {
  size_t count;
  const int64_t *values = bsm_arg_unwrap_to_int_list_or_none(args, i, &count);
  *out = window;
  if (count == 0) return true;
  return bsm_spatial_dims(ctx, values, count, spatial, "stride", out);
}

static bool list(bsm_conversion_ctx *ctx, const bsm_args *args, size_t i,
                 int32_t spatial, const char *what, bsm_dims *out) {
  size_t count;
  const int64_t *values = bsm_arg_unwrap_to_int_list(args, i, &count);
  return bsm_spatial_dims(ctx, values, count, spatial, what, out);
}

static bool check_padding(bsm_conversion_ctx *ctx, bsm_dims window,
                          bsm_dims padding, bsm_dims dilation) {
  for (int32_t i = 0; i < window.rank; i++) {
    int64_t extent = (window.d[i] - 1) * dilation.d[i] + 1;
    if (padding.d[i] > extent / 2) {
      bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                    "pad should be at most half of effective kernel size, but "
                    "got pad=%lld, kernel_size=%lld and dilation=%lld",
                    (long long)padding.d[i], (long long)window.d[i],
                    (long long)dilation.d[i]);
      return false;
    }
  }
  return true;
}

static bsm_dims ones(int32_t rank) {
  bsm_dims dims = {0};
  dims.rank = rank;
  for (int32_t i = 0; i < rank; i++) dims.d[i] = 1;
  return dims;
}

static bsm_status convert_max_pool(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, KERNEL_SIZE, STRIDE, PADDING, DILATION, CEIL_MODE };
  int32_t spatial = bsm_args_variant(args);
  bsm_dims window, stride, padding, dilation;
  bool added;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x || !list(ctx, args, KERNEL_SIZE, spatial, "kernel_size", &window) ||
      !stride_or(ctx, args, STRIDE, spatial, window, &stride) ||
      !list(ctx, args, PADDING, spatial, "padding", &padding) ||
      !list(ctx, args, DILATION, spatial, "dilation", &dilation) ||
      !check_padding(ctx, window, padding, dilation)) {
    return bsm_ctx_take_error(ctx);
  }
  x = batched(ctx, x, spatial, &added);
  if (!x) return bsm_ctx_take_error(ctx);
  bsm_layer *layer =
      bsm_network_add_pooling_nd(ctx->net, x, BSM_POOLING_MAX, window);
  bsm_layer_set_stride_nd(layer, stride);
  bsm_layer_set_padding_nd(layer, padding);
  bsm_layer_set_dilation_nd(layer, dilation);
  bsm_pooling_set_ceil_mode(layer, bsm_arg_unwrap_to_bool(args, CEIL_MODE));
  bsm_itensor *out = bsm_emit(ctx, layer);
  if (added) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

static bsm_status convert_avg_pool(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum {
    SELF,
    KERNEL_SIZE,
    STRIDE,
    PADDING,
    CEIL_MODE,
    COUNT_INCLUDE_PAD,
    DIVISOR_OVERRIDE
  };
  int32_t spatial = bsm_args_variant(args);
  bsm_dims window, stride, padding;
  bool added;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x || !list(ctx, args, KERNEL_SIZE, spatial, "kernel_size", &window) ||
      !stride_or(ctx, args, STRIDE, spatial, window, &stride) ||
      !list(ctx, args, PADDING, spatial, "padding", &padding) ||
      !check_padding(ctx, window, padding, ones(spatial))) {
    return bsm_ctx_take_error(ctx);
  }
  x = batched(ctx, x, spatial, &added);
  if (!x) return bsm_ctx_take_error(ctx);
  bsm_layer *layer =
      bsm_network_add_pooling_nd(ctx->net, x, BSM_POOLING_AVERAGE, window);
  bsm_layer_set_stride_nd(layer, stride);
  bsm_layer_set_padding_nd(layer, padding);
  bsm_pooling_set_ceil_mode(layer, bsm_arg_unwrap_to_bool(args, CEIL_MODE));
  bsm_pooling_set_average_count_excludes_padding(
      layer, !bsm_arg_unwrap_to_bool(args, COUNT_INCLUDE_PAD));
  if (bsm_args_count(args) > DIVISOR_OVERRIDE &&
      !bsm_arg_is_none(args, DIVISOR_OVERRIDE)) {
    int64_t divisor = bsm_arg_unwrap_to_int(args, DIVISOR_OVERRIDE);
    BSM_CHECK(divisor > 0, "divisor_override must be positive, it is %lld",
              (long long)divisor);
    bsm_pooling_set_divisor_override(layer, divisor);
  }
  bsm_itensor *out = bsm_emit(ctx, layer);
  if (added) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

/* Sizes of adaptive pooling; None keeps the size of the input. */
static bool output_size(bsm_conversion_ctx *ctx, const bsm_args *args, size_t i,
                        const bsm_itensor *x, int32_t spatial, bsm_dims *out) {
  return x && list(ctx, args, i, spatial, "output_size", out);
}

/* Max pooling has indices as a second output, which only training uses. */
static bsm_status convert_adaptive(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, OUTPUT_SIZE };
  int32_t spatial = bsm_args_variant(args) & 3;
  bool max = bsm_args_variant(args) & 4, added;
  bsm_dims size;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!output_size(ctx, args, OUTPUT_SIZE, x, spatial, &size)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(!max || bsm_node_out(node, 1)->uses.len == 0,
            "the indices of adaptive max pooling are used; they are not "
            "supported");
  x = batched(ctx, x, spatial, &added);
  bsm_itensor *out = NULL;
  if (x && !max && bsm_itensor_numel(x) > 0) {
    /* To one element: the mean, which also is faster. */
    bool single = true;
    for (int32_t i = 0; i < spatial; i++) single &= size.d[i] == 1;
    if (single) {
      uint32_t axes = ((1u << (unsigned)spatial) - 1)
                      << (unsigned)(bsm_rank(x) - spatial);
      out = bsm_emit_reduce(ctx, x, BSM_REDUCE_AVG, axes, true);
    }
  }
  if (x && !out && !ctx->impl->error) {
    out = bsm_emit(ctx, bsm_network_add_adaptive_pooling_nd(
                            ctx->net, x,
                            max ? BSM_POOLING_MAX : BSM_POOLING_AVERAGE, size));
  }
  if (added) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

#define MAX_POOL(n)                                                       \
  {                                                                       \
    "aten::max_pool" #n "d(Tensor self, int[" #n "] kernel_size, int[" #n \
    "] stride=[], int[" #n "] padding=0, int[" #n                         \
    "] dilation=1, bool ceil_mode=False) -> Tensor",                      \
        convert_max_pool, n                                               \
  }
#define ADAPTIVE(n)                                       \
  {"aten::adaptive_avg_pool" #n "d(Tensor self, int[" #n  \
   "] output_size) -> Tensor",                            \
   convert_adaptive, n},                                  \
  {                                                       \
    "aten::adaptive_max_pool" #n "d(Tensor self, int[" #n \
    "] output_size) -> (Tensor, Tensor)",                 \
        convert_adaptive, n | 4                           \
  }
#define AVG_POOL(n)                                                         \
  {                                                                         \
    "aten::avg_pool" #n "d(Tensor self, int[" #n "] kernel_size, int[" #n   \
    "] stride=[], int[" #n                                                  \
    "] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? " \
    "divisor_override=None) -> Tensor",                                     \
        convert_avg_pool, n                                                 \
  }

static const bsm_conversion_pattern patterns[] = {
    MAX_POOL(1),
    MAX_POOL(2),
    MAX_POOL(3),
    {"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], "
     "int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True) -> "
     "Tensor",
     convert_avg_pool, 1},
    AVG_POOL(2),
    AVG_POOL(3),
    ADAPTIVE(1),
    ADAPTIVE(2),
    ADAPTIVE(3),
};
BSM_CONVERTER_TABLE(pooling, patterns);
