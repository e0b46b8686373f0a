/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of products by wgmma, what they cost, and their launches. */
#include "backend/cuda/steps/cuda_wgmma.h"

#include <math.h>
#include <string.h>

#define MULTIPROCESSORS 132 /* of the GPUs of sm_90 */
#define MAX_SPLITS 32
#define MAX_STAGES 10
/* What a stage's place is aligned to. */
#define ALIGNMENT 1024
/* Bytes of shared memory: of an SM, of which each block takes some; the most of
 * a block; and its barriers. */
#define SM_SHARED (228 << 10)
#define BLOCK_SHARED 1024
#define MOST_SHARED (227 << 10)
#define STATIC_SHARED 512

typedef struct tile {
  const char *tactic;
  int m, n, k, groups_m, groups_n;
  bool turns;   /* two warpgroups, each with tiles of its own */
  int resident; /* blocks that an SM has registers for */
} tile;

static const tile tiles[] = {
    {"wgmma 128x256x64", 128, 256, 64, 2, 1, false, 1},
    {"wgmma 256x128x64", 256, 128, 64, 2, 1, false, 1},
    {"wgmma 128x192x64", 128, 192, 64, 2, 1, false, 1},
    {"wgmma 128x128x64", 128, 128, 64, 2, 1, false, 1},
    {"wgmma 128x128x64 turns", 128, 128, 64, 1, 1, true, 1},
    {"wgmma 64x256x64 turns", 64, 256, 64, 1, 1, true, 1},
    {"wgmma 128x64x64", 128, 64, 64, 2, 1, false, 2},
    {"wgmma 64x128x64", 64, 128, 64, 1, 1, false, 2},
    {"wgmma 64x64x64", 64, 64, 64, 1, 1, false, 2},
    {"wgmma 64x32x64", 64, 32, 64, 1, 1, false, 2},
    {"wgmma 128x64x32", 128, 64, 32, 2, 1, false, 2},
    {"wgmma 128x32x32", 128, 32, 32, 2, 1, false, 2},
    {"wgmma 256x64x64", 256, 64, 64, 2, 1, false, 1},
    {"wgmma 192x192x64", 192, 192, 64, 3, 1, false, 1},
};
#define TILES (sizeof(tiles) / sizeof(tiles[0]))
_Static_assert(TILES <= BSM_CUDA_MAX_WGMMA, "all of them");

static int64_t parts(int64_t size, int64_t part) {
  return size / part + (size % part != 0);
}

static int stage_bytes(const tile *t) {
  return (t->m + t->n) * t->k * 2;
}

static int groups_of(const tile *t) {
  return t->turns ? 2 : t->groups_m * t->groups_n;
}

/* ---- products of float ---- */

/* Of weights that are rounded to tf32: a problem whose elements along k are
 * halves of floats, as copies and tiles count them. Others stay as they are. */
static const bsm_cuda_mma_problem *in_halves(
    const bsm_cuda_mma_problem *problem, bsm_cuda_mma_problem *halves) {
  bsm_cuda_mma *p = &halves->params;
  if (!problem->rounded || problem->params.k > INT32_MAX / 2) return problem;
  *halves = *problem;
  for (int d = 0; d < 3 && problem->image; d++) {
    if (p->in_stride[d] > INT32_MAX / 2) return problem;
    p->in_stride[d] *= 2;
  }
  for (int i = 0; i < p->loops; i++) {
    p->a_batch[i] *= 2;
    p->b_batch[i] *= 2;
  }
  p->k *= 2;
  p->maps *= 2;
  p->a_row *= 2;
  p->b_column *= 2;
  p->image_stride *= 2;
  halves->dtype = BSM_DTYPE_HALF;
  halves->vector = false;
  return halves;
}

/* Sums of a thread that leave it registers for rows of A. */
#define MOST_ROUNDED_SUMS 96

static bool has_registers(const bsm_cuda_mma_problem *problem, const tile *t) {
  const int groups = t->groups_m * t->groups_n;
  return !problem->rounded ||
         (groups <= 2 && t->m * t->n / (128 * groups) <= MOST_ROUNDED_SUMS);
}

/* ---- what can be copied in tiles ---- */

/* The windows' places have few bits in the instruction and in the map. */
static bool takes_windows(const bsm_cuda_mma_problem *problem) {
  const bsm_cuda_mma *p = &problem->params;
  const int most = problem->image == 3 ? 16 : 128;
  for (int d = 0; d < 3; d++) {
    const int64_t upper =
        (int64_t)(p->out[d] - 1) * p->stride[d] - p->pre[d] - (p->in[d] - 1);
    if (p->pre[d] > most || upper < -most || upper >= most ||
        p->stride[d] > 8 ||
        (int64_t)(p->kernel[d] - 1) * p->dilation[d] >= 2 * most ||
        !bsm_cuda_is_tile_stride(p->in[d], p->in_stride[d])) {
      return false;
    }
  }
  return p->in[0] >= 1 && p->in[1] >= 1 && p->in[2] >= 1 &&
         bsm_cuda_is_tile_stride(2, p->image_stride);
}

/* Whether y is floats, whose rows warps store one by one: they may begin
 * anywhere. */
static bool stores_rows(const bsm_cuda_mma_problem *problem) {
  return problem->floats && !problem->bytes && !problem->rounded &&
         !problem->residual && !problem->lines;
}

static bool takes(const bsm_cuda_mma_problem *problem, int sm) {
  const bsm_cuda_mma *p = &problem->params;
  if (sm < 90 || sm >= 100 || problem->transposed ||
      (problem->floats && !stores_rows(problem)) ||
      (problem->image && (problem->images_apart || problem->pads)) ||
      (problem->dtype != BSM_DTYPE_HALF &&
       problem->dtype != BSM_DTYPE_BFLOAT16) ||
      problem->a != BSM_CUDA_MMA_ALONG_K ||
      problem->b == BSM_CUDA_MMA_ELEMENTS ||
      (problem->rounded && problem->b != BSM_CUDA_MMA_ALONG_K) ||
      p->loops > BSM_CUDA_TILE_LOOPS) {
    return false;
  }
  for (int i = 0; i < p->loops; i++) {
    /* A stride of zero: the same matrix in all of them. */
    if ((p->a_batch[i] &&
         !bsm_cuda_is_tile_stride(p->batch_sizes[i], p->a_batch[i])) ||
        (p->b_batch[i] &&
         !bsm_cuda_is_tile_stride(p->batch_sizes[i], p->b_batch[i]))) {
      return false;
    }
  }
  const bool b_fits = problem->b == BSM_CUDA_MMA_ALONG_N
                          ? bsm_cuda_is_tile_stride(p->k, p->b_row)
                          : bsm_cuda_is_tile_stride(p->n, p->b_column);
  if (problem->image) return b_fits && takes_windows(problem);
  return b_fits && bsm_cuda_is_tile_stride(p->m, p->a_row);
}

/* Whether y is stored in tiles. */
static bool stores_tiles(const bsm_cuda_mma_problem *problem) {
  const bsm_cuda_mma *p = &problem->params;
  bool fits = problem->vector && !problem->floats &&
              problem->lines != BSM_CUDA_LOOPS_OF_ROWS &&
              bsm_cuda_is_tile_stride(p->m, p->y_row);
  for (int i = 0; i < p->loops; i++) {
    fits = fits && bsm_cuda_is_tile_stride(p->batch_sizes[i], p->y_batch[i]);
  }
  /* A warp stores 16 rows of one line. */
  return fits &&
         (!problem->lines ||
          (p->out[2] % 16 == 0 && bsm_cuda_is_tile_stride(p->m, p->y_line)));
}

/* Maps of another group would be copied where a tile ends beyond one's own;
 * rows of k are copied 64 columns at a time. */
static bool takes_in(const bsm_cuda_mma_problem *problem, const tile *t) {
  if (!has_registers(problem, t)) return false;
  if (problem->b == BSM_CUDA_MMA_ALONG_N && t->n / t->groups_n % 64) {
    return false;
  }
  return !problem->image || problem->batches == 1 ||
         problem->params.maps % t->k == 0;
}

static int64_t steps_of(const bsm_cuda_mma_problem *problem, const tile *t) {
  const bsm_cuda_mma *p = &problem->params;
  return problem->image ? (int64_t)(p->k / p->maps) * parts(p->maps, t->k)
                        : parts(p->k, t->k);
}

static int64_t tiles_of(const bsm_cuda_mma_problem *problem, const tile *t) {
  return parts(problem->params.m, t->m) * parts(problem->params.n, t->n) *
         problem->batches;
}

/* Bytes through which warps store their rows: of floats as wgmma_rows.cuh has
 * them. */
static int store_bytes(const bsm_cuda_mma_problem *p, const tile *t) {
  if (stores_rows(p)) return groups_of(t) * 4 * 16 * 40 * (int)sizeof(float);
  const int columns = t->n / t->groups_n < 64 ? 32 : 64;
  return stores_tiles(p)
             ? groups_of(t) * 4 * (p->residual ? 3 : 2) * 16 * columns * 2
             : 0;
}

/* Blocks that an SM is to hold, where there are so many. */
static int resident_of(const tile *t, int64_t blocks) {
  return blocks > MULTIPROCESSORS ? t->resident : 1;
}

/* As many as there is room for beside the other blocks of an SM. */
static int stages_of(const bsm_cuda_mma_problem *p, const tile *t,
                     int64_t blocks) {
  const int resident = resident_of(t, blocks);
  const int most =
      resident == 1 ? MOST_SHARED : SM_SHARED / resident - BLOCK_SHARED;
  const int room = most - ALIGNMENT - STATIC_SHARED - store_bytes(p, t);
  const int stages = room / stage_bytes(t);
  return stages < MAX_STAGES ? stages : MAX_STAGES;
}

/* ---- what a tile costs ---- */

/* The constants are those with which the choices for 86 problems of networks,
 * each timed on an H200 in all tiles and ways to share, are best: 2.3 % longer
 * in the mean than the fastest (bench/bench_gpu_products.c). All times are in
 * microseconds. */

/* A launch in a graph, and what comes before the first product. */
#define LAUNCH 1.6
/* What an SM reads and multiplies in a microsecond. */
#define BYTES_READ 92e3
#define PRODUCTS 4.05e6
/* A tile of k from request to use, which the stages hide; and what each takes
 * at least. */
#define LATENCY 0.42
#define STEP 0.163
/* The end of a tile; and the elements that are stored in a microsecond. */
#define TILE 0.48
#define WRITTEN 13.9e3
/* The same where numbers are stored one by one. */
#define WRITTEN_SINGLY 2.2e3
/* Where more is written than is cached, as an H100 took for convolutions of 1
 * by 1 pixels: the end of each of an SM's tiles, however many blocks it has;
 * and the elements that an SM stores in a microsecond. */
#define TILE_OF_SM 0.45
#define WRITTEN_BY_SM 9.3e3
/* Waiting for the other parts of a tile; and the sums that are written, and
 * those that are added, in a microsecond. */
#define JOIN 0.88
#define ADDED 7.1e3

static double larger(double a, double b) {
  return a > b ? a : b;
}

/* Of one tile of k, when nothing has to be waited for. */
static double busy_of(const tile *t) {
  /* An instruction reads its 64 rows of A, too. */
  const double columns = (double)t->n / t->groups_n;
  const double reading = larger(1, (16 + columns / 4) / (columns / 2));
  return larger((double)t->m * t->n * t->k / PRODUCTS * reading,
                stage_bytes(t) / BYTES_READ);
}

/* Storing a tile. */
static double store_cost(const bsm_cuda_mma_problem *p, const tile *t) {
  const bool singly = !p->vector && !p->floats && !p->rounded;
  const double columns = p->params.n < t->n ? (double)p->params.n : t->n;
  const double size = (double)t->m * t->n * (p->floats ? 2 : 1);
  return larger(size / WRITTEN, singly ? t->m * columns / WRITTEN_SINGLY : 0);
}

static double least_of_sm(const bsm_cuda_mma_problem *p, const tile *t) {
  return bsm_cuda_mma_is_cached(p)
             ? 0
             : (double)tiles_of(p, t) / MULTIPROCESSORS *
                   (TILE_OF_SM + (double)t->m * t->n / WRITTEN_BY_SM);
}

static double cost_of(const bsm_cuda_mma_problem *p, const tile *t,
                      int64_t blocks, int64_t shared_tiles) {
  const int64_t steps = steps_of(p, t), whole = tiles_of(p, t) - shared_tiles;
  const int64_t sms = blocks < MULTIPROCESSORS ? blocks : MULTIPROCESSORS;
  const int64_t on_sm = parts(blocks, MULTIPROCESSORS);
  const int64_t shared_steps = parts(shared_tiles * steps, blocks);
  const int64_t tiles_of_block = parts(whole, blocks) + (shared_tiles > 0);
  const int64_t steps_of_block = shared_steps + parts(whole, blocks) * steps;
  const int64_t steps_of_sm = shared_steps * on_sm + parts(whole, sms) * steps;
  const double a_step = larger(STEP, LATENCY / stages_of(p, t, blocks));
  const double size = (double)t->m * t->n * (p->floats ? 2 : 1);
  double cost = larger((double)steps_of_sm * busy_of(t),
                       (double)steps_of_block * a_step) +
                (double)tiles_of_block * (TILE + store_cost(p, t));
  cost = LAUNCH + larger(cost, least_of_sm(p, t));
  if (shared_tiles) {
    const double of_tile = (double)blocks / (double)shared_tiles + 2;
    cost += JOIN + size / ADDED * of_tile * (double)on_sm;
  }
  return cost;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

typedef struct ways {
  const bsm_cuda_mma_problem *problem;
  const tile *tile;
  bsm_cuda_wgmma_choice items[BSM_CUDA_MAX_WGMMA_WAYS];
  size_t count;
} ways;

static void add_way(ways *w, int64_t blocks, int64_t shared_tiles) {
  const int64_t steps = steps_of(w->problem, w->tile);
  if (blocks < 1 || w->count == BSM_CUDA_MAX_WGMMA_WAYS ||
      shared_tiles > BSM_CUDA_COUNTERS || shared_tiles * steps > INT32_MAX ||
      (shared_tiles && blocks > shared_tiles * steps)) {
    return;
  }
  w->items[w->count++] = (bsm_cuda_wgmma_choice){
      .tactic = w->tile->tactic,
      .tile = (int)(w->tile - tiles),
      .blocks = (int32_t)blocks,
      .shared_tiles = (int32_t)shared_tiles,
      .cost = cost_of(w->problem, w->tile, blocks, shared_tiles)};
}

static void add_ways(ways *w) {
  const int64_t room = (int64_t)MULTIPROCESSORS * w->tile->resident;
  const int64_t count = tiles_of(w->problem, w->tile);
  const int64_t steps = steps_of(w->problem, w->tile);
  add_way(w, smaller(count, room), 0);
  /* Each tile by as many blocks, or all of them by all blocks. */
  for (int64_t splits = 2; splits <= MAX_SPLITS && splits <= steps; splits++) {
    if (count * splits > room) break;
    add_way(w, count * splits, count);
  }
  if (count < room) {
    add_way(w, smaller(room, count * steps), count);
    add_way(w, smaller(MULTIPROCESSORS, count * steps), count);
  }
  /* What is left when all blocks have had the same number of tiles. */
  if (count > room && count % room) {
    add_way(w, room, count % room);
    add_way(w, room, count % room + room);
  }
}

size_t bsm_cuda_wgmma_ways(const bsm_cuda_mma_problem *problem, int sm,
                           int tile_index,
                           bsm_cuda_wgmma_choice out[BSM_CUDA_MAX_WGMMA_WAYS]) {
  bsm_cuda_mma_problem halves;
  problem = in_halves(problem, &halves);
  ways w = {.problem = problem};
  if (tile_index >= (int)TILES || !takes(problem, sm)) return 0;
  w.tile = &tiles[tile_index];
  if (!takes_in(problem, w.tile) || tiles_of(problem, w.tile) > INT32_MAX) {
    return 0;
  }
  add_ways(&w);
  memcpy(out, w.items, w.count * sizeof(*out));
  return w.count;
}

size_t bsm_cuda_wgmma_choices(const bsm_cuda_mma_problem *problem, int sm,
                              bsm_cuda_wgmma_choice out[BSM_CUDA_MAX_WGMMA]) {
  bsm_cuda_wgmma_choice all[BSM_CUDA_MAX_WGMMA_WAYS];
  size_t count = 0;
  for (int i = 0; i < (int)TILES; i++) {
    const size_t found = bsm_cuda_wgmma_ways(problem, sm, i, all);
    if (!found) continue;
    bsm_cuda_wgmma_choice best = all[0];
    for (size_t k = 1; k < found; k++) {
      if (all[k].cost < best.cost) best = all[k];
    }
    size_t at = count++;
    for (; at > 0 && out[at - 1].cost > best.cost; at--) out[at] = out[at - 1];
    out[at] = best;
  }
  return count;
}

/* ---- tensors of tiles ---- */

static bool moves(const bsm_cuda_mma *p, int loop, int64_t stride) {
  return p->batch_sizes[loop] > 1 && stride != 0;
}

/* A matrix of each batch, of rows that are `stride` elements apart. */
static bsm_cuda_tiles matrix(const bsm_cuda_mma *p, int64_t row, int64_t rows,
                             int64_t stride, const int64_t *batch_strides,
                             int32_t *loops_moved) {
  bsm_cuda_tiles t = {.rank = p->loops > 1 ? 5 : 3,
                      .dims = {(uint64_t)row, (uint64_t)rows, 1, 1, 1},
                      .strides = {16, 16, 16, 16},
                      .box = {1, 1, 1, 1, 1},
                      .step = {1, 1, 1, 1, 1}};
  if (rows > 1) t.strides[0] = (uint64_t)stride * 2;
  for (int i = 0; i < p->loops; i++) {
    loops_moved[i] = moves(p, i, batch_strides[i]);
    if (!loops_moved[i]) continue;
    t.dims[2 + i] = (uint64_t)p->batch_sizes[i];
    t.strides[1 + i] = (uint64_t)batch_strides[i] * 2;
  }
  return t;
}

static bsm_cuda_tiles images(const bsm_cuda_mma_problem *problem) {
  const bsm_cuda_mma *p = &problem->params;
  const int spatial = problem->image;
  bsm_cuda_tiles t = {.rank = (uint32_t)spatial + 2,
                      .is_image = true,
                      .dims = {(uint64_t)(p->maps * problem->batches)},
                      .step = {1, 1, 1, 1, 1}};
  int64_t count = p->m;
  for (int i = 0; i < spatial; i++) {
    const int d = 2 - i;
    t.dims[1 + i] = (uint64_t)p->in[d];
    t.strides[i] = p->in[d] > 1 ? (uint64_t)p->in_stride[d] * 2 : 16;
    t.step[1 + i] = (uint32_t)p->stride[d];
    t.lower[i] = -p->pre[d];
    t.upper[i] = (p->out[d] - 1) * p->stride[d] - p->pre[d] - (p->in[d] - 1);
    count /= p->out[d];
  }
  t.dims[1 + spatial] = (uint64_t)count;
  t.strides[spatial] = count > 1 ? (uint64_t)p->image_stride * 2 : 16;
  return t;
}

/* The kernels of a convolution: maps, taps, and maps of the output. */
static bsm_cuda_tiles kernels(const bsm_cuda_mma_problem *problem) {
  const bsm_cuda_mma *p = &problem->params;
  return (bsm_cuda_tiles){
      .rank = 3,
      .dims = {(uint64_t)p->maps, (uint64_t)(p->k / p->maps),
               (uint64_t)(p->n * problem->batches)},
      .strides = {(uint64_t)p->maps * 2, (uint64_t)p->k * 2},
      .box = {1, 1, 1},
      .step = {1, 1, 1}};
}

/* Rows that come in lines, of two loops of batches, the inner one first. */
static bsm_cuda_tiles lines_of(const bsm_cuda_mma *p) {
  return (bsm_cuda_tiles){
      .rank = 5,
      .dims = {(uint64_t)p->n, (uint64_t)p->out[2],
               (uint64_t)(p->m / p->out[2]), (uint64_t)p->batch_sizes[1],
               (uint64_t)p->batch_sizes[0]},
      .strides = {(uint64_t)p->y_row * 2, (uint64_t)p->y_line * 2,
                  (uint64_t)p->y_batch[1] * 2, (uint64_t)p->y_batch[0] * 2},
      .box = {1, 1, 1, 1, 1},
      .step = {1, 1, 1, 1, 1}};
}

/* Rows of y are stored by warps, some columns at a time. */
static bsm_status add_output(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *problem,
                             const tile *t) {
  const bsm_cuda_mma *p = &problem->params;
  int32_t ignored[BSM_CUDA_TILE_LOOPS];
  if (!stores_tiles(problem)) return BSM_OK;
  bsm_cuda_tiles y = problem->lines
                         ? lines_of(p)
                         : matrix(p, p->n, p->m, p->y_row, p->y_batch, ignored);
  y.box[0] = t->n / t->groups_n < 64 ? 32 : 64;
  y.box[1] = 16;
  y.address = offsetof(bsm_cuda_tiled, product.y);
  y.map = offsetof(bsm_cuda_tiled, y);
  return bsm_cuda_add_tiles(l, &y);
}

static bsm_status add_operands(bsm_cuda_launches *l,
                               const bsm_cuda_mma_problem *problem,
                               const tile *t, bsm_cuda_tiles *a,
                               bsm_cuda_tiles *b) {
  const bool along_n = problem->b == BSM_CUDA_MMA_ALONG_N;
  a->box[0] = (uint32_t)t->k;
  a->box[1] = (uint32_t)t->m;
  a->address = offsetof(bsm_cuda_tiled, product.a);
  a->map = offsetof(bsm_cuda_tiled, a);
  b->box[0] = along_n ? 64 : (uint32_t)t->k;
  b->box[problem->image ? 2 : 1] = along_n ? (uint32_t)t->k : (uint32_t)t->n;
  b->address = offsetof(bsm_cuda_tiled, product.b);
  b->map = offsetof(bsm_cuda_tiled, b);
  BSM_TRY(bsm_cuda_add_tiles(l, a));
  return bsm_cuda_add_tiles(l, b);
}

/* ---- launching ---- */

/* Blocks that run at the same time read about as many rows of A as columns of
 * B. */
static int32_t raster_of(const tile *t) {
  const double rows = sqrt((double)MULTIPROCESSORS * t->n / t->m);
  return rows < 1 ? 1 : (int32_t)(rows + 0.5);
}

static bsm_cuda_divisor divisor(int64_t by) {
  bsm_cuda_divisor d = {0, 0};
  if (by <= 1) return d;
  int bits = 1;
  while ((int64_t)1 << bits < by) bits++;
  d.magic = (bsm_cuda_u32)((((uint64_t)1 << (31 + bits)) + (uint64_t)by - 1) /
                           (uint64_t)by);
  d.shift = (bsm_cuda_u32)bits - 1;
  return d;
}

static void set_divisors(bsm_cuda_tiled *p) {
  bsm_cuda_mma *q = &p->product;
  const int32_t last = p->tiles_m % p->raster;
  p->of_batch = divisor((int64_t)p->tiles_m * q->tiles_n);
  p->of_band = divisor((int64_t)p->raster * q->tiles_n);
  p->of_rows = divisor(p->raster);
  p->of_last_rows = divisor(last ? last : p->raster);
  for (int i = 0; i < 3; i++) p->of_out[i] = divisor(q->out[i]);
  for (int i = 0; i < BSM_CUDA_TILE_LOOPS; i++) {
    if (i >= q->loops) q->batch_sizes[i] = 1;
    p->of_loop[i] = divisor(q->batch_sizes[i]);
  }
}

static bsm_status add_parts(bsm_cuda_launches *l, const tile *t,
                            const bsm_cuda_wgmma_choice *c) {
  uint64_t partial;
  if (!c->shared_tiles) return BSM_OK;
  BSM_TRY(bsm_cuda_add_scratch(
      l, (uint64_t)c->blocks * 2 * (uint64_t)(t->m * t->n) * sizeof(float),
      &partial));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                            offsetof(bsm_cuda_tiled, product.partial),
                            partial));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_COUNTERS,
                           offsetof(bsm_cuda_tiled, product.counters), 0);
}

/* The kernel of a tile, with its parameters; `rank`: of the tensors. */
static bsm_status add_kernel(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *problem, const tile *t,
                             const bsm_cuda_wgmma_choice *c,
                             const bsm_cuda_tiled *p, int rank) {
  const bsm_cuda_int8_problem *bytes = problem->bytes;
  const char *source = bytes              ? "wgmma_int8"
                       : problem->rounded ? "wgmma_tf32"
                                          : "wgmma_gemm";
  const bool vector = bytes ? bytes->vector : stores_tiles(problem);
  bsm_cuda_int8_tiled q = {.tiled = *p};
  if (bytes) q.end = bytes->end;
  BSM_TRY(bsm_cuda_add_launch(
      l, source, source, &q, bytes ? sizeof(q) : sizeof(*p),
      "-DK_T=%s -DK_ACTIVATION=%d -DK_BM=%d -DK_BN=%d -DK_BK=%d -DK_WM=%d "
      "-DK_WN=%d -DK_STAGES=%d -DK_TURNS=%d -DK_IMAGE=%d -DK_RANK=%d "
      "-DK_B=%d -DK_WEIGHTS=%d -DK_SHARED=%d -DK_VECTOR=%d -DK_RESIDUAL=%d "
      "-DK_LINES=%d -DK_RESIDENT=%d",
      bsm_cuda_type(problem->dtype), problem->activation, t->m, t->n, t->k,
      t->groups_m, t->groups_n, stages_of(problem, t, c->blocks), t->turns,
      problem->image, problem->image ? 3 : rank, (int)problem->b,
      problem->weights, c->shared_tiles > 0, vector,
      bytes ? (int)bytes->end.residual : problem->residual, problem->lines,
      resident_of(t, c->blocks)));
  if (stores_rows(problem)) {
    return bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_Y=float");
  }
  return bytes ? bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES,
                                      "-DK_Y=%s -DK_OFFSETS=%d%s --fmad=false",
                                      bsm_cuda_type(bytes->y),
                                      bytes->end.x_zero != 0,
                                      bytes->fp8 ? " -DK_FP8=1" : "")
               : BSM_OK;
}

bsm_status bsm_cuda_launch_wgmma(bsm_cuda_launches *l,
                                 const bsm_cuda_mma_problem *problem,
                                 const bsm_cuda_wgmma_choice *c) {
  bsm_cuda_mma_problem halves;
  problem = in_halves(problem, &halves);
  const tile *t = &tiles[c->tile];
  const bool along_n = problem->b == BSM_CUDA_MMA_ALONG_N;
  const int stages = stages_of(problem, t, c->blocks);
  bsm_cuda_tiled p = {.product = problem->params};
  const bsm_cuda_mma *q = &p.product;
  p.product.tiles_n = (int32_t)parts(q->n, t->n);
  p.tiles_m = (int32_t)parts(q->m, t->m);
  p.tiles = (int32_t)tiles_of(problem, t);
  p.shared_tiles = c->shared_tiles;
  p.steps = (int32_t)steps_of(problem, t);
  p.raster = raster_of(t);
  p.chunks = problem->image ? (int32_t)parts(q->maps, t->k) : 1;
  set_divisors(&p);
  bsm_cuda_tiles a, b;
  if (problem->image) {
    a = images(problem);
    b = kernels(problem);
  } else {
    a = matrix(q, q->k, q->m, q->a_row, q->a_batch, p.a_moves);
    b = along_n ? matrix(q, q->n, q->k, q->b_row, q->b_batch, p.b_moves)
                : matrix(q, q->k, q->n, q->b_column, q->b_batch, p.b_moves);
  }
  BSM_TRY(add_kernel(l, problem, t, c, &p, (int)a.rank));
  bsm_cuda_set_block(l, 128u * (unsigned)groups_of(t) + 32, 1, 1);
  bsm_cuda_set_grid(l, (uint64_t)c->blocks, 1, 1);
  bsm_cuda_set_shared(l, (size_t)(stages * stage_bytes(t) +
                                  store_bytes(problem, t) + ALIGNMENT));
  BSM_TRY(add_operands(l, problem, t, &a, &b));
  BSM_TRY(add_output(l, problem, t));
  return add_parts(l, t, c);
}
