/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the kernels of gemm_f32.h. The tile is a constant of each
 * instance, so that the accumulators stay in registers: the loops over rows and
 * vectors are unrolled completely. */
#include <stdbool.h>

#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/simd/unroll.h"

/* Steps of K for which one line ahead is asked for. With 32 registers they are
 * unrolled; with 16, compilers mix the steps and run out of them. */
#if VF_W == 16
#define FETCH_STEPS 2
#define FETCH_UNROLLED 1
#define STEPS UNROLL
#else
#define FETCH_STEPS 8
#define FETCH_UNROLLED 0
#define STEPS ROLLED
#endif

/* Floats in a line of the caches. */
#define LINE 16
/* Vectors in a panel. */
#define PV (BSM_K_PANEL / VF_W)

/* What the vectors of a row of n have of it; behind its end nothing is
 * touched. Each is made once for all rows of a tile. */
VF_INLINE void parts_of(int64_t n, vp *parts, const int vectors) {
  UNROLL
  for (int v = 0; v < vectors; v++) parts[v] = vp_first(n - v * VF_W);
}

#define FOR_TILE                        \
  UNROLL                                \
  for (int i = 0; i < rows; i++) UNROLL \
  for (int v = 0; v < vectors; v++)

/* Writes the sums of a tile through the epilogue: one pass over the registers
 * for each part of it, so that what is asked for is asked once. */
VF_INLINE void finish_tile(const bsm_k_gemm_args *t,
                           vf acc[BSM_K_GEMM_MAX_ROWS][2 * PV], const int rows,
                           const int vectors) {
  const uint32_t flags = t->flags;
  const int64_t n = t->n;
  const bool whole = n >= vectors * VF_W;
  vp parts[2 * PV];
  parts_of(n, parts, vectors);
  if (flags & BSM_K_GEMM_SCALE) {
    const vf scale = vf_set(t->scale);
    FOR_TILE acc[i][v] = vf_mul(acc[i][v], scale);
  }
  if (flags & BSM_K_GEMM_BIAS) {
    vf bias[2 * PV];
    UNROLL
    for (int v = 0; v < vectors; v++) {
      bias[v] = vf_load_p(t->bias + v * VF_W, parts[v]);
    }
    FOR_TILE acc[i][v] = vf_add(acc[i][v], bias[v]);
  }
  if (flags & BSM_K_GEMM_RESIDUAL) {
    UNROLL
    for (int i = 0; i < rows; i++) {
      const float *r = t->residual[i] + t->residual_offset;
      if (whole && VF_PARTS_COST) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
          acc[i][v] = vf_add(acc[i][v], vf_load(r + v * VF_W));
        }
      } else {
        UNROLL
        for (int v = 0; v < vectors; v++) {
          acc[i][v] = vf_add(acc[i][v], vf_load_p(r + v * VF_W, parts[v]));
        }
      }
    }
  }
  if (flags & BSM_K_GEMM_CLAMP) {
    const vf lo = vf_set(t->lo), hi = vf_set(t->hi);
    FOR_TILE acc[i][v] = vf_max(lo, acc[i][v]);
    if (t->hi < __builtin_inff()) FOR_TILE acc[i][v] = vf_min(hi, acc[i][v]);
  }
  float *const *c = t->c;
  const int64_t offset = t->c_offset;
  if (whole) {
    UNROLL
    for (int i = 0; i < rows; i++) {
      float *to = c[i] + offset;
      UNROLL
      for (int v = 0; v < vectors; v++) vf_store(to + v * VF_W, acc[i][v]);
    }
    return;
  }
  UNROLL
  for (int i = 0; i < rows; i++) {
    float *to = c[i] + offset;
    UNROLL
    for (int v = 0; v < vectors; v++) {
      vf_store_p(to + v * VF_W, acc[i][v], parts[v]);
    }
  }
}

/* Zeros, the bias, or the partial sums of the K before. */
VF_INLINE void start_tile(const bsm_k_gemm_args *t,
                          vf acc[BSM_K_GEMM_MAX_ROWS][2 * PV], const int rows,
                          const int vectors) {
  const int64_t n = t->n;
  vp parts[2 * PV];
  parts_of(n, parts, vectors);
  FOR_TILE acc[i][v] = vf_zero();
  if (t->flags & BSM_K_GEMM_BIAS_FIRST) {
    vf bias[2 * PV];
    UNROLL
    for (int v = 0; v < vectors; v++) {
      bias[v] = vf_load_p(t->bias + v * VF_W, parts[v]);
    }
    FOR_TILE acc[i][v] = bias[v];
  }
  if (t->flags & BSM_K_GEMM_ACCUMULATE) {
    if (n >= vectors * VF_W && VF_PARTS_COST) {
      FOR_TILE acc[i][v] = vf_load(t->from[i] + v * VF_W);
    } else {
      FOR_TILE acc[i][v] = vf_load_p(t->from[i] + v * VF_W, parts[v]);
    }
  }
}

/* One step of K: row k of B times the columns k of A. */
VF_INLINE void gemm_step(const float *const *a, const float *b, int64_t panel,
                         int64_t k, vf acc[BSM_K_GEMM_MAX_ROWS][2 * PV],
                         const int rows, const int vectors) {
  vf y[2 * PV];
  UNROLL
  for (int v = 0; v < vectors; v++) {
    y[v] = vf_load(b + (v / PV) * panel + (v % PV) * VF_W);
  }
  UNROLL
  for (int i = 0; i < rows; i++) {
    const vf x = vf_set(a[i][k]);
    UNROLL
    for (int v = 0; v < vectors; v++) acc[i][v] = vf_fma(x, y[v], acc[i][v]);
  }
}

/* Asks for what the tile is written to and added to, which comes from memory
 * while the tile is computed: its rows are too far apart for the processor to
 * see them coming. */
VF_INLINE void fetch_ends(const bsm_k_gemm_args *t, const int rows,
                          const int vectors) {
  const int64_t offset = t->residual_offset;
  const bool residual = t->flags & BSM_K_GEMM_RESIDUAL;
  for (int i = 0; i < rows; i++) {
    for (int line = 0; line < (vectors * VF_W + 15) / 16; line++) {
      if (residual) {
        __builtin_prefetch(t->residual[i] + offset + line * 16, 0, 3);
      }
      __builtin_prefetch(t->c[i] + t->c_offset + line * 16, 1, 3);
    }
  }
}

/* Asks for a line of each row of A that the next tile reads: its rows, too, are
 * streams that the processor does not follow. */
VF_INLINE void fetch_rows(const bsm_k_gemm_args *t, int64_t k) {
  for (int64_t i = 0; i < t->ahead_rows; i++) {
    __builtin_prefetch(t->ahead[i] + t->ahead_offset + k, 0, 2);
  }
}

/* A tile of `rows` rows and `vectors` vectors of columns. */
VF_INLINE void gemm_tile(const bsm_k_gemm_args *t, const int rows,
                         const int vectors) {
  vf acc[BSM_K_GEMM_MAX_ROWS][2 * PV];
  if (t->flags & BSM_K_GEMM_FETCH) fetch_ends(t, rows, vectors);
  start_tile(t, acc, rows, vectors);
  const int64_t kc = t->kc, panel = t->b_panel;
  const float *fetch = t->fetch;
  const int64_t fetch_lines = t->fetch_lines;
  const bool ahead = t->ahead_rows > 0, fetches = fetch || ahead;
  for (int64_t tap = 0; tap < t->taps; tap++) {
    const float *a[BSM_K_GEMM_MAX_ROWS];
    const float *b = t->b + (t->tap_list ? t->tap_list[tap] : tap) * t->b_tap;
    UNROLL
    for (int i = 0; i < rows; i++) a[i] = t->a[tap * rows + i] + t->a_offset;
    int64_t k = 0;
    while (k + FETCH_STEPS <= kc && (fetches || FETCH_UNROLLED)) {
      if (fetch) {
        for (int64_t i = 0; i < fetch_lines; i++) {
          __builtin_prefetch(fetch, 0, 2);
          fetch += BSM_K_PANEL;
        }
      }
      if (ahead && k % LINE == 0) fetch_rows(t, k);
      STEPS
      for (int s = 0; s < FETCH_STEPS; s++) {
        gemm_step(a, b + s * BSM_K_PANEL, panel, k + s, acc, rows, vectors);
      }
      b += FETCH_STEPS * BSM_K_PANEL;
      k += FETCH_STEPS;
    }
    ROLLED
    for (; k < kc; k++) {
      gemm_step(a, b, panel, k, acc, rows, vectors);
      b += BSM_K_PANEL;
    }
  }
  finish_tile(t, acc, rows, vectors);
}

/* Panels of a tile of few rows. */
#if VF_W == 16
#define THIN_PANELS 2
#else
#define THIN_PANELS 1
#endif

/* A tile of few rows: `split` partial sums over K hide the latency of the
 * multiply-add. The panels of B are streams, which the processor follows by
 * itself: asking for them ahead takes a third longer from the last-level cache,
 * but two at once come faster than one after the other. Where there is one
 * panel, it is read twice. */
VF_INLINE void gemm_thin(const bsm_k_gemm_args *t, const int rows,
                         const int split) {
  const int vectors = THIN_PANELS * PV;
  vf sum[BSM_K_GEMM_MAX_ROWS][2 * PV];
  vf acc[BSM_K_GEMM_MAX_THIN][8][THIN_PANELS * PV];
  const int64_t panel = t->n > BSM_K_PANEL ? t->b_panel : 0;
  start_tile(t, sum, rows, vectors);
  UNROLL
  for (int i = 0; i < rows; i++) {
    UNROLL
    for (int v = 0; v < vectors; v++) acc[i][0][v] = sum[i][v];
    UNROLL
    for (int s = 1; s < split; s++) {
      UNROLL
      for (int v = 0; v < vectors; v++) acc[i][s][v] = vf_zero();
    }
  }
  const int64_t kc = t->kc;
  for (int64_t tap = 0; tap < t->taps; tap++) {
    const float *a[BSM_K_GEMM_MAX_THIN];
    const float *b = t->b + (t->tap_list ? t->tap_list[tap] : tap) * t->b_tap;
    UNROLL
    for (int i = 0; i < rows; i++) a[i] = t->a[tap * rows + i] + t->a_offset;
    int64_t k = 0;
    for (; k + split <= kc; k += split) {
      UNROLL
      for (int s = 0; s < split; s++) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
          const vf y = vf_load(b + (v / PV) * panel + s * BSM_K_PANEL +
                               (v % PV) * VF_W);
          UNROLL
          for (int i = 0; i < rows; i++) {
            acc[i][s][v] = vf_fma(vf_set(a[i][k + s]), y, acc[i][s][v]);
          }
        }
      }
      b += split * BSM_K_PANEL;
    }
    ROLLED
    for (; k < kc; k++) {
      UNROLL
      for (int v = 0; v < vectors; v++) {
        const vf y = vf_load(b + (v / PV) * panel + (v % PV) * VF_W);
        UNROLL
        for (int i = 0; i < rows; i++) {
          acc[i][0][v] = vf_fma(vf_set(a[i][k]), y, acc[i][0][v]);
        }
      }
      b += BSM_K_PANEL;
    }
  }
  UNROLL
  for (int i = 0; i < rows; i++) {
    UNROLL
    for (int s = 1; s < split; s++) {
      UNROLL
      for (int v = 0; v < vectors; v++) {
        acc[i][0][v] = vf_add(acc[i][0][v], acc[i][s][v]);
      }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) sum[i][v] = acc[i][0][v];
  }
  finish_tile(t, sum, rows, vectors);
}

/* Tiles of one or two panels, and of the first half of one. */
#define TILE(rows, panels)                                       \
  static void tile_##rows##x##panels(const bsm_k_gemm_args *t) { \
    gemm_tile(t, rows, (panels)*PV);                             \
  }
#define HALF(rows)                                    \
  static void half_##rows(const bsm_k_gemm_args *t) { \
    gemm_tile(t, rows, BSM_K_HALF_PANEL / VF_W);      \
  }
#define THIN(rows, split)                             \
  static void thin_##rows(const bsm_k_gemm_args *t) { \
    gemm_thin(t, rows, split);                        \
  }
