/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling: a TorchScript archive, a program of torch.export or IR text
 * becomes an engine.
 *
 *   bsm_module *module = NULL;
 *   bsm_engine *engine = NULL;
 *   bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
 *   bsm_status st = bsm_module_load("resnet50.ts", NULL, &module);
 *   if (!st) st = bsm_compile(module, &options, &engine);
 *   if (!st) st = bsm_engine_save(engine, "resnet50.bsm");
 *
 * Everything here is in the compiler library (libbessemer), which also holds
 * the whole runtime. */
#ifndef BESSEMER_COMPILER_H_
#define BESSEMER_COMPILER_H_

#include "bessemer/conversion.h"
#include "bessemer/engine.h"
#include "bessemer/limits.h"
#include "bessemer/log.h"
#include "bessemer/plugin.h"
#include "bessemer/status.h"
#include "bessemer/types.h"

BSM_EXTERN_C_BEGIN

/* Threads may use one module at once: one of them compiles, the others wait.
 * Threads that are to compile at the same time load a module each. */
typedef struct bsm_module bsm_module;
/* What is known for computing in int8: bessemer/calibration.h. */
typedef struct bsm_calibration bsm_calibration;

typedef struct bsm_module_options {
  size_t struct_size;             /* set by BSM_MODULE_OPTIONS_INIT */
  const bsm_limits *limits;       /* NULL: defaults */
  const bsm_logger *logger;       /* NULL: silent; must outlive the module */
  const bsm_allocator *allocator; /* NULL: malloc; must outlive the module */
  /* Operators, converters and layers of plug-ins; must outlive the module and
   * the engines compiled from it. NULL: none. */
  const bsm_plugin_registry *plugins;
  /* For a program of torch.export that writes to buffers or to its inputs: the
   * result becomes (result, state), with the new values in a dict, by name.
   * Otherwise the new values are dropped, with a warning. In both cases each
   * run begins with the values in the file. */
  bool state_as_output;
  /* Which model of a torch.export package that has several; NULL: the one
   * called "model", or the only one. Need not outlive the call. */
  const char *model_name;
  /* Read the file into memory instead of mapping it, as no_map of
   * bsm_engine_load_options. */
  bool no_map;
} bsm_module_options;
#define BSM_MODULE_OPTIONS_INIT \
  { sizeof(bsm_module_options), NULL, NULL, NULL, NULL, false, NULL, false }

/* Loads a TorchScript archive (.ts, .pt), a program of torch.export (.pt2), or
 * IR text (a file that starts with "graph("); the content decides which. The
 * file stays mapped until bsm_module_destroy, unless it is small or no_map is
 * set: until then nobody may truncate it, see bsm_engine_load. BSM_CORRUPT,
 * BSM_LIMIT: the message names the member and offset. BSM_UNSUPPORTED: a file
 * of another kind; the message names it and says what to do. */
BSM_API BSM_NODISCARD bsm_status bsm_module_load(
    const char *path, const bsm_module_options *options, bsm_module **out);
/* The same for bytes, which are borrowed until bsm_module_destroy. `name` is
 * for messages. */
BSM_API BSM_NODISCARD bsm_status
bsm_module_load_memory(const void *data, size_t size, const char *name,
                       const bsm_module_options *options, bsm_module **out);
BSM_API void bsm_module_destroy(bsm_module *module);

/* One parameter of a method, without self. */
typedef struct bsm_parameter {
  size_t struct_size; /* set by BSM_PARAMETER_INIT */
  const char *name;
  const char *type; /* "Tensor", "Optional[int]", ... */
  bool is_tensor;
  bool has_default;
  bool has_example; /* the archive or the type says the shape or shapes */
  bsm_dtype example_dtype; /* of a tensor */
  bsm_dims example_dims;
  /* The number of arrays that BSM_INPUT_EXAMPLES takes for it: its tensors and
   * numbers, according to its type or example; -1: any number, in lists or
   * dicts. */
  int32_t array_count;
  bool is_number_list; /* a list or tuple of numbers: one 1-d array will do */
  /* The least and greatest dims of a tensor, unless specs say otherwise; equal
   * to example_dims where dims do not range. */
  bsm_dims min_dims, max_dims;
} bsm_parameter;
#define BSM_PARAMETER_INIT BSM_SIZED_INIT(bsm_parameter)
/* The parameters of `method` (NULL: "forward"). A submodule's method is named
 * by its path: "encoder.forward", "layers.0.forward". */
BSM_API BSM_NODISCARD bsm_status bsm_module_parameter_count(bsm_module *module,
                                                            const char *method,
                                                            size_t *out);
BSM_API BSM_NODISCARD bsm_status bsm_module_parameter(bsm_module *module,
                                                      const char *method,
                                                      size_t index,
                                                      bsm_parameter *out);

/* The name of the root's i-th method that can be compiled; NULL past the end.
 * IR text has only "forward". Lives as long as the module. */
BSM_API const char *bsm_module_method_name(const bsm_module *module,
                                           size_t index);

/* What is known of one argument of the method, or of a part of one. */
typedef enum bsm_input_kind {
  /* dims (min, opt, max) and dtype; given when run. For a parameter of type
   * int, float or bool, of rank 0: a number given when run. */
  BSM_INPUT_TENSOR = 0,
  BSM_INPUT_INT = 1, /* a plain value, fixed when compiling */
  BSM_INPUT_FLOAT = 2,
  BSM_INPUT_BOOL = 3,
  BSM_INPUT_NONE = 4, /* None; the default of a parameter that takes no None */
  BSM_INPUT_CONSTANT_TENSOR = 5, /* `array`: folded into the engine */
  /* `string`, fixed when compiling; the name of an item, for an enum; "cpu",
   * for a device. */
  BSM_INPUT_STRING = 6,
  BSM_INPUT_LIST = 7, /* `items`; a tuple too, where the parameter is one */
  BSM_INPUT_TUPLE = 8,
  BSM_INPUT_DICT = 9,         /* `items` with their keys */
  BSM_INPUT_NAMED_TUPLE = 10, /* `items`, `name`d after the fields */
  BSM_INPUT_DEFAULT = 11,     /* the parameter's default */
  /* `array` is an example. A tensor has its dtype and dims, and is given when
   * run. A number has its value, which is fixed. A list or tuple of numbers has
   * the elements of a 1-d array. */
  BSM_INPUT_EXAMPLE = 12,
  /* A container of any kind, from its leaves: `items` of kind EXAMPLE, each
   * named by its keys joined by dots ("image", "0.scores"), or, without names,
   * in order. */
  BSM_INPUT_EXAMPLES = 13
} bsm_input_kind;

typedef enum bsm_input_key {
  BSM_INPUT_KEY_NAME = 0, /* the string `name` */
  BSM_INPUT_KEY_INT = 1,
  BSM_INPUT_KEY_FLOAT = 2,
  BSM_INPUT_KEY_BOOL = 3 /* int_key is 0 or 1 */
} bsm_input_key;

/* Each tensor of an argument is an input of the engine, in depth-first order,
 * named by its path: "x", "batch.image", "xs.0", "pair.left". Everything else
 * is fixed when compiling, and recorded: bsm_engine_input_structure. */
typedef struct bsm_input_spec {
  bsm_input_kind kind;
  /* The parameter's name; NULL: by position. For an item: its key or field. */
  const char *name;
  bsm_dtype dtype; /* BSM_DTYPE_FLOAT unless set: see BSM_INPUT_SPEC_INIT */
  int32_t rank;
  /* Equal for a fixed shape; `opt` and `max` all zero mean "as min". */
  int64_t min[BSM_MAX_RANK], opt[BSM_MAX_RANK], max[BSM_MAX_RANK];
  int64_t int_value;
  double float_value;
  bool bool_value;
  const bsm_array *array;
  const char *string;
  size_t string_length; /* 0: up to the NUL */
  const struct bsm_input_spec *items;
  size_t item_count;
  bsm_input_key key_kind; /* of an item of a DICT */
  int64_t int_key;
  double float_key;
} bsm_input_spec;
#ifdef __cplusplus
inline bsm_input_spec bsm_input_spec_init(void) {
  bsm_input_spec made = bsm_input_spec();
  made.dtype = BSM_DTYPE_FLOAT;
  return made;
}
#define BSM_INPUT_SPEC_INIT bsm_input_spec_init()
#else
#define BSM_INPUT_SPEC_INIT \
  { .dtype = BSM_DTYPE_FLOAT }
#endif

/* The precision of some layers: those whose name (see bsm_engine_dump) matches
 * `layer`, which may have * and ?; or those of the submodule `module`, given by
 * path ("layer1.0", with submodules inside) or by class. One of the two is
 * NULL. */
typedef struct bsm_precision_override {
  const char *layer;
  const char *module;
  bsm_precision precision;
} bsm_precision_override;

typedef enum bsm_reference {
  /* Operators call the reference library, which computes as PyTorch does, one
   * by one: nothing is fused. Those that it lacks become layers. */
  BSM_REFERENCE_LIBRARY = 1,
  /* Floating point is computed in float64; inputs and outputs have the model's
   * dtypes. What cannot be computed in float64 is computed as the model says.
   */
  BSM_REFERENCE_DOUBLE = 2
} bsm_reference;

/* What the user wants to find in the engine's metadata. */
typedef struct bsm_metadata {
  const char *key, *value;
} bsm_metadata;

/* How far a compilation is: `done` of `total` units of a phase; total 0: not
 * known. The phases are "lowering", "converting", "tactics" (choosing how each
 * step computes, which takes most of the time when it is timed), "weights" and
 * "kernels" (machine code of GPUs); all but the first come again for each part
 * of a model that is compiled by itself. Called often, in the thread that
 * compiles. False cancels: the call fails with BSM_CANCELLED soon, and leaves
 * nothing behind. */
typedef bool (*bsm_compile_progress)(void *user, const char *phase, size_t done,
                                     size_t total);

typedef struct bsm_compile_options {
  size_t struct_size; /* set by BSM_COMPILE_OPTIONS_INIT */
  const char *method; /* NULL: "forward"; "encoder.forward" of a submodule */
  /* NULL: the example inputs of the archive. */
  const bsm_input_spec *inputs;
  size_t input_count;
  /* Converters of your own, registered over the built-in ones; tables of
   * `pattern_count` rows. */
  const bsm_conversion_pattern *patterns;
  size_t pattern_count;
  /* Older fields for parameters of the target (below), which they may not
   * contradict: instructions of the CPU, as in bsm_context_options, and
   * threads; 0: not given. */
  uint32_t isa;
  int threads;
  bool no_timing; /* choose tactics by cost model: builds are reproducible */
  const char *timing_cache;       /* path, read and updated; NULL: none */
  const bsm_logger *logger;       /* NULL: the module's */
  const bsm_allocator *allocator; /* of the engine; must outlive it */
  /* Called with the text of the graph, and then of the network, after each of
   * the passes that bsm_pass_name lists. NULL: none. */
  void (*dump)(void *user, const char *pass, const char *text);
  void *dump_user;
  /* Computes in int32 and float32 where the model computes in int64 and
   * float64. The engine's inputs and outputs keep their dtypes. Narrowed values
   * are logged at INFO and listed in the engine's metadata, "truncated". A
   * constant that does not fit is an error that names it. */
  bool truncate_long_and_double;
  /* An operator that would be left to the reference library, which is slow, is
   * an error; otherwise it is logged at INFO. */
  bool require_full_compilation;
  /* Operators that are left to the reference library even where something
   * faster could run them: "aten::add" (all overloads) or "aten::add.Tensor".
   * With constant arguments they are still computed when compiling.
   * BSM_INVALID_ARGUMENT: there is no such operator.
   * BSM_UNSUPPORTED: the library cannot run it. An operator that the lowered
   * model does not have is a warning. */
  const char *const *fallback_ops;
  size_t fallback_op_count;
  /* The same for all nodes of submodules, given by path ("layer1.0", with
   * submodules inside) or by class ("BasicBlock",
   * "torch.nn.modules.conv.Conv2d"). Operators that the library does not have
   * are not affected. */
  const char *const *fallback_modules;
  size_t fallback_module_count;
  /* A segment of a program is a part with fixed shapes, compiled to a plan.
   * When it has fewer nodes than this it is not compiled, and its nodes are
   * called one by one. 0 and 1: all are compiled. A model that is one plan is
   * always compiled as a whole, and so are the plans for single shapes of a
   * range. */
  size_t min_block_size;
  /* What to build for: "cpu", this machine's, or the whole text of a target,
   * such as "cpu:avx2,threads=4,l2=512K", for any machine of that kind; see
   * bsm_target_text. Instruction sets are scalar, avx2, avx512, avx512_bf16,
   * amx and neon. When nothing is timed, an engine depends only on the
   * model, the target and the options, not on the machine that builds it.
   * Timing needs a machine that can run the engine (without no_timing,
   * BSM_UNSUPPORTED on others). NULL: "cpu".
   * BSM_INVALID_ARGUMENT: an unknown target or parameter; the message lists the
   * known ones. */
  const char *target;
  /* Precisions, as bits, that layers of float32 may compute in; the fastest
   * that the target has is taken. FP32 is always allowed; 0: only FP32. A
   * precision that the target has for no layer is a warning. Layers of other
   * dtypes compute in theirs. Plans that are made for the shapes of a run
   * ignore this. */
  uint32_t precisions;
  /* Precisions of single layers, which take precedence over `precisions`. The
   * last one that matches a layer counts.
   * BSM_INVALID_ARGUMENT: one matches no layer. */
  const bsm_precision_override *precision_overrides;
  size_t precision_override_count;
  /* An override that the target cannot follow is BSM_UNSUPPORTED; otherwise it
   * is a warning, and the layer computes in a precision that the target has. */
  bool obey_precisions;
  /* How to compute what others are compared with: bits of bsm_reference. Such
   * an engine is slow. */
  uint64_t reference;
  /* The ranges by which layers compute in int8, which `precisions` has to
   * allow; need not outlive the call. A network that the target expects to be
   * slower so stays in float32, but for layers that an override wants in int8,
   * or with `prefer_size`. NULL: none.
   * BSM_INVALID_ARGUMENT: it is of another model, or int8 is not allowed.
   * BSM_UNSUPPORTED: shapes range, or the model branches on data. */
  const bsm_calibration *calibration;
  /* The engine does not tell in which files and lines of the model's source its
   * layers were, only in which submodules. */
  bool strip_sources;
  /* Weights alone in few bits, for products that reading them bounds: 8, with a
   * scale for each column, or 4, with one for each column and `weight_group`
   * rows (32, 64 or 128; 0: 32). 0: none. Sums are float32, and so is all else.
   * Taken are products of float32 by a constant matrix of 32768 numbers or
   * more, whose left side has at most `weight_rows` rows (0: 32), but for those
   * that an override wants in fp32. What each matrix loses is logged at INFO.
   * BSM_INVALID_ARGUMENT: another number; or a weight that is not finite. */
  int weight_bits, weight_group;
  int64_t weight_rows;
  bsm_compile_progress progress; /* NULL: nobody is told */
  void *progress_user;
  /* For bsm_engine_metadata, beside what the compiler notes: a version, a
   * licence, names of classes. BSM_INVALID_ARGUMENT: a key is empty, is there
   * twice, or begins as the compiler's do: "builder.", "source.", "options.",
   * "truncated". */
  const bsm_metadata *metadata;
  size_t metadata_count;
  /* Small engines rather than fast ones: convolutions keep their kernels as
   * they are, which transformed for Winograd's algorithm take up to four times
   * the room, and layers have 16 bits where these are allowed, or the model's,
   * or int8 by a calibration, though float32 were faster. */
  bool prefer_size;
} bsm_compile_options;
#define BSM_COMPILE_OPTIONS_INIT BSM_SIZED_INIT(bsm_compile_options)

/* Compiles a method into an engine, which does not refer to the module.
 * Loading and compiling nest as deeply as the model does: with glibc they run
 * on a stack of their own, in the caller's thread, as do callbacks that they
 * call, which have to return. 64 KiB of the caller's stack are enough, for
 * running engines too; elsewhere compiling may take 1 MiB. BSM_UNSUPPORTED:
 * operators that cannot run in an engine, all of them listed with their places;
 * or a feature named in the message. BSM_INVALID_ARGUMENT: the inputs
 * contradict the method. */
BSM_API BSM_NODISCARD bsm_status bsm_compile(bsm_module *module,
                                             const bsm_compile_options *options,
                                             bsm_engine **out);

/* Gives the engine of a model that differs from the one that `engine` was made
 * of in its weights alone, such as a later state of its training: with the same
 * choices of how each step computes, so that nothing is timed; what roundings
 * the new weights allow is measured again. `options` are those that `engine`
 * was compiled with; the target, the method and inputs that are tensors are
 * taken from it where they are not given. The old engine stays as it is.
 * BSM_INVALID_ARGUMENT: the options are others, or the model is, as its inputs
 * and outputs say. Otherwise as bsm_compile. */
BSM_API BSM_NODISCARD bsm_status
bsm_engine_refit(const bsm_engine *engine, bsm_module *module,
                 const bsm_compile_options *options, bsm_engine **out);

/* The whole text of a target, with all of its parameters: the "builder.target"
 * of engines built for it (bsm_engine_metadata). "cpu" or NULL gives this
 * machine's. The caller frees it with bsm_string_free.
 * BSM_INVALID_ARGUMENT: as in bsm_compile_options. BSM_NOT_FOUND,
 * BSM_DEVICE: the bare name of a device that is not here. */
BSM_API BSM_NODISCARD bsm_status bsm_target_text(const char *target,
                                                 char **out);

/* The names of the targets that there are, the first being the one that is
 * built for when none is asked for: "cpu", "cuda". NULL past the end. A target
 * may be built for without its device, but not under its bare name:
 * bsm_target_text tells what is missing. The string is static. */
BSM_API const char *bsm_target_name(size_t index);

/* The names that options.dump is called with, in order: "input", the given
 * graph; the lowering passes; "network", the converted network; "quantized",
 * the same when it was quantized by a calibration; the builder's passes and
 * those of targets; "optimized", the network that is built. NULL past the end.
 * The string is static. */
BSM_API const char *bsm_pass_name(size_t index);

/* An operator of a compiled method, or of the built-in tables. */
typedef struct bsm_operator_info {
  size_t struct_size; /* set by BSM_OPERATOR_INFO_INIT */
  const char *schema;
  size_t count;       /* nodes in the lowered graph; 0 in the built-in list */
  const char *source; /* the first place, "model.py:12", or "" */
  bool has_converter, has_evaluator, has_reference;
  /* For a method: the numbers of nodes that become layers, that are computed
   * when compiling, that call the reference library when the engine runs, and
   * that cannot run. With planned_nodes, called_nodes and program_nodes they
   * add up to `count`. */
  size_t layer_nodes, evaluated_nodes, reference_nodes, unsupported_nodes;
  /* How it runs when its arguments are known only at run time:
   * "layers": a converter takes it; beyond the converter's limits the reference
   *     library runs it, where it can,
   * "evaluator": while compiling,
   * "reference": called in the reference library when the engine runs,
   * "lowering": lowering replaces or executes it,
   * "plugin": a layer of a plug-in,
   * "planned": of a method: in plans made for the shapes of a run,
   * "call": of a method: called one by one by the engine's program, as its
   *     shapes or arguments depend on data, or by an option,
   * "program": of a method: the program itself: control flow, lists, tuples,
   * "refused": it keeps a model from compiling. */
  const char *runs;
  const char *limits; /* one a line; "" when there are none */
  /* Of a method: the places in the source, each once, one a line. */
  const char *places;
  /* For a method: nodes of plans that are made for the shapes of a run, nodes
   * that the program calls, and nodes that become instructions of the program;
   * part of the sum. */
  size_t planned_nodes, called_nodes, program_nodes;
  /* For a method whose inputs range: nodes that run as layers, and by the
   * reference library, in the plan for the optimal shape. Not part of the sum;
   * `count` is 0 for an operator that only this plan has. */
  size_t optimal_layer_nodes, optimal_reference_nodes;
  /* For a method: why the first node that is no layer is none; or "". */
  const char *why;
} bsm_operator_info;
#define BSM_OPERATOR_INFO_INIT BSM_SIZED_INIT(bsm_operator_info)

typedef struct bsm_operator_list bsm_operator_list;

/* All known operators: first those with converters, then those that are
 * evaluated, then the rest of the reference library. */
BSM_API BSM_NODISCARD bsm_status bsm_operators(bsm_operator_list **out);
/* With those of plug-ins, which may be NULL. */
BSM_API BSM_NODISCARD bsm_status
bsm_operators_with(const bsm_plugin_registry *plugins, bsm_operator_list **out);
/* The operators of a method after lowering, and how they run, found by
 * compiling with these options without timing. Fails when the method cannot be
 * lowered; later failures are in the list. */
BSM_API BSM_NODISCARD bsm_status
bsm_module_operators(bsm_module *module, const bsm_compile_options *options,
                     bsm_operator_list **out);
BSM_API void bsm_operator_list_free(bsm_operator_list *list);

BSM_API size_t bsm_operator_list_count(const bsm_operator_list *list);
/* One of them, whose strings live as long as the list. BSM_OUT_OF_RANGE: there
 * is no such index. */
BSM_API BSM_NODISCARD bsm_status bsm_operator_list_get(
    const bsm_operator_list *list, size_t index, bsm_operator_info *out);
/* For a method: why it does not compile with these options; NULL: it does. */
BSM_API const char *bsm_operator_list_failure(const bsm_operator_list *list);

/* ---- small programs ---- */

/* Writes, as a file of C, what a program links of the static
 * libbessemer-runtime to run `engines`: their operators, steps and kernels. All
 * others are left out, and an engine that needs them is refused when it is
 * loaded. `names` says in that message what the list is for, such as
 * "model.bsm". `isas`: instruction sets of kernels, separated by commas:
 * "avx2,scalar"; NULL: all. A CPU that has none of them loads no engine. With
 * `count` 0 only kernels are left out. The caller frees *out with
 * bsm_string_free.
 * BSM_INVALID_ARGUMENT: there are no kernels for one of `isas`. */
BSM_API BSM_NODISCARD bsm_status
bsm_write_link_list(const bsm_engine *const *engines, size_t count,
                    const char *names, const char *isas, char **out);

BSM_EXTERN_C_END

#endif /* BESSEMER_COMPILER_H_ */
