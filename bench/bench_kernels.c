/* SPDX-License-Identifier: Apache-2.0 */
/* Times the CPU backend's steps on shapes of real models.
 *
 *   bench_kernels [--isa NAME] [--threads N] [--filter TEXT|TEXT...] [--seconds
 * S]
 *                 [--cold 1]
 *
 * For convolutions and matrix products: GFLOP/s and the share of the peak that
 * a loop of independent fused multiply-adds reaches on this machine with the
 * same instructions and threads. For the rest: GB/s of inputs and outputs. The
 * time is the best of many runs, as other programs may run beside; with one
 * thread it is the thread's CPU time. --cold takes the weights out of the
 * caches before each run, which is how a network larger than they are finds
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aten/tensor.h"
#include "backend/device.h"
#include "base/fma_peak.h"
#include "base/isa.h"
#include "builder/target.h"

#include "bench/one_step.h"

typedef struct bench {
  uint32_t isa;
  int threads;
  double peak;
  const char *filter;
  bsm_thread_pool *pool;
  one_step_how how;
} bench;

/* ---- one step ---- */

/* What packs the weights and lists the tactics. */
static const bsm_target *bench_target;

/* `strides` NULL: row-major. */
static void add_tensor(one_step *s, bool output, bsm_dims dims,
                       const int64_t *strides) {
  one_step_add(s, output, BSM_DTYPE_FLOAT, dims, strides);
}

static void add_image(one_step *s, bool output, int n, int c, int h, int w) {
  const bsm_dims d = {4, {n, c, h, w}};
  int64_t strides[4];
  one_step_channels_last(d, strides);
  add_tensor(s, output, d, strides);
}

static void add_packed(one_step *s, int64_t in_maps, size_t count) {
  if (one_step_add_packed(s, bench_target, BSM_DTYPE_FLOAT, in_maps, count)) {
    abort();
  }
}

static void add_bias(one_step *s, int n) {
  const size_t bytes = (size_t)n * sizeof(float);
  one_step_fill(BSM_DTYPE_FLOAT, one_step_add_weights(s, 1, bytes), bytes);
}

/* Of all tensors, and of the weights. */
static double bytes_of(const one_step *s) {
  double bytes = 0;
  for (uint32_t i = 0; i < s->plan.tensor_count; i++) {
    uint64_t extent;
    if (!bsm_plan_tensor_extent(&s->tensors[i], &extent)) abort();
    bytes += (double)extent;
  }
  for (uint32_t i = 0; i < s->plan.weights_count; i++) {
    bytes += (double)s->weights[i].size;
  }
  return bytes;
}

/* Runs every tactic of the step; flops 0: reports GB/s. */
static void report(bench *b, one_step *s, const char *name, double flops) {
  const bsm_target *t = bench_target;
  const char *names[BSM_MAX_TACTICS];
  const bsm_device_ops *ops = b->how.stream->device->ops;
  bsm_status st = ops->check(&s->plan, &s->step);
  const size_t count = st ? 0 : t->ops->tactics(t, &s->plan, &s->step, names);
  for (size_t i = 0; !st && i < count; i++) {
    double best;
    char tactic[64];
    st = one_step_time(s, &b->how, names[i], &best, tactic);
    if (st) break;
    if (flops > 0) {
      printf("%-34s %-28s %9.3f ms %8.1f GFLOP/s %5.1f %%\n", name, tactic,
             best * 1e3, flops / best * 1e-9,
             100 * flops / best * 1e-9 / b->peak);
    } else {
      printf("%-34s %-28s %9.3f ms %8.1f GB/s\n", name, tactic, best * 1e3,
             bytes_of(s) / best * 1e-9);
    }
  }
  if (st) {
    printf("%-34s %s\n", name, bsm_status_message(st));
    bsm_status_free(st);
  }
  one_step_free(s);
}

/* Whether the name holds one of the texts that `|` separates. */
static bool wanted(const bench *b, const char *name) {
  if (!b->filter) return true;
  for (const char *f = b->filter;; f++) {
    const size_t length = strcspn(f, "|");
    for (const char *at = name; *at; at++) {
      if (strncmp(at, f, length) == 0) return true;
    }
    f += length;
    if (!*f) return false;
  }
}

/* ---- convolutions and products ---- */

typedef struct conv_case {
  const char *name;
  int n, ci, co, size, kernel, stride, groups;
  int32_t activation; /* 0: ReLU */
} conv_case;

static const conv_case convs[] = {
    {"resnet50 conv1 7x7 3-64 224", 1, 3, 64, 224, 7, 2, 1},
    {"resnet50 1x1 64-64 56", 1, 64, 64, 56, 1, 1, 1},
    {"resnet50 3x3 64-64 56", 1, 64, 64, 56, 3, 1, 1},
    {"resnet50 1x1 64-256 56", 1, 64, 256, 56, 1, 1, 1},
    {"resnet50 1x1 256-64 56", 1, 256, 64, 56, 1, 1, 1},
    {"resnet50 1x1 256-128 56", 1, 256, 128, 56, 1, 1, 1},
    {"resnet50 3x3/2 128-128 56", 1, 128, 128, 56, 3, 2, 1},
    {"resnet50 1x1/2 256-512 56", 1, 256, 512, 56, 1, 2, 1},
    {"resnet50 1x1 512-128 28", 1, 512, 128, 28, 1, 1, 1},
    {"resnet50 3x3 128-128 28", 1, 128, 128, 28, 3, 1, 1},
    {"resnet50 1x1 128-512 28", 1, 128, 512, 28, 1, 1, 1},
    {"resnet50 3x3/2 256-256 28", 1, 256, 256, 28, 3, 2, 1},
    {"resnet50 1x1/2 512-1024 28", 1, 512, 1024, 28, 1, 2, 1},
    {"resnet50 1x1 1024-256 14", 1, 1024, 256, 14, 1, 1, 1},
    {"resnet50 3x3 256-256 14", 1, 256, 256, 14, 3, 1, 1},
    {"resnet50 1x1 256-1024 14", 1, 256, 1024, 14, 1, 1, 1},
    {"resnet50 3x3/2 512-512 14", 1, 512, 512, 14, 3, 2, 1},
    {"resnet50 1x1/2 1024-2048 14", 1, 1024, 2048, 14, 1, 2, 1},
    {"resnet50 1x1 2048-512 7", 1, 2048, 512, 7, 1, 1, 1},
    {"resnet50 3x3 512-512 7", 1, 512, 512, 7, 3, 1, 1},
    {"resnet50 1x1 512-2048 7", 1, 512, 2048, 7, 1, 1, 1},
    {"vgg16 3x3 3-64 224", 1, 3, 64, 224, 3, 1, 1},
    {"vgg16 3x3 64-64 224", 1, 64, 64, 224, 3, 1, 1},
    {"vgg16 3x3 128-128 112", 1, 128, 128, 112, 3, 1, 1},
    {"vgg16 3x3 256-256 56", 1, 256, 256, 56, 3, 1, 1},
    {"vgg16 3x3 512-512 28", 1, 512, 512, 28, 3, 1, 1},
    {"vgg16 3x3 512-512 14", 1, 512, 512, 14, 3, 1, 1},
    {"unet 3x3 32-32 256", 1, 32, 32, 256, 3, 1, 1},
    {"unet 3x3 64-64 128", 1, 64, 64, 128, 3, 1, 1},
    {"vit patches 16x16/16 3-768 224", 1, 3, 768, 224, 16, 16, 1},
    {"resnext 3x3 g32 128-128 56", 1, 128, 128, 56, 3, 1, 32},
    {"resnext 3x3 g32 512-512 14", 1, 512, 512, 14, 3, 1, 32},
    {"resnext 3x3 g32 1024-1024 7", 1, 1024, 1024, 7, 3, 1, 32},
    {"grouped 3x3 g32 192-192 28", 1, 192, 192, 28, 3, 1, 32},
    {"grouped 3x3 g8 96-96 28", 1, 96, 96, 28, 3, 1, 8},
    {"regnet 3x3 g6 96-96 28", 1, 96, 96, 28, 3, 1, 6},
    {"regnet 3x3 g8 160-160 28", 1, 160, 160, 28, 3, 1, 8},
    {"regnet 3x3 g7 168-168 28", 1, 168, 168, 28, 3, 1, 7},
    {"regnet 3x3 g14 336-336 14", 1, 336, 336, 14, 3, 1, 14},
    {"regnet 3x3 g6 240-240 28", 1, 240, 240, 28, 3, 1, 6},
    {"regnet 3x3 g6 288-288 14", 1, 288, 288, 14, 3, 1, 6},
    {"regnet 3x3 g4 256-256 14", 1, 256, 256, 14, 3, 1, 4},
    {"regnet 3x3 g37 888-888 7", 1, 888, 888, 7, 3, 1, 37},
    {"lenet 5x5 1-6 28", 1, 1, 6, 28, 5, 1, 1},
    {"lenet 5x5 6-16 14", 1, 6, 16, 14, 5, 1, 1},
    {"mobilenet conv1 3x3/2 3-32 224", 1, 3, 32, 224, 3, 2, 1},
    {"mobilenet 1x1 32-16 112", 1, 32, 16, 112, 1, 1, 1},
    {"mobilenet 1x1 16-96 112", 1, 16, 96, 112, 1, 1, 1},
    {"mobilenet 1x1 96-24 56", 1, 96, 24, 56, 1, 1, 1},
    {"mobilenet 1x1 24-144 56", 1, 24, 144, 56, 1, 1, 1},
    {"mobilenet 1x1 144-24 56", 1, 144, 24, 56, 1, 1, 1},
    {"mobilenet 1x1 144-32 28", 1, 144, 32, 28, 1, 1, 1},
    {"mobilenet 1x1 32-192 28", 1, 32, 192, 28, 1, 1, 1},
    {"mobilenet 1x1 192-32 28", 1, 192, 32, 28, 1, 1, 1},
    {"mobilenet 1x1 192-64 14", 1, 192, 64, 14, 1, 1, 1},
    {"mobilenet 1x1 64-384 14", 1, 64, 384, 14, 1, 1, 1},
    {"mobilenet 1x1 384-64 14", 1, 384, 64, 14, 1, 1, 1},
    {"mobilenet 1x1 384-96 14", 1, 384, 96, 14, 1, 1, 1},
    {"mobilenet 1x1 96-576 14", 1, 96, 576, 14, 1, 1, 1},
    {"mobilenet 1x1 576-96 14", 1, 576, 96, 14, 1, 1, 1},
    {"mobilenet 1x1 576-160 7", 1, 576, 160, 7, 1, 1, 1},
    {"mobilenet 1x1 160-960 7", 1, 160, 960, 7, 1, 1, 1},
    {"mobilenet 1x1 960-160 7", 1, 960, 160, 7, 1, 1, 1},
    {"mobilenet 1x1 960-320 7", 1, 960, 320, 7, 1, 1, 1},
    {"mobilenet 1x1 320-1280 7", 1, 320, 1280, 7, 1, 1, 1},
    {"efficientnet 1x1 silu 16-96 112", 1, 16, 96, 112, 1, 1, 1,
     BSM_ACTIVATION_SILU},
    {"efficientnet 1x1 silu 24-144 56", 1, 24, 144, 56, 1, 1, 1,
     BSM_ACTIVATION_SILU},
    {"efficientnet 1x1 silu 40-240 28", 1, 40, 240, 28, 1, 1, 1,
     BSM_ACTIVATION_SILU},
    {"efficientnet 1x1 silu 80-480 14", 1, 80, 480, 14, 1, 1, 1,
     BSM_ACTIVATION_SILU},
    {"efficientnet 1x1 silu 112-672 14", 1, 112, 672, 14, 1, 1, 1,
     BSM_ACTIVATION_SILU},
    {"efficientnet 1x1 silu 192-1152 7", 1, 192, 1152, 7, 1, 1, 1,
     BSM_ACTIVATION_SILU},
    {"efficientnet 1x1 silu 320-1280 7", 1, 320, 1280, 7, 1, 1, 1,
     BSM_ACTIVATION_SILU},
    {"mobilenet dw 3x3 144 56", 1, 144, 144, 56, 3, 1, 144},
    {"mobilenet dw 3x3/2 96 112", 1, 96, 96, 112, 3, 2, 96},
    {"mobilenet dw 3x3 576 14", 1, 576, 576, 14, 3, 1, 576},
    {"efficientnet dw 5x5 240 28", 1, 240, 240, 28, 5, 1, 240},
    {"mobilenet dw 3x3 960 7", 1, 960, 960, 7, 3, 1, 960},
};

static void set_window(bsm_step_window *w, int kernel, int stride, int pad) {
  w->spatial = 2;
  for (int d = 0; d < 3; d++) {
    w->kernel[d] = d ? kernel : 1;
    w->stride[d] = d ? stride : 1;
    w->dilation[d] = 1;
    w->pre_padding[d] = w->post_padding[d] = d ? pad : 0;
  }
}

static void run_conv(bench *b, const conv_case *c) {
  one_step s;
  one_step_start(&s, BSM_STEP_CONVOLUTION);
  const int pad = c->kernel == c->stride ? 0 : c->kernel / 2;
  const int out = (c->size + 2 * pad - c->kernel) / c->stride + 1;
  bsm_step_convolution *p = &s.params.convolution;
  set_window(&p->window, c->kernel, c->stride, pad);
  p->groups = c->groups;
  p->out_maps = c->co;
  p->epilogue.activation = c->activation ? c->activation : BSM_ACTIVATION_RELU;
  add_image(&s, false, c->n, c->ci, c->size, c->size);
  add_image(&s, true, c->n, c->co, out, out);
  const double per_output = (double)(c->ci / c->groups) * c->kernel * c->kernel;
  add_packed(&s, c->ci, (size_t)(per_output * c->co));
  add_bias(&s, c->co);
  report(b, &s, c->name, 2 * per_output * c->co * out * out * c->n);
}

typedef struct product_case {
  const char *name;
  int batch, m, k, n, constant, transposed;
  int32_t activation;
} product_case;

static const product_case products[] = {
    {"bert 128 x 768 x 768", 1, 128, 768, 768, 1, 0},
    {"bert 128 x 768 x 3072", 1, 128, 768, 3072, 1, 0},
    {"bert 128 x 3072 x 768", 1, 128, 3072, 768, 1, 0},
    {"bert 128 x 768 x 3072 gelu", 1, 128, 768, 3072, 1, 0,
     BSM_ACTIVATION_GELU_ERF},
    {"bert QK^T 12 x 128 x 64 x 128", 12, 128, 64, 128, 0, 1},
    {"bert PV 12 x 128 x 128 x 64", 12, 128, 128, 64, 0, 0},
    {"vit 197 x 768 x 2304", 1, 197, 768, 2304, 1, 0},
    {"vit 197 x 768 x 768", 1, 197, 768, 768, 1, 0},
    {"vit 197 x 3072 x 768", 1, 197, 3072, 768, 1, 0},
    {"gpt2 64 x 768 x 50257", 1, 64, 768, 50257, 1, 0},
    {"square 512", 1, 512, 512, 512, 1, 0},
    {"square 1024", 1, 1024, 1024, 1024, 1, 0},
    {"square 1024 dynamic", 1, 1024, 1024, 1024, 0, 0},
    {"square 2048", 1, 2048, 2048, 2048, 1, 0},
    {"fc 1 x 2048 x 1000", 1, 1, 2048, 1000, 1, 0},
    {"fc 1 x 25088 x 4096", 1, 1, 25088, 4096, 1, 0},
    {"fc 8 x 25088 x 4096", 1, 8, 25088, 4096, 1, 0},
    {"fc 4 x 768 x 768", 1, 4, 768, 768, 1, 0},
};

static void run_product(bench *b, const product_case *c) {
  one_step s;
  one_step_start(&s, BSM_STEP_MATRIX_MULTIPLY);
  s.params.matrix_multiply = (bsm_step_matrix_multiply){
      .constant_b = c->constant, .k = c->k, .n = c->n, .scale = 1.0};
  s.params.matrix_multiply.epilogue.activation = c->activation;
  const bsm_dims a = {3, {c->batch, c->m, c->k}};
  const bsm_dims bd = {3, {c->batch, c->k, c->n}};
  const bsm_dims y = {3, {c->batch, c->m, c->n}};
  add_tensor(&s, false, a, NULL);
  if (c->constant) {
    add_packed(&s, 1, (size_t)c->k * (size_t)c->n);
  } else {
    add_tensor(
        &s, false, bd,
        c->transposed ? (int64_t[]){(int64_t)c->k * c->n, 1, c->k} : NULL);
  }
  add_tensor(&s, true, y, NULL);
  report(b, &s, c->name, 2.0 * c->batch * c->m * (double)c->k * c->n);
}

static void run_deconvolution(bench *b, const char *name) {
  one_step s;
  one_step_start(&s, BSM_STEP_DECONVOLUTION);
  bsm_step_convolution *p = &s.params.convolution;
  set_window(&p->window, 2, 2, 0);
  p->groups = 1;
  p->out_maps = 128;
  add_image(&s, false, 1, 256, 28, 28);
  add_image(&s, true, 1, 128, 56, 56);
  add_packed(&s, 256, 256 * 128 * 4);
  report(b, &s, name, 2.0 * 256 * 128 * 4 * 28 * 28);
}

/* ---- memory-bound steps ---- */

static void run_element_wise(bench *b, const char *name, int32_t activation,
                             bool channel_bias) {
  one_step s;
  one_step_start(&s, BSM_STEP_ELEMENT_WISE);
  bsm_step_element_wise *p = &s.params.element_wise;
  *p = (bsm_step_element_wise){.instruction_count = 1, .result = 2};
  p->program[0] = (bsm_step_ew_instruction){.kind = BSM_STEP_EW_BINARY,
                                            .code = BSM_ELEMENT_WISE_SUM,
                                            .dst = 2,
                                            .a = 0,
                                            .b = 1,
                                            .dtype = BSM_DTYPE_FLOAT};
  if (activation) {
    p->instruction_count = 2;
    p->program[1] = (bsm_step_ew_instruction){.kind = BSM_STEP_EW_ACTIVATION,
                                              .code = activation,
                                              .dst = 2,
                                              .a = 2,
                                              .dtype = BSM_DTYPE_FLOAT};
  }
  add_image(&s, false, 1, 256, 56, 56);
  if (channel_bias) {
    add_image(&s, false, 1, 256, 1, 1);
  } else {
    add_image(&s, false, 1, 256, 56, 56);
  }
  add_image(&s, true, 1, 256, 56, 56);
  report(b, &s, name, 0);
}

static void run_rest(bench *b) {
  one_step s;
  const bsm_dims attention = {3, {12, 128, 128}}, tokens = {3, {1, 128, 768}};
  const bsm_dims nchw = {4, {1, 256, 56, 56}}, rgb = {4, {1, 3, 224, 224}};
  int64_t strides[4];
  if (wanted(b, "softmax 12x128x128")) {
    one_step_start(&s, BSM_STEP_SOFTMAX);
    s.params.softmax.axis = 2;
    add_tensor(&s, false, attention, NULL);
    add_tensor(&s, true, attention, NULL);
    report(b, &s, "softmax 12x128x128", 0);
  }
  if (wanted(b, "layer norm 128x768")) {
    one_step_start(&s, BSM_STEP_NORMALIZATION);
    s.params.normalization = (bsm_step_normalization){
        .axes = 4, .has_scale = 1, .has_bias = 1, .groups = 1, .epsilon = 1e-5};
    add_tensor(&s, false, tokens, NULL);
    add_tensor(&s, false, (bsm_dims){1, {768}}, NULL);
    add_tensor(&s, false, (bsm_dims){1, {768}}, NULL);
    add_tensor(&s, true, tokens, NULL);
    report(b, &s, "layer norm 128x768", 0);
  }
  if (wanted(b, "group norm 32 of 256x56x56")) {
    one_step_start(&s, BSM_STEP_NORMALIZATION);
    s.params.normalization =
        (bsm_step_normalization){.axes = 12, .groups = 32, .epsilon = 1e-5};
    add_image(&s, false, 1, 256, 56, 56);
    add_image(&s, true, 1, 256, 56, 56);
    report(b, &s, "group norm 32 of 256x56x56", 0);
  }
  if (wanted(b, "spatial mean 2048x7x7")) {
    one_step_start(&s, BSM_STEP_REDUCE);
    s.params.reduce = (bsm_step_reduce){
        .operation = BSM_REDUCE_AVG, .axes = 12, .keep_dims = 1};
    add_image(&s, false, 1, 2048, 7, 7);
    add_image(&s, true, 1, 2048, 1, 1);
    report(b, &s, "spatial mean 2048x7x7", 0);
  }
  if (wanted(b, "max pool 3x3/2 64x112x112")) {
    one_step_start(&s, BSM_STEP_POOLING);
    set_window(&s.params.pooling.window, 3, 2, 1);
    add_image(&s, false, 1, 64, 112, 112);
    add_image(&s, true, 1, 64, 56, 56);
    report(b, &s, "max pool 3x3/2 64x112x112", 0);
  }
  if (wanted(b, "nchw to channels-last 256x56x56")) {
    one_step_start(&s, BSM_STEP_COPY);
    add_tensor(&s, false, nchw, NULL);
    add_image(&s, true, 1, 256, 56, 56);
    report(b, &s, "nchw to channels-last 256x56x56", 0);
  }
  if (wanted(b, "channels-last to nchw 256x56x56")) {
    one_step_start(&s, BSM_STEP_COPY);
    add_image(&s, false, 1, 256, 56, 56);
    add_tensor(&s, true, nchw, NULL);
    report(b, &s, "channels-last to nchw 256x56x56", 0);
  }
  if (wanted(b, "nchw to channels-last 3x224x224")) {
    one_step_start(&s, BSM_STEP_COPY);
    one_step_channels_last(rgb, strides);
    add_tensor(&s, false, rgb, NULL);
    add_tensor(&s, true, rgb, strides);
    report(b, &s, "nchw to channels-last 3x224x224", 0);
  }
  if (wanted(b, "bilinear x2 64x56x56")) {
    one_step_start(&s, BSM_STEP_RESIZE);
    s.params.resize =
        (bsm_step_resize){.mode = BSM_RESIZE_LINEAR, .spatial = 2};
    add_image(&s, false, 1, 64, 56, 56);
    add_image(&s, true, 1, 64, 112, 112);
    report(b, &s, "bilinear x2 64x56x56", 0);
  }
}

static int usage(void) {
  fprintf(stderr,
          "usage: bench_kernels [--isa NAME] [--threads N] [--filter TEXT] "
          "[--seconds S] [--cold 1]\n");
  return 2;
}

static bsm_status open_stream(bench *b) {
  const bsm_device_options device_options = {0};
  const bsm_stream_options options = {
      .pool = b->pool, .isa = b->isa, .every_thread = true};
  const bsm_device_ops *ops;
  bsm_device *device;
  BSM_TRY(bsm_device_find(bsm_str_of("cpu"), &ops));
  BSM_TRY(ops->open(&device_options, &device));
  bsm_status status = ops->stream_create(device, &options, &b->how.stream);
  if (status) ops->close(device);
  return status;
}

int main(int argc, char **argv) {
  bench b = {.isa = bsm_isa_detect(),
             .threads = 1,
             .how = {.clock = CLOCK_THREAD_CPUTIME_ID, .seconds = 0.3}};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--isa") == 0) {
      if (!bsm_isa_parse(argv[i + 1], &b.isa)) return usage();
      b.isa &= bsm_isa_detect();
    } else if (strcmp(argv[i], "--threads") == 0) {
      b.threads = atoi(argv[i + 1]);
    } else if (strcmp(argv[i], "--filter") == 0) {
      b.filter = argv[i + 1];
    } else if (strcmp(argv[i], "--seconds") == 0) {
      b.how.seconds = atof(argv[i + 1]);
    } else if (strcmp(argv[i], "--cold") == 0) {
      b.how.cold = atoi(argv[i + 1]) != 0;
    } else {
      return usage();
    }
  }
  if (argc % 2 == 0 || b.threads < 1 || b.threads > 256) return usage();
  bsm_arena arena;
  const bsm_target_request request = {.threads = b.threads, .isa = b.isa};
  bsm_arena_init(&arena, NULL);
  bsm_status st = bsm_target_parse(&request, &arena, &bench_target);
  if (!st) st = bsm_thread_pool_create(b.threads, NULL, &b.pool);
  if (!st) st = open_stream(&b);
  if (st) {
    fprintf(stderr, "%s\n", bsm_status_message(st));
    bsm_status_free(st);
    return 1;
  }
  if (b.threads > 1) b.how.clock = CLOCK_MONOTONIC;
  b.peak = bsm_measure_fma_peak(b.isa, b.pool, 0.3);
  printf("%s, %d threads, peak %.1f GFLOP/s\n", bsm_isa_name(b.isa), b.threads,
         b.peak);
  for (size_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++) {
    if (wanted(&b, convs[i].name)) run_conv(&b, &convs[i]);
  }
  for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
    if (wanted(&b, products[i].name)) run_product(&b, &products[i]);
  }
  if (wanted(&b, "deconvolution 2x2/2 256-128 28")) {
    run_deconvolution(&b, "deconvolution 2x2/2 256-128 28");
  }
  if (wanted(&b, "add 256x56x56")) {
    run_element_wise(&b, "add 256x56x56", 0, false);
  }
  if (wanted(&b, "add channels + gelu 256x56x56")) {
    run_element_wise(&b, "add channels + gelu 256x56x56",
                     BSM_ACTIVATION_GELU_ERF, true);
  }
  run_rest(&b);
  bsm_device *device = b.how.stream->device;
  device->ops->stream_destroy(b.how.stream);
  device->ops->close(device);
  bsm_thread_pool_destroy(b.pool);
  bsm_arena_destroy(&arena);
  return 0;
}
