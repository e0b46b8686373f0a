/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about traces. A trace depends on its example more than its author
 * may know: it does not have the branches that were not taken, and it has the
 * devices of its tensors. See shape_findings.h for numbers that Python computed
 * from shapes. */
#ifndef BSM_COMPILER_PIPELINE_TRACE_WARNINGS_H_
#define BSM_COMPILER_PIPELINE_TRACE_WARNINGS_H_

#include "compiler/pipeline/compilation_record.h"
#include "compiler/pipeline/lower_method.h"

#define BSM_TRACE_ADVICE                                                 \
  "a trace has the numbers in it that were computed from the shapes of " \
  "its example: use x.shape without int() while tracing, or script the model"

/* Whether the module holds traces, and whether the method is one. */
bool bsm_is_traced(const bsm_module *module);
bool bsm_is_traced_method(const bsm_module *module, const bsm_method *method);

/* Warns of inputs that a trace does not use, and of devices that the model asks
 * for. Methods that lowering did not need are ignored. */
BSM_NODISCARD bsm_status bsm_warn_of_trace(bsm_module *module,
                                           const bsm_compile_options *options,
                                           bsm_compilation_record *record);

/* Adds to the failure of lowering that the method was traced with other shapes
 * than those of the options. */
BSM_NODISCARD bsm_status bsm_note_trace(bsm_module *module,
                                        const bsm_compile_options *options,
                                        bsm_status status);

#endif /* BSM_COMPILER_PIPELINE_TRACE_WARNINGS_H_ */
