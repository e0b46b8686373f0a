/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "tools/input_spec.h"

static bsm_arena arena;

static int open_arena(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  return 0;
}

static int close_arena(void **state) {
  (void)state;
  bsm_arena_destroy(&arena);
  return 0;
}

static bsm_input_spec parse(const char *text) {
  bsm_input_spec spec;
  bsm_status status = bsm_input_spec_parse(&arena, text, &spec);
  if (status) fail_msg("%s", bsm_status_message(status));
  return spec;
}

static void fixed_shapes(void **state) {
  (void)state;
  bsm_input_spec spec = parse("(1,3,224,224)");
  assert_int_equal(spec.kind, BSM_INPUT_TENSOR);
  assert_int_equal(spec.dtype, BSM_DTYPE_FLOAT);
  assert_null(spec.name);
  assert_int_equal(spec.rank, 4);
  assert_int_equal(spec.min[3], 224);
  assert_memory_equal(spec.min, spec.max, sizeof(spec.min));
  assert_memory_equal(spec.min, spec.opt, sizeof(spec.min));
  assert_int_equal(parse("()").rank, 0);
  assert_int_equal(parse("(5,)").rank, 1);
  assert_int_equal(parse(" ( 2 , 3 ) ").min[1], 3);
  assert_int_equal(parse("(0,4)").min[0], 0);
}

static void dynamic_shapes(void **state) {
  (void)state;
  const bsm_input_spec spec = parse("[(1,16);(8,128);(16,512)]@i64%contiguous");
  assert_int_equal(spec.rank, 2);
  assert_int_equal(spec.min[1], 16);
  assert_int_equal(spec.opt[0], 8);
  assert_int_equal(spec.max[1], 512);
  assert_int_equal(spec.dtype, BSM_DTYPE_INT64);
}

static void dtypes_and_layouts(void **state) {
  (void)state;
  assert_int_equal(parse("(1)@half").dtype, BSM_DTYPE_HALF);
  assert_int_equal(parse("(1)@FP16%nchw").dtype, BSM_DTYPE_HALF);
  assert_int_equal(parse("(1) @ bool %linear").dtype, BSM_DTYPE_BOOL);
  assert_int_equal(parse("(1)@int").dtype, BSM_DTYPE_INT32);
  assert_int_equal(parse("(1)@bf16").dtype, BSM_DTYPE_BFLOAT16);
  assert_int_equal(parse("(1)%chw").dtype, BSM_DTYPE_FLOAT);
}

static void names_and_numbers(void **state) {
  (void)state;
  bsm_input_spec spec = parse("input_ids=(1,128)@i64");
  assert_string_equal(spec.name, "input_ids");
  assert_int_equal(spec.min[1], 128);
  spec = parse("scale=-2");
  assert_string_equal(spec.name, "scale");
  assert_int_equal(spec.kind, BSM_INPUT_INT);
  assert_int_equal(spec.int_value, -2);
  spec = parse("0.5");
  assert_int_equal(spec.kind, BSM_INPUT_FLOAT);
  assert_true(spec.float_value == 0.5);
  spec = parse("True");
  assert_int_equal(spec.kind, BSM_INPUT_BOOL);
  assert_true(spec.bool_value);
  assert_false(parse("false").bool_value);
  assert_int_equal(parse("mask=None").kind, BSM_INPUT_NONE);
}

static void values_in_the_manner_of_json(void **state) {
  (void)state;
  bsm_input_spec spec = parse("f32[1, 3]");
  assert_int_equal(spec.kind, BSM_INPUT_TENSOR);
  assert_int_equal(spec.rank, 2);
  assert_int_equal(spec.max[1], 3);
  assert_int_equal(parse("i64[]").rank, 0);
  assert_int_equal(parse("int[2]").dtype, BSM_DTYPE_INT32);
  assert_int_equal(parse("int").dtype, BSM_DTYPE_INT64);
  assert_int_equal(parse("float").dtype, BSM_DTYPE_DOUBLE);
  assert_int_equal(parse("bool").rank, 0);
  assert_int_equal(parse("default").kind, BSM_INPUT_DEFAULT);
  assert_true(parse("-inf").float_value < 0);
  spec = parse("text=\"a\\n\\u00e9'\"");
  assert_int_equal(spec.kind, BSM_INPUT_STRING);
  assert_string_equal(spec.name, "text");
  assert_string_equal(spec.string, "a\n\xc3\xa9'");
  assert_int_equal(spec.string_length, 5);
  assert_string_equal(parse("'\"'").string, "\"");
  spec = parse("w=@\"a b.npy\"");
  assert_int_equal(spec.kind, BSM_INPUT_CONSTANT_TENSOR);
  assert_string_equal(spec.string, "a b.npy");
  assert_null(spec.array);
}

static void containers(void **state) {
  (void)state;
  bsm_input_spec spec = parse("[(1,3), f16[2], [], 4]");
  assert_int_equal(spec.kind, BSM_INPUT_LIST);
  assert_int_equal(spec.item_count, 4);
  assert_int_equal(spec.items[0].min[1], 3);
  assert_int_equal(spec.items[1].dtype, BSM_DTYPE_HALF);
  assert_int_equal(spec.items[2].kind, BSM_INPUT_LIST);
  assert_int_equal(spec.items[2].item_count, 0);
  assert_int_equal(spec.items[3].int_value, 4);
  spec = parse("((1,3)@i64, none)");
  assert_int_equal(spec.kind, BSM_INPUT_TUPLE);
  assert_int_equal(spec.items[0].dtype, BSM_DTYPE_INT64);
  assert_int_equal(spec.items[1].kind, BSM_INPUT_NONE);
  spec = parse("tuple(1, -2.5, tuple())");
  assert_int_equal(spec.kind, BSM_INPUT_TUPLE);
  assert_int_equal(spec.item_count, 3);
  assert_true(spec.items[1].float_value == -2.5);
  spec = parse("Pair(left=(2), right = true)");
  assert_int_equal(spec.kind, BSM_INPUT_NAMED_TUPLE);
  assert_string_equal(spec.items[1].name, "right");
  assert_int_equal(parse("(left=(2))").kind, BSM_INPUT_NAMED_TUPLE);
  spec = parse("{\"a.b\": (2), word: 1, 3: 1, -0.5: 1, true: 1,}");
  assert_int_equal(spec.kind, BSM_INPUT_DICT);
  assert_int_equal(spec.item_count, 5);
  assert_string_equal(spec.items[0].name, "a.b");
  assert_string_equal(spec.items[1].name, "word");
  assert_int_equal(spec.items[2].key_kind, BSM_INPUT_KEY_INT);
  assert_int_equal(spec.items[2].int_key, 3);
  assert_int_equal(spec.items[3].key_kind, BSM_INPUT_KEY_FLOAT);
  assert_int_equal(spec.items[4].key_kind, BSM_INPUT_KEY_BOOL);
}

static void lists_of_specs(void **state) {
  (void)state;
  bsm_spec_items specs = {0};
  bsm_status status = bsm_input_specs_parse(
      &arena, "batch={\"x\": f32[1,3], ids: (1,4)@i64}, flag=true, (2)",
      &specs);
  assert_null(status);
  assert_int_equal(specs.len, 3);
  assert_string_equal(specs.items[0].name, "batch");
  assert_string_equal(specs.items[1].name, "flag");
  assert_null(specs.items[2].name);
  status = bsm_input_specs_parse(&arena, "(2) (3)", &specs);
  assert_non_null(strstr(bsm_status_message(status), "at column 5, '(3)'"));
  bsm_status_free(status);
}

static void mistakes_are_explained(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *message;
  } cases[] = {
      {"", "dimensions in parentheses expected"},
      {"1,3,224,224", "a shape is written in parentheses"},
      {"1,3,224,224", "at column 2, ',3,224,224'"},
      {"(1,3", "',' or ')' expected"},
      {"(1,-3)", "a dimension expected"},
      {"(1,x)", "a dimension expected"},
      {"(99999999999999999999)", "a dimension expected"},
      {"(1,1,1,1,1,1,1,1,1,1,1,1,1)", "too many dimensions"},
      {"(1)x", "'@dtype', '%layout' or the end expected"},
      {"(1)@f33", "a dtype expected"},
      {"(1)@", "a dtype expected"},
      {"(1)%", "a layout expected"},
      {"(1)%nhwc", "row by row"},
      {"[(1);(2)]", "three shapes"},
      {"[(1);(2);(3)", "']' expected"},
      {"[(1);(2,2);(3)]", "different ranks"},
      {"[(4);(2);(8)]", "above"},
      {"name=", "dimensions in parentheses expected"},
      {"name=", "at column 6, the end"},
      {"[(1), (2)", "',' or ']' expected"},
      {"f32[1,3", "',' or ']' expected"},
      {"(f32[1], 2", "',' or ')' expected"},
      {"(1, f32[1])", "is written tuple(1, 2)"},
      {"{a (1)}", "':' expected"},
      {"{a: (1)", "',' or '}' expected"},
      {"{(1): 2}", "a key expected"},
      {"Pair(left)", "field=value expected"},
      {"\"abc", "does not end"},
      {"\"\\x\"", "an escape expected"},
      {"\"\\u12g4\"", "hexadecimal"},
      {"{\"\\u0000\": 1}", "a NUL in a key"},
      {"word", "a value expected"},
      {"@", "a file name expected"},
      {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
       "nested too deep"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    bsm_input_spec spec;
    bsm_status status = bsm_input_spec_parse(&arena, cases[i].text, &spec);
    assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
    if (!strstr(bsm_status_message(status), cases[i].message)) {
      fail_msg("%s", bsm_status_message(status));
    }
    bsm_status_free(status);
  }
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, open_arena, close_arena)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(fixed_shapes),
      TEST(dynamic_shapes),
      TEST(dtypes_and_layouts),
      TEST(names_and_numbers),
      TEST(values_in_the_manner_of_json),
      TEST(containers),
      TEST(lists_of_specs),
      TEST(mistakes_are_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
