/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer bench: how long running takes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread_pool.h"
#include "tools/json.h"
#include "tools/session.h"
#include "tools/step_table.h"
#include "tools/trace_file.h"

enum { TRACED_RUNS = 3 };

static const struct argp_option options[] = {
    {"iterations", BSM_KEY_ITERATIONS, "N", 0, "Timed runs (100)", 1},
    {"warmup", BSM_KEY_WARMUP, "N", 0, "Runs before them (5)", 1},
    {"input", BSM_KEY_INPUT, "FILE", 0,
     "An .npz or .npy as for run; without any, the inputs are made up", 1},
    {"input-dir", BSM_KEY_INPUT_DIR, "DIR", 0,
     "Take DIR/in_0.npy, DIR/in_1.npy, ...", 1},
    {"output-dir", BSM_KEY_OUTPUT_DIR, "DIR", 0,
     "Write the outputs of the last run to DIR/out_0.npy, ...", 1},
    {"shapes", BSM_KEY_SHAPES, "SHAPES", 0,
     "For inputs whose dims range: the shapes of all inputs that are made up, "
     "as 4x3x224x224,1x128 (those that the engine was built to be fast with)",
     1},
    {"profile", BSM_KEY_PROFILE, 0, 0,
     "Print the mean time of every step, what it computes and moves", 1},
    {"trace", BSM_KEY_TRACE, "FILE", 0,
     "Write what each thread did in three further runs, for Perfetto "
     "(ui.perfetto.dev) and chrome://tracing",
     1},
    {"times", BSM_KEY_TIMES, 0, 0, "Print the time of every run", 1},
    {"json", BSM_KEY_JSON, 0, 0, "Print JSON", 1},
    BSM_OPTIONS_MACHINE,
    BSM_OPTIONS_RUN,
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  return bsm_cli_argument(key, arg, state, true, false);
}

const struct argp bsm_argp_bench = {
    .options = options,
    .parser = parse,
    .args_doc = "ENGINE|MODEL [SPEC...]",
    .doc =
        "Measures the latency of an engine, or of a model compiled in "
        "memory."
        "\v"
        "Examples:\n"
        "  bessemer bench model.bsm --threads 2\n"
        "  bessemer bench model.ts --profile --trace times.json"};

typedef struct timings {
  double *runs; /* milliseconds, in order */
  double *sorted;
  size_t count;
  double load;
  double least_cpu; /* of a run, in all threads: others' work counts little */
} timings;

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The smallest value that `fraction` of the runs do not exceed. */
static double percentile(const timings *t, double fraction) {
  size_t rank = (size_t)(fraction * (double)t->count + 0.999999);
  if (rank > t->count) rank = t->count;
  return t->sorted[rank ? rank - 1 : 0];
}

static double median(const timings *t) {
  const size_t half = t->count / 2;
  if (t->count % 2) return t->sorted[half];
  return (t->sorted[half - 1] + t->sorted[half]) / 2;
}

static double mean(const timings *t) {
  double sum = 0;
  for (size_t i = 0; i < t->count; i++) sum += t->runs[i];
  return sum / (double)t->count;
}

static bsm_status measure(bsm_cli *cli, bsm_session *session,
                          const bsm_array *inputs, timings *t) {
  const size_t input_count = bsm_engine_input_count(session->engine);
  t->count = (size_t)cli->iterations;
  t->runs = BSM_NEW_ARRAY(&cli->arena, double, t->count);
  t->sorted = BSM_NEW_ARRAY(&cli->arena, double, t->count);
  BSM_TRY_ALLOC(t->runs);
  BSM_TRY_ALLOC(t->sorted);
  for (int i = 0; i < cli->warmup; i++) {
    BSM_TRY(bsm_context_run_keep(session->context, inputs, input_count));
  }
  for (size_t i = 0; i < t->count; i++) {
    const double start = bsm_cli_milliseconds();
    const clock_t cpu_start = clock();
    BSM_TRY(bsm_context_run_keep(session->context, inputs, input_count));
    const double cpu = (double)(clock() - cpu_start) * 1e3 / CLOCKS_PER_SEC;
    t->runs[i] = bsm_cli_milliseconds() - start;
    if (i == 0 || cpu < t->least_cpu) t->least_cpu = cpu;
  }
  memcpy(t->sorted, t->runs, t->count * sizeof(double));
  qsort(t->sorted, t->count, sizeof(double), compare);
  return BSM_OK;
}

/* ---- the profile ---- */

static int compare_profiles(const void *a, const void *b) {
  const bsm_step_profile *x = a, *y = b;
  return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static bsm_status sorted_profile(bsm_cli *cli, const bsm_context *context,
                                 bsm_step_profile **out) {
  const size_t count = bsm_context_profile_count(context);
  bsm_step_profile *steps = BSM_NEW_ARRAY(&cli->arena, bsm_step_profile, count);
  BSM_TRY_ALLOC(steps);
  for (size_t i = 0; i < count; i++) {
    steps[i] = (bsm_step_profile)BSM_STEP_PROFILE_INIT;
    BSM_TRY(bsm_context_profile(context, i, &steps[i]));
  }
  qsort(steps, count, sizeof(*steps), compare_profiles);
  *out = steps;
  return BSM_OK;
}

/* The mean of the runs. */
static bsm_step_row row_of(const bsm_step_profile *step) {
  return (bsm_step_row){
      .name = step->name,
      .kind = step->kind,
      .tactic = step->tactic,
      .seconds = step->runs ? step->seconds / (double)step->runs : 0,
      .flops = step->flops,
      .bytes = step->bytes};
}

static bsm_status print_profile(bsm_cli *cli, const bsm_context *context) {
  bsm_step_profile *steps;
  double peak;
  bsm_step_row sum = {"", "all", "", 0, 0, 0};
  BSM_TRY(sorted_profile(cli, context, &steps));
  BSM_TRY(bsm_measure_peak(cli->isa, cli->threads, &peak));
  bsm_step_row_heading();
  for (size_t i = 0; i < bsm_context_profile_count(context); i++) {
    const bsm_step_row row = row_of(&steps[i]);
    sum.seconds += row.seconds;
    sum.flops += row.flops;
    sum.bytes += row.bytes;
  }
  for (size_t i = 0; i < bsm_context_profile_count(context); i++) {
    const bsm_step_row row = row_of(&steps[i]);
    BSM_TRY(bsm_step_row_print(&row, sum.seconds, peak));
  }
  BSM_TRY(bsm_step_row_print(&sum, sum.seconds, peak));
  printf("peak: %.1f GFLOP/s\n", peak);
  return BSM_OK;
}

static bsm_status json_profile(bsm_cli *cli, const bsm_context *context,
                               bsm_json *json) {
  bsm_step_profile *steps;
  double peak;
  BSM_TRY(sorted_profile(cli, context, &steps));
  BSM_TRY(bsm_measure_peak(cli->isa, cli->threads, &peak));
  bsm_json_double(json, "peak_gflops_per_s", peak);
  bsm_json_open(json, "steps", '[');
  for (size_t i = 0; i < bsm_context_profile_count(context); i++) {
    const bsm_step_row row = row_of(&steps[i]);
    bsm_json_open(json, NULL, '{');
    bsm_step_row_json(json, &row, peak);
    bsm_json_double(json, "min_ms", steps[i].least * 1e3);
    bsm_json_close(json, '}');
  }
  bsm_json_close(json, ']');
  return BSM_OK;
}

/* ---- results ---- */

static void print_text(const bsm_cli *cli, const timings *t) {
  printf(
      "%zu runs: min %.4f ms, median %.4f, mean %.4f, p90 %.4f, p99 %.4f, "
      "max %.4f\nthroughput: %.2f runs/s\n",
      t->count, t->sorted[0], median(t), mean(t), percentile(t, 0.9),
      percentile(t, 0.99), t->sorted[t->count - 1], 1e3 / mean(t));
  printf("median_ms=%.6f min_ms=%.6f min_cpu_ms=%.6f load_ms=%.6f", median(t),
         t->sorted[0], t->least_cpu, t->load);
  for (size_t i = 0; cli->times && i < t->count; i++) {
    printf("%s%.6f", i ? "," : " times_ms=", t->runs[i]);
  }
  putchar('\n');
}

static bsm_status print_json(bsm_cli *cli, const bsm_session *session,
                             const timings *t) {
  bsm_json json = {.file = stdout};
  bsm_json_open(&json, NULL, '{');
  bsm_json_string(&json, "file", cli->path);
  bsm_json_int(&json, "threads",
               cli->threads ? cli->threads : bsm_available_cpus());
  bsm_json_int(&json, "iterations", (int64_t)t->count);
  bsm_json_double(&json, "load_ms", t->load);
  bsm_json_double(&json, "min_ms", t->sorted[0]);
  bsm_json_double(&json, "min_cpu_ms", t->least_cpu);
  bsm_json_double(&json, "median_ms", median(t));
  bsm_json_double(&json, "mean_ms", mean(t));
  bsm_json_double(&json, "p90_ms", percentile(t, 0.9));
  bsm_json_double(&json, "p99_ms", percentile(t, 0.99));
  bsm_json_double(&json, "max_ms", t->sorted[t->count - 1]);
  bsm_json_double(&json, "throughput", 1e3 / mean(t));
  if (cli->times) {
    bsm_json_open(&json, "times_ms", '[');
    for (size_t i = 0; i < t->count; i++) {
      bsm_json_double(&json, NULL, t->runs[i]);
    }
    bsm_json_close(&json, ']');
  }
  if (cli->profile) BSM_TRY(json_profile(cli, session->context, &json));
  bsm_json_close(&json, '}');
  return BSM_OK;
}

static bsm_status bench(bsm_cli *cli, bsm_session *session) {
  timings t = {0};
  bsm_array *inputs;
  BSM_TRY(bsm_session_open_inputs(cli, session));
  const double start = bsm_cli_milliseconds();
  BSM_TRY(bsm_session_open_engine(cli, session, false));
  BSM_TRY(bsm_session_open_context(cli, session));
  t.load = bsm_cli_milliseconds() - start;
  if (session->inputs.count) {
    BSM_TRY(bsm_bind_inputs(&cli->arena, session->engine, &session->inputs,
                            &inputs));
  } else {
    BSM_TRY(bsm_make_inputs_of(&cli->arena, session->engine, cli->shapes.items,
                               cli->shapes.len, &inputs));
  }
  BSM_TRY(measure(cli, session, inputs, &t));
  if (cli->output_dir) {
    bsm_npy_array *items;
    size_t count;
    BSM_TRY(
        bsm_take_outputs(&cli->arena, session->context, false, &items, &count));
    BSM_TRY(bsm_save_outputs_in(cli->output_dir, items, count));
  }
  if (cli->trace) {
    BSM_TRY(bsm_trace_write(cli, session, inputs, TRACED_RUNS, cli->trace));
  }
  if (cli->json) return print_json(cli, session, &t);
  if (cli->profile) BSM_TRY(print_profile(cli, session->context));
  print_text(cli, &t);
  return BSM_OK;
}

int bsm_cmd_bench(int argc, char **argv) {
  bsm_cli cli;
  bsm_session session = {0};
  bsm_cli_parse(&cli, "bessemer bench", &bsm_argp_bench, argc, argv);
  const int code = bsm_cli_finish(&cli, bench(&cli, &session));
  bsm_session_close(&session);
  bsm_cli_close(&cli);
  return code;
}
