/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent steps against plain loops in double, on every instruction set,
 * with one and two threads, in all dtypes that the device has. */
#include "tests/conformance/step_harness.h"

typedef struct network {
  bsm_recurrent_operation operation;
  int directions, length, batch, input, hidden, projection;
  bool batch_first;     /* strides of the sequences */
  bool input_backwards; /* the input's features are not adjacent */
  bool wide;            /* gaps between the rows of the output */
  bool padded;          /* samples of different lengths */
  bsm_dtype dtype;      /* 0: float */
} network;

static bsm_dtype dtype_of(const network *n) {
  return n->dtype ? n->dtype : BSM_DTYPE_FLOAT;
}

static double get(bsm_dtype dtype, const void *data, int64_t i) {
  union {
    uint32_t bits;
    float value;
  } wide;
  switch (dtype) {
    case BSM_DTYPE_DOUBLE:
      return ((const double *)data)[i];
    case BSM_DTYPE_HALF:
      return (double)bsm_half_to_float(((const uint16_t *)data)[i]);
    case BSM_DTYPE_BFLOAT16:
      wide.bits = (uint32_t)((const uint16_t *)data)[i] << 16;
      return (double)wide.value;
    default:
      return (double)((const float *)data)[i];
  }
}

/* What of it the dtype holds. */
static void put(bsm_dtype dtype, void *data, int64_t i, float value) {
  const union {
    float value;
    uint32_t bits;
  } wide = {value};
  switch (dtype) {
    case BSM_DTYPE_DOUBLE:
      ((double *)data)[i] = (double)value;
      break;
    case BSM_DTYPE_HALF:
      ((uint16_t *)data)[i] = bsm_float_to_half(value);
      break;
    case BSM_DTYPE_BFLOAT16:
      ((uint16_t *)data)[i] = (uint16_t)(wide.bits >> 16);
      break;
    default:
      ((float *)data)[i] = value;
      break;
  }
}

/* How far a value may be off that is rounded to the dtype once. */
static double rounding(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF       ? 0x1p-11
         : dtype == BSM_DTYPE_BFLOAT16 ? 0x1p-8
                                       : 0;
}

static int gates_of(const network *n) {
  return n->operation == BSM_RECURRENT_LSTM  ? 4
         : n->operation == BSM_RECURRENT_GRU ? 3
                                             : 1;
}

static int state_of(const network *n) {
  return n->projection ? n->projection : n->hidden;
}

static size_t weight_count(const network *n) {
  const int rows = gates_of(n) * n->hidden;
  return (size_t)(rows * n->input + rows * state_of(n) +
                  n->projection * n->hidden + 2 * rows);
}

static double logistic(double x) {
  return 1.0 / (1.0 + exp(-x));
}

static double row_product(const float *w, const double *x, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += (double)w[i] * x[i];
  return s;
}

/* One step of one sample; `h` has P values, `c` and `to` H. */
static void cell_step(const network *n, const float *w, const double *x,
                      double *h, double *c) {
  const int gates = gates_of(n), hidden = n->hidden, rows = gates * hidden;
  const int p = state_of(n);
  const float *w_hh = w + rows * n->input, *w_hr = w_hh + rows * p;
  const float *b_ih = w_hr + n->projection * hidden, *b_hh = b_ih + rows;
  double *out = malloc((size_t)hidden * sizeof(double));
  assert_non_null(out);
  for (int j = 0; j < hidden; j++) {
    double a[4], b[4];
    for (int g = 0; g < gates; g++) {
      const int row = g * hidden + j;
      a[g] = row_product(w + row * n->input, x, n->input) + (double)b_ih[row];
      b[g] = row_product(w_hh + row * p, h, p) + (double)b_hh[row];
    }
    if (n->operation == BSM_RECURRENT_LSTM) {
      c[j] = logistic(a[1] + b[1]) * c[j] +
             logistic(a[0] + b[0]) * tanh(a[2] + b[2]);
      out[j] = logistic(a[3] + b[3]) * tanh(c[j]);
    } else if (n->operation == BSM_RECURRENT_GRU) {
      const double fresh = tanh(a[2] + logistic(a[0] + b[0]) * b[2]);
      out[j] = fresh + logistic(a[1] + b[1]) * (h[j] - fresh);
    } else if (n->operation == BSM_RECURRENT_TANH) {
      out[j] = tanh(a[0] + b[0]);
    } else {
      out[j] = a[0] + b[0] > 0 ? a[0] + b[0] : 0;
    }
  }
  for (int i = 0; i < p; i++) {
    h[i] = n->projection ? row_product(w_hr + i * hidden, out, hidden) : out[i];
  }
  free(out);
}

typedef struct expected {
  bsm_dtype dtype;
  double *values[3]; /* row-major */
  double tolerance;
} expected;

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  for (uint32_t k = 0; k < h->step.output_count; k++) {
    const bsm_plan_tensor *y = &h->tensors[h->step.outputs[k]];
    int64_t index[BSM_MAX_RANK] = {0};
    size_t i = 0;
    char what[64];
    snprintf(what, sizeof(what), "isa %u, output %u", isa, k);
    do {
      const double want = e->values[k][i++];
      assert_close(get(e->dtype, h->outputs[k], offset_of(y, index)), want,
                   e->tolerance + fabs(want) * rounding(e->dtype), what);
    } while (next_index(y->dims, index));
  }
}

static double *doubles(size_t count) {
  double *p = calloc(count + 1, sizeof(double));
  assert_non_null(p);
  return p;
}

/* Runs the loops: e->values hold the initial states first. */
static void reference(const network *n, const harness *h, const float *weights,
                      expected *e) {
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const int p = state_of(n), d_count = n->directions;
  double *in = doubles((size_t)n->input);
  for (int d = 0; d < d_count; d++) {
    for (int b = 0; b < n->batch; b++) {
      double *state = e->values[1] + (d * n->batch + b) * p;
      double *cell = e->values[2] + (d * n->batch + b) * n->hidden;
      for (int s = 0; s < n->length; s++) {
        const int t = d ? n->length - 1 - s : s;
        if (n->padded && t >= ((const int64_t *)h->weight_data[1].data)[b]) {
          continue; /* the values are 0 */
        }
        for (int i = 0; i < n->input; i++) {
          in[i] =
              get(x->dtype, h->inputs[0], offset_of(x, (int64_t[]){t, b, i}));
        }
        cell_step(n, weights + (size_t)d * weight_count(n), in, state, cell);
        for (int i = 0; i < p; i++) {
          e->values[0][((t * n->batch + b) * d_count + d) * p + i] = state[i];
        }
      }
    }
  }
  free(in);
}

/* Adds an input of random values. */
static const void *add_values(const network *n, harness *h, harness_rng *rng,
                              bsm_dims dims, const int64_t *strides) {
  const bsm_dtype dtype = dtype_of(n);
  void *data = add_input(h, dtype, dims, strides);
  const guarded *g = &h->data[h->step.inputs[h->step.input_count - 1]];
  const size_t count = g->size / bsm_dtype_size(dtype);
  for (size_t i = 0; i < count; i++) {
    put(dtype, data, (int64_t)i, rng_float(rng));
  }
  return data;
}

/* Adds a state, as input and as expected values. */
static void add_state(const network *n, harness *h, harness_rng *rng,
                      bsm_dims dims, double *values) {
  const void *data = add_values(n, h, rng, dims, NULL);
  const int64_t count = dims.d[0] * dims.d[1] * dims.d[2];
  for (int64_t i = 0; i < count; i++) values[i] = get(dtype_of(n), data, i);
}

/* Packs the weights; they become what the dtype holds of them. */
static void pack_weights(const network *n, harness *h, float *weights,
                         size_t count) {
  const bsm_dtype dtype = dtype_of(n);
  void *typed = malloc(count * bsm_dtype_size(dtype) + 1);
  assert_non_null(typed);
  for (size_t i = 0; i < count; i++) {
    put(dtype, typed, (int64_t)i, weights[i]);
    weights[i] = (float)get(dtype, typed, (int64_t)i);
  }
  add_packed_for(h, 0, &h->step, 0, typed, bsm_dtype_size(dtype), false);
  free(typed);
}

static void set_params(const network *n, harness *h) {
  harness_init(h, BSM_STEP_RECURRENT);
  h->params.recurrent = (bsm_step_recurrent){.operation = (int32_t)n->operation,
                                             .directions = n->directions,
                                             .input = n->input,
                                             .hidden = n->hidden,
                                             .projection = n->projection};
}

/* A step with all its tensors; the weights are returned. */
static float *build(const network *n, harness_rng *rng, harness *h,
                    expected *e) {
  const int t = n->length, b = n->batch, d = n->directions, p = state_of(n);
  const bool lstm = n->operation == BSM_RECURRENT_LSTM;
  set_params(n, h);
  int64_t xs[3] = {(int64_t)b * n->input, n->input, 1};
  int64_t ys[3] = {(int64_t)b * d * p, (int64_t)d * p, 1};
  if (n->batch_first) {
    xs[0] = n->input;
    xs[1] = (int64_t)t * n->input;
    ys[0] = (int64_t)d * p;
    ys[1] = (int64_t)t * d * p;
  }
  if (n->input_backwards) {
    xs[2] = (int64_t)t * b;
    xs[0] = b;
    xs[1] = 1;
  }
  if (n->wide) {
    ys[1] += 3;
    ys[0] = (n->batch_first ? 1 : b) * ys[1];
    if (n->batch_first) ys[1] = t * ys[0];
  }
  const bsm_dims hd = dims_of(3, d, b, p), cd = dims_of(3, d, b, n->hidden);
  const bsm_dtype dtype = dtype_of(n);
  e->dtype = dtype;
  e->tolerance = dtype == BSM_DTYPE_DOUBLE ? 1e-12 : 2e-5;
  add_values(n, h, rng, dims_of(3, t, b, n->input), xs);
  e->values[0] = doubles((size_t)(t * b * d * p));
  e->values[1] = doubles((size_t)(d * b * p));
  e->values[2] = doubles((size_t)(d * b * n->hidden));
  add_state(n, h, rng, hd, e->values[1]);
  if (lstm) add_state(n, h, rng, cd, e->values[2]);
  add_output(h, dtype, dims_of(3, t, b, d * p), ys);
  add_output(h, dtype, hd, NULL);
  if (lstm) add_output(h, dtype, cd, NULL);
  const size_t size = weight_count(n) * (size_t)d * sizeof(float);
  float *weights = malloc(size + 1);
  assert_non_null(weights);
  fill_floats(rng, weights, size);
  /* Sums of the usual size, so that gates are neither open nor closed. */
  const float scale = 1.7f / sqrtf((float)(n->input + p + 1));
  for (size_t i = 0; i < size / sizeof(float); i++) weights[i] *= scale;
  pack_weights(n, h, weights, size / sizeof(float));
  if (n->padded) {
    int64_t *lengths = add_weights(h, 1, (size_t)b * sizeof(int64_t));
    for (int i = 0; i < b; i++) lengths[i] = rng_range(rng, 0, t);
  }
  return weights;
}

static void release(harness *h, expected *e, float *weights) {
  for (int i = 0; i < 3; i++) free(e->values[i]);
  free(weights);
  harness_free(h);
}

static void run_network(const network *n, harness_rng *rng) {
  harness h;
  expected e;
  float *weights = build(n, rng, &h, &e);
  reference(n, &h, weights, &e);
  harness_run_all(&h, compare, &e);
  release(&h, &e, weights);
}

static void run_random(harness_rng *r, int count, bsm_dtype dtype) {
  for (int i = 0; i < count; i++) {
    network n = {.dtype = dtype,
                 .operation = (bsm_recurrent_operation)rng_range(r, 0, 3),
                 .directions = rng_range(r, 1, 2),
                 .length = rng_range(r, 1, 9),
                 .batch = rng_range(r, 1, 9),
                 .input = rng_range(r, 1, 40),
                 .hidden = rng_range(r, 1, 50),
                 .batch_first = rng_range(r, 0, 1),
                 .input_backwards = rng_range(r, 0, 4) == 0,
                 .wide = rng_range(r, 0, 1),
                 .padded = rng_range(r, 0, 2) == 0};
    if (n.operation == BSM_RECURRENT_LSTM && rng_range(r, 0, 2) == 0) {
      n.projection = rng_range(r, 1, 40);
    }
    run_network(&n, r);
  }
}

static void test_random(void **state) {
  harness_rng r = {21};
  (void)state;
  suite_needs(BSM_STEP_RECURRENT);
  run_random(&r, 120, BSM_DTYPE_FLOAT);
}

static void test_dtypes(void **state) {
  static const bsm_dtype dtypes[] = {BSM_DTYPE_HALF, BSM_DTYPE_BFLOAT16,
                                     BSM_DTYPE_DOUBLE};
  (void)state;
  suite_needs(BSM_STEP_RECURRENT);
  if (suite_is_for("cpu")) skip(); /* it has them in float alone */
  for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
    harness_rng r = {27};
    run_random(&r, 30, dtypes[i]);
    /* Its inputs are multiplied in tiles. */
    const network large = {.dtype = dtypes[i],
                           .operation = BSM_RECURRENT_LSTM,
                           .directions = 1,
                           .length = 9,
                           .batch = 3,
                           .input = 64,
                           .hidden = 160,
                           .batch_first = i == 1};
    run_network(&large, &r);
  }
}

/* In 16 bits, by tensor cores of GPUs: units that fill their tiles, and that do
 * not; one tile of samples, several, and a part of one; all weights in
 * registers, and some in shared memory; in chunks. */
static void test_narrow(void **state) {
  static const network cases[] = {
      {BSM_RECURRENT_LSTM, 1, 5, 30, 16, 64, 0, false, false, false, false,
       BSM_DTYPE_HALF},
      {BSM_RECURRENT_GRU, 2, 4, 70, 5, 37, 0, true, false, true, true,
       BSM_DTYPE_HALF},
      {BSM_RECURRENT_TANH, 2, 6, 17, 40, 100, 0, false, false, false, true,
       BSM_DTYPE_BFLOAT16},
      {BSM_RECURRENT_LSTM, 1, 3, 8, 8, 448, 0, false, false, false, false,
       BSM_DTYPE_HALF},
      {BSM_RECURRENT_GRU, 1, 3, 113, 8, 130, 0, false, false, false, false,
       BSM_DTYPE_BFLOAT16},
      {BSM_RECURRENT_LSTM, 1, 90, 250, 1, 48, 0, true, false, false, true,
       BSM_DTYPE_HALF},
  };
  harness_rng r = {29};
  (void)state;
  suite_needs(BSM_STEP_RECURRENT);
  if (suite_is_for("cpu")) skip(); /* it has them in float alone */
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    run_network(&cases[i], &r);
  }
}

/* Several chunks; columns split between threads; blocks of K; colliding rows;
 * the thin and the full kernels. */
static void test_large(void **state) {
  static const network cases[] = {
      {BSM_RECURRENT_LSTM, 1, 300, 1, 24, 600, 0, false, false, false, false},
      {BSM_RECURRENT_GRU, 2, 9, 3, 512, 260, 0, true, false, false, false},
      {BSM_RECURRENT_LSTM, 1, 40, 40, 20, 130, 0, true, false, true, true},
      {BSM_RECURRENT_LSTM, 2, 6, 17, 520, 200, 70, false, false, false, false},
      {BSM_RECURRENT_TANH, 1, 5, 6, 30, 1300, 0, false, false, false, false},
      {BSM_RECURRENT_RELU, 1, 4, 5, 1, 1200, 0, false, false, false, false},
      {BSM_RECURRENT_LSTM, 2, 140, 60, 3, 64, 0, true, false, false, true},
  };
  harness_rng r = {22};
  (void)state;
  suite_needs(BSM_STEP_RECURRENT);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    network n = cases[i];
    if (n.operation == BSM_RECURRENT_RELU) n.length = 2;
    run_network(&n, &r);
  }
}

/* The same bits however many threads there are, and however they share the
 * work: directions, samples, or columns. */
static void test_threads(void **state) {
  static const network cases[] = {
      {BSM_RECURRENT_LSTM, 1, 4, 1, 24, 700, 0, false, false, false, false},
      {BSM_RECURRENT_LSTM, 2, 4, 4, 24, 300, 0, false, false, false, true},
      {BSM_RECURRENT_GRU, 2, 5, 13, 30, 500, 0, true, false, false, true},
      {BSM_RECURRENT_LSTM, 1, 4, 11, 30, 150, 60, false, false, false, false},
      {BSM_RECURRENT_TANH, 1, 70, 5, 9, 33, 0, false, false, false, false},
      {BSM_RECURRENT_LSTM, 1, 5, 2, 24, 400, 205, false, false, true, true},
      {BSM_RECURRENT_LSTM, 2, 4, 7, 24, 300, 130, false, false, false, true},
      {BSM_RECURRENT_GRU, 1, 6, 3, 24, 410, 0, true, false, false, true},
      {BSM_RECURRENT_RELU, 1, 7, 4, 24, 900, 0, false, false, false, true},
      {BSM_RECURRENT_LSTM, 1, 5, 24, 40, 410, 0, false, false, false, true},
  };
  harness_rng r = {26};
  (void)state;
  suite_needs(BSM_STEP_RECURRENT);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    harness h;
    expected e;
    float *weights = build(&cases[i], &r, &h, &e);
    uint8_t *first[3] = {NULL};
    for (int threads = 1; threads <= 9; threads += threads < 3 ? 1 : 3) {
      assert_null(harness_run(&h, BSM_ISA_DETECT, threads));
      for (uint32_t k = 0; k < h.step.output_count; k++) {
        const guarded *g = &h.data[h.step.outputs[k]];
        if (threads == 1) {
          first[k] = malloc(g->size);
          assert_non_null(first[k]);
          memcpy(first[k], g->data, g->size);
        }
        assert_memory_equal(first[k], g->data, g->size);
      }
    }
    for (int k = 0; k < 3; k++) free(first[k]);
    release(&h, &e, weights);
  }
}

/* NaN and infinities go where they should: a sample of its own is alone. */
static void test_not_finite(void **state) {
  const network n = {
      BSM_RECURRENT_LSTM, 1, 3, 6, 5, 20, 0, false, false, false, false};
  harness_rng r = {23};
  harness h;
  expected e;
  uint32_t isas[8];
  (void)state;
  suite_needs(BSM_STEP_RECURRENT);
  float *weights = build(&n, &r, &h, &e);
  ((float *)h.inputs[0])[1 * 5 + 2] = NAN; /* step 0, sample 1 */
  const int count = harness_isas(isas);
  for (int k = 0; k < count; k++) {
    assert_null(harness_run(&h, isas[k], 2));
    const float *y = h.outputs[0];
    for (int t = 0; t < 3; t++) {
      for (int b = 0; b < 6; b++) {
        for (int i = 0; i < 20; i++) {
          assert_int_equal(isnan(y[(t * 6 + b) * 20 + i]) != 0, b == 1);
        }
      }
    }
  }
  release(&h, &e, weights);
}

/* ---- what a hostile plan may hold ---- */

static void refuse(harness *h, const char *what) {
  bsm_status st = harness_check(h);
  if (!st) fail_msg("accepted: %s", what);
  bsm_status_free(st);
}

static void test_hostile(void **state) {
  const network n = {
      BSM_RECURRENT_LSTM, 2, 3, 2, 5, 7, 3, false, false, false, false};
  harness_rng r = {24};
  harness h;
  expected e;
  (void)state;
  suite_needs(BSM_STEP_RECURRENT);
  float *weights = build(&n, &r, &h, &e);
  assert_null(harness_check(&h));
  bsm_step_recurrent *p = &h.params.recurrent;
  const bsm_step_recurrent good = *p;
  const int64_t bad[] = {
      -1, INT64_MIN, INT64_MAX, (int64_t)1 << 40, (int64_t)1 << 60, 6};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    p->input = bad[i];
    refuse(&h, "input");
    *p = good;
    p->hidden = bad[i];
    refuse(&h, "hidden");
    *p = good;
    p->projection = bad[i];
    refuse(&h, "projection");
    *p = good;
    p->operation = (int32_t)(bad[i] | 4);
    refuse(&h, "operation");
    *p = good;
    p->directions = (int32_t)bad[i];
    refuse(&h, "directions");
    *p = good;
  }
  p->hidden = 0;
  refuse(&h, "no hidden units");
  *p = good;
  p->projection = 0;
  refuse(&h, "projection left out");
  *p = good;
  for (int k = 0; k < 3; k++) {
    bsm_plan_tensor *t[2] = {&h.tensors[h.step.inputs[k]],
                             &h.tensors[h.step.outputs[k]]};
    for (int side = 0; side < 2; side++) {
      const bsm_plan_tensor before = *t[side];
      for (int d = 0; d < 3; d++) {
        if (k == 0 && side == 0 && d == 0) continue; /* see below */
        t[side]->dims.d[d]++;
        refuse(&h, "dims");
        *t[side] = before;
      }
      t[side]->dims.rank = 2;
      refuse(&h, "rank");
      *t[side] = before;
      t[side]->dtype = BSM_DTYPE_DOUBLE;
      refuse(&h, "dtype");
      *t[side] = before;
    }
  }
  h.tensors[h.step.inputs[0]].dims.d[0]++;
  refuse(&h, "more steps than the output has");
  h.tensors[h.step.inputs[0]].dims.d[0]--;
  h.tensors[h.step.outputs[0]].strides[2] = 2;
  h.tensors[h.step.outputs[0]].strides[1] *= 2;
  h.tensors[h.step.outputs[0]].strides[0] *= 2;
  refuse(&h, "stride");
  bsm_contiguous_strides(h.tensors[h.step.outputs[0]].dims,
                         h.tensors[h.step.outputs[0]].strides);
  h.weights[0].size -= 4;
  refuse(&h, "weights");
  h.weights[0].size += 4;
  h.step.input_count = 2;
  refuse(&h, "inputs");
  h.step.input_count = 3;
  h.step.weights[1] = h.step.weights[0];
  refuse(&h, "lengths");
  h.step.weights[1] = BSM_NO_WEIGHTS;
  h.step.weights[0] = BSM_NO_WEIGHTS;
  refuse(&h, "no weights");
  release(&h, &e, weights);
}

/* No samples: nothing is touched. */
static void test_empty_batch(void **state) {
  const network n = {
      BSM_RECURRENT_GRU, 1, 3, 0, 5, 7, 0, false, false, false, false};
  harness_rng r = {25};
  harness h;
  expected e;
  (void)state;
  suite_needs(BSM_STEP_RECURRENT);
  float *weights = build(&n, &r, &h, &e);
  assert_null(harness_run(&h, BSM_ISA_DETECT, 2));
  release(&h, &e, weights);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),      cmocka_unit_test(test_large),
      cmocka_unit_test(test_not_finite),  cmocka_unit_test(test_hostile),
      cmocka_unit_test(test_empty_batch), cmocka_unit_test(test_threads),
      cmocka_unit_test(test_dtypes),      cmocka_unit_test(test_narrow),
  };
  return suite_run(argc, argv, tests);
}
