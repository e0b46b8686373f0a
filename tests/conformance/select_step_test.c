/* SPDX-License-Identifier: Apache-2.0 */
/* The places of elements that are not zero, non-maximum suppression, and the
 * pooling of regions, against plain loops. */
#include "tests/conformance/step_harness.h"

/* ---- non-zero ---- */

static void compare_non_zero(harness *h, uint32_t isa, void *arg) {
  const bool *wanted = arg;
  const int64_t *y = h->outputs[0];
  const int64_t n = h->tensors[h->step.outputs[0]].dims.d[0];
  int64_t at = 0;
  (void)isa;
  for (int64_t i = 0; i < n; i++) {
    if (wanted[i]) assert_int_equal(y[at++], i);
  }
  while (at < n) assert_int_equal(y[at++], -1);
}

/* Of a dtype: something that is not zero, or a zero of either sign. */
static void set_element(bsm_dtype dtype, uint8_t *at, bool wanted,
                        harness_rng *r) {
  const int kind = rng_range(r, 0, 3);
  switch (dtype) {
    case BSM_DTYPE_FLOAT: {
      const float some[] = {1.5f, -INFINITY, NAN, 1e-40f};
      const float x = wanted ? some[kind] : kind ? 0.0f : -0.0f;
      memcpy(at, &x, sizeof(x));
      break;
    }
    case BSM_DTYPE_DOUBLE: {
      const double x = wanted ? 1e-300 : kind ? 0.0 : -0.0;
      memcpy(at, &x, sizeof(x));
      break;
    }
    case BSM_DTYPE_HALF: {
      const uint16_t x = wanted ? 0x0001 : kind ? 0x0000 : 0x8000;
      memcpy(at, &x, sizeof(x));
      break;
    }
    default:
      memset(at, 0, bsm_dtype_size(dtype));
      at[bsm_dtype_size(dtype) - 1] = wanted ? (uint8_t)(1 + kind) : 0;
  }
}

static void run_non_zero(harness_rng *r, bsm_dtype dtype, bsm_dims d,
                         int percent) {
  harness h;
  int64_t n;
  assert_true(bsm_dims_numel(d, &n));
  bool *wanted = calloc((size_t)n + 1, sizeof(*wanted));
  assert_non_null(wanted);
  harness_init(&h, BSM_STEP_NON_ZERO);
  uint8_t *x = add_input(&h, dtype, d, NULL);
  for (int64_t i = 0; i < n; i++) {
    wanted[i] = rng_range(r, 0, 99) < percent;
    set_element(dtype, x + (size_t)i * bsm_dtype_size(dtype), wanted[i], r);
  }
  add_output(&h, BSM_DTYPE_INT64, dims_of(1, (int)n), NULL);
  harness_run_all(&h, compare_non_zero, wanted);
  harness_free(&h);
  free(wanted);
}

static void test_non_zero(void **state) {
  static const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_BOOL,
                                     BSM_DTYPE_INT64, BSM_DTYPE_DOUBLE,
                                     BSM_DTYPE_UINT8, BSM_DTYPE_HALF};
  harness_rng r = {71};
  (void)state;
  suite_needs(BSM_STEP_NON_ZERO);
  for (int k = 0; k < 6; k++) {
    run_non_zero(&r, dtypes[k], dims_of(2, 7, 11), 40);
    run_non_zero(&r, dtypes[k], dims_of(1, 1), 100);
    run_non_zero(&r, dtypes[k], dims_of(1, 40), 0);
  }
  run_non_zero(&r, BSM_DTYPE_BOOL, dims_of(2, 33, 400), 50);
  run_non_zero(&r, BSM_DTYPE_FLOAT, dims_of(1, 8192), 100);
  run_non_zero(&r, BSM_DTYPE_INT32, dims_of(1, 150000), 3);
}

/* ---- non-maximum suppression ---- */

static float overlap_of(const float *a, const float *b) {
  const float w = fminf(a[2], b[2]) - fmaxf(a[0], b[0]);
  const float h = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
  const float both = (w > 0 ? w : 0) * (h > 0 ? h : 0);
  const float own = (a[2] - a[0]) * (a[3] - a[1]);
  const float other = (b[2] - b[0]) * (b[3] - b[1]);
  const float all = own + other;
  return both / (all - both);
}

static void compare_nms(harness *h, uint32_t isa, void *arg) {
  const float *x = h->inputs[0];
  const uint8_t *y = h->outputs[0];
  const int64_t n = h->tensors[h->step.outputs[0]].dims.d[0];
  (void)isa;
  (void)arg;
  for (int64_t i = 0; i < n; i++) {
    bool kept = true;
    for (int64_t k = 0; k < i && kept; k++) {
      kept = !y[k] || !((double)overlap_of(x + 4 * k, x + 4 * i) >
                        h->params.nms.threshold);
    }
    assert_int_equal(y[i], kept);
  }
}

static void run_nms(harness_rng *r, int n, int size, double threshold,
                    bool odd) {
  harness h;
  harness_init(&h, BSM_STEP_NMS);
  float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, n, 4), NULL);
  for (int i = 0; i < n; i++) {
    /* Quarters: overlaps are exact in any order of operations. */
    x[4 * i] = (float)rng_range(r, 0, 4 * size) / 4;
    x[4 * i + 1] = (float)rng_range(r, 0, 4 * size) / 4;
    x[4 * i + 2] = x[4 * i] + (float)rng_range(r, 1, 40) / 4;
    x[4 * i + 3] = x[4 * i + 1] + (float)rng_range(r, 1, 40) / 4;
    if (odd && i % 7 == 3) x[4 * i + rng_range(r, 0, 3)] = NAN;
    if (odd && i % 11 == 5) x[4 * i + 2] = INFINITY;
  }
  add_output(&h, BSM_DTYPE_BOOL, dims_of(1, n), NULL);
  h.params.nms.threshold = threshold;
  harness_run_all(&h, compare_nms, NULL);
  harness_free(&h);
}

static void test_nms(void **state) {
  static const int counts[] = {1, 2, 63, 64, 65, 200, 1024, 1025, 2200};
  harness_rng r = {72};
  (void)state;
  suite_needs(BSM_STEP_NMS);
  for (int k = 0; k < 9; k++) {
    run_nms(&r, counts[k], counts[k] < 100 ? 10 : 60, 0.25 + 0.25 * (k % 3),
            false);
  }
  run_nms(&r, 150, 20, 0.3, true);
  run_nms(&r, 100, 20, (double)NAN, false);
  run_nms(&r, 100, 20, 0.0, false);
}

static void compare_double_nms(harness *h, uint32_t isa, void *arg) {
  const uint8_t *y = h->outputs[0];
  (void)isa;
  (void)arg;
  assert_int_equal(y[0], 1);
  assert_int_equal(y[1], 0);
  assert_int_equal(y[2], 1);
}

/* In float the overlap of the first two would not be above the threshold. */
static void test_double_nms(void **state) {
  static const double boxes[12] = {0,         0, 3,   1, 1, 0,
                                   3 + 1e-12, 1, 2.6, 0, 6, 1};
  harness h;
  (void)state;
  suite_needs(BSM_STEP_NMS);
  harness_init(&h, BSM_STEP_NMS);
  double *x = add_input(&h, BSM_DTYPE_DOUBLE, dims_of(2, 3, 4), NULL);
  memcpy(x, boxes, sizeof(boxes));
  add_output(&h, BSM_DTYPE_BOOL, dims_of(1, 3), NULL);
  h.params.nms.threshold = 2.0 / 3.0 - 1e-12;
  harness_run_all(&h, compare_double_nms, NULL);
  harness_free(&h);
}

/* ---- regions ---- */

/* Positions are multiples of 1/4, or of 1/8 where they are bins': no operation
 * on them rounds. */
static double pixel_of(const harness *h, int64_t n, int64_t c, int64_t y,
                       int64_t x) {
  const int64_t *s = h->tensors[h->step.inputs[0]].strides;
  const float *image = h->inputs[0];
  return (double)image[n * s[0] + c * s[1] + y * s[2] + x * s[3]];
}

/* The four pixels around a place, by their distance to it. */
static double sample_at(const harness *h, int64_t n, int64_t c, double y,
                        double x) {
  const bsm_dims *d = &h->tensors[h->step.inputs[0]].dims;
  const double height = (double)d->d[2], width = (double)d->d[3];
  double sum = 0;
  if (y < -1 || y > height || x < -1 || x > width) return 0;
  y = fmin(fmax(y, 0), height - 1);
  x = fmin(fmax(x, 0), width - 1);
  for (int64_t i = 0; i < d->d[2]; i++) {
    for (int64_t k = 0; k < d->d[3]; k++) {
      const double near_y = fmax(0, 1 - fabs(y - (double)i));
      const double near_x = fmax(0, 1 - fabs(x - (double)k));
      if (near_y * near_x > 0) {
        sum += near_y * near_x * pixel_of(h, n, c, i, k);
      }
    }
  }
  return sum;
}

static double sampled_bin(const harness *h, const double *row, int64_t c,
                          int64_t i, int64_t k) {
  const bsm_step_regions *p = &h->params.regions;
  const bsm_dims *y = &h->tensors[h->step.outputs[0]].dims;
  const double shift = p->aligned ? 0.5 : 0, least = p->aligned ? -1e9 : 1;
  const double x0 = row[1] * p->scale - shift, y0 = row[2] * p->scale - shift;
  const double w = fmax((row[3] - row[1]) * p->scale, least);
  const double height = fmax((row[4] - row[2]) * p->scale, least);
  const double bin_h = height / (double)y->d[2], bin_w = w / (double)y->d[3];
  const double rows = p->samples > 0 ? (double)p->samples : ceil(bin_h);
  const double columns = p->samples > 0 ? (double)p->samples : ceil(bin_w);
  double sum = 0;
  for (double a = 0.5; a < rows; a++) {
    for (double b = 0.5; b < columns; b++) {
      sum +=
          sample_at(h, (int64_t)row[0], c, y0 + ((double)i + a / rows) * bin_h,
                    x0 + ((double)k + b / columns) * bin_w);
    }
  }
  const double count = rows * columns;
  return p->grouped || count > 1 ? sum / count : sum;
}

/* Of bin `i` of `bins`, the pixels from first[axis] to last[axis]. */
static void whole_range(const bsm_step_regions *p, double from, double to,
                        int64_t bins, int64_t i, int64_t size, int64_t *first,
                        int64_t *last) {
  const double start = round(from * p->scale), end = round(to * p->scale);
  const double bin = fmax(end - start + !p->grouped, 1) / (double)bins;
  const double most = (double)(size - !!p->grouped);
  *first = (int64_t)fmin(fmax(floor((double)i * bin) + start, 0), most);
  *last = (int64_t)fmin(fmax(ceil((double)(i + 1) * bin) + start, 0), most);
}

static double whole_bin(const harness *h, const double *row, int64_t c,
                        int64_t i, int64_t k, int64_t *place) {
  const bsm_step_regions *p = &h->params.regions;
  const bsm_dims *d = &h->tensors[h->step.inputs[0]].dims;
  const bsm_dims *out = &h->tensors[h->step.outputs[0]].dims;
  int64_t y0, y1, x0, x1;
  double best = -INFINITY, sum = 0;
  whole_range(p, row[2], row[4], out->d[2], i, d->d[2], &y0, &y1);
  whole_range(p, row[1], row[3], out->d[3], k, d->d[3], &x0, &x1);
  *place = -1;
  for (int64_t y = y0; y < y1; y++) {
    for (int64_t x = x0; x < x1; x++) {
      const double v = pixel_of(h, (int64_t)row[0], c, y, x);
      if (v > best) *place = y * d->d[3] + x;
      best = fmax(best, v);
      sum += v;
    }
  }
  if (y1 <= y0 || x1 <= x0) return 0;
  return p->grouped ? sum / (double)((y1 - y0) * (x1 - x0)) : best;
}

static void compare_regions(harness *h, uint32_t isa, void *arg) {
  const bsm_step_regions *p = &h->params.regions;
  const bsm_dims *d = &h->tensors[h->step.outputs[0]].dims;
  const float *y = h->outputs[0];
  const int32_t *places = h->step.output_count > 1 ? h->outputs[1] : NULL;
  const int64_t bins = d->d[1] * d->d[2] * d->d[3];
  (void)isa;
  (void)arg;
  for (int64_t at = 0; at < d->d[0] * bins; at++) {
    const double *row = (const double *)h->inputs[1] + 5 * (at / bins);
    const int64_t k = at % d->d[3], i = at / d->d[3] % d->d[2];
    const int64_t c = p->grouped ? at % bins : at % bins / d->d[2] / d->d[3];
    int64_t place = -1;
    const double wanted = p->whole ? whole_bin(h, row, c, i, k, &place)
                                   : sampled_bin(h, row, c, i, k);
    if (!(fabs((double)y[at] - wanted) <= 1e-5)) {
      fail_msg("bin %lld: %g, expected %g", (long long)at, (double)y[at],
               wanted);
    }
    if (places) assert_int_equal(places[at], place);
  }
}

static void run_regions(harness_rng *r, const bsm_step_regions *params,
                        bool channels_last, int rows, int columns) {
  const int count = 9, channels = params->grouped ? 2 : 5;
  const int all = params->grouped ? channels * rows * columns : channels;
  const bsm_dims dims = dims_of(4, count, channels, rows, columns);
  const int64_t last[] = {(int64_t)7 * 9 * all, 1, (int64_t)9 * all, all};
  harness h;
  harness_init(&h, BSM_STEP_REGIONS);
  h.params.regions = *params;
  float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(4, 2, all, 7, 9),
                       channels_last ? last : NULL);
  for (int i = 0; i < 2 * all * 7 * 9; i++) x[i] = rng_float(r);
  double *regions = add_input(&h, BSM_DTYPE_DOUBLE, dims_of(2, count, 5), NULL);
  for (int k = 0; k < count; k++) {
    double *row = regions + 5 * k;
    row[0] = rng_range(r, 0, 1);
    for (int i = 1; i < 3; i++) {
      row[i] = (double)rng_range(r, -8, 40) / 4;
      row[i + 2] = row[i] + (double)rng_range(r, k == 4 ? -12 : 0, 60) / 4;
    }
  }
  add_output(&h, BSM_DTYPE_FLOAT, dims, NULL);
  if (params->whole && !params->grouped) {
    add_output(&h, BSM_DTYPE_INT32, dims, NULL);
  }
  harness_run_all(&h, compare_regions, NULL);
  harness_free(&h);
}

static void test_regions(void **state) {
  harness_rng r = {73};
  (void)state;
  suite_needs(BSM_STEP_REGIONS);
  for (int i = 0; i < 16; i++) {
    bsm_step_regions p = {.scale = i % 3 ? 1 : 0.5,
                          .samples = i % 4 == 1   ? 2
                                     : i % 4 == 2 ? 8
                                                  : 0,
                          .whole = i & 1,
                          .grouped = i >> 1 & 1,
                          .aligned = (i >> 1 & 1) || (i >> 2 & 1),
                          .dtype = i % 5 ? BSM_DTYPE_FLOAT : BSM_DTYPE_DOUBLE};
    run_regions(&r, &p, i >> 3 & 1, 2, i % 5 == 3 ? 4 : 2);
  }
}

/* What no region may do is told, and no number leads outside of the image. */
static void test_odd_regions(void **state) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
  harness h;
  (void)state;
  suite_needs(BSM_STEP_REGIONS);
  for (int i = 0; i < 80; i++) {
    harness_init(&h, BSM_STEP_REGIONS);
    h.params.regions = (bsm_step_regions){.scale = 1,
                                          .samples = 2,
                                          .whole = i & 1,
                                          .grouped = i >> 1 & 1,
                                          .aligned = 1,
                                          .dtype = BSM_DTYPE_FLOAT};
    add_input(&h, BSM_DTYPE_FLOAT, dims_of(4, 1, 4, 3, 3), NULL);
    double *row = add_input(&h, BSM_DTYPE_DOUBLE, dims_of(2, 1, 5), NULL);
    const double plain[5] = {0, 0, 0, 2, 2};
    memcpy(row, plain, sizeof(plain));
    row[1 + (i >> 2) % 4] = odd[i / 16];
    const bsm_dims dims = dims_of(4, 1, i & 2 ? 1 : 4, 2, 2);
    add_output(&h, BSM_DTYPE_FLOAT, dims, NULL);
    if ((i & 3) == 1) add_output(&h, BSM_DTYPE_INT32, dims, NULL);
    bsm_status st = harness_run(&h, bsm_isa_detect(), 1);
    assert_null(st);
    row[0] = i % 2 ? 1 : -1;
    st = harness_run(&h, bsm_isa_detect(), 1);
    assert_int_equal(bsm_status_code(st), BSM_OUT_OF_RANGE);
    bsm_status_free(st);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_non_zero),    cmocka_unit_test(test_nms),
      cmocka_unit_test(test_double_nms),  cmocka_unit_test(test_regions),
      cmocka_unit_test(test_odd_regions),
  };
  return suite_run(argc, argv, tests);
}
