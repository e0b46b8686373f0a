/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer compile: a model becomes an engine file. */
#include "tools/session.h"

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "The engine to write; required", 1},
    {"unrecorded", BSM_KEY_UNRECORDED, 0, 0,
     "Do not note that you have built the engine here, which lets you run "
     "machine code in it without --trust-code",
     1},
    BSM_OPTIONS_MACHINE,
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  const bsm_cli *cli = state->input;
  if (key == ARGP_KEY_END && cli->path && !cli->output) {
    argp_error(state, "no output given: -o ENGINE");
  }
  return bsm_cli_argument(key, arg, state, true, false);
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL [SPEC...]",
    .doc =
        "Compiles a TorchScript archive, a program of torch.export (.pt2), or "
        "IR "
        "text into an engine file."
        "\v"
        "SPEC gives the inputs in order, in TRTorch's grammar: "
        "\"(1,3,224,224)\", "
        "\"[(1,16);(8,128);(16,512)]@i64%contiguous\" (minimum, optimum, "
        "maximum; equal, as an engine has fixed shapes), NAME=SPEC for a "
        "parameter by name. Without them, "
        "shapes come from the example inputs in the archive.\n\n"
        "Values in the manner of JSON are for all other parameters, and for "
        "what holds tensors:\n"
        "  f32[1,3,224,224]   a tensor\n"
        "  3  -0.5  true  none  default  \"text\"\n"
        "  int  float  bool   a number given when running\n"
        "  [SPEC, ...]  {\"key\": SPEC, ...}  (field=SPEC, ...)\n"
        "  (SPEC, ...)        a tuple; tuple(1, 2) when a number is first\n"
        "  @FILE.npy  @FILE.npz:NAME   a constant tensor\n"
        "Each tensor is an input of the engine, named by its path, as "
        "batch.image or xs.0; all else is fixed."};

static void print_summary(const bsm_cli *cli, const bsm_engine *engine,
                          const bsm_engine_memory_info *memory,
                          double milliseconds) {
  printf("%s: %zu steps, %s of weights, %s of workspace, compiled in %.2f s\n",
         cli->output, bsm_engine_step_count(engine),
         bsm_cli_size(memory->weights).text,
         bsm_cli_size(memory->workspace).text, milliseconds / 1e3);
}

static bsm_status compile(bsm_cli *cli, bsm_session *session) {
  const double start = bsm_cli_milliseconds();
  bsm_compile_options compile_options;
  BSM_TRY(bsm_cli_check_output(cli));
  BSM_TRY(bsm_session_load_module(cli, session));
  BSM_TRY(bsm_session_options(cli, session, &compile_options));
  BSM_TRY(bsm_compile(session->module, &compile_options, &session->engine));
  bsm_engine_save_options save_options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  save_options.logger = &cli->logger;
  save_options.unrecorded = cli->unrecorded;
  /* What may fail comes before the file is there. */
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  BSM_TRY(bsm_engine_memory(session->engine, cli->threads, &memory));
  BSM_TRY(bsm_engine_save_with(session->engine, cli->output, &save_options));
  print_summary(cli, session->engine, &memory, bsm_cli_milliseconds() - start);
  return BSM_OK;
}

int bsm_cmd_compile(int argc, char **argv) {
  bsm_cli cli;
  bsm_session session = {0};
  bsm_cli_parse(&cli, "bessemer compile", &argp, argc, argv);
  const int code = bsm_cli_finish(&cli, compile(&cli, &session));
  bsm_session_close(&session);
  bsm_cli_close(&cli);
  return code;
}
