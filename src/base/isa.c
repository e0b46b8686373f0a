/* SPDX-License-Identifier: Apache-2.0 */
/* CPU features: of x86 by CPUID and XGETBV, of ARM by what the kernel says.
 *
 * The compilers' own detection names differ between versions, and none of them
 * covers F16C on both; the bits are stable and few. */
#include "base/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <stdatomic.h>

/* The register sets that the operating system saves. */
static uint64_t saved_state(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return ((uint64_t)high << 32) | low;
}

static bool has(uint32_t word, int bit) {
  return (word >> bit) & 1;
}

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* Whether the kernel lets this process use tiles. Asking twice does no harm. */
static bool tiles_are_permitted(void) {
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
  enum { UNKNOWN, NO, YES };
  static atomic_int known = UNKNOWN;
  int answer = atomic_load_explicit(&known, memory_order_relaxed);
  if (answer == UNKNOWN) {
    const long rc =
        syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
    answer = rc == 0 ? YES : NO;
    atomic_store_explicit(&known, answer, memory_order_relaxed);
  }
  return answer == YES;
}
#else
static bool tiles_are_permitted(void) {
  return false;
}
#endif

static uint32_t ask(void) {
  enum { YMM_STATE = 0x6, ZMM_STATE = 0xe6, TILE_STATE = 0x60000 };
  uint32_t a, b, c, d, mask = BSM_ISA_SCALAR;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return mask;
  const bool fma = has(c, 12), osxsave = has(c, 27), avx = has(c, 28),
             f16c = has(c, 29);
  if (!osxsave || !avx) return mask;
  const uint64_t state = saved_state();
  if ((state & YMM_STATE) != YMM_STATE) return mask;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return mask;
  const uint32_t leaves = a;
  if (!has(b, 5) || !fma || !f16c) return mask;
  mask |= BSM_ISA_AVX2;
  const bool avx512 = has(b, 16) && has(b, 17) && has(b, 30) && has(b, 31);
  const bool avx512_vnni = has(c, 11);
  const bool amx = has(d, 22) && has(d, 24) && has(d, 25);
  const bool more = leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d);
  if (more && has(a, 4)) mask |= BSM_ISA_AVX_VNNI;
  if (!avx512 || (state & ZMM_STATE) != ZMM_STATE) return mask;
  mask |= BSM_ISA_AVX512;
  if (!avx512_vnni) return mask;
  mask |= BSM_ISA_AVX512_VNNI;
  if (!more || !has(a, 5)) return mask;
  mask |= BSM_ISA_AVX512_BF16;
  if (amx && (state & TILE_STATE) == TILE_STATE && tiles_are_permitted()) {
    mask |= BSM_ISA_AMX;
  }
  return mask;
}

/* Asking takes microseconds in a virtual machine, and operators ask. Twice does
 * no harm. */
uint32_t bsm_isa_detect(void) {
  static _Atomic uint32_t known = BSM_ISA_DETECT;
  uint32_t mask = atomic_load_explicit(&known, memory_order_relaxed);
  if (mask == BSM_ISA_DETECT) {
    mask = ask();
    atomic_store_explicit(&known, mask, memory_order_relaxed);
  }
  return mask;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

uint32_t bsm_isa_detect(void) {
  enum { HWCAP2_BIT_I8MM = 13 };
  const bool i8mm = getauxval(AT_HWCAP2) >> HWCAP2_BIT_I8MM & 1;
  return BSM_ISA_NEON | (i8mm ? BSM_ISA_I8MM : 0u);
}

#else

uint32_t bsm_isa_detect(void) {
  return BSM_ISA_SCALAR;
}

#endif

/* Each level holds the ones before it. */
static const struct {
  const char *name;
  uint32_t mask;
} levels[] = {
    {"scalar", BSM_ISA_SCALAR},
    {"avx2", BSM_ISA_AVX2},
    {"avx2_vnni", BSM_ISA_AVX2 | BSM_ISA_AVX_VNNI},
    {"avx512", BSM_ISA_AVX2 | BSM_ISA_AVX512},
    {"avx512_vnni", BSM_ISA_AVX2 | BSM_ISA_AVX512 | BSM_ISA_AVX512_VNNI},
    {"avx512_bf16",
     BSM_ISA_AVX2 | BSM_ISA_AVX512 | BSM_ISA_AVX512_VNNI | BSM_ISA_AVX512_BF16},
    {"amx", BSM_ISA_AVX2 | BSM_ISA_AVX512 | BSM_ISA_AVX512_VNNI |
                BSM_ISA_AVX512_BF16 | BSM_ISA_AMX},
    {"neon", BSM_ISA_NEON},
    {"neon_i8mm", BSM_ISA_NEON | BSM_ISA_I8MM},
};
#define LEVEL_COUNT (sizeof(levels) / sizeof(levels[0]))

_Bool bsm_isa_parse(const char *name, uint32_t *out) {
  for (size_t i = 0; i < LEVEL_COUNT; i++) {
    if (strcmp(name, levels[i].name) == 0) {
      *out = levels[i].mask;
      return true;
    }
  }
  return false;
}

const char *bsm_isa_name(uint32_t mask) {
  size_t best = 0;
  for (size_t i = 1; i < LEVEL_COUNT; i++) {
    if ((mask & levels[i].mask) == levels[i].mask) best = i;
  }
  return levels[best].name;
}
