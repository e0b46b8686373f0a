/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels an instruction set mask selects: for every mask, also those of
 * machines that this one is not. Nothing selected is run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/attention/attention_f32.h"
#include "backend/cpu/kernels/convert/half_convert.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"
#include "backend/cpu/kernels/few_bits/few_bits_f32.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/half/half.h"
#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/ints/ints.h"
#include "backend/cpu/kernels/kernel_isa.h"
#include "backend/cpu/kernels/math/vector_math.h"
#include "backend/cpu/kernels/planar/planar_f32.h"
#include "backend/cpu/kernels/pooling/pooling_f32.h"
#include "backend/cpu/kernels/recurrent/recurrent_f32.h"
#include "backend/cpu/kernels/rows/rows.h"
#include "backend/cpu/kernels/sample/sample_f32.h"
#include "backend/cpu/kernels/typed_gemm/typed_gemm.h"
#include "backend/cpu/kernels/winograd/winograd_f32.h"
#include "base/arena.h"
#include "base/isa.h"
#include "builder/target.h"
#include "tests/conformance/device_fixture.h"

enum { SCALAR = 0, AVX2 = 1, AVX512 = 2, NEON = 3, LEVELS = 4 };

/* The tables of a family by level; a level that this build lacks has those of
 * the one below. */
typedef struct family {
  const char *name;
  const void *(*select)(uint32_t isa);
  const void *tables[LEVELS];
} family;

#define FAMILY(name)                               \
  static const void *select_##name(uint32_t isa) { \
    return bsm_k_##name##_select(isa);             \
  }
#include "backend/cpu/kernels/kernel_families.inl"
#undef FAMILY

static int level_of(uint32_t isa) {
#if defined(__aarch64__)
  return isa & BSM_K_ISA_NEON ? NEON : SCALAR;
#else
  if ((isa & BSM_K_ISA_AVX512) && (isa & BSM_K_ISA_AVX2)) return AVX512;
  return isa & BSM_K_ISA_AVX2 ? AVX2 : SCALAR;
#endif
}

static size_t list_families(family *out) {
  size_t n = 0;
#define FAMILY(name)                                             \
  {                                                              \
    family f = {#name, select_##name, {&bsm_k_##name##_scalar}}; \
    f.tables[AVX2] = f.tables[AVX512] = f.tables[SCALAR];        \
    f.tables[NEON] = f.tables[SCALAR];                           \
    LEVELS_OF(name)                                              \
    out[n++] = f;                                                \
  }
#if defined(__x86_64__)
#define LEVELS_OF(name)                  \
  f.tables[AVX2] = &bsm_k_##name##_avx2; \
  f.tables[AVX512] = &bsm_k_##name##_avx512;
#elif defined(__aarch64__)
#define LEVELS_OF(name) f.tables[NEON] = &bsm_k_##name##_neon;
#else
#define LEVELS_OF(name)
#endif
#include "backend/cpu/kernels/kernel_families.inl"
  return n;
}

/* All masks of the bits that there are, and some of later machines. */
static void test_every_mask(void **state) {
  (void)state;
  family families[24];
  const size_t count = list_families(families);
  assert_int_equal(count, 16);
  for (size_t i = 0; i < count; i++) {
    const family *f = &families[i];
    for (uint32_t isa = 0; isa < 512; isa++) {
      if (f->select(isa) != f->tables[level_of(isa)]) {
        fail_msg("%s: mask %u selects other kernels than level %d", f->name,
                 (unsigned)isa, level_of(isa));
      }
    }
  }
}

/* A name stands for the kernels of its level. */
static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int level;
  } rows[] = {
      {"scalar", SCALAR}, {"avx2", AVX2},          {"avx2_vnni", AVX2},
      {"avx512", AVX512}, {"avx512_vnni", AVX512}, {"avx512_bf16", AVX512},
      {"amx", AVX512},    {"neon", NEON},          {"neon_i8mm", NEON}};
  family families[24];
  const size_t count = list_families(families);
  for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
    uint32_t isa;
    assert_true(bsm_isa_parse(rows[r].name, &isa));
    for (size_t i = 0; i < count; i++) {
      assert_ptr_equal(families[i].select(isa),
                       families[i].tables[rows[r].level]);
    }
  }
}

/* A whole step: forced off and on by the mask that it is prepared for. */
static void test_steps(void **state) {
  (void)state;
  static const char *const names[] = {"scalar",      "avx2",        "avx512",
                                      "avx512_vnni", "avx512_bf16", "amx",
                                      "neon",        "neon_i8mm"};
  bsm_plan_tensor tensors[3];
  for (int i = 0; i < 3; i++) {
    tensors[i] = (bsm_plan_tensor){.name = "",
                                   .dtype = BSM_DTYPE_FLOAT,
                                   .dims = {2, {64, 64}},
                                   .strides = {64, 1},
                                   .place = BSM_PLACE_WORKSPACE,
                                   .offset = (uint64_t)i * 64 * 64 * 4};
  }
  bsm_step_params params = {.matrix_multiply = {.k = 64, .n = 64, .scale = 1}};
  bsm_plan_step step = {.kind = BSM_STEP_MATRIX_MULTIPLY,
                        .name = "",
                        .tactic = "",
                        .input_count = 2,
                        .output_count = 1,
                        .inputs = (uint32_t[]){0, 1},
                        .outputs = (uint32_t[]){2},
                        .weights = BSM_STEP_NO_WEIGHTS,
                        .params = &params};
  const bsm_plan plan = {.tensors = tensors,
                         .tensor_count = 3,
                         .steps = &step,
                         .step_count = 1,
                         .workspace_size = {3 * 64 * 64 * 4}};
  const bsm_device_ops *ops = fixture_ops();
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  assert_null(ops->check(&plan, &step));
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    bsm_prepared_step prepared;
    uint32_t isa;
    assert_true(bsm_isa_parse(names[i], &isa));
    bsm_stream *stream = fixture_stream(&(bsm_stream_options){.isa = isa});
    assert_null(ops->prepare(stream, &plan, &step, NULL, &arena, &prepared));
    const char *kernel = bsm_k_gemm_select(isa)->name;
    if (!strstr(ops->describe(&prepared), kernel)) {
      fail_msg("%s: '%s' is not of '%s'", names[i], ops->describe(&prepared),
               kernel);
    }
#if defined(__aarch64__)
    const char *level = i < 6 ? "scalar" : "neon";
    assert_int_equal(strncmp(kernel, level, strlen(level)), 0);
#elif defined(__x86_64__)
    const char *level = i < 3 ? names[i] : i < 6 ? "avx512" : "scalar";
    assert_int_equal(strncmp(kernel, level, strlen(level)), 0);
#endif
    fixture_stream_close(stream);
  }
  bsm_arena_destroy(&arena);
}

/* Steps of integers and of half precision have the kernels of their mask for
 * elements, too. */
static void test_elements(void **state) {
  (void)state;
  static const char *const names[] = {"scalar", "avx2", "avx512", "neon"};
  bsm_plan_tensor tensors[2];
  for (int i = 0; i < 2; i++) {
    tensors[i] = (bsm_plan_tensor){.name = "",
                                   .dtype = BSM_DTYPE_INT16,
                                   .dims = {1, {64}},
                                   .strides = {1},
                                   .place = BSM_PLACE_WORKSPACE,
                                   .offset = (uint64_t)i * 128};
  }
  bsm_step_params params = {
      .element_wise = {.instruction_count = 1,
                       .result = 1,
                       .program = {{.kind = BSM_STEP_EW_UNARY,
                                    .code = BSM_UNARY_NEG,
                                    .dst = 1,
                                    .dtype = BSM_DTYPE_INT16}}}};
  bsm_plan_step step = {.kind = BSM_STEP_ELEMENT_WISE,
                        .name = "",
                        .tactic = "",
                        .input_count = 1,
                        .output_count = 1,
                        .inputs = (uint32_t[]){0},
                        .outputs = (uint32_t[]){1},
                        .weights = BSM_STEP_NO_WEIGHTS,
                        .params = &params};
  const bsm_plan plan = {.tensors = tensors,
                         .tensor_count = 2,
                         .steps = &step,
                         .step_count = 1,
                         .workspace_size = {256}};
  const bsm_device_ops *ops = fixture_ops();
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  assert_null(ops->check(&plan, &step));
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    bsm_prepared_step prepared;
    uint32_t isa;
    assert_true(bsm_isa_parse(names[i], &isa));
    bsm_stream *stream = fixture_stream(&(bsm_stream_options){.isa = isa});
    assert_null(ops->prepare(stream, &plan, &step, NULL, &arena, &prepared));
    const bsm_cpu_impl *impl = prepared.impl;
    assert_ptr_equal(impl->elements.ints, bsm_k_ints_select(isa));
    assert_ptr_equal(impl->elements.halves, bsm_k_convert_select(isa));
    fixture_stream_close(stream);
  }
  bsm_arena_destroy(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_mask),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
