/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products of quantized tensors, with one another and with numbers,
 * and concatenations. */
#include <math.h>

#include "quantized/form_kit.h"

enum { ADD, MUL, MATMUL, OPERATION = 3, RELU = 4, NUMBER_FIRST = 8 };

/* (qa, qb, scale, zero point) */
static bsm_status run_binary(const bsm_q_call *c) {
  const int operation = c->form->variant & OPERATION;
  bsm_ivalue a, b, y;
  bsm_q_grid in, other, grid;
  BSM_TRY(bsm_q_grid_of(c, &c->args[0], &in));
  BSM_TRY(bsm_q_grid_of(c, &c->args[1], &other));
  BSM_TRY(bsm_q_grid_from(&c->args[2], &c->args[3], in.dtype, &grid));
  if (other.dtype != in.dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the two tensors must have the same dtype, not %s and %s",
                    bsm_dtype_name(in.dtype), bsm_dtype_name(other.dtype));
  }
  BSM_TRY(bsm_q_float(c, &c->args[0], &a));
  BSM_TRY(bsm_q_float(c, &c->args[1], &b));
  if (operation == ADD) {
    Q_CALL(c, &y, "aten::add.Tensor", a, b, I(1));
  } else {
    Q_CALL(c, &y, operation == MUL ? "aten::mul.Tensor" : "aten::matmul", a, b);
  }
  if (c->form->variant & RELU) Q_CALL(c, &y, "aten::relu", y);
  return bsm_q_quantize(c, &y, &grid, &c->outs[0]);
}

/* ---- with a number: the integers stay, the grid moves ---- */

/* The number of a Scalar, or of a tensor of one element. */
static bsm_status number_of(const bsm_ivalue *v, double *out) {
  const bsm_tensor *t = v->tag == BSM_IVALUE_TENSOR ? v->u.tensor : NULL;
  if (t && bsm_tensor_numel(t) == 1 && !bsm_tensor_is_meta(t)) {
    *out = bsm_tensor_get_double(t, 0);
  } else if (v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE ||
             v->tag == BSM_IVALUE_BOOL) {
    *out = bsm_q_number(v);
  } else {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "a quantized tensor with a number that depends on data");
  }
  return isfinite(*out)
             ? BSM_OK
             : BSM_FAIL(BSM_INVALID_ARGUMENT, "a number of %g", *out);
}

/* The same integers, at least `least`, on another grid. */
static bsm_status on_grid(const bsm_q_call *c, const bsm_ivalue *integers,
                          bool relu, const bsm_q_grid *grid) {
  bsm_ivalue q;
  if (relu) {
    Q_CALL(c, &q, "aten::clamp", *integers, I(grid->q.zero_point), NONE);
  } else {
    Q_CALL(c, &q, "aten::clone", *integers, NONE);
  }
  return c->b->join(c->b, &q, grid, &c->outs[0]);
}

/* The number is rounded to steps. Values that the moved grid would not hold are
 * quantized anew. */
static bsm_status add_number(const bsm_q_call *c, const bsm_ivalue *qx,
                             double number, const bsm_ivalue *integers,
                             bsm_q_grid *grid) {
  int64_t low, high;
  bsm_ivalue y;
  const bool relu = (c->form->variant & RELU) != 0;
  bsm_q_range(grid->dtype, &low, &high);
  const double scale = grid->q.scale;
  const double steps = nearbyint(number / scale);
  const double moved = (double)grid->q.zero_point - steps;
  if (moved >= (double)low && moved <= (double)high) {
    grid->q.zero_point = (int64_t)moved;
    return on_grid(c, integers, relu, grid);
  }
  if (moved < (double)low) {
    grid->q.scale *= ((double)high - moved) / (double)(high - low);
    grid->q.zero_point = low;
  } else {
    grid->q.scale *= (moved - (double)low) / (double)(high - low);
    grid->q.zero_point = high;
  }
  BSM_TRY(bsm_q_float(c, qx, &y));
  Q_CALL(c, &y, "aten::add.Scalar", y, D(steps * scale), I(1));
  if (relu) Q_CALL(c, &y, "aten::relu", y);
  return bsm_q_quantize(c, &y, grid, &c->outs[0]);
}

static bsm_status multiply_number(const bsm_q_call *c, double number,
                                  const bsm_ivalue *integers,
                                  bsm_q_grid *grid) {
  int64_t low, high;
  bsm_ivalue q;
  const bool relu = (c->form->variant & RELU) != 0;
  bsm_q_range(grid->dtype, &low, &high);
  if (number > 0) {
    grid->q.scale *= number;
    return on_grid(c, integers, relu, grid);
  }
  if (number < 0) { /* mirrored */
    grid->q.scale *= -number;
    grid->q.zero_point = high + low - grid->q.zero_point;
    Q_CALL(c, &q, "aten::to.dtype", *integers, I(BSM_DTYPE_INT32), B(false),
           B(false), NONE);
    Q_CALL(c, &q, "aten::rsub.Scalar", q, I(high + low), I(1));
    Q_CALL(c, &q, "aten::to.dtype", q, I(bsm_q_integers(grid->dtype)), B(false),
           B(false), NONE);
    return on_grid(c, &q, relu, grid);
  }
  grid->q.scale = 1;
  grid->q.zero_point = 0;
  Q_CALL(c, &q, "aten::zeros_like", *integers, NONE, NONE, NONE, NONE, NONE);
  return c->b->join(c->b, &q, grid, &c->outs[0]);
}

static bsm_status run_number(const bsm_q_call *c) {
  const bool first = (c->form->variant & NUMBER_FIRST) != 0;
  const bsm_ivalue *qx = &c->args[first ? 1 : 0];
  bsm_ivalue integers;
  bsm_q_grid grid;
  bool is;
  double number;
  BSM_TRY(number_of(&c->args[first ? 0 : 1], &number));
  BSM_TRY(c->b->split(c->b, qx, &integers, &grid, &is));
  if (!is || grid.q.scales || grid.dtype == BSM_DTYPE_QINT32) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "only a tensor of qint8 or quint8 with one scale takes a "
                    "number");
  }
  return (c->form->variant & OPERATION) == ADD
             ? add_number(c, qx, number, &integers, &grid)
             : multiply_number(c, number, &integers, &grid);
}

/* ---- concatenation ---- */

/* (tensors, dim[, scale, zero point]): the grid of the first without one. What
 * lies on the result's grid already is moved. */
static bsm_status run_cat(const bsm_q_call *c) {
  const bsm_list *from =
      c->args[0].tag == BSM_IVALUE_LIST ? c->args[0].u.list : NULL;
  bsm_q_grid first, grid, own;
  bsm_list *to = NULL;
  bool same = !(c->form->variant & RELU);
  if (!from || !from->len) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a list of tensors is needed");
  }
  BSM_TRY(bsm_q_grid_of(c, &from->items[0], &first));
  grid = first;
  if (c->n == 4 && c->args[2].tag != BSM_IVALUE_NONE &&
      c->args[3].tag != BSM_IVALUE_NONE) {
    BSM_TRY(bsm_q_grid_from(&c->args[2], &c->args[3], first.dtype, &grid));
  }
  BSM_TRY(bsm_list_new(c->b->arena, from->elem_type, from->len, &to));
  for (size_t i = 0; i < from->len; i++) {
    BSM_TRY(bsm_q_grid_of(c, &from->items[i], &own));
    if (own.dtype != first.dtype) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "All dtypes must be the same, not %s and %s",
                      bsm_dtype_name(first.dtype), bsm_dtype_name(own.dtype));
    }
    same = same && bsm_q_same_grid(&own, &grid);
  }
  for (size_t i = 0; i < from->len; i++) {
    bool is;
    BSM_TRY(same ? c->b->split(c->b, &from->items[i], &to->items[i], &own, &is)
                 : bsm_q_float(c, &from->items[i], &to->items[i]));
  }
  bsm_ivalue y;
  Q_CALL(c, &y, "aten::cat", bsm_iv_list(to), c->args[1]);
  if (same) return c->b->join(c->b, &y, &grid, &c->outs[0]);
  if (c->form->variant & RELU) Q_CALL(c, &y, "aten::relu", y);
  return bsm_q_quantize(c, &y, &grid, &c->outs[0]);
}

#define OP(name, rest, run, variant) \
  { "quantized::" name rest, run, variant, BSM_Q_OP }
#define TWO "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc"
#define ONE "(Tensor qa, Scalar b) -> Tensor qc"
#define NUMBERS(name, variant)                                              \
  OP(name ".Scalar", ONE, run_number, variant),                             \
      OP(name ".Scalar2", "(Scalar b, Tensor qa) -> Tensor qc", run_number, \
         (variant) | NUMBER_FIRST)
#define SCALAR(name, variant)                                              \
  OP(name, ONE, run_number, variant),                                      \
      OP(name ".Tensor", "(Tensor qa, Tensor b) -> Tensor qc", run_number, \
         variant)

static const bsm_q_form forms[] = {
    OP("add", TWO, run_binary, ADD),
    OP("add_relu", TWO, run_binary, ADD | RELU),
    OP("mul", TWO, run_binary, MUL),
    OP("mul_relu", TWO, run_binary, MUL | RELU),
    OP("matmul", TWO, run_binary, MATMUL),
    NUMBERS("add", ADD),
    NUMBERS("add_relu", ADD | RELU),
    NUMBERS("mul", MUL),
    NUMBERS("mul_relu", MUL | RELU),
    SCALAR("add_scalar", ADD),
    OP("add_scalar_relu", ONE, run_number, ADD | RELU),
    /* PyTorch's overload of a tensor has no relu in it. */
    OP("add_scalar_relu.Tensor", "(Tensor qa, Tensor b) -> Tensor qc",
       run_number, ADD),
    SCALAR("mul_scalar", MUL),
    SCALAR("mul_scalar_relu", MUL | RELU),
    OP("cat", "(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
       run_cat, 0),
    OP("cat_relu",
       "(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
       run_cat, RELU),
    {"aten::cat", run_cat, 0, BSM_Q_TENSOR},
};
BSM_Q_TABLE(binary, forms);
