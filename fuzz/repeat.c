/* SPDX-License-Identifier: Apache-2.0 */
/* What makes two runs of a fuzz target differ: the key of hash tables, always
 * the same here, as an input that fails has to fail again; and the machine,
 * where BSM_FUZZ_REPEAT in the environment makes any one with AVX2 alike, so
 * that a seed and a number of inputs mean the same inputs everywhere. The
 * linker puts these in place of the library's own (cmake/Fuzz.cmake). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/caches.h"
#include "base/isa.h"
#include "base/thread_pool.h"

ssize_t __wrap_getrandom(void *data, size_t size, unsigned flags);
uint32_t __real_bsm_isa_detect(void);
uint32_t __wrap_bsm_isa_detect(void);
bsm_caches __real_bsm_detect_caches(void);
bsm_caches __wrap_bsm_detect_caches(void);
int __real_bsm_available_cpus(void);
int __wrap_bsm_available_cpus(void);

static int repeats(void) {
  static int known = -1;
  if (known < 0) known = getenv("BSM_FUZZ_REPEAT") != NULL;
  return known;
}

ssize_t __wrap_getrandom(void *data, size_t size, unsigned flags) {
  (void)flags;
  memset(data, 0x5a, size);
  return (ssize_t)size;
}

uint32_t __wrap_bsm_isa_detect(void) {
  const uint32_t common = BSM_ISA_SCALAR | BSM_ISA_AVX2 | BSM_ISA_NEON;
  return __real_bsm_isa_detect() & (repeats() ? common : UINT32_MAX);
}

bsm_caches __wrap_bsm_detect_caches(void) {
  static const bsm_caches usual = {32u << 10, 512u << 10, 8u << 20};
  return repeats() ? usual : __real_bsm_detect_caches();
}

int __wrap_bsm_available_cpus(void) {
  return repeats() ? 4 : __real_bsm_available_cpus();
}
