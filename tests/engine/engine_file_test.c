/* SPDX-License-Identifier: Apache-2.0 */
/* Engine files: round trip, damage of every kind, and plans that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/byte_order.h"
#include "base/file.h"
#include "base/hash.h"
#include "engine/engine_file.h"
#include "engine/plan_bytes.h"

#define DESCRIPTION_HASH_AT 48

/* A plan of two steps: y = relu(x), z = copy(y) with weights beside them. */
typedef struct sample {
  bsm_plan plan;
  bsm_plan_tensor tensors[4];
  bsm_plan_step steps[2];
  bsm_plan_weights weights[1];
  bsm_plan_binding inputs[1], outputs[1];
  bsm_plan_metadata metadata[1];
  bsm_step_params params[2];
  uint32_t ids[2][3];
} sample;

static const bsm_plan_trial trials[2] = {{"plain", 1500},
                                         {"other", UINT64_MAX}};

static _Alignas(64) const float weight_values[5] = {1, 2, 3, 4, 5};

static bsm_plan_tensor vector(bsm_memory_place place, uint32_t index,
                              uint64_t offset) {
  return (bsm_plan_tensor){.name = "v",
                           .dtype = BSM_DTYPE_FLOAT,
                           .dims = {1, {5}},
                           .strides = {1},
                           .place = place,
                           .index = index,
                           .offset = offset};
}

static void make_sample(sample *s) {
  memset(s, 0, sizeof(*s));
  s->tensors[0] = vector(BSM_PLACE_INPUT, 0, 0);
  s->tensors[1] = vector(BSM_PLACE_WORKSPACE, 0, 64);
  s->tensors[2] = vector(BSM_PLACE_OUTPUT, 0, 0);
  s->tensors[3] = vector(BSM_PLACE_WEIGHTS, 0, 0);
  memcpy(s->ids, (uint32_t[2][3]){{0, 3, 1}, {1, 0, 2}}, sizeof(s->ids));
  s->params[0].element_wise.instruction_count = 1;
  s->params[0].element_wise.result = 2;
  s->params[0].element_wise.program[0] =
      (bsm_step_ew_instruction){.kind = BSM_STEP_EW_BINARY,
                                .code = BSM_ELEMENT_WISE_SUM,
                                .dst = 2,
                                .a = 0,
                                .b = 1,
                                .dtype = BSM_DTYPE_FLOAT};
  s->steps[0] = (bsm_plan_step){.kind = BSM_STEP_ELEMENT_WISE,
                                .name = "add",
                                .tactic = "",
                                .input_count = 2,
                                .output_count = 1,
                                .inputs = s->ids[0],
                                .outputs = s->ids[0] + 2,
                                .weights = BSM_STEP_NO_WEIGHTS,
                                .params = &s->params[0]};
  s->steps[1] = (bsm_plan_step){.kind = BSM_STEP_COPY,
                                .name = "copy",
                                .tactic = "plain",
                                .input_count = 1,
                                .output_count = 1,
                                .inputs = s->ids[1],
                                .outputs = s->ids[1] + 2,
                                .weights = BSM_STEP_NO_WEIGHTS,
                                .params = &s->params[1],
                                .trials = trials,
                                .trial_count = 2};
  s->weights[0] = (bsm_plan_weights){weight_values, sizeof(weight_values)};
  s->inputs[0] = (bsm_plan_binding){"x", 0};
  s->outputs[0] = (bsm_plan_binding){"out", 2};
  s->metadata[0] = (bsm_plan_metadata){"key", "value"};
  s->plan = (bsm_plan){.tensors = s->tensors,
                       .tensor_count = 4,
                       .steps = s->steps,
                       .step_count = 2,
                       .weights = s->weights,
                       .weights_count = 1,
                       .inputs = s->inputs,
                       .outputs = s->outputs,
                       .input_count = 1,
                       .output_count = 1,
                       .workspace_size = {128},
                       .metadata = s->metadata,
                       .metadata_count = 1};
}

typedef struct bytes {
  uint8_t *data; /* 64-byte aligned */
  size_t size;
} bytes;

/* The sample's file in memory. */
static bytes sealed_file(const bsm_engine_seal *seal) {
  char path[] = "/tmp/bsm_engine_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  sample s;
  make_sample(&s);
  assert_null(bsm_plan_verify(&s.plan));
  assert_null(bsm_engine_file_write(&s.plan, path, seal));
  bsm_file_map map;
  assert_null(bsm_file_map_open(path, NULL, &map));
  bytes out = {aligned_alloc(64, (map.size + 63) / 64 * 64), map.size};
  assert_non_null(out.data);
  memcpy(out.data, map.data, map.size);
  bsm_file_map_close(&map);
  unlink(path);
  return out;
}

static bytes sample_file(void) {
  return sealed_file(NULL);
}

static bsm_code read_code(const void *data, size_t size) {
  bsm_arena arena;
  bsm_plan *plan;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_engine_file_read(&arena, data, size, true, &plan);
  const bsm_code code = bsm_status_code(status);
  if (status) {
    assert_true(strlen(bsm_status_message(status)) > 8);
    assert_null(plan);
  }
  bsm_status_free(status);
  bsm_arena_destroy(&arena);
  return code;
}

static void test_round_trip(void **state) {
  (void)state;
  bytes file = sample_file();
  bsm_arena arena;
  bsm_plan *plan;
  bsm_text before, after;
  sample s;
  make_sample(&s);
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_engine_file_read(&arena, file.data, file.size, true, &plan));
  bsm_text_init(&before, &arena);
  bsm_text_init(&after, &arena);
  bsm_plan_print(&before, &s.plan);
  bsm_plan_print(&after, plan);
  assert_string_equal(before.data, after.data);
  assert_memory_equal(plan->weights[0].data, weight_values,
                      sizeof(weight_values));
  assert_true((uintptr_t)plan->weights[0].data % 64 == 0);
  assert_memory_equal(&plan->steps[0].params->element_wise.program[0],
                      &s.params[0].element_wise.program[0],
                      sizeof(bsm_step_ew_instruction));
  assert_int_equal(plan->steps[0].trial_count, 0);
  assert_int_equal(plan->steps[1].trial_count, 2);
  for (int i = 0; i < 2; i++) {
    const bsm_plan_trial *trial = &plan->steps[1].trials[i];
    assert_string_equal(trial->tactic, trials[i].tactic);
    assert_int_equal(trial->nanoseconds, trials[i].nanoseconds);
  }
  bsm_arena_destroy(&arena);
  free(file.data);
}

/* More trials than a step may have are refused. */
static void test_too_many_trials(void **state) {
  (void)state;
  bsm_plan_trial many[BSM_STEP_MAX_TRIALS + 1];
  const uint64_t offsets[1] = {0};
  const bsm_weights_section section = {(const uint8_t *)weight_values,
                                       sizeof(weight_values)};
  bsm_arena arena;
  bsm_plan *plan;
  bsm_str text;
  sample s;
  make_sample(&s);
  bsm_arena_init(&arena, NULL);
  for (size_t i = 0; i <= BSM_STEP_MAX_TRIALS; i++) many[i] = trials[0];
  s.steps[1].trials = many;
  for (uint32_t extra = 0; extra < 2; extra++) {
    s.steps[1].trial_count = BSM_STEP_MAX_TRIALS + extra;
    assert_null(bsm_plan_to_bytes(&s.plan, offsets, &arena, &text));
    bsm_status status = bsm_plan_from_bytes(text, BSM_ENGINE_FORMAT_MINOR,
                                            &section, false, &arena, &plan);
    assert_int_equal(bsm_status_code(status),
                     extra ? BSM_CORRUPT : BSM_CODE_OK);
    bsm_status_free(status);
  }
  bsm_arena_destroy(&arena);
}

static void test_truncated_everywhere(void **state) {
  (void)state;
  bytes file = sample_file();
  for (size_t size = 0; size < file.size; size++) {
    assert_int_equal(read_code(file.data, size), BSM_CORRUPT);
  }
  free(file.data);
}

/* Each flipped bit is noticed, or lies in the zeros between sections. */
static void test_every_bit_flipped(void **state) {
  (void)state;
  bytes file = sample_file();
  size_t harmless = 0;
  for (size_t bit = 0; bit < file.size * 8; bit++) {
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (read_code(file.data, file.size) == BSM_CODE_OK) harmless++;
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_true(harmless <= 2 * 63 * 8);
  assert_int_equal(read_code(file.data, file.size), BSM_CODE_OK);
  free(file.data);
}

/* As an attacker would: the checksum is made right again, so the reader and
 * the verifier see every damaged field. None may crash. */
static void test_flipped_with_right_checksum(void **state) {
  (void)state;
  bytes file = sample_file();
  uint64_t description_size;
  memcpy(&description_size, file.data + 24, sizeof(description_size));
  size_t refused = 0, total = 0;
  for (size_t bit = 64 * 8; bit < (64 + description_size) * 8; bit++) {
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    const uint64_t hash = bsm_engine_file_hash(
        BSM_ENGINE_FORMAT_VERSION, file.data + 64, (size_t)description_size);
    memcpy(file.data + DESCRIPTION_HASH_AT, &hash, sizeof(hash));
    total++;
    refused += read_code(file.data, file.size) != BSM_CODE_OK;
    file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_true(refused > total / 4);
  free(file.data);
}

/* The low bytes of the two halves of the version, which is as the machine has
 * it. */
enum {
  MINOR_AT = BSM_HOST_IS_BIG ? 11 : 8,
  MAJOR_AT = BSM_HOST_IS_BIG ? 9 : 10
};

static void test_other_version(void **state) {
  (void)state;
  bytes file = sample_file();
  file.data[MINOR_AT]++; /* of the minor version: a newer runtime's */
  assert_int_equal(read_code(file.data, file.size), BSM_VERSION);
  file.data[MINOR_AT]--;
  file.data[MAJOR_AT]++; /* of the major version */
  assert_int_equal(read_code(file.data, file.size), BSM_VERSION);
  file.data[MAJOR_AT] = 0;
  assert_int_equal(read_code(file.data, file.size), BSM_VERSION);
  memcpy(file.data, "PK\3\4", 4);
  assert_int_equal(read_code(file.data, file.size), BSM_CORRUPT);
  free(file.data);
}

/* ---- signatures ---- */

static const uint8_t public_key[32] = {1, 2, 3, [31] = 4};

/* What a seal has seen. */
typedef struct seen {
  uint8_t data[4096];
  size_t size;
  bool fails;
} seen;

static bsm_status seal(void *user, const bsm_file_piece *pieces, size_t count,
                       uint8_t *signature) {
  seen *s = user;
  for (size_t i = 0; i < count; i++) {
    assert_true(s->size + pieces[i].size <= sizeof(s->data));
    memcpy(s->data + s->size, pieces[i].data, pieces[i].size);
    s->size += pieces[i].size;
  }
  if (signature) memset(signature, 0x5a, 64);
  return s->fails ? BSM_FAIL(BSM_IO, "no key") : BSM_OK;
}

/* A seal sees all bytes of the file, or all but what it makes itself. */
static void test_seals_see_the_file(void **state) {
  (void)state;
  bsm_engine_signature end;
  for (int with_key = 0; with_key < 2; with_key++) {
    seen s = {.size = 0};
    const bsm_engine_seal look = {with_key ? public_key : NULL, seal, &s};
    bytes file = sealed_file(&look), plain = sample_file();
    assert_int_equal(file.size, plain.size + (with_key ? 128 : 0));
    assert_int_equal(s.size, file.size - (with_key ? 64 : 0));
    assert_memory_equal(s.data, file.data, s.size);
    /* All but the size of the file, at 16. */
    assert_memory_equal(file.data, plain.data, 16);
    assert_memory_equal(file.data + 24, plain.data + 24, plain.size - 24);
    assert_int_equal(read_code(file.data, file.size), BSM_CODE_OK);
    assert_int_equal(bsm_engine_file_signature(file.data, file.size, &end),
                     with_key);
    if (with_key) {
      assert_memory_equal(end.public_key, public_key, 32);
      for (int i = 0; i < 64; i++) assert_int_equal(end.signature[i], 0x5a);
    }
    free(file.data);
    free(plain.data);
  }
}

static void test_a_seal_may_fail(void **state) {
  (void)state;
  char path[] = "/tmp/bsm_engine_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  sample x;
  make_sample(&x);
  seen s = {.fails = true};
  const bsm_engine_seal look = {public_key, seal, &s};
  bsm_status status = bsm_engine_file_write(&x.plan, path, &look);
  assert_int_equal(bsm_status_code(status), BSM_IO);
  bsm_status_free(status);
  assert_int_equal(access(path, F_OK), -1);
}

static void test_damaged_signatures(void **state) {
  (void)state;
  seen s = {.size = 0};
  const bsm_engine_seal look = {public_key, seal, &s};
  bytes file = sealed_file(&look);
  for (size_t size = 0; size < file.size; size++) {
    assert_int_equal(read_code(file.data, size), BSM_CORRUPT);
  }
  /* Also when the header says so. */
  for (uint64_t less = 1; less <= 128; less++) {
    const uint64_t size = file.size - less;
    memcpy(file.data + 16, &size, sizeof(size));
    assert_int_equal(read_code(file.data, (size_t)size),
                     less == 128 ? BSM_CODE_OK : BSM_CORRUPT);
  }
  const uint64_t size = file.size;
  memcpy(file.data + 16, &size, sizeof(size));
  /* All but the key and the signature itself is fixed. */
  for (size_t i = 0; i < 128; i++) {
    const bool fixed = i < 16 || (i >= 48 && i < 64);
    uint8_t *at = file.data + file.size - 128 + i;
    *at ^= 0x10;
    assert_int_equal(read_code(file.data, file.size),
                     fixed ? BSM_CORRUPT : BSM_CODE_OK);
    *at ^= 0x10;
  }
  file.data[MINOR_AT] = 1; /* format 8.1 has no signatures */
  assert_int_equal(read_code(file.data, file.size), BSM_CORRUPT);
  free(file.data);
}

static void test_unwritable_path(void **state) {
  (void)state;
  sample s;
  make_sample(&s);
  bsm_status status =
      bsm_engine_file_write(&s.plan, "/no/such/directory/engine.bsm", NULL);
  assert_int_equal(bsm_status_code(status), BSM_IO);
  bsm_status_free(status);
}

static void assert_refused(const sample *s) {
  bsm_status status = bsm_plan_verify(&s->plan);
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  bsm_status_free(status);
}

/* Each kind of lie in a plan is found. */
static void test_lying_plans(void **state) {
  (void)state;
  sample s;
#define LIE(statement) \
  make_sample(&s);     \
  statement;           \
  assert_refused(&s)
  LIE(s.steps[0].inputs[1] = 4);
  LIE(s.steps[0].outputs[0] = 4);
  LIE(s.steps[0].outputs[0] = 3); /* writes to weights */
  LIE(s.steps[0].outputs[0] = 0); /* writes to an input */
  LIE(s.steps[0].weights[0] = 1);
  LIE(s.steps[0].kind = (bsm_step_kind)77);
  LIE(s.steps[0].input_count = BSM_STEP_MAX_TENSORS + 1);
  LIE(s.steps[0].output_count = 0);
  LIE(s.tensors[1].offset = 128);
  LIE(s.tensors[1].offset = 109);
  LIE(s.tensors[1].offset = UINT64_MAX - 3);
  LIE(s.tensors[1].strides[0] = 8);
  LIE(s.tensors[1].strides[0] = INT64_MAX);
  LIE(s.tensors[1].strides[0] = -1);
  LIE(s.tensors[1].dims.d[0] = -1);
  LIE(s.tensors[1].dims.d[0] = INT64_MAX);
  LIE(s.tensors[1].dims.rank = 2; s.tensors[1].dims.d[0] = 0;
      s.tensors[1].dims.d[1] = -7); /* behind a size of 0 */
  LIE(s.tensors[1].dims.rank = BSM_MAX_RANK + 1);
  LIE(s.tensors[1].dtype = (bsm_dtype)99);
  LIE(s.tensors[3].index = 1);
  LIE(s.tensors[3].dims.d[0] = 6);
  LIE(s.tensors[0].index = 1);
  LIE(s.inputs[0].tensor = 9);
  LIE(s.inputs[0].tensor = 1);
  LIE(s.outputs[0].tensor = 0);
  LIE(s.tensors[2].strides[0] = 2);
  LIE(s.plan.workspace_size[BSM_SPACE_HOST] = 80);
#undef LIE
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_too_many_trials),
      cmocka_unit_test(test_truncated_everywhere),
      cmocka_unit_test(test_every_bit_flipped),
      cmocka_unit_test(test_flipped_with_right_checksum),
      cmocka_unit_test(test_other_version),
      cmocka_unit_test(test_seals_see_the_file),
      cmocka_unit_test(test_a_seal_may_fail),
      cmocka_unit_test(test_damaged_signatures),
      cmocka_unit_test(test_unwritable_path),
      cmocka_unit_test(test_lying_plans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
