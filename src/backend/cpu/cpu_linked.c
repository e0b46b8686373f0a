/* SPDX-License-Identifier: Apache-2.0 */
/* What programs link that do not say what they need: all drivers and tactics.
 */
#include "backend/cpu/cpu_linked.h"

#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_matrix_shapes.h"
#include "backend/cpu/cpu_typed_gemm.h"

const bsm_cpu_kind *const bsm_linked_cpu_kinds[BSM_STEP_KIND_END] = {
#define X(name, number, text, member) [number] = &bsm_cpu_##name,
    BSM_BACKEND_STEP_KINDS(X)
#undef X
};

const bsm_cpu_kind *const bsm_linked_cpu_typed_kinds[BSM_STEP_KIND_END] = {
#define X(name, driver) [BSM_STEP_##name] = &bsm_cpu_##driver,
    BSM_CPU_TYPED_KINDS(X)
#undef X
};

const bsm_cpu_kind *const bsm_linked_cpu_half_kinds[BSM_STEP_KIND_END] = {
#define X(name, driver) [BSM_STEP_##name] = &bsm_cpu_##driver,
    BSM_CPU_HALF_KINDS(X)
#undef X
};

const bsm_cpu_kind *const bsm_linked_cpu_few_bits_kinds[BSM_STEP_KIND_END] = {
#define X(name, driver) [BSM_STEP_##name] = &bsm_cpu_##driver,
    BSM_CPU_FEW_BITS_KINDS(X)
#undef X
};

const bsm_cpu_convolution_tactic *const bsm_linked_cpu_convolutions[] = {
#define TACTIC(name) &bsm_cpu_convolution_##name,
#include "backend/cpu/cpu_convolution_tactics.inl"
#undef TACTIC
    NULL};

_Static_assert(sizeof(bsm_linked_cpu_convolutions) / sizeof(void *) - 1 <=
                   BSM_CPU_MAX_TACTICS,
               "a list holds all tactics");
