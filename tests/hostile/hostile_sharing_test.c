/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a file of few bytes makes large by sharing, and lists and dicts
 * that programs fill one by one: each is looked at once, or the test runs into
 * the time limit of ctest. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"

enum { TEXT = 1 << 16, DEPTH = 40 };

static void must(bsm_status status, const char *text) {
  if (status) fail_msg("%s\n%s", bsm_status_message(status), text);
}

static bsm_status try_compile(const char *text, bsm_engine **engine) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 1;
  spec.min[0] = 1;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  bsm_module *module = NULL;
  *engine = NULL;
  must(bsm_module_load_memory(text, strlen(text), "sharing", NULL, &module),
       text);
  bsm_status status = bsm_compile(module, &options, engine);
  bsm_module_destroy(module);
  return status;
}

static bsm_engine *compile(const char *text) {
  bsm_engine *engine;
  must(try_compile(text, &engine), text);
  return engine;
}

static float run(const bsm_engine *engine, float x, const char *text) {
  const bsm_dims one = {1, {1}};
  float y = -1;
  const bsm_array in = {&x, BSM_DTYPE_FLOAT, one, NULL};
  const bsm_array out = {&y, BSM_DTYPE_FLOAT, one, NULL};
  bsm_context *context = NULL;
  must(bsm_context_create(engine, NULL, &context), text);
  must(bsm_context_run(context, &in, 1, &out, 1), text);
  bsm_context_destroy(context);
  return y;
}

/* %tN, a list of two of %tN-1, and so on down to `base`. */
static size_t print_nested(char *text, const char *base, const char *type) {
  char whole[512];
  size_t at = 0;
  snprintf(whole, sizeof(whole), "%s", type);
  for (int i = 0; i < DEPTH; i++) {
    char before[16];
    strcat(whole, "[]");
    snprintf(before, sizeof(before), "%%t%d", i - 1);
    const char *item = i ? before : base;
    at += (size_t)snprintf(text + at, TEXT - at,
                           "  %%t%d : %s = prim::ListConstruct(%s, %s)\n", i,
                           whole, item, item);
  }
  return at;
}

/* `use` reads %t39 and makes %l. */
static const char *print_graph(const char *base, const char *type,
                               const char *use) {
  static char text[TEXT];
  size_t at = (size_t)snprintf(
      text, sizeof(text),
      "graph(%%x : Tensor):\n  %%one : int = prim::Constant[value=1]()\n");
  at += print_nested(text + at, base, type);
  snprintf(text + at, sizeof(text) - at,
           "%s  %%r : Tensor = aten::add(%%x, %%l, %%one)\n  return (%%r)\n",
           use);
  return text;
}

static void try_nested(const char *base, const char *type, const char *use) {
  const char *text = print_graph(base, type, use);
  bsm_engine *engine = compile(text);
  assert_true(run(engine, 1, text) == 3);
  bsm_engine_destroy(engine);
}

static void what_is_shared_is_looked_at_once(void **state) {
  (void)state;
  static const char len[] = "  %l : int = aten::len(%t39)\n";
  static char loop[2048], type[256] = "Tensor";
  try_nested("%one", "int", len);
  try_nested("%x", "Tensor", len);
  for (int i = 0; i < DEPTH; i++) strcat(type, "[]");
  snprintf(loop, sizeof(loop),
           "  %%n : int = aten::Int(%%x)\n"
           "  %%true : bool = prim::Constant[value=1]()\n"
           "  %%o : %s = prim::Loop(%%n, %%true, %%t39)\n"
           "    block0(%%i : int, %%u : %s):\n"
           "      -> (%%true, %%u)\n"
           "  %%l : int = aten::len(%%o)\n",
           type, type);
  try_nested("%x", "Tensor", loop);
}

/* Its text is not: that ends where memory does. */
static void texts_of_what_is_shared_are_refused(void **state) {
  (void)state;
  static const char *const uses[] = {
      "  %s : str = aten::str(%t39)\n"
      "  %l : int = aten::len(%s)\n",
      "  %f : str = prim::Constant[value=\"{}\"]()\n"
      "  %s : str = aten::format(%f, %t39)\n"
      "  %l : int = aten::len(%s)\n",
      "   = prim::Print(%t39)\n"
      "  %l : int = aten::len(%t39)\n"};
  for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
    bsm_engine *engine;
    bsm_status status =
        try_compile(print_graph("%one", "int", uses[i]), &engine);
    if (bsm_status_code(status) != BSM_LIMIT ||
        !strstr(bsm_status_message(status), "max_memory_bytes")) {
      fail_msg("text %zu: %s", i, bsm_status_message(status));
    }
    bsm_status_free(status);
    bsm_engine_destroy(engine);
  }
}

/* A turn takes the same time whatever has been filled in. */
static const char appending[] =
    "graph(%x : Tensor):\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %n : int = aten::Int(%x)\n"
    "  %empty : int[] = prim::ListConstruct()\n"
    "   = prim::Loop(%n, %true)\n"
    "    block0(%i : int):\n"
    "      %b : int[] = aten::append(%empty, %i)\n"
    "      -> (%true)\n"
    "  %l : int = aten::len(%empty)\n"
    "  %y : Tensor = aten::mul(%x, %one)\n"
    "  %r : Tensor = aten::add(%y, %l, %one)\n"
    "  return (%r)\n";

static void appending_takes_no_longer_for_a_long_list(void **state) {
  (void)state;
  bsm_engine *engine = compile(appending);
  assert_true(run(engine, 200000, appending) == 400000);
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_shared_is_looked_at_once),
      cmocka_unit_test(texts_of_what_is_shared_are_refused),
      cmocka_unit_test(appending_takes_no_longer_for_a_long_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
