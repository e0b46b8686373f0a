/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the kernels of typed_gemm.h, in the compiler's vectors:
 *
 *   TYPED_GEMM(name, type, bytes, width, rows, madd)
 *
 * defines name_tile and name_multiply_add for elements of `type` in vectors of
 * `bytes`, tiles of `rows` rows, in passes of `width` columns of the panel;
 * madd(a, b, c) is a * b + c. Tiles are constants of each instance, so that
 * the sums stay in registers. */
#include "backend/cpu/kernels/typed_gemm/typed_gemm.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define PLAIN_MADD(a, b, c) ((a) * (b) + (c))

/* `max_rows` is one of 2, 3, 6, 8; fewer rows are instances of their own. */
#define ROW_CASE(name, n, max_rows)                         \
  case (n) < (max_rows) ? (n):                              \
    100 + (n) : name##_rows(t, (n) < (max_rows) ? (n) : 1); \
    break;

#define TYPED_GEMM(name, type, bytes, width, max_rows, madd)                  \
  typedef type name##_vec                                                     \
      __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias));  \
  static inline __attribute__((always_inline)) void name##_pass(              \
      const bsm_k_typed_gemm_args *t, const int rows, int64_t column) {       \
    enum { lanes = (bytes) / (int)sizeof(type), vectors = (width) / lanes };  \
    name##_vec sums[max_rows][vectors];                                       \
    UNROLL for (int i = 0; i < rows; i++) {                                   \
      const type *from = (const type *)t->sums + i * t->sums_stride + column; \
      UNROLL for (int v = 0; v < vectors; v++) {                              \
        sums[i][v] = t->accumulate ? *(const name##_vec *)(from + v * lanes)  \
                                   : (name##_vec){0};                         \
      }                                                                       \
    }                                                                         \
    const type *a = t->a, *b = (const type *)t->b + column;                   \
    for (int64_t k = 0; k < t->k; k++, b += BSM_K_TYPED_PANEL) {              \
      name##_vec row[vectors];                                                \
      UNROLL for (int v = 0; v < vectors; v++) {                              \
        row[v] = *(const name##_vec *)(b + v * lanes);                        \
      }                                                                       \
      UNROLL for (int i = 0; i < rows; i++) {                                 \
        const name##_vec x = a[i * t->a_stride + k] - (name##_vec){0};        \
        UNROLL for (int v = 0; v < vectors; v++) {                            \
          sums[i][v] = madd(x, row[v], sums[i][v]);                           \
        }                                                                     \
      }                                                                       \
    }                                                                         \
    UNROLL for (int i = 0; i < rows; i++) {                                   \
      type *to = (type *)t->sums + i * t->sums_stride + column;               \
      UNROLL for (int v = 0; v < vectors; v++) {                              \
        *(name##_vec *)(to + v * lanes) = sums[i][v];                         \
      }                                                                       \
    }                                                                         \
  }                                                                           \
  static inline __attribute__((always_inline)) void name##_rows(              \
      const bsm_k_typed_gemm_args *t, const int rows) {                       \
    for (int64_t column = 0; column < BSM_K_TYPED_PANEL; column += (width)) { \
      name##_pass(t, rows, column);                                           \
    }                                                                         \
  }                                                                           \
  static void name##_tile(const bsm_k_typed_gemm_args *t) {                   \
    switch (t->rows) {                                                        \
      ROW_CASE(name, 1, max_rows)                                             \
      ROW_CASE(name, 2, max_rows)                                             \
      ROW_CASE(name, 3, max_rows)                                             \
      ROW_CASE(name, 4, max_rows)                                             \
      ROW_CASE(name, 5, max_rows)                                             \
      ROW_CASE(name, 6, max_rows)                                             \
      ROW_CASE(name, 7, max_rows)                                             \
      default:                                                                \
        name##_rows(t, max_rows);                                             \
    }                                                                         \
  }                                                                           \
  static void name##_multiply_add(const void *px, const void *pw, int64_t n,  \
                                  void *psums) {                              \
    enum { lanes = (bytes) / (int)sizeof(type) };                             \
    const type *x = px, *w = pw;                                              \
    type *sums = psums;                                                       \
    int64_t i = 0;                                                            \
    for (; i + lanes <= n; i += lanes) {                                      \
      name##_vec *to = (name##_vec *)(sums + i);                              \
      *to = madd(*(const name##_vec *)(x + i), *(const name##_vec *)(w + i),  \
                 *to);                                                        \
    }                                                                         \
    for (; i < n; i++) {                                                      \
      name##_vec a = {x[i]}, b = {w[i]}, c = {sums[i]};                       \
      c = madd(a, b, c);                                                      \
      sums[i] = c[0];                                                         \
    }                                                                         \
  }

#define TYPED_ROW(name, text, max_rows) \
  { text, max_rows, name##_tile, name##_multiply_add }
