/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution by sums of products of four bytes: the bytes of four
 * taps are brought side by side, for 32 maps in vectors of 32 bytes. The file
 * that includes this defines
 *   DOT_OF_TAPS(sums, a, b)   sums + the products of the bytes a and weights b
 *   MASKED   1: a is masked, as int8, and b are sizes of weights (int8.h) */
#include <immintrin.h>

#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define INLINE static inline __attribute__((always_inline))
#define TAPS 4
#define PARTS 4 /* vectors of 8 maps with four bytes each */

/* The four taps' bytes of each map. Part i has the maps 4 i to 4 i + 3, and 16
 * more than these. */
INLINE void weave(const __m256i *taps, __m256i *parts) {
  const __m256i low_01 = _mm256_unpacklo_epi8(taps[0], taps[1]);
  const __m256i low_23 = _mm256_unpacklo_epi8(taps[2], taps[3]);
  const __m256i high_01 = _mm256_unpackhi_epi8(taps[0], taps[1]);
  const __m256i high_23 = _mm256_unpackhi_epi8(taps[2], taps[3]);
  parts[0] = _mm256_unpacklo_epi16(low_01, low_23);
  parts[1] = _mm256_unpackhi_epi16(low_01, low_23);
  parts[2] = _mm256_unpacklo_epi16(high_01, high_23);
  parts[3] = _mm256_unpackhi_epi16(high_01, high_23);
}

INLINE __m256i bytes_at(const void *p) {
  return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void store_at(void *p, __m256i v) {
  _mm256_storeu_si256((__m256i *)p, v);
}

/* The weights of all taps, zeros for those that fill up the last four, and
 * their masks. */
static void weave_weights(const bsm_k_int8_depthwise *t, __m256i (*to)[PARTS],
                          __m256i *masks) {
  for (int64_t first = 0; first < t->taps; first += TAPS) {
    __m256i taps[TAPS];
    for (int64_t i = 0; i < TAPS; i++) {
      __m256i w = first + i < t->taps
                      ? bytes_at(t->w + (first + i) * t->w_tap + t->column)
                      : _mm256_setzero_si256();
      if (MASKED) {
        masks[first + i] =
            _mm256_xor_si256(_mm256_cmpgt_epi8(_mm256_setzero_si256(), w),
                             _mm256_set1_epi8(INT8_MIN));
        w = _mm256_abs_epi8(w);
      }
      taps[i] = w;
    }
    weave(taps, to[first / TAPS]);
  }
}

static void depthwise_by_fours(const bsm_k_int8_depthwise *t) {
  __m256i weights[BSM_K_INT8_MAX_TAPS / TAPS][PARTS];
  __m256i masks[BSM_K_INT8_MAX_TAPS];
  __m256i offset[PARTS];
  UNROLL for (int j = 0; j < PARTS; j++) {
    offset[j] = _mm256_loadu2_m128i(
        (const __m128i *)(const void *)(t->offset + 16 + 4 * j),
        (const __m128i *)(const void *)(t->offset + 4 * j));
  }
  weave_weights(t, weights, masks);
  for (int64_t row = 0; row < t->rows; row++) {
    __m256i sums[PARTS];
    UNROLL for (int j = 0; j < PARTS; j++) sums[j] = offset[j];
    for (int64_t first = 0; first < t->taps; first += TAPS) {
      __m256i taps[TAPS], parts[PARTS];
      UNROLL for (int i = 0; i < TAPS; i++) {
        const int64_t tap = first + i < t->taps ? first + i : first;
        taps[i] = bytes_at(t->a[tap * t->rows + row] + t->column);
        if (MASKED) taps[i] = _mm256_xor_si256(taps[i], masks[tap]);
      }
      weave(taps, parts);
      UNROLL for (int j = 0; j < PARTS; j++) {
        sums[j] = DOT_OF_TAPS(sums[j], parts[j], weights[first / TAPS][j]);
      }
    }
    int32_t *to = t->sums + row * BSM_K_INT8_MAX_COLUMNS;
    UNROLL for (int j = 0; j < 2; j++) {
      const __m256i *two = sums + 2 * j;
      store_at(to + 8 * j, _mm256_permute2x128_si256(two[0], two[1], 0x20));
      store_at(to + 16 + 8 * j,
               _mm256_permute2x128_si256(two[0], two[1], 0x31));
    }
  }
}

#undef TAPS
#undef PARTS
#undef INLINE
