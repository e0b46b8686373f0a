/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a method's parameters when it is lowered, and the structure
 * of its arguments and result around the tensors of the engine. */
#ifndef BSM_COMPILER_INPUTS_METHOD_INPUTS_H_
#define BSM_COMPILER_INPUTS_METHOD_INPUTS_H_

#include "compiler/modules/module_internal.h"
#include "engine/structure.h"
#include "lowering/lowering.h"

/* What is known of each parameter, from the caller's specs, the archive's
 * examples and the defaults: parameter_count of them. */
BSM_NODISCARD bsm_status bsm_method_inputs(bsm_module *module,
                                           const bsm_method *method,
                                           const bsm_input_spec *specs,
                                           size_t spec_count, bsm_arena *arena,
                                           bsm_lowering_input **out);

/* The value of a parameter according to the archive's example inputs or a
 * complete type; *found is false when there is neither. */
BSM_NODISCARD bsm_status bsm_method_example(const bsm_module *module,
                                            const bsm_method *method,
                                            size_t index, bsm_arena *arena,
                                            bool *found, bsm_ivalue *out);

/* Arguments and result around the inputs and outputs of the graph. */
typedef struct bsm_method_io {
  bsm_structure *inputs, *outputs;
  /* The paths of the bound leaves, in order; unique, not empty. */
  const char **input_names, **output_names;
} bsm_method_io;

/* The structure of the arguments, and names of their tensors. */
BSM_NODISCARD bsm_status bsm_describe_inputs(bsm_arena *arena,
                                             const bsm_method *method,
                                             const bsm_lowering_input *inputs,
                                             bsm_method_io *out);
/* The structure of the result. */
BSM_NODISCARD bsm_status bsm_describe_outputs(bsm_arena *arena,
                                              const bsm_lowered *lowered,
                                              bsm_method_io *out);

#endif /* BSM_COMPILER_INPUTS_METHOD_INPUTS_H_ */
