/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer view: a page that shows a model or an engine. */
#include <stdlib.h>
#include <string.h>

#include "tools/page.h"
#include "tools/step_table.h"
#include "tools/terminal.h"
#include "tools/view.h"

enum { KEY_WITH = 0x400, KEY_DOT };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "The page to write; - is the standard output; required", 1},
    {"with", KEY_WITH, "FILE", 0, "Compare it with another engine or model", 1},
    {"dot", KEY_DOT, 0, 0, "Write a graph of Graphviz in place of a page", 1},
    {"profile", BSM_KEY_PROFILE, 0, 0,
     "Run it, and show how long every step takes, and its share of what the "
     "machine can do. Without, the times are those of when it was built",
     1},
    {"iterations", BSM_KEY_ITERATIONS, "N", 0, "Runs of --profile (100)", 1},
    {"warmup", BSM_KEY_WARMUP, "N", 0, "Runs before them (5)", 1},
    {"input", BSM_KEY_INPUT, "FILE", 0,
     "An .npz or .npy as for run; without any, the inputs are made up", 1},
    {"input-dir", BSM_KEY_INPUT_DIR, "DIR", 0,
     "Take DIR/in_0.npy, DIR/in_1.npy, ...", 1},
    BSM_OPTIONS_MACHINE,
    BSM_OPTIONS_RUN,
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

typedef struct view_command {
  bsm_cli cli; /* first: the parser's */
  const char *with;
  bool dot;
  bsm_session sessions[2];
  bsm_view_engine views[2];
  size_t count;
  bsm_view_dumps dumps; /* of the first, when it is a model */
} view_command;

static error_t parse(int key, char *arg, struct argp_state *state) {
  view_command *c = state->input;
  switch (key) {
    case KEY_WITH:
      c->with = arg;
      return 0;
    case KEY_DOT:
      c->dot = true;
      return 0;
    case ARGP_KEY_END:
      if (c->cli.path && !c->cli.output) {
        argp_error(state, "no output given: -o PAGE.html");
      }
      break;
    default:
      break;
  }
  return bsm_cli_argument(key, arg, state, true, false);
}

const struct argp bsm_argp_view = {
    .options = options,
    .parser = parse,
    .args_doc = "ENGINE|MODEL [SPEC...]",
    .doc =
        "Writes one page for browsers, which needs no network: the graph, "
        "grouped by modules, with search, details, times and memory over "
        "time. Of a model it shows the lowered graph, the network and the "
        "engine that is compiled of it."
        "\v"
        "Examples:\n"
        "  bessemer view model.ts -o model.html --profile\n"
        "  bessemer view new.bsm --with old.bsm -o both.html\n"
        "  bessemer view model.bsm --dot -o - | dot -Tsvg >model.svg"};

/* ---- engines and their times ---- */

static bsm_status profile(bsm_cli *cli, bsm_session *session,
                          bsm_view_engine *view) {
  bsm_array *inputs;
  const size_t steps = bsm_engine_step_count(session->engine);
  BSM_TRY(bsm_session_open_context(cli, session));
  if (session->inputs.count) {
    BSM_TRY(bsm_bind_inputs(&cli->arena, session->engine, &session->inputs,
                            &inputs));
  } else {
    BSM_TRY(bsm_make_inputs(&cli->arena, session->engine, &inputs));
  }
  for (int i = 0; i < cli->warmup + cli->iterations; i++) {
    BSM_TRY(bsm_context_run_keep(session->context, inputs,
                                 bsm_engine_input_count(session->engine)));
  }
  view->seconds = BSM_NEW_ARRAY(&cli->arena, double, steps + 1);
  BSM_TRY_ALLOC(view->seconds);
  for (size_t i = 0; i < steps; i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    BSM_TRY(bsm_context_profile(session->context, i, &p));
    if (p.runs) view->seconds[i] = p.seconds / (double)p.runs;
  }
  return bsm_measure_peak(cli->isa, cli->threads, &view->peak);
}

static bsm_status open_view(view_command *c, size_t index, const char *path) {
  bsm_cli *cli = &c->cli;
  bsm_session *session = &c->sessions[index];
  const bsm_spec_vec specs = cli->specs;
  cli->path = path;
  session->without_device = !cli->profile;
  BSM_TRY(bsm_session_open_inputs(cli, session));
  if (!index) {
    cli->dump = bsm_view_take_dump;
    cli->dump_user = &c->dumps;
  }
  bsm_status status = bsm_session_open_engine(cli, session, true);
  cli->specs = specs;
  cli->dump = NULL;
  BSM_TRY_NOTE(status, "for %s", path);
  c->views[index] = (bsm_view_engine){.path = path, .engine = session->engine};
  c->count = index + 1;
  if (!cli->profile) return BSM_OK;
  return bsm_status_note(profile(cli, session, &c->views[index]), "for %s",
                         path);
}

/* ---- the page ---- */

static bsm_status write_data(void *user, FILE *file) {
  view_command *c = user;
  bsm_json json = {.file = file, .in_page = true};
  bsm_json_open(&json, NULL, '{');
  bsm_json_string(&json, "version", bsm_version());
  bsm_json_open(&json, "engines", '[');
  for (size_t i = 0; i < c->count; i++) {
    BSM_TRY(bsm_view_engine_json(&json, &c->views[i]));
  }
  bsm_json_close(&json, ']');
  bsm_json_string(&json, "graph",
                  c->dumps.graph.len ? c->dumps.graph.data : "");
  bsm_json_string(&json, "network",
                  c->dumps.network.len ? c->dumps.network.data : "");
  bsm_json_close(&json, '}');
  return c->dumps.graph.failed || c->dumps.network.failed ? BSM_FAIL_OOM()
                                                          : BSM_OK;
}

static bsm_status write_dot(view_command *c) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  if (!file) return BSM_FAIL_OOM();
  bsm_status status = bsm_view_dot(&c->cli, file, &c->views[0]);
  if (fclose(file) && !status) status = BSM_FAIL_OOM();
  if (!status) {
    status = bsm_write_output(c->cli.output, &(bsm_file_piece){text, size}, 1);
  }
  free(text);
  return status;
}

static bsm_status view(view_command *c) {
  BSM_TRY(bsm_cli_check_output(&c->cli));
  BSM_TRY(open_view(c, 0, c->cli.path));
  if (c->with) BSM_TRY(open_view(c, 1, c->with));
  return c->dot ? write_dot(c)
                : bsm_page_write(c->cli.output, bsm_page_view, write_data, c);
}

int bsm_cmd_view(int argc, char **argv) {
  view_command c = {0};
  bsm_cli_parse(&c.cli, "bessemer view", &bsm_argp_view, argc, argv);
  bsm_text_init(&c.dumps.graph, &c.cli.arena);
  bsm_text_init(&c.dumps.network, &c.cli.arena);
  const int code = bsm_cli_finish(&c.cli, view(&c));
  for (int i = 0; i < 2; i++) bsm_session_close(&c.sessions[i]);
  bsm_cli_close(&c.cli);
  return code;
}
