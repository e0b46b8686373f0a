/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the plan that runs the inputs, in a run and before one, for shapes that
 * the caller gives. */
#include <inttypes.h>

#include "base/options.h"
#include "runtime/context/check_arrays.h"
#include "runtime/context/context_internal.h"

/* The runner of the plan for exactly these shapes, or NULL. */
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

/* The same when the whole program is one region: the plan is made if need be.
 */
static bsm_status find_shape_plan(bsm_context *context, const bsm_array *inputs,
                                  bsm_context_choice *out) {
  const bsm_whole_region *whole = &context->whole;
  bsm_shape_plan *found;
  if (!whole->region || bsm_plan_value_count(context->engine->plan)) {
    return BSM_OK;
  }
  BSM_TRY(bsm_shape_plans_find(context->shapes, whole->region,
                               bsm_whole_region_inputs(whole, inputs), &found));
  if (!found || !bsm_whole_region_fits(whole, &found->planned)) return BSM_OK;
  out->runner = &found->runner;
  out->params = whole->params;
  return BSM_OK;
}

bsm_status bsm_context_choose(bsm_context *context, const bsm_array *inputs,
                              bsm_context_choice *out) {
  *out = (bsm_context_choice){0};
  out->runner =
      context->program ? find_variant(context, inputs) : &context->runners[0];
  return out->runner ? BSM_OK : find_shape_plan(context, inputs, out);
}

/* ---- ahead of a run ---- */

/* The dims that were set; before any are, the best shapes of the engine. */
static bsm_status shapes_of(bsm_context *context, bsm_array **out) {
  const bsm_engine *engine = context->engine;
  const uint32_t count = engine->plan->input_count;
  *out = context->shapes_set;
  if (*out) return BSM_OK;
  bsm_array *shapes = BSM_NEW_ARRAY(&context->arena, bsm_array, count + 1u);
  BSM_TRY_ALLOC(shapes);
  for (uint32_t i = 0; i < count; i++) {
    const bsm_plan *plan = engine->plan;
    shapes[i].dtype = plan->tensors[plan->inputs[i].tensor].dtype;
    BSM_TRY(bsm_engine_input_range(engine, i, NULL, &shapes[i].dims, NULL));
  }
  *out = context->shapes_set = shapes;
  return BSM_OK;
}

static bsm_status check_index(const char *what, size_t index, uint32_t count) {
  return index < count
             ? BSM_OK
             : BSM_FAIL(BSM_OUT_OF_RANGE, "%s %zu of an engine with %" PRIu32,
                        what, index, count);
}

bsm_status bsm_context_set_input_shape(bsm_context *context, size_t index,
                                       const bsm_dims *dims) {
  BSM_NEED(context);
  BSM_NEED(dims);
  const bsm_plan *plan = context->engine->plan;
  bsm_array *shapes;
  static const _Alignas(BSM_ALIGNMENT) uint8_t none; /* for its address */
  BSM_TRY(check_index("input", index, plan->input_count));
  BSM_TRY(shapes_of(context, &shapes));
  const bsm_plan_binding *binding = &plan->inputs[index];
  const bsm_array array = {(void *)(uintptr_t)&none, shapes[index].dtype, *dims,
                           NULL};
  BSM_TRY(bsm_check_array("input", index, binding,
                          &plan->tensors[binding->tensor], &array));
  BSM_TRY(bsm_check_range(plan, (uint32_t)index, dims));
  shapes[index].dims = *dims;
  return BSM_OK;
}

bsm_status bsm_context_input_shape(bsm_context *context, size_t index,
                                   bsm_dims *out) {
  BSM_NEED(context);
  BSM_NEED(out);
  bsm_array *shapes;
  BSM_TRY(check_index("input", index, context->engine->plan->input_count));
  BSM_TRY(shapes_of(context, &shapes));
  *out = shapes[index].dims;
  return BSM_OK;
}

bsm_status bsm_context_prepare(bsm_context *context) {
  BSM_NEED(context);
  bsm_array *shapes;
  bsm_context_choice choice;
  BSM_TRY(shapes_of(context, &shapes));
  return bsm_context_choose(context, shapes, &choice);
}

bsm_status bsm_context_output_shape(bsm_context *context, size_t index,
                                    bsm_dims *out) {
  BSM_NEED(context);
  BSM_NEED(out);
  const bsm_plan *plan = context->engine->plan;
  bsm_array *shapes;
  bsm_context_choice choice;
  BSM_TRY(check_index("output", index, plan->output_count));
  BSM_TRY(shapes_of(context, &shapes));
  BSM_TRY(bsm_context_choose(context, shapes, &choice));
  if (choice.runner) plan = choice.runner->plan;
  *out = plan->tensors[plan->outputs[index].tensor].dims;
  return BSM_OK;
}
