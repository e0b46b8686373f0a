/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between layouts and dtypes: transposes, slices, gathering of
 * concatenations, casts. */
#include <string.h>

#include "backend/cpu/cpu_block.h"
#include "backend/cpu/cpu_held.h"
#include "backend/cpu/cpu_strided.h"

#define CHUNK 256  /* elements converted at once */
#define UNIT 32768 /* elements of a unit of work */
/* Rows of a block of a transposition at least; and at most where its input has
 * rows far apart, of each of which a page is read then. */
#define TRANSPOSE_ROWS 64
#define TRANSPOSE_PAGE 1024
/* Such blocks for each thread. */
#define BLOCKS 4

typedef enum mode { STRIDED, TRANSPOSE, CONVERT, CONVERT_BLOCKS } mode;

/* Transposition of dimensions `row` (of x: stride 1) and the last one. */
typedef struct squares {
  bsm_cpu_space outer;
  int64_t rows, columns, x_stride, y_stride;
  /* A unit is a block of rows and columns of one square, or several small
   * squares. */
  int64_t block_rows, row_blocks, block_columns, column_blocks, count;
} squares;

/* Conversion of blocks: all of the space below one element. */
typedef struct blocks {
  bsm_cpu_space one;
  bsm_cpu_block block;
  bsm_cpu_view in, out;
  bsm_cpu_piece piece; /* the first one */
  int64_t ranges;      /* pieces of a range of its level */
} blocks;

typedef struct copy {
  bsm_cpu_impl base;
  mode mode;
  bsm_cpu_space space; /* 0: output, 1: input */
  bsm_dtype from, to;
  int64_t element;
  const bsm_k_rows *rows;
  const squares *squares; /* of TRANSPOSE */
  const blocks *blocks;   /* of CONVERT_BLOCKS */
} copy;

/* The dimension along which the input is contiguous, while the output is along
 * the last one: squares of the two are transposed. -1: there is none. */
static int32_t transposed_dimension(const bsm_cpu_space *s) {
  const int32_t last = s->rank - 1;
  if (s->count == 0 || s->strides[0][last] != 1 || s->strides[1][last] == 1) {
    return -1;
  }
  for (int32_t i = 0; i < last; i++) {
    if (s->strides[1][i] == 1 && s->dims[i] >= 8) return i;
  }
  return -1;
}

/* Cuts columns of squares of so few rows that threads would have nothing to do.
 */
static void cut_columns(int threads, squares *q) {
  const int64_t units = q->outer.count * q->row_blocks;
  const int64_t rows = bsm_cpu_min(q->rows, q->block_rows);
  const int64_t parts = rows * q->columns / (UNIT / 4);
  q->block_columns = q->columns;
  if (threads > 1 && q->count == 1 && units < BLOCKS * (int64_t)threads) {
    const int64_t want = bsm_cpu_div_up(BLOCKS * (int64_t)threads, units);
    const int64_t cut = bsm_cpu_max(1, bsm_cpu_min(want, parts));
    q->block_columns = bsm_cpu_max(
        1, bsm_cpu_round_up(bsm_cpu_div_up(q->columns, cut), TRANSPOSE_ROWS));
  }
  q->column_blocks =
      bsm_cpu_max(1, bsm_cpu_div_up(q->columns, q->block_columns));
}

/* Splits the space into squares of dimension `row` and the last one. */
static void prepare_squares(const bsm_cpu_space *s, int32_t row, int threads,
                            squares *q) {
  const int32_t last = s->rank - 1;
  q->rows = s->dims[row];
  q->columns = s->dims[last];
  q->x_stride = s->strides[1][last];
  q->y_stride = s->strides[0][row];
  q->outer = *s;
  q->outer.dims[row] = q->outer.dims[last] = 1;
  bsm_cpu_space_reduce(&q->outer, false);
  q->block_rows = bsm_cpu_max(TRANSPOSE_ROWS, UNIT / 8 / q->columns);
  if (q->x_stride > q->y_stride) {
    const int64_t share = q->outer.count * q->rows / BLOCKS / threads;
    q->block_rows = bsm_cpu_max(
        q->block_rows,
        bsm_cpu_min(bsm_cpu_round_up(share, TRANSPOSE_ROWS), TRANSPOSE_PAGE));
  }
  q->row_blocks = bsm_cpu_div_up(q->rows, q->block_rows);
  q->count =
      q->row_blocks > 1 ? 1 : bsm_cpu_max(1, UNIT / 4 / (q->rows * q->columns));
  cut_columns(threads, q);
}

/* Pieces of the space, loaded as if they were a row. */
static void prepare_blocks(const copy *c, blocks *b) {
  const bsm_cpu_space *s = &c->space;
  b->one = (bsm_cpu_space){.rank = 1, .operands = 2, .count = 1, .dims = {1}};
  b->in = (bsm_cpu_view){&b->one,
                         s,
                         1,
                         c->from,
                         bsm_cpu_class_of(c->from),
                         BSM_CPU_BLOCK_ROOM,
                         c->rows,
                         &c->base.elements};
  b->out = b->in;
  b->out.operand = 0;
  b->out.dtype = c->to;
  b->out.piece = bsm_cpu_class_of(c->to);
  bsm_cpu_block_seek(&b->one, 0, 1, &b->block);
  bsm_cpu_piece_first(&b->in, &b->block, &b->piece);
  b->ranges = bsm_cpu_div_up(s->dims[b->piece.level], b->piece.most);
}

/* What the mode needs, which is more than the rest: a plan may have very many
 * copies. */
static bsm_status prepare_mode(const bsm_cpu_prepare *p, copy *c, bool along) {
  const int32_t row = c->from == c->to ? transposed_dimension(&c->space) : -1;
  if (row >= 0) {
    squares *q = BSM_NEW(p->arena, squares);
    BSM_TRY_ALLOC(q);
    prepare_squares(&c->space, row, p->threads, q);
    c->squares = q;
    c->mode = TRANSPOSE;
  } else if (c->from == c->to) {
    c->mode = STRIDED;
  } else if (along || c->space.count == 0) {
    c->mode = CONVERT;
  } else {
    blocks *b = BSM_NEW(p->arena, blocks);
    BSM_TRY_ALLOC(b);
    prepare_blocks(c, b);
    c->blocks = b;
    c->mode = CONVERT_BLOCKS;
  }
  return BSM_OK;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  copy *c = BSM_NEW(p->arena, copy);
  BSM_TRY_ALLOC(c);
  const bsm_plan_tensor *tensors[2] = {bsm_step_output(p->plan, p->step, 0),
                                       bsm_step_input(p->plan, p->step, 0)};
  c->base.elements = bsm_cpu_elements_of(p->isa);
  c->base.slots = p->threads;
  c->rows = bsm_k_rows_select(p->isa);
  c->to = tensors[0]->dtype;
  c->from = tensors[1]->dtype;
  c->element = (int64_t)bsm_dtype_size(c->to);
  bsm_cpu_space_init(&c->space, tensors, 2);
  const int32_t last = c->space.rank - 1;
  const bool along =
      c->space.strides[0][last] == 1 && c->space.strides[1][last] == 1;
  BSM_TRY(prepare_mode(p, c, along));
  const uint64_t bytes = c->mode == CONVERT_BLOCKS
                             ? 2 * bsm_cpu_block_bytes(BSM_CPU_BLOCK_ROOM)
                             : 0;
  c->base.description = c->mode == STRIDED     ? "strided"
                        : c->mode == TRANSPOSE ? "transpose"
                                               : "convert";
  out->impl = c;
  return bsm_cpu_set_scratch(out, 0, bytes, c->base.slots);
}

typedef struct work {
  const copy *c;
  const char *x;
  char *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

static void convert_row(const copy *c, const char *x, int64_t x_stride, char *y,
                        int64_t y_stride, int64_t n) {
  double loaded[CHUNK], cast[CHUNK], room[CHUNK];
  const bsm_cpu_elements *k = &c->base.elements;
  const int64_t from_size = (int64_t)bsm_dtype_size(c->from);
  for (int64_t i = 0; i < n; i += CHUNK) {
    const int64_t count = bsm_cpu_min(CHUNK, n - i);
    bsm_cpu_hold(k, c->from, x + i * x_stride * from_size, x_stride, count,
                 loaded);
    bsm_cpu_cast_held(k, c->from, loaded, c->to, cast, count, room);
    bsm_cpu_put(k, c->to, y + i * y_stride * c->element, y_stride, count, cast);
  }
}

/* How many rows of `left` elements are copied at once: whole ones that stay in
 * the cache. */
static int64_t whole_rows(const bsm_cpu_space *s, const bsm_cpu_cursor *at,
                          int64_t left) {
  const int32_t last = s->rank - 1;
  if (last == 0 || at->index[last] != 0) return 0;
  return bsm_cpu_min(
      CHUNK, bsm_cpu_min(bsm_cpu_rows_left(s, at), left / s->dims[last]));
}

static void rows_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const copy *c = w->c;
  const bsm_cpu_space *s = &c->space;
  const int32_t last = s->rank - 1;
  const int64_t from_size = (int64_t)bsm_dtype_size(c->from);
  int64_t left = bsm_cpu_min(UNIT, s->count - unit * UNIT);
  bsm_cpu_cursor at;
  (void)slot;
  bsm_cpu_seek(s, unit * UNIT, &at);
  while (left > 0) {
    const int64_t n = bsm_cpu_min(left, bsm_cpu_row_left(s, &at));
    const char *x = w->x + at.offset[1] * from_size;
    char *y = w->y + at.offset[0] * c->element;
    const int64_t whole = whole_rows(s, &at, left);
    if (c->mode == STRIDED && whole > 0) {
      const int64_t dims[2] = {whole, s->dims[last]};
      bsm_cpu_copy_rows(c->element, x, &s->strides[1][last - 1], y,
                        &s->strides[0][last - 1], dims);
      bsm_cpu_advance_rows(s, &at, whole);
      left -= whole * s->dims[last];
      continue;
    }
    if (c->mode == CONVERT) {
      convert_row(c, x, s->strides[1][last], y, s->strides[0][last], n);
    } else {
      bsm_cpu_copy_row(c->element, x, s->strides[1][last], y,
                       s->strides[0][last], n);
    }
    bsm_cpu_advance(s, &at, n);
    left -= n;
  }
}

static void transpose_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const copy *c = w->c;
  const squares *q = c->squares;
  const int64_t parts = q->row_blocks * q->column_blocks;
  const int64_t row = unit % q->row_blocks * q->block_rows;
  const int64_t column = unit % parts / q->row_blocks * q->block_columns;
  const int64_t first = unit / parts * q->count;
  const int64_t end = bsm_cpu_min(first + q->count, q->outer.count);
  bsm_cpu_cursor at;
  (void)slot;
  bsm_cpu_seek(&q->outer, first, &at);
  for (int64_t i = first; i < end; i++) {
    bsm_cpu_transpose(
        c->rows, c->element,
        w->x + (at.offset[1] + row + column * q->x_stride) * c->element,
        q->x_stride,
        w->y + (at.offset[0] + row * q->y_stride + column) * c->element,
        q->y_stride, bsm_cpu_min(q->block_rows, q->rows - row),
        bsm_cpu_min(q->block_columns, q->columns - column));
    bsm_cpu_advance(&q->outer, &at, 1);
  }
}

/* A piece: what is first in a range, or the rest of one. */
static void blocks_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const copy *c = w->c;
  const blocks *b = c->blocks;
  const int64_t size = c->space.dims[b->piece.level];
  const int64_t first = unit % b->ranges * b->piece.most;
  uint8_t *loaded = w->scratch + (size_t)slot * w->slot_size;
  uint8_t *cast = loaded + bsm_cpu_block_bytes(BSM_CPU_BLOCK_ROOM);
  bsm_cpu_piece p = b->piece;
  int64_t stride;
  bsm_cpu_seek(&c->space, (unit / b->ranges * size + first) * p.inner, &p.at);
  p.length = bsm_cpu_min(p.most, size - first);
  p.count = p.length * p.inner;
  const void *x =
      bsm_cpu_block_load(&b->in, w->x, &b->block, &p, loaded, &stride);
  bsm_cpu_cast(&c->base.elements, b->in.piece, x, c->to, cast, p.count);
  bsm_cpu_block_store(&b->out, w->y, &b->block, &p, cast);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const copy *c = prepared->impl;
  work w = {c, bsm_cpu_input_address(prepared, r, 0),
            bsm_cpu_output_address(prepared, r, 0), r->scratch,
            prepared->scratch_size / (size_t)c->base.slots};
  if (c->space.count == 0) return BSM_OK;
  if (c->mode == TRANSPOSE) {
    const squares *q = c->squares;
    bsm_cpu_parallel(r, c->base.slots,
                     bsm_cpu_div_up(q->outer.count, q->count) * q->row_blocks *
                         q->column_blocks,
                     transpose_unit, &w);
  } else if (c->mode == CONVERT_BLOCKS) {
    const blocks *b = c->blocks;
    const int64_t range = c->space.dims[b->piece.level] * b->piece.inner;
    bsm_cpu_parallel(r, c->base.slots, c->space.count / range * b->ranges,
                     blocks_unit, &w);
  } else {
    bsm_cpu_parallel(r, c->base.slots, bsm_cpu_div_up(c->space.count, UNIT),
                     rows_unit, &w);
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_COPY = {bsm_check_copy, NULL, prepare, run};
