/* SPDX-License-Identifier: Apache-2.0 */
/* Products in tiles: what they cost, and their launches. */
#include "backend/cuda/steps/cuda_mma.h"

#include <math.h>
#include <string.h>

#include "backend/cuda/steps/cuda_wgmma.h"

#define MAX_SPLITS 32
#define MAX_BATCHES 65535
/* Tiles that have counters: more than a GPU has room for, so that more need no
 * splits. */
#define MAX_SPLIT_TILES BSM_CUDA_COUNTERS
/* The best ones by cost are tactics, and "plain"; kinds of steps add three. */
#define MOST_TACTICS 12

typedef bsm_cuda_tile tile;

static int64_t parts(int64_t size, int64_t part) {
  return size / part + (size % part != 0);
}

static unsigned shared_bytes(const bsm_cuda_mma_problem *p, const tile *t) {
  return (unsigned)(t->stages * (t->m + t->n) * t->k) *
         (unsigned)bsm_dtype_size(p->dtype);
}

/* ---- what a GPU has ---- */

int bsm_cuda_multiprocessors(int sm) {
  return sm >= 100 ? 148 : sm >= 90 ? 132 : sm >= 80 ? 108 : 72;
}

unsigned bsm_cuda_most_shared(int sm) {
  return sm >= 120              ? 99u << 10
         : sm >= 90             ? 227u << 10
         : sm == 80 || sm == 87 ? 163u << 10
         : sm >= 80             ? 99u << 10
                                : 64u << 10;
}

bool bsm_cuda_may_specialise(const bsm_cuda_launches *l) {
  return l->scope <= BSM_CUDA_FOR_RANGE &&
         strcmp(l->step->tactic, BSM_CUDA_PLAIN_TACTIC) != 0;
}

bool bsm_cuda_mma_has(bsm_dtype dtype, int sm) {
  return dtype == BSM_DTYPE_HALF || (dtype == BSM_DTYPE_BFLOAT16 && sm >= 80);
}

bool bsm_cuda_mma_has_numbers(bsm_dtype dtype, double scale, double alpha,
                              double beta) {
  return dtype != BSM_DTYPE_DOUBLE ||
         ((double)(float)scale == scale && (double)(float)alpha == alpha &&
          (double)(float)beta == beta);
}

bool bsm_cuda_mma_reads_along(const bsm_plan_tensor *t, int axis) {
  const int64_t chunk = bsm_cuda_chunk(t->dtype);
  for (int i = 0; i < t->dims.rank; i++) {
    const int64_t stride = t->strides[i];
    if (t->dims.d[i] > 1 && (i == axis ? stride != 1 : stride % chunk != 0)) {
      return false;
    }
  }
  return t->offset % 16 == 0;
}

/* ---- what a tile costs ---- */

typedef struct choice {
  const tile *tile;
  int splits;
  double cost;
} choice;

/* All times are in microseconds; what they follow from is in cuda_tiles.c. */

#define BYTES_WRITTEN 26e3 /* by an SM, in one */
/* Waiting for the other splits of a tile. */
#define JOIN 0.97
/* Where more is written than is cached: the end of each tile of an SM, and the
 * elements that it stores in a microsecond then. */
#define TILE_OF_SM 0.45
#define WRITTEN_BY_SM 3.3e3
/* Bytes that stay in the L2 cache. */
#define CACHED 25e6
/* The plain kernel takes about this many times as long as a tile. */
#define PLAIN_TIMES 8.0
/* And special kernels this many times. */
#define SPECIAL_TIMES 0.8

static double larger(double a, double b) {
  return a > b ? a : b;
}

/* A residual that is read meanwhile is hidden by other blocks of an SM, so that
 * small tiles are better there than these numbers say. */
bool bsm_cuda_mma_is_cached(const bsm_cuda_mma_problem *problem) {
  const bsm_cuda_mma *p = &problem->params;
  const double k = problem->image ? p->maps : p->k;
  const double elements = (double)p->m * (p->n + k) * (double)problem->batches;
  return problem->residual || bsm_dtype_size(problem->dtype) != 2 ||
         2 * elements < CACHED;
}

static double cost_of(const bsm_cuda_mma_problem *p, const tile *t, int sms,
                      int splits) {
  const double k_tiles = (double)parts(parts(p->params.k, t->k), splits);
  const double blocks = (double)parts(p->params.m, t->m) *
                        (double)parts(p->params.n, t->n) * (double)p->batches *
                        splits;
  const double most = ceil(blocks / sms); /* of an SM */
  const double rounds = floor(most / t->resident);
  const double last = most - rounds * t->resident;
  const double bytes = (double)t->k * (double)bsm_dtype_size(p->dtype);
  const bsm_cuda_tile_costs *c = &p->unit->costs;
  const double busy = larger((t->m + t->n) * bytes / c->bytes_read,
                             (double)t->m * t->n * t->k / t->products / 1e3);
  const double latency =
      larger(c->latency + c->latency_of_byte * bytes,
             busy * (c->lone < t->resident ? c->lone : t->resident));
  const double a_tile = rounds * larger(t->resident * busy, latency) +
                        (last > 0 ? larger(last * busy, latency) : 0);
  const double size = (double)t->m * t->n / BYTES_WRITTEN;
  /* A block writes its sums, and one of each tile reads those of all. */
  const double join = splits > 1 ? JOIN + 4 * size * (splits + 1) : 0;
  const double of_sm =
      bsm_cuda_mma_is_cached(p)
          ? 0
          : blocks / sms * (TILE_OF_SM + (double)t->m * t->n / WRITTEN_BY_SM);
  return c->launch +
         larger(a_tile * k_tiles +
                    (rounds + (last > 0)) * (c->round + 2 * size) + join,
                of_sm);
}

/* The number of splits that should be fastest. */
static choice choose_splits(const bsm_cuda_mma_problem *p, const tile *t,
                            int sm) {
  const int sms = bsm_cuda_multiprocessors(sm);
  const int64_t count =
      parts(p->params.m, t->m) * parts(p->params.n, t->n) * p->batches;
  const int64_t k_tiles = parts(p->params.k, t->k);
  choice best = {t, 1, cost_of(p, t, sms, 1)};
  if (count > MAX_SPLIT_TILES) return best;
  for (int64_t splits = 2; splits <= MAX_SPLITS && splits <= k_tiles;
       splits++) {
    /* Only those in which every block has work. */
    if (parts(k_tiles, parts(k_tiles, splits)) != splits) continue;
    const double cost = cost_of(p, t, sms, (int)splits);
    if (cost < best.cost) best = (choice){t, (int)splits, cost};
  }
  return best;
}

/* All tiles, the best first. */
static size_t choices_of(const bsm_cuda_mma_problem *p, int sm,
                         choice out[BSM_CUDA_MAX_TILES]) {
  size_t count = 0;
  for (size_t i = 0; i < p->unit->count; i++) {
    const tile *t = &p->unit->tiles[i];
    if (shared_bytes(p, t) > bsm_cuda_most_shared(sm)) continue;
    const choice c = choose_splits(p, t, sm);
    size_t at = count++;
    for (; at > 0 && out[at - 1].cost > c.cost; at--) out[at] = out[at - 1];
    out[at] = c;
  }
  return count;
}

/* Of those of both kinds by cost: the names of the first ones. */
static size_t merge_names(const bsm_cuda_mma_problem *p, int sm,
                          const char **names) {
  choice choices[BSM_CUDA_MAX_TILES];
  bsm_cuda_wgmma_choice others[BSM_CUDA_MAX_WGMMA];
  const size_t count = choices_of(p, sm, choices);
  const size_t other_count = bsm_cuda_wgmma_choices(p, sm, others);
  size_t i = 0, j = 0;
  while (i + j < MOST_TACTICS && (i < count || j < other_count)) {
    const bool other =
        i == count || (j < other_count && others[j].cost < choices[i].cost);
    names[i + j] = other ? others[j].tactic : choices[i].tile->tactic;
    *(other ? &j : &i) += 1;
  }
  return i + j;
}

size_t bsm_cuda_mma_step_tactics(bsm_cuda_mma_problem_of *problem_of,
                                 const bsm_plan *plan,
                                 const bsm_plan_step *step, int sm,
                                 const char **names) {
  bsm_cuda_mma_problem problem;
  size_t count = 0;
  if (problem_of(plan, step, sm, &problem)) {
    count = merge_names(&problem, sm, names);
  }
  names[count++] = BSM_CUDA_PLAIN_TACTIC;
  return count;
}

/* The choice of a tactic among those by wgmma; NULL: it is none. */
static const bsm_cuda_wgmma_choice *find_wgmma(
    const bsm_cuda_wgmma_choice *choices, size_t count, const char *tactic) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(choices[i].tactic, tactic) == 0) return &choices[i];
  }
  return NULL;
}

double bsm_cuda_mma_cost(const bsm_cuda_mma_problem *problem, int sm,
                         const char *tactic) {
  choice choices[BSM_CUDA_MAX_TILES];
  bsm_cuda_wgmma_choice others[BSM_CUDA_MAX_WGMMA];
  const size_t count = choices_of(problem, sm, choices);
  const size_t other_count = bsm_cuda_wgmma_choices(problem, sm, others);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(choices[i].tile->tactic, tactic) == 0) return choices[i].cost;
  }
  const bsm_cuda_wgmma_choice *c = find_wgmma(others, other_count, tactic);
  if (c) return c->cost;
  const double least = other_count && others[0].cost < choices[0].cost
                           ? others[0].cost
                           : choices[0].cost;
  return (strcmp(tactic, BSM_CUDA_PLAIN_TACTIC) == 0 ? PLAIN_TIMES
                                                     : SPECIAL_TIMES) *
         least;
}

double bsm_cuda_mma_step_cost(bsm_cuda_mma_problem_of *problem_of,
                              const bsm_plan *plan, const bsm_plan_step *step,
                              int sm, const char *tactic) {
  bsm_cuda_mma_problem problem;
  return problem_of(plan, step, sm, &problem)
             ? bsm_cuda_mma_cost(&problem, sm, tactic)
             : 0;
}

/* ---- launching ---- */

/* That of a tactic, or the one that should be fastest: true when it is one of
 * these, false when it is one by wgmma. */
static bool choose(const bsm_cuda_mma_problem *p, int sm, const char *tactic,
                   choice *own, bsm_cuda_wgmma_choice *other) {
  choice choices[BSM_CUDA_MAX_TILES];
  bsm_cuda_wgmma_choice others[BSM_CUDA_MAX_WGMMA];
  const size_t count = choices_of(p, sm, choices);
  const size_t other_count = bsm_cuda_wgmma_choices(p, sm, others);
  for (size_t i = 0; i < count; i++) {
    *own = choices[i];
    if (strcmp(choices[i].tile->tactic, tactic) == 0) return true;
  }
  const bsm_cuda_wgmma_choice *found = find_wgmma(others, other_count, tactic);
  if (!found && other_count && others[0].cost < choices[0].cost) {
    found = &others[0];
  }
  if (found) *other = *found;
  *own = choices[0];
  return !found;
}

/* Bytes of a sum. */
static size_t sum_bytes(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_DOUBLE ? sizeof(double) : sizeof(float);
}

/* The kernel of a tile, with what sizes say. */
static bsm_status add_kernel(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *problem, const tile *t,
                             const bsm_cuda_mma *p, bool may_split) {
  const char *source = problem->unit->source;
  const bsm_cuda_int8_problem *bytes = problem->bytes;
  bsm_cuda_int8_gemm g = {.product = *p};
  if (bytes) {
    g.product = bytes->params;
    g.product.tiles_n = p->tiles_n;
    g.product.splits = p->splits;
    g.product.split_k = 2 * p->split_k;
    g.end = bytes->end;
  }
  BSM_TRY(bsm_cuda_add_launch(
      l, source, source, &g, bytes ? sizeof(g) : sizeof(g.product),
      "-DK_T=%s -DK_ACTIVATION=%d -DK_BM=%d -DK_BN=%d -DK_BK=%d -DK_WM=%d "
      "-DK_WN=%d -DK_STAGES=%d -DK_IMAGE=%d -DK_TRANSPOSED=%d -DK_A=%d "
      "-DK_B=%d -DK_WEIGHTS=%d -DK_SPLIT=%d -DK_LINES=%d",
      bsm_cuda_type(problem->dtype), problem->activation, t->m, t->n, t->k,
      t->warps_m, t->warps_n, t->stages, problem->image, problem->transposed,
      (int)problem->a, (int)problem->b, problem->weights, may_split,
      problem->lines));
  if (bytes) {
    return bsm_cuda_add_options(
        l, BSM_CUDA_FOR_RANGE,
        "-DK_Y=%s -DK_RESIDUAL=%d -DK_PIECE=%d -DK_LINED=%d -DK_VECTOR=%d "
        "-DK_OFFSETS=%d%s --fmad=false",
        bsm_cuda_type(bytes->y), (int)bytes->end.residual, bytes->piece,
        (int)bytes->lines, bytes->vector, bytes->end.x_zero != 0,
        bytes->fp8 ? " -DK_FP8=1" : "");
  }
  if (problem->floats && problem->dtype != BSM_DTYPE_FLOAT) {
    BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_RANGE, "-DK_Y=float"));
  }
  return problem->unit->tensor_cores
             ? BSM_OK
             : bsm_cuda_add_options(l, BSM_CUDA_FOR_RANGE,
                                    "-DK_LM=%d -DK_RESIDENT=%d", t->lanes_m,
                                    t->resident);
}

static bsm_status add_launch(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *problem,
                             const choice *c, bool may_split) {
  const tile *t = c->tile;
  bsm_cuda_mma p = problem->params;
  p.tiles_n = (int32_t)parts(p.n, t->n);
  const int64_t count = p.tiles_n * parts(p.m, t->m);
  p.splits = c->splits;
  p.split_k = (int32_t)(parts(parts(p.k, t->k), c->splits) * t->k);
  BSM_TRY(add_kernel(l, problem, t, &p, may_split));
  bsm_cuda_set_block(l, 32u * (unsigned)(t->warps_m * t->warps_n), 1, 1);
  bsm_cuda_set_grid(l, (uint64_t)count, (uint64_t)c->splits,
                    (uint64_t)problem->batches);
  bsm_cuda_set_shared(l, shared_bytes(problem, t));
  if (c->splits == 1) return BSM_OK;
  uint64_t partial;
  BSM_TRY(bsm_cuda_add_scratch(l,
                               (uint64_t)(count * problem->batches) *
                                   (uint64_t)(c->splits * t->m * t->n) *
                                   (uint64_t)sum_bytes(problem->dtype),
                               &partial));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                            offsetof(bsm_cuda_mma, partial), partial));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_COUNTERS,
                           offsetof(bsm_cuda_mma, counters), 0);
}

/* Whether a tile is one of those for a range of sizes, with operands as they
 * are. */
static bool ranges(const bsm_cuda_mma_problem *p, const tile *t) {
  const bool aligned = p->a == p->aligned_a && p->b == p->aligned_b;
  return t->ranges >=
         (aligned ? BSM_CUDA_TILE_RANGES : BSM_CUDA_TILE_RANGES_IN_ELEMENTS);
}

/* All tiles for a range of sizes, but the one that is launched. */
static bsm_status add_others(bsm_cuda_launches *l, bsm_cuda_mma_problem p,
                             const tile *taken) {
  const bsm_cuda_mma_operand a = p.a, b = p.b;
  for (int form = 0; form < 4; form++) {
    p.a = form & 1 ? BSM_CUDA_MMA_ELEMENTS : p.aligned_a;
    p.b = form & 2 ? BSM_CUDA_MMA_ELEMENTS : p.aligned_b;
    if (form && p.weights) break; /* whose sizes do not range */
    for (size_t i = 0; i < p.unit->count; i++) {
      const choice c = {&p.unit->tiles[i], 1, 0};
      if (!ranges(&p, c.tile) ||
          shared_bytes(&p, c.tile) > bsm_cuda_most_shared(l->sm) ||
          (p.a == a && p.b == b && c.tile == taken)) {
        continue;
      }
      BSM_TRY(add_launch(l, &p, &c, true));
      BSM_TRY(bsm_cuda_set_aside(l));
    }
  }
  return BSM_OK;
}

static bsm_status launch_of_range(bsm_cuda_launches *l,
                                  const bsm_cuda_mma_problem *problem) {
  choice choices[BSM_CUDA_MAX_TILES];
  const size_t count = choices_of(problem, l->sm, choices);
  size_t best = 0;
  while (best < count && !ranges(problem, choices[best].tile)) best++;
  if (best == count) return BSM_FAIL(BSM_INTERNAL, "no tile ranges");
  BSM_TRY(add_others(l, *problem, choices[best].tile));
  return add_launch(l, problem, &choices[best], true);
}

bsm_status bsm_cuda_launch_mma(bsm_cuda_launches *l,
                               const bsm_cuda_mma_problem *problem,
                               const char *tactic) {
  if (l->scope == BSM_CUDA_FOR_RANGE) return launch_of_range(l, problem);
  choice c;
  bsm_cuda_wgmma_choice other;
  if (!choose(problem, l->sm, tactic, &c, &other)) {
    return bsm_cuda_launch_wgmma(l, problem, &other);
  }
  return add_launch(l, problem, &c, c.splits > 1);
}
