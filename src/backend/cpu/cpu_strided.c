/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of strided rows. */
#include "backend/cpu/cpu_strided.h"

#include <string.h>

#include "base/byte_order.h"

#define SHORT_ROW 8

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

/* A tile at a time: both sides stay in the first-level cache. */
#define TILE 16
#define TRANSPOSE(type)                                       \
  {                                                           \
    const type *from = (const type *)(const void *)x;         \
    type *to = (type *)(void *)y;                             \
    for (int64_t a = 0; a < rows; a += TILE) {                \
      const int64_t a_end = bsm_cpu_min(a + TILE, rows);      \
      for (int64_t b = 0; b < columns; b += TILE) {           \
        const int64_t b_end = bsm_cpu_min(b + TILE, columns); \
        for (int64_t i = a; i < a_end; i++) {                 \
          for (int64_t j = b; j < b_end; j++) {               \
            to[i * y_stride + j] = from[j * x_stride + i];    \
          }                                                   \
        }                                                     \
      }                                                       \
    }                                                         \
    return;                                                   \
  }

/* Three rows of bytes, `stride` apart, as n pixels: four at once in words,
 * where the first byte of a word is its lowest. */
static void interleave_three(const uint8_t *x, int64_t stride, uint8_t *y,
                             int64_t n) {
  int64_t i = 0;
  for (; !BSM_HOST_IS_BIG && i + 4 <= n; i += 4, y += 12) {
    uint32_t a, b, c;
    memcpy(&a, x + i, sizeof(a));
    memcpy(&b, x + stride + i, sizeof(b));
    memcpy(&c, x + 2 * stride + i, sizeof(c));
    const uint32_t words[3] = {
        (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | (a & 0xff00) << 16,
        (b >> 8 & 0xff) | (c & 0xff00) | (a & 0xff0000) | (b & 0xff0000) << 8,
        (c >> 16 & 0xff) | a >> 24 << 8 | b >> 24 << 16 | (c & 0xff000000)};
    memcpy(y, words, sizeof(words));
  }
  for (; i < n; i++, y += 3) {
    for (int64_t k = 0; k < 3; k++) y[k] = x[k * stride + i];
  }
}

/* The same of elements of 16 bits. */
static void interleave_three_halves(const uint16_t *x, int64_t stride,
                                    uint16_t *y, int64_t n) {
  int64_t i = 0;
  for (; !BSM_HOST_IS_BIG && i + 4 <= n; i += 4, y += 12) {
    const uint64_t low = 0xffff;
    uint64_t a, b, c;
    memcpy(&a, x + i, sizeof(a));
    memcpy(&b, x + stride + i, sizeof(b));
    memcpy(&c, x + 2 * stride + i, sizeof(c));
    const uint64_t words[3] = {
        (a & low) | (b & low) << 16 | (c & low) << 32 | (a & low << 16) << 32,
        (b >> 16 & low) | (c & low << 16) | (a & low << 32) |
            (b & low << 32) << 16,
        (c >> 32 & low) | a >> 48 << 16 | b >> 48 << 32 | (c & low << 48)};
    memcpy(y, words, sizeof(words));
  }
  for (; i < n; i++, y += 3) {
    for (int64_t k = 0; k < 3; k++) y[k] = x[k * stride + i];
  }
}

void bsm_cpu_transpose(const bsm_k_rows *k, int64_t element, const char *x,
                       int64_t x_stride, char *y, int64_t y_stride,
                       int64_t rows, int64_t columns) {
  if (element == 1 && columns == 3 && y_stride == 3) {
    interleave_three((const uint8_t *)x, x_stride, (uint8_t *)y, rows);
    return;
  }
  if (element == 2 && columns == 3 && y_stride == 3) {
    interleave_three_halves((const uint16_t *)(const void *)x, x_stride,
                            (uint16_t *)(void *)y, rows);
    return;
  }
  switch (element) {
    case 1:
      TRANSPOSE(uint8_t)
    case 2:
      TRANSPOSE(uint16_t)
    case 4:
      k->transpose((const float *)(const void *)x, x_stride, (float *)(void *)y,
                   y_stride, rows, columns);
      return;
    case 8:
      TRANSPOSE(uint64_t)
    default:
      TRANSPOSE(pair)
  }
}

void bsm_cpu_copy_rows(int64_t element, const char *x, const int64_t *x_stride,
                       char *y, const int64_t *y_stride, const int64_t *dims) {
  for (int64_t j = 0; dims[1] < SHORT_ROW && dims[1] < dims[0]; j++) {
    if (j == dims[1]) return;
    bsm_cpu_copy_row(element, x + j * x_stride[1] * element, x_stride[0],
                     y + j * y_stride[1] * element, y_stride[0], dims[0]);
  }
  for (int64_t i = 0; i < dims[0]; i++) {
    bsm_cpu_copy_row(element, x + i * x_stride[0] * element, x_stride[1],
                     y + i * y_stride[0] * element, y_stride[1], dims[1]);
  }
}

/* The dimension, beside the last one, that x is contiguous along and that is
 * long enough for squares; -1 when there is none. */
static int32_t square_side(const bsm_cpu_space *s) {
  const int32_t last = s->rank - 1;
  if (s->strides[0][last] != 1 || s->strides[1][last] == 1 ||
      s->dims[last] < 4) {
    return -1;
  }
  for (int32_t i = 0; i < last; i++) {
    if (s->strides[1][i] == 1 && s->dims[i] >= 4) return i;
  }
  return -1;
}

/* Puts dimension i behind the others but the last. */
static void bring_inside(bsm_cpu_space *s, int32_t i) {
  for (; i < s->rank - 2; i++) {
    const int64_t d = s->dims[i];
    s->dims[i] = s->dims[i + 1];
    s->dims[i + 1] = d;
    for (int k = 0; k < s->operands; k++) {
      const int64_t t = s->strides[k][i];
      s->strides[k][i] = s->strides[k][i + 1];
      s->strides[k][i + 1] = t;
    }
  }
}

/* The longest of the outer dimensions goes inside, so that there are few
 * steps outside of it. */
static int32_t longest_outer(const bsm_cpu_space *s) {
  int32_t best = s->rank - 2;
  for (int32_t i = s->rank - 3; i >= 0; i--) {
    if (s->dims[i] > 4 * s->dims[best]) best = i;
  }
  return best;
}

void bsm_cpu_copy_box(const bsm_k_rows *rows, bsm_cpu_space *s, int64_t element,
                      const char *x, char *y) {
  bsm_cpu_cursor c;
  bsm_cpu_space_reduce(s, true);
  if (s->count == 0) return;
  const int32_t last = s->rank - 1;
  if (last == 0) {
    bsm_cpu_copy_row(element, x, s->strides[1][0], y, s->strides[0][0],
                     s->dims[0]);
    return;
  }
  const int32_t side = square_side(s);
  bring_inside(s, side < 0 ? longest_outer(s) : side);
  const int64_t *dims = s->dims + last - 1;
  const int64_t *ys = s->strides[0] + last - 1, *xs = s->strides[1] + last - 1;
  const int64_t size = dims[0] * dims[1];
  bsm_cpu_seek(s, 0, &c);
  for (int64_t i = 0; i < s->count; i += size) {
    const char *from = x + c.offset[1] * element;
    char *to = y + c.offset[0] * element;
    if (side < 0) {
      bsm_cpu_copy_rows(element, from, xs, to, ys, dims);
    } else {
      bsm_cpu_transpose(rows, element, from, xs[1], to, ys[0], dims[0],
                        dims[1]);
    }
    if (last > 1) bsm_cpu_move(s, &c, last - 2, 1);
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
