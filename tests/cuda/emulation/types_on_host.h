/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's vectors, with CUDA's alignments, and loads and stores that say which
 * cache they go through. */
#ifndef TESTS_CUDA_EMULATION_TYPES_ON_HOST_H_
#define TESTS_CUDA_EMULATION_TYPES_ON_HOST_H_

#define EMULATED_VECTORS(name, type, align2, align4)              \
  struct name##1 {                                                \
    type x;                                                       \
  };                                                              \
  struct __attribute__((aligned(align2))) name##2 {               \
    type x, y;                                                    \
  };                                                              \
  struct name##3 {                                                \
    type x, y, z;                                                 \
  };                                                              \
  struct __attribute__((aligned(align4))) name##4 {               \
    type x, y, z, w;                                              \
  };                                                              \
  inline name##1 make_##name##1(type x) {                         \
    return {x};                                                   \
  }                                                               \
  inline name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                \
  }                                                               \
  inline name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                             \
  }                                                               \
  inline name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                          \
  }
EMULATED_VECTORS(char, signed char, 2, 4)
EMULATED_VECTORS(uchar, unsigned char, 2, 4)
EMULATED_VECTORS(short, short, 4, 8)
EMULATED_VECTORS(ushort, unsigned short, 4, 8)
EMULATED_VECTORS(int, int, 8, 16)
EMULATED_VECTORS(uint, unsigned, 8, 16)
EMULATED_VECTORS(longlong, long long, 16, 16)
EMULATED_VECTORS(ulonglong, unsigned long long, 16, 16)
EMULATED_VECTORS(float, float, 8, 16)
EMULATED_VECTORS(double, double, 16, 16)
#undef EMULATED_VECTORS

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x(x_), y(y_), z(z_) {}
};

#define EMULATED_LOAD(name)    \
  template <class T>           \
  inline T name(const T *at) { \
    return *at;                \
  }
EMULATED_LOAD(__ldg)
EMULATED_LOAD(__ldca)
EMULATED_LOAD(__ldcg)
EMULATED_LOAD(__ldcs)
EMULATED_LOAD(__ldcv)
EMULATED_LOAD(__ldlu)
#undef EMULATED_LOAD

#define EMULATED_STORE(name)                \
  template <class T>                        \
  inline void name(T *at, const T &value) { \
    *at = value;                            \
  }
EMULATED_STORE(__stcg)
EMULATED_STORE(__stcs)
EMULATED_STORE(__stwb)
EMULATED_STORE(__stwt)
#undef EMULATED_STORE

/* ---- bits seen as another type ---- */

template <class To, class From>
inline To emulated_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}
inline unsigned __float_as_uint(float x) {
  return emulated_cast<unsigned>(x);
}
inline int __float_as_int(float x) {
  return emulated_cast<int>(x);
}
inline float __uint_as_float(unsigned x) {
  return emulated_cast<float>(x);
}
inline float __int_as_float(int x) {
  return emulated_cast<float>(x);
}
inline long long __double_as_longlong(double x) {
  return emulated_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return emulated_cast<double>(x);
}
inline int __double2hiint(double x) {
  return (int)(__double_as_longlong(x) >> 32);
}
inline int __double2loint(double x) {
  return (int)__double_as_longlong(x);
}
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(
      (long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

#endif /* TESTS_CUDA_EMULATION_TYPES_ON_HOST_H_ */
