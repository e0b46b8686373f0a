/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizing layers: spelled out where the target does not run them, left where
 * it does, without detours through integers that change nothing. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "builder/passes.h"
#include "tests/target_kit.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_network *net;
  bsm_itensor *x, *scale, *zero;
} fixture;

static fixture fx;

static bsm_itensor *constant(const float *values, int64_t count) {
  bsm_weights w = {.dtype = BSM_DTYPE_FLOAT, .values = values, .count = count};
  bsm_layer *layer =
      bsm_network_add_constant(fx.net, (bsm_dims){1, {count}}, &w);
  assert_non_null(layer);
  return bsm_layer_output(layer, 0);
}

static int set_up(void **state) {
  static const float scale[] = {0.5f, 0.25f, 2}, zero[] = {1, 0, -3};
  (void)state;
  bsm_arena_init(&fx.arena, NULL);
  assert_null(bsm_network_create(&fx.arena, NULL, &fx.net));
  fx.x = bsm_network_add_input(fx.net, "x", BSM_DTYPE_FLOAT,
                               (bsm_dims){2, {2, 3}});
  fx.scale = constant(scale, 3);
  fx.zero = constant(zero, 3);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(fx.net);
  bsm_arena_destroy(&fx.arena);
  return 0;
}

static bsm_layer *add_pair(bsm_quantize_nan nan) {
  bsm_layer *q = bsm_network_add_quantize(fx.net, fx.x, fx.scale, fx.zero, 1,
                                          BSM_DTYPE_INT8);
  bsm_quantize_set_nan(q, nan);
  assert_non_null(q);
  bsm_layer *y = bsm_network_add_dequantize(
      fx.net, bsm_layer_output(q, 0), fx.scale, fx.zero, 1, BSM_DTYPE_FLOAT);
  assert_non_null(y);
  bsm_layer_set_name(q, "quantizer");
  assert_null(bsm_network_mark_output(fx.net, bsm_layer_output(y, 0), "y"));
  return q;
}

static size_t count_kind(bsm_layer_kind kind) {
  size_t count = 0;
  for (size_t i = 0; i < fx.net->layers.len; i++) {
    count += fx.net->layers.items[i]->kind == kind;
  }
  return count;
}

static void must(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void run(const bsm_target *target) {
  must(bsm_pass_lower_quantization(target, fx.net, &fx.arena));
  must(bsm_network_verify(fx.net));
  must(bsm_run_passes(fx.net, target, NULL, NULL));
}

/* Casts in the programs of the network. */
static size_t count_casts(void) {
  size_t count = 0;
  for (size_t i = 0; i < fx.net->layers.len; i++) {
    const bsm_layer *layer = fx.net->layers.items[i];
    if (layer->kind != BSM_LAYER_FUSED_ELEMENT_WISE) continue;
    for (size_t k = 0; k < layer->p.fused_element_wise.program.len; k++) {
      count += layer->p.fused_element_wise.program.items[k].kind == BSM_EW_CAST;
    }
  }
  return count;
}

/* Nobody sees the integers: one program, and one for the reciprocals. */
static void test_a_pair_needs_no_integers(void **state) {
  (void)state;
  add_pair(BSM_QUANTIZE_NAN_LEAST);
  run(test_target(1));
  assert_int_equal(count_kind(BSM_LAYER_QUANTIZE), 0);
  assert_int_equal(count_kind(BSM_LAYER_DEQUANTIZE), 0);
  assert_int_equal(count_kind(BSM_LAYER_FUSED_ELEMENT_WISE), 2);
  assert_int_equal(count_casts(), 0);
  /* One view of each of the parameters, whoever reads it. */
  assert_int_equal(count_kind(BSM_LAYER_SHUFFLE), 2);
}

/* What a cast makes of NaN only the cast can tell. */
static void test_casts_of_nan_stay(void **state) {
  (void)state;
  add_pair(BSM_QUANTIZE_NAN_CAST);
  run(test_target(1));
  assert_int_equal(count_casts(), 2);
}

static void test_integers_are_an_output(void **state) {
  (void)state;
  bsm_layer *q = add_pair(BSM_QUANTIZE_NAN_LEAST);
  bsm_itensor *out = bsm_layer_output(q, 0);
  assert_null(bsm_network_mark_output(fx.net, out, "q"));
  run(test_target(1));
  assert_int_equal(fx.net->outputs.items[1]->dtype, BSM_DTYPE_INT8);
  assert_string_equal(fx.net->outputs.items[1]->producer->name, "quantizer");
  assert_int_equal(count_casts(), 1);
}

static bool takes_all(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  (void)layer;
  return true;
}

static void test_a_target_that_quantizes(void **state) {
  (void)state;
  bsm_target_ops ops = *test_target(1)->ops;
  ops.supports = takes_all;
  bsm_target target = *test_target(1);
  target.ops = &ops;
  target.host = &target;
  ops.passes = NULL;
  ops.pass_count = 0;
  add_pair(BSM_QUANTIZE_NAN_LEAST);
  run(&target);
  assert_int_equal(count_kind(BSM_LAYER_QUANTIZE), 1);
  assert_int_equal(count_kind(BSM_LAYER_DEQUANTIZE), 1);
  assert_int_equal(count_kind(BSM_LAYER_FUSED_ELEMENT_WISE), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_a_pair_needs_no_integers),
      TEST(test_casts_of_nan_stay),
      TEST(test_integers_are_an_output),
      TEST(test_a_target_that_quantizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
