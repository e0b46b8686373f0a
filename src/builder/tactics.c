/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing tactics. Each candidate of a step runs on the real shapes and memory
 * of the plan; the fastest is chosen and put into the timing cache. Without
 * timing, a step takes the target's first tactic, which depends only on the
 * step and the target, or the tactic of a plan for other shapes. */
#include <string.h>

#include "builder/emitter.h"
#include "builder/timing_cache.h"

/* A tactic is not timed when its estimate is this many times another's.
 * Estimates were wrong by a factor of at most 1.4 where it mattered. */
#define MOST_TIMES_THE_COST 2.0
/* Times that differ by less than this count as equal. */
#define SURELY_FASTER 0.98

_Static_assert(BSM_MAX_TACTICS <= BSM_STEP_MAX_TRIALS, "all can be noted");

typedef struct bench {
  const bsm_build_options *options;
  const bsm_target *target;
  const bsm_plan_draft *draft;
  bsm_plan *plan;
  const bsm_pending_pack **pending; /* by step; NULL: none */
  bsm_arena arena;
  bsm_tactic_timer *timer; /* open once something has been timed; so is ... */
  bsm_timing_cache own, *cache;
  bsm_timing_conditions conditions;
  bsm_strmap like; /* kind and name of a step -> the next tactic to take */
} bench;

/* The target of a step. Steps on the host beside a device have another one. */
static const bsm_target *target_of(const bench *b, const bsm_plan_step *step) {
  return step->space == BSM_SPACE_HOST ? b->target->host : b->target;
}

/* Gives the step a tactic, and the form of weights that this needs. */
static void adopt(bench *b, uint32_t index, const char *tactic) {
  bsm_plan_step *step = &b->plan->steps[index];
  const bsm_target *t = target_of(b, step);
  step->tactic = tactic;
  if (b->pending[index]) {
    t->ops->adopt(t, step, tactic, b->pending[index]->params);
  }
}

/* The tactics of a step, best guess first. They are exact ones where the
 * options say so, and for steps on the host beside a device: approximate ones
 * are checked by running the whole plan, which the host cannot do. */
static size_t list_tactics(bench *b, uint32_t index, const char **names) {
  const bsm_plan_step *step = &b->plan->steps[index];
  const bsm_target *t = target_of(b, step);
  /* Costs may follow from the form that all tactics have. */
  if (b->pending[index]) adopt(b, index, "");
  const size_t count = t->ops->tactics(t, b->plan, step, names);
  size_t kept = 0;
  const bool all = t == b->target && !b->options->exact;
  if (all || !b->pending[index]) return count;
  for (size_t i = 0; i < count; i++) {
    adopt(b, index, names[i]);
    if (!t->ops->is_approximate(t, step)) names[kept++] = names[i];
  }
  return kept;
}

static bool is_candidate(const char *const *names, size_t count,
                         const char *name, size_t *which) {
  for (size_t i = 0; i < count; i++) {
    if (name && strcmp(names[i], name) == 0) {
      *which = i;
      return true;
    }
  }
  return false;
}

/* ---- timing ---- */

/* Times the tactics and puts the fastest first in the entry. A tactic has to be
 * faster by more than the error of timing to replace the target's guess. */
static bsm_status time_tactics(bench *b, uint32_t index, const char **names,
                               size_t count, bsm_plan_trial *trials,
                               uint32_t *timed) {
  const bsm_plan_step *step = &b->plan->steps[index];
  double seconds[BSM_MAX_TACTICS];
  size_t best = 0;
  *timed = 0;
  BSM_TRY(b->target->ops->time(b->timer, &b->plan->steps[index],
                               b->pending[index], names, count, seconds));
  for (size_t i = 0; i < count; i++) {
    bsm_log(b->options->logger, BSM_LOG_LEVEL_DEBUG, "%s: %s takes %.1f us",
            step->name, names[i], seconds[i] * 1e6);
    if (seconds[i] < seconds[best] * SURELY_FASTER) best = i;
  }
  for (size_t i = 0; i < count; i++) {
    const size_t from = i == 0 ? best : i <= best ? i - 1 : i;
    const uint64_t time = (uint64_t)(seconds[from] * 1e9 + 0.5);
    if (time == 0) continue;
    trials[(*timed)++] = (bsm_plan_trial){names[from], time};
  }
  return BSM_OK;
}

/* Notes the times in the step; *which: the fastest tactic. */
static bsm_status take_entry(bench *b, bsm_plan_step *step, const char **names,
                             size_t count, bsm_timing_entry entry,
                             size_t *which) {
  bsm_plan_trial *trials =
      BSM_NEW_ARRAY(b->draft->arena, bsm_plan_trial, entry.count);
  BSM_TRY_ALLOC(trials);
  for (uint32_t i = 0; i < entry.count; i++) {
    size_t known;
    if (!is_candidate(names, count, entry.trials[i].tactic, &known)) continue;
    trials[step->trial_count++] =
        (bsm_plan_trial){names[known], entry.trials[i].nanoseconds};
  }
  step->trials = trials;
  is_candidate(names, count, entry.trials[0].tactic, which);
  return BSM_OK;
}

/* How many of the tactics, which are in the order of their cost, are worth
 * timing. */
static size_t count_competitive(const bsm_target *t, const bsm_plan *plan,
                                const bsm_plan_step *step, const char **names,
                                size_t count) {
  const double least = count ? t->ops->cost(t, plan, step, names[0]) : 0;
  if (least <= 0) return count;
  size_t n = 1;
  while (n < count &&
         t->ops->cost(t, plan, step, names[n]) < MOST_TIMES_THE_COST * least) {
    n++;
  }
  return n;
}

size_t bsm_target_competitive_tactics(const bsm_target *target,
                                      const bsm_plan *plan,
                                      const bsm_plan_step *step,
                                      const char **names) {
  const size_t count = target->ops->tactics(target, plan, step, names);
  return count_competitive(target, plan, step, names, count);
}

static bsm_status choose(bench *b, uint32_t index, const char **names,
                         size_t count, size_t *out) {
  bsm_plan_step *step = &b->plan->steps[index];
  const uint64_t key = bsm_timing_key(b->plan, step, &b->conditions);
  const bsm_timing_entry *known = bsm_timing_cache_get(b->cache, key);
  if (known && is_candidate(names, count, known->trials[0].tactic, out)) {
    return take_entry(b, step, names, count, *known, out);
  }
  bsm_plan_trial trials[BSM_MAX_TACTICS];
  bsm_timing_entry entry = {trials, 0};
  const size_t tried =
      count_competitive(b->target, b->plan, step, names, count);
  BSM_TRY(time_tactics(b, index, names, tried, trials, &entry.count));
  if (!entry.count) return BSM_OK; /* it cannot run on zeros */
  BSM_TRY(bsm_timing_cache_put(b->cache, key, entry));
  return take_entry(b, step, names, count, entry, out);
}

/* ---- as another plan does ---- */

/* The tactic of a step of the other plan. Steps of the same name are taken in
 * their order. */
typedef struct known_tactic {
  struct known_tactic *next;
  const char *tactic;
} known_tactic;

static bsm_status step_key(bench *b, const bsm_plan_step *step, bsm_str *out) {
  const size_t length = strlen(step->name);
  const int32_t kind = (int32_t)step->kind;
  char *key = bsm_arena_alloc(&b->arena, sizeof(kind) + length + 1, 1);
  BSM_TRY_ALLOC(key);
  memcpy(key, &kind, sizeof(kind));
  memcpy(key + sizeof(kind), step->name, length);
  *out = (bsm_str){key, sizeof(kind) + length};
  return BSM_OK;
}

static bsm_status read_like(bench *b, const bsm_plan *like) {
  for (uint32_t i = like->step_count; i-- > 0;) {
    bsm_str key;
    known_tactic *fresh = BSM_NEW(&b->arena, known_tactic);
    BSM_TRY_ALLOC(fresh);
    BSM_TRY(step_key(b, &like->steps[i], &key));
    fresh->tactic = like->steps[i].tactic;
    fresh->next = bsm_strmap_get(&b->like, key);
    BSM_TRY_ALLOC(bsm_strmap_set(&b->arena, &b->like, key, fresh));
  }
  return BSM_OK;
}

/* Whether the shapes are so different from those of the other plan that the
 * tactic would not even be timed. */
static bool is_outdated(const bench *b, const bsm_plan_step *step,
                        const char *tactic, const char *best) {
  const bsm_target *t = target_of(b, step);
  const double least = t->ops->cost(t, b->plan, step, best);
  return least > 0 &&
         t->ops->cost(t, b->plan, step, tactic) >= MOST_TIMES_THE_COST * least;
}

/* Finds the tactic that the step has in the other plan; *best is 0 when it is
 * not among these, or is none for these shapes. */
static bsm_status choose_like(bench *b, const bsm_plan_step *step,
                              const char **names, size_t count, size_t *best) {
  bsm_str key;
  *best = 0;
  BSM_TRY(step_key(b, step, &key));
  const known_tactic *it = bsm_strmap_get(&b->like, key);
  if (!it) return BSM_OK;
  if (is_candidate(names, count, it->tactic, best) &&
      is_outdated(b, step, names[*best], names[0])) {
    *best = 0;
  }
  if (it->next) {
    BSM_TRY_ALLOC(
        bsm_strmap_set(&b->arena, &b->like, key, (void *)(uintptr_t)it->next));
  }
  return BSM_OK;
}

/* ---- all steps ---- */

static bsm_status open_timing(bench *b) {
  const bsm_target *t = b->target;
  const char *path = b->options->timing_cache;
  bsm_text machine;
  bsm_text_init(&machine, &b->arena);
  BSM_TRY(t->ops->check_here(t));
  t->ops->machine_key(t, &machine);
  if (machine.failed) return BSM_FAIL_OOM();
  b->own.arena = &b->arena;
  b->cache = b->options->times ? b->options->times : &b->own;
  if (path && !b->cache->keys.len) {
    BSM_TRY(bsm_timing_cache_load(b->cache->arena, path, b->cache));
  }
  BSM_TRY(t->ops->open_timer(t, b->draft, &b->timer));
  b->conditions = (bsm_timing_conditions){{machine.data, machine.len},
                                          t->ops->timer_conditions(b->timer)};
  return BSM_OK;
}

/* The first part's steps come first. */
static bsm_status read_refit(bench *b, const bsm_plan *whole) {
  uint32_t count = 0;
  while (bsm_plan_part(whole, count)) count++;
  while (count-- > 0) BSM_TRY(read_like(b, bsm_plan_part(whole, count)));
  return BSM_OK;
}

static bsm_status choose_all(bench *b) {
  const bsm_plan *refit = b->options->like ? NULL : b->options->refit;
  const bool like = b->options->like || refit;
  const bool timing = !b->options->no_timing && !like;
  const char *path = b->options->timing_cache;
  if (timing) BSM_TRY(open_timing(b));
  if (b->options->like) BSM_TRY(read_like(b, b->options->like));
  if (refit) BSM_TRY(read_refit(b, refit));
  for (uint32_t i = 0; i < b->plan->step_count; i++) {
    bsm_plan_step *step = &b->plan->steps[i];
    BSM_TRY(bsm_progress_report(b->options->progress, "tactics", i,
                                b->plan->step_count));
    if (!bsm_step_kind_is_of_devices(step->kind)) continue;
    const char *names[BSM_MAX_TACTICS];
    const size_t count = list_tactics(b, i, names);
    size_t best = 0;
    if (count && timing && target_of(b, step) == b->target) {
      BSM_TRY_NOTE(choose(b, i, names, count, &best), "while timing %s",
                   step->name);
    } else if (like) {
      BSM_TRY(choose_like(b, step, names, count, &best));
    }
    adopt(b, i, count ? names[best] : "");
  }
  return timing && path ? bsm_timing_cache_save(b->cache, path) : BSM_OK;
}

static bsm_status index_pending(bench *b) {
  const bsm_plan_draft *draft = b->draft;
  b->pending = BSM_NEW_ARRAY(&b->arena, const bsm_pending_pack *,
                             b->plan->step_count + 1u);
  BSM_TRY_ALLOC(b->pending);
  for (size_t i = 0; i < draft->pending_count; i++) {
    b->pending[draft->pending[i].step] = &draft->pending[i];
  }
  return BSM_OK;
}

bsm_status bsm_choose_tactics(const bsm_build_options *options,
                              const bsm_plan_draft *draft) {
  bench b = {.options = options,
             .target = options->target,
             .draft = draft,
             .plan = draft->plan};
  bsm_arena_init(&b.arena, NULL);
  bsm_status status = index_pending(&b);
  if (!status) status = choose_all(&b);
  if (b.timer) b.target->ops->close_timer(b.timer);
  bsm_arena_destroy(&b.arena);
  return status;
}
