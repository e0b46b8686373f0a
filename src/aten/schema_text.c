/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas are unpacked for each use, as every call of an operator looks at its
 * own: so words are copied by whole blocks of bytes. */
#include "aten/schema_text.h"

#include <stddef.h>

#include "aten/op.h"

/* Bytes that are copied at once; more than are needed. */
#define BLOCK 16

/* The codes are bytes that no schema has: 127 to 255 and 14 to 31. */
#define FIRST_CODE 127
#define LOW_CODE 14
#define HIGH_CODES (256 - FIRST_CODE)
#define MAX_WORDS (HIGH_CODES + 32 - LOW_CODE)

/* The words, one behind the other, and a block that may be copied. */
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
typedef struct word_texts {
#define WORD(text) char JOIN(at_, __LINE__)[sizeof(text) - 1];
#define HEAD WORD
#include "aten/schema_words.inl"
#undef WORD
  char end[BLOCK];
} word_texts;

static const char words[] =
#define WORD(text) text
#include "aten/schema_words.inl"
#undef WORD
    "................";

static const uint16_t starts[] = {
#define WORD(text) offsetof(word_texts, JOIN(at_, __LINE__)),
#include "aten/schema_words.inl"
#undef WORD
#undef HEAD
    offsetof(word_texts, end)};

/* The first words, which have the start of the arguments. */
#define WORD(text)
#define HEAD(text) +1
enum {
  HEAD_WORDS = 0
#include "aten/schema_words.inl"
};
#undef WORD
#undef HEAD

_Static_assert(sizeof(words) == sizeof(word_texts) + 1, "the words");
_Static_assert(sizeof(starts) / sizeof(starts[0]) - 1 <= MAX_WORDS,
               "more words than codes");

/* Whether a byte stands for a word, and for which. */
static inline bool is_code(unsigned char byte) {
  return byte < 32 || byte >= FIRST_CODE;
}

static inline unsigned word_of(unsigned char code) {
  return code >= FIRST_CODE ? code - FIRST_CODE : code - LOW_CODE + HIGH_CODES;
}

/* The text, or as much as there is room for. `name`: only up to a word that has
 * the start of the arguments. */
static const char *unpack(const char *packed, bool name,
                          bsm_schema_text *room) {
  char *out = room->data;
  const char *end = out + sizeof(room->data) - 1;
  for (const char *p = packed; *p && out < end; p++) {
    if (!is_code((unsigned char)*p)) {
      *out++ = *p;
      if (name && *p == '(') break;
      continue;
    }
    const unsigned i = word_of((unsigned char)*p);
    const char *word = words + starts[i];
    const size_t length = (size_t)(starts[i + 1] - starts[i]);
    if (length <= BLOCK && end - out >= BLOCK) {
      memcpy(out, word, BLOCK);
    } else {
      if (length > (size_t)(end - out)) break;
      memcpy(out, word, length);
    }
    out += length;
    if (name && i < HEAD_WORDS) break;
  }
  *out = '\0';
  return room->data;
}

const char *bsm_aten_schema(const bsm_aten_op *op, bsm_schema_text *room) {
  if (!(op->flags & BSM_ATEN_PACKED)) return op->text;
  return unpack(op->text, false, room);
}

bsm_str bsm_aten_name(const bsm_aten_op *op, bsm_schema_text *room) {
  const char *text =
      op->flags & BSM_ATEN_PACKED ? unpack(op->text, true, room) : op->text;
  return (bsm_str){text, strcspn(text, "(")};
}

bool bsm_aten_is_named(const bsm_aten_op *op, bsm_str name) {
  if (!(op->flags & BSM_ATEN_PACKED)) {
    return bsm_str_eq(name, (bsm_str){op->text, strcspn(op->text, "(")});
  }
  size_t at = 0;
  for (const char *p = op->text; *p; p++) {
    const char *word = p;
    size_t length = 1;
    if (is_code((unsigned char)*p)) {
      const unsigned i = word_of((unsigned char)*p);
      word = words + starts[i];
      length = (size_t)(starts[i + 1] - starts[i]);
    }
    for (size_t i = 0; i < length; i++, at++) {
      if (word[i] == '(') return at == name.len;
      if (at == name.len || word[i] != name.data[at]) return false;
    }
  }
  return at == name.len;
}
