// SPDX-License-Identifier: Apache-2.0
// Resizing the last dimensions: a thread for each output, with PyTorch's
// coordinates, each operation rounded by itself. Options: K_T; of the step:
// K_MODE (bsm_resize_mode), K_CORNERS (they are aligned), K_SPATIAL; of sizes:
// K_LOOPS.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "resize_taps.cuh"

#ifndef K_MODE
#define K_MODE (int)p.mode
#define K_CORNERS (p.corners != 0)
#define K_SPATIAL (int)p.spatial
#endif
#ifndef K_LOOPS
#define K_LOOPS p.e.loops
#endif
#define TAPS (K_MODE == LINEAR ? 2 : K_MODE == CUBIC ? 4 : 1)

template <class T>
struct coordinates {
  typedef float type;
};
template <>
struct coordinates<double> {
  typedef double type;
};
template <>
struct coordinates<any_f64> {
  typedef double type;
};
typedef coordinates<K_T>::type real;

struct taps {
  i64 offset[4];
  double weight[4];
};

// Keys' kernel with A = -0.75.
DEVICE double cubic_near(double x) { return (1.25 * x - 2.25) * x * x + 1.0; }
DEVICE double cubic_far(double x) {
  return ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0;
}

DEVICE void find_taps(const bsm_cuda_resize &p, i64 i, i64 in, i64 stride,
                      real scale, taps &t) {
  if (K_MODE == LINEAR) {
    const real x = coordinate(K_CORNERS, scale, i, false);
    const i64 low = clamp_index(floor((double)x), in);
    const i64 high = low + (low < in - 1);
    real l = plus(x, -(real)low);
    l = l < 0 ? 0 : l > 1 ? 1 : l;
    t.offset[0] = low * stride;
    t.weight[0] = (double)plus((real)1, -l);
    t.offset[1] = high * stride;
    t.weight[1] = (double)l;
  } else if (K_MODE == CUBIC) {
    const real x = coordinate(K_CORNERS, scale, i, true);
    const double low = floor((double)x), f = (double)plus(x, -(real)low);
    const double w[4] = {cubic_far(f + 1.0), cubic_near(f),
                         cubic_near(1.0 - f), cubic_far(2.0 - f)};
    for (int k = 0; k < 4; k++) {
      t.offset[k] = clamp_index(low + (double)(k - 1), in) * stride;
      t.weight[k] = (double)(real)w[k];
    }
  } else {
    const real half = K_MODE == NEAREST_EXACT ? (real)0.5 : (real)0;
    const double x = floor((double)times(plus((real)i, half), scale));
    t.offset[0] = clamp_index(x, in) * stride;
    t.weight[0] = 1.0;
  }
}

template <class T>
struct is_byte {
  static DEVICE bool of(u64) { return false; }
};
template <>
struct is_byte<u8> {
  static DEVICE bool of(u64) { return true; }
};
template <>
struct is_byte<any_i64> {
  static DEVICE bool of(u64 base) { return dtype_of(base) == DTYPE_U8; }
};
DEVICE float finish(double x, u64, float) { return (float)x; }
DEVICE double finish(double x, u64, double) { return x; }
DEVICE bool finish(double x, u64, bool) { return x != 0; }
// Images of uint8: rounded and clamped.
DEVICE i64 finish(double x, u64 to, i64) {
  x = rint(x);
  if (is_byte<K_T>::of(to)) {
    x = x < 0.0 ? 0.0 : x > 255.0 ? 255.0 : x;
  }
  return saturate_i64(x);
}

KERNEL(resize, bsm_cuda_resize) {
  typedef element<K_T>::value value;
  const i64 pixels = p.out[0] * p.out[1] * p.out[2];
  const i64 count = p.e.count * pixels;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += step) {
    i64 at[2] = {0, 0};
    // Threads go along the innermost outer loop first: that of the channels
    // where they are innermost.
    i64 rest = i / p.e.count;
    seek<2>(K_LOOPS, i % p.e.count, p.e.sizes, p.e.strides, at);
    taps t[3];
#pragma unroll
    for (int d = 2; d >= 0; d--) {
      const i64 o = rest % p.out[d];
      rest /= p.out[d];
      at[0] += o * p.y_stride[d];
      if (d >= 3 - K_SPATIAL) {
        find_taps(p, o, p.in[d], p.x_stride[d], (real)p.scale[d], t[d]);
      } else {
        t[d].offset[0] = 0;
        t[d].weight[0] = 1.0;
      }
    }
    const int first = K_SPATIAL > 2 ? TAPS : 1, second = K_SPATIAL > 1 ? TAPS : 1;
    if (TAPS == 1) {
      store<K_T>(p.e.address[0], at[0],
                 load<K_T>(p.e.address[1], at[1] + t[0].offset[0] +
                                               t[1].offset[0] + t[2].offset[0]));
      continue;
    }
    double total = 0.0;
    for (int a = 0; a < first; a++) {
      for (int b = 0; b < second; b++) {
        for (int c = 0; c < TAPS; c++) {
          const double w = t[0].weight[a] * t[1].weight[b] * t[2].weight[c];
          if (w == 0.0) continue;
          total += w * convert<double>::from(load<K_T>(
                           p.e.address[1], at[1] + t[0].offset[a] +
                                               t[1].offset[b] + t[2].offset[c]));
        }
      }
    }
    store<K_T>(p.e.address[0], at[0], finish(total, p.e.address[0], value()));
  }
}
