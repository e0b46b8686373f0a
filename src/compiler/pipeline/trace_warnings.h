/* SPDX-License-Identifier: Apache-2.0 */
/* Signs that a trace has more of its example in it than its author may know: it
 * leaves out the branches that were not taken, and names the devices of its
 * tensors. Numbers that Python computed from shapes: shape_findings.h. */
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

/* Warns of inputs that a trace does not use, and of devices that the model
 * asks for. Methods that lowering did not need are not looked at. */
BSM_NODISCARD bsm_status bsm_warn_of_trace(bsm_module *module,
                                           const bsm_compile_options *options,
                                           bsm_compilation_record *record);

/* Adds to why a method could not be lowered that it was traced with other
 * shapes than those of the options. */
BSM_NODISCARD bsm_status bsm_note_trace(bsm_module *module,
                                        const bsm_compile_options *options,
                                        bsm_status status);

#endif /* BSM_COMPILER_PIPELINE_TRACE_WARNINGS_H_ */
