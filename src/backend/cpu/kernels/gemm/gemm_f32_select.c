/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the matrix multiplication kernels for an ISA mask. */
#include "backend/cpu/kernels/gemm/gemm_f32.h"

const bsm_k_gemm *bsm_k_gemm_select(uint32_t isa) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_gemm_##suffix;
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_gemm_scalar;
}
