/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the kernels of gemm_f32.h. The tile is a constant of each
 * instance, so that the accumulators stay in registers: the loops over rows and
 * vectors are unrolled completely. */
#include "backend/cpu/kernels/gemm/gemm_f32.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Floats of B that the thin kernels ask for ahead; they live from memory. */
#define PREFETCH 1024

/* Vectors in a panel. */
#define PV (BSM_K_PANEL / VF_W)

/* Writes `rows` x `vectors` accumulators through the epilogue. */
VF_INLINE vf finish_vector(const bsm_k_gemm_args *t, vf x, int row,
                           int64_t column, int64_t n) {
  const uint32_t flags = t->flags;
  if (flags & BSM_K_GEMM_SCALE) x = vf_mul(x, vf_set(t->scale));
  if (flags & BSM_K_GEMM_BIAS) {
    const float *b = t->bias + column;
    x = vf_add(x, n >= VF_W ? vf_load(b) : vf_load_n(b, n));
  }
  if (flags & BSM_K_GEMM_RESIDUAL) {
    const float *r = t->residual[row] + t->residual_offset + column;
    x = vf_add(x, n >= VF_W ? vf_load(r) : vf_load_n(r, n));
  }
  if (flags & BSM_K_GEMM_CLAMP) {
    x = vf_min(vf_set(t->hi), vf_max(vf_set(t->lo), x));
  }
  return x;
}

VF_INLINE void finish_row(const bsm_k_gemm_args *t, const vf *acc, int row,
                          const int vectors) {
  float *c = t->c[row] + t->c_offset;
  UNROLL
  for (int v = 0; v < vectors; v++) {
    const int64_t column = v * VF_W, n = t->n - column;
    if (n >= VF_W) {
      vf_store(c + column, finish_vector(t, acc[v], row, column, n));
    } else if (n > 0) {
      vf_store_n(c + column, finish_vector(t, acc[v], row, column, n), n);
    }
  }
}

VF_INLINE void start_row(const bsm_k_gemm_args *t, vf *acc, int row,
                         const int vectors) {
  UNROLL
  for (int v = 0; v < vectors; v++) acc[v] = vf_zero();
  if (t->flags & BSM_K_GEMM_ACCUMULATE) {
    const float *c = t->from[row];
    UNROLL
    for (int v = 0; v < vectors; v++) {
      const int64_t n = t->n - v * VF_W;
      if (n >= VF_W) {
        acc[v] = vf_load(c + v * VF_W);
      } else if (n > 0) {
        acc[v] = vf_load_n(c + v * VF_W, n);
      }
    }
  }
}

/* A tile of `rows` rows and `panels` panels. */
VF_INLINE void gemm_tile(const bsm_k_gemm_args *t, const int rows,
                         const int panels) {
  const int vectors = panels * PV;
  vf acc[BSM_K_GEMM_MAX_ROWS][2 * PV];
  UNROLL
  for (int i = 0; i < rows; i++) start_row(t, acc[i], i, vectors);
  const int64_t kc = t->kc, panel = t->b_panel;
  for (int64_t tap = 0; tap < t->taps; tap++) {
    const float *a[BSM_K_GEMM_MAX_ROWS];
    const float *b = t->b + (t->tap_list ? t->tap_list[tap] : tap) * t->b_tap;
    UNROLL
    for (int i = 0; i < rows; i++) a[i] = t->a[tap * rows + i] + t->a_offset;
    for (int64_t k = 0; k < kc; k++) {
      vf y[2 * PV];
      UNROLL
      for (int v = 0; v < vectors; v++) {
        y[v] = vf_load(b + (v / PV) * panel + (v % PV) * VF_W);
      }
      UNROLL
      for (int i = 0; i < rows; i++) {
        const vf x = vf_set(a[i][k]);
        UNROLL
        for (int v = 0; v < vectors; v++)
          acc[i][v] = vf_fma(x, y[v], acc[i][v]);
      }
      b += BSM_K_PANEL;
    }
  }
  UNROLL
  for (int i = 0; i < rows; i++) finish_row(t, acc[i], i, vectors);
}

/* A tile of one panel and few rows: `split` partial sums over K hide the
 * latency of the multiply-add, and B is one stream. */
VF_INLINE void gemm_thin(const bsm_k_gemm_args *t, const int rows,
                         const int split) {
  vf acc[BSM_K_GEMM_MAX_THIN][8][PV];
  UNROLL
  for (int i = 0; i < rows; i++) {
    start_row(t, acc[i][0], i, PV);
    UNROLL
    for (int s = 1; s < split; s++) {
      UNROLL
      for (int v = 0; v < PV; v++) acc[i][s][v] = vf_zero();
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
        __builtin_prefetch(b + PREFETCH + s * BSM_K_PANEL);
      }
      UNROLL
      for (int s = 0; s < split; s++) {
        UNROLL
        for (int v = 0; v < PV; v++) {
          const vf y = vf_load(b + s * BSM_K_PANEL + v * VF_W);
          UNROLL
          for (int i = 0; i < rows; i++) {
            acc[i][s][v] = vf_fma(vf_set(a[i][k + s]), y, acc[i][s][v]);
          }
        }
      }
      b += split * BSM_K_PANEL;
    }
    for (; k < kc; k++) {
      UNROLL
      for (int v = 0; v < PV; v++) {
        const vf y = vf_load(b + v * VF_W);
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
      for (int v = 0; v < PV; v++) {
        acc[i][0][v] = vf_add(acc[i][0][v], acc[i][s][v]);
      }
    }
    finish_row(t, acc[i][0], i, PV);
  }
}

#define TILE(rows, panels)                                       \
  static void tile_##rows##x##panels(const bsm_k_gemm_args *t) { \
    gemm_tile(t, rows, panels);                                  \
  }
#define THIN(rows, split)                             \
  static void thin_##rows(const bsm_k_gemm_args *t) { \
    gemm_thin(t, rows, split);                        \
  }
