/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused of models that are quantized already, with the reason. */
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

/* %q is x on a grid of quint8. */
#define HEAD                                          \
  "graph(%x : Float(2, 3, 4, 4), %c : Bool()):\n"     \
  "  %none : NoneType = prim::Constant()\n"           \
  "  %zero : int = prim::Constant[value=0]()\n"       \
  "  %three : int = prim::Constant[value=3]()\n"      \
  "  %many : int = prim::Constant[value=300]()\n"     \
  "  %q8 : int = prim::Constant[value=12]()\n"        \
  "  %u8 : int = prim::Constant[value=13]()\n"        \
  "  %no : bool = prim::Constant[value=0]()\n"        \
  "  %s : float = prim::Constant[value=0.1]()\n"      \
  "  %nothing : float = prim::Constant[value=0.]()\n" \
  "  %q : Tensor = aten::quantize_per_tensor(%x, %s, %three, %u8)\n"

static void refuse(const char *name, const char *body, const char *why) {
  char text[4096];
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const int length = snprintf(text, sizeof text, "%s%s", HEAD, body);
  assert_true(length > 0 && (size_t)length < sizeof text);
  options.no_timing = true;
  bsm_status st =
      bsm_module_load_memory(text, (size_t)length, name, NULL, &module);
  if (!st) st = bsm_compile(module, &options, &engine);
  if (!st) fail_msg("%s compiles", name);
  if (!strstr(bsm_status_message(st), why)) {
    fail_msg("%s: \"%s\" is not in \"%s\"", name, why, bsm_status_message(st));
  }
  bsm_status_free(st);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

static void quantized_results(void **state) {
  (void)state;
  refuse("a result", "  return (%q)\n", "dequantize it first");
  refuse("a result in a tuple",
         "  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %q)\n"
         "  return (%t)\n",
         "dequantize it first");
  refuse("a result of a branch",
         "  %b : bool = aten::Bool(%c)\n"
         "  %r : Tensor = prim::If(%b)\n"
         "    block0():\n"
         "      -> (%q)\n"
         "    block1():\n"
         "      %p : Tensor = aten::relu(%q)\n"
         "      -> (%p)\n"
         "  %y : Tensor = aten::dequantize(%r)\n"
         "  return (%y)\n",
         "dequantize it first");
}

static void grids(void **state) {
  (void)state;
  refuse("a scale of zero",
         "  %r : Tensor = quantized::hardswish(%q, %nothing, %three)\n"
         "  %y : Tensor = aten::dequantize(%r)\n"
         "  return (%y)\n",
         "a scale of 0");
  refuse("a zero point out of range",
         "  %r : Tensor = quantized::hardswish(%q, %s, %many)\n"
         "  %y : Tensor = aten::dequantize(%r)\n"
         "  return (%y)\n",
         "a zero point of 300");
  refuse("a scale by data",
         "  %r : Tensor = aten::quantize_per_tensor_dynamic(%x, %u8, %no)\n"
         "  %y : Tensor = aten::dequantize(%r)\n"
         "  return (%y)\n",
         "depends on data");
  refuse("two dtypes",
         "  %p : Tensor = aten::quantize_per_tensor(%x, %s, %three, %q8)\n"
         "  %r : Tensor = quantized::add(%q, %p, %s, %three)\n"
         "  %y : Tensor = aten::dequantize(%r)\n"
         "  return (%y)\n",
         "must have the same dtype");
  refuse("floats",
         "  %r : Tensor = quantized::add(%x, %x, %s, %three)\n"
         "  %y : Tensor = aten::dequantize(%r)\n"
         "  return (%y)\n",
         "a quantized tensor is needed");
}

static void operators(void **state) {
  (void)state;
  refuse("without a kernel",
         "  %r : Tensor = aten::exp(%q)\n"
         "  %y : Tensor = aten::dequantize(%r)\n"
         "  return (%y)\n",
         "aten::exp of a quantized tensor");
  refuse("to another dtype",
         "  %four : int = prim::Constant[value=6]()\n"
         "  %y : Tensor = aten::to(%q, %four, %no, %no, %none)\n"
         "  return (%y)\n",
         "of a quantized tensor");
  refuse("another grid in place",
         "  %r : Tensor = aten::tanh_(%q)\n"
         "  %y : Tensor = aten::dequantize(%r)\n"
         "  return (%y)\n",
         "would change the scale");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantized_results),
      cmocka_unit_test(grids),
      cmocka_unit_test(operators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
