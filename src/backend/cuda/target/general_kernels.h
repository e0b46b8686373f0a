/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for all of a kind (BSM_CUDA_FOR_KIND). They are the same whatever
 * the model is: with them, any step that GPUs take finds its kernels. */
#ifndef BSM_BACKEND_CUDA_TARGET_GENERAL_KERNELS_H_
#define BSM_BACKEND_CUDA_TARGET_GENERAL_KERNELS_H_

#include "backend/cuda/cuda_launch.h"

/* Calls `add` with each of them until it fails. Their strings are in `arena`.
 */
BSM_NODISCARD bsm_status bsm_cuda_each_general_kernel(
    bsm_arena *arena,
    bsm_status (*add)(void *user, const bsm_cuda_kernel *kernel), void *user);

#endif /* BSM_BACKEND_CUDA_TARGET_GENERAL_KERNELS_H_ */
