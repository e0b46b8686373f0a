/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of rows against the definition in long double, for lengths of all
 * kinds; and the same bits whatever the width of the kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "aten/fft.h"
#include "base/isa.h"

/* Eight rows at once without AVX-512, which may not be here. */
#define FFT_WIDTH 8
#define FFT_KERNELS kernels_of_eight
extern const bsm_fft_kernels kernels_of_eight;
#include "aten/fft_rows.inl"

enum { MOST = 1100, WIDTHS = 5 };

static const int64_t lengths[] = {72,  81,  96,  100, 111, 125,  127,  128,
                                  143, 210, 243, 250, 254, 256,  289,  343,
                                  386, 400, 509, 512, 720, 1000, 1009, 1024};

static int64_t length_at(int i) {
  return i < 70 ? i + 1 : i < 94 ? lengths[i - 70] : 0;
}

/* Those that run here, the scalar ones first. */
static int kernels_here(const bsm_fft_kernels *out[WIDTHS]) {
  const uint32_t isa = bsm_isa_detect();
  int n = 0;
  out[n++] = &bsm_fft_kernels_scalar;
  out[n++] = &kernels_of_eight;
#if defined(__x86_64__) || defined(__i386__)
  if (isa & BSM_ISA_AVX2) out[n++] = &bsm_fft_kernels_avx2;
  if (isa & BSM_ISA_AVX512) out[n++] = &bsm_fft_kernels_avx512;
#elif defined(__aarch64__)
  if (isa & BSM_ISA_NEON) out[n++] = &bsm_fft_kernels_neon;
#endif
  (void)isa;
  return n;
}

static double some(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)*state * 0x1p-63;
}

/* By the definition; returns the greatest absolute value. */
static double define(const bsm_c128 *x, int64_t n, double sign, bsm_c128 *y) {
  static long double c[MOST], s[MOST];
  double most = 0;
  for (int64_t k = 0; k < n; k++) {
    const long double angle = (long double)sign * 2.0L *
                              3.14159265358979323846264338327950288L *
                              (long double)k / (long double)n;
    c[k] = cosl(angle);
    s[k] = sinl(angle);
  }
  for (int64_t k = 0; k < n; k++) {
    long double re = 0, im = 0;
    for (int64_t j = 0; j < n; j++) {
      const int64_t at = j * k % n;
      re += (long double)x[j].re * c[at] - (long double)x[j].im * s[at];
      im += (long double)x[j].re * s[at] + (long double)x[j].im * c[at];
    }
    y[k] = (bsm_c128){(double)re, (double)im};
    most = fmax(most, hypot(y[k].re, y[k].im));
  }
  return most;
}

static void assert_near(bsm_c128 got, bsm_c128 want, double most, int64_t n) {
  const double error = hypot(got.re - want.re, got.im - want.im);
  if (error <= 2e-15 * most) return;
  fail_msg("%lld points: an error of %g, relative to the greatest",
           (long long)n, error / most);
}

/* Rows that differ; row 0 is compared with the definition, and all of them with
 * what one row alone gives. */
static void check_complex(bsm_arena *arena, int64_t n, bool inverse) {
  static bsm_c128 x[MOST], want[MOST];
  const bsm_fft_kernels *kernels[WIDTHS];
  const int count = kernels_here(kernels);
  bsm_fft *fft;
  assert_null(bsm_fft_create(arena, n, BSM_FFT_MAX_WIDTH, &fft));
  double *in = bsm_fft_blocks(arena, (size_t)n, BSM_FFT_MAX_WIDTH);
  double *out = bsm_fft_blocks(arena, (size_t)n, BSM_FFT_MAX_WIDTH);
  bsm_c128 *alone = bsm_arena_alloc(
      arena, (size_t)n * BSM_FFT_MAX_WIDTH * sizeof(*alone), 16);
  bsm_c128 *rows =
      bsm_arena_alloc(arena, (size_t)n * BSM_FFT_MAX_WIDTH * sizeof(*rows), 16);
  uint64_t seed = (uint64_t)n;
  for (int64_t i = 0; i < n * BSM_FFT_MAX_WIDTH; i++) {
    rows[i] = (bsm_c128){some(&seed), some(&seed)};
  }
  memcpy(x, rows, (size_t)n * sizeof(*x));
  const double most = define(x, n, inverse ? 1 : -1, want);
  for (int i = 0; i < count; i++) {
    const int width = kernels[i]->width;
    bsm_fft_rows r = {
        .swapped = inverse, .step = 16, .imaginary = 8, .scale = 1.0};
    for (int first = 0; first < BSM_FFT_MAX_WIDTH; first += width) {
      static bsm_c128 got[BSM_FFT_MAX_WIDTH][MOST];
      r.count = width;
      for (int l = 0; l < width; l++)
        r.row[l] = (char *)(rows + (first + l) * n);
      kernels[i]->load(&r, (size_t)n, in);
      bsm_fft_run(fft, kernels[i], in, out);
      for (int l = 0; l < width; l++) r.row[l] = (char *)got[l];
      kernels[i]->store(&r, (size_t)n, out);
      for (int l = 0; l < width; l++) {
        bsm_c128 *one = alone + (first + l) * n;
        if (i == 0) memcpy(one, got[l], (size_t)n * sizeof(*one));
        assert_memory_equal(one, got[l], (size_t)n * sizeof(*one));
      }
    }
  }
  for (int64_t k = 0; k < n; k++) assert_near(alone[k], want[k], most, n);
}

static void test_complex(void **state) {
  (void)state;
  for (int i = 0; length_at(i) > 0; i++) {
    bsm_arena arena;
    bsm_arena_init(&arena, NULL);
    check_complex(&arena, length_at(i), i % 2);
    bsm_arena_destroy(&arena);
  }
}

/* Forward, and back again. */
static void check_real(bsm_arena *arena, int64_t n,
                       const bsm_fft_kernels *kernels) {
  static bsm_c128 x[MOST], want[MOST];
  const size_t w = (size_t)kernels->width;
  bsm_rfft *fft;
  assert_null(bsm_rfft_create(arena, n, kernels->width, &fft));
  double *in = bsm_fft_blocks(arena, (size_t)n + 1, kernels->width);
  double *out = bsm_fft_blocks(arena, (size_t)n + 1, kernels->width);
  const bool halved = bsm_rfft_is_halved(fft);
  uint64_t seed = (uint64_t)n;
  for (int64_t j = 0; j < n; j++) {
    x[j] = (bsm_c128){some(&seed), 0.0};
    const size_t start = (size_t)(halved ? j / 2 : j) * 2 * w;
    for (size_t l = 0; l < w; l++) {
      in[start + (halved && j % 2 ? w : 0) + l] = x[j].re * (double)(l + 1);
    }
  }
  const double most = define(x, n, -1, want);
  bsm_rfft_forward(fft, kernels, in, out);
  for (int64_t k = 0; k <= n / 2; k++) {
    for (size_t l = 0; l < w; l++) {
      const double by = (double)(l + 1);
      const double *v = out + (size_t)k * 2 * w + l;
      assert_near((bsm_c128){v[0] / by, v[w] / by}, want[k], most, n);
    }
  }
  for (int64_t k = 0; k <= n / 2 && !halved; k++) { /* wants them swapped */
    for (size_t l = 0; l < w; l++) {
      double *v = out + (size_t)k * 2 * w + l, re = v[0];
      v[0] = v[w], v[w] = re;
    }
  }
  bsm_rfft_inverse(fft, kernels, out, in);
  for (int64_t j = 0; j < n; j++) {
    const size_t start = (size_t)(halved ? j / 2 : j) * 2 * w;
    const double got = in[start + (halved && j % 2 ? 0 : w)] / (double)n;
    assert_near((bsm_c128){got, 0.0}, x[j], 1.0, n);
  }
}

static void test_real(void **state) {
  const bsm_fft_kernels *kernels[WIDTHS];
  const int count = kernels_here(kernels);
  (void)state;
  for (int i = 0; length_at(i) > 0; i++) {
    bsm_arena arena;
    bsm_arena_init(&arena, NULL);
    check_real(&arena, length_at(i), kernels[i % count]);
    bsm_arena_destroy(&arena);
  }
}

/* Floats in memory: pairs and others, windows, fewer rows than at once. */
static void check_floats(const bsm_fft_kernels *kernels, int count,
                         const bsm_fft_rows *how, int points) {
  float in[BSM_FFT_MAX_WIDTH][96], window[96], out[BSM_FFT_MAX_WIDTH][96];
  static _Alignas(64) double blocks[96 * 2 * BSM_FFT_MAX_WIDTH];
  bsm_fft_rows rows = *how;
  uint64_t seed = 5;
  for (int i = 0; i < 96; i++) window[i] = (float)some(&seed);
  for (int l = 0; l < BSM_FFT_MAX_WIDTH; l++) {
    rows.row[l] = (char *)in[l < count ? l : 0];
    for (int i = 0; i < 96; i++)
      in[l][i] = (float)some(&seed), out[l][i] = 9.0f;
  }
  rows.count = count;
  if (how->window) rows.window = (const char *)window;
  kernels->load(&rows, (size_t)points, blocks);
  for (int l = 0; l < BSM_FFT_MAX_WIDTH; l++) rows.row[l] = (char *)out[l];
  kernels->store(&rows, (size_t)points, blocks);
  for (int l = 0; l < BSM_FFT_MAX_WIDTH; l++) {
    float want[96];
    for (int i = 0; i < 96; i++) want[i] = 9.0f;
    for (int k = 0; k < points && l < count; k++) {
      for (int part = 0; part < (how->is_real ? 1 : 2); part++) {
        const int64_t at = (k * how->step + part * how->imaginary) / 4;
        const float v = how->window ? in[l][at] * window[at] : in[l][at];
        want[at] = (float)((double)v * how->scale);
      }
    }
    assert_memory_equal(out[l], want, sizeof(want));
  }
}

static void test_floats(void **state) {
  const bsm_fft_kernels *kernels[WIDTHS];
  const int n = kernels_here(kernels);
  (void)state;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 16; k++) {
      const bsm_fft_rows how = {.is_float = true,
                                .is_real = k % 4 == 3,
                                .swapped = k / 4 % 2,
                                .step = k % 4 == 1 ? 12 : 8,
                                .imaginary = k % 4 == 2 ? 192 : 4,
                                .scale = k % 3 ? 1.0 : 0.3,
                                .window = k < 8 ? "" : NULL};
      for (int count = 1; count <= kernels[i]->width; count++) {
        check_floats(kernels[i], count, &how, 24 + count % 2 - 1);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_complex),
      cmocka_unit_test(test_real),
      cmocka_unit_test(test_floats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
