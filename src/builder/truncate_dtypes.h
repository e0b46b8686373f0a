/* SPDX-License-Identifier: Apache-2.0 */
/* truncate_long_and_double: what a model computes in int64 and float64 is
 * computed in int32 and float.
 *
 * Weights and constants are converted, so the engine is smaller, and layers
 * compute in the narrow dtypes. The inputs and outputs of the network keep
 * their dtypes, so callers change nothing; the engine casts them. An input
 * integer that does not fit wraps around.
 *
 * A constant that does not fit is an error that names it: integers outside of
 * int32, and finite doubles beyond the largest float. (Other doubles are
 * rounded, as asked for.) Operators of the reference library keep their dtypes,
 * between casts. */
#ifndef BSM_BUILDER_TRUNCATE_DTYPES_H_
#define BSM_BUILDER_TRUNCATE_DTYPES_H_

#include "base/strings.h"
#include "network/layer.h"

/* Narrows `net`. `list` gets the narrowed items, separated by "; ", at most
 * BSM_TRUNCATE_LISTED of them; each is also logged at INFO. */
#define BSM_TRUNCATE_LISTED 1000
BSM_NODISCARD bsm_status bsm_truncate_long_and_double(bsm_network *net,
                                                      const bsm_logger *logger,
                                                      bsm_text *list);

#endif /* BSM_BUILDER_TRUNCATE_DTYPES_H_ */
