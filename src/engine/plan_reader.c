/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes -> plan. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "engine/byte_reader.h"
#include "engine/engine_file.h"
#include "engine/plan_bytes.h"

/* Reads a memory space. Files have it from 8.1 on; in older ones everything is
 * in the host's. */
static bsm_status get_space(bsm_byte_reader *r, bsm_memory_space *out,
                            const char *what) {
  uint32_t space = BSM_SPACE_HOST;
  if (r->minor >= 1) BSM_TRY(bsm_read_u32(r, &space, what));
  if (space >= BSM_MEMORY_SPACES) {
    return BSM_FAIL(BSM_CORRUPT, "%s: memory space %" PRIu32, what, space);
  }
  *out = (bsm_memory_space)space;
  return BSM_OK;
}

static bsm_status get_bindings(bsm_byte_reader *r, bsm_plan_binding **out,
                               uint32_t *count, const char *what) {
  BSM_TRY(bsm_read_count(r, count, 8, what));
  *out = BSM_NEW_ARRAY(r->arena, bsm_plan_binding, *count);
  BSM_TRY_ALLOC(*out);
  for (uint32_t i = 0; i < *count; i++) {
    BSM_TRY(bsm_read_string(r, &(*out)[i].name, what));
    BSM_TRY(bsm_read_u32(r, &(*out)[i].tensor, what));
  }
  return BSM_OK;
}

static bsm_status get_tensor(bsm_byte_reader *r, bsm_plan_tensor *t) {
  uint32_t dtype, rank, place;
  BSM_TRY(bsm_read_string(r, &t->name, "a tensor"));
  BSM_TRY(bsm_read_u32(r, &dtype, "a tensor"));
  BSM_TRY(bsm_read_u32(r, &rank, "a tensor"));
  const bool unknown = rank == UINT32_MAX;
  if ((rank > BSM_MAX_RANK && !unknown) || dtype > BSM_DTYPE_UNDEFINED) {
    return BSM_FAIL(BSM_CORRUPT, "rank %" PRIu32 ", dtype %" PRIu32, rank,
                    dtype);
  }
  t->dtype = (bsm_dtype)dtype;
  t->dims.rank = unknown ? -1 : (int32_t)rank;
  for (int32_t i = 0; i < t->dims.rank; i++) {
    BSM_TRY(bsm_read(r, &t->dims.d[i], sizeof(int64_t), "a tensor"));
    BSM_TRY(bsm_read(r, &t->strides[i], sizeof(int64_t), "a tensor"));
  }
  BSM_TRY(bsm_read_u32(r, &place, "a tensor"));
  if (place > BSM_PLACE_WEIGHTS) {
    return BSM_FAIL(BSM_CORRUPT, "place %" PRIu32, place);
  }
  t->place = (bsm_memory_place)place;
  BSM_TRY(bsm_read_u32(r, &t->index, "a tensor"));
  BSM_TRY(bsm_read_u64(r, &t->offset, "a tensor"));
  return get_space(r, &t->space, "a tensor");
}

static bsm_status get_aten_call(bsm_byte_reader *r, bsm_plan_step *step) {
  bsm_step_params *params = BSM_NEW(r->arena, bsm_step_params);
  BSM_TRY_ALLOC(params);
  bsm_step_aten_call *call = &params->aten_call;
  step->params = params;
  BSM_TRY(bsm_read_string(r, &call->op, "an op"));
  BSM_TRY(bsm_read_count(r, &call->result_count, sizeof(int32_t), "results"));
  int32_t *results =
      BSM_NEW_ARRAY(r->arena, int32_t, call->result_count + (size_t)1);
  BSM_TRY_ALLOC(results);
  call->results = results;
  BSM_TRY(
      bsm_read(r, results, call->result_count * sizeof(int32_t), "results"));
  return bsm_read_bytes(r, &call->args, &call->args_size, "arguments");
}

static bsm_status get_params(bsm_byte_reader *r, bsm_plan_step *step) {
  uint32_t stored;
  if (step->kind == BSM_STEP_ATEN_CALL) return get_aten_call(r, step);
  BSM_TRY(bsm_read_count(r, &stored, 1, "parameters"));
  const size_t full = bsm_step_params_size(step->kind);
  const size_t fixed = step->kind == BSM_STEP_ELEMENT_WISE
                           ? offsetof(bsm_step_element_wise, program)
                           : full;
  /* Parameters grow at their end. What an older file does not have is zero. */
  const bool older = r->minor < BSM_ENGINE_FORMAT_MINOR;
  if ((stored < fixed && !older) || stored > full) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " bytes of parameters", stored);
  }
  bsm_step_params *params = bsm_arena_alloc(
      r->arena, stored > fixed ? stored : fixed, _Alignof(bsm_step_params));
  BSM_TRY_ALLOC(params);
  BSM_TRY(bsm_read(r, params, stored, "parameters"));
  if (step->kind == BSM_STEP_ELEMENT_WISE) {
    const int32_t count = params->element_wise.instruction_count;
    if (count < 0 || count > BSM_EW_MAX_INSTRUCTIONS ||
        stored !=
            fixed + (size_t)count * sizeof(params->element_wise.program[0])) {
      return BSM_FAIL(BSM_CORRUPT,
                      "%" PRId32 " instructions in %" PRIu32
                      " bytes of parameters",
                      count, stored);
    }
  }
  step->params = params;
  return BSM_OK;
}

/* Files have it from 8.1 on. */
static bsm_status get_precision(bsm_byte_reader *r, bsm_plan_step *step) {
  uint32_t precision = BSM_PRECISION_NONE;
  if (r->minor >= 1) BSM_TRY(bsm_read_u32(r, &precision, "a step"));
  if (precision > BSM_PRECISION_ALL ||
      !bsm_precision_name((bsm_precision)precision)) {
    return BSM_FAIL(BSM_CORRUPT, "a step: precision %" PRIu32, precision);
  }
  step->precision = (bsm_precision)precision;
  return BSM_OK;
}

static bsm_status get_trials(bsm_byte_reader *r, bsm_plan_step *step) {
  BSM_TRY(bsm_read_count(r, &step->trial_count, 12, "trials"));
  if (step->trial_count > BSM_STEP_MAX_TRIALS) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " trials", step->trial_count);
  }
  if (!step->trial_count) return BSM_OK;
  bsm_plan_trial *trials =
      BSM_NEW_ARRAY(r->arena, bsm_plan_trial, step->trial_count);
  BSM_TRY_ALLOC(trials);
  step->trials = trials;
  for (uint32_t i = 0; i < step->trial_count; i++) {
    BSM_TRY(bsm_read_string(r, &trials[i].tactic, "a trial"));
    BSM_TRY(bsm_read_u64(r, &trials[i].nanoseconds, "a trial"));
  }
  return BSM_OK;
}

static bsm_status get_step(bsm_byte_reader *r, bsm_plan_step *step) {
  uint32_t kind;
  BSM_TRY(bsm_read_u32(r, &kind, "a step"));
  if (kind > INT32_MAX || !bsm_step_kind_name((bsm_step_kind)kind)) {
    return BSM_FAIL(BSM_CORRUPT, "unknown kind %" PRIu32, kind);
  }
  step->kind = (bsm_step_kind)kind;
  BSM_TRY(bsm_read_string(r, &step->name, "a step"));
  BSM_TRY(bsm_read_string(r, &step->tactic, "a step"));
  BSM_TRY(bsm_read_ids(r, &step->inputs, &step->input_count,
                       BSM_STEP_MAX_TENSORS, "inputs"));
  BSM_TRY(bsm_read_ids(r, &step->outputs, &step->output_count,
                       BSM_STEP_MAX_TENSORS, "outputs"));
  BSM_TRY(bsm_read(r, step->weights, sizeof(step->weights), "a step"));
  BSM_TRY(get_trials(r, step));
  BSM_TRY(get_space(r, &step->space, "a step"));
  BSM_TRY(get_precision(r, step));
  return get_params(r, step);
}

static bsm_status get_weights(bsm_byte_reader *r,
                              const bsm_weights_section *weights,
                              bsm_plan *plan) {
  const uint64_t size = weights->size;
  BSM_TRY(bsm_read_count(r, &plan->weights_count, 16, "weights"));
  plan->weights =
      BSM_NEW_ARRAY(r->arena, bsm_plan_weights, plan->weights_count);
  BSM_TRY_ALLOC(plan->weights);
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    uint64_t offset;
    bsm_plan_weights *w = &plan->weights[i];
    BSM_TRY(bsm_read_u64(r, &offset, "weights"));
    BSM_TRY(bsm_read_u64(r, &w->size, "weights"));
    if (offset % BSM_ALIGNMENT != 0 || w->size > size ||
        offset > size - w->size) {
      return BSM_FAIL(BSM_CORRUPT,
                      "weights %" PRIu32 ": %" PRIu64
                      " bytes at offset %" PRIu64 " of %" PRIu64,
                      i, w->size, offset, size);
    }
    w->data = weights->data + offset;
    BSM_TRY(get_space(r, &w->space, "weights"));
  }
  return BSM_OK;
}

static bsm_status get_metadata(bsm_byte_reader *r, bsm_plan *plan) {
  BSM_TRY(bsm_read_count(r, &plan->metadata_count, 8, "metadata"));
  plan->metadata =
      BSM_NEW_ARRAY(r->arena, bsm_plan_metadata, plan->metadata_count);
  BSM_TRY_ALLOC(plan->metadata);
  for (uint32_t i = 0; i < plan->metadata_count; i++) {
    BSM_TRY(bsm_read_string(r, &plan->metadata[i].key, "metadata"));
    BSM_TRY(bsm_read_string(r, &plan->metadata[i].value, "metadata"));
  }
  return BSM_OK;
}

static bsm_status get_tensors(bsm_byte_reader *r, bsm_plan *plan) {
  BSM_TRY(bsm_read_count(r, &plan->tensor_count, 28, "tensors"));
  plan->tensors = BSM_NEW_ARRAY(r->arena, bsm_plan_tensor, plan->tensor_count);
  BSM_TRY_ALLOC(plan->tensors);
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    BSM_TRY_NOTE(get_tensor(r, &plan->tensors[i]), "in tensor %" PRIu32, i);
  }
  return BSM_OK;
}

static bsm_status get_steps(bsm_byte_reader *r, bsm_plan *plan) {
  BSM_TRY(bsm_read_count(r, &plan->step_count, 36, "steps"));
  plan->steps = BSM_NEW_ARRAY(r->arena, bsm_plan_step, plan->step_count);
  BSM_TRY_ALLOC(plan->steps);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    BSM_TRY_NOTE(get_step(r, &plan->steps[i]), "in step %" PRIu32, i);
  }
  return BSM_OK;
}

/* A counted block of bytes; it is empty when there is no structure. */
static bsm_status get_structure(bsm_byte_reader *r, bsm_structure **out,
                                const char *what) {
  uint32_t length;
  *out = NULL;
  BSM_TRY(bsm_read_count(r, &length, 1, what));
  const bsm_str bytes = {(const char *)r->data + r->at, length};
  r->at += length;
  if (!length) return BSM_OK;
  return bsm_status_note(bsm_structure_from_bytes(bytes, r->arena, out),
                         "in %s", what);
}

static bsm_status get_code(bsm_byte_reader *r, bsm_plan *plan) {
  BSM_TRY(bsm_read_count(r, &plan->code_count, 2 * sizeof(uint32_t), "code"));
  plan->code =
      BSM_NEW_ARRAY(r->arena, bsm_plan_code, plan->code_count + (size_t)1);
  BSM_TRY_ALLOC(plan->code);
  for (uint32_t i = 0; i < plan->code_count; i++) {
    BSM_TRY(bsm_read_string(r, &plan->code[i].name, "code"));
    BSM_TRY(bsm_read_u32(r, &plan->code[i].weights, "code"));
  }
  return BSM_OK;
}

bsm_status bsm_plan_from_bytes(bsm_str bytes, uint32_t minor,
                               const bsm_weights_section *weights, bool segment,
                               bsm_arena *arena, bsm_plan **out) {
  bsm_byte_reader r = {(const uint8_t *)bytes.data, bytes.len, 0, arena, minor};
  *out = NULL;
  bsm_plan *plan = BSM_NEW(arena, bsm_plan);
  BSM_TRY_ALLOC(plan);
  BSM_TRY(bsm_read_u64(&r, &plan->workspace_size[BSM_SPACE_HOST],
                       "the workspace size"));
  if (minor >= 1) {
    BSM_TRY(bsm_read_u64(&r, &plan->workspace_size[BSM_SPACE_DEVICE],
                         "the workspace size"));
    BSM_TRY(bsm_read_string(&r, &plan->target, "the target"));
    if (!plan->target[0]) plan->target = NULL;
    BSM_TRY(get_code(&r, plan));
  }
  BSM_TRY(get_metadata(&r, plan));
  BSM_TRY(get_weights(&r, weights, plan));
  BSM_TRY(get_tensors(&r, plan));
  BSM_TRY(get_bindings(&r, &plan->inputs, &plan->input_count, "inputs"));
  BSM_TRY(get_bindings(&r, &plan->outputs, &plan->output_count, "outputs"));
  BSM_TRY(get_steps(&r, plan));
  BSM_TRY(get_structure(&r, &plan->input_structure, "the inputs' structure"));
  BSM_TRY(get_structure(&r, &plan->output_structure, "the outputs' structure"));
  if (segment) {
    uint32_t blocks;
    BSM_TRY(bsm_read_u32(&r, &blocks, "a segment"));
    if (blocks) return BSM_FAIL(BSM_CORRUPT, "a segment is a program");
  } else {
    BSM_TRY(bsm_program_from_bytes(&r, weights, plan));
  }
  if (r.at != r.size) {
    return BSM_FAIL(BSM_CORRUPT, "%zu bytes too many at the end",
                    r.size - r.at);
  }
  *out = plan;
  return BSM_OK;
}
