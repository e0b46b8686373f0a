// SPDX-License-Identifier: Apache-2.0
// Maximum and average pooling of channels-last images of two dimensions: a
// thread makes K_VECTOR maps of one output. Options: K_T (of what is computed in
// float; u8 or i8 of maxima), K_AVERAGE, K_INSIDE (only what is inside counts),
// K_VECTOR, K_KH, K_KW (the window; taps of small ones are asked for at once).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"

typedef K_T T;

struct __align__(sizeof(T) * K_VECTOR) vector {
  T at[K_VECTOR];
};

DEVICE float to_float(u8 x) { return (float)x; }
DEVICE float to_float(i8 x) { return (float)x; }
template <>
DEVICE u8 from_float<u8>(float x) {
  return (u8)__float2int_rn(x);
}
template <>
DEVICE i8 from_float<i8>(float x) {
  return (i8)__float2int_rn(x);
}

#if K_KH * K_KW <= 9
#define UNROLL_TAPS _Pragma("unroll")
#else
#define UNROLL_TAPS _Pragma("unroll 1")
#endif

// A window in one dimension: where it begins, and how many taps count.
struct taps {
  int begin, apart, size, divisor;
  // Where a tap is, or -1.
  DEVICE int place(int i) const {
    const int at = begin + i * apart;
    return (u32)at < (u32)size ? at : -1;
  }
};

DEVICE taps find_taps(const bsm_cuda_pooling &p, int d, int at) {
  const int size = (int)p.x.size[d], gap = (int)p.window.dilation[d];
  const int kernel = d == 1 ? K_KH : K_KW;
  const int begin = at * (int)p.window.stride[d] - (int)p.window.pre[d];
  const int skipped = begin < 0 ? (-begin + gap - 1) / gap : 0;
  const int room = size - begin;
  const int before = room <= 0 ? 0 : (room + gap - 1) / gap;
  const int last = before < kernel ? before : kernel;
  const int most = size + (int)p.window.post[d];
  const int end = begin + kernel < most ? begin + kernel : most;
  const int count = last > skipped ? last - skipped : 0;
  return {begin, gap, size, K_INSIDE ? count : end - begin};
}

KERNEL(pooling_maps, bsm_cuda_pooling) {
  const int chunks = (int)p.y.c / K_VECTOR;
  const int width = (int)p.y.size[2], height = (int)p.y.size[1];
  const i64 count = p.y.n * height * width * chunks;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const int c = (int)(i % chunks) * K_VECTOR;
    i64 rest = i / chunks;
    const int x = (int)(rest % width);
    rest /= width;
    const int y = (int)(rest % height);
    const i64 n = rest / height;
    const taps ty = find_taps(p, 1, y), tx = find_taps(p, 2, x);
    float value[K_VECTOR];
#pragma unroll
    for (int v = 0; v < K_VECTOR; v++) value[v] = K_AVERAGE ? 0 : lowest(0.0f);
    const T *image = (const T *)p.x.address + n * p.x.n_stride + c;
    UNROLL_TAPS
    for (int a = 0; a < K_KH; a++) {
      const int at_y = ty.place(a);
      const T *line = image + at_y * p.x.stride[1];
      UNROLL_TAPS
      for (int b = 0; b < K_KW; b++) {
        const int at_x = tx.place(b);
        if (at_y < 0 || at_x < 0) continue;
        const vector in = *(const vector *)(line + at_x * p.x.stride[2]);
#pragma unroll
        for (int v = 0; v < K_VECTOR; v++) {
          const float e = to_float(in.at[v]);
          value[v] = K_AVERAGE ? value[v] + e
                               : e > value[v] || e != e ? e : value[v];
        }
      }
    }
    const float divisor =
        p.divisor ? (float)p.divisor : (float)(ty.divisor * tx.divisor);
    vector out;
#pragma unroll
    for (int v = 0; v < K_VECTOR; v++) {
      out.at[v] = from_float<T>(K_AVERAGE ? value[v] / divisor : value[v]);
    }
    *(vector *)((T *)p.y.address + n * p.y.n_stride + y * p.y.stride[1] +
                x * p.y.stride[2] + c) = out;
  }
}
