/* SPDX-License-Identifier: Apache-2.0 */
/* Compares dtype, dims, strides and addresses of the caller's arrays with the
 * bindings of an engine. */
#include "runtime/context/check_arrays.h"

#include <inttypes.h>

#include "aten/tensor.h"
#include "engine/program.h"

bsm_status bsm_check_array(const char *what, size_t index,
                           const bsm_plan_binding *binding,
                           const bsm_plan_tensor *t, const bsm_array *array) {
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

int32_t bsm_array_loose_dimension(const bsm_array *array) {
  int64_t strides[BSM_MAX_RANK];
  int32_t loose = -1;
  if (!array->strides) return -1;
  bsm_contiguous_strides(array->dims, strides);
  for (int32_t i = 0; i < array->dims.rank; i++) {
    if (array->dims.d[i] == 0) return -1;
    if (array->dims.d[i] > 1 && array->strides[i] != strides[i]) loose = i;
  }
  return loose;
}

bsm_status bsm_check_count(const char *what, size_t given, uint32_t wanted) {
  return given == wanted
             ? BSM_OK
             : BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "%zu %ss were given, the engine has %" PRIu32, given,
                        what, wanted);
}

size_t bsm_array_bytes(const bsm_array *array) {
  size_t n = bsm_dtype_size(array->dtype);
  for (int32_t i = 0; i < array->dims.rank; i++) n *= (size_t)array->dims.d[i];
  return n;
}

bsm_status bsm_check_range(const bsm_plan *plan, uint32_t input,
                           const bsm_dims *dims) {
  const bsm_program *p = plan->program;
  for (uint32_t k = 0; p && k < p->range_count; k++) {
    const bsm_program_range *r = &p->ranges[k];
    for (int32_t i = 0; r->input == input && i < r->min.rank; i++) {
      const int64_t size = dims->d[i];
      if (size < r->min.d[i] || size > r->max.d[i]) {
        return BSM_FAIL(
            BSM_INVALID_ARGUMENT,
            "input %" PRIu32 " (%s) has size %" PRId64 " in dimension %" PRId32
            ", the engine was built for %" PRId64 " to %" PRId64,
            input, plan->inputs[input].name, size, i, r->min.d[i], r->max.d[i]);
      }
    }
  }
  return BSM_OK;
}

static bool overlaps(const bsm_array *a, const bsm_array *b) {
  const uintptr_t from = (uintptr_t)a->data, other = (uintptr_t)b->data;
  if (a->space != b->space || a->device != b->device || a->strides ||
      b->strides) {
    return false;
  }
  return from < other + bsm_array_bytes(b) && other < from + bsm_array_bytes(a);
}

bsm_status bsm_check_apart(const bsm_plan *plan, const bsm_array *inputs,
                           const bsm_array *outputs) {
  for (uint32_t i = 0; i < plan->output_count; i++) {
    for (uint32_t k = 0; k < plan->input_count + i; k++) {
      const bool in = k < plan->input_count;
      const uint32_t n = in ? k : k - plan->input_count;
      const bsm_array *other = in ? &inputs[n] : &outputs[n];
      if (!overlaps(&outputs[i], other)) continue;
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "output %" PRIu32 " (%s) overlaps %s %" PRIu32
                      " (%s): each needs memory of its own",
                      i, plan->outputs[i].name, in ? "input" : "output", n,
                      in ? plan->inputs[n].name : plan->outputs[n].name);
    }
  }
  return BSM_OK;
}
