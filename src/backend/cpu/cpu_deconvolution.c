/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution of channels-last tensors.
 *
 * The outputs whose coordinates agree modulo the stride (a *phase*) read the
 * same taps of the kernel, each from one input pixel. So every phase is an
 * indirect convolution with a part of the taps, and nothing is scattered: the
 * epilogue is fused and threads write what is theirs. */
#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_window.h"

/* Stride is at most this in each dimension: the phases are enumerated. */
#define MAX_PHASES 4096

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
} phase;

typedef struct deconvolution {
  bsm_cpu_impl base;
  bsm_step_window w;
  int64_t groups, ci, co;
  bsm_image x, y, residual;
  bool has_residual;
  const float *zeros, *kernel, *bias;
  int64_t phase_count;
  phase *phases;
} deconvolution;

/* ---- check ---- */

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_cpu_check_convolution(plan, step, BSM_DTYPE_FLOAT, true));
  /* Any output size is safe: taps outside the input are zeros. */
  const int64_t *s = step->params->convolution.window.stride;
  if (s[0] * s[1] > MAX_PHASES || s[0] * s[1] * s[2] > MAX_PHASES) {
    return BSM_FAIL(BSM_CORRUPT, "strides %lld, %lld, %lld are too large",
                    (long long)s[0], (long long)s[1], (long long)s[2]);
  }
  return BSM_OK;
}

/* ---- prepare ---- */

/* Output o reads input (o + pad - t * dilation) / stride where that divides. */
static bool reads(const bsm_step_window *w, int d, int64_t o, int64_t t) {
  return (o + w->pre_padding[d] - t * w->dilation[d]) % w->stride[d] == 0;
}

static bsm_status find_taps(const bsm_cpu_prepare *p, deconvolution *c,
                            phase *f) {
  const bsm_step_window *w = &c->w;
  const int64_t all = w->kernel[0] * w->kernel[1] * w->kernel[2];
  int64_t *taps = BSM_NEW_ARRAY(p->arena, int64_t, (size_t)all);
  int64_t(*deltas)[3] = bsm_arena_alloc(p->arena, (size_t)all * sizeof(*deltas),
                                        _Alignof(int64_t));
  if (!taps || !deltas) return BSM_FAIL_OOM();
  for (int64_t t = 0; t < all; t++) {
    const int64_t at[3] = {t / (w->kernel[1] * w->kernel[2]),
                           t / w->kernel[2] % w->kernel[1], t % w->kernel[2]};
    bool used = true;
    for (int d = 0; d < 3; d++) used = used && reads(w, d, f->first[d], at[d]);
    if (!used) continue;
    for (int d = 0; d < 3; d++) {
      deltas[f->tap_count][d] =
          (f->first[d] + w->pre_padding[d] - at[d] * w->dilation[d]) /
          w->stride[d];
    }
    taps[f->tap_count++] = t;
  }
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

static bsm_status prepare_phase(const bsm_cpu_prepare *p, deconvolution *c,
                                phase *f, int64_t index) {
  const int64_t *s = c->w.stride;
  f->first[0] = index / (s[1] * s[2]);
  f->first[1] = index / s[2] % s[1];
  f->first[2] = index % s[2];
  for (int d = 0; d < 3; d++) {
    const int64_t rest = c->y.size[d] - f->first[d];
    f->size[d] = rest > 0 ? bsm_cpu_div_up(rest, s[d]) : 0;
  }
  BSM_TRY(find_taps(p, c, f));
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
  c->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)c->ci);
  BSM_TRY_ALLOC(c->zeros);
  c->phase_count = c->w.stride[0] * c->w.stride[1] * c->w.stride[2];
  c->phases = BSM_NEW_ARRAY(p->arena, phase, (size_t)c->phase_count);
  BSM_TRY_ALLOC(c->phases);
  uint64_t scratch = 0;
  for (int64_t i = 0; i < c->phase_count; i++) {
    BSM_TRY(prepare_phase(p, c, &c->phases[i], i));
    const uint64_t bytes = bsm_cpu_gemm_scratch(&c->phases[i].gemm);
    if (bytes > scratch) scratch = bytes;
  }
  c->base.description =
      bsm_arena_printf(p->arena, "phases %s", c->phases[0].gemm.kernels->name);
  BSM_TRY_ALLOC(c->base.description);
  out->impl = c;
  return bsm_cpu_set_scratch(out, 0, scratch, c->base.slots);
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

static const float *tap_pointer(const source *s, const bsm_cpu_position *p,
                                const int64_t *delta) {
  const bsm_image *x = &s->c->x;
  int64_t offset = p->n * x->n_stride;
  for (int d = 0; d < 3; d++) {
    const int64_t i = p->at[d] + delta[d];
    if (i < 0 || i >= x->size[d]) return s->c->zeros;
    offset += i * x->stride[d];
  }
  return s->x + offset;
}

static void pointers(const void *self, int64_t row, int count, int64_t tap,
                     int64_t taps, const float **a) {
  const source *s = self;
  bsm_cpu_position p = bsm_cpu_position_of(row, s->f->size);
  for (int i = 0; i < count; i++) {
    for (int64_t t = 0; t < taps; t++) {
      a[t * count + i] = tap_pointer(s, &p, s->f->deltas[tap + t]);
    }
    bsm_cpu_position_next(&p, s->f->size);
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

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const deconvolution *c = prepared->impl;
  work w = {.c = c,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)c->base.slots};
  if (c->has_residual) w.residual = bsm_cpu_input_address(prepared, r, 1);
  for (int64_t i = 0; i < c->phase_count; i++) {
    w.f = &c->phases[i];
    bsm_cpu_parallel(r, c->base.slots,
                     c->groups * bsm_cpu_gemm_units(&w.f->gemm), unit, &w);
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_DECONVOLUTION = {check, NULL, prepare, run};
