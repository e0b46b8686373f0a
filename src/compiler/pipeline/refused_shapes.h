/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the dimensions that a model fixes, when it does not take all shapes in
 * range, by lowering it with several sizes. */
#ifndef BSM_COMPILER_PIPELINE_REFUSED_SHAPES_H_
#define BSM_COMPILER_PIPELINE_REFUSED_SHAPES_H_

#include "compiler/pipeline/shape_findings.h"

/* Warns of them, or, when there are none, of the failure in the findings. */
BSM_NODISCARD bsm_status bsm_warn_of_refused(bsm_module *module,
                                             const bsm_compile_options *options,
                                             const bsm_lowered *lowered,
                                             const bsm_shape_findings *findings,
                                             bsm_compilation_record *record);

#endif /* BSM_COMPILER_PIPELINE_REFUSED_SHAPES_H_ */
