/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs against PyTorch: each method of data/programs/programs.ts,
 * with conditions and loops on data, lists, dicts, views and in-place writes,
 * is compiled for fixed shapes and for a range of them, and run on all its
 * inputs. make_programs.py, make_aliasing.py and make_bounded.py there make
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bessemer/bessemer.h"
#include "tests/sample.h"
#include "torchscript/zip.h"

enum { MAX_RUNS = 8, MAX_REPORTS = 30 };

static test_sample sample;

typedef struct reader {
  const uint8_t *data;
  size_t left;
} reader;

/* One call of a method, and what PyTorch answers. */
typedef struct one_run {
  bsm_array inputs[3]; /* x, y, n */
  bool raises;
  bsm_array results[3];
} one_run;

static const void *take(reader *r, size_t size) {
  const void *p = r->data;
  assert_true(r->left >= size);
  r->data += size;
  r->left -= size;
  return p;
}

static int64_t number(reader *r) {
  int64_t v;
  memcpy(&v, take(r, 8), 8);
  return v;
}

static bsm_array read_array(reader *r, bsm_arena *arena) {
  bsm_array a = {.dtype = (bsm_dtype)number(r)};
  size_t bytes = bsm_dtype_size(a.dtype);
  a.dims.rank = (int32_t)number(r);
  for (int32_t i = 0; i < a.dims.rank; i++) {
    a.dims.d[i] = number(r);
    bytes *= (size_t)a.dims.d[i];
  }
  a.data = bsm_arena_alloc(arena, bytes + 1, 64);
  assert_non_null(a.data);
  memcpy(a.data, take(r, bytes), bytes);
  return a;
}

static bsm_array read_int(reader *r, bsm_arena *arena) {
  bsm_array a = {.dtype = BSM_DTYPE_INT64};
  a.data = bsm_arena_alloc(arena, 8, 8);
  assert_non_null(a.data);
  memcpy(a.data, take(r, 8), 8);
  return a;
}

static void read_run(reader *r, bsm_arena *arena, one_run *out) {
  out->inputs[0] = read_array(r, arena);
  out->inputs[1] = read_array(r, arena);
  out->inputs[2] = read_int(r, arena);
  out->raises = number(r) != 0;
  if (out->raises) return;
  out->results[0] = read_array(r, arena);
  out->results[1] = read_int(r, arena);
  out->results[2] = read_array(r, arena);
}

/* NULL when equal, else what differs. */
static const char *compare(const bsm_array *got, const bsm_array *want) {
  static char text[160];
  int64_t n = 1;
  bool same = got->dtype == want->dtype && got->dims.rank == want->dims.rank;
  for (int32_t i = 0; same && i < want->dims.rank; i++) {
    same = got->dims.d[i] == want->dims.d[i];
    n *= want->dims.d[i];
  }
  if (!same) {
    snprintf(text, sizeof text, "%s %d dims, not %s %d",
             bsm_dtype_name(got->dtype), (int)got->dims.rank,
             bsm_dtype_name(want->dtype), (int)want->dims.rank);
    return text;
  }
  if (want->dtype == BSM_DTYPE_INT64) {
    const int64_t *a = got->data, *b = want->data;
    snprintf(text, sizeof text, "%lld, not %lld", (long long)*a, (long long)*b);
    return *a == *b ? NULL : text;
  }
  const float *a = got->data, *b = want->data;
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(b[i]));
  for (int64_t i = 0; i < n; i++) {
    if (fabs((double)a[i] - b[i]) > 1e-5 * largest + 1e-6) {
      snprintf(text, sizeof text, "element %lld is %.7g, not %.7g",
               (long long)i, a[i], b[i]);
      return text;
    }
  }
  return NULL;
}

static int64_t rows_of(const one_run *run) {
  return run->inputs[0].dims.d[0];
}

/* Compiles a method for rows from `low` to `high`. */
static bsm_status compile(bsm_module *module, const char *name, int64_t low,
                          int64_t high, bsm_engine **out) {
  bsm_input_spec specs[3] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT,
                             BSM_INPUT_SPEC_INIT};
  for (int i = 0; i < 2; i++) {
    specs[i].rank = 2;
    specs[i].min[0] = low;
    specs[i].opt[0] = low;
    specs[i].max[0] = high;
    specs[i].min[1] = specs[i].opt[1] = specs[i].max[1] = 3;
  }
  specs[2].dtype = BSM_DTYPE_INT64;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.method = name;
  options.inputs = specs;
  options.input_count = 3;
  options.no_timing = true;
  options.threads = 1;
  return bsm_compile(module, &options, out);
}

/* Runs it and compares; NULL when all is as it should be. */
static const char *check_run(bsm_context *context, const one_run *run) {
  static char text[600];
  bsm_status st = bsm_context_run_keep(context, run->inputs, 3);
  if (run->raises) {
    bsm_status_free(st);
    return st ? NULL : "PyTorch raises, this returned";
  }
  for (size_t i = 0; i < 3 && !st; i++) {
    bsm_array got;
    st = bsm_context_output(context, i, &got);
    if (st) break;
    const char *problem = compare(&got, &run->results[i]);
    if (problem) {
      snprintf(text, sizeof text, "result %zu: %s", i, problem);
      return text;
    }
  }
  if (!st) return NULL;
  snprintf(text, sizeof text, "%s", bsm_status_message(st));
  bsm_status_free(st);
  return text;
}

/* The runs whose rows are in the range, on one engine. */
static bool check_engine(bsm_module *module, const char *name, int64_t low,
                         int64_t high, const one_run *runs, size_t count,
                         bool report) {
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  const char *problem = NULL;
  bsm_status st = compile(module, name, low, high, &engine);
  if (!st) st = bsm_context_create(engine, &options, &context);
  for (size_t i = 0; i < count && !st && !problem; i++) {
    if (rows_of(&runs[i]) < low || rows_of(&runs[i]) > high) continue;
    problem = check_run(context, &runs[i]);
  }
  if (report && (st || problem)) {
    print_error("%s, rows %lld to %lld: %.500s\n", name, (long long)low,
                (long long)high, st ? bsm_status_message(st) : problem);
  }
  const bool good = !st && !problem;
  bsm_status_free(st);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return good;
}

/* All methods of an archive; there must be so many at least. They are compiled
 * for `fixed` shapes. */
static void check_archive(const char *path, int64_t least, int fixed) {
  bsm_file_map map;
  bsm_arena arena;
  bsm_zip zip;
  bsm_str bytes = {0};
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_entries = 100000;
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_file_map_open(path, NULL, &map));
  bsm_status st = bsm_zip_open(&arena, map.data, map.size, &limits, &zip);
  assert_null(st);
  for (size_t i = 0; i < zip.count; i++) {
    if (bsm_str_ends_with(zip.entries[i].name, BSM_STR("extra/cases.bin"))) {
      assert_null(bsm_zip_read(&zip, &arena, &zip.entries[i], true, &bytes));
    }
  }
  reader r = {(const uint8_t *)bytes.data, bytes.len};
  const int64_t count = number(&r);
  int failed = 0;
  bsm_module *module = NULL;
  for (int64_t i = 0; i < count; i++) {
    char name[64] = {0};
    one_run runs[MAX_RUNS];
    const size_t length = (size_t)number(&r);
    assert_true(length < sizeof name);
    memcpy(name, take(&r, length), length);
    const size_t n = (size_t)number(&r);
    assert_true(n <= MAX_RUNS);
    bsm_arena own;
    bsm_arena_init(&own, NULL);
    for (size_t k = 0; k < n; k++) read_run(&r, &own, &runs[k]);
    const bool taken = test_sample_takes(&sample);
    /* What methods are compiled to stays as long as the module. */
    if (i % 32 == 0) {
      bsm_module_destroy(module);
      st = bsm_module_load(path, NULL, &module);
      assert_null(st);
    }
    const bool report = failed < MAX_REPORTS;
    bool good = !taken || check_engine(module, name, 2, 4, runs, n, report);
    for (int k = 0; k < fixed && taken && good; k++) {
      good = check_engine(module, name, 2 + k, 2 + k, runs, n, report);
    }
    failed += !good;
    bsm_arena_destroy(&own);
  }
  assert_int_equal(r.left, 0);
  bsm_module_destroy(module);
  bsm_file_map_close(&map);
  bsm_arena_destroy(&arena);
  print_message("%d programs, %d failed\n", (int)count, failed);
  assert_true(count >= least);
  assert_int_equal(failed, 0);
}

static void test_programs(void **state) {
  (void)state;
  const char *given = getenv("BSM_PROGRAMS");
  check_archive(given ? given : BSM_TEST_DATA_DIR "/programs/programs.ts",
                given ? 1 : 500, 1);
}

/* Tensors, lists and dicts that several values share, written to by each. */
static void test_aliasing(void **state) {
  (void)state;
  check_archive(BSM_TEST_DATA_DIR "/programs/aliasing.ts", 200, 1);
}

/* Sizes that depend on data. */
static void test_bounded(void **state) {
  (void)state;
  check_archive(BSM_TEST_DATA_DIR "/programs/bounded.ts", 55, 3);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs),
                                     cmocka_unit_test(test_aliasing),
                                     cmocka_unit_test(test_bounded)};
  if (argc > 2 || !test_sample_init(&sample, argc > 1 ? argv[1] : NULL)) {
    fprintf(stderr, "usage: %s [SAMPLE[/FIRST]]\n", argv[0]);
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
