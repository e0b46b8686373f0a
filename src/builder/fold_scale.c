/* SPDX-License-Identifier: Apache-2.0 */
/* Folds scale layers (batch norm, as converters make it) into the convolution
 * or deconvolution before them: w' = w * scale, b' = b * scale + shift, in
 * double, rounded once (w' when it is packed: bsm_deferred).
 * Requires: only the scale reads the convolution's output, the target fuses in
 * its dtype, and it has no epilogue yet. */
#include <math.h>

#include "builder/constants.h"
#include "builder/passes.h"
#include "builder/uses.h"

/* The scale layer's value for a channel; `fallback` when absent. */
static double per_channel(const bsm_weights *w, int64_t channel,
                          double fallback) {
  if (w->count == 0) return fallback;
  return bsm_constant_number(w, w->count == 1 ? 0 : channel);
}

static bool is_number_or_empty(const bsm_weights *w) {
  return w->count == 0 || bsm_dtype_is_floating(w->dtype);
}

#define LARGEST_HALF 65504.0

/* Whether the kernel times its factors stays finite: of half it may not. */
static bool stays_finite(const bsm_layer *conv, const bsm_layer *scale) {
  const bsm_convolution_params *p = &conv->p.convolution;
  bsm_weights kernel = p->kernel;
  double largest = 0, factor = 0;
  if (kernel.dtype != BSM_DTYPE_HALF) return true;
  if (p->deferred.cast) kernel.dtype = p->deferred.held;
  for (int64_t i = 0; i < kernel.count; i++) {
    largest = fmax(largest, fabs(bsm_constant_number(&kernel, i)));
  }
  for (int64_t c = 0; c < p->out_maps; c++) {
    const double before = p->deferred.factor ? p->deferred.factor[c] : 1;
    const double by = per_channel(&scale->p.scale.scale, c, 1);
    factor = fmax(factor, fabs(before * by));
  }
  return largest * factor <= LARGEST_HALF;
}

static bool can_fold(const bsm_target *target, const bsm_layer *conv,
                     const bsm_layer *scale) {
  const bsm_dtype dtype = conv->p.convolution.kernel.dtype;
  return (conv->kind == BSM_LAYER_CONVOLUTION ||
          conv->kind == BSM_LAYER_DECONVOLUTION) &&
         bsm_dtype_is_floating(dtype) &&
         target->ops->fuses(target, BSM_FUSION_SCALE, dtype) &&
         is_number_or_empty(&conv->p.convolution.bias) &&
         conv->p.convolution.epilogue.activation == BSM_ACTIVATION_NONE &&
         !conv->p.convolution.epilogue.has_residual &&
         scale->p.scale.power.count == 0 &&
         is_number_or_empty(&scale->p.scale.scale) &&
         is_number_or_empty(&scale->p.scale.shift) && stays_finite(conv, scale);
}

/* The factor of the kernel is only noted. The kernel is multiplied when it is
 * packed, and plans of other shapes need not do that again. */
static bsm_status fold(bsm_network *net, bsm_layer *conv,
                       const bsm_layer *scale) {
  bsm_convolution_params *p = &conv->p.convolution;
  const bsm_weights *by = &scale->p.scale.scale;
  const bsm_weights *shift = &scale->p.scale.shift;
  const double *before = p->deferred.factor;
  const size_t maps = (size_t)p->out_maps;
  const bsm_dtype dtype = p->kernel.dtype;
  double *factor = BSM_NEW_ARRAY(net->arena, double, maps + 1);
  void *bias = bsm_arena_alloc_array(net->arena, maps + 1,
                                     bsm_dtype_size(dtype), BSM_ALIGNMENT);
  if (!factor || !bias) return BSM_FAIL_OOM();
  for (int64_t c = 0; c < p->out_maps; c++) {
    const double f = per_channel(by, c, 1);
    const double b = p->bias.count ? bsm_constant_number(&p->bias, c) : 0.0;
    factor[c] = before ? before[c] * f : f;
    bsm_constant_store(dtype, bias, c, b * f + per_channel(shift, c, 0));
  }
  p->deferred.factor = factor;
  p->bias = (bsm_weights){.dtype = dtype,
                          .values = bias,
                          .count = p->out_maps,
                          .shape = {1, {p->out_maps}},
                          .num_input_maps = 1,
                          .num_output_maps = p->out_maps};
  return BSM_OK;
}

bsm_status bsm_pass_fold_scale(const bsm_target *target, bsm_network *net,
                               bsm_arena *scratch) {
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *scale = net->layers.items[i];
    if (scale->removed || scale->kind != BSM_LAYER_SCALE) continue;
    bsm_itensor *in = scale->inputs.items[0];
    bsm_layer *conv = in->producer;
    if (!conv || bsm_uses_single_reader(&uses, in) != scale ||
        !can_fold(target, conv, scale)) {
      continue;
    }
    BSM_TRY(fold(net, conv, scale));
    BSM_TRY(bsm_uses_absorb(net, scratch, &uses, conv, scale));
  }
  return BSM_OK;
}
