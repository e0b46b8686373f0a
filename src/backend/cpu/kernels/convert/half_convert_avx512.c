/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16: the avx512 instance of half_convert_body.inl. */
#include <immintrin.h>

#include "backend/cpu/kernels/convert/half_convert.h"

#define BSM_K_TABLE bsm_k_convert_avx512
#include "backend/cpu/kernels/convert/half_convert_body.inl"
