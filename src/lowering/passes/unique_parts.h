/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of unique, unique2 and unique_consecutive as those of a sorted
 * vector that a mask picks: for bound_sizes.c, which gives sizes that depend on
 * data a bound. */
#ifndef BSM_LOWERING_PASSES_UNIQUE_PARTS_H_
#define BSM_LOWERING_PASSES_UNIQUE_PARTS_H_

#include "lowering/node_emitter.h"

typedef struct bsm_unique_parts {
  /* [n]: sorted, or as they were, rows first; NULL: it stays */
  bsm_value *elements;
  int64_t dim;        /* along which these rows were */
  bsm_value *first;   /* bool[n]: which of them begin a run of equal ones */
  bsm_value *counts;  /* int64[n]: at those, how long the run is */
  bsm_value *inverse; /* the number of its run for each element of the input */
} bsm_unique_parts;

/* Emits them in front of a node; counts and inverse only where the node gives
 * them, else NULL. */
BSM_NODISCARD bsm_status bsm_make_unique_parts(const bsm_node_emitter *e,
                                               const bsm_node *node,
                                               bsm_unique_parts *out);

#endif /* BSM_LOWERING_PASSES_UNIQUE_PARTS_H_ */
