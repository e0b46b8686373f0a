/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, normalisation, reductions, top-k and scans against plain loops in
 * double, over shapes, axes and layouts. */
#include "aten/element.h"
#include "tests/conformance/step_harness.h"

static void random_dims(harness_rng *r, int min_rank, int max_rank,
                        bsm_dims *d) {
  d->rank = rng_range(r, min_rank, max_rank);
  for (int32_t i = 0; i < d->rank; i++) d->d[i] = rng_range(r, 1, 9);
  if (d->rank > 0 && rng_range(r, 0, 2) == 0) {
    d->d[rng_range(r, 0, d->rank - 1)] = rng_range(r, 20, 150);
  }
}

static void random_strides(harness_rng *r, bsm_dims d, int64_t *s) {
  bsm_contiguous_strides(d, s);
  const int kind = rng_range(r, 0, 2);
  if (kind == 1 && d.rank >= 3) channels_last(d, rng_range(r, 0, 3), s);
  if (kind == 2) {
    for (int32_t i = 0; i < d.rank; i++) s[i] *= 2;
  }
}

static double in_at(const harness *h, uint32_t i, const int64_t *index) {
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[i]];
  return (double)((const float *)h->inputs[i])[offset_of(t, index)];
}

/* Broadcast as PyTorch does, against the first input. */
static double broadcast_in(const harness *h, uint32_t i, const int64_t *index) {
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[i]];
  const int32_t shift = h->tensors[h->step.inputs[0]].dims.rank - t->dims.rank;
  int64_t own[BSM_MAX_RANK];
  for (int32_t k = 0; k < t->dims.rank; k++) {
    own[k] = t->dims.d[k] == 1 ? 0 : index[k + shift];
  }
  return in_at(h, i, own);
}

/* ---- softmax ---- */

static void compare_softmax(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const int32_t axis = h->params.softmax.axis;
  int64_t index[BSM_MAX_RANK] = {0}, row[BSM_MAX_RANK];
  (void)isa;
  (void)arg;
  do {
    memcpy(row, index, sizeof(row));
    double most = -INFINITY, total = 0;
    for (row[axis] = 0; row[axis] < y->dims.d[axis]; row[axis]++) {
      most = fmax(most, in_at(h, 0, row));
    }
    for (row[axis] = 0; row[axis] < y->dims.d[axis]; row[axis]++) {
      total += exp(in_at(h, 0, row) - most);
    }
    const double x = in_at(h, 0, index) - most;
    assert_close((double)((float *)h->outputs[0])[offset_of(y, index)],
                 h->params.softmax.log ? x - log(total) : exp(x) / total,
                 1e-6 + fabs(x) * 2e-7, "softmax");
  } while (next_index(y->dims, index));
}

static void test_softmax(void **state) {
  harness_rng r = {31};
  (void)state;
  suite_needs(BSM_STEP_SOFTMAX);
  for (int i = 0; i < 120; i++) {
    harness h;
    bsm_dims d;
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_SOFTMAX);
    random_dims(&r, 1, 4, &d);
    random_strides(&r, d, s);
    float *x = add_input(&h, BSM_DTYPE_FLOAT, d, s);
    fill_input(&h, &r, 0);
    for (size_t k = 0; k < h.data[0].size / 4; k++) x[k] *= 30.0f;
    random_strides(&r, d, s);
    add_output(&h, BSM_DTYPE_FLOAT, d, s);
    h.params.softmax.axis = rng_range(&r, 0, d.rank - 1);
    h.params.softmax.log = rng_range(&r, 0, 1);
    harness_run_all(&h, compare_softmax, NULL);
    harness_free(&h);
  }
}

/* Many rows of few elements. */
static void test_softmax_of_few(void **state) {
  harness_rng r = {36};
  (void)state;
  suite_needs(BSM_STEP_SOFTMAX);
  for (int axis = 0; axis < 2; axis++) {
    const bsm_dims d = axis ? dims_of(2, 4200, 3) : dims_of(2, 7, 4101);
    harness h;
    harness_init(&h, BSM_STEP_SOFTMAX);
    add_input(&h, BSM_DTYPE_FLOAT, d, NULL);
    fill_input(&h, &r, 0);
    add_output(&h, BSM_DTYPE_FLOAT, d, NULL);
    h.params.softmax.axis = axis;
    h.params.softmax.log = axis;
    harness_run_all(&h, compare_softmax, NULL);
    harness_free(&h);
  }
}

static void compare_half_softmax(harness *h, uint32_t isa, void *arg) {
  const double *y = h->outputs[0];
  (void)isa;
  (void)arg;
  for (int i = 0; i < 3; i++) {
    assert_close(y[i], 1.0 / 3.0, 1e-12, "double softmax");
  }
}

static void test_double_softmax(void **state) {
  harness h;
  (void)state;
  suite_needs(BSM_STEP_SOFTMAX);
  harness_init(&h, BSM_STEP_SOFTMAX);
  double *x = add_input(&h, BSM_DTYPE_DOUBLE, dims_of(1, 3), NULL);
  add_output(&h, BSM_DTYPE_DOUBLE, dims_of(1, 3), NULL);
  for (int i = 0; i < 3; i++) x[i] = 1000.0;
  harness_run_all(&h, compare_half_softmax, NULL);
  harness_free(&h);
}

/* A masked row: -inf everywhere gives NaN, in one place 0. */
static void test_masked_softmax(void **state) {
  uint32_t isas[8];
  const int count = harness_isas(isas);
  (void)state;
  suite_needs(BSM_STEP_SOFTMAX);
  for (int k = 0; k < count; k++) {
    harness h;
    harness_init(&h, BSM_STEP_SOFTMAX);
    float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, 2, 20), NULL);
    float *y = add_output(&h, BSM_DTYPE_FLOAT, dims_of(2, 2, 20), NULL);
    h.params.softmax.axis = 1;
    for (int i = 0; i < 40; i++) x[i] = i < 20 && i % 2 ? 1.0f : -INFINITY;
    assert_null(harness_run(&h, isas[k], 1));
    for (int i = 0; i < 20; i++) {
      assert_close((double)y[i], i % 2 ? 0.1 : 0.0, 1e-7, "masked");
      assert_true(isnan(y[20 + i]));
    }
    harness_free(&h);
  }
}

/* ---- normalisation ---- */

static bool in_group(const bsm_step_normalization *p, bsm_dims d,
                     const int64_t *a, const int64_t *b) {
  for (int32_t i = 0; i < d.rank; i++) {
    if (i == 1 && p->groups > 1) {
      const int64_t size = d.d[1] / p->groups;
      if (a[i] / size != b[i] / size) return false;
    } else if (!(p->axes >> i & 1u) && a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

static void compare_normalization(harness *h, uint32_t isa, void *arg) {
  const bsm_step_normalization *p = &h->params.normalization;
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  (void)isa;
  (void)arg;
  do {
    double sum = 0, squares = 0, n = 0;
    int64_t other[BSM_MAX_RANK] = {0};
    do {
      if (!in_group(p, y->dims, index, other)) continue;
      sum += in_at(h, 0, other);
      n++;
    } while (next_index(y->dims, other));
    const double mean = p->rms ? 0 : sum / n;
    do {
      if (!in_group(p, y->dims, index, other)) continue;
      const double v = in_at(h, 0, other) - mean;
      squares += v * v;
    } while (next_index(y->dims, other));
    double v = (in_at(h, 0, index) - mean) / sqrt(squares / n + p->epsilon);
    if (p->has_scale) v *= broadcast_in(h, 1, index);
    if (p->has_bias) v += broadcast_in(h, p->has_scale ? 2 : 1, index);
    assert_close((double)((float *)h->outputs[0])[offset_of(y, index)], v, 1e-5,
                 "normalisation");
  } while (next_index(y->dims, index));
}

static void test_normalization(void **state) {
  harness_rng r = {32};
  (void)state;
  suite_needs(BSM_STEP_NORMALIZATION);
  for (int i = 0; i < 100; i++) {
    harness h;
    bsm_dims d = {.rank = rng_range(&r, 2, 4)};
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_NORMALIZATION);
    bsm_step_normalization *p = &h.params.normalization;
    for (int32_t k = 0; k < d.rank; k++) d.d[k] = rng_range(&r, 1, 5);
    p->epsilon = 1e-5;
    p->rms = rng_range(&r, 0, 3) == 0;
    p->groups = 1;
    const int kind = i % 4;
    if (kind == 0) { /* layer norm */
      d.d[d.rank - 1] = rng_range(&r, 1, 50);
      p->axes = 1u << (d.rank - 1);
    } else if (kind == 1) { /* instance norm */
      if (d.rank == 2) d.d[d.rank++] = 6;
      p->axes = ((1u << d.rank) - 1u) & ~3u;
    } else if (kind == 2) { /* group norm */
      if (d.rank == 2) d.d[d.rank++] = 6;
      p->groups = rng_range(&r, 1, 4);
      d.d[1] = p->groups * rng_range(&r, 1, 5);
      p->axes = ((1u << d.rank) - 1u) & ~(rng_range(&r, 0, 1) ? 3u : 1u);
    } else {
      p->axes = rng_next(&r) & ((1u << d.rank) - 1u);
    }
    const bool last = (kind == 1 || kind == 2) && rng_range(&r, 0, 1);
    random_strides(&r, d, s);
    if (last) channels_last(d, 0, s);
    float *x = add_input(&h, BSM_DTYPE_FLOAT, d, s);
    fill_input(&h, &r, 0);
    /* The means of channels are rounded: they must not be far from zero. */
    const float mean = last ? 1 : 7;
    for (size_t k = 0; k < h.data[0].size / 4; k++) x[k] = x[k] * 3 + mean;
    random_strides(&r, d, s);
    if (last) channels_last(d, 0, s);
    add_output(&h, BSM_DTYPE_FLOAT, d, s);
    p->has_scale = rng_range(&r, 0, 1);
    p->has_bias = rng_range(&r, 0, 1);
    for (int k = 0; k < p->has_scale + p->has_bias; k++) {
      bsm_dims b = d;
      const bool expanded = kind != 3 && rng_range(&r, 0, 1); /* no strides */
      for (int32_t j = 0; j < b.rank; j++) {
        const bool along = kind == 0   ? j == d.rank - 1
                           : kind == 3 ? rng_range(&r, 0, 1) == 1
                                       : j == 1;
        s[j] = along;
        if (!along && !expanded) b.d[j] = 1;
      }
      add_input(&h, BSM_DTYPE_FLOAT, b, expanded ? s : NULL);
      fill_input(&h, &r, h.step.input_count - 1);
    }
    harness_run_all(&h, compare_normalization, NULL);
    harness_free(&h);
  }
}

/* Rows of which several elements can be loaded at once. */
static void test_even_rows(void **state) {
  static const int sizes[][2] = {{5, 5},     {8, 3},    {37, 37},   {100, 5},
                                 {160, 160}, {300, 20}, {520, 520}, {530, 8}};
  harness_rng r = {38};
  (void)state;
  suite_needs(BSM_STEP_NORMALIZATION);
  for (int i = 0; i < 4; i++) {
    const bsm_dims d = dims_of(2, sizes[i][0], sizes[i][1]);
    harness h;
    harness_init(&h, BSM_STEP_NORMALIZATION);
    h.params.normalization = (bsm_step_normalization){.axes = 2,
                                                      .epsilon = 1e-5,
                                                      .groups = 1,
                                                      .rms = i % 2,
                                                      .has_scale = 1,
                                                      .has_bias = i != 2};
    for (int k = 0; k < (i != 2 ? 3 : 2); k++) {
      add_input(&h, BSM_DTYPE_FLOAT, k ? dims_of(1, sizes[i][1]) : d, NULL);
      fill_input(&h, &r, (uint32_t)k);
    }
    add_output(&h, BSM_DTYPE_FLOAT, d, NULL);
    harness_run_all(&h, compare_normalization, NULL);
    harness_free(&h);
  }
}

/* ---- reductions ---- */

static double reduced(int32_t op, double correction, const double *v, int n) {
  double a = op == BSM_REDUCE_PROD || op == BSM_REDUCE_ALL ? 1 : 0;
  double mean = 0;
  for (int i = 0; i < n; i++) mean += v[i] / n;
  for (int i = 0; i < n; i++) {
    switch (op) {
      case BSM_REDUCE_PROD:
        a *= v[i];
        break;
      case BSM_REDUCE_MAX:
        a = i == 0 ? v[i] : fmax(a, v[i]);
        break;
      case BSM_REDUCE_MIN:
        a = i == 0 ? v[i] : fmin(a, v[i]);
        break;
      case BSM_REDUCE_ANY:
        a = a != 0 || v[i] != 0;
        break;
      case BSM_REDUCE_ALL:
        a = a != 0 && v[i] != 0;
        break;
      case BSM_REDUCE_L2:
        a += v[i] * v[i];
        break;
      case BSM_REDUCE_L1:
        a += fabs(v[i]);
        break;
      case BSM_REDUCE_VARIANCE:
        a += (v[i] - mean) * (v[i] - mean);
        break;
      default:
        a += v[i];
    }
  }
  if (op == BSM_REDUCE_AVG) a /= n;
  if (op == BSM_REDUCE_L2) a = sqrt(a);
  if (op == BSM_REDUCE_VARIANCE) {
    a /= n - correction > 0 ? n - correction : 0;
  }
  return a;
}

/* The next index along the axes of a mask, in order; false after the last. */
static bool next_of_axes(bsm_dims d, uint32_t axes, int64_t *index) {
  for (int32_t i = d.rank; i-- > 0;) {
    if (!(axes >> i & 1u)) continue;
    if (++index[i] < d.d[i]) return true;
    index[i] = 0;
  }
  return false;
}

static void compare_reduce(harness *h, uint32_t isa, void *arg) {
  const bsm_step_reduce *p = &h->params.reduce;
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  static double values[120000];
  (void)isa;
  (void)arg;
  do {
    int64_t other[BSM_MAX_RANK] = {0};
    int n = 0;
    int32_t at = 0;
    for (int32_t i = 0; i < x->dims.rank; i++) {
      const bool r = p->axes >> i & 1u;
      if (!r) other[i] = index[at];
      if (!r || p->keep_dims) at++;
    }
    do {
      values[n++] = in_at(h, 0, other);
    } while (next_of_axes(x->dims, p->axes, other));
    const double v = reduced(p->operation, p->correction, values, n);
    const int64_t o = offset_of(y, index);
    const double got = y->dtype == BSM_DTYPE_BOOL
                           ? ((const uint8_t *)h->outputs[0])[o]
                           : (double)((const float *)h->outputs[0])[o];
    double magnitude = 0;
    for (int i = 0; i < n; i++) magnitude += fabs(values[i]);
    if (p->operation == BSM_REDUCE_AVG) magnitude /= n;
    assert_close(got, v, 1e-6 * (fabs(v) + 1) + 1e-7 * magnitude, "reduce");
  } while (next_index(y->dims, index));
}

static void test_reduce(void **state) {
  harness_rng r = {33};
  (void)state;
  suite_needs(BSM_STEP_REDUCE);
  for (int i = 0; i < 200; i++) {
    harness h;
    bsm_dims d, out = {0};
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_REDUCE);
    bsm_step_reduce *p = &h.params.reduce;
    random_dims(&r, 1, 4, &d);
    if (d.rank == 4 && i % 3 == 0) d.d[1] = 70;
    p->operation = rng_range(&r, 0, 9);
    p->axes = rng_next(&r) & ((1u << d.rank) - 1u);
    if (d.rank == 4 && i % 3 == 0) p->axes = 12;
    if (d.rank >= 3 && i % 3 == 1) { /* columns */
      p->axes = 3;
      d.d[0] = 67;
      d.d[d.rank - 1] = 75;
    }
    p->keep_dims = rng_range(&r, 0, 1);
    p->correction = 1;
    for (int32_t k = 0; k < d.rank; k++) {
      const bool reduced_too = p->axes >> k & 1u;
      if (reduced_too && !p->keep_dims) continue;
      out.d[out.rank++] = reduced_too ? 1 : d.d[k];
    }
    random_strides(&r, d, s);
    float *x = add_input(&h, BSM_DTYPE_FLOAT, d, i % 3 == 1 ? NULL : s);
    fill_input(&h, &r, 0);
    if (p->operation == BSM_REDUCE_ANY || p->operation == BSM_REDUCE_ALL) {
      for (size_t k = 0; k < h.data[0].size / 4; k++) {
        if (rng_range(&r, 0, 4) == 0) x[k] = 0;
      }
    }
    const bool truth =
        p->operation == BSM_REDUCE_ANY || p->operation == BSM_REDUCE_ALL;
    add_output(&h, truth ? BSM_DTYPE_BOOL : BSM_DTYPE_FLOAT, out, NULL);
    harness_run_all(&h, compare_reduce, NULL);
    harness_free(&h);
  }
}

/* Over pixels of images whose maps lie together, and over tokens. */
static void test_reduce_of_maps(void **state) {
  static const bsm_reduce_operation operations[] = {
      BSM_REDUCE_SUM, BSM_REDUCE_AVG, BSM_REDUCE_MAX, BSM_REDUCE_MIN};
  harness_rng r = {37};
  (void)state;
  suite_needs(BSM_STEP_REDUCE);
  for (int i = 0; i < 8; i++) {
    const bsm_dims images = dims_of(4, 2, 72, 5, 7),
                   tokens = dims_of(2, 300, 16);
    const bsm_dims d = i % 2 ? tokens : images;
    harness h;
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_REDUCE);
    bsm_contiguous_strides(d, s);
    if (i % 2 == 0) channels_last(d, 0, s);
    add_input(&h, BSM_DTYPE_FLOAT, d, s);
    fill_input(&h, &r, 0);
    add_output(&h, BSM_DTYPE_FLOAT, i % 2 ? dims_of(1, 16) : dims_of(2, 2, 72),
               NULL);
    h.params.reduce = (bsm_step_reduce){.operation = (int32_t)operations[i / 2],
                                        .axes = i % 2 ? 1 : 12};
    harness_run_all(&h, compare_reduce, NULL);
    harness_free(&h);
  }
}

/* Few elements in each of many rows that are apart, the last ones of which fill
 * no block. */
static void test_reduce_of_short_rows(void **state) {
  static const bsm_reduce_operation operations[] = {
      BSM_REDUCE_SUM, BSM_REDUCE_AVG, BSM_REDUCE_MAX,
      BSM_REDUCE_MIN, BSM_REDUCE_L2,  BSM_REDUCE_VARIANCE};
  static const int64_t counts[] = {9, 16, 23, 24, 25};
  harness_rng r = {41};
  (void)state;
  suite_needs(BSM_STEP_REDUCE);
  for (int i = 0; i < 30; i++) {
    const int64_t n = counts[i % 5], rows = i % 2 ? 75 : 17;
    const int64_t s[] = {rows * (n + 3), n + 3, 1}, y[] = {1, 2};
    harness h;
    harness_init(&h, BSM_STEP_REDUCE);
    add_input(&h, BSM_DTYPE_FLOAT, dims_of(3, 2, rows, n), s);
    fill_input(&h, &r, 0);
    add_output(&h, BSM_DTYPE_FLOAT, dims_of(2, 2, rows), i % 3 ? NULL : y);
    h.params.reduce = (bsm_step_reduce){
        .operation = (int32_t)operations[i / 5], .axes = 4, .correction = 1};
    harness_run_all(&h, compare_reduce, NULL);
    harness_free(&h);
  }
}

/* A mean far from zero is rounded by more than what is between the numbers. */
static void compare_far(harness *h, uint32_t isa, void *arg) {
  const bsm_dims d = h->tensors[h->step.inputs[0]].dims;
  const float *x = h->inputs[0], *y = h->outputs[0];
  const bool columns = h->params.reduce.axes == 1;
  const int64_t n = d.d[columns ? 0 : 1], step = columns ? d.d[1] : 1;
  (void)isa;
  (void)arg;
  for (int64_t i = 0; i < d.d[columns ? 1 : 0]; i++) {
    const float *from = x + i * (columns ? 1 : d.d[1]);
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < n; j++) mean += (double)from[j * step] / (double)n;
    for (int64_t j = 0; j < n; j++) {
      squares += pow((double)from[j * step] - mean, 2);
    }
    const double want = squares / (double)(n - 1);
    assert_close((double)y[i], want, 1e-6 * want, "variance");
  }
}

static void test_variance_far_from_zero(void **state) {
  static const int64_t sizes[][2] = {{40, 16}, {7, 100}, {100, 40}, {40, 5}};
  harness_rng r = {47};
  (void)state;
  if (suite_is_for("cuda")) skip();
  suite_needs(BSM_STEP_REDUCE);
  for (int i = 0; i < 8; i++) {
    const int64_t *size = sizes[i / 2];
    harness h;
    harness_init(&h, BSM_STEP_REDUCE);
    float *x =
        add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, size[0], size[1]), NULL);
    for (int64_t k = 0; k < size[0] * size[1]; k++) {
      x[k] = 1e6f + (float)rng_range(&r, 0, 20) / 8;
    }
    add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, size[i % 2]), NULL);
    h.params.reduce = (bsm_step_reduce){.operation = BSM_REDUCE_VARIANCE,
                                        .axes = i % 2 ? 1 : 2,
                                        .correction = 1};
    harness_run_all(&h, compare_far, NULL);
    harness_free(&h);
  }
}

/* Any and all of rows of bool. */
static void compare_truth(harness *h, uint32_t isa, void *arg) {
  const uint8_t *x = h->inputs[0], *y = h->outputs[0];
  (void)isa;
  (void)arg;
  for (int i = 0; i < 200; i++) {
    bool any = false, all = true;
    for (int j = 0; j < 37; j++) {
      any = any || x[i * 37 + j];
      all = all && x[i * 37 + j];
    }
    assert_int_equal(y[i],
                     h->params.reduce.operation == BSM_REDUCE_ANY ? any : all);
  }
}

static void test_truth(void **state) {
  harness_rng r = {35};
  (void)state;
  suite_needs(BSM_STEP_REDUCE);
  for (int op = BSM_REDUCE_ANY; op <= BSM_REDUCE_ALL; op++) {
    harness h;
    harness_init(&h, BSM_STEP_REDUCE);
    uint8_t *x = add_input(&h, BSM_DTYPE_BOOL, dims_of(2, 200, 37), NULL);
    for (int i = 0; i < 200 * 37; i++) {
      const int few = rng_range(&r, 0, 60) == 0;
      x[i] = (uint8_t)(op == BSM_REDUCE_ANY ? few * 2 : !few);
    }
    add_output(&h, BSM_DTYPE_BOOL, dims_of(2, 200, 1), NULL);
    h.params.reduce = (bsm_step_reduce){op, 2, 1, 0, 0.0};
    harness_run_all(&h, compare_truth, NULL);
    harness_free(&h);
  }
}

static void compare_integers(harness *h, uint32_t isa, void *arg) {
  (void)isa;
  assert_int_equal(((const int64_t *)h->outputs[0])[0], *(int64_t *)arg);
}

static void test_integer_reduce(void **state) {
  const int32_t ops[] = {BSM_REDUCE_SUM, BSM_REDUCE_PROD, BSM_REDUCE_MAX,
                         BSM_REDUCE_MIN};
  int64_t expected[] = {((int64_t)1 << 53) + 1 - 5 + 2,
                        (((int64_t)1 << 53) + 1) * -10, ((int64_t)1 << 53) + 1,
                        -5};
  (void)state;
  suite_needs(BSM_STEP_REDUCE);
  for (int i = 0; i < 4; i++) {
    harness h;
    harness_init(&h, BSM_STEP_REDUCE);
    int64_t *x = add_input(&h, BSM_DTYPE_INT64, dims_of(1, 3), NULL);
    x[0] = ((int64_t)1 << 53) + 1;
    x[1] = -5;
    x[2] = 2;
    add_output(&h, BSM_DTYPE_INT64, dims_of(0), NULL);
    h.params.reduce.operation = ops[i];
    h.params.reduce.axes = 1;
    harness_run_all(&h, compare_integers, &expected[i]);
    harness_free(&h);
  }
}

/* An element of any integer dtype. */
static int64_t integer_at(bsm_dtype d, const void *x, int i) {
  switch (d) {
    case BSM_DTYPE_BOOL:
      return ((const uint8_t *)x)[i] != 0;
    case BSM_DTYPE_UINT8:
      return ((const uint8_t *)x)[i];
    case BSM_DTYPE_INT8:
      return ((const int8_t *)x)[i];
    case BSM_DTYPE_INT16:
      return ((const int16_t *)x)[i];
    case BSM_DTYPE_INT32:
      return ((const int32_t *)x)[i];
    default:
      return ((const int64_t *)x)[i];
  }
}

enum { INTEGER_ROWS = 5 };

static void compare_integer_rows(harness *h, uint32_t isa, void *arg) {
  const int n = *(const int *)arg;
  const int32_t op = h->params.reduce.operation;
  const bsm_dtype from = h->tensors[0].dtype, to = h->tensors[1].dtype;
  (void)isa;
  for (int r = 0; r < INTEGER_ROWS; r++) {
    int64_t want = integer_at(from, h->inputs[0], r * n);
    for (int i = 1; i < n; i++) {
      const int64_t v = integer_at(from, h->inputs[0], r * n + i);
      want = op == BSM_REDUCE_SUM   ? (int64_t)((uint64_t)want + (uint64_t)v)
             : op == BSM_REDUCE_MAX ? (v > want ? v : want)
                                    : (v < want ? v : want);
    }
    assert_int_equal(integer_at(to, h->outputs[0], r), want);
  }
}

/* Rows of every dtype, which have kernels from some length on. The last of them
 * is full of one extreme, so that sums leave 16 and 32 bits. */
static void test_integer_rows(void **state) {
  static const bsm_dtype dtypes[] = {BSM_DTYPE_BOOL,  BSM_DTYPE_UINT8,
                                     BSM_DTYPE_INT8,  BSM_DTYPE_INT16,
                                     BSM_DTYPE_INT32, BSM_DTYPE_INT64};
  static const int32_t ops[] = {BSM_REDUCE_SUM, BSM_REDUCE_MAX, BSM_REDUCE_MIN};
  int lengths[] = {1, 15, 16, 17, 77, 20001};
  harness_rng r = {36};
  (void)state;
  suite_needs(BSM_STEP_REDUCE);
  for (int k = 0; k < 6 * 3 * 6; k++) {
    const bsm_dtype d = dtypes[k / 18];
    int *n = &lengths[k % 6];
    harness h;
    if (d == BSM_DTYPE_BOOL && k / 6 % 3 > 0) continue;
    /* Where code is made for each size, one will do. */
    if (suite_target()->ops->add_code && *n != 77) continue;
    harness_init(&h, BSM_STEP_REDUCE);
    const size_t bytes = (size_t)*n * bsm_dtype_size(d);
    uint8_t *x = add_input(&h, d, dims_of(2, INTEGER_ROWS, *n), NULL);
    for (size_t i = 0; i < INTEGER_ROWS * bytes; i++) {
      x[i] = (uint8_t)rng_range(&r, 0, 255);
    }
    memset(x + (INTEGER_ROWS - 1) * bytes, d == BSM_DTYPE_INT8 ? 0x80 : 0xff,
           bytes);
    h.params.reduce = (bsm_step_reduce){ops[k / 6 % 3], 2, 0, 0, 0.0};
    add_output(&h, k / 6 % 3 ? d : BSM_DTYPE_INT64, dims_of(1, INTEGER_ROWS),
               NULL);
    harness_run_all(&h, compare_integer_rows, n);
    harness_free(&h);
  }
}

/* The extreme of a row is NaN where it has one, and there alone. */
static void test_nan_of_short_rows(void **state) {
  enum { ROWS = 40, N = 11 };
  uint32_t isas[8];
  const int count = harness_isas(isas);
  (void)state;
  suite_needs(BSM_STEP_REDUCE);
  for (int k = 0; k < count * 2; k++) {
    harness h;
    harness_init(&h, BSM_STEP_REDUCE);
    float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, ROWS, N), NULL);
    for (int i = 0; i < ROWS * N; i++) {
      x[i] = i / N % 3 == 0 && i % N == i / N % N ? NAN : (float)(i % 7);
    }
    float *y = add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, ROWS), NULL);
    h.params.reduce.operation = k % 2 ? BSM_REDUCE_MAX : BSM_REDUCE_MIN;
    h.params.reduce.axes = 2;
    assert_null(harness_run(&h, isas[k / 2], 1));
    for (int i = 0; i < ROWS; i++) {
      assert_true(i % 3 == 0 ? isnan(y[i]) : y[i] == (k % 2 ? 6.0f : 0.0f));
    }
    harness_free(&h);
  }
}

static void test_nan_reduce(void **state) {
  uint32_t isas[8];
  const int count = harness_isas(isas);
  (void)state;
  suite_needs(BSM_STEP_REDUCE);
  for (int k = 0; k < count * 2; k++) {
    for (int at = 0; at < 40; at++) {
      harness h;
      harness_init(&h, BSM_STEP_REDUCE);
      float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, 40), NULL);
      for (int i = 0; i < 40; i++) x[i] = i == at ? NAN : (float)(i % 7);
      float *y = add_output(&h, BSM_DTYPE_FLOAT, dims_of(0), NULL);
      h.params.reduce.operation = k % 2 ? BSM_REDUCE_MAX : BSM_REDUCE_MIN;
      h.params.reduce.axes = 1;
      assert_null(harness_run(&h, isas[k / 2], 1));
      assert_true(isnan(*y));
      harness_free(&h);
    }
  }
}

/* Long sums keep their accuracy. */
static void test_long_sum(void **state) {
  uint32_t isas[8];
  const int count = harness_isas(isas);
  (void)state;
  if (suite.is_narrow) skip(); /* the sum is greater than any half */
  suite_needs(BSM_STEP_REDUCE);
  for (int k = 0; k < count; k++) {
    for (int columns = 1; columns <= 16; columns += 15) {
      harness h;
      enum { N = 1 << 20 };
      harness_init(&h, BSM_STEP_REDUCE);
      float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, N, columns), NULL);
      for (int i = 0; i < N * columns; i++) x[i] = 0.1f;
      float *y = add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, columns), NULL);
      h.params.reduce.operation = BSM_REDUCE_SUM;
      h.params.reduce.axes = 1;
      assert_null(harness_run(&h, isas[k], 2));
      for (int i = 0; i < columns; i++) {
        assert_close((double)y[i], N * (double)0.1f, N * 1e-7, "long sum");
      }
      harness_free(&h);
    }
  }
}

/* ---- top-k ---- */

static void compare_top_k(harness *h, uint32_t isa, void *arg) {
  const bsm_step_top_k *p = &h->params.top_k;
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const bsm_plan_tensor *z = &h->tensors[h->step.outputs[1]];
  int64_t index[BSM_MAX_RANK] = {0}, row[BSM_MAX_RANK];
  (void)isa;
  (void)arg;
  do {
    const double got =
        (double)((const float *)h->outputs[0])[offset_of(y, index)];
    const int64_t at = ((const int64_t *)h->outputs[1])[offset_of(z, index)];
    assert_true(at >= 0 && at < x->dims.d[p->axis]);
    memcpy(row, index, sizeof(row));
    row[p->axis] = at;
    assert_true(got == in_at(h, 0, row) || isnan(got));
    /* As many come before it as its place says. */
    int64_t before = 0;
    const double v = in_at(h, 0, row);
    for (row[p->axis] = 0; row[p->axis] < x->dims.d[p->axis]; row[p->axis]++) {
      const double o = in_at(h, 0, row);
      const bool greater = isnan(o) ? !isnan(v) : o > v;
      const bool less = isnan(v) ? !isnan(o) : o < v;
      const bool same = !greater && !less;
      before += (p->largest ? greater : less) || (same && row[p->axis] < at);
    }
    assert_int_equal(before, index[p->axis]);
  } while (next_index(y->dims, index));
}

/* Rows of more elements than shared memory has room for. */
static void test_long_top_k(void **state) {
  static const int64_t cases[][4] = {
      {1, 2049, 2049, 1}, {2, 2300, 200, 0}, {1, 5000, 40, 1}, {2, 9000, 3, 0}};
  harness_rng r = {37};
  (void)state;
  suite_needs(BSM_STEP_TOP_K);
  for (int i = 0; i < 4; i++) {
    harness h;
    const bool first = i % 2; /* rows go along the first dimension */
    const int rows = (int)cases[i][0], n = (int)cases[i][1];
    const int k = (int)cases[i][2];
    harness_init(&h, BSM_STEP_TOP_K);
    float *x =
        add_input(&h, BSM_DTYPE_FLOAT,
                  first ? dims_of(2, n, rows) : dims_of(2, rows, n), NULL);
    for (int j = 0; j < rows * n; j++) {
      x[j] = rng_range(&r, 0, 99) ? (float)rng_range(&r, -500, 500) : NAN;
    }
    h.params.top_k = (bsm_step_top_k){
        .axis = !first, .k = k, .largest = (int32_t)cases[i][3]};
    const bsm_dims d = first ? dims_of(2, k, rows) : dims_of(2, rows, k);
    add_output(&h, BSM_DTYPE_FLOAT, d, NULL);
    add_output(&h, BSM_DTYPE_INT64, d, NULL);
    harness_run_all(&h, compare_top_k, NULL);
    harness_free(&h);
  }
}

/* Some elements of a dtype, with many equals and what is special. */
static void fill_any(harness_rng *r, bsm_dtype d, size_t n, void *out) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
  for (size_t i = 0; i < n; i++) {
    char *at = (char *)out + i * bsm_dtype_size(d);
    if (!bsm_dtype_is_floating(d)) {
      const int64_t wide = d == BSM_DTYPE_INT64 && rng_range(r, 0, 5) == 0;
      bsm_store1_i64(d, at,
                     rng_range(r, -140, 140) * (wide ? INT64_C(1) << 40 : 1));
    } else if (rng_range(r, 0, 9) == 0) {
      bsm_store1_f64(d, at, special[rng_range(r, 0, 4)]);
    } else {
      bsm_store1_f64(d, at, rng_range(r, -300, 300) * 0.125);
    }
  }
}

/* By values as doubles, which hold them all. */
static void compare_typed_top_k(harness *h, uint32_t isa, void *arg) {
  const bsm_step_top_k *p = &h->params.top_k;
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const bsm_plan_tensor *z = &h->tensors[h->step.outputs[1]];
  const size_t size = bsm_dtype_size(x->dtype);
  const int64_t step = x->strides[p->axis];
  int64_t index[BSM_MAX_RANK] = {0}, row[BSM_MAX_RANK];
  (void)isa;
  (void)arg;
  do {
    const char *value =
        (const char *)h->outputs[0] + (size_t)offset_of(y, index) * size;
    const int64_t at = ((const int64_t *)h->outputs[1])[offset_of(z, index)];
    assert_in_range(at, 0, x->dims.d[p->axis] - 1);
    memcpy(row, index, sizeof(row));
    row[p->axis] = 0;
    const char *line =
        (const char *)h->inputs[0] + (size_t)offset_of(x, row) * size;
    const char *element = line + (size_t)(at * step) * size;
    const double v = bsm_load1_f64(x->dtype, element);
    if (isnan(v)) { /* any NaN will do */
      assert_true(isnan(bsm_load1_f64(x->dtype, value)));
    } else {
      assert_memory_equal(value, element, size);
    }
    int64_t before = 0;
    for (int64_t i = 0; i < x->dims.d[p->axis]; i++) {
      const double o =
          bsm_load1_f64(x->dtype, line + (size_t)(i * step) * size);
      const bool greater = isnan(o) ? !isnan(v) : o > v;
      const bool less = isnan(v) ? !isnan(o) : o < v;
      before += (p->largest ? greater : less) || (!greater && !less && i < at);
    }
    assert_int_equal(before, index[p->axis]);
  } while (next_index(y->dims, index));
}

/* Rows and columns of all dtypes, of lengths that each way of sorting takes. */
static void test_typed_top_k(void **state) {
  static const bsm_dtype dtypes[] = {
      BSM_DTYPE_FLOAT, BSM_DTYPE_HALF,  BSM_DTYPE_BFLOAT16, BSM_DTYPE_DOUBLE,
      BSM_DTYPE_INT64, BSM_DTYPE_INT32, BSM_DTYPE_INT16,    BSM_DTYPE_INT8,
      BSM_DTYPE_UINT8, BSM_DTYPE_BOOL};
  static const int sizes[][2] = {{5, 5},     {8, 3},    {37, 37},   {100, 5},
                                 {160, 160}, {300, 20}, {520, 520}, {530, 8}};
  harness_rng r = {38};
  (void)state;
  suite_needs(BSM_STEP_TOP_K);
  for (int i = 0; i < 10 * 8 * 2; i++) {
    harness h;
    const bsm_dtype dtype = dtypes[i % 10];
    const int n = sizes[i / 10 % 8][0], k = sizes[i / 10 % 8][1];
    const bool columns = i >= 80;
    harness_init(&h, BSM_STEP_TOP_K);
    void *x = add_input(
        &h, dtype, columns ? dims_of(3, 1, n, 17) : dims_of(2, 2, n), NULL);
    fill_any(&r, dtype, (size_t)(columns ? 17 : 2) * (size_t)n, x);
    h.params.top_k =
        (bsm_step_top_k){.axis = 1, .k = k, .largest = rng_range(&r, 0, 1)};
    const bsm_dims d = columns ? dims_of(3, 1, k, 17) : dims_of(2, 2, k);
    add_output(&h, dtype, d, NULL);
    add_output(&h, BSM_DTYPE_INT64, d, NULL);
    harness_run_all(&h, compare_typed_top_k, NULL);
    harness_free(&h);
  }
}

static void test_top_k(void **state) {
  harness_rng r = {34};
  (void)state;
  suite_needs(BSM_STEP_TOP_K);
  for (int i = 0; i < 80; i++) {
    harness h;
    bsm_dims d;
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_TOP_K);
    random_dims(&r, 1, 3, &d);
    random_strides(&r, d, s);
    float *x = add_input(&h, BSM_DTYPE_FLOAT, d, s);
    for (size_t k = 0; k < h.data[0].size / 4; k++) {
      x[k] = rng_range(&r, 0, 30) ? (float)rng_range(&r, -9, 9) : NAN;
    }
    bsm_step_top_k *p = &h.params.top_k;
    p->axis = rng_range(&r, 0, d.rank - 1);
    p->k = rng_range(&r, 1, (int)d.d[p->axis]);
    p->largest = rng_range(&r, 0, 1);
    d.d[p->axis] = p->k;
    add_output(&h, BSM_DTYPE_FLOAT, d, NULL);
    add_output(&h, BSM_DTYPE_INT64, d, NULL);
    harness_run_all(&h, compare_top_k, NULL);
    harness_free(&h);
  }
}

/* ---- scans ---- */

static double joined(int32_t operation, double a, double b) {
  if (operation == BSM_SCAN_SUM) return a + b;
  if (operation == BSM_SCAN_PROD) return a * b;
  if (isnan(a) || isnan(b)) return NAN;
  const double most = fmax(a, b);
  return isinf(most) ? most : most + log1p(exp(fmin(a, b) - most));
}

static void compare_scan(harness *h, uint32_t isa, void *arg) {
  const bsm_step_scan *p = &h->params.scan;
  const bool has_indices = h->step.output_count > 1;
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const bsm_plan_tensor *z = &h->tensors[h->step.outputs[has_indices]];
  const int64_t n = x->dims.d[p->axis];
  int64_t index[BSM_MAX_RANK] = {0};
  (void)isa;
  (void)arg;
  do {
    if (index[p->axis]) continue;
    int64_t row[BSM_MAX_RANK], best = 0;
    double total = 0, size = 0;
    memcpy(row, index, sizeof(row));
    for (int64_t i = 0; i < n; i++) {
      row[p->axis] = i;
      const double v = in_at(h, 0, row);
      if (i == 0) {
        total = v;
      } else if (!has_indices) {
        total = joined(p->operation, total, v);
      } else if (isnan(v) ||
                 (!isnan(total) &&
                  (p->operation == BSM_SCAN_MAX ? v >= total : v <= total))) {
        total = v;
        best = i;
      }
      size = fmax(size, fabs(total));
      assert_close((double)((const float *)h->outputs[0])[offset_of(y, row)],
                   total, 2e-7 * size + 1e-6, "scan");
      if (!has_indices) continue;
      assert_int_equal(((const int64_t *)h->outputs[1])[offset_of(z, row)],
                       best);
    }
  } while (next_index(x->dims, index));
}

/* What a scan finds at element k. */
static float scanned_number(harness_rng *r, int32_t operation) {
  switch (operation) {
    case BSM_SCAN_SUM:
      return (float)rng_range(r, -9, 9) / 4;
    case BSM_SCAN_PROD:
      return (float)(rng_range(r, 0, 1) ? 1 : -1) *
             (rng_range(r, 0, 60) ? 1.0f : 0.5f);
    case BSM_SCAN_LOG_SUM_EXP:
      return rng_range(r, 0, 9) ? (float)rng_range(r, -40, 40) / 4 : -INFINITY;
    default:
      return rng_range(r, 0, 60)  ? (float)rng_range(r, -9, 9)
             : rng_range(r, 0, 3) ? INFINITY * (float)rng_range(r, -1, 1)
                                  : NAN;
  }
}

static void run_scan_as(harness_rng *r, int32_t operation, bsm_dims d,
                        int32_t axis, bool lies_dense) {
  harness h;
  int64_t s[BSM_MAX_RANK];
  harness_init(&h, BSM_STEP_SCAN);
  random_strides(r, d, s);
  if (lies_dense) bsm_contiguous_strides(d, s);
  float *x = add_input(&h, BSM_DTYPE_FLOAT, d, s);
  for (size_t k = 0; k < h.data[0].size / 4; k++) {
    x[k] = scanned_number(r, operation);
  }
  h.params.scan = (bsm_step_scan){operation, axis};
  if (!lies_dense) random_strides(r, d, s);
  add_output(&h, BSM_DTYPE_FLOAT, d, s);
  if (operation == BSM_SCAN_MAX || operation == BSM_SCAN_MIN) {
    if (!lies_dense) random_strides(r, d, s);
    add_output(&h, BSM_DTYPE_INT64, d, s);
  }
  harness_run_all(&h, compare_scan, NULL);
  harness_free(&h);
}

static void run_scan(harness_rng *r, int32_t operation, bsm_dims d,
                     int32_t axis) {
  run_scan_as(r, operation, d, axis, false);
}

/* Rows of any length: those of many elements are cut into chunks somewhere, and
 * those of many rows are not. */
static void test_scan(void **state) {
  harness_rng r = {35};
  (void)state;
  suite_needs(BSM_STEP_SCAN);
  for (int i = 0; i < 80; i++) {
    bsm_dims d;
    random_dims(&r, 1, 4, &d);
    run_scan(&r, i % 5, d, rng_range(&r, 0, d.rank - 1));
  }
  for (int32_t operation = 0; operation < 5; operation++) {
    run_scan(&r, operation, dims_of(2, 2, 8200), 1);
    run_scan(&r, operation, dims_of(2, 12300, 1), 0);
    run_scan(&r, operation, dims_of(2, 11, 2100), 0);
    run_scan(&r, operation, dims_of(2, 3, 1), 1);
    run_scan_as(&r, operation, dims_of(2, 60, 300), 0, true);
    run_scan_as(&r, operation, dims_of(3, 3, 40, 5), 1, true);
  }
}

static void compare_integer_scan(harness *h, uint32_t isa, void *arg) {
  const int64_t *x = h->inputs[0], *y = h->outputs[0];
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[0]];
  uint64_t total = 0;
  (void)isa;
  (void)arg;
  for (int64_t i = 0; i < t->dims.d[0]; i++) {
    const uint64_t v = (uint64_t)x[i];
    total = i == 0                                      ? v
            : h->params.scan.operation == BSM_SCAN_SUM  ? total + v
            : h->params.scan.operation == BSM_SCAN_PROD ? total * v
            : (int64_t)v >= (int64_t)total              ? v
                                                        : total;
    assert_true((uint64_t)y[i] == total);
  }
}

/* Integers are exact above 2^53, and wrap. */
static void test_integer_scan(void **state) {
  harness_rng r = {36};
  (void)state;
  suite_needs(BSM_STEP_SCAN);
  for (int k = 0; k < 6; k++) {
    harness h;
    const bsm_dims d = dims_of(1, k < 3 ? 300 : 9000);
    harness_init(&h, BSM_STEP_SCAN);
    int64_t *x = add_input(&h, BSM_DTYPE_INT64, d, NULL);
    for (int64_t i = 0; i < d.d[0]; i++) {
      x[i] = (int64_t)rng_range(&r, -(1 << 30), (1 << 30) - 1) *
                 INT64_C(0x200000000) +
             2 * rng_range(&r, 0, 1 << 20) + 1;
    }
    h.params.scan.operation = k % 3;
    add_output(&h, BSM_DTYPE_INT64, d, NULL);
    if (k % 3 == BSM_SCAN_MAX) add_output(&h, BSM_DTYPE_INT64, d, NULL);
    harness_run_all(&h, compare_integer_scan, NULL);
    harness_free(&h);
  }
}

static void compare_byte_scan(harness *h, uint32_t isa, void *arg) {
  const uint8_t *x = h->inputs[0], *y = h->outputs[0];
  unsigned total = 0;
  (void)isa;
  (void)arg;
  for (int i = 0; i < 100; i++) {
    total += x[i];
    assert_int_equal(y[i], total & 0xff);
  }
}

static void test_narrow_scan(void **state) {
  harness h;
  (void)state;
  suite_needs(BSM_STEP_SCAN);
  harness_init(&h, BSM_STEP_SCAN);
  uint8_t *x = add_input(&h, BSM_DTYPE_UINT8, dims_of(1, 100), NULL);
  add_output(&h, BSM_DTYPE_UINT8, dims_of(1, 100), NULL);
  for (int i = 0; i < 100; i++) x[i] = (uint8_t)(i * 37);
  harness_run_all(&h, compare_byte_scan, NULL);
  harness_free(&h);
}

/* ---- normalisation with bytes ---- */

static void compare_bytes(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const bsm_plan_tensor *q = &h->tensors[h->step.outputs[1]];
  const float *grid = arg;
  int64_t index[BSM_MAX_RANK] = {0};
  compare_normalization(h, isa, NULL);
  do {
    const float v = ((const float *)h->outputs[0])[offset_of(y, index)];
    const float want =
        fminf(fmaxf(nearbyintf(v * grid[0]) + grid[1], grid[2]), grid[3]);
    const int got = ((const uint8_t *)h->outputs[1])[offset_of(q, index)];
    if (q->dtype == BSM_DTYPE_FLOAT8_E4M3FN) {
      const int bits =
          bsm_float_to_float8(q->dtype, fmaxf(fminf(v * grid[0], 448), -448));
      if (got != bits) fail_msg("%#x, not %#x of %g", got, bits, v);
      continue;
    }
    if (got != (int)want) fail_msg("%d, not %g of %g", got, want, v);
  } while (next_index(y->dims, index));
}

/* Of rows that threads hold, and of pixels; also where bytes lie apart. */
static void run_with_bytes(bsm_dtype bytes, const float *grid) {
  static const int lengths[] = {24, 64, 7, 300, 768};
  harness_rng r = {39};
  /* The grid stays float where all else is narrow. */
  for (int i = 0; i < (suite.is_narrow ? 0 : 5); i++) {
    const bool rows = i % 4 != 3;
    const bsm_dims d = dims_of(3, 2, 5, lengths[i % 5]);
    int64_t s[3] = {d.d[1] * d.d[2], d.d[2], 1};
    harness h;
    harness_init(&h, BSM_STEP_NORMALIZATION);
    h.params.normalization = (bsm_step_normalization){.axes = rows ? 4 : 2,
                                                      .rms = i % 3 == 2,
                                                      .has_scale = 1,
                                                      .has_bias = i % 2,
                                                      .groups = 1,
                                                      .epsilon = 1e-5};
    add_input(&h, BSM_DTYPE_FLOAT, d, s);
    fill_input(&h, &r, 0);
    for (int k = 1; k <= 1 + i % 2; k++) {
      add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, d.d[2]), NULL);
      fill_input(&h, &r, (uint32_t)k);
    }
    float *numbers = add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, 4), NULL);
    memcpy(numbers, grid, 4 * sizeof(*grid));
    add_output(&h, BSM_DTYPE_FLOAT, d, s);
    for (int k = 0; k < 2; k++) s[k] += i % 5 == 2 ? 3 : 0;
    s[0] = s[1] * d.d[1];
    add_output(&h, bytes, d, s);
    harness_run_all(&h, compare_bytes, (void *)(uintptr_t)grid);
    harness_free(&h);
  }
}

static void test_normalization_with_bytes(void **state) {
  static const float whole[4] = {37.5f, 121, 3, 240};
  static const float fp8[4] = {211.25f, 0, -448, 448};
  (void)state;
  run_with_bytes(BSM_DTYPE_UINT8, whole);
  run_with_bytes(BSM_DTYPE_FLOAT8_E4M3FN, fp8);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_softmax_of_few),
      cmocka_unit_test(test_double_softmax),
      cmocka_unit_test(test_masked_softmax),
      cmocka_unit_test(test_normalization),
      cmocka_unit_test(test_normalization_with_bytes),
      cmocka_unit_test(test_even_rows),
      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_reduce_of_maps),
      cmocka_unit_test(test_reduce_of_short_rows),
      cmocka_unit_test(test_nan_of_short_rows),
      cmocka_unit_test(test_variance_far_from_zero),
      cmocka_unit_test(test_truth),
      cmocka_unit_test(test_integer_reduce),
      cmocka_unit_test(test_integer_rows),
      cmocka_unit_test(test_nan_reduce),
      cmocka_unit_test(test_long_sum),
      cmocka_unit_test(test_top_k),
      cmocka_unit_test(test_long_top_k),
      cmocka_unit_test(test_typed_top_k),
      cmocka_unit_test(test_scan),
      cmocka_unit_test(test_integer_scan),
      cmocka_unit_test(test_narrow_scan),
  };
  return suite_run(argc, argv, tests);
}
