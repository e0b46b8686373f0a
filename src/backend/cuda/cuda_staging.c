/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers between a GPU and memory of the host that is not pinned. The driver
 * would wait: until it has read the memory, or, for downloads, until all work
 * before them is done. So they go through pieces of pinned memory, which belong
 * to the stream and are used again. An upload is copied to a piece at once; a
 * download is copied from its piece when somebody waits for the stream, or when
 * the piece is needed. Large arrays take several pieces, so that the host
 * copies one while the device copies another. */
#include <string.h>

#include "backend/cuda/cuda_internal.h"
#include "base/allocate.h"

/* Of one piece, and of all pieces of a stream: bytes. */
#define LEAST_PIECE ((size_t)16 << 10)
#define LARGEST_PIECE ((size_t)2 << 20)
#define MOST ((size_t)16 << 20)

struct bsm_cuda_piece {
  bsm_cuda_piece *next;
  void *memory;
  size_t room;
  bsm_cu_event event; /* behind the copy by the device */
  void *to;           /* of a download; NULL: it was an upload */
  size_t bytes;
};

/* ---- pieces ---- */

static void destroy_piece(bsm_cuda_device *d, bsm_cuda_stream *s,
                          bsm_cuda_piece *p) {
  if (p->event) (void)d->driver.event_destroy(p->event);
  if (p->memory) (void)d->driver.host_free(p->memory);
  bsm_deallocate(s->allocator, p);
}

static void drop_spare(bsm_cuda_device *d, bsm_cuda_stream *s) {
  while (s->staging.spare) {
    bsm_cuda_piece *p = s->staging.spare;
    s->staging.spare = p->next;
    s->staging.room -= p->room;
    destroy_piece(d, s, p);
  }
}

static bsm_status make_piece(bsm_cuda_device *d, bsm_cuda_piece *p) {
  BSM_TRY_CUDA(&d->driver, host_allocate, &p->memory, p->room,
               BSM_CU_HOST_ALLOC_PORTABLE);
  BSM_TRY_CUDA(&d->driver, event_create, &p->event,
               BSM_CU_EVENT_DISABLE_TIMING);
  return BSM_OK;
}

/* NULL: there is no memory for it. */
static bsm_cuda_piece *new_piece(bsm_cuda_device *d, bsm_cuda_stream *s,
                                 size_t room) {
  bsm_cuda_piece *p =
      bsm_allocate(s->allocator, sizeof(*p), _Alignof(bsm_cuda_piece));
  if (!p) return NULL;
  *p = (bsm_cuda_piece){.room = room};
  bsm_status status = make_piece(d, p);
  if (status) {
    bsm_status_free(status);
    destroy_piece(d, s, p);
    return NULL;
  }
  s->staging.room += room;
  return p;
}

/* The first piece in the stream has been copied by the device. */
static void finish_first(bsm_cuda_stream *s) {
  bsm_cuda_piece *p = s->staging.first;
  s->staging.first = p->next;
  if (!p->next) s->staging.last = NULL;
  if (p->to) memcpy(p->to, p->memory, p->bytes);
  p->next = s->staging.spare;
  s->staging.spare = p;
}

void bsm_cuda_staging_finish(bsm_cuda_stream *s) {
  while (s->staging.first) finish_first(s);
}

void bsm_cuda_staging_abandon(bsm_cuda_stream *s) {
  for (bsm_cuda_piece *p = s->staging.first; p; p = p->next) p->to = NULL;
}

bsm_status bsm_cuda_staging_advance(bsm_cuda_device *d, bsm_cuda_stream *s) {
  while (s->staging.first) {
    const bsm_cu_result result = d->driver.event_query(s->staging.first->event);
    if (result == BSM_CU_NOT_READY) return BSM_OK;
    BSM_TRY(bsm_cuda_status(&d->driver, result, "event_query"));
    finish_first(s);
  }
  return BSM_OK;
}

void bsm_cuda_staging_destroy(bsm_cuda_device *d, bsm_cuda_stream *s) {
  bsm_cuda_staging_finish(s);
  drop_spare(d, s);
}

static bsm_cuda_piece *take_spare(bsm_cuda_stream *s, size_t bytes) {
  for (bsm_cuda_piece **at = &s->staging.spare; *at; at = &(*at)->next) {
    bsm_cuda_piece *p = *at;
    if (p->room < bytes) continue;
    *at = p->next;
    return p;
  }
  return NULL;
}

/* A piece for so many bytes; waits for the first one in the stream when all
 * room is in use. *out is NULL when there is no pinned memory. */
static bsm_status take_piece(bsm_cuda_device *d, bsm_cuda_stream *s,
                             size_t bytes, bsm_cuda_piece **out) {
  size_t room = LEAST_PIECE;
  while (room < bytes) room *= 2;
  for (;;) {
    BSM_TRY(bsm_cuda_staging_advance(d, s));
    *out = take_spare(s, bytes);
    if (*out) return BSM_OK;
    if (s->staging.room + room <= MOST) {
      *out = new_piece(d, s, room);
      return BSM_OK;
    }
    if (s->staging.spare) {
      drop_spare(d, s); /* all too small */
    } else {
      BSM_TRY_CUDA(&d->driver, event_synchronize, s->staging.first->event);
    }
  }
}

/* Behind what was given to the stream. */
static bsm_status put_piece(bsm_cuda_device *d, bsm_cuda_stream *s,
                            bsm_cuda_piece *p, void *to, size_t bytes) {
  p->to = to;
  p->bytes = bytes;
  p->next = NULL;
  *(s->staging.last ? &s->staging.last->next : &s->staging.first) = p;
  s->staging.last = p;
  bsm_status status = bsm_cuda_status(
      &d->driver, d->driver.event_record(p->event, s->stream), "event_record");
  if (status) { /* no event tells when the piece is free */
    p->to = NULL;
    (void)d->driver.stream_synchronize(s->stream);
  }
  return status;
}

/* ---- transfers ---- */

/* Memory that the device can copy by itself: the driver knows it. */
static bool is_pinned(const bsm_cuda_device *d, const void *host) {
  int type = 0;
  return d->driver.pointer_attribute(&type, BSM_CU_POINTER_MEMORY_TYPE,
                                     (bsm_cu_address)(uintptr_t)host) ==
         BSM_CU_SUCCESS;
}

/* A download that is on its way to this memory comes first. */
static bsm_status settle(bsm_cuda_device *d, bsm_cuda_stream *s,
                         const void *host, size_t bytes) {
  const uintptr_t from = (uintptr_t)host;
  const bsm_cuda_piece *last = NULL;
  for (const bsm_cuda_piece *p = s->staging.first; p; p = p->next) {
    const uintptr_t to = (uintptr_t)p->to;
    if (to && to < from + bytes && from < to + p->bytes) last = p;
  }
  if (!last) return BSM_OK;
  BSM_TRY_CUDA(&d->driver, event_synchronize, last->event);
  return bsm_cuda_staging_advance(d, s);
}

static bsm_status upload_directly(bsm_cuda_device *d, bsm_cuda_stream *s,
                                  bsm_cu_address to, const void *from,
                                  size_t bytes) {
  BSM_TRY_CUDA(&d->driver, upload_async, to, from, bytes, s->stream);
  return BSM_OK;
}

static bsm_status download_directly(bsm_cuda_device *d, bsm_cuda_stream *s,
                                    void *to, bsm_cu_address from,
                                    size_t bytes) {
  BSM_TRY_CUDA(&d->driver, download_async, to, from, bytes, s->stream);
  return BSM_OK;
}

bsm_status bsm_cuda_stage_upload(bsm_cuda_device *d, bsm_cuda_stream *s,
                                 bsm_cu_address to, const void *from,
                                 size_t bytes) {
  const uint8_t *at = from;
  BSM_TRY(settle(d, s, from, bytes));
  if (is_pinned(d, from)) return upload_directly(d, s, to, from, bytes);
  while (bytes) {
    const size_t n = bytes < LARGEST_PIECE ? bytes : LARGEST_PIECE;
    bsm_cuda_piece *p;
    BSM_TRY(take_piece(d, s, n, &p));
    if (!p) return upload_directly(d, s, to, at, bytes);
    memcpy(p->memory, at, n);
    bsm_status status = upload_directly(d, s, to, p->memory, n);
    bsm_status put = put_piece(d, s, p, NULL, n);
    if (status) bsm_status_free(put);
    BSM_TRY(status ? status : put);
    at += n;
    to += n;
    bytes -= n;
  }
  return BSM_OK;
}

bsm_status bsm_cuda_stage_download(bsm_cuda_device *d, bsm_cuda_stream *s,
                                   void *to, bsm_cu_address from,
                                   size_t bytes) {
  uint8_t *at = to;
  BSM_TRY(settle(d, s, to, bytes));
  if (is_pinned(d, to)) return download_directly(d, s, to, from, bytes);
  while (bytes) {
    const size_t n = bytes < LARGEST_PIECE ? bytes : LARGEST_PIECE;
    bsm_cuda_piece *p;
    BSM_TRY(take_piece(d, s, n, &p));
    if (!p) return download_directly(d, s, at, from, bytes);
    bsm_status status = download_directly(d, s, p->memory, from, n);
    bsm_status put = put_piece(d, s, p, status ? NULL : at, n);
    if (status) bsm_status_free(put);
    BSM_TRY(status ? status : put);
    at += n;
    from += n;
    bytes -= n;
  }
  return BSM_OK;
}
