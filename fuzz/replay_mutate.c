/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/replay_mutate.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"

enum { GROWTH = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed);

static fuzz_input choices; /* for its random numbers alone */

/* One of libFuzzer's simplest changes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
  const size_t at = fuzz_below(&choices, size);
  const size_t how = fuzz_below(&choices, 4);
  if (size == 0 || (how == 0 && size < max_size)) { /* inserts */
    if (max_size == 0) return 0;
    memmove(data + at + 1, data + at, size - at);
    data[at] = (uint8_t)fuzz_below(&choices, 256);
    return size + 1;
  }
  if (how == 1 && size > 1) { /* deletes */
    memmove(data + at, data + at + 1, size - at - 1);
    return size - 1;
  }
  if (how == 2) {
    data[at] ^= (uint8_t)(1 << fuzz_below(&choices, 8));
  } else {
    data[at] = (uint8_t)fuzz_below(&choices, 256);
  }
  return size;
}

static size_t run(const uint8_t *data, size_t size) {
  const size_t before = fuzz_accepted();
  uint8_t *exact = malloc(size ? size : 1);
  if (!exact) return 0;
  if (size) memcpy(exact, data, size);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return fuzz_accepted() - before;
}

void replay_mutate(replay_mutations *m, const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size + GROWTH);
  if (!copy) return;
  for (size_t i = 0; i < m->turns; i++) {
    memcpy(copy, data, size);
    size_t n = LLVMFuzzerCustomMutator(copy, size, size + GROWTH,
                                       (unsigned int)(m->tried + 1));
    m->accepted += run(copy, n) > 0;
    memcpy(copy, data, size);
    n = LLVMFuzzerMutate(copy, size, size + GROWTH);
    m->of_bytes += run(copy, n) > 0;
    m->tried++;
  }
  free(copy);
}
