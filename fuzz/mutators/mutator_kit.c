/* SPDX-License-Identifier: Apache-2.0 */
/* What all mutators use: random numbers, splices, and changes of lists. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"

enum { POOLED = 64, POOLED_BYTES = 160 };

/* Pieces of earlier inputs: one input alone has few different ones. */
typedef struct piece {
  uint8_t bytes[POOLED_BYTES];
  size_t size;
} piece;

static piece pools[FUZZ_POOLS][POOLED];

size_t fuzz_below(fuzz_input *in, size_t n) {
  uint64_t x = in->random ? in->random : UINT64_C(0x9e3779b97f4a7c15);
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  in->random = x;
  return n ? (size_t)((x * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % n : 0;
}

bool fuzz_splice(fuzz_input *in, size_t at, size_t removed, const void *bytes,
                 size_t n) {
  if (at > in->size || removed > in->size - at) return false;
  const size_t rest = in->size - at - removed;
  if (n > in->room || at + rest > in->room - n) return false;
  uint8_t *copy = malloc(n ? n : 1);
  if (!copy) return false;
  if (n) memcpy(copy, bytes, n);
  memmove(in->data + at + n, in->data + at + removed, rest);
  if (n) memcpy(in->data + at, copy, n);
  free(copy);
  in->size = at + n + rest;
  return true;
}

/* The spans that are taken away or moved come later than `at`, or earlier. */
static bool move_span(fuzz_input *in, fuzz_span from, size_t at) {
  uint8_t *copy = malloc(from.size ? from.size : 1);
  if (!copy) return false;
  memcpy(copy, in->data + from.at, from.size);
  bool moved = fuzz_splice(in, from.at, from.size, NULL, 0);
  if (at > from.at) at -= from.size;
  moved = moved && fuzz_splice(in, at, 0, copy, from.size);
  free(copy);
  return moved;
}

static piece *pooled(fuzz_input *in, const fuzz_span *spans, size_t count,
                     size_t kind) {
  const fuzz_span keep = spans[fuzz_below(in, count)];
  piece *put = &pools[kind][fuzz_below(in, POOLED)];
  if (keep.size && keep.size <= POOLED_BYTES) {
    memcpy(put->bytes, in->data + keep.at, keep.size);
    put->size = keep.size;
  }
  return &pools[kind][fuzz_below(in, POOLED)];
}

bool fuzz_change_spans(fuzz_input *in, const fuzz_span *spans, size_t count,
                       size_t kind) {
  if (count == 0) return false;
  const piece *old = pooled(in, spans, count, kind);
  const fuzz_span a = spans[fuzz_below(in, count)];
  const fuzz_span b = spans[fuzz_below(in, count)];
  switch (fuzz_below(in, 8)) {
    case 0:
      return fuzz_splice(in, a.at, a.size, NULL, 0);
    case 1:
      return fuzz_splice(in, a.at, 0, in->data + a.at, a.size);
    case 2:
      return fuzz_splice(in, b.at, 0, in->data + a.at, a.size);
    case 3:
      return a.at != b.at && move_span(in, a, b.at);
    case 4:
    case 5:
      return old->size && fuzz_splice(in, a.at, a.size, old->bytes, old->size);
    default:
      return fuzz_splice(in, a.at, a.size, in->data + b.at, b.size);
  }
}

bool fuzz_change_bytes(fuzz_input *in, fuzz_span span) {
  const size_t room = span.size + 16;
  uint8_t *copy = malloc(room);
  if (!copy) return false;
  if (span.size) memcpy(copy, in->data + span.at, span.size);
  const size_t n = LLVMFuzzerMutate(copy, span.size, room);
  const bool changed = fuzz_splice(in, span.at, span.size, copy, n);
  free(copy);
  return changed;
}

int64_t fuzz_integer(fuzz_input *in, int64_t old) {
  static const int64_t odd[] = {0,
                                1,
                                -1,
                                2,
                                3,
                                7,
                                8,
                                64,
                                255,
                                256,
                                65535,
                                65536,
                                INT32_MAX,
                                INT32_MIN,
                                INT64_C(1) << 32,
                                INT64_C(1) << 40,
                                INT64_MAX,
                                INT64_MIN};
  const uint64_t u = (uint64_t)old;
  switch (fuzz_below(in, 5)) {
    case 0:
      return (int64_t)(u + 1);
    case 1:
      return (int64_t)(u - 1);
    case 2:
      return (int64_t)(u * 2);
    case 3:
      return (int64_t)fuzz_below(in, 16);
    default:
      return odd[fuzz_below(in, sizeof(odd) / sizeof(odd[0]))];
  }
}

void fuzz_poke(uint8_t *at, uint64_t value, size_t n) {
  for (size_t i = 0; i < n; i++) at[i] = (uint8_t)(value >> (8 * i));
}

uint64_t fuzz_peek(const uint8_t *at, size_t n) {
  uint64_t value = 0;
  for (size_t i = 0; i < n; i++) value |= (uint64_t)at[i] << (8 * i);
  return value;
}
