/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the archive parsers, with zero fields replaced. */
#ifndef BSM_TORCHSCRIPT_PARSE_LIMITS_H_
#define BSM_TORCHSCRIPT_PARSE_LIMITS_H_

#include "bessemer/limits.h"

/* `limits` may be NULL: all defaults. */
void bsm_parse_limits(const bsm_limits *limits, bsm_limits *out);

#endif /* BSM_TORCHSCRIPT_PARSE_LIMITS_H_ */
