/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of arrays whose elements are apart, for arrays of the caller: engines
 * need not carry a kernel for them. The driver copies rows at fixed distances;
 * what an array has beyond that are several such copies. */
#include "backend/cuda/cuda_internal.h"

#define MAX_PITCH INT32_MAX
/* Of the driver, for one array: each takes a few microseconds. */
#define MAX_COPIES ((int64_t)1 << 20)

typedef struct axis {
  int64_t size, to, from; /* distances in bytes */
} axis;

typedef struct axes {
  axis a[BSM_MAX_RANK];
  int count;
} axes;

/* Neighbours that are one axis on both sides become one. */
static axes list_axes(const bsm_strided_copy *c) {
  axes list = {.count = 0};
  for (int32_t i = 0; i < c->dims.rank; i++) {
    const int64_t element = (int64_t)c->element;
    const axis next = {c->dims.d[i], c->to_strides[i] * element,
                       c->from_strides[i] * element};
    axis *last = list.count ? &list.a[list.count - 1] : NULL;
    if (next.size == 1) continue;
    if (last && last->to == next.to * next.size &&
        last->from == next.from * next.size) {
      *last = (axis){last->size * next.size, next.to, next.from};
    } else {
      list.a[list.count++] = next;
    }
  }
  return list;
}

static void remove_axis(axes *list, int at) {
  list->count--;
  for (int i = at; i < list->count; i++) list->a[i] = list->a[i + 1];
}

/* The bytes of a row: the elements of the last axis, if they are adjacent. */
static int64_t take_row(axes *list, int64_t element) {
  const axis *last = list->count ? &list->a[list->count - 1] : NULL;
  if (!last || last->to != element || last->from != element) return element;
  const int64_t bytes = last->size * element;
  list->count--;
  return bytes;
}

/* The longest axis whose rows do not overlap. */
static axis take_rows(axes *list, int64_t row) {
  int best = -1;
  for (int i = 0; i < list->count; i++) {
    const axis *a = &list->a[i];
    if (a->to < row || a->from < row || a->to > MAX_PITCH ||
        a->from > MAX_PITCH) {
      continue;
    }
    if (best < 0 || a->size > list->a[best].size) best = i;
  }
  if (best < 0) return (axis){1, row, row};
  const axis rows = list->a[best];
  remove_axis(list, best);
  return rows;
}

static bsm_status copy_rows(bsm_cuda_device *d, bsm_cuda_stream *s, uint64_t to,
                            uint64_t from, axis rows, int64_t row) {
  const bsm_cu_copy_2d copy = {.from_type = BSM_CU_MEMORY_TYPE_DEVICE,
                               .from = from,
                               .from_pitch = (size_t)rows.from,
                               .to_type = BSM_CU_MEMORY_TYPE_DEVICE,
                               .to = to,
                               .to_pitch = (size_t)rows.to,
                               .width = (size_t)row,
                               .height = (size_t)rows.size};
  BSM_TRY_CUDA(&d->driver, copy_2d_async, &copy, s->stream);
  return BSM_OK;
}

static bsm_status copy_all(bsm_cuda_device *d, bsm_cuda_stream *s,
                           const bsm_strided_copy *c) {
  axes outer = list_axes(c);
  const int64_t row = take_row(&outer, (int64_t)c->element);
  const axis rows = take_rows(&outer, row);
  int64_t count = 1;
  for (int i = 0; i < outer.count && count <= MAX_COPIES; i++) {
    count *= outer.a[i].size;
  }
  if (count > MAX_COPIES) {
    return BSM_FAIL(BSM_LIMIT,
                    "an array whose elements lie too far apart to copy it: "
                    "make it contiguous before the run");
  }
  for (int64_t k = 0; k < count; k++) {
    uint64_t to = (uint64_t)(uintptr_t)c->to;
    uint64_t from = (uint64_t)(uintptr_t)c->from;
    int64_t rest = k;
    for (int i = outer.count - 1; i >= 0; i--) {
      const int64_t at = rest % outer.a[i].size;
      rest /= outer.a[i].size;
      to += (uint64_t)(at * outer.a[i].to);
      from += (uint64_t)(at * outer.a[i].from);
    }
    BSM_TRY(copy_rows(d, s, to, from, rows, row));
  }
  return BSM_OK;
}

bsm_status bsm_cuda_copy_strided(bsm_stream *stream,
                                 const bsm_strided_copy *copy) {
  for (int32_t i = 0; i < copy->dims.rank; i++) {
    if (copy->dims.d[i] == 0) return BSM_OK;
  }
  BSM_CUDA_INSIDE(bsm_cuda_device_of(stream->device),
                  copy_all(inside_, (bsm_cuda_stream *)stream, copy));
}
