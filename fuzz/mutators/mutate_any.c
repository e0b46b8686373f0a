/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are changed as what they seem to be. */
#include <string.h>

#include "fuzz/mutators/mutator.h"

static bool is_text(const fuzz_input *in) {
  for (size_t i = 0; i < in->size; i++) {
    const uint8_t c = in->data[i];
    if ((c < ' ' || c >= 0x7f) && c != '\n' && c != '\t') return false;
  }
  return in->size > 0;
}

bool fuzz_mutate_any(fuzz_input *in) {
  const uint8_t *data = in->data;
  const fuzz_span all = {0, in->size};
  if (in->size >= 4 && memcmp(data, "PK\3\4", 4) == 0) {
    return fuzz_mutate_zip(in);
  }
  if (in->size >= 6 && memcmp(data, "\x93NUMPY", 6) == 0) {
    return fuzz_mutate_npy(in);
  }
  if (in->size >= 2 && data[0] == 0x80 && data[1] <= 5) {
    return fuzz_mutate_pickle(in);
  }
  if (!is_text(in)) return in->size && fuzz_change_bytes(in, all);
  return data[0] == '{' || data[0] == '[' ? fuzz_mutate_json(in)
                                          : fuzz_mutate_text(in);
}
