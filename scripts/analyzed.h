/* SPDX-License-Identifier: Apache-2.0 */
/* What analyzers are told beside the code (scripts/check_analyzers.sh): a
 * failure is never NULL. They know the attribute that says so, but do not use
 * it where a status is tested. */
#ifndef SCRIPTS_ANALYZED_H_
#define SCRIPTS_ANALYZED_H_

#include "bessemer/status.h"

#define BSM_NEVER_NULL(call)                   \
  ({                                           \
    bsm_status never_null_ = (call);           \
    if (!never_null_) __builtin_unreachable(); \
    never_null_;                               \
  })

#undef BSM_FAIL
#define BSM_FAIL(...) BSM_NEVER_NULL(bsm_status_make(__VA_ARGS__))
#undef BSM_FAIL_OOM
#define BSM_FAIL_OOM() BSM_NEVER_NULL(bsm_status_out_of_memory())

#endif /* SCRIPTS_ANALYZED_H_ */
