/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ordering.h"

#include <stdbool.h>
#include <string.h>

/* ---- packed items, which all differ ---- */

static inline void order(uint64_t *a, uint64_t *b) {
  const uint64_t x = *a, y = *b;
  *a = x < y ? x : y;
  *b = x < y ? y : x;
}

/* Eight, by a network without branches. */
static void sort_eight(uint64_t *items) {
  uint64_t v[8];
  memcpy(v, items, sizeof(v));
  order(&v[0], &v[2]), order(&v[1], &v[3]), order(&v[4], &v[6]);
  order(&v[5], &v[7]), order(&v[0], &v[4]), order(&v[1], &v[5]);
  order(&v[2], &v[6]), order(&v[3], &v[7]), order(&v[0], &v[1]);
  order(&v[2], &v[3]), order(&v[4], &v[5]), order(&v[6], &v[7]);
  order(&v[2], &v[4]), order(&v[3], &v[5]), order(&v[1], &v[4]);
  order(&v[3], &v[6]), order(&v[1], &v[2]), order(&v[3], &v[4]);
  order(&v[5], &v[6]);
  memcpy(items, v, sizeof(v));
}

/* A run of n and one of m <= n that follows into `to`: from both ends at once,
 * as no run ends within m steps; then what is left between. */
static void merge(const uint64_t *a, size_t n, size_t m, uint64_t *to) {
  const uint64_t *b = a + n, *a_end = b, *b_end = b + m;
  uint64_t *end = to + n + m;
  for (size_t i = 0; i < m; i++) {
    const uint64_t x = *a, y = *b, v = a_end[-1], w = b_end[-1];
    const size_t right = y<x, left = v> w;
    *to++ = right ? y : x;
    *--end = left ? v : w;
    a += 1 - right;
    b += right;
    a_end -= left;
    b_end -= 1 - left;
  }
  while (a < a_end && b < b_end) {
    const size_t right = *b < *a;
    *to++ = right ? *b : *a;
    a += 1 - right;
    b += right;
  }
  memcpy(to, a, (size_t)(a_end - a) * sizeof(*to));
  memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof(*to));
}

enum { EIGHT = 8 };

static uint64_t *merge_packed(uint64_t *items, size_t n) {
  uint64_t *from = items, *to = items + n;
  size_t low = 0;
  for (; low + EIGHT <= n; low += EIGHT) sort_eight(from + low);
  for (size_t i = low + 1; i < n; i++) {
    const uint64_t one = from[i];
    size_t k = i;
    for (; k > low && from[k - 1] > one; k--) from[k] = from[k - 1];
    from[k] = one;
  }
  for (size_t width = EIGHT; width < n; width *= 2) {
    for (low = 0; low < n; low += 2 * width) {
      const size_t left = n - low, first = left < width ? left : width;
      const size_t second = left - first < width ? left - first : width;
      merge(from + low, first, second, to + low);
    }
    uint64_t *t = from;
    from = to;
    to = t;
  }
  return from;
}

enum { DIGIT = 8, DIGITS = 1 << DIGIT, MOST_PASSES = 4 };

/* By the digits of the key, the lowest first. */
static uint64_t *sort_by_digits(uint64_t *items, size_t n, int passes) {
  uint32_t counts[MOST_PASSES][DIGITS] = {{0}};
  uint64_t *from = items, *to = items + n;
  for (size_t i = 0; i < n; i++) {
    const uint32_t key = (uint32_t)(items[i] >> 32);
    counts[0][key & (DIGITS - 1)]++;
    counts[1][key >> 8 & (DIGITS - 1)]++;
    counts[2][key >> 16 & (DIGITS - 1)]++;
    counts[3][key >> 24]++;
  }
  for (int p = 0; p < passes; p++) {
    const int shift = 32 + p * DIGIT;
    if (counts[p][from[0] >> shift & (DIGITS - 1)] == n) continue;
    uint32_t next = 0;
    for (int d = 0; d < DIGITS; d++) {
      const uint32_t count = counts[p][d];
      counts[p][d] = next;
      next += count;
    }
    for (size_t i = 0; i < n; i++) {
      const uint64_t item = from[i];
      to[counts[p][item >> shift & (DIGITS - 1)]++] = item;
    }
    uint64_t *t = from;
    from = to;
    to = t;
  }
  return from;
}

/* Items for each pass, from which on passes are cheaper than merging. */
#define PASS_WORTH 128

uint64_t *bsm_order_packed(uint64_t *items, size_t n, int bits) {
  const int passes = (bits + DIGIT - 1) / DIGIT;
  return n < (size_t)passes * PASS_WORTH ? merge_packed(items, n)
                                         : sort_by_digits(items, n, passes);
}

/* ---- items of any keys ---- */

/* A short run, in place. */
static void sort_run(bsm_ordered *items, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const bsm_ordered one = items[i];
    size_t k = i;
    for (; k > 0 && items[k - 1].key > one.key; k--) items[k] = items[k - 1];
    items[k] = one;
  }
}

#define RUN 8

/* Sorts items by their keys: stable, bottom up, from runs that were sorted in
 * place. `items` has room for 2 n; returns where the result is. */
static bsm_ordered *sort_items(bsm_ordered *items, size_t n) {
  bsm_ordered *from = items, *to = items + n;
  for (size_t low = 0; low < n; low += RUN) {
    sort_run(from + low, n - low < RUN ? n - low : RUN);
  }
  for (size_t width = RUN; width < n; width *= 2) {
    for (size_t low = 0; low < n; low += 2 * width) {
      const size_t mid = low + width < n ? low + width : n;
      const size_t high = low + 2 * width < n ? low + 2 * width : n;
      const bsm_ordered *a = from + low, *b = from + mid;
      const bsm_ordered *const a_end = b, *const b_end = from + high;
      bsm_ordered *next = to + low;
      while (a < a_end && b < b_end) { /* without a branch on the keys */
        const size_t right = b->key < a->key;
        const bsm_ordered *const both[2] = {a, b};
        *next++ = *both[right];
        a += 1 - right;
        b += right;
      }
      memcpy(next, a, (size_t)(a_end - a) * sizeof(*to));
      memcpy(next + (a_end - a), b, (size_t)(b_end - b) * sizeof(*to));
    }
    bsm_ordered *t = from;
    from = to;
    to = t;
  }
  return from;
}

/* Whether a comes behind b. */
static bool is_behind(const bsm_ordered *a, const bsm_ordered *b) {
  return a->key > b->key || (a->key == b->key && a->position > b->position);
}

/* A heap, whose root comes last of all; sinks item i. */
static void sink(bsm_ordered *heap, size_t n, size_t i) {
  const bsm_ordered one = heap[i];
  for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
    if (child + 1 < n && is_behind(&heap[child + 1], &heap[child])) child++;
    if (!is_behind(&heap[child], &one)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = one;
}

void bsm_order_begin(bsm_ordered *first, size_t k) {
  for (size_t i = k / 2; i-- > 0;) sink(first, k, i);
}

void bsm_order_replace(bsm_ordered *first, size_t k, bsm_ordered item) {
  first[0] = item;
  sink(first, k, 0);
}

void bsm_order_end(bsm_ordered *first, size_t k) {
  for (size_t m = k; m-- > 1;) {
    const bsm_ordered last = first[0];
    first[0] = first[m];
    first[m] = last;
    sink(first, m, 0);
  }
}

/* Puts the first k in front, in order. */
static bsm_ordered *select_items(bsm_ordered *items, size_t n, size_t k) {
  bsm_order_begin(items, k);
  for (size_t i = k; i < n; i++) {
    if (items[i].key >= items[0].key) continue; /* the later of equals */
    bsm_order_replace(items, k, items[i]);
  }
  bsm_order_end(items, k);
  return items;
}

/* Sorts items whose keys are less than 2^32 apart, as they mostly are. */
static const bsm_ordered *sort_near(bsm_ordered *items, size_t n,
                                    uint64_t least, uint64_t range) {
  uint64_t *packed = (uint64_t *)(void *)(items + n);
  int bits = 0;
  while (bits < 32 && range >> bits != 0) bits++;
  for (size_t i = 0; i < n; i++) {
    packed[i] = (items[i].key - least) << 32 | i;
  }
  packed = bsm_order_packed(packed, n, bits);
  for (size_t i = 0; i < n; i++) {
    items[i] = (bsm_ordered){least + (packed[i] >> 32),
                             (int64_t)(packed[i] & UINT32_MAX)};
  }
  return items;
}

const bsm_ordered *bsm_order_first(bsm_ordered *items, size_t n, size_t k) {
  if (k < n / BSM_ORDER_FEW) return select_items(items, n, k);
  uint64_t least = UINT64_MAX, most = 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t key = items[i].key;
    least = key < least ? key : least;
    most = key > most ? key : most;
  }
  return most - least < (uint64_t)1 << 32 && n < UINT32_MAX
             ? sort_near(items, n, least, most - least)
             : sort_items(items, n);
}
