/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of few bytes that ask for any amount of memory while compiling: values
 * that double, tensors that repeat one element, loops in loops. They are
 * refused by max_memory_bytes, and a greater limit lets them go on. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "bessemer/bessemer.h"

#define HEAD                                         \
  "graph(%x : Float(2)):\n"                          \
  "  %n : NoneType = prim::Constant()\n"             \
  "  %zero : int = prim::Constant[value=0]()\n"      \
  "  %one : int = prim::Constant[value=1]()\n"       \
  "  %times : int = prim::Constant[value=28]()\n"    \
  "  %true : bool = prim::Constant[value=1]()\n"     \
  "  %s : str = prim::Constant[value=\"ab\"]()\n"    \
  "  %l : int[] = prim::ListConstruct(%one, %one)\n" \
  "  %big : int[] = prim::Constant[value=[50000, 50000]]()\n"

#define TAIL                                  \
  "  %r : Tensor = aten::add(%x, %k, %one)\n" \
  "  return (%r)\n"

static const struct {
  const char *name, *text;
} growing[] = {
    {"a string", HEAD "  %g : str = prim::Loop(%times, %true, %s)\n"
                      "    block0(%i : int, %u : str):\n"
                      "      %v : str = aten::add(%u, %u)\n"
                      "      -> (%true, %v)\n"
                      "  %k : int = aten::len(%g)\n" TAIL},
    {"a list", HEAD "  %g : int[] = prim::Loop(%times, %true, %l)\n"
                    "    block0(%i : int, %u : int[]):\n"
                    "      %v : int[] = aten::add(%u, %u)\n"
                    "      -> (%true, %v)\n"
                    "  %k : int = aten::len(%g)\n" TAIL},
    {"a tensor", HEAD "  %t : Tensor = aten::ones(%l, %n, %n, %n, %n)\n"
                      "  %g : Tensor = prim::Loop(%times, %true, %t)\n"
                      "    block0(%i : int, %u : Tensor):\n"
                      "      %p : Tensor[] = prim::ListConstruct(%u, %u)\n"
                      "      %v : Tensor = aten::cat(%p, %zero)\n"
                      "      -> (%true, %v)\n"
                      "  %m : Tensor = aten::sum(%g, %n)\n"
                      "  %k : int = aten::Int(%m)\n" TAIL},
    {"a tensor that repeats one element",
     HEAD "  %t : Tensor = aten::ones(%l, %n, %n, %n, %n)\n"
          "  %e : Tensor = aten::expand(%t, %big, %true)\n"
          "  %g : Tensor = aten::neg(%e)\n"
          "  %m : Tensor = aten::sum(%g, %n)\n"
          "  %k : int = aten::Int(%m)\n" TAIL},
};

static bsm_status use(const char *text, uint64_t max_memory, bool list) {
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_operator_list *operators = NULL;
  limits.max_memory_bytes = max_memory;
  loading.limits = &limits;
  options.no_timing = true;
  options.threads = 1;
  bsm_status status =
      bsm_module_load_memory(text, strlen(text), "growth", &loading, &module);
  if (!status) {
    status = list ? bsm_module_operators(module, &options, &operators)
                  : bsm_compile(module, &options, &engine);
  }
  bsm_operator_list_free(operators);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
  return status;
}

static bsm_status compile(const char *text, uint64_t max_memory) {
  return use(text, max_memory, false);
}

/* The most memory that this process ever had, in KiB. */
static long peak(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_maxrss;
}

static void growth_is_refused(void **state) {
  (void)state;
  const long before = peak();
  for (size_t i = 0; i < 2 * sizeof(growing) / sizeof(growing[0]); i++) {
    bsm_status status = use(growing[i / 2].text, 0, i % 2);
    /* Operators can be listed where it is the engine that would be too large.
     */
    if (!status && i % 2) continue;
    if (bsm_status_code(status) != BSM_LIMIT ||
        !strstr(bsm_status_message(status), "max_memory_bytes")) {
      fail_msg("%s: %s", growing[i / 2].name, bsm_status_message(status));
    }
    bsm_status_free(status);
  }
#ifndef BSM_SANITIZED /* which keep what was freed */
  if (peak() - before > 64 << 10) fail_msg("%ld KiB", peak() - before);
#else
  (void)before;
#endif
}

/* Adds a loop on data that holds another one, and so on. */
static size_t print_loops(char *text, size_t size, int depth, int deepest) {
  const int in = 2 + 4 * depth;
  size_t n = (size_t)snprintf(
      text, size,
      "%*s%%u%d : Tensor = prim::Loop(%%count, %%true, %%v%d)\n"
      "%*sblock0(%%i%d : int, %%v%d : Tensor):\n",
      in, "", depth, depth, in + 2, "", depth, depth + 1);
  if (depth < deepest) {
    n += print_loops(text + n, size - n, depth + 1, deepest);
  } else {
    n += (size_t)snprintf(text + n, size - n,
                          "%*s%%u%d : Tensor = aten::add(%%v%d, %%x, %%one)\n",
                          in + 4, "", depth + 1, depth + 1);
  }
  n += (size_t)snprintf(text + n, size - n, "%*s-> (%%true, %%u%d)\n", in + 4,
                        "", depth + 1);
  return n;
}

/* What is known of a loop's values is worked out anew for each of its uses, of
 * which a loop inside has several. */
static void loops_in_loops_are_refused(void **state) {
  (void)state;
  static char text[1 << 15];
  const long before = peak();
  static const char head[] = HEAD
      "  %z : Tensor = aten::nonzero(%x)\n"
      "  %count : int = aten::size(%z, %zero)\n"
      "  %v0 : Tensor = aten::neg(%x)\n";
  memcpy(text, head, sizeof(head));
  size_t n = sizeof(head) - 1;
  n += print_loops(text + n, sizeof(text) - n, 0, 24);
  snprintf(text + n, sizeof(text) - n, "  return (%%u0)\n");
  bsm_status status = compile(text, 0);
  if (status && (bsm_status_code(status) != BSM_LIMIT ||
                 !strstr(bsm_status_message(status), "max_memory_bytes"))) {
    fail_msg("%s", bsm_status_message(status));
  }
  bsm_status_free(status);
#ifndef BSM_SANITIZED
  if (peak() - before > 64 << 10) fail_msg("%ld KiB", peak() - before);
#else
  (void)before;
#endif
}

/* The limit is one for all that compiling does; what it was doing is said. */
static void every_stage_counts(void **state) {
  static const char text[] =
      "graph(%x : Float(2, 2)):\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %times : int = prim::Constant[value=1500]()\n"
      "  %true : bool = prim::Constant[value=1]()\n"
      "  %y : Tensor = prim::Loop(%times, %true, %x)\n"
      "    block0(%i : int, %u : Tensor):\n"
      "      %v : Tensor = aten::softmax(%u, %one, %n)\n"
      "      -> (%true, %v)\n"
      "  return (%y)\n";
  static const char *const stages[] = {"reading the model takes more",
                                       "lowering the model takes more",
                                       "planning the model takes more"};
  bool seen[3] = {false};
  (void)state;
  uint64_t limit = 1 << 20;
  bsm_status status = compile(text, limit);
  while (status && limit < 64 << 20) {
    assert_int_equal(bsm_status_code(status), BSM_LIMIT);
    for (int k = 0; k < 3; k++) {
      seen[k] =
          seen[k] || strstr(bsm_status_message(status), stages[k]) != NULL;
    }
    bsm_status_free(status);
    limit += limit / 16;
    status = compile(text, limit);
  }
  if (status) fail_msg("%s", bsm_status_message(status));
  for (int k = 0; k < 3; k++) {
    if (!seen[k]) fail_msg("never: %s", stages[k]);
  }
}

/* What each output and each step takes is little. */
static void many_outputs_take_little(void **state) {
  (void)state;
  const long before = peak();
  bsm_status status = compile(
      "graph(%x : Float(2)):\n"
      "  %n : int = prim::Constant[value=10000]()\n"
      "  %l : int[] = prim::rangelist(%n)\n"
      "  return (%l)\n",
      0);
  if (status) fail_msg("%s", bsm_status_message(status));
#ifndef BSM_SANITIZED
  if (peak() - before > 64 << 10) fail_msg("%ld KiB", peak() - before);
#else
  (void)before;
#endif
}

/* An input of one dimension, which ranges. */
static bsm_status compile_ranging(const char *text, int64_t most,
                                  uint64_t max_memory) {
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  limits.max_memory_bytes = max_memory;
  loading.limits = &limits;
  spec.rank = 1;
  spec.min[0] = 1;
  spec.opt[0] = 4;
  spec.max[0] = most;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  bsm_status status =
      bsm_module_load_memory(text, strlen(text), "growth", &loading, &module);
  if (!status) status = bsm_compile(module, &options, &engine);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
  return status;
}

/* Loops that append as often as an input is long, for each time that it is. */
static void appending_in_loops_is_refused(void **state) {
  static const char text[] =
      "graph(%x : Tensor):\n"
      "  %zero : int = prim::Constant[value=0]()\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %true : bool = prim::Constant[value=1]()\n"
      "  %c : int = aten::size(%x, %zero)\n"
      "  %l : Tensor[] = prim::ListConstruct()\n"
      "   = prim::Loop(%c, %true)\n"
      "    block0(%i : int):\n"
      "       = prim::Loop(%c, %true)\n"
      "        block0(%j : int):\n"
      "          %m : int = aten::mul(%i, %j)\n"
      "          %r : Tensor = aten::add(%x, %x, %m)\n"
      "          %a : Tensor[] = aten::append(%l, %r)\n"
      "          -> (%true)\n"
      "      -> (%true)\n"
      "  %y : Tensor = aten::stack(%l, %zero)\n"
      "  return (%y)\n";
  (void)state;
  const long before = peak();
  bsm_status status = compile_ranging(text, 100, 0);
  if (bsm_status_code(status) != BSM_LIMIT ||
      !strstr(bsm_status_message(status), "max_memory_bytes")) {
    fail_msg("%s", status ? bsm_status_message(status) : "compiled");
  }
  bsm_status_free(status);
#ifndef BSM_SANITIZED
  if (peak() - before > 64 << 10) fail_msg("%ld KiB", peak() - before);
#else
  (void)before;
#endif
  status = compile_ranging(text, 20, 0);
  if (status) fail_msg("%s", bsm_status_message(status));
}

/* ---- constants that memory has no room for ---- */

typedef struct watched {
  bool left; /* a warning said so, and which option changes it */
} watched;

static void watch(void *user, bsm_log_level level, const char *message) {
  watched *w = user;
  w->left |=
      level == BSM_LOG_LEVEL_WARNING && strstr(message, "left to the engine") &&
      strstr(message, "max_memory_bytes") && strstr(message, "--max-memory");
}

/* The sum of n ones, times 2: in the engine, or compiled. */
static bsm_status sum_of_ones(int n, uint64_t max_memory, watched *w,
                              float *out) {
  char text[1024];
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_logger logger = {BSM_LOG_LEVEL_WARNING, watch, w};
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  float x[] = {1, 2}, y[2];
  const bsm_array in = {x, BSM_DTYPE_FLOAT, {1, {2}}, NULL};
  const bsm_array result = {y, BSM_DTYPE_FLOAT, {1, {2}}, NULL};
  snprintf(text, sizeof(text),
           "graph(%%x : Float(2)):\n"
           "  %%n : NoneType = prim::Constant()\n"
           "  %%l : int[] = prim::Constant[value=[%d]]()\n"
           "  %%t : Tensor = aten::ones(%%l, %%n, %%n, %%n, %%n)\n"
           "  %%m : Tensor = aten::sum(%%t, %%n)\n"
           "  %%r : Tensor = aten::mul(%%x, %%m)\n"
           "  return (%%r)\n",
           n);
  *w = (watched){false};
  limits.max_memory_bytes = max_memory;
  loading.limits = &limits;
  options.logger = &logger;
  options.no_timing = true;
  options.threads = 1;
  bsm_status status =
      bsm_module_load_memory(text, strlen(text), "growth", &loading, &module);
  if (!status) status = bsm_compile(module, &options, &engine);
  bsm_module_destroy(module);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  if (!status) status = bsm_context_run(context, &in, 1, &result, 1);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  *out = y[1];
  return status;
}

/* With room for two copies it is folded; with room for none, or for one, it is
 * made in each run. What is still larger is refused. */
static void constants_without_room_are_left(void **state) {
  static const struct {
    int n;
    uint64_t max_memory;
    bool left;
  } rows[] = {{1000000, 3 << 20, true},   {1000000, 6 << 20, true},
              {1000000, 16 << 20, false}, {5000000, 0, false},
              {10000000, 0, true},        {16000000, 0, true}};
  watched w;
  float y;
  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    bsm_status status = sum_of_ones(rows[i].n, rows[i].max_memory, &w, &y);
    if (status) fail_msg("%zu: %s", i, bsm_status_message(status));
    if (w.left != rows[i].left) fail_msg("%zu: left: %d", i, w.left);
    assert_true(y == 2 * (float)rows[i].n);
  }
  bsm_status status = sum_of_ones(100000000, 3 << 20, &w, &y);
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  assert_non_null(strstr(bsm_status_message(status), "--max-memory"));
  bsm_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(growth_is_refused),
      cmocka_unit_test(loops_in_loops_are_refused),
      cmocka_unit_test(many_outputs_take_little),
      cmocka_unit_test(appending_in_loops_is_refused),
      cmocka_unit_test(every_stage_counts),
      cmocka_unit_test(constants_without_room_are_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
