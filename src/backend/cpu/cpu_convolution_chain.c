/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of convolutions over bands of rows: expand 1x1, depthwise, project
 * 1x1. Either of the outer two may be absent. A chain may also be project
 * alone, of an input scaled by channels (squeeze and excite). A network's first
 * convolution, of few maps and any window, may stand in place of expand.
 *
 * A thread walks down a band of output rows, a few at a time (a strip). The
 * expanded rows that the window needs wait in a ring, the depthwise rows of the
 * strip in a buffer; both stay in the second-level cache and never see memory.
 * Bands of several threads compute the rows of the ring at their borders twice.
 * Every output is summed in the same order as by the separate convolutions.
 *
 * A scale alone is multiplied with the weights of the product instead of the
 * input where there are fewer of them. */
#include <string.h>

#include "backend/cpu/cpu_depthwise.h"
#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_planar.h"
#include "base/checked.h"

/* Pixels of a strip: enough tiles for a product to pay. */
#define STRIP_PIXELS 96
/* Bytes of a strip's rows that leave room for weights in a small second-level
 * cache. */
#define STRIP_BYTES (256 * 1024)
/* Rows of a band that are worth computing some rows twice. */
#define MIN_BAND 4

/* A pointwise part. */
typedef struct pointwise {
  bsm_cpu_gemm gemm;
  const float *kernel, *bias;
  int64_t b_panel;
} pointwise;

typedef struct chain {
  bsm_cpu_impl base;
  bool expands, filters, projects, scales, has_residual;
  bool scales_weights; /* not the input */
  bool starts;         /* expand is a convolution of few maps */
  bsm_image x, y, residual, scale;
  bsm_image wide; /* the input of depthwise; expanded: sizes only */
  bsm_cpu_rows x_rows, y_rows, residual_rows; /* pixels of one image */
  pointwise expand, project;
  bsm_cpu_planar start;
  bsm_cpu_depthwise depthwise;
  const bsm_k_math *math;
  const bsm_k_rows *row_kernels;
  int64_t pre_padding;             /* of rows */
  int64_t strip, band, bands;      /* output rows */
  int64_t parts, part_columns;     /* output maps */
  int64_t ring, phase;             /* input rows of the window */
  int64_t ring_pitch, strip_pitch; /* floats of a pixel */
  const float **padding;           /* pointers of a row of the padding */
  /* Bytes of scratch, one behind the other. */
  uint64_t rows_bytes, pointers_bytes, ring_bytes, strip_bytes;
  uint64_t weights_bytes;
} chain;

/* ---- check ---- */

/* The step seen as its parts: a plan of its own, whose tensors lie between. */
typedef struct parts {
  bsm_plan plan;
  bsm_plan_tensor tensors[BSM_CHAIN_PARTS + 2];
} parts;

static bool is_pointwise(const bsm_step_convolution *p) {
  const bsm_step_window *w = &p->window;
  for (int d = 0; d < 3; d++) {
    if (w->kernel[d] != 1 || w->stride[d] != 1 || w->dilation[d] != 1 ||
        w->pre_padding[d] || w->post_padding[d]) {
      return false;
    }
  }
  return p->groups == 1;
}

static bool is_filter(const bsm_step_convolution *p, int64_t maps) {
  const bsm_step_window *w = &p->window;
  return bsm_cpu_is_depthwise(p, maps) && w->kernel[0] == 1 &&
         w->kernel[1] == w->kernel[2] && w->stride[1] == w->stride[2] &&
         w->dilation[1] == 1 && w->dilation[2] == 1 && w->kernel[1] >= 3 &&
         w->kernel[1] <= BSM_K_DEPTHWISE_MAX_WINDOW && w->kernel[1] % 2 == 1 &&
         w->stride[1] <= BSM_K_DEPTHWISE_MAX_STRIDE;
}

/* What may come first. */
static bool is_expansion(const bsm_step_convolution *p, int64_t in_maps) {
  return is_pointwise(p) || bsm_cpu_planar_fits(p, in_maps);
}

static bsm_status check_parameters(const bsm_step_convolution_chain *p,
                                   int64_t in_maps, uint32_t inputs) {
  const bool one = !p->has[BSM_CHAIN_DEPTHWISE];
  int last = BSM_CHAIN_PARTS - 1;
  while (last > 0 && !p->has[last]) last--;
  if (one ? !p->has_scale || p->has[BSM_CHAIN_EXPAND] ||
                !p->has[BSM_CHAIN_PROJECT]
          : p->has_scale ||
                (!p->has[BSM_CHAIN_EXPAND] && !p->has[BSM_CHAIN_PROJECT])) {
    return BSM_FAIL(BSM_CORRUPT, "a chain of %d, %d, %d, scale %d",
                    p->has[BSM_CHAIN_EXPAND], p->has[BSM_CHAIN_DEPTHWISE],
                    p->has[BSM_CHAIN_PROJECT], p->has_scale);
  }
  for (int i = 0; i < BSM_CHAIN_PARTS; i++) {
    const bsm_step_convolution *c = &p->part[i];
    if (!p->has[i]) continue;
    if (c->window.spatial != 2 || c->form != BSM_CPU_FORM_PLAIN ||
        (i < last && c->epilogue.has_residual) ||
        (i == BSM_CHAIN_EXPAND && !is_expansion(c, in_maps)) ||
        (i == BSM_CHAIN_PROJECT && !is_pointwise(c)) ||
        (i == BSM_CHAIN_DEPTHWISE && !is_filter(c, c->out_maps))) {
      return BSM_FAIL(BSM_CORRUPT, "convolution %d of a chain cannot be there",
                      i);
    }
  }
  const uint32_t expected = 1u + (p->has_scale ? 1u : 0u) +
                            (p->part[last].epilogue.has_residual ? 1u : 0u);
  if (inputs != expected) {
    return BSM_FAIL(BSM_CORRUPT, "%u inputs where %u are expected", inputs,
                    expected);
  }
  return BSM_OK;
}

/* The output of a part that is not the last. */
static bsm_status between(const bsm_step_convolution *p,
                          const bsm_plan_tensor *x, bsm_plan_tensor *out) {
  *out = (bsm_plan_tensor){.dtype = BSM_DTYPE_FLOAT, .dims = {.rank = 4}};
  int64_t n = 1;
  for (int i = 0; i < 4; i++) {
    int64_t *d = &out->dims.d[i];
    *d = i == 0   ? x->dims.d[0]
         : i == 1 ? p->out_maps
                  : bsm_window_output(&p->window, i - 1, x->dims.d[i]);
    if (*d < 0 || !bsm_i64_mul(n, bsm_cpu_max(1, *d), &n) ||
        n > BSM_MAX_ELEMENTS) {
      return BSM_FAIL(BSM_CORRUPT, "%s is too large", bsm_dims_str(out->dims));
    }
  }
  const int64_t *d = out->dims.d;
  out->strides[1] = 1;
  out->strides[3] = d[1];
  out->strides[2] = d[1] * bsm_cpu_max(1, d[3]);
  out->strides[0] = out->strides[2] * bsm_cpu_max(1, d[2]);
  return BSM_OK;
}

static bsm_status check_scale(const bsm_plan_tensor *x,
                              const bsm_plan_tensor *scale) {
  BSM_TRY(bsm_check_dtype(scale, BSM_DTYPE_FLOAT, "scale"));
  if (scale->dims.rank != 4 || scale->dims.d[0] != x->dims.d[0] ||
      scale->dims.d[1] != x->dims.d[1] || scale->dims.d[2] != 1 ||
      scale->dims.d[3] != 1 ||
      (scale->dims.d[1] > 1 && scale->strides[1] != 1)) {
    return BSM_FAIL(BSM_CORRUPT, "a scale of %s for %s",
                    bsm_dims_str(scale->dims), bsm_dims_str(x->dims));
  }
  return BSM_OK;
}

/* One part as a step of its own: from tensors[0] to tensors[1], or the step's
 * output; tensors[2] is the residual. */
static bsm_status check_part(const bsm_plan *plan, const bsm_plan_step *step,
                             int index, bsm_plan_tensor *tensors) {
  const bsm_step_convolution *c = &step->params->convolution_chain.part[index];
  uint32_t inputs[2] = {0, 2}, output = 1;
  bsm_step_params params = {.convolution = *c};
  bsm_plan local = *plan;
  local.tensors = tensors;
  local.tensor_count = 3;
  bsm_plan_step part = {.kind = BSM_STEP_CONVOLUTION,
                        .name = step->name,
                        .input_count = c->epilogue.has_residual ? 2 : 1,
                        .output_count = 1,
                        .inputs = inputs,
                        .outputs = &output,
                        .weights = BSM_STEP_NO_WEIGHTS,
                        .params = &params};
  part.weights[0] = step->weights[2 * index];
  part.weights[1] = step->weights[2 * index + 1];
  if (index == BSM_CHAIN_EXPAND && !is_pointwise(c)) {
    BSM_TRY(
        bsm_cpu_check_convolution_of(&local, &part, BSM_DTYPE_FLOAT, false));
  } else {
    BSM_TRY(bsm_cpu_check_convolution(&local, &part, BSM_DTYPE_FLOAT, false));
  }
  return bsm_check_window_output(&c->window, &tensors[0], &tensors[1]);
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution_chain *p = &step->params->convolution_chain;
  if (step->output_count != 1 || step->input_count < 1) {
    return BSM_FAIL(BSM_CORRUPT, "%u inputs, %u outputs", step->input_count,
                    step->output_count);
  }
  bsm_plan_tensor at[3] = {*bsm_step_input(plan, step, 0)};
  if (at[0].dims.rank != 4) {
    return BSM_FAIL(BSM_CORRUPT, "an input of %s", bsm_dims_str(at[0].dims));
  }
  BSM_TRY(check_parameters(p, at[0].dims.d[1], step->input_count));
  if (p->has_scale) BSM_TRY(check_scale(&at[0], bsm_step_input(plan, step, 1)));
  at[2] = *bsm_step_input(plan, step, step->input_count - 1);
  int last = BSM_CHAIN_PARTS - 1;
  while (!p->has[last]) last--;
  for (int i = 0; i <= last; i++) {
    if (!p->has[i]) continue;
    /* The window is looked at before sizes are computed from it. */
    BSM_TRY(bsm_check_window(&p->part[i].window, &at[0], &at[0]));
    if (i < last) {
      BSM_TRY(between(&p->part[i], &at[0], &at[1]));
    } else {
      at[1] = *bsm_step_output(plan, step, 0);
    }
    BSM_TRY_NOTE(check_part(plan, step, i, at), "in convolution %d of a chain",
                 i);
    at[0] = at[1];
  }
  return BSM_OK;
}

/* ---- prepare ---- */

/* Rows of pixels that far apart share few sets of a cache. */
static int64_t pitch_of(int64_t maps) {
  const int64_t pitch = bsm_cpu_round_up(maps, BSM_PANEL);
  return pitch % 256 == 0 ? pitch + BSM_PANEL : pitch;
}

static void image_rows(bsm_cpu_rows *rows, const bsm_image *i) {
  bsm_cpu_rows_init(rows, 2, (int64_t[]){i->size[1], i->size[2]},
                    (int64_t[]){i->stride[1], i->stride[2]});
}

static void init_pointwise(const bsm_cpu_prepare *p, int index, int64_t in_maps,
                           int64_t rows, pointwise *out) {
  const bsm_step_convolution *c =
      &p->step->params->convolution_chain.part[index];
  out->kernel = bsm_cpu_weights(p, (uint32_t)(2 * index));
  out->bias = bsm_cpu_weights(p, (uint32_t)(2 * index + 1));
  out->b_panel = in_maps * BSM_PANEL;
  out->gemm = (bsm_cpu_gemm){
      .kernels = bsm_k_gemm_select(p->isa),
      .epilogue =
          bsm_cpu_make_epilogue(&c->epilogue, bsm_k_math_select(p->isa)),
      .scale = 1.0f,
      /* Never the kernels for few rows, which sum in another order. */
      .rows = bsm_cpu_max(rows, BSM_K_GEMM_MAX_THIN + 1),
      .columns = c->out_maps,
      .taps = 1,
      .kc = in_maps};
  bsm_cpu_gemm_plan(&out->gemm, 1, 1);
}

/* How threads share the work: bands of rows of all images; a scaled product of
 * few pixels also columns. */
static void choose_bands(chain *c, int threads) {
  const int64_t height = bsm_cpu_max(1, c->y.size[1]);
  const int64_t images = bsm_cpu_max(1, c->y.n);
  const bool even = images % threads == 0 || images >= 4 * (int64_t)threads;
  int64_t bands = even ? 1 : threads, least = MIN_BAND;
  c->parts = 1;
  if (!c->filters) {
    const int64_t want = threads > 1 ? 2 * (int64_t)threads : 1;
    bands = bsm_cpu_div_up(want, images);
    least = bsm_cpu_div_up(STRIP_PIXELS / 2, bsm_cpu_max(1, c->y.size[2]));
    bands = bsm_cpu_max(1, bsm_cpu_min(bands, height / least));
    c->parts = bsm_cpu_min(bsm_cpu_div_up(want, images * bands),
                           bsm_cpu_div_up(c->y.c, 2 * BSM_PANEL));
    c->parts = bsm_cpu_max(1, c->parts);
  }
  c->part_columns = bsm_cpu_max(
      1, bsm_cpu_round_up(bsm_cpu_div_up(c->y.c, c->parts), BSM_PANEL));
  c->parts = bsm_cpu_div_up(c->y.c, c->part_columns);
  c->band =
      bsm_cpu_min(height, bsm_cpu_max(least, bsm_cpu_div_up(height, bands)));
  c->bands = bsm_cpu_div_up(c->y.size[1], c->band);
}

/* Output rows of a strip, and with them the ring. */
static void choose_strip(chain *c) {
  const int64_t stride = c->filters ? c->depthwise.stride : 1;
  const int64_t window = c->filters ? c->depthwise.window : 1;
  const int64_t input_row =
      c->expands ? c->wide.size[2] * c->ring_pitch * (int64_t)sizeof(float) : 0;
  const int64_t output_row =
      c->projects ? c->y.size[2] * c->strip_pitch * (int64_t)sizeof(float) : 0;
  int64_t strip = bsm_cpu_div_up(STRIP_PIXELS, bsm_cpu_max(1, c->y.size[2]));
  strip = bsm_cpu_round_up(strip, BSM_K_DEPTHWISE_MAX_ROWS);
  strip = bsm_cpu_min(strip, c->band);
  while (strip > 2 &&
         strip * output_row + (strip * stride + window) * input_row >
             STRIP_BYTES) {
    strip = bsm_cpu_round_up(strip / 2, BSM_K_DEPTHWISE_MAX_ROWS);
  }
  c->strip = strip;
  /* Each strip but the first needs strip * stride more rows, which never wrap
   * around the ring. */
  const int64_t alive = (strip - 1) * stride + window;
  c->ring = bsm_cpu_round_up(alive, strip * stride);
  c->phase = c->ring - alive % c->ring;
}

static bsm_status set_scratch(chain *c, bsm_prepared_step *out) {
  const uint64_t f = sizeof(float);
  uint64_t gemm = 0;
  if (c->filters) {
    c->rows_bytes = bsm_cpu_align((uint64_t)c->ring * sizeof(float **));
    c->pointers_bytes = bsm_cpu_align(
        (uint64_t)(c->ring * c->depthwise.columns) * sizeof(float *));
  }
  if (c->expands) {
    c->ring_bytes = bsm_cpu_align(
        (uint64_t)(c->ring * c->wide.size[2] * c->ring_pitch) * f);
    gemm = c->starts ? bsm_cpu_planar_floats(&c->start, c->ring) * f
                     : bsm_cpu_gemm_scratch(&c->expand.gemm);
  }
  if (c->projects) {
    const uint64_t more = bsm_cpu_gemm_scratch(&c->project.gemm);
    c->strip_bytes =
        bsm_cpu_align((uint64_t)(c->strip * c->y.size[2] * c->strip_pitch) * f);
    if (more > gemm) gemm = more;
  }
  if (c->scales_weights) {
    c->strip_bytes = 0;
    c->weights_bytes = bsm_cpu_align((uint64_t)(c->part_columns * c->x.c) * f);
  }
  return bsm_cpu_set_scratch(out, 0,
                             c->rows_bytes + c->pointers_bytes + c->ring_bytes +
                                 c->strip_bytes + c->weights_bytes + gemm,
                             c->base.slots);
}

static bsm_status init_depthwise(const bsm_cpu_prepare *p, chain *c) {
  const bsm_step_convolution *params =
      &p->step->params->convolution_chain.part[BSM_CHAIN_DEPTHWISE];
  bsm_cpu_depthwise *d = &c->depthwise;
  bsm_cpu_depthwise_init(params, &c->wide, &c->y, p->isa, d);
  BSM_TRY(bsm_cpu_depthwise_set_kernel(
      bsm_cpu_weights(p, 2 * BSM_CHAIN_DEPTHWISE), p->arena, d));
  d->bias = bsm_cpu_weights(p, 2 * BSM_CHAIN_DEPTHWISE + 1);
  d->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)c->wide.c);
  c->padding = BSM_NEW_ARRAY(p->arena, const float *, (size_t)d->columns);
  if (!d->zeros || !c->padding) return BSM_FAIL_OOM();
  bsm_cpu_depthwise_point(d, NULL, 0, c->padding);
  c->pre_padding = params->window.pre_padding[1];
  return BSM_OK;
}

static void init_images(const bsm_cpu_prepare *p, chain *c) {
  const bsm_plan_step *step = p->step;
  const bsm_step_convolution_chain *params = &step->params->convolution_chain;
  c->expands = params->has[BSM_CHAIN_EXPAND] != 0;
  c->filters = params->has[BSM_CHAIN_DEPTHWISE] != 0;
  c->projects = params->has[BSM_CHAIN_PROJECT] != 0;
  c->scales = params->has_scale != 0;
  c->has_residual = step->input_count == (c->scales ? 3u : 2u);
  c->x = bsm_image_of(bsm_step_input(p->plan, step, 0), 2);
  c->y = bsm_image_of(bsm_step_output(p->plan, step, 0), 2);
  c->wide = c->x;
  if (c->expands) {
    const bsm_step_convolution *e = &params->part[BSM_CHAIN_EXPAND];
    c->starts = !is_pointwise(e);
    c->wide.c = e->out_maps;
    for (int d = 1; d < 3; d++) {
      c->wide.size[d] = bsm_window_output(&e->window, d, c->x.size[d]);
    }
  }
  image_rows(&c->x_rows, &c->x);
  image_rows(&c->y_rows, &c->y);
  if (c->scales) {
    c->scale = bsm_image_of(bsm_step_input(p->plan, step, 1), 2);
  }
  if (c->has_residual) {
    c->residual =
        bsm_image_of(bsm_step_input(p->plan, step, step->input_count - 1), 2);
    image_rows(&c->residual_rows, &c->residual);
  }
}

/* Whether to scale the weights: fewer than the inputs of an image, whose rows
 * do not start in few sets of a cache. Follows from the sizes alone, as the
 * results are rounded differently. */
static bool scales_weights(const chain *c) {
  return c->scales && c->x.size[1] * c->x.size[2] > c->y.c &&
         c->x.stride[2] % 256 != 0;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_convolution_chain *params =
      &p->step->params->convolution_chain;
  chain *c = BSM_NEW(p->arena, chain);
  BSM_TRY_ALLOC(c);
  c->base.slots = p->threads;
  c->math = bsm_k_math_select(p->isa);
  c->row_kernels = bsm_k_rows_select(p->isa);
  init_images(p, c);
  c->scales_weights = scales_weights(c);
  const int64_t maps =
      c->filters ? params->part[BSM_CHAIN_DEPTHWISE].out_maps : c->x.c;
  c->ring_pitch = c->strip_pitch = pitch_of(maps);
  if (c->filters) BSM_TRY(init_depthwise(p, c));
  choose_bands(c, p->threads);
  choose_strip(c);
  if (c->starts) {
    bsm_cpu_planar_init(&params->part[BSM_CHAIN_EXPAND], &c->x, c->wide.size[2],
                        p->isa, &c->start);
    c->start.kernel = bsm_cpu_weights(p, 0);
    c->start.bias = bsm_cpu_weights(p, 1);
  } else if (c->expands) {
    init_pointwise(p, BSM_CHAIN_EXPAND, c->x.c, c->ring * c->x.size[2],
                   &c->expand);
  }
  if (c->projects) {
    const int64_t rows = c->scales_weights ? c->band : c->strip;
    init_pointwise(p, BSM_CHAIN_PROJECT, maps, rows * c->y.size[2],
                   &c->project);
  }
  c->base.description = bsm_arena_printf(p->arena, "%s%s%s %s",
                                         c->starts    ? "planar_"
                                         : c->expands ? "expand_"
                                                      : "",
                                         c->filters ? "depthwise" : "scale",
                                         c->projects ? "_project" : "",
                                         bsm_k_gemm_select(p->isa)->name);
  BSM_TRY_ALLOC(c->base.description);
  out->impl = c;
  return set_scratch(c, out);
}

/* ---- run ---- */

typedef struct work {
  const chain *c;
  const float *x, *scale, *residual;
  float *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

/* One image at work, by one thread. */
typedef struct band {
  const chain *c;
  const float *x, *scale, *residual; /* of the image */
  float *y;
  const float ***rows;    /* of the window of a strip */
  const float **pointers; /* [ring][columns] */
  float *ring, *strip, *weights;
  void *gemm;
  int64_t origin;          /* first input row of the window, maybe of padding */
  int64_t next;            /* input row that comes into the ring next */
  int64_t column, columns; /* of the product */
} band;

/* Where a product finds its pixels. */
typedef struct source {
  const bsm_cpu_rows *rows;
  const float *x;
  int64_t first;
} source;

static void pixel_pointers(const void *self, int64_t row, int count,
                           int64_t tap, int64_t taps, const float **a) {
  const source *s = self;
  int64_t offsets[BSM_K_GEMM_MAX_ROWS];
  (void)tap;
  (void)taps;
  if (s->rows->rank == 1) {
    const float *x = s->x + (s->first + row) * s->rows->strides[0];
    for (int i = 0; i < count; i++) a[i] = x + i * s->rows->strides[0];
    return;
  }
  bsm_cpu_rows_offsets(s->rows, s->first + row, count, offsets);
  for (int i = 0; i < count; i++) a[i] = s->x + offsets[i];
}

/* The columns from `column` on, a multiple of a panel. o->b: weights of these
 * columns, or NULL. */
static void multiply(const pointwise *p, int64_t pixels, int64_t column,
                     int64_t columns, bsm_cpu_gemm_operands *o, void *scratch) {
  bsm_cpu_gemm g = p->gemm;
  g.rows = pixels;
  g.columns = columns;
  o->pointers = pixel_pointers;
  if (!o->b) o->b = p->kernel + column / BSM_PANEL * p->b_panel;
  o->b_tap = o->b_panel = p->b_panel;
  o->bias = p->bias ? p->bias + column : NULL;
  o->c += column;
  if (o->residual) o->residual += column;
  const int64_t units = bsm_cpu_gemm_units(&g);
  for (int64_t u = 0; u < units; u++) bsm_cpu_gemm_run(&g, o, u, scratch);
}

/* The place of an input row in the ring. */
static int64_t slot_of(const band *b, int64_t row) {
  return (row - b->origin + b->c->phase) % b->c->ring;
}

/* Brings the input rows up to `end` into the ring. */
static void fill_ring(band *b, int64_t end) {
  const chain *c = b->c;
  const bsm_cpu_depthwise *d = &c->depthwise;
  const int64_t width = c->wide.size[2];
  const bsm_cpu_rows to = {1, {1}, {c->ring_pitch}};
  if (!c->expands) {
    for (; b->next < end; b->next++) {
      bsm_cpu_depthwise_point(d, b->x + b->next * c->x.stride[1],
                              c->x.stride[2],
                              b->pointers + slot_of(b, b->next) * d->columns);
    }
    return;
  }
  while (b->next < end) {
    const int64_t slot = slot_of(b, b->next);
    const int64_t n = bsm_cpu_min(end - b->next, c->ring - slot);
    if (c->starts) {
      bsm_cpu_planar_rows(&c->start, b->x, b->next, n, b->gemm,
                          b->ring + slot * width * c->ring_pitch,
                          width * c->ring_pitch, c->ring_pitch);
      b->next += n;
      continue;
    }
    const source s = {&c->x_rows, b->x, b->next * width};
    bsm_cpu_gemm_operands o = {.source = &s,
                               .c = b->ring + slot * width * c->ring_pitch,
                               .c_rows = &to};
    multiply(&c->expand, n * width, 0, c->expand.gemm.columns, &o, b->gemm);
    b->next += n;
  }
}

/* Depthwise rows first .. first + count - 1. */
static void filter(band *b, int64_t first, int64_t count) {
  const chain *c = b->c;
  const bsm_cpu_depthwise *d = &c->depthwise;
  const int64_t top = first * d->stride - c->pre_padding;
  const int64_t input_rows = (count - 1) * d->stride + d->window;
  fill_ring(b, bsm_cpu_min(top + input_rows, c->wide.size[1]));
  for (int64_t i = 0; i < input_rows; i++) {
    const int64_t row = top + i;
    b->rows[i] = row >= 0 && row < c->wide.size[1]
                     ? b->pointers + slot_of(b, row) * d->columns
                     : c->padding;
  }
  const int most = bsm_cpu_depthwise_max_rows(d);
  for (int64_t i = 0; i < count;) {
    const int n = (int)bsm_cpu_min(most, count - i);
    bsm_cpu_depthwise_target t;
    if (c->projects) {
      t = (bsm_cpu_depthwise_target){
          .y = b->strip + i * c->y.size[2] * c->strip_pitch,
          .y_row = c->y.size[2] * c->strip_pitch,
          .y_pixel = c->strip_pitch};
    } else {
      t = (bsm_cpu_depthwise_target){.y = b->y + (first + i) * c->y.stride[1],
                                     .y_row = c->y.stride[1],
                                     .y_pixel = c->y.stride[2],
                                     .residual_row = c->residual.stride[1],
                                     .residual_pixel = c->residual.stride[2]};
      if (b->residual) {
        t.residual = b->residual + (first + i) * c->residual.stride[1];
      }
    }
    bsm_cpu_depthwise_rows(
        d, (const float *const *const *)(b->rows + i * d->stride), n, 0,
        d->channels, &t);
    i += n;
  }
}

/* Rows of the input times the scale. */
static void apply_scale(const band *b, int64_t first, int64_t count) {
  const chain *c = b->c;
  float *to = b->strip;
  for (int64_t row = first; row < first + count; row++) {
    const float *from = b->x + row * c->x.stride[1];
    for (int64_t i = 0; i < c->x.size[2]; i++) {
      c->math->prod(from, b->scale, to, c->x.c);
      from += c->x.stride[2];
      to += c->strip_pitch;
    }
  }
}

static void project(const band *b, int64_t first, int64_t count) {
  const chain *c = b->c;
  const bsm_cpu_rows from = {1, {1}, {c->strip_pitch}};
  const source s = {&from, b->strip, 0};
  bsm_cpu_gemm_operands o = {
      .source = &s,
      .c = b->y + first * c->y.stride[1],
      .c_rows = &c->y_rows,
      .residual =
          b->residual ? b->residual + first * c->residual.stride[1] : NULL,
      .residual_rows = &c->residual_rows};
  multiply(&c->project, count * c->y.size[2], b->column, b->columns, &o,
           b->gemm);
}

/* The weights of the columns times the scale; their sums are those of the
 * input's pixels. */
static void project_scaled(const band *b, int64_t first, int64_t count) {
  const chain *c = b->c;
  const pointwise *p = &c->project;
  const int64_t panels = bsm_cpu_div_up(b->columns, BSM_PANEL);
  const source s = {&c->x_rows, b->x, first * c->x.size[2]};
  for (int64_t i = 0; i < panels; i++) {
    c->row_kernels->scale_panel(
        p->kernel + (b->column / BSM_PANEL + i) * p->b_panel, b->scale, c->x.c,
        b->weights + i * p->b_panel);
  }
  bsm_cpu_gemm_operands o = {
      .source = &s,
      .b = b->weights,
      .c = b->y + first * c->y.stride[1],
      .c_rows = &c->y_rows,
      .residual =
          b->residual ? b->residual + first * c->residual.stride[1] : NULL,
      .residual_rows = &c->residual_rows};
  multiply(p, count * c->y.size[2], b->column, b->columns, &o, b->gemm);
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const chain *c = w->c;
  const int64_t part = index % c->parts, line = index / c->parts;
  const int64_t n = line / c->bands, first = line % c->bands * c->band;
  const int64_t end = bsm_cpu_min(first + c->band, c->y.size[1]);
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  band b = {.c = c,
            .x = w->x + n * c->x.n_stride,
            .y = w->y + n * c->y.n_stride,
            .column = part * c->part_columns};
  b.columns = bsm_cpu_min(c->part_columns, c->y.c - b.column);
  if (w->scale) b.scale = w->scale + n * c->scale.n_stride;
  if (w->residual) b.residual = w->residual + n * c->residual.n_stride;
  b.rows = (const float ***)(void *)scratch;
  scratch += c->rows_bytes;
  b.pointers = (const float **)(void *)scratch;
  scratch += c->pointers_bytes;
  b.ring = (float *)(void *)scratch;
  b.strip = (float *)(void *)(scratch + c->ring_bytes);
  b.weights = (float *)(void *)(scratch + c->ring_bytes + c->strip_bytes);
  b.gemm = scratch + c->ring_bytes + c->strip_bytes + c->weights_bytes;
  if (c->scales_weights) {
    project_scaled(&b, first, end - first);
    return;
  }
  if (c->filters) {
    const bsm_cpu_depthwise *d = &c->depthwise;
    b.origin = first * d->stride - c->pre_padding;
    b.next = bsm_cpu_max(0, b.origin);
    for (int64_t i = 0; c->expands && i < c->ring; i++) {
      bsm_cpu_depthwise_point(d, b.ring + i * c->wide.size[2] * c->ring_pitch,
                              c->ring_pitch, b.pointers + i * d->columns);
    }
  }
  for (int64_t row = first; row < end; row += c->strip) {
    const int64_t count = bsm_cpu_min(c->strip, end - row);
    if (c->filters) {
      filter(&b, row, count);
    } else {
      apply_scale(&b, row, count);
    }
    if (c->projects) project(&b, row, count);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const chain *c = prepared->impl;
  const int slots = c->base.slots;
  work w = {.c = c,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)slots};
  if (c->scales) w.scale = bsm_cpu_input_address(prepared, r, 1);
  if (c->has_residual) {
    w.residual = bsm_cpu_input_address(prepared, r, c->scales ? 2 : 1);
  }
  if (c->y.size[1] == 0 || c->y.size[2] == 0 || c->y.c == 0) return BSM_OK;
  bsm_cpu_parallel(r, slots, c->y.n * c->bands * c->parts, unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_CONVOLUTION_CHAIN = {check, NULL, prepare, run};
