/* SPDX-License-Identifier: Apache-2.0 */
/* What the sub-commands of the tool share: options, messages, files.
 *
 * Exit codes: 0 done, 1 failed with one message on the standard error, 2 used
 * wrongly. Results go to the standard output. */
#ifndef BSM_TOOLS_CLI_H_
#define BSM_TOOLS_CLI_H_

#include <argp.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/compiler.h"
#include "bessemer/engine.h"
#include "tools/progress_bar.h"

enum { BSM_EXIT_FAILED = 1, BSM_EXIT_USAGE = 2 };

typedef BSM_VEC(const char *) bsm_string_vec;
typedef BSM_VEC(bsm_input_spec) bsm_spec_vec;

/* All options of all sub-commands; each command declares those it takes. */
typedef struct bsm_cli {
  bsm_arena arena;     /* lives as long as the command */
  const char *command; /* "bessemer run" */
  bsm_logger logger;

  const char *path; /* the model, IR text or engine */
  bsm_spec_vec specs;
  const char *inputs_from;
  bool named; /* outputs by path */
  const char *weights;
  const char *method;
  const char *model_name; /* of a package with several */
  bool state_as_output;
  const char *timing_cache;
  const char *target;
  bool no_timing;
  bool trust_code;
  bool no_map;
  bool no_graphs;
  bsm_string_vec public_keys; /* files */
  bool ignore_built;
  bool unrecorded;
  const char *secret_key; /* a file */
  int device;
  bool truncate;
  bool full;
  bsm_string_vec fallback_ops, fallback_modules;
  uint32_t precisions; /* bits of bsm_precision */
  BSM_VEC(bsm_precision_override) precision_overrides;
  bool obey_precision;
  bool strip;
  int weight_bits, weight_group, weight_rows;
  bool prefer_size;
  BSM_VEC(bsm_metadata) metadata;
  const char *calibration; /* a file to compile with */
  int min_block_size;
  bsm_limits limits; /* of loading and compiling; zero: defaults */
  bsm_string_vec dump_after;
  bsm_string_vec plugins;

  int threads;
  uint32_t isa;                             /* as in bsm_context_options */
  const char *isas;                         /* of a link list */
  uint64_t max_instructions, max_run_bytes; /* of a run; 0: defaults */

  bsm_string_vec inputs; /* files: arrays, or engines of a link list */
  const char *input_dir;
  const char *output;
  const char *output_dir;
  const char *trace;        /* a file */
  BSM_VEC(bsm_dims) shapes; /* of the inputs of bench, in order */
  uint64_t seed;            /* of what a run draws */
  int top;
  const char *labels; /* a file */
  int iterations;
  int warmup;
  bool json;
  bool profile;
  bool times;
  bool plan;

  bsm_cli_progress progress;
  /* Set by commands, not by options. */
  uint64_t reference;    /* of compiling: bits of bsm_reference */
  uint64_t keep_tensors; /* of a context: bytes */
  void (*dump)(void *user, const char *pass, const char *text);
  void *dump_user; /* of `dump`, which replaces --dump-after */
} bsm_cli;

/* Rows for the `options` of an argp; their keys are handled by
 * bsm_cli_option. */
enum {
  BSM_KEY_INPUTS_FROM = 0x100,
  BSM_KEY_WEIGHTS,
  BSM_KEY_METHOD,
  BSM_KEY_MODEL,
  BSM_KEY_STATE_AS_OUTPUT,
  BSM_KEY_TIMING_CACHE,
  BSM_KEY_NO_TIMING,
  BSM_KEY_TRUST_CODE,
  BSM_KEY_PUBLIC_KEY_FILE,
  BSM_KEY_IGNORE_BUILT,
  BSM_KEY_NO_MAP,
  BSM_KEY_UNRECORDED,
  BSM_KEY_KEY,
  BSM_KEY_DEVICE,
  BSM_KEY_TARGET,
  BSM_KEY_TRUNCATE,
  BSM_KEY_FULL,
  BSM_KEY_FALLBACK_OP,
  BSM_KEY_FALLBACK_MODULE,
  BSM_KEY_PRECISION,
  BSM_KEY_LAYER_PRECISION,
  BSM_KEY_MODULE_PRECISION,
  BSM_KEY_OBEY_PRECISION,
  BSM_KEY_STRIP,
  BSM_KEY_WEIGHT_ONLY,
  BSM_KEY_WEIGHT_ROWS,
  BSM_KEY_CALIBRATION,
  BSM_KEY_MIN_BLOCK_SIZE,
  BSM_KEY_MAX_LOOP_TRIPS,
  BSM_KEY_MAX_UNROLLED_NODES,
  BSM_KEY_MAX_NODES,
  BSM_KEY_MAX_MEMORY,
  BSM_KEY_MAX_WORK,
  BSM_KEY_MAX_INSTRUCTIONS,
  BSM_KEY_NO_GRAPHS,
  BSM_KEY_MAX_RUN_BYTES,
  BSM_KEY_DUMP_AFTER,
  BSM_KEY_ISA,
  BSM_KEY_INPUT,
  BSM_KEY_INPUT_DIR,
  BSM_KEY_OUTPUT_DIR,
  BSM_KEY_SEED,
  BSM_KEY_METADATA,
  BSM_KEY_PREFER_SIZE,
  BSM_KEY_TOP,
  BSM_KEY_LABELS,
  BSM_KEY_ITERATIONS,
  BSM_KEY_WARMUP,
  BSM_KEY_JSON,
  BSM_KEY_PROFILE,
  BSM_KEY_TIMES,
  BSM_KEY_TRACE,
  BSM_KEY_SHAPES,
  BSM_KEY_PLAN,
  BSM_KEY_PLUGIN,
  BSM_KEY_INPUTS,
  BSM_KEY_NAMED
};
#define BSM_OPTIONS_LOG                                              \
  {0, 0, 0, 0, "Messages on the standard error:", 9},                \
      {"verbose", 'v', 0, 0, "All messages, also for debugging", 0}, \
      {"info", 'i', 0, 0, "What is done, too", 0}, {                 \
    "warnings", 'w', 0, 0, "No warnings, errors only", 0             \
  }
#define BSM_OPTIONS_MACHINE                                           \
  {0, 0, 0, 0, "The machine:", 2},                                    \
      {"threads", 't', "N", 0, "Threads to use (all CPUs)", 0}, {     \
    "isa", BSM_KEY_ISA, "NAME", 0,                                    \
        "Instructions to use: scalar, avx2, avx512, neon (native)", 0 \
  }
#define BSM_OPTION_PUBLIC_KEY(help) \
  { "public-key", BSM_KEY_PUBLIC_KEY_FILE, "FILE", 0, help, 2 }
/* Of commands that run an engine. */
#define BSM_OPTIONS_RUN                                                       \
  {"max-instructions",                                                        \
   BSM_KEY_MAX_INSTRUCTIONS,                                                  \
   "N",                                                                       \
   0,                                                                         \
   "Stop a run that loops or branches on data after N instructions "          \
   "(1000000000)",                                                            \
   2},                                                                        \
      {"max-run-bytes",                                                       \
       BSM_KEY_MAX_RUN_BYTES,                                                 \
       "N",                                                                   \
       0,                                                                     \
       "Stop it when what it has computed takes more bytes (16 GiB, or 64 "   \
       "times the inputs and weights)",                                       \
       2},                                                                    \
      {"no-graphs",                                                           \
       BSM_KEY_NO_GRAPHS,                                                     \
       0,                                                                     \
       0,                                                                     \
       "Give the steps of a plan to a device one by one, not as one graph",   \
       2},                                                                    \
      {"trust-code",                                                          \
       BSM_KEY_TRUST_CODE,                                                    \
       0,                                                                     \
       0,                                                                     \
       "Run machine code for GPUs that the engine's file carries: it can do " \
       "whatever you may",                                                    \
       2},                                                                    \
      BSM_OPTION_PUBLIC_KEY(                                                  \
          "Run such code of engines that are signed with the secret key of "  \
          "this public one; repeatable"),                                     \
      {"ignore-built",                                                        \
       BSM_KEY_IGNORE_BUILT,                                                  \
       0,                                                                     \
       0,                                                                     \
       "Do not run such code for the reason alone that you have built the "   \
       "engine on this machine",                                              \
       2},                                                                    \
  {                                                                           \
    "device", BSM_KEY_DEVICE, "N", 0,                                         \
        "Which of the machine's devices to run on, from 0 (0)", 2             \
  }
#define BSM_OPTIONS_COMPILE                                                    \
  {0, 0, 0, 0, "Compiling:", 3},                                               \
      {"inputs",                                                               \
       BSM_KEY_INPUTS,                                                         \
       "SPECS",                                                                \
       0,                                                                      \
       "Input specs separated by commas, as behind MODEL: "                    \
       "'batch={\"image\": f32[1,3,8,8]}, flag=true'",                         \
       0},                                                                     \
      {"inputs-from",                                                          \
       BSM_KEY_INPUTS_FROM,                                                    \
       "FILE",                                                                 \
       0,                                                                      \
       "Take shapes and dtypes of inputs without specs from the arrays of an " \
       ".npz or .npy",                                                         \
       0},                                                                     \
      {"no-map",                                                               \
       BSM_KEY_NO_MAP,                                                         \
       0,                                                                      \
       0,                                                                      \
       "Read the file whole instead of mapping it: it may then be truncated "  \
       "by others meanwhile",                                                  \
       0},                                                                     \
      {"weights",                                                              \
       BSM_KEY_WEIGHTS,                                                        \
       "FILE",                                                                 \
       0,                                                                      \
       "For IR text: arrays of an .npz for the graph inputs of these names",   \
       0},                                                                     \
      {"method",                                                               \
       BSM_KEY_METHOD,                                                         \
       "NAME",                                                                 \
       0,                                                                      \
       "The method to compile (forward); encoder.forward for a submodule's",   \
       0},                                                                     \
      {"model",                                                                \
       BSM_KEY_MODEL,                                                          \
       "NAME",                                                                 \
       0,                                                                      \
       "The model of a .pt2 package that holds several (model)",               \
       0},                                                                     \
      {"state-as-output",                                                      \
       BSM_KEY_STATE_AS_OUTPUT,                                                \
       0,                                                                      \
       0,                                                                      \
       "For a .pt2 program that writes to buffers or to its inputs: their "    \
       "new "                                                                  \
       "values are outputs as well",                                           \
       0},                                                                     \
      {"plugin",                                                               \
       BSM_KEY_PLUGIN,                                                         \
       "FILE",                                                                 \
       0,                                                                      \
       "Open a plug-in, which has operators of your own; also for running; "   \
       "repeatable",                                                           \
       0},                                                                     \
      {"target",                                                               \
       BSM_KEY_TARGET,                                                         \
       "TEXT",                                                                 \
       0,                                                                      \
       "What to build for: cpu, this machine's, or for any machine "           \
       "cpu:ISA,threads=N,l2=BYTES,vnni=no; bessemer targets tells this "      \
       "machine's (cpu)",                                                      \
       0},                                                                     \
      {"strip",                                                                \
       BSM_KEY_STRIP,                                                          \
       0,                                                                      \
       0,                                                                      \
       "Leave files and lines of the model's source out of the engine",        \
       0},                                                                     \
      {"prefer-size",                                                          \
       BSM_KEY_PREFER_SIZE,                                                    \
       0,                                                                      \
       0,                                                                      \
       "A small engine rather than a fast one: no transformed copies of "      \
       "kernels",                                                              \
       0},                                                                     \
      {"metadata",                                                             \
       BSM_KEY_METADATA,                                                       \
       "KEY=TEXT",                                                             \
       0,                                                                      \
       "Note something in the engine, for inspect and programs; repeatable",   \
       0},                                                                     \
      {"no-timing",                                                            \
       BSM_KEY_NO_TIMING,                                                      \
       0,                                                                      \
       0,                                                                      \
       "Choose implementations by a cost model: equal builds are equal files", \
       0},                                                                     \
      {"require-full-compilation",                                             \
       BSM_KEY_FULL,                                                           \
       0,                                                                      \
       0,                                                                      \
       "Fail, with a list, when an operator would be left to the reference "   \
       "library",                                                              \
       0},                                                                     \
      {"fallback-op",                                                          \
       BSM_KEY_FALLBACK_OP,                                                    \
       "NAME",                                                                 \
       0,                                                                      \
       "Leave an operator to the reference library: aten::add, or "            \
       "aten::add.Tensor; repeatable",                                         \
       0},                                                                     \
      {"torch-executed-op", BSM_KEY_FALLBACK_OP, 0, OPTION_ALIAS, 0, 0},       \
      {"fallback-module",                                                      \
       BSM_KEY_FALLBACK_MODULE,                                                \
       "NAME",                                                                 \
       0,                                                                      \
       "The same for a submodule, by path or class: layer1.0, BasicBlock; "    \
       "repeatable",                                                           \
       0},                                                                     \
      {"torch-executed-mod", BSM_KEY_FALLBACK_MODULE, 0, OPTION_ALIAS, 0, 0},  \
      {"precision",                                                            \
       BSM_KEY_PRECISION,                                                      \
       "LIST",                                                                 \
       0,                                                                      \
       "Let layers of float32 compute in these too, where the target has "     \
       "them: fp32,tf32,fp16,bf16,int8,fp8 (fp32)",                            \
       0},                                                                     \
      {"layer-precision",                                                      \
       BSM_KEY_LAYER_PRECISION,                                                \
       "PATTERN=NAME",                                                         \
       0,                                                                      \
       "Compute the layers whose names match, with * and ?, in one; "          \
       "repeatable",                                                           \
       0},                                                                     \
      {"module-precision",                                                     \
       BSM_KEY_MODULE_PRECISION,                                               \
       "MODULE=NAME",                                                          \
       0,                                                                      \
       "The same for a submodule, by path or class; repeatable",               \
       0},                                                                     \
      {"obey-precision",                                                       \
       BSM_KEY_OBEY_PRECISION,                                                 \
       0,                                                                      \
       0,                                                                      \
       "Fail where the target cannot do what --layer-precision and "           \
       "--module-precision ask for, instead of a warning",                     \
       0},                                                                     \
      {"weight-only",                                                          \
       BSM_KEY_WEIGHT_ONLY,                                                    \
       "FORMAT",                                                               \
       0,                                                                      \
       "Hold the weights of products with few rows in fewer bits: int8, or "   \
       "int4:GROUP with a scale for 32, 64 or 128 rows (int4: 32)",            \
       0},                                                                     \
      {"weight-rows",                                                          \
       BSM_KEY_WEIGHT_ROWS,                                                    \
       "N",                                                                    \
       0,                                                                      \
       "With --weight-only, for products with up to N rows (32)",              \
       0},                                                                     \
      {"calibration",                                                          \
       BSM_KEY_CALIBRATION,                                                    \
       "FILE",                                                                 \
       0,                                                                      \
       "Compute in int8 as a file of bessemer calibrate says; with "           \
       "--precision int8",                                                     \
       0},                                                                     \
      {"min-block-size",                                                       \
       BSM_KEY_MIN_BLOCK_SIZE,                                                 \
       "N",                                                                    \
       0,                                                                      \
       "Of a model with control flow or shapes that range, compile only "      \
       "parts "                                                                \
       "of at least N nodes (1)",                                              \
       0},                                                                     \
      {"max-loop-trips",                                                       \
       BSM_KEY_MAX_LOOP_TRIPS,                                                 \
       "N",                                                                    \
       0,                                                                      \
       "Unroll loops up to N turns in all; longer ones become loops of the "   \
       "engine (100000)",                                                      \
       0},                                                                     \
      {"max-unrolled-nodes",                                                   \
       BSM_KEY_MAX_UNROLLED_NODES,                                             \
       "N",                                                                    \
       0,                                                                      \
       "Unroll loops as long as they leave no more than N nodes (100000)",     \
       0},                                                                     \
      {"max-nodes",                                                            \
       BSM_KEY_MAX_NODES,                                                      \
       "N",                                                                    \
       0,                                                                      \
       "Refuse a model of more than N nodes once it is lowered (4000000)",     \
       0},                                                                     \
      {"max-memory",                                                           \
       BSM_KEY_MAX_MEMORY,                                                     \
       "N",                                                                    \
       0,                                                                      \
       "Fail when loading and lowering take more bytes than this",             \
       0},                                                                     \
      {"max-work",                                                             \
       BSM_KEY_MAX_WORK,                                                       \
       "N",                                                                    \
       0,                                                                      \
       "Compute what is constant up to N multiply-adds and visits of "         \
       "elements; the rest is left to the engine",                             \
       0},                                                                     \
      {"truncate-long-and-double",                                             \
       BSM_KEY_TRUNCATE,                                                       \
       0,                                                                      \
       0,                                                                      \
       "Compute in int32 and float32 what the model has in int64 and "         \
       "float64; --info lists what that is, and so does inspect",              \
       0},                                                                     \
      {"truncate", BSM_KEY_TRUNCATE, 0, OPTION_ALIAS, 0, 0},                   \
      {"truncate-long-double", BSM_KEY_TRUNCATE, 0, OPTION_ALIAS, 0, 0},       \
      {"truncate-64bit", BSM_KEY_TRUNCATE, 0, OPTION_ALIAS, 0, 0},             \
      {"timing-cache",                                                         \
       BSM_KEY_TIMING_CACHE,                                                   \
       "FILE",                                                                 \
       0,                                                                      \
       "Read and update the timings of implementations",                       \
       0},                                                                     \
  {                                                                            \
    "dump-after", BSM_KEY_DUMP_AFTER, "PASS", 0,                               \
        "Print the graph or the network after a pass, the graph as given "     \
        "(input), the network as converted (network) or as built "             \
        "(optimized); repeatable; list shows the names",                       \
        0                                                                      \
  }

/* Sets defaults and runs the parser; exits with code 2 on wrong usage. */
void bsm_cli_parse(bsm_cli *cli, const char *command, const struct argp *argp,
                   int argc, char **argv);
void bsm_cli_close(bsm_cli *cli);

/* Handles the options above: ARGP_ERR_UNKNOWN for anything else. */
error_t bsm_cli_option(int key, char *arg, struct argp_state *state);
/* As bsm_cli_option, and takes MODEL and, behind it, input specs when
 * `with_specs`. A missing MODEL is an error unless `optional`. */
error_t bsm_cli_argument(int key, char *arg, struct argp_state *state,
                         bool with_specs, bool optional);

/* Prints and frees a failure; BSM_EXIT_FAILED. 0 for success. */
int bsm_cli_finish(const bsm_cli *cli, bsm_status status);

/* Fails when --output names a file that the command reads. */
BSM_NODISCARD bsm_status bsm_cli_check_output(const bsm_cli *cli);

/* A model or an engine, told apart by its first bytes. */
BSM_NODISCARD bsm_status bsm_cli_is_engine(const char *path, bool *out);

double bsm_cli_milliseconds(void);

/* "97.8 MiB" */
typedef struct bsm_size_text {
  char text[32];
} bsm_size_text;
bsm_size_text bsm_cli_size(uint64_t bytes);

int bsm_cmd_calibrate(int argc, char **argv);
/* The commands: name, identifier, what it does; in the order of the help. */
#define BSM_COMMANDS(X)                                                       \
  X("compile", compile, "turn a model into an engine file")                   \
  X("calibrate", calibrate, "find the ranges of a model's values, for int8")  \
  X("refit", refit, "give an engine new weights of its model")                \
  X("run", run, "run an engine or a model on arrays")                         \
  X("bench", bench, "measure how long running takes")                         \
  X("diff", diff, "tell where two computations of a model depart")            \
  X("inspect", inspect, "show what is in a model or an engine")               \
  X("view", view, "write a page that shows a model or an engine")             \
  X("export", export, "write a model as ONNX")                                \
  X("ops", ops, "list the operators that convert, or a model's")              \
  X("targets", targets, "tell what this machine is as a target")              \
  X("link-list", link_list, "write what a program links to run some engines") \
  X("keygen", keygen, "make a key to sign engines with")                      \
  X("sign", sign, "sign an engine")                                           \
  X("verify", verify, "tell whether an engine is signed")                     \
  X("completions", completions, "write completions for a shell")              \
  X("man", man, "write manual pages")
#define X(name, id, help)                  \
  int bsm_cmd_##id(int argc, char **argv); \
  extern const struct argp bsm_argp_##id;
BSM_COMMANDS(X)
#undef X

typedef struct bsm_command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *help;
  const struct argp *argp; /* whose options completions and manuals list */
} bsm_command;
/* All of them; the last one has no name. */
extern const bsm_command bsm_commands[];

#endif /* BSM_TOOLS_CLI_H_ */
