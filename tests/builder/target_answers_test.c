/* SPDX-License-Identifier: Apache-2.0 */
/* What the builder makes of a target's answers: targets that answer otherwise
 * than the CPU get other plans. Nothing is run. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "aten/tensor.h"
#include "builder/builder.h"
#include "tests/target_kit.h"

static bsm_arena arena;
static bsm_network *net;
static bsm_target_ops ops; /* the CPU's, then changed */
static bsm_target target;
static float numbers[1024];

static bool fuses_nothing(const bsm_target *t, bsm_fusion fusion,
                          bsm_dtype dtype) {
  (void)t;
  (void)fusion;
  (void)dtype;
  return false;
}

static bool fuses_all(const bsm_target *t, bsm_fusion fusion, bsm_dtype dtype) {
  (void)t;
  (void)fusion;
  (void)dtype;
  return true;
}

static bsm_status packs_as_it_is(const bsm_target *t, const bsm_plan_step *step,
                                 int64_t in_maps, const void *values,
                                 size_t element, bool transposed, void *packed,
                                 uint64_t *size) {
  (void)t;
  (void)transposed;
  const int64_t maps = step->params->convolution.out_maps;
  *size = (uint64_t)(maps * in_maps) * element;
  if (packed) memcpy(packed, values, (size_t)*size);
  return NULL;
}

static bsm_image_layout channels_first(const bsm_target *t,
                                       const bsm_layer *layer) {
  (void)t;
  (void)layer;
  return BSM_IMAGE_CHANNELS_FIRST;
}

static bool reads_one_layout(const bsm_target *t, const bsm_layer *layer) {
  (void)t;
  (void)layer;
  return false;
}

static bsm_dtype computes_as_it_is(const bsm_target *t, const bsm_layer *layer,
                                   bsm_dtype dtype) {
  (void)t;
  (void)layer;
  return dtype;
}

static bool supports_all(const bsm_target *t, const bsm_layer *layer) {
  (void)t;
  (void)layer;
  return true;
}

static size_t no_tactics(const bsm_target *t, const bsm_plan *plan,
                         const bsm_plan_step *step, const char **names) {
  (void)t;
  (void)plan;
  (void)step;
  (void)names;
  return 0;
}

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_network_create(&arena, NULL, &net));
  for (int i = 0; i < 1024; i++) numbers[i] = (float)(i % 17 - 8) / 4;
  const bsm_target *cpu = test_target_of("cpu:avx2", 1, BSM_TARGET_ANY_ISA);
  ops = *cpu->ops;
  ops.passes = NULL;
  ops.pass_count = 0;
  ops.supports = supports_all;
  ops.tactics = no_tactics;
  ops.wide_dtype = NULL;
  target = (bsm_target){&ops, "test", &target};
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(net);
  bsm_arena_destroy(&arena);
  return 0;
}

static bsm_itensor *output_of(bsm_layer *layer) {
  assert_non_null(layer);
  return bsm_layer_output(layer, 0);
}

static bsm_weights weights(bsm_dtype dtype, int64_t count) {
  return (bsm_weights){.dtype = dtype, .values = numbers, .count = count};
}

static bsm_itensor *input(const char *name, bsm_dtype dtype, bsm_dims dims) {
  bsm_itensor *x = bsm_network_add_input(net, name, dtype, dims);
  assert_non_null(x);
  return x;
}

static bsm_itensor *convolved(bsm_itensor *x, int64_t maps) {
  const bsm_dims dims = bsm_itensor_dims(x);
  const bsm_weights kernel = weights(bsm_itensor_dtype(x), maps * dims.d[1]);
  const bsm_weights none = {.dtype = bsm_itensor_dtype(x)};
  return output_of(bsm_network_add_convolution_nd(
      net, x, maps, (bsm_dims){2, {1, 1}}, &kernel, &none));
}

static bsm_itensor *rectified(bsm_itensor *x) {
  return output_of(bsm_network_add_activation(net, x, BSM_ACTIVATION_RELU));
}

static const bsm_plan *build(bsm_itensor *y) {
  bsm_plan *plan = NULL;
  assert_null(bsm_network_mark_output(net, y, "y"));
  const bsm_build_options options = {.target = &target, .no_timing = true};
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  if (status) fail_msg("%s", bsm_status_message(status));
  return plan;
}

static uint32_t count_steps(const bsm_plan *plan, bsm_step_kind kind) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    count += plan->steps[i].kind == kind;
  }
  return count;
}

static const bsm_dims image = {4, {2, 8, 6, 5}};

/* Two convolutions: images of the caller and of the steps are row-major. */
static void test_channels_first(void **state) {
  (void)state;
  ops.image_layout = channels_first;
  ops.reads_any_layout = reads_one_layout;
  const bsm_plan *plan =
      build(convolved(convolved(input("x", BSM_DTYPE_FLOAT, image), 16), 4));
  assert_int_equal(plan->step_count, 2);
  for (uint32_t i = 0; i < 2; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    assert_int_equal(step->kind, BSM_STEP_CONVOLUTION);
    const bsm_plan_tensor *x = &plan->tensors[step->inputs[0]];
    const bsm_plan_tensor *y = &plan->tensors[step->outputs[0]];
    assert_int_equal(x->strides[3], 1);
    assert_int_equal(x->strides[1], 6 * 5);
    assert_int_equal(y->strides[3], 1);
    assert_int_equal(y->strides[1], 6 * 5);
  }
}

/* The same with channels last: what comes and goes is copied. */
static void test_channels_last(void **state) {
  (void)state;
  ops.reads_any_layout = reads_one_layout;
  const bsm_plan *plan =
      build(convolved(convolved(input("x", BSM_DTYPE_FLOAT, image), 16), 4));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 2);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].kind != BSM_STEP_CONVOLUTION) continue;
    const bsm_plan_step *step = &plan->steps[i];
    assert_int_equal(plan->tensors[step->inputs[0]].strides[1], 1);
    assert_int_equal(plan->tensors[step->outputs[0]].strides[1], 1);
  }
}

/* An activation goes into the convolution before it, or stays a step. */
static void test_epilogues(void **state) {
  const bool fusing = *state != NULL;
  if (!fusing) ops.fuses = fuses_nothing;
  const bsm_plan *plan =
      build(rectified(convolved(input("x", BSM_DTYPE_FLOAT, image), 16)));
  assert_int_equal(count_steps(plan, BSM_STEP_CONVOLUTION), 1);
  assert_int_equal(count_steps(plan, BSM_STEP_ELEMENT_WISE), fusing ? 0 : 1);
}

static bsm_itensor *multiplied(bsm_itensor *x, int64_t rows, int64_t columns) {
  const bsm_dims dims = {2, {rows, columns}};
  const bsm_weights w = weights(BSM_DTYPE_FLOAT, rows * columns);
  bsm_itensor *b = output_of(bsm_network_add_constant(net, dims, &w));
  return output_of(bsm_network_add_matrix_multiply(net, x, BSM_MATRIX_NONE, b,
                                                   BSM_MATRIX_NONE));
}

/* Two products of one matrix, read by products, which take views. */
static void test_merged_products(void **state) {
  const bool fusing = *state != NULL;
  if (!fusing) ops.fuses = fuses_nothing;
  bsm_itensor *x = input("x", BSM_DTYPE_FLOAT, (bsm_dims){2, {6, 16}});
  bsm_itensor *a = multiplied(multiplied(x, 16, 32), 32, 8);
  bsm_itensor *b = multiplied(multiplied(x, 16, 24), 24, 8);
  const bsm_plan *plan = build(output_of(
      bsm_network_add_element_wise(net, a, b, BSM_ELEMENT_WISE_PROD)));
  assert_int_equal(count_steps(plan, BSM_STEP_MATRIX_MULTIPLY), fusing ? 3 : 4);
}

/* Products in half precision: in the dtype that the target computes in. */
static void test_compute_dtype(void **state) {
  const bool widens = *state != NULL;
  if (!widens) ops.compute_dtype = computes_as_it_is;
  bsm_itensor *x = input("x", BSM_DTYPE_HALF, (bsm_dims){2, {6, 16}});
  bsm_itensor *b = input("b", BSM_DTYPE_HALF, (bsm_dims){2, {16, 8}});
  const bsm_plan *plan = build(output_of(bsm_network_add_matrix_multiply(
      net, x, BSM_MATRIX_NONE, b, BSM_MATRIX_NONE)));
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (step->kind != BSM_STEP_MATRIX_MULTIPLY) continue;
    assert_int_equal(plan->tensors[step->inputs[0]].dtype,
                     widens ? BSM_DTYPE_FLOAT : BSM_DTYPE_HALF);
  }
  assert_int_equal(count_steps(plan, BSM_STEP_MATRIX_MULTIPLY), 1);
  assert_int_equal(plan->step_count, widens ? 4 : 1);
}

static bsm_dtype is_float(const bsm_target *t, bsm_dtype dtype,
                          bool multiplies) {
  (void)t;
  return dtype == BSM_DTYPE_HALF && multiplies ? BSM_DTYPE_FLOAT : dtype;
}

/* Layers of half that compute in float leave floats for each other: only the
 * input and the output are cast. What moves numbers between them goes along. */
static void test_wide_dtype(void **state) {
  const bool widens = *state != NULL;
  ops.compute_dtype = computes_as_it_is;
  if (widens) ops.wide_dtype = is_float;
  bsm_itensor *x = input("x", BSM_DTYPE_HALF, (bsm_dims){2, {6, 16}});
  bsm_itensor *b = input("b", BSM_DTYPE_HALF, (bsm_dims){2, {6, 16}});
  bsm_itensor *y = output_of(bsm_network_add_matrix_multiply(
      net, x, BSM_MATRIX_NONE, b, BSM_MATRIX_TRANSPOSE));
  y = output_of(bsm_network_add_slice(net, y, (bsm_dims){2, {1, 0}},
                                      (bsm_dims){2, {4, 6}},
                                      (bsm_dims){2, {1, 1}}));
  y = output_of(bsm_network_add_softmax(net, y, 1, false));
  const bsm_plan *plan = build(y);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (step->kind != BSM_STEP_SOFTMAX) continue;
    assert_int_equal(plan->tensors[step->inputs[0]].dtype,
                     widens ? BSM_DTYPE_FLOAT : BSM_DTYPE_HALF);
  }
  assert_int_equal(count_steps(plan, BSM_STEP_ELEMENT_WISE), widens ? 3 : 0);
  assert_int_equal(plan->tensors[plan->outputs[0].tensor].dtype,
                   BSM_DTYPE_HALF);
}

/* What a target is given to pack: the kernel times the factors, in the dtype of
 * the convolution. */
static void test_scaled_in_half(void **state) {
  (void)state;
  enum { IN = 8, OUT = 4 };
  static uint16_t kernel[OUT * IN], bias[OUT], factors[OUT], shifts[OUT];
  for (int i = 0; i < OUT * IN; i++) {
    kernel[i] = bsm_float_to_half(1.0f + (float)i / 1024);
  }
  for (int i = 0; i < OUT; i++) {
    bias[i] = bsm_float_to_half((float)i / 4);
    factors[i] = bsm_float_to_half(1.0f / (float)(i + 3));
    shifts[i] = bsm_float_to_half((float)i);
  }
  ops.fuses = fuses_all;
  ops.compute_dtype = computes_as_it_is;
  ops.pack = packs_as_it_is;
  const bsm_weights k = {
      .dtype = BSM_DTYPE_HALF, .values = kernel, .count = OUT * IN};
  const bsm_weights b = {.dtype = BSM_DTYPE_HALF, .values = bias, .count = OUT};
  const bsm_weights f = {
      .dtype = BSM_DTYPE_HALF, .values = factors, .count = OUT};
  const bsm_weights s = {
      .dtype = BSM_DTYPE_HALF, .values = shifts, .count = OUT};
  const bsm_weights none = {.dtype = BSM_DTYPE_HALF};
  bsm_itensor *x = output_of(
      bsm_network_add_convolution_nd(net, input("x", BSM_DTYPE_HALF, image),
                                     OUT, (bsm_dims){2, {1, 1}}, &k, &b));
  const bsm_plan *plan =
      build(output_of(bsm_network_add_scale(net, x, &s, &f, &none)));
  assert_int_equal(count_steps(plan, BSM_STEP_CONVOLUTION), 1);
  assert_int_equal(count_steps(plan, BSM_STEP_ELEMENT_WISE), 0);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (step->kind != BSM_STEP_CONVOLUTION) continue;
    const uint16_t *w = plan->weights[step->weights[0]].data;
    const uint16_t *c = plan->weights[step->weights[1]].data;
    for (int m = 0; m < OUT; m++) {
      const double by = (double)bsm_half_to_float(factors[m]);
      for (int n = 0; n < IN; n++) {
        const double exact = (double)bsm_half_to_float(kernel[m * IN + n]) * by;
        assert_int_equal(w[m * IN + n], bsm_float_to_half((float)exact));
      }
      const double moved = (double)bsm_half_to_float(bias[m]) * by + m;
      assert_int_equal(c[m], bsm_float_to_half((float)moved));
    }
  }
}

static char yes[] = "as the CPU answers";

#define TEST(function) \
  cmocka_unit_test_setup_teardown(function, set_up, tear_down)
#define BOTH(function)                                          \
  {#function ", refused", function, set_up, tear_down, NULL}, { \
#function ", allowed", function, set_up, tear_down, yes     \
  }

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_channels_first), TEST(test_channels_last),
      BOTH(test_epilogues),      BOTH(test_merged_products),
      BOTH(test_compute_dtype),  BOTH(test_wide_dtype),
      TEST(test_scaled_in_half),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
