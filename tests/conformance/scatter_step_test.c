/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters against plain loops, in all dtypes; in place, out of range, and with
 * indices that the step itself overwrites. */
#include "tests/conformance/step_harness.h"

static const bsm_dtype dtypes[] = {
    BSM_DTYPE_FLOAT, BSM_DTYPE_DOUBLE, BSM_DTYPE_INT64,
    BSM_DTYPE_INT32, BSM_DTYPE_UINT8,  BSM_DTYPE_BOOL,
    BSM_DTYPE_HALF,  BSM_DTYPE_INT8,   BSM_DTYPE_BFLOAT16};
#define DTYPES 9

/* Small whole numbers: exact in every dtype, whatever the order. */
static void put(bsm_dtype dtype, void *data, int64_t at, int64_t v) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      ((float *)data)[at] = (float)v;
      return;
    case BSM_DTYPE_DOUBLE:
      ((double *)data)[at] = (double)v;
      return;
    case BSM_DTYPE_INT64:
      ((int64_t *)data)[at] = v;
      return;
    case BSM_DTYPE_INT32:
      ((int32_t *)data)[at] = (int32_t)v;
      return;
    case BSM_DTYPE_BOOL:
      ((uint8_t *)data)[at] = v != 0;
      return;
    case BSM_DTYPE_BFLOAT16: {
      const float f = (float)v;
      uint32_t bits;
      memcpy(&bits, &f, sizeof(bits));
      ((uint16_t *)data)[at] = (uint16_t)(bits >> 16);
      return;
    }
    case BSM_DTYPE_HALF: {
      int e = 0;
      const double m = frexp(fabs((double)v), &e);
      const int bits = v ? (int)((e + 14) << 10) | ((int)(m * 2048) & 1023) : 0;
      ((uint16_t *)data)[at] = (uint16_t)(bits | (v < 0 ? 0x8000 : 0));
      return;
    }
    default:
      ((uint8_t *)data)[at] = (uint8_t)v;
      return;
  }
}

static int64_t get(bsm_dtype dtype, const void *data, int64_t at) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      return (int64_t)((const float *)data)[at];
    case BSM_DTYPE_DOUBLE:
      return (int64_t)((const double *)data)[at];
    case BSM_DTYPE_INT64:
      return ((const int64_t *)data)[at];
    case BSM_DTYPE_INT32:
      return ((const int32_t *)data)[at];
    case BSM_DTYPE_INT8:
      return ((const int8_t *)data)[at];
    case BSM_DTYPE_BFLOAT16: {
      const uint32_t bits = (uint32_t)((const uint16_t *)data)[at] << 16;
      float f;
      memcpy(&f, &bits, sizeof(f));
      return (int64_t)f;
    }
    case BSM_DTYPE_HALF: {
      const int h = ((const uint16_t *)data)[at];
      const double m =
          h & 0x7fff ? ldexp(1024 + (h & 1023), (h >> 10 & 31) - 25) : 0;
      return (int64_t)(h & 0x8000 ? -m : m);
    }
    default:
      return ((const uint8_t *)data)[at];
  }
}

static int64_t reduced(bsm_dtype dtype, int32_t how, int64_t a, int64_t b) {
  int64_t v = b;
  if (how == BSM_SCATTER_ADD) v = a + b;
  if (how == BSM_SCATTER_MUL) v = a * b;
  if (how == BSM_SCATTER_MIN) v = b < a ? b : a;
  if (how == BSM_SCATTER_MAX) v = b > a ? b : a;
  if (dtype == BSM_DTYPE_BOOL) v = v != 0;
  if (dtype == BSM_DTYPE_UINT8) v = (uint8_t)v;
  if (dtype == BSM_DTYPE_INT8) v = (int8_t)(uint8_t)v;
  return v;
}

static const bsm_plan_tensor *in(const harness *h, uint32_t i) {
  return &h->tensors[h->step.inputs[i]];
}

static int64_t index_at(const harness *h, const int64_t *index) {
  const bsm_plan_tensor *t = in(h, 1);
  const int64_t o = offset_of(t, index);
  return t->dtype == BSM_DTYPE_INT32 ? ((const int32_t *)h->inputs[1])[o]
                                     : ((const int64_t *)h->inputs[1])[o];
}

/* Where the update at `index` goes, and its index tuple's number. */
static void place(const harness *h, const int64_t *index, int64_t *to) {
  const bsm_step_scatter *p = &h->params.scatter;
  const bsm_dims x = in(h, 0)->dims, z = in(h, 1)->dims;
  int64_t at[BSM_MAX_RANK] = {0};
  if (p->mode == BSM_SCATTER_ELEMENT) {
    memcpy(to, index, sizeof(at));
    to[p->axis] = index_at(h, index);
    if (to[p->axis] < 0) to[p->axis] += x.d[p->axis];
    return;
  }
  const int32_t lead = z.rank - 1, depth = (int32_t)z.d[lead];
  for (int32_t i = 0; i < lead; i++) at[i] = index[p->axis + i];
  for (int32_t i = 0; i < x.rank; i++) {
    if (i < p->axis) {
      to[i] = index[i];
    } else if (i < p->axis + depth) {
      at[lead] = i - p->axis;
      to[i] = index_at(h, at);
      if (to[i] < 0) to[i] += x.d[i];
    } else {
      to[i] = index[i - depth + lead];
    }
  }
}

typedef struct expected {
  int64_t *values;
  bool *written;
} expected;

static int64_t linear(bsm_dims d, const int64_t *index) {
  int64_t at = 0;
  for (int32_t i = 0; i < d.rank; i++) at = at * d.d[i] + index[i];
  return at;
}

/* From the inputs as they are now: the step may overwrite its data. */
static expected expect(harness *h) {
  const bsm_step_scatter *p = &h->params.scatter;
  const bsm_plan_tensor *x = in(h, 0), *u = in(h, 2);
  int64_t index[BSM_MAX_RANK] = {0}, to[BSM_MAX_RANK] = {0}, n = 1;
  for (int32_t i = 0; i < x->dims.rank; i++) n *= x->dims.d[i];
  expected e = {calloc((size_t)n + 1, sizeof(int64_t)),
                calloc((size_t)n + 1, sizeof(bool))};
  assert_non_null(e.values);
  assert_non_null(e.written);
  const void *data = h->data[h->step.inputs[0]].data;
  do {
    e.values[linear(x->dims, index)] = get(x->dtype, data, offset_of(x, index));
  } while (next_index(x->dims, index));
  do {
    place(h, index, to);
    const int64_t v = get(u->dtype, h->inputs[2], offset_of(u, index));
    const int64_t at = linear(x->dims, to);
    const bool fresh = !p->include_self && !e.written[at];
    e.values[at] = fresh ? v : reduced(x->dtype, p->reduction, e.values[at], v);
    e.written[at] = true;
  } while (next_index(u->dims, index));
  return e;
}

static void compare(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const expected *e = arg;
  int64_t index[BSM_MAX_RANK] = {0};
  (void)isa;
  do {
    const int64_t got = get(y->dtype, h->outputs[0], offset_of(y, index));
    const int64_t want = e->values[linear(y->dims, index)];
    if (got != want) {
      fail_msg("%s: %lld, expected %lld", bsm_dtype_name(y->dtype),
               (long long)got, (long long)want);
    }
  } while (next_index(y->dims, index));
}

/* Row-major, with the order of dimensions shuffled and gaps. */
static void any_strides(harness_rng *r, bsm_dims d, int64_t *s) {
  int32_t order[BSM_MAX_RANK];
  int64_t step = 1;
  for (int32_t i = 0; i < d.rank; i++) order[i] = i;
  for (int32_t i = d.rank - 1; i > 0; i--) {
    const int32_t j = rng_range(r, 0, i), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (int32_t i = 0; i < d.rank; i++) {
    s[order[i]] = step;
    step *= d.d[order[i]] + rng_range(r, 0, 1);
  }
}

static void fill_small(harness *h, harness_rng *r, uint32_t id) {
  const bsm_plan_tensor *t = &h->tensors[id];
  const size_t n = h->data[id].size / bsm_dtype_size(t->dtype);
  for (size_t i = 0; i < n; i++) {
    put(t->dtype, h->data[id].data, (int64_t)i, rng_range(r, -2, 2));
  }
}

static void fill_indices(harness *h, harness_rng *r, int64_t size) {
  guarded *g = &h->data[h->step.inputs[1]];
  const bool narrow = in(h, 1)->dtype == BSM_DTYPE_INT32;
  const int lo = h->params.scatter.wrap ? (int)-size : 0;
  for (size_t i = 0; i < g->size / (narrow ? 4 : 8); i++) {
    const int v = rng_range(r, lo, (int)size - 1);
    if (narrow) {
      ((int32_t *)(void *)g->data)[i] = v;
    } else {
      ((int64_t *)(void *)g->data)[i] = v;
    }
  }
}

static bsm_dims random_dims(harness_rng *r, int lo, int hi, int most) {
  bsm_dims d = {.rank = rng_range(r, lo, hi)};
  for (int32_t i = 0; i < d.rank; i++) d.d[i] = rng_range(r, 1, most);
  return d;
}

/* A random scatter of `dtype`. */
static void build(harness *h, harness_rng *r, bsm_dtype dtype, bool wide) {
  bsm_step_scatter *p = &h->params.scatter;
  int64_t s[BSM_MAX_RANK];
  harness_init(h, BSM_STEP_SCATTER);
  *p = (bsm_step_scatter){.mode = rng_range(r, 0, 1),
                          .reduction = rng_range(r, 0, 4),
                          .include_self = rng_range(r, 0, 1),
                          .wrap = rng_range(r, 0, 1)};
  bsm_dims d = random_dims(r, 1, 4, 5), z, u = {0};
  if (wide) d.d[d.rank - 1] = rng_range(r, 1000, 2500);
  p->axis = rng_range(r, 0, d.rank - 1);
  int64_t size = d.d[p->axis];
  if (p->mode == BSM_SCATTER_ELEMENT) {
    z = d;
    for (int32_t i = 0; i < d.rank; i++) {
      z.d[i] = rng_range(r, 1, i == p->axis ? 4 : (int)d.d[i]);
    }
    u = z;
  } else {
    const int32_t depth = rng_range(r, 1, d.rank - p->axis);
    z = random_dims(r, 0, 2, 3);
    for (int32_t i = 0; i < p->axis; i++) u.d[u.rank++] = d.d[i];
    for (int32_t i = 0; i < z.rank; i++) u.d[u.rank++] = z.d[i];
    for (int32_t i = p->axis; i < d.rank; i++) {
      if (i >= p->axis + depth) u.d[u.rank++] = d.d[i];
      if (i < p->axis + depth && d.d[i] < size) size = d.d[i];
    }
    z.d[z.rank++] = depth;
  }
  any_strides(r, d, s);
  add_input(h, dtype, d, s);
  fill_small(h, r, 0);
  any_strides(r, z, s);
  add_input(h, rng_range(r, 0, 1) ? BSM_DTYPE_INT64 : BSM_DTYPE_INT32, z, s);
  fill_indices(h, r, size);
  any_strides(r, u, s);
  if (rng_range(r, 0, 4) == 0) memset(s, 0, sizeof(s)); /* one value for all */
  add_input(h, dtype, u, s);
  fill_small(h, r, 2);
  any_strides(r, d, s);
  add_output(h, dtype, d, s);
}

static void test_random(void **state) {
  harness_rng r = {7};
  (void)state;
  suite_needs(BSM_STEP_SCATTER);
  for (int i = 0; i < 900; i++) {
    harness h;
    build(&h, &r, dtypes[i % DTYPES], i % 10 == 0);
    expected e = expect(&h);
    harness_run_all(&h, compare, &e);
    free(e.values);
    free(e.written);
    harness_free(&h);
  }
}

/* The data lies where the output does. */
static void test_in_place(void **state) {
  harness_rng r = {11};
  (void)state;
  suite_needs(BSM_STEP_SCATTER);
  for (int i = 0; i < 200; i++) {
    harness h;
    build(&h, &r, dtypes[i % DTYPES], false);
    bsm_plan_tensor *x = &h.tensors[h.step.inputs[0]];
    const bsm_plan_tensor *y = &h.tensors[h.step.outputs[0]];
    x->place = BSM_PLACE_OUTPUT;
    memcpy(x->strides, y->strides, sizeof(x->strides));
    guard_free(&h.data[h.step.inputs[0]]);
    h.data[h.step.inputs[0]] = h.data[h.step.outputs[0]];
    h.inputs[0] = h.outputs[0];
    fill_small(&h, &r, h.step.outputs[0]);
    expected e = expect(&h);
    if (harness_runs(&h, bsm_isa_detect(), 1 + i % 2)) {
      compare(&h, bsm_isa_detect(), &e);
    }
    free(e.values);
    free(e.written);
    h.data[h.step.inputs[0]] = (guarded){0};
    harness_free(&h);
  }
}

/* NaN is kept and comes in; infinities are what clearing leaves. */
static void test_nan(void **state) {
  const float nan = NAN;
  (void)state;
  suite_needs(BSM_STEP_SCATTER);
  for (int how = BSM_SCATTER_MIN; how <= BSM_SCATTER_MAX; how++) {
    for (int self = 0; self < 2; self++) {
      harness h;
      harness_init(&h, BSM_STEP_SCATTER);
      h.params.scatter =
          (bsm_step_scatter){.reduction = how, .include_self = self};
      float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, 4), NULL);
      int64_t *z = add_input(&h, BSM_DTYPE_INT64, dims_of(1, 4), NULL);
      float *u = add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, 4), NULL);
      float *y = add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, 4), NULL);
      memcpy(x, (float[]){nan, 1, 2, 3}, 16);
      memcpy(z, (int64_t[]){0, 1, 1, 2}, 32);
      memcpy(u, (float[]){5, nan, 7, INFINITY}, 16);
      bsm_status st = harness_run(&h, bsm_isa_detect(), 1);
      assert_null(st);
      assert_true(self ? isnan(y[0]) : y[0] == 5);
      assert_true(isnan(y[1]));
      assert_true(y[2] == (self && how == BSM_SCATTER_MIN ? 2 : INFINITY));
      assert_true(y[3] == 3);
      harness_free(&h);
    }
  }
}

/* The message names index, dimension and size; nothing has been written. */
static void test_out_of_range(void **state) {
  const int64_t bad[] = {3, -4, INT64_MAX, INT64_MIN, -1};
  (void)state;
  suite_needs(BSM_STEP_SCATTER);
  for (int32_t mode = 0; mode < 2; mode++) {
    for (int i = 0; i < 5; i++) {
      harness h;
      char text[64];
      harness_init(&h, BSM_STEP_SCATTER);
      h.params.scatter =
          (bsm_step_scatter){.mode = mode, .axis = 1, .wrap = i < 4};
      add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, 1, 3), NULL);
      int64_t *z = add_input(&h, BSM_DTYPE_INT64,
                             mode ? dims_of(2, 2, 1) : dims_of(2, 1, 2), NULL);
      add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, 1, 2), NULL);
      float *y = add_output(&h, BSM_DTYPE_FLOAT, dims_of(2, 1, 3), NULL);
      z[1] = bad[i];
      y[0] = 9;
      bsm_status st = harness_run(&h, bsm_isa_detect(), 1);
      assert_int_equal(bsm_status_code(st), BSM_OUT_OF_RANGE);
      snprintf(text, sizeof(text),
               "index %lld is out of range for dimension 1 with size 3",
               (long long)bad[i]);
      assert_non_null(strstr(bsm_status_message(st), text));
      /* Where failures come late, the copy of the data came before. */
      assert_true(y[0] == 9 || !fixture_ops()->host_accessible);
      bsm_status_free(st);
      harness_free(&h);
    }
  }
}

/* A plan from outside may put the output over the indices: what is written
 * becomes an index that is far away, and must not be followed. */
static void test_overwritten_indices(void **state) {
  (void)state;
  suite_needs(BSM_STEP_SCATTER);
  for (int32_t mode = 0; mode < 2; mode++) {
    harness h;
    harness_init(&h, BSM_STEP_SCATTER);
    h.params.scatter = (bsm_step_scatter){.mode = mode, .include_self = 1};
    int64_t *x = add_input(&h, BSM_DTYPE_INT64, dims_of(1, 4), NULL);
    add_input(&h, BSM_DTYPE_INT64, mode ? dims_of(2, 4, 1) : dims_of(1, 4),
              NULL);
    int64_t *u = add_input(&h, BSM_DTYPE_INT64, dims_of(1, 4), NULL);
    add_output(&h, BSM_DTYPE_INT64, dims_of(1, 4), NULL);
    for (int i = 0; i < 4; i++) x[i] = u[i] = (int64_t)1 << 40;
    h.tensors[h.step.inputs[1]].place = BSM_PLACE_OUTPUT;
    h.tensors[h.step.inputs[1]].index = 0;
    bsm_status st = harness_run(&h, bsm_isa_detect(), 1);
    /* A device that looks at indices when it uses them tells of it. */
    if (st) assert_int_equal(bsm_status_code(st), BSM_OUT_OF_RANGE);
    bsm_status_free(st);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_nan),
      cmocka_unit_test(test_out_of_range),
      cmocka_unit_test(test_overwritten_indices),
  };
  return suite_run(argc, argv, tests);
}
