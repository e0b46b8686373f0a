/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of recurrent_f32.h, for the simd_*.h included before. TILE(rows):
 * panels of columns whose sums fit the registers for so many samples; SPLIT:
 * sums of each column when there is one sample, which hide the latency of the
 * multiply-add. */
#include <stddef.h>

#include "backend/cpu/kernels/math/vector_functions.inl"
#include "backend/cpu/kernels/recurrent/recurrent_f32.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define PANEL 16
/* Shared by steps that would else have copies of it each. */
#define OUT_OF_LINE static __attribute__((noinline))

/* The sum of both products of gate `g` at lane `v`. */
VF_INLINE vf gate_sum(const float *x, const float *p, int64_t g, int64_t v) {
  return vf_add(vf_load(x + g * PANEL + v), vf_load(p + g * PANEL + v));
}

OUT_OF_LINE void cell_lstm(const float *x, const float *p, const float *before,
                           float *cell, float *after, int64_t panels) {
  (void)before;
  for (int64_t i = 0; i < panels; i++, x += 4 * PANEL, p += 4 * PANEL) {
    for (int64_t v = 0; v < PANEL; v += VF_W) {
      const int64_t at = i * PANEL + v;
      const vf in = vf_sigmoid(gate_sum(x, p, 0, v));
      const vf forget = vf_sigmoid(gate_sum(x, p, 1, v));
      const vf fresh = vf_tanh(gate_sum(x, p, 2, v));
      const vf out = vf_sigmoid(gate_sum(x, p, 3, v));
      const vf kept = vf_mul(forget, vf_load(cell + at));
      const vf c = vf_fma(in, fresh, kept);
      vf_store(cell + at, c);
      vf_store(after + at, vf_mul(out, vf_tanh(c)));
    }
  }
}

/* h' = n + z (h - n), n = tanh(x_n + r p_n) */
OUT_OF_LINE void cell_gru(const float *x, const float *p, const float *before,
                          float *cell, float *after, int64_t panels) {
  (void)cell;
  for (int64_t i = 0; i < panels; i++, x += 3 * PANEL, p += 3 * PANEL) {
    for (int64_t v = 0; v < PANEL; v += VF_W) {
      const int64_t at = i * PANEL + v;
      const vf reset = vf_sigmoid(gate_sum(x, p, 0, v));
      const vf update = vf_sigmoid(gate_sum(x, p, 1, v));
      const vf fresh = vf_tanh(vf_fma(reset, vf_load(p + 2 * PANEL + v),
                                      vf_load(x + 2 * PANEL + v)));
      const vf kept = vf_sub(vf_load(before + at), fresh);
      vf_store(after + at, vf_fma(update, kept, fresh));
    }
  }
}

OUT_OF_LINE void cell_tanh(const float *x, const float *p, const float *before,
                           float *cell, float *after, int64_t panels) {
  (void)before;
  (void)cell;
  for (int64_t v = 0; v < panels * PANEL; v += VF_W) {
    vf_store(after + v, vf_tanh(vf_add(vf_load(x + v), vf_load(p + v))));
  }
}

OUT_OF_LINE void cell_relu(const float *x, const float *p, const float *before,
                           float *cell, float *after, int64_t panels) {
  (void)before;
  (void)cell;
  for (int64_t v = 0; v < panels * PANEL; v += VF_W) {
    vf_store(after + v,
             vf_max(vf_zero(), vf_add(vf_load(x + v), vf_load(p + v))));
  }
}

/* Vectors in a panel. */
#define PV (PANEL / VF_W)
#define MAX_ROWS BSM_K_RECURRENT_ROWS
#define MAX_TILE 4 /* panels of columns */

typedef struct tile {
  vf sum[MAX_ROWS][MAX_TILE][2][PV];
} tile;

/* Row `k` of the matrix, in `panels` panels of columns, for all samples. The
 * panels are streams of their own, which the hardware reads ahead by itself;
 * asking for more costs time. */
VF_INLINE void add_row(tile *t, const float *const *a, const float *b,
                       int64_t b_panel, int64_t k, const int s, const int rows,
                       const int panels) {
  vf x[MAX_ROWS];
  UNROLL
  for (int r = 0; r < rows; r++) x[r] = vf_set(a[r][k]);
  UNROLL
  for (int p = 0; p < panels; p++) {
    const float *row = b + p * b_panel + k * PANEL;
    UNROLL
    for (int v = 0; v < PV; v++) {
      const vf y = vf_load(row + v * VF_W);
      UNROLL
      for (int r = 0; r < rows; r++) {
        t->sum[r][p][s][v] = vf_fma(x[r], y, t->sum[r][p][s][v]);
      }
    }
  }
}

/* The products of the states with `panels` panels of columns at `b`, to rows
 * of `width` floats at `c`. */
VF_INLINE void compute(const bsm_k_recurrent_step *u, const float *b,
                       const float *bias, float *c, int width, const int rows,
                       const int panels) {
  const int split = rows == 1 ? SPLIT : 1;
  const int64_t n = u->state, b_panel = n * PANEL;
  const float *a[MAX_ROWS];
  tile t;
  UNROLL
  for (int r = 0; r < rows; r++) {
    a[r] = u->all[r];
    UNROLL
    for (int p = 0; p < panels; p++) {
      UNROLL
      for (int v = 0; v < split * PV; v++) {
        t.sum[r][p][v / PV][v % PV] = vf_zero();
      }
    }
  }
  int64_t k = 0;
  for (; k + split <= n; k += split) {
    UNROLL
    for (int s = 0; s < split; s++) {
      add_row(&t, a, b, b_panel, k + s, s, rows, panels);
    }
  }
  for (; k < n; k++) add_row(&t, a, b, b_panel, k, 0, rows, panels);
  UNROLL
  for (int r = 0; r < rows; r++) {
    UNROLL
    for (int v = 0; v < panels * PV; v++) {
      vf sum = t.sum[r][v / PV][0][v % PV];
      if (split > 1) sum = vf_add(sum, t.sum[r][v / PV][1][v % PV]);
      if (bias) sum = vf_add(sum, vf_load(bias + v * VF_W));
      vf_store(c + r * width + v * VF_W, sum);
    }
  }
}

/* Cells of all kinds share the code of a tile. */
#define PRODUCTS(rows, panels)                                          \
  OUT_OF_LINE void products_##rows##x##panels(                          \
      const bsm_k_recurrent_step *u, const float *b, const float *bias, \
      float *c, int width) {                                            \
    compute(u, b, bias, c, width, rows, panels);                        \
  }
#define PRODUCTS_OF(rows) \
  PRODUCTS(rows, 1) PRODUCTS(rows, 2) PRODUCTS(rows, 3) PRODUCTS(rows, 4)
PRODUCTS_OF(1)
PRODUCTS_OF(2)
PRODUCTS_OF(3)
PRODUCTS_OF(4)

#define CASE(rows, panels)                            \
  case rows * 8 + panels:                             \
    products_##rows##x##panels(u, b, bias, c, width); \
    break;
#define CASES(rows) CASE(rows, 1) CASE(rows, 2) CASE(rows, 3) CASE(rows, 4)
/* One of them: `rows` and `panels` are constants. */
VF_INLINE void products(const bsm_k_recurrent_step *u, const float *b,
                        const float *bias, float *c, int width, const int rows,
                        const int panels) {
  switch (rows * 8 + panels) {
    CASES(1)
    CASES(2)
    CASES(3)
    CASES(4)
  }
}

/* The same for all gates of `units` panels of units, in tiles that leave the
 * sums in registers. */
VF_INLINE void all_products(const bsm_k_recurrent_step *u, int64_t panel,
                            float *c, const int rows, const int gates,
                            const int units) {
  const int all = gates * units, step = all < TILE(rows) ? all : TILE(rows);
  const int64_t size = u->state * PANEL;
  const float *b = u->matrix + panel * gates * size;
  const float *bias = u->bias ? u->bias + panel * gates * PANEL : NULL;
  int p = 0;
  for (; p + step <= all; p += step) {
    products(u, b + p * size, bias ? bias + p * PANEL : NULL, c + p * PANEL,
             all * PANEL, rows, step);
  }
  if (all % step) {
    products(u, b + p * size, bias ? bias + p * PANEL : NULL, c + p * PANEL,
             all * PANEL, rows, all % step);
  }
}

VF_INLINE void run_panels(const bsm_k_recurrent_step *u, bsm_k_cell_fn *cell,
                          int64_t panel, const int rows, const int gates,
                          const int units) {
  float c[MAX_ROWS * MAX_TILE * PANEL];
  const int64_t at = panel * PANEL;
  all_products(u, panel, c, rows, gates, units);
  UNROLL
  for (int r = 0; r < rows; r++) {
    cell(u->x[r] + at * gates, c + r * units * gates * PANEL, u->before[r] + at,
         u->cell[r] + at, u->after[r] + at, units);
  }
}

VF_INLINE void run_step(const bsm_k_recurrent_step *u, bsm_k_cell_fn *cell,
                        const int rows, const int gates) {
  const int units = gates == 1 ? TILE(rows) : 1;
  const int64_t whole = u->panels / units * units;
  if (!u->backwards) {
    for (int64_t i = 0; i < whole; i += units) {
      run_panels(u, cell, i, rows, gates, units);
    }
  }
  for (int64_t i = whole; i < u->panels; i++) {
    run_panels(u, cell, i, rows, gates, 1);
  }
  if (u->backwards) {
    for (int64_t i = whole; i > 0; i -= units) {
      run_panels(u, cell, i - units, rows, gates, units);
    }
  }
}

#define STEP(name, gates, rows)                                        \
  static void step_##name##_##rows(const bsm_k_recurrent_step *step) { \
    run_step(step, cell_##name, rows, gates);                          \
  }
#define STEPS(name, gates) \
  STEP(name, gates, 1)     \
  STEP(name, gates, 2)     \
  STEP(name, gates, 3)     \
  STEP(name, gates, 4)
STEPS(lstm, 4)
STEPS(gru, 3)

/* Cells of one gate differ in the function alone. */
#define ONE_GATE(rows)                                               \
  OUT_OF_LINE void one_gate_##rows(const bsm_k_recurrent_step *step, \
                                   bsm_k_cell_fn *cell) {            \
    run_step(step, cell, rows, 1);                                   \
  }                                                                  \
  static void step_tanh_##rows(const bsm_k_recurrent_step *step) {   \
    one_gate_##rows(step, cell_tanh);                                \
  }                                                                  \
  static void step_relu_##rows(const bsm_k_recurrent_step *step) {   \
    one_gate_##rows(step, cell_relu);                                \
  }
ONE_GATE(1)
ONE_GATE(2)
ONE_GATE(3)
ONE_GATE(4)

#define TABLE_NAME_(suffix) bsm_k_recurrent_##suffix
#define TABLE_NAME(suffix) TABLE_NAME_(suffix)
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define CELL(name)                                                       \
  {                                                                      \
    cell_##name, {                                                       \
      step_##name##_1, step_##name##_2, step_##name##_3, step_##name##_4 \
    }                                                                    \
  }

const bsm_k_recurrent TABLE_NAME(BSM_K_SUFFIX) = {
    .name = STRING(BSM_K_SUFFIX),
    .lstm = CELL(lstm),
    .gru = CELL(gru),
    .tanh = CELL(tanh),
    .relu = CELL(relu),
};
