/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolutions, F(m x m, 3 x 3) for m = 2, 4 and 6 outputs in a row
 * and column of a tile; the transforms are in kernels/winograd.
 *
 * Tiles are taken in blocks. A block's inputs are transformed to
 * V [positions][tiles][C], multiplied for each position with the transformed
 * kernel U [positions][C][K] to M [positions][tiles][K], and transformed to
 * outputs, where bias, residual and activation are added. Where there are
 * enough blocks, each is the work of one thread, in memory of its own. Else the
 * threads share the blocks, one after the other: first the tiles, then the
 * positions, then the tiles again. No element depends on how the work is cut.
 */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_winograd.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/winograd/winograd_f32.h"

/* Tiles that a thread takes at once in the transforms of a shared block. */
#define SHARED_TILES 4

typedef struct winograd {
  bsm_cpu_convolution common;
  const bsm_k_winograd *transforms;
  const bsm_k_gemm *gemm;
  const float *zeros; /* of one pixel */
  int which;          /* of the transforms: m / 2 - 1 */
  int64_t m, n;       /* sizes of a tile of output and of input */
  int64_t c, k;       /* channels of input and output */
  int64_t tiles[2], tile_count;
  int64_t block;   /* tiles */
  int64_t columns; /* of K, that a unit multiplies in a shared block */
  bool shared;     /* by the threads: blocks one after the other */
  int64_t v_row, v_position, m_row, m_position; /* floats */
} winograd;

/* ---- which fit ---- */

static double cost(const bsm_cpu_convolution_site *s, int32_t form) {
  if (!bsm_cpu_winograd_fits(s->params, s->x.c)) return -1;
  return form == 2 ? 0.5 : form == 3 ? 0.6 : 0.8;
}

/* ---- prepare ---- */

/* An odd number of cache lines, so that rows that far apart spread over the
 * sets of a cache. */
static int64_t spread(int64_t floats) {
  return bsm_cpu_round_up(floats, 16) / 16 % 2
             ? bsm_cpu_round_up(floats, 16)
             : bsm_cpu_round_up(floats, 16) + 16;
}

static void plan_blocks(winograd *w, int threads) {
  const int64_t block = bsm_cpu_min(2 * w->gemm->max_rows, w->tile_count);
  w->block = bsm_cpu_max(1, block);
  w->shared = threads > 1;
  w->columns = threads > 1 ? w->gemm->columns : w->k;
  w->v_row = spread(w->c);
  w->m_row = spread(w->k);
  w->v_position = spread(w->block * w->v_row);
  w->m_position = spread(w->block * w->m_row);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  winograd *w = BSM_NEW(p->arena, winograd);
  BSM_TRY_ALLOC(w);
  bsm_cpu_convolution_init(p, &w->common);
  w->transforms = bsm_k_winograd_select(p->isa);
  w->gemm = bsm_k_gemm_select(p->isa);
  w->m = bsm_cpu_winograd_outputs(params->form);
  w->n = w->m + 2;
  w->which = (int)(w->m / 2 - 1);
  w->c = w->common.x.c;
  w->k = w->common.y.c;
  for (int d = 0; d < 2; d++) {
    w->tiles[d] = bsm_cpu_div_up(w->common.y.size[d + 1], w->m);
  }
  w->tile_count = w->common.y.n * w->tiles[0] * w->tiles[1];
  w->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)w->c);
  BSM_TRY_ALLOC(w->zeros);
  plan_blocks(w, p->threads);
  w->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", w->common.tactic->name, w->gemm->name);
  BSM_TRY_ALLOC(w->common.base.description);
  out->impl = w;
  const uint64_t bytes =
      (uint64_t)(w->n * w->n * (w->v_position + w->m_position)) * sizeof(float);
  return bsm_cpu_set_scratch(out, w->shared ? bytes : 0, w->shared ? 0 : bytes,
                             w->common.base.slots);
}

/* ---- run ---- */

typedef struct work {
  const winograd *w;
  const float *x, *residual;
  float *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

/* A block of tiles at work. */
typedef struct block {
  const work *work;
  int64_t tile, count;
  float *v, *m;
} block;

static block block_of(const work *of, int64_t index, void *scratch) {
  const winograd *w = of->w;
  block b = {.work = of, .tile = index * w->block, .v = scratch};
  b.count = bsm_cpu_min(w->block, w->tile_count - b.tile);
  b.m = b.v + w->n * w->n * w->v_position;
  return b;
}

typedef struct tile_place {
  int64_t sample, at[2]; /* the first output */
} tile_place;

static tile_place place_of(const winograd *w, int64_t tile) {
  const int64_t line = tile / w->tiles[1];
  return (tile_place){line / w->tiles[0],
                      {line % w->tiles[0] * w->m, tile % w->tiles[1] * w->m}};
}

/* Transforms the inputs of tile `i` of a block. */
static void transform_input(const block *b, int64_t i) {
  const winograd *w = b->work->w;
  const bsm_cpu_image *x = &w->common.x;
  const tile_place p = place_of(w, b->tile + i);
  const float *sample = b->work->x + p.sample * x->n_stride;
  const float *pixels[BSM_K_WINOGRAD_MAX * BSM_K_WINOGRAD_MAX];
  const int64_t top = p.at[0] - w->common.w.pre_padding[1];
  const int64_t left = p.at[1] - w->common.w.pre_padding[2];
  for (int64_t r = 0; r < w->n; r++) {
    const bool inside = top + r >= 0 && top + r < x->size[1];
    for (int64_t s = 0; s < w->n; s++) {
      pixels[r * w->n + s] =
          inside && left + s >= 0 && left + s < x->size[2]
              ? sample + (top + r) * x->stride[1] + (left + s) * x->stride[2]
              : w->zeros;
    }
  }
  const bsm_k_winograd_input t = {pixels, w->c, b->v + i * w->v_row,
                                  w->v_position};
  w->transforms->input[w->which](&t);
}

/* Multiplies columns [column, end) of position `p`. */
static void multiply(const block *b, int64_t p, int64_t column, int64_t end) {
  const winograd *w = b->work->w;
  const int64_t panel = w->c * BSM_K_PANEL;
  const float *u =
      w->common.kernel + p * bsm_cpu_div_up(w->k, BSM_K_PANEL) * panel;
  const int64_t tiles = bsm_cpu_div_up(b->count, w->gemm->max_rows);
  while (column < end) {
    const bool wide = end - column > BSM_K_PANEL;
    const int64_t width = wide ? w->gemm->columns : BSM_K_PANEL;
    int64_t row = 0;
    for (int64_t i = 0; i < tiles; i++) {
      const float *a[BSM_K_GEMM_MAX_ROWS];
      float *c[BSM_K_GEMM_MAX_ROWS];
      const int64_t count = bsm_cpu_div_up(b->count - row, tiles - i);
      for (int64_t j = 0; j < count; j++) {
        a[j] = b->v + p * w->v_position + (row + j) * w->v_row;
        c[j] = b->m + p * w->m_position + (row + j) * w->m_row;
      }
      const bsm_k_gemm_args t = {.a = a,
                                 .taps = 1,
                                 .kc = w->c,
                                 .b = u + column / BSM_K_PANEL * panel,
                                 .b_panel = panel,
                                 .c = c,
                                 .c_offset = column,
                                 .n = bsm_cpu_min(width, end - column)};
      (wide ? w->gemm->full : w->gemm->single)[count - 1](&t);
      row += count;
    }
    column += width;
  }
}

static void activate(const winograd *w, const bsm_k_winograd_output *t) {
  const bsm_cpu_epilogue *e = &w->common.epilogue;
  for (int64_t r = 0; r < t->rows; r++) {
    for (int64_t s = 0; s < t->pixels; s++) {
      float *y = t->y + r * t->y_row + s * t->y_pixel;
      e->activation(y, y, t->channels, e->alpha, e->beta);
    }
  }
}

/* Transforms the products of tile `i` of a block to outputs. */
static void transform_output(const block *b, int64_t i) {
  const winograd *w = b->work->w;
  const bsm_cpu_image *y = &w->common.y, *r = &w->common.residual;
  const tile_place p = place_of(w, b->tile + i);
  bsm_k_winograd_output t = {.m = b->m + i * w->m_row,
                             .m_position = w->m_position,
                             .channels = w->k,
                             .y = b->work->y + p.sample * y->n_stride +
                                  p.at[0] * y->stride[1] +
                                  p.at[1] * y->stride[2],
                             .y_row = y->stride[1],
                             .y_pixel = y->stride[2],
                             .rows = bsm_cpu_min(w->m, y->size[1] - p.at[0]),
                             .pixels = bsm_cpu_min(w->m, y->size[2] - p.at[1]),
                             .bias = w->common.bias,
                             .lo = w->common.epilogue.lo,
                             .hi = w->common.epilogue.hi};
  if (b->work->residual) {
    t.residual = b->work->residual + p.sample * r->n_stride +
                 p.at[0] * r->stride[1] + p.at[1] * r->stride[2];
    t.residual_row = r->stride[1];
    t.residual_pixel = r->stride[2];
  }
  w->transforms->output[w->which](&t);
  if (w->common.epilogue.activation) activate(w, &t);
}

/* A block of one thread. */
static void block_unit(void *arg, int64_t unit, int slot) {
  const work *k = arg;
  const winograd *w = k->w;
  const block b = block_of(k, unit, k->scratch + (size_t)slot * k->slot_size);
  for (int64_t i = 0; i < b.count; i++) transform_input(&b, i);
  for (int64_t p = 0; p < w->n * w->n; p++) multiply(&b, p, 0, w->k);
  for (int64_t i = 0; i < b.count; i++) transform_output(&b, i);
}

/* The parts of a shared block. */
static void input_unit(void *arg, int64_t unit, int slot) {
  const block *b = arg;
  const int64_t from = unit * SHARED_TILES;
  (void)slot;
  for (int64_t i = from; i < bsm_cpu_min(from + SHARED_TILES, b->count); i++) {
    transform_input(b, i);
  }
}

static void multiply_unit(void *arg, int64_t unit, int slot) {
  const block *b = arg;
  const winograd *w = b->work->w;
  const int64_t parts = bsm_cpu_div_up(w->k, w->columns);
  const int64_t column = unit % parts * w->columns;
  (void)slot;
  multiply(b, unit / parts, column, bsm_cpu_min(column + w->columns, w->k));
}

static void output_unit(void *arg, int64_t unit, int slot) {
  const block *b = arg;
  const int64_t from = unit * SHARED_TILES;
  (void)slot;
  for (int64_t i = from; i < bsm_cpu_min(from + SHARED_TILES, b->count); i++) {
    transform_output(b, i);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const winograd *w = prepared->impl;
  const int slots = w->common.base.slots;
  work k = {.w = w,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)slots};
  if (w->common.has_residual) {
    k.residual = bsm_cpu_input_address(prepared, r, 1);
  }
  const int64_t blocks = bsm_cpu_div_up(w->tile_count, w->block);
  if (!w->shared) {
    bsm_cpu_parallel(r, slots, blocks, block_unit, &k);
    return BSM_OK;
  }
  const int64_t products = w->n * w->n * bsm_cpu_div_up(w->k, w->columns);
  for (int64_t i = 0; i < blocks; i++) {
    block b = block_of(&k, i, r->scratch);
    const int64_t parts = bsm_cpu_div_up(b.count, SHARED_TILES);
    bsm_cpu_parallel(r, slots, parts, input_unit, &b);
    bsm_cpu_parallel(r, slots, products, multiply_unit, &b);
    bsm_cpu_parallel(r, slots, parts, output_unit, &b);
  }
  return BSM_OK;
}

#define TACTIC(m)                                                       \
  static double cost_##m(const bsm_cpu_convolution_site *site) {        \
    return cost(site, BSM_CONVOLUTION_WINOGRAD_##m);                    \
  }                                                                     \
  const bsm_cpu_convolution_tactic bsm_cpu_convolution_winograd_##m = { \
      "winograd_" #m, BSM_CONVOLUTION_WINOGRAD_##m, cost_##m, prepare, run};
TACTIC(2)
TACTIC(4)
TACTIC(6)
