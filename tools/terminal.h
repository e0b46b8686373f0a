/* SPDX-License-Identifier: Apache-2.0 */
/* What the command prints holds names from files: it reaches the terminal
 * without control characters. */
#ifndef BSM_TOOLS_TERMINAL_H_
#define BSM_TOOLS_TERMINAL_H_

#include <stddef.h>

#include "base/file.h"

/* From here on, what is written to stdout and stderr is made printable. Streams
 * stay as they are where there is no memory for it. */
void bsm_guard_terminal(void);

/* Writes what moves the cursor of the terminal at the standard error. */
void bsm_write_control(const char *text);
/* Writes bytes to the standard output as they are, behind what was printed. */
BSM_NODISCARD bsm_status bsm_write_stdout(const void *data, size_t size);
/* As bsm_file_write; "-" is the standard output. */
BSM_NODISCARD bsm_status bsm_write_output(const char *path,
                                          const bsm_file_piece *pieces,
                                          size_t count);

#endif /* BSM_TOOLS_TERMINAL_H_ */
