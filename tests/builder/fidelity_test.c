/* SPDX-License-Identifier: Apache-2.0 */
/* Transformed weights are used where they are exact enough, and only there. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "backend/cpu/cpu_forms.h"
#include "base/isa.h"
#include "builder/builder.h"
#include "tests/conformance/device_fixture.h"
#include "tests/target_kit.h"

enum { MAPS = 64, SIZE = 48 };

static bsm_arena arena;
static bsm_network *net;
static float kernel_3x3[MAPS * MAPS * 9];
static float kernel_5x5[MAPS * MAPS * 25]; /* the same with a rim of zeros */
static float high_pass[MAPS * MAPS * 9];   /* each 3x3 sums up to zero */
static float identity[MAPS * MAPS];
static float large[MAPS];

static void fill_kernels(void) {
  uint32_t random = 1;
  memset(kernel_5x5, 0, sizeof(kernel_5x5));
  memset(identity, 0, sizeof(identity));
  for (int i = 0; i < MAPS * MAPS; i++) {
    float sum = 0;
    for (int k = 0; k < 9; k++) {
      random = random * 1664525u + 1013904223u;
      const float value = ((float)(random >> 16) / 65536.0f - 0.5f) / 10;
      kernel_3x3[i * 9 + k] = value;
      kernel_5x5[i * 25 + (k / 3 + 1) * 5 + k % 3 + 1] = value;
      high_pass[i * 9 + k] = k < 8 ? value : -sum;
      sum += value;
    }
  }
  for (int i = 0; i < MAPS; i++) {
    identity[i * MAPS + i] = 1;
    large[i] = 1000;
  }
}

static int set_up(void **state) {
  (void)state;
  fill_kernels();
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_network_create(&arena, NULL, &net));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(net);
  bsm_arena_destroy(&arena);
  return 0;
}

static bsm_itensor *input(void) {
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){4, {1, MAPS, SIZE, SIZE}});
  assert_non_null(x);
  return x;
}

static bsm_itensor *convolve(bsm_itensor *x, const char *name, int64_t size,
                             int64_t pad, const float *values,
                             const float *bias) {
  const bsm_weights kernel = {.dtype = BSM_DTYPE_FLOAT,
                              .values = values,
                              .count = MAPS * MAPS * size * size,
                              .shape = {4, {MAPS, MAPS, size, size}}};
  const bsm_weights row = {.dtype = BSM_DTYPE_FLOAT,
                           .values = bias,
                           .count = MAPS,
                           .shape = {1, {MAPS}}};
  bsm_layer *layer = bsm_network_add_convolution_nd(
      net, x, MAPS, (bsm_dims){2, {size, size}}, &kernel, bias ? &row : NULL);
  assert_non_null(layer);
  bsm_layer_set_pre_padding(layer, (bsm_dims){2, {pad, pad}});
  bsm_layer_set_post_padding(layer, (bsm_dims){2, {pad, pad}});
  bsm_layer_set_name(layer, name);
  return bsm_layer_output(layer, 0);
}

static bsm_plan *build_with(bsm_itensor *y, bool exact) {
  bsm_plan *plan = NULL;
  const bsm_build_options options = {
      .target = test_target(1), .no_timing = true, .exact = exact};
  assert_null(bsm_network_mark_output(net, y, "y"));
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  if (status) fail_msg("%s", bsm_status_message(status));
  return plan;
}

static bsm_plan *build(bsm_itensor *y) {
  return build_with(y, false);
}

/* The form of the weights of a step, which they have the size of. */
static int32_t form_of(const bsm_plan *plan, const char *name) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (strcmp(step->name, name) != 0) continue;
    bsm_status status = fixture_ops()->check(plan, step);
    if (status) fail_msg("%s", bsm_status_message(status));
    const int32_t form = step->params->convolution.form;
    assert_int_equal(form != BSM_CPU_FORM_PLAIN,
                     strncmp(step->tactic, "winograd", 8) == 0);
    return form;
  }
  fail_msg("no step %s", name);
  return -1;
}

static void test_exact_enough(void **state) {
  (void)state;
  bsm_itensor *y = convolve(input(), "a", 3, 1, kernel_3x3, NULL);
  const bsm_plan *plan = build(convolve(y, "b", 3, 1, kernel_3x3, large));
  assert_int_not_equal(form_of(plan, "a"), BSM_CPU_FORM_PLAIN);
  assert_int_not_equal(form_of(plan, "b"), BSM_CPU_FORM_PLAIN);
}

/* Three taps in depth, with padding there, are measured as the layer computes:
 * the values serve for a quarter of the input maps. */
static void test_depth(void **state) {
  enum { FEW = MAPS / 4 };
  const bsm_weights kernel = {.dtype = BSM_DTYPE_FLOAT,
                              .values = kernel_3x3,
                              .count = MAPS * FEW * 27,
                              .shape = {5, {MAPS, FEW, 3, 3, 3}}};
  (void)state;
  bsm_itensor *x = bsm_network_add_input(
      net, "x", BSM_DTYPE_FLOAT, (bsm_dims){5, {1, FEW, 4, SIZE, SIZE}});
  assert_non_null(x);
  bsm_layer *layer = bsm_network_add_convolution_nd(
      net, x, MAPS, (bsm_dims){3, {3, 3, 3}}, &kernel, NULL);
  assert_non_null(layer);
  bsm_layer_set_pre_padding(layer, (bsm_dims){3, {1, 1, 1}});
  bsm_layer_set_post_padding(layer, (bsm_dims){3, {1, 1, 1}});
  bsm_layer_set_name(layer, "deep");
  const bsm_plan *plan = build(bsm_layer_output(layer, 0));
  assert_int_not_equal(form_of(plan, "deep"), BSM_CPU_FORM_PLAIN);
}

/* Groups of 16 maps are measured as the layer computes, too. */
static void test_groups(void **state) {
  enum { GROUPS = 4, OF = MAPS / GROUPS };
  const bsm_weights kernel = {.dtype = BSM_DTYPE_FLOAT,
                              .values = kernel_3x3,
                              .count = MAPS * OF * 9,
                              .shape = {4, {MAPS, OF, 3, 3}}};
  (void)state;
  bsm_layer *layer = bsm_network_add_convolution_nd(
      net, input(), MAPS, (bsm_dims){2, {3, 3}}, &kernel, NULL);
  assert_non_null(layer);
  bsm_layer_set_groups(layer, GROUPS);
  bsm_layer_set_name(layer, "grouped");
  const bsm_plan *plan = build(bsm_layer_output(layer, 0));
  assert_int_not_equal(form_of(plan, "grouped"), BSM_CPU_FORM_PLAIN);
}

/* Inputs of a thousand whose differences are of the order of one: what the
 * transforms round away is large beside them. (No padding: at a border of zeros
 * there would be large outputs.) */
static void test_cancelling_layer(void **state) {
  (void)state;
  bsm_itensor *y = convolve(input(), "raise", 1, 0, identity, large);
  const bsm_plan *plan = build(convolve(y, "edges", 3, 0, high_pass, NULL));
  assert_int_equal(form_of(plan, "edges"), BSM_CPU_FORM_PLAIN);
}

/* Each layer is exact, but nothing is left of its result except roundings. */
static void test_cancelling_network(void **state) {
  (void)state;
  bsm_itensor *x = input();
  bsm_itensor *a = convolve(x, "a", 3, 1, kernel_3x3, NULL);
  bsm_itensor *b = convolve(x, "b", 5, 2, kernel_5x5, NULL);
  bsm_layer *sub =
      bsm_network_add_element_wise(net, a, b, BSM_ELEMENT_WISE_SUB);
  assert_non_null(sub);
  const bsm_plan *plan = build(bsm_layer_output(sub, 0));
  assert_int_equal(form_of(plan, "a"), BSM_CPU_FORM_PLAIN);
}

/* Where only exact tactics are wanted, nothing is transformed. */
static void test_exact_tactics(void **state) {
  (void)state;
  bsm_itensor *y = convolve(input(), "a", 3, 1, kernel_3x3, NULL);
  const bsm_plan *plan = build_with(y, true);
  assert_int_equal(form_of(plan, "a"), BSM_CPU_FORM_PLAIN);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_exact_enough, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_depth, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_groups, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_exact_tactics, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cancelling_layer, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cancelling_network, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
