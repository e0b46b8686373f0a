/* SPDX-License-Identifier: Apache-2.0 */
/* What layers compute in: decided here, before anything is fused, from what is
 * allowed, what rules say of single layers, and what the target has.
 *
 * A layer computes in the precision of its dtypes, or in float32 where the
 * target has not that. One of float32 takes the fastest precision that is
 * allowed and that the target has for it; its tensors are then cast around it.
 * The last rule about a layer goes before that. The first pass of a build: what
 * fuses later must see the roundings. */
#ifndef BSM_BUILDER_PRECISION_H_
#define BSM_BUILDER_PRECISION_H_

#include "builder/target.h"

/* About layers by name, with * and ? in `pattern`; or, when that is NULL, all
 * that come from the submodules at `paths`, with what is inside. */
typedef struct bsm_precision_rule {
  const char *given; /* as the caller wrote it, for messages */
  const char *pattern;
  const char *const *paths;
  size_t path_count;
  bsm_precision precision;
  size_t matched; /* layers of all builds with this policy that compute */
} bsm_precision_rule;

typedef struct bsm_precision_policy {
  uint32_t allowed; /* bits; FP32 always is */
  /* A rule that the target cannot follow is an error; else a warning. */
  bool obey;
  bsm_precision_rule *rules;
  size_t rule_count;
} bsm_precision_policy;

/* The precision that a layer computes in: as decided, else that of its dtypes
 * or what the target has instead. */
bsm_precision bsm_layer_precision(const bsm_target *target,
                                  const bsm_layer *layer);

/* Decides for all layers of a network and casts where it must. `policy` NULL:
 * nothing to do. BSM_UNSUPPORTED: a rule that the target cannot follow, which
 * the policy says to obey. */
BSM_NODISCARD bsm_status bsm_decide_precision(bsm_precision_policy *policy,
                                              const bsm_target *target,
                                              bsm_network *net,
                                              const bsm_logger *logger);

#endif /* BSM_BUILDER_PRECISION_H_ */
