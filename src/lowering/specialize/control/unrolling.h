/* SPDX-License-Identifier: Apache-2.0 */
/* How far loops of known turns are unrolled. */
#ifndef BSM_LOWERING_SPECIALIZE_CONTROL_UNROLLING_H_
#define BSM_LOWERING_SPECIALIZE_CONTROL_UNROLLING_H_

#include "lowering/specialize/control/control.h"

/* A loop that is being unrolled. */
typedef struct bsm_spec_turns {
  struct bsm_spec_turns *outer, *outermost;
  const bsm_node *node;
  uint64_t turns;
  uint64_t trips;      /* that it will have; 0: not known */
  uint64_t first_node; /* how many the graph had before */
  bool has_inner;
} bsm_spec_turns;

/* `loop` is the caller's, until the end. */
void bsm_spec_turns_begin(bsm_spec *s, const bsm_node *node,
                          const bsm_ivalue *trips, bsm_spec_turns *loop);
void bsm_spec_turns_end(bsm_spec *s, const bsm_spec_turns *loop);
/* Before each turn. BSM_LIMIT: this is one too many. */
BSM_NODISCARD bsm_status bsm_spec_count_turn(bsm_spec *s, bsm_spec_turns *loop);
/* The limit for which the loop is one of the engine's; NULL: it is unrolled. */
BSM_NODISCARD bsm_status bsm_spec_is_rolled(bsm_spec *s, const bsm_node *node,
                                            const bsm_ivalue *trips,
                                            const char **limit);
/* Whether to specialise the method again, after a failure that another choice
 * may avoid; frees it then. */
bool bsm_spec_unroll_again(bsm_spec_unroller *u, bsm_status *status);

#endif /* BSM_LOWERING_SPECIALIZE_CONTROL_UNROLLING_H_ */
