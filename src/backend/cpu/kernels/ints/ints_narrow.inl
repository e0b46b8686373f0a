/* SPDX-License-Identifier: Apache-2.0 */
/* Integers and truth values as they are in memory, for ints_body.inl. Loops run
 * over whole vectors alone, which takes a third of the code that loops over any
 * number take; what is left of an array goes through copies that are as long as
 * these. */

#include <stddef.h>

/* Compilers see that counts are multiples of it. */
#define NARROW_PIECE 64

static int64_t narrow_size(bsm_k_ints_width width) {
  static const int8_t sizes[] = {1, 1, 2, 4, 8};
  return sizes[width];
}

/* Whether all fit into int32, by their bits without the sign. */
static int fit_into_i32(const float *a, int64_t n) {
  uint32_t most = 0;
  n &= ~(int64_t)(NARROW_PIECE - 1);
  for (int64_t i = 0; i < n; i++) {
    const union {
      float value;
      uint32_t bits;
    } x = {a[i]};
    const uint32_t size = x.bits & 0x7fffffffu;
    most = size > most ? size : most;
  }
  return most < 0x4f000000u; /* 2^31 */
}

static void i32_of_floats(const float *a, uint32_t *y, int64_t n) {
  if (fit_into_i32(a, n)) {
    n &= ~(int64_t)(NARROW_PIECE - 1);
    LOOP(y[i] = (uint32_t)(int32_t)a[i])
  } else {
    for (int64_t i = 0; i < n; i++) y[i] = (uint32_t)U(of_float(a[i]));
  }
}

#define PLACE(op, width) ((int)(op)*5 + (int)(width))
/* An expression of p[i] and q[i], for all i, of one width. */
#define CASE(op, width, type, out_type, expression)    \
  case PLACE(BSM_K_NARROW_##op, BSM_K_INTS_##width): { \
    const type *p = a, *q = b;                         \
    (void)q;                                           \
    out_type *o = y;                                   \
    LOOP(o[i] = (out_type)(expression))                \
    return;                                            \
  }
/* Of all widths: as unsigned numbers, or with their signs. */
#define BITS(op, expression)                      \
  case PLACE(BSM_K_NARROW_##op, BSM_K_INTS_U8):   \
    CASE(op, I8, uint8_t, uint8_t, expression)    \
    CASE(op, I16, uint16_t, uint16_t, expression) \
    CASE(op, I32, uint32_t, uint32_t, expression)
#define NUMBERS(op, expression)                        \
  CASE(op, U8, uint8_t, uint8_t, expression)           \
  CASE(op, I8, int8_t, int8_t, expression)             \
  CASE(op, I16, int16_t, BSM_K_##op##_I16, expression) \
  CASE(op, I32, int32_t, int32_t, expression)          \
  CASE(op, I64, int64_t, int64_t, expression)
#define BSM_K_MAX_I16 int16_t
#define BSM_K_MIN_I16 int16_t
#define BSM_K_LESS_I16 uint8_t
#define TESTS(op, expression)                     \
  case PLACE(BSM_K_NARROW_##op, BSM_K_INTS_U8):   \
    CASE(op, I8, uint8_t, uint8_t, expression)    \
    CASE(op, I16, uint16_t, uint8_t, expression)  \
    CASE(op, I32, uint32_t, uint32_t, expression) \
    CASE(op, I64, uint64_t, uint64_t, expression)

/* n: a multiple of NARROW_PIECE. */
static void narrow_pieces(bsm_k_narrow_op op, bsm_k_ints_width width,
                          const uint8_t *k, const void *a, const void *b,
                          void *y, int64_t n) {
  const uint32_t bits = 8 * (uint32_t)narrow_size(width);
  const uint32_t most = width == BSM_K_INTS_U8 ? bits : bits - 1;
  if (op == BSM_K_NARROW_AND || op == BSM_K_NARROW_OR ||
      op == BSM_K_NARROW_XOR || op == BSM_K_NARROW_NOT) {
    n *= narrow_size(width);
    width = BSM_K_INTS_U8;
  } else if (op >= BSM_K_NARROW_SHIFT_LEFT ||
             (op >= BSM_K_NARROW_BOTH && op <= BSM_K_NARROW_NEITHER)) {
    width = BSM_K_INTS_U8;
  }
  n &= ~(int64_t)(NARROW_PIECE - 1);
  if (n <= 0) return; /* known to all loops */
  switch (PLACE(op, width)) {
    BITS(SUM, p[i] + q[i])
    CASE(SUM, I64, uint64_t, uint64_t, p[i] + q[i])
    BITS(SUB, p[i] - q[i])
    CASE(SUB, I64, uint64_t, uint64_t, p[i] - q[i])
    BITS(PROD, 1u * p[i] * q[i])
    CASE(PROD, I64, uint64_t, uint64_t, p[i] * q[i])
    BITS(NEG, 0u - p[i])
    NUMBERS(MAX, p[i] > q[i] ? p[i] : q[i])
    NUMBERS(MIN, p[i] < q[i] ? p[i] : q[i])
    CASE(AND, U8, uint8_t, uint8_t, p[i] & q[i])
    CASE(OR, U8, uint8_t, uint8_t, p[i] | q[i])
    CASE(XOR, U8, uint8_t, uint8_t, p[i] ^ q[i])
    CASE(NOT, U8, uint8_t, uint8_t, ~p[i])
    TESTS(EQUAL, p[i] == q[i])
    NUMBERS(LESS, p[i] < q[i])
    TESTS(TRUTH, p[i] != 0)
    /* Both are read, or compilers make no vectors of it. */
    case PLACE(BSM_K_NARROW_SELECT, BSM_K_INTS_U8):
      CASE(SELECT, I8, uint8_t, uint8_t,
           (p[i] & (0u - (k[i] != 0))) | (q[i] & ((k[i] != 0) - 1u)))
      CASE(SELECT, I16, uint16_t, uint16_t,
           (p[i] & (0u - (k[i] != 0))) | (q[i] & ((k[i] != 0) - 1u)))
      CASE(MASK, U8, uint8_t, uint8_t, 0u - (p[i] != 0))
      CASE(BOTH, U8, uint8_t, uint8_t, (p[i] != 0) & (q[i] != 0))
      CASE(EITHER, U8, uint8_t, uint8_t, (p[i] | q[i]) != 0)
      CASE(ONE, U8, uint8_t, uint8_t, (p[i] != 0) ^ (q[i] != 0))
      CASE(NEITHER, U8, uint8_t, uint8_t, p[i] == 0)
      CASE(TO_I32, U8, uint8_t, int32_t, p[i])
      CASE(TO_I32, I8, int8_t, int32_t, p[i])
      CASE(TO_I32, I16, int16_t, int32_t, p[i])
    case PLACE(BSM_K_NARROW_OF_I32, BSM_K_INTS_U8):
      CASE(OF_I32, I8, uint32_t, uint8_t, p[i])
      CASE(OF_I32, I16, uint32_t, uint16_t, p[i])
      CASE(TO_I64, U8, uint8_t, int64_t, p[i])
      CASE(TO_I64, I8, int8_t, int64_t, p[i])
      CASE(TO_I64, I16, int16_t, int64_t, p[i])
      CASE(TO_I64, I32, int32_t, int64_t, p[i])
      CASE(OF_I64, I32, uint64_t, uint32_t, p[i])
      CASE(SHIFT_LEFT, U8, uint32_t, uint32_t,
           q[i] < bits ? p[i] << (q[i] & 31) : 0u)
      CASE(SHIFT_RIGHT, U8, int32_t, int32_t,
           p[i] >> ((uint32_t)q[i] < most ? (uint32_t)q[i] : most))
      CASE(I32_TO_FLOAT, U8, int32_t, float, p[i])
    case PLACE(BSM_K_NARROW_FLOAT_TO_I32, BSM_K_INTS_U8):
      i32_of_floats(a, y, n);
      return;
      CASE(FLOAT_TO_TRUTH, U8, float, uint8_t, p[i] != 0)
      CASE(TRUTH_TO_FLOAT, U8, uint8_t, float, p[i] != 0)
    default:
      return;
  }
}

static int is_wide_test(bsm_k_narrow_op op, bsm_k_ints_width width) {
  return width >= BSM_K_INTS_I32 && op >= BSM_K_NARROW_EQUAL &&
         op <= BSM_K_NARROW_TRUTH;
}

/* Bytes of an element of the operands and of the result; 0: of the width. */
typedef struct narrow_form {
  int8_t in, out;
} narrow_form;
static const narrow_form narrow_forms[] = {
    [BSM_K_NARROW_EQUAL] = {0, 1},
    [BSM_K_NARROW_LESS] = {0, 1},
    [BSM_K_NARROW_TRUTH] = {0, 1},
    [BSM_K_NARROW_MASK] = {1, 1},
    [BSM_K_NARROW_BOTH] = {1, 1},
    [BSM_K_NARROW_EITHER] = {1, 1},
    [BSM_K_NARROW_ONE] = {1, 1},
    [BSM_K_NARROW_NEITHER] = {1, 1},
    [BSM_K_NARROW_TO_I32] = {0, 4},
    [BSM_K_NARROW_OF_I32] = {4, 0},
    [BSM_K_NARROW_TO_I64] = {0, 8},
    [BSM_K_NARROW_OF_I64] = {8, 0},
    [BSM_K_NARROW_SHIFT_LEFT] = {4, 4},
    [BSM_K_NARROW_SHIFT_RIGHT] = {4, 4},
    [BSM_K_NARROW_I32_TO_FLOAT] = {4, 4},
    [BSM_K_NARROW_FLOAT_TO_I32] = {4, 4},
    [BSM_K_NARROW_FLOAT_TO_TRUTH] = {4, 1},
    [BSM_K_NARROW_TRUTH_TO_FLOAT] = {1, 4},
    [BSM_K_NARROW_TRUTH_TO_I64] = {1, 8}};

/* Calls, where compilers would write a loop for each, or make room at once for
 * what is needed at the end alone. */
#if defined(__GNUC__)
#define NARROW_CALL __attribute__((noinline)) static void
#else
#define NARROW_CALL static void
#endif
NARROW_CALL copy_bytes(const void *from, int64_t n, int64_t size, void *to) {
  const char *p = from;
  char *q = to;
  for (int64_t i = 0; i < n * size; i++) q[i] = p[i];
}
NARROW_CALL copy_filled(const void *from, int64_t n, int64_t size, void *to) {
  char *q = to;
  for (int64_t i = 0; i < NARROW_PIECE * size; i++) q[i] = 0;
  copy_bytes(from, n, size, to);
}

/* Less than a piece. */
NARROW_CALL narrow_rest(bsm_k_narrow_op op, bsm_k_ints_width width,
                        const uint8_t *k, const void *a, const void *b, void *y,
                        int64_t n, int64_t in, int64_t out) {
  int64_t first[NARROW_PIECE], second[NARROW_PIECE], result[NARROW_PIECE];
  uint8_t chosen[NARROW_PIECE];
  copy_filled(a, n, in, first);
  copy_filled(b ? b : a, n, in, second);
  copy_filled(k ? k : a, n, 1, chosen);
  narrow_pieces(op, width, chosen, first, second, result, NARROW_PIECE);
  copy_bytes(result, n, out, y);
}

/* What has a loop of its own: as `narrow`, but for tests of int32 and int64,
 * whose results are as wide. */
static void narrow_once(bsm_k_narrow_op op, bsm_k_ints_width width,
                        const uint8_t *k, const void *a, const void *b, void *y,
                        int64_t n) {
  const int64_t rest = n & (NARROW_PIECE - 1), whole = n - rest;
  const narrow_form form = narrow_forms[op];
  const int64_t in = form.in ? form.in : narrow_size(width);
  const int64_t out =
      form.out && !is_wide_test(op, width) ? form.out : narrow_size(width);
  narrow_pieces(op, width, k, a, b, y, whole);
  if (!rest) return;
  narrow_rest(op, width, k ? k + whole : NULL, (const char *)a + whole * in,
              b ? (const char *)b + whole * in : NULL, (char *)y + whole * out,
              rest, in, out);
}

/* ---- in steps ---- */

#define NARROW_STEP 512

/* Loops whose elements differ much in size take much code: these are done in
 * two or three steps. */
static void narrow_in_steps(bsm_k_narrow_op op, bsm_k_ints_width width,
                            const uint8_t *k, const void *a, const void *b,
                            void *y, int64_t n) {
  int64_t wide[NARROW_STEP];
  int32_t half[NARROW_STEP];
  uint8_t bytes[NARROW_STEP];
  const int is_long = width == BSM_K_INTS_I64;
  switch (op) {
    case BSM_K_NARROW_SELECT:
      narrow_once(BSM_K_NARROW_MASK, BSM_K_INTS_U8, NULL, k, NULL, bytes, n);
      narrow_once(BSM_K_NARROW_TO_I32, BSM_K_INTS_I8, NULL, bytes, NULL, half,
                  n);
      if (is_long) {
        narrow_once(BSM_K_NARROW_TO_I64, BSM_K_INTS_I32, NULL, half, NULL, wide,
                    n);
      }
      narrow_once(BSM_K_NARROW_SELECT, BSM_K_INTS_U8,
                  is_long ? (const uint8_t *)wide : (const uint8_t *)half, a, b,
                  y, n * narrow_size(width));
      return;
    case BSM_K_NARROW_ABS:
      narrow_once(BSM_K_NARROW_NEG, width, NULL, a, NULL, half, n);
      narrow_once(BSM_K_NARROW_MAX, width, NULL, a, half, y, n);
      return;
    case BSM_K_NARROW_TRUTH_TO_I64:
      narrow_once(BSM_K_NARROW_TRUTH, BSM_K_INTS_U8, NULL, a, NULL, bytes, n);
      narrow_once(BSM_K_NARROW_TO_I64, BSM_K_INTS_U8, NULL, bytes, NULL, y, n);
      return;
    case BSM_K_NARROW_OF_I64:
      narrow_once(BSM_K_NARROW_OF_I64, BSM_K_INTS_I32, NULL, a, NULL, half, n);
      narrow_once(BSM_K_NARROW_OF_I32, width, NULL, half, NULL, y, n);
      return;
    default: /* a test */
      narrow_once(op, width, NULL, a, b, is_long ? (void *)wide : half, n);
      if (is_long) {
        narrow_once(BSM_K_NARROW_OF_I64, BSM_K_INTS_I32, NULL, wide, NULL, half,
                    n);
      }
      narrow_once(BSM_K_NARROW_OF_I32, BSM_K_INTS_U8, NULL, half, NULL, y, n);
  }
}

static int takes_steps(bsm_k_narrow_op op, bsm_k_ints_width width) {
  if (op == BSM_K_NARROW_OF_I64) return width != BSM_K_INTS_I32;
  return op == BSM_K_NARROW_ABS || op == BSM_K_NARROW_TRUTH_TO_I64 ||
         is_wide_test(op, width) ||
         (op == BSM_K_NARROW_SELECT && width >= BSM_K_INTS_I32);
}

static void ints_narrow(bsm_k_narrow_op op, bsm_k_ints_width width,
                        const uint8_t *k, const void *a, const void *b, void *y,
                        int64_t n) {
  if (!takes_steps(op, width)) {
    narrow_once(op, width, k, a, b, y, n);
    return;
  }
  const narrow_form form = narrow_forms[op];
  const int64_t in = form.in ? form.in : narrow_size(width);
  const int64_t out = form.out ? form.out : narrow_size(width);
  for (int64_t at = 0; at < n; at += NARROW_STEP) {
    narrow_in_steps(op, width, k ? k + at : NULL, (const char *)a + at * in,
                    b ? (const char *)b + at * in : NULL, (char *)y + at * out,
                    n - at < NARROW_STEP ? n - at : NARROW_STEP);
  }
}

/* ---- int64 and truth values ---- */

static void ints_binary(bsm_k_ints_op op, const int64_t *a, const int64_t *b,
                        int64_t *y, int64_t n) {
  ints_narrow((bsm_k_narrow_op)op, BSM_K_INTS_I64, NULL, a, b, y, n);
}

static void ints_truth(bsm_k_truth_op op, const uint8_t *a, const uint8_t *b,
                       uint8_t *y, int64_t n) {
  ints_narrow((bsm_k_narrow_op)((int)op + BSM_K_NARROW_BOTH), BSM_K_INTS_U8,
              NULL, a, b, y, n);
}

static void ints_test(bsm_k_ints_test test, uint8_t otherwise, const int64_t *a,
                      const int64_t *b, uint8_t *y, int64_t n) {
  ints_narrow((bsm_k_narrow_op)((int)test + BSM_K_NARROW_EQUAL), BSM_K_INTS_I64,
              NULL, a, b, y, n);
  if (otherwise) ints_truth(BSM_K_TRUTH_NOT, y, y, y, n);
}

static void ints_select(const uint8_t *k, const int64_t *a, const int64_t *b,
                        int64_t *y, int64_t n) {
  ints_narrow(BSM_K_NARROW_SELECT, BSM_K_INTS_I64, k, a, b, y, n);
}

static void ints_load(bsm_k_ints_width width, const void *from, int64_t *y,
                      int64_t n) {
  ints_narrow(BSM_K_NARROW_TO_I64, width, NULL, from, NULL, y, n);
}
static void ints_store(bsm_k_ints_width width, const int64_t *a, void *to,
                       int64_t n) {
  ints_narrow(BSM_K_NARROW_OF_I64, width, NULL, a, NULL, to, n);
}

#define CONVERSION(name, in_type, out_type, op)                          \
  static void name(const in_type *a, out_type *y, int64_t n) {           \
    ints_narrow(BSM_K_NARROW_##op, BSM_K_INTS_I64, NULL, a, NULL, y, n); \
  }
CONVERSION(ints_to_truth, int64_t, uint8_t, TRUTH)
CONVERSION(ints_of_truth, uint8_t, int64_t, TRUTH_TO_I64)
CONVERSION(floats_of_truth, uint8_t, float, TRUTH_TO_FLOAT)
CONVERSION(truth_of_floats, float, uint8_t, FLOAT_TO_TRUTH)
