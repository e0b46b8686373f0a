/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic containers: lists and dicts whose items only the run will tell. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_DYNAMIC_CONTAINERS_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_DYNAMIC_CONTAINERS_H_

#include "lowering/specialize/memory/memory.h"

/* A new, empty container of that type, whose items are in `value`. */
BSM_NODISCARD bsm_status bsm_spec_dynamic_new(bsm_spec *s, const bsm_type *type,
                                              bsm_value *value,
                                              bsm_ivalue *out);
/* The container becomes dynamic. When it is older than the innermost residual
 * block, fails and asks the block around it to (bsm_spec_retry_dynamic). */
BSM_NODISCARD bsm_status bsm_spec_make_dynamic(bsm_spec *s,
                                               const bsm_ivalue *container);
/* Whether the failure only asks for a dynamic container that can be made here:
 * makes it, frees *status and answers true: try again. */
bool bsm_spec_retry_dynamic(bsm_spec *s, bsm_status *status);
/* Gives a dynamic container a new value. */
BSM_NODISCARD bsm_status bsm_spec_dynamic_set(bsm_spec *s,
                                              bsm_dynamic_container *dynamic,
                                              bsm_value *value);
/* Whether a container that is not dynamic may be written to here: when it is
 * not, asks for it to become one. */
BSM_NODISCARD bsm_status bsm_spec_check_write(bsm_spec *s,
                                              const bsm_ivalue *container);
/* A list of `len` symbols, the items of a residual list of that length.
 * `aliased`: they are views of something. */
BSM_NODISCARD bsm_status bsm_spec_unpack(bsm_spec *s, bsm_value *value,
                                         const bsm_type *item, size_t len,
                                         bool aliased, bsm_ivalue *out);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_DYNAMIC_CONTAINERS_H_ */
