/* SPDX-License-Identifier: Apache-2.0 */
/* From abstract values to values of the residual graph. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_RESIDUAL_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_RESIDUAL_H_

#include "lowering/specialize/memory/memory.h"

/* The implementation of bsm_spec_residual (values/interpreter.h). */
BSM_NODISCARD bsm_status bsm_spec_make_residual(bsm_spec *s,
                                                const bsm_ivalue *value,
                                                const bsm_type *type,
                                                bsm_value **out);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_RESIDUAL_H_ */
