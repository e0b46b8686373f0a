/* SPDX-License-Identifier: Apache-2.0 */
/* Segments and regions of programs: values are bound to the inputs of a plan,
 * and its outputs become values. */
#include <string.h>

#include "engine/plan_work.h"
#include "engine/region_planner.h"
#include "runtime/program/program_state.h"

/* ---- segments ---- */

static bsm_status segment_input(bsm_program_runner *r, const bsm_plan *plan,
                                uint32_t index, const bsm_ivalue *value,
                                void **out) {
  const bsm_plan_binding *binding = &plan->inputs[index];
  const bsm_plan_tensor *t = &plan->tensors[binding->tensor];
  if (value->tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_CORRUPT, "input %s is a %s", binding->name,
                    bsm_iv_tag_name(value->tag));
  }
  bsm_tensor *x = value->u.tensor;
  if (x->dtype != t->dtype || !bsm_dims_equal(x->sizes, t->dims)) {
    return BSM_FAIL(
        BSM_DATA_DEPENDENT, "%s is %s%s where the engine was built for %s%s",
        binding->name, bsm_dtype_name(x->dtype), bsm_dims_str(x->sizes),
        bsm_dtype_name(t->dtype), bsm_dims_str(t->dims));
  }
  if (t->space == BSM_SPACE_DEVICE) {
    return bsm_residency_to_device(&r->residency, bsm_program_heap(r), x, out);
  }
  if (r->has_device) {
    BSM_TRY(bsm_residency_fetch(&r->residency, bsm_program_heap(r), value, 1));
  }
  BSM_TRY(bsm_tensor_contiguous(bsm_program_heap(r), x, &x));
  *out = bsm_tensor_data(x);
  return BSM_OK;
}

/* A tensor for an output of a plan, in memory of the run. `layout`: where its
 * elements are, or NULL: it is row-major. */
static bsm_status new_output(bsm_program_runner *r, const bsm_plan_tensor *t,
                             const bsm_layout *layout, bsm_tensor **out,
                             void **address) {
  if (t->space == BSM_SPACE_DEVICE) {
    return bsm_residency_new(&r->residency, bsm_program_heap(r), t->dtype,
                             t->dims, out, address);
  }
  const bsm_dims dims = layout ? layout->dims : t->dims;
  BSM_TRY(bsm_tensor_new(bsm_program_heap(r), t->dtype, dims, false, out));
  if (layout) {
    memcpy((*out)->strides, layout->strides, sizeof(layout->strides));
  }
  *address = bsm_tensor_data(*out);
  return BSM_OK;
}

void bsm_program_begin_work(bsm_program_runner *r) {
  const double left = (double)r->walker.budget * BSM_WORK_OF_INSTRUCTION;
  if (r->counts_work) *r->work = (bsm_work_budget){.limit = left, .left = left};
}

bsm_status bsm_program_end_work(bsm_program_runner *r, bsm_status status) {
  if (!r->counts_work) return status;
  if (r->work->refused && bsm_status_code(status) == BSM_LIMIT) {
    bsm_status_free(status);
    return r->walker.policy->refuse(&r->walker);
  }
  const double done =
      (r->work->limit - r->work->left) / BSM_WORK_OF_INSTRUCTION;
  bsm_program_charge(r, done < 0x1p63 ? (uint64_t)done : UINT64_MAX);
  return status;
}

/* Runs the steps of a plan, and charges what they multiply and visit. */
static bsm_status enqueue(bsm_program_runner *r, bsm_plan_runner *runner) {
  const bsm_plan *plan = runner->plan;
  bsm_program_begin_work(r);
  for (uint32_t k = 0; k < plan->step_count && r->counts_work; k++) {
    const bsm_work step = bsm_step_work(plan, &plan->steps[k]);
    bsm_status status =
        bsm_work_budget_charge(r->work, (step.flops + step.bytes) / 2.0);
    if (status) return bsm_program_end_work(r, status);
  }
  return bsm_program_end_work(r, bsm_plan_runner_enqueue(runner));
}

/* Runs a plan whose inputs are set; the outputs get memory of the run. Outputs
 * on the host may come from a device, so they are waited for. `layouts`: of the
 * outputs, or NULL. */
static bsm_status run_plan(bsm_program_runner *r, bsm_plan_runner *runner,
                           const bsm_layout *layouts, bsm_ivalue *outputs) {
  const bsm_plan *plan = runner->plan;
  bool home = false;
  for (uint32_t k = 0; k < plan->output_count; k++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->outputs[k].tensor];
    bsm_tensor *y;
    BSM_TRY(new_output(r, t, layouts ? &layouts[k] : NULL, &y,
                       &runner->outputs[k]));
    outputs[k] = bsm_iv_tensor(y);
    home = home || t->space == BSM_SPACE_HOST;
  }
  BSM_TRY(enqueue(r, runner));
  r->residency.pending = r->has_device;
  return home ? bsm_residency_wait(&r->residency) : BSM_OK;
}

bsm_status bsm_program_run_segment(bsm_program_runner *r,
                                   const bsm_instruction *i,
                                   const bsm_ivalue *args) {
  bsm_plan_runner *segment = &r->segments[i->segment];
  const bsm_plan *plan = segment->plan;
  bsm_ivalue *outputs = BSM_NEW_ARRAY(bsm_program_heap(r), bsm_ivalue,
                                      plan->output_count + (size_t)1);
  BSM_TRY_ALLOC(outputs);
  for (uint32_t k = 0; k < plan->input_count; k++) {
    BSM_TRY(segment_input(r, plan, k, &args[k], &segment->inputs[k]));
  }
  BSM_TRY(run_plan(r, segment, NULL, outputs));
  bsm_program_set_registers(r, i->outputs, plan->output_count, outputs);
  return BSM_OK;
}

/* ---- regions ---- */

static bsm_status find_plan(bsm_program_runner *r, const bsm_instruction *i,
                            const bsm_ivalue *args, bsm_shape_plan **out) {
  const uint64_t before = bsm_shape_plans_cost(r->shapes);
  BSM_TRY(bsm_shape_plans_find(r->shapes, i, args, out));
  bsm_program_charge(r, bsm_shape_plans_cost(r->shapes) - before);
  return BSM_OK;
}

/* Binds the tensors of one input, a tensor or a list, to the plan's inputs from
 * number `at` on. `as_is`: the plan was made for their strides. */
static bsm_status bind_tensors(bsm_program_runner *r, bsm_plan_runner *runner,
                               const bsm_ivalue *value, bool as_is,
                               uint32_t *at) {
  if (value->tag == BSM_IVALUE_LIST) {
    for (size_t k = 0; k < value->u.list->len; k++) {
      BSM_TRY(bind_tensors(r, runner, &value->u.list->items[k], as_is, at));
    }
  }
  if (value->tag != BSM_IVALUE_TENSOR) return BSM_OK;
  const uint32_t index = (*at)++;
  if (as_is) {
    runner->inputs[index] = bsm_tensor_data(value->u.tensor);
    return BSM_OK;
  }
  return segment_input(r, runner->plan, index, value, &runner->inputs[index]);
}

bsm_status bsm_program_run_planned(bsm_program_runner *r,
                                   const bsm_instruction *i,
                                   const bsm_ivalue *args,
                                   bsm_shape_plan *found) {
  const bool *constant = bsm_shape_plans_constants(r->shapes);
  const bool as_is = i->kind == BSM_INSTRUCTION_CALL &&
                     bsm_shape_plans_read_strides(r->shapes);
  const bsm_region_plan *planned = &found->planned;
  const bsm_plan *plan = planned->plan;
  bsm_ivalue *outputs = BSM_NEW_ARRAY(bsm_program_heap(r), bsm_ivalue,
                                      plan->output_count + (size_t)1);
  BSM_TRY_ALLOC(outputs);
  for (uint32_t k = 0, at = 0; k < i->input_count; k++) {
    if (!bsm_region_binds(i, k, constant)) continue;
    BSM_TRY(bind_tensors(r, &found->runner, &args[k], as_is, &at));
  }
  BSM_TRY(run_plan(r, &found->runner, planned->layouts, outputs));
  for (uint32_t k = 0; k < i->output_count; k++) {
    r->walker.registers[i->outputs[k]] = planned->outputs[k] == BSM_NO_OUTPUT
                                             ? planned->values[k]
                                             : outputs[planned->outputs[k]];
  }
  return BSM_OK;
}

bsm_status bsm_program_run_region(bsm_program_runner *r,
                                  const bsm_instruction *i,
                                  const bsm_ivalue *args) {
  bsm_shape_plan *found = NULL;
  if (r->shapes) BSM_TRY(find_plan(r, i, args, &found));
  return found ? bsm_program_run_planned(r, i, args, found)
               : bsm_walk_inner(&r->walker, i, i->blocks[0]);
}
