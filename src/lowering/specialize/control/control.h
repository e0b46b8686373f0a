/* SPDX-License-Identifier: Apache-2.0 */
/* Branches and loops: what is known of them while the method is run. */
#ifndef BSM_LOWERING_SPECIALIZE_CONTROL_CONTROL_H_
#define BSM_LOWERING_SPECIALIZE_CONTROL_CONTROL_H_

#include "lowering/specialize/values/abstract_value.h"

/* What was found out about loops by trying to specialise the method. */
typedef struct bsm_spec_unroller {
  bsm_arena *arena;
  bsm_ptrmap loops; /* prim::Loop of the method -> the limit, by name */
  bool again;       /* the method has to be specialised again */
  /* Why the loops are unrolled all the same; NULL: they are not. */
  const char *reason;
} bsm_spec_unroller;

struct bsm_unrolled_loop;

typedef struct bsm_spec_control {
  bsm_spec_unroller *unroller;         /* NULL: loops can only be unrolled */
  struct bsm_unrolled_loop *innermost; /* loop that is unrolled */
  uint64_t trips;                      /* of all loops */
  uint64_t unrolled_nodes;             /* of loops that have ended */
} bsm_spec_control;

/* `unroller`: may be NULL; borrowed. */
BSM_NODISCARD bsm_status bsm_spec_control_init(bsm_spec *s,
                                               bsm_spec_unroller *unroller);

/* Runs a prim::If or prim::Loop; else *done is false. */
BSM_NODISCARD bsm_status bsm_spec_control_node(bsm_spec *s,
                                               const bsm_node *node,
                                               bool *done);

#endif /* BSM_LOWERING_SPECIALIZE_CONTROL_CONTROL_H_ */
