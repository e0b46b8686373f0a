/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the instruction set of kernels for an ISA mask. */
#include "backend/cpu/kernels/kernel_isa.h"

uint32_t bsm_k_isa_needs(unsigned row) {
  static const uint32_t needs[] = {
#define X(suffix, bits) (bits),
      BSM_K_ISAS(X)
#undef X
  };
  return needs[row];
}

unsigned bsm_k_isa_row(uint32_t isa) {
  unsigned i = 0;
  for (; i < BSM_K_ISA_COUNT; i++) {
    const uint32_t needs = bsm_k_isa_needs(i);
    if ((bsm_k_linked_isas >> i & 1) && (isa & needs) == needs) break;
  }
  return i;
}
