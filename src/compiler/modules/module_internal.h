/* SPDX-License-Identifier: Apache-2.0 */
/* The module behind the public handle, and its methods. */
#ifndef BSM_COMPILER_MODULES_MODULE_INTERNAL_H_
#define BSM_COMPILER_MODULES_MODULE_INTERNAL_H_

#include <pthread.h>

#include "aten/op.h"
#include "base/file.h"
#include "base/memory_guard.h"
#include "bessemer/compiler.h"
#include "ir/model.h"

/* What constants that memory has no room for may take in an engine, and the
 * engine with them, in max_memory_bytes. Each is counted up to three times. */
#define BSM_LEFT_TIMES 16

struct bsm_module {
  const bsm_allocator *allocator;
  const bsm_logger *logger;
  const char *name; /* the path, for messages and metadata */
  bsm_file_map map;
  bsm_str bytes; /* of the file, mapped or the caller's */
  /* Of all that follows, and of what compiling makes beside the engine. */
  bsm_memory_guard guard;
  size_t max_memory; /* of one call: what earlier ones left does not count */
  const char *doing; /* what that call does to the model, for messages */
  bsm_arena arena;   /* the IR, also of methods compiled later */
  bsm_ir_ctx *cx;
  const bsm_aten_library *aten; /* with the operators of plug-ins */
  const bsm_plugin_registry *plugins;
  bool state_as_output; /* see bsm_module_options */
  bsm_model model;
  /* Compiling adds to the arena and to the tables of types and methods: one
   * thread at a time does. The one that holds it may take it again. */
  pthread_mutex_t lock;
  int lock_depth;
};

/* Around each call that adds to the module. */
void bsm_module_lock(bsm_module *module);
void bsm_module_unlock(bsm_module *module);
/* Says so, and while what, when there was no memory because of the limit. */
BSM_NODISCARD bsm_status bsm_module_status(bsm_module *module,
                                           bsm_status status);

/* The hash of the module's file, never 0: what belongs to the model is tied to
 * it by that. */
uint64_t bsm_module_hash(const bsm_module *module);

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

/* A parameter in the schema of the method; NULL when there is none. */
const bsm_schema_arg *bsm_method_schema_arg(const bsm_method *method,
                                            size_t index);
/* The name and type of a parameter, without self. */
const char *bsm_method_parameter_name(const bsm_method *method, size_t index);
const bsm_type *bsm_method_parameter_type(const bsm_method *method,
                                          size_t index);

#endif /* BSM_COMPILER_MODULES_MODULE_INTERNAL_H_ */
