/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the memory space that a layer is emitted in, when the target has a
 * space of its own. Layers that the device runs are emitted there and all
 * others on the host; layers that only move data stay where the data is. Before
 * a layer is emitted, its inputs are brought to its space: by one transfer for
 * each tensor. Constants become weights of both spaces instead. */
#include <string.h>

#include "aten/tensor.h"
#include "builder/emitter.h"

/* How many layers that only move data are followed to a reader that computes.
 */
#define MAX_MOVES 16

static bool has_two_spaces(const bsm_emitter *e) {
  return e->options->target->host != e->options->target;
}

const bsm_target *bsm_build_target_of(const bsm_emitter *e,
                                      bsm_memory_space space) {
  const bsm_target *target = e->options->target;
  return space == BSM_SPACE_HOST ? target->host : target;
}

void bsm_build_enter(bsm_emitter *e, bsm_memory_space space) {
  e->space = space;
  e->target = bsm_build_target_of(e, space);
  e->value = e->values[space];
  e->relaid = e->relaids[space];
}

/* Layers that become views and copies of their inputs. */
static bool only_moves(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_EXPAND:
      return true;
    case BSM_LAYER_IDENTITY: /* without a conversion */
      return layer->inputs.items[0]->dtype == layer->outputs.items[0]->dtype;
    default:
      return false;
  }
}

static bool has_value(const bsm_emitter *e, const bsm_itensor *t,
                      bsm_memory_space space) {
  return e->values[space][t->id] != BSM_NO_TENSOR;
}

/* Constants are on the host at first, and in every space that needs them. */
static bool is_constant(const bsm_itensor *t) {
  return t->producer && (t->producer->kind == BSM_LAYER_CONSTANT ||
                         t->producer->kind == BSM_LAYER_SHAPE);
}

static bool is_taken(const bsm_emitter *e, const bsm_layer *layer) {
  const bsm_target *target = e->options->target;
  return layer->kind != BSM_LAYER_ATEN_CALL &&
         layer->kind != BSM_LAYER_PLUGIN && layer->kind != BSM_LAYER_CONSTANT &&
         layer->kind != BSM_LAYER_SHAPE && target->ops->supports(target, layer);
}

/* The space in which moved data is needed: that of the first reader that
 * computes. */
static bsm_memory_space space_of_reader(const bsm_emitter *e,
                                        const bsm_itensor *t) {
  for (int i = 0; i < MAX_MOVES && e->uses.reader_count[t->id]; i++) {
    const bsm_layer *reader = e->uses.readers[t->id][0];
    if (!only_moves(reader)) {
      return is_taken(e, reader) ? BSM_SPACE_DEVICE : BSM_SPACE_HOST;
    }
    t = reader->outputs.items[0];
  }
  return BSM_SPACE_DEVICE;
}

/* The space of the data, when it is in one space only. Complex numbers, with
 * which no device computes, stay on the host. */
static bsm_memory_space space_of_move(const bsm_emitter *e,
                                      const bsm_layer *layer) {
  bool host = false;
  if (bsm_dtype_is_complex(layer->outputs.items[0]->dtype)) {
    return BSM_SPACE_HOST;
  }
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    if (is_constant(t)) continue;
    if (has_value(e, t, BSM_SPACE_DEVICE)) return BSM_SPACE_DEVICE;
    host = host || has_value(e, t, BSM_SPACE_HOST);
  }
  return host ? BSM_SPACE_HOST : space_of_reader(e, layer->outputs.items[0]);
}

static bsm_memory_space space_of(const bsm_emitter *e, const bsm_layer *layer) {
  if (!has_two_spaces(e)) return BSM_SPACE_HOST;
  if (only_moves(layer)) return space_of_move(e, layer);
  return is_taken(e, layer) ? BSM_SPACE_DEVICE : BSM_SPACE_HOST;
}

bsm_memory_space bsm_build_input_space(const bsm_emitter *e,
                                       const bsm_itensor *t) {
  return e->uses.reader_count[t->id] ? space_of(e, e->uses.readers[t->id][0])
                                     : BSM_SPACE_HOST;
}

/* Repeated elements are transferred once: `layout` with dimensions of 1 where
 * it repeats. */
static bsm_layout without_repeats(bsm_layout layout) {
  for (int32_t i = 0; i < layout.dims.rank; i++) {
    if (layout.strides[i] == 0) layout.dims.d[i] = layout.dims.d[i] != 0;
  }
  return layout;
}

/* Whether no elements overlap. */
static bool has_places(const bsm_layout *layout, bsm_dtype dtype) {
  bsm_plan_tensor reach = {.dtype = dtype, .dims = layout->dims};
  uint64_t extent, bytes = bsm_dtype_size(dtype);
  memcpy(reach.strides, layout->strides, sizeof(reach.strides));
  for (int32_t i = 0; i < layout->dims.rank; i++) {
    bytes *= (uint64_t)layout->dims.d[i];
  }
  return bsm_plan_tensor_extent(&reach, &extent) && bytes <= extent;
}

static bsm_status transfer(bsm_emitter *e, const bsm_itensor *t, uint32_t from,
                           uint32_t *out) {
  const bsm_memory_space space = e->space;
  const bsm_step_transfer params = {{0, 0}};
  const bsm_build_tensor source = *bsm_build_tensor_at(e, from);
  bsm_layout whole = source.layout;
  bsm_layout once = without_repeats(whole);
  if (!has_places(&once, source.dtype)) { /* windows that overlap */
    bsm_build_enter(e, e->buffers.items[source.buffer].space);
    BSM_TRY(bsm_build_contiguous_copy(e, from, t->name, &from));
    bsm_build_enter(e, space);
    whole = once = bsm_build_tensor_at(e, from)->layout;
  }
  if (!bsm_dims_equal(once.dims, whole.dims)) {
    BSM_TRY(bsm_build_view(e, from, once, 0, &from));
  }
  BSM_TRY(bsm_build_like(e, from, out));
  const bsm_step_spec spec = {
      BSM_STEP_TRANSFER, t->name, &from, 1, out, 1, &params};
  BSM_TRY(bsm_build_step(e, &spec, NULL));
  return bsm_dims_equal(once.dims, whole.dims)
             ? BSM_OK
             : bsm_build_view(e, *out, whole, 0, out);
}

/* Gives a tensor a value in the current space. */
static bsm_status bring(bsm_emitter *e, const bsm_itensor *t) {
  const bsm_memory_space other =
      e->space == BSM_SPACE_HOST ? BSM_SPACE_DEVICE : BSM_SPACE_HOST;
  const uint32_t from = e->values[other][t->id];
  uint32_t *out = &e->value[t->id];
  if (*out != BSM_NO_TENSOR || from == BSM_NO_TENSOR) return BSM_OK;
  const bsm_buffer *buffer =
      &e->buffers.items[bsm_build_tensor_at(e, from)->buffer];
  return buffer->place == BSM_PLACE_WEIGHTS ? bsm_build_like(e, from, out)
                                            : transfer(e, t, from, out);
}

/* Brings the inputs of a layer, and of layers that are emitted as parts of it.
 */
static bsm_status bring_inputs(bsm_emitter *e, const bsm_layer *layer) {
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    const bsm_layer *producer = t->producer;
    if (producer && producer->kind == BSM_LAYER_CONVOLUTION &&
        producer->p.convolution.joins_next) {
      BSM_TRY(bring_inputs(e, producer));
    } else {
      BSM_TRY(bring(e, t));
    }
  }
  return BSM_OK;
}

bsm_status bsm_build_place(bsm_emitter *e, const bsm_layer *layer) {
  bsm_build_enter(e, space_of(e, layer));
  return has_two_spaces(e) ? bring_inputs(e, layer) : BSM_OK;
}

void bsm_build_enter_value(bsm_emitter *e, const bsm_itensor *t) {
  bsm_build_enter(
      e, has_value(e, t, BSM_SPACE_HOST) ? BSM_SPACE_HOST : BSM_SPACE_DEVICE);
}
