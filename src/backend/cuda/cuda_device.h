/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA GPUs as a device (backend/device.h). Nothing of CUDA is linked: the
 * driver is opened with the first device. */
#ifndef BSM_BACKEND_CUDA_DEVICE_H_
#define BSM_BACKEND_CUDA_DEVICE_H_

#include "backend/device.h"

/* The least compute capability: Turing. */
#define BSM_CUDA_MIN_SM 75

extern const bsm_device_ops bsm_cuda_device_ops;

/* The compute capability of a GPU of this machine, 90 for 9.0; errors as open
 * of the device. */
BSM_NODISCARD bsm_status bsm_cuda_find_sm(int32_t index, int *sm);

#endif /* BSM_BACKEND_CUDA_DEVICE_H_ */
