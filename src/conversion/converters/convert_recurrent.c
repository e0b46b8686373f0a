/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN: single cells, and whole sequences unrolled over time. */
#include "conversion/emit.h"

/* x @ w^T + b, the bias optional. */
static bsm_itensor *affine(bsm_conversion_ctx *ctx, const bsm_args *args,
                           bsm_itensor *x, size_t weight, size_t bias) {
  bsm_itensor *w = bsm_arg_itensor_or_freeze(ctx, args, weight);
  bsm_itensor *out = bsm_emit_matmul(ctx, x, false, w, true);
  if (!out || bsm_arg_is_none(args, bias)) return out;
  return bsm_emit_binary(ctx, out, bsm_arg_itensor_or_freeze(ctx, args, bias),
                         BSM_ELEMENT_WISE_SUM);
}

static bsm_itensor *sigmoid(bsm_conversion_ctx *ctx, bsm_itensor *x) {
  return bsm_emit_activation(ctx, x, BSM_ACTIVATION_SIGMOID, 0, 0);
}

static bsm_itensor *hyperbolic(bsm_conversion_ctx *ctx, bsm_itensor *x) {
  return bsm_emit_activation(ctx, x, BSM_ACTIVATION_TANH, 0, 0);
}

static bsm_itensor *sum(bsm_conversion_ctx *ctx, bsm_itensor *a,
                        bsm_itensor *b) {
  return bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_SUM);
}

static bsm_itensor *product(bsm_conversion_ctx *ctx, bsm_itensor *a,
                            bsm_itensor *b) {
  return bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_PROD);
}

/* Gate `index` of `count` equal parts of the last dim. */
static bsm_itensor *gate(bsm_conversion_ctx *ctx, bsm_itensor *x, int64_t index,
                         int64_t count) {
  if (!x) return NULL;
  int32_t axis = bsm_rank(x) - 1;
  int64_t size = x->dims.d[axis] / count;
  return bsm_emit_slice(ctx, x, axis, index * size, size, 1);
}

/* The state of a cell; `c` only for LSTM. */
typedef struct cell_state {
  bsm_itensor *h, *c;
} cell_state;

enum { CELL_LSTM, CELL_GRU, CELL_TANH, CELL_RELU };

static cell_state lstm_step(bsm_conversion_ctx *ctx, bsm_itensor *from_x,
                            bsm_itensor *from_h, cell_state before) {
  cell_state after;
  bsm_itensor *gates = sum(ctx, from_x, from_h);
  bsm_itensor *in = sigmoid(ctx, gate(ctx, gates, 0, 4));
  bsm_itensor *forget = sigmoid(ctx, gate(ctx, gates, 1, 4));
  bsm_itensor *cell = hyperbolic(ctx, gate(ctx, gates, 2, 4));
  bsm_itensor *out = sigmoid(ctx, gate(ctx, gates, 3, 4));
  after.c = sum(ctx, product(ctx, forget, before.c), product(ctx, in, cell));
  after.h = product(ctx, out, hyperbolic(ctx, after.c));
  return after;
}

/* h' = n + z * (h - n), where n = tanh(x_n + r * h_n). */
static cell_state gru_step(bsm_conversion_ctx *ctx, bsm_itensor *from_x,
                           bsm_itensor *from_h, cell_state before) {
  bsm_itensor *reset =
      sigmoid(ctx, sum(ctx, gate(ctx, from_x, 0, 3), gate(ctx, from_h, 0, 3)));
  bsm_itensor *update =
      sigmoid(ctx, sum(ctx, gate(ctx, from_x, 1, 3), gate(ctx, from_h, 1, 3)));
  bsm_itensor *fresh =
      hyperbolic(ctx, sum(ctx, gate(ctx, from_x, 2, 3),
                          product(ctx, reset, gate(ctx, from_h, 2, 3))));
  bsm_itensor *kept =
      bsm_emit_binary(ctx, before.h, fresh, BSM_ELEMENT_WISE_SUB);
  return (cell_state){sum(ctx, product(ctx, kept, update), fresh), NULL};
}

/* One step from the products of the input and of the state. */
static cell_state step(bsm_conversion_ctx *ctx, int kind, bsm_itensor *from_x,
                       bsm_itensor *from_h, cell_state before) {
  if (kind == CELL_LSTM) return lstm_step(ctx, from_x, from_h, before);
  if (kind == CELL_GRU) return gru_step(ctx, from_x, from_h, before);
  return (cell_state){
      bsm_emit_activation(
          ctx, sum(ctx, from_x, from_h),
          kind == CELL_TANH ? BSM_ACTIVATION_TANH : BSM_ACTIVATION_RELU, 0, 0),
      NULL};
}

/* `variant` is the kind of cell. */
static bsm_status convert_cell(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { INPUT, HX, W_IH, W_HH, B_IH, B_HH };
  int kind = bsm_args_variant(args);
  cell_state state = {0};
  if (kind == CELL_LSTM) {
    size_t count;
    bsm_itensor *const *hx =
        bsm_arg_unwrap_to_itensor_list(ctx, args, HX, &count);
    BSM_CHECK(hx && count == 2 && hx[0] && hx[1],
              "lstm_cell expects two hidden states");
    state = (cell_state){hx[0], hx[1]};
  } else {
    state.h = bsm_arg_itensor_or_freeze(ctx, args, HX);
  }
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  state = step(ctx, kind, affine(ctx, args, x, W_IH, B_IH),
               affine(ctx, args, state.h, W_HH, B_HH), state);
  BSM_TRY(bsm_emit_output(ctx, node, 0, state.h));
  if (kind != CELL_LSTM) return BSM_OK;
  return bsm_emit_output(ctx, node, 1, state.c);
}

/* ---- sequences ---- */

/* Steps of one sequence operator: each is a dozen layers. */
#define MAX_STEPS 16384

typedef struct sequence {
  int kind;
  int64_t layers, directions, length;
  bool biases;
  bsm_itensor *const *params;
  bsm_itensor **steps; /* room for `length` */
} sequence;

/* x @ w^T + b with tensors; b may be NULL. */
static bsm_itensor *affine_of(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_itensor *w, bsm_itensor *b) {
  bsm_itensor *out = bsm_emit_matmul(ctx, x, false, w, true);
  return b ? sum(ctx, out, b) : out;
}

/* One layer in one direction over x [T, B, I]: gives [T, B, H] and the last
 * state. The products with the input are one multiply for all steps. */
static bsm_itensor *run_direction(bsm_conversion_ctx *ctx, const sequence *seq,
                                  size_t index, bsm_itensor *x,
                                  cell_state *state) {
  bsm_itensor *const *w = seq->params + index * (seq->biases ? 4 : 2);
  bool backward = index % (size_t)seq->directions == 1;
  bsm_itensor *from_x = affine_of(ctx, x, w[0], seq->biases ? w[2] : NULL);
  for (int64_t i = 0; i < seq->length; i++) {
    int64_t t = backward ? seq->length - 1 - i : i;
    bsm_itensor *now =
        bsm_emit_squeeze(ctx, bsm_emit_slice(ctx, from_x, 0, t, 1, 1), 1);
    bsm_itensor *from_h =
        affine_of(ctx, state->h, w[1], seq->biases ? w[3] : NULL);
    *state = step(ctx, seq->kind, now, from_h, *state);
    seq->steps[t] = bsm_emit_unsqueeze(ctx, state->h, 0);
    if (!seq->steps[t]) return NULL;
  }
  return bsm_emit_concat(ctx, seq->steps, (size_t)seq->length, 0);
}

/* Row `index` of the initial states [layers * directions, B, H]. */
static bsm_itensor *initial(bsm_conversion_ctx *ctx, bsm_itensor *states,
                            size_t index) {
  return states
             ? bsm_emit_squeeze(
                   ctx, bsm_emit_slice(ctx, states, 0, (int64_t)index, 1, 1), 1)
             : NULL;
}

/* All layers; the last states are stacked into *h and *c. */
static bsm_itensor *run_layers(bsm_conversion_ctx *ctx, const sequence *seq,
                               bsm_itensor *x, cell_state first,
                               cell_state *last) {
  size_t count = (size_t)(seq->layers * seq->directions);
  bsm_itensor **hs = bsm_conversion_alloc(ctx, count * 2 * sizeof *hs);
  if (!hs) return bsm_emit_fail(ctx, BSM_LIMIT, "too many layers");
  bsm_itensor **cs = hs + count;
  for (size_t layer = 0; layer < (size_t)seq->layers; layer++) {
    bsm_itensor *outs[2] = {NULL, NULL};
    for (size_t d = 0; d < (size_t)seq->directions; d++) {
      size_t index = layer * (size_t)seq->directions + d;
      cell_state state = {initial(ctx, first.h, index),
                          initial(ctx, first.c, index)};
      outs[d] = run_direction(ctx, seq, index, x, &state);
      hs[index] = bsm_emit_unsqueeze(ctx, state.h, 0);
      cs[index] = bsm_emit_unsqueeze(ctx, state.c, 0);
    }
    x = bsm_emit_concat(ctx, outs, (size_t)seq->directions, 2);
    if (!x) return NULL;
  }
  last->h = bsm_emit_concat(ctx, hs, count, 0);
  last->c = first.c ? bsm_emit_concat(ctx, cs, count, 0) : NULL;
  return x;
}

/* The initial states: a list of two for LSTM, one tensor else. */
static bsm_status initial_states(bsm_conversion_ctx *ctx, const bsm_args *args,
                                 int kind, cell_state *out) {
  enum { INPUT, HX };
  size_t count;
  *out = (cell_state){0};
  if (kind != CELL_LSTM) {
    out->h = bsm_arg_itensor_or_freeze(ctx, args, HX);
    return BSM_OK;
  }
  bsm_itensor *const *hx =
      bsm_arg_unwrap_to_itensor_list(ctx, args, HX, &count);
  BSM_CHECK(hx && count == 2 && hx[0] && hx[1],
            "lstm expects two hidden states");
  *out = (cell_state){hx[0], hx[1]};
  return BSM_OK;
}

static bsm_status read_sequence(bsm_conversion_ctx *ctx, const bsm_args *args,
                                sequence *seq) {
  enum {
    INPUT,
    HX,
    PARAMS,
    HAS_BIASES,
    NUM_LAYERS,
    DROPOUT,
    TRAIN,
    BIDIRECTIONAL
  };
  size_t count;
  seq->kind = bsm_args_variant(args);
  seq->biases = bsm_arg_unwrap_to_bool(args, HAS_BIASES);
  seq->layers = bsm_arg_unwrap_to_int(args, NUM_LAYERS);
  seq->directions = bsm_arg_unwrap_to_bool(args, BIDIRECTIONAL) ? 2 : 1;
  seq->params = bsm_arg_unwrap_to_itensor_list(ctx, args, PARAMS, &count);
  BSM_CHECK(!bsm_arg_unwrap_to_bool(args, TRAIN) ||
                !(bsm_arg_unwrap_to_double(args, DROPOUT) > 0),
            "a recurrent network with dropout in training mode draws random "
            "numbers; call model.eval() before exporting");
  BSM_CHECK(seq->layers >= 1 && seq->layers <= 1024,
            "a recurrent network of %lld layers", (long long)seq->layers);
  size_t wanted =
      (size_t)(seq->layers * seq->directions) * (seq->biases ? 4u : 2u);
  BSM_CHECK(seq->params && count == wanted,
            "a recurrent network with %zu weights, %zu were expected "
            "(projections are not supported)",
            count, wanted);
  for (size_t i = 0; i < count; i++) {
    if (!seq->params[i]) return bsm_ctx_take_error(ctx);
  }
  return BSM_OK;
}

static bsm_status convert_sequence(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { INPUT, BATCH_FIRST = 8 };
  sequence seq = {0};
  cell_state first, last = {0};
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  BSM_TRY(read_sequence(ctx, args, &seq));
  BSM_TRY(initial_states(ctx, args, seq.kind, &first));
  if (!x || !first.h) return bsm_ctx_take_error(ctx);
  bool batched = bsm_rank(x) == 3;
  bool batch_first = batched && bsm_arg_unwrap_to_bool(args, BATCH_FIRST);
  BSM_CHECK(batched || bsm_rank(x) == 2,
            "a recurrent network with an input of dims %s",
            bsm_dims_str(x->dims));
  if (!batched) {
    x = bsm_emit_unsqueeze(ctx, x, 1);
    first.h = bsm_emit_unsqueeze(ctx, first.h, 1);
    first.c = bsm_emit_unsqueeze(ctx, first.c, 1);
  }
  if (batch_first) x = bsm_emit_transpose(ctx, x, 0, 1);
  if (!x) return bsm_ctx_take_error(ctx);
  seq.length = x->dims.d[0];
  BSM_CHECK(seq.length >= 1 &&
                seq.length <= MAX_STEPS / (seq.layers * seq.directions),
            "a recurrent network over %lld steps", (long long)seq.length);
  seq.steps = bsm_conversion_alloc(ctx, (size_t)seq.length * sizeof *seq.steps);
  BSM_TRY_ALLOC(seq.steps);
  x = run_layers(ctx, &seq, x, first, &last);
  if (batch_first) x = bsm_emit_transpose(ctx, x, 0, 1);
  if (!batched) {
    x = bsm_emit_squeeze(ctx, x, 2);
    last.h = bsm_emit_squeeze(ctx, last.h, 2);
    last.c = bsm_emit_squeeze(ctx, last.c, 2);
  }
  BSM_TRY(bsm_emit_output(ctx, node, 0, x));
  BSM_TRY(bsm_emit_output(ctx, node, 1, last.h));
  if (seq.kind != CELL_LSTM) return BSM_OK;
  return bsm_emit_output(ctx, node, 2, last.c);
}

#define CELL(name, kind)                                        \
  {                                                             \
    "aten::" name                                               \
    "_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, " \
    "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",          \
        convert_cell, kind                                      \
  }
#define SEQUENCE(name, states, results, kind)                                \
  {                                                                          \
    "aten::" name ".input(Tensor input, " states                             \
    " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, " \
    "bool train, bool bidirectional, bool batch_first) -> " results,         \
        convert_sequence, kind                                               \
  }

static const bsm_conversion_pattern patterns[] = {
    {"aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, "
     "Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
     convert_cell, CELL_LSTM},
    CELL("gru", CELL_GRU),
    CELL("rnn_tanh", CELL_TANH),
    CELL("rnn_relu", CELL_RELU),
    SEQUENCE("lstm", "Tensor[]", "(Tensor, Tensor, Tensor)", CELL_LSTM),
    SEQUENCE("gru", "Tensor", "(Tensor, Tensor)", CELL_GRU),
    SEQUENCE("rnn_tanh", "Tensor", "(Tensor, Tensor)", CELL_TANH),
    SEQUENCE("rnn_relu", "Tensor", "(Tensor, Tensor)", CELL_RELU),
};
BSM_CONVERTER_TABLE(recurrent, patterns);
