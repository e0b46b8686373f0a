/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of matrix products, each tile of each instruction set:
 * every number of rows and columns and every part of the epilogue against sums
 * in double; that cutting K changes no bits; and what is not to be written. */
#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "tests/conformance/step_harness.h"

#define MAX_TAPS 3
#define MAX_KC 9
#define MAX_K (MAX_TAPS * MAX_KC)
#define MAX_COLUMNS 32
#define GUARD 5 /* floats around each row of C */
#define ROW (MAX_COLUMNS + 2 * GUARD)
#define UNTOUCHED 1234.5f

typedef struct problem {
  float a[BSM_K_GEMM_MAX_ROWS][MAX_K],
      b[MAX_COLUMNS / BSM_K_PANEL][MAX_K * BSM_K_PANEL];
  float bias[MAX_COLUMNS], residual[BSM_K_GEMM_MAX_ROWS][MAX_COLUMNS];
  float c[BSM_K_GEMM_MAX_ROWS][ROW], partial[BSM_K_GEMM_MAX_ROWS][ROW];
} problem;

static void fill(float *to, size_t count, uint32_t *state) {
  for (size_t i = 0; i < count; i++) {
    *state = *state * 1664525u + 1013904223u;
    to[i] = (float)(int32_t)*state * (1.0f / 2147483648.0f);
  }
}

static void make(problem *p) {
  uint32_t state = 1;
  fill(p->a[0], sizeof(p->a) / sizeof(float), &state);
  fill(p->b[0], sizeof(p->b) / sizeof(float), &state);
  fill(p->bias, MAX_COLUMNS, &state);
  fill(p->residual[0], sizeof(p->residual) / sizeof(float), &state);
}

/* Which tile: its kernel and what it computes. */
typedef struct tile {
  bsm_k_gemm_fn *run;
  int rows, n, taps, kc;
  uint32_t flags;
} tile;

/* Of clamping; a tile may have none. */
static float ceiling(int n) {
  return n % 2 ? INFINITY : 0.5f;
}

/* Runs `t` over the K from tap `tap` on, `kc` of each from `k` on. */
static void run(problem *p, const tile *t, int tap, int taps, int k, int kc,
                uint32_t flags, bool to_partial) {
  const float *a[MAX_TAPS * BSM_K_GEMM_MAX_ROWS];
  float *c[BSM_K_GEMM_MAX_ROWS], *from[BSM_K_GEMM_MAX_ROWS];
  const float *residual[BSM_K_GEMM_MAX_ROWS];
  for (int i = 0; i < t->rows; i++) {
    for (int j = 0; j < taps; j++) {
      a[j * t->rows + i] = p->a[i] + (tap + j) * t->kc;
    }
    from[i] = p->partial[i] + GUARD;
    c[i] = to_partial ? from[i] : p->c[i];
    residual[i] = p->residual[i];
  }
  const bsm_k_gemm_args args = {.a = a,
                                .a_offset = k,
                                .taps = taps,
                                .kc = kc,
                                .b = p->b[0] + (tap * t->kc + k) * BSM_K_PANEL,
                                .b_tap = t->kc * BSM_K_PANEL,
                                .b_panel = MAX_K * BSM_K_PANEL,
                                .c = c,
                                .c_offset = to_partial ? 0 : GUARD,
                                .from = from,
                                .n = t->n,
                                .bias = p->bias,
                                .residual = residual,
                                .flags = flags,
                                .scale = 0.75f,
                                .lo = -0.25f,
                                .hi = ceiling(t->n),
                                .fetch = k % 2 || t->n % 3 ? p->b[0] : NULL,
                                .fetch_lines = t->n % 3,
                                .ahead = a,
                                .ahead_rows = t->n % 4 < t->rows ? t->n % 4 : 0,
                                .ahead_offset = 1};
  t->run(&args);
}

static double expected(const problem *p, const tile *t, int i, int j,
                       double *size) {
  double sum = t->flags & BSM_K_GEMM_BIAS_FIRST ? (double)p->bias[j] : 0;
  *size = 1;
  for (int k = 0; k < t->taps * t->kc; k++) {
    const double x =
        (double)p->a[i][k] *
        (double)p->b[j / BSM_K_PANEL][k * BSM_K_PANEL + j % BSM_K_PANEL];
    sum += x;
    *size += fabs(x);
  }
  if (t->flags & BSM_K_GEMM_SCALE) sum *= 0.75;
  if (t->flags & BSM_K_GEMM_BIAS) sum += (double)p->bias[j];
  if (t->flags & BSM_K_GEMM_RESIDUAL) sum += (double)p->residual[i][j];
  if (t->flags & BSM_K_GEMM_CLAMP) {
    sum = fmin(fmax(sum, -0.25), (double)ceiling(t->n));
  }
  return sum;
}

static void clear(problem *p) {
  for (int i = 0; i < BSM_K_GEMM_MAX_ROWS; i++) {
    for (int j = 0; j < ROW; j++) p->c[i][j] = p->partial[i][j] = UNTOUCHED;
  }
}

static void check(const problem *p, const tile *t, const char *name) {
  for (int i = 0; i < BSM_K_GEMM_MAX_ROWS; i++) {
    for (int at = 0; at < ROW; at++) {
      const int j = at - GUARD;
      double size, want = (double)UNTOUCHED, allowed = 0;
      if (i < t->rows && j >= 0 && j < t->n) {
        want = expected(p, t, i, j, &size);
        allowed = size * 1e-6;
      }
      if (!(fabs((double)p->c[i][at] - want) <= allowed)) {
        fail_msg(
            "%s, %d rows, %d columns, %d x %d, flags %u: row %d, column "
            "%d is %g, not %g",
            name, t->rows, t->n, t->taps, t->kc, t->flags, i, j,
            (double)p->c[i][at], want);
      }
    }
  }
}

/* All at once, and with K cut: after the first tap, or within the only one. */
static void check_tile(problem *p, const tile *t, bool thin, const char *name) {
  static float whole[BSM_K_GEMM_MAX_ROWS][ROW];
  clear(p);
  run(p, t, 0, t->taps, 0, t->kc, t->flags, false);
  check(p, t, name);
  if (t->taps * t->kc < 2) return;
  memcpy(whole, p->c, sizeof(whole));
  clear(p);
  const uint32_t first = t->flags & BSM_K_GEMM_BIAS_FIRST;
  const uint32_t rest = (t->flags & ~first) | BSM_K_GEMM_ACCUMULATE;
  if (t->taps > 1) {
    run(p, t, 0, 1, 0, t->kc, first, true);
    run(p, t, 1, t->taps - 1, 0, t->kc, rest, false);
  } else {
    run(p, t, 0, 1, 0, 1, first, true);
    run(p, t, 0, 1, 1, t->kc - 1, rest, false);
  }
  check(p, t, name);
  if (!thin && memcmp(whole, p->c, sizeof(whole)) != 0) {
    fail_msg("%s, %d rows, %d columns: cutting K changes bits", name, t->rows,
             t->n);
  }
}

static void check_family(bsm_k_gemm_fn *const *kernels, int max_rows,
                         int columns, bool thin, const char *name) {
  static const int depths[][2] = {{1, 0}, {1, 1}, {1, 2}, {1, 3},
                                  {1, 9}, {2, 4}, {3, 5}, {3, MAX_KC}};
  static problem p;
  make(&p);
  for (int rows = 1; rows <= max_rows; rows++) {
    for (int n = 1; n <= columns; n++) {
      for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
        for (uint32_t flags = 0; flags < 128; flags += 2) {
          if (flags & BSM_K_GEMM_BIAS && flags & BSM_K_GEMM_BIAS_FIRST)
            continue;
          const tile t = {kernels[rows - 1], rows,         n,
                          depths[d][0],      depths[d][1], flags};
          check_tile(&p, &t, thin, name);
        }
      }
    }
  }
}

static void check_table(const bsm_k_gemm *k) {
  assert_true(k->max_rows >= 1 && k->max_rows <= BSM_K_GEMM_MAX_ROWS);
  assert_true(k->columns == BSM_K_PANEL || k->columns == 2 * BSM_K_PANEL);
  check_family(k->full, k->max_rows, k->columns, false, k->name);
  check_family(k->single, k->max_rows, BSM_K_PANEL, false, k->name);
  check_family(k->half, k->max_rows, BSM_K_HALF_PANEL, false, k->name);
  check_family(k->thin, BSM_K_GEMM_MAX_THIN, k->thin_columns, true, k->name);
}

static void tiles_compute_products(void **state) {
  (void)state;
  const uint32_t isa = bsm_isa_detect();
#define X(suffix, bits) \
  if ((isa & (bits)) == (bits)) check_table(&bsm_k_gemm_##suffix);
  BSM_K_ISAS(X)
#undef X
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_compute_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
