/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the module as the specialiser sees them. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_SHADOW_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_SHADOW_H_

#include "lowering/specialize/memory/memory.h"

/* Our version of a value of the module: a copy, made on first sight. `name` for
 * a tensor's residual value (may be NULL). */
BSM_NODISCARD bsm_status bsm_spec_shadow(bsm_spec *s, bsm_ivalue value,
                                         const char *name, bsm_ivalue *out);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_SHADOW_H_ */
