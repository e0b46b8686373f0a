/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the branches of a plan: step after step, those that it follows, then
 * a lane whose last step is one of them. */
#include "runtime/plan/branches.h"

#include "base/checked.h"
#include "engine/step_order.h"

#define NOBODY UINT32_MAX

typedef struct finder {
  const bsm_plan *plan;
  const bsm_prepared_step *steps;
  bsm_step_order order;
  uint32_t from; /* of the stretch: it follows nothing ahead of that */
  uint32_t wall; /* the last step that fills the device, or NOBODY */
  uint32_t last[BSM_DEVICE_LANES]; /* steps in the lanes, or NOBODY */
  size_t room[BSM_DEVICE_LANES];   /* bytes of their scratch memory */
  BSM_VEC(uint32_t) waits;
  bsm_arena *arena;
  bsm_branches *found;
  bool branches;
} finder;

/* ---- memory ---- */

static bsm_memory_view view_of(const bsm_plan_tensor *t) {
  bsm_memory_view v = {.memory = BSM_MEMORY_WORKSPACE,
                       .offset = t->offset,
                       .element = bsm_dtype_size(t->dtype),
                       .layout.dims = t->dims};
  for (int32_t i = 0; i < t->dims.rank; i++) {
    v.layout.strides[i] = t->strides[i];
  }
  if (t->space != BSM_SPACE_DEVICE || t->place == BSM_PLACE_WEIGHTS) {
    v.element = 0;
  } else if (t->place == BSM_PLACE_INPUT) {
    v.memory = BSM_MEMORY_CALLERS;
  } else if (t->place == BSM_PLACE_OUTPUT) {
    v.memory = BSM_MEMORY_CALLERS + 1 + t->index;
  }
  return v;
}

static bsm_status make_order(finder *f, bsm_arena *scratch) {
  const bsm_plan *plan = f->plan;
  bsm_memory_view *views =
      BSM_NEW_ARRAY(scratch, bsm_memory_view, plan->tensor_count + (size_t)1);
  BSM_TRY_ALLOC(views);
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    views[i] = view_of(&plan->tensors[i]);
  }
  return bsm_step_order_init(&f->order, plan->steps, plan->step_count, views,
                             scratch);
}

/* ---- lanes ---- */

static bool needs_lane(const bsm_prepared_step *step) {
  return step->scratch_size || step->counts;
}

/* Behind a step that it follows anyway; else in an empty lane; else in the one
 * whose last step has been there for the longest time. */
static uint32_t choose_lane(const finder *f, uint32_t step) {
  uint32_t oldest = 0, vacant = BSM_DEVICE_LANES;
  for (uint32_t i = BSM_DEVICE_LANES; i-- > 0;) {
    if (f->last[i] == NOBODY) {
      vacant = i;
    } else if (bsm_step_order_follows(&f->order, step, f->last[i])) {
      return i;
    } else if (f->last[i] < f->last[oldest]) {
      oldest = i;
    }
  }
  return vacant < BSM_DEVICE_LANES ? vacant : oldest;
}

static void take_lane(finder *f, uint32_t step) {
  const uint32_t lane = choose_lane(f, step);
  const uint32_t last = f->last[lane];
  if (last != NOBODY && last >= f->from &&
      !bsm_step_order_follows(&f->order, step, last)) {
    bsm_step_order_add(&f->order, step, last);
  }
  f->last[lane] = step;
  f->found->lanes[step] = (uint8_t)lane;
  if (f->steps[step].scratch_size > f->room[lane]) {
    f->room[lane] = f->steps[step].scratch_size;
  }
}

/* ---- steps ---- */

/* Those that `step` waits for: which it follows, and no other of them does. */
static bsm_status note_waits(finder *f, uint32_t step) {
  const size_t first = f->waits.len;
  f->found->first[step] = (uint32_t)first;
  for (uint32_t j = step; j-- > f->from;) {
    bool told = !bsm_step_order_follows(&f->order, step, j);
    for (size_t k = first; k < f->waits.len && !told; k++) {
      told = bsm_step_order_follows(&f->order, f->waits.items[k], j);
    }
    if (!told) BSM_TRY_ALLOC(bsm_vec_push(f->arena, &f->waits, j));
  }
  const size_t count = f->waits.len - first;
  if (step > f->from && (count != 1 || f->waits.items[first] != step - 1)) {
    f->branches = true;
  }
  return BSM_OK;
}

static bsm_status add_step(finder *f, uint32_t step) {
  if (f->wall != NOBODY) bsm_step_order_add(&f->order, step, f->wall);
  if (f->steps[step].fills) {
    for (uint32_t j = step; j-- > f->from;) {
      if (!bsm_step_order_follows(&f->order, step, j)) {
        bsm_step_order_add(&f->order, step, j);
      }
    }
    f->wall = step;
  } else {
    for (uint32_t i = 0; i <= f->steps[step].joined; i++) {
      bsm_step_order_add_memory(&f->order, step, step + i, f->from);
    }
  }
  if (needs_lane(&f->steps[step])) take_lane(f, step);
  return note_waits(f, step);
}

static void begin_stretch(finder *f, uint32_t from) {
  f->from = from;
  f->wall = NOBODY;
  for (int i = 0; i < BSM_DEVICE_LANES; i++) f->last[i] = NOBODY;
}

static bsm_status add_steps(finder *f) {
  const bsm_plan *plan = f->plan;
  begin_stretch(f, 0);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (bsm_step_is_recordable(&plan->steps[i])) {
      BSM_TRY(add_step(f, i));
    } else {
      f->found->first[i] = (uint32_t)f->waits.len;
      begin_stretch(f, i + 1);
    }
  }
  f->found->first[plan->step_count] = (uint32_t)f->waits.len;
  f->found->waits = f->waits.items;
  return BSM_OK;
}

static bsm_status place_lanes(const finder *f, size_t *scratch_size) {
  size_t at = 0;
  for (int i = 0; i < BSM_DEVICE_LANES; i++) {
    f->found->scratch[i] = at;
    if (!bsm_size_add(at, f->room[i], &at) ||
        !bsm_size_align(at, BSM_ALIGNMENT, &at)) {
      return BSM_FAIL(BSM_LIMIT, "the scratch memory is too large");
    }
  }
  *scratch_size = at;
  return BSM_OK;
}

static bsm_status find(finder *f, bsm_arena *scratch, size_t *scratch_size,
                       bsm_branches **out) {
  const size_t count = (size_t)f->plan->step_count + 1;
  BSM_TRY(make_order(f, scratch));
  f->found = BSM_NEW(f->arena, bsm_branches);
  BSM_TRY_ALLOC(f->found);
  f->found->first = BSM_NEW_ARRAY(f->arena, uint32_t, count);
  f->found->lanes = BSM_NEW_ARRAY(f->arena, uint8_t, count);
  f->found->scratch = BSM_NEW_ARRAY(f->arena, size_t, BSM_DEVICE_LANES);
  if (!f->found->first || !f->found->lanes || !f->found->scratch) {
    return BSM_FAIL_OOM();
  }
  BSM_TRY(add_steps(f));
  if (!f->branches) return BSM_OK;
  BSM_TRY(place_lanes(f, scratch_size));
  *out = f->found;
  return BSM_OK;
}

bsm_status bsm_branches_find(const bsm_plan *plan,
                             const bsm_prepared_step *steps, bsm_arena *arena,
                             size_t *scratch_size, bsm_branches **out) {
  finder f = {.plan = plan, .steps = steps, .arena = arena};
  bsm_arena scratch;
  *out = NULL;
  if (plan->step_count > BSM_STEP_ORDER_LIMIT) return BSM_OK;
  bsm_arena_init(&scratch, NULL);
  bsm_status status = find(&f, &scratch, scratch_size, out);
  bsm_arena_destroy(&scratch);
  return status;
}
