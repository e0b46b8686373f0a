/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: models that compute their own, as traced training steps do. */
#include "conversion/emit.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

static bsm_itensor *number(bsm_conversion_ctx *ctx, const bsm_itensor *like,
                           double value) {
  return like ? bsm_emit_scalar(ctx, like->dtype, value) : NULL;
}

static bsm_itensor *binary(bsm_conversion_ctx *ctx, bsm_itensor *a,
                           bsm_itensor *b,
                           bsm_element_wise_operation operation) {
  return bsm_emit_binary(ctx, a, b, operation);
}

static bsm_itensor *product(bsm_conversion_ctx *ctx, bsm_itensor *a,
                            bsm_itensor *b) {
  return bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_PROD);
}

/* Nothing, the mean or the sum over all elements. */
static bsm_itensor *reduced(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            int64_t reduction) {
  if (!x || reduction == REDUCE_NONE) return x;
  uint32_t axes = (1u << (unsigned)bsm_rank(x)) - 1;
  return bsm_emit_reduce(
      ctx, x, reduction == REDUCE_MEAN ? BSM_REDUCE_AVG : BSM_REDUCE_SUM, axes,
      false);
}

/* self and target in their common dtype. */
static bool two(bsm_conversion_ctx *ctx, const bsm_args *args, bsm_itensor **a,
                bsm_itensor **b) {
  bsm_operand both[2] = {bsm_operand_of(ctx, args, 0),
                         bsm_operand_of(ctx, args, 1)};
  bsm_dtype dtype = bsm_operands_dtype(both, 2);
  *a = bsm_operand_emit(ctx, &both[0], dtype);
  *b = bsm_operand_emit(ctx, &both[1], dtype);
  return *a && *b;
}

/* ---- of the difference ---- */

enum { LOSS_MSE, LOSS_L1, LOSS_SMOOTH_L1, LOSS_HUBER };

/* |d| < limit ? 0.5 * d^2 * inner : outer * |d| - shift */
static bsm_itensor *bent(bsm_conversion_ctx *ctx, bsm_itensor *d, double limit,
                         double inner, double outer, double shift) {
  bsm_itensor *size = bsm_emit_unary(ctx, d, BSM_UNARY_ABS);
  bsm_itensor *near =
      binary(ctx, size, number(ctx, d, limit), BSM_ELEMENT_WISE_LESS);
  bsm_itensor *square =
      product(ctx, product(ctx, d, d), number(ctx, d, 0.5 * inner));
  bsm_itensor *line = binary(ctx, product(ctx, size, number(ctx, d, outer)),
                             number(ctx, d, shift), BSM_ELEMENT_WISE_SUB);
  return bsm_emit_select(ctx, near, square, line);
}

static bsm_status convert_difference_loss(bsm_conversion_ctx *ctx,
                                          const bsm_node *node,
                                          const bsm_args *args) {
  enum { SELF, TARGET, REDUCTION, BETA };
  int kind = bsm_args_variant(args);
  bsm_itensor *a, *b;
  if (!two(ctx, args, &a, &b)) return bsm_ctx_take_error(ctx);
  if (bsm_dtype_is_integral(a->dtype, true)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a loss of integers");
  }
  const bsm_itensor *self = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (kind == LOSS_HUBER && (!self || self->dtype != a->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "huber_loss of two dtypes");
  }
  bsm_itensor *d = binary(ctx, a, b, BSM_ELEMENT_WISE_SUB);
  double beta =
      kind >= LOSS_SMOOTH_L1 ? bsm_arg_unwrap_to_double(args, BETA) : 0;
  if (kind == LOSS_MSE) {
    d = product(ctx, d, d);
  } else if (kind == LOSS_L1 || (kind == LOSS_SMOOTH_L1 && !(beta > 0))) {
    d = bsm_emit_unary(ctx, d, BSM_UNARY_ABS);
  } else if (kind == LOSS_SMOOTH_L1) {
    d = bent(ctx, d, beta, 1 / beta, 1, 0.5 * beta);
  } else {
    d = bent(ctx, d, beta, 1, beta, 0.5 * beta * beta);
  }
  return bsm_emit_output(
      ctx, node, 0, reduced(ctx, d, bsm_arg_unwrap_to_int(args, REDUCTION)));
}

/* ---- of probabilities ---- */

/* target * (log(target) - self), 0 where the target is 0. */
static bsm_status convert_kl_div(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, TARGET, REDUCTION, LOG_TARGET };
  bsm_itensor *x, *t, *loss;
  if (!two(ctx, args, &x, &t)) return bsm_ctx_take_error(ctx);
  if (bsm_arg_unwrap_to_bool(args, LOG_TARGET)) {
    loss = product(ctx, bsm_emit_unary(ctx, t, BSM_UNARY_EXP),
                   binary(ctx, t, x, BSM_ELEMENT_WISE_SUB));
  } else {
    bsm_itensor *self_entropy =
        product(ctx, t, bsm_emit_unary(ctx, t, BSM_UNARY_LOG));
    self_entropy = bsm_emit_select(
        ctx, binary(ctx, t, number(ctx, t, 0), BSM_ELEMENT_WISE_EQUAL),
        number(ctx, t, 0), self_entropy);
    loss = binary(ctx, self_entropy, product(ctx, t, x), BSM_ELEMENT_WISE_SUB);
  }
  return bsm_emit_output(
      ctx, node, 0, reduced(ctx, loss, bsm_arg_unwrap_to_int(args, REDUCTION)));
}

static bsm_itensor *weighted(bsm_conversion_ctx *ctx, const bsm_args *args,
                             size_t i, bsm_itensor *loss) {
  if (!loss || bsm_arg_is_none(args, i)) return loss;
  return product(ctx, loss, bsm_arg_emit_or_none(ctx, args, i, loss->dtype));
}

/* Whether argument `i`, if there is one, leaves the loss as large as it is. */
static bool in_place(bsm_conversion_ctx *ctx, const bsm_args *args, size_t i,
                     const bsm_itensor *loss) {
  const bsm_itensor *w = bsm_arg_emit_or_none(ctx, args, i, loss->dtype);
  const int32_t more = w ? bsm_rank(loss) - bsm_rank(w) : 0;
  bool fits = more >= 0;
  for (int32_t d = 0; w && fits && d < bsm_rank(w); d++) {
    fits = w->dims.d[d] == 1 || w->dims.d[d] == loss->dims.d[d + more];
  }
  return fits;
}

/* -(t * max(log(x), -100) + (1 - t) * max(log(1 - x), -100)) */
static bsm_status convert_bce(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, TARGET, WEIGHT, REDUCTION };
  bsm_itensor *x, *t, *logs[2];
  if (!two(ctx, args, &x, &t)) return bsm_ctx_take_error(ctx);
  BSM_CHECK(in_place(ctx, args, WEIGHT, x),
            "a loss that its weights would enlarge");
  bsm_itensor *negated = bsm_emit_unary(ctx, x, BSM_UNARY_NEG);
  logs[0] = bsm_emit_unary(ctx, x, BSM_UNARY_LOG);
  logs[1] = bsm_emit_unary(ctx, negated, BSM_UNARY_LOG1P);
  for (int i = 0; i < 2; i++) {
    logs[i] = binary(ctx, logs[i], number(ctx, x, -100), BSM_ELEMENT_WISE_MAX);
  }
  /* (t - 1) * log(1 - x) - t * log(x) */
  bsm_itensor *rest = binary(ctx, t, number(ctx, t, 1), BSM_ELEMENT_WISE_SUB);
  bsm_itensor *loss = binary(ctx, product(ctx, rest, logs[1]),
                             product(ctx, t, logs[0]), BSM_ELEMENT_WISE_SUB);
  loss = weighted(ctx, args, WEIGHT, loss);
  return bsm_emit_output(
      ctx, node, 0, reduced(ctx, loss, bsm_arg_unwrap_to_int(args, REDUCTION)));
}

/* (1 - t) * x + w * softplus(-x), where w = 1 + (pos_weight - 1) * t. */
static bsm_status convert_bce_with_logits(bsm_conversion_ctx *ctx,
                                          const bsm_node *node,
                                          const bsm_args *args) {
  enum { SELF, TARGET, WEIGHT, POS_WEIGHT, REDUCTION };
  bsm_itensor *x, *t;
  if (!two(ctx, args, &x, &t)) return bsm_ctx_take_error(ctx);
  const bsm_itensor *target = bsm_arg_itensor_or_freeze(ctx, args, TARGET);
  if (!target || target->dtype != t->dtype) { /* the result has its dtype */
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "binary_cross_entropy_with_logits of two dtypes");
  }
  bsm_itensor *one = number(ctx, x, 1);
  bsm_itensor *logs =
      bsm_emit_activation(ctx, x, BSM_ACTIVATION_LOG_SIGMOID, 0, 0);
  if (!bsm_arg_is_none(args, POS_WEIGHT)) {
    bsm_itensor *w = bsm_arg_emit_or_none(ctx, args, POS_WEIGHT, x->dtype);
    w = binary(ctx, w, one, BSM_ELEMENT_WISE_SUB);
    w = binary(ctx, product(ctx, w, t), one, BSM_ELEMENT_WISE_SUM);
    logs = product(ctx, logs, w);
  }
  bsm_itensor *rest = binary(ctx, one, t, BSM_ELEMENT_WISE_SUB);
  bsm_itensor *loss =
      binary(ctx, product(ctx, rest, x), logs, BSM_ELEMENT_WISE_SUB);
  loss = weighted(ctx, args, WEIGHT, loss);
  return bsm_emit_output(
      ctx, node, 0, reduced(ctx, loss, bsm_arg_unwrap_to_int(args, REDUCTION)));
}

/* ---- of classes ---- */

/* What a loss of class indices is made of, each of the targets' dims. */
typedef struct nll_terms {
  bsm_itensor *loss;    /* -w[t] * x[.., t, ..], 0 where ignored */
  bsm_itensor *w;       /* w[t], 0 where ignored */
  bsm_itensor *ignored; /* whether the target counts nothing */
} nll_terms;

static int32_t class_axis(const bsm_itensor *x) {
  return bsm_rank(x) > 1 ? 1 : 0;
}

static nll_terms nll(bsm_conversion_ctx *ctx, const bsm_args *args,
                     bsm_itensor *x, bsm_itensor *t, size_t weight,
                     int64_t ignore) {
  const int32_t axis = class_axis(x);
  t = bsm_emit_cast(ctx, t, BSM_DTYPE_INT64);
  bsm_itensor *ignored =
      binary(ctx, t, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, ignore),
             BSM_ELEMENT_WISE_EQUAL);
  bsm_itensor *safe = bsm_emit_select(
      ctx, ignored, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 0), t);
  bsm_itensor *w = number(ctx, x, 1), *zero = number(ctx, x, 0);
  if (!bsm_arg_is_none(args, weight)) {
    w = bsm_emit_gather(ctx, bsm_arg_emit_or_none(ctx, args, weight, x->dtype),
                        safe, BSM_GATHER_DEFAULT, 0);
  }
  w = bsm_emit_select(ctx, ignored, zero, w);
  bsm_itensor *picked = bsm_emit_gather(
      ctx, x, bsm_emit_unsqueeze(ctx, safe, axis), BSM_GATHER_ELEMENT, axis);
  picked = bsm_emit_squeeze(ctx, picked, 1u << (unsigned)axis);
  bsm_itensor *loss =
      bsm_emit_unary(ctx, product(ctx, picked, w), BSM_UNARY_NEG);
  return (nll_terms){bsm_emit_select(ctx, ignored, zero, loss), w, ignored};
}

/* The mean is over the weights. */
static bsm_itensor *nll_reduced(bsm_conversion_ctx *ctx, bsm_itensor *loss,
                                const nll_terms *terms, int64_t reduction) {
  if (reduction != REDUCE_MEAN) return reduced(ctx, loss, reduction);
  return binary(ctx, reduced(ctx, loss, REDUCE_SUM),
                reduced(ctx, terms->w, REDUCE_SUM), BSM_ELEMENT_WISE_DIV);
}

/* -w * x for all classes; `w` is the weight of each, or None. */
static bsm_itensor *all_classes(bsm_conversion_ctx *ctx, const bsm_args *args,
                                bsm_itensor *x, size_t weight) {
  bsm_dims dims = {0};
  if (!x) return NULL;
  if (!bsm_arg_is_none(args, weight)) {
    dims.rank = x->dims.rank;
    for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = 1;
    dims.d[class_axis(x)] = x->dims.d[class_axis(x)];
    bsm_itensor *w = bsm_arg_emit_or_none(ctx, args, weight, x->dtype);
    x = product(ctx, x, bsm_emit_reshape(ctx, w, dims));
  }
  return bsm_emit_unary(ctx, x, BSM_UNARY_NEG);
}

static bsm_itensor *over_classes(bsm_conversion_ctx *ctx, bsm_itensor *x) {
  if (!x) return NULL;
  return bsm_emit_reduce(ctx, x, BSM_REDUCE_SUM, 1u << (unsigned)class_axis(x),
                         false);
}

static bsm_status check_classes(const bsm_itensor *x, const bsm_itensor *t) {
  bool fits = bsm_rank(x) >= 1 &&
              bsm_rank(t) == (bsm_rank(x) > 1 ? bsm_rank(x) - 1 : 0);
  for (int32_t i = 0; fits && i < bsm_rank(t); i++) {
    fits = t->dims.d[i] == x->dims.d[i == 0 ? 0 : i + 1];
  }
  BSM_CHECK(fits, "scores of dims %s with targets of dims %s",
            bsm_dims_str(x->dims), bsm_dims_str(t->dims));
  return BSM_OK;
}

/* Targets that are the probabilities of the classes; the mean is over the
 * places. */
static bsm_itensor *probabilities(bsm_conversion_ctx *ctx, const bsm_args *args,
                                  bsm_itensor *x, bsm_itensor *t,
                                  double smoothing) {
  enum { SELF, TARGET, WEIGHT, REDUCTION };
  const int64_t reduction = bsm_arg_unwrap_to_int(args, REDUCTION);
  const int64_t classes = x->dims.d[class_axis(x)];
  if (!bsm_dims_equal(x->dims, t->dims) || classes == 0) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED,
                         "scores of dims %s with probabilities of dims %s",
                         bsm_dims_str(x->dims), bsm_dims_str(t->dims));
  }
  if (smoothing > 0 && t->dtype != x->dtype) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED, "smoothed probabilities of %s",
                         bsm_dtype_name(t->dtype));
  }
  t = bsm_emit_cast(ctx, t, x->dtype);
  if (smoothing > 0) {
    t = product(ctx, t, number(ctx, x, 1 - smoothing));
    t = binary(ctx, t, number(ctx, x, smoothing / (double)classes),
               BSM_ELEMENT_WISE_SUM);
  }
  bsm_itensor *loss = product(ctx, all_classes(ctx, args, x, WEIGHT), t);
  if (reduction == REDUCE_NONE) return over_classes(ctx, loss);
  loss = reduced(ctx, loss, REDUCE_SUM);
  if (reduction != REDUCE_MEAN) return loss;
  const double places = (double)bsm_itensor_numel(x) / (double)classes;
  return binary(ctx, loss, number(ctx, x, places), BSM_ELEMENT_WISE_DIV);
}

/* (1 - s) * nll + s / classes * the sum over all classes. */
static bsm_itensor *smoothed(bsm_conversion_ctx *ctx, const bsm_args *args,
                             bsm_itensor *x, const nll_terms *terms,
                             bsm_itensor *loss, double smoothing) {
  enum { SELF, TARGET, WEIGHT, REDUCTION };
  const int64_t reduction = bsm_arg_unwrap_to_int(args, REDUCTION);
  const double classes = (double)x->dims.d[class_axis(x)];
  bsm_itensor *smooth = over_classes(ctx, all_classes(ctx, args, x, WEIGHT));
  smooth = bsm_emit_select(ctx, terms->ignored, number(ctx, x, 0), smooth);
  smooth = nll_reduced(ctx, smooth, terms, reduction);
  return binary(ctx, product(ctx, loss, number(ctx, x, 1 - smoothing)),
                product(ctx, smooth, number(ctx, x, smoothing / classes)),
                BSM_ELEMENT_WISE_SUM);
}

/* nll_loss_nd, and cross_entropy_loss (`variant` 1) of class indices or of
 * probabilities. */
static bsm_status convert_nll(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, TARGET, WEIGHT, REDUCTION, IGNORE_INDEX, SMOOTHING };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *t = bsm_arg_itensor_or_freeze(ctx, args, TARGET);
  double smoothing = 0;
  if (!x || !t) return bsm_ctx_take_error(ctx);
  if (bsm_args_variant(args)) {
    smoothing = bsm_arg_unwrap_to_double(args, SMOOTHING);
    BSM_CHECK(smoothing >= 0 && smoothing <= 1,
              "label_smoothing must be between 0.0 and 1.0. Got: %g",
              smoothing);
    x = bsm_emit_softmax(ctx, x, class_axis(x), true);
    if (!x) return bsm_ctx_take_error(ctx);
    if (bsm_dims_equal(x->dims, t->dims)) {
      return bsm_emit_output(ctx, node, 0,
                             probabilities(ctx, args, x, t, smoothing));
    }
  }
  BSM_TRY(check_classes(x, t));
  const nll_terms terms =
      nll(ctx, args, x, t, WEIGHT, bsm_arg_unwrap_to_int(args, IGNORE_INDEX));
  bsm_itensor *loss = nll_reduced(ctx, terms.loss, &terms,
                                  bsm_arg_unwrap_to_int(args, REDUCTION));
  if (smoothing > 0) loss = smoothed(ctx, args, x, &terms, loss, smoothing);
  return bsm_emit_output(ctx, node, 0, loss);
}

/* nll_loss_forward(self, target, weight, reduction, ignore_index), as exported
 * programs have it: also the sum of the weights, 0 where nothing is summed. */
static bsm_status convert_nll_forward(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF, TARGET, WEIGHT, REDUCTION, IGNORE_INDEX };
  const int64_t reduction = bsm_arg_unwrap_to_int(args, REDUCTION);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *t = bsm_arg_itensor_or_freeze(ctx, args, TARGET);
  if (!x || !t) return bsm_ctx_take_error(ctx);
  BSM_TRY(check_classes(x, t));
  const nll_terms terms =
      nll(ctx, args, x, t, WEIGHT, bsm_arg_unwrap_to_int(args, IGNORE_INDEX));
  BSM_TRY(bsm_emit_output(ctx, node, 0,
                          nll_reduced(ctx, terms.loss, &terms, reduction)));
  if (!bsm_output_is_used(node, 1)) return BSM_OK;
  return bsm_emit_output(ctx, node, 1,
                         reduction == REDUCE_NONE
                             ? number(ctx, x, 0)
                             : reduced(ctx, terms.w, REDUCE_SUM));
}

#define NLL(name)                                            \
  {                                                          \
    "aten::" name                                            \
    "(Tensor self, Tensor target, Tensor? weight=None, int " \
    "reduction=1, int ignore_index=-100) -> Tensor",         \
        convert_nll, 0                                       \
  }

static const bsm_conversion_pattern patterns[] = {
    {"aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     convert_difference_loss, LOSS_MSE},
    {"aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     convert_difference_loss, LOSS_L1},
    {"aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float "
     "beta=1) -> Tensor",
     convert_difference_loss, LOSS_SMOOTH_L1},
    {"aten::huber_loss(Tensor self, Tensor target, int reduction=1, float "
     "delta=1) -> Tensor",
     convert_difference_loss, LOSS_HUBER},
    {"aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool "
     "log_target=False) -> Tensor",
     convert_kl_div, 0},
    {"aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? "
     "weight=None, int reduction=1) -> Tensor",
     convert_bce, 0},
    {"aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, "
     "Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
     convert_bce_with_logits, 0},
    NLL("nll_loss"),
    NLL("nll_loss2d"),
    NLL("nll_loss_nd"),
    {"aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int "
     "reduction, int ignore_index) -> (Tensor output, Tensor total_weight)",
     convert_nll_forward, 0},
    {"aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int "
     "reduction, int ignore_index) -> (Tensor output, Tensor total_weight)",
     convert_nll_forward, 0},
    {"aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? "
     "weight=None, int reduction=1, int ignore_index=-100, float "
     "label_smoothing=0) -> Tensor",
     convert_nll, 1},
};
BSM_CONVERTER_TABLE(loss, patterns);
