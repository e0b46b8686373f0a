/* SPDX-License-Identifier: Apache-2.0 */
/* What a symbol is in the worlds: the shapes that inputs are looked at in.
 * worlds/ makes them; this is what memory needs to know of them. */
#ifndef BSM_LOWERING_SPECIALIZE_VALUES_WORLD_SET_H_
#define BSM_LOWERING_SPECIALIZE_VALUES_WORLD_SET_H_

#include "lowering/specialize/values/abstract_value.h"

static inline bool bsm_world_is_possible(const bsm_world_set *set,
                                         size_t world) {
  return (set->possible >> world & 1u) != 0;
}
/* The tensor that a value is in a world; NULL: none, or it is not known. */
const bsm_tensor *bsm_world_tensor(const bsm_ivalue *v, size_t world);
/* The dims of a symbol that is a tensor; -1 where they differ between worlds.
 * Rank -1: not known. */
bsm_dims bsm_world_set_dims(const bsm_world_set *set, const bsm_ivalue *symbol);

#endif /* BSM_LOWERING_SPECIALIZE_VALUES_WORLD_SET_H_ */
