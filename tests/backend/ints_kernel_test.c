/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arrays of all instruction sets against plain expressions: numbers
 * that wrap around, around the bounds of what doubles hold, floats that are no
 * integers, and every length up to some vectors. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernels/ints/ints.h"
#include "base/isa.h"

enum { MOST = 300, GUARD = 0x5a };

/* The functions under test: each instruction set in its turn. */
static const bsm_k_ints *k;

static const int64_t edges[] = {0,
                                1,
                                -1,
                                2,
                                -2,
                                7,
                                -7,
                                63,
                                64,
                                127,
                                128,
                                -128,
                                -129,
                                255,
                                256,
                                32767,
                                32768,
                                -32769,
                                INT32_MAX,
                                INT32_MIN,
                                (INT64_C(1) << 31),
                                (INT64_C(1) << 50) - 1,
                                (INT64_C(1) << 50),
                                -(INT64_C(1) << 50),
                                -(INT64_C(1) << 50) - 1,
                                (INT64_C(1) << 53) + 1,
                                -(INT64_C(1) << 53) - 1,
                                INT64_MAX,
                                INT64_MAX - 1,
                                INT64_MIN,
                                INT64_MIN + 1};
#define EDGES ((int)(sizeof(edges) / sizeof(edges[0])))

static uint64_t seed = 88172645463325252u;
static uint64_t next(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

/* kind 0: edges; 1: small numbers; 2: up to 2^50; 3: any. */
static int64_t number(int kind) {
  const int64_t any = (int64_t)next();
  switch (kind) {
    case 0:
      return edges[next() % (uint64_t)EDGES];
    case 1:
      return any % 100;
    case 2:
      return any % (INT64_C(1) << 50);
    default:
      return any;
  }
}
enum { KINDS = 4 };

static int64_t a[MOST + 1], b[MOST + 1], y[MOST + 1];
static uint8_t p[MOST + 1], q[MOST + 1], t[MOST + 1];
static float f[MOST + 1];

static void draw(int kind) {
  for (int i = 0; i < MOST; i++) {
    a[i] = number(kind);
    b[i] = number(kind);
    p[i] = (uint8_t)(next() % 3 ? next() : 0);
    q[i] = (uint8_t)(next() % 3 ? next() : 0);
  }
}

/* All lengths around vectors, and long ones. */
static int64_t next_length(int64_t n) {
  return n < 70     ? n + 1
         : n < 127  ? 127
         : n < 131  ? n + 1
         : n < MOST ? MOST
                    : -1;
}

#define U(x) ((uint64_t)(x))
#define EACH_LENGTH for (int64_t n = 0; n >= 0; n = next_length(n))
/* `call` fills the first n of `out` with what `want` says of i, and no more. */
#define CHECK(out, call, want)                                    \
  EACH_LENGTH {                                                   \
    memset(out, GUARD, sizeof(out));                              \
    call;                                                         \
    for (int64_t i = 0; i < n; i++) {                             \
      if (out[i] != (want)) {                                     \
        fail_msg("%s: element %lld of %lld of %lld, %lld", #call, \
                 (long long)i, (long long)n, (long long)a[i],     \
                 (long long)b[i]);                                \
      }                                                           \
    }                                                             \
    const unsigned char *behind = (const void *)(out + n);        \
    for (size_t i = 0; i < sizeof(out[0]); i++) {                 \
      assert_int_equal(behind[i], GUARD);                         \
    }                                                             \
  }

static void arithmetic_wraps_around(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    draw(kind);
#define BINARY(op, want) CHECK(y, k->binary(op, a, b, y, n), (int64_t)(want))
    BINARY(BSM_K_INTS_SUM, U(a[i]) + U(b[i]))
    BINARY(BSM_K_INTS_PROD, U(a[i]) * U(b[i]))
    BINARY(BSM_K_INTS_SUB, U(a[i]) - U(b[i]))
    BINARY(BSM_K_INTS_MAX, a[i] > b[i] ? a[i] : b[i])
    BINARY(BSM_K_INTS_MIN, a[i] < b[i] ? a[i] : b[i])
    BINARY(BSM_K_INTS_AND, a[i] & b[i])
    BINARY(BSM_K_INTS_OR, a[i] | b[i])
    BINARY(BSM_K_INTS_XOR, a[i] ^ b[i])
    for (int i = 0; i < MOST; i += 3) b[i] = a[i];
    CHECK(t, k->test(BSM_K_INTS_EQUAL, 0, a, b, t, n), a[i] == b[i])
    CHECK(t, k->test(BSM_K_INTS_EQUAL, 1, a, b, t, n), a[i] != b[i])
    CHECK(t, k->test(BSM_K_INTS_LESS, 0, a, b, t, n), a[i] < b[i])
    CHECK(t, k->test(BSM_K_INTS_LESS, 1, a, b, t, n), a[i] >= b[i])
    CHECK(y, k->select(p, a, b, y, n), p[i] ? a[i] : b[i])
    CHECK(y, k->fill(a[0], y, n), a[0])
  }
}

static int64_t truncated(int64_t x, int64_t by) {
  return by == 0 ? 0 : by == -1 ? (int64_t)(0u - U(x)) : x / by;
}
static int64_t rest(int64_t x, int64_t by) {
  return by == 0 || by == -1 ? 0 : x % by;
}
static int64_t is_below(int64_t x, int64_t by) {
  return rest(x, by) != 0 && (rest(x, by) < 0) != (by < 0);
}

static void division_rounds_as_it_says(void **state) {
  (void)state;
  for (int kind = 0; kind < 2 * KINDS; kind++) {
    draw(kind % KINDS);
    /* Quotients that are integers, or almost. */
    for (int i = 0; kind >= KINDS && i < MOST; i++) {
      b[i] = (int64_t)(next() % (1u << 20)) - (1 << 19);
      a[i] = (int64_t)(U(b[i]) * (next() % (1u << 30)) + next() % 3 - 1);
    }
#define DIVIDE(op, want) CHECK(y, k->divide(op, a, b, y, n), want)
    DIVIDE(BSM_K_INTS_TRUNC_DIV, truncated(a[i], b[i]))
    DIVIDE(BSM_K_INTS_FLOOR_DIV, truncated(a[i], b[i]) - is_below(a[i], b[i]))
    DIVIDE(BSM_K_INTS_FMOD, rest(a[i], b[i]))
    DIVIDE(BSM_K_INTS_REMAINDER,
           rest(a[i], b[i]) + (is_below(a[i], b[i]) ? b[i] : 0))
  }
}

static void shifts_have_bounds(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    draw(kind);
    for (int i = 0; i < MOST; i++) {
      if (i % 4) b[i] = (int64_t)(next() % 70) - 3;
    }
    for (int64_t bits = 8; bits <= 64; bits *= 2) {
      CHECK(y, k->shift_left(a, b, y, n, bits),
            b[i] < 0 || b[i] >= bits ? 0 : (int64_t)(U(a[i]) << b[i]))
      CHECK(y, k->shift_right(a, b, y, n, bits - 1),
            a[i] >> (b[i] < 0 || b[i] >= bits - 1 ? bits - 1 : b[i]))
    }
  }
}

static void truth_is_what_is_not_zero(void **state) {
  (void)state;
  draw(0);
  CHECK(t, k->truth(BSM_K_TRUTH_AND, p, q, t, n), (p[i] != 0) & (q[i] != 0))
  CHECK(t, k->truth(BSM_K_TRUTH_OR, p, q, t, n), (p[i] != 0) | (q[i] != 0))
  CHECK(t, k->truth(BSM_K_TRUTH_XOR, p, q, t, n), (p[i] != 0) ^ (q[i] != 0))
  CHECK(t, k->truth(BSM_K_TRUTH_NOT, p, p, t, n), p[i] == 0)
  CHECK(y, k->of_truth(p, y, n), p[i] != 0)
  CHECK(f, k->floats_of_truth(p, f, n), (float)(p[i] != 0))
  for (int i = 0; i < MOST; i += 2) a[i] &= 1;
  CHECK(t, k->to_truth(a, t, n), a[i] != 0)
  static float x[MOST];
  for (int i = 0; i < MOST; i++) {
    x[i] = i % 5 == 0 ? -0.0f : i % 5 == 1 ? NAN : i % 5 == 2 ? 1e-45f : 3.0f;
  }
  CHECK(t, k->truth_of_floats(x, t, n), i % 5 != 0)
}

static void narrow_integers_are_cut_off(void **state) {
  (void)state;
  static uint8_t raw[8 * MOST];
  for (int kind = 0; kind < KINDS; kind++) {
    draw(kind);
    CHECK(y, k->wrap(BSM_K_INTS_U8, a, y, n), (uint8_t)a[i])
    CHECK(y, k->wrap(BSM_K_INTS_I8, a, y, n), (int8_t)(uint8_t)a[i])
    CHECK(y, k->wrap(BSM_K_INTS_I16, a, y, n), (int16_t)(uint16_t)a[i])
    CHECK(y, k->wrap(BSM_K_INTS_I32, a, y, n), (int32_t)(uint32_t)a[i])
    for (size_t i = 0; i < sizeof(raw); i++) raw[i] = (uint8_t)next();
#define WIDTH(width, type)                                     \
  {                                                            \
    static type from[MOST], to[MOST + 1];                      \
    memcpy(from, raw, sizeof(from));                           \
    CHECK(y, k->load(width, from, y, n), from[i])              \
    CHECK(to, k->store(width, a, to, n), (type)(uint64_t)a[i]) \
  }
    WIDTH(BSM_K_INTS_U8, uint8_t)
    WIDTH(BSM_K_INTS_I8, int8_t)
    WIDTH(BSM_K_INTS_I16, int16_t)
    WIDTH(BSM_K_INTS_I32, int32_t)
  }
}

static void floats_become_integers_and_back(void **state) {
  (void)state;
  static const float special[] = {
      0.5f,     -0.5f,     1.9f,    -1.9f,    0x1p49f,   -0x1p50f, 0x1p50f,
      0x1p62f,  -0x1p63f,  0x1p63f, INFINITY, -INFINITY, NAN,      8388607.5f,
      -2.9999f, 0x1.8p31f, -0.0f,   1e-45f,   1e38f,     -1e38f};
  enum { SPECIAL = sizeof(special) / sizeof(special[0]) };
  static float x[MOST];
  for (int kind = 0; kind < KINDS; kind++) {
    draw(kind);
    CHECK(f, k->to_floats(a, f, n), (float)a[i])
    for (int i = 0; i < MOST; i++) {
      x[i] = kind == 0 ? special[next() % SPECIAL] : (float)a[i] * 0.37f;
    }
    CHECK(y, k->of_floats(x, y, n),
          x[i] >= -0x1p63f && x[i] < 0x1p63f ? (int64_t)x[i] : INT64_MIN)
  }
}

/* ---- integers as they are in memory ---- */

/* One element behind the start of a block, so that addresses are no multiples
 * of more than an element. */
enum { WIDTHS = 5 };
static const int sizes[WIDTHS] = {1, 1, 2, 4, 8};
static uint64_t raw_a[MOST + 2], raw_b[MOST + 2], raw_y[MOST + 2];

static void *at(uint64_t *raw, int width, int64_t i) {
  return (char *)raw + (i + 1) * sizes[width];
}

static int64_t cut_off(int width, int64_t v) {
  switch (width) {
    case BSM_K_INTS_U8:
      return (uint8_t)v;
    case BSM_K_INTS_I8:
      return (int8_t)v;
    case BSM_K_INTS_I16:
      return (int16_t)v;
    case BSM_K_INTS_I32:
      return (int32_t)v;
    default:
      return v;
  }
}

static int64_t got(int width, int64_t i) {
  int64_t v = 0;
  memcpy(&v, at(raw_y, width, i), (size_t)sizes[width]); /* little endian */
  return cut_off(width, v);
}

/* The operands in a width, and in a[] and b[] what they are. */
static void draw_raw(int kind, int width) {
  draw(kind);
  for (int64_t i = 0; i < MOST; i++) {
    if (i % 3 == 0) b[i] = a[i];
    a[i] = cut_off(width, a[i]);
    b[i] = cut_off(width, b[i]);
    memcpy(at(raw_a, width, i), &a[i], (size_t)sizes[width]);
    memcpy(at(raw_b, width, i), &b[i], (size_t)sizes[width]);
  }
}

/* `out`: the width of the results. */
#define CHECK_NARROW(op, width, out, want)                                  \
  EACH_LENGTH {                                                             \
    memset(raw_y, GUARD, sizeof(raw_y));                                    \
    k->narrow(op, (bsm_k_ints_width)(width), p, at(raw_a, width, 0),        \
              at(raw_b, width, 0), at(raw_y, out, 0), n);                   \
    for (int64_t i = 0; i < n; i++) {                                       \
      if (got(out, i) != cut_off(out, (int64_t)(want))) {                   \
        fail_msg("%s of width %d, element %d of %d: %lld, %lld: %lld", #op, \
                 width, (int)i, (int)n, (long long)a[i], (long long)b[i],   \
                 (long long)got(out, i));                                   \
      }                                                                     \
    }                                                                       \
    const unsigned char *edge = at(raw_y, out, -1);                         \
    for (int i = 0; i < sizes[out]; i++) assert_int_equal(edge[i], GUARD);  \
    edge = at(raw_y, out, n);                                               \
    for (int i = 0; i < sizes[out]; i++) assert_int_equal(edge[i], GUARD);  \
  }
#define SAME_WIDTH(op, want) CHECK_NARROW(BSM_K_NARROW_##op, w, w, want)
#define TO_BYTES(op, want) \
  CHECK_NARROW(BSM_K_NARROW_##op, w, BSM_K_INTS_U8, want)

static void narrow_arithmetic_wraps_around(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    for (int w = 0; w < WIDTHS; w++) {
      draw_raw(kind, w);
      SAME_WIDTH(SUM, U(a[i]) + U(b[i]))
      SAME_WIDTH(SUB, U(a[i]) - U(b[i]))
      SAME_WIDTH(PROD, U(a[i]) * U(b[i]))
      SAME_WIDTH(MAX, a[i] > b[i] ? a[i] : b[i])
      SAME_WIDTH(MIN, a[i] < b[i] ? a[i] : b[i])
      SAME_WIDTH(AND, a[i] & b[i])
      SAME_WIDTH(OR, a[i] | b[i])
      SAME_WIDTH(XOR, a[i] ^ b[i])
      SAME_WIDTH(NOT, ~a[i])
      SAME_WIDTH(SELECT, p[i] ? a[i] : b[i])
      TO_BYTES(EQUAL, a[i] == b[i])
      TO_BYTES(LESS, a[i] < b[i])
      TO_BYTES(TRUTH, a[i] != 0)
      if (w < BSM_K_INTS_I64) SAME_WIDTH(NEG, U(0) - U(a[i]))
      if (w < BSM_K_INTS_I64 && w != BSM_K_INTS_U8) {
        SAME_WIDTH(ABS, a[i] < 0 ? U(0) - U(a[i]) : U(a[i]))
      }
    }
  }
}

static int64_t shifted(int width, int64_t x, int64_t by, bool left) {
  const int64_t bits = 8 * sizes[width];
  const int64_t most = width == BSM_K_INTS_U8 ? bits : bits - 1;
  if (left) return by < 0 || by >= bits ? 0 : (int64_t)(U(x) << by);
  return x >> (by < 0 || by > most ? most : by);
}

static void narrow_integers_change_their_width(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    for (int w = 0; w < BSM_K_INTS_I64; w++) {
      draw_raw(kind, w);
      CHECK_NARROW(BSM_K_NARROW_TO_I64, w, BSM_K_INTS_I64, a[i])
      if (w == BSM_K_INTS_I32) continue;
      CHECK_NARROW(BSM_K_NARROW_TO_I32, w, BSM_K_INTS_I32, a[i])
    }
    for (int w = 0; w < BSM_K_INTS_I64; w++) {
      draw(kind);
      CHECK(
          f, k->narrow(BSM_K_NARROW_OF_I64, (bsm_k_ints_width)w, NULL, a, NULL,
                       raw_y, n);
          for (int64_t i = 0; i < n; i++) {
            int64_t v = 0;
            memcpy(&v, (char *)raw_y + i * sizes[w], (size_t)sizes[w]);
            f[i] = cut_off(w, v) == cut_off(w, a[i]) ? 1.0f : 0.0f;
          },
          1.0f)
      static int32_t x[MOST], by[MOST], z[MOST + 1];
      for (int i = 0; i < MOST; i++) {
        x[i] = (int32_t)cut_off(w, a[i]);
        by[i] = i % 4 == 0 ? (int32_t)cut_off(w, b[i]) : i % 35;
      }
      CHECK(z,
            k->narrow(BSM_K_NARROW_SHIFT_LEFT, (bsm_k_ints_width)w, NULL, x, by,
                      z, n),
            (int32_t)shifted(w, x[i], by[i], true))
      CHECK(z,
            k->narrow(BSM_K_NARROW_SHIFT_RIGHT, (bsm_k_ints_width)w, NULL, x,
                      by, z, n),
            (int32_t)shifted(w, x[i], by[i], false))
    }
  }
}

static void int32_become_floats_and_back(void **state) {
  (void)state;
  static const float special[] = {
      0.5f,    -0.5f,    1.9f,     -1.9f,     0x1p31f, -0x1p31f, 0x1.fffffep30f,
      0x1p40f, -0x1p40f, INFINITY, -INFINITY, NAN,     -0.0f,    1e38f};
  enum { SPECIAL = sizeof(special) / sizeof(special[0]) };
  static float x[MOST];
  static int32_t z[MOST + 1], small[MOST];
  for (int kind = 0; kind < KINDS; kind++) {
    draw(kind);
    for (int i = 0; i < MOST; i++) {
      small[i] = (int32_t)cut_off(BSM_K_INTS_I32, a[i]);
      x[i] = kind == 0 ? special[next() % SPECIAL] : (float)a[i] * 0.37f;
    }
    CHECK(f,
          k->narrow(BSM_K_NARROW_I32_TO_FLOAT, BSM_K_INTS_I32, NULL, small,
                    NULL, f, n),
          (float)small[i])
    CHECK(z,
          k->narrow(BSM_K_NARROW_FLOAT_TO_I32, BSM_K_INTS_I32, NULL, x, NULL, z,
                    n),
          x[i] >= -0x1p63f && x[i] < 0x1p63f
              ? (int32_t)cut_off(BSM_K_INTS_I32, (int64_t)x[i])
              : 0)
  }
}

/* An output that is an input. */
static void in_place(void **state) {
  (void)state;
  static int64_t x[MOST];
  draw(3);
  memcpy(x, a, sizeof(x));
  k->binary(BSM_K_INTS_SUM, x, b, x, MOST);
  for (int i = 0; i < MOST; i++) {
    assert_true(x[i] == (int64_t)(U(a[i]) + U(b[i])));
  }
  memcpy(x, b, sizeof(x));
  k->divide(BSM_K_INTS_REMAINDER, a, x, x, MOST);
  k->wrap(BSM_K_INTS_I8, x, x, MOST);
  for (int i = 0; i < MOST; i++) {
    const int64_t m = rest(a[i], b[i]) + (is_below(a[i], b[i]) ? b[i] : 0);
    assert_true(x[i] == (int8_t)(uint8_t)m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arithmetic_wraps_around),
      cmocka_unit_test(division_rounds_as_it_says),
      cmocka_unit_test(shifts_have_bounds),
      cmocka_unit_test(truth_is_what_is_not_zero),
      cmocka_unit_test(narrow_integers_are_cut_off),
      cmocka_unit_test(floats_become_integers_and_back),
      cmocka_unit_test(narrow_arithmetic_wraps_around),
      cmocka_unit_test(narrow_integers_change_their_width),
      cmocka_unit_test(int32_become_floats_and_back),
      cmocka_unit_test(in_place),
  };
  int failed = 0;
  for (unsigned row = 0; row < BSM_K_ISA_COUNT; row++) {
    const uint32_t needs = bsm_k_isa_needs(row);
    if ((bsm_isa_detect() & needs) != needs) continue;
    k = bsm_k_ints_select(needs);
    printf("%s\n", k->name);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  }
  return failed;
}
