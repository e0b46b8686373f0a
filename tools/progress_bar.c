/* SPDX-License-Identifier: Apache-2.0 */
/* Bars and lines of progress. */
#include "tools/progress_bar.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tools/ending.h"
#include "tools/terminal.h"

enum { WIDTH = 30, MILLISECONDS_BETWEEN = 50 };

static double milliseconds(void) {
  return 1e3 * bsm_clock_seconds();
}

void bsm_cli_progress_start(bsm_cli_progress *p, const char *command,
                            bool verbose, bool quiet) {
  *p = (bsm_cli_progress){.command = command,
                          .lines = verbose,
                          .bar = !verbose && !quiet && bsm_has_terminal()};
  bsm_interrupt_later(true);
}

void bsm_cli_progress_clear(bsm_cli_progress *p) {
  if (!p->shown) return;
  p->shown = false;
  bsm_write_control("\r\033[K");
}

static void draw(bsm_cli_progress *p, const char *phase, size_t done,
                 size_t total) {
  char line[128], bar[WIDTH + 1];
  const size_t full = total ? (done < total ? done : total) * WIDTH / total : 0;
  for (size_t i = 0; i < WIDTH; i++) bar[i] = i < full ? '#' : '.';
  bar[WIDTH] = '\0';
  if (total) {
    snprintf(line, sizeof(line), "\r\033[K%-10s [%s] %zu of %zu", phase, bar,
             done, total);
  } else {
    snprintf(line, sizeof(line), "\r\033[K%-10s %zu", phase, done);
  }
  bsm_write_control(line);
  p->shown = true;
}

/* One line when a phase is over. */
static void end_phase(bsm_cli_progress *p, double now) {
  if (!p->lines || !p->phase) return;
  fprintf(stderr, "%s: %s took %.1f ms\n", p->command, p->phase,
          now - p->begun);
}

bsm_status bsm_cli_progress_end(bsm_cli_progress *p, bsm_status status) {
  bsm_cli_progress_clear(p);
  end_phase(p, milliseconds());
  bsm_interrupt_later(false);
  if (!bsm_was_interrupted()) return status;
  bsm_status_free(status);
  return BSM_FAIL(BSM_CANCELLED, "cancelled");
}

bool bsm_cli_progress_tell(void *user, const char *phase, size_t done,
                           size_t total) {
  bsm_cli_progress *p = user;
  const double now = milliseconds();
  const bool fresh = !p->phase || strcmp(p->phase, phase) != 0;
  if (fresh) {
    end_phase(p, now);
    p->phase = phase;
    p->begun = now;
  }
  if (p->bar && (fresh || now - p->told >= MILLISECONDS_BETWEEN)) {
    draw(p, phase, done, total);
    p->told = now;
  }
  return !bsm_was_interrupted();
}
