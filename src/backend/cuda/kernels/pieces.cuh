// SPDX-License-Identifier: Apache-2.0
// Elements that lie together and are loaded and stored at once: N of any type T.
// Several need 4, 8 or a multiple of 16 bytes, and an address that is a multiple
// of as many, up to 16.
#pragma once

// The bits of an element.
template <class T>
DEVICE u64 bits_of(T x) { return (u64)x; }
DEVICE u64 bits_of(f16 x) { return x.bits; }
DEVICE u64 bits_of(bf16 x) { return x.bits; }
DEVICE u64 bits_of(e4m3 x) { return x.bits; }
DEVICE u64 bits_of(float x) { return __float_as_uint(x); }
DEVICE u64 bits_of(double x) { return (u64)__double_as_longlong(x); }

template <class T>
struct from_bits {
  static DEVICE T of(u64 x) { return (T)x; }
};
template <>
struct from_bits<f16> {
  static DEVICE f16 of(u64 x) { return {(u16)x}; }
};
template <>
struct from_bits<bf16> {
  static DEVICE bf16 of(u64 x) { return {(u16)x}; }
};
template <>
struct from_bits<e4m3> {
  static DEVICE e4m3 of(u64 x) { return {(u8)x}; }
};
template <>
struct from_bits<float> {
  static DEVICE float of(u64 x) { return __uint_as_float((u32)x); }
};
template <>
struct from_bits<double> {
  static DEVICE double of(u64 x) { return __longlong_as_double((i64)x); }
};
// Any byte but 0 is true.
template <>
struct from_bits<bool> {
  static DEVICE bool of(u64 x) { return x != 0; }
};

template <class T, int N>
struct piece {
  typedef typename element<T>::value value;
  enum { WORDS = N * sizeof(T) / 4, IN_WORD = 4 / sizeof(T) };
  static_assert(WORDS == 1 || WORDS == 2 || WORDS % 4 == 0, "what can be loaded");
  u32 words[WORDS];

  DEVICE void load(const T *from) {
    if constexpr (WORDS % 4 == 0) {
#pragma unroll
      for (int i = 0; i < WORDS / 4; i++) {
        const uint4 x = ((const uint4 *)from)[i];
        words[4 * i] = x.x;
        words[4 * i + 1] = x.y;
        words[4 * i + 2] = x.z;
        words[4 * i + 3] = x.w;
      }
    } else if constexpr (WORDS == 2) {
      const uint2 x = *(const uint2 *)from;
      words[0] = x.x;
      words[1] = x.y;
    } else {
      words[0] = *(const u32 *)from;
    }
  }
  DEVICE void store(T *to) const {
    if constexpr (WORDS % 4 == 0) {
#pragma unroll
      for (int i = 0; i < WORDS / 4; i++) {
        ((uint4 *)to)[i] = make_uint4(words[4 * i], words[4 * i + 1],
                                      words[4 * i + 2], words[4 * i + 3]);
      }
    } else if constexpr (WORDS == 2) {
      *(uint2 *)to = make_uint2(words[0], words[1]);
    } else {
      *(u32 *)to = words[0];
    }
  }
  DEVICE void clear() {
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = 0;
  }
  // Zeros in place of what is not there, without a branch.
  DEVICE void keep(bool is_there) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = is_there ? words[i] : 0;
  }
  DEVICE value get(int i) const {
    u64 bits;
    if constexpr (sizeof(T) == 8) {
      bits = words[2 * i] | (u64)words[2 * i + 1] << 32;
    } else if constexpr (sizeof(T) == 4) {
      bits = words[i];
    } else {
      const u32 word = words[i / IN_WORD];
      bits = word >> (i % IN_WORD * 8 * (int)sizeof(T)) &
             ((1u << 8 * sizeof(T)) - 1);
    }
    return element<T>::load(from_bits<T>::of(bits));
  }
  // In order from 0 on.
  DEVICE void set(int i, value x) {
    const u64 bits = bits_of(element<T>::store(x));
    if constexpr (sizeof(T) == 8) {
      words[2 * i] = (u32)bits;
      words[2 * i + 1] = (u32)(bits >> 32);
    } else if constexpr (sizeof(T) == 4) {
      words[i] = (u32)bits;
    } else {
      const u32 own = ((u32)bits & ((1u << 8 * sizeof(T)) - 1))
                      << (i % IN_WORD * 8 * (int)sizeof(T));
      words[i / IN_WORD] = i % IN_WORD ? words[i / IN_WORD] | own : own;
    }
  }
};

template <class T>
struct piece<T, 1> {
  typedef typename element<T>::value value;
  value element_;
  DEVICE void load(const T *from) { element_ = memory<T>::load((u64)from, 0); }
  DEVICE void store(T *to) const { memory<T>::store((u64)to, 0, element_); }
  DEVICE void clear() { element_ = (value)0; }
  DEVICE void keep(bool is_there) { element_ = is_there ? element_ : (value)0; }
  DEVICE value get(int) const { return element_; }
  DEVICE void set(int, value x) { element_ = x; }
};
