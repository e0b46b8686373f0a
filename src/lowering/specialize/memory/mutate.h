/* SPDX-License-Identifier: Apache-2.0 */
/* In-place ops on tensors: functionalization. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_MUTATE_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_MUTATE_H_

#include "lowering/specialize/memory/memory.h"

/* The new content of what the op writes to: the op without its write.
 * BSM_UNSUPPORTED: there is no functional form. */
BSM_NODISCARD bsm_status bsm_spec_functional(bsm_spec *s,
                                             const bsm_schema *schema,
                                             const bsm_ivalue *args,
                                             bsm_ivalue *out);
/* Whether the op may write a result of this dtype and shape to `self`. */
BSM_NODISCARD bsm_status bsm_spec_check_content(const bsm_tensor *self,
                                                const bsm_tensor *content);
/* An op that writes to a tensor, on values that are not all known. */
BSM_NODISCARD bsm_status bsm_spec_mutate(bsm_spec *s, const bsm_schema *schema,
                                         bsm_ivalue *args, size_t n,
                                         bsm_ivalue *outs, size_t n_outs);
/* unsqueeze_, t_, ...: the tensor's own geometry changes. *done is false when
 * the schema is none of them. */
BSM_NODISCARD bsm_status bsm_spec_reshape_in_place(bsm_spec *s,
                                                   const bsm_schema *schema,
                                                   bsm_ivalue *args, size_t n,
                                                   bsm_ivalue *outs,
                                                   bool *done);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_MUTATE_H_ */
