/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of schemas that are packed, and of those that are not. That every
 * schema of the tables unpacks to PyTorch's text is in op_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "aten/op.h"
#include "aten/schema_text.h"

static void test_plain(void **state) {
  (void)state;
  const bsm_aten_op op = {.text = "my::op(Tensor \xc3\xa9 ~) -> Tensor"};
  bsm_schema_text room;
  assert_string_equal(bsm_aten_schema(&op, &room), op.text);
  assert_int_equal(bsm_aten_name(&op, &room).len, 6);
  assert_true(bsm_aten_is_named(&op, BSM_STR("my::op")));
  assert_false(bsm_aten_is_named(&op, BSM_STR("my::o")));
  assert_false(bsm_aten_is_named(&op, BSM_STR("my::op(")));
}

static const bsm_aten_op *packed(bsm_arena *arena, const char *name) {
  bsm_aten_library *library;
  assert_null(bsm_aten_library_create(arena, &library));
  const bsm_aten_op *op = bsm_aten_find(library, bsm_str_of(name));
  assert_non_null(op);
  return op;
}

static void test_packed(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  const bsm_aten_op *op = packed(&arena, "aten::add.Tensor");
  bsm_schema_text room;
  assert_true(op->flags & BSM_ATEN_PACKED);
  assert_true(strlen(op->text) < 20);
  assert_string_equal(bsm_aten_schema(op, &room),
                      "aten::add.Tensor(Tensor self, Tensor other, *, Scalar "
                      "alpha=1) -> Tensor");
  const bsm_str name = bsm_aten_name(op, &room);
  assert_true(bsm_str_eq(name, BSM_STR("aten::add.Tensor")));
  bsm_arena_destroy(&arena);
}

/* Words do not end where names do. */
static void test_names(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  const bsm_aten_op *op = packed(&arena, "aten::add.Tensor");
  static const char *const others[] = {"",
                                       "a",
                                       "aten::add",
                                       "aten::add.Tenso",
                                       "aten::add.Tensors",
                                       "aten::add.Tensor(",
                                       "aten::add_.Tensor",
                                       "aten::add.Tensor(Tensor self, Tensor"};
  assert_true(bsm_aten_is_named(op, BSM_STR("aten::add.Tensor")));
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    assert_false(bsm_aten_is_named(op, bsm_str_of(others[i])));
  }
  bsm_arena_destroy(&arena);
}

/* What there is no room for is left out, whole words at a time. */
static void test_long(void **state) {
  (void)state;
  char text[2000];
  memset(text, '\x7f', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  const bsm_aten_op op = {.text = text, .flags = BSM_ATEN_PACKED};
  struct {
    bsm_schema_text room;
    char behind;
  } kept = {.behind = 'x'};
  const size_t length = strlen(bsm_aten_schema(&op, &kept.room));
  assert_true(length > 0 && length < sizeof(kept.room));
  assert_int_equal(kept.behind, 'x');
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain), cmocka_unit_test(test_packed),
      cmocka_unit_test(test_names), cmocka_unit_test(test_long)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
