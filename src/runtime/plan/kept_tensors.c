/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of intermediate tensors. */
#include "runtime/plan/kept_tensors.h"

#include <inttypes.h>
#include <string.h>

#include "base/options.h"
#include "runtime/plan/plan_runner.h"

void bsm_kept_init(bsm_kept_tensors *kept, const bsm_allocator *allocator,
                   uint64_t max_bytes) {
  *kept = (bsm_kept_tensors){.max_bytes = max_bytes};
  bsm_arena_init(&kept->arena, allocator);
}

void bsm_kept_clear(bsm_kept_tensors *kept) {
  const bsm_allocator *allocator = kept->arena.allocator;
  bsm_arena_destroy(&kept->arena);
  bsm_kept_init(kept, allocator, kept->max_bytes);
}

/* A copy of a string, or NULL when memory is out. */
static const char *copied(bsm_kept_tensors *kept, const char *text) {
  return bsm_arena_strdup(&kept->arena, text ? text : "");
}

bsm_status bsm_kept_add(bsm_kept_tensors *kept, const bsm_kept_tensor *info,
                        const bsm_tensor *tensor) {
  bsm_tensor *clone;
  bsm_kept_tensor item = *info;
  const uint64_t bytes =
      (uint64_t)bsm_tensor_numel(tensor) * bsm_dtype_size(tensor->dtype);
  if (bytes > kept->max_bytes - kept->bytes) {
    return BSM_FAIL(BSM_LIMIT,
                    "%s of %" PRIu64 " bytes: more than keep_tensors, %" PRIu64
                    " bytes, would be kept",
                    info->name, bytes, kept->max_bytes);
  }
  BSM_TRY(bsm_tensor_clone(&kept->arena, tensor, &clone));
  kept->bytes += bytes;
  item.name = copied(kept, info->name);
  item.layers = copied(kept, info->layers);
  item.kind = copied(kept, info->kind);
  item.tactic = copied(kept, info->tactic);
  item.array = (bsm_array){.data = bsm_tensor_data(clone),
                           .dtype = clone->dtype,
                           .dims = clone->sizes};
  return item.name && item.layers && item.kind && item.tactic &&
                 bsm_vec_push(&kept->arena, &kept->items, item)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

/* ---- steps ---- */

/* The number of a step among all of the engine's; SIZE_MAX: its plan was made
 * for shapes of the run. */
static size_t step_number(const bsm_plan_runner *r, uint32_t index) {
  const bsm_plan *whole = r->execution->engine->plan;
  size_t first = 0;
  for (uint32_t k = 0; bsm_plan_part(whole, k); k++) {
    if (bsm_plan_part(whole, k) == r->plan) return first + index;
    first += bsm_plan_part(whole, k)->step_count;
  }
  return SIZE_MAX;
}

static bool is_laid_out_anew(const bsm_plan *plan, const bsm_plan_step *step,
                             const char *name) {
  for (uint32_t i = 0; name[0] && i < step->input_count; i++) {
    if (strcmp(plan->tensors[step->inputs[i]].name, name) == 0) return true;
  }
  return false;
}

/* A tensor over memory of the plan, which is downloaded when it is a device's.
 */
static bsm_status open_tensor(const bsm_plan_runner *r, uint32_t id,
                              bsm_arena *arena, bsm_tensor **out) {
  const bsm_plan_tensor *t = &r->plan->tensors[id];
  void *address = bsm_run_address(&r->runs[t->space], r->plan, id);
  bsm_execution *e = r->execution;
  if (t->space == BSM_SPACE_DEVICE) {
    uint64_t bytes;
    if (!bsm_plan_tensor_extent(t, &bytes)) return BSM_FAIL_OOM();
    void *home = bsm_arena_alloc(arena, (size_t)bytes + 1, BSM_ALIGNMENT);
    BSM_TRY_ALLOC(home);
    BSM_TRY(bsm_execution_copy(e, home, BSM_SPACE_HOST, address, t->space,
                               (size_t)bytes));
    BSM_TRY(bsm_execution_wait(e));
    address = home;
  }
  const bsm_array array = {.data = address,
                           .dtype = t->dtype,
                           .dims = t->dims,
                           .strides = t->strides};
  return bsm_tensor_from_array(arena, &array, true, out);
}

bsm_status bsm_kept_take_step(bsm_kept_tensors *kept, const bsm_plan_runner *r,
                              uint32_t index) {
  const bsm_plan_step *step = &r->plan->steps[index];
  const bsm_step_driver *driver = bsm_step_driver_of(step->kind);
  bsm_kept_tensor info = {
      .layers = step->name,
      .kind = bsm_step_kind_name(step->kind),
      .tactic = driver->describe(&r->execution->env, &r->steps[index]),
      .step = step_number(r, index)};
  for (uint32_t i = 0; i < step->output_count; i++) {
    bsm_arena scratch;
    bsm_tensor *tensor;
    info.name = r->plan->tensors[step->outputs[i]].name;
    if (is_laid_out_anew(r->plan, step, info.name)) continue;
    bsm_arena_init(&scratch, r->execution->allocator);
    bsm_status status = open_tensor(r, step->outputs[i], &scratch, &tensor);
    if (!status) status = bsm_kept_add(kept, &info, tensor);
    bsm_arena_destroy(&scratch);
    BSM_TRY_NOTE(status, "while keeping what %s computes", step->name);
  }
  return BSM_OK;
}
