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

/* Two vectors of a row, of which `n` columns count. */
INLINE void finish_pair(const bsm_k_half_finish *t, int64_t row, int64_t c,
                        const int adds) {
  const int64_t rest = t->n - c;
  const __mmask32 kept =
      rest >= 32 ? UINT32_MAX : (__mmask32)((1u << (uint32_t)rest) - 1);
  const __mmask16 second = (__mmask16)(kept >> 16);
  const __m512 scale = _mm512_set1_ps(t->scale);
  const __m512 lo = _mm512_set1_ps(t->lo), hi = _mm512_set1_ps(t->hi);
  float *sums = t->sums + row * t->sums_stride + c;
  __m512 v[2] = {
      _mm512_mul_ps(_mm512_loadu_ps(sums), scale),
      _mm512_mul_ps(_mm512_maskz_loadu_ps(second, sums + 16), scale)};
  if (t->bias) {
    v[0] = _mm512_add_ps(v[0], _mm512_loadu_ps(t->bias + c));
    v[1] = _mm512_add_ps(v[1], _mm512_maskz_loadu_ps(second, t->bias + c + 16));
  }
  if (adds) {
    const __m512i r =
        _mm512_maskz_loadu_epi16(kept, t->residual[row] + t->column + c);
    v[0] = _mm512_add_ps(v[0], widened(r, 0));
    v[1] = _mm512_add_ps(v[1], widened(r, 1));
  }
  for (int i = 0; i < 2; i++) {
    v[i] = _mm512_min_ps(hi, _mm512_max_ps(lo, v[i]));
  }
  if (t->y) {
    _mm512_mask_storeu_epi16(t->y[row] + t->column + c, kept,
                             (__m512i)_mm512_cvtne2ps_pbh(v[1], v[0]));
  } else {
    _mm512_storeu_ps(sums, v[0]);
    _mm512_mask_storeu_ps(sums + 16, second, v[1]);
  }
}

static void finish_rows(const bsm_k_half_finish *t) {
  for (int64_t row = 0; row < t->rows; row++) {
    for (int64_t c = 0; c < t->n; c += 32) {
      if (t->residual) {
        finish_pair(t, row, c, 1);
      } else {
        finish_pair(t, row, c, 0);
      }
    }
  }
}

extern bsm_k_half_finish_fn *const bsm_k_half_finish_avx512_bf16;
bsm_k_half_finish_fn *const bsm_k_half_finish_avx512_bf16 = finish_rows;
