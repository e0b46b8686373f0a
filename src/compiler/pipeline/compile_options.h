/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a compilation with defaults filled in, and the target that
 * they name. */
#ifndef BSM_COMPILER_PIPELINE_COMPILE_OPTIONS_H_
#define BSM_COMPILER_PIPELINE_COMPILE_OPTIONS_H_

#include "builder/target.h"
#include "compiler/modules/module_internal.h"

/* The caller's options with every default filled in. */
BSM_NODISCARD bsm_status bsm_compile_options_resolve(
    const bsm_module *module, const bsm_compile_options *given,
    bsm_compile_options *out);

/* The target that the options ask for; in `arena`. */
BSM_NODISCARD bsm_status bsm_find_target(const bsm_compile_options *options,
                                         bsm_arena *arena,
                                         const bsm_target **out);

#endif /* BSM_COMPILER_PIPELINE_COMPILE_OPTIONS_H_ */
