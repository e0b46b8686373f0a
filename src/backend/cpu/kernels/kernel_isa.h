/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction sets that kernels are compiled for, best first. Every family
 * exports one table for each row: X(suffix, bits that the CPU must have).
 *
 * The bits are those of base/isa.h, repeated because kernels include nothing
 * of other layers; cpu_backend.c asserts that they agree. */
#ifndef BSM_KERNELS_KERNEL_ISA_H_
#define BSM_KERNELS_KERNEL_ISA_H_

#include <stdint.h>

#define BSM_K_ISA_AVX2 (1u << 0)
#define BSM_K_ISA_AVX512 (1u << 1)

#if defined(__x86_64__) || defined(__i386__)
#define BSM_K_ISAS(X)                            \
  X(avx512, (BSM_K_ISA_AVX2 | BSM_K_ISA_AVX512)) \
  X(avx2, BSM_K_ISA_AVX2)                        \
  X(scalar, 0u)
#else
#define BSM_K_ISAS(X) X(scalar, 0u)
#endif

#endif /* BSM_KERNELS_KERNEL_ISA_H_ */
