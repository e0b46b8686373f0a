/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: unary elementwise ops with up to three parameters. */
#include "aten/packed/aten_activation.h"
#include "aten/generator.h"
#include "aten/op_kit.h"

typedef struct act_params {
  double a, b, c;
  int64_t ia, ib;
} act_params;

#define F64(fn, expr)                                            \
  static void fn(double *out, const double *const *in, size_t n, \
                 const void *params) {                           \
    const act_params *p = params;                                \
    (void)p;                                                     \
    for (size_t k = 0; k < n; k++) {                             \
      const double x = in[0][k];                                 \
      out[k] = (expr);                                           \
    }                                                            \
  }
#define I64(fn, expr)                                              \
  static void fn(int64_t *out, const int64_t *const *in, size_t n, \
                 const void *params) {                             \
    const act_params *p = params;                                  \
    (void)p;                                                       \
    for (size_t k = 0; k < n; k++) {                               \
      const int64_t x = in[0][k];                                  \
      out[k] = (expr);                                             \
    }                                                              \
  }

/* Bounds with NaN passing through. */
static double clip(double x, double low, double high) {
  if (isnan(x)) return x;
  const double y = x < low ? low : x;
  return y > high ? high : y;
}
static double softplus(double x, double beta, double threshold) {
  return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}
static double log_sigmoid(double x) {
  return (x < 0 ? x : 0.0) - log1p(exp(-fabs(x)));
}
static double gelu_tanh(double x) {
  return 0.5 * x *
         (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
/* alpha a, scale b, input scale c. */
static double elu(double x, const act_params *p) {
  return x < 0 ? p->b * p->a * expm1(x * p->c) : x * p->b;
}

F64(f_relu, x <= 0.0 ? 0.0 : x)
I64(i_relu, x < 0 ? 0 : x)
F64(f_clip, clip(x, p->a, p->b))
I64(i_clip, (x < p->ia ? p->ia : x) > p->ib ? p->ib : x < p->ia ? p->ia : x)
F64(f_silu, x / (1.0 + exp(-x)))
F64(f_mish, x *tanh(log1p(exp(x))))
F64(f_hardswish, x *clip(x + 3.0, 0.0, 6.0) / 6.0)
F64(f_hardsigmoid, clip(x + 3.0, 0.0, 6.0) / 6.0)
F64(f_gelu, 0.5 * x * (1.0 + erf(x * M_SQRT1_2)))
F64(f_gelu_tanh, gelu_tanh(x))
F64(f_elu, elu(x, p))
F64(f_leaky, x > 0.0 ? x : x * p->a)
F64(f_softplus, softplus(x, p->a, p->b))
F64(f_hardshrink, x >= -p->a && x <= p->a ? 0.0 : x)
F64(f_softshrink, x > p->a ? x - p->a : x < -p->a ? x + p->a : x * 0.0)
F64(f_threshold, x <= p->a ? p->b : x)
I64(i_threshold, x <= p->ia ? p->ib : x)
F64(f_log_sigmoid, log_sigmoid(x))

enum {
  ACT_RELU,
  ACT_RELU6,
  ACT_HARDTANH,
  ACT_SILU,
  ACT_MISH,
  ACT_HARDSWISH,
  ACT_HARDSIGMOID,
  ACT_GELU,
  ACT_ELU,
  ACT_SELU,
  ACT_CELU,
  ACT_LEAKY,
  ACT_SOFTPLUS,
  ACT_HARDSHRINK,
  ACT_SOFTSHRINK,
  ACT_THRESHOLD,
  ACT_LOG_SIGMOID,
  ACT_COUNT
};

static const bsm_pointwise act_ops[ACT_COUNT] = {
    [ACT_RELU] = {"clamp_min_scalar_cpu", f_relu, i_relu, 0},
    [ACT_RELU6] = {"hardtanh", f_clip, i_clip, 0},
    [ACT_HARDTANH] = {"hardtanh", f_clip, i_clip, 0},
    [ACT_SILU] = {"silu_cpu", f_silu, NULL, 0},
    [ACT_MISH] = {"mish_cpu", f_mish, NULL, 0},
    [ACT_HARDSWISH] = {"hardswish_cpu", f_hardswish, NULL, 0},
    [ACT_HARDSIGMOID] = {"hardsigmoid_cpu", f_hardsigmoid, NULL, 0},
    [ACT_GELU] = {"GeluKernelImpl", f_gelu, NULL, 0},
    [ACT_ELU] = {"elu_cpu", f_elu, NULL, 0},
    [ACT_SELU] = {"elu_cpu", f_elu, NULL, 0},
    [ACT_CELU] = {"elu_cpu", f_elu, NULL, 0},
    [ACT_LEAKY] = {"leaky_relu_cpu", f_leaky, NULL, 0},
    [ACT_SOFTPLUS] = {"softplus_cpu", f_softplus, NULL, 0},
    [ACT_HARDSHRINK] = {"hardshrink_cpu", f_hardshrink, NULL, 0},
    [ACT_SOFTSHRINK] = {"softshrink_cpu", f_softshrink, NULL, 0},
    [ACT_THRESHOLD] = {"threshold_cpu", f_threshold, i_threshold, 0},
    [ACT_LOG_SIGMOID] = {"log_sigmoid_cpu", f_log_sigmoid, NULL, 0},
};

static bsm_status set_params(int32_t variant, const bsm_ivalue *args,
                             bsm_pointwise *pw, act_params *p) {
  switch (variant) {
    case ACT_RELU6:
      *p = (act_params){0.0, 6.0, 0.0, 0, 6};
      break;
    case ACT_HARDTANH:
    case ACT_THRESHOLD:
      *p = (act_params){op_double(&args[1]), op_double(&args[2]), 0.0,
                        op_int(&args[1]), op_int(&args[2])};
      break;
    case ACT_GELU: {
      const bsm_str how = op_str(&args[1]);
      if (bsm_str_eq(how, BSM_STR("tanh"))) {
        pw->f = f_gelu_tanh;
      } else if (!bsm_str_eq(how, BSM_STR("none"))) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "approximate argument must be either none or tanh.");
      }
      break;
    }
    case ACT_ELU:
      *p = (act_params){op_double(&args[1]), op_double(&args[2]),
                        op_double(&args[3]), 0, 0};
      break;
    case ACT_SELU:
      *p = (act_params){1.6732632423543772, 1.0507009873554805, 1.0, 0, 0};
      break;
    case ACT_CELU:
      p->a = op_double(&args[1]);
      if (p->a == 0.0) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "ZeroDivisionError: alpha cannot be 0 for CELU");
      }
      p->b = 1.0;
      p->c = 1.0 / p->a;
      break;
    case ACT_LEAKY:
    case ACT_HARDSHRINK:
      p->a = op_double(&args[1]);
      break;
    case ACT_SOFTSHRINK:
      p->a = op_double(&args[1]);
      if (p->a < 0.0) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "lambda must be greater or equal to 0, but found to be "
                        "%g.",
                        p->a);
      }
      break;
    case ACT_SOFTPLUS:
      p->a = op_double(&args[1]);
      p->b = op_double(&args[2]);
      break;
    default:
      break;
  }
  return BSM_OK;
}

static bsm_status op_activation(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_pointwise pw = act_ops[self->variant];
  act_params params = {0};
  BSM_TRY(set_params(self->variant, args, &pw, &params));
  if (t->dtype == BSM_DTYPE_BOOL) {
    if (self->variant == ACT_RELU) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Boolean inputs not supported for relu");
    }
    if (self->variant == ACT_HARDTANH || self->variant == ACT_RELU6) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Bool inputs not supported for hardtanh");
    }
  }
  if (self->variant == ACT_HARDTANH && t->dtype == BSM_DTYPE_UINT8 &&
      (params.ia < 0 || params.ib < 0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "cannot do hardtanh on an unsigned type with negative "
                    "limits");
  }
  if (self->variant == ACT_LOG_SIGMOID) {
    BSM_TRY(bsm_tensor_contiguous(cx->arena, t, &t));
  }
  pw.params = &params;
  /* Parameters count as values of the dtype of the tensor. */
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1,
                           self->flags & BSM_ATEN_INPLACE ? t : NULL, &out));
  return op_return(outs, out);
}

static void f_prelu(double *out, const double *const *in, size_t n,
                    const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = in[0][k] > 0.0 ? in[0][k] : in[0][k] * in[1][k];
  }
}

static bsm_status op_prelu(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *w = op_tensor(&args[1]), *out;
  const int64_t n = bsm_tensor_numel(w);
  if (w->sizes.rank > 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "prelu: Expected `weight` to be a scalar or 1D tensor, but "
                    "got: ndim = %d",
                    (int)w->sizes.rank);
  }
  const int64_t channels = t->sizes.rank > 1 ? t->sizes.d[1] : 1;
  if (n != 1 && n != channels) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Mismatch of parameter numbers and input channel size. "
                    "Found parameter numbers = %lld and channel size = %lld.",
                    (long long)n, (long long)channels);
  }
  if (t->dtype != w->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "prelu: Type promoting not supported. Got %s and %s",
                    bsm_op_type_name(t->dtype), bsm_op_type_name(w->dtype));
  }
  bsm_dims dims = {t->sizes.rank, {0}};
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = i == 1 ? n : 1;
  BSM_TRY(bsm_op_reshape(cx, w, dims, &w));
  bsm_tensor *in[] = {t, w};
  const bsm_pointwise pw = {"prelu_cpu", f_prelu, NULL, 0, NULL, 0, false};
  BSM_TRY(bsm_op_pointwise(cx, &pw, in, 2, NULL, &out));
  return op_return(outs, out);
}

static void f_glu(double *out, const double *const *in, size_t n,
                  const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = in[0][k] / (1.0 + exp(-in[1][k]));
  }
}

static bsm_status op_glu(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *half[2], *out;
  int dim;
  if (t->sizes.rank == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "glu does not support 0-dimensional tensors");
  }
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  if (t->sizes.d[dim] % 2 != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Halving dimension must be even, but dimension %d is size "
                    "%lld",
                    dim, (long long)t->sizes.d[dim]);
  }
  const int64_t n = t->sizes.d[dim] / 2;
  BSM_TRY(bsm_op_narrow(cx, t, dim, 0, n, &half[0]));
  BSM_TRY(bsm_op_narrow(cx, t, dim, n, n, &half[1]));
  const bsm_pointwise pw = {"glu_cpu", f_glu, NULL, 0, NULL, 0, false};
  BSM_TRY(bsm_op_pointwise(cx, &pw, half, 2, NULL, &out));
  return op_return(outs, out);
}

/* A slope of its own, drawn from [low, high), for each x <= 0. */
static bsm_status rrelu_training(bsm_op_ctx *cx, bsm_tensor *t, double low,
                                 double high, bsm_tensor **out) {
  if (!cx->meta && !cx->generator && bsm_tensor_numel(t) > 0) {
    return BSM_FAIL(
        BSM_UNSUPPORTED,
        "rrelu in training mode is not supported here: call .eval() on "
        "the model before saving it");
  }
  if (!bsm_dtype_is_floating(t->dtype) || !(low <= high)) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        "\"rrelu_with_noise_out_cpu\" not implemented for '%s' with "
        "slopes from %g to %g",
        bsm_op_type_name(t->dtype), low, high);
  }
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, out));
  if (cx->meta) return BSM_OK;
  double *x = bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(x);
  if (t->dtype != BSM_DTYPE_DOUBLE) { /* bounds are floats, draws doubles */
    low = (double)(float)low;
    high = (double)(float)high;
  }
  for (int64_t i = 0; i < bsm_tensor_numel(t); i++) {
    if (!(x[i] <= 0.0)) continue;
    double r = bsm_generator_double(cx->generator) * (high - low) + low;
    if (t->dtype != BSM_DTYPE_DOUBLE) r = (double)(float)r;
    x[i] *= r;
  }
  bsm_op_store_all(*out, x);
  return BSM_OK;
}

/* rrelu(self, lower, upper, training, generator). */
static bsm_status op_rrelu(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  if (op_bool(&args[3])) {
    BSM_TRY(
        rrelu_training(cx, t, op_double(&args[1]), op_double(&args[2]), &out));
    if (!(self->flags & BSM_ATEN_INPLACE)) return op_return(outs, out);
    outs[0] = args[0];
    BSM_TRY(bsm_op_writable(cx, t));
    return cx->meta ? BSM_OK : bsm_tensor_copy(t, out);
  }
  const act_params params = {(op_double(&args[1]) + op_double(&args[2])) / 2.0,
                             0, 0, 0, 0};
  bsm_pointwise pw = act_ops[ACT_LEAKY];
  pw.params = &params;
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1,
                           self->flags & BSM_ATEN_INPLACE ? t : NULL, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::relu(Tensor self) -> Tensor", op_activation, ACT_RELU, 0),
    OP("aten::relu_(Tensor(a!) self) -> Tensor(a!)", op_activation, ACT_RELU,
       BSM_ATEN_INPLACE),
    OP("aten::relu6(Tensor self) -> Tensor", op_activation, ACT_RELU6, 0),
    OP("aten::relu6_(Tensor(a!) self) -> Tensor(a!)", op_activation, ACT_RELU6,
       BSM_ATEN_INPLACE),
    OP("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> "
       "Tensor",
       op_activation, ACT_HARDTANH, 0),
    OP("aten::hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) "
       "-> "
       "Tensor(a!)",
       op_activation, ACT_HARDTANH, BSM_ATEN_INPLACE),
    OP("aten::silu(Tensor self) -> Tensor", op_activation, ACT_SILU, 0),
    OP("aten::silu_(Tensor(a!) self) -> Tensor(a!)", op_activation, ACT_SILU,
       BSM_ATEN_INPLACE),
    OP("aten::mish(Tensor self) -> Tensor", op_activation, ACT_MISH, 0),
    OP("aten::mish_(Tensor(a!) self) -> Tensor(a!)", op_activation, ACT_MISH,
       BSM_ATEN_INPLACE),
    OP("aten::hardswish(Tensor self) -> Tensor", op_activation, ACT_HARDSWISH,
       0),
    OP("aten::hardswish_(Tensor(a!) self) -> Tensor(a!)", op_activation,
       ACT_HARDSWISH, BSM_ATEN_INPLACE),
    OP("aten::hardsigmoid(Tensor self) -> Tensor", op_activation,
       ACT_HARDSIGMOID, 0),
    OP("aten::hardsigmoid_(Tensor(a!) self) -> Tensor(a!)", op_activation,
       ACT_HARDSIGMOID, BSM_ATEN_INPLACE),
    OP("aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
       op_activation, ACT_GELU, 0),
    OP("aten::gelu_(Tensor(a!) self, *, str approximate=\"none\") -> "
       "Tensor(a!)",
       op_activation, ACT_GELU, BSM_ATEN_INPLACE),
    OP("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar "
       "input_scale=1) -> Tensor",
       op_activation, ACT_ELU, 0),
    OP("aten::elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar "
       "input_scale=1) -> Tensor(a!)",
       op_activation, ACT_ELU, BSM_ATEN_INPLACE),
    OP("aten::selu(Tensor self) -> Tensor", op_activation, ACT_SELU, 0),
    OP("aten::selu_(Tensor(a!) self) -> Tensor(a!)", op_activation, ACT_SELU,
       BSM_ATEN_INPLACE),
    OP("aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", op_activation,
       ACT_CELU, 0),
    OP("aten::celu_(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)",
       op_activation, ACT_CELU, BSM_ATEN_INPLACE),
    OP("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
       op_activation, ACT_LEAKY, 0),
    OP("aten::leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> "
       "Tensor(a!)",
       op_activation, ACT_LEAKY, BSM_ATEN_INPLACE),
    OP("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> "
       "Tensor",
       op_activation, ACT_SOFTPLUS, 0),
    OP("aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
       op_activation, ACT_HARDSHRINK, 0),
    OP("aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
       op_activation, ACT_SOFTSHRINK, 0),
    OP("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
       op_activation, ACT_THRESHOLD, 0),
    OP("aten::threshold_(Tensor(a!) self, Scalar threshold, Scalar value) -> "
       "Tensor(a!)",
       op_activation, ACT_THRESHOLD, BSM_ATEN_INPLACE),
    OP("aten::log_sigmoid(Tensor self) -> Tensor", op_activation,
       ACT_LOG_SIGMOID, 0),
    OP("aten::prelu(Tensor self, Tensor weight) -> Tensor", op_prelu, 0, 0),
    OP("aten::glu(Tensor self, int dim=-1) -> Tensor", op_glu, 0, 0),
    OP("aten::rrelu(Tensor self, Scalar lower=0.125, Scalar "
       "upper=0.33333333333333331, bool training=False, Generator? "
       "generator=None) -> Tensor",
       op_rrelu, 0, BSM_ATEN_MAY_DRAW),
    OP("aten::rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar "
       "upper=0.33333333333333331, bool training=False, Generator? "
       "generator=None) -> Tensor(a!)",
       op_rrelu, 0, BSM_ATEN_INPLACE | BSM_ATEN_MAY_DRAW),
};
BSM_ATEN_TABLE(activation, rows);
