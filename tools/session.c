/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and compiling for all sub-commands. */
#include "tools/session.h"

#include <string.h>

#include "bessemer/signature.h"
#include "tools/terminal.h"

bsm_status bsm_session_open_plugins(bsm_cli *cli, bsm_session *session) {
  if (session->plugins || !cli->plugins.len) return BSM_OK;
  BSM_TRY(bsm_plugin_registry_create(NULL, &session->plugins));
  for (size_t i = 0; i < cli->plugins.len; i++) {
    BSM_TRY(bsm_plugin_open(session->plugins, cli->plugins.items[i]));
  }
  return BSM_OK;
}

bsm_status bsm_session_load_module(bsm_cli *cli, bsm_session *session) {
  bsm_module_options options = BSM_MODULE_OPTIONS_INIT;
  options.logger = &cli->logger;
  options.limits = &cli->limits;
  BSM_TRY(bsm_session_open_plugins(cli, session));
  options.plugins = session->plugins;
  options.model_name = cli->model_name;
  options.state_as_output = cli->state_as_output;
  options.no_map = cli->no_map;
  return bsm_module_load(cli->path, &options, &session->module);
}

/* Prints a dump that was asked for. */
static void print_dump(void *user, const char *pass, const char *text) {
  const bsm_cli *cli = user;
  for (size_t i = 0; i < cli->dump_after.len; i++) {
    if (strcmp(cli->dump_after.items[i], pass) != 0) continue;
    printf("# %s\n%s", pass, text);
    const size_t length = strlen(text);
    if (length && text[length - 1] != '\n') putchar('\n');
    return;
  }
}

static bsm_status open_one(bsm_cli *cli, const char *path, bsm_array_set *out) {
  return path ? bsm_array_set_open(&cli->arena, &path, 1, NULL, out) : BSM_OK;
}

bsm_status bsm_session_options(bsm_cli *cli, bsm_session *session,
                               bsm_compile_options *out) {
  *out = (bsm_compile_options)BSM_COMPILE_OPTIONS_INIT;
  out->method = cli->method;
  out->target = cli->target;
  out->isa = cli->isa;
  out->threads = cli->threads;
  out->no_timing = cli->no_timing;
  out->require_full_compilation = cli->full;
  out->fallback_ops = cli->fallback_ops.items;
  out->fallback_op_count = cli->fallback_ops.len;
  out->fallback_modules = cli->fallback_modules.items;
  out->fallback_module_count = cli->fallback_modules.len;
  out->precisions = cli->precisions;
  out->precision_overrides = cli->precision_overrides.items;
  out->precision_override_count = cli->precision_overrides.len;
  out->obey_precisions = cli->obey_precision;
  out->weight_bits = cli->weight_bits;
  out->weight_group = cli->weight_group;
  out->weight_rows = cli->weight_rows;
  out->strip_sources = cli->strip;
  out->prefer_size = cli->prefer_size;
  out->metadata = cli->metadata.items;
  out->metadata_count = cli->metadata.len;
  out->min_block_size = (size_t)cli->min_block_size;
  out->reference = cli->reference;
  if (cli->reference) {
    out->precisions = 0;
    out->precision_override_count = 0;
    out->weight_bits = out->weight_group = 0;
  }
  out->truncate_long_and_double = cli->truncate;
  out->timing_cache = cli->timing_cache;
  out->logger = &cli->logger;
  if (cli->dump_after.len) {
    out->dump = print_dump;
    out->dump_user = cli;
  }
  if (cli->calibration && !cli->reference) {
    BSM_TRY(bsm_calibration_load(cli->calibration, &session->calibration));
    out->calibration = session->calibration;
  }
  if (cli->dump) {
    out->dump = cli->dump;
    out->dump_user = cli->dump_user;
  }
  BSM_TRY(open_one(cli, cli->inputs_from, &session->shapes));
  BSM_TRY(open_one(cli, cli->weights, &session->weights));
  const bsm_array_set *shapes =
      cli->inputs_from ? &session->shapes : &session->inputs;
  BSM_TRY(bsm_specs_open_files(&cli->arena, cli->specs.items, cli->specs.len,
                               &session->constants));
  if (shapes->count || (!cli->specs.len && session->weights.count)) {
    BSM_TRY(bsm_specs_from_arrays(&cli->arena, session->module, cli->method,
                                  shapes, &session->weights, &cli->specs));
  } else {
    /* Specs are for the inputs; the weights follow by name. */
    for (size_t i = 0; i < session->weights.count; i++) {
      bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
      spec.kind = BSM_INPUT_CONSTANT_TENSOR;
      spec.name = session->weights.items[i].name;
      spec.array = &session->weights.items[i].array;
      if (!bsm_vec_push(&cli->arena, &cli->specs, spec)) return BSM_FAIL_OOM();
    }
  }
  out->inputs = cli->specs.items;
  out->input_count = cli->specs.len;
  return BSM_OK;
}

void bsm_session_tell(bsm_cli *cli, bsm_compile_options *options) {
  bsm_cli_progress_start(&cli->progress, cli->command,
                         cli->logger.level >= BSM_LOG_LEVEL_DEBUG,
                         cli->logger.level < BSM_LOG_LEVEL_WARNING);
  options->progress = bsm_cli_progress_tell;
  options->progress_user = &cli->progress;
}

bsm_status bsm_session_compile(bsm_cli *cli, bsm_session *session,
                               bsm_compile_options *options) {
  bsm_session_tell(cli, options);
  return bsm_cli_progress_end(
      &cli->progress, bsm_compile(session->module, options, &session->engine));
}

bool bsm_cli_writes_stdout(const bsm_cli *cli) {
  return strcmp(cli->output, "-") == 0;
}

static bsm_status write_out(void *user, const void *data, size_t size) {
  (void)user;
  return bsm_write_stdout(data, size);
}

bsm_status bsm_session_save(const bsm_cli *cli, const bsm_engine *engine) {
  bsm_engine_save_options save_options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  save_options.logger = &cli->logger;
  save_options.unrecorded = cli->unrecorded;
  return bsm_cli_writes_stdout(cli)
             ? bsm_engine_save_stream(engine, write_out, NULL, &save_options)
             : bsm_engine_save_with(engine, cli->output, &save_options);
}

/* Options that matter only for compiling do nothing for an engine. */
static void warn_of_options(const bsm_cli *cli) {
  const char *what = cli->specs.len              ? "input specs"
                     : cli->inputs_from          ? "--inputs-from"
                     : cli->weights              ? "--weights"
                     : cli->method               ? "--method"
                     : cli->model_name           ? "--model"
                     : cli->state_as_output      ? "--state-as-output"
                     : cli->timing_cache         ? "--timing-cache"
                     : cli->target               ? "--target"
                     : cli->no_timing            ? "--no-timing"
                     : cli->full                 ? "--require-full-compilation"
                     : cli->fallback_ops.len     ? "--fallback-op"
                     : cli->fallback_modules.len ? "--fallback-module"
                     : cli->precisions           ? "--precision"
                     : cli->precision_overrides.len
                         ? "--layer-precision and --module-precision"
                     : cli->weight_bits               ? "--weight-only"
                     : cli->weight_rows               ? "--weight-rows"
                     : cli->calibration               ? "--calibration"
                     : cli->min_block_size            ? "--min-block-size"
                     : cli->limits.max_loop_trips     ? "--max-loop-trips"
                     : cli->limits.max_unrolled_nodes ? "--max-unrolled-nodes"
                     : cli->limits.max_nodes          ? "--max-nodes"
                     : cli->limits.max_memory_bytes   ? "--max-memory"
                     : cli->limits.max_work           ? "--max-work"
                     : cli->truncate       ? "--truncate-long-and-double"
                     : cli->strip          ? "--strip"
                     : cli->prefer_size    ? "--prefer-size"
                     : cli->metadata.len   ? "--metadata"
                     : cli->dump_after.len ? "--dump-after"
                                           : NULL;
  if (!what) return;
  bsm_log(&cli->logger, BSM_LOG_LEVEL_WARNING, "%s is an engine: no use for %s",
          cli->path, what);
}

bsm_status bsm_session_read_keys(bsm_cli *cli, bsm_key_vec *out) {
  for (size_t i = 0; i < cli->public_keys.len; i++) {
    bsm_public_key key;
    BSM_TRY(bsm_public_key_load(cli->public_keys.items[i], key.bytes));
    if (!bsm_vec_push(&cli->arena, out, key)) return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

static bsm_status load_engine(bsm_cli *cli, bsm_session *session) {
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_key_vec keys = {0};
  BSM_TRY(bsm_session_open_plugins(cli, session));
  BSM_TRY(bsm_session_read_keys(cli, &keys));
  options.logger = &cli->logger;
  options.plugins = session->plugins;
  options.trust_code = cli->trust_code;
  options.public_keys = BSM_KEY_ARRAY(&keys);
  options.public_key_count = keys.len;
  options.ignore_built = cli->ignore_built;
  options.no_map = cli->no_map;
  options.without_device = session->without_device;
  options.device = cli->device;
  return bsm_engine_load(cli->path, &options, &session->engine);
}

bsm_status bsm_session_open_engine(bsm_cli *cli, bsm_session *session,
                                   bool quick) {
  bool is_engine;
  BSM_TRY(bsm_cli_is_engine(cli->path, &is_engine));
  if (is_engine) {
    warn_of_options(cli);
    return load_engine(cli, session);
  }
  BSM_TRY(bsm_session_load_module(cli, session));
  bsm_compile_options options;
  BSM_TRY(bsm_session_options(cli, session, &options));
  if (quick && !options.timing_cache) options.no_timing = true;
  return bsm_session_compile(cli, session, &options);
}

bsm_context_options bsm_session_context_options(const bsm_cli *cli) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = cli->threads;
  options.isa = cli->isa;
  options.logger = &cli->logger;
  options.profile = cli->profile;
  options.max_instructions = cli->max_instructions;
  options.max_run_bytes = cli->max_run_bytes;
  options.no_graphs = cli->no_graphs;
  options.keep_tensors = cli->keep_tensors;
  return options;
}

bsm_status bsm_session_open_context(bsm_cli *cli, bsm_session *session) {
  const bsm_context_options options = bsm_session_context_options(cli);
  return bsm_context_create(session->engine, &options, &session->context);
}

bsm_status bsm_session_open_inputs(bsm_cli *cli, bsm_session *session) {
  return bsm_array_set_open(&cli->arena, cli->inputs.items, cli->inputs.len,
                            cli->input_dir, &session->inputs);
}

void bsm_session_close(bsm_session *session) {
  bsm_context_destroy(session->context);
  bsm_engine_destroy(session->engine);
  bsm_module_destroy(session->module);
  bsm_plugin_registry_destroy(session->plugins);
  bsm_calibration_destroy(session->calibration);
  bsm_array_set_close(&session->inputs);
  bsm_array_set_close(&session->shapes);
  bsm_array_set_close(&session->weights);
  for (size_t i = 0; i < session->constants.len; i++) {
    bsm_npy_close(&session->constants.items[i]);
  }
  *session = (bsm_session){0};
}
