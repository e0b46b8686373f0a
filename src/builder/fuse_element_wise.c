/* SPDX-License-Identifier: Apache-2.0 */
/* Turns element-wise layers into programs and merges chains of them, so that a
 * chain reads and writes memory once.
 *
 * Every activation, unary, element-wise, select, cast, scale and parametric
 * ReLU layer becomes a fused element-wise layer of a few instructions; scalar
 * constants become instructions. Then a program is prepended to its reader,
 * when that is the only one and has the same dims.
 * Establishes: no layer of these kinds is left; dims of fused layers are fixed
 * and no longer follow from their inputs. */
#include <string.h>

#include "aten/tensor.h"
#include "builder/passes.h"
#include "builder/uses.h"
#include "engine/plan.h"

typedef struct state {
  bsm_network *net;
  BSM_VEC(bsm_layer *) order; /* the new list of layers */
} state;

/* ---- one layer -> a program ---- */

static bsm_status push(state *s, bsm_layer *layer, bsm_ew_instruction op) {
  op.dst = layer->p.fused_element_wise.registers++;
  BSM_TRY_ALLOC(
      bsm_vec_push(s->net->arena, &layer->p.fused_element_wise.program, op));
  layer->p.fused_element_wise.result = op.dst;
  return BSM_OK;
}

/* A constant layer for per-channel values of a scale layer, [C, 1, 1...]. */
static bsm_status channel_constant(state *s, const bsm_weights *w, int32_t rank,
                                   bsm_itensor **out) {
  bsm_layer *layer;
  BSM_TRY(
      bsm_network_new_layer(s->net, BSM_LAYER_CONSTANT, NULL, 0, 1, &layer));
  s->net->layers.len--; /* placed in the new order */
  layer->p.constant.weights = *w;
  bsm_dims dims = {w->count == 1 ? 0 : rank - 1, {0}};
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = i == 0 ? w->count : 1;
  layer->p.constant.weights.shape = dims;
  *out = layer->outputs.items[0];
  (*out)->dtype = w->dtype;
  (*out)->dims = dims;
  BSM_TRY_ALLOC(bsm_vec_push(s->net->arena, &s->order, layer));
  return BSM_OK;
}

static bsm_status scale_to_program(state *s, bsm_layer *layer) {
  const bsm_weights weights[3] = {layer->p.scale.scale, layer->p.scale.shift,
                                  layer->p.scale.power};
  static const bsm_element_wise_operation operations[3] = {
      BSM_ELEMENT_WISE_PROD, BSM_ELEMENT_WISE_SUM, BSM_ELEMENT_WISE_POW};
  const int32_t rank = layer->inputs.items[0]->dims.rank;
  memset(&layer->p, 0, sizeof(layer->p));
  for (int i = 0; i < 3; i++) {
    if (weights[i].count == 0) continue;
    bsm_itensor *constant;
    BSM_TRY(channel_constant(s, &weights[i], rank, &constant));
    BSM_TRY_ALLOC(bsm_vec_push(s->net->arena, &layer->inputs, constant));
  }
  layer->p.fused_element_wise.registers = (int32_t)layer->inputs.len;
  int32_t operand = 1, result = 0;
  for (int i = 0; i < 3; i++) {
    if (weights[i].count == 0) continue;
    BSM_TRY(push(s, layer,
                 (bsm_ew_instruction){.kind = BSM_EW_BINARY,
                                      .code = (int32_t)operations[i],
                                      .a = result,
                                      .b = operand++}));
    result = layer->p.fused_element_wise.result;
  }
  return BSM_OK;
}

static bsm_status prelu_to_program(state *s, bsm_layer *layer) {
  memset(&layer->p, 0, sizeof(layer->p));
  layer->p.fused_element_wise.registers = 2;
  BSM_TRY(push(
      s, layer,
      (bsm_ew_instruction){.kind = BSM_EW_CONSTANT,
                           .code = (int32_t)layer->inputs.items[0]->dtype}));
  BSM_TRY(push(s, layer,
               (bsm_ew_instruction){.kind = BSM_EW_BINARY,
                                    .code = BSM_ELEMENT_WISE_GREATER,
                                    .a = 0,
                                    .b = 2}));
  BSM_TRY(push(s, layer,
               (bsm_ew_instruction){.kind = BSM_EW_BINARY,
                                    .code = BSM_ELEMENT_WISE_PROD,
                                    .a = 0,
                                    .b = 1}));
  return push(
      s, layer,
      (bsm_ew_instruction){.kind = BSM_EW_SELECT, .a = 3, .b = 0, .c = 4});
}

static bsm_status fill_to_program(state *s, bsm_layer *layer) {
  const double value = layer->p.fill.value;
  const bsm_dtype dtype = layer->p.fill.dtype;
  memset(&layer->p, 0, sizeof(layer->p));
  return push(
      s, layer,
      (bsm_ew_instruction){
          .kind = BSM_EW_CONSTANT, .code = (int32_t)dtype, .alpha = value});
}

/* The instruction for a layer of one instruction; false for other kinds. */
static bool single_instruction(const bsm_layer *layer,
                               bsm_ew_instruction *out) {
  const size_t inputs = layer->inputs.len;
  *out = (bsm_ew_instruction){.b = inputs > 1 ? 1 : 0, .c = inputs > 2 ? 2 : 0};
  switch (layer->kind) {
    case BSM_LAYER_ACTIVATION:
      out->kind = BSM_EW_ACTIVATION;
      out->code = (int32_t)layer->p.activation.type;
      out->alpha = layer->p.activation.alpha;
      out->beta = layer->p.activation.beta;
      return true;
    case BSM_LAYER_UNARY:
      out->kind = BSM_EW_UNARY;
      out->code = (int32_t)layer->p.unary.operation;
      return true;
    case BSM_LAYER_ELEMENT_WISE:
      out->kind = BSM_EW_BINARY;
      out->code = (int32_t)layer->p.element_wise.operation;
      return true;
    case BSM_LAYER_SELECT:
      out->kind = BSM_EW_SELECT;
      return true;
    case BSM_LAYER_CAST:
      out->kind = BSM_EW_CAST;
      out->code = (int32_t)layer->p.cast.dtype;
      return true;
    default:
      return false;
  }
}

static bsm_status to_program(state *s, bsm_layer *layer) {
  bsm_ew_instruction op;
  bsm_status status = BSM_OK;
  if (single_instruction(layer, &op)) {
    memset(&layer->p, 0, sizeof(layer->p));
    layer->p.fused_element_wise.registers = (int32_t)layer->inputs.len;
    status = push(s, layer, op);
  } else if (layer->kind == BSM_LAYER_SCALE) {
    status = scale_to_program(s, layer);
  } else if (layer->kind == BSM_LAYER_PARAMETRIC_RELU) {
    status = prelu_to_program(s, layer);
  } else if (layer->kind == BSM_LAYER_FILL) {
    status = fill_to_program(s, layer);
  } else {
    return BSM_OK;
  }
  layer->kind = BSM_LAYER_FUSED_ELEMENT_WISE;
  return status;
}

/* ---- merging ---- */

/* Makes the program of a constant of one element, when an instruction can hold
 * its value exactly. */
static bool scalar_constant(const bsm_itensor *t, bsm_ew_instruction *out) {
  const bsm_layer *layer = t->producer;
  if (!layer || layer->kind != BSM_LAYER_CONSTANT ||
      layer->p.constant.weights.count != 1 || layer->p.constant.deferred.cast) {
    return false;
  }
  const void *data = layer->p.constant.weights.values;
  *out =
      (bsm_ew_instruction){.kind = BSM_EW_CONSTANT, .code = (int32_t)t->dtype};
  switch (t->dtype) {
    case BSM_DTYPE_FLOAT: {
      float v;
      memcpy(&v, data, sizeof(v));
      out->alpha = (double)v;
      return true;
    }
    case BSM_DTYPE_DOUBLE:
      memcpy(&out->alpha, data, sizeof(double));
      return true;
    case BSM_DTYPE_BOOL:
      out->alpha = *(const uint8_t *)data ? 1 : 0;
      return true;
    case BSM_DTYPE_INT64: {
      int64_t v;
      memcpy(&v, data, sizeof(v));
      out->alpha = (double)v;
      return v > -(INT64_C(1) << 53) && v < (INT64_C(1) << 53);
    }
    case BSM_DTYPE_INT32: {
      int32_t v;
      memcpy(&v, data, sizeof(v));
      out->alpha = (double)v;
      return true;
    }
    default:
      return false;
  }
}

/* What replaces an input of a program when programs are merged: another
 * program, a single instruction, or nothing (the input stays). */
typedef struct source {
  const bsm_layer *program;
  bool is_constant;
  bsm_ew_instruction constant;
} source;

/* Whether the program that makes input `t` of `reader` can be merged into it.
 */
static source find_source(const bsm_uses *uses, const bsm_layer *reader,
                          const bsm_itensor *t) {
  source found = {0};
  if (scalar_constant(t, &found.constant)) {
    found.is_constant = true;
    return found;
  }
  const bsm_layer *p = t->producer;
  if (!p || p->removed || p->kind != BSM_LAYER_FUSED_ELEMENT_WISE ||
      uses->is_output[t->id]) {
    return found;
  }
  if (p->inputs.len == 0 && p->p.fused_element_wise.program.len == 1) {
    found.is_constant = true; /* a fill: each reader gets its own */
    found.constant = p->p.fused_element_wise.program.items[0];
    return found;
  }
  if (!bsm_dims_equal(t->dims, reader->outputs.items[0]->dims)) return found;
  for (uint32_t i = 0; i < uses->reader_count[t->id]; i++) {
    const bsm_layer *other = uses->readers[t->id][i];
    if (!other->removed && other != reader) return found;
  }
  found.program = p;
  return found;
}

/* A program under construction: inputs first, instructions later, so operands
 * are kept as references until all inputs are known. */
typedef struct merger {
  bsm_itensor *inputs[BSM_EW_MAX_INPUTS];
  int32_t input_count;
  bsm_ew_instruction program[BSM_EW_MAX_INSTRUCTIONS];
  int32_t count;
  bool full;
} merger;

/* Smaller references are inputs, others are instructions. */
#define INSTRUCTION_BASE 1000

static int32_t merge_input(merger *m, bsm_itensor *t) {
  for (int32_t i = 0; i < m->input_count; i++) {
    if (m->inputs[i] == t) return i;
  }
  if (m->input_count == BSM_EW_MAX_INPUTS) {
    m->full = true;
    return 0;
  }
  m->inputs[m->input_count] = t;
  return m->input_count++;
}

static int32_t merge_instruction(merger *m, bsm_ew_instruction op) {
  if (m->count == BSM_EW_MAX_INSTRUCTIONS) {
    m->full = true;
    return INSTRUCTION_BASE;
  }
  m->program[m->count] = op;
  return INSTRUCTION_BASE + m->count++;
}

/* Appends a program whose input i is `operands[i]`; returns its result. */
static int32_t merge_program(merger *m, const bsm_layer *layer,
                             const int32_t *operands) {
  int32_t map[BSM_EW_MAX_REGISTERS + BSM_EW_MAX_INPUTS] = {0};
  for (size_t i = 0; i < layer->inputs.len; i++) map[i] = operands[i];
  for (size_t i = 0; i < layer->p.fused_element_wise.program.len; i++) {
    bsm_ew_instruction op = layer->p.fused_element_wise.program.items[i];
    const int32_t dst = op.dst;
    op.a = map[op.a];
    op.b = map[op.b];
    op.c = map[op.c];
    map[dst] = merge_instruction(m, op);
  }
  return map[layer->p.fused_element_wise.result];
}

static void merge_plain_inputs(merger *m, const bsm_layer *layer,
                               int32_t *operands) {
  for (size_t i = 0; i < layer->inputs.len; i++) {
    operands[i] = merge_input(m, layer->inputs.items[i]);
  }
}

static int32_t final_register(const merger *m, int32_t reference) {
  return reference < INSTRUCTION_BASE
             ? reference
             : reference - INSTRUCTION_BASE + m->input_count;
}

/* How many operands an instruction reads. */
static int operand_count(const bsm_ew_instruction *op) {
  switch (op->kind) {
    case BSM_EW_CONSTANT:
      return 0;
    case BSM_EW_BINARY:
      return 2;
    case BSM_EW_SELECT:
      return 3;
    default:
      return 1;
  }
}

static bsm_status install(state *s, bsm_layer *layer, const merger *m,
                          int32_t result) {
  layer->inputs.len = 0;
  for (int32_t i = 0; i < m->input_count; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(s->net->arena, &layer->inputs, m->inputs[i]));
  }
  layer->p.fused_element_wise.program.len = 0;
  for (int32_t i = 0; i < m->count; i++) {
    bsm_ew_instruction op = m->program[i];
    const int operands = operand_count(&op);
    op.dst = m->input_count + i;
    op.a = operands > 0 ? final_register(m, op.a) : 0;
    op.b = operands > 1 ? final_register(m, op.b) : 0;
    op.c = operands > 2 ? final_register(m, op.c) : 0;
    BSM_TRY_ALLOC(
        bsm_vec_push(s->net->arena, &layer->p.fused_element_wise.program, op));
  }
  layer->p.fused_element_wise.registers = m->input_count + m->count;
  layer->p.fused_element_wise.result = final_register(m, result);
  return BSM_OK;
}

/* `reader` replaces a merged program in the index. */
static void inherit(bsm_uses *uses, bsm_layer *program, bsm_layer *reader) {
  program->removed = true;
  for (size_t i = 0; i < program->inputs.len; i++) {
    const uint32_t id = program->inputs.items[i]->id;
    for (uint32_t k = 0; k < uses->reader_count[id]; k++) {
      if (uses->readers[id][k] == program) uses->readers[id][k] = reader;
    }
  }
}

/* Merges into `layer` the programs that make its inputs; *changed says whether
 * there were any. */
static bsm_status merge_once(state *s, bsm_layer *layer, bsm_uses *uses,
                             bool *changed) {
  *changed = false;
  merger m = {.input_count = 0};
  int32_t operands[BSM_EW_MAX_INPUTS];
  bsm_layer *merged[BSM_EW_MAX_INPUTS];
  size_t merged_count = 0;
  bool duplicate = false;
  if (layer->inputs.len > BSM_EW_MAX_INPUTS) return BSM_OK;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    bsm_itensor *t = layer->inputs.items[i];
    const source from = find_source(uses, layer, t);
    bool seen = false;
    for (size_t k = 0; k < i && !seen; k++) {
      seen = layer->inputs.items[k] == t;
      if (seen) operands[i] = operands[k];
    }
    if (seen) {
      duplicate = true;
    } else if (from.is_constant) {
      operands[i] = merge_instruction(&m, from.constant);
      *changed = true;
    } else if (from.program) {
      int32_t inner[BSM_EW_MAX_INPUTS];
      merge_plain_inputs(&m, from.program, inner);
      operands[i] = merge_program(&m, from.program, inner);
      merged[merged_count++] = t->producer;
      *changed = true;
    } else {
      operands[i] = merge_input(&m, t);
    }
  }
  *changed = *changed || duplicate;
  if (!*changed) return BSM_OK;
  const int32_t result = merge_program(&m, layer, operands);
  if (m.full || m.input_count + m.count > BSM_EW_MAX_REGISTERS) {
    *changed = false;
    return BSM_OK;
  }
  BSM_TRY(install(s, layer, &m, result));
  for (size_t i = merged_count; i-- > 0;) {
    BSM_TRY(bsm_layer_name_before(layer, merged[i]));
    inherit(uses, merged[i], layer);
  }
  return BSM_OK;
}

bsm_status bsm_pass_fuse_element_wise(const bsm_target *target,
                                      bsm_network *net, bsm_arena *scratch) {
  (void)target;
  state s = {.net = net};
  const size_t count = net->layers.len;
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    BSM_TRY(to_program(&s, layer));
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &s.order, layer));
  }
  net->layers.len = 0;
  for (size_t i = 0; i < s.order.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, s.order.items[i]));
  }
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = net->layers.len; i-- > 0;) {
    bsm_layer *layer = net->layers.items[i];
    bool changed = layer->kind == BSM_LAYER_FUSED_ELEMENT_WISE;
    while (changed && !layer->removed) {
      BSM_TRY(merge_once(&s, layer, &uses, &changed));
    }
  }
  return BSM_OK;
}
