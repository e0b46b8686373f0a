/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer ops: which operators convert, and those of a model. */
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

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[MODEL [SPEC...]]",
    .doc =
        "Lists the operators that Bessemer knows, or those of a model after "
        "lowering: how often each occurs, who runs it, and the first place "
        "in the Python source."
        "\v"
        "A converter turns an operator into layers of the network, an "
        "evaluator computes it while compiling; one that has neither "
        "(\"none\") keeps the model from compiling."};

static const char *runner(const bsm_operator_info *op) {
  if (op->has_converter) return "converter";
  if (op->has_evaluator) return "evaluator";
  return op->has_reference ? "reference" : "none";
}

static void print_json(const bsm_operator_list *list, bool of_model) {
  bsm_json json = {.file = stdout};
  bsm_json_open(&json, NULL, '[');
  for (size_t i = 0; i < list->count; i++) {
    const bsm_operator_info *op = &list->items[i];
    bsm_json_open(&json, NULL, '{');
    bsm_json_string(&json, "schema", op->schema);
    bsm_json_bool(&json, "converter", op->has_converter);
    bsm_json_bool(&json, "evaluator", op->has_evaluator);
    bsm_json_bool(&json, "reference", op->has_reference);
    if (of_model) {
      bsm_json_int(&json, "count", (int64_t)op->count);
      bsm_json_string(&json, "source", op->source);
    }
    bsm_json_close(&json, '}');
  }
  bsm_json_close(&json, ']');
}

static void print_text(const bsm_operator_list *list, bool of_model) {
  size_t missing = 0;
  for (size_t i = 0; i < list->count; i++) {
    const bsm_operator_info *op = &list->items[i];
    const bool nobody = !op->has_converter && !op->has_evaluator;
    missing += nobody;
    if (of_model) {
      printf("%6zu  %-9s  %-24s  %s\n", op->count, runner(op), op->source,
             op->schema);
    } else {
      printf("%-9s  %s\n", runner(op), op->schema);
    }
  }
  if (of_model) {
    printf("%zu operators, %zu without converter or evaluator\n", list->count,
           missing);
  }
}

static bsm_status get_list(bsm_cli *cli, bsm_session *session,
                           bsm_operator_list **out) {
  if (!cli->path) return bsm_operators(out);
  bsm_compile_options compile_options;
  BSM_TRY(bsm_session_load_module(cli, session));
  BSM_TRY(bsm_session_options(cli, session, &compile_options));
  return bsm_module_operators(session->module, &compile_options, out);
}

static bsm_status list_operators(bsm_cli *cli, bsm_session *session) {
  bsm_operator_list *list = NULL;
  BSM_TRY(get_list(cli, session, &list));
  if (cli->json) {
    print_json(list, cli->path != NULL);
  } else {
    print_text(list, cli->path != NULL);
  }
  bsm_operator_list_free(list);
  return BSM_OK;
}

int bsm_cmd_ops(int argc, char **argv) {
  bsm_cli cli;
  bsm_session session = {0};
  bsm_cli_parse(&cli, "bessemer ops", &argp, argc, argv);
  const int code = bsm_cli_finish(&cli, list_operators(&cli, &session));
  bsm_session_close(&session);
  bsm_cli_close(&cli);
  return code;
}
