/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer targets: what engines can be built for. */
#include "tools/session.h"

static const struct argp_option options[] = {BSM_OPTIONS_LOG, {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  if (key == ARGP_KEY_ARG) argp_error(state, "no argument is needed: %s", arg);
  return bsm_cli_option(key, arg, state);
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc =
        "Prints the target of this machine in full, as --target takes it: "
        "elsewhere, too, it builds what this machine would build with "
        "--no-timing."};

static bsm_status print_targets(void) {
  char *text;
  BSM_TRY(bsm_target_text(NULL, &text));
  puts(text);
  bsm_string_free(text);
  return BSM_OK;
}

int bsm_cmd_targets(int argc, char **argv) {
  bsm_cli cli;
  bsm_cli_parse(&cli, "bessemer targets", &argp, argc, argv);
  const int code = bsm_cli_finish(&cli, print_targets());
  bsm_cli_close(&cli);
  return code;
}
