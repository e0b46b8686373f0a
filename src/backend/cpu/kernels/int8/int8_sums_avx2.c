/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of products of bytes with AVX2, 4 x 16: `vpmaddubsw` sums pairs of
 * products in int16, and as many of these are added there as `level` says
 * before they become int32. That no sum saturates is a matter of B
 * (bsm_k_int8_rest), whose rest is multiplied apart, by words: a piece of a
 * column by the same pairs of all rows, which were brought side by side.
 *
 * Masked bytes have no rest: they are signed, and weights are their sizes, so
 * that no sum is beyond 2 * 128 * 128 below zero or 2 * 127 * 128 above. That
 * costs a quarter more, which is less than the rest of most great weights. */
#include <immintrin.h>

#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define INLINE static inline __attribute__((always_inline))
#define ROWS 4
#define LANES 8
#define VECTORS (BSM_K_INT8_PANEL / LANES)
#define DEPTH BSM_K_INT8_DEPTH
#define GROUP (BSM_K_INT8_PANEL * DEPTH) /* bytes of B */

extern void bsm_k_int8_sums_avx2(const bsm_k_int8_tile *args);
extern void bsm_k_int8_arrange_avx2(const bsm_k_int8_tile *args);

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

/* A group along K, and the masks behind it. */
INLINE void multiply_masked(const uint8_t *const *a, int64_t k, const int8_t *b,
                            __m256i (*sums)[VECTORS], const int rows) {
  __m256i sizes[VECTORS], masks[VECTORS];
  UNROLL for (int j = 0; j < VECTORS; j++) {
    sizes[j] = load(b + j * LANES * DEPTH);
    masks[j] = load(b + GROUP + j * LANES * DEPTH);
  }
  UNROLL for (int i = 0; i < rows; i++) {
    const __m256i x = splat(a[i] + k);
    UNROLL for (int j = 0; j < VECTORS; j++) {
      const __m256i p =
          _mm256_maddubs_epi16(sizes[j], _mm256_xor_si256(x, masks[j]));
      sums[i][j] = add_pairs(sums[i][j], p);
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
    for (; !level && g < t->groups; g++, b += 2 * GROUP) {
      multiply_masked(a, g * DEPTH, b, sums, rows);
    }
    for (; level && g + level <= t->groups; g += level, b += level * GROUP) {
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

#define PAIRS 8 /* of 16 bytes of a row */

/* Eight vectors of eight columns from eight of rows. */
INLINE void transpose(__m256i *v) {
  __m256i two[LANES], four[LANES];
  UNROLL for (int i = 0; i < LANES; i += 2) {
    two[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
    two[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
  }
  UNROLL for (int i = 0; i < LANES; i++) {
    const __m256i a = two[i / 4 * 4 + i % 4 / 2];
    const __m256i b = two[i / 4 * 4 + i % 4 / 2 + 2];
    four[i] = i % 2 ? _mm256_unpackhi_epi64(a, b) : _mm256_unpacklo_epi64(a, b);
  }
  UNROLL for (int i = 0; i < LANES / 2; i++) {
    v[i] = _mm256_permute2x128_si256(four[i], four[i + 4], 0x20);
    v[i + 4] = _mm256_permute2x128_si256(four[i], four[i + 4], 0x31);
  }
}

/* Words of up to 8 pairs of bytes from k on of 8 rows, of which there are
 * `rows`, side by side. */
INLINE void turn(const uint8_t *const *a, int64_t rows, int64_t k,
                 int64_t pairs, __m128i mask, int16_t *to, int64_t to_pair) {
  __m256i v[LANES];
  UNROLL for (int i = 0; i < LANES; i++) {
    const uint8_t *x = a[i < rows ? i : 0] + k;
    v[i] = _mm256_cvtepu8_epi16(
        pairs == PAIRS
            ? _mm_loadu_si128((const __m128i *)(const void *)x)
            : _mm_maskload_epi32((const int *)(const void *)x, mask));
  }
  transpose(v);
  for (int64_t i = 0; i < pairs; i++) store(to + i * to_pair, v[i]);
}

/* [taps][pairs][8 or 16 rows][2]; the last pairs of a tap together with some
 * before them. */
void bsm_k_int8_arrange_avx2(const bsm_k_int8_tile *t) {
  const int64_t bytes = t->groups * DEPTH, halves = t->rows > LANES ? 2 : 1;
  const int64_t pairs = bytes < 2 * PAIRS ? bytes / 2 : PAIRS;
  const int64_t to_pair = halves * 2 * LANES;
  const __m128i mask = _mm_cmpgt_epi32(_mm_set1_epi32((int)t->groups),
                                       _mm_setr_epi32(0, 1, 2, 3));
  int16_t *to = (int16_t *)(void *)t->arranged;
  for (int64_t tap = 0; tap < t->taps; tap++, to += bytes / 2 * to_pair) {
    for (int64_t half = 0; half < halves; half++) {
      const int64_t row = half * LANES;
      const uint8_t *const *a = t->a + tap * t->rows + row;
      for (int64_t k = 0; k < bytes; k += 2 * pairs) {
        const int64_t at = k + 2 * pairs > bytes ? bytes - 2 * pairs : k;
        turn(a, t->rows - row, at, pairs, mask, to + at / 2 * to_pair + row * 2,
             to_pair);
      }
    }
  }
}

/* What is missing in the sums of a unit of columns. */
INLINE void add_rest(const bsm_k_int8_tile *t, int64_t unit, const int halves) {
  const int32_t *first = t->rest.first + unit * LANES;
  const int16_t *x = (const int16_t *)(const void *)t->arranged;
  __m256i sums[2][LANES];
  for (int i = 0; i < LANES; i++) {
    __m256i low = _mm256_setzero_si256(), high = low;
    for (int32_t e = first[i]; e < first[i + 1]; e++) {
      const bsm_k_int8_piece *p = t->rest.pieces + e;
      const int16_t *at = x + (int64_t)p->pair * halves * 2 * LANES;
      int32_t two;
      __builtin_memcpy(&two, p->w, sizeof(two));
      const __m256i w = _mm256_set1_epi32(two);
      low = _mm256_add_epi32(low, _mm256_madd_epi16(load(at), w));
      if (halves == 1) continue;
      high = _mm256_add_epi32(high, _mm256_madd_epi16(load(at + 2 * LANES), w));
    }
    sums[0][i] = low;
    sums[1][i] = high;
  }
  int32_t *to = t->sums + unit * LANES;
  for (int half = 0; half < halves; half++) {
    transpose(sums[half]);
    for (int64_t i = 0; i < LANES && half * LANES + i < t->rows; i++) {
      store(to, _mm256_add_epi32(load(to), sums[half][i]));
      to += BSM_K_INT8_MAX_COLUMNS;
    }
  }
}

static void add_rests(const bsm_k_int8_tile *t) {
  for (int64_t unit = 0; unit < t->panels * VECTORS; unit++) {
    const int32_t *first = t->rest.first + unit * LANES;
    if (first[0] == first[LANES]) continue;
    if (t->rows > LANES) {
      add_rest(t, unit, 2);
    } else {
      add_rest(t, unit, 1);
    }
  }
}

void bsm_k_int8_sums_avx2(const bsm_k_int8_tile *t) {
  if (t->level == BSM_K_INT8_MASKED) {
    multiply_all(t, BSM_K_INT8_MASKED);
  } else if (t->level == 4) {
    multiply_all(t, 4);
  } else if (t->level == 2) {
    multiply_all(t, 2);
  } else {
    multiply_all(t, 1);
  }
  if (t->rest.pieces) add_rests(t);
}
