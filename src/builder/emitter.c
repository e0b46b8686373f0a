/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, tensors, steps and weights of a plan under construction. */
#include "builder/emitter.h"

#include <string.h>

#include "base/checked.h"

/* ---- buffers and tensors ---- */

static bsm_status layout_bytes(const bsm_layout *layout, bsm_dtype dtype,
                               uint64_t *out) {
  bsm_plan_tensor reach = {.dtype = dtype, .dims = layout->dims};
  int64_t bytes = (int64_t)bsm_dtype_size(dtype);
  bool fits = true;
  for (int32_t i = 0; fits && i < layout->dims.rank; i++) {
    fits = bsm_i64_mul(bytes, layout->dims.d[i], &bytes);
  }
  *out = (uint64_t)bytes;
  if (fits && !bsm_layout_is_dense(layout)) { /* pixels with gaps */
    memcpy(reach.strides, layout->strides, sizeof(reach.strides));
    fits = bsm_plan_tensor_extent(&reach, out);
  }
  return fits ? BSM_OK
              : BSM_FAIL(BSM_LIMIT, "a tensor of shape %s is too large",
                         bsm_dims_str(layout->dims));
}

static bsm_status new_buffer(bsm_emitter *e, bsm_buffer buffer, uint32_t *out) {
  *out = (uint32_t)e->buffers.len;
  buffer.space = e->space;
  buffer.merged_into = *out;
  buffer.weights = BSM_NO_WEIGHTS;
  buffer.first = UINT32_MAX;
  buffer.last = 0;
  BSM_TRY_ALLOC(bsm_vec_push(e->scratch, &e->buffers, buffer));
  return BSM_OK;
}

static bsm_status new_tensor(bsm_emitter *e, bsm_build_tensor tensor,
                             uint32_t *out) {
  *out = (uint32_t)e->tensors.len;
  BSM_TRY_ALLOC(bsm_vec_push(e->scratch, &e->tensors, tensor));
  return BSM_OK;
}

bsm_status bsm_build_new(bsm_emitter *e, const char *name, bsm_dtype dtype,
                         bsm_layout layout, uint32_t *out) {
  bsm_buffer buffer = {.place = BSM_PLACE_WORKSPACE};
  uint32_t id;
  BSM_TRY(layout_bytes(&layout, dtype, &buffer.size));
  BSM_TRY(new_buffer(e, buffer, &id));
  return new_tensor(e, (bsm_build_tensor){name, id, dtype, layout, 0}, out);
}

bsm_status bsm_build_like(bsm_emitter *e, uint32_t other, uint32_t *out) {
  bsm_build_tensor tensor = e->tensors.items[other];
  bsm_buffer buffer = e->buffers.items[tensor.buffer];
  if (buffer.place != BSM_PLACE_WEIGHTS) {
    bsm_plan_tensor reach = {.dtype = tensor.dtype, .dims = tensor.layout.dims};
    memcpy(reach.strides, tensor.layout.strides, sizeof(reach.strides));
    buffer = (bsm_buffer){.place = BSM_PLACE_WORKSPACE};
    tensor.offset = 0;
    if (!bsm_plan_tensor_extent(&reach, &buffer.size)) {
      return BSM_FAIL(BSM_LIMIT, "a tensor of shape %s is too large",
                      bsm_dims_str(reach.dims));
    }
  }
  BSM_TRY(new_buffer(e, buffer, &tensor.buffer));
  return new_tensor(e, tensor, out);
}

bsm_status bsm_build_view(bsm_emitter *e, uint32_t base, bsm_layout layout,
                          int64_t offset, uint32_t *out) {
  bsm_build_tensor tensor = e->tensors.items[base];
  tensor.layout = layout;
  tensor.offset += offset;
  return new_tensor(e, tensor, out);
}

bsm_status bsm_build_constant(bsm_emitter *e, const char *name, bsm_dtype dtype,
                              bsm_dims dims, bsm_dtype held, const void *data,
                              uint32_t *out) {
  const bsm_layout layout = bsm_layout_contiguous(dims);
  bsm_buffer buffer = {.place = BSM_PLACE_WEIGHTS,
                       .dtype = dtype,
                       .constant = {.values = data, .dtype = held}};
  uint32_t id;
  BSM_TRY(layout_bytes(&layout, dtype, &buffer.size));
  buffer.constant.size =
      buffer.size / bsm_dtype_size(dtype) * bsm_dtype_size(held);
  BSM_TRY(new_buffer(e, buffer, &id));
  return new_tensor(e, (bsm_build_tensor){name, id, dtype, layout, 0}, out);
}

bool bsm_build_constant_raw(const bsm_emitter *e, uint32_t tensor,
                            bsm_raw_weights *out) {
  const bsm_build_tensor *t = &e->tensors.items[tensor];
  const bsm_buffer *buffer = &e->buffers.items[t->buffer];
  if (buffer->place != BSM_PLACE_WEIGHTS || !buffer->constant.values) {
    return false;
  }
  *out = buffer->constant;
  const uint64_t skipped = (uint64_t)t->offset * bsm_dtype_size(out->dtype);
  out->values = (const uint8_t *)out->values + skipped;
  out->size -= skipped;
  return true;
}

/* ---- steps ---- */

static bsm_status touch(bsm_emitter *e, uint32_t tensor, uint32_t step) {
  bsm_buffer *buffer = &e->buffers.items[e->tensors.items[tensor].buffer];
  if (step < buffer->first) buffer->first = step;
  if (step > buffer->last) buffer->last = step;
  if (buffer->place != BSM_PLACE_WEIGHTS || buffer->weights != BSM_NO_WEIGHTS) {
    return BSM_OK;
  }
  const bsm_packing cast = {
      .dtype = buffer->dtype, .raw = &buffer->constant, .raw_count = 1};
  const void *values;
  uint32_t id;
  BSM_TRY(bsm_packing_cast(e->scratch, &cast, 0, &values));
  BSM_TRY(bsm_build_weights(e, values, buffer->size, &id));
  buffer->weights = id;
  return BSM_OK;
}

bsm_status bsm_build_step(bsm_emitter *e, const bsm_step_spec *spec,
                          bsm_plan_step **out) {
  const uint32_t index = (uint32_t)e->steps.len;
  const size_t size = bsm_step_params_used(spec->kind, spec->params);
  if (spec->input_count > BSM_STEP_MAX_TENSORS ||
      spec->output_count > BSM_STEP_MAX_TENSORS) {
    return BSM_FAIL(BSM_LIMIT, "step %s has %u inputs and %u outputs",
                    spec->name, spec->input_count, spec->output_count);
  }
  bsm_step_params *params =
      bsm_arena_alloc(e->arena, size, _Alignof(bsm_step_params));
  BSM_TRY_ALLOC(params);
  memcpy(params, spec->params, size);
  bsm_plan_step step = {.kind = spec->kind,
                        .space = e->space,
                        .precision = spec->kind == BSM_STEP_COPY
                                         ? BSM_PRECISION_NONE /* moves */
                                         : e->precision,
                        .tactic = "",
                        .input_count = spec->input_count,
                        .output_count = spec->output_count,
                        .weights = BSM_STEP_NO_WEIGHTS,
                        .params = params};
  step.name = bsm_arena_strdup(e->arena, spec->name ? spec->name : "");
  step.inputs = BSM_NEW_ARRAY(e->arena, uint32_t, spec->input_count + 1u);
  step.outputs = BSM_NEW_ARRAY(e->arena, uint32_t, spec->output_count + 1u);
  if (!step.name || !step.inputs || !step.outputs) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < spec->input_count; i++) {
    step.inputs[i] = spec->inputs[i];
    BSM_TRY(touch(e, spec->inputs[i], index));
  }
  for (uint32_t i = 0; i < spec->output_count; i++) {
    step.outputs[i] = spec->outputs[i];
    BSM_TRY(touch(e, spec->outputs[i], index));
  }
  BSM_TRY_ALLOC(bsm_vec_push(e->scratch, &e->steps, step));
  if (out) *out = &e->steps.items[index];
  return BSM_OK;
}

bsm_status bsm_build_copy(bsm_emitter *e, const char *name, uint32_t src,
                          uint32_t dst) {
  const bsm_step_copy params = {{0, 0}};
  return bsm_build_step(
      e, &(bsm_step_spec){BSM_STEP_COPY, name, &src, 1, &dst, 1, &params},
      NULL);
}

/* ---- layouts of values ---- */

bsm_status bsm_build_contiguous_copy(bsm_emitter *e, uint32_t id,
                                     const char *name, uint32_t *out) {
  const bsm_build_tensor t = e->tensors.items[id];
  *out = id;
  if (bsm_layout_is_contiguous(&t.layout)) return BSM_OK;
  BSM_TRY(bsm_build_new(e, t.name, t.dtype,
                        bsm_layout_contiguous(t.layout.dims), out));
  return bsm_build_copy(e, name, id, *out);
}

/* Returns the value itself, or a copy, which is made once for each layout. */
static bsm_status relay(bsm_emitter *e, const bsm_itensor *t, int which,
                        bsm_layout layout, uint32_t *out) {
  uint32_t *known = &e->relaid[which][t->id];
  if (*known == BSM_NO_TENSOR) {
    BSM_TRY(bsm_build_new(e, t->name, t->dtype, layout, known));
    BSM_TRY(bsm_build_copy(e, t->name, bsm_build_value(e, t), *known));
  }
  *out = *known;
  return BSM_OK;
}

bsm_status bsm_build_as_contiguous(bsm_emitter *e, const bsm_itensor *t,
                                   uint32_t *out) {
  *out = bsm_build_value(e, t);
  const bsm_layout *layout = &e->tensors.items[*out].layout;
  if (bsm_layout_is_contiguous(layout)) return BSM_OK;
  return relay(e, t, BSM_RELAID_CONTIGUOUS, bsm_layout_contiguous(layout->dims),
               out);
}

static bool is_depthwise(const bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  return layer->kind == BSM_LAYER_CONVOLUTION && p->groups > 1 &&
         p->groups == layer->inputs.items[0]->dims.d[1];
}

static bool is_pointwise(const bsm_layer *layer) {
  const bsm_window_params *w = &layer->p.convolution.window;
  bool single = layer->kind == BSM_LAYER_CONVOLUTION;
  for (int32_t i = 0; single && i < w->spatial; i++) {
    single = w->kernel[i] == 1;
  }
  return single;
}

/* The layout of an image with its channels innermost that `producer` makes;
 * NULL: a copy. */
static bsm_layout filtered_layout(const bsm_emitter *e, const bsm_itensor *t,
                                  const bsm_layer *producer) {
  const bsm_target *target = e->target;
  const int64_t maps = t->dims.d[1];
  bsm_layout out = bsm_layout_channels_last(t->dims);
  bool filtered = producer && is_depthwise(producer);
  if (!target->ops->pixel_pitch || e->uses.is_output[t->id]) return out;
  for (uint32_t i = 0; i < e->uses.reader_count[t->id]; i++) {
    const bsm_layer *reader = e->uses.readers[t->id][i];
    if (!is_depthwise(reader) && !is_pointwise(reader)) return out;
    filtered = filtered || is_depthwise(reader);
  }
  const int64_t pitch = target->ops->pixel_pitch(target, maps, t->dtype);
  int64_t size = 1;
  for (int32_t i = 0; i < t->dims.rank; i++) size *= t->dims.d[i];
  if (!filtered || pitch == maps || size <= maps) return out; /* one pixel */
  for (int32_t i = 0; i < t->dims.rank; i++) {
    if (i != 1) out.strides[i] = out.strides[i] / maps * pitch;
  }
  return out;
}

static bsm_status as_channels_last(bsm_emitter *e, const bsm_itensor *t,
                                   uint32_t *out) {
  *out = bsm_build_value(e, t);
  bsm_layout layout = e->tensors.items[*out].layout;
  if (!bsm_layout_has_channels_inner(&layout)) {
    return relay(e, t, BSM_RELAID_CHANNELS_LAST, filtered_layout(e, t, NULL),
                 out);
  }
  if (layout.strides[1] == 1) return BSM_OK;
  layout.strides[1] = 1; /* one channel: its stride does not matter */
  return bsm_build_view(e, *out, layout, 0, out);
}

static bool has_channels_last(const bsm_emitter *e, const bsm_layer *layer) {
  return e->target->ops->image_layout(e->target, layer) ==
         BSM_IMAGE_CHANNELS_LAST;
}

bsm_status bsm_build_as_ordered(bsm_emitter *e, const bsm_itensor *t,
                                const bsm_layout *layout, uint32_t *out) {
  *out = bsm_build_value(e, t);
  const int32_t rank = layout->dims.rank;
  if (rank < 3 || rank > 5 || layout->dims.d[1] == 1) return BSM_OK;
  if (bsm_layout_has_channels_inner(layout)) return as_channels_last(e, t, out);
  const bsm_layout *own = &e->tensors.items[*out].layout;
  return bsm_layout_is_contiguous(layout) && bsm_layout_has_channels_inner(own)
             ? bsm_build_as_contiguous(e, t, out)
             : BSM_OK;
}

bsm_status bsm_build_as_image(bsm_emitter *e, const bsm_layer *layer,
                              const bsm_itensor *t, uint32_t *out) {
  return has_channels_last(e, layer) ? as_channels_last(e, t, out)
                                     : bsm_build_as_contiguous(e, t, out);
}

bsm_layout bsm_build_image_layout(const bsm_emitter *e, const bsm_layer *layer,
                                  bsm_dims dims) {
  return has_channels_last(e, layer) ? bsm_layout_channels_last(dims)
                                     : bsm_layout_contiguous(dims);
}

bsm_layout bsm_build_convolved_layout(const bsm_emitter *e,
                                      const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  return has_channels_last(e, layer) ? filtered_layout(e, y, layer)
                                     : bsm_layout_contiguous(y->dims);
}

bool bsm_build_wants_channels_last(const bsm_emitter *e,
                                   const bsm_layer *layer) {
  return (layer->kind == BSM_LAYER_CONVOLUTION ||
          layer->kind == BSM_LAYER_DECONVOLUTION ||
          (layer->kind == BSM_LAYER_INT8_CONVOLUTION &&
           layer->p.int8_convolution.window.spatial > 0) ||
          layer->kind == BSM_LAYER_POOLING || layer->kind == BSM_LAYER_SAMPLE ||
          layer->kind == BSM_LAYER_RESIZE) &&
         has_channels_last(e, layer);
}

/* Whether the layer passes on the layout of its input. */
static bool passes_on(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_SLICE ||
         layer->kind == BSM_LAYER_CONCATENATION ||
         layer->kind == BSM_LAYER_FUSED_ELEMENT_WISE;
}

bool bsm_build_readers_want_channels_last(const bsm_emitter *e,
                                          const bsm_itensor *t, int depth) {
  for (uint32_t i = 0; i < e->uses.reader_count[t->id]; i++) {
    const bsm_layer *reader = e->uses.readers[t->id][i];
    if (bsm_build_wants_channels_last(e, reader) ||
        (depth > 0 && passes_on(reader) &&
         bsm_build_readers_want_channels_last(e, reader->outputs.items[0],
                                              depth - 1))) {
      return true;
    }
  }
  return false;
}

/* The composition of a shuffle's first transpose with the dims of `t`. */
bsm_layout bsm_build_preferred(const bsm_emitter *e, const bsm_itensor *t) {
  const bsm_layer *reader = bsm_uses_single_reader(&e->uses, t);
  if (reader && reader->kind == BSM_LAYER_SHUFFLE &&
      reader->p.shuffle.has_first && t->dims.rank > 1) {
    const bsm_dims perm = reader->p.shuffle.first_transpose;
    if (perm.d[perm.rank - 1] == perm.rank - 1) {
      int32_t order[BSM_MAX_RANK];
      for (int32_t i = 0; i < perm.rank; i++) order[i] = (int32_t)perm.d[i];
      return bsm_layout_ordered(t->dims, order);
    }
  }
  return bsm_layout_contiguous(t->dims);
}
