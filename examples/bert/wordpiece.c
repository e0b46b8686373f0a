/* SPDX-License-Identifier: Apache-2.0 */
#include "wordpiece.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

enum { LONGEST_WORD = 100, NONE = -1 };

/* qsort has no argument for it; one vocabulary is read at a time. */
static char **being_sorted;

static int by_piece(const void *a, const void *b) {
  return strcmp(being_sorted[*(const size_t *)a],
                being_sorted[*(const size_t *)b]);
}

/* The number of a piece, or NONE. */
static int64_t find(const vocabulary *v, const char *piece) {
  size_t low = 0, high = v->count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const int order = strcmp(v->pieces[v->sorted[middle]], piece);
    if (order == 0) return (int64_t)v->sorted[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NONE;
}

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long size = ftell(file);
    rewind(file);
    text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (text) text[fread(text, 1, (size_t)size, file)] = '\0';
  }
  fclose(file);
  return text;
}

int vocabulary_read(const char *path, vocabulary *out) {
  *out = (vocabulary){.text = read_text(path)};
  if (!out->text) return -1;
  size_t lines = 1;
  for (const char *c = out->text; *c; c++) lines += *c == '\n';
  out->pieces = malloc(lines * sizeof(*out->pieces));
  out->sorted = malloc(lines * sizeof(*out->sorted));
  if (out->pieces && out->sorted) {
    for (char *line = out->text; *line;) {
      char *end = line + strcspn(line, "\n");
      out->pieces[out->count++] = line;
      line = *end ? end + 1 : end;
      *end = '\0';
    }
    for (size_t i = 0; i < out->count; i++) out->sorted[i] = i;
    being_sorted = out->pieces;
    qsort(out->sorted, out->count, sizeof(*out->sorted), by_piece);
    if (find(out, "[CLS]") != NONE && find(out, "[SEP]") != NONE &&
        find(out, "[UNK]") != NONE) {
      return 0;
    }
  }
  vocabulary_free(out);
  return -1;
}

void vocabulary_free(vocabulary *v) {
  free(v->text);
  free(v->pieces);
  free(v->sorted);
  *v = (vocabulary){0};
}

/* Numbers that were found, as far as there is room. */
typedef struct encoding {
  const vocabulary *vocabulary;
  int64_t *ids;
  size_t count, room;
} encoding;

static void add(encoding *e, int64_t id) {
  if (e->count < e->room) e->ids[e->count++] = id;
}

/* The longest piece that is at the beginning of `word`; its length. */
static size_t longest_piece(const encoding *e, const wchar_t *word,
                            size_t length, int inside, int64_t *id) {
  char piece[2 + LONGEST_WORD * 4 + 1] = "##";
  for (; length > 0; length--) {
    char *to = piece + (inside ? 2 : 0);
    mbstate_t state = {0};
    for (size_t i = 0; i < length; i++) to += wcrtomb(to, word[i], &state);
    *to = '\0';
    *id = find(e->vocabulary, piece);
    if (*id != NONE) return length;
  }
  return 0;
}

static void add_word(encoding *e, const wchar_t *word, size_t length) {
  const size_t before = e->count;
  for (size_t done = 0; done < length;) {
    int64_t id = NONE;
    const size_t taken =
        length > LONGEST_WORD
            ? 0
            : longest_piece(e, word + done, length - done, done > 0, &id);
    if (!taken) { /* what is not in the vocabulary as a whole is unknown */
      e->count = before;
      add(e, find(e->vocabulary, "[UNK]"));
      return;
    }
    add(e, id);
    done += taken;
  }
}

/* Characters that are words by themselves: punctuation, of ASCII all symbols,
 * and those of Chinese. */
static int stands_alone(wchar_t c) {
  if (c < 128) return iswpunct((wint_t)c) != 0;
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (iswpunct((wint_t)c) && !iswalnum((wint_t)c));
}

/* In lower case, without control characters that are no spaces. */
static size_t clean(wchar_t *text, size_t length) {
  size_t kept = 0;
  for (size_t i = 0; i < length; i++) {
    const wint_t c = (wint_t)text[i];
    if (!iswcntrl(c) || iswspace(c)) text[kept++] = (wchar_t)towlower(c);
  }
  return kept;
}

size_t wordpiece_encode(const vocabulary *v, const char *text, int64_t *ids,
                        size_t room) {
  size_t length = mbstowcs(NULL, text, 0);
  wchar_t *wide =
      length == (size_t)-1 ? NULL : malloc((length + 1) * sizeof(*wide));
  if (!wide || room < 2) {
    free(wide);
    return 0;
  }
  mbstowcs(wide, text, length + 1);
  length = clean(wide, length);
  encoding e = {v, ids, 0, room - 1}; /* [SEP] is always there */
  add(&e, find(v, "[CLS]"));
  for (size_t i = 0; i < length;) {
    size_t end = i;
    while (end < length && !iswspace((wint_t)wide[end]) &&
           !stands_alone(wide[end])) {
      end++;
    }
    if (end > i) {
      add_word(&e, wide + i, end - i);
    } else {
      if (stands_alone(wide[i])) add_word(&e, wide + i, 1);
      end++;
    }
    i = end;
  }
  free(wide);
  e.room = room;
  add(&e, find(v, "[SEP]"));
  return e.count;
}
