/* SPDX-License-Identifier: Apache-2.0 */
/* How far a command is: a bar on a terminal, a line for each phase with
 * --verbose, nothing in pipes. Ctrl-C cancels what tells its progress. */
#ifndef BSM_TOOLS_PROGRESS_BAR_H_
#define BSM_TOOLS_PROGRESS_BAR_H_

#include <stdbool.h>
#include <stddef.h>

#include "bessemer/status.h"

typedef struct bsm_cli_progress {
  const char *command; /* NULL: nothing is shown */
  bool bar, lines;
  bool shown;         /* there is a bar in the last line of the terminal */
  const char *phase;  /* the last one that was told of */
  double told, begun; /* when, in milliseconds */
} bsm_cli_progress;

/* `verbose`: lines instead of a bar. `quiet`: neither. */
void bsm_cli_progress_start(bsm_cli_progress *p, const char *command,
                            bool verbose, bool quiet);
/* As bsm_compile_progress, `user` being a bsm_cli_progress: false once Ctrl-C
 * was pressed. */
bool bsm_cli_progress_tell(void *user, const char *phase, size_t done,
                           size_t total);
/* Takes the bar away, before something else is printed and at the end. */
void bsm_cli_progress_clear(bsm_cli_progress *p);

/* When it is over; a failure is returned, or that it was cancelled. */
BSM_NODISCARD bsm_status bsm_cli_progress_end(bsm_cli_progress *p,
                                              bsm_status status);

#endif /* BSM_TOOLS_PROGRESS_BAR_H_ */
