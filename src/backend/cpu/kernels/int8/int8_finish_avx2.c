/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of sums, a row of 32 columns at once. */
#include <immintrin.h>
#include <math.h>

#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define INLINE static inline __attribute__((always_inline))
#define COLUMNS BSM_K_INT8_MAX_COLUMNS
#define LANES 8
#define PARTS (COLUMNS / LANES)

extern void bsm_k_int8_finish_avx2(const bsm_k_int8_finish *args);

/* The factors of all rows. */
typedef struct factors {
  __m256 inverse, low, high, residual_scale;
  __m256i residual_zero, zero, order;
} factors;

/* `n` of the 32 bytes at p, zeros behind them. */
INLINE __m256i load_some(const uint8_t *p, int64_t n) {
  uint8_t all[COLUMNS] = {0};
  if (n < COLUMNS) {
    __builtin_memcpy(all, p, (size_t)n);
    p = all;
  }
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

INLINE void store_some(uint8_t *p, __m256i v, int64_t n) {
  if (n == COLUMNS) {
    _mm256_storeu_si256((__m256i *)(void *)p, v);
    return;
  }
  __m128i rest = _mm256_castsi256_si128(v);
  if (n & 16) {
    _mm_storeu_si128((__m128i *)(void *)p, rest);
    rest = _mm256_extracti128_si256(v, 1);
    p += 16;
  }
  if (n & 8) {
    _mm_storel_epi64((__m128i *)(void *)p, rest);
    rest = _mm_unpackhi_epi64(rest, rest);
    p += 8;
  }
  uint64_t last = (uint64_t)_mm_cvtsi128_si64(rest);
  for (int64_t i = 0; i < (n & 7); i++, last >>= 8) p[i] = (uint8_t)last;
}

INLINE __m256i part_of(const bsm_k_int8_finish *t, int64_t row, int part,
                       __m128i residual, const factors *f, const bool adds,
                       const bool clamps) {
  const int32_t *sums = t->sums + row * COLUMNS + part * LANES;
  __m256 v = _mm256_cvtepi32_ps(
      _mm256_loadu_si256((const __m256i *)(const void *)sums));
  v = _mm256_mul_ps(v, _mm256_loadu_ps(t->scale + part * LANES));
  v = _mm256_add_ps(v, _mm256_loadu_ps(t->bias + part * LANES));
  if (adds) {
    const __m256i x =
        _mm256_sub_epi32(_mm256_cvtepu8_epi32(residual), f->residual_zero);
    v = _mm256_add_ps(v,
                      _mm256_mul_ps(_mm256_cvtepi32_ps(x), f->residual_scale));
  }
  v = _mm256_mul_ps(v, f->inverse);
  if (clamps) v = _mm256_min_ps(_mm256_max_ps(v, f->low), f->high);
  return _mm256_cvtps_epi32(v);
}

/* Words, and from them bytes, are clamped to those that there are. */
INLINE void finish_rows(const bsm_k_int8_finish *t, const factors *f,
                        const bool adds, const bool clamps) {
  for (int64_t row = 0; row < t->rows; row++) {
    __m256i residual = _mm256_setzero_si256(), q[PARTS];
    if (adds) {
      residual = load_some(t->residual_bytes[row] + t->column, t->n);
    }
    UNROLL for (int i = 0; i < PARTS; i++) {
      __m128i bytes = i < 2 ? _mm256_castsi256_si128(residual)
                            : _mm256_extracti128_si256(residual, 1);
      if (i % 2) bytes = _mm_unpackhi_epi64(bytes, bytes);
      q[i] = part_of(t, row, i, bytes, f, adds, clamps);
    }
    const __m256i upper =
        _mm256_adds_epi16(_mm256_packs_epi32(q[0], q[1]), f->zero);
    const __m256i lower =
        _mm256_adds_epi16(_mm256_packs_epi32(q[2], q[3]), f->zero);
    store_some(t->y_bytes[row] + t->y_column,
               _mm256_permutevar8x32_epi32(_mm256_packus_epi16(upper, lower),
                                           f->order),
               t->n);
  }
}

/* Clamps in floats are left out where those of bytes are the same: what is
 * beyond 254.9 becomes 255 without them. */
void bsm_k_int8_finish_avx2(const bsm_k_int8_finish *t) {
  const bsm_k_int8_grid *g = &t->grid;
  const float least = (float)(g->least - g->zero);
  const float greatest = (float)(g->greatest - g->zero);
  const float low = t->lo * g->inverse, high = t->hi * g->inverse;
  const bool clamps = rintf(low) > least || g->least > 0 ||
                      rintf(high) < greatest || g->greatest < UINT8_MAX;
  const factors f = {.inverse = _mm256_set1_ps(g->inverse),
                     .low = _mm256_set1_ps(low > least ? low : least),
                     .high = _mm256_set1_ps(high < greatest ? high : greatest),
                     .residual_scale = _mm256_set1_ps(t->residual_scale),
                     .residual_zero = _mm256_set1_epi32(t->residual_zero),
                     .zero = _mm256_set1_epi16((short)g->zero),
                     .order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)};
  if (t->residual_bytes) {
    finish_rows(t, &f, true, true);
  } else if (clamps) {
    finish_rows(t, &f, false, true);
  } else {
    finish_rows(t, &f, false, false);
  }
}
