/* SPDX-License-Identifier: Apache-2.0 */
/* How far loops of known iterations are unrolled. */
#ifndef BSM_LOWERING_SPECIALIZE_CONTROL_UNROLLING_H_
#define BSM_LOWERING_SPECIALIZE_CONTROL_UNROLLING_H_

#include "lowering/specialize/control/control.h"

/* A loop that is being unrolled. */
typedef struct bsm_unrolled_loop {
  struct bsm_unrolled_loop *outer, *outermost;
  const bsm_node *node;
  uint64_t iterations;
  uint64_t trips;      /* that it will have; 0: not known */
  uint64_t first_node; /* how many the graph had before */
  bool has_inner;
} bsm_unrolled_loop;

/* `loop` is the caller's, until the end. */
void bsm_unrolled_loop_begin(bsm_spec *s, const bsm_node *node,
                             const bsm_ivalue *trips, bsm_unrolled_loop *loop);
void bsm_unrolled_loop_end(bsm_spec *s, const bsm_unrolled_loop *loop);
/* Before each iteration. BSM_LIMIT: this is one too many. */
BSM_NODISCARD bsm_status bsm_unrolled_loop_count(bsm_spec *s,
                                                 bsm_unrolled_loop *loop);
/* The limit for which the loop is one of the engine's; NULL: it is unrolled. */
BSM_NODISCARD bsm_status bsm_spec_is_rolled(bsm_spec *s, const bsm_node *node,
                                            const bsm_ivalue *trips,
                                            const char **limit);
/* Whether to specialise the method again, after a failure that another choice
 * may avoid; frees it then. */
bool bsm_spec_unroll_again(bsm_spec_unroller *u, bsm_status *status);

#endif /* BSM_LOWERING_SPECIALIZE_CONTROL_UNROLLING_H_ */
