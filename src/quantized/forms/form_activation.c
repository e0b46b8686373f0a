/* SPDX-License-Identifier: Apache-2.0 */
/* Activations whose result has another grid than their input: one that is
 * given, or a fixed one for functions with a known range. */
#include "quantized/form_kit.h"

/* An activation of the namespace quantized: where the grid of the result is
 * among its arguments, and the op on floats with its other arguments. */
typedef struct activation {
  const char *op;
  size_t grid;     /* the argument that is the scale; the zero point follows */
  uint8_t rest[3]; /* arguments that go on, in the order of `op`; 0: no more */
  bool has_none;   /* `op` has one more, None */
} activation;

enum { ELU, CELU, LEAKY_RELU, HARDSWISH, SIGMOID, SOFTMAX, PRELU };

static const activation activations[] = {
    [ELU] = {"aten::elu", 1, {3, 4, 5}, false},
    [CELU] = {"aten::celu", 1, {3}, false},
    [LEAKY_RELU] = {"aten::leaky_relu", 3, {1}, false},
    [HARDSWISH] = {"aten::hardswish", 1, {0}, false},
    [SIGMOID] = {"aten::sigmoid", 1, {0}, false},
    [SOFTMAX] = {"aten::softmax.int", 2, {1}, true},
    [PRELU] = {"aten::prelu", 2, {1}, false},
};

static bsm_status run_given(const bsm_q_call *c) {
  const activation *a = &activations[c->form->variant];
  bsm_ivalue args[6], y;
  bsm_q_grid in, grid;
  size_t n = 1;
  BSM_TRY(bsm_q_grid_of(c, &c->args[0], &in));
  BSM_TRY(bsm_q_grid_from(&c->args[a->grid], &c->args[a->grid + 1], in.dtype,
                          &grid));
  BSM_TRY(bsm_q_float(c, &c->args[0], &args[0]));
  for (size_t i = 0; i < 3 && a->rest[i]; i++) {
    BSM_TRY(bsm_q_float(c, &c->args[a->rest[i]], &args[n++]));
  }
  if (a->has_none) args[n++] = NONE;
  BSM_TRY(bsm_q_call1(c, &y, a->op, args, n));
  return bsm_q_quantize(c, &y, &grid, &c->outs[0]);
}

/* (x, scale, zero point, p, training) of a module that evaluates. */
static bsm_status run_dropout(const bsm_q_call *c) {
  if (c->n > 4 && bsm_q_bool(&c->args[4])) {
    return BSM_FAIL(BSM_UNSUPPORTED, "dropout in training mode");
  }
  c->outs[0] = c->args[0];
  return BSM_OK;
}

/* ---- grids that PyTorch fixes ---- */

enum { UNIT, SYMMETRIC }; /* results in [0, 1), in [-1, 1) */

static bsm_status run_fixed(const bsm_q_call *c) {
  int64_t low, high;
  bsm_ivalue y;
  bsm_q_grid in;
  BSM_TRY(bsm_q_grid_of(c, &c->args[0], &in));
  if (in.dtype == BSM_DTYPE_QINT32) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s of qint32", c->name);
  }
  const bool unit = c->form->variant == UNIT;
  bsm_q_range(in.dtype, &low, &high);
  bsm_q_grid grid = {.dtype = in.dtype, .q = {.axis = -1}};
  grid.q.scale = unit ? 1.0 / 256 : 2.0 / 256;
  grid.q.zero_point = unit ? low : low + 128;
  BSM_TRY(bsm_q_float(c, &c->args[0], &y));
  Q_CALL(c, &y, c->name, y);
  return bsm_q_quantize(c, &y, &grid, &c->outs[0]);
}

#define GRID "float output_scale, int output_zero_point"
#define OP(text, run, variant) \
  { "quantized::" text, run, variant, BSM_Q_OP }

static const bsm_q_form forms[] = {
    OP("elu(Tensor self, " GRID
       ", Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
       run_given, ELU),
    OP("celu(Tensor self, " GRID ", Scalar alpha=1) -> Tensor", run_given,
       CELU),
    OP("leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, " GRID
       ") -> Tensor",
       run_given, LEAKY_RELU),
    OP("hardswish(Tensor input, " GRID ") -> Tensor", run_given, HARDSWISH),
    OP("sigmoid(Tensor qx, " GRID ") -> Tensor", run_given, SIGMOID),
    OP("softmax(Tensor qx, int dim, " GRID ") -> Tensor", run_given, SOFTMAX),
    OP("prelu(Tensor qx, Tensor weight, " GRID ") -> Tensor", run_given, PRELU),
    OP("dropout(Tensor self, " GRID
       ", Scalar p=0.5, bool training=False) -> Tensor",
       run_dropout, 0),
    {"aten::sigmoid", run_fixed, UNIT, BSM_Q_TENSOR},
    {"aten::hardsigmoid", run_fixed, UNIT, BSM_Q_TENSOR},
    {"aten::tanh", run_fixed, SYMMETRIC, BSM_Q_TENSOR},
};
BSM_Q_TABLE(activation, forms);
