/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that call an op: compiled and run through the public API, with little
 * memory and in threads; and plans made by hand that lie. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test_allocator.h"
#include "bessemer/bessemer.h"
#include "engine/ivalue_bytes.h"
#include "engine/plan.h"
#include "runtime/engine/engine.h"

/* y = x squared as complex numbers, cut in two lists; no layer can do it. */
static const char ir_text[] =
    "graph(%x : Tensor):\n"
    "  %n : int = prim::Constant[value=2]()\n"
    "  %d : int = prim::Constant[value=0]()\n"
    "  %c : Tensor = aten::view_as_complex(%x) # /models/net.py:5:1\n"
    "  %s : Tensor = aten::mul(%c, %c) # /models/net.py:6:1\n"
    "  %y : Tensor = aten::view_as_real(%s)\n"
    "  return (%y, %s)\n";

enum { COUNT = 3000 }; /* complex numbers: more than a piece of an arena */

static void check_status(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static void expect(bsm_status status, bsm_code code, const char *piece) {
  assert_non_null(status);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), piece)) {
    fail_msg("'%s' expected: %s", piece, bsm_status_message(status));
  }
  bsm_status_free(status);
}

typedef struct fixture {
  bsm_engine *engine;
  float x[COUNT][2], y[COUNT][2], z[COUNT][2];
  bsm_array inputs[1], outputs[2];
} fixture;

static void compile(bsm_engine **out) {
  bsm_input_spec spec = {
      .dtype = BSM_DTYPE_FLOAT, .rank = 2, .min = {COUNT, 2}};
  bsm_module *module = NULL;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  check_status(bsm_module_load_memory(ir_text, sizeof(ir_text) - 1, "test.ir",
                                      NULL, &module));
  check_status(bsm_compile(module, &options, out));
  bsm_module_destroy(module);
}

static void set_arrays(fixture *f) {
  const bsm_dims dims = {2, {COUNT, 2}};
  f->inputs[0] = (bsm_array){f->x, BSM_DTYPE_FLOAT, dims, NULL};
  f->outputs[0] = (bsm_array){f->y, BSM_DTYPE_FLOAT, dims, NULL};
  f->outputs[1] =
      (bsm_array){f->z, BSM_DTYPE_COMPLEX_FLOAT, {1, {COUNT}}, NULL};
  for (int i = 0; i < COUNT; i++) {
    f->x[i][0] = (float)(i % 17) - 8;
    f->x[i][1] = (float)(i % 5);
  }
}

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  compile(&f->engine);
  set_arrays(f);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_engine_destroy(f->engine);
  free(f);
  return 0;
}

static void check_results(fixture *f) {
  for (int i = 0; i < COUNT; i++) {
    const float a = f->x[i][0], b = f->x[i][1];
    const float want[2] = {a * a - b * b, 2 * a * b};
    for (int k = 0; k < 2; k++) {
      assert_true(f->y[i][k] >= want[k] && f->y[i][k] <= want[k]);
      assert_true(f->z[i][k] >= want[k] && f->z[i][k] <= want[k]);
    }
  }
  memset(f->y, 0, sizeof(f->y));
  memset(f->z, 0, sizeof(f->z));
}

static bsm_context *new_context(const bsm_engine *engine,
                                test_allocator *allocator) {
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  if (allocator) options.allocator = &allocator->base;
  check_status(bsm_context_create(engine, &options, &context));
  return context;
}

static void test_steps(void **state) {
  fixture *f = *state;
  bsm_step_info step = BSM_STEP_INFO_INIT;
  bsm_binding binding = BSM_BINDING_INIT;
  char *text;
  assert_int_equal(bsm_engine_step_count(f->engine), 3);
  check_status(bsm_engine_step(f->engine, 1, &step));
  assert_string_equal(step.kind, "aten_call");
  assert_non_null(strstr(step.name, "aten::mul(%c, %c) at /models/net.py:6"));
  check_status(bsm_engine_output(f->engine, 1, &binding));
  assert_int_equal(binding.dtype, BSM_DTYPE_COMPLEX_FLOAT);
  check_status(bsm_engine_dump(f->engine, &text));
  assert_non_null(strstr(text, "aten::mul.Tensor(t1, t1)"));
  bsm_string_free(text);
}

/* A saved engine has the arguments as it was built with. */
static void test_saved(void **state) {
  fixture *f = *state;
  char path[] = "/tmp/bsm_aten_XXXXXX";
  bsm_engine *loaded;
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  check_status(bsm_engine_save(f->engine, path));
  check_status(bsm_engine_load(path, NULL, &loaded));
  unlink(path);
  bsm_context *context = new_context(loaded, NULL);
  check_status(bsm_context_run(context, f->inputs, 1, f->outputs, 2));
  check_results(f);
  bsm_context_destroy(context);
  bsm_engine_destroy(loaded);
}

static void test_memory_does_not_grow(void **state) {
  fixture *f = *state;
  test_allocator allocator;
  test_allocator_init(&allocator, INT_MAX);
  bsm_context *context = new_context(f->engine, &allocator);
  check_status(bsm_context_run(context, f->inputs, 1, f->outputs, 2));
  const int live = allocator.live;
  for (int i = 0; i < 1000; i++) {
    check_status(bsm_context_run(context, f->inputs, 1, f->outputs, 2));
    assert_int_equal(allocator.live, live);
  }
  check_results(f);
  bsm_context_destroy(context);
  assert_int_equal(allocator.live, 0);
}

/* Each allocation of a run fails once; then it runs again. */
static void test_allocations_fail(void **state) {
  fixture *f = *state;
  test_allocator allocator;
  test_allocator_init(&allocator, INT_MAX);
  bsm_context *context = new_context(f->engine, &allocator);
  int failures = 0;
  for (int n = 0;; n++) {
    allocator.fail_after = allocator.calls + n;
    bsm_status status = bsm_context_run(context, f->inputs, 1, f->outputs, 2);
    if (!status) break;
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
    failures++;
    assert_true(n < 1000);
  }
  assert_true(failures > 0);
  check_results(f);
  bsm_context_destroy(context);
}

/* And each one of making a context. */
static void test_contexts_fail(void **state) {
  fixture *f = *state;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  test_allocator allocator;
  options.threads = 1;
  for (int n = 0;; n++) {
    bsm_context *context;
    test_allocator_init(&allocator, n);
    options.allocator = &allocator.base;
    bsm_status status = bsm_context_create(f->engine, &options, &context);
    if (!status) {
      bsm_context_destroy(context);
      break;
    }
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
    assert_int_equal(allocator.live, 0);
    assert_true(n < 1000);
  }
}

static void *work(void *arg) {
  const bsm_engine *engine = arg;
  fixture *f = calloc(1, sizeof(*f));
  set_arrays(f);
  bsm_context *context = new_context(engine, NULL);
  for (int i = 0; i < 50; i++) {
    check_status(bsm_context_run(context, f->inputs, 1, f->outputs, 2));
    check_results(f);
  }
  bsm_context_destroy(context);
  free(f);
  return NULL;
}

static void test_threads(void **state) {
  fixture *f = *state;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, work, f->engine), 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

/* ---- plans made by hand ---- */

/* out = nonzero(x), of 4 floats, planned to have 2 rows. */
typedef struct hand_made {
  bsm_arena arena;
  bsm_plan *plan;
  bsm_step_params *params;
  bsm_ivalue args[4];
  size_t arg_count;
  bsm_tensor tensor;
} hand_made;

static bsm_plan_tensor tensor_of(bsm_dtype dtype, bsm_memory_place place,
                                 bsm_dims dims) {
  bsm_plan_tensor t = {
      .name = "t", .dtype = dtype, .dims = dims, .place = place};
  bsm_contiguous_strides(dims, t.strides);
  return t;
}

static void make_plan(hand_made *h, const char *op) {
  memset(h, 0, sizeof(*h));
  bsm_arena_init(&h->arena, NULL);
  bsm_plan *plan = h->plan = BSM_NEW(&h->arena, bsm_plan);
  plan->tensors = BSM_NEW_ARRAY(&h->arena, bsm_plan_tensor, 3);
  plan->tensors[0] =
      tensor_of(BSM_DTYPE_FLOAT, BSM_PLACE_INPUT, (bsm_dims){1, {4}});
  plan->tensors[1] =
      tensor_of(BSM_DTYPE_INT64, BSM_PLACE_OUTPUT, (bsm_dims){2, {2, 1}});
  plan->tensors[2] =
      tensor_of(BSM_DTYPE_FLOAT, BSM_PLACE_WORKSPACE, (bsm_dims){1, {4}});
  plan->tensor_count = 3;
  plan->workspace_size[BSM_SPACE_HOST] = 64;
  plan->inputs = BSM_NEW(&h->arena, bsm_plan_binding);
  plan->outputs = BSM_NEW(&h->arena, bsm_plan_binding);
  *plan->inputs = (bsm_plan_binding){"x", 0};
  *plan->outputs = (bsm_plan_binding){"y", 1};
  plan->input_count = plan->output_count = 1;
  plan->steps = BSM_NEW(&h->arena, bsm_plan_step);
  plan->step_count = 1;
  bsm_plan_step *step = plan->steps;
  *step = (bsm_plan_step){.kind = BSM_STEP_ATEN_CALL,
                          .name = "%y = call(%x) at net.py:3",
                          .tactic = "",
                          .input_count = 1,
                          .output_count = 1,
                          .weights = BSM_STEP_NO_WEIGHTS};
  step->inputs = BSM_NEW_ARRAY(&h->arena, uint32_t, 4);
  step->outputs = BSM_NEW_ARRAY(&h->arena, uint32_t, 4);
  step->outputs[0] = 1;
  h->params = BSM_NEW(&h->arena, bsm_step_params);
  step->params = h->params;
  int32_t *results = BSM_NEW_ARRAY(&h->arena, int32_t, 4);
  results[0] = BSM_RESULT_TENSOR;
  h->params->aten_call.op = op;
  h->params->aten_call.results = results;
  h->params->aten_call.result_count = 1;
  h->args[0] = bsm_iv_tensor(&h->tensor);
  h->arg_count = 1;
}

static bsm_status adopt(hand_made *h, bsm_engine **out) {
  bsm_text bytes;
  bsm_tensor *tensors[] = {&h->tensor};
  *out = NULL;
  if (!h->params->aten_call.args) {
    bsm_text_init(&bytes, &h->arena);
    BSM_TRY(bsm_ivalues_to_bytes(&bytes, h->args, h->arg_count, tensors, 1));
    h->params->aten_call.args = (const uint8_t *)bytes.data;
    h->params->aten_call.args_size = (uint32_t)bytes.len;
  }
  return bsm_engine_adopt(&h->arena, h->plan, NULL, NULL, out);
}

/* A result that depends on data may not fit the plan: then, and only then, the
 * run fails. */
static void test_other_shape(void **state) {
  (void)state;
  hand_made h;
  bsm_engine *engine;
  float x[4] = {0, 1, 0, 2};
  int64_t y[2];
  bsm_array in = {x, BSM_DTYPE_FLOAT, {1, {4}}, NULL};
  bsm_array out = {y, BSM_DTYPE_INT64, {2, {2, 1}}, NULL};
  make_plan(&h, "aten::nonzero");
  check_status(adopt(&h, &engine));
  bsm_context *context = new_context(engine, NULL);
  check_status(bsm_context_run(context, &in, 1, &out, 1));
  assert_true(y[0] == 1 && y[1] == 3);
  x[0] = 1;
  bsm_status status = bsm_context_run(context, &in, 1, &out, 1);
  assert_non_null(strstr(bsm_status_message(status),
                         "aten::nonzero gave int64[3, 1] where the engine was "
                         "built for int64[2, 1]"));
  assert_non_null(strstr(bsm_status_message(status), "at net.py:3"));
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* An error of the op names the node and the op. */
static void test_op_fails(void **state) {
  (void)state;
  hand_made h;
  bsm_engine *engine;
  float x[4] = {0};
  int64_t y[2];
  bsm_array in = {x, BSM_DTYPE_FLOAT, {1, {4}}, NULL};
  bsm_array out = {y, BSM_DTYPE_INT64, {2, {2, 1}}, NULL};
  make_plan(&h, "aten::squeeze.dim");
  h.args[h.arg_count++] = bsm_iv_int(5);
  check_status(adopt(&h, &engine));
  bsm_context *context = new_context(engine, NULL);
  bsm_status status = bsm_context_run(context, &in, 1, &out, 1);
  assert_non_null(status);
  assert_non_null(strstr(bsm_status_message(status), "Dimension out of range"));
  assert_non_null(strstr(bsm_status_message(status), "in aten::squeeze.dim"));
  assert_non_null(strstr(bsm_status_message(status), "%y = call(%x)"));
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void refuse(hand_made *h, bsm_code code, const char *piece) {
  bsm_engine *engine;
  expect(adopt(h, &engine), code, piece);
  assert_null(engine);
  bsm_arena_destroy(&h->arena);
}

static void test_lying_calls(void **state) {
  (void)state;
  hand_made h;
  make_plan(&h, "aten::no_such_op");
  refuse(&h, BSM_UNSUPPORTED, "no op aten::no_such_op");
  make_plan(&h, "aten::relu_");
  refuse(&h, BSM_CORRUPT, "more than compute results");
  make_plan(&h, "aten::bernoulli");
  refuse(&h, BSM_CORRUPT, "more than compute results");
  make_plan(&h, "aten::nonzero");
  h.arg_count = 0;
  refuse(&h, BSM_UNSUPPORTED, "missing argument 0");
  make_plan(&h, "aten::nonzero");
  h.arg_count = 2;
  refuse(&h, BSM_UNSUPPORTED, "2 arguments, expected 1");
  make_plan(&h, "aten::nonzero");
  h.args[0] = bsm_iv_int(7);
  refuse(&h, BSM_UNSUPPORTED, "wrong type");
  make_plan(&h, "aten::dict.str"); /* its argument may be anything */
  h.args[0] = bsm_iv_int(7);
  refuse(&h, BSM_UNSUPPORTED, "wrong type");
  make_plan(&h, "aten::list.t");
  h.args[0] = bsm_iv_int(7);
  refuse(&h, BSM_UNSUPPORTED, "wrong type");
  make_plan(&h, "aten::tensor"); /* a list of anything */
  bsm_list nothing = {0};
  h.args[0] = bsm_iv_list(&nothing);
  h.args[3] = bsm_iv_bool(false);
  h.arg_count = 4;
  refuse(&h, BSM_UNSUPPORTED, "a type that cannot be checked");
  make_plan(&h, "aten::nonzero");
  h.params->aten_call.args = (const uint8_t *)"\1\0\0\0\7\1\0\0\0\0";
  h.params->aten_call.args_size = 10;
  refuse(&h, BSM_CORRUPT, "tensor 1 of 1");
  make_plan(&h, "aten::nonzero");
  h.params->aten_call.result_count = 2;
  refuse(&h, BSM_UNSUPPORTED, "2 results asked of an op with 1");
  make_plan(&h, "aten::nonzero");
  ((int32_t *)(uintptr_t)h.params->aten_call.results)[0] = -9;
  refuse(&h, BSM_CORRUPT, "of kind -9");
  make_plan(&h, "aten::nonzero");
  ((int32_t *)(uintptr_t)h.params->aten_call.results)[0] = 3;
  refuse(&h, BSM_CORRUPT, "3 results for 1 outputs");
  make_plan(&h, "aten::dequantize.self"); /* a tensor without its scale */
  h.plan->tensors[0].dtype = BSM_DTYPE_QUINT8;
  refuse(&h, BSM_CORRUPT, "a call on quint8 tensors");
  make_plan(&h, "aten::relu"); /* an output over its input */
  h.plan->steps->inputs[0] = h.plan->steps->outputs[0] = 2;
  refuse(&h, BSM_CORRUPT, "lies where an input does");
  make_plan(&h, "aten::nonzero");
  h.plan->tensors[0].dims = (bsm_dims){3, {0, INT64_MAX / 4, 8}};
  bsm_contiguous_strides(h.plan->tensors[0].dims, h.plan->tensors[0].strides);
  refuse(&h, BSM_CORRUPT, "too large");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_steps),
      TEST(test_saved),
      TEST(test_memory_does_not_grow),
      TEST(test_allocations_fail),
      TEST(test_contexts_fail),
      TEST(test_threads),
      cmocka_unit_test(test_other_shape),
      cmocka_unit_test(test_op_fails),
      cmocka_unit_test(test_lying_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
