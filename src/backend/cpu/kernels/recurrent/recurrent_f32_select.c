/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the gate kernels for an ISA mask. */
#include "backend/cpu/kernels/recurrent/recurrent_f32.h"

const bsm_k_recurrent *bsm_k_recurrent_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_recurrent_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_recurrent_scalar;
}
