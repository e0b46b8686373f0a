/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and transposed convolution of double, int32 and int64,
 * channels last.
 *
 * Both are matrix products whose rows are the windows of the output's pixels,
 * copied a block at a time: taps that lie in the padding, or, transposed,
 * between the pixels of the input, are zeros. A depthwise convolution adds tap
 * by tap, in vectors of channels. */
#include <string.h>

#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_typed_gemm.h"
#include "backend/cpu/cpu_window.h"

typedef struct convolution {
  bsm_cpu_impl base;
  bool transposed, depthwise;
  bsm_step_window w;
  int64_t groups, ci, co; /* maps of a group */
  int64_t taps;
  bsm_image x, y;
  bsm_cpu_rows y_rows; /* pixels */
  bsm_cpu_typed_gemm gemm;
  const uint8_t *kernel, *bias;
} convolution;

static bool is_transposed(const bsm_plan_step *step) {
  return step->kind == BSM_STEP_DECONVOLUTION;
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution *p = &step->params->convolution;
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_cpu_typed_check_epilogue(&p->epilogue));
  return bsm_cpu_check_convolution(plan, step, y->dtype, is_transposed(step));
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  const int32_t spatial = params->window.spatial;
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  c->base.slots = p->threads;
  c->transposed = is_transposed(p->step);
  c->w = params->window;
  c->x = bsm_image_of(bsm_step_input(p->plan, p->step, 0), spatial);
  c->y = bsm_image_of(y, spatial);
  bsm_cpu_rows_init(
      &c->y_rows, 4,
      (int64_t[]){c->y.n, c->y.size[0], c->y.size[1], c->y.size[2]},
      (int64_t[]){c->y.n_stride, c->y.stride[0], c->y.stride[1],
                  c->y.stride[2]});
  c->depthwise = !c->transposed && bsm_cpu_is_depthwise(params, c->x.c);
  c->groups = c->depthwise ? params->groups
                           : params->groups / bsm_cpu_merged_groups(params);
  c->ci = c->x.c / c->groups;
  c->co = c->y.c / c->groups;
  c->taps = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2];
  c->kernel = bsm_cpu_weights(p, 0);
  c->bias = bsm_cpu_weights(p, 1);
  bsm_cpu_typed_gemm *g = &c->gemm;
  bsm_k_typed type = BSM_K_TYPED_F64;
  bsm_cpu_typed_of(y->dtype, &type);
  g->dtype = y->dtype;
  g->kernels = &bsm_k_typed_gemm_select(p->isa)->of[type];
  g->rows = c->y.n * c->y.size[0] * c->y.size[1] * c->y.size[2];
  g->columns = c->co;
  g->k = c->taps * c->ci;
  bsm_cpu_typed_gemm_plan(g, p->threads, c->groups);
  c->base.description =
      bsm_arena_printf(p->arena, "%s %s", c->depthwise ? "depthwise" : "im2col",
                       g->kernels->name);
  BSM_TRY_ALLOC(c->base.description);
  out->impl = c;
  return bsm_cpu_set_scratch(
      out, 0, c->depthwise ? 0 : bsm_cpu_typed_gemm_scratch(g), c->base.slots);
}

/* ---- run ---- */

typedef struct work {
  const convolution *c;
  const uint8_t *x;
  uint8_t *y, *scratch;
  size_t slot_size;
} work;

typedef struct source {
  const convolution *c;
  const uint8_t *x; /* at the first channel of the group */
} source;

/* The input pixel that a tap reads, in elements, or -1 where there is none. */
static int64_t tap_offset(const convolution *c, const bsm_cpu_position *p,
                          int64_t tap) {
  const bsm_step_window *w = &c->w;
  const int64_t at[3] = {tap / (w->kernel[1] * w->kernel[2]),
                         tap / w->kernel[2] % w->kernel[1], tap % w->kernel[2]};
  int64_t offset = p->n * c->x.n_stride;
  for (int d = 0; d < 3; d++) {
    int64_t i;
    if (c->transposed) {
      const int64_t scaled =
          p->at[d] + w->pre_padding[d] - at[d] * w->dilation[d];
      if (scaled < 0 || scaled % w->stride[d] != 0) return -1;
      i = scaled / w->stride[d];
    } else {
      i = p->at[d] * w->stride[d] - w->pre_padding[d] + at[d] * w->dilation[d];
    }
    if (i < 0 || i >= c->x.size[d]) return -1;
    offset += i * c->x.stride[d];
  }
  return offset;
}

/* Elements k .. k + length - 1 of the window of one pixel. */
static void pack_window(const source *s, const bsm_cpu_position *p, int64_t k,
                        int64_t length, uint8_t *to) {
  const convolution *c = s->c;
  const size_t size = c->gemm.size;
  while (length > 0) {
    const int64_t tap = k / c->ci, channel = k % c->ci;
    const int64_t n = bsm_cpu_min(c->ci - channel, length);
    const int64_t offset = tap_offset(c, p, tap);
    if (offset < 0) {
      memset(to, 0, (size_t)n * size);
    } else {
      memcpy(to, s->x + (size_t)(offset + channel) * size, (size_t)n * size);
    }
    to += (size_t)n * size;
    k += n;
    length -= n;
  }
}

static void pack_windows(const void *self, int64_t row, int64_t count,
                         int64_t k, int64_t length, void *to, int64_t stride) {
  const source *s = self;
  bsm_cpu_position p = bsm_cpu_position_of(row, s->c->y.size);
  for (int64_t i = 0; i < count; i++) {
    pack_window(s, &p, k, length,
                (uint8_t *)to + (size_t)(i * stride) * s->c->gemm.size);
    bsm_cpu_position_next(&p, s->c->y.size);
  }
}

static void product_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const convolution *c = w->c;
  const size_t size = c->gemm.size;
  const int64_t units = bsm_cpu_typed_gemm_units(&c->gemm);
  const int64_t group = unit / units;
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  const source s = {c, w->x + (size_t)(group * c->ci) * size};
  const bsm_cpu_typed_operands o = {
      .source = &s,
      .pack = pack_windows,
      .b = c->kernel + (size_t)(group * panels * c->gemm.k * BSM_PANEL) * size,
      .bias = c->bias ? c->bias + (size_t)(group * c->co) * size : NULL,
      .c = w->y + (size_t)(group * c->co) * size,
      .c_rows = &c->y_rows};
  bsm_cpu_typed_gemm_run(&c->gemm, &o, unit % units,
                         w->scratch + (size_t)slot * w->slot_size);
}

/* One line of output pixels. */
static void depthwise_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const convolution *c = w->c;
  const size_t size = c->gemm.size;
  const int64_t width = bsm_cpu_round_up(c->x.c, BSM_PANEL);
  bsm_cpu_position p = bsm_cpu_position_of(unit * c->y.size[2], c->y.size);
  (void)slot;
  for (int64_t i = 0; i < c->y.size[2]; i++) {
    int64_t offset;
    bsm_cpu_rows_offsets(&c->y_rows, unit * c->y.size[2] + i, 1, &offset);
    uint8_t *y = w->y + (size_t)offset * size;
    memset(y, 0, (size_t)c->y.c * size);
    for (int64_t tap = 0; tap < c->taps; tap++) {
      const int64_t from = tap_offset(c, &p, tap);
      if (from < 0) continue;
      c->gemm.kernels->multiply_add(w->x + (size_t)from * size,
                                    c->kernel + (size_t)(tap * width) * size,
                                    c->y.c, y);
    }
    if (c->bias) bsm_cpu_typed_add(c->gemm.dtype, c->bias, c->y.c, y);
    bsm_cpu_position_next(&p, c->y.size);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  work w = {.c = c,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)c->base.slots};
  if (c->depthwise) {
    bsm_cpu_parallel(r, c->base.slots, c->y.n * c->y.size[0] * c->y.size[1],
                     depthwise_unit, &w);
  } else {
    bsm_cpu_parallel(r, c->base.slots,
                     c->groups * bsm_cpu_typed_gemm_units(&c->gemm),
                     product_unit, &w);
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_typed_convolution = {check, NULL, prepare, run};
