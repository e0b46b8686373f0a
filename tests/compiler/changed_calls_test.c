/* SPDX-License-Identifier: Apache-2.0 */
/* The reference library's suite with its calls changed at random: other dtypes,
 * dims, numbers, tensors that are left out or given. What the reference library
 * takes then becomes an engine, which has to give results of the same form with
 * the same values: converters of rare arguments are wrong where nobody has
 * written a call down.
 *
 *   changed_calls_test [SAMPLE[/FIRST] [TURNS [SEED [NAME]]]]
 *
 * A sample of the calls, one in eight, is changed (tests/sample.h), each TURNS
 * times; NAME: those alone whose operators have it in their names. */
#include "tests/compiler/change_call.h"
#include "tests/conversion/op_engine.h"
#include "tests/sample.h"

/* Calls for which a fixture is used: its arena keeps all of their graphs. */
enum { CALLS_OF_FIXTURE = 400 };
#define MAX_TENSOR_BYTES ((size_t)1 << 20)

static test_sample sample;
static unsigned long turns = 1;
static uint64_t seed = 1;
static const char *only_name;

typedef struct counts {
  size_t right, raised, refused, wrong;
} counts;

/* What the reference library gives, with data. */
static bsm_status ask_reference(fixture *f, op_case *oc) {
  bsm_op_ctx cx = {.arena = &f->arena, .max_tensor_bytes = MAX_TENSOR_BYTES};
  const bsm_aten_op *op = bsm_aten_find(f->aten, oc->name);
  bsm_ivalue args[OP_CASE_MAX];
  for (size_t i = 0; i < oc->arg_count; i++) {
    BSM_TRY(row_major(f, &oc->args[i], &args[i]));
  }
  return bsm_aten_call(&cx, op, args, oc->arg_count, oc->outs, oc->out_count);
}

/* Converts, builds and runs; *refused: it takes the data to know shapes. */
static bsm_status run_engine(fixture *f, const op_case *oc, bool only_first,
                             bool *refused) {
  call c = {.outputs = oc->out_count, .only_first = only_first};
  bsm_plan *plan;
  bsm_arena arena;
  BSM_TRY(make_graph(f, oc, &c));
  bsm_arena_init(&arena, NULL);
  bsm_status status = op_plan(f, &c, test_target(1), &arena, refused, &plan);
  if (!status) status = op_run_plan(f, oc, &c, plan, &arena);
  bsm_arena_destroy(&arena);
  return status;
}

static void print_wrong(const op_case *oc, const bsm_status status) {
  print_error("%.*s(", (int)oc->name.len, oc->name.data);
  for (size_t i = 0; i < oc->arg_count; i++) change_print(&oc->args[i]);
  print_error("): %s\n", bsm_status_message(status));
}

static void try_changed(fixture *f, const op_case *given, change_random *r,
                        counts *n) {
  op_case oc = *given;
  bool refused = false;
  const bsm_schema *schema;
  assert_ok(bsm_schema_table_find(f->cx->schemas, oc.name, &schema));
  if (!schema || schema->arg_count < oc.arg_count) return;
  assert_ok(change_call(&f->arena, schema, oc.args, oc.arg_count, r));
  bsm_status status = ask_reference(f, &oc);
  if (status || op_count_tensors(&oc) < oc.out_count ||
      change_is_too_large(&oc)) {
    n->raised++;
    bsm_status_free(status);
    return;
  }
  status = run_engine(f, &oc, change_below(r, 2) == 0, &refused);
  if (!status) {
    n->right++;
  } else if (refused) {
    n->refused++;
  } else {
    n->wrong++;
    print_wrong(&oc, status);
  }
  bsm_status_free(status);
}

/* Takes what changes with the strides, or gives memory as it is; systems that
 * are singular when they are changed, which any vector solves; and quotients by
 * a scale that lie between two integers when they are. */
static bool is_left_out(const fixture *f, const op_case *oc) {
  static const char *const names[] = {
      "aten::as_strided",   "aten::empty",        "aten::new_empty",
      "aten::resize",       "aten::linalg_solve", "aten::_reshape_alias",
      "aten::fake_quantize"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (bsm_str_starts_with(oc->name, bsm_str_of(names[i]))) return true;
  }
  if (only_name &&
      !memmem(oc->name.data, oc->name.len, only_name, strlen(only_name))) {
    return true;
  }
  return op_case_is_quantized(oc) || oc->has_seed ||
         !op_computes_tensors(f, oc) || op_count_tensors(oc) < oc->out_count;
}

static void test_suite(void **state) {
  counts n = {0};
  op_case_reader reader;
  bsm_arena cases;
  op_case oc;
  change_random r = {seed};
  unsigned long calls = 0;
  fixture *f = *state;
  bsm_arena_init(&cases, NULL);
  assert_true(op_cases_open(&reader));
  while (op_cases_next(&reader, &cases, &oc)) {
    if (is_left_out(f, &oc) || !test_sample_takes(&sample)) continue;
    for (unsigned long i = 0; i < turns; i++) {
      if (++calls % CALLS_OF_FIXTURE == 0) {
        fixture_teardown(state);
        fixture_setup(state);
        f = *state;
      }
      f->logger.level = BSM_LOG_LEVEL_ERROR;
      try_changed(f, &oc, &r, &n);
    }
  }
  op_cases_close(&reader);
  bsm_arena_destroy(&cases);
  print_message(
      "%zu changed calls right, %zu that the library refuses, %zu whose shapes "
      "data decides, %zu wrong\n",
      n.right, n.raised, n.refused, n.wrong);
  test_sample_tell(&sample);
  assert_true(sample.late || only_name || n.right > calls / 8);
  assert_int_equal(n.wrong, 0);
}

static bool read_arguments(int argc, char **argv) {
  if (!test_sample_init(&sample, argc > 1 ? argv[1] : "8")) return false;
  if (argc > 2) turns = strtoul(argv[2], NULL, 10);
  if (argc > 3) seed = strtoull(argv[3], NULL, 10);
  if (argc > 4) only_name = argv[4];
  return argc <= 5 && turns > 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_suite, fixture_setup,
                                      fixture_teardown),
  };
  if (!read_arguments(argc, argv)) {
    fprintf(stderr, "usage: %s [SAMPLE[/FIRST] [TURNS [SEED [NAME]]]]\n",
            argv[0]);
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
