/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering a method of a module. */
#ifndef BSM_COMPILER_PIPELINE_LOWER_METHOD_H_
#define BSM_COMPILER_PIPELINE_LOWER_METHOD_H_

#include "builder/target.h"
#include "compiler/inputs/method_inputs.h"

/* Lowers a method with the inputs and dumps of `options`; numbers among its
 * results become constant outputs of the graph, so that the graph has one
 * output for each result that an engine can give. Where the memory of `target`
 * is not the host's, sizes that depend on data get a bound. `target` and `io`
 * may be NULL. */
BSM_NODISCARD bsm_status bsm_lower_method(bsm_module *module,
                                          const bsm_compile_options *options,
                                          const bsm_target *target,
                                          bsm_lowered *out, bsm_method_io *io);

#endif /* BSM_COMPILER_PIPELINE_LOWER_METHOD_H_ */
