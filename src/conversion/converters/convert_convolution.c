/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and transposed convolutions of one to three spatial
 * dimensions, batched or not. A kernel that is computed at run time makes a
 * matrix multiply over windows. */
#include <string.h>

#include "conversion/windows.h"

/* A convolution with all of its arguments unwrapped. */
typedef struct conv_spec {
  bsm_itensor *x;
  bsm_itensor *dynamic; /* the kernel, when it is computed at run time */
  bsm_dims kernel;      /* all of its dims */
  int32_t spatial;
  bsm_dims stride, padding, post_padding, dilation, output_padding;
  int64_t groups;
  bool transposed;
} conv_spec;

/* PyTorch's padding strings. */
static bool string_padding(bsm_conversion_ctx *ctx, const char *mode,
                           bsm_dims kernel, conv_spec *spec) {
  if (strcmp(mode, "same") != 0 && strcmp(mode, "valid") != 0) {
    bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                  "Invalid padding string: '%s'; only 'valid' and 'same' are "
                  "known",
                  mode);
    return false;
  }
  spec->padding.rank = spec->post_padding.rank = spec->spatial;
  for (int32_t i = 0; i < spec->spatial; i++) {
    int64_t total = 0;
    if (strcmp(mode, "same") == 0) {
      if (spec->stride.d[i] != 1) {
        bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                      "padding='same' is not supported for strided "
                      "convolutions");
        return false;
      }
      total = spec->dilation.d[i] * (kernel.d[i] - 1);
    }
    spec->padding.d[i] = total / 2;
    spec->post_padding.d[i] = total - total / 2;
  }
  return true;
}

static bool int_list(bsm_conversion_ctx *ctx, const bsm_args *args, size_t i,
                     int32_t spatial, const char *what, bsm_dims *out) {
  size_t count;
  const int64_t *values = bsm_arg_unwrap_to_int_list(args, i, &count);
  return bsm_spatial_dims(ctx, values, count, spatial, what, out);
}

/* Adds the layer for a kernel. The bias may be NULL; one that is not constant
 * is added after. */
static bsm_itensor *emit_layer(bsm_conversion_ctx *ctx, const conv_spec *spec,
                               const bsm_tensor *kernel,
                               const bsm_tensor *bias) {
  bsm_weights w = bsm_weights_borrow(ctx, kernel);
  bsm_weights b = {0};
  if (bias) b = bsm_weights_borrow(ctx, bias);
  if (ctx->impl->error || !spec->x) return NULL;
  bsm_layer *layer =
      spec->transposed
          ? bsm_network_add_deconvolution_nd(ctx->net, spec->x,
                                             w.num_input_maps * spec->groups,
                                             w.kernel_shape, &w, &b)
          : bsm_network_add_convolution_nd(ctx->net, spec->x, w.num_output_maps,
                                           w.kernel_shape, &w, &b);
  bsm_layer_set_stride_nd(layer, spec->stride);
  bsm_layer_set_pre_padding(layer, spec->padding);
  bsm_layer_set_post_padding(layer, spec->post_padding);
  bsm_layer_set_dilation_nd(layer, spec->dilation);
  bsm_layer_set_groups(layer, spec->groups);
  if (spec->transposed) {
    bsm_deconvolution_set_output_padding(layer, spec->output_padding);
  }
  return bsm_emit(ctx, layer);
}

/* x + bias along the channels, for a bias known at run time. */
static bsm_itensor *add_bias(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_itensor *bias) {
  bsm_dims dims = {0};
  if (!x || !bias) return NULL;
  dims.rank = x->dims.rank;
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = 1;
  dims.d[1] = bsm_itensor_numel(bias);
  return bsm_emit_binary(ctx, x, bsm_emit_reshape(ctx, bias, dims),
                         BSM_ELEMENT_WISE_SUM);
}

/* [N, C, spatial...] with a kernel [O, C / groups, kernel...] known at run
 * time: [groups, O / groups, C / groups * K] x [N, groups, C / groups * K, L].
 */
static bsm_itensor *emit_dynamic(bsm_conversion_ctx *ctx,
                                 const conv_spec *spec) {
  bsm_windows w = {.stride = spec->stride,
                   .padding = spec->padding,
                   .post_padding = spec->post_padding,
                   .dilation = spec->dilation};
  bsm_dims count, k = spec->kernel, x = spec->x->dims;
  w.kernel = bsm_dims_of(k.d + 2, (size_t)spec->spatial);
  int64_t groups = spec->groups, places = 1, total = 1;
  if (x.rank != k.rank || groups < 1 || k.d[0] % groups != 0 ||
      x.d[1] % groups != 0 || k.d[1] != x.d[1] / groups) {
    return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                         "weight of dims %s and input of dims %s in %lld "
                         "groups",
                         bsm_dims_str(k), bsm_dims_str(x), (long long)groups);
  }
  if (!bsm_windows_count(ctx, &w, x, &count)) return NULL;
  for (int32_t i = 0; i < spec->spatial; i++) {
    places *= w.kernel.d[i];
    total *= count.d[i];
  }
  bsm_itensor *columns =
      bsm_emit_reshape(ctx, bsm_emit_windows(ctx, spec->x, &w, 0),
                       (bsm_dims){4, {x.d[0], groups, k.d[1] * places, total}});
  bsm_itensor *kernel = bsm_emit_reshape(
      ctx, spec->dynamic,
      (bsm_dims){3, {groups, k.d[0] / groups, k.d[1] * places}});
  bsm_dims out = x;
  out.d[1] = k.d[0];
  for (int32_t i = 0; i < spec->spatial; i++) out.d[2 + i] = count.d[i];
  return bsm_emit_reshape(
      ctx, bsm_emit_matmul(ctx, kernel, false, columns, false), out);
}

/* `stride` - 1 zeros between neighbours along `axis`. */
static bsm_itensor *spread(bsm_conversion_ctx *ctx, bsm_itensor *x,
                           int32_t axis, int64_t stride) {
  if (!x || stride <= 1 || x->dims.d[axis] <= 1) return x;
  const int64_t size = x->dims.d[axis];
  bsm_dims merged = x->dims, start = {0}, ones = {0};
  x = bsm_emit_unsqueeze(ctx, x, axis + 1);
  if (!x) return NULL;
  bsm_dims wide = x->dims;
  wide.d[axis + 1] = stride;
  merged.d[axis] = size * stride;
  start.rank = ones.rank = wide.rank;
  for (int32_t i = 0; i < wide.rank; i++) ones.d[i] = 1;
  bsm_layer *layer = bsm_network_add_slice(ctx->net, x, start, wide, ones);
  bsm_slice_set_mode(layer, BSM_PADDING_CONSTANT, 0);
  x = bsm_emit_reshape(ctx, bsm_emit(ctx, layer), merged);
  return bsm_emit_slice(ctx, x, axis, 0, (size - 1) * stride + 1, 1);
}

/* A kernel [I, O / groups, kernel...] as that of the convolution which goes
 * the other way: [O, I / groups, kernel backwards...]. */
static bsm_itensor *turned(bsm_conversion_ctx *ctx, bsm_itensor *kernel,
                           int64_t groups) {
  if (!kernel) return NULL;
  const bsm_dims k = kernel->dims;
  bsm_dims split = {0}, perm = {0}, out = k;
  for (int32_t i = 2; i < k.rank; i++) {
    kernel = bsm_emit_slice(ctx, kernel, i, k.d[i] - 1, k.d[i], -1);
  }
  split.rank = perm.rank = k.rank + 1;
  split.d[0] = groups;
  split.d[1] = k.d[0] / groups;
  for (int32_t i = 1; i < k.rank; i++) split.d[i + 1] = k.d[i];
  for (int32_t i = 0; i < perm.rank; i++) perm.d[i] = i;
  perm.d[1] = 2;
  perm.d[2] = 1;
  out.d[0] = k.d[1] * groups;
  out.d[1] = split.d[1];
  return bsm_emit_reshape(
      ctx, bsm_emit_permute(ctx, bsm_emit_reshape(ctx, kernel, split), perm),
      out);
}

/* A transposed convolution with a kernel known at run time is a convolution of
 * the input with zeros put between its elements. */
static bsm_itensor *emit_dynamic_transposed(bsm_conversion_ctx *ctx,
                                            const conv_spec *spec) {
  conv_spec plain = *spec;
  const bsm_dims k = spec->kernel;
  if (spec->groups < 1 || k.d[0] % spec->groups != 0) {
    return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                         "%lld input maps in %lld "
                         "groups",
                         (long long)k.d[0], (long long)spec->groups);
  }
  plain.dynamic = turned(ctx, spec->dynamic, spec->groups);
  plain.transposed = false;
  plain.stride = (bsm_dims){0};
  plain.stride.rank = plain.post_padding.rank = spec->spatial;
  for (int32_t i = 0; i < spec->spatial; i++) {
    const int64_t reach = spec->dilation.d[i] * (k.d[2 + i] - 1);
    int64_t before = reach - spec->padding.d[i];
    int64_t after = before + spec->output_padding.d[i];
    plain.x = spread(ctx, plain.x, 2 + i, spec->stride.d[i]);
    if (!plain.x) return NULL;
    /* More padding than the kernel reaches takes elements away. */
    const int64_t size = plain.x->dims.d[2 + i];
    const int64_t first = before < 0 ? -before : 0;
    const int64_t end = after < 0 ? size + after : size;
    if (end < first) {
      return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                           "a padding of %lld leaves nothing",
                           (long long)spec->padding.d[i]);
    }
    plain.x = bsm_emit_slice(ctx, plain.x, 2 + i, first, end - first, 1);
    plain.padding.d[i] = before < 0 ? 0 : before;
    plain.post_padding.d[i] = after < 0 ? 0 : after;
    plain.stride.d[i] = 1;
  }
  if (!plain.dynamic || !plain.x) return NULL;
  plain.kernel = plain.dynamic->dims;
  return emit_dynamic(ctx, &plain);
}

/* Whether a transposed convolution of no elements, of which PyTorch takes it,
 * gives images without elements; windows are sane, or none. */
static bool leaves_nothing(const conv_spec *spec) {
  const int32_t first = bsm_rank(spec->x) - spec->spatial;
  if (!spec->transposed || bsm_itensor_numel(spec->x) > 0 || first < 0) {
    return false;
  }
  for (int32_t i = 0; i < spec->spatial; i++) {
    const double size = (double)spec->x->dims.d[first + i] - 1,
                 reach = (double)spec->kernel.d[2 + i] - 1;
    if (size * (double)spec->stride.d[i] + (double)spec->dilation.d[i] * reach +
            1 + (double)spec->output_padding.d[i] <=
        2 * (double)spec->padding.d[i]) {
      return true;
    }
  }
  return false;
}

/* The kernel, the input made batched, and the layer: common to all forms. */
static bsm_status finish(bsm_conversion_ctx *ctx, const bsm_node *node,
                         const bsm_args *args, conv_spec *spec,
                         const bsm_tensor *kernel) {
  enum { INPUT, WEIGHT, BIAS };
  bool batched = bsm_rank(spec->x) != spec->spatial + 1;
  bool dynamic_bias = bsm_arg_is_itensor(args, BIAS) ||
                      (spec->dynamic && !bsm_arg_is_none(args, BIAS));
  const bsm_tensor *bias =
      dynamic_bias ? NULL : bsm_arg_unwrap_to_tensor_or_none(args, BIAS);
  BSM_CHECK(!leaves_nothing(spec),
            "a transposed convolution that leaves no elements");
  if (!batched) spec->x = bsm_emit_unsqueeze(ctx, spec->x, 0);
  bsm_itensor *out = !spec->x ? NULL
                     : spec->dynamic && spec->transposed
                         ? emit_dynamic_transposed(ctx, spec)
                     : spec->dynamic ? emit_dynamic(ctx, spec)
                                     : emit_layer(ctx, spec, kernel, bias);
  if (dynamic_bias) {
    out = add_bias(ctx, out, bsm_arg_itensor_or_freeze(ctx, args, BIAS));
  }
  if (!batched) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

/* The input and the kernel; the kernel's rank gives the spatial dimensions. */
static bsm_status start(bsm_conversion_ctx *ctx, const bsm_args *args,
                        conv_spec *spec, const bsm_tensor **kernel) {
  enum { INPUT, WEIGHT };
  *kernel = NULL;
  if (bsm_arg_is_itensor(args, WEIGHT)) {
    spec->dynamic = bsm_arg_itensor(args, WEIGHT);
  } else {
    *kernel = bsm_arg_unwrap_to_tensor(args, WEIGHT);
  }
  spec->x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  if ((!*kernel && !spec->dynamic) || !spec->x) return bsm_ctx_take_error(ctx);
  spec->kernel = spec->dynamic ? spec->dynamic->dims : (*kernel)->sizes;
  spec->spatial = spec->kernel.rank - 2;
  BSM_CHECK(spec->spatial >= 1 && spec->spatial <= BSM_MAX_SPATIAL,
            "a convolution with weights of dims %s",
            bsm_dims_str(spec->kernel));
  BSM_CHECK(spec->kernel.d[0] > 0 && spec->kernel.d[1] > 0,
            "a convolution of no maps");
  spec->output_padding.rank = spec->spatial;
  return BSM_OK;
}

/* conv1d, conv2d, conv3d; padding numbers or a string. */
static bsm_status convert_conv(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, GROUPS };
  conv_spec spec = {0};
  const bsm_tensor *kernel;
  BSM_TRY(start(ctx, args, &spec, &kernel));
  bsm_dims size = bsm_dims_of(spec.kernel.d + 2, (size_t)spec.spatial);
  bool ok =
      int_list(ctx, args, STRIDE, spec.spatial, "stride", &spec.stride) &&
      int_list(ctx, args, DILATION, spec.spatial, "dilation", &spec.dilation);
  if (ok && bsm_arg_is_string(args, PADDING)) {
    ok = string_padding(ctx, bsm_arg_unwrap_to_string(args, PADDING), size,
                        &spec);
  } else if (ok) {
    ok = int_list(ctx, args, PADDING, spec.spatial, "padding", &spec.padding);
    spec.post_padding = spec.padding;
  }
  spec.groups = bsm_arg_unwrap_to_int(args, GROUPS);
  if (!ok) return bsm_ctx_take_error(ctx);
  return finish(ctx, node, args, &spec, kernel);
}

static bsm_status convert_conv_transpose(bsm_conversion_ctx *ctx,
                                         const bsm_node *node,
                                         const bsm_args *args) {
  enum {
    INPUT,
    WEIGHT,
    BIAS,
    STRIDE,
    PADDING,
    OUTPUT_PADDING,
    GROUPS,
    DILATION
  };
  conv_spec spec = {0};
  const bsm_tensor *kernel;
  BSM_TRY(start(ctx, args, &spec, &kernel));
  spec.transposed = true;
  spec.groups = bsm_arg_unwrap_to_int(args, GROUPS);
  if (!int_list(ctx, args, STRIDE, spec.spatial, "stride", &spec.stride) ||
      !int_list(ctx, args, PADDING, spec.spatial, "padding", &spec.padding) ||
      !int_list(ctx, args, OUTPUT_PADDING, spec.spatial, "output_padding",
                &spec.output_padding) ||
      !int_list(ctx, args, DILATION, spec.spatial, "dilation",
                &spec.dilation)) {
    return bsm_ctx_take_error(ctx);
  }
  spec.post_padding = spec.padding;
  return finish(ctx, node, args, &spec, kernel);
}

/* What tracing records for every convolution. */
static bsm_status convert_convolution(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum {
    INPUT,
    WEIGHT,
    BIAS,
    STRIDE,
    PADDING,
    DILATION,
    TRANSPOSED,
    OUTPUT_PADDING,
    GROUPS
  };
  conv_spec spec = {0};
  const bsm_tensor *kernel;
  BSM_TRY(start(ctx, args, &spec, &kernel));
  spec.transposed = bsm_arg_unwrap_to_bool(args, TRANSPOSED);
  spec.groups = bsm_arg_unwrap_to_int(args, GROUPS);
  if (!int_list(ctx, args, STRIDE, spec.spatial, "stride", &spec.stride) ||
      !int_list(ctx, args, PADDING, spec.spatial, "padding", &spec.padding) ||
      !int_list(ctx, args, DILATION, spec.spatial, "dilation",
                &spec.dilation)) {
    return bsm_ctx_take_error(ctx);
  }
  if (spec.transposed && !int_list(ctx, args, OUTPUT_PADDING, spec.spatial,
                                   "output_padding", &spec.output_padding)) {
    return bsm_ctx_take_error(ctx);
  }
  spec.post_padding = spec.padding;
  return finish(ctx, node, args, &spec, kernel);
}

#define CONV(n, ones, zeros)                                                 \
  {"aten::conv" n "d(Tensor input, Tensor weight, Tensor? bias=None, int[" n \
   "] stride=" ones ", int[" n "] padding=" zeros ", int[" n                 \
   "] dilation=" ones ", int groups=1) -> Tensor",                           \
   convert_conv, 0},                                                         \
  {                                                                          \
    "aten::conv" n                                                           \
    "d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[" n       \
    "] stride=" ones ", str padding=\"valid\", int[" n "] dilation=" ones    \
    ", int groups=1) -> Tensor",                                             \
        convert_conv, 0                                                      \
  }
#define CONV_TRANSPOSE(n, overload, ones, zeros)                               \
  {                                                                            \
    "aten::conv_transpose" n "d" overload                                      \
    "(Tensor input, Tensor weight, Tensor? bias=None, int[" n "] stride=" ones \
    ", int[" n "] padding=" zeros ", int[" n "] output_padding=" zeros         \
    ", int groups=1, int[" n "] dilation=" ones ") -> Tensor",                 \
        convert_conv_transpose, 0                                              \
  }

static const bsm_conversion_pattern patterns[] = {
    CONV("1", "[1]", "[0]"),
    CONV("2", "[1, 1]", "[0, 0]"),
    CONV("3", "[1, 1, 1]", "[0, 0, 0]"),
    CONV_TRANSPOSE("1", "", "[1]", "[0]"),
    CONV_TRANSPOSE("2", ".input", "[1, 1]", "[0, 0]"),
    CONV_TRANSPOSE("3", ".input", "[1, 1, 1]", "[0, 0, 0]"),
    {"aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] "
     "stride, str padding, int[] dilation, int groups) -> Tensor",
     convert_conv, 0},
    {"aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] "
     "stride, int[] padding, int[] dilation, bool transposed, int[] "
     "output_padding, int groups) -> Tensor",
     convert_convolution, 0},
    {"aten::_convolution(Tensor input, Tensor weight, Tensor? bias, int[] "
     "stride, int[] padding, int[] dilation, bool transposed, int[] "
     "output_padding, int groups, bool benchmark, bool deterministic, bool "
     "cudnn_enabled, bool allow_tf32) -> Tensor",
     convert_convolution, 0},
    {"aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, "
     "int[] stride, int[] padding, int[] dilation, bool transposed, int[] "
     "output_padding, int groups, bool benchmark, bool deterministic, bool "
     "cudnn_enabled) -> Tensor",
     convert_convolution, 0},
};
BSM_CONVERTER_TABLE(convolution, patterns);
