/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions to few maps.
 *
 * A unit is a block of cells, the coordinates of outputs in their phases. It
 * goes along one dimension, the depth of three-dimensional images and else the
 * rows; a ring holds the products of the lines that cells still read. */
#include "backend/cpu/cpu_few_maps.h"

#include <string.h>

/* Floats of a ring at most: it stays in the second-level cache. */
#define RING 98304
/* Floats of the pixels of a line at most, but for the least block. */
#define PIXELS 8192
/* Cells of a line in a block, at least and at most. */
#define MIN_BLOCK 32
#define MAX_BLOCK 512
/* Rows of a block of a three-dimensional image at most. */
#define DEEP_ROWS 16
/* Units for each thread, when there are several. */
#define UNITS 4
/* Cells along which a block goes, for each one whose input is multiplied twice
 * for it: when threads ask for more blocks. */
#define CELLS_PER_SHARED 8
/* Input maps at most whose lines are added up without products: that loads an
 * input for each multiplication, but writes none. */
#define DIRECT_MAPS 6
/* What it costs for a pixel and each of its maps to move it into a panel, by
 * where maps lie, and to add up a product; beside multiplying. */
#define TURN_COST 8
#define COPY_COST 1
#define ADD_COST 3
/* Multiplying without products, and the move. */
#define DIRECT_COST 1.5
#define DIRECT_MOVE 4

static bool is_direct(int64_t in_maps) {
  return in_maps <= DIRECT_MAPS;
}

/* Rows of a line of products. */
static int64_t rows_of(int64_t in_maps, int64_t taps, int64_t maps) {
  return is_direct(in_maps) ? in_maps : taps * maps;
}

static int roll_of(const bsm_image *y) {
  return y->size[0] > 1 ? 0 : 1;
}

/* The cells of a line for which a ring has room, when it has `lines` rows of
 * products in a line and blocks have `rows` rows. */
static int64_t room(int64_t lines, const int64_t span[3], int roll,
                    int64_t rows) {
  const double each = (double)(span[roll] + 1) * (double)lines *
                      (double)(roll == 0 ? rows + span[1] : 1);
  return (int64_t)(RING / each) - span[2];
}

bool bsm_cpu_few_maps_fit(const bsm_step_convolution *p, bool transposed,
                          const bsm_image *x, const bsm_image *y) {
  const bsm_step_window *w = &p->window;
  const int roll = roll_of(y);
  int64_t span[3];
  if (p->groups != 1 || y->c < 1 || y->c > BSM_CPU_FEW_MAPS || x->c < 1) {
    return false;
  }
  for (int d = 0; d < 3; d++) {
    const int64_t reach = (w->kernel[d] - 1) * w->dilation[d];
    if (y->size[d] < 1 || x->size[d] < 1 || reach > RING ||
        (!transposed && w->stride[d] != 1)) {
      return false;
    }
    span[d] = (reach + w->stride[d] - 1) / w->stride[d];
  }
  const int64_t taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
  return room(rows_of(x->c, taps, y->c), span, roll, 1) >=
             bsm_cpu_min(MIN_BLOCK, y->size[2]) &&
         (roll == 0 || span[0] == 0);
}

double bsm_cpu_few_maps_share(const bsm_step_convolution *p, int64_t in_maps,
                              bool planes) {
  const int64_t *k = p->window.kernel;
  const double c = (double)in_maps, taps = (double)(k[0] * k[1] * k[2]);
  const double rows = taps * (double)p->out_maps;
  const double took =
      is_direct(in_maps)
          ? c * (DIRECT_COST * rows + DIRECT_MOVE)
          : c * (rows + (planes ? COPY_COST : TURN_COST)) + ADD_COST * rows;
  return took / (c * taps * BSM_K_HALF_PANEL);
}

/* ---- prepare ---- */

/* From [taps][C][16] to [taps][maps][C]. */
static bsm_status pack(const bsm_cpu_prepare *p, bsm_cpu_few_maps *f) {
  const int64_t ci = f->x.c, co = f->y.c;
  float *to = BSM_NEW_ARRAY(p->arena, float, (size_t)(f->taps * co * ci));
  BSM_TRY_ALLOC(to);
  for (int64_t t = 0; t < f->taps; t++) {
    f->rows->transpose(f->kernel + t * ci * BSM_K_PANEL, BSM_K_PANEL,
                       to + t * co * ci, ci, co, ci);
  }
  f->weights = to;
  return BSM_OK;
}

static void find_spans(bsm_cpu_few_maps *f) {
  for (int d = 0; d < 3; d++) {
    int64_t high = INT64_MIN;
    f->low[d] = INT64_MAX;
    f->cells[d] = 0;
    for (int64_t i = 0; i < f->phase_count; i++) {
      const bsm_cpu_few_phase *p = &f->phases[i];
      f->cells[d] = bsm_cpu_max(f->cells[d], p->size[d]);
      for (int64_t t = 0; t < p->tap_count; t++) {
        f->low[d] = bsm_cpu_min(f->low[d], p->deltas[t][d]);
        high = bsm_cpu_max(high, p->deltas[t][d]);
      }
    }
    if (high < f->low[d]) high = f->low[d] = 0;
    f->span[d] = high - f->low[d];
  }
}

/* Blocks of nearly equal size, enough of them for the threads. */
static void choose_blocks(bsm_cpu_few_maps *f, int threads) {
  const int64_t lines = rows_of(f->x.c, f->taps, f->y.c);
  const int r = f->roll = roll_of(&f->y);
  int64_t most =
      bsm_cpu_min(bsm_cpu_max(PIXELS / f->x.c, MIN_BLOCK), MAX_BLOCK);
  most = bsm_cpu_min(most, room(lines, f->span, r, 1));
  most = bsm_cpu_min(most, f->cells[2]);
  f->blocks[0] = f->blocks[1] = 1;
  f->blocks[2] = bsm_cpu_div_up(f->cells[2], most);
  const int64_t width = bsm_cpu_div_up(f->cells[2], f->blocks[2]);
  if (r == 0) {
    int64_t rows = bsm_cpu_min(DEEP_ROWS, f->cells[1]);
    while (rows > 1 && room(lines, f->span, r, rows) < width) {
      rows--;
    }
    f->blocks[1] = bsm_cpu_div_up(f->cells[1], rows);
  }
  const int64_t want = threads > 1 ? UNITS * (int64_t)threads : 1;
  const int64_t least = bsm_cpu_max(1, CELLS_PER_SHARED * f->span[r]);
  const int64_t others = f->y.n * f->blocks[1 - r] * f->blocks[2];
  while (others * f->blocks[r] < want && f->cells[r] / f->blocks[r] > least) {
    f->blocks[r] *= 2;
  }
  while (f->y.n * f->blocks[0] * f->blocks[1] * f->blocks[2] < want &&
         f->cells[2] / f->blocks[2] >= 2 * MIN_BLOCK) {
    f->blocks[2] *= 2;
  }
  for (int d = 0; d < 3; d++) {
    f->block[d] = bsm_cpu_div_up(f->cells[d], f->blocks[d]);
    f->blocks[d] = bsm_cpu_div_up(f->cells[d], f->block[d]);
  }
}

bsm_status bsm_cpu_few_maps_prepare(const bsm_cpu_prepare *p,
                                    bsm_cpu_few_maps *f) {
  const int64_t maps = f->y.c;
  f->rows = bsm_k_rows_select(p->isa);
  f->direct = is_direct(f->x.c);
  find_spans(f);
  choose_blocks(f, p->threads);
  f->row = f->block[2] + f->span[2];
  f->line = f->row * rows_of(f->x.c, f->taps, maps);
  f->terms = f->taps * (f->direct ? f->x.c : 1) + 2;
  f->slab = f->roll == 0 ? f->block[1] + f->span[1] : 1;
  bsm_cpu_gemm *g = &f->gemm;
  g->kernels = bsm_k_gemm_select(p->isa);
  g->scale = 1.0f;
  g->rows = f->taps * maps;
  g->columns = f->row;
  g->taps = 1;
  g->kc = f->x.c;
  bsm_cpu_gemm_plan(g, 1, 1);
  f->products = (bsm_cpu_rows){1, {g->rows}, {f->row}};
  f->ring_bytes = bsm_cpu_align(
      (uint64_t)((f->span[f->roll] + 1) * f->slab * f->line) * sizeof(float));
  f->panels_bytes =
      bsm_cpu_align((uint64_t)(bsm_cpu_round_up(f->row, BSM_K_PANEL) * g->kc) *
                    sizeof(float));
  f->list_bytes =
      bsm_cpu_align((uint64_t)f->terms * (sizeof(int64_t) + sizeof(float)));
  /* Ones, a residual and sums. */
  f->lines_bytes = bsm_cpu_align((uint64_t)f->row * 3 * sizeof(float));
  return pack(p, f);
}

uint64_t bsm_cpu_few_maps_scratch(const bsm_cpu_few_maps *f) {
  return f->ring_bytes + f->panels_bytes + f->list_bytes + f->lines_bytes +
         bsm_cpu_gemm_scratch(&f->gemm);
}

int64_t bsm_cpu_few_maps_units(const bsm_cpu_few_maps *f) {
  return f->y.n * f->blocks[0] * f->blocks[1] * f->blocks[2];
}

/* ---- run ---- */

/* A unit at work, in its scratch memory. */
typedef struct unit_state {
  const bsm_cpu_few_maps *f;
  const float *x, *residual; /* of the sample */
  float *y;
  float *ring, *panels, *ones, *added, *sums;
  int64_t *offsets; /* from the ring */
  float *factors;
  void *scratch;
  int64_t start[3], end[3]; /* cells */
  /* Of lines of the block, from pixel start[2] + low[2] on, these pixels are
   * inside. */
  int64_t live, live_end;
} unit_state;

static void weight_rows(const void *self, int64_t row, int count, int64_t tap,
                        int64_t taps, const float **a) {
  const bsm_cpu_few_maps *f = self;
  (void)tap;
  (void)taps;
  for (int i = 0; i < count; i++) a[i] = f->weights + (row + i) * f->x.c;
}

/* The live pixels of a line, as rows of their maps. */
static void copy_maps(const unit_state *u, const float *from, float *to) {
  const bsm_cpu_few_maps *f = u->f;
  const bsm_image *x = &f->x;
  const int64_t n = u->live_end - u->live;
  if (x->stride[2] == 1) {
    for (int64_t c = 0; c < x->c; c++) {
      memcpy(to + c * f->row, from + c * x->c_stride,
             (size_t)n * sizeof(float));
    }
    return;
  }
  if (x->c == 1 || x->c_stride == 1) {
    f->rows->transpose(from, x->stride[2], to, f->row, x->c, n);
    return;
  }
  for (int64_t c = 0; c < x->c; c++) {
    for (int64_t i = 0; i < n; i++) {
      to[c * f->row + i] = from[c * x->c_stride + i * x->stride[2]];
    }
  }
}

/* The products of all taps with the live pixels of a line. */
static void multiply_pixels(const unit_state *u, const float *from, float *to) {
  const bsm_cpu_few_maps *f = u->f;
  const bsm_image *x = &f->x;
  bsm_cpu_gemm g = f->gemm;
  g.columns = u->live_end - u->live;
  for (int64_t i = 0; i < g.columns; i += BSM_K_PANEL) {
    f->rows->pack_panel(from + i * x->stride[2], x->c,
                        bsm_cpu_min(BSM_K_PANEL, g.columns - i), x->c_stride,
                        x->stride[2], u->panels + i * x->c);
  }
  const bsm_cpu_gemm_operands o = {.source = f,
                                   .pointers = weight_rows,
                                   .b = u->panels,
                                   .b_tap = x->c * BSM_K_PANEL,
                                   .b_panel = x->c * BSM_K_PANEL,
                                   .c = to,
                                   .c_rows = &f->products};
  for (int64_t i = 0; i < bsm_cpu_gemm_units(&g); i++) {
    bsm_cpu_gemm_run(&g, &o, i, u->scratch);
  }
}

/* The products of a line, zeros around them. */
static void multiply(const unit_state *u, int64_t depth, int64_t h, float *to) {
  const bsm_cpu_few_maps *f = u->f;
  const int64_t first = u->start[2] + f->low[2] + u->live;
  const float *from = u->x + depth * f->x.stride[0] + h * f->x.stride[1] +
                      first * f->x.stride[2];
  if (u->live > 0 || u->live_end < u->end[2] - u->start[2] + f->span[2]) {
    memset(to, 0, (size_t)f->line * sizeof(float));
  }
  (f->direct ? copy_maps : multiply_pixels)(u, from, to + u->live);
}

/* Where the products of the line are that a tap reads for the outputs of cell
 * `at`, from the first of the block on; -1: it lies outside. */
static int64_t place_of(const unit_state *u, const int64_t at[3],
                        const int64_t *delta) {
  const bsm_cpu_few_maps *f = u->f;
  const int64_t d = at[0] + delta[0], h = at[1] + delta[1];
  if (d < 0 || d >= f->x.size[0] || h < 0 || h >= f->x.size[1] ||
      u->live >= u->live_end) {
    return -1;
  }
  const int64_t lines = f->span[f->roll] + 1;
  const int64_t line = f->roll == 0
                           ? d % lines * f->slab + h - u->start[1] - f->low[1]
                           : h % lines;
  return line * f->line + delta[2] - f->low[2];
}

/* The outputs of a line of a phase from the start of the block on. */
typedef struct line {
  const bsm_cpu_few_phase *phase;
  int64_t at[3]; /* the first cell */
  int64_t n;
  const float *residual;
  float *y;
} line;

/* Lists what map `c` of a line is the sum of, as places from the ring and
 * factors; the bias is one of ones. */
static int list_terms(const unit_state *u, const line *l, int64_t c) {
  const bsm_cpu_few_maps *f = u->f;
  const int64_t maps = f->y.c, ci = f->x.c;
  int count = 0;
  u->factors[count] = f->bias ? f->bias[c] : 0;
  u->offsets[count++] = u->ones - u->ring;
  for (int64_t t = 0; t < l->phase->tap_count; t++) {
    const int64_t place = place_of(u, l->at, l->phase->deltas[t]);
    if (place < 0) continue;
    const int64_t row = l->phase->taps[t] * maps + c;
    if (!f->direct) {
      u->factors[count] = 1;
      u->offsets[count++] = place + row * f->row;
      continue;
    }
    for (int64_t i = 0; i < ci; i++) {
      u->factors[count] = f->weights[row * ci + i];
      u->offsets[count++] = place + i * f->row;
    }
  }
  if (l->residual) {
    u->factors[count] = 1;
    u->offsets[count++] = u->added - u->ring;
  }
  return count;
}

/* Adds up map `c` of a line, and stores it. */
static void add(const unit_state *u, const line *l, int64_t c) {
  const bsm_cpu_few_maps *f = u->f;
  const bsm_cpu_epilogue *e = &f->epilogue;
  const int count = list_terms(u, l, c);
  if (l->residual) {
    const int64_t step = f->residual.stride[2] * f->stride[2];
    const float *from = l->residual + c * f->residual.c_stride;
    for (int64_t i = 0; i < l->n; i++) u->added[i] = from[i * step];
  }
  f->rows->weighted(u->sums, u->ring, l->n, u->offsets, u->factors, count);
  if (e->activation) e->activation(u->sums, u->sums, l->n, e->alpha, e->beta);
  const int64_t step = f->y.stride[2] * f->stride[2];
  float *y = l->y + c * f->y.c_stride;
  for (int64_t i = 0; i < l->n; i++, y += step) {
    float v = u->sums[i];
    v = v < e->lo ? e->lo : v;
    *y = v > e->hi ? e->hi : v;
  }
}

static void add_phase(const unit_state *u, const bsm_cpu_few_phase *p,
                      const int64_t at[3]) {
  const bsm_cpu_few_maps *f = u->f;
  line l = {.phase = p,
            .at = {at[0], at[1], at[2]},
            .n = bsm_cpu_min(u->end[2], p->size[2]) - u->start[2],
            .residual = u->residual,
            .y = u->y};
  if (at[0] >= p->size[0] || at[1] >= p->size[1] || l.n <= 0) return;
  for (int d = 0; d < 3; d++) {
    const int64_t o = p->first[d] + at[d] * f->stride[d];
    l.y += o * f->y.stride[d];
    if (l.residual) l.residual += o * f->residual.stride[d];
  }
  for (int64_t c = 0; c < f->y.c; c++) add(u, &l, c);
}

/* Multiplies the lines at `i` of the dimension along which the block goes. */
static void multiply_slab(const unit_state *u, int64_t i) {
  const bsm_cpu_few_maps *f = u->f;
  float *to = u->ring + i % (f->span[f->roll] + 1) * f->slab * f->line;
  if (f->roll == 1) {
    const int64_t depth = f->low[0];
    if (depth >= 0 && depth < f->x.size[0]) multiply(u, depth, i, to);
    return;
  }
  const int64_t top = u->start[1] + f->low[1];
  const int64_t end =
      bsm_cpu_min(u->end[1] - 1 + f->low[1] + f->span[1] + 1, f->x.size[1]);
  for (int64_t h = bsm_cpu_max(top, 0); h < end; h++) {
    multiply(u, i, h, to + (h - top) * f->line);
  }
}

static void run_block(const unit_state *u) {
  const bsm_cpu_few_maps *f = u->f;
  const int r = f->roll;
  int64_t next = u->start[r] + f->low[r]; /* multiplied next */
  if (next < 0) next = 0;
  int64_t at[3] = {u->start[0], u->start[1], u->start[2]};
  for (at[r] = u->start[r]; at[r] < u->end[r]; at[r]++) {
    const int64_t end =
        bsm_cpu_min(at[r] + f->low[r] + f->span[r] + 1, f->x.size[r]);
    for (; next < end; next++) {
      if (u->live < u->live_end) multiply_slab(u, next);
    }
    const int o = 1 - r;
    for (at[o] = u->start[o]; at[o] < u->end[o]; at[o]++) {
      for (int64_t i = 0; i < f->phase_count; i++) {
        add_phase(u, &f->phases[i], at);
      }
    }
  }
}

void bsm_cpu_few_maps_run(const bsm_cpu_few_maps *f, const float *x,
                          const float *residual, float *y, int64_t unit,
                          void *scratch) {
  const bsm_cpu_position p = bsm_cpu_position_of(unit, f->blocks);
  uint8_t *at = scratch;
  unit_state u = {
      .f = f,
      .x = x + p.n * f->x.n_stride,
      .y = y + p.n * f->y.n_stride,
      .residual = residual ? residual + p.n * f->residual.n_stride : NULL};
  for (int d = 0; d < 3; d++) {
    u.start[d] = p.at[d] * f->block[d];
    u.end[d] = bsm_cpu_min(u.start[d] + f->block[d], f->cells[d]);
  }
  const int64_t first = u.start[2] + f->low[2];
  u.live = bsm_cpu_max(-first, 0);
  u.live_end =
      bsm_cpu_min(u.end[2] - u.start[2] + f->span[2], f->x.size[2] - first);
  u.ring = (float *)(void *)at;
  u.panels = (float *)(void *)(at += f->ring_bytes);
  u.offsets = (int64_t *)(void *)(at += f->panels_bytes);
  u.factors = (float *)(void *)(u.offsets + f->terms);
  u.ones = (float *)(void *)(at += f->list_bytes);
  u.added = u.ones + f->row;
  u.sums = u.added + f->row;
  u.scratch = at + f->lines_bytes;
  for (int64_t i = 0; i < f->row; i++) u.ones[i] = 1;
  run_block(&u);
}
