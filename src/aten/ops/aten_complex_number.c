/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on complex numbers of Python: made of two, arithmetic, functions. */
#include "aten/packed/aten_complex_number.h"
#include "aten/complex_math.h"

static bsm_ivalue of_complex(bsm_c128 z) {
  return (bsm_ivalue){BSM_IVALUE_COMPLEX, {.c = {z.re, z.im}}};
}

/* A number, or a tensor of one element. */
static bsm_status number_of(bsm_op_ctx *cx, const bsm_ivalue *a,
                            bsm_c128 *out) {
  const bsm_tensor *t = op_tensor(a);
  if (!t) {
    *out = op_complex(a);
    return BSM_OK;
  }
  BSM_TRY(bsm_op_number(t));
  if (bsm_tensor_numel(t) != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a Tensor with %lld elements cannot be converted to Scalar",
                    (long long)bsm_tensor_numel(t));
  }
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "the value of a tensor is not known");
  }
  bsm_load_c128(t->dtype, bsm_tensor_data(t), 0, 1, out);
  return BSM_OK;
}

/* Complex(a, b): a + b i, of the real parts of numbers or tensors. */
static bsm_status op_make_complex(OP_PARAMS) {
  (void)self;
  bsm_c128 re, im;
  BSM_TRY(number_of(cx, &args[0], &re));
  BSM_TRY(number_of(cx, &args[1], &im));
  outs[0] = of_complex((bsm_c128){re.re, im.re});
  return BSM_OK;
}

/* Complex.Scalar(a), ComplexImplicit(tensor) */
static bsm_status op_to_complex(OP_PARAMS) {
  bsm_c128 z;
  if (self->variant && op_tensor(&args[0])->sizes.rank != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Cannot input a tensor of dimension other than 0 as a "
                    "scalar argument");
  }
  BSM_TRY(number_of(cx, &args[0], &z));
  outs[0] = of_complex(z);
  return BSM_OK;
}

static bsm_status op_polar_number(OP_PARAMS) {
  OP_UNUSED;
  const double r = op_double(&args[0]), angle = op_double(&args[1]);
  outs[0] = of_complex((bsm_c128){r * cos(angle), r * sin(angle)});
  return BSM_OK;
}

enum { PAIR_ADD, PAIR_SUB, PAIR_MUL, PAIR_DIV, PAIR_POW, PAIR_LOG };

/* Two numbers, of which one at least is complex. */
static bsm_status op_complex_pair(OP_PARAMS) {
  (void)cx;
  const bsm_c128 a = op_complex(&args[0]), b = op_complex(&args[1]);
  bsm_c128 z;
  switch (self->variant) {
    case PAIR_ADD:
      z = bsm_c_add(a, b);
      break;
    case PAIR_SUB:
      z = bsm_c_sub(a, b);
      break;
    case PAIR_MUL:
      z = bsm_c_mul(a, b);
      break;
    case PAIR_DIV:
      z = bsm_c_div(a, b);
      break;
    case PAIR_POW:
      z = bsm_c_pow(a, b);
      break;
    default:
      z = bsm_c_div(bsm_c_log_of(a), bsm_c_log_of(b));
  }
  outs[0] = of_complex(z);
  return BSM_OK;
}

/* eq, ne (variant 1) */
static bsm_status op_complex_equal(OP_PARAMS) {
  (void)cx;
  const bool equal = bsm_c_equal(op_complex(&args[0]), op_complex(&args[1]));
  outs[0] = bsm_iv_bool(equal != (self->variant != 0));
  return BSM_OK;
}

/* clang-format off */
#define NAMES(F)                                                     \
  F(neg) F(exp) F(log) F(log10) F(sqrt) F(sin) F(cos) F(tan) F(asin) \
  F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) \
  F(absolute) F(angle) F(isnan) F(isinf) F(isfinite)
/* clang-format on */

enum {
#define F(name) FN_##name,
  NAMES(F)
#undef F
};

static bsm_status op_complex_function(OP_PARAMS) {
  static bsm_c128 (*const functions[])(bsm_c128) = {
#define F(name) bsm_c_##name##_of,
      NAMES(F)
#undef F
  };
  (void)cx;
  const bsm_c128 z = functions[self->variant](op_complex(&args[0]));
  if (self->variant >= FN_isnan) {
    outs[0] = bsm_iv_bool(z.re != 0.0);
  } else if (self->variant >= FN_absolute) {
    outs[0] = bsm_iv_double(z.re);
  } else {
    outs[0] = of_complex(z);
  }
  return BSM_OK;
}

/* sum.complex(list) */
static bsm_status op_complex_sum(OP_PARAMS) {
  (void)cx;
  (void)self;
  bsm_c128 sum = {0.0, 0.0};
  for (size_t i = 0; i < op_list_len(&args[0]); i++) {
    sum = bsm_c_add(sum, op_complex(&args[0].u.list->items[i]));
  }
  outs[0] = of_complex(sum);
  return BSM_OK;
}

/* tensor.complex(t, *, dtype, device, ...), as_tensor.complex */
static bsm_status op_complex_tensor(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  const bsm_c128 z = op_complex(&args[0]);
  const bsm_dtype dtype = op_dtype_or(&args[1], BSM_DTYPE_COMPLEX_FLOAT);
  BSM_TRY(bsm_op_check_fill(&args[0], dtype));
  BSM_TRY(bsm_tensor_from_complex(cx->arena, dtype, z.re, z.im, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::Complex.Tensor_Tensor(Tensor a, Tensor b) -> complex",
       op_make_complex, 0, 0),
    OP("aten::Complex.int_bool(int x, bool y) -> complex", op_make_complex, 0,
       0),
    OP("aten::Complex.bool_int(bool x, int y) -> complex", op_make_complex, 0,
       0),
    OP("aten::Complex.float_bool(float x, bool y) -> complex", op_make_complex,
       0, 0),
    OP("aten::Complex.bool_float(bool x, float y) -> complex", op_make_complex,
       0, 0),
    OP("aten::Complex.float_int(float x, int y) -> complex", op_make_complex, 0,
       0),
    OP("aten::Complex.int_float(int x, float y) -> complex", op_make_complex, 0,
       0),
    OP("aten::Complex.int_int(int x, int y) -> complex", op_make_complex, 0, 0),
    OP("aten::Complex.bool_bool(bool x, bool y) -> complex", op_make_complex, 0,
       0),
    OP("aten::Complex.float_float(float x, float y) -> complex",
       op_make_complex, 0, 0),
    OP("aten::Complex.Tensor_float(Tensor x, float y) -> complex",
       op_make_complex, 0, 0),
    OP("aten::Complex.float_Tensor(float x, Tensor y) -> complex",
       op_make_complex, 0, 0),
    OP("aten::Complex.Tensor_int(Tensor x, int y) -> complex", op_make_complex,
       0, 0),
    OP("aten::Complex.int_Tensor(int x, Tensor y) -> complex", op_make_complex,
       0, 0),
    OP("aten::Complex.Tensor_bool(Tensor x, bool y) -> complex",
       op_make_complex, 0, 0),
    OP("aten::Complex.bool_Tensor(bool x, Tensor y) -> complex",
       op_make_complex, 0, 0),
    OP("aten::Complex.Scalar(Scalar a) -> complex", op_to_complex, 0,
       BSM_ATEN_COMPLEX),
    OP("aten::ComplexImplicit(Tensor a) -> complex", op_to_complex, 1, 0),
    OP("aten::polar.int(int a, int b) -> complex", op_polar_number, 0, 0),
    OP("aten::polar.float(float a, float b) -> complex", op_polar_number, 0, 0),
    OP("aten::polar.int_float(int a, float b) -> complex", op_polar_number, 0,
       0),
    OP("aten::polar.float_int(float a, int b) -> complex", op_polar_number, 0,
       0),
    OP("aten::add.complex(complex a, complex b) -> complex", op_complex_pair,
       PAIR_ADD, 0),
    OP("aten::add.int_complex(int a, complex b) -> complex", op_complex_pair,
       PAIR_ADD, 0),
    OP("aten::add.complex_int(complex a, int b) -> complex", op_complex_pair,
       PAIR_ADD, 0),
    OP("aten::add.float_complex(float a, complex b) -> complex",
       op_complex_pair, PAIR_ADD, 0),
    OP("aten::add.complex_float(complex a, float b) -> complex",
       op_complex_pair, PAIR_ADD, 0),
    OP("aten::sub.complex(complex a, complex b) -> complex", op_complex_pair,
       PAIR_SUB, 0),
    OP("aten::sub.int_complex(int a, complex b) -> complex", op_complex_pair,
       PAIR_SUB, 0),
    OP("aten::sub.complex_int(complex a, int b) -> complex", op_complex_pair,
       PAIR_SUB, 0),
    OP("aten::sub.float_complex(float a, complex b) -> complex",
       op_complex_pair, PAIR_SUB, 0),
    OP("aten::sub.complex_float(complex a, float b) -> complex",
       op_complex_pair, PAIR_SUB, 0),
    OP("aten::mul.complex(complex a, complex b) -> complex", op_complex_pair,
       PAIR_MUL, 0),
    OP("aten::mul.int_complex(int a, complex b) -> complex", op_complex_pair,
       PAIR_MUL, 0),
    OP("aten::mul.complex_int(complex a, int b) -> complex", op_complex_pair,
       PAIR_MUL, 0),
    OP("aten::mul.float_complex(float a, complex b) -> complex",
       op_complex_pair, PAIR_MUL, 0),
    OP("aten::mul.complex_float(complex a, float b) -> complex",
       op_complex_pair, PAIR_MUL, 0),
    OP("aten::div.complex(complex a, complex b) -> complex", op_complex_pair,
       PAIR_DIV, 0),
    OP("aten::pow.complex(complex a, complex b) -> complex", op_complex_pair,
       PAIR_POW, 0),
    OP("aten::pow.float_complex(float a, complex b) -> complex",
       op_complex_pair, PAIR_POW, 0),
    OP("aten::pow.complex_float(complex a, float b) -> complex",
       op_complex_pair, PAIR_POW, 0),
    OP("aten::log.int_complex(int a, complex b) -> complex", op_complex_pair,
       PAIR_LOG, 0),
    OP("aten::log.complex_int(complex a, int b) -> complex", op_complex_pair,
       PAIR_LOG, 0),
    OP("aten::log.float_complex(float a, complex b) -> complex",
       op_complex_pair, PAIR_LOG, 0),
    OP("aten::log.complex_float(complex a, float b) -> complex",
       op_complex_pair, PAIR_LOG, 0),
    OP("aten::log.complex_complex(complex a, complex b) -> complex",
       op_complex_pair, PAIR_LOG, 0),
    OP("aten::eq.complex(complex a, complex b) -> bool", op_complex_equal, 0,
       0),
    OP("aten::eq.float_complex(float a, complex b) -> bool", op_complex_equal,
       0, 0),
    OP("aten::eq.complex_float(complex a, float b) -> bool", op_complex_equal,
       0, 0),
    OP("aten::ne.complex(complex a, complex b) -> bool", op_complex_equal, 1,
       0),
    OP("aten::ne.float_complex(float a, complex b) -> bool", op_complex_equal,
       1, 0),
    OP("aten::ne.complex_float(complex a, float b) -> bool", op_complex_equal,
       1, 0),
    OP("aten::neg.complex(complex a) -> complex", op_complex_function, FN_neg,
       0),
    OP("aten::exp.complex(complex a) -> complex", op_complex_function, FN_exp,
       0),
    OP("aten::log.complex(complex a) -> complex", op_complex_function, FN_log,
       0),
    OP("aten::log10.complex(complex a) -> complex", op_complex_function,
       FN_log10, 0),
    OP("aten::sqrt.complex(complex a) -> complex", op_complex_function, FN_sqrt,
       0),
    OP("aten::sin.complex(complex a) -> complex", op_complex_function, FN_sin,
       0),
    OP("aten::cos.complex(complex a) -> complex", op_complex_function, FN_cos,
       0),
    OP("aten::tan.complex(complex a) -> complex", op_complex_function, FN_tan,
       0),
    OP("aten::asin.complex(complex a) -> complex", op_complex_function, FN_asin,
       0),
    OP("aten::acos.complex(complex a) -> complex", op_complex_function, FN_acos,
       0),
    OP("aten::atan.complex(complex a) -> complex", op_complex_function, FN_atan,
       0),
    OP("aten::sinh.complex(complex a) -> complex", op_complex_function, FN_sinh,
       0),
    OP("aten::cosh.complex(complex a) -> complex", op_complex_function, FN_cosh,
       0),
    OP("aten::tanh.complex(complex a) -> complex", op_complex_function, FN_tanh,
       0),
    OP("aten::asinh.complex(complex a) -> complex", op_complex_function,
       FN_asinh, 0),
    OP("aten::acosh.complex(complex a) -> complex", op_complex_function,
       FN_acosh, 0),
    OP("aten::atanh.complex(complex a) -> complex", op_complex_function,
       FN_atanh, 0),
    OP("aten::angle.complex(complex a) -> float", op_complex_function, FN_angle,
       0),
    OP("aten::isnan.complex(complex a) -> bool", op_complex_function, FN_isnan,
       0),
    OP("aten::isinf.complex(complex a) -> bool", op_complex_function, FN_isinf,
       0),
    OP("aten::isfinite.complex(complex a) -> bool", op_complex_function,
       FN_isfinite, 0),
    OP("aten::sum.complex(complex[] self) -> complex", op_complex_sum, 0, 0),
    OP("aten::tensor.complex(complex t, *, ScalarType? dtype=None, Device? "
       "device=None, bool requires_grad=False) -> Tensor",
       op_complex_tensor, 0, 0),
    OP("aten::as_tensor.complex(complex t, *, ScalarType? dtype=None, Device? "
       "device=None) -> Tensor",
       op_complex_tensor, 0, 0),
    OP("prim::abs.complex(complex a) -> float", op_complex_function,
       FN_absolute, 0),
    OP("aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar",
       op_polar_number, 0, 0),
};
BSM_ATEN_TABLE(complex_number, rows);
