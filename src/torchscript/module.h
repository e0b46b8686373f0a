/* SPDX-License-Identifier: Apache-2.0 */
/* A TorchScript archive, loaded: the root object, its class with methods, the
 * example inputs when the archive has them. */
#ifndef BSM_TORCHSCRIPT_MODULE_H_
#define BSM_TORCHSCRIPT_MODULE_H_

#include "ir/graph.h"
#include "ir/model.h"

typedef struct bsm_example_input {
  bool is_tensor;
  bsm_dtype dtype;
  bsm_dims dims;
} bsm_example_input;

typedef struct bsm_ts_module {
  bsm_ir_ctx *cx;
  bsm_object *root; /* the module instance */
  int64_t version;  /* operator version of the file */
  /* Example inputs of forward (traced_inputs.pkl), flattened positionally;
   * NULL when the archive has none. */
  bsm_example_input *examples;
  size_t example_count;
  /* The same with their containers, one for each parameter; tensors have a
   * dtype and sizes alone. */
  const bsm_ivalue *example_values;
  size_t example_value_count;
  struct bsm_script *script;
} bsm_ts_module;

/* What a reader may bring along. */
typedef struct bsm_ts_read_options {
  void *user;
  /* Runs `method`, the __setstate__ of the object's class, on (object, state):
   * it fills the slots of the object. NULL: archives with such objects fail
   * with BSM_UNSUPPORTED and the name of the class. */
  bsm_status (*set_state)(void *user, bsm_function *method, bsm_object *object,
                          bsm_ivalue state);
} bsm_ts_read_options;

/* Reads an archive in memory. `data` is borrowed: the tensors of the module
 * point into it, so it must outlive everything made from the module. */
BSM_NODISCARD bsm_status bsm_ts_module_read(bsm_ir_ctx *cx, const void *data,
                                            size_t size, bsm_ts_module **out);
/* The same; `options` may be NULL and is not kept. */
BSM_NODISCARD bsm_status bsm_ts_module_read_with(
    bsm_ir_ctx *cx, const void *data, size_t size,
    const bsm_ts_read_options *options, bsm_ts_module **out);
/* A method of the root by name ("forward"); BSM_NOT_FOUND lists the names
 * there are. */
BSM_NODISCARD bsm_status bsm_ts_module_method(bsm_ts_module *module,
                                              const char *name,
                                              bsm_function **out);

/* The same for a module inside the root. */
BSM_NODISCARD bsm_status bsm_ts_object_method(bsm_ts_module *module,
                                              const bsm_object *object,
                                              const char *name,
                                              bsm_function **out);

/* The module as the rest of the compiler sees it; `module` stays behind it. */
bsm_model bsm_ts_module_as_model(bsm_ts_module *module);

#endif /* BSM_TORCHSCRIPT_MODULE_H_ */
