/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the API, called by programs that were built with older and
 * with newer headers: every struct that they take or fill, too short and too
 * long. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"

static const char text[] =
    "graph(%x : Float(2, 3)):\n"
    "  %y : Tensor = aten::relu(%x)\n"
    "  return (%y)\n";

static const char calibration[] =
    "bessemer calibration 1\n"
    "tensor x -1.0 2.0 -1.5 2.5\n"
    "layer y convolution conv x int8 100.0 40.0 0.01\n"
    "end\n";

typedef struct fixture {
  bsm_module *module;
  bsm_engine *engine;
  bsm_context *context;
  bsm_operator_list *operators;
  bsm_calibration *calibration;
} fixture;

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

static int set_up(void **state) {
  static fixture f;
  static float values[6];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_context_options running = BSM_CONTEXT_OPTIONS_INIT;
  const bsm_array x = {values, BSM_DTYPE_FLOAT, {2, {2, 3}}};
  options.no_timing = true;
  running.threads = 1;
  running.profile = true;
  running.keep_tensors = UINT64_MAX;
  check(bsm_module_load_memory(text, strlen(text), "m.ir", NULL, &f.module));
  check(bsm_compile(f.module, &options, &f.engine));
  check(bsm_context_create(f.engine, &running, &f.context));
  check(bsm_context_run_keep(f.context, &x, 1));
  check(bsm_module_operators(f.module, &options, &f.operators));
  check(bsm_calibration_load_memory(calibration, strlen(calibration), "c",
                                    &f.calibration));
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_calibration_destroy(f->calibration);
  bsm_operator_list_free(f->operators);
  bsm_context_destroy(f->context);
  bsm_engine_destroy(f->engine);
  bsm_module_destroy(f->module);
  return 0;
}

/* ---- results ---- */

#define FILLER(name, call)                        \
  static bsm_status name(fixture *f, void *out) { \
    return call;                                  \
  }
FILLER(parameter, bsm_module_parameter(f->module, NULL, 0, out))
FILLER(input, bsm_engine_input(f->engine, 0, out))
FILLER(output, bsm_engine_output(f->engine, 0, out))
FILLER(run_output, bsm_context_output_binding(f->context, 0, out))
FILLER(memory, bsm_engine_memory(f->engine, 1, out))
FILLER(step, bsm_engine_step(f->engine, 0, out))
FILLER(tensor, bsm_engine_tensor(f->engine, 0, out))
FILLER(profile, bsm_context_profile(f->context, 0, out))
FILLER(kept_tensor, bsm_context_tensor(f->context, 0, out))
FILLER(operator_info, bsm_operator_list_get(f->operators, 0, out))
FILLER(range, bsm_calibration_get_range(f->calibration, 0, out))
FILLER(layer, bsm_calibration_get_layer(f->calibration, 0, out))
FILLER(info, bsm_calibration_describe(f->calibration, out))
FILLER(structure,
       bsm_structure_describe(bsm_engine_output_structure(f->engine), out))

/* A field, beside which there may be padding of any value. */
typedef struct field {
  size_t offset, size;
} field;
#define FIELD(type, name) \
  { offsetof(type, name), sizeof(((type *)NULL)->name) }

typedef struct filler {
  const char *name;
  bsm_status (*fill)(fixture *f, void *out);
  size_t size;
  field fields[3]; /* some of them, with the last */
} filler;
#define ROW(type, fill, a, b, c)                     \
  {                                                  \
#type, fill, sizeof(type), {                     \
      FIELD(type, a), FIELD(type, b), FIELD(type, c) \
    }                                                \
  }
static const filler fillers[] = {
    ROW(bsm_parameter, parameter, name, example_dims, max_dims),
    ROW(bsm_binding, input, name, dims, space),
    ROW(bsm_binding, output, name, dims, space),
    ROW(bsm_binding, run_output, name, dims, space),
    ROW(bsm_engine_memory_info, memory, weights, scratch, device_weights),
    ROW(bsm_step_info, step, name, flops, space),
    ROW(bsm_tensor_info, tensor, name, dims, bytes),
    ROW(bsm_step_profile, profile, name, runs, bytes),
    ROW(bsm_kept_tensor, kept_tensor, layers, step, array.device),
    ROW(bsm_operator_info, operator_info, schema, runs, why),
    ROW(bsm_calibration_range, range, tensor, low, greatest),
    ROW(bsm_calibration_layer, layer, name, precision, loss),
    ROW(bsm_calibration_info, info, method, model, batches),
    ROW(bsm_structure_info, structure, kind, binding, dims),
};

typedef union room {
  size_t struct_size;
  max_align_t aligned;
  unsigned char bytes[2048];
} room;

/* As much as fits, the same for every size; nothing beyond. */
static void results_fit_the_caller(void **state) {
  for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++) {
    const filler *x = &fillers[i];
    room whole = {.struct_size = x->size};
    assert_true(x->size + 64 < sizeof(whole.bytes));
    check(x->fill(*state, &whole));
    for (size_t size = sizeof(size_t); size <= x->size + 64; size += 8) {
      room got;
      memset(&got, 0xa5, sizeof(got));
      got.struct_size = size;
      check(x->fill(*state, &got));
      assert_int_equal(got.struct_size, size);
      for (size_t k = 0; k < 3; k++) {
        const field *it = &x->fields[k];
        if (it->offset + it->size > size) continue;
        assert_memory_equal(got.bytes + it->offset, whole.bytes + it->offset,
                            it->size);
      }
      for (size_t k = x->size; k < size; k++) {
        assert_int_equal(got.bytes[k], 0);
      }
      for (size_t k = size; k < sizeof(got.bytes); k++) {
        assert_int_equal(got.bytes[k], 0xa5);
      }
    }
  }
}

static void results_need_a_size(void **state) {
  for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++) {
    const filler *x = &fillers[i];
    char part[64];
    room got = {.struct_size = 0};
    snprintf(part, sizeof(part), "%s.struct_size is 0", x->name);
    refused(x->fill(*state, &got), BSM_INVALID_ARGUMENT, part);
    refused(x->fill(*state, NULL), BSM_INVALID_ARGUMENT, "NULL");
  }
}

/* ---- options ---- */

static bsm_status load_module(fixture *f, const void *options) {
  bsm_module *module = NULL;
  (void)f;
  BSM_TRY(bsm_module_load_memory(text, strlen(text), "m.ir", options, &module));
  bsm_module_destroy(module);
  return BSM_OK;
}

static bsm_status load_with_limits(fixture *f, const void *limits) {
  bsm_module_options options = BSM_MODULE_OPTIONS_INIT;
  options.limits = limits;
  return load_module(f, &options);
}

static bsm_status compile(fixture *f, const void *options) {
  bsm_engine *engine = NULL;
  BSM_TRY(bsm_compile(f->module, options, &engine));
  bsm_engine_destroy(engine);
  return BSM_OK;
}

static bsm_status list_operators(fixture *f, const void *options) {
  bsm_operator_list *list = NULL;
  BSM_TRY(bsm_module_operators(f->module, options, &list));
  bsm_operator_list_free(list);
  return BSM_OK;
}

/* Without data, which is asked for last. */
static bsm_status calibrate(fixture *f, const void *options) {
  bsm_calibration *made = NULL;
  bsm_status status = bsm_calibrate(f->module, NULL, options, &made);
  bsm_calibration_destroy(made);
  if (!strstr(bsm_status_message(status), "no layer that int8")) return status;
  bsm_status_free(status);
  return BSM_OK;
}

static bsm_status create_context(fixture *f, const void *options) {
  bsm_context *context = NULL;
  BSM_TRY(bsm_context_create(f->engine, options, &context));
  bsm_context_destroy(context);
  return BSM_OK;
}

/* Of an engine that is not there: options are looked at first. */
static bsm_status load_engine(fixture *f, const void *options) {
  bsm_engine *engine = NULL;
  (void)f;
  bsm_status status = bsm_engine_load("/nonexistent.bsm", options, &engine);
  if (bsm_status_code(status) != BSM_IO) return status;
  bsm_status_free(status);
  return BSM_OK;
}

static bsm_status save_engine(fixture *f, const void *options) {
  bsm_status status = bsm_engine_save_with(f->engine, "/nowhere/x", options);
  if (bsm_status_code(status) != BSM_IO) return status;
  bsm_status_free(status);
  return BSM_OK;
}

typedef struct taker {
  const char *name;
  bsm_status (*take)(fixture *f, const void *options);
  size_t size;
} taker;
static const taker takers[] = {
    {"bsm_module_options", load_module, sizeof(bsm_module_options)},
    {"bsm_limits", load_with_limits, sizeof(bsm_limits)},
    {"bsm_compile_options", compile, sizeof(bsm_compile_options)},
    {"bsm_compile_options", list_operators, sizeof(bsm_compile_options)},
    {"bsm_calibrate_options", calibrate, sizeof(bsm_calibrate_options)},
    {"bsm_context_options", create_context, sizeof(bsm_context_options)},
    {"bsm_engine_load_options", load_engine, sizeof(bsm_engine_load_options)},
    {"bsm_engine_save_options", save_engine, sizeof(bsm_engine_save_options)},
};

static void options_may_be_short_or_long(void **state) {
  for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
    const taker *x = &takers[i];
    check(x->take(*state, NULL));
    for (size_t size = sizeof(size_t); size <= x->size + 64; size += 8) {
      room given;
      /* What an older caller's struct does not have would be refused, or read
       * as a pointer. */
      memset(&given, 0xa5, sizeof(given));
      memset(&given, 0, size);
      given.struct_size = size;
      check(x->take(*state, &given));
      if (size <= x->size) continue;
      given.bytes[size - 1] = 1;
      refused(x->take(*state, &given), BSM_UNSUPPORTED, x->name);
    }
    room given = {.struct_size = 0};
    refused(x->take(*state, &given), BSM_INVALID_ARGUMENT, x->name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_fit_the_caller),
      cmocka_unit_test(results_need_a_size),
      cmocka_unit_test(options_may_be_short_or_long),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
