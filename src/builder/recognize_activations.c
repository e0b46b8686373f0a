/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises activations that models spell out:
 *   x * sigmoid(x)                          -> silu(x)
 *   x * hard_sigmoid(x) with 1/6 and 1/2    -> hard swish(x)
 * Requires nothing; a recognised product becomes one activation layer. */
#include <math.h>

#include "builder/passes.h"
#include "builder/uses.h"

/* The gate of `product` whose input is the other factor, or NULL. */
static const bsm_layer *gate_of(const bsm_layer *product, bsm_itensor **x) {
  for (size_t side = 0; side < 2; side++) {
    const bsm_itensor *gate = product->inputs.items[side];
    bsm_itensor *other = product->inputs.items[1 - side];
    const bsm_layer *layer = gate->producer;
    if (layer && layer->kind == BSM_LAYER_ACTIVATION &&
        layer->inputs.items[0] == other) {
      *x = other;
      return layer;
    }
  }
  return NULL;
}

static bsm_activation_type recognized(const bsm_layer *gate) {
  switch (gate->p.activation.type) {
    case BSM_ACTIVATION_SIGMOID:
      return BSM_ACTIVATION_SILU;
    case BSM_ACTIVATION_HARD_SIGMOID:
      return fabs(gate->p.activation.alpha - 1.0 / 6.0) < 1e-9 &&
                     fabs(gate->p.activation.beta - 0.5) < 1e-9
                 ? BSM_ACTIVATION_HARD_SWISH
                 : BSM_ACTIVATION_NONE;
    default:
      return BSM_ACTIVATION_NONE;
  }
}

bsm_status bsm_pass_recognize_activations(bsm_network *net,
                                          bsm_arena *scratch) {
  (void)scratch;
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed || layer->kind != BSM_LAYER_ELEMENT_WISE ||
        layer->p.element_wise.operation != BSM_ELEMENT_WISE_PROD) {
      continue;
    }
    /* In half a product of its own is rounded twice. */
    const bsm_dtype dtype = layer->outputs.items[0]->dtype;
    if (dtype != BSM_DTYPE_FLOAT && dtype != BSM_DTYPE_DOUBLE) continue;
    bsm_itensor *x = NULL;
    const bsm_layer *gate = gate_of(layer, &x);
    const bsm_activation_type type =
        gate ? recognized(gate) : BSM_ACTIVATION_NONE;
    if (type == BSM_ACTIVATION_NONE) continue;
    layer->kind = BSM_LAYER_ACTIVATION;
    layer->inputs.items[0] = x;
    layer->inputs.len = 1;
    layer->p.activation.type = type;
    layer->p.activation.alpha = 0;
    layer->p.activation.beta = 0;
  }
  return BSM_OK;
}
