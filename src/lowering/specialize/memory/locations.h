/* SPDX-License-Identifier: Apache-2.0 */
/* Abstract locations: what a residual block may write to though it is older,
 * and the log from which such writes are taken back. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_LOCATIONS_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_LOCATIONS_H_

#include "lowering/specialize/memory/memory.h"

/* The content of a location now. */
bsm_spec_content bsm_spec_content_of(bsm_spec_location location);
/* Puts it back. */
void bsm_spec_content_restore(const bsm_spec_content *content);
/* The type of its values; NULL for a slot, which has any. */
const bsm_type *bsm_spec_location_type(bsm_spec *s, bsm_spec_location location);
/* Gives a location that is not a slot its new value. */
void bsm_spec_location_set(bsm_spec *s, bsm_spec_location location,
                           bsm_value *value);
/* Before a write to a location: so that an enclosing block can take it back. */
BSM_NODISCARD bsm_status bsm_spec_log(bsm_spec *s, bsm_spec_location location);
/* Whether the location was made since that stamp. */
bool bsm_spec_location_is_newer(const bsm_spec *s, bsm_spec_location location,
                                uint64_t stamp);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_LOCATIONS_H_ */
