/* SPDX-License-Identifier: Apache-2.0 */
/* IR text whose numbers, sizes and shapes make no sense, or that nests without
 * end: a status, never a crash, a bomb or a hang. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "hostile/hostile.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const bsm_dims image = {4, {1, 4, 8, 8}};
static const bsm_dims matrix = {2, {3, 4}};

static void expect_text(const char *text, bsm_dims dims, bsm_code code,
                        const char *wanted) {
  hostile_result result;
  hostile_compile_text(text, dims, &result);
  if (result.code != code || !strstr(result.message, wanted)) {
    fail_msg("%s: %s\nfor\n%s", bsm_code_name(result.code), result.message,
             text);
  }
}

/* Any failure, or none. */
static bsm_code try_text(const char *text, bsm_dims dims) {
  hostile_result result;
  hostile_compile_text(text, dims, &result);
  return result.code;
}

static void expect_failure(const char *text, bsm_dims dims) {
  if (try_text(text, dims) == BSM_CODE_OK) fail_msg("accepted:\n%s", text);
}

static void text_that_does_not_parse(void **state) {
  (void)state;
  static const char *const texts[] = {
      "graph(",
      "graph(%x",
      "graph(%x : Tensor",
      "graph(%x : Tensor):",
      "graph(%x : Tensor):\n",
      "graph(%x : Tensor):\n  return",
      "graph(%x : Tensor):\n  return (%y)\n",
      "graph(%x : Tensor, %x : Tensor):\n  return (%x)\n",
      "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%y)\n  return (%y)\n",
      "graph(%x : Nothing):\n  return (%x)\n",
      "graph(%x : Tensor):\n  %y : Tensor = aten::no_such_op(%x)\n"
      "  return (%y)\n",
      "graph(%x : Tensor):\n  %y : Tensor = mine::op(%x)\n  return (%y)\n",
      "graph(%x : Tensor):\n  %y : Tensor = aten::relu()\n  return (%y)\n",
      "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x, %x)\n"
      "  return (%y)\n",
      "graph(%x : Tensor):\n  %y : Tensor, %z : Tensor = aten::relu(%x)\n"
      "  return (%y)\n",
      "graph(%x : Tensor):\n  = aten::relu(%x)\n  return (%x)\n",
      "graph(%x : Tensor):\n  %c : int = prim::Constant[value=]()\n"
      "  return (%x)\n",
      "graph(%x : Tensor):\n"
      "  %c : int = prim::Constant[value=99999999999999999999]()\n"
      "  return (%x)\n",
      "graph(%x : Tensor):\n  %c : int[] = prim::Constant[value=[1,]()\n"
      "  return (%x)\n",
      "graph(%x : Tensor):\n  %c : str = prim::Constant[value=\"a]()\n"
      "  return (%x)\n",
      "graph(%x : Tensor):\n  %c : int = prim::Constant[value=1]\n"
      "  return (%x)\n",
      "graph(%x : Tensor):\n  %c : Tensor = prim::Constant[value=[ "
      "CPUFloatType{99999999999,99999999999} ]]()\n  return (%c)\n",
      "graph(%x : Float(99999999999999999999, strides=[1])):\n  return (%x)\n",
      "graph(%x : Tensor):\n  %y : Tensor = prim::If(%x)\n  return (%y)\n",
      "graph(%x : Tensor):\n  %y : Tensor = prim::Loop(%x)\n  return (%y)\n",
      "graph(%x : Tensor):\n  %y : Tensor = prim::GetAttr[name=\"a\"](%x)\n"
      "  return (%y)\n",
      "graph(%x : Tensor):\n"
      "  %y : Tensor = prim::CallMethod[name=\"forward\"](%x)\n"
      "  return (%y)\n",
  };
  for (size_t i = 0; i < COUNT(texts); i++) expect_failure(texts[i], matrix);
}

/* The failure names the operator and the line. */
static void messages_say_where(void **state) {
  (void)state;
  expect_text(
      "graph(%x : Tensor):\n  %y : Tensor = aten::no_such_op(%x)\n"
      "  return (%y)\n",
      matrix, BSM_UNSUPPORTED, "aten::no_such_op");
  expect_text(
      "graph(%x : Tensor):\n"
      "  %d : int = prim::Constant[value=7]()\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %y : Tensor = aten::softmax(%x, %d, %n)\n  return (%y)\n",
      matrix, BSM_OUT_OF_RANGE, "hostile:4");
}

/* A text of `head`, then `piece` many times, then `tail`. */
static char *repeated(const char *head, const char *piece, size_t times,
                      const char *tail) {
  const size_t n = strlen(piece);
  char *text = malloc(strlen(head) + n * times + strlen(tail) + 1);
  assert_non_null(text);
  char *at = text + sprintf(text, "%s", head);
  for (size_t i = 0; i < times; i++, at += n) memcpy(at, piece, n);
  strcpy(at, tail);
  return text;
}

static void nesting_without_end(void **state) {
  (void)state;
  static const struct {
    const char *head, *piece, *tail;
  } cases[] = {
      {"graph(%x : ", "List[", "int):\n  return (%x)\n"},
      {"graph(%x : ", "Dict(str, ", "int):\n  return (%x)\n"},
      {"graph(%x : ", "(int, ", "int):\n  return (%x)\n"},
      {"graph(%x : ", "Tensor[", "int):\n  return (%x)\n"},
      {"graph(%x : ", "(", "int):\n  return (%x)\n"},
      {"graph(%x : int", "[]", "):\n  return (%x)\n"},
      {"graph(%x : int", "?", "):\n  return (%x)\n"},
      {"graph(%x : Tensor):\n  %c : int[] = prim::Constant[value=", "[",
       "1]()\n  return (%x)\n"},
      {"graph(%x : Tensor):\n  %c : int[] = prim::Constant[value=", "({",
       "1]()\n  return (%x)\n"},
      {"graph(%x : Tensor):\n  %b : bool = prim::Constant[value=1]()\n",
       "  %y : Tensor = prim::If(%b)\n    block0():\n", "  return (%x)\n"},
      {"graph(%x : Tensor):\n  %b : bool = prim::Constant[value=1]()\n",
       " = prim::If(%b) block0(): ", "  return (%x)\n"},
      {"", "graph(", ""},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    char *text = repeated(cases[i].head, cases[i].piece, 100000, cases[i].tail);
    expect_failure(text, matrix);
    free(text);
  }
}

static void long_but_flat(void **state) {
  (void)state;
  enum { NODES = 20000 };
  char *text = malloc(NODES * 64 + 128);
  assert_non_null(text);
  char *at = text + sprintf(text, "graph(%%v0 : Tensor):\n");
  for (int i = 0; i < NODES; i++) {
    at += sprintf(at, "  %%v%d : Tensor = aten::sigmoid(%%v%d)\n", i + 1, i);
  }
  sprintf(at, "  return (%%v%d)\n", NODES);
  assert_int_equal(try_text(text, matrix), BSM_CODE_OK);
  /* The same on one line. */
  for (char *c = strchr(text, '\n') + 1; *c; c++) {
    if (*c == '\n') *c = ' ';
  }
  assert_int_equal(try_text(text, matrix), BSM_CODE_OK);
  free(text);
}

/* ---- attributes ---- */

static const int64_t odd[] = {0,
                              -1,
                              INT64_MIN,
                              INT64_MAX,
                              INT32_MAX,
                              INT64_C(1) << 32,
                              INT64_C(1) << 62,
                              (INT64_C(1) << 42) + 1};

/* Every field of a convolution and of the poolings takes every odd number. */
static void windows_of_odd_numbers(void **state) {
  (void)state;
  static const char *const calls[] = {
      "aten::conv2d(%x, %w, %none, %a, %b, %c, %i)",
      "aten::_convolution(%x, %w, %none, %a, %b, %c, %no, %b, %i, %no, %no, "
      "%no, %no)",
      "aten::_convolution(%x, %w, %none, %a, %b, %c, %yes, %d, %i, %no, %no, "
      "%no, %no)",
      "aten::conv_transpose2d(%x, %w, %none, %a, %b, %d, %i, %c)",
      "aten::max_pool2d(%x, %c, %a, %b, %d, %no)",
      "aten::max_pool2d(%x, %c, %a, %b, %d, %yes)",
      "aten::avg_pool2d(%x, %c, %a, %b, %yes, %yes, %i)",
      "aten::avg_pool2d(%x, %c, %a, %b, %no, %no, %none)",
      "aten::adaptive_avg_pool2d(%x, %a)",
      "aten::upsample_nearest2d(%x, %a, %none, %none)",
      "aten::upsample_bilinear2d(%x, %a, %yes, %none, %none)",
      "aten::im2col(%x, %c, %d, %b, %a)",
      "aten::unfold(%x, %i, %i, %i)",
      "aten::pixel_shuffle(%x, %i)",
      "aten::pixel_unshuffle(%x, %i)",
      "aten::channel_shuffle(%x, %i)",
      "aten::constant_pad_nd(%x, %a, %i)",
      "aten::reflection_pad2d(%x, %four)",
      "aten::replication_pad2d(%x, %four)",
      "aten::group_norm(%x, %i, %none, %none, %eps, %no)",
  };
  char text[2048];
  for (size_t k = 0; k < COUNT(calls); k++) {
    for (size_t field = 0; field < 6; field++) {
      for (size_t v = 0; v < COUNT(odd); v++) {
        int64_t f[6] = {1, 1, 1, 1, 1, 1};
        f[field] = odd[v];
        snprintf(text, sizeof(text),
                 "graph(%%x : Tensor):\n"
                 "  %%none : NoneType = prim::Constant()\n"
                 "  %%no : bool = prim::Constant[value=0]()\n"
                 "  %%yes : bool = prim::Constant[value=1]()\n"
                 "  %%eps : float = prim::Constant[value=0.]()\n"
                 "  %%a : int[] = prim::Constant[value=[%" PRId64 ", %" PRId64
                 "]]()\n"
                 "  %%b : int[] = prim::Constant[value=[%" PRId64
                 ", 0]]()\n"
                 "  %%c : int[] = prim::Constant[value=[%" PRId64
                 ", 1]]()\n"
                 "  %%d : int[] = prim::Constant[value=[%" PRId64
                 ", 0]]()\n"
                 "  %%four : int[] = prim::Constant[value=[%" PRId64
                 ", 0, 1, %" PRId64
                 "]]()\n"
                 "  %%i : int = prim::Constant[value=%" PRId64
                 "]()\n"
                 "  %%shape : int[] = prim::Constant[value=[4, 4, 1, 1]]()\n"
                 "  %%w : Tensor = aten::ones(%%shape, %%none, %%none, %%none, "
                 "%%none)\n"
                 "  %%y : Tensor = %s\n  return (%%y)\n",
                 f[0], f[1], f[2], f[3], f[4], f[2], f[0], f[5], calls[k]);
        (void)try_text(text, image);
      }
    }
  }
}

/* Sizes that no machine has: a status, before memory is asked for. */
static void allocation_bombs(void **state) {
  (void)state;
  static const char *const calls[] = {
      "aten::zeros(%l, %none, %none, %none, %none)",
      "aten::ones(%l, %none, %none, %none, %none)",
      "aten::empty(%l, %none, %none, %none, %none, %none)",
      "aten::full(%l, %i, %none, %none, %none, %none)",
      "aten::arange(%i, %none, %none, %none, %none)",
      "aten::linspace(%one, %i, %i, %none, %none, %none, %none)",
      "aten::eye(%i, %none, %none, %none, %none)",
      "aten::expand(%x, %l, %no)",
      "aten::repeat(%x, %l)",
      "aten::view(%x, %l)",
      "aten::reshape(%x, %l)",
      "aten::new_zeros(%x, %l, %none, %none, %none, %none)",
      "aten::tile(%x, %l)",
      "aten::repeat_interleave(%x, %i, %one, %none)",
      "aten::one_hot(%x, %i)",
      "aten::constant_pad_nd(%x, %l, %one)",
      "aten::upsample_nearest2d(%x, %l, %none, %none)",
      "aten::adaptive_avg_pool2d(%x, %l)",
      "aten::tril_indices(%i, %i, %one, %none, %none, %none, %none)",
  };
  static const int64_t sizes[] = {INT64_C(1) << 21, INT64_C(1) << 31,
                                  INT64_C(1) << 40, INT64_C(1) << 62,
                                  INT64_MAX};
  char text[1024];
  for (size_t k = 0; k < COUNT(calls); k++) {
    for (size_t v = 0; v < COUNT(sizes); v++) {
      snprintf(text, sizeof(text),
               "graph(%%x : Tensor):\n"
               "  %%none : NoneType = prim::Constant()\n"
               "  %%no : bool = prim::Constant[value=0]()\n"
               "  %%one : int = prim::Constant[value=1]()\n"
               "  %%i : int = prim::Constant[value=%" PRId64
               "]()\n"
               "  %%l : int[] = prim::Constant[value=[%" PRId64
               ", 2]]()\n"
               "  %%y : Tensor = %s\n  return (%%y)\n",
               sizes[v], sizes[v], calls[k]);
      expect_failure(text, (bsm_dims){2, {1, 2}});
    }
  }
}

/* Each list holds the one before it twice: thirty of them are a billion. */
static void results_that_explode(void **state) {
  (void)state;
  static const char *const first[] = {"%x, %x", ""};
  for (size_t k = 0; k < 2; k++) {
    char *text = malloc(16384);
    assert_non_null(text);
    char *at = text;
    at += sprintf(at,
                  "graph(%%x : Tensor):\n  %%l0 : Tensor[] = "
                  "prim::ListConstruct(%s)\n",
                  first[k]);
    char type[128] = "Tensor[]";
    for (int i = 1; i <= 30; i++) {
      strcat(type, "[]");
      at += sprintf(at, "  %%l%d : %s = prim::ListConstruct(%%l%d, %%l%d)\n", i,
                    type, i - 1, i - 1);
    }
    sprintf(at, "  return (%%l30)\n");
    expect_failure(text, matrix);
    free(text);
  }
}

static void many_outputs(void **state) {
  (void)state;
  assert_int_equal(
      try_text("graph(%x : Tensor):\n"
               "  %n : int = prim::Constant[value=10000]()\n"
               "  %l : int[] = prim::rangelist(%n)\n  return (%l)\n",
               matrix),
      BSM_CODE_OK);
}

/* Lists and texts of numbers grow as tensors do. */
static void lists_that_explode(void **state) {
  (void)state;
  expect_failure(
      "graph(%x : Tensor):\n"
      "  %n : int = prim::Constant[value=4611686018427387904]()\n"
      "  %o : int = prim::Constant[value=1]()\n"
      "  %l : int[] = prim::ListConstruct(%o, %o)\n"
      "  %m : int[] = aten::mul(%l, %n)\n"
      "  %y : Tensor = aten::view(%x, %m)\n  return (%y)\n",
      matrix);
  expect_failure(
      "graph(%x : Tensor):\n"
      "  %n : int = prim::Constant[value=1000000000]()\n"
      "  %l : int[] = aten::range(%n)\n"
      "  %y : Tensor = aten::view(%x, %l)\n  return (%y)\n",
      matrix);
  expect_failure(
      "graph(%x : Tensor):\n"
      "  %n : int = prim::Constant[value=100000]()\n"
      "  %z : int = prim::Constant[value=0]()\n"
      "  %y : Tensor[] = aten::split(%x, %z, %z)\n"
      "  %c : Tensor[] = aten::chunk(%x, %n, %n)\n"
      "  %k : Tensor = aten::cat(%c, %z)\n  return (%k)\n",
      matrix);
  /* Each of fifty loops runs a thousand times inside the last. */
  char *text = repeated(
      "graph(%x : Tensor):\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %n : int = prim::Constant[value=1000]()\n",
      " = prim::Loop(%n, %t) block0(%i : int):\n", 50, "  return (%x)\n");
  expect_failure(text, matrix);
  free(text);
  /* Too long to unroll: a loop of the engine. */
  expect_text(
      "graph(%x : Tensor):\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %n : int = prim::Constant[value=900]()\n"
      "  %a : Tensor = prim::Loop(%n, %t, %x)\n"
      "    block0(%i : int, %b : Tensor):\n"
      "      %c : Tensor = prim::Loop(%n, %t, %b)\n"
      "        block0(%j : int, %d : Tensor):\n"
      "          %e : Tensor = aten::relu(%d)\n"
      "          -> (%t, %e)\n"
      "      -> (%t, %c)\n"
      "  return (%a)\n",
      matrix, BSM_CODE_OK, "");
  /* "while True" */
  expect_text(
      "graph(%x : Tensor):\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %n : int = prim::Constant[value=9223372036854775807]()\n"
      "  %a : Tensor = prim::Loop(%n, %t, %x)\n"
      "    block0(%i : int, %b : Tensor):\n"
      "      %c : Tensor = aten::relu(%b)\n"
      "      -> (%t, %c)\n"
      "  return (%a)\n",
      matrix, BSM_LIMIT, "it does not end");
}

static void arithmetic_traps(void **state) {
  (void)state;
  static const char *const binary[] = {
      "aten::floordiv",     "aten::remainder",
      "aten::mod",          "aten::div",
      "aten::pow",          "aten::mul",
      "aten::add",          "aten::sub",
      "aten::gcd",          "aten::__lshift__",
      "aten::__rshift__",   "aten::fmod",
      "aten::floor_divide", "aten::__range_length",
      "prim::min",          "aten::bitwise_xor"};
  static const int64_t left[] = {1, 0, INT64_MIN, INT64_MAX};
  static const int64_t right[] = {0, -1, INT64_MIN, INT64_MAX, 63, 64, -64};
  char text[1024];
  for (size_t k = 0; k < COUNT(binary); k++) {
    for (size_t v = 0; v < COUNT(left) * COUNT(right); v++) {
      const int64_t a = left[v / COUNT(right)], b = right[v % COUNT(right)];
      /* As numbers, and as constant integer tensors. */
      snprintf(text, sizeof(text),
               "graph(%%x : Tensor):\n"
               "  %%a : int = prim::Constant[value=%" PRId64
               "]()\n"
               "  %%b : int = prim::Constant[value=%" PRId64
               "]()\n"
               "  %%c : int = %s(%%a, %%b)\n"
               "  %%o : int = prim::Constant[value=1]()\n"
               "  %%y : Tensor = aten::add(%%x, %%c, %%o)\n  return (%%y)\n",
               a, b, binary[k]);
      (void)try_text(text, matrix);
      snprintf(text, sizeof(text),
               "graph(%%x : Tensor):\n"
               "  %%a : int = prim::Constant[value=%" PRId64
               "]()\n"
               "  %%b : int = prim::Constant[value=%" PRId64
               "]()\n"
               "  %%n : NoneType = prim::Constant()\n"
               "  %%l : int[] = prim::Constant[value=[2]]()\n"
               "  %%p : Tensor = aten::full(%%l, %%a, %%n, %%n, %%n, %%n)\n"
               "  %%q : Tensor = aten::full(%%l, %%b, %%n, %%n, %%n, %%n)\n"
               "  %%y : Tensor = %s(%%p, %%q)\n  return (%%y)\n",
               a, b, binary[k]);
      (void)try_text(text, matrix);
    }
  }
}

static void shapes_that_contradict(void **state) {
  (void)state;
  static const char *const calls[] = {
      "aten::matmul(%x, %w)",
      "aten::mm(%x, %w)",
      "aten::bmm(%x, %w)",
      "aten::linear(%x, %w, %none)",
      "aten::addmm(%w, %x, %w, %one, %one)",
      "aten::add(%x, %w, %one)",
      "aten::mul(%x, %w)",
      "aten::view(%x, %odd)",
      "aten::expand(%x, %odd, %no)",
      "aten::permute(%x, %odd)",
      "aten::transpose(%x, %one, %five)",
      "aten::select(%x, %one, %five)",
      "aten::squeeze(%x, %five)",
      "aten::unsqueeze(%x, %five)",
      "aten::cat(%list, %one)",
      "aten::stack(%list, %one)",
      "aten::softmax(%x, %five, %none)",
      "aten::sum(%x, %odd, %no, %none)",
      "aten::conv2d(%x, %w, %none, %odd, %odd, %odd, %one)",
      "aten::batch_norm(%x, %w, %w, %w, %w, %no, %eps, %eps, %no)",
      "aten::layer_norm(%x, %odd, %none, %none, %eps, %no)",
      "aten::embedding(%x, %x, %one, %no, %no)",
      "aten::gather(%x, %one, %w, %no)",
      "aten::index_select(%x, %five, %w)",
      "aten::topk(%x, %five, %one, %no, %no)",
      "aten::baddbmm(%x, %w, %x, %one, %one)",
  };
  char text[1024];
  for (size_t k = 0; k < COUNT(calls); k++) {
    const char *outputs =
        strstr(calls[k], "topk") ? "%y : Tensor, %z : Tensor" : "%y : Tensor";
    snprintf(text, sizeof(text),
             "graph(%%x : Tensor):\n"
             "  %%none : NoneType = prim::Constant()\n"
             "  %%no : bool = prim::Constant[value=0]()\n"
             "  %%one : int = prim::Constant[value=1]()\n"
             "  %%five : int = prim::Constant[value=5]()\n"
             "  %%eps : float = prim::Constant[value=0.5]()\n"
             "  %%odd : int[] = prim::Constant[value=[7, 7, 7]]()\n"
             "  %%w : Tensor = aten::ones(%%odd, %%none, %%none, %%none, "
             "%%none)\n"
             "  %%list : Tensor[] = prim::ListConstruct(%%x, %%w)\n"
             "  %s = %s\n  return (%%y)\n",
             outputs, calls[k]);
    expect_failure(text, matrix);
  }
}

/* ---- inputs that do not fit the graph ---- */

/* What the operator gives is of the dtype that the plan says, or the call is
 * refused; a plan that contradicts the operator is an internal error. */
static void statistics_of_other_dtypes(void **state) {
  (void)state;
  static const char *const calls[] = {
      "aten::_native_batch_norm_legit_no_training(%x, %none, %none, %mean, "
      "%var, %eps, %eps)",
      "aten::_native_batch_norm_legit(%x, %none, %none, %mean, %var, %no, "
      "%eps, %eps)",
      "aten::native_batch_norm(%x, %none, %none, %mean, %var, %no, %eps, %eps)",
  };
  static const int dtypes[] = {1, 3, 4, 5, 7, 11}; /* int8 to bool */
  char text[1024];
  for (size_t k = 0; k < COUNT(calls) * COUNT(dtypes); k++) {
    snprintf(text, sizeof(text),
             "graph(%%x : Tensor):\n"
             "  %%none : NoneType = prim::Constant()\n"
             "  %%no : bool = prim::Constant[value=0]()\n"
             "  %%eps : float = prim::Constant[value=0.5]()\n"
             "  %%maps : int[] = prim::Constant[value=[4]]()\n"
             "  %%dtype : int = prim::Constant[value=%d]()\n"
             "  %%mean : Tensor = aten::ones(%%maps, %%none, %%none, %%none, "
             "%%none)\n"
             "  %%var : Tensor = aten::ones(%%maps, %%dtype, %%none, %%none, "
             "%%none)\n"
             "  %%y : Tensor, %%a : Tensor, %%b : Tensor = %s\n"
             "  return (%%y)\n",
             dtypes[k % COUNT(dtypes)], calls[k / COUNT(dtypes)]);
    hostile_result result;
    hostile_compile_text(text, image, &result);
    if (result.code == BSM_INTERNAL || result.code == BSM_CORRUPT) {
      fail_msg("%s for\n%s", result.message, text);
    }
  }
}

static void inputs_that_do_not_fit(void **state) {
  (void)state;
  static const char text[] =
      "graph(%x : Tensor, %n : int):\n"
      "  %y : Tensor = aten::add(%x, %x, %n)\n  return (%y)\n";
  bsm_input_spec good[3] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT,
                            BSM_INPUT_SPEC_INIT};
  good[0].rank = 1;
  good[0].min[0] = 2;
  good[1].kind = BSM_INPUT_INT;
  good[1].int_value = 1;
  for (int k = 0; k <= 12; k++) {
    bsm_input_spec specs[3];
    memcpy(specs, good, sizeof(specs));
    size_t count = 2;
    switch (k) {
      case 0:
        break;
      case 1:
        count = 3;
        break;
      case 2:
        count = 1;
        break;
      case 3:
        specs[0].name = "z";
        break;
      case 4:
        specs[0].name = specs[1].name = "x";
        break;
      case 5:
        specs[0].rank = -1;
        break;
      case 6:
        specs[0].rank = 13;
        break;
      case 7:
        specs[0].min[0] = -2;
        break;
      case 8:
        specs[0].min[0] = INT64_MAX;
        break;
      case 9:
        specs[0].dtype = (bsm_dtype)99;
        break;
      case 10:
        specs[0].kind = BSM_INPUT_CONSTANT_TENSOR;
        break;
      case 11:
        specs[1].kind = BSM_INPUT_TENSOR;
        break;
      default:
        specs[0].kind = (bsm_input_kind)77;
        break;
    }
    hostile_result result;
    hostile_try(&(hostile_case){.data = text,
                                .size = sizeof(text) - 1,
                                .specs = specs,
                                .spec_count = count},
                &result);
    if ((result.code == BSM_CODE_OK) != (k == 0)) {
      fail_msg("case %d: %s", k, result.message);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_that_does_not_parse),
      cmocka_unit_test(messages_say_where),
      cmocka_unit_test(nesting_without_end),
      cmocka_unit_test(long_but_flat),
      cmocka_unit_test(windows_of_odd_numbers),
      cmocka_unit_test(allocation_bombs),
      cmocka_unit_test(results_that_explode),
      cmocka_unit_test(many_outputs),
      cmocka_unit_test(lists_that_explode),
      cmocka_unit_test(arithmetic_traps),
      cmocka_unit_test(shapes_that_contradict),
      cmocka_unit_test(statistics_of_other_dtypes),
      cmocka_unit_test(inputs_that_do_not_fit),
  };
  return cmocka_run_group_tests_name("hostile_ir", tests, NULL, NULL);
}
