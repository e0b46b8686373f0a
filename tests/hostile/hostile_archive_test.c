/* SPDX-License-Identifier: Apache-2.0 */
/* Archives that are truncated, damaged, of another kind, or made to attack:
 * compiling ends with a status that says what and where, or, where a change
 * does not matter, with an engine. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "bessemer/bessemer.h"
#include "hostile/hostile.h"
#include "hostile/tiny_archive.h"

static zip_member members[TINY_MEMBERS];
static pickle_text pickle;

static int reset(void **state) {
  (void)state;
  tiny_members(members, &pickle);
  return 0;
}

/* Compiles the bytes for an input of (2, 2) and runs the engine. */
static void try_bytes(const void *data, size_t size, hostile_result *out) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = spec.min[1] = 2;
  hostile_try(&(hostile_case){.data = data,
                              .size = size,
                              .specs = &spec,
                              .spec_count = 1,
                              .run = true,
                              .input_byte = 1},
              out);
}

static void try_members(hostile_result *out) {
  zip_builder z;
  zip_build(&z, members, TINY_MEMBERS, 1);
  try_bytes(z.data, z.len, out);
  free(z.data);
}

/* Requires a failure whose message has `text`. */
static void expect(const char *what, const hostile_result *result,
                   const char *text) {
  if (result->code == BSM_CODE_OK) fail_msg("%s: accepted", what);
  if (!strstr(result->message, text)) {
    fail_msg("%s: no \"%s\" in: %s", what, text, result->message);
  }
}

static void is_accepted(void **state) {
  (void)state;
  hostile_result result;
  try_members(&result);
  if (result.code) fail_msg("%s", result.message);
}

static void truncated_at_every_byte(void **state) {
  (void)state;
  zip_builder z;
  zip_build(&z, members, TINY_MEMBERS, 1);
  for (size_t n = 0; n < z.len; n++) {
    /* In a block of its own: reading past the end is seen. */
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, z.data, n);
    hostile_result result;
    try_bytes(copy, n, &result);
    free(copy);
    if (!result.code) fail_msg("%zu of %zu bytes were accepted", n, z.len);
  }
  free(z.data);
}

static void bits_flipped(void **state) {
  (void)state;
  zip_builder z;
  zip_build(&z, members, TINY_MEMBERS, 1);
  for (size_t bit = 0; bit < z.len * 8; bit += 7) {
    hostile_result result;
    z.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    try_bytes(z.data, z.len, &result);
    z.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(z.data);
}

/* As an attacker would: a member changes and its checksum is right. */
static void bytes_of_members_changed(void **state) {
  (void)state;
  static const int which[] = {TINY_PICKLE, TINY_CODE, TINY_VERSION,
                              TINY_CONSTANTS};
  static const uint8_t masks[] = {0x01, 0x20, 0xff};
  for (size_t w = 0; w < 4; w++) {
    zip_member *m = &members[which[w]];
    uint8_t *copy = malloc(m->size);
    assert_non_null(copy);
    memcpy(copy, m->data, m->size);
    m->data = copy;
    for (size_t i = 0; i < m->size; i++) {
      hostile_result result;
      const uint8_t mask = masks[i % 3];
      copy[i] ^= mask;
      try_members(&result);
      copy[i] ^= mask;
    }
    free(copy);
    tiny_members(members, &pickle);
  }
}

static void other_files(void **state) {
  (void)state;
  static const struct {
    const char *data;
    size_t size;
    const char *text;
  } cases[] = {
      {"", 0, ""},
      {"PK", 2, ""},
      {"PK\003\004", 4, ""},
      {"\x7f"
       "ELF\002\001\001",
       7, ""},
      {"\x89PNG\r\n\x1a\n", 8, ""},
      {"BSMENGIN\001\000\000\000", 12, "ngine"},
      {"\x80\x02}q\000.", 6, ""},
      {"hello, world\n", 13, ""},
      {"graph(", 6, ""},
      {"# graph(", 8, ""},
      {"\x08\x07\x12\x07pytorch", 11, ""},
      {"GGUF\003\000\000\000", 8, ""},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    hostile_result result;
    try_bytes(cases[i].data, cases[i].size, &result);
    expect(cases[i].data, &result, cases[i].text);
  }
}

static void pickles_that_attack(void **state) {
  (void)state;
#define CASE(literal, text) \
  { literal, sizeof(literal) - 1, text }
  static const struct {
    const char *data;
    size_t size;
    const char *text;
  } cases[] = {
      CASE("\x80\x02"
           "cos\nsystem\n(X\x02\0\0\0idtR.",
           "os.system"),
      CASE("cos\nsystem\n(X\x02\0\0\0idtR.", "not a pickle"),
      CASE("\x80\x02"
           "cposix\nsystem\nX\x02\0\0\0id\x85R.",
           "posix.system"),
      CASE("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
           "protocol 4"),
      CASE("cbuiltins\neval\n(X\x01\0\0\0"
           "1tR.",
           "builtins.eval"),
      CASE("c__builtin__\ngetattr\n(X\x01\0\0\0"
           "1tR.",
           "getattr"),
      CASE("(X\x02\0\0\0idios\nsystem\n.", "opcode"),
      CASE("(cos\nsystem\nX\x02\0\0\0ido.", ""),
      CASE("ctorch._utils\n_rebuild_everything\n)R.", "_rebuild_everything"),
      CASE("ctorch._utils\n_rebuild_tensor_v2\n)R.", "_rebuild_tensor_v2"),
      CASE("ctorch._utils\n_rebuild_tensor_v2\n(K\1K\2K\3K\4K\5K\6tR.", ""),
      CASE("\x82\x01.", ""), /* EXT1 */
      CASE("P0\n.", ""),     /* PERSID */
      CASE("NQ.", ""),       /* BINPERSID of None */
      CASE(".", ""),
      CASE("", ""),
      CASE("t.", ""),
      CASE("R.", ""),
      CASE("0.", ""),
      CASE("(.", ""),
      CASE("((((.", ""),
      CASE("h\x05.", ""),
      CASE("j\xff\xff\xff\xff.", ""),
      CASE("]r\xff\xff\xff\xffh\x01.", ""),
      CASE("X\xff\xff\xff\xff"
           "abc.",
           ""),
      CASE("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
           "abc.",
           ""),
      CASE("\x8b\xff\xff\xff\xff"
           "1.",
           ""),
      CASE("\x8b\x00\x00\x00\x80"
           "1.",
           ""),
      CASE("I9999999999999999999999\n.", ""),
      CASE("F1e99999\n.", ""),
      CASE("}(K\1u.", ""),
      CASE("](K\1K\2s.", ""),
      CASE("\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", ""),
      CASE("\x80\x63N.", ""),
      CASE("N.", ""),
      CASE("K\1.", ""),
      CASE("]q\0h\0a.", ""),    /* a list in itself */
      CASE("}q\0h\0h\0s.", ""), /* a dict that is its own key */
      CASE("c__torch__\nTiny\n)\x81q\0h\0b.", ""), /* its own state */
      CASE("c__torch__\nTiny\n)\x81}(X\1\0\0\0wh\0ub.", ""),
      CASE("c__torch__\nTiny\n)\x81}b.", ""),
      CASE("c__torch__\nTiny\n)\x81}(X\1\0\0\0wNub.", ""),
      CASE("c__torch__\nTiny\n)\x81}(X\1\0\0\0wK\1ub.", ""),
      CASE("c__torch__\nNone\n)\x81}b.", ""),
      CASE("c__torch__.a.b\nNone\n)\x81}b.", ""),
      CASE("c__torch__../../etc\npasswd\n)\x81}b.", ""),
  };
#undef CASE
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    hostile_result result;
    /* All but the cases of the protocol itself are of protocol 2. */
    uint8_t bytes[128] = {0x80, 2};
    const size_t head = i < 2 || cases[i].data[0] == '\x80' ? 0 : 2;
    assert_true(cases[i].size + head <= sizeof(bytes));
    memcpy(bytes + head, cases[i].data, cases[i].size);
    members[TINY_PICKLE].data = bytes;
    members[TINY_PICKLE].size = cases[i].size + head;
    try_members(&result);
    char what[32];
    snprintf(what, sizeof(what), "pickle %zu", i);
    expect(what, &result, cases[i].text);
    expect(what, &result, "data.pkl");
  }
}

static void endless_pickles(void **state) {
  (void)state;
  static const char *const opcodes[] = {"(",  "]",  "}",    ")",
                                        "N2", "(t", "]\x85"};
  enum { BYTES = 400000 };
  uint8_t *bytes = malloc(BYTES);
  assert_non_null(bytes);
  for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
    const size_t n = strlen(opcodes[i]);
    for (size_t k = 0; k < BYTES; k++) {
      bytes[k] = (uint8_t)opcodes[i][k % n];
    }
    bytes[BYTES - 1] = '.';
    members[TINY_PICKLE].data = bytes;
    members[TINY_PICKLE].size = BYTES;
    hostile_result result;
    try_members(&result);
    expect(opcodes[i], &result, "data.pkl");
  }
  /* 200,000 tuples, each around the last. */
  memset(bytes, '\x85', BYTES);
  bytes[0] = ')';
  bytes[BYTES - 1] = '.';
  hostile_result result;
  try_members(&result);
  expect("nested tuples", &result, "data.pkl");
  free(bytes);
}

static void tensors_past_their_storage(void **state) {
  (void)state;
  const int64_t odd[] = {-1,        INT64_MIN, INT64_MAX, 1LL << 32,
                         1LL << 62, 4,         5,         (1LL << 42) + 1};
  const size_t n = sizeof(odd) / sizeof(odd[0]);
  for (size_t i = 0; i < 6 * n; i++) {
    tiny_tensor t = tiny_good;
    const int64_t v = odd[i % n];
    switch (i / n) {
      case 0:
        t.offset = v;
        break;
      case 1:
        t.sizes[0] = v;
        break;
      case 2:
        t.sizes[1] = v;
        break;
      case 3:
        t.strides[0] = v;
        break;
      case 4:
        t.strides[1] = v;
        break;
      default:
        t.storage_count = v == 4 ? -4 : v;
        break;
    }
    pickle_module(&pickle, &t);
    members[TINY_PICKLE].size = pickle.len;
    hostile_result result;
    try_members(&result);
    char what[64];
    snprintf(what, sizeof(what), "field %zu is %" PRId64, i / n, v);
    expect(what, &result, "data.pkl");
  }
}

static void tensors_of_odd_forms(void **state) {
  (void)state;
  const tiny_tensor cases[] = {
      {"DoubleStorage", "0", 4, 0, 2, {2, 2}, {2, 1}},
      {"OsStorage", "0", 4, 0, 2, {2, 2}, {2, 1}},
      {"FloatStorage", "1", 4, 0, 2, {2, 2}, {2, 1}},
      {"FloatStorage", "../../etc/passwd", 4, 0, 2, {2, 2}, {2, 1}},
      {"FloatStorage", "/dev/zero", 4, 0, 2, {2, 2}, {2, 1}},
      {"FloatStorage", "", 4, 0, 2, {2, 2}, {2, 1}},
      {"FloatStorage", "0", 4, 0, 16, {1}, {1}},
      {"FloatStorage", "0", 4, 0, 3, {INT64_MAX, 1LL << 62, 4}, {0, 0, 0}},
      {"FloatStorage", "0", 4, 0, 2, {1LL << 32, 1LL << 32}, {0, 0}},
      {"FloatStorage", "0", 4, 0, 2, {1LL << 40, 2}, {0, 1}},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    pickle_module(&pickle, &cases[i]);
    members[TINY_PICKLE].size = pickle.len;
    hostile_result result;
    try_members(&result);
    char what[32];
    snprintf(what, sizeof(what), "tensor %zu", i);
    expect(what, &result, "");
  }
}

static void missing_members(void **state) {
  (void)state;
  static const char *const wanted[TINY_MEMBERS] = {
      "data.pkl", "checkpoint", "__torch__.Tiny", "data/0", "version"};
  for (size_t i = 0; i < TINY_MEMBERS; i++) {
    hostile_result result;
    const char *name = members[i].name;
    members[i].name = "m/other";
    try_members(&result);
    members[i].name = name;
    expect(name, &result, wanted[i]);
  }
}

/* ---- the code ---- */

static void try_code(const char *code, hostile_result *out) {
  members[TINY_CODE].data = code;
  members[TINY_CODE].size = strlen(code);
  try_members(out);
}

/* A forward whose body is `head`, then `piece` many times, then `tail`. */
static void try_repeated(const char *head, const char *piece, size_t times,
                         const char *tail, hostile_result *out) {
  static const char start[] =
      "class Tiny(Module):\n  __parameters__ = [\"w\", ]\n"
      "  __buffers__ = []\n  training : bool\n  w : Tensor\n";
  const size_t n = strlen(piece);
  char *code = malloc(sizeof(start) + strlen(head) + n * times + strlen(tail));
  assert_non_null(code);
  char *at = code + sprintf(code, "%s%s", start, head);
  for (size_t i = 0; i < times; i++, at += n) memcpy(at, piece, n);
  strcpy(at, tail);
  try_code(code, out);
  free(code);
}

#define FORWARD                           \
  "  def forward(self: __torch__.Tiny,\n" \
  "    x: Tensor) -> Tensor:\n"

static void endless_nesting_in_code(void **state) {
  (void)state;
  static const struct {
    const char *head, *piece, *tail;
  } cases[] = {
      {FORWARD "    return ", "(", "x"},
      {FORWARD "    return ", "torch.relu(", "x"},
      {FORWARD "    return ", "[", "x"},
      {FORWARD "    return ", "{1: ", "x"},
      {FORWARD "    return ", "-", "x\n"},
      {FORWARD "    return ", "not ", "x\n"},
      {FORWARD "    return x", "[0", "\n"},
      {FORWARD "    return ", "annotate(List[", "x\n"},
      {"  def forward(self: __torch__.Tiny,\n    x: ", "List[", "int"},
      {"  def forward(self: __torch__.Tiny,\n    x: ", "Tuple[int, ", "int"},
      {"  def forward(self: __torch__.Tiny,\n    x: ", "Optional[", "int"},
      {"  y : ", "Dict[str, ", "int"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    hostile_result result;
    try_repeated(cases[i].head, cases[i].piece, 100000, cases[i].tail, &result);
    expect(cases[i].piece, &result, "__torch__.py");
  }
}

static void long_chains_in_code(void **state) {
  (void)state;
  hostile_result result;
  /* Long but flat: a result or a limit, in bounded time. */
  try_repeated(FORWARD "    return x", ".abs()", 20000, "\n", &result);
  try_repeated(FORWARD "    return x", " + x", 20000, "\n", &result);
  try_repeated(FORWARD, "    x = torch.add(x, 1)\n", 5000, "    return x\n",
               &result);
  try_repeated(FORWARD "    return x", "[0]", 20000, "\n", &result);
}

static void nested_blocks_in_code(void **state) {
  (void)state;
  enum { DEPTH = 2000 };
  char *code = malloc(sizeof(tiny_code) + DEPTH * (DEPTH + 64));
  assert_non_null(code);
  char *at = code;
  at +=
      sprintf(at,
              "class Tiny(Module):\n  __parameters__ = [\"w\", ]\n"
              "  __buffers__ = []\n  training : bool\n  w : Tensor\n" FORWARD);
  for (int i = 0; i < DEPTH; i++) {
    at += sprintf(at, "%*sif True:\n", 4 + i, "");
  }
  sprintf(at, "%*sreturn x\n", 4 + DEPTH, "");
  hostile_result result;
  try_code(code, &result);
  expect("nested ifs", &result, "__torch__.py");
  free(code);
}

#define CLASS                                                               \
  "class Tiny(Module):\n  __parameters__ = [\"w\", ]\n  __buffers__ = []\n" \
  "  training : bool\n  w : Tensor\n"

/* Ifs that depend on data, of which each is a block of the engine. */
static char *branches_on_data(int depth) {
  static const char head[] =
      CLASS FORWARD "    n = torch.size(torch.nonzero(x), 0)\n";
  char *code = malloc(sizeof(head) + (size_t)depth * (size_t)(depth + 64) * 3);
  assert_non_null(code);
  char *at = code + sprintf(code, "%s", head);
  for (int i = 0; i < depth; i++) {
    at += sprintf(at, "%*sif torch.gt(n, %d):\n", 4 + i, "", i);
  }
  at += sprintf(at, "%*sx = torch.mul(x, 3)\n", 4 + depth, "");
  for (int i = depth - 1; i >= 0; i--) {
    at +=
        sprintf(at, "%*selse:\n%*sx = torch.mul(x, 2)\n", 4 + i, "", 5 + i, "");
  }
  sprintf(at, "    return x\n");
  return code;
}

static void *try_in_thread(void *result) {
  try_members(result);
  return NULL;
}

/* Loading, compiling and running, in a thread that has 64 KiB of stack beyond
 * what the test and the C library need of it. */
static void a_small_stack_is_enough(void **state) {
  (void)state;
  char *code = branches_on_data(90);
  members[TINY_CODE].data = code;
  members[TINY_CODE].size = strlen(code);
  pthread_attr_t attributes;
  pthread_t thread;
  static hostile_result result;
  assert_int_equal(pthread_attr_init(&attributes), 0);
#ifndef BSM_SANITIZED
  assert_int_equal(pthread_attr_setstacksize(&attributes, (64 + 24) << 10), 0);
#endif
  assert_int_equal(pthread_create(&thread, &attributes, try_in_thread, &result),
                   0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attributes);
  free(code);
  if (result.code) fail_msg("%s", result.message);
}

static void code_that_makes_no_sense(void **state) {
  (void)state;
  static const struct {
    const char *code, *text;
  } cases[] = {
      {"", ""},
      {"class", "__torch__.py"},
      {"class Tiny(Module)", "__torch__.py"},
      {"class Tiny(Module):\n  w : __torch__.Tiny\n", ""},
      {CLASS, "forward"},
      {CLASS FORWARD "    return torch.does_not_exist(x)\n", "does_not_exist"},
      {CLASS FORWARD "    return ops.mine.special(x)\n", "special"},
      {CLASS FORWARD "    return self.forward(x)\n", ""},
      {CLASS "  def g(self: __torch__.Tiny, x: Tensor) -> Tensor:\n"
             "    return (self).forward(x)\n" FORWARD
             "    return (self).g(x)\n",
       ""},
      {CLASS FORWARD "    return y\n", "y"},
      {CLASS FORWARD "    return self.nothing\n", "nothing"},
      {CLASS FORWARD "    return torch.add(x)\n", "add"},
      {CLASS FORWARD "    return torch.relu(x, x, x)\n", "relu"},
      {CLASS FORWARD "    return torch.relu(\"x\")\n", "relu"},
      {CLASS FORWARD "    return CONSTANTS.c0\n", "c0"},
      {CLASS FORWARD "    return CONSTANTS.c99999999999999999999\n", ""},
      {CLASS FORWARD "    a, b, = x\n    return a\n", ""},
      {CLASS FORWARD "    while True:\n      x = torch.add(x, 1)\n"
                     "    return x\n",
       ""},
      {CLASS FORWARD "    for i in range(9223372036854775807):\n"
                     "      x = torch.add(x, 1)\n    return x\n",
       ""},
      {CLASS FORWARD "    return torch.add(x, 99999999999999999999999)\n", ""},
      {CLASS FORWARD "    return torch.add(x, torch.floordiv(1, 0))\n", "zero"},
      {CLASS FORWARD "    return torch.add(x, torch.remainder(1, 0))\n",
       "zero"},
      {CLASS FORWARD "    return torch.zeros([9223372036854775807, 2])\n", ""},
      {CLASS FORWARD "    return torch.zeros([1099511627776])\n", ""},
      {CLASS FORWARD "    return torch.expand(x, [1099511627776, 2, 2])\n", ""},
      {CLASS FORWARD "    l = annotate(List[int], [])\n"
                     "    return torch.add(x, l[0])\n",
       ""},
      {CLASS FORWARD "    ops.prim.RaiseException(\"no\")\n    return x\n",
       "no"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    hostile_result result;
    try_code(cases[i].code, &result);
    char what[32];
    snprintf(what, sizeof(what), "code %zu", i);
    expect(what, &result, cases[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(is_accepted, reset),
      cmocka_unit_test_setup(truncated_at_every_byte, reset),
      cmocka_unit_test_setup(bits_flipped, reset),
      cmocka_unit_test_setup(bytes_of_members_changed, reset),
      cmocka_unit_test_setup(other_files, reset),
      cmocka_unit_test_setup(pickles_that_attack, reset),
      cmocka_unit_test_setup(endless_pickles, reset),
      cmocka_unit_test_setup(tensors_past_their_storage, reset),
      cmocka_unit_test_setup(tensors_of_odd_forms, reset),
      cmocka_unit_test_setup(missing_members, reset),
      cmocka_unit_test_setup(endless_nesting_in_code, reset),
      cmocka_unit_test_setup(long_chains_in_code, reset),
      cmocka_unit_test_setup(nested_blocks_in_code, reset),
      cmocka_unit_test_setup(a_small_stack_is_enough, reset),
      cmocka_unit_test_setup(code_that_makes_no_sense, reset),
  };
  return cmocka_run_group_tests_name("hostile_archive", tests, NULL, NULL);
}
