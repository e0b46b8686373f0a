/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution, scalar: products of 4 tiles by 16. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#define BSM_K_WINOGRAD_ROWS 4
#define BSM_K_WINOGRAD_PANELS 1
#define BSM_K_WINOGRAD_EACH(X, p) X(1, p) X(2, p) X(3, p) X(4, p)
#include "backend/cpu/kernels/winograd/winograd_f32_body.inl"
