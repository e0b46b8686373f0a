/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 with AVX-512's instruction for pairs of them. */
#include <immintrin.h>

#include "backend/cpu/kernels/half/half.h"

#define VECTOR __m512
#define LANES 16
#define ROWS 12
#define PANELS 2
#define SPLIT 0
#define ZERO _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) dot(sums, a, b)
#define PRODUCT bsm_k_half_dot_avx512_bf16
#define NAME "avx512_bf16_12x32"
#define DEPTHWISE NULL

static inline __attribute__((always_inline)) __m512 splat(const void *p) {
  int pair;
  __builtin_memcpy(&pair, p, sizeof(pair));
  return _mm512_castsi512_ps(_mm512_set1_epi32(pair));
}

static inline __attribute__((always_inline)) __m512 dot(__m512 sums, __m512 a,
                                                        __m512 b) {
  return _mm512_dpbf16_ps(sums, (__m512bh)a, (__m512bh)b);
}

extern const struct bsm_k_int8_product bsm_k_half_dot_avx512_bf16;

#include "backend/cpu/kernels/int8/int8_product.inl"

/* ---- what becomes of sums ---- */

#define INLINE static inline __attribute__((always_inline))

/* The bfloat16 in the lower or the upper part of `halves`. */
INLINE __m512 widened(__m512i halves, const int upper) {
  const __m256i part = upper ? _mm512_extracti64x4_epi64(halves, 1)
                             : _mm512_castsi512_si256(halves);
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16));
}

/* Two vectors of all rows, from column c on; columns that are not `kept` do not
 * count. What rows share stays in registers. */
INLINE void finish_columns(const bsm_k_half_finish *t, int64_t c,
                           const __mmask32 kept, const int adds,
                           const int scales) {
  const __mmask16 second = (__mmask16)(kept >> 16);
  const __m512 scale = _mm512_set1_ps(t->scale);
  const __m512 lo = _mm512_set1_ps(t->lo), hi = _mm512_set1_ps(t->hi);
  const __m512 zero = _mm512_setzero_ps();
  const __m512 bias[2] = {
      t->bias ? _mm512_loadu_ps(t->bias + c) : zero,
      t->bias ? _mm512_maskz_loadu_ps(second, t->bias + c + 16) : zero};
  const int64_t stride = t->sums_stride, at = t->column + c, rows = t->rows;
  float *sums = t->sums + c;
  uint16_t *const *y = t->y;
  for (int64_t row = 0; row < rows; row++, sums += stride) {
    __m512 v[2] = {_mm512_loadu_ps(sums),
                   _mm512_maskz_loadu_ps(second, sums + 16)};
    __m512i r = _mm512_setzero_si512();
    if (adds) r = _mm512_maskz_loadu_epi16(kept, t->residual[row] + at);
    for (int i = 0; i < 2; i++) {
      if (scales) v[i] = _mm512_mul_ps(v[i], scale);
      v[i] = _mm512_add_ps(v[i], bias[i]);
      if (adds) v[i] = _mm512_add_ps(v[i], widened(r, i));
      v[i] = _mm512_min_ps(hi, _mm512_max_ps(lo, v[i]));
    }
    if (y) {
      _mm512_mask_storeu_epi16(y[row] + at, kept,
                               (__m512i)_mm512_cvtne2ps_pbh(v[1], v[0]));
    } else {
      _mm512_storeu_ps(sums, v[0]);
      _mm512_mask_storeu_ps(sums + 16, second, v[1]);
    }
  }
}

static void finish_rows(const bsm_k_half_finish *t) {
  for (int64_t c = 0; c < t->n; c += 32) {
    const int64_t rest = t->n - c;
    const __mmask32 kept =
        rest >= 32 ? UINT32_MAX : (__mmask32)((1u << (uint32_t)rest) - 1);
    const bool scales = !(t->scale >= 1.0f && t->scale <= 1.0f);
    if (scales || t->residual) {
      if (t->residual) {
        finish_columns(t, c, kept, 1, 1);
      } else {
        finish_columns(t, c, kept, 0, 1);
      }
    } else {
      finish_columns(t, c, kept, 0, 0);
    }
  }
}

extern bsm_k_half_finish_fn *const bsm_k_half_finish_avx512_bf16;
bsm_k_half_finish_fn *const bsm_k_half_finish_avx512_bf16 = finish_rows;
