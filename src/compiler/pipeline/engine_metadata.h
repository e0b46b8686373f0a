/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of an engine: how it was made. */
#ifndef BSM_COMPILER_PIPELINE_ENGINE_METADATA_H_
#define BSM_COMPILER_PIPELINE_ENGINE_METADATA_H_

#include "builder/target.h"
#include "compiler/modules/module_internal.h"
#include "engine/plan.h"

typedef BSM_VEC(bsm_plan_metadata) bsm_metadata_vec;

/* The builder, the source, and options that are not the defaults. `truncated`:
 * what was narrowed, or "". */
BSM_NODISCARD bsm_status bsm_engine_metadata_of(
    const bsm_module *module, const bsm_compile_options *options,
    const bsm_target *target, const char *truncated, bsm_arena *arena,
    bsm_metadata_vec *out);

/* The same for a plan that no builder made; in the plan's arena. */
BSM_NODISCARD bsm_status bsm_set_metadata(const bsm_module *module,
                                          const bsm_compile_options *options,
                                          const bsm_target *target,
                                          bsm_arena *arena, bsm_plan *plan);

/* Refuses metadata of the user's that an engine cannot have. */
BSM_NODISCARD bsm_status
bsm_check_user_metadata(const bsm_compile_options *options);

#endif /* BSM_COMPILER_PIPELINE_ENGINE_METADATA_H_ */
