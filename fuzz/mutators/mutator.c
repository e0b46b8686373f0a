/* SPDX-License-Identifier: Apache-2.0 */
/* The mutator of all targets. One change in three is libFuzzer's own: readers
 * have to stand what is damaged, too. BSM_FUZZ_PLAIN in the environment leaves
 * those alone, to compare. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed);

enum { TRIES = 8 }; /* not every change can be made to every input */

static bool change(fuzz_input *in, fuzz_mutator mutate) {
  for (int turn = 0; turn < TRIES; turn++) {
    if (mutate(in)) return true;
  }
  return false;
}

bool fuzz_mutate_part(fuzz_input *in, fuzz_span part, fuzz_mutator mutate,
                      size_t most) {
  fuzz_input inner = {.size = part.size, .random = in->random};
  inner.room = part.size + 4096 < most ? part.size + 4096 : most;
  if (part.size == 0 || inner.room < part.size) return false;
  inner.data = malloc(inner.room);
  if (!inner.data) return false;
  memcpy(inner.data, in->data + part.at, part.size);
  const bool changed =
      change(&inner, mutate) &&
      fuzz_splice(in, part.at, part.size, inner.data, inner.size);
  in->random = inner.random;
  free(inner.data);
  return changed;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed) {
  static int plain = -1;
  if (plain < 0) plain = getenv("BSM_FUZZ_PLAIN") != NULL;
  const size_t prefix = fuzz_target_inputs.prefix;
  const fuzz_mutator mutate = fuzz_target_inputs.mutate;
  if (plain || !mutate || size <= prefix || max_size < size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  fuzz_input in = {data + prefix, size - prefix, max_size - prefix,
                   ((uint64_t)seed + 1) * UINT64_C(0x9e3779b97f4a7c15)};
  if (fuzz_below(&in, 3) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t turns = fuzz_below(&in, 4) ? 1 : 1 + fuzz_below(&in, 4);
  bool changed = false;
  for (size_t i = 0; i < turns && in.size; i++) {
    changed = change(&in, mutate) || changed;
  }
  if (!changed || in.size == 0) {
    return LLVMFuzzerMutate(data, prefix + in.size, max_size);
  }
  return prefix + in.size;
}
