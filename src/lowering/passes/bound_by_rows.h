/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of bound_sizes.c for ops whose result has a row for each of the
 * rows that they are given. A rule leaves a node alone that it does not hold
 * for. */
#ifndef BSM_LOWERING_PASSES_BOUND_BY_ROWS_H_
#define BSM_LOWERING_PASSES_BOUND_BY_ROWS_H_

#include "lowering/passes/bounded_rows.h"

typedef bsm_status bsm_bound_fn(bsm_bounding *p, const bsm_node_emitter *e,
                                bsm_node *node);

bsm_bound_fn bsm_bound_element_wise;
/* The second argument is a dim, or a list of them, which is not the rows'. */
bsm_bound_fn bsm_bound_along_dim;
bsm_bound_fn bsm_bound_along_dims;
/* Tensors of as many rows, joined along another dim. */
bsm_bound_fn bsm_bound_beside;
/* A slice: the first rows, or a part of each. */
bsm_bound_fn bsm_bound_first_rows;
/* How many rows there are. */
bsm_bound_fn bsm_bound_size;

#endif /* BSM_LOWERING_PASSES_BOUND_BY_ROWS_H_ */
