/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that compute element by element, and along axes. What ONNX has no
 * operator for is written as several. */
#include <math.h>

#include "aten/tensor.h"
#include "onnx/onnx_emitter.h"

static bsm_dtype dtype_of(const bsm_onnx_emitter *e) {
  return e->layer->inputs.items[0]->dtype;
}

/* A number of the dtype of the layer's first input. */
static const char *number(bsm_onnx_emitter *e, double value) {
  return bsm_onnx_scalar(e, dtype_of(e), value);
}

static const char *with_alpha(bsm_onnx_emitter *e, const char *op,
                              const char *x, const char *name, double value) {
  const bsm_onnx_attribute a = bsm_onnx_float(name, value);
  return bsm_onnx_op(e, op, &x, 1, &a, 1);
}

static const char *add(bsm_onnx_emitter *e, const char *a, const char *b) {
  return bsm_onnx_op2(e, "Add", a, b);
}

static const char *mul(bsm_onnx_emitter *e, const char *a, const char *b) {
  return bsm_onnx_op2(e, "Mul", a, b);
}

static const char *scaled(bsm_onnx_emitter *e, const char *x, double by) {
  return mul(e, x, number(e, by));
}

/* ---- activations ---- */

/* x / 2 * (1 + erf(x / sqrt(2))) */
static const char *gelu(bsm_onnx_emitter *e, const char *x) {
  const char *erf = bsm_onnx_op1(e, "Erf", scaled(e, x, sqrt(0.5)));
  return mul(e, scaled(e, x, 0.5), add(e, erf, number(e, 1)));
}

/* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) */
static const char *gelu_tanh(bsm_onnx_emitter *e, const char *x) {
  const char *cube = mul(e, mul(e, x, x), x);
  const char *sum = add(e, x, scaled(e, cube, 0.044715));
  const char *tanh =
      bsm_onnx_op1(e, "Tanh", scaled(e, sum, 0.7978845608028654));
  return mul(e, scaled(e, x, 0.5), add(e, tanh, number(e, 1)));
}

static const char *softplus(bsm_onnx_emitter *e, const char *x, double beta) {
  if (beta == 1) return bsm_onnx_op1(e, "Softplus", x);
  const char *y = bsm_onnx_op1(e, "Softplus", scaled(e, x, beta));
  return scaled(e, y, 1 / beta);
}

static const char *hard_sigmoid(bsm_onnx_emitter *e, const char *x,
                                double alpha, double beta) {
  const bsm_onnx_attribute attributes[] = {bsm_onnx_float("alpha", alpha),
                                           bsm_onnx_float("beta", beta)};
  return bsm_onnx_op(e, "HardSigmoid", &x, 1, attributes, 2);
}

static const char *selu(bsm_onnx_emitter *e, const char *x, double alpha,
                        double gamma) {
  const bsm_onnx_attribute attributes[] = {bsm_onnx_float("alpha", alpha),
                                           bsm_onnx_float("gamma", gamma)};
  return bsm_onnx_op(e, "Selu", &x, 1, attributes, 2);
}

static const char *activate(bsm_onnx_emitter *e, const char *x,
                            bsm_activation_type type, double alpha,
                            double beta) {
  switch (type) {
    case BSM_ACTIVATION_NONE:
      return bsm_onnx_op1(e, "Identity", x);
    case BSM_ACTIVATION_RELU:
      return bsm_onnx_op1(e, "Relu", x);
    case BSM_ACTIVATION_SIGMOID:
      return bsm_onnx_op1(e, "Sigmoid", x);
    case BSM_ACTIVATION_TANH:
      return bsm_onnx_op1(e, "Tanh", x);
    case BSM_ACTIVATION_LEAKY_RELU:
      return with_alpha(e, "LeakyRelu", x, "alpha", alpha);
    case BSM_ACTIVATION_ELU:
      return with_alpha(e, "Elu", x, "alpha", alpha);
    case BSM_ACTIVATION_SELU:
      return selu(e, x, alpha, beta);
    case BSM_ACTIVATION_SOFTSIGN:
      return bsm_onnx_op1(e, "Softsign", x);
    case BSM_ACTIVATION_SOFTPLUS:
      return softplus(e, x, beta);
    case BSM_ACTIVATION_CLIP:
      return bsm_onnx_op3(e, "Clip", x, number(e, alpha), number(e, beta));
    case BSM_ACTIVATION_HARD_SIGMOID:
      return hard_sigmoid(e, x, alpha, beta);
    case BSM_ACTIVATION_THRESHOLDED_RELU:
      return with_alpha(e, "ThresholdedRelu", x, "alpha", alpha);
    case BSM_ACTIVATION_GELU_ERF:
      return gelu(e, x);
    case BSM_ACTIVATION_GELU_TANH:
      return gelu_tanh(e, x);
    case BSM_ACTIVATION_SILU:
      return mul(e, x, bsm_onnx_op1(e, "Sigmoid", x));
    case BSM_ACTIVATION_HARD_SWISH:
      return bsm_onnx_op1(e, "HardSwish", x);
    case BSM_ACTIVATION_MISH:
      return mul(e, x, bsm_onnx_op1(e, "Tanh", softplus(e, x, 1)));
    case BSM_ACTIVATION_LOG_SIGMOID:
      return bsm_onnx_op1(
          e, "Neg", bsm_onnx_op1(e, "Softplus", bsm_onnx_op1(e, "Neg", x)));
    case BSM_ACTIVATION_THRESHOLD:
      return bsm_onnx_op3(e, "Where",
                          bsm_onnx_op2(e, "Greater", x, number(e, alpha)), x,
                          number(e, beta));
  }
  bsm_onnx_refuse(e, "its activation is unknown");
  return NULL;
}

void bsm_onnx_activation(bsm_onnx_emitter *e) {
  bsm_onnx_out(
      e, 0,
      activate(e, bsm_onnx_in(e, 0), e->layer->p.activation.type,
               e->layer->p.activation.alpha, e->layer->p.activation.beta));
}

/* ---- unary ---- */

static const char *truncated(bsm_onnx_emitter *e, const char *x) {
  return mul(e, bsm_onnx_op1(e, "Sign", x),
             bsm_onnx_op1(e, "Floor", bsm_onnx_op1(e, "Abs", x)));
}

static const char *simple_unary(bsm_unary_operation operation) {
  static const char *const names[] = {
      [BSM_UNARY_EXP] = "Exp",     [BSM_UNARY_LOG] = "Log",
      [BSM_UNARY_SQRT] = "Sqrt",   [BSM_UNARY_RECIP] = "Reciprocal",
      [BSM_UNARY_ABS] = "Abs",     [BSM_UNARY_NEG] = "Neg",
      [BSM_UNARY_SIN] = "Sin",     [BSM_UNARY_COS] = "Cos",
      [BSM_UNARY_TAN] = "Tan",     [BSM_UNARY_SINH] = "Sinh",
      [BSM_UNARY_COSH] = "Cosh",   [BSM_UNARY_ASIN] = "Asin",
      [BSM_UNARY_ACOS] = "Acos",   [BSM_UNARY_ATAN] = "Atan",
      [BSM_UNARY_ASINH] = "Asinh", [BSM_UNARY_ACOSH] = "Acosh",
      [BSM_UNARY_ATANH] = "Atanh", [BSM_UNARY_CEIL] = "Ceil",
      [BSM_UNARY_FLOOR] = "Floor", [BSM_UNARY_ERF] = "Erf",
      [BSM_UNARY_NOT] = "Not",     [BSM_UNARY_SIGN] = "Sign",
      [BSM_UNARY_ROUND] = "Round", [BSM_UNARY_ISINF] = "IsInf",
      [BSM_UNARY_ISNAN] = "IsNaN", [BSM_UNARY_BITWISE_NOT] = "BitwiseNot",
      [BSM_UNARY_EXP2] = NULL};
  return (size_t)operation < sizeof(names) / sizeof(names[0]) ? names[operation]
                                                              : NULL;
}

static const char *other_unary(bsm_onnx_emitter *e, const char *x,
                               bsm_unary_operation operation) {
  switch (operation) {
    case BSM_UNARY_TRUNC:
      return truncated(e, x);
    case BSM_UNARY_RSQRT:
      return bsm_onnx_op1(e, "Reciprocal", bsm_onnx_op1(e, "Sqrt", x));
    case BSM_UNARY_LOG2:
      return scaled(e, bsm_onnx_op1(e, "Log", x), 1 / log(2));
    case BSM_UNARY_LOG10:
      return scaled(e, bsm_onnx_op1(e, "Log", x), 1 / log(10));
    case BSM_UNARY_LOG1P:
      return bsm_onnx_op1(e, "Log", add(e, x, number(e, 1)));
    case BSM_UNARY_EXPM1:
      return bsm_onnx_op2(e, "Sub", bsm_onnx_op1(e, "Exp", x), number(e, 1));
    case BSM_UNARY_ERFC:
      return bsm_onnx_op2(e, "Sub", number(e, 1), bsm_onnx_op1(e, "Erf", x));
    case BSM_UNARY_SQUARE:
      return mul(e, x, x);
    case BSM_UNARY_FRAC:
      return bsm_onnx_op2(e, "Sub", x, truncated(e, x));
    case BSM_UNARY_EXP2:
      return bsm_onnx_op1(e, "Exp", scaled(e, x, log(2)));
    default:
      bsm_onnx_refuse(e, "its operation is unknown");
      return NULL;
  }
}

void bsm_onnx_unary(bsm_onnx_emitter *e) {
  const bsm_unary_operation operation = e->layer->p.unary.operation;
  const char *x = bsm_onnx_in(e, 0);
  const char *name = simple_unary(operation);
  if (operation == BSM_UNARY_BITWISE_NOT && dtype_of(e) == BSM_DTYPE_BOOL) {
    name = "Not";
  }
  /* Nothing of an integer is infinite, and nothing is to be rounded. */
  if (!bsm_dtype_is_floating(dtype_of(e)) &&
      (operation == BSM_UNARY_CEIL || operation == BSM_UNARY_FLOOR ||
       operation == BSM_UNARY_ROUND || operation == BSM_UNARY_TRUNC)) {
    name = "Identity";
  }
  bsm_onnx_out(e, 0,
               name ? bsm_onnx_op1(e, name, x) : other_unary(e, x, operation));
}

/* ---- two inputs ---- */

/* The op for numbers, and that for bool; NULL: it is written as several, or
 * there is none. */
typedef struct pair_op {
  const char *number, *boolean;
} pair_op;

static pair_op simple_pair(bsm_element_wise_operation operation) {
  switch (operation) {
    case BSM_ELEMENT_WISE_SUM:
      return (pair_op){"Add", "Or"};
    case BSM_ELEMENT_WISE_PROD:
      return (pair_op){"Mul", "And"};
    case BSM_ELEMENT_WISE_MAX:
      return (pair_op){"Max", "Or"};
    case BSM_ELEMENT_WISE_MIN:
      return (pair_op){"Min", "And"};
    case BSM_ELEMENT_WISE_SUB:
      return (pair_op){"Sub", NULL};
    case BSM_ELEMENT_WISE_DIV:
      return (pair_op){"Div", NULL};
    case BSM_ELEMENT_WISE_POW:
      return (pair_op){"Pow", NULL};
    case BSM_ELEMENT_WISE_AND:
      return (pair_op){NULL, "And"};
    case BSM_ELEMENT_WISE_OR:
      return (pair_op){NULL, "Or"};
    case BSM_ELEMENT_WISE_XOR:
      return (pair_op){NULL, "Xor"};
    case BSM_ELEMENT_WISE_EQUAL:
      return (pair_op){"Equal", "Equal"};
    case BSM_ELEMENT_WISE_GREATER:
      return (pair_op){"Greater", NULL};
    case BSM_ELEMENT_WISE_LESS:
      return (pair_op){"Less", NULL};
    case BSM_ELEMENT_WISE_GREATER_EQUAL:
      return (pair_op){"GreaterOrEqual", NULL};
    case BSM_ELEMENT_WISE_LESS_EQUAL:
      return (pair_op){"LessOrEqual", NULL};
    case BSM_ELEMENT_WISE_BITWISE_AND:
      return (pair_op){"BitwiseAnd", "And"};
    case BSM_ELEMENT_WISE_BITWISE_OR:
      return (pair_op){"BitwiseOr", "Or"};
    case BSM_ELEMENT_WISE_BITWISE_XOR:
      return (pair_op){"BitwiseXor", "Xor"};
    default:
      return (pair_op){NULL, NULL};
  }
}

static const char *modulo(bsm_onnx_emitter *e, const char *a, const char *b,
                          bool fmod) {
  const bsm_onnx_attribute attribute = bsm_onnx_int("fmod", fmod);
  const char *const inputs[] = {a, b};
  return bsm_onnx_op(e, "Mod", inputs, 2, &attribute, 1);
}

/* Quotients and remainders. ONNX's division of integers truncates. */
static const char *division(bsm_onnx_emitter *e, const char *a, const char *b,
                            bsm_element_wise_operation operation) {
  const bool floating = bsm_dtype_is_floating(dtype_of(e));
  switch (operation) {
    case BSM_ELEMENT_WISE_FLOOR_DIV:
      if (floating) {
        return bsm_onnx_op1(e, "Floor", bsm_onnx_op2(e, "Div", a, b));
      }
      return bsm_onnx_op2(e, "Div",
                          bsm_onnx_op2(e, "Sub", a, modulo(e, a, b, false)), b);
    case BSM_ELEMENT_WISE_TRUNC_DIV:
      return floating ? truncated(e, bsm_onnx_op2(e, "Div", a, b))
                      : bsm_onnx_op2(e, "Div", a, b);
    case BSM_ELEMENT_WISE_REMAINDER:
      if (!floating) return modulo(e, a, b, false);
      return bsm_onnx_op2(
          e, "Sub", a,
          mul(e, bsm_onnx_op1(e, "Floor", bsm_onnx_op2(e, "Div", a, b)), b));
    case BSM_ELEMENT_WISE_FMOD:
      return modulo(e, a, b, true);
    default:
      return NULL;
  }
}

void bsm_onnx_element_wise(bsm_onnx_emitter *e) {
  const bsm_element_wise_operation operation =
      e->layer->p.element_wise.operation;
  const bool boolean = dtype_of(e) == BSM_DTYPE_BOOL;
  const char *a = bsm_onnx_in(e, 0), *b = bsm_onnx_in(e, 1);
  const pair_op op = simple_pair(operation);
  const char *name = boolean ? op.boolean : op.number;
  const char *out = NULL;
  if (name) {
    out = bsm_onnx_op2(e, name, a, b);
  } else if (operation == BSM_ELEMENT_WISE_NOT_EQUAL) {
    out = bsm_onnx_op1(e, "Not", bsm_onnx_op2(e, "Equal", a, b));
  } else if (boolean) {
    out = bsm_onnx_compare_truth(e, a, b, operation);
  } else if (operation == BSM_ELEMENT_WISE_SHIFT_LEFT ||
             operation == BSM_ELEMENT_WISE_SHIFT_RIGHT) {
    out = bsm_onnx_shift(e, a, b, operation);
  } else {
    out = division(e, a, b, operation);
  }
  if (!out) bsm_onnx_refuse(e, "ONNX has no such operation of two inputs");
  bsm_onnx_out(e, 0, out);
}

/* ---- reductions ---- */

/* The axes as an input, and keepdims. */
static const char *reduced(bsm_onnx_emitter *e, const char *op, const char *x,
                           uint32_t axes, bool keep) {
  int64_t list[BSM_MAX_RANK];
  size_t count = 0;
  for (int i = 0; i < BSM_MAX_RANK; i++) {
    if (axes >> i & 1) list[count++] = i;
  }
  const char *const inputs[] = {x, bsm_onnx_ints(e, list, count)};
  const bsm_onnx_attribute attributes[] = {
      bsm_onnx_int("keepdims", keep), bsm_onnx_int("noop_with_empty_axes", 1)};
  return bsm_onnx_op(e, op, inputs, 2, attributes, 2);
}

/* Elements that are not zero, as int32: 1 or 0. */
static const char *truth(bsm_onnx_emitter *e, const char *x) {
  if (dtype_of(e) != BSM_DTYPE_BOOL) x = bsm_onnx_cast(e, x, BSM_DTYPE_BOOL);
  return bsm_onnx_cast(e, x, BSM_DTYPE_INT32);
}

static const char *variance(bsm_onnx_emitter *e, const char *x, uint32_t axes,
                            bool keep, double correction) {
  double count = 1;
  for (int32_t i = 0; i < e->layer->inputs.items[0]->dims.rank; i++) {
    if (axes >> i & 1) count *= (double)e->layer->inputs.items[0]->dims.d[i];
  }
  const char *apart =
      bsm_onnx_op2(e, "Sub", x, reduced(e, "ReduceMean", x, axes, true));
  const char *sum = reduced(e, "ReduceSum", mul(e, apart, apart), axes, keep);
  return bsm_onnx_op2(e, "Div", sum, number(e, fmax(count - correction, 0)));
}

void bsm_onnx_reduce(bsm_onnx_emitter *e) {
  static const char *const names[] = {
      [BSM_REDUCE_SUM] = "ReduceSum",  [BSM_REDUCE_PROD] = "ReduceProd",
      [BSM_REDUCE_MAX] = "ReduceMax",  [BSM_REDUCE_MIN] = "ReduceMin",
      [BSM_REDUCE_AVG] = "ReduceMean", [BSM_REDUCE_L2] = "ReduceL2",
      [BSM_REDUCE_L1] = "ReduceL1"};
  const bsm_reduce_operation operation = e->layer->p.reduce.operation;
  const uint32_t axes = e->layer->p.reduce.axes;
  const bool keep = e->layer->p.reduce.keep_dims;
  const bsm_dtype out = e->layer->outputs.items[0]->dtype;
  const char *x = bsm_onnx_in(e, 0), *y;
  if (operation == BSM_REDUCE_VARIANCE) {
    y = variance(e, x, axes, keep, e->layer->p.reduce.correction);
  } else if (operation == BSM_REDUCE_ANY || operation == BSM_REDUCE_ALL) {
    y = reduced(e, operation == BSM_REDUCE_ANY ? "ReduceMax" : "ReduceMin",
                truth(e, x), axes, keep);
    y = bsm_onnx_cast(e, y, out);
  } else {
    if (out != dtype_of(e)) x = bsm_onnx_cast(e, x, out);
    y = reduced(e, names[operation], x, axes, keep);
  }
  bsm_onnx_out(e, 0, y);
}

void bsm_onnx_scan(bsm_onnx_emitter *e) {
  if (e->layer->p.scan.operation != BSM_SCAN_SUM) {
    bsm_onnx_refuse(e, "ONNX scans sums alone");
    return;
  }
  bsm_onnx_out(
      e, 0,
      bsm_onnx_op2(e, "CumSum", bsm_onnx_in(e, 0),
                   bsm_onnx_scalar(e, BSM_DTYPE_INT64, e->layer->p.scan.axis)));
}

/* ---- normalization ---- */

/* x / sqrt(mean of squares + epsilon), after the mean was taken away unless it
 * is an RMS norm. */
static const char *normalized(bsm_onnx_emitter *e, const char *x,
                              uint32_t axes) {
  if (!e->layer->p.normalization.rms) {
    x = bsm_onnx_op2(e, "Sub", x, reduced(e, "ReduceMean", x, axes, true));
  }
  const char *square = reduced(e, "ReduceMean", mul(e, x, x), axes, true);
  const char *with =
      add(e, square, number(e, e->layer->p.normalization.epsilon));
  return bsm_onnx_op2(e, "Div", x, bsm_onnx_op1(e, "Sqrt", with));
}

/* Axis 1 is split into groups, and everything behind it is one axis. */
static const char *normalized_groups(bsm_onnx_emitter *e, const char *x) {
  const bsm_dims dims = e->layer->inputs.items[0]->dims;
  const int64_t split[] = {dims.d[0], e->layer->p.normalization.groups, -1};
  const char *y = bsm_onnx_op2(e, "Reshape", x, bsm_onnx_ints(e, split, 3));
  y = normalized(e, y, 1u << 2);
  return bsm_onnx_op2(e, "Reshape", y, bsm_onnx_dims(e, dims));
}

/* The scale and bias of a LayerNormalization, when it is one: over the last
 * axes, with parameters of just their dims. */
static bool is_layer_norm(const bsm_onnx_emitter *e, int32_t *axis) {
  const bsm_layer *l = e->layer;
  const bsm_dims dims = l->inputs.items[0]->dims;
  const uint32_t axes = l->p.normalization.axes;
  if (l->p.normalization.rms || l->p.normalization.groups > 1 ||
      !l->p.normalization.has_scale || dtype_of(e) == BSM_DTYPE_DOUBLE) {
    return false;
  }
  for (*axis = 0; *axis < dims.rank && !(axes >> *axis & 1); ++*axis) {
  }
  if (axes >> *axis != (1u << (dims.rank - *axis)) - 1) return false;
  for (size_t i = 1; i < l->inputs.len; i++) {
    const bsm_dims own = l->inputs.items[i]->dims;
    if (own.rank != dims.rank - *axis) return false;
    for (int32_t k = 0; k < own.rank; k++) {
      if (own.d[k] != dims.d[*axis + k]) return false;
    }
  }
  return true;
}

void bsm_onnx_normalization(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  int32_t axis;
  const char *inputs[3] = {NULL};
  for (size_t i = 0; i < l->inputs.len && i < 3; i++) {
    inputs[i] = bsm_onnx_in(e, i);
  }
  if (is_layer_norm(e, &axis)) {
    const bsm_onnx_attribute attributes[] = {
        bsm_onnx_int("axis", axis),
        bsm_onnx_float("epsilon", l->p.normalization.epsilon)};
    bsm_onnx_out(e, 0,
                 bsm_onnx_op(e, "LayerNormalization", inputs, l->inputs.len,
                             attributes, 2));
    return;
  }
  const char *y = l->p.normalization.groups > 1
                      ? normalized_groups(e, inputs[0])
                      : normalized(e, inputs[0], l->p.normalization.axes);
  size_t next = 1;
  if (l->p.normalization.has_scale) y = mul(e, y, inputs[next++]);
  if (l->p.normalization.has_bias) y = add(e, y, inputs[next]);
  bsm_onnx_out(e, 0, y);
}

/* ---- products ---- */

static const char *transposed(bsm_onnx_emitter *e, const char *x, int32_t rank,
                              bsm_matrix_operation operation) {
  int64_t order[BSM_MAX_RANK];
  if (operation != BSM_MATRIX_TRANSPOSE) return x;
  for (int32_t i = 0; i < rank; i++) order[i] = i;
  order[rank - 1] = rank - 2;
  order[rank - 2] = rank - 1;
  const bsm_onnx_attribute perm = bsm_onnx_list("perm", order, (size_t)rank);
  return bsm_onnx_op(e, "Transpose", &x, 1, &perm, 1);
}

void bsm_onnx_matrix_multiply(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const char *a =
      transposed(e, bsm_onnx_in(e, 0), l->inputs.items[0]->dims.rank,
                 l->p.matrix_multiply.op_a);
  const char *b =
      transposed(e, bsm_onnx_in(e, 1), l->inputs.items[1]->dims.rank,
                 l->p.matrix_multiply.op_b);
  const char *y = bsm_onnx_op2(e, "MatMul", a, b);
  const double scale = l->p.matrix_multiply.scale;
  if (fabs(scale - 1) > 0) y = scaled(e, y, scale);
  if (l->p.matrix_multiply.bias.count) {
    const bsm_dims dims = {1, {l->p.matrix_multiply.bias.count}};
    y = add(e, y, bsm_onnx_weights_as(e, &l->p.matrix_multiply.bias, dims));
  }
  bsm_onnx_out(e, 0, y);
}

/* (x * scale + shift) ** power, by channel. */
void bsm_onnx_scale(bsm_onnx_emitter *e) {
  const bsm_layer *l = e->layer;
  const struct {
    const bsm_weights *weights;
    const char *op;
  } steps[] = {{&l->p.scale.scale, "Mul"},
               {&l->p.scale.shift, "Add"},
               {&l->p.scale.power, "Pow"}};
  const char *y = bsm_onnx_in(e, 0);
  for (size_t i = 0; i < 3; i++) {
    const bsm_weights *w = steps[i].weights;
    if (!w->count) continue;
    bsm_dims dims = {0};
    if (w->count > 1) {
      dims.rank = l->inputs.items[0]->dims.rank - 1;
      for (int32_t k = 0; k < dims.rank; k++) dims.d[k] = k ? 1 : w->count;
    }
    y = bsm_onnx_op2(e, steps[i].op, y, bsm_onnx_weights_as(e, w, dims));
  }
  bsm_onnx_out(e, 0, y);
}
