/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of a graph may share memory, and which of that may be written
 * to.
 *
 * Needed for graphs that hold the writes of the program (a literal lowering):
 * what reads memory that is written to somewhere has to stay where it is among
 * the others that touch such memory. In a graph of a functional lowering
 * nothing is written to but copies of containers.
 *
 * Two values are of one set when they may hold the same tensor, tensors that
 * share storage, the same container, or one may hold the other. The sets do not
 * depend on the order of nodes, so they err to the side of sharing. */
#ifndef BSM_IR_MEMORY_SETS_H_
#define BSM_IR_MEMORY_SETS_H_

#include "aten/op.h"
#include "ir/graph.h"

typedef struct bsm_memory_sets bsm_memory_sets;

/* Lives in `arena`; as of the graph now: values that are made later count as
 * sharing and written to. */
BSM_NODISCARD bsm_status bsm_memory_sets_of(const bsm_graph *graph,
                                            const bsm_aten_library *aten,
                                            bsm_arena *arena,
                                            bsm_memory_sets **out);

/* Whether anything in the graph is written to. */
bool bsm_memory_any_written(const bsm_memory_sets *sets);
/* Whether the value may change while the graph runs: the elements of a tensor,
 * or for a container also what it holds. */
bool bsm_memory_is_written(const bsm_memory_sets *sets, const bsm_value *value);
/* Whether the node, or one inside of it, reads or writes what may change. */
bool bsm_memory_touches(const bsm_memory_sets *sets, const bsm_node *node);
/* Whether they may share memory, or one hold the other. */
bool bsm_memory_may_share(const bsm_memory_sets *sets, const bsm_value *a,
                          const bsm_value *b);
/* From now on they may. */
void bsm_memory_unite(bsm_memory_sets *sets, const bsm_value *a,
                      const bsm_value *b);
/* Whether the results of the node are tensors of new memory. */
bool bsm_memory_is_fresh(const bsm_memory_sets *sets, const bsm_node *node);

/* Whether the schema writes to an argument; *which is the first. */
bool bsm_schema_writes(const bsm_schema *schema, size_t *which);

#endif /* BSM_IR_MEMORY_SETS_H_ */
