/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer: compiles, runs, measures and shows models. */
#include <string.h>

#include "base/near_name.h"
#include "tools/cli.h"
#include "tools/ending.h"
#include "tools/terminal.h"

static void print_help(FILE *file) {
  fputs(
      "Usage: bessemer COMMAND [ARGUMENT...]\n"
      "Compiles PyTorch models into standalone engines and runs them.\n\n",
      file);
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    fprintf(file, "  bessemer %-11s  %s\n", c->name, c->help);
  }
  fputs(
      "\nbessemer COMMAND --help tells more; bessemer --version, the "
      "version.\n",
      file);
}

int main(int argc, char **argv) {
  bsm_guard_terminal();
  bsm_end_cleanly();
  if (argc < 2) {
    print_help(stderr);
    return BSM_EXIT_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
      strcmp(name, "help") == 0) {
    print_help(stdout);
    return fflush(stdout) ? BSM_EXIT_FAILED : 0;
  }
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
    printf("bessemer %s\n", bsm_version());
    return fflush(stdout) ? BSM_EXIT_FAILED : 0;
  }
  bsm_near_name near = {.wanted = bsm_str_of(name)};
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    if (strcmp(name, c->name) == 0) {
      return bsm_end_as_interrupted(c->run(argc - 1, argv + 1));
    }
    bsm_near_name_look(&near, c->name);
  }
  fprintf(stderr,
          "bessemer: there is no command '%s'%s%s%s; bessemer --help lists "
          "them\n",
          name, BSM_NEAR_NAME_ARGS(near, "'"));
  return BSM_EXIT_USAGE;
}
