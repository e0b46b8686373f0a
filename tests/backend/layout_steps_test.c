/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the CPU over layouts and dtypes that need blocks of neighbours
 * (cpu_block.h), against plain loops in double: pieces that are one row, many
 * columns, runs of unequal length, and more than a buffer holds. */
#include "aten/element.h"
#include "tests/conformance/step_harness.h"

enum { MOST = 40000 }; /* elements of a tensor */

/* A tensor in row-major order of its dims, whatever its strides are. */
static double x_values[MOST], expected[MOST];

static int64_t count_of(bsm_dims d) {
  int64_t n = 1;
  for (int32_t i = 0; i < d.rank; i++) n *= d.d[i];
  return n;
}

/* Row-major, channels last, rows with gaps, elements with gaps, the last two
 * dimensions or the first and the last one in the other order. */
static void strides_of(int layout, bsm_dims d, int64_t *s) {
  const int32_t last = d.rank - 1;
  bsm_contiguous_strides(d, s);
  if (layout == 1 && d.rank >= 3) channels_last(d, 0, s);
  for (int32_t i = 0; layout == 2 && i < last; i++) {
    s[i] = s[i] / d.d[last] * (d.d[last] + 3);
  }
  for (int32_t i = 0; layout == 3 && i <= last; i++) s[i] *= 3;
  if (layout == 4 && last > 0) {
    s[last] = d.d[last - 1];
    s[last - 1] = 1;
  }
  if (layout == 5 && last > 0) {
    int64_t step = 1;
    s[0] = 1;
    step = d.d[0];
    for (int32_t i = last; i > 0; i--) {
      s[i] = step;
      step *= d.d[i];
    }
  }
}

/* Numbers that every dtype holds. */
static void fill(harness_rng *r, bsm_dtype dtype, double *values, int64_t n) {
  const bool floating = bsm_dtype_is_floating(dtype);
  const bool bytes = dtype == BSM_DTYPE_UINT8;
  for (int64_t i = 0; i < n; i++) {
    values[i] = rng_range(r, bytes ? 0 : -9, 9) / (floating ? 4.0 : 1.0);
    if (dtype == BSM_DTYPE_BOOL) values[i] = values[i] > 3;
  }
}

static void put(harness *h, uint32_t tensor, const double *values) {
  const bsm_plan_tensor *t = &h->tensors[tensor];
  int64_t index[BSM_MAX_RANK] = {0}, i = 0;
  if (count_of(t->dims) == 0) return;
  do {
    bsm_store1_f64(t->dtype,
                   h->data[tensor].data +
                       offset_of(t, index) * (int64_t)bsm_dtype_size(t->dtype),
                   values[i++]);
  } while (next_index(t->dims, index));
}

static void compare(harness *h, uint32_t isa, void *arg) {
  const uint32_t id = h->step.outputs[0];
  const bsm_plan_tensor *t = &h->tensors[id];
  const double tolerance = *(const double *)arg;
  int64_t index[BSM_MAX_RANK] = {0}, i = 0;
  char what[96];
  snprintf(what, sizeof(what), "isa %u, %s of %s", isa,
           bsm_dtype_name(t->dtype), bsm_dims_str(h->tensors[0].dims));
  if (count_of(t->dims) == 0) return;
  do {
    const double got = bsm_load1_f64(
        t->dtype, h->data[id].data +
                      offset_of(t, index) * (int64_t)bsm_dtype_size(t->dtype));
    assert_close(got, expected[i], tolerance * (fabs(expected[i]) + 1.0), what);
    i++;
  } while (next_index(t->dims, index));
}

/* The rounding of the result. */
static double tolerance_of(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      return 4e-6;
    case BSM_DTYPE_DOUBLE:
      return 1e-12;
    case BSM_DTYPE_HALF:
      return 1.0 / 1024;
    case BSM_DTYPE_BFLOAT16:
      return 1.0 / 128;
    default:
      return 0.0;
  }
}

/* Dims with many or few elements in the axes of a mask. */
static const struct {
  bsm_dims dims;
  uint32_t axes;
} shapes[] = {
    {{1, {37}}, 1},
    {{1, {20011}}, 1},
    {{2, {3, 301}}, 2},
    {{2, {301, 3}}, 2},
    {{2, {301, 3}}, 1},
    {{2, {40, 300}}, 1},
    {{2, {40, 300}}, 2},
    {{2, {2, 9001}}, 2},
    {{1, {39999}}, 1},
    {{2, {2, 19999}}, 2},
    {{2, {17, 999}}, 1},
    {{3, {5, 33, 7}}, 2},
    {{3, {5, 33, 7}}, 4},
    {{3, {5, 33, 7}}, 6},
    {{3, {5, 33, 7}}, 5},
    {{3, {33, 5, 67}}, 1},
    {{3, {2, 300, 40}}, 2},
    {{3, {3, 8, 1031}}, 4},
    {{3, {65, 9, 4}}, 6},
    {{3, {1, 1, 9}}, 2},
    {{4, {2, 6, 5, 7}}, 12},
    {{4, {2, 6, 5, 7}}, 2},
    {{4, {2, 6, 5, 7}}, 13},
    {{4, {1, 70, 9, 9}}, 12},
    {{4, {1, 70, 9, 9}}, 8},
    {{4, {3, 16, 20, 21}}, 12},
    {{4, {3, 4, 5, 6}}, 15},
    {{5, {2, 6, 3, 4, 5}}, 28},
    {{5, {2, 6, 3, 4, 5}}, 10},
};
#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))
#define LAYOUTS 6

/* The number, in row-major order, of what `index` belongs to when the axes of
 * the mask are one. */
static int64_t kept_number(bsm_dims d, uint32_t axes, const int64_t *index) {
  int64_t n = 0;
  for (int32_t i = 0; i < d.rank; i++) {
    if (!(axes >> i & 1u)) n = n * d.d[i] + index[i];
  }
  return n;
}

/* ---- reductions ---- */

static double joined(int32_t operation, double a, double x) {
  switch (operation) {
    case BSM_REDUCE_PROD:
      return a * x;
    case BSM_REDUCE_MAX:
      return fmax(a, x);
    case BSM_REDUCE_MIN:
      return fmin(a, x);
    case BSM_REDUCE_ANY:
      return a != 0 || x != 0;
    case BSM_REDUCE_ALL:
      return a != 0 && x != 0;
    case BSM_REDUCE_L2:
      return a + x * x;
    case BSM_REDUCE_L1:
      return a + fabs(x);
    default:
      return a + x;
  }
}

static void expect_reduced(bsm_dims d, uint32_t axes, int32_t operation,
                           int64_t outputs, bool integers) {
  static double mean[MOST];
  const double size = (double)(count_of(d) / outputs);
  int64_t index[BSM_MAX_RANK] = {0}, i = 0;
  for (int64_t k = 0; k < outputs; k++) {
    mean[k] = 0;
    expected[k] = operation == BSM_REDUCE_MAX   ? -INFINITY
                  : operation == BSM_REDUCE_MIN ? INFINITY
                  : operation == BSM_REDUCE_PROD || operation == BSM_REDUCE_ALL
                      ? 1
                      : 0;
  }
  do {
    const int64_t k = kept_number(d, axes, index);
    expected[k] = joined(operation, expected[k], x_values[i]);
    mean[k] += x_values[i++] / size;
  } while (next_index(d, index));
  for (int64_t k = 0; k < outputs; k++) {
    if (operation == BSM_REDUCE_AVG) expected[k] /= size;
    if (operation == BSM_REDUCE_AVG && integers)
      expected[k] = trunc(expected[k]);
    if (operation == BSM_REDUCE_L2) expected[k] = sqrt(expected[k]);
    if (operation == BSM_REDUCE_VARIANCE) expected[k] = 0;
  }
  if (operation != BSM_REDUCE_VARIANCE) return;
  i = 0;
  memset(index, 0, sizeof(index));
  do {
    const int64_t k = kept_number(d, axes, index);
    const double v = x_values[i++] - mean[k];
    expected[k] += v * v / (size - 1);
  } while (next_index(d, index));
}

static void reduce_one(harness_rng *r, int shape, int layout, bsm_dtype dtype,
                       int32_t operation) {
  const bsm_dims d = shapes[shape].dims;
  const uint32_t axes = shapes[shape].axes;
  const bool truth = operation == BSM_REDUCE_ANY || operation == BSM_REDUCE_ALL;
  const bool floating = bsm_dtype_is_floating(dtype);
  bsm_dims out = d;
  int64_t s[BSM_MAX_RANK];
  harness h;
  for (int32_t i = 0; i < d.rank; i++) {
    if (axes >> i & 1u) out.d[i] = 1;
  }
  harness_init(&h, BSM_STEP_REDUCE);
  strides_of(layout, d, s);
  add_input(&h, dtype, d, s);
  fill(r, dtype, x_values, count_of(d));
  /* Products of a few that are not 1, which do not overflow. */
  for (int64_t i = 0; i < count_of(d) && operation == BSM_REDUCE_PROD; i++) {
    x_values[i] = i % 97 == 5 ? (floating ? 1.25 : 2.0) : 1.0;
    if (dtype == BSM_DTYPE_BOOL || count_of(d) > 5000) x_values[i] = 1.0;
  }
  for (int64_t i = 0; i < count_of(d) && truth; i++) {
    x_values[i] = (operation == BSM_REDUCE_ANY) == (i % 29 == 3);
  }
  put(&h, 0, x_values);
  strides_of(layout == 3 ? 3 : 0, out, s);
  add_output(&h, truth ? BSM_DTYPE_BOOL : dtype, out, s);
  h.params.reduce = (bsm_step_reduce){operation, axes, 1, 0, 1.0};
  expect_reduced(d, axes, operation, count_of(out), !floating);
  double tolerance = truth ? 0.0 : tolerance_of(dtype);
  harness_run_all(&h, compare, &tolerance);
  harness_free(&h);
}

static void test_reduce(void **state) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT,    BSM_DTYPE_DOUBLE,
                              BSM_DTYPE_INT64,    BSM_DTYPE_INT32,
                              BSM_DTYPE_BFLOAT16, BSM_DTYPE_HALF};
  harness_rng r = {71};
  int turn = 0;
  (void)state;
  for (int shape = 0; shape < SHAPES; shape++) {
    for (int32_t operation = 0; operation <= BSM_REDUCE_VARIANCE; operation++) {
      for (int t = 0; t < 6; t++) {
        const bsm_dtype dtype = dtypes[t];
        const int64_t n = count_of(shapes[shape].dims);
        /* Integers have no roots, and half no sums of so many. */
        if ((operation == BSM_REDUCE_VARIANCE || operation == BSM_REDUCE_L2) &&
            (t == 2 || t == 3)) {
          continue;
        }
        if (t >= 4 && n > 1000) continue;
        reduce_one(&r, shape, turn++ % LAYOUTS, dtype, operation);
      }
    }
  }
}

/* The sums of small integers do not wrap before they are stored. */
static void test_narrow_reduce(void **state) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_INT16, BSM_DTYPE_INT8, BSM_DTYPE_UINT8,
                              BSM_DTYPE_BOOL};
  const int32_t operations[] = {BSM_REDUCE_MAX, BSM_REDUCE_MIN, BSM_REDUCE_ANY,
                                BSM_REDUCE_ALL};
  harness_rng r = {72};
  (void)state;
  for (int i = 0; i < 4 * 4 * SHAPES; i++) {
    reduce_one(&r, i % SHAPES, i % LAYOUTS, dtypes[i / SHAPES / 4],
               operations[i / SHAPES % 4]);
  }
}

/* ---- normalisation ---- */

/* As the step sees it: axis 1 split when there are groups. */
static int64_t group_of(bsm_dims d, const bsm_step_normalization *p,
                        const int64_t *index) {
  if (p->groups <= 1) return kept_number(d, p->axes, index);
  int64_t n = 0;
  for (int32_t i = 0; i < d.rank; i++) {
    if (i == 1) {
      n = n * p->groups + index[1] / (d.d[1] / p->groups);
    } else if (!(p->axes >> i & 1u)) {
      n = n * d.d[i] + index[i];
    }
  }
  return n;
}

static void expect_normalized(harness *h, bsm_dims d, const double *scale,
                              const double *bias) {
  const bsm_step_normalization *p = &h->params.normalization;
  static double mean[MOST], square[MOST], size[MOST];
  int64_t index[BSM_MAX_RANK] = {0}, i = 0;
  memset(mean, 0, sizeof(mean));
  memset(square, 0, sizeof(square));
  memset(size, 0, sizeof(size));
  do {
    const int64_t k = group_of(d, p, index);
    mean[k] += p->rms ? 0 : x_values[i];
    size[k]++;
    i++;
  } while (next_index(d, index));
  i = 0;
  memset(index, 0, sizeof(index));
  do {
    const int64_t k = group_of(d, p, index);
    const double v = x_values[i++] - mean[k] / size[k];
    square[k] += v * v;
  } while (next_index(d, index));
  i = 0;
  memset(index, 0, sizeof(index));
  do {
    const int64_t k = group_of(d, p, index);
    double v = x_values[i] - mean[k] / size[k];
    v /= sqrt(square[k] / size[k] + p->epsilon);
    for (int side = 0; side < 2; side++) {
      const double *values = side ? bias : scale;
      if (!values) continue;
      const bsm_dims b = h->tensors[side && scale ? 2 : 1].dims;
      int64_t at = 0;
      for (int32_t j = 0; j < b.rank; j++) {
        at = at * b.d[j] + (b.d[j] == 1 ? 0 : index[j]);
      }
      v = side ? v + values[at] : v * values[at];
    }
    expected[i++] = v;
  } while (next_index(d, index));
}

static void normalize_one(harness_rng *r, bsm_dims d, uint32_t axes,
                          int64_t groups, int from, int to, bsm_dtype dtype) {
  static double scale[MOST], bias[MOST];
  int64_t s[BSM_MAX_RANK];
  harness h;
  harness_init(&h, BSM_STEP_NORMALIZATION);
  bsm_step_normalization *p = &h.params.normalization;
  *p = (bsm_step_normalization){.axes = axes,
                                .groups = groups,
                                .epsilon = 1e-3,
                                .rms = rng_range(r, 0, 3) == 0,
                                .has_scale = rng_range(r, 0, 1),
                                .has_bias = rng_range(r, 0, 1)};
  strides_of(from, d, s);
  add_input(&h, dtype, d, s);
  fill(r, dtype, x_values, count_of(d));
  put(&h, 0, x_values);
  for (int side = 0; side < 2; side++) {
    bsm_dims b = d;
    double *values = side ? bias : scale;
    if (!(side ? p->has_bias : p->has_scale)) continue;
    for (int32_t j = 0; j < b.rank; j++) {
      if (rng_range(r, 0, 1)) b.d[j] = 1;
    }
    add_input(&h, dtype, b, NULL);
    fill(r, dtype, values, count_of(b));
    put(&h, h.step.inputs[h.step.input_count - 1], values);
  }
  strides_of(to, d, s);
  add_output(&h, dtype, d, s);
  expect_normalized(&h, d, p->has_scale ? scale : NULL,
                    p->has_bias ? bias : NULL);
  double tolerance = tolerance_of(dtype);
  harness_run_all(&h, compare, &tolerance);
  harness_free(&h);
}

static void test_normalization(void **state) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_FLOAT,
                              BSM_DTYPE_DOUBLE, BSM_DTYPE_HALF,
                              BSM_DTYPE_BFLOAT16};
  harness_rng r = {73};
  (void)state;
  for (int i = 0; i < 5 * LAYOUTS * SHAPES; i++) {
    const int shape = i % SHAPES, from = i / SHAPES % LAYOUTS;
    const int to = rng_range(&r, 0, 2) ? from : rng_range(&r, 0, LAYOUTS - 1);
    normalize_one(&r, shapes[shape].dims, shapes[shape].axes, 1, from, to,
                  dtypes[i / SHAPES / LAYOUTS]);
  }
}

static void test_groups(void **state) {
  const bsm_dims dims[] = {{3, {2, 12, 50}},      {4, {2, 24, 5, 7}},
                           {4, {1, 64, 16, 16}},  {4, {3, 6, 40, 41}},
                           {5, {1, 8, 4, 6, 10}}, {3, {1, 96, 3}}};
  harness_rng r = {74};
  (void)state;
  for (int i = 0; i < 6 * LAYOUTS * 6; i++) {
    const bsm_dims d = dims[i % 6];
    const uint32_t pixels = ((1u << d.rank) - 1u) & ~3u;
    const int from = i / 6 % LAYOUTS, kind = i / 6 / LAYOUTS;
    const int to = kind % 2 ? from : rng_range(&r, 0, LAYOUTS - 1);
    const int64_t groups[] = {2, 3, 6};
    const int64_t g = groups[kind % 3];
    normalize_one(&r, d, pixels, d.d[1] % g ? 2 : g, from, to,
                  kind < 5 ? BSM_DTYPE_FLOAT : BSM_DTYPE_HALF);
  }
}

/* ---- softmax ---- */

static void expect_softmax(bsm_dims d, int32_t axis, bool log_too) {
  static double total[MOST], most[MOST];
  int64_t index[BSM_MAX_RANK] = {0};
  for (int64_t k = 0; k < count_of(d); k++) {
    total[k] = 0;
    most[k] = -INFINITY;
  }
  for (int pass = 0; pass < 3; pass++) {
    int64_t i = 0;
    memset(index, 0, sizeof(index));
    do {
      const int64_t k = kept_number(d, 1u << axis, index);
      const double x = x_values[i] - most[k];
      if (pass == 0) most[k] = fmax(most[k], x_values[i]);
      if (pass == 1) total[k] += exp(x);
      if (pass == 2)
        expected[i] = log_too ? x - log(total[k]) : exp(x) / total[k];
      i++;
    } while (next_index(d, index));
  }
}

static void test_softmax(void **state) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_DOUBLE, BSM_DTYPE_HALF,
                              BSM_DTYPE_BFLOAT16};
  harness_rng r = {75};
  (void)state;
  for (int i = 0; i < 4 * LAYOUTS * SHAPES; i++) {
    const bsm_dims d = shapes[i % SHAPES].dims;
    const int from = i / SHAPES % LAYOUTS;
    const int to = rng_range(&r, 0, 2) ? from : rng_range(&r, 0, LAYOUTS - 1);
    const bsm_dtype dtype = dtypes[i / SHAPES / LAYOUTS];
    int64_t s[BSM_MAX_RANK];
    harness h;
    harness_init(&h, BSM_STEP_SOFTMAX);
    strides_of(from, d, s);
    add_input(&h, dtype, d, s);
    fill(&r, dtype, x_values, count_of(d));
    put(&h, 0, x_values);
    strides_of(to, d, s);
    add_output(&h, dtype, d, s);
    h.params.softmax.axis = rng_range(&r, 0, d.rank - 1);
    h.params.softmax.log = rng_range(&r, 0, 1);
    expect_softmax(d, h.params.softmax.axis, h.params.softmax.log != 0);
    double tolerance = tolerance_of(dtype);
    harness_run_all(&h, compare, &tolerance);
    harness_free(&h);
  }
}

/* ---- copies ---- */

static double cast_to(bsm_dtype dtype, double x) {
  if (dtype == BSM_DTYPE_BOOL) return x != 0.0;
  return bsm_dtype_is_floating(dtype) ? x : trunc(x);
}

static void test_copy(void **state) {
  const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_HALF,
                              BSM_DTYPE_INT8,  BSM_DTYPE_INT64,
                              BSM_DTYPE_BOOL,  BSM_DTYPE_BFLOAT16};
  harness_rng r = {76};
  (void)state;
  for (int i = 0; i < 36 * SHAPES; i++) {
    const bsm_dims d = shapes[i % SHAPES].dims;
    const bsm_dtype from = dtypes[i / SHAPES % 6], to = dtypes[i / SHAPES / 6];
    int64_t s[BSM_MAX_RANK];
    double exact = 0.0;
    harness h;
    harness_init(&h, BSM_STEP_COPY);
    strides_of(rng_range(&r, 0, LAYOUTS - 1), d, s);
    add_input(&h, from, d, s);
    fill(&r, from, x_values, count_of(d));
    put(&h, 0, x_values);
    strides_of(rng_range(&r, 0, LAYOUTS - 1), d, s);
    add_output(&h, to, d, s);
    for (int64_t k = 0; k < count_of(d); k++) {
      expected[k] = cast_to(to, x_values[k]);
    }
    harness_run_all(&h, compare, &exact);
    harness_free(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_narrow_reduce),
      cmocka_unit_test(test_normalization),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
