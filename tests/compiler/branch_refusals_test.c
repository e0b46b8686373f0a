/* SPDX-License-Identifier: Apache-2.0 */
/* Branches on data that fail whenever they run. What PyTorch raises there, the
 * engine raises when it gets there; what we refuse, is refused. */
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

/* x, or where its sum is positive what `call` makes of it as %y. */
#define BRANCH(constants, call)                          \
  "graph(%x : Float(4)):\n"                              \
  "  %n : NoneType = prim::Constant()\n"                 \
  "  %zero : int = prim::Constant[value=0]()\n"          \
  "  %one : int = prim::Constant[value=1]()\n" constants \
  "  %s : Tensor = aten::sum(%x, %n)\n"                  \
  "  %p : Tensor = aten::gt(%s, %zero)\n"                \
  "  %c : bool = aten::Bool(%p)\n"                       \
  "  %r : Tensor = prim::If(%c)\n"                       \
  "    block0():\n" call                                 \
  "      -> (%y)\n"                                      \
  "    block1():\n"                                      \
  "      -> (%x)\n"                                      \
  "  return (%r)\n"

#define SPLIT(sections)                                              \
  BRANCH("  %k : int = prim::Constant[value=" sections "]()\n",      \
         "      %l : Tensor[] = aten::tensor_split(%x, %k, %zero)\n" \
         "      %y : Tensor = aten::__getitem__(%l, %zero)\n")
/* 11 of 12 dimensions. */
#define ATTENTION(shape)                                                   \
  BRANCH("  %d : int[] = prim::Constant[value=" shape                      \
         "]()\n"                                                           \
         "  %f : float = prim::Constant[value=0.]()\n"                     \
         "  %no : bool = prim::Constant[value=0]()\n",                     \
         "      %w : Tensor = aten::view(%x, %d)\n"                        \
         "      %y : Tensor = aten::scaled_dot_product_attention(%w, %w, " \
         "%w, %n, %f, %no, %n, %no)\n")

static bsm_status compile(const char *text, bsm_engine **engine) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_module *module = NULL;
  *engine = NULL;
  options.no_timing = true;
  options.threads = 1;
  bsm_status status =
      bsm_module_load_memory(text, strlen(text), "branch", NULL, &module);
  if (!status) status = bsm_compile(module, &options, engine);
  bsm_module_destroy(module);
  return status;
}

static void our_limits_are_refused(void **state) {
  static const char *const texts[] = {
      SPLIT("2000000"), ATTENTION("[1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 1]")};
  bsm_engine *engine;
  (void)state;
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    bsm_status status = compile(texts[i], &engine);
    if (bsm_status_code(status) != BSM_LIMIT) {
      fail_msg("%zu: %s", i, bsm_status_message(status));
    }
    bsm_status_free(status);
  }
}

static void what_pytorch_raises_is_raised(void **state) {
  static const char *const texts[] = {SPLIT("0"), ATTENTION("[4]")};
  float x[] = {1, 2, 3, 4}, y[4];
  const bsm_array in = {x, BSM_DTYPE_FLOAT, {1, {4}}, NULL};
  const bsm_array out = {y, BSM_DTYPE_FLOAT, {1, {4}}, NULL};
  (void)state;
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    bsm_engine *engine;
    bsm_context *context = NULL;
    bsm_status status = compile(texts[i], &engine);
    if (status) fail_msg("%zu: %s", i, bsm_status_message(status));
    assert_null(bsm_context_create(engine, NULL, &context));
    x[3] = 4;
    status = bsm_context_run(context, &in, 1, &out, 1);
    assert_int_equal(bsm_status_code(status), BSM_RAISED);
    bsm_status_free(status);
    x[3] = -40;
    assert_null(bsm_context_run(context, &in, 1, &out, 1));
    assert_memory_equal(x, y, sizeof(x));
    bsm_context_destroy(context);
    bsm_engine_destroy(engine);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(our_limits_are_refused),
      cmocka_unit_test(what_pytorch_raises_is_raised),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
