/* SPDX-License-Identifier: Apache-2.0 */
/* Each block of memory has its size in front, so that freeing knows the size.
 */
#include "base/memory_guard.h"

#include <stdalign.h>
#include <stdint.h>

#include "base/allocate.h"
#include "base/checked.h"

/* In front of each block: the size asked of the base allocator, and its
 * address. */
typedef struct head {
  void *base;
  size_t size;
} head;

static void *guarded_alloc(void *user, size_t size, size_t alignment) {
  bsm_memory_guard *g = user;
  const size_t least = alignof(max_align_t);
  const size_t unit = alignment > least ? alignment : least;
  size_t room, total;
  if (!bsm_size_align(sizeof(head), unit, &room) ||
      !bsm_size_add(size, room, &total)) {
    return NULL;
  }
  if (!bsm_memory_guard_allows(g, total)) return NULL;
  uint8_t *base = bsm_allocate(g->base, total, unit);
  if (!base) return NULL;
  g->used += total;
  head *h = (head *)(void *)(base + room) - 1;
  *h = (head){base, total};
  return base + room;
}

static void guarded_free(void *user, void *pointer) {
  bsm_memory_guard *g = user;
  if (!pointer) return;
  const head h = ((const head *)pointer)[-1];
  g->used -= h.size;
  bsm_deallocate(g->base, h.base);
}

void bsm_memory_guard_init(bsm_memory_guard *guard, const bsm_allocator *base,
                           size_t limit) {
  *guard = (bsm_memory_guard){
      {guarded_alloc, guarded_free, guard}, base, limit, 0, false};
}

bsm_status bsm_memory_guard_status(bsm_memory_guard *guard, const char *what,
                                   const char *advice, bsm_status status) {
  const bool refused = guard->refused;
  guard->refused = false;
  if (!refused || bsm_status_code(status) != BSM_OUT_OF_MEMORY) return status;
  bsm_status_free(status);
  return BSM_FAIL(BSM_LIMIT, "%s takes more than %zu bytes%s", what,
                  guard->limit, advice);
}
