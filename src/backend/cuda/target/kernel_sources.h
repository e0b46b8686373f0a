/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of all kernels, which the build puts into the library
 * (cmake/EmbedKernels.cmake). */
#ifndef BSM_BACKEND_CUDA_TARGET_KERNEL_SOURCES_H_
#define BSM_BACKEND_CUDA_TARGET_KERNEL_SOURCES_H_

#include <stddef.h>

typedef struct bsm_kernel_source {
  const char *name; /* "softmax.cu", "device.cuh" */
  const char *text;
} bsm_kernel_source;

/* By name; the last one has none. */
extern const bsm_kernel_source bsm_kernel_sources[];

#endif /* BSM_BACKEND_CUDA_TARGET_KERNEL_SOURCES_H_ */
