/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions for tests of kernels, and what their results have
 * to be, by plain loops. */
#ifndef TESTS_CUDA_GEMM_PROBLEM_H_
#define TESTS_CUDA_GEMM_PROBLEM_H_

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/kernels/params.h"
#include "bessemer/network.h"
#include "cuda/kernel_kit.h"

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
  bool floats; /* results are, whatever operands are */
} shape;

typedef struct problem {
  const shape *s;
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
                          const void *c) {
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
  const double seen =
      (double)(p->s->floats ? ((const float *)c)[at]
                            : value_of(((const uint16_t *)c)[at], p->is_bf16));
  const double rounding = p->s->floats ? 0x1p-22
                          : p->is_bf16 ? 0x1p-8
                                       : 0x1p-11;
  if (!(fabs(seen - expected) <=
        rounding * fabs(expected) + 1e-6 * (s.size + 1))) {
    fail_msg("%s, group %d, m %d, n %d: %.9g instead of %.9g",
             p->is_bf16 ? "bf16" : "fp16", g, m, n, seen, expected);
  }
}

static void check(const problem *p, const void *c) {
  const shape *s = p->s;
  const int words = s->floats ? 2 : 1; /* of 16 bits */
  for (int g = 0; g < s->groups; g++) {
    for (int m = 0; m < p->m; m++) {
      for (int n = 0; n < p->n; n++) check_element(p, g, m, n, c);
    }
  }
  /* Between the rows nothing was written. */
  for (int m = 0; m < p->m && s->c_extra; m++) {
    const uint16_t *row =
        (const uint16_t *)c + (size_t)m * (size_t)(p->c_row * words);
    for (int x = (p->c_row - s->c_extra) * words; x < p->c_row * words; x++) {
      assert_int_equal(row[x], 0xffff);
    }
  }
}

/* ---- the problem ---- */

static problem make_problem(const shape *s, bool is_bf16) {
  problem p = {.s = s, .is_bf16 = is_bf16};
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

/* ---- parameters ---- */

/* Without addresses, and what follows from tiles. */
static bsm_cuda_mma parameters_of(const problem *p) {
  const shape *s = p->s;
  return (bsm_cuda_mma){.m = p->m,
                        .n = p->n,
                        .k = p->k,
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

#endif /* TESTS_CUDA_GEMM_PROBLEM_H_ */
