/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing tactics: each candidate of a step runs on the real shapes and
 * memory of the plan, the fastest wins, and the answer goes into the timing
 * cache. Without timing the backend's first tactic is taken, which depends on
 * nothing but the step and the ISA; or the one of a plan for other shapes. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "builder/emitter.h"
#include "builder/timing_cache.h"

/* Each candidate runs until it took this long, at least MIN_RUNS times. */
#define MIN_RUNS 3
#define MAX_RUNS 20
#define MAX_SECONDS 0.03

typedef struct bench {
  const bsm_build_options *options;
  const bsm_backend *backend;
  bsm_plan *plan;
  bsm_arena arena;
  bsm_thread_pool *pool;
  bsm_run run;
  size_t scratch_size;
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

/* Zeroed memory for a binding. */
static bsm_status new_buffer(bench *b, const bsm_plan_binding *binding,
                             void **out) {
  const bsm_plan_tensor *t = &b->plan->tensors[binding->tensor];
  uint64_t bytes;
  if (!bsm_plan_tensor_extent(t, &bytes)) {
    return BSM_FAIL(BSM_LIMIT, "binding %s is too large", binding->name);
  }
  *out = bsm_arena_alloc(&b->arena, (size_t)bytes + 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

static bsm_status make_memory(bench *b) {
  const bsm_plan *plan = b->plan;
  void **inputs = BSM_NEW_ARRAY(&b->arena, void *, plan->input_count + 1u);
  void **outputs = BSM_NEW_ARRAY(&b->arena, void *, plan->output_count + 1u);
  if (!inputs || !outputs) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < plan->input_count; i++) {
    BSM_TRY(new_buffer(b, &plan->inputs[i], &inputs[i]));
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    BSM_TRY(new_buffer(b, &plan->outputs[i], &outputs[i]));
  }
  b->run.inputs = inputs;
  b->run.outputs = outputs;
  b->run.workspace = bsm_arena_alloc(
      &b->arena, (size_t)plan->workspace_size + 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(b->run.workspace);
  BSM_TRY(bsm_thread_pool_create(b->options->threads, NULL, &b->pool));
  b->run.pool = b->pool;
  return BSM_OK;
}

static bsm_status need_scratch(bench *b, size_t size) {
  if (size <= b->scratch_size) return BSM_OK;
  b->run.scratch = bsm_arena_alloc(&b->arena, size, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(b->run.scratch);
  b->scratch_size = size;
  return BSM_OK;
}

/* The fastest of a few runs of the step with its present tactic. */
static bsm_status time_step(bench *b, const bsm_plan_step *step,
                            double *seconds) {
  bsm_prepared_step prepared;
  BSM_TRY(b->backend->prepare(b->plan, step, b->options->isa,
                              b->options->threads, &b->arena, &prepared));
  BSM_TRY(need_scratch(b, prepared.scratch_size));
  BSM_TRY(b->backend->run(&prepared, &b->run)); /* warms caches and pages */
  double total = 0;
  *seconds = 1e30;
  for (int i = 0; i < MAX_RUNS && (i < MIN_RUNS || total < MAX_SECONDS); i++) {
    const double start = bsm_clock_seconds();
    BSM_TRY(b->backend->run(&prepared, &b->run));
    const double took = bsm_clock_seconds() - start;
    if (took < *seconds) *seconds = took;
    total += took;
  }
  return BSM_OK;
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

static bsm_status choose(bench *b, bsm_plan_step *step, const char **names,
                         size_t count) {
  const uint64_t key =
      bsm_timing_key(b->plan, step, b->options->isa, b->options->threads,
                     bsm_str_of(b->cpu_model));
  size_t best = 0;
  if (!is_candidate(names, count, bsm_timing_cache_get(&b->cache, key),
                    &best)) {
    double best_seconds = 1e30;
    for (size_t i = 0; i < count; i++) {
      double seconds;
      step->tactic = names[i];
      BSM_TRY(time_step(b, step, &seconds));
      bsm_log(b->options->logger, BSM_LOG_LEVEL_DEBUG, "%s: %s takes %.1f us",
              step->name, names[i], seconds * 1e6);
      if (seconds < best_seconds) {
        best_seconds = seconds;
        best = i;
      }
    }
    BSM_TRY(bsm_timing_cache_put(&b->cache, key, names[best]));
  }
  step->tactic = names[best];
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
    BSM_TRY(make_memory(b));
  }
  if (like) BSM_TRY(read_like(b, like));
  for (uint32_t i = 0; i < b->plan->step_count; i++) {
    bsm_plan_step *step = &b->plan->steps[i];
    if (step->kind == BSM_STEP_ATEN_CALL) continue; /* of the runtime */
    const char *names[BSM_MAX_TACTICS];
    const size_t count =
        b->backend->tactics(b->plan, step, b->options->isa, names);
    if (count > 1 && timing) {
      BSM_TRY_NOTE(choose(b, step, names, count), "while timing %s",
                   step->name);
    } else {
      size_t best = 0;
      if (like) BSM_TRY(choose_like(b, step, names, count, &best));
      step->tactic = count ? names[best] : "";
    }
  }
  return timing && path ? bsm_timing_cache_save(&b->cache, path) : BSM_OK;
}

bsm_status bsm_choose_tactics(const bsm_build_options *options,
                              bsm_plan *plan) {
  bench b = {.options = options, .backend = bsm_backend_cpu(), .plan = plan};
  bsm_arena_init(&b.arena, NULL);
  bsm_status status = choose_all(&b);
  bsm_thread_pool_destroy(b.pool);
  bsm_arena_destroy(&b.arena);
  return status;
}
