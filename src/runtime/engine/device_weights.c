/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads each weight of an engine once. A table of the blocks of the host's
 * memory that hold weights, sorted by address, has their copies. */
#include "runtime/engine/device_weights.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/allocate.h"

/* A block of the host's memory, and its copy on the device. */
typedef struct piece {
  const uint8_t *from;
  uint64_t size;
  void *copy; /* NULL until it is needed */
} piece;

struct bsm_device_weights {
  bsm_device *device;
  const bsm_allocator *allocator;
  bsm_arena arena;
  pthread_mutex_t lock; /* of the copies */
  piece *pieces;        /* sorted by address; they do not overlap */
  size_t count;
};

static int by_address(const void *pa, const void *pb) {
  const piece *a = pa, *b = pb;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return a->size < b->size ? 1 : a->size > b->size ? -1 : 0;
}

/* Parts share weights, and a file that was tampered with may have overlapping
 * ones. */
static void merge(bsm_device_weights *w) {
  size_t kept = 0;
  qsort(w->pieces, w->count, sizeof(*w->pieces), by_address);
  for (size_t i = 0; i < w->count; i++) {
    const piece *next = &w->pieces[i];
    piece *last = kept ? &w->pieces[kept - 1] : NULL;
    const uint64_t gap = last ? (uint64_t)(next->from - last->from) : 0;
    if (!last || gap >= last->size) {
      w->pieces[kept++] = *next;
    } else if (gap + next->size > last->size) {
      last->size = gap + next->size;
    }
  }
  w->count = kept;
}

static bsm_status list_pieces(bsm_device_weights *w, const bsm_plan *plan) {
  size_t room = 1;
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    room += bsm_plan_part(plan, k)->weights_count;
  }
  w->pieces = BSM_NEW_ARRAY(&w->arena, piece, room);
  BSM_TRY_ALLOC(w->pieces);
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *part = bsm_plan_part(plan, k);
    for (uint32_t i = 0; i < part->weights_count; i++) {
      const bsm_plan_weights *from = &part->weights[i];
      if (from->size)
        w->pieces[w->count++] = (piece){from->data, from->size, 0};
    }
  }
  merge(w);
  return BSM_OK;
}

bsm_status bsm_device_weights_create(const bsm_plan *plan, bsm_device *device,
                                     const bsm_allocator *allocator,
                                     bsm_device_weights **out) {
  bsm_device_weights *w =
      bsm_allocate(allocator, sizeof(*w), _Alignof(bsm_device_weights));
  *out = NULL;
  BSM_TRY_ALLOC(w);
  *w = (bsm_device_weights){.device = device, .allocator = allocator};
  bsm_arena_init(&w->arena, allocator);
  pthread_mutex_init(&w->lock, NULL);
  bsm_status status = list_pieces(w, plan);
  if (status) {
    bsm_device_weights_destroy(w);
    return status;
  }
  *out = w;
  return BSM_OK;
}

void bsm_device_weights_destroy(bsm_device_weights *w) {
  if (!w) return;
  for (size_t i = 0; i < w->count; i++) {
    w->device->ops->release(w->device, w->allocator, w->pieces[i].copy);
  }
  pthread_mutex_destroy(&w->lock);
  bsm_arena_destroy(&w->arena);
  bsm_deallocate(w->allocator, w);
}

/* The last block that begins at or before `data`. */
static piece *find_piece(const bsm_device_weights *w, const uint8_t *data) {
  size_t from = 0, to = w->count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (w->pieces[middle].from <= data) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from ? &w->pieces[from - 1] : NULL;
}

/* Waits for the copy, so that other streams find it complete. */
static bsm_status upload(const bsm_device_weights *w, bsm_stream *stream,
                         piece *p) {
  const bsm_device_ops *ops = w->device->ops;
  void *copy;
  if (p->copy) return BSM_OK;
  BSM_TRY(ops->allocate(w->device, w->allocator, (size_t)p->size, BSM_ALIGNMENT,
                        &copy));
  bsm_status status = ops->upload(stream, copy, p->from, (size_t)p->size);
  bsm_status waited = ops->synchronize(stream);
  if (!status) {
    status = waited;
  } else {
    bsm_status_free(waited);
  }
  if (status) {
    ops->release(w->device, w->allocator, copy);
    return bsm_status_note(status, "while uploading weights");
  }
  p->copy = copy;
  return BSM_OK;
}

bsm_status bsm_device_weights_find(bsm_device_weights *w, bsm_stream *stream,
                                   const void *data, uint64_t size,
                                   const void **out) {
  piece *p = find_piece(w, data);
  *out = NULL;
  if (!p) return BSM_OK;
  const uint64_t offset = (uint64_t)((const uint8_t *)data - p->from);
  if (offset >= p->size || size > p->size - offset) return BSM_OK;
  pthread_mutex_lock(&w->lock);
  bsm_status status = upload(w, stream, p);
  pthread_mutex_unlock(&w->lock);
  if (!status) *out = (const uint8_t *)p->copy + offset;
  return status;
}

uint64_t bsm_device_weights_bytes(bsm_device_weights *w) {
  uint64_t bytes = 0;
  pthread_mutex_lock(&w->lock);
  for (size_t i = 0; i < w->count; i++) {
    if (w->pieces[i].copy) bytes += w->pieces[i].size;
  }
  pthread_mutex_unlock(&w->lock);
  return bytes;
}
