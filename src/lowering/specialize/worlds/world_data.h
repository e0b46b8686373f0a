/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of ops for the worlds, which know data where it is small. */
#ifndef BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_DATA_H_
#define BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_DATA_H_

#include "lowering/specialize/worlds/worlds.h"

/* Takes the data from a value that has much of it. */
BSM_NODISCARD bsm_status bsm_world_drop_large_data(bsm_arena *arena,
                                                   bsm_ivalue *v);
/* Calls an op as bsm_aten_call does; large tensors come without data. */
BSM_NODISCARD bsm_status bsm_world_call(bsm_op_ctx *cx, const bsm_aten_op *op,
                                        const bsm_ivalue *args, size_t n,
                                        bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_WORLDS_WORLD_DATA_H_ */
