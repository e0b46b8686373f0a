/* SPDX-License-Identifier: Apache-2.0 */
/* Brings together what a model file says of the shapes of its inputs and what
 * the caller gives. */
#ifndef BSM_COMPILER_INPUTS_MODEL_SHAPES_H_
#define BSM_COMPILER_INPUTS_MODEL_SHAPES_H_

#include "compiler/inputs/method_inputs.h"

/* The meta tensor that `example`, of the model's examples, stands for: one
 * whose dims range when the file says so. */
BSM_NODISCARD bsm_status bsm_shape_of_example(const bsm_model *model,
                                              bsm_arena *arena,
                                              const bsm_tensor *example,
                                              bsm_ivalue *out);

/* Checks the values of all parameters against what the file says, and makes
 * dims that follow the same symbol agree: when one is given as fixed, the
 * others become fixed too. BSM_INVALID_ARGUMENT names the dim, the symbol and
 * the range. */
BSM_NODISCARD bsm_status bsm_fit_shapes(const bsm_module *module,
                                        const bsm_method *method,
                                        bsm_arena *arena,
                                        bsm_lowering_input *inputs);

/* Makes specs for all parameters of the method: the caller's, and specs from
 * the file's examples for parameters without one. Replaces `options->inputs`
 * when it adds any. */
BSM_NODISCARD bsm_status bsm_complete_specs(bsm_module *module,
                                            bsm_arena *arena,
                                            bsm_compile_options *options);

#endif /* BSM_COMPILER_INPUTS_MODEL_SHAPES_H_ */
