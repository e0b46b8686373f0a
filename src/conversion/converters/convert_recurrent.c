/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN. Single cells become products and element-wise layers;
 * sequences become one recurrent layer for each level, or, when their weights
 * are computed, are unrolled over time. */
#include "aten/tensor.h"
#include "conversion/packed_sequence.h"

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

/* Steps of a sequence that is unrolled: each is a dozen layers. */
#define MAX_STEPS 16384
#define MAX_LEVELS 1024

/* Several levels in one or two directions. `params` holds for each level and
 * direction: w_ih, w_hh [, b_ih, b_hh] [, w_hr]. */
typedef struct sequence {
  int kind;
  int64_t levels, directions, length;
  bool biases, projects;
  size_t stride; /* params of a direction */
  bsm_itensor *const *params;
  bsm_itensor **steps; /* unrolled: room for `length` */
  bsm_weights lengths; /* of the samples; count 0: all of `length` */
} sequence;

/* x @ w^T + b with tensors; b may be NULL. */
static bsm_itensor *affine_of(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_itensor *w, bsm_itensor *b) {
  bsm_itensor *out = bsm_emit_matmul(ctx, x, false, w, true);
  return b ? sum(ctx, out, b) : out;
}

/* One level in one direction over x [T, B, I], unrolled: gives [T, B, H] and
 * the last state. The products with the input are one multiply for all steps.
 */
static bsm_itensor *unroll_direction(bsm_conversion_ctx *ctx,
                                     const sequence *seq, size_t index,
                                     bsm_itensor *x, cell_state *state) {
  bsm_itensor *const *w = seq->params + index * seq->stride;
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

/* Row `index` of the states [D, B, H] of a level, as [B, H]. */
static bsm_itensor *row_of(bsm_conversion_ctx *ctx, bsm_itensor *states,
                           size_t index) {
  if (!states) return NULL;
  return bsm_emit_squeeze(
      ctx, bsm_emit_slice(ctx, states, 0, (int64_t)index, 1, 1), 1);
}

/* One level, unrolled; *state is replaced by the last one. */
static bsm_itensor *unroll_level(bsm_conversion_ctx *ctx, const sequence *seq,
                                 size_t level, bsm_itensor *x,
                                 cell_state *state) {
  const size_t directions = (size_t)seq->directions;
  bsm_itensor *outs[2] = {NULL}, *hs[2] = {NULL}, *cs[2] = {NULL};
  for (size_t d = 0; d < directions; d++) {
    cell_state one = {row_of(ctx, state->h, d), row_of(ctx, state->c, d)};
    outs[d] = unroll_direction(ctx, seq, level * directions + d, x, &one);
    hs[d] = bsm_emit_unsqueeze(ctx, one.h, 0);
    cs[d] = bsm_emit_unsqueeze(ctx, one.c, 0);
  }
  state->h = bsm_emit_concat(ctx, hs, directions, 0);
  if (state->c) state->c = bsm_emit_concat(ctx, cs, directions, 0);
  return bsm_emit_concat(ctx, outs, directions, 2);
}

/* The data of a constant tensor; empty when it is computed. */
static bsm_weights constant_of(const bsm_itensor *t) {
  if (t->producer && t->producer->kind == BSM_LAYER_CONSTANT) {
    return t->producer->p.constant.weights;
  }
  return (bsm_weights){0};
}

/* Whether recurrent layers can hold all weights. */
static bool is_constant(const sequence *seq) {
  const size_t count = (size_t)(seq->levels * seq->directions) * seq->stride;
  for (size_t i = 0; i < count; i++) {
    if (constant_of(seq->params[i]).count == 0) return false;
  }
  return true;
}

/* Layers of float32 run everywhere, others where the target says so. */
static bool is_taken(bsm_conversion_ctx *ctx, const bsm_layer *layer) {
  return layer->outputs.items[0]->dtype == BSM_DTYPE_FLOAT ||
         bsm_ctx_takes(ctx, layer);
}

/* Weights of half or bfloat16 as floats; others as they are. */
static bsm_weights widened(bsm_conversion_ctx *ctx, bsm_weights w) {
  const uint16_t *from = w.values;
  const bool is_half = w.dtype == BSM_DTYPE_HALF;
  if (w.count == 0 || !(is_half || w.dtype == BSM_DTYPE_BFLOAT16)) return w;
  float *to = bsm_conversion_alloc(ctx, (size_t)w.count * sizeof(*to));
  if (!to) return (bsm_weights){0};
  for (int64_t i = 0; i < w.count; i++) {
    to[i] =
        is_half ? bsm_half_to_float(from[i]) : bsm_bfloat16_to_float(from[i]);
  }
  w.dtype = BSM_DTYPE_FLOAT;
  w.values = to;
  return w;
}

static bsm_recurrent_weights weights_of(bsm_conversion_ctx *ctx,
                                        const sequence *seq, size_t index,
                                        bool widens) {
  bsm_itensor *const *w = seq->params + index * seq->stride;
  bsm_recurrent_weights weights = {.input = constant_of(w[0]),
                                   .recurrent = constant_of(w[1])};
  if (seq->biases) {
    weights.input_bias = constant_of(w[2]);
    weights.recurrent_bias = constant_of(w[3]);
  }
  if (seq->projects) weights.projection = constant_of(w[seq->stride - 1]);
  if (!widens) return weights;
  return (bsm_recurrent_weights){
      widened(ctx, weights.input), widened(ctx, weights.recurrent),
      widened(ctx, weights.input_bias), widened(ctx, weights.recurrent_bias),
      widened(ctx, weights.projection)};
}

static bsm_layer *add_level(bsm_conversion_ctx *ctx, const sequence *seq,
                            size_t level, bsm_itensor *x,
                            const cell_state *state, bool widens) {
  static const bsm_recurrent_operation operations[] = {
      [CELL_LSTM] = BSM_RECURRENT_LSTM,
      [CELL_GRU] = BSM_RECURRENT_GRU,
      [CELL_TANH] = BSM_RECURRENT_TANH,
      [CELL_RELU] = BSM_RECURRENT_RELU};
  const size_t directions = (size_t)seq->directions;
  bsm_recurrent_weights weights[2] = {{{0}}, {{0}}};
  for (size_t d = 0; d < directions; d++) {
    weights[d] = weights_of(ctx, seq, level * directions + d, widens);
  }
  return bsm_network_add_recurrent(ctx->net, x, state->h, state->c,
                                   operations[seq->kind], weights, directions);
}

/* The same of half or bfloat16, in float between casts. */
static bsm_itensor *wide_level(bsm_conversion_ctx *ctx, const sequence *seq,
                               size_t level, bsm_itensor *x, cell_state *state,
                               bsm_layer **layer) {
  x = bsm_emit_cast(ctx, x, BSM_DTYPE_FLOAT);
  if (state->h) state->h = bsm_emit_cast(ctx, state->h, BSM_DTYPE_FLOAT);
  if (state->c) state->c = bsm_emit_cast(ctx, state->c, BSM_DTYPE_FLOAT);
  *layer = add_level(ctx, seq, level, x, state, true);
  return bsm_emit(ctx, *layer);
}

/* One level as a recurrent layer; *state is replaced by the last one. What the
 * target does not run in 16 bits runs in float. */
static bsm_itensor *layer_of_level(bsm_conversion_ctx *ctx, const sequence *seq,
                                   size_t level, bsm_itensor *x,
                                   cell_state *state) {
  const bsm_dtype dtype = x->dtype;
  bsm_layer *layer = add_level(ctx, seq, level, x, state, false);
  bsm_itensor *out = bsm_emit(ctx, layer);
  if (!out) return NULL;
  if (!is_taken(ctx, layer)) {
    if (dtype != BSM_DTYPE_HALF && dtype != BSM_DTYPE_BFLOAT16) {
      return bsm_emit_fail(
          ctx, BSM_UNSUPPORTED,
          "a recurrent network of %s, which the target does not run",
          bsm_dtype_name(dtype));
    }
    out = wide_level(ctx, seq, level, x, state, &layer);
    if (!out) return NULL;
  }
  if (seq->lengths.count) bsm_recurrent_set_lengths(layer, &seq->lengths);
  state->h = bsm_emit_cast(ctx, bsm_layer_output(layer, 1), dtype);
  state->c = bsm_layer_output(layer, 2);
  if (state->c) state->c = bsm_emit_cast(ctx, state->c, dtype);
  return bsm_emit_cast(ctx, out, dtype);
}

/* The states of a level, of those of all levels. */
static bsm_itensor *states_of(bsm_conversion_ctx *ctx, const sequence *seq,
                              bsm_itensor *all, size_t level) {
  if (!all) return NULL;
  return bsm_emit_slice(ctx, all, 0, (int64_t)level * seq->directions,
                        seq->directions, 1);
}

/* All levels; *state is replaced by the last ones of all. */
static bsm_itensor *run_levels(bsm_conversion_ctx *ctx, const sequence *seq,
                               bsm_itensor *x, cell_state *state) {
  const size_t levels = (size_t)seq->levels;
  bsm_itensor **hs = bsm_conversion_alloc(ctx, levels * 2 * sizeof *hs);
  if (!hs) return bsm_emit_fail(ctx, BSM_LIMIT, "too many levels");
  bsm_itensor **cs = hs + levels;
  const bool layers = is_constant(seq);
  for (size_t level = 0; level < levels && x; level++) {
    cell_state one = {states_of(ctx, seq, state->h, level),
                      states_of(ctx, seq, state->c, level)};
    x = layers ? layer_of_level(ctx, seq, level, x, &one)
               : unroll_level(ctx, seq, level, x, &one);
    hs[level] = one.h;
    cs[level] = one.c;
  }
  if (!x) return NULL;
  state->h = bsm_emit_concat(ctx, hs, levels, 0);
  if (state->c) state->c = bsm_emit_concat(ctx, cs, levels, 0);
  return x;
}

/* The initial states: a list of two for LSTM, one tensor else. */
static bsm_status initial_states(bsm_conversion_ctx *ctx, const bsm_args *args,
                                 size_t at, int kind, cell_state *out) {
  size_t count;
  *out = (cell_state){0};
  if (kind != CELL_LSTM) {
    out->h = bsm_arg_itensor_or_freeze(ctx, args, at);
    return out->h ? BSM_OK : bsm_ctx_take_error(ctx);
  }
  bsm_itensor *const *hx =
      bsm_arg_unwrap_to_itensor_list(ctx, args, at, &count);
  BSM_CHECK(hx && count == 2 && hx[0] && hx[1],
            "lstm expects two hidden states");
  *out = (cell_state){hx[0], hx[1]};
  return BSM_OK;
}

/* The arguments from `params` on, which all forms have in this order. */
static bsm_status read_sequence(bsm_conversion_ctx *ctx, const bsm_args *args,
                                size_t at, const cell_state *state,
                                sequence *seq) {
  enum { PARAMS, HAS_BIASES, NUM_LAYERS, DROPOUT, TRAIN, BIDIRECTIONAL };
  size_t count;
  seq->kind = bsm_args_variant(args);
  seq->biases = bsm_arg_unwrap_to_bool(args, at + HAS_BIASES);
  seq->levels = bsm_arg_unwrap_to_int(args, at + NUM_LAYERS);
  seq->directions = bsm_arg_unwrap_to_bool(args, at + BIDIRECTIONAL) ? 2 : 1;
  seq->params = bsm_arg_unwrap_to_itensor_list(ctx, args, at + PARAMS, &count);
  /* Dropout lies between levels. */
  BSM_CHECK(!bsm_arg_unwrap_to_bool(args, at + TRAIN) || seq->levels < 2 ||
                !(bsm_arg_unwrap_to_double(args, at + DROPOUT) > 0),
            "a recurrent network with dropout in training mode draws random "
            "numbers; call model.eval() before exporting");
  BSM_CHECK(seq->levels >= 1 && seq->levels <= MAX_LEVELS,
            "a recurrent network of %lld layers", (long long)seq->levels);
  /* PyTorch's rule. */
  const int32_t rank = bsm_rank(state->h);
  seq->projects = state->c && rank > 0 && bsm_rank(state->c) == rank &&
                  state->h->dims.d[rank - 1] != state->c->dims.d[rank - 1];
  seq->stride = (seq->biases ? 4u : 2u) + (seq->projects ? 1u : 0u);
  const size_t wanted = (size_t)(seq->levels * seq->directions) * seq->stride;
  BSM_CHECK(seq->params && count == wanted,
            "a recurrent network with %zu weights, %zu were expected", count,
            wanted);
  for (size_t i = 0; i < count; i++) {
    if (!seq->params[i]) return bsm_ctx_take_error(ctx);
  }
  return BSM_OK;
}

/* What becomes layers: weights that are constant, or float32 in few enough
 * steps to unroll. */
static bsm_status check_sequence(bsm_conversion_ctx *ctx, sequence *seq,
                                 const bsm_itensor *x) {
  BSM_CHECK(x->dims.d[0] >= 1,
            "Expected sequence length to be larger than 0 in RNN");
  seq->length = x->dims.d[0];
  if (is_constant(seq)) return BSM_OK;
  if (x->dtype != BSM_DTYPE_FLOAT) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a recurrent network of %s with computed weights",
                    bsm_dtype_name(x->dtype));
  }
  if (seq->projects || seq->lengths.count ||
      seq->length > MAX_STEPS / (seq->levels * seq->directions)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a recurrent network with computed weights over %lld "
                    "steps%s",
                    (long long)seq->length,
                    seq->projects        ? ", with projections"
                    : seq->lengths.count ? ", of different lengths"
                                         : "");
  }
  seq->steps =
      bsm_conversion_alloc(ctx, (size_t)seq->length * sizeof *seq->steps);
  BSM_TRY_ALLOC(seq->steps);
  return BSM_OK;
}

static bsm_status bind_outputs(bsm_conversion_ctx *ctx, const bsm_node *node,
                               bsm_itensor *x, const cell_state *last) {
  BSM_TRY(bsm_emit_output(ctx, node, 0, x));
  BSM_TRY(bsm_emit_output(ctx, node, 1, last->h));
  return last->c ? bsm_emit_output(ctx, node, 2, last->c) : BSM_OK;
}

static bsm_status convert_sequence(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { INPUT, HX, PARAMS, BATCH_FIRST = 8 };
  sequence seq = {0};
  cell_state state;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_TRY(initial_states(ctx, args, HX, bsm_args_variant(args), &state));
  BSM_TRY(read_sequence(ctx, args, PARAMS, &state, &seq));
  const bool batched = bsm_rank(x) == 3;
  const bool batch_first = batched && bsm_arg_unwrap_to_bool(args, BATCH_FIRST);
  BSM_CHECK(batched || bsm_rank(x) == 2,
            "a recurrent network with an input of dims %s",
            bsm_dims_str(x->dims));
  if (!batched) {
    x = bsm_emit_unsqueeze(ctx, x, 1);
    state.h = bsm_emit_unsqueeze(ctx, state.h, 1);
    state.c = bsm_emit_unsqueeze(ctx, state.c, 1);
  }
  if (batch_first) x = bsm_emit_transpose(ctx, x, 0, 1);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_TRY(check_sequence(ctx, &seq, x));
  x = run_levels(ctx, &seq, x, &state);
  if (!x) return bsm_ctx_take_error(ctx);
  if (batch_first) x = bsm_emit_transpose(ctx, x, 0, 1);
  if (!batched) {
    x = bsm_emit_squeeze(ctx, x, 2);
    state.h = bsm_emit_squeeze(ctx, state.h, 2);
    state.c = bsm_emit_squeeze(ctx, state.c, 2);
  }
  return bind_outputs(ctx, node, x, &state);
}

/* lstm.data(data, batch_sizes, hx, params, ..) and the others: packed rows. */
static bsm_status convert_packed(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { DATA, SIZES, HX, PARAMS };
  sequence seq = {0};
  cell_state state;
  bsm_packed_rows rows;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, DATA);
  if (!x) return bsm_ctx_take_error(ctx);
  if (!bsm_arg_is_tensor(args, SIZES)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the lengths of a packed sequence are known only when the "
                    "model runs");
  }
  BSM_CHECK(bsm_rank(x) == 2, "packed data of dims %s", bsm_dims_str(x->dims));
  BSM_TRY(bsm_packed_from_sizes(ctx, bsm_arg_unwrap_to_tensor(args, SIZES),
                                x->dims.d[0], &rows));
  BSM_TRY(initial_states(ctx, args, HX, bsm_args_variant(args), &state));
  BSM_TRY(read_sequence(ctx, args, PARAMS, &state, &seq));
  if (!rows.uniform) seq.lengths = bsm_weights_borrow(ctx, rows.lengths);
  x = bsm_emit_unpack(ctx, x, &rows);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_TRY(check_sequence(ctx, &seq, x));
  x = bsm_emit_pack(ctx, run_levels(ctx, &seq, x, &state), &rows);
  if (!x) return bsm_ctx_take_error(ctx);
  return bind_outputs(ctx, node, x, &state);
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

#define PACKED(name, states, results, kind)                                  \
  {                                                                          \
    "aten::" name ".data(Tensor data, Tensor batch_sizes, " states           \
    " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, " \
    "bool train, bool bidirectional) -> " results,                           \
        convert_packed, kind                                                 \
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
    PACKED("lstm", "Tensor[]", "(Tensor, Tensor, Tensor)", CELL_LSTM),
    PACKED("gru", "Tensor", "(Tensor, Tensor)", CELL_GRU),
    PACKED("rnn_tanh", "Tensor", "(Tensor, Tensor)", CELL_TANH),
    PACKED("rnn_relu", "Tensor", "(Tensor, Tensor)", CELL_RELU),
};
BSM_CONVERTER_TABLE(recurrent, patterns);
