/* SPDX-License-Identifier: Apache-2.0 */
/* Activations. In-place forms convert as the plain ones: lowering has already
 * made the graph functional. */
#include <math.h>
#include <string.h>

#include "conversion/emit.h"

#define SELU_ALPHA 1.6732632423543772848170429916717
#define SELU_SCALE 1.0507009873554804934193349852946

/* Without parameters; `variant` is the activation. */
static bsm_status convert_plain(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF };
  bsm_activation_type type = (bsm_activation_type)bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (type == BSM_ACTIVATION_SIGMOID || type == BSM_ACTIVATION_TANH) {
    x = bsm_emit_to_floating(ctx, x);
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_activation(ctx, x, type, 0, 0));
}

/* log_sigmoid_forward: also exp(-|x|). */
static bsm_status convert_log_sigmoid_forward(bsm_conversion_ctx *ctx,
                                              const bsm_node *node,
                                              const bsm_args *args) {
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  BSM_TRY(bsm_emit_output(
      ctx, node, 0,
      bsm_emit_activation(ctx, x, BSM_ACTIVATION_LOG_SIGMOID, 0, 0)));
  if (!bsm_output_is_used(node, 1)) return BSM_OK;
  x = bsm_emit_unary(ctx, x, BSM_UNARY_ABS);
  x = bsm_emit_unary(ctx, x, BSM_UNARY_NEG);
  return bsm_emit_output(ctx, node, 1, bsm_emit_unary(ctx, x, BSM_UNARY_EXP));
}

/* With one or two numbers; `variant` is the activation. */
static bsm_status convert_parameters(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, FIRST, SECOND };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  double alpha = bsm_arg_unwrap_to_double(args, FIRST), beta = 0;
  if (bsm_args_variant(args) != BSM_ACTIVATION_LEAKY_RELU) {
    beta = bsm_arg_unwrap_to_double(args, SECOND);
  }
  if (x && !bsm_dtype_is_floating(x->dtype)) {
    /* PyTorch brings the numbers to the dtype of the tensor. */
    alpha = trunc(alpha);
    beta = trunc(beta);
  }
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_activation(ctx, x, (bsm_activation_type)bsm_args_variant(args),
                          alpha, beta));
}

/* With constants of its own; `variant` picks the row. */
enum { FIXED_RELU6, FIXED_SELU, FIXED_HARD_SIGMOID };

static bsm_status convert_fixed(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF };
  static const struct {
    bsm_activation_type type;
    double alpha, beta;
  } rows[] = {
      [FIXED_RELU6] = {BSM_ACTIVATION_CLIP, 0, 6},
      [FIXED_SELU] = {BSM_ACTIVATION_SELU, SELU_ALPHA, SELU_SCALE},
      [FIXED_HARD_SIGMOID] = {BSM_ACTIVATION_HARD_SIGMOID, 1.0 / 6, 0.5},
  };
  int row = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_activation(ctx, x, rows[row].type,
                                             rows[row].alpha, rows[row].beta));
}

static bsm_status convert_softplus(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, BETA, THRESHOLD };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_activation(ctx, x, BSM_ACTIVATION_SOFTPLUS,
                          bsm_arg_unwrap_to_double(args, THRESHOLD),
                          bsm_arg_unwrap_to_double(args, BETA)));
}

/* x > 0 ? scale * x : scale * alpha * (exp(input_scale * x) - 1) */
static bsm_itensor *emit_elu(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             double alpha, double scale, double input_scale) {
  if (!x) return NULL;
  bsm_dtype dtype = x->dtype;
  if (!(scale < 1) && !(scale > 1) && !(input_scale < 1) &&
      !(input_scale > 1)) {
    return bsm_emit_activation(ctx, x, BSM_ACTIVATION_ELU, alpha, 0);
  }
  bsm_itensor *zero = bsm_emit_scalar(ctx, dtype, 0);
  bsm_itensor *inner = bsm_emit_binary(
      ctx, x, bsm_emit_scalar(ctx, dtype, input_scale), BSM_ELEMENT_WISE_PROD);
  bsm_itensor *below = bsm_emit_binary(
      ctx, bsm_emit_unary(ctx, inner, BSM_UNARY_EXPM1),
      bsm_emit_scalar(ctx, dtype, alpha * scale), BSM_ELEMENT_WISE_PROD);
  bsm_itensor *above = bsm_emit_binary(
      ctx, x, bsm_emit_scalar(ctx, dtype, scale), BSM_ELEMENT_WISE_PROD);
  return bsm_emit_select(
      ctx, bsm_emit_binary(ctx, x, zero, BSM_ELEMENT_WISE_GREATER), above,
      below);
}

static bsm_status convert_elu(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, ALPHA, SCALE, INPUT_SCALE };
  return bsm_emit_output(
      ctx, node, 0,
      emit_elu(ctx, bsm_arg_itensor_or_freeze(ctx, args, SELF),
               bsm_arg_unwrap_to_double(args, ALPHA),
               bsm_arg_unwrap_to_double(args, SCALE),
               bsm_arg_unwrap_to_double(args, INPUT_SCALE)));
}

static bsm_status convert_celu(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, ALPHA };
  double alpha = bsm_arg_unwrap_to_double(args, ALPHA);
  BSM_CHECK(alpha < 0 || alpha > 0,
            "ZeroDivisionError: alpha cannot be 0 for "
            "CELU");
  return bsm_emit_output(
      ctx, node, 0,
      emit_elu(ctx, bsm_arg_itensor_or_freeze(ctx, args, SELF), alpha, 1,
               1 / alpha));
}

static bsm_status convert_gelu(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, APPROXIMATE };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_activation_type type = BSM_ACTIVATION_GELU_ERF;
  if (bsm_args_count(args) > APPROXIMATE) {
    const char *mode = bsm_arg_unwrap_to_string(args, APPROXIMATE);
    if (strcmp(mode, "tanh") == 0) {
      type = BSM_ACTIVATION_GELU_TANH;
    } else {
      BSM_CHECK(strcmp(mode, "none") == 0,
                "approximate argument must be either none or tanh, it is "
                "\"%s\"",
                mode);
    }
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_activation(ctx, x, type, 0, 0));
}

static bsm_status convert_prelu(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, WEIGHT };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *slope = bsm_arg_itensor_or_freeze(ctx, args, WEIGHT);
  if (!x || !slope) return bsm_ctx_take_error(ctx);
  int64_t count = bsm_itensor_numel(slope);
  bsm_dims dims = {0};
  /* The slope of a number may have a dim, which aten::_prelu_kernel keeps. */
  const bool kernel = bsm_args_variant(args);
  BSM_CHECK(kernel ? bsm_rank(slope) <= bsm_rank(x) &&
                         (count == 1 || (bsm_rank(slope) == bsm_rank(x) &&
                                         slope->dims.d[1] == count))
                   : bsm_rank(slope) == 0 || bsm_rank(x) > 0,
            "prelu: slopes that are not one for each channel");
  if (count != 1) {
    BSM_CHECK(x->dims.rank >= 2 && x->dims.d[1] == count,
              "prelu: %lld slopes for an input with dims %s", (long long)count,
              bsm_dims_str(x->dims));
    dims.rank = x->dims.rank;
    for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = i == 1 ? count : 1;
  }
  slope = bsm_emit_reshape(ctx, slope, dims);
  if (!slope) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit(ctx, bsm_network_add_parametric_relu(ctx->net, x, slope)));
}

/* In inference the slope is the mean of its bounds. */
static bsm_status convert_rrelu(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, LOWER, UPPER, TRAINING };
  /* rrelu_with_noise_functional: the noise comes second, and is returned */
  const size_t noise = bsm_args_variant(args) ? 1 : 0;
  BSM_CHECK(!bsm_arg_unwrap_to_bool(args, TRAINING + noise),
            "rrelu in training mode draws random numbers");
  double slope = (bsm_arg_unwrap_to_double(args, LOWER + noise) +
                  bsm_arg_unwrap_to_double(args, UPPER + noise)) /
                 2;
  const bsm_operand self = bsm_operand_of(ctx, args, SELF);
  if (noise) {
    const bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
    const bsm_itensor *other = bsm_arg_itensor_or_freeze(ctx, args, noise);
    BSM_CHECK(x && other && bsm_dims_equal(x->dims, other->dims),
              "noise tensor shape must match self tensor shape");
    BSM_TRY(bsm_emit_output(ctx, node, 1,
                            bsm_arg_itensor_or_freeze(ctx, args, noise)));
  }
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_activation(
          ctx, bsm_operand_emit(ctx, &self, bsm_operands_dtype(&self, 1)),
          BSM_ACTIVATION_LEAKY_RELU, slope, 0));
}

static bsm_status convert_glu(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, DIM };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int32_t axis;
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                          &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(x->dims.rank > 0, "glu does not support 0-dimensional tensors");
  int64_t size = x->dims.d[axis];
  BSM_CHECK(size % 2 == 0,
            "Halving dimension must be even, but dimension %d is size %lld",
            (int)axis, (long long)size);
  bsm_itensor *value = bsm_emit_slice(ctx, x, axis, 0, size / 2, 1);
  bsm_itensor *gate = bsm_emit_slice(ctx, x, axis, size / 2, size / 2, 1);
  gate = bsm_emit_activation(ctx, gate, BSM_ACTIVATION_SIGMOID, 0, 0);
  return bsm_emit_output(
      ctx, node, 0, bsm_emit_binary(ctx, value, gate, BSM_ELEMENT_WISE_PROD));
}

static bsm_status convert_hardshrink(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, LAMBD };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_dtype dtype = bsm_itensor_dtype(x);
  if (!x) return bsm_ctx_take_error(ctx);
  bsm_itensor *limit =
      bsm_emit_scalar(ctx, dtype, bsm_arg_unwrap_to_double(args, LAMBD));
  bsm_itensor *small =
      bsm_emit_binary(ctx, bsm_emit_unary(ctx, x, BSM_UNARY_ABS), limit,
                      BSM_ELEMENT_WISE_LESS_EQUAL);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, small, bsm_emit_scalar(ctx, dtype, 0), x));
}

static bsm_status convert_softshrink(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, LAMBD };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  double lambda = bsm_arg_unwrap_to_double(args, LAMBD);
  bsm_dtype dtype = bsm_itensor_dtype(x);
  if (!x) return bsm_ctx_take_error(ctx);
  bsm_itensor *up = bsm_emit_scalar(ctx, dtype, lambda);
  bsm_itensor *down = bsm_emit_scalar(ctx, dtype, -lambda);
  /* x * 0 keeps NaN. */
  bsm_itensor *zero = bsm_emit_binary(ctx, x, bsm_emit_scalar(ctx, dtype, 0),
                                      BSM_ELEMENT_WISE_PROD);
  bsm_itensor *low =
      bsm_emit_select(ctx, bsm_emit_binary(ctx, x, down, BSM_ELEMENT_WISE_LESS),
                      bsm_emit_binary(ctx, x, up, BSM_ELEMENT_WISE_SUM), zero);
  bsm_itensor *out = bsm_emit_select(
      ctx, bsm_emit_binary(ctx, x, up, BSM_ELEMENT_WISE_GREATER),
      bsm_emit_binary(ctx, x, up, BSM_ELEMENT_WISE_SUB), low);
  return bsm_emit_output(ctx, node, 0, out);
}

#define PLAIN(name, type)                                            \
  {"aten::" name "(Tensor self) -> Tensor", convert_plain,           \
   BSM_ACTIVATION_##type},                                           \
  {                                                                  \
    "aten::" name "_(Tensor(a!) self) -> Tensor(a!)", convert_plain, \
        BSM_ACTIVATION_##type                                        \
  }
#define FIXED(name, row)                                                 \
  {"aten::" name "(Tensor self) -> Tensor", convert_fixed, row}, {       \
    "aten::" name "_(Tensor(a!) self) -> Tensor(a!)", convert_fixed, row \
  }
#define WITH(name, rest, function, variant)                                 \
  {"aten::" name "(Tensor self, " rest ") -> Tensor", function, variant}, { \
    "aten::" name "_(Tensor(a!) self, " rest ") -> Tensor(a!)", function,   \
        variant                                                             \
  }

static const bsm_conversion_pattern patterns[] = {
    PLAIN("relu", RELU),
    PLAIN("sigmoid", SIGMOID),
    PLAIN("tanh", TANH),
    PLAIN("silu", SILU),
    PLAIN("hardswish", HARD_SWISH),
    PLAIN("mish", MISH),
    {"aten::special_expit(Tensor self) -> Tensor", convert_plain,
     BSM_ACTIVATION_SIGMOID},
    {"aten::log_sigmoid(Tensor self) -> Tensor", convert_plain,
     BSM_ACTIVATION_LOG_SIGMOID},
    {"aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
     convert_log_sigmoid_forward, 0},
    FIXED("relu6", FIXED_RELU6),
    FIXED("selu", FIXED_SELU),
    FIXED("hardsigmoid", FIXED_HARD_SIGMOID),
    WITH("hardtanh", "Scalar min_val=-1, Scalar max_val=1", convert_parameters,
         BSM_ACTIVATION_CLIP),
    WITH("leaky_relu", "Scalar negative_slope=0.01", convert_parameters,
         BSM_ACTIVATION_LEAKY_RELU),
    WITH("threshold", "Scalar threshold, Scalar value", convert_parameters,
         BSM_ACTIVATION_THRESHOLD),
    WITH("elu", "Scalar alpha=1, Scalar scale=1, Scalar input_scale=1",
         convert_elu, 0),
    WITH("celu", "Scalar alpha=1.", convert_celu, 0),
    WITH("gelu", "*, str approximate=\"none\"", convert_gelu, 0),
    WITH("rrelu",
         "Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
         "training=False, Generator? generator=None",
         convert_rrelu, 0),
    {"aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar "
     "lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
     "Generator? generator=None) -> (Tensor, Tensor noise_out)",
     convert_rrelu, 1},
    {"aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> "
     "Tensor",
     convert_softplus, 0},
    {"aten::prelu(Tensor self, Tensor weight) -> Tensor", convert_prelu, 0},
    {"aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", convert_prelu,
     1},
    {"aten::glu(Tensor self, int dim=-1) -> Tensor", convert_glu, 0},
    {"aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
     convert_hardshrink, 0},
    {"aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
     convert_softshrink, 0},
};
BSM_CONVERTER_TABLE(activation, patterns);
