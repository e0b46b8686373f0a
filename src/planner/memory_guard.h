/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that gives no more than so much: planning, which a file of few
 * bytes can make ask for anything, fails before the machine does. */
#ifndef BSM_PLANNER_MEMORY_GUARD_H_
#define BSM_PLANNER_MEMORY_GUARD_H_

#include <stdbool.h>
#include <stddef.h>

#include "bessemer/allocator.h"
#include "bessemer/status.h"

typedef struct bsm_memory_guard {
  bsm_allocator allocator; /* use this */
  const bsm_allocator *base;
  size_t limit, used; /* bytes; the limit may be changed */
  bool refused;       /* it has said no */
} bsm_memory_guard;

/* Stays where it is while memory of it is in use. `base` NULL: malloc. */
void bsm_memory_guard_init(bsm_memory_guard *guard, const bsm_allocator *base,
                           size_t limit);
/* A failure for want of memory that was refused here becomes BSM_LIMIT. */
BSM_NODISCARD bsm_status bsm_memory_guard_status(const bsm_memory_guard *guard,
                                                 bsm_status status);

#endif /* BSM_PLANNER_MEMORY_GUARD_H_ */
