/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, normalization, reduce, top-k, gather, scatter. Tensors are
 * contiguous, except where a step is as fast with the input's own layout. */
#include "builder/emit_internal.h"

enum { MAX_OUTPUTS = 2 };

/* Emits a step with a contiguous tensor for each output of the layer. */
static bsm_status emit_simple(bsm_emitter *e, const bsm_layer *layer,
                              bsm_step_kind kind, const uint32_t *inputs,
                              uint32_t input_count, const void *params) {
  uint32_t outputs[MAX_OUTPUTS];
  const uint32_t count = (uint32_t)layer->outputs.len;
  for (uint32_t i = 0; i < count && i < MAX_OUTPUTS; i++) {
    const bsm_itensor *y = layer->outputs.items[i];
    BSM_TRY(bsm_build_new(e, y->name, y->dtype, bsm_layout_contiguous(y->dims),
                          &outputs[i]));
    e->value[y->id] = outputs[i];
  }
  return bsm_build_step(e,
                        &(bsm_step_spec){kind, layer->name, inputs, input_count,
                                         outputs, count, params},
                        NULL);
}

/* Shorter rows and fewer columns are not worth a layout of their own. */
#define MIN_LENGTH 16

/* Softmax works along contiguous rows, or across adjacent columns. */
static bool softmax_takes(const bsm_layout *in) {
  bool side_by_side = false;
  if (bsm_layout_is_broadcast(in)) return false;
  for (int32_t i = 0; i < in->dims.rank; i++) {
    side_by_side =
        side_by_side || (in->strides[i] == 1 && in->dims.d[i] >= MIN_LENGTH);
  }
  return side_by_side || bsm_layout_is_contiguous(in);
}

/* Emits a step of one output, which has the layout of `x` if that is allowed
 * and is contiguous otherwise. */
static bsm_status emit_like(bsm_emitter *e, const bsm_layer *layer,
                            bsm_step_kind kind, const uint32_t *inputs,
                            uint32_t input_count, const void *params) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_layout in = bsm_build_tensor_at(e, inputs[0])->layout;
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, bsm_layout_like(y->dims, &in),
                        &e->value[y->id]));
  return bsm_build_step(e,
                        &(bsm_step_spec){kind, layer->name, inputs, input_count,
                                         &e->value[y->id], 1, params},
                        NULL);
}

bsm_status bsm_build_softmax(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_softmax params = {layer->p.softmax.axis, layer->p.softmax.log};
  uint32_t x = bsm_build_value(e, layer->inputs.items[0]);
  if (!softmax_takes(&bsm_build_tensor_at(e, x)->layout)) {
    BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[0], &x));
  }
  return emit_like(e, layer, BSM_STEP_SOFTMAX, &x, 1, &params);
}

/* Scale and bias are the same for all pixels. */
static bool scales_channels(const bsm_layer *layer) {
  const int32_t rank = layer->inputs.items[0]->dims.rank;
  for (size_t k = 1; k < layer->inputs.len; k++) {
    const bsm_dims d = layer->inputs.items[k]->dims;
    for (int32_t i = 0; i < d.rank; i++) {
      if (d.d[i] != 1 && i + rank - d.rank != 1) return false;
    }
  }
  return true;
}

/* Normalization works on rows that are contiguous, or on the pixels of
 * channels-last images. */
static bool normalization_takes(const bsm_layer *layer, const bsm_layout *in) {
  const uint32_t axes = layer->p.normalization.axes;
  const int32_t rank = in->dims.rank;
  int64_t expected = 1;
  bool row = layer->p.normalization.groups <= 1;
  for (int32_t i = rank - 1; i >= 0; i--) {
    if (in->dims.d[i] <= 1) continue;
    if (in->strides[i] == 0) return false;
    if (!(axes >> i & 1u)) continue;
    row = row && in->strides[i] == expected;
    expected *= in->dims.d[i];
  }
  if (row) return true;
  const uint32_t pixels = ((1u << rank) - 1u) & ~3u;
  const bool of_channels =
      axes == pixels ||
      ((axes & ~2u) == pixels &&
       (layer->p.normalization.groups > 1 || scales_channels(layer)));
  return rank >= 3 && of_channels && !layer->p.normalization.rms &&
         in->strides[1] == 1 && bsm_layout_is_dense(in);
}

bsm_status bsm_build_normalization(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_normalization params = {
      .axes = layer->p.normalization.axes,
      .rms = layer->p.normalization.rms,
      .has_scale = layer->p.normalization.has_scale,
      .has_bias = layer->p.normalization.has_bias,
      .groups = layer->p.normalization.groups,
      .epsilon = layer->p.normalization.epsilon};
  uint32_t inputs[4], outputs[2];
  const bool quantizes = layer->outputs.len > 1;
  const size_t grid = layer->inputs.len - 1; /* where it quantizes */
  inputs[0] = bsm_build_value(e, layer->inputs.items[0]);
  if (!normalization_takes(layer, &bsm_build_tensor_at(e, inputs[0])->layout)) {
    BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[0], &inputs[0]));
  }
  for (size_t i = 1; i < layer->inputs.len - quantizes && i < 3; i++) {
    BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[i], &inputs[i]));
    const bsm_layout wide =
        bsm_layout_broadcast(&bsm_build_tensor_at(e, inputs[i])->layout,
                             layer->inputs.items[0]->dims);
    BSM_TRY(bsm_build_view(e, inputs[i], wide, 0, &inputs[i]));
  }
  if (!quantizes) {
    return emit_like(e, layer, BSM_STEP_NORMALIZATION, inputs,
                     (uint32_t)layer->inputs.len, &params);
  }
  BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[grid], &inputs[grid]));
  const bsm_layout in = bsm_build_tensor_at(e, inputs[0])->layout;
  for (size_t i = 0; i < 2; i++) {
    const bsm_itensor *y = layer->outputs.items[i];
    BSM_TRY(bsm_build_new(e, y->name, y->dtype, bsm_layout_like(y->dims, &in),
                          &outputs[i]));
    e->value[y->id] = outputs[i];
  }
  return bsm_build_step(
      e,
      &(bsm_step_spec){BSM_STEP_NORMALIZATION, layer->name, inputs,
                       (uint32_t)layer->inputs.len, outputs, 2, &params},
      NULL);
}

bsm_status bsm_build_reduce(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_reduce params = {
      .operation = (int32_t)layer->p.reduce.operation,
      .axes = layer->p.reduce.axes,
      .keep_dims = layer->p.reduce.keep_dims,
      .correction = layer->p.reduce.correction};
  const uint32_t x = bsm_build_value(e, layer->inputs.items[0]);
  return emit_simple(e, layer, BSM_STEP_REDUCE, &x, 1, &params);
}

bsm_status bsm_build_top_k(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_top_k params = {.largest = layer->p.top_k.largest,
                                 .axis = layer->p.top_k.axis,
                                 .k = layer->p.top_k.k};
  uint32_t x;
  BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[0], &x));
  return emit_simple(e, layer, BSM_STEP_TOP_K, &x, 1, &params);
}

bsm_status bsm_build_scan(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_scan params = {.operation = (int32_t)layer->p.scan.operation,
                                .axis = layer->p.scan.axis};
  uint32_t x;
  BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[0], &x));
  return emit_simple(e, layer, BSM_STEP_SCAN, &x, 1, &params);
}

/* All elements in order. */
bsm_status bsm_build_non_zero(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_non_zero params = {{0}};
  uint32_t x;
  BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[0], &x));
  return emit_simple(e, layer, BSM_STEP_NON_ZERO, &x, 1, &params);
}

bsm_status bsm_build_nms(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_nms params = {layer->p.nms.threshold};
  uint32_t x;
  BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[0], &x));
  return emit_simple(e, layer, BSM_STEP_NMS, &x, 1, &params);
}

/* The image has the layout that it comes in. */
bsm_status bsm_build_regions(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_region_pooling *p = &layer->p.regions;
  const bsm_step_regions params = {.scale = p->scale,
                                   .samples = p->samples > 0 ? p->samples : 0,
                                   .whole = p->whole,
                                   .grouped = p->grouped,
                                   .aligned = p->aligned,
                                   .dtype = (int32_t)p->dtype};
  uint32_t inputs[2] = {bsm_build_value(e, layer->inputs.items[0])};
  BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[1], &inputs[1]));
  return emit_simple(e, layer, BSM_STEP_REGIONS, inputs, 2, &params);
}

/* What is expanded stays so: a copy may be many times as large as all that is
 * gathered from it. */
static bsm_status gathered(bsm_emitter *e, const bsm_itensor *t,
                           uint32_t *out) {
  *out = bsm_build_value(e, t);
  const bsm_layout *layout = &bsm_build_tensor_at(e, *out)->layout;
  if (bsm_layout_is_broadcast(layout)) return BSM_OK;
  return bsm_build_as_contiguous(e, t, out);
}

/* The place that element `at` of constant indices names in an axis of `size`;
 * -1: none. `wraps`: negative ones count from the end. */
static int64_t place_named(const bsm_build_tensor *t, const int64_t *indices,
                           const int64_t *at, int64_t size, bool wraps) {
  int64_t k = t->offset;
  for (int32_t i = 0; i < t->layout.dims.rank; i++) {
    k += at[i] * t->layout.strides[i];
  }
  const int64_t v = indices[k];
  if (v < 0) return wraps && v >= -size ? v + size : -1;
  return v < size ? v : -1;
}

/* Whether a tensor has constant indices that walk through an axis of `size`
 * evenly and forwards: the first, and the step of each of their dimensions. */
static bool walks_evenly(const bsm_emitter *e, uint32_t id, int64_t size,
                         bool wraps, int64_t *first, int64_t *steps) {
  const bsm_build_tensor *t = bsm_build_tensor_at(e, id);
  const bsm_dims dims = t->layout.dims;
  bsm_raw_weights raw;
  int64_t at[BSM_MAX_RANK] = {0};
  if (t->dtype != BSM_DTYPE_INT64 || !bsm_build_constant_raw(e, id, &raw) ||
      raw.dtype != BSM_DTYPE_INT64) {
    return false;
  }
  for (int32_t i = 0; i < dims.rank; i++) {
    if (dims.d[i] == 0) return false;
  }
  *first = place_named(t, raw.values, at, size, wraps);
  for (int32_t i = 0; i < dims.rank; i++) {
    at[i] = dims.d[i] > 1;
    steps[i] = place_named(t, raw.values, at, size, wraps) - *first;
    at[i] = 0;
    if (steps[i] < 0) return false;
  }
  for (int32_t d = 0; d >= 0;) {
    int64_t wanted = *first;
    for (int32_t i = 0; i < dims.rank; i++) wanted += at[i] * steps[i];
    if (wanted < 0 || place_named(t, raw.values, at, size, wraps) != wanted) {
      return false;
    }
    for (d = dims.rank - 1; d >= 0 && ++at[d] == dims.d[d]; d--) at[d] = 0;
  }
  return true;
}

/* A view, where the indices are such: windows that slide, say. */
static bsm_status view_gathered(bsm_emitter *e, const bsm_layer *layer,
                                bool *done) {
  const int32_t axis = layer->p.gather.axis;
  const uint32_t id = bsm_build_value(e, layer->inputs.items[0]);
  const bsm_itensor *index = layer->inputs.items[1];
  const bsm_layout in = bsm_build_tensor_at(e, id)->layout;
  const bsm_itensor *y = layer->outputs.items[0];
  int64_t first = 0, steps[BSM_MAX_RANK] = {0};
  const bool wraps = layer->p.gather.mode == BSM_GATHER_DEFAULT;
  *done = (wraps || layer->p.gather.mode == BSM_GATHER_SELECT) &&
          walks_evenly(e, bsm_build_value(e, index), in.dims.d[axis], wraps,
                       &first, steps);
  if (!*done) return BSM_OK;
  bsm_layout out = {.dims = y->dims};
  for (int32_t i = 0; i < y->dims.rank; i++) {
    const int32_t k = i - axis, rest = i - index->dims.rank + 1;
    const bool walked = k >= 0 && k < index->dims.rank;
    out.strides[i] =
        walked ? steps[k] * in.strides[axis] : in.strides[k < 0 ? i : rest];
  }
  return bsm_build_view(e, id, out, first * in.strides[axis], &e->value[y->id]);
}

bsm_status bsm_build_gather(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_step_gather params = {(int32_t)layer->p.gather.mode,
                                  layer->p.gather.axis};
  uint32_t inputs[2];
  bool done;
  BSM_TRY(view_gathered(e, layer, &done));
  if (done) return BSM_OK;
  BSM_TRY(gathered(e, layer->inputs.items[0], &inputs[0]));
  BSM_TRY(gathered(e, layer->inputs.items[1], &inputs[1]));
  return emit_simple(e, layer, BSM_STEP_GATHER, inputs, 2, &params);
}

/* The output has the layout of the data where possible, so that it can share
 * its memory. */
bsm_status bsm_build_scatter(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_step_scatter params = {
      .mode = (int32_t)layer->p.scatter.mode,
      .axis = layer->p.scatter.axis,
      .reduction = (int32_t)layer->p.scatter.reduction,
      .include_self = layer->p.scatter.include_self,
      .wrap = layer->p.scatter.wrap};
  uint32_t inputs[3];
  inputs[0] = bsm_build_value(e, layer->inputs.items[0]);
  BSM_TRY(bsm_build_as_contiguous(e, layer->inputs.items[1], &inputs[1]));
  inputs[2] = bsm_build_value(e, layer->inputs.items[2]);
  const bsm_layout data = bsm_build_tensor_at(e, inputs[0])->layout;
  const bsm_layout layout =
      bsm_layout_is_dense(&data) ? data : bsm_layout_contiguous(y->dims);
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, layout, &e->value[y->id]));
  return bsm_build_step(e,
                        &(bsm_step_spec){BSM_STEP_SCATTER, layer->name, inputs,
                                         3, &e->value[y->id], 1, &params},
                        NULL);
}
