/* SPDX-License-Identifier: Apache-2.0 */
/* Fused element-wise layers: registers get dtypes, inputs are broadcast. */
#include <math.h>

#include "aten/tensor.h"
#include "builder/emit_internal.h"

/* Images of fewer elements are read in whatever order they are. */
#define LARGE 4096
/* So many layers on, readers are asked for the order that they want. */
#define READERS 3

static bool is_comparison(int32_t operation) {
  switch (operation) {
    case BSM_ELEMENT_WISE_EQUAL:
    case BSM_ELEMENT_WISE_NOT_EQUAL:
    case BSM_ELEMENT_WISE_GREATER:
    case BSM_ELEMENT_WISE_LESS:
    case BSM_ELEMENT_WISE_GREATER_EQUAL:
    case BSM_ELEMENT_WISE_LESS_EQUAL:
    case BSM_ELEMENT_WISE_AND:
    case BSM_ELEMENT_WISE_OR:
    case BSM_ELEMENT_WISE_XOR:
      return true;
    default:
      return false;
  }
}

static bsm_dtype result_dtype(const bsm_ew_instruction *op,
                              const bsm_dtype *registers) {
  switch (op->kind) {
    case BSM_EW_BINARY:
      return is_comparison(op->code) ? BSM_DTYPE_BOOL : registers[op->a];
    case BSM_EW_UNARY:
      return op->code == BSM_UNARY_NOT || op->code == BSM_UNARY_ISINF ||
                     op->code == BSM_UNARY_ISNAN
                 ? BSM_DTYPE_BOOL
                 : registers[op->a];
    case BSM_EW_SELECT:
      return registers[op->b];
    case BSM_EW_CONSTANT:
    case BSM_EW_CAST:
      return (bsm_dtype)op->code;
    default:
      return registers[op->a];
  }
}

static int64_t to_integer(double value) {
  if (isnan(value)) return 0;
  if (value >= 9.2e18) return INT64_MAX;
  if (value <= -9.2e18) return INT64_MIN;
  return (int64_t)value;
}

static bsm_status fill_program(const bsm_layer *layer,
                               bsm_step_element_wise *params) {
  bsm_dtype registers[BSM_EW_MAX_REGISTERS];
  const size_t count = layer->p.fused_element_wise.program.len;
  if (layer->inputs.len > BSM_EW_MAX_INPUTS ||
      count > BSM_EW_MAX_INSTRUCTIONS ||
      layer->p.fused_element_wise.registers > BSM_EW_MAX_REGISTERS) {
    return BSM_FAIL(BSM_INTERNAL, "an element-wise program is too long");
  }
  for (size_t i = 0; i < layer->inputs.len; i++) {
    registers[i] = layer->inputs.items[i]->dtype;
  }
  params->instruction_count = (int32_t)count;
  params->result = layer->p.fused_element_wise.result;
  for (size_t i = 0; i < count; i++) {
    const bsm_ew_instruction *op =
        &layer->p.fused_element_wise.program.items[i];
    const bsm_dtype dtype = result_dtype(op, registers);
    registers[op->dst] = dtype;
    params->program[i] =
        (bsm_step_ew_instruction){.kind = op->kind,
                                  .code = op->code,
                                  .dst = op->dst,
                                  .a = op->a,
                                  .b = op->b,
                                  .c = op->c,
                                  .dtype = (int32_t)dtype,
                                  .alpha = op->alpha,
                                  .beta = op->beta,
                                  .integer = to_integer(op->alpha)};
  }
  return BSM_OK;
}

/* Whether input i has as many elements as the output. */
static bool is_full(const bsm_emitter *e, const bsm_layer *layer, size_t i) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_layout *in =
      &bsm_build_tensor_at(e, bsm_build_value(e, layer->inputs.items[i]))
           ->layout;
  bsm_layout same = *in;
  same.dims = y->dims;
  return in->dims.rank == y->dims.rank && bsm_layout_equal(in, &same) &&
         !bsm_layout_is_broadcast(in);
}

/* The order in memory of most inputs that have the output's dims; of several
 * the one that readers want, or else that of the first. */
static bsm_layout output_layout(const bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bsm_layout preferred = bsm_build_preferred(e, y);
  if (!bsm_layout_is_contiguous(&preferred)) return preferred;
  bsm_layout orders[BSM_EW_MAX_INPUTS], best = preferred;
  int votes[BSM_EW_MAX_INPUTS] = {0}, most = 0;
  size_t count = 0;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    if (!is_full(e, layer, i)) continue;
    const bsm_layout *in =
        &bsm_build_tensor_at(e, bsm_build_value(e, layer->inputs.items[i]))
             ->layout;
    const bsm_layout order =
        bsm_layout_is_dense(in) ? *in : bsm_layout_like(y->dims, in);
    size_t k = 0;
    while (k < count && !bsm_layout_equal(&orders[k], &order)) k++;
    if (k == count) orders[count++] = order;
    votes[k]++;
  }
  const bool wants_channels =
      count > 1 && bsm_build_readers_want_channels_last(e, y, READERS);
  for (size_t k = 0; k < count; k++) {
    const int vote = 2 * votes[k] + (wants_channels &&
                                     bsm_layout_has_channels_inner(&orders[k]));
    if (vote <= most) continue;
    most = vote;
    best = orders[k];
  }
  return best;
}

/* Input i as the step reads it. On the host, walking through a large image
 * across its order in memory takes longer than to copy it into the order of the
 * output. */
static bsm_status bring_input(bsm_emitter *e, const bsm_layer *layer, size_t i,
                              const bsm_layout *to, uint32_t *out) {
  const bsm_itensor *y = layer->outputs.items[0];
  int64_t count;
  *out = bsm_build_value(e, layer->inputs.items[i]);
  if (e->target->host == e->target && is_full(e, layer, i) &&
      bsm_dims_numel(y->dims, &count) && count >= LARGE) {
    BSM_TRY(bsm_build_as_ordered(e, layer->inputs.items[i], to, out));
  }
  const bsm_layout in = bsm_build_tensor_at(e, *out)->layout;
  const bsm_layout wide = bsm_layout_broadcast(&in, y->dims);
  if (bsm_layout_equal(&in, &wide)) return BSM_OK;
  return bsm_build_view(e, *out, wide, 0, out);
}

/* A program that is a single constant becomes a fill. */
static bsm_status emit_constant_fill(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const double value = layer->p.fused_element_wise.program.items[0].alpha;
  const bsm_step_fill params = {value, to_integer(value)};
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, bsm_layout_contiguous(y->dims),
                        &e->value[y->id]));
  return bsm_build_step(e,
                        &(bsm_step_spec){BSM_STEP_FILL, layer->name, NULL, 0,
                                         &e->value[y->id], 1, &params},
                        NULL);
}

bsm_status bsm_build_element_wise(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  if (layer->inputs.len == 0 && layer->p.fused_element_wise.program.len == 1) {
    return emit_constant_fill(e, layer);
  }
  bsm_step_element_wise params = {0};
  uint32_t inputs[BSM_EW_MAX_INPUTS];
  BSM_TRY(fill_program(layer, &params));
  const bsm_layout layout = output_layout(e, layer);
  for (size_t i = 0; i < layer->inputs.len; i++) {
    BSM_TRY(bring_input(e, layer, i, &layout, &inputs[i]));
  }
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, layout, &e->value[y->id]));
  return bsm_build_step(e,
                        &(bsm_step_spec){BSM_STEP_ELEMENT_WISE, layer->name,
                                         inputs, (uint32_t)layer->inputs.len,
                                         &e->value[y->id], 1, &params},
                        NULL);
}
