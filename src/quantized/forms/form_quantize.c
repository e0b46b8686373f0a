/* SPDX-License-Identifier: Apache-2.0 */
/* What makes quantized tensors, and what reads them. */
#include "quantized/form_kit.h"

/* A number that may be a tensor of one element. */
static bsm_status number(const bsm_ivalue *v, bool whole, bsm_ivalue *out) {
  *out = *v;
  if (v->tag != BSM_IVALUE_TENSOR) return BSM_OK;
  if (bsm_tensor_is_meta(v->u.tensor) || bsm_tensor_numel(v->u.tensor) != 1) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "a scale or a zero point that depends on data");
  }
  *out = whole ? I(bsm_tensor_get_int(v->u.tensor, 0))
               : D(bsm_tensor_get_double(v->u.tensor, 0));
  return BSM_OK;
}

/* (x, scale, zero point, dtype) */
static bsm_status run_per_tensor(const bsm_q_call *c) {
  bsm_ivalue scale, zero;
  bsm_q_grid grid;
  BSM_TRY(number(&c->args[1], false, &scale));
  BSM_TRY(number(&c->args[2], true, &zero));
  BSM_TRY(
      bsm_q_grid_from(&scale, &zero, (bsm_dtype)bsm_q_int(&c->args[3]), &grid));
  return bsm_q_quantize(c, &c->args[0], &grid, &c->outs[0]);
}

static bsm_status channel_grid(const bsm_q_call *c, bsm_dtype dtype,
                               bsm_q_grid *out) {
  const bsm_ivalue *a = c->args;
  if (a[1].tag != BSM_IVALUE_TENSOR || a[2].tag != BSM_IVALUE_TENSOR ||
      !bsm_dtype_is_quantized(dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "scales or zero points that depend on data");
  }
  *out = (bsm_q_grid){.dtype = dtype,
                      .q = {.scales = a[1].u.tensor,
                            .zero_points = a[2].u.tensor,
                            .axis = (int32_t)bsm_q_int(&a[3])}};
  out->q.float_zero_points = bsm_dtype_is_floating(a[2].u.tensor->dtype);
  const bsm_dims dims = c->b->dims(c->b, &a[0]);
  if (out->q.axis < 0 || out->q.axis >= dims.rank ||
      bsm_tensor_numel(out->q.scales) != dims.d[out->q.axis] ||
      bsm_tensor_numel(out->q.zero_points) != dims.d[out->q.axis]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "per-channel quantization of %s along axis %lld",
                    bsm_dims_str(dims), (long long)bsm_q_int(&a[3]));
  }
  return BSM_OK;
}

/* (x, scales, zero points, axis, dtype) */
static bsm_status run_per_channel(const bsm_q_call *c) {
  bsm_q_grid grid;
  BSM_TRY(channel_grid(c, (bsm_dtype)bsm_q_int(&c->args[4]), &grid));
  return bsm_q_quantize(c, &c->args[0], &grid, &c->outs[0]);
}

/* (self, observer_on, fake_quant_on, running_min, running_max, scale, zero
 * point, averaging_const, quant_min, quant_max, ch_axis, per_row, ...): a
 * module of quantization-aware training, whose observer has to be off. */
static bsm_status run_observed(const bsm_q_call *c) {
  enum { SELF, OBSERVES, QUANTIZES, SCALE = 5, ZERO, MIN = 8, MAX, AXIS, ROWS };
  const bsm_ivalue *a = c->args;
  bsm_ivalue observes, quantizes;
  BSM_TRY(number(&a[OBSERVES], true, &observes));
  BSM_TRY(number(&a[QUANTIZES], true, &quantizes));
  if (bsm_q_int(&observes)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "an observer that still changes its scale: call "
                    "disable_observer on the model before it is saved");
  }
  c->outs[0] = a[SELF];
  if (!bsm_q_int(&quantizes)) return BSM_OK;
  if (bsm_q_bool(&a[ROWS])) {
    Q_CALL(c, &c->outs[0], "aten::fake_quantize_per_channel_affine", a[SELF],
           a[SCALE], a[ZERO], a[AXIS], a[MIN], a[MAX]);
  } else {
    Q_CALL(c, &c->outs[0],
           "aten::fake_quantize_per_tensor_affine.tensor_qparams", a[SELF],
           a[SCALE], a[ZERO], a[MIN], a[MAX]);
  }
  return BSM_OK;
}

static bsm_status run_by_data(const bsm_q_call *c) {
  (void)c;
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "a quantized tensor whose scale depends on data");
}

/* (integers, scale, zero point), or (integers, scales, zero points, axis) */
static bsm_status run_make(const bsm_q_call *c) {
  const bsm_tensor *t =
      c->args[0].tag == BSM_IVALUE_TENSOR ? c->args[0].u.tensor : NULL;
  const bsm_dtype dtype = !t                            ? BSM_DTYPE_UNDEFINED
                          : t->dtype == BSM_DTYPE_INT8  ? BSM_DTYPE_QINT8
                          : t->dtype == BSM_DTYPE_UINT8 ? BSM_DTYPE_QUINT8
                          : t->dtype == BSM_DTYPE_INT32 ? BSM_DTYPE_QINT32
                                                        : t->dtype;
  bsm_q_grid grid;
  bsm_ivalue integers;
  if (!t) {
    return BSM_FAIL(BSM_UNSUPPORTED, "integers of a shape that is not known");
  }
  if (c->n == 4) {
    BSM_TRY(channel_grid(c, dtype, &grid));
  } else {
    BSM_TRY(bsm_q_grid_from(&c->args[1], &c->args[2], dtype, &grid));
  }
  Q_CALL(c, &integers, "aten::clone", c->args[0], NONE);
  return c->b->join(c->b, &integers, &grid, &c->outs[0]);
}

static bsm_status run_dequantize(const bsm_q_call *c) {
  if (c->args[0].tag != BSM_IVALUE_LIST) {
    return bsm_q_float(c, &c->args[0], &c->outs[0]);
  }
  const bsm_list *from = c->args[0].u.list;
  bsm_list *to = NULL;
  BSM_TRY(bsm_list_new(c->b->arena, from->elem_type, from->len, &to));
  for (size_t i = 0; i < from->len; i++) {
    BSM_TRY(bsm_q_float(c, &from->items[i], &to->items[i]));
  }
  c->outs[0] = bsm_iv_list(to);
  return BSM_OK;
}

static bsm_status run_integers(const bsm_q_call *c) {
  bsm_ivalue integers;
  bsm_q_grid grid;
  bool is;
  BSM_TRY(c->b->split(c->b, &c->args[0], &integers, &grid, &is));
  Q_CALL(c, &c->outs[0], "aten::clone", integers, NONE);
  return BSM_OK;
}

enum { SCALE, ZERO_POINT, SCALES, ZERO_POINTS, AXIS };

static bsm_status run_parameter(const bsm_q_call *c) {
  bsm_q_grid grid;
  BSM_TRY(bsm_q_grid_of(c, &c->args[0], &grid));
  const int32_t which = c->form->variant;
  if ((which >= SCALES) != (grid.q.scales != NULL)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Expected quantizer->qscheme() == %s",
                    which >= SCALES ? "kPerChannelAffine" : "kPerTensorAffine");
  }
  const bsm_tensor *t = which == SCALES ? grid.q.scales : grid.q.zero_points;
  c->outs[0] = which == SCALE        ? D(grid.q.scale)
               : which == ZERO_POINT ? I(grid.q.zero_point)
               : which == AXIS       ? I(grid.q.axis)
                               : bsm_iv_tensor((bsm_tensor *)(uintptr_t)t);
  return BSM_OK;
}

#define MAKES(name, run, variant) \
  { "aten::" name, run, variant, BSM_Q_MAKES }

static const bsm_q_form forms[] = {
    MAKES("quantize_per_tensor", run_per_tensor, 0),
    MAKES("quantize_per_tensor.tensor_qparams", run_per_tensor, 0),
    MAKES("quantize_per_channel", run_per_channel, 0),
    MAKES("quantize_per_tensor_dynamic", run_by_data, 0),
    MAKES("_make_per_tensor_quantized_tensor", run_make, 0),
    MAKES("_make_per_channel_quantized_tensor", run_make, 0),
    {"aten::fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, "
     "Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, "
     "Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int "
     "quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, "
     "bool symmetric_quant=False) -> Tensor",
     run_observed, 0, BSM_Q_OP},
    MAKES("dequantize.self", run_dequantize, 0),
    MAKES("dequantize.tensor", run_dequantize, 0),
    MAKES("dequantize.tensors", run_dequantize, 0),
    MAKES("dequantize.list", run_dequantize, 0),
    MAKES("int_repr", run_integers, 0),
    MAKES("q_scale", run_parameter, SCALE),
    MAKES("q_zero_point", run_parameter, ZERO_POINT),
    MAKES("q_per_channel_scales", run_parameter, SCALES),
    MAKES("q_per_channel_zero_points", run_parameter, ZERO_POINTS),
    MAKES("q_per_channel_axis", run_parameter, AXIS),
};
BSM_Q_TABLE(quantize, forms);
