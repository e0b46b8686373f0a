/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a zip archive: opened, and every member read. */
#include <stdint.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "torchscript/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_zip, 0);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_inflated = 16 << 20;
  bsm_arena arena;
  bsm_zip zip;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_zip_open(&arena, data, size, &limits, &zip);
  for (size_t i = 0; !status && i < zip.count; i++) {
    /* Half of them without the CRC, or mutations would stop there. */
    bsm_str bytes;
    bsm_status_free(
        bsm_zip_read(&zip, &arena, &zip.entries[i], i % 2 == 0, &bytes));
    if (bsm_zip_find(&zip, zip.entries[i].name) != &zip.entries[i]) {
      __builtin_trap();
    }
  }
  fuzz_done(status);
  bsm_arena_destroy(&arena);
  return 0;
}
