/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer export: a model as ONNX. */
#include <string.h>

#include "tools/onnx_file.h"
#include "tools/session.h"

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "The ONNX file to write; - is the standard output; required", 1},
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  const bsm_cli *cli = state->input;
  if (key == ARGP_KEY_END && cli->path && !cli->output) {
    argp_error(state, "no output given: -o MODEL.onnx");
  }
  return bsm_cli_argument(key, arg, state, true, false);
}

const struct argp bsm_argp_export = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL [SPEC...]",
    .doc =
        "Writes the network of a model as ONNX (opset 18), for Netron, ONNX "
        "Runtime, OpenVINO and others. Shapes are fixed, as for compile. "
        "Layers that ONNX cannot express are named, with their reasons."
        "\v"
        "Examples:\n"
        "  bessemer export model.ts -o model.onnx\n"
        "  bessemer export model.pt2 -o model.onnx \"(1,3,224,224)\""};

static bsm_status export_model(bsm_cli *cli, bsm_session *session,
                               bsm_onnx **onnx) {
  bsm_compile_options compile_options;
  BSM_TRY(bsm_cli_check_output(cli));
  BSM_TRY(bsm_session_load_module(cli, session));
  BSM_TRY(bsm_session_options(cli, session, &compile_options));
  BSM_TRY(bsm_module_onnx(session->module, &compile_options, onnx));
  const bsm_onnx_graph *graph = bsm_onnx_get_graph(*onnx);
  BSM_TRY(bsm_onnx_write(&cli->arena, cli->output, graph));
  if (strcmp(cli->output, "-") == 0) return BSM_OK;
  uint64_t bytes = 0;
  for (size_t i = 0; i < graph->initializer_count; i++) {
    bytes += graph->initializers[i].bytes;
  }
  printf("%s: %zu nodes, %s of weights, opset %d\n", cli->output,
         graph->node_count, bsm_cli_size(bytes).text, graph->opset);
  return BSM_OK;
}

int bsm_cmd_export(int argc, char **argv) {
  bsm_cli cli;
  bsm_session session = {0};
  bsm_onnx *onnx = NULL;
  bsm_cli_parse(&cli, "bessemer export", &bsm_argp_export, argc, argv);
  const int code = bsm_cli_finish(&cli, export_model(&cli, &session, &onnx));
  bsm_onnx_destroy(onnx);
  bsm_session_close(&session);
  bsm_cli_close(&cli);
  return code;
}
