/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of sums, two rows of 32 columns at once. */
#include <immintrin.h>
#include <math.h>

#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define INLINE static inline __attribute__((always_inline))
#define COLUMNS BSM_K_INT8_MAX_COLUMNS

extern void bsm_k_int8_finish_avx512(const bsm_k_int8_finish *args);

/* Both halves of a row: columns 0 to 15, 16 to 31. */
typedef struct halves {
  __m512 v[2];
} halves;

/* The factors of all rows. */
typedef struct factors {
  halves scale, bias;
  __m512 inverse, low, high, residual_scale;
  __m512i residual_zero;
} factors;

INLINE halves load(const float *p) {
  return (halves){{_mm512_loadu_ps(p), _mm512_loadu_ps(p + 16)}};
}

INLINE __m512 residual_of(__m128i bytes, const factors *f) {
  const __m512i x =
      _mm512_sub_epi32(_mm512_cvtepu8_epi32(bytes), f->residual_zero);
  return _mm512_mul_ps(_mm512_cvtepi32_ps(x), f->residual_scale);
}

/* A row in words, of which each group of 8 has 4 of the left half and 4 of the
 * right. */
INLINE __m512i row_of(const bsm_k_int8_finish *t, int64_t row, __mmask32 kept,
                      const factors *f, const bool adds, const bool clamps) {
  const int32_t *sums = t->sums + row * COLUMNS;
  __m512i q[2];
  __m128i residual[2];
  if (adds) {
    const __m256i bytes =
        _mm256_maskz_loadu_epi8(kept, t->residual_bytes[row] + t->column);
    residual[0] = _mm256_castsi256_si128(bytes);
    residual[1] = _mm256_extracti128_si256(bytes, 1);
  }
  UNROLL for (int h = 0; h < 2; h++) {
    __m512 v = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + 16 * h));
    v = _mm512_add_ps(_mm512_mul_ps(v, f->scale.v[h]), f->bias.v[h]);
    if (adds) v = _mm512_add_ps(v, residual_of(residual[h], f));
    v = _mm512_mul_ps(v, f->inverse);
    if (clamps) v = _mm512_min_ps(_mm512_max_ps(v, f->low), f->high);
    q[h] = _mm512_cvtps_epi32(v);
  }
  return _mm512_packs_epi32(q[0], q[1]);
}

/* Two rows at once: words become bytes, clamped to those that there are. */
INLINE void finish_rows(const bsm_k_int8_finish *t, const factors *f,
                        const bool adds, const bool clamps) {
  const __mmask32 kept = (__mmask32)(UINT32_MAX >> (COLUMNS - t->n));
  const __m512i zero = _mm512_set1_epi16((short)t->grid.zero);
  const __m512i order =
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (int64_t row = 0; row < t->rows; row += 2) {
    const int64_t next = row + 1 < t->rows ? row + 1 : row;
    __m512i upper = row_of(t, row, kept, f, adds, clamps);
    __m512i lower = row_of(t, next, kept, f, adds, clamps);
    upper = _mm512_adds_epi16(upper, zero);
    lower = _mm512_adds_epi16(lower, zero);
    const __m512i bytes =
        _mm512_permutexvar_epi32(order, _mm512_packus_epi16(upper, lower));
    _mm256_mask_storeu_epi8(t->y_bytes[row] + t->y_column, kept,
                            _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(t->y_bytes[next] + t->y_column, kept,
                            _mm512_extracti64x4_epi64(bytes, 1));
  }
}

/* Clamps in floats are left out where those of bytes are the same: what is
 * beyond 254.9 becomes 255 without them. */
void bsm_k_int8_finish_avx512(const bsm_k_int8_finish *t) {
  const bsm_k_int8_grid *g = &t->grid;
  const float least = (float)(g->least - g->zero);
  const float greatest = (float)(g->greatest - g->zero);
  const float low = t->lo * g->inverse, high = t->hi * g->inverse;
  const bool clamps = rintf(low) > least || g->least > 0 ||
                      rintf(high) < greatest || g->greatest < UINT8_MAX;
  const factors f = {.scale = load(t->scale),
                     .bias = load(t->bias),
                     .inverse = _mm512_set1_ps(g->inverse),
                     .low = _mm512_set1_ps(low > least ? low : least),
                     .high = _mm512_set1_ps(high < greatest ? high : greatest),
                     .residual_scale = _mm512_set1_ps(t->residual_scale),
                     .residual_zero = _mm512_set1_epi32(t->residual_zero)};
  if (t->residual_bytes) {
    finish_rows(t, &f, true, clamps);
  } else if (clamps) {
    finish_rows(t, &f, false, true);
  } else {
    finish_rows(t, &f, false, false);
  }
}
