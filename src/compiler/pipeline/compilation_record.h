/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a compilation: the lowered graph, how each node runs and why,
 * warnings, and the plan. The stages fill it in as they run, so after a failure
 * it has everything known by then. Reports are printed from it. */
#ifndef BSM_COMPILER_PIPELINE_COMPILATION_RECORD_H_
#define BSM_COMPILER_PIPELINE_COMPILATION_RECORD_H_

#include "base/strings.h"
#include "bessemer/log.h"
#include "engine/plan.h"
#include "ir/graph.h"
#include "lowering/lowering.h"

/* How a node of the lowered graph runs. */
typedef enum bsm_node_run {
  BSM_RUN_UNSUPPORTED = 0,
  BSM_RUN_EVALUATED, /* while compiling */
  BSM_RUN_LAYERS,    /* steps of a plan */
  BSM_RUN_REFERENCE, /* an aten_call step of a plan */
  BSM_RUN_PLANNED,   /* in a region of a program: as its plans have it */
  BSM_RUN_CALL,      /* a call of a program */
  BSM_RUN_CONTROL    /* the program itself: branches, loops, lists, tuples */
} bsm_node_run;

/* Where a node runs. */
typedef struct bsm_node_placement {
  const char *name;   /* the overload of its operator, or its kind */
  const char *schema; /* of the operator, or its kind */
  bsm_source source;
  bsm_node_run run;
  const char *why; /* it is not layers; or NULL */
} bsm_node_placement;

typedef struct bsm_placement_list {
  bsm_arena *arena;
  BSM_VEC(bsm_node_placement) items;
  bsm_ptrmap index; /* bsm_node -> its item, plus 1 */
} bsm_placement_list;

typedef struct bsm_compilation_record {
  bsm_arena arena; /* of all below */
  const bsm_logger *logger;
  const bsm_lowered *lowered; /* NULL: lowering failed */
  /* For the nodes of the lowered graph: first where each is expected to run,
   * and later where it does. */
  bsm_placement_list nodes;
  /* For the nodes that run when inputs that range have the optimal shape, if
   * there is a plan for that. */
  bsm_placement_list optimal;
  BSM_VEC(const char *) warnings;
  const bsm_plan *plan; /* NULL: a stage failed */
} bsm_compilation_record;

/* Warnings go to the logger, too, which may be NULL. */
void bsm_compilation_record_init(bsm_compilation_record *record,
                                 const bsm_allocator *allocator,
                                 const bsm_logger *logger);
void bsm_compilation_record_destroy(bsm_compilation_record *record);

void bsm_placement_list_init(bsm_placement_list *list, bsm_arena *arena);
/* Adds the node, or updates where it runs. `why` is copied; the node's operator
 * and source are not. */
BSM_NODISCARD bsm_status bsm_place_node(bsm_placement_list *list,
                                        const bsm_node *node, bsm_node_run run,
                                        const char *why);
/* Appends copies of the items of another list. */
BSM_NODISCARD bsm_status bsm_placement_list_append(
    bsm_placement_list *list, const bsm_placement_list *from);

/* Records a warning, and logs it. */
BSM_NODISCARD bsm_status bsm_record_warning(bsm_compilation_record *record,
                                            const char *format, ...)
    BSM_PRINTF(2, 3);

#endif /* BSM_COMPILER_PIPELINE_COMPILATION_RECORD_H_ */
