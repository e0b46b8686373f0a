/* SPDX-License-Identifier: Apache-2.0 */
/* Picks Winograd's transforms for an ISA mask. */
#include "backend/cpu/kernels/winograd/winograd_f32.h"

const bsm_k_winograd *bsm_k_winograd_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_winograd_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_winograd_scalar;
}
