/* SPDX-License-Identifier: Apache-2.0 */
/* The upsample family. Sizes come from output_size or from scale factors; a
 * scale that is given also decides the coordinates, as in PyTorch. */
#include <math.h>

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
  bsm_layer *layer = bsm_network_add_resize(
      ctx->net, x, (bsm_resize_mode)(variant & MODE), spec.size);
  bsm_resize_set_align_corners(layer, spec.align);
  bsm_resize_set_scales(layer, spec.scales, (size_t)dims);
  return bsm_emit_output(ctx, node, 0, bsm_emit(ctx, layer));
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
};
BSM_CONVERTER_TABLE(resize, patterns);
