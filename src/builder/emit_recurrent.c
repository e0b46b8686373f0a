/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: one step for each, with its weights packed together.
 * Sequences and states are read with any strides, and batch-first output is
 * only a layout. */
#include <string.h>

#include "builder/emit_internal.h"

enum { PIECES = 5 }; /* of one direction */
_Static_assert(2 * PIECES <= BSM_PACKING_MAX_RAW, "all pieces fit");

/* The members of how[] that gather_weights reads. */
enum { BIAS };

/* Bytes of a piece as it is packed. */
static uint64_t packed_size(const bsm_packing *p, size_t piece) {
  const bsm_raw_weights *raw = &p->raw[piece];
  if (raw->size == 0) return 0;
  return raw->size / bsm_dtype_size(raw->dtype) * bsm_dtype_size(p->dtype);
}

/* Puts the pieces one after another, in the order that the target packs them,
 * with zeros for absent biases. */
static bsm_status gather_weights(bsm_arena *scratch, const bsm_packing *p,
                                 const void **values) {
  const uint64_t bias = (uint64_t)p->how[BIAS] * bsm_dtype_size(p->dtype);
  uint64_t size = 0;
  for (size_t i = 0; i < p->raw_count; i++) size += packed_size(p, i) + bias;
  uint8_t *to = bsm_arena_alloc(scratch, (size_t)size + 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(to);
  *values = to; /* zeroed */
  for (size_t i = 0; i < p->raw_count; i++) {
    const uint64_t own = packed_size(p, i);
    const void *piece;
    BSM_TRY(bsm_packing_cast(scratch, p, i, &piece));
    if (own) memcpy(to, piece, (size_t)own);
    to += own ? own : i % PIECES >= 3 ? bias : 0;
  }
  return BSM_OK;
}

static bsm_raw_weights raw_of(const bsm_weights *w,
                              const bsm_deferred *deferred) {
  const bool converts = deferred->cast && w->count > 0;
  const bsm_dtype dtype = converts ? deferred->held : w->dtype;
  return (bsm_raw_weights){w->values,
                           (uint64_t)w->count * bsm_dtype_size(dtype), dtype};
}

static bsm_status pack_weights(bsm_emitter *e, const bsm_layer *layer,
                               bsm_plan_step *step) {
  const bsm_recurrent_weights *w = layer->p.recurrent.weights;
  const int32_t directions = layer->p.recurrent.directions;
  const bsm_deferred *deferred = &layer->p.recurrent.deferred;
  bsm_raw_weights raw[2 * PIECES];
  size_t count = 0;
  for (int32_t d = 0; d < directions && d < 2; d++) {
    raw[count++] = raw_of(&w[d].input, deferred);
    raw[count++] = raw_of(&w[d].recurrent, deferred);
    raw[count++] = raw_of(&w[d].projection, deferred);
    raw[count++] = raw_of(&w[d].input_bias, deferred);
    raw[count++] = raw_of(&w[d].recurrent_bias, deferred);
  }
  const bsm_packing packing = {.in_maps = step->params->recurrent.input,
                               .dtype = w->input.dtype,
                               .raw = raw,
                               .raw_count = count,
                               .how = {[BIAS] = w->input.shape.d[0]},
                               .make = gather_weights};
  return bsm_build_pack(e, step, &packing);
}

bsm_status bsm_build_recurrent(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_recurrent_weights *w = layer->p.recurrent.weights;
  const bsm_step_recurrent params = {
      .operation = (int32_t)layer->p.recurrent.operation,
      .directions = layer->p.recurrent.directions,
      .input = w->input.shape.d[1],
      .hidden = layer->inputs.len > 2 ? layer->inputs.items[2]->dims.d[2]
                                      : layer->inputs.items[1]->dims.d[2],
      .projection = w->projection.count ? w->projection.shape.d[0] : 0};
  const uint32_t count = (uint32_t)layer->inputs.len;
  uint32_t inputs[3] = {0}, outputs[3] = {0};
  for (uint32_t i = 0; i < count && i < 3; i++) {
    const bsm_itensor *y = layer->outputs.items[i];
    inputs[i] = bsm_build_value(e, layer->inputs.items[i]);
    BSM_TRY(bsm_build_new(
        e, y->name, y->dtype,
        i == 0 ? bsm_build_preferred(e, y) : bsm_layout_contiguous(y->dims),
        &outputs[i]));
    e->value[y->id] = outputs[i];
  }
  bsm_plan_step *step;
  BSM_TRY(
      bsm_build_step(e,
                     &(bsm_step_spec){BSM_STEP_RECURRENT, layer->name, inputs,
                                      count, outputs, count, &params},
                     &step));
  const bsm_weights *lengths = &layer->p.recurrent.lengths;
  if (lengths->count) {
    BSM_TRY(bsm_build_weights(e, lengths->values,
                              (uint64_t)lengths->count * sizeof(int64_t),
                              &step->weights[1]));
  }
  return pack_weights(e, layer, step);
}
