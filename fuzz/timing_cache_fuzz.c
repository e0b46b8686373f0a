/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a timing cache. */
#include <stdint.h>

#include "builder/timing_cache.h"
#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_text, 0);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bsm_arena arena;
  bsm_timing_cache cache;
  bsm_arena_init(&arena, NULL);
  fuzz_done(bsm_timing_cache_parse(&arena, (bsm_str){(const char *)data, size},
                                   &cache));
  bsm_arena_destroy(&arena);
  return 0;
}
