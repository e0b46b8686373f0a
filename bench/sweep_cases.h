/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of bench_sweep.c: steps of every kind, over shapes, layouts, axes,
 * groups and dtypes. Each tensor has about as many elements as a layer of a
 * model of middle size: what is slow here is slow in a model.
 *
 * A case is made by hand (one_step.h) and handed to `sweep_take`, which frees
 * it; steps that the device's check refuses do not count. */
#ifndef BENCH_SWEEP_CASES_H_
#define BENCH_SWEEP_CASES_H_

#include "bench/one_step.h"

typedef struct sweep sweep;

static const bsm_target *sweep_target(const sweep *w);
static void sweep_take(sweep *w, one_step *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- shapes, layouts, dtypes ---- */

static const bsm_dims sweep_shapes[] = {
    {1, {65536}},          {2, {256, 256}},      {2, {16384, 4}},
    {2, {21845, 3}},       {2, {4, 16384}},      {3, {2, 64, 512}},
    {3, {1, 196, 336}},    {4, {2, 64, 16, 32}}, {4, {1, 1336, 7, 7}},
    {4, {4, 3, 72, 76}},   {4, {1, 8, 128, 64}}, {5, {1, 32, 8, 16, 16}},
    {5, {2, 4, 64, 8, 16}}};
#define SWEEP_SHAPES ((int)(sizeof(sweep_shapes) / sizeof(sweep_shapes[0])))

/* Row-major; channels last; rows with gaps; elements with gaps; the last two
 * dimensions in the other order. */
enum { ROWS, LAST, GAPS, SPREAD, TURNED, SWEEP_LAYOUTS };
static const char *const sweep_layout_names[] = {"rows", "last", "gaps",
                                                 "spread", "turned"};

/* false: a tensor of these dims has no such layout of its own. */
static bool sweep_strides(int layout, bsm_dims d, int64_t *strides) {
  const int32_t n = d.rank;
  bsm_contiguous_strides(d, strides);
  if (layout == LAST) {
    if (n < 3) return false;
    one_step_channels_last(d, strides);
  } else if (layout == GAPS) {
    if (n < 2) return false;
    for (int32_t i = 0; i < n - 1; i++) {
      strides[i] = strides[i] / d.d[n - 1] * (d.d[n - 1] + 5);
    }
  } else if (layout == SPREAD) {
    for (int32_t i = 0; i < n; i++) strides[i] *= 2;
  } else if (layout == TURNED) {
    if (n < 2) return false;
    strides[n - 1] = d.d[n - 2];
    strides[n - 2] = 1;
  }
  return true;
}

static void *sweep_tensor(one_step *s, bool output, bsm_dtype dtype, bsm_dims d,
                          int layout) {
  int64_t strides[BSM_MAX_RANK];
  sweep_strides(layout, d, strides);
  return one_step_add(s, output, dtype, d, strides);
}

static bsm_dims sweep_dims(int32_t rank, int64_t a, int64_t b, int64_t c,
                           int64_t d, int64_t e) {
  return (bsm_dims){rank, {a, b, c, d, e}};
}

/* Dims and layout as text: "2x64x512 last". */
static const char *sweep_text(bsm_dims d, int layout) {
  static char buffers[4][80];
  static int next;
  char *text = buffers[next++ % 4];
  int n = 0;
  for (int32_t i = 0; i < d.rank; i++) {
    n += snprintf(text + n, 80 - (size_t)n, "%s%d", i ? "x" : "", (int)d.d[i]);
  }
  snprintf(text + n, 80 - (size_t)n, " %s", sweep_layout_names[layout]);
  return text;
}

static const bsm_dtype sweep_floats[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_HALF,
                                         BSM_DTYPE_BFLOAT16, BSM_DTYPE_DOUBLE};
static const bsm_dtype sweep_all[] = {
    BSM_DTYPE_FLOAT, BSM_DTYPE_HALF,  BSM_DTYPE_BFLOAT16, BSM_DTYPE_DOUBLE,
    BSM_DTYPE_INT64, BSM_DTYPE_INT32, BSM_DTYPE_INT16,    BSM_DTYPE_INT8,
    BSM_DTYPE_UINT8, BSM_DTYPE_BOOL};
#define SWEEP_FLOATS 4
#define SWEEP_ALL 10

/* Layouts are told apart for float; other dtypes have rows and channels last.
 */
static bool sweep_skips(bsm_dtype dtype, int layout) {
  return dtype != BSM_DTYPE_FLOAT && layout > LAST;
}

/* ---- moves ---- */

static void sweep_copies(sweep *w) {
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_HALF, BSM_DTYPE_UINT8,
                              BSM_DTYPE_INT64};
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    for (int pair = 0; pair < SWEEP_LAYOUTS * SWEEP_LAYOUTS; pair++) {
      const int from = pair / SWEEP_LAYOUTS, to = pair % SWEEP_LAYOUTS;
      if (!sweep_strides(from, d, strides) || !sweep_strides(to, d, strides)) {
        continue;
      }
      for (int k = 0; k < 4; k++) {
        one_step_start(&s, BSM_STEP_COPY);
        sweep_tensor(&s, false, dtypes[k], d, from);
        sweep_tensor(&s, true, dtypes[k], d, to);
        sweep_take(w, &s, "%s to %s", sweep_text(d, from),
                   sweep_layout_names[to]);
      }
    }
  }
  for (int k = 0; k < SWEEP_ALL * SWEEP_ALL; k++) {
    const bsm_dims d = {2, {256, 256}};
    const bsm_dtype from = sweep_all[k / SWEEP_ALL];
    const bsm_dtype to = sweep_all[k % SWEEP_ALL];
    for (int turned = 0; from != to && turned < 2; turned++) {
      one_step_start(&s, BSM_STEP_COPY);
      sweep_tensor(&s, false, from, d, turned ? TURNED : ROWS);
      sweep_tensor(&s, true, to, d, ROWS);
      sweep_take(w, &s, "cast %s to %s", sweep_text(d, turned ? TURNED : ROWS),
                 bsm_dtype_name(to));
    }
  }
}

static void sweep_fills(sweep *w) {
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  for (int k = 0; k < SWEEP_ALL * SWEEP_LAYOUTS; k++) {
    const bsm_dims d = sweep_shapes[7];
    const int layout = k % SWEEP_LAYOUTS;
    if (!sweep_strides(layout, d, strides)) continue;
    one_step_start(&s, BSM_STEP_FILL);
    s.params.fill = (bsm_step_fill){.value = 1.0, .integer = 1};
    sweep_tensor(&s, true, sweep_all[k / SWEEP_LAYOUTS], d, layout);
    sweep_take(w, &s, "%s", sweep_text(d, layout));
  }
}

static void sweep_pads(sweep *w) {
  static const char *const modes[] = {"constant", "reflect", "replicate",
                                      "circular"};
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_HALF, BSM_DTYPE_UINT8,
                              BSM_DTYPE_INT64};
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    for (int k = 0; k < 4 * 4 * SWEEP_LAYOUTS; k++) {
      const int mode = k % 4, layout = k / 16;
      const bsm_dtype dtype = dtypes[k / 4 % 4];
      bsm_dims d = sweep_shapes[i], out = d;
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      one_step_start(&s, BSM_STEP_PAD);
      s.params.pad.mode = mode;
      for (int32_t j = d.rank > 2 ? 2 : 0; j < d.rank; j++) {
        s.params.pad.start[j] = -2;
        out.d[j] += 3;
      }
      sweep_tensor(&s, false, dtype, d, layout);
      sweep_tensor(&s, true, dtype, out, layout);
      sweep_take(w, &s, "%s %s", modes[mode], sweep_text(d, layout));
    }
  }
}

static void sweep_resizes(sweep *w) {
  static const char *const modes[] = {"nearest", "linear", "cubic",
                                      "nearest exact"};
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    for (int k = 0; d.rank > 2 && k < 4 * 4 * SWEEP_LAYOUTS * 2; k++) {
      const int mode = k % 4, layout = k / 16 % SWEEP_LAYOUTS;
      const bool shrinks = k / (16 * SWEEP_LAYOUTS) != 0;
      const bsm_dtype dtype = sweep_floats[k / 4 % 4];
      bsm_dims out = d;
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      for (int32_t j = 2; j < d.rank; j++) {
        out.d[j] = shrinks ? (d.d[j] + 1) / 2 : d.d[j] * 3 / 2;
      }
      one_step_start(&s, BSM_STEP_RESIZE);
      s.params.resize = (bsm_step_resize){.mode = mode, .spatial = d.rank - 2};
      sweep_tensor(&s, false, dtype, d, layout);
      sweep_tensor(&s, true, dtype, out, layout);
      sweep_take(w, &s, "%s %s %s", modes[mode], shrinks ? "smaller" : "larger",
                 sweep_text(d, layout));
    }
  }
}

/* ---- indices ---- */

static void sweep_index(one_step *s, bsm_dtype dtype, bsm_dims d, int layout,
                        int64_t size) {
  void *data = sweep_tensor(s, false, dtype, d, layout);
  const bsm_plan_tensor *t = &s->tensors[s->plan.tensor_count - 1];
  uint64_t bytes;
  bsm_plan_tensor_extent(t, &bytes);
  for (uint64_t i = 0; i < bytes / bsm_dtype_size(dtype); i++) {
    const int64_t v = (int64_t)(i * 7919 % (uint64_t)size);
    if (dtype == BSM_DTYPE_INT64) ((int64_t *)data)[i] = v;
    if (dtype == BSM_DTYPE_INT32) ((int32_t *)data)[i] = (int32_t)v;
  }
}

static void sweep_gathers(sweep *w) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_HALF, BSM_DTYPE_UINT8,
                              BSM_DTYPE_INT64};
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    for (int k = 0; k < 4 * 2 * SWEEP_LAYOUTS; k++) {
      const bsm_dtype dtype = dtypes[k % 4];
      const bsm_dtype index = k / 4 % 2 ? BSM_DTYPE_INT32 : BSM_DTYPE_INT64;
      const int layout = k / 8;
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      for (int32_t axis = 0; axis < d.rank; axis++) {
        if (d.d[axis] == 1) continue;
        one_step_start(&s, BSM_STEP_GATHER);
        s.params.gather =
            (bsm_step_gather){.mode = BSM_GATHER_DEFAULT, .axis = axis};
        sweep_tensor(&s, false, dtype, d, layout);
        sweep_index(&s, index, (bsm_dims){1, {d.d[axis]}}, ROWS, d.d[axis]);
        sweep_tensor(&s, true, dtype, d, ROWS);
        sweep_take(w, &s, "take axis %d of %s %s", axis, sweep_text(d, layout),
                   bsm_dtype_name(index));
        one_step_start(&s, BSM_STEP_GATHER);
        s.params.gather =
            (bsm_step_gather){.mode = BSM_GATHER_ELEMENT, .axis = axis};
        sweep_tensor(&s, false, dtype, d, layout);
        sweep_index(&s, index, d, layout, d.d[axis]);
        sweep_tensor(&s, true, dtype, d, layout);
        sweep_take(w, &s, "elements axis %d of %s %s", axis,
                   sweep_text(d, layout), bsm_dtype_name(index));
      }
      if (d.rank < 2) continue;
      one_step_start(&s, BSM_STEP_GATHER);
      s.params.gather.mode = BSM_GATHER_ND;
      bsm_dims out = d, tuples = {2, {d.d[0] * d.d[1], 2}};
      out.rank--;
      out.d[0] = tuples.d[0];
      memcpy(out.d + 1, d.d + 2, (size_t)(d.rank - 2) * sizeof(int64_t));
      sweep_tensor(&s, false, dtype, d, layout);
      sweep_index(&s, index, tuples, ROWS, d.d[0] < d.d[1] ? d.d[0] : d.d[1]);
      sweep_tensor(&s, true, dtype, out, ROWS);
      sweep_take(w, &s, "tuples of 2 of %s %s", sweep_text(d, layout),
                 bsm_dtype_name(index));
    }
  }
}

static void sweep_scatters(sweep *w) {
  static const char *const reductions[] = {"assign", "add", "mul", "min",
                                           "max"};
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_HALF, BSM_DTYPE_INT64};
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    for (int k = 0; k < 3 * 5 * SWEEP_LAYOUTS; k++) {
      const bsm_dtype dtype = dtypes[k % 3];
      const int reduction = k / 3 % 5, layout = k / 15;
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      for (int32_t axis = 0; axis < d.rank; axis++) {
        if (d.d[axis] == 1) continue;
        one_step_start(&s, BSM_STEP_SCATTER);
        s.params.scatter = (bsm_step_scatter){.mode = BSM_SCATTER_ELEMENT,
                                              .axis = axis,
                                              .reduction = reduction,
                                              .include_self = 1};
        sweep_tensor(&s, false, dtype, d, layout);
        sweep_index(&s, BSM_DTYPE_INT64, d, layout, d.d[axis]);
        sweep_tensor(&s, false, dtype, d, layout);
        sweep_tensor(&s, true, dtype, d, layout);
        sweep_take(w, &s, "elements %s axis %d of %s", reductions[reduction],
                   axis, sweep_text(d, layout));
      }
      one_step_start(&s, BSM_STEP_SCATTER);
      s.params.scatter = (bsm_step_scatter){
          .mode = BSM_SCATTER_ND, .reduction = reduction, .include_self = 1};
      sweep_tensor(&s, false, dtype, d, layout);
      sweep_index(&s, BSM_DTYPE_INT64, (bsm_dims){2, {d.d[0], 1}}, ROWS,
                  d.d[0]);
      sweep_tensor(&s, false, dtype, d, layout);
      sweep_tensor(&s, true, dtype, d, layout);
      sweep_take(w, &s, "slices %s of %s", reductions[reduction],
                 sweep_text(d, layout));
    }
  }
}

/* ---- rows ---- */

static void sweep_softmaxes(sweep *w) {
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    for (int k = 0; k < 2 * SWEEP_FLOATS * SWEEP_LAYOUTS; k++) {
      const bsm_dtype dtype = sweep_floats[k / 2 % 4];
      const int layout = k / 8;
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      for (int32_t axis = 0; axis < d.rank; axis++) {
        if (d.d[axis] == 1) continue;
        one_step_start(&s, BSM_STEP_SOFTMAX);
        s.params.softmax = (bsm_step_softmax){.axis = axis, .log = k % 2};
        sweep_tensor(&s, false, dtype, d, layout);
        sweep_tensor(&s, true, dtype, d, layout);
        sweep_take(w, &s, "%saxis %d of %s", k % 2 ? "log " : "", axis,
                   sweep_text(d, layout));
      }
    }
  }
}

/* Scale and bias of `side`, as one is after the other: as many dims as the
 * input has are maps that are expanded, as converters make them. */
static void sweep_normalization(sweep *w, bsm_dtype dtype, bsm_dims d, int from,
                                int to, bsm_step_normalization p, bsm_dims side,
                                const char *what) {
  one_step s;
  one_step_start(&s, BSM_STEP_NORMALIZATION);
  p.epsilon = 1e-5;
  if (p.groups == 0) p.groups = 1;
  p.has_scale = side.rank > 0;
  p.has_bias = side.rank > 0 && !p.rms;
  s.params.normalization = p;
  sweep_tensor(&s, false, dtype, d, from);
  const int64_t expanded[BSM_MAX_RANK] = {0, 1};
  const int64_t *strides = side.rank == d.rank && d.rank > 2 ? expanded : NULL;
  if (p.has_scale) one_step_add(&s, false, dtype, side, strides);
  if (p.has_bias) one_step_add(&s, false, dtype, side, strides);
  sweep_tensor(&s, true, dtype, d, to);
  sweep_take(w, &s, "%s%s of %s to %s", what, side.rank ? " affine" : "",
             sweep_text(d, from), sweep_layout_names[to]);
}

static void sweep_image_norms(sweep *w, bsm_dtype dtype, bsm_dims d, int from,
                              int to, bool affine) {
  const uint32_t pixels = ((1u << d.rank) - 1u) & ~3u;
  bsm_dims side = {d.rank - 1, {d.d[1], 1, 1, 1}}, none = {0};
  const bsm_step_normalization instance = {.axes = pixels};
  const bsm_step_normalization channels = {.axes = 2};
  const bsm_step_normalization channel_rms = {.axes = 2, .rms = 1};
  const bsm_step_normalization sample = {.axes = pixels | 2};
  if (!affine) side = none;
  sweep_normalization(w, dtype, d, from, to, instance, side, "instance");
  sweep_normalization(w, dtype, d, from, to, channels, side, "channels");
  sweep_normalization(w, dtype, d, from, to, channel_rms, side, "channels rms");
  sweep_normalization(w, dtype, d, from, to, sample, side, "sample");
  for (int g = 2; g <= 32; g *= 2) {
    char what[16];
    const bsm_step_normalization group = {.axes = pixels, .groups = g};
    if (d.d[1] % g) continue;
    snprintf(what, sizeof(what), "groups %d", g);
    sweep_normalization(w, dtype, d, from, to, group, side, what);
    if (!affine) continue;
    snprintf(what, sizeof(what), "groups %d whole", g);
    sweep_normalization(w, dtype, d, from, to, group, d, what);
  }
}

static void sweep_normalizations(sweep *w) {
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    const bsm_dims side = {1, {d.d[d.rank - 1]}}, none = {0};
    for (int k = 0; k < 2 * SWEEP_FLOATS * SWEEP_LAYOUTS; k++) {
      const bool affine = k % 2 != 0;
      const bsm_dtype dtype = sweep_floats[k / 2 % 4];
      const int layout = k / 8;
      const bsm_step_normalization last = {.axes = 1u << (d.rank - 1)};
      const bsm_step_normalization rms = {.axes = last.axes, .rms = 1};
      const bsm_step_normalization first = {.axes = 1};
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      sweep_normalization(w, dtype, d, layout, layout, last,
                          affine ? side : none, "last axis");
      sweep_normalization(w, dtype, d, layout, layout, rms,
                          affine ? side : none, "last axis rms");
      if (!affine && d.d[0] > 1) {
        sweep_normalization(w, dtype, d, layout, layout, first, none,
                            "first axis");
      }
      if (d.rank < 3) continue;
      sweep_image_norms(w, dtype, d, layout, layout, affine);
      if (layout == ROWS) {
        sweep_image_norms(w, dtype, d, ROWS, LAST, affine);
      } else if (layout == LAST) {
        sweep_image_norms(w, dtype, d, LAST, ROWS, affine);
      }
    }
  }
}

static void sweep_reduction(sweep *w, int operation, bsm_dtype dtype,
                            bsm_dims d, int layout, uint32_t axes) {
  static const char *const names[] = {"sum", "prod", "max", "min", "mean",
                                      "any", "all",  "l2",  "l1",  "variance"};
  const bool truth = operation == BSM_REDUCE_ANY || operation == BSM_REDUCE_ALL;
  one_step s;
  bsm_dims out = d;
  char text[BSM_MAX_RANK + 1] = "";
  for (int32_t i = 0; i < d.rank; i++) {
    if (!(axes >> i & 1u)) continue;
    out.d[i] = 1;
    text[strlen(text)] = (char)('0' + i);
  }
  one_step_start(&s, BSM_STEP_REDUCE);
  s.params.reduce = (bsm_step_reduce){
      .operation = operation, .axes = axes, .keep_dims = 1, .correction = 1.0};
  sweep_tensor(&s, false, dtype, d, layout);
  sweep_tensor(&s, true, truth ? BSM_DTYPE_BOOL : dtype, out, ROWS);
  sweep_take(w, &s, "%s axes %s of %s", names[operation], text,
             sweep_text(d, layout));
}

static void sweep_reductions(sweep *w) {
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    for (int k = 0; k < SWEEP_ALL * SWEEP_LAYOUTS * 10; k++) {
      const int operation = k % 10, layout = k / 10 % SWEEP_LAYOUTS;
      const bsm_dtype dtype = sweep_all[k / 10 / SWEEP_LAYOUTS];
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      for (int32_t axis = 0; axis < d.rank; axis++) {
        if (d.d[axis] == 1) continue;
        sweep_reduction(w, operation, dtype, d, layout, 1u << axis);
      }
      if (d.rank < 3) continue;
      const uint32_t all = (1u << d.rank) - 1u;
      sweep_reduction(w, operation, dtype, d, layout, all & ~3u);
      sweep_reduction(w, operation, dtype, d, layout, all & ~2u);
      sweep_reduction(w, operation, dtype, d, layout, all);
    }
  }
}

static void sweep_top_ks(sweep *w) {
  static const int64_t counts[] = {1, 5, 100};
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    for (int k = 0; k < 3 * SWEEP_ALL * SWEEP_LAYOUTS; k++) {
      const bsm_dtype dtype = sweep_all[k / 3 % SWEEP_ALL];
      const int layout = k / 3 / SWEEP_ALL;
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      for (int32_t axis = 0; axis < d.rank; axis++) {
        bsm_dims out = d;
        out.d[axis] = counts[k % 3];
        if (d.d[axis] < counts[k % 3] || d.d[axis] == 1) continue;
        one_step_start(&s, BSM_STEP_TOP_K);
        s.params.top_k =
            (bsm_step_top_k){.largest = 1, .axis = axis, .k = counts[k % 3]};
        sweep_tensor(&s, false, dtype, d, layout);
        sweep_tensor(&s, true, dtype, out, ROWS);
        sweep_tensor(&s, true, BSM_DTYPE_INT64, out, ROWS);
        sweep_take(w, &s, "%d of axis %d of %s", (int)counts[k % 3], axis,
                   sweep_text(d, layout));
      }
    }
  }
}

/* ---- element by element ---- */

static bsm_step_ew_instruction sweep_instruction(int32_t kind, int32_t code,
                                                 int32_t dst, int32_t a,
                                                 int32_t b, bsm_dtype dtype) {
  return (bsm_step_ew_instruction){.kind = kind,
                                   .code = code,
                                   .dst = dst,
                                   .a = a,
                                   .b = b,
                                   .dtype = (int32_t)dtype,
                                   .alpha = 0.5,
                                   .beta = 1.0};
}

static bool sweep_is_test(int32_t kind, int32_t code) {
  if (kind == BSM_STEP_EW_UNARY) {
    return code == BSM_UNARY_NOT || code == BSM_UNARY_ISINF ||
           code == BSM_UNARY_ISNAN;
  }
  return kind == BSM_STEP_EW_BINARY && code >= BSM_ELEMENT_WISE_AND &&
         code <= BSM_ELEMENT_WISE_LESS_EQUAL;
}

static void sweep_operations(sweep *w) {
  static const char *const names[] = {"unary", "binary", "activation"};
  const int32_t ends[] = {BSM_UNARY_EXP2 + 1, BSM_ELEMENT_WISE_SHIFT_RIGHT + 1,
                          BSM_ACTIVATION_THRESHOLD + 1};
  const bsm_dims d = {2, {256, 256}};
  one_step s;
  for (int kind = BSM_STEP_EW_UNARY; kind <= BSM_STEP_EW_ACTIVATION; kind++) {
    for (int32_t code = 0; code < ends[kind]; code++) {
      for (int k = 0; k < SWEEP_ALL; k++) {
        const bsm_dtype dtype = sweep_all[k];
        const bsm_dtype out =
            sweep_is_test(kind, code) ? BSM_DTYPE_BOOL : dtype;
        one_step_start(&s, BSM_STEP_ELEMENT_WISE);
        s.params.element_wise.instruction_count = 1;
        s.params.element_wise.result = 2;
        s.params.element_wise.program[0] = sweep_instruction(
            kind, code, 2, 0, kind == BSM_STEP_EW_BINARY, out);
        sweep_tensor(&s, false, dtype, d, ROWS);
        if (kind == BSM_STEP_EW_BINARY) {
          sweep_tensor(&s, false, dtype, d, ROWS);
        } else {
          s.params.element_wise.result = 1;
          s.params.element_wise.program[0].dst = 1;
        }
        sweep_tensor(&s, true, out, d, ROWS);
        sweep_take(w, &s, "%s %d", names[kind], code);
      }
    }
  }
  for (int k = 0; k < SWEEP_ALL; k++) {
    const bsm_dtype dtype = sweep_all[k];
    one_step_start(&s, BSM_STEP_ELEMENT_WISE);
    s.params.element_wise.instruction_count = 1;
    s.params.element_wise.result = 3;
    s.params.element_wise.program[0] =
        sweep_instruction(BSM_STEP_EW_SELECT, 0, 3, 0, 1, dtype);
    s.params.element_wise.program[0].c = 2;
    sweep_tensor(&s, false, BSM_DTYPE_BOOL, d, ROWS);
    sweep_tensor(&s, false, dtype, d, ROWS);
    sweep_tensor(&s, false, dtype, d, ROWS);
    sweep_tensor(&s, true, dtype, d, ROWS);
    sweep_take(w, &s, "select");
  }
}

/* x - side, whose dims that are not in `kept` are 1; then its square with
 * `longer`: more than a scale and a shift. */
static void sweep_difference(sweep *w, bsm_dtype dtype, bsm_dims d, int layout,
                             int to, uint32_t kept, int operation) {
  const bool sum = operation == BSM_ELEMENT_WISE_SUM;
  one_step s;
  bsm_dims side = d;
  for (int32_t i = 0; i < d.rank; i++) {
    if (!(kept >> i & 1u)) side.d[i] = 1;
  }
  one_step_start(&s, BSM_STEP_ELEMENT_WISE);
  s.params.element_wise.instruction_count = sum ? 1 : 2;
  s.params.element_wise.result = sum ? 2 : 3;
  s.params.element_wise.program[0] =
      sweep_instruction(BSM_STEP_EW_BINARY, operation, 2, 0, 1, dtype);
  s.params.element_wise.program[1] = sweep_instruction(
      BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_PROD, 3, 2, 2, dtype);
  sweep_tensor(&s, false, dtype, d, layout);
  sweep_tensor(&s, false, dtype, side, kept == UINT32_MAX ? layout : ROWS);
  sweep_tensor(&s, true, dtype, d, to);
  sweep_take(w, &s, "%s with %s of %s to %s",
             sum ? "sum" : "squared difference",
             kept == UINT32_MAX ? "all" : sweep_text(side, ROWS),
             sweep_text(d, layout), sweep_layout_names[to]);
}

static void sweep_element_wise(sweep *w) {
  int64_t strides[BSM_MAX_RANK];
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_HALF, BSM_DTYPE_INT64};
  sweep_operations(w);
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    const uint32_t all = (1u << d.rank) - 1u;
    const uint32_t kept[] = {
        UINT32_MAX, 0, 1, 2, 1u << (d.rank - 1), all & ~(1u << (d.rank - 1))};
    for (int k = 0; k < 3 * SWEEP_LAYOUTS * SWEEP_LAYOUTS; k++) {
      const bsm_dtype dtype = dtypes[k % 3];
      const int layout = k / 3 % SWEEP_LAYOUTS, to = k / 3 / SWEEP_LAYOUTS;
      if (sweep_skips(dtype, layout) || sweep_skips(dtype, to)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      if (!sweep_strides(to, d, strides)) continue;
      for (int j = 0; j < 6; j++) {
        if (kept[j] != UINT32_MAX && kept[j] >= all) continue;
        sweep_difference(w, dtype, d, layout, to, kept[j],
                         BSM_ELEMENT_WISE_SUM);
        sweep_difference(w, dtype, d, layout, to, kept[j],
                         BSM_ELEMENT_WISE_SUB);
      }
    }
  }
}

/* ---- windows ---- */

static void sweep_window(bsm_step_window *win, int spatial, int kernel,
                         int stride, int dilation, int padding) {
  *win = (bsm_step_window){.spatial = spatial};
  for (int d = 0; d < 3; d++) {
    const bool there = d >= 3 - spatial;
    win->kernel[d] = there ? kernel : 1;
    win->stride[d] = there ? stride : 1;
    win->dilation[d] = there ? dilation : 1;
    win->pre_padding[d] = win->post_padding[d] = there ? padding : 0;
  }
}

static bsm_dims sweep_window_dims(bsm_dims d, const bsm_step_window *win,
                                  int64_t maps) {
  d.d[1] = maps;
  for (int32_t i = 2; i < d.rank; i++) {
    const int k = 3 - win->spatial + i - 2;
    d.d[i] = (d.d[i] + win->pre_padding[k] + win->post_padding[k] -
              (win->kernel[k] - 1) * win->dilation[k] - 1) /
                 win->stride[k] +
             1;
  }
  return d;
}

static void sweep_poolings(sweep *w) {
  one_step s;
  int64_t strides[BSM_MAX_RANK];
  for (int i = 0; i < SWEEP_SHAPES; i++) {
    const bsm_dims d = sweep_shapes[i];
    for (int k = 0; d.rank > 2 && k < 6 * SWEEP_FLOATS * SWEEP_LAYOUTS; k++) {
      const int type = k % 2, window = k / 2 % 3, layout = k / 24;
      const bsm_dtype dtype = sweep_floats[k / 6 % 4];
      if (sweep_skips(dtype, layout)) continue;
      if (!sweep_strides(layout, d, strides)) continue;
      one_step_start(&s, BSM_STEP_POOLING);
      bsm_step_pooling *p = &s.params.pooling;
      p->type = type;
      p->adaptive = window == 2;
      const int size = window == 0 ? 2 : 3, step = window == 0 ? 2 : 1;
      sweep_window(&p->window, d.rank - 2, size, step, 1, window == 1);
      bsm_dims out = sweep_window_dims(d, &p->window, d.d[1]);
      for (int32_t j = 2; p->adaptive && j < d.rank; j++) {
        out.d[j] = (d.d[j] + 2) / 3;
      }
      sweep_tensor(&s, false, dtype, d, layout);
      sweep_tensor(&s, true, dtype, out, layout);
      sweep_take(w, &s, "%s %s of %s", type ? "average" : "max",
                 window == 0   ? "2/2"
                 : window == 1 ? "3/1"
                               : "adaptive",
                 sweep_text(d, layout));
    }
  }
}

typedef struct sweep_maps {
  int in, out, groups;
} sweep_maps;
static const sweep_maps sweep_conv_maps[] = {
    {1, 8, 1},    {3, 32, 1},    {4, 4, 1},    {8, 16, 1},   {16, 16, 1},
    {32, 48, 1},  {64, 64, 1},   {256, 64, 1}, {64, 256, 1}, {32, 32, 32},
    {64, 64, 64}, {48, 96, 48},  {64, 64, 2},  {64, 64, 8},  {64, 64, 16},
    {60, 60, 20}, {128, 128, 4}, {64, 1, 1},   {64, 3, 1}};
/* Kernel, stride, dilation. */
static const int sweep_conv_windows[][3] = {{1, 1, 1}, {1, 2, 1}, {3, 1, 1},
                                            {3, 2, 1}, {3, 1, 2}, {5, 1, 1},
                                            {7, 2, 1}, {2, 2, 1}, {4, 4, 1}};
static const bsm_dims sweep_conv_images[] = {
    {3, {1, 0, 1024}},      {3, {1, 0, 50}},       {4, {1, 0, 32, 32}},
    {4, {1, 0, 7, 7}},      {4, {1, 0, 112, 112}}, {5, {1, 0, 8, 16, 16}},
    {5, {1, 0, 16, 32, 32}}};

static void sweep_convolution(sweep *w, const sweep_maps *m, const int *window,
                              bsm_dims d, bsm_dtype dtype, bool planes) {
  const int spatial = d.rank - 2;
  one_step s;
  one_step_start(&s, BSM_STEP_CONVOLUTION);
  bsm_step_convolution *p = &s.params.convolution;
  sweep_window(&p->window, spatial, window[0], window[1], window[2],
               window[0] == window[1] ? 0 : window[0] / 2 * window[2]);
  p->groups = m->groups;
  p->out_maps = m->out;
  d.d[1] = m->in;
  const bsm_dims out = sweep_window_dims(d, &p->window, m->out);
  size_t count = (size_t)(m->in / m->groups * m->out);
  for (int i = 0; i < spatial; i++) count *= (size_t)window[0];
  sweep_tensor(&s, false, dtype, d, planes ? ROWS : LAST);
  sweep_tensor(&s, true, dtype, out, LAST);
  bsm_status status =
      one_step_add_packed(&s, sweep_target(w), dtype, m->in, count);
  if (status) {
    bsm_status_free(status);
    one_step_free(&s);
    return;
  }
  sweep_take(w, &s, "%d to %d in %d, %d/%d/%d, %s", m->in, m->out, m->groups,
             window[0], window[1], window[2],
             sweep_text(d, planes ? ROWS : LAST));
}

static void sweep_convolutions(sweep *w) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_DOUBLE,
                              BSM_DTYPE_INT32, BSM_DTYPE_INT64};
  const size_t maps = sizeof(sweep_conv_maps) / sizeof(sweep_conv_maps[0]);
  for (size_t i = 0; i < 7; i++) {
    for (size_t k = 0; k < 9 * maps; k++) {
      const sweep_maps *m = &sweep_conv_maps[k % maps];
      const int *window = sweep_conv_windows[k / maps];
      const bsm_dims d = sweep_conv_images[i];
      if (i == 6 && m->in * m->out / m->groups > 1024) continue;
      for (int t = 0; t < (i % 2 ? 1 : 4); t++) {
        sweep_convolution(w, m, window, d, dtypes[t], false);
      }
      if (m->in <= 4) {
        sweep_convolution(w, m, window, d, BSM_DTYPE_FLOAT, true);
      }
    }
  }
}

static void sweep_deconvolutions(sweep *w) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_DOUBLE};
  const int windows[][2] = {{2, 2}, {3, 2}, {4, 2}, {3, 1}};
  const size_t maps = sizeof(sweep_conv_maps) / sizeof(sweep_conv_maps[0]);
  for (size_t k = 0; k < 7 * maps * 4 * 2; k++) {
    const sweep_maps *m = &sweep_conv_maps[k % maps];
    const int *window = windows[k / maps % 4];
    const bsm_dtype dtype = dtypes[k / maps / 4 % 2];
    bsm_dims d = sweep_conv_images[k / maps / 8];
    one_step s;
    one_step_start(&s, BSM_STEP_DECONVOLUTION);
    bsm_step_convolution *p = &s.params.convolution;
    const int spatial = d.rank - 2;
    if (d.d[2] > 32 && spatial > 1) continue;
    sweep_window(&p->window, spatial, window[0], window[1], 1, 0);
    p->groups = m->groups;
    p->out_maps = m->out;
    d.d[1] = m->in;
    bsm_dims out = d;
    out.d[1] = m->out;
    size_t count = (size_t)(m->in / m->groups * m->out);
    for (int i = 0; i < spatial; i++) {
      count *= (size_t)window[0];
      out.d[2 + i] = (d.d[2 + i] - 1) * window[1] + window[0];
    }
    sweep_tensor(&s, false, dtype, d, LAST);
    sweep_tensor(&s, true, dtype, out, LAST);
    bsm_status status =
        one_step_add_packed(&s, sweep_target(w), dtype, m->in, count);
    if (status) {
      bsm_status_free(status);
      one_step_free(&s);
      continue;
    }
    sweep_take(w, &s, "%d to %d in %d, %d/%d, %s", m->in, m->out, m->groups,
               window[0], window[1], sweep_text(d, LAST));
  }
}

/* ---- products ---- */

typedef struct sweep_product {
  int batch, m, k, n;
} sweep_product;
static const sweep_product sweep_products[] = {
    {1, 1, 1024, 1024}, {1, 4, 768, 768},   {1, 16, 256, 256},
    {1, 128, 768, 768}, {1, 196, 384, 384}, {1, 256, 256, 256},
    {1, 256, 16, 256},  {1, 256, 256, 4},   {1, 1024, 4, 64},
    {1, 1024, 64, 1},   {1, 1, 64, 1000},   {12, 128, 64, 128},
    {64, 16, 16, 16},   {512, 4, 8, 4},     {64, 1, 64, 64},
    {64, 64, 64, 1},    {8, 49, 32, 49},    {32, 7, 96, 33}};

static void sweep_matrix(sweep *w, const sweep_product *c, bsm_dtype dtype,
                         bool constant, bool turned_a, bool turned_b) {
  const bsm_dims a = sweep_dims(3, c->batch, c->m, c->k, 0, 0);
  const bsm_dims b = sweep_dims(3, c->batch, c->k, c->n, 0, 0);
  const bsm_dims y = sweep_dims(3, c->batch, c->m, c->n, 0, 0);
  one_step s;
  one_step_start(&s, BSM_STEP_MATRIX_MULTIPLY);
  s.params.matrix_multiply = (bsm_step_matrix_multiply){
      .constant_b = constant, .k = c->k, .n = c->n, .scale = 1.0};
  sweep_tensor(&s, false, dtype, a, turned_a ? TURNED : ROWS);
  bsm_status status = NULL;
  if (constant) {
    status = one_step_add_packed(&s, sweep_target(w), dtype, 1,
                                 (size_t)(c->k * c->n));
  } else {
    sweep_tensor(&s, false, dtype, b, turned_b ? TURNED : ROWS);
  }
  sweep_tensor(&s, true, dtype, y, ROWS);
  if (status) {
    bsm_status_free(status);
    one_step_free(&s);
    return;
  }
  sweep_take(w, &s, "%d x %d x %d x %d%s%s", c->batch, c->m, c->k, c->n,
             turned_a ? " A turned" : "",
             constant   ? " weights"
             : turned_b ? " B turned"
                        : "");
}

static void sweep_matrices(sweep *w) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_DOUBLE,
                              BSM_DTYPE_INT32, BSM_DTYPE_INT64};
  const size_t count = sizeof(sweep_products) / sizeof(sweep_products[0]);
  for (size_t i = 0; i < count; i++) {
    for (int t = 0; t < 4; t++) {
      for (int k = 0; k < 6; k++) {
        sweep_matrix(w, &sweep_products[i], dtypes[t], k >= 4, k & 1, k & 2);
      }
    }
  }
}

static void sweep_attentions(sweep *w) {
  /* Batch, heads, queries, keys, depth. */
  const int sizes[][5] = {{1, 12, 128, 128, 64}, {1, 8, 1, 256, 64},
                          {64, 3, 49, 49, 32},   {1, 4, 256, 256, 16},
                          {2, 2, 77, 300, 80},   {1, 16, 16, 1024, 128}};
  one_step s;
  for (int i = 0; i < 6 * 4; i++) {
    const int *c = sizes[i / 4];
    const int kind = i % 4; /* plain, causal, a mask, heads side by side */
    one_step_start(&s, BSM_STEP_ATTENTION);
    s.params.attention = (bsm_step_attention){
        .causal = kind == 1, .biases = kind == 2, .scale = 0.125};
    const bsm_dims q = sweep_dims(4, c[0], c[1], c[2], c[4], 0);
    const bsm_dims k = sweep_dims(4, c[0], c[1], c[3], c[4], 0);
    const bsm_dims scores = sweep_dims(4, c[0], c[1], c[2], c[3], 0);
    const int64_t qs[4] = {(int64_t)c[1] * c[2] * c[4], c[4], c[1] * c[4], 1};
    const int64_t ks[4] = {(int64_t)c[1] * c[3] * c[4], c[4], c[1] * c[4], 1};
    const bool side = kind == 3;
    one_step_add(&s, false, BSM_DTYPE_FLOAT, q, side ? qs : NULL);
    one_step_add(&s, false, BSM_DTYPE_FLOAT, k, side ? ks : NULL);
    one_step_add(&s, false, BSM_DTYPE_FLOAT, k, side ? ks : NULL);
    if (kind == 2) one_step_add(&s, false, BSM_DTYPE_FLOAT, scores, NULL);
    one_step_add(&s, true, BSM_DTYPE_FLOAT, q, side ? qs : NULL);
    sweep_take(w, &s, "%dx%d, %d of %d, depth %d%s", c[0], c[1], c[2], c[3],
               c[4],
               kind == 1   ? " causal"
               : kind == 2 ? " bias"
               : kind == 3 ? " side by side"
                           : "");
  }
}

static void sweep_recurrents(sweep *w) {
  static const char *const names[] = {"lstm", "gru", "tanh", "relu"};
  /* Steps, batch, input, hidden. */
  const int sizes[][4] = {{32, 1, 64, 64},   {32, 8, 128, 128},
                          {16, 1, 256, 256}, {16, 32, 40, 100},
                          {8, 1, 512, 512},  {64, 1, 8, 10}};
  one_step s;
  for (int i = 0; i < 6 * 4 * 2; i++) {
    const int *c = sizes[i / 8];
    const int operation = i % 4, directions = 1 + i / 4 % 2;
    const int gates = operation == BSM_RECURRENT_LSTM  ? 4
                      : operation == BSM_RECURRENT_GRU ? 3
                                                       : 1;
    one_step_start(&s, BSM_STEP_RECURRENT);
    s.params.recurrent = (bsm_step_recurrent){.operation = operation,
                                              .directions = directions,
                                              .input = c[2],
                                              .hidden = c[3]};
    const bsm_dims x = sweep_dims(3, c[0], c[1], c[2], 0, 0);
    const bsm_dims state = sweep_dims(3, directions, c[1], c[3], 0, 0);
    const bsm_dims y = sweep_dims(3, c[0], c[1], directions * c[3], 0, 0);
    const bool cell = operation == BSM_RECURRENT_LSTM;
    for (int k = 0; k < 1 + 1 + cell; k++) {
      one_step_add(&s, false, BSM_DTYPE_FLOAT, k ? state : x, NULL);
    }
    for (int k = 0; k < 1 + 1 + cell; k++) {
      one_step_add(&s, true, BSM_DTYPE_FLOAT, k ? state : y, NULL);
    }
    const size_t count =
        (size_t)(directions * gates * c[3]) * (size_t)(c[2] + c[3] + 2);
    bsm_status status =
        one_step_add_packed(&s, sweep_target(w), BSM_DTYPE_FLOAT, 0, count);
    if (status) {
      bsm_status_free(status);
      one_step_free(&s);
      continue;
    }
    sweep_take(w, &s, "%s %d x %d, %d to %d, %d directions", names[operation],
               c[0], c[1], c[2], c[3], directions);
  }
}

/* Expand, depthwise, project; with `parts` 6 the latter two. */
static void sweep_chains(sweep *w) {
  const int sizes[][4] = {{32, 96, 24, 28},
                          {16, 64, 16, 56},
                          {96, 384, 96, 14},
                          {8, 24, 8, 112},
                          {160, 960, 160, 7}};
  one_step s;
  for (int i = 0; i < 5 * 2 * 2; i++) {
    const int *c = sizes[i / 4];
    const int stride = 1 + i % 2;
    const bool expands = i / 2 % 2 == 0;
    one_step_start(&s, BSM_STEP_CONVOLUTION_CHAIN);
    bsm_step_convolution_chain *p = &s.params.convolution_chain;
    const int maps[] = {expands ? c[0] : c[1], c[1], c[1], c[2]};
    const bsm_dims x = sweep_dims(4, 1, maps[0], c[3], c[3], 0);
    const int out = (c[3] - 1) / stride + 1;
    const bsm_dims y = sweep_dims(4, 1, c[2], out, out, 0);
    bsm_status status = NULL;
    for (int part = expands ? 0 : 1; !status && part < 3; part++) {
      const bool filters = part == BSM_CHAIN_DEPTHWISE;
      bsm_step_convolution *q = &p->part[part];
      p->has[part] = 1;
      sweep_window(&q->window, 2, filters ? 3 : 1, filters ? stride : 1, 1,
                   filters);
      q->groups = filters ? maps[2] : 1;
      q->out_maps = maps[part + 1];
      q->epilogue.activation = part < 2 ? BSM_ACTIVATION_RELU : 0;
      /* Packed as by a step of its own. */
      const bsm_target *t = sweep_target(w);
      bsm_step_params params = {.convolution = *q};
      const bsm_plan_step own = {.kind = BSM_STEP_CONVOLUTION,
                                 .params = &params};
      const size_t count = filters ? (size_t)maps[2] * 9
                                   : (size_t)maps[part] * (size_t)q->out_maps;
      uint64_t size;
      float *values = one_step_allocate(count * sizeof(float));
      one_step_fill(BSM_DTYPE_FLOAT, values, count * sizeof(float));
      status = t->ops->pack(t, &own, maps[part], values, sizeof(float), false,
                            NULL, &size);
      if (!status) {
        status = t->ops->pack(t, &own, maps[part], values, sizeof(float), false,
                              one_step_add_weights(&s, 2 * part, (size_t)size),
                              &size);
      }
      free(values);
    }
    sweep_tensor(&s, false, BSM_DTYPE_FLOAT, x, LAST);
    sweep_tensor(&s, true, BSM_DTYPE_FLOAT, y, LAST);
    if (status) {
      bsm_status_free(status);
      one_step_free(&s);
      continue;
    }
    sweep_take(w, &s, "%s%d to %d at %d, stride %d", expands ? "expand " : "",
               maps[0], c[2], c[3], stride);
  }
}

/* ---- sampling ---- */

static void sweep_samples(sweep *w) {
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const bsm_dims images[] = {{4, {1, 3, 144, 152}},
                                    {4, {2, 32, 32, 32}},
                                    {4, {1, 256, 16, 16}},
                                    {5, {1, 16, 16, 16, 16}}};
  for (int k = 0; k < 4 * 3 * 3; k++) {
    const bsm_dims d = images[k / 9];
    const int mode = k % 3, padding = k / 3 % 3;
    one_step s;
    bsm_dims grid = d;
    if (mode == BSM_RESIZE_CUBIC && d.rank > 4) continue;
    for (int32_t i = 1; i < d.rank - 1; i++) grid.d[i] = d.d[i + 1];
    grid.d[d.rank - 1] = d.rank - 2;
    one_step_start(&s, BSM_STEP_SAMPLE);
    s.params.sample = (bsm_step_sample){.mode = mode, .padding = padding};
    sweep_tensor(&s, false, BSM_DTYPE_FLOAT, d, LAST);
    float *at = sweep_tensor(&s, false, BSM_DTYPE_FLOAT, grid, ROWS);
    int64_t count;
    if (!bsm_dims_numel(grid, &count)) abort();
    for (int64_t i = 0; i < count; i++) {
      at[i] = (float)(i * 7919 % 2048) / 1000.0f - 1.024f;
    }
    sweep_tensor(&s, true, BSM_DTYPE_FLOAT, d, LAST);
    sweep_take(w, &s, "%s %s %s", modes[mode], paddings[padding],
               sweep_text(d, LAST));
  }
}

static const struct {
  bsm_step_kind kind;
  void (*cases)(sweep *w);
} sweep_kinds[] = {{BSM_STEP_CONVOLUTION, sweep_convolutions},
                   {BSM_STEP_CONVOLUTION_CHAIN, sweep_chains},
                   {BSM_STEP_DECONVOLUTION, sweep_deconvolutions},
                   {BSM_STEP_POOLING, sweep_poolings},
                   {BSM_STEP_MATRIX_MULTIPLY, sweep_matrices},
                   {BSM_STEP_ATTENTION, sweep_attentions},
                   {BSM_STEP_RECURRENT, sweep_recurrents},
                   {BSM_STEP_ELEMENT_WISE, sweep_element_wise},
                   {BSM_STEP_SOFTMAX, sweep_softmaxes},
                   {BSM_STEP_NORMALIZATION, sweep_normalizations},
                   {BSM_STEP_REDUCE, sweep_reductions},
                   {BSM_STEP_TOP_K, sweep_top_ks},
                   {BSM_STEP_GATHER, sweep_gathers},
                   {BSM_STEP_SCATTER, sweep_scatters},
                   {BSM_STEP_COPY, sweep_copies},
                   {BSM_STEP_FILL, sweep_fills},
                   {BSM_STEP_PAD, sweep_pads},
                   {BSM_STEP_RESIZE, sweep_resizes},
                   {BSM_STEP_SAMPLE, sweep_samples}};
#define SWEEP_KINDS (sizeof(sweep_kinds) / sizeof(sweep_kinds[0]))

#endif /* BENCH_SWEEP_CASES_H_ */
