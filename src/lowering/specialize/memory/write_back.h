/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to tensors: a view's new value goes back into its parent, up to the
 * base of the storage. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_WRITE_BACK_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_WRITE_BACK_H_

#include "lowering/specialize/memory/memory.h"

/* The tensor's new value is `value`: rewrites its base. BSM_UNSUPPORTED: other
 * tensors may share its memory in ways that are not followed. */
BSM_NODISCARD bsm_status bsm_spec_write(bsm_spec *s, bsm_tensor *t,
                                        bsm_value *value);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_WRITE_BACK_H_ */
