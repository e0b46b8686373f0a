/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of strided rows. */
#include "backend/cpu/cpu_strided.h"

#include <string.h>

/* Elements of 16 bytes: complex128. */
typedef struct pair {
  uint64_t part[2];
} pair;

#define COPY(type)                                                         \
  {                                                                        \
    const type *from = (const type *)(const void *)x;                      \
    type *to = (type *)(void *)y;                                          \
    for (int64_t i = 0; i < n; i++) to[i * y_stride] = from[i * x_stride]; \
    return;                                                                \
  }

void bsm_cpu_copy_row(int64_t element, const char *x, int64_t x_stride, char *y,
                      int64_t y_stride, int64_t n) {
  if (x_stride == 1 && y_stride == 1) {
    memmove(y, x, (size_t)(n * element));
    return;
  }
  switch (element) {
    case 1:
      COPY(uint8_t)
    case 2:
      COPY(uint16_t)
    case 4:
      COPY(uint32_t)
    case 8:
      COPY(uint64_t)
    default:
      COPY(pair)
  }
}

void bsm_cpu_copy_space(const bsm_cpu_space *s, int64_t element, const char *x,
                        char *y) {
  const int32_t last = s->rank - 1;
  bsm_cpu_cursor c;
  bsm_cpu_seek(s, 0, &c);
  for (int64_t i = 0; i < s->count; i += s->dims[last]) {
    bsm_cpu_copy_row(element, x + c.offset[1] * element, s->strides[1][last],
                     y + c.offset[0] * element, s->strides[0][last],
                     s->dims[last]);
    bsm_cpu_advance(s, &c, s->dims[last]);
  }
}

#define REPEAT(type)                                      \
  {                                                       \
    type v;                                               \
    type *to = (type *)(void *)y;                         \
    memcpy(&v, value, sizeof(v));                         \
    for (int64_t i = 0; i < n; i++) to[i * y_stride] = v; \
    return;                                               \
  }

void bsm_cpu_repeat(int64_t element, const char *value, char *y,
                    int64_t y_stride, int64_t n) {
  switch (element) {
    case 1:
      REPEAT(uint8_t)
    case 2:
      REPEAT(uint16_t)
    case 4:
      REPEAT(uint32_t)
    default:
      REPEAT(uint64_t)
  }
}
