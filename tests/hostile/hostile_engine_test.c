/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that are truncated, damaged, of another version, or changed by
 * someone who also repaired the checksums: loading and running end with a
 * status or with some numbers, inside the engine's own memory. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "bessemer/bessemer.h"
#include "engine/engine_file.h"
#include "hostile/hostile.h"

enum { HEADER = 64 };

/* Several kinds of steps; the weights are constants. */
static const char ir_text[] =
    "graph(%x : Tensor, %w : Tensor, %m : Tensor, %e : Tensor, %i : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %two : int = prim::Constant[value=2]()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %minus : int = prim::Constant[value=-1]()\n"
    "  %false : bool = prim::Constant[value=0]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %ones : int[] = prim::Constant[value=[1, 1]]()\n"
    "  %twos : int[] = prim::Constant[value=[2, 2]]()\n"
    "  %zeros : int[] = prim::Constant[value=[0, 0]]()\n"
    "  %dims : int[] = prim::Constant[value=[2, 3]]()\n"
    "  %c : Tensor = aten::conv2d(%x, %w, %none, %ones, %ones, %ones, %one)\n"
    "  %r : Tensor = aten::relu(%c)\n"
    "  %p : Tensor = aten::max_pool2d(%r, %twos, %twos, %zeros, %ones, "
    "%false)\n"
    "  %a : Tensor = aten::mean(%p, %dims, %false, %none)\n"
    "  %y : Tensor = aten::matmul(%a, %m)\n"
    "  %s : Tensor = aten::softmax(%y, %minus, %none)\n"
    "  %g : Tensor = aten::embedding(%e, %i, %minus, %false, %false)\n"
    "  %t : Tensor = aten::transpose(%g, %zero, %one)\n"
    "  %n : Tensor = aten::sum(%t, %zero, %false, %none)\n"
    "  %v : Tensor, %k : Tensor = aten::topk(%s, %two, %minus, %true, %true)\n"
    "  %l : Tensor[] = prim::ListConstruct(%s, %s)\n"
    "  %u : Tensor = aten::cat(%l, %one)\n"
    /* Complex numbers are left to the reference library. */
    "  %ortho : str = prim::Constant[value=\"ortho\"]()\n"
    "  %q : Tensor = aten::complex(%n, %n)\n"
    "  %f : Tensor = aten::fft_fft(%q, %none, %minus, %ortho)\n"
    "  %z : Tensor = aten::mul(%k, %zero)\n"
    "  %j : Tensor?[] = prim::ListConstruct(%z)\n"
    "  %h : Tensor = aten::index(%f, %j)\n"
    "  %o : Tensor = aten::view_as_real(%h)\n"
    "  return (%u, %o, %k)\n";

static uint8_t *engine_bytes;
static size_t engine_size;

static bsm_input_spec spec_of(int64_t rank, const int64_t *dims,
                              bsm_array *constant) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = (int32_t)rank;
  memcpy(spec.min, dims, (size_t)rank * sizeof(*dims));
  if (constant) {
    spec.kind = BSM_INPUT_CONSTANT_TENSOR;
    spec.array = constant;
    constant->dims.rank = spec.rank;
    memcpy(constant->dims.d, dims, (size_t)rank * sizeof(*dims));
  }
  return spec;
}

static bsm_status compile_engine(bsm_engine **out) {
  static float values[256];
  for (size_t i = 0; i < 256; i++) values[i] = (float)(i % 7) - 3.0f;
  bsm_array constants[3] = {{values, BSM_DTYPE_FLOAT, {0}, NULL},
                            {values, BSM_DTYPE_FLOAT, {0}, NULL},
                            {values, BSM_DTYPE_FLOAT, {0}, NULL}};
  bsm_input_spec specs[5] = {spec_of(4, (int64_t[]){1, 2, 6, 6}, NULL),
                             spec_of(4, (int64_t[]){4, 2, 3, 3}, &constants[0]),
                             spec_of(2, (int64_t[]){4, 3}, &constants[1]),
                             spec_of(2, (int64_t[]){6, 2}, &constants[2]),
                             spec_of(1, (int64_t[]){3}, NULL)};
  specs[4].dtype = BSM_DTYPE_INT64;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = 5;
  options.no_timing = true;
  options.threads = 1;
  bsm_module *module = NULL;
  bsm_status status =
      bsm_module_load_memory(ir_text, strlen(ir_text), "steps", NULL, &module);
  if (!status) status = bsm_compile(module, &options, out);
  bsm_module_destroy(module);
  return status;
}

static int make_engine(void **state) {
  (void)state;
  char path[] = "/tmp/bessemer-hostile-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return -1;
  close(fd);
  bsm_engine *engine = NULL;
  bsm_status status = compile_engine(&engine);
  if (!status) status = bsm_engine_save(engine, path);
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_engine_destroy(engine);
  if (!status) engine_bytes = hostile_read_file(path, &engine_size);
  unlink(path);
  const int result = status ? -1 : 0;
  bsm_status_free(status);
  return result;
}

static int free_engine(void **state) {
  (void)state;
  free(engine_bytes);
  return 0;
}

/* Makes the sizes and hashes of the header right for a description of as many
 * bytes as it says. */
static void repair(uint8_t *file) {
  uint64_t description;
  memcpy(&description, file + 24, 8);
  if (description > engine_size - HEADER) return;
  uint32_t format;
  memcpy(&format, file + 8, sizeof(format));
  const uint64_t hash =
      bsm_engine_file_hash(format, file + HEADER, (size_t)description);
  memcpy(file + 48, &hash, 8);
}

/* Loads, describes and runs; every failure is fine, and so is success. */
static bsm_code load_and_run(const uint8_t *bytes, size_t size, bool checksum,
                             char *message) {
  hostile_allocator allocator;
  hostile_allocator_init(&allocator);
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.allocator = &allocator.base;
  options.skip_checksum = !checksum;
  /* In a block of its own: reading past the end is seen. */
  uint8_t *copy = aligned_alloc(64, (size + 64) / 64 * 64);
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_array in[HOSTILE_MAX_ARRAYS] = {{0}}, out[HOSTILE_MAX_ARRAYS] = {{0}};
  bsm_status status = bsm_engine_load_memory(copy, size, &options, &engine);
  if (!status) {
    char *text = NULL;
    status = bsm_engine_dump(engine, &text);
    bsm_string_free(text);
  }
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  if (!status) status = bsm_engine_memory(engine, 1, &memory);
  if (!status && memory.workspace + memory.scratch < (8u << 20) &&
      hostile_arrays(engine, 0, in, out)) {
    bsm_context_options running = BSM_CONTEXT_OPTIONS_INIT;
    running.threads = 1;
    status = bsm_context_create(engine, &running, &context);
    if (!status) {
      status = bsm_context_run(context, in, bsm_engine_input_count(engine), out,
                               bsm_engine_output_count(engine));
    }
  }
  const bsm_code code = bsm_status_code(status);
  snprintf(message, 512, "%s", bsm_status_message(status));
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  hostile_free_arrays(in);
  hostile_free_arrays(out);
  free(copy);
  assert_int_equal(allocator.live_blocks, 0);
  return code;
}

static void is_accepted(void **state) {
  (void)state;
  char message[512];
  assert_true(engine_size > 1000 && engine_size < 20000);
  if (load_and_run(engine_bytes, engine_size, true, message)) {
    fail_msg("%s", message);
  }
}

static void truncated_at_every_byte(void **state) {
  (void)state;
  char message[512];
  for (size_t n = 0; n < engine_size; n++) {
    assert_int_not_equal(load_and_run(engine_bytes, n, true, message), 0);
  }
}

/* Without repair every flip is noticed. */
static void bits_flipped(void **state) {
  (void)state;
  char message[512];
  for (size_t bit = 0; bit < engine_size * 8; bit += 13) {
    engine_bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    const bsm_code code =
        load_and_run(engine_bytes, engine_size, true, message);
    engine_bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    /* Padding between sections is covered by no checksum. */
    if (!code && engine_bytes[bit / 8] != 0) {
      fail_msg("flip of bit %zu was not noticed", bit);
    }
  }
}

/* Every byte of the description takes several values, with right checksums. */
static void description_changed(void **state) {
  (void)state;
  static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  uint64_t description;
  char message[512];
  memcpy(&description, engine_bytes + 24, 8);
  uint8_t *file = malloc(engine_size);
  assert_non_null(file);
  for (size_t i = HEADER; i < HEADER + description; i++) {
    for (size_t v = 0; v < sizeof(values); v++) {
      if (engine_bytes[i] == values[v] || (i + v) % 2) continue;
      memcpy(file, engine_bytes, engine_size);
      file[i] = values[v];
      repair(file);
      (void)load_and_run(file, engine_size, false, message);
    }
  }
  free(file);
}

/* Every eight bytes of the description become an odd number. */
static void numbers_changed(void **state) {
  (void)state;
  static const int64_t values[] = {-1, INT64_MAX, INT64_MIN, 1LL << 32,
                                   INT32_MAX};
  uint64_t description;
  char message[512];
  memcpy(&description, engine_bytes + 24, 8);
  uint8_t *file = malloc(engine_size);
  assert_non_null(file);
  for (size_t i = HEADER; i + 8 <= HEADER + description; i += 4) {
    memcpy(file, engine_bytes, engine_size);
    memcpy(file + i, &values[i / 4 % 5], i % 3 ? 8 : 4);
    repair(file);
    (void)load_and_run(file, engine_size, false, message);
  }
  free(file);
}

static void header_fields(void **state) {
  (void)state;
  static const struct {
    size_t at, size;
    uint64_t value;
    bsm_code code;
    const char *text;
  } cases[] = {
      {0, 1, 'X', BSM_CORRUPT, "not an engine"},
      {8, 4, 0, BSM_VERSION, "format 0.0"},
      {8, 4, 7, BSM_VERSION, "format 0.7"},
      {8, 4, (8 << 16) + 999, BSM_VERSION, "use a newer runtime"},
      {8, 4, UINT32_MAX, BSM_VERSION, "65535.65535"},
      {12, 4, 0x04030201, BSM_CORRUPT, "byte order"},
      {16, 8, 0, BSM_CORRUPT, "bytes"},
      {16, 8, UINT64_MAX, BSM_CORRUPT, "bytes"},
      {24, 8, 0, BSM_CORRUPT, ""},
      {24, 8, UINT64_MAX, BSM_CORRUPT, ""},
      {24, 8, UINT64_MAX - 63, BSM_CORRUPT, ""},
      {32, 8, 0, BSM_CORRUPT, ""},
      {32, 8, UINT64_MAX, BSM_CORRUPT, ""},
      {40, 8, 0, BSM_CORRUPT, ""},
      {40, 8, UINT64_MAX, BSM_CORRUPT, ""},
      {48, 8, 0, BSM_CORRUPT, "checksum"},
      {56, 8, 0, BSM_CORRUPT, "checksum"},
  };
  uint8_t *file = malloc(engine_size);
  assert_non_null(file);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char message[512];
    memcpy(file, engine_bytes, engine_size);
    memcpy(file + cases[i].at, &cases[i].value, cases[i].size);
    const bsm_code code = load_and_run(file, engine_size, true, message);
    if (code != cases[i].code || !strstr(message, cases[i].text)) {
      fail_msg("case %zu: %s: %s", i, bsm_code_name(code), message);
    }
  }
  free(file);
}

/* ---- files ---- */

static void expect_failure(bsm_status status, bsm_code code, const char *text) {
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s", bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
}

static void files_that_cannot_be_read(void **state) {
  (void)state;
  bsm_engine *engine = NULL;
  bsm_module *module = NULL;
  expect_failure(bsm_engine_load("/nowhere/x.bsm", NULL, &engine), BSM_IO,
                 "/nowhere/x.bsm");
  expect_failure(bsm_engine_load("/tmp", NULL, &engine), BSM_IO, "/tmp");
  expect_failure(bsm_engine_load("/dev/null", NULL, &engine), BSM_IO,
                 "/dev/null");
  expect_failure(bsm_engine_load("", NULL, &engine), BSM_IO, "");
  expect_failure(bsm_module_load("/nowhere/x.ts", NULL, &module), BSM_IO,
                 "/nowhere/x.ts");
  expect_failure(bsm_module_load("/tmp", NULL, &module), BSM_IO, "/tmp");
  assert_null(engine);
  assert_null(module);
}

static void paths_that_cannot_be_written(void **state) {
  (void)state;
  bsm_engine *engine = NULL;
  bsm_status status = compile_engine(&engine);
  assert_null(status);
  expect_failure(bsm_engine_save(engine, "/nowhere/x.bsm"), BSM_IO,
                 "/nowhere/x.bsm");
  expect_failure(bsm_engine_save(engine, ""), BSM_IO, "");
  char folder[] = "/tmp/bessemer-hostile-XXXXXX";
  assert_non_null(mkdtemp(folder));
  expect_failure(bsm_engine_save(engine, folder), BSM_IO, folder);
  /* Nothing is left in the folder after a write that fails. */
  char path[64];
  snprintf(path, sizeof(path), "%s/full.bsm", folder);
  assert_int_equal(symlink("/dev/full", path), 0);
  status = bsm_engine_save(engine, path);
  struct stat info;
  if (status) {
    assert_int_equal(bsm_status_code(status), BSM_IO);
    bsm_status_free(status);
  } else { /* replaced the link instead of writing through it */
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode));
  }
  unlink(path);
  assert_int_equal(rmdir(folder), 0);
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_accepted),
      cmocka_unit_test(truncated_at_every_byte),
      cmocka_unit_test(bits_flipped),
      cmocka_unit_test(description_changed),
      cmocka_unit_test(numbers_changed),
      cmocka_unit_test(header_fields),
      cmocka_unit_test(files_that_cannot_be_read),
      cmocka_unit_test(paths_that_cannot_be_written),
  };
  return cmocka_run_group_tests_name("hostile_engine", tests, make_engine,
                                     free_engine);
}
