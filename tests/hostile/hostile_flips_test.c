/* SPDX-License-Identifier: Apache-2.0 */
/* Every truncation and every flip of one bit of archives, of programs of
 * torch.export and of engines: an error, or the right answer. Engines also with
 * their hash made right after the flip: an error, or some answer.
 *
 *   hostile_flips_test [SAMPLE[/FIRST]]
 *
 * One change in SAMPLE, from FIRST on (tests/sample.h). Without arguments one
 * in 100, another part each day; 1 is the whole set, 1.2 million changes. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "bessemer/bessemer.h"
#include "engine/engine_file.h"
#include "hostile/hostile.h"
#include "sample.h"

enum { HEADER = 64, EVERY = 100 };

typedef struct subject {
  const char *name, *model; /* below tests/data */
  const char *method;       /* NULL: forward */
  int64_t least[5];         /* of its input: dims, then 0 */
  int64_t greatest[5];      /* of engines with a range */
  const char *target;       /* of an engine; of a model, NULL */
  uint8_t *bytes;
  size_t size;
  uint64_t answer; /* a hash of what it computes */
} subject;

static subject subjects[] = {
    {"scripted", "models/mixed-script.ts", NULL, {3, 4}},
    {"frozen", "models/choices-frozen.ts", NULL, {2, 3, 4, 5}},
    {"state", "models/state-script.ts", NULL, {2, 4}},
    {"exported", "models/mixed-exported.pt2", NULL, {3, 4}},
    {"exported by 2.6", "models/choices-v26.pt2", NULL, {2, 3, 4, 5}},
    {"plan, plain C",
     "models/dense-script.ts",
     NULL,
     {2, 4, 13},
     {0},
     "cpu:scalar,threads=1"},
    {"plan, AVX2",
     "models/dense-script.ts",
     NULL,
     {2, 4, 13},
     {0},
     "cpu:avx2,threads=1"},
    {"plan, AVX-512",
     "models/dense-script.ts",
     NULL,
     {2, 4, 13},
     {0},
     "cpu:avx512,threads=1"},
    {"steps of the library",
     "models/mixed-script.ts",
     NULL,
     {3, 4},
     {0},
     "cpu:scalar,threads=1"},
    {"program",
     "results/results.ts",
     "detections",
     {3, 4},
     {0},
     "cpu:scalar,threads=1"},
    {"ranges",
     "models/dense-trace.ts",
     NULL,
     {1, 4, 13},
     {3, 4, 13},
     "cpu:scalar,threads=1"},
};
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

static test_sample sample;

/* ---- from bytes to an answer ---- */

static bsm_status run(const subject *s, bsm_engine *engine, uint64_t *answer) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_binding binding = BSM_BINDING_INIT;
  bsm_context *context = NULL;
  options.threads = 1;
  options.max_instructions = 100000;
  options.max_run_bytes = 16u << 20;
  *answer = 0;
  if (bsm_engine_input_count(engine) != 1) return BSM_OK;
  bsm_status status = bsm_engine_input(engine, 0, &binding);
  if (status) return status;
  for (int32_t i = 0; i < binding.dims.rank && i < 5; i++) {
    if (binding.dims.d[i] < 0) binding.dims.d[i] = s->least[i];
  }
  bsm_array input = hostile_array_for(&binding, 0x3f);
  if (input.data) status = bsm_context_create(engine, &options, &context);
  if (context) status = bsm_context_run_keep(context, &input, 1);
  const size_t count = context ? bsm_context_output_count(context) : 0;
  for (size_t i = 0; i < count && !status; i++) {
    bsm_array out;
    status = bsm_context_output(context, i, &out);
    if (status) break;
    size_t size = bsm_dtype_size(out.dtype);
    for (int32_t d = 0; d < out.dims.rank; d++) size *= (size_t)out.dims.d[d];
    *answer = bsm_hash64(&out.dims, sizeof(out.dims), *answer);
    *answer = bsm_hash64(size ? out.data : NULL, size, *answer);
  }
  bsm_context_destroy(context);
  free(input.data);
  return status;
}

static void set_spec(const subject *s, bsm_input_spec *spec) {
  *spec = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  while (s->least[spec->rank]) {
    const int32_t i = spec->rank++;
    const bool ranges = s->greatest[i] > 0;
    spec->min[i] = s->least[i];
    spec->opt[i] = ranges ? s->least[i] : 0;
    spec->max[i] = ranges ? s->greatest[i] : 0;
  }
}

static bsm_status compile(const subject *s, const uint8_t *bytes, size_t size,
                          const bsm_allocator *memory, bsm_engine **out) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_inflated = 4u << 20;
  limits.max_tensor_bytes = 4u << 20;
  limits.max_nodes = 100000;
  limits.max_loop_trips = 1000;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  loading.limits = &limits;
  loading.allocator = memory;
  bsm_input_spec spec;
  set_spec(s, &spec);
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = &spec;
  options.input_count = 1;
  options.method = s->method;
  options.target = s->target;
  options.threads = 1;
  options.no_timing = true;
  options.allocator = memory;
  bsm_module *module = NULL;
  bsm_status status =
      bsm_module_load_memory(bytes, size, "flipped", &loading, &module);
  if (!status) status = bsm_compile(module, &options, out);
  bsm_module_destroy(module);
  return status;
}

static bsm_status answer_of(const subject *s, const uint8_t *bytes, size_t size,
                            const bsm_allocator *memory, uint64_t *answer) {
  bsm_engine *engine = NULL;
  bsm_status status;
  if (s->target) {
    bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
    options.allocator = memory;
    status = bsm_engine_load_memory(bytes, size, &options, &engine);
  } else {
    status = compile(s, bytes, size, memory, &engine);
  }
  if (!status) status = run(s, engine, answer);
  bsm_engine_destroy(engine);
  return status;
}

/* ---- changes ---- */

typedef enum outcome { REFUSED, RIGHT, OTHER } outcome;

/* In a block of its own: reading past the end is seen. */
static outcome try_bytes(const subject *s, const uint8_t *bytes, size_t size) {
  hostile_allocator memory;
  hostile_allocator_init(&memory);
  uint8_t *copy = aligned_alloc(64, (size + 64) / 64 * 64);
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  uint64_t answer = 0;
  bsm_status status = answer_of(s, copy, size, &memory.base, &answer);
  const outcome result = status ? REFUSED : answer == s->answer ? RIGHT : OTHER;
  if (bsm_status_code(status) == BSM_INTERNAL) {
    fail_msg("%s: %s", s->name, bsm_status_message(status));
  }
  bsm_status_free(status);
  free(copy);
  assert_int_equal(memory.live_blocks, 0);
  return result;
}

static void truncate_everywhere(void **state) {
  (void)state;
  size_t refused = 0, tried = 0;
  for (subject *s = subjects; s < subjects + SUBJECTS; s++) {
    for (size_t n = 0; n < s->size; n++) {
      if (!test_sample_takes(&sample)) continue;
      const outcome result = try_bytes(s, s->bytes, n);
      if (result == OTHER) fail_msg("%s: %zu bytes run, wrong", s->name, n);
      refused += result == REFUSED;
      tried++;
    }
  }
  assert_true(tried > 0);
  assert_int_equal(refused, tried);
}

static void flip_every_bit(void **state) {
  (void)state;
  size_t refused = 0, tried = 0;
  for (subject *s = subjects; s < subjects + SUBJECTS; s++) {
    for (size_t bit = 0; bit < s->size * 8; bit++) {
      if (!test_sample_takes(&sample)) continue;
      s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      const outcome result = try_bytes(s, s->bytes, s->size);
      s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      if (result == OTHER) fail_msg("%s: bit %zu: wrong answer", s->name, bit);
      refused += result == REFUSED;
      tried++;
    }
  }
  assert_true(tried > 0);
  assert_true(refused > tried / 2); /* few bits do not matter */
}

/* Makes the hash of the description right. False: it has another size now. */
static bool repair(subject *s) {
  uint64_t description;
  uint32_t format;
  memcpy(&description, s->bytes + 24, sizeof(description));
  memcpy(&format, s->bytes + 8, sizeof(format));
  if (description > s->size - HEADER) return false;
  const uint64_t hash =
      bsm_engine_file_hash(format, s->bytes + HEADER, (size_t)description);
  memcpy(s->bytes + 48, &hash, sizeof(hash));
  return true;
}

static void flip_every_bit_and_repair(void **state) {
  (void)state;
  size_t refused = 0, tried = 0;
  for (subject *s = subjects; s < subjects + SUBJECTS; s++) {
    uint8_t header[HEADER];
    uint64_t description;
    if (!s->target) continue;
    memcpy(header, s->bytes, HEADER);
    memcpy(&description, s->bytes + 24, sizeof(description));
    for (size_t bit = HEADER * 8; bit < (HEADER + description) * 8; bit++) {
      if (!test_sample_takes(&sample)) continue;
      s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      assert_true(repair(s));
      refused += try_bytes(s, s->bytes, s->size) == REFUSED;
      s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      memcpy(s->bytes, header, HEADER);
      tried++;
    }
  }
  assert_true(tried > 0);
  assert_true(refused < tried); /* the hash was right: something else decided */
}

/* ---- the subjects ---- */

/* The engine in place of the model. */
static bsm_status make_engine(subject *s) {
  bsm_engine *engine = NULL;
  void *data = NULL;
  bsm_status status = compile(s, s->bytes, s->size, NULL, &engine);
  size_t size = 0;
  if (!status) status = bsm_engine_save_memory(engine, NULL, &data, &size);
  bsm_engine_destroy(engine);
  if (status) return status;
  free(s->bytes);
  s->bytes = malloc(size);
  assert_non_null(s->bytes);
  memcpy(s->bytes, data, size);
  s->size = size;
  bsm_bytes_free(data);
  return BSM_OK;
}

static int set_up(void **state) {
  (void)state;
  for (subject *s = subjects; s < subjects + SUBJECTS; s++) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", BSM_TEST_DATA_DIR, s->model);
    s->bytes = hostile_read_file(path, &s->size);
    bsm_status status = s->target ? make_engine(s) : BSM_OK;
    if (!status) status = answer_of(s, s->bytes, s->size, NULL, &s->answer);
    if (status || !s->answer) {
      printf("%s: %s\n", s->name, bsm_status_message(status));
      return -1;
    }
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (size_t i = 0; i < SUBJECTS; i++) free(subjects[i].bytes);
  test_sample_tell(&sample);
  return 0;
}

int main(int argc, char **argv) {
  char today[64];
  snprintf(today, sizeof(today), "%d/%d", EVERY,
           (int)(time(NULL) / 86400 % EVERY));
  if (!test_sample_init(&sample, argc > 1 ? argv[1] : today)) {
    fprintf(stderr, "usage: hostile_flips_test [SAMPLE[/FIRST]]\n");
    return 2;
  }
  printf("%s\n", argc > 1 ? argv[1] : today);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(truncate_everywhere),
      cmocka_unit_test(flip_every_bit),
      cmocka_unit_test(flip_every_bit_and_repair),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
