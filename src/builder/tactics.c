/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing tactics: each candidate of a step runs on the real shapes and
 * memory of the plan, the fastest wins, and the answer goes into the timing
 * cache. Without timing the backend's first tactic is taken, which depends on
 * nothing but the step and the ISA; or the one of a plan for other shapes. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "builder/emitter.h"
#include "builder/timing_cache.h"
#include "builder/trial_run.h"

/* Each candidate runs until it took this long, at least MIN_RUNS times. */
#define MIN_RUNS 3
#define MAX_RUNS 20
#define MAX_SECONDS 0.03

typedef struct bench {
  const bsm_build_options *options;
  const bsm_backend *backend;
  bsm_plan *plan;
  const bsm_pending_pack **pending; /* by step; NULL: none */
  bsm_arena arena;
  bsm_trial trial; /* open when something is timed */
  bsm_timing_cache cache;
  bsm_strmap like; /* kind and name of a step -> liked, what comes next */
  char cpu_model[128];
} bench;

/* The CPU's name, so that a cache can serve several machines. */
static void read_cpu_model(char *out, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  out[0] = 0;
  while (file && fgets(line, sizeof(line), file)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) == 0 && colon) {
      snprintf(out, size, "%s", colon + 1);
      break;
    }
  }
  if (file) fclose(file);
}

/* The fastest of a few runs of the step with its present tactic. */
static bsm_status time_step(bench *b, const bsm_plan_step *step,
                            double *seconds) {
  bsm_prepared_step prepared;
  BSM_TRY(bsm_trial_prepare(&b->trial, step, &prepared));
  BSM_TRY(
      b->backend->run(&prepared, &b->trial.run)); /* warms caches and pages */
  double total = 0;
  *seconds = 1e30;
  for (int i = 0; i < MAX_RUNS && (i < MIN_RUNS || total < MAX_SECONDS); i++) {
    const double start = bsm_clock_seconds();
    BSM_TRY(b->backend->run(&prepared, &b->trial.run));
    const double took = bsm_clock_seconds() - start;
    if (took < *seconds) *seconds = took;
    total += took;
  }
  return BSM_OK;
}

/* Takes a tactic, with the form of weights that it needs. */
static void adopt(bench *b, uint32_t index, const char *tactic) {
  bsm_plan_step *step = &b->plan->steps[index];
  step->tactic = tactic;
  if (b->pending[index]) {
    b->backend->adopt(step, tactic, b->pending[index]->params);
  }
}

/* Times one tactic of a step, whose weights need not be there yet. */
static bsm_status time_tactic(bench *b, uint32_t index, const char *tactic,
                              double *seconds) {
  bsm_plan_step *step = &b->plan->steps[index];
  const bsm_pending_pack *pending = b->pending[index];
  adopt(b, index, tactic);
  if (!pending) return time_step(b, step, seconds);
  BSM_TRY(bsm_trial_stand_in(&b->trial, &pending->packing, step));
  bsm_status status = time_step(b, step, seconds);
  step->weights[0] = BSM_NO_WEIGHTS;
  return status;
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

static bsm_status choose(bench *b, uint32_t index, const char **names,
                         size_t count, size_t *out) {
  const bsm_plan_step *step = &b->plan->steps[index];
  const uint64_t key =
      bsm_timing_key(b->plan, step, b->options->isa, b->options->threads,
                     bsm_str_of(b->cpu_model));
  size_t best = 0;
  if (!is_candidate(names, count, bsm_timing_cache_get(&b->cache, key),
                    &best)) {
    double best_seconds = 1e30;
    for (size_t i = 0; i < count; i++) {
      double seconds;
      BSM_TRY(time_tactic(b, index, names[i], &seconds));
      bsm_log(b->options->logger, BSM_LOG_LEVEL_DEBUG, "%s: %s takes %.1f us",
              step->name, names[i], seconds * 1e6);
      if (seconds < best_seconds) {
        best_seconds = seconds;
        best = i;
      }
    }
    BSM_TRY(bsm_timing_cache_put(&b->cache, key, names[best]));
  }
  *out = best;
  return BSM_OK;
}

/* ---- as another plan does ---- */

/* The tactic of a step; several steps may have one name: they are taken in
 * their order. */
typedef struct liked {
  struct liked *next;
  const char *tactic;
} liked;

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
    liked *fresh = BSM_NEW(&b->arena, liked);
    BSM_TRY_ALLOC(fresh);
    BSM_TRY(step_key(b, &like->steps[i], &key));
    fresh->tactic = like->steps[i].tactic;
    fresh->next = bsm_strmap_get(&b->like, key);
    BSM_TRY_ALLOC(bsm_strmap_set(&b->arena, &b->like, key, fresh));
  }
  return BSM_OK;
}

/* The index of the tactic that the step has in `like`, when it is one of these;
 * else 0. */
static bsm_status choose_like(bench *b, const bsm_plan_step *step,
                              const char **names, size_t count, size_t *best) {
  bsm_str key;
  *best = 0;
  BSM_TRY(step_key(b, step, &key));
  const liked *it = bsm_strmap_get(&b->like, key);
  if (!it) return BSM_OK;
  is_candidate(names, count, it->tactic, best);
  if (it->next) {
    BSM_TRY_ALLOC(
        bsm_strmap_set(&b->arena, &b->like, key, (void *)(uintptr_t)it->next));
  }
  return BSM_OK;
}

static bsm_status choose_all(bench *b) {
  const bsm_plan *like = b->options->like;
  const bool timing = !b->options->no_timing && !like;
  const char *path = b->options->timing_cache;
  if (timing) {
    read_cpu_model(b->cpu_model, sizeof(b->cpu_model));
    b->cache.arena = &b->arena;
    if (path) BSM_TRY(bsm_timing_cache_load(&b->arena, path, &b->cache));
    BSM_TRY(bsm_trial_open(b->options, b->plan, &b->trial));
  }
  if (like) BSM_TRY(read_like(b, like));
  for (uint32_t i = 0; i < b->plan->step_count; i++) {
    bsm_plan_step *step = &b->plan->steps[i];
    if (step->kind == BSM_STEP_ATEN_CALL) continue; /* of the runtime */
    const char *names[BSM_MAX_TACTICS];
    const size_t count =
        b->backend->tactics(b->plan, step, b->options->isa, names);
    size_t best = 0;
    if (count > 1 && timing) {
      BSM_TRY_NOTE(choose(b, i, names, count, &best), "while timing %s",
                   step->name);
    } else if (like) {
      BSM_TRY(choose_like(b, step, names, count, &best));
    }
    adopt(b, i, count ? names[best] : "");
  }
  return timing && path ? bsm_timing_cache_save(&b->cache, path) : BSM_OK;
}

static bsm_status index_pending(bench *b, const bsm_pending_pack *pending,
                                size_t count) {
  b->pending = BSM_NEW_ARRAY(&b->arena, const bsm_pending_pack *,
                             b->plan->step_count + 1u);
  BSM_TRY_ALLOC(b->pending);
  for (size_t i = 0; i < count; i++) {
    b->pending[pending[i].step] = &pending[i];
  }
  return BSM_OK;
}

bsm_status bsm_choose_tactics(const bsm_build_options *options, bsm_plan *plan,
                              const bsm_pending_pack *pending,
                              size_t pending_count) {
  bench b = {.options = options, .backend = bsm_backend_cpu(), .plan = plan};
  bsm_arena_init(&b.arena, NULL);
  bsm_status status = index_pending(&b, pending, pending_count);
  if (!status) status = choose_all(&b);
  bsm_trial_close(&b.trial);
  bsm_arena_destroy(&b.arena);
  return status;
}
