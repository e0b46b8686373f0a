/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells: one step of LSTM, GRU and RNN. */
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

static bsm_status convert_lstm_cell(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { INPUT, HX, W_IH, W_HH, B_IH, B_HH };
  size_t count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  bsm_itensor *const *hx =
      bsm_arg_unwrap_to_itensor_list(ctx, args, HX, &count);
  BSM_CHECK(hx && count == 2 && hx[0] && hx[1],
            "lstm_cell expects two hidden states");
  bsm_itensor *gates = sum(ctx, affine(ctx, args, x, W_IH, B_IH),
                           affine(ctx, args, hx[0], W_HH, B_HH));
  bsm_itensor *in = sigmoid(ctx, gate(ctx, gates, 0, 4));
  bsm_itensor *forget = sigmoid(ctx, gate(ctx, gates, 1, 4));
  bsm_itensor *cell = hyperbolic(ctx, gate(ctx, gates, 2, 4));
  bsm_itensor *out = sigmoid(ctx, gate(ctx, gates, 3, 4));
  bsm_itensor *next =
      sum(ctx, product(ctx, forget, hx[1]), product(ctx, in, cell));
  BSM_TRY(
      bsm_emit_output(ctx, node, 0, product(ctx, out, hyperbolic(ctx, next))));
  return bsm_emit_output(ctx, node, 1, next);
}

/* h' = n + z * (h - n), where n = tanh(x_n + r * h_n). */
static bsm_status convert_gru_cell(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { INPUT, HX, W_IH, W_HH, B_IH, B_HH };
  bsm_itensor *h = bsm_arg_itensor_or_freeze(ctx, args, HX);
  bsm_itensor *from_x = affine(
      ctx, args, bsm_arg_itensor_or_freeze(ctx, args, INPUT), W_IH, B_IH);
  bsm_itensor *from_h = affine(ctx, args, h, W_HH, B_HH);
  bsm_itensor *reset =
      sigmoid(ctx, sum(ctx, gate(ctx, from_x, 0, 3), gate(ctx, from_h, 0, 3)));
  bsm_itensor *update =
      sigmoid(ctx, sum(ctx, gate(ctx, from_x, 1, 3), gate(ctx, from_h, 1, 3)));
  bsm_itensor *fresh =
      hyperbolic(ctx, sum(ctx, gate(ctx, from_x, 2, 3),
                          product(ctx, reset, gate(ctx, from_h, 2, 3))));
  bsm_itensor *kept = bsm_emit_binary(ctx, h, fresh, BSM_ELEMENT_WISE_SUB);
  return bsm_emit_output(ctx, node, 0,
                         sum(ctx, product(ctx, kept, update), fresh));
}

static bsm_status convert_rnn_cell(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { INPUT, HX, W_IH, W_HH, B_IH, B_HH };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  bsm_itensor *h = bsm_arg_itensor_or_freeze(ctx, args, HX);
  bsm_itensor *out = sum(ctx, affine(ctx, args, x, W_IH, B_IH),
                         affine(ctx, args, h, W_HH, B_HH));
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_activation(ctx, out, (bsm_activation_type)bsm_args_variant(args),
                          0, 0));
}

#define CELL(name, function, variant)                      \
  {                                                        \
    "aten::" name                                          \
    "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, " \
    "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",     \
        function, variant                                  \
  }

static const bsm_conversion_pattern patterns[] = {
    {"aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, "
     "Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
     convert_lstm_cell, 0},
    CELL("gru_cell", convert_gru_cell, 0),
    CELL("rnn_tanh_cell", convert_rnn_cell, BSM_ACTIVATION_TANH),
    CELL("rnn_relu_cell", convert_rnn_cell, BSM_ACTIVATION_RELU),
};
BSM_CONVERTER_TABLE(recurrent, patterns);
