/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks. ONNX has their gates in another order, and the states of
 * all directions in another place. */
#include <string.h>

#include "onnx/onnx_emitter.h"

/* Which of our gates is ONNX's gate i: input, output, forget, cell; update,
 * reset, new. */
static const int *gate_order(bsm_recurrent_operation operation, int *gates) {
  static const int lstm[] = {0, 3, 1, 2}, gru[] = {1, 0, 2}, plain[] = {0};
  switch (operation) {
    case BSM_RECURRENT_LSTM:
      *gates = 4;
      return lstm;
    case BSM_RECURRENT_GRU:
      *gates = 3;
      return gru;
    default:
      *gates = 1;
      return plain;
  }
}

/* Copies [G H, width] of float with the gates in ONNX's order. `from` may be
 * empty: zeros. */
static void copy_gates(float *to, const bsm_weights *from, const int *order,
                       int gates, size_t block) {
  for (int g = 0; g < gates; g++) {
    float *target = to + (size_t)g * block;
    if (!from->count) {
      memset(target, 0, block * sizeof(*to));
      continue;
    }
    memcpy(target, (const float *)from->values + (size_t)order[g] * block,
           block * sizeof(*to));
  }
}

typedef struct gathered {
  float *input, *recurrent, *bias;
} gathered;

/* The weights of all directions, [D, G H, ..]; false without memory. */
static bool gather_weights(bsm_onnx_emitter *e, int64_t in, int64_t hidden,
                           gathered *out) {
  const bsm_layer *l = e->layer;
  int gates;
  const int *order = gate_order(l->p.recurrent.operation, &gates);
  const size_t h = (size_t)hidden, rows = (size_t)gates * h;
  const size_t n = (size_t)l->p.recurrent.directions;
  out->input = bsm_arena_alloc_array(e->arena, n * rows * (size_t)in + 1,
                                     sizeof(float), 16);
  out->recurrent =
      bsm_arena_alloc_array(e->arena, n * rows * h + 1, sizeof(float), 16);
  out->bias =
      bsm_arena_alloc_array(e->arena, n * 2 * rows + 1, sizeof(float), 16);
  if (!out->input || !out->recurrent || !out->bias) return false;
  for (size_t d = 0; d < n; d++) {
    const bsm_recurrent_weights *w = &l->p.recurrent.weights[d];
    copy_gates(out->input + d * rows * (size_t)in, &w->input, order, gates,
               h * (size_t)in);
    copy_gates(out->recurrent + d * rows * h, &w->recurrent, order, gates,
               h * h);
    copy_gates(out->bias + d * 2 * rows, &w->input_bias, order, gates, h);
    copy_gates(out->bias + (d * 2 + 1) * rows, &w->recurrent_bias, order, gates,
               h);
  }
  return true;
}

/* Y is [T, D, B, H], and ours [T, B, D H]. */
static const char *all_states(bsm_onnx_emitter *e, const char *y) {
  static const int64_t order[] = {0, 2, 1, 3};
  const bsm_onnx_attribute perm = bsm_onnx_list("perm", order, 4);
  y = bsm_onnx_op(e, "Transpose", &y, 1, &perm, 1);
  return bsm_onnx_op2(e, "Reshape", y,
                      bsm_onnx_dims(e, e->layer->outputs.items[0]->dims));
}

static bool is_refused(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  for (int32_t d = 0; d < l->p.recurrent.directions; d++) {
    if (l->p.recurrent.weights[d].projection.count ||
        l->p.recurrent.weights[d].input.dtype != BSM_DTYPE_FLOAT) {
      bsm_onnx_refuse(e,
                      "a recurrent layer with a projection, or not of "
                      "float32");
      return true;
    }
  }
  return false;
}

/* The length of each sample as ONNX wants it; "": all are whole. */
static const char *lengths(bsm_onnx_emitter *e) {
  const bsm_weights *w = &e->layer->p.recurrent.lengths;
  if (!w->count) return "";
  int32_t *copy =
      bsm_arena_alloc_array(e->arena, (size_t)w->count, sizeof(*copy), 16);
  if (!copy) {
    if (!e->status) e->status = BSM_FAIL_OOM();
    return NULL;
  }
  for (int64_t i = 0; i < w->count; i++) {
    copy[i] = (int32_t)((const int64_t *)w->values)[i];
  }
  const bsm_dims dims = {1, {w->count}};
  return bsm_onnx_initializer(e, BSM_DTYPE_INT32, dims, copy);
}

void bsm_onnx_recurrent(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const bsm_recurrent_operation operation = l->p.recurrent.operation;
  const int64_t n = l->p.recurrent.directions;
  const int64_t in = l->inputs.items[0]->dims.d[2];
  const int64_t hidden = l->inputs.items[1]->dims.d[2];
  const bool lstm = operation == BSM_RECURRENT_LSTM;
  int gates;
  gathered w;
  if (is_refused(e)) return;
  (void)gate_order(operation, &gates);
  if (!gather_weights(e, in, hidden, &w)) {
    if (!e->status) e->status = BSM_FAIL_OOM();
    return;
  }
  const bsm_dims dims[] = {{3, {n, gates * hidden, in}},
                           {3, {n, gates * hidden, hidden}},
                           {2, {n, 2 * gates * hidden}}};
  const char *const inputs[] = {
      bsm_onnx_in(e, 0),
      bsm_onnx_initializer(e, BSM_DTYPE_FLOAT, dims[0], w.input),
      bsm_onnx_initializer(e, BSM_DTYPE_FLOAT, dims[1], w.recurrent),
      bsm_onnx_initializer(e, BSM_DTYPE_FLOAT, dims[2], w.bias),
      lengths(e),
      bsm_onnx_in(e, 1),
      lstm ? bsm_onnx_in(e, 2) : ""};
  static const char *const relus[] = {"Relu", "Relu"};
  bsm_onnx_attribute attributes[4] = {
      bsm_onnx_int("hidden_size", hidden),
      bsm_onnx_string("direction", n == 2 ? "bidirectional" : "forward")};
  size_t count = 2;
  if (operation == BSM_RECURRENT_GRU) {
    attributes[count++] = bsm_onnx_int("linear_before_reset", 1);
  }
  if (operation == BSM_RECURRENT_RELU) {
    attributes[count++] = (bsm_onnx_attribute){.name = "activations",
                                               .kind = BSM_ONNX_STRINGS,
                                               .strings = relus,
                                               .count = (size_t)n};
  }
  const char *outputs[3] = {NULL};
  bsm_onnx_op_to(e,
                 lstm                             ? "LSTM"
                 : operation == BSM_RECURRENT_GRU ? "GRU"
                                                  : "RNN",
                 inputs, lstm ? 7 : 6, attributes, count, outputs,
                 lstm ? 3 : 2);
  bsm_onnx_out(e, 1, outputs[1]);
  if (lstm) bsm_onnx_out(e, 2, outputs[2]);
  bsm_onnx_out(e, 0, all_states(e, outputs[0]));
}
