/* SPDX-License-Identifier: Apache-2.0 */
/* The converter of the guide, as a program of a user's would declare it. */
#ifndef BSM_TESTS_CONVERSION_USER_CONVERTER_H_
#define BSM_TESTS_CONVERSION_USER_CONVERTER_H_

#include "bessemer/conversion.h"

extern const bsm_conversion_pattern my_patterns[];
extern const size_t my_pattern_count;

#endif /* BSM_TESTS_CONVERSION_USER_CONVERTER_H_ */
