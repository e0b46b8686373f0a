/* SPDX-License-Identifier: Apache-2.0 */
/* The upsample family. Sizes come from output_size or from scale factors; a
 * scale that is given also decides the coordinates, as in PyTorch. */
#include "aten/resize_scales.h"
#include "conversion/emit.h"

/* `variant`: the mode, the number of dims, and what arguments there are. */
enum { MODE = 3, DIMS_SHIFT = 2, DIMS = 3 << DIMS_SHIFT, ALIGN = 16, VEC = 32 };

typedef struct resize_spec {
  bsm_dims size;
  double scales[3];
  bool align;
} resize_spec;

/* output_size, [align_corners,] one scale for each dim. */
static void read_sizes(bsm_conversion_ctx *ctx, const bsm_args *args,
                       int32_t dims, bool has_align, resize_spec *out) {
  size_t count, next = 2;
  const int64_t *size = bsm_arg_unwrap_to_int_list(args, 1, &count);
  bsm_spatial_dims(ctx, size, count, dims, "output_size", &out->size);
  if (has_align) out->align = bsm_arg_unwrap_to_bool(args, next++);
  for (int32_t i = 0; i < dims; i++) {
    out->scales[i] = bsm_arg_unwrap_to_double_or(args, next + (size_t)i, 0);
  }
}

/* output_size?, [align_corners,] scale_factors?. */
static void read_vec(bsm_conversion_ctx *ctx, const bsm_args *args,
                     const bsm_itensor *x, int32_t dims, bool has_align,
                     resize_spec *out) {
  size_t count, scale_count, next = 2;
  const int64_t *size = bsm_arg_unwrap_to_int_list_or_none(args, 1, &count);
  if (has_align) out->align = bsm_arg_unwrap_to_bool(args, next++);
  const double *scales =
      bsm_arg_unwrap_to_double_list_or_none(args, next, &scale_count);
  if (size) {
    bsm_spatial_dims(ctx, size, count, dims, "output_size", &out->size);
    return;
  }
  if (scale_count != (size_t)dims) {
    bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                  "Must specify exactly one of output_size and scale_factors; "
                  "%zu scale factors for %d dimensions",
                  scale_count, (int)dims);
    return;
  }
  out->size.rank = dims;
  for (int32_t i = 0; i < dims; i++) {
    double scaled = (double)x->dims.d[x->dims.rank - dims + i] * scales[i];
    out->scales[i] = scales[i];
    out->size.d[i] = scaled >= 0 && scaled < 0x1p40 ? (int64_t)scaled : -1;
  }
}

static bsm_status convert_upsample(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF };
  int variant = bsm_args_variant(args);
  int32_t dims = (variant & DIMS) >> DIMS_SHIFT;
  resize_spec spec = {0};
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(x) == dims + 2,
            "%s: It is expected input_size equals to %d, but got size %d",
            bsm_node_kind(node), (int)dims + 2, (int)bsm_rank(x));
  if (variant & VEC) {
    read_vec(ctx, args, x, dims, variant & ALIGN, &spec);
  } else {
    read_sizes(ctx, args, dims, variant & ALIGN, &spec);
  }
  BSM_TRY(bsm_ctx_take_error(ctx));
  const bsm_resize_mode mode = (bsm_resize_mode)(variant & MODE);
  const bool bytes = x->dtype == BSM_DTYPE_UINT8;
  const bool smooth =
      mode == BSM_RESIZE_LINEAR || (bytes && mode == BSM_RESIZE_CUBIC);
  if (smooth || mode == BSM_RESIZE_NEAREST) {
    bsm_resize_drop_unused_scales(smooth, dims, &x->dims.d[2], spec.size.d,
                                  spec.scales);
  }
  bsm_layer *layer = bsm_network_add_resize(ctx->net, x, mode, spec.size);
  bsm_resize_set_align_corners(layer, spec.align);
  bsm_resize_set_scales(layer, spec.scales, (size_t)dims);
  return bsm_emit_output(ctx, node, 0, bsm_emit(ctx, layer));
}

/* The weights of an antialiased resize along one axis, [in, out]: the reference
 * operator's answer to unit vectors. */
static bsm_status axis_weights(bsm_conversion_ctx *ctx, const bsm_node *node,
                               bsm_dtype dtype, int64_t in, int64_t out,
                               bool align, double scale, bsm_tensor **weights) {
  bsm_tensor *eye;
  bsm_ivalue args[5], result;
  const int64_t size[2] = {out, 1};
  BSM_TRY(bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_DOUBLE,
                         (bsm_dims){4, {1, in, in, 1}}, false, &eye));
  for (int64_t i = 0; i < in; i++) {
    ((double *)bsm_tensor_data(eye))[i * in + i] = 1;
  }
  args[0] = bsm_iv_tensor(eye);
  BSM_TRY(bsm_iv_int_list(ctx->impl->arena, size, 2, &args[1]));
  args[2] = bsm_iv_bool(align);
  args[3] = scale > 0 ? bsm_iv_double(scale) : bsm_iv_none();
  args[4] = bsm_iv_none();
  BSM_TRY(bsm_host_call(ctx, bsm_node_kind(node), args, 5, &result, 1));
  BSM_CHECK(result.tag == BSM_IVALUE_TENSOR, "resizing gave no tensor");
  BSM_TRY(
      bsm_tensor_to_dtype(ctx->impl->arena, result.u.tensor, dtype, weights));
  return bsm_tensor_view(ctx->impl->arena, *weights, (bsm_dims){2, {in, out}},
                         (const int64_t[]){out, 1}, 0, weights);
}

/* Antialiased: one matrix multiply for each axis. */
static bsm_status convert_antialiased(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF };
  resize_spec spec = {0};
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(x) == 4 && bsm_dtype_is_floating(x->dtype),
            "%s of %s with dims %s", bsm_node_kind(node),
            bsm_dtype_name(x->dtype), bsm_dims_str(x->dims));
  if (bsm_args_variant(args) & VEC) {
    read_vec(ctx, args, x, 2, true, &spec);
  } else {
    read_sizes(ctx, args, 2, true, &spec);
  }
  BSM_TRY(bsm_ctx_take_error(ctx));
  bsm_tensor *down, *across;
  BSM_TRY(axis_weights(ctx, node, x->dtype, x->dims.d[2], spec.size.d[0],
                       spec.align, spec.scales[0], &down));
  BSM_TRY(axis_weights(ctx, node, x->dtype, x->dims.d[3], spec.size.d[1],
                       spec.align, spec.scales[1], &across));
  x = bsm_emit_matmul(ctx, x, false, bsm_freeze_tensor(ctx, across), false);
  x = bsm_emit_matmul(ctx, bsm_freeze_tensor(ctx, down), true, x, false);
  return bsm_emit_output(ctx, node, 0, x);
}

#define V(mode, dims) (BSM_RESIZE_##mode | (dims) << DIMS_SHIFT)
#define NEAREST(name, mode)                                                   \
  {"aten::" name                                                              \
   "1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor",       \
   convert_upsample, V(mode, 1)},                                             \
      {"aten::" name                                                          \
       "2d(Tensor self, int[2] output_size, float? scales_h=None, float? "    \
       "scales_w=None) -> Tensor",                                            \
       convert_upsample, V(mode, 2)},                                         \
      {"aten::" name                                                          \
       "3d(Tensor self, int[3] output_size, float? scales_d=None, float? "    \
       "scales_h=None, float? scales_w=None) -> Tensor",                      \
       convert_upsample, V(mode, 3)},                                         \
      {"aten::" name                                                          \
       "1d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> " \
       "Tensor",                                                              \
       convert_upsample, V(mode, 1) | VEC},                                   \
      {"aten::" name                                                          \
       "2d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> " \
       "Tensor",                                                              \
       convert_upsample, V(mode, 2) | VEC},                                   \
  {                                                                           \
    "aten::" name                                                             \
    "3d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> "    \
    "Tensor",                                                                 \
        convert_upsample, V(mode, 3) | VEC                                    \
  }
#define ANTIALIASED(name)                                                  \
  {"aten::" name                                                           \
   "(Tensor self, int[2] output_size, bool align_corners, float? "         \
   "scales_h=None, float? scales_w=None) -> Tensor",                       \
   convert_antialiased, ALIGN},                                            \
  {                                                                        \
    "aten::" name                                                          \
    ".vec(Tensor input, int[]? output_size, bool align_corners, float[]? " \
    "scale_factors) -> Tensor",                                            \
        convert_antialiased, ALIGN | VEC                                   \
  }
#define SMOOTH(name, n, scales, mode)                                      \
  {"aten::" name "(Tensor self, int[" #n                                   \
   "] output_size, bool align_corners, " scales ") -> Tensor",             \
   convert_upsample, V(mode, n) | ALIGN},                                  \
  {                                                                        \
    "aten::" name                                                          \
    ".vec(Tensor input, int[]? output_size, bool align_corners, float[]? " \
    "scale_factors) -> Tensor",                                            \
        convert_upsample, V(mode, n) | ALIGN | VEC                         \
  }

static const bsm_conversion_pattern patterns[] = {
    NEAREST("upsample_nearest", NEAREST),
    NEAREST("_upsample_nearest_exact", NEAREST_EXACT),
    SMOOTH("upsample_linear1d", 1, "float? scales=None", LINEAR),
    SMOOTH("upsample_bilinear2d", 2,
           "float? scales_h=None, float? scales_w=None", LINEAR),
    SMOOTH("upsample_trilinear3d", 3,
           "float? scales_d=None, float? scales_h=None, float? scales_w=None",
           LINEAR),
    SMOOTH("upsample_bicubic2d", 2,
           "float? scales_h=None, float? scales_w=None", CUBIC),
    ANTIALIASED("_upsample_bilinear2d_aa"),
    ANTIALIASED("_upsample_bicubic2d_aa"),
};
BSM_CONVERTER_TABLE(resize, patterns);
