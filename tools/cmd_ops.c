/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer ops: which operators convert, and those of a model. */
#include <string.h>

#include "tools/json.h"
#include "tools/session.h"

static const struct argp_option options[] = {
    {"json", BSM_KEY_JSON, 0, 0, "Print JSON", 1},
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  return bsm_cli_argument(key, arg, state, true, true);
}

const struct argp bsm_argp_ops = {
    .options = options,
    .parser = parse,
    .args_doc = "[MODEL [SPEC...]]",
    .doc =
        "Lists the operators that Bessemer knows, or those of a model after "
        "lowering: how often each occurs, who runs it, and the first place "
        "in the Python source."
        "\v"
        "How an operator runs: as layers of the network; by an evaluator, "
        "while "
        "compiling; lowering replaces or executes it; called in the reference "
        "library when the engine runs, which is slow; as a call of a program, "
        "or as the program itself, where data or shapes that range decide; as "
        "a layer of a plug-in; "
        "refused: it keeps the model from compiling. docs/operators.md is this "
        "list with its limits. A model is compiled to find out, but for "
        "timing: the exit status is 0 when it compiles with these options, and "
        "only then.\n\n"
        "Examples:\n"
        "  bessemer ops | grep conv\n"
        "  bessemer ops model.ts --json"};

/* A list of the lines of `text`. */
static void json_lines(bsm_json *json, const char *key, const char *text) {
  bsm_json_open(json, key, '[');
  while (*text) {
    char line[1024];
    const size_t length = strcspn(text, "\n");
    snprintf(line, sizeof(line), "%.*s", (int)length, text);
    bsm_json_string(json, NULL, line);
    text += length + (text[length] == '\n');
  }
  bsm_json_close(json, ']');
}

static bsm_status print_json(const bsm_operator_list *list, bool of_model) {
  bsm_json json = {.file = stdout};
  bsm_json_open(&json, NULL, '[');
  for (size_t i = 0; i < bsm_operator_list_count(list); i++) {
    bsm_operator_info info = BSM_OPERATOR_INFO_INIT, *op = &info;
    BSM_TRY(bsm_operator_list_get(list, i, op));
    bsm_json_open(&json, NULL, '{');
    bsm_json_string(&json, "schema", op->schema);
    bsm_json_string(&json, "runs", op->runs);
    bsm_json_bool(&json, "converter", op->has_converter);
    bsm_json_bool(&json, "evaluator", op->has_evaluator);
    bsm_json_bool(&json, "reference", op->has_reference);
    json_lines(&json, "limits", op->limits);
    if (of_model) {
      bsm_json_int(&json, "count", (int64_t)op->count);
      bsm_json_int(&json, "layers", (int64_t)op->layer_nodes);
      bsm_json_int(&json, "evaluated", (int64_t)op->evaluated_nodes);
      bsm_json_int(&json, "reference_calls", (int64_t)op->reference_nodes);
      bsm_json_int(&json, "unsupported", (int64_t)op->unsupported_nodes);
      bsm_json_int(&json, "planned", (int64_t)op->planned_nodes);
      bsm_json_int(&json, "calls", (int64_t)op->called_nodes);
      bsm_json_int(&json, "program", (int64_t)op->program_nodes);
      bsm_json_int(&json, "optimal_layers", (int64_t)op->optimal_layer_nodes);
      bsm_json_int(&json, "optimal_reference_calls",
                   (int64_t)op->optimal_reference_nodes);
      bsm_json_string(&json, "why", op->why);
      bsm_json_string(&json, "source", op->source);
      json_lines(&json, "places", op->places);
    }
    bsm_json_close(&json, '}');
  }
  bsm_json_close(&json, ']');
  return BSM_OK;
}

static void print_of_model(const bsm_operator_info *op) {
  printf("%6zu  %-9s  %-24s  %s\n", op->count, op->runs, op->source,
         op->schema);
  if (op->why[0]) printf("%6s  %s\n", "", op->why);
  if (op->optimal_layer_nodes || op->optimal_reference_nodes) {
    printf("%6s  at the optimal shape: %zu layers, %zu reference\n", "",
           op->optimal_layer_nodes, op->optimal_reference_nodes);
  }
}

static bsm_status print_text(const bsm_operator_list *list, bool of_model) {
  size_t none = 0, reference = 0, called = 0;
  for (size_t i = 0; i < bsm_operator_list_count(list); i++) {
    bsm_operator_info info = BSM_OPERATOR_INFO_INIT, *op = &info;
    BSM_TRY(bsm_operator_list_get(list, i, op));
    if (of_model) {
      none += op->unsupported_nodes > 0;
      reference += op->reference_nodes > 0;
      called += op->called_nodes > 0;
      print_of_model(op);
    } else {
      printf("%-9s  %s\n", op->runs, op->schema);
    }
  }
  if (of_model) {
    printf(
        "%zu operators: %zu call the reference library in a plan, %zu are "
        "called by a program, %zu cannot run\n",
        bsm_operator_list_count(list), reference, called, none);
  }
  return BSM_OK;
}

static bsm_status get_list(bsm_cli *cli, bsm_session *session,
                           bsm_operator_list **out) {
  bsm_compile_options compile_options;
  BSM_TRY(bsm_session_open_plugins(cli, session));
  if (!cli->path) return bsm_operators_with(session->plugins, out);
  BSM_TRY(bsm_session_load_module(cli, session));
  BSM_TRY(bsm_session_options(cli, session, &compile_options));
  return bsm_module_operators(session->module, &compile_options, out);
}

static bsm_status list_operators(bsm_cli *cli, bsm_session *session) {
  bsm_operator_list *list = NULL;
  BSM_TRY(get_list(cli, session, &list));
  bsm_status status = cli->json ? print_json(list, cli->path != NULL)
                                : print_text(list, cli->path != NULL);
  const char *failure = bsm_operator_list_failure(list);
  if (!status && failure) status = BSM_FAIL(BSM_UNSUPPORTED, "%s", failure);
  bsm_operator_list_free(list);
  return status;
}

int bsm_cmd_ops(int argc, char **argv) {
  bsm_cli cli;
  bsm_session session = {0};
  bsm_cli_parse(&cli, "bessemer ops", &bsm_argp_ops, argc, argv);
  const int code = bsm_cli_finish(&cli, list_operators(&cli, &session));
  bsm_session_close(&session);
  bsm_cli_close(&cli);
  return code;
}
