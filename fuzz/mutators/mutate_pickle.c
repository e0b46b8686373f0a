/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles: opcodes with their arguments. */
#include <string.h>

#include "fuzz/mutators/mutator.h"

enum { OPCODES = 3 }; /* the kind of pieces */

typedef struct pickle_op {
  fuzz_span all, argument;
  size_t length_bytes; /* of the argument's own length, before it */
} pickle_op;

static pickle_op ops[FUZZ_MAX_SPANS];

/* The bytes of an argument of fixed size, or -1. */
static int fixed_argument(uint8_t opcode) {
  switch (opcode) {
    case 0x80: /* PROTO */
    case 'K':  /* BININT1 */
    case 'h':  /* BINGET */
    case 'q':  /* BINPUT */
      return 1;
    case 'M': /* BININT2 */
      return 2;
    case 'J': /* BININT */
    case 'j': /* LONG_BINGET */
    case 'r': /* LONG_BINPUT */
      return 4;
    case 'G':  /* BINFLOAT */
    case 0x95: /* FRAME */
      return 8;
    default:
      return -1;
  }
}

/* The bytes of the length of an argument that has one, or 0. */
static size_t counted_argument(uint8_t opcode) {
  switch (opcode) {
    case 'U':  /* SHORT_BINSTRING */
    case 0x8a: /* LONG1 */
    case 0x8c: /* SHORT_BINUNICODE */
    case 'C':  /* SHORT_BINBYTES */
      return 1;
    case 'X': /* BINUNICODE */
    case 'T': /* BINSTRING */
    case 'B': /* BINBYTES */
      return 4;
    default:
      return 0;
  }
}

/* The end of two lines, of GLOBAL. */
static size_t global_end(const fuzz_input *in, size_t at) {
  for (int line = 0; line < 2; line++) {
    const uint8_t *newline = memchr(in->data + at, '\n', in->size - at);
    if (!newline) return in->size;
    at = (size_t)(newline - in->data) + 1;
  }
  return at;
}

static pickle_op read_op(const fuzz_input *in, size_t at) {
  const uint8_t opcode = in->data[at];
  const size_t counted = counted_argument(opcode);
  const int fixed = fixed_argument(opcode);
  const size_t left = in->size - at - 1;
  size_t n = fixed > 0 ? (size_t)fixed : 0;
  if (counted && counted <= left) {
    n = (size_t)fuzz_peek(in->data + at + 1, counted);
  } else if (opcode == 'c') {
    n = global_end(in, at + 1) - at - 1;
  }
  if (n > left - (counted <= left ? counted : 0)) n = 0;
  const size_t head = 1 + (counted <= left ? counted : 0);
  return (pickle_op){{at, head + n}, {at + head, n}, counted};
}

static size_t find_ops(const fuzz_input *in) {
  size_t count = 0;
  for (size_t at = 0; at < in->size && count < FUZZ_MAX_SPANS; count++) {
    ops[count] = read_op(in, at);
    at += ops[count].all.size;
  }
  return count;
}

/* Changes an argument, and its length with it. */
static bool change_argument(fuzz_input *in, const pickle_op *op) {
  const fuzz_span span = op->argument;
  if (op->length_bytes == 0 && in->data[op->all.at] != 'c') {
    if (span.size == 0) return false;
    const uint64_t old = fuzz_peek(in->data + span.at, span.size);
    fuzz_poke(in->data + span.at, (uint64_t)fuzz_integer(in, (int64_t)old),
              span.size);
    return true;
  }
  const size_t before = in->size;
  if (span.size == 0 || !fuzz_mutate_part(in, span, fuzz_mutate_text, 250)) {
    return false;
  }
  fuzz_poke(in->data + op->all.at + 1, span.size + in->size - before,
            op->length_bytes);
  return true;
}

/* Exchanges what is said with an op of the same code: another name for a name,
 * another number for a number, another reference. */
static bool exchange_op(fuzz_input *in, size_t count) {
  const pickle_op a = ops[fuzz_below(in, count)];
  const size_t from = fuzz_below(in, count);
  for (size_t k = 0; k < count; k++) {
    const pickle_op b = ops[(from + k) % count];
    const bool same =
        a.all.size == b.all.size &&
        memcmp(in->data + a.all.at, in->data + b.all.at, a.all.size) == 0;
    if (in->data[a.all.at] == in->data[b.all.at] && !same) {
      return fuzz_splice(in, a.all.at, a.all.size, in->data + b.all.at,
                         b.all.size);
    }
  }
  return false;
}

/* A value in front of an op, or one taken away by it. */
static bool insert_value(fuzz_input *in, size_t at) {
  static const struct {
    const char *bytes;
    size_t size;
  } values[] = {{"N", 1},
                {"\x88", 1},
                {"\x89", 1},
                {"K\x01", 2},
                {"K\xff", 2},
                {"J\xff\xff\xff\xff", 5},
                {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 10},
                {"G\x7f\xf0\0\0\0\0\0\0", 9},
                {"X\x01\0\0\0a", 6},
                {"]", 1},
                {"}", 1},
                {")", 1},
                {"h\0", 2},
                {"h\x01", 2},
                {"]K\x01"
                 "a",
                 4},
                {"}X\x01\0\0\0wK\x01s", 10},
                {"(K\x01K\x02t", 6},
                {"(K\x01K\x02l", 6},
                {"K\x01\x85", 3},
                {"NN\x86", 3},
                {"N0", 2},
                {"Nq\x07", 3},
                {"2", 1}};
  const size_t which = fuzz_below(in, sizeof(values) / sizeof(values[0]));
  return fuzz_splice(in, at, 0, values[which].bytes, values[which].size);
}

/* The value that a short op pushes becomes another. */
static bool replace_value(fuzz_input *in, size_t count) {
  const size_t from = fuzz_below(in, count);
  for (size_t k = 0; k < count; k++) {
    const pickle_op op = ops[(from + k) % count];
    if (strchr("NKMJGUX\x88\x89\x8a]})h", in->data[op.all.at])) {
      return fuzz_splice(in, op.all.at, op.all.size, NULL, 0) &&
             insert_value(in, op.all.at);
    }
  }
  return false;
}

bool fuzz_mutate_pickle(fuzz_input *in) {
  static fuzz_span spans[FUZZ_MAX_SPANS];
  const size_t count = find_ops(in);
  if (count < 3) return false;
  /* The first says the protocol, the last stops. */
  for (size_t i = 1; i + 1 < count; i++) spans[i - 1] = ops[i].all;
  switch (fuzz_below(in, 8)) {
    case 0:
      return fuzz_change_spans(in, spans, count - 2, OPCODES);
    case 1:
      return insert_value(in, ops[1 + fuzz_below(in, count - 1)].all.at);
    case 2:
    case 3:
      return replace_value(in, count);
    case 4:
    case 5:
      return exchange_op(in, count);
    default:
      return change_argument(in, &ops[1 + fuzz_below(in, count - 1)]);
  }
}
