/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplies and convolutions of double, int32 and int64 against plain
 * loops: integers must agree in every bit, however often they wrap around. */
#include "tests/conformance/step_harness.h"

static const bsm_dtype dtypes[] = {BSM_DTYPE_DOUBLE, BSM_DTYPE_INT32,
                                   BSM_DTYPE_INT64};

/* A number of any of the dtypes: integers as 64 bits that wrap. */
typedef struct number {
  double d;
  uint64_t i;
} number;

static number get(bsm_dtype dtype, const void *data, int64_t index) {
  number n = {0};
  if (dtype == BSM_DTYPE_DOUBLE) {
    n.d = ((const double *)data)[index];
  } else if (dtype == BSM_DTYPE_INT32) {
    n.i = ((const uint32_t *)data)[index];
  } else {
    n.i = ((const uint64_t *)data)[index];
  }
  return n;
}

static void accumulate(number *sum, number a, number b) {
  sum->d += a.d * b.d;
  sum->i += a.i * b.i;
}

static void fill_numbers(harness_rng *r, bsm_dtype dtype, void *data,
                         size_t bytes) {
  if (dtype == BSM_DTYPE_DOUBLE) {
    double *p = data;
    for (size_t i = 0; i < bytes / 8; i++) p[i] = (double)rng_float(r);
  } else {
    uint32_t *p = data; /* all bits: products overflow */
    for (size_t i = 0; i < bytes / 4; i++) {
      p[i] = rng_next(r) << 1 ^ rng_next(r) >> 3;
    }
  }
}

static void *input_of(harness *h, harness_rng *r, bsm_dtype dtype, bsm_dims d,
                      const int64_t *strides) {
  void *data = add_input(h, dtype, d, strides);
  const guarded *g = &h->data[h->step.inputs[h->step.input_count - 1]];
  fill_numbers(r, dtype, data, g->size);
  return data;
}

static void pack(harness *h, bsm_dtype dtype, int64_t in_maps,
                 const void *values, bool transposed) {
  add_packed_for(h, 0, &h->step, in_maps, values, bsm_dtype_size(dtype),
                 transposed);
}

/* The bias, aligned as an engine's weights are. */
static void *bias_of(harness *h, harness_rng *r, bsm_dtype dtype, int64_t n) {
  const uint32_t id = h->plan.weights_count++;
  const size_t size = (size_t)n * bsm_dtype_size(dtype);
  h->weight_data[id] = guard_alloc(size, bsm_dtype_size(dtype));
  h->weights[id] = (bsm_plan_weights){h->weight_data[id].data, size};
  h->step.weights[1] = id;
  fill_numbers(r, dtype, h->weight_data[id].data, size);
  return h->weight_data[id].data;
}

typedef struct expected {
  bsm_dtype dtype;
  const number *values;
} expected;

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  size_t i = 0;
  do {
    const number got = get(e->dtype, h->outputs[0], offset_of(y, index));
    const number want = e->values[i];
    if (e->dtype == BSM_DTYPE_DOUBLE) {
      if (!(fabs(got.d - want.d) <= 1e-12)) {
        fail_msg("isa %u: %zu is %.17g, not %.17g", isa, i, got.d, want.d);
      }
    } else {
      const uint64_t mask =
          e->dtype == BSM_DTYPE_INT32 ? UINT32_MAX : UINT64_MAX;
      if (got.i != (want.i & mask)) fail_msg("isa %u: %zu differs", isa, i);
    }
    i++;
  } while (next_index(y->dims, index));
}

/* ---- matrix multiply ---- */

typedef struct product {
  int batch, m, k, n;
  bool constant_b, transposed_a, transposed_b, bias, shared_b;
} product;

static void run_product(const product *p, bsm_dtype dtype, harness_rng *rng) {
  harness h;
  harness_init(&h, BSM_STEP_MATRIX_MULTIPLY);
  bsm_step_matrix_multiply *params = &h.params.matrix_multiply;
  params->constant_b = p->constant_b;
  params->k = p->k;
  params->n = p->n;
  params->scale = 1;
  const int64_t as[3] = {(int64_t)p->m * p->k, p->transposed_a ? 1 : p->k,
                         p->transposed_a ? p->m : 1};
  const bool one_b = p->shared_b || p->constant_b;
  const int64_t bs[3] = {one_b ? 0 : (int64_t)p->k * p->n,
                         p->transposed_b ? 1 : p->n,
                         p->transposed_b ? p->k : 1};
  const void *a =
      input_of(&h, rng, dtype, dims_of(3, p->batch, p->m, p->k), as);
  const size_t b_bytes = (size_t)(p->k * p->n) * bsm_dtype_size(dtype);
  void *constant = malloc(b_bytes + 1);
  assert_non_null(constant);
  const void *b = constant;
  if (p->constant_b) {
    fill_numbers(rng, dtype, constant, b_bytes);
    pack(&h, dtype, 1, constant, p->transposed_b);
  } else {
    b = input_of(&h, rng, dtype, dims_of(3, p->batch, p->k, p->n), bs);
  }
  const bsm_dims cd = dims_of(3, p->batch, p->m, p->n);
  add_output(&h, dtype, cd, NULL);
  const void *bias = p->bias ? bias_of(&h, rng, dtype, p->n) : NULL;
  number *values =
      calloc((size_t)(p->batch * p->m * p->n) + 1, sizeof(*values));
  assert_non_null(values);
  int64_t i[BSM_MAX_RANK] = {0};
  size_t done = 0;
  do {
    number v = {0};
    for (int k = 0; k < p->k; k++) {
      accumulate(&v, get(dtype, a, i[0] * as[0] + i[1] * as[1] + k * as[2]),
                 get(dtype, b, i[0] * bs[0] + k * bs[1] + i[2] * bs[2]));
    }
    if (bias) accumulate(&v, get(dtype, bias, i[2]), (number){1, 1});
    values[done++] = v;
  } while (next_index(cd, i));
  expected e = {dtype, values};
  harness_run_all(&h, compare, &e);
  free(values);
  free(constant);
  harness_free(&h);
}

static void test_products(void **state) {
  (void)state;
  harness_rng rng = {7};
  for (size_t d = 0; d < 3; d++) {
    for (int i = 0; i < 60; i++) {
      const product p = {.batch = rng_range(&rng, 1, 5),
                         .m = rng_range(&rng, 1, 30),
                         .k = rng_range(&rng, 1, 40),
                         .n = rng_range(&rng, 1, 50),
                         .constant_b = rng_range(&rng, 0, 1) == 1,
                         .transposed_a = rng_range(&rng, 0, 1) == 1,
                         .transposed_b = rng_range(&rng, 0, 1) == 1,
                         .bias = rng_range(&rng, 0, 1) == 1,
                         .shared_b = rng_range(&rng, 0, 1) == 1};
      run_product(&p, dtypes[d], &rng);
    }
  }
}

static void compare_nothing(harness *h, uint32_t isa, void *arg) {
  (void)h;
  (void)isa;
  (void)arg;
}

/* An empty batch: the matrix that all of its products would share has no
 * elements, and is not read. */
static void test_empty_batch(void **state) {
  (void)state;
  suite_needs(BSM_STEP_MATRIX_MULTIPLY);
  for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
    harness h;
    harness_init(&h, BSM_STEP_MATRIX_MULTIPLY);
    h.params.matrix_multiply =
        (bsm_step_matrix_multiply){.k = 4, .n = 4, .scale = 1};
    add_input(&h, dtypes[i], dims_of(4, 0, 1, 3, 4), NULL);
    add_input(&h, dtypes[i], dims_of(4, 0, 1, 4, 4), NULL);
    add_output(&h, dtypes[i], dims_of(4, 0, 1, 3, 4), NULL);
    harness_run_all(&h, compare_nothing, NULL);
    harness_free(&h);
  }
}

/* Several blocks of rows, columns and K. */
static void test_blocks(void **state) {
  (void)state;
  harness_rng rng = {8};
  for (size_t d = 0; d < 3; d++) {
    run_product(&(product){.batch = 1, .m = 101, .k = 300, .n = 530}, dtypes[d],
                &rng);
    run_product(&(product){.batch = 2,
                           .m = 49,
                           .k = 513,
                           .n = 33,
                           .constant_b = true,
                           .bias = true},
                dtypes[d], &rng);
    run_product(&(product){.batch = 1, .m = 1, .k = 700, .n = 600}, dtypes[d],
                &rng);
  }
}

/* ---- convolution ---- */

typedef struct shape {
  int n, groups, ci, co, spatial; /* maps of a group */
  int size[3], kernel[3], stride[3], dilation[3], pad[3];
  bool transposed, bias;
} shape;

static bool tap_place(const shape *s, int d, int64_t o, int64_t t,
                      int64_t *place) {
  if (s->transposed) {
    const int64_t scaled = o + s->pad[d] - t * s->dilation[d];
    if (scaled < 0 || scaled % s->stride[d]) return false;
    *place = scaled / s->stride[d];
  } else {
    *place = o * s->stride[d] - s->pad[d] + t * s->dilation[d];
  }
  return *place >= 0 && *place < s->size[d];
}

/* The layouts are [n, d, h, w, c] for x and [out, in, taps] for the kernel (or
 * [in, out, taps], transposed). */
static number window_sum(const shape *s, bsm_dtype dtype, const void *x,
                         const void *w, const int64_t *o, int64_t n,
                         int64_t map) {
  number sum = {0};
  const int64_t group = map / s->co, c = (int64_t)s->groups * s->ci;
  const int64_t taps = (int64_t)s->kernel[0] * s->kernel[1] * s->kernel[2];
  for (int64_t t = 0; t < taps; t++) {
    const int64_t at[3] = {t / (s->kernel[1] * s->kernel[2]),
                           t / s->kernel[2] % s->kernel[1], t % s->kernel[2]};
    int64_t p[3];
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      inside = inside && tap_place(s, d, o[d], at[d], &p[d]);
    }
    if (!inside) continue;
    const int64_t pixel =
        ((n * s->size[0] + p[0]) * s->size[1] + p[1]) * s->size[2] + p[2];
    for (int64_t i = 0; i < s->ci; i++) {
      const int64_t in = group * s->ci + i;
      const int64_t k = s->transposed ? (in * s->co + map % s->co) * taps + t
                                      : (map * s->ci + i) * taps + t;
      accumulate(&sum, get(dtype, x, pixel * c + in), get(dtype, w, k));
    }
  }
  return sum;
}

static bsm_dims image_dims(int n, int c, const int *size, int spatial,
                           int64_t *strides) {
  bsm_dims d = {.rank = 2 + spatial, .d = {n, c}};
  int64_t step = c;
  for (int i = spatial - 1; i >= 0; i--) {
    d.d[2 + i] = size[3 - spatial + i];
    strides[2 + i] = step;
    step *= d.d[2 + i];
  }
  strides[0] = step;
  strides[1] = 1;
  return d;
}

static void run_shape(const shape *s, bsm_dtype dtype, harness_rng *rng) {
  harness h;
  int out[3];
  int64_t strides[BSM_MAX_RANK];
  harness_init(&h,
               s->transposed ? BSM_STEP_DECONVOLUTION : BSM_STEP_CONVOLUTION);
  bsm_step_convolution *params = &h.params.convolution;
  params->groups = s->groups;
  params->out_maps = (int64_t)s->groups * s->co;
  params->window.spatial = s->spatial;
  for (int d = 0; d < 3; d++) {
    const int span = s->dilation[d] * (s->kernel[d] - 1) + 1;
    out[d] = s->transposed
                 ? (s->size[d] - 1) * s->stride[d] + span - 2 * s->pad[d]
                 : (s->size[d] + 2 * s->pad[d] - span) / s->stride[d] + 1;
    if (out[d] < 1 || (!s->transposed && s->size[d] + 2 * s->pad[d] < span)) {
      return;
    }
    params->window.kernel[d] = s->kernel[d];
    params->window.stride[d] = s->stride[d];
    params->window.dilation[d] = s->dilation[d];
    params->window.pre_padding[d] = params->window.post_padding[d] = s->pad[d];
  }
  const int c = s->groups * s->ci, maps = s->groups * s->co;
  const bsm_dims xd = image_dims(s->n, c, s->size, s->spatial, strides);
  const void *x = input_of(&h, rng, dtype, xd, strides);
  const size_t count =
      (size_t)(maps * s->ci * s->kernel[0] * s->kernel[1] * s->kernel[2]);
  void *w = malloc(count * bsm_dtype_size(dtype));
  assert_non_null(w);
  fill_numbers(rng, dtype, w, count * bsm_dtype_size(dtype));
  pack(&h, dtype, c, w, false);
  const bsm_dims yd = image_dims(s->n, maps, out, s->spatial, strides);
  add_output(&h, dtype, yd, strides);
  const void *bias = s->bias ? bias_of(&h, rng, dtype, maps) : NULL;
  const size_t total = (size_t)(s->n * maps * out[0] * out[1] * out[2]);
  number *values = calloc(total, sizeof(*values));
  assert_non_null(values);
  for (size_t i = 0; i < total; i++) {
    int64_t rest = (int64_t)i, o[3];
    for (int d = 2; d >= 0; d--) {
      o[d] = rest % out[d];
      rest /= out[d];
    }
    values[i] = window_sum(s, dtype, x, w, o, rest / maps, rest % maps);
    if (bias) {
      accumulate(&values[i], get(dtype, bias, rest % maps), (number){1, 1});
    }
  }
  expected e = {dtype, values};
  harness_run_all(&h, compare, &e);
  free(values);
  free(w);
  harness_free(&h);
}

static void random_shape(harness_rng *r, bool transposed, bool depthwise,
                         shape *s) {
  *s = (shape){.n = rng_range(r, 1, 2),
               .groups = rng_range(r, 0, 1) ? rng_range(r, 2, 5) : 1,
               .ci = rng_range(r, 1, 9),
               .co = rng_range(r, 1, 20),
               .spatial = rng_range(r, 1, 3),
               .transposed = transposed,
               .bias = rng_range(r, 0, 1) == 1};
  if (depthwise) {
    s->groups = rng_range(r, 2, 40);
    s->ci = s->co = 1;
  }
  for (int d = 0; d < 3; d++) {
    const bool missing = d < 3 - s->spatial;
    s->size[d] = missing ? 1 : rng_range(r, 1, 9);
    s->kernel[d] = missing ? 1 : rng_range(r, 1, 3);
    s->stride[d] = missing ? 1 : rng_range(r, 1, 3);
    s->dilation[d] = missing ? 1 : rng_range(r, 1, 2);
    s->pad[d] = missing ? 0 : rng_range(r, 0, 2);
  }
}

static void run_shapes(bool transposed, bool depthwise, int count) {
  harness_rng rng = {transposed ? 21u : depthwise ? 22u : 23u};
  for (size_t d = 0; d < 3; d++) {
    for (int i = 0; i < count; i++) {
      shape s;
      random_shape(&rng, transposed, depthwise, &s);
      run_shape(&s, dtypes[d], &rng);
    }
  }
}

static void test_convolutions(void **state) {
  (void)state;
  run_shapes(false, false, 50);
}

static void test_deconvolutions(void **state) {
  (void)state;
  run_shapes(true, false, 50);
}

static void test_depthwise(void **state) {
  (void)state;
  run_shapes(false, true, 30);
}

/* What only float has is refused, not ignored, by a device that has it for
 * float alone. */
static void test_refusals(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    harness h;
    harness_rng rng = {1};
    harness_init(&h, BSM_STEP_MATRIX_MULTIPLY);
    h.params.matrix_multiply.scale = i == 0 ? 0.5 : 1;
    if (i == 1) {
      h.params.matrix_multiply.epilogue.activation = BSM_ACTIVATION_RELU;
    }
    input_of(&h, &rng, BSM_DTYPE_DOUBLE, dims_of(2, 2, 2), NULL);
    input_of(&h, &rng, BSM_DTYPE_DOUBLE, dims_of(2, 2, 2), NULL);
    add_output(&h, BSM_DTYPE_DOUBLE, dims_of(2, 2, 2), NULL);
    bsm_status st = harness_run(&h, 0, 1);
    assert_true(st || !suite_is_for("cpu"));
    bsm_status_free(st);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_empty_batch),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_convolutions),
      cmocka_unit_test(test_deconvolutions),
      cmocka_unit_test(test_depthwise),
      cmocka_unit_test(test_refusals),
  };
  return suite_run(argc, argv, tests);
}
