/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that do not fit the engine, and numbers in them that do not fit the
 * operators: a status, and the outputs' neighbours untouched. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "hostile/hostile.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bsm_engine *compile(const char *text, const bsm_input_spec *specs,
                           size_t count) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = count;
  options.no_timing = true;
  options.threads = 1;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_status status =
      bsm_module_load_memory(text, strlen(text), "indices", NULL, &module);
  if (!status) status = bsm_compile(module, &options, &engine);
  bsm_module_destroy(module);
  if (status) fail_msg("%s\n%s", bsm_status_message(status), text);
  return engine;
}

/* ---- indices ---- */

/* %t is float (4,3), %i int64 (2,3). What reads where the data say must fail;
 * what writes there may also drop the element. */
static const struct {
  const char *call;
  bool writes;
} indexing[] = {
    {"aten::embedding(%t, %i, %minus, %no, %no)", false},
    {"aten::gather(%t, %zero, %i, %no)", false},
    {"aten::gather(%t, %one, %i, %no)", false},
    {"aten::index_select(%t, %zero, %flat)", false},
    {"aten::index_select(%t, %one, %flat)", false},
    {"aten::index(%t, %first)", false},
    {"aten::index(%t, %second)", false},
    {"aten::take(%t, %i)", false},
    {"aten::one_hot(%i, %four)", false},
    {"aten::scatter(%t, %zero, %i, %same)", true},
    {"aten::scatter_add(%t, %one, %i, %same)", true},
    {"aten::index_put(%t, %first, %row, %no)", true},
    {"aten::index_add(%t, %zero, %flat, %rows, %one)", true},
};

static size_t bytes_of(const bsm_array *array) {
  size_t n = bsm_dtype_size(array->dtype);
  for (int32_t i = 0; i < array->dims.rank; i++) n *= (size_t)array->dims.d[i];
  return n;
}

/* Runs with every index `v`, on one and on three threads, on every kernel. */
static bsm_code run_indices(const bsm_engine *engine, int64_t v, uint32_t isa,
                            int threads) {
  bsm_array in[HOSTILE_MAX_ARRAYS], out[HOSTILE_MAX_ARRAYS];
  assert_true(hostile_arrays(engine, 0, in, out));
  for (size_t a = 0; a < HOSTILE_MAX_ARRAYS && in[a].data; a++) {
    if (in[a].dtype != BSM_DTYPE_INT64) continue;
    int64_t *indices = in[a].data;
    for (size_t k = 0; k < bytes_of(&in[a]) / 8; k++) indices[k] = v;
  }
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  options.isa = isa;
  bsm_context *context = NULL;
  bsm_status status = bsm_context_create(engine, &options, &context);
  assert_null(status);
  status = bsm_context_run(context, in, bsm_engine_input_count(engine), out,
                           bsm_engine_output_count(engine));
  const bsm_code code = bsm_status_code(status);
  char number[32];
  snprintf(number, sizeof(number), "%" PRId64, v);
  if (code && !strstr(bsm_status_message(status), number)) {
    fail_msg("the index %s is not named: %s", number,
             bsm_status_message(status));
  }
  bsm_status_free(status);
  /* The context is as good as before. */
  for (size_t a = 0; a < HOSTILE_MAX_ARRAYS && in[a].data; a++) {
    memset(in[a].data, 0, bytes_of(&in[a]));
  }
  status = bsm_context_run(context, in, bsm_engine_input_count(engine), out,
                           bsm_engine_output_count(engine));
  assert_null(status);
  bsm_context_destroy(context);
  hostile_free_arrays(in);
  hostile_free_arrays(out);
  return code;
}

static void indices_out_of_range(void **state) {
  (void)state;
  static const int64_t values[] = {
      12,        -13,           100,       INT64_MAX,
      INT64_MIN, INT64_MIN + 1, INT32_MAX, INT64_C(1) << 62};
  size_t compiled = 0;
  for (size_t k = 0; k < COUNT(indexing); k++) {
    char text[2048];
    snprintf(text, sizeof(text),
             "graph(%%t : Tensor, %%i : Tensor, %%flat : Tensor, %%same : "
             "Tensor, %%row : Tensor, %%rows : Tensor):\n"
             "  %%no : bool = prim::Constant[value=0]()\n"
             "  %%none : NoneType = prim::Constant()\n"
             "  %%zero : int = prim::Constant[value=0]()\n"
             "  %%one : int = prim::Constant[value=1]()\n"
             "  %%four : int = prim::Constant[value=4]()\n"
             "  %%minus : int = prim::Constant[value=-1]()\n"
             "  %%first : Tensor?[] = prim::ListConstruct(%%flat)\n"
             "  %%second : Tensor?[] = prim::ListConstruct(%%none, %%flat)\n"
             "  %%y : Tensor = %s\n  return (%%y)\n",
             indexing[k].call);
    bsm_input_spec specs[6] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT,
                               BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT,
                               BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
    static const int64_t dims[6][2] = {{4, 3}, {2, 3}, {2, 0},
                                       {2, 3}, {2, 3}, {2, 3}};
    for (size_t i = 0; i < 6; i++) {
      specs[i].rank = i == 2 ? 1 : 2;
      memcpy(specs[i].min, dims[i], sizeof(dims[i]));
    }
    specs[1].dtype = specs[2].dtype = BSM_DTYPE_INT64;
    bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
    options.inputs = specs;
    options.input_count = 6;
    options.no_timing = true;
    bsm_module *module = NULL;
    bsm_engine *engine = NULL;
    bsm_status status =
        bsm_module_load_memory(text, strlen(text), "indices", NULL, &module);
    assert_null(status);
    status = bsm_compile(module, &options, &engine);
    bsm_module_destroy(module);
    /* What has no converter yet says so. */
    assert_true(!status || bsm_status_code(status) == BSM_UNSUPPORTED);
    bsm_status_free(status);
    if (!engine) continue;
    compiled++;
    for (size_t v = 0; v < COUNT(values); v++) {
      const bsm_code code = run_indices(engine, values[v], 0, 1);
      if (code != BSM_OUT_OF_RANGE && (code || !indexing[k].writes)) {
        fail_msg("%s with %" PRId64 ": %s", indexing[k].call, values[v],
                 bsm_code_name(code));
      }
      assert_int_equal(run_indices(engine, values[v], 0, 3), code);
      assert_int_equal(
          run_indices(engine, values[v], BSM_CONTEXT_ISA_SCALAR, 1), code);
    }
    bsm_engine_destroy(engine);
  }
  assert_true(compiled >= 5);
}

/* ---- arrays ---- */

static void arrays_that_do_not_fit(void **state) {
  (void)state;
  static const char text[] =
      "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n";
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = 2;
  spec.min[1] = 3;
  bsm_engine *engine = compile(text, &spec, 1);
  bsm_context *context = NULL;
  bsm_status status = bsm_context_create(engine, NULL, &context);
  assert_null(status);
  float x[6] = {0}, y[6] = {0};
  const int64_t strides[2] = {1, 2};
  const bsm_array good = {x, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL};
  const bsm_array result = {y, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL};
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k <= 10; k++) {
      bsm_array a = side ? result : good;
      size_t count = 1;
      switch (k) {
        case 0:
          break;
        case 1:
          a.dtype = BSM_DTYPE_DOUBLE;
          break;
        case 2:
          a.dtype = (bsm_dtype)1000;
          break;
        case 3:
          a.dims.rank = 1;
          break;
        case 4:
          a.dims.rank = -5;
          break;
        case 5:
          a.dims.rank = INT32_MAX;
          break;
        case 6:
          a.dims.d[1] = 4;
          break;
        case 7:
          a.dims.d[0] = INT64_MIN;
          break;
        case 8:
          a.strides = strides;
          break;
        case 9:
          a.data = NULL;
          break;
        default:
          count = 0;
          break;
      }
      status = bsm_context_run(context, side ? &good : &a, side ? 1 : count,
                               side ? &a : &result, side ? count : 1);
      const bool fits = k == 0 || k == 8; /* turned, it fits as well */
      if (bsm_status_code(status) !=
          (fits ? BSM_CODE_OK : BSM_INVALID_ARGUMENT)) {
        fail_msg("case %d: %s", k, bsm_status_message(status));
      }
      if (!fits &&
          !strstr(bsm_status_message(status), side ? "output" : "input")) {
        fail_msg("case %d: %s", k, bsm_status_message(status));
      }
      bsm_status_free(status);
    }
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* Integers that trap when divided, shifted or negated, given at run time. */
static void arithmetic_traps(void **state) {
  (void)state;
  static const char *const calls[] = {
      "aten::div(%x, %y, %floor)",
      "aten::div(%x, %y, %trunc)",
      "aten::floor_divide(%x, %y)",
      "aten::remainder(%x, %y)",
      "aten::fmod(%x, %y)",
      "aten::mul(%x, %y)",
      "aten::sub(%x, %y, %one)",
      "aten::add(%x, %y, %one)",
      "aten::pow(%x, %y)",
      "aten::bitwise_xor(%x, %y)",
      "aten::neg(%x)",
      "aten::abs(%x)",
      "aten::div(%x, %y)",
      "aten::__lshift__(%x, %y)",
      "aten::__rshift__(%x, %y)",
      "aten::maximum(%x, %y)",
  };
  static const bsm_dtype dtypes[] = {BSM_DTYPE_INT64, BSM_DTYPE_INT32,
                                     BSM_DTYPE_INT8, BSM_DTYPE_UINT8};
  size_t compiled = 0;
  for (size_t k = 0; k < COUNT(calls) * COUNT(dtypes); k++) {
    char text[1024];
    snprintf(text, sizeof(text),
             "graph(%%x : Tensor, %%y : Tensor):\n"
             "  %%floor : str = prim::Constant[value=\"floor\"]()\n"
             "  %%trunc : str = prim::Constant[value=\"trunc\"]()\n"
             "  %%one : int = prim::Constant[value=1]()\n"
             "  %%z : Tensor = %s\n  return (%%z)\n",
             calls[k % COUNT(calls)]);
    bsm_input_spec specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
    specs[0].rank = specs[1].rank = 1;
    specs[0].min[0] = specs[1].min[0] = 16;
    specs[0].dtype = specs[1].dtype = dtypes[k / COUNT(calls)];
    bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
    options.inputs = specs;
    options.input_count = 2;
    options.no_timing = true;
    bsm_module *module = NULL;
    bsm_engine *engine = NULL;
    bsm_status status =
        bsm_module_load_memory(text, strlen(text), "traps", NULL, &module);
    assert_null(status);
    status = bsm_compile(module, &options, &engine);
    bsm_module_destroy(module);
    bsm_status_free(status);
    if (!engine) continue;
    compiled++;
    bsm_array in[HOSTILE_MAX_ARRAYS], out[HOSTILE_MAX_ARRAYS];
    assert_true(hostile_arrays(engine, 0, in, out));
    static const uint8_t right[] = {0x00, 0xff, 0x80, 0x7f, 0x40};
    for (size_t r = 0; r < COUNT(right); r++) {
      /* The least and the greatest numbers on the left. */
      for (int sign = 0; sign < 2; sign++) {
        const size_t size = bsm_dtype_size(in[0].dtype);
        memset(in[0].data, sign ? 0xff : 0x00, 16 * size);
        for (size_t i = 0; i < 16; i++) {
          ((uint8_t *)in[0].data)[i * size + size - 1] = sign ? 0x7f : 0x80;
        }
        if (in[1].data) memset(in[1].data, right[r], 16 * size);
        bsm_context *context = NULL;
        status = bsm_context_create(engine, NULL, &context);
        assert_null(status);
        status = bsm_context_run(context, in, bsm_engine_input_count(engine),
                                 out, bsm_engine_output_count(engine));
        bsm_status_free(status); /* a failure says that a divisor is zero */
        bsm_context_destroy(context);
      }
    }
    hostile_free_arrays(in);
    hostile_free_arrays(out);
    bsm_engine_destroy(engine);
  }
  assert_true(compiled > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indices_out_of_range),
      cmocka_unit_test(arrays_that_do_not_fit),
      cmocka_unit_test(arithmetic_traps),
  };
  return cmocka_run_group_tests_name("hostile_run", tests, NULL, NULL);
}
