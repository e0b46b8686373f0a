/* SPDX-License-Identifier: Apache-2.0 */
/* Complex tensors: made of two real ones, taken apart, conjugated.
 *
 * PyTorch's conj and _neg_view are lazy: views with a bit that says so. Here
 * they compute their result at once, so resolve_conj and is_conj have nothing
 * to do. */
#include "aten/packed/aten_complex.h"
#include "aten/complex_math.h"

enum { MAKE_COMPLEX, MAKE_POLAR };

static void join(const bsm_tensor *out, const bsm_tensor *a,
                 const bsm_tensor *b, bool polar) {
  const bsm_tensor *all[] = {out, a, b};
  double x[BSM_ROW], y[BSM_ROW];
  bsm_c128 z[BSM_ROW];
  bsm_iter it;
  bsm_iter_init(&it, out->sizes, all, 3);
  while (bsm_iter_next(&it)) {
    for (int64_t at = 0; at < it.count; at += BSM_ROW) {
      const int64_t left = it.count - at;
      const size_t k = (size_t)(left < BSM_ROW ? left : BSM_ROW);
      bsm_load_f64(a->dtype, it.ptr[1] + at * it.step[1], it.step[1], k, x);
      bsm_load_f64(b->dtype, it.ptr[2] + at * it.step[2], it.step[2], k, y);
      for (size_t i = 0; i < k; i++) {
        z[i] = polar ? (bsm_c128){x[i] * cos(y[i]), x[i] * sin(y[i])}
                     : (bsm_c128){x[i], y[i]};
      }
      bsm_store_c128(out->dtype, it.ptr[0] + at * it.step[0], it.step[0], k, z);
    }
  }
}

/* complex(real, imag), polar(abs, angle) */
static bsm_status op_join(OP_PARAMS) {
  bsm_tensor *in[] = {op_tensor(&args[0]), op_tensor(&args[1])}, *out;
  const bool polar = self->variant == MAKE_POLAR;
  const bsm_dtype d = in[0]->dtype;
  bsm_dims shape;
  for (int i = 0; i < 2; i++) {
    const bsm_dtype e = in[i]->dtype;
    if (e == BSM_DTYPE_FLOAT || e == BSM_DTYPE_DOUBLE ||
        (e == BSM_DTYPE_HALF && !polar)) {
      continue;
    }
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected both inputs to be Half, Float or Double tensors "
                    "but got %s and %s",
                    bsm_op_type_name(d), bsm_op_type_name(in[1]->dtype));
  }
  if (d != in[1]->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected object of scalar type %s but got scalar type %s "
                    "for second argument",
                    bsm_op_type_name(d), bsm_op_type_name(in[1]->dtype));
  }
  BSM_TRY(bsm_op_broadcast(in[0]->sizes, in[1]->sizes, &shape));
  BSM_TRY(bsm_op_new_elementwise(cx, bsm_dtype_complex_type(d), shape, in, 2,
                                 &out));
  if (!cx->meta) join(out, in[0], in[1], polar);
  return op_return(outs, out);
}

static bsm_status op_view_as_real(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(bsm_op_view_as_real(cx, op_tensor(&args[0]), &out));
  return op_return(outs, out);
}

static bsm_status op_view_as_complex(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  BSM_TRY(bsm_op_view_as_complex(cx, op_tensor(&args[0]), &out));
  return op_return(outs, out);
}

enum { PART_REAL, PART_IMAG };

/* real(self), imag(self): views. */
static bsm_status op_part(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  if (!bsm_dtype_is_complex(t->dtype)) {
    if (self->variant == PART_REAL) return op_return(outs, t);
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "imag is not implemented for tensors with non-complex "
                    "dtypes.");
  }
  BSM_TRY(bsm_op_view_as_real(cx, t, &out));
  BSM_TRY(bsm_op_select(cx, out, out->sizes.rank - 1, self->variant, &out));
  return op_return(outs, out);
}

static const bsm_pointwise conj_row = {"conj_cpu", .c = bsm_c_row_conj};

bsm_status bsm_op_conj(bsm_op_ctx *cx, bsm_tensor *t, bsm_tensor **out) {
  *out = t;
  if (!bsm_dtype_is_complex(t->dtype)) return BSM_OK;
  return bsm_op_pointwise(cx, &conj_row, &t, 1, NULL, out);
}

/* conj(self) and its kin; a real tensor stays itself. */
static bsm_status op_conj(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  if (!(self->flags & BSM_ATEN_INPLACE)) {
    BSM_TRY(bsm_op_conj(cx, t, &out));
    return op_return(outs, out);
  }
  if (bsm_dtype_is_complex(t->dtype)) {
    BSM_TRY(bsm_op_pointwise(cx, &conj_row, &t, 1, t, &t));
  }
  return op_return(outs, t);
}

enum { ADJOINT_BATCH, ADJOINT_MATRIX };

/* adjoint(self), mH, matrix_H: transposed and conjugated. */
static bsm_status op_adjoint(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out = t;
  const int32_t rank = t->sizes.rank;
  if (rank == 1 || (self->variant == ADJOINT_MATRIX && rank > 2)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the adjoint is of a matrix or a batch of matrices. Got "
                    "%d-D tensor.",
                    (int)rank);
  }
  if (rank > 0) BSM_TRY(bsm_op_transpose(cx, t, rank - 1, rank - 2, &out));
  BSM_TRY(bsm_op_conj(cx, out, &out));
  return op_return(outs, out);
}

static bsm_status op_same(OP_PARAMS) {
  (void)self;
  (void)cx;
  return op_return(outs, op_tensor(&args[0]));
}

static void f_negate(double *out, const double *const *in, size_t n,
                     const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) out[k] = -in[0][k];
}

static bsm_status op_neg_view(OP_PARAMS) {
  static const bsm_pointwise pw = {"neg", f_negate, .c = bsm_c_row_neg};
  bsm_tensor *t = op_tensor(&args[0]), *out;
  (void)self;
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1, NULL, &out));
  return op_return(outs, out);
}

/* angle(self): of a real number 0 or pi, or NaN. */
static void f_angle(double *out, const double *const *in, size_t n,
                    const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    const double x = in[0][k];
    out[k] = isnan(x) ? x : x < 0.0 ? M_PI : 0.0;
  }
}

static bsm_status op_angle(OP_PARAMS) {
  static const bsm_pointwise pw = {"angle_cpu", f_angle, NULL,
                                   BSM_PW_FLOAT | BSM_PW_REAL,
                                   .c = bsm_c_row_angle};
  bsm_tensor *t = op_tensor(&args[0]), *out = NULL;
  (void)self;
  if (bsm_dtype_is_complex(t->dtype)) { /* contiguous */
    BSM_TRY(bsm_op_new(cx, bsm_dtype_value_type(t->dtype), t->sizes, &out));
  }
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1, out, &out));
  return op_return(outs, out);
}

static void f_true(double *out, const double *const *in, size_t n,
                   const void *params) {
  (void)params;
  (void)in;
  for (size_t k = 0; k < n; k++) out[k] = 1.0;
}
static void i_true(int64_t *out, const int64_t *const *in, size_t n,
                   const void *params) {
  (void)params;
  (void)in;
  for (size_t k = 0; k < n; k++) out[k] = 1;
}
static void c_isreal(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                     const void *params) {
  (void)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = (bsm_c128){in[0][k].im == 0.0 ? 1.0 : 0.0, 0.0};
  }
}

static bsm_status op_isreal(OP_PARAMS) {
  static const bsm_pointwise pw = {"isreal", f_true, i_true, BSM_PW_BOOL,
                                   .c = c_isreal};
  bsm_tensor *t = op_tensor(&args[0]), *out;
  (void)self;
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1, NULL, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::complex(Tensor real, Tensor imag) -> Tensor", op_join,
       MAKE_COMPLEX, 0),
    OP("aten::polar(Tensor abs, Tensor angle) -> Tensor", op_join, MAKE_POLAR,
       0),
    OP("aten::view_as_real(Tensor(a) self) -> Tensor(a)", op_view_as_real, 0,
       BSM_ATEN_VIEW),
    OP("aten::view_as_complex(Tensor(a) self) -> Tensor(a)", op_view_as_complex,
       0, BSM_ATEN_VIEW),
    OP("aten::real(Tensor(a) self) -> Tensor(a)", op_part, PART_REAL,
       BSM_ATEN_VIEW),
    OP("aten::imag(Tensor(a) self) -> Tensor(a)", op_part, PART_IMAG,
       BSM_ATEN_VIEW),
    OP("aten::conj(Tensor(a) self) -> Tensor(a)", op_conj, 0, 0),
    OP("aten::_conj(Tensor(a) self) -> Tensor(a)", op_conj, 0, 0),
    OP("aten::conj_physical(Tensor self) -> Tensor", op_conj, 0, 0),
    OP("aten::_conj_physical(Tensor self) -> Tensor", op_conj, 0, 0),
    OP("aten::conj_physical_(Tensor(a!) self) -> Tensor(a!)", op_conj, 0,
       BSM_ATEN_INPLACE),
    OP("aten::resolve_conj(Tensor(a) self) -> Tensor(a)", op_same, 0,
       BSM_ATEN_VIEW),
    OP("aten::resolve_neg(Tensor(a) self) -> Tensor(a)", op_same, 0,
       BSM_ATEN_VIEW),
    OP("aten::_neg_view(Tensor(a) self) -> Tensor(a)", op_neg_view, 0, 0),
    OP("aten::adjoint(Tensor(a) self) -> Tensor(a)", op_adjoint, ADJOINT_BATCH,
       0),
    OP("aten::mH(Tensor(a) self) -> Tensor(a)", op_adjoint, ADJOINT_BATCH, 0),
    OP("aten::mH.a(Tensor(a) self) -> Tensor(a)", op_adjoint, ADJOINT_BATCH, 0),
    OP("aten::matrix_H(Tensor(a) self) -> Tensor(a)", op_adjoint,
       ADJOINT_MATRIX, 0),
    OP("aten::matrix_H.a(Tensor(a) self) -> Tensor(a)", op_adjoint,
       ADJOINT_MATRIX, 0),
    OP("aten::angle(Tensor self) -> Tensor", op_angle, 0, 0),
    OP("aten::isreal(Tensor self) -> Tensor", op_isreal, 0, 0),
};
BSM_ATEN_TABLE(complex, rows);
