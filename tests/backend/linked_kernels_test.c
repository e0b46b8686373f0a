/* SPDX-License-Identifier: Apache-2.0 */
/* A program that links kernels of one instruction set, AVX2, and no plain C:
 * its tables take the place of the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernels/attention/attention_f32.h"
#include "backend/cpu/kernels/convert/half_convert.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"
#include "backend/cpu/kernels/few_bits/few_bits_f32.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/half/half.h"
#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/ints/ints.h"
#include "backend/cpu/kernels/math/vector_math.h"
#include "backend/cpu/kernels/planar/planar_f32.h"
#include "backend/cpu/kernels/pooling/pooling_f32.h"
#include "backend/cpu/kernels/recurrent/recurrent_f32.h"
#include "backend/cpu/kernels/rows/rows.h"
#include "backend/cpu/kernels/sample/sample_f32.h"
#include "backend/cpu/kernels/typed_gemm/typed_gemm.h"
#include "backend/cpu/kernels/winograd/winograd_f32.h"
#include "base/isa.h"

#if BSM_K_ISA_COUNT == 3
const uint32_t bsm_k_linked_isas = 1u << 1;
#define FAMILY(name) BSM_K_LINKED(name) = {NULL, &bsm_k_##name##_avx2, NULL};
#else
const uint32_t bsm_k_linked_isas = 0;
#define FAMILY(name) BSM_K_LINKED(name) = {NULL};
#endif
#include "backend/cpu/kernels/kernel_families.inl"
#undef FAMILY

#define BOTH (BSM_ISA_AVX2 | BSM_ISA_AVX512)

static void refused(bsm_status status, const char *name) {
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(strstr(bsm_status_message(status), "kernels for"));
  assert_non_null(strstr(bsm_status_message(status), name));
  bsm_status_free(status);
}

static void test_rows(void **state) {
  (void)state;
  assert_int_equal(bsm_k_isa_row(0), BSM_K_ISA_COUNT);
  assert_int_equal(bsm_k_isa_row(BSM_ISA_AVX512), BSM_K_ISA_COUNT);
#if BSM_K_ISA_COUNT == 3
  assert_int_equal(bsm_k_isa_row(BSM_ISA_AVX2), 1);
  assert_int_equal(bsm_k_isa_row(BOTH), 1);
  assert_ptr_equal(bsm_k_gemm_select(BOTH), &bsm_k_gemm_avx2);
#endif
}

/* A stream has of its instructions those with kernels; without any there is
 * none, nor a device on a machine that lacks them. */
static void test_streams(void **state) {
  (void)state;
  const bsm_device_ops *ops = &bsm_cpu_device_ops;
  bsm_device *device = NULL;
  bsm_stream *stream = NULL;
  bsm_status status = ops->open(&(bsm_device_options){0}, &device);
  if (!(bsm_isa_detect() & BSM_ISA_AVX2) || !bsm_k_linked_isas) {
    refused(status, bsm_isa_name(bsm_isa_detect()));
    assert_null(device);
    return;
  }
  assert_null(status);
  bsm_stream_options options = {.isa = BSM_ISA_SCALAR};
  refused(ops->stream_create(device, &options, &stream), "scalar");
  assert_null(stream);
  options.isa = BOTH | BSM_ISA_AVX512_VNNI;
  assert_null(ops->stream_create(device, &options, &stream));
  assert_null(ops->lacks(stream, "cpu:avx2,threads=1"));
  assert_string_equal(ops->lacks(stream, "cpu:avx512,threads=1"), "avx512");
  ops->stream_destroy(stream);
  ops->close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
