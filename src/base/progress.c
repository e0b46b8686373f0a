/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

bsm_status bsm_progress_report(bsm_progress *progress, const char *phase,
                               size_t done, size_t total) {
  if (!progress || !progress->report) return BSM_OK;
  if (!progress->cancelled) {
    progress->cancelled = !progress->report(progress->user, phase, done, total);
  }
  return progress->cancelled
             ? BSM_FAIL(BSM_CANCELLED, "cancelled in the phase %s", phase)
             : BSM_OK;
}

bsm_status bsm_progress_count(bsm_progress *progress, const char *phase,
                              size_t done, size_t total) {
  return done % 64 == 0 ? bsm_progress_report(progress, phase, done, total)
                        : BSM_OK;
}
