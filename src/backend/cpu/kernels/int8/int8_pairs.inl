/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes where the instruction that multiplies them sums pairs in
 * int16, which saturates: pairs of weights are safe (int8.h). The file that
 * includes this defines BSM_K_SUFFIX, ROWS and PANELS as in int8_product.inl,
 * VNNI_ISA, the bits of the product with an instruction of its own, TILES, a
 * product in tiles or NULL, FINISH, a finish for bytes or NULL, and perhaps
 * SUMS and ARRANGE, a tile with levels and what arranges it, for ROWS and
 * PANELS. */
#include <stdbool.h>

#include "backend/cpu/kernels/int8/int8.h"

#define CAT_(a, b, c) a##b##c
#define CAT(a, b, c) CAT_(a, b, c)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

#define VECTOR vi
#define LANES VF_W
#define SPLIT LANES
#define LOAD(p) vi_load((const int32_t *)(const void *)(p))
#define STORE(p, v) vi_store(p, v)
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) vi_add_byte_products(sums, a, b)
#define PRODUCT CAT(bsm_k_int8_product_, BSM_K_SUFFIX, )
#define NAME TEXT(BSM_K_SUFFIX) " pairs"
#define DEPTHWISE depthwise_by_fours
#define MASKED 1
#define DOT_OF_TAPS(sums, a, b) add_masked_products(sums, a, b)

VF_INLINE vi splat(const uint8_t *p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return vi_set(four);
}

VF_INLINE __m256i add_masked_products(__m256i sums, __m256i a, __m256i b) {
  const __m256i pairs = _mm256_maddubs_epi16(b, a);
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

#include "backend/cpu/kernels/int8/int8_depthwise.inl"
#ifdef SUMS
const bsm_k_int8_product PRODUCT = {NAME,    SPLIT, true,
                                    ARRANGE, SUMS,  DEPTHWISE};
#else
#include "backend/cpu/kernels/int8/int8_product.inl"
#endif
#include "backend/cpu/kernels/int8/int8_rows.inl"

extern const bsm_k_int8_product CAT(bsm_k_int8_product_, BSM_K_SUFFIX, _vnni);

const bsm_k_int8 CAT(bsm_k_int8_, BSM_K_SUFFIX, ) =
    INT8_TABLE(&PRODUCT, &CAT(bsm_k_int8_product_, BSM_K_SUFFIX, _vnni),
               VNNI_ISA, TILES, FINISH);
