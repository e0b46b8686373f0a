/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/mma_gemm.cu as a product and as a convolution, run on the host,
 * against plain loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/kernel_kit.h"

#define MAX_OPTIONS 48

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
  const char *activation;
} shape;

typedef struct gemm_args {
  bsm_cu_address a, b, bias, residual, c, partial, counters;
} gemm_args;

typedef struct problem {
  const shape *s;
  const tile *t;
  bool is_bf16;
  int oh, ow, m, n, k;
  int a_row, c_row;
  size_t a_batch, b_batch, c_batch; /* elements */
  size_t a_count, b_count, c_count;
  uint16_t *a, *b, *residual;
  float *bias;
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

static double activate(const char *name, double x) {
  if (strcmp(name, "act_relu") == 0) return x < 0 ? 0 : x;
  if (strcmp(name, "act_silu") == 0) return x / (1 + exp(-x));
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
        const size_t row = (size_t)((image * s->ih + iy) * s->iw + ix);
        const size_t at =
            (size_t)g * p->a_batch + row * (size_t)p->a_row + (size_t)c;
        const double a = (double)value_of(p->a[at], p->is_bf16);
        const double b = (double)value_of(
            p->b[(size_t)g * p->b_batch + (size_t)(n * p->k + k)], p->is_bf16);
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
  if (p->s->has_bias) expected += (double)p->bias[g * p->n + n];
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
  p.a_row = s->channels * in_row;
  p.c_row = s->maps * in_row + s->c_extra;
  const size_t a_rows = (size_t)(s->images * s->ih * s->iw);
  const size_t a_one = a_rows * (size_t)p.a_row;
  const size_t c_one = (size_t)p.m * (size_t)p.c_row;
  p.a_batch = s->is_conv ? (size_t)s->channels : a_one;
  p.b_batch = (size_t)(p.n * p.k);
  p.c_batch = s->is_conv ? (size_t)s->maps : c_one;
  p.a_count = s->is_conv ? a_one : a_one * (size_t)s->groups;
  p.b_count = p.b_batch * (size_t)s->groups;
  p.c_count = s->is_conv ? c_one : c_one * (size_t)s->groups;
  p.a = numbers(p.a_count, 1, is_bf16);
  p.b = numbers(p.b_count, 2, is_bf16);
  p.residual = numbers(p.c_count, 3, is_bf16);
  p.bias = malloc((size_t)(p.n * s->groups) * sizeof(float));
  assert_non_null(p.bias);
  for (int i = 0; i < p.n * s->groups; i++) {
    p.bias[i] = (float)(i % 7) * 0.125f - 0.3f;
  }
  return p;
}

static void free_problem(problem *p) {
  free(p->a);
  free(p->b);
  free(p->residual);
  free(p->bias);
}

typedef struct options {
  const char *at[MAX_OPTIONS];
  int count;
} options;

static void define(device *d, options *o, const char *name, long value) {
  assert_true(o->count < MAX_OPTIONS - 1);
  o->at[o->count] = bsm_arena_printf(&d->arena, "-D%s=%ld", name, value);
  assert_non_null(o->at[o->count++]);
}

static options options_of(device *d, const problem *p) {
  const shape *s = p->s;
  const tile *t = p->t;
  options o = {{p->is_bf16 ? "-DT=bf16" : "-DT=f16",
                bsm_arena_printf(&d->arena, "-DACTIVATION=%s", s->activation),
                "-DALPHA=0", "-DBETA=0", "-DSCALE=0.5"},
               5};
  const struct {
    const char *name;
    long value;
  } all[] = {{"BM", t->bm},
             {"BN", t->bn},
             {"BK", t->bk},
             {"WM", t->wm},
             {"WN", t->wn},
             {"STAGES", t->stages},
             {"SPLITS", t->splits},
             {"M", p->m},
             {"N", p->n},
             {"K", p->k},
             {"CONV", s->is_conv},
             {"IH", s->ih},
             {"IW", s->iw},
             {"IC", s->channels},
             {"OH", p->oh},
             {"OW", p->ow},
             {"KH", s->kh},
             {"KW", s->kw},
             {"SH", s->stride},
             {"SW", s->stride},
             {"PH", s->padding},
             {"PW", s->padding},
             {"DH", s->dilation},
             {"DW", s->dilation},
             {"A_ROW", p->a_row},
             {"C_ROW", p->c_row},
             {"R_ROW", p->c_row},
             {"A_BATCH", (long)p->a_batch},
             {"B_BATCH", (long)p->b_batch},
             {"C_BATCH", (long)p->c_batch},
             {"R_BATCH", (long)p->c_batch},
             {"BIAS_BATCH", p->n},
             {"HAS_BIAS", s->has_bias},
             {"HAS_RESIDUAL", s->has_residual}};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    define(d, &o, all[i].name, all[i].value);
  }
  return o;
}

/* ---- running ---- */

static unsigned tiles_of(int size, int tile_size) {
  return (unsigned)((size + tile_size - 1) / tile_size);
}

static void run(device *d, bsm_cu_function f, const problem *p,
                const gemm_args *args) {
  const tile *t = p->t;
  gemm_args parameter = *args;
  void *parameters[] = {&parameter};
  const bsm_cu_launch_config config = {
      .grid = {tiles_of(p->n, t->bn), tiles_of(p->m, t->bm),
               (unsigned)(p->s->groups * t->splits)},
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
      (size_t)tiles_of(p.n, t->bn) * tiles_of(p.m, t->bm) * (size_t)s->groups;
  const size_t c_bytes = p.c_count * 2;
  uint32_t *zeros = calloc(tiles, 4);
  uint16_t *c = malloc(c_bytes), *first = malloc(c_bytes);
  assert_true(zeros && c && first);
  gemm_args args = {
      .a = put(&d, p.a, p.a_count * 2),
      .b = put(&d, p.b, p.b_count * 2),
      .bias = put(&d, p.bias, (size_t)(p.n * s->groups) * 4),
      .residual = put(&d, p.residual, p.c_count * 2),
      .partial = put(&d, NULL, tiles * (size_t)(t->splits * t->bm * t->bn) * 4),
      .counters = put(&d, zeros, tiles * 4)};
  /* In any order of blocks and warps the same bits. */
  for (uint64_t order = 0; order < 3; order++) {
    d.standin.mode(0, order, 90);
    args.c = put(&d, NULL, c_bytes);
    run(&d, f, &p, &args);
    fetch(&d, c, args.c, c_bytes);
    drop(&d, args.c);
    if (order == 0) {
      memcpy(first, c, c_bytes);
      check(&p, c);
    }
    assert_memory_equal(c, first, c_bytes);
  }
  fetch(&d, zeros, args.counters, tiles * 4);
  for (size_t i = 0; i < tiles; i++) assert_int_equal(zeros[i], 0);
  const bsm_cu_address all[] = {args.a,        args.b,       args.bias,
                                args.residual, args.partial, args.counters};
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
                              .maps = 53,
                              .kh = 1,
                              .kw = 1,
                              .stride = 1,
                              .dilation = 1,
                              .groups = 2,
                              .activation = "act_none"};

static void multiplies(void **state) {
  (void)state;
  for (size_t i = 0; i < TILES; i++) {
    shape s = product;
    for (int kind = 0; kind < 2; kind++) run_problem(&s, &tiles[i], kind);
    s.maps = 70;
    s.c_extra = 2;
    s.has_bias = true;
    s.has_residual = true;
    s.activation = "act_silu";
    run_problem(&s, &tiles[i], i % 2);
  }
}

static void multiplies_less_than_a_tile(void **state) {
  (void)state;
  shape s = product;
  s.images = 1;
  s.maps = 3;
  s.channels = 8;
  s.groups = 1;
  for (size_t i = 0; i < TILES; i++) run_problem(&s, &tiles[i], i % 2);
}

static void convolves(void **state) {
  (void)state;
  static const shape shapes[] = {
      {2, 7, 9, 24, 21, 3, 3, 1, 1, 1, 1, 0, true, true, true, "act_relu"},
      {1, 11, 8, 16, 40, 3, 3, 2, 1, 1, 1, 0, true, true, false, "act_relu"},
      {2, 10, 10, 8, 11, 3, 5, 1, 2, 2, 3, 0, true, false, true, "act_silu"},
      {1, 9, 9, 64, 32, 1, 1, 2, 0, 1, 1, 1, true, true, false, "act_none"},
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
      cmocka_unit_test(convolves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
