/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses what follows a convolution or matrix multiply into it:
 *   matrix multiply * constant scalar        -> scale
 *   matrix multiply + constant row           -> bias
 *   (convolution | matrix multiply) + tensor -> residual
 *   activation                               -> epilogue
 * in this order, because out = act(scale * op + bias + residual).
 * Requires: the fused tensor has one reader, and the target fuses its dtype. A
 * layer with a residual moves to the place of the add, where both operands
 * exist. */
#include <math.h>

#include "builder/constants.h"
#include "builder/passes.h"
#include "builder/uses.h"

static bsm_epilogue *epilogue_of(bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
      return &layer->p.convolution.epilogue;
    case BSM_LAYER_MATRIX_MULTIPLY:
      return &layer->p.matrix_multiply.epilogue;
    default:
      return NULL;
  }
}

/* The other operand of an element-wise layer that reads `x`. */
static bsm_itensor *other_operand(const bsm_layer *layer,
                                  const bsm_itensor *x) {
  return layer->inputs.items[layer->inputs.items[0] == x ? 1 : 0];
}

static bool fuse_scale(bsm_layer *op, const bsm_layer *next) {
  if (op->kind != BSM_LAYER_MATRIX_MULTIPLY ||
      op->p.matrix_multiply.bias.count != 0 ||
      op->p.matrix_multiply.epilogue.has_residual ||
      next->kind != BSM_LAYER_ELEMENT_WISE) {
    return false;
  }
  bsm_itensor *out = op->outputs.items[0];
  const bsm_element_wise_operation operation = next->p.element_wise.operation;
  const bsm_weights *w = bsm_constant_of(other_operand(next, out), out->dtype);
  if (!w || w->count != 1 ||
      !bsm_dims_equal(next->outputs.items[0]->dims, out->dims)) {
    return false;
  }
  const double value = bsm_constant_number(w, 0);
  if (operation == BSM_ELEMENT_WISE_PROD) {
    op->p.matrix_multiply.scale *= value;
    return true;
  }
  /* Division by a power of two can be an exact multiplication. */
  int exponent;
  if (operation == BSM_ELEMENT_WISE_DIV && next->inputs.items[0] == out &&
      value != 0 && isfinite(value) && fabs(frexp(value, &exponent)) == 0.5) {
    op->p.matrix_multiply.scale /= value;
    return true;
  }
  return false;
}

static bool fuse_bias(bsm_layer *op, const bsm_layer *next) {
  if (op->kind != BSM_LAYER_MATRIX_MULTIPLY ||
      op->p.matrix_multiply.bias.count != 0 ||
      op->p.matrix_multiply.epilogue.has_residual ||
      next->kind != BSM_LAYER_ELEMENT_WISE ||
      next->p.element_wise.operation != BSM_ELEMENT_WISE_SUM) {
    return false;
  }
  const bsm_itensor *out = op->outputs.items[0];
  const bsm_itensor *row = other_operand(next, out);
  const bsm_weights *w = bsm_constant_of(row, out->dtype);
  const int64_t n = out->dims.d[out->dims.rank - 1];
  if (!w || w->count != n || row->dims.rank == 0 ||
      row->dims.d[row->dims.rank - 1] != n ||
      !bsm_dims_equal(next->outputs.items[0]->dims, out->dims)) {
    return false;
  }
  op->p.matrix_multiply.bias = *w;
  return true;
}

static bool fuse_activation(bsm_layer *op, const bsm_layer *next) {
  bsm_epilogue *epilogue = epilogue_of(op);
  if (next->kind != BSM_LAYER_ACTIVATION) return false;
  epilogue->activation = next->p.activation.type;
  epilogue->alpha = next->p.activation.alpha;
  epilogue->beta = next->p.activation.beta;
  return true;
}

/* Makes the other operand of a sum the residual of `op`, and moves `op` to the
 * place of the sum, where that operand exists. */
static bsm_status fuse_residual(bsm_network *net, bsm_uses *uses, bsm_layer *op,
                                bsm_layer *next, bool *done) {
  *done = false;
  bsm_itensor *out = op->outputs.items[0];
  if (op->kind == BSM_LAYER_DECONVOLUTION ||
      next->kind != BSM_LAYER_ELEMENT_WISE ||
      next->p.element_wise.operation != BSM_ELEMENT_WISE_SUM) {
    return BSM_OK;
  }
  bsm_itensor *residual = other_operand(next, out);
  if (residual == out || residual->dtype != out->dtype ||
      !bsm_dims_equal(residual->dims, out->dims)) {
    return BSM_OK;
  }
  BSM_TRY_ALLOC(bsm_vec_push(net->arena, &op->inputs, residual));
  epilogue_of(op)->has_residual = true;
  for (uint32_t i = 0; i < uses->reader_count[residual->id]; i++) {
    if (uses->readers[residual->id][i] == next) {
      uses->readers[residual->id][i] = op;
    }
  }
  size_t from = 0, to = 0;
  for (size_t i = 0; i < net->layers.len; i++) {
    if (net->layers.items[i] == op) from = i;
    if (net->layers.items[i] == next) to = i;
  }
  for (size_t i = from; i < to; i++) {
    net->layers.items[i] = net->layers.items[i + 1];
  }
  net->layers.items[to] = op;
  *done = true;
  return BSM_OK;
}

/* Fuses the reader of `op` if possible; *done says whether it was. */
static bsm_status fuse_next(bsm_network *net, bsm_arena *scratch, bsm_layer *op,
                            bsm_uses *uses, bool *done) {
  *done = false;
  bsm_itensor *out = op->outputs.items[0];
  bsm_layer *next = bsm_uses_single_reader(uses, out);
  if (!next || next->removed || next->outputs.items[0]->dtype != out->dtype ||
      epilogue_of(op)->activation != BSM_ACTIVATION_NONE) {
    return BSM_OK;
  }
  *done =
      fuse_scale(op, next) || fuse_bias(op, next) || fuse_activation(op, next);
  if (!*done && !epilogue_of(op)->has_residual) {
    BSM_TRY(fuse_residual(net, uses, op, next, done));
  }
  return *done ? bsm_uses_absorb(net, scratch, uses, op, next) : BSM_OK;
}

bsm_status bsm_pass_fuse_epilogues(const bsm_target *target, bsm_network *net,
                                   bsm_arena *scratch) {
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  /* When a layer has moved to a later place, another layer is here: look again.
   */
  for (size_t i = 0; i < net->layers.len;) {
    bsm_layer *op = net->layers.items[i];
    bool done = false;
    if (!op->removed && epilogue_of(op) &&
        target->ops->fuses(target, BSM_FUSION_EPILOGUE,
                           op->outputs.items[0]->dtype)) {
      BSM_TRY(fuse_next(net, scratch, op, &uses, &done));
    }
    if (!done) i++;
  }
  return BSM_OK;
}
