/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks: LSTM, GRU, and plain RNN, whole sequences and cells. */
#include "aten/op_kit.h"

typedef enum cell_kind { CELL_LSTM, CELL_GRU, CELL_TANH, CELL_RELU } cell_kind;

/* One direction of one layer. */
typedef struct cell {
  cell_kind kind;
  int64_t in, hidden, gates;
  const double *w_ih, *w_hh, *b_ih, *b_hh; /* biases may be NULL */
} cell;

static int64_t gate_count(cell_kind kind) {
  return kind == CELL_LSTM ? 4 : kind == CELL_GRU ? 3 : 1;
}

static double sigmoid(double x) {
  return 1.0 / (1.0 + exp(-x));
}

/* out[g] = b[g] + w[g] . x */
static void affine(const double *w, const double *b, const double *x,
                   int64_t rows_, int64_t n, double *out) {
  for (int64_t g = 0; g < rows_; g++) {
    double s = b ? b[g] : 0.0;
    for (int64_t i = 0; i < n; i++) s += w[g * n + i] * x[i];
    out[g] = s;
  }
}

/* One step of one sample: h (and c) in, h (and c) out. `work` has room for
 * 2 gates. */
static void step(const cell *l, const double *x, double *h, double *c,
                 double *work) {
  const int64_t n = l->hidden;
  double *a = work, *b = work + l->gates;
  affine(l->w_ih, l->b_ih, x, l->gates, l->in, a);
  affine(l->w_hh, l->b_hh, h, l->gates, n, b);
  for (int64_t i = 0; i < n; i++) {
    if (l->kind == CELL_LSTM) {
      const double in = sigmoid(a[i] + b[i]);
      const double forget = sigmoid(a[n + i] + b[n + i]);
      const double value = tanh(a[2 * n + i] + b[2 * n + i]);
      const double out = sigmoid(a[3 * n + i] + b[3 * n + i]);
      c[i] = forget * c[i] + in * value;
      h[i] = out * tanh(c[i]);
    } else if (l->kind == CELL_GRU) {
      const double reset = sigmoid(a[i] + b[i]);
      const double update = sigmoid(a[n + i] + b[n + i]);
      const double value = tanh(a[2 * n + i] + reset * b[2 * n + i]);
      h[i] = value + update * (h[i] - value);
    } else {
      const double s = a[i] + b[i];
      h[i] = l->kind == CELL_TANH ? tanh(s) : s > 0.0 ? s : 0.0;
    }
  }
}

static bsm_status load_param(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims want,
                             const char *what, const double **out) {
  *out = NULL;
  if (!t) return BSM_OK;
  if (!bsm_dims_equal(t->sizes, want)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn: %s should have shape %s, got %s", what,
                    bsm_dims_str(want), bsm_dims_str(t->sizes));
  }
  BSM_TRY(bsm_op_real(t));
  if (cx->meta) return BSM_OK;
  *out = bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

static bsm_status load_cell(bsm_op_ctx *cx, cell_kind kind, int64_t in,
                            int64_t hidden, bsm_tensor *const *params,
                            bool biases, cell *l) {
  *l = (cell){.kind = kind,
              .in = in,
              .hidden = hidden,
              .gates = gate_count(kind) * hidden};
  const bsm_dims bias = op_dims1(l->gates);
  BSM_TRY(
      load_param(cx, params[0], op_dims2(l->gates, in), "weight_ih", &l->w_ih));
  BSM_TRY(load_param(cx, params[1], op_dims2(l->gates, hidden), "weight_hh",
                     &l->w_hh));
  if (biases) {
    BSM_TRY(load_param(cx, params[2], bias, "bias_ih", &l->b_ih));
    BSM_TRY(load_param(cx, params[3], bias, "bias_hh", &l->b_hh));
  }
  return BSM_OK;
}

/* A sequence [length, batch, in] through one direction of a layer, into
 * out[length, batch, width] at column `column`. */
static void run_direction(const cell *l, const double *x, int64_t length,
                          int64_t batch, bool reverse, double *h, double *c,
                          double *work, double *out, int64_t width,
                          int64_t column) {
  for (int64_t s = 0; s < length; s++) {
    const int64_t t = reverse ? length - 1 - s : s;
    for (int64_t b = 0; b < batch; b++) {
      step(l, x + (t * batch + b) * l->in, h + b * l->hidden,
           c ? c + b * l->hidden : NULL, work);
      memcpy(out + (t * batch + b) * width + column, h + b * l->hidden,
             (size_t)l->hidden * sizeof(*h));
    }
  }
}

typedef struct rnn {
  cell_kind kind;
  bsm_tensor *input, *h0, *c0; /* input [length, batch, in] */
  bsm_tensor **params;
  size_t param_count;
  bool biases, bidirectional;
  int64_t layers, hidden;
} rnn;

static bsm_status check_rnn(const rnn *r) {
  const int64_t directions = r->bidirectional ? 2 : 1;
  if (r->layers <= 0 || r->layers > 1000 ||
      r->param_count !=
          (size_t)(r->layers * directions * (r->biases ? 4 : 2))) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "rnn: %zu weights for %lld layers (projections are not "
                    "supported)",
                    r->param_count, (long long)r->layers);
  }
  const bsm_dims want =
      op_dims3(r->layers * directions, r->input->sizes.d[1], r->hidden);
  if (!bsm_dims_equal(r->h0->sizes, want) ||
      (r->c0 && !bsm_dims_equal(r->c0->sizes, want))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Expected hidden size %s, got %s",
                    bsm_dims_str(want), bsm_dims_str(r->h0->sizes));
  }
  for (size_t i = 0; i < r->param_count; i++) {
    if (r->params[i]->dtype != r->input->dtype) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "rnn: input and weights of different dtypes (%s, %s)",
                      bsm_op_type_name(r->input->dtype),
                      bsm_op_type_name(r->params[i]->dtype));
    }
  }
  return BSM_OK;
}

/* All layers; out [length, batch, directions * hidden], hn and cn as h0. */
static bsm_status run_rnn(bsm_op_ctx *cx, const rnn *r, bsm_tensor *out,
                          bsm_tensor *hn, bsm_tensor *cn) {
  const int64_t length = r->input->sizes.d[0], batch = r->input->sizes.d[1];
  const int64_t directions = r->bidirectional ? 2 : 1;
  const int64_t width = directions * r->hidden, per = r->biases ? 4 : 2;
  const int64_t state = batch * r->hidden;
  const double *x = NULL;
  double *h = NULL, *c = NULL, *work = NULL;
  if (!cx->meta) {
    x = bsm_op_load_all(cx, r->input);
    h = bsm_op_load_all(cx, r->h0);
    BSM_TRY_ALLOC(x);
    BSM_TRY_ALLOC(h);
    if (r->c0) {
      c = bsm_op_load_all(cx, r->c0);
      BSM_TRY_ALLOC(c);
    }
    work = BSM_NEW_ARRAY(cx->arena, double, (size_t)r->hidden * 8 + 1);
    BSM_TRY_ALLOC(work);
  }
  int64_t in = r->input->sizes.d[2];
  for (int64_t layer = 0; layer < r->layers; layer++) {
    double *y = NULL;
    if (!cx->meta) {
      y = BSM_NEW_ARRAY(cx->arena, double,
                        (size_t)(length * batch * width) + 1);
      BSM_TRY_ALLOC(y);
    }
    for (int64_t d = 0; d < directions; d++) {
      const int64_t at = layer * directions + d;
      cell l;
      BSM_TRY(load_cell(cx, r->kind, in, r->hidden, r->params + at * per,
                        r->biases, &l));
      if (cx->meta) continue;
      run_direction(&l, x, length, batch, d == 1, h + at * state,
                    c ? c + at * state : NULL, work, y, width, d * r->hidden);
    }
    x = y;
    in = width;
  }
  if (cx->meta) return BSM_OK;
  bsm_op_store_all(out, x);
  bsm_op_store_all(hn, h);
  if (cn) bsm_op_store_all(cn, c);
  return BSM_OK;
}

/* lstm.input(input, hx, params, has_biases, num_layers, dropout, train,
 * bidirectional, batch_first) and the others */
static bsm_status op_rnn(OP_PARAMS) {
  rnn r = {.kind = (cell_kind)self->variant,
           .input = op_tensor(&args[0]),
           .biases = op_bool(&args[3]),
           .layers = op_int(&args[4]),
           .bidirectional = op_bool(&args[7])};
  const bool batch_first = op_bool(&args[8]);
  if (op_double(&args[5]) != 0.0 && op_bool(&args[6])) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "rnn with dropout in training mode is not supported: call "
                    ".eval() on the model before saving it");
  }
  if (r.kind == CELL_LSTM) {
    if (op_list_len(&args[1]) != 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "lstm expects two hidden states");
    }
    r.h0 = op_list_tensor(&args[1], 0);
    r.c0 = op_list_tensor(&args[1], 1);
  } else {
    r.h0 = op_tensor(&args[1]);
  }
  BSM_TRY(bsm_op_tensors(cx, &args[2], &r.params, &r.param_count));
  if (r.input->sizes.rank != 3 || r.h0->sizes.rank != 3) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn: expected 3-D input and hidden state, got %s and %s",
                    bsm_dims_str(r.input->sizes), bsm_dims_str(r.h0->sizes));
  }
  if (!bsm_dtype_is_floating(r.input->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "rnn: not implemented for '%s'",
                    bsm_op_type_name(r.input->dtype));
  }
  if (batch_first) BSM_TRY(bsm_op_transpose(cx, r.input, 0, 1, &r.input));
  r.hidden = r.h0->sizes.d[2];
  BSM_TRY(check_rnn(&r));
  bsm_tensor *out, *hn, *cn = NULL;
  BSM_TRY(bsm_op_new(cx, r.input->dtype,
                     op_dims3(r.input->sizes.d[0], r.input->sizes.d[1],
                              r.hidden * (r.bidirectional ? 2 : 1)),
                     &out));
  BSM_TRY(bsm_op_new(cx, r.input->dtype, r.h0->sizes, &hn));
  if (r.c0) BSM_TRY(bsm_op_new(cx, r.input->dtype, r.h0->sizes, &cn));
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  BSM_TRY(run_rnn(cx, &r, out, hn, cn));
  bsm_arena_rewind(cx->arena, mark);
  if (batch_first) BSM_TRY(bsm_op_transpose(cx, out, 0, 1, &out));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(hn);
  if (cn) outs[2] = bsm_iv_tensor(cn);
  return BSM_OK;
}

/* lstm_cell(input, hx, w_ih, w_hh, b_ih, b_hh) -> (h, c); gru_cell -> h */
static bsm_status op_cell(OP_PARAMS) {
  const cell_kind kind = (cell_kind)self->variant;
  bsm_tensor *x = op_tensor(&args[0]), *h, *c = NULL, *out[2];
  bsm_tensor *params[4] = {op_tensor(&args[2]), op_tensor(&args[3]),
                           op_tensor(&args[4]), op_tensor(&args[5])};
  if (kind == CELL_LSTM) {
    if (op_list_len(&args[1]) != 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "lstm_cell expects two hidden states");
    }
    h = op_list_tensor(&args[1], 0);
    c = op_list_tensor(&args[1], 1);
  } else {
    h = op_tensor(&args[1]);
  }
  bsm_dims shape = h->sizes;
  if (x->sizes.rank < 1 || x->sizes.rank > 2 ||
      h->sizes.rank != x->sizes.rank ||
      (x->sizes.rank == 2 && x->sizes.d[0] != h->sizes.d[0]) ||
      (c && !bsm_dims_equal(c->sizes, shape))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn cell: input %s and hidden state %s do not fit",
                    bsm_dims_str(x->sizes), bsm_dims_str(h->sizes));
  }
  const int64_t batch = x->sizes.rank == 2 ? x->sizes.d[0] : 1;
  const int64_t in = x->sizes.d[x->sizes.rank - 1],
                hidden = shape.d[shape.rank - 1];
  for (int i = 0; i < (c ? 2 : 1); i++) {
    BSM_TRY(bsm_op_new(cx, x->dtype, shape, &out[i]));
    outs[i] = bsm_iv_tensor(out[i]);
  }
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  cell l;
  BSM_TRY(load_cell(cx, kind, in, hidden, params, true, &l));
  if (cx->meta) return BSM_OK;
  const double *xs = bsm_op_load_all(cx, x);
  double *hs = bsm_op_load_all(cx, h), *cs = c ? bsm_op_load_all(cx, c) : NULL;
  double *work = BSM_NEW_ARRAY(cx->arena, double, (size_t)hidden * 8 + 1);
  BSM_TRY_ALLOC(xs);
  BSM_TRY_ALLOC(hs);
  BSM_TRY_ALLOC(work);
  if (c) BSM_TRY_ALLOC(cs);
  for (int64_t b = 0; b < batch; b++) {
    step(&l, xs + b * in, hs + b * hidden, cs ? cs + b * hidden : NULL, work);
  }
  bsm_op_store_all(out[0], hs);
  if (c) bsm_op_store_all(out[1], cs);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    {"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool "
     "bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
     op_rnn, CELL_LSTM, 0},
    {"aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool "
     "bidirectional, bool batch_first) -> (Tensor, Tensor)",
     op_rnn, CELL_GRU, 0},
    {"aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool "
     "bidirectional, bool batch_first) -> (Tensor, Tensor)",
     op_rnn, CELL_TANH, 0},
    {"aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool "
     "bidirectional, bool batch_first) -> (Tensor, Tensor)",
     op_rnn, CELL_RELU, 0},
    {"aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, "
     "Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
     op_cell, CELL_LSTM, 0},
    {"aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
     "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
     op_cell, CELL_GRU, 0},
    {"aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
     "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
     op_cell, CELL_TANH, 0},
    {"aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
     "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
     op_cell, CELL_RELU, 0},
};
BSM_ATEN_TABLE(rnn, rows);
