/* SPDX-License-Identifier: Apache-2.0 */
/* Preparing and running the steps of one plan. */
#include "runtime/plan/plan_runner.h"

#include <inttypes.h>

#include "base/clock.h"
#include "engine/plan_work.h"
#include "runtime/steps/aten_step.h"
#include "runtime/steps/plugin_step.h"

static bsm_status prepare_step(const bsm_plan_runner *r,
                               const bsm_plan_step *step, bsm_arena *arena,
                               bsm_prepared_step *out) {
  const bsm_engine *engine = r->engine;
  if (step->kind == BSM_STEP_PLUGIN) {
    return bsm_plugin_step_prepare(engine->plugins, r->plan, step, arena, out);
  }
  if (step->kind != BSM_STEP_ATEN_CALL) {
    return engine->device->ops->prepare(r->run.stream, r->plan, step, NULL,
                                        arena, out);
  }
  bsm_aten_step *call;
  BSM_TRY(bsm_aten_step_prepare(engine->aten, r->plan, step, arena, &call));
  *out = (bsm_prepared_step){.plan = r->plan, .step = step, .impl = call};
  return BSM_OK;
}

bsm_status bsm_plan_runner_init(const bsm_engine *engine, const bsm_plan *plan,
                                const bsm_runner_options *options,
                                bsm_arena *arena, size_t *scratch,
                                bsm_plan_runner *out) {
  *out = (bsm_plan_runner){.engine = engine,
                           .plan = plan,
                           .pool = options->pool,
                           .logger = options->logger,
                           .step_arena = options->step_arena,
                           .workspace = options->workspace};
  out->steps = BSM_NEW_ARRAY(arena, bsm_prepared_step, plan->step_count + 1u);
  out->inputs = BSM_NEW_ARRAY(arena, void *, plan->input_count + 1u);
  out->outputs = BSM_NEW_ARRAY(arena, void *, plan->output_count + 1u);
  if (!out->steps || !out->inputs || !out->outputs) return BSM_FAIL_OOM();
  if (options->profile) {
    out->times = BSM_NEW_ARRAY(arena, bsm_step_times, plan->step_count + 1u);
    BSM_TRY_ALLOC(out->times);
  }
  out->run.inputs = out->inputs;
  out->run.outputs = out->outputs;
  out->run.stream = options->stream;
  *scratch = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    BSM_TRY_NOTE(prepare_step(out, &plan->steps[i], arena, &out->steps[i]),
                 "while preparing step %" PRIu32 ": %s", i,
                 plan->steps[i].name);
    if (out->steps[i].scratch_size > *scratch) {
      *scratch = out->steps[i].scratch_size;
    }
  }
  return BSM_OK;
}

static bsm_status dispatch_step(bsm_plan_runner *r, uint32_t i) {
  const bsm_prepared_step *prepared = &r->steps[i];
  if (prepared->step->kind == BSM_STEP_PLUGIN) {
    return bsm_plugin_step_run(prepared, &r->run, r->pool);
  }
  if (prepared->step->kind != BSM_STEP_ATEN_CALL) {
    return prepared->enqueue(prepared, &r->run);
  }
  const bsm_arena_mark mark = bsm_arena_get_mark(r->step_arena);
  bsm_status status =
      bsm_aten_step_run((bsm_aten_step *)(uintptr_t)prepared->impl, &r->run,
                        r->step_arena, r->logger);
  bsm_arena_rewind(r->step_arena, mark);
  return status;
}

static bsm_status run_step(bsm_plan_runner *r, uint32_t i) {
  if (!r->times) return dispatch_step(r, i);
  const double start = bsm_clock_seconds();
  bsm_status status = dispatch_step(r, i);
  const double took = bsm_clock_seconds() - start;
  bsm_step_times *times = &r->times[i];
  if (!times->runs || took < times->least) times->least = took;
  times->seconds += took;
  times->runs++;
  return status;
}

bsm_status bsm_plan_runner_run(bsm_plan_runner *r) {
  r->run.workspace = r->workspace->memory;
  r->run.scratch = bsm_workspace_scratch(r->workspace);
  for (uint32_t i = 0; i < r->plan->step_count; i++) {
    BSM_TRY_NOTE(run_step(r, i), "while running step %" PRIu32 ": %s", i,
                 r->plan->steps[i].name);
  }
  return BSM_OK;
}

/* What computes a step. */
static const char *describe(const bsm_plan_runner *r, uint32_t step) {
  const bsm_plan_step *s = &r->plan->steps[step];
  if (s->kind == BSM_STEP_ATEN_CALL) return s->params->aten_call.op;
  if (s->kind == BSM_STEP_PLUGIN) {
    return bsm_plugin_step_describe(&r->steps[step]);
  }
  return r->engine->device->ops->describe(&r->steps[step]);
}

void bsm_plan_runner_profile(const bsm_plan_runner *r, uint32_t step,
                             bsm_step_profile *out) {
  const bsm_plan_step *s = &r->plan->steps[step];
  const bsm_work work = bsm_step_work(r->plan, s);
  *out = (bsm_step_profile){.name = s->name,
                            .kind = bsm_step_kind_name(s->kind),
                            .tactic = describe(r, step),
                            .seconds = r->times[step].seconds,
                            .runs = r->times[step].runs,
                            .least = r->times[step].least,
                            .flops = work.flops,
                            .bytes = work.bytes};
}
