/* SPDX-License-Identifier: Apache-2.0 */
/* What a model file says of the shapes of its inputs, and what the caller
 * gives, brought together. */
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
 * dims that follow the same symbol agree: where one is given as fixed, so are
 * the others. BSM_INVALID_ARGUMENT names the dim, the symbol and the range. */
BSM_NODISCARD bsm_status bsm_fit_shapes(const bsm_module *module,
                                        const bsm_method *method,
                                        bsm_arena *arena,
                                        bsm_lowering_input *inputs);

/* Specs for all parameters of the method: the caller's, and for the others that
 * the file has an example of specs that say the same. `options->inputs` is
 * replaced where there are others. */
BSM_NODISCARD bsm_status bsm_complete_specs(bsm_module *module,
                                            bsm_arena *arena,
                                            bsm_compile_options *options);

#endif /* BSM_COMPILER_INPUTS_MODEL_SHAPES_H_ */
