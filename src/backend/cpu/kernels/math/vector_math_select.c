/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the vector mathematics for an ISA mask. */
#include "backend/cpu/kernels/math/vector_math.h"

const bsm_k_math *bsm_k_math_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_math_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_math_scalar;
}
