/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of convolutions against plain loops in double, and against the same
 * convolutions one by one, bit for bit. */
#include "tests/conformance/step_harness.h"

typedef struct shape {
  int n, height, width;
  int maps[4]; /* of the input, after each part */
  bool has[3], scales, residual;
  int window, stride, pre[2], post[2];
  bool starts; /* the first part has a window of its own */
  int first_window, first_stride, first_padding;
  bool planes; /* of the input */
  int extra;   /* floats between pixels of the input and the output */
  bsm_activation_type activation;
} shape;

static double activate(bsm_activation_type type, double x) {
  switch (type) {
    case BSM_ACTIVATION_CLIP:
      return x < -0.5 ? -0.5 : x > 0.75 ? 0.75 : x;
    case BSM_ACTIVATION_SILU:
      return x / (1 + exp(-x));
    default:
      return x;
  }
}

/* An image [n][h][w][c]. */
typedef struct image {
  int n, h, w, c;
  double *at;
} image;

static image new_image(int n, int h, int w, int c) {
  image i = {n, h, w, c, NULL};
  i.at =
      calloc((size_t)n * (size_t)h * (size_t)w * (size_t)c + 1, sizeof(double));
  assert_non_null(i.at);
  return i;
}

static double *pixel(const image *i, int n, int h, int w) {
  return i->at +
         ((size_t)(n * i->h + h) * (size_t)i->w + (size_t)w) * (size_t)i->c;
}

/* Of the first part's output. */
static int first_size(const shape *s, int d) {
  const int size = d ? s->width : s->height;
  if (!s->starts) return size;
  return (size + 2 * s->first_padding - s->first_window) / s->first_stride + 1;
}

static int out_size(const shape *s, int d) {
  const int size = first_size(s, d);
  if (!s->has[1]) return size;
  return (size + s->pre[d] + s->post[d] - s->window) / s->stride + 1;
}

/* One part by definition; frees x. The bias follows the kernel. */
static image convolve(const shape *s, int part, image x, const float *w,
                      const float *bias, bsm_activation_type activation) {
  const bool filters = part == 1, starts = part == 0 && s->starts;
  image y = new_image(x.n,
                      filters  ? out_size(s, 0)
                      : starts ? first_size(s, 0)
                               : x.h,
                      filters  ? out_size(s, 1)
                      : starts ? first_size(s, 1)
                               : x.w,
                      s->maps[part + 1]);
  const int taps = filters ? s->window : starts ? s->first_window : 1;
  const int stride = filters ? s->stride : starts ? s->first_stride : 1;
  const int top = filters ? s->pre[0] : starts ? s->first_padding : 0;
  const int left = filters ? s->pre[1] : starts ? s->first_padding : 0;
  for (int n = 0; n < y.n; n++) {
    for (int h = 0; h < y.h; h++) {
      for (int v = 0; v < y.w; v++) {
        for (int o = 0; o < y.c; o++) {
          double sum = (double)bias[o];
          for (int kh = 0; kh < taps; kh++) {
            for (int kw = 0; kw < taps; kw++) {
              const int row = h * stride - top + kh;
              const int col = v * stride - left + kw;
              if (row < 0 || row >= x.h || col < 0 || col >= x.w) continue;
              const double *at = pixel(&x, n, row, col);
              if (filters) {
                sum += at[o] * (double)w[(o * taps + kh) * taps + kw];
              } else {
                for (int i = 0; i < x.c; i++) {
                  sum += at[i] *
                         (double)w[((o * x.c + i) * taps + kh) * taps + kw];
                }
              }
            }
          }
          pixel(&y, n, h, v)[o] = activate(activation, sum);
        }
      }
    }
  }
  free(x.at);
  return y;
}

static void set_part(const shape *s, int part, bsm_step_convolution *p) {
  const bool filters = part == 1;
  *p = (bsm_step_convolution){
      .window = {.spatial = 2,
                 .kernel = {1, 1, 1},
                 .stride = {1, 1, 1},
                 .dilation = {1, 1, 1}},
      .groups = filters ? s->maps[2] : 1,
      .out_maps = s->maps[part + 1],
      .epilogue = {
          .activation = (int32_t)s->activation, .alpha = -0.5, .beta = 0.75}};
  for (int d = 1; filters && d < 3; d++) {
    p->window.kernel[d] = s->window;
    p->window.stride[d] = s->stride;
    p->window.pre_padding[d] = s->pre[d - 1];
    p->window.post_padding[d] = s->post[d - 1];
  }
  for (int d = 1; part == 0 && s->starts && d < 3; d++) {
    p->window.kernel[d] = s->first_window;
    p->window.stride[d] = s->first_stride;
    p->window.pre_padding[d] = p->window.post_padding[d] = s->first_padding;
  }
}

/* Packs the kernel of a part as its convolution would. */
static void pack_part(harness *h, const shape *s, int part, const float *w) {
  bsm_step_params params = {.convolution =
                                h->params.convolution_chain.part[part]};
  const bsm_plan_step step = {.kind = BSM_STEP_CONVOLUTION, .params = &params};
  add_packed_for(h, 2 * part, &step, s->maps[part], w, sizeof(float), false);
}

typedef struct expected {
  const image *y;
  double tolerance;
} expected;

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  const bsm_plan_tensor *t = &h->tensors[h->step.outputs[0]];
  const float *got = h->outputs[0];
  char what[64];
  int64_t i[BSM_MAX_RANK] = {0};
  snprintf(what, sizeof(what), "isa %u", isa);
  do {
    assert_close((double)got[offset_of(t, i)],
                 pixel(e->y, (int)i[0], (int)i[2], (int)i[3])[i[1]],
                 e->tolerance, what);
  } while (next_index(t->dims, i));
}

/* The input tensor's values as an image. */
static image read_input(const harness *h, uint32_t index) {
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[index]];
  const float *x = h->inputs[index];
  image out = new_image((int)t->dims.d[0], (int)t->dims.d[2], (int)t->dims.d[3],
                        (int)t->dims.d[1]);
  int64_t i[BSM_MAX_RANK] = {0};
  do {
    pixel(&out, (int)i[0], (int)i[2], (int)i[3])[i[1]] =
        (double)x[offset_of(t, i)];
  } while (next_index(t->dims, i));
  return out;
}

static void add_image(harness *h, harness_rng *r, int n, int c, int height,
                      int width, int extra) {
  const bsm_dims d = dims_of(4, n, c, height, width);
  int64_t strides[BSM_MAX_RANK];
  channels_last(d, extra, strides);
  add_input(h, BSM_DTYPE_FLOAT, d, extra < 0 ? NULL : strides);
  fill_input(h, r, h->step.input_count - 1);
}

static void build(harness *h, const shape *s, harness_rng *r, float **kernels,
                  float **biases) {
  bsm_step_convolution_chain *p = &h->params.convolution_chain;
  harness_init(h, BSM_STEP_CONVOLUTION_CHAIN);
  add_image(h, r, s->n, s->maps[0], s->height, s->width,
            s->planes ? -1 : s->extra);
  if (s->scales) add_image(h, r, s->n, s->maps[0], 1, 1, 0);
  p->has_scale = s->scales;
  int last = 2;
  while (!s->has[last]) last--;
  for (int i = 0; i < 3; i++) {
    p->has[i] = s->has[i];
    if (!s->has[i]) continue;
    set_part(s, i, &p->part[i]);
    p->part[i].epilogue.has_residual = i == last && s->residual;
    size_t taps = i == 1 ? (size_t)(s->window * s->window) : (size_t)s->maps[i];
    if (i == 0 && s->starts) {
      taps *= (size_t)(s->first_window * s->first_window);
    }
    const size_t count = (size_t)s->maps[i + 1] * taps;
    kernels[i] = malloc(count * sizeof(float));
    assert_non_null(kernels[i]);
    fill_floats(r, kernels[i], count * sizeof(float));
    for (size_t k = 0; k < count; k++) {
      kernels[i][k] /= (float)sqrt((double)taps);
    }
    pack_part(h, s, i, kernels[i]);
    const size_t bytes = (size_t)s->maps[i + 1] * sizeof(float);
    biases[i] = add_weights(h, 2 * i + 1, bytes);
    fill_floats(r, biases[i], bytes);
  }
  const int height = out_size(s, 0), width = out_size(s, 1);
  if (s->residual) add_image(h, r, s->n, s->maps[3], height, width, 0);
  const bsm_dims d = dims_of(4, s->n, s->maps[3], height, width);
  int64_t strides[BSM_MAX_RANK];
  channels_last(d, s->extra, strides);
  add_output(h, BSM_DTYPE_FLOAT, d, strides);
}

/* The whole chain in double. */
static image reference(const harness *h, const shape *s, float *const *kernels,
                       float *const *biases) {
  image y = read_input(h, 0);
  int last = 2;
  while (!s->has[last]) last--;
  if (s->scales) {
    image scale = read_input(h, 1);
    for (int i = 0; i < y.n * y.h * y.w * y.c; i++) {
      y.at[i] *= scale.at[i / (y.h * y.w * y.c) * y.c + i % y.c];
    }
    free(scale.at);
  }
  for (int i = 0; i < 3; i++) {
    const bool waits = i == last && s->residual;
    if (!s->has[i]) continue;
    y = convolve(s, i, y, kernels[i], biases[i],
                 waits ? BSM_ACTIVATION_NONE : s->activation);
  }
  if (s->residual) {
    image residual = read_input(h, h->step.input_count - 1);
    for (int i = 0; i < y.n * y.h * y.w * y.c; i++) {
      y.at[i] = activate(s->activation, y.at[i] + residual.at[i]);
    }
    free(residual.at);
  }
  return y;
}

static void run_shape(const shape *s, harness_rng *r) {
  harness h;
  float *kernels[3] = {NULL}, *biases[3] = {NULL};
  build(&h, s, r, kernels, biases);
  image y = reference(&h, s, kernels, biases);
  expected e = {&y, 2e-5};
  harness_run_all(&h, compare, &e);
  for (int i = 0; i < 3; i++) free(kernels[i]);
  free(y.at);
  harness_free(&h);
}

/* Expand, depthwise, project; expand, depthwise; depthwise, project; a scaled
 * project. */
static shape random_shape(harness_rng *r, int which) {
  static const bool has[4][3] = {{true, true, true},
                                 {true, true, false},
                                 {false, true, true},
                                 {false, false, true}};
  static const bsm_activation_type activations[] = {
      BSM_ACTIVATION_NONE, BSM_ACTIVATION_CLIP, BSM_ACTIVATION_SILU};
  shape s = {.n = rng_range(r, 1, 3),
             .window = 3 + 2 * rng_range(r, 0, 2),
             .stride = rng_range(r, 1, 2),
             .scales = which == 3,
             .residual = rng_range(r, 0, 1) == 1,
             .extra = rng_range(r, 0, 2) == 0 ? 5 : 0,
             .activation = activations[rng_range(r, 0, 2)]};
  memcpy(s.has, has[which], sizeof(s.has));
  s.height = rng_range(r, s.window, 24);
  s.width = rng_range(r, s.window, rng_range(r, 0, 1) ? 60 : 20);
  for (int i = 0; i < 4; i++) s.maps[i] = rng_range(r, 2, i % 3 ? 70 : 40);
  if (!s.has[0]) s.maps[1] = s.maps[0];
  if (s.has[1]) s.maps[2] = s.maps[1];
  if (!s.has[1]) s.maps[1] = s.maps[2] = s.maps[0];
  if (!s.has[2]) s.maps[3] = s.maps[2];
  for (int d = 0; d < 2; d++) {
    s.pre[d] = rng_range(r, 0, s.window - 1);
    s.post[d] = rng_range(r, 0, s.window - 1);
  }
  return s;
}

static void test_random_chains(void **state) {
  harness_rng r = {1};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION_CHAIN);
  for (int i = 0; i < 120; i++) {
    const shape s = random_shape(&r, i % 4);
    run_shape(&s, &r);
  }
}

/* A network's first convolution in front, of planes and channels last. */
static void test_starts(void **state) {
  harness_rng r = {4};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION_CHAIN);
  for (int i = 0; i < 60; i++) {
    shape s = random_shape(&r, i % 2);
    s.starts = true;
    s.maps[0] = rng_range(&r, 1, 4);
    s.planes = i % 3 != 0;
    s.first_window = rng_range(&r, 2, 5);
    s.first_stride = 1 << rng_range(&r, 0, 2);
    s.first_padding = rng_range(&r, 0, s.first_window);
    s.height = s.window * s.first_stride + rng_range(&r, 4, 30);
    s.width = s.window * s.first_stride + rng_range(&r, 4, 60);
    run_shape(&s, &r);
  }
}

/* One part of a chain by itself, from the output of the part before. */
static float *run_part(const harness *chain, const shape *s, int part,
                       const float *x, int height, int width, uint32_t isa) {
  harness h;
  harness_rng none = {0};
  harness_init(&h, BSM_STEP_CONVOLUTION);
  h.params.convolution = chain->params.convolution_chain.part[part];
  add_image(&h, &none, s->n, s->maps[part], height, width, 0);
  memcpy(h.inputs[0], x, h.data[h.step.inputs[0]].size);
  for (int i = 0; i < 2; i++) {
    const uint32_t id = chain->step.weights[2 * part + i];
    const bsm_plan_weights *w = &chain->weights[id];
    memcpy(add_weights(&h, i, (size_t)w->size), w->data, (size_t)w->size);
  }
  const bsm_dims d =
      dims_of(4, s->n, s->maps[part + 1], part ? out_size(s, 0) : height,
              part ? out_size(s, 1) : width);
  int64_t strides[BSM_MAX_RANK];
  channels_last(d, 0, strides);
  add_output(&h, BSM_DTYPE_FLOAT, d, strides);
  assert_null(harness_run(&h, isa, 1));
  const size_t size = h.data[h.step.outputs[0]].size;
  float *y = malloc(size);
  assert_non_null(y);
  memcpy(y, h.outputs[0], size);
  harness_free(&h);
  return y;
}

static void test_same_bits_as_separate(void **state) {
  harness_rng r = {2};
  uint32_t isas[8];
  const int count = harness_isas(isas);
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION_CHAIN);
  for (int i = 0; i < 12; i++) {
    shape s = random_shape(&r, 0);
    s.residual = false;
    s.extra = 0;
    harness h;
    float *kernels[3] = {NULL}, *biases[3] = {NULL};
    build(&h, &s, &r, kernels, biases);
    for (int k = 0; k < count; k++) {
      assert_null(harness_run(&h, isas[k], 2));
      float *a = run_part(&h, &s, 0, h.inputs[0], s.height, s.width, isas[k]);
      float *b = run_part(&h, &s, 1, a, s.height, s.width, isas[k]);
      float *c =
          run_part(&h, &s, 2, b, out_size(&s, 0), out_size(&s, 1), isas[k]);
      assert_memory_equal(h.outputs[0], c, h.data[h.step.outputs[0]].size);
      free(a);
      free(b);
      free(c);
    }
    for (int k = 0; k < 3; k++) free(kernels[k]);
    harness_free(&h);
  }
}

/* Chains that are none are refused. */
static void refused(harness *h) {
  bsm_status status = harness_check(h);
  assert_non_null(status);
  bsm_status_free(status);
}

static void test_refuses(void **state) {
  harness_rng r = {3};
  (void)state;
  suite_needs(BSM_STEP_CONVOLUTION_CHAIN);
  for (int which = 0; which < 4; which++) {
    shape s = random_shape(&r, which);
    s.residual = true;
    /* With fewer maps the first part might have a window. */
    if (s.has[0] && s.maps[0] < 5) s.maps[0] = 5;
    harness h;
    float *kernels[3] = {NULL}, *biases[3] = {NULL};
    build(&h, &s, &r, kernels, biases);
    assert_null(harness_check(&h));
    bsm_step_convolution_chain *p = &h.params.convolution_chain;
    const bsm_step_convolution_chain good = *p;
#define BAD(change) \
  do {              \
    *p = good;      \
    change;         \
    refused(&h);    \
  } while (0)
    BAD(memset(p->has, 0, sizeof(p->has)));
    BAD(p->has_scale = !p->has_scale);
    for (int i = 0; i < 3; i++) {
      BAD(p->has[i] = !p->has[i]);
      if (!s.has[i]) continue;
      BAD(p->part[i].out_maps++);
      BAD(p->part[i].out_maps = INT64_MAX);
      BAD(p->part[i].out_maps = -1);
      BAD(p->part[i].groups = 0);
      BAD(p->part[i].window.kernel[2] = 2);
      BAD(p->part[i].window.stride[1] = 0);
      BAD(p->part[i].window.stride[2] = 3);
      BAD(p->part[i].window.dilation[2] = 2);
      BAD(p->part[i].window.pre_padding[1] += 1000);
      BAD(p->part[i].window.post_padding[2] = -1);
      BAD(p->part[i].window.spatial = 3);
      for (int form = 1; form < 9; form++) BAD(p->part[i].form = form);
      BAD(p->part[i].epilogue.activation = 1000);
      BAD(p->part[i].epilogue.has_residual = !p->part[i].epilogue.has_residual);
      *p = good;
      for (int k = 0; k < 2; k++) {
        uint32_t *id = &h.step.weights[2 * i + k];
        const uint32_t before = *id;
        h.weights[before].size -= 4;
        refused(&h);
        h.weights[before].size += 4;
        *id = k ? 1000 : BSM_NO_WEIGHTS;
        refused(&h);
        *id = before;
      }
    }
    *p = good;
    for (uint32_t i = 0; i < h.step.input_count; i++) {
      bsm_plan_tensor *t = &h.tensors[h.step.inputs[i]];
      for (int d = 0; d < 4; d++) {
        t->dims.d[d] += d == 1 ? 1 : 2;
        refused(&h);
        t->dims.d[d] -= d == 1 ? 1 : 2;
      }
      t->strides[1] = 2;
      refused(&h);
      t->strides[1] = 1;
      t->dtype = BSM_DTYPE_INT32;
      refused(&h);
      t->dtype = BSM_DTYPE_FLOAT;
    }
    assert_null(harness_check(&h));
    h.step.input_count--;
    refused(&h);
    for (int i = 0; i < 3; i++) free(kernels[i]);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_chains),
      cmocka_unit_test(test_starts),
      cmocka_unit_test(test_same_bits_as_separate),
      cmocka_unit_test(test_refuses),
  };
  return suite_run(argc, argv, tests);
}
