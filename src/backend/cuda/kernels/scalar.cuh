// SPDX-License-Identifier: Apache-2.0
// Element-wise operations on one value, with PyTorch's semantics. Codes are the
// numbers of bessemer/network.h: they are constants where these functions are
// called, so that one case of each switch is left.
//
// Values are held in four classes: float (of float, f16, bf16), double, i64 (of
// all integers) and bool.
//
// Where codes are parameters, a kernel defines CODES_VARY: all cases are there
// then, once.
#pragma once

#ifdef CODES_VARY
#define BY_CODE __device__ __noinline__
#else
#define BY_CODE DEVICE
#endif

// ---- conversions between classes ----

DEVICE i64 saturate_i64(double v) {
  return v >= -9223372036854775808.0 && v < 9223372036854775808.0
             ? (i64)v
             : (i64)0x8000000000000000ull;
}
template <class T>
struct convert;
template <>
struct convert<float> {
  static DEVICE float from(float x) { return x; }
  static DEVICE float from(double x) { return (float)x; }
  static DEVICE float from(i64 x) { return (float)x; }
  static DEVICE float from(bool x) { return x ? 1.0f : 0.0f; }
};
template <>
struct convert<double> {
  static DEVICE double from(float x) { return (double)x; }
  static DEVICE double from(double x) { return x; }
  static DEVICE double from(i64 x) { return (double)x; }
  static DEVICE double from(bool x) { return x ? 1.0 : 0.0; }
};
template <>
struct convert<i64> {
  static DEVICE i64 from(float x) { return saturate_i64((double)x); }
  static DEVICE i64 from(double x) { return saturate_i64(x); }
  static DEVICE i64 from(i64 x) { return x; }
  static DEVICE i64 from(bool x) { return x ? 1 : 0; }
};
template <>
struct convert<bool> {
  static DEVICE bool from(float x) { return x != 0; }
  static DEVICE bool from(double x) { return x != 0; }
  static DEVICE bool from(i64 x) { return x != 0; }
  static DEVICE bool from(bool x) { return x; }
};

// ---- sums and products, which wrap in integers ----

DEVICE float add(float a, float b) { return a + b; }
DEVICE double add(double a, double b) { return a + b; }
DEVICE i64 add(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
DEVICE float multiply(float a, float b) { return a * b; }
DEVICE double multiply(double a, double b) { return a * b; }
DEVICE i64 multiply(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }

// sum + a b, rounded once where the GPU can: kernels are compiled without any
// other fusion of products and sums, so that the same step has the same bits in
// whatever kernel.
#ifdef BSM_EMULATED
DEVICE float add_product(float sum, float a, float b) { return sum + a * b; }
DEVICE double add_product(double sum, double a, double b) { return sum + a * b; }
#else
DEVICE float add_product(float sum, float a, float b) {
  return __fmaf_rn(a, b, sum);
}
DEVICE double add_product(double sum, double a, double b) {
  return __fma_rn(a, b, sum);
}
#endif
DEVICE i64 add_product(i64 sum, i64 a, i64 b) { return add(sum, multiply(a, b)); }

// What a sum of many is held in: float in double, so that its length does not
// matter.
template <class V>
struct sum_of {
  typedef double type;
};
template <>
struct sum_of<i64> {
  typedef i64 type;
};
template <>
struct sum_of<bool> {  // truth values are counted
  typedef i64 type;
};

// ---- elements: from memory to their class and back ----

template <class T>
struct element;
#define ELEMENT(stored, held, load_expression, store_expression) \
  template <>                                                    \
  struct element<stored> {                                       \
    typedef held value;                                          \
    static DEVICE held load(stored x) { return load_expression; } \
    static DEVICE stored store(held x) { return store_expression; } \
    /* What storing and loading makes of a value. */             \
    static DEVICE held round(held x) { return load(store(x)); }  \
  };
ELEMENT(float, float, x, x)
ELEMENT(double, double, x, x)
ELEMENT(f16, float, to_float(x), from_float<f16>(x))
ELEMENT(bf16, float, to_float(x), from_float<bf16>(x))
ELEMENT(e4m3, float, to_float(x), from_float<e4m3>(x))
ELEMENT(u8, i64, (i64)x, (u8)x)
ELEMENT(i8, i64, (i64)x, (i8)x)
ELEMENT(i16, i64, (i64)x, (i16)x)
ELEMENT(i32, i64, (i64)x, (i32)x)
ELEMENT(i64, i64, x, x)
ELEMENT(bool, bool, x, x)
#undef ELEMENT

// ---- elements in memory ----

// Truth values in memory are bytes, of which any but 0 is true.
template <class T>
struct memory {
  typedef typename element<T>::value value;
  static DEVICE value load(u64 base, i64 at) {
    return element<T>::load(((const T *)base)[at]);
  }
  template <class V>
  static DEVICE void store(u64 base, i64 at, V x) {
    ((T *)base)[at] = element<T>::store(convert<value>::from(x));
  }
};
template <>
struct memory<bool> {
  static DEVICE bool load(u64 base, i64 at) {
    return ((const u8 *)base)[at] != 0;
  }
  template <class V>
  static DEVICE void store(u64 base, i64 at, V x) {
    ((u8 *)base)[at] = convert<bool>::from(x) ? 1 : 0;
  }
};

// Elements of a type that only the launch knows, held as V: addresses of theirs
// have the dtype in bits that no address uses (params.h). What is stored may be
// of any type, what is loaded is of those that V holds.
template <class V>
struct some {};
typedef some<float> any_f32;
typedef some<double> any_f64;
typedef some<i64> any_i64;
typedef some<bool> any_bool;
template <class V>
struct element<some<V>> {
  typedef V value;
};

// Of elements (bsm_cuda_element).
enum {
  DTYPE_U8,
  DTYPE_I8,
  DTYPE_I16,
  DTYPE_I32,
  DTYPE_I64,
  DTYPE_F16,
  DTYPE_F32,
  DTYPE_F64,
  DTYPE_BOOL = 11,
  DTYPE_E4M3 = BSM_CUDA_E4M3,
  DTYPE_BF16 = 15
};

DEVICE int dtype_of(u64 base) { return (int)(base >> BSM_CUDA_DTYPE_SHIFT); }
DEVICE u64 untyped(u64 base) {
  return base & ((1ull << BSM_CUDA_DTYPE_SHIFT) - 1);
}

template <class V>
DEVICE V load_real(u64 base, i64 at) {
  const u64 from = untyped(base);
  switch (dtype_of(base)) {
    case DTYPE_F16: return convert<V>::from(memory<f16>::load(from, at));
    case DTYPE_BF16: return convert<V>::from(memory<bf16>::load(from, at));
    case DTYPE_E4M3: return convert<V>::from(memory<e4m3>::load(from, at));
    case DTYPE_F64: return convert<V>::from(memory<double>::load(from, at));
    default: return convert<V>::from(memory<float>::load(from, at));
  }
}
DEVICE float load_any(u64 base, i64 at, float) {
  return load_real<float>(base, at);
}
DEVICE double load_any(u64 base, i64 at, double) {
  return load_real<double>(base, at);
}
DEVICE bool load_any(u64 base, i64 at, bool) {
  return memory<bool>::load(untyped(base), at);
}
DEVICE i64 load_any(u64 base, i64 at, i64) {
  const u64 from = untyped(base);
  switch (dtype_of(base)) {
    case DTYPE_U8: return memory<u8>::load(from, at);
    case DTYPE_I8: return memory<i8>::load(from, at);
    case DTYPE_I16: return memory<i16>::load(from, at);
    case DTYPE_I32: return memory<i32>::load(from, at);
    default: return memory<i64>::load(from, at);
  }
}

template <class V>
struct memory<some<V>> {
  static DEVICE V load(u64 base, i64 at) { return load_any(base, at, V()); }
  template <class X>
  static __device__ __noinline__ void store(u64 base, i64 at, X x) {
    const u64 to = untyped(base);
    switch (dtype_of(base)) {
      case DTYPE_U8: return memory<u8>::store(to, at, x);
      case DTYPE_I8: return memory<i8>::store(to, at, x);
      case DTYPE_I16: return memory<i16>::store(to, at, x);
      case DTYPE_I32: return memory<i32>::store(to, at, x);
      case DTYPE_I64: return memory<i64>::store(to, at, x);
      case DTYPE_F16: return memory<f16>::store(to, at, x);
      case DTYPE_BF16: return memory<bf16>::store(to, at, x);
      case DTYPE_E4M3: return memory<e4m3>::store(to, at, x);
      case DTYPE_F64: return memory<double>::store(to, at, x);
      case DTYPE_BOOL: return memory<bool>::store(to, at, x);
      default: return memory<float>::store(to, at, x);
    }
  }
};

// Copies an element as it is: what is loaded and stored again is another NaN.
template <class T>
struct copy_of {
  static DEVICE void element(u64 to, i64 at, u64 from, i64 from_at) {
    ((T *)to)[at] = ((const T *)from)[from_at];
  }
};
template <>
struct copy_of<bool> : copy_of<u8> {};
template <class V>
struct copy_of<some<V>> {
  static DEVICE void element(u64 to, i64 at, u64 from, i64 from_at) {
    const int dtype = dtype_of(from);
    to = untyped(to);
    from = untyped(from);
    switch (dtype) {
      case DTYPE_I16:
      case DTYPE_F16:
      case DTYPE_BF16: return copy_of<i16>::element(to, at, from, from_at);
      case DTYPE_I32:
      case DTYPE_F32: return copy_of<i32>::element(to, at, from, from_at);
      case DTYPE_I64:
      case DTYPE_F64: return copy_of<i64>::element(to, at, from, from_at);
      default: return copy_of<u8>::element(to, at, from, from_at);
    }
  }
};

template <class T>
DEVICE typename element<T>::value load(u64 base, i64 at) {
  return memory<T>::load(base, at);
}
// x is converted to what the elements are held in.
template <class T, class V>
DEVICE void store(u64 base, i64 at, V x) {
  memory<T>::store(base, at, x);
}

// ---- unary ----

enum { UNARY_NOT = 20, UNARY_ISINF = 23, UNARY_ISNAN = 24 };

#define UNARY(type, s)                                          \
  BY_CODE type unary(int code, type x) {                        \
    switch (code) {                                             \
      case 0: return exp##s(x);                                 \
      case 1: return log##s(x);                                 \
      case 2: return sqrt##s(x);                                \
      case 3: return (type)1 / x;                               \
      case 4: return fabs##s(x);                                \
      case 5: return -x;                                        \
      case 6: return sin##s(x);                                 \
      case 7: return cos##s(x);                                 \
      case 8: return tan##s(x);                                 \
      case 9: return sinh##s(x);                                \
      case 10: return cosh##s(x);                               \
      case 11: return asin##s(x);                               \
      case 12: return acos##s(x);                               \
      case 13: return atan##s(x);                               \
      case 14: return asinh##s(x);                              \
      case 15: return acosh##s(x);                              \
      case 16: return atanh##s(x);                              \
      case 17: return ceil##s(x);                               \
      case 18: return floor##s(x);                              \
      case 19: return erf##s(x);                                \
      case 21: return x > 0 ? (type)1 : x < 0 ? (type)-1 : 0;   \
      case 22: return rint##s(x);                               \
      case 25: return trunc##s(x);                              \
      case 26: return (type)1 / sqrt##s(x);                     \
      case 27: return log2##s(x);                               \
      case 28: return log10##s(x);                              \
      case 29: return log1p##s(x);                              \
      case 30: return expm1##s(x);                              \
      case 31: return erfc##s(x);                               \
      case 33: return x * x;                                    \
      case 34: return x - trunc##s(x);                          \
      case 35: return exp2##s(x);                               \
      default: return x;                                        \
    }                                                           \
  }
UNARY(float, f)
UNARY(double, )
#undef UNARY

DEVICE i64 negate(i64 x) { return (i64)(0ull - (u64)x); }

BY_CODE i64 unary_integer(bool truth, int code, i64 x) {
  switch (code) {
    case 4: return x < 0 ? negate(x) : x;
    case 5: return negate(x);
    case 17: case 18: case 22: case 25: return x;
    case 21: return (x > 0) - (x < 0);
    case 32: return truth ? x == 0 : ~x;
    case 33: return (i64)((u64)x * (u64)x);
    case 34: return 0;
    default: return saturate_i64(unary(code, (double)x));
  }
}

DEVICE bool unary_test(int code, float x) {
  return code == UNARY_ISINF ? isinf(x) : code == UNARY_ISNAN ? x != x : x == 0;
}
DEVICE bool unary_test(int code, double x) {
  return code == UNARY_ISINF ? isinf(x) : code == UNARY_ISNAN ? x != x : x == 0;
}
DEVICE bool unary_test(int code, i64 x) { return code == UNARY_NOT && x == 0; }
DEVICE bool unary_test(int code, bool x) { return code == UNARY_NOT && !x; }

// ---- binary ----

#define BINARY(type, s)                                              \
  DEVICE type floor_divide(type a, type b) {                         \
    if (b == 0) return a / b;                                        \
    const type mod = fmod##s(a, b);                                  \
    type div = (a - mod) / b;                                        \
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;                  \
    if (div == 0) return copysign##s((type)0, a / b);                \
    type whole = floor##s(div);                                      \
    if (div - whole > (type)0.5) whole += 1;                         \
    return whole;                                                    \
  }                                                                  \
  DEVICE type remainder_of(type a, type b) {                         \
    const type mod = fmod##s(a, b);                                  \
    return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;         \
  }                                                                  \
  /* The exponents that PyTorch has a case for. */                   \
  DEVICE type power(type a, type b) {                                \
    if (b == (type)2) return a * a;                                  \
    if (b == (type)0.5) return sqrt##s(a);                           \
    if (b == (type)-0.5) return (type)1 / sqrt##s(a);                \
    if (b == (type)-1) return (type)1 / a;                           \
    if (b == (type)3) return a * a * a;                              \
    return pow##s(a, b);                                             \
  }                                                                  \
  BY_CODE type binary(int code, type a, type b) {                    \
    switch (code) {                                                  \
      case 0: return a + b;                                          \
      case 1: return a * b;                                          \
      case 2: return a != a || a > b ? a : b;                        \
      case 3: return a != a || a < b ? a : b;                        \
      case 4: return a - b;                                          \
      case 5: return a / b;                                          \
      case 6: return pow##s(a, b);                                   \
      case 7: return floor_divide(a, b);                             \
      case 17: return trunc##s(a / b);                               \
      case 18: return remainder_of(a, b);                            \
      case 19: return fmod##s(a, b);                                 \
      case 20: return atan2##s(a, b);                                \
      case 24: return a * exp2##s(b);                                \
      case 25: return a / exp2##s(b);                                \
      default: return a;                                             \
    }                                                                \
  }
BINARY(float, f)
BINARY(double, )
#undef BINARY

// Division by zero has no result in integers: 0. By -1 it is negation, which
// also covers the smallest integer.
DEVICE i64 divide(i64 a, i64 b) {
  return b == 0 ? 0 : b == -1 ? negate(a) : a / b;
}
DEVICE i64 modulo(i64 a, i64 b) { return b == 0 || b == -1 ? 0 : a % b; }
DEVICE i64 power(i64 a, i64 b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  u64 result = 1, base = (u64)a;
  for (; b > 0; b >>= 1) {
    if (b & 1) result *= base;
    base *= base;
  }
  return (i64)result;
}
// Of integers of so many bits, the sign among them unless they have none.
DEVICE i64 shift(int bits, bool is_unsigned, bool left, i64 a, i64 b) {
  if (left) return b < 0 || b >= bits ? 0 : (i64)((u64)a << b);
  const i64 most = is_unsigned ? bits : bits - 1;
  return a >> (b < 0 || b >= most ? most : b);
}
BY_CODE i64 binary_integer(int bits, bool is_unsigned, int code, i64 a,
                           i64 b) {
  const i64 m = code == 7 || code == 18 ? modulo(a, b) : 0;
  switch (code) {
    case 0: return (i64)((u64)a + (u64)b);
    case 1: return (i64)((u64)a * (u64)b);
    case 2: return a > b ? a : b;
    case 3: return a < b ? a : b;
    case 4: return (i64)((u64)a - (u64)b);
    case 5: case 17: return divide(a, b);
    case 6: return power(a, b);
    case 7: return divide(a, b) - (m != 0 && (m < 0) != (b < 0));
    case 18: return m != 0 && (m < 0) != (b < 0) ? m + b : m;
    case 19: return modulo(a, b);
    case 21: return a & b;
    case 22: return a | b;
    case 23: return a ^ b;
    case 24: return shift(bits, is_unsigned, true, a, b);
    case 25: return shift(bits, is_unsigned, false, a, b);
    default: return saturate_i64(binary(code, (double)a, (double)b));
  }
}

template <class T>
DEVICE bool binary_test(int code, T a, T b) {
  switch (code) {
    case 8: return a != 0 && b != 0;
    case 9: return a != 0 || b != 0;
    case 10: return (a != 0) != (b != 0);
    case 11: return a == b;
    case 12: return a > b;
    case 13: return a < b;
    case 14: return a != b;
    case 15: return a >= b;
    default: return a <= b;
  }
}

// ---- activations ----

#define ACTIVATE(type, s)                                                     \
  DEVICE type softplus(type x) {                                              \
    return (x > 0 ? x : 0) + log1p##s(exp##s(-fabs##s(x)));                   \
  }                                                                           \
  DEVICE type clamp(type x, type lo, type hi) {                               \
    x = x < lo ? lo : x;                                                      \
    return x > hi ? hi : x;                                                   \
  }                                                                           \
  BY_CODE type activate(int code, type x, type alpha, type beta) {            \
    switch (code) {                                                           \
      case 1: return x < 0 ? 0 : x;                                           \
      case 2: return 1 / (1 + exp##s(-x));                                    \
      case 3: return tanh##s(x);                                              \
      case 4: return x > 0 ? x : alpha * x;                                   \
      case 5: return x > 0 ? x : alpha * expm1##s(x);                         \
      case 6: return beta * (x > 0 ? x : alpha * expm1##s(x));                \
      case 7: return x / (1 + fabs##s(x));                                    \
      case 8: return x * beta > alpha ? x : softplus(x * beta) / beta;        \
      case 9: return clamp(x, alpha, beta);                                   \
      case 10: return clamp(alpha * x + beta, 0, 1);                          \
      case 11: return x <= alpha ? 0 : x;                                     \
      case 12:                                                                \
        return (type)0.5 * x *                                                \
               (1 + erf##s(x * (type)0.70710678118654752440));                \
      case 13:                                                                \
        return (type)0.5 * x *                                                \
               (1 + tanh##s((type)0.79788456080286535588 *                    \
                            (x + (type)0.044715 * x * x * x)));               \
      case 14: return x / (1 + exp##s(-x));                                   \
      case 15: return x * clamp(x + 3, 0, 6) / 6;                             \
      case 16: return x * tanh##s(softplus(x));                               \
      case 17: return -softplus(-x);                                          \
      case 18: return x <= alpha ? beta : x;                                  \
      default: return x;                                                      \
    }                                                                         \
  }
ACTIVATE(float, f)
ACTIVATE(double, )
#undef ACTIVATE

BY_CODE i64 activate(int code, i64 x, double alpha, double beta) {
  if (code == 1) return x < 0 ? 0 : x;
  if (code == 9) {
    const i64 lo = saturate_i64(alpha);
    const i64 hi = beta >= 9223372036854775808.0 ? 0x7fffffffffffffffll
                                                 : saturate_i64(beta);
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
  }
  return code == 0 ? x : saturate_i64(activate(code, (double)x, alpha, beta));
}

DEVICE i64 activate(int code, i64 x, i64 alpha, i64 beta) {
  return activate(code, x, (double)alpha, (double)beta);
}

// ---- limits ----

// What any maximum begins with.
DEVICE float lowest(float) { return __uint_as_float(0xff800000u); }
DEVICE double lowest(double) { return __longlong_as_double(0xfff0000000000000ll); }
DEVICE i64 lowest(i64) { return (i64)0x8000000000000000ull; }
DEVICE bool lowest(bool) { return false; }
