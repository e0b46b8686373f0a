/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of tensors, by which kernels of sm_90 and later copy tiles. Only the
 * driver knows what is in one. It contains the address, so it is written each
 * time that a kernel is launched; a graph keeps it with the parameters. */
#ifndef BSM_BACKEND_CUDA_MAP_H_
#define BSM_BACKEND_CUDA_MAP_H_

#include "backend/cuda/cuda_driver.h"
#include "backend/cuda/cuda_launch.h"

/* Writes how a kernel copies tiles into its parameters, which have the address
 * already. */
BSM_NODISCARD bsm_status bsm_cuda_write_map(const bsm_cuda_driver *driver,
                                            const bsm_cuda_tiles *tiles,
                                            uint8_t *params);

#endif /* BSM_BACKEND_CUDA_MAP_H_ */
