/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins: operators of your own, in one C file. docs/plugins.md is the guide.
 *
 * A plug-in is a descriptor that names
 *   layers      operators that run on the CPU: a shape function and a function
 *               that computes; with a schema they just work in models,
 *   evaluators  operators that are computed while compiling,
 *   patterns    converters, as in bessemer/conversion.h.
 *
 * A program puts descriptors into a registry and gives the registry to
 * bsm_module_load and bsm_engine_load. There is no global list. An engine
 * records the name and version of each layer that it runs, nothing else: the
 * program that runs it registers the same layers. A shared library exports
 * bsm_plugin_entry, which bsm_plugin_open finds (the compiler library and the
 * command line tool; the runtime library opens no files of code).
 *
 * All functions of a plug-in may be called from several threads at once. */
#ifndef BESSEMER_PLUGIN_H_
#define BESSEMER_PLUGIN_H_

#include "bessemer/allocator.h"
#include "bessemer/status.h"
#include "bessemer/types.h"

BSM_EXTERN_C_BEGIN

/* The version of these structs. A plug-in of another version is refused. */
#define BSM_PLUGIN_ABI 1u

#define BSM_PLUGIN_MAX_NAME 95   /* bytes of a layer's name */
#define BSM_PLUGIN_MAX_INPUTS 16 /* tensors that a layer reads */
#define BSM_PLUGIN_MAX_OUTPUTS 8 /* tensors that a layer writes */

/* ---- what the functions of a plug-in are given ----
 *
 * Arguments are read by their place in the schema, defaults filled in. Reading
 * one as something it is not gives zero or NULL and makes the call fail when
 * the function returns, so no reading needs a check of its own. All pointers
 * live until the function returns. */
typedef struct bsm_call bsm_call;
typedef bsm_status (*bsm_call_fn)(bsm_call *call);

BSM_API size_t bsm_call_arg_count(const bsm_call *call);
BSM_API bool bsm_call_is_none(const bsm_call *call, size_t i);
/* A tensor, contiguous; NULL for None. Its data is NULL in a shape function. */
BSM_API const bsm_array *bsm_call_tensor(bsm_call *call, size_t i);
/* The tensors of a Tensor[]. */
BSM_API const bsm_array *bsm_call_tensor_list(bsm_call *call, size_t i,
                                              size_t *count);
/* int, float, bool and Scalar read as each other as Python converts them. */
BSM_API double bsm_call_double(bsm_call *call, size_t i);
BSM_API int64_t bsm_call_int(bsm_call *call, size_t i);
BSM_API bool bsm_call_bool(bsm_call *call, size_t i);
/* "" when it is none. */
BSM_API const char *bsm_call_string(bsm_call *call, size_t i);
/* *count values; NULL and 0 for None. int[] and bool[] read as ints; both, and
 * float[], read as doubles. */
BSM_API const int64_t *bsm_call_int_list(bsm_call *call, size_t i,
                                         size_t *count);
BSM_API const double *bsm_call_double_list(bsm_call *call, size_t i,
                                           size_t *count);

/* All tensors among the arguments, in order: what a layer without a schema
 * has. NULL past the end. */
BSM_API size_t bsm_call_input_count(const bsm_call *call);
BSM_API const bsm_array *bsm_call_input(const bsm_call *call, size_t i);
/* The parameters of a layer without a schema, 8-byte aligned. */
BSM_API const void *bsm_call_params(const bsm_call *call, size_t *size);

/* A shape function sets every output; an evaluator may, and then fills it. */
BSM_API BSM_NODISCARD bsm_status bsm_call_set_output(bsm_call *call, size_t i,
                                                     bsm_dtype dtype,
                                                     bsm_dims dims);
/* An output that has been set, contiguous; NULL when there is none. In `run`
 * its data is to be written. */
BSM_API const bsm_array *bsm_call_output(const bsm_call *call, size_t i);
/* The workspace that the layer asked for, 64-byte aligned. */
BSM_API void *bsm_call_workspace(const bsm_call *call);
/* Runs fn(arg, 0) .. fn(arg, count - 1) on the threads of the context, in any
 * order; returns when all are done. */
BSM_API void bsm_call_parallel(const bsm_call *call, size_t count,
                               void (*fn)(void *arg, size_t index), void *arg);

/* Results of an evaluator that are no tensors. */
BSM_API BSM_NODISCARD bsm_status bsm_call_return_none(bsm_call *call, size_t i);
BSM_API BSM_NODISCARD bsm_status bsm_call_return_int(bsm_call *call, size_t i,
                                                     int64_t value);
BSM_API BSM_NODISCARD bsm_status bsm_call_return_double(bsm_call *call,
                                                        size_t i, double value);
BSM_API BSM_NODISCARD bsm_status bsm_call_return_bool(bsm_call *call, size_t i,
                                                      bool value);
BSM_API BSM_NODISCARD bsm_status bsm_call_return_string(bsm_call *call,
                                                        size_t i,
                                                        const char *value);
BSM_API BSM_NODISCARD bsm_status bsm_call_return_int_list(bsm_call *call,
                                                          size_t i,
                                                          const int64_t *values,
                                                          size_t count);
BSM_API BSM_NODISCARD bsm_status bsm_call_return_double_list(
    bsm_call *call, size_t i, const double *values, size_t count);

/* ---- what a plug-in has ---- */

/* A layer. With a schema it is an operator: its tensors are the layer's
 * inputs, its other arguments are stored in the engine, it runs on constants
 * while compiling, and needs no converter. Without one, a converter adds it
 * (bsm_network_add_plugin) with parameters of its own making.
 *
 * `check` and `shape` run on everything that an engine file says before `run`
 * does: what they let pass is all that `run` must cope with. */
typedef struct bsm_layer_plugin {
  const char *name;   /* "demo::swish_clamp": what engines record */
  uint32_t version;   /* engines record it; another version is refused */
  uint32_t outputs;   /* how many; 0: one */
  const char *schema; /* without in-place arguments; tensors out. Or NULL */
  bsm_call_fn shape;  /* sets the outputs from dims, dtypes, arguments */
  bsm_call_fn run;    /* computes. NULL: converters replace the operator */
  /* Sets *size to the bytes that `run` needs; NULL: none. */
  bsm_status (*workspace)(bsm_call *call, size_t *size);
  /* Without a schema: whether bytes are parameters of this layer. */
  bsm_status (*check)(const void *params, size_t size);
} bsm_layer_plugin;

enum {
  /* Runs as soon as shapes are known: tensors may have data NULL. */
  BSM_EVALUATOR_OF_SHAPES = 1u << 0
};

/* An operator that is computed while compiling, when its arguments are known.
 * It goes before converters and layers, and replaces the built-in function of
 * an operator that has one. BSM_DATA_DEPENDENT: cannot say yet. */
typedef struct bsm_evaluator_plugin {
  const char *schema;
  bsm_call_fn evaluate;
  uint32_t flags;
} bsm_evaluator_plugin;

struct bsm_conversion_pattern; /* bessemer/conversion.h */

typedef struct bsm_plugin {
  uint32_t abi; /* BSM_PLUGIN_ABI */
  const char *name;
  const char *version; /* for people */
  const bsm_layer_plugin *layers;
  size_t layer_count;
  const bsm_evaluator_plugin *evaluators;
  size_t evaluator_count;
  const struct bsm_conversion_pattern *patterns;
  size_t pattern_count;
} bsm_plugin;

/* What a shared library exports, as BSM_API. */
#define BSM_PLUGIN_ENTRY "bsm_plugin_entry"
typedef const bsm_plugin *(*bsm_plugin_entry_fn)(void);

/* ---- registries ----
 * A registry is filled by one thread and then shared by any number; it must
 * outlive the modules, engines and contexts that it was given to. */
typedef struct bsm_plugin_registry bsm_plugin_registry;

/* NULL allocator: malloc. */
BSM_API BSM_NODISCARD bsm_status bsm_plugin_registry_create(
    const bsm_allocator *allocator, bsm_plugin_registry **out);
/* Closes what bsm_plugin_open opened. NULL is allowed. */
BSM_API void bsm_plugin_registry_destroy(bsm_plugin_registry *registry);
/* Adds a plug-in, which is borrowed. BSM_VERSION: it was built for another
 * ABI. BSM_INVALID_ARGUMENT: a row lacks something, or names a layer that is
 * there already with the same version. */
BSM_API BSM_NODISCARD bsm_status bsm_plugin_registry_add(
    bsm_plugin_registry *registry, const bsm_plugin *plugin);
BSM_API size_t bsm_plugin_registry_count(const bsm_plugin_registry *registry);
/* NULL past the end. */
BSM_API const bsm_plugin *bsm_plugin_registry_at(
    const bsm_plugin_registry *registry, size_t index);
/* Opens a shared library and adds its plug-in. The code of the library runs
 * with all rights of the program. Only the compiler library has this function.
 * BSM_IO: cannot be opened. BSM_NOT_FOUND: no bsm_plugin_entry. */
BSM_API BSM_NODISCARD bsm_status bsm_plugin_open(bsm_plugin_registry *registry,
                                                 const char *path);

BSM_EXTERN_C_END

#endif /* BESSEMER_PLUGIN_H_ */
