/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the pooling kernels for an ISA mask. */
#include "backend/cpu/kernels/pooling/pooling_f32.h"

const bsm_k_pooling *bsm_k_pooling_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_pooling_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_pooling_scalar;
}
