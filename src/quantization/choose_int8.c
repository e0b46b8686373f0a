/* SPDX-License-Identifier: Apache-2.0 */
/* Products change their precision one unit after the other as long as that
 * makes the whole faster: once from all in int8, once from none; the better of
 * the two counts. What is quantized between a product in floats and one in
 * bytes takes a step of its own, so neighbours tend to stay together. */
#include "quantization/choose_int8.h"

#include <string.h>

#define NORM_SHARE 0.3 /* of such a step, where a norm makes the bytes */
#define MAX_ROUNDS 16

typedef struct chooser {
  const bsm_site_facts *facts;
  const bsm_site_times *times;
  bool *slow;
  uint32_t *charged; /* by group: the sum that it was last added to */
  uint32_t groups, sums;
} chooser;

static bool is_float(const chooser *c, int32_t site) {
  return site < 0 || c->slow[site];
}

/* What making bytes of a site's input takes, for it alone or its group. */
static double quantize_time(chooser *c, const bsm_site_fact *site) {
  const double step =
      c->times->quantize + c->times->quantize_element * site->elements;
  if (site->is_dynamic) return step;
  if (!is_float(c, site->origin)) return 0;
  if (site->group < c->groups) {
    if (c->charged[site->group] == c->sums) return 0;
    c->charged[site->group] = c->sums;
  }
  return site->is_normed ? step * NORM_SHARE : step;
}

static double sum(chooser *c) {
  double seconds = 0;
  c->sums++;
  for (uint32_t i = 0; i < c->facts->count; i++) {
    if (c->times->unit[i] == i) {
      seconds += c->slow[i] ? c->times->other[i] : c->times->int8[i];
    }
    if (!c->slow[i]) seconds += quantize_time(c, &c->facts->sites[i]);
  }
  return seconds;
}

static void flip(chooser *c, uint32_t unit) {
  for (size_t i = 0; i < c->facts->count; i++) {
    if (c->times->unit[i] == unit) c->slow[i] = !c->slow[i];
  }
}

/* A unit with a site that is not open stays in floats. */
static bool may_change(const chooser *c, uint32_t unit) {
  for (size_t i = 0; i < c->facts->count; i++) {
    if (c->times->unit[i] == unit && !c->facts->sites[i].is_open) return false;
  }
  return c->times->unit[unit] == unit;
}

static double improve(chooser *c) {
  double best = sum(c);
  bool changed = true;
  for (int round = 0; changed && round < MAX_ROUNDS; round++) {
    changed = false;
    for (uint32_t i = 0; i < c->facts->count; i++) {
      if (!may_change(c, i)) continue;
      flip(c, i);
      const double seconds = sum(c);
      if (seconds < best) {
        best = seconds;
        changed = true;
      } else {
        flip(c, i);
      }
    }
  }
  return best;
}

bsm_status bsm_choose_int8(const bsm_site_facts *facts,
                           const bsm_site_times *times, bool *slow) {
  const size_t count = facts->count;
  chooser c = {.facts = facts, .times = times};
  for (size_t i = 0; i < count; i++) {
    if (facts->sites[i].group >= c.groups &&
        facts->sites[i].group != UINT32_MAX) {
      c.groups = facts->sites[i].group + 1;
    }
  }
  c.charged = BSM_NEW_ARRAY(facts->arena, uint32_t, c.groups + 1u);
  c.slow = BSM_NEW_ARRAY(facts->arena, bool, count + 1);
  BSM_TRY_ALLOC(c.charged);
  BSM_TRY_ALLOC(c.slow);
  for (size_t i = 0; i < count; i++) {
    c.slow[i] = !may_change(&c, times->unit[i]);
  }
  const double from_int8 = improve(&c);
  memcpy(slow, c.slow, count * sizeof(*slow));
  for (size_t i = 0; i < count; i++) c.slow[i] = true;
  if (improve(&c) < from_int8) memcpy(slow, c.slow, count * sizeof(*slow));
  return BSM_OK;
}
