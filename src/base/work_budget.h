/* SPDX-License-Identifier: Apache-2.0 */
/* A budget of work: multiply-adds, or elements visited, which is what bounds
 * the time of computing where memory does not. It is counted, not timed, so
 * that what is refused does not depend on the machine. */
#ifndef BSM_BASE_WORK_BUDGET_H_
#define BSM_BASE_WORK_BUDGET_H_

#include <stdbool.h>
#include <stdint.h>

#include "bessemer/status.h"

struct bsm_memory_guard;

typedef struct bsm_work_budget {
  double limit, left; /* doubles, as products of sizes may be of any size */
  /* Of it, for what is small: what is large may be refused and then done
   * without, what is small can seldom be. */
  double kept;
  bool refused;      /* something was too much; the user resets it */
  uint64_t refusals; /* how often */
  /* What limits the memory of results; NULL: nothing. Those it has no room for
   * are left to the engine, too, as long as they all take so much there. */
  struct bsm_memory_guard *memory;
  double may_be_left; /* bytes */
  uint64_t too_large; /* how many were left for their size */
} bsm_work_budget;

/* Takes `amount` of what is left; takes nothing and is BSM_LIMIT when that is
 * less. */
BSM_NODISCARD bsm_status bsm_work_budget_charge(bsm_work_budget *work,
                                                double amount);

#endif /* BSM_BASE_WORK_BUDGET_H_ */
