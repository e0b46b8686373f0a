/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer: compiles, runs, measures and shows models. */
#include <string.h>

#include "tools/cli.h"
#include "tools/ending.h"
#include "tools/terminal.h"

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *help;
} commands[] = {
    {"compile", bsm_cmd_compile, "turn a model into an engine file"},
    {"calibrate", bsm_cmd_calibrate,
     "find the ranges of a model's values, for int8"},
    {"run", bsm_cmd_run, "run an engine or a model on arrays"},
    {"bench", bsm_cmd_bench, "measure how long running takes"},
    {"diff", bsm_cmd_diff, "tell where two computations of a model depart"},
    {"inspect", bsm_cmd_inspect, "show what is in a model or an engine"},
    {"view", bsm_cmd_view, "write a page that shows a model or an engine"},
    {"export", bsm_cmd_export, "write a model as ONNX"},
    {"ops", bsm_cmd_ops, "list the operators that convert, or a model's"},
    {"targets", bsm_cmd_targets, "tell what this machine is as a target"},
    {"link-list", bsm_cmd_link_list,
     "write what a program links to run some engines"},
    {"keygen", bsm_cmd_keygen, "make a key to sign engines with"},
    {"sign", bsm_cmd_sign, "sign an engine"},
    {"verify", bsm_cmd_verify, "tell whether an engine is signed"},
};

static void print_help(FILE *file) {
  fputs(
      "Usage: bessemer COMMAND [ARGUMENT...]\n"
      "Compiles PyTorch models into standalone engines and runs them.\n\n",
      file);
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    fprintf(file, "  bessemer %-9s  %s\n", commands[i].name, commands[i].help);
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
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    if (strcmp(name, commands[i].name) == 0) {
      return commands[i].run(argc - 1, argv + 1);
    }
  }
  fprintf(stderr,
          "bessemer: there is no command '%s'; bessemer --help lists them\n",
          name);
  return BSM_EXIT_USAGE;
}
