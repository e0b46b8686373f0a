/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer link-list: what a program links to run some engines. */
#include <string.h>

#include "tools/session.h"
#include "tools/terminal.h"

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "The file of C to write", 1},
    {"isa", BSM_KEY_ISA, "LIST", 0,
     "Link kernels for these instruction sets only: avx512,avx2,scalar (all)",
     1},
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  bsm_cli *cli = state->input;
  switch (key) {
    case ARGP_KEY_ARG:
      if (!bsm_vec_push(&cli->arena, &cli->inputs, arg)) {
        argp_failure(state, BSM_EXIT_FAILED, 0, "out of memory");
      }
      return 0;
    case BSM_KEY_ISA:
      cli->isas = arg;
      return 0;
    case 'o':
      cli->output = arg;
      return 0;
    case ARGP_KEY_END:
      if (!cli->output) argp_error(state, "no output given: -o FILE");
      if (cli->inputs.len == 0 && !cli->isas) {
        argp_error(state, "no engine and no --isa given");
      }
      return 0;
    default:
      return bsm_cli_option(key, arg, state);
  }
}

const struct argp bsm_argp_link_list = {
    .options = options,
    .parser = parse,
    .args_doc = "[ENGINE...]",
    .doc =
        "Writes a file of C that says what a program links of "
        "libbessemer-runtime.a to run these engines: the operators, steps and "
        "kernels that they need. The linker leaves out the rest."
        "\v"
        "Compile the file with -ffunction-sections -fdata-sections, and link "
        "it before the library with -Wl,--gc-sections. Loading an engine that "
        "needs something else fails, and the message says what is missing. "
        "Without engines only kernels of other instruction sets are left "
        "out.\n\n"
        "Example:\n"
        "  bessemer link-list model.bsm -o linked.c"};

/* "a.bsm, b.bsm", without folders. */
static const char *list_names(bsm_cli *cli) {
  bsm_text text;
  bsm_text_init(&text, &cli->arena);
  for (size_t i = 0; i < cli->inputs.len; i++) {
    const char *path = cli->inputs.items[i];
    const char *slash = strrchr(path, '/');
    bsm_text_printf(&text, "%s%s", i ? ", " : "", slash ? slash + 1 : path);
  }
  if (cli->inputs.len == 0) bsm_text_puts(&text, cli->isas);
  return text.failed ? NULL : text.data;
}

static bsm_status write_list(bsm_cli *cli, const bsm_engine *const *engines) {
  char *list = NULL;
  const char *names = list_names(cli);
  BSM_TRY_ALLOC(names);
  BSM_TRY(
      bsm_write_link_list(engines, cli->inputs.len, names, cli->isas, &list));
  const bsm_file_piece piece = {list, strlen(list)};
  bsm_status status = bsm_write_output(cli->output, &piece, 1);
  bsm_string_free(list);
  return status;
}

static bsm_status link_list(bsm_cli *cli) {
  const size_t count = cli->inputs.len;
  bsm_status status = bsm_cli_check_output(cli);
  bsm_engine **engines = BSM_NEW_ARRAY(&cli->arena, bsm_engine *, count + 1);
  if (!status && !engines) status = BSM_FAIL_OOM();
  for (size_t i = 0; !status && i < count; i++) {
    bsm_engine_load_options load = BSM_ENGINE_LOAD_OPTIONS_INIT;
    load.logger = &cli->logger;
    load.without_device = true;
    status = bsm_engine_load(cli->inputs.items[i], &load, &engines[i]);
  }
  if (!status) {
    status = write_list(cli, (const bsm_engine *const *)engines);
  }
  for (size_t i = 0; engines && i < count; i++) bsm_engine_destroy(engines[i]);
  return status;
}

int bsm_cmd_link_list(int argc, char **argv) {
  bsm_cli cli;
  bsm_cli_parse(&cli, "bessemer link-list", &bsm_argp_link_list, argc, argv);
  const int code = bsm_cli_finish(&cli, link_list(&cli));
  bsm_cli_close(&cli);
  return code;
}
