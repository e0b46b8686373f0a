/* SPDX-License-Identifier: Apache-2.0 */
/* Running contexts: the caller's arrays are bound to a plan or given to the
 * program, and outputs are brought to the caller's memory. */
#include "base/options.h"
#include "base/thread_pool.h"
#include "runtime/context/check_arrays.h"
#include "runtime/context/context_internal.h"

/* ---- memory of outputs ---- */

/* The most bytes that output i takes in any variant of the engine. */
static size_t largest_output(const bsm_context *context, uint32_t i) {
  const bsm_program *p = context->engine->plan->program;
  uint64_t most = 0, bytes;
  for (uint32_t k = 0; p && k < p->variant_count; k++) {
    const bsm_plan *plan = p->segments[p->variants[k]];
    if (bsm_plan_tensor_extent(&plan->tensors[plan->outputs[i].tensor],
                               &bytes) &&
        bytes > most) {
      most = bytes;
    }
  }
  return (size_t)most;
}

/* Memory of the context for an output. It is made for the largest shapes at
 * once, so that it need not grow. */
static bsm_status own_memory(bsm_context *context, uint32_t i,
                             bsm_array *array) {
  bsm_staged *kept = &context->kept[i];
  size_t bytes = bsm_array_bytes(array);
  if (!kept->memory[BSM_SPACE_HOST] || bytes > kept->size[BSM_SPACE_HOST]) {
    const size_t largest = largest_output(context, i);
    if (bytes < largest) bytes = largest;
  }
  return bsm_staged_reserve(kept, &context->execution, BSM_SPACE_HOST, bytes,
                            &array->data);
}

/* Asks the caller for memory for an output of these dims. */
static bsm_status ask_memory(const bsm_context *context, size_t i,
                             const char *name, bsm_array *array) {
  const size_t bytes = bsm_array_bytes(array);
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
static bsm_status hand_over(bsm_context *context, size_t i, const char *name,
                            bsm_array *array) {
  if (!context->output_allocate) return BSM_OK;
  const void *from = array->data;
  BSM_TRY(ask_memory(context, i, name, array));
  return bsm_execution_copy(&context->execution, array->data, array->space,
                            from, BSM_SPACE_HOST, bsm_array_bytes(array));
}

/* The memory space of a plan's output. */
static bsm_memory_space output_space(const bsm_plan *plan, uint32_t i) {
  return plan->tensors[plan->outputs[i].tensor].space;
}

/* Binds output i of a plan to the caller's array, or to memory from which it is
 * copied there. */
static bsm_status bind_output(bsm_context *context, bsm_plan_runner *runner,
                              uint32_t i, const bsm_array *array) {
  return bsm_stage_output(&context->outputs_staged[i], &context->execution,
                          array, output_space(runner->plan, i),
                          &runner->outputs[i]);
}

/* Gives the outputs of a plan memory of the context, or the caller's. */
static bsm_status keep_outputs(bsm_context *context, bsm_plan_runner *runner) {
  const bsm_plan *plan = runner->plan;
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->outputs[i].tensor];
    bsm_array *array = &context->outputs[i];
    *array = (bsm_array){NULL, t->dtype, t->dims, NULL};
    const char *name = context->engine->plan->outputs[i].name;
    BSM_TRY(context->output_allocate ? ask_memory(context, i, name, array)
                                     : own_memory(context, i, array));
    BSM_TRY(bind_output(context, runner, i, array));
  }
  return BSM_OK;
}

/* Keeps the results of a program. */
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

/* ---- runs ---- */

/* A failure between copies of the caller's arrays waits for those before it. */
static bsm_status settle(bsm_context *context, bsm_status status) {
  return status ? bsm_execution_fail(&context->execution, status) : BSM_OK;
}

/* Copies a result of the program to the caller's array. */
static bsm_status copy_output(bsm_context *context, uint32_t i,
                              const bsm_array *to) {
  bsm_array from;
  BSM_TRY(bsm_program_runner_output(context->program, i, &from));
  bsm_plan_tensor exact = {.dtype = from.dtype, .dims = from.dims};
  bsm_contiguous_strides(from.dims, exact.strides);
  const bsm_plan_binding *binding = &context->engine->plan->outputs[i];
  BSM_TRY(bsm_check_array("output", i, binding, &exact, to));
  BSM_TRY(bsm_staging_check(context->engine, "output", i, binding->name, to,
                            &context->outputs_staged[i]));
  if (to->space == BSM_SPACE_HOST && !bsm_array_is_loose(context->engine, to)) {
    return bsm_execution_copy(&context->execution, to->data, BSM_SPACE_HOST,
                              from.data, BSM_SPACE_HOST,
                              bsm_array_bytes(&from));
  }
  return bsm_unstage_output(&context->outputs_staged[i], &context->execution,
                            from.data, BSM_SPACE_HOST, to);
}

/* Binds the caller's arrays to the inputs of a plan. */
static bsm_status stage_inputs(bsm_context *context, const bsm_array *inputs,
                               const bsm_context_choice *choice) {
  const bsm_plan *plan = choice->runner->plan;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const uint32_t k = choice->params ? choice->params[i] : i;
    BSM_TRY(bsm_stage_input(&context->inputs_staged[k], &context->execution,
                            &inputs[k],
                            plan->tensors[plan->inputs[i].tensor].space,
                            &choice->runner->inputs[i]));
  }
  return BSM_OK;
}

/* What a program has as inputs: loose arrays are copied. */
static bsm_status tighten_inputs(bsm_context *context,
                                 const bsm_array **inputs) {
  const uint32_t count = context->engine->plan->input_count;
  bool loose = false;
  for (uint32_t i = 0; i < count; i++) {
    loose = loose || bsm_array_is_loose(context->engine, &(*inputs)[i]);
  }
  if (!loose) return BSM_OK;
  for (uint32_t i = 0; i < count; i++) {
    bsm_array *tight = &context->tight[i];
    *tight = (*inputs)[i];
    tight->strides = NULL;
    BSM_TRY(bsm_stage_tight(&context->inputs_staged[i], &context->execution,
                            &(*inputs)[i], &tight->data));
  }
  *inputs = context->tight;
  return BSM_OK;
}

/* Checks the inputs and finds what runs them: *runner is NULL for the program,
 * whose inputs *given are then. */
static bsm_status bind_inputs(bsm_context *context, const bsm_array **given,
                              size_t count, bsm_plan_runner **runner) {
  const bsm_array *inputs = *given;
  const bsm_plan *plan = context->engine->plan;
  bsm_context_choice choice;
  context->has_outputs = false;
  bsm_kept_clear(&context->execution.kept);
  context->result = (bsm_run_result){0};
  bsm_arena_destroy(&context->result_arena);
  BSM_TRY(bsm_check_count("input", count, plan->input_count));
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const bsm_plan_binding *binding = &plan->inputs[i];
    BSM_TRY(bsm_check_array("input", i, binding,
                            &plan->tensors[binding->tensor], &inputs[i]));
    BSM_TRY(bsm_staging_check(context->engine, "input", i, binding->name,
                              &inputs[i], &context->inputs_staged[i]));
    BSM_TRY(bsm_check_range(plan, i, &inputs[i].dims));
  }
  BSM_TRY(bsm_context_choose(context, inputs, &choice));
  *runner = choice.runner;
  return settle(context, choice.runner ? stage_inputs(context, inputs, &choice)
                                       : tighten_inputs(context, given));
}

/* Binds the caller's arrays to the outputs of a plan. */
static bsm_status bind_outputs(bsm_context *context, bsm_plan_runner *runner,
                               const bsm_array *outputs) {
  const bsm_plan *plan = runner->plan;
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const bsm_plan_binding *binding = &context->engine->plan->outputs[i];
    BSM_TRY(bsm_check_array("output", i, binding,
                            &plan->tensors[plan->outputs[i].tensor],
                            &outputs[i]));
    BSM_TRY(bsm_staging_check(context->engine, "output", i, binding->name,
                              &outputs[i], &context->outputs_staged[i]));
    BSM_TRY(bind_output(context, runner, i, &outputs[i]));
  }
  return BSM_OK;
}

/* Enqueues a plan, and what brings its outputs to `outputs`. */
static bsm_status enqueue_plan(bsm_context *context, bsm_plan_runner *runner,
                               const bsm_array *outputs) {
  bsm_status status = bsm_plan_runner_enqueue(runner);
  for (uint32_t i = 0; !status && i < runner->plan->output_count; i++) {
    status = bsm_unstage_output(&context->outputs_staged[i],
                                &context->execution, runner->outputs[i],
                                output_space(runner->plan, i), &outputs[i]);
  }
  return settle(context, status);
}

/* Enqueues the plan of `runner`, or runs the program when it is NULL. The
 * workers of the pool stay awake meanwhile. */
static bsm_status run_parts(bsm_context *context, bsm_plan_runner *runner,
                            const bsm_array *inputs, const bsm_array *outputs) {
  bsm_thread_pool *pool = context->execution.env.pool;
  bsm_thread_pool_begin(pool);
  bsm_status status = runner ? enqueue_plan(context, runner, outputs)
                             : bsm_program_runner_run(context->program, inputs);
  bsm_thread_pool_end(pool);
  return status;
}

/* Runs the program; its results last until the next run, so the copies of them
 * are waited for. */
static bsm_status run_program(bsm_context *context, const bsm_array *inputs,
                              const bsm_array *outputs) {
  BSM_TRY(run_parts(context, NULL, inputs, NULL));
  bsm_status status = BSM_OK;
  for (uint32_t i = 0; !status && i < context->engine->plan->output_count;
       i++) {
    status = copy_output(context, i, &outputs[i]);
  }
  return status ? settle(context, status)
                : bsm_execution_wait(&context->execution);
}

bsm_status bsm_context_enqueue(bsm_context *context, const bsm_array *inputs,
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
  BSM_TRY(bsm_check_count("output", output_count, plan->output_count));
  BSM_TRY(bsm_execution_look(&context->execution));
  BSM_TRY(bind_inputs(context, &inputs, input_count, &runner));
  if (!runner) return run_program(context, inputs, outputs);
  BSM_TRY(settle(context, bind_outputs(context, runner, outputs)));
  BSM_TRY(settle(context, bsm_check_apart(plan, inputs, outputs)));
  return run_parts(context, runner, inputs, outputs);
}

bsm_status bsm_context_synchronize(bsm_context *context) {
  BSM_NEED(context);
  return bsm_execution_wait(&context->execution);
}

bsm_status bsm_context_run(bsm_context *context, const bsm_array *inputs,
                           size_t input_count, const bsm_array *outputs,
                           size_t output_count) {
  BSM_TRY(
      bsm_context_enqueue(context, inputs, input_count, outputs, output_count));
  return bsm_context_synchronize(context);
}

bsm_status bsm_context_run_keep(bsm_context *context, const bsm_array *inputs,
                                size_t input_count) {
  BSM_NEED(context);
  BSM_NEED_ARRAY(inputs, input_count);
  bsm_plan_runner *runner;
  BSM_TRY(bind_inputs(context, &inputs, input_count, &runner));
  if (runner) {
    BSM_TRY(settle(context, keep_outputs(context, runner)));
    BSM_TRY(run_parts(context, runner, inputs, context->outputs));
  } else {
    BSM_TRY(run_parts(context, NULL, inputs, NULL));
    BSM_TRY(settle(context, keep_results(context)));
  }
  BSM_TRY(bsm_execution_wait(&context->execution));
  context->has_outputs = true;
  return BSM_OK;
}

/* Whether the number of outputs is known only after a run. */
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
  const bsm_binding binding = {.name = name,
                               .dtype = array.dtype,
                               .dims = array.dims,
                               .space = array.space};
  return BSM_OUT(bsm_binding, out, binding);
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
