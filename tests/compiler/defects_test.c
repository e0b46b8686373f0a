/* SPDX-License-Identifier: Apache-2.0 */
/* What TRTorch and its successors got wrong, one test for each entry of that
 * list: the same computation here has PyTorch's dtypes, dims and numbers. The
 * methods are in tests/data/compiler/defects.ts (tests/data/make_defects.py);
 * the entry about the command line is tests/tools/cli_options_test.sh. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "bessemer/bessemer.h"
#include "tools/npy.h"

#define MAX_ARRAYS 8

typedef struct fixture {
  bsm_module *module;
  bsm_npy_file file;
} fixture;

static void check_status(bsm_status status, const char *what) {
  if (status) fail_msg("%s: %s", what, bsm_status_message(status));
}

/* Fails with this code, and a message that has `piece` in it. */
static void check_failure(bsm_status status, bsm_code code, const char *piece) {
  assert_non_null(status);
  if (!strstr(bsm_status_message(status), piece)) {
    fail_msg("'%s' is not in: %s", piece, bsm_status_message(status));
  }
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
}

static int setup(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  check_status(bsm_module_load(BSM_TEST_DATA_DIR "/compiler/defects.ts", NULL,
                               &f->module),
               "defects.ts");
  check_status(
      bsm_npy_open(BSM_TEST_DATA_DIR "/compiler/defects.npz", NULL, &f->file),
      "defects.npz");
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  bsm_module_destroy(f->module);
  bsm_npy_close(&f->file);
  free(f);
  return 0;
}

/* ---- compiling and running a method ---- */

static size_t arrays_of(const fixture *f, const char *method, const char *what,
                        const bsm_array **out) {
  char name[96];
  size_t count = 0;
  for (;; count++) {
    snprintf(name, sizeof(name), "%s.%s_%zu", method, what, count);
    const bsm_array *array = bsm_npy_find(&f->file, name);
    if (!array) return count;
    assert_true(count < MAX_ARRAYS);
    out[count] = array;
  }
}

/* The specs of a method's inputs as the file has them. */
static bsm_compile_options options_of(const fixture *f, const char *method,
                                      bsm_input_spec *specs) {
  const bsm_array *inputs[MAX_ARRAYS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.method = method;
  options.inputs = specs;
  options.input_count = arrays_of(f, method, "in", inputs);
  options.no_timing = true;
  options.threads = 1;
  for (size_t i = 0; i < options.input_count; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = inputs[i]->dtype;
    specs[i].rank = inputs[i]->dims.rank;
    memcpy(specs[i].min, inputs[i]->dims.d, sizeof(specs[i].min));
  }
  return options;
}

static bsm_status compile(const fixture *f, const char *method,
                          bsm_engine **out) {
  bsm_input_spec specs[MAX_ARRAYS];
  const bsm_compile_options options = options_of(f, method, specs);
  return bsm_compile(f->module, &options, out);
}

static size_t count_of(bsm_dims dims) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (size_t)dims.d[i];
  return count;
}

static void compare(const bsm_array *got, const bsm_array *want,
                    const char *what) {
  const size_t count = count_of(want->dims);
  if (got->dtype != want->dtype || got->dims.rank != want->dims.rank ||
      memcmp(got->dims.d, want->dims.d,
             (size_t)want->dims.rank * sizeof(int64_t)) != 0) {
    fail_msg("%s is %s%s, PyTorch's is %s%s", what, bsm_dtype_name(got->dtype),
             bsm_dims_str(got->dims), bsm_dtype_name(want->dtype),
             bsm_dims_str(want->dims));
  }
  for (size_t i = 0; i < count; i++) {
    double a, b;
    if (want->dtype == BSM_DTYPE_FLOAT) {
      a = (double)((const float *)got->data)[i];
      b = (double)((const float *)want->data)[i];
    } else if (want->dtype == BSM_DTYPE_DOUBLE) {
      a = ((const double *)got->data)[i];
      b = ((const double *)want->data)[i];
    } else {
      assert_memory_equal(got->data, want->data,
                          count * bsm_dtype_size(want->dtype));
      return;
    }
    if (!(fabs(a - b) <= 2e-6 + 2e-5 * fabs(b))) {
      fail_msg("%s: element %zu is %.9g, PyTorch has %.9g", what, i, a, b);
    }
  }
}

static void run(const fixture *f, const char *method, const bsm_engine *engine,
                uint32_t isa) {
  const bsm_array *in[MAX_ARRAYS], *want[MAX_ARRAYS];
  bsm_array inputs[MAX_ARRAYS], output;
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  const size_t input_count = arrays_of(f, method, "in", in);
  const size_t output_count = arrays_of(f, method, "out", want);
  assert_true(output_count > 0);
  assert_int_equal(bsm_engine_output_count(engine), output_count);
  options.threads = 1;
  options.isa = isa;
  for (size_t i = 0; i < input_count; i++) inputs[i] = *in[i];
  check_status(bsm_context_create(engine, &options, &context), method);
  check_status(bsm_context_run_keep(context, inputs, input_count), method);
  for (size_t i = 0; i < output_count; i++) {
    check_status(bsm_context_output(context, i, &output), method);
    compare(&output, want[i], method);
  }
  bsm_context_destroy(context);
}

/* The method agrees with PyTorch, with the best kernels and the plain ones. */
static void agrees(void **state, const char *method) {
  const fixture *f = *state;
  bsm_engine *engine = NULL;
  check_status(compile(f, method, &engine), method);
  run(f, method, engine, 0);
  run(f, method, engine, BSM_CONTEXT_ISA_SCALAR);
  bsm_engine_destroy(engine);
}

/* ---- the list, in its order ---- */

#define AGREES(name)                      \
  static void test_##name(void **state) { \
    agrees(state, #name);                 \
  }
AGREES(loop_index)
AGREES(nested_loops)
AGREES(wide_arithmetic)

/* A converter that forgets its output. */
static bsm_status forgetful(bsm_conversion_ctx *ctx, const bsm_node *node,
                            const bsm_args *args) {
  (void)ctx;
  (void)node;
  (void)args;
  return BSM_OK;
}

static void test_output_without_a_tensor_is_an_error(void **state) {
  static const bsm_conversion_pattern pattern = {
      "aten::gelu(Tensor self, *, str approximate='none') -> Tensor", forgetful,
      0};
  const fixture *f = *state;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_ARRAYS];
  bsm_compile_options options = options_of(f, "gelu_is_exact", specs);
  options.patterns = &pattern;
  options.pattern_count = 1;
  check_failure(bsm_compile(f->module, &options, &engine), BSM_INVALID_ARGUMENT,
                "did not associate it");
  assert_null(engine);
}

AGREES(split_sizes)
AGREES(unsqueeze_negative)
AGREES(select_keeps_ones)
AGREES(batch_norm_ranks)
AGREES(pooling_ranks)
AGREES(linear_ranks)
AGREES(elu_scales)
AGREES(deconvolution_output_padding)
AGREES(casts_stay)
AGREES(gelu_is_exact)
AGREES(variance_of_large_values)
AGREES(log_softmax_does_not_underflow)
AGREES(max_of_integers)
AGREES(any_is_not_a_sum)
AGREES(floor_division_rounds_down)

static void test_item_out_of_range_is_an_error(void **state) {
  bsm_engine *engine = NULL;
  check_failure(compile(*state, "item_out_of_range", &engine), BSM_OUT_OF_RANGE,
                "list index out of range");
  assert_null(engine);
}

/* Index -1 is the last row for x[i], and out of range for all others. */
static void check_negative_row(void **state, const char *method, bool counts) {
  const fixture *f = *state;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  const bsm_array *in[MAX_ARRAYS];
  int64_t index[3] = {2, -1, 0};
  agrees(state, method);
  check_status(compile(f, method, &engine), method);
  check_status(bsm_context_create(engine, NULL, &context), method);
  assert_int_equal(arrays_of(f, method, "in", in), 2);
  bsm_array inputs[2] = {*in[0], *in[1]};
  inputs[1].data = index;
  bsm_status status = bsm_context_run_keep(context, inputs, 2);
  if (counts) {
    check_status(status, method);
  } else {
    check_failure(status, BSM_OUT_OF_RANGE, "index -1");
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void test_negative_rows(void **state) {
  check_negative_row(state, "indexed_rows", true);
  check_negative_row(state, "embedded_rows", false);
  check_negative_row(state, "selected_rows", false);
  check_negative_row(state, "gathered_rows", false);
}

/* The picked tensor would have other dims, too, or not. */
static void test_dims_of_a_picked_tensor_stay(void **state) {
  bsm_engine *engine = NULL;
  check_failure(compile(*state, "dims_of_a_picked_tensor", &engine),
                BSM_UNSUPPORTED, "of one that other values may be");
  assert_null(engine);
}

/* Engines of several methods live side by side. */
static void test_methods_do_not_collide(void **state) {
  const fixture *f = *state;
  bsm_engine *first = NULL, *second = NULL;
  check_status(compile(f, "first_method", &first), "first");
  check_status(compile(f, "second_method", &second), "second");
  run(f, "first_method", first, 0);
  run(f, "second_method", second, 0);
  run(f, "first_method", first, 0);
  bsm_engine_destroy(first);
  bsm_engine_destroy(second);
}

/* Every shape, dtype and stride that the engine was not built for is refused
 * before anything runs, and says what was wanted. */
static void test_runs_check_their_arrays(void **state) {
  const fixture *f = *state;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  float a[12] = {0}, y[6] = {0};
  static const int64_t columns[] = {1, 2};
  check_status(compile(f, "two_inputs", &engine), "two_inputs");
  check_status(bsm_context_create(engine, NULL, &context), "context");
  const bsm_array good = {a, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL};
  const bsm_array out = {y, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL};
  bsm_array in[2] = {good, good};
  check_status(bsm_context_run(context, in, 2, &out, 1), "run");
  in[1].dims.d[0] = 1;
  check_failure(bsm_context_run(context, in, 2, &out, 1), BSM_INVALID_ARGUMENT,
                "b");
  in[1] = good;
  in[1].dtype = BSM_DTYPE_INT32;
  check_failure(bsm_context_run(context, in, 2, &out, 1), BSM_INVALID_ARGUMENT,
                "int32");
  in[1] = good;
  in[1].strides = columns; /* may be anything that the array's memory has */
  check_status(bsm_context_run(context, in, 2, &out, 1), "run");
  in[1] = good;
  bsm_array wrong = out;
  wrong.dims.d[1] = 2;
  check_failure(bsm_context_run(context, in, 2, &wrong, 1),
                BSM_INVALID_ARGUMENT, "output");
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* An input whose shape varies beside one whose shape is fixed: every size of
 * the range runs, and no other. */
static void test_dynamic_input_beside_a_fixed_one(void **state) {
  const fixture *f = *state;
  enum { MOST = 8, COLUMNS = 3 };
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_input_spec specs[MAX_ARRAYS];
  float a[(MOST + 1) * COLUMNS], b[COLUMNS] = {1, -2, 4};
  const bsm_compile_options options = options_of(f, "rows_and_a_row", specs);
  specs[0].min[0] = 1;
  specs[0].opt[0] = 4;
  specs[0].max[0] = MOST;
  specs[0].opt[1] = specs[0].max[1] = COLUMNS;
  check_status(bsm_compile(f->module, &options, &engine), "rows_and_a_row");
  check_status(bsm_context_create(engine, NULL, &context), "context");
  for (int i = 0; i < (MOST + 1) * COLUMNS; i++) a[i] = (float)i;
  for (int64_t rows = MOST + 1; rows >= 1; rows--) {
    float y[(MOST + 1) * COLUMNS] = {0};
    const bsm_dims dims = {2, {rows, COLUMNS}};
    const bsm_array in[2] = {{a, BSM_DTYPE_FLOAT, dims, NULL},
                             {b, BSM_DTYPE_FLOAT, {2, {1, COLUMNS}}, NULL}};
    const bsm_array out = {y, BSM_DTYPE_FLOAT, dims, NULL};
    bsm_status st = bsm_context_run(context, in, 2, &out, 1);
    if (rows > MOST) {
      check_failure(st, BSM_INVALID_ARGUMENT, "9");
      continue;
    }
    check_status(st, "run");
    for (int64_t i = 0; i < rows * COLUMNS; i++) {
      assert_true(y[i] == a[i] - 2 * b[i % COLUMNS]);
    }
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* What a block on data does stays done, also to tensors known before. */
AGREES(block_writes_to_zeros_2)
AGREES(block_writes_to_zeros_0)
AGREES(block_writes_to_zeros_like_2)
AGREES(block_writes_to_zeros_like_0)
AGREES(block_writes_to_a_buffer_2)
AGREES(block_writes_to_a_buffer_0)
AGREES(blocks_add_rows)
AGREES(numbers_from_data)
AGREES(tuples_in_a_list)

/* Which tensor another is depends on data: what is written to one of them is
 * not lost. */
AGREES(write_after_a_choice)
AGREES(parts_of_an_expand)
AGREES(families_of_types)
AGREES(either_of_two_dtypes)
AGREES(other_of_two_dtypes)

/* One value may reach an element twice. */
AGREES(fill_of_what_an_expand_repeats)
AGREES(fill_of_an_expand_by_a_number_found)

/* The dims of what a branch has made are nobody else's. */
AGREES(dims_changed_in_a_branch)

/* Running statistics are written to when the engine runs. */
AGREES(norm_in_training)

/* What PyTorch would raise in a branch is no failure of the compilation. */
AGREES(a_branch_that_would_fail)
AGREES(a_loop_that_would_fail)

static void test_a_branch_that_fails(void **state) {
  const fixture *f = *state;
  const bsm_array *in[MAX_ARRAYS];
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  check_status(compile(f, "a_branch_that_fails", &engine), "compile");
  check_status(bsm_context_create(engine, NULL, &context), "create");
  assert_int_equal(arrays_of(f, "a_branch_that_fails", "in", in), 1);
  check_failure(bsm_context_run_keep(context, in[0], 1), BSM_RAISED,
                "shape '[7, 7]' is invalid for input of size 6");
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* Each input has its own array: one tensor is never bound to all. */
static void test_inputs_are_bound_one_by_one(void **state) {
  const fixture *f = *state;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  float a[6] = {0}, y[6] = {0};
  agrees(state, "two_inputs"); /* a - 2 b: the inputs differ */
  check_status(compile(f, "two_inputs", &engine), "two_inputs");
  check_status(bsm_context_create(engine, NULL, &context), "context");
  const bsm_array in = {a, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL};
  const bsm_array out = {y, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL};
  check_failure(bsm_context_run(context, &in, 1, &out, 1), BSM_INVALID_ARGUMENT,
                "1");
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(loop_index),
      TEST(nested_loops),
      TEST(wide_arithmetic),
      TEST(output_without_a_tensor_is_an_error),
      TEST(split_sizes),
      TEST(unsqueeze_negative),
      TEST(select_keeps_ones),
      TEST(batch_norm_ranks),
      TEST(pooling_ranks),
      TEST(linear_ranks),
      TEST(elu_scales),
      TEST(deconvolution_output_padding),
      TEST(casts_stay),
      TEST(gelu_is_exact),
      TEST(variance_of_large_values),
      TEST(log_softmax_does_not_underflow),
      TEST(max_of_integers),
      TEST(any_is_not_a_sum),
      TEST(floor_division_rounds_down),
      TEST(item_out_of_range_is_an_error),
      TEST(negative_rows),
      TEST(dims_of_a_picked_tensor_stay),
      TEST(methods_do_not_collide),
      TEST(runs_check_their_arrays),
      TEST(dynamic_input_beside_a_fixed_one),
      TEST(inputs_are_bound_one_by_one),
      TEST(block_writes_to_zeros_2),
      TEST(block_writes_to_zeros_0),
      TEST(block_writes_to_zeros_like_2),
      TEST(block_writes_to_zeros_like_0),
      TEST(block_writes_to_a_buffer_2),
      TEST(block_writes_to_a_buffer_0),
      TEST(blocks_add_rows),
      TEST(numbers_from_data),
      TEST(tuples_in_a_list),
      TEST(write_after_a_choice),
      TEST(parts_of_an_expand),
      TEST(families_of_types),
      TEST(fill_of_what_an_expand_repeats),
      TEST(fill_of_an_expand_by_a_number_found),
      TEST(dims_changed_in_a_branch),
      TEST(norm_in_training),
      TEST(a_branch_that_would_fail),
      TEST(a_loop_that_would_fail),
      TEST(a_branch_that_fails),
      TEST(either_of_two_dtypes),
      TEST(other_of_two_dtypes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
