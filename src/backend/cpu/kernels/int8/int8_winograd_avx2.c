/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution of bytes with AVX2: transforms of 16 channels of
 * input and 8 of output, products of pairs of words (`vpmaddwd`). */
#include "backend/cpu/kernels/int8/int8_winograd.h"

#include <immintrin.h>

#include "backend/cpu/kernels/simd/unroll.h"

#define INLINE static inline __attribute__((always_inline))
#define IN BSM_K_INT8_WINOGRAD_IN
#define OUT BSM_K_INT8_WINOGRAD_OUT
#define PANEL 16
#define COLUMNS 32
#define LANES 8
#define ROWS 4
#define NINTH 954437177 /* its inverse modulo 2^32 */

extern const bsm_k_int8_winograd bsm_k_int8_winograd_avx2;

INLINE __m256i load(const void *p) {
  return _mm256_loadu_si256((const __m256i *)p);
}
INLINE void store(void *p, __m256i v) {
  _mm256_storeu_si256((__m256i *)p, v);
}

/* ---- inputs ---- */

/* B^T d of six vectors of words, in place. */
INLINE void transform_words(__m256i *d) {
  const __m256i odd = _mm256_sub_epi16(d[3], _mm256_slli_epi16(d[1], 2));
  const __m256i even = _mm256_sub_epi16(d[4], _mm256_slli_epi16(d[2], 2));
  const __m256i odd2 = _mm256_slli_epi16(_mm256_sub_epi16(d[3], d[1]), 1);
  const __m256i even2 = _mm256_sub_epi16(d[4], d[2]);
  const __m256i first = _mm256_slli_epi16(_mm256_sub_epi16(d[0], d[2]), 2);
  const __m256i last = _mm256_slli_epi16(_mm256_sub_epi16(d[3], d[1]), 2);
  d[0] = _mm256_add_epi16(first, even2);
  d[5] = _mm256_sub_epi16(_mm256_sub_epi16(d[5], d[3]), last);
  d[1] = _mm256_add_epi16(even, odd);
  d[2] = _mm256_sub_epi16(even, odd);
  d[3] = _mm256_add_epi16(even2, odd2);
  d[4] = _mm256_sub_epi16(even2, odd2);
}

INLINE void transform_channels(const bsm_k_int8_winograd_input *t, int64_t c) {
  __m256i d[IN][IN];
  for (int j = 0; j < IN; j++) {
    __m256i column[IN];
    UNROLL for (int i = 0; i < IN; i++) {
      column[i] = _mm256_cvtepu8_epi16(_mm_loadu_si128(
          (const __m128i *)(const void *)(t->pixels[i * IN + j] + c)));
    }
    transform_words(column);
    UNROLL for (int i = 0; i < IN; i++) d[i][j] = column[i];
  }
  for (int i = 0; i < IN; i++) {
    transform_words(d[i]);
    UNROLL for (int j = 0; j < IN; j++) {
      store(t->v + (i * IN + j) * t->v_position + c, d[i][j]);
    }
  }
}

/* The last channels together with some before them. */
static void input(const bsm_k_int8_winograd_input *t) {
  int64_t c = 0;
  for (; c + PANEL <= t->channels; c += PANEL) transform_channels(t, c);
  if (c < t->channels) transform_channels(t, t->channels - PANEL);
}

/* ---- products ---- */

INLINE void multiply(const bsm_k_int8_winograd_product *t, int64_t first,
                     const int rows) {
  __m256i sums[ROWS][2];
  const int16_t *v = t->v + first * t->v_row, *u = t->u;
  UNROLL for (int i = 0; i < rows; i++) {
    sums[i][0] = sums[i][1] = _mm256_setzero_si256();
  }
  for (int64_t k = 0; k < t->pairs; k++, v += 2, u += 2 * PANEL) {
    const __m256i left = load(u), right = load(u + PANEL);
    UNROLL for (int i = 0; i < rows; i++) {
      int32_t two;
      __builtin_memcpy(&two, v + i * t->v_row, sizeof(two));
      const __m256i x = _mm256_set1_epi32(two);
      sums[i][0] = _mm256_add_epi32(sums[i][0], _mm256_madd_epi16(x, left));
      sums[i][1] = _mm256_add_epi32(sums[i][1], _mm256_madd_epi16(x, right));
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    store(t->m + (first + i) * t->m_row, sums[i][0]);
    store(t->m + (first + i) * t->m_row + LANES, sums[i][1]);
  }
}

static void product(const bsm_k_int8_winograd_product *t) {
  int64_t row = 0;
  for (; row + ROWS <= t->tiles; row += ROWS) multiply(t, row, ROWS);
  for (; row < t->tiles; row++) multiply(t, row, 1);
}

/* ---- outputs ---- */

INLINE __m256i twice(__m256i v) {
  return _mm256_add_epi32(v, v);
}

/* A' m of six vectors, but for powers of two: 1, 2, 4 and 4. */
INLINE void transform_sums(const __m256i *m, __m256i *y) {
  const __m256i ones = _mm256_add_epi32(m[1], m[2]);
  const __m256i signs = _mm256_sub_epi32(m[1], m[2]);
  const __m256i twos = _mm256_add_epi32(m[3], m[4]);
  const __m256i two_signs = _mm256_sub_epi32(m[3], m[4]);
  const __m256i six = twice(_mm256_add_epi32(m[0], twice(m[0])));
  const __m256i last = twice(_mm256_add_epi32(m[5], twice(m[5])));
  y[0] =
      _mm256_add_epi32(_mm256_add_epi32(six, _mm256_slli_epi32(ones, 2)), twos);
  y[1] = _mm256_add_epi32(twice(signs), two_signs);
  y[2] = _mm256_add_epi32(ones, twos);
  y[3] = _mm256_add_epi32(_mm256_add_epi32(signs, twice(two_signs)), last);
}

/* 8 columns from c on. 24 y = A' m, of which rows are left with 24, 12, 6 and 6
 * by the powers of two. */
INLINE void transform_columns(const bsm_k_int8_winograd_output *t, int c) {
  static const int bits[OUT] = {3, 2, 1, 1};
  const __m256i offset = load(t->offset + c);
  const __m256i ninth = _mm256_set1_epi32(NINTH);
  __m256i rows[OUT][IN];
  for (int j = 0; j < IN; j++) {
    __m256i column[IN], y[OUT];
    UNROLL for (int i = 0; i < IN; i++) {
      column[i] = load(t->m + (i * IN + j) * t->m_position + c);
    }
    transform_sums(column, y);
    UNROLL for (int i = 0; i < OUT; i++) rows[i][j] = y[i];
  }
  int32_t *to = t->sums + c;
  for (int64_t i = 0; i < t->rows; i++) {
    __m256i y[OUT];
    transform_sums(rows[i], y);
    for (int64_t j = 0; j < t->pixels; j++, to += COLUMNS) {
      const __m256i v = _mm256_mullo_epi32(y[j], ninth);
      store(to, _mm256_add_epi32(
                    offset,
                    _mm256_sra_epi32(v, _mm_cvtsi32_si128(bits[i] + bits[j]))));
    }
  }
}

static void output(const bsm_k_int8_winograd_output *t) {
  for (int c = 0; c < COLUMNS; c += LANES) transform_columns(t, c);
}

const bsm_k_int8_winograd bsm_k_int8_winograd_avx2 = {"avx2 winograd_4x4",
                                                      input, product, output};
