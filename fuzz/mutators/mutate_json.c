/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: whole values and members, so that the text stays JSON. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"

typedef struct json_scan {
  const fuzz_input *in;
  size_t at;
  fuzz_span values[FUZZ_MAX_SPANS];
  size_t value_count;
  fuzz_span members[FUZZ_MAX_SPANS]; /* behind a comma, with it */
  size_t member_count;
} json_scan;

static json_scan scan;

static void skip_space(json_scan *s) {
  while (s->at < s->in->size && isspace(s->in->data[s->at])) s->at++;
}

static uint8_t peek(json_scan *s) {
  skip_space(s);
  return s->at < s->in->size ? s->in->data[s->at] : 0;
}

static void skip_string(json_scan *s) {
  for (s->at++; s->at < s->in->size; s->at++) {
    const uint8_t c = s->in->data[s->at];
    if (c == '\\') {
      s->at++;
    } else if (c == '"') {
      break;
    }
  }
  s->at = s->at < s->in->size ? s->at + 1 : s->in->size;
}

static bool read_value(json_scan *s, int depth);

/* Elements, or members with their names. */
static bool read_items(json_scan *s, bool named, uint8_t close, int depth) {
  s->at++;
  for (size_t i = 0; peek(s) != close; i++) {
    const size_t start = s->at;
    if (i > 0) {
      if (peek(s) != ',') return false;
      s->at++;
    }
    if (named) {
      if (peek(s) != '"') return false;
      skip_string(s);
      if (peek(s) != ':') return false;
      s->at++;
    }
    if (!read_value(s, depth + 1)) return false;
    if (i > 0 && s->member_count < FUZZ_MAX_SPANS) {
      s->members[s->member_count++] = (fuzz_span){start, s->at - start};
    }
  }
  s->at++;
  return true;
}

static bool read_value(json_scan *s, int depth) {
  const uint8_t c = peek(s);
  const size_t start = s->at;
  bool good = depth < 100 && c != 0;
  if (good && c == '{') {
    good = read_items(s, true, '}', depth);
  } else if (good && c == '[') {
    good = read_items(s, false, ']', depth);
  } else if (good && c == '"') {
    skip_string(s);
  } else if (good) {
    while (s->at < s->in->size &&
           (isalnum(s->in->data[s->at]) || strchr("+-.", s->in->data[s->at]))) {
      s->at++;
    }
    good = s->at > start;
  }
  if (good && s->value_count < FUZZ_MAX_SPANS) {
    s->values[s->value_count++] = (fuzz_span){start, s->at - start};
  }
  return good;
}

static size_t sort_of(uint8_t c) {
  return c == '"' ? 0 : c == '[' ? 2 : c == '{' ? 3 : 1;
}

/* Takes one value for another, of the same sort when `alike`. Values that hold
 * each other are no list of spans, so only this is done with them. */
static bool exchange_value(fuzz_input *in, bool alike) {
  const fuzz_span a = scan.values[fuzz_below(in, scan.value_count)];
  const size_t sort = sort_of(in->data[a.at]);
  const size_t from = fuzz_below(in, scan.value_count);
  for (size_t k = 0; k < scan.value_count; k++) {
    const fuzz_span b = scan.values[(from + k) % scan.value_count];
    if (alike && sort_of(in->data[b.at]) != sort) continue;
    if (a.size == b.size &&
        memcmp(in->data + a.at, in->data + b.at, a.size) == 0) {
      continue;
    }
    return fuzz_splice(in, a.at, a.size, in->data + b.at, b.size);
  }
  return false;
}

static bool change_scalar(fuzz_input *in) {
  static const char *const words[] = {"null", "true", "false", "[]",
                                      "{}",   "\"\"", "1e308", "-0.5"};
  char text[32];
  const fuzz_span a = scan.values[fuzz_below(in, scan.value_count)];
  const size_t sort = sort_of(in->data[a.at]);
  if (sort > 1) return false;
  if (sort == 0 && a.size > 2 && fuzz_below(in, 2)) {
    const fuzz_span inner = {a.at + 1, a.size - 2};
    return fuzz_mutate_part(in, inner, fuzz_mutate_text, inner.size + 32);
  }
  snprintf(text, sizeof(text), "%lld", (long long)fuzz_integer(in, 4));
  const char *with =
      fuzz_below(in, 3) ? text
                        : words[fuzz_below(in, sizeof(words) / sizeof(*words))];
  return fuzz_splice(in, a.at, a.size, with, strlen(with));
}

/* Deletes or repeats an element, or puts one in the place of another; those
 * that hold each other are left alone. */
static bool change_members(fuzz_input *in) {
  if (scan.member_count == 0) return false;
  const fuzz_span one = scan.members[fuzz_below(in, scan.member_count)];
  return fuzz_below(in, 2)
             ? fuzz_splice(in, one.at, one.size, NULL, 0)
             : fuzz_splice(in, one.at, 0, in->data + one.at, one.size);
}

bool fuzz_mutate_json(fuzz_input *in) {
  scan.in = in;
  scan.at = scan.value_count = scan.member_count = 0;
  if (!read_value(&scan, 0) || scan.value_count == 0) {
    return fuzz_mutate_text(in);
  }
  switch (fuzz_below(in, 6)) {
    case 0:
    case 1:
      return exchange_value(in, true);
    case 2:
      return exchange_value(in, false);
    case 3:
      return change_members(in);
    default:
      return change_scalar(in);
  }
}
