/* SPDX-License-Identifier: Apache-2.0 */
/* How far a long call is, told to its caller, who may cancel it. */
#ifndef BSM_BASE_PROGRESS_H_
#define BSM_BASE_PROGRESS_H_

#include <stdbool.h>
#include <stddef.h>

#include "bessemer/status.h"

typedef struct bsm_progress {
  /* False cancels; NULL: nobody is told. */
  bool (*report)(void *user, const char *phase, size_t done, size_t total);
  void *user;
  bool cancelled; /* every later report fails, too */
} bsm_progress;

/* `progress` may be NULL. `total` 0: not known. BSM_CANCELLED: the caller wants
 * no more. */
BSM_NODISCARD bsm_status bsm_progress_report(bsm_progress *progress,
                                             const char *phase, size_t done,
                                             size_t total);
/* The same for one of many small units: tells of every 64th. */
BSM_NODISCARD bsm_status bsm_progress_count(bsm_progress *progress,
                                            const char *phase, size_t done,
                                            size_t total);

#endif /* BSM_BASE_PROGRESS_H_ */
