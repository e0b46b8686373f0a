/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer diff: where two computations of a model depart. */
#include <stdlib.h>
#include <string.h>

#include "tools/diff.h"
#include "tools/page.h"

enum {
  KEY_REFERENCE = 0x400,
  KEY_TOLERANCE,
  KEY_ALL,
  KEY_HTML,
  EXIT_DEPARTS = 3
};

static const struct argp_option options[] = {
    {"reference", KEY_REFERENCE, 0, 0,
     "Compute a model in float64, to see which of two roundings is the better "
     "one",
     1},
    {"tolerance", KEY_TOLERANCE, "X", 0,
     "The error, as a share of the largest value, from which a layer departs "
     "(0.0001; more for narrow precisions)",
     1},
    {"all", KEY_ALL, 0, 0, "Show all layers, not only those that depart", 1},
    {"json", BSM_KEY_JSON, 0, 0, "Print JSON", 1},
    {"html", KEY_HTML, "FILE", 0, "Write a page for browsers", 1},
    {"input", BSM_KEY_INPUT, "FILE", 0,
     "An .npz or .npy as for run; without any, the inputs are made up", 1},
    {"input-dir", BSM_KEY_INPUT_DIR, "DIR", 0,
     "Take DIR/in_0.npy, DIR/in_1.npy, ...", 1},
    BSM_OPTIONS_MACHINE,
    BSM_OPTIONS_RUN,
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

typedef struct diff_command {
  bsm_cli cli; /* first: the parser's */
  const char *paths[2];
  const char *html;
  double tolerance;
  bool reference, all;
} diff_command;

static error_t parse(int key, char *arg, struct argp_state *state) {
  diff_command *c = state->input;
  char *end;
  switch (key) {
    case KEY_REFERENCE:
      c->reference = true;
      return 0;
    case KEY_TOLERANCE:
      c->tolerance = strtod(arg, &end);
      if (*end || !(c->tolerance > 0)) {
        argp_error(state, "--tolerance: '%s' is not a number above 0", arg);
      }
      return 0;
    case KEY_ALL:
      c->all = true;
      return 0;
    case KEY_HTML:
      c->html = arg;
      return 0;
    case ARGP_KEY_ARG:
      if (!c->paths[0] || !c->paths[1]) {
        c->paths[c->paths[0] ? 1 : 0] = arg;
        c->cli.path = c->paths[0];
        return 0;
      }
      break;
    default:
      break;
  }
  return bsm_cli_argument(key, arg, state, true, false);
}

const struct argp bsm_argp_diff = {
    .options = options,
    .parser = parse,
    .args_doc = "EXPECTED [ACTUAL [SPEC...]]",
    .doc =
        "Runs two computations of a model layer by layer on the same inputs, "
        "compares what they compute on the way, and names the first layer that "
        "departs. Each of the two is a model, an engine, or an .npz of arrays "
        "that PyTorch has written, named as values or submodules of the model. "
        "A model is computed by the reference library, as PyTorch computes; "
        "engines run as they are. A model alone is compared with itself, "
        "compiled with the options that are given."
        "\v"
        "Examples:\n"
        "  bessemer diff model.ts model.bsm --input x.npz\n"
        "  bessemer diff model.ts --precision fp16 --reference\n"
        "  bessemer diff old.bsm new.bsm --html report.html\n"
        "  bessemer diff activations.npz model.bsm --json\n\n"
        "Exit codes: 0 no layer departs, 3 one does, 1 failed, 2 used "
        "wrongly."};

/* Who of the two computes by the reference library. */
static void set_references(const diff_command *c, bsm_diff *diff) {
  const uint64_t reference =
      BSM_REFERENCE_LIBRARY | (c->reference ? BSM_REFERENCE_DOUBLE : 0);
  diff->expected.reference =
      diff->expected.kind == BSM_SIDE_MODEL ? reference : 0;
  diff->actual.reference =
      diff->actual.kind == BSM_SIDE_MODEL && c->paths[1] ? reference : 0;
}

static bsm_status find_sides(const diff_command *c, bsm_diff *diff) {
  diff->tolerance = c->tolerance;
  diff->expected.path = c->paths[0];
  diff->actual.path = c->paths[1] ? c->paths[1] : c->paths[0];
  BSM_TRY(bsm_side_find_kind(diff->expected.path, &diff->expected.kind));
  BSM_TRY(bsm_side_find_kind(diff->actual.path, &diff->actual.kind));
  if (!c->paths[1] && diff->expected.kind != BSM_SIDE_MODEL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s is no model: name what it is to be compared with",
                    c->paths[0]);
  }
  if (diff->expected.kind == BSM_SIDE_ARRAYS &&
      diff->actual.kind == BSM_SIDE_ARRAYS) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "two files of arrays: one of the two has to be a model or "
                    "an engine");
  }
  set_references(c, diff);
  if (c->reference && !diff->expected.reference && !diff->actual.reference) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "--reference: neither file is a model");
  }
  return BSM_OK;
}

typedef struct page_data {
  bsm_cli *cli;
  const bsm_diff *diff;
} page_data;

static bsm_status write_data(void *user, FILE *file) {
  const page_data *data = user;
  return bsm_diff_json(data->cli, data->diff, file, true);
}

static bsm_status run_diff(diff_command *c, bsm_diff *diff) {
  BSM_TRY(find_sides(c, diff));
  BSM_TRY(bsm_diff_run(&c->cli, diff));
  BSM_TRY(bsm_diff_compare(&c->cli, diff));
  if (c->html) {
    page_data data = {&c->cli, diff};
    BSM_TRY(bsm_page_write(c->html, bsm_page_diff, write_data, &data));
  }
  return c->cli.json ? bsm_diff_json(&c->cli, diff, stdout, false)
                     : bsm_diff_print(&c->cli, diff, c->all);
}

int bsm_cmd_diff(int argc, char **argv) {
  diff_command c = {0};
  bsm_diff diff = {0};
  bsm_cli_parse(&c.cli, "bessemer diff", &bsm_argp_diff, argc, argv);
  int code = bsm_cli_finish(&c.cli, run_diff(&c, &diff));
  if (!code && diff.first) code = EXIT_DEPARTS;
  bsm_diff_close(&diff);
  bsm_cli_close(&c.cli);
  return code;
}
