/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing between int8 and floats by times: chains, neighbours, sites that
 * share kernels, and all choices of small problems. */
#include "quantization/choose_int8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 8 };

typedef struct problem {
  bsm_arena arena;
  bsm_site_fact sites[MOST];
  uint32_t unit[MOST];
  double int8[MOST], other[MOST];
  bool slow[MOST];
  size_t count;
} problem;

/* A chain: each site reads what the one ahead of it made. */
static void make_chain(problem *p, size_t count, const double *int8,
                       const double *other) {
  *p = (problem){.count = count};
  bsm_arena_init(&p->arena, NULL);
  for (size_t i = 0; i < count; i++) {
    p->sites[i] = (bsm_site_fact){.layer = "",
                                  .is_open = true,
                                  .group = (uint32_t)i,
                                  .origin = (int32_t)i - 1,
                                  .elements = 100};
    p->unit[i] = (uint32_t)i;
    p->int8[i] = int8[i];
    p->other[i] = other[i];
  }
}

/* Quantizing a tensor of 100 elements takes 3. */
static void choose(problem *p) {
  const bsm_site_facts facts = {&p->arena, p->sites, p->count};
  const bsm_site_times times = {p->unit, p->int8, p->other, 2, 0.01};
  assert_null(bsm_choose_int8(&facts, &times, p->slow));
  bsm_arena_destroy(&p->arena);
}

static void what_is_faster_is_taken(void **state) {
  problem p;
  (void)state;
  make_chain(&p, 3, (double[]){5, 5, 5}, (double[]){9, 9, 9});
  choose(&p);
  for (int i = 0; i < 3; i++) assert_false(p.slow[i]);
  make_chain(&p, 3, (double[]){9, 9, 9}, (double[]){5, 5, 5});
  choose(&p);
  for (int i = 0; i < 3; i++) assert_true(p.slow[i]);
}

/* A product of floats between two in int8 costs what makes bytes of what it
 * leaves, so a small gain is none; a large one is. */
static void neighbours_stay_together(void **state) {
  problem p;
  (void)state;
  make_chain(&p, 3, (double[]){5, 7, 5}, (double[]){9, 5, 9});
  choose(&p);
  for (int i = 0; i < 3; i++) assert_false(p.slow[i]);
  make_chain(&p, 3, (double[]){5, 9, 5}, (double[]){9, 5, 9});
  choose(&p);
  assert_false(p.slow[0]);
  assert_true(p.slow[1]);
  assert_false(p.slow[2]);
}

/* Bytes are made once for all that read them; a norm makes them for less. */
static void bytes_are_shared(void **state) {
  problem p;
  (void)state;
  make_chain(&p, 2, (double[]){5, 5}, (double[]){7, 7});
  p.sites[1].origin = p.sites[0].origin = -1;
  p.sites[1].group = 0;
  choose(&p);
  assert_false(p.slow[0] || p.slow[1]);
  make_chain(&p, 1, (double[]){5}, (double[]){7});
  choose(&p);
  assert_true(p.slow[0]);
  make_chain(&p, 1, (double[]){5}, (double[]){7});
  p.sites[0].is_normed = true;
  choose(&p);
  assert_false(p.slow[0]);
  p.sites[0].is_dynamic = true;
  bsm_arena_init(&p.arena, NULL);
  choose(&p);
  assert_true(p.slow[0]);
}

static void units_change_together(void **state) {
  problem p;
  (void)state;
  make_chain(&p, 3, (double[]){2, 0, 5}, (double[]){20, 0, 20});
  p.unit[1] = 0;
  choose(&p);
  for (int i = 0; i < 3; i++) assert_false(p.slow[i]);
  make_chain(&p, 3, (double[]){2, 0, 5}, (double[]){20, 0, 20});
  p.unit[1] = 0;
  p.sites[1].is_open = false;
  choose(&p);
  assert_true(p.slow[0] && p.slow[1]);
  assert_false(p.slow[2]);
}

/* No single change makes what is found faster. */
static void nothing_single_is_left(void **state) {
  uint32_t seed = 1;
  (void)state;
  for (int turn = 0; turn < 500; turn++) {
    problem p;
    double int8[MOST], other[MOST], at[MOST + 1];
    for (int i = 0; i < MOST; i++) {
      seed = seed * 1664525 + 1013904223;
      int8[i] = seed >> 28;
      other[i] = (seed >> 20) & 15;
    }
    make_chain(&p, MOST, int8, other);
    choose(&p);
    for (int change = -1; change < MOST; change++) {
      double sum = 0;
      for (int i = 0; i < MOST; i++) {
        const bool slow = p.slow[i] != (i == change);
        const bool before = i == 0 || p.slow[i - 1] != (i - 1 == change);
        sum += slow ? other[i] : int8[i] + (before ? 3 : 0);
      }
      at[change + 1] = sum;
    }
    for (int i = 1; i <= MOST; i++) assert_true(at[i] >= at[0] - 1e-9);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_faster_is_taken),
      cmocka_unit_test(neighbours_stay_together),
      cmocka_unit_test(bytes_are_shared),
      cmocka_unit_test(units_change_together),
      cmocka_unit_test(nothing_single_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
