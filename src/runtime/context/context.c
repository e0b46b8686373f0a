/* SPDX-License-Identifier: Apache-2.0 */
/* Execution contexts: everything that running needs is made here once;
 * bsm_context_run only binds addresses and calls kernels. */
#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"
#include "base/isa.h"
#include "base/options.h"
#include "base/thread_pool.h"
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

/* Prepares every part; *scratch and *workspace are the largest needs of one:
 * no two parts run at a time, and nothing stays in the workspace. */
static bsm_status prepare_parts(const bsm_engine *engine,
                                const bsm_runner_options *options,
                                bsm_arena *arena, bsm_plan_runner **out,
                                size_t *scratch, uint64_t *workspace) {
  const uint32_t count = count_parts(engine->plan);
  bsm_plan_runner *runners = BSM_NEW_ARRAY(arena, bsm_plan_runner, count);
  BSM_TRY_ALLOC(runners);
  *scratch = 0;
  *workspace = 0;
  for (uint32_t i = 0; i < count; i++) {
    const bsm_plan *part = bsm_plan_part(engine->plan, i);
    size_t need;
    BSM_TRY(
        bsm_plan_runner_init(engine, part, options, arena, &need, &runners[i]));
    if (need > *scratch) *scratch = need;
    if (part->workspace_size[BSM_SPACE_HOST] > *workspace)
      *workspace = part->workspace_size[BSM_SPACE_HOST];
  }
  *out = runners;
  return BSM_OK;
}

/* Says once when the engine was built for instructions this CPU lacks. */
static void report_isa(const bsm_engine *engine, uint32_t isa,
                       const bsm_logger *logger) {
  const char *built = bsm_engine_metadata(engine, "builder.isa");
  uint32_t wanted = 0;
  if (built && bsm_isa_parse(built, &wanted) && (wanted & ~isa)) {
    bsm_log(logger, BSM_LOG_LEVEL_WARNING,
            "the engine was built for %s and runs with %s: kernels were "
            "chosen again; compile on this machine for the best speed",
            built, bsm_isa_name(isa));
  }
}

static bsm_status init_program(bsm_context *context,
                               const bsm_runner_options *running,
                               size_t max_plans) {
  const bsm_engine *engine = context->engine;
  if (bsm_program_region_count(engine->plan->program)) {
    BSM_TRY(bsm_shape_plans_create(engine, running, context->allocator,
                                   max_plans, &context->shapes));
    BSM_TRY(
        bsm_whole_region_find(engine->plan, &context->arena, &context->whole));
  }
  return bsm_program_runner_create(engine, context->runners + 1,
                                   context->shapes, running, &context->arena,
                                   &context->program);
}

static bsm_status init_context(bsm_context *context,
                               const bsm_context_options *options) {
  bsm_thread_pool *pool = options->pool;
  if (context->engine->aten) {
    /* A first piece stays, so that calls with small results find memory. */
    BSM_TRY_ALLOC(bsm_arena_alloc(&context->step_arena, 1, 1));
  }
  if (!pool) {
    BSM_TRY(bsm_thread_pool_create(options->threads, context->allocator,
                                   &context->own_pool));
    pool = context->own_pool;
  }
  context->pool = pool;
  const bsm_stream_options streaming = {.allocator = context->allocator,
                                        .logger = options->logger,
                                        .pool = pool,
                                        .isa = resolve_isa(options->isa),
                                        .profile = options->profile};
  bsm_device *device = context->engine->device;
  BSM_TRY(device->ops->stream_create(device, &streaming, &context->stream));
  const bsm_runner_options running = {
      .stream = context->stream,
      .isa = streaming.isa,
      .pool = pool,
      .profile = options->profile,
      .logger = options->logger,
      .step_arena = &context->step_arena,
      .workspace = &context->workspace,
      .max_run_bytes = options->max_run_bytes < SIZE_MAX
                           ? (size_t)options->max_run_bytes
                           : SIZE_MAX,
      .max_instructions = options->max_instructions};
  size_t scratch;
  uint64_t workspace;
  bsm_workspace_init(&context->workspace, context->allocator,
                     options->workspace, options->workspace_size);
  report_isa(context->engine, streaming.isa, options->logger);
  BSM_TRY(prepare_parts(context->engine, &running, &context->arena,
                        &context->runners, &scratch, &workspace));
  context->kept =
      BSM_NEW_ARRAY(&context->arena, bsm_kept_output,
                    context->engine->plan->output_count + (size_t)1);
  context->outputs =
      BSM_NEW_ARRAY(&context->arena, bsm_array,
                    context->engine->plan->output_count + (size_t)1);
  if (!context->kept || !context->outputs) return BSM_FAIL_OOM();
  context->output_allocate = options->output_allocate;
  context->output_user = options->output_user;
  if (context->engine->plan->program) {
    BSM_TRY(init_program(context, &running, options->max_plans));
  }
  return bsm_workspace_reserve(&context->workspace, workspace, scratch);
}

static bsm_context_options resolve(const bsm_context_options *given) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_options_copy(&options, sizeof(options), given);
  return options;
}

bsm_status bsm_context_create(const bsm_engine *engine,
                              const bsm_context_options *given,
                              bsm_context **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(engine);
  const bsm_context_options options = resolve(given);
  const bsm_allocator *allocator =
      options.allocator ? options.allocator : engine->allocator;
  bsm_context *context = bsm_allocate(allocator, sizeof(*context), 64);
  BSM_TRY_ALLOC(context);
  memset(context, 0, sizeof(*context));
  context->engine = engine;
  context->allocator = allocator;
  bsm_arena_init(&context->arena, allocator);
  bsm_arena_init(&context->step_arena, allocator);
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

void bsm_context_destroy(bsm_context *context) {
  if (!context) return;
  bsm_program_runner_destroy(context->program);
  bsm_shape_plans_destroy(context->shapes);
  for (uint32_t i = 0; context->kept && i < context->engine->plan->output_count;
       i++) {
    bsm_deallocate(context->allocator, context->kept[i].data);
  }
  bsm_workspace_destroy(&context->workspace);
  context->engine->device->ops->stream_destroy(context->stream);
  bsm_thread_pool_destroy(context->own_pool);
  bsm_arena_destroy(&context->step_arena);
  bsm_arena_destroy(&context->result_arena);
  bsm_arena_destroy(&context->arena);
  bsm_deallocate(context->allocator, context);
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

bsm_status bsm_engine_memory(const bsm_engine *engine, int threads,
                             bsm_engine_memory_info *out) {
  BSM_NEED(engine);
  BSM_NEED(out);
  *out = (bsm_engine_memory_info){0};
  bsm_thread_pool *pool;
  BSM_TRY(bsm_thread_pool_create(threads, engine->allocator, &pool));
  bsm_arena arena;
  bsm_arena_init(&arena, engine->allocator);
  bsm_plan_runner *runners;
  size_t scratch = 0;
  bsm_stream *stream = NULL;
  const bsm_stream_options streaming = {
      .allocator = engine->allocator, .pool = pool, .isa = BSM_ISA_DETECT};
  const bsm_device_ops *ops = engine->device->ops;
  bsm_status status = ops->stream_create(engine->device, &streaming, &stream);
  const bsm_runner_options options = {.stream = stream, .pool = pool};
  if (!status) status = count_weights(engine->plan, &arena, &out->weights);
  if (!status) {
    status = prepare_parts(engine, &options, &arena, &runners, &scratch,
                           &out->workspace);
  }
  bsm_arena_destroy(&arena);
  ops->stream_destroy(stream);
  bsm_thread_pool_destroy(pool);
  out->scratch = scratch;
  return status;
}

size_t bsm_context_profile_count(const bsm_context *context) {
  if (!context->runners[0].times) return 0;
  return bsm_plan_total_steps(context->engine->plan) +
         (context->shapes ? bsm_shape_plans_step_count(context->shapes) : 0);
}

bsm_status bsm_context_profile(const bsm_context *context, size_t index,
                               bsm_step_profile *out) {
  BSM_NEED(context);
  if (index >= bsm_context_profile_count(context)) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "no profile of step %zu", index);
  }
  const size_t stored = bsm_plan_total_steps(context->engine->plan);
  if (index >= stored) {
    bsm_shape_plans_profile(context->shapes, index - stored, out);
    return BSM_OK;
  }
  uint32_t part, step;
  (void)bsm_plan_find_step(context->engine->plan, (uint32_t)index, &part,
                           &step);
  bsm_plan_runner_profile(&context->runners[part], step, out);
  return BSM_OK;
}
