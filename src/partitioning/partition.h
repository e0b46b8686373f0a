/* SPDX-License-Identifier: Apache-2.0 */
/* Partitioning divides a lowered graph into segments, which become plans of
 * fixed shapes, and nodes that the program around them runs one by one.
 *
 * A node can be in a segment when all its tensors have known dims and dtypes,
 * its other arguments are constants, and something can compile it. The nodes of
 * a block are put into stages, segments alternating with single nodes, so that
 * each stage needs only the ones before it: nodes that do not depend on each
 * other share a segment wherever they stand in the model. */
#ifndef BSM_PARTITIONING_PARTITION_H_
#define BSM_PARTITIONING_PARTITION_H_

#include "aten/op.h"
#include "ir/graph.h"
#include "ir/memory_sets.h"

typedef struct bsm_partition_options {
  const bsm_aten_library *aten; /* NULL: no node draws random numbers */
  /* Whether a node could be part of a network. */
  bool (*can_compile)(void *user, const bsm_node *node);
  /* Whether a node must run alone though a network could have it, and whether a
   * node can run alone; NULL: none must, all can. */
  bool (*must_call)(void *user, const bsm_node *node);
  bool (*can_call)(void *user, const bsm_node *node);
  /* The nodes of smaller segments run alone, if all of them can. */
  size_t min_segment_nodes;
  /* For a literal graph; NULL: values never change. Nodes that use memory that
   * is written to keep their order and are in no segment. */
  const bsm_memory_sets *memory;
  /* The top block has no segments, because it becomes regions of the program
   * (planner/planner.h). Blocks inside of it may have segments. */
  bool only_inner;
  void *user;
} bsm_partition_options;

/* A part of a block: a graph of its own. */
typedef struct bsm_segment {
  bsm_graph *graph;
  bsm_value **inputs, **outputs; /* of the original graph */
  size_t input_count, output_count;
  size_t node_count; /* without constants */
} bsm_segment;

/* One item of a block's schedule: a segment, or a node. */
typedef struct bsm_schedule_item {
  bsm_segment *segment;
  const bsm_node *node;
  bool must_call; /* what the options say of the node */
} bsm_schedule_item;

typedef struct bsm_schedule {
  bsm_schedule_item *items;
  size_t count;
} bsm_schedule;

/* Whether the whole graph is one segment, so that no program is needed: a plan
 * can call the reference library itself. */
bool bsm_is_one_segment(const bsm_graph *graph,
                        const bsm_partition_options *options);

/* The schedules of a graph's blocks. */
typedef struct bsm_partition {
  bsm_ptrmap schedules; /* bsm_block -> its bsm_schedule */
} bsm_partition;

/* Schedules the top block, and the blocks of nodes in schedules. Constants, and
 * lists of values that segments can have, are not in schedules: they are made
 * where they are needed. */
BSM_NODISCARD bsm_status bsm_partition_graph(
    const bsm_graph *graph, const bsm_partition_options *options,
    bsm_arena *arena, bsm_partition *out);
/* NULL: the block is in no schedule. */
const bsm_schedule *bsm_partition_schedule(const bsm_partition *partition,
                                           const bsm_block *block);

/* Whether the node can be in a segment. */
bool bsm_node_fits_segment(const bsm_node *node,
                           const bsm_partition_options *options);

/* Whether the node is in no schedule. */
bool bsm_node_is_floating(const bsm_node *node);

#endif /* BSM_PARTITIONING_PARTITION_H_ */
