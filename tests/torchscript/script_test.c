/* SPDX-License-Identifier: Apache-2.0 */
/* Names, types and files of a script; out of memory. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/base/test_allocator.h"
#include "tests/torchscript/script_world.h"

static void check_type(const char *text, const char *wanted) {
  script_world w;
  const bsm_type *type = NULL;
  bsm_text out;
  assert_null(script_world_init(&w, 10, NULL));
  bsm_status status = bsm_script_parse_type(w.script, bsm_str_of(text), &type);
  if (status) fail_msg("%s", bsm_status_message(status));
  bsm_text_init(&out, &w.arena);
  bsm_type_print(&out, type, BSM_TYPE_STYLE_PYTHON);
  assert_string_equal(out.data, wanted);
  script_world_destroy(&w);
}

static void test_types(void **state) {
  (void)state;
  static const char *const same[] = {"Tensor",
                                     "int",
                                     "float",
                                     "bool",
                                     "complex",
                                     "str",
                                     "Device",
                                     "Any",
                                     "NoneType",
                                     "number",
                                     "List[int]",
                                     "Optional[List[Dict[str, Tensor]]]",
                                     "Tuple[int, Tuple[float, str]]",
                                     "Dict[int, List[float]]"};
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    check_type(same[i], same[i]);
  }
  check_type("None", "NoneType");
  check_type("Future[Tensor]", "Tensor"); /* a forked call is made at once */
  check_type("Final[float]", "float");
  check_type("Tuple[()]", "Tuple[()]");
  check_type("Union[int, NoneType]", "Optional[int]");
  check_type("__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
             "__torch__.torch.classes.quantized.Conv2dPackedParamsBase");
}

static void test_bad_types(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",          "Tensr", "List",        "List[]",  "List[int, int]",
      "Dict[int]", "3",     "__torch__.X", "int int", "f(x)"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    script_world w;
    const bsm_type *type = NULL;
    assert_null(script_world_init(&w, 10, NULL));
    bsm_status status =
        bsm_script_parse_type(w.script, bsm_str_of(bad[i]), &type);
    if (!status) fail_msg("accepted: %s", bad[i]);
    assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
    bsm_status_free(status);
    script_world_destroy(&w);
  }
}

static void test_versions(void **state) {
  (void)state;
  for (int64_t version = -1; version <= 12; version++) {
    script_world w;
    bsm_status status = script_world_init(&w, version, NULL);
    const bsm_code wanted =
        version >= 1 && version <= 10 ? BSM_CODE_OK : BSM_VERSION;
    assert_int_equal(bsm_status_code(status), wanted);
    bsm_status_free(status);
    script_world_destroy(&w);
  }
}

/* A file is read when a name of it is asked for, and only then. */
static void test_files(void **state) {
  (void)state;
  script_world w;
  const bsm_type *type = NULL, *again = NULL;
  bsm_function *fn = NULL;
  assert_null(script_world_init(&w, 10, NULL));
  script_world_add(&w, "code/__torch__.py",
                   BSM_STR("class M(Module):\n"
                           "  a : __torch__.sub.N\n"));
  script_world_add(&w, "code/__torch__/sub.py",
                   BSM_STR("class N(Module):\n"
                           "  m : Optional[__torch__.M]\n"
                           "def f(x: int) -> int:\n"
                           "  return x\n"));
  script_world_add(&w, "code/__torch__/broken.py", BSM_STR("$"));
  assert_null(bsm_script_find_type(w.script, BSM_STR("__torch__.M"), &type));
  assert_null(
      bsm_script_find_type(w.script, BSM_STR("__torch__.sub.N"), &again));
  assert_ptr_equal(type->cls->attributes.items[0].type, again);
  assert_ptr_equal(again->cls->attributes.items[0].type->args[0], type);
  assert_null(
      bsm_script_find_function(w.script, BSM_STR("__torch__.sub.f"), &fn));
  assert_string_equal(fn->qualified, "__torch__.sub.f");
  assert_null(fn->graph);
  static const char *const missing[] = {
      "__torch__.X", "__torch__.sub.f", "__torch__.a.b.C", "M", "", ".", "a."};
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
    bsm_status status =
        bsm_script_find_type(w.script, bsm_str_of(missing[i]), &type);
    assert_int_equal(bsm_status_code(status), BSM_NOT_FOUND);
    bsm_status_free(status);
  }
  bsm_status status =
      bsm_script_find_type(w.script, BSM_STR("__torch__.broken.X"), &type);
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  assert_non_null(
      strstr(bsm_status_message(status), "code/__torch__/broken.py:1:1"));
  bsm_status_free(status);
  script_world_destroy(&w);
}

static void test_bad_classes(void **state) {
  (void)state;
  static const struct {
    const char *code, *message;
  } rows[] = {
      {"class M(Module):\n  a : int\n  a : int\n", "'a' is declared twice"},
      {"class M:\n  def f(self):\n    pass\n  def f(self):\n    pass\n",
       "'f' is declared twice"},
      {"class M:\n  a : int\nclass M:\n  a : int\n", "defined twice"},
      {"class M(Foo):\n  a : int\n", "a class of kind 'Foo'"},
      {"class M(Enum):\n  A = f(x)\n", "no literal"},
      {"class M(NamedTuple):\n  a = 3\n", "without a type"},
      {"class M(Module):\n  __forward_hooks__ = [3]\n", "list of names"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    script_world w;
    const bsm_type *type = NULL;
    assert_null(script_world_init(&w, 10, NULL));
    script_world_add(&w, "code/__torch__.py", bsm_str_of(rows[i].code));
    bsm_status status =
        bsm_script_find_type(w.script, BSM_STR("__torch__.M"), &type);
    if (!status) fail_msg("accepted: %s", rows[i].code);
    if (!strstr(bsm_status_message(status), rows[i].message)) {
      fail_msg("%s", bsm_status_message(status));
    }
    bsm_status_free(status);
    script_world_destroy(&w);
  }
}

/* ---- out of memory ---- */

static bsm_status compile_with(test_allocator *allocator) {
  script_world w = {0};
  bsm_graph *graph = NULL;
  bsm_arena_init(&w.arena, &allocator->base);
  bsm_status status = bsm_ir_ctx_create(&w.arena, NULL, NULL, &w.cx);
  const bsm_script_hooks hooks = {.user = &w, .read_source = script_world_read};
  script_world_add(&w, "code/__torch__.py",
                   BSM_STR("class M(Module):\n"
                           "  w : Tensor\n"
                           "  def forward(self: __torch__.M, x: Tensor,\n"
                           "    n: int) -> Tensor:\n"
                           "    w = self.w\n"
                           "    for i in range(n):\n"
                           "      if torch.gt(i, 3):\n"
                           "        x = torch.add(x, w)\n"
                           "      else:\n"
                           "        x = torch.div(x, [1., 2.][0])\n"
                           "    return x\n"));
  if (!status) status = bsm_script_create(w.cx, 3, &hooks, &w.script);
  if (!status) status = script_world_graph(&w, "__torch__.M.forward", &graph);
  script_world_destroy(&w);
  return status;
}

static void test_out_of_memory(void **state) {
  (void)state;
  for (int limit = 0;; limit++) {
    test_allocator allocator;
    test_allocator_init(&allocator, limit);
    bsm_status status = compile_with(&allocator);
    assert_int_equal(allocator.live, 0);
    if (!status) {
      assert_true(limit > 0);
      return;
    }
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),       cmocka_unit_test(test_bad_types),
      cmocka_unit_test(test_versions),    cmocka_unit_test(test_files),
      cmocka_unit_test(test_bad_classes), cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
