/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling and resizing against PyTorch's results, in every layout and in all
 * three numbers of spatial dimensions. */
#include "aten/tensor.h"
#include "tests/conformance/step_harness.h"

/* The values of tests/data/make_backend.py. */
static double ramp(int64_t i) {
  return (double)((i * 37 + 11) % 101 - 50) / 16;
}

typedef struct expected {
  const double *values;
  double tolerance;
  const char *line;
} expected;

static double at_output(const harness *h, const int64_t *index) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const int64_t o = offset_of(y, index);
  switch (y->dtype) {
    case BSM_DTYPE_DOUBLE:
      return ((const double *)h->outputs[0])[o];
    case BSM_DTYPE_HALF:
      return (double)bsm_half_to_float(((const uint16_t *)h->outputs[0])[o]);
    case BSM_DTYPE_BFLOAT16:
      return (double)bsm_bfloat16_to_float(
          ((const uint16_t *)h->outputs[0])[o]);
    default:
      return (double)((const float *)h->outputs[0])[o];
  }
}

/* Results up to 4 that are rounded to half; inputs are exact in it. */
#define HALF_TOLERANCE 2e-3
/* The same of bfloat16. */
#define BFLOAT_TOLERANCE 1.6e-2

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  size_t i = 0;
  (void)isa;
  do {
    assert_close(at_output(h, index), e->values[i++], e->tolerance, e->line);
  } while (next_index(y->dims, index));
}

/* x [1, 2, ih, iw] of the fixture, repeated to `copies` * 2 channels so that
 * vectors have something to do. */
static void add_image(harness *h, bsm_dtype dtype, int copies, int ih, int iw,
                      int layout) {
  const bsm_dims d = dims_of(4, 1, 2 * copies, ih, iw);
  int64_t s[4], index[BSM_MAX_RANK] = {0};
  bsm_contiguous_strides(d, s);
  if (layout == 1) channels_last(d, 0, s);
  if (layout == 2) channels_last(d, 3, s);
  void *x = add_input(h, dtype, d, s);
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[0]];
  do {
    const double v = ramp((index[1] % 2 * ih + index[2]) * iw + index[3]);
    if (dtype == BSM_DTYPE_DOUBLE) {
      ((double *)x)[offset_of(t, index)] = v;
    } else if (dtype == BSM_DTYPE_HALF) {
      ((uint16_t *)x)[offset_of(t, index)] = bsm_float_to_half((float)v);
    } else if (dtype == BSM_DTYPE_BFLOAT16) {
      ((uint16_t *)x)[offset_of(t, index)] = bsm_float_to_bfloat16((float)v);
    } else {
      ((float *)x)[offset_of(t, index)] = (float)v;
    }
  } while (next_index(d, index));
}

static void add_result(harness *h, bsm_dtype dtype, int copies, int oh, int ow,
                       int layout) {
  const bsm_dims d = dims_of(4, 1, 2 * copies, oh, ow);
  int64_t s[4];
  bsm_contiguous_strides(d, s);
  if (layout == 1) channels_last(d, 0, s);
  if (layout == 2) channels_last(d, 7, s);
  add_output(h, dtype, d, s);
}

/* The rest of a line: the values of 2 channels, repeated. */
static double *read_values(char **text, int count, int copies) {
  double *v = malloc((size_t)(count * copies) * sizeof(double) + 1);
  assert_non_null(v);
  for (int i = 0; i < count; i++) v[i] = strtod(*text, text);
  for (int i = count; i < count * copies; i++) v[i] = v[i - count];
  return v;
}

static void run_layouts(void (*one)(char *line, int layout, int copies,
                                    bsm_dtype dtype),
                        const char *path, int least) {
  FILE *f = fopen(path, "r");
  static char line[65536];
  int count = 0;
  assert_non_null(f);
  while (fgets(line, sizeof(line), f)) {
    for (int layout = 0; layout < 3; layout++) {
      one(line, layout, 1, BSM_DTYPE_FLOAT);
      one(line, layout, 13, BSM_DTYPE_FLOAT);
    }
    one(line, 1, 2, BSM_DTYPE_DOUBLE);
    one(line, 1, 2, BSM_DTYPE_HALF);
    one(line, 1, 4, BSM_DTYPE_HALF); /* 16 bytes of maps */
    if (suite_is_for("cpu")) {       /* vectors, and what is left of maps */
      one(line, 1, 13, BSM_DTYPE_BFLOAT16);
      one(line, 1, 33, BSM_DTYPE_BFLOAT16);
    }
    one(line, 1, 4, BSM_DTYPE_FLOAT);
    count++;
  }
  fclose(f);
  assert_true(count >= least);
}

static void run_resize(char *line, int layout, int copies, bsm_dtype dtype) {
  harness h;
  char *p = line;
  int n[6];
  for (int i = 0; i < 6; i++) n[i] = (int)strtol(p, &p, 10);
  harness_init(&h, BSM_STEP_RESIZE);
  h.params.resize =
      (bsm_step_resize){.mode = n[0], .align_corners = n[1], .spatial = 2};
  for (int i = 0; i < 2; i++) h.params.resize.scales[i] = strtod(p, &p);
  double *v = read_values(&p, 2 * n[4] * n[5], copies);
  add_image(&h, dtype, copies, n[2], n[3], layout);
  add_result(&h, dtype, copies, n[4], n[5], layout);
  /* Coordinates of double tensors are more exact than the fixture's. */
  expected e = {v,
                dtype == BSM_DTYPE_DOUBLE     ? 2e-5
                : dtype == BSM_DTYPE_HALF     ? HALF_TOLERANCE
                : dtype == BSM_DTYPE_BFLOAT16 ? BFLOAT_TOLERANCE
                                              : 3e-6,
                "resize"};
  harness_run_all(&h, compare, &e);
  free(v);
  harness_free(&h);
}

static void test_resize(void **state) {
  (void)state;
  suite_needs(BSM_STEP_RESIZE);
  run_layouts(run_resize, BSM_TEST_DATA_DIR "/backend/resize.txt", 30);
}

static void run_pooling(char *line, int layout, int copies, bsm_dtype dtype) {
  harness h;
  char *p = line;
  int n[16];
  for (int i = 0; i < 16; i++) n[i] = (int)strtol(p, &p, 10);
  harness_init(&h, BSM_STEP_POOLING);
  h.params.pooling =
      (bsm_step_pooling){.window = {.spatial = 2,
                                    .kernel = {1, n[8], n[9]},
                                    .stride = {1, n[10], n[11]},
                                    .dilation = {1, n[14], n[15]},
                                    .pre_padding = {0, n[12], n[13]},
                                    .post_padding = {0, n[12], n[13]}},
                         .type = n[0],
                         .adaptive = n[1],
                         .count_excludes_padding = n[2],
                         .divisor_override = n[3]};
  double *v = read_values(&p, 2 * n[6] * n[7], copies);
  add_image(&h, dtype, copies, n[4], n[5], layout);
  add_result(&h, dtype, copies, n[6], n[7], layout);
  expected e = {v,
                dtype == BSM_DTYPE_HALF       ? HALF_TOLERANCE
                : dtype == BSM_DTYPE_BFLOAT16 ? BFLOAT_TOLERANCE
                                              : 1e-6,
                line};
  harness_run_all(&h, compare, &e);
  free(v);
  harness_free(&h);
}

static void test_pooling(void **state) {
  (void)state;
  suite_needs(BSM_STEP_POOLING);
  run_layouts(run_pooling, BSM_TEST_DATA_DIR "/backend/pooling.txt", 30);
}

/* ---- no numbers among bfloat16 ---- */

enum { CHANNELS = 83, SIDE = 7 };

/* Windows of 3, stride 2, padded by 1: NaN of either sign stays, and the
 * greatest of others is exact. */
static void compare_greatest(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  (void)isa;
  (void)arg;
  do {
    float most = -INFINITY;
    for (int64_t k = 0; k < 9; k++) {
      const int64_t from[BSM_MAX_RANK] = {0, index[1], 2 * index[2] + k / 3 - 1,
                                          2 * index[3] + k % 3 - 1};
      if (from[2] < 0 || from[3] < 0 || from[2] >= SIDE || from[3] >= SIDE) {
        continue;
      }
      const float v = bsm_bfloat16_to_float(
          ((const uint16_t *)h->inputs[0])[offset_of(x, from)]);
      if (isnan(v) || v > most) most = v;
      if (isnan(v)) break;
    }
    const double got = at_output(h, index);
    if (isnan(most) ? !isnan(got) : got != (double)most) {
      fail_msg("channel %d: %g, not %g", (int)index[1], got, (double)most);
    }
  } while (next_index(h->tensors[h->step.outputs[0]].dims, index));
}

static void test_greatest_bfloat(void **state) {
  harness h;
  const bsm_dims d = dims_of(4, 1, CHANNELS, SIDE, SIDE);
  const bsm_dims to = dims_of(4, 1, CHANNELS, 4, 4);
  int64_t s[4];
  (void)state;
  if (!suite_is_for("cpu")) skip();
  harness_init(&h, BSM_STEP_POOLING);
  h.params.pooling = (bsm_step_pooling){.window = {.spatial = 2,
                                                   .kernel = {1, 3, 3},
                                                   .stride = {1, 2, 2},
                                                   .dilation = {1, 1, 1},
                                                   .pre_padding = {0, 1, 1},
                                                   .post_padding = {0, 1, 1}},
                                        .type = BSM_POOLING_MAX};
  channels_last(d, 0, s);
  uint16_t *x = add_input(&h, BSM_DTYPE_BFLOAT16, d, s);
  for (int i = 0; i < CHANNELS * SIDE * SIDE; i++) {
    x[i] = bsm_float_to_bfloat16((float)(i * 37 % 101 - 90));
    if (i % 211 == 5) x[i] = i & 1 ? 0x7fc1 : 0xffc0; /* NaN */
    if (i % 223 == 7) x[i] = i & 1 ? 0x7f80 : 0xff80; /* infinities */
  }
  channels_last(to, 0, s);
  add_output(&h, BSM_DTYPE_BFLOAT16, to, s);
  harness_run_all(&h, compare_greatest, NULL);
  harness_free(&h);
}

/* ---- one and three dimensions, against definitions ---- */

static void compare_cube(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const int32_t spatial = y->dims.rank - 2;
  int64_t index[BSM_MAX_RANK] = {0};
  (void)isa;
  (void)arg;
  do { /* windows of 2, stride 2 */
    double sum = 0;
    for (int k = 0; k < 1 << spatial; k++) {
      int64_t from[BSM_MAX_RANK];
      memcpy(from, index, sizeof(from));
      for (int32_t d = 0; d < spatial; d++) {
        from[2 + d] = 2 * index[2 + d] + (k >> d & 1);
      }
      sum += (double)((const float *)h->inputs[0])[offset_of(x, from)];
    }
    assert_close(at_output(h, index), sum / (1 << spatial), 1e-6, "cube");
  } while (next_index(y->dims, index));
}

static void test_pooling_1d_3d(void **state) {
  harness_rng r = {51};
  (void)state;
  suite_needs(BSM_STEP_POOLING);
  for (int spatial = 1; spatial <= 3; spatial++) {
    for (int layout = 0; layout < 2; layout++) {
      harness h;
      int64_t s[5];
      bsm_dims in = {.rank = 2 + spatial, .d = {2, 5, 6, 4, 8}}, out = in;
      harness_init(&h, BSM_STEP_POOLING);
      bsm_step_window *w = &h.params.pooling.window;
      h.params.pooling.type = BSM_POOLING_AVERAGE;
      w->spatial = spatial;
      for (int d = 0; d < 3; d++) {
        w->kernel[d] = w->stride[d] = d >= 3 - spatial ? 2 : 1;
        w->dilation[d] = 1;
      }
      for (int d = 0; d < spatial; d++) out.d[2 + d] /= 2;
      bsm_contiguous_strides(in, s);
      if (layout) channels_last(in, 0, s);
      add_input(&h, BSM_DTYPE_FLOAT, in, s);
      fill_input(&h, &r, 0);
      bsm_contiguous_strides(out, s);
      if (layout) channels_last(out, 0, s);
      add_output(&h, BSM_DTYPE_FLOAT, out, s);
      harness_run_all(&h, compare_cube, NULL);
      harness_free(&h);
    }
  }
}

/* Linear resizing reproduces a linear function between the end points. */
static void compare_linear(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  (void)isa;
  (void)arg;
  do {
    double v = 0;
    for (int32_t d = 1; d < y->dims.rank; d++) {
      v += (double)index[d] / (double)(y->dims.d[d] - 1) * d;
    }
    assert_close(at_output(h, index), v, 1e-5, "linear");
  } while (next_index(y->dims, index));
}

static void test_linear_1d_3d(void **state) {
  (void)state;
  suite_needs(BSM_STEP_RESIZE);
  for (int spatial = 1; spatial <= 3; spatial++) {
    harness h;
    bsm_dims in = {.rank = 1 + spatial, .d = {2, 3, 4, 5}}, out = in;
    int64_t index[BSM_MAX_RANK] = {0};
    for (int d = 0; d < spatial; d++) out.d[1 + d] = 6 + d;
    harness_init(&h, BSM_STEP_RESIZE);
    h.params.resize = (bsm_step_resize){
        .mode = BSM_RESIZE_LINEAR, .align_corners = 1, .spatial = spatial};
    float *x = add_input(&h, BSM_DTYPE_FLOAT, in, NULL);
    do {
      double v = 0;
      for (int32_t d = 1; d < in.rank; d++) {
        v += (double)index[d] / (double)(in.d[d] - 1) * d;
      }
      x[offset_of(&h.tensors[0], index)] = (float)v;
    } while (next_index(in, index));
    add_output(&h, BSM_DTYPE_FLOAT, out, NULL);
    harness_run_all(&h, compare_linear, NULL);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_resize),
      cmocka_unit_test(test_pooling),
      cmocka_unit_test(test_greatest_bfloat),
      cmocka_unit_test(test_pooling_1d_3d),
      cmocka_unit_test(test_linear_1d_3d),
  };
  return suite_run(argc, argv, tests);
}
