/* SPDX-License-Identifier: Apache-2.0 */
/* The residual values of tensors. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_TENSOR_VALUES_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_TENSOR_VALUES_H_

#include "lowering/specialize/memory/memory.h"

/* The residual value of a tensor now: a constant, or the replayed views. */
BSM_NODISCARD bsm_status bsm_spec_tensor_value(bsm_spec *s, bsm_tensor *t,
                                               bsm_value **out);
/* The failure of what would need the value of a quantized tensor. */
BSM_NODISCARD bsm_status bsm_spec_refuse_quantized(void);
/* Before a write with unknown data: a storage with data becomes meta, its base
 * a constant. */
BSM_NODISCARD bsm_status bsm_spec_materialize(bsm_spec *s, bsm_tensor *t);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_TENSOR_VALUES_H_ */
