/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes activations that models write as formulas, such as
 *   x * sigmoid(x)                                              -> silu
 *   x * clamp(x + 3, 0, 6) / 6                                  -> hard swish
 *   clamp(x + 3, 0, 6) / 6                                      -> hard sigmoid
 *   0.5 x (1 + tanh(0.79788 (x + 0.044715 x^3)))                -> gelu tanh
 * by what they compute, because each can be written in many ways. The layers
 * from one tensor x to a result are a function of one number when all their
 * other operands are scalar constants. That function is evaluated in double at
 * points of all magnitudes and signs. When an activation agrees at each point,
 * up to the rounding of the constants, it replaces the layers. Only few
 * operations are allowed in such a function, so two different functions do not
 * agree at all points.
 * Requires nothing; works on float and double (in half each operation rounds).
 */
#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "builder/passes.h"

enum {
  MAX_LAYERS = 12, /* of one activation */
  GRID = 97,       /* points -12, -11.75 .. 12 */
  POWERS = 28,     /* powers of two, with both signs and three fractions */
  POINTS = GRID + 6 * POWERS,
  FEW = 8 /* these tell most other functions apart */
};

/* The layers that a result depends on; operands come before their readers. */
typedef struct cone {
  const bsm_layer *layers[MAX_LAYERS];
  double values[MAX_LAYERS][POINTS];
  size_t count;
} cone;

static void fill_points(double *x) {
  size_t n = 0;
  /* A stride of 37 visits the whole grid, and distant points first. */
  for (int i = 0; i < GRID; i++) x[n++] = i * 37 % GRID * 0.25 - 12.0;
  for (int i = 0; i < POWERS; i++) {
    for (int k = 0; k < 3; k++) {
      const double v = ldexp(1.0 + 0.3 * k, i - 21);
      x[n++] = v;
      x[n++] = -v;
    }
  }
}

/* ---- the functions ---- */

static double clamped(double x, double lo, double hi) {
  return fmin(fmax(x, lo), hi);
}

static double sigmoid(double x) {
  return 1.0 / (1.0 + exp(-x));
}

/* The value of an activation; false for those that are not recognized. */
static bool activate(bsm_activation_type type, double alpha, double beta,
                     double x, double *y) {
  switch (type) {
    case BSM_ACTIVATION_RELU:
      *y = fmax(x, 0.0);
      return true;
    case BSM_ACTIVATION_SIGMOID:
      *y = sigmoid(x);
      return true;
    case BSM_ACTIVATION_TANH:
      *y = tanh(x);
      return true;
    case BSM_ACTIVATION_SOFTSIGN:
      *y = x / (1.0 + fabs(x));
      return true;
    case BSM_ACTIVATION_SOFTPLUS:
      *y = beta * x > alpha ? x : log1p(exp(beta * x)) / beta;
      return true;
    case BSM_ACTIVATION_CLIP:
      *y = clamped(x, alpha, beta);
      return true;
    case BSM_ACTIVATION_HARD_SIGMOID:
      *y = clamped(alpha * x + beta, 0.0, 1.0);
      return true;
    case BSM_ACTIVATION_GELU_ERF:
      *y = 0.5 * x * (1.0 + erf(x * sqrt(0.5)));
      return true;
    case BSM_ACTIVATION_GELU_TANH:
      *y = 0.5 * x *
           (1.0 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
      return true;
    case BSM_ACTIVATION_SILU:
      *y = x * sigmoid(x);
      return true;
    case BSM_ACTIVATION_HARD_SWISH:
      *y = x * clamped(x + 3.0, 0.0, 6.0) / 6.0;
      return true;
    case BSM_ACTIVATION_MISH:
      *y = x * tanh(x > 20.0 ? x : log1p(exp(x)));
      return true;
    default:
      return false;
  }
}

static bool apply_unary(bsm_unary_operation operation, double x, double *y) {
  switch (operation) {
    case BSM_UNARY_EXP:
      *y = exp(x);
      return true;
    case BSM_UNARY_RECIP:
      *y = 1.0 / x;
      return true;
    case BSM_UNARY_ABS:
      *y = fabs(x);
      return true;
    case BSM_UNARY_NEG:
      *y = -x;
      return true;
    case BSM_UNARY_SQUARE:
      *y = x * x;
      return true;
    case BSM_UNARY_ERF:
      *y = erf(x);
      return true;
    case BSM_UNARY_LOG1P:
      *y = log1p(x);
      return true;
    case BSM_UNARY_LOG:
      *y = log(x);
      return true;
    default:
      return false;
  }
}

static bool apply_binary(bsm_element_wise_operation operation, double a,
                         double b, double *y) {
  switch (operation) {
    case BSM_ELEMENT_WISE_SUM:
      *y = a + b;
      return true;
    case BSM_ELEMENT_WISE_SUB:
      *y = a - b;
      return true;
    case BSM_ELEMENT_WISE_PROD:
      *y = a * b;
      return true;
    case BSM_ELEMENT_WISE_DIV:
      *y = a / b;
      return true;
    case BSM_ELEMENT_WISE_MAX:
      *y = fmax(a, b);
      return true;
    case BSM_ELEMENT_WISE_MIN:
      *y = fmin(a, b);
      return true;
    case BSM_ELEMENT_WISE_POW:
      *y = pow(a, b);
      return true;
    default:
      return false;
  }
}

/* ---- evaluation ---- */

static bool scalar_constant(const bsm_itensor *t, double *value) {
  const bsm_layer *layer = t->producer;
  if (!layer || layer->kind != BSM_LAYER_CONSTANT ||
      layer->p.constant.weights.count != 1 || layer->p.constant.deferred.cast) {
    return false;
  }
  const void *data = layer->p.constant.weights.values;
  if (t->dtype == BSM_DTYPE_DOUBLE) {
    memcpy(value, data, sizeof(*value));
    return true;
  }
  if (t->dtype != BSM_DTYPE_FLOAT) return false;
  float v;
  memcpy(&v, data, sizeof(v));
  *value = (double)v;
  return true;
}

static bool is_element_wise(const bsm_layer *layer) {
  return layer && !layer->removed &&
         (layer->kind == BSM_LAYER_ACTIVATION ||
          layer->kind == BSM_LAYER_UNARY ||
          layer->kind == BSM_LAYER_ELEMENT_WISE);
}

/* Adds the layers that `t` depends on, up to `x` and constants; false when
 * there are other kinds of layers, or too many, of which `above` are on the way
 * to t. */
static bool collect(cone *c, const bsm_itensor *t, const bsm_itensor *x,
                    size_t above) {
  double ignored;
  const bsm_layer *layer = t->producer;
  if (t == x || scalar_constant(t, &ignored)) return true;
  for (size_t i = 0; i < c->count; i++) {
    if (c->layers[i] == layer) return true;
  }
  if (above == MAX_LAYERS || !is_element_wise(layer) || t->dtype != x->dtype ||
      !bsm_dims_equal(t->dims, x->dims)) {
    return false;
  }
  for (size_t i = 0; i < layer->inputs.len; i++) {
    if (!collect(c, layer->inputs.items[i], x, above + 1)) return false;
  }
  if (c->count == MAX_LAYERS) return false;
  c->layers[c->count++] = layer;
  return true;
}

/* The value of an operand at point p. */
static double operand(const cone *c, const bsm_layer *layer, size_t i,
                      const bsm_itensor *x, const double *points, size_t p) {
  const bsm_itensor *t = layer->inputs.items[i];
  double value = 0.0;
  if (t == x) return points[p];
  if (scalar_constant(t, &value)) return value;
  for (size_t k = 0; k < c->count; k++) {
    if (c->layers[k] == t->producer) value = c->values[k][p];
  }
  return value;
}

static bool evaluate(cone *c, const bsm_itensor *x, const double *points,
                     size_t count) {
  for (size_t k = 0; k < c->count; k++) {
    const bsm_layer *layer = c->layers[k];
    for (size_t p = 0; p < count; p++) {
      const double a = operand(c, layer, 0, x, points, p);
      double *y = &c->values[k][p];
      bool known = false;
      if (layer->kind == BSM_LAYER_ACTIVATION) {
        known = activate(layer->p.activation.type, layer->p.activation.alpha,
                         layer->p.activation.beta, a, y);
      } else if (layer->kind == BSM_LAYER_UNARY) {
        known = apply_unary(layer->p.unary.operation, a, y);
      } else {
        known = apply_binary(layer->p.element_wise.operation, a,
                             operand(c, layer, 1, x, points, p), y);
      }
      if (!known) return false;
    }
  }
  return c->count > 0;
}

typedef struct activation {
  bsm_activation_type type; /* NONE: none */
  double alpha, beta;
} activation;

/* The activation that has these values. */
static activation match(const double *points, const double *values,
                        size_t count, double tolerance) {
  static const activation known[] = {
      {BSM_ACTIVATION_SILU, 0, 0},
      {BSM_ACTIVATION_GELU_TANH, 0, 0},
      {BSM_ACTIVATION_GELU_ERF, 0, 0},
      {BSM_ACTIVATION_HARD_SWISH, 0, 0},
      {BSM_ACTIVATION_HARD_SIGMOID, 1.0 / 6, 0.5},
      {BSM_ACTIVATION_MISH, 0, 0},
      {BSM_ACTIVATION_SIGMOID, 0, 0},
      {BSM_ACTIVATION_TANH, 0, 0},
      {BSM_ACTIVATION_SOFTSIGN, 0, 0}};
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    bool same = true;
    for (size_t p = 0; same && p < count; p++) {
      double y = 0.0;
      activate(known[i].type, known[i].alpha, known[i].beta, points[p], &y);
      same =
          fabs(values[p] - y) <= tolerance * (fabs(y) + 0.1 * fabs(points[p]));
    }
    if (same) return known[i];
  }
  return (activation){BSM_ACTIVATION_NONE, 0, 0};
}

/* ---- the pass ---- */

/* Puts into `found` the tensors that the layer may be a function of: those that
 * its operands depend on, nearest first. */
static size_t candidates(const bsm_layer *layer, bsm_itensor **found) {
  size_t count = 0;
  const bsm_layer *open[2 * MAX_LAYERS + 1] = {layer};
  size_t open_count = 1;
  for (size_t at = 0; at < open_count && at < MAX_LAYERS; at++) {
    for (size_t i = 0; i < open[at]->inputs.len && i < 2; i++) {
      bsm_itensor *t = open[at]->inputs.items[i];
      double ignored;
      bool seen = scalar_constant(t, &ignored);
      for (size_t k = 0; k < count; k++) seen = seen || found[k] == t;
      if (seen || count == 2 * MAX_LAYERS) continue;
      found[count++] = t;
      if (is_element_wise(t->producer)) open[open_count++] = t->producer;
    }
  }
  return count;
}

/* The activation of `x` that the layers compute. Float constants are rounded.
 */
static activation recognized(cone *c, const bsm_itensor *x,
                             const double *points) {
  const double tolerance = x->dtype == BSM_DTYPE_DOUBLE ? 1e-13 : 1e-6;
  const activation none = {BSM_ACTIVATION_NONE, 0, 0};
  activation found = none;
  for (int all = 0; all < 2; all++) {
    const size_t count = all ? POINTS : FEW;
    if (!evaluate(c, x, points, count)) return none;
    found = match(points, c->values[c->count - 1], count, tolerance);
    if (found.type == BSM_ACTIVATION_NONE) break;
  }
  return found;
}

/* Turns the layer into an activation if it computes one. */
static void recognize(bsm_layer *layer, const double *points, cone *c) {
  bsm_itensor *found[2 * MAX_LAYERS];
  const bsm_itensor *y = layer->outputs.items[0];
  for (size_t i = candidates(layer, found); i-- > 0;) {
    bsm_itensor *x = found[i];
    c->count = 0;
    if (!bsm_dims_equal(x->dims, y->dims) || x->dtype != y->dtype ||
        !collect(c, y, x, 0)) {
      continue;
    }
    const activation as = recognized(c, x, points);
    if (as.type == BSM_ACTIVATION_NONE) continue;
    layer->kind = BSM_LAYER_ACTIVATION;
    layer->inputs.items[0] = x;
    layer->inputs.len = 1;
    layer->p.activation.type = as.type;
    layer->p.activation.alpha = as.alpha;
    layer->p.activation.beta = as.beta;
    return;
  }
}

bsm_status bsm_pass_recognize_activations(const bsm_target *target,
                                          bsm_network *net,
                                          bsm_arena *scratch) {
  (void)target;
  double *points = BSM_NEW_ARRAY(scratch, double, POINTS);
  cone *c = BSM_NEW(scratch, cone);
  if (!points || !c) return BSM_FAIL_OOM();
  fill_points(points);
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed || layer->kind != BSM_LAYER_ELEMENT_WISE) continue;
    const bsm_dtype dtype = layer->outputs.items[0]->dtype;
    if (dtype != BSM_DTYPE_FLOAT && dtype != BSM_DTYPE_DOUBLE) continue;
    if (layer->p.element_wise.operation == BSM_ELEMENT_WISE_PROD ||
        layer->p.element_wise.operation == BSM_ELEMENT_WISE_DIV) {
      recognize(layer, points, c);
    }
  }
  return BSM_OK;
}
