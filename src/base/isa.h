/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU can do, as a mask that callers pass on and tests force. */
#ifndef BSM_BASE_ISA_H_
#define BSM_BASE_ISA_H_

#include <stdint.h>

enum {
  BSM_ISA_SCALAR = 0,
  BSM_ISA_AVX2 = 1u << 0,   /* AVX2 + FMA + F16C */
  BSM_ISA_AVX512 = 1u << 1, /* F + DQ + BW + VL */
  BSM_ISA_AVX512_VNNI = 1u << 2,
  BSM_ISA_AVX512_BF16 = 1u << 3,
  BSM_ISA_AVX_VNNI = 1u << 4, /* what AVX512_VNNI has, with AVX2 alone */
  BSM_ISA_NEON = 1u << 5,     /* what every 64-bit ARM has */
  BSM_ISA_I8MM = 1u << 6,     /* products of bytes of ARM */
  BSM_ISA_AMX = 1u << 7       /* tiles with products of bytes and of bfloat16 */
};
/* Those that have kernels for everything; the others only help some of them. */
#define BSM_ISA_SELECTING \
  ((uint32_t)(BSM_ISA_AVX2 | BSM_ISA_AVX512 | BSM_ISA_NEON))
#define BSM_ISA_DETECT UINT32_MAX /* in options: what this machine has */

/* The mask of this machine; bits the operating system disables are absent.
 * Tiles have to be asked for: the first call does, for all threads of the
 * process. From then on a signal's frame has 8 KiB more
 * (getauxval(AT_MINSIGSTKSZ)); a process with a smaller alternate stack is not
 * given them. */
uint32_t bsm_isa_detect(void);
/* "scalar", "avx2", "avx512", ... parsed; false when unknown. Each name stands
 * for itself and all that it implies. */
_Bool bsm_isa_parse(const char *name, uint32_t *out);
/* The name of the best level in `mask`. */
const char *bsm_isa_name(uint32_t mask);

#endif /* BSM_BASE_ISA_H_ */
