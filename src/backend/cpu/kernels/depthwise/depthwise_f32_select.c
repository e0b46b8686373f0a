/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the depthwise kernels for an ISA mask. */
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"

const bsm_k_depthwise *bsm_k_depthwise_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_depthwise_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_depthwise_scalar;
}
