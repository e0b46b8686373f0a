/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of half and bfloat16, and those in groups of so few
 * maps that a vector holds several, by the kernels for floats.
 *
 * A unit is a block of channels and of columns, down a band of output rows. The
 * input rows that a window needs wait as floats in a ring, which is small
 * enough for the first-level cache, so that every input is widened once; sums
 * are floats, and are rounded once behind the activation. */
#include <string.h>

#include "backend/cpu/cpu_depthwise.h"
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_pack.h"
#include "base/checked.h"

/* Channels whose elements of 16 bits fill a line of a cache. */
#define LEAST_CHANNELS 32
#define MOST_CHANNELS 256
/* Of the ring. */
#define RING_BYTES ((int64_t)24 << 10)
#define LEAST_PIXELS 8

typedef struct depthwise {
  bsm_cpu_half_impl half;
  bsm_cpu_depthwise d;
  bsm_cpu_halves halves;
  bsm_step_window w;
  bsm_image x, y, residual;
  bool has_residual;
  bool shares; /* one list of pointers to a row serves all taps of a line */
  int64_t taps, rows; /* of the window; most output rows at once */
  int64_t span;       /* input rows of a window */
  int64_t ring;       /* rows */
  int64_t channel_block, channel_blocks, column_block, column_blocks;
  int64_t band, bands;
  int64_t columns; /* input columns of a block */
  int64_t list;    /* pointers to a row */
  /* Bytes of scratch, one behind the other. */
  uint64_t ring_size, zeros_size, results_size, pointers_size;
} depthwise;

/* ---- prepare ---- */

static bsm_status widen_constants(const bsm_cpu_prepare *p, depthwise *c) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  const uint16_t *kernel = bsm_cpu_weights(p, 0), *bias = bsm_cpu_weights(p, 1);
  uint64_t size;
  BSM_TRY(bsm_cpu_packed_half_size(p->step, c->x.c, &size));
  const size_t count = (size_t)(size / sizeof(*kernel));
  const int64_t maps = bsm_cpu_round_up(params->out_maps, BSM_PANEL);
  float *to = BSM_NEW_ARRAY(p->arena, float, count + (size_t)maps + 1);
  BSM_TRY_ALLOC(to);
  c->halves.widen(kernel, (int64_t)count, to);
  c->d.kernel = to;
  if (bias) {
    c->halves.widen(bias, params->out_maps, to + count);
    c->d.bias = to + count;
  }
  return BSM_OK;
}

static int64_t input_columns(const depthwise *c, int64_t outputs) {
  return (outputs - 1) * c->w.stride[2] +
         (c->w.kernel[2] - 1) * c->w.dilation[2] + 1;
}

/* Blocks whose ring is small, and that are as many as keep threads busy. */
static void choose_blocks(depthwise *c, int threads) {
  const int64_t channels = bsm_cpu_round_up(c->x.c, BSM_PANEL);
  const int64_t width = bsm_cpu_max(1, c->y.size[2]);
  const int64_t row = (int64_t)sizeof(float) * c->ring;
  c->channel_block = bsm_cpu_min(channels, LEAST_CHANNELS);
  const int64_t fit = RING_BYTES / (row * c->channel_block);
  c->column_block = bsm_cpu_max(
      LEAST_PIXELS, (fit - input_columns(c, 1)) / c->w.stride[2] + 1);
  c->column_blocks = bsm_cpu_div_up(width, c->column_block);
  c->column_block = bsm_cpu_div_up(width, c->column_blocks);
  while (2 * c->channel_block <= bsm_cpu_min(channels, MOST_CHANNELS) &&
         input_columns(c, c->column_block) * row * 2 * c->channel_block <=
             RING_BYTES) {
    c->channel_block *= 2;
  }
  c->channel_blocks = bsm_cpu_div_up(c->x.c, c->channel_block);
  const int64_t units = c->y.n * c->column_blocks * c->channel_blocks;
  const int64_t height = bsm_cpu_max(1, c->y.size[1]);
  c->bands = threads > 1
                 ? bsm_cpu_div_up(4 * (int64_t)threads, bsm_cpu_max(1, units))
                 : 1;
  c->band = bsm_cpu_round_up(bsm_cpu_div_up(height, c->bands), c->rows);
  c->bands = bsm_cpu_div_up(height, c->band);
}

static bsm_status set_scratch(const depthwise *c, bsm_prepared_step *out) {
  return bsm_cpu_set_scratch(
      out, 0, c->ring_size + c->zeros_size + c->results_size + c->pointers_size,
      c->half.base.slots);
}

static bsm_status choose_scratch(depthwise *c, bsm_prepared_step *out) {
  const int64_t pixel = c->channel_block * (int64_t)sizeof(float);
  int64_t ring, results, pointers;
  c->columns = input_columns(c, c->column_block);
  c->list = c->shares ? c->columns : c->w.kernel[2] * c->column_block;
  if (!bsm_i64_mul(c->ring * pixel, c->columns, &ring) ||
      !bsm_i64_mul(c->rows * pixel, c->column_block, &results) ||
      !bsm_i64_mul(c->ring + 1, c->list, &pointers) ||
      !bsm_i64_mul(pointers, (int64_t)sizeof(float *), &pointers)) {
    return BSM_FAIL(BSM_LIMIT, "the scratch memory of a step overflows");
  }
  c->ring_size = bsm_cpu_align((uint64_t)ring);
  c->zeros_size = bsm_cpu_align((uint64_t)pixel);
  c->results_size = bsm_cpu_align((uint64_t)results);
  c->pointers_size =
      bsm_cpu_align((uint64_t)pointers) +
      bsm_cpu_align((uint64_t)(c->taps + c->span + c->rows * c->w.stride[1]) *
                    sizeof(float **));
  return set_scratch(c, out);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r);

bsm_status bsm_cpu_half_depthwise_prepare(const bsm_cpu_prepare *p,
                                          bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  depthwise *c = BSM_NEW(p->arena, depthwise);
  BSM_TRY_ALLOC(c);
  c->half.run = run;
  c->half.base.slots = p->threads;
  c->halves = bsm_cpu_halves_of(y->dtype, p->isa);
  c->w = params->window;
  c->x = bsm_image_of(bsm_step_input(p->plan, p->step, 0), c->w.spatial);
  c->y = bsm_image_of(y, c->w.spatial);
  c->has_residual = params->epilogue.has_residual != 0;
  if (c->has_residual) {
    c->residual =
        bsm_image_of(bsm_step_input(p->plan, p->step, 1), c->w.spatial);
  }
  bsm_cpu_depthwise_init(params, &c->x, &c->y, p->isa, &c->d);
  BSM_TRY(widen_constants(p, c));
  c->shares = c->d.square || c->d.line > 1;
  c->taps = c->w.kernel[1] * c->w.kernel[2];
  c->rows = c->d.square ? bsm_cpu_depthwise_max_rows(&c->d) : 1;
  c->span = (c->w.kernel[1] - 1) * c->w.dilation[1] + 1;
  c->ring = bsm_cpu_min((c->rows - 1) * c->w.stride[1] + c->span,
                        bsm_cpu_max(1, c->x.size[1]));
  choose_blocks(c, p->threads);
  c->half.base.description =
      bsm_arena_printf(p->arena, "depthwise %s", c->d.kernels->name);
  BSM_TRY_ALLOC(c->half.base.description);
  out->impl = c;
  return choose_scratch(c, out);
}

/* ---- run ---- */

typedef bsm_cpu_half_work work;

/* A block of channels and columns, and its scratch. */
typedef struct block {
  const work *w;
  bsm_cpu_depthwise d;
  int64_t image, channel, channels, column, pixels;
  int64_t left, first, end; /* input columns; those inside */
  float *ring, *results;
  const float **lists; /* of each row of the ring, then of the padding */
  const float ***rows;
  int64_t next; /* input row that is not in the ring */
} block;

/* The lists of pointers to a row whose pixels begin at `row`, or which is
 * zeros. */
static void point(const block *b, const float *row, const float *zeros,
                  const float **to) {
  const depthwise *c = b->w->impl;
  const int64_t lines = c->shares ? 1 : c->w.kernel[2];
  const int64_t count = c->shares ? c->columns : c->column_block;
  const int64_t step = c->shares ? 1 : c->w.stride[2];
  for (int64_t k = 0; k < lines; k++) {
    for (int64_t i = 0; i < count; i++) {
      const int64_t at = k * c->w.dilation[2] + i * step;
      *to++ = row ? row + at * b->channels : zeros;
    }
  }
}

static void begin(block *b, uint8_t *scratch) {
  const depthwise *c = b->w->impl;
  float *zeros = (float *)(void *)(scratch + c->ring_size);
  b->ring = (float *)(void *)scratch;
  b->results = (float *)(void *)(scratch + c->ring_size + c->zeros_size);
  uint8_t *pointers = scratch + c->ring_size + c->zeros_size + c->results_size;
  b->lists = (const float **)(void *)pointers;
  b->rows = (const float ***)(void *)(pointers +
                                      bsm_cpu_align(
                                          (uint64_t)((c->ring + 1) * c->list) *
                                          sizeof(float *)));
  memset(b->ring, 0, c->ring_size);
  memset(zeros, 0, c->zeros_size);
  for (int64_t i = 0; i <= c->ring; i++) {
    point(b, i < c->ring ? b->ring + i * c->columns * b->channels : NULL, zeros,
          b->lists + i * c->list);
  }
  b->left = b->column * c->w.stride[2] - c->w.pre_padding[2];
  b->first = bsm_cpu_min(bsm_cpu_max(0, -b->left), c->columns);
  b->end = bsm_cpu_max(b->first, bsm_cpu_min(input_columns(c, b->pixels),
                                             c->x.size[2] - b->left));
}

/* Widens the input rows up to `end`, which are inside; the columns in the
 * padding stay zeros. */
static void fill(block *b, int64_t end) {
  const depthwise *c = b->w->impl;
  const bsm_image *x = &c->x;
  if (b->first == b->end) return;
  end = bsm_cpu_min(end, x->size[1]);
  for (; b->next < end; b->next++) {
    const int64_t from = b->image * x->n_stride + b->next * x->stride[1] +
                         (b->left + b->first) * x->stride[2] + b->channel;
    float *to =
        b->ring + (b->next % c->ring * c->columns + b->first) * b->channels;
    c->halves.widen_rows(b->w->x + from, x->stride[2], b->end - b->first,
                         b->channels, to);
  }
}

static const float **row_list(const block *b, int64_t h) {
  const depthwise *c = b->w->impl;
  const bool inside = h >= 0 && h < c->x.size[1];
  return b->lists + (inside ? h % c->ring : c->ring) * c->list;
}

/* Output rows row .. row + count - 1, of which all inputs are in the ring. */
static void rows_of(block *b, int64_t row, int64_t count) {
  const depthwise *c = b->w->impl;
  const bsm_step_window *w = &c->w;
  const int64_t top = row * w->stride[1] - w->pre_padding[1];
  const bsm_cpu_depthwise_target target = {
      .y = b->results,
      .y_row = b->pixels * b->channels,
      .y_pixel = b->channels,
      .residual = c->has_residual ? b->results : NULL,
      .residual_row = b->pixels * b->channels,
      .residual_pixel = b->channels};
  if (b->d.square) {
    for (int64_t i = 0; i < (count - 1) * w->stride[1] + c->span; i++) {
      b->rows[i] = row_list(b, top + i);
    }
    bsm_cpu_depthwise_rows(&b->d, (const float *const *const *)b->rows,
                           (int)count, b->channel, b->channels, &target);
    return;
  }
  for (int64_t t = 0; t < c->taps; t++) {
    const int64_t line = t / w->kernel[2], k = t % w->kernel[2];
    b->rows[t] = row_list(b, top + line * w->dilation[1]) +
                 (c->shares ? k : k * c->column_block);
  }
  bsm_k_depthwise_args t =
      bsm_cpu_depthwise_args(&b->d, b->channel, b->channels, &target);
  t.x = (const float *const *const *)b->rows;
  t.taps = c->taps;
  t.line = b->d.line;
  t.pixels = b->pixels;
  (b->d.maps > 1 ? b->d.kernels->any_groups : b->d.kernels->any)(&t);
  bsm_cpu_activate_pixels(&b->d.epilogue, t.y, t.y_pixel, t.pixels,
                          b->channels);
}

static int64_t offset_of(const block *b, const bsm_image *i, int64_t row) {
  return b->image * i->n_stride + row * i->stride[1] +
         b->column * i->stride[2] + b->channel;
}

static void compute(block *b, int64_t row, int64_t count) {
  const work *w = b->w;
  const depthwise *c = w->impl;
  const int64_t line = b->pixels * b->channels;
  const int64_t top = row * c->w.stride[1] - c->w.pre_padding[1];
  b->next = bsm_cpu_max(b->next, bsm_cpu_max(0, top));
  fill(b, top + (count - 1) * c->w.stride[1] + c->span);
  for (int64_t i = 0; c->has_residual && i < count; i++) {
    c->halves.widen_rows(w->residual + offset_of(b, &c->residual, row + i),
                         c->residual.stride[2], b->pixels, b->channels,
                         b->results + i * line);
  }
  rows_of(b, row, count);
  for (int64_t i = 0; i < count; i++) {
    c->halves.narrow_rows(b->results + i * line, b->pixels, b->channels,
                          w->y + offset_of(b, &c->y, row + i), c->y.stride[2]);
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const depthwise *c = w->impl;
  block b = {.w = w, .d = c->d};
  b.channel = index % c->channel_blocks * c->channel_block;
  index /= c->channel_blocks;
  b.column = index % c->column_blocks * c->column_block;
  index /= c->column_blocks;
  const int64_t first = index % c->bands * c->band;
  const int64_t end = bsm_cpu_min(first + c->band, c->y.size[1]);
  b.image = index / c->bands;
  b.channels = bsm_cpu_min(c->channel_block, c->x.c - b.channel);
  b.pixels = bsm_cpu_min(c->column_block, c->y.size[2] - b.column);
  b.d.out_width = b.pixels;
  begin(&b, w->scratch + (size_t)slot * w->slot_size);
  for (int64_t row = first; row < end; row += c->rows) {
    compute(&b, row, bsm_cpu_min(c->rows, end - row));
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const depthwise *c = prepared->impl;
  work w = bsm_cpu_half_work_of(prepared, r, c->has_residual);
  if (c->y.size[1] == 0 || c->y.size[2] == 0) return BSM_OK;
  bsm_cpu_parallel(r, c->half.base.slots,
                   c->y.n * c->bands * c->column_blocks * c->channel_blocks,
                   unit, &w);
  return BSM_OK;
}
