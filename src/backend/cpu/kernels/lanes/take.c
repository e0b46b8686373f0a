/* SPDX-License-Identifier: Apache-2.0 */
/* Elements from places that others name. */
#include "backend/cpu/kernels/lanes/take.h"

#define TAKE(type)                                        \
  {                                                       \
    const type *x = from;                                 \
    type *y = to;                                         \
    if (to_stride == 1 && from_stride == 0) {             \
      for (int64_t i = 0; i < n; i++) y[i] = x[place[i]]; \
      return;                                             \
    }                                                     \
    for (int64_t i = 0; i < n; i++) {                     \
      y[i * to_stride] = x[i * from_stride + place[i]];   \
    }                                                     \
    return;                                               \
  }

void bsm_k_take(int64_t element, const void *from, int64_t from_stride,
                const int64_t *place, int64_t n, void *to, int64_t to_stride) {
  switch (element) {
    case 1:
      TAKE(uint8_t)
    case 2:
      TAKE(uint16_t)
    case 4:
      TAKE(uint32_t)
    default:
      TAKE(uint64_t)
  }
}

int bsm_k_direction(const int64_t *place, int64_t n) {
  const uint64_t step = n > 1 ? (uint64_t)place[1] - (uint64_t)place[0] : 0;
  uint64_t other = 0;
  for (int64_t i = 1; i < n; i++) {
    other |= ((uint64_t)place[i] - (uint64_t)place[i - 1]) ^ step;
  }
  return other ? 0 : step == 1 ? 1 : step + 1 == 0 ? -1 : 0;
}

#define REVERSE(type)                             \
  {                                               \
    const type *x = from;                         \
    type *y = to;                                 \
    for (int64_t i = 0; i < n; i++) y[i] = x[-i]; \
    return;                                       \
  }

void bsm_k_reverse(int64_t element, const void *from, int64_t n, void *to) {
  switch (element) {
    case 1:
      REVERSE(uint8_t)
    case 2:
      REVERSE(uint16_t)
    case 4:
      REVERSE(uint32_t)
    default:
      REVERSE(uint64_t)
  }
}

/* Below 0 is one of both where an index is outside. */
bool bsm_k_are_inside(const int64_t *index, int64_t n, int64_t size) {
  uint64_t outside = 0;
  for (int64_t i = 0; i < n; i++) {
    const uint64_t k = (uint64_t)index[i];
    outside |= k | ((uint64_t)size - 1 - k);
  }
  return outside >> 63 == 0;
}

#define PUT(type)                                                     \
  {                                                                   \
    const type *x = from;                                             \
    type *y = to;                                                     \
    for (int64_t i = 0; i < n; i++) y[place[i]] = x[i * from_stride]; \
    return;                                                           \
  }

void bsm_k_put(int64_t element, const void *from, int64_t from_stride,
               const int64_t *place, int64_t n, void *to) {
  switch (element) {
    case 1:
      PUT(uint8_t)
    case 2:
      PUT(uint16_t)
    case 4:
      PUT(uint32_t)
    default:
      PUT(uint64_t)
  }
}

void bsm_k_add_at(const float *from, int64_t from_stride, const int64_t *place,
                  int64_t n, float *to) {
  for (int64_t i = 0; i < n; i++) to[place[i]] += from[i * from_stride];
}

#define PLACES(name, type)                                               \
  int64_t name(const type *index, int64_t index_stride, int64_t n,       \
               int64_t size, int64_t stride, int wrap, int64_t *place) { \
    const int64_t end = wrap ? size : 0;                                 \
    int64_t outside = 0;                                                 \
    for (int64_t i = 0; i < n; i++) {                                    \
      int64_t k = index[i * index_stride];                               \
      k += k < 0 ? end : 0;                                              \
      const int64_t out = (uint64_t)k >= (uint64_t)size;                 \
      outside += out;                                                    \
      place[i] = out ? 0 : k * stride;                                   \
    }                                                                    \
    return outside;                                                      \
  }
PLACES(bsm_k_places_i64, int64_t)
PLACES(bsm_k_places_i32, int32_t)

#define TAKE_AT(type)                                 \
  {                                                   \
    const type *x = from;                             \
    type *y = to;                                     \
    for (int64_t i = 0; i < n; i++) {                 \
      const int64_t k = index[i];                     \
      y[i] = x[(uint64_t)k < (uint64_t)size ? k : 0]; \
    }                                                 \
    return;                                           \
  }

void bsm_k_take_at(int64_t element, const void *from, const int64_t *index,
                   int64_t n, int64_t size, void *to) {
  switch (element) {
    case 1:
      TAKE_AT(uint8_t)
    case 2:
      TAKE_AT(uint16_t)
    case 4:
      TAKE_AT(uint32_t)
    default:
      TAKE_AT(uint64_t)
  }
}

void bsm_k_double(const float *x, int64_t n, float *y) {
  for (int64_t i = 0; i < n; i++) {
    y[2 * i] = x[i];
    y[2 * i + 1] = x[i];
  }
}

void bsm_k_blend(const float *x, const int32_t *place, const float *weight,
                 int taps, int64_t n, float *y) {
  const int32_t *p = place;
  const float *w = weight;
  if (taps == 1) {
    for (int64_t i = 0; i < n; i++) y[i] = x[p[i]];
  } else if (taps == 2) {
    for (int64_t i = 0; i < n; i++) {
      y[i] = w[i] * x[p[i]] + w[n + i] * x[p[n + i]];
    }
  } else {
    for (int64_t i = 0; i < n; i++) {
      y[i] = (w[i] * x[p[i]] + w[n + i] * x[p[n + i]]) +
             (w[2 * n + i] * x[p[2 * n + i]] + w[3 * n + i] * x[p[3 * n + i]]);
    }
  }
}
