/* SPDX-License-Identifier: Apache-2.0 */
/* Writing traces: the JSON array format of Chrome's trace events. */
#include "tools/trace_file.h"

#include <stdlib.h>

#include "base/thread_pool.h"
#include "tools/json.h"
#include "tools/layer_text.h"
#include "tools/terminal.h"

typedef struct event {
  const char *name, *layers, *kind, *tactic;
  int thread;
  double begin, end;
} event;

typedef struct recorder {
  bsm_arena *arena;
  BSM_VEC(event) events;
  bool failed;
} recorder;

/* The lane of a device, behind those of all threads. */
enum { DEVICE_LANE = 10000 };

static int lane_of(int thread) {
  return thread < 0 ? DEVICE_LANE : thread;
}

static void record(void *user, const bsm_trace_event *e) {
  recorder *r = user;
  event own = {.name = bsm_layer_short_name(r->arena, e->name),
               .layers = bsm_arena_strdup(r->arena, e->name),
               .kind = bsm_arena_strdup(r->arena, e->kind),
               .tactic = bsm_arena_strdup(r->arena, e->tactic),
               .thread = e->thread,
               .begin = e->begin,
               .end = e->end};
  r->failed = r->failed || !own.name || !own.layers || !own.kind ||
              !own.tactic || !bsm_vec_push(r->arena, &r->events, own);
}

static bsm_status run(bsm_cli *cli, bsm_session *session,
                      const bsm_array *inputs, int runs, recorder *r) {
  bsm_context *context;
  bsm_context_options options = bsm_session_context_options(cli);
  options.trace = record;
  options.trace_user = r;
  BSM_TRY(bsm_context_create(session->engine, &options, &context));
  const size_t count = bsm_engine_input_count(session->engine);
  bsm_status status = BSM_OK;
  for (int i = 0; i <= runs && !status; i++) {
    if (i == 1) r->events.len = 0; /* the first run finds memory cold */
    status = bsm_context_run_keep(context, inputs, count);
  }
  bsm_context_destroy(context);
  return status;
}

/* ---- the file ---- */

static void write_names(bsm_json *json, const recorder *r, int threads) {
  int most = threads - 1; /* also of those that came too late for any work */
  bool device = false;
  for (size_t i = 0; i < r->events.len; i++) {
    const int thread = r->events.items[i].thread;
    if (thread > most) most = thread;
    device = device || thread < 0;
  }
  for (int i = 0; i <= most + device; i++) {
    const int lane = i <= most ? i : DEVICE_LANE;
    char name[32];
    snprintf(name, sizeof(name), "thread %d", i);
    bsm_json_open(json, NULL, '{');
    bsm_json_string(json, "name", "thread_name");
    bsm_json_string(json, "ph", "M");
    bsm_json_int(json, "pid", 1);
    bsm_json_int(json, "tid", lane);
    bsm_json_open(json, "args", '{');
    bsm_json_string(json, "name", i <= most ? name : "device");
    bsm_json_close(json, '}');
    bsm_json_close(json, '}');
  }
}

static void write_event(bsm_json *json, const event *e, double start) {
  bsm_json_open(json, NULL, '{');
  bsm_json_string(json, "name", e->name);
  bsm_json_string(json, "cat", e->kind);
  bsm_json_string(json, "ph", "X");
  bsm_json_double(json, "ts", (e->begin - start) * 1e6);
  bsm_json_double(json, "dur", (e->end - e->begin) * 1e6);
  bsm_json_int(json, "pid", 1);
  bsm_json_int(json, "tid", lane_of(e->thread));
  bsm_json_open(json, "args", '{');
  bsm_json_string(json, "kind", e->kind);
  bsm_json_string(json, "tactic", e->tactic);
  bsm_json_string(json, "layers", e->layers);
  bsm_json_close(json, '}');
  bsm_json_close(json, '}');
}

static void write_events(FILE *file, const bsm_cli *cli, const recorder *r) {
  bsm_json json = {.file = file};
  double start = 0;
  for (size_t i = 0; i < r->events.len; i++) {
    const double begin = r->events.items[i].begin;
    if (!i || begin < start) start = begin;
  }
  bsm_json_open(&json, NULL, '{');
  bsm_json_string(&json, "displayTimeUnit", "ms");
  bsm_json_open(&json, "otherData", '{');
  bsm_json_string(&json, "file", cli->path);
  bsm_json_string(&json, "version", bsm_version());
  bsm_json_close(&json, '}');
  bsm_json_open(&json, "traceEvents", '[');
  write_names(&json, r, cli->threads ? cli->threads : bsm_available_cpus());
  for (size_t i = 0; i < r->events.len; i++) {
    write_event(&json, &r->events.items[i], start);
  }
  bsm_json_close(&json, ']');
  bsm_json_close(&json, '}');
}

bsm_status bsm_trace_write(bsm_cli *cli, bsm_session *session,
                           const bsm_array *inputs, int runs,
                           const char *path) {
  recorder r = {.arena = &cli->arena};
  char *text = NULL;
  size_t size = 0;
  BSM_TRY(run(cli, session, inputs, runs, &r));
  if (r.failed) return BSM_FAIL_OOM();
  FILE *file = open_memstream(&text, &size);
  if (!file) return BSM_FAIL_OOM();
  write_events(file, cli, &r);
  bsm_status status = fclose(file) ? BSM_FAIL_OOM() : BSM_OK;
  if (!status)
    status = bsm_write_output(path, &(bsm_file_piece){text, size}, 1);
  free(text);
  return status;
}
