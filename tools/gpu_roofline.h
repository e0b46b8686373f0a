/* SPDX-License-Identifier: Apache-2.0 */
/* What GPUs can do at most, by their data sheets. */
#ifndef BSM_TOOLS_GPU_ROOFLINE_H_
#define BSM_TOOLS_GPU_ROOFLINE_H_

#include "bessemer/types.h"

typedef struct bsm_gpu_roofline {
  int sm;           /* compute capability: 90 for 9.0 */
  const char *name; /* the GPU that it is said of */
  /* 1e12 operations in a second: of half and bfloat16, tf32, float. */
  double narrow, tf32, fp32;
  double gigabytes; /* that memory gives in a second, 1e9 bytes each */
} bsm_gpu_roofline;

/* That of a target, "cuda:sm_90a,...", or of the greatest GPU before it that is
 * known; NULL: it is no GPU. */
const bsm_gpu_roofline *bsm_gpu_roofline_of(const char *target);

/* The least seconds that a step takes which finds its data in memory. */
double bsm_gpu_least_seconds(const bsm_gpu_roofline *roofline,
                             bsm_precision precision, double flops,
                             double bytes);

#endif /* BSM_TOOLS_GPU_ROOFLINE_H_ */
