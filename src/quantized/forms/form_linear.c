/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers with packed parameters: quantized, dynamic, and with weights of
 * half precision; their packing and unpacking. */
#include "quantized/form_kit.h"

enum { PLAIN, RELU, LEAKY_RELU, TANH };

static bsm_status activate(const bsm_q_call *c, bsm_ivalue *y) {
  switch (c->form->variant) {
    case RELU:
      Q_CALL(c, y, "aten::relu", *y);
      break;
    case LEAKY_RELU:
      Q_CALL(c, y, "aten::leaky_relu", *y, c->args[4]);
      break;
    case TANH:
      Q_CALL(c, y, "aten::tanh", *y);
      break;
    default:
      break;
  }
  return BSM_OK;
}

/* (x, packed, scale, zero point[, negative_slope]) */
static bsm_status run_linear(const bsm_q_call *c) {
  bsm_ivalue y;
  bsm_q_grid in, grid;
  BSM_TRY(bsm_q_grid_of(c, &c->args[0], &in));
  BSM_TRY(bsm_q_grid_from(&c->args[2], &c->args[3], in.dtype, &grid));
  BSM_TRY(bsm_q_float(c, &c->args[0], &y));
  BSM_TRY(bsm_q_linear(c, &y, &c->args[1], &y));
  BSM_TRY(activate(c, &y));
  return bsm_q_quantize(c, &y, &grid, &c->outs[0]);
}

/* (x, packed, reduce_range) */
static bsm_status run_dynamic(const bsm_q_call *c) {
  bsm_ivalue *y = &c->outs[0];
  BSM_TRY(bsm_q_dynamic(c, &c->args[0], bsm_q_bool(&c->args[2]), y));
  BSM_TRY(bsm_q_linear(c, y, &c->args[1], y));
  return activate(c, y);
}

/* (x, packed) */
static bsm_status run_half(const bsm_q_call *c) {
  BSM_TRY(bsm_q_linear(c, &c->args[0], &c->args[1], &c->outs[0]));
  return activate(c, &c->outs[0]);
}

static bsm_status run_prepack(const bsm_q_call *c) {
  bsm_ivalue weight;
  BSM_TRY(c->b->slot(c->b, &c->args[0], &weight));
  return bsm_packed_linear_new(c->b->arena, &weight, &c->args[1], &c->outs[0]);
}

/* The weight as half precision holds it. */
static bsm_status run_prepack_half(const bsm_q_call *c) {
  bsm_ivalue w;
  BSM_TRY(c->b->slot(c->b, &c->args[0], &w));
  Q_CALL(c, &w, "aten::clamp", w, D(-65504), D(65504));
  Q_CALL(c, &w, "aten::to.dtype", w, I(BSM_DTYPE_HALF), B(false), B(false),
         NONE);
  Q_CALL(c, &w, "aten::to.dtype", w, I(BSM_DTYPE_FLOAT), B(false), B(false),
         NONE);
  return bsm_packed_linear_new(c->b->arena, &w, &c->args[1], &c->outs[0]);
}

static bsm_status run_unpack(const bsm_q_call *c) {
  const bsm_ivalue *slots;
  BSM_TRY(bsm_packed_read(&c->args[0], BSM_PACKED_LINEAR, &slots));
  BSM_TRY(c->b->slot(c->b, &slots[BSM_PACKED_WEIGHT], &c->outs[0]));
  return c->b->slot(c->b, &slots[BSM_PACKED_BIAS], &c->outs[1]);
}

#define P "__torch__.torch.classes.quantized.LinearPackedParamsBase "
#define OP(name, rest, run, variant) \
  { "quantized::" name rest, run, variant, BSM_Q_OP }
#define QUANTIZED                                              \
  "(Tensor X, " P                                              \
  "W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor " \
  "Y"
#define DYNAMIC \
  "(Tensor X, " P "W_prepack, bool reduce_range=False) -> Tensor Y"
#define HALF "(Tensor X, " P "W_prepack) -> Tensor Y"

static const bsm_q_form forms[] = {
    OP("linear", QUANTIZED, run_linear, PLAIN),
    OP("linear_relu", QUANTIZED, run_linear, RELU),
    OP("linear_leaky_relu",
       "(Tensor X, " P
       "W_prepack, float Y_scale_i, int Y_zero_point_i, float negative_slope) "
       "-> Tensor Y",
       run_linear, LEAKY_RELU),
    OP("linear_tanh", QUANTIZED, run_linear, TANH),
    OP("linear_dynamic", DYNAMIC, run_dynamic, PLAIN),
    OP("linear_relu_dynamic", DYNAMIC, run_dynamic, RELU),
    OP("linear_dynamic_fp16", HALF, run_half, PLAIN),
    OP("linear_relu_dynamic_fp16", HALF, run_half, RELU),
    OP("linear_prepack", "(Tensor W, Tensor? B=None) -> " P "W_prepack",
       run_prepack, PLAIN),
    OP("linear_prepack_fp16", "(Tensor W, Tensor? B=None) -> " P "W_prepack",
       run_prepack_half, PLAIN),
    OP("linear_unpack",
       "(" P "W_prepack) -> (Tensor W_origin, Tensor? B_origin)", run_unpack,
       PLAIN),
    OP("linear_unpack_fp16",
       "(" P "W_prepack) -> (Tensor W_origin, Tensor? B_origin)", run_unpack,
       PLAIN),
};
BSM_Q_TABLE(linear, forms);
