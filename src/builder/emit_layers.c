/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the function that emits a kind of layer. */
#include "builder/emit_internal.h"
#include "builder/precision.h"

typedef bsm_status (*emit_fn)(bsm_emitter *e, const bsm_layer *layer);

/* The element-wise kinds are absent, because the pass fuse_element_wise leaves
 * only fused ones. */
static emit_fn function_for(bsm_layer_kind kind) {
  switch (kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
      return bsm_build_convolution;
    case BSM_LAYER_INT8_CONVOLUTION:
      return bsm_build_int8_convolution;
    case BSM_LAYER_POOLING:
      return bsm_build_pooling;
    case BSM_LAYER_RESIZE:
      return bsm_build_resize;
    case BSM_LAYER_SAMPLE:
      return bsm_build_sample;
    case BSM_LAYER_MATRIX_MULTIPLY:
      return bsm_build_matrix_multiply;
    case BSM_LAYER_FUSED_ELEMENT_WISE:
      return bsm_build_element_wise;
    case BSM_LAYER_SOFTMAX:
      return bsm_build_softmax;
    case BSM_LAYER_NORMALIZATION:
      return bsm_build_normalization;
    case BSM_LAYER_REDUCE:
      return bsm_build_reduce;
    case BSM_LAYER_TOP_K:
      return bsm_build_top_k;
    case BSM_LAYER_SCAN:
      return bsm_build_scan;
    case BSM_LAYER_NON_ZERO:
      return bsm_build_non_zero;
    case BSM_LAYER_REGIONS:
      return bsm_build_regions;
    case BSM_LAYER_NMS:
      return bsm_build_nms;
    case BSM_LAYER_GATHER:
      return bsm_build_gather;
    case BSM_LAYER_SCATTER:
      return bsm_build_scatter;
    case BSM_LAYER_SHUFFLE:
      return bsm_build_shuffle;
    case BSM_LAYER_SLICE:
      return bsm_build_slice;
    case BSM_LAYER_CONCATENATION:
      return bsm_build_concatenation;
    case BSM_LAYER_EXPAND:
      return bsm_build_expand;
    case BSM_LAYER_IDENTITY:
      return bsm_build_identity;
    case BSM_LAYER_PLUGIN:
      return bsm_build_plugin;
    case BSM_LAYER_ATTENTION:
      return bsm_build_attention;
    case BSM_LAYER_RECURRENT:
      return bsm_build_recurrent;
    case BSM_LAYER_CONSTANT:
      return bsm_build_constant_layer;
    case BSM_LAYER_SHAPE:
      return bsm_build_shape;
    case BSM_LAYER_ATEN_CALL:
      return bsm_build_aten_call;
    default:
      return NULL;
  }
}

bsm_status bsm_build_layer(bsm_emitter *e, const bsm_layer *layer) {
  if (layer->kind == BSM_LAYER_CONVOLUTION && layer->p.convolution.joins_next) {
    return BSM_OK; /* it is part of a later step */
  }
  BSM_TRY_NOTE(bsm_build_place(e, layer), "in layer %s",
               layer->name ? layer->name : "?");
  const emit_fn emit = function_for(layer->kind);
  if (!emit) {
    return BSM_FAIL(BSM_INTERNAL, "no steps for a layer of kind %s",
                    bsm_layer_kind_name(layer->kind));
  }
  e->precision = bsm_layer_precision(e->target, layer);
  BSM_TRY_NOTE(emit(e, layer), "in layer %s", layer->name ? layer->name : "?");
  e->precision = BSM_PRECISION_NONE;
  for (size_t i = 0; i < layer->outputs.len; i++) {
    if (e->value[layer->outputs.items[i]->id] == BSM_NO_TENSOR) {
      return BSM_FAIL(BSM_INTERNAL, "layer %s left an output without a tensor",
                      layer->name ? layer->name : "?");
    }
  }
  return BSM_OK;
}
