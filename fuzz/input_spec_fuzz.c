/* SPDX-License-Identifier: Apache-2.0 */
/* Input specs of the command line: what is accepted has a rank in range, and
 * the name is a copy. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "tools/input_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_text, 0);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bsm_arena arena;
  bsm_input_spec spec;
  char *text = malloc(size + 1);
  if (!text) abort();
  memcpy(text, data, size);
  text[size] = 0;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_input_spec_parse(&arena, text, &spec);
  free(text);
  if (!status) {
    if (spec.rank < 0 || spec.rank > BSM_MAX_RANK) abort();
    if (spec.name && strlen(spec.name) > size) abort();
  }
  fuzz_done(status);
  bsm_arena_destroy(&arena);
  return 0;
}
