/* SPDX-License-Identifier: Apache-2.0 */
/* Removes layers whose output is their input: identities, casts to the same
 * dtype, expands and shuffles that keep the shape, whole slices, the
 * concatenation of one tensor.
 * Requires nothing. Establishes: none of these is left, except where a network
 * output would become the tensor of a network input (there emission copies). */
#include "aten/tensor.h"
#include "builder/passes.h"
#include "builder/uses.h"

static bool all_equal(bsm_dims dims, int64_t value) {
  for (int32_t i = 0; i < dims.rank; i++) {
    if (dims.d[i] != value) return false;
  }
  return true;
}

static bool is_identity_perm(bsm_dims perm) {
  for (int32_t i = 0; i < perm.rank; i++) {
    if (perm.d[i] != i) return false;
  }
  return true;
}

static bool changes_nothing(const bsm_layer *layer) {
  if (layer->inputs.len == 0 || layer->outputs.len != 1) return false;
  const bsm_itensor *in = layer->inputs.items[0];
  const bsm_itensor *out = layer->outputs.items[0];
  const bool same =
      in->dtype == out->dtype && bsm_dims_equal(in->dims, out->dims);
  switch (layer->kind) {
    case BSM_LAYER_IDENTITY:
      return true;
    case BSM_LAYER_CAST:
    case BSM_LAYER_EXPAND:
      return same;
    case BSM_LAYER_CONCATENATION:
      return layer->inputs.len == 1;
    case BSM_LAYER_SHUFFLE: {
      const bool moves =
          (layer->p.shuffle.has_first &&
           !is_identity_perm(layer->p.shuffle.first_transpose)) ||
          (layer->p.shuffle.has_second &&
           !is_identity_perm(layer->p.shuffle.second_transpose));
      return same && !moves;
    }
    case BSM_LAYER_SLICE:
      return same && all_equal(layer->p.slice.start, 0) &&
             all_equal(layer->p.slice.stride, 1);
    default:
      return false;
  }
}

bsm_status bsm_pass_remove_identities(const bsm_target *target,
                                      bsm_network *net, bsm_arena *scratch) {
  (void)target;
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed || !changes_nothing(layer)) continue;
    layer->removed = true;
    BSM_TRY(bsm_uses_replace(net, scratch, &uses, layer->outputs.items[0],
                             layer->inputs.items[0]));
  }
  return BSM_OK;
}
