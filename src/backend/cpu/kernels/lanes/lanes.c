/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of columns. */
#include "backend/cpu/kernels/lanes/lanes.h"

#include <math.h>

/* One operation over all rows: `a` is the total so far, `v` the element. */
#define EACH(type, value)                                    \
  for (int64_t r = 0; r < rows; r++) {                       \
    const type *restrict row = x + r * stride;               \
    for (int64_t i = 0; i < n; i++) {                        \
      const total_type v = (total_type)row[i], a = total[i]; \
      total[i] = (value);                                    \
    }                                                        \
  }                                                          \
  return;

#define FLOATING(name, type)                                                \
  void name(bsm_k_lanes_op op, const type *x, int64_t stride, int64_t rows, \
            int64_t n, const double *mean, double *restrict total) {        \
    typedef double total_type;                                              \
    switch (op) {                                                           \
      case BSM_K_LANES_SUM:                                                 \
        EACH(type, a + v)                                                   \
      case BSM_K_LANES_PROD:                                                \
        EACH(type, a *v)                                                    \
      case BSM_K_LANES_MAX:                                                 \
        EACH(type, a >= v || a != a ? a : v)                                \
      case BSM_K_LANES_MIN:                                                 \
        EACH(type, a <= v || a != a ? a : v)                                \
      case BSM_K_LANES_ANY:                                                 \
        EACH(type, v != 0.0 ? 1.0 : a)                                      \
      case BSM_K_LANES_ALL:                                                 \
        EACH(type, v != 0.0 ? a : 0.0)                                      \
      case BSM_K_LANES_ABS:                                                 \
        EACH(type, a + fabs(v))                                             \
      case BSM_K_LANES_SQUARES:                                             \
        EACH(type, a + (v - mean[i]) * (v - mean[i]))                       \
    }                                                                       \
  }
FLOATING(bsm_k_lanes_f32, float)
FLOATING(bsm_k_lanes_f64, double)

void bsm_k_lanes_i64(bsm_k_lanes_op op, const int64_t *x, int64_t stride,
                     int64_t rows, int64_t n, int64_t *restrict total) {
  typedef int64_t total_type;
#define WRAPPED(expression) (int64_t)(expression)
#define U(x) ((uint64_t)(x))
  switch (op) {
    case BSM_K_LANES_SUM:
      EACH(int64_t, WRAPPED(U(a) + U(v)))
    case BSM_K_LANES_PROD:
      EACH(int64_t, WRAPPED(U(a) * U(v)))
    case BSM_K_LANES_MAX:
      EACH(int64_t, a >= v ? a : v)
    case BSM_K_LANES_MIN:
      EACH(int64_t, a <= v ? a : v)
    case BSM_K_LANES_ANY:
      EACH(int64_t, v != 0 ? 1 : a)
    case BSM_K_LANES_ALL:
      EACH(int64_t, v != 0 ? a : 0)
    case BSM_K_LANES_ABS:
      EACH(int64_t, WRAPPED(U(a) + (v < 0 ? 0u - U(v) : U(v))))
    case BSM_K_LANES_SQUARES:
      EACH(int64_t, WRAPPED(U(a) + U(v) * U(v)))
  }
}

/* ---- integers side by side ---- */

/* Elements whose sum fits into 32 bits when they have 16. */
#define PIECE 16384

/* part_type: of the sums of pieces. */
#define ROW_OF(name, type, part_type)                         \
  int64_t name(bsm_k_lanes_op op, const type *x, int64_t n) { \
    uint64_t total = 0;                                       \
    type best = x[0];                                         \
    if (op == BSM_K_LANES_MAX) {                              \
      for (int64_t i = 0; i < n; i++) {                       \
        best = x[i] > best ? x[i] : best;                     \
      }                                                       \
      return best;                                            \
    }                                                         \
    if (op == BSM_K_LANES_MIN) {                              \
      for (int64_t i = 0; i < n; i++) {                       \
        best = x[i] < best ? x[i] : best;                     \
      }                                                       \
      return best;                                            \
    }                                                         \
    for (int64_t at = 0; at < n; at += PIECE) {               \
      const int64_t end = n - at < PIECE ? n : at + PIECE;    \
      part_type part = 0;                                     \
      for (int64_t i = at; i < end; i++) {                    \
        part = (part_type)(part + (part_type)x[i]);           \
      }                                                       \
      total += (uint64_t)part;                                \
    }                                                         \
    return (int64_t)total;                                    \
  }
ROW_OF(bsm_k_row_u8, uint8_t, int32_t)
ROW_OF(bsm_k_row_i8, int8_t, int32_t)
ROW_OF(bsm_k_row_i16, int16_t, int32_t)
ROW_OF(bsm_k_row_i32, int32_t, int64_t)
ROW_OF(bsm_k_row_i64, int64_t, uint64_t)

int64_t bsm_k_row_truth(const uint8_t *x, int64_t n) {
  int64_t total = 0;
  for (int64_t at = 0; at < n; at += PIECE) {
    const int64_t end = n - at < PIECE ? n : at + PIECE;
    int32_t part = 0;
    for (int64_t i = at; i < end; i++) part += x[i] != 0;
    total += part;
  }
  return total;
}
