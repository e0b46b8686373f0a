/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of depthwise_f32.h. The number of pixels is a constant of each
 * instance; channels go by vectors, the last one masked. */
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

VF_INLINE vf load(const float *p, int64_t n) {
  return n >= VF_W ? vf_load(p) : vf_load_n(p, n);
}

VF_INLINE void finish(const bsm_k_depthwise_args *t, const vf *acc,
                      const int pixels, int64_t c, int64_t n) {
  const vf lo = vf_set(t->lo), hi = vf_set(t->hi);
  const vf bias = t->bias ? load(t->bias + c, n) : vf_zero();
  UNROLL
  for (int p = 0; p < pixels; p++) {
    vf x = vf_add(acc[p], bias);
    if (t->residual) {
      x = vf_add(x, load(t->residual + p * t->residual_pixel + c, n));
    }
    x = vf_min(hi, vf_max(lo, x));
    float *y = t->y + p * t->y_pixel + c;
    if (n >= VF_W) {
      vf_store(y, x);
    } else {
      vf_store_n(y, x, n);
    }
  }
}

/* Several vectors of channels of few pixels: enough sums to hide the latency of
 * the multiply-add. */
VF_INLINE void any_vectors(const bsm_k_depthwise_args *t, const int pixels,
                           const int vectors, int64_t c, int64_t n) {
  vf acc[4][BSM_K_DEPTHWISE_MAX_PIXELS];
  UNROLL
  for (int v = 0; v < vectors; v++) {
    UNROLL
    for (int p = 0; p < pixels; p++) acc[v][p] = vf_zero();
  }
  for (int64_t r = 0; r < t->rows; r++) {
    const float *x = t->x[r] + c, *w = t->w[r] + c;
    for (int64_t k = 0; k < t->taps; k++) {
      UNROLL
      for (int v = 0; v < vectors; v++) {
        const vf y = load(w + v * VF_W, n);
        UNROLL
        for (int p = 0; p < pixels; p++) {
          const vf z = load(x + p * t->x_pixel + v * VF_W, n);
          acc[v][p] = vf_fma(y, z, acc[v][p]);
        }
      }
      x += t->x_tap;
      w += t->w_tap;
    }
  }
  UNROLL
  for (int v = 0; v < vectors; v++) {
    finish(t, acc[v], pixels, c + v * VF_W, n);
  }
}

/* Window rows of `taps` taps, one input pixel apart as the outputs are: every
 * input is loaded once for all the pixels that it serves. */
VF_INLINE void row_vector(const bsm_k_depthwise_args *t, const int pixels,
                          const int taps, int64_t c, int64_t n) {
  vf acc[BSM_K_DEPTHWISE_MAX_PIXELS];
  UNROLL
  for (int p = 0; p < pixels; p++) acc[p] = vf_zero();
  for (int64_t r = 0; r < t->rows; r++) {
    const float *x = t->x[r] + c, *w = t->w[r] + c;
    vf y[5];
    UNROLL
    for (int k = 0; k < taps; k++) y[k] = load(w + k * t->w_tap, n);
    UNROLL
    for (int j = 0; j < pixels + taps - 1; j++) {
      const vf v = vf_keep(load(x + j * t->x_tap, n));
      UNROLL
      for (int k = 0; k < taps; k++) {
        if (j - k >= 0 && j - k < pixels)
          acc[j - k] = vf_fma(y[k], v, acc[j - k]);
      }
    }
  }
  finish(t, acc, pixels, c, n);
}

#define ANY(pixels, vectors)                                         \
  static void any_##pixels(const bsm_k_depthwise_args *t) {          \
    int64_t c = 0;                                                   \
    for (; c + vectors * VF_W <= t->channels; c += vectors * VF_W) { \
      any_vectors(t, pixels, vectors, c, VF_W);                      \
    }                                                                \
    for (; c + VF_W <= t->channels; c += VF_W) {                     \
      any_vectors(t, pixels, 1, c, VF_W);                            \
    }                                                                \
    if (c < t->channels) {                                           \
      any_vectors(t, pixels, 1, c, t->channels - c);                 \
    }                                                                \
  }
#define ROW(count, pixels)                                                 \
  static void taps##count##_##pixels(const bsm_k_depthwise_args *t) {      \
    int64_t c = 0;                                                         \
    for (; c + VF_W <= t->channels; c += VF_W) {                           \
      row_vector(t, pixels, count, c, VF_W);                               \
    }                                                                      \
    if (c < t->channels) row_vector(t, pixels, count, c, t->channels - c); \
  }

/* clang-format off */
ANY(1, 4) ANY(2, 4) ANY(3, 2) ANY(4, 2) ANY(5, 1) ANY(6, 1) ANY(7, 1) ANY(8, 1)
ROW(3, 4) ROW(3, 5) ROW(3, 6) ROW(3, 7) ROW(3, 8)
ROW(5, 4) ROW(5, 5) ROW(5, 6) ROW(5, 7) ROW(5, 8)
/* clang-format on */

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
            const bsm_k_depthwise JOIN(bsm_k_depthwise_, BSM_K_SUFFIX) = {
                .name = TEXT(BSM_K_SUFFIX),
                .any = {any_1, any_2, any_3, any_4, any_5, any_6, any_7, any_8},
                .taps3 = {any_1, any_2, any_3, taps3_4, taps3_5, taps3_6,
                          taps3_7, taps3_8},
                .taps5 = {any_1, any_2, any_3, taps5_4, taps5_5, taps5_6,
                          taps5_7, taps5_8}};
