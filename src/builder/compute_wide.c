/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of half and bfloat16 that compute in another dtype, for a target that
 * has no faster way: a chain of them is cast once before and once behind.
 *
 *   y: half = op2(op1(x: half, w: half))
 * becomes
 *   y: half = cast(op2(op1(cast(x): float, w: float): float): float)
 *
 * Layers that move numbers go with those that made these. Networks with layers
 * that quantize stay as they are: casts would hide these from what they are
 * fused with. */
#include "builder/compute_wide.h"

#include "builder/retype.h"
#include "builder/uses.h"

typedef struct widening {
  const bsm_target *target;
  bsm_retyping retyping;
  bool multiplies[2]; /* products of half, of bfloat16 */
  bool quantizes;
  bool found;
} widening;

static bool is_narrow(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_BFLOAT16;
}

static void find_products(widening *w, const bsm_network *net) {
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    w->quantizes |= layer->kind == BSM_LAYER_QUANTIZE ||
                    layer->kind == BSM_LAYER_DEQUANTIZE;
    if (layer->kind == BSM_LAYER_CONVOLUTION ||
        layer->kind == BSM_LAYER_DECONVOLUTION ||
        layer->kind == BSM_LAYER_MATRIX_MULTIPLY) {
      const bsm_dtype dtype = layer->outputs.items[0]->dtype;
      if (is_narrow(dtype)) w->multiplies[dtype == BSM_DTYPE_BFLOAT16] = true;
    }
  }
}

/* Whether what a layer moves is there in `dtype`. */
static bool moves_wide(const widening *w, const bsm_layer *layer,
                       bsm_dtype dtype) {
  if (!bsm_layer_moves(layer)) return false;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    const bsm_itensor *known =
        t->id < w->retyping.count ? w->retyping.cast[t->id] : NULL;
    if (known && known->dtype == dtype && t->producer &&
        t->producer->kind != BSM_LAYER_CONSTANT) {
      return true;
    }
  }
  return false;
}

static bsm_status widen(widening *w, bsm_layer *layer) {
  const bsm_dtype dtype = layer->outputs.len == 1
                              ? layer->outputs.items[0]->dtype
                              : BSM_DTYPE_UNDEFINED;
  if (layer->removed || !is_narrow(dtype)) {
    return bsm_retyping_keep(&w->retyping, layer);
  }
  const bsm_dtype wide = w->target->ops->wide_dtype(
      w->target, dtype, w->multiplies[dtype == BSM_DTYPE_BFLOAT16]);
  if (wide == dtype || !(bsm_can_retype(layer) || moves_wide(w, layer, wide))) {
    return bsm_retyping_keep(&w->retyping, layer);
  }
  w->found = true;
  return bsm_retype_layer(&w->retyping, layer, wide);
}

static bsm_status widen_all(widening *w, bsm_network *net, bsm_arena *scratch) {
  const size_t count = net->layers.len;
  BSM_TRY(bsm_retyping_start(&w->retyping, net, scratch));
  w->retyping.keeps_wide = true;
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    BSM_TRY_NOTE(widen(w, layer), "in layer %s",
                 layer->name ? layer->name : "?");
  }
  if (!w->found) return BSM_OK;
  BSM_TRY(bsm_retyping_finish(&w->retyping));
  return bsm_network_sweep(net, scratch);
}

bsm_status bsm_compute_wide(const bsm_target *target, bsm_network *net) {
  widening w = {.target = target};
  bsm_arena scratch;
  if (!target->ops->wide_dtype) return BSM_OK;
  find_products(&w, net);
  if (w.quantizes) return BSM_OK;
  bsm_arena_init(&scratch, net->arena->allocator);
  bsm_status status = widen_all(&w, net, &scratch);
  bsm_arena_destroy(&scratch);
  return bsm_status_note(status, "while layers of 16 bits are widened");
}
