/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer targets: what engines can be built for. */
#include <string.h>

#include "tools/session.h"

static const struct argp_option options[] = {BSM_OPTIONS_LOG, {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  if (key == ARGP_KEY_ARG) argp_error(state, "no argument is needed: %s", arg);
  return bsm_cli_option(key, arg, state);
}

const struct argp bsm_argp_targets = {
    .options = options,
    .parser = parse,
    .doc =
        "Prints the targets of this machine in full, as --target takes them: "
        "elsewhere, too, they build what this machine would build with "
        "--no-timing. Of targets whose device is not here it tells what is "
        "missing."
        "\v"
        "Example:\n"
        "  bessemer targets"};

static bsm_status print_targets(void) {
  const char *name;
  for (size_t i = 0; (name = bsm_target_name(i)) != NULL; i++) {
    char *text;
    bsm_status status = bsm_target_text(name, &text);
    if (i > 0 && status && bsm_status_code(status) != BSM_OUT_OF_MEMORY) {
      const char *why = bsm_status_message(status);
      printf("%s: not here: %.*s\n", name, (int)strcspn(why, "\n"), why);
      bsm_status_free(status);
      continue;
    }
    BSM_TRY(status);
    puts(text);
    bsm_string_free(text);
  }
  return BSM_OK;
}

int bsm_cmd_targets(int argc, char **argv) {
  bsm_cli cli;
  bsm_cli_parse(&cli, "bessemer targets", &bsm_argp_targets, argc, argv);
  const int code = bsm_cli_finish(&cli, print_targets());
  bsm_cli_close(&cli);
  return code;
}
