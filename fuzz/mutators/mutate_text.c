/* SPDX-License-Identifier: Apache-2.0 */
/* Texts: lines, words and the elements of what is in brackets. All grammars
 * that are read here (TorchScript's code, IR, schemas, symbolic expressions,
 * input specs, calibrations, timing caches) are made of these. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"

enum { WORDS = 0, LINES = 1, ELEMENTS = 2 }; /* kinds of pieces */

static bool in_word(uint8_t c) {
  return isalnum(c) || c == '_' || c == '%' || c == '.' || c == ':';
}

/* The end of the word that begins at `at`; white space is no word. */
static size_t word_end(const fuzz_input *in, size_t at) {
  const uint8_t c = in->data[at];
  size_t end = at + 1;
  if (in_word(c)) {
    while (end < in->size && in_word(in->data[end])) end++;
  } else if (c == '"' || c == '\'') {
    while (end < in->size && in->data[end] != c && in->data[end] != '\n') end++;
    if (end < in->size) end++;
  }
  return end;
}

static size_t find_words(const fuzz_input *in, fuzz_span *spans) {
  size_t count = 0;
  for (size_t at = 0; at < in->size && count < FUZZ_MAX_SPANS;) {
    const size_t end = word_end(in, at);
    if (!isspace(in->data[at])) {
      spans[count++] = (fuzz_span){at, end - at};
    }
    at = end;
  }
  return count;
}

static size_t find_lines(const fuzz_input *in, fuzz_span *spans) {
  size_t count = 0;
  for (size_t at = 0; at < in->size && count < FUZZ_MAX_SPANS;) {
    const uint8_t *newline = memchr(in->data + at, '\n', in->size - at);
    const size_t end = newline ? (size_t)(newline - in->data) + 1 : in->size;
    spans[count++] = (fuzz_span){at, end - at};
    at = end;
  }
  return count;
}

/* The elements of the brackets that open at `open`, each with the comma before
 * it, so that deleting and repeating them keeps the list one. The first has
 * none and is left out, where there are others. */
static size_t find_elements(const fuzz_input *in, size_t open,
                            fuzz_span *spans) {
  size_t count = 0, start = open + 1;
  int depth = 0;
  for (size_t i = open + 1; i < in->size && count < FUZZ_MAX_SPANS; i++) {
    const uint8_t c = in->data[i];
    const bool opens = c == '(' || c == '[' || c == '{';
    const bool closes = c == ')' || c == ']' || c == '}';
    if (depth == 0 && (closes || c == ',')) {
      if (in->data[start] == ',') {
        spans[count++] = (fuzz_span){start, i - start};
      }
      start = i;
      if (closes) break;
    }
    depth += opens - closes;
  }
  return count;
}

static bool change_elements(fuzz_input *in, fuzz_span *spans) {
  const size_t from = fuzz_below(in, in->size);
  for (size_t k = 0; k < in->size; k++) {
    const size_t at = (from + k) % in->size;
    if (in->data[at] != '(' && in->data[at] != '[') continue;
    const size_t count = find_elements(in, at, spans);
    if (count) return fuzz_change_spans(in, spans, count, ELEMENTS);
  }
  return false;
}

static bool is_number(const fuzz_input *in, fuzz_span word) {
  return isdigit(in->data[word.at]) != 0;
}

/* A number, as text. */
static bool change_number(fuzz_input *in, fuzz_span word) {
  static const char *const odd[] = {
      "0.",   "1e-5", "1e308", "nan", "inf", "-0.0", "9223372036854775808",
      "0.5f", "1j",   "00",    "1e",  "-1",  "-9"};
  char text[64];
  if (fuzz_below(in, 4) == 0) {
    snprintf(text, sizeof(text), "%s",
             odd[fuzz_below(in, sizeof(odd) / sizeof(odd[0]))]);
  } else {
    char old[24] = {0};
    const size_t n = word.size < 23 ? word.size : 23;
    memcpy(old, in->data + word.at, n);
    const int64_t value = fuzz_integer(in, strtoll(old, NULL, 10));
    snprintf(text, sizeof(text), "%lld", (long long)value);
  }
  return fuzz_splice(in, word.at, word.size, text, strlen(text));
}

/* Puts a word of the same sort in the place of one: a name for a name. */
static bool exchange_word(fuzz_input *in, const fuzz_span *words,
                          size_t count) {
  const fuzz_span a = words[fuzz_below(in, count)];
  const size_t from = fuzz_below(in, count);
  for (size_t k = 0; k < count; k++) {
    const fuzz_span b = words[(from + k) % count];
    const uint8_t x = in->data[a.at], y = in->data[b.at];
    const bool alike = in_word(x) ? in_word(y) && (x == '%') == (y == '%') &&
                                        !isdigit(x) == !isdigit(y)
                                  : x == y;
    const bool same = a.size == b.size &&
                      memcmp(in->data + a.at, in->data + b.at, a.size) == 0;
    if (alike && !same) {
      return fuzz_splice(in, a.at, a.size, in->data + b.at, b.size);
    }
  }
  return false;
}

static bool change_words(fuzz_input *in, fuzz_span *spans, size_t how) {
  const size_t count = find_words(in, spans);
  if (count == 0) return false;
  if (how == 0) return fuzz_change_spans(in, spans, count, WORDS);
  if (how == 1) return exchange_word(in, spans, count);
  const size_t from = fuzz_below(in, count);
  for (size_t k = 0; k < count; k++) {
    const fuzz_span word = spans[(from + k) % count];
    if (is_number(in, word)) return change_number(in, word);
  }
  return false;
}

bool fuzz_mutate_text(fuzz_input *in) {
  static fuzz_span spans[FUZZ_MAX_SPANS];
  if (in->size == 0) return false;
  const size_t how = fuzz_below(in, 10);
  if (how < 2) {
    const size_t count = find_lines(in, spans);
    return count > 1 && fuzz_change_spans(in, spans, count, LINES);
  }
  if (how < 4) return change_elements(in, spans);
  if (how < 5) return change_words(in, spans, 0);
  return change_words(in, spans, how < 8 ? 1 : 2);
}
