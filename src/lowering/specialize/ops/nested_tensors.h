/* SPDX-License-Identifier: Apache-2.0 */
/* Nested tensors, as far as nn.TransformerEncoder makes them. */
#ifndef BSM_LOWERING_SPECIALIZE_OPS_NESTED_TENSORS_H_
#define BSM_LOWERING_SPECIALIZE_OPS_NESTED_TENSORS_H_

#include "lowering/specialize/ops/ops.h"

/* An op that makes or takes a nested tensor; *done is false when it does not.
 */
BSM_NODISCARD bsm_status bsm_spec_nested_op(bsm_spec *s,
                                            const bsm_schema *schema,
                                            const bsm_ivalue *args, size_t n,
                                            bsm_ivalue *outs, bool *done);

#endif /* BSM_LOWERING_SPECIALIZE_OPS_NESTED_TENSORS_H_ */
