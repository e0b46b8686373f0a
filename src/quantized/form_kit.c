/* SPDX-License-Identifier: Apache-2.0 */
/* Grids, quantizing and dequantizing, for forms. */
#include "quantized/form_kit.h"

#include <math.h>

#include "aten/tensor.h"

#define DECOMPOSED "quantized_decomposed::"

bsm_status bsm_q_call1(const bsm_q_call *c, bsm_ivalue *out, const char *name,
                       const bsm_ivalue *args, size_t n) {
  bsm_ivalue result; /* `out` may be one of the arguments */
  BSM_TRY(c->b->call(c->b, name, args, n, &result, 1));
  *out = result;
  return BSM_OK;
}

double bsm_q_number(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_INT    ? (double)v->u.i
         : v->tag == BSM_IVALUE_BOOL ? (double)v->u.b
         : v->tag == BSM_IVALUE_NONE ? 0
                                     : v->u.d;
}

int64_t bsm_q_int(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_INT    ? v->u.i
         : v->tag == BSM_IVALUE_BOOL ? v->u.b
                                     : 0;
}

bool bsm_q_bool(const bsm_ivalue *v) {
  return bsm_q_int(v) != 0;
}

/* ---- grids ---- */

bsm_dtype bsm_q_integers(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_QINT8    ? BSM_DTYPE_INT8
         : dtype == BSM_DTYPE_QUINT8 ? BSM_DTYPE_UINT8
                                     : BSM_DTYPE_INT32;
}

void bsm_q_range(bsm_dtype dtype, int64_t *low, int64_t *high) {
  const bool is_signed = dtype == BSM_DTYPE_QINT8;
  *low = is_signed ? INT8_MIN : dtype == BSM_DTYPE_QUINT8 ? 0 : INT32_MIN;
  *high = is_signed                   ? INT8_MAX
          : dtype == BSM_DTYPE_QUINT8 ? UINT8_MAX
                                      : INT32_MAX;
}

bsm_status bsm_q_grid_of(const bsm_q_call *c, const bsm_ivalue *v,
                         bsm_q_grid *out) {
  bsm_ivalue integers;
  bool is;
  BSM_TRY(c->b->split(c->b, v, &integers, out, &is));
  if (is) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "a quantized tensor is needed");
}

static bool is_known(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE;
}

bsm_status bsm_q_grid_from(const bsm_ivalue *scale,
                           const bsm_ivalue *zero_point, bsm_dtype dtype,
                           bsm_q_grid *out) {
  int64_t low, high;
  if (!is_known(scale) || zero_point->tag != BSM_IVALUE_INT) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a scale or a zero point that depends on data");
  }
  const double s = bsm_q_number(scale);
  const int64_t zero = zero_point->u.i;
  if (!bsm_dtype_is_quantized(dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "quantization to %s",
                    bsm_dtype_name(dtype));
  }
  bsm_q_range(dtype, &low, &high);
  if (!isfinite(s) || !(s > 0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a scale of %g", s);
  }
  if (zero < low || zero > high) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a zero point of %lld, which %s does not hold",
                    (long long)zero, bsm_dtype_name(dtype));
  }
  *out = (bsm_q_grid){.dtype = dtype,
                      .q = {.scale = s, .zero_point = zero, .axis = -1}};
  return BSM_OK;
}

bool bsm_q_same_grid(const bsm_q_grid *a, const bsm_q_grid *b) {
  return a->dtype == b->dtype && a->q.scales == b->q.scales &&
         a->q.zero_points == b->q.zero_points && a->q.axis == b->q.axis &&
         (a->q.scales ||
          (!(a->q.scale < b->q.scale) && !(a->q.scale > b->q.scale) &&
           a->q.zero_point == b->q.zero_point));
}

/* ---- from integers, and to them ---- */

static bsm_ivalue tensor(const bsm_tensor *t) {
  return bsm_iv_tensor((bsm_tensor *)(uintptr_t)t);
}

/* What quantize_ and dequantize_ of quantized_decomposed have in common: the
 * tensor, scale, zero point[, axis], range, dtype. Returns their number. */
static size_t affine_args(const bsm_ivalue *t, const bsm_q_grid *grid,
                          bsm_ivalue args[8]) {
  int64_t low, high;
  size_t n = 0;
  bsm_q_range(grid->dtype, &low, &high);
  args[n++] = *t;
  args[n++] = grid->q.scales ? tensor(grid->q.scales) : D(grid->q.scale);
  args[n++] =
      grid->q.scales ? tensor(grid->q.zero_points) : I(grid->q.zero_point);
  if (grid->q.scales) args[n++] = I(grid->q.axis);
  args[n++] = I(low);
  args[n++] = I(high);
  args[n++] = I(bsm_q_integers(grid->dtype));
  return n;
}

bsm_status bsm_q_float(const bsm_q_call *c, const bsm_ivalue *v,
                       bsm_ivalue *out) {
  bsm_ivalue integers, args[8];
  bsm_q_grid grid;
  bool is;
  BSM_TRY(c->b->split(c->b, v, &integers, &grid, &is));
  if (!is) {
    *out = *v;
    return BSM_OK;
  }
  size_t n = affine_args(&integers, &grid, args);
  args[n++] = NONE; /* float */
  return bsm_q_call1(c, out,
                     grid.q.scales ? DECOMPOSED "dequantize_per_channel"
                                   : DECOMPOSED "dequantize_per_tensor",
                     args, n);
}

bsm_status bsm_q_quantize(const bsm_q_call *c, const bsm_ivalue *floats,
                          const bsm_q_grid *grid, bsm_ivalue *out) {
  bsm_ivalue integers, args[8];
  const size_t n = affine_args(floats, grid, args);
  if (c->b->quantize) return c->b->quantize(c->b, floats, grid, out);
  if (grid->q.float_zero_points) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "quantization with zero points that are no integers");
  }
  BSM_TRY(bsm_q_call1(c, &integers,
                      grid->q.scales ? DECOMPOSED "quantize_per_channel"
                                     : DECOMPOSED "quantize_per_tensor",
                      args, n));
  return c->b->join(c->b, &integers, grid, out);
}

bsm_status bsm_q_choose(const bsm_q_call *c, const bsm_ivalue *floats,
                        bool reduce_range, bsm_q_dynamic_grid *out) {
  /* The least scale that PyTorch's engines work with. */
  const double least = 6.1e-5;
  bsm_ivalue chosen[2];
  out->high = I(reduce_range ? 127 : 255);
  const bsm_ivalue args[] = {*floats, I(0), out->high, D(least),
                             I(BSM_DTYPE_UINT8)};
  BSM_TRY(
      c->b->call(c->b, DECOMPOSED "choose_qparams.tensor", args, 5, chosen, 2));
  out->scale = chosen[0];
  out->zero_point = chosen[1];
  return BSM_OK;
}

bsm_status bsm_q_on_dynamic(const bsm_q_call *c, const bsm_ivalue *floats,
                            const bsm_q_dynamic_grid *grid, bsm_ivalue *out) {
  const bsm_ivalue low = I(0), dtype = I(BSM_DTYPE_UINT8);
  bsm_ivalue q;
  Q_CALL(c, &q, DECOMPOSED "quantize_per_tensor.tensor", *floats, grid->scale,
         grid->zero_point, low, grid->high, dtype);
  Q_CALL(c, out, DECOMPOSED "dequantize_per_tensor.tensor", q, grid->scale,
         grid->zero_point, low, grid->high, dtype, NONE);
  return BSM_OK;
}

bsm_status bsm_q_dynamic(const bsm_q_call *c, const bsm_ivalue *floats,
                         bool reduce_range, bsm_ivalue *out) {
  bsm_q_dynamic_grid grid;
  BSM_TRY(bsm_q_choose(c, floats, reduce_range, &grid));
  return bsm_q_on_dynamic(c, floats, &grid, out);
}

/* ---- packed parameters ---- */

bsm_status bsm_q_weight(const bsm_q_call *c, const bsm_ivalue *slots,
                        bsm_ivalue *weight, bsm_ivalue *bias) {
  BSM_TRY(c->b->slot(c->b, &slots[BSM_PACKED_WEIGHT], weight));
  BSM_TRY(c->b->slot(c->b, &slots[BSM_PACKED_BIAS], bias));
  return bsm_q_float(c, weight, weight);
}

bsm_status bsm_q_linear(const bsm_q_call *c, const bsm_ivalue *x,
                        const bsm_ivalue *packed, bsm_ivalue *out) {
  const bsm_ivalue *slots;
  bsm_ivalue weight, bias;
  BSM_TRY(bsm_packed_read(packed, BSM_PACKED_LINEAR, &slots));
  BSM_TRY(bsm_q_weight(c, slots, &weight, &bias));
  Q_CALL(c, out, "aten::linear", *x, weight, bias);
  return BSM_OK;
}
