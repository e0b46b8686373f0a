/* SPDX-License-Identifier: Apache-2.0 */
/* Preparing and running the steps of one plan.
 *
 * Steps are enqueued in order. Steps of the host run at once, steps of a device
 * later. A step of the host that follows a transfer waits for it: the step may
 * read what is being downloaded, or overwrite what is being uploaded, by this
 * plan or an earlier one. The device never waits for the host, whose earlier
 * steps have run. */
#include "runtime/plan/plan_runner.h"

#include "base/clock.h"
#include "base/linked.h"
#include "engine/plan_work.h"
#include "runtime/plan/branches.h"
#include "runtime/plan/recordings.h"

struct bsm_step_times {
  bsm_event *from, *to;
  double seconds, least;
  uint64_t runs;
};

/* What a step means for transfers. */
enum { MEETS_NOTHING = 0, MEETS_WAIT = 1, MEETS_RECORD = 2 };

/* ---- weights ---- */

/* Weights of this plan that the engine does not have. */
static bsm_status upload(bsm_plan_runner *r, const bsm_plan_weights *w,
                         const void **out) {
  bsm_execution *e = r->execution;
  bsm_stream *stream = e->env.streams[BSM_SPACE_DEVICE];
  const bsm_device_ops *ops = stream->device->ops;
  void **copy = &r->uploaded[r->uploaded_count];
  BSM_TRY(ops->allocate(stream->device, e->allocator, (size_t)w->size,
                        BSM_ALIGNMENT, copy));
  r->uploaded_count++;
  *out = *copy;
  BSM_TRY(ops->upload(stream, *copy, w->data, (size_t)w->size));
  return ops->synchronize(stream);
}

/* Makes the table of device addresses; addresses on the host are the plan's. */
static bsm_status place_weights(bsm_plan_runner *r, bsm_arena *arena) {
  const bsm_engine *engine = r->execution->engine;
  const bsm_plan *plan = r->plan;
  if (!engine->weights) return BSM_OK;
  const void **table =
      BSM_NEW_ARRAY(arena, const void *, plan->weights_count + (size_t)1);
  r->uploaded = BSM_NEW_ARRAY(arena, void *, plan->weights_count + (size_t)1);
  if (!table || !r->uploaded) return BSM_FAIL_OOM();
  r->runs[BSM_SPACE_DEVICE].weights = table;
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    const bsm_plan_weights *w = &plan->weights[i];
    if (w->space != BSM_SPACE_DEVICE || !w->size) continue;
    BSM_TRY(bsm_device_weights_find(engine->weights,
                                    r->execution->env.streams[BSM_SPACE_DEVICE],
                                    w->data, w->size, &table[i]));
    if (!table[i]) BSM_TRY(upload(r, w, &table[i]));
  }
  return BSM_OK;
}

/* ---- preparing ---- */

static bsm_status make_tables(bsm_plan_runner *r, bsm_arena *arena) {
  const bsm_plan *plan = r->plan;
  r->inputs = BSM_NEW_ARRAY(arena, void *, plan->input_count + 1u);
  r->outputs = BSM_NEW_ARRAY(arena, void *, plan->output_count + 1u);
  r->runs = BSM_NEW_ARRAY(arena, bsm_run, BSM_MEMORY_SPACES);
  r->steps = BSM_NEW_ARRAY(arena, bsm_prepared_step, plan->step_count + 1u);
  if (!r->inputs || !r->outputs || !r->runs || !r->steps) return BSM_FAIL_OOM();
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    r->runs[i].stream = r->execution->env.streams[i];
    r->runs[i].inputs = r->inputs;
    r->runs[i].outputs = r->outputs;
  }
  return BSM_OK;
}

/* Finds the steps of the host that have to wait for transfers. */
static bsm_status find_meetings(bsm_plan_runner *r, bsm_arena *arena) {
  bsm_stream *stream = r->execution->env.streams[BSM_SPACE_DEVICE];
  bool pending = true; /* of an earlier plan */
  if (!stream) return BSM_OK;
  r->meets = BSM_NEW_ARRAY(arena, uint8_t, r->plan->step_count + 1u);
  BSM_TRY_ALLOC(r->meets);
  for (uint32_t i = 0; i < r->plan->step_count; i++) {
    const bsm_plan_step *step = &r->plan->steps[i];
    if (step->kind == BSM_STEP_TRANSFER) {
      r->meets[i] = MEETS_RECORD;
      pending = true;
    } else if (step->space == BSM_SPACE_HOST && pending) {
      r->meets[i] = MEETS_WAIT;
      pending = false;
    }
  }
  return BSM_OK;
}

static bsm_status prepare_steps(bsm_plan_runner *r, bsm_arena *arena,
                                bsm_memory_need *need) {
  const bsm_plan *plan = r->plan;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    bsm_prepared_step *prepared = &r->steps[i];
    const bsm_step_driver *driver = bsm_step_driver_of(step->kind);
    BSM_TRY_NOTE(
        driver ? driver->prepare(&r->execution->env, r->runs, plan, step, arena,
                                 prepared)
               : bsm_fail_not_linked("step", bsm_step_kind_name(step->kind)),
        "while preparing step %u: %s", i, step->name);
    if (prepared->scratch_size > need->scratch[step->space]) {
      need->scratch[step->space] = prepared->scratch_size;
    }
  }
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    if (plan->workspace_size[i] > need->workspace[i]) {
      need->workspace[i] = plan->workspace_size[i];
    }
  }
  return BSM_OK;
}

/* Lanes are there for recordings; without, one does. */
static bsm_status find_branches(bsm_plan_runner *r, bsm_arena *arena,
                                bsm_memory_need *need) {
  const bsm_stream *stream = r->runs[BSM_SPACE_DEVICE].stream;
  size_t size = 0;
  if (!bsm_recordings_are_made(r) || !stream->device->ops->record_place) {
    return BSM_OK;
  }
  BSM_TRY(bsm_branches_find(r->plan, r->steps, arena, &size, &r->branches));
  if (size > need->scratch[BSM_SPACE_DEVICE]) {
    need->scratch[BSM_SPACE_DEVICE] = size;
  }
  return BSM_OK;
}

static bsm_status make_times(bsm_plan_runner *r, bsm_arena *arena) {
  const bsm_plan *plan = r->plan;
  if (!r->execution->profile) return BSM_OK;
  r->times = BSM_NEW_ARRAY(arena, bsm_step_times, plan->step_count + 1u);
  BSM_TRY_ALLOC(r->times);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    bsm_stream *stream = r->runs[plan->steps[i].space].stream;
    const bsm_device_ops *ops = stream->device->ops;
    BSM_TRY(ops->event_create(stream, &r->times[i].from));
    BSM_TRY(ops->event_create(stream, &r->times[i].to));
  }
  return BSM_OK;
}

bsm_status bsm_plan_runner_init(const bsm_plan *plan, bsm_execution *execution,
                                bsm_arena *arena, bsm_memory_need *need,
                                bsm_plan_runner *out) {
  *out = (bsm_plan_runner){
      .execution = execution, .plan = plan, .flight = UINT64_MAX};
  BSM_TRY(make_tables(out, arena));
  BSM_TRY(place_weights(out, arena));
  BSM_TRY(find_meetings(out, arena));
  BSM_TRY(make_times(out, arena));
  BSM_TRY(prepare_steps(out, arena, need));
  BSM_TRY(find_branches(out, arena, need));
  return bsm_recordings_create(out, arena, &out->recordings);
}

bool bsm_plan_runner_is_in_flight(const bsm_plan_runner *r) {
  return r->meets && r->flight == r->execution->waits;
}

static void destroy_event(bsm_event *event) {
  if (event) event->device->ops->event_destroy(event);
}

void bsm_plan_runner_destroy(bsm_plan_runner *r) {
  if (!r->execution) return;
  const bsm_step_env *env = &r->execution->env;
  bsm_device *device = r->execution->engine->devices[BSM_SPACE_DEVICE];
  if (bsm_plan_runner_is_in_flight(r))
    bsm_status_free(bsm_execution_wait(r->execution));
  bsm_recordings_destroy(r->recordings);
  for (uint32_t i = 0; i < r->plan->step_count; i++) {
    bsm_prepared_step *prepared = r->steps ? &r->steps[i] : NULL;
    const bsm_step_driver *driver = bsm_step_driver_of(r->plan->steps[i].kind);
    if (prepared && prepared->step && driver->discard) {
      driver->discard(env, prepared);
    }
    if (!r->times) continue;
    destroy_event(r->times[i].from);
    destroy_event(r->times[i].to);
  }
  for (uint32_t i = 0; i < r->uploaded_count; i++) {
    device->ops->release(device, r->execution->allocator, r->uploaded[i]);
  }
  *r = (bsm_plan_runner){0};
}

/* ---- running ---- */

/* In its lane; what is recorded waits for other steps alone. */
static bsm_status enqueue_in_lane(const bsm_plan_runner *r, uint32_t i) {
  const bsm_branches *b = r->branches;
  bsm_run run = r->runs[BSM_SPACE_DEVICE];
  run.lane = b->lanes[i];
  run.scratch += b->scratch[run.lane];
  if (r->is_recording) {
    BSM_TRY(run.stream->device->ops->record_place(
        run.stream, i, b->waits + b->first[i], b->first[i + 1] - b->first[i]));
  }
  return r->steps[i].enqueue(&r->steps[i], &run);
}

static bsm_status enqueue_step(const bsm_plan_runner *r, uint32_t i) {
  const bsm_prepared_step *prepared = &r->steps[i];
  bsm_status status =
      r->branches && bsm_step_is_recordable(prepared->step)
          ? enqueue_in_lane(r, i)
          : prepared->enqueue(prepared, &r->runs[prepared->step->space]);
  return status ? bsm_note_step(status, prepared) : BSM_OK;
}

static bsm_status enqueue_timed(const bsm_plan_runner *r, uint32_t i) {
  bsm_stream *stream = r->runs[r->plan->steps[i].space].stream;
  const bsm_device_ops *ops = stream->device->ops;
  BSM_TRY(ops->event_record(stream, r->times[i].from));
  BSM_TRY(enqueue_step(r, i));
  return ops->event_record(stream, r->times[i].to);
}

/* Enqueues a step of a plan that has steps on a device. */
static bsm_status enqueue_meeting(const bsm_plan_runner *r, uint32_t i) {
  bsm_stream *stream = r->runs[BSM_SPACE_DEVICE].stream;
  const bsm_device_ops *ops = stream->device->ops;
  bsm_event *transferred = r->execution->transferred;
  if (r->meets[i] == MEETS_WAIT) BSM_TRY(ops->event_wait(transferred));
  BSM_TRY(r->times ? enqueue_timed(r, i) : enqueue_step(r, i));
  return r->meets[i] == MEETS_RECORD ? ops->event_record(stream, transferred)
                                     : BSM_OK;
}

/* Enqueues steps that are watched: traced, or their results copied. */
static bsm_status enqueue_watched(const bsm_plan_runner *r, uint32_t from,
                                  uint32_t end) {
  bsm_execution *e = r->execution;
  for (uint32_t i = from; i < end; i++) {
    const bsm_plan_step *step = &r->plan->steps[i];
    bsm_run_trace_begin(
        &e->trace, step->name, bsm_step_kind_name(step->kind),
        bsm_step_driver_of(step->kind)->describe(&e->env, &r->steps[i]));
    BSM_TRY(r->meets   ? enqueue_meeting(r, i)
            : r->times ? enqueue_timed(r, i)
                       : enqueue_step(r, i));
    if (step->space == BSM_SPACE_HOST) bsm_run_trace_end(&e->trace);
    if (e->kept.max_bytes) BSM_TRY(bsm_kept_take_step(&e->kept, r, i));
  }
  return BSM_OK;
}

static bsm_status enqueue_steps(const bsm_plan_runner *r, uint32_t from,
                                uint32_t end) {
  if (r->execution->kept.max_bytes || r->execution->trace.fn) {
    return enqueue_watched(r, from, end);
  }
  if (r->meets) {
    for (uint32_t i = from; i < end; i++) BSM_TRY(enqueue_meeting(r, i));
  } else if (r->times) {
    for (uint32_t i = from; i < end; i++) BSM_TRY(enqueue_timed(r, i));
  } else {
    for (uint32_t i = from; i < end; i++) BSM_TRY(enqueue_step(r, i));
  }
  return BSM_OK;
}

/* Tells of the steps of a device, once they are done. Their times count from
 * the first of them, which began when the plan did, as seen from the host. */
static void trace_device(const bsm_plan_runner *r, double start) {
  const bsm_event *first = NULL;
  for (uint32_t i = 0; i < r->plan->step_count; i++) {
    const bsm_plan_step *step = &r->plan->steps[i];
    const bsm_step_times *t = &r->times[i];
    if (step->space == BSM_SPACE_HOST) continue;
    if (!first) first = t->from;
    const bsm_device_ops *ops = t->from->device->ops;
    const double begin = start + ops->event_seconds(first, t->from);
    bsm_run_trace_tell(
        &r->execution->trace,
        &(bsm_trace_event){
            .name = step->name,
            .kind = bsm_step_kind_name(step->kind),
            .tactic = bsm_step_driver_of(step->kind)
                          ->describe(&r->execution->env, &r->steps[i]),
            .thread = -1,
            .begin = begin,
            .end = begin + ops->event_seconds(t->from, t->to)});
  }
}

/* Adds the times of a finished run. */
static void take_times(bsm_plan_runner *r) {
  for (uint32_t i = 0; i < r->plan->step_count; i++) {
    bsm_step_times *t = &r->times[i];
    const double took = t->from->device->ops->event_seconds(t->from, t->to);
    if (!t->runs || took < t->least) t->least = took;
    t->seconds += took;
    t->runs++;
  }
}

bsm_status bsm_plan_runner_enqueue(bsm_plan_runner *r) {
  bsm_execution *e = r->execution;
  const double start = e->trace.fn ? bsm_clock_seconds() : 0;
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    const bsm_workspace *w = &e->workspaces[i];
    if (!w->memory) continue;
    r->runs[i].workspace = w->memory;
    r->runs[i].scratch = bsm_workspace_scratch(w);
  }
  bsm_status status =
      r->recordings ? bsm_recordings_enqueue(r->recordings, r, enqueue_steps)
                    : enqueue_steps(r, 0, r->plan->step_count);
  r->flight = e->waits;
  if (status) return bsm_execution_fail(e, status);
  if (!r->times) return BSM_OK;
  BSM_TRY(bsm_execution_wait(e));
  take_times(r);
  if (e->trace.fn) trace_device(r, start);
  return BSM_OK;
}

bsm_status bsm_plan_runner_run(bsm_plan_runner *r) {
  BSM_TRY(bsm_plan_runner_enqueue(r));
  return bsm_plan_runner_is_in_flight(r) ? bsm_execution_wait(r->execution)
                                         : BSM_OK;
}

void bsm_plan_runner_profile(const bsm_plan_runner *r, uint32_t step,
                             bsm_step_profile *out) {
  const bsm_plan_step *s = &r->plan->steps[step];
  const bsm_work work = bsm_step_work(r->plan, s);
  const bsm_step_driver *driver = bsm_step_driver_of(s->kind);
  *out = (bsm_step_profile){
      .name = s->name,
      .kind = bsm_step_kind_name(s->kind),
      .tactic = driver->describe(&r->execution->env, &r->steps[step]),
      .seconds = r->times[step].seconds,
      .runs = r->times[step].runs,
      .least = r->times[step].least,
      .flops = work.flops,
      .bytes = work.bytes};
}
