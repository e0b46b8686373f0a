/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of members, in the two forms that fuzz targets take because they are
 * smaller than archives. Members are changed as what they are, and their
 * lengths are kept right. */
#include <string.h>

#include "fuzz/mutators/mutator.h"

enum { HEAD = 3, MOST = 65535, WHOLE = 4 /* the kind of pieces */ };

static bool is_archive(const fuzz_input *in) {
  return in->size >= 4 && memcmp(in->data, "PK\3\4", 4) == 0;
}

/* which(1) length(2) bytes; a last one may be shorter than it says. */
static size_t find_members(const fuzz_input *in, fuzz_span *spans,
                           size_t most) {
  size_t count = 0;
  for (size_t at = 0; in->size - at >= HEAD && count < most;) {
    size_t n = (size_t)fuzz_peek(in->data + at + 1, 2);
    if (n > in->size - at - HEAD) n = in->size - at - HEAD;
    spans[count++] = (fuzz_span){at, HEAD + n};
    at += HEAD + n;
  }
  return count;
}

bool fuzz_mutate_members(fuzz_input *in) {
  static fuzz_span spans[256];
  if (is_archive(in)) return fuzz_mutate_zip(in);
  const size_t count = find_members(in, spans, 256);
  if (count == 0) return false;
  if (fuzz_below(in, 16) == 0) {
    return fuzz_change_spans(in, spans, count, WHOLE);
  }
  const fuzz_span member = spans[fuzz_below(in, count)];
  const fuzz_span part = {member.at + HEAD, member.size - HEAD};
  const size_t before = in->size;
  if (!fuzz_mutate_part(in, part, fuzz_mutate_any, MOST)) return false;
  fuzz_poke(in->data + member.at + 1, part.size + in->size - before, 2);
  return true;
}

/* length(2) data.pkl, code, 64 bytes of storage. */
bool fuzz_mutate_pickled(fuzz_input *in) {
  if (is_archive(in)) return fuzz_mutate_zip(in);
  if (in->size < 2) return false;
  if (in->data[0] == 'g' || in->data[0] == '#') return fuzz_mutate_text(in);
  const size_t n = (size_t)fuzz_peek(in->data, 2);
  if (n == 0 || n > in->size - 2) return false;
  const size_t tail = in->size - 2 - n < 64 ? in->size - 2 - n : 64;
  const fuzz_span pickle = {2, n}, code = {2 + n, in->size - 2 - n - tail};
  const size_t before = in->size;
  if (code.size && fuzz_below(in, 3)) {
    return fuzz_mutate_part(in, code, fuzz_mutate_text, MOST);
  }
  if (!fuzz_mutate_part(in, pickle, fuzz_mutate_pickle, MOST)) return false;
  fuzz_poke(in->data, n + in->size - before, 2);
  return true;
}
