/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one step. */
#include "runtime/program/one_step.h"

#include <string.h>

bsm_one_step *bsm_one_step_new(bsm_fast_calls *calls, bsm_arena *arena,
                               bsm_step_kind kind) {
  bsm_one_step *s = BSM_NEW(arena, bsm_one_step);
  if (!s) return NULL;
  s->calls = calls;
  s->arena = arena;
  s->step = (bsm_plan_step){.kind = kind,
                            .name = "",
                            .tactic = "",
                            .inputs = s->ids,
                            .outputs = &s->out_id,
                            .weights = BSM_STEP_NO_WEIGHTS,
                            .params = &s->params};
  s->plan = (bsm_plan){.tensors = s->tensors,
                       .steps = &s->step,
                       .step_count = 1,
                       .weights = s->weights,
                       .inputs = s->inputs,
                       .outputs = s->outputs};
  return s;
}

static bsm_plan_tensor tensor_of(const bsm_tensor *t, bsm_memory_place place,
                                 uint32_t index) {
  bsm_plan_tensor p = {.name = "",
                       .dtype = t->dtype,
                       .dims = t->sizes,
                       .place = place,
                       .index = index};
  memcpy(p.strides, t->strides, sizeof(p.strides));
  return p;
}

void bsm_one_step_input(bsm_one_step *s, const bsm_tensor *t) {
  const uint32_t i = s->plan.input_count++;
  s->tensors[s->plan.tensor_count] = tensor_of(t, BSM_PLACE_INPUT, i);
  s->inputs[i] = (bsm_plan_binding){"", s->plan.tensor_count};
  s->ids[i] = s->plan.tensor_count++;
  s->in_data[i] = bsm_tensor_data(t);
  s->step.input_count++;
}

void bsm_one_step_output(bsm_one_step *s, const bsm_tensor *t) {
  s->tensors[s->plan.tensor_count] = tensor_of(t, BSM_PLACE_OUTPUT, 0);
  s->outputs[0] = (bsm_plan_binding){"", s->plan.tensor_count};
  s->out_id = s->plan.tensor_count++;
  s->plan.output_count = 1;
  s->step.output_count = 1;
  s->out_data[0] = bsm_tensor_data(t);
}

void bsm_one_step_weights(bsm_one_step *s, int slot, const void *data,
                          uint64_t size) {
  s->weights[s->plan.weights_count] = (bsm_plan_weights){data, size};
  s->step.weights[slot] = s->plan.weights_count++;
}

bsm_status bsm_one_step_run(bsm_one_step *s, bool *done) {
  const bsm_fast_calls *c = s->calls;
  const bsm_device_ops *ops = c->stream->device->ops;
  bsm_status status = ops->check(&s->plan, &s->step);
  *done = !status;
  if (status) {
    bsm_status_free(status);
    return BSM_OK;
  }
  bsm_prepared_step prepared;
  BSM_TRY(
      ops->prepare(c->stream, &s->plan, &s->step, NULL, s->arena, &prepared));
  bsm_run run = {
      .stream = c->stream, .inputs = s->in_data, .outputs = s->out_data};
  run.scratch =
      bsm_arena_alloc(s->arena, prepared.scratch_size + 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(run.scratch);
  return prepared.enqueue(&prepared, &run);
}
