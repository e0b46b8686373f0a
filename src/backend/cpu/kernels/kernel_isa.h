/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction sets that kernels are compiled for, and which of them are
 * linked. Every family of kernels has one table for each instruction set.
 *
 * What a program links is in arrays with a place for each instruction set:
 * BSM_K_LINKED(family), NULL where it has no such kernels. The library's own
 * arrays (linked_kernels.c) have everything. They are alone in their object
 * file, so that a program that defines the arrays does not link the library's,
 * nor the kernels that only those name. */
#ifndef BSM_KERNELS_KERNEL_ISA_H_
#define BSM_KERNELS_KERNEL_ISA_H_

#include <stdint.h>

/* The bits of base/isa.h, repeated because kernels include nothing of other
 * layers; cpu_device.c asserts that they agree. */
#define BSM_K_ISA_AVX2 (1u << 0)
#define BSM_K_ISA_AVX512 (1u << 1)
/* No rows of their own: families that use them choose themselves. */
#define BSM_K_ISA_AVX512_VNNI (1u << 2)
#define BSM_K_ISA_AVX512_BF16 (1u << 3)
#define BSM_K_ISA_AVX_VNNI (1u << 4)
#define BSM_K_ISA_NEON (1u << 5)
#define BSM_K_ISA_I8MM (1u << 6) /* as VNNI */
#define BSM_K_ISA_AMX (1u << 7)  /* as VNNI */

/* Best first: X(suffix, bits that the CPU must have), and X of each table of a
 * family. */
#if defined(__x86_64__) || defined(__i386__)
#define BSM_K_ISAS(X)                            \
  X(avx512, (BSM_K_ISA_AVX2 | BSM_K_ISA_AVX512)) \
  X(avx2, BSM_K_ISA_AVX2)                        \
  X(scalar, 0u)
#define BSM_K_TABLES(X, family)                         \
  X(bsm_k_##family##_avx512), X(bsm_k_##family##_avx2), \
      X(bsm_k_##family##_scalar)
#define BSM_K_ISA_COUNT 3
#elif defined(__aarch64__)
#define BSM_K_ISAS(X)     \
  X(neon, BSM_K_ISA_NEON) \
  X(scalar, 0u)
#define BSM_K_TABLES(X, family) \
  X(bsm_k_##family##_neon), X(bsm_k_##family##_scalar)
#define BSM_K_ISA_COUNT 2
#else
#define BSM_K_ISAS(X) X(scalar, 0u)
#define BSM_K_TABLES(X, family) X(bsm_k_##family##_scalar)
#define BSM_K_ISA_COUNT 1
#endif

/* Bit i: kernels for instruction set i of BSM_K_ISAS are linked. */
extern const uint32_t bsm_k_linked_isas;

/* The best instruction set that `isa` has and that is linked; BSM_K_ISA_COUNT
 * when there is none. Streams with such a mask are refused. */
unsigned bsm_k_isa_row(uint32_t isa);
/* The bits that a CPU must have for it. */
uint32_t bsm_k_isa_needs(unsigned row);

/* Declares what a family has: the type bsm_k_<family>, of which there is one
 * table for each instruction set, and the function that chooses one. */
#define BSM_K_LINKED(family) \
  const bsm_k_##family *const bsm_k_linked_##family[BSM_K_ISA_COUNT]
#define BSM_K_NAME_(table) table
#define BSM_K_FAMILY(family)                                                  \
  extern const bsm_k_##family BSM_K_TABLES(BSM_K_NAME_, family);              \
  extern BSM_K_LINKED(family);                                                \
  static inline const bsm_k_##family *bsm_k_##family##_select(uint32_t isa) { \
    return bsm_k_linked_##family[bsm_k_isa_row(isa)];                         \
  }

#endif /* BSM_KERNELS_KERNEL_ISA_H_ */
