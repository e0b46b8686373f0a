/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of multiply-adds: enough of them to hide their latency, in as many
 * registers as every machine with these instructions has. */
#include "base/fma_peak.h"

#include "base/clock.h"
#include "base/isa.h"

#define STEPS 20000
#define CHAIN_COUNT 12

static float scalar_chains(void) {
  float a[CHAIN_COUNT] = {0};
  for (int i = 0; i < STEPS; i++) {
    for (int j = 0; j < CHAIN_COUNT; j++) a[j] = a[j] * 0.5f + 1.0f;
  }
  return a[0] + a[5] + a[11];
}

#if defined(__x86_64__) || defined(__aarch64__)
/* Named variables: an array would live in memory. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define FMA_LOOP(type, set, constraint)                             \
  const type x = set(0.5f), y = set(1.0f);                          \
  type s = x;                                                       \
  CHAINS(FMA_DECLARE)                                               \
  for (int i = 0; i < STEPS; i++) {                                 \
    CHAINS(FMA_STEP)                                                \
    __asm__ volatile("" : "+" constraint(a0), "+" constraint(a11)); \
  }                                                                 \
  CHAINS(FMA_ADD)
#endif

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2,fma"))) static float avx2_chains(void) {
#define FMA_DECLARE(j) __m256 a##j = _mm256_set1_ps(j);
#define FMA_STEP(j) a##j = _mm256_fmadd_ps(a##j, x, y);
#define FMA_ADD(j) s = _mm256_add_ps(s, a##j);
  FMA_LOOP(__m256, _mm256_set1_ps, "x")
#undef FMA_DECLARE
#undef FMA_STEP
#undef FMA_ADD
  return _mm256_cvtss_f32(s);
}

__attribute__((target("avx512f"))) static float avx512_chains(void) {
#define FMA_DECLARE(j) __m512 a##j = _mm512_set1_ps(j);
#define FMA_STEP(j) a##j = _mm512_fmadd_ps(a##j, x, y);
#define FMA_ADD(j) s = _mm512_add_ps(s, a##j);
  FMA_LOOP(__m512, _mm512_set1_ps, "v")
#undef FMA_DECLARE
#undef FMA_STEP
#undef FMA_ADD
  return _mm512_cvtss_f32(s);
}

static float chains(uint32_t isa) {
  if (isa & BSM_ISA_AVX512) return avx512_chains();
  return isa & BSM_ISA_AVX2 ? avx2_chains() : scalar_chains();
}

#elif defined(__aarch64__)
#include <arm_neon.h>

static float neon_chains(void) {
#define FMA_DECLARE(j) float32x4_t a##j = vdupq_n_f32(j);
#define FMA_STEP(j) a##j = vfmaq_f32(y, a##j, x);
#define FMA_ADD(j) s = vaddq_f32(s, a##j);
  FMA_LOOP(float32x4_t, vdupq_n_f32, "w")
#undef FMA_DECLARE
#undef FMA_STEP
#undef FMA_ADD
  return vgetq_lane_f32(s, 0);
}

static float chains(uint32_t isa) {
  return isa & BSM_ISA_NEON ? neon_chains() : scalar_chains();
}

#else

static float chains(uint32_t isa) {
  (void)isa;
  return scalar_chains();
}
#endif

/* The floats of a vector. */
static double lanes_of(uint32_t isa) {
  return isa & BSM_ISA_AVX512 ? 16
         : isa & BSM_ISA_AVX2 ? 8
         : isa & BSM_ISA_NEON ? 4
                              : 1;
}

typedef struct peak_work {
  uint32_t isa;
  float sink[256];
} peak_work;

static void run_chains(void *arg, size_t index) {
  peak_work *w = arg;
  w->sink[index % 256] = chains(w->isa);
}

double bsm_measure_fma_peak(uint32_t isa, bsm_thread_pool *pool,
                            double seconds) {
  if (isa == BSM_ISA_DETECT) isa = bsm_isa_detect();
  const int threads = pool ? bsm_thread_pool_size(pool) : 1;
  const double lanes = lanes_of(isa);
  peak_work w = {.isa = isa};
  double best = 1e9;
  const double end = bsm_clock_seconds() + seconds;
  do {
    const double start = bsm_clock_seconds();
    bsm_parallel_for(pool, (size_t)threads, run_chains, &w);
    const double took = bsm_clock_seconds() - start;
    if (took < best) best = took;
  } while (bsm_clock_seconds() < end);
  return 2e-9 * lanes * CHAIN_COUNT * STEPS * threads / best;
}
