/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the constants of a program: values, and tensors over the weights. */
#include "engine/program_constants.h"

#include <inttypes.h>

#include "engine/ivalue_bytes.h"
#include "engine/program.h"

/* A tensor over the memory of its weights. */
static bsm_status read_tensor(const bsm_plan *plan, uint32_t id,
                              bsm_arena *arena, bsm_tensor *out) {
  const bsm_plan_tensor *t = &plan->tensors[id];
  const bsm_plan_weights *w = &plan->weights[t->index];
  bsm_storage *storage = BSM_NEW(arena, bsm_storage);
  bsm_tensor *view;
  BSM_TRY_ALLOC(storage);
  *storage = (bsm_storage){
      .data = (void *)(uintptr_t)((const uint8_t *)w->data + t->offset),
      .size = (size_t)w->size - (size_t)t->offset,
      .read_only = true};
  BSM_TRY(bsm_tensor_from_storage(arena, storage, t->dtype, t->dims, t->strides,
                                  0, &view));
  *out = *view;
  return BSM_OK;
}

bsm_status bsm_program_read_constants(const bsm_plan *plan, bsm_arena *arena,
                                      bsm_program_constants *out) {
  const bsm_program *p = plan->program;
  const size_t n = p->constant_tensor_count;
  const bsm_str bytes = {(const char *)p->constants, p->constants_size};
  size_t count;
  out->tensors = BSM_NEW_ARRAY(arena, bsm_tensor, n + 1);
  BSM_TRY_ALLOC(out->tensors);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(read_tensor(plan, p->constant_tensors[i], arena, &out->tensors[i]));
  }
  BSM_TRY_NOTE(bsm_ivalues_from_bytes(bytes, arena, out->tensors, n,
                                      &out->values, &count),
               "in the constants of the program");
  if (count != p->constant_count) {
    return BSM_FAIL(BSM_CORRUPT, "%zu constants for %" PRIu32 " registers",
                    count, p->constant_count);
  }
  return BSM_OK;
}
