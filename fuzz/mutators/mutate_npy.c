/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: the text of the header, whose length is kept right, and the values.
 */
#include <string.h>

#include "fuzz/mutators/mutator.h"

enum { BEFORE_LENGTH = 8 };

/* Another type, or another order of bytes, in the place of the old one. */
static bool change_type(fuzz_input *in, fuzz_span header) {
  static const char *const types[] = {"<f4", "<f8", "<f2",  "|b1", "|i1",
                                      "|u1", "<i2", "<i4",  "<i8", ">f4",
                                      ">i8", "<c8", "<c16", "<u8", "|O"};
  const char *with = types[fuzz_below(in, sizeof(types) / sizeof(types[0]))];
  for (size_t i = header.at; i + 4 < header.at + header.size; i++) {
    const uint8_t c = in->data[i];
    if (c != '<' && c != '>' && c != '|') continue;
    const uint8_t *quote = memchr(in->data + i, '\'', header.size);
    const size_t n = quote ? (size_t)(quote - in->data) - i : 3;
    return n < 8 && fuzz_splice(in, i, n, with, strlen(with));
  }
  return false;
}

bool fuzz_mutate_npy(fuzz_input *in) {
  if (in->size >= 4 && memcmp(in->data, "PK\3\4", 4) == 0) {
    return fuzz_mutate_zip(in);
  }
  if (in->size < 12 || memcmp(in->data, "\x93NUMPY", 6) != 0) return false;
  const size_t width = in->data[6] == 1 ? 2 : 4;
  const size_t length = (size_t)fuzz_peek(in->data + BEFORE_LENGTH, width);
  const size_t start = BEFORE_LENGTH + width;
  if (length == 0 || length > in->size - start) return false;
  const fuzz_span header = {start, length};
  const size_t before = in->size;
  const size_t how = fuzz_below(in, 5);
  if (how == 0) {
    const fuzz_span values = {start + length, in->size - start - length};
    return values.size && fuzz_change_bytes(in, values);
  }
  const bool changed =
      how == 1 ? change_type(in, header)
               : fuzz_mutate_part(in, header, fuzz_mutate_text, 4096);
  if (changed) {
    fuzz_poke(in->data + BEFORE_LENGTH, length + in->size - before, width);
  }
  return changed;
}
