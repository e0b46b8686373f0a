/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer compile: a model becomes an engine file. */
#include <string.h>

#include "tools/json.h"
#include "tools/session.h"
#include "tools/terminal.h"

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "The engine to write; - is the standard output; required", 1},
    {"json", BSM_KEY_JSON, 0, 0, "Print the summary as JSON", 1},
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

const struct argp bsm_argp_compile = {
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
        "maximum), NAME=SPEC for a parameter by name. Without them, "
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
        "batch.image or xs.0; all else is fixed.\n\n"
        "Examples:\n"
        "  bessemer compile model.ts -o model.bsm \"(1,3,224,224)\"\n"
        "  bessemer compile model.pt2 -o model.bsm "
        "\"[(1,16);(8,128);(16,512)]@i64\"\n"
        "  bessemer compile model.ts --target cuda --precision fp16 -o "
        "model.bsm"};

/* ---- what became of it ---- */

static void json_bindings(bsm_json *json, const bsm_engine *engine,
                          bool outputs) {
  const size_t count = outputs ? bsm_engine_output_count(engine)
                               : bsm_engine_input_count(engine);
  bsm_json_open(json, outputs ? "outputs" : "inputs", '[');
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    bsm_status_free(outputs ? bsm_engine_output(engine, i, &binding)
                            : bsm_engine_input(engine, i, &binding));
    bsm_json_open(json, NULL, '{');
    bsm_json_string(json, "name", binding.name);
    bsm_json_string(json, "dtype", bsm_dtype_name(binding.dtype));
    bsm_json_dims(json, "dims", binding.dims);
    bsm_json_close(json, '}');
  }
  bsm_json_close(json, ']');
}

static void print_json(const bsm_cli *cli, FILE *file, const bsm_engine *engine,
                       const bsm_engine_memory_info *memory,
                       double milliseconds) {
  const char *target = bsm_engine_metadata(engine, "builder.target");
  bsm_json json = {.file = file};
  bsm_json_open(&json, NULL, '{');
  bsm_json_string(&json, "file", cli->output);
  bsm_json_string(&json, "target", target ? target : "");
  bsm_json_int(&json, "steps", (int64_t)bsm_engine_step_count(engine));
  bsm_json_int(&json, "weights", (int64_t)memory->weights);
  bsm_json_int(&json, "workspace", (int64_t)memory->workspace);
  bsm_json_double(&json, "seconds", milliseconds / 1e3);
  json_bindings(&json, engine, false);
  json_bindings(&json, engine, true);
  bsm_json_close(&json, '}');
}

/* The summary goes to the standard error when the engine is on the standard
 * output. */
static void print_summary(const bsm_cli *cli, const bsm_engine *engine,
                          const bsm_engine_memory_info *memory,
                          double milliseconds) {
  FILE *file = bsm_cli_writes_stdout(cli) ? stderr : stdout;
  if (cli->json) {
    print_json(cli, file, engine, memory, milliseconds);
    return;
  }
  fprintf(file,
          "%s: %zu steps, %s of weights, %s of workspace, compiled in %.2f s\n",
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
  BSM_TRY(bsm_session_compile(cli, session, &compile_options));
  /* What may fail comes before the file is there. */
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  BSM_TRY(bsm_engine_memory(session->engine, cli->threads, &memory));
  BSM_TRY(bsm_session_save(cli, session->engine));
  print_summary(cli, session->engine, &memory, bsm_cli_milliseconds() - start);
  return BSM_OK;
}

int bsm_cmd_compile(int argc, char **argv) {
  bsm_cli cli;
  bsm_session session = {0};
  bsm_cli_parse(&cli, "bessemer compile", &bsm_argp_compile, argc, argv);
  const int code = bsm_cli_finish(&cli, compile(&cli, &session));
  bsm_session_close(&session);
  bsm_cli_close(&cli);
  return code;
}
