/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that write to a list or dict whose items only the run will tell. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_CONTAINER_WRITES_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_CONTAINER_WRITES_H_

#include "lowering/specialize/memory/memory.h"

/* An op that writes to its argument `which`, a dynamic container or an
 * unaliased symbol. The container gets a copy of its value, written to;
 * literally, the op writes to the container of the run. */
BSM_NODISCARD bsm_status bsm_spec_dynamic_write(
    bsm_spec *s, const bsm_schema *schema, const bsm_ivalue *args, size_t n,
    size_t which, bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_CONTAINER_WRITES_H_ */
