/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers and tactics that are linked: see base/linked.h. */
#ifndef BSM_BACKEND_CPU_LINKED_H_
#define BSM_BACKEND_CPU_LINKED_H_

#include "backend/cpu/cpu_convolution.h"

/* The step kinds that have a second driver, for products of double and integers
 * (cpu_typed_gemm.h): X(ENUM, driver). */
#define BSM_CPU_TYPED_KINDS(X)        \
  X(CONVOLUTION, typed_convolution)   \
  X(DECONVOLUTION, typed_convolution) \
  X(MATRIX_MULTIPLY, typed_matrix_multiply)

/* Those that have one for products of half and bfloat16 (cpu_half.h). */
#define BSM_CPU_HALF_KINDS(X)          \
  X(CONVOLUTION, half_convolution)     \
  X(DECONVOLUTION, half_deconvolution) \
  X(MATRIX_MULTIPLY, half_matrix_multiply)

/* Those that have one for matrices of few bits (cpu_forms.h). */
#define BSM_CPU_FEW_BITS_KINDS(X) X(MATRIX_MULTIPLY, few_bits_matrix_multiply)

/* By step kind; NULL: not linked, or a kind without such a driver. */
extern const bsm_cpu_kind *const bsm_linked_cpu_kinds[BSM_STEP_KIND_END];
extern const bsm_cpu_kind *const bsm_linked_cpu_typed_kinds[BSM_STEP_KIND_END];
extern const bsm_cpu_kind *const bsm_linked_cpu_half_kinds[BSM_STEP_KIND_END];
extern const bsm_cpu_kind
    *const bsm_linked_cpu_few_bits_kinds[BSM_STEP_KIND_END];

/* What costs the same is preferred as listed; NULL is the end. */
extern const bsm_cpu_convolution_tactic *const bsm_linked_cpu_convolutions[];

#endif /* BSM_BACKEND_CPU_LINKED_H_ */
