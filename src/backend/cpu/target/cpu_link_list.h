/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's part of a link list: kernels, drivers, tactics. */
#ifndef BSM_BACKEND_CPU_TARGET_LINK_LIST_H_
#define BSM_BACKEND_CPU_TARGET_LINK_LIST_H_

#include "builder/target.h"

BSM_NODISCARD bsm_status
bsm_cpu_write_link_list(const bsm_link_request *request, bsm_text *text);

#endif /* BSM_BACKEND_CPU_TARGET_LINK_LIST_H_ */
