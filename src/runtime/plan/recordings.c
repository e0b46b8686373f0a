/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the recording of a set of addresses, and making it. */
#include "runtime/plan/recordings.h"

#include <string.h>

#include "runtime/plan/branches.h"

/* Sets of addresses of a plan that are remembered: who writes to two or three
 * buffers in turn has each of them recorded. */
#define SETS 4

typedef struct address_set {
  const void **addresses; /* on the device: of bindings, and the workspace */
  bsm_recording **recordings; /* by stretch; NULL: not recorded */
  uint64_t used;              /* 0: never */
} address_set;

typedef struct stretch {
  uint32_t from, end; /* steps */
} stretch;

struct bsm_recordings {
  const bsm_device_ops *ops;
  stretch *stretches; /* in their order, of two steps at least */
  uint32_t count;
  address_set sets[SETS];
  uint64_t clock;
  bool failed; /* once: it is not tried again */
};

bool bsm_recordings_are_made(const bsm_plan_runner *r) {
  const bsm_stream *stream = r->runs[BSM_SPACE_DEVICE].stream;
  return stream && stream->device->ops->record_begin &&
         !r->execution->no_graphs && !r->times;
}

/* There is room for half as many as there are steps. */
static void find_stretches(bsm_recordings *t, const bsm_plan *plan) {
  for (uint32_t i = 0; i < plan->step_count;) {
    const uint32_t from = i;
    while (i < plan->step_count && bsm_step_is_recordable(&plan->steps[i])) i++;
    if (i - from > 1) t->stretches[t->count++] = (stretch){from, i};
    if (i == from) i++;
  }
}

static size_t address_count(const bsm_plan *plan) {
  return (size_t)plan->input_count + plan->output_count + 2;
}

bsm_status bsm_recordings_create(const bsm_plan_runner *r, bsm_arena *arena,
                                 bsm_recordings **out) {
  *out = NULL;
  if (!bsm_recordings_are_made(r)) return BSM_OK;
  bsm_recordings *t = BSM_NEW(arena, bsm_recordings);
  BSM_TRY_ALLOC(t);
  t->ops = r->runs[BSM_SPACE_DEVICE].stream->device->ops;
  t->stretches = BSM_NEW_ARRAY(arena, stretch, r->plan->step_count / 2 + 1);
  BSM_TRY_ALLOC(t->stretches);
  find_stretches(t, r->plan);
  if (!t->count) return BSM_OK;
  for (int i = 0; i < SETS; i++) {
    address_set *set = &t->sets[i];
    set->addresses = BSM_NEW_ARRAY(arena, const void *, address_count(r->plan));
    set->recordings = BSM_NEW_ARRAY(arena, bsm_recording *, t->count);
    if (!set->addresses || !set->recordings) return BSM_FAIL_OOM();
  }
  *out = t;
  return BSM_OK;
}

static void forget(bsm_recordings *t, address_set *set) {
  for (uint32_t k = 0; k < t->count; k++) {
    t->ops->recording_destroy(set->recordings[k]);
    set->recordings[k] = NULL;
  }
}

void bsm_recordings_destroy(bsm_recordings *t) {
  for (int i = 0; t && i < SETS; i++) forget(t, &t->sets[i]);
}

static bool is_far(const bsm_plan *plan, const bsm_plan_binding *binding) {
  return plan->tensors[binding->tensor].space == BSM_SPACE_DEVICE;
}

/* Calls `visit` with each address; whether all calls said true. */
static bool each_address(const bsm_plan_runner *r, const void **set,
                         bool (*visit)(const void **set, const void *address)) {
  const bsm_run *run = &r->runs[BSM_SPACE_DEVICE];
  const bsm_plan *plan = r->plan;
  bool all = visit(set++, run->workspace) && visit(set++, run->scratch);
  for (uint32_t i = 0; all && i < plan->input_count; i++) {
    if (is_far(plan, &plan->inputs[i])) all = visit(set++, r->inputs[i]);
  }
  for (uint32_t i = 0; all && i < plan->output_count; i++) {
    if (is_far(plan, &plan->outputs[i])) all = visit(set++, r->outputs[i]);
  }
  return all;
}

static bool is_same(const void **set, const void *address) {
  return *set == address;
}

static bool remember(const void **set, const void *address) {
  *set = address;
  return true;
}

/* The runner's addresses take the place of those that were not used for the
 * longest time, whose recordings may still be running. */
static bsm_status replace(bsm_recordings *t, const bsm_plan_runner *r,
                          address_set *set) {
  if (set->recordings[0]) {
    BSM_TRY(bsm_execution_wait(r->execution));
    forget(t, set);
  }
  (void)each_address(r, set->addresses, remember);
  return BSM_OK;
}

/* Devices may refuse to record what they run, so a failure ends recording, not
 * the run. */
static void record(bsm_recordings *t, bsm_plan_runner *r, stretch steps,
                   bsm_enqueue_steps *enqueue, bsm_recording **out) {
  bsm_stream *stream = r->runs[BSM_SPACE_DEVICE].stream;
  bsm_status status = t->ops->record_begin(stream);
  if (!status) {
    r->is_recording = true;
    status = enqueue(r, steps.from, steps.end);
    r->is_recording = false;
    bsm_status ended = t->ops->record_end(stream, out);
    if (status) {
      bsm_status_free(ended);
      t->ops->recording_destroy(*out);
      *out = NULL;
    } else {
      status = ended;
    }
  }
  if (!status) return;
  t->failed = true;
  bsm_log(r->execution->env.logger, BSM_LOG_LEVEL_INFO,
          "a plan runs step by step, as it cannot be recorded: %s",
          bsm_status_message(status));
  bsm_status_free(status);
}

/* The stretches of a set that came again, and what stands between them. */
static bsm_status enqueue_recorded(bsm_recordings *t, bsm_plan_runner *r,
                                   address_set *set,
                                   bsm_enqueue_steps *enqueue) {
  bsm_stream *stream = r->runs[BSM_SPACE_DEVICE].stream;
  uint32_t done = 0;
  for (uint32_t k = 0; k < t->count; k++) {
    const stretch steps = t->stretches[k];
    bsm_recording **recording = &set->recordings[k];
    BSM_TRY(enqueue(r, done, steps.from));
    if (!*recording && !t->failed) record(t, r, steps, enqueue, recording);
    BSM_TRY(*recording ? t->ops->replay(stream, *recording)
                       : enqueue(r, steps.from, steps.end));
    done = steps.end;
  }
  return enqueue(r, done, r->plan->step_count);
}

bsm_status bsm_recordings_enqueue(bsm_recordings *t, bsm_plan_runner *r,
                                  bsm_enqueue_steps *enqueue) {
  address_set *set = &t->sets[0];
  for (int i = 0; i < SETS; i++) {
    address_set *it = &t->sets[i];
    if (it->used && each_address(r, it->addresses, is_same)) {
      it->used = ++t->clock;
      return enqueue_recorded(t, r, it, enqueue);
    }
    if (it->used < set->used) set = it;
  }
  BSM_TRY(replace(t, r, set));
  set->used = ++t->clock;
  return enqueue(r, 0, r->plan->step_count);
}
