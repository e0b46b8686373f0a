/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in tests. */
#include "cuda/kernel_kit.h"

#include <glob.h>
#include <stdio.h>

void device_open(device *d) {
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  skip();
#endif
  *d = (device){.standin = standin_open(1)};
  bsm_arena_init(&d->arena, NULL);
  assert_ok(bsm_cuda_driver_open(BSM_STANDIN_CUDA, &d->driver));
  assert_ok(bsm_nvrtc_open(BSM_STANDIN_NVRTC, &d->arena, &d->nvrtc));
  assert_cu(d->driver.primary_context_retain(&d->context, 0));
  assert_cu(d->driver.context_push(d->context));
  assert_cu(d->driver.stream_create(&d->stream, BSM_CU_STREAM_NON_BLOCKING));
}

void device_close(device *d) {
  (void)d->driver.stream_destroy(d->stream);
  assert_cu(d->driver.context_pop(NULL));
  assert_cu(d->driver.primary_context_release(0));
  const standin_report r = report_of(d);
  if (r.misuses) fail_msg("%s", r.last_misuse);
  assert_int_equal(r.contexts + r.streams + r.events + r.modules + r.pools, 0);
  assert_int_equal(r.graphs + r.executables, 0);
  assert_int_equal(r.device_blocks + r.host_blocks, 0);
  bsm_nvrtc_close(d->nvrtc);
  bsm_cuda_driver_close(&d->driver);
  bsm_arena_destroy(&d->arena);
  dlclose(d->standin.library);
}

/* ---- kernels ---- */

static const char *read_file(device *d, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s cannot be read", path);
  assert_int_equal(fseek(f, 0, SEEK_END), 0);
  const long size = ftell(f);
  assert_true(size > 0);
  rewind(f);
  char *text = bsm_arena_alloc(&d->arena, (size_t)size + 1, 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)size, f), size);
  fclose(f);
  text[size] = 0;
  return text;
}

const char *kernel_file(device *d, const char *name) {
  const char *path =
      bsm_arena_printf(&d->arena, "%s/%s", BSM_KERNELS_DIR, name);
  assert_non_null(path);
  return read_file(d, path);
}

const char *test_kernels(device *d) {
  return read_file(d, BSM_TEST_DATA_DIR "/../cuda/emulation_kernels.cu");
}

bsm_status try_compile(device *d, const char *name, const char *text,
                       const char *const *options, const char *architecture,
                       bsm_str *code) {
  glob_t found;
  assert_int_equal(glob(BSM_KERNELS_DIR "/*.cuh", 0, NULL, &found), 0);
  assert_int_equal(glob(BSM_KERNELS_DIR "/*.h", GLOB_APPEND, NULL, &found), 0);
  const char **texts = BSM_NEW_ARRAY(&d->arena, const char *, found.gl_pathc);
  const char **names = BSM_NEW_ARRAY(&d->arena, const char *, found.gl_pathc);
  assert_true(texts && names);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    texts[i] = read_file(d, found.gl_pathv[i]);
    names[i] = strrchr(found.gl_pathv[i], '/') + 1;
  }
  bsm_nvrtc_source source = {.name = name,
                             .text = text,
                             .header_names = names,
                             .headers = texts,
                             .header_count = (int)found.gl_pathc,
                             .options = options};
  while (options && options[source.option_count]) source.option_count++;
  const bool is_virtual = strncmp(architecture, "compute_", 8) == 0;
  bsm_status status =
      bsm_nvrtc_compile(d->nvrtc, &source, architecture, &d->arena,
                        is_virtual ? NULL : code, is_virtual ? code : NULL);
  globfree(&found);
  return status;
}

bsm_cu_module load_kernels(device *d, const char *name, const char *text,
                           const char *const *options) {
  bsm_str code;
  bsm_cu_module module = NULL;
  assert_ok(try_compile(d, name, text, options, "sm_90a", &code));
  assert_cu(d->driver.module_load(&module, code.data, 0, NULL, NULL));
  return module;
}

bsm_cu_function find_kernel(device *d, bsm_cu_module module, const char *name) {
  bsm_cu_function function = NULL;
  assert_cu(d->driver.module_get_function(&function, module, name));
  assert_cu(d->driver.function_set_attribute(
      function, BSM_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE, 227 << 10));
  return function;
}

/* ---- memory ---- */

bsm_cu_address put(device *d, const void *from, size_t bytes) {
  bsm_cu_address address = 0;
  assert_cu(d->driver.memory_allocate(&address, bytes));
  if (from) {
    assert_cu(d->driver.upload_async(address, from, bytes, d->stream));
  }
  return address;
}

void fetch(device *d, void *to, bsm_cu_address from, size_t bytes) {
  const bsm_cu_result result =
      d->driver.download_async(to, from, bytes, d->stream);
  if (result) fail_msg("%d: %s", result, report_of(d).last_fault);
  assert_cu(synchronize(d));
}

void drop(device *d, bsm_cu_address address) {
  (void)d->driver.memory_free(address);
}

/* ---- running ---- */

bsm_cu_result launch(device *d, bsm_cu_function function, unsigned blocks,
                     unsigned threads, unsigned shared_bytes, void *parameter) {
  const bsm_cu_launch_config config = {.grid = {blocks, 1, 1},
                                       .block = {threads, 1, 1},
                                       .shared_bytes = shared_bytes,
                                       .stream = d->stream};
  void *parameters[] = {parameter};
  return d->driver.launch(&config, function, parameters, NULL);
}

bsm_cu_result synchronize(device *d) {
  return d->driver.stream_synchronize(d->stream);
}

standin_report report_of(const device *d) {
  standin_report r;
  d->standin.report(&r);
  return r;
}
