/* SPDX-License-Identifier: Apache-2.0 */
/* What the command prints holds names from files: it reaches the terminal
 * without control characters. */
#ifndef BSM_TOOLS_TERMINAL_H_
#define BSM_TOOLS_TERMINAL_H_

/* From here on, what is written to stdout and stderr is made printable. Streams
 * stay as they are where there is no memory for it. */
void bsm_guard_terminal(void);

#endif /* BSM_TOOLS_TERMINAL_H_ */
