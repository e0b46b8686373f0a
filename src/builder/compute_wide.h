/* SPDX-License-Identifier: Apache-2.0 */
/* Models of half and bfloat16 in the dtype that a target computes these in. */
#ifndef BSM_BUILDER_COMPUTE_WIDE_H_
#define BSM_BUILDER_COMPUTE_WIDE_H_

#include "builder/target.h"

/* Lets layers of half and bfloat16 compute and leave results in the target's
 * wide_dtype. What the network's inputs and outputs, its casts and its layers
 * with other results have is as before. */
BSM_NODISCARD bsm_status bsm_compute_wide(const bsm_target *target,
                                          bsm_network *net);

#endif /* BSM_BUILDER_COMPUTE_WIDE_H_ */
