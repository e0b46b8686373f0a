/* SPDX-License-Identifier: Apache-2.0 */
/* Timing the tactics of one step. A machine that does other things makes runs
 * longer, never shorter, so the shortest counts; candidates take turns, so that
 * a slow moment is nobody's alone. */
#include "backend/cpu/target/cpu_timer.h"

#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/target/cpu_dry_run.h"
#include "base/caches.h"
#include "base/clock.h"
#include "base/thread_pool.h"

#define LINE 64
/* All runs of a step together take no longer, but that each has MIN_RUNS. */
#define MAX_SECONDS 0.06
#define MAX_RUNS 12
#define MIN_RUNS 2
/* Runs that take longer than this are told apart by one. */
#define LONG_SECONDS 0.02

/* One thread is timed by what it used of the CPU, from here on, where reading
 * that clock does not count. */
#define CLOCK_SECONDS 2e-5

struct bsm_tactic_timer {
  bsm_cpu_dry_run run;
  bsm_weights_place place;
  uint8_t *sweep; /* read to push other data out of L2 */
  size_t sweep_size;
  bsm_arena arena; /* of prepared steps */
};

typedef struct candidate {
  const char *tactic;
  bsm_prepared_step prepared;
  double best;
  int runs;
  bool out;
} candidate;

/* ---- where weights are ---- */

bsm_weights_place bsm_weights_place_of(uint64_t weights, uint64_t workspace) {
  const bsm_caches caches = bsm_detect_caches();
  if (weights + workspace > caches.l3) return BSM_WEIGHTS_IN_MEMORY;
  return weights > caches.l2 / 2 ? BSM_WEIGHTS_IN_L3 : BSM_WEIGHTS_IN_L2;
}

static bsm_status packed_size(const bsm_plan_step *step, const bsm_packing *p,
                              uint64_t *size) {
  return bsm_cpu_pack(step, p->in_maps, NULL, bsm_dtype_size(p->dtype),
                      p->transposed, NULL, size);
}

static bsm_status weights_of(const bsm_plan_draft *draft, uint64_t *out) {
  const bsm_plan *plan = draft->plan;
  *out = 0;
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    *out += plan->weights[i].size;
  }
  for (size_t i = 0; i < draft->pending_count; i++) {
    const bsm_pending_pack *pending = &draft->pending[i];
    uint64_t size;
    BSM_TRY(packed_size(&plan->steps[pending->step], &pending->packing, &size));
    *out += size;
  }
  return BSM_OK;
}

bsm_status bsm_cpu_timer_open(const bsm_target *target,
                              const bsm_plan_draft *draft,
                              bsm_tactic_timer **out) {
  uint64_t weights;
  bsm_tactic_timer *timer = BSM_NEW(draft->scratch, bsm_tactic_timer);
  *out = timer;
  BSM_TRY_ALLOC(timer);
  bsm_arena_init(&timer->arena, NULL);
  const bsm_cpu_target *cpu = bsm_cpu_target_of(target);
  BSM_TRY(bsm_cpu_dry_run_open(cpu, cpu->isa, cpu->threads, draft->plan,
                               &timer->run));
  BSM_TRY(weights_of(draft, &weights));
  timer->place = bsm_weights_place_of(
      weights, draft->plan->workspace_size[BSM_SPACE_HOST]);
  if (timer->place != BSM_WEIGHTS_IN_L3) return BSM_OK;
  timer->sweep_size = 2 * bsm_detect_caches().l2;
  timer->sweep =
      bsm_arena_alloc(&timer->run.arena, timer->sweep_size, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(timer->sweep);
  return BSM_OK;
}

void bsm_cpu_timer_close(bsm_tactic_timer *timer) {
  if (!timer) return;
  bsm_arena_destroy(&timer->arena);
  bsm_cpu_dry_run_close(&timer->run);
}

int32_t bsm_cpu_timer_conditions(const bsm_tactic_timer *timer) {
  return (int32_t)timer->place;
}

/* Reads a line of each 64 bytes; the sum keeps the reads. */
static uint8_t read_lines(const uint8_t *data, size_t size) {
  uint8_t sum = 0;
  for (size_t i = 0; i < size; i += LINE) sum = (uint8_t)(sum + data[i]);
  return sum;
}

static void sweep_task(void *arg, size_t index) {
  const bsm_tactic_timer *timer = arg;
  volatile uint8_t sink = read_lines(timer->sweep, timer->sweep_size);
  (void)sink;
  (void)index;
}

/* Puts the weights where they will be, and the inputs where a step before would
 * just have written them. */
static void set_caches(bsm_tactic_timer *timer, const bsm_plan_step *step) {
  const bsm_cpu_dry_run *run = &timer->run;
  const bsm_plan *plan = run->plan;
  if (timer->place == BSM_WEIGHTS_IN_L2 || step->weights[0] == BSM_NO_WEIGHTS) {
    return;
  }
  const bsm_plan_weights *w = &plan->weights[step->weights[0]];
  if (timer->place == BSM_WEIGHTS_IN_MEMORY) {
    bsm_evict_from_caches(w->data, (size_t)w->size);
    return;
  }
  bsm_parallel_for(run->pool, (size_t)run->threads, sweep_task, timer);
  for (uint32_t i = 0; i < step->input_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[step->inputs[i]];
    uint64_t bytes;
    if (!bsm_plan_tensor_extent(t, &bytes)) continue;
    volatile uint8_t sink = read_lines(
        bsm_run_address(&run->run, plan, step->inputs[i]), (size_t)bytes);
    (void)sink;
  }
}

/* ---- candidates ---- */

static void adopt(const bsm_tactic_timer *timer, bsm_plan_step *step,
                  const bsm_pending_pack *pending, const char *tactic) {
  step->tactic = tactic;
  const bsm_target *target = &timer->run.target->base;
  if (pending) target->ops->adopt(target, step, tactic, pending->params);
}

/* Room for the weights of whatever form is the largest. */
static bsm_status make_room(bsm_tactic_timer *timer, bsm_plan_step *step,
                            const bsm_pending_pack *pending, candidate *c,
                            size_t count) {
  const bsm_packing *p = &pending->packing;
  uint64_t most = 0;
  size_t largest = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t size;
    adopt(timer, step, pending, c[i].tactic);
    BSM_TRY(packed_size(step, p, &size));
    if (size > most) {
      most = size;
      largest = i;
    }
  }
  adopt(timer, step, pending, c[largest].tactic);
  return bsm_cpu_dry_run_stand_in(&timer->run, p, step);
}

static bsm_status prepare(bsm_tactic_timer *timer, bsm_plan_step *step,
                          const bsm_pending_pack *pending, candidate *c,
                          size_t count) {
  if (pending) BSM_TRY(make_room(timer, step, pending, c, count));
  for (size_t i = 0; i < count; i++) {
    adopt(timer, step, pending, c[i].tactic);
    if (pending) {
      BSM_TRY(bsm_cpu_dry_run_stand_in(&timer->run, &pending->packing, step));
    }
    BSM_TRY(bsm_cpu_dry_run_prepare_in(&timer->run, &timer->arena, step,
                                       &c[i].prepared));
  }
  return BSM_OK;
}

static bsm_status run_once(bsm_tactic_timer *timer, bsm_plan_step *step,
                           const bsm_pending_pack *pending, candidate *c,
                           double *seconds) {
  adopt(timer, step, pending, c->tactic);
  if (pending) {
    BSM_TRY(bsm_cpu_dry_run_stand_in(&timer->run, &pending->packing, step));
  }
  set_caches(timer, step);
  const double used = bsm_thread_seconds(), start = bsm_clock_seconds();
  BSM_TRY(c->prepared.enqueue(&c->prepared, &timer->run.run));
  *seconds = bsm_clock_seconds() - start;
  if (timer->run.threads == 1 && *seconds > CLOCK_SECONDS) {
    *seconds = bsm_thread_seconds() - used;
  }
  return BSM_OK;
}

/* ---- rounds ---- */

/* How much slower than the best a candidate may be to run once more: the more
 * it has run, the less can be chance. */
static double allowed(const candidate *c) {
  return c->runs <= 1 ? 3.0 : c->runs == 2 ? 1.4 : c->runs <= 4 ? 1.15 : 1.06;
}

/* One turn of each candidate that is still in. */
static bsm_status run_round(bsm_tactic_timer *timer, bsm_plan_step *step,
                            const bsm_pending_pack *pending, candidate *c,
                            size_t count, bool warm, double *total) {
  for (size_t i = 0; i < count; i++) {
    double seconds;
    if (c[i].out) continue;
    BSM_TRY(run_once(timer, step, pending, &c[i], &seconds));
    *total += seconds;
    if (!warm && seconds < LONG_SECONDS) continue; /* pages, first uses */
    c[i].runs++;
    if (c[i].runs == 1 || seconds < c[i].best) c[i].best = seconds;
  }
  return BSM_OK;
}

/* Takes out what is clearly slower. Returns how many are in; *least: the fewest
 * runs among them. */
static size_t drop_slow(candidate *c, size_t count, int *least) {
  double best = 1e30;
  size_t left = 0;
  *least = MAX_RUNS;
  for (size_t i = 0; i < count; i++) {
    if (c[i].runs && c[i].best < best) best = c[i].best;
  }
  for (size_t i = 0; i < count; i++) {
    if (c[i].runs && c[i].best > best * allowed(&c[i])) c[i].out = true;
    if (c[i].out) continue;
    if (c[i].runs < *least) *least = c[i].runs;
    left++;
  }
  return left;
}

static bsm_status run_rounds(bsm_tactic_timer *timer, bsm_plan_step *step,
                             const bsm_pending_pack *pending, candidate *c,
                             size_t count) {
  double total = 0;
  for (int round = 0; round <= MAX_RUNS; round++) {
    int least;
    BSM_TRY(run_round(timer, step, pending, c, count, round > 0, &total));
    const size_t left = drop_slow(c, count, &least);
    const bool decided = left == 1 && (count > 1 || total > LONG_SECONDS);
    if (least >= (decided ? 1 : MIN_RUNS) &&
        (left == 1 || total > MAX_SECONDS)) {
      break;
    }
  }
  return BSM_OK;
}

bsm_status bsm_cpu_timer_run(bsm_tactic_timer *timer, bsm_plan_step *step,
                             const bsm_pending_pack *pending,
                             const char *const *tactics, size_t count,
                             double *seconds) {
  candidate c[BSM_MAX_TACTICS] = {0};
  for (size_t i = 0; i < count; i++) c[i].tactic = tactics[i];
  const bsm_arena_mark mark = bsm_arena_get_mark(&timer->arena);
  bsm_status status = prepare(timer, step, pending, c, count);
  if (!status) {
    bsm_status failed = run_rounds(timer, step, pending, c, count);
    if (failed) {
      for (size_t i = 0; i < count; i++) c[i].best = 0;
      bsm_status_free(failed);
    }
  }
  if (pending) step->weights[0] = BSM_NO_WEIGHTS;
  bsm_arena_rewind(&timer->arena, mark);
  for (size_t i = 0; i < count; i++) seconds[i] = c[i].best;
  return status;
}
