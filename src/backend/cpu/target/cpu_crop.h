/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions on a part of their input, which tells how exact their form is in
 * less time and memory than all of it. */
#ifndef BSM_BACKEND_CPU_CROP_H_
#define BSM_BACKEND_CPU_CROP_H_

#include "engine/plan.h"

/* Makes an input and an output for the step, in a workspace of `*bytes`: one
 * sample of all maps, some tiles of each form long in each other dimension, in
 * the same order in memory as the step's own. */
BSM_NODISCARD bsm_status bsm_cpu_crop_convolution(const bsm_plan *plan,
                                                  const bsm_plan_step *step,
                                                  bsm_plan_tensor tensors[2],
                                                  uint64_t *bytes);

#endif /* BSM_BACKEND_CPU_CROP_H_ */
