/* SPDX-License-Identifier: Apache-2.0 */
/* Limits with zero fields replaced by their defaults. */
#ifndef BSM_BASE_RESOLVE_LIMITS_H_
#define BSM_BASE_RESOLVE_LIMITS_H_

#include "bessemer/limits.h"

/* `limits` may be NULL: all defaults. It is ours: that of a caller goes through
 * bsm_options_copy first. */
bsm_limits bsm_resolve_limits(const bsm_limits *limits);

#endif /* BSM_BASE_RESOLVE_LIMITS_H_ */
