/* SPDX-License-Identifier: Apache-2.0 */
/* What programs link that do not say which kernels they need: all of them. */
#include "backend/cpu/kernels/attention/attention_f32.h"
#include "backend/cpu/kernels/convert/half_convert.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"
#include "backend/cpu/kernels/few_bits/few_bits_f32.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/half/half.h"
#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/ints/ints.h"
#include "backend/cpu/kernels/math/vector_math.h"
#include "backend/cpu/kernels/planar/planar_f32.h"
#include "backend/cpu/kernels/pooling/pooling_f32.h"
#include "backend/cpu/kernels/recurrent/recurrent_f32.h"
#include "backend/cpu/kernels/rows/rows.h"
#include "backend/cpu/kernels/sample/sample_f32.h"
#include "backend/cpu/kernels/typed_gemm/typed_gemm.h"
#include "backend/cpu/kernels/winograd/winograd_f32.h"

const uint32_t bsm_k_linked_isas = (1u << BSM_K_ISA_COUNT) - 1;

#define ADDRESS(table) &table
#define FAMILY(family) BSM_K_LINKED(family) = {BSM_K_TABLES(ADDRESS, family)};
#include "backend/cpu/kernels/kernel_families.inl"
#undef FAMILY
