/* SPDX-License-Identifier: Apache-2.0 */
/* Finds slow steps before a model does: times steps of every kind over shapes,
 * layouts, axes, groups and dtypes (sweep_cases.h), and prints them sorted by
 * the share that they reach of what bounds them.
 *
 *   bench_sweep [--isa NAME] [--threads N] [--filter TEXT[|TEXT...]]
 *               [--seconds S] [--below PERCENT] [--kind NAME] [--dtype NAME]
 *
 * The bound of a step is its multiply-adds at the peak that a loop of
 * independent ones reaches on this machine with the same instructions, or its
 * bytes at the bandwidth of copying as much memory, whichever takes longer. A
 * function such as a sine counts as one operation, so that steps of costly
 * functions stay far from the bound for a reason; so do steps that do work
 * which is not counted: sorting, comparing, looking up.
 *
 * A line has the share in percent, the time in microseconds, GFLOP/s, GB/s, the
 * kind, dtype and case, and behind "|" the fastest tactic. --below prints only
 * lines below a share; a summary of each kind follows, with how many cases
 * below a quarter have no reason for that, and the reasons (sweep_reasons.h)
 * with how many cases each has. --filter takes cases whose kind, dtype and text
 * hold one of the texts. The time is the shortest of many runs; with one thread
 * it is the thread's CPU time. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aten/tensor.h"
#include "backend/device.h"
#include "base/fma_peak.h"
#include "base/isa.h"
#include "builder/target.h"
#include "engine/plan_work.h"

#include "bench/one_step.h"
#include "bench/sweep_cases.h"
#include "bench/sweep_reasons.h"

#define SIZES 40 /* powers of two of bytes */
#define QUARTER 25.0
#define REASONS ((int)(sizeof(sweep_reasons) / sizeof(sweep_reasons[0])))

typedef struct result {
  bsm_step_kind kind;
  bsm_dtype dtype;
  double share, seconds, flops, bytes;
  char name[96], tactic[64];
} result;

struct sweep {
  uint32_t isa;
  int threads;
  const char *filter;
  const char *kind, *dtype;
  double below;
  one_step_how how;
  const bsm_target *target;
  bsm_thread_pool *pool;
  double peak;
  double bandwidth[SIZES]; /* by the power of two; 0: not measured */
  result *results;
  size_t count, room;
  int failures;
};

static const bsm_target *sweep_target(const sweep *w) {
  return w->target;
}

/* ---- bounds ---- */

typedef struct copying {
  uint8_t *from, *to;
  size_t bytes; /* of a task */
} copying;

static void copy_task(void *arg, size_t index) {
  const copying *c = arg;
  memcpy(c->to + index * c->bytes, c->from + index * c->bytes, c->bytes);
}

/* Bytes a second, read and written, of copying where both take `bytes`. */
static double measure_bandwidth(const sweep *w, size_t bytes) {
  const size_t part = bytes / 2 / (size_t)w->threads / 64 * 64 + 64;
  const size_t all = part * (size_t)w->threads;
  copying c = {one_step_allocate(all), one_step_allocate(all), part};
  double best = 1e9, end = one_step_now(w->how.clock) + 0.02;
  memset(c.from, 1, all);
  memset(c.to, 1, all);
  do {
    const double start = one_step_now(w->how.clock);
    for (int i = 0; i < 4; i++) {
      bsm_parallel_for(w->pool, (size_t)w->threads, copy_task, &c);
    }
    const double time = (one_step_now(w->how.clock) - start) / 4;
    if (time < best) best = time;
  } while (one_step_now(w->how.clock) < end);
  free(c.from);
  free(c.to);
  return 2.0 * (double)all / best;
}

static double bandwidth_of(sweep *w, double bytes) {
  int power = 12;
  while (power < SIZES - 1 && ldexp(1.0, power) < bytes) power++;
  double *b = &w->bandwidth[power];
  if (*b == 0) *b = measure_bandwidth(w, (size_t)1 << power);
  return *b;
}

/* Whether the multiply-adds are those that the peak counts; other kinds have
 * them too, but beside work that is not counted. */
static bool is_product(bsm_step_kind kind) {
  switch (kind) {
    case BSM_STEP_CONVOLUTION:
    case BSM_STEP_CONVOLUTION_CHAIN:
    case BSM_STEP_DECONVOLUTION:
    case BSM_STEP_MATRIX_MULTIPLY:
    case BSM_STEP_ATTENTION:
    case BSM_STEP_RECURRENT:
    case BSM_STEP_POOLING:
      return true;
    default:
      return false;
  }
}

/* Seconds that the step takes at least. */
static double bound_of(sweep *w, const one_step *s, const bsm_work *work) {
  const double size = (double)bsm_dtype_size(s->tensors[0].dtype);
  const double peak = w->peak * 1e9 * 4.0 / (size < 4.0 ? 4.0 : size);
  const double moves = work->bytes / bandwidth_of(w, work->bytes);
  const double sums = is_product(s->step.kind) ? work->flops / peak : 0.0;
  return moves > sums ? moves : sums;
}

/* ---- cases ---- */

/* Whether the text holds one of the texts that `|` separates. */
static bool is_wanted(const char *filter, const char *text) {
  for (const char *f = filter; f; f += *f == '|') {
    const size_t length = strcspn(f, "|");
    for (const char *at = text; *at; at++) {
      if (strncmp(at, f, length) == 0) return true;
    }
    f += length;
    if (!*f) return false;
  }
  return true;
}

/* Times every tactic; the fastest one counts, as for the builder. */
static bsm_status time_step(sweep *w, one_step *s, result *r) {
  const char *names[BSM_MAX_TACTICS];
  const bsm_target_ops *ops = w->target->ops;
  const size_t count = ops->tactics(w->target, &s->plan, &s->step, names);
  r->seconds = 1e9;
  for (size_t i = 0; i < count; i++) {
    double seconds;
    char tactic[64];
    BSM_TRY(one_step_time(s, &w->how, names[i], &seconds, tactic));
    if (seconds >= r->seconds) continue;
    r->seconds = seconds;
    memcpy(r->tactic, tactic, sizeof(tactic));
  }
  return BSM_OK;
}

static result *new_result(sweep *w) {
  if (w->count == w->room) {
    w->room = w->room * 2 + 256;
    w->results = realloc(w->results, w->room * sizeof(*w->results));
    if (!w->results) abort();
  }
  result *r = &w->results[w->count];
  memset(r, 0, sizeof(*r));
  return r;
}

static void measure(sweep *w, one_step *s, result *r) {
  const bsm_work work = bsm_step_work(&s->plan, &s->step);
  r->flops = work.flops;
  r->bytes = work.bytes;
  bsm_status status = time_step(w, s, r);
  if (status) {
    fprintf(stderr, "%s %s: %s\n", bsm_step_kind_name(r->kind), r->name,
            bsm_status_message(status));
    bsm_status_free(status);
    w->failures++;
    return;
  }
  r->share = 100.0 * bound_of(w, s, &work) / r->seconds;
  w->count++;
}

static void sweep_take(sweep *w, one_step *s, const char *format, ...) {
  const bsm_device_ops *ops = w->how.stream->device->ops;
  result *r = new_result(w);
  char text[192];
  va_list args;
  va_start(args, format);
  vsnprintf(r->name, sizeof(r->name), format, args);
  va_end(args);
  r->kind = s->step.kind;
  r->dtype = s->tensors[0].dtype;
  const char *dtype = bsm_dtype_name(r->dtype);
  snprintf(text, sizeof(text), "%s %s %s", bsm_step_kind_name(r->kind), dtype,
           r->name);
  if (is_wanted(w->filter, text) &&
      (!w->dtype || strcmp(w->dtype, dtype) == 0)) {
    bsm_status refusal = ops->check(&s->plan, &s->step);
    if (!refusal) measure(w, s, r);
    bsm_status_free(refusal);
  }
  one_step_free(s);
}

/* ---- report ---- */

static int by_share(const void *a, const void *b) {
  const result *p = a, *q = b;
  return p->share < q->share ? -1 : p->share > q->share;
}

static void print_result(const result *r) {
  printf("%6.1f %10.2f %8.2f %7.2f  %s %s %s | %s\n", r->share,
         r->seconds * 1e6, r->flops / r->seconds * 1e-9,
         r->bytes / r->seconds * 1e-9, bsm_step_kind_name(r->kind),
         bsm_dtype_name(r->dtype), r->name, r->tactic);
}

/* Why a result is below a quarter of its bound: the number of the reason, or
 * -1. */
static int reason_of(const result *r) {
  char text[192];
  snprintf(text, sizeof(text), "%s %s | %s", bsm_dtype_name(r->dtype), r->name,
           r->tactic);
  for (int i = 0; i < REASONS; i++) {
    const sweep_reason *reason = &sweep_reasons[i];
    if (reason->kind == r->kind &&
        (!*reason->holds || is_wanted(reason->holds, text))) {
      return r->share < reason->least ? -1 : i;
    }
  }
  return -1;
}

/* The reasons of a kind, with how many cases below a quarter have each. */
static void print_reasons(const sweep *w) {
  size_t counts[REASONS] = {0};
  for (size_t i = 0; i < w->count && w->results[i].share < QUARTER; i++) {
    const int reason = reason_of(&w->results[i]);
    if (reason >= 0) counts[reason]++;
  }
  for (int i = 0; i < REASONS; i++) {
    if (!counts[i]) continue;
    printf("%-18s %6zu  %s%s%s\n", bsm_step_kind_name(sweep_reasons[i].kind),
           counts[i], sweep_reasons[i].holds,
           *sweep_reasons[i].holds ? ": " : "", sweep_reasons[i].reason);
  }
}

static void print_summary(const sweep *w) {
  printf("%-18s %6s %6s %6s %9s %8s %8s\n", "kind", "cases", "< 10 %", "< 25 %",
         "no reason", "worst", "median");
  for (int kind = 0; kind < BSM_STEP_KIND_END; kind++) {
    size_t cases = 0, tenth = 0, quarter = 0, open = 0, at = 0;
    double worst = 0, median = 0;
    for (size_t i = 0; i < w->count; i++) {
      const result *r = &w->results[i];
      if ((int)r->kind != kind) continue;
      if (cases == 0) worst = r->share;
      cases++;
      tenth += r->share < 10.0;
      quarter += r->share < QUARTER;
      open += r->share < QUARTER && reason_of(r) < 0;
    }
    for (size_t i = 0; i < w->count; i++) { /* they are sorted */
      if ((int)w->results[i].kind != kind) continue;
      if (at++ == cases / 2) median = w->results[i].share;
    }
    if (!cases) continue;
    printf("%-18s %6zu %6zu %6zu %9zu %8.1f %8.1f\n",
           bsm_step_kind_name((bsm_step_kind)kind), cases, tenth, quarter, open,
           worst, median);
  }
  print_reasons(w);
}

/* ---- the program ---- */

static int usage(void) {
  fprintf(stderr,
          "usage: bench_sweep [--isa NAME] [--threads N] [--filter TEXT] "
          "[--seconds S] [--below PERCENT] [--kind NAME] [--dtype NAME]\n");
  return 2;
}

static bool parse(sweep *w, int argc, char **argv) {
  for (int i = 1; i < argc; i += 2) {
    const char *name = argv[i], *value = argv[i + 1];
    if (!value) return false;
    if (strcmp(name, "--isa") == 0) {
      if (!bsm_isa_parse(value, &w->isa)) return false;
      w->isa &= bsm_isa_detect();
    } else if (strcmp(name, "--threads") == 0) {
      w->threads = atoi(value);
    } else if (strcmp(name, "--filter") == 0) {
      w->filter = value;
    } else if (strcmp(name, "--kind") == 0) {
      w->kind = value;
    } else if (strcmp(name, "--dtype") == 0) {
      w->dtype = value;
    } else if (strcmp(name, "--seconds") == 0) {
      w->how.seconds = atof(value);
    } else if (strcmp(name, "--below") == 0) {
      w->below = atof(value);
    } else {
      return false;
    }
  }
  return w->threads >= 1 && w->threads <= 256;
}

static bsm_status open_stream(sweep *w, bsm_arena *arena) {
  const bsm_target_request request = {.threads = w->threads, .isa = w->isa};
  const bsm_device_options device_options = {0};
  const bsm_device_ops *ops;
  bsm_device *device;
  BSM_TRY(bsm_target_parse(&request, arena, &w->target));
  BSM_TRY(bsm_thread_pool_create(w->threads, NULL, &w->pool));
  const bsm_stream_options options = {
      .pool = w->pool, .isa = w->isa, .every_thread = true};
  BSM_TRY(bsm_device_find(bsm_str_of("cpu"), &ops));
  BSM_TRY(ops->open(&device_options, &device));
  bsm_status status = ops->stream_create(device, &options, &w->how.stream);
  if (status) ops->close(device);
  return status;
}

int main(int argc, char **argv) {
  sweep w = {.isa = bsm_isa_detect(),
             .threads = 1,
             .below = 1e9,
             .how = {.clock = CLOCK_THREAD_CPUTIME_ID, .seconds = 0.002}};
  bsm_arena arena;
  if (!parse(&w, argc, argv)) return usage();
  if (w.threads > 1) w.how.clock = CLOCK_MONOTONIC;
  bsm_arena_init(&arena, NULL);
  bsm_status status = open_stream(&w, &arena);
  if (status) {
    fprintf(stderr, "%s\n", bsm_status_message(status));
    bsm_status_free(status);
    bsm_arena_destroy(&arena);
    return 1;
  }
  w.peak = bsm_measure_fma_peak(w.isa, w.pool, 0.3);
  for (size_t i = 0; i < SWEEP_KINDS; i++) {
    const char *name = bsm_step_kind_name(sweep_kinds[i].kind);
    if (!w.kind || strcmp(w.kind, name) == 0) sweep_kinds[i].cases(&w);
  }
  if (w.count) qsort(w.results, w.count, sizeof(*w.results), by_share);
  printf("%s, %d threads, peak %.1f GFLOP/s\n", bsm_isa_name(w.isa), w.threads,
         w.peak);
  for (size_t i = 0; i < w.count && w.results[i].share < w.below; i++) {
    print_result(&w.results[i]);
  }
  print_summary(&w);
  bsm_device *device = w.how.stream->device;
  device->ops->stream_destroy(w.how.stream);
  device->ops->close(device);
  bsm_thread_pool_destroy(w.pool);
  bsm_arena_destroy(&arena);
  free(w.results);
  return w.failures != 0;
}
