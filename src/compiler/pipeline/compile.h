/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a method of a module to a plan, and keeps a record. */
#ifndef BSM_COMPILER_PIPELINE_COMPILE_H_
#define BSM_COMPILER_PIPELINE_COMPILE_H_

#include "compiler/modules/module_internal.h"
#include "compiler/pipeline/compilation_record.h"
#include "engine/plan.h"

/* Does everything except making the engine; the plan is in `arena`. `options`
 * are resolved. Fills in the initialized `record`, also on failure. */
BSM_NODISCARD bsm_status bsm_compile_plan(bsm_module *module,
                                          const bsm_compile_options *options,
                                          bsm_arena *arena,
                                          bsm_compilation_record *record,
                                          bsm_plan **out);

#endif /* BSM_COMPILER_PIPELINE_COMPILE_H_ */
