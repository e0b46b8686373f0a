/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers put in order, with the positions that they had. */
#ifndef BSM_BASE_ORDERING_H_
#define BSM_BASE_ORDERING_H_

#include <stddef.h>
#include <stdint.h>

/* A position, and a number that orders as its element does. */
typedef struct bsm_ordered {
  uint64_t key;
  int64_t position;
} bsm_ordered;

#define BSM_ORDER_SIGN ((uint64_t)1 << 63)
/* Fewer than this share of all are selected, not sorted. */
#define BSM_ORDER_FEW 8

/* The key of an integer. */
static inline uint64_t bsm_order_of_integer(int64_t x) {
  return (uint64_t)x ^ BSM_ORDER_SIGN;
}

/* The key of a double: -0 and 0 have the same, and so have all NaN, which are
 * the largest. */
static inline uint64_t bsm_order_of_double(double x) {
  union {
    double d;
    uint64_t u;
  } bits = {.d = x + 0.0};
  if (x != x) return UINT64_MAX;
  return bits.u & BSM_ORDER_SIGN ? ~bits.u : bits.u | BSM_ORDER_SIGN;
}

/* The same for a float, in 32 bits. */
static inline uint32_t bsm_order_of_float(float x) {
  union {
    float f;
    uint32_t u;
  } bits = {.f = x + 0.0f};
  const uint32_t sign = (uint32_t)1 << 31;
  if (x != x) return UINT32_MAX;
  return bits.u & sign ? ~bits.u : bits.u | sign;
}

/* Keys below 2^bits, at most 32, over positions that ascend: sorts n < 2^32 of
 * them. `items` has room for 2 n; returns where the result is. */
static inline uint64_t bsm_order_pack(uint32_t key, size_t position) {
  return (uint64_t)key << 32 | (uint32_t)position;
}
uint64_t *bsm_order_packed(uint64_t *items, size_t n, int bits);

/* The first k <= n of n items in ascending order of their keys, those with
 * equal keys as they were; the position of item i is i. `items` has room for
 * 2 n; returns where the result is. */
const bsm_ordered *bsm_order_first(bsm_ordered *items, size_t n, size_t k);

/* The same for items that come one by one, when k is small beside n: `first`
 * holds the first k that came, and then those whose keys are less. */
void bsm_order_begin(bsm_ordered *first, size_t k);
/* The item's key is less than that of first[0], which it takes the place of;
 * first[0] comes last of all again. */
void bsm_order_replace(bsm_ordered *first, size_t k, bsm_ordered item);
void bsm_order_end(bsm_ordered *first, size_t k);

#endif /* BSM_BASE_ORDERING_H_ */
