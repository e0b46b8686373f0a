/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that a run computes on the way: names, values, order, limits. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"

/* A product whose activation is fused into it, a sum over columns, and steps
 * whose tensors use the same memory one after the other. */
static const char plain[] =
    "graph(%x : Float(2, 3), %m : Float(3, 4)):\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %false : bool = prim::Constant[value=0]()\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %dims : int[] = prim::Constant[value=[1]]()\n"
    "  %p : Tensor = aten::matmul(%x, %m)\n"
    "  %r : Tensor = aten::relu(%p)\n"
    "  %s : Tensor = aten::softmax(%r, %one, %none)\n"
    "  %q : Tensor = aten::matmul(%s, %m.2)\n"
    "  %sum : Tensor = aten::sum(%q, %dims, %false, %none)\n"
    "  return (%sum)\n";

/* The shape of what is in between is known only in the run. */
static const char data_dependent[] =
    "graph(%x : Float(6)):\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %at : Tensor = aten::nonzero(%x)\n"
    "  %y : Tensor = aten::neg(%at)\n"
    "  return (%y)\n";

static void check(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static void refused(bsm_status status, bsm_code code, const char *part) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), part)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), part);
  }
  bsm_status_free(status);
}

static bsm_engine *compile(const char *text, uint64_t reference) {
  bsm_module *module;
  bsm_engine *engine;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.no_timing = true;
  options.reference = reference;
  check(bsm_module_load_memory(text, strlen(text), "m.ir", NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static bsm_context *open_context(const bsm_engine *engine, uint64_t keep) {
  bsm_context *context;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.keep_tensors = keep;
  check(bsm_context_create(engine, &options, &context));
  return context;
}

typedef struct fixture {
  float x[6], m[12];
  bsm_array inputs[2];
} fixture;

static void fill(fixture *f, float factor) {
  for (int i = 0; i < 6; i++) f->x[i] = factor * (float)(i - 2);
  for (int i = 0; i < 12; i++) f->m[i] = 0.25f * (float)(i % 5 - 2);
  f->inputs[0] =
      (bsm_array){f->x, BSM_DTYPE_FLOAT, {2, {2, 3}}, .strides = NULL};
  f->inputs[1] =
      (bsm_array){f->m, BSM_DTYPE_FLOAT, {2, {3, 4}}, .strides = NULL};
}

/* The text with the second matrix as the transposed first one. */
static const char *whole_text(void) {
  static char text[1024];
  const char *at = strstr(plain, "  %q :");
  snprintf(text, sizeof(text),
           "%.*s  %%zero : int = prim::Constant[value=0]()\n"
           "  %%m.2 : Tensor = aten::transpose(%%m, %%zero, %%one)\n%s",
           (int)(at - plain), plain, at);
  return text;
}

static bsm_kept_tensor find(const bsm_context *context, const char *name) {
  bsm_kept_tensor t = BSM_KEPT_TENSOR_INIT;
  size_t index;
  check(bsm_context_find_tensor(context, name, &index));
  check(bsm_context_tensor(context, index, &t));
  assert_string_equal(t.name, name);
  assert_null(t.array.strides);
  assert_int_equal(t.array.space, BSM_SPACE_HOST);
  return t;
}

/* relu(x m) and its softmax, computed here. */
static void expect_values(const bsm_context *context, const fixture *f) {
  const bsm_kept_tensor r = find(context, "r"), s = find(context, "s");
  assert_int_equal(r.array.dims.d[0] * r.array.dims.d[1], 8);
  assert_int_equal(s.array.dtype, BSM_DTYPE_FLOAT);
  for (int i = 0; i < 2; i++) {
    double row[4], sum = 0;
    for (int k = 0; k < 4; k++) {
      row[k] = 0;
      for (int j = 0; j < 3; j++) {
        row[k] += (double)f->x[3 * i + j] * (double)f->m[4 * j + k];
      }
      if (row[k] < 0) row[k] = 0;
      sum += exp(row[k]);
    }
    for (int k = 0; k < 4; k++) {
      const double got_r = (double)((const float *)r.array.data)[4 * i + k];
      const double got_s = (double)((const float *)s.array.data)[4 * i + k];
      assert_true(fabs(got_r - row[k]) < 1e-5);
      assert_true(fabs(got_s - exp(row[k]) / sum) < 1e-5);
    }
  }
}

static void values_are_those_of_the_run(void **state) {
  (void)state;
  fixture f;
  size_t none;
  bsm_engine *engine = compile(whole_text(), 0);
  bsm_context *context = open_context(engine, UINT64_MAX);
  assert_int_equal(bsm_context_tensor_count(context), 0);
  for (int run = 1; run <= 3; run++) {
    fill(&f, (float)run);
    check(bsm_context_run_keep(context, f.inputs, 2));
    expect_values(context, &f);
  }
  /* The product is inside of the fused step. */
  refused(bsm_context_find_tensor(context, "p", &none), BSM_NOT_FOUND,
          "it kept: r, s, q");
  const bsm_kept_tensor r = find(context, "r");
  bsm_step_info step = BSM_STEP_INFO_INIT;
  check(bsm_engine_step(engine, r.step, &step));
  assert_string_equal(step.name, r.layers);
  assert_string_equal(step.kind, r.kind);
  assert_non_null(strstr(r.layers, "aten::matmul"));
  assert_non_null(strstr(r.layers, " + %r = aten::relu(%p)"));
  assert_true(r.tactic[0]);
  bsm_kept_tensor t = BSM_KEPT_TENSOR_INIT;
  const size_t count = bsm_context_tensor_count(context);
  refused(bsm_context_tensor(context, count, &t), BSM_OUT_OF_RANGE,
          "of a run that kept");
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* The reference library computes every value by itself. */
static void references_fuse_nothing(void **state) {
  (void)state;
  fixture f;
  fill(&f, 1);
  for (int wide = 0; wide < 2; wide++) {
    bsm_engine *engine =
        compile(whole_text(),
                BSM_REFERENCE_LIBRARY | (wide ? BSM_REFERENCE_DOUBLE : 0));
    bsm_context *context = open_context(engine, UINT64_MAX);
    check(bsm_context_run_keep(context, f.inputs, 2));
    const bsm_kept_tensor p = find(context, "p"), sum = find(context, "sum");
    assert_string_equal(p.kind, "aten_call");
    assert_int_equal(p.array.dtype, wide ? BSM_DTYPE_DOUBLE : BSM_DTYPE_FLOAT);
    assert_int_equal(sum.array.dtype, p.array.dtype);
    bsm_array output;
    check(bsm_context_output(context, 0, &output));
    assert_int_equal(output.dtype, BSM_DTYPE_FLOAT);
    if (!wide) expect_values(context, &f);
    bsm_context_destroy(context);
    bsm_engine_destroy(engine);
  }
}

static void calls_of_programs_are_kept(void **state) {
  (void)state;
  float x[6] = {0, 1, 0, 0, 2, 3};
  const bsm_array input = {x, BSM_DTYPE_FLOAT, {1, {6}}, .strides = NULL};
  bsm_engine *engine = compile(data_dependent, 0);
  bsm_context *context = open_context(engine, UINT64_MAX);
  check(bsm_context_run_keep(context, &input, 1));
  bsm_kept_tensor t = BSM_KEPT_TENSOR_INIT;
  assert_int_equal(bsm_context_tensor_count(context), 2);
  check(bsm_context_tensor(context, 0, &t));
  assert_string_equal(t.kind, "call");
  assert_non_null(strstr(t.layers, "aten::nonzero"));
  assert_true(t.step == SIZE_MAX);
  assert_int_equal(t.array.dims.d[0], 3);
  assert_int_equal(((const int64_t *)t.array.data)[1], 4);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void limits_are_kept(void **state) {
  (void)state;
  fixture f;
  bsm_array output;
  fill(&f, 1);
  bsm_engine *engine = compile(whole_text(), 0);
  bsm_context *context = open_context(engine, 40);
  refused(bsm_context_run_keep(context, f.inputs, 2), BSM_LIMIT,
          "more than keep_tensors, 40 bytes");
  assert_int_equal(bsm_context_tensor_count(context), 1); /* r, of 32 bytes */
  bsm_context_destroy(context);
  context = open_context(engine, 0);
  check(bsm_context_run_keep(context, f.inputs, 2));
  check(bsm_context_output(context, 0, &output));
  assert_int_equal(bsm_context_tensor_count(context), 0);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_the_run),
      cmocka_unit_test(references_fuse_nothing),
      cmocka_unit_test(calls_of_programs_are_kept),
      cmocka_unit_test(limits_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
