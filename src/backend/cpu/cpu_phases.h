/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions as ordinary ones. The outputs whose coordinates agree
 * modulo the stride, a *phase*, read the same taps of the kernel, which are
 * evenly apart, each from one input pixel: a convolution with a stride of 1,
 * whose taps are those from the last one back. */
#ifndef BSM_BACKEND_CPU_PHASES_H_
#define BSM_BACKEND_CPU_PHASES_H_

#include "backend/cpu/cpu_step.h"

/* The strides are at most this together: phases are enumerated. */
#define BSM_CPU_MAX_PHASES 4096

BSM_NODISCARD bsm_status bsm_cpu_check_phases(const bsm_step_convolution *p);

static inline int64_t bsm_cpu_phase_count(const bsm_step_convolution *p) {
  return p->window.stride[0] * p->window.stride[1] * p->window.stride[2];
}

/* Kernels of half and bfloat16 are packed phase by phase, with a tap of zeros
 * for a phase that has none: that pays for windows of `dims` dimensions that
 * have no more phases than taps. */
static inline bool bsm_cpu_packing_phases_pays(const int64_t *kernel,
                                               const int64_t *stride,
                                               int32_t dims) {
  double taps = 1, phases = 1;
  for (int32_t d = 0; d < dims; d++) {
    taps *= (double)kernel[d];
    phases *= (double)stride[d];
  }
  return phases <= taps;
}

typedef struct bsm_cpu_phase {
  bsm_plan_step step; /* the convolution, without paddings, and no more */
  bsm_step_params params;
  /* Output o is of the phase where, with the padding before it, it leaves this
   * when it is divided by the stride: phases do not depend on paddings. */
  int64_t rest[3];
  /* In each dimension the last of its taps, from which others are `apart`; -1:
   * there is none, and a tap of zeros stands in. */
  int64_t last[3], apart[3];
} bsm_cpu_phase;

/* Number `index`, in the order in which they are packed. */
void bsm_cpu_phase_of(const bsm_step_convolution *p, int64_t index,
                      bsm_cpu_phase *out);

#endif /* BSM_BACKEND_CPU_PHASES_H_ */
