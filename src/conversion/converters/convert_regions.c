/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of regions, which is a layer. The most common form, roi_align of a
 * few samples in every bin, is gathers instead: a sample reads four pixels with
 * weights, as grid_sample does; each of the four is one gather of whole pixels,
 * for the same sample of all bins of all regions. */
#include "aten/regions.h"
#include "conversion/emit.h"

enum { MAX_SAMPLES = 4 };

/* Positions are of float64, which no precision that is asked for narrows. */
#define POSITION BSM_DTYPE_DOUBLE

typedef struct regions {
  bsm_conversion_ctx *ctx;
  bsm_itensor *rois; /* [K, 5]: batch, x0, y0, x1, y1, as positions */
  bsm_dtype dtype;   /* of the pixels */
  double scale;
  bool aligned;
  int64_t samples; /* along each axis of a bin */
} regions;

/* The two pixels that a sample reads along an axis, [K, bins] each. */
typedef struct taps {
  bsm_itensor *index[2], *weight[2]; /* int64; of the pixels' dtype */
} taps;

static bsm_itensor *number(const regions *r, double value) {
  return bsm_emit_scalar(r->ctx, POSITION, value);
}

static bsm_itensor *binary(const regions *r, bsm_itensor *a, bsm_itensor *b,
                           bsm_element_wise_operation operation) {
  return bsm_emit_binary(r->ctx, a, b, operation);
}

/* Column `i` of the regions on the image, [K, 1]. */
static bsm_itensor *edge(const regions *r, int64_t i) {
  bsm_itensor *x = bsm_emit_slice(r->ctx, r->rois, 1, i, 1, 1);
  x = binary(r, x, number(r, r->scale), BSM_ELEMENT_WISE_PROD);
  return r->aligned ? binary(r, x, number(r, 0.5), BSM_ELEMENT_WISE_SUB) : x;
}

/* Where sample `s` of each bin is, in bins: bin + (s + 1/2) / samples. */
static bsm_itensor *places(const regions *r, int64_t bins, int64_t s) {
  bsm_itensor *x =
      bsm_emit_cast(r->ctx, bsm_emit_arange(r->ctx, 0, bins, 1), POSITION);
  const double offset = ((double)s + 0.5) / (double)r->samples;
  return binary(r, x, number(r, offset), BSM_ELEMENT_WISE_SUM);
}

/* Sample `s` of each bin along an axis of `size` pixels and `bins` bins; the
 * regions begin and end in the columns `first` and `last`. Outside of the image
 * by more than one, it counts nothing. */
static taps sample_taps(const regions *r, int64_t first, int64_t last,
                        int64_t bins, int64_t size, int64_t s) {
  bsm_conversion_ctx *ctx = r->ctx;
  bsm_itensor *start = edge(r, first);
  bsm_itensor *extent = binary(r, edge(r, last), start, BSM_ELEMENT_WISE_SUB);
  if (!r->aligned) {
    extent = binary(r, extent, number(r, 1), BSM_ELEMENT_WISE_MAX);
  }
  extent = binary(r, extent, number(r, (double)bins), BSM_ELEMENT_WISE_DIV);
  bsm_itensor *at =
      binary(r, extent, places(r, bins, s), BSM_ELEMENT_WISE_PROD);
  at = binary(r, start, at, BSM_ELEMENT_WISE_SUM);
  bsm_itensor *inside = binary(
      r, binary(r, at, number(r, -1), BSM_ELEMENT_WISE_GREATER_EQUAL),
      binary(r, at, number(r, (double)size), BSM_ELEMENT_WISE_LESS_EQUAL),
      BSM_ELEMENT_WISE_AND);
  at = bsm_emit_activation(ctx, at, BSM_ACTIVATION_CLIP, 0, (double)(size - 1));
  bsm_itensor *low = bsm_emit_unary(ctx, at, BSM_UNARY_FLOOR);
  bsm_itensor *high =
      binary(r, binary(r, low, number(r, 1), BSM_ELEMENT_WISE_SUM),
             number(r, (double)(size - 1)), BSM_ELEMENT_WISE_MIN);
  bsm_itensor *part = binary(r, at, low, BSM_ELEMENT_WISE_SUB);
  bsm_itensor *rest = binary(r, number(r, 1), part, BSM_ELEMENT_WISE_SUB);
  bsm_itensor *weights[2] = {rest, part}, *indices[2] = {low, high};
  taps t;
  for (int i = 0; i < 2; i++) {
    t.index[i] = bsm_emit_cast(ctx, indices[i], BSM_DTYPE_INT64);
    t.weight[i] = bsm_emit_cast(
        ctx, bsm_emit_select(ctx, inside, weights[i], number(r, 0)), r->dtype);
  }
  return t;
}

/* As [K, rows, columns, 1], of what is [K, rows] or [K, columns]. */
static bsm_itensor *spread(const regions *r, bsm_itensor *x, bool is_row) {
  x = bsm_emit_unsqueeze(r->ctx, x, is_row ? 2 : 1);
  return bsm_emit_unsqueeze(r->ctx, x, 3);
}

/* One pixel for each bin, [K, rows, columns, C], times its weight. `first` has
 * the numbers of the images' first pixels. */
static bsm_itensor *read(const regions *r, bsm_itensor *pixels,
                         bsm_itensor *first, int64_t width, const taps *y,
                         const taps *x, int corner) {
  const int i = corner >> 1, k = corner & 1;
  bsm_itensor *stride = bsm_emit_int_scalar(r->ctx, BSM_DTYPE_INT64, width);
  bsm_itensor *row = binary(r, y->index[i], stride, BSM_ELEMENT_WISE_PROD);
  row = spread(r, binary(r, first, row, BSM_ELEMENT_WISE_SUM), true);
  bsm_itensor *at =
      binary(r, row, spread(r, x->index[k], false), BSM_ELEMENT_WISE_SUM);
  bsm_itensor *weight =
      binary(r, spread(r, y->weight[i], true), spread(r, x->weight[k], false),
             BSM_ELEMENT_WISE_PROD);
  if (!at) return NULL;
  at = bsm_emit_squeeze(r->ctx, at, 8);
  return binary(r, bsm_emit_gather(r->ctx, pixels, at, BSM_GATHER_DEFAULT, 0),
                weight, BSM_ELEMENT_WISE_PROD);
}

/* [K, rows, columns, C] */
static bsm_itensor *sum_samples(const regions *r, bsm_itensor *pixels,
                                bsm_itensor *first, const bsm_dims *image,
                                const int64_t *bins) {
  bsm_itensor *sum = NULL;
  const int64_t per_bin = r->samples * r->samples;
  taps y[MAX_SAMPLES], x[MAX_SAMPLES];
  for (int64_t s = 0; s < r->samples; s++) {
    y[s] = sample_taps(r, 2, 4, bins[0], image->d[2], s);
    x[s] = sample_taps(r, 1, 3, bins[1], image->d[3], s);
  }
  for (int64_t s = 0; s < per_bin; s++) {
    for (int corner = 0; corner < 4; corner++) {
      bsm_itensor *one = read(r, pixels, first, image->d[3], &y[s / r->samples],
                              &x[s % r->samples], corner);
      sum = sum ? binary(r, sum, one, BSM_ELEMENT_WISE_SUM) : one;
    }
  }
  return binary(r, sum, bsm_emit_scalar(r->ctx, r->dtype, 1. / (double)per_bin),
                BSM_ELEMENT_WISE_PROD);
}

/* [K, 1]; an image that the batch does not have is out of range. */
static bsm_itensor *first_pixels(const regions *r, const bsm_dims *image) {
  bsm_itensor *at = bsm_emit_cast(
      r->ctx, bsm_emit_slice(r->ctx, r->rois, 1, 0, 1, 1), BSM_DTYPE_INT64);
  bsm_itensor *firsts =
      bsm_emit_arange(r->ctx, 0, image->d[0], image->d[2] * image->d[3]);
  return bsm_emit_gather(r->ctx, firsts, at, BSM_GATHER_DEFAULT, 0);
}

/* [K, C, rows, columns] */
static bsm_itensor *gather_samples(const regions *r, bsm_itensor *x,
                                   const int64_t *bins) {
  static const bsm_dims to_last = {4, {0, 2, 3, 1}},
                        to_first = {4, {0, 3, 1, 2}};
  const bsm_dims image = x->dims;
  const bsm_dims flat = {2, {image.d[0] * image.d[2] * image.d[3], image.d[1]}};
  bsm_itensor *pixels =
      bsm_emit_reshape(r->ctx, bsm_emit_permute(r->ctx, x, to_last), flat);
  bsm_itensor *first = first_pixels(r, &image);
  return bsm_emit_permute(r->ctx, sum_samples(r, pixels, first, &image, bins),
                          to_first);
}

/* ---- the layer ---- */

enum { ROI_ALIGN, ROI_POOL, PS_ROI_ALIGN, PS_ROI_POOL };

/* ps_roi_* also tell which channel each bin is of. */
static bsm_itensor *channels_of_bins(bsm_conversion_ctx *ctx, bsm_dims dims) {
  const bsm_dims one = {4, {1, dims.d[1], dims.d[2], dims.d[3]}};
  bsm_itensor *numbers =
      bsm_emit_arange(ctx, 0, dims.d[1] * dims.d[2] * dims.d[3], 1);
  numbers = bsm_emit_cast(ctx, numbers, BSM_DTYPE_INT32);
  return bsm_emit_expand(ctx, bsm_emit_reshape(ctx, numbers, one), dims);
}

static bsm_status add_layer(bsm_conversion_ctx *ctx, const bsm_node *node,
                            bsm_itensor *x, bsm_itensor *rois,
                            const bsm_region_pooling *pooling) {
  bsm_itensor *rows = bsm_emit_cast(ctx, rois, POSITION);
  if (!rows) return bsm_ctx_take_error(ctx);
  bsm_layer *layer = bsm_network_add_regions(ctx->net, x, rows, pooling);
  if (!layer) return bsm_ctx_take_error(ctx);
  bsm_itensor *y = bsm_emit(ctx, layer);
  if (!y) return bsm_ctx_take_error(ctx);
  BSM_TRY(bsm_emit_output(ctx, node, 0, y));
  if (node->outputs.len < 2) return BSM_OK;
  return bsm_emit_output(ctx, node, 1,
                         pooling->grouped ? channels_of_bins(ctx, y->dims)
                                          : bsm_layer_output(layer, 1));
}

static bsm_status check_operands(const bsm_itensor *x, const bsm_itensor *rois,
                                 const bsm_region_pooling *p) {
  const bool is_good = x->dims.rank == 4 && rois->dims.rank == 2 &&
                       rois->dims.d[1] == 5 && rois->dtype == x->dtype &&
                       bsm_dtype_is_floating(x->dtype) && p->rows > 0 &&
                       p->columns > 0;
  BSM_CHECK(is_good, "regions %s of %s", bsm_dims_str(rois->dims),
            bsm_dims_str(x->dims));
  return BSM_OK;
}

/* (input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio,
 * aligned); those of whole pixels have no samples, and roi_align alone says
 * whether it is aligned. */
static bsm_status convert(bsm_conversion_ctx *ctx, const bsm_node *node,
                          const bsm_args *args, int kind) {
  enum { INPUT, ROIS, SCALE, HEIGHT, WIDTH, RATIO, ALIGNED };
  const bool samples = kind == ROI_ALIGN || kind == PS_ROI_ALIGN;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  bsm_itensor *rois = bsm_arg_itensor_or_freeze(ctx, args, ROIS);
  if (!x || !rois) return bsm_ctx_take_error(ctx);
  const bsm_region_pooling p = {
      .rows = bsm_arg_unwrap_to_int(args, HEIGHT),
      .columns = bsm_arg_unwrap_to_int(args, WIDTH),
      .samples = samples ? bsm_arg_unwrap_to_int(args, RATIO) : 0,
      .scale = bsm_arg_unwrap_to_double(args, SCALE),
      .whole = !samples,
      .grouped = kind == PS_ROI_ALIGN || kind == PS_ROI_POOL,
      .aligned = kind == PS_ROI_ALIGN ||
                 (kind == ROI_ALIGN && bsm_arg_unwrap_to_bool(args, ALIGNED)),
      .dtype = x->dtype};
  BSM_TRY(check_operands(x, rois, &p));
  BSM_CHECK(p.samples <= BSM_REGION_MAX_TOLD_SAMPLES,
            "regions with %lld samples along each axis of a bin",
            (long long)p.samples);
  const bool is_empty = bsm_itensor_numel(x) == 0 || rois->dims.d[0] == 0;
  if (kind != ROI_ALIGN || is_empty || p.samples <= 0 ||
      p.samples > MAX_SAMPLES ||
      (x->dtype != BSM_DTYPE_FLOAT && x->dtype != BSM_DTYPE_DOUBLE)) {
    return add_layer(ctx, node, x, rois, &p);
  }
  const regions r = {.ctx = ctx,
                     .rois = bsm_emit_cast(ctx, rois, POSITION),
                     .dtype = x->dtype,
                     .scale = p.scale,
                     .aligned = p.aligned,
                     .samples = p.samples};
  const int64_t bins[2] = {p.rows, p.columns};
  return bsm_emit_output(ctx, node, 0, gather_samples(&r, x, bins));
}

static bsm_status convert_roi_align(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  return convert(ctx, node, args, ROI_ALIGN);
}

static bsm_status convert_roi_pool(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  return convert(ctx, node, args, ROI_POOL);
}

static bsm_status convert_ps_roi_align(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  return convert(ctx, node, args, PS_ROI_ALIGN);
}

static bsm_status convert_ps_roi_pool(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  return convert(ctx, node, args, PS_ROI_POOL);
}

static const bsm_conversion_pattern patterns[] = {
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, "
     "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool "
     "aligned) -> Tensor",
     convert_roi_align, 0},
    {"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, "
     "SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
     convert_roi_pool, 0},
    {"torchvision::ps_roi_align(Tensor input, Tensor rois, float "
     "spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
     "sampling_ratio) -> (Tensor, Tensor)",
     convert_ps_roi_align, 0},
    {"torchvision::ps_roi_pool(Tensor input, Tensor rois, float "
     "spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, "
     "Tensor)",
     convert_ps_roi_pool, 0},
};
BSM_CONVERTER_TABLE(regions, patterns);
