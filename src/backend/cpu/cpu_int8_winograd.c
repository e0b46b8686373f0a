/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolutions of bytes (kernels/int8/int8_winograd.h).
 *
 * A block of tiles is transformed to V [positions][tiles][maps of input],
 * multiplied with U [panels][positions][pairs of maps][16][2], 32 columns at
 * once, to M [positions][tiles][32], and M to sums of these columns, a tile
 * after the other. Columns of a block may be another thread's, which then
 * transforms the inputs too. */
#include <string.h>

#include "aten/tensor.h"
#include "backend/cpu/cpu_int8_convolution.h"
#include "backend/cpu/cpu_int8_relief.h"

#define IN BSM_K_INT8_WINOGRAD_IN
#define OUT BSM_K_INT8_WINOGRAD_OUT
#define POSITIONS BSM_K_INT8_WINOGRAD_POSITIONS
#define TAPS 9
#define COLUMNS BSM_K_INT8_MAX_COLUMNS
#define PIXELS (OUT * OUT)
#define MAX_TILES 24
/* Bytes of V and M of a block: of the second-level cache. */
#define BLOCK_BYTES ((int64_t)384 << 10)

typedef bsm_cpu_int8_convolution convolution;
typedef bsm_cpu_int8_winograd winograd;

/* ---- which fit ---- */

#define PRODUCTS 45.0              /* of a nanosecond */
#define TRANSFORM 3.5              /* nanoseconds, of a map of a tile */
#define CACHED_BYTES 25.0          /* of U, of a nanosecond, from a cache */
#define OTHER_BYTES 8.0            /* and from memory */
#define LARGE ((double)(16 << 20)) /* of U, for a cache */

static bool fits(const convolution *c) {
  const bsm_step_window *w = &c->windows.w;
  if (c->depthwise || c->groups != 1 || w->spatial < 2 || w->kernel[0] != 1 ||
      w->stride[0] != 1 || w->pre_padding[0] || w->post_padding[0] ||
      c->ci < BSM_K_INT8_WINOGRAD_LEAST || c->windows.x.c != c->ci) {
    return false;
  }
  for (int d = 1; d < 3; d++) {
    if (w->kernel[d] != 3 || w->stride[d] != 1 || w->dilation[d] != 1) {
      return false;
    }
  }
  return true;
}

static int64_t tiles_along(const convolution *c, int d) {
  return bsm_cpu_div_up(c->windows.y_size[d], OUT);
}

double bsm_cpu_int8_winograd_time(int64_t in_maps, int64_t out_maps,
                                  int64_t tiles) {
  const double ci = (double)in_maps, co = (double)out_maps;
  const double u = POSITIONS * ci * co * sizeof(int16_t);
  const double times = (double)tiles;
  return POSITIONS * times * ci * co / PRODUCTS +
         TRANSFORM * times * (ci + co) +
         u / (u > LARGE ? OTHER_BYTES : CACHED_BYTES);
}

static bool is_faster(const convolution *c, int64_t tiles, double level) {
  const double products =
      TAPS * (double)c->rows * (double)c->ci * (double)c->co;
  return bsm_cpu_int8_winograd_time(c->ci, c->co, tiles) <
         bsm_cpu_int8_product_time(products, level);
}

/* The weight of map o of output, in packed panels. */
static int8_t weight_at(const convolution *c, int64_t o, int64_t tap,
                        int64_t i) {
  const int64_t k = tap * c->ci + i;
  return c->kernel[o / BSM_PANEL * c->windows.depth * BSM_PANEL +
                   k / BSM_K_INT8_DEPTH * BSM_PANEL * BSM_K_INT8_DEPTH +
                   o % BSM_PANEL * BSM_K_INT8_DEPTH + k % BSM_K_INT8_DEPTH];
}

/* Whether sums of all maps stay in the limit, whatever the input. */
static bool is_small(const convolution *c) {
  for (int64_t o = 0; o < c->co; o++) {
    int64_t more = 0, less = 0;
    for (int64_t k = 0; k < TAPS * c->ci; k++) {
      const int8_t w = weight_at(c, o, k / c->ci, k % c->ci);
      more += w > 0 ? w : 0;
      less -= w < 0 ? w : 0;
    }
    const int64_t most = more > less ? more : less;
    if (most * UINT8_MAX >= BSM_K_INT8_WINOGRAD_LIMIT) return false;
  }
  return true;
}

/* ---- prepare ---- */

/* G' g of three numbers. */
static void transform_line(const int *g, int *to) {
  const int outer = g[0] + g[2], far = g[0] + 4 * g[2];
  to[0] = g[0];
  to[1] = -outer - g[1];
  to[2] = -outer + g[1];
  to[3] = far + 2 * g[1];
  to[4] = far - 2 * g[1];
  to[5] = g[2];
}

static void transform_kernel(const convolution *c, int64_t o, int64_t i,
                             int16_t *u) {
  int columns[3][IN], rows[IN];
  for (int s = 0; s < 3; s++) {
    const int g[3] = {weight_at(c, o, s, i), weight_at(c, o, 3 + s, i),
                      weight_at(c, o, 6 + s, i)};
    transform_line(g, columns[s]);
  }
  for (int r = 0; r < IN; r++) {
    transform_line((int[]){columns[0][r], columns[1][r], columns[2][r]}, rows);
    for (int s = 0; s < IN; s++) {
      u[(r * IN + s) * c->winograd.pairs * 2 * BSM_PANEL] = (int16_t)rows[s];
    }
  }
}

static bsm_status pack(bsm_arena *arena, convolution *c) {
  winograd *w = &c->winograd;
  const int64_t panels = bsm_cpu_round_up(c->co, COLUMNS) / BSM_PANEL;
  const int64_t panel = POSITIONS * w->pairs * 2 * BSM_PANEL;
  const size_t bytes = (size_t)(panels * panel) * sizeof(int16_t);
  int16_t *u = bsm_arena_alloc(arena, bytes, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(u);
  memset(u, 0, bytes);
  for (int64_t o = 0; o < c->co; o++) {
    for (int64_t i = 0; i < c->ci; i++) {
      transform_kernel(c, o, i,
                       u + o / BSM_PANEL * panel + i / 2 * 2 * BSM_PANEL +
                           o % BSM_PANEL * 2 + i % 2);
    }
  }
  w->u = u;
  w->panel = panel;
  return BSM_OK;
}

static void plan_blocks(convolution *c, int threads) {
  winograd *w = &c->winograd;
  const int64_t tile = POSITIONS * (w->v_row * (int64_t)sizeof(int16_t) +
                                    COLUMNS * (int64_t)sizeof(int32_t));
  const int64_t most =
      bsm_cpu_min(MAX_TILES, bsm_cpu_max(8, BLOCK_BYTES / tile));
  const int64_t wanted = 2 * (int64_t)threads;
  w->blocks = bsm_cpu_div_up(w->tiles, most);
  if (threads > 1 && w->blocks < wanted) {
    w->blocks = bsm_cpu_min(wanted, bsm_cpu_div_up(w->tiles, 4));
  }
  w->block = bsm_cpu_div_up(w->tiles, w->blocks);
  w->blocks = bsm_cpu_div_up(w->tiles, w->block);
  w->columns = bsm_cpu_round_up(c->co, COLUMNS);
  while (threads > 1 &&
         w->blocks * bsm_cpu_div_up(c->co, w->columns) < wanted &&
         w->columns > 2 * COLUMNS) {
    w->columns = bsm_cpu_round_up(w->columns / 2, COLUMNS);
  }
}

bsm_status bsm_cpu_int8_plan_winograd(const bsm_cpu_prepare *p, double level,
                                      convolution *c, uint64_t *scratch) {
  winograd *w = &c->winograd;
  const bsm_k_int8_winograd *kernels = c->kernels->winograd;
  if (!kernels || !fits(c)) return BSM_OK;
  w->tiles = tiles_along(c, 1) * tiles_along(c, 2);
  w->tiles *=
      c->rows / bsm_cpu_max(1, c->windows.y_size[1] * c->windows.y_size[2]);
  if (!w->tiles || !is_faster(c, w->tiles, level) || !is_small(c))
    return BSM_OK;
  w->pairs = bsm_cpu_div_up(c->ci, 2);
  w->v_row = 2 * w->pairs + 16;
  BSM_TRY(pack(p->arena, c));
  plan_blocks(c, p->threads);
  w->kernels = kernels;
  *scratch = bsm_cpu_align((uint64_t)(POSITIONS * w->block * w->v_row) *
                           sizeof(int16_t)) +
             bsm_cpu_align((uint64_t)(POSITIONS * w->block * COLUMNS) *
                           sizeof(int32_t)) +
             2 * PIXELS * COLUMNS * sizeof(float);
  return BSM_OK;
}

/* ---- run ---- */

/* A tile's place in the output. */
typedef struct place {
  int64_t image, top, left, rows, pixels;
} place;

static place place_of(const convolution *c, int64_t tile) {
  const int64_t along = tiles_along(c, 2), down = tiles_along(c, 1);
  place p = {.image = tile / along / down,
             .top = tile / along % down * OUT,
             .left = tile % along * OUT};
  p.rows = bsm_cpu_min(OUT, c->windows.y_size[1] - p.top);
  p.pixels = bsm_cpu_min(OUT, c->windows.y_size[2] - p.left);
  return p;
}

static void transform_input(const bsm_cpu_int8_work *work, int64_t tile,
                            int64_t row, int16_t *v) {
  const convolution *c = work->c;
  const bsm_image *x = &c->windows.x;
  const place p = place_of(c, tile);
  const int64_t depth = c->windows.y_size[0];
  const int64_t top = p.top - c->windows.w.pre_padding[1];
  const int64_t left = p.left - c->windows.w.pre_padding[2];
  const uint8_t *image =
      work->x + p.image / depth * x->n_stride + p.image % depth * x->stride[0];
  const uint8_t *pixels[IN * IN];
  for (int64_t i = 0; i < IN; i++) {
    const int64_t r = top + i;
    const bool inside = r >= 0 && r < x->size[1];
    for (int64_t j = 0; j < IN; j++) {
      const int64_t s = left + j;
      pixels[i * IN + j] = inside && s >= 0 && s < x->size[2]
                               ? image + (r * x->stride[1] + s * x->stride[2])
                               : c->windows.padding;
    }
  }
  c->winograd.kernels->input(&(bsm_k_int8_winograd_input){
      .pixels = pixels,
      .channels = c->ci,
      .v = v + row * c->winograd.v_row,
      .v_position = c->winograd.block * c->winograd.v_row});
}

/* Both panels of 32 columns from `column` on. */
static void multiply(const convolution *c, const int16_t *v, int64_t tiles,
                     int64_t column, int32_t *m) {
  const winograd *w = &c->winograd;
  for (int64_t half = 0; half < COLUMNS / BSM_PANEL; half++) {
    const int16_t *u = w->u + (column / BSM_PANEL + half) * w->panel;
    for (int64_t p = 0; p < POSITIONS; p++) {
      w->kernels->product(&(bsm_k_int8_winograd_product){
          .v = v + p * w->block * w->v_row,
          .v_row = w->v_row,
          .tiles = tiles,
          .pairs = w->pairs,
          .u = u + p * w->pairs * 2 * BSM_PANEL,
          .m = m + p * w->block * COLUMNS + half * BSM_PANEL,
          .m_row = COLUMNS});
    }
  }
}

static void finish_tile(const bsm_cpu_int8_work *work, int64_t tile,
                        const int32_t *m, int64_t column, int64_t n,
                        int32_t *sums) {
  const convolution *c = work->c;
  const place p = place_of(c, tile);
  bsm_cpu_int8_results results;
  results.count = 0;
  c->winograd.kernels->output(
      &(bsm_k_int8_winograd_output){.m = m,
                                    .m_position = c->winograd.block * COLUMNS,
                                    .offset = c->offset + column,
                                    .rows = p.rows,
                                    .pixels = p.pixels,
                                    .sums = sums});
  const int64_t first =
      (p.image * c->windows.y_size[1] + p.top) * c->windows.y_size[2] + p.left;
  for (int64_t r = 0; r < p.rows; r++) {
    bsm_cpu_int8_point_to_results(work, first + r * c->windows.y_size[2],
                                  p.pixels, 0, &results);
  }
  bsm_cpu_int8_finish(c, &results, 0, column, n, results.count, sums,
                      (float *)(void *)(sums + PIXELS * COLUMNS));
}

int64_t bsm_cpu_int8_winograd_units(const convolution *c) {
  return c->winograd.blocks * bsm_cpu_div_up(c->co, c->winograd.columns);
}

void bsm_cpu_int8_run_winograd(const bsm_cpu_int8_work *work, int64_t index,
                               uint8_t *scratch) {
  const convolution *c = work->c;
  const winograd *w = &c->winograd;
  const int64_t tile = index % w->blocks * w->block;
  const int64_t tiles = bsm_cpu_min(w->block, w->tiles - tile);
  const int64_t from = index / w->blocks * w->columns;
  const int64_t end = bsm_cpu_min(from + w->columns, c->co);
  int16_t *v = (int16_t *)(void *)scratch;
  scratch += bsm_cpu_align((uint64_t)(POSITIONS * w->block * w->v_row) *
                           sizeof(int16_t));
  int32_t *m = (int32_t *)(void *)scratch;
  scratch += bsm_cpu_align((uint64_t)(POSITIONS * w->block * COLUMNS) *
                           sizeof(int32_t));
  for (int64_t i = 0; i < tiles; i++) transform_input(work, tile + i, i, v);
  for (int64_t j = from; j < end; j += COLUMNS) {
    multiply(c, v, tiles, j, m);
    for (int64_t i = 0; i < tiles; i++) {
      finish_tile(work, tile + i, m + i * COLUMNS, j,
                  bsm_cpu_min(COLUMNS, end - j), (int32_t *)(void *)scratch);
    }
  }
}
