/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution of channels-last tensors.
 *
 * The outputs whose coordinates agree modulo the stride (a *phase*) read the
 * same taps of the kernel, each from one input pixel. So every phase is an
 * indirect convolution with a part of the taps, and nothing is scattered: the
 * epilogue is fused and threads write what is theirs. Where every channel is
 * a group, the kernels of depthwise convolutions take a phase's outputs. That
 * is the tactic `phases`; `few_maps` is cpu_few_maps.h. */
#include <string.h>

#include "backend/cpu/cpu_few_maps.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_phases.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"

/* Depthwise: outputs of a row of a phase that are pointed at together. */
#define BLOCK_PIXELS 32

typedef struct phase {
  int64_t first[3]; /* the first output coordinate */
  int64_t size[3];  /* outputs in each dimension */
  const int64_t *taps;
  const int64_t (*deltas)[3]; /* of each tap: the input of output `at` of the
                               * phase is at + delta */
  int64_t tap_count;
  bsm_cpu_rows y_rows, residual_rows;
  int64_t y_offset, residual_offset;
  bsm_cpu_gemm gemm;
  float *weights; /* depthwise: [taps of the phase][channels] */
} phase;

typedef struct deconvolution {
  bsm_cpu_impl base;
  bsm_step_window w;
  int64_t groups, ci, co;
  bsm_image x, y, residual;
  bool has_residual;
  const float *zeros, *kernel, *bias;
  int64_t phases_of[3]; /* in each dimension those that have outputs */
  int64_t phase_count;
  phase *phases;
  const bsm_k_depthwise *depthwise; /* NULL: products */
  bsm_cpu_few_maps *few;            /* NULL: another tactic */
  bsm_cpu_epilogue epilogue;        /* depthwise */
} deconvolution;

static const char few_maps[] = "few_maps", phases[] = "phases";

/* ---- check ---- */

static bool fits_few_maps(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution *p = &step->params->convolution;
  const bsm_image x =
      bsm_image_of(bsm_step_input(plan, step, 0), p->window.spatial);
  const bsm_image y =
      bsm_image_of(bsm_step_output(plan, step, 0), p->window.spatial);
  return bsm_cpu_few_maps_fit(p, true, &x, &y);
}

/* Planes, which only the tactic `few_maps` reads and writes. */
static bool has_planes(const bsm_plan_tensor *t) {
  return t->dims.d[1] > 1 && t->strides[1] != 1;
}

static bool needs_few_maps(const bsm_plan *plan, const bsm_plan_step *step) {
  return has_planes(bsm_step_input(plan, step, 0)) ||
         has_planes(bsm_step_output(plan, step, 0));
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  /* Any output size is safe: taps outside the input are zeros. */
  BSM_TRY(bsm_cpu_check_any_convolution(plan, step, BSM_DTYPE_FLOAT, true));
  if (!fits_few_maps(plan, step)) {
    BSM_TRY(bsm_cpu_check_convolution(plan, step, BSM_DTYPE_FLOAT, true));
  }
  return bsm_cpu_check_phases(&step->params->convolution);
}

/* The likely one first. */
static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step,
                      uint32_t isa, const char **names) {
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  size_t n = 0;
  (void)isa;
  if (fits_few_maps(plan, step)) names[n++] = few_maps;
  if (n && needs_few_maps(plan, step)) return n;
  names[n++] = phases;
  if (n > 1 &&
      bsm_cpu_few_maps_share(&step->params->convolution, x->dims.d[1],
                             has_planes(x)) >= BSM_CPU_FEW_MAPS_WORTH) {
    names[0] = phases;
    names[1] = few_maps;
  }
  return n;
}

static bool takes_few_maps(const bsm_plan *plan, const bsm_plan_step *step) {
  return fits_few_maps(plan, step) &&
         (needs_few_maps(plan, step) ||
          (step->tactic && strcmp(step->tactic, few_maps) == 0));
}

/* ---- prepare ---- */

/* Output o reads input (o + pad - t * dilation) / stride where that divides. */
static bool reads(const bsm_step_window *w, int d, int64_t o, int64_t t) {
  return (o + w->pre_padding[d] - t * w->dilation[d]) % w->stride[d] == 0;
}

/* Counts the taps of the phase whose first output is `first`; writes them when
 * there is room. */
static int64_t walk_taps(const bsm_step_window *w, const int64_t first[3],
                         int64_t *taps, int64_t (*deltas)[3]) {
  const int64_t *k = w->kernel;
  int64_t count = 0, at[3];
  for (at[0] = 0; at[0] < k[0]; at[0]++) {
    if (!reads(w, 0, first[0], at[0])) continue;
    for (at[1] = 0; at[1] < k[1]; at[1]++) {
      if (!reads(w, 1, first[1], at[1])) continue;
      for (at[2] = 0; at[2] < k[2]; at[2]++) {
        if (!reads(w, 2, first[2], at[2])) continue;
        for (int d = 0; taps && d < 3; d++) {
          deltas[count][d] =
              (first[d] + w->pre_padding[d] - at[d] * w->dilation[d]) /
              w->stride[d];
        }
        if (taps) taps[count] = (at[0] * k[1] + at[1]) * k[2] + at[2];
        count++;
      }
    }
  }
  return count;
}

static bsm_status find_taps(const bsm_cpu_prepare *p, deconvolution *c,
                            phase *f) {
  f->tap_count = walk_taps(&c->w, f->first, NULL, NULL);
  int64_t *taps = BSM_NEW_ARRAY(p->arena, int64_t, (size_t)f->tap_count + 1);
  int64_t(*deltas)[3] =
      bsm_arena_alloc(p->arena, ((size_t)f->tap_count + 1) * sizeof(*deltas),
                      _Alignof(int64_t));
  if (!taps || !deltas) return BSM_FAIL_OOM();
  walk_taps(&c->w, f->first, taps, deltas);
  f->taps = taps;
  f->deltas = (const int64_t(*)[3])deltas;
  return BSM_OK;
}

/* The outputs of a phase, as rows of the image. */
static void phase_rows(const deconvolution *c, const phase *f,
                       const bsm_image *i, bsm_cpu_rows *rows,
                       int64_t *offset) {
  int64_t strides[4] = {i->n_stride};
  *offset = 0;
  for (int d = 0; d < 3; d++) {
    strides[1 + d] = i->stride[d] * c->w.stride[d];
    *offset += f->first[d] * i->stride[d];
  }
  bsm_cpu_rows_init(
      rows, 4, (int64_t[]){i->n, f->size[0], f->size[1], f->size[2]}, strides);
}

/* Depthwise: the weights of the phase's taps, from panels of merged groups,
 * where each column has one row that is its own. */
static bsm_status pick_weights(const bsm_cpu_prepare *p, const deconvolution *c,
                               phase *f) {
  const int64_t merged = bsm_cpu_merged_groups(&p->step->params->convolution);
  const int64_t all = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2];
  float *to =
      BSM_NEW_ARRAY(p->arena, float, (size_t)(f->tap_count * c->y.c) + 1);
  BSM_TRY_ALLOC(to);
  f->weights = to;
  for (int64_t t = 0; t < f->tap_count; t++) {
    for (int64_t i = 0; i < c->y.c; i++) {
      const int64_t row = (i / merged * all + f->taps[t]) * merged + i % merged;
      *to++ = c->kernel[row * BSM_PANEL + i % merged];
    }
  }
  return BSM_OK;
}

static void place_phase(const deconvolution *c, phase *f, int64_t index) {
  const int64_t *n = c->phases_of;
  f->first[0] = index / (n[1] * n[2]);
  f->first[1] = index / n[2] % n[1];
  f->first[2] = index % n[2];
  for (int d = 0; d < 3; d++) {
    f->size[d] = bsm_cpu_div_up(c->y.size[d] - f->first[d], c->w.stride[d]);
  }
}

static bsm_status prepare_phase(const bsm_cpu_prepare *p, deconvolution *c,
                                phase *f) {
  if (c->depthwise) return pick_weights(p, c, f);
  phase_rows(c, f, &c->y, &f->y_rows, &f->y_offset);
  if (c->has_residual) {
    phase_rows(c, f, &c->residual, &f->residual_rows, &f->residual_offset);
  }
  bsm_cpu_gemm *g = &f->gemm;
  g->kernels = bsm_k_gemm_select(p->isa);
  g->epilogue = bsm_cpu_make_epilogue(&p->step->params->convolution.epilogue,
                                      bsm_k_math_select(p->isa));
  g->scale = 1.0f;
  g->rows = c->y.n * f->size[0] * f->size[1] * f->size[2];
  g->columns = c->co;
  g->taps = f->tap_count;
  g->kc = c->ci;
  bsm_cpu_gemm_plan(g, p->threads, c->groups * c->phase_count);
  return BSM_OK;
}

static bsm_status prepare_phases(const bsm_cpu_prepare *p, deconvolution *c,
                                 bsm_prepared_step *out) {
  uint64_t scratch = 0;
  for (int64_t i = 0; i < c->phase_count; i++) {
    BSM_TRY(prepare_phase(p, c, &c->phases[i]));
    const phase *f = &c->phases[i];
    const uint64_t bytes =
        c->depthwise
            ? (uint64_t)f->tap_count * (BLOCK_PIXELS + 1) * sizeof(float *)
            : bsm_cpu_gemm_scratch(&f->gemm);
    if (bytes > scratch) scratch = bytes;
  }
  c->base.description = bsm_arena_printf(
      p->arena, "%s %s", c->depthwise ? "depthwise phases" : phases,
      c->depthwise ? c->depthwise->name : bsm_k_gemm_select(p->isa)->name);
  BSM_TRY_ALLOC(c->base.description);
  return bsm_cpu_set_scratch(out, 0, scratch, c->base.slots);
}

static bsm_status prepare_few_maps(const bsm_cpu_prepare *p, deconvolution *c,
                                   bsm_prepared_step *out) {
  bsm_cpu_few_phase *few =
      BSM_NEW_ARRAY(p->arena, bsm_cpu_few_phase, (size_t)c->phase_count);
  bsm_cpu_few_maps *f = c->few = BSM_NEW(p->arena, bsm_cpu_few_maps);
  if (!few || !f) return BSM_FAIL_OOM();
  for (int64_t i = 0; i < c->phase_count; i++) {
    const phase *from = &c->phases[i];
    few[i] = (bsm_cpu_few_phase){.taps = from->taps,
                                 .deltas = from->deltas,
                                 .tap_count = from->tap_count};
    memcpy(few[i].first, from->first, sizeof(from->first));
    memcpy(few[i].size, from->size, sizeof(from->size));
  }
  const int64_t *k = c->w.kernel, *stride = c->w.stride;
  *f = (bsm_cpu_few_maps){
      .x = c->x,
      .y = c->y,
      .residual = c->residual,
      .has_residual = c->has_residual,
      .stride = {stride[0], stride[1], stride[2]},
      .taps = k[0] * k[1] * k[2],
      .phases = few,
      .phase_count = c->phase_count,
      .kernel = c->kernel,
      .bias = c->bias,
      .epilogue = bsm_cpu_make_epilogue(&p->step->params->convolution.epilogue,
                                        bsm_k_math_select(p->isa))};
  BSM_TRY(bsm_cpu_few_maps_prepare(p, f));
  c->base.description =
      bsm_arena_printf(p->arena, "%s %s", few_maps, f->gemm.kernels->name);
  BSM_TRY_ALLOC(c->base.description);
  return bsm_cpu_set_scratch(out, 0, bsm_cpu_few_maps_scratch(f),
                             c->base.slots);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  deconvolution *c = BSM_NEW(p->arena, deconvolution);
  BSM_TRY_ALLOC(c);
  const int32_t spatial = params->window.spatial;
  c->base.slots = p->threads;
  c->w = params->window;
  c->x = bsm_image_of(bsm_step_input(p->plan, p->step, 0), spatial);
  c->y = bsm_image_of(bsm_step_output(p->plan, p->step, 0), spatial);
  c->has_residual = params->epilogue.has_residual != 0;
  if (c->has_residual) {
    c->residual = bsm_image_of(bsm_step_input(p->plan, p->step, 1), spatial);
  }
  c->groups = params->groups / bsm_cpu_merged_groups(params);
  c->ci = c->x.c / c->groups;
  c->co = c->y.c / c->groups;
  c->kernel = bsm_cpu_weights(p, 0);
  c->bias = bsm_cpu_weights(p, 1);
  if (bsm_cpu_is_depthwise(params, c->x.c)) {
    c->depthwise = bsm_k_depthwise_select(p->isa);
    c->epilogue =
        bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
    c->ci = c->x.c;
  }
  c->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)c->ci);
  BSM_TRY_ALLOC(c->zeros);
  const bool few = takes_few_maps(p->plan, p->step);
  c->phase_count = 1;
  for (int d = 0; d < 3; d++) {
    c->phases_of[d] = bsm_cpu_min(c->w.stride[d], c->y.size[d]);
    c->phase_count *= c->phases_of[d];
  }
  c->phases = BSM_NEW_ARRAY(p->arena, phase, (size_t)c->phase_count + 1);
  BSM_TRY_ALLOC(c->phases);
  for (int64_t i = 0; i < c->phase_count; i++) {
    place_phase(c, &c->phases[i], i);
    BSM_TRY(find_taps(p, c, &c->phases[i]));
  }
  out->impl = c;
  return few ? prepare_few_maps(p, c, out) : prepare_phases(p, c, out);
}

/* ---- run ---- */

typedef struct work {
  const deconvolution *c;
  const phase *f;
  const float *x, *residual;
  float *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

typedef struct source {
  const deconvolution *c;
  const phase *f;
  const float *x; /* at the first channel of the group */
} source;

/* The pixels that tap `tap` of a phase reads for `n` outputs of one line, from
 * `p` on. */
static void point_line(const source *s, const bsm_cpu_position *p, int64_t tap,
                       int64_t n, const float **to) {
  const bsm_image *x = &s->c->x;
  const int64_t *delta = s->f->deltas[tap];
  const int64_t depth = p->at[0] + delta[0], row = p->at[1] + delta[1];
  const bool inside =
      depth >= 0 && depth < x->size[0] && row >= 0 && row < x->size[1];
  const int64_t step = x->stride[2], first = p->at[2] + delta[2];
  /* Of the line, pixels [live, end) are inside. */
  const int64_t live = inside ? bsm_cpu_min(bsm_cpu_max(-first, 0), n) : n;
  const int64_t end = bsm_cpu_max(bsm_cpu_min(x->size[2] - first, n), live);
  int64_t i = 0;
  for (; i < live; i++) to[i] = s->c->zeros;
  if (live < end) {
    const float *from = s->x + p->n * x->n_stride + depth * x->stride[0] +
                        row * x->stride[1] + (first + live) * step;
    for (; i < end; i++, from += step) to[i] = from;
  }
  for (; i < n; i++) to[i] = s->c->zeros;
}

static void pointers(const void *self, int64_t row, int count, int64_t tap,
                     int64_t taps, const float **a) {
  const source *s = self;
  bsm_cpu_position p = bsm_cpu_position_of(row, s->f->size);
  for (int i = 0; i < count;) {
    const int n = (int)bsm_cpu_min(count - i, s->f->size[2] - p.at[2]);
    for (int64_t t = 0; t < taps; t++) {
      point_line(s, &p, tap + t, n, a + t * count + i);
    }
    p.at[2] += n - 1;
    bsm_cpu_position_next(&p, s->f->size);
    i += n;
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const deconvolution *c = w->c;
  const phase *f = w->f;
  const int64_t units = bsm_cpu_gemm_units(&f->gemm);
  const int64_t group = index / units;
  const int64_t taps = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2];
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  const source s = {c, f, w->x + group * c->ci};
  const bsm_cpu_gemm_operands o = {
      .source = &s,
      .pointers = pointers,
      .b = c->kernel + group * panels * taps * c->ci * BSM_PANEL,
      .b_tap = c->ci * BSM_PANEL,
      .b_panel = taps * c->ci * BSM_PANEL,
      .tap_list = f->taps,
      .bias = c->bias ? c->bias + group * c->co : NULL,
      .c = w->y + f->y_offset + group * c->co,
      .c_rows = &f->y_rows,
      .residual =
          w->residual ? w->residual + f->residual_offset + group * c->co : NULL,
      .residual_rows = &f->residual_rows};
  bsm_cpu_gemm_run(&f->gemm, &o, index % units,
                   w->scratch + (size_t)slot * w->slot_size);
}

/* Depthwise: how the outputs are cut. Phases take turns within a row, so that
 * neighbours are written together; the first one has the most outputs. */
static void depthwise_lines(const deconvolution *c, int64_t lines[3]) {
  const int64_t *most = c->phases[0].size;
  lines[0] = most[0];
  lines[1] = most[1];
  lines[2] = bsm_cpu_div_up(most[2], BLOCK_PIXELS) * c->phase_count;
}

static void depthwise_unit(void *arg, int64_t index, int slot) {
  work w = *(const work *)arg;
  const deconvolution *c = w.c;
  int64_t lines[3];
  depthwise_lines(c, lines);
  bsm_cpu_position p = bsm_cpu_position_of(index, lines);
  const phase *f = w.f = &c->phases[p.at[2] % c->phase_count];
  p.at[2] = p.at[2] / c->phase_count * BLOCK_PIXELS;
  for (int d = 0; d < 3; d++) {
    if (p.at[d] >= f->size[d]) return;
  }
  const int64_t n = bsm_cpu_min(BLOCK_PIXELS, f->size[2] - p.at[2]);
  const float ***taps =
      (const float ***)(void *)(w.scratch + (size_t)slot * w.slot_size);
  const float **pointers = (const float **)(void *)(taps + f->tap_count);
  const source from = {c, f, w.x};
  for (int64_t t = 0; t < f->tap_count; t++) {
    taps[t] = pointers + t * BLOCK_PIXELS;
    point_line(&from, &p, t, n, pointers + t * BLOCK_PIXELS);
  }
  int64_t to = p.n * c->y.n_stride, residual = p.n * c->residual.n_stride;
  for (int d = 0; d < 3; d++) {
    const int64_t at = f->first[d] + p.at[d] * c->w.stride[d];
    to += at * c->y.stride[d];
    residual += at * c->residual.stride[d];
  }
  const bsm_k_depthwise_args t = {
      .x = (const float *const *const *)taps,
      .w = f->weights,
      .w_tap = c->y.c,
      .taps = f->tap_count,
      .line = 1,
      .pixels = n,
      .channels = c->y.c,
      .y = w.y + to,
      .y_pixel = c->y.stride[2] * c->w.stride[2],
      .bias = c->bias,
      .residual = w.residual ? w.residual + residual : NULL,
      .residual_pixel = c->residual.stride[2] * c->w.stride[2],
      .lo = c->epilogue.lo,
      .hi = c->epilogue.hi};
  c->depthwise->any(&t);
  bsm_cpu_activate_pixels(&c->epilogue, t.y, t.y_pixel, n, c->y.c);
}

static void few_maps_unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  bsm_cpu_few_maps_run(w->c->few, w->x, w->residual, w->y, index,
                       w->scratch + (size_t)slot * w->slot_size);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const deconvolution *c = prepared->impl;
  work w = {.c = c,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)c->base.slots};
  if (c->has_residual) w.residual = bsm_cpu_input_address(prepared, r, 1);
  if (c->few) {
    bsm_cpu_parallel(r, c->base.slots, bsm_cpu_few_maps_units(c->few),
                     few_maps_unit, &w);
    return BSM_OK;
  }
  if (c->depthwise) {
    int64_t lines[3];
    depthwise_lines(c, lines);
    bsm_cpu_parallel(r, c->base.slots, c->y.n * lines[0] * lines[1] * lines[2],
                     depthwise_unit, &w);
    return BSM_OK;
  }
  for (int64_t i = 0; i < c->phase_count; i++) {
    w.f = &c->phases[i];
    bsm_cpu_parallel(r, c->base.slots,
                     c->groups * bsm_cpu_gemm_units(&w.f->gemm), unit, &w);
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_DECONVOLUTION = {check, tactics, prepare, run};
