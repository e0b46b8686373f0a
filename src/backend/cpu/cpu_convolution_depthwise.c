/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution: one channel in, one out, vectors of channels; and
 * convolution in groups of so few maps that a vector holds several groups.
 *
 * Square windows of usual sizes take output rows in bands: the pixels of the
 * input rows of a band are pointed at, those in the padding at zeros, and the
 * kernels compute two rows at a time. Of a dilated one, the outputs that are
 * the dilation apart, and what they read, are an image of their own, a *part*.
 * Other windows take a few outputs of a row at a time, with a pointer for each
 * tap. */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_depthwise.h"
#include "backend/cpu/cpu_pack.h"

/* Output rows of a band: few input rows are loaded by two bands. */
#define BAND 16
/* The largest dilation of a square window whose parts are images of their own,
 * and the least outputs of a line of a part that make it worth it. */
#define MAX_APART 16
#define LEAST_OUTPUTS 4
/* Outputs of a row that are pointed at together, for any window. */
#define ANY_PIXELS 32

/* Of a square window: outputs `apart` of each other, and the input that they
 * read, as offsets from the images. */
typedef struct part {
  bsm_cpu_depthwise depthwise; /* of its lines */
  int64_t top, in_rows, out_rows;
  int64_t x_offset, y_offset, residual_offset;
} part;

typedef struct convolution {
  bsm_cpu_convolution common;
  bsm_cpu_depthwise depthwise;
  int64_t apart;       /* of the outputs of a part */
  part *parts;         /* [apart][apart]; NULL: not a square window */
  int64_t band, bands; /* of output rows of a square window, or one */
  int64_t input_rows;  /* of a band */
  int64_t channel_block, channel_blocks;
  uint64_t rows_bytes; /* of the pointers to rows of pointers */
} convolution;

static double cost(const bsm_cpu_convolution_site *s) {
  return bsm_cpu_is_depthwise(s->params, s->x.c) ? 1 : -1;
}

/* Compared with the plain product, which multiplies zeros or fills half of its
 * vectors. */
static double lanes_cost(const bsm_cpu_convolution_site *s) {
  return bsm_cpu_has_grouped_form(s->params, s->x.c) ? BSM_CPU_PLAIN_COST / 2.0
                                                     : -1;
}

/* Bands and blocks of channels: several for each thread, if the image is not
 * done before another thread has woken up. Sequences have one row, and are cut
 * by channels. */
static void choose_blocks(convolution *c, int threads) {
  const bsm_image *y = &c->common.y;
  const bool square = c->depthwise.square != NULL;
  const double work = (double)(y->n * y->size[0] * y->size[1]) *
                      (double)(y->size[2] * y->c) *
                      (double)(c->common.w.kernel[0] * c->common.w.kernel[1] *
                               c->common.w.kernel[2]);
  const int64_t want = threads > 1 && work > 1e5 ? 4 * (int64_t)threads : 1;
  const int64_t blocks = bsm_cpu_max(1, bsm_cpu_div_up(y->c, 512));
  c->channel_block =
      bsm_cpu_max(1, bsm_cpu_round_up(bsm_cpu_div_up(y->c, blocks), BSM_PANEL));
  c->channel_blocks = bsm_cpu_div_up(y->c, c->channel_block);
  const int64_t height = bsm_cpu_div_up(y->size[1], c->apart);
  c->band = square ? bsm_cpu_max(1, bsm_cpu_min(BAND, height)) : 1;
  while (c->band > 2 && y->n * c->apart * c->apart *
                                bsm_cpu_div_up(height, c->band) *
                                c->channel_blocks <
                            want) {
    c->band = bsm_cpu_round_up(c->band / 2, BSM_K_DEPTHWISE_MAX_ROWS);
  }
  c->bands = bsm_cpu_div_up(height, c->band);
  const int64_t rows = y->n * y->size[0] * c->bands;
  while (!square && rows * c->channel_blocks < want &&
         c->channel_block >= 4 * BSM_PANEL) {
    c->channel_block = bsm_cpu_round_up(c->channel_block / 2, BSM_PANEL);
    c->channel_blocks = bsm_cpu_div_up(y->c, c->channel_block);
  }
}

/* A dilated window that is square without its dilation. */
static void choose_apart(convolution *c, bool grouped) {
  const bsm_step_window *w = &c->common.w;
  const bsm_image *y = &c->common.y;
  bsm_cpu_depthwise *d = &c->depthwise;
  const int64_t apart = w->dilation[1], window = w->kernel[1];
  c->apart = 1;
  if (d->square || apart != w->dilation[2] || apart > MAX_APART ||
      w->kernel[0] != 1 || c->common.x.size[0] != 1 || w->pre_padding[0] ||
      w->post_padding[0] || window != w->kernel[2] || window % 2 == 0 ||
      window < 3 || window > BSM_K_DEPTHWISE_MAX_WINDOW || w->stride[0] != 1 ||
      w->stride[1] != 1 || w->stride[2] != 1 || (grouped && window != 3) ||
      y->size[2] / apart < LEAST_OUTPUTS) {
    return;
  }
  c->apart = apart;
  d->square = grouped ? &d->kernels->square_groups[0]
                      : d->kernels->square[(window - 3) / 2][0];
  d->columns = bsm_cpu_div_up(y->size[2], apart) - 1 + window;
}

/* In one dimension the input that outputs first, first + apart and so on read,
 * from coordinate *start on: `in` of it, after a padding of `pre`. */
static void find_lines(const convolution *c, int d, int64_t first,
                       int64_t *start, int64_t *pre, int64_t *in,
                       int64_t *out) {
  const int64_t apart = c->apart, size = c->common.x.size[d];
  const int64_t most = c->common.y.size[d];
  const int64_t at = first - c->common.w.pre_padding[d];
  *pre = at < 0 ? bsm_cpu_div_up(-at, apart) : 0;
  *start = at + *pre * apart;
  *in = *start < size ? (size - *start - 1) / apart + 1 : 0;
  *out = first < most ? (most - first - 1) / apart + 1 : 0;
  if (*in == 0) *start = 0;
}

static bsm_status find_parts(const bsm_cpu_prepare *p, convolution *c) {
  const int64_t apart = c->apart;
  const bsm_image *x = &c->common.x, *y = &c->common.y;
  const bsm_image *r = &c->common.residual;
  c->parts = BSM_NEW_ARRAY(p->arena, part, (size_t)(apart * apart));
  BSM_TRY_ALLOC(c->parts);
  for (int64_t i = 0; i < apart * apart; i++) {
    const int64_t row = i / apart, column = i % apart;
    int64_t top, left;
    part *to = &c->parts[i];
    bsm_cpu_depthwise *d = &to->depthwise;
    *d = c->depthwise;
    find_lines(c, 1, row, &top, &to->top, &to->in_rows, &to->out_rows);
    find_lines(c, 2, column, &left, &d->pre_padding, &d->in_width,
               &d->out_width);
    d->columns = bsm_cpu_max(0, d->out_width - 1) * d->stride + d->window;
    to->x_offset = top * x->stride[1] + left * x->stride[2];
    to->y_offset = row * y->stride[1] + column * y->stride[2];
    to->residual_offset = row * r->stride[1] + column * r->stride[2];
  }
  return BSM_OK;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);
  bsm_cpu_depthwise *d = &c->depthwise;
  bsm_cpu_depthwise_init(&p->step->params->convolution, &c->common.x,
                         &c->common.y, p->isa, d);
  d->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)c->common.x.c + 1);
  BSM_TRY_ALLOC(d->zeros);
  BSM_TRY(bsm_cpu_depthwise_set_kernel(c->common.kernel, p->arena, d));
  d->bias = c->common.bias;
  choose_apart(c, d->maps > 1);
  if (d->square) BSM_TRY(find_parts(p, c));
  choose_blocks(c, p->threads);
  c->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", c->common.tactic->name, d->kernels->name);
  BSM_TRY_ALLOC(c->common.base.description);
  out->impl = c;
  const int64_t *k = c->common.w.kernel;
  int64_t rows = k[0] * k[1] * k[2], columns = ANY_PIXELS;
  if (d->square) {
    rows = c->input_rows = (c->band - 1) * d->stride + d->window;
    columns = d->columns;
  }
  c->rows_bytes = bsm_cpu_align((uint64_t)rows * sizeof(float **));
  return bsm_cpu_set_scratch(
      out, 0,
      c->rows_bytes + (uint64_t)rows * (uint64_t)columns * sizeof(float *),
      c->common.base.slots);
}

/* ---- run ---- */

typedef bsm_cpu_convolution_work work;

/* The block of channels of a row of outputs. */
static bsm_cpu_depthwise_target target_of(const work *k,
                                          const bsm_cpu_position *p,
                                          int64_t channel) {
  const convolution *c = k->impl;
  const bsm_image *y = &c->common.y, *r = &c->common.residual;
  bsm_cpu_depthwise_target t = {.y = k->y + p->n * y->n_stride +
                                     p->at[0] * y->stride[0] +
                                     p->at[1] * y->stride[1] + channel,
                                .y_row = y->stride[1],
                                .y_pixel = y->stride[2]};
  if (k->residual) {
    t.residual = k->residual + p->n * r->n_stride + p->at[0] * r->stride[0] +
                 p->at[1] * r->stride[1] + channel;
    t.residual_row = r->stride[1];
    t.residual_pixel = r->stride[2];
  }
  return t;
}

/* The same of a row of a part. */
static bsm_cpu_depthwise_target part_target(const work *k, const part *s,
                                            int64_t n, int64_t row,
                                            int64_t channel) {
  const convolution *c = k->impl;
  const bsm_image *y = &c->common.y, *r = &c->common.residual;
  bsm_cpu_depthwise_target t = {.y_row = y->stride[1] * c->apart,
                                .y_pixel = y->stride[2] * c->apart};
  t.y = k->y + n * y->n_stride + s->y_offset + row * t.y_row + channel;
  if (k->residual) {
    t.residual_row = r->stride[1] * c->apart;
    t.residual_pixel = r->stride[2] * c->apart;
    t.residual = k->residual + n * r->n_stride + s->residual_offset +
                 row * t.residual_row + channel;
  }
  return t;
}

/* A band of rows of a part of a square window. */
static void square_unit(const work *k, const bsm_cpu_position *p,
                        int64_t channel, int64_t channels, const float ***rows,
                        const float **pointers) {
  const convolution *c = k->impl;
  const part *s = &c->parts[p->at[1]];
  const bsm_cpu_depthwise *d = &s->depthwise;
  const bsm_image *x = &c->common.x;
  const int64_t first = p->at[2] * c->band;
  const int64_t count = bsm_cpu_min(c->band, s->out_rows - first);
  const int64_t top = first * d->stride - s->top;
  const float *image = k->x + p->n * x->n_stride + s->x_offset + channel;
  if (d->out_width == 0 || count <= 0) return;
  for (int64_t i = 0; i < (count - 1) * d->stride + d->window; i++) {
    const int64_t h = top + i;
    const bool inside = h >= 0 && h < s->in_rows;
    rows[i] = pointers + i * d->columns;
    bsm_cpu_depthwise_point(d,
                            inside ? image + h * x->stride[1] * c->apart : NULL,
                            x->stride[2] * c->apart, pointers + i * d->columns);
  }
  const int most = bsm_cpu_depthwise_max_rows(d);
  for (int64_t i = 0; i < count;) {
    const int n = (int)bsm_cpu_min(most, count - i);
    const bsm_cpu_depthwise_target t =
        part_target(k, s, p->n, first + i, channel);
    bsm_cpu_depthwise_rows(d,
                           (const float *const *const *)(rows + i * d->stride),
                           n, channel, channels, &t);
    i += n;
  }
}

/* Pointers to `n` pixels of a line from `at` on, `step` apart; NULL: a line of
 * the padding. */
static void point_line(const convolution *c, const float *line, int64_t at,
                       int64_t step, int64_t n, const float **to) {
  const bsm_image *x = &c->common.x;
  for (int64_t i = 0; i < n; i++, at += step) {
    to[i] = line && at >= 0 && at < x->size[2] ? line + at * x->stride[2]
                                               : c->depthwise.zeros;
  }
}

/* The pixels of all taps of outputs at[2] .. at[2] + n - 1 of a row. Taps whose
 * pixels are those of the tap before but for one share their pointers. */
static void point_taps(const work *k, const bsm_cpu_position *p,
                       int64_t channel, int64_t n, const float ***rows,
                       const float **pointers) {
  const convolution *c = k->impl;
  const bsm_step_window *w = &c->common.w;
  const bsm_image *x = &c->common.x;
  const float *image = k->x + p->n * x->n_stride + channel;
  const int64_t left = p->at[2] * w->stride[2] - w->pre_padding[2];
  const int64_t line = c->depthwise.line, step = w->stride[2];
  int64_t tap = 0;
  for (int64_t kd = 0; kd < w->kernel[0]; kd++) {
    const int64_t depth =
        p->at[0] * w->stride[0] - w->pre_padding[0] + kd * w->dilation[0];
    for (int64_t kh = 0; kh < w->kernel[1]; kh++) {
      const int64_t h =
          p->at[1] * w->stride[1] - w->pre_padding[1] + kh * w->dilation[1];
      const bool inside =
          depth >= 0 && depth < x->size[0] && h >= 0 && h < x->size[1];
      const float *from =
          inside ? image + depth * x->stride[0] + h * x->stride[1] : NULL;
      for (int64_t kw = 0; kw < w->kernel[2]; kw += line) {
        const float **to = pointers + tap * ANY_PIXELS;
        point_line(c, from, left + kw * w->dilation[2], step, n + line - 1, to);
        for (int64_t i = 0; i < line; i++) rows[tap++] = to + i;
      }
    }
  }
}

/* A row of any window. */
static void any_unit(const work *k, bsm_cpu_position p, int64_t channel,
                     int64_t channels, const float ***rows,
                     const float **pointers) {
  const convolution *c = k->impl;
  const bsm_cpu_depthwise *d = &c->depthwise;
  const int64_t *kernel = c->common.w.kernel;
  const bsm_cpu_depthwise_target target = target_of(k, &p, channel);
  bsm_k_depthwise_args t =
      bsm_cpu_depthwise_args(d, channel, channels, &target);
  t.x = (const float *const *const *)rows;
  t.taps = kernel[0] * kernel[1] * kernel[2];
  t.line = d->line;
  for (int64_t i = 0; i < d->out_width; i += ANY_PIXELS) {
    t.pixels = bsm_cpu_min(ANY_PIXELS, d->out_width - i);
    p.at[2] = i;
    point_taps(k, &p, channel, t.pixels, rows, pointers);
    (d->maps > 1 ? d->kernels->any_groups : d->kernels->any)(&t);
    bsm_cpu_activate_pixels(&d->epilogue, t.y, t.y_pixel, t.pixels, channels);
    t.y += t.pixels * t.y_pixel;
    if (t.residual) t.residual += t.pixels * t.residual_pixel;
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *k = arg;
  const convolution *c = k->impl;
  uint8_t *scratch = k->scratch + (size_t)slot * k->slot_size;
  const float ***rows = (const float ***)(void *)scratch;
  const float **pointers = (const float **)(void *)(scratch + c->rows_bytes);
  const int64_t channel = index % c->channel_blocks * c->channel_block;
  const int64_t channels =
      bsm_cpu_min(c->channel_block, c->common.x.c - channel);
  const int64_t parts = c->parts ? c->apart * c->apart : 1;
  const int64_t lines[3] = {c->common.y.size[0], c->parts ? parts : c->bands,
                            c->parts ? c->bands : 1};
  const bsm_cpu_position p =
      bsm_cpu_position_of(index / c->channel_blocks, lines);
  if (c->parts) {
    square_unit(k, &p, channel, channels, rows, pointers);
  } else {
    any_unit(k, p, channel, channels, rows, pointers);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  const bsm_image *y = &c->common.y;
  const int64_t parts = c->parts ? c->apart * c->apart : 1;
  bsm_cpu_convolution_run(
      prepared, r, y->n * y->size[0] * parts * c->bands * c->channel_blocks,
      unit);
  return BSM_OK;
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_depthwise = {
    "depthwise", BSM_CPU_FORM_PLAIN, cost, prepare, run, false};
const bsm_cpu_convolution_tactic bsm_cpu_convolution_lanes = {
    "lanes", BSM_CPU_FORM_GROUPED, lanes_cost, prepare, run, false};
