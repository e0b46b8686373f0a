/* SPDX-License-Identifier: Apache-2.0 */
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

#include "tools/npy.h"

#define DATA(name) BSM_TEST_DATA_DIR "/npy/" name

static void open_file(const char *path, bsm_npy_file *out) {
  bsm_status status = bsm_npy_open(path, NULL, out);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void expect(bsm_status status, bsm_code code, const char *text) {
  if (!strstr(bsm_status_message(status), text)) {
    fail_msg("'%s' does not hold '%s'", bsm_status_message(status), text);
  }
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
}

/* The i-th element, which the script made to be i. */
static double element(const bsm_array *array, size_t i) {
  switch (array->dtype) {
    case BSM_DTYPE_BOOL:
    case BSM_DTYPE_UINT8:
      return ((const uint8_t *)array->data)[i];
    case BSM_DTYPE_INT8:
      return ((const int8_t *)array->data)[i];
    case BSM_DTYPE_INT16:
      return ((const int16_t *)array->data)[i];
    case BSM_DTYPE_INT32:
      return ((const int32_t *)array->data)[i];
    case BSM_DTYPE_INT64:
      return (double)((const int64_t *)array->data)[i];
    case BSM_DTYPE_FLOAT:
      return (double)((const float *)array->data)[i];
    case BSM_DTYPE_DOUBLE:
      return ((const double *)array->data)[i];
    case BSM_DTYPE_COMPLEX_FLOAT:
      return (double)((const float *)array->data)[2 * i];
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return ((const double *)array->data)[2 * i];
    default:
      return -1;
  }
}

static void all_dtypes_are_read(void **state) {
  (void)state;
  static const struct {
    const char *path;
    bsm_dtype dtype;
  } cases[] = {
      {DATA("bool.npy"), BSM_DTYPE_BOOL},
      {DATA("uint8.npy"), BSM_DTYPE_UINT8},
      {DATA("int8.npy"), BSM_DTYPE_INT8},
      {DATA("int16.npy"), BSM_DTYPE_INT16},
      {DATA("int32.npy"), BSM_DTYPE_INT32},
      {DATA("int64.npy"), BSM_DTYPE_INT64},
      {DATA("float32.npy"), BSM_DTYPE_FLOAT},
      {DATA("float64.npy"), BSM_DTYPE_DOUBLE},
      {DATA("complex64.npy"), BSM_DTYPE_COMPLEX_FLOAT},
      {DATA("complex128.npy"), BSM_DTYPE_COMPLEX_DOUBLE},
      {DATA("big_endian.npy"), BSM_DTYPE_FLOAT},
      {DATA("big_endian_complex.npy"), BSM_DTYPE_COMPLEX_FLOAT},
      {DATA("version2.npy"), BSM_DTYPE_FLOAT},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    bsm_npy_file file;
    open_file(cases[i].path, &file);
    assert_int_equal(file.count, 1);
    const bsm_array *array = bsm_npy_find(&file, "");
    assert_int_equal(array->dtype, cases[i].dtype);
    assert_string_equal(bsm_dims_str(array->dims), "[2, 3]");
    assert_int_equal((uintptr_t)array->data % 64, 0);
    for (size_t j = 0; j < 6; j++) {
      const double wanted =
          array->dtype == BSM_DTYPE_BOOL ? (double)(j % 2) : (double)j;
      assert_true(element(array, j) == wanted);
    }
    bsm_npy_close(&file);
  }
}

static void small_floats_are_read(void **state) {
  (void)state;
  bsm_npy_file file;
  open_file(DATA("float16.npy"), &file);
  assert_int_equal(file.items[0].array.dtype, BSM_DTYPE_HALF);
  const uint16_t *bits = file.items[0].array.data;
  assert_int_equal(bits[1], 0x3c00);
  assert_int_equal(bits[2], 0x4000);
  bsm_npy_close(&file);
  open_file(DATA("bfloat16.npy"), &file);
  assert_int_equal(file.items[0].array.dtype, BSM_DTYPE_BFLOAT16);
  bits = file.items[0].array.data;
  assert_int_equal(bits[0], 0x3f80);
  assert_int_equal(bits[1], 0x4000);
  bsm_npy_close(&file);
}

static void all_shapes_are_read(void **state) {
  (void)state;
  bsm_npy_file file;
  open_file(DATA("scalar.npy"), &file);
  assert_int_equal(file.items[0].array.dims.rank, 0);
  assert_true(element(&file.items[0].array, 0) == 7);
  bsm_npy_close(&file);
  open_file(DATA("vector.npy"), &file);
  assert_string_equal(bsm_dims_str(file.items[0].array.dims), "[5]");
  bsm_npy_close(&file);
  open_file(DATA("empty.npy"), &file);
  assert_string_equal(bsm_dims_str(file.items[0].array.dims), "[0, 4]");
  bsm_npy_close(&file);
  open_file(DATA("fortran.npy"), &file);
  assert_string_equal(bsm_dims_str(file.items[0].array.dims), "[2, 3, 4]");
  for (size_t i = 0; i < 24; i++) {
    assert_true(element(&file.items[0].array, i) == (double)i);
  }
  bsm_npy_close(&file);
}

static void archives_are_read(void **state) {
  (void)state;
  static const char *const paths[] = {DATA("stored.npz"), DATA("deflated.npz")};
  for (size_t i = 0; i < 2; i++) {
    bsm_npy_file file;
    open_file(paths[i], &file);
    assert_int_equal(file.count, 2);
    assert_string_equal(file.items[0].name, "in_0");
    const bsm_array *mask = bsm_npy_find(&file, "mask");
    assert_non_null(mask);
    assert_int_equal(mask->dtype, BSM_DTYPE_BOOL);
    assert_true(element(bsm_npy_find(&file, "in_0"), 5) == 5);
    assert_null(bsm_npy_find(&file, "in_1"));
    bsm_npy_close(&file);
  }
}

static void text_in_archives(void **state) {
  (void)state;
  bsm_npy_file file;
  assert_null(bsm_npy_open(BSM_TEST_DATA_DIR "/structured/choose_text.npz",
                           NULL, &file));
  size_t found = 0;
  for (size_t i = 0; i < file.count; i++) {
    const bsm_npy_array *item = &file.items[i];
    if (strcmp(item->name, "in_1") == 0) {
      assert_string_equal(item->strings[0], "relu");
      assert_int_equal(item->array.dims.rank, 0);
      assert_int_equal(item->array.dtype, BSM_DTYPE_UNDEFINED);
    } else if (strcmp(item->name, "names") == 0) {
      assert_int_equal(item->array.dims.d[0], 2);
      assert_string_equal(item->strings[0], "a");
      assert_string_equal(item->strings[1],
                          "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
    } else if (strcmp(item->name, "bytes") == 0) {
      assert_string_equal(item->strings[0], "xy");
    } else if (strcmp(item->name, "object") == 0) {
      assert_non_null(strstr(item->problem, "pickle"));
    } else {
      assert_null(item->strings);
      assert_null(item->problem);
      continue;
    }
    found++;
  }
  assert_int_equal(found, 4);
  bsm_npy_close(&file);
}

static void other_contents_are_refused(void **state) {
  (void)state;
  bsm_npy_file file;
  expect(bsm_npy_open(DATA("object.npy"), NULL, &file), BSM_UNSUPPORTED,
         "pickle");
  expect(bsm_npy_open(DATA("records.npy"), NULL, &file), BSM_UNSUPPORTED,
         "records");
  expect(bsm_npy_open(DATA("text.npy"), NULL, &file), BSM_UNSUPPORTED,
         "dtype 'U2'");
  expect(bsm_npy_open("/nonexistent.npy", NULL, &file), BSM_IO,
         "/nonexistent.npy");
  expect(bsm_npy_open(BSM_TEST_DATA_DIR "/make_npy.py", NULL, &file),
         BSM_CORRUPT, "magic");
}

/* A file of this header, with `size` bytes of data. */
static bsm_status open_header(const char *header, size_t size) {
  char bytes[1024] = "\x93NUMPY\x01";
  const size_t length = strlen(header);
  bytes[8] = (char)(length & 0xff);
  bytes[9] = (char)(length >> 8);
  memcpy(bytes + 10, header, length);
  bsm_npy_file file;
  bsm_status status =
      bsm_npy_open_memory(bytes, 10 + length + size, NULL, &file);
  if (!status) bsm_npy_close(&file);
  return status;
}

static void headers_are_parsed_strictly(void **state) {
  (void)state;
  assert_null(
      open_header("{\"shape\":(2,),'descr':'<f4','fortran_order':False}", 8));
  assert_null(open_header(
      "{'descr': '<i8', 'fortran_order': True, 'shape': (), }   \n", 8));
  static const struct {
    const char *header;
    const char *message;
  } cases[] = {
      {"", "'{' expected"},
      {"{}", "expected"},
      {"{'descr': '<f4', 'fortran_order': False}", "expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
       "',' or '}' expected"},
      {"{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}", "key given twice"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
       "True or False expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
       "',' or ')' expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [2,]}",
       "a shape tuple expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
       "a dimension expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
       "a dimension expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}",
       "unknown key"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} import os",
       "text behind"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': "
       "(99999999999999999999,)}",
       "a dimension expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': "
       "(4611686018427387904, 4, 2)}",
       "overflows"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
       "8 bytes of data"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
       "8 bytes of data"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': "
       "(0, 9223372036854775807)}",
       "8 bytes of data"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    expect(open_header(cases[i].header, 8), BSM_CORRUPT, cases[i].message);
  }
  expect(open_header("{'descr': '<f4', 'fortran_order': False, 'shape': "
                     "(1,1,1,1,1,1,1,1,1,1,1,1,2)}",
                     8),
         BSM_UNSUPPORTED, "more than 12 dimensions");
}

static void truncated_files_are_refused(void **state) {
  (void)state;
  static const char *const paths[] = {DATA("float32.npy"), DATA("version2.npy"),
                                      DATA("stored.npz"), DATA("deflated.npz")};
  for (size_t i = 0; i < 4; i++) {
    bsm_file_map map;
    assert_null(bsm_file_map_open(paths[i], NULL, &map));
    for (size_t size = 0; size < map.size; size++) {
      uint8_t *exact = malloc(size ? size : 1);
      assert_non_null(exact);
      memcpy(exact, map.data, size);
      bsm_npy_file file;
      bsm_status status = bsm_npy_open_memory(exact, size, NULL, &file);
      assert_non_null(status);
      bsm_status_free(status);
      free(exact);
    }
    bsm_file_map_close(&map);
  }
}

static void arrays_written_read_back(void **state) {
  (void)state;
  char path[] = "/tmp/bsm-npy-test-XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  static float floats[6] = {0, 1, 2, 3, 4, 5};
  static int64_t number = -3;
  const bsm_npy_array items[] = {
      {"out_0", {floats, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL}},
      {"out_1", {&number, BSM_DTYPE_INT64, {0, {0}}, NULL}},
      {"out_2", {floats, BSM_DTYPE_BFLOAT16, {1, {0}}, NULL}},
      {"out_3", {floats, BSM_DTYPE_BOOL, {3, {4, 0, 2}}, NULL}},
  };
  assert_null(bsm_npz_write(path, items, 4));
  bsm_npy_file file;
  open_file(path, &file);
  assert_int_equal(file.count, 4);
  for (size_t i = 0; i < 4; i++) {
    const bsm_array *back = bsm_npy_find(&file, items[i].name);
    assert_non_null(back);
    assert_int_equal(back->dtype, items[i].array.dtype);
    char wanted[BSM_DIMS_STR_SIZE];
    bsm_dims_format(wanted, items[i].array.dims);
    assert_string_equal(bsm_dims_str(back->dims), wanted);
  }
  assert_memory_equal(bsm_npy_find(&file, "out_0")->data, floats, 24);
  assert_true(*(int64_t *)bsm_npy_find(&file, "out_1")->data == -3);
  bsm_npy_close(&file);
  assert_null(bsm_npy_write(path, &items[0].array));
  open_file(path, &file);
  assert_memory_equal(file.items[0].array.data, floats, 24);
  bsm_npy_close(&file);
  assert_null(bsm_npz_write(path, NULL, 0));
  open_file(path, &file);
  assert_int_equal(file.count, 0);
  bsm_npy_close(&file);
  unlink(path);
}

static void what_cannot_be_written_is_refused(void **state) {
  (void)state;
  int data = 0;
  const bsm_array half = {&data, BSM_DTYPE_COMPLEX_HALF, {0, {0}}, NULL};
  expect(bsm_npy_write("/tmp/never", &half), BSM_UNSUPPORTED, "complex32");
  const bsm_array open = {&data, BSM_DTYPE_INT8, {1, {-1}}, NULL};
  expect(bsm_npy_write("/tmp/never", &open), BSM_INVALID_ARGUMENT, "[-1]");
  const bsm_array good = {&data, BSM_DTYPE_INT8, {1, {1}}, NULL};
  expect(bsm_npy_write("/nonexistent/x.npy", &good), BSM_IO,
         "/nonexistent/x.npy");
  assert_int_equal(access("/tmp/never", F_OK), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_dtypes_are_read),
      cmocka_unit_test(small_floats_are_read),
      cmocka_unit_test(all_shapes_are_read),
      cmocka_unit_test(archives_are_read),
      cmocka_unit_test(text_in_archives),
      cmocka_unit_test(other_contents_are_refused),
      cmocka_unit_test(headers_are_parsed_strictly),
      cmocka_unit_test(truncated_files_are_refused),
      cmocka_unit_test(arrays_written_read_back),
      cmocka_unit_test(what_cannot_be_written_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
