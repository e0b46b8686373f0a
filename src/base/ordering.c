/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ordering.h"

#include <stdbool.h>
#include <string.h>

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

const bsm_ordered *bsm_order_first(bsm_ordered *items, size_t n, size_t k) {
  return k < n / BSM_ORDER_FEW ? select_items(items, n, k)
                               : sort_items(items, n);
}
