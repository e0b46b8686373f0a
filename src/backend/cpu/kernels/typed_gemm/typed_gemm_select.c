/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the kernels of typed_gemm.h for an ISA mask. */
#include "backend/cpu/kernels/typed_gemm/typed_gemm.h"

const bsm_k_typed_gemm *bsm_k_typed_gemm_select(uint32_t isa,
                                                bsm_k_typed type) {
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) return &bsm_k_typed_gemm_##suffix[type];
  BSM_K_ISAS(X)
#undef X
  return &bsm_k_typed_gemm_scalar[type];
}
