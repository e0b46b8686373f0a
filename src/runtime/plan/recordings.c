/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the recording of a set of addresses, and making it. */
#include "runtime/plan/recordings.h"

#include <string.h>

/* Sets of addresses of a plan that are remembered: who writes to two or three
 * buffers in turn has each of them recorded. */
#define SETS 4

typedef struct address_set {
  const void **addresses; /* of all bindings, and of the workspace */
  bsm_recording *recording;
  uint64_t used; /* 0: never */
} address_set;

struct bsm_recordings {
  const bsm_device_ops *ops;
  address_set sets[SETS];
  uint64_t clock;
  bool failed; /* once: it is not tried again */
};

static bool is_recordable(const bsm_plan_runner *r) {
  const bsm_stream *stream = r->runs[BSM_SPACE_DEVICE].stream;
  const bsm_plan *plan = r->plan;
  if (!stream || !stream->device->ops->record_begin ||
      r->execution->no_graphs || r->times || plan->step_count < 2) {
    return false;
  }
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].space != BSM_SPACE_DEVICE ||
        plan->steps[i].kind == BSM_STEP_TRANSFER) {
      return false;
    }
  }
  return true;
}

static size_t address_count(const bsm_plan *plan) {
  return (size_t)plan->input_count + plan->output_count + 2;
}

bsm_status bsm_recordings_create(const bsm_plan_runner *r, bsm_arena *arena,
                                 bsm_recordings **out) {
  *out = NULL;
  if (!is_recordable(r)) return BSM_OK;
  bsm_recordings *t = BSM_NEW(arena, bsm_recordings);
  BSM_TRY_ALLOC(t);
  t->ops = r->runs[BSM_SPACE_DEVICE].stream->device->ops;
  for (int i = 0; i < SETS; i++) {
    t->sets[i].addresses =
        BSM_NEW_ARRAY(arena, const void *, address_count(r->plan));
    BSM_TRY_ALLOC(t->sets[i].addresses);
  }
  *out = t;
  return BSM_OK;
}

void bsm_recordings_destroy(bsm_recordings *t) {
  for (int i = 0; t && i < SETS; i++) {
    t->ops->recording_destroy(t->sets[i].recording);
  }
}

/* Calls `visit` with each address; whether all calls said true. */
static bool each_address(const bsm_plan_runner *r, const void **set,
                         bool (*visit)(const void **set, const void *address)) {
  const bsm_run *run = &r->runs[BSM_SPACE_DEVICE];
  bool all = visit(set++, run->workspace) && visit(set++, run->scratch);
  for (uint32_t i = 0; all && i < r->plan->input_count; i++) {
    all = visit(set++, r->inputs[i]);
  }
  for (uint32_t i = 0; all && i < r->plan->output_count; i++) {
    all = visit(set++, r->outputs[i]);
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
 * longest time, whose recording may still be running. */
static bsm_status replace(bsm_recordings *t, const bsm_plan_runner *r,
                          address_set *set) {
  if (set->recording) {
    BSM_TRY(bsm_execution_wait(r->execution));
    t->ops->recording_destroy(set->recording);
    set->recording = NULL;
  }
  (void)each_address(r, set->addresses, remember);
  return BSM_OK;
}

/* Devices may refuse to record what they run, so a failure ends recording, not
 * the run. */
static void record(bsm_recordings *t, bsm_plan_runner *r, address_set *set,
                   bsm_status (*enqueue)(bsm_plan_runner *runner)) {
  bsm_stream *stream = r->runs[BSM_SPACE_DEVICE].stream;
  bsm_status status = t->ops->record_begin(stream);
  if (!status) {
    status = enqueue(r);
    bsm_status ended = t->ops->record_end(stream, &set->recording);
    if (status) {
      bsm_status_free(ended);
      t->ops->recording_destroy(set->recording);
      set->recording = NULL;
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

bsm_status bsm_recordings_enqueue(
    bsm_recordings *t, bsm_plan_runner *r,
    bsm_status (*enqueue)(bsm_plan_runner *runner)) {
  address_set *set = &t->sets[0];
  for (int i = 0; i < SETS; i++) {
    address_set *it = &t->sets[i];
    if (it->used && each_address(r, it->addresses, is_same)) {
      it->used = ++t->clock;
      if (!it->recording && !t->failed) record(t, r, it, enqueue);
      return it->recording ? t->ops->replay(r->runs[BSM_SPACE_DEVICE].stream,
                                            it->recording)
                           : enqueue(r);
    }
    if (it->used < set->used) set = it;
  }
  BSM_TRY(replace(t, r, set));
  set->used = ++t->clock;
  return enqueue(r);
}
