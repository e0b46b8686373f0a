/* SPDX-License-Identifier: Apache-2.0 */
/* unfold and fold (im2col and col2im): windows side by side, and summed. */
#include "conversion/windows.h"

/* The arguments kernel_size, dilation, padding, stride from `first` on. */
static bool window_args(bsm_conversion_ctx *ctx, const bsm_args *args,
                        size_t first, bsm_windows *out) {
  static const char *const names[] = {"kernel_size", "dilation", "padding",
                                      "stride"};
  bsm_dims *const fields[] = {&out->kernel, &out->dilation, &out->padding,
                              &out->stride};
  for (size_t i = 0; i < 4; i++) {
    size_t count;
    const int64_t *values = bsm_arg_unwrap_to_int_list(args, first + i, &count);
    if (!bsm_spatial_dims(ctx, values, count, 2, names[i], fields[i])) {
      return false;
    }
  }
  out->post_padding = out->padding;
  return true;
}

/* [N, C, H, W] -> [N, C * K, L]; unbatched without N. */
static bsm_status convert_im2col(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, KERNEL_SIZE };
  bsm_windows w;
  bsm_dims count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x || !window_args(ctx, args, KERNEL_SIZE, &w)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(bsm_rank(x) == 3 || bsm_rank(x) == 4,
            "unfold of an input with dims %s", bsm_dims_str(x->dims));
  bool single = bsm_rank(x) == 3;
  if (single) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (!x || !bsm_windows_count(ctx, &w, x->dims, &count)) {
    return bsm_ctx_take_error(ctx);
  }
  bsm_dims out = {3,
                  {x->dims.d[0], x->dims.d[1] * w.kernel.d[0] * w.kernel.d[1],
                   count.d[0] * count.d[1]}};
  x = bsm_emit_reshape(ctx, bsm_emit_windows(ctx, x, &w, 0), out);
  if (single) x = bsm_emit_squeeze(ctx, x, 1);
  return bsm_emit_output(ctx, node, 0, x);
}

/* K kernels of K places: place k of kernel k is 1. */
static bsm_status one_hot_kernel(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                                 bsm_dims kernel, bsm_weights *out) {
  int64_t places = kernel.d[0] * kernel.d[1];
  bsm_tensor *eye, *converted;
  BSM_TRY(bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_FLOAT,
                         (bsm_dims){4, {places, 1, kernel.d[0], kernel.d[1]}},
                         false, &eye));
  float *values = bsm_tensor_data(eye);
  for (int64_t i = 0; i < places; i++) values[i * places + i] = 1;
  BSM_TRY(bsm_tensor_to_dtype(ctx->impl->arena, eye, dtype, &converted));
  *out = bsm_weights_borrow(ctx, converted);
  return BSM_OK;
}

/* Sums the windows [N, C * K, L] into [N, C, H, W]: a transposed convolution
 * of [N * C, K, count...]. */
static bsm_itensor *fold(bsm_conversion_ctx *ctx, bsm_itensor *x,
                         const bsm_windows *w, bsm_dims size, bsm_dims count,
                         const bsm_weights *kernel) {
  int64_t places = w->kernel.d[0] * w->kernel.d[1];
  int64_t n = x->dims.d[0], c = x->dims.d[1] / places;
  bsm_dims extra = {2, {0}};
  for (int32_t i = 0; i < 2; i++) {
    extra.d[i] =
        size.d[i] - ((count.d[i] - 1) * w->stride.d[i] - 2 * w->padding.d[i] +
                     w->dilation.d[i] * (w->kernel.d[i] - 1) + 1);
  }
  x = bsm_emit_reshape(ctx, x,
                       (bsm_dims){4, {n * c, places, count.d[0], count.d[1]}});
  if (!x) return NULL;
  const bsm_weights bias = {0};
  bsm_layer *layer = bsm_network_add_deconvolution_nd(ctx->net, x, 1, w->kernel,
                                                      kernel, &bias);
  bsm_layer_set_stride_nd(layer, w->stride);
  bsm_layer_set_padding_nd(layer, w->padding);
  bsm_layer_set_dilation_nd(layer, w->dilation);
  bsm_deconvolution_set_output_padding(layer, extra);
  return bsm_emit_reshape(ctx, bsm_emit(ctx, layer),
                          (bsm_dims){4, {n, c, size.d[0], size.d[1]}});
}

static bsm_status convert_col2im(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, OUTPUT_SIZE, KERNEL_SIZE };
  bsm_windows w;
  bsm_dims size, count;
  size_t n;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *sizes = bsm_arg_unwrap_to_int_list(args, OUTPUT_SIZE, &n);
  if (!x || !bsm_spatial_dims(ctx, sizes, n, 2, "output_size", &size) ||
      !window_args(ctx, args, KERNEL_SIZE, &w) ||
      !bsm_windows_count(ctx, &w, size, &count)) {
    return bsm_ctx_take_error(ctx);
  }
  bool single = bsm_rank(x) == 2;
  if (single) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(w.kernel.d[0] * w.kernel.d[1] <= 4096, "fold of windows of %s",
            bsm_dims_str(w.kernel));
  BSM_CHECK(
      bsm_rank(x) == 3 && x->dims.d[1] % (w.kernel.d[0] * w.kernel.d[1]) == 0 &&
          x->dims.d[2] == count.d[0] * count.d[1],
      "fold of dims %s: %lld x %lld windows of %lld x %lld make %s",
      bsm_dims_str(x->dims), (long long)count.d[0], (long long)count.d[1],
      (long long)w.kernel.d[0], (long long)w.kernel.d[1], bsm_dims_str(size));
  bsm_weights kernel;
  BSM_TRY(one_hot_kernel(ctx, x->dtype, w.kernel, &kernel));
  x = fold(ctx, x, &w, size, count, &kernel);
  if (single) x = bsm_emit_squeeze(ctx, x, 1);
  return bsm_emit_output(ctx, node, 0, x);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] "
     "padding, int[2] stride) -> Tensor",
     convert_im2col, 0},
    {"aten::col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] "
     "dilation, int[2] padding, int[2] stride) -> Tensor",
     convert_col2im, 0},
};
BSM_CONVERTER_TABLE(unfold, patterns);
