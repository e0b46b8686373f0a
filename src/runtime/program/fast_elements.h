/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a program beside products and convolutions that kernels take:
 * element-wise ops, normalisations, softmax, pooling and attention, all of
 * floats. As bsm_fast_call, which asks here for what it does not know. */
#ifndef BSM_RUNTIME_PROGRAM_FAST_ELEMENTS_H_
#define BSM_RUNTIME_PROGRAM_FAST_ELEMENTS_H_

#include "runtime/program/fast_call.h"

bool bsm_fast_elements_knows(const char *op);

BSM_NODISCARD bsm_status bsm_fast_elements_call(bsm_fast_calls *calls,
                                                const char *op,
                                                const bsm_ivalue *args,
                                                size_t n, bsm_arena *arena,
                                                bsm_ivalue *out, bool *done);

#endif /* BSM_RUNTIME_PROGRAM_FAST_ELEMENTS_H_ */
