/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator with a limit. A file of few bytes can make loading, compiling
 * and planning ask for any amount of memory: they then fail before the machine
 * runs out. Arenas whose memory outlives the guard, as that of an engine, have
 * another allocator and are counted here as long as they are made
 * (bsm_arena_set_guard). One thread at a time uses it. */
#ifndef BSM_BASE_MEMORY_GUARD_H_
#define BSM_BASE_MEMORY_GUARD_H_

#include <stdbool.h>
#include <stddef.h>

#include "bessemer/allocator.h"
#include "bessemer/status.h"

typedef struct bsm_memory_guard {
  bsm_allocator allocator; /* use this */
  const bsm_allocator *base;
  size_t limit, used; /* bytes; the limit may be changed */
  bool refused;       /* an allocation was refused */
} bsm_memory_guard;

/* The guard may not move while memory of it is in use. `base` NULL: malloc. */
void bsm_memory_guard_init(bsm_memory_guard *guard, const bsm_allocator *base,
                           size_t limit);
/* Whether there is room for so much more. */
static inline bool bsm_memory_guard_has_room(const bsm_memory_guard *guard,
                                             size_t bytes) {
  return guard->used <= guard->limit && bytes <= guard->limit - guard->used;
}
/* The same, and notes it when there is not. */
static inline bool bsm_memory_guard_allows(bsm_memory_guard *guard,
                                           size_t bytes) {
  const bool fits = bsm_memory_guard_has_room(guard, bytes);
  if (!fits) guard->refused = true;
  return fits;
}
/* Turns BSM_OUT_OF_MEMORY into BSM_LIMIT when the guard refused an allocation
 * since it was asked last. `what` takes too much, and `advice` says what to do.
 */
BSM_NODISCARD bsm_status bsm_memory_guard_status(bsm_memory_guard *guard,
                                                 const char *what,
                                                 const char *advice,
                                                 bsm_status status);

#endif /* BSM_BASE_MEMORY_GUARD_H_ */
