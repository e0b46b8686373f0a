/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of plans with and without int8, whose times are made up. */
#include "compiler/pipeline/compare_int8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SITES = 3, STEPS = 5 };

/* Nanoseconds of the three products, and of another step that only plans with
 * both have; the names of the products' steps. */
typedef struct world {
  uint64_t int8[SITES], other[SITES], between;
  const char *names[SITES];
  bool estimated; /* no step was timed */
  int builds;
} world;

static world w;

static bsm_status try_plan(const bsm_compilation *c, const bsm_graph *graph,
                           const bsm_int8_trial *trial, bsm_arena *arena,
                           bsm_plan **out) {
  bool any = false, all = true;
  bsm_plan *plan = BSM_NEW(arena, bsm_plan);
  plan->steps = BSM_NEW_ARRAY(arena, bsm_plan_step, STEPS);
  (void)c;
  (void)graph;
  w.builds++;
  if (trial->facts) {
    bsm_site_facts *facts = trial->facts;
    facts->count = SITES;
    facts->sites = BSM_NEW_ARRAY(facts->arena, bsm_site_fact, SITES);
    for (uint32_t i = 0; i < SITES; i++) {
      facts->sites[i] =
          (bsm_site_fact){.layer = (const char *[]){"a", "b", "c"}[i],
                          .is_open = true,
                          .group = i,
                          .origin = (int32_t)i - 1};
    }
  }
  for (int i = 0; i < SITES; i++) {
    const bool slow = trial->slow && trial->slow[i];
    bsm_plan_trial *time = BSM_NEW(arena, bsm_plan_trial);
    bsm_plan_step *step = &plan->steps[plan->step_count++];
    *time = (bsm_plan_trial){"", slow ? w.other[i] : w.int8[i]};
    step->kind = slow ? BSM_STEP_CONVOLUTION : BSM_STEP_INT8_CONVOLUTION;
    step->space = BSM_SPACE_DEVICE;
    step->name = w.names[i];
    step->trials = time;
    step->trial_count = !w.estimated;
    any |= !slow;
    all &= !slow;
  }
  if (any && !all) {
    bsm_plan_trial *time = BSM_NEW(arena, bsm_plan_trial);
    bsm_plan_step *step = &plan->steps[plan->step_count++];
    *time = (bsm_plan_trial){"", w.between};
    *step = (bsm_plan_step){.kind = BSM_STEP_ELEMENT_WISE,
                            .space = BSM_SPACE_DEVICE,
                            .name = "quantize",
                            .trials = time,
                            .trial_count = !w.estimated};
  }
  *out = plan;
  return BSM_OK;
}

static double estimate(const bsm_target *target, const bsm_plan *plan,
                       const bsm_plan_step *step) {
  (void)target;
  (void)plan;
  return 1e-9 * (double)step->trials[0].nanoseconds;
}

/* Bit i: site i is slow in int8. */
static int compare_with(const bsm_plan *refit) {
  const bsm_target_ops ops = {.step_seconds = estimate};
  const bsm_target target = {.ops = &ops};
  const bsm_compile_options options = {0};
  const bsm_compilation c = {
      .options = &options, .target = &target, .refit = refit};
  bsm_timing_cache times = {0};
  bsm_int8_trial trial = {.times = &times};
  bsm_arena arena;
  int slow = 0;
  bsm_arena_init(&arena, NULL);
  w.builds = 0;
  assert_null(bsm_compare_int8(&c, NULL, try_plan, &arena, &trial));
  assert_int_equal(w.builds, refit ? 1 : 3);
  for (int i = 0; trial.slow && i < SITES; i++) slow |= trial.slow[i] << i;
  bsm_arena_destroy(&arena);
  return slow;
}

static world make(uint64_t a, uint64_t b, uint64_t c) {
  return (world){.int8 = {a, b, c},
                 .other = {20000, 20000, 20000},
                 .names = {"a", "b + r", "x + c"}};
}

static int compare(void) {
  return compare_with(NULL);
}

static void the_fastest_plan_is_taken(void **state) {
  (void)state;
  w = make(10000, 10000, 10000);
  assert_int_equal(compare(), 0);
  w = make(30000, 30000, 30000);
  assert_int_equal(compare(), 7);
  w = make(10000, 10000, 30000);
  assert_int_equal(compare(), 4);
}

/* What single layers promise, and the plan with both does not keep. */
static void the_whole_plan_counts(void **state) {
  (void)state;
  w = make(10000, 10000, 30000);
  w.between = 15000;
  assert_int_equal(compare(), 0);
  w = make(15000, 15000, 35000);
  w.between = 15000;
  assert_int_equal(compare(), 7);
}

static void estimates_stand_for_times(void **state) {
  (void)state;
  w = make(10000, 10000, 30000);
  w.estimated = true;
  assert_int_equal(compare(), 4);
}

/* Layers that one kernel computes are in one precision. */
static void kernels_are_not_divided(void **state) {
  (void)state;
  w = make(10000, 12000, 30000);
  w.names[1] = "b + c";
  w.names[2] = "rest";
  assert_int_equal(compare(), 0);
  w.int8[1] = 25000;
  assert_int_equal(compare(), 6);
}

/* An engine that is refitted keeps its precisions, whatever is faster. */
static void refitted_engines_stay(void **state) {
  bsm_plan_trial time = {"", 1};
  bsm_plan_step steps[] = {
      {.kind = BSM_STEP_INT8_CONVOLUTION, .name = "a"},
      {.kind = BSM_STEP_CONVOLUTION, .name = "q + b + r", .trials = &time},
      {.kind = BSM_STEP_ELEMENT_WISE, .name = "c"},
      {.kind = BSM_STEP_INT8_CONVOLUTION, .name = "c"}};
  const bsm_plan plan = {.steps = steps, .step_count = 4};
  (void)state;
  w = make(30000, 10000, 30000);
  assert_int_equal(compare_with(&plan), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fastest_plan_is_taken),
      cmocka_unit_test(the_whole_plan_counts),
      cmocka_unit_test(estimates_stand_for_times),
      cmocka_unit_test(kernels_are_not_divided),
      cmocka_unit_test(refitted_engines_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
