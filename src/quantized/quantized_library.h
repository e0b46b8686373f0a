/* SPDX-License-Identifier: Apache-2.0 */
/* The forms as operators of a reference library. Only the compiler has them:
 * engines have no quantized tensors. */
#ifndef BSM_QUANTIZED_QUANTIZED_LIBRARY_H_
#define BSM_QUANTIZED_QUANTIZED_LIBRARY_H_

#include "aten/op.h"

/* Adds the ops of the namespace quantized, and makes ops such as aten::relu
 * take quantized tensors too. */
BSM_NODISCARD bsm_status bsm_quantized_add_ops(bsm_arena *arena,
                                               bsm_aten_library *library);

#endif /* BSM_QUANTIZED_QUANTIZED_LIBRARY_H_ */
