/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of planar_f32.h. The pixels of a tile are `stride` floats apart,
 * a constant, so that a tap of all of them is one pointer. */
#include "backend/cpu/kernels/planar/planar_f32.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define PANEL BSM_K_PLANAR_PANEL
/* Vectors in a panel; panels and pixels of the largest tile. */
#define PV (PANEL / VF_W)
#if VF_W == 16
#define PANELS 2
#define PIXELS 14
#elif VF_W > 1
#define PANELS 1
#define PIXELS 6
#else
#define PANELS 1
#define PIXELS 1
#endif
/* Pixels of a tile of the last columns, where they are one vector of a panel's
 * two. */
#define NARROW (VF_W == 8 ? 12 : PIXELS)

/* Bias and clamp of the tile at pixel p, columns c .. c + n - 1; `whole`: they
 * fill its vectors. */
VF_INLINE void finish_columns(const bsm_k_planar_args *t,
                              vf acc[NARROW][PANELS * PV], const int pixels,
                              const int vectors, int64_t p, int64_t c,
                              int64_t n, const int whole) {
  const vf lo = vf_set(t->lo), hi = vf_set(t->hi);
  float *y = t->y + p * t->y_pixel + c;
  const float *b = t->bias ? t->bias + c : NULL;
  vp parts[PANELS * PV];
  vf bias[PANELS * PV];
  UNROLL
  for (int v = 0; v < vectors; v++) {
    parts[v] = vp_first(whole ? VF_W : n - v * VF_W);
    bias[v] = vf_zero();
    if (b)
      bias[v] =
          whole ? vf_load(b + v * VF_W) : vf_load_p(b + v * VF_W, parts[v]);
  }
  UNROLL
  for (int i = 0; i < pixels; i++) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
      const vf x = vf_min(hi, vf_max(lo, vf_add(acc[i][v], bias[v])));
      float *to = y + i * t->y_pixel + v * VF_W;
      if (whole) {
        vf_store(to, x);
      } else {
        vf_store_p(to, x, parts[v]);
      }
    }
  }
}

VF_INLINE void finish(const bsm_k_planar_args *t, vf acc[NARROW][PANELS * PV],
                      const int pixels, const int vectors, int64_t p, int64_t c,
                      int64_t n) {
  if (VF_W > 1 && n >= vectors * VF_W) {
    finish_columns(t, acc, pixels, vectors, p, c, n, 1);
  } else {
    finish_columns(t, acc, pixels, vectors, p, c, n, 0);
  }
}

/* Asks for what the tile is written to, which comes from far while the tile is
 * computed. */
VF_INLINE void fetch(const bsm_k_planar_args *t, const int pixels,
                     const int vectors, int64_t p, int64_t c) {
  const float *y = t->y + p * t->y_pixel + c;
  for (int i = 0; i < pixels; i++, y += t->y_pixel) {
    for (int line = 0; line < vectors * VF_W; line += 16) {
      __builtin_prefetch(y + line, 1, 3);
    }
  }
}

/* `pixels` outputs from p on, `vectors` vectors of columns from c on. */
VF_INLINE void tile(const bsm_k_planar_args *t, const int stride,
                    const int pixels, const int vectors, int64_t p, int64_t c) {
  const float *panel = t->w + c / PANEL * t->w_panel;
  const int64_t step = t->maps * PANEL, x_tap = t->x_tap, taps = t->taps;
  vf acc[NARROW][PANELS * PV];
  if (t->fetches) fetch(t, pixels, vectors, p, c);
  UNROLL
  for (int i = 0; i < pixels; i++) {
    UNROLL
    for (int v = 0; v < vectors; v++) acc[i][v] = vf_zero();
  }
  for (int64_t row = 0; row < t->rows; row++) {
    for (int64_t map = 0; map < t->maps; map++) {
      const float *x = t->x + row * t->x_row + map * t->x_map + p * stride;
      const float *w = panel + (row * taps * t->maps + map) * PANEL;
      ROLLED
      for (int64_t tap = 0; tap < taps; tap++, x += x_tap, w += step) {
        vf b[PANELS * PV];
        UNROLL
        for (int v = 0; v < vectors; v++) {
          b[v] = vf_load(w + v / PV * t->w_panel + v % PV * VF_W);
        }
        UNROLL
        for (int i = 0; i < pixels; i++) {
          const vf a = vf_set(x[i * stride]);
          UNROLL
          for (int v = 0; v < vectors; v++) {
            acc[i][v] = vf_fma(a, b[v], acc[i][v]);
          }
        }
      }
    }
  }
  if (VF_W == 8 && vectors == 1) { /* they fill it */
    finish_columns(t, acc, pixels, vectors, p, c, VF_W, 1);
    return;
  }
  finish(t, acc, pixels, vectors, p, c, t->columns - c);
}

/* All pixels of some columns. The last tile goes back over pixels that were
 * computed before, which gives them the same values again. */
VF_INLINE void whole_tiles(const bsm_k_planar_args *t, const int stride,
                           const int pixels, const int vectors, int64_t c) {
  const int64_t last = t->pixels - pixels;
  for (int64_t p = 0; p < t->pixels; p += pixels) {
    tile(t, stride, pixels, vectors, p < last ? p : last, c);
  }
}

VF_INLINE void columns(const bsm_k_planar_args *t, const int stride,
                       const int vectors, int64_t c) {
  int64_t p = 0;
  if (t->pixels >= PIXELS) {
    whole_tiles(t, stride, PIXELS, vectors, c);
    return;
  }
#if PIXELS > 4
  for (; p + 4 <= t->pixels; p += 4) tile(t, stride, 4, vectors, p, c);
#endif
  for (; p < t->pixels; p++) tile(t, stride, 1, vectors, p, c);
}

VF_INLINE void row(const bsm_k_planar_args *t, const int stride) {
  int64_t c = 0;
  for (; t->columns - c > (PANELS - 1) * PANEL; c += PANELS * PANEL) {
    if (VF_W == 8 && t->columns - c == VF_W && t->pixels >= NARROW) {
      whole_tiles(t, stride, NARROW, 1, c);
      return;
    }
    columns(t, stride, PANELS * PV, c);
  }
  if (c < t->columns) columns(t, stride, PV, c);
}

static void row_1(const bsm_k_planar_args *t) {
  row(t, 1);
}
static void row_2(const bsm_k_planar_args *t) {
  row(t, 2);
}
static void row_4(const bsm_k_planar_args *t) {
  row(t, 4);
}
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
const bsm_k_planar JOIN(bsm_k_planar_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX), .row = {row_1, row_2, row_4}};
