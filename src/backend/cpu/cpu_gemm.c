/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked matrix products over the micro-kernels. */
#include "backend/cpu/cpu_gemm.h"

/* Floats of K in a block: a tile of A then fits the first-level cache. */
#define K_BLOCK 768
/* Floats of B in a block: half of a small second-level cache. */
#define B_BLOCK (80 * 1024)
/* Between rows of copied A: no two rows start in the same cache set. */
#define PACK_PAD 16

static int64_t pack_stride(const bsm_cpu_gemm *g) {
  return bsm_cpu_round_up(g->k_block, 16) + PACK_PAD;
}

static bool has_k_blocks(const bsm_cpu_gemm *g) {
  return g->tap_block < g->taps || g->k_block < g->kc;
}

static void choose_k_blocks(bsm_cpu_gemm *g) {
  g->tap_block = g->taps;
  g->k_block = g->kc;
  if (g->thin || g->taps * g->kc <= K_BLOCK * 3 / 2) return;
  if (g->kc > K_BLOCK * 3 / 2) {
    const int64_t parts = bsm_cpu_div_up(g->kc, K_BLOCK);
    g->tap_block = 1;
    g->k_block = bsm_cpu_round_up(bsm_cpu_div_up(g->kc, parts), 16);
    return;
  }
  const int64_t most = bsm_cpu_max(1, K_BLOCK / bsm_cpu_max(1, g->kc));
  const int64_t parts = bsm_cpu_div_up(g->taps, most);
  g->tap_block = bsm_cpu_div_up(g->taps, parts);
}

void bsm_cpu_gemm_plan(bsm_cpu_gemm *g, int threads, int64_t products) {
  const int64_t max_rows = g->kernels->max_rows;
  const int64_t width = g->kernels->columns;
  g->thin = g->rows <= BSM_K_GEMM_MAX_THIN;
  choose_k_blocks(g);
  const int64_t depth = g->k_block < g->kc ? g->k_block : g->tap_block * g->kc;
  int64_t columns = B_BLOCK / bsm_cpu_max(1, depth);
  columns = bsm_cpu_max(columns / width * width, width);
  int64_t rows = has_k_blocks(g) ? 8 * max_rows : 20 * max_rows;
  if (g->thin) columns = bsm_cpu_max(64, columns);
  columns = bsm_cpu_min(columns, bsm_cpu_round_up(g->columns, BSM_K_PANEL));
  columns = bsm_cpu_max(columns, 1); /* of an empty product */
  rows = bsm_cpu_max(bsm_cpu_min(rows, g->rows), 1);
  /* Smaller blocks when there are too few for the threads, unless the whole is
   * over before another thread has woken up. */
  const double work = (double)g->rows * (double)g->columns *
                      (double)(g->taps * g->kc) * (double)products;
  const int64_t want = threads > 1 && work > 1e5 ? 4 * (int64_t)threads : 1;
  while (products * bsm_cpu_div_up(g->rows, rows) *
             bsm_cpu_div_up(g->columns, columns) <
         want) {
    if (rows > 2 * max_rows) {
      rows = bsm_cpu_round_up(rows / 2, max_rows);
    } else if (columns > width) {
      columns = bsm_cpu_round_up(columns / 2, width);
    } else if (rows > max_rows) {
      rows = max_rows;
    } else {
      break;
    }
  }
  g->row_block = rows;
  g->column_block = columns;
}

int64_t bsm_cpu_gemm_units(const bsm_cpu_gemm *g) {
  return bsm_cpu_div_up(g->rows, g->row_block) *
         bsm_cpu_div_up(g->columns, g->column_block);
}

static uint64_t pointers_bytes(const bsm_cpu_gemm *g) {
  return bsm_cpu_align((uint64_t)g->tap_block * BSM_K_GEMM_MAX_ROWS *
                       sizeof(float *));
}

static uint64_t packed_bytes(const bsm_cpu_gemm *g) {
  if (!g->packs) return 0;
  return bsm_cpu_align((uint64_t)pack_stride(g) * BSM_K_GEMM_MAX_ROWS *
                       sizeof(float));
}

uint64_t bsm_cpu_gemm_scratch(const bsm_cpu_gemm *g) {
  uint64_t bytes = pointers_bytes(g) + packed_bytes(g);
  if (has_k_blocks(g)) {
    bytes += bsm_cpu_align((uint64_t)(g->row_block * g->column_block) *
                           sizeof(float));
  }
  return bytes;
}

/* One unit at work. */
typedef struct unit_state {
  const bsm_cpu_gemm *g;
  const bsm_cpu_gemm_operands *o;
  const float **pointers;
  float *packed, *partial;
  int64_t row, rows, column, columns;
} unit_state;

/* A block of K. */
typedef struct k_range {
  int64_t tap, taps, k, length;
  bool first, last;
} k_range;

static void set_flags(const unit_state *u, const k_range *k,
                      bsm_k_gemm_args *t) {
  const bsm_cpu_gemm *g = u->g;
  t->flags = k->first ? 0 : BSM_K_GEMM_ACCUMULATE;
  if (!k->last) return;
  if (g->scale != 1.0f) t->flags |= BSM_K_GEMM_SCALE;
  if (u->o->bias) t->flags |= BSM_K_GEMM_BIAS;
  if (u->o->residual) t->flags |= BSM_K_GEMM_RESIDUAL;
  if (g->epilogue.clamps) t->flags |= BSM_K_GEMM_CLAMP;
  t->scale = g->scale;
  t->lo = g->epilogue.lo;
  t->hi = g->epilogue.hi;
}

/* The rows of A of a tile, as pointers. */
static void find_rows(const unit_state *u, const k_range *k, int64_t row,
                      int count, bsm_k_gemm_args *t) {
  const bsm_cpu_gemm_operands *o = u->o;
  t->a = u->pointers;
  t->taps = k->taps;
  t->kc = k->length;
  if (u->g->packs) {
    const int64_t stride = pack_stride(u->g);
    o->pack(o->source, row, count, k->k, k->length, u->packed, stride);
    for (int i = 0; i < count; i++) u->pointers[i] = u->packed + i * stride;
    t->a_offset = 0;
  } else {
    o->pointers(o->source, row, count, k->tap, k->taps, u->pointers);
    t->a_offset = k->k;
  }
}

static void activate(const unit_state *u, float *const *c, int count) {
  const bsm_cpu_epilogue *e = &u->g->epilogue;
  for (int i = 0; i < count; i++) {
    float *row = c[i] + u->column;
    e->activation(row, row, u->columns, e->alpha, e->beta);
  }
}

static void run_panels(const unit_state *u, const k_range *k, int count,
                       bsm_k_gemm_args *t, float **partial) {
  const bsm_cpu_gemm *g = u->g;
  const bsm_cpu_gemm_operands *o = u->o;
  const int64_t end = u->column + u->columns;
  const int64_t full = g->kernels->columns;
  int64_t j = u->column;
  while (j < end) {
    const bool wide = !g->thin && end - j > BSM_K_PANEL;
    const int64_t width = wide ? full : BSM_K_PANEL;
    bsm_k_gemm_fn *const *kernels = g->thin ? g->kernels->thin
                                    : wide  ? g->kernels->full
                                            : g->kernels->single;
    t->b = o->b + j / BSM_K_PANEL * o->b_panel +
           (o->tap_list ? 0 : k->tap * o->b_tap) + k->k * BSM_K_PANEL;
    t->n = bsm_cpu_min(width, end - j);
    t->bias = o->bias ? o->bias + j : NULL;
    t->residual_offset = j;
    float *from[BSM_K_GEMM_MAX_ROWS];
    if (partial) {
      for (int i = 0; i < count; i++) from[i] = partial[i] + (j - u->column);
      t->from = from;
    }
    if (partial && !k->last) {
      t->c = from;
      t->c_offset = 0;
    } else {
      t->c_offset = j;
    }
    kernels[count - 1](t);
    j += width;
  }
}

static void run_tile(const unit_state *u, const k_range *k, int64_t row,
                     int count) {
  const bsm_cpu_gemm_operands *o = u->o;
  bsm_k_gemm_args t = {.b_tap = o->b_tap,
                       .b_panel = o->b_panel,
                       .tap_list = o->tap_list ? o->tap_list + k->tap : NULL};
  int64_t offsets[BSM_K_GEMM_MAX_ROWS];
  float *c[BSM_K_GEMM_MAX_ROWS], *partial[BSM_K_GEMM_MAX_ROWS];
  const float *residual[BSM_K_GEMM_MAX_ROWS];
  bsm_cpu_rows_offsets(o->c_rows, row, count, offsets);
  for (int i = 0; i < count; i++) c[i] = o->c + offsets[i];
  if (o->residual) {
    bsm_cpu_rows_offsets(o->residual_rows, row, count, offsets);
    for (int i = 0; i < count; i++) residual[i] = o->residual + offsets[i];
  }
  t.c = c;
  t.residual = residual;
  set_flags(u, k, &t);
  find_rows(u, k, row, count, &t);
  if (u->partial) {
    for (int i = 0; i < count; i++) {
      partial[i] = u->partial + (row - u->row + i) * u->g->column_block;
    }
  }
  run_panels(u, k, count, &t, u->partial ? partial : NULL);
  if (k->last && u->g->epilogue.activation) activate(u, c, count);
}

/* All rows of the unit for one block of K, in tiles of nearly equal size. */
static void run_rows(const unit_state *u, const k_range *k) {
  const int64_t tiles = bsm_cpu_div_up(
      u->rows, u->g->thin ? BSM_K_GEMM_MAX_THIN : u->g->kernels->max_rows);
  int64_t row = u->row, rest = u->rows;
  for (int64_t i = 0; i < tiles; i++) {
    const int64_t count = bsm_cpu_div_up(rest, tiles - i);
    run_tile(u, k, row, (int)count);
    row += count;
    rest -= count;
  }
}

void bsm_cpu_gemm_run(const bsm_cpu_gemm *g, const bsm_cpu_gemm_operands *o,
                      int64_t unit, void *scratch) {
  const int64_t row_blocks = bsm_cpu_div_up(g->rows, g->row_block);
  uint8_t *bytes = scratch;
  unit_state u = {.g = g, .o = o};
  u.row = unit % row_blocks * g->row_block;
  u.rows = bsm_cpu_min(g->row_block, g->rows - u.row);
  u.column = unit / row_blocks * g->column_block;
  u.columns = bsm_cpu_min(g->column_block, g->columns - u.column);
  u.pointers = (const float **)(void *)bytes;
  bytes += pointers_bytes(g);
  if (g->packs) u.packed = (float *)(void *)bytes;
  bytes += packed_bytes(g);
  if (has_k_blocks(g)) u.partial = (float *)(void *)bytes;
  for (int64_t tap = 0; tap < g->taps || tap == 0; tap += g->tap_block) {
    for (int64_t k = 0; k < g->kc || k == 0; k += g->k_block) {
      const k_range range = {
          .tap = tap,
          .taps = bsm_cpu_min(g->tap_block, g->taps - tap),
          .k = k,
          .length = bsm_cpu_min(g->k_block, g->kc - k),
          .first = tap == 0 && k == 0,
          .last = tap + g->tap_block >= g->taps && k + g->k_block >= g->kc};
      run_rows(&u, &range);
      if (g->k_block == 0) break;
    }
    if (g->tap_block == 0) break;
  }
}
