/* SPDX-License-Identifier: Apache-2.0 */
/* Writing ops down in the residual graph. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_EMIT_OP_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_EMIT_OP_H_

#include "lowering/specialize/memory/memory.h"

/* Emits a node of the schema for new tensors and symbols. `outs` holds tensors
 * with their shapes (they become bases of their storages), or None where the
 * result is not known: such are replaced by symbols. */
BSM_NODISCARD bsm_status bsm_spec_emit(bsm_spec *s, const bsm_schema *schema,
                                       const bsm_ivalue *args, size_t n,
                                       bsm_ivalue *outs, size_t n_outs);
/* The residual value of an argument of an op. Where containers have identity,
 * one is made for this use, unless the op may keep it. */
BSM_NODISCARD bsm_status bsm_spec_argument(bsm_spec *s, const bsm_ivalue *value,
                                           const bsm_type *type,
                                           bsm_value **out);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_EMIT_OP_H_ */
