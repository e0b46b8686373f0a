/* SPDX-License-Identifier: Apache-2.0 */
/* Engines on GPUs of other kinds than they were built for: code for a GPU of
 * its generation, PTX for later ones, and a status for earlier ones. */
#include "cuda/cuda_kit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_forms.h"
#include "backend/cuda/cuda_internal.h"
#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

static standin gpu;

static void be(int sm) {
  gpu.mode(0, 0, sm);
}

/* ---- names ---- */

static void reads_names(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bsm_cuda_form form;
  } good[] = {
      {"sm_80 gather gather -DK_T=f16", {80, false, false, NULL}},
      {"sm_90a x", {90, false, true, NULL}},
      {"sm_100 x y", {100, false, false, NULL}},
      {"compute_75 x", {75, true, false, NULL}},
  };
  static const char *const bad[] = {
      "",           "sm_80",    "gather gather", "sm_ x",     "sm_70 x",
      "compute_ x", "sm_80b x", "compute_90a x", "sm_1000 x", "sm_-80 x"};
  bsm_cuda_form f;
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
    assert_true(bsm_cuda_form_parse(good[i].name, &f));
    assert_int_equal(f.sm, good[i].form.sm);
    assert_int_equal(f.is_ptx, good[i].form.is_ptx);
    assert_int_equal(f.specific, good[i].form.specific);
    assert_string_equal(f.kernel, strchr(good[i].name, ' ') + 1);
  }
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (bsm_cuda_form_parse(bad[i], &f)) fail_msg("taken: %s", bad[i]);
  }
}

static void ranks_forms(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int sm, rank;
  } rows[] = {
      {"sm_80 x", 80, 2},       {"sm_80 x", 89, 2},     {"sm_80 x", 90, 0},
      {"sm_89 x", 80, 0},       {"sm_90a x", 90, 2},    {"sm_90a x", 100, 0},
      {"sm_100 x", 103, 2},     {"sm_100 x", 120, 0},   {"compute_80 x", 80, 1},
      {"compute_80 x", 120, 1}, {"compute_80 x", 75, 0}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    bsm_cuda_form f;
    assert_true(bsm_cuda_form_parse(rows[i].name, &f));
    if (bsm_cuda_form_rank(&f, rows[i].sm) != rows[i].rank) {
      fail_msg("%s on sm_%d", rows[i].name, rows[i].sm);
    }
  }
}

/* ---- engines ---- */

static const char model[] =
    "graph(%x : Tensor, %w : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %v : Tensor = aten::softmax(%p, %one, %none)\n"
    "  return (%v)\n";

static bsm_engine *compile_sides(const char *target, int64_t side,
                                 bsm_precision precision) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  for (int i = 0; i < 2; i++) {
    specs[i].dtype = BSM_DTYPE_FLOAT;
    specs[i].rank = 2;
    specs[i].min[0] = specs[i].min[1] = side;
  }
  options.target = target;
  options.inputs = specs;
  options.input_count = 2;
  options.no_timing = true;
  options.threads = 1;
  options.precisions = precision;
  assert_ok(
      bsm_module_load_memory(model, strlen(model), "test.ir", NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static bsm_engine *compile(const char *target) {
  return compile_sides(target, 4, BSM_PRECISION_FP32);
}

static void run(const bsm_engine *engine, float *out) {
  float x[16], w[16];
  for (int i = 0; i < 16; i++) {
    x[i] = (float)(i % 5) / 5;
    w[i] = (float)(i % 7) / 7;
  }
  bsm_context *context = NULL;
  const bsm_dims dims = {2, {4, 4}};
  const bsm_array in[2] = {{.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = dims},
                           {.data = w, .dtype = BSM_DTYPE_FLOAT, .dims = dims}};
  bsm_array y = {.data = out, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  assert_ok(bsm_context_create(engine, NULL, &context));
  assert_ok(bsm_context_run(context, in, 2, &y, 1));
  bsm_context_destroy(context);
}

/* The file of an engine for a target. */
typedef struct file {
  void *bytes; /* aligned, so that an engine is where they are */
  size_t size;
} file;

static file build(const char *target) {
  char path[] = "/tmp/bsm_forms_XXXXXX";
  bsm_engine *engine = compile(target);
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  assert_ok(bsm_engine_save(engine, path));
  bsm_engine_destroy(engine);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_int_equal(fseek(f, 0, SEEK_END), 0);
  file out = {.size = (size_t)ftell(f)};
  assert_int_equal(posix_memalign(&out.bytes, 4096, out.size), 0);
  rewind(f);
  assert_int_equal(fread(out.bytes, 1, out.size, f), out.size);
  fclose(f);
  unlink(path);
  return out;
}

static bsm_status load(const file *f, bsm_engine **out) {
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.trust_code = true;
  options.skip_checksum = true;
  return bsm_engine_load_memory(f->bytes, f->size, &options, out);
}

/* Damages all code of one form: what runs then has not used it. Another call
 * puts it right. */
static void damage(const bsm_engine *engine, bool ptx) {
  int damaged = 0;
  for (uint32_t i = 0; i < engine->plan->code_count; i++) {
    const bsm_plan_code *code = &engine->plan->code[i];
    bsm_cuda_form form;
    assert_true(bsm_cuda_form_parse(code->name, &form));
    if (form.is_ptx != ptx) continue;
    uint8_t *bytes =
        (uint8_t *)(uintptr_t)engine->plan->weights[code->weights].data;
    for (int k = 0; k < 8; k++) bytes[k] ^= 0x55;
    damaged++;
  }
  assert_true(damaged > 0);
}

static void runs_on(const file *f, int sm, bool by_ptx) {
  bsm_engine *engine = NULL;
  float want[16], got[16] = {0};
  be(90);
  bsm_engine *here = compile("cuda");
  run(here, want);
  bsm_engine_destroy(here);
  be(sm);
  assert_ok(load(f, &engine));
  damage(engine, !by_ptx);
  run(engine, got);
  damage(engine, !by_ptx);
  assert_memory_equal(got, want, sizeof(want));
  bsm_engine_destroy(engine);
}

static void runs_on_its_gpu_and_later_ones(void **state) {
  (void)state;
  be(90);
  const file plain = build("cuda:sm_80,avx2");
  runs_on(&plain, 80, false);
  runs_on(&plain, 86, false);
  runs_on(&plain, 90, true);
  runs_on(&plain, 100, true);
  free(plain.bytes);
  be(90);
  const file specific = build("cuda:sm_90a,avx2");
  runs_on(&specific, 90, false);
  runs_on(&specific, 100, true);
  free(specific.bytes);
}

static void refuses_earlier_ones(void **state) {
  bsm_engine *engine = NULL;
  (void)state;
  be(90);
  const file f = build("cuda:sm_90a,avx2");
  be(80);
  assert_fails_with(load(&f, &engine), BSM_UNSUPPORTED,
                    "the engine was built for sm_90a, and GPU 0, ");
  assert_null(engine);
  assert_fails_with(load(&f, &engine), BSM_UNSUPPORTED,
                    " is sm_80: compile the model again, for cuda:sm_80");
  free(f.bytes);
}

/* Building for another GPU than this machine has works; running does not. */
static void builds_for_later_ones(void **state) {
  bsm_context *context = NULL;
  (void)state;
  be(75);
  bsm_engine *engine = compile("cuda:sm_90a,avx2");
  bsm_status status = bsm_context_create(engine, NULL, &context);
  assert_non_null(status);
  bsm_status_free(status);
  bsm_engine_destroy(engine);
}

/* ---- damaged engines ---- */

/* How many kernels of a folder, where the stand-in for NVRTC wrote them down,
 * were compiled for an architecture. */
static int count_recorded(const char *folder, const char *architecture) {
  char path[512], text[4096];
  DIR *listed = opendir(folder);
  int count = 0;
  assert_non_null(listed);
  for (const struct dirent *entry; (entry = readdir(listed));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    count += strstr(text, architecture) != NULL;
  }
  closedir(listed);
  return count;
}

/* Both forms come of one compilation, but of what has instructions of sm_90a,
 * which PTX for later GPUs must not have. */
static void compiles_twice_what_differs(void **state) {
  (void)state;
  char folder[] = "/tmp/bsm_forms_XXXXXX", command[64];
  assert_non_null(mkdtemp(folder));
  assert_int_equal(setenv("BSM_STANDIN_RECORD", folder, 1), 0);
  bsm_engine_destroy(compile("cuda:sm_90a"));
  assert_true(count_recorded(folder, "=sm_90\n") >= 2);
  assert_int_equal(count_recorded(folder, "=sm_90a\n"), 0);
  assert_int_equal(count_recorded(folder, "=compute_90\n"), 0);
  bsm_engine_destroy(compile_sides("cuda:sm_90a", 512, BSM_PRECISION_FP16));
  assert_int_equal(count_recorded(folder, "=sm_90a\n"), 1);
  assert_int_equal(count_recorded(folder, "=compute_90\n"), 1);
  assert_int_equal(unsetenv("BSM_STANDIN_RECORD"), 0);
  snprintf(command, sizeof(command), "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

static void refuses_what_is_no_code(void **state) {
  static const char *const names[] = {"softmax softmax", "sm_90a", "sm_12 x"};
  uint8_t bytes[4] = {0};
  bsm_plan_weights weights[1] = {{.data = bytes, .size = sizeof(bytes)}};
  bsm_plan_code code[1] = {{"compute_75 x", 0}};
  bsm_plan plan = {
      .code = code, .code_count = 1, .weights = weights, .weights_count = 1};
  bsm_code_image *image = NULL;
  bsm_device *device;
  (void)state;
  be(90);
  assert_ok(bsm_cuda_device_ops.open(&(bsm_device_options){0}, &device));
  assert_ok(bsm_cuda_device_ops.code_load(device, &plan, &image));
  bsm_cuda_device_ops.code_unload(image);
  bytes[3] = 1; /* a text without an end */
  assert_fails_with(bsm_cuda_device_ops.code_load(device, &plan, &image),
                    BSM_CORRUPT, "code 0");
  bytes[3] = 0;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    code[0].name = names[i];
    assert_fails_with(bsm_cuda_device_ops.code_load(device, &plan, &image),
                      BSM_CORRUPT, "code 0");
  }
  code[0].name = "sm_90a x";
  weights[0].size = 0;
  assert_fails_with(bsm_cuda_device_ops.code_load(device, &plan, &image),
                    BSM_CORRUPT, "code 0");
  assert_null(image);
  bsm_cuda_device_ops.close(device);
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_names),
      cmocka_unit_test(ranks_forms),
      cmocka_unit_test_teardown(runs_on_its_gpu_and_later_ones,
                                nothing_is_left),
      cmocka_unit_test_teardown(refuses_earlier_ones, nothing_is_left),
      cmocka_unit_test_teardown(builds_for_later_ones, nothing_is_left),
      cmocka_unit_test(compiles_twice_what_differs),
      cmocka_unit_test_teardown(refuses_what_is_no_code, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
