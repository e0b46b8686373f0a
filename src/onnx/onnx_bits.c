/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of truth values, and shifts of integers with a sign: ONNX
 * compares numbers alone, and shifts integers without one. */
#include "aten/tensor.h"
#include "onnx/onnx_emitter.h"

/* ---- truth values ---- */

static const char *not_of(bsm_onnx_emitter *e, const char *x) {
  return bsm_onnx_op1(e, "Not", x);
}

const char *bsm_onnx_compare_truth(bsm_onnx_emitter *e, const char *a,
                                   const char *b,
                                   bsm_element_wise_operation operation) {
  switch (operation) {
    case BSM_ELEMENT_WISE_GREATER:
      return bsm_onnx_op2(e, "And", a, not_of(e, b));
    case BSM_ELEMENT_WISE_LESS:
      return bsm_onnx_op2(e, "And", b, not_of(e, a));
    case BSM_ELEMENT_WISE_GREATER_EQUAL:
      return bsm_onnx_op2(e, "Or", a, not_of(e, b));
    case BSM_ELEMENT_WISE_LESS_EQUAL:
      return bsm_onnx_op2(e, "Or", b, not_of(e, a));
    default:
      return NULL;
  }
}

/* ---- shifts ---- */

/* An integer's 64 bits as a number without a sign. */
static const char *as_bits(bsm_onnx_emitter *e, const char *x) {
  enum { ONNX_UINT64 = 13 };
  const bsm_onnx_attribute to = bsm_onnx_int("to", ONNX_UINT64);
  const char *wide = bsm_onnx_cast(e, x, BSM_DTYPE_INT64);
  return bsm_onnx_op(e, "Cast", &wide, 1, &to, 1);
}

static const char *shifted(bsm_onnx_emitter *e, const char *direction,
                           const char *bits, const char *by) {
  const bsm_onnx_attribute to = bsm_onnx_string("direction", direction);
  const char *const inputs[] = {bits, by};
  return bsm_onnx_cast(e, bsm_onnx_op(e, "BitShift", inputs, 2, &to, 1),
                       BSM_DTYPE_INT64);
}

static const char *int64(bsm_onnx_emitter *e, double value) {
  return bsm_onnx_scalar(e, BSM_DTYPE_INT64, value);
}

/* As PyTorch shifts: by no less than 0 bits and fewer than there are, or
 * nothing is left but the sign. In 64 bits, as narrower integers keep their
 * sign there; negative ones with all bits turned, so that zeros come in from
 * the left. */
const char *bsm_onnx_shift(bsm_onnx_emitter *e, const char *a, const char *b,
                           bsm_element_wise_operation operation) {
  const bsm_dtype dtype = e->layer->outputs.items[0]->dtype;
  if (!bsm_dtype_is_integral(dtype, false)) return NULL;
  const char *last = as_bits(e, int64(e, 63));
  const char *by = as_bits(e, b);
  const char *within = bsm_onnx_op2(e, "Min", by, last);
  const char *wide = bsm_onnx_cast(e, a, BSM_DTYPE_INT64);
  const char *out = NULL;
  if (operation == BSM_ELEMENT_WISE_SHIFT_LEFT) {
    out = bsm_onnx_op3(e, "Where", bsm_onnx_op2(e, "Greater", by, last),
                       int64(e, 0), shifted(e, "LEFT", as_bits(e, a), within));
  } else {
    const char *negative = bsm_onnx_op2(e, "Less", wide, int64(e, 0));
    const char *turned = bsm_onnx_op3(
        e, "Where", negative, bsm_onnx_op1(e, "BitwiseNot", wide), wide);
    const char *moved = shifted(e, "RIGHT", as_bits(e, turned), within);
    out = bsm_onnx_op3(e, "Where", negative,
                       bsm_onnx_op1(e, "BitwiseNot", moved), moved);
  }
  return bsm_onnx_cast(e, out, dtype);
}
