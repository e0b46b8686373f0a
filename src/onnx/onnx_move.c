/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that move elements, and quantization. */
#include <string.h>

#include "onnx/onnx_emitter.h"

static const char *transpose(bsm_onnx_emitter *e, const char *x,
                             bsm_dims order) {
  const bsm_onnx_attribute perm =
      bsm_onnx_list("perm", order.d, (size_t)order.rank);
  return bsm_onnx_op(e, "Transpose", &x, 1, &perm, 1);
}

/* With sizes of zero as they are, not as placeholders. */
static const char *reshape(bsm_onnx_emitter *e, const char *x, bsm_dims dims) {
  const char *const inputs[] = {x, bsm_onnx_dims(e, dims)};
  const bsm_onnx_attribute zeros = bsm_onnx_int("allowzero", 1);
  bool any = false;
  for (int32_t i = 0; i < dims.rank; i++) any = any || dims.d[i] == 0;
  return bsm_onnx_op(e, "Reshape", inputs, 2, &zeros, any);
}

void bsm_onnx_shuffle(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const bsm_dims out = l->outputs.items[0]->dims;
  const char *y = bsm_onnx_in(e, 0);
  if (l->p.shuffle.has_first) y = transpose(e, y, l->p.shuffle.first_transpose);
  if (l->p.shuffle.has_reshape) {
    /* The sizes before the second transpose, in which -1 is filled in. */
    bsm_dims dims = out;
    for (int32_t i = 0; l->p.shuffle.has_second && i < out.rank; i++) {
      dims.d[l->p.shuffle.second_transpose.d[i]] = out.d[i];
    }
    y = reshape(e, y, dims);
  }
  if (l->p.shuffle.has_second) {
    y = transpose(e, y, l->p.shuffle.second_transpose);
  }
  bsm_onnx_out(e, 0, y);
}

/* ---- slices and padding ---- */

static const char *plain_slice(bsm_onnx_emitter *e, const char *x) {
  const bsm_layer *l = e->layer;
  const bsm_dims start = l->p.slice.start, size = l->p.slice.size;
  const bsm_dims stride = l->p.slice.stride;
  bsm_dims end = start;
  int64_t axes[BSM_MAX_RANK];
  for (int32_t i = 0; i < start.rank; i++) {
    axes[i] = i;
    end.d[i] =
        start.d[i] + (size.d[i] - 1) * stride.d[i] + (stride.d[i] > 0 ? 1 : -1);
    /* Before the first element: a place that no counting from the end names. */
    if (end.d[i] < 0) end.d[i] = INT64_MIN + 1;
    if (size.d[i] == 0) end.d[i] = start.d[i];
  }
  const char *const inputs[] = {
      x, bsm_onnx_dims(e, start), bsm_onnx_dims(e, end),
      bsm_onnx_ints(e, axes, (size_t)start.rank), bsm_onnx_dims(e, stride)};
  return bsm_onnx_op(e, "Slice", inputs, 5, NULL, 0);
}

/* A window that leaves the input: cut where it begins inside, then padded. */
static const char *padded(bsm_onnx_emitter *e, const char *x) {
  static const char *const modes[] = {[BSM_PADDING_CONSTANT] = "constant",
                                      [BSM_PADDING_REFLECT] = "reflect",
                                      [BSM_PADDING_REPLICATE] = "edge"};
  const bsm_layer *l = e->layer;
  const bsm_dims in = l->inputs.items[0]->dims;
  const size_t rank = (size_t)in.rank;
  int64_t pads[2 * BSM_MAX_RANK] = {0};
  bsm_dims start = in, end = in;
  bool cuts = false;
  if (l->p.slice.mode == BSM_PADDING_CIRCULAR) {
    bsm_onnx_refuse(e, "circular padding");
    return NULL;
  }
  for (size_t i = 0; i < rank; i++) {
    const int64_t first = l->p.slice.start.d[i];
    const int64_t last = first + l->p.slice.size.d[i];
    if (l->p.slice.stride.d[i] != 1) {
      bsm_onnx_refuse(e, "padding with strides");
      return NULL;
    }
    start.d[i] = first > 0 ? first : 0;
    end.d[i] = last < in.d[i] ? last : in.d[i];
    cuts = cuts || start.d[i] > 0 || end.d[i] < in.d[i];
    pads[i] = first < 0 ? -first : 0;
    pads[rank + i] = last > in.d[i] ? last - in.d[i] : 0;
  }
  if (cuts && l->p.slice.mode == BSM_PADDING_REFLECT) {
    bsm_onnx_refuse(e, "reflecting what is cut off elsewhere");
    return NULL;
  }
  if (cuts) {
    x = bsm_onnx_op3(e, "Slice", x, bsm_onnx_dims(e, start),
                     bsm_onnx_dims(e, end));
  }
  const char *const inputs[] = {
      x, bsm_onnx_ints(e, pads, 2 * rank),
      bsm_onnx_scalar(e, l->inputs.items[0]->dtype, l->p.slice.fill_value)};
  const bsm_onnx_attribute mode =
      bsm_onnx_string("mode", modes[l->p.slice.mode]);
  return bsm_onnx_op(e, "Pad", inputs, 3, &mode, 1);
}

void bsm_onnx_slice(bsm_onnx_emitter *e) {
  const char *x = bsm_onnx_in(e, 0);
  bsm_onnx_out(e, 0,
               e->layer->p.slice.has_mode ? padded(e, x) : plain_slice(e, x));
}

/* ---- gather and scatter ---- */

void bsm_onnx_gather(bsm_onnx_emitter *e) {
  const bsm_gather_mode mode = e->layer->p.gather.mode;
  const char *const inputs[] = {bsm_onnx_in(e, 0), bsm_onnx_in(e, 1)};
  const bsm_onnx_attribute axis = bsm_onnx_int("axis", e->layer->p.gather.axis);
  if (mode == BSM_GATHER_ND && e->layer->p.gather.axis != 0) {
    bsm_onnx_refuse(e, "gathering by tuples of indices behind an axis");
    return;
  }
  bsm_onnx_out(e, 0,
               bsm_onnx_op(e,
                           mode == BSM_GATHER_ELEMENT ? "GatherElements"
                           : mode == BSM_GATHER_ND    ? "GatherND"
                                                      : "Gather",
                           inputs, 2, &axis, mode != BSM_GATHER_ND));
}

void bsm_onnx_scatter(bsm_onnx_emitter *e) {
  static const char *const reductions[] = {[BSM_SCATTER_ASSIGN] = "none",
                                           [BSM_SCATTER_ADD] = "add",
                                           [BSM_SCATTER_MUL] = "mul",
                                           [BSM_SCATTER_MIN] = "min",
                                           [BSM_SCATTER_MAX] = "max"};
  const bsm_layer *l = e->layer;
  const bool nd = l->p.scatter.mode == BSM_SCATTER_ND;
  const bool assigns = l->p.scatter.reduction == BSM_SCATTER_ASSIGN;
  if ((nd && l->p.scatter.axis != 0) ||
      (!assigns && (!l->p.scatter.include_self ||
                    l->inputs.items[0]->dtype == BSM_DTYPE_BOOL))) {
    bsm_onnx_refuse(e, "a scatter that ONNX does not have");
    return;
  }
  const char *const inputs[] = {bsm_onnx_in(e, 0), bsm_onnx_in(e, 1),
                                bsm_onnx_in(e, 2)};
  const bsm_onnx_attribute attributes[] = {
      bsm_onnx_string("reduction", reductions[l->p.scatter.reduction]),
      bsm_onnx_int("axis", l->p.scatter.axis)};
  bsm_onnx_out(e, 0,
               bsm_onnx_op(e, nd ? "ScatterND" : "ScatterElements", inputs, 3,
                           attributes, nd ? 1 : 2));
}

/* ---- quantization ---- */

/* One element of rank 1 becomes one of rank 0, when it is for the whole tensor.
 */
static const char *parameter(bsm_onnx_emitter *e, const char *x, int32_t axis) {
  return axis < 0 ? reshape(e, x, (bsm_dims){0}) : x;
}

void bsm_onnx_quantize(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const bool back = l->kind == BSM_LAYER_DEQUANTIZE;
  const bsm_dtype dtype =
      back ? l->inputs.items[0]->dtype : l->p.quantize.dtype;
  const int32_t axis = back ? l->p.dequantize.axis : l->p.quantize.axis;
  const double least = dtype == BSM_DTYPE_INT8 ? -128 : 0;
  const double greatest = least + 255;
  const bsm_dtype real =
      back ? l->p.dequantize.dtype : l->inputs.items[0]->dtype;
  const bool plain =
      back ||
      (l->p.quantize.least <= least && l->p.quantize.least >= least &&
       l->p.quantize.greatest <= greatest &&
       l->p.quantize.greatest >= greatest && !l->p.quantize.rounds_last);
  if ((dtype != BSM_DTYPE_INT8 && dtype != BSM_DTYPE_UINT8) || !plain ||
      real != BSM_DTYPE_FLOAT) {
    bsm_onnx_refuse(e, "quantizing to another range or dtype than ONNX's");
    return;
  }
  const char *inputs[3] = {bsm_onnx_in(e, 0),
                           parameter(e, bsm_onnx_in(e, 1), axis)};
  size_t count = 2;
  if (l->inputs.len > 2) {
    const char *zero = parameter(e, bsm_onnx_in(e, 2), axis);
    inputs[count++] = bsm_onnx_cast(e, zero, dtype);
  } else if (dtype == BSM_DTYPE_INT8) {
    /* Without a zero point, ONNX would take uint8. */
    const bsm_dims dims = l->inputs.items[1]->dims;
    const char *const shape = bsm_onnx_dims(e, axis < 0 ? (bsm_dims){0} : dims);
    inputs[count++] =
        bsm_onnx_op2(e, "Expand", bsm_onnx_scalar(e, BSM_DTYPE_INT8, 0), shape);
  }
  const bsm_onnx_attribute attribute =
      bsm_onnx_int("axis", axis < 0 ? 1 : axis);
  bsm_onnx_out(e, 0,
               bsm_onnx_op(e, back ? "DequantizeLinear" : "QuantizeLinear",
                           inputs, count, &attribute, 1));
}
