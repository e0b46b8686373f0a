/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of any layout, dtypes and operation, by blocks of neighbours.
 *
 * Sums, squares and extremes of floats run in float, sums of sums in double;
 * everything else in double or int64. What is one row, because there are few
 * outputs, is seen as LANES columns, whose results are joined at the end. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_reduce.h"
#include "backend/cpu/kernels/lanes/lanes.h"

#define WIDTH BSM_CPU_BLOCK_WIDTH
#define LANES 64
#define SUM_ROWS 64 /* rows added in float before they go to double */
#define UNIT 8192   /* reduced elements of a unit */
/* Columns from which on rows of integers have vectors. */
#define WIDE_ROW 16

/* What the kernels of floats do. */
static bool is_float_work(const bsm_cpu_reduce *r) {
  if (bsm_cpu_class_of(r->from) != BSM_CPU_F32) return false;
  switch (r->operation) {
    case BSM_REDUCE_SUM:
    case BSM_REDUCE_AVG:
    case BSM_REDUCE_MAX:
    case BSM_REDUCE_MIN:
    case BSM_REDUCE_L2:
    case BSM_REDUCE_VARIANCE:
      return true;
    default:
      return false;
  }
}

void bsm_cpu_reduce_prepare_blocks(bsm_cpu_reduce *r, uint64_t *bytes) {
  const bsm_cpu_class own = bsm_cpu_class_of(r->from);
  r->one = (bsm_cpu_space){.rank = 1, .operands = 2, .count = 1, .dims = {1}};
  r->in = (bsm_cpu_view){
      &r->kept,
      &r->reduced,
      1,
      r->from,
      r->accumulate == BSM_CPU_F64 && own == BSM_CPU_F32 ? own : r->accumulate,
      BSM_CPU_BLOCK_ROOM,
      r->rows,
      &r->base.elements};
  r->out = (bsm_cpu_view){&r->kept, &r->one,          0,
                          r->to,    r->accumulate,    BSM_CPU_BLOCK_ROOM,
                          r->rows,  &r->base.elements};
  bsm_cpu_space *d = &r->reduced;
  for (int32_t i = 0; i < d->rank; i++) d->strides[0][i] = d->strides[1][i];
  r->width = bsm_cpu_block_width(&r->kept, d, 2);
  r->unit_blocks = bsm_cpu_max(1, UNIT / r->width / bsm_cpu_max(1, d->count));
  *bytes = bsm_cpu_block_bytes(BSM_CPU_BLOCK_ROOM);
}

int64_t bsm_cpu_reduce_units(const bsm_cpu_reduce *r) {
  return bsm_cpu_div_up(r->kept.count, r->width * r->unit_blocks);
}

/* ---- totals ---- */

/* Totals of columns: of a block, or of the lanes of a row. */
typedef struct totals {
  double f64[WIDTH], mean[WIDTH];
  /* Beside squares of floats: the sum of the differences from the mean as it
   * was rounded to float. */
  double rest[WIDTH];
  int64_t i64[WIDTH];
} totals;

static bsm_k_lanes_op lanes_op(const bsm_cpu_reduce *r) {
  switch (r->operation) {
    case BSM_REDUCE_PROD:
      return BSM_K_LANES_PROD;
    case BSM_REDUCE_MAX:
      return BSM_K_LANES_MAX;
    case BSM_REDUCE_MIN:
      return BSM_K_LANES_MIN;
    case BSM_REDUCE_ANY:
      return BSM_K_LANES_ANY;
    case BSM_REDUCE_ALL:
      return BSM_K_LANES_ALL;
    case BSM_REDUCE_L1:
      return BSM_K_LANES_ABS;
    case BSM_REDUCE_L2:
    case BSM_REDUCE_VARIANCE:
      return BSM_K_LANES_SQUARES;
    default:
      return BSM_K_LANES_SUM;
  }
}

/* What joins totals. */
static bsm_k_lanes_op joining_op(bsm_k_lanes_op op) {
  return op == BSM_K_LANES_ABS || op == BSM_K_LANES_SQUARES ? BSM_K_LANES_SUM
                                                            : op;
}

/* The totals of nothing. */
static void start(const bsm_cpu_reduce *r, bsm_k_lanes_op op, int64_t n,
                  totals *t) {
  const bool ones = op == BSM_K_LANES_PROD || op == BSM_K_LANES_ALL;
  const bool max = op == BSM_K_LANES_MAX, min = op == BSM_K_LANES_MIN;
  if (r->accumulate == BSM_CPU_I64) {
    r->base.elements.ints->fill(ones  ? 1
                                : max ? INT64_MIN
                                : min ? INT64_MAX
                                      : 0,
                                t->i64, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    t->rest[i] = 0.0;
    t->f64[i] = ones ? 1.0 : max ? -HUGE_VAL : min ? HUGE_VAL : 0.0;
  }
}

/* Floats: SUM_ROWS rows at a time. */
static void add_floats(const bsm_cpu_reduce *r, bsm_k_lanes_op op,
                       const float *x, int64_t stride, int64_t rows, int64_t n,
                       totals *t) {
  float part[WIDTH], mean[WIDTH], rest[WIDTH];
  for (int64_t i = 0; i < n; i++) mean[i] = (float)t->mean[i];
  for (int64_t k = 0; k < rows; k += SUM_ROWS) {
    const int64_t count = bsm_cpu_min(SUM_ROWS, rows - k);
    const float *from = x + k * stride;
    if (op == BSM_K_LANES_SUM) {
      r->rows->sum_columns(from, stride, count, part, n);
    } else if (op == BSM_K_LANES_SQUARES) {
      r->rows->moment_columns(from, stride, count, mean, rest, part, n);
      bsm_k_lanes_f32(BSM_K_LANES_SUM, rest, 0, 1, n, NULL, t->rest);
    } else if (op == BSM_K_LANES_MAX) {
      r->rows->max_columns(from, stride, count, part, n);
    } else {
      r->rows->min_columns(from, stride, count, part, n);
    }
    bsm_k_lanes_f32(joining_op(op), part, 0, 1, n, NULL, t->f64);
  }
}

/* What does a row at a time, or -1. */
static int ints_operation(bsm_k_lanes_op op) {
  switch (op) {
    case BSM_K_LANES_SUM:
      return BSM_K_INTS_SUM;
    case BSM_K_LANES_PROD:
      return BSM_K_INTS_PROD;
    case BSM_K_LANES_MAX:
      return BSM_K_INTS_MAX;
    case BSM_K_LANES_MIN:
      return BSM_K_INTS_MIN;
    default:
      return -1;
  }
}

static void add_integers(const bsm_k_ints *ints, bsm_k_lanes_op op,
                         const int64_t *x, int64_t stride, int64_t rows,
                         int64_t n, int64_t *total) {
  const int fast = n < WIDE_ROW ? -1 : ints_operation(op);
  if (fast < 0) {
    bsm_k_lanes_i64(op, x, stride, rows, n, total);
    return;
  }
  for (int64_t i = 0; i < rows; i++) {
    ints->binary((bsm_k_ints_op)fast, total, x + i * stride, total, n);
  }
}

/* A piece of n columns. */
static void add_piece(const bsm_cpu_reduce *r, bsm_k_lanes_op op, const void *x,
                      int64_t stride, int64_t rows, int64_t n, totals *t) {
  if (rows <= 0) return;
  if (r->in.piece == BSM_CPU_I64) {
    add_integers(r->base.elements.ints, op, x, stride, rows, n, t->i64);
  } else if (r->in.piece == BSM_CPU_F64) {
    bsm_k_lanes_f64(op, x, stride, rows, n, t->mean, t->f64);
  } else if (is_float_work(r)) {
    add_floats(r, op, x, stride, rows, n, t);
  } else {
    bsm_k_lanes_f32(op, x, stride, rows, n, t->mean, t->f64);
  }
}

/* A row as columns. */
static void add_row(const bsm_cpu_reduce *r, bsm_k_lanes_op op, const char *x,
                    int64_t n, totals *t) {
  const int64_t size = (int64_t)bsm_cpu_class_size(r->in.piece);
  const int64_t rows = n / LANES;
  add_piece(r, op, x, LANES, rows, LANES, t);
  if (n % LANES == 0) return;
  add_piece(r, op, x + rows * LANES * size, 0, 1, n % LANES, t);
}

static void join_lanes(const bsm_cpu_reduce *r, bsm_k_lanes_op op, totals *t) {
  op = joining_op(op);
  for (int64_t half = LANES / 2; half > 0; half /= 2) {
    if (r->accumulate == BSM_CPU_I64) {
      bsm_k_lanes_i64(op, t->i64 + half, 0, 1, half, t->i64);
      continue;
    }
    bsm_k_lanes_f64(op, t->f64 + half, 0, 1, half, NULL, t->f64);
    bsm_k_lanes_f64(BSM_K_LANES_SUM, t->rest + half, 0, 1, half, NULL, t->rest);
  }
}

/* ---- one block ---- */

typedef struct task {
  const bsm_cpu_reduce_work *w;
  bsm_cpu_block block;
  uint8_t *buffer;
} task;

static void add_up(const task *t, bsm_k_lanes_op op, totals *sums) {
  const bsm_cpu_reduce *r = t->w->r;
  const bool row = r->width == 1;
  bsm_cpu_piece piece;
  start(r, op, row ? LANES : t->block.width, sums);
  bool more = bsm_cpu_piece_first(&r->in, &t->block, &piece);
  for (; more; more = bsm_cpu_piece_next(&r->in, &piece)) {
    int64_t stride;
    const void *x = bsm_cpu_block_load(&r->in, t->w->x, &t->block, &piece,
                                       t->buffer, &stride);
    if (row) {
      add_row(r, op, x, piece.count, sums);
    } else {
      add_piece(r, op, x, stride, piece.count, t->block.width, sums);
    }
  }
  if (row) join_lanes(r, op, sums);
}

/* From totals to what is stored. */
static void finish(const bsm_cpu_reduce *r, totals *t, int64_t n) {
  const double size = (double)r->reduced.count;
  double divisor = 1.0;
  if (r->accumulate == BSM_CPU_I64) {
    for (int64_t i = 0; i < n && r->operation == BSM_REDUCE_AVG && size > 0.0;
         i++) {
      t->i64[i] /= r->reduced.count;
    }
    return;
  }
  if (r->operation == BSM_REDUCE_AVG) divisor = size;
  if (r->operation == BSM_REDUCE_VARIANCE) {
    divisor = fmax(size - r->correction, 0.0);
  }
  for (int64_t i = 0; i < n; i++) {
    if (r->operation == BSM_REDUCE_VARIANCE) {
      t->f64[i] -= t->rest[i] * t->rest[i] / size;
    }
    t->f64[i] /= divisor;
    if (r->operation == BSM_REDUCE_L2) t->f64[i] = sqrt(t->f64[i]);
  }
}

static void reduce_block(task *t) {
  const bsm_cpu_reduce *r = t->w->r;
  const bsm_k_lanes_op op = lanes_op(r);
  const int64_t n = t->block.width;
  totals sums;
  bsm_cpu_piece below;
  const int64_t lanes = r->width == 1 ? LANES : n;
  for (int64_t i = 0; i < lanes; i++) sums.mean[i] = 0.0;
  if (r->operation == BSM_REDUCE_VARIANCE) {
    add_up(t, BSM_K_LANES_SUM, &sums);
    for (int64_t i = 0; i < lanes; i++) {
      sums.mean[i] = sums.f64[r->width == 1 ? 0 : i] / (double)r->reduced.count;
    }
  }
  add_up(t, op, &sums);
  finish(r, &sums, n);
  const bool integers = r->accumulate == BSM_CPU_I64;
  memcpy(t->buffer, integers ? (void *)sums.i64 : (void *)sums.f64,
         (size_t)n * sizeof(double));
  bsm_cpu_piece_first(&r->out, &t->block, &below);
  bsm_cpu_block_store(&r->out, t->w->y, &t->block, &below, t->buffer);
}

void bsm_cpu_reduce_blocks_unit(void *work, int64_t unit, int slot) {
  const bsm_cpu_reduce_work *w = work;
  const bsm_cpu_reduce *r = w->r;
  const int64_t size = r->width * r->unit_blocks;
  const int64_t end = bsm_cpu_min((unit + 1) * size, r->kept.count);
  task t;
  t.w = w;
  t.buffer = w->scratch + (size_t)slot * w->slot_size;
  for (int64_t i = unit * size; i < end; i += r->width) {
    bsm_cpu_block_seek(&r->kept, i, bsm_cpu_min(r->width, end - i), &t.block);
    reduce_block(&t);
  }
}
