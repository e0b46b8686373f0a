/* SPDX-License-Identifier: Apache-2.0 */
/* From the file named on the command line to an engine. */
#ifndef BSM_TOOLS_SESSION_H_
#define BSM_TOOLS_SESSION_H_

#include "bessemer/calibration.h"
#include "tools/arrays.h"
#include "tools/cli.h"

/* All NULL and empty at first; closing works at any point. */
typedef struct bsm_session {
  bsm_module *module;
  bsm_engine *engine;
  bsm_context *context;
  bsm_plugin_registry *plugins; /* of --plugin; NULL: none */
  bsm_array_set inputs;         /* of --input and --input-dir */
  bsm_array_set shapes;         /* of --inputs-from */
  bsm_array_set weights;        /* of --weights */
  bsm_npy_vec constants;        /* files that specs name */
  bsm_calibration *calibration; /* of --calibration */
  bool without_device;          /* engines are looked at, not run */
} bsm_session;

/* Opens the plug-ins of --plugin, once. */
BSM_NODISCARD bsm_status bsm_session_open_plugins(bsm_cli *cli,
                                                  bsm_session *session);

/* Loads the model of cli->path. */
BSM_NODISCARD bsm_status bsm_session_load_module(bsm_cli *cli,
                                                 bsm_session *session);

/* The compile options that the command line asks for. What
 * the specs do not tell comes from --inputs-from, else the session's inputs,
 * else the archive. */
BSM_NODISCARD bsm_status bsm_session_options(bsm_cli *cli, bsm_session *session,
                                             bsm_compile_options *out);

/* Makes a call with these options tell its progress; end it by
 * bsm_cli_progress_end. */
void bsm_session_tell(bsm_cli *cli, bsm_compile_options *options);
/* Compiles the module, with progress: sets session->engine. */
BSM_NODISCARD bsm_status bsm_session_compile(bsm_cli *cli, bsm_session *session,
                                             bsm_compile_options *options);

/* Whether the engine is written to the standard output: what is told of it goes
 * elsewhere. */
bool bsm_cli_writes_stdout(const bsm_cli *cli);
/* Writes the engine of --output. */
BSM_NODISCARD bsm_status bsm_session_save(const bsm_cli *cli,
                                          const bsm_engine *engine);

/* Loads an engine, or loads and compiles a model: sets session->engine. Without
 * timing when `quick`. */
BSM_NODISCARD bsm_status bsm_session_open_engine(bsm_cli *cli,
                                                 bsm_session *session,
                                                 bool quick);
/* The options of a context that the command line asks for. */
bsm_context_options bsm_session_context_options(const bsm_cli *cli);
BSM_NODISCARD bsm_status bsm_session_open_context(bsm_cli *cli,
                                                  bsm_session *session);
/* Opens the arrays of --input and --input-dir. */
BSM_NODISCARD bsm_status bsm_session_open_inputs(bsm_cli *cli,
                                                 bsm_session *session);

typedef struct bsm_public_key {
  uint8_t bytes[BSM_PUBLIC_KEY_BYTES];
} bsm_public_key;
typedef BSM_VEC(bsm_public_key) bsm_key_vec;
/* As options take them. */
#define BSM_KEY_ARRAY(keys) \
  ((const uint8_t(*)[BSM_PUBLIC_KEY_BYTES])(keys)->items)
/* Reads the keys of --public-key. */
BSM_NODISCARD bsm_status bsm_session_read_keys(bsm_cli *cli, bsm_key_vec *out);

void bsm_session_close(bsm_session *session);

#endif /* BSM_TOOLS_SESSION_H_ */
