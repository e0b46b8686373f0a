/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation of any layout and dtypes, by blocks of neighbours.
 *
 * The pieces of a block are loaded up to three times: for the mean, for the
 * variance and to be written; what fits into one piece is loaded once. Floats,
 * half and bfloat16 are computed in float, with sums of sums in double. */
#include "backend/cpu/cpu_normalization.h"

#define WIDTH BSM_CPU_BLOCK_WIDTH
#define LANES 64    /* of a row */
#define SUM_ROWS 64 /* rows added in float before they go to double */
#define PIECES 4    /* of the operands, each with its buffers */
#define UNIT 8192   /* elements */

enum {
  OUT = BSM_CPU_NORM_OUT,
  IN = BSM_CPU_NORM_IN,
  SCALE = BSM_CPU_NORM_SCALE,
  BIAS = BSM_CPU_NORM_BIAS
};

static bool is_along(const bsm_cpu_space *s, int operand) {
  for (int32_t i = 0; i < s->rank; i++) {
    if (s->dims[i] > 1 && s->strides[operand][i] != 0) return true;
  }
  return false;
}

void bsm_cpu_norm_prepare_blocks(bsm_cpu_norm *n,
                                 const bsm_plan_tensor *const *t,
                                 uint64_t *bytes) {
  n->piece = BSM_CPU_F32;
  for (int k = 0; k < BSM_CPU_NORM_OPERANDS; k++) {
    if (t[k] && bsm_cpu_class_of(t[k]->dtype) == BSM_CPU_F64) {
      n->piece = BSM_CPU_F64;
    }
  }
  for (int k = 0; k < BSM_CPU_NORM_OPERANDS; k++) {
    if (!t[k]) continue;
    n->views[k] = (bsm_cpu_view){
        &n->kept, &n->reduced,        k,       t[k]->dtype,
        n->piece, BSM_CPU_BLOCK_ROOM, n->rows, &n->base.elements};
    n->along_kept[k] = is_along(&n->kept, k);
    n->along_reduced[k] = is_along(&n->reduced, k);
  }
  n->width = bsm_cpu_block_width(&n->kept, &n->reduced, 2);
  n->row_blocks =
      bsm_cpu_max(1, UNIT / n->width / bsm_cpu_max(1, n->reduced.count));
  *bytes = PIECES * bsm_cpu_block_bytes(BSM_CPU_BLOCK_ROOM);
}

/* ---- one block ---- */

typedef struct task {
  const bsm_cpu_norm_work *w;
  const bsm_cpu_norm *n;
  bsm_cpu_block block, lone; /* lone: its first column */
  uint8_t *buffers[BSM_CPU_NORM_OPERANDS];
  /* The piece of x that is loaded, when it is all there is. */
  const void *whole;
  int64_t whole_stride;
  /* (x - mean) * factor + shift */
  double mean[WIDTH], factor[WIDTH], shift[WIDTH];
  float mean_f32[WIDTH], factor_f32[WIDTH], shift_f32[WIDTH];
} task;

static const void *load(task *t, const bsm_cpu_piece *piece, int64_t *stride) {
  if (t->whole) {
    *stride = t->whole_stride;
    return t->whole;
  }
  return bsm_cpu_block_load(&t->n->views[IN], t->w->in[IN], &t->block, piece,
                            t->buffers[IN], stride);
}

/* The sums of a piece; with `squares` those of the differences from the mean as
 * it is known so far, and of their squares. */
static void sum_f64(const task *t, const double *x, int64_t stride,
                    int64_t rows, double *sum, double *squares) {
  const int64_t n = t->block.width;
  for (int64_t r = 0; r < rows; r++, x += stride) {
    for (int64_t i = 0; i < n; i++) {
      const double v = x[i] - t->mean[i];
      sum[i] += v;
      if (squares) squares[i] += v * v;
    }
  }
}

/* A row as columns. */
static void add_row(const task *t, const float *x, int64_t n, double *sum,
                    double *squares) {
  float mean[LANES], part[LANES], part_squares[LANES];
  for (int i = 0; i < LANES; i++) mean[i] = t->mean_f32[0];
  for (int64_t done = 0; done < n;) {
    const int64_t rows = bsm_cpu_min((n - done) / LANES, SUM_ROWS);
    const int64_t lanes = rows ? LANES : n - done;
    t->n->rows->moment_columns(x + done, LANES, rows ? rows : 1, mean, part,
                               part_squares, lanes);
    for (int64_t i = 0; i < lanes; i++) {
      sum[0] += (double)part[i];
      squares[0] += (double)part_squares[i];
    }
    done += rows ? rows * LANES : lanes;
  }
}

static void sum_f32(const task *t, const float *x, int64_t stride, int64_t rows,
                    double *sum, double *squares) {
  const bsm_k_rows *k = t->n->rows;
  const int64_t n = t->block.width;
  float part[WIDTH], part_squares[WIDTH];
  if (n == 1 && squares) {
    add_row(t, x, rows, sum, squares);
    return;
  }
  if (n == 1) {
    sum[0] += (double)k->sum(x, rows);
    return;
  }
  for (int64_t r = 0; r < rows; r += SUM_ROWS) {
    const int64_t count = bsm_cpu_min(SUM_ROWS, rows - r);
    if (squares) {
      k->moment_columns(x + r * stride, stride, count, t->mean_f32, part,
                        part_squares, n);
    } else {
      k->sum_columns(x + r * stride, stride, count, part, n);
    }
    for (int64_t i = 0; i < n; i++) {
      sum[i] += (double)part[i];
      if (squares) squares[i] += (double)part_squares[i];
    }
  }
}

static void add_up(task *t, double *sum, double *squares) {
  const bsm_cpu_view *in = &t->n->views[IN];
  bsm_cpu_piece piece;
  bool more = bsm_cpu_piece_first(in, &t->block, &piece);
  for (; more; more = bsm_cpu_piece_next(in, &piece)) {
    int64_t stride;
    const void *x = load(t, &piece, &stride);
    if (piece.count == in->reduced->count) {
      t->whole = x;
      t->whole_stride = stride;
    }
    if (t->n->piece == BSM_CPU_F64) {
      sum_f64(t, x, stride, piece.count, sum, squares);
    } else {
      sum_f32(t, x, stride, piece.count, sum, squares);
    }
  }
}

/* The mean that is subtracted is that of the first sums; what the second ones
 * say of its rounding is taken back by the shift. */
static void find_moments(task *t) {
  const bsm_cpu_norm *n = t->n;
  const double size = (double)n->reduced.count;
  const int64_t width = t->block.width;
  double sum[WIDTH], squares[WIDTH];
  for (int64_t i = 0; i < width; i++) {
    sum[i] = squares[i] = t->mean[i] = 0.0;
    t->mean_f32[i] = 0.0f;
  }
  if (!n->rms) {
    add_up(t, sum, NULL);
    for (int64_t i = 0; i < width; i++) {
      t->mean_f32[i] = (float)(sum[i] / size);
      t->mean[i] =
          n->piece == BSM_CPU_F64 ? sum[i] / size : (double)t->mean_f32[i];
      sum[i] = 0.0;
    }
  }
  add_up(t, sum, squares);
  for (int64_t i = 0; i < width; i++) {
    const double rest = n->rms ? 0.0 : sum[i] / size;
    t->factor[i] = bsm_cpu_norm_factor(n, squares[i] / size - rest * rest);
    t->factor_f32[i] = (float)t->factor[i];
    t->shift[i] = -rest * t->factor[i];
    t->shift_f32[i] = (float)t->shift[i];
  }
}

/* ---- writing ---- */

/* Scale or bias of a piece, and its strides: 0 where it does not change. */
typedef struct side {
  const void *data; /* NULL: none */
  int64_t row, column;
} side;

static side load_side(task *t, int operand, const bsm_cpu_piece *piece) {
  const bsm_cpu_norm *n = t->n;
  const bsm_cpu_view *v = &n->views[operand];
  const bool changes = n->along_reduced[operand];
  bsm_cpu_piece first = *piece;
  side s = {.column = t->block.width > 1 && n->along_kept[operand]};
  if (!changes) first.length = first.count = first.inner = 1;
  if (!changes) first.level = v->reduced->rank - 1;
  s.data = bsm_cpu_block_load(v, t->w->in[operand],
                              n->along_kept[operand] ? &t->block : &t->lone,
                              &first, t->buffers[operand], &s.row);
  if (!changes) s.row = 0;
  return s;
}

/* y = (x - mean) * factor [* scale] [+ bias] */
typedef struct writing {
  const void *x;
  void *y;
  int64_t x_row, y_row, rows;
  side scale, bias;
} writing;

static void write_f64(const task *t, const writing *p) {
  const double *scale = p->scale.data, *bias = p->bias.data;
  for (int64_t r = 0; r < p->rows; r++) {
    const double *x = (const double *)p->x + r * p->x_row;
    double *y = (double *)p->y + r * p->y_row;
    for (int64_t i = 0; i < t->block.width; i++) {
      double v = (x[i] - t->mean[i]) * t->factor[i] + t->shift[i];
      if (scale) v *= scale[r * p->scale.row + i * p->scale.column];
      if (bias) v += bias[r * p->bias.row + i * p->bias.column];
      y[i] = v;
    }
  }
}

/* Width 1: a row. */
static void write_row(const task *t, const writing *p) {
  const bsm_k_rows *k = t->n->rows;
  const float *scale = p->scale.data, *bias = p->bias.data;
  const float mean = t->mean_f32[0];
  float factor = t->factor_f32[0], shift = t->shift_f32[0];
  float *y = p->y;
  if (scale && p->scale.row == 0) {
    factor *= *scale;
    shift *= *scale;
    scale = NULL;
  }
  if (bias && p->bias.row == 0 && !scale) {
    shift += *bias;
    bias = NULL;
  }
  k->center(p->x, y, p->rows, mean, factor, shift);
  if (bias && p->bias.row == 0) {
    k->normalize(y, y, p->rows, 0.0f, 1.0f, scale, NULL);
    k->center(y, y, p->rows, 0.0f, 1.0f, *bias);
  } else if (scale || bias) {
    k->normalize(y, y, p->rows, 0.0f, 1.0f, scale, bias);
  }
}

static void write_columns(const task *t, const writing *p) {
  const bsm_k_rows *k = t->n->rows;
  const int64_t n = t->block.width;
  const float *scale = p->scale.data, *bias = p->bias.data;
  float factor[WIDTH], shift[WIDTH];
  bsm_k_center c = {.x = p->x,
                    .mean = t->mean_f32,
                    .factor = t->factor_f32,
                    .shift = t->shift_f32,
                    .y = p->y,
                    .rows = p->rows,
                    .n = n,
                    .x_row = p->x_row,
                    .y_row = p->y_row};
  if (scale && p->scale.row == 0) {
    for (int64_t i = 0; i < n; i++) {
      factor[i] = t->factor_f32[i] * scale[i * p->scale.column];
      shift[i] = t->shift_f32[i] * scale[i * p->scale.column];
    }
    c.factor = factor;
    c.shift = shift;
    scale = NULL;
  } else if (scale && p->scale.column == 0) {
    c.row_scale = scale;
    scale = NULL;
  }
  if (bias && !scale && p->bias.column == 0 && p->bias.row) {
    c.row_shift = bias;
    bias = NULL;
  } else if (bias && !scale && !c.row_scale && p->bias.row == 0) {
    for (int64_t i = 0; i < n; i++) {
      shift[i] = c.shift[i] + bias[i * p->bias.column];
    }
    c.shift = shift;
    bias = NULL;
  }
  k->center_columns(&c);
  for (int64_t r = 0; (scale || bias) && r < p->rows; r++) {
    float *y = c.y + r * p->y_row;
    for (int64_t i = 0; i < n; i++) {
      if (scale) y[i] *= scale[r * p->scale.row + i * p->scale.column];
      if (bias) y[i] += bias[r * p->bias.row + i * p->bias.column];
    }
  }
}

static void write_piece(task *t, const bsm_cpu_piece *piece) {
  const bsm_cpu_norm *n = t->n;
  const bsm_cpu_view *out = &n->views[OUT];
  writing p = {.rows = piece->count};
  p.x = load(t, piece, &p.x_row);
  p.y = bsm_cpu_block_place(out, t->w->y, &t->block, piece, &p.y_row);
  const bool in_place = p.y != NULL;
  if (!in_place) {
    p.y = t->buffers[OUT];
    p.y_row = t->block.width;
  }
  if (n->has_scale) p.scale = load_side(t, SCALE, piece);
  if (n->has_bias) p.bias = load_side(t, BIAS, piece);
  if (n->piece == BSM_CPU_F64) {
    write_f64(t, &p);
  } else if (n->width == 1) {
    write_row(t, &p);
  } else {
    write_columns(t, &p);
  }
  if (!in_place) {
    bsm_cpu_block_store(out, t->w->y, &t->block, piece, p.y);
  }
}

static void normalize_block(task *t) {
  const bsm_cpu_view *in = &t->n->views[IN];
  bsm_cpu_piece piece;
  t->whole = NULL;
  find_moments(t);
  bool more = bsm_cpu_piece_first(in, &t->block, &piece);
  for (; more; more = bsm_cpu_piece_next(in, &piece)) write_piece(t, &piece);
}

static void blocks_unit(void *arg, int64_t unit, int slot) {
  const bsm_cpu_norm_work *w = arg;
  const bsm_cpu_norm *n = w->n;
  const int64_t size = n->width * n->row_blocks;
  const int64_t end = bsm_cpu_min((unit + 1) * size, n->kept.count);
  task t;
  t.w = w;
  t.n = n;
  for (int k = 0; k < BSM_CPU_NORM_OPERANDS; k++) {
    t.buffers[k] = w->scratch + (size_t)slot * w->slot_size +
                   (size_t)k * bsm_cpu_block_bytes(BSM_CPU_BLOCK_ROOM);
  }
  for (int64_t i = unit * size; i < end; i += n->width) {
    bsm_cpu_block_seek(&n->kept, i, bsm_cpu_min(n->width, end - i), &t.block);
    bsm_cpu_block_seek(&n->kept, i, 1, &t.lone);
    normalize_block(&t);
  }
}

void bsm_cpu_norm_run_blocks(bsm_cpu_norm_work *w) {
  const bsm_cpu_norm *n = w->n;
  bsm_cpu_parallel(w->run, n->base.slots,
                   bsm_cpu_div_up(n->kept.count, n->width * n->row_blocks),
                   blocks_unit, w);
}
