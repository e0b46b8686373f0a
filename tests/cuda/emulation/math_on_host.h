/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's arithmetic functions that C++ lacks. The fast ones of the device
 * (__expf and such) are precise here. */
#ifndef TESTS_CUDA_EMULATION_MATH_ON_HOST_H_
#define TESTS_CUDA_EMULATION_MATH_ON_HOST_H_

/* ---- the less and the greater: of a NaN and a number, the number ---- */

template <class A, class B>
inline std::common_type_t<A, B> min(A a_, B b_) {
  typedef std::common_type_t<A, B> T;
  const T a = (T)a_, b = (T)b_;
  return a != a ? b : b != b ? a : b < a ? b : a;
}
template <class A, class B>
inline std::common_type_t<A, B> max(A a_, B b_) {
  typedef std::common_type_t<A, B> T;
  const T a = (T)a_, b = (T)b_;
  return a != a ? b : b != b ? a : a < b ? b : a;
}

/* ---- integers ---- */

inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __clz(int x) {
  return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x) {
  return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; i++) y |= (x >> i & 1u) << (31 - i);
  return y;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 |
         __brev((unsigned)(x >> 32));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
inline int __mulhi(int a, int b) {
  return (int)((long long)a * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a,
                                     unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return (long long)((__int128)a * b >> 64);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned y = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned which = s >> (4 * i) & 15u;
    unsigned byte = (unsigned)(both >> (8 * (which & 7u))) & 255u;
    if (which & 8u) byte = byte & 128u ? 255u : 0u;
    y |= byte << (8 * i);
  }
  return y;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  n &= 31u;
  return n ? high << n | low >> (32 - n) : high;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  n &= 31u;
  return n ? low >> n | high << (32 - n) : low;
}
inline int __dp4a(int a, int b, int c) {
  unsigned sum = (unsigned)c;
  for (int i = 0; i < 4; i++) {
    sum +=
        (unsigned)((signed char)(a >> (8 * i)) * (signed char)(b >> (8 * i)));
  }
  return (int)sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) {
    c += (a >> (8 * i) & 255u) * (b >> (8 * i) & 255u);
  }
  return c;
}

/* ---- floats ---- */

inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline float rsqrt(float x) {
  return rsqrtf(x);
}
inline float rcbrtf(float x) {
  return 1.0f / cbrtf(x);
}
inline float __expf(float x) {
  return expf(x);
}
inline float __exp10f(float x) {
  return powf(10.0f, x);
}
inline float __logf(float x) {
  return logf(x);
}
inline float __log2f(float x) {
  return log2f(x);
}
inline float __log10f(float x) {
  return log10f(x);
}
inline float __powf(float x, float y) {
  return powf(x, y);
}
inline float __sinf(float x) {
  return sinf(x);
}
inline float __cosf(float x) {
  return cosf(x);
}
inline float __tanf(float x) {
  return tanf(x);
}
inline void __sincosf(float x, float *s, float *c) {
  *s = sinf(x), *c = cosf(x);
}
/* Newer C libraries have these two. */
#define sinpif emulated_sinpif
#define cospif emulated_cospif
inline float sinpif(float x) {
  return (float)sin(3.14159265358979323846 * x);
}
inline float cospif(float x) {
  return (float)cos(3.14159265358979323846 * x);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float __saturatef(float x) {
  return x > 0 ? x < 1 ? x : 1.0f : 0.0f;
}
inline float normcdff(float x) {
  return 0.5f * erfcf(-x * 0.70710678118654752440f);
}
inline float __frsqrt_rn(float x) {
  return (float)(1.0 / sqrt((double)x));
}

#define EMULATED_ROUNDED(prefix, type, root)   \
  inline type prefix##add_rn(type a, type b) { \
    return a + b;                              \
  }                                            \
  inline type prefix##sub_rn(type a, type b) { \
    return a - b;                              \
  }                                            \
  inline type prefix##mul_rn(type a, type b) { \
    return a * b;                              \
  }                                            \
  inline type prefix##div_rn(type a, type b) { \
    return a / b;                              \
  }                                            \
  inline type prefix##rcp_rn(type a) {         \
    return 1 / a;                              \
  }                                            \
  inline type prefix##sqrt_rn(type a) {        \
    return root(a);                            \
  }
EMULATED_ROUNDED(__f, float, sqrtf)
EMULATED_ROUNDED(__d, double, sqrt)
#undef EMULATED_ROUNDED
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}

/* ---- floats to integers: out of range is the nearest, NaN is 0 ---- */

template <class To, class From>
inline To emulated_saturate(From x) {
  typedef std::make_unsigned_t<To> U;
  const To most = std::is_signed_v<To> ? (To)((U)-1 >> 1) : (To)-1;
  const To least = std::is_signed_v<To> ? (To)(-most - 1) : (To)0;
  if (x != x) return 0;
  if (x >= (From)most) return most;
  if (x <= (From)least) return least;
  return (To)x;
}
#define EMULATED_TO_INTEGER(name, from, to) \
  inline to name##_rz(from x) {             \
    return emulated_saturate<to>(trunc(x)); \
  }                                         \
  inline to name##_rn(from x) {             \
    return emulated_saturate<to>(rint(x));  \
  }                                         \
  inline to name##_rd(from x) {             \
    return emulated_saturate<to>(floor(x)); \
  }                                         \
  inline to name##_ru(from x) {             \
    return emulated_saturate<to>(ceil(x));  \
  }
EMULATED_TO_INTEGER(__float2int, float, int)
EMULATED_TO_INTEGER(__float2uint, float, unsigned)
EMULATED_TO_INTEGER(__float2ll, float, long long)
EMULATED_TO_INTEGER(__float2ull, float, unsigned long long)
EMULATED_TO_INTEGER(__double2int, double, int)
EMULATED_TO_INTEGER(__double2uint, double, unsigned)
EMULATED_TO_INTEGER(__double2ll, double, long long)
EMULATED_TO_INTEGER(__double2ull, double, unsigned long long)
#undef EMULATED_TO_INTEGER
inline float __int2float_rn(int x) {
  return (float)x;
}
inline float __uint2float_rn(unsigned x) {
  return (float)x;
}
inline float __ll2float_rn(long long x) {
  return (float)x;
}
inline float __ull2float_rn(unsigned long long x) {
  return (float)x;
}
inline double __ll2double_rn(long long x) {
  return (double)x;
}
inline float __double2float_rn(double x) {
  return (float)x;
}

#endif /* TESTS_CUDA_EMULATION_MATH_ON_HOST_H_ */
