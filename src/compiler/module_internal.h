/* SPDX-License-Identifier: Apache-2.0 */
/* The module behind the public handle, and what the compiler's files share. */
#ifndef BSM_COMPILER_MODULE_INTERNAL_H_
#define BSM_COMPILER_MODULE_INTERNAL_H_

#include "aten/op.h"
#include "base/file.h"
#include "bessemer/compiler.h"
#include "engine/structure.h"
#include "ir/model.h"
#include "lowering/lowering.h"

struct bsm_module {
  const bsm_allocator *allocator;
  const bsm_logger *logger;
  const char *name; /* the path, for messages and metadata */
  bsm_file_map map;
  bsm_arena arena; /* the IR, also of methods compiled later */
  bsm_ir_ctx *cx;
  const bsm_aten_library *aten; /* with the operators of plug-ins */
  const bsm_plugin_registry *plugins;
  bool state_as_output; /* see bsm_module_options */
  bsm_model model;
};

/* A method, or the graph of IR text, ready to lower. */
typedef struct bsm_method {
  const char *name;
  bsm_graph *graph;
  bsm_object *root;         /* self; NULL for IR text */
  const bsm_schema *schema; /* NULL for IR text */
  size_t first;             /* index of the first parameter after self */
  size_t parameter_count;   /* without self */
} bsm_method;

/* `name` NULL: "forward". Compiles the method if need be. */
BSM_NODISCARD bsm_status bsm_module_find_method(bsm_module *module,
                                                const char *name,
                                                bsm_method *out);

/* The name and type of a parameter, without self. */
const char *bsm_method_parameter_name(const bsm_method *method, size_t index);
const bsm_type *bsm_method_parameter_type(const bsm_method *method,
                                          size_t index);

/* What is known of each parameter, from the caller's specs, the archive's
 * examples and the defaults: parameter_count of them. */
BSM_NODISCARD bsm_status bsm_method_inputs(bsm_module *module,
                                           const bsm_method *method,
                                           const bsm_input_spec *specs,
                                           size_t spec_count, bsm_arena *arena,
                                           bsm_lowering_input **out);

/* The value that the archive's example inputs, or a complete type, give a
 * parameter; *found is false when they tell nothing. */
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

/* Lowers a method with the inputs and dumps of `options`; numbers among its
 * results become constant outputs of the graph, so that the graph has one
 * output for each result that an engine can give. `io` may be NULL. */
BSM_NODISCARD bsm_status bsm_lower_method(bsm_module *module,
                                          const bsm_compile_options *options,
                                          bsm_lowered *out, bsm_method_io *io);

/* Options with every default filled in. */
bsm_compile_options bsm_compile_options_resolve(
    const bsm_module *module, const bsm_compile_options *given);

#endif /* BSM_COMPILER_MODULE_INTERNAL_H_ */
