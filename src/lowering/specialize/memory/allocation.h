/* SPDX-License-Identifier: Apache-2.0 */
/* When containers and objects were made: what is older than a residual block
 * must not be changed in it as if it were its own. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_ALLOCATION_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_ALLOCATION_H_

#include "lowering/specialize/memory/memory.h"

/* Notes a new container or object. */
BSM_NODISCARD bsm_status bsm_spec_note_allocation(bsm_spec *s,
                                                  const bsm_ivalue *container);
/* Whether it was there before the block that began at that stamp. */
bool bsm_spec_was_there(const bsm_spec *s, const bsm_ivalue *container,
                        uint64_t stamp);
/* Whether it was made in the block that began at that stamp. */
bool bsm_spec_was_made_after(const bsm_spec *s, const bsm_ivalue *container,
                             uint64_t stamp);
/* Whether it is older than the innermost residual block. */
bool bsm_spec_is_older(const bsm_spec *s, const bsm_ivalue *container);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_ALLOCATION_H_ */
