/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes that inputs have in the worlds. */
#ifndef BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_SHAPES_H_
#define BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_SHAPES_H_

#include "lowering/specialize/worlds/worlds.h"

/* The dims of an input in shape number `shape`: BSM_FIRST_WORLDS of them are
 * chosen with care, all others are samples. */
int64_t bsm_world_size(const bsm_lowering_range *range, int32_t dim,
                       uint32_t shape);
bsm_dims bsm_world_dims(const bsm_lowering_range *range, uint32_t shape);
/* Whether dims that range alike have the same size in it. */
bool bsm_is_even_shape(uint32_t shape);

#endif /* BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_SHAPES_H_ */
