/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bfloat16 by tiles that are registers (AMX), of images with at
 * most two dimensions.
 *
 * Tiles read rows that are evenly apart, which the pixels that one tap reads
 * are: no windows are copied, but bands of the image into a frame of zeros.
 * With strides of 1 the outputs of a whole band are evenly apart, as those at
 * the ends of rows, whose windows would reach into the next row, are computed
 * too and left out, where they are not many; otherwise it is the outputs of a
 * row, for which lines of the window that lie in the padding are left out. The
 * taps of a line are one run of elements, where images have one group. */
#include <string.h>

#include "backend/cpu/cpu_half_results.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_window.h"
#include "base/checked.h"

#define ELEMENT ((int64_t)sizeof(uint16_t))
#define PAIR BSM_K_HALF_PAIR
#define MOST_ROWS BSM_K_HALF_MOST_ROWS
/* Columns whose sums stay in the first-level cache. */
#define COLUMNS 64
/* Of a band, and of the constant that a band goes over. */
#define BAND_BYTES ((int64_t)384 << 10)
/* Pixels that are so many bytes apart would share a few sets of a cache. */
#define ALIASED_BYTES 1024
/* Shorter rows of outputs fill too little of a tile. */
#define LEAST_ROW 12

typedef struct image_product {
  bsm_cpu_half_impl half;
  bsm_k_half_rows_fn *tiles;
  bsm_cpu_half_results results;
  bsm_step_window w;
  bsm_image x, y, residual;
  int64_t groups, ci, co; /* maps of a group */
  int64_t pixel, apart;   /* elements of a pixel of a band, and to the next */
  int64_t tap_maps;       /* elements of a tap of the constant */
  bool flat;              /* outputs of a band are evenly apart */
  int64_t columns, pitch; /* of a band: input columns that are read, and all */
  int64_t taps, depth;    /* runs of a row of A, and their pairs */
  const int64_t *offset;  /* of runs, in bytes from a band's start */
  const uint8_t *b;
  int64_t b_panel; /* bytes */
  bool copies;     /* bands */
  int64_t band, bands, parts, part_columns;
  uint64_t band_size, sums_size;
} image_product;

/* ---- prepare ---- */

static bool fits(const bsm_step_convolution *p, const bsm_image *x,
                 const bsm_image *y) {
  const bsm_step_window *w = &p->window;
  const bool dense = w->stride[1] == 1 && w->stride[2] == 1;
  return w->kernel[0] == 1 && x->size[0] == 1 && y->size[0] == 1 &&
         w->pre_padding[0] == 0 && w->post_padding[0] == 0 && y->n > 0 &&
         (p->groups == 1 || x->c / p->groups % 2 == 0) &&
         (dense || y->size[2] >= LEAST_ROW) && y->size[1] > 0 && y->size[2] > 0;
}

static int64_t reach(const bsm_step_window *w, int d, int64_t outputs) {
  return (outputs - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
}

static int64_t outputs_of(const image_product *c, int64_t rows) {
  return c->flat ? (rows - 1) * c->pitch + c->y.size[2] : c->y.size[2];
}

/* Weights whose pixels are filled to whole pairs. */
static bsm_status fill_pixels(const bsm_cpu_prepare *p, image_product *c) {
  const int64_t taps = c->w.kernel[1] * c->w.kernel[2];
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  const int64_t from_panel = bsm_cpu_round_up(taps * c->ci, 2) * BSM_PANEL;
  const int64_t to_panel = taps * c->pixel * BSM_PANEL;
  const uint16_t *from = bsm_cpu_weights(p, 0);
  uint16_t *to = BSM_NEW_ARRAY(p->arena, uint16_t, (size_t)(panels * to_panel));
  BSM_TRY_ALLOC(to);
  for (int64_t i = 0; i < panels * taps * c->ci * BSM_PANEL; i++) {
    const int64_t panel = i / (taps * c->ci * BSM_PANEL);
    const int64_t column = i % BSM_PANEL;
    const int64_t k = i / BSM_PANEL % (taps * c->ci);
    const int64_t filled = k / c->ci * c->pixel + k % c->ci;
    to[panel * to_panel + filled / 2 * 2 * BSM_PANEL + 2 * column +
       filled % 2] =
        from[panel * from_panel + k / 2 * 2 * BSM_PANEL + 2 * column + k % 2];
  }
  c->b = (const uint8_t *)to;
  return BSM_OK;
}

static bsm_status lay_out_taps(const bsm_cpu_prepare *p, image_product *c) {
  const bsm_step_window *w = &c->w;
  const bool lines =
      c->groups == 1 && w->dilation[2] == 1 && c->apart == c->pixel;
  const int64_t run = lines ? w->kernel[2] : 1;
  c->taps = w->kernel[1] * w->kernel[2] / run;
  c->depth = run * c->tap_maps / 2;
  int64_t *offset = BSM_NEW_ARRAY(p->arena, int64_t, (size_t)c->taps);
  BSM_TRY_ALLOC(offset);
  c->offset = offset;
  for (int64_t t = 0; t < c->taps; t++) {
    const int64_t tap = t * run;
    *offset++ = (tap / w->kernel[2] * w->dilation[1] * c->pitch +
                 tap % w->kernel[2] * w->dilation[2]) *
                c->apart * ELEMENT;
  }
  return BSM_OK;
}

/* Bands that fit into the second-level cache, and with threads as many units as
 * keep them busy: small images are cut by columns, too. */
static bsm_status choose_blocks(image_product *c, int threads,
                                bsm_prepared_step *out) {
  const int64_t row = c->pitch * c->apart * ELEMENT;
  const int64_t height = c->y.size[1], wanted = 4 * (int64_t)threads;
  const int64_t fit = BAND_BYTES / bsm_cpu_max(1, row) - reach(&c->w, 1, 1);
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  int64_t band_size;
  /* At least half of the rows that a band reads are its own. */
  const int64_t least_band = bsm_cpu_max(1, reach(&c->w, 1, 1) - 1);
  c->band = bsm_cpu_min(bsm_cpu_max(least_band, fit / c->w.stride[1] + 1),
                        bsm_cpu_max(1, height));
  if (threads > 1) {
    const int64_t part = bsm_cpu_div_up(height * c->y.n, wanted);
    const int64_t least = bsm_cpu_div_up(MOST_ROWS, c->pitch);
    c->band = bsm_cpu_min(c->band, bsm_cpu_max(part, least));
  }
  c->bands = bsm_cpu_div_up(height, c->band);
  const int64_t units = c->y.n * c->bands * c->groups;
  c->parts =
      threads > 1 ? bsm_cpu_min(bsm_cpu_div_up(wanted, units), panels) : 1;
  c->part_columns = bsm_cpu_div_up(panels, c->parts) * BSM_PANEL;
  c->parts = bsm_cpu_div_up(c->co, c->part_columns);
  if (!bsm_i64_mul(row, reach(&c->w, 1, c->band), &band_size)) {
    return BSM_FAIL(BSM_LIMIT, "the scratch memory of a step overflows");
  }
  c->band_size = c->copies ? bsm_cpu_align((uint64_t)band_size) : 0;
  c->sums_size = MOST_ROWS * COLUMNS * sizeof(float);
  return bsm_cpu_set_scratch(
      out, 0,
      c->band_size + c->sums_size + bsm_cpu_align((uint64_t)(c->co * ELEMENT)),
      c->half.base.slots);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r);

/* Where rows of the input lie as a band would, and nothing is padded, they are
 * read in place. */
static void choose_frame(image_product *c) {
  const bsm_step_window *w = &c->w;
  bool padded = c->pixel != c->x.c;
  c->columns = reach(w, 2, c->y.size[2]);
  c->pitch = c->columns;
  for (int d = 1; d < 3; d++) padded |= w->pre_padding[d] || w->post_padding[d];
  c->copies = padded || c->x.stride[2] != c->x.c ||
              c->x.stride[1] % c->x.c != 0 || c->x.stride[1] < c->x.c;
  c->apart = c->pixel;
  if (!c->copies) {
    c->pitch = c->x.stride[1] / c->x.c;
  } else if (c->pixel * ELEMENT % ALIASED_BYTES == 0) {
    c->apart += BSM_PANEL * PAIR / ELEMENT;
  }
}

/* The taps of dimension d without those before and behind that lie in the
 * padding for all outputs; returns how many were before. */
static int64_t trim(image_product *c, int d) {
  bsm_step_window *w = &c->w;
  const int64_t size = c->x.size[d], outputs = c->y.size[d];
  const int64_t *dilation = &w->dilation[d];
  const int64_t outside = w->pre_padding[d] - (outputs - 1) * w->stride[d];
  int64_t first = outside > 0 ? bsm_cpu_div_up(outside, *dilation) : 0;
  first = bsm_cpu_min(first, w->pre_padding[d] / *dilation);
  first = bsm_cpu_min(first, w->kernel[d] - 1);
  const int64_t end =
      (bsm_cpu_max(size, 1) - 1 + w->pre_padding[d]) / *dilation + 1;
  w->kernel[d] = bsm_cpu_max(1, bsm_cpu_min(end, w->kernel[d]) - first);
  w->pre_padding[d] -= first * *dilation;
  w->post_padding[d] =
      bsm_cpu_max(0, reach(w, d, outputs) - w->pre_padding[d] - size);
  return first;
}

/* Where what is left of a line follows what is left of the one before. */
static void trim_window(image_product *c) {
  const int64_t line = c->w.kernel[2];
  int64_t first = trim(c, 1) * line;
  if (c->w.kernel[1] == 1) first += trim(c, 2);
  c->b += first * c->tap_maps * BSM_PANEL * ELEMENT;
}

/* Tiles of a row are not always full, and share less of the constant: they are
 * worth it where more than a quarter of a band's outputs would be left out. */
static bool is_flat(const image_product *c) {
  return c->w.stride[1] == 1 && c->w.stride[2] == 1 &&
         3 * c->pitch <= 4 * bsm_cpu_round_up(c->y.size[2], BSM_PANEL);
}

static bsm_status init(const bsm_cpu_prepare *p, image_product *c) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  c->groups = params->groups;
  c->ci = c->x.c / c->groups;
  c->co = params->out_maps / c->groups;
  c->pixel = bsm_cpu_round_up(c->x.c, 2);
  c->tap_maps = c->groups == 1 ? c->pixel : c->ci;
  c->b_panel =
      c->w.kernel[1] * c->w.kernel[2] * c->tap_maps * BSM_PANEL * ELEMENT;
  c->b = bsm_cpu_weights(p, 0);
  if (c->pixel != c->x.c) BSM_TRY(fill_pixels(p, c));
  trim_window(c);
  choose_frame(c);
  c->flat = is_flat(c);
  BSM_TRY(lay_out_taps(p, c));
  return bsm_cpu_half_results_init(p, &params->epilogue, c->groups, c->co,
                                   &c->results);
}

bsm_status bsm_cpu_half_image_prepare(const bsm_cpu_prepare *p,
                                      bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  const bsm_k_half *kernels = bsm_k_half_select(p->isa);
  const int32_t spatial = params->window.spatial;
  out->impl = NULL;
  if (y->dtype != BSM_DTYPE_BFLOAT16 || !kernels->rows ||
      !(p->isa & kernels->rows_isa)) {
    return BSM_OK;
  }
  const bsm_image x =
      bsm_image_of(bsm_step_input(p->plan, p->step, 0), spatial);
  const bsm_image to = bsm_image_of(y, spatial);
  if (!fits(params, &x, &to)) return BSM_OK;
  image_product *c = BSM_NEW(p->arena, image_product);
  BSM_TRY_ALLOC(c);
  c->half.run = run;
  c->half.base.slots = p->threads;
  c->half.base.description = "image amx_bf16";
  c->tiles = *kernels->rows;
  c->w = params->window;
  c->x = x;
  c->y = to;
  if (params->epilogue.has_residual) {
    c->residual = bsm_image_of(bsm_step_input(p->plan, p->step, 1), spatial);
  }
  BSM_TRY(init(p, c));
  out->impl = c;
  return choose_blocks(c, p->threads, out);
}

/* ---- run ---- */

typedef bsm_cpu_half_work work;

typedef struct band {
  const work *w;
  const uint16_t *from;            /* the first pixel that is read */
  int64_t image, group, row, rows; /* output rows */
  int64_t column, end;             /* output maps */
  float *sums;
  uint16_t *nowhere; /* [co]: for outputs that are left out */
} band;

static void copy_pixels(const image_product *c, const uint16_t *from, int64_t n,
                        uint16_t *to) {
  const int64_t maps = c->x.c;
  if (maps == c->apart && c->x.stride[2] == maps) {
    memcpy(to, from, (size_t)(n * maps * ELEMENT));
    return;
  }
  for (int64_t i = 0; i < n; i++, from += c->x.stride[2], to += c->apart) {
    if (maps == 3) {
      memcpy(to, from, 3 * ELEMENT);
    } else {
      memcpy(to, from, (size_t)(maps * ELEMENT));
    }
    if (c->pixel > maps) to[maps] = 0;
  }
}

/* The rows that a band reads, with zeros around the image. */
static void copy_band(const band *b, uint16_t *to) {
  const image_product *c = b->w->impl;
  const bsm_image *x = &c->x;
  const int64_t pitch = c->pitch * c->apart, left = c->w.pre_padding[2];
  const int64_t first = bsm_cpu_min(left, c->pitch);
  const int64_t end =
      bsm_cpu_max(first, bsm_cpu_min(left + x->size[2], c->pitch));
  int64_t h = b->row * c->w.stride[1] - c->w.pre_padding[1];
  for (int64_t i = 0; i < reach(&c->w, 1, b->rows); i++, h++, to += pitch) {
    if (h < 0 || h >= x->size[1] || first == end) {
      memset(to, 0, (size_t)(pitch * ELEMENT));
      continue;
    }
    memset(to, 0, (size_t)(first * c->apart * ELEMENT));
    copy_pixels(c, b->w->x + b->image * x->n_stride + h * x->stride[1],
                end - first, to + first * c->apart);
    memset(to + end * c->apart, 0,
           (size_t)((c->pitch - end) * c->apart * ELEMENT));
  }
}

static int64_t offset_of(const band *b, const bsm_image *i, int64_t row,
                         int64_t column) {
  const image_product *c = b->w->impl;
  return b->image * i->n_stride + (b->row + row) * i->stride[1] +
         column * i->stride[2] + b->group * c->co;
}

/* The lines of the window that are not in the padding for an output row, and
 * one of zeros where all are. */
static void find_lines(const band *b, int64_t row, int64_t *first,
                       int64_t *count) {
  const image_product *c = b->w->impl;
  const bsm_step_window *w = &c->w;
  *first = 0;
  *count = w->kernel[1];
  if (c->flat) return;
  bsm_cpu_clip_taps((b->row + row) * w->stride[1] - w->pre_padding[1],
                    w->dilation[1], w->kernel[1], c->x.size[1], first, count);
  if (*count) return;
  *first = 0;
  *count = 1;
}

/* Outputs at .. at + count - 1 of those that lie evenly, from row `row` of the
 * band on. */
static void run_tile(const band *b, int64_t row, int64_t at, int64_t count,
                     int64_t column) {
  const work *w = b->w;
  const image_product *c = w->impl;
  const int64_t n = bsm_cpu_min(COLUMNS, b->end - column);
  uint16_t *y[MOST_ROWS];
  const uint16_t *residual[MOST_ROWS];
  const int64_t panel = b->group * bsm_cpu_div_up(c->co, BSM_PANEL);
  const int64_t first =
      (row * c->w.stride[1] * c->pitch + at * c->w.stride[2]) * c->apart;
  int64_t line = row + (c->flat ? at / c->pitch : 0);
  int64_t to = c->flat ? at % c->pitch : at;
  for (int64_t i = 0; i < count; i++, to++) {
    if (c->flat && to == c->pitch) {
      line++;
      to = 0;
    }
    const bool left_out = to >= c->y.size[2];
    y[i] = left_out ? b->nowhere : w->y + offset_of(b, &c->y, line, to);
    if (!w->residual) continue;
    residual[i] = left_out ? b->nowhere
                           : w->residual + offset_of(b, &c->residual, line, to);
  }
  int64_t tap, taps;
  find_lines(b, row, &tap, &taps);
  tap *= c->taps / c->w.kernel[1];
  taps *= c->taps / c->w.kernel[1];
  c->tiles(&(bsm_k_half_rows){
      .a = (const uint8_t *)(b->from + first + b->group * c->ci),
      .a_stride = c->w.stride[2] * c->apart * ELEMENT,
      .rows = count,
      .taps = taps,
      .offset = c->offset + tap,
      .groups = c->depth,
      .b = (const int8_t *)c->b + (panel + column / BSM_PANEL) * c->b_panel +
           tap * c->depth * PAIR * BSM_PANEL,
      .b_panel = c->b_panel,
      .panels = bsm_cpu_div_up(n, BSM_PANEL),
      .sums = b->sums,
      .sums_stride = COLUMNS});
  bsm_cpu_half_results_store(&c->results,
                             &(bsm_cpu_half_block){.sums = b->sums,
                                                   .sums_stride = COLUMNS,
                                                   .rows = count,
                                                   .group = b->group,
                                                   .column = column,
                                                   .columns = n,
                                                   .y = y,
                                                   .residual = residual});
}

static void run_band(const band *b) {
  const image_product *c = b->w->impl;
  const int64_t outputs = outputs_of(c, b->rows);
  for (int64_t j = b->column; j < b->end; j += COLUMNS) {
    for (int64_t row = 0; row < (c->flat ? 1 : b->rows); row++) {
      for (int64_t at = 0; at < outputs; at += MOST_ROWS) {
        run_tile(b, row, at, bsm_cpu_min(MOST_ROWS, outputs - at), j);
      }
    }
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const image_product *c = w->impl;
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  band b = {.w = w};
  b.column = index % c->parts * c->part_columns;
  index /= c->parts;
  b.group = index % c->groups;
  index /= c->groups;
  b.row = index % c->bands * c->band;
  b.image = index / c->bands;
  b.end = bsm_cpu_min(b.column + c->part_columns, c->co);
  b.rows = bsm_cpu_min(c->band, c->y.size[1] - b.row);
  b.sums = (float *)(void *)(scratch + c->band_size);
  b.nowhere = (uint16_t *)(void *)(scratch + c->band_size + c->sums_size);
  if (w->residual) memset(b.nowhere, 0, (size_t)(c->co * ELEMENT));
  if (c->copies) {
    uint16_t *to = (uint16_t *)(void *)scratch;
    copy_band(&b, to);
    b.from = to;
  } else {
    b.from = w->x + b.image * c->x.n_stride +
             b.row * c->w.stride[1] * c->x.stride[1];
  }
  run_band(&b);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const image_product *c = prepared->impl;
  work w = bsm_cpu_half_work_of(prepared, r, c->results.has_residual);
  bsm_cpu_parallel(r, c->half.base.slots,
                   c->y.n * c->bands * c->groups * c->parts, unit, &w);
  return BSM_OK;
}
