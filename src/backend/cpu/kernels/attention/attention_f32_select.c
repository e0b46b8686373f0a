/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the attention kernels for an ISA mask. */
#include "backend/cpu/kernels/attention/attention_f32.h"

const bsm_k_attention *bsm_k_attention_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_attention_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_attention_scalar;
}
