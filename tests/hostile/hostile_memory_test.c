/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out at every allocation in turn, and memory that comes with
 * something in it: no crash, no leak, and the same results. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bessemer/bessemer.h"
#include "hostile/hostile.h"
#include "hostile/tiny_archive.h"

#define MODEL(name) BSM_TEST_DATA_DIR "/models/" name

/* Everything from bytes to outputs, through one allocator. */
typedef struct journey {
  const void *data;
  size_t size;
  const bsm_input_spec *specs;
  size_t spec_count;
} journey;

static bsm_status travel(const journey *j, const bsm_allocator *allocator,
                         bsm_array *in, bsm_array *out) {
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  loading.allocator = allocator;
  bsm_compile_options compiling = BSM_COMPILE_OPTIONS_INIT;
  compiling.allocator = allocator;
  compiling.inputs = j->specs;
  compiling.input_count = j->spec_count;
  compiling.threads = 1;
  compiling.no_timing = true;
  bsm_context_options running = BSM_CONTEXT_OPTIONS_INIT;
  running.threads = 2;
  running.profile = true;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  bsm_status status =
      bsm_module_load_memory(j->data, j->size, "journey", &loading, &module);
  if (!status) status = bsm_compile(module, &compiling, &engine);
  bsm_module_destroy(module);
  if (!status) status = bsm_engine_memory(engine, 1, &memory);
  if (!status) status = bsm_context_create(engine, &running, &context);
  if (!status && !in[0].data && !hostile_arrays(engine, 0, in, out)) abort();
  if (!status) {
    status = bsm_context_run(context, in, bsm_engine_input_count(engine), out,
                             bsm_engine_output_count(engine));
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return status;
}

static size_t bytes_of(const bsm_array *array) {
  size_t n = bsm_dtype_size(array->dtype);
  for (int32_t i = 0; i < array->dims.rank; i++) n *= (size_t)array->dims.d[i];
  return n;
}

static void same_arrays(const bsm_array *a, const bsm_array *b) {
  for (size_t i = 0; i < HOSTILE_MAX_ARRAYS && a[i].data; i++) {
    assert_memory_equal(a[i].data, b[i].data, bytes_of(&a[i]));
  }
}

/* Fails the first, second, ... allocation until none is left to fail. A failure
 * may go unnoticed where only a message would be poorer, but then the outputs
 * are the same. */
static void fail_each(const journey *j, size_t step) {
  bsm_array good_in[HOSTILE_MAX_ARRAYS] = {{0}};
  bsm_array good[HOSTILE_MAX_ARRAYS] = {{0}};
  bsm_status status = travel(j, NULL, good_in, good);
  if (status) fail_msg("%s", bsm_status_message(status));
  size_t failures = 0;
  for (size_t n = 1;; n += step) {
    hostile_allocator allocator;
    hostile_allocator_init(&allocator);
    allocator.fail_at = n;
    bsm_array in[HOSTILE_MAX_ARRAYS] = {{0}}, out[HOSTILE_MAX_ARRAYS] = {{0}};
    status = travel(j, &allocator.base, in, out);
    const bsm_code code = bsm_status_code(status);
    if (allocator.live_blocks) {
      fail_msg("%zu blocks leak when allocation %zu fails (%s)",
               allocator.live_blocks, n, bsm_status_message(status));
    }
    if (code && code != BSM_OUT_OF_MEMORY) {
      fail_msg("allocation %zu fails as %s", n, bsm_status_message(status));
    }
    bsm_status_free(status);
    if (!code) same_arrays(good, out);
    hostile_free_arrays(in);
    hostile_free_arrays(out);
    if (!code && allocator.calls < n) break;
    failures += code != BSM_CODE_OK;
  }
  hostile_free_arrays(good_in);
  hostile_free_arrays(good);
  assert_true(failures > 10);
}

static void allocations_of_an_archive_fail(void **state) {
  (void)state;
  zip_member members[TINY_MEMBERS];
  pickle_text pickle;
  zip_builder z;
  tiny_members(members, &pickle);
  members[TINY_CODE].deflate = 1;
  zip_build(&z, members, TINY_MEMBERS, 1);
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = spec.min[1] = 2;
  fail_each(&(journey){z.data, z.len, &spec, 1}, 1);
  free(z.data);
}

static void allocations_of_a_model_fail(void **state) {
  (void)state;
  static const char *const models[] = {MODEL("resnet-trace.ts"),
                                       MODEL("bert-trace.ts")};
  for (size_t i = 0; i < 2; i++) {
    size_t size;
    uint8_t *data = hostile_read_file(models[i], &size);
    fail_each(&(journey){data, size, NULL, 0}, 7);
    free(data);
  }
}

/* ---- memory with something in it ---- */

static void outputs_do_not_depend_on_old_memory(void **state) {
  (void)state;
  static const char *const models[] = {
      MODEL("resnet-trace.ts"), MODEL("mobilenet-trace.ts"),
      MODEL("unet-trace.ts"),   MODEL("bert-trace.ts"),
      MODEL("vit-trace.ts"),    MODEL("dense-trace.ts")};
  for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
    size_t size;
    uint8_t *data = hostile_read_file(models[i], &size);
    bsm_array in[2][HOSTILE_MAX_ARRAYS] = {{{0}}};
    bsm_array out[2][HOSTILE_MAX_ARRAYS] = {{{0}}};
    for (int k = 0; k < 2; k++) {
      hostile_allocator allocator;
      hostile_allocator_init(&allocator);
      allocator.fill = k ? 0xff : 0x3f;
      const journey j = {data, size, NULL, 0};
      bsm_status status = travel(&j, &allocator.base, in[k], out[k]);
      if (status) fail_msg("%s: %s", models[i], bsm_status_message(status));
    }
    same_arrays(out[0], out[1]);
    for (int k = 0; k < 2; k++) {
      hostile_free_arrays(in[k]);
      hostile_free_arrays(out[k]);
    }
    free(data);
  }
}

/* Runs an engine in a workspace of `byte`s; the second run of a context finds
 * what the first left. */
static void run_in_workspace(const bsm_engine *engine, uint32_t isa, int byte,
                             bsm_array *in, bsm_array *out) {
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  bsm_status status = bsm_engine_memory(engine, 1, &memory);
  if (status) fail_msg("%s", bsm_status_message(status));
  const size_t size =
      (size_t)(memory.workspace + memory.scratch + 4096) / 64 * 64 + (4 << 20);
  void *workspace = aligned_alloc(64, size);
  assert_non_null(workspace);
  memset(workspace, byte, size);
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.isa = isa;
  options.workspace = workspace;
  options.workspace_size = size;
  bsm_context *context = NULL;
  status = bsm_context_create(engine, &options, &context);
  if (!status) {
    status = bsm_context_run(context, in, bsm_engine_input_count(engine), out,
                             bsm_engine_output_count(engine));
  }
  if (status) fail_msg("%s", bsm_status_message(status));
  bsm_context_destroy(context);
  free(workspace);
}

static void outputs_do_not_depend_on_the_workspace(void **state) {
  (void)state;
  static const char *const models[] = {
      MODEL("resnet-trace.ts"), MODEL("mobilenet-trace.ts"),
      MODEL("unet-trace.ts"),   MODEL("bert-trace.ts"),
      MODEL("vit-trace.ts"),    MODEL("encoder-trace.ts"),
      MODEL("dense-trace.ts"),  MODEL("squeezenet-trace.ts")};
  const uint32_t isas[] = {0, BSM_CONTEXT_ISA_SCALAR};
  for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
    bsm_compile_options compiling = BSM_COMPILE_OPTIONS_INIT;
    compiling.no_timing = true;
    compiling.threads = 1;
    bsm_module *module = NULL;
    bsm_engine *engine = NULL;
    bsm_status status = bsm_module_load(models[i], NULL, &module);
    if (!status) status = bsm_compile(module, &compiling, &engine);
    if (status) fail_msg("%s: %s", models[i], bsm_status_message(status));
    bsm_array in[HOSTILE_MAX_ARRAYS], out[2][HOSTILE_MAX_ARRAYS];
    for (size_t k = 0; k < 2; k++) {
      assert_true(hostile_arrays(engine, 0, in, out[0]));
      hostile_free_arrays(in);
      assert_true(hostile_arrays(engine, 0, in, out[1]));
      /* As floats 0x3e3e3e3e is 0.186; integers stay 0. */
      for (size_t a = 0; a < HOSTILE_MAX_ARRAYS && in[a].data; a++) {
        if (in[a].dtype == BSM_DTYPE_FLOAT) {
          memset(in[a].data, 0x3e, bytes_of(&in[a]));
        }
      }
      run_in_workspace(engine, isas[k], 0x00, in, out[0]);
      run_in_workspace(engine, isas[k], 0xff, in, out[1]);
      for (size_t a = 0; a < HOSTILE_MAX_ARRAYS && out[0][a].data; a++) {
        if (memcmp(out[0][a].data, out[1][a].data, bytes_of(&out[0][a]))) {
          fail_msg("%s: output %zu depends on the workspace", models[i], a);
        }
      }
      hostile_free_arrays(in);
      hostile_free_arrays(out[0]);
      hostile_free_arrays(out[1]);
    }
    bsm_engine_destroy(engine);
    bsm_module_destroy(module);
  }
}

/* Two builds in different memory are the same bytes. */
static void engines_do_not_depend_on_old_memory(void **state) {
  (void)state;
  char folder[] = "/tmp/bessemer-hostile-XXXXXX";
  char path[64];
  uint8_t *bytes[2];
  size_t sizes[2];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof(path), "%s/x.bsm", folder);
  for (int k = 0; k < 2; k++) {
    hostile_allocator allocator;
    hostile_allocator_init(&allocator);
    allocator.fill = k ? 0xff : 0x00;
    bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
    loading.allocator = &allocator.base;
    bsm_compile_options compiling = BSM_COMPILE_OPTIONS_INIT;
    compiling.no_timing = true;
    compiling.threads = 1;
    bsm_module *module = NULL;
    bsm_engine *engine = NULL;
    bsm_status status =
        bsm_module_load(MODEL("mobilenet-trace.ts"), &loading, &module);
    if (!status) status = bsm_compile(module, &compiling, &engine);
    if (!status) status = bsm_engine_save(engine, path);
    if (status) fail_msg("%s", bsm_status_message(status));
    bsm_engine_destroy(engine);
    bsm_module_destroy(module);
    bytes[k] = hostile_read_file(path, &sizes[k]);
    unlink(path);
    assert_int_equal(allocator.live_blocks, 0);
  }
  rmdir(folder);
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(bytes[0], bytes[1], sizes[0]);
  free(bytes[0]);
  free(bytes[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations_of_an_archive_fail),
      cmocka_unit_test(allocations_of_a_model_fail),
      cmocka_unit_test(outputs_do_not_depend_on_old_memory),
      cmocka_unit_test(outputs_do_not_depend_on_the_workspace),
      cmocka_unit_test(engines_do_not_depend_on_old_memory),
  };
  return cmocka_run_group_tests_name("hostile_memory", tests, NULL, NULL);
}
