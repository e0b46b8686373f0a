/* SPDX-License-Identifier: Apache-2.0 */
/* Three plans: all that may be in int8, none of it, and what seems best by the
 * times of single layers in the first two. The fastest of them is taken, so
 * that what the times of single layers do not tell does no harm. */
#include "compiler/pipeline/compare_int8.h"

#include <string.h>

/* A step that makes bytes of a tensor: what estimates say of one of few
 * elements, and of each. */
#define QUANTIZE 1.2e-6
#define QUANTIZE_ELEMENT 1.2e-12
#define SURELY_FASTER 0.98

typedef struct comparison {
  const bsm_compilation *c;
  bsm_site_facts facts;
  bsm_site_times times;
  bsm_arena *arena;
  bsm_strmap sites; /* of layers: index of a site + 1 */
} comparison;

static double seconds_of(const comparison *m, const bsm_plan *plan,
                         const bsm_plan_step *step) {
  const bsm_target *t = m->c->target;
  if (step->space != BSM_SPACE_DEVICE ||
      !bsm_step_kind_is_of_devices(step->kind)) {
    return 0;
  }
  if (step->trial_count) return (double)step->trials[0].nanoseconds * 1e-9;
  return t->ops->step_seconds(t, plan, step);
}

static double total_of(const comparison *m, const bsm_plan *plan) {
  double seconds = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    seconds += seconds_of(m, plan, &plan->steps[i]);
  }
  return seconds;
}

/* ---- times of sites ---- */

static uint32_t unit_of(const comparison *m, uint32_t site) {
  while (m->times.unit[site] != site) site = m->times.unit[site];
  return site;
}

/* Joins the units of two sites, and their times. */
static uint32_t join_units(comparison *m, uint32_t a, uint32_t b) {
  a = unit_of(m, a);
  b = unit_of(m, b);
  const uint32_t first = a < b ? a : b, other = a < b ? b : a;
  if (first == other) return first;
  m->times.unit[other] = first;
  m->times.int8[first] += m->times.int8[other];
  m->times.other[first] += m->times.other[other];
  return first;
}

static bool multiplies(bsm_step_kind kind) {
  return kind == BSM_STEP_CONVOLUTION || kind == BSM_STEP_DECONVOLUTION ||
         kind == BSM_STEP_MATRIX_MULTIPLY || kind == BSM_STEP_INT8_CONVOLUTION;
}

/* Adds a step's time to the sites that its name has, which are a unit from then
 * on. A name is those of layers with " + " between them. Returns the unit;
 * UINT32_MAX: it has none. */
static uint32_t add_step(comparison *m, const bsm_plan *plan,
                         const bsm_plan_step *step, double *times) {
  uint32_t unit = UINT32_MAX;
  for (const char *at = step->name; at;) {
    const char *end = strstr(at, " + ");
    const bsm_str name = {at, end ? (size_t)(end - at) : strlen(at)};
    const uintptr_t found = (uintptr_t)bsm_strmap_get(&m->sites, name);
    if (found) {
      const uint32_t site = unit_of(m, (uint32_t)(found - 1));
      unit = unit == UINT32_MAX ? site : join_units(m, unit, site);
    }
    at = end ? end + strlen(" + ") : NULL;
  }
  if (unit != UINT32_MAX) times[unit] += seconds_of(m, plan, step);
  return unit;
}

static void add_plan(comparison *m, const bsm_plan *plan, double *times) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (multiplies(step->kind)) (void)add_step(m, plan, step, times);
  }
}

/* The sites whose products an engine has in floats. */
static void find_floats(comparison *m, const bsm_plan *whole, bool *slow) {
  const bsm_plan *plan;
  for (uint32_t part = 0; (plan = bsm_plan_part(whole, part)); part++) {
    for (uint32_t i = 0; i < plan->step_count; i++) {
      const bsm_plan_step *step = &plan->steps[i];
      if (!multiplies(step->kind) || step->kind == BSM_STEP_INT8_CONVOLUTION) {
        continue;
      }
      const uint32_t unit = add_step(m, plan, step, m->times.other);
      if (unit != UINT32_MAX) slow[unit] = true;
    }
  }
  for (uint32_t i = 0; i < m->facts.count; i++) slow[i] = slow[unit_of(m, i)];
}

/* Sites of one name, which a module has that is called twice, are one unit. */
static bsm_status name_sites(comparison *m) {
  const size_t count = m->facts.count;
  bsm_site_times *t = &m->times;
  *t = (bsm_site_times){BSM_NEW_ARRAY(m->arena, uint32_t, count + 1),
                        BSM_NEW_ARRAY(m->arena, double, count + 1),
                        BSM_NEW_ARRAY(m->arena, double, count + 1), QUANTIZE,
                        QUANTIZE_ELEMENT};
  if (!t->unit || !t->int8 || !t->other) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < count; i++) {
    const bsm_str name = bsm_str_of(m->facts.sites[i].layer);
    const uintptr_t known = (uintptr_t)bsm_strmap_get(&m->sites, name);
    t->unit[i] = known ? (uint32_t)(known - 1) : i;
    if (known) continue;
    BSM_TRY_ALLOC(
        bsm_strmap_set(m->arena, &m->sites, name, (void *)((uintptr_t)i + 1)));
  }
  return BSM_OK;
}

/* ---- plans ---- */

static bsm_status try_plan(comparison *m, const bsm_graph *graph,
                           bsm_try_int8 *try_int8, const bsm_int8_trial *trial,
                           double **times, double *total) {
  bsm_arena arena;
  bsm_plan *plan;
  bsm_arena_init_like(&arena, m->arena);
  bsm_status status = try_int8(m->c, graph, trial, &arena, &plan);
  if (!status && trial->facts) status = name_sites(m);
  if (!status && times) add_plan(m, plan, *times);
  if (!status) *total = total_of(m, plan);
  bsm_arena_destroy(&arena);
  return status;
}

static void tell(const comparison *m, double int8, double other, double both) {
  const bsm_logger *logger = m->c->options->logger;
  for (uint32_t i = 0; i < m->facts.count; i++) {
    if (m->times.unit[i] != i) continue;
    bsm_log(logger, BSM_LOG_LEVEL_DEBUG,
            "%s: %.1f us in int8, %.1f us in 16 bits", m->facts.sites[i].layer,
            m->times.int8[i] * 1e6, m->times.other[i] * 1e6);
  }
  bsm_log(logger, BSM_LOG_LEVEL_INFO,
          "steps take %.1f us with all layers in int8, %.1f us with none, and "
          "%.1f us with those that seem faster",
          int8 * 1e6, other * 1e6, both * 1e6);
}

bsm_status bsm_compare_int8(const bsm_compilation *c, const bsm_graph *graph,
                            bsm_try_int8 *try_int8, bsm_arena *arena,
                            bsm_int8_trial *trial) {
  comparison m = {.c = c, .facts = {.arena = arena}, .arena = arena};
  double int8, other, both;
  bsm_int8_trial one = {.facts = &m.facts, .times = trial->times};
  BSM_TRY(try_plan(&m, graph, try_int8, &one, &m.times.int8, &int8));
  const size_t count = m.facts.count;
  bool *slow = BSM_NEW_ARRAY(arena, bool, count + 1);
  bool *all = BSM_NEW_ARRAY(arena, bool, count + 1);
  if (!slow || !all) return BSM_FAIL_OOM();
  if (c->refit) {
    find_floats(&m, c->refit, slow);
    trial->slow = slow;
    return BSM_OK;
  }
  memset(all, true, count);
  one = (bsm_int8_trial){.slow = all, .times = trial->times};
  BSM_TRY(try_plan(&m, graph, try_int8, &one, &m.times.other, &other));
  for (uint32_t i = 0; i < count; i++) m.times.unit[i] = unit_of(&m, i);
  BSM_TRY(bsm_choose_int8(&m.facts, &m.times, slow));
  one.slow = slow;
  BSM_TRY(try_plan(&m, graph, try_int8, &one, NULL, &both));
  tell(&m, int8, other, both);
  /* Few layers in int8 that gain next to nothing only round. */
  const bool pays = both < int8 && both < SURELY_FASTER * other;
  trial->slow = pays ? slow : other < int8 ? all : NULL;
  return BSM_OK;
}
