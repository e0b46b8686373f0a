/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of float8_e4m3fn: convolutions against plain loops in double, and
 * programs that make such numbers of floats and floats of them. */
#include "network/layer.h"
#include "tests/conformance/step_harness.h"

#define E4M3 BSM_DTYPE_FLOAT8_E4M3FN
/* Tensor cores add products of float8 with 13 bits behind the greatest of some.
 */
#define OFF 0x1p-11

typedef struct shape {
  int n, groups, ci, co, spatial; /* maps of a group */
  int size[3], kernel[3], stride[3], dilation[3], pad[3];
  int extra;             /* elements between pixels */
  bsm_dtype y, residual; /* UNDEFINED: there is none */
  bsm_activation_type activation;
} shape;

/* ---- numbers: as the format is written down, bit by bit ---- */

static double number_of(uint8_t bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  const double size =
      exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
  if ((bits & 0x7f) == 0x7f) return NAN;
  return bits & 0x80 ? -size : size;
}

/* How far numbers are apart where v lies, half of that. */
static double half_step(double v) {
  int exponent;
  (void)frexp(fabs(v), &exponent);
  return ldexp(1, (exponent < -5 ? -5 : exponent) - 5);
}

static uint8_t random_bits(harness_rng *rng) {
  return bsm_float_to_float8(E4M3, rng_float(rng) * 12);
}

static double element_of(bsm_dtype dtype, const void *data, int64_t at) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      return (double)((const float *)data)[at];
    case BSM_DTYPE_HALF:
      return (double)bsm_half_to_float(((const uint16_t *)data)[at]);
    case BSM_DTYPE_BFLOAT16:
      return (double)bsm_bfloat16_to_float(((const uint16_t *)data)[at]);
    default:
      return number_of(((const uint8_t *)data)[at]);
  }
}

static void set_element(bsm_dtype dtype, void *data, int64_t at, float v) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      ((float *)data)[at] = v;
      break;
    case BSM_DTYPE_HALF:
      ((uint16_t *)data)[at] = bsm_float_to_half(v);
      break;
    case BSM_DTYPE_BFLOAT16:
      ((uint16_t *)data)[at] = bsm_float_to_bfloat16(v);
      break;
    default:
      ((uint8_t *)data)[at] = bsm_float_to_float8(E4M3, v);
  }
}

/* ---- convolutions ---- */

static bsm_dims image_dims(const shape *s, bool output) {
  bsm_dims dims = {.rank = s->spatial + 2};
  dims.d[0] = s->n;
  dims.d[1] = (int64_t)s->groups * (output ? s->co : s->ci);
  for (int i = 0; i < s->spatial; i++) {
    const int d = 3 - s->spatial + i;
    const int64_t span = s->dilation[d] * (s->kernel[d] - 1) + 1;
    dims.d[2 + i] = output
                        ? (s->size[d] + 2 * s->pad[d] - span) / s->stride[d] + 1
                        : s->size[d];
  }
  return dims;
}

static void *add_image(harness *h, harness_rng *rng, const shape *s,
                       bool output, bsm_dtype dtype) {
  const bsm_dims dims = image_dims(s, output);
  int64_t strides[BSM_MAX_RANK];
  channels_last(dims, s->extra, strides);
  void *data = add_input(h, dtype, dims, strides);
  const size_t size = h->data[h->step.inputs[h->step.input_count - 1]].size;
  for (size_t i = 0; i < size / bsm_dtype_size(dtype); i++) {
    set_element(dtype, data, (int64_t)i, rng_float(rng) * 12);
  }
  return data;
}

typedef struct reference {
  const shape *s;
  const bsm_step_int8_convolution *p;
  const uint8_t *kernel; /* [out, in / groups, taps] */
  const float *columns;  /* scales, then biases */
  const bsm_plan_tensor *x_tensor, *r_tensor;
  const uint8_t *x;
  const void *residual;
} reference;

/* *size: what products of the same magnitudes add up to. */
static double sum_of(const reference *e, const int64_t *y, double *size) {
  const shape *s = e->s;
  const int taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
  double sum = 0;
  *size = 0;
  for (int t = 0; t < taps; t++) {
    int64_t x[BSM_MAX_RANK] = {y[0]};
    bool inside = true;
    int rest = t;
    for (int d = 2; d >= 0; d--) {
      const int axis = d - (3 - s->spatial) + 2;
      const int64_t o = axis < 2 ? 0 : y[axis];
      const int64_t at =
          o * s->stride[d] - s->pad[d] + rest % s->kernel[d] * s->dilation[d];
      rest /= s->kernel[d];
      inside = inside && at >= 0 && at < s->size[d];
      if (axis >= 2) x[axis] = at;
    }
    for (int i = 0; i < s->ci && inside; i++) {
      x[1] = y[1] / s->co * s->ci + i;
      const double product =
          number_of(e->x[offset_of(e->x_tensor, x)]) *
          number_of(e->kernel[(y[1] * s->ci + i) * taps + t]);
      sum += product;
      *size += fabs(product);
    }
  }
  return sum;
}

static double activate(const shape *s, double v) {
  switch (s->activation) {
    case BSM_ACTIVATION_RELU:
      return v > 0 ? v : 0;
    case BSM_ACTIVATION_CLIP:
      return v < -0.5 ? -0.5 : v > 0.75 ? 0.75 : v;
    case BSM_ACTIVATION_SILU:
      return v / (1 + exp(-v));
    default:
      return v;
  }
}

static void compare(harness *h, uint32_t isa, void *arg) {
  const reference *e = arg;
  const bsm_plan_tensor *t = &h->tensors[h->step.outputs[0]];
  const int64_t maps = (int64_t)e->s->groups * e->s->co;
  const bsm_dtype r = e->s->residual;
  int64_t y[BSM_MAX_RANK] = {0};
  (void)isa;
  do {
    double size;
    const double scale = (double)e->columns[y[1]];
    double v = sum_of(e, y, &size) * scale + (double)e->columns[maps + y[1]];
    if (e->residual) {
      const double x = element_of(r, e->residual, offset_of(e->r_tensor, y));
      v += r == E4M3 ? x * e->p->residual_scale : x;
    }
    v = activate(e->s, v);
    double off = size * scale * OFF * 1.2 + 1e-5 * (1 + fabs(v));
    const double got = element_of(t->dtype, h->outputs[0], offset_of(t, y));
    if (t->dtype == E4M3) {
      v *= e->p->y_inverse;
      off = off * e->p->y_inverse + half_step(v);
      if (fabs(v) > BSM_FLOAT8_MOST) v = copysign(BSM_FLOAT8_MOST, v);
    } else if (t->dtype != BSM_DTYPE_FLOAT) {
      off += fabs(v) * (t->dtype == BSM_DTYPE_HALF ? 0x1p-10 : 0x1p-7);
    }
    assert_close(got, v, off, bsm_dtype_name(t->dtype));
  } while (next_index(t->dims, y));
}

static void set_params(const shape *s, bsm_step_int8_convolution *p) {
  bsm_step_window *w = &p->convolution.window;
  const bool adds = s->residual != BSM_DTYPE_UNDEFINED;
  p->convolution.groups = s->groups;
  p->convolution.out_maps = (int64_t)s->groups * s->co;
  p->convolution.epilogue =
      (bsm_step_epilogue){(int32_t)s->activation, adds, -0.5, 0.75};
  w->spatial = s->spatial;
  for (int d = 0; d < 3; d++) {
    w->kernel[d] = s->kernel[d];
    w->stride[d] = s->stride[d];
    w->dilation[d] = s->dilation[d];
    w->pre_padding[d] = w->post_padding[d] = s->pad[d];
  }
  p->residual_scale = 0.013;
  p->y_inverse = 37.25;
}

/* A device without such steps packs nothing for them. */
static void add_kernel(harness *h, int64_t in_maps, const uint8_t *kernel) {
  const bsm_target *t = suite_target();
  uint64_t size;
  bsm_status st =
      t->ops->pack(t, &h->step, in_maps, kernel, 1, false, NULL, &size);
  if (bsm_status_code(st) == BSM_UNSUPPORTED) {
    add_weights(h, 0, 1);
  } else {
    assert_null(st);
    add_packed_for(h, 0, &h->step, in_maps, kernel, 1, false);
  }
  bsm_status_free(st);
}

static void run_shape(const shape *s, harness_rng *rng) {
  harness h;
  harness_init(&h, BSM_STEP_INT8_CONVOLUTION);
  h.bytes = true;
  h.same_bits = false; /* sums are added in any order */
  bsm_step_int8_convolution *p = &h.params.int8_convolution;
  set_params(s, p);
  reference e = {.s = s, .p = p};
  e.x = add_image(&h, rng, s, false, E4M3);
  e.x_tensor = &h.tensors[h.step.inputs[0]];
  if (s->residual != BSM_DTYPE_UNDEFINED) {
    e.residual = add_image(&h, rng, s, true, s->residual);
    e.r_tensor = &h.tensors[h.step.inputs[1]];
  }
  int64_t strides[BSM_MAX_RANK];
  channels_last(image_dims(s, true), s->extra, strides);
  add_output(&h, s->y, image_dims(s, true), strides);
  const int taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
  const int maps = s->groups * s->co, depth = s->ci * taps;
  uint8_t *kernel = malloc((size_t)(maps * depth));
  assert_non_null(kernel);
  for (int i = 0; i < maps * depth; i++) kernel[i] = random_bits(rng);
  e.kernel = kernel;
  add_kernel(&h, (int64_t)s->groups * s->ci, kernel);
  float *columns = add_weights(&h, 1, (size_t)maps * 2 * sizeof(float));
  (void)add_weights(&h, 2, (size_t)maps * sizeof(int32_t));
  for (int o = 0; o < maps; o++) {
    columns[o] = (rng_float(rng) + 1.5f) / 50 / sqrtf((float)depth);
    columns[maps + o] = rng_float(rng);
  }
  e.columns = columns;
  harness_run_all(&h, compare, &e);
  free(kernel);
  harness_free(&h);
}

static const bsm_dtype stored[] = {BSM_DTYPE_FLOAT8_E4M3FN, BSM_DTYPE_HALF,
                                   BSM_DTYPE_FLOAT8_E4M3FN, BSM_DTYPE_FLOAT,
                                   BSM_DTYPE_BFLOAT16};
static const bsm_dtype added[] = {BSM_DTYPE_UNDEFINED, BSM_DTYPE_FLOAT8_E4M3FN,
                                  BSM_DTYPE_UNDEFINED, BSM_DTYPE_HALF,
                                  BSM_DTYPE_FLOAT,     BSM_DTYPE_BFLOAT16};

static void test_random(void **state) {
  (void)state;
  const bsm_activation_type activations[] = {
      BSM_ACTIVATION_NONE, BSM_ACTIVATION_RELU, BSM_ACTIVATION_CLIP,
      BSM_ACTIVATION_SILU};
  harness_rng rng = {83};
  for (int i = 0; i < 60; i++) {
    shape s = {.n = rng_range(&rng, 1, 2),
               .spatial = rng_range(&rng, 1, 3),
               .extra = rng_range(&rng, 0, 1) * 3,
               .y = stored[rng_range(&rng, 0, 4)],
               .residual = added[rng_range(&rng, 0, 5)],
               .activation = activations[rng_range(&rng, 0, 3)]};
    const int kind = rng_range(&rng, 0, 3);
    s.groups = kind == 0 ? rng_range(&rng, 2, 40) : kind == 1 ? 2 : 1;
    s.ci = kind == 0 ? 1 : rng_range(&rng, 1, 6) * (kind == 3 ? 4 : 1);
    s.co = kind == 0 ? 1 : rng_range(&rng, 1, 70);
    for (int d = 0; d < 3; d++) {
      const bool has = d >= 3 - s.spatial;
      s.kernel[d] = has ? rng_range(&rng, 1, 3) : 1;
      s.stride[d] = has ? rng_range(&rng, 1, 2) : 1;
      s.dilation[d] = has ? rng_range(&rng, 1, 2) : 1;
      s.pad[d] = has ? rng_range(&rng, 0, 2) : 0;
      s.size[d] = has ? rng_range(&rng, 5, s.spatial == 3 ? 6 : 9) : 1;
    }
    run_shape(&s, &rng);
  }
}

#define POINTWISE                                                            \
  .spatial = 1, .size = {1, 1, 1}, .kernel = {1, 1, 1}, .stride = {1, 1, 1}, \
  .dilation = {1, 1, 1}

/* Products of rows, of which many are copied in tiles, with what becomes of
 * sums. */
static void test_products(void **state) {
  (void)state;
  harness_rng rng = {89};
  const int rows[] = {1, 17, 64, 130}, depths[] = {32, 68, 256, 400};
  for (int i = 0; i < 20; i++) {
    const shape s = {
        .n = rows[i % 4],
        .groups = 1,
        .ci = depths[i / 4 % 4],
        .co = 16 * (i % 5 + 1) - (i % 7 == 3),
        .y = stored[i % 5],
        .residual = added[i % 6],
        .activation = i % 3 ? BSM_ACTIVATION_NONE : BSM_ACTIVATION_RELU,
        POINTWISE};
    run_shape(&s, &rng);
  }
}

/* A sum that blocks share; images whose windows are copied in tiles. */
static void test_deep(void **state) {
  (void)state;
  harness_rng rng = {97};
  const shape product = {.n = 15,
                         .groups = 1,
                         .ci = 2048,
                         .co = 96,
                         .y = BSM_DTYPE_FLOAT,
                         .residual = BSM_DTYPE_UNDEFINED,
                         POINTWISE};
  run_shape(&product, &rng);
  for (int i = 0; i < 4; i++) {
    const shape image = {.n = 2,
                         .groups = 1,
                         .ci = i == 3 ? 3 : 32 << i,
                         .co = 48,
                         .spatial = 2,
                         .size = {1, 9, 11},
                         .kernel = {1, 3, 3},
                         .stride = {1, 1 + i % 2, 1 + i % 2},
                         .dilation = {1, 1, 1},
                         .pad = {0, 1, 1},
                         .y = stored[i],
                         .residual = added[i]};
    run_shape(&image, &rng);
  }
}

static void test_hostile(void **state) {
  (void)state;
  harness_rng rng = {101};
  const shape s = {.n = 2,
                   .groups = 1,
                   .ci = 4,
                   .co = 4,
                   .y = E4M3,
                   .residual = BSM_DTYPE_UNDEFINED,
                   POINTWISE};
  const bsm_dtype outputs[] = {E4M3, E4M3, E4M3, BSM_DTYPE_UINT8,
                               BSM_DTYPE_FLOAT8_E5M2};
  for (int defect = 0; defect < 5; defect++) {
    harness h;
    harness_init(&h, BSM_STEP_INT8_CONVOLUTION);
    bsm_step_int8_convolution *p = &h.params.int8_convolution;
    set_params(&s, p);
    add_image(&h, &rng, &s, false, E4M3);
    add_output(&h, outputs[defect], image_dims(&s, true), NULL);
    const uint8_t kernel[16] = {0};
    add_kernel(&h, 4, kernel);
    add_weights(&h, 1, 32);
    add_weights(&h, 2, 16);
    if (defect == 0) p->x_zero = 1;
    if (defect == 1) p->y_zero = 3;
    if (defect == 2) p->residual_zero = 1;
    bsm_status st = harness_run(&h, BSM_ISA_SCALAR, 1);
    assert_non_null(st);
    const bsm_code code = bsm_status_code(st);
    assert_true(code == BSM_CORRUPT || code == BSM_UNSUPPORTED);
    bsm_status_free(st);
    harness_free(&h);
  }
}

/* ---- programs ---- */

static void compare_bits(harness *h, uint32_t isa, void *arg) {
  const uint8_t *want = arg;
  const bsm_plan_tensor *t = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  do {
    const uint8_t got = ((const uint8_t *)h->outputs[0])[offset_of(t, index)];
    const bool nan = (*want & 0x7f) == 0x7f; /* of any sign */
    if (nan ? (got & 0x7f) != 0x7f : got != *want) {
      fail_msg("isa %u: %#x, not %#x", isa, got, *want);
    }
    want++;
  } while (next_index(t->dims, index));
}

/* The nearest number, of two the one whose last bit is 0; from half way to the
 * number behind the greatest on NaN. */
static uint8_t nearest(float x) {
  const uint8_t sign = signbit(x) ? 0x80 : 0;
  const double size = fabs((double)x);
  uint8_t best = 0;
  if (!(size <= 464)) return sign | 0x7f;
  for (uint8_t i = 1; i < 0x7f; i++) {
    const double far = fabs(number_of(i) - size);
    const double near = fabs(number_of(best) - size);
    if (far < near || (!(far > near) && i % 2 == 0)) best = i;
  }
  return sign | best;
}

/* Floats as float8: all numbers, half way between two, and their neighbours. */
static void run_narrowing(int64_t apart) {
  const bsm_dims dims = dims_of(2, 6, 256);
  const int64_t strides[2] = {256 * apart, apart};
  uint8_t expected[6 * 256];
  harness h;
  harness_init(&h, BSM_STEP_ELEMENT_WISE);
  bsm_step_element_wise *p = &h.params.element_wise;
  p->program[0] =
      (bsm_step_ew_instruction){BSM_STEP_EW_CAST, 0, 1, 0, 0, 0, E4M3};
  p->instruction_count = 1;
  p->result = 1;
  float *x = add_input(&h, BSM_DTYPE_FLOAT, dims, apart > 1 ? strides : NULL);
  for (int i = 0; i < 256; i++) {
    const float own = (float)number_of((uint8_t)i);
    const float next = (float)number_of((uint8_t)(i + ((i & 0x7f) < 0x7e)));
    const float half =
        (i & 0x7f) == 0x7e ? copysignf(464, own) : (own + next) / 2;
    const float values[6] = {own,
                             half,
                             nextafterf(half, INFINITY),
                             nextafterf(half, -INFINITY),
                             i % 2 ? INFINITY : own * 1e-9f,
                             own * 3};
    for (int k = 0; k < 6; k++) {
      x[(k * 256 + i) * apart] = values[k];
      expected[k * 256 + i] = nearest(values[k]);
    }
  }
  add_output(&h, E4M3, dims, NULL);
  harness_run_all(&h, compare_bits, expected);
  harness_free(&h);
}

static void test_narrowing(void **state) {
  (void)state;
  run_narrowing(1);
  run_narrowing(2);
}

static void compare_floats(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *t = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  int i = 0;
  (void)arg;
  do {
    const double want = number_of((uint8_t)i++) * 0.75;
    const float got = ((const float *)h->outputs[0])[offset_of(t, index)];
    if (!(isnan(want) ? isnan(got) : (double)got == want)) {
      fail_msg("isa %u: %g, not %g", isa, (double)got, want);
    }
  } while (next_index(t->dims, index));
}

/* All of them as floats, times a number. */
static void test_widening(void **state) {
  (void)state;
  const bsm_dims dims = dims_of(2, 2, 128);
  for (int64_t apart = 1; apart < 3; apart++) {
    const int64_t strides[2] = {150 * apart, apart};
    harness h;
    harness_init(&h, BSM_STEP_ELEMENT_WISE);
    bsm_step_element_wise *p = &h.params.element_wise;
    const int32_t f = BSM_DTYPE_FLOAT;
    const bsm_step_ew_instruction program[] = {
        {BSM_STEP_EW_CAST, 0, 1, 0, 0, 0, f},
        {BSM_STEP_EW_CONSTANT, 0, 2, 0, 0, 0, f, 0, 0.75},
        {BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_PROD, 3, 1, 2, 0, f}};
    memcpy(p->program, program, sizeof(program));
    p->instruction_count = 3;
    p->result = 3;
    uint8_t *x = add_input(&h, E4M3, dims, apart > 1 ? strides : NULL);
    for (int i = 0; i < 256; i++) {
      x[apart > 1 ? i / 128 * strides[0] + i % 128 * apart : i] = (uint8_t)i;
    }
    add_output(&h, BSM_DTYPE_FLOAT, dims, NULL);
    harness_run_all(&h, compare_floats, NULL);
    harness_free(&h);
  }
}

/* What computes with float8 otherwise is refused, whatever it would do. */
static void test_refused(void **state) {
  (void)state;
  const bsm_step_kind kinds[] = {BSM_STEP_SOFTMAX, BSM_STEP_SCAN,
                                 BSM_STEP_TOP_K, BSM_STEP_ELEMENT_WISE};
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    const bool programs = kinds[i] == BSM_STEP_ELEMENT_WISE;
    const bsm_dtype dtype = programs ? BSM_DTYPE_FLOAT8_E5M2 : E4M3;
    harness h;
    harness_init(&h, kinds[i]);
    if (programs) {
      h.params.element_wise.instruction_count = 1;
      h.params.element_wise.program[0] = (bsm_step_ew_instruction){
          BSM_STEP_EW_CAST, 0, 0, 0, 0, 0, BSM_DTYPE_FLOAT8_E5M2};
    }
    (void)add_input(&h, dtype, dims_of(2, 3, 5), NULL);
    add_output(&h, dtype, dims_of(2, 3, 5), NULL);
    bsm_status st = harness_run(&h, BSM_ISA_SCALAR, 1);
    assert_non_null(st);
    bsm_status_free(st);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),    cmocka_unit_test(test_products),
      cmocka_unit_test(test_deep),      cmocka_unit_test(test_hostile),
      cmocka_unit_test(test_narrowing), cmocka_unit_test(test_widening),
      cmocka_unit_test(test_refused),
  };
  return suite_run(argc, argv, tests);
}
