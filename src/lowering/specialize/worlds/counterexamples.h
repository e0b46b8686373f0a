/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for shapes that the worlds do not stand for. */
#ifndef BSM_LOWERING_SPECIALIZE_WORLDS_COUNTEREXAMPLES_H_
#define BSM_LOWERING_SPECIALIZE_WORLDS_COUNTEREXAMPLES_H_

#include "lowering/specialize/worlds/worlds.h"

/* Shapes for which a check of the specialised graph fails, to be among the
 * worlds of the next time: adds them to `samples`. *found: there were any. What
 * is told of the results' dims is made to hold for all that were tried. */
BSM_NODISCARD bsm_status bsm_find_counterexamples(bsm_lowered *lowered,
                                                  const bsm_aten_library *aten,
                                                  bsm_world_samples *samples,
                                                  bool *found);

#endif /* BSM_LOWERING_SPECIALIZE_WORLDS_COUNTEREXAMPLES_H_ */
