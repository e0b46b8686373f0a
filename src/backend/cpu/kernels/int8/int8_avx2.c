/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of bytes with AVX2. */
#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/simd_avx2.h"
#include "backend/cpu/kernels/simd/unroll.h"

extern void bsm_k_int8_finish_avx2(const bsm_k_int8_finish *args);
extern const bsm_k_int8_winograd bsm_k_int8_winograd_avx2;
extern void bsm_k_int8_sums_avx2(const bsm_k_int8_tile *args);
extern void bsm_k_int8_arrange_avx2(const bsm_k_int8_tile *args);

#define LOOK_UP look_up_sixteens

/* Indexes below 16 k are negative from step k on, and so give zero: entries are
 * the differences, by xor, from those 16 before. In each half of the table. */
VF_INLINE __m256i look_up_half(__m256i at, const __m256i *differences) {
  __m256i v = _mm256_shuffle_epi8(differences[0], at);
  UNROLL for (int i = 1; i < 8; i++) {
    at = _mm256_subs_epi8(at, _mm256_set1_epi8(16));
    v = _mm256_xor_si256(v, _mm256_shuffle_epi8(differences[i], at));
  }
  return v;
}

static void look_up_sixteens(const uint8_t *x, int64_t n, const uint8_t *table,
                             uint8_t *y) {
  __m256i differences[16], before = _mm256_setzero_si256();
  for (int i = 0; i < 16; i++) {
    const __m256i all = _mm256_broadcastsi128_si256(
        _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * i)));
    differences[i] = i == 8 ? all : _mm256_xor_si256(all, before);
    before = all;
  }
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i at =
        _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
    const __m256i upper = _mm256_xor_si256(at, _mm256_set1_epi8(INT8_MIN));
    _mm256_storeu_si256((__m256i *)(void *)(y + i),
                        _mm256_xor_si256(look_up_half(at, differences),
                                         look_up_half(upper, differences + 8)));
  }
  for (; i < n; i++) y[i] = table[x[i]];
}

#define BSM_K_SUFFIX avx2
#define VNNI_ISA BSM_K_ISA_AVX_VNNI
#define TILES NULL
#define FINISH bsm_k_int8_finish_avx2
#define WINOGRAD &bsm_k_int8_winograd_avx2
#define SUMS bsm_k_int8_sums_avx2
#define ARRANGE bsm_k_int8_arrange_avx2
#include "backend/cpu/kernels/int8/int8_pairs.inl"
