/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of recurrent networks on a GPU: LSTM, GRU and plain RNN, one or two
 * directions.
 *
 * The sequence is taken in chunks. The products of a chunk's inputs are one
 * product of matrices for each direction; then each step in time is a launch of
 * its own, which multiplies the states and at once computes the gates, and of a
 * projection a second one; or, with the tactics "cluster" and "tensor", all
 * steps of a chunk are one launch (kernels/recurrent_cluster.cu,
 * recurrent_tensor.cu). Both directions are in the same launches. States are
 * double buffered and stay in float, or double, until the sequence is over. */
#include "backend/cuda/steps/cuda_recurrent.h"

#include <string.h>

#include "aten/tensor.h"
#include "backend/cuda/steps/cuda_mma.h"
#include "backend/cuda/steps/cuda_products.h"
#include "base/checked.h"

#define WARPS 8
#define SAMPLES 8 /* of a warp */
#define MAX_GROUPS 65535
#define BLOCK 256
#define MAX_BLOCKS 1024
/* Of the products of a chunk's inputs. */
#define CHUNK_BYTES ((int64_t)8 << 20)
/* Numbers that are multiplied, from which on tiles are faster. */
#define LARGE_PRODUCT ((int64_t)1 << 20)

bsm_status bsm_cuda_recurrent_layout_of(const bsm_step_recurrent *p,
                                        bsm_cuda_recurrent_layout *out) {
  BSM_TRY(bsm_check_recurrent_sizes(p));
  /* Each of these is at most BSM_MAX_ELEMENTS. */
  out->rows = bsm_recurrent_gates(p->operation) * p->hidden;
  out->state = p->projection ? p->projection : p->hidden;
  out->recurrent = out->rows * p->input;
  out->projection = out->recurrent + out->rows * out->state;
  out->input_bias = out->projection + p->projection * p->hidden;
  out->bias = out->input_bias + out->rows;
  out->size = out->bias + out->rows;
  return BSM_OK;
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_recurrent *p = &step->params->recurrent;
  bsm_cuda_recurrent_layout layout;
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  if (!bsm_dtype_is_floating(dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "a recurrent step of %s",
                    bsm_dtype_name(dtype));
  }
  BSM_TRY(bsm_check_recurrent(plan, step, dtype));
  BSM_TRY(bsm_cuda_recurrent_layout_of(p, &layout));
  return bsm_check_weights(
      plan, step, 0,
      (uint64_t)layout.size * bsm_dtype_size(dtype) * (uint64_t)p->directions);
}

/* What all launches of a step share. */
typedef struct work {
  bsm_cuda_launches *l;
  const bsm_step_recurrent *p;
  bsm_cuda_recurrent_layout layout;
  const bsm_plan_tensor *x, *y;
  bsm_dtype held; /* what elements are held in, while it runs */
  int64_t length, batch, chunk;
  uint64_t products, states, cells, unprojected; /* in the scratch memory */
} work;

static bool has_cell(const work *w) {
  return w->p->operation == BSM_RECURRENT_LSTM;
}

/* ---- scratch memory ---- */

static bsm_status add_array(work *w, int64_t rows, int64_t columns,
                            uint64_t *offset) {
  int64_t bytes;
  if (!bsm_i64_mul(rows, columns, &bytes) ||
      !bsm_i64_mul(bytes, (int64_t)bsm_dtype_size(w->held), &bytes)) {
    return BSM_FAIL(BSM_LIMIT, "the scratch memory overflows");
  }
  return bsm_cuda_add_scratch(w->l, (uint64_t)bytes, offset);
}

static bsm_status place_arrays(work *w) {
  const int64_t held = (int64_t)bsm_dtype_size(w->held);
  int64_t rows, step;
  if (!bsm_i64_mul(w->p->directions, w->batch, &rows) ||
      !bsm_i64_mul(rows, w->layout.rows, &step) || step > INT64_MAX / held) {
    return BSM_FAIL(BSM_LIMIT, "the scratch memory overflows");
  }
  w->chunk = CHUNK_BYTES / (step * held);
  if (w->chunk > w->length) w->chunk = w->length;
  if (w->chunk < 1) w->chunk = 1;
  BSM_TRY(add_array(w, step, w->chunk, &w->products));
  BSM_TRY(add_array(w, 2 * rows, w->layout.state, &w->states));
  if (has_cell(w)) BSM_TRY(add_array(w, rows, w->p->hidden, &w->cells));
  if (!w->p->projection) return BSM_OK;
  return add_array(w, rows, w->p->hidden, &w->unprojected);
}

static bsm_status add_scratch_slot(work *w, size_t offset, uint64_t at) {
  return bsm_cuda_add_slot(w->l, BSM_CUDA_SLOT_SCRATCH, offset, at);
}

/* ---- products of the inputs ---- */

/* Rows are (step, sample): one matrix where these lie evenly, else one for
 * each of the fewer. */
static void set_rows(const work *w, int64_t count, bsm_cuda_product *p) {
  const int64_t step = w->x->strides[0], row = w->x->strides[1];
  const int64_t rows = w->layout.rows;
  p->batch_sizes[0] = 1;
  if (w->batch == 1 || count == 1 || step == row * w->batch) {
    p->m = count * w->batch;
    p->a_row = w->batch == 1 ? step : row;
    p->y_row = rows;
  } else if (count > w->batch) {
    p->m = count;
    p->a_row = step;
    p->y_row = w->batch * rows;
    p->batch_sizes[0] = w->batch;
    p->a_batch[0] = row;
    p->y_batch[0] = rows;
  } else {
    p->m = w->batch;
    p->a_row = row;
    p->y_row = rows;
    p->batch_sizes[0] = count;
    p->a_batch[0] = step;
    p->y_batch[0] = w->batch * rows;
  }
}

/* The same in tiles; false: the plain kernel has to do it. */
static bool tile_product(const work *w, const bsm_cuda_product *p,
                         bsm_cuda_mma_problem *out) {
  const bsm_dtype dtype = w->y->dtype;
  const int64_t bytes = w->layout.size * (int64_t)bsm_dtype_size(dtype);
  const bool aligned = p->k % bsm_cuda_chunk(dtype) == 0;
  const bsm_cuda_unit *unit =
      bsm_cuda_unit_of(dtype, w->l->step->precision, w->l->sm);
  int64_t all;
  if (!unit || w->l->scope != BSM_CUDA_FOR_SIZES ||
      !bsm_cuda_may_specialise(w->l) || !bsm_i64_mul(p->m, p->n, &all) ||
      !bsm_i64_mul(all, p->k, &all) ||
      !bsm_i64_mul(all, p->batch_sizes[0], &all) || all < LARGE_PRODUCT ||
      p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX) {
    return false;
  }
  *out = (bsm_cuda_mma_problem){
      .batches = p->batch_sizes[0],
      .dtype = dtype,
      .unit = unit,
      .floats = w->held == BSM_DTYPE_FLOAT,
      .weights = true,
      .a = bsm_cuda_mma_reads_along(w->x, 2) ? BSM_CUDA_MMA_ALONG_K
                                             : BSM_CUDA_MMA_ELEMENTS,
      .b = aligned && bytes % 16 == 0 ? BSM_CUDA_MMA_ALONG_K
                                      : BSM_CUDA_MMA_ELEMENTS,
      .params = {.m = (int32_t)p->m,
                 .n = (int32_t)p->n,
                 .k = (int32_t)p->k,
                 .scale = 1,
                 .loops = 1,
                 .a_row = p->a_row,
                 .a_column = p->a_column,
                 .b_row = p->b_row,
                 .b_column = p->b_column,
                 .y_row = p->y_row,
                 .batch_sizes = {(int32_t)p->batch_sizes[0]},
                 .a_batch = {p->a_batch[0]},
                 .y_batch = {p->y_batch[0]}}};
  out->aligned_a = out->a;
  out->aligned_b = out->b;
  return true;
}

/* Where the parameters of a product have addresses. */
typedef struct operands {
  size_t a, b, bias, y;
} operands;

static bsm_status add_product(work *w, const bsm_cuda_product *p,
                              operands *at) {
  bsm_cuda_mma_problem tiled;
  if (tile_product(w, p, &tiled)) {
    *at = (operands){offsetof(bsm_cuda_mma, a), offsetof(bsm_cuda_mma, b),
                     offsetof(bsm_cuda_mma, bias), offsetof(bsm_cuda_mma, y)};
    return bsm_cuda_launch_mma(w->l, &tiled, "");
  }
  const bsm_cuda_product_kind kind = {w->y->dtype, w->held, 0, 1};
  *at = (operands){offsetof(bsm_cuda_product, a), offsetof(bsm_cuda_product, b),
                   offsetof(bsm_cuda_product, bias),
                   offsetof(bsm_cuda_product, y)};
  return bsm_cuda_launch_product(w->l, p, &kind);
}

/* Of `count` steps in the rounds first, first + count, ... before `end`. */
static bsm_status launch_product(work *w, int32_t direction, int64_t count,
                                 int64_t first, int64_t end) {
  const int64_t element = (int64_t)bsm_dtype_size(w->y->dtype);
  const int64_t held = (int64_t)bsm_dtype_size(w->held);
  const int64_t weights = direction * w->layout.size * element;
  const int64_t step = w->x->strides[0] * element;
  bsm_cuda_product p = {.n = w->layout.rows,
                        .k = w->p->input,
                        .a_column = w->x->strides[2],
                        .b_row = 1,
                        .b_column = w->p->input,
                        .scale = 1};
  operands at;
  set_rows(w, count, &p);
  BSM_TRY(add_product(w, &p, &at));
  bsm_cuda_set_rounds(w->l, first, count, end);
  BSM_TRY(bsm_cuda_add_slot(w->l, BSM_CUDA_SLOT_TENSOR, at.a,
                            w->l->step->inputs[0]));
  /* Round r begins with step r, or ends before the r-th from the end. */
  if (direction) {
    bsm_cuda_move_slot(w->l, (w->length - count) * step, -step);
  } else {
    bsm_cuda_move_slot(w->l, 0, step);
  }
  BSM_TRY(bsm_cuda_add_slot(w->l, BSM_CUDA_SLOT_WEIGHTS, at.b,
                            w->l->step->weights[0]));
  bsm_cuda_move_slot(w->l, weights, 0);
  BSM_TRY(bsm_cuda_add_slot(w->l, BSM_CUDA_SLOT_WEIGHTS, at.bias,
                            w->l->step->weights[0]));
  bsm_cuda_move_slot(w->l, weights + w->layout.input_bias * element, 0);
  BSM_TRY(add_scratch_slot(w, at.y, w->products));
  bsm_cuda_move_slot(
      w->l, direction * w->chunk * w->batch * w->layout.rows * held, 0);
  return BSM_OK;
}

/* Of whole chunks, and of the steps that are left. */
static bsm_status launch_products(work *w) {
  const int64_t rest = w->length % w->chunk, whole = w->length - rest;
  for (int32_t d = 0; d < w->p->directions; d++) {
    BSM_TRY(launch_product(w, d, w->chunk, 0, whole));
    if (rest) BSM_TRY(launch_product(w, d, rest, whole, w->length));
  }
  return BSM_OK;
}

/* ---- states before and after the sequence ---- */

static bsm_status launch_states(work *w, bool out) {
  const bsm_plan_step *step = w->l->step;
  const uint32_t *ids = out ? step->outputs : step->inputs;
  const int64_t rows = w->p->directions * w->batch;
  bsm_cuda_states s = {
      .batch = w->batch, .size = {w->layout.state, w->p->hidden}, .out = out};
  for (int i = 0; i < (has_cell(w) ? 2 : 1); i++) {
    s.count[i] = rows * s.size[i];
    for (int d = 0; d < 3; d++) {
      s.strides[i][d] = w->l->plan->tensors[ids[1 + i]].strides[d];
    }
  }
  BSM_TRY(bsm_cuda_add_launch(w->l, "states", "states", &s, sizeof(s),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(w->l, "K_T", w->y->dtype));
  BSM_TRY(bsm_cuda_add_options(w->l, BSM_CUDA_FOR_STEP, "-DK_OUT=%d", out));
  const int64_t most = s.count[0] > s.count[1] ? s.count[0] : s.count[1];
  bsm_cuda_set_block(w->l, BLOCK, 1, 1);
  bsm_cuda_set_grid(w->l, bsm_cuda_blocks((uint64_t)most, BLOCK, MAX_BLOCKS),
                    has_cell(w) ? 2 : 1, 1);
  if (out) bsm_cuda_set_rounds(w->l, w->l->rounds - 1, 1, w->l->rounds);
  for (size_t i = 0; i < (has_cell(w) ? 2 : 1); i++) {
    const size_t at = i * sizeof(uint64_t);
    BSM_TRY(bsm_cuda_add_typed_slot(
        w->l, offsetof(bsm_cuda_states, tensor) + at, ids[1 + i]));
    BSM_TRY(add_scratch_slot(w, offsetof(bsm_cuda_states, array) + at,
                             i ? w->cells : w->states));
    if (out && i == 0 && w->length % 2) {
      bsm_cuda_move_slot(w->l, s.count[0] * (int64_t)bsm_dtype_size(w->held),
                         0);
    }
  }
  return BSM_OK;
}

/* ---- steps in time ---- */

static bsm_status add_step_slots(work *w) {
  const bsm_plan_step *step = w->l->step;
  const struct {
    size_t offset;
    uint64_t at;
    bool is_there;
  } arrays[] = {{offsetof(bsm_cuda_recurrent, products), w->products, true},
                {offsetof(bsm_cuda_recurrent, states), w->states, true},
                {offsetof(bsm_cuda_recurrent, cells), w->cells, has_cell(w)},
                {offsetof(bsm_cuda_recurrent, unprojected), w->unprojected,
                 w->p->projection != 0}};
  for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
    if (!arrays[i].is_there) continue;
    BSM_TRY(add_scratch_slot(w, arrays[i].offset, arrays[i].at));
  }
  BSM_TRY(bsm_cuda_add_slot(w->l, BSM_CUDA_SLOT_WEIGHTS,
                            offsetof(bsm_cuda_recurrent, weights),
                            step->weights[0]));
  if (step->weights[1] != BSM_NO_WEIGHTS) {
    BSM_TRY(bsm_cuda_add_slot(w->l, BSM_CUDA_SLOT_WEIGHTS,
                              offsetof(bsm_cuda_recurrent, lengths),
                              step->weights[1]));
  }
  BSM_TRY(bsm_cuda_add_slot(w->l, BSM_CUDA_SLOT_TENSOR,
                            offsetof(bsm_cuda_recurrent, y), step->outputs[0]));
  return bsm_cuda_add_slot(w->l, BSM_CUDA_SLOT_ROUND,
                           offsetof(bsm_cuda_recurrent, round), 0);
}

static bsm_cuda_recurrent parameters_of(const work *w) {
  return (bsm_cuda_recurrent){.cell = w->p->operation,
                              .length = w->length,
                              .chunk = w->chunk,
                              .batch = w->batch,
                              .hidden = w->p->hidden,
                              .state = w->layout.state,
                              .direction = w->layout.size,
                              .recurrent = w->layout.recurrent,
                              .projection = w->layout.projection,
                              .bias = w->layout.bias,
                              .y_step = w->y->strides[0],
                              .y_row = w->y->strides[1]};
}

/* About the launch that was added last: a warp for each of `units`, and for
 * some samples, in every round. */
static bsm_status set_step(work *w, int64_t units) {
  bsm_cuda_set_block(w->l, 32 * WARPS, 1, 1);
  bsm_cuda_set_grid(w->l, bsm_cuda_blocks((uint64_t)units, WARPS, INT32_MAX),
                    bsm_cuda_blocks((uint64_t)w->batch, SAMPLES, MAX_GROUPS),
                    (uint64_t)w->p->directions);
  bsm_cuda_set_rounds(w->l, 0, 1, w->length);
  return add_step_slots(w);
}

static bsm_status launch_steps(work *w) {
  const bsm_cuda_recurrent p = parameters_of(w);
  const char *type = bsm_cuda_type(w->y->dtype);
  BSM_TRY(bsm_cuda_add_launch(w->l, "recurrent", "recurrent", &p, sizeof(p),
                              "--fmad=false -DK_T=%s", type));
  BSM_TRY(bsm_cuda_add_options(w->l, BSM_CUDA_FOR_STEP,
                               "-DK_CELL=%d -DK_PROJECTS=%d", w->p->operation,
                               w->p->projection != 0));
  BSM_TRY(set_step(w, w->p->hidden));
  if (!w->p->projection) return BSM_OK;
  BSM_TRY(bsm_cuda_add_launch(w->l, "projection", "projection", &p, sizeof(p),
                              "--fmad=false -DK_T=%s", type));
  return set_step(w, w->p->projection);
}

/* ---- steps in time of networks that fit in a cluster ---- */

#define CLUSTER_TACTIC "cluster"
#define CLUSTER_BLOCKS 8
/* That a GPU has room for: 132 multiprocessors are in groups of 16 or 18, but
 * for some of fewer, which have one cluster. What waits for room takes the time
 * of all steps again. */
#define CLUSTERS 14
#define CLUSTER_SHARED ((int64_t)160 << 10)
#define MOST_THREADS 512
#define MOST_OUTSIDE 3     /* gates, and one */
#define MOST_SHARED 230400 /* bytes of all shared memory */
/* Registers of a block: all of them, and what a thread needs for the rest. */
#define REGISTERS 65536
#define MOST_REGISTERS 255
#define OTHER_REGISTERS 48

/* How a network lies in the registers of a cluster: options of the kernel. */
typedef struct cluster {
  int lanes, samples, threads;
  int outside; /* gates whose weights are in shared memory */
  bool packed;
  int64_t groups, room; /* of the batch, and samples of one */
  size_t shared_bytes;
} cluster;

/* Those of some gates. */
static bool fits_in_registers(cluster *c, int gates, int64_t parts,
                              bsm_dtype dtype) {
  const int64_t words = gates * parts * 4;
  const int64_t most = REGISTERS / c->threads;
  const int64_t left =
      (most < MOST_REGISTERS ? most : MOST_REGISTERS) - OTHER_REGISTERS;
  c->packed = words > left;
  return !c->packed || (dtype != BSM_DTYPE_FLOAT && words / 2 <= left);
}

static void share_batch(cluster *c, int64_t batch, int directions) {
  const int64_t most = CLUSTERS / directions;
  c->room = (batch + most - 1) / most;
  c->groups = (batch + c->room - 1) / c->room;
  c->samples = c->room == 1 ? 1 : c->room == 2 ? 2 : 4;
}

/* With the weights of `outside` gates in shared memory. */
static bool fill_cluster(const bsm_step_recurrent *p, bsm_dtype dtype, int sm,
                         cluster *c) {
  const int gates = (int)bsm_recurrent_gates(p->operation);
  const int units = (int)(p->hidden + CLUSTER_BLOCKS - 1) / CLUSTER_BLOCKS;
  c->lanes = 32;
  while (c->lanes > 1 &&
         (units * c->lanes > MOST_THREADS || 2 * c->lanes >= p->hidden)) {
    c->lanes /= 2;
  }
  c->threads = (units * c->lanes + 31) / 32 * 32;
  const int64_t parts = (p->hidden + 4 * c->lanes - 1) / (4 * c->lanes);
  const int64_t floats =
      c->room * (2 * parts * 4 * c->lanes + (gates + 1) * units);
  const int64_t words = c->outside * parts * 2 * c->threads;
  if (c->outside && (dtype == BSM_DTYPE_FLOAT || c->outside >= gates)) {
    return false;
  }
  c->shared_bytes = (size_t)((floats + 3) / 4 * 4 + words) * sizeof(float);
  return c->threads <= MOST_THREADS &&
         fits_in_registers(c, gates - c->outside, parts, dtype) &&
         floats <= CLUSTER_SHARED / (int64_t)sizeof(float) &&
         c->shared_bytes <= MOST_SHARED &&
         c->shared_bytes <= bsm_cuda_most_shared(sm);
}

/* False: there is no room for it. */
static bool make_cluster(const bsm_plan *plan, const bsm_plan_step *step,
                         int sm, cluster *c) {
  const bsm_step_recurrent *p = &step->params->recurrent;
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  if (sm < 90 || p->projection || p->hidden > 4096 || x->dims.d[1] == 0 ||
      x->dims.d[1] > INT32_MAX / 4096 || dtype == BSM_DTYPE_DOUBLE) {
    return false;
  }
  share_batch(c, x->dims.d[1], p->directions);
  for (c->outside = 0; c->outside < MOST_OUTSIDE; c->outside++) {
    if (fill_cluster(p, dtype, sm, c)) return true;
  }
  return false;
}

/* ---- the same on tensor cores ---- */

#define TENSOR_TACTIC "tensor"
#define MOST_TILES 4
#define MOST_WARPS 16
/* Registers of a thread besides weights: those for each tile of 8 samples. */
#define TENSOR_REGISTERS 72
#define TILE_REGISTERS 36

/* How a network lies in a cluster: options of the kernel. */
typedef struct tensors {
  int tiles, inside, warps;
  int64_t groups;
  size_t shared_bytes;
} tensors;

/* With so many tiles of samples in a cluster; false: there is no room. */
static bool fill_tensors(const bsm_step_recurrent *p, int64_t batch, int sm,
                         int tiles, tensors *t) {
  const int gates = (int)bsm_recurrent_gates(p->operation);
  const int parts = (int)(p->hidden + 31) / 32;
  t->tiles = tiles;
  t->warps = (int)(p->hidden + 63) / 64;
  t->groups = (batch + 8 * tiles - 1) / (8 * tiles);
  const int most = REGISTERS / ((t->warps + 3) / 4 * 128); /* of a thread */
  const int left = (most < MOST_REGISTERS ? most : MOST_REGISTERS) -
                   TENSOR_REGISTERS - tiles * TILE_REGISTERS;
  t->inside = left < 0 ? 0 : left / (4 * gates);
  if (t->inside > parts) t->inside = parts;
  const int64_t states = (int64_t)4 * 8 * tiles * (t->warps * 64 + 32) * 2;
  const int64_t weights =
      (int64_t)(parts - t->inside) * gates * 16 * 32 * t->warps;
  t->shared_bytes = (size_t)(states + weights);
  return t->shared_bytes <= MOST_SHARED &&
         t->shared_bytes <= bsm_cuda_most_shared(sm) && t->groups <= MAX_GROUPS;
}

/* As few clusters as run at once, each of few samples. */
static bool make_tensors(const bsm_plan *plan, const bsm_plan_step *step,
                         int sm, tensors *t) {
  const bsm_step_recurrent *p = &step->params->recurrent;
  const int64_t batch = bsm_step_input(plan, step, 0)->dims.d[1];
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  const int64_t most = CLUSTERS / p->directions;
  if (sm < 90 || p->projection || p->hidden > 64 * MOST_WARPS || batch == 0 ||
      p->operation == BSM_RECURRENT_RELU ||
      (dtype != BSM_DTYPE_HALF && dtype != BSM_DTYPE_BFLOAT16)) {
    return false;
  }
  int tiles = 1;
  while (tiles < MOST_TILES && batch > 8 * tiles * most) tiles++;
  while (tiles > 0 && !fill_tensors(p, batch, sm, tiles, t)) tiles--;
  return tiles > 0;
}

/* From so many samples on tensor cores are faster where clusters have weights
 * in shared memory. Where registers hold all of them, the other kernel is, or
 * takes as long: its steps wait for less. */
#define MANY_SAMPLES 8

/* What is taken without timing comes first. */
static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                      const char **names) {
  cluster c = {0};
  tensors t;
  const bool has_cluster = make_cluster(plan, step, sm, &c);
  const bool has_tensors = make_tensors(plan, step, sm, &t);
  const bool is_light =
      has_cluster && (c.outside == 0 ||
                      bsm_step_input(plan, step, 0)->dims.d[1] < MANY_SAMPLES);
  size_t count = 0;
  if (has_tensors && !is_light) names[count++] = TENSOR_TACTIC;
  if (has_cluster) names[count++] = CLUSTER_TACTIC;
  if (has_tensors && is_light) names[count++] = TENSOR_TACTIC;
  names[count++] = BSM_CUDA_PLAIN_TACTIC;
  return count;
}

static bsm_status launch_tensors(work *w, const tensors *t) {
  const bsm_cuda_recurrent p = parameters_of(w);
  BSM_TRY(bsm_cuda_add_launch(
      w->l, "recurrent_tensor", "recurrent_tensor", &p, sizeof(p),
      "-DK_T=%s -DK_CELL=%d -DK_HIDDEN=%d -DK_TILES=%d -DK_INSIDE=%d",
      bsm_cuda_type(w->y->dtype), w->p->operation, (int)w->p->hidden, t->tiles,
      t->inside));
  bsm_cuda_set_block(w->l, (unsigned)t->warps * 32, 1, 1);
  bsm_cuda_set_grid(w->l, CLUSTER_BLOCKS, (uint64_t)t->groups,
                    (uint64_t)w->p->directions);
  bsm_cuda_set_shared(w->l, t->shared_bytes);
  bsm_cuda_set_rounds(w->l, 0, w->chunk, w->length);
  return add_step_slots(w);
}

static bsm_status add_cluster(work *w, const cluster *c) {
  const bsm_cuda_recurrent p = parameters_of(w);
  BSM_TRY(bsm_cuda_add_launch(
      w->l, "recurrent_cluster", "recurrent_cluster", &p, sizeof(p),
      "-DK_T=%s -DK_CELL=%d -DK_HIDDEN=%d -DK_LANES=%d -DK_SAMPLES=%d "
      "-DK_PACKED=%d -DK_OUTSIDE=%d",
      bsm_cuda_type(w->y->dtype), w->p->operation, (int)w->p->hidden, c->lanes,
      c->samples, c->packed, c->outside));
  bsm_cuda_set_block(w->l, (unsigned)c->threads, 1, 1);
  bsm_cuda_set_grid(w->l, CLUSTER_BLOCKS, (uint64_t)c->groups,
                    (uint64_t)w->p->directions);
  bsm_cuda_set_shared(w->l, c->shared_bytes);
  bsm_cuda_set_rounds(w->l, 0, w->chunk, w->length);
  return add_step_slots(w);
}

static bsm_status launch_cluster(work *w, const cluster *c) {
  cluster other = *c;
  for (other.samples = 1; other.samples <= 4; other.samples *= 2) {
    if (w->l->scope != BSM_CUDA_FOR_RANGE || other.samples == c->samples) {
      continue;
    }
    BSM_TRY(add_cluster(w, &other));
    BSM_TRY(bsm_cuda_set_aside(w->l));
  }
  return add_cluster(w, c);
}

/* Steps in time by the kernel that the tactic names, or, where it names none,
 * by the first one that there is. */
static bsm_status launch_time(work *w) {
  const bsm_cuda_launches *l = w->l;
  const char *names[3], *tactic = l->step->tactic;
  cluster c;
  tensors t;
  if (!bsm_cuda_may_specialise(l)) return launch_steps(w);
  const bool has_tensors = l->scope == BSM_CUDA_FOR_SIZES &&
                           make_tensors(l->plan, l->step, l->sm, &t);
  if (strcmp(tactic, CLUSTER_TACTIC) != 0 &&
      strcmp(tactic, TENSOR_TACTIC) != 0) {
    tactics(l->plan, l->step, l->sm, names);
    tactic = names[0];
  }
  if (has_tensors && strcmp(tactic, TENSOR_TACTIC) == 0) {
    return launch_tensors(w, &t);
  }
  return make_cluster(l->plan, l->step, l->sm, &c) ? launch_cluster(w, &c)
                                                   : launch_steps(w);
}

static bsm_status launches(bsm_cuda_launches *l) {
  work w = {.l = l,
            .p = &l->step->params->recurrent,
            .x = bsm_cuda_input(l, 0),
            .y = bsm_cuda_output(l, 0)};
  BSM_TRY(bsm_cuda_recurrent_layout_of(w.p, &w.layout));
  w.held = w.y->dtype == BSM_DTYPE_DOUBLE ? BSM_DTYPE_DOUBLE : BSM_DTYPE_FLOAT;
  w.length = w.x->dims.d[0];
  w.batch = w.x->dims.d[1];
  if (w.batch == 0) return BSM_OK;
  BSM_TRY(place_arrays(&w));
  l->rounds = w.length > 0 ? w.length : 1;
  BSM_TRY(launch_states(&w, false));
  if (w.length > 0) {
    BSM_TRY(launch_products(&w));
    BSM_TRY(launch_time(&w));
  }
  return launch_states(&w, true);
}

const bsm_cuda_step_kind bsm_cuda_RECURRENT = {check, launches, tactics, NULL};
