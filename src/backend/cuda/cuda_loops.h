/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of kernels over strided tensors, as few as strides allow. */
#ifndef BSM_BACKEND_CUDA_LOOPS_H_
#define BSM_BACKEND_CUDA_LOOPS_H_

#include "backend/cuda/cuda_launch.h"
#include "backend/cuda/kernels/params.h"

/* Fills in all but the addresses: `tensors[0]` gives the dims, to which the
 * others broadcast. Returns how many loops there are, 1 at least. */
int bsm_cuda_loops_init(bsm_cuda_elements *e,
                        const bsm_plan_tensor *const *tensors, int operands);
/* "u32" when no offset of any operand needs more, else "i64". */
const char *bsm_cuda_index_type(const bsm_cuda_elements *e, int operands,
                                int loops);

#endif /* BSM_BACKEND_CUDA_LOOPS_H_ */
