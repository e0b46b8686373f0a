/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory space a layer is emitted in, when the target has one of its own:
 * what its device runs is there, the rest is on the host, and layers that only
 * move data stay where that is. Before a layer is emitted its inputs are
 * brought to its space: by a transfer, once for each tensor, or, constants, as
 * weights of both spaces. */
#include "builder/emitter.h"

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

/* Whether a layer that only moves data has it all on the host; constants are
 * wherever they are needed. */
static bool is_on_host(const bsm_emitter *e, const bsm_layer *layer) {
  bool found = false;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    if (has_value(e, t, BSM_SPACE_DEVICE)) return false;
    found = found || has_value(e, t, BSM_SPACE_HOST);
  }
  return found;
}

static bsm_memory_space space_of(const bsm_emitter *e, const bsm_layer *layer) {
  const bsm_target *target = e->options->target;
  if (!has_two_spaces(e) || layer->kind == BSM_LAYER_ATEN_CALL ||
      layer->kind == BSM_LAYER_PLUGIN) {
    return BSM_SPACE_HOST;
  }
  if (only_moves(layer)) {
    return is_on_host(e, layer) ? BSM_SPACE_HOST : BSM_SPACE_DEVICE;
  }
  return layer->kind == BSM_LAYER_CONSTANT || layer->kind == BSM_LAYER_SHAPE ||
                 target->ops->supports(target, layer)
             ? BSM_SPACE_DEVICE
             : BSM_SPACE_HOST;
}

bsm_memory_space bsm_build_input_space(const bsm_emitter *e,
                                       const bsm_itensor *t) {
  return e->uses.reader_count[t->id] ? space_of(e, e->uses.readers[t->id][0])
                                     : BSM_SPACE_HOST;
}

static bsm_status transfer(bsm_emitter *e, const bsm_itensor *t, uint32_t from,
                           uint32_t *out) {
  const bsm_step_transfer params = {{0, 0}};
  const bsm_step_spec spec = {
      BSM_STEP_TRANSFER, t->name, &from, 1, out, 1, &params};
  BSM_TRY(bsm_build_like(e, from, out));
  return bsm_build_step(e, &spec, NULL);
}

/* Gives a tensor a value in the space that is being emitted in. */
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

/* The inputs; those of a layer that is emitted as a part of this one too. */
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
