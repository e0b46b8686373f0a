/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation: layer, RMS, group and instance norm.
 *
 * The input is seen as kept x reduced dimensions; with groups, axis 1 is split
 * into [groups, channels of a group] and the latter is reduced too. Three
 * paths: `rows`, the reduced elements are one contiguous row of floats, with
 * scale and bias along it; `channels`, channels-last images, with sums for each
 * channel; and `blocks`, anything else, by blocks of neighbours. */
#include "backend/cpu/cpu_normalization.h"

#define UNIT 8192
/* Rows that are shorter are done as columns. */
#define SHORT_ROW 32

enum {
  OUT = BSM_CPU_NORM_OUT,
  IN = BSM_CPU_NORM_IN,
  SCALE = BSM_CPU_NORM_SCALE,
  BIAS = BSM_CPU_NORM_BIAS,
  OPERANDS = BSM_CPU_NORM_OPERANDS
};
typedef bsm_cpu_norm normalization;
typedef bsm_cpu_norm_work work;

/* ---- prepare ---- */

typedef struct shape {
  int32_t rank;
  uint32_t reduced; /* bits */
  int64_t dims[BSM_MAX_RANK];
  int64_t strides[OPERANDS][BSM_MAX_RANK];
} shape;

/* The dimensions with axis 1 split when there are groups. */
static shape split(const bsm_plan_tensor *const *tensors,
                   const bsm_step_normalization *p) {
  const bsm_plan_tensor *x = tensors[IN];
  shape s = {0};
  for (int32_t i = 0; i < x->dims.rank; i++) {
    const bool grouped = i == 1 && p->groups > 1;
    const int64_t size = x->dims.d[i];
    const int64_t inner = grouped ? size / p->groups : size;
    if (grouped) s.dims[s.rank] = p->groups;
    for (int k = 0; k < OPERANDS; k++) {
      const bsm_plan_tensor *t = tensors[k];
      int64_t stride = 0;
      if (t) {
        const int32_t j = i - (x->dims.rank - t->dims.rank);
        stride = j < 0 || t->dims.d[j] == 1 ? 0 : t->strides[j];
      }
      if (grouped) {
        s.strides[k][s.rank] = stride * inner;
        s.strides[k][s.rank + 1] = stride;
      } else {
        s.strides[k][s.rank] = stride;
      }
    }
    if (grouped) s.rank++;
    s.dims[s.rank] = inner;
    if (grouped || (p->axes >> i & 1u)) s.reduced |= 1u << s.rank;
    s.rank++;
  }
  return s;
}

static void make_spaces(normalization *n, const shape *s) {
  n->kept.operands = n->reduced.operands = OPERANDS;
  for (int32_t i = 0; i < s->rank; i++) {
    bsm_cpu_space *to = s->reduced >> i & 1u ? &n->reduced : &n->kept;
    to->dims[to->rank] = s->dims[i];
    for (int k = 0; k < OPERANDS; k++) {
      to->strides[k][to->rank] = s->strides[k][i];
    }
    to->rank++;
  }
  bsm_cpu_space_reduce(&n->kept, true);
  bsm_cpu_space_reduce(&n->reduced, true);
}

/* Reduced elements in one contiguous row; along it, scale and bias are
 * adjacent, or constant over the innermost dimension. */
static bool is_rows(const normalization *n) {
  const bsm_cpu_space *r = &n->reduced;
  int64_t stride = 1;
  for (int32_t i = r->rank - 1; i >= 0; i--) {
    if (r->strides[OUT][i] != stride || r->strides[IN][i] != stride) {
      return r->count == 1;
    }
    stride *= r->dims[i];
  }
  if (r->count <= SHORT_ROW && n->kept.count > SHORT_ROW) return false;
  const int64_t scale = r->strides[SCALE][r->rank - 1];
  const int64_t bias = r->strides[BIAS][r->rank - 1];
  return scale <= 1 && bias <= 1;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_normalization *params = &p->step->params->normalization;
  normalization *n = BSM_NEW(p->arena, normalization);
  BSM_TRY_ALLOC(n);
  const bsm_plan_tensor *t[OPERANDS] = {bsm_step_output(p->plan, p->step, 0),
                                        bsm_step_input(p->plan, p->step, 0)};
  n->base.elements = bsm_cpu_elements_of(p->isa);
  n->base.slots = p->threads;
  n->rms = params->rms != 0;
  n->has_scale = params->has_scale != 0;
  n->has_bias = params->has_bias != 0;
  n->epsilon = params->epsilon;
  n->rows = bsm_k_rows_select(p->isa);
  n->inputs[SCALE] = 1;
  n->inputs[BIAS] = n->has_scale ? 2 : 1;
  if (n->has_scale) t[SCALE] = bsm_step_input(p->plan, p->step, 1);
  if (n->has_bias) t[BIAS] = bsm_step_input(p->plan, p->step, n->inputs[BIAS]);
  bool floats = true;
  for (int k = 0; k < OPERANDS; k++) {
    floats = floats && (!t[k] || t[k]->dtype == BSM_DTYPE_FLOAT);
  }
  const shape s = split(t, params);
  make_spaces(n, &s);
  uint64_t shared = 0, bytes = 0;
  if (floats && is_rows(n)) {
    n->mode = BSM_CPU_NORM_ROWS;
    n->base.description = n->rows->name;
  } else if (floats && !n->rms &&
             bsm_cpu_norm_is_channels(n, t, params, &shared)) {
    n->mode = BSM_CPU_NORM_CHANNELS;
    n->base.description = "channels";
  } else {
    n->mode = BSM_CPU_NORM_BLOCKS;
    n->base.description = "blocks";
    bsm_cpu_norm_prepare_blocks(n, t, &bytes);
  }
  n->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, n->reduced.count));
  out->impl = n;
  return bsm_cpu_set_scratch(out, shared, bytes, n->base.slots);
}

/* ---- run: rows ---- */

/* Mean and factor of a contiguous row. */
static void row_moments(const normalization *n, const float *x, int64_t count,
                        float *mean, float *factor) {
  const double size = (double)count;
  *mean = n->rms ? 0.0f : (float)((double)n->rows->sum(x, count) / size);
  *factor = (float)bsm_cpu_norm_factor(
      n, (double)n->rows->sum_squares(x, count, *mean) / size);
}

static void write_row(const work *w, const float *x, float *y,
                      const bsm_cpu_cursor *kept, float mean, float factor) {
  const normalization *n = w->n;
  const bsm_cpu_space *r = &n->reduced;
  const int32_t last = r->rank - 1;
  const float *scale = (const float *)(const void *)w->in[SCALE];
  const float *bias = (const float *)(const void *)w->in[BIAS];
  bsm_cpu_cursor c;
  bsm_cpu_seek(r, 0, &c);
  for (int64_t i = 0; i < r->count; i += r->dims[last]) {
    const float *s =
        scale ? scale + kept->offset[SCALE] + c.offset[SCALE] : NULL;
    const float *b = bias ? bias + kept->offset[BIAS] + c.offset[BIAS] : NULL;
    float m = mean, f = factor;
    /* Constant along the row: (x - m) * f * s + b = (x - m') * f'. */
    const bool s_constant = s && r->strides[SCALE][last] == 0;
    const bool b_constant = b && r->strides[BIAS][last] == 0;
    if ((s_constant || !s) && (b_constant || !b)) {
      const float fs = f * (s ? *s : 1.0f);
      if (!b || fs == 0.0f) {
        n->rows->normalize(x + i, y + i, r->dims[last], m, fs, NULL, NULL);
        for (int64_t j = 0; b && j < r->dims[last]; j++) y[i + j] += *b;
      } else {
        n->rows->center(x + i, y + i, r->dims[last], m, fs, *b);
      }
    } else if (s_constant || b_constant) {
      for (int64_t j = 0; j < r->dims[last]; j++) {
        y[i + j] = (x[i + j] - m) * f *
                       (s_constant ? *s
                        : s        ? s[j]
                                   : 1.0f) +
                   (b_constant ? *b
                    : b        ? b[j]
                               : 0.0f);
      }
    } else {
      n->rows->normalize(x + i, y + i, r->dims[last], m, f, s, b);
    }
    bsm_cpu_advance(r, &c, r->dims[last]);
  }
}

static void rows_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const normalization *n = w->n;
  const int64_t first = unit * n->unit_rows;
  const int64_t end = bsm_cpu_min(first + n->unit_rows, n->kept.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&n->kept, first, &c);
  for (int64_t i = first; i < end; i++) {
    const float *x = (const float *)(const void *)w->in[IN] + c.offset[IN];
    float mean, factor;
    row_moments(n, x, n->reduced.count, &mean, &factor);
    write_row(w, x, (float *)(void *)w->y + c.offset[OUT], &c, mean, factor);
    bsm_cpu_advance(&n->kept, &c, 1);
  }
}

/* ---- run ---- */

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const normalization *n = prepared->impl;
  work w = {.n = n,
            .run = r,
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)n->base.slots};
  w.in[IN] = bsm_cpu_input_address(prepared, r, 0);
  if (n->has_scale) {
    w.in[SCALE] = bsm_cpu_input_address(prepared, r, n->inputs[SCALE]);
  }
  if (n->has_bias) {
    w.in[BIAS] = bsm_cpu_input_address(prepared, r, n->inputs[BIAS]);
  }
  if (n->kept.count == 0 || n->reduced.count == 0) return BSM_OK;
  if (n->mode == BSM_CPU_NORM_CHANNELS) {
    bsm_cpu_norm_run_channels(&w);
  } else if (n->mode == BSM_CPU_NORM_BLOCKS) {
    bsm_cpu_norm_run_blocks(&w);
  } else {
    bsm_cpu_parallel(r, n->base.slots,
                     bsm_cpu_div_up(n->kept.count, n->unit_rows), rows_unit,
                     &w);
  }
  return BSM_OK;
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_check_normalization(plan, step));
  return step->output_count == 1
             ? BSM_OK
             : BSM_FAIL(BSM_UNSUPPORTED, "a normalization with bytes");
}

const bsm_cpu_kind bsm_cpu_NORMALIZATION = {check, NULL, prepare, run};
