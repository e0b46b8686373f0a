/* SPDX-License-Identifier: Apache-2.0 */
/* The order of steps, as rows of bits. */
#include "engine/step_order.h"

/* ---- views ---- */

/* One past the last byte, counted from the first one. */
static uint64_t reach_of(const bsm_memory_view *v, uint64_t below) {
  uint64_t last = 0;
  for (int32_t i = 0; i < v->layout.dims.rank; i++) {
    const uint64_t stride = (uint64_t)v->layout.strides[i] * v->element;
    if (v->layout.dims.d[i] == 0) return 0;
    if (stride < below) last += (uint64_t)(v->layout.dims.d[i] - 1) * stride;
  }
  return last + v->element;
}

/* Whether the view consists of equal pieces that are rows of `row` bytes apart.
 */
static bool is_in_rows(const bsm_memory_view *v, uint64_t row) {
  for (int32_t i = 0; i < v->layout.dims.rank; i++) {
    const uint64_t stride = (uint64_t)v->layout.strides[i] * v->element;
    if (v->layout.dims.d[i] > 1 && stride >= row && stride % row != 0) {
      return false;
    }
  }
  return true;
}

static bool are_other_columns(const bsm_memory_view *a,
                              const bsm_memory_view *b, uint64_t row) {
  if (!is_in_rows(a, row) || !is_in_rows(b, row)) return false;
  const uint64_t behind = b->offset >= a->offset
                              ? (b->offset - a->offset) % row
                              : row - 1 - (a->offset - b->offset - 1) % row;
  return reach_of(a, row) <= behind && behind + reach_of(b, row) <= row;
}

/* In rows as far apart as one of the strides of `a`. */
static bool are_columns_apart(const bsm_memory_view *a,
                              const bsm_memory_view *b) {
  for (int32_t i = 0; i < a->layout.dims.rank; i++) {
    const uint64_t row = (uint64_t)a->layout.strides[i] * a->element;
    if (row && are_other_columns(a, b, row)) return true;
  }
  return false;
}

static bool shares_memory(const bsm_memory_view *a, const bsm_memory_view *b) {
  return a->memory == b->memory ||
         (a->memory == BSM_MEMORY_CALLERS && b->memory > BSM_MEMORY_CALLERS) ||
         (b->memory == BSM_MEMORY_CALLERS && a->memory > BSM_MEMORY_CALLERS);
}

bool bsm_memory_views_overlap(const bsm_memory_view *a,
                              const bsm_memory_view *b) {
  if (!a->element || !b->element || !shares_memory(a, b)) return false;
  const uint64_t a_reach = reach_of(a, UINT64_MAX);
  const uint64_t b_reach = reach_of(b, UINT64_MAX);
  if (!a_reach || !b_reach) return false;
  if (a->memory != b->memory) return true;
  if (a->offset + a_reach <= b->offset || b->offset + b_reach <= a->offset) {
    return false;
  }
  return !are_columns_apart(a, b) && !are_columns_apart(b, a);
}

/* ---- orders ---- */

bsm_status bsm_step_order_init(bsm_step_order *o, const bsm_plan_step *steps,
                               uint32_t count, const bsm_memory_view *views,
                               bsm_arena *arena) {
  *o = (bsm_step_order){.steps = steps,
                        .count = count,
                        .views = views,
                        .words = ((size_t)count + 63) / 64};
  o->rows = BSM_NEW_ARRAY(arena, uint64_t, o->words * count + 1);
  BSM_TRY_ALLOC(o->rows);
  return BSM_OK;
}

static uint64_t *row_of(const bsm_step_order *o, uint32_t step) {
  return o->rows + o->words * step;
}

bool bsm_step_order_follows(const bsm_step_order *o, uint32_t step,
                            uint32_t earlier) {
  return row_of(o, step)[earlier / 64] >> (earlier % 64) & 1;
}

void bsm_step_order_add(bsm_step_order *o, uint32_t step, uint32_t earlier) {
  uint64_t *row = row_of(o, step);
  const uint64_t *other = row_of(o, earlier);
  for (size_t i = 0; i <= earlier / 64; i++) row[i] |= other[i];
  row[earlier / 64] |= (uint64_t)1 << (earlier % 64);
}

static bool touches(const bsm_step_order *o, const bsm_memory_view *view,
                    const uint32_t *tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (bsm_memory_views_overlap(view, &o->views[tensors[i]])) return true;
  }
  return false;
}

static bool is_hindered(const bsm_step_order *o, const bsm_plan_step *step,
                        const bsm_plan_step *earlier) {
  for (uint32_t i = 0; i < earlier->output_count; i++) {
    const bsm_memory_view *view = &o->views[earlier->outputs[i]];
    if (touches(o, view, step->inputs, step->input_count) ||
        touches(o, view, step->outputs, step->output_count)) {
      return true;
    }
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    if (touches(o, &o->views[step->outputs[i]], earlier->inputs,
                earlier->input_count)) {
      return true;
    }
  }
  return false;
}

/* From the nearest on: what this one follows needs no other look. */
void bsm_step_order_add_memory(bsm_step_order *o, uint32_t step, uint32_t whose,
                               uint32_t from) {
  for (uint32_t j = step; j-- > from;) {
    if (!bsm_step_order_follows(o, step, j) &&
        is_hindered(o, &o->steps[whose], &o->steps[j])) {
      bsm_step_order_add(o, step, j);
    }
  }
}
