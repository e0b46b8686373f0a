/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of convolutions: which layers are joined, that the joined ones compute
 * what the separate ones do, and that both share packed weights. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "builder/builder.h"
#include "tests/conformance/device_fixture.h"
#include "tests/target_kit.h"

#define IN 4
#define WIDE 32
#define OUT 6
#define LARGE 256 /* pixels of a side: more than any second-level cache */
#define SMALL 8

static _Alignas(BSM_ALIGNMENT) float constants[4096];
static bsm_arena arena;
static bsm_network *net;
static bsm_weights_store store;

static int set_up(void **state) {
  (void)state;
  for (size_t i = 0; i < 4096; i++) {
    constants[i] = (float)((int)(i * 37 % 101) - 50) / 64.0f;
  }
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_network_create(&arena, NULL, &net));
  bsm_weights_store_init(&store, NULL);
  assert_null(
      bsm_weights_store_add_constant(&store, 1, constants, sizeof(constants)));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(net);
  bsm_weights_store_destroy(&store);
  bsm_arena_destroy(&arena);
  return 0;
}

static void again(void) {
  bsm_network_release(net);
  assert_null(bsm_network_create(&arena, NULL, &net));
}

static bsm_weights floats(size_t offset, bsm_dims shape) {
  bsm_weights w = {.dtype = BSM_DTYPE_FLOAT,
                   .values = constants + offset,
                   .count = 1,
                   .shape = shape,
                   .num_input_maps = shape.rank > 1 ? shape.d[1] : 1,
                   .num_output_maps = shape.d[0]};
  for (int32_t i = 0; i < shape.rank; i++) w.count *= shape.d[i];
  if (shape.rank > 2) w.kernel_shape.rank = shape.rank - 2;
  for (int32_t i = 2; i < shape.rank; i++) {
    w.kernel_shape.d[i - 2] = shape.d[i];
  }
  return w;
}

static bsm_itensor *input(int64_t maps, int64_t size) {
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){4, {1, maps, size, size}});
  assert_non_null(x);
  return x;
}

static bsm_itensor *relu(bsm_layer *layer, const char *name) {
  assert_non_null(layer);
  bsm_layer *act = bsm_network_add_activation(net, bsm_layer_output(layer, 0),
                                              BSM_ACTIVATION_RELU);
  assert_non_null(act);
  bsm_layer_set_name(layer, name);
  return bsm_layer_output(act, 0);
}

static bsm_itensor *pointwise(bsm_itensor *x, int64_t in, int64_t out,
                              size_t offset, const char *name) {
  const bsm_weights kernel = floats(offset, (bsm_dims){4, {out, in, 1, 1}});
  const bsm_weights bias = floats(offset + 1000, (bsm_dims){1, {out}});
  return relu(bsm_network_add_convolution_nd(net, x, out, (bsm_dims){2, {1, 1}},
                                             &kernel, &bias),
              name);
}

static bsm_itensor *depthwise(bsm_itensor *x, int64_t maps, int64_t stride,
                              const char *name) {
  const bsm_weights kernel = floats(500, (bsm_dims){4, {maps, 1, 3, 3}});
  bsm_layer *layer = bsm_network_add_convolution_nd(
      net, x, maps, (bsm_dims){2, {3, 3}}, &kernel, NULL);
  assert_non_null(layer);
  bsm_layer_set_groups(layer, maps);
  bsm_layer_set_stride_nd(layer, (bsm_dims){2, {stride, stride}});
  bsm_layer_set_padding_nd(layer, (bsm_dims){2, {1, 1}});
  return relu(layer, name);
}

static void mark(bsm_itensor *t, const char *name) {
  assert_null(bsm_network_mark_output(net, t, name));
}

static bsm_plan *build(void) {
  const bsm_build_options options = {
      .target = test_target(1), .no_timing = true, .store = &store};
  bsm_plan *plan;
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  if (status) fail_msg("%s", bsm_status_message(status));
  return plan;
}

static const bsm_plan_step *only(const bsm_plan *plan, bsm_step_kind kind) {
  const bsm_plan_step *found = NULL;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].kind != kind) continue;
    assert_null(found);
    found = &plan->steps[i];
  }
  return found;
}

static uint32_t count(const bsm_plan *plan, bsm_step_kind kind) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    n += plan->steps[i].kind == kind;
  }
  return n;
}

/* Runs a plan on inputs of fixed values; the caller frees the output. */
static float *run(const bsm_plan *plan, size_t *size) {
  bsm_stream *stream =
      fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
  const bsm_device_ops *ops = stream->device->ops;
  void *inputs[2], *outputs[4];
  size_t scratch = 0;
  bsm_prepared_step prepared[16];
  assert_true(plan->step_count <= 16 && plan->input_count <= 2);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    assert_null(ops->check(plan, &plan->steps[i]));
    assert_null(ops->prepare(stream, plan, &plan->steps[i], NULL, &arena,
                             &prepared[i]));
    if (prepared[i].scratch_size > scratch) scratch = prepared[i].scratch_size;
  }
  uint64_t bytes;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    assert_true(
        bsm_plan_tensor_extent(&plan->tensors[plan->inputs[i].tensor], &bytes));
    float *x = inputs[i] =
        bsm_arena_alloc(&arena, (size_t)bytes, BSM_ALIGNMENT);
    for (size_t k = 0; k < bytes / sizeof(float); k++) {
      x[k] = (float)(k * 7 % 23) / 16.0f - 0.5f;
    }
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    assert_true(bsm_plan_tensor_extent(&plan->tensors[plan->outputs[i].tensor],
                                       &bytes));
    outputs[i] = bsm_arena_alloc(&arena, (size_t)bytes, BSM_ALIGNMENT);
  }
  const bsm_run r = {
      .stream = stream,
      .inputs = inputs,
      .outputs = outputs,
      .workspace = bsm_arena_alloc(
          &arena, (size_t)plan->workspace_size[BSM_SPACE_HOST] + 1,
          BSM_ALIGNMENT),
      .scratch = bsm_arena_alloc(&arena, scratch + 1, BSM_ALIGNMENT)};
  for (uint32_t i = 0; i < plan->step_count; i++) {
    assert_null(prepared[i].enqueue(&prepared[i], &r));
  }
  assert_true(
      bsm_plan_tensor_extent(&plan->tensors[plan->outputs[0].tensor], &bytes));
  fixture_stream_close(stream);
  float *y = malloc((size_t)bytes);
  assert_non_null(y);
  memcpy(y, outputs[0], (size_t)bytes);
  *size = (size_t)bytes;
  return y;
}

/* An inverted residual block; with `marked` all between are outputs. */
static bsm_plan *build_block(int64_t size, int64_t stride, bool marked) {
  bsm_itensor *a = pointwise(input(IN, size), IN, WIDE, 0, "expand");
  bsm_itensor *b = depthwise(a, WIDE, stride, "depthwise");
  mark(pointwise(b, WIDE, OUT, 2000, "project"), "y");
  if (marked) {
    mark(a, "a");
    mark(b, "b");
  }
  return build();
}

static void test_block_is_one_step(void **state) {
  (void)state;
  for (int64_t stride = 1; stride <= 2; stride++) {
    size_t size, expected;
    bsm_plan *plan = build_block(LARGE, stride, false);
    assert_int_equal(count(plan, BSM_STEP_CONVOLUTION), 0);
    const bsm_plan_step *step = only(plan, BSM_STEP_CONVOLUTION_CHAIN);
    assert_non_null(step);
    for (int i = 0; i < 6; i++) {
      assert_int_equal(step->weights[i] == BSM_NO_WEIGHTS, i == 3);
    }
    float *y = run(plan, &size);
    again();
    plan = build_block(LARGE, stride, true);
    assert_int_equal(count(plan, BSM_STEP_CONVOLUTION), 3);
    float *e = run(plan, &expected);
    assert_int_equal(size, expected);
    assert_memory_equal(y, e, size);
    free(y);
    free(e);
    again();
  }
}

static void test_small_block_stays(void **state) {
  (void)state;
  const bsm_plan *plan = build_block(SMALL, 1, false);
  assert_int_equal(count(plan, BSM_STEP_CONVOLUTION), 3);
  assert_null(only(plan, BSM_STEP_CONVOLUTION_CHAIN));
}

/* Weights that were packed for chains are found for separate steps. */
static void test_weights_are_shared(void **state) {
  (void)state;
  build_block(LARGE, 1, false);
  assert_int_equal(store.misses, 3);
  assert_int_equal(store.hits, 0);
  again();
  build_block(SMALL, 1, false);
  assert_int_equal(store.misses, 3);
  assert_int_equal(store.hits, 3);
}

static void test_pairs(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    bsm_itensor *x = input(which ? WIDE : IN, LARGE);
    if (!which) x = pointwise(x, IN, WIDE, 0, "expand");
    x = depthwise(x, WIDE, 1, "depthwise");
    if (which) x = pointwise(x, WIDE, OUT, 2000, "project");
    mark(x, "y");
    const bsm_plan *plan = build();
    const bsm_plan_step *step = only(plan, BSM_STEP_CONVOLUTION_CHAIN);
    assert_non_null(step);
    assert_int_equal(count(plan, BSM_STEP_CONVOLUTION), 0);
    const int32_t *has = step->params->convolution_chain.has;
    assert_int_equal(has[BSM_CHAIN_EXPAND], !which);
    assert_int_equal(has[BSM_CHAIN_DEPTHWISE], 1);
    assert_int_equal(has[BSM_CHAIN_PROJECT], which);
    again();
  }
}

/* Two depthwise layers in a row: each gets what it can. */
static void test_depthwise_twice(void **state) {
  (void)state;
  bsm_itensor *x = pointwise(input(IN, LARGE), IN, WIDE, 0, "expand");
  x = depthwise(x, WIDE, 1, "first");
  x = depthwise(x, WIDE, 1, "second");
  mark(pointwise(x, WIDE, OUT, 2000, "project"), "y");
  const bsm_plan *plan = build();
  assert_int_equal(count(plan, BSM_STEP_CONVOLUTION_CHAIN), 2);
  assert_int_equal(count(plan, BSM_STEP_CONVOLUTION), 0);
  size_t size;
  free(run(plan, &size));
}

/* A pointwise layer between two depthwise ones belongs to one of them. */
static void test_shared_pointwise(void **state) {
  (void)state;
  bsm_itensor *x = depthwise(input(WIDE, LARGE), WIDE, 1, "first");
  x = pointwise(x, WIDE, WIDE, 0, "between");
  mark(depthwise(x, WIDE, 2, "second"), "y");
  const bsm_plan *plan = build();
  assert_int_equal(count(plan, BSM_STEP_CONVOLUTION_CHAIN), 1);
  assert_int_equal(count(plan, BSM_STEP_CONVOLUTION), 1);
  size_t size;
  free(run(plan, &size));
}

/* Squeeze and excite: the factor of each channel goes into the convolution. */
static bsm_plan *build_scaled(bool marked) {
  bsm_itensor *x = input(WIDE, SMALL);
  bsm_itensor *s = bsm_network_add_input(net, "s", BSM_DTYPE_FLOAT,
                                         (bsm_dims){4, {1, WIDE, 1, 1}});
  bsm_layer *product =
      bsm_network_add_element_wise(net, s, x, BSM_ELEMENT_WISE_PROD);
  assert_non_null(product);
  bsm_itensor *p = bsm_layer_output(product, 0);
  bsm_itensor *y = pointwise(p, WIDE, WIDE, 0, "project");
  bsm_layer *sum =
      bsm_network_add_element_wise(net, y, x, BSM_ELEMENT_WISE_SUM);
  assert_non_null(sum);
  mark(bsm_layer_output(sum, 0), "y");
  if (marked) mark(p, "p");
  return build();
}

static void test_scale_goes_in(void **state) {
  (void)state;
  size_t size, expected;
  const bsm_plan *plan = build_scaled(false);
  const bsm_plan_step *step = only(plan, BSM_STEP_CONVOLUTION_CHAIN);
  assert_non_null(step);
  assert_int_equal(step->params->convolution_chain.has_scale, 1);
  float *y = run(plan, &size);
  again();
  plan = build_scaled(true);
  assert_null(only(plan, BSM_STEP_CONVOLUTION_CHAIN));
  float *e = run(plan, &expected);
  assert_int_equal(size, expected);
  assert_memory_equal(y, e, size);
  free(y);
  free(e);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_block_is_one_step),  TEST(test_small_block_stays),
      TEST(test_weights_are_shared), TEST(test_pairs),
      TEST(test_depthwise_twice),    TEST(test_shared_pointwise),
      TEST(test_scale_goes_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
