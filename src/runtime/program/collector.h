/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the garbage of programs: live values are copied from one arena to
 * another, and the first can be emptied. Identity and sharing are kept: two
 * values that were one list, or views of one storage, still are. */
#ifndef BSM_RUNTIME_PROGRAM_COLLECTOR_H_
#define BSM_RUNTIME_PROGRAM_COLLECTOR_H_

#include "aten/ivalue.h"
#include "base/strings.h"

typedef struct bsm_collector {
  const bsm_arena *from; /* lists and dicts of other arenas are not moved */
  bsm_arena *to;
  const bsm_tensor *constants; /* tensors that are not moved */
  size_t constant_count;
  bsm_ptrmap moved; /* old address -> new */
} bsm_collector;

/* Moves the values; may be called again for others that share with them.
 * BSM_LIMIT: they nest too deep. */
BSM_NODISCARD bsm_status bsm_collector_move(bsm_collector *collector,
                                            bsm_ivalue *values, size_t n);

#endif /* BSM_RUNTIME_PROGRAM_COLLECTOR_H_ */
