/* SPDX-License-Identifier: Apache-2.0 */
/* Engines and execution: the runtime library's API.
 *
 *   bsm_engine *engine = NULL;
 *   bsm_context *context = NULL;
 *   bsm_status st = bsm_engine_load("model.bsm", NULL, &engine);
 *   if (!st) st = bsm_context_create(engine, NULL, &context);
 *   if (!st) st = bsm_context_run(context, inputs, 1, outputs, 1);
 *
 * An engine is immutable and may be shared by any number of threads; a context
 * is used by one thread at a time. Destroy contexts before their engine. */
#ifndef BESSEMER_ENGINE_H_
#define BESSEMER_ENGINE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bessemer/allocator.h"
#include "bessemer/limits.h"
#include "bessemer/log.h"
#include "bessemer/plugin.h"
#include "bessemer/status.h"
#include "bessemer/structure.h"
#include "bessemer/thread_pool.h"
#include "bessemer/types.h"
#include "bessemer/version.h"

BSM_EXTERN_C_BEGIN

typedef struct bsm_engine bsm_engine;
typedef struct bsm_context bsm_context;

#define BSM_PUBLIC_KEY_BYTES 32

typedef struct bsm_engine_load_options {
  size_t struct_size;             /* set by BSM_ENGINE_LOAD_OPTIONS_INIT */
  const bsm_logger *logger;       /* NULL: silent; used during the load only */
  const bsm_allocator *allocator; /* NULL: malloc; must outlive the engine */
  uint64_t max_file_bytes;        /* 0: 64 GiB */
  bool skip_checksum; /* trust the file's bytes; indices are always checked */
  /* The custom layers that contexts may run; must outlive the engine. Loading
   * succeeds without those that the engine has; bsm_context_create does not. */
  const bsm_plugin_registry *plugins;
  /* The index, from 0, of the device that the engine runs on, among the
   * machine's devices of the kind that it was built for. The CPU is one device.
   * Loading fails with BSM_NOT_FOUND when there is no such device. */
  int32_t device;
  /* Engines for GPUs carry machine code, which can do whatever the process may:
   * no check makes it safe. An engine that carries code is refused with
   * BSM_UNTRUSTED, unless
   * - this is set, for files from where programs may come from as well; or
   * - it is signed with one of `public_keys`, and unchanged; or
   * - this user has built it on this machine (`ignore_built`). */
  bool trust_code;
  /* The engine is looked at, or saved, not run: its device is not opened, and
   * its code not loaded. */
  bool without_device;
  /* Ed25519 keys (bessemer/signature.h) of those whose machine code is run.
   * They need not outlive the call. Engines without code are not asked for a
   * signature. */
  const uint8_t (*public_keys)[BSM_PUBLIC_KEY_BYTES];
  size_t public_key_count;
  /* bsm_engine_save notes the hash of an engine with code that this process has
   * compiled, in a folder that nobody but this user may use; see there. Such
   * engines are trusted unless this is set. */
  bool ignore_built;
  /* bsm_engine_load reads the file into memory of the engine instead of mapping
   * it: see there. That memory is in large pages where the system has them,
   * which makes large products a few percent faster. */
  bool no_map;
} bsm_engine_load_options;
#define BSM_ENGINE_LOAD_OPTIONS_INIT                                       \
  {                                                                        \
    sizeof(bsm_engine_load_options), NULL, NULL, 0, false, NULL, 0, false, \
        false, NULL, 0, false, false                                       \
  }

/* Maps the engine file and checks it. Weights stay in the map. An engine whose
 * code is trusted for its signature or its hash is read into memory of the
 * engine instead, and verified there: what others do to the file afterwards
 * changes nothing.
 *
 * A process that reads a part of a map which the file has lost since is killed
 * by SIGBUS: `cp new.bsm model.bsm` truncates the file under whoever has it
 * mapped. So replace engine files by renaming, as bsm_engine_save does, or load
 * them with no_map, which takes memory for the whole file in each process, and
 * its time. Files of at most 64 KiB are never mapped.
 * BSM_IO: cannot be read. BSM_CORRUPT: not an engine, or damaged (with the
 * offset). BSM_VERSION: written by another version (both are named).
 * BSM_UNTRUSTED: it carries code, and there is no reason to trust it.
 * *out is owned by the caller (bsm_engine_destroy). */
BSM_API BSM_NODISCARD bsm_status bsm_engine_load(
    const char *path, const bsm_engine_load_options *options, bsm_engine **out);

/* As bsm_engine_load for bytes in memory, which are borrowed, must outlive the
 * engine, and must not change; 64-byte alignment avoids a copy. */
BSM_API BSM_NODISCARD bsm_status bsm_engine_load_memory(
    const void *data, size_t size, const bsm_engine_load_options *options,
    bsm_engine **out);

typedef struct bsm_engine_save_options {
  size_t struct_size;       /* set by BSM_ENGINE_SAVE_OPTIONS_INIT */
  const bsm_logger *logger; /* NULL: silent; used during the call only */
  bool unrecorded;          /* do not note that this user has built it */
} bsm_engine_save_options;
#define BSM_ENGINE_SAVE_OPTIONS_INIT \
  { sizeof(bsm_engine_save_options), NULL, false }

/* Writes the engine, without the signature that it may have been loaded with.
 * The file appears complete or not at all.
 *
 * When this process has compiled the engine and it carries machine code, its
 * hash is noted, so that this user can load the file without being asked to
 * trust it: in the folder that the environment variable BESSEMER_BUILT_ENGINES
 * names (no note is made when it is empty), else in bessemer/built below
 * $XDG_STATE_HOME or ~/.local/state. A note that cannot be made is a warning,
 * no failure. `options` NULL: defaults. */
BSM_API BSM_NODISCARD bsm_status
bsm_engine_save_with(const bsm_engine *engine, const char *path,
                     const bsm_engine_save_options *options);
/* The same with default options. */
BSM_API BSM_NODISCARD bsm_status bsm_engine_save(const bsm_engine *engine,
                                                 const char *path);

/* Takes `size` bytes of an engine file that follow those of the calls before.
 * They may go when it returns. A failure (bsm_status_make) ends the saving,
 * which returns it. */
typedef bsm_status (*bsm_engine_write)(void *user, const void *data,
                                       size_t size);
/* As bsm_engine_save_with, but hands the bytes of the file to `write`, in
 * order: into a database, through a network, encrypted. */
BSM_API BSM_NODISCARD bsm_status
bsm_engine_save_stream(const bsm_engine *engine, bsm_engine_write write,
                       void *user, const bsm_engine_save_options *options);
/* The same into memory, aligned as bsm_engine_load_memory likes it. The caller
 * frees *data with bsm_bytes_free. On failure *data is NULL and *size 0. */
BSM_API BSM_NODISCARD bsm_status bsm_engine_save_memory(
    const bsm_engine *engine, const bsm_engine_save_options *options,
    void **data, size_t *size);
/* NULL is allowed. */
BSM_API void bsm_bytes_free(void *data);

/* NULL is allowed. Contexts of the engine may be used, and destroyed, later:
 * the memory of both is released with the last of them. */
BSM_API void bsm_engine_destroy(bsm_engine *engine);

/* An input or output. `name` lives as long as the engine. A size of -1 is known
 * only in the run; for an input, bsm_engine_input_range gives its limits.
 * Outputs may also have rank -1, and then dtype BSM_DTYPE_UNDEFINED when that
 * is unknown too; bsm_context_output has them after a run. `space` is the
 * memory in which the engine reads or writes it: an array there needs no copy,
 * an array in the other memory is copied. */
typedef struct bsm_binding {
  size_t struct_size; /* set by BSM_BINDING_INIT */
  const char *name;
  bsm_dtype dtype;
  bsm_dims dims;
  bsm_memory_space space;
} bsm_binding;
#define BSM_BINDING_INIT BSM_SIZED_INIT(bsm_binding)

BSM_API size_t bsm_engine_input_count(const bsm_engine *engine);
BSM_API size_t bsm_engine_output_count(const bsm_engine *engine);
/* BSM_OUT_OF_RANGE when there is no such index. */
BSM_API BSM_NODISCARD bsm_status bsm_engine_input(const bsm_engine *engine,
                                                  size_t index,
                                                  bsm_binding *out);
BSM_API BSM_NODISCARD bsm_status bsm_engine_output(const bsm_engine *engine,
                                                   size_t index,
                                                   bsm_binding *out);
/* The least and greatest dims that an input may have, and those that the engine
 * was built to be fast with; the binding's own dims where they are fixed. Any
 * of the three may be NULL. BSM_OUT_OF_RANGE as above. */
BSM_API BSM_NODISCARD bsm_status
bsm_engine_input_range(const bsm_engine *engine, size_t index, bsm_dims *min,
                       bsm_dims *opt, bsm_dims *max);
/* The index of the input or output of that name.
 * BSM_NOT_FOUND: the message lists the names. */
BSM_API BSM_NODISCARD bsm_status bsm_engine_find_input(const bsm_engine *engine,
                                                       const char *name,
                                                       size_t *out);
BSM_API BSM_NODISCARD bsm_status
bsm_engine_find_output(const bsm_engine *engine, const char *name, size_t *out);

/* How the inputs make up the arguments of the method (its root has a child for
 * each parameter), and the outputs the result. NULL for an engine that was not
 * made from a model. Parts of the result whose length, keys or kind are known
 * only after a run are of kind BSM_STRUCTURE_RUN_TIME here; tensors in them are
 * outputs of each run, not of the engine. See bsm_context_output_structure. */
BSM_API const bsm_structure *bsm_engine_input_structure(
    const bsm_engine *engine);
BSM_API const bsm_structure *bsm_engine_output_structure(
    const bsm_engine *engine);
/* A structure as Python would write it, on one line, leaves as "Tensor -> 0".
 * The caller frees it with bsm_string_free. */
BSM_API BSM_NODISCARD bsm_status bsm_structure_text(const bsm_structure *node,
                                                    char **out);
/* What the engine was built from: "builder.version", "source.file", ...; NULL
 * when there is no such key. */
BSM_API const char *bsm_engine_metadata(const bsm_engine *engine,
                                        const char *key);
/* The i-th key and value; false past the end. */
BSM_API bool bsm_engine_metadata_at(const bsm_engine *engine, size_t index,
                                    const char **key, const char **value);

typedef struct bsm_engine_memory_info {
  size_t struct_size; /* set by BSM_ENGINE_MEMORY_INFO_INIT */
  /* Bytes of weights, shared by all contexts, including constants of programs.
   * Weights that several parts of the engine use count once. */
  uint64_t weights;
  /* Bytes for each context in the memory of the target. A workspace that the
   * caller provides needs their sum, each rounded up to 64 bytes. */
  uint64_t workspace;
  uint64_t scratch; /* for `threads` threads */
  /* When the target's memory is not the host's: bytes of the host's memory for
   * each context, for steps that run there, and bytes of the weights that are
   * in the target's memory. Otherwise 0. */
  uint64_t host_workspace, host_scratch;
  uint64_t device_weights;
} bsm_engine_memory_info;
#define BSM_ENGINE_MEMORY_INFO_INIT BSM_SIZED_INIT(bsm_engine_memory_info)
/* The memory that running needs; `threads` as in the context options. With
 * shapes that range, it is that for the largest ones. Of an engine without its
 * device, scratch and device_weights are 0. A plan that a context
 * makes for other shapes takes about 2 KiB for each step, and max_plans of them
 * are kept. Parts that depend on data take more while they run, for the tensors
 * that they compute, up to bsm_context_options.max_run_bytes; that is released
 * when the next run starts. */
BSM_API BSM_NODISCARD bsm_status bsm_engine_memory(const bsm_engine *engine,
                                                   int threads,
                                                   bsm_engine_memory_info *out);

/* The plan as text: tensors, steps, memory. The caller frees it with
 * bsm_string_free. */
BSM_API BSM_NODISCARD bsm_status bsm_engine_dump(const bsm_engine *engine,
                                                 char **out);
BSM_API void bsm_string_free(char *text);

/* One step of the plan, for tools. */
typedef struct bsm_step_info {
  size_t struct_size; /* set by BSM_STEP_INFO_INIT */
  const char *name;   /* of the layers it runs */
  const char *kind;   /* "convolution" */
  const char *tactic; /* chosen when the engine was built; "" when open */
  /* What it computes and moves, whatever the tactic. Multiply-adds count as two
   * operations, others on an element as one. Each tensor and weight counts
   * once. */
  double flops, bytes;
  size_t trial_count; /* tactics timed when the engine was built; 0: none */
  /* Its tensors: `first_tensor` added to each gives an index for
   * bsm_engine_tensor. They live as long as the engine. */
  const uint32_t *inputs, *outputs;
  size_t input_count, output_count, first_tensor;
  /* The part of the engine that it belongs to, from 0: its plan, or the plans
   * between which its program runs. Parts use the same workspace in turn. */
  size_t part;
  uint64_t weight_bytes;
  bsm_precision precision; /* that it computes in */
  bsm_memory_space space;  /* that it runs in */
} bsm_step_info;
#define BSM_STEP_INFO_INIT BSM_SIZED_INIT(bsm_step_info)
BSM_API size_t bsm_engine_step_count(const bsm_engine *engine);
BSM_API BSM_NODISCARD bsm_status bsm_engine_step(const bsm_engine *engine,
                                                 size_t index,
                                                 bsm_step_info *out);

/* Where a tensor of a plan is. */
typedef enum bsm_tensor_place {
  BSM_TENSOR_INPUT = 0,     /* the caller's array: input `index` of its part */
  BSM_TENSOR_OUTPUT = 1,    /* the same for an output */
  BSM_TENSOR_WORKSPACE = 2, /* at `offset` of the context's workspace */
  BSM_TENSOR_WEIGHTS = 3    /* among the weights */
} bsm_tensor_place;

/* A tensor that steps read and write, for tools. Tensors may share memory: an
 * offset and strides say where the elements are. */
typedef struct bsm_tensor_info {
  size_t struct_size; /* set by BSM_TENSOR_INFO_INIT */
  const char *name;   /* of the value in the model; "" when there is none */
  bsm_dtype dtype;
  bsm_dims dims;
  const int64_t *strides; /* in elements; they live as long as the engine */
  bsm_tensor_place place;
  bsm_memory_space space;
  size_t index;
  uint64_t offset, bytes; /* from the first to behind the last element */
} bsm_tensor_info;
#define BSM_TENSOR_INFO_INIT BSM_SIZED_INIT(bsm_tensor_info)
/* Those of all parts of the engine. */
BSM_API size_t bsm_engine_tensor_count(const bsm_engine *engine);
BSM_API BSM_NODISCARD bsm_status bsm_engine_tensor(const bsm_engine *engine,
                                                   size_t index,
                                                   bsm_tensor_info *out);

/* One of the tactics that were timed for a step. */
typedef struct bsm_step_trial {
  size_t struct_size; /* set by BSM_STEP_TRIAL_INIT */
  const char *tactic;
  double seconds; /* as the engine says: of the machine that built it */
} bsm_step_trial;
#define BSM_STEP_TRIAL_INIT BSM_SIZED_INIT(bsm_step_trial)
BSM_API BSM_NODISCARD bsm_status bsm_engine_step_trial(const bsm_engine *engine,
                                                       size_t step,
                                                       size_t index,
                                                       bsm_step_trial *out);

/* A custom layer that the engine was built with, which a plug-in must provide.
 */
typedef struct bsm_engine_layer {
  size_t struct_size; /* set by BSM_ENGINE_LAYER_INIT */
  const char *name;
  uint32_t version;
  bool registered; /* in the registry of the load options */
} bsm_engine_layer;
#define BSM_ENGINE_LAYER_INIT BSM_SIZED_INIT(bsm_engine_layer)
BSM_API size_t bsm_engine_layer_count(const bsm_engine *engine);
BSM_API BSM_NODISCARD bsm_status bsm_engine_get_layer(const bsm_engine *engine,
                                                      size_t index,
                                                      bsm_engine_layer *out);

/* ---- contexts ---- */

/* Returns memory for output `index` of a run: `bytes` bytes for the dims that
 * it has in this run, aligned as its elements are. It must stay until the
 * caller is done with the output. `index` is that of bsm_context_output. NULL:
 * there is no memory, and the run fails. */
typedef void *(*bsm_output_allocate)(void *user, size_t index, const char *name,
                                     bsm_dtype dtype, const bsm_dims *dims,
                                     size_t bytes);

/* Something that a thread did in a run. The strings live until the callback
 * returns. */
typedef struct bsm_trace_event {
  size_t struct_size;
  const char *name; /* of the step: its layers; or the op of a program's call */
  const char *kind, *tactic;
  /* 0: the thread that runs the context; 1 and up: those of its own pool; -1:
   * the device. */
  int thread;
  double begin, end; /* seconds since some moment in the past */
} bsm_trace_event;
typedef void (*bsm_trace)(void *user, const bsm_trace_event *event);

typedef struct bsm_context_options {
  size_t struct_size; /* set by BSM_CONTEXT_OPTIONS_INIT */
  /* Threads of a pool of the context's own; 0: as many as CPUs. Ignored when
   * `pool` is given. */
  int threads;
  bsm_thread_pool *pool; /* shared; must outlive the context */
  /* bsm_isa bits to use; 0: all that this CPU has. Bits the CPU lacks are
   * dropped. 0x80000000 forces plain C kernels. */
  uint32_t isa;
  const bsm_logger *logger;       /* NULL: silent; must outlive the context */
  const bsm_allocator *allocator; /* NULL: the engine's */
  /* The caller's workspace (64-byte aligned), in the memory of the device that
   * the engine was built for, or NULL to allocate. */
  void *workspace;
  size_t workspace_size;
  bool profile; /* time every step: bsm_context_profile */
  /* Provides the memory for outputs of bsm_context_run_keep; called once for
   * each of them in each run. NULL: the context's own memory. */
  bsm_output_allocate output_allocate;
  void *output_user;
  /* Engines made of models that loop or branch on data could run for ever, or
   * take all memory. A run fails with BSM_LIMIT after this many instructions,
   * where an iteration of a loop counts too, and a call of the reference
   * library or a run of planned steps once more for each 4096 multiply-adds or
   * visits of elements (0: a thousand million, and such work does not count),
   * or when its values take more bytes (0: 16 GiB, or 64 times the inputs and
   * weights, whichever is more). For a time it may take twice that, and 64 MiB,
   * including garbage. Engines of fixed steps ignore this: they end, and need
   * what bsm_engine_memory says. */
  uint64_t max_instructions;
  uint64_t max_run_bytes;
  /* The most plans for shapes of the inputs that are kept, besides those that
   * the engine has; 0: 16 for each part of the model that has such plans. The
   * least recently used one is dropped first. */
  size_t max_plans;
  /* The caller's stream of the device that the engine was built for, as a
   * handle of the device's own API (CUDA: CUstream, cudaStream_t), or NULL for
   * one of the context's own. The context does all its work there, behind what
   * the caller has put into it. It has to outlive the context. CUDA's default
   * stream is CU_STREAM_LEGACY. bsm_context_create fails with BSM_UNSUPPORTED
   * when the device has no such streams, as the CPU. */
  void *stream;
  /* Where the device can, all steps of a plan are recorded and given to it as
   * one piece (CUDA: a graph), from the second run on with the same dims and
   * addresses; four sets of addresses are remembered for each plan. The results
   * are the same. true: steps are given one by one. */
  bool no_graphs;
  /* Copies what each step computes, of at most so many bytes in a run, for
   * bsm_context_tensor; then each run waits for every step. 0: nothing is
   * copied. */
  uint64_t keep_tensors;
  /* Called for every step, in the thread that runs the context, when the step
   * is over, and for each of the pool's threads that had a part in it; with
   * steps on a device, when they are waited for. Threads of a shared `pool` are
   * not told of. NULL: nothing is traced. */
  bsm_trace trace;
  void *trace_user;
} bsm_context_options;
#define BSM_CONTEXT_OPTIONS_INIT                                               \
  {                                                                            \
    sizeof(bsm_context_options), 0, NULL, 0, NULL, NULL, NULL, 0, false, NULL, \
        NULL, 0, 0, 0, NULL, false, 0, NULL, NULL                              \
  }
#define BSM_CONTEXT_ISA_SCALAR 0x80000000u

/* Everything that running needs is allocated here. `options` NULL: defaults.
 * BSM_NOT_FOUND: a custom layer is not registered; the message names it and
 * the versions there are. */
BSM_API BSM_NODISCARD bsm_status
bsm_context_create(const bsm_engine *engine, const bsm_context_options *options,
                   bsm_context **out);
BSM_API void bsm_context_destroy(bsm_context *context);

/* The random numbers of later runs are, bit for bit, those that PyTorch draws
 * on the CPU after torch.manual_seed(seed) for a model that makes the same
 * calls. Runs go on where the one before ended. Without this, a context begins
 * with the seed 0. It may be called between any two runs, and does nothing for
 * engines that draw no numbers. */
BSM_API BSM_NODISCARD bsm_status bsm_context_seed(bsm_context *context,
                                                  uint64_t seed);

/* Runs the engine on the caller's arrays: one for each input and output, in
 * order, with the dtype and dims of the bindings. Outputs may not overlap
 * inputs or each other. If the engine has a device, arrays may be there
 * (bsm_array.space). Arrays in the memory of their binding are used in place;
 * others are copied to and from memory of the context. So are those that are
 * not contiguous, in the memory where they are; on a device strides may not be
 * negative, and arrays that its kernels want better aligned (CUDA: to 16 bytes)
 * are copied, too. When this returns, all work is done. A failure of work on
 * the device is returned too, with the step, and the context can be used again.
 * Where a binding has dims of -1, the array's dims are those of this run.
 * Outputs whose dims are known only after the run are better left to
 * bsm_context_run_keep, because arrays of other dims are refused then; when
 * even the number of outputs is known only after the run, this function fails
 * with BSM_UNSUPPORTED. Allocates only for ops of the reference library and for
 * values that depend on data; takes no lock but the thread pool's.
 * BSM_INVALID_ARGUMENT: a count, dtype, rank, shape or stride is wrong; the
 * message names the binding and both values. */
BSM_API BSM_NODISCARD bsm_status bsm_context_run(bsm_context *context,
                                                 const bsm_array *inputs,
                                                 size_t input_count,
                                                 const bsm_array *outputs,
                                                 size_t output_count);

/* As bsm_context_run, but does not wait for work on the device. When this
 * returns the arrays of arguments may go; the memory that they describe may not
 * be changed, read (outputs) or freed until bsm_context_synchronize has
 * returned, or, if it is the device's, only by work that the caller puts into
 * the same stream. Any number of runs may be enqueued; they are done in order.
 *
 * Failures of data, such as an index out of range, come from the next
 * bsm_context_synchronize, or from another call that waits or enqueues, which
 * then enqueues nothing. Whoever waits for the stream in another way calls
 * bsm_context_synchronize nevertheless, to learn of them; the outputs of a run
 * that failed are of no use. Steps that run on the host, on the CPU all of
 * them, are done before this returns, and so is the work on the device that
 * they depend on. It waits for the run, too, when a program decides by data
 * what is run, when steps are timed (options.profile), when a plan has to be
 * made for new shapes, or memory grows for arrays that are copied. */
BSM_API BSM_NODISCARD bsm_status bsm_context_enqueue(bsm_context *context,
                                                     const bsm_array *inputs,
                                                     size_t input_count,
                                                     const bsm_array *outputs,
                                                     size_t output_count);
/* Waits for all that was enqueued, and returns its first failure with the step.
 * Afterwards the context can be used again. In the caller's stream it waits for
 * the caller's work, too. */
BSM_API BSM_NODISCARD bsm_status bsm_context_synchronize(bsm_context *context);

/* Runs the engine and keeps the outputs in the context, or in memory that
 * options.output_allocate provides: for engines whose outputs' dims are known
 * only after the run. Otherwise the same as bsm_context_run; the first call
 * allocates.
 * BSM_OUT_OF_MEMORY: output_allocate returned NULL. */
BSM_API BSM_NODISCARD bsm_status bsm_context_run_keep(bsm_context *context,
                                                      const bsm_array *inputs,
                                                      size_t input_count);
/* The number of outputs of the last bsm_context_run_keep. They are those of the
 * engine, in the same order. But when parts of the result are of kind
 * BSM_STRUCTURE_RUN_TIME, they are all tensors and numbers of this run's
 * result, depth first; their indices are not those of the engine's outputs, and
 * names and the structure say which is which. 0: nothing has been run, or the
 * run failed. */
BSM_API size_t bsm_context_output_count(const bsm_context *context);
/* Output `index` of the last bsm_context_run_keep, contiguous: in memory that
 * belongs to the context until its next run, or where output_allocate put it.
 * BSM_INVALID_ARGUMENT: nothing has been run since, or the run failed.
 * BSM_OUT_OF_RANGE: that run has no such output. */
BSM_API BSM_NODISCARD bsm_status bsm_context_output(bsm_context *context,
                                                    size_t index,
                                                    bsm_array *out);
/* Its name, dtype and dims; errors as above. The name is as
 * bsm_engine_output's, unique in its run, and lives until the next. */
BSM_API BSM_NODISCARD bsm_status bsm_context_output_binding(
    bsm_context *context, size_t index, bsm_binding *out);
/* The result of the last bsm_context_run_keep: the structure of
 * bsm_engine_output_structure with the lengths of lists, keys of dicts and
 * kinds of values of this run. Every tensor has its dtype and dims, every
 * number its value. Bindings are indices for bsm_context_output. NULL for an
 * engine that was not made from a model. It belongs to the context until its
 * next run.
 * BSM_INVALID_ARGUMENT: nothing has been run since, or the run failed. */
BSM_API BSM_NODISCARD bsm_status
bsm_context_output_structure(bsm_context *context, const bsm_structure **out);

/* ---- shapes ahead of a run ----
 *
 * A run takes the dims of its arrays. The first run with dims that the context
 * has no plan for makes one, which takes about a millisecond for a hundred
 * operators; these functions do it beforehand, and tell the dims of outputs. */

/* Sets the dims that input `index` is going to have; before that, they are
 * those that the engine was built to be fast with.
 * BSM_INVALID_ARGUMENT: another rank, or a size that is not in the range; the
 * message names the input, the dimension and the range. */
BSM_API BSM_NODISCARD bsm_status bsm_context_set_input_shape(
    bsm_context *context, size_t index, const bsm_dims *dims);
/* The dims that were set, or those that the engine was built to be fast with.
 */
BSM_API BSM_NODISCARD bsm_status bsm_context_input_shape(bsm_context *context,
                                                         size_t index,
                                                         bsm_dims *out);
/* Makes the plan for the dims that were set, if there is none; the next run
 * with such inputs finds it. */
BSM_API BSM_NODISCARD bsm_status bsm_context_prepare(bsm_context *context);
/* The dims that output `index` has for inputs of the dims that were set. Makes
 * the plan as bsm_context_prepare does. Sizes that depend on data are -1, and
 * so is a rank that does. */
BSM_API BSM_NODISCARD bsm_status bsm_context_output_shape(bsm_context *context,
                                                          size_t index,
                                                          bsm_dims *out);

typedef struct bsm_step_profile {
  size_t struct_size; /* set by BSM_STEP_PROFILE_INIT */
  const char *name;   /* of the layers */
  const char *kind;   /* "convolution" */
  const char *tactic; /* with its kernel */
  double seconds;     /* summed over the runs */
  uint64_t runs;
  double least;        /* seconds of the quickest run */
  double flops, bytes; /* of one run, as in bsm_step_info */
} bsm_step_profile;
#define BSM_STEP_PROFILE_INIT BSM_SIZED_INIT(bsm_step_profile)
/* The steps of the engine's plans, then those of the plans that the context has
 * made for shapes and still has; these and their names stay until the next run.
 * Instructions that run one by one are not included. */
BSM_API size_t bsm_context_profile_count(const bsm_context *context);
BSM_API BSM_NODISCARD bsm_status bsm_context_profile(const bsm_context *context,
                                                     size_t index,
                                                     bsm_step_profile *out);

/* ---- what a run computes on the way ---- */

/* A tensor that the last run has computed. */
typedef struct bsm_kept_tensor {
  size_t struct_size; /* set by BSM_KEPT_TENSOR_INIT */
  /* As the value is called in the model: "relu_1". Values that the builder has
   * fused away have none; "" for what only the builder knows, and for what the
   * engine's program computes outside of plans. */
  const char *name;
  const char *layers; /* as the name of the step (bsm_step_info) */
  const char *kind;   /* "convolution"; "call" when it was no step */
  const char *tactic; /* with its kernel; "" when it was no step */
  size_t step;        /* as in bsm_engine_step; SIZE_MAX: none of them */
  bsm_array array;    /* contiguous, in the host's memory */
} bsm_kept_tensor;
#define BSM_KEPT_TENSOR_INIT BSM_SIZED_INIT(bsm_kept_tensor)

/* How many tensors the last run of a context with options.keep_tensors has
 * computed. They are in the order in which they were, also when the run has
 * failed, and stay until the next run. A value that is computed several times,
 * in a loop, is there several times. */
BSM_API size_t bsm_context_tensor_count(const bsm_context *context);
/* BSM_OUT_OF_RANGE: there is no such index. */
BSM_API BSM_NODISCARD bsm_status bsm_context_tensor(const bsm_context *context,
                                                    size_t index,
                                                    bsm_kept_tensor *out);
/* The index of the first tensor of that name.
 * BSM_NOT_FOUND: the last run has computed none; the message has names. */
BSM_API BSM_NODISCARD bsm_status bsm_context_find_tensor(
    const bsm_context *context, const char *name, size_t *out);

BSM_EXTERN_C_END

#endif /* BESSEMER_ENGINE_H_ */
