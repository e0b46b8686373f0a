/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: names of kinds, extents of tensors, the text dump. */
#include "engine/plan.h"

#include <stddef.h>

#include <inttypes.h>

#include "base/checked.h"
#include "engine/ivalue_bytes.h"
#include "engine/program.h"

const char *bsm_step_kind_name(bsm_step_kind kind) {
  switch (kind) {
#define X(name, number, text, member) \
  case BSM_STEP_##name:               \
    return text;
    BSM_STEP_KINDS(X)
#undef X
  }
  return NULL;
}

size_t bsm_step_params_size(bsm_step_kind kind) {
  static const bsm_step_params *const none = NULL;
  switch (kind) {
#define X(name, number, text, member) \
  case BSM_STEP_##name:               \
    return sizeof(none->member);
    BSM_STEP_KINDS(X)
#undef X
  }
  return 0;
}

size_t bsm_step_params_used(bsm_step_kind kind, const bsm_step_params *params) {
  if (kind != BSM_STEP_ELEMENT_WISE) return bsm_step_params_size(kind);
  const bsm_step_element_wise *p = &params->element_wise;
  return offsetof(bsm_step_element_wise, program) +
         (size_t)p->instruction_count * sizeof(p->program[0]);
}

bool bsm_step_kind_is_of_devices(bsm_step_kind kind) {
  switch (kind) {
#define X(name, number, text, member) case BSM_STEP_##name:
    BSM_BACKEND_STEP_KINDS(X)
#undef X
    return true;
    default:
      return false;
  }
}

bool bsm_plan_tensor_extent(const bsm_plan_tensor *tensor, uint64_t *out) {
  const size_t item = bsm_dtype_size(tensor->dtype);
  int64_t last = 0;
  bool empty = false;
  for (int32_t i = 0; i < tensor->dims.rank; i++) {
    if (tensor->dims.d[i] < 0 || tensor->strides[i] < 0) return false;
    empty = empty || tensor->dims.d[i] == 0;
  }
  if (empty) {
    *out = 0;
    return true;
  }
  for (int32_t i = 0; i < tensor->dims.rank; i++) {
    const int64_t size = tensor->dims.d[i];
    int64_t reach;
    if (!bsm_i64_mul(size - 1, tensor->strides[i], &reach) ||
        !bsm_i64_add(last, reach, &last)) {
      return false;
    }
  }
  int64_t bytes;
  if (!bsm_i64_add(last, 1, &last) ||
      !bsm_i64_mul(last, (int64_t)item, &bytes)) {
    return false;
  }
  *out = (uint64_t)bytes;
  return true;
}

bool bsm_plan_tensors_meet(const bsm_plan_tensor *a, const bsm_plan_tensor *b) {
  uint64_t a_size = 0, b_size = 0;
  return a->place == b->place && a->index == b->index &&
         (!bsm_plan_tensor_extent(a, &a_size) ||
          !bsm_plan_tensor_extent(b, &b_size) ||
          (a->offset < b->offset + b_size && b->offset < a->offset + a_size));
}

static const char *place_name(bsm_memory_place place) {
  switch (place) {
    case BSM_PLACE_INPUT:
      return "input";
    case BSM_PLACE_OUTPUT:
      return "output";
    case BSM_PLACE_WORKSPACE:
      return "workspace";
    case BSM_PLACE_WEIGHTS:
      return "weights";
  }
  return "?";
}

static void print_tensor(bsm_text *text, const bsm_plan *plan, uint32_t id) {
  const bsm_plan_tensor *t = &plan->tensors[id];
  bsm_text_printf(text, "  t%" PRIu32 ": %s%s strides [", id,
                  bsm_dtype_name(t->dtype), bsm_dims_str(t->dims));
  for (int32_t i = 0; i < t->dims.rank; i++) {
    bsm_text_printf(text, "%s%" PRId64, i ? ", " : "", t->strides[i]);
  }
  bsm_text_printf(text, "] %s%s", t->space ? "device " : "",
                  place_name(t->place));
  if (t->place == BSM_PLACE_INPUT || t->place == BSM_PLACE_OUTPUT) {
    bsm_text_printf(text, " %" PRIu32, t->index);
  }
  bsm_text_printf(text, " +%" PRIu64, t->offset);
  if (t->name[0]) bsm_text_printf(text, "  # %s", t->name);
  bsm_text_puts(text, "\n");
}

static void print_ids(bsm_text *text, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    bsm_text_printf(text, "%st%" PRIu32, i ? ", " : "", ids[i]);
  }
}

static void print_call(bsm_text *text, const bsm_plan_step *step) {
  const bsm_step_aten_call *call = &step->params->aten_call;
  bsm_text_printf(text, " %s(", call->op);
  bsm_ivalue_bytes_print(text,
                         (bsm_str){(const char *)call->args, call->args_size},
                         step->inputs, step->input_count);
  bsm_text_puts(text, ")");
}

static void print_step(bsm_text *text, const bsm_plan *plan, uint32_t index) {
  const bsm_plan_step *step = &plan->steps[index];
  bsm_text_printf(text, "  s%" PRIu32 ": ", index);
  print_ids(text, step->outputs, step->output_count);
  const char *kind = bsm_step_kind_name(step->kind);
  bsm_text_printf(text, " = %s(", kind ? kind : "?");
  print_ids(text, step->inputs, step->input_count);
  bsm_text_puts(text, ")");
  if (step->precision) {
    bsm_text_printf(text, " in %s", bsm_precision_name(step->precision));
  }
  if (step->space == BSM_SPACE_DEVICE) bsm_text_puts(text, " on the device");
  if (step->kind == BSM_STEP_ATEN_CALL) print_call(text, step);
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    if (step->weights[i] != BSM_NO_WEIGHTS) {
      bsm_text_printf(text, " w%" PRIu32 " (%" PRIu64 " bytes)",
                      step->weights[i], plan->weights[step->weights[i]].size);
    }
  }
  if (step->tactic[0]) bsm_text_printf(text, " tactic %s", step->tactic);
  if (step->name[0]) bsm_text_printf(text, "  # %s", step->name);
  bsm_text_puts(text, "\n");
}

const bsm_plan *bsm_plan_part(const bsm_plan *plan, uint32_t index) {
  const bsm_program *p = plan->program;
  if (index == 0) return plan;
  return p && index - 1 < p->segment_count ? p->segments[index - 1] : NULL;
}

uint32_t bsm_plan_value_count(const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  return p ? p->blocks[0].result_count - plan->output_count : 0;
}

uint32_t bsm_plan_total_steps(const bsm_plan *plan) {
  uint32_t count = 0;
  for (uint32_t i = 0; bsm_plan_part(plan, i); i++) {
    count += bsm_plan_part(plan, i)->step_count;
  }
  return count;
}

const bsm_plan *bsm_plan_find_step(const bsm_plan *plan, uint32_t index,
                                   uint32_t *part, uint32_t *step) {
  for (*part = 0; bsm_plan_part(plan, *part); ++*part) {
    const bsm_plan *p = bsm_plan_part(plan, *part);
    *step = index;
    if (index < p->step_count) return p;
    index -= p->step_count;
  }
  return NULL;
}

static void print_program(bsm_text *text, const bsm_plan *plan) {
  bsm_program_print(text, plan);
  for (uint32_t i = 0; i < plan->program->segment_count; i++) {
    const bsm_plan *segment = plan->program->segments[i];
    bsm_text_printf(text, "segment %" PRIu32 ": ", i);
    if (!segment->program) bsm_plan_print(text, segment);
  }
}

void bsm_plan_print(bsm_text *text, const bsm_plan *plan) {
  uint64_t weights = 0;
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    weights += plan->weights[i].size;
  }
  bsm_text_printf(text,
                  "plan: %" PRIu32 " steps, %" PRIu32 " tensors, %" PRIu64
                  " bytes of weights, %" PRIu64 " bytes of workspace\n",
                  plan->step_count, plan->tensor_count, weights,
                  plan->workspace_size[BSM_SPACE_HOST]);
  if (plan->target) bsm_text_printf(text, "  target: %s\n", plan->target);
  if (plan->workspace_size[BSM_SPACE_DEVICE]) {
    bsm_text_printf(text, "  %" PRIu64 " bytes of workspace on the device\n",
                    plan->workspace_size[BSM_SPACE_DEVICE]);
  }
  for (uint32_t i = 0; i < plan->metadata_count; i++) {
    bsm_text_printf(text, "  %s: %s\n", plan->metadata[i].key,
                    plan->metadata[i].value);
  }
  bsm_text_puts(text, "inputs:\n");
  for (uint32_t i = 0; i < plan->input_count; i++) {
    bsm_text_printf(text, "  %s = t%" PRIu32 "\n", plan->inputs[i].name,
                    plan->inputs[i].tensor);
  }
  bsm_text_puts(text, "outputs:\n");
  for (uint32_t i = 0; i < plan->output_count; i++) {
    bsm_text_printf(text, "  %s = t%" PRIu32 "\n", plan->outputs[i].name,
                    plan->outputs[i].tensor);
  }
  bsm_text_puts(text, "tensors:\n");
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    print_tensor(text, plan, i);
  }
  bsm_text_puts(text, "steps:\n");
  for (uint32_t i = 0; i < plan->step_count; i++) print_step(text, plan, i);
  if (plan->program) print_program(text, plan);
}
