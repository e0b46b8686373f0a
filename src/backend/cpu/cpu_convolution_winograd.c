/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolutions, F(m x m, r x r) for kernels of r = 3 and 5, with
 * tiles of m + r - 1 = 4, 6 or 8 inputs in a row and column; the arithmetic is
 * in kernels/winograd. A dilated convolution is several plain ones, each of the
 * pixels that are `dilation` apart: their tiles lie interleaved.
 *
 * A kernel with T taps in depth too is T of two dimensions, the sum of which is
 * taken before outputs are transformed: C below is then T times the channels.
 *
 * Tiles are taken in blocks. A block's inputs are transformed to
 * V [positions][tiles][C], multiplied for each position with the transformed
 * kernel U [positions][C][K] to M [positions][tiles][K], and transformed to
 * outputs, where bias, residual and activation are added. With several groups
 * the products of a panel take the channels of its own groups. Usually
 * one thread does a block, in memory of its own. When U is large and tiles are
 * few, all threads work on one block after the other: first on its tiles, then
 * on its products, then on its tiles again. No element depends on how the work
 * is cut. */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_winograd.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/winograd/winograd_f32.h"
#include "base/caches.h"

/* The least and the most tiles of a block. With the least ones the products
 * take as long as U takes to come, from the last-level cache or from memory. */
#define MIN_TILES 12
#define MIN_TILES_L3 24
#define MIN_TILES_MEMORY 60
#define MAX_TILES 96
/* Threads with fewer tiles each share U from the last-level cache. */
#define MIN_SHARE 6
/* Slices of a phase for each thread, so that threads can help each other. */
#define SLICES 4

/* One or two panels of K that are of the same input maps. */
typedef struct part {
  int64_t panel, panels;
  int64_t channel, rows; /* of V: the first column, and how many */
  int64_t at;            /* floats of U, in a position */
} part;

typedef struct winograd {
  bsm_cpu_convolution common;
  const bsm_k_winograd *kernels;
  void (*input)(const bsm_k_winograd_input *args);
  void (*output)(const bsm_k_winograd_output *args);
  const float *zeros;    /* of one pixel */
  int64_t m, n;          /* sizes of a tile of output and of input */
  int64_t c, k;          /* channels of input and output */
  int64_t taps, columns; /* in depth; of V: taps times channels */
  int64_t apart[2];      /* pixels of a tile: the dilation */
  int64_t images[2];     /* interleaved: in each direction */
  int64_t tiles[2];      /* of one of them */
  int64_t tile_count;    /* of all */
  part *parts;           /* of K */
  int64_t part_count;
  int64_t products;       /* of a block: positions times parts */
  int64_t position, size; /* floats of U: of one, and of all */
  int64_t block, blocks;  /* tiles of a block, and how many there are */
  int64_t slices;         /* of a phase, when blocks are shared; else 0 */
  int64_t v_row, v_position, m_row, m_position; /* floats */
} winograd;

/* Interleaved images along one side, and tiles of one of them: no more than
 * there are outputs. */
static int64_t images_of(int64_t size, int64_t apart) {
  return bsm_cpu_min(apart, size);
}

static int64_t tiles_of(int64_t size, int64_t apart, int64_t m) {
  return bsm_cpu_div_up(bsm_cpu_div_up(size, apart), m);
}

/* ---- which fit ---- */

/* Times, measured in products: of an element's part of a transform, and of an
 * element of the weights, which come from memory. */
#define TRANSFORM_COST 14
#define WEIGHT_COST 8

/* The plain product of groups that share a panel: its tiles load as much as
 * they multiply. */
#define NARROW_COST 1.7

/* Products of an output pixel and a tap, of which the plain product has
 * `whole` with one group. With several it fills their panels with zeros. */
static double plain_products(const bsm_cpu_convolution_site *s, double whole) {
  const bsm_step_convolution *p = s->params;
  if (p->groups == 1) return whole;
  const int64_t merged = bsm_cpu_merged_groups(p);
  const int64_t maps =
      bsm_cpu_round_up(merged * (p->out_maps / p->groups), BSM_K_PANEL);
  return (double)(maps * s->x.c) * (maps == BSM_K_PANEL ? NARROW_COST : 1);
}

static double cost(const bsm_cpu_convolution_site *s, int32_t form) {
  if (!bsm_cpu_winograd_fits(s->params, s->x.c, form)) return -1;
  const bsm_step_window *w = &s->params->window;
  const double c = (double)(w->kernel[0] * s->x.c), k = (double)s->y.c;
  const double images = (double)(s->y.n * s->y.size[0]);
  const int64_t n = bsm_cpu_winograd_tile(form), m = n - w->kernel[1] + 1;
  double tiles = images;
  for (int d = 1; d < 3; d++) {
    tiles *= (double)images_of(s->y.size[d], w->dilation[d]) *
             (double)tiles_of(s->y.size[d], w->dilation[d], m);
  }
  const double outputs = images * (double)(s->y.size[1] * s->y.size[2]);
  const double padded = (double)bsm_cpu_winograd_position(s->params, s->x.c);
  const double plain = (double)(w->kernel[1] * w->kernel[2]) *
                       plain_products(s, c * k) * (outputs + WEIGHT_COST);
  const double took = (double)(n * n) * (padded * (tiles + WEIGHT_COST) +
                                         TRANSFORM_COST * tiles * (c + k));
  /* When they are about equal, the more exact form comes first; more so where
   * most of the time is that of transforms. */
  const double more = s->params->groups > 1 ? 0.06 : 0.02;
  return BSM_CPU_PLAIN_COST * (1 + more * (double)form) * took / plain;
}

/* ---- prepare ---- */

/* An odd number of cache lines: rows that far apart spread over the sets of a
 * cache. */
static int64_t spread(int64_t floats) {
  const int64_t lines = bsm_cpu_div_up(floats, BSM_K_WINOGRAD_PAD);
  return (lines + (lines % 2 == 0)) * BSM_K_WINOGRAD_PAD;
}

/* Where U comes from when a block needs it again. */
typedef enum origin { FROM_L2, FROM_L3, FROM_MEMORY } origin;

static origin origin_of_u(const winograd *w) {
  const bsm_caches caches = bsm_detect_caches();
  const uint64_t u = (uint64_t)w->size * (uint64_t)sizeof(float);
  return u > caches.l3 / 2 ? FROM_MEMORY : u > caches.l2 ? FROM_L3 : FROM_L2;
}

/* V and M of a block take half of the second-level cache, if that gives tiles
 * enough to make use of U. */
static int64_t best_block(const winograd *w) {
  static const int64_t least[] = {MIN_TILES, MIN_TILES_L3, MIN_TILES_MEMORY};
  const int64_t tile =
      w->n * w->n * (w->v_row + w->m_row) * (int64_t)sizeof(float);
  const int64_t fit = (int64_t)(bsm_detect_caches().l2 / 2) / tile;
  return bsm_cpu_min(bsm_cpu_max(least[origin_of_u(w)], fit), MAX_TILES);
}

static void plan_blocks(winograd *w, int threads) {
  static const int64_t least_share[] = {0, MIN_SHARE, MIN_TILES_L3};
  const int64_t tiles = bsm_cpu_max(w->tile_count, 1);
  const int64_t share = bsm_cpu_div_up(tiles, threads);
  int64_t block = best_block(w);
  w->slices = 0;
  if (threads > 1 && (tiles < threads || share < least_share[origin_of_u(w)])) {
    w->slices = SLICES * (int64_t)threads;
    block = bsm_cpu_min(block * threads, MAX_TILES);
  }
  w->blocks = bsm_cpu_div_up(tiles, block);
  if (w->slices == 0 && w->blocks < 16 * (int64_t)threads) {
    w->blocks = bsm_cpu_min(bsm_cpu_round_up(w->blocks, threads), tiles);
  }
  w->block = bsm_cpu_div_up(tiles, w->blocks);
  w->blocks = bsm_cpu_div_up(w->tile_count, w->block);
  w->v_position = spread(w->block * w->v_row);
  w->m_position = spread(w->block * w->m_row);
}

static bsm_status find_parts(const bsm_cpu_prepare *p,
                             const bsm_step_convolution *params, winograd *w) {
  const int64_t panels = bsm_cpu_div_up(w->k, BSM_K_PANEL);
  w->parts = BSM_NEW_ARRAY(p->arena, part, (size_t)panels);
  BSM_TRY_ALLOC(w->parts);
  part *last = NULL;
  for (int64_t i = 0; i < panels; i++) {
    const bsm_cpu_winograd_maps maps =
        bsm_cpu_winograd_maps_of(params, w->c, i);
    const int64_t rows = maps.count * w->taps;
    if (last && last->panels < w->kernels->panels &&
        last->channel == maps.first && last->rows == rows) {
      last->panels++;
    } else {
      last = &w->parts[w->part_count++];
      *last = (part){i, 1, maps.first, rows, w->position};
    }
    w->position += rows * BSM_K_PANEL;
  }
  w->products = w->n * w->n * w->part_count;
  w->size = w->n * w->n * w->position;
  return BSM_OK;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  winograd *w = BSM_NEW(p->arena, winograd);
  BSM_TRY_ALLOC(w);
  bsm_cpu_convolution_init(p, &w->common);
  w->kernels = bsm_k_winograd_select(p->isa);
  w->n = bsm_cpu_winograd_tile(params->form);
  w->m = w->n - params->window.kernel[1] + 1;
  w->input = w->kernels->input[w->n / 2 - 2];
  w->output = w->kernels->output[params->window.kernel[1] == 5][w->n / 2 - 2];
  w->c = w->common.x.c;
  w->k = w->common.y.c;
  w->taps = params->window.kernel[0];
  w->columns = w->taps * w->c;
  BSM_TRY(find_parts(p, params, w));
  w->tile_count = w->common.y.n * w->common.y.size[0];
  for (int d = 0; d < 2; d++) {
    w->apart[d] = params->window.dilation[d + 1];
    w->tiles[d] = tiles_of(w->common.y.size[d + 1], w->apart[d], w->m);
    w->images[d] = images_of(w->common.y.size[d + 1], w->apart[d]);
    w->tile_count *= w->tiles[d] * w->images[d];
  }
  w->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)w->c);
  BSM_TRY_ALLOC(w->zeros);
  /* Each tap's channels are written in whole groups. */
  w->v_row =
      spread(w->columns - w->c + bsm_cpu_round_up(w->c, BSM_K_WINOGRAD_PAD));
  w->m_row = spread(w->k);
  plan_blocks(w, p->threads);
  w->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", w->common.tactic->name, w->kernels->name);
  BSM_TRY_ALLOC(w->common.base.description);
  out->impl = w;
  const uint64_t bytes =
      (uint64_t)(w->n * w->n * (w->v_position + w->m_position)) * sizeof(float);
  return bsm_cpu_set_scratch(out, w->slices ? bytes : 0, w->slices ? 0 : bytes,
                             w->common.base.slots);
}

/* ---- run ---- */

typedef bsm_cpu_convolution_work work;

/* A block of tiles at work. */
typedef struct block {
  const work *work;
  int64_t tile, count;
  float *v, *m;
} block;

static block block_of(const work *of, int64_t index, void *scratch) {
  const winograd *w = of->impl;
  block b = {.work = of, .tile = index * w->block, .v = scratch};
  b.count = bsm_cpu_min(w->block, w->tile_count - b.tile);
  b.m = b.v + w->n * w->n * w->v_position;
  return b;
}

/* Where a tile is: its sample, its depth, its image among those that dilation
 * interleaves, and its place in that image. The innermost counter is the last
 * one. */
typedef struct tile_place {
  int64_t sample, depth, image[2], tile[2];
} tile_place;

static tile_place place_of(const winograd *w, int64_t tile) {
  tile_place p;
  for (int d = 1; d >= 0; d--) {
    p.tile[d] = tile % w->tiles[d];
    tile /= w->tiles[d];
  }
  for (int d = 1; d >= 0; d--) {
    p.image[d] = tile % w->images[d];
    tile /= w->images[d];
  }
  p.depth = tile % w->common.y.size[0];
  p.sample = tile / w->common.y.size[0];
  return p;
}

/* The tile after `p`, without a division. */
static void next_place(const winograd *w, tile_place *p) {
  for (int d = 1; d >= 0; d--) {
    if (++p->tile[d] < w->tiles[d]) return;
    p->tile[d] = 0;
  }
  for (int d = 1; d >= 0; d--) {
    if (++p->image[d] < w->images[d]) return;
    p->image[d] = 0;
  }
  if (++p->depth < w->common.y.size[0]) return;
  p->depth = 0;
  p->sample++;
}

/* Along dimension d, the first output of a tile. */
static int64_t output_at(const winograd *w, const tile_place *p, int d) {
  return p->tile[d] * w->m * w->apart[d] + p->image[d];
}

typedef struct tile_pixels {
  const float *at[BSM_K_WINOGRAD_MAX * BSM_K_WINOGRAD_MAX];
} tile_pixels;

/* The input pixels of a tile, for a tap in depth. */
static void find_pixels(const work *of, const tile_place *p, int64_t tap,
                        tile_pixels *out) {
  const winograd *w = of->impl;
  const bsm_image *x = &w->common.x;
  const int64_t depth = p->depth * w->common.w.stride[0] -
                        w->common.w.pre_padding[0] +
                        tap * w->common.w.dilation[0];
  if (depth < 0 || depth >= x->size[0]) {
    for (int64_t i = 0; i < w->n * w->n; i++) out->at[i] = w->zeros;
    return;
  }
  const int64_t n = w->n, last = n - 1;
  const int64_t top = output_at(w, p, 0) - w->common.w.pre_padding[1];
  const int64_t left = output_at(w, p, 1) - w->common.w.pre_padding[2];
  const int64_t row = w->apart[0] * x->stride[1];
  const int64_t pixel = w->apart[1] * x->stride[2];
  const float *sample = of->x + p->sample * x->n_stride + depth * x->stride[0];
  if (top >= 0 && top + last * w->apart[0] < x->size[1] && left >= 0 &&
      left + last * w->apart[1] < x->size[2]) {
    const float *first = sample + top * x->stride[1] + left * x->stride[2];
    for (int64_t r = 0; r < n; r++) {
      for (int64_t s = 0; s < n; s++) {
        out->at[r * n + s] = first + r * row + s * pixel;
      }
    }
    return;
  }
  for (int64_t r = 0; r < n; r++) {
    const int64_t i = top + r * w->apart[0];
    const bool inside = i >= 0 && i < x->size[1];
    for (int64_t s = 0; s < n; s++) {
      const int64_t j = left + s * w->apart[1];
      out->at[r * n + s] = inside && j >= 0 && j < x->size[2]
                               ? sample + i * x->stride[1] + j * x->stride[2]
                               : w->zeros;
    }
  }
}

/* Transforms the inputs of tiles [i, end) of a block, tap by tap: what one
 * writes behind its channels the next one overwrites. */
static void transform_inputs(const block *b, int64_t i, int64_t end) {
  const winograd *w = b->work->impl;
  tile_place place = place_of(w, b->tile + i);
  tile_pixels pixels[2];
  find_pixels(b->work, &place, 0, &pixels[0]);
  pixels[1] = pixels[0];
  for (int64_t tap = 0, now = 0; i < end; now = !now) {
    const int64_t tile = i, at = tap;
    if (++tap == w->taps) {
      tap = 0;
      if (++i < end) next_place(w, &place);
    }
    if (i < end) find_pixels(b->work, &place, tap, &pixels[!now]);
    const bsm_k_winograd_input t = {pixels[now].at, pixels[!now].at, w->c,
                                    b->v + tile * w->v_row + at * w->c,
                                    w->v_position};
    w->input(&t);
  }
}

/* Products [i, end) of a block: a position and a part of K each. */
static void multiply(const block *b, int64_t i, int64_t end) {
  const winograd *w = b->work->impl;
  const float *u = w->common.kernel;
  for (; i < end; i++) {
    const int64_t p = i / w->part_count;
    const part *of = &w->parts[i % w->part_count];
    const int64_t at = p * w->position + of->at;
    const int64_t count = of->panels * of->rows * BSM_K_PANEL;
    const bsm_k_winograd_product t = {
        .v = b->v + p * w->v_position + of->channel,
        .v_row = w->v_row,
        .tiles = b->count,
        .channels = of->rows,
        .u = u + at,
        .m = b->m + p * w->m_position + of->panel * BSM_K_PANEL,
        .m_row = w->m_row,
        .next = w->size - at >= 2 * count ? u + at + count : u};
    w->kernels->product[of->panels - 1](&t);
  }
}

/* The outputs of a tile along dimension d that exist. */
static int64_t outputs_of(const winograd *w, int64_t at, int d) {
  const int64_t rest = w->common.y.size[d + 1] - at;
  if (rest >= w->m * w->apart[d]) return w->m;
  return rest > 0 ? bsm_cpu_div_up(rest, w->apart[d]) : 0;
}

/* Transforms the products of tile `i` of a block, which is at `p`, to outputs.
 */
static void transform_output(const block *b, int64_t i, const tile_place *p) {
  const winograd *w = b->work->impl;
  const bsm_image *y = &w->common.y, *r = &w->common.residual;
  const int64_t top = output_at(w, p, 0), left = output_at(w, p, 1);
  const int64_t rows = outputs_of(w, top, 0), pixels = outputs_of(w, left, 1);
  if (rows == 0 || pixels == 0) return; /* of a smaller interleaved image */
  bsm_k_winograd_output t = {.m = b->m + i * w->m_row,
                             .m_position = w->m_position,
                             .channels = w->k,
                             .y = b->work->y + p->sample * y->n_stride +
                                  p->depth * y->stride[0] + top * y->stride[1] +
                                  left * y->stride[2],
                             .y_row = y->stride[1] * w->apart[0],
                             .y_pixel = y->stride[2] * w->apart[1],
                             .rows = rows,
                             .pixels = pixels,
                             .bias = w->common.bias,
                             .lo = w->common.epilogue.lo,
                             .hi = w->common.epilogue.hi};
  if (b->work->residual) {
    t.residual = b->work->residual + p->sample * r->n_stride +
                 p->depth * r->stride[0] + top * r->stride[1] +
                 left * r->stride[2];
    t.residual_row = r->stride[1] * w->apart[0];
    t.residual_pixel = r->stride[2] * w->apart[1];
  }
  w->output(&t);
  for (int64_t row = 0; row < t.rows; row++) {
    bsm_cpu_activate_pixels(&w->common.epilogue, t.y + row * t.y_row, t.y_pixel,
                            t.pixels, t.channels);
  }
}

static void transform_outputs(const block *b, int64_t i, int64_t end) {
  tile_place place = place_of(b->work->impl, b->tile + i);
  for (; i < end; i++, next_place(b->work->impl, &place)) {
    transform_output(b, i, &place);
  }
}

/* A block of one thread. */
static void block_unit(void *arg, int64_t unit, int slot) {
  const work *k = arg;
  const winograd *w = k->impl;
  const block b = block_of(k, unit, k->scratch + (size_t)slot * k->slot_size);
  transform_inputs(&b, 0, b.count);
  multiply(&b, 0, w->products);
  transform_outputs(&b, 0, b.count);
}

/* A slice of one of the three phases of a shared block. */
static void slice_unit(void *arg, int64_t unit, int slot) {
  const work *k = arg;
  const winograd *w = k->impl;
  const int64_t phase = unit / w->slices, slice = unit % w->slices;
  const block b = block_of(k, phase / 3, k->scratch);
  const int64_t items = phase % 3 == 1 ? w->products : b.count;
  const int64_t from = slice * items / w->slices;
  const int64_t to = (slice + 1) * items / w->slices;
  (void)slot;
  if (from == to) return;
  if (phase % 3 == 0) {
    transform_inputs(&b, from, to);
  } else if (phase % 3 == 1) {
    multiply(&b, from, to);
  } else {
    transform_outputs(&b, from, to);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const winograd *w = prepared->impl;
  if (w->slices) {
    work k = bsm_cpu_convolution_work_of(prepared, r);
    bsm_parallel_phases(bsm_cpu_pool(r), w->common.base.slots, 3 * w->blocks,
                        w->slices, slice_unit, &k);
  } else {
    bsm_cpu_convolution_run(prepared, r, w->blocks, block_unit);
  }
  return BSM_OK;
}

#define TACTIC(m)                                                       \
  static double cost_##m(const bsm_cpu_convolution_site *site) {        \
    return cost(site, BSM_CPU_FORM_WINOGRAD_##m);                       \
  }                                                                     \
  const bsm_cpu_convolution_tactic bsm_cpu_convolution_winograd_##m = { \
      "winograd_" #m, BSM_CPU_FORM_WINOGRAD_##m, cost_##m, prepare, run};
TACTIC(2)
TACTIC(4)
TACTIC(6)
