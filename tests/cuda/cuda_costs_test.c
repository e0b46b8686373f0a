/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of GPUs should cost, beside what they took on an H100: of two
 * that differ much, the faster one is expected to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "backend/cuda/steps/cuda_depthwise.h"
#include "backend/cuda/steps/cuda_mma.h"
#include "bessemer/network.h"

typedef struct product_pair {
  int32_t m, n, k;
  bool has_residual;
  const char *faster, *slower; /* in the comments, microseconds of both */
} product_pair;

static const product_pair products[] = {
    /* Much is written, of few k: 48.4 and 64.8; 48.4 and 148.7; 27.6 and 35.3;
     * 27.6 and 62.9. */
    {401408, 96, 16, false, "wgmma 256x128x64", "wgmma 128x64x32"},
    {401408, 96, 16, false, "wgmma 256x128x64", "mma 128x64x32"},
    {100352, 144, 24, false, "wgmma 192x192x64", "wgmma 128x64x32"},
    {100352, 144, 24, false, "wgmma 192x192x64", "mma 128x64x32"},
    /* The same with a residual: 43.8 and 49.2. */
    {100352, 256, 64, true, "wgmma 128x64x64", "wgmma 128x256x64"},
    /* Rows that are no multiple of 16 bytes: 2.5 and 4.7; and such rows: 3.1
     * and 4.2. */
    {32, 84, 120, false, "mma 32x32x128", "wgmma 64x64x64"},
    {32, 120, 400, false, "wgmma 64x64x64", "mma 32x32x128"},
};

static bsm_cuda_mma_problem problem_of(const product_pair *p) {
  bsm_cuda_mma_problem out = {
      .batches = 1,
      .dtype = BSM_DTYPE_HALF,
      .unit = bsm_cuda_unit_of(BSM_DTYPE_HALF, BSM_PRECISION_FP16, 90),
      .a = BSM_CUDA_MMA_ALONG_K,
      .b = BSM_CUDA_MMA_ALONG_K,
      .weights = true,
      .residual = p->has_residual,
      .vector = p->n % 8 == 0};
  out.params.m = p->m;
  out.params.n = p->n;
  out.params.k = p->k;
  out.params.a_row = out.params.b_column = p->k;
  out.params.a_column = out.params.b_row = 1;
  out.params.y_row = out.params.residual_row = p->n;
  out.params.residual_column = 1;
  out.params.loops = 1;
  out.params.batch_sizes[0] = 1;
  return out;
}

static void faster_products_cost_less(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
    const product_pair *p = &products[i];
    const bsm_cuda_mma_problem problem = problem_of(p);
    const double a = bsm_cuda_mma_cost(&problem, 90, p->faster);
    const double b = bsm_cuda_mma_cost(&problem, 90, p->slower);
    if (!(a < b)) {
      fail_msg("%d x %d x %d: %s %g, %s %g", p->m, p->n, p->k, p->faster, a,
               p->slower, b);
    }
  }
}

typedef struct depthwise_case {
  int64_t images, maps, size, kernel;
  int activation;
  const char *faster;
} depthwise_case;

static const depthwise_case depthwise_cases[] = {
    {32, 384, 14, 3, BSM_ACTIVATION_CLIP, "depthwise tiles"}, /* 8.5; 11.3 */
    {32, 960, 7, 3, BSM_ACTIVATION_CLIP, "depthwise tiles"},  /* 6.4; 8.3 */
    {1, 384, 14, 3, BSM_ACTIVATION_CLIP, "depthwise tiles"},  /* 2.6; 2.9 */
    {32, 192, 28, 3, BSM_ACTIVATION_CLIP, "depthwise"},       /* 11.9; 14.7 */
    {1, 960, 7, 3, BSM_ACTIVATION_CLIP, "depthwise"},         /* 2.2; 2.4 */
    {32, 480, 14, 3, BSM_ACTIVATION_SILU, "depthwise"},       /* 16.0; 19.8 */
    {32, 672, 14, 5, BSM_ACTIVATION_SILU, "depthwise tiles"}, /* 26.4; 61.9 */
};

static bsm_plan_tensor image_of(const depthwise_case *c) {
  const int64_t row = c->maps * c->size;
  return (bsm_plan_tensor){.dtype = BSM_DTYPE_HALF,
                           .dims = {4, {c->images, c->maps, c->size, c->size}},
                           .strides = {row * c->size, 1, row, c->maps}};
}

static void faster_depthwise_kernels_come_first(void **state) {
  (void)state;
  const size_t count = sizeof(depthwise_cases) / sizeof(depthwise_cases[0]);
  for (size_t i = 0; i < count; i++) {
    const depthwise_case *c = &depthwise_cases[i];
    const int64_t k = c->kernel, pad = k / 2;
    bsm_plan_tensor tensors[] = {image_of(c), image_of(c)};
    uint32_t x = 0, y = 1;
    bsm_step_params params = {
        .convolution = {.window = {.spatial = 2,
                                   .kernel = {1, k, k},
                                   .stride = {1, 1, 1},
                                   .dilation = {1, 1, 1},
                                   .pre_padding = {0, pad, pad},
                                   .post_padding = {0, pad, pad}},
                        .groups = c->maps,
                        .out_maps = c->maps,
                        .epilogue = {.activation = c->activation}}};
    const bsm_plan_step step = {.kind = BSM_STEP_CONVOLUTION,
                                .space = BSM_SPACE_DEVICE,
                                .inputs = &x,
                                .input_count = 1,
                                .outputs = &y,
                                .output_count = 1,
                                .params = &params};
    const bsm_plan plan = {.tensors = tensors, .tensor_count = 2};
    const char *names[2];
    assert_int_equal(bsm_cuda_depthwise_tactics(&plan, &step, names), 2);
    if (strcmp(names[0], c->faster) != 0) fail_msg("case %zu: %s", i, names[0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(faster_products_cost_less),
      cmocka_unit_test(faster_depthwise_kernels_come_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
