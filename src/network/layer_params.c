/* SPDX-License-Identifier: Apache-2.0 */
/* The setters. Each changes one parameter and infers the shape again. When the
 * layer is of another kind, or dims have a wrong rank, the network keeps a
 * failure. A NULL layer is ignored, because its adder has failed already. */
#include "network/network_internal.h"

/* Whether `layer` is of `kind`; if not, the network keeps a failure. */
static bool is_kind(bsm_layer *layer, bsm_layer_kind kind, const char *what) {
  char label[BSM_LAYER_LABEL_SIZE];
  if (!layer) return false;
  if (layer->kind == kind) return true;
  bsm_network_fail(layer->net,
                   BSM_FAIL(BSM_INVALID_ARGUMENT, "%s of layer %s", what,
                            bsm_layer_label(layer, label, sizeof label)));
  return false;
}

/* The window of a layer, if it has one of the rank of `dims`. */
static bsm_window_params *window_of(bsm_layer *layer, bsm_dims dims,
                                    const char *what) {
  char label[BSM_LAYER_LABEL_SIZE];
  bsm_window_params *window = NULL;
  if (!layer) return NULL;
  if (layer->kind == BSM_LAYER_CONVOLUTION ||
      layer->kind == BSM_LAYER_DECONVOLUTION) {
    window = &layer->p.convolution.window;
  } else if (layer->kind == BSM_LAYER_POOLING) {
    window = &layer->p.pooling.window;
  }
  if (!window || dims.rank != window->spatial) {
    bsm_network_fail(
        layer->net,
        BSM_FAIL(BSM_INVALID_ARGUMENT, "%s of %d dimensions for layer %s", what,
                 (int)dims.rank, bsm_layer_label(layer, label, sizeof label)));
    return NULL;
  }
  return window;
}

static void set_spatial(int64_t *to, bsm_dims dims) {
  for (int32_t i = 0; i < dims.rank; i++) to[i] = dims.d[i];
}

void bsm_activation_set_alpha(bsm_layer *layer, double alpha) {
  if (!is_kind(layer, BSM_LAYER_ACTIVATION, "alpha")) return;
  layer->p.activation.alpha = alpha;
}

void bsm_activation_set_beta(bsm_layer *layer, double beta) {
  if (!is_kind(layer, BSM_LAYER_ACTIVATION, "beta")) return;
  layer->p.activation.beta = beta;
}

void bsm_layer_set_stride_nd(bsm_layer *layer, bsm_dims stride) {
  bsm_window_params *window = window_of(layer, stride, "stride");
  if (!window) return;
  set_spatial(window->stride, stride);
  bsm_layer_refresh(layer);
}

void bsm_layer_set_padding_nd(bsm_layer *layer, bsm_dims padding) {
  bsm_window_params *window = window_of(layer, padding, "padding");
  if (!window) return;
  set_spatial(window->pre_padding, padding);
  set_spatial(window->post_padding, padding);
  bsm_layer_refresh(layer);
}

void bsm_layer_set_pre_padding(bsm_layer *layer, bsm_dims padding) {
  bsm_window_params *window = window_of(layer, padding, "pre-padding");
  if (!window) return;
  set_spatial(window->pre_padding, padding);
  bsm_layer_refresh(layer);
}

void bsm_layer_set_post_padding(bsm_layer *layer, bsm_dims padding) {
  bsm_window_params *window = window_of(layer, padding, "post-padding");
  if (!window) return;
  set_spatial(window->post_padding, padding);
  bsm_layer_refresh(layer);
}

void bsm_layer_set_dilation_nd(bsm_layer *layer, bsm_dims dilation) {
  bsm_window_params *window = window_of(layer, dilation, "dilation");
  if (!window) return;
  set_spatial(window->dilation, dilation);
  bsm_layer_refresh(layer);
}

void bsm_layer_set_groups(bsm_layer *layer, int64_t groups) {
  if (!layer || (layer->kind != BSM_LAYER_DECONVOLUTION &&
                 !is_kind(layer, BSM_LAYER_CONVOLUTION, "groups"))) {
    return;
  }
  layer->p.convolution.groups = groups;
  bsm_layer_refresh(layer);
}

void bsm_deconvolution_set_output_padding(bsm_layer *layer, bsm_dims padding) {
  if (!is_kind(layer, BSM_LAYER_DECONVOLUTION, "output padding")) return;
  bsm_window_params *window = window_of(layer, padding, "output padding");
  if (!window) return;
  set_spatial(window->output_padding, padding);
  bsm_layer_refresh(layer);
}

void bsm_pooling_set_ceil_mode(bsm_layer *layer, bool ceil_mode) {
  if (!is_kind(layer, BSM_LAYER_POOLING, "ceil mode")) return;
  layer->p.pooling.ceil_mode = ceil_mode;
  bsm_layer_refresh(layer);
}

void bsm_pooling_set_average_count_excludes_padding(bsm_layer *layer,
                                                    bool excludes) {
  if (!is_kind(layer, BSM_LAYER_POOLING, "count excludes padding")) return;
  layer->p.pooling.count_excludes_padding = excludes;
}

void bsm_pooling_set_divisor_override(bsm_layer *layer, int64_t divisor) {
  if (!is_kind(layer, BSM_LAYER_POOLING, "divisor")) return;
  layer->p.pooling.divisor_override = divisor;
  bsm_layer_refresh(layer);
}

void bsm_shuffle_set_first_transpose(bsm_layer *layer, bsm_dims perm) {
  if (!is_kind(layer, BSM_LAYER_SHUFFLE, "first transpose")) return;
  layer->p.shuffle.first_transpose = perm;
  layer->p.shuffle.has_first = true;
  bsm_layer_refresh(layer);
}

void bsm_shuffle_set_second_transpose(bsm_layer *layer, bsm_dims perm) {
  if (!is_kind(layer, BSM_LAYER_SHUFFLE, "second transpose")) return;
  layer->p.shuffle.second_transpose = perm;
  layer->p.shuffle.has_second = true;
  bsm_layer_refresh(layer);
}

void bsm_shuffle_set_reshape_dimensions(bsm_layer *layer, bsm_dims dims) {
  if (!is_kind(layer, BSM_LAYER_SHUFFLE, "reshape")) return;
  layer->p.shuffle.reshape = dims;
  layer->p.shuffle.has_reshape = true;
  bsm_layer_refresh(layer);
}

void bsm_scatter_set_reduction(bsm_layer *layer,
                               bsm_scatter_reduction reduction,
                               bool include_self) {
  if (!is_kind(layer, BSM_LAYER_SCATTER, "reduction")) return;
  layer->p.scatter.reduction = reduction;
  layer->p.scatter.include_self = include_self;
  bsm_layer_refresh(layer);
}

void bsm_scatter_set_wrap(bsm_layer *layer, bool wrap) {
  if (!is_kind(layer, BSM_LAYER_SCATTER, "wrap")) return;
  layer->p.scatter.wrap = wrap;
}

void bsm_slice_set_mode(bsm_layer *layer, bsm_padding_mode mode,
                        double fill_value) {
  if (!is_kind(layer, BSM_LAYER_SLICE, "padding mode")) return;
  layer->p.slice.mode = mode;
  layer->p.slice.fill_value = fill_value;
  layer->p.slice.has_mode = true;
  bsm_layer_refresh(layer);
}

void bsm_resize_set_align_corners(bsm_layer *layer, bool align) {
  if (!is_kind(layer, BSM_LAYER_RESIZE, "align corners")) return;
  layer->p.resize.align_corners = align;
}

void bsm_resize_set_scales(bsm_layer *layer, const double *scales,
                           size_t count) {
  if (!is_kind(layer, BSM_LAYER_RESIZE, "scales")) return;
  if (count != (size_t)layer->p.resize.output_size.rank) {
    bsm_network_fail(layer->net,
                     BSM_FAIL(BSM_INVALID_ARGUMENT,
                              "%zu scales for a resize of %d "
                              "dimensions",
                              count, (int)layer->p.resize.output_size.rank));
    return;
  }
  for (size_t i = 0; i < count; i++) {
    layer->p.resize.scales[i] = scales[i] > 0 ? scales[i] : 0;
  }
}

void bsm_normalization_set_epsilon(bsm_layer *layer, double epsilon) {
  if (!is_kind(layer, BSM_LAYER_NORMALIZATION, "epsilon")) return;
  layer->p.normalization.epsilon = epsilon;
  bsm_layer_refresh(layer);
}

void bsm_normalization_set_groups(bsm_layer *layer, int64_t groups) {
  if (!is_kind(layer, BSM_LAYER_NORMALIZATION, "groups")) return;
  layer->p.normalization.groups = groups;
  bsm_layer_refresh(layer);
}

void bsm_normalization_set_rms(bsm_layer *layer, bool rms) {
  if (!is_kind(layer, BSM_LAYER_NORMALIZATION, "rms")) return;
  layer->p.normalization.rms = rms;
}

void bsm_reduce_set_correction(bsm_layer *layer, double correction) {
  if (!is_kind(layer, BSM_LAYER_REDUCE, "correction")) return;
  layer->p.reduce.correction = correction;
}

void bsm_recurrent_set_lengths(bsm_layer *layer, const bsm_weights *lengths) {
  if (!is_kind(layer, BSM_LAYER_RECURRENT, "lengths")) return;
  layer->p.recurrent.lengths = lengths ? *lengths : (bsm_weights){0};
  bsm_layer_refresh(layer);
}

void bsm_quantize_set_range(bsm_layer *layer, double least, double greatest) {
  if (!is_kind(layer, BSM_LAYER_QUANTIZE, "range")) return;
  layer->p.quantize.least = least;
  layer->p.quantize.greatest = greatest;
  bsm_layer_refresh(layer);
}

void bsm_quantize_set_rounds_last(bsm_layer *layer, bool rounds_last) {
  if (!is_kind(layer, BSM_LAYER_QUANTIZE, "order of rounding")) return;
  layer->p.quantize.rounds_last = rounds_last;
}

void bsm_quantize_set_nan(bsm_layer *layer, bsm_quantize_nan nan) {
  if (!is_kind(layer, BSM_LAYER_QUANTIZE, "treatment of NaN")) return;
  layer->p.quantize.nan = nan;
  bsm_layer_refresh(layer);
}
