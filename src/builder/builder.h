/* SPDX-License-Identifier: Apache-2.0 */
/* The builder: a network becomes a plan.
 *
 *   passes    network -> network: fold, fuse (passes.h lists them in order)
 *   emit      layers -> steps; layouts are chosen here, as strides
 *   memory    every buffer gets a place in the workspace
 *   tactics   chosen by timing, with a cache, or by the target's cost model */
#ifndef BSM_BUILDER_BUILDER_H_
#define BSM_BUILDER_BUILDER_H_

#include "base/progress.h"
#include "builder/layout.h"
#include "builder/passes.h"
#include "builder/precision.h"
#include "builder/target.h"
#include "builder/weights_store.h"
#include "network/layer.h"

typedef struct bsm_build_options {
  const bsm_target *target; /* lives as long as the build */
  bool no_timing; /* take the target's first tactic, which is reproducible */
  const char *timing_cache; /* path or NULL */
  /* What builds behind each other share, or NULL; its arena is set. */
  struct bsm_timing_cache *times;
  const bsm_logger *logger;
  bsm_progress *progress; /* NULL: nobody is told */
  /* Called with the network after each pass; may be NULL. */
  const bsm_pass_watch *watch;
  const bsm_plan_metadata *metadata; /* copied into the plan */
  uint32_t metadata_count;
  /* The precisions that layers may compute in; counts the layers that its rules
   * match. NULL: layers compute in the precision of their dtypes. */
  bsm_precision_policy *precision;
  /* Weights that exist already; newly packed ones are left there for later
   * builds. The plan borrows from it. NULL: the plan owns its weights. */
  bsm_weights_store *store;
  /* A plan of the same network for other shapes, or NULL. A step takes the
   * tactic of that plan's step of the same name and kind if it can, otherwise
   * the target's first tactic; nothing is timed. */
  const bsm_plan *like;
  /* An engine's plan of the same model with other weights, or NULL: steps take
   * the tactics that any of its parts has for steps of their names. */
  const bsm_plan *refit;
  /* What running the whole plan, to see how accurate it is, may take: the
   * multiply-adds and elements of all runs together, and bytes. Of a plan that
   * takes more, parts are run. 0: anything. */
  double trial_work;
  uint64_t trial_bytes;
  /* Takes no tactic whose accuracy would have to be measured. */
  bool exact;
  /* Layers of half and bfloat16 compute and store these, though float were
   * faster. */
  bool narrows;
  /* By input: where its elements are, in any order, with gaps or broadcast. The
   * plan reads them there: the input becomes a vector of all memory from the
   * first element to the last. NULL: all inputs are row-major. */
  const bsm_layout *input_layouts;
  /* By output, set by the build: an output without gaps stays as its step
   * writes it, a vector of its elements. NULL: all outputs are row-major. */
  bsm_layout *output_layouts;
} bsm_build_options;

/* Builds a plan into `arena`, which then owns all of its memory except weights
 * borrowed from a store; the network's weights are copied. Changes the network.
 */
BSM_NODISCARD bsm_status bsm_build(bsm_network *net,
                                   const bsm_build_options *options,
                                   bsm_arena *arena, bsm_plan **out);

#endif /* BSM_BUILDER_BUILDER_H_ */
