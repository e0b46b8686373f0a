/* SPDX-License-Identifier: Apache-2.0 */
/* The text dump of a network, one layer a line:
 *
 *   input %x: float32[1, 3, 8, 8]
 *   %y: float32[1, 4, 8, 8] = convolution(%x) kernel=[3, 3] ...
 *   output output_0: %y
 *
 * Parameters at their default are left out. */
#include "network/network_internal.h"

static void put_dims(bsm_text *text, const char *key, bsm_dims dims) {
  bsm_text_printf(text, " %s=%s", key, bsm_dims_str(dims));
}

static void put_spatial(bsm_text *text, const char *key, const int64_t *values,
                        int32_t count, int64_t usual) {
  bsm_dims dims = {0};
  bool unusual = false;
  dims.rank = count;
  for (int32_t i = 0; i < count; i++) {
    dims.d[i] = values[i];
    unusual |= values[i] != usual;
  }
  if (unusual) put_dims(text, key, dims);
}

static void put_double(bsm_text *text, const char *key, double value) {
  bsm_text_printf(text, " %s=", key);
  bsm_text_double(text, value);
}

static void put_flag(bsm_text *text, const char *key, bool value) {
  if (value) bsm_text_printf(text, " %s", key);
}

/* Weights of few values are printed, so that golden tests show folded numbers.
 */
/* Prints the changes to weights that are still to be made. */
static void put_deferred(bsm_text *text, const bsm_deferred *deferred) {
  if (deferred->cast) {
    bsm_text_printf(text, " held=%s", bsm_dtype_name(deferred->held));
  }
  if (deferred->factor) bsm_text_puts(text, " times=factor");
}

static void put_weights(bsm_text *text, const char *key, const bsm_weights *w,
                        const bsm_deferred *deferred) {
  if (w->count == 0 && w->shape.rank == 0) return;
  bsm_text_printf(text, " %s=%s%s", key, bsm_dtype_name(w->dtype),
                  bsm_dims_str(w->shape));
  if (deferred && (deferred->cast || deferred->factor)) {
    put_deferred(text, deferred);
    return;
  }
  if (w->count > 4 || w->count < 1) return;
  bsm_text_puts(text, "{");
  for (int64_t i = 0; i < w->count; i++) {
    bsm_text_puts(text, i ? ", " : "");
    switch (w->dtype) {
      case BSM_DTYPE_FLOAT:
        bsm_text_printf(text, "%.7g", (double)((const float *)w->values)[i]);
        break;
      case BSM_DTYPE_DOUBLE:
        bsm_text_double(text, ((const double *)w->values)[i]);
        break;
      case BSM_DTYPE_INT64:
        bsm_text_printf(text, "%lld",
                        (long long)((const int64_t *)w->values)[i]);
        break;
      case BSM_DTYPE_INT32:
        bsm_text_printf(text, "%d", (int)((const int32_t *)w->values)[i]);
        break;
      case BSM_DTYPE_BOOL:
        bsm_text_puts(text, ((const uint8_t *)w->values)[i] ? "true" : "false");
        break;
      default:
        bsm_text_puts(text, "..");
    }
  }
  bsm_text_puts(text, "}");
}

static void put_window(bsm_text *text, const bsm_window_params *w,
                       bool with_kernel) {
  if (with_kernel) put_spatial(text, "kernel", w->kernel, w->spatial, 0);
  put_spatial(text, "stride", w->stride, w->spatial, 1);
  bool equal = true;
  for (int32_t i = 0; i < w->spatial; i++) {
    equal &= w->pre_padding[i] == w->post_padding[i];
  }
  put_spatial(text, equal ? "padding" : "pre_padding", w->pre_padding,
              w->spatial, 0);
  if (!equal) {
    put_spatial(text, "post_padding", w->post_padding, w->spatial, 0);
  }
  put_spatial(text, "dilation", w->dilation, w->spatial, 1);
  put_spatial(text, "output_padding", w->output_padding, w->spatial, 0);
}

static void put_activation(bsm_text *text, bsm_activation_type type,
                           double alpha, double beta) {
  bsm_text_printf(text, " %s", bsm_activation_name(type));
  switch (type) {
    case BSM_ACTIVATION_LEAKY_RELU:
    case BSM_ACTIVATION_ELU:
    case BSM_ACTIVATION_THRESHOLDED_RELU:
      put_double(text, "alpha", alpha);
      break;
    case BSM_ACTIVATION_SELU:
    case BSM_ACTIVATION_SOFTPLUS:
    case BSM_ACTIVATION_CLIP:
    case BSM_ACTIVATION_HARD_SIGMOID:
    case BSM_ACTIVATION_THRESHOLD:
      put_double(text, "alpha", alpha);
      put_double(text, "beta", beta);
      break;
    default:
      break;
  }
}

static void put_epilogue(bsm_text *text, const bsm_epilogue *e) {
  put_flag(text, "residual", e->has_residual);
  if (e->activation != BSM_ACTIVATION_NONE) {
    bsm_text_puts(text, " then");
    put_activation(text, e->activation, e->alpha, e->beta);
  }
}

static void put_pooling(bsm_text *text, const bsm_pooling_params *p) {
  bsm_text_puts(text, p->type == BSM_POOLING_MAX ? " max" : " average");
  put_window(text, &p->window, !p->adaptive);
  if (p->adaptive) {
    put_spatial(text, "output_size", p->output_size, p->window.spatial, -1);
  }
  put_flag(text, "ceil_mode", p->ceil_mode);
  put_flag(text, "count_excludes_padding", p->count_excludes_padding);
  if (p->divisor_override) {
    bsm_text_printf(text, " divisor=%lld", (long long)p->divisor_override);
  }
}

static void put_slice(bsm_text *text, const bsm_layer *layer) {
  bsm_dims stride = layer->p.slice.stride;
  put_dims(text, "start", layer->p.slice.start);
  put_dims(text, "size", layer->p.slice.size);
  put_spatial(text, "stride", stride.d, stride.rank, 1);
  if (!layer->p.slice.has_mode) return;
  bsm_text_printf(text, " %s", bsm_padding_mode_name(layer->p.slice.mode));
  if (layer->p.slice.mode == BSM_PADDING_CONSTANT) {
    put_double(text, "value", layer->p.slice.fill_value);
  }
}

static void put_program(bsm_text *text, const bsm_layer *layer) {
  bsm_text_puts(text, " {");
  for (size_t i = 0; i < layer->p.fused_element_wise.program.len; i++) {
    const bsm_ew_instruction *in =
        &layer->p.fused_element_wise.program.items[i];
    bsm_text_printf(text, "%sr%d = ", i ? "; " : "", (int)in->dst);
    switch ((bsm_ew_opcode_kind)in->kind) {
      case BSM_EW_UNARY:
        bsm_text_printf(text, "%s(r%d)",
                        bsm_unary_name((bsm_unary_operation)in->code),
                        (int)in->a);
        break;
      case BSM_EW_BINARY:
        bsm_text_printf(
            text, "%s(r%d, r%d)",
            bsm_element_wise_name((bsm_element_wise_operation)in->code),
            (int)in->a, (int)in->b);
        break;
      case BSM_EW_ACTIVATION:
        bsm_text_printf(text, "(r%d)", (int)in->a);
        put_activation(text, (bsm_activation_type)in->code, in->alpha,
                       in->beta);
        break;
      case BSM_EW_CONSTANT:
        bsm_text_double(text, in->alpha);
        break;
      case BSM_EW_SELECT:
        bsm_text_printf(text, "r%d ? r%d : r%d", (int)in->a, (int)in->b,
                        (int)in->c);
        break;
      case BSM_EW_CAST:
        bsm_text_printf(text, "%s(r%d)", bsm_dtype_name((bsm_dtype)in->code),
                        (int)in->a);
        break;
    }
  }
  bsm_text_printf(text, "} -> r%d", (int)layer->p.fused_element_wise.result);
}

static void put_normalization(bsm_text *text, const bsm_layer *layer) {
  bsm_text_printf(text, "%s axes=0x%x",
                  layer->p.normalization.rms ? " rms" : "",
                  (unsigned)layer->p.normalization.axes);
  if (layer->p.normalization.groups != 1) {
    bsm_text_printf(text, " groups=%lld",
                    (long long)layer->p.normalization.groups);
  }
  put_double(text, "epsilon", layer->p.normalization.epsilon);
}

static void put_attention(bsm_text *text, const bsm_layer *layer) {
  put_double(text, "scale", layer->p.attention.scale);
  if (layer->p.attention.biases) {
    bsm_text_printf(text, " biases=%d", (int)layer->p.attention.biases);
  }
  if (layer->p.attention.has_mask) {
    bsm_text_puts(text, layer->p.attention.hides ? " hide" : " keep");
    put_double(text, "fill", layer->p.attention.fill);
  }
  if (layer->p.attention.causal) {
    bsm_text_printf(text, " diagonal=%lld",
                    (long long)layer->p.attention.diagonal);
  }
  if (layer->p.attention.split) {
    bsm_text_printf(text, " split=%lld", (long long)layer->p.attention.split);
  }
  put_flag(text, "clears_hidden", layer->p.attention.clears_hidden);
}

static void put_matrix_multiply(bsm_text *text, const bsm_layer *layer) {
  put_flag(text, "transpose_a",
           layer->p.matrix_multiply.op_a == BSM_MATRIX_TRANSPOSE);
  put_flag(text, "transpose_b",
           layer->p.matrix_multiply.op_b == BSM_MATRIX_TRANSPOSE);
  if (layer->p.matrix_multiply.scale < 1 ||
      layer->p.matrix_multiply.scale > 1) {
    put_double(text, "scale", layer->p.matrix_multiply.scale);
  }
  if (layer->p.matrix_multiply.factor) bsm_text_puts(text, " times=factor");
  put_weights(text, "bias", &layer->p.matrix_multiply.bias, NULL);
  put_epilogue(text, &layer->p.matrix_multiply.epilogue);
}

static void put_resize(bsm_text *text, const bsm_layer *layer) {
  bsm_text_printf(text, " %s", bsm_resize_name(layer->p.resize.mode));
  put_flag(text, "align_corners", layer->p.resize.align_corners);
  for (int32_t i = 0; i < layer->p.resize.output_size.rank; i++) {
    if (layer->p.resize.scales[i] > 0) {
      put_double(text, "scale", layer->p.resize.scales[i]);
    }
  }
}

static void put_values(bsm_text *text, const bsm_layer *layer,
                       const bsm_ivalue *values, size_t count, int depth);

static void put_value(bsm_text *text, const bsm_layer *layer,
                      const bsm_ivalue *v, int depth) {
  switch (v->tag) {
    case BSM_IVALUE_TENSOR:
      for (size_t i = 0; i < layer->inputs.len; i++) {
        if (layer->p.aten_call.tensors[i] != v->u.tensor) continue;
        bsm_text_printf(text, "%%%s", layer->inputs.items[i]->name);
        return;
      }
      bsm_text_puts(text, "?");
      return;
    case BSM_IVALUE_STRING:
      bsm_text_quoted(text, *v->u.s);
      return;
    case BSM_IVALUE_LIST:
      bsm_text_puts(text, "[");
      put_values(text, layer, v->u.list->items, v->u.list->len, depth);
      bsm_text_puts(text, "]");
      return;
    case BSM_IVALUE_TUPLE:
      bsm_text_puts(text, "(");
      put_values(text, layer, v->u.tuple->items, v->u.tuple->len, depth);
      bsm_text_puts(text, ")");
      return;
    default:
      bsm_iv_print(text, v);
  }
}

/* `depth` bounds the recursion. */
static void put_values(bsm_text *text, const bsm_layer *layer,
                       const bsm_ivalue *values, size_t count, int depth) {
  if (depth == 0) {
    bsm_text_puts(text, "..");
    return;
  }
  for (size_t i = 0; i < count; i++) {
    bsm_text_puts(text, i ? ", " : "");
    put_value(text, layer, &values[i], depth - 1);
  }
}

static void put_call(bsm_text *text, const bsm_layer *layer) {
  bsm_text_printf(text, " %s(", layer->p.aten_call.op);
  put_values(text, layer, layer->p.aten_call.args, layer->p.aten_call.arg_count,
             20);
  bsm_text_puts(text, ")");
}

static void put_recurrent(bsm_text *text, const bsm_layer *layer) {
  bsm_text_printf(text, " %s",
                  bsm_recurrent_name(layer->p.recurrent.operation));
  put_weights(text, "lengths", &layer->p.recurrent.lengths, NULL);
  for (int32_t d = 0; d < layer->p.recurrent.directions; d++) {
    const bsm_recurrent_weights *w = &layer->p.recurrent.weights[d];
    put_weights(text, d ? "input_back" : "input", &w->input, NULL);
    put_weights(text, d ? "recurrent_back" : "recurrent", &w->recurrent, NULL);
    put_flag(text, d ? "bias_back" : "bias",
             w->input_bias.count || w->recurrent_bias.count);
    put_weights(text, d ? "projection_back" : "projection", &w->projection,
                NULL);
  }
}

static void put_quantize(bsm_text *text, const bsm_layer *layer) {
  static const char *const nans[] = {"", " nan=least", " nan,huge=least"};
  double least, greatest;
  if (layer->p.quantize.axis >= 0) {
    bsm_text_printf(text, " axis=%d", (int)layer->p.quantize.axis);
  }
  if (!bsm_quantize_range(layer->p.quantize.dtype, &least, &greatest) ||
      least < layer->p.quantize.least ||
      greatest > layer->p.quantize.greatest) {
    put_double(text, "least", layer->p.quantize.least);
    put_double(text, "greatest", layer->p.quantize.greatest);
  }
  put_flag(text, "rounds_last", layer->p.quantize.rounds_last);
  bsm_text_puts(text, nans[layer->p.quantize.nan]);
}

static void put_int8_convolution(bsm_text *text, const bsm_layer *layer) {
  const bsm_window_params *w = &layer->p.int8_convolution.window;
  bsm_text_printf(text, " maps=%lld groups=%lld",
                  (long long)layer->p.int8_convolution.out_maps,
                  (long long)layer->p.int8_convolution.groups);
  for (int32_t i = 0; i < w->spatial; i++) {
    bsm_text_printf(text, "%s%lld",
                    i ? "x" : " kernel=", (long long)w->kernel[i]);
  }
  bsm_text_printf(text, " zero=%d", (int)layer->p.int8_convolution.x_zero);
  put_flag(text, "residual", layer->p.int8_convolution.epilogue.has_residual);
  if (layer->p.int8_convolution.quantizes) {
    bsm_text_printf(text, " y_zero=%d range=%d..%d",
                    (int)layer->p.int8_convolution.y_zero,
                    (int)layer->p.int8_convolution.least,
                    (int)layer->p.int8_convolution.greatest);
    put_double(text, "y_inverse", layer->p.int8_convolution.y_inverse);
  }
}

static void put_params(bsm_text *text, const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
      put_window(text, &layer->p.convolution.window, true);
      if (layer->p.convolution.groups != 1) {
        bsm_text_printf(text, " groups=%lld",
                        (long long)layer->p.convolution.groups);
      }
      put_weights(text, "weights", &layer->p.convolution.kernel,
                  &layer->p.convolution.deferred);
      put_weights(text, "bias", &layer->p.convolution.bias, NULL);
      put_flag(text, "scale", layer->p.convolution.has_scale);
      put_epilogue(text, &layer->p.convolution.epilogue);
      put_flag(text, "joins_next", layer->p.convolution.joins_next);
      break;
    case BSM_LAYER_ACTIVATION:
      put_activation(text, layer->p.activation.type, layer->p.activation.alpha,
                     layer->p.activation.beta);
      break;
    case BSM_LAYER_POOLING:
      put_pooling(text, &layer->p.pooling);
      break;
    case BSM_LAYER_SCALE:
      put_weights(text, "scale", &layer->p.scale.scale, NULL);
      put_weights(text, "shift", &layer->p.scale.shift, NULL);
      put_weights(text, "power", &layer->p.scale.power, NULL);
      break;
    case BSM_LAYER_SOFTMAX:
      bsm_text_printf(text, "%s axis=%d", layer->p.softmax.log ? " log" : "",
                      (int)layer->p.softmax.axis);
      break;
    case BSM_LAYER_CONCATENATION:
      bsm_text_printf(text, " axis=%d", (int)layer->p.concatenation.axis);
      break;
    case BSM_LAYER_ELEMENT_WISE:
      bsm_text_printf(text, " %s",
                      bsm_element_wise_name(layer->p.element_wise.operation));
      break;
    case BSM_LAYER_UNARY:
      bsm_text_printf(text, " %s", bsm_unary_name(layer->p.unary.operation));
      break;
    case BSM_LAYER_SHUFFLE:
      if (layer->p.shuffle.has_first) {
        put_dims(text, "transpose", layer->p.shuffle.first_transpose);
      }
      if (layer->p.shuffle.has_reshape) {
        put_dims(text, "reshape", layer->p.shuffle.reshape);
      }
      if (layer->p.shuffle.has_second) {
        put_dims(text, "then_transpose", layer->p.shuffle.second_transpose);
      }
      break;
    case BSM_LAYER_REDUCE:
      bsm_text_printf(text, " %s axes=0x%x",
                      bsm_reduce_name(layer->p.reduce.operation),
                      (unsigned)layer->p.reduce.axes);
      put_flag(text, "keep_dims", layer->p.reduce.keep_dims);
      if (layer->p.reduce.operation == BSM_REDUCE_VARIANCE) {
        put_double(text, "correction", layer->p.reduce.correction);
      }
      break;
    case BSM_LAYER_TOP_K:
      bsm_text_printf(text, " %s k=%lld axis=%d",
                      layer->p.top_k.largest ? "largest" : "smallest",
                      (long long)layer->p.top_k.k, (int)layer->p.top_k.axis);
      break;
    case BSM_LAYER_SCAN:
      bsm_text_printf(text, " %s axis=%d",
                      bsm_scan_name(layer->p.scan.operation),
                      (int)layer->p.scan.axis);
      break;
    case BSM_LAYER_NMS:
      put_double(text, "threshold", layer->p.nms.threshold);
      break;
    case BSM_LAYER_REGIONS:
      bsm_text_printf(text, " %lldx%lld samples=%lld",
                      (long long)layer->p.regions.rows,
                      (long long)layer->p.regions.columns,
                      (long long)layer->p.regions.samples);
      put_double(text, "scale", layer->p.regions.scale);
      put_flag(text, "whole", layer->p.regions.whole);
      put_flag(text, "grouped", layer->p.regions.grouped);
      put_flag(text, "aligned", layer->p.regions.aligned);
      break;
    case BSM_LAYER_SAMPLE:
      bsm_text_printf(text, " %s padding=%s",
                      bsm_resize_name(layer->p.sample.mode),
                      bsm_sample_padding_name(layer->p.sample.padding));
      put_flag(text, "align_corners", layer->p.sample.align_corners);
      break;
    case BSM_LAYER_GATHER:
      bsm_text_printf(text, " %s axis=%d",
                      bsm_gather_name(layer->p.gather.mode),
                      (int)layer->p.gather.axis);
      break;
    case BSM_LAYER_SCATTER:
      bsm_text_printf(
          text, " %s %s axis=%d",
          layer->p.scatter.mode == BSM_SCATTER_ND ? "nd" : "element",
          bsm_scatter_name(layer->p.scatter.reduction),
          (int)layer->p.scatter.axis);
      put_flag(text, "fresh", !layer->p.scatter.include_self);
      put_flag(text, "wrap", layer->p.scatter.wrap);
      break;
    case BSM_LAYER_MATRIX_MULTIPLY:
      put_matrix_multiply(text, layer);
      break;
    case BSM_LAYER_PLUGIN:
      bsm_text_printf(
          text, " %s version=%u params=%zu", layer->p.plugin.plugin->name,
          (unsigned)layer->p.plugin.plugin->version, layer->p.plugin.size);
      break;
    case BSM_LAYER_CONSTANT:
      put_weights(text, "value", &layer->p.constant.weights,
                  &layer->p.constant.deferred);
      break;
    case BSM_LAYER_SLICE:
      put_slice(text, layer);
      break;
    case BSM_LAYER_RESIZE:
      put_resize(text, layer);
      break;
    case BSM_LAYER_FILL:
      put_double(text, "value", layer->p.fill.value);
      break;
    case BSM_LAYER_NORMALIZATION:
      put_normalization(text, layer);
      break;
    case BSM_LAYER_ATTENTION:
      put_attention(text, layer);
      break;
    case BSM_LAYER_FUSED_ELEMENT_WISE:
      put_program(text, layer);
      break;
    case BSM_LAYER_ATEN_CALL:
      put_call(text, layer);
      break;
    case BSM_LAYER_RECURRENT:
      put_recurrent(text, layer);
      break;
    case BSM_LAYER_QUANTIZE:
      put_quantize(text, layer);
      break;
    case BSM_LAYER_DEQUANTIZE:
      if (layer->p.dequantize.axis >= 0) {
        bsm_text_printf(text, " axis=%d", (int)layer->p.dequantize.axis);
      }
      break;
    case BSM_LAYER_INT8_CONVOLUTION:
      put_int8_convolution(text, layer);
      break;
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_NON_ZERO:
    case BSM_LAYER_SHAPE:
    case BSM_LAYER_PARAMETRIC_RELU:
    case BSM_LAYER_SELECT:
    case BSM_LAYER_CAST:
    case BSM_LAYER_EXPAND:
      break;
  }
}

static void put_tensor(bsm_text *text, const bsm_itensor *t) {
  bsm_text_printf(text, "%%%s: %s%s", t->name, bsm_dtype_name(t->dtype),
                  bsm_dims_str(t->dims));
}

static void put_layer(bsm_text *text, const bsm_layer *layer) {
  for (size_t i = 0; i < layer->outputs.len; i++) {
    bsm_text_puts(text, i ? ", " : "");
    put_tensor(text, layer->outputs.items[i]);
  }
  bsm_text_printf(text, " = %s(", bsm_layer_kind_name(layer->kind));
  for (size_t i = 0; i < layer->inputs.len; i++) {
    bsm_text_printf(text, "%s%%%s", i ? ", " : "",
                    layer->inputs.items[i]->name);
  }
  bsm_text_puts(text, ")");
  put_params(text, layer);
  if (layer->stale) bsm_text_puts(text, " (stale)");
  bsm_text_puts(text, "\n");
}

void bsm_network_print(bsm_text *text, const bsm_network *net) {
  for (size_t i = 0; i < net->inputs.len; i++) {
    bsm_text_puts(text, "input ");
    put_tensor(text, net->inputs.items[i]);
    bsm_text_puts(text, "\n");
  }
  for (size_t i = 0; i < net->layers.len; i++) {
    if (!net->layers.items[i]->removed) {
      put_layer(text, net->layers.items[i]);
    }
  }
  for (size_t i = 0; i < net->outputs.len; i++) {
    bsm_text_printf(text, "output %s: %%%s\n", net->output_names.items[i],
                    net->outputs.items[i]->name);
  }
}
