/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and transposed convolution against plain loops in double. */
#include "tests/conformance/step_harness.h"

typedef struct shape {
  int spatial, n, ci, co, groups; /* maps of all groups */
  int size[3], kernel[3], stride[3], dilation[3], pre[3], post[3];
  bsm_activation_type activation;
  bool bias, residual;
  int extra;          /* floats between pixels */
  int apart;          /* floats between images of the output and residual */
  bool planes;        /* of the input, with `extra` floats behind each row */
  bool to_planes;     /* of the output, likewise */
  int more[3];        /* outputs of a deconvolution behind its last window's */
  const char *tactic; /* of the CPU; other targets may not know it */
} shape;

typedef struct expected {
  const double *values;
  double tolerance;
} expected;

static double activate(bsm_activation_type type, double x) {
  switch (type) {
    case BSM_ACTIVATION_RELU:
      return x > 0 ? x : 0;
    case BSM_ACTIVATION_CLIP:
      return x < -0.5 ? -0.5 : x > 0.75 ? 0.75 : x;
    case BSM_ACTIVATION_SILU:
      return x / (1 + exp(-x));
    case BSM_ACTIVATION_GELU_ERF:
      return 0.5 * x * (1 + erf(x / sqrt(2.0)));
    default:
      return x;
  }
}

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const float *got = h->outputs[0];
  int64_t index[BSM_MAX_RANK] = {0};
  size_t i = 0;
  char what[64];
  snprintf(what, sizeof(what), "isa %u", isa);
  if (bsm_dims_str(y->dims) && y->dims.d[0] == 0) return;
  do {
    assert_close((double)got[offset_of(y, index)], e->values[i++], e->tolerance,
                 what);
  } while (next_index(y->dims, index));
}

static int out_size(const shape *s, int d, bool transposed) {
  const int span = s->dilation[d] * (s->kernel[d] - 1) + 1;
  if (transposed) {
    return (s->size[d] - 1) * s->stride[d] + span - s->pre[d] - s->post[d] +
           s->more[d];
  }
  return (s->size[d] + s->pre[d] + s->post[d] - span) / s->stride[d] + 1;
}

/* Every product, by definition. [n][co][3 spatial] row-major. */
static double *reference(const shape *s, bool transposed, const int *out,
                         const float *x, const bsm_plan_tensor *xt,
                         const float *w, const float *bias) {
  const int gi = s->ci / s->groups, go = s->co / s->groups;
  const size_t plane = (size_t)out[0] * (size_t)out[1] * (size_t)out[2];
  double *y = calloc((size_t)s->n * (size_t)s->co * plane + 1, sizeof(double));
  assert_non_null(y);
  const int taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
  for (int n = 0; n < s->n; n++) {
    for (int o = 0; o < s->co; o++) {
      double *to = y + ((size_t)n * (size_t)s->co + (size_t)o) * plane;
      for (size_t i = 0; bias && i < plane; i++) to[i] = (double)bias[o];
    }
    for (int g = 0; g < s->groups; g++) {
      for (int t = 0; t < taps; t++) {
        const int k[3] = {t / (s->kernel[1] * s->kernel[2]),
                          t / s->kernel[2] % s->kernel[1], t % s->kernel[2]};
        const int *range = transposed ? s->size : out;
        for (int p = 0; p < range[0] * range[1] * range[2]; p++) {
          const int at[3] = {p / (range[1] * range[2]), p / range[2] % range[1],
                             p % range[2]};
          int other[3];
          bool inside = true;
          for (int d = 0; d < 3; d++) {
            other[d] = at[d] * s->stride[d] - s->pre[d] + k[d] * s->dilation[d];
            inside = inside && other[d] >= 0 &&
                     other[d] < (transposed ? out[d] : s->size[d]);
          }
          if (!inside) continue;
          const int *xi = transposed ? at : other,
                    *yi = transposed ? other : at;
          int64_t index[5] = {n};
          for (int d = 0; d < s->spatial; d++) {
            index[2 + d] = xi[3 - s->spatial + d];
          }
          for (int i = 0; i < gi; i++) {
            index[1] = g * gi + i;
            const double v = (double)x[offset_of(xt, index)];
            for (int o = 0; o < go; o++) {
              const size_t wi =
                  transposed ? ((size_t)(g * gi + i) * (size_t)go + (size_t)o)
                             : ((size_t)(g * go + o) * (size_t)gi + (size_t)i);
              y[((size_t)n * (size_t)s->co + (size_t)(g * go + o)) * plane +
                ((size_t)yi[0] * (size_t)out[1] + (size_t)yi[1]) *
                    (size_t)out[2] +
                (size_t)yi[2]] += v * (double)w[wi * (size_t)taps + (size_t)t];
            }
          }
        }
      }
    }
  }
  return y;
}

static bsm_dims image_dims(const shape *s, int channels, const int *size) {
  bsm_dims d = {.rank = 2 + s->spatial, .d = {s->n, channels}};
  for (int i = 0; i < s->spatial; i++) d.d[2 + i] = size[3 - s->spatial + i];
  return d;
}

/* Strides of planes [N, C, ...], with `extra` floats behind each row. */
static void planes(bsm_dims d, int64_t extra, int64_t *strides) {
  int64_t step = 1;
  for (int32_t i = d.rank - 1; i >= 0; i--) {
    strides[i] = step;
    step *= d.d[i];
    if (i == d.rank - 1) step += extra;
  }
}

/* Of half and bfloat16, CPUs have convolutions with channels innermost, in one
 * way. */
static bool is_one_way(void) {
  return suite.is_narrow && suite_is_for("cpu");
}

/* Returns whether the tactic of the shape was run, or another one; true when
 * the target does not know such tactics. */
static bool run_shape(const shape *s, bool transposed, harness_rng *rng) {
  harness h;
  int out[3];
  int64_t strides[5];
  if (is_one_way() && s->planes) return true;
  harness_init(&h, transposed ? BSM_STEP_DECONVOLUTION : BSM_STEP_CONVOLUTION);
  bsm_step_convolution *p = &h.params.convolution;
  p->groups = s->groups;
  p->out_maps = s->co;
  p->window.spatial = s->spatial;
  p->epilogue.activation = (int32_t)s->activation;
  p->epilogue.has_residual = s->residual;
  p->epilogue.alpha = -0.5;
  p->epilogue.beta = 0.75;
  for (int d = 0; d < 3; d++) {
    out[d] = out_size(s, d, transposed);
    p->window.kernel[d] = s->kernel[d];
    p->window.stride[d] = s->stride[d];
    p->window.dilation[d] = s->dilation[d];
    p->window.pre_padding[d] = s->pre[d];
    p->window.post_padding[d] = s->post[d];
  }
  h.step.tactic = s->tactic && !is_one_way() ? s->tactic : "";
  adopt_tactic(&h);
  const bsm_dims xd = image_dims(s, s->ci, s->size);
  const bsm_dims yd = image_dims(s, s->co, out);
  if (s->planes) {
    planes(xd, s->extra, strides);
  } else {
    channels_last(xd, s->extra, strides);
  }
  const float *x = add_input(&h, BSM_DTYPE_FLOAT, xd, strides);
  if (s->to_planes) {
    planes(yd, s->extra, strides);
  } else {
    channels_last(yd, s->extra, strides);
  }
  strides[0] += s->apart;
  add_output(&h, BSM_DTYPE_FLOAT, yd, strides);
  fill_input(&h, rng, 0);
  const size_t taps = (size_t)(s->kernel[0] * s->kernel[1] * s->kernel[2]);
  const size_t count = (size_t)s->ci * (size_t)s->co / (size_t)s->groups * taps;
  float *w = malloc(count * sizeof(float) + 1);
  assert_non_null(w);
  fill_floats(rng, w, count * sizeof(float));
  add_packed(&h, s->ci, w, false);
  float *bias = NULL;
  if (s->bias) {
    bias = add_weights(&h, 1, (size_t)s->co * sizeof(float));
    fill_floats(rng, bias, (size_t)s->co * sizeof(float));
  }
  double *y =
      reference(s, transposed, out, x, &h.tensors[h.step.inputs[0]], w, bias);
  int64_t index[BSM_MAX_RANK] = {0};
  size_t i = 0;
  if (s->residual) {
    channels_last(yd, 0, strides);
    strides[0] += s->apart;
    const float *r = add_input(&h, BSM_DTYPE_FLOAT, yd, strides);
    fill_input(&h, rng, 1);
    do {
      y[i++] += (double)r[offset_of(&h.tensors[h.step.inputs[1]], index)];
    } while (next_index(yd, index));
  }
  i = 0;
  do {
    y[i] = activate(s->activation, y[i]);
    i++;
  } while (next_index(yd, index));
  const double k = (double)taps * s->ci / s->groups;
  expected e = {y, 4e-6 * (4 + sqrt(k))};
  harness_run_all(&h, compare, &e);
  const bool named = !suite_is_for("cpu") || is_one_way() || has_tactic(&h);
  free(y);
  free(w);
  harness_free(&h);
  return named;
}

static const bsm_activation_type activations[] = {
    BSM_ACTIVATION_NONE, BSM_ACTIVATION_RELU, BSM_ACTIVATION_CLIP,
    BSM_ACTIVATION_SILU, BSM_ACTIVATION_GELU_ERF};

static shape random_shape(harness_rng *r, bool transposed) {
  shape s = {.spatial = rng_range(r, 1, 3), .n = rng_range(r, 1, 2)};
  static const int groups[] = {1, 1, 1, 2, 3};
  s.groups = groups[rng_range(r, 0, 4)];
  s.ci = s.groups * rng_range(r, 1, 20);
  s.co = s.groups * rng_range(r, 1, 40);
  for (int d = 0; d < 3; d++) {
    const bool used = d >= 3 - s.spatial;
    s.kernel[d] = used ? rng_range(r, 1, 4) : 1;
    s.stride[d] = used ? rng_range(r, 1, 3) : 1;
    s.dilation[d] = used ? rng_range(r, 1, 2) : 1;
    const int span = s.dilation[d] * (s.kernel[d] - 1);
    s.pre[d] = used ? rng_range(r, 0, span < 3 ? span : 3) : 0;
    s.post[d] = used ? rng_range(r, 0, span < 3 ? span : 3) : 0;
    s.size[d] = used ? rng_range(r, transposed ? 3 : 1, 8) + span : 1;
    if (transposed && used) {
      s.pre[d] = rng_range(r, 0, 2);
      s.post[d] = rng_range(r, 0, 2) - rng_range(r, 0, s.stride[d] - 1);
      if (s.post[d] < 0) s.post[d] = 0;
    }
  }
  s.activation = activations[rng_range(r, 0, 4)];
  s.bias = rng_range(r, 0, 1);
  s.residual = rng_range(r, 0, 2) == 0;
  s.extra = rng_range(r, 0, 2) == 0 ? 5 : 0;
  return s;
}

static void test_random_convolutions(void **state) {
  harness_rng r = {1};
  static const char *const tactics[] = {"", "indirect", "im2col", "rows"};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 150; i++) {
    shape s = random_shape(&r, false);
    s.tactic = tactics[i % 4];
    run_shape(&s, false, &r);
  }
}

/* Windows that are larger than the image, so that most taps are padding: one
 * axis at least has a dilation of its size or so, and outputs of no tap at all
 * occur. */
static void test_regions(void **state) {
  harness_rng r = {11};
  int fitting = 0;
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 80; i++) {
    shape s = random_shape(&r, false);
    s.spatial = rng_range(&r, 1, 2);
    s.tactic = "regions";
    for (int d = 0; d < 3; d++) {
      const bool used = d >= 3 - s.spatial;
      s.kernel[d] = used ? rng_range(&r, 2, 4) : 1;
      s.stride[d] = used ? rng_range(&r, 1, 3) : 1;
      s.size[d] = used ? rng_range(&r, 1, 14) : 1;
      s.dilation[d] =
          !used ? 1 : rng_range(&r, d == 2 ? s.size[d] / 2 + 1 : 1, 16);
      const int span = s.dilation[d] * (s.kernel[d] - 1);
      s.pre[d] = used ? rng_range(&r, span / 2, span + 2) : 0;
      s.post[d] = used ? rng_range(&r, span / 2, span + 2) : 0;
      if (used && s.pre[d] + s.post[d] + s.size[d] <= span) {
        s.post[d] = span + 1;
      }
    }
    fitting += run_shape(&s, false, &r);
  }
  assert_true(fitting > 40);
}

/* Lines of windows in place: few maps, strides beyond the kernel, paddings of
 * several pixels, tiles that cross the ends of lines. */
static void test_lines(void **state) {
  harness_rng r = {8};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 80; i++) {
    shape s = random_shape(&r, false);
    s.spatial = rng_range(&r, 1, 2);
    s.groups = 1;
    s.ci = rng_range(&r, 1, 4);
    s.extra = 0;
    s.tactic = "rows";
    for (int d = 0; d < 3; d++) {
      const bool used = d >= 3 - s.spatial;
      s.kernel[d] = used ? rng_range(&r, 2, 7) : 1;
      s.stride[d] = used ? rng_range(&r, 1, 9) : 1;
      s.dilation[d] = 1;
      s.pre[d] = used ? rng_range(&r, 0, 2 * s.kernel[d]) : 0;
      s.post[d] = used ? rng_range(&r, 0, 2 * s.kernel[d]) : 0;
      s.size[d] = used ? rng_range(&r, 7, 40) : 1;
    }
    run_shape(&s, false, &r);
  }
}

/* Few maps, in planes and channels last: widths around those of tiles, padding
 * that is wider than what is read, strides that have kernels; of one to three
 * dimensions. */
static void test_planar(void **state) {
  harness_rng r = {13};
  static const int strides[] = {1, 2, 4, 2};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 120; i++) {
    shape s = random_shape(&r, false);
    s.spatial = i % 5 == 0 ? 1 : i % 5 == 1 ? 3 : 2;
    s.groups = 1;
    s.ci = rng_range(&r, 1, 4);
    s.co = rng_range(&r, 1, 70);
    s.planes = i % 3 != 0;
    s.residual = false;
    s.tactic = "planar";
    for (int d = 0; d < 3; d++) {
      const bool used = d >= 3 - s.spatial;
      s.kernel[d] = used ? rng_range(&r, 1, s.spatial == 3 ? 4 : 7) : 1;
      s.stride[d] = used ? d == 2 ? strides[i % 4] : rng_range(&r, 1, 4) : 1;
      s.dilation[d] = used ? rng_range(&r, 1, 2) : 1;
      const int span = s.dilation[d] * (s.kernel[d] - 1) + 1;
      s.pre[d] = used ? rng_range(&r, 0, span) : 0;
      s.post[d] = used ? rng_range(&r, 0, span) : 0;
      s.size[d] = used ? rng_range(&r, 1,
                                   d == 2           ? 70
                                   : s.spatial == 3 ? 9
                                                    : 30)
                       : 1;
      if (used && s.size[d] + s.pre[d] + s.post[d] < span) s.size[d] = span;
    }
    if (i % 6 == 1) s.co = 8 * rng_range(&r, 1, 7); /* half a panel is left */
    assert_true(run_shape(&s, false, &r));
  }
}

/* Whether a target reads and writes planes of a convolution to few maps: what
 * it keeps of all taps may not be much. */
static bool keeps_little(const shape *s) {
  const int rows = s->kernel[0] * s->kernel[1] * s->kernel[2] * s->co;
  const bool dilated = s->dilation[0] > 1 || s->dilation[1] > 1;
  return s->spatial == 3 ? rows <= 40 && !dilated : rows <= 60;
}

/* Few output maps, tap by tap: windows that are longer than the image, dilated
 * ones, padding beyond them, blocks that end within lines, products whose rows
 * fill no tile, volumes of flat windows and of deep ones, single taps whose
 * lines are one, planes and pixels. */
static void test_tap_rows(void **state) {
  harness_rng r = {16};
  int fitting = 0;
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  /* Sizes of tall, of wide, of small images, and of deep ones. */
  static const int most[4][3] = {
      {2, 70, 9}, {2, 5, 600}, {3, 14, 14}, {12, 20, 9}};
  const int count = suite_is_for("cpu") ? 96 : 6;
  for (int i = 0; i < count; i++) {
    shape s = random_shape(&r, false);
    const bool single = i % 16 == 5;
    s.groups = 1;
    s.ci =
        i % 7 == 6 ? rng_range(&r, 1, 6) : rng_range(&r, 7, i % 9 ? 24 : 300);
    s.co = rng_range(&r, 1, i % 2 ? 8 : 4);
    s.planes = i % 2 || single;
    s.to_planes = i % 6 > 2;
    s.tactic = "taps";
    for (int d = 0; d < 3; d++) {
      const bool used = d >= 3 - s.spatial;
      const int least = d == 2 && !s.planes ? 2 : 1;
      const int largest = d == 0 ? 3 : i % 12 ? 4 : 9;
      const bool windows = used && !single && (d > 0 || i % 4 == 3);
      s.kernel[d] = windows ? rng_range(&r, least, largest) : 1;
      s.stride[d] = 1;
      s.dilation[d] = used ? rng_range(&r, 1, 3) : 1;
      const int span = s.dilation[d] * (s.kernel[d] - 1);
      s.pre[d] = windows ? rng_range(&r, 0, span + 2) : 0;
      s.post[d] = windows ? rng_range(&r, 0, span + 2) : 0;
      if (!used) continue;
      s.size[d] = rng_range(&r, 1, most[i % 4][d]);
      if (s.size[d] + s.pre[d] + s.post[d] <= span) s.size[d] = span + 1;
    }
    if (!suite_is_for("cpu") || !keeps_little(&s)) {
      s.planes = s.to_planes = false;
    }
    fitting += run_shape(&s, false, &r);
  }
  assert_true(fitting > count / 2);
}

/* Transposed convolutions to few maps: phases of no tap and of no output,
 * outputs before and behind all windows, lines of several blocks, planes. */
static void test_few_maps(void **state) {
  harness_rng r = {31};
  int fitting = 0;
  (void)state;
  suite_needs(BSM_STEP_DECONVOLUTION);
  static const int most[4][3] = {
      {1, 40, 9}, {1, 3, 300}, {3, 9, 9}, {9, 14, 5}};
  const int count = suite_is_for("cpu") ? 96 : 6;
  for (int i = 0; i < count; i++) {
    shape s;
    do {
      s = random_shape(&r, true);
      s.groups = 1;
      s.ci =
          i % 7 == 6 ? rng_range(&r, 1, 6) : rng_range(&r, 7, i % 9 ? 30 : 400);
      s.co = rng_range(&r, 1, 8);
      s.planes = i % 2;
      s.to_planes = i % 6 > 2;
      s.tactic = i % 5 ? "few_maps" : "phases";
      for (int d = 0; d < 3; d++) {
        const bool used = d >= 3 - s.spatial;
        s.kernel[d] = used ? rng_range(&r, 1, d == 0 ? 3 : 5) : 1;
        s.stride[d] = used ? rng_range(&r, 1, 4) : 1;
        s.dilation[d] = used ? rng_range(&r, 1, 3) : 1;
        s.pre[d] = used ? rng_range(&r, 0, 6) : 0;
        s.post[d] = used ? rng_range(&r, 0, 3) : 0;
        s.more[d] = used ? rng_range(&r, 0, s.stride[d] - 1) : 0;
        s.size[d] = used ? rng_range(&r, 1, most[i % 4][d]) : 1;
      }
    } while (out_size(&s, 0, true) < 1 || out_size(&s, 1, true) < 1 ||
             out_size(&s, 2, true) < 1);
    if (!suite_is_for("cpu") || i % 5 == 0 || !keeps_little(&s)) {
      s.planes = s.to_planes = false;
    }
    fitting += run_shape(&s, true, &r);
  }
  assert_true(fitting > count / 2);
}

static void test_random_deconvolutions(void **state) {
  harness_rng r = {2};
  (void)state;
  suite_needs(BSM_STEP_DECONVOLUTION);
  for (int i = 0; i < 100; i++) {
    shape s;
    do {
      s = random_shape(&r, true);
    } while (out_size(&s, 0, true) < 1 || out_size(&s, 1, true) < 1 ||
             out_size(&s, 2, true) < 1);
    run_shape(&s, true, &r);
  }
}

/* Depthwise: groups that are merged evenly or not, vectors that are not full,
 * phases of no tap and of no output, rows of more outputs than are taken at
 * once. */
static void test_depthwise_deconvolutions(void **state) {
  harness_rng r = {15};
  (void)state;
  suite_needs(BSM_STEP_DECONVOLUTION);
  const int count = suite_is_for("cpu") ? 40 : 6;
  for (int i = 0; i < count; i++) {
    shape s;
    do {
      s = random_shape(&r, true);
      s.groups = s.ci = s.co = rng_range(&r, 2, i % 5 ? 36 : 70);
      if (i % 3 == 0) s.size[2] = rng_range(&r, 30, 40);
      if (i % 4 == 0) s.kernel[2] = 1;
    } while (out_size(&s, 0, true) < 1 || out_size(&s, 1, true) < 1 ||
             out_size(&s, 2, true) < 1);
    run_shape(&s, true, &r);
  }
}

/* Strides beyond the kernel, so that some outputs have no taps; paddings beyond
 * it; outputs behind the last window; lines of one pixel and of more than a
 * tile has rows; groups of one map, of few, and of some that fill no panel. */
static void test_phases(void **state) {
  static const int counts[] = {1, 2, 4, 8, 16, 33, 40};
  harness_rng r = {23};
  (void)state;
  if (!suite_is_for("cpu")) skip();
  for (int i = 0; i < 84; i++) {
    shape s;
    do {
      s = random_shape(&r, true);
      s.spatial = 1 + i % 3;
      s.groups = i % 2 ? rng_range(&r, 2, i % 4 == 1 ? 5 : 20) : 1;
      s.ci = s.co = s.groups * counts[i % 7];
      if (i % 5 == 4) s.ci = s.groups * rng_range(&r, 1, 70);
      for (int d = 0; d < 3; d++) {
        const bool used = d >= 3 - s.spatial;
        const int most = d == 2 && i % 4 == 0 ? 70 : s.spatial == 3 ? 5 : 9;
        s.kernel[d] = used ? rng_range(&r, 1, 5) : 1;
        s.stride[d] = used ? rng_range(&r, 1, 4) : 1;
        s.dilation[d] = used ? rng_range(&r, 1, 4) : 1;
        s.pre[d] = used ? rng_range(&r, 0, 6) : 0;
        s.post[d] = used ? rng_range(&r, 0, 3) : 0;
        s.more[d] = used ? rng_range(&r, 0, s.stride[d]) : 0;
        s.size[d] = used ? rng_range(&r, 1, most) : 1;
      }
    } while (out_size(&s, 0, true) < 1 || out_size(&s, 1, true) < 1 ||
             out_size(&s, 2, true) < 1);
    run_shape(&s, true, &r);
  }
  /* A phase of two taps whose first one is wholly behind the input. */
  for (int maps = 1; maps <= 16; maps++) {
    const shape behind = {.spatial = 1,
                          .n = 1,
                          .ci = maps,
                          .co = 4,
                          .groups = 1,
                          .size = {1, 1, 1},
                          .kernel = {1, 1, 5},
                          .stride = {1, 1, 3},
                          .dilation = {1, 1, 1},
                          .pre = {0, 0, 6},
                          .more = {0, 0, 2}};
    run_shape(&behind, true, &r);
  }
}

static void test_depthwise(void **state) {
  harness_rng r = {3};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 80; i++) {
    shape s = random_shape(&r, false);
    s.groups = s.ci = s.co = rng_range(&r, 2, 70);
    if (i % 3 == 0) {
      s.kernel[2] = i % 2 ? 3 : 5;
      s.stride[2] = s.dilation[2] = 1;
      s.pre[2] = s.post[2] = s.kernel[2] / 2;
      s.size[2] = rng_range(&r, 1, 40);
    }
    if (i % 3 == 1) { /* long lines, as those of windows over time */
      s.kernel[2] = rng_range(&r, 2, 33);
      s.stride[2] = 1;
      s.dilation[2] = i % 2 ? 1 : rng_range(&r, 1, 9);
      s.pre[2] = rng_range(&r, 0, s.kernel[2]);
      s.post[2] = rng_range(&r, 0, s.kernel[2]);
      s.size[2] = rng_range(&r, 1, i % 2 ? 80 : 400);
      const int span = s.dilation[2] * (s.kernel[2] - 1) + 1;
      if (s.size[2] + s.pre[2] + s.post[2] < span) s.size[2] = span;
    }
    run_shape(&s, false, &r);
  }
}

/* Groups of few maps side by side: in lanes of vectors and as whole vectors,
 * maps that fill no vector, windows that have kernels of their own and others,
 * widths around those of tiles. */
static void test_lanes(void **state) {
  harness_rng r = {14};
  static const int maps[] = {2, 4, 8};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 90; i++) {
    shape s = random_shape(&r, false);
    s.groups = rng_range(&r, 2, 20);
    s.ci = s.co = s.groups * maps[i % 3];
    s.tactic = "lanes";
    if (i % 4) {
      s.spatial = 2;
      s.kernel[0] = s.stride[0] = s.dilation[0] = s.size[0] = 1;
      s.pre[0] = s.post[0] = 0;
      for (int d = 1; d < 3; d++) {
        s.kernel[d] = 3;
        s.stride[d] = 1 + i / 4 % 2;
        s.dilation[d] = 1;
        s.pre[d] = rng_range(&r, 0, 3);
        s.post[d] = rng_range(&r, 0, 3);
        s.size[d] = rng_range(&r, 3, 24);
      }
    }
    assert_true(run_shape(&s, false, &r));
  }
}

/* Many groups of few maps, which share panels of the kernel. */
static void test_grouped(void **state) {
  harness_rng r = {12};
  static const int maps[] = {2, 4, 8, 8, 4, 3, 16};
  int fitting = 0;
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 60; i++) {
    shape s = random_shape(&r, false);
    const int of_group = maps[i % 7];
    s.spatial = rng_range(&r, 1, 2);
    s.groups = (i % 3 ? 16 / of_group : 1) * rng_range(&r, 1, 3);
    s.ci = s.groups * (i % 2 ? of_group : rng_range(&r, 2, 9));
    s.co = s.groups * of_group;
    s.tactic = i % 5 ? "grouped" : "";
    for (int d = 0; d < 3; d++) {
      const bool used = d >= 3 - s.spatial;
      if (!used) s.size[d] = s.kernel[d] = s.stride[d] = s.dilation[d] = 1;
      if (!used) s.pre[d] = s.post[d] = 0;
      if (used && i % 4 == 0) {
        s.kernel[d] = s.stride[d] = 1;
        s.pre[d] = s.post[d] = 0;
      }
    }
    fitting += run_shape(&s, false, &r);
  }
  assert_true(fitting > 30);
}

/* Square windows, which have kernels of their own: narrow and wide images,
 * several bands of rows, paddings that are not alike and wider than images;
 * dilated ones, alike in both dimensions and not; groups of few maps. */
static void test_square_depthwise(void **state) {
  harness_rng r = {6};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 120; i++) {
    shape s = random_shape(&r, false);
    s.spatial = 2;
    s.groups = s.ci = s.co = rng_range(&r, 2, 70);
    s.kernel[0] = s.stride[0] = s.dilation[0] = s.size[0] = 1;
    s.pre[0] = s.post[0] = 0;
    for (int d = 1; d < 3; d++) {
      s.kernel[d] = 3 + 2 * (i % 4);
      s.stride[d] = 1 + i / 4 % 2;
      s.dilation[d] = i % 5 < 3 ? 1 : 1 + i % 6;
      const int span = s.dilation[d] * (s.kernel[d] - 1) + 1;
      s.pre[d] = rng_range(&r, 0, span);
      s.post[d] = rng_range(&r, 0, span);
      s.size[d] = rng_range(&r, 1, i % 4 ? 30 : 60);
      if (s.size[d] + s.pre[d] + s.post[d] < span) s.size[d] = span;
    }
    if (i % 8 == 0) { /* groups of few maps */
      s.groups = rng_range(&r, 2, 9);
      s.ci = s.co = s.groups * 4;
    }
    if (i % 40 == 21) { /* whose taps would share sets of a cache */
      s.groups = s.ci = s.co = 256;
    }
    run_shape(&s, false, &r);
  }
}

/* Of half and bfloat16, images that are cut into bands, columns and blocks of
 * channels; pixels that would share sets of a cache, and that are filled to
 * whole pairs; groups; windows in two dimensions that are read in place. */
static void test_narrow_blocks(void **state) {
  static const shape shapes[] = {
      {.ci = 32, .co = 16, .size = {1, 26, 300}, .kernel = {1, 3, 3}},
      {.ci = 64, .co = 150, .size = {1, 14, 17}, .kernel = {1, 3, 3}},
      {.ci = 512, .co = 20, .size = {1, 7, 7}, .kernel = {1, 3, 3}},
      {.ci = 3, .co = 40, .size = {1, 40, 70}, .kernel = {1, 7, 7}},
      {.ci = 34, .co = 33, .size = {1, 9, 40}, .kernel = {1, 3, 5}},
      {.ci = 64,
       .co = 48,
       .groups = 2,
       .size = {1, 9, 30},
       .kernel = {1, 3, 3}},
      {.ci = 72,
       .co = 72,
       .groups = 72,
       .size = {1, 40, 90},
       .kernel = {1, 5, 5}},
      {.ci = 40,
       .co = 40,
       .groups = 10,
       .size = {1, 11, 200},
       .kernel = {1, 3, 3}},
      {.ci = 300,
       .co = 300,
       .groups = 300,
       .size = {1, 1, 400},
       .kernel = {1, 1, 31}},
  };
  harness_rng r = {21};
  (void)state;
  if (!is_one_way()) skip();
  for (size_t i = 0; i < 2 * sizeof(shapes) / sizeof(shapes[0]); i++) {
    shape s = shapes[i / 2];
    s.spatial = 2;
    s.n = 1 + (int)(i % 3 == 2);
    s.groups = s.groups ? s.groups : 1;
    s.activation = activations[i % 5];
    s.bias = i % 4 != 3;
    s.residual = i % 3 == 1;
    for (int d = 0; d < 3; d++) {
      s.dilation[d] = 1;
      s.stride[d] = d && i % 2 && s.kernel[d] > 1 ? 2 : 1;
      s.pre[d] = s.post[d] = i % 4 == 2 ? 0 : s.kernel[d] / 2;
    }
    run_shape(&s, false, &r);
  }
}

/* Patches of images of few maps, next to each other or not, whose windows are
 * whole chunks; and outputs that are parts of larger tensors, so that there is
 * something between images. */
static void test_patches(void **state) {
  harness_rng r = {17};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  for (int i = 0; i < 40; i++) {
    shape s = random_shape(&r, false);
    const int side = i % 4 ? 4 : 8;
    s.spatial = 2;
    s.groups = 1;
    s.n = rng_range(&r, 1, 3);
    s.ci = i % 3 ? 3 : rng_range(&r, 1, 16);
    s.co = rng_range(&r, 1, 5) * (i % 2 ? 8 : 7);
    s.kernel[0] = s.stride[0] = s.dilation[0] = s.size[0] = 1;
    s.pre[0] = s.post[0] = 0;
    for (int d = 1; d < 3; d++) {
      s.kernel[d] = side;
      s.stride[d] = i % 5 ? side : rng_range(&r, 1, 3);
      s.dilation[d] = 1;
      s.pre[d] = s.post[d] = i % 5 ? 0 : 2;
      s.size[d] = side * rng_range(&r, 1, 4) + rng_range(&r, 0, 2);
    }
    s.apart = i % 2 ? 8 * rng_range(&r, 1, 4) : 0;
    run_shape(&s, false, &r);
  }
}

/* Deconvolutions whose windows lie beside each other: lines of whole 16 pixels,
 * and others. */
static void test_taps(void **state) {
  harness_rng r = {18};
  (void)state;
  suite_needs(BSM_STEP_DECONVOLUTION);
  for (int i = 0; i < 24; i++) {
    shape s = {.spatial = 2,
               .n = rng_range(&r, 1, 3),
               .groups = 1,
               .ci = i % 3 ? 8 * rng_range(&r, 1, 5) : rng_range(&r, 1, 20),
               .co = i % 4 ? 8 * rng_range(&r, 1, 5) : rng_range(&r, 1, 20),
               .activation = activations[i % 5],
               .bias = i % 2,
               .extra = i % 6 == 5 ? 5 : 0,
               .apart = i % 7 == 6 ? 8 : 0};
    for (int d = 0; d < 3; d++) {
      s.dilation[d] = 1;
      s.kernel[d] = s.stride[d] = d ? rng_range(&r, 1, 3) : 1;
      s.size[d] = d ? rng_range(&r, 1, 9) : 1;
    }
    if (i % 2) s.size[2] = 16 * rng_range(&r, 1, 2);
    run_shape(&s, true, &r);
  }
}

/* Shapes whose K is cut into blocks: inside a tap, and by taps. */
static void test_deep(void **state) {
  harness_rng r = {4};
  shape s = {.spatial = 2,
             .n = 1,
             .groups = 1,
             .size = {1, 7, 7},
             .stride = {1, 1, 1},
             .dilation = {1, 1, 1},
             .bias = true,
             .activation = BSM_ACTIVATION_SILU,
             .residual = true};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  const int cases[][4] = {/* ci, co, kernel, padding */
                          {1500, 33, 1, 0},
                          {300, 70, 3, 1},
                          {2048, 16, 1, 0},
                          {1300, 40, 2, 0}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s.ci = cases[i][0];
    s.co = cases[i][1];
    for (int d = 0; d < 3; d++) {
      s.kernel[d] = d ? cases[i][2] : 1;
      s.pre[d] = s.post[d] = d ? cases[i][3] : 0;
    }
    run_shape(&s, false, &r);
  }
}

static void test_empty(void **state) {
  harness h;
  harness_rng r = {5};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION);
  harness_init(&h, BSM_STEP_CONVOLUTION);
  h.params.convolution =
      (bsm_step_convolution){.window = {.spatial = 1,
                                        .kernel = {1, 1, 2},
                                        .stride = {1, 1, 1},
                                        .dilation = {1, 1, 1}},
                             .groups = 1,
                             .out_maps = 2};
  add_input(&h, BSM_DTYPE_FLOAT, dims_of(3, 0, 1, 4), NULL);
  add_output(&h, BSM_DTYPE_FLOAT, dims_of(3, 0, 2, 3), (int64_t[]){6, 1, 2});
  float w[4];
  fill_floats(&r, w, sizeof(w));
  add_packed(&h, 1, w, false);
  assert_null(harness_run(&h, bsm_isa_detect(), 2));
  harness_free(&h);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_convolutions),
      cmocka_unit_test(test_regions),
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_planar),
      cmocka_unit_test(test_tap_rows),
      cmocka_unit_test(test_few_maps),
      cmocka_unit_test(test_random_deconvolutions),
      cmocka_unit_test(test_phases),
      cmocka_unit_test(test_depthwise_deconvolutions),
      cmocka_unit_test(test_depthwise),
      cmocka_unit_test(test_grouped),
      cmocka_unit_test(test_lanes),
      cmocka_unit_test(test_square_depthwise),
      cmocka_unit_test(test_patches),
      cmocka_unit_test(test_narrow_blocks),
      cmocka_unit_test(test_taps),
      cmocka_unit_test(test_deep),
      cmocka_unit_test(test_empty),
  };
  return suite_run(argc, argv, tests);
}
