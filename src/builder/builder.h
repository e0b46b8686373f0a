/* SPDX-License-Identifier: Apache-2.0 */
/* The builder: a network becomes a plan.
 *
 *   passes    network -> network: fold, fuse (passes.h lists them in order)
 *   emit      layers -> steps; layouts are chosen here, as strides
 *   memory    every buffer gets a place in the workspace
 *   tactics   chosen by timing, with a cache, or by the target's cost model */
#ifndef BSM_BUILDER_BUILDER_H_
#define BSM_BUILDER_BUILDER_H_

#include "builder/passes.h"
#include "builder/precision.h"
#include "builder/target.h"
#include "builder/weights_store.h"
#include "network/layer.h"

typedef struct bsm_build_options {
  const bsm_target *target; /* lives as long as the build */
  bool no_timing;           /* take the target's first tactic: reproducible */
  const char *timing_cache; /* path or NULL */
  const bsm_logger *logger;
  /* Told of the network after each pass. May be NULL. */
  const bsm_pass_watch *watch;
  const bsm_plan_metadata *metadata; /* copied into the plan */
  uint32_t metadata_count;
  /* What layers may compute in; counts what its rules matched. NULL: in the
   * precision of their dtypes. */
  bsm_precision_policy *precision;
  /* Weights that are already there, and where packed ones are left for later
   * builds. The plan borrows from it. NULL: none, the plan owns its weights. */
  bsm_weights_store *store;
  /* A plan of the same network for other shapes: steps take the tactic of its
   * step of the same name and kind, when they can, else the target's first;
   * nothing is timed. NULL: none. */
  const bsm_plan *like;
} bsm_build_options;

/* Builds a plan into `arena`, which then owns all of its memory but for what a
 * store lends; the network's weights are copied. Changes the network. */
BSM_NODISCARD bsm_status bsm_build(bsm_network *net,
                                   const bsm_build_options *options,
                                   bsm_arena *arena, bsm_plan **out);

#endif /* BSM_BUILDER_BUILDER_H_ */
