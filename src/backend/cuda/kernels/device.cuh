// SPDX-License-Identifier: Apache-2.0
// What all kernels share: how a kernel is defined, element types, their
// conversions, activations, and asynchronous copies. Included by every source
// that NVRTC compiles; includes nothing but our own, so that no toolkit is
// needed.
//
// Tests compile the same sources for the host with BSM_EMULATED defined, in
// front of which tests/cuda/emulation/cuda_on_host.h stands.
#pragma once
#ifndef BSM_EMULATED
#include "ptx.cuh"
#endif

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define DEVICE __device__ __forceinline__

// ---- kernels ----

// A kernel has one parameter, a struct that is passed by value; its body
// follows the macro and calls it `p`:
//   KERNEL(fill, fill_args) { p.out[blockIdx.x * blockDim.x + threadIdx.x] = 0; }
// KERNEL_OF is for at most `threads` threads in a block.
// From sm_90 on, a kernel may begin before the one ahead of it in the stream has
// ended: it waits for that before anything else. The body of an EARLY_KERNEL_OF
// does so itself, by wait_for_previous(), and until then touches nothing but
// weights. Of an EARLY_RESIDENT_KERNEL_OF an SM has registers for some blocks.
// The body of a CLUSTER_KERNEL_OF does so, too. `blocks` blocks that are beside
// each other along x run together, from sm_90 on; they have dynamic shared
// memory alone.
// DYNAMIC_SHARED(name) declares the shared memory that the launch asks for, as
// `char *`, aligned to 128 bytes. Variables in shared memory have no
// initialisers.
#ifdef BSM_EMULATED
#define KERNEL(name, type) EMULATED_KERNEL(name, type, 1024)
#define KERNEL_OF(threads, name, type) EMULATED_KERNEL(name, type, threads)
#define EARLY_KERNEL_OF(threads, name, type) EMULATED_KERNEL(name, type, threads)
#define EARLY_RESIDENT_KERNEL_OF(threads, blocks, name, type) \
  EMULATED_KERNEL(name, type, threads)
#define CLUSTER_KERNEL_OF(threads, blocks, name, type) \
  EMULATED_CLUSTER_KERNEL(name, type, threads, blocks)
#define DYNAMIC_SHARED(name) EMULATED_DYNAMIC_SHARED(name)
#else
#define KERNEL_BODY(name, type) \
  static __device__ __forceinline__ void name##_body(const type &p)
#define KERNEL_ENTRY(bounds, name, type, first)                               \
  KERNEL_BODY(name, type);                                                    \
  extern "C" __global__ void bounds name(const __grid_constant__ type p) {    \
    ptx_launch_dependents();                                                  \
    first;                                                                    \
    name##_body(p);                                                           \
  }                                                                           \
  KERNEL_BODY(name, type)
#define KERNEL(name, type) KERNEL_ENTRY(, name, type, ptx_wait_for_previous())
#define KERNEL_OF(threads, name, type)                                        \
  KERNEL_ENTRY(__launch_bounds__((threads)), name, type,                      \
               ptx_wait_for_previous())
#define EARLY_KERNEL_OF(threads, name, type) \
  KERNEL_ENTRY(__launch_bounds__((threads)), name, type, )
#define EARLY_RESIDENT_KERNEL_OF(threads, blocks, name, type) \
  KERNEL_ENTRY(__launch_bounds__((threads), (blocks)), name, type, )
#define CLUSTER_KERNEL_OF(threads, blocks, name, type)                     \
  KERNEL_ENTRY(__cluster_dims__((blocks), 1, 1)                            \
                   __launch_bounds__((threads), 1),                        \
               name, type, )
#define DYNAMIC_SHARED(name) extern __shared__ __align__(128) char name[]
#endif

// ---- element types ----

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct e4m3 {
  u8 bits;
};

DEVICE float to_float(float x) { return x; }
DEVICE float to_float(f16 x) { return ptx_f16_to_f32(x.bits); }
DEVICE float to_float(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
DEVICE float to_float(e4m3 x) {
#if __CUDA_ARCH__ >= 890
  return ptx_f16_to_f32((u16)ptx_e4m3_pair_to_f16(x.bits));
#else
  const u32 sign = (u32)(x.bits & 0x80u) << 24, magnitude = x.bits & 0x7fu;
  const u32 number = magnitude == 0x7fu ? 0x7fc00000u
                     : magnitude >= 8   ? (magnitude << 20) + 0x3c000000u
                                        : __float_as_uint(magnitude * 0x1p-9f);
  return __uint_as_float(sign | number);
#endif
}

template <class T>
DEVICE T from_float(float x);
template <>
DEVICE float from_float<float>(float x) {
  return x;
}
template <>
DEVICE f16 from_float<f16>(float x) {
  return {ptx_f32_to_f16(x)};
}
template <>
DEVICE bf16 from_float<bf16>(float x) {
  return {ptx_f32_to_bf16(x)};
}

// What is greater than all numbers becomes the greatest; NaN stays NaN.
DEVICE e4m3 saturate_e4m3(float x) {
#if __CUDA_ARCH__ >= 890
  return {(u8)ptx_f32_to_e4m3_pair(x, 0)};
#else
  const u32 bits = __float_as_uint(x), sign = bits >> 24 & 0x80u;
  const u32 magnitude = bits & 0x7fffffffu;
  u32 result;
  if (magnitude > 0x7f800000u) return {(u8)(sign | 0x7fu)};
  if (magnitude < 121u << 23) {  // the adder rounds to units of 2^-9
    result = __float_as_uint(__uint_as_float(magnitude) + 0x1p14f) - 0x46800000u;
  } else {
    const u32 odd = magnitude >> 20 & 1u;
    result = (magnitude - (120u << 23) + 0x7ffffu + odd) >> 20;
  }
  return {(u8)(sign | (result < 0x7eu ? result : 0x7eu))};
#endif
}
// As PyTorch casts: what is too great becomes NaN.
template <>
DEVICE e4m3 from_float<e4m3>(float x) {
  const u32 bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x43e80000u) {  // 464, half way to the next
    return {(u8)(bits >> 24 & 0x80u | 0x7fu)};
  }
  return saturate_e4m3(x);
}

template <class T>
DEVICE u32 pack2(float a, float b);
template <>
DEVICE u32 pack2<f16>(float a, float b) {
  return ptx_f32_to_f16_pair(a, b);
}
template <>
DEVICE u32 pack2<bf16>(float a, float b) {
  return ptx_f32_to_bf16_pair(a, b);
}
template <class T>
DEVICE T unpack(u32 pair, int which) {
  T x;
  x.bits = (u16)(which ? pair >> 16 : pair);
  return x;
}

// ---- shared memory and asynchronous copies ----

DEVICE u32 shared_address(const void *p) { return ptx_shared_address(p); }

// 16 bytes, or zeros when `valid` is false.
DEVICE void copy16_async(u32 to, const void *from, bool valid) {
  ptx_copy16_async(to, from, valid ? 16 : 0);
}
DEVICE void copies_commit() { ptx_copies_commit(); }
template <int LEFT>
DEVICE void copies_wait() {
  ptx_copies_wait<LEFT>();
}

// ---- products of tiles in a warp: c[16][8] += a[16][16] b[16][8] ----
//
// Of float, whose elements are those of tf32, there are 8 along k.

template <class T>
DEVICE void multiply(float *c, const u32 *a, const u32 *b);
template <>
DEVICE void multiply<f16>(float *c, const u32 *a, const u32 *b) {
  ptx_mma_m16n8k16_f16(c, a, b);
}
#if __CUDA_ARCH__ >= 800
template <>
DEVICE void multiply<bf16>(float *c, const u32 *a, const u32 *b) {
  ptx_mma_m16n8k16_bf16(c, a, b);
}
template <>
DEVICE void multiply<float>(float *c, const u32 *a, const u32 *b) {
  ptx_mma_m16n8k8_tf32(c, a, b);
}
#endif

// ---- the kernel before ----

DEVICE void wait_for_previous() { ptx_wait_for_previous(); }

// ---- exchanges within a warp ----

DEVICE float shuffle_xor(float x, int lane) {
  return __shfl_xor_sync(0xffffffffu, x, lane);
}
DEVICE double shuffle_xor(double x, int lane) {
  return __shfl_xor_sync(0xffffffffu, x, lane);
}
DEVICE u32 shuffle_xor(u32 x, int lane) {
  return __shfl_xor_sync(0xffffffffu, x, lane);
}
DEVICE i64 shuffle_xor(i64 x, int lane) {
  return __shfl_xor_sync(0xffffffffu, x, lane);
}
DEVICE i64 shuffle(i64 x, int lane) {
  return __shfl_sync(0xffffffffu, x, lane);
}
DEVICE float shuffle(float x, int lane) {
  return __shfl_sync(0xffffffffu, x, lane);
}
DEVICE double shuffle(double x, int lane) {
  return __shfl_sync(0xffffffffu, x, lane);
}
