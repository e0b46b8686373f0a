/* SPDX-License-Identifier: Apache-2.0 */
/* What a symbol is in the worlds. */
#include "lowering/specialize/values/world_set.h"

#include "lowering/specialize/values/abstract_value.h"

bsm_dims bsm_world_set_dims(const bsm_world_set *set,
                            const bsm_ivalue *symbol) {
  const bsm_ivalue *worlds = bsm_spec_symbol_of(symbol)->worlds;
  const bsm_dims unknown = {.rank = -1};
  bsm_dims dims = unknown;
  bool first = true;
  for (size_t w = 0; worlds && w < set->count; w++) {
    if (!bsm_world_is_possible(set, w)) continue;
    if (worlds[w].tag != BSM_IVALUE_TENSOR) return unknown;
    const bsm_dims own = worlds[w].u.tensor->sizes;
    if (first) dims = own;
    first = false;
    if (own.rank != dims.rank) return unknown;
    for (int32_t i = 0; i < own.rank; i++) {
      if (own.d[i] != dims.d[i]) dims.d[i] = -1;
    }
  }
  return dims;
}

const bsm_tensor *bsm_world_tensor(const bsm_ivalue *v, size_t world) {
  if (bsm_spec_is_symbol(v)) {
    const bsm_ivalue *worlds = bsm_spec_symbol_of(v)->worlds;
    v = worlds ? &worlds[world] : NULL;
  }
  return v && v->tag == BSM_IVALUE_TENSOR ? v->u.tensor : NULL;
}
