/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds: an input whose dims range is looked at in several shapes at once -
 * the optimal, the smallest, the largest, others that differ in how dims
 * compare, and samples. What is the same in all of them is taken as known, and
 * checked when the engine runs. */
#ifndef BSM_LOWERING_SPECIALIZE_WORLDS_WORLDS_H_
#define BSM_LOWERING_SPECIALIZE_WORLDS_WORLDS_H_

#include "lowering/specialize/values/world_set.h"

#define BSM_FIRST_WORLDS 8
#define BSM_MAX_WORLDS 64
/* How the message begins when a check fails. */
#define BSM_WORLD_CHECK \
  "the inputs have shapes that the engine was not built for"
/* Tensors of more elements are looked at without data. */
#define BSM_WORLD_DATA 65536

/* Further shapes to look at, by number from BSM_FIRST_WORLDS on. */
typedef struct bsm_world_samples {
  uint32_t shapes[BSM_MAX_WORLDS - BSM_FIRST_WORLDS];
  size_t count;
} bsm_world_samples;

#endif /* BSM_LOWERING_SPECIALIZE_WORLDS_WORLDS_H_ */
