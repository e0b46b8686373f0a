// SPDX-License-Identifier: Apache-2.0
// Maximum and average pooling: a thread for each output. Options: K_FROM, K_TO;
// of the step: K_AVERAGE, K_ADAPTIVE, K_INSIDE (only what is inside counts); of
// sizes: K_INNER_CHANNELS (threads go along the channels).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"

#ifndef K_AVERAGE
#define K_AVERAGE p.average
#define K_ADAPTIVE p.adaptive
#define K_INSIDE p.inside
#endif
#ifndef K_INNER_CHANNELS
#define K_INNER_CHANNELS (p.y.c_stride == 1)
#endif

typedef element<K_FROM>::value value;
template <class T>
struct total_of {
  typedef T type;
};
template <>
struct total_of<i64> {
  typedef double type;
};
typedef total_of<value>::type total;

KERNEL(pooling, bsm_cuda_pooling) {
  const i64 pixels = p.y.size[0] * p.y.size[1] * p.y.size[2];
  const i64 count = p.y.n * p.y.c * pixels;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += step) {
    i64 c, rest;
    if (K_INNER_CHANNELS) {
      c = i % p.y.c;
      rest = i / p.y.c;
    } else {
      const i64 pixel = i % pixels;
      const i64 plane = i / pixels;
      c = plane % p.y.c;
      rest = plane / p.y.c * pixels + pixel;
    }
    i64 at[3], first[3], taps[3], apart[3];
    at[2] = rest % p.y.size[2];
    rest /= p.y.size[2];
    at[1] = rest % p.y.size[1];
    rest /= p.y.size[1];
    at[0] = rest % p.y.size[0];
    const i64 n = rest / p.y.size[0];
    total divisor = 1;
#pragma unroll
    for (int d = 0; d < 3; d++) {
      const i64 size = p.x.size[d];
      if (K_ADAPTIVE) {
        const i64 out = p.y.size[d];
        first[d] = at[d] * size / out;
        taps[d] = ((at[d] + 1) * size + out - 1) / out - first[d];
        apart[d] = 1;
        divisor *= (total)taps[d];
      } else {
        const i64 begin = at[d] * p.window.stride[d] - p.window.pre[d];
        const i64 gap = p.window.dilation[d];
        const i64 skipped = begin < 0 ? (-begin + gap - 1) / gap : 0;
        const i64 room = size - begin;  // taps before the end of the input
        const i64 before = room <= 0 ? 0 : (room + gap - 1) / gap;
        const i64 last = before < p.window.kernel[d] ? before : p.window.kernel[d];
        first[d] = begin + skipped * gap;
        taps[d] = last > skipped ? last - skipped : 0;
        apart[d] = gap;
        const i64 end = begin + p.window.kernel[d] < size + p.window.post[d]
                            ? begin + p.window.kernel[d]
                            : size + p.window.post[d];
        divisor *= (total)(K_INSIDE ? taps[d] : end - begin);
      }
    }
    const i64 base = n * p.x.n_stride + c * p.x.c_stride;
    total sum = 0;
    value most = 0;
    bool some = false;
    for (i64 a = 0; a < taps[0]; a++) {
      for (i64 b = 0; b < taps[1]; b++) {
        const i64 line = base + (first[0] + a * apart[0]) * p.x.stride[0] +
                         (first[1] + b * apart[1]) * p.x.stride[1];
        for (i64 e = 0; e < taps[2]; e++) {
          const value x = load<K_FROM>(
              p.x.address, line + (first[2] + e * apart[2]) * p.x.stride[2]);
          if (K_AVERAGE) {
            sum += (total)x;
          } else {
            most = !some || x > most || x != x ? x : most;
            some = true;
          }
        }
      }
    }
    if (!K_AVERAGE && !some) most = lowest(value());
    const total mean = sum / (p.divisor ? (total)p.divisor : divisor);
    const i64 to = n * p.y.n_stride + c * p.y.c_stride +
                   at[0] * p.y.stride[0] + at[1] * p.y.stride[1] +
                   at[2] * p.y.stride[2];
    if (K_AVERAGE) {
      store<K_TO>(p.y.address, to, mean);
    } else {
      store<K_TO>(p.y.address, to, most);
    }
  }
}
