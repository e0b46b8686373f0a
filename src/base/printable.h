/* SPDX-License-Identifier: Apache-2.0 */
/* Names in messages come from files, and a terminal obeys control characters.
 */
#ifndef BSM_BASE_PRINTABLE_H_
#define BSM_BASE_PRINTABLE_H_

#include <stddef.h>

/* Makes the control characters of a text, in ASCII and those of two bytes in
 * UTF-8, question marks: all but the ends of lines and tabs. */
void bsm_make_printable(char *text, size_t length);

#endif /* BSM_BASE_PRINTABLE_H_ */
