/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are read from tensors while the engine runs, as tensors of rank
 * 0: an engine has no other values. */
#ifndef BSM_LOWERING_SCALAR_TENSOR_H_
#define BSM_LOWERING_SCALAR_TENSOR_H_

#include "lowering/node_emitter.h"

/* Makes a tensor of rank 0 with the value of a scalar. For item() it is the
 * tensor that was read; conversions become casts; comparisons and arithmetic
 * become those of tensors. A float read from a float32 tensor stays float32,
 * while PyTorch continues in double. *out is NULL when the scalar is made by
 * anything else. */
BSM_NODISCARD bsm_status bsm_scalar_tensor(const bsm_node_emitter *e,
                                           bsm_value *scalar, bsm_value **out);

#endif /* BSM_LOWERING_SCALAR_TENSOR_H_ */
