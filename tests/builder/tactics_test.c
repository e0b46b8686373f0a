/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing tactics: what is timed, noted, kept and left out. No test depends on
 * how long anything takes. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cpu/target/cpu_timer.h"
#include "base/caches.h"
#include "base/isa.h"
#include "builder/builder.h"
#include "builder/timing_cache.h"
#include "tests/target_kit.h"

enum { MAPS = 16, SIZE = 12, LAYERS = 3 };

static bsm_arena arena;
static float kernel[MAPS * MAPS * 25];

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < MAPS * MAPS * 25; i++) {
    kernel[i] = (float)(i * 37 % 101 - 50) / 500;
  }
  bsm_arena_init(&arena, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_arena_destroy(&arena);
  return 0;
}

/* Three convolutions: the first and the last are alike. */
static bsm_plan *build(bool no_timing, const char *cache) {
  static const int64_t sizes[LAYERS] = {5, 3, 5};
  static const char *const names[LAYERS] = {"a", "b", "c"};
  const bsm_build_options options = {
      .target = test_target(1), .no_timing = no_timing, .timing_cache = cache};
  bsm_network *net;
  bsm_plan *plan = NULL;
  assert_null(bsm_network_create(&arena, NULL, &net));
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){4, {1, MAPS, SIZE, SIZE}});
  for (int i = 0; i < LAYERS; i++) {
    const int64_t size = sizes[i];
    const bsm_weights weights = {.dtype = BSM_DTYPE_FLOAT,
                                 .values = kernel,
                                 .count = MAPS * MAPS * size * size,
                                 .shape = {4, {MAPS, MAPS, size, size}}};
    bsm_layer *layer = bsm_network_add_convolution_nd(
        net, x, MAPS, (bsm_dims){2, {size, size}}, &weights, NULL);
    assert_non_null(layer);
    bsm_layer_set_pre_padding(layer, (bsm_dims){2, {size / 2, size / 2}});
    bsm_layer_set_post_padding(layer, (bsm_dims){2, {size / 2, size / 2}});
    bsm_layer_set_name(layer, names[i]);
    x = bsm_layer_output(layer, 0);
  }
  assert_null(bsm_network_mark_output(net, x, "y"));
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  if (status) fail_msg("%s", bsm_status_message(status));
  bsm_network_release(net);
  return plan;
}

static const bsm_plan_step *step_of(const bsm_plan *plan, const char *name) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (strcmp(plan->steps[i].name, name) == 0) return &plan->steps[i];
  }
  fail_msg("no step %s", name);
  return NULL;
}

static void assert_same_trials(const bsm_plan_step *a, const bsm_plan_step *b) {
  assert_int_equal(a->trial_count, b->trial_count);
  for (uint32_t i = 0; i < a->trial_count; i++) {
    assert_string_equal(a->trials[i].tactic, b->trials[i].tactic);
    assert_int_equal(a->trials[i].nanoseconds, b->trials[i].nanoseconds);
  }
}

static void test_untimed(void **state) {
  (void)state;
  const bsm_plan *plan = build(true, NULL);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const char *names[BSM_MAX_TACTICS];
    const bsm_plan_step *step = &plan->steps[i];
    assert_int_equal(step->trial_count, 0);
    const size_t count =
        test_target(1)->ops->tactics(test_target(1), plan, step, names);
    assert_true(count > 0);
    if (step->kind != BSM_STEP_CONVOLUTION) continue;
    /* Listed by what they cost. */
    for (size_t k = 1; k < count; k++) {
      const bsm_target *cpu = test_target(1);
      assert_true(cpu->ops->cost(cpu, plan, step, names[k - 1]) <=
                  cpu->ops->cost(cpu, plan, step, names[k]));
    }
  }
}

/* Each step notes the times of tactics that it has; its own among them, and
 * none that was not worth trying. */
static void test_timed(void **state) {
  (void)state;
  const bsm_plan *plan = build(false, NULL);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    const char *names[BSM_MAX_TACTICS];
    bool own = false;
    const bsm_target *cpu = test_target(1);
    const size_t count = cpu->ops->tactics(cpu, plan, step, names);
    assert_true(step->trial_count >= 1 && step->trial_count <= count);
    for (uint32_t k = 0; k < step->trial_count; k++) {
      const char *tactic = step->trials[k].tactic;
      assert_true(step->trials[k].nanoseconds > 0);
      own = own || strcmp(tactic, step->tactic) == 0;
      assert_true(cpu->ops->cost(cpu, plan, step, tactic) <=
                  2 * cpu->ops->cost(cpu, plan, step, names[0]));
      for (uint32_t j = 0; j < k; j++) {
        assert_string_not_equal(tactic, step->trials[j].tactic);
      }
    }
    assert_true(own);
  }
  assert_same_trials(step_of(plan, "a"), step_of(plan, "c"));
}

/* With a cache the second build is the first one's likeness. */
static void test_cache(void **state) {
  (void)state;
  char path[] = "/tmp/bsm_tactics_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  const bsm_plan *first = build(false, path);
  const bsm_plan *second = build(false, path);
  assert_int_equal(first->step_count, second->step_count);
  for (uint32_t i = 0; i < first->step_count; i++) {
    assert_string_equal(first->steps[i].tactic, second->steps[i].tactic);
    assert_same_trials(&first->steps[i], &second->steps[i]);
  }
  bsm_timing_cache cache;
  assert_null(bsm_timing_cache_load(&arena, path, &cache));
  assert_true(cache.keys.len >= 2 && cache.keys.len < first->step_count);
  unlink(path);
}

static void test_places_of_weights(void **state) {
  (void)state;
  const bsm_caches caches = bsm_detect_caches();
  assert_int_equal(bsm_weights_place_of(1, 1), BSM_WEIGHTS_IN_L2);
  assert_int_equal(bsm_weights_place_of(caches.l3 + 1, 0),
                   BSM_WEIGHTS_IN_MEMORY);
  assert_int_equal(bsm_weights_place_of(1, caches.l3), BSM_WEIGHTS_IN_MEMORY);
  if (caches.l3 > caches.l2) {
    assert_int_equal(bsm_weights_place_of(caches.l2, 0), BSM_WEIGHTS_IN_L3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_untimed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_timed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cache, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_places_of_weights, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
