/* SPDX-License-Identifier: Apache-2.0 */
/* The adders: one for each kind of layer.
 *
 * An adder makes the layer, fills in its parameters, and infers its shape. The
 * parameters of some kinds (padding, groups) may still be changed by setters:
 * there a shape that does not fit leaves the layer stale. For all other kinds
 * it is a failure, and the layer is removed again. */
#include <math.h>

#include "network/network_internal.h"

/* Removes the layer that was added last, with its tensors. */
static void drop_last(bsm_network *net, size_t layers, size_t tensors) {
  net->layers.len = layers;
  net->tensors.len = tensors;
  net->next_tensor_id = (uint32_t)tensors;
}

/* Makes a layer. On failure it returns NULL, and the network keeps the failure.
 * A NULL among the inputs is a failure, unless an earlier one is pending that
 * explains it. */
static bsm_layer *start(bsm_network *net, bsm_layer_kind kind,
                        bsm_itensor *const *inputs, size_t count,
                        size_t outputs) {
  bsm_layer *layer = NULL;
  size_t layers = net->layers.len, tensors = net->tensors.len;
  bsm_status status =
      bsm_network_new_layer(net, kind, inputs, count, outputs, &layer);
  if (status) {
    drop_last(net, layers, tensors);
    bsm_network_fail(net, status);
    return NULL;
  }
  return layer;
}

static bsm_layer *start1(bsm_network *net, bsm_layer_kind kind,
                         bsm_itensor *input) {
  return start(net, kind, &input, 1, 1);
}

/* Infers the shape of a finished layer; returns NULL when it cannot. */
static bsm_layer *finish(bsm_layer *layer) {
  bsm_network *net = layer->net;
  bsm_status status = bsm_layer_infer(layer);
  if (!status) return layer;
  drop_last(net, net->layers.len - 1, net->tensors.len - layer->outputs.len);
  bsm_network_fail(net, status);
  return NULL;
}

/* The same for kinds whose parameters setters may still change. */
static bsm_layer *finish_later(bsm_layer *layer) {
  layer->outputs.items[0]->dtype = layer->inputs.items[0]->dtype;
  bsm_layer_refresh(layer);
  return layer;
}

static void copy_weights(bsm_weights *to, const bsm_weights *from) {
  if (from && from->count > 0) *to = *from;
}

static bool fill_window(bsm_network *net, bsm_window_params *window,
                        bsm_dims kernel, const char *what) {
  if (kernel.rank < 1 || kernel.rank > BSM_MAX_SPATIAL) {
    bsm_network_fail(
        net, BSM_FAIL(BSM_UNSUPPORTED, "%s: a kernel of %d dimensions", what,
                      (int)kernel.rank));
    return false;
  }
  window->spatial = kernel.rank;
  for (int32_t i = 0; i < BSM_MAX_SPATIAL; i++) {
    window->kernel[i] = i < kernel.rank ? kernel.d[i] : 1;
    window->stride[i] = 1;
    window->dilation[i] = 1;
  }
  return true;
}

static bsm_layer *add_convolution(bsm_network *net, bsm_layer_kind kind,
                                  bsm_itensor *input, int64_t out_maps,
                                  bsm_dims kernel_size,
                                  const bsm_weights *kernel,
                                  const bsm_weights *bias) {
  bsm_window_params window = {0};
  if (!fill_window(net, &window, kernel_size, bsm_layer_kind_name(kind))) {
    return NULL;
  }
  if (!kernel || kernel->count == 0) {
    bsm_network_fail(net, BSM_FAIL(BSM_INVALID_ARGUMENT, "%s without weights",
                                   bsm_layer_kind_name(kind)));
    return NULL;
  }
  bsm_layer *layer = start1(net, kind, input);
  if (!layer) return NULL;
  layer->p.convolution.window = window;
  layer->p.convolution.out_maps = out_maps;
  layer->p.convolution.groups = 1;
  copy_weights(&layer->p.convolution.kernel, kernel);
  copy_weights(&layer->p.convolution.bias, bias);
  return finish_later(layer);
}

bsm_layer *bsm_network_add_convolution_nd(bsm_network *net, bsm_itensor *input,
                                          int64_t out_maps,
                                          bsm_dims kernel_size,
                                          const bsm_weights *kernel,
                                          const bsm_weights *bias) {
  return add_convolution(net, BSM_LAYER_CONVOLUTION, input, out_maps,
                         kernel_size, kernel, bias);
}

bsm_layer *bsm_network_add_deconvolution_nd(
    bsm_network *net, bsm_itensor *input, int64_t out_maps,
    bsm_dims kernel_size, const bsm_weights *kernel, const bsm_weights *bias) {
  return add_convolution(net, BSM_LAYER_DECONVOLUTION, input, out_maps,
                         kernel_size, kernel, bias);
}

bsm_layer *bsm_network_add_activation(bsm_network *net, bsm_itensor *input,
                                      bsm_activation_type type) {
  bsm_layer *layer = start1(net, BSM_LAYER_ACTIVATION, input);
  if (!layer) return NULL;
  layer->p.activation.type = type;
  return finish(layer);
}

bsm_layer *bsm_network_add_pooling_nd(bsm_network *net, bsm_itensor *input,
                                      bsm_pooling_type type, bsm_dims window) {
  bsm_window_params params = {0};
  if (!fill_window(net, &params, window, "pooling")) return NULL;
  bsm_layer *layer = start1(net, BSM_LAYER_POOLING, input);
  if (!layer) return NULL;
  layer->p.pooling.window = params;
  layer->p.pooling.type = type;
  return finish_later(layer);
}

bsm_layer *bsm_network_add_adaptive_pooling_nd(bsm_network *net,
                                               bsm_itensor *input,
                                               bsm_pooling_type type,
                                               bsm_dims output_size) {
  bsm_window_params params = {0};
  bsm_dims ones = bsm_dims_fill(output_size.rank, 1);
  if (!fill_window(net, &params, ones, "adaptive pooling")) return NULL;
  bsm_layer *layer = start1(net, BSM_LAYER_POOLING, input);
  if (!layer) return NULL;
  layer->p.pooling.window = params;
  layer->p.pooling.type = type;
  layer->p.pooling.adaptive = true;
  for (int32_t i = 0; i < output_size.rank; i++) {
    layer->p.pooling.output_size[i] = output_size.d[i];
  }
  return finish(layer);
}

bsm_layer *bsm_network_add_scale(bsm_network *net, bsm_itensor *input,
                                 const bsm_weights *shift,
                                 const bsm_weights *scale,
                                 const bsm_weights *power) {
  bsm_layer *layer = start1(net, BSM_LAYER_SCALE, input);
  if (!layer) return NULL;
  copy_weights(&layer->p.scale.shift, shift);
  copy_weights(&layer->p.scale.scale, scale);
  copy_weights(&layer->p.scale.power, power);
  return finish(layer);
}

bsm_layer *bsm_network_add_softmax(bsm_network *net, bsm_itensor *input,
                                   int32_t axis, bool log) {
  bsm_layer *layer = start1(net, BSM_LAYER_SOFTMAX, input);
  if (!layer) return NULL;
  layer->p.softmax.axis = axis;
  layer->p.softmax.log = log;
  return finish(layer);
}

bsm_layer *bsm_network_add_concatenation(bsm_network *net,
                                         bsm_itensor *const *inputs,
                                         size_t count, int32_t axis) {
  bsm_layer *layer = start(net, BSM_LAYER_CONCATENATION, inputs, count, 1);
  if (!layer) return NULL;
  layer->p.concatenation.axis = axis;
  return finish(layer);
}

bsm_layer *bsm_network_add_element_wise(bsm_network *net, bsm_itensor *a,
                                        bsm_itensor *b,
                                        bsm_element_wise_operation operation) {
  bsm_itensor *inputs[] = {a, b};
  bsm_layer *layer = start(net, BSM_LAYER_ELEMENT_WISE, inputs, 2, 1);
  if (!layer) return NULL;
  layer->p.element_wise.operation = operation;
  return finish(layer);
}

bsm_layer *bsm_network_add_unary(bsm_network *net, bsm_itensor *input,
                                 bsm_unary_operation operation) {
  bsm_layer *layer = start1(net, BSM_LAYER_UNARY, input);
  if (!layer) return NULL;
  layer->p.unary.operation = operation;
  return finish(layer);
}

bsm_layer *bsm_network_add_shuffle(bsm_network *net, bsm_itensor *input) {
  bsm_layer *layer = start1(net, BSM_LAYER_SHUFFLE, input);
  return layer ? finish(layer) : NULL;
}

bsm_layer *bsm_network_add_reduce(bsm_network *net, bsm_itensor *input,
                                  bsm_reduce_operation operation, uint32_t axes,
                                  bool keep_dims) {
  bsm_layer *layer = start1(net, BSM_LAYER_REDUCE, input);
  if (!layer) return NULL;
  layer->p.reduce.operation = operation;
  layer->p.reduce.axes = axes;
  layer->p.reduce.keep_dims = keep_dims;
  return finish(layer);
}

bsm_layer *bsm_network_add_top_k(bsm_network *net, bsm_itensor *input,
                                 bool largest, int64_t k, int32_t axis) {
  bsm_layer *layer = start(net, BSM_LAYER_TOP_K, &input, 1, 2);
  if (!layer) return NULL;
  layer->p.top_k.largest = largest;
  layer->p.top_k.k = k;
  layer->p.top_k.axis = axis;
  return finish(layer);
}

bsm_layer *bsm_network_add_scan(bsm_network *net, bsm_itensor *input,
                                bsm_scan_operation operation, int32_t axis) {
  const bool has_indices =
      operation == BSM_SCAN_MAX || operation == BSM_SCAN_MIN;
  bsm_layer *layer = start(net, BSM_LAYER_SCAN, &input, 1, has_indices ? 2 : 1);
  if (!layer) return NULL;
  layer->p.scan.operation = operation;
  layer->p.scan.axis = axis;
  return finish(layer);
}

bsm_layer *bsm_network_add_non_zero(bsm_network *net, bsm_itensor *input) {
  bsm_layer *layer = start1(net, BSM_LAYER_NON_ZERO, input);
  return layer ? finish(layer) : NULL;
}

bsm_layer *bsm_network_add_nms(bsm_network *net, bsm_itensor *boxes,
                               double threshold) {
  bsm_layer *layer = start1(net, BSM_LAYER_NMS, boxes);
  if (!layer) return NULL;
  layer->p.nms.threshold = threshold;
  return finish(layer);
}

bsm_layer *bsm_network_add_regions(bsm_network *net, bsm_itensor *image,
                                   bsm_itensor *regions,
                                   const bsm_region_pooling *pooling) {
  bsm_itensor *inputs[] = {image, regions};
  const size_t outputs = pooling->whole && !pooling->grouped ? 2 : 1;
  bsm_layer *layer = start(net, BSM_LAYER_REGIONS, inputs, 2, outputs);
  if (!layer) return NULL;
  layer->p.regions = *pooling;
  return finish(layer);
}

bsm_layer *bsm_network_add_sample(bsm_network *net, bsm_itensor *image,
                                  bsm_itensor *grid, bsm_resize_mode mode,
                                  bsm_sample_padding padding,
                                  bool align_corners) {
  bsm_itensor *inputs[] = {image, grid};
  bsm_layer *layer = start(net, BSM_LAYER_SAMPLE, inputs, 2, 1);
  if (!layer) return NULL;
  layer->p.sample.mode = mode;
  layer->p.sample.padding = padding;
  layer->p.sample.align_corners = align_corners;
  return finish(layer);
}

bsm_layer *bsm_network_add_gather(bsm_network *net, bsm_itensor *data,
                                  bsm_itensor *indices, bsm_gather_mode mode,
                                  int32_t axis) {
  bsm_itensor *inputs[] = {data, indices};
  bsm_layer *layer = start(net, BSM_LAYER_GATHER, inputs, 2, 1);
  if (!layer) return NULL;
  layer->p.gather.mode = mode;
  layer->p.gather.axis = axis;
  return finish(layer);
}

bsm_layer *bsm_network_add_scatter(bsm_network *net, bsm_itensor *data,
                                   bsm_itensor *indices, bsm_itensor *updates,
                                   bsm_scatter_mode mode, int32_t axis) {
  bsm_itensor *inputs[] = {data, indices, updates};
  bsm_layer *layer = start(net, BSM_LAYER_SCATTER, inputs, 3, 1);
  if (!layer) return NULL;
  layer->p.scatter.mode = mode;
  layer->p.scatter.axis = axis;
  layer->p.scatter.include_self = true;
  return finish(layer);
}

bsm_layer *bsm_network_add_matrix_multiply(bsm_network *net, bsm_itensor *a,
                                           bsm_matrix_operation op_a,
                                           bsm_itensor *b,
                                           bsm_matrix_operation op_b) {
  bsm_itensor *inputs[] = {a, b};
  bsm_layer *layer = start(net, BSM_LAYER_MATRIX_MULTIPLY, inputs, 2, 1);
  if (!layer) return NULL;
  layer->p.matrix_multiply.op_a = op_a;
  layer->p.matrix_multiply.op_b = op_b;
  layer->p.matrix_multiply.scale = 1;
  return finish(layer);
}

bsm_layer *bsm_network_add_constant(bsm_network *net, bsm_dims dims,
                                    const bsm_weights *weights) {
  bsm_layer *layer = start(net, BSM_LAYER_CONSTANT, NULL, 0, 1);
  if (!layer) return NULL;
  if (weights) layer->p.constant.weights = *weights;
  layer->p.constant.weights.shape = dims;
  return finish(layer);
}

bsm_layer *bsm_network_add_identity(bsm_network *net, bsm_itensor *input) {
  bsm_layer *layer = start1(net, BSM_LAYER_IDENTITY, input);
  return layer ? finish(layer) : NULL;
}

bsm_layer *bsm_network_add_slice(bsm_network *net, bsm_itensor *input,
                                 bsm_dims start_at, bsm_dims size,
                                 bsm_dims stride) {
  bsm_layer *layer = start1(net, BSM_LAYER_SLICE, input);
  if (!layer) return NULL;
  layer->p.slice.start = start_at;
  layer->p.slice.size = size;
  layer->p.slice.stride = stride;
  return finish_later(layer);
}

bsm_layer *bsm_network_add_shape(bsm_network *net, bsm_itensor *input) {
  bsm_layer *layer = start1(net, BSM_LAYER_SHAPE, input);
  return layer ? finish(layer) : NULL;
}

bsm_layer *bsm_network_add_parametric_relu(bsm_network *net, bsm_itensor *input,
                                           bsm_itensor *slope) {
  bsm_itensor *inputs[] = {input, slope};
  bsm_layer *layer = start(net, BSM_LAYER_PARAMETRIC_RELU, inputs, 2, 1);
  return layer ? finish(layer) : NULL;
}

bsm_layer *bsm_network_add_resize(bsm_network *net, bsm_itensor *input,
                                  bsm_resize_mode mode, bsm_dims output_size) {
  bsm_layer *layer = start1(net, BSM_LAYER_RESIZE, input);
  if (!layer) return NULL;
  layer->p.resize.mode = mode;
  layer->p.resize.output_size = output_size;
  return finish(layer);
}

bsm_layer *bsm_network_add_select(bsm_network *net, bsm_itensor *condition,
                                  bsm_itensor *then_input,
                                  bsm_itensor *else_input) {
  bsm_itensor *inputs[] = {condition, then_input, else_input};
  bsm_layer *layer = start(net, BSM_LAYER_SELECT, inputs, 3, 1);
  return layer ? finish(layer) : NULL;
}

bsm_layer *bsm_network_add_fill(bsm_network *net, bsm_dtype dtype,
                                bsm_dims dims, double value) {
  bsm_layer *layer = start(net, BSM_LAYER_FILL, NULL, 0, 1);
  if (!layer) return NULL;
  layer->p.fill.dtype = dtype;
  layer->p.fill.dims = dims;
  /* All that is not 0 is true; devices would cut 0.1 to an integer first. */
  layer->p.fill.value = dtype == BSM_DTYPE_BOOL ? value != 0 : value;
  return finish(layer);
}

bsm_layer *bsm_network_add_cast(bsm_network *net, bsm_itensor *input,
                                bsm_dtype dtype) {
  bsm_layer *layer = start1(net, BSM_LAYER_CAST, input);
  if (!layer) return NULL;
  layer->p.cast.dtype = dtype;
  return finish(layer);
}

bsm_layer *bsm_network_add_normalization(bsm_network *net, bsm_itensor *input,
                                         bsm_itensor *scale, bsm_itensor *bias,
                                         uint32_t axes) {
  bsm_itensor *inputs[3] = {input};
  size_t count = 1;
  if (scale) inputs[count++] = scale;
  if (bias) inputs[count++] = bias;
  bsm_layer *layer = start(net, BSM_LAYER_NORMALIZATION, inputs, count, 1);
  if (!layer) return NULL;
  layer->p.normalization.axes = axes;
  layer->p.normalization.epsilon = 1e-5;
  layer->p.normalization.groups = 1;
  layer->p.normalization.has_scale = scale != NULL;
  layer->p.normalization.has_bias = bias != NULL;
  return finish(layer);
}

bsm_layer *bsm_network_add_expand(bsm_network *net, bsm_itensor *input,
                                  bsm_dims dims) {
  bsm_layer *layer = start1(net, BSM_LAYER_EXPAND, input);
  if (!layer) return NULL;
  layer->p.expand.dims = dims;
  return finish(layer);
}

bsm_layer *bsm_network_add_quantize(bsm_network *net, bsm_itensor *input,
                                    bsm_itensor *scale, bsm_itensor *zero_point,
                                    int32_t axis, bsm_dtype dtype) {
  bsm_itensor *inputs[] = {input, scale, zero_point};
  bsm_layer *layer =
      start(net, BSM_LAYER_QUANTIZE, inputs, zero_point ? 3u : 2u, 1);
  if (!layer) return NULL;
  layer->p.quantize.axis = axis;
  layer->p.quantize.dtype = dtype;
  if (!bsm_quantize_range(dtype, &layer->p.quantize.least,
                          &layer->p.quantize.greatest)) {
    layer->p.quantize.least = -INFINITY;
    layer->p.quantize.greatest = INFINITY;
  }
  return finish(layer);
}

bsm_layer *bsm_network_add_dequantize(bsm_network *net, bsm_itensor *input,
                                      bsm_itensor *scale,
                                      bsm_itensor *zero_point, int32_t axis,
                                      bsm_dtype dtype) {
  bsm_itensor *inputs[] = {input, scale, zero_point};
  bsm_layer *layer =
      start(net, BSM_LAYER_DEQUANTIZE, inputs, zero_point ? 3u : 2u, 1);
  if (!layer) return NULL;
  layer->p.dequantize.axis = axis;
  layer->p.dequantize.dtype = dtype;
  return finish(layer);
}

bsm_layer *bsm_network_add_recurrent(bsm_network *net, bsm_itensor *input,
                                     bsm_itensor *hidden, bsm_itensor *cell,
                                     bsm_recurrent_operation operation,
                                     const bsm_recurrent_weights *weights,
                                     size_t directions) {
  const bool lstm = operation == BSM_RECURRENT_LSTM;
  bsm_itensor *inputs[] = {input, hidden, cell};
  if (!weights || directions < 1 || directions > 2 || (cell && !lstm)) {
    bsm_network_fail(
        net,
        BSM_FAIL(BSM_INVALID_ARGUMENT, "a recurrent layer of %zu directions%s",
                 directions, cell && !lstm ? " with a cell state" : ""));
    return NULL;
  }
  bsm_recurrent_weights *copy =
      BSM_NEW_ARRAY(net->arena, bsm_recurrent_weights, directions);
  if (!copy) {
    bsm_network_fail(net, BSM_FAIL_OOM());
    return NULL;
  }
  for (size_t i = 0; i < directions; i++) copy[i] = weights[i];
  bsm_layer *layer =
      start(net, BSM_LAYER_RECURRENT, inputs, lstm ? 3u : 2u, lstm ? 3u : 2u);
  if (!layer) return NULL;
  layer->p.recurrent.operation = operation;
  layer->p.recurrent.directions = (int32_t)directions;
  layer->p.recurrent.weights = copy;
  return finish(layer);
}
