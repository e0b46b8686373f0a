/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of images at places, against plain loops in double. */
#include "tests/conformance/step_harness.h"

/* ---- the reference ---- */

static double clipped(double x, int64_t n) {
  return x > 0 ? fmin(x, (double)(n - 1)) : 0;
}

static double reflected(double x, int64_t n, bool align) {
  const double low = align ? 0 : -0.5, span = (double)(align ? n - 1 : n);
  if (span <= 0) return 0;
  x = fmod(fabs(x - low), 2 * span);
  return clipped(fmin(x, 2 * span - x) + low, n);
}

static double padded(const bsm_step_sample *p, double x, int64_t n) {
  if (p->padding == BSM_SAMPLE_ZEROS) return x;
  return p->padding == BSM_SAMPLE_BORDER
             ? clipped(x, n)
             : reflected(x, n, p->align_corners != 0);
}

/* Keys' kernel, at any distance. */
static double keys(double t) {
  const double a = -0.75;
  t = fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

/* The taps of a coordinate: places (not in range: none) and weights. */
static int taps_of(const bsm_step_sample *p, float g, int64_t n, double *at,
                   double *weight) {
  const float half = (float)(p->align_corners ? n - 1 : n) / 2;
  float f = (g + 1) * half;
  if (!p->align_corners) f -= 0.5f;
  double x = (double)f;
  if (p->mode == BSM_RESIZE_CUBIC) {
    const double base = floor(x);
    for (int i = 0; i < 4; i++) {
      at[i] = padded(p, base + i - 1, n);
      weight[i] = keys(x - (base + i - 1));
    }
    return 4;
  }
  x = padded(p, x, n);
  if (p->mode == BSM_RESIZE_NEAREST) {
    at[0] = nearbyint(x);
    weight[0] = 1;
    return 1;
  }
  at[0] = floor(x);
  at[1] = at[0] + 1;
  weight[1] = x - at[0];
  weight[0] = 1 - weight[1];
  return 2;
}

static double wanted_at(const harness *h, int64_t n, int64_t c,
                        const float *g) {
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const int axes = x->dims.rank - 2;
  const float *image =
      (const float *)h->inputs[0] + n * x->strides[0] + c * x->strides[1];
  double at[3][4], weight[3][4], sum = 0;
  int taps = 0, all = 1;
  for (int i = 0; i < axes; i++) {
    taps = taps_of(&h->params.sample, g[axes - 1 - i], x->dims.d[2 + i], at[i],
                   weight[i]);
    all *= taps;
  }
  for (int k = 0; k < all; k++) {
    double w = 1;
    int64_t offset = 0;
    bool inside = true;
    for (int i = 0, rest = k; i < axes; i++, rest /= taps) {
      const double place = at[i][rest % taps];
      w *= weight[i][rest % taps];
      inside &= place >= 0 && place < (double)x->dims.d[2 + i];
      if (inside) offset += (int64_t)place * x->strides[2 + i];
    }
    if (inside) sum += w * (double)image[offset];
  }
  return sum;
}

static void compare(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const float *grid = h->inputs[1], *got = h->outputs[0];
  const int axes = y->dims.rank - 2;
  int64_t area = 1;
  (void)isa;
  (void)arg;
  for (int i = 0; i < axes; i++) area *= y->dims.d[2 + i];
  for (int64_t n = 0; n < y->dims.d[0]; n++) {
    for (int64_t p = 0; p < area; p++) {
      int64_t at = n * y->strides[0];
      for (int64_t i = axes - 1, rest = p; i >= 0; i--) {
        at += rest % y->dims.d[2 + i] * y->strides[2 + i];
        rest /= y->dims.d[2 + i];
      }
      for (int64_t c = 0; c < y->dims.d[1]; c++) {
        const double wanted = wanted_at(h, n, c, grid + (n * area + p) * axes);
        if (!(fabs((double)got[at + c] - wanted) <= 2e-5)) {
          fail_msg("place %lld, channel %lld: %g, expected %g", (long long)p,
                   (long long)c, (double)got[at + c], wanted);
        }
      }
    }
  }
}

/* ---- the tests ---- */

/* Channels innermost, `extra` elements between pixels. */
static void run(harness_rng *r, const bsm_step_sample *params, bsm_dims x,
                bsm_dims y, int extra) {
  harness h;
  int64_t s[BSM_MAX_RANK], count;
  bsm_dims g = y;
  harness_init(&h, BSM_STEP_SAMPLE);
  h.params.sample = *params;
  channels_last(x, extra, s);
  float *image = add_input(&h, BSM_DTYPE_FLOAT, x, s);
  const size_t floats = h.data[h.step.inputs[0]].size / sizeof(float);
  for (size_t i = 0; i < floats; i++) image[i] = rng_float(r);
  for (int i = 1; i < y.rank - 1; i++) g.d[i] = y.d[i + 1];
  g.d[y.rank - 1] = y.rank - 2;
  float *grid = add_input(&h, BSM_DTYPE_FLOAT, g, NULL);
  assert_true(bsm_dims_numel(g, &count));
  for (int64_t i = 0; i < count; i++) {
    grid[i] = rng_float(r) * (i % 5 == 0 ? 7.0f : 1.2f);
  }
  if (count > 7) grid[3] = -1, grid[4] = 1, grid[6] = 0;
  channels_last(y, extra, s);
  add_output(&h, BSM_DTYPE_FLOAT, y, s);
  harness_run_all(&h, compare, NULL);
  harness_free(&h);
}

static void test_images(void **state) {
  static const int channels[] = {1, 3, 16, 37, 64};
  harness_rng r = {81};
  (void)state;
  suite_needs(BSM_STEP_SAMPLE);
  for (int i = 0; i < 18; i++) {
    static const int modes[] = {BSM_RESIZE_NEAREST, BSM_RESIZE_LINEAR,
                                BSM_RESIZE_CUBIC};
    const bsm_step_sample p = {
        .mode = modes[i % 3], .padding = i / 3 % 3, .align_corners = i / 9};
    for (int k = 0; k < 5; k++) {
      const int c = channels[k];
      run(&r, &p, dims_of(4, 2, c, 5 + k, 9 - 2 * k),
          dims_of(4, 2, c, 9, 7 + 3 * k), k == 1 ? 2 : 0);
    }
  }
}

static void test_volumes(void **state) {
  harness_rng r = {82};
  (void)state;
  suite_needs(BSM_STEP_SAMPLE);
  for (int i = 0; i < 12; i++) {
    const bsm_step_sample p = {
        .mode = i % 2 ? BSM_RESIZE_LINEAR : BSM_RESIZE_NEAREST,
        .padding = i / 2 % 3,
        .align_corners = i / 6};
    run(&r, &p, dims_of(5, 2, 1 + 9 * (i % 3), 4, 1 + i % 4, 6),
        dims_of(5, 2, 1 + 9 * (i % 3), 3, 4, 7), 0);
  }
}

/* No number leads outside of the image, and what is outside counts nothing,
 * whatever is inside; but where a weight is NaN, the place is. */
static void test_odd_places(void **state) {
  static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, -1e20f, 1e9f};
  (void)state;
  suite_needs(BSM_STEP_SAMPLE);
  for (int i = 0; i < 54; i++) {
    static const int modes[] = {BSM_RESIZE_NEAREST, BSM_RESIZE_LINEAR,
                                BSM_RESIZE_CUBIC};
    const bsm_dims d = dims_of(4, 1, 5, 3, 4), y = dims_of(4, 1, 5, 1, 2);
    harness h;
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_SAMPLE);
    h.params.sample =
        (bsm_step_sample){.mode = modes[i % 3], .padding = i / 3 % 3};
    channels_last(d, 0, s);
    float *x = add_input(&h, BSM_DTYPE_FLOAT, d, s);
    for (int k = 0; k < 60; k++) x[k] = NAN;
    float *grid = add_input(&h, BSM_DTYPE_FLOAT, dims_of(4, 1, 1, 2, 2), NULL);
    grid[0] = odd[i / 9];
    channels_last(y, 0, s);
    float *out = add_output(&h, BSM_DTYPE_FLOAT, y, s);
    assert_null(harness_run(&h, bsm_isa_detect(), 1));
    if (h.params.sample.padding == BSM_SAMPLE_ZEROS) {
      /* Of 3e38 the pixel is infinite. */
      const bool nowhere = i / 9 < 4 && i % 3 > 0;
      for (int k = 0; k < 5; k++) {
        assert_true(nowhere ? isnan(out[k]) : out[k] >= 0 && out[k] <= 0);
      }
    }
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_images),
                                     cmocka_unit_test(test_volumes),
                                     cmocka_unit_test(test_odd_places)};
  return suite_run(argc, argv, tests);
}
