/* SPDX-License-Identifier: Apache-2.0 */
/* Files of few bytes that ask for any amount of computing: constants that take
 * hours, at compile time and in __setstate__, and calls in loops of a run. What
 * is constant is left to the engine beyond max_work; what has to be known is
 * refused; and a limit of a run holds for the work of its calls, too. */
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
#include <sys/resource.h>

#include "bessemer/bessemer.h"
#include "tests/hostile/tiny_archive.h"

/* ---- constants ---- */

/* A loop of 200 turns over %u, which is all ones of the dims `sizes`. */
#define LOOP(sizes, body)                                       \
  "graph(%x : Float(2)):\n"                                     \
  "  %n : NoneType = prim::Constant()\n"                        \
  "  %zero : int = prim::Constant[value=0]()\n"                 \
  "  %one : int = prim::Constant[value=1]()\n"                  \
  "  %last : int = prim::Constant[value=-1]()\n"                \
  "  %many : int = prim::Constant[value=50000]()\n"             \
  "  %two : float = prim::Constant[value=3.]()\n"               \
  "  %ones2 : int[] = prim::Constant[value=[1, 1]]()\n"         \
  "  %three2 : int[] = prim::Constant[value=[3, 3]]()\n"        \
  "  %k2 : int[] = prim::Constant[value=[301, 301]]()\n"        \
  "  %h2 : int[] = prim::Constant[value=[150, 150]]()\n"        \
  "  %none : int[] = prim::Constant[value=[]]()\n"              \
  "  %times : int = prim::Constant[value=200]()\n"              \
  "  %true : bool = prim::Constant[value=1]()\n"                \
  "  %false : bool = prim::Constant[value=0]()\n"               \
  "  %eq : str = prim::Constant[value=\"abc,cde->abde\"]()\n"   \
  "  %dims : int[] = prim::Constant[value=" sizes               \
  "]()\n"                                                       \
  "  %wdims : int[] = prim::Constant[value=[64, 64, 7, 7]]()\n" \
  "  %t : Tensor = aten::ones(%dims, %n, %n, %n, %n)\n"         \
  "  %w : Tensor = aten::ones(%wdims, %n, %n, %n, %n)\n"        \
  "  %s : Tensor = aten::sum(%t, %n)\n"                         \
  "  %g : Tensor = prim::Loop(%times, %true, %s)\n"             \
  "    block0(%i : int, %c : Tensor):\n"                        \
  "      %u : Tensor = aten::add(%t, %i, %one)\n" body          \
  "      %d : Tensor = aten::sum(%v, %n)\n"                     \
  "      %e : Tensor = aten::add(%c, %d, %one)\n"               \
  "      -> (%true, %e)\n"                                      \
  "  %r : Tensor = aten::add(%x, %g, %one)\n"                   \
  "  return (%r)\n"

/* Each takes minutes or more when all of it is computed. */
static const struct {
  const char *name, *text;
} heavy[] = {
    {"convolutions", LOOP("[1, 64, 64, 64]",
                          "      %v : Tensor = aten::conv2d(%u, %w, %n, "
                          "%ones2, %three2, %ones2, %one)\n")},
    {"products", LOOP("[900, 900]",
                      "      %v : Tensor = aten::matmul(%u, %u)"
                      "\n")},
    {"products of integers",
     LOOP("[300, 300]",
          "      %k : int = prim::Constant[value=4]()\n"
          "      %l : Tensor = aten::to(%u, %k, %false, %false, %n)\n"
          "      %v : Tensor = aten::matmul(%l, %l)\n")},
    {"sums of products",
     LOOP("[60, 60, 60]",
          "      %l : Tensor[] = prim::ListConstruct(%u, %u)\n"
          "      %v : Tensor = aten::einsum(%eq, %l, %n)\n")},
    {"singular values", LOOP("[150, 150]",
                             "      %p : Tensor, %v : Tensor, %q : Tensor = "
                             "aten::svd(%u, %true, %true)\n")},
    {"inverses", LOOP("[300, 300]",
                      "      %y : Tensor = aten::matrix_exp(%u)\n"
                      "      %v : Tensor = aten::pinverse(%y, %two)\n")},
    {"distances",
     LOOP("[700, 500]", "      %v : Tensor = aten::cdist(%u, %u, %two, %n)\n")},
    {"windows", LOOP("[1, 1, 400, 400]",
                     "      %v : Tensor = aten::max_pool2d(%u, %k2, %ones2, "
                     "%h2, %ones2, %false)\n")},
    {"attention", LOOP("[1, 1, 2500, 64]",
                       "      %zerof : float = prim::Constant[value=0.]()\n"
                       "      %v : Tensor = aten::scaled_dot_product_attention("
                       "%u, %u, %u, %n, %zerof, %false, %n, %false)\n")},
    {"polynomials", LOOP("[10000]",
                         "      %v : Tensor = "
                         "aten::special_hermite_polynomial_h(%u, %many)\n")},
    {"transforms", LOOP("[40, 10007]",
                        "      %y : Tensor = aten::fft_fft(%u, %n, %last, %n)\n"
                        "      %v : Tensor = aten::real(%y)\n")},
    {"orders", LOOP("[400000]",
                    "      %v : Tensor, %q : Tensor = aten::sort(%u, %last, "
                    "%false)\n")},
    {"medians", LOOP("[100000]", "      %v : Tensor = aten::median(%u)\n")},
    {"repeated elements",
     LOOP("[1, 1]",
          "      %l : int[] = prim::Constant[value=[30000, 30000]]()"
          "\n"
          "      %y : Tensor = aten::expand(%u, %l, %false)\n"
          "      %v : Tensor = aten::sum(%y, %n)\n")},
};

/* Loops over long lists, and over many nodes: nothing of them is a tensor, so
 * that nothing can be left. */
#define LISTS(body)                                  \
  "graph(%x : Float(2)):\n"                          \
  "  %zero : int = prim::Constant[value=0]()\n"      \
  "  %one : int = prim::Constant[value=1]()\n"       \
  "  %long : int = prim::Constant[value=400000]()\n" \
  "  %times : int = prim::Constant[value=90000]()\n" \
  "  %true : bool = prim::Constant[value=1]()\n"     \
  "  %o : int[] = prim::ListConstruct(%one)\n"       \
  "  %l : int[] = aten::mul(%o, %long)\n"            \
  "  %k : int[] = aten::mul(%o, %long)\n"            \
  "  %g : int = prim::Loop(%times, %true, %zero)\n"  \
  "    block0(%i : int, %c : int):\n" body           \
  "      -> (%true, %v)\n"                           \
  "  %r : Tensor = aten::add(%x, %g, %one)\n"        \
  "  return (%r)\n"
#define SUM_OF(text) text "      %v : int = aten::add(%c, %m)\n"

static const char *const lists[] = {
    LISTS(SUM_OF("       = aten::insert(%l, %zero, %i)\n"
                 "      %m : int = aten::len(%l)\n")),
    LISTS(SUM_OF("      %m : int = aten::pop(%l, %zero)\n")),
    LISTS(SUM_OF("       = aten::reverse(%l)\n"
                 "      %m : int = aten::len(%l)\n")),
    LISTS(SUM_OF("      %b : bool = aten::__contains__(%l, %zero)\n"
                 "      %m : int = aten::Int(%b)\n")),
    LISTS(SUM_OF("      %b : bool = aten::eq(%l, %k)\n"
                 "      %m : int = aten::Int(%b)\n")),
    LISTS(SUM_OF("      %m : int = aten::sum(%l)\n")),
};

static int warnings;

static void count_warnings(void *user, bsm_log_level level,
                           const char *message) {
  (void)user;
  warnings += level == BSM_LOG_LEVEL_WARNING &&
              strstr(message, "left to the engine") != NULL;
}

static bsm_status compile(const void *data, size_t size, uint64_t max_work,
                          bsm_engine **engine) {
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_input_spec input = {.dtype = BSM_DTYPE_FLOAT, .rank = 2, .min = {2, 2}};
  bsm_module *module = NULL;
  const bsm_logger logger = {BSM_LOG_LEVEL_WARNING, count_warnings, NULL};
  *engine = NULL;
  options.logger = &logger;
  limits.max_work = max_work;
  loading.limits = &limits;
  options.no_timing = true;
  options.threads = 1;
  if (!memchr(data, '%', size)) { /* no IR text, which has its inputs */
    options.inputs = &input;
    options.input_count = 1;
  }
  bsm_status status =
      bsm_module_load_memory(data, size, "work", &loading, &module);
  if (!status) status = bsm_compile(module, &options, engine);
  bsm_module_destroy(module);
  return status;
}

static double seconds(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Products with one matrix, which is packed once. */
static void shared_weights_are_packed_once(void **state) {
  (void)state;
  static char text[1 << 18];
  bsm_engine *engine;
  const double start = seconds();
  size_t n = (size_t)snprintf(
      text, sizeof(text),
      "graph(%%v0 : Float(2, 1000)):\n"
      "  %%n : NoneType = prim::Constant()\n"
      "  %%dims : int[] = prim::Constant[value=[1000, 1000]]()\n"
      "  %%w : Tensor = aten::ones(%%dims, %%n, %%n, %%n, %%n)\n");
  for (int i = 0; i < 2000; i++) {
    n += (size_t)snprintf(text + n, sizeof(text) - n,
                          "  %%v%d : Tensor = aten::matmul(%%v%d, %%w)\n",
                          i + 1, i);
  }
  (void)snprintf(text + n, sizeof(text) - n, "  return (%%v2000)\n");
  bsm_status status = compile(text, strlen(text), 0, &engine);
  if (status) fail_msg("%s", bsm_status_message(status));
  bsm_engine_destroy(engine);
  print_message("shared weights: %.2f s\n", seconds() - start);
#ifndef BSM_SANITIZED
  if (seconds() - start > 4.0) fail_msg("%.2f s", seconds() - start);
#endif
}

/* Convolutions with one kernel, whose transformed form takes 16 MB, and is
 * measured once. */
static void shared_kernels_are_measured_once(void **state) {
  (void)state;
  static char text[1 << 18];
  bsm_engine *engine;
  const double start = seconds();
  size_t n = (size_t)snprintf(
      text, sizeof(text),
      "graph(%%v0 : Float(1, 256, 8, 8)):\n"
      "  %%n : NoneType = prim::Constant()\n"
      "  %%f : bool = prim::Constant[value=0]()\n"
      "  %%i : int = prim::Constant[value=1]()\n"
      "  %%one : int[] = prim::Constant[value=[1, 1]]()\n"
      "  %%zero : int[] = prim::Constant[value=[0, 0]]()\n"
      "  %%part : float = prim::Constant[value=0.0005]()\n"
      "  %%dims : int[] = prim::Constant[value=[256, 256, 3, 3]]()\n"
      "  %%w : Tensor = aten::full(%%dims, %%part, %%n, %%n, %%n, %%n)\n");
  for (int i = 0; i < 300; i++) {
    n += (size_t)snprintf(text + n, sizeof(text) - n,
                          "  %%v%d : Tensor = aten::_convolution(%%v%d, %%w, "
                          "%%n, %%one, %%one, %%one, %%f, %%zero, %%i, %%f, "
                          "%%f, %%f, %%f)\n",
                          i + 1, i);
  }
  (void)snprintf(text + n, sizeof(text) - n, "  return (%%v300)\n");
  bsm_status status = compile(text, strlen(text), 0, &engine);
  if (status) fail_msg("%s", bsm_status_message(status));
  bsm_engine_destroy(engine);
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  print_message("shared kernels: %.2f s, %ld MB\n", seconds() - start,
                usage.ru_maxrss >> 10);
#ifndef BSM_SANITIZED
  if (usage.ru_maxrss >> 10 > 300) fail_msg("%ld KB", usage.ru_maxrss);
#endif
}

/* Memory may be too much for some, but time is not. */
static void constants_are_left(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(heavy) / sizeof(heavy[0]); i++) {
    bsm_engine *engine;
    const double start = seconds();
    bsm_status status =
        compile(heavy[i].text, strlen(heavy[i].text), 0, &engine);
    if (status && bsm_status_code(status) != BSM_LIMIT) {
      fail_msg("%s: %s", heavy[i].name, bsm_status_message(status));
    }
    bsm_status_free(status);
    bsm_engine_destroy(engine);
    print_message("%-20s %.2f s\n", heavy[i].name, seconds() - start);
#ifndef BSM_SANITIZED
    if (seconds() - start > 4.0) fail_msg("%s", heavy[i].name);
#endif
  }
}

/* What has to be known for the graph is refused. */
static void loops_over_lists_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
    bsm_engine *engine;
    const double start = seconds();
    bsm_status status = compile(lists[i], strlen(lists[i]), 0, &engine);
    if (bsm_status_code(status) != BSM_LIMIT ||
        !strstr(bsm_status_message(status), "max_work")) {
      fail_msg("list %zu: %s", i, bsm_status_message(status));
    }
    bsm_status_free(status);
    bsm_engine_destroy(engine);
    print_message("list %zu: %.2f s\n", i, seconds() - start);
#ifndef BSM_SANITIZED
    if (seconds() - start > 4.0) fail_msg("list %zu", i);
#endif
  }
}

/* As many turns of a loop as the input has rows, up to 3200: what is unrolled
 * is looked at for many shapes, and its chains of layers are long. */
static const char *const rows[] = {
    "graph(%x : Tensor):\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %two : int = prim::Constant[value=2]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %n : int = aten::size(%x, %zero)\n"
    "  %y : Tensor = aten::select(%x, %zero, %zero)\n"
    "  %r : Tensor = prim::Loop(%n, %true, %y)\n"
    "    block0(%i : int, %u : Tensor):\n"
    "      %d : Tensor = aten::mul(%u, %two)\n"
    "      %s : Tensor = aten::select(%x, %zero, %i)\n"
    "      %a : Tensor = aten::add(%d, %s, %one)\n"
    "      %v : Tensor = aten::tanh(%a)\n"
    "      -> (%true, %v)\n"
    "  return (%r)\n",
    "graph(%x : Tensor):\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %n : int = aten::size(%x, %zero)\n"
    "  %r : Tensor = prim::Loop(%n, %true, %x)\n"
    "    block0(%i : int, %u : Tensor):\n"
    "      %v : Tensor = prim::Loop(%n, %true, %u)\n"
    "        block0(%j : int, %t : Tensor):\n"
    "          %s : Tensor = aten::select(%x, %zero, %j)\n"
    "          %w : Tensor = aten::add(%t, %s, %one)\n"
    "          -> (%true, %w)\n"
    "      -> (%true, %v)\n"
    "  return (%r)\n"};

static void loops_over_sizes_end(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
    const bsm_input_spec input = {.dtype = BSM_DTYPE_FLOAT,
                                  .rank = 2,
                                  .min = {1, 4},
                                  .opt = {2, 4},
                                  .max = {3200, 4}};
    bsm_module *module = NULL;
    bsm_engine *engine = NULL;
    const double start = seconds();
    options.inputs = &input;
    options.input_count = 1;
    options.no_timing = true;
    options.threads = 1;
    bsm_status status =
        bsm_module_load_memory(rows[i], strlen(rows[i]), "rows", NULL, &module);
    if (!status) status = bsm_compile(module, &options, &engine);
    if (status && bsm_status_code(status) != BSM_LIMIT) {
      fail_msg("%s", bsm_status_message(status));
    }
    print_message("rows %zu: %.2f s, %s\n", i, seconds() - start,
                  bsm_status_message(status));
    bsm_status_free(status);
    bsm_engine_destroy(engine);
    bsm_module_destroy(module);
#ifndef BSM_SANITIZED
    if (seconds() - start > 4.0) fail_msg("rows %zu", i);
#endif
  }
}

static const char small[] =
    "graph(%x : Float(2)):\n"
    "  %n : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %dims : int[] = prim::Constant[value=[20, 20]]()\n"
    "  %t : Tensor = aten::ones(%dims, %n, %n, %n, %n)\n"
    "  %c : Tensor = aten::cumsum(%t, %one, %n)\n"
    "  %m : Tensor = aten::matmul(%c, %c)\n"
    "  %s : Tensor = aten::sum(%m, %n)\n"
    "  %r : Tensor = aten::add(%x, %s, %one)\n"
    "  return (%r)\n";

/* Of 20 rows the numbers 1 to 20, and their products. */
static void what_is_left_is_computed(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    bsm_engine *engine;
    bsm_context *context = NULL;
    char *dump;
    float x[2] = {1, 2}, y[2];
    const bsm_array in = {x, BSM_DTYPE_FLOAT, {1, {2}}, NULL};
    const bsm_array out = {y, BSM_DTYPE_FLOAT, {1, {2}}, NULL};
    warnings = 0;
    bsm_status status = compile(small, strlen(small), k ? 6000 : 0, &engine);
    if (status) fail_msg("%s", bsm_status_message(status));
    assert_int_equal(warnings, k);
    assert_null(bsm_engine_dump(engine, &dump));
    assert_true((strstr(dump, "matrix") != NULL) == (k == 1));
    bsm_string_free(dump);
    assert_null(bsm_context_create(engine, NULL, &context));
    assert_null(bsm_context_run(context, &in, 1, &out, 1));
    assert_true(y[0] == 1 + 20 * 210 * 210 && y[1] == 2 + 20 * 210 * 210);
    bsm_context_destroy(context);
    bsm_engine_destroy(engine);
  }
}

/* Constants that take all they may, down to the smallest, leave enough for the
 * numbers that the graph is made with. */
static void what_is_small_is_computed(void **state) {
  (void)state;
  static char text[1 << 16];
  bsm_engine *engine;
  size_t n = (size_t)snprintf(text, sizeof(text),
                              "graph(%%x : Float(2)):\n"
                              "  %%n : NoneType = prim::Constant()\n"
                              "  %%one : int = prim::Constant[value=1]()\n"
                              "  %%k0 : int = prim::Constant[value=0]()\n"
                              "  %%y0 : Tensor = aten::neg(%%x)\n");
  int k = 0;
  for (int size = 1 << 16; size >= 1; size /= 2, k++) {
    n += (size_t)snprintf(
        text + n, sizeof(text) - n,
        "  %%d%d : int[] = prim::Constant[value=[%d]]()\n"
        "  %%t%d : Tensor = aten::ones(%%d%d, %%n, %%n, %%n, %%n)\n"
        "  %%s%d : Tensor = aten::sum(%%t%d, %%n)\n"
        "  %%y%d : Tensor = aten::add(%%y%d, %%s%d, %%one)\n",
        k, size, k, k, k, k, k + 1, k, k);
  }
  for (int i = 0; i < 50; i++) {
    n +=
        (size_t)snprintf(text + n, sizeof(text) - n,
                         "  %%k%d : int = aten::add(%%k%d, %%one)\n", i + 1, i);
  }
  (void)snprintf(text + n, sizeof(text) - n,
                 "  %%r : Tensor = aten::add(%%y%d, %%k50, %%one)\n"
                 "  return (%%r)\n",
                 k);
  for (uint64_t work = 400000; work < 900000; work += 7919) {
    bsm_status status = compile(text, strlen(text), work, &engine);
    if (status) fail_msg("%s", bsm_status_message(status));
    bsm_engine_destroy(engine);
  }
}

/* What converters compute is left to the reference library, and masks that a
 * graph is made with are made. */
static void what_converters_need_is_left(void **state) {
  (void)state;
  static const char *const texts[] = {
      "graph(%x : Float(1, 3, 400, 400)):\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %f : bool = prim::Constant[value=0]()\n"
      "  %dims : int[] = prim::Constant[value=[200, 200]]()\n"
      "  %r : Tensor = aten::_upsample_bilinear2d_aa(%x, %dims, %f, %n, %n)\n"
      "  return (%r)\n",
      "graph(%x : Float(300, 300)):\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %f : bool = prim::Constant[value=0]()\n"
      "  %one : float = prim::Constant[value=1.]()\n"
      "  %c : Tensor = aten::clone(%x, %n)\n"
      "  %r : Tensor = aten::fill_diagonal_(%c, %one, %f)\n"
      "  return (%r)\n"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    bsm_engine *engine;
    bsm_status status = compile(texts[i], strlen(texts[i]), 50000, &engine);
    if (status) fail_msg("%s", bsm_status_message(status));
    bsm_engine_destroy(engine);
  }
}

/* ---- what has to be known ---- */

#define CLASS                                             \
  "class Tiny(Module):\n"                                 \
  "  __parameters__ = [\"w\", ]\n"                        \
  "  __buffers__ = []\n"                                  \
  "  training : bool\n"                                   \
  "  w : Tensor\n"                                        \
  "  def __getstate__(self: __torch__.Tiny) -> Tensor:\n" \
  "    return self.w\n"                                   \
  "  def forward(self: __torch__.Tiny,\n"                 \
  "    x: Tensor) -> Tensor:\n"                           \
  "    return torch.add(x, self.w)\n"                     \
  "  def __setstate__(self: __torch__.Tiny,\n"            \
  "    state: Tensor) -> NoneType:\n"

static const struct {
  const char *name, *code;
} states[] = {
    {"products", CLASS "    a = torch.ones([1000, 1000])\n"
                       "    s = torch.sum(a)\n"
                       "    for i in range(1000):\n"
                       "      s = torch.add(s, torch.sum(torch.matmul(a, a)))\n"
                       "    self.w = s\n"
                       "    self.training = False\n"
                       "    return None\n"},
    {"deletions", CLASS "    d = annotate(Dict[int, int], {})\n"
                        "    for i in range(60000):\n"
                        "      torch._set_item(d, i, i)\n"
                        "    for i in range(60000):\n"
                        "      torch.Delete(d, i)\n"
                        "    self.w = torch.ones([2, 2])\n"
                        "    self.training = False\n"
                        "    return None\n"},
    {"many small calls",
     CLASS "    a = 1\n"
           "    for i in range(100000):\n"
           "      b = torch.ones([30, 30])\n"
           "      a = int(torch.sum(torch.sort(torch.matmul(b, b))[0]))\n"
           "    self.w = torch.ones([2, 2])\n"
           "    self.training = False\n"
           "    return None\n"},
};

static void make_archive(const char *code, zip_builder *zip) {
  pickle_text pickle = {.len = 0};
  zip_member members[TINY_MEMBERS];
  tiny_members(members, &pickle);
  pickle.len = 0;
  PICKLE_PUT(&pickle,
             "\x80\x02"
             "c__torch__\nTiny\n)\x81");
  pickle_tensor(&pickle, &tiny_good);
  PICKLE_PUT(&pickle, "b.");
  members[TINY_PICKLE].data = pickle.bytes;
  members[TINY_PICKLE].size = pickle.len;
  members[TINY_CODE].data = code;
  members[TINY_CODE].size = strlen(code);
  zip_build(zip, members, TINY_MEMBERS, 1);
}

static void states_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
    zip_builder zip;
    bsm_engine *engine;
    const double start = seconds();
    make_archive(states[i].code, &zip);
    bsm_status status = compile(zip.data, zip.len, 0, &engine);
    if (bsm_status_code(status) != BSM_LIMIT ||
        (!strstr(bsm_status_message(status), "max_work") &&
         !strstr(bsm_status_message(status), "max_memory_bytes"))) {
      fail_msg("%s: %s", states[i].name, bsm_status_message(status));
    }
    print_message("%s: %.2f s, %s\n", states[i].name, seconds() - start,
                  bsm_status_message(status));
    bsm_status_free(status);
    free(zip.data);
#ifndef BSM_SANITIZED
    if (seconds() - start > 4.0) fail_msg("%s", states[i].name);
#endif
  }
}

/* ---- convolutions of one kernel ---- */

/* Whether the whole network was run to see how exact it is, and how many
 * kernels were looked at. */
typedef struct trials {
  bool whole;
  int kernels;
} trials;

static void note_trial(void *user, bsm_log_level level, const char *message) {
  trials *t = user;
  (void)level;
  if (strstr(message, "outputs differ by")) t->whole = true;
  if (strstr(message, "of the greatest output")) t->kernels++;
}

static void compile_noting(const char *text, uint64_t max_work, trials *out) {
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_logger logger = {BSM_LOG_LEVEL_DEBUG, note_trial, out};
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  *out = (trials){false, 0};
  limits.max_work = max_work;
  loading.limits = &limits;
  options.no_timing = true;
  options.threads = 1;
  options.target = "cpu:avx2";
  options.logger = &logger;
  bsm_status status =
      bsm_module_load_memory(text, strlen(text), "many", &loading, &module);
  if (!status) status = bsm_compile(module, &options, &engine);
  if (status) fail_msg("%s", bsm_status_message(status));
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

/* What is run to see how exact fast convolutions are is work, too: of a network
 * that takes more, parts of its layers are run, each kernel once. */
static void trials_are_bounded(void **state) {
  static char text[1 << 16];
  (void)state;
  size_t n = (size_t)snprintf(
      text, sizeof(text),
      "graph(%%x : Float(1, 16, 48, 40)):\n"
      "  %%n : NoneType = prim::Constant()\n"
      "  %%one : int = prim::Constant[value=1]()\n"
      "  %%l : int[] = prim::Constant[value=[16, 16, 3, 3]]()\n"
      "  %%p : int[] = prim::Constant[value=[1, 1]]()\n"
      "  %%w : Tensor = aten::ones(%%l, %%n, %%n, %%n, %%n)\n"
      "  %%y0 : Tensor = aten::relu(%%x)\n");
  const int count = 60;
  for (int i = 1; i <= count; i++) {
    n += (size_t)snprintf(text + n, sizeof(text) - n,
                          "  %%y%d : Tensor = aten::conv2d(%%y%d, %%w, %%n, "
                          "%%p, %%p, %%p, %%one)\n",
                          i, i - 1);
  }
  snprintf(text + n, sizeof(text) - n, "  return (%%y%d)\n", count);
  trials all, some;
  compile_noting(text, 0, &all);
  assert_true(all.whole);
  assert_true(all.kernels > 0);
  compile_noting(text, 1 << 20, &some); /* a run takes 270 million */
  assert_false(some.whole);
  assert_true(some.kernels > 0 && some.kernels <= 3); /* a form each */
}

/* ---- runs ---- */

/* As many turns as the first element of the input says. */
#define TURNS(body)                                    \
  "graph(%x : Float(200, 200)):\n"                     \
  "  %n : NoneType = prim::Constant()\n"               \
  "  %zero : int = prim::Constant[value=0]()\n"        \
  "  %one : int = prim::Constant[value=1]()\n"         \
  "  %true : bool = prim::Constant[value=1]()\n"       \
  "  %row : Tensor = aten::select(%x, %zero, %zero)\n" \
  "  %a : Tensor = aten::select(%row, %zero, %zero)\n" \
  "  %times : int = aten::Int(%a)\n"                   \
  "  %g : Tensor = prim::Loop(%times, %true, %x)\n"    \
  "    block0(%i : int, %u : Tensor):\n" body          \
  "      -> (%true, %v)\n"                             \
  "  return (%g)\n"

static const char *const turning[] = {
    TURNS("      %v : Tensor = aten::matmul(%u, %u)\n"),
    TURNS("      %p : Tensor, %q : Tensor = aten::sort(%u, %zero, %true)\n"
          "      %v : Tensor = aten::matrix_exp(%p)\n"),
    TURNS("      %p : Tensor, %s : Tensor, %v : Tensor = aten::svd(%u, %true, "
          "%true)\n"),
};

/* A hundred turns are few instructions, and much work. */
static void limits_of_runs_hold(void **state) {
  (void)state;
  static float x[200 * 200], y[200 * 200];
  const bsm_array in = {x, BSM_DTYPE_FLOAT, {2, {200, 200}}, NULL};
  const bsm_array out = {y, BSM_DTYPE_FLOAT, {2, {200, 200}}, NULL};
  for (size_t i = 0; i < 200; i++) x[i * 201] = 1.0f;
  for (size_t i = 0; i < sizeof(turning) / sizeof(turning[0]); i++) {
    bsm_engine *engine;
    bsm_status status = compile(turning[i], strlen(turning[i]), 0, &engine);
    if (status) fail_msg("%s", bsm_status_message(status));
    for (int k = 0; k < 2; k++) {
      bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
      bsm_context *context = NULL;
      options.threads = 1;
      options.max_instructions = k ? 20000 : 0;
      x[0] = k ? 1000.0f : 1.0f;
      assert_null(bsm_context_create(engine, &options, &context));
      status = bsm_context_run(context, &in, 1, &out, 1);
      if (k == 0 && status) fail_msg("%s", bsm_status_message(status));
      if (k && (bsm_status_code(status) != BSM_LIMIT ||
                !strstr(bsm_status_message(status), "max_instructions"))) {
        fail_msg("%s", bsm_status_message(status));
      }
      bsm_status_free(status);
      bsm_context_destroy(context);
    }
    bsm_engine_destroy(engine);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_are_left),
      cmocka_unit_test(shared_weights_are_packed_once),
      cmocka_unit_test(shared_kernels_are_measured_once),
      cmocka_unit_test(loops_over_lists_are_refused),
      cmocka_unit_test(loops_over_sizes_end),
      cmocka_unit_test(what_is_left_is_computed),
      cmocka_unit_test(what_is_small_is_computed),
      cmocka_unit_test(what_converters_need_is_left),
      cmocka_unit_test(states_are_refused),
      cmocka_unit_test(trials_are_bounded),
      cmocka_unit_test(limits_of_runs_hold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
