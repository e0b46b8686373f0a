/* SPDX-License-Identifier: Apache-2.0 */
/* Plan -> bytes. plan_reader.c reads the fields in the same order. */
#include <string.h>

#include "engine/byte_writer.h"
#include "engine/plan_bytes.h"

static void put_bindings(bsm_text *out, const bsm_plan_binding *bindings,
                         uint32_t count) {
  bsm_put_u32(out, count);
  for (uint32_t i = 0; i < count; i++) {
    bsm_put_string(out, bindings[i].name);
    bsm_put_u32(out, bindings[i].tensor);
  }
}

static void put_tensor(bsm_text *out, const bsm_plan_tensor *t) {
  bsm_put_string(out, t->name);
  bsm_put_u32(out, (uint32_t)t->dtype);
  bsm_put_u32(out, (uint32_t)t->dims.rank);
  for (int32_t i = 0; i < t->dims.rank; i++) {
    bsm_put_u64(out, (uint64_t)t->dims.d[i]);
    bsm_put_u64(out, (uint64_t)t->strides[i]);
  }
  bsm_put_u32(out, (uint32_t)t->place);
  bsm_put_u32(out, t->index);
  bsm_put_u64(out, t->offset);
  bsm_put_u32(out, (uint32_t)t->space); /* 8.1 */
}

static void put_aten_call(bsm_text *out, const bsm_step_aten_call *call) {
  bsm_put_string(out, call->op);
  bsm_put_u32(out, call->result_count);
  bsm_put(out, call->results, call->result_count * sizeof(call->results[0]));
  bsm_put_u32(out, call->args_size);
  bsm_put(out, call->args, call->args_size);
}

static void put_trials(bsm_text *out, const bsm_plan_step *step) {
  bsm_put_u32(out, step->trial_count);
  for (uint32_t i = 0; i < step->trial_count; i++) {
    bsm_put_string(out, step->trials[i].tactic);
    bsm_put_u64(out, step->trials[i].nanoseconds);
  }
}

static void put_step(bsm_text *out, const bsm_plan_step *step) {
  bsm_put_u32(out, (uint32_t)step->kind);
  bsm_put_string(out, step->name);
  bsm_put_string(out, step->tactic);
  bsm_put_u32(out, step->input_count);
  bsm_put(out, step->inputs, step->input_count * sizeof(uint32_t));
  bsm_put_u32(out, step->output_count);
  bsm_put(out, step->outputs, step->output_count * sizeof(uint32_t));
  bsm_put(out, step->weights, sizeof(step->weights));
  put_trials(out, step);
  bsm_put_u32(out, (uint32_t)step->space);     /* 8.1 */
  bsm_put_u32(out, (uint32_t)step->precision); /* 8.1 */
  if (step->kind == BSM_STEP_ATEN_CALL) {
    put_aten_call(out, &step->params->aten_call);
    return;
  }
  const size_t size = bsm_step_params_used(step->kind, step->params);
  bsm_put_u32(out, (uint32_t)size);
  bsm_put(out, step->params, size);
}

static bsm_status put_structure(bsm_text *out, const bsm_structure *root) {
  bsm_text bytes;
  bsm_text_init(&bytes, out->arena);
  if (root) BSM_TRY(bsm_structure_to_bytes(root, &bytes));
  if (bytes.len > UINT32_MAX) {
    return BSM_FAIL(BSM_LIMIT, "a structure takes %zu bytes", bytes.len);
  }
  bsm_put_u32(out, (uint32_t)bytes.len);
  bsm_put(out, bytes.data, bytes.len);
  return BSM_OK;
}

bsm_status bsm_plan_to_bytes(const bsm_plan *plan, const uint64_t *offsets,
                             bsm_arena *arena, bsm_str *out) {
  bsm_text text;
  bsm_text_init(&text, arena);
  bsm_put_u64(&text, plan->workspace_size[BSM_SPACE_HOST]);
  bsm_put_u64(&text, plan->workspace_size[BSM_SPACE_DEVICE]); /* 8.1 */
  bsm_put_string(&text, plan->target ? plan->target : "");    /* 8.1 */
  bsm_put_u32(&text, plan->code_count);                       /* 8.1 */
  for (uint32_t i = 0; i < plan->code_count; i++) {
    bsm_put_string(&text, plan->code[i].name);
    bsm_put_u32(&text, plan->code[i].weights);
  }
  bsm_put_u32(&text, plan->metadata_count);
  for (uint32_t i = 0; i < plan->metadata_count; i++) {
    bsm_put_string(&text, plan->metadata[i].key);
    bsm_put_string(&text, plan->metadata[i].value);
  }
  bsm_put_u32(&text, plan->weights_count);
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    bsm_put_u64(&text, offsets[i]);
    bsm_put_u64(&text, plan->weights[i].size);
    bsm_put_u32(&text, (uint32_t)plan->weights[i].space); /* 8.1 */
  }
  bsm_put_u32(&text, plan->tensor_count);
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    put_tensor(&text, &plan->tensors[i]);
  }
  put_bindings(&text, plan->inputs, plan->input_count);
  put_bindings(&text, plan->outputs, plan->output_count);
  bsm_put_u32(&text, plan->step_count);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    put_step(&text, &plan->steps[i]);
  }
  BSM_TRY(put_structure(&text, plan->input_structure));
  BSM_TRY(put_structure(&text, plan->output_structure));
  BSM_TRY(bsm_program_to_bytes(plan, offsets + plan->weights_count, &text));
  if (text.failed) return BSM_FAIL_OOM();
  *out = (bsm_str){text.data, text.len};
  return BSM_OK;
}
