/* SPDX-License-Identifier: Apache-2.0 */
/* The array functions of ints.h: plain loops that compilers make vectors of,
 * with the flags of the instruction set. What these lack, divisions and
 * conversions of 64 bits, is done in doubles, of which BSM_K_SUFFIX may have
 * vectors, while numbers are small enough to be exact; others one by one. */
#define U(x) ((uint64_t)(x))
/* An output is an input or does not overlap it: what GCC is told before a loop,
 * others look at addresses. */
#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif
#define LOOP(statement) INDEPENDENT for (int64_t i = 0; i < n; i++) statement;
/* An expression of p[i] and q[i], for all i. */
#define EACH(type, in_type, expression) \
  {                                     \
    const in_type *p = a, *q = b;       \
    LOOP(y[i] = (type)(expression))     \
    return;                             \
  }

static void ints_shift_left(const int64_t *a, const int64_t *b, int64_t *y,
                            int64_t n, int64_t bits) {
  EACH(int64_t, int64_t, U(q[i]) < U(bits) ? U(p[i]) << (q[i] & 63) : 0u)
}

/* There may be no vectors of signed shifts: what is negative is inverted. */
static void ints_shift_right(const int64_t *a, const int64_t *b, int64_t *y,
                             int64_t n, int64_t most) {
  LOOP({
    const uint64_t by = U(b[i]) < U(most) ? U(b[i]) : U(most);
    const uint64_t sign = a[i] < 0 ? ~U(0) : 0u;
    y[i] = (int64_t)(((U(a[i]) ^ sign) >> (by & 63)) ^ sign);
  })
}

static void ints_fill(int64_t value, int64_t *y, int64_t n) {
  LOOP(y[i] = value)
}

/* The lower bits with the sign that they say, if they have one. */
static void ints_wrap(bsm_k_ints_width width, const int64_t *a, int64_t *y,
                      int64_t n) {
  static const uint64_t ends[] = {U(1) << 8, U(1) << 8, U(1) << 16, U(1) << 32};
  const uint64_t mask = ends[width] - 1;
  const uint64_t sign = width == BSM_K_INTS_U8 ? 0u : ends[width] / 2;
  LOOP(y[i] = (int64_t)(((U(a[i]) & mask) ^ sign) - sign))
}

/* ---- one by one ---- */

static int64_t divided(bsm_k_ints_division division, int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = b == -1 ? (int64_t)(0u - U(a)) : a / b;
  const int64_t m = b == -1 ? 0 : a % b;
  const int64_t below = m != 0 && (m < 0) != (b < 0);
  switch (division) {
    case BSM_K_INTS_TRUNC_DIV:
      return q;
    case BSM_K_INTS_FLOOR_DIV:
      return q - below;
    case BSM_K_INTS_FMOD:
      return m;
    default:
      return below ? m + b : m;
  }
}

static int64_t of_float(float a) {
  return a >= -0x1p63f && a < 0x1p63f ? (int64_t)a : INT64_MIN;
}

static void divide_slowly(bsm_k_ints_division division, const int64_t *a,
                          const int64_t *b, int64_t *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = divided(division, a[i], b[i]);
}

#define CONVERT(type, expression)   \
  {                                 \
    LOOP(y[i] = (type)(expression)) \
    return;                         \
  }

#ifndef VD_W
#define ints_divide divide_slowly
static void ints_to_floats(const int64_t *a, float *y, int64_t n)
    CONVERT(float, a[i]) static void ints_of_floats(const float *a, int64_t *y,
                                                    int64_t n)
        CONVERT(int64_t, of_float(a[i]))
#else

/* ---- in doubles ---- */

/* Numbers that are looked at before it is decided how they are treated. */
#define PIECE 128
/* Of less than that, quotients and products are exact in doubles, and adding
 * MAGIC has the integer in the last bits. A quotient that is no integer is at
 * least 1 / b from one, and rounded by less than 1 / (8 b). */
#define SMALL (INT64_C(1) << 50)
#define MAGIC 0x1.8p52

static int64_t piece_of(int64_t left) {
  return left < PIECE ? left : PIECE;
}

static int are_small(const int64_t *a, int64_t n) {
  uint64_t all = 0;
  for (int64_t i = 0; i < n; i++) all |= U(a[i]) + U(SMALL);
  return all < U(2 * SMALL);
}

VF_INLINE vd double_of(vd bits) {
  const vd magic = vd_set(MAGIC);
  return vd_sub(vd_add_bits(bits, magic), magic);
}
VF_INLINE vd bits_of(vd a) {
  const union {
    uint64_t bits;
    double value;
  } minus_magic = {U(0) - UINT64_C(0x4338000000000000)};
  return vd_add_bits(vd_add(a, vd_set(MAGIC)), vd_set(minus_magic.value));
}

VF_INLINE vd divided_doubles(bsm_k_ints_division division, vd a, vd b) {
  const vd q = vd_div(a, b);
  const vd whole =
      division == BSM_K_INTS_FLOOR_DIV || division == BSM_K_INTS_REMAINDER
          ? vd_floor(q)
          : vd_trunc(q);
  const vd y = division == BSM_K_INTS_FMOD || division == BSM_K_INTS_REMAINDER
                   ? vd_fnma(whole, b, a)
                   : whole;
  return vd_select(vd_eq(b, vd_set(0)), vd_set(0), y);
}

#define DIVIDE(division)                                               \
  for (; i + VD_W <= n; i += VD_W) {                                   \
    vd_store_bits(y + i, bits_of(divided_doubles(                      \
                             division, double_of(vd_load_bits(a + i)), \
                             double_of(vd_load_bits(b + i)))));        \
  }                                                                    \
  break;

static void divide_small(bsm_k_ints_division division, const int64_t *a,
                         const int64_t *b, int64_t *y, int64_t n) {
  int64_t i = 0;
  switch (division) {
    case BSM_K_INTS_TRUNC_DIV:
      DIVIDE(BSM_K_INTS_TRUNC_DIV)
    case BSM_K_INTS_FLOOR_DIV:
      DIVIDE(BSM_K_INTS_FLOOR_DIV)
    case BSM_K_INTS_FMOD:
      DIVIDE(BSM_K_INTS_FMOD)
    case BSM_K_INTS_REMAINDER:
      DIVIDE(BSM_K_INTS_REMAINDER)
  }
  divide_slowly(division, a + i, b + i, y + i, n - i);
}

static void ints_divide(bsm_k_ints_division division, const int64_t *a,
                        const int64_t *b, int64_t *y, int64_t n) {
  for (int64_t at = 0; at < n; at += PIECE) {
    const int64_t m = piece_of(n - at);
    const int small = are_small(a + at, m) && are_small(b + at, m);
    (small ? divide_small : divide_slowly)(division, a + at, b + at, y + at, m);
  }
}

static void ints_to_floats(const int64_t *a, float *y, int64_t n) {
  for (int64_t at = 0; at < n; at += PIECE) {
    const int64_t end = at + piece_of(n - at);
    int64_t i = at;
    if (are_small(a + at, end - at)) {
      for (; i + VD_W <= end; i += VD_W) {
        vd_store_floats(y + i, double_of(vd_load_bits(a + i)), VD_W);
      }
    }
    for (; i < end; i++) y[i] = (float)a[i];
  }
}

/* Whether all are less than SMALL, by their bits without the sign. */
static int are_small_floats(const float *a, int64_t n) {
  uint32_t most = 0;
  for (int64_t i = 0; i < n; i++) {
    const union {
      float value;
      uint32_t bits;
    } x = {a[i]};
    const uint32_t size = x.bits & 0x7fffffffu;
    most = size > most ? size : most;
  }
  return most < 0x58800000u; /* 2^50 */
}

static void ints_of_floats(const float *a, int64_t *y, int64_t n) {
  for (int64_t at = 0; at < n; at += PIECE) {
    const int64_t end = at + piece_of(n - at);
    int64_t i = at;
    if (are_small_floats(a + at, end - at)) {
      for (; i + VD_W <= end; i += VD_W) {
        vd_store_bits(y + i, bits_of(vd_trunc(vd_load_floats(a + i, VD_W))));
      }
    }
    for (; i < end; i++) y[i] = of_float(a[i]);
  }
}
#endif

#include "backend/cpu/kernels/ints/ints_narrow.inl"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
            const bsm_k_ints
    JOIN(bsm_k_ints_, BSM_K_SUFFIX) = {.name = TEXT(BSM_K_SUFFIX),
                                       .binary = ints_binary,
                                       .test = ints_test,
                                       .divide = ints_divide,
                                       .shift_left = ints_shift_left,
                                       .shift_right = ints_shift_right,
                                       .select = ints_select,
                                       .truth = ints_truth,
                                       .wrap = ints_wrap,
                                       .to_floats = ints_to_floats,
                                       .of_floats = ints_of_floats,
                                       .to_truth = ints_to_truth,
                                       .of_truth = ints_of_truth,
                                       .floats_of_truth = floats_of_truth,
                                       .truth_of_floats = truth_of_floats,
                                       .fill = ints_fill,
                                       .load = ints_load,
                                       .store = ints_store,
                                       .narrow = ints_narrow};
