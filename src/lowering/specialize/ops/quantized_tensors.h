/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on quantized tensors: run by their forms (quantized/quantized_form.h), so
 * that only their integers and floats get into the residual graph. */
#ifndef BSM_LOWERING_SPECIALIZE_OPS_QUANTIZED_TENSORS_H_
#define BSM_LOWERING_SPECIALIZE_OPS_QUANTIZED_TENSORS_H_

#include "lowering/specialize/ops/ops.h"

/* An op that makes or takes a quantized tensor or packed parameters; *done is
 * false when it does not. */
BSM_NODISCARD bsm_status bsm_spec_quantized_op(bsm_spec *s,
                                               const bsm_schema *schema,
                                               const bsm_ivalue *args, size_t n,
                                               bsm_ivalue *outs, size_t n_outs,
                                               bool *done);

#endif /* BSM_LOWERING_SPECIALIZE_OPS_QUANTIZED_TENSORS_H_ */
