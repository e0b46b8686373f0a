/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration files and caches of TensorRT: what is written is read, and what
 * is wrong is refused with its line. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantization/calibration.h"

static const char whole[] =
    "bessemer calibration 1\n"
    "model 00f2a1c4b5d6e7f8\n"
    "method percentile 99.9\n"
    "batches 12\n"
    "equalized\n"
    "loss 0.25\n"
    "tensor x -1.5 2.0 -3.0 2.25\n"
    "means x 3 0.5 -0.25 1e-20\n"
    "tensor a%20b%25%0A%C3%A4 0.0 1.0 0.0 1.0\n"
    "layer y convolution layer1.0 x int8 1024.0 41.5 0.001\n"
    "layer z matrix_multiply % a%20b%25%0A%C3%A4 dynamic 64.0 nan nan\n"
    "layer u matrix_multiply % x fp32 64.0 inf 0.5\n"
    "end\n";

static bsm_calibration *load(const char *text) {
  bsm_calibration *c = NULL;
  bsm_status status = bsm_calibration_load_memory(text, strlen(text), "c", &c);
  if (status) fail_msg("%s", bsm_status_message(status));
  return c;
}

static void refused(const char *text, bsm_code code, const char *part) {
  bsm_calibration *c = NULL;
  bsm_status status = bsm_calibration_load_memory(text, strlen(text), "c", &c);
  assert_null(c);
  if (!strstr(bsm_status_message(status), part)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), part);
  }
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
}

static void files_are_read_as_written(void **state) {
  (void)state;
  bsm_calibration *c = load(whole);
  bsm_calibration_info info = BSM_CALIBRATION_INFO_INIT;
  bsm_calibration_range range = BSM_CALIBRATION_RANGE_INIT;
  bsm_calibration_layer layer = BSM_CALIBRATION_LAYER_INIT;
  assert_null(bsm_calibration_describe(c, &info));
  assert_int_equal(info.method, BSM_CALIBRATION_PERCENTILE);
  assert_true(info.percentile == 99.9 && info.loss == 0.25);
  assert_int_equal(info.model, 0xf2a1c4b5d6e7f8);
  assert_int_equal(info.batches, 12);
  assert_true(info.equalized);
  assert_int_equal(bsm_calibration_range_count(c), 2);
  assert_int_equal(bsm_calibration_layer_count(c), 3);
  assert_null(bsm_calibration_get_range(c, 0, &range));
  assert_true(range.low == -1.5 && range.high == 2 && range.least == -3 &&
              range.greatest == 2.25);
  assert_int_equal(bsm_calibration_tensor(c, "x")->mean_count, 3);
  assert_null(bsm_calibration_get_range(c, 1, &range));
  assert_string_equal(range.tensor, "a b%\n\xc3\xa4");
  assert_null(bsm_calibration_get_layer(c, 1, &layer));
  assert_true(layer.dynamic && isnan(layer.loss));
  assert_string_equal(layer.module, "");
  assert_string_equal(layer.input, "a b%\n\xc3\xa4");
  assert_null(bsm_calibration_get_layer(c, 2, &layer));
  assert_int_equal(layer.precision, BSM_PRECISION_FP32);
  bsm_text text;
  bsm_text_init(&text, &c->arena);
  bsm_calibration_print(&text, c);
  assert_string_equal(text.data, whole);
  bsm_calibration_destroy(c);
}

static void what_is_wrong_is_refused(void **state) {
#define FIRST "bessemer calibration 1\n"
  static const struct {
    const char *text;
    bsm_code code;
    const char *part;
  } rows[] = {
      {"", BSM_CORRUPT, "not a calibration"},
      {"nonsense\n", BSM_CORRUPT, "not a calibration"},
      {"bessemer calibration x\n", BSM_CORRUPT, "has no version"},
      {"bessemer calibration 2\nend\n", BSM_VERSION, "version 2"},
      {FIRST, BSM_CORRUPT, "ends before its last line"},
      {FIRST "end\nmore", BSM_CORRUPT, "text after the end"},
      {FIRST "what 1\nend\n", BSM_CORRUPT, "unknown record \"what\""},
      {FIRST "\nend\n", BSM_CORRUPT, "unknown record"},
      {FIRST "batches 1\nbatches -3\nend\n", BSM_CORRUPT, "in line 3"},
      {FIRST "method best\nend\n", BSM_CORRUPT, "no method \"best\""},
      {FIRST "model 12\nend\n", BSM_CORRUPT, "no hash of 16 digits"},
      {FIRST "tensor x 0.0 0.0 0.0 0.0\nend\n", BSM_CORRUPT, "is no range"},
      {FIRST "tensor x 1.0 2.0 1.0 2.0\nend\n", BSM_CORRUPT, "is no range"},
      {FIRST "tensor x 2.0 -1.0 1.0 2.0\nend\n", BSM_CORRUPT, "is no range"},
      {FIRST "tensor x -inf 2.0 1.0 2.0\nend\n", BSM_CORRUPT, "is no range"},
      {FIRST "tensor x 0.0 nan 1.0 2.0\nend\n", BSM_CORRUPT, "is no range"},
      {FIRST "tensor x 0.0 1e39 1.0 2.0\nend\n", BSM_CORRUPT, "is no range"},
      {FIRST "tensor x 0.0\nend\n", BSM_CORRUPT, "is no number"},
      {FIRST "tensor x 0.0 1.0 0.0 1.0 5\nend\n", BSM_CORRUPT, "more words"},
      {FIRST "tensor x 0.0 1.0 0.0 1.0\ntensor x 0.0 1.0 0.0 1.0\nend\n",
       BSM_CORRUPT, "comes twice"},
      {FIRST "tensor %2 0.0 1.0 0.0 1.0\nend\n", BSM_CORRUPT, "two digits"},
      {FIRST "tensor a%00b 0.0 1.0 0.0 1.0\nend\n", BSM_CORRUPT, "two digits"},
      {FIRST "tensor\nend\n", BSM_CORRUPT, "a name is missing"},
      {FIRST "means x 1 0.5\nend\n", BSM_CORRUPT, "before its range"},
      {FIRST "tensor x 0.0 1.0 0.0 1.0\nmeans x 1000000 0.5\nend\n",
       BSM_CORRUPT, "fewer than 1000000"},
      {FIRST "tensor x 0.0 1.0 0.0 1.0\nmeans x 9999999999 0.5\nend\n",
       BSM_LIMIT, "more than"},
      {FIRST "tensor x 0.0 1.0 0.0 1.0\nmeans x 1 inf\nend\n", BSM_CORRUPT,
       "not finite"},
      {FIRST "layer y k m x int4 1.0 1.0 1.0\nend\n", BSM_CORRUPT,
       "precision is \"int4\""},
      {FIRST "layer y k m x int8 a 1.0 1.0\nend\n", BSM_CORRUPT,
       "operations: \"a\""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    refused(rows[i].text, rows[i].code, rows[i].part);
  }
  /* Cut anywhere, it is refused, and nothing is read beyond its end. */
  for (size_t i = 0; i + 5 < sizeof(whole); i++) {
    char *cut = malloc(i + 1);
    memcpy(cut, whole, i);
    bsm_calibration *c = NULL;
    bsm_status status = bsm_calibration_load_memory(cut, i, "c", &c);
    assert_non_null(status);
    bsm_status_free(status);
    free(cut);
  }
}

static void caches_of_tensorrt_are_read_and_written(void **state) {
  (void)state;
  bsm_calibration *c = load(
      "TRT-8601-EntropyCalibration2\r\n"
      "input_0: 3c010a14\r\n"
      "(Unnamed Layer* 0) [Convolution]_output: 3d02a3b4\n"
      "\n");
  bsm_calibration_range r = BSM_CALIBRATION_RANGE_INIT;
  bsm_calibration_info info = BSM_CALIBRATION_INFO_INIT;
  assert_int_equal(bsm_calibration_range_count(c), 2);
  assert_null(bsm_calibration_get_range(c, 0, &r));
  assert_string_equal(r.tensor, "input_0");
  const uint32_t bits = 0x3c010a14;
  float scale;
  memcpy(&scale, &bits, sizeof(scale));
  assert_true(r.high == 127 * (double)scale && r.low == -r.high);
  assert_null(bsm_calibration_get_range(c, 1, &r));
  assert_string_equal(r.tensor, "(Unnamed Layer* 0) [Convolution]_output");
  assert_null(bsm_calibration_describe(c, &info));
  assert_int_equal(info.model, 0);
  assert_int_equal(info.method, BSM_CALIBRATION_ENTROPY);
  bsm_text text;
  bsm_text_init(&text, &c->arena);
  bsm_calibration_print_tensorrt(&text, c);
  assert_string_equal(text.data,
                      "TRT-8601-EntropyCalibration2\n"
                      "input_0: 3c010a14\n"
                      "(Unnamed Layer* 0) [Convolution]_output: 3d02a3b4\n");
  bsm_calibration_destroy(c);
  refused("TRT-1-MinMaxCalibration\nx 3c010a14\n", BSM_CORRUPT, "in line 2");
  refused("TRT-1-MinMaxCalibration\nx: \n", BSM_CORRUPT, "in line 2");
  refused("TRT-1-MinMaxCalibration\nx: 3c010a1g\n", BSM_CORRUPT, "scale");
  refused("TRT-1-MinMaxCalibration\nx: 13c010a14\n", BSM_CORRUPT, "scale");
  refused("TRT-1-MinMaxCalibration\nx: 0\n", BSM_CORRUPT, "is 0");
  refused("TRT-1-MinMaxCalibration\nx: 7fc00000\n", BSM_CORRUPT, "nan");
  refused("TRT-1-MinMaxCalibration\nx: bc010a14\n", BSM_CORRUPT, "is -0.00");
}

static void ranges_and_precisions_can_be_set(void **state) {
  (void)state;
  bsm_calibration *c = load(whole);
  assert_null(bsm_calibration_set_range(c, "new", -1, 3));
  assert_null(bsm_calibration_set_range(c, "x", -1, 3));
  assert_int_equal(bsm_calibration_range_count(c), 3);
  assert_true(bsm_calibration_tensor(c, "x")->high == 3);
  assert_null(bsm_calibration_set_precision(c, "y", BSM_PRECISION_FP32));
  const struct {
    bsm_status status;
    bsm_code code;
  } failures[] = {
      {bsm_calibration_set_range(c, "x", 1, 3), BSM_INVALID_ARGUMENT},
      {bsm_calibration_set_range(c, "x", 0, 0), BSM_INVALID_ARGUMENT},
      {bsm_calibration_set_range(c, "x", (double)NAN, 0), BSM_INVALID_ARGUMENT},
      {bsm_calibration_set_precision(c, "q", BSM_PRECISION_FP32),
       BSM_NOT_FOUND},
      {bsm_calibration_set_precision(c, "y", BSM_PRECISION_FP16),
       BSM_INVALID_ARGUMENT},
  };
  for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
    assert_int_equal(bsm_status_code(failures[i].status), failures[i].code);
    bsm_status_free(failures[i].status);
  }
  bsm_calibration_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_are_read_as_written),
      cmocka_unit_test(what_is_wrong_is_refused),
      cmocka_unit_test(caches_of_tensorrt_are_read_and_written),
      cmocka_unit_test(ranges_and_precisions_can_be_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
