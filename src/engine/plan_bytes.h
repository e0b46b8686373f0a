/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a plan as bytes: what an engine file holds besides the
 * header and the weights. Weights are named by offset and size into the file's
 * weights section. */
#ifndef BSM_ENGINE_PLAN_BYTES_H_
#define BSM_ENGINE_PLAN_BYTES_H_

#include "engine/plan.h"

/* `offsets[i]`: where weights i begin in the weights section. */
BSM_NODISCARD bsm_status bsm_plan_to_bytes(const bsm_plan *plan,
                                           const uint64_t *offsets,
                                           bsm_arena *arena, bsm_str *out);

/* Weights point into `weights`, which holds `weights_size` bytes. */
BSM_NODISCARD bsm_status bsm_plan_from_bytes(bsm_str bytes,
                                             const uint8_t *weights,
                                             uint64_t weights_size,
                                             bsm_arena *arena, bsm_plan **out);

#endif /* BSM_ENGINE_PLAN_BYTES_H_ */
