/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes against plain loops: sums in integers, then the
 * operations of the step one by one in float. Every instruction set gives the
 * same bits, but for activations that are approximated. */
#include "tests/conformance/step_harness.h"

typedef enum weights {
  ALL_WEIGHTS,
  SMALL_WEIGHTS, /* sums of several groups stay in 16 bits */
  GREAT_WEIGHTS, /* 127 or -127 */
  FEW_GREAT      /* one of ten is 127, -127 or -128, others are small */
} weights;

typedef enum bytes_like { ANY_BYTES, EXTREMES, EDGES } bytes_like;

typedef struct shape {
  int n, groups, ci, co, spatial; /* maps of a group */
  int size[3], kernel[3], stride[3], dilation[3], pad[3];
  int extra; /* elements between pixels */
  bool y_is_float, residual, residual_is_float, extremes;
  bool edges; /* bytes are 0 or 255 */
  weights weights;
  bsm_dtype narrow; /* of what is float; 0: it is float */
  bsm_activation_type activation;
  int least, greatest;
  double end; /* where 0.75 is on the grid of the output; 0: anywhere */
} shape;

static int64_t out_size(const shape *s, int d) {
  return (s->size[d] + 2 * s->pad[d] - s->dilation[d] * (s->kernel[d] - 1) -
          1) /
             s->stride[d] +
         1;
}

static bsm_dims image_dims(const shape *s, bool output) {
  bsm_dims dims = {.rank = s->spatial + 2};
  dims.d[0] = s->n;
  dims.d[1] = (int64_t)s->groups * (output ? s->co : s->ci);
  for (int d = 0; d < s->spatial; d++) {
    const int at = 3 - s->spatial + d;
    dims.d[2 + d] = output ? out_size(s, at) : s->size[at];
  }
  return dims;
}

static void fill_bytes(harness_rng *r, void *data, size_t bytes,
                       bytes_like like) {
  uint8_t *p = data;
  for (size_t i = 0; i < bytes; i++) {
    p[i] = (uint8_t)(like == EDGES      ? (rng_next(r) % 2 ? 255 : 0)
                     : like == EXTREMES ? (rng_next(r) % 2 ? 255 : 254)
                                        : rng_next(r));
  }
}

static int weight_of(harness_rng *r, weights w) {
  const int great = rng_range(r, 0, 1) ? 127 : -127;
  switch (w) {
    case SMALL_WEIGHTS:
      return rng_range(r, -12, 12);
    case GREAT_WEIGHTS:
      return great;
    case FEW_GREAT:
      return rng_range(r, 0, 9)   ? rng_range(r, -20, 20)
             : rng_range(r, 0, 7) ? great
                                  : -128;
    default:
      return rng_range(r, -128, 127);
  }
}

static float float_of(const shape *s, uint16_t bits) {
  return s->narrow == BSM_DTYPE_HALF ? bsm_half_to_float(bits)
                                     : bsm_bfloat16_to_float(bits);
}

static uint16_t bits_of(const shape *s, float x) {
  return s->narrow == BSM_DTYPE_HALF ? bsm_float_to_half(x)
                                     : bsm_float_to_bfloat16(x);
}

static void *add_image(harness *h, harness_rng *rng, const shape *s,
                       bool output, bool is_float, bool is_input) {
  const bsm_dims dims = image_dims(s, output);
  int64_t strides[BSM_MAX_RANK];
  const bsm_dtype floats = s->narrow ? s->narrow : BSM_DTYPE_FLOAT;
  const bsm_dtype dtype = is_float ? floats : BSM_DTYPE_UINT8;
  channels_last(dims, s->extra, strides);
  if (!is_input) return add_output(h, dtype, dims, strides);
  void *data = add_input(h, dtype, dims, strides);
  const size_t size = h->data[h->step.inputs[h->step.input_count - 1]].size;
  if (is_float && s->narrow) {
    for (size_t i = 0; i < size / 2; i++) {
      ((uint16_t *)data)[i] = bits_of(s, rng_float(rng));
    }
  } else if (is_float) {
    fill_input(h, rng, h->step.input_count - 1);
  } else {
    fill_bytes(rng, data, size,
               s->edges      ? EDGES
               : s->extremes ? EXTREMES
                             : ANY_BYTES);
  }
  return data;
}

typedef struct reference {
  const shape *s;
  const bsm_step_int8_convolution *p;
  const int8_t *kernel; /* [out, in / groups, taps] */
  const float *columns; /* scales, then biases */
  const bsm_plan_tensor *x_tensor, *r_tensor;
  const uint8_t *x;
  const void *residual;
} reference;

static int64_t sum_of(const reference *e, const int64_t *y) {
  const shape *s = e->s;
  const int taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
  const int64_t group = y[1] / s->co;
  int64_t sum = 0;
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
      x[1] = group * s->ci + i;
      sum += ((int64_t)e->x[offset_of(e->x_tensor, x)] - e->p->x_zero) *
             e->kernel[(y[1] * s->ci + i) * taps + t];
    }
  }
  return sum;
}

static float activate(const shape *s, float v) {
  switch (s->activation) {
    case BSM_ACTIVATION_RELU:
      return v > 0 ? v : 0;
    case BSM_ACTIVATION_CLIP:
      return v < -0.5f ? -0.5f : v > 0.75f ? 0.75f : v;
    case BSM_ACTIVATION_SILU:
      return (float)((double)v / (1 + exp(-(double)v)));
    default:
      return v;
  }
}

static float residual_at(const reference *e, int64_t at) {
  if (!e->s->residual_is_float) {
    const int q = ((const uint8_t *)e->residual)[at];
    return (float)(q - e->p->residual_zero) * (float)e->p->residual_scale;
  }
  return e->s->narrow ? float_of(e->s, ((const uint16_t *)e->residual)[at])
                      : ((const float *)e->residual)[at];
}

static float value_at(const reference *e, const int64_t *y) {
  const int64_t maps = (int64_t)e->s->groups * e->s->co;
  float v = (float)sum_of(e, y) * e->columns[y[1]];
  v = v + e->columns[maps + y[1]];
  if (e->residual) {
    v = v + residual_at(e, offset_of(e->r_tensor, y));
  }
  return activate(e->s, v);
}

static void compare(harness *h, uint32_t isa, void *arg) {
  const reference *e = arg;
  const bsm_plan_tensor *t = &h->tensors[h->step.outputs[0]];
  const bool close = e->s->activation == BSM_ACTIVATION_SILU;
  int64_t y[BSM_MAX_RANK] = {0};
  do {
    const float v = value_at(e, y);
    const int64_t at = offset_of(t, y);
    if (e->s->y_is_float && e->s->narrow) {
      const uint16_t bits = ((const uint16_t *)h->outputs[0])[at];
      const float want = float_of(e->s, bits_of(e->s, v));
      assert_close((double)float_of(e->s, bits), (double)want,
                   close ? 0.008 * (1 + fabs(v)) : 0, "16 bits");
      continue;
    }
    if (e->s->y_is_float) {
      const float got = ((const float *)h->outputs[0])[at];
      assert_close((double)got, (double)v, close ? 1e-5 * (1 + fabs(v)) : 0,
                   "float");
      continue;
    }
    const double rounded = nearbyint((double)(v * (float)e->p->y_inverse));
    double want = rounded + e->p->y_zero;
    if (want < e->p->least) want = e->p->least;
    if (want > e->p->greatest) want = e->p->greatest;
    const int got = ((const uint8_t *)h->outputs[0])[at];
    if (fabs(got - want) > (close ? 1 : 0)) {
      fail_msg("isa %u, map %d: %d, not %g", isa, (int)y[1], got, want);
    }
  } while (next_index(t->dims, y));
}

static void set_window(const shape *s, bsm_step_window *w) {
  w->spatial = s->spatial;
  for (int d = 0; d < 3; d++) {
    w->kernel[d] = s->kernel[d];
    w->stride[d] = s->stride[d];
    w->dilation[d] = s->dilation[d];
    w->pre_padding[d] = w->post_padding[d] = s->pad[d];
  }
}

static void set_params(const shape *s, harness_rng *rng,
                       bsm_step_int8_convolution *p) {
  p->convolution.groups = s->groups;
  p->convolution.out_maps = (int64_t)s->groups * s->co;
  p->convolution.epilogue =
      (bsm_step_epilogue){(int32_t)s->activation, s->residual, -0.5, 0.75};
  set_window(s, &p->convolution.window);
  p->x_zero = s->extremes ? 0 : rng_range(rng, 0, 255);
  p->residual_zero = rng_range(rng, 0, 255);
  p->residual_scale = 0.013;
  p->y_inverse = 37.25;
  p->y_zero = rng_range(rng, 0, 255);
  if (s->end > 0) {
    p->y_zero /= 2;
    p->y_inverse = (s->end - p->y_zero) / 0.75;
  }
  p->least = s->least;
  p->greatest = s->greatest;
}

/* A device without such steps packs nothing for them. */
static void add_kernel(harness *h, int64_t in_maps, const int8_t *kernel) {
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
  bsm_step_int8_convolution *p = &h.params.int8_convolution;
  set_params(s, rng, p);
  reference e = {.s = s, .p = p};
  e.x = add_image(&h, rng, s, false, false, true);
  e.x_tensor = &h.tensors[h.step.inputs[0]];
  if (s->residual) {
    e.residual = add_image(&h, rng, s, true, s->residual_is_float, true);
    e.r_tensor = &h.tensors[h.step.inputs[1]];
  }
  add_image(&h, rng, s, true, s->y_is_float, false);
  const int taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
  const int maps = s->groups * s->co, depth = s->ci * taps;
  int8_t *kernel = malloc((size_t)(maps * depth));
  assert_non_null(kernel);
  for (int i = 0; i < maps * depth; i++) {
    kernel[i] = (int8_t)(s->extremes ? (i / depth % 2 ? 127 : -128)
                                     : weight_of(rng, s->weights));
  }
  e.kernel = kernel;
  add_kernel(&h, (int64_t)s->groups * s->ci, kernel);
  float *columns = add_weights(&h, 1, (size_t)maps * 2 * sizeof(float));
  int32_t *offsets = add_weights(&h, 2, (size_t)maps * sizeof(int32_t));
  for (int o = 0; o < maps; o++) {
    int32_t sum = 0;
    for (int k = 0; k < depth; k++) sum += kernel[o * depth + k];
    offsets[o] = -p->x_zero * sum;
    columns[o] = (rng_float(rng) + 1.5f) / 127 / 255 / (float)depth * 20;
    columns[maps + o] = rng_float(rng);
  }
  e.columns = columns;
  harness_run_all(&h, compare, &e);
  free(kernel);
  harness_free(&h);
}

static shape random_shape(harness_rng *rng) {
  const bsm_activation_type activations[] = {
      BSM_ACTIVATION_NONE, BSM_ACTIVATION_RELU, BSM_ACTIVATION_CLIP,
      BSM_ACTIVATION_SILU};
  shape s = {.n = rng_range(rng, 1, 2),
             .spatial = rng_range(rng, 1, 3),
             .extra = rng_range(rng, 0, 1) * 3,
             .y_is_float = rng_range(rng, 0, 2) == 0,
             .residual = rng_range(rng, 0, 2) == 0,
             .residual_is_float = rng_range(rng, 0, 1) == 0,
             .activation = activations[rng_range(rng, 0, 3)],
             .least = rng_range(rng, 0, 20),
             .greatest = rng_range(rng, 200, 255)};
  const int kind = rng_range(rng, 0, 3);
  s.groups = kind == 0 ? rng_range(rng, 2, 70) : kind == 1 ? 2 : 1;
  s.ci = kind == 0 ? 1 : rng_range(rng, 1, 6) * (kind == 3 ? 4 : 1);
  s.co = kind == 0 ? 1 : rng_range(rng, 1, 70);
  for (int d = 0; d < 3; d++) {
    const bool has = d >= 3 - s.spatial;
    s.kernel[d] = has ? rng_range(rng, 1, 3) : 1;
    s.stride[d] = has ? rng_range(rng, 1, 2) : 1;
    s.dilation[d] = has ? rng_range(rng, 1, 2) : 1;
    s.pad[d] = has ? rng_range(rng, 0, 2) : 0;
    s.size[d] = has ? rng_range(rng, 5, s.spatial == 3 ? 6 : 9) : 1;
  }
  return s;
}

static void test_random(void **state) {
  (void)state;
  harness_rng rng = {41};
  for (int i = 0; i < 70; i++) {
    const shape s = random_shape(&rng);
    run_shape(&s, &rng);
  }
}

#define POINTWISE                                                            \
  .spatial = 1, .size = {1, 1, 1}, .kernel = {1, 1, 1}, .stride = {1, 1, 1}, \
  .dilation = {1, 1, 1}, .least = 0, .greatest = 255

/* Every count of rows that tiles are made of, and columns of several panels:
 * products of rows. */
static void test_rows(void **state) {
  (void)state;
  harness_rng rng = {43};
  for (int rows = 1; rows <= 27; rows++) {
    const shape s = {
        .n = rows, .groups = 1, .ci = 8, .co = 3 * rows + 14, POINTWISE};
    run_shape(&s, &rng);
  }
}

/* Sums of two products of the greatest bytes exceed 16 bits: no instruction may
 * saturate. */
static void test_extremes(void **state) {
  (void)state;
  harness_rng rng = {47};
  const shape product = {.n = 13,
                         .groups = 1,
                         .ci = 260,
                         .co = 35,
                         .extremes = true,
                         .y_is_float = true,
                         POINTWISE};
  run_shape(&product, &rng);
  const shape depthwise = {.n = 1,
                           .groups = 40,
                           .ci = 1,
                           .co = 1,
                           .spatial = 2,
                           .size = {1, 6, 6},
                           .kernel = {1, 5, 5},
                           .stride = {1, 1, 1},
                           .dilation = {1, 1, 1},
                           .extremes = true,
                           .y_is_float = true};
  run_shape(&depthwise, &rng);
}

/* Maps by themselves whose last block is filled up with maps before them, or is
 * the only one; the most taps that are woven, and more. */
static void test_depthwise(void **state) {
  (void)state;
  harness_rng rng = {83};
  const int maps[] = {31, 32, 33, 62, 63, 72}, sizes[] = {3, 5, 7, 9};
  for (int i = 0; i < 12; i++) {
    const int size = sizes[i / 3];
    const shape s = {
        .n = 1,
        .groups = maps[i % 6],
        .ci = 1,
        .co = 1,
        .spatial = 2,
        .size = {1, 9, 10},
        .kernel = {1, size, size},
        .stride = {1, 1 + i % 2, 1 + i % 2},
        .dilation = {1, 1, 1},
        .pad = {0, size / 2, size / 2},
        .extremes = i % 3 == 2,
        .extra = i % 4 == 3 ? 5 : 0,
        .y_is_float = i % 5 == 4,
        .residual = i % 3 == 1,
        .activation = i % 4 == 1 ? BSM_ACTIVATION_SILU : BSM_ACTIVATION_NONE,
        .greatest = 255};
    run_shape(&s, &rng);
  }
}

/* Groups of few maps, whose results are made side by side: sets of groups that
 * are whole, and a last one that is not; copied windows between them. */
static void test_groups(void **state) {
  (void)state;
  harness_rng rng = {89};
  const int groups[] = {7, 26, 13, 2, 5, 33, 4, 9};
  const int ci[] = {8, 8, 16, 4, 12, 4, 6, 20};
  const int co[] = {8, 8, 16, 3, 5, 1, 8, 13};
  for (int i = 0; i < 8; i++) {
    const shape s = {
        .n = 1 + i % 2,
        .groups = groups[i],
        .ci = ci[i],
        .co = co[i],
        .spatial = 2,
        .size = {1, 7, 9},
        .kernel = {1, 3, 3},
        .stride = {1, 1 + i % 3 / 2, 1 + i % 3 / 2},
        .dilation = {1, 1, 1},
        .pad = {0, 1, 1},
        .extremes = i == 4,
        .extra = i % 4 == 3 ? 5 : 0,
        .y_is_float = i == 4 || i == 7,
        .residual = i % 3 == 1,
        .residual_is_float = i == 7,
        .activation = i == 2 ? BSM_ACTIVATION_SILU : BSM_ACTIVATION_RELU,
        .greatest = 255};
    run_shape(&s, &rng);
  }
}

/* Clamps in floats that end where bytes do, or almost. */
static void test_ends(void **state) {
  (void)state;
  harness_rng rng = {103};
  const double ends[] = {254.3, 254.5, 254.7, 255.4, 255.6};
  for (int i = 0; i < 10; i++) {
    const shape s = {.n = 5,
                     .groups = 1,
                     .ci = 8,
                     .co = 40,
                     .residual = i >= 5,
                     .activation = BSM_ACTIVATION_CLIP,
                     .end = ends[i % 5],
                     POINTWISE};
    run_shape(&s, &rng);
  }
}

/* Kernels of 3 x 3 with tiles that are cut off in both directions, maps that
 * fill no vector, and the greatest sums that are computed in tiles and the
 * least that are not. */
static void test_winograd(void **state) {
  (void)state;
  harness_rng rng = {97};
  const int ci[] = {33, 48, 112, 16, 68, 132, 40}, co[] = {40, 67, 33};
  for (int i = 0; i < 14; i++) {
    const int pad = i % 3;
    const shape s = {.n = 1 + i % 2,
                     .groups = 1,
                     .ci = ci[i % 7],
                     .co = co[i % 3],
                     .spatial = i == 8 ? 3 : 2,
                     .size = {i == 8 ? 2 : 1, 14 + i % 4 - pad, 21 - i % 5},
                     .kernel = {1, 3, 3},
                     .stride = {1, 1, 1},
                     .dilation = {1, 1, 1},
                     .pad = {0, pad, pad},
                     .extremes = i % 7 == 2 || i % 7 == 5,
                     .extra = i % 4 == 3 ? 5 : 0,
                     .y_is_float = i % 5 == 2,
                     .residual = i % 3 == 1,
                     .residual_is_float = i == 7,
                     .activation = i % 4 == 1   ? BSM_ACTIVATION_RELU
                                   : i % 4 == 2 ? BSM_ACTIVATION_SILU
                                                : BSM_ACTIVATION_NONE,
                     .greatest = 255};
    run_shape(&s, &rng);
  }
}

/* Small weights, of which sums of several groups stay in 16 bits, with taps of
 * all remainders. */
static void test_small_weights(void **state) {
  (void)state;
  harness_rng rng = {101};
  for (int ci = 4; ci <= 44; ci += 4) {
    const shape s = {.n = 1,
                     .groups = 1,
                     .ci = ci - ci % 3,
                     .co = 40 - ci / 2,
                     .spatial = 2,
                     .size = {1, 7, 9},
                     .kernel = {1, 3, 2},
                     .stride = {1, 2, 1},
                     .dilation = {1, 1, 1},
                     .pad = {0, 1, 0},
                     .weights = SMALL_WEIGHTS,
                     .y_is_float = ci % 8 == 0,
                     .activation = BSM_ACTIVATION_RELU,
                     .greatest = 255};
    run_shape(&s, &rng);
  }
}

/* Weights that saturate sums of two bytes, with the greatest and the least
 * bytes: products of every count of rows and remainder of depth, windows, and
 * groups whose maps are computed together. */
static void test_great_weights(void **state) {
  (void)state;
  harness_rng rng = {103};
  for (int i = 0; i < 36; i++) {
    shape s = {.n = 1 + i % 27,
               .groups = 1,
               .ci = 4 + 4 * (i % 19) + i / 30 * 60,
               .co = 1 + 7 * i % 67,
               POINTWISE};
    s.edges = i % 3 != 0;
    s.weights = i % 2 ? GREAT_WEIGHTS : FEW_GREAT;
    s.y_is_float = i % 4 == 0;
    run_shape(&s, &rng);
  }
  const int groups[] = {1, 1, 1, 5, 9, 2}, ci[] = {12, 3, 20, 8, 4, 36};
  for (int i = 0; i < 12; i++) {
    const shape s = {.n = 1,
                     .groups = groups[i % 6],
                     .ci = ci[i % 6],
                     .co = i % 6 < 3 ? 37 : 6,
                     .spatial = 2,
                     .size = {1, 7, 9},
                     .kernel = {1, 3, 2},
                     .stride = {1, 2, 1},
                     .dilation = {1, 1, 1},
                     .pad = {0, 1, 0},
                     .edges = true,
                     .weights = i < 6 ? GREAT_WEIGHTS : FEW_GREAT,
                     .y_is_float = i % 2,
                     .greatest = 255};
    run_shape(&s, &rng);
  }
}

/* Several blocks of columns, as the kernel exceeds one. */
static void test_blocks(void **state) {
  (void)state;
  harness_rng rng = {53};
  const shape s = {.n = 15, .groups = 1, .ci = 2048, .co = 290, POINTWISE};
  run_shape(&s, &rng);
}

/* What divides no tile of registers: rows, bytes of a row in several tiles,
 * that do and do not fit into even ones, columns; read in place and copied, as
 * lines of a window and pixel by pixel. */
static void test_tiles(void **state) {
  (void)state;
  harness_rng rng = {71};
  const int rows[] = {15, 17, 32, 49, 67}, depths[] = {60, 68, 96, 132, 192};
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < 5; k++) {
      const bool adds = (i + k) % 3 == 0;
      const shape s = {
          .n = rows[i],
          .groups = 1,
          .ci = depths[k],
          .co = 16 * (k + 1) - i,
          .extra = k == 2 ? 4 : 0,
          .residual = adds,
          .residual_is_float = i == 3,
          .activation = k % 2 ? BSM_ACTIVATION_RELU : BSM_ACTIVATION_NONE,
          POINTWISE};
      run_shape(&s, &rng);
    }
  }
  for (int i = 0; i < 4; i++) {
    const shape s = {.n = 1,
                     .groups = i == 3 ? 2 : 1,
                     .ci = i == 0 ? 3 : 20 * i,
                     .co = 40,
                     .spatial = 2,
                     .size = {1, 13, 17},
                     .kernel = {1, i == 0 ? 7 : 3, i == 0 ? 7 : 3},
                     .stride = {1, i == 1 ? 1 : 2, i == 1 ? 1 : 2},
                     .dilation = {1, 1, 1},
                     .pad = {0, i == 0 ? 3 : 1, i == 0 ? 3 : 1},
                     .extra = i == 2 ? 4 : 0,
                     .greatest = 255};
    run_shape(&s, &rng);
  }
}

/* Results and residuals of 16 bits, which CPUs refuse. */
static void test_halves(void **state) {
  (void)state;
  harness_rng rng = {79};
  const int columns[] = {48, 32, 21};
  for (int i = 0; i < 12; i++) {
    const shape product = {
        .n = 37,
        .groups = 1,
        .ci = i % 2 ? 64 : 36,
        .co = columns[i % 3],
        .narrow = i < 6 ? BSM_DTYPE_HALF : BSM_DTYPE_BFLOAT16,
        .y_is_float = i % 4 != 3,
        .residual = i % 4 != 0,
        .residual_is_float = i % 4 != 2,
        POINTWISE};
    run_shape(&product, &rng);
  }
  for (int i = 0; i < 10; i++) {
    shape s = random_shape(&rng);
    s.narrow = i % 2 ? BSM_DTYPE_HALF : BSM_DTYPE_BFLOAT16;
    s.y_is_float = i % 3 != 0;
    s.residual = s.residual_is_float = true;
    run_shape(&s, &rng);
  }
}

static void test_hostile(void **state) {
  (void)state;
  harness_rng rng = {59};
  const shape s = {.n = 2, .groups = 1, .ci = 4, .co = 4, POINTWISE};
  for (int defect = 0; defect < 7; defect++) {
    harness h;
    harness_init(&h, BSM_STEP_INT8_CONVOLUTION);
    bsm_step_int8_convolution *p = &h.params.int8_convolution;
    set_params(&s, &rng, p);
    add_image(&h, &rng, &s, false, defect == 0, true);
    add_image(&h, &rng, &s, true, false, false);
    int8_t kernel[16] = {0};
    add_kernel(&h, 4, kernel);
    add_weights(&h, 1, defect == 1 ? 16 : 32);
    add_weights(&h, 2, defect == 2 ? 12 : 16);
    if (defect == 3) p->x_zero = 256;
    if (defect == 4) p->least = 256;
    if (defect == 5) p->convolution.form = 1;
    if (defect == 6) p->convolution.groups = 3;
    bsm_status st = harness_run(&h, BSM_ISA_SCALAR, 1);
    assert_non_null(st);
    const bsm_code code = bsm_status_code(st);
    assert_true(code == BSM_CORRUPT || code == BSM_UNSUPPORTED);
    bsm_status_free(st);
    harness_free(&h);
  }
}

/* ---- other steps of bytes ---- */

static void compare_bytes(harness *h, uint32_t isa, void *arg) {
  const uint8_t *want = arg;
  const bsm_plan_tensor *t = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  do {
    const uint8_t got = ((const uint8_t *)h->outputs[0])[offset_of(t, index)];
    if (got != *want) fail_msg("isa %u: %d, not %d", isa, got, *want);
    want++;
  } while (next_index(t->dims, index));
}

/* The greatest of windows of 3, channels last. */
static void test_pooling(void **state) {
  (void)state;
  harness_rng rng = {61};
  const int counts[] = {1, 15, 64, 83, 300};
  for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
    const bsm_dims in = dims_of(4, 2, counts[i], 7, 6);
    const bsm_dims out = dims_of(4, 2, counts[i], 4, 3);
    int64_t strides[BSM_MAX_RANK];
    harness h;
    harness_init(&h, BSM_STEP_POOLING);
    h.params.pooling = (bsm_step_pooling){.window = {.spatial = 2,
                                                     .kernel = {1, 3, 3},
                                                     .stride = {1, 2, 2},
                                                     .dilation = {1, 1, 1},
                                                     .pre_padding = {0, 1, 1},
                                                     .post_padding = {0, 1, 1}},
                                          .type = BSM_POOLING_MAX};
    channels_last(in, 3, strides);
    const uint8_t *x = add_input(&h, BSM_DTYPE_UINT8, in, strides);
    fill_bytes(&rng, h.inputs[0], h.data[h.step.inputs[0]].size, ANY_BYTES);
    const bsm_plan_tensor *t = &h.tensors[h.step.inputs[0]];
    channels_last(out, 1, strides);
    add_output(&h, BSM_DTYPE_UINT8, out, strides);
    uint8_t *expected = malloc((size_t)(2 * counts[i] * 4 * 3));
    assert_non_null(expected);
    int64_t y[BSM_MAX_RANK] = {0};
    size_t n = 0;
    do {
      uint8_t most = 0;
      for (int k = 0; k < 9; k++) {
        const int64_t at[BSM_MAX_RANK] = {y[0], y[1], 2 * y[2] - 1 + k / 3,
                                          2 * y[3] - 1 + k % 3};
        if (at[2] < 0 || at[2] >= 7 || at[3] < 0 || at[3] >= 6) continue;
        const uint8_t v = x[offset_of(t, at)];
        if (v > most) most = v;
      }
      expected[n++] = most;
    } while (next_index(out, y));
    harness_run_all(&h, compare_bytes, expected);
    free(expected);
    harness_free(&h);
  }
}

/* r0 * 1.7 + r1, of bytes as floats, as bytes again: what a cast makes of what
 * is too large. Inputs and output are contiguous, strided or repeated. */
static void run_program(int way, bool is_signed, harness_rng *rng) {
  const bsm_dtype dtype = is_signed ? BSM_DTYPE_INT8 : BSM_DTYPE_UINT8;
  const bsm_dims dims = dims_of(2, 9, 133);
  const int64_t apart[2] = {300, 2}, repeated[2] = {0, 1};
  harness h;
  harness_init(&h, BSM_STEP_ELEMENT_WISE);
  bsm_step_element_wise *p = &h.params.element_wise;
  const bsm_step_ew_instruction program[] = {
      {BSM_STEP_EW_CAST, 0, 2, 0, 0, 0, BSM_DTYPE_FLOAT},
      {BSM_STEP_EW_CAST, 0, 3, 1, 0, 0, BSM_DTYPE_FLOAT},
      {BSM_STEP_EW_CONSTANT, 0, 4, 0, 0, 0, BSM_DTYPE_FLOAT, 0, 1.7},
      {BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_PROD, 5, 2, 4, 0, BSM_DTYPE_FLOAT},
      {BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_SUM, 6, 5, 3, 0, BSM_DTYPE_FLOAT},
      {BSM_STEP_EW_CAST, 0, 7, 6, 0, 0, (int32_t)dtype}};
  p->instruction_count = 6;
  p->result = 7;
  memcpy(p->program, program, sizeof(program));
  const void *a = add_input(&h, dtype, dims, way == 1 ? apart : NULL);
  const void *b = add_input(&h, dtype, dims, way == 2 ? repeated : NULL);
  for (int i = 0; i < 2; i++) {
    fill_bytes(rng, h.inputs[i], h.data[h.step.inputs[i]].size, ANY_BYTES);
  }
  add_output(&h, dtype, dims, way == 3 ? apart : NULL);
  uint8_t expected[9 * 133];
  int64_t at[BSM_MAX_RANK] = {0};
  size_t n = 0;
  do {
    const int64_t i = offset_of(&h.tensors[h.step.inputs[0]], at);
    const int64_t k = offset_of(&h.tensors[h.step.inputs[1]], at);
    const float x =
        is_signed ? ((const int8_t *)a)[i] : ((const uint8_t *)a)[i];
    const float y =
        is_signed ? ((const int8_t *)b)[k] : ((const uint8_t *)b)[k];
    const float scaled = x * (float)1.7;
    expected[n++] = (uint8_t)(int64_t)(scaled + y);
  } while (next_index(dims, at));
  harness_run_all(&h, compare_bytes, expected);
  harness_free(&h);
}

static void test_programs(void **state) {
  (void)state;
  harness_rng rng = {67};
  for (int way = 0; way < 4; way++) {
    run_program(way, false, &rng);
    run_program(way, true, &rng);
  }
}

/* What QUANTIZE layers become: floats on a grid, with NaN, what is too large,
 * and numbers half way between two steps. `defect`: what keeps a program from
 * being that, which has to be computed as it says. */
static void run_quantize(int defect, int64_t apart, harness_rng *rng) {
  const bsm_dims dims = dims_of(2, 5, 261);
  const int64_t strides[2] = {300 * apart, apart};
  const float inverse = 4, least = 3, greatest = 250;
  const float zero = defect == 1 ? 100.5f : 100;
  const float nan_is = defect == 2 ? 7 : least;
  harness h;
  harness_init(&h, BSM_STEP_ELEMENT_WISE);
  bsm_step_element_wise *p = &h.params.element_wise;
  const int32_t f = BSM_DTYPE_FLOAT;
  const bsm_step_ew_instruction program[] = {
      {BSM_STEP_EW_CONSTANT, 0, 1, 0, 0, 0, f, 0, (double)inverse},
      {BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_PROD, 2, 1, 0, 0, f},
      {BSM_STEP_EW_UNARY, BSM_UNARY_ROUND, 2, 2, 0, 0, f},
      {BSM_STEP_EW_CONSTANT, 0, 1, 0, 0, 0, f, 0, (double)zero},
      {BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_SUM, 2, 2, 1, 0, f},
      {BSM_STEP_EW_UNARY, BSM_UNARY_ISNAN, 3, 2, 0, 0, BSM_DTYPE_BOOL},
      {BSM_STEP_EW_CONSTANT, 0, 1, 0, 0, 0, f, 0, (double)least},
      {BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_MAX, 4, 2, 1, 0, f},
      {BSM_STEP_EW_CONSTANT, 0, 5, 0, 0, 0, f, 0, (double)greatest},
      {BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_MIN, 4, 5, 4, 0, f},
      {BSM_STEP_EW_CONSTANT, 0, 1, 0, 0, 0, f, 0, (double)nan_is},
      {BSM_STEP_EW_SELECT, 0, 4, 3, 1, 4, f},
      {BSM_STEP_EW_CAST, 0, 6, 4, 0, 0, BSM_DTYPE_UINT8}};
  p->instruction_count = sizeof(program) / sizeof(program[0]);
  p->result = 6;
  memcpy(p->program, program, sizeof(program));
  float *x = add_input(&h, BSM_DTYPE_FLOAT, dims, apart > 1 ? strides : NULL);
  fill_input(&h, rng, 0);
  x[0] = NAN;
  x[apart] = INFINITY;
  x[2 * apart] = -INFINITY;
  x[3 * apart] = 3e38f;
  for (int i = 4; i < 40; i++) x[i * apart] = (float)i / 8;
  add_output(&h, BSM_DTYPE_UINT8, dims, NULL);
  uint8_t expected[5 * 261];
  int64_t at[BSM_MAX_RANK] = {0};
  size_t n = 0;
  do {
    const float v = x[offset_of(&h.tensors[h.step.inputs[0]], at)];
    const float q = nearbyintf(v * inverse) + zero;
    expected[n++] =
        (uint8_t)(isnan(q) ? nan_is : fminf(fmaxf(q, least), greatest));
  } while (next_index(dims, at));
  harness_run_all(&h, compare_bytes, expected);
  harness_free(&h);
}

static void test_quantize(void **state) {
  (void)state;
  harness_rng rng = {73};
  for (int defect = 0; defect < 3; defect++) {
    run_quantize(defect, 1, &rng);
    run_quantize(defect, 2, &rng);
  }
}

typedef struct chain {
  bool is_signed; /* the bytes that are read */
  bool adds;      /* floats of a second input */
  bool twice;     /* what the bytes are as floats is read twice */
  bool moved;     /* the factor is no number, but computed */
  bool casts;     /* the end is a cast, not a grid */
  int apart;      /* the bytes; 0: as they are */
  int y_apart;    /* the output */
} chain;

static void append(bsm_step_element_wise *p, int32_t kind, int32_t code,
                   int32_t a, int32_t b, double number) {
  const int32_t dtype = code == BSM_UNARY_ISNAN && kind == BSM_STEP_EW_UNARY
                            ? BSM_DTYPE_BOOL
                            : BSM_DTYPE_FLOAT;
  p->program[p->instruction_count++] = (bsm_step_ew_instruction){
      kind, code, ++p->result, a, b, 0, dtype, 0, number};
}

/* Puts the last result on a grid of bytes. */
static void append_grid(bsm_step_element_wise *p, float inverse, float zero,
                        float least, float greatest) {
  const int32_t binary = BSM_STEP_EW_BINARY, unary = BSM_STEP_EW_UNARY;
  const int32_t x = p->result;
  append(p, BSM_STEP_EW_CONSTANT, 0, 0, 0, (double)inverse);
  append(p, binary, BSM_ELEMENT_WISE_PROD, x, x + 1, 0);
  append(p, unary, BSM_UNARY_ROUND, x + 2, 0, 0);
  append(p, BSM_STEP_EW_CONSTANT, 0, 0, 0, (double)zero);
  append(p, binary, BSM_ELEMENT_WISE_SUM, x + 3, x + 4, 0);
  append(p, BSM_STEP_EW_CONSTANT, 0, 0, 0, (double)least);
  append(p, binary, BSM_ELEMENT_WISE_MAX, x + 5, x + 6, 0);
  append(p, BSM_STEP_EW_CONSTANT, 0, 0, 0, (double)greatest);
  append(p, unary, BSM_UNARY_ISNAN, x + 5, 0, 0);
  append(p, binary, BSM_ELEMENT_WISE_MIN, x + 7, x + 8, 0);
  append(p, BSM_STEP_EW_SELECT, 0, x + 9, x + 6, 0);
  p->program[p->instruction_count - 1].c = x + 10;
  append(p, BSM_STEP_EW_CAST, 0, x + 11, 0, 0);
  p->program[p->instruction_count - 1].dtype = BSM_DTYPE_UINT8;
}

/* floor((x - 7) * 0.37 [* x] [+ y]) on a grid: bytes that are dequantized,
 * computed with, and quantized. */
static void append_chain(bsm_step_element_wise *p, const chain *c) {
  const int32_t binary = BSM_STEP_EW_BINARY, first = c->adds ? 2 : 1;
  p->result = first - 1;
  append(p, BSM_STEP_EW_CAST, 0, 0, 0, 0);
  append(p, BSM_STEP_EW_CONSTANT, 0, 0, 0, 7);
  append(p, binary, BSM_ELEMENT_WISE_SUB, first, first + 1, 0);
  append(p, BSM_STEP_EW_CONSTANT, 0, 0, 0, 0.37);
  if (c->moved) append(p, binary, BSM_ELEMENT_WISE_MAX, first, first + 3, 0);
  const int32_t factor = p->result;
  append(p, binary, BSM_ELEMENT_WISE_PROD, factor, first + 2, 0);
  if (c->twice) {
    append(p, binary, BSM_ELEMENT_WISE_PROD, p->result, first, 0);
  }
  if (c->adds) append(p, binary, BSM_ELEMENT_WISE_SUM, 1, p->result, 0);
  append(p, BSM_STEP_EW_UNARY, BSM_UNARY_FLOOR, p->result, 0, 0);
  if (!c->casts) {
    append_grid(p, 0.75f, 100, 3, 250);
    return;
  }
  append(p, BSM_STEP_EW_CAST, 0, p->result, 0, 0);
  p->program[p->instruction_count - 1].dtype =
      c->is_signed ? BSM_DTYPE_INT8 : BSM_DTYPE_UINT8;
}

static uint8_t chain_value(const chain *c, float x, float y) {
  const float factor = c->moved ? fmaxf(x, 0.37f) : 0.37f;
  float v = (x - 7.0f) * factor;
  if (c->twice) v *= x;
  if (c->adds) v += y;
  if (c->casts) return (uint8_t)(int64_t)floorf(v);
  v = nearbyintf(floorf(v) * 0.75f) + 100;
  return (uint8_t)(isnan(v) ? 3 : fminf(fmaxf(v, 3), 250));
}

static void run_chain(const chain *c, harness_rng *rng) {
  const bsm_dtype dtype = c->is_signed ? BSM_DTYPE_INT8 : BSM_DTYPE_UINT8;
  const bsm_dims dims = dims_of(2, 7, 293);
  const int64_t apart[2] = {600, c->apart}, repeated[2] = {0, 1};
  const int64_t y_apart[2] = {700, c->y_apart};
  harness h;
  harness_init(&h, BSM_STEP_ELEMENT_WISE);
  append_chain(&h.params.element_wise, c);
  const void *x = add_input(&h, dtype, dims, c->apart ? apart : NULL);
  fill_bytes(rng, h.inputs[0], h.data[h.step.inputs[0]].size, ANY_BYTES);
  float *y = c->adds ? add_input(&h, BSM_DTYPE_FLOAT, dims, repeated) : NULL;
  if (y) {
    fill_input(&h, rng, 1);
    y[5] = NAN;
    y[6] = 3e38f;
  }
  add_output(&h, c->casts ? dtype : BSM_DTYPE_UINT8, dims,
             c->y_apart ? y_apart : NULL);
  uint8_t expected[7 * 293];
  int64_t at[BSM_MAX_RANK] = {0};
  size_t n = 0;
  do {
    const int64_t i = offset_of(&h.tensors[h.step.inputs[0]], at);
    const float v =
        c->is_signed ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
    expected[n++] = chain_value(c, v, y ? y[at[1]] : 0);
  } while (next_index(dims, at));
  harness_run_all(&h, compare_bytes, expected);
  harness_free(&h);
}

static void test_chains(void **state) {
  (void)state;
  harness_rng rng = {89};
  for (int i = 0; i < 48; i++) {
    const chain c = {.is_signed = i & 1,
                     .adds = i & 2,
                     .twice = i & 4,
                     .moved = i & 8,
                     .apart = i < 16   ? 0
                              : i < 32 ? 2
                                       : 1};
    run_chain(&c, &rng);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_winograd),
      cmocka_unit_test(test_small_weights),
      cmocka_unit_test(test_great_weights),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_depthwise),
      cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_hostile),
      cmocka_unit_test(test_pooling),
      cmocka_unit_test(test_programs),
      cmocka_unit_test(test_quantize),
      cmocka_unit_test(test_chains),
      cmocka_unit_test(test_halves),
  };
  return suite_run(argc, argv, tests);
}
