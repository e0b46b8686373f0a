/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that read no elements: views, sizes, dtypes. They are made on tensors
 * without data in place of those whose values are on the device alone, so that
 * these stay there. */
#include "aten/ivalue_parts.h"
#include "runtime/program/program_state.h"

/* A storage without data that stands for another one. */
typedef struct stand_in {
  bsm_storage *real;
  bsm_storage *own;
} stand_in;

#define MAX_STAND_INS 8

typedef struct stand_ins {
  stand_in items[MAX_STAND_INS];
  size_t count;
} stand_ins;

static bool is_away(const bsm_tensor *t) {
  const bsm_resident *resident = t->storage->resident;
  return resident && resident->valid && !resident->host_valid;
}

static bool returns_tensors(const bsm_aten_op *op) {
  bsm_schema_text room;
  const char *results = strstr(bsm_aten_schema(op, &room), "->");
  return !results || strstr(results, "Tensor") || strstr(results, "t(");
}

static bool can_be_view(const bsm_aten_op *op) {
  const uint32_t other =
      BSM_ATEN_INPLACE | BSM_ATEN_RANDOM | BSM_ATEN_EFFECT | BSM_ATEN_PASSES_ON;
  return !(op->flags & other) &&
         ((op->flags & BSM_ATEN_VIEW) || !returns_tensors(op));
}

static bsm_status add_stand_in(stand_ins *s, bsm_arena *arena,
                               bsm_ivalue *value) {
  const bsm_tensor *t = value->u.tensor;
  stand_in *found = NULL;
  for (size_t i = 0; i < s->count; i++) {
    if (s->items[i].real == t->storage) found = &s->items[i];
  }
  bsm_tensor *copy = BSM_NEW(arena, bsm_tensor);
  BSM_TRY_ALLOC(copy);
  if (!found) {
    found = &s->items[s->count++];
    *found = (stand_in){t->storage, BSM_NEW(arena, bsm_storage)};
    BSM_TRY_ALLOC(found->own);
    *found->own = (bsm_storage){.size = t->storage->size, .meta = true};
  }
  *copy = *t;
  copy->storage = found->own;
  *value = bsm_iv_tensor(copy);
  return BSM_OK;
}

/* Whether a result is a view of what is away, which it then is again, or no
 * tensor. */
static bool take_result(const stand_ins *s, bsm_ivalue *value) {
  const bsm_iv_parts parts = bsm_iv_parts_of(value);
  if (value->tag == BSM_IVALUE_TENSOR) {
    for (size_t i = 0; i < s->count; i++) {
      if (value->u.tensor->storage != s->items[i].own) continue;
      value->u.tensor->storage = s->items[i].real;
      return true;
    }
    return !bsm_tensor_is_meta(value->u.tensor);
  }
  for (size_t i = 0; i < parts.len; i++) {
    if (parts.items[i].tag != BSM_IVALUE_TENSOR ||
        !take_result(s, &parts.items[i])) {
      return false;
    }
  }
  return true;
}

bsm_status bsm_program_run_view(bsm_program_runner *r, const bsm_instruction *i,
                                const bsm_aten_op *op, const bsm_ivalue *args,
                                bsm_ivalue *outs, bool *done) {
  stand_ins s = {.count = 0};
  bsm_arena *heap = bsm_program_heap(r);
  *done = false;
  if (!can_be_view(op)) return BSM_OK;
  bsm_ivalue *own = BSM_NEW_ARRAY(heap, bsm_ivalue, i->input_count + (size_t)1);
  BSM_TRY_ALLOC(own);
  for (uint32_t k = 0; k < i->input_count; k++) {
    own[k] = args[k];
    if (args[k].tag != BSM_IVALUE_TENSOR || !is_away(args[k].u.tensor)) {
      continue;
    }
    if (s.count == MAX_STAND_INS) return BSM_OK;
    BSM_TRY(add_stand_in(&s, heap, &own[k]));
  }
  if (!s.count) return BSM_OK;
  bsm_op_ctx cx = {.arena = heap, .logger = r->logger};
  bsm_status status =
      bsm_aten_call(&cx, op, own, i->input_count, outs, i->output_count);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  *done = !status;
  bsm_status_free(status);
  for (uint32_t k = 0; *done && k < i->output_count; k++) {
    *done = take_result(&s, &outs[k]);
  }
  return BSM_OK;
}
