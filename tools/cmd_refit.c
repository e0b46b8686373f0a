/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer refit: new weights of the same model for an engine. */
#include "tools/session.h"

enum { KEY_ENGINE = 0x800 };

typedef struct refit_cli {
  bsm_cli cli; /* the first member: what the shared parser sees */
  const char *engine;
} refit_cli;

static const struct argp_option options[] = {
    {"engine", KEY_ENGINE, "FILE", 0,
     "The engine of the model with its old weights; required", 1},
    {"output", 'o', "FILE", 0,
     "The engine to write; - is the standard output; required", 1},
    {"unrecorded", BSM_KEY_UNRECORDED, 0, 0,
     "Do not note that you have built the engine here, which lets you run "
     "machine code in it without --trust-code",
     1},
    BSM_OPTIONS_MACHINE,
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  refit_cli *c = state->input;
  if (key == KEY_ENGINE) {
    c->engine = arg;
    return 0;
  }
  if (key == ARGP_KEY_END && c->cli.path && !c->cli.output) {
    argp_error(state, "no output given: -o ENGINE");
  }
  if (key == ARGP_KEY_END && c->cli.path && !c->engine) {
    argp_error(state, "no engine given: --engine FILE");
  }
  return bsm_cli_argument(key, arg, state, true, false);
}

const struct argp bsm_argp_refit = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL [SPEC...]",
    .doc =
        "Makes the engine of a model that differs from the one of another "
        "engine in its weights alone, such as a later state of its training, "
        "with the same choices of how each step computes: nothing is timed. "
        "Options for compiling have to be those of the other engine; the "
        "target, the method and inputs that are tensors are taken from it."
        "\v"
        "Example:\n"
        "  bessemer refit epoch9.ts --engine epoch8.bsm -o epoch9.bsm"};

static bsm_status refit_from(bsm_cli *cli, bsm_session *session,
                             const bsm_engine *old) {
  bsm_compile_options compile_options;
  BSM_TRY(bsm_session_load_module(cli, session));
  BSM_TRY(bsm_session_options(cli, session, &compile_options));
  bsm_session_tell(cli, &compile_options);
  BSM_TRY(bsm_cli_progress_end(
      &cli->progress, bsm_engine_refit(old, session->module, &compile_options,
                                       &session->engine)));
  BSM_TRY(bsm_session_save(cli, session->engine));
  if (bsm_cli_writes_stdout(cli)) return BSM_OK;
  printf("%s: %zu steps with new weights\n", cli->output,
         bsm_engine_step_count(session->engine));
  return BSM_OK;
}

static bsm_status refit(refit_cli *c, bsm_session *session) {
  bsm_engine_load_options load_options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_engine *old = NULL;
  BSM_TRY(bsm_cli_check_output(&c->cli));
  BSM_TRY(bsm_session_open_plugins(&c->cli, session));
  load_options.logger = &c->cli.logger;
  load_options.plugins = session->plugins;
  load_options.without_device = true;
  load_options.no_map = true; /* the output may take the file's place */
  BSM_TRY(bsm_engine_load(c->engine, &load_options, &old));
  bsm_status status = refit_from(&c->cli, session, old);
  bsm_engine_destroy(old);
  return status;
}

int bsm_cmd_refit(int argc, char **argv) {
  refit_cli c = {0};
  bsm_session session = {0};
  bsm_cli_parse(&c.cli, "bessemer refit", &bsm_argp_refit, argc, argv);
  const int code = bsm_cli_finish(&c.cli, refit(&c, &session));
  bsm_session_close(&session);
  bsm_cli_close(&c.cli);
  return code;
}
