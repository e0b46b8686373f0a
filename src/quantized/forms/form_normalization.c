/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations of quantized tensors, onto a grid that is given. */
#include "quantized/form_kit.h"

enum { BATCH, LAYER, GROUP, INSTANCE, WHICH = 3, RELU = 4 };

/* (x, weight, bias, mean, var, eps, ...) */
static bsm_status batch(const bsm_q_call *c, bsm_ivalue *y) {
  const bsm_ivalue *a = c->args;
  Q_CALL(c, y, "aten::batch_norm", *y, a[1], a[2], a[3], a[4], B(false), D(0.1),
         a[5], B(false));
  return BSM_OK;
}

static bsm_status run_norm(const bsm_q_call *c) {
  static const size_t grids[] = {
      [BATCH] = 6, [LAYER] = 5, [GROUP] = 5, [INSTANCE] = 4};
  const int which = c->form->variant & WHICH;
  const bsm_ivalue *a = c->args, *given = &a[grids[which]];
  bsm_ivalue y;
  bsm_q_grid in, grid;
  BSM_TRY(bsm_q_grid_of(c, &a[0], &in));
  BSM_TRY(bsm_q_grid_from(&given[0], &given[1], in.dtype, &grid));
  BSM_TRY(bsm_q_float(c, &a[0], &y));
  switch (which) {
    case BATCH:
      BSM_TRY(batch(c, &y));
      break;
    case LAYER:
      Q_CALL(c, &y, "aten::layer_norm", y, a[1], a[2], a[3], a[4], B(false));
      break;
    case GROUP:
      Q_CALL(c, &y, "aten::group_norm", y, a[1], a[2], a[3], a[4], B(false));
      break;
    default:
      Q_CALL(c, &y, "aten::instance_norm", y, a[1], a[2], NONE, NONE, B(true),
             D(0.1), a[3], B(false));
      break;
  }
  if (c->form->variant & RELU) Q_CALL(c, &y, "aten::relu", y);
  return bsm_q_quantize(c, &y, &grid, &c->outs[0]);
}

/* (x, weight, bias, mean, var, eps, scale, zero point) with arguments that the
 * op of PyTorch's own has in the same order. */
#define GRID "float output_scale, int output_zero_point) -> Tensor"
#define OP(text, variant) \
  { "quantized::" text, run_norm, variant, BSM_Q_OP }
#define STATISTICS                                                      \
  "(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, " \
  "float eps, " GRID
#define PAIR(name) \
  OP(name STATISTICS, BATCH), OP(name "_relu" STATISTICS, BATCH | RELU)

static const bsm_q_form forms[] = {
    PAIR("batch_norm"),
    PAIR("batch_norm1d"),
    PAIR("batch_norm2d"),
    PAIR("batch_norm3d"),
    OP("layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, "
       "Tensor? bias, float eps, " GRID,
       LAYER),
    OP("group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, "
       "float eps, " GRID,
       GROUP),
    OP("instance_norm(Tensor input, Tensor? weight, Tensor? bias, float "
       "eps, " GRID,
       INSTANCE),
};
BSM_Q_TABLE(normalization, forms);
