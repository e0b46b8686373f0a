/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the kernels of planes for an ISA mask. */
#include "backend/cpu/kernels/planar/planar_f32.h"

const bsm_k_planar *bsm_k_planar_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_planar_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_planar_scalar;
}
