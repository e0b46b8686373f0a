/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/ending.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "base/file.h"

/* All that end a process and can be caught. */
static const int endings[] = {
    SIGHUP,  SIGINT,  SIGQUIT, SIGILL,    SIGTRAP, SIGABRT, SIGBUS,
    SIGFPE,  SIGUSR1, SIGSEGV, SIGUSR2,   SIGPIPE, SIGALRM, SIGTERM,
    SIGXCPU, SIGPROF, SIGIO,   SIGVTALRM, SIGPWR,  SIGSYS,  SIGSTKFLT,
};

static volatile sig_atomic_t later, interrupted;

/* The default action was restored before (SA_RESETHAND): it ends the process
 * when the handler returns, with the exit status that the signal means. */
static void end(int signal) {
  if (signal == SIGINT && later && !interrupted) {
    interrupted = 1; /* the next one ends the process: the default action */
    return;
  }
  bsm_file_remove_unfinished();
  raise(signal);
}

void bsm_end_cleanly(void) {
  for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
    struct sigaction old;
    if (sigaction(endings[i], NULL, &old) || old.sa_handler != SIG_DFL) {
      continue;
    }
    struct sigaction action = {.sa_handler = end,
                               .sa_flags = (int)SA_RESETHAND};
    sigfillset(&action.sa_mask);
    sigaction(endings[i], &action, NULL);
  }
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  sigaction(SIGXFSZ, &ignore, NULL);
}

void bsm_interrupt_later(bool noted) {
  later = noted;
}

bool bsm_was_interrupted(void) {
  return interrupted;
}

int bsm_end_as_interrupted(int code) {
  if (interrupted) {
    fflush(NULL);
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
  return code;
}
