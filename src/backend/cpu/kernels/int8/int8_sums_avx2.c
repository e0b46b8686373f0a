/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of products of bytes with AVX2, 3 x 16: `vpmaddubsw` sums pairs of
 * products in int16, and as many of these are added there as `level` says
 * before they become int32. That no sum saturates is a matter of B
 * (bsm_k_int8_rest), whose rest is multiplied apart: each column takes its own
 * pairs of the bytes of a row. */
#include <immintrin.h>

#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define INLINE static inline __attribute__((always_inline))
#define ROWS 3
#define LANES 8
#define VECTORS (BSM_K_INT8_PANEL / LANES)
#define DEPTH BSM_K_INT8_DEPTH
#define GROUP (BSM_K_INT8_PANEL * DEPTH) /* bytes of B */

extern void bsm_k_int8_sums_avx2(const bsm_k_int8_tile *args);

INLINE __m256i load(const void *p) {
  return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void store(void *p, __m256i v) {
  _mm256_storeu_si256((__m256i *)p, v);
}

INLINE __m256i splat(const uint8_t *p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return _mm256_set1_epi32(four);
}

INLINE __m256i add_pairs(__m256i sums, __m256i pairs) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/* ---- products ---- */

/* `level` groups along K of all rows. */
INLINE void multiply_groups(const uint8_t *const *a, int64_t k, const int8_t *b,
                            __m256i (*sums)[VECTORS], const int rows,
                            const int level) {
  UNROLL for (int i = 0; i < rows; i++) {
    __m256i pairs[VECTORS];
    UNROLL for (int g = 0; g < level; g++) {
      const __m256i x = splat(a[i] + k + g * DEPTH);
      UNROLL for (int j = 0; j < VECTORS; j++) {
        const __m256i p =
            _mm256_maddubs_epi16(x, load(b + g * GROUP + j * LANES * DEPTH));
        pairs[j] = g ? _mm256_add_epi16(pairs[j], p) : p;
      }
    }
    UNROLL for (int j = 0; j < VECTORS; j++) {
      sums[i][j] = add_pairs(sums[i][j], pairs[j]);
    }
  }
}

INLINE void multiply(const bsm_k_int8_tile *t, int64_t first, int64_t panel,
                     const int rows, const int level) {
  __m256i sums[ROWS][VECTORS];
  const int8_t *b = t->b + panel * t->b_panel;
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < VECTORS; j++) {
      sums[i][j] = load(t->offset + panel * BSM_K_INT8_PANEL + j * LANES);
    }
  }
  for (int64_t tap = 0; tap < t->taps; tap++) {
    const uint8_t *a[ROWS];
    UNROLL for (int i = 0; i < rows; i++) {
      a[i] = t->a[tap * t->rows + first + i];
    }
    int64_t g = 0;
    for (; g + level <= t->groups; g += level, b += level * GROUP) {
      multiply_groups(a, g * DEPTH, b, sums, rows, level);
    }
    for (; level > 1 && g < t->groups; g++, b += GROUP) {
      multiply_groups(a, g * DEPTH, b, sums, rows, 1);
    }
  }
  int32_t *to =
      t->sums + first * BSM_K_INT8_MAX_COLUMNS + panel * BSM_K_INT8_PANEL;
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < VECTORS; j++) {
      store(to + i * BSM_K_INT8_MAX_COLUMNS + j * LANES, sums[i][j]);
    }
  }
}

INLINE void multiply_all(const bsm_k_int8_tile *t, const int level) {
  for (int64_t panel = 0; panel < t->panels; panel++) {
    int64_t row = 0;
    for (; row + ROWS <= t->rows; row += ROWS) {
      multiply(t, row, panel, ROWS, level);
    }
    for (; row < t->rows; row++) multiply(t, row, panel, 1, level);
  }
}

/* ---- the rest ---- */

#define REST_ROWS 6

/* 16 bytes of a row from p on, twice; `few`: there are less, behind which
 * nothing is read. */
INLINE __m256i load_window(const uint8_t *p, __m128i mask, const bool few) {
  return _mm256_broadcastsi128_si256(
      few ? _mm_maskload_epi32((const int *)(const void *)p, mask)
          : _mm_loadu_si128((const __m128i *)(const void *)p));
}

/* An entry of the rest. */
typedef struct entry {
  const uint8_t *const *a; /* rows of its tap */
  int64_t offset;
  __m256i b, order;
} entry;

INLINE entry entry_at(const bsm_k_int8_tile *t, int64_t first, int32_t e) {
  const bsm_k_int8_place *p = t->rest.places + e;
  const int64_t at = (int64_t)e * LANES * DEPTH;
  return (entry){t->a + p->tap * t->rows + first, p->offset,
                 load(t->rest.b + at), load(t->rest.order + at)};
}

INLINE __m256i pairs_of(const entry *e, int row, __m128i mask, const bool few) {
  const __m256i x = load_window(e->a[row] + e->offset, mask, few);
  return _mm256_maddubs_epi16(_mm256_shuffle_epi8(x, e->order), e->b);
}

/* What is missing in the sums of a unit of columns, two entries at once. */
INLINE void add_rest(const bsm_k_int8_tile *t, int64_t first, int64_t unit,
                     const int rows, const bool few) {
  const __m128i mask = _mm_cmpgt_epi32(_mm_set1_epi32((int)t->groups),
                                       _mm_setr_epi32(0, 1, 2, 3));
  const int32_t end = t->rest.first[unit + 1];
  int32_t *to = t->sums + first * BSM_K_INT8_MAX_COLUMNS + unit * LANES;
  __m256i sums[REST_ROWS];
  UNROLL for (int i = 0; i < rows; i++) {
    sums[i] = load(to + i * BSM_K_INT8_MAX_COLUMNS);
  }
  for (int32_t e = t->rest.first[unit]; e < end; e += 2) {
    const entry one = entry_at(t, first, e), other = entry_at(t, first, e + 1);
    UNROLL for (int i = 0; i < rows; i++) {
      sums[i] =
          add_pairs(sums[i], _mm256_add_epi16(pairs_of(&one, i, mask, few),
                                              pairs_of(&other, i, mask, few)));
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    store(to + i * BSM_K_INT8_MAX_COLUMNS, sums[i]);
  }
}

INLINE void add_rests(const bsm_k_int8_tile *t, const bool few) {
  for (int64_t unit = 0; unit < t->panels * VECTORS; unit++) {
    if (t->rest.first[unit] == t->rest.first[unit + 1]) continue;
    int64_t row = 0;
    for (; row + REST_ROWS <= t->rows; row += REST_ROWS) {
      add_rest(t, row, unit, REST_ROWS, few);
    }
    for (; row < t->rows; row++) add_rest(t, row, unit, 1, few);
  }
}

void bsm_k_int8_sums_avx2(const bsm_k_int8_tile *t) {
  if (t->level == 4) {
    multiply_all(t, 4);
  } else if (t->level == 2) {
    multiply_all(t, 2);
  } else {
    multiply_all(t, 1);
  }
  if (t->groups < BSM_K_INT8_WINDOW) {
    add_rests(t, true);
  } else {
    add_rests(t, false);
  }
}
