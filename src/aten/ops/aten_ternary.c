/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops of three operands: addcmul, addcdiv and lerp. */
#include "aten/packed/aten_ternary.h"
#include "aten/complex_math.h"

/* The factor of addcmul and addcdiv. */
typedef struct factor {
  double real;
  int64_t integer;
  bsm_c128 complex;
} factor;

/* Two's complement arithmetic without undefined overflow. */
static int64_t wadd(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t wmul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

static void f_addcmul(double *out, const double *const *in, size_t n,
                      const void *params) {
  const factor *p = params;
  for (size_t k = 0; k < n; k++) {
    out[k] = in[0][k] + p->real * in[1][k] * in[2][k];
  }
}
static void i_addcmul(int64_t *out, const int64_t *const *in, size_t n,
                      const void *params) {
  const factor *p = params;
  for (size_t k = 0; k < n; k++) {
    out[k] = wadd(in[0][k], wmul(p->integer, wmul(in[1][k], in[2][k])));
  }
}
static void f_addcdiv(double *out, const double *const *in, size_t n,
                      const void *params) {
  const factor *p = params;
  for (size_t k = 0; k < n; k++) {
    out[k] = in[0][k] + p->real * in[1][k] / in[2][k];
  }
}

static void c_addcmul(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                      const void *params) {
  const factor *p = params;
  for (size_t k = 0; k < n; k++) {
    const bsm_c128 v = bsm_c_mul(bsm_c_mul(p->complex, in[1][k]), in[2][k]);
    out[k] = bsm_c_add(in[0][k], v);
  }
}
static void c_addcdiv(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                      const void *params) {
  const factor *p = params;
  for (size_t k = 0; k < n; k++) {
    const bsm_c128 v = bsm_c_div(bsm_c_mul(p->complex, in[1][k]), in[2][k]);
    out[k] = bsm_c_add(in[0][k], v);
  }
}

enum { TERNARY_ADDCMUL, TERNARY_ADDCDIV };

static bsm_status op_ternary(OP_PARAMS) {
  bsm_tensor *in[] = {op_tensor(&args[0]), op_tensor(&args[1]),
                      op_tensor(&args[2])};
  bsm_tensor *out;
  const factor params = {op_double(&args[3]), op_int(&args[3]),
                         op_complex(&args[3])};
  const bool div = self->variant == TERNARY_ADDCDIV;
  if (div && bsm_dtype_is_integral(in[1]->dtype, true) &&
      bsm_dtype_is_integral(in[2]->dtype, true)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Integer division with addcdiv is no longer supported, and "
                    "in a future  release addcdiv will perform a true division "
                    "of tensor1 and tensor2.");
  }
  const bsm_pointwise pw = {div ? "addcdiv_cpu_out" : "addcmul_cpu_out",
                            div ? f_addcdiv : f_addcmul,
                            div ? NULL : i_addcmul,
                            0,
                            &params,
                            0,
                            false,
                            div ? c_addcdiv : c_addcmul};
  BSM_TRY(bsm_op_pointwise(
      cx, &pw, in, 3, self->flags & BSM_ATEN_INPLACE ? in[0] : NULL, &out));
  return op_return(outs, out);
}

static void f_lerp(double *out, const double *const *in, size_t n,
                   const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    const double a = in[0][k], b = in[1][k], w = in[2][k];
    out[k] = fabs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (1.0 - w);
  }
}

static void c_lerp(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                   const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    const bsm_c128 a = in[0][k], b = in[1][k], w = in[2][k];
    const bsm_c128 rest = {1.0 - w.re, -w.im}, span = bsm_c_sub(b, a);
    out[k] = bsm_c_abs(w) < 0.5 ? bsm_c_add(a, bsm_c_mul(w, span))
                                : bsm_c_sub(b, bsm_c_mul(span, rest));
  }
}

static bsm_status op_lerp(OP_PARAMS) {
  bsm_tensor *in[3] = {op_tensor(&args[0]), op_tensor(&args[1]), NULL}, *out;
  if (in[0]->dtype != in[1]->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected dtype %s for `end` but got dtype %s",
                    bsm_dtype_name(in[0]->dtype), bsm_dtype_name(in[1]->dtype));
  }
  in[2] = op_tensor(&args[2]);
  if (bsm_dtype_is_integral(in[0]->dtype, true)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "\"lerp_kernel_scalar\" not implemented for '%s'",
                    bsm_op_type_name(in[0]->dtype));
  }
  if (!in[2]) BSM_TRY(bsm_op_wrap(cx, &args[2], &in[2]));
  if (!in[2]->wrapped_number && in[2]->dtype != in[0]->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected dtype %s for `weight` but got dtype %s",
                    bsm_dtype_name(in[0]->dtype), bsm_dtype_name(in[2]->dtype));
  }
  const bsm_pointwise pw = {"lerp_kernel", f_lerp, NULL,  BSM_PW_OPMATH,
                            NULL,          0,      false, c_lerp};
  BSM_TRY(bsm_op_pointwise(
      cx, &pw, in, 3, self->flags & BSM_ATEN_INPLACE ? in[0] : NULL, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar "
       "value=1) -> Tensor",
       op_ternary, TERNARY_ADDCMUL, BSM_ATEN_COMPLEX),
    OP("aten::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, "
       "Scalar value=1) -> Tensor(a!)",
       op_ternary, TERNARY_ADDCMUL, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar "
       "value=1) -> Tensor",
       op_ternary, TERNARY_ADDCDIV, BSM_ATEN_COMPLEX),
    OP("aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, "
       "Scalar value=1) -> Tensor(a!)",
       op_ternary, TERNARY_ADDCDIV, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
       op_lerp, 0, BSM_ATEN_COMPLEX),
    OP("aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> "
       "Tensor(a!)",
       op_lerp, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
    OP("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
       op_lerp, 0, BSM_ATEN_COMPLEX),
    OP("aten::lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> "
       "Tensor(a!)",
       op_lerp, 0, BSM_ATEN_INPLACE | BSM_ATEN_COMPLEX),
};
BSM_ATEN_TABLE(ternary, rows);
