/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/seed.h"

#include <stdio.h>
#include <stdlib.h>

static size_t accepted;

void fuzz_done(bsm_status status) {
  if (status && getenv("BSM_FUZZ_SEEDS")) {
    fprintf(stderr, "a seed is refused: %s\n", bsm_status_message(status));
    exit(1);
  }
  accepted += status == NULL;
  bsm_status_free(status);
}

size_t fuzz_accepted(void) {
  return accepted;
}
