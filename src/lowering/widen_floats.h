/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a lowered graph compute in float64 what it computes in narrower floating
 * point, as a reference of its roundings. Inputs and outputs of the graph keep
 * their dtypes, between casts; constants become float64, and so do dtypes among
 * arguments. What an op refuses to compute in float64 it computes as before,
 * between casts. Values keep their names. */
#ifndef BSM_LOWERING_WIDEN_FLOATS_H_
#define BSM_LOWERING_WIDEN_FLOATS_H_

#include "lowering/node_emitter.h"

BSM_NODISCARD bsm_status bsm_widen_floats(bsm_graph *graph,
                                          const bsm_aten_library *aten);

#endif /* BSM_LOWERING_WIDEN_FLOATS_H_ */
