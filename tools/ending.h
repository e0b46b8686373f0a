/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end the command: it leaves no unfinished file behind. */
#ifndef BSM_TOOLS_ENDING_H_
#define BSM_TOOLS_ENDING_H_

/* From here on, a signal that ends the process first removes what has not been
 * written to its end; signals that the caller ignores stay ignored. A file that
 * grows above the limit of the shell (ulimit -f) is an error, no signal. */
void bsm_end_cleanly(void);

#endif /* BSM_TOOLS_ENDING_H_ */
