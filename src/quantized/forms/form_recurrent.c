/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks with packed weights: dynamic ones, whose inputs and states
 * are quantized on the range that they have, and ones of half precision.
 *
 * As PyTorch: the products of the inputs of all steps are one, with one range;
 * those of the state have one in each step. So the steps are unrolled, and
 * their number has to be known. */
#include "quantized/form_kit.h"

typedef enum cell_kind { LSTM, GRU, RNN_TANH, RNN_RELU } cell_kind;
/* Of the state's products, how many blocks of gates they have. */
static const int64_t gate_counts[] = {4, 3, 1, 1};

/* One direction of a level. */
typedef struct cell {
  const bsm_q_call *c;
  cell_kind kind;
  const bsm_ivalue *linear; /* of the input, of the state */
  bool reduce_range;
  bsm_ivalue h, s; /* the state; of LSTMs, the cell's */
} cell;

static bsm_status product(const cell *k, int which, const bsm_ivalue *x,
                          bsm_ivalue *out) {
  const bsm_ivalue *slots;
  BSM_TRY(bsm_packed_read(&k->linear[which], BSM_PACKED_LINEAR, &slots));
  *out = *x;
  if (!bsm_dtype_is_floating(slots[BSM_PACKED_WEIGHT].u.tensor->dtype)) {
    BSM_TRY(bsm_q_dynamic(k->c, x, k->reduce_range, out));
  }
  return bsm_q_linear(k->c, out, &k->linear[which], out);
}

/* Block `i` of the gates, along the last dimension. */
static bsm_status gate(const cell *k, const bsm_ivalue *gates, int64_t i,
                       bsm_ivalue *out) {
  const bsm_ivalue *slots;
  BSM_TRY(bsm_packed_read(&k->linear[1], BSM_PACKED_LINEAR, &slots));
  const int64_t rows = slots[BSM_PACKED_WEIGHT].u.tensor->sizes.d[0];
  const int64_t size = rows / gate_counts[k->kind];
  Q_CALL(k->c, out, "aten::slice.Tensor", *gates, I(-1), I(i * size),
         I((i + 1) * size), I(1));
  return BSM_OK;
}

static bsm_status step_lstm(cell *k, const bsm_ivalue *x, const bsm_ivalue *h) {
  static const char *const functions[] = {"aten::sigmoid", "aten::sigmoid",
                                          "aten::tanh", "aten::sigmoid"};
  const bsm_q_call *c = k->c;
  bsm_ivalue sum, g[4];
  Q_CALL(c, &sum, "aten::add.Tensor", *x, *h, I(1));
  for (int i = 0; i < 4; i++) {
    BSM_TRY(gate(k, &sum, i, &g[i]));
    Q_CALL(c, &g[i], functions[i], g[i]);
  }
  Q_CALL(c, &k->s, "aten::mul.Tensor", g[1], k->s);
  Q_CALL(c, &g[0], "aten::mul.Tensor", g[0], g[2]);
  Q_CALL(c, &k->s, "aten::add.Tensor", k->s, g[0], I(1));
  Q_CALL(c, &g[2], "aten::tanh", k->s);
  Q_CALL(c, &k->h, "aten::mul.Tensor", g[3], g[2]);
  return BSM_OK;
}

static bsm_status step_gru(cell *k, const bsm_ivalue *x, const bsm_ivalue *h) {
  const bsm_q_call *c = k->c;
  bsm_ivalue a[3], b[3];
  for (int i = 0; i < 3; i++) {
    BSM_TRY(gate(k, x, i, &a[i]));
    BSM_TRY(gate(k, h, i, &b[i]));
  }
  for (int i = 0; i < 2; i++) {
    Q_CALL(c, &a[i], "aten::add.Tensor", a[i], b[i], I(1));
    Q_CALL(c, &a[i], "aten::sigmoid", a[i]);
  }
  Q_CALL(c, &b[2], "aten::mul.Tensor", a[0], b[2]);
  Q_CALL(c, &a[2], "aten::add.Tensor", a[2], b[2], I(1));
  Q_CALL(c, &a[2], "aten::tanh", a[2]);
  Q_CALL(c, &k->h, "aten::sub.Tensor", k->h, a[2], I(1));
  Q_CALL(c, &k->h, "aten::mul.Tensor", k->h, a[1]);
  Q_CALL(c, &k->h, "aten::add.Tensor", k->h, a[2], I(1));
  return BSM_OK;
}

/* `x`: the products of the input. */
static bsm_status step(cell *k, const bsm_ivalue *x) {
  bsm_ivalue h;
  BSM_TRY(product(k, 1, &k->h, &h));
  if (k->kind == LSTM) return step_lstm(k, x, &h);
  if (k->kind == GRU) return step_gru(k, x, &h);
  Q_CALL(k->c, &k->h, "aten::add.Tensor", *x, h, I(1));
  Q_CALL(k->c, &k->h, k->kind == RNN_TANH ? "aten::tanh" : "aten::relu", k->h);
  return BSM_OK;
}

/* ---- cells by themselves ---- */

/* (input, hx, w_ih, w_hh, b_ih, b_hh): the biases are in the packed ones. */
static bsm_status run_cell(const bsm_q_call *c) {
  cell k = {.c = c,
            .kind = (cell_kind)c->form->variant,
            .linear = &c->args[2],
            .reduce_range = true,
            .h = c->args[1]};
  bsm_ivalue x;
  if (k.kind == LSTM) {
    const bsm_list *hx =
        c->args[1].tag == BSM_IVALUE_LIST ? c->args[1].u.list : NULL;
    if (!hx || hx->len != 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "lstm cell expects two hidden "
                      "states");
    }
    k.h = hx->items[0];
    k.s = hx->items[1];
  }
  BSM_TRY(product(&k, 0, &c->args[0], &x));
  BSM_TRY(step(&k, &x));
  c->outs[0] = k.h;
  if (k.kind == LSTM) c->outs[1] = k.s;
  return BSM_OK;
}

/* ---- networks of several levels ---- */

/* All steps of one direction; the outputs in the order of time. */
static bsm_status run_direction(cell *k, const bsm_ivalue *input, int64_t steps,
                                bool reverse, bsm_ivalue *out) {
  const bsm_q_call *c = k->c;
  bsm_list *outputs = NULL;
  bsm_ivalue products, x;
  BSM_TRY(product(k, 0, input, &products));
  BSM_TRY(bsm_list_new(c->b->arena, NULL, (size_t)steps, &outputs));
  for (int64_t i = 0; i < steps; i++) {
    const int64_t t = reverse ? steps - 1 - i : i;
    Q_CALL(c, &x, "aten::select.int", products, I(0), I(t));
    BSM_TRY(step(k, &x));
    outputs->items[t] = k->h;
  }
  Q_CALL(c, out, "aten::stack", bsm_iv_list(outputs), I(0));
  return BSM_OK;
}

typedef struct network {
  bsm_ivalue h, s; /* initial states of all levels and directions */
  const bsm_list *params;
  int64_t levels;
  bool bidirectional, batch_first;
} network;

/* The arguments of quantized_lstm and quantized_gru, checked. */
static bsm_status read_network(const bsm_q_call *c, network *out) {
  const bsm_ivalue *a = c->args;
  const bool lstm = c->form->variant == LSTM;
  const bsm_list *hx = a[1].tag == BSM_IVALUE_LIST ? a[1].u.list : NULL;
  *out = (network){.h = a[1],
                   .levels = bsm_q_int(&a[4]),
                   .bidirectional = bsm_q_bool(&a[7]),
                   .batch_first = bsm_q_bool(&a[8])};
  if (lstm) {
    if (!hx || hx->len != 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "lstm expects two hidden states");
    }
    out->h = hx->items[0];
    out->s = hx->items[1];
  }
  if (bsm_q_bool(&a[6]) && bsm_q_number(&a[5]) > 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "dropout in training mode");
  }
  const int64_t directions = out->bidirectional ? 2 : 1;
  out->params = a[2].tag == BSM_IVALUE_LIST ? a[2].u.list : NULL;
  if (!out->params || out->levels < 1 ||
      (int64_t)out->params->len != out->levels * directions) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "packed parameters of %lld levels in %lld directions are "
                    "needed",
                    (long long)out->levels, (long long)directions);
  }
  return BSM_OK;
}

/* The states that a level begins with or ends with. */
static bsm_status initial(const cell *k, const bsm_ivalue *states, int64_t i,
                          bsm_ivalue *out) {
  Q_CALL(k->c, out, "aten::select.int", *states, I(0), I(i));
  return BSM_OK;
}

/* One level in all directions: *x is its input, then its output. */
static bsm_status run_level(const bsm_q_call *c, const network *net,
                            int64_t level, int64_t steps, bsm_ivalue *x,
                            bsm_list *h, bsm_list *s) {
  const int64_t directions = net->bidirectional ? 2 : 1;
  bsm_ivalue out[2];
  for (int64_t d = 0; d < directions; d++) {
    const int64_t i = level * directions + d;
    const bsm_ivalue *slots;
    BSM_TRY(bsm_packed_read(&net->params->items[i], BSM_PACKED_CELL, &slots));
    cell k = {.c = c,
              .kind = (cell_kind)c->form->variant,
              .linear = &slots[BSM_PACKED_CELL_INPUT],
              .reduce_range = bsm_q_bool(&slots[BSM_PACKED_REDUCE_RANGE])};
    BSM_TRY(initial(&k, &net->h, i, &k.h));
    if (k.kind == LSTM) BSM_TRY(initial(&k, &net->s, i, &k.s));
    BSM_TRY(run_direction(&k, x, steps, d == 1, &out[d]));
    h->items[i] = k.h;
    s->items[i] = k.s;
  }
  *x = out[0];
  if (directions == 1) return BSM_OK;
  bsm_list *both = NULL;
  BSM_TRY(bsm_list_new(c->b->arena, NULL, 2, &both));
  both->items[0] = out[0];
  both->items[1] = out[1];
  Q_CALL(c, x, "aten::cat", bsm_iv_list(both), I(-1));
  return BSM_OK;
}

/* (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
 * batch_first, ...) */
static bsm_status run_network(const bsm_q_call *c) {
  network net;
  bsm_list *h = NULL, *s = NULL;
  bsm_ivalue x = c->args[0];
  BSM_TRY(read_network(c, &net));
  if (net.batch_first) Q_CALL(c, &x, "aten::transpose.int", x, I(0), I(1));
  const bsm_dims dims = c->b->dims(c->b, &x);
  if (dims.rank != 3 || dims.d[0] < 1) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a quantized recurrent network needs an input of three "
                    "dimensions and a known number of steps");
  }
  BSM_TRY(bsm_list_new(c->b->arena, NULL, net.params->len, &h));
  BSM_TRY(bsm_list_new(c->b->arena, NULL, net.params->len, &s));
  for (int64_t i = 0; i < net.levels; i++) {
    BSM_TRY(run_level(c, &net, i, dims.d[0], &x, h, s));
  }
  if (net.batch_first) Q_CALL(c, &x, "aten::transpose.int", x, I(0), I(1));
  c->outs[0] = x;
  Q_CALL(c, &c->outs[1], "aten::stack", bsm_iv_list(h), I(0));
  if (c->form->variant == LSTM) {
    Q_CALL(c, &c->outs[2], "aten::stack", bsm_iv_list(s), I(0));
  }
  return BSM_OK;
}

/* ---- packing ---- */

/* (w_ih, w_hh[, bias_ih, bias_hh, reduce_range]) */
static bsm_status run_make(const bsm_q_call *c) {
  bsm_ivalue bias[2] = {{0}};
  if (c->n == 5) {
    bias[0] = c->args[2];
    bias[1] = c->args[3];
  }
  return bsm_packed_cell_new(c->b->arena, c->args, bias,
                             c->n == 5 && bsm_q_bool(&c->args[4]), &c->outs[0]);
}

#define L "__torch__.torch.classes.quantized.LinearPackedParamsBase "
#define CELL "__torch__.torch.classes.rnn.CellParamsBase"
#define OP(text, run, variant) \
  { text, run, variant, BSM_Q_OP }
#define ONE_STATE                                        \
  "_cell_dynamic(Tensor input, Tensor hx, " L "w_ih, " L \
  "w_hh, Tensor b_ih, Tensor b_hh) -> Tensor"

static const bsm_q_form forms[] = {
    OP("aten::quantized_lstm.input(Tensor input, Tensor[] hx, " CELL
       "[] params, bool has_biases, int num_layers, float dropout, bool train, "
       "bool bidirectional, bool batch_first, *, ScalarType? dtype=None, bool "
       "use_dynamic=False) -> (Tensor, Tensor, Tensor)",
       run_network, LSTM),
    OP("aten::quantized_gru.input(Tensor input, Tensor hx, " CELL
       "[] params, bool has_biases, int num_layers, float dropout, bool train, "
       "bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       run_network, GRU),
    OP("quantized::quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, " L
       "w_ih, " L "w_hh, Tensor bias_ih, Tensor bias_hh) -> (Tensor, Tensor)",
       run_cell, LSTM),
    OP("quantized::quantized_gru" ONE_STATE, run_cell, GRU),
    OP("quantized::quantized_rnn_tanh" ONE_STATE, run_cell, RNN_TANH),
    OP("quantized::quantized_rnn_relu" ONE_STATE, run_cell, RNN_RELU),
    OP("quantized::make_quantized_cell_params_dynamic(" L "w_ih, " L
       "w_hh, Tensor bias_ih, Tensor bias_hh, bool reduce_range=False) "
       "-> " CELL,
       run_make, 0),
    OP("quantized::make_quantized_cell_params_fp16(" L "w_ih, " L
       "w_hh) -> " CELL,
       run_make, 0),
};
BSM_Q_TABLE(recurrent, forms);
