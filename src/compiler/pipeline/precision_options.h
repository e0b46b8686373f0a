/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the builder's precision policy from the options of a compilation. */
#ifndef BSM_COMPILER_PIPELINE_PRECISION_OPTIONS_H_
#define BSM_COMPILER_PIPELINE_PRECISION_OPTIONS_H_

#include "builder/precision.h"
#include "compiler/modules/module_internal.h"

/* In `arena`; NULL when the options ask for nothing. BSM_INVALID_ARGUMENT: bits
 * that are no precision, an override of nothing or of both. */
BSM_NODISCARD bsm_status
bsm_precision_policy_of(bsm_module *module, const bsm_compile_options *options,
                        bsm_arena *arena, bsm_precision_policy **out);

/* Called after everything was built. BSM_INVALID_ARGUMENT: an override matched
 * no layer. It is only a warning when the model has the submodule, but no layer
 * comes from it. */
BSM_NODISCARD bsm_status bsm_precision_policy_check(
    const bsm_precision_policy *policy, bsm_module *module,
    const bsm_compile_options *options, bsm_arena *arena);

/* "fp16,bf16" in `arena`. */
const char *bsm_precisions_text(bsm_arena *arena, uint32_t precisions);

#endif /* BSM_COMPILER_PIPELINE_PRECISION_OPTIONS_H_ */
