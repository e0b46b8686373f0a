/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of steps, for inspect and bench. */
#include "tools/step_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/fma_peak.h"
#include "base/isa.h"
#include "tools/gpu_roofline.h"
#include "tools/layer_text.h"

#define PEAK_SECONDS 0.02

bsm_status bsm_measure_peak(uint32_t isa, int threads, double *gflops) {
  bsm_thread_pool *pool = NULL;
  if (threads != 1) BSM_TRY(bsm_thread_pool_create(threads, NULL, &pool));
  *gflops =
      bsm_measure_fma_peak(isa ? isa : BSM_ISA_DETECT, pool, PEAK_SECONDS);
  bsm_thread_pool_destroy(pool);
  return BSM_OK;
}

/* Per second, in units of 1e9. */
static double rate(double amount, double seconds) {
  return seconds > 0 ? 1e-9 * amount / seconds : 0;
}

/* The share of what is possible; 0: not known. */
static double share_of(const bsm_step_row *row, double peak) {
  if (row->seconds <= 0) return 0;
  return row->least > 0 ? row->least / row->seconds
         : peak > 0     ? rate(row->flops, row->seconds) / peak
                        : 0;
}

void bsm_step_row_json(bsm_json *json, const bsm_step_row *row, double peak) {
  bsm_json_string(json, "name", row->name);
  bsm_json_string(json, "kind", row->kind);
  bsm_json_string(json, "tactic", row->tactic);
  bsm_json_double(json, "flops", row->flops);
  bsm_json_double(json, "bytes", row->bytes);
  if (row->seconds <= 0) return;
  const double gflops = rate(row->flops, row->seconds);
  bsm_json_double(json, "ms", row->seconds * 1e3);
  bsm_json_double(json, "gflops_per_s", gflops);
  if (peak > 0 || row->least > 0) {
    bsm_json_double(json, "peak_share", share_of(row, peak));
  }
  bsm_json_double(json, "gb_per_s", rate(row->bytes, row->seconds));
}

void bsm_step_row_heading(void) {
  puts(
      "      ms  share  GFLOP/s  peak        MB   GB/s  kind              "
      "tactic                    layers");
}

/* The modules of the layers, and the line of the first: what the whole names
 * say is in the JSON. */
static bsm_status print_layers(const char *name) {
  const bsm_layer_text first = bsm_layer_text_first(name);
  const char *file = first.source.data;
  size_t length = first.source.len;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  const char *shown = bsm_layer_short_name(&arena, name);
  bsm_status status = shown ? BSM_OK : BSM_FAIL_OOM();
  fputs(shown ? shown : "", stdout);
  for (size_t i = 0; i < first.source.len; i++) {
    if (first.source.data[i] != '/') continue;
    file = first.source.data + i + 1;
    length = first.source.len - i - 1;
  }
  if (length) printf("  (%.*s)", (int)length, file);
  putchar('\n');
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_step_row_print(const bsm_step_row *row, double total,
                              double peak) {
  const double gflops = rate(row->flops, row->seconds);
  if (row->seconds > 0) {
    printf("%8.4f %5.1f%% ", row->seconds * 1e3,
           total > 0 ? 100 * row->seconds / total : 0.0);
  } else {
    printf("%8s %6s ", "-", "-");
  }
  if (gflops > 0) {
    printf("%8.1f ", gflops);
  } else {
    printf("%8s ", "-");
  }
  if (share_of(row, peak) > 0) {
    printf("%4.0f%% ", 100 * share_of(row, peak));
  } else {
    printf("%5s ", "-");
  }
  printf("%9.3f ", 1e-6 * row->bytes);
  if (row->seconds > 0) {
    printf("%6.1f", rate(row->bytes, row->seconds));
  } else {
    printf("%6s", "-");
  }
  printf("  %-16s  %-24s  ", row->kind, row->tactic);
  return print_layers(row->name);
}

/* ---- as an engine was built ---- */

static const char *metadata(const bsm_engine *engine, const char *wanted) {
  const char *key, *value;
  for (size_t i = 0; bsm_engine_metadata_at(engine, i, &key, &value); i++) {
    if (strcmp(key, wanted) == 0) return value;
  }
  return NULL;
}

/* The row of a step, and how many other tactics were timed. */
static bsm_status built_row(const bsm_engine *engine, size_t index,
                            bsm_step_row *row, size_t *trials) {
  bsm_step_info step = BSM_STEP_INFO_INIT;
  const bsm_gpu_roofline *roofline =
      bsm_gpu_roofline_of(metadata(engine, "builder.target"));
  BSM_TRY(bsm_engine_step(engine, index, &step));
  *row = (bsm_step_row){.name = step.name,
                        .kind = step.kind,
                        .tactic = step.tactic,
                        .flops = step.flops,
                        .bytes = step.bytes};
  if (roofline && step.space == BSM_SPACE_DEVICE) {
    row->least =
        bsm_gpu_least_seconds(roofline, step.precision, step.flops, step.bytes);
  }
  *trials = step.trial_count;
  for (size_t i = 0; i < step.trial_count; i++) {
    bsm_step_trial trial = BSM_STEP_TRIAL_INIT;
    BSM_TRY(bsm_engine_step_trial(engine, index, i, &trial));
    if (strcmp(trial.tactic, step.tactic) == 0) row->seconds = trial.seconds;
  }
  return BSM_OK;
}

/* "cpu:ISA,threads=N,..." */
static bool parse_cpu(const char *target, uint32_t *isa, long *threads) {
  char name[16] = {0};
  const char *count = strstr(target, ",threads=");
  if (strncmp(target, "cpu:", 4) != 0 || !count) return false;
  const size_t length = strcspn(target + 4, ",");
  if (length >= sizeof(name)) return false;
  memcpy(name, target + 4, length);
  *threads = strtol(count + strlen(",threads="), NULL, 10);
  return bsm_isa_parse(name, isa);
}

/* The peak of this machine with the instruction set and threads that the engine
 * was built for; 0 when it lacks them. */
static bsm_status built_peak(const bsm_engine *engine, double *peak) {
  const char *target = metadata(engine, "builder.target");
  uint32_t mask;
  long count;
  *peak = 0;
  if (!target || !parse_cpu(target, &mask, &count)) return BSM_OK;
  if ((mask & ~bsm_isa_detect()) || count < 1 || count > bsm_available_cpus()) {
    return BSM_OK;
  }
  return bsm_measure_peak(mask ? mask : BSM_CONTEXT_ISA_SCALAR, (int)count,
                          peak);
}

/* The time of all steps, and whether any is known. */
static bsm_status built_total(const bsm_engine *engine, double *total) {
  *total = 0;
  for (size_t i = 0; i < bsm_engine_step_count(engine); i++) {
    bsm_step_row row;
    size_t trials;
    BSM_TRY(built_row(engine, i, &row, &trials));
    *total += row.seconds;
  }
  return BSM_OK;
}

static bsm_status print_others(const bsm_engine *engine, size_t step,
                               const char *tactic) {
  printf("%52stried:", "");
  for (size_t i = 0;; i++) {
    bsm_step_info info = BSM_STEP_INFO_INIT;
    bsm_step_trial trial = BSM_STEP_TRIAL_INIT;
    BSM_TRY(bsm_engine_step(engine, step, &info));
    if (i == info.trial_count) break;
    BSM_TRY(bsm_engine_step_trial(engine, step, i, &trial));
    if (strcmp(trial.tactic, tactic) == 0) continue;
    printf(" %s %.4f", trial.tactic, trial.seconds * 1e3);
  }
  putchar('\n');
  return BSM_OK;
}

static void print_roofline(const char *target) {
  const bsm_gpu_roofline *r = bsm_gpu_roofline_of(target);
  if (!r) return;
  printf(
      "(shares of what one %s could do with data from memory: %.0f TFLOP/s of "
      "16 bits, %.0f of tf32, %.1f of float, %.0f GB/s)\n",
      r->name, r->narrow, r->tf32, r->fp32, r->gigabytes);
}

bsm_status bsm_print_built_steps(bsm_cli *cli, const bsm_engine *engine) {
  double total, peak = 0;
  (void)cli;
  BSM_TRY(built_total(engine, &total));
  if (total > 0) BSM_TRY(built_peak(engine, &peak));
  puts(total > 0 ? "steps as timed when the engine was built:"
                 : "steps (not timed when the engine was built):");
  if (peak > 0) printf("(shares of this machine's peak, %.1f GFLOP/s)\n", peak);
  print_roofline(metadata(engine, "builder.target"));
  bsm_step_row_heading();
  for (size_t i = 0; i < bsm_engine_step_count(engine); i++) {
    bsm_step_row row;
    size_t trials;
    BSM_TRY(built_row(engine, i, &row, &trials));
    BSM_TRY(bsm_step_row_print(&row, total, peak));
    if (trials > 1) BSM_TRY(print_others(engine, i, row.tactic));
  }
  return BSM_OK;
}

static bsm_status json_trials(const bsm_engine *engine, size_t step,
                              size_t count, bsm_json *json) {
  bsm_json_open(json, "tried", '[');
  for (size_t i = 0; i < count; i++) {
    bsm_step_trial trial = BSM_STEP_TRIAL_INIT;
    BSM_TRY(bsm_engine_step_trial(engine, step, i, &trial));
    bsm_json_open(json, NULL, '{');
    bsm_json_string(json, "tactic", trial.tactic);
    bsm_json_double(json, "ms", trial.seconds * 1e3);
    bsm_json_close(json, '}');
  }
  bsm_json_close(json, ']');
  return BSM_OK;
}

bsm_status bsm_json_built_steps(bsm_cli *cli, const bsm_engine *engine,
                                bsm_json *json) {
  double total, peak = 0;
  BSM_TRY(built_total(engine, &total));
  if (cli->plan && total > 0) BSM_TRY(built_peak(engine, &peak));
  if (peak > 0) bsm_json_double(json, "peak_gflops_per_s", peak);
  bsm_json_open(json, "steps", '[');
  for (size_t i = 0; i < bsm_engine_step_count(engine); i++) {
    bsm_step_row row;
    size_t trials;
    BSM_TRY(built_row(engine, i, &row, &trials));
    bsm_json_open(json, NULL, '{');
    bsm_step_row_json(json, &row, peak);
    if (trials) BSM_TRY(json_trials(engine, i, trials, json));
    bsm_json_close(json, '}');
  }
  bsm_json_close(json, ']');
  return BSM_OK;
}
