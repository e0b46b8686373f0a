/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a plan whose bytes may be hostile. Afterwards every index is in range
 * and every tensor lies inside its place. The backend checks what the
 * parameters mean. */
#include <inttypes.h>

#include "aten/tensor.h"
#include "base/checked.h"
#include "engine/plan.h"
#include "engine/program.h"

static bool dtype_known(bsm_dtype dtype) {
  return bsm_dtype_size(dtype) != 0;
}

/* Checks that the tensor of a binding is contiguous and fills the caller's
 * buffer. */
static bsm_status verify_binding(const bsm_plan *plan,
                                 const bsm_plan_binding *binding,
                                 bsm_memory_place place, uint32_t index) {
  const char *what = place == BSM_PLACE_INPUT ? "input" : "output";
  if (binding->tensor >= plan->tensor_count) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%s %" PRIu32 " names tensor %" PRIu32 " of %" PRIu32, what,
                    index, binding->tensor, plan->tensor_count);
  }
  const bsm_plan_tensor *t = &plan->tensors[binding->tensor];
  if (t->place != place || t->index != index || t->offset != 0) {
    return BSM_FAIL(BSM_CORRUPT, "%s %" PRIu32 " is not its tensor's place",
                    what, index);
  }
  int64_t expected = 1;
  for (int32_t i = t->dims.rank - 1; i >= 0; i--) {
    const int64_t size = t->dims.d[i] < 1 ? 1 : t->dims.d[i];
    if (t->dims.d[i] < -1) {
      return BSM_FAIL(BSM_CORRUPT, "%s %" PRIu32 " has a negative size", what,
                      index);
    }
    if (t->strides[i] != expected) {
      return BSM_FAIL(BSM_CORRUPT, "%s %" PRIu32 " is not contiguous", what,
                      index);
    }
    if (!bsm_i64_mul(expected, size, &expected)) {
      return BSM_FAIL(BSM_CORRUPT, "%s %" PRIu32 " is too large", what, index);
    }
  }
  return BSM_OK;
}

/* The size in bytes of the buffer that tensor `t` lies in. */
static bsm_status place_size(const bsm_plan *plan, const bsm_plan_tensor *t,
                             uint64_t *out) {
  switch (t->place) {
    case BSM_PLACE_WORKSPACE:
      *out = plan->workspace_size[t->space];
      return BSM_OK;
    case BSM_PLACE_WEIGHTS:
      if (t->index >= plan->weights_count ||
          plan->weights[t->index].space != t->space) {
        break;
      }
      *out = plan->weights[t->index].size;
      return BSM_OK;
    case BSM_PLACE_INPUT:
    case BSM_PLACE_OUTPUT: {
      const bool input = t->place == BSM_PLACE_INPUT;
      const uint32_t count = input ? plan->input_count : plan->output_count;
      if (t->index >= count) break;
      const bsm_plan_binding *b =
          input ? &plan->inputs[t->index] : &plan->outputs[t->index];
      if (b->tensor >= plan->tensor_count ||
          plan->tensors[b->tensor].space != t->space ||
          !bsm_plan_tensor_extent(&plan->tensors[b->tensor], out)) {
        break;
      }
      return BSM_OK;
    }
  }
  return BSM_FAIL(BSM_CORRUPT, "place %d has no buffer %" PRIu32, (int)t->place,
                  t->index);
}

/* A binding of a program whose dims are known only in a run has no extent. */
static bool is_open_binding(const bsm_plan *plan, const bsm_plan_tensor *t) {
  bool open = t->dims.rank == -1; /* and the dtype may be unknown */
  for (int32_t i = 0; i < t->dims.rank && i < BSM_MAX_RANK; i++) {
    open = open || t->dims.d[i] == -1;
  }
  return open && plan->program && t->dims.rank <= BSM_MAX_RANK &&
         (t->place == BSM_PLACE_OUTPUT ||
          (t->place == BSM_PLACE_INPUT && dtype_known(t->dtype)));
}

static bsm_status verify_tensor(const bsm_plan *plan, uint32_t id) {
  const bsm_plan_tensor *t = &plan->tensors[id];
  if (is_open_binding(plan, t)) return BSM_OK;
  if (!dtype_known(t->dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "unknown dtype %d", (int)t->dtype);
  }
  if (t->dims.rank < 0 || t->dims.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_CORRUPT, "rank %" PRId32, t->dims.rank);
  }
  uint64_t extent, size;
  int64_t numel = 1;
  bool empty = false;
  for (int32_t i = 0; i < t->dims.rank; i++) {
    if (t->dims.d[i] == 0) empty = true;
  }
  for (int32_t i = 0; i < t->dims.rank && !empty; i++) {
    if (!bsm_i64_mul(numel, t->dims.d[i], &numel)) {
      return BSM_FAIL(BSM_CORRUPT, "element count overflows");
    }
  }
  if (numel > INT64_MAX / 16) {
    return BSM_FAIL(BSM_CORRUPT, "element count %" PRId64, numel);
  }
  if (!bsm_plan_tensor_extent(t, &extent)) {
    return BSM_FAIL(BSM_CORRUPT, "sizes or strides are negative or overflow");
  }
  BSM_TRY(place_size(plan, t, &size));
  if (size > PTRDIFF_MAX) { /* of 32 bits, say */
    return BSM_FAIL(BSM_LIMIT, "%" PRIu64 " bytes: above what is addressed",
                    size);
  }
  if (t->offset % bsm_dtype_size(t->dtype) != 0) {
    return BSM_FAIL(BSM_CORRUPT, "offset %" PRIu64 " is misaligned", t->offset);
  }
  if (extent > size || t->offset > size - extent) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%" PRIu64 " bytes at offset %" PRIu64
                    " leave a buffer of %" PRIu64 " bytes",
                    extent, t->offset, size);
  }
  return BSM_OK;
}

/* Whether a tensor that is written has memory for each of its elements, so that
 * the work of a step is bounded by the memory that there is. */
static bool has_places(const bsm_plan_tensor *t) {
  uint64_t extent, count = bsm_dtype_size(t->dtype);
  for (int32_t i = 0; i < t->dims.rank; i++) count *= (uint64_t)t->dims.d[i];
  return bsm_plan_tensor_extent(t, &extent) && count <= extent;
}

/* Same dtype, dims and strides, in the two spaces. */
static bsm_status verify_transfer(const bsm_plan *plan,
                                  const bsm_plan_step *step) {
  if (step->input_count != 1 || step->output_count != 1) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " inputs and %" PRIu32 " outputs",
                    step->input_count, step->output_count);
  }
  const bsm_plan_tensor *from = &plan->tensors[step->inputs[0]];
  const bsm_plan_tensor *to = &plan->tensors[step->outputs[0]];
  bool same = from->dtype == to->dtype && bsm_dims_equal(from->dims, to->dims);
  for (int32_t i = 0; same && i < to->dims.rank; i++) {
    same = from->strides[i] == to->strides[i];
  }
  if (!same) return BSM_FAIL(BSM_CORRUPT, "a transfer changes the layout");
  if (from->space == to->space || step->space != to->space) {
    return BSM_FAIL(BSM_CORRUPT, "a transfer from space %d to %d in space %d",
                    (int)from->space, (int)to->space, (int)step->space);
  }
  return BSM_OK;
}

/* Checks that a step runs where its tensors and weights are. Ids are in range.
 */
static bsm_status verify_spaces(const bsm_plan *plan,
                                const bsm_plan_step *step) {
  if (step->kind == BSM_STEP_TRANSFER) return verify_transfer(plan, step);
  if (step->space != BSM_SPACE_HOST &&
      !bsm_step_kind_is_of_devices(step->kind)) {
    return BSM_FAIL(BSM_CORRUPT, "runs in space %d, not on the host",
                    (int)step->space);
  }
  for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
    const uint32_t id = i < step->input_count
                            ? step->inputs[i]
                            : step->outputs[i - step->input_count];
    if (plan->tensors[id].space != step->space) {
      return BSM_FAIL(BSM_CORRUPT,
                      "tensor %" PRIu32 " is in space %d, the step in %d", id,
                      (int)plan->tensors[id].space, (int)step->space);
    }
  }
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    const uint32_t id = step->weights[i];
    if (id != BSM_NO_WEIGHTS && plan->weights[id].space != step->space) {
      return BSM_FAIL(BSM_CORRUPT,
                      "weights %" PRIu32 " are in space %d, the step in %d", id,
                      (int)plan->weights[id].space, (int)step->space);
    }
  }
  return BSM_OK;
}

static bool space_known(bsm_memory_space space) {
  return space == BSM_SPACE_HOST || space == BSM_SPACE_DEVICE;
}

static bsm_status verify_step(const bsm_plan *plan, const bsm_plan_step *step) {
  if (!bsm_step_kind_name(step->kind)) {
    return BSM_FAIL(BSM_CORRUPT, "unknown kind %d", (int)step->kind);
  }
  if (step->input_count > BSM_STEP_MAX_TENSORS || step->output_count < 1 ||
      step->output_count > BSM_STEP_MAX_TENSORS) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " inputs and %" PRIu32 " outputs",
                    step->input_count, step->output_count);
  }
  for (uint32_t i = 0; i < step->input_count; i++) {
    if (step->inputs[i] >= plan->tensor_count) {
      return BSM_FAIL(BSM_CORRUPT, "input tensor %" PRIu32 " of %" PRIu32,
                      step->inputs[i], plan->tensor_count);
    }
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    if (step->outputs[i] >= plan->tensor_count) {
      return BSM_FAIL(BSM_CORRUPT, "output tensor %" PRIu32 " of %" PRIu32,
                      step->outputs[i], plan->tensor_count);
    }
    const bsm_plan_tensor *t = &plan->tensors[step->outputs[i]];
    if (t->place == BSM_PLACE_WEIGHTS || t->place == BSM_PLACE_INPUT) {
      return BSM_FAIL(BSM_CORRUPT, "writes to a read-only tensor");
    }
    if (!has_places(t)) {
      return BSM_FAIL(BSM_CORRUPT, "writes elements to one place");
    }
  }
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    if (step->weights[i] != BSM_NO_WEIGHTS &&
        step->weights[i] >= plan->weights_count) {
      return BSM_FAIL(BSM_CORRUPT, "weights %" PRIu32 " of %" PRIu32,
                      step->weights[i], plan->weights_count);
    }
  }
  return verify_spaces(plan, step);
}

static bsm_status verify_all_known(const bsm_plan *plan) {
  bool known = true;
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    known = known && space_known(plan->tensors[i].space);
  }
  for (uint32_t i = 0; i < plan->code_count; i++) {
    const bsm_plan_code *code = &plan->code[i];
    if (!code->name || code->weights >= plan->weights_count ||
        plan->weights[code->weights].space != BSM_SPACE_HOST) {
      return BSM_FAIL(BSM_CORRUPT, "code %" PRIu32 " is no weights of the host",
                      i);
    }
  }
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    known = known && space_known(plan->weights[i].space);
  }
  return known ? BSM_OK : BSM_FAIL(BSM_CORRUPT, "an unknown memory space");
}

/* Checks that the structure's leaves are the bindings, each once, and values
 * that a run adds. */
static bsm_status verify_structure(const bsm_plan *plan,
                                   const bsm_structure *root, bool input) {
  const uint32_t count = input ? plan->input_count : plan->output_count;
  const uint32_t values = input ? 0 : bsm_plan_value_count(plan);
  const bsm_plan_binding *bindings = input ? plan->inputs : plan->outputs;
  if (!root) {
    return values ? BSM_FAIL(BSM_CORRUPT,
                             "%" PRIu32 " results of the program have no type",
                             values)
                  : BSM_OK;
  }
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  int32_t *ranks = BSM_NEW_ARRAY(&arena, int32_t, count + (size_t)1);
  for (uint32_t i = 0; ranks && i < count; i++) {
    ranks[i] = plan->tensors[bindings[i].tensor].dims.rank;
  }
  bsm_status status = ranks ? bsm_structure_verify(root, ranks, count, values,
                                                   input ? "input" : "output")
                            : BSM_FAIL_OOM();
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_plan_verify(const bsm_plan *plan) {
  BSM_TRY(verify_all_known(plan));
  for (uint32_t i = 0; i < plan->input_count; i++) {
    BSM_TRY(verify_binding(plan, &plan->inputs[i], BSM_PLACE_INPUT, i));
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    BSM_TRY(verify_binding(plan, &plan->outputs[i], BSM_PLACE_OUTPUT, i));
  }
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    BSM_TRY_NOTE(verify_tensor(plan, i), "in tensor %" PRIu32 " of the plan",
                 i);
  }
  for (uint32_t i = 0; i < plan->step_count; i++) {
    BSM_TRY_NOTE(verify_step(plan, &plan->steps[i]),
                 "in step %" PRIu32 " of the plan (%s)", i,
                 plan->steps[i].name);
  }
  if (plan->program) BSM_TRY(bsm_program_verify(plan));
  BSM_TRY(verify_structure(plan, plan->input_structure, true));
  return verify_structure(plan, plan->output_structure, false);
}
