/* SPDX-License-Identifier: Apache-2.0 */
/* Binary elementwise ops: arithmetic, comparison, logic, and clamp. */
#include "aten/packed/aten_binary.h"
#include "aten/complex_math.h"

/* What the row functions need besides the operands. */
typedef struct bin_params {
  double alpha;
  int64_t ialpha;
  bsm_c128 calpha;
  bool single; /* computed in float, not in double */
} bin_params;

#define F64(fn, expr)                                            \
  static void fn(double *out, const double *const *in, size_t n, \
                 const void *params) {                           \
    const bin_params *p = params;                                \
    (void)p;                                                     \
    for (size_t k = 0; k < n; k++) {                             \
      const double a = in[0][k], b = in[1][k];                   \
      out[k] = (expr);                                           \
    }                                                            \
  }
#define I64(fn, expr)                                              \
  static void fn(int64_t *out, const int64_t *const *in, size_t n, \
                 const void *params) {                             \
    const bin_params *p = params;                                  \
    (void)p;                                                       \
    for (size_t k = 0; k < n; k++) {                               \
      const int64_t a = in[0][k], b = in[1][k];                    \
      out[k] = (expr);                                             \
    }                                                              \
  }

#define C128(fn, expr)                                               \
  static void fn(bsm_c128 *out, const bsm_c128 *const *in, size_t n, \
                 const void *params) {                               \
    const bin_params *p = params;                                    \
    (void)p;                                                         \
    for (size_t k = 0; k < n; k++) {                                 \
      const bsm_c128 a = in[0][k], b = in[1][k];                     \
      out[k] = (expr);                                               \
    }                                                                \
  }

/* Two's complement arithmetic without undefined overflow. */
static int64_t wadd(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t wsub(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}
static int64_t wmul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
static int64_t idiv(int64_t a, int64_t b) {
  if (b == 0) return 0; /* refused before */
  return b == -1 ? wsub(0, a) : a / b;
}
static int64_t imod(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
static int64_t ifloordiv(int64_t a, int64_t b) {
  const int64_t q = idiv(a, b);
  return imod(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
static int64_t iremainder(int64_t a, int64_t b) {
  const int64_t r = imod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static int64_t ipow(int64_t a, int64_t b) {
  if (b < 0) {
    if (a == 1) return 1;
    if (a == -1) return b % 2 ? -1 : 1;
    return 0;
  }
  int64_t r = 1;
  for (; b; b >>= 1) {
    if (b & 1) r = wmul(r, a);
    a = wmul(a, a);
  }
  return r;
}
static double fquotient(double a, double b, bool single) {
  return single ? (double)((float)a / (float)b) : a / b;
}
/* c10::div_floor_floating. */
static double ffloordiv(double a, double b, bool single) {
  if (b == 0.0) return a / b;
  const double mod = fmod(a, b);
  double div =
      fquotient(single ? (double)((float)a - (float)mod) : a - mod, b, single);
  if (mod != 0.0 && (b < 0.0) != (mod < 0.0)) div -= 1.0;
  if (div == 0.0) return copysign(0.0, a / b);
  double floordiv = floor(div);
  if (div - floordiv > 0.5) floordiv += 1.0;
  return floordiv;
}
static double fremainder(double a, double b) {
  const double mod = fmod(a, b);
  return mod != 0.0 && (b < 0.0) != (mod < 0.0) ? mod + b : mod;
}
static double nan_max(double a, double b) {
  return isnan(a) ? a : isnan(b) ? b : a > b ? a : b;
}
static double nan_min(double a, double b) {
  return isnan(a) ? a : isnan(b) ? b : a < b ? a : b;
}
static double xlogy(double a, double b) {
  if (isnan(b)) return b;
  return a == 0.0 ? 0.0 : a * log(b);
}
static int64_t shl(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}
static int64_t shr(int64_t a, int64_t b) {
  return a >> (b < 0 || b > 63 ? 63 : b);
}

F64(f_add, a + b * p->alpha)
I64(i_add, wadd(a, wmul(b, p->ialpha)))
F64(f_sub, a - b * p->alpha)
I64(i_sub, wsub(a, wmul(b, p->ialpha)))
F64(f_rsub, b - a * p->alpha)
I64(i_rsub, wsub(b, wmul(a, p->ialpha)))
F64(f_mul, a *b)
I64(i_mul, wmul(a, b))
F64(f_div, a / b)
F64(f_div_trunc, trunc(fquotient(a, b, p->single)))
I64(i_div_trunc, idiv(a, b))
F64(f_div_floor, ffloordiv(a, b, p->single))
I64(i_div_floor, ifloordiv(a, b))
F64(f_remainder, fremainder(a, b))
I64(i_remainder, iremainder(a, b))
F64(f_fmod, fmod(a, b))
I64(i_fmod, imod(a, b))
F64(f_pow, pow(a, b))
I64(i_pow, ipow(a, b))
F64(f_maximum, nan_max(a, b))
I64(i_maximum, a > b ? a : b)
F64(f_minimum, nan_min(a, b))
I64(i_minimum, a < b ? a : b)
F64(f_fmax, fmax(a, b))
F64(f_fmin, fmin(a, b))
F64(f_atan2, atan2(a, b))
F64(f_hypot, hypot(a, b))
F64(f_copysign, copysign(a, b))
F64(f_xlogy, xlogy(a, b))
F64(f_eq, (double)(a == b))
I64(i_eq, a == b)
F64(f_ne, (double)(a != b))
I64(i_ne, a != b)
F64(f_lt, (double)(a < b))
I64(i_lt, a < b)
F64(f_le, (double)(a <= b))
I64(i_le, a <= b)
F64(f_gt, (double)(a > b))
I64(i_gt, a > b)
F64(f_ge, (double)(a >= b))
I64(i_ge, a >= b)
F64(f_land, (double)(a != 0.0 && b != 0.0))
I64(i_land, a &&b)
F64(f_lor, (double)(a != 0.0 || b != 0.0))
I64(i_lor, a || b)
F64(f_lxor, (double)((a != 0.0) != (b != 0.0)))
I64(i_lxor, !a != !b)
I64(i_and, a &b)
I64(i_or, a | b)
I64(i_xor, a ^ b)
I64(i_shl, shl(a, b))
I64(i_shr, shr(a, b))
F64(f_shl, a *exp2(b))
F64(f_shr, a / exp2(b))
F64(f_sqdiff, (a - b) * (a - b))

static bsm_c128 truth(bool v) {
  return (bsm_c128){v ? 1.0 : 0.0, 0.0};
}
static bool nonzero(bsm_c128 v) {
  return v.re != 0.0 || v.im != 0.0;
}
C128(c_add, bsm_c_add(a, bsm_c_mul(p->calpha, b)))
C128(c_sub, bsm_c_sub(a, bsm_c_mul(p->calpha, b)))
C128(c_rsub, bsm_c_sub(b, bsm_c_mul(p->calpha, a)))
C128(c_mul, bsm_c_mul(a, b))
C128(c_div, bsm_c_div(a, b))
C128(c_pow, bsm_c_pow(a, b))
C128(c_eq, truth(bsm_c_equal(a, b)))
C128(c_ne, truth(!bsm_c_equal(a, b)))
C128(c_land, truth(nonzero(a) && nonzero(b)))
C128(c_lor, truth(nonzero(a) || nonzero(b)))
C128(c_lxor, truth(nonzero(a) != nonzero(b)))

enum {
  BIN_ADD,
  BIN_SUB,
  BIN_RSUB,
  BIN_MUL,
  BIN_DIV,
  BIN_DIV_TRUNC,
  BIN_DIV_FLOOR,
  BIN_DIV_MODE,
  BIN_REMAINDER,
  BIN_FMOD,
  BIN_POW,
  BIN_MAXIMUM,
  BIN_MINIMUM,
  BIN_FMAX,
  BIN_FMIN,
  BIN_ATAN2,
  BIN_HYPOT,
  BIN_COPYSIGN,
  BIN_XLOGY,
  BIN_EQ,
  BIN_NE,
  BIN_LT,
  BIN_LE,
  BIN_GT,
  BIN_GE,
  BIN_LAND,
  BIN_LOR,
  BIN_LXOR,
  BIN_AND,
  BIN_OR,
  BIN_XOR,
  BIN_SHL,
  BIN_SHR,
  BIN_SQDIFF,
  BIN_COUNT
};

static const bsm_pointwise binary_ops[BIN_COUNT] = {
    [BIN_ADD] = {"add_stub", f_add, i_add, 0, .c = c_add},
    [BIN_SUB] = {"sub_stub", f_sub, i_sub, 0, .c = c_sub},
    [BIN_RSUB] = {"sub_stub", f_rsub, i_rsub, 0, .c = c_rsub},
    [BIN_MUL] = {"mul_cpu", f_mul, i_mul, BSM_PW_OPMATH, .c = c_mul},
    [BIN_DIV] = {"div_cpu", f_div, NULL, BSM_PW_OPMATH | BSM_PW_FLOAT,
                 .c = c_div},
    [BIN_DIV_TRUNC] = {"div_trunc_cpu", f_div_trunc, i_div_trunc,
                       BSM_PW_OPMATH},
    [BIN_DIV_FLOOR] = {"div_floor_cpu", f_div_floor, i_div_floor,
                       BSM_PW_OPMATH},
    [BIN_REMAINDER] = {"remainder_cpu", f_remainder, i_remainder, 0},
    [BIN_FMOD] = {"fmod_cpu", f_fmod, i_fmod, 0},
    [BIN_POW] = {"pow", f_pow, i_pow, 0, .c = c_pow},
    [BIN_MAXIMUM] = {"maximum_cpu", f_maximum, i_maximum, 0},
    [BIN_MINIMUM] = {"minimum_cpu", f_minimum, i_minimum, 0},
    [BIN_FMAX] = {"fmax", f_fmax, i_maximum, 0},
    [BIN_FMIN] = {"fmin", f_fmin, i_minimum, 0},
    [BIN_ATAN2] = {"atan2_cpu", f_atan2, NULL, BSM_PW_FLOAT},
    [BIN_HYPOT] = {"hypot_cpu", f_hypot, NULL, 0},
    [BIN_COPYSIGN] = {"copysign_cpu", f_copysign, NULL, BSM_PW_FLOAT},
    [BIN_XLOGY] = {"xlogy_cpu", f_xlogy, NULL, BSM_PW_FLOAT},
    [BIN_EQ] = {"eq_cpu", f_eq, i_eq, BSM_PW_BOOL, .c = c_eq},
    [BIN_NE] = {"ne_cpu", f_ne, i_ne, BSM_PW_BOOL, .c = c_ne},
    [BIN_LT] = {"lt_cpu", f_lt, i_lt, BSM_PW_BOOL},
    [BIN_LE] = {"le_cpu", f_le, i_le, BSM_PW_BOOL},
    [BIN_GT] = {"gt_cpu", f_gt, i_gt, BSM_PW_BOOL},
    [BIN_GE] = {"ge_cpu", f_ge, i_ge, BSM_PW_BOOL},
    [BIN_LAND] = {"logical_and_cpu", f_land, i_land, BSM_PW_BOOL, .c = c_land},
    [BIN_LOR] = {"logical_or_cpu", f_lor, i_lor, BSM_PW_BOOL, .c = c_lor},
    [BIN_LXOR] = {"logical_xor_cpu", f_lxor, i_lxor, BSM_PW_BOOL, .c = c_lxor},
    [BIN_AND] = {"bitwise_and_cpu", NULL, i_and, 0},
    [BIN_OR] = {"bitwise_or_cpu", NULL, i_or, 0},
    [BIN_XOR] = {"bitwise_xor_cpu", NULL, i_xor, 0},
    [BIN_SHL] = {"lshift_cpu", f_shl, i_shl, 0},
    [BIN_SHR] = {"rshift_cpu", f_shr, i_shr, 0},
    [BIN_SQDIFF] = {"squared_difference", f_sqdiff, NULL, 0},
};

static bool integral(bsm_dtype d) {
  return bsm_dtype_is_integral(d, true);
}

/* What PyTorch refuses before it looks at the values. */
static bsm_status check_types(int32_t variant, bsm_tensor *const *in,
                              bsm_dtype common, const bsm_ivalue *alpha) {
  const bool bool0 = in[0]->dtype == BSM_DTYPE_BOOL;
  const bool bool1 = in[1]->dtype == BSM_DTYPE_BOOL;
  if ((variant == BIN_SUB || variant == BIN_RSUB) && (bool0 || bool1)) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        bool0 && bool1
            ? "Subtraction, the `-` operator, with two bool tensors is not "
              "supported. Use the `^` or `logical_xor()` operator instead."
            : "Subtraction, the `-` operator, with a bool tensor is not "
              "supported. If you are trying to invert a mask, use the `~` or "
              "`logical_not()` operator instead.");
  }
  if (alpha && alpha->tag == BSM_IVALUE_BOOL && common != BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Boolean alpha only supported for Boolean results.");
  }
  if (alpha && alpha->tag == BSM_IVALUE_COMPLEX &&
      !bsm_dtype_is_complex(common)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "For non-complex input tensors, argument alpha must not be "
                    "a complex number.");
  }
  if (alpha && alpha->tag == BSM_IVALUE_DOUBLE && integral(common)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "For integral input tensors, argument alpha must not be a "
                    "floating point number.");
  }
  if (common == BSM_DTYPE_BOOL &&
      (variant == BIN_REMAINDER || variant == BIN_FMOD || variant == BIN_POW ||
       variant == BIN_DIV_TRUNC || variant == BIN_DIV_FLOOR ||
       variant == BIN_SHL || variant == BIN_SHR)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "\"%s\" not implemented for 'Bool'",
                    binary_ops[variant].name);
  }
  return BSM_OK;
}

/* Integer division by zero, looked for beforehand. */
static bsm_status check_divisor(const bsm_op_ctx *cx, int32_t variant,
                                bsm_tensor *const *in, bsm_dtype common) {
  if (cx->meta || !integral(common) || bsm_tensor_numel(in[0]) == 0) {
    return BSM_OK;
  }
  if (variant != BIN_DIV_TRUNC && variant != BIN_DIV_FLOOR &&
      variant != BIN_REMAINDER && variant != BIN_FMOD) {
    return BSM_OK;
  }
  const int64_t n = bsm_tensor_numel(in[1]);
  for (int64_t i = 0; i < n; i++) {
    if (bsm_tensor_get_int(in[1], i) == 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "ZeroDivisionError");
    }
  }
  return BSM_OK;
}

static bsm_status binary(bsm_op_ctx *cx, int32_t variant, bsm_tensor *a,
                         bsm_tensor *b, const bsm_ivalue *alpha,
                         bsm_tensor *dst, bsm_tensor **out) {
  bsm_tensor *in[] = {a, b};
  bsm_pointwise pw = binary_ops[variant];
  bin_params params = {1.0, 1, {1.0, 0.0}, true};
  pw.common = bsm_op_result_type(in, 2);
  pw.has_common = true;
  BSM_TRY(check_types(variant, in, pw.common, alpha));
  BSM_TRY(check_divisor(cx, variant, in, pw.common));
  if (alpha) {
    params.alpha = op_double(alpha);
    bsm_round_f64(pw.common, 1, &params.alpha);
    params.ialpha = op_int(alpha);
    if (pw.common == BSM_DTYPE_BOOL) params.ialpha = params.ialpha != 0;
    params.calpha = op_complex(alpha);
  }
  params.single = pw.common != BSM_DTYPE_DOUBLE;
  pw.params = &params;
  return bsm_op_pointwise(cx, &pw, in, 2, dst, out);
}

static bsm_status operand(bsm_op_ctx *cx, const bsm_ivalue *a,
                          bsm_tensor **out) {
  *out = op_tensor(a);
  return *out ? BSM_OK : bsm_op_wrap(cx, a, out);
}

/* (self, other), each a tensor or a number. */
static bsm_status op_binary(OP_PARAMS) {
  bsm_tensor *a, *b, *out;
  BSM_TRY(operand(cx, &args[0], &a));
  BSM_TRY(operand(cx, &args[1], &b));
  bsm_tensor *dst = self->flags & BSM_ATEN_INPLACE ? a : NULL;
  if (self->variant == BIN_POW && args[1].tag != BSM_IVALUE_TENSOR &&
      op_is_integral(&args[1]) && op_int(&args[1]) < 0 && integral(a->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Integers to negative integer powers are not allowed.");
  }
  BSM_TRY(binary(cx, self->variant, a, b, NULL, dst, &out));
  return op_return(outs, out);
}

/* (self, other, alpha). */
static bsm_status op_binary_alpha(OP_PARAMS) {
  bsm_tensor *a, *b, *out;
  BSM_TRY(operand(cx, &args[0], &a));
  BSM_TRY(operand(cx, &args[1], &b));
  bsm_tensor *dst = self->flags & BSM_ATEN_INPLACE ? a : NULL;
  BSM_TRY(binary(cx, self->variant, a, b, &args[2], dst, &out));
  return op_return(outs, out);
}

/* (self, other, rounding_mode). */
static bsm_status op_div_mode(OP_PARAMS) {
  bsm_tensor *a, *b, *out;
  int32_t variant = BIN_DIV;
  if (!op_none(&args[2])) {
    const bsm_str mode = op_str(&args[2]);
    if (bsm_str_eq(mode, BSM_STR("trunc"))) {
      variant = BIN_DIV_TRUNC;
    } else if (bsm_str_eq(mode, BSM_STR("floor"))) {
      variant = BIN_DIV_FLOOR;
    } else {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "div expected rounding_mode to be one of None, 'trunc', "
                      "or 'floor' but found '%.*s'",
                      (int)mode.len, mode.data);
    }
  }
  BSM_TRY(operand(cx, &args[0], &a));
  BSM_TRY(operand(cx, &args[1], &b));
  bsm_tensor *dst = self->flags & BSM_ATEN_INPLACE ? a : NULL;
  BSM_TRY(binary(cx, variant, a, b, NULL, dst, &out));
  return op_return(outs, out);
}

bsm_status bsm_op_add(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                      double alpha, bsm_tensor **out) {
  const bsm_ivalue v =
      alpha == floor(alpha) ? bsm_iv_int((int64_t)alpha) : bsm_iv_double(alpha);
  return binary(cx, BIN_ADD, a, b, &v, NULL, out);
}

bsm_status bsm_op_mul(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                      bsm_tensor **out) {
  return binary(cx, BIN_MUL, a, b, NULL, NULL, out);
}

bsm_status bsm_op_not_equal(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                            bsm_tensor **out) {
  return binary(cx, BIN_NE, a, b, NULL, NULL, out);
}

/* ---- clamp: a lower and an upper bound, each optional ---- */

enum { CLAMP_BOTH, CLAMP_MIN, CLAMP_MAX };

static void f_clamp(double *out, const double *const *in, size_t n,
                    const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = nan_min(nan_max(in[0][k], in[1][k]), in[2][k]);
  }
}
static void i_clamp(int64_t *out, const int64_t *const *in, size_t n,
                    const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    const int64_t low = in[0][k] < in[1][k] ? in[1][k] : in[0][k];
    out[k] = low > in[2][k] ? in[2][k] : low;
  }
}

static bsm_status op_clamp(OP_PARAMS) {
  bsm_tensor *in[3] = {op_tensor(&args[0]), NULL, NULL}, *out;
  bool low = self->variant != CLAMP_MAX, high = self->variant != CLAMP_MIN;
  const bsm_ivalue *bounds[2] = {&args[1],
                                 &args[self->variant == CLAMP_BOTH ? 2 : 1]};
  if (low && op_none(bounds[0])) low = false;
  if (high && op_none(bounds[1])) high = false;
  if (!low && !high) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.clamp: At least one of 'min' or 'max' must not be "
                    "None");
  }
  int n = 1;
  if (low) BSM_TRY(operand(cx, bounds[0], &in[n++]));
  if (high) BSM_TRY(operand(cx, bounds[1], &in[n++]));
  bsm_pointwise pw = {"clamp", f_clamp, i_clamp, 0, NULL, 0, false};
  if (n == 2) {
    pw.f = low ? f_maximum : f_minimum;
    pw.i = low ? i_maximum : i_minimum;
  }
  /* One bound that is a tensor makes a maximum or minimum, also of bools. */
  if (bsm_op_result_type(in, n) == BSM_DTYPE_BOOL &&
      (n > 2 || !op_tensor(bounds[low ? 0 : 1]))) {
    pw.i = NULL;
  }
  BSM_TRY(bsm_op_pointwise(
      cx, &pw, in, n, self->flags & BSM_ATEN_INPLACE ? in[0] : NULL, &out));
  return op_return(outs, out);
}

/* bool(torch.equal(a, b)): same shape and values. */
static bsm_status op_equal(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]), *eq;
  outs[0] = bsm_iv_bool(false);
  if (!bsm_dims_equal(a->sizes, b->sizes)) return BSM_OK;
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "equal depends on the values");
  }
  BSM_TRY(binary(cx, BIN_EQ, a, b, NULL, NULL, &eq));
  const int64_t n = bsm_tensor_numel(eq);
  for (int64_t i = 0; i < n; i++) {
    if (!bsm_tensor_get_int(eq, i)) return BSM_OK;
  }
  outs[0] = bsm_iv_bool(true);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> "
       "Tensor",
       op_binary_alpha, BIN_ADD, BSM_ATEN_COMPLEX),
    OP("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> "
       "Tensor(a!)",
       op_binary_alpha, BIN_ADD, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       op_binary_alpha, BIN_ADD, BSM_ATEN_COMPLEX),
    OP("aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> "
       "Tensor(a!)",
       op_binary_alpha, BIN_ADD, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> "
       "Tensor",
       op_binary_alpha, BIN_SUB, BSM_ATEN_COMPLEX),
    OP("aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> "
       "Tensor(a!)",
       op_binary_alpha, BIN_SUB, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       op_binary_alpha, BIN_SUB, BSM_ATEN_COMPLEX),
    OP("aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> "
       "Tensor(a!)",
       op_binary_alpha, BIN_SUB, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> "
       "Tensor",
       op_binary_alpha, BIN_SUB, BSM_ATEN_COMPLEX),
    OP("aten::subtract_.Tensor(Tensor(a!) self, Tensor other, *, Scalar "
       "alpha=1) "
       "-> Tensor(a!)",
       op_binary_alpha, BIN_SUB, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> "
       "Tensor",
       op_binary_alpha, BIN_SUB, BSM_ATEN_COMPLEX),
    OP("aten::subtract_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) "
       "-> "
       "Tensor(a!)",
       op_binary_alpha, BIN_SUB, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> "
       "Tensor",
       op_binary_alpha, BIN_RSUB, BSM_ATEN_COMPLEX),
    OP("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       op_binary_alpha, BIN_RSUB, BSM_ATEN_COMPLEX),
    OP("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_MUL, BSM_ATEN_COMPLEX),
    OP("aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_MUL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_MUL, BSM_ATEN_COMPLEX),
    OP("aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_MUL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_MUL, BSM_ATEN_COMPLEX),
    OP("aten::multiply_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_MUL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_MUL, BSM_ATEN_COMPLEX),
    OP("aten::multiply_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_MUL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_DIV, BSM_ATEN_COMPLEX),
    OP("aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_DIV, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_DIV, BSM_ATEN_COMPLEX),
    OP("aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_DIV, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_DIV, BSM_ATEN_COMPLEX),
    OP("aten::divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_DIV, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_DIV, BSM_ATEN_COMPLEX),
    OP("aten::divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_DIV, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_DIV, BSM_ATEN_COMPLEX),
    OP("aten::true_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_DIV, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_DIV, BSM_ATEN_COMPLEX),
    OP("aten::true_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_DIV, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_REMAINDER, BSM_ATEN_COMPLEX),
    OP("aten::remainder_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_REMAINDER, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_REMAINDER, BSM_ATEN_COMPLEX),
    OP("aten::remainder_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_REMAINDER, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_FMOD, BSM_ATEN_COMPLEX),
    OP("aten::fmod_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_FMOD, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_FMOD, BSM_ATEN_COMPLEX),
    OP("aten::fmod_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_FMOD, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> "
       "Tensor(a!)",
       op_binary, BIN_DIV_FLOOR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_DIV_FLOOR, BSM_ATEN_COMPLEX),
    OP("aten::floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> "
       "Tensor(a!)",
       op_binary, BIN_DIV_FLOOR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::floor_divide(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_DIV_FLOOR, BSM_ATEN_COMPLEX),
    OP("aten::atan2(Tensor self, Tensor other) -> Tensor", op_binary, BIN_ATAN2,
       BSM_ATEN_COMPLEX),
    OP("aten::atan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_binary,
       BIN_ATAN2, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::arctan2(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_ATAN2, BSM_ATEN_COMPLEX),
    OP("aten::arctan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_binary,
       BIN_ATAN2, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::hypot(Tensor self, Tensor other) -> Tensor", op_binary, BIN_HYPOT,
       BSM_ATEN_COMPLEX),
    OP("aten::hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)", op_binary,
       BIN_HYPOT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_COPYSIGN, BSM_ATEN_COMPLEX),
    OP("aten::copysign_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_COPYSIGN, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_COPYSIGN, BSM_ATEN_COMPLEX),
    OP("aten::copysign_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_COPYSIGN, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_EQ, BSM_ATEN_COMPLEX),
    OP("aten::eq_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_EQ, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_EQ, BSM_ATEN_COMPLEX),
    OP("aten::eq_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_EQ, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_NE, BSM_ATEN_COMPLEX),
    OP("aten::ne_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_NE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_NE, BSM_ATEN_COMPLEX),
    OP("aten::ne_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_NE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_LT, BSM_ATEN_COMPLEX),
    OP("aten::lt_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_LT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_LT, BSM_ATEN_COMPLEX),
    OP("aten::lt_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_LT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_LE, BSM_ATEN_COMPLEX),
    OP("aten::le_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_LE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::le.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_LE, BSM_ATEN_COMPLEX),
    OP("aten::le_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_LE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_GT, BSM_ATEN_COMPLEX),
    OP("aten::gt_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_GT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_GT, BSM_ATEN_COMPLEX),
    OP("aten::gt_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_GT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_GE, BSM_ATEN_COMPLEX),
    OP("aten::ge_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_GE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_GE, BSM_ATEN_COMPLEX),
    OP("aten::ge_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_GE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_NE, BSM_ATEN_COMPLEX),
    OP("aten::not_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_NE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::not_equal.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_NE, BSM_ATEN_COMPLEX),
    OP("aten::not_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_NE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::greater.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_GT, BSM_ATEN_COMPLEX),
    OP("aten::greater_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_GT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::greater.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_GT, BSM_ATEN_COMPLEX),
    OP("aten::greater_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_GT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_GE, BSM_ATEN_COMPLEX),
    OP("aten::greater_equal_.Tensor(Tensor(a!) self, Tensor other) -> "
       "Tensor(a!)",
       op_binary, BIN_GE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::greater_equal.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_GE, BSM_ATEN_COMPLEX),
    OP("aten::greater_equal_.Scalar(Tensor(a!) self, Scalar other) -> "
       "Tensor(a!)",
       op_binary, BIN_GE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::less.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_LT, BSM_ATEN_COMPLEX),
    OP("aten::less_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_LT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::less.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_LT, BSM_ATEN_COMPLEX),
    OP("aten::less_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_LT, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_LE, BSM_ATEN_COMPLEX),
    OP("aten::less_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_LE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::less_equal.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_LE, BSM_ATEN_COMPLEX),
    OP("aten::less_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_LE, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::logical_and(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_LAND, BSM_ATEN_COMPLEX),
    OP("aten::logical_and_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_LAND, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::logical_or(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_LOR, BSM_ATEN_COMPLEX),
    OP("aten::logical_or_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_LOR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::logical_xor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_LXOR, BSM_ATEN_COMPLEX),
    OP("aten::logical_xor_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_LXOR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_AND, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_and_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_AND, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_AND, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_and_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_AND, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_OR, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_or_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_OR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_OR, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_or_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_OR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_XOR, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_xor_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_XOR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_XOR, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_xor_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_XOR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_AND, BSM_ATEN_COMPLEX),
    OP("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_AND, BSM_ATEN_COMPLEX),
    OP("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_OR, BSM_ATEN_COMPLEX),
    OP("aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_OR, BSM_ATEN_COMPLEX),
    OP("aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_XOR, BSM_ATEN_COMPLEX),
    OP("aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", op_binary,
       BIN_XOR, BSM_ATEN_COMPLEX),
    OP("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_SHL, BSM_ATEN_COMPLEX),
    OP("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_SHL, BSM_ATEN_COMPLEX),
    OP("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_SHR, BSM_ATEN_COMPLEX),
    OP("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_SHR, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_SHL, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_left_shift_.Tensor(Tensor(a!) self, Tensor other) -> "
       "Tensor(a!)",
       op_binary, BIN_SHL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
       op_binary, BIN_SHR, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_right_shift_.Tensor(Tensor(a!) self, Tensor other) -> "
       "Tensor(a!)",
       op_binary, BIN_SHR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_AND, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_AND, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__ior__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_OR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__ior__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_OR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__ixor__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_XOR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__ixor__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_XOR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::maximum(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_MAXIMUM, BSM_ATEN_COMPLEX),
    OP("aten::minimum(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_MINIMUM, BSM_ATEN_COMPLEX),
    OP("aten::fmax(Tensor self, Tensor other) -> Tensor", op_binary, BIN_FMAX,
       BSM_ATEN_COMPLEX),
    OP("aten::fmin(Tensor self, Tensor other) -> Tensor", op_binary, BIN_FMIN,
       BSM_ATEN_COMPLEX),
    OP("aten::__ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_SHL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__ilshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_SHL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__irshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_SHR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::__irshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       op_binary, BIN_SHR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? "
       "rounding_mode) "
       "-> Tensor",
       op_div_mode, BIN_DIV_MODE, 0),
    OP("aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? "
       "rounding_mode) -> Tensor(a!)",
       op_div_mode, BIN_DIV_MODE, BSM_ATEN_INPLACE),
    OP("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? "
       "rounding_mode) "
       "-> Tensor",
       op_div_mode, BIN_DIV_MODE, 0),
    OP("aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? "
       "rounding_mode) -> Tensor(a!)",
       op_div_mode, BIN_DIV_MODE, BSM_ATEN_INPLACE),
    OP("aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? "
       "rounding_mode) -> Tensor",
       op_div_mode, BIN_DIV_MODE, 0),
    OP("aten::divide_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? "
       "rounding_mode) -> Tensor(a!)",
       op_div_mode, BIN_DIV_MODE, BSM_ATEN_INPLACE),
    OP("aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? "
       "rounding_mode) -> Tensor",
       op_div_mode, BIN_DIV_MODE, 0),
    OP("aten::divide_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? "
       "rounding_mode) -> Tensor(a!)",
       op_div_mode, BIN_DIV_MODE, BSM_ATEN_INPLACE),
    OP("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       op_binary, BIN_REMAINDER, BSM_ATEN_COMPLEX),
    OP("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
       op_binary, BIN_POW, BSM_ATEN_COMPLEX),
    OP("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
       op_binary, BIN_POW, BSM_ATEN_COMPLEX),
    OP("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", op_binary,
       BIN_POW, BSM_ATEN_COMPLEX),
    OP("aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
       op_binary, BIN_POW, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
       op_binary, BIN_POW, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::max.other(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_MAXIMUM, BSM_ATEN_COMPLEX),
    OP("aten::min.other(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_MINIMUM, BSM_ATEN_COMPLEX),
    OP("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", op_binary,
       BIN_XLOGY, BSM_ATEN_COMPLEX),
    OP("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
       op_binary, BIN_XLOGY, BSM_ATEN_COMPLEX),
    OP("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
       op_binary, BIN_XLOGY, BSM_ATEN_COMPLEX),
    OP("aten::xlogy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_binary, BIN_XLOGY, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> "
       "Tensor",
       op_binary, BIN_SHL, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> "
       "Tensor",
       op_binary, BIN_SHR, BSM_ATEN_COMPLEX),
    OP("aten::bitwise_left_shift_.Tensor_Scalar(Tensor(a!) self, Scalar other) "
       "-> Tensor(a!)",
       op_binary, BIN_SHL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::bitwise_right_shift_.Tensor_Scalar(Tensor(a!) self, Scalar "
       "other) "
       "-> Tensor(a!)",
       op_binary, BIN_SHR, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
       op_clamp, CLAMP_BOTH, 0),
    OP("aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> "
       "Tensor(a!)",
       op_clamp, CLAMP_BOTH, BSM_ATEN_INPLACE),
    OP("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> "
       "Tensor",
       op_clamp, CLAMP_BOTH, 0),
    OP("aten::clamp_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? "
       "max=None) "
       "-> Tensor(a!)",
       op_clamp, CLAMP_BOTH, BSM_ATEN_INPLACE),
    OP("aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
       op_clamp, CLAMP_BOTH, 0),
    OP("aten::clip_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> "
       "Tensor(a!)",
       op_clamp, CLAMP_BOTH, BSM_ATEN_INPLACE),
    OP("aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> "
       "Tensor",
       op_clamp, CLAMP_BOTH, 0),
    OP("aten::clip_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? "
       "max=None) "
       "-> Tensor(a!)",
       op_clamp, CLAMP_BOTH, BSM_ATEN_INPLACE),
    OP("aten::clamp_min(Tensor self, Scalar min) -> Tensor", op_clamp,
       CLAMP_MIN, 0),
    OP("aten::clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)", op_clamp,
       CLAMP_MIN, BSM_ATEN_INPLACE),
    OP("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", op_clamp,
       CLAMP_MIN, 0),
    OP("aten::clamp_min_.Tensor(Tensor(a!) self, Tensor min) -> Tensor(a!)",
       op_clamp, CLAMP_MIN, BSM_ATEN_INPLACE),
    OP("aten::clamp_max(Tensor self, Scalar max) -> Tensor", op_clamp,
       CLAMP_MAX, 0),
    OP("aten::clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)", op_clamp,
       CLAMP_MAX, BSM_ATEN_INPLACE),
    OP("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", op_clamp,
       CLAMP_MAX, 0),
    OP("aten::clamp_max_.Tensor(Tensor(a!) self, Tensor max) -> Tensor(a!)",
       op_clamp, CLAMP_MAX, BSM_ATEN_INPLACE),
    OP("aten::equal(Tensor self, Tensor other) -> bool", op_equal, 0, 0),
};
BSM_ATEN_TABLE(binary, rows);
