/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of weights that passes may change. */
#include "quantization/kernels.h"

#include <string.h>

#include "builder/constants.h"

static void multiply(const bsm_kernel *k, const double *factor) {
  for (int64_t o = 0; o < k->outs; o++) {
    const int64_t first = bsm_kernel_first_in(k, o);
    for (int64_t i = first; i < first + k->ins_each; i++) {
      float *taps = bsm_kernel_taps(k, o, i);
      for (int64_t t = 0; t < k->taps; t++) {
        taps[t] = (float)((double)taps[t] * factor[o]);
      }
    }
  }
}

bsm_status bsm_kernel_open(bsm_layer *layer, bsm_kernel *out) {
  bsm_convolution_params *p = &layer->p.convolution;
  const bool turned = layer->kind == BSM_LAYER_DECONVOLUTION;
  const int64_t ins = layer->inputs.items[0]->dims.d[1];
  bsm_kernel k = {.outs = p->out_maps, .groups = p->groups, .turned = turned};
  k.ins_each = ins / p->groups;
  k.outs_each = p->out_maps / p->groups;
  k.taps = p->kernel.count / (p->out_maps * k.ins_each);
  k.values =
      BSM_NEW_ARRAY(layer->net->arena, float, (size_t)p->kernel.count + 1);
  BSM_TRY_ALLOC(k.values);
  memcpy(k.values, p->kernel.values, (size_t)p->kernel.count * sizeof(float));
  if (p->deferred.factor) multiply(&k, p->deferred.factor);
  p->deferred.factor = NULL;
  p->kernel.values = k.values;
  *out = k;
  return BSM_OK;
}

bsm_status bsm_own_bias(bsm_network *net, bsm_weights *bias, int64_t count,
                        float **out) {
  float *values = BSM_NEW_ARRAY(net->arena, float, (size_t)count + 1);
  BSM_TRY_ALLOC(values);
  for (int64_t i = 0; i < count && bias->count; i++) {
    values[i] = (float)bsm_constant_number(bias, i);
  }
  *bias = (bsm_weights){.dtype = BSM_DTYPE_FLOAT,
                        .values = values,
                        .count = count,
                        .shape = {1, {count}},
                        .num_input_maps = 1,
                        .num_output_maps = count};
  *out = values;
  return BSM_OK;
}
