/* SPDX-License-Identifier: Apache-2.0 */
/* A compilation, watched: what `bessemer ops` tells is what the compiler did.
 */
#ifndef BSM_COMPILER_PIPELINE_COMPILE_INTERNAL_H_
#define BSM_COMPILER_PIPELINE_COMPILE_INTERNAL_H_

#include "compiler/modules/module_internal.h"
#include "engine/plan.h"

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

typedef struct bsm_compile_watch {
  void *user;
  /* `why`: not as layers; or NULL. `in_variant`: in the plan for the optimal
   * one of shapes that range, beside what it is in the program. */
  bsm_status (*node)(void *user, const bsm_node *node, bsm_node_run how,
                     bool in_variant, const char *why);
  /* It does not compile: what was told is void, and told anew as far as it can
   * be known. */
  void (*restart)(void *user);
} bsm_compile_watch;

/* Everything but making the engine: the plan lives in `arena`. `options` are
 * resolved; `watch` may be NULL. *lowered tells, also on failure, whether
 * lowering was done. */
BSM_NODISCARD bsm_status bsm_compile_plan(bsm_module *module,
                                          const bsm_compile_options *options,
                                          const bsm_compile_watch *watch,
                                          bsm_arena *arena, bool *lowered,
                                          bsm_plan **out);

/* Options with every default filled in. */
bsm_compile_options bsm_compile_options_resolve(
    const bsm_module *module, const bsm_compile_options *given);

#endif /* BSM_COMPILER_PIPELINE_COMPILE_INTERNAL_H_ */
