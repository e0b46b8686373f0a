/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a method of a module to a plan, and keeps a record. */
#ifndef BSM_COMPILER_PIPELINE_COMPILE_H_
#define BSM_COMPILER_PIPELINE_COMPILE_H_

#include "compiler/pipeline/compilation.h"
#include "compiler/pipeline/compilation_record.h"
#include "compiler/pipeline/divide_graph.h"
#include "compiler/pipeline/lower_method.h"
#include "engine/plan.h"

/* A method that is lowered and divided: what comes before plans. */
typedef struct bsm_ready {
  bsm_compile_options options; /* complete */
  bsm_compilation c;           /* of these options */
  bsm_lowered *lowered;
  bsm_method_io io;
  bsm_divided_graph divided;
} bsm_ready;

/* Fills *out, which must stay where it is, in the memory of `record`. `given`
 * are resolved. */
BSM_NODISCARD bsm_status bsm_ready_compilation(bsm_module *module,
                                               const bsm_compile_options *given,
                                               bsm_compilation_record *record,
                                               bsm_ready *out);

/* Does everything except making the engine; the plan is in `arena`. `options`
 * are resolved. Fills in the initialized `record`, also on failure. */
BSM_NODISCARD bsm_status bsm_compile_plan(bsm_module *module,
                                          const bsm_compile_options *options,
                                          bsm_arena *arena,
                                          bsm_compilation_record *record,
                                          bsm_plan **out);

/* As bsm_compile, with the tactics of another engine's plan, which may be NULL.
 */
BSM_NODISCARD bsm_status bsm_compile_like(bsm_module *module,
                                          const bsm_compile_options *options,
                                          const bsm_plan *refit,
                                          bsm_engine **out);

#endif /* BSM_COMPILER_PIPELINE_COMPILE_H_ */
