/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runtime/placed_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/program.h"

/* Every tensor is there twice: tensor i of the plan is 2 i on the host and
 * 2 i + 1 on the device. A binding is in one space; its twin has a place behind
 * the workspace of the other. */
typedef struct placer {
  const bsm_plan *from;
  bsm_plan *to;
  bsm_arena *arena;
  bool (*choose)(void *user);
  void *user;
  bool *inputs_up, *outputs_up;       /* whether a binding is on the device */
  uint64_t *input_twin, *output_twin; /* offsets */
} placer;

static uint32_t id_of(uint32_t tensor, bsm_memory_space space) {
  return 2 * tensor + (space == BSM_SPACE_DEVICE);
}

static uint64_t new_place(placer *p, const bsm_plan_binding *binding, bool up) {
  uint64_t bytes;
  uint64_t *size =
      &p->to->workspace_size[up ? BSM_SPACE_HOST : BSM_SPACE_DEVICE];
  assert_true(
      bsm_plan_tensor_extent(&p->from->tensors[binding->tensor], &bytes));
  const uint64_t at = (*size + 63) / 64 * 64;
  *size = at + bytes;
  return at;
}

static void place_bindings(placer *p) {
  const bsm_plan *plan = p->from;
  p->inputs_up = BSM_NEW_ARRAY(p->arena, bool, plan->input_count + 1u);
  p->outputs_up = BSM_NEW_ARRAY(p->arena, bool, plan->output_count + 1u);
  p->input_twin = BSM_NEW_ARRAY(p->arena, uint64_t, plan->input_count + 1u);
  p->output_twin = BSM_NEW_ARRAY(p->arena, uint64_t, plan->output_count + 1u);
  p->to->inputs =
      BSM_NEW_ARRAY(p->arena, bsm_plan_binding, plan->input_count + 1u);
  p->to->outputs =
      BSM_NEW_ARRAY(p->arena, bsm_plan_binding, plan->output_count + 1u);
  for (uint32_t i = 0; i < plan->input_count; i++) {
    p->inputs_up[i] = p->choose(p->user);
    p->input_twin[i] = new_place(p, &plan->inputs[i], p->inputs_up[i]);
    p->to->inputs[i] = plan->inputs[i];
    p->to->inputs[i].tensor =
        2 * plan->inputs[i].tensor + (p->inputs_up[i] ? 1 : 0);
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    p->outputs_up[i] = p->choose(p->user);
    p->output_twin[i] = new_place(p, &plan->outputs[i], p->outputs_up[i]);
    p->to->outputs[i] = plan->outputs[i];
    p->to->outputs[i].tensor =
        2 * plan->outputs[i].tensor + (p->outputs_up[i] ? 1 : 0);
  }
}

static bsm_plan_tensor twin(const placer *p, uint32_t tensor,
                            bsm_memory_space space) {
  bsm_plan_tensor t = p->from->tensors[tensor];
  const bool input = t.place == BSM_PLACE_INPUT;
  t.space = space;
  if (t.place == BSM_PLACE_WEIGHTS) {
    t.index = 2 * t.index + (space == BSM_SPACE_DEVICE);
    return t;
  }
  if (t.place == BSM_PLACE_WORKSPACE) return t;
  const bool up = (input ? p->inputs_up : p->outputs_up)[t.index];
  if (up == (space == BSM_SPACE_DEVICE)) return t;
  t.offset += (input ? p->input_twin : p->output_twin)[t.index];
  t.place = BSM_PLACE_WORKSPACE;
  t.index = 0;
  return t;
}

static void place_tensors(placer *p) {
  const bsm_plan *plan = p->from;
  p->to->tensor_count = 2 * plan->tensor_count;
  p->to->tensors = BSM_NEW_ARRAY(p->arena, bsm_plan_tensor,
                                 2 * (size_t)plan->tensor_count + 1);
  p->to->weights_count = 2 * plan->weights_count;
  p->to->weights = BSM_NEW_ARRAY(p->arena, bsm_plan_weights,
                                 2 * (size_t)plan->weights_count + 1);
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    p->to->tensors[2 * i] = twin(p, i, BSM_SPACE_HOST);
    p->to->tensors[2 * i + 1] = twin(p, i, BSM_SPACE_DEVICE);
  }
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    p->to->weights[2 * i] = p->to->weights[2 * i + 1] = plan->weights[i];
    p->to->weights[2 * i + 1].space = BSM_SPACE_DEVICE;
  }
}

/* Copies a tensor from `space` to the other. */
static void transfer(placer *p, uint32_t tensor, bsm_memory_space space) {
  static const bsm_step_params none;
  const bsm_memory_space other =
      space == BSM_SPACE_HOST ? BSM_SPACE_DEVICE : BSM_SPACE_HOST;
  uint32_t *ids = BSM_NEW_ARRAY(p->arena, uint32_t, 2);
  ids[0] = id_of(tensor, space);
  ids[1] = id_of(tensor, other);
  p->to->steps[p->to->step_count++] =
      (bsm_plan_step){.kind = BSM_STEP_TRANSFER,
                      .space = other,
                      .name = "to the other side",
                      .tactic = "",
                      .input_count = 1,
                      .output_count = 1,
                      .inputs = &ids[0],
                      .outputs = &ids[1],
                      .weights = BSM_STEP_NO_WEIGHTS,
                      .params = &none};
}

static void place_step(placer *p, const bsm_plan_step *step) {
  const bool up = bsm_step_kind_is_of_devices(step->kind) && p->choose(p->user);
  bsm_plan_step s = *step;
  s.space = up ? BSM_SPACE_DEVICE : BSM_SPACE_HOST;
  s.inputs = BSM_NEW_ARRAY(p->arena, uint32_t, s.input_count + 1u);
  s.outputs = BSM_NEW_ARRAY(p->arena, uint32_t, s.output_count + 1u);
  for (uint32_t i = 0; i < s.input_count; i++) {
    s.inputs[i] = id_of(step->inputs[i], s.space);
  }
  for (uint32_t i = 0; i < s.output_count; i++) {
    s.outputs[i] = id_of(step->outputs[i], s.space);
  }
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    if (s.weights[i] != BSM_NO_WEIGHTS) s.weights[i] = 2 * s.weights[i] + up;
  }
  p->to->steps[p->to->step_count++] = s;
  for (uint32_t i = 0; i < s.output_count; i++) {
    transfer(p, step->outputs[i], s.space);
  }
}

/* The program stays; its segments are placed. */
static bsm_plan *placed_program(const bsm_plan *plan,
                                bool (*choose)(void *user), void *user,
                                bsm_arena *arena) {
  bsm_plan *out = BSM_NEW(arena, bsm_plan);
  bsm_program *program = BSM_NEW(arena, bsm_program);
  *out = *plan;
  *program = *plan->program;
  out->target = "lazy:test";
  out->program = program;
  program->segments =
      BSM_NEW_ARRAY(arena, bsm_plan *, program->segment_count + 1u);
  for (uint32_t i = 0; i < program->segment_count; i++) {
    program->segments[i] =
        placed_plan(plan->program->segments[i], choose, user, arena);
  }
  return out;
}

bsm_plan *placed_plan(const bsm_plan *plan, bool (*choose)(void *user),
                      void *user, bsm_arena *arena) {
  if (plan->program) return placed_program(plan, choose, user, arena);
  bsm_plan *out = BSM_NEW(arena, bsm_plan);
  placer p = {plan, out, arena, choose, user, NULL, NULL, NULL, NULL};
  size_t room = plan->input_count + 1u;
  *out = *plan;
  out->target = "lazy:test";
  out->workspace_size[BSM_SPACE_DEVICE] = plan->workspace_size[BSM_SPACE_HOST];
  place_bindings(&p);
  place_tensors(&p);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    room += 1u + plan->steps[i].output_count;
  }
  out->steps = BSM_NEW_ARRAY(arena, bsm_plan_step, room);
  out->step_count = 0;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    transfer(&p, plan->inputs[i].tensor,
             p.inputs_up[i] ? BSM_SPACE_DEVICE : BSM_SPACE_HOST);
  }
  for (uint32_t i = 0; i < plan->step_count; i++) {
    place_step(&p, &plan->steps[i]);
  }
  return out;
}
