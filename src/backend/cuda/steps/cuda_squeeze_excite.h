/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that squeeze and excite, one behind the other: the mean of all pixels,
 * a pointwise convolution of it, another one back to as many maps, and the
 * image times that. One kernel does all of them (kernels/squeeze_excite.cu):
 * the first step launches it, the others nothing. The memory of all of them is
 * as it would be otherwise. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_SQUEEZE_EXCITE_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_SQUEEZE_EXCITE_H_

#include "backend/cuda/cuda_launch.h"

/* The steps of plan from `index` on that one kernel does; 0: there is none. */
uint32_t bsm_cuda_squeeze_excite_steps(const bsm_plan *plan, uint32_t index,
                                       int sm);
/* Adds the launch of the steps that begin with that of `l`. */
BSM_NODISCARD bsm_status bsm_cuda_launch_squeeze_excite(bsm_cuda_launches *l,
                                                        uint32_t index);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_SQUEEZE_EXCITE_H_ */
