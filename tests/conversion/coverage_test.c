/* SPDX-License-Identifier: Apache-2.0 */
/* Every converter and evaluator of Torch-TensorRT has its counterpart here:
 * tests/data/conversion/torch_tensorrt_schemas.txt lists them, with how each is
 * taken. That they compute the same as PyTorch is shown by the operator suites;
 * what lowering executes by itself is run here. */
#include "lowering/interpret.h"
#include "lowering/pass.h"
#include "tests/conversion/conversion_fixture.h"

/* "aten::add.Tensor" of a line's schema, in a buffer of the caller. */
static const char *qualified(const char *schema, char *buffer, size_t size) {
  const size_t n = strcspn(schema, "(\n");
  assert_true(n > 0 && n < size);
  memcpy(buffer, schema, n);
  buffer[n] = 0;
  return buffer;
}

static bool is_known_pass(fixture *f, const char *name) {
  bsm_graph *graph;
  assert_ok(parse_graph(f, "graph(%x : Float(2)):\n  return (%x)\n", &graph));
  bsm_status st = bsm_lower_run_pass(name, graph, f->aten);
  const bool known = !st;
  bsm_status_free(st);
  return known;
}

static const char *const specialised[][3] = {
    /* kind, graph, the result or what the message says */
    {"prim::Constant", "  %r : int = prim::Constant[value=7]()\n", "7"},
    {"prim::ListConstruct",
     "  %l : int[] = prim::ListConstruct(%1, %2)\n"
     "  %r : int = aten::len(%l)\n",
     "2"},
    {"prim::ListUnpack",
     "  %l : int[] = prim::ListConstruct(%1, %2)\n"
     "  %a : int, %r : int = prim::ListUnpack(%l)\n",
     "2"},
    {"prim::TupleConstruct",
     "  %t : (int, int) = prim::TupleConstruct(%1, %3)\n"
     "  %a : int, %r : int = prim::TupleUnpack(%t)\n",
     "3"},
    {"prim::TupleUnpack",
     "  %t : (int, int) = prim::TupleConstruct(%2, %3)\n"
     "  %r : int, %b : int = prim::TupleUnpack(%t)\n",
     "2"},
    {"prim::TupleIndex",
     "  %t : (int, int) = prim::TupleConstruct(%2, %3)\n"
     "  %r : int = prim::TupleIndex(%t, %minus)\n",
     "3"},
    {"prim::unchecked_cast", "  %r : int = prim::unchecked_cast(%3)\n", "3"},
    {"prim::NumToTensor",
     "  %t : Tensor = prim::NumToTensor(%3)\n"
     "  %r : int = aten::Int(%t)\n",
     "3"},
    {"prim::Uninitialized",
     "  %c : bool = aten::gt(%2, %1)\n"
     "  %u : int = prim::Uninitialized()\n"
     "  %r : int = prim::If(%c)\n"
     "    block0():\n      -> (%2)\n"
     "    block1():\n      -> (%u)\n",
     "2"},
    {"prim::RaiseException",
     "  %m : str = prim::Constant[value=\"expected four\"]()\n"
     "   = prim::RaiseException(%m, %m)\n"
     "  %r : int = aten::neg(%1)\n",
     "expected four"},
    {"aten::append.t",
     "  %l : int[] = prim::ListConstruct(%1)\n"
     "  %m : int[] = aten::append(%l, %3)\n"
     "  %r : int = aten::__getitem__(%l, %minus)\n",
     "3"},
    {"aten::extend.t",
     "  %l : int[] = prim::ListConstruct(%1)\n"
     "  %m : int[] = prim::ListConstruct(%2, %3)\n"
     "   = aten::extend(%l, %m)\n"
     "  %r : int = aten::len(%l)\n",
     "3"},
    {"aten::add_.t",
     "  %l : int[] = prim::ListConstruct(%1)\n"
     "  %m : int[] = prim::ListConstruct(%2, %3)\n"
     "  %n : int[] = aten::add_(%l, %m)\n"
     "  %r : int = aten::len(%l)\n",
     "3"},
    {"aten::__getitem__.t",
     "  %l : int[] = prim::ListConstruct(%1, %2, %3)\n"
     "  %r : int = aten::__getitem__(%l, %1)\n",
     "2"},
    {"aten::warn",
     "  %m : str = prim::Constant[value=\"careful\"]()\n"
     "   = aten::warn(%m, %2)\n"
     "  %r : int = aten::neg(%minus)\n",
     "1"},
    {"aten::copy_",
     "  %no : bool = prim::Constant[value=0]()\n"
     "  %a : Tensor = prim::NumToTensor(%1)\n"
     "  %b : Tensor = prim::NumToTensor(%3)\n"
     "  %c : Tensor = aten::copy_(%a, %b, %no)\n"
     "  %r : int = aten::Int(%a)\n",
     "3"},
};
#define SPECIALISED (sizeof(specialised) / sizeof(specialised[0]))

static bool is_specialised(const char *kind) {
  for (size_t i = 0; i < SPECIALISED; i++) {
    if (strcmp(specialised[i][0], kind) == 0) return true;
  }
  return false;
}

static bool is_absent(fixture *f, const char *name) {
  const bsm_schema *schema;
  assert_ok(bsm_schema_table_find(f->cx->schemas, bsm_str_of(name), &schema));
  return !schema;
}

/* Whether an operator is taken in the way that the list says. */
static bool is_taken(fixture *f, const char *how, const char *name) {
  if (strcmp(how, "converter") == 0) {
    return bsm_registry_has_converter(f->registry, name);
  }
  if (strcmp(how, "evaluator") == 0) {
    return bsm_registry_has_evaluator(f->registry, name) ||
           bsm_aten_find(f->aten, bsm_str_of(name));
  }
  if (strcmp(how, "specialiser") == 0) return is_specialised(name);
  if (strcmp(how, "absent") == 0) return is_absent(f, name);
  if (strcmp(how, "internal") == 0) return strncmp(name, "trt::", 5) == 0;
  return is_known_pass(f, how) && bsm_aten_find(f->aten, bsm_str_of(name));
}

static void test_every_schema_is_taken(void **state) {
  fixture *f = *state;
  char how[64], name[128];
  int count = 0, missing = 0;
  char *text = fixture_file(
      f, BSM_TEST_DATA_DIR "/conversion/torch_tensorrt_schemas.txt");
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    if (line[0] == '#') continue;
    const size_t n = strcspn(line, " ");
    assert_true(n < sizeof(how) && line[n] == ' ');
    memcpy(how, line, n);
    how[n] = 0;
    qualified(line + n + 1, name, sizeof(name));
    count++;
    if (is_taken(f, how, name)) continue;
    print_error("%s is not taken by: %s\n", name, how);
    missing++;
  }
  assert_int_equal(missing, 0);
  assert_int_equal(count, 182 + 6 + 118);
}

static void test_specialised(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < SPECIALISED; i++) {
    bsm_text text;
    bsm_graph *graph;
    bsm_ivalue out;
    char got[32] = "";
    bsm_text_init(&text, &f->arena);
    bsm_text_printf(&text,
                    "graph():\n"
                    "  %%1 : int = prim::Constant[value=1]()\n"
                    "  %%2 : int = prim::Constant[value=2]()\n"
                    "  %%3 : int = prim::Constant[value=3]()\n"
                    "  %%minus : int = prim::Constant[value=-1]()\n"
                    "%s  return (%%r)\n",
                    specialised[i][1]);
    assert_ok(parse_graph(f, text.data, &graph));
    bsm_status st = bsm_interpret_graph(graph, f->aten, NULL, 0, &out, 1);
    if (st) {
      if (!strstr(bsm_status_message(st), specialised[i][2])) {
        fail_msg("%s: %s", specialised[i][0], bsm_status_message(st));
      }
      bsm_status_free(st);
      continue;
    }
    assert_int_equal(out.tag, BSM_IVALUE_INT);
    snprintf(got, sizeof(got), "%lld", (long long)out.u.i);
    if (strcmp(got, specialised[i][2]) != 0) {
      fail_msg("%s gives %s, not %s", specialised[i][0], got,
               specialised[i][2]);
    }
  }
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_every_schema_is_taken),
      TEST(test_specialised),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
