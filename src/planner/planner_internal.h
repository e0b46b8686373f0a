/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the planner share. */
#ifndef BSM_PLANNER_PLANNER_INTERNAL_H_
#define BSM_PLANNER_PLANNER_INTERNAL_H_

#include "conversion/convert.h"
#include "ir/graph.h"
#include "planner/abstract_run.h"
#include "planner/planner.h"

struct bsm_planner {
  bsm_planner_options options;
  bsm_arena arena;
  bsm_ir_ctx *cx; /* schemas and names, for all plans */
  bsm_converter_registry *registry;
  uint64_t instructions; /* run on shapes until now */
};

/* A run of the planner's program in `arena`, within the planner's limits. */
BSM_NODISCARD bsm_status bsm_planner_start(bsm_planner *planner,
                                           bsm_arena *arena,
                                           bsm_abstract_run *out);

#endif /* BSM_PLANNER_PLANNER_INTERNAL_H_ */
