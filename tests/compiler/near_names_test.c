/* SPDX-License-Identifier: Apache-2.0 */
/* Which names are near another, and in what order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "compiler/modules/near_names.h"

static void expect(const char *given, const char *const *names, size_t count,
                   const char *text) {
  bsm_near_names near = {.given = bsm_str_of(given)};
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  for (size_t i = 0; i < count; i++) {
    bsm_near_names_offer(&near, bsm_str_of(names[i]));
  }
  assert_string_equal(bsm_near_names_text(&near, &arena), text);
  bsm_arena_destroy(&arena);
}

static const char *const operators[] = {
    "aten::relu",  "aten::add",   "aten::relu_",  "aten::silu",
    "aten::relu6", "aten::elu",   "aten::conv2d", "aten::rrelu",
    "aten::relu",  "aten::prelu", "aten::gelu"};
static const char *const modules[] = {"",       "layer1",         "layer1.0",
                                      "layer2", "layer1.0.conv1", "fc"};

static void test_slips(void **state) {
  (void)state;
  /* One letter too many, too few, another, two in the wrong order. */
  expect("aten::conv2dd", operators, 11, "; near is aten::conv2d");
  expect("aten::conv2", operators, 11, "; near is aten::conv2d");
  expect("aten::conv3d", operators, 11, "; near is aten::conv2d");
  expect("aten::ocnv2d", operators, 11, "; near is aten::conv2d");
}

static void test_order(void **state) {
  (void)state;
  expect("aten::relue", operators, 11,
         "; near are aten::relu, aten::relu_, aten::relu6, aten::elu and "
         "aten::rrelu");
}

static void test_parts(void **state) {
  (void)state;
  expect("relu", operators, 11, "; near is aten::relu");
  expect("layer1.0.conv2", modules, 6, "; near is layer1.0.conv1");
  expect("0", modules, 6, "; near are layer1.0 and layer1.0.conv1");
  expect("layer", modules, 6, "; near are layer1 and layer2");
}

static void test_nothing_near(void **state) {
  char name[4000];
  (void)state;
  expect("backbone", modules, 6, "");
  expect("", modules, 6, "");
  expect("aten::relu", NULL, 0, "");
  memset(name, 'a', sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  expect(name, operators, 11, "");
  const char *const one[] = {name};
  expect("aten::relu", one, 1, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slips),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_nothing_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
