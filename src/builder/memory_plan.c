/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the buffers of the workspaces their offsets, for each space separately.
 *
 * A buffer lives from the first step that uses it to the last. Buffers whose
 * lifetimes overlap get disjoint memory: the largest is placed first, each at
 * the lowest offset that fits. An element-wise step, a softmax or a
 * normalization may overwrite an input when nothing reads that input later and
 * both have the same layout. A scatter may overwrite its data when no other
 * input shares that memory.
 *
 * On a device steps may run beside each other (engine/step_order.h). So small
 * buffers there have memory in common only when all steps that use the one
 * follow all that use the other; steps that write large ones fill the device,
 * and are not worth memory. */
#include <stdlib.h>

#include "base/checked.h"
#include "builder/emitter.h"
#include "engine/step_order.h"

static uint32_t root_of(const bsm_emitter *e, uint32_t buffer) {
  while (e->buffers.items[buffer].merged_into != buffer) {
    buffer = e->buffers.items[buffer].merged_into;
  }
  return buffer;
}

/* Whether a tensor is the whole of its workspace buffer. */
static bool covers_buffer(const bsm_emitter *e, const bsm_build_tensor *t) {
  const bsm_buffer *buffer = &e->buffers.items[t->buffer];
  uint64_t bytes = bsm_dtype_size(t->dtype);
  for (int32_t i = 0; i < t->layout.dims.rank; i++) {
    bytes *= (uint64_t)t->layout.dims.d[i];
  }
  return buffer->place == BSM_PLACE_WORKSPACE && t->offset == 0 &&
         bytes == buffer->size && bsm_layout_is_dense(&t->layout);
}

/* Lets the output of step `index` use the memory of input `in`. */
static bool try_in_place(bsm_emitter *e, uint32_t index, uint32_t in) {
  const bsm_plan_step *step = &e->steps.items[index];
  const bsm_build_tensor *a = &e->tensors.items[step->inputs[in]];
  const bsm_build_tensor *b = &e->tensors.items[step->outputs[0]];
  const uint32_t from = root_of(e, a->buffer), to = root_of(e, b->buffer);
  if (from == to || a->dtype != b->dtype || !covers_buffer(e, a) ||
      !covers_buffer(e, b) || !bsm_layout_equal(&a->layout, &b->layout)) {
    return false;
  }
  bsm_buffer *source = &e->buffers.items[from];
  bsm_buffer *target = &e->buffers.items[to];
  if (source->last != index || target->first != index) return false;
  /* Not when another input views the same memory in another order. A scatter
   * allows no other view at all, because it reads and writes different
   * elements. */
  for (uint32_t i = 0; i < step->input_count; i++) {
    const bsm_build_tensor *other = &e->tensors.items[step->inputs[i]];
    if (i != in && root_of(e, other->buffer) == from &&
        (step->kind == BSM_STEP_SCATTER ||
         !bsm_layout_equal(&other->layout, &a->layout))) {
      return false;
    }
  }
  target->merged_into = from;
  source->last = target->last;
  return true;
}

static void merge_in_place(bsm_emitter *e) {
  for (uint32_t i = 0; i < e->steps.len; i++) {
    const bsm_plan_step *step = &e->steps.items[i];
    switch (step->kind) {
      case BSM_STEP_SCATTER:
      case BSM_STEP_SOFTMAX:
      case BSM_STEP_NORMALIZATION:
        try_in_place(e, i, 0);
        break;
      case BSM_STEP_ELEMENT_WISE:
        for (uint32_t k = 0; k < step->input_count; k++) {
          if (try_in_place(e, i, k)) break;
        }
        break;
      default:
        break;
    }
  }
}

/* Orders buffers by falling size, then by first use, so that the order is the
 * same on every machine. */
static int by_size(const void *pa, const void *pb) {
  const bsm_buffer *a = *(const bsm_buffer *const *)pa;
  const bsm_buffer *b = *(const bsm_buffer *const *)pb;
  if (a->size != b->size) return a->size < b->size ? 1 : -1;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* ---- steps beside each other ---- */

/* Bytes from which on a buffer is large. */
#define LARGE ((uint64_t)2 << 20)

/* By buffer: the steps that use it, and those that all of these follow. */
typedef struct beside {
  const bsm_buffer *buffers;
  size_t words;             /* 0: steps run one after the other */
  uint64_t *users, *behind; /* rows of bits */
} beside;

static bsm_memory_view view_of(const bsm_emitter *e,
                               const bsm_build_tensor *t) {
  const uint64_t element = bsm_dtype_size(t->dtype);
  const bsm_buffer *buffer = &e->buffers.items[t->buffer];
  return (bsm_memory_view){
      .memory = BSM_MEMORY_CALLERS + 1 + root_of(e, t->buffer),
      .offset = (uint64_t)t->offset * element,
      .element = buffer->place == BSM_PLACE_WEIGHTS ? 0 : element,
      .layout = t->layout};
}

/* Steps of the host have none beside them. */
static void order_step(bsm_step_order *order, uint32_t step, uint32_t *from) {
  const bsm_plan_step *s = &order->steps[step];
  if (*from) bsm_step_order_add(order, step, *from - 1);
  if (s->space == BSM_SPACE_DEVICE && s->kind != BSM_STEP_TRANSFER) {
    bsm_step_order_add_memory(order, step, step, *from);
    return;
  }
  for (uint32_t j = step; j-- > *from;) {
    if (!bsm_step_order_follows(order, step, j)) {
      bsm_step_order_add(order, step, j);
    }
  }
  *from = step + 1;
}

static bsm_status order_steps(bsm_emitter *e, bsm_step_order *order) {
  bsm_memory_view *views =
      BSM_NEW_ARRAY(e->scratch, bsm_memory_view, e->tensors.len + 1);
  BSM_TRY_ALLOC(views);
  for (size_t i = 0; i < e->tensors.len; i++) {
    views[i] = view_of(e, &e->tensors.items[i]);
  }
  BSM_TRY(bsm_step_order_init(order, e->steps.items, (uint32_t)e->steps.len,
                              views, e->scratch));
  uint32_t from = 0;
  for (uint32_t i = 0; i < order->count; i++) order_step(order, i, &from);
  return BSM_OK;
}

static void note_user(const bsm_emitter *e, beside *out,
                      const bsm_step_order *order, uint32_t step,
                      uint32_t tensor) {
  const uint32_t buffer = root_of(e, e->tensors.items[tensor].buffer);
  uint64_t *users = out->users + out->words * buffer;
  uint64_t *behind = out->behind + out->words * buffer;
  users[step / 64] |= (uint64_t)1 << (step % 64);
  for (size_t i = 0; i < out->words; i++) {
    behind[i] &= order->rows[order->words * step + i];
  }
}

static bsm_status find_beside(bsm_emitter *e, bsm_memory_space space,
                              beside *out) {
  bsm_step_order order;
  *out = (beside){.buffers = e->buffers.items};
  if (space != BSM_SPACE_DEVICE || e->steps.len > BSM_STEP_ORDER_LIMIT) {
    return BSM_OK;
  }
  BSM_TRY(order_steps(e, &order));
  const size_t bits = order.words * e->buffers.len;
  out->words = order.words;
  out->users = BSM_NEW_ARRAY(e->scratch, uint64_t, bits + 1);
  out->behind = BSM_NEW_ARRAY(e->scratch, uint64_t, bits + 1);
  if (!out->users || !out->behind) return BSM_FAIL_OOM();
  for (size_t i = 0; i < bits; i++) out->behind[i] = UINT64_MAX;
  for (uint32_t i = 0; i < order.count; i++) {
    const bsm_plan_step *step = &e->steps.items[i];
    for (uint32_t k = 0; k < step->input_count; k++) {
      note_user(e, out, &order, i, step->inputs[k]);
    }
    for (uint32_t k = 0; k < step->output_count; k++) {
      note_user(e, out, &order, i, step->outputs[k]);
    }
  }
  return BSM_OK;
}

static bool all_follow(const beside *s, size_t a, size_t b) {
  const uint64_t *users = s->users + s->words * a;
  const uint64_t *behind = s->behind + s->words * b;
  for (size_t i = 0; i < s->words; i++) {
    if (users[i] & ~behind[i]) return false;
  }
  return true;
}

/* ---- places ---- */

static bool lives_overlap(const beside *s, const bsm_buffer *a,
                          const bsm_buffer *b) {
  if (a->first <= b->last && b->first <= a->last) return true;
  if (!s->words || a->size >= LARGE || b->size >= LARGE) return false;
  const size_t i = (size_t)(a - s->buffers), j = (size_t)(b - s->buffers);
  return !all_follow(s, i, j) && !all_follow(s, j, i);
}

/* The lowest offset at which `size` bytes are free among the placed buffers
 * that live at the same time. `placed` is sorted by offset. */
static bsm_status place(const beside *steps, const bsm_buffer *buffer,
                        bsm_buffer *const *placed, size_t count,
                        uint64_t *out) {
  uint64_t at = 0;
  size_t size;
  if (!bsm_size_align((size_t)buffer->size, BSM_ALIGNMENT, &size)) {
    return BSM_FAIL(BSM_LIMIT, "a buffer of %llu bytes is too large",
                    (unsigned long long)buffer->size);
  }
  for (size_t i = 0; i < count; i++) {
    const bsm_buffer *other = placed[i];
    if (!lives_overlap(steps, buffer, other)) continue;
    if (at + size <= other->offset) break;
    size_t end;
    if (!bsm_size_align((size_t)(other->offset + other->size), BSM_ALIGNMENT,
                        &end)) {
      return BSM_FAIL(BSM_LIMIT, "the workspace is too large");
    }
    if (end > at) at = end;
  }
  *out = at;
  return BSM_OK;
}

/* The buffers of one space. */
static bsm_status plan_space(bsm_emitter *e, bsm_memory_space space,
                             uint64_t *workspace) {
  const size_t n = e->buffers.len;
  bsm_buffer **sorted = BSM_NEW_ARRAY(e->scratch, bsm_buffer *, n + 1);
  bsm_buffer **placed = BSM_NEW_ARRAY(e->scratch, bsm_buffer *, n + 1);
  beside steps;
  if (!sorted || !placed) return BSM_FAIL_OOM();
  BSM_TRY(find_beside(e, space, &steps));
  size_t count = 0, placed_count = 0;
  for (uint32_t i = 0; i < n; i++) {
    bsm_buffer *b = &e->buffers.items[i];
    if (b->space == space && b->place == BSM_PLACE_WORKSPACE &&
        b->merged_into == i && b->first <= b->last) {
      sorted[count++] = b;
    }
  }
  qsort(sorted, count, sizeof(*sorted), by_size);
  for (size_t i = 0; i < count; i++) {
    bsm_buffer *b = sorted[i];
    uint64_t end;
    BSM_TRY(place(&steps, b, placed, placed_count, &b->offset));
    if (__builtin_add_overflow(b->offset, b->size, &end)) {
      return BSM_FAIL(BSM_LIMIT, "the workspace is too large");
    }
    if (end > *workspace) *workspace = end;
    size_t at = placed_count++;
    for (; at > 0 && placed[at - 1]->offset > b->offset; at--) {
      placed[at] = placed[at - 1];
    }
    placed[at] = b;
  }
  return BSM_OK;
}

bsm_status bsm_plan_memory(bsm_emitter *e, uint64_t *sizes) {
  merge_in_place(e);
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    sizes[i] = 0;
    BSM_TRY(plan_space(e, (bsm_memory_space)i, &sizes[i]));
  }
  for (uint32_t i = 0; i < e->buffers.len; i++) {
    bsm_buffer *b = &e->buffers.items[i];
    if (b->place == BSM_PLACE_WORKSPACE) {
      b->offset = e->buffers.items[root_of(e, i)].offset;
    }
  }
  return BSM_OK;
}
