/* SPDX-License-Identifier: Apache-2.0 */
/* Folds what multiplies each output map into the product before it: scale
 * layers (batch norm, as converters make it), and products by constants such as
 * the scale of a layer, into convolutions, deconvolutions and products by a
 * constant matrix; and constants that are added to maps of the first two: w' =
 * w * scale, b' = b * scale + shift, in double, rounded once (w' when it is
 * packed: bsm_deferred, and `factor` of products). Requires: only the scale
 * reads the product's output, the target fuses in its dtype, and it has no
 * epilogue yet. */
#include <math.h>

#include "builder/constants.h"
#include "builder/passes.h"
#include "builder/uses.h"

/* What multiplies maps, and is added then; count 0: nothing. */
typedef struct scaling {
  bsm_weights by, shift;
} scaling;

/* Whether weights of a dtype times their factors stay finite. An infinite
 * factor does not: of a sum it makes an infinity, of its terms, which may have
 * either sign, NaN. */
static bool stays_finite(const bsm_weights *weights, bsm_dtype dtype,
                         const double *before, int64_t maps, const scaling *s) {
  double factor = 0;
  for (int64_t c = 0; c < maps; c++) {
    const double by =
        (before ? before[c] : 1) * bsm_constant_number_or(&s->by, c, 1);
    if (!isfinite(by)) return false;
    factor = fmax(factor, fabs(by));
  }
  return bsm_constant_greatest(weights) * factor <= bsm_largest_number(dtype);
}

static bool kernel_stays_finite(const bsm_layer *conv, const scaling *s) {
  const bsm_convolution_params *p = &conv->p.convolution;
  bsm_weights kernel = p->kernel;
  if (p->deferred.cast) kernel.dtype = p->deferred.held;
  return stays_finite(&kernel, p->kernel.dtype, p->deferred.factor, p->out_maps,
                      s);
}

static bool matrix_stays_finite(const bsm_layer *product, const scaling *s) {
  const bsm_dims d = product->outputs.items[0]->dims;
  const bsm_weights *w =
      bsm_constant_of(product->inputs.items[1], BSM_DTYPE_FLOAT);
  return w &&
         stays_finite(w, BSM_DTYPE_FLOAT, product->p.matrix_multiply.factor,
                      d.d[d.rank - 1], s);
}

static bool has_no_epilogue(const bsm_epilogue *e) {
  return e->activation == BSM_ACTIVATION_NONE && !e->has_residual;
}

static bool can_fold_into_kernel(const bsm_layer *conv, const scaling *s) {
  return bsm_constant_is_floating_or_empty(&conv->p.convolution.bias) &&
         has_no_epilogue(&conv->p.convolution.epilogue) &&
         kernel_stays_finite(conv, s);
}

static bool can_fold_into_matrix(const bsm_layer *product, const scaling *s) {
  const bsm_itensor *b = product->inputs.items[1];
  const bsm_layer *from = b->producer;
  return product->inputs.len == 2 && b->dims.rank == 2 && from &&
         from->kind == BSM_LAYER_CONSTANT && b->dtype == BSM_DTYPE_FLOAT &&
         product->p.matrix_multiply.parts <= 1 &&
         bsm_constant_is_floating_or_empty(&product->p.matrix_multiply.bias) &&
         has_no_epilogue(&product->p.matrix_multiply.epilogue) &&
         matrix_stays_finite(product, s);
}

/* The axis of a product's output that has its maps, or columns; -1: it is no
 * product that a scale can go into. */
static int32_t axis_of(const bsm_layer *product) {
  switch (product->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
      return 1;
    case BSM_LAYER_MATRIX_MULTIPLY:
      return product->outputs.items[0]->dims.rank - 1;
    default:
      return -1;
  }
}

/* Whether a constant has one number, or one for each place along an axis of
 * `dims` alone. */
static bool is_along(const bsm_itensor *t, bsm_dims dims, int32_t axis) {
  int64_t count = 1;
  for (int32_t i = 0; i < t->dims.rank; i++) count *= t->dims.d[i];
  const int32_t own = axis - (dims.rank - t->dims.rank);
  return t->dims.rank <= dims.rank &&
         (count == 1 ||
          (own >= 0 && count == dims.d[axis] && t->dims.d[own] == count));
}

/* What the layer does to maps of a product along `axis`; false: something
 * else. */
static bool scaling_of(const bsm_layer *layer, const bsm_itensor *y,
                       int32_t axis, scaling *out) {
  *out = (scaling){{0}, {0}};
  if (layer->kind == BSM_LAYER_SCALE) {
    out->by = layer->p.scale.scale;
    out->shift = layer->p.scale.shift;
    return axis == 1 && layer->p.scale.power.count == 0 &&
           bsm_constant_is_floating_or_empty(&out->by) &&
           bsm_constant_is_floating_or_empty(&out->shift);
  }
  if (layer->kind != BSM_LAYER_ELEMENT_WISE) return false;
  const bsm_element_wise_operation operation = layer->p.element_wise.operation;
  /* Of matrix products: fuse_epilogues. */
  const bool adds = operation == BSM_ELEMENT_WISE_SUM &&
                    y->producer->kind != BSM_LAYER_MATRIX_MULTIPLY;
  if (operation != BSM_ELEMENT_WISE_PROD && !adds) return false;
  const bsm_itensor *other = layer->inputs.items[layer->inputs.items[0] == y];
  const bsm_weights *w = bsm_constant_of(other, BSM_DTYPE_FLOAT);
  /* One number is the scale of a product without a bias: fuse_epilogues. */
  const bsm_layer *product = y->producer;
  if (w && w->count == 1 && product->kind == BSM_LAYER_MATRIX_MULTIPLY &&
      product->p.matrix_multiply.bias.count == 0) {
    return false;
  }
  if (!w || other == y || y->dtype != BSM_DTYPE_FLOAT ||
      !is_along(other, y->dims, axis) ||
      !bsm_dims_equal(layer->outputs.items[0]->dims, y->dims)) {
    return false;
  }
  *(adds ? &out->shift : &out->by) = *w;
  return true;
}

static bool can_fold(const bsm_target *target, const bsm_layer *product,
                     const bsm_layer *layer, scaling *s) {
  const bsm_itensor *y = product->outputs.items[0];
  const int32_t axis = axis_of(product);
  if (axis < 0 || !bsm_dtype_is_floating(y->dtype) ||
      !target->ops->fuses(target, BSM_FUSION_SCALE, y->dtype) ||
      !scaling_of(layer, y, axis, s)) {
    return false;
  }
  return product->kind == BSM_LAYER_MATRIX_MULTIPLY
             ? can_fold_into_matrix(product, s)
             : bsm_dtype_is_floating(product->p.convolution.kernel.dtype) &&
                   can_fold_into_kernel(product, s);
}

/* The factor of the weights is only noted: they are multiplied when they are
 * packed, and plans of other shapes need not do that again. */
static bsm_status fold(bsm_network *net, int64_t maps, const scaling *s,
                       const double **factor, bsm_weights *bias,
                       bsm_dtype dtype) {
  double *factors = BSM_NEW_ARRAY(net->arena, double, (size_t)maps + 1);
  void *values = bsm_arena_alloc_array(net->arena, (size_t)maps + 1,
                                       bsm_dtype_size(dtype), BSM_ALIGNMENT);
  if (!factors || !values) return BSM_FAIL_OOM();
  for (int64_t c = 0; c < maps; c++) {
    const double f = bsm_constant_number_or(&s->by, c, 1);
    const double b = bias->count ? bsm_constant_number(bias, c) : 0.0;
    factors[c] = *factor ? (*factor)[c] * f : f;
    bsm_constant_store(dtype, values, c,
                       b * f + bsm_constant_number_or(&s->shift, c, 0));
  }
  if (*factor || s->by.count) *factor = factors;
  if (bias->count == 0 && s->shift.count == 0) return BSM_OK;
  *bias = (bsm_weights){.dtype = dtype,
                        .values = values,
                        .count = maps,
                        .shape = {1, {maps}},
                        .num_input_maps = 1,
                        .num_output_maps = maps};
  return BSM_OK;
}

static bsm_status fold_into(bsm_network *net, bsm_layer *product,
                            const scaling *s) {
  if (product->kind == BSM_LAYER_MATRIX_MULTIPLY) {
    const bsm_dims d = product->outputs.items[0]->dims;
    return fold(net, d.d[d.rank - 1], s, &product->p.matrix_multiply.factor,
                &product->p.matrix_multiply.bias, BSM_DTYPE_FLOAT);
  }
  bsm_convolution_params *p = &product->p.convolution;
  return fold(net, p->out_maps, s, &p->deferred.factor, &p->bias,
              p->kernel.dtype);
}

bsm_status bsm_pass_fold_scale(const bsm_target *target, bsm_network *net,
                               bsm_arena *scratch) {
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed || (layer->kind != BSM_LAYER_SCALE &&
                           layer->kind != BSM_LAYER_ELEMENT_WISE)) {
      continue;
    }
    for (size_t k = 0; k < layer->inputs.len; k++) {
      bsm_itensor *in = layer->inputs.items[k];
      bsm_layer *product = in->producer;
      scaling s;
      if (!product || bsm_uses_single_reader(&uses, in) != layer ||
          !can_fold(target, product, layer, &s)) {
        continue;
      }
      BSM_TRY(fold_into(net, product, &s));
      BSM_TRY(bsm_uses_absorb(net, scratch, &uses, product, layer));
      break;
    }
  }
  return BSM_OK;
}
