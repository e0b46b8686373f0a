/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolutions against plain loops in double. */
#include "backend/cpu/cpu_winograd.h"

#include "tests/conformance/step_harness.h"

/* Of the dimension before the two transformed ones. */
typedef struct depth {
  int kernel, stride, dilation, size, pre, post;
} depth;

typedef struct shape {
  int n, ci, co, kernel, dilation[2], size[2], pre[2], post[2];
  bsm_activation_type activation;
  bool bias, residual;
  int extra;   /* floats between pixels */
  depth depth; /* kernel 0: there is none */
  int groups;  /* 0: one */
} shape;

static int groups_of(const shape *s) {
  return s->groups ? s->groups : 1;
}

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
  snprintf(what, sizeof(what), "isa %u, form %d", isa,
           h->params.convolution.form);
  do {
    assert_close((double)got[offset_of(y, index)], e->values[i++], e->tolerance,
                 what);
  } while (next_index(y->dims, index));
}

static void set_params(bsm_step_convolution *p, const shape *s, int32_t form) {
  p->groups = groups_of(s);
  p->out_maps = s->co;
  p->form = form;
  p->window.spatial = s->depth.kernel ? 3 : 2;
  p->epilogue.activation = (int32_t)s->activation;
  p->epilogue.has_residual = s->residual;
  p->epilogue.alpha = -0.5;
  p->epilogue.beta = 0.75;
  for (int d = 0; d < 3; d++) {
    p->window.kernel[d] = d ? s->kernel : 1;
    p->window.stride[d] = 1;
    p->window.dilation[d] = d ? s->dilation[d - 1] : 1;
    p->window.pre_padding[d] = d ? s->pre[d - 1] : 0;
    p->window.post_padding[d] = d ? s->post[d - 1] : 0;
  }
  if (s->depth.kernel) {
    p->window.kernel[0] = s->depth.kernel;
    p->window.stride[0] = s->depth.stride;
    p->window.dilation[0] = s->depth.dilation;
    p->window.pre_padding[0] = s->depth.pre;
    p->window.post_padding[0] = s->depth.post;
  }
}

static int taps_of(const shape *s) {
  return (s->depth.kernel ? s->depth.kernel : 1) * s->kernel * s->kernel;
}

/* One output by definition. */
static double product(const shape *s, const float *x, const bsm_plan_tensor *xt,
                      const float *w, const int64_t *at) {
  double sum = 0;
  const int taps = taps_of(s), plane = s->kernel * s->kernel;
  const int deep = s->depth.kernel != 0;
  const int ci = s->ci / groups_of(s), co = s->co / groups_of(s);
  const int64_t first = at[1] / co * ci;
  for (int k = 0; k < taps; k++) {
    const int64_t h =
        at[2 + deep] + k % plane / s->kernel * s->dilation[0] - s->pre[0];
    const int64_t v = at[3 + deep] + k % s->kernel * s->dilation[1] - s->pre[1];
    const int64_t z = deep ? at[2] * s->depth.stride +
                                 k / plane * s->depth.dilation - s->depth.pre
                           : 0;
    if (h < 0 || h >= s->size[0] || v < 0 || v >= s->size[1] || z < 0 ||
        (deep && z >= s->depth.size)) {
      continue;
    }
    for (int c = 0; c < ci; c++) {
      const int64_t flat[] = {at[0], first + c, h, v};
      const int64_t solid[] = {at[0], first + c, z, h, v};
      sum += (double)x[offset_of(xt, deep ? solid : flat)] *
             (double)w[(at[1] * ci + c) * taps + k];
    }
  }
  return sum;
}

static int out_size(const shape *s, int d) {
  return s->size[d] + s->pre[d] + s->post[d] - (s->kernel - 1) * s->dilation[d];
}

static int out_depth(const depth *d) {
  return (d->size + d->pre + d->post - (d->kernel - 1) * d->dilation - 1) /
             d->stride +
         1;
}

/* The input's dims, or the output's. */
static bsm_dims image(const shape *s, bool out) {
  const int c = out ? s->co : s->ci;
  const int h = out ? out_size(s, 0) : s->size[0];
  const int w = out ? out_size(s, 1) : s->size[1];
  if (!s->depth.kernel) return dims_of(4, s->n, c, h, w);
  return dims_of(5, s->n, c, out ? out_depth(&s->depth) : s->depth.size, h, w);
}

static void run_shape(const shape *s, int32_t form, harness_rng *rng) {
  harness h;
  int64_t strides[5], index[BSM_MAX_RANK] = {0};
  harness_init(&h, BSM_STEP_CONVOLUTION);
  set_params(&h.params.convolution, s, form);
  const bsm_dims xd = image(s, false), yd = image(s, true);
  channels_last(xd, s->extra, strides);
  const float *x = add_input(&h, BSM_DTYPE_FLOAT, xd, strides);
  channels_last(yd, s->extra, strides);
  add_output(&h, BSM_DTYPE_FLOAT, yd, strides);
  fill_input(&h, rng, 0);
  const int inputs = s->ci / groups_of(s);
  const size_t count = (size_t)inputs * (size_t)s->co * (size_t)taps_of(s);
  float *w = malloc(count * sizeof(float));
  assert_non_null(w);
  fill_floats(rng, w, count * sizeof(float));
  add_packed(&h, s->ci, w, false);
  const float *bias = NULL, *residual = NULL;
  if (s->bias) {
    float *b = add_weights(&h, 1, (size_t)s->co * sizeof(float));
    fill_floats(rng, b, (size_t)s->co * sizeof(float));
    bias = b;
  }
  if (s->residual) {
    channels_last(yd, 0, strides);
    residual = add_input(&h, BSM_DTYPE_FLOAT, yd, strides);
    fill_input(&h, rng, 1);
  }
  size_t i = 0, outputs = 1;
  for (int32_t d = 0; d < yd.rank; d++) outputs *= (size_t)yd.d[d];
  double *y = malloc(outputs * sizeof(double));
  assert_non_null(y);
  do {
    double v = product(s, x, &h.tensors[h.step.inputs[0]], w, index);
    if (bias) v += (double)bias[index[1]];
    if (residual) {
      v += (double)residual[offset_of(&h.tensors[h.step.inputs[1]], index)];
    }
    y[i++] = activate(s->activation, v);
  } while (next_index(yd, index));
  /* Rounding grows with the points: measured 1.5, 5 and 30 times that of the
   * plain sum. */
  static const double growth[] = {1, 2, 6, 40};
  expected e = {
      y, 1e-6 * growth[form] * (4 + sqrt((double)(taps_of(s) * inputs)))};
  harness_run_all(&h, compare, &e);
  free(y);
  free(w);
  harness_free(&h);
}

static const bsm_activation_type activations[] = {
    BSM_ACTIVATION_NONE, BSM_ACTIVATION_RELU, BSM_ACTIVATION_CLIP,
    BSM_ACTIVATION_SILU};

/* Tiles that end inside and outside, images smaller than a tile, channels that
 * fill no vector, and any padding. */
static void test_random(void **state) {
  harness_rng r = {11};
  (void)state;
  for (int i = 0; i < 150; i++) {
    shape s = {.n = rng_range(&r, 1, 3),
               .kernel = i % 6 == 4 || i % 6 == 5 ? 5 : 3,
               .dilation = {1, 1},
               .ci = rng_range(&r, 3, 40),
               .co = rng_range(&r, 8, 70),
               .activation = activations[rng_range(&r, 0, 3)],
               .bias = rng_range(&r, 0, 1),
               .residual = rng_range(&r, 0, 2) == 0,
               .extra = rng_range(&r, 0, 2) == 0 ? 5 : 0};
    for (int d = 0; d < 2; d++) {
      s.pre[d] = rng_range(&r, 0, 3);
      s.post[d] = rng_range(&r, 0, 3);
      s.size[d] = rng_range(&r, 1, 20);
      if (i % 4 == 0) s.dilation[d] = rng_range(&r, 1, 3);
      if (out_size(&s, d) < 1) s.size[d] += 1 - out_size(&s, d);
    }
    run_shape(&s, 1 + i % 3, &r);
  }
}

/* Three dimensions, of which the first has any kernel, stride and dilation, and
 * taps that all lie in padding. */
static void test_depth(void **state) {
  harness_rng r = {15};
  (void)state;
  for (int i = 0; i < 36; i++) {
    shape s = {.n = rng_range(&r, 1, 2),
               .kernel = i % 6 == 4 || i % 6 == 5 ? 5 : 3,
               .dilation = {1, 1},
               .ci = rng_range(&r, 3, 35),
               .co = rng_range(&r, 8, 50),
               .activation = activations[rng_range(&r, 0, 3)],
               .bias = rng_range(&r, 0, 1),
               .residual = rng_range(&r, 0, 2) == 0,
               .extra = rng_range(&r, 0, 2) == 0 ? 5 : 0,
               .depth = {rng_range(&r, 1, 4), rng_range(&r, 1, 2),
                         rng_range(&r, 1, 2), rng_range(&r, 1, 5),
                         rng_range(&r, 0, 3), rng_range(&r, 0, 3)}};
    for (int d = 0; d < 2; d++) {
      s.pre[d] = rng_range(&r, 0, 2);
      s.post[d] = rng_range(&r, 0, 2);
      s.size[d] = rng_range(&r, 3, 14);
      if (i % 4 == 0) s.dilation[d] = rng_range(&r, 1, 2);
      if (out_size(&s, d) < 1) s.size[d] += 1 - out_size(&s, d);
    }
    while (s.depth.size + s.depth.pre + s.depth.post <=
           (s.depth.kernel - 1) * s.depth.dilation) {
      s.depth.size++;
    }
    run_shape(&s, 1 + i % 3, &r);
  }
}

/* Groups whose maps fill panels, share some and end within them, of as many
 * output maps as input maps or of others. */
static void test_groups(void **state) {
  static const struct {
    int groups, ci, co;
  } cases[] = {{2, 24, 24}, {7, 24, 24}, {3, 16, 16}, {4, 32, 32}, {5, 6, 6},
               {3, 20, 40}, {2, 64, 48}, {9, 8, 5},   {2, 5, 17},  {3, 40, 40}};
  harness_rng r = {16};
  (void)state;
  for (int i = 0; i < 20; i++) {
    const int k = i % (int)(sizeof(cases) / sizeof(cases[0]));
    shape s = {.n = rng_range(&r, 1, 2),
               .kernel = i % 6 == 4 || i % 6 == 5 ? 5 : 3,
               .dilation = {1, 1},
               .ci = cases[k].groups * cases[k].ci,
               .co = cases[k].groups * cases[k].co,
               .groups = cases[k].groups,
               .activation = activations[rng_range(&r, 0, 3)],
               .bias = rng_range(&r, 0, 1),
               .residual = rng_range(&r, 0, 2) == 0,
               .extra = rng_range(&r, 0, 2) == 0 ? 5 : 0};
    for (int d = 0; d < 2; d++) {
      s.pre[d] = rng_range(&r, 0, 2);
      s.post[d] = rng_range(&r, 0, 2);
      s.size[d] = rng_range(&r, 5, 17);
    }
    run_shape(&s, 1 + i % 3, &r);
  }
}

/* More tiles than a block has, so that threads have blocks of their own. */
static void test_many_tiles(void **state) {
  harness_rng r = {12};
  const shape s = {.n = 2,
                   .kernel = 3,
                   .dilation = {1, 1},
                   .ci = 16,
                   .co = 17,
                   .size = {61, 67},
                   .pre = {1, 1},
                   .post = {1, 1},
                   .bias = true,
                   .activation = BSM_ACTIVATION_RELU};
  (void)state;
  for (int32_t form = 1; form <= 3; form++) run_shape(&s, form, &r);
}

/* Fewer outputs than the dilation has interleaved images: they take no time
 * that grows with the dilation. */
static void test_far_apart(void **state) {
  harness_rng r = {14};
  const shape s = {.n = 1,
                   .ci = 8,
                   .co = 8,
                   .kernel = 3,
                   .dilation = {400000, 300000},
                   .size = {3, 2},
                   .pre = {400000, 300000},
                   .post = {400000, 300000}};
  (void)state;
  for (int32_t form = 1; form <= 3; form++) run_shape(&s, form, &r);
}

static void test_deep(void **state) {
  harness_rng r = {13};
  const shape s = {.n = 1,
                   .kernel = 3,
                   .dilation = {1, 1},
                   .ci = 530,
                   .co = 100,
                   .size = {7, 9},
                   .pre = {1, 1},
                   .post = {1, 1},
                   .residual = true};
  (void)state;
  for (int32_t form = 1; form <= 3; form++) run_shape(&s, form, &r);
}

/* What the kernel becomes: with one tap in the middle, the products of the
 * middle column of G. */
static void test_packed(void **state) {
  const shape s = {.co = 17, .kernel = 3, .dilation = {1, 1}};
  shape deep = s;
  bsm_step_convolution p = {0};
  uint64_t size;
  (void)state;
  set_params(&p, &s, BSM_CPU_FORM_WINOGRAD_2);
  assert_null(bsm_cpu_winograd_size(&p, 8, p.form, &size));
  assert_int_equal(size, 16 * 2 * 8 * 16 * sizeof(float));
  float *values = calloc(17 * 8 * 9, sizeof(float)),
        *packed = malloc((size_t)size);
  assert_non_null(values);
  assert_non_null(packed);
  values[(16 * 8 + 3) * 9 + 4] = 3.0f; /* of output map 16, input map 3 */
  bsm_cpu_winograd_pack(&p, 8, p.form, values, packed);
  static const double g[] = {0, 0.5, -0.5, 0};
  for (int i = 0; i < 16 * 2 * 8 * 16; i++) {
    const int position = i / (2 * 8 * 16), rest = i % (2 * 8 * 16);
    const double e =
        rest == (8 + 3) * 16 ? 3 * g[position / 4] * g[position % 4] : 0.0;
    assert_close((double)packed[i], e, 0, "packed");
  }
  free(values);
  free(packed);
  deep.depth = (depth){.kernel = 3, .stride = 1, .dilation = 1};
  set_params(&p, &deep, BSM_CPU_FORM_WINOGRAD_4);
  assert_null(bsm_cpu_winograd_size(&p, 8, p.form, &size));
  assert_int_equal(size, 36 * 2 * 3 * 8 * 16 * sizeof(float));
}

/* Weights of these forms on convolutions that cannot have them. */
static void test_refused(void **state) {
  static const struct {
    int ci, co, kernel, stride, dilation, groups, spatial;
    int32_t form;
  } cases[] = {
      {16, 16, 3, 1, 1, 1, 2, 4},  {16, 16, 3, 1, 1, 1, 2, -1},
      {16, 16, 5, 1, 1, 1, 2, 1},  {16, 16, 3, 2, 1, 1, 2, 2},
      {16, 16, 7, 1, 1, 1, 2, 3},  {16, 16, 3, 1, 1, 4, 2, 1},
      {16, 16, 3, 1, 1, 16, 2, 2}, {2, 16, 3, 1, 1, 1, 2, 3},
      {16, 4, 3, 1, 1, 1, 2, 1},   {16, 16, 3, 1, 1, 1, 1, 2},
      {16, 8, 3, 1, 1, 2, 2, 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    harness h;
    int64_t strides[4];
    shape s = {.n = 1, .co = cases[i].co, .pre = {1, 1}, .post = {1, 1}};
    harness_init(&h, BSM_STEP_CONVOLUTION);
    bsm_step_convolution *p = &h.params.convolution;
    set_params(p, &s, cases[i].form);
    p->groups = cases[i].groups;
    p->window.spatial = cases[i].spatial;
    for (int d = 1; d < 3; d++) {
      const bool used = d >= 3 - cases[i].spatial;
      p->window.kernel[d] = used ? cases[i].kernel : 1;
      p->window.stride[d] = used ? cases[i].stride : 1;
      p->window.dilation[d] = used ? cases[i].dilation : 1;
      if (!used) p->window.pre_padding[d] = p->window.post_padding[d] = 0;
    }
    const int span = (cases[i].kernel - 1) * cases[i].dilation;
    const int out = (8 + 2 - span - 1) / cases[i].stride + 1;
    const bsm_dims xd = {cases[i].spatial + 2, {1, cases[i].ci, 8, 8}};
    const bsm_dims yd = {cases[i].spatial + 2, {1, cases[i].co, out, out}};
    channels_last(xd, 0, strides);
    add_input(&h, BSM_DTYPE_FLOAT, xd, strides);
    channels_last(yd, 0, strides);
    add_output(&h, BSM_DTYPE_FLOAT, yd, strides);
    add_weights(&h, 0, 64 * 16 * 16 * sizeof(float));
    bsm_status st = harness_check(&h);
    if (!st) fail_msg("case %zu was not refused", i);
    assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
    bsm_status_free(st);
    harness_free(&h);
  }
}

/* Weights of another size than the form says. */
static void test_wrong_size(void **state) {
  harness h;
  int64_t strides[4];
  const shape s = {
      .co = 16, .kernel = 3, .dilation = {1, 1}, .pre = {1, 1}, .post = {1, 1}};
  const bsm_dims d = dims_of(4, 1, 16, 8, 8);
  (void)state;
  harness_init(&h, BSM_STEP_CONVOLUTION);
  set_params(&h.params.convolution, &s, BSM_CPU_FORM_WINOGRAD_4);
  channels_last(d, 0, strides);
  add_input(&h, BSM_DTYPE_FLOAT, d, strides);
  add_output(&h, BSM_DTYPE_FLOAT, d, strides);
  add_weights(&h, 0, 36 * 16 * 16 * sizeof(float) - 4);
  bsm_status st = harness_check(&h);
  assert_non_null(st);
  assert_non_null(strstr(bsm_status_message(st), "bytes"));
  bsm_status_free(st);
  harness_free(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),     cmocka_unit_test(test_depth),
      cmocka_unit_test(test_groups),     cmocka_unit_test(test_many_tiles),
      cmocka_unit_test(test_deep),       cmocka_unit_test(test_far_apart),
      cmocka_unit_test(test_packed),     cmocka_unit_test(test_refused),
      cmocka_unit_test(test_wrong_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
