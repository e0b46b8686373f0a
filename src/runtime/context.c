/* SPDX-License-Identifier: Apache-2.0 */
/* Execution contexts: everything that running needs is made here once;
 * bsm_context_run only binds addresses and calls kernels. */
#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/isa.h"
#include "base/options.h"
#include "base/thread_pool.h"
#include "runtime/aten_step.h"
#include "runtime/engine.h"
#include "runtime/plugin_step.h"

typedef struct step_times {
  double seconds;
  uint64_t runs;
} step_times;

struct bsm_context {
  const bsm_engine *engine;
  const bsm_allocator *allocator;
  const bsm_logger *logger;
  bsm_thread_pool *own_pool; /* to destroy; NULL when the caller's is used */
  bsm_arena arena;
  bsm_arena step_arena; /* of what an op allocates, emptied after each step */
  bsm_prepared_step *steps;
  step_times *times; /* NULL unless profiling */
  void **inputs, **outputs;
  void *own_workspace;
  bsm_run run;
};

static uint32_t resolve_isa(uint32_t wanted) {
  if (wanted & BSM_CONTEXT_ISA_SCALAR) return BSM_ISA_SCALAR;
  const uint32_t have = bsm_isa_detect();
  return wanted ? wanted & have : have;
}

static bsm_status prepare_step(const bsm_engine *engine,
                               const bsm_plan_step *step, uint32_t isa,
                               int threads, bsm_arena *arena,
                               bsm_prepared_step *out) {
  if (step->kind == BSM_STEP_PLUGIN) {
    return bsm_plugin_step_prepare(engine->plugins, engine->plan, step, arena,
                                   out);
  }
  if (step->kind != BSM_STEP_ATEN_CALL) {
    return engine->backend->prepare(engine->plan, step, isa, threads, arena,
                                    out);
  }
  bsm_aten_step *call;
  BSM_TRY(
      bsm_aten_step_prepare(engine->aten, engine->plan, step, arena, &call));
  *out = (bsm_prepared_step){.plan = engine->plan, .step = step, .impl = call};
  return BSM_OK;
}

/* Prepares every step; *scratch is the largest need of one. */
static bsm_status prepare_steps(const bsm_engine *engine, uint32_t isa,
                                int threads, bsm_arena *arena,
                                bsm_prepared_step *steps, size_t *scratch) {
  const bsm_plan *plan = engine->plan;
  *scratch = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    BSM_TRY_NOTE(
        prepare_step(engine, &plan->steps[i], isa, threads, arena, &steps[i]),
        "while preparing step %" PRIu32 ": %s", i, plan->steps[i].name);
    if (steps[i].scratch_size > *scratch) *scratch = steps[i].scratch_size;
  }
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

static bsm_status make_workspace(bsm_context *context,
                                 const bsm_context_options *options,
                                 size_t scratch) {
  size_t workspace, total;
  const uint64_t planned = context->engine->plan->workspace_size;
  if (planned > SIZE_MAX ||
      !bsm_size_align((size_t)planned, BSM_ALIGNMENT, &workspace) ||
      !bsm_size_add(workspace, scratch, &total)) {
    return BSM_FAIL(BSM_LIMIT, "the workspace of %" PRIu64 " bytes is too big",
                    planned);
  }
  uint8_t *memory = options->workspace;
  if (memory) {
    if (options->workspace_size < total ||
        (uintptr_t)memory % BSM_ALIGNMENT != 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "the given workspace has %zu bytes; %zu are needed, at a "
                      "multiple of %d",
                      options->workspace_size, total, BSM_ALIGNMENT);
    }
  } else {
    memory = bsm_allocate(context->allocator, total ? total : 1, BSM_ALIGNMENT);
    BSM_TRY_ALLOC(memory);
    /* A plan that reads what it never wrote sees zeros, not old memory. */
    memset(memory, 0, total);
    context->own_workspace = memory;
  }
  context->run.workspace = memory;
  context->run.scratch = memory + workspace;
  return BSM_OK;
}

static bsm_status init_context(bsm_context *context,
                               const bsm_context_options *options) {
  const bsm_plan *plan = context->engine->plan;
  bsm_thread_pool *pool = options->pool;
  if (!pool) {
    BSM_TRY(bsm_thread_pool_create(options->threads, context->allocator,
                                   &context->own_pool));
    pool = context->own_pool;
  }
  context->run.pool = pool;
  context->steps =
      BSM_NEW_ARRAY(&context->arena, bsm_prepared_step, plan->step_count + 1u);
  context->inputs =
      BSM_NEW_ARRAY(&context->arena, void *, plan->input_count + 1u);
  context->outputs =
      BSM_NEW_ARRAY(&context->arena, void *, plan->output_count + 1u);
  if (!context->steps || !context->inputs || !context->outputs) {
    return BSM_FAIL_OOM();
  }
  if (options->profile) {
    context->times =
        BSM_NEW_ARRAY(&context->arena, step_times, plan->step_count + 1u);
    BSM_TRY_ALLOC(context->times);
  }
  context->run.inputs = context->inputs;
  context->run.outputs = context->outputs;
  const uint32_t isa = resolve_isa(options->isa);
  report_isa(context->engine, isa, options->logger);
  size_t scratch;
  BSM_TRY(prepare_steps(context->engine, isa, bsm_thread_pool_size(pool),
                        &context->arena, context->steps, &scratch));
  return make_workspace(context, options, scratch);
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
  bsm_thread_pool_destroy(context->own_pool);
  bsm_deallocate(context->allocator, context->own_workspace);
  bsm_arena_destroy(&context->step_arena);
  bsm_arena_destroy(&context->arena);
  bsm_deallocate(context->allocator, context);
}

bsm_status bsm_engine_memory(const bsm_engine *engine, int threads,
                             bsm_engine_memory_info *out) {
  BSM_NEED(engine);
  *out = (bsm_engine_memory_info){0, engine->plan->workspace_size, 0};
  for (uint32_t i = 0; i < engine->plan->weights_count; i++) {
    out->weights += engine->plan->weights[i].size;
  }
  bsm_arena arena;
  bsm_arena_init(&arena, engine->allocator);
  size_t scratch = 0;
  bsm_prepared_step *steps =
      BSM_NEW_ARRAY(&arena, bsm_prepared_step, engine->plan->step_count + 1u);
  bsm_status status =
      steps ? prepare_steps(engine, bsm_isa_detect(),
                            threads > 0 ? threads : bsm_available_cpus(),
                            &arena, steps, &scratch)
            : BSM_FAIL_OOM();
  bsm_arena_destroy(&arena);
  out->scratch = scratch;
  return status;
}

/* Compares one of the caller's arrays with its binding. */
static bsm_status check_array(const char *what, size_t index,
                              const bsm_plan_binding *binding,
                              const bsm_plan_tensor *t,
                              const bsm_array *array) {
  if (array->dtype != t->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s %zu (%s) has dtype %s, not %s",
                    what, index, binding->name, bsm_dtype_name(array->dtype),
                    bsm_dtype_name(t->dtype));
  }
  bool same = array->dims.rank == t->dims.rank;
  bool empty = false;
  for (int32_t i = 0; same && i < t->dims.rank; i++) {
    same = array->dims.d[i] == t->dims.d[i];
    empty = empty || t->dims.d[i] == 0;
  }
  if (!same) {
    const bool printable =
        array->dims.rank >= 0 && array->dims.rank <= BSM_MAX_RANK;
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s %zu (%s) has shape %s, the engine was built for %s",
                    what, index, binding->name,
                    printable ? bsm_dims_str(array->dims) : "of a wrong rank",
                    bsm_dims_str(t->dims));
  }
  if (array->strides && !empty) {
    for (int32_t i = 0; i < t->dims.rank; i++) {
      if (t->dims.d[i] > 1 && array->strides[i] != t->strides[i]) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "%s %zu (%s) is not contiguous: stride %" PRId64
                        " of dimension %" PRId32 " must be %" PRId64,
                        what, index, binding->name, array->strides[i], i,
                        t->strides[i]);
      }
    }
  }
  if (!empty && !array->data) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s %zu (%s) has no data", what,
                    index, binding->name);
  }
  if ((uintptr_t)array->data % bsm_dtype_size(t->dtype) != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s %zu (%s) is misaligned", what,
                    index, binding->name);
  }
  return BSM_OK;
}

static bsm_status bind(const bsm_plan *plan, const char *what,
                       const bsm_plan_binding *bindings, uint32_t wanted,
                       const bsm_array *arrays, size_t count, void **out) {
  if (count != wanted) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%zu %ss were given, the engine has %" PRIu32, count, what,
                    wanted);
  }
  for (uint32_t i = 0; i < wanted; i++) {
    BSM_TRY(check_array(what, i, &bindings[i],
                        &plan->tensors[bindings[i].tensor], &arrays[i]));
    out[i] = arrays[i].data;
  }
  return BSM_OK;
}

static bsm_status dispatch_step(bsm_context *context, uint32_t i) {
  const bsm_prepared_step *prepared = &context->steps[i];
  if (prepared->step->kind == BSM_STEP_PLUGIN) {
    return bsm_plugin_step_run(prepared, &context->run);
  }
  if (prepared->step->kind != BSM_STEP_ATEN_CALL) {
    return context->engine->backend->run(prepared, &context->run);
  }
  const bsm_arena_mark mark = bsm_arena_get_mark(&context->step_arena);
  bsm_status status =
      bsm_aten_step_run((bsm_aten_step *)(uintptr_t)prepared->impl,
                        &context->run, &context->step_arena, context->logger);
  bsm_arena_rewind(&context->step_arena, mark);
  return status;
}

static bsm_status run_step(bsm_context *context, uint32_t i) {
  if (!context->times) return dispatch_step(context, i);
  const double start = bsm_clock_seconds();
  bsm_status status = dispatch_step(context, i);
  context->times[i].seconds += bsm_clock_seconds() - start;
  context->times[i].runs++;
  return status;
}

bsm_status bsm_context_run(bsm_context *context, const bsm_array *inputs,
                           size_t input_count, const bsm_array *outputs,
                           size_t output_count) {
  BSM_NEED(context);
  BSM_NEED_ARRAY(inputs, input_count);
  BSM_NEED_ARRAY(outputs, output_count);
  const bsm_plan *plan = context->engine->plan;
  BSM_TRY(bind(plan, "input", plan->inputs, plan->input_count, inputs,
               input_count, context->inputs));
  BSM_TRY(bind(plan, "output", plan->outputs, plan->output_count, outputs,
               output_count, context->outputs));
  for (uint32_t i = 0; i < plan->step_count; i++) {
    BSM_TRY_NOTE(run_step(context, i), "while running step %" PRIu32 ": %s", i,
                 plan->steps[i].name);
  }
  return BSM_OK;
}

size_t bsm_context_profile_count(const bsm_context *context) {
  return context->times ? context->engine->plan->step_count : 0;
}

bsm_status bsm_context_profile(const bsm_context *context, size_t index,
                               bsm_step_profile *out) {
  BSM_NEED(context);
  if (index >= bsm_context_profile_count(context)) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "no profile of step %zu", index);
  }
  const bsm_plan_step *step = &context->engine->plan->steps[index];
  *out = (bsm_step_profile){
      step->name, bsm_step_kind_name(step->kind),
      step->kind == BSM_STEP_ATEN_CALL
          ? step->params->aten_call.op
      : step->kind == BSM_STEP_PLUGIN
          ? bsm_plugin_step_describe(&context->steps[index])
          : context->engine->backend->describe(&context->steps[index]),
      context->times[index].seconds, context->times[index].runs};
  return BSM_OK;
}
