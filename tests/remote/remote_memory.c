/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is mapped twice: see remote.h. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/allocate.h"
#include "tests/remote/remote_internal.h"

/* Maps the file of a piece twice, the second time before a page without
 * access. The first mapping has no rights, the second all. */
static bool map_twice(remote_piece *piece, size_t page) {
  const int file = memfd_create("remote", MFD_CLOEXEC);
  if (file < 0) return false;
  bool ok = ftruncate(file, (off_t)piece->map_size) == 0;
  void *far = MAP_FAILED, *room = MAP_FAILED;
  if (ok) {
    far = mmap(NULL, piece->map_size, PROT_NONE, MAP_SHARED, file, 0);
    room = mmap(NULL, piece->map_size + page, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ok = far != MAP_FAILED && room != MAP_FAILED &&
         mmap(room, piece->map_size, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_FIXED, file, 0) == room;
  }
  close(file);
  if (!ok) {
    if (far != MAP_FAILED) munmap(far, piece->map_size);
    if (room != MAP_FAILED) munmap(room, piece->map_size + page);
    return false;
  }
  piece->far = far;
  piece->near = room;
  return true;
}

bsm_status remote_allocate(bsm_device *device, const bsm_allocator *host,
                           size_t bytes, size_t alignment, void **out) {
  remote_device *d = (remote_device *)device;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  (void)host;
  *out = NULL;
  if (bytes > SIZE_MAX / 2 || alignment > page || alignment == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%zu bytes aligned to %zu", bytes,
                    alignment);
  }
  if (remote_shall_fail(REMOTE_FAULT_ALLOCATION)) {
    return BSM_FAIL(BSM_OUT_OF_MEMORY, "the remote device is full");
  }
  remote_piece *piece =
      bsm_allocate(d->allocator, sizeof(*piece), _Alignof(remote_piece));
  BSM_TRY_ALLOC(piece);
  *piece = (remote_piece){.size = bytes};
  piece->map_size = (bytes + alignment + page - 1) / page * page;
  piece->offset = (piece->map_size - bytes) / alignment * alignment;
  if (!map_twice(piece, page)) {
    bsm_deallocate(d->allocator, piece);
    return BSM_FAIL_OOM();
  }
  memset(piece->near, 0xcd, piece->map_size);
  pthread_mutex_lock(&d->lock);
  piece->next = d->pieces;
  d->pieces = piece;
  pthread_mutex_unlock(&d->lock);
  remote_count(1);
  *out = piece->far + piece->offset;
  return BSM_OK;
}

void remote_release(bsm_device *device, const bsm_allocator *host,
                    void *memory) {
  remote_device *d = (remote_device *)device;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  (void)host;
  if (!memory) return;
  pthread_mutex_lock(&d->lock);
  remote_piece **at = &d->pieces;
  while (*at && (*at)->far + (*at)->offset != memory) at = &(*at)->next;
  remote_piece *piece = *at;
  if (piece) *at = piece->next;
  pthread_mutex_unlock(&d->lock);
  if (!piece) __builtin_trap(); /* not memory of this device: a wrong test */
  munmap(piece->far, piece->map_size);
  munmap(piece->near, piece->map_size + page);
  bsm_deallocate(d->allocator, piece);
  remote_count(-1);
}

bsm_status remote_near(remote_device *d, const void *address, uint64_t bytes,
                       uint8_t **out) {
  const uint8_t *a = address;
  *out = NULL;
  pthread_mutex_lock(&d->lock);
  for (const remote_piece *p = d->pieces; p && !*out; p = p->next) {
    const uint8_t *first = p->far + p->offset;
    if (a >= first && a <= first + p->size &&
        bytes <= (uint64_t)(first + p->size - a)) {
      *out = p->near + (a - p->far);
    }
  }
  pthread_mutex_unlock(&d->lock);
  return *out ? BSM_OK
              : BSM_FAIL(BSM_INTERNAL,
                         "%llu bytes at %p are not memory of the device",
                         (unsigned long long)bytes, address);
}
