/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked matrix products over the micro-kernels. */
#include "backend/cpu/cpu_gemm.h"

#include "base/caches.h"

/* Floats of K in a block, for each KiB of the first-level cache: a tile of the
 * largest kernel, 12 rows, then is about as large as the cache, and all of it
 * that is pushed out comes back in streams. */
#define K_PER_L1_KIB 24
/* Eighths of the second-level cache for a block of B; the next one is on its
 * way meanwhile. */
#define B_L2_EIGHTHS 3
/* Floats of a block of B at most, where all of A stays in half of the
 * second-level cache: the first block, which nobody has asked for, is the
 * smaller part of B, and reading A again costs little. */
#define B_BESIDE_A (64 * 1024)
/* Where A is copied, the copy of a tile stays in the first-level cache. */
#define COPIED_K_PER_L1_KIB 12
/* Rows of a block at most: partial sums stay in the second-level cache. */
#define MAX_ROW_BLOCK 240
/* Products of an element from which on C is asked for also when it is in the
 * last-level cache. */
#define FETCH_C_DEPTH 64
/* Between rows of copied A: no two rows start in the same cache set. */
#define PACK_PAD 16

static int64_t pack_stride(const bsm_cpu_gemm *g) {
  return bsm_cpu_round_up(g->k_block, 16) + PACK_PAD;
}

static bool has_k_blocks(const bsm_cpu_gemm *g) {
  return g->tap_block < g->taps || g->k_block < g->kc;
}

/* Blocks of K are of nearly equal length, and none is much shorter than
 * `most`. */
static void choose_k_blocks(bsm_cpu_gemm *g, int64_t most) {
  g->tap_block = g->taps;
  g->k_block = g->kc;
  if (g->thin || g->taps * g->kc <= most * 3 / 2) return;
  if (g->kc > most) {
    const int64_t parts = bsm_cpu_div_up(g->kc, most);
    g->tap_block = 1;
    g->k_block = bsm_cpu_round_up(bsm_cpu_div_up(g->kc, parts), 16);
    return;
  }
  const int64_t taps = bsm_cpu_max(1, most / bsm_cpu_max(1, g->kc));
  const int64_t parts = bsm_cpu_div_up(g->taps, taps);
  g->tap_block = bsm_cpu_div_up(g->taps, parts);
}

/* The length of blocks of at most `most` that cut `total` into nearly equal
 * ones, in whole `step`s. */
static int64_t equal_block(int64_t total, int64_t most, int64_t step) {
  const int64_t blocks =
      bsm_cpu_div_up(bsm_cpu_max(total, 1), bsm_cpu_max(most, step));
  return bsm_cpu_round_up(bsm_cpu_div_up(bsm_cpu_max(total, 1), blocks), step);
}

/* Smaller blocks when there are too few for the threads, unless the whole is
 * over before another thread has woken up. Columns are cut first: threads then
 * read different parts of B. */
static void cut_for_threads(const bsm_cpu_gemm *g, int threads,
                            int64_t products, int64_t *rows, int64_t *columns) {
  const int64_t max_rows = g->kernels->max_rows;
  const int64_t width = g->kernels->columns;
  const double work = (double)g->rows * (double)g->columns *
                      (double)(g->taps * g->kc) * (double)products;
  const int64_t want = threads > 1 && work > 1e5 ? 4 * (int64_t)threads : 1;
  while (products * bsm_cpu_div_up(g->rows, *rows) *
             bsm_cpu_div_up(g->columns, *columns) <
         want) {
    if (*columns > 2 * width) {
      *columns = bsm_cpu_round_up(*columns / 2, width);
    } else if (*rows > 4 * max_rows) {
      *rows = bsm_cpu_round_up(*rows / 2, max_rows);
    } else if (*columns > width) {
      *columns = width;
    } else if (*rows > max_rows) {
      *rows = bsm_cpu_round_up(*rows / 2, max_rows);
    } else {
      break;
    }
  }
}

/* In a tile of few products, asking for rows that are near costs more than it
 * saves. */
static bool fetches_c(const bsm_cpu_gemm *g, const bsm_caches *caches,
                      int64_t products) {
  const double floats = (double)g->rows * (double)g->columns * (double)products;
  const double cache = g->taps * g->kc < FETCH_C_DEPTH ? (double)caches->l3 / 4
                                                       : (double)caches->l2 / 2;
  return floats * sizeof(float) > cache;
}

void bsm_cpu_gemm_plan(bsm_cpu_gemm *g, int threads, int64_t products) {
  const int64_t max_rows = g->kernels->max_rows;
  const int64_t width = g->kernels->columns;
  const bsm_caches caches = bsm_detect_caches();
  const bool copies = g->packs && g->rows > max_rows;
  g->thin = g->rows <= BSM_K_GEMM_MAX_THIN;
  g->fetches_c = fetches_c(g, &caches, products);
  g->fetches_a = g->streams && g->taps == 1 && !g->thin;
  choose_k_blocks(g, (int64_t)(caches.l1 / 1024) *
                         (copies ? COPIED_K_PER_L1_KIB : K_PER_L1_KIB));
  const int64_t depth =
      bsm_cpu_max(1, g->k_block < g->kc ? g->k_block : g->tap_block * g->kc);
  /* A block of B, and the next one on its way, fit the second-level cache
   * beside the rest. */
  const int64_t l2_floats = (int64_t)(caches.l2 / sizeof(float));
  const double a_floats = (double)g->rows * (double)(g->taps * g->kc);
  int64_t b_floats = l2_floats * B_L2_EIGHTHS / 8;
  if (a_floats <= (double)(l2_floats / 2)) {
    b_floats = bsm_cpu_min(b_floats, B_BESIDE_A);
  }
  int64_t columns = b_floats / depth / width * width;
  if (g->thin) columns = bsm_cpu_max(64, columns);
  columns = equal_block(g->columns, columns, width);
  int64_t rows = equal_block(g->rows, MAX_ROW_BLOCK, max_rows);
  cut_for_threads(g, threads, products, &rows, &columns);
  g->row_block = bsm_cpu_max(bsm_cpu_min(rows, g->rows), 1);
  g->column_block = bsm_cpu_max(
      bsm_cpu_min(columns, bsm_cpu_round_up(g->columns, BSM_K_PANEL)), 1);
}

int64_t bsm_cpu_gemm_units(const bsm_cpu_gemm *g) {
  return bsm_cpu_div_up(g->rows, g->row_block) *
         bsm_cpu_div_up(g->columns, g->column_block);
}

/* Pointers of a tile, and of the next one. */
static uint64_t pointers_bytes(const bsm_cpu_gemm *g) {
  return bsm_cpu_align((uint64_t)g->tap_block * BSM_K_GEMM_MAX_ROWS *
                       sizeof(float *) * (g->fetches_a ? 2 : 1));
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
  const float **ahead_pointers; /* of the next tile; NULL: not asked for */
  int64_t ahead_count, ahead_k; /* its rows, and where their K starts */
  float *packed, *partial;
  int64_t row, rows, column, columns, tiles;
  int64_t ahead;        /* floats from this block of B to the next; 0: none */
  bsm_k_gemm_args args; /* what tiles have in common, and the tile at work */
} unit_state;

/* A block of K. */
typedef struct k_range {
  int64_t tap, taps, k, length;
  bool first, last;
} k_range;

/* What the tiles of a block of K have in common. */
static void start_block(unit_state *u, const k_range *k) {
  const bsm_cpu_gemm *g = u->g;
  bsm_k_gemm_args *t = &u->args;
  t->taps = k->taps;
  t->kc = k->length;
  t->a_offset = g->packs ? 0 : k->k;
  t->b_tap = u->o->b_tap;
  t->b_panel = u->o->b_panel;
  t->tap_list = u->o->tap_list ? u->o->tap_list + k->tap : NULL;
  const bool scaled = g->scale != 1.0f;
  t->flags = k->first ? 0 : BSM_K_GEMM_ACCUMULATE;
  if (k->first && u->o->bias && !scaled) t->flags |= BSM_K_GEMM_BIAS_FIRST;
  if (!k->last) return;
  if (g->fetches_c) t->flags |= BSM_K_GEMM_FETCH;
  if (scaled) t->flags |= BSM_K_GEMM_SCALE;
  /* Sums that were made elsewhere have none yet. */
  const bool late = scaled || (!k->first && k->taps == 0);
  if (u->o->bias && late) t->flags |= BSM_K_GEMM_BIAS;
  if (u->o->residual) t->flags |= BSM_K_GEMM_RESIDUAL;
  if (g->epilogue.clamps) t->flags |= BSM_K_GEMM_CLAMP;
  t->scale = g->scale;
  t->lo = g->epilogue.lo;
  t->hi = g->epilogue.hi;
}

/* The rows of A of a tile, as pointers. */
static void find_rows(const unit_state *u, const k_range *k, int64_t row,
                      int count) {
  const bsm_cpu_gemm_operands *o = u->o;
  if (!u->g->packs) {
    o->pointers(o->source, row, count, k->tap, k->taps, u->pointers);
    return;
  }
  const int64_t stride = pack_stride(u->g);
  o->pack(o->source, row, count, k->k, k->length, u->packed, stride);
  for (int i = 0; i < count; i++) u->pointers[i] = u->packed + i * stride;
}

/* The rows that lie side by side are one. */
static void activate(const unit_state *u, float *const *c, int count) {
  const bsm_cpu_epilogue *e = &u->g->epilogue;
  for (int i = 0; i < count;) {
    float *row = c[i] + u->column;
    int64_t n = u->columns;
    while (++i < count && c[i] + u->column == row + n) n += u->columns;
    e->activation(row, row, n, e->alpha, e->beta);
  }
}

/* Which part of the next block of B tile `index` of the unit asks for while it
 * computes panels of `width`: a panel is cut into as many parts as there are
 * tiles for it, at most one for each step between lines. */
static void choose_fetch(const unit_state *u, int64_t index, int64_t width,
                         bsm_k_gemm_args *t) {
  const int64_t steps = u->g->kernels->fetch_steps;
  const int64_t panels = width / BSM_K_PANEL;
  t->fetch = NULL;
  /* With one tile B is read once, as fast as it comes. */
  if (u->ahead == 0 || u->tiles == 1) return;
  int64_t parts = steps;
  while (parts > 1 && parts * panels > u->tiles) parts /= 2;
  if (index >= parts * panels) return;
  t->fetch_lines = steps / parts;
  const int64_t lines = t->taps * (t->kc / steps) * t->fetch_lines;
  t->fetch = t->b + u->ahead + index / parts * u->o->b_panel +
             index % parts * lines * BSM_K_PANEL;
}

/* The kernels for the next columns, of `rest` that are left. */
static bsm_k_gemm_fn *const *choose_kernels(const bsm_cpu_gemm *g, int64_t rest,
                                            int64_t *width) {
  const bsm_k_gemm *k = g->kernels;
  *width = g->thin ? k->thin_columns : BSM_K_PANEL;
  if (g->thin) return k->thin;
  if (rest <= BSM_K_HALF_PANEL) return k->half;
  if (rest <= BSM_K_PANEL + BSM_K_HALF_PANEL) return k->single;
  *width = k->columns;
  return k->full;
}

/* Which rows of the next tile a product of columns from `column` on asks for:
 * an equal share of them. */
static void choose_ahead(const unit_state *u, int64_t column, int64_t width,
                         bsm_k_gemm_args *t) {
  const int64_t count = u->ahead_count;
  const int64_t first = count * (column - u->column) / u->columns;
  const int64_t end = count * (column - u->column + width) / u->columns;
  t->ahead = u->ahead_pointers + first;
  t->ahead_offset = u->ahead_k;
  t->ahead_rows = bsm_cpu_min(end, count) - first;
}

static void run_panels(unit_state *u, const k_range *k, int64_t index,
                       int count, float *const *partial) {
  const bsm_cpu_gemm_operands *o = u->o;
  bsm_k_gemm_args *t = &u->args;
  float *from[BSM_K_GEMM_MAX_ROWS];
  const int64_t end = u->column + u->columns;
  int64_t width;
  const float *b =
      o->b + (o->tap_list ? 0 : k->tap * o->b_tap) + k->k * BSM_K_PANEL;
  for (int64_t j = u->column; j < end; j += width) {
    bsm_k_gemm_fn *const *kernels = choose_kernels(u->g, end - j, &width);
    t->b = b + j / BSM_K_PANEL * o->b_panel;
    choose_fetch(u, index, width, t);
    if (u->ahead_pointers) choose_ahead(u, j, width, t);
    t->n = bsm_cpu_min(width, end - j);
    t->bias = o->bias ? o->bias + j : NULL;
    t->residual_offset = t->c_offset = j;
    if (partial) {
      for (int i = 0; i < count; i++) from[i] = partial[i] + (j - u->column);
      t->from = from;
      if (!k->last) {
        t->c = from;
        t->c_offset = 0;
      }
    }
    kernels[count - 1](t);
  }
}

/* The addresses of rows; most often they are evenly apart. */
static void find_addresses(const bsm_cpu_rows *rows, float *base, int64_t first,
                           int count, float **to) {
  if (rows->rank == 1) {
    const int64_t stride = rows->strides[0];
    float *p = base + first * stride;
    for (int i = 0; i < count; i++) to[i] = p + i * stride;
    return;
  }
  int64_t offsets[BSM_K_GEMM_MAX_ROWS];
  bsm_cpu_rows_offsets(rows, first, count, offsets);
  for (int i = 0; i < count; i++) to[i] = base + offsets[i];
}

/* The rows that are read next: of the next tile of the unit, of the first one
 * of its next block of K, or of the unit after it in the same columns. */
static void find_ahead_rows(unit_state *u, const k_range *k, int64_t index,
                            int64_t row) {
  const bsm_cpu_gemm *g = u->g;
  int64_t tiles = u->tiles - index - 1, end = u->row + u->rows;
  u->ahead_k = k->k;
  if (tiles == 0) {
    u->ahead_k = k->last ? 0 : k->k + k->length;
    tiles = u->tiles;
    if (k->last) {
      end = bsm_cpu_min(end + u->rows, g->rows);
    } else {
      row = u->row;
    }
  }
  u->ahead_count = bsm_cpu_div_up(end - row, tiles);
  if (u->ahead_count == 0) return;
  u->o->pointers(u->o->source, row, (int)u->ahead_count, 0, 1,
                 u->ahead_pointers);
}

static void run_tile(unit_state *u, const k_range *k, int64_t index,
                     int64_t row, int count) {
  const bsm_cpu_gemm_operands *o = u->o;
  float *c[BSM_K_GEMM_MAX_ROWS], *partial[BSM_K_GEMM_MAX_ROWS];
  float *residual[BSM_K_GEMM_MAX_ROWS];
  /* For all tiles but the first, the tile before has found them. */
  if (index == 0 || u->g->packs || !u->ahead_pointers) {
    find_rows(u, k, row, count);
  }
  u->args.a = u->pointers;
  if (u->ahead_pointers) find_ahead_rows(u, k, index, row + count);
  if (k->last) {
    find_addresses(o->c_rows, o->c, row, count, c);
    u->args.c = c;
    if (o->residual) {
      /* Read only: the cast lets one function serve both. */
      find_addresses(o->residual_rows, (float *)(uintptr_t)o->residual, row,
                     count, residual);
      u->args.residual = (const float *const *)residual;
    }
  }
  if (u->partial) {
    for (int i = 0; i < count; i++) {
      partial[i] = u->partial + (row - u->row + i) * u->g->column_block;
    }
  }
  run_panels(u, k, index, count, u->partial ? partial : NULL);
  if (u->ahead_pointers && !u->g->packs) {
    const float **next = u->ahead_pointers;
    u->ahead_pointers = u->pointers;
    u->pointers = next;
  }
  if (k->last && u->g->epilogue.activation) activate(u, c, count);
}

/* All rows of the unit for one block of K, in tiles of nearly equal size. */
static void run_rows(unit_state *u, const k_range *k) {
  start_block(u, k);
  int64_t row = u->row, rest = u->rows;
  for (int64_t i = 0; i < u->tiles; i++) {
    const int64_t count = bsm_cpu_div_up(rest, u->tiles - i);
    run_tile(u, k, i, row, (int)count);
    row += count;
    rest -= count;
  }
}

/* How far ahead the block of B is that comes after `k` in this unit, or first
 * in the next. */
static int64_t find_ahead(const unit_state *u, const k_range *k, int64_t unit) {
  const bsm_cpu_gemm *g = u->g;
  const bsm_cpu_gemm_operands *o = u->o;
  if (g->thin || o->tap_list || g->kernels->fetch_steps == 0) return 0;
  if (!k->last) return (k->taps * k->length) * BSM_K_PANEL;
  const int64_t back = (k->tap * g->kc + k->k) * BSM_K_PANEL;
  const int64_t row_blocks = bsm_cpu_div_up(g->rows, g->row_block);
  if ((unit + 1) % row_blocks != 0) return -back;
  if (u->column + u->columns >= g->columns) return 0;
  return g->column_block / BSM_K_PANEL * o->b_panel - back;
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
  u.tiles = bsm_cpu_div_up(
      u.rows, g->thin ? BSM_K_GEMM_MAX_THIN : g->kernels->max_rows);
  u.pointers = (const float **)(void *)bytes;
  if (g->fetches_a) {
    u.ahead_pointers = u.pointers + g->tap_block * BSM_K_GEMM_MAX_ROWS;
  }
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
      u.ahead = find_ahead(&u, &range, unit);
      run_rows(&u, &range);
      if (g->k_block == 0) break;
    }
    if (g->tap_block == 0) break;
  }
}

/* The last of several blocks of K, which has no K. */
void bsm_cpu_gemm_finish(const bsm_cpu_gemm *g, const bsm_cpu_gemm_operands *o,
                         int64_t row, int64_t rows, int64_t column,
                         int64_t columns, float *sums) {
  const float *pointers[BSM_K_GEMM_MAX_ROWS];
  const int64_t most = g->thin ? BSM_K_GEMM_MAX_THIN : g->kernels->max_rows;
  unit_state u = {.g = g,
                  .o = o,
                  .pointers = pointers,
                  .partial = sums,
                  .row = row,
                  .rows = rows,
                  .column = column,
                  .columns = columns,
                  .tiles = bsm_cpu_div_up(rows, most)};
  run_rows(&u, &(k_range){.last = true});
}
