/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/mma_gemm.cu as a product and as a convolution, run on the host,
 * against plain loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/kernels/params.h"
#include "bessemer/network.h"
#include "cuda/kernel_kit.h"

typedef struct tile {
  int bm, bn, bk, wm, wn, stages, splits;
} tile;

/* A product is a convolution of 1 by 1 pixels: m rows of one pixel each. */
typedef struct shape {
  int images, ih, iw, channels; /* of one group */
  int maps, kh, kw, stride, padding, dilation;
  int groups;   /* or batches */
  int c_extra;  /* elements between rows of the result */
  bool is_conv; /* groups share rows of A and C; else they follow each other */
  bool has_bias, has_residual;
  int activation;
  /* How operands lie: a as images or rows, or with the maps of a pixel far
   * apart; b by maps, or with the taps of a map far apart. */
  bool a_planes, b_rows;
  /* Elements one by one, though they lie together. */
  bool elements;
} shape;

typedef struct problem {
  const shape *s;
  const tile *t;
  bool is_bf16;
  int oh, ow, m, n, k;
  int a_row, c_row;
  size_t a_map; /* elements from map to map of A */
  size_t a_image, a_batch, b_batch, c_batch;
  size_t a_count, b_count, c_count;
  uint16_t *a, *b, *residual, *bias;
} problem;

/* ---- numbers ---- */

static float value_of(uint16_t bits, bool is_bf16) {
  if (is_bf16) {
    const uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, 4);
    return x;
  }
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double x =
      exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
  return (float)(bits >> 15 ? -x : x);
}

/* About as many of each sign, of size 1/4 to 1. */
static uint16_t *numbers(size_t count, uint32_t seed, bool is_bf16) {
  uint16_t *x = malloc(count * sizeof(*x));
  assert_non_null(x);
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    const uint32_t r = seed >> 8;
    x[i] = (uint16_t)((r & 0x8000u) | (is_bf16 ? 0x3e80u + (r & 0xffu)
                                               : 0x3400u + (r & 0x7ffu)));
  }
  return x;
}

/* ---- what is expected ---- */

static double activate(int activation, double x) {
  if (activation == BSM_ACTIVATION_RELU) return x < 0 ? 0 : x;
  if (activation == BSM_ACTIVATION_SILU) return x / (1 + exp(-x));
  return x;
}

typedef struct sum {
  double value, size; /* of all terms without their signs */
} sum;

static sum sum_of(const problem *p, int g, int m, int n) {
  const shape *s = p->s;
  const int image = m / (p->oh * p->ow), pixel = m % (p->oh * p->ow);
  sum out = {0, 0};
  int k = 0;
  for (int y = 0; y < s->kh; y++) {
    for (int x = 0; x < s->kw; x++) {
      const int iy = pixel / p->ow * s->stride - s->padding + y * s->dilation;
      const int ix = pixel % p->ow * s->stride - s->padding + x * s->dilation;
      for (int c = 0; c < s->channels; c++, k++) {
        if (iy < 0 || iy >= s->ih || ix < 0 || ix >= s->iw) continue;
        const size_t at = (size_t)g * p->a_batch + (size_t)image * p->a_image +
                          (size_t)(iy * s->iw + ix) * (size_t)p->a_row +
                          (size_t)c * p->a_map;
        const size_t b_at = (size_t)(s->b_rows ? k * p->n + n : n * p->k + k);
        const double a = (double)value_of(p->a[at], p->is_bf16);
        const double b =
            (double)value_of(p->b[(size_t)g * p->b_batch + b_at], p->is_bf16);
        out.value += a * b;
        out.size += fabs(a * b);
      }
    }
  }
  return out;
}

static void check_element(const problem *p, int g, int m, int n,
                          const uint16_t *c) {
  const size_t at =
      (size_t)g * p->c_batch + (size_t)m * (size_t)p->c_row + (size_t)n;
  sum s = sum_of(p, g, m, n);
  double expected = s.value * 0.5;
  if (p->s->has_bias) {
    expected += (double)value_of(p->bias[g * p->n + n], p->is_bf16);
  }
  if (p->s->has_residual) {
    expected += (double)value_of(p->residual[at], p->is_bf16);
  }
  expected = activate(p->s->activation, expected);
  const double seen = (double)value_of(c[at], p->is_bf16);
  const double rounding = p->is_bf16 ? 0x1p-8 : 0x1p-11;
  if (!(fabs(seen - expected) <=
        rounding * fabs(expected) + 1e-6 * (s.size + 1))) {
    fail_msg("%s, group %d, m %d, n %d: %.9g instead of %.9g",
             p->is_bf16 ? "bf16" : "fp16", g, m, n, seen, expected);
  }
}

static void check(const problem *p, const uint16_t *c) {
  const shape *s = p->s;
  for (int g = 0; g < s->groups; g++) {
    for (int m = 0; m < p->m; m++) {
      for (int n = 0; n < p->n; n++) check_element(p, g, m, n, c);
    }
  }
  /* Between the rows nothing was written. */
  for (int m = 0; m < p->m && s->c_extra; m++) {
    for (int x = p->c_row - s->c_extra; x < p->c_row; x++) {
      assert_int_equal(c[(size_t)m * (size_t)p->c_row + (size_t)x], 0xffff);
    }
  }
}

/* ---- the problem ---- */

static problem make_problem(const shape *s, const tile *t, bool is_bf16) {
  problem p = {.s = s, .t = t, .is_bf16 = is_bf16};
  const int reach_y = s->dilation * (s->kh - 1) + 1;
  const int reach_x = s->dilation * (s->kw - 1) + 1;
  p.oh = (s->ih + 2 * s->padding - reach_y) / s->stride + 1;
  p.ow = (s->iw + 2 * s->padding - reach_x) / s->stride + 1;
  p.m = s->images * p.oh * p.ow;
  p.n = s->maps;
  p.k = s->kh * s->kw * s->channels;
  const int in_row = s->is_conv ? s->groups : 1;
  const size_t plane = (size_t)(s->is_conv ? s->ih * s->iw : s->images);
  p.a_row = s->a_planes ? 1 : s->channels * in_row;
  p.a_map = s->a_planes ? plane : 1;
  p.c_row = s->maps * in_row + s->c_extra;
  const size_t a_one =
      (size_t)(s->images * s->ih * s->iw) * (size_t)(s->channels * in_row);
  const size_t c_one = (size_t)p.m * (size_t)p.c_row;
  /* The rows of a product are images of one pixel. */
  p.a_image = s->is_conv ? a_one / (size_t)s->images : (size_t)p.a_row;
  p.a_batch = s->is_conv ? (size_t)s->channels * p.a_map : a_one;
  p.b_batch = (size_t)(p.n * p.k);
  p.c_batch = s->is_conv ? (size_t)s->maps : c_one;
  p.a_count = s->is_conv ? a_one : a_one * (size_t)s->groups;
  p.b_count = p.b_batch * (size_t)s->groups;
  p.c_count = s->is_conv ? c_one : c_one * (size_t)s->groups;
  p.a = numbers(p.a_count, 1, is_bf16);
  p.b = numbers(p.b_count, 2, is_bf16);
  p.residual = numbers(p.c_count, 3, is_bf16);
  p.bias = numbers((size_t)(p.n * s->groups), 4, is_bf16);
  return p;
}

static void free_problem(problem *p) {
  free(p->a);
  free(p->b);
  free(p->residual);
  free(p->bias);
}

#define MAX_OPTIONS 16

typedef struct options {
  const char *at[MAX_OPTIONS];
} options;

static options options_of(device *d, const problem *p) {
  const shape *s = p->s;
  const tile *t = p->t;
  const int a = s->elements || s->a_planes ? 0 : 1;
  const int b = s->elements ? 0 : s->b_rows ? 2 : 1;
  options o = {{p->is_bf16 ? "-DK_T=bf16" : "-DK_T=f16", "-DK_TRANSPOSED=0"}};
  const struct {
    const char *name;
    int value;
  } all[] = {{"BM", t->bm},
             {"BN", t->bn},
             {"BK", t->bk},
             {"WM", t->wm},
             {"WN", t->wn},
             {"STAGES", t->stages},
             {"SPLIT", t->splits > 1},
             {"ACTIVATION", s->activation},
             {"IMAGE", s->is_conv ? 2 : 0},
             {"A", a},
             {"B", b},
             {"WEIGHTS", s->b_rows}};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    o.at[2 + i] =
        bsm_arena_printf(&d->arena, "-DK_%s=%d", all[i].name, all[i].value);
    assert_non_null(o.at[2 + i]);
  }
  return o;
}

/* ---- running ---- */

static int tiles_of(int size, int tile_size) {
  return (size + tile_size - 1) / tile_size;
}

static bsm_cuda_mma parameters_of(const problem *p) {
  const shape *s = p->s;
  const int tiles = tiles_of(p->k, p->t->bk);
  return (bsm_cuda_mma){.m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .tiles_n = tiles_of(p->n, p->t->bn),
                        .splits = p->t->splits,
                        .split_k = tiles_of(tiles, p->t->splits) * p->t->bk,
                        .scale = 0.5f,
                        .loops = 1,
                        .batch_sizes = {s->groups},
                        .a_batch = {(int64_t)p->a_batch},
                        .b_batch = {(int64_t)p->b_batch},
                        .y_batch = {(int64_t)p->c_batch},
                        .residual_batch = {(int64_t)p->c_batch},
                        .bias_batch = p->n,
                        .a_row = p->a_row,
                        .a_column = (int64_t)p->a_map,
                        .b_row = s->b_rows ? p->n : 1,
                        .b_column = s->b_rows ? 1 : p->k,
                        .y_row = p->c_row,
                        .residual_row = p->c_row,
                        .residual_column = 1,
                        .maps = s->channels,
                        .in = {1, s->ih, s->iw},
                        .in_stride = {0, s->iw * p->a_row, p->a_row},
                        .out = {1, p->oh, p->ow},
                        .kernel = {1, s->kh, s->kw},
                        .stride = {1, s->stride, s->stride},
                        .dilation = {1, s->dilation, s->dilation},
                        .pre = {0, s->padding, s->padding},
                        .image_stride = (int64_t)p->a_image};
}

static void run(device *d, bsm_cu_function f, const problem *p,
                bsm_cuda_mma *args) {
  const tile *t = p->t;
  void *parameters[] = {args};
  const bsm_cu_launch_config config = {
      .grid = {(unsigned)(args->tiles_n * tiles_of(p->m, t->bm)),
               (unsigned)t->splits, (unsigned)p->s->groups},
      .block = {(unsigned)(32 * t->wm * t->wn), 1, 1},
      .shared_bytes = (unsigned)(t->stages * (t->bm + t->bn) * t->bk * 2),
      .stream = d->stream};
  assert_cu(d->driver.launch(&config, f, parameters, NULL));
}

static void run_problem(const shape *s, const tile *t, bool is_bf16) {
  device d;
  device_open(&d);
  problem p = make_problem(s, t, is_bf16);
  const options o = options_of(&d, &p);
  bsm_cu_module module =
      load_kernels(&d, "mma_gemm.cu", kernel_file(&d, "mma_gemm.cu"), o.at);
  bsm_cu_function f = find_kernel(&d, module, "mma_gemm");
  const size_t tiles =
      (size_t)(tiles_of(p.n, t->bn) * tiles_of(p.m, t->bm)) * (size_t)s->groups;
  const size_t c_bytes = p.c_count * 2;
  uint32_t *zeros = calloc(tiles, 4);
  uint16_t *c = malloc(c_bytes), *first = malloc(c_bytes);
  assert_true(zeros && c && first);
  bsm_cuda_mma args = parameters_of(&p);
  args.a = put(&d, p.a, p.a_count * 2);
  args.b = put(&d, p.b, p.b_count * 2);
  args.partial = put(&d, NULL, tiles * (size_t)(t->splits * t->bm * t->bn) * 4);
  args.counters = put(&d, zeros, tiles * 4);
  const bsm_cu_address bias = put(&d, p.bias, (size_t)(p.n * s->groups) * 2);
  const bsm_cu_address residual = put(&d, p.residual, p.c_count * 2);
  if (s->has_bias) args.bias = bias;
  if (s->has_residual) args.residual = residual;
  /* In any order of blocks and warps the same bits. */
  for (uint64_t order = 0; order < 3; order++) {
    d.standin.mode(0, order, 90);
    args.y = put(&d, NULL, c_bytes);
    run(&d, f, &p, &args);
    fetch(&d, c, args.y, c_bytes);
    drop(&d, args.y);
    if (order == 0) {
      memcpy(first, c, c_bytes);
      check(&p, c);
    }
    assert_memory_equal(c, first, c_bytes);
  }
  fetch(&d, zeros, args.counters, tiles * 4);
  for (size_t i = 0; i < tiles; i++) assert_int_equal(zeros[i], 0);
  const bsm_cu_address all[] = {args.a,   args.b,       bias,
                                residual, args.partial, args.counters};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) drop(&d, all[i]);
  assert_cu(d.driver.module_unload(module));
  free(zeros);
  free(c);
  free(first);
  free_problem(&p);
  device_close(&d);
}

/* ---- tests ---- */

static const tile tiles[] = {
    {64, 64, 32, 2, 2, 2, 1},  {128, 64, 32, 4, 1, 3, 1},
    {64, 128, 64, 2, 4, 4, 1}, {32, 32, 64, 2, 1, 3, 3},
    {16, 32, 32, 1, 2, 4, 2},
};
#define TILES (sizeof(tiles) / sizeof(tiles[0]))

static const shape product = {.images = 77,
                              .ih = 1,
                              .iw = 1,
                              .channels = 136,
                              .maps = 56,
                              .kh = 1,
                              .kw = 1,
                              .stride = 1,
                              .dilation = 1,
                              .groups = 2};

static void multiplies(void **state) {
  (void)state;
  for (size_t i = 0; i < TILES; i++) {
    shape s = product;
    for (int kind = 0; kind < 2; kind++) run_problem(&s, &tiles[i], kind);
    s.maps = 72;
    s.b_rows = true;
    s.c_extra = 3;
    s.has_bias = true;
    s.has_residual = true;
    s.activation = BSM_ACTIVATION_SILU;
    run_problem(&s, &tiles[i], i % 2);
  }
}

static void multiplies_less_than_a_tile(void **state) {
  (void)state;
  shape s = product;
  s.images = 1;
  s.maps = 8;
  s.channels = 8;
  s.groups = 1;
  for (size_t i = 0; i < TILES; i++) run_problem(&s, &tiles[i], i % 2);
}

static void multiplies_matrices_of_any_strides(void **state) {
  (void)state;
  shape s = product;
  s.maps = 53;
  s.channels = 139;
  s.elements = true;
  for (size_t i = 0; i < TILES; i++) {
    s.a_planes = i % 2;
    s.b_rows = i / 2 % 2;
    run_problem(&s, &tiles[i], i % 2);
  }
}

static void convolves(void **state) {
  (void)state;
  const int relu = BSM_ACTIVATION_RELU, silu = BSM_ACTIVATION_SILU;
  const shape shapes[] = {
      {2, 7, 9, 24, 21, 3, 3, 1, 1, 1, 1, 0, true, true, true, relu, 0, 0, 0},
      {1, 11, 8, 16, 40, 3, 3, 2, 1, 1, 1, 0, true, true, false, relu, 0, 0, 0},
      {2, 10, 10, 8, 11, 3, 5, 1, 2, 2, 3, 0, true, false, true, silu, 0, 0, 0},
      {1, 9, 9, 64, 32, 1, 1, 2, 0, 1, 1, 1, true, true, false, 0, 0, 0, 0},
      {2, 13, 11, 3, 20, 5, 5, 2, 2, 1, 1, 0, true, true, false, relu, 1, 0, 1},
      {1, 8, 9, 5, 6, 3, 3, 1, 1, 1, 2, 0, true, true, true, 0, 0, 0, 1},
  };
  for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
    for (size_t i = 0; i < TILES; i++) {
      run_problem(&shapes[k], &tiles[i], (i + k) % 2);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(multiplies),
      cmocka_unit_test(multiplies_less_than_a_tile),
      cmocka_unit_test(multiplies_matrices_of_any_strides),
      cmocka_unit_test(convolves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
