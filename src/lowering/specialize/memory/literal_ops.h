/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on tensors that have identity (values/literal_policy.h). */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_LITERAL_OPS_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_LITERAL_OPS_H_

#include "lowering/specialize/memory/memory.h"

/* After a run for shapes: writes the op down if it makes tensors. */
BSM_NODISCARD bsm_status bsm_spec_literal_emit(bsm_spec *s,
                                               const bsm_schema *schema,
                                               const bsm_ivalue *args, size_t n,
                                               bsm_ivalue *outs, size_t n_outs);
/* Notes for segments, which give contiguous tensors, that PyTorch's may not be:
 * the output of a node, made from `args`, that `t` stands for. */
BSM_NODISCARD bsm_status bsm_spec_literal_strides(bsm_spec *s, bsm_tensor *t,
                                                  const bsm_ivalue *args,
                                                  size_t n);
/* An op that writes to the tensor `which`. */
BSM_NODISCARD bsm_status bsm_spec_literal_write(
    bsm_spec *s, const bsm_schema *schema, const bsm_ivalue *args, size_t n,
    size_t which, bsm_ivalue *outs, size_t n_outs);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_LITERAL_OPS_H_ */
