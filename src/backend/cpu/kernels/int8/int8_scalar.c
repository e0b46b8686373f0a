/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes in the compiler's vectors of 16 bytes. A product of two
 * bytes fits into a word; words are summed as int32. */
#include <stdbool.h>

#include "backend/cpu/kernels/simd/simd_scalar.h"

typedef int32_t words4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int16_t words8 __attribute__((vector_size(16)));
typedef uint16_t bytes8 __attribute__((vector_size(16)));

#define VECTOR words4
#define LANES 4
#define ROWS 4
#define PANELS 1
#define SPLIT 0
#define LOAD(p) load(p)
#define STORE(p, v) __builtin_memcpy(p, &(v), sizeof(v))
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) dot(sums, a, b)
#define PRODUCT bsm_k_int8_product_scalar
#define NAME "scalar_4x16"
#define DEPTHWISE NULL

VF_INLINE words4 load(const void *p) {
  words4 v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
VF_INLINE words4 splat(const uint8_t *p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return (words4){four, four, four, four};
}
/* Both words of each lane, added. */
VF_INLINE words4 both(words8 products) {
  const words4 v = (words4)products;
  typedef uint32_t bits4 __attribute__((vector_size(16)));
  return (words4)((bits4)((words4)((bits4)v << 16) >> 16) + (bits4)(v >> 16));
}
VF_INLINE words4 dot(words4 sums, words4 a, words4 b) {
  typedef uint32_t bits4 __attribute__((vector_size(16)));
  const words8 a_even = (words8)((bytes8)a & 0xff);
  const words8 a_odd = (words8)((bytes8)a >> 8);
  const words8 b_even = (words8)((bytes8)b << 8) >> 8;
  const words8 b_odd = (words8)b >> 8;
  return (words4)((bits4)sums + (bits4)both(a_even * b_even) +
                  (bits4)both(a_odd * b_odd));
}

#include "backend/cpu/kernels/int8/int8_product.inl"
#include "backend/cpu/kernels/int8/int8_rows.inl"

const bsm_k_int8 bsm_k_int8_scalar =
    INT8_TABLE(&bsm_k_int8_product_scalar, NULL, 0, NULL, NULL);
