/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose number depends on data, in memory for all that there could be: for
 * bound_sizes.c. How many there could be is known while compiling, or follows
 * from the shapes of a run. */
#ifndef BSM_LOWERING_PASSES_BOUNDED_ROWS_H_
#define BSM_LOWERING_PASSES_BOUNDED_ROWS_H_

#include "lowering/pass.h"

/* The first `count` (int64, 0-dim) of `padded`. A count is made with the memory
 * that it counts rows of: equal counts are of as many rows. */
typedef struct bsm_bounded {
  bsm_value *padded, *count;
  int64_t most; /* the first size of `padded`; -1: the run will tell */
} bsm_bounded;

typedef struct bsm_bounding {
  bsm_graph *graph;
  const bsm_aten_library *aten;
  bsm_arena *arena; /* of the pass */
  bsm_ptrmap rows;  /* value -> its bsm_bounded */
  bsm_ptrmap found; /* mask -> bounded places: [most, rank] */
} bsm_bounding;

/* NULL: its size depends on no data, or has no bound. */
const bsm_bounded *bsm_bounded_rows(const bsm_bounding *p,
                                    const bsm_value *value);
/* The dims of a value, or of the memory for its rows; -1: not known. */
bool bsm_bounded_dims(const bsm_bounding *p, const bsm_value *value,
                      bsm_dims *dims, bsm_dtype *dtype);

/* Emits an op. *out is NULL when it refuses its arguments: whether they come to
 * it is not known. */
BSM_NODISCARD bsm_status bsm_bounded_op(const bsm_node_emitter *e,
                                        const char *name, bsm_value *const *in,
                                        size_t n, bsm_value **out);
/* Finds the types of a node's results where dims are not known: dtypes and
 * ranks. */
BSM_NODISCARD bsm_status bsm_bounded_types(bsm_node *node,
                                           const bsm_aten_library *aten);
/* Says how many dims a value has whose op cannot be run for it. */
BSM_NODISCARD bsm_status bsm_bounded_set_rank(bsm_value *value, bsm_dtype dtype,
                                              bsm_dims dims);

/* Notes that `padded` and `count` are what `old` is, and replaces it. */
BSM_NODISCARD bsm_status bsm_bounded_publish(bsm_bounding *p,
                                             const bsm_node_emitter *e,
                                             bsm_value *old, bsm_value *padded,
                                             bsm_value *count);
/* bool[most, 1, ...] of some rank: which of the rows there are. */
BSM_NODISCARD bsm_status bsm_bounded_valid(const bsm_node_emitter *e,
                                           const bsm_bounded *b, int32_t rank,
                                           bsm_value **out);

/* int64[n]: 0 and on. */
BSM_NODISCARD bsm_status bsm_bounded_range(const bsm_node_emitter *e,
                                           bsm_value *n, bsm_value **out);
/* A size of x: a number of the run. */
BSM_NODISCARD bsm_status bsm_bounded_size(const bsm_node_emitter *e,
                                          bsm_value *x, int64_t dim,
                                          bsm_value **out);
/* All of them; the first ones of `first` where that is no NULL. */
BSM_NODISCARD bsm_status bsm_bounded_sizes(const bsm_node_emitter *e,
                                           bsm_value *x, int32_t rank,
                                           bsm_value *first, int32_t first_rank,
                                           bsm_value **out);

#endif /* BSM_LOWERING_PASSES_BOUNDED_ROWS_H_ */
