/* SPDX-License-Identifier: Apache-2.0 */
/* What the command prints holds names from files: it reaches the terminal
 * without control characters. */
#ifndef BSM_TOOLS_TERMINAL_H_
#define BSM_TOOLS_TERMINAL_H_

#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"

/* From here on, what is written to stdout and stderr is made printable. Streams
 * stay as they are where there is no memory for it. */
void bsm_guard_terminal(void);

/* Whether the standard error is a terminal that can clear a line. */
bool bsm_has_terminal(void);
/* Writes what moves the cursor of the terminal at the standard error. */
void bsm_write_control(const char *text);

/* SGR's numbers of colours. */
typedef enum bsm_colour { BSM_RED = 31, BSM_YELLOW = 33 } bsm_colour;
/* Writes a word to the standard error, in a colour where that is a terminal and
 * NO_COLOR is not set (https://no-color.org). */
void bsm_write_coloured(bsm_colour colour, const char *word);

/* Writes bytes to the standard output as they are, behind what was printed. */
BSM_NODISCARD bsm_status bsm_write_stdout(const void *data, size_t size);
/* As bsm_file_write; "-" is the standard output. */
BSM_NODISCARD bsm_status bsm_write_output(const char *path,
                                          const bsm_file_piece *pieces,
                                          size_t count);

#endif /* BSM_TOOLS_TERMINAL_H_ */
