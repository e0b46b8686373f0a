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
#include "runtime/plan_runner.h"
#include "runtime/program_runner.h"
#include "runtime/run_result.h"
#include "runtime/shape_plans.h"
#include "runtime/whole_region.h"

/* Memory of the context for an output; grows. */
typedef struct kept_output {
  void *data;
  size_t size;
} kept_output;

struct bsm_context {
  const bsm_engine *engine;
  const bsm_allocator *allocator;
  const bsm_logger *logger;
  bsm_thread_pool *own_pool; /* to destroy; NULL when the caller's is used */
  bsm_arena arena;
  bsm_arena step_arena; /* of what an op allocates, emptied after each step */
  bsm_plan_runner *runners;    /* one for each part of the plan */
  bsm_program_runner *program; /* NULL: the plan's own steps are run */
  bsm_shape_plans *shapes;     /* NULL: the program has no regions */
  bsm_whole_region whole;
  kept_output *kept;     /* of bsm_context_run_keep, by output */
  bsm_array *outputs;    /* of the last bsm_context_run_keep */
  bool has_outputs;      /* false: there are none */
  bsm_run_result result; /* of that run, around them; as far as it was needed */
  bsm_arena result_arena;
  bsm_output_allocate output_allocate;
  void *output_user;
  bsm_workspace workspace;
};

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
    if (part->workspace_size > *workspace) *workspace = part->workspace_size;
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
                               const bsm_runner_options *running) {
  const bsm_engine *engine = context->engine;
  if (bsm_program_has_regions(engine->plan->program)) {
    BSM_TRY(bsm_shape_plans_create(engine, running, context->allocator, 0,
                                   &context->shapes));
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
  const bsm_runner_options running = {
      .isa = resolve_isa(options->isa),
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
  report_isa(context->engine, running.isa, options->logger);
  BSM_TRY(prepare_parts(context->engine, &running, &context->arena,
                        &context->runners, &scratch, &workspace));
  context->kept =
      BSM_NEW_ARRAY(&context->arena, kept_output,
                    context->engine->plan->output_count + (size_t)1);
  context->outputs =
      BSM_NEW_ARRAY(&context->arena, bsm_array,
                    context->engine->plan->output_count + (size_t)1);
  if (!context->kept || !context->outputs) return BSM_FAIL_OOM();
  context->output_allocate = options->output_allocate;
  context->output_user = options->output_user;
  if (context->engine->plan->program) {
    BSM_TRY(init_program(context, &running));
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
  const bsm_runner_options options = {.isa = bsm_isa_detect(), .pool = pool};
  bsm_status status = count_weights(engine->plan, &arena, &out->weights);
  if (!status) {
    status = prepare_parts(engine, &options, &arena, &runners, &scratch,
                           &out->workspace);
  }
  bsm_arena_destroy(&arena);
  bsm_thread_pool_destroy(pool);
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
    same = t->dims.d[i] < 0 ? array->dims.d[i] >= 0
                            : array->dims.d[i] == t->dims.d[i];
    empty = empty || array->dims.d[i] == 0;
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
  int64_t strides[BSM_MAX_RANK];
  bsm_contiguous_strides(array->dims, strides);
  if (array->strides && !empty) {
    for (int32_t i = 0; i < t->dims.rank; i++) {
      if (array->dims.d[i] > 1 && array->strides[i] != strides[i]) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "%s %zu (%s) is not contiguous: stride %" PRId64
                        " of dimension %" PRId32 " must be %" PRId64,
                        what, index, binding->name, array->strides[i], i,
                        strides[i]);
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

static bsm_status check_count(const char *what, size_t given, uint32_t wanted) {
  return given == wanted
             ? BSM_OK
             : BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "%zu %ss were given, the engine has %" PRIu32, given,
                        what, wanted);
}

/* Of arrays whose dims have been checked. */
static size_t array_bytes(const bsm_array *array) {
  size_t n = bsm_dtype_size(array->dtype);
  for (int32_t i = 0; i < array->dims.rank; i++) n *= (size_t)array->dims.d[i];
  return n;
}

/* Memory of the context for an output. */
static bsm_status own_memory(bsm_context *context, uint32_t i,
                             bsm_array *array) {
  kept_output *kept = &context->kept[i];
  const size_t bytes = array_bytes(array);
  if (!kept->data || bytes > kept->size) {
    bsm_deallocate(context->allocator, kept->data);
    kept->data =
        bsm_allocate(context->allocator, bytes ? bytes : 1, BSM_ALIGNMENT);
    kept->size = kept->data ? bytes : 0;
    BSM_TRY_ALLOC(kept->data);
  }
  array->data = kept->data;
  return BSM_OK;
}

/* The caller's memory for an output of these dims. */
static bsm_status ask_memory(const bsm_context *context, size_t i,
                             const char *name, bsm_array *array) {
  const size_t bytes = array_bytes(array);
  array->data = context->output_allocate(context->output_user, i, name,
                                         array->dtype, &array->dims, bytes);
  if (!array->data && bytes) {
    return BSM_FAIL(BSM_OUT_OF_MEMORY,
                    "no memory was given for output %zu (%s) of %zu bytes", i,
                    name, bytes);
  }
  if ((uintptr_t)array->data % bsm_dtype_size(array->dtype) != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the memory given for output %zu (%s) is misaligned", i,
                    name);
  }
  return BSM_OK;
}

/* Copies an output to the caller's memory, if that is wanted. */
static bsm_status hand_over(const bsm_context *context, size_t i,
                            const char *name, bsm_array *array) {
  if (!context->output_allocate) return BSM_OK;
  const void *from = array->data;
  BSM_TRY(ask_memory(context, i, name, array));
  const size_t bytes = array_bytes(array);
  if (bytes) memcpy(array->data, from, bytes);
  return BSM_OK;
}

/* Gives the outputs of a plan memory. */
static bsm_status keep_outputs(bsm_context *context, bsm_plan_runner *runner) {
  const bsm_plan *plan = runner->plan;
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->outputs[i].tensor];
    bsm_array *array = &context->outputs[i];
    *array = (bsm_array){NULL, t->dtype, t->dims, NULL};
    const char *name = context->engine->plan->outputs[i].name;
    BSM_TRY(context->output_allocate ? ask_memory(context, i, name, array)
                                     : own_memory(context, i, array));
    runner->outputs[i] = array->data;
  }
  return BSM_OK;
}

/* The results of a program. */
static bsm_status keep_results(bsm_context *context) {
  const bsm_plan *plan = context->engine->plan;
  bsm_run_result *result = &context->result;
  for (uint32_t i = 0; i < plan->output_count; i++) {
    BSM_TRY(
        bsm_program_runner_output(context->program, i, &context->outputs[i]));
  }
  if (bsm_plan_value_count(plan)) {
    BSM_TRY(
        bsm_program_runner_result(context->program, context->outputs, result));
    for (size_t i = 0; i < result->output_count; i++) {
      BSM_TRY(hand_over(context, i, result->names[i], &result->outputs[i]));
    }
    return BSM_OK;
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    BSM_TRY(hand_over(context, i, plan->outputs[i].name, &context->outputs[i]));
  }
  return BSM_OK;
}

/* That the shapes of inputs whose dims are open are in their ranges. */
static bsm_status check_ranges(const bsm_plan *plan, const bsm_array *inputs) {
  const bsm_program *p = plan->program;
  for (uint32_t k = 0; p && k < p->range_count; k++) {
    const bsm_program_range *r = &p->ranges[k];
    for (int32_t i = 0; i < r->min.rank; i++) {
      const int64_t size = inputs[r->input].dims.d[i];
      if (size < r->min.d[i] || size > r->max.d[i]) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "input %" PRIu32 " (%s) has size %" PRId64
                        " in dimension %" PRId32
                        ", the engine was built for %" PRId64 " to %" PRId64,
                        r->input, plan->inputs[r->input].name, size, i,
                        r->min.d[i], r->max.d[i]);
      }
    }
  }
  return BSM_OK;
}

static bsm_status bind(const bsm_plan *plan, const char *what,
                       const bsm_plan_binding *bindings, uint32_t wanted,
                       const bsm_array *arrays, size_t count, void **out) {
  BSM_TRY(check_count(what, count, wanted));
  for (uint32_t i = 0; i < wanted; i++) {
    BSM_TRY(check_array(what, i, &bindings[i],
                        &plan->tensors[bindings[i].tensor], &arrays[i]));
    out[i] = arrays[i].data;
  }
  return BSM_OK;
}

/* The runner of the plan for just these shapes, or NULL. */
static bsm_plan_runner *find_variant(const bsm_context *context,
                                     const bsm_array *inputs) {
  const bsm_program *p = context->engine->plan->program;
  for (uint32_t i = 0; i < p->variant_count; i++) {
    bsm_plan_runner *runner = &context->runners[1 + p->variants[i]];
    const bsm_plan *plan = runner->plan;
    bool same = true;
    for (uint32_t k = 0; same && k < plan->input_count; k++) {
      same = bsm_dims_equal(plan->tensors[plan->inputs[k].tensor].dims,
                            inputs[k].dims);
    }
    if (same) return runner;
  }
  return NULL;
}

/* The same, made for these shapes when the whole program is one region. */
static bsm_status find_shape_plan(bsm_context *context, const bsm_array *inputs,
                                  bsm_plan_runner **runner) {
  const bsm_whole_region *whole = &context->whole;
  bsm_shape_plan *found;
  if (!whole->region || bsm_plan_value_count(context->engine->plan)) {
    return BSM_OK;
  }
  BSM_TRY(bsm_shape_plans_find(context->shapes, whole->region,
                               bsm_whole_region_inputs(whole, inputs), &found));
  if (!found || !bsm_whole_region_fits(whole, &found->planned)) return BSM_OK;
  for (uint32_t i = 0; i < whole->region->input_count; i++) {
    found->runner.inputs[i] = inputs[whole->params[i]].data;
  }
  *runner = &found->runner;
  return BSM_OK;
}

/* Copies a result of the program to the caller's array. */
static bsm_status copy_output(bsm_context *context, uint32_t i,
                              const bsm_array *to) {
  bsm_array from;
  BSM_TRY(bsm_program_runner_output(context->program, i, &from));
  bsm_plan_tensor exact = {.dtype = from.dtype, .dims = from.dims};
  bsm_contiguous_strides(from.dims, exact.strides);
  BSM_TRY(
      check_array("output", i, &context->engine->plan->outputs[i], &exact, to));
  const size_t bytes = array_bytes(&from);
  if (bytes) memcpy(to->data, from.data, bytes);
  return BSM_OK;
}

/* Binds the inputs to what runs them: *runner is NULL for the program. */
static bsm_status bind_inputs(bsm_context *context, const bsm_array *inputs,
                              size_t count, bsm_plan_runner **runner) {
  const bsm_plan *plan = context->engine->plan;
  bsm_plan_runner *whole = &context->runners[0];
  context->has_outputs = false;
  context->result = (bsm_run_result){0};
  bsm_arena_destroy(&context->result_arena);
  BSM_TRY(bind(plan, "input", plan->inputs, plan->input_count, inputs, count,
               whole->inputs));
  BSM_TRY(check_ranges(plan, inputs));
  if (!context->program) {
    *runner = whole;
    return BSM_OK;
  }
  *runner = find_variant(context, inputs);
  if (!*runner) return find_shape_plan(context, inputs, runner);
  if (plan->input_count) {
    memcpy((*runner)->inputs, whole->inputs,
           plan->input_count * sizeof(*whole->inputs));
  }
  return BSM_OK;
}

bsm_status bsm_context_run(bsm_context *context, const bsm_array *inputs,
                           size_t input_count, const bsm_array *outputs,
                           size_t output_count) {
  BSM_NEED(context);
  BSM_NEED_ARRAY(inputs, input_count);
  BSM_NEED_ARRAY(outputs, output_count);
  const bsm_plan *plan = context->engine->plan;
  bsm_plan_runner *runner;
  if (bsm_plan_value_count(plan)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "only a run tells how many outputs this engine has: use "
                    "bsm_context_run_keep and bsm_context_output_structure");
  }
  BSM_TRY(bind_inputs(context, inputs, input_count, &runner));
  if (runner) {
    BSM_TRY(bind(runner->plan, "output", runner->plan->outputs,
                 plan->output_count, outputs, output_count, runner->outputs));
    return bsm_plan_runner_run(runner);
  }
  BSM_TRY(check_count("output", output_count, plan->output_count));
  BSM_TRY(bsm_program_runner_run(context->program, inputs));
  for (uint32_t i = 0; i < plan->output_count; i++) {
    BSM_TRY(copy_output(context, i, &outputs[i]));
  }
  return BSM_OK;
}

bsm_status bsm_context_run_keep(bsm_context *context, const bsm_array *inputs,
                                size_t input_count) {
  BSM_NEED(context);
  BSM_NEED_ARRAY(inputs, input_count);
  bsm_plan_runner *runner;
  BSM_TRY(bind_inputs(context, inputs, input_count, &runner));
  if (runner) {
    BSM_TRY(keep_outputs(context, runner));
    BSM_TRY(bsm_plan_runner_run(runner));
  } else {
    BSM_TRY(bsm_program_runner_run(context->program, inputs));
    BSM_TRY(keep_results(context));
  }
  context->has_outputs = true;
  return BSM_OK;
}

/* Whether only the run told how many outputs there are. */
static bool is_counted(const bsm_context *context) {
  return bsm_plan_value_count(context->engine->plan) > 0;
}

size_t bsm_context_output_count(const bsm_context *context) {
  if (!context || !context->has_outputs) return 0;
  return is_counted(context) ? context->result.output_count
                             : context->engine->plan->output_count;
}

static bsm_status need_outputs(const bsm_context *context) {
  return context->has_outputs
             ? BSM_OK
             : BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "there are no outputs to read: bsm_context_run_keep "
                        "has not run, or has failed");
}

bsm_status bsm_context_output(bsm_context *context, size_t index,
                              bsm_array *out) {
  BSM_NEED(context);
  BSM_NEED(out);
  const bool counted = is_counted(context);
  const size_t count = counted ? context->result.output_count
                               : context->engine->plan->output_count;
  if (!counted && index >= count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "output %zu of an engine with %zu", index,
                    count);
  }
  BSM_TRY(need_outputs(context));
  if (index >= count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "output %zu of a run that gave %zu",
                    index, count);
  }
  *out = counted ? context->result.outputs[index] : context->outputs[index];
  return BSM_OK;
}

bsm_status bsm_context_output_binding(bsm_context *context, size_t index,
                                      bsm_binding *out) {
  bsm_array array;
  BSM_NEED(out);
  BSM_TRY(bsm_context_output(context, index, &array));
  const char *name = is_counted(context)
                         ? context->result.names[index]
                         : context->engine->plan->outputs[index].name;
  *out = (bsm_binding){name, array.dtype, array.dims};
  return BSM_OK;
}

bsm_status bsm_context_output_structure(bsm_context *context,
                                        const bsm_structure **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(context);
  BSM_TRY(need_outputs(context));
  if (!context->result.structure) {
    bsm_status status =
        bsm_run_result_make(context->engine->plan, context->outputs, NULL,
                            &context->result_arena, &context->result);
    if (status) context->result = (bsm_run_result){0};
    BSM_TRY(status);
  }
  *out = context->result.structure;
  return BSM_OK;
}

size_t bsm_context_profile_count(const bsm_context *context) {
  return context->runners[0].times ? bsm_plan_total_steps(context->engine->plan)
                                   : 0;
}

bsm_status bsm_context_profile(const bsm_context *context, size_t index,
                               bsm_step_profile *out) {
  BSM_NEED(context);
  if (index >= bsm_context_profile_count(context)) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "no profile of step %zu", index);
  }
  uint32_t part, step;
  (void)bsm_plan_find_step(context->engine->plan, (uint32_t)index, &part,
                           &step);
  bsm_plan_runner_profile(&context->runners[part], step, out);
  return BSM_OK;
}
