/* SPDX-License-Identifier: Apache-2.0 */
/* Execution contexts. Everything that a run needs is made here once, so that
 * bsm_context_run only binds addresses and calls kernels. */
#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/isa.h"
#include "base/options.h"
#include "runtime/context/context_internal.h"

static uint32_t resolve_isa(uint32_t wanted) {
  if (wanted & BSM_CONTEXT_ISA_SCALAR) return BSM_ISA_SCALAR;
  const uint32_t have = bsm_isa_detect();
  return wanted ? wanted & have : have;
}

static uint32_t count_parts(const bsm_plan *plan) {
  uint32_t count = 0;
  while (bsm_plan_part(plan, count)) count++;
  return count;
}

/* Prepares every part. The parts share the workspace, so the largest need
 * counts: no two parts run at a time, and nothing stays in it. */
static bsm_status prepare_parts(const bsm_engine *engine,
                                bsm_execution *execution, bsm_arena *arena,
                                bsm_plan_runner **out, bsm_memory_need *need) {
  const uint32_t count = count_parts(engine->plan);
  *out = BSM_NEW_ARRAY(arena, bsm_plan_runner, count);
  BSM_TRY_ALLOC(*out);
  for (uint32_t i = 0; i < count; i++) {
    BSM_TRY(bsm_plan_runner_init(bsm_plan_part(engine->plan, i), execution,
                                 arena, need, &(*out)[i]));
  }
  return BSM_OK;
}

static void destroy_parts(const bsm_engine *engine, bsm_plan_runner *runners) {
  for (uint32_t i = 0; runners && i < count_parts(engine->plan); i++) {
    bsm_plan_runner_destroy(&runners[i]);
  }
}

/* Warns when the engine was built for more than the machine has. */
static void report_target(const bsm_context *context,
                          const bsm_logger *logger) {
  const bsm_stream *stream =
      context->execution.env.streams[bsm_engine_space(context->engine)];
  const char *target = context->engine->plan->target;
  const bsm_device_ops *ops = stream->device->ops;
  const char *missing =
      target && ops->lacks ? ops->lacks(stream, target) : NULL;
  if (!missing) return;
  bsm_log(logger, BSM_LOG_LEVEL_WARNING,
          "the engine was built for %s, and this context has no %s: steps that "
          "need it run with other kernels; compile on this machine for the "
          "best speed",
          target, missing);
}

static bsm_status init_program(bsm_context *context,
                               const bsm_context_options *options) {
  const bsm_engine *engine = context->engine;
  const bsm_run_limits limits = {
      .max_bytes = options->max_run_bytes < SIZE_MAX
                       ? (size_t)options->max_run_bytes
                       : SIZE_MAX,
      .max_instructions = options->max_instructions};
  const bool regions = bsm_program_region_count(engine->plan->program) > 0;
  if (regions || bsm_linked_region_planner) {
    BSM_TRY(bsm_shape_plans_create(&context->execution, &limits,
                                   options->max_plans, &context->shapes));
  }
  if (regions) {
    BSM_TRY(
        bsm_whole_region_find(engine->plan, &context->arena, &context->whole));
  }
  return bsm_program_runner_create(&context->execution, context->runners + 1,
                                   context->shapes, &limits, &context->arena,
                                   &context->program);
}

static bsm_status make_tables(bsm_context *context) {
  const bsm_plan *plan = context->engine->plan;
  const size_t inputs = plan->input_count + (size_t)1;
  const size_t outputs = plan->output_count + (size_t)1;
  context->inputs_staged = BSM_NEW_ARRAY(&context->arena, bsm_staged, inputs);
  context->outputs_staged = BSM_NEW_ARRAY(&context->arena, bsm_staged, outputs);
  context->kept = BSM_NEW_ARRAY(&context->arena, bsm_staged, outputs);
  context->outputs = BSM_NEW_ARRAY(&context->arena, bsm_array, outputs);
  context->tight = BSM_NEW_ARRAY(&context->arena, bsm_array, inputs);
  return context->tight && context->inputs_staged && context->outputs_staged &&
                 context->kept && context->outputs
             ? BSM_OK
             : BSM_FAIL_OOM();
}

static bsm_status init_context(bsm_context *context,
                               const bsm_context_options *options) {
  const bsm_execution_options running = {
      .allocator = context->allocator,
      .logger = options->logger,
      .pool = options->pool,
      .threads = options->threads,
      .isa = resolve_isa(options->isa),
      .profile = options->profile,
      .workspace = options->workspace,
      .workspace_size = options->workspace_size,
      .stream = options->stream,
      .no_graphs = options->no_graphs,
      .keep_tensors = options->keep_tensors,
      .trace = options->trace,
      .trace_user = options->trace_user};
  bsm_memory_need need = {{0}, {0}};
  BSM_TRY(bsm_execution_open(context->engine, &running, &context->execution));
  report_target(context, options->logger);
  BSM_TRY(prepare_parts(context->engine, &context->execution, &context->arena,
                        &context->runners, &need));
  BSM_TRY(make_tables(context));
  context->output_allocate = options->output_allocate;
  context->output_user = options->output_user;
  if (context->engine->plan->program) BSM_TRY(init_program(context, options));
  BSM_TRY(bsm_execution_reserve(&context->execution, &need));
  return bsm_execution_wait(&context->execution);
}

bsm_status bsm_context_create(const bsm_engine *engine,
                              const bsm_context_options *given,
                              bsm_context **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(engine);
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  BSM_TRY(bsm_options_copy(&options, sizeof(options), given,
                           "bsm_context_options"));
  const bsm_allocator *allocator =
      options.allocator ? options.allocator : engine->allocator;
  bsm_context *context = bsm_allocate(allocator, sizeof(*context), 64);
  BSM_TRY_ALLOC(context);
  memset(context, 0, sizeof(*context));
  context->engine = engine;
  bsm_engine_hold(engine);
  context->allocator = allocator;
  bsm_arena_init(&context->arena, allocator);
  bsm_arena_init(&context->result_arena, allocator);
  context->logger = options.logger;
  bsm_status status = init_context(context, &options);
  if (status) {
    bsm_context_destroy(context);
    return status;
  }
  *out = context;
  return BSM_OK;
}

bsm_status bsm_context_seed(bsm_context *context, uint64_t seed) {
  BSM_NEED(context);
  if (context->program) bsm_program_runner_seed(context->program, seed);
  return BSM_OK;
}

static void release_staged(bsm_context *context, bsm_staged *staged,
                           uint32_t count) {
  for (uint32_t i = 0; staged && i < count; i++) {
    bsm_staged_release(&staged[i], &context->execution);
  }
}

void bsm_context_destroy(bsm_context *context) {
  if (!context) return;
  const bsm_plan *plan = context->engine->plan;
  bsm_program_runner_destroy(context->program);
  bsm_shape_plans_destroy(context->shapes);
  destroy_parts(context->engine, context->runners);
  release_staged(context, context->inputs_staged, plan->input_count);
  release_staged(context, context->outputs_staged, plan->output_count);
  release_staged(context, context->kept, plan->output_count);
  bsm_execution_close(&context->execution);
  bsm_arena_destroy(&context->result_arena);
  bsm_arena_destroy(&context->arena);
  bsm_engine *engine = (bsm_engine *)(uintptr_t)context->engine;
  bsm_deallocate(context->allocator, context);
  bsm_engine_destroy(engine);
}

/* Bytes of weights; parts share some. */
static bsm_status count_weights(const bsm_plan *plan, bsm_arena *scratch,
                                uint64_t *out) {
  bsm_ptrmap counted = {0};
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *part = bsm_plan_part(plan, k);
    for (uint32_t i = 0; i < part->weights_count; i++) {
      bsm_plan_weights *w = &part->weights[i];
      if (!w->size || bsm_ptrmap_get(&counted, w->data)) continue;
      *out += w->size;
      BSM_TRY_ALLOC(bsm_ptrmap_set(scratch, &counted, w->data, w));
    }
  }
  return BSM_OK;
}

/* What the plans say, where there is no device to prepare steps for. */
static void add_workspaces(const bsm_plan *plan, bsm_memory_need *need) {
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
      const uint64_t bytes = bsm_plan_part(plan, k)->workspace_size[i];
      if (bytes > need->workspace[i]) need->workspace[i] = bytes;
    }
  }
}

/* Prepares all parts for a while. */
static bsm_status measure(const bsm_engine *engine, int threads,
                          bsm_arena *arena, bsm_memory_need *need) {
  const bsm_execution_options options = {.allocator = engine->allocator,
                                         .threads = threads,
                                         .isa = BSM_ISA_DETECT};
  bsm_execution execution;
  bsm_plan_runner *runners = NULL;
  bsm_status status = bsm_execution_open(engine, &options, &execution);
  if (!status) {
    status = prepare_parts(engine, &execution, arena, &runners, need);
  }
  destroy_parts(engine, runners);
  bsm_execution_close(&execution);
  return status;
}

bsm_status bsm_engine_memory(const bsm_engine *engine, int threads,
                             bsm_engine_memory_info *out) {
  BSM_NEED(engine);
  BSM_NEED(out);
  bsm_engine_memory_info info = {0};
  const bsm_memory_space space = bsm_engine_space(engine);
  bsm_memory_need need = {{0}, {0}};
  bsm_arena arena;
  bsm_arena_init(&arena, engine->allocator);
  bsm_status status = count_weights(engine->plan, &arena, &info.weights);
  if (!status && !engine->devices[space]) {
    add_workspaces(engine->plan, &need);
  } else if (!status) {
    status = measure(engine, threads, &arena, &need);
  }
  if (!status && engine->weights) {
    info.device_weights = bsm_device_weights_bytes(engine->weights);
  }
  bsm_arena_destroy(&arena);
  BSM_TRY(status);
  info.workspace = need.workspace[space];
  info.scratch = need.scratch[space];
  if (space != BSM_SPACE_HOST) {
    info.host_workspace = need.workspace[BSM_SPACE_HOST];
    info.host_scratch = need.scratch[BSM_SPACE_HOST];
  }
  return BSM_OUT(bsm_engine_memory_info, out, info);
}

size_t bsm_context_profile_count(const bsm_context *context) {
  if (!context || !context->runners[0].times) return 0;
  return bsm_plan_total_steps(context->engine->plan) +
         (context->shapes ? bsm_shape_plans_step_count(context->shapes) : 0);
}

bsm_status bsm_context_profile(const bsm_context *context, size_t index,
                               bsm_step_profile *out) {
  BSM_NEED(context);
  if (index >= bsm_context_profile_count(context)) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "no profile of step %zu", index);
  }
  bsm_step_profile profile;
  const size_t stored = bsm_plan_total_steps(context->engine->plan);
  if (index >= stored) {
    bsm_shape_plans_profile(context->shapes, index - stored, &profile);
    return BSM_OUT(bsm_step_profile, out, profile);
  }
  uint32_t part, step;
  (void)bsm_plan_find_step(context->engine->plan, (uint32_t)index, &part,
                           &step);
  bsm_plan_runner_profile(&context->runners[part], step, &profile);
  return BSM_OUT(bsm_step_profile, out, profile);
}
