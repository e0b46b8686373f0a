/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of one to three dimensions: max, average, adaptive. */
#include <math.h>
#include <string.h>

#include "conversion/scatter.h"
#include "conversion/windows.h"

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

/* Where in the flattened image each window begins, [count...], and how far its
 * places are from there, [K]. */
static bool window_places(bsm_conversion_ctx *ctx, const bsm_windows *w,
                          bsm_dims image, bsm_dims count, bsm_itensor **begin,
                          bsm_itensor **offset) {
  bsm_itensor **results[2] = {begin, offset};
  const bsm_dims *shapes[2] = {&count, &w->kernel};
  for (int which = 0; which < 2; which++) {
    int64_t total = 1;
    for (int32_t i = 0; i < count.rank; i++) total *= shapes[which]->d[i];
    int64_t *values = bsm_conversion_alloc(ctx, (size_t)total * sizeof *values);
    if (!values) {
      bsm_emit_fail(ctx, BSM_OUT_OF_MEMORY, "out of memory");
      return false;
    }
    for (int64_t k = 0; k < total; k++) {
      int64_t rest = k, stride = 1;
      for (int32_t i = count.rank - 1; i >= 0; i--) {
        int64_t at = rest % shapes[which]->d[i];
        rest /= shapes[which]->d[i];
        values[k] +=
            stride * (which == 0 ? at * w->stride.d[i] - w->padding.d[i]
                                 : at * w->dilation.d[i]);
        stride *= image.d[image.rank - count.rank + i];
      }
    }
    *results[which] = bsm_emit_int64s(
        ctx, values, which == 0 ? count : (bsm_dims){1, {total}});
  }
  return *begin && *offset;
}

/* The place in the flattened image of the maximum of each window; `out` is
 * what pooling gives, [N, C, count...]. */
static bsm_itensor *max_indices(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                bsm_windows *w, const bsm_itensor *out) {
  int32_t rank = w->kernel.rank, axis = bsm_rank(x) - rank;
  bsm_dims image = x->dims;
  bsm_dims count = bsm_dims_of(out->dims.d + axis, (size_t)rank);
  bsm_itensor *begin, *offset;
  w->post_padding.rank = rank;
  for (int32_t i = 0; i < rank; i++) {
    int64_t extent = (w->kernel.d[i] - 1) * w->dilation.d[i] + 1;
    int64_t rest = (count.d[i] - 1) * w->stride.d[i] + extent -
                   w->padding.d[i] - x->dims.d[axis + i];
    w->post_padding.d[i] = rest > 0 ? rest : 0;
  }
  x = bsm_emit_windows(ctx, x, w, -INFINITY);
  if (!x || !window_places(ctx, w, image, count, &begin, &offset)) {
    return NULL;
  }
  bsm_layer *top = bsm_network_add_top_k(ctx->net, x, true, 1, axis);
  if (!bsm_emit(ctx, top)) return NULL;
  bsm_itensor *tap =
      bsm_emit_squeeze(ctx, bsm_layer_output(top, 1), 1u << (unsigned)axis);
  tap = bsm_emit_gather(ctx, offset, tap, BSM_GATHER_DEFAULT, 0);
  return bsm_emit_binary(ctx, tap, begin, BSM_ELEMENT_WISE_SUM);
}

/* Also max_poolNd_with_indices. */
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
  bsm_itensor *out = bsm_emit(ctx, layer), *indices = NULL;
  if (!out) return bsm_ctx_take_error(ctx);
  if (bsm_node_output_count(node) > 1) {
    bsm_windows w = {window, stride, padding, padding, dilation};
    BSM_CHECK(bsm_dtype_is_floating(x->dtype), "the indices of max pooling %s",
              bsm_dtype_name(x->dtype));
    indices = max_indices(ctx, x, &w, out);
    if (added) indices = bsm_emit_squeeze(ctx, indices, 1);
    BSM_TRY(bsm_emit_output(ctx, node, 1, indices));
  }
  if (added) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

/* max_unpool: each value goes back to its place in the flattened image. */
static bsm_status convert_max_unpool(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, INDICES, OUTPUT_SIZE };
  int32_t spatial = bsm_args_variant(args);
  bsm_dims size;
  size_t count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *at = bsm_arg_itensor_or_freeze(ctx, args, INDICES);
  const int64_t *sizes = bsm_arg_unwrap_to_int_list(args, OUTPUT_SIZE, &count);
  if (!x || !at ||
      !bsm_spatial_dims(ctx, sizes, count, spatial, "output_size", &size)) {
    return bsm_ctx_take_error(ctx);
  }
  int32_t first = bsm_rank(x) - spatial;
  BSM_CHECK(first >= 1 && bsm_dims_equal(x->dims, at->dims),
            "max_unpool of dims %s with indices of dims %s",
            bsm_dims_str(x->dims), bsm_dims_str(at->dims));
  bsm_dims out = x->dims, from = x->dims, flat = x->dims;
  int64_t total;
  BSM_CHECK(bsm_dims_numel(size, &total), "output_size %s", bsm_dims_str(size));
  from.rank = flat.rank = first + 1;
  from.d[first] = 1;
  for (int32_t i = 0; i < spatial; i++) {
    from.d[first] *= x->dims.d[first + i];
    out.d[first + i] = size.d[i];
  }
  flat.d[first] = total;
  const bsm_scatter_options assign = {BSM_SCATTER_ASSIGN, false, false};
  bsm_itensor *y = bsm_emit_scatter(ctx, bsm_emit_fill(ctx, x->dtype, flat, 0),
                                    first, bsm_emit_reshape(ctx, at, from),
                                    bsm_emit_reshape(ctx, x, from), assign);
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, y, out));
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
/* Of an adaptive pooling: the places of each window along one dimension, filled
 * up to the longest window with its last place; [size, longest]. */
static int64_t *adaptive_places(bsm_conversion_ctx *ctx, int64_t in,
                                int64_t size, int64_t *longest) {
  *longest = 0;
  for (int64_t i = 0; i < size; i++) {
    const int64_t n = ((i + 1) * in + size - 1) / size - i * in / size;
    if (n > *longest) *longest = n;
  }
  int64_t *at =
      bsm_conversion_alloc(ctx, (size_t)(size * *longest) * sizeof(int64_t));
  for (int64_t i = 0; at && i < size; i++) {
    const int64_t first = i * in / size;
    const int64_t last = ((i + 1) * in + size - 1) / size - 1;
    for (int64_t k = 0; k < *longest; k++) {
      at[i * *longest + k] = first + k < last ? first + k : last;
    }
  }
  return at;
}

/* The flattened place of every element of every window, [window, place]. */
static bsm_itensor *adaptive_windows(bsm_conversion_ctx *ctx, bsm_dims image,
                                     bsm_dims size) {
  const int32_t n = size.rank;
  int64_t *at[BSM_MAX_SPATIAL], longest[BSM_MAX_SPATIAL];
  int64_t windows = 1, places = 1;
  for (int32_t i = 0; i < n; i++) {
    at[i] = adaptive_places(ctx, image.d[i], size.d[i], &longest[i]);
    if (!at[i]) return bsm_emit_fail(ctx, BSM_OUT_OF_MEMORY, "out of memory");
    windows *= size.d[i];
    places *= longest[i];
  }
  int64_t *flat =
      bsm_conversion_alloc(ctx, (size_t)(windows * places) * sizeof(int64_t));
  if (!flat) return bsm_emit_fail(ctx, BSM_OUT_OF_MEMORY, "out of memory");
  for (int64_t k = 0; k < windows * places; k++) {
    int64_t window = k / places, place = k % places, stride = 1;
    for (int32_t i = n - 1; i >= 0; i--) {
      flat[k] +=
          stride * at[i][window % size.d[i] * longest[i] + place % longest[i]];
      window /= size.d[i];
      place /= longest[i];
      stride *= image.d[i];
    }
  }
  return bsm_emit_int64s(ctx, flat, (bsm_dims){2, {windows, places}});
}

/* The place in the flattened image of the maximum of each window. */
static bsm_itensor *adaptive_indices(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                     bsm_dims size) {
  const int32_t axis = bsm_rank(x) - size.rank;
  bsm_dims image = bsm_dims_of(x->dims.d + axis, (size_t)size.rank);
  bsm_dims flat = bsm_dims_of(x->dims.d, (size_t)axis + 1), out = x->dims;
  int64_t windows = 1;
  flat.d[axis] = 1;
  for (int32_t i = 0; i < size.rank; i++) {
    flat.d[axis] *= image.d[i];
    windows *= size.d[i];
    out.d[axis + i] = size.d[i];
  }
  if (windows == 0) return bsm_emit_fill(ctx, BSM_DTYPE_INT64, out, 0);
  bsm_itensor *at = adaptive_windows(ctx, image, size);
  x = bsm_emit_gather(ctx, bsm_emit_reshape(ctx, x, flat), at,
                      BSM_GATHER_DEFAULT, axis);
  if (!x) return NULL;
  bsm_layer *top = bsm_network_add_top_k(ctx->net, x, true, 1, axis + 1);
  if (!bsm_emit(ctx, top)) return NULL;
  /* [.., windows, 1]: which place of its window; read from the table. */
  const bsm_dims whole = x->dims;
  at = bsm_emit_expand(ctx, at, whole);
  at = bsm_emit_gather(ctx, at, bsm_layer_output(top, 1), BSM_GATHER_ELEMENT,
                       axis + 1);
  return bsm_emit_reshape(ctx, at, out);
}

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
  x = batched(ctx, x, spatial, &added);
  if (x && max && bsm_node_out(node, 1)->uses.len > 0) {
    BSM_CHECK(bsm_itensor_numel(x) > 0, "the indices of pooling nothing");
    bsm_itensor *at = adaptive_indices(ctx, x, size);
    if (added) at = bsm_emit_squeeze(ctx, at, 1);
    BSM_TRY(bsm_emit_output(ctx, node, 1, at));
  }
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
#define MAX_POOL_INDICES(n, zeros, ones)                               \
  {                                                                    \
    "aten::max_pool" #n "d_with_indices(Tensor self, int[" #n          \
    "] kernel_size, int[" #n "] stride=[], int[" #n "] padding=" zeros \
    ", int[" #n "] dilation=" ones                                     \
    ", bool ceil_mode=False) -> (Tensor, "                             \
    "Tensor)",                                                         \
        convert_max_pool, n                                            \
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
    MAX_POOL_INDICES(1, "[0]", "[1]"),
    MAX_POOL_INDICES(2, "0", "1"),
    MAX_POOL_INDICES(3, "0", "1"),
    {"aten::max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> "
     "Tensor",
     convert_max_unpool, 2},
    {"aten::max_unpool3d(Tensor self, Tensor indices, int[3] output_size, "
     "int[3] stride, int[3] padding) -> Tensor",
     convert_max_unpool, 3},
    {"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], "
     "int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True) -> "
     "Tensor",
     convert_avg_pool, 1},
    AVG_POOL(2),
    AVG_POOL(3),
    ADAPTIVE(1),
    ADAPTIVE(2),
    ADAPTIVE(3),
    {"aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     convert_adaptive, 2},
    {"aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     convert_adaptive, 3},
};
BSM_CONVERTER_TABLE(pooling, patterns);
