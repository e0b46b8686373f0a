/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with AVX-512, in tiles of 12 x 32. */
#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/simd_avx512.h"

extern void bsm_k_int8_finish_avx512(const bsm_k_int8_finish *args);
#define FINISH bsm_k_int8_finish_avx512

#if defined(__x86_64__)
extern const bsm_k_int8_tile_product bsm_k_int8_product_amx;
#define TILES &bsm_k_int8_product_amx
#else
#define TILES NULL
#endif

#define LOOK_UP look_up_words

/* The table in words, of which an index without its last bit chooses one. */
static void look_up_words(const uint8_t *x, int64_t n, const uint8_t *table,
                          uint8_t *y) {
  __m512i parts[4];
  for (int i = 0; i < 4; i++) parts[i] = _mm512_loadu_si512(table + 64 * i);
  for (int64_t i = 0; i < n; i += 32) {
    const __mmask32 kept =
        n - i >= 32 ? UINT32_MAX : (__mmask32)((1u << (n - i)) - 1);
    const __m512i at =
        _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(kept, x + i));
    const __m512i word = _mm512_srli_epi16(at, 1);
    const __m512i odd =
        _mm512_slli_epi16(_mm512_and_si512(at, _mm512_set1_epi16(1)), 3);
    const __m512i low = _mm512_permutex2var_epi16(parts[0], word, parts[1]);
    const __m512i high = _mm512_permutex2var_epi16(parts[2], word, parts[3]);
    const __m512i both = _mm512_mask_mov_epi16(
        low, _mm512_test_epi16_mask(at, _mm512_set1_epi16(0x80)), high);
    _mm256_mask_storeu_epi8(y + i, kept,
                            _mm512_cvtepi16_epi8(_mm512_srlv_epi16(both, odd)));
  }
}

#define BSM_K_SUFFIX avx512
#define ROWS 12
#define PANELS 2
#define VNNI_ISA BSM_K_ISA_AVX512_VNNI
#include "backend/cpu/kernels/int8/int8_pairs.inl"
