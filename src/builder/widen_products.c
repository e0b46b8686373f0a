/* SPDX-License-Identifier: Apache-2.0 */
/* Gives convolutions and matrix multiplies a dtype that the target multiplies
 * in, where it does not multiply in their own. For half this is float:
 *
 *   y: half = op(x: half, w: half)
 * becomes
 *   y: half = cast(op(cast(x): float, w: float): float)
 *
 * The weights are converted too, so an engine has them as floats. Runs before
 * fusion, which would otherwise skip the rounding of the result. */
#include "builder/passes.h"
#include "builder/retype.h"

static bool is_product(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_CONVOLUTION ||
         layer->kind == BSM_LAYER_DECONVOLUTION ||
         layer->kind == BSM_LAYER_MATRIX_MULTIPLY;
}

bsm_status bsm_pass_widen_products(const bsm_target *target, bsm_network *net,
                                   bsm_arena *scratch) {
  const size_t layers = net->layers.len;
  bsm_retyping w;
  bool found = false;
  BSM_TRY(bsm_retyping_start(&w, net, scratch));
  for (size_t i = 0; i < layers; i++) {
    bsm_layer *layer = net->layers.items[i];
    const bsm_dtype dtype = layer->outputs.items[0]->dtype;
    const bool widens = !layer->removed && is_product(layer);
    const bsm_dtype wide =
        widens ? target->ops->compute_dtype(target, layer, dtype) : dtype;
    if (wide != dtype) {
      found = true;
      BSM_TRY_NOTE(bsm_retype_layer(&w, layer, wide), "in layer %s",
                   layer->name ? layer->name : "?");
    } else {
      BSM_TRY(bsm_retyping_keep(&w, layer));
    }
  }
  return found ? bsm_retyping_finish(&w) : BSM_OK;
}
