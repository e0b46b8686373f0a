/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps have to end before which others begin, as far as memory says so:
 * one of two steps that touch the same bytes writes them. Steps that neither
 * way have to may run beside each other. */
#ifndef BSM_ENGINE_STEP_ORDER_H_
#define BSM_ENGINE_STEP_ORDER_H_

#include "engine/plan.h"

/* Where a tensor is, in bytes. */
typedef struct bsm_memory_view {
  /* Two views overlap only in the same memory, or when one is in
   * BSM_MEMORY_CALLERS and the other in memory above it. */
  uint32_t memory;
  uint64_t offset;
  uint64_t element; /* bytes; 0: the view touches nothing */
  bsm_layout layout;
} bsm_memory_view;
enum {
  BSM_MEMORY_WORKSPACE = 0,
  BSM_MEMORY_CALLERS = 1 /* which may be that of outputs, too */
};

/* Whether two views may have bytes in common. Views of which each has some of
 * the columns of the same rows, as parts of a concatenation do, have none. */
bool bsm_memory_views_overlap(const bsm_memory_view *a,
                              const bsm_memory_view *b);

/* Steps of which each follows some of those ahead of it, directly or not. */
typedef struct bsm_step_order {
  const bsm_plan_step *steps;
  uint32_t count;
  const bsm_memory_view *views; /* by tensor of the steps */
  size_t words;                 /* of a row of bits */
  uint64_t *rows;               /* by step: those that it follows */
} bsm_step_order;

/* Orders have a bit for each two steps. */
#define BSM_STEP_ORDER_LIMIT 4096

BSM_NODISCARD bsm_status bsm_step_order_init(bsm_step_order *order,
                                             const bsm_plan_step *steps,
                                             uint32_t count,
                                             const bsm_memory_view *views,
                                             bsm_arena *arena);
bool bsm_step_order_follows(const bsm_step_order *order, uint32_t step,
                            uint32_t earlier);
/* `step` follows `earlier`, too, and all that this one does: it must not be
 * given any more to follow itself. */
void bsm_step_order_add(bsm_step_order *order, uint32_t step, uint32_t earlier);
/* Adds what the memory of step `whose` says, which `step` or one behind it is,
 * for all steps ahead of `step` from `from` on. */
void bsm_step_order_add_memory(bsm_step_order *order, uint32_t step,
                               uint32_t whose, uint32_t from);

#endif /* BSM_ENGINE_STEP_ORDER_H_ */
