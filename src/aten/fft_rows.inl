/* SPDX-License-Identifier: Apache-2.0 */
/* The body of fft_rows_<isa>.c: FFT_WIDTH rows at once. See fft_rows.h. */
#include "aten/fft_rows.h"

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors stay in this file */
#endif

#if FFT_WIDTH == 1
typedef double vec;
#else
typedef double vec __attribute__((vector_size(8 * FFT_WIDTH), may_alias));
#endif

typedef struct block {
  vec re, im;
} block;

static inline block add(block a, block b) {
  return (block){a.re + b.re, a.im + b.im};
}
static inline block sub(block a, block b) {
  return (block){a.re - b.re, a.im - b.im};
}
static inline block scale(block a, double s) {
  return (block){a.re * s, a.im * s};
}
static inline block mul(block a, bsm_c128 w) {
  return (block){a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}
static inline block conj_of(block a) {
  return (block){a.re, -a.im};
}
static inline block turn(block a) { /* times -i */
  return (block){a.im, -a.re};
}
static inline block swap(block a) {
  return (block){a.im, a.re};
}

/* ---- mixed radix ---- */

/* Each of these joins `radix` transforms of m points, which lie one after the
 * other in `x`; `step` is from one root to the next. */
static void butterfly2(const bsm_c128 *roots, size_t step, block *x, size_t m) {
  for (size_t k = 0; k < m; k++) {
    const block b = k > 0 ? mul(x[m + k], roots[k * step]) : x[m];
    x[m + k] = sub(x[k], b);
    x[k] = add(x[k], b);
  }
}

static inline void join4(block a, block b, block c, block d, block *out,
                         size_t m) {
  const block even = add(a, c), odd = add(b, d);
  const block even2 = sub(a, c), odd2 = turn(sub(b, d));
  out[0] = add(even, odd);
  out[m] = add(even2, odd2);
  out[2 * m] = sub(even, odd);
  out[3 * m] = sub(even2, odd2);
}

static void butterfly4(const bsm_c128 *roots, size_t step, block *x, size_t m) {
  join4(x[0], x[m], x[2 * m], x[3 * m], x, m);
  for (size_t k = 1; k < m; k++) {
    const bsm_c128 *w = roots + k * step;
    join4(x[k], mul(x[m + k], *w), mul(x[2 * m + k], w[k * step]),
          mul(x[3 * m + k], w[2 * k * step]), x + k, m);
  }
}

/* Of an odd radix: parts q and radix - q have conjugate twiddles, so that their
 * sum takes the real part of these and their difference the imaginary one. */
static inline __attribute__((always_inline)) void butterfly_of(
    const bsm_c128 *roots, size_t step, block *x, size_t m,
    const size_t radix) {
  const size_t half = radix / 2;
  block part[BSM_FFT_LARGEST_RADIX];
  bsm_c128 root[BSM_FFT_LARGEST_RADIX];
  for (size_t q = 0; q < radix; q++) root[q] = roots[q * m * step];
  for (size_t k = 0; k < m; k++) {
    block total = part[0] = x[k];
    for (size_t q = 1; q <= half; q++) {
      const size_t p = radix - q;
      const block a = k > 0 ? mul(x[q * m + k], roots[q * k * step]) : x[q * m];
      const block b = k > 0 ? mul(x[p * m + k], roots[p * k * step]) : x[p * m];
      part[q] = add(a, b);
      part[p] = sub(a, b);
      total = add(total, part[q]);
    }
    x[k] = total;
    for (size_t j = 1; j <= half; j++) {
      block even = part[0], odd = scale(part[radix - 1], root[j].im);
      for (size_t q = 1, at = j; q <= half; q++) {
        even = add(even, scale(part[q], root[at].re));
        if (q > 1) odd = add(odd, scale(part[radix - q], root[at].im));
        at += j;
        if (at >= radix) at -= radix;
      }
      odd = turn(odd);
      x[j * m + k] = sub(even, odd);
      x[(radix - j) * m + k] = add(even, odd);
    }
  }
}

static void butterfly3(const bsm_c128 *roots, size_t step, block *x, size_t m) {
  butterfly_of(roots, step, x, m, 3);
}

static void butterfly5(const bsm_c128 *roots, size_t step, block *x, size_t m) {
  butterfly_of(roots, step, x, m, 5);
}

static void butterfly_odd(const bsm_c128 *roots, size_t step, block *x,
                          size_t m, size_t radix) {
  butterfly_of(roots, step, x, m, radix);
}

/* Transforms in[0], in[step], in[2 step], ... into out; the depth is the number
 * of factors. */
static void transform_level(const bsm_fft_mixed *p, int level, const block *in,
                            size_t step, block *out) {
  if (level == p->stage_count) {
    out[0] = in[0];
    return;
  }
  const size_t radix = p->stages[level].radix, m = p->stages[level].rest;
  if (m == 1 && radix == 4) {
    join4(in[0], in[step], in[2 * step], in[3 * step], out, 1);
    return;
  }
  for (size_t q = 0; q < radix; q++) {
    if (m == 1) {
      out[q] = in[q * step];
    } else if (m == 4 && p->stages[level + 1].radix == 4) {
      const block *const x = in + q * step;
      const size_t apart = step * radix;
      join4(x[0], x[apart], x[2 * apart], x[3 * apart], out + 4 * q, 1);
    } else {
      transform_level(p, level + 1, in + q * step, step * radix, out + q * m);
    }
  }
  const size_t root_step = step * p->root_step;
  switch (radix) {
    case 2:
      butterfly2(p->roots, root_step, out, m);
      return;
    case 3:
      butterfly3(p->roots, root_step, out, m);
      return;
    case 4:
      butterfly4(p->roots, root_step, out, m);
      return;
    case 5:
      butterfly5(p->roots, root_step, out, m);
      return;
    default:
      butterfly_odd(p->roots, root_step, out, m, radix);
  }
}

static void transform(const bsm_fft_mixed *p, const double *in, double *out) {
  transform_level(p, 0, (const block *)(const void *)in, 1,
                  (block *)(void *)out);
}

static void multiply(const bsm_c128 *by, size_t n, const double *in,
                     double *out, bool swap_in, bool swap_out) {
  const block *const x = (const block *)(const void *)in;
  block *const y = (block *)(void *)out;
  for (size_t k = 0; k < n; k++) {
    const block v = mul(swap_in ? swap(x[k]) : x[k], by[k]);
    y[k] = swap_out ? swap(v) : v;
  }
}

/* ---- real ---- */

/* The transforms of the even and of the odd numbers are the Hermitian and the
 * anti-Hermitian half of that of z. */
static void split(const bsm_c128 *roots, size_t h, double *blocks) {
  block *const x = (block *)(void *)blocks;
  const vec none = {0};
  x[h] = x[0];
  for (size_t k = 0; k <= h - k; k++) {
    const block a = x[k], b = conj_of(x[h - k]);
    const block even = scale(add(a, b), 0.5);
    const block odd = mul(turn(scale(sub(a, b), 0.5)), roots[k]);
    x[h - k] = conj_of(sub(even, odd));
    x[k] = add(even, odd);
  }
  x[0].im = x[h].im = none;
}

static void join(const bsm_c128 *roots, size_t h, double *blocks) {
  block *const x = (block *)(void *)blocks;
  const vec none = {0};
  x[0].im = x[h].im = none;
  for (size_t k = 0; k <= h - k; k++) {
    const block a = x[k], b = conj_of(x[h - k]);
    const block even = add(a, b);
    const bsm_c128 root = {roots[k].re, -roots[k].im};
    const block odd = turn(mul(sub(a, b), root));
    x[h - k] = swap(conj_of(add(even, odd)));
    x[k] = swap(sub(even, odd));
  }
}

/* ---- memory ---- */

static inline __attribute__((always_inline)) double number(
    const char *p, const char *window, const bool is_float) {
  if (is_float) {
    const float x = *(const float *)(const void *)p;
    return window ? x * *(const float *)(const void *)window : x;
  }
  const double x = *(const double *)(const void *)p;
  return window ? x * *(const double *)(const void *)window : x;
}

static inline __attribute__((always_inline)) void load_as(
    const bsm_fft_rows *rows, size_t first, size_t n, double *out,
    const bool is_float) {
  double *to = out + (size_t)2 * FFT_WIDTH * first;
  const size_t re = rows->swapped ? FFT_WIDTH : 0, im = FFT_WIDTH - re;
  for (size_t j = first; j < n; j++, to += (size_t)2 * FFT_WIDTH) {
    const int64_t at = (int64_t)j * rows->step;
    const char *const w = rows->window ? rows->window + at : NULL;
    for (int l = 0; l < FFT_WIDTH; l++) {
      const char *const p = rows->row[l] + at;
      to[re + (size_t)l] = number(p, w, is_float);
      to[im + (size_t)l] =
          rows->is_real ? 0.0
                        : number(p + rows->imaginary,
                                 w ? w + rows->imaginary : NULL, is_float);
    }
  }
}

static inline __attribute__((always_inline)) void put(char *p, double v,
                                                      const bool is_float) {
  if (is_float) {
    *(float *)(void *)p = (float)v;
  } else {
    *(double *)(void *)p = v;
  }
}

static inline __attribute__((always_inline)) void store_as(
    const bsm_fft_rows *rows, size_t first, size_t n, const double *in,
    const bool is_float) {
  const double *from = in + (size_t)2 * FFT_WIDTH * first;
  const size_t re = rows->swapped ? FFT_WIDTH : 0, im = FFT_WIDTH - re;
  for (size_t j = first; j < n; j++, from += (size_t)2 * FFT_WIDTH) {
    const int64_t at = (int64_t)j * rows->step;
    for (int l = 0; l < rows->count; l++) {
      char *const p = rows->row[l] + at;
      put(p, from[re + (size_t)l] * rows->scale, is_float);
      if (rows->is_real) continue;
      put(p + rows->imaginary, from[im + (size_t)l] * rows->scale, is_float);
    }
  }
}

#if FFT_WIDTH >= 4
typedef float floats4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef double doubles4 __attribute__((vector_size(32), aligned(8), may_alias));

#if defined(__clang__) || __GNUC__ >= 12
#define MIX(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef int ints4 __attribute__((vector_size(16)));
#define MIX(a, b, i, j, k, l) __builtin_shuffle(a, b, (ints4){i, j, k, l})
#endif

static inline void widen(double *to, floats4 a, floats4 b, bool high) {
  const floats4 x = high ? MIX(a, b, 2, 3, 6, 7) : MIX(a, b, 0, 1, 4, 5);
  *(doubles4 *)(void *)to = __builtin_convertvector(x, doubles4);
}

static inline floats4 narrow(const double *from, double by) {
  const doubles4 x = *(const doubles4 *)(const void *)from * by;
  return __builtin_convertvector(x, floats4);
}

/* Of rows of pairs of floats, two numbers of four rows at once; returns how
 * many were moved. */
static inline size_t load_pairs(const bsm_fft_rows *rows, size_t n,
                                double *out) {
  const size_t re = rows->swapped ? FFT_WIDTH : 0, im = FFT_WIDTH - re;
  size_t j = 0;
  for (; j + 2 <= n; j += 2) {
    for (size_t l = 0; l < FFT_WIDTH; l += 4) {
      double *to = out + j * 2 * FFT_WIDTH + l;
      floats4 r[4];
      for (size_t i = 0; i < 4; i++) {
        r[i] = *(const floats4 *)(const void *)(rows->row[l + i] + 8 * j);
        if (!rows->window) continue;
        r[i] *= *(const floats4 *)(const void *)(rows->window + 8 * j);
      }
      const floats4 a = MIX(r[0], r[1], 0, 4, 1, 5);
      const floats4 b = MIX(r[2], r[3], 0, 4, 1, 5);
      const floats4 c = MIX(r[0], r[1], 2, 6, 3, 7);
      const floats4 d = MIX(r[2], r[3], 2, 6, 3, 7);
      widen(to + re, a, b, false);
      widen(to + im, a, b, true);
      widen(to + 2 * FFT_WIDTH + re, c, d, false);
      widen(to + 2 * FFT_WIDTH + im, c, d, true);
    }
  }
  return j;
}

static inline size_t store_pairs(const bsm_fft_rows *rows, size_t n,
                                 const double *in) {
  const size_t re = rows->swapped ? FFT_WIDTH : 0, im = FFT_WIDTH - re;
  const double by = rows->scale;
  size_t j = 0;
  for (; j + 2 <= n; j += 2) {
    for (size_t l = 0; l < (size_t)rows->count; l += 4) {
      const double *from = in + j * 2 * FFT_WIDTH + l;
      const floats4 x0 = narrow(from + re, by), y0 = narrow(from + im, by);
      from += 2 * FFT_WIDTH;
      const floats4 x1 = narrow(from + re, by), y1 = narrow(from + im, by);
      const floats4 a = MIX(x0, y0, 0, 4, 1, 5), b = MIX(x1, y1, 0, 4, 1, 5);
      const floats4 c = MIX(x0, y0, 2, 6, 3, 7), d = MIX(x1, y1, 2, 6, 3, 7);
      const floats4 r[4] = {MIX(a, b, 0, 1, 4, 5), MIX(a, b, 2, 3, 6, 7),
                            MIX(c, d, 0, 1, 4, 5), MIX(c, d, 2, 3, 6, 7)};
      for (size_t i = l; i < l + 4 && i < (size_t)rows->count; i++) {
        *(floats4 *)(void *)(rows->row[i] + 8 * j) = r[i - l];
      }
    }
  }
  return j;
}
#else
static inline size_t load_pairs(const bsm_fft_rows *rows, size_t n,
                                double *out) {
  (void)rows, (void)n, (void)out;
  return 0;
}
static inline size_t store_pairs(const bsm_fft_rows *rows, size_t n,
                                 const double *in) {
  (void)rows, (void)n, (void)in;
  return 0;
}
#endif

static inline bool has_pairs(const bsm_fft_rows *rows) {
  return rows->is_float && !rows->is_real &&
         rows->imaginary == (int64_t)sizeof(float) &&
         rows->step == 2 * (int64_t)sizeof(float);
}

static void load(const bsm_fft_rows *rows, size_t n, double *out) {
  if (!rows->is_float) {
    load_as(rows, 0, n, out, false);
  } else {
    const size_t done = has_pairs(rows) ? load_pairs(rows, n, out) : 0;
    load_as(rows, done, n, out, true);
  }
}

static void store(const bsm_fft_rows *rows, size_t n, const double *in) {
  if (!rows->is_float) {
    store_as(rows, 0, n, in, false);
  } else {
    const size_t done = has_pairs(rows) ? store_pairs(rows, n, in) : 0;
    store_as(rows, done, n, in, true);
  }
}

const bsm_fft_kernels FFT_KERNELS = {FFT_WIDTH, load,  store, transform,
                                     multiply,  split, join};
