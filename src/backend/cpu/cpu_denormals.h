/* SPDX-License-Identifier: Apache-2.0 */
/* Denormal numbers as zeros, for a while and in this thread.
 *
 * A softmax of scores of which some are masked by -100 gives such numbers, and
 * a product with one of them takes a hundred times as long on x86. Beside the
 * other shares of a softmax they are far below what rounding loses. Elsewhere
 * they stay, as in PyTorch. */
#ifndef BSM_BACKEND_CPU_DENORMALS_H_
#define BSM_BACKEND_CPU_DENORMALS_H_

#include <stdbool.h>

#if defined __SSE__
#include <xmmintrin.h>
#endif

/* What to give to bsm_cpu_denormals_end. */
static inline unsigned bsm_cpu_denormals_begin(bool flushes) {
#if defined __SSE__
  const unsigned before = _mm_getcsr();
  if (flushes) _mm_setcsr(before | 0x8040u); /* of results, and of operands */
  return before;
#else
  (void)flushes;
  return 0;
#endif
}

static inline void bsm_cpu_denormals_end(unsigned before) {
#if defined __SSE__
  _mm_setcsr(before);
#else
  (void)before;
#endif
}

#endif /* BSM_BACKEND_CPU_DENORMALS_H_ */
