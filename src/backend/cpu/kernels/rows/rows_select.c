/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the row kernels for an ISA mask. */
#include "backend/cpu/kernels/rows/rows.h"

const bsm_k_rows *bsm_k_rows_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_rows_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_rows_scalar;
}
