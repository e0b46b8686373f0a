/* SPDX-License-Identifier: Apache-2.0 */
/* How great the values of a plan become: what float16 can hold ends soon. */
#ifndef BSM_BACKEND_CPU_GREATEST_H_
#define BSM_BACKEND_CPU_GREATEST_H_

#include "backend/cpu/target/cpu_target.h"

/* The target's greatest_values. */
BSM_NODISCARD bsm_status bsm_cpu_greatest_values(const bsm_target *target,
                                                 bsm_plan *plan, bool *ran,
                                                 double *greatest);

#endif /* BSM_BACKEND_CPU_GREATEST_H_ */
