/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms: mixed radix (decimation in time), Bluestein, and real
 * transforms of even length as complex ones of half the length. */
#include "aten/fft.h"

#include <math.h>

#include "aten/complex_math.h"

enum {
  LARGEST_RADIX = 31, /* longer prime factors go to Bluestein */
  MAX_FACTORS = 64
};

typedef struct stage {
  size_t radix, rest; /* rest: product of the radices that follow */
} stage;

struct bsm_fft {
  size_t n;
  bsm_c128 *twiddles; /* e^(-2 pi i k / n) */
  stage stages[MAX_FACTORS];
  int stage_count;
  /* Bluestein: a convolution with a chirp, of a power of two's length. */
  bsm_fft *inner;       /* NULL: mixed radix */
  bsm_c128 *chirp;      /* e^(-pi i k^2 / n) */
  bsm_c128 *spectrum;   /* the transform of the inverse chirp, scaled */
  bsm_c128 *scratch[2]; /* inner->n each */
};

/* e^(-2 pi i k / n), with the angle reduced to an eighth of the circle so that
 * symmetric values agree to the last bit. */
static bsm_c128 unit_root(uint64_t k, uint64_t n) {
  const uint64_t eighth = 8 * k / n;
  double c, s;
  k = eighth % 2 ? (eighth + 1) / 2 * 2 * n - 8 * k : 8 * k - eighth * n;
  const double angle = M_PI / 4.0 * (double)k / (double)n;
  const double cosine = cos(angle), sine = sin(angle);
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

static inline bsm_c128 turn(bsm_c128 z, bool inverse) {
  /* times -i, or i */
  return inverse ? (bsm_c128){-z.im, z.re} : (bsm_c128){z.im, -z.re};
}

/* The first `count` roots, most of them by symmetry, which is exact. */
static bsm_c128 *make_roots(bsm_arena *arena, size_t n, size_t count) {
  bsm_c128 *w = BSM_NEW_ARRAY(arena, bsm_c128, count);
  for (size_t k = 0; w && k < count; k++) {
    const size_t quarter = n / 4;
    if (n % 4 != 0 || k <= quarter / 2) {
      w[k] = unit_root(k, n);
    } else if (k >= quarter) {
      w[k] = turn(w[k - quarter], false);
    } else {
      w[k] = (bsm_c128){-w[quarter - k].im, -w[quarter - k].re};
    }
  }
  return w;
}

static void add_stage(bsm_fft *fft, size_t radix, size_t *rest) {
  *rest /= radix;
  fft->stages[fft->stage_count++] = (stage){radix, *rest};
}

/* Radices 3, 5, 7, ..., then 2, then 4, of which the many transforms of one
 * stage are made fastest; false when one is too large. */
static bool factorise(bsm_fft *fft) {
  size_t rest = fft->n;
  for (size_t p = 3; p <= LARGEST_RADIX; p += 2) {
    while (rest % p == 0) add_stage(fft, p, &rest);
  }
  const size_t twos = rest & (~rest + 1);
  if (rest != twos) return false;
  if (rest & UINT64_C(0xaaaaaaaaaaaaaaaa)) add_stage(fft, 2, &rest);
  while (rest > 1) add_stage(fft, 4, &rest);
  return true;
}

static bsm_status plan_bluestein(bsm_arena *arena, bsm_fft *fft) {
  const uint64_t n = fft->n;
  size_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  BSM_TRY(bsm_fft_create(arena, (int64_t)m, &fft->inner));
  fft->chirp = BSM_NEW_ARRAY(arena, bsm_c128, fft->n);
  fft->spectrum = BSM_NEW_ARRAY(arena, bsm_c128, m);
  BSM_TRY_ALLOC(fft->chirp);
  BSM_TRY_ALLOC(fft->spectrum);
  for (int i = 0; i < 2; i++) {
    fft->scratch[i] = BSM_NEW_ARRAY(arena, bsm_c128, m);
    BSM_TRY_ALLOC(fft->scratch[i]);
  }
  uint64_t square = 0; /* k * k modulo 2 n */
  for (uint64_t k = 0; k < n; k++) {
    fft->chirp[k] = unit_root(square, 2 * n);
    square = (square + 2 * k + 1) % (2 * n);
  }
  bsm_c128 *b = fft->scratch[0];
  for (size_t k = 0; k < m; k++) b[k] = (bsm_c128){0.0, 0.0};
  for (uint64_t k = 0; k < n; k++) {
    b[k] = bsm_c_scale(bsm_c_conj(fft->chirp[k]), 1.0 / (double)m);
    if (k > 0) b[m - k] = b[k];
  }
  bsm_fft_run(fft->inner, b, fft->spectrum, false);
  return BSM_OK;
}

bsm_status bsm_fft_create(bsm_arena *arena, int64_t n, bsm_fft **out) {
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
  fft->n = (size_t)n;
  *out = fft;
  if (!factorise(fft)) return plan_bluestein(arena, fft);
  fft->twiddles = make_roots(arena, fft->n, fft->n);
  BSM_TRY_ALLOC(fft->twiddles);
  return BSM_OK;
}

/* ---- mixed radix ---- */

static inline bsm_c128 twiddle(const bsm_fft *fft, size_t k, bool inverse) {
  const bsm_c128 w = fft->twiddles[k];
  return inverse ? bsm_c_conj(w) : w;
}

/* Each of these joins `radix` transforms of m points, which lie one after the
 * other in `x`; `step` is n / (radix * m). */
static void butterfly2(const bsm_fft *fft, bsm_c128 *x, size_t m, size_t step,
                       bool inverse) {
  for (size_t k = 0; k < m; k++) {
    bsm_c128 b = x[m + k];
    if (k > 0) b = bsm_c_mul(b, twiddle(fft, k * step, inverse));
    x[m + k] = bsm_c_sub(x[k], b);
    x[k] = bsm_c_add(x[k], b);
  }
}

static void butterfly4(const bsm_fft *fft, bsm_c128 *x, size_t m, size_t step,
                       bool inverse) {
  for (size_t k = 0; k < m; k++) {
    const bsm_c128 a = x[k];
    bsm_c128 b = x[m + k], c = x[2 * m + k], d = x[3 * m + k];
    if (k > 0) {
      b = bsm_c_mul(b, twiddle(fft, k * step, inverse));
      c = bsm_c_mul(c, twiddle(fft, 2 * k * step, inverse));
      d = bsm_c_mul(d, twiddle(fft, 3 * k * step, inverse));
    }
    const bsm_c128 even = bsm_c_add(a, c), odd = bsm_c_add(b, d);
    const bsm_c128 even2 = bsm_c_sub(a, c);
    const bsm_c128 odd2 = turn(bsm_c_sub(b, d), inverse);
    x[k] = bsm_c_add(even, odd);
    x[m + k] = bsm_c_add(even2, odd2);
    x[2 * m + k] = bsm_c_sub(even, odd);
    x[3 * m + k] = bsm_c_sub(even2, odd2);
  }
}

/* Of an odd radix: parts q and radix - q have conjugate twiddles, so that their
 * sum takes the real part of these and their difference the imaginary one. */
static void butterfly_odd(const bsm_fft *fft, bsm_c128 *x, size_t m,
                          size_t step, size_t radix, bool inverse) {
  const size_t half = radix / 2;
  bsm_c128 part[LARGEST_RADIX], root[LARGEST_RADIX];
  for (size_t q = 0; q < radix; q++)
    root[q] = twiddle(fft, q * m * step, inverse);
  for (size_t k = 0; k < m; k++) {
    bsm_c128 total = part[0] = x[k];
    for (size_t q = 1; q <= half; q++) {
      const size_t p = radix - q;
      const bsm_c128 a =
          bsm_c_mul(x[q * m + k], twiddle(fft, q * k * step, inverse));
      const bsm_c128 b =
          bsm_c_mul(x[p * m + k], twiddle(fft, p * k * step, inverse));
      part[q] = bsm_c_add(a, b);
      part[p] = bsm_c_sub(a, b);
      total = bsm_c_add(total, part[q]);
    }
    x[k] = total;
    for (size_t j = 1; j <= half; j++) {
      bsm_c128 even = part[0], odd = {0.0, 0.0};
      for (size_t q = 1, at = j; q <= half; q++) {
        even = bsm_c_add(even, bsm_c_scale(part[q], root[at].re));
        odd = bsm_c_add(odd, bsm_c_scale(part[radix - q], root[at].im));
        at += j;
        if (at >= radix) at -= radix;
      }
      odd = turn(odd, true);
      x[j * m + k] = bsm_c_add(even, odd);
      x[(radix - j) * m + k] = bsm_c_sub(even, odd);
    }
  }
}

/* Transforms in[0], in[step], in[2 step], ... into out; the depth is the number
 * of factors. */
static void transform(const bsm_fft *fft, int level, const bsm_c128 *in,
                      size_t step, bsm_c128 *out, bool inverse) {
  if (level == fft->stage_count) {
    out[0] = in[0];
    return;
  }
  const size_t radix = fft->stages[level].radix, m = fft->stages[level].rest;
  if (m == 1) {
    for (size_t q = 0; q < radix; q++) out[q] = in[q * step];
  }
  for (size_t q = 0; q < radix && m > 1; q++) {
    transform(fft, level + 1, in + q * step, step * radix, out + q * m,
              inverse);
  }
  if (radix == 4) {
    butterfly4(fft, out, m, step, inverse);
  } else if (radix == 2) {
    butterfly2(fft, out, m, step, inverse);
  } else {
    butterfly_odd(fft, out, m, step, radix, inverse);
  }
}

/* ---- Bluestein ---- */

/* jk = (j^2 + k^2 - (k - j)^2) / 2: a transform is a convolution with a chirp.
 * An inverse one is the conjugate of the transform of the conjugate. */
static void bluestein(const bsm_fft *fft, const bsm_c128 *in, bsm_c128 *out,
                      bool inverse) {
  const size_t n = fft->n, m = fft->inner->n;
  bsm_c128 *a = fft->scratch[0], *b = fft->scratch[1];
  for (size_t k = 0; k < m; k++) a[k] = (bsm_c128){0.0, 0.0};
  for (size_t k = 0; k < n; k++) {
    a[k] = bsm_c_mul(inverse ? bsm_c_conj(in[k]) : in[k], fft->chirp[k]);
  }
  bsm_fft_run(fft->inner, a, b, false);
  for (size_t k = 0; k < m; k++) b[k] = bsm_c_mul(b[k], fft->spectrum[k]);
  bsm_fft_run(fft->inner, b, a, true);
  for (size_t k = 0; k < n; k++) {
    const bsm_c128 v = bsm_c_mul(a[k], fft->chirp[k]);
    out[k] = inverse ? bsm_c_conj(v) : v;
  }
}

void bsm_fft_run(const bsm_fft *fft, const bsm_c128 *in, bsm_c128 *out,
                 bool inverse) {
  if (fft->inner) {
    bluestein(fft, in, out, inverse);
  } else {
    transform(fft, 0, in, 1, out, inverse);
  }
}

/* ---- real ---- */

struct bsm_rfft {
  size_t n;
  bool halved; /* n is even: `fft` has n / 2 points */
  bsm_fft *fft;
  bsm_c128 *twiddles;   /* e^(-2 pi i k / n), k <= n / 2 */
  bsm_c128 *scratch[2]; /* n each */
};

bsm_status bsm_rfft_create(bsm_arena *arena, int64_t n, bsm_rfft **out) {
  bsm_rfft *r = BSM_NEW(arena, bsm_rfft);
  BSM_TRY_ALLOC(r);
  *out = r;
  r->halved = n > 1 && n % 2 == 0;
  BSM_TRY(bsm_fft_create(arena, r->halved ? n / 2 : n, &r->fft));
  r->n = (size_t)n;
  r->twiddles = make_roots(arena, r->n, r->n / 2 + 1);
  BSM_TRY_ALLOC(r->twiddles);
  for (int i = 0; i < 2; i++) {
    r->scratch[i] = BSM_NEW_ARRAY(arena, bsm_c128, r->n);
    BSM_TRY_ALLOC(r->scratch[i]);
  }
  return BSM_OK;
}

/* With z[j] = x[2 j] + i x[2 j + 1], the transforms of the even and of the odd
 * numbers are the Hermitian and the anti-Hermitian half of that of z. */
void bsm_rfft_forward(const bsm_rfft *fft, const double *in, bsm_c128 *out) {
  bsm_c128 *z = fft->scratch[0], *spectrum = fft->scratch[1];
  const size_t n = fft->n, h = n / 2;
  if (!fft->halved) {
    for (size_t k = 0; k < n; k++) z[k] = (bsm_c128){in[k], 0.0};
    bsm_fft_run(fft->fft, z, spectrum, false);
    for (size_t k = 0; k <= h; k++) out[k] = spectrum[k];
    out[0].im = 0.0;
    return;
  }
  for (size_t k = 0; k < h; k++) z[k] = (bsm_c128){in[2 * k], in[2 * k + 1]};
  bsm_fft_run(fft->fft, z, spectrum, false);
  for (size_t k = 0; k <= h; k++) {
    const bsm_c128 a = spectrum[k == h ? 0 : k];
    const bsm_c128 b = bsm_c_conj(spectrum[k == 0 ? 0 : h - k]);
    const bsm_c128 even = bsm_c_scale(bsm_c_add(a, b), 0.5);
    const bsm_c128 odd = turn(bsm_c_scale(bsm_c_sub(a, b), 0.5), false);
    out[k] = bsm_c_add(even, bsm_c_mul(odd, fft->twiddles[k]));
  }
  out[0].im = out[h].im = 0.0;
}

void bsm_rfft_inverse(const bsm_rfft *fft, const bsm_c128 *in, double *out) {
  bsm_c128 *spectrum = fft->scratch[0], *z = fft->scratch[1];
  const size_t n = fft->n, h = n / 2;
  if (!fft->halved) {
    spectrum[0] = (bsm_c128){in[0].re, 0.0};
    for (size_t k = 1; k <= h; k++) {
      spectrum[k] = in[k];
      spectrum[n - k] = bsm_c_conj(in[k]);
    }
    bsm_fft_run(fft->fft, spectrum, z, true);
    for (size_t k = 0; k < n; k++) out[k] = z[k].re;
    return;
  }
  for (size_t k = 0; k < h; k++) {
    bsm_c128 a = in[k], b = bsm_c_conj(in[h - k]);
    if (k == 0) a.im = b.im = 0.0;
    const bsm_c128 even = bsm_c_add(a, b);
    const bsm_c128 odd =
        bsm_c_mul(bsm_c_sub(a, b), bsm_c_conj(fft->twiddles[k]));
    spectrum[k] = bsm_c_add(even, turn(odd, true));
  }
  bsm_fft_run(fft->fft, spectrum, z, true);
  for (size_t k = 0; k < h; k++) {
    out[2 * k] = z[k].re;
    out[2 * k + 1] = z[k].im;
  }
}
