/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms: mixed radix (decimation in time), Bluestein, and real
 * transforms of even length as complex ones of half the length. */
#include "aten/fft.h"

#include <math.h>
#include <string.h>

#include "aten/complex_math.h"
#include "base/isa.h"

struct bsm_fft {
  bsm_fft_mixed mixed;
  /* Bluestein: a convolution with a chirp, of a power of two's length. */
  bsm_fft *inner;     /* NULL: mixed radix */
  bsm_c128 *chirp;    /* e^(-pi i k^2 / n) */
  bsm_c128 *spectrum; /* the transform of the inverse chirp, scaled */
  double *scratch[2]; /* inner->mixed.n blocks each */
};

/* Sines and cosines of angles up to pi / 4, to the last bit or the one before
 * it: the same on every machine, and many times faster than the C library's. */
static void sine_and_cosine(double x, double *sine, double *cosine) {
  const double z = x * x;
  double s = 1.58962301576546568060e-10, c = -1.13585365213876817300e-11;
  s = s * z - 2.50507477628578072866e-8;
  s = s * z + 2.75573136213857245213e-6;
  s = s * z - 1.98412698295895385996e-4;
  s = s * z + 8.33333333332211858878e-3;
  s = s * z - 1.66666666666666307295e-1;
  c = c * z + 2.08757008419747316778e-9;
  c = c * z - 2.75573141792967388112e-7;
  c = c * z + 2.48015872888517045348e-5;
  c = c * z - 1.38888888888730564116e-3;
  c = c * z + 4.16666666666665929218e-2;
  *sine = x + x * (z * s);
  *cosine = 1.0 - (0.5 * z - z * (z * c));
}

/* e^(-2 pi i k / n), with the angle reduced to an eighth of the circle so that
 * symmetric values agree to the last bit. */
static bsm_c128 unit_root(uint64_t k, uint64_t n) {
  const uint64_t eighth = 8 * k / n;
  double c, s;
  k = eighth % 2 ? (eighth + 1) / 2 * 2 * n - 8 * k : 8 * k - eighth * n;
  const double angle = M_PI / 4.0 * (double)k / (double)n;
  double cosine, sine;
  sine_and_cosine(angle, &sine, &cosine);
  switch (eighth) {
    case 0:
      c = cosine, s = sine;
      break;
    case 1:
      c = sine, s = cosine;
      break;
    case 2:
      c = -sine, s = cosine;
      break;
    case 3:
      c = -cosine, s = sine;
      break;
    case 4:
      c = -cosine, s = -sine;
      break;
    case 5:
      c = -sine, s = -cosine;
      break;
    case 6:
      c = sine, s = -cosine;
      break;
    default:
      c = cosine, s = -sine;
  }
  return (bsm_c128){c, -s};
}

/* The first `count` roots, most of them by symmetry, which is exact. */
static bsm_c128 *make_roots(bsm_arena *arena, size_t n, size_t count) {
  bsm_c128 *w = BSM_NEW_ARRAY(arena, bsm_c128, count);
  for (size_t k = 0; w && k < count; k++) {
    const size_t quarter = n / 4;
    if (n % 4 != 0 || k <= quarter / 2) {
      w[k] = unit_root(k, n);
    } else if (k >= quarter) {
      w[k] = (bsm_c128){w[k - quarter].im, -w[k - quarter].re}; /* times -i */
    } else {
      w[k] = (bsm_c128){-w[quarter - k].im, -w[quarter - k].re};
    }
  }
  return w;
}

static void add_stage(bsm_fft_mixed *m, size_t radix, size_t *rest) {
  *rest /= radix;
  m->stages[m->stage_count++] = (bsm_fft_stage){radix, *rest};
}

/* Radices 3, 5, 7, ..., then 2, then 4, of which the many transforms of one
 * stage are made fastest; false when one is too large. */
static bool factorise(bsm_fft_mixed *m) {
  size_t rest = m->n;
  for (size_t p = 3; p <= BSM_FFT_LARGEST_RADIX; p += 2) {
    while (rest % p == 0) add_stage(m, p, &rest);
  }
  const size_t twos = rest & (~rest + 1);
  if (rest != twos) return false;
  if (rest & UINT64_C(0xaaaaaaaaaaaaaaaa)) add_stage(m, 2, &rest);
  while (rest > 1) add_stage(m, 4, &rest);
  return true;
}

double *bsm_fft_blocks(bsm_arena *arena, size_t n, int width) {
  return bsm_arena_alloc_array(arena, n, (size_t)width * sizeof(bsm_c128),
                               BSM_FFT_ALIGNMENT);
}

static bsm_status create(bsm_arena *arena, int64_t n, int width,
                         const bsm_c128 *roots, bsm_fft **out);

static bsm_status plan_bluestein(bsm_arena *arena, int width, bsm_fft *fft) {
  const uint64_t n = fft->mixed.n;
  size_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  BSM_TRY(create(arena, (int64_t)m, width, NULL, &fft->inner));
  fft->chirp = BSM_NEW_ARRAY(arena, bsm_c128, fft->mixed.n);
  fft->spectrum = BSM_NEW_ARRAY(arena, bsm_c128, m);
  BSM_TRY_ALLOC(fft->chirp);
  BSM_TRY_ALLOC(fft->spectrum);
  for (int i = 0; i < 2; i++) {
    fft->scratch[i] = bsm_fft_blocks(arena, m, width);
    BSM_TRY_ALLOC(fft->scratch[i]);
  }
  uint64_t square = 0; /* k * k modulo 2 n */
  for (uint64_t k = 0; k < n; k++) {
    fft->chirp[k] = unit_root(square, 2 * n);
    square = (square + 2 * k + 1) % (2 * n);
  }
  bsm_c128 *b = (bsm_c128 *)(void *)fft->scratch[0];
  memset(b, 0, m * sizeof(*b));
  for (uint64_t k = 0; k < n; k++) {
    b[k] = bsm_c_scale(bsm_c_conj(fft->chirp[k]), 1.0 / (double)m);
    if (k > 0) b[m - k] = b[k];
  }
  bsm_fft_run(fft->inner, &bsm_fft_kernels_scalar, &b->re, &fft->spectrum->re);
  return BSM_OK;
}

/* `roots`: those of 2 n, or NULL. */
static bsm_status create(bsm_arena *arena, int64_t n, int width,
                         const bsm_c128 *roots, bsm_fft **out) {
  if (n < 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Invalid number of data points (%lld) specified",
                    (long long)n);
  }
  if (n > (int64_t)1 << 40 || (uint64_t)n > SIZE_MAX / 64) {
    return BSM_FAIL(BSM_LIMIT, "a transform of %lld points", (long long)n);
  }
  bsm_fft *fft = BSM_NEW(arena, bsm_fft);
  BSM_TRY_ALLOC(fft);
  bsm_fft_mixed *m = &fft->mixed;
  m->n = (size_t)n;
  *out = fft;
  if (!factorise(m)) return plan_bluestein(arena, width, fft);
  m->root_step = roots ? 2 : 1;
  m->roots = roots ? roots : make_roots(arena, m->n, m->n);
  BSM_TRY_ALLOC(m->roots);
  return BSM_OK;
}

bsm_status bsm_fft_create(bsm_arena *arena, int64_t n, int width,
                          bsm_fft **out) {
  return create(arena, n, width, NULL, out);
}

/* Rows that are together in the caches of one core. */
#define MOST_TOGETHER ((size_t)1 << 14)

const bsm_fft_kernels *bsm_fft_choose(size_t n, int64_t rows) {
  const uint32_t isa = bsm_isa_detect();
  (void)isa;
  if (rows < 2 || n > MOST_TOGETHER) return &bsm_fft_kernels_scalar;
#if defined(__x86_64__) || defined(__i386__)
  if (rows > 4 && isa & BSM_ISA_AVX512) return &bsm_fft_kernels_avx512;
  if (isa & BSM_ISA_AVX2) return &bsm_fft_kernels_avx2;
#elif defined(__aarch64__)
  return &bsm_fft_kernels_neon;
#endif
  return &bsm_fft_kernels_scalar;
}

/* jk = (j^2 + k^2 - (k - j)^2) / 2: a transform is a convolution with a chirp.
 */
static void bluestein(const bsm_fft *fft, const bsm_fft_kernels *kernels,
                      const double *in, double *out) {
  const size_t n = fft->mixed.n, m = fft->inner->mixed.n;
  const size_t block = 2 * (size_t)kernels->width;
  double *a = fft->scratch[0], *b = fft->scratch[1];
  kernels->multiply(fft->chirp, n, in, a, false, false);
  memset(a + n * block, 0, (m - n) * block * sizeof(*a));
  kernels->transform(&fft->inner->mixed, a, b);
  kernels->multiply(fft->spectrum, m, b, b, false, true);
  kernels->transform(&fft->inner->mixed, b, a);
  kernels->multiply(fft->chirp, n, a, out, true, false);
}

void bsm_fft_run(const bsm_fft *fft, const bsm_fft_kernels *kernels,
                 const double *in, double *out) {
  if (fft->inner) {
    bluestein(fft, kernels, in, out);
  } else {
    kernels->transform(&fft->mixed, in, out);
  }
}

/* ---- real ---- */

struct bsm_rfft {
  size_t n;
  bool halved; /* n is even: `fft` has n / 2 points */
  bsm_fft *fft;
  bsm_c128 *roots; /* e^(-2 pi i k / n); NULL where n is odd */
};

bsm_status bsm_rfft_create(bsm_arena *arena, int64_t n, int width,
                           bsm_rfft **out) {
  bsm_rfft *r = BSM_NEW(arena, bsm_rfft);
  BSM_TRY_ALLOC(r);
  *out = r;
  r->halved = n > 1 && n % 2 == 0;
  r->n = (size_t)n;
  if (!r->halved) return create(arena, n, width, NULL, &r->fft);
  if (n > (int64_t)1 << 41) {
    return BSM_FAIL(BSM_LIMIT, "a transform of %lld points", (long long)n);
  }
  r->roots = make_roots(arena, r->n, r->n);
  BSM_TRY_ALLOC(r->roots);
  return create(arena, n / 2, width, r->roots, &r->fft);
}

bool bsm_rfft_is_halved(const bsm_rfft *fft) {
  return fft->halved;
}

void bsm_fft_mirror(double *blocks, size_t n, int width, bool swapped) {
  const size_t w = (size_t)width, re = swapped ? w : 0, im = w - re;
  for (size_t k = n / 2 + 1; k < n; k++) {
    const double *from = blocks + (n - k) * 2 * w;
    double *to = blocks + k * 2 * w;
    for (size_t l = 0; l < w; l++) {
      to[re + l] = from[re + l];
      to[im + l] = -from[im + l];
    }
  }
}

void bsm_rfft_forward(const bsm_rfft *fft, const bsm_fft_kernels *kernels,
                      const double *in, double *out) {
  bsm_fft_run(fft->fft, kernels, in, out);
  if (fft->halved) {
    kernels->split(fft->roots, fft->n / 2, out);
  } else {
    memset(out + kernels->width, 0, (size_t)kernels->width * sizeof(*out));
  }
}

void bsm_rfft_inverse(const bsm_rfft *fft, const bsm_fft_kernels *kernels,
                      double *in, double *out) {
  if (fft->halved) {
    kernels->join(fft->roots, fft->n / 2, in);
  } else {
    memset(in, 0, (size_t)kernels->width * sizeof(*in));
    bsm_fft_mirror(in, fft->n, kernels->width, true);
  }
  bsm_fft_run(fft->fft, kernels, in, out);
}
