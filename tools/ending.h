/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end the command: it leaves no unfinished file behind. */
#ifndef BSM_TOOLS_ENDING_H_
#define BSM_TOOLS_ENDING_H_

#include <stdbool.h>

/* From here on, a signal that ends the process first removes what has not been
 * written to its end; signals that the caller ignores stay ignored. A file that
 * grows above the limit of the shell (ulimit -f) is an error, no signal. */
void bsm_end_cleanly(void);

/* From here on (or no more), the first Ctrl-C is only noted, for work that
 * looks for it and stops; the next one ends the process. */
void bsm_interrupt_later(bool later);
bool bsm_was_interrupted(void);
/* Ends the process as Ctrl-C does, if there was one; else gives `code`. */
int bsm_end_as_interrupted(int code);

#endif /* BSM_TOOLS_ENDING_H_ */
