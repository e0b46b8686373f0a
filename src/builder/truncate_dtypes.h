/* SPDX-License-Identifier: Apache-2.0 */
/* truncate_long_and_double: computes in int32 and float what the model has in
 * int64 and float64.
 *
 * Weights and constants are converted, so the engine is smaller, and every
 * layer in between computes in the narrow dtype. The inputs and outputs of the
 * network keep their dtypes: callers change nothing, and the engine casts at
 * its borders. An integer of an input that does not fit wraps around.
 *
 * A constant that does not fit is an error that names it: integers outside of
 * int32, and finite doubles beyond the largest float. (Doubles lose precision;
 * that is what was asked for.) Operators that the engine calls as a whole keep
 * their dtypes and are surrounded by casts. */
#ifndef BSM_BUILDER_TRUNCATE_DTYPES_H_
#define BSM_BUILDER_TRUNCATE_DTYPES_H_

#include "base/strings.h"
#include "network/layer.h"

/* Narrows `net`. `list` gets what was narrowed, "; " between the items, at
 * most BSM_TRUNCATE_LISTED of them; each is logged at INFO as well. */
#define BSM_TRUNCATE_LISTED 1000
BSM_NODISCARD bsm_status bsm_truncate_long_and_double(bsm_network *net,
                                                      const bsm_logger *logger,
                                                      bsm_text *list);

#endif /* BSM_BUILDER_TRUNCATE_DTYPES_H_ */
