// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of channels-last images of two dimensions: a thread
// makes K_STRIP outputs in a row, of K_VECTOR maps. Options: K_T (of what is
// computed in float), K_ACTIVATION, K_VECTOR, K_STRIP, K_KH, K_KW (the window),
// K_STRIDE (along a row; dilation there is 1 when K_STRIP is not).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "pieces.cuh"

typedef K_T T;

typedef piece<T, K_VECTOR> vector;

enum {
  COLUMNS = K_STRIP == 1 ? K_KW : (K_STRIP - 1) * K_STRIDE + K_KW,
  TAPS = K_KH * K_KW,
  // The kernels of small windows lie together and are asked for at once.
  AT_ONCE = TAPS * K_VECTOR * sizeof(T) <= 160
};

// The taps of K_VECTOR maps.
struct weights {
  vector at[AT_ONCE ? TAPS : 1];
  DEVICE void load(const T *from) {
#pragma unroll
    for (int i = 0; AT_ONCE && i < TAPS; i++) at[i].load(from + i * K_VECTOR);
  }
  DEVICE float get(const T *from, int i) const {
    if (AT_ONCE) return at[i / K_VECTOR].get(i % K_VECTOR);
    return to_float(from[i]);
  }
};

DEVICE int nearest(int at, int size) {
  return at < 0 ? 0 : at < size ? at : size - 1;
}

// What is not in the image is loaded from its edge and zero, without branches.
DEVICE void load_line(const bsm_cuda_convolution &p, const T *image, int y,
                      int x, vector (&to)[COLUMNS]) {
  const bool inside = (u32)y < (u32)p.x.size[1];
  const T *from = image + nearest(y, (int)p.x.size[1]) * (int)p.x.stride[1];
  const int apart = K_STRIP == 1 ? (int)p.window.dilation[2] : 1;
#pragma unroll
  for (int i = 0; i < COLUMNS; i++) {
    const int at = x + i * apart;
    to[i].load(from + nearest(at, (int)p.x.size[2]) * (int)p.x.stride[2]);
    to[i].keep(inside && (u32)at < (u32)p.x.size[2]);
  }
}

struct place {
  i64 n;
  int y, x, c;
};

DEVICE void store(const bsm_cuda_convolution &p, const place &at,
                  const float (&bias)[K_VECTOR],
                  const float (&sum)[K_VECTOR]) {
  vector out;
  out.clear();
#pragma unroll
  for (int v = 0; v < K_VECTOR; v++) {
    float value = sum[v] + bias[v];
    if (p.residual.address) {
      value += load<T>(p.residual.address,
                       at.n * p.residual.n_stride +
                           (at.c + v) * p.residual.c_stride +
                           at.y * p.residual.stride[1] +
                           at.x * p.residual.stride[2]);
    }
    out.set(v, activate(K_ACTIVATION, value, (float)p.alpha, (float)p.beta));
  }
  out.store((T *)p.y.address + at.n * p.y.n_stride +
            at.y * (int)p.y.stride[1] + at.x * (int)p.y.stride[2] + at.c);
}

KERNEL_OF(128, depthwise, bsm_cuda_convolution) {
  const int chunks = (int)p.x.c / K_VECTOR;
  const int width = (int)p.y.size[2], height = (int)p.y.size[1];
  const int strips = (width + K_STRIP - 1) / K_STRIP;
  const i64 count = p.y.n * height * strips * chunks;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    i64 rest = i;
    const int c = (int)divide_by(rest, (i64)chunks) * K_VECTOR;
    const int x0 = (int)divide_by(rest, (i64)strips) * K_STRIP;
    const int y = (int)divide_by(rest, (i64)height);
    const T *image = (const T *)p.x.address + rest * p.x.n_stride + c;
    const T *kernel = (const T *)p.kernel + (i64)c * TAPS;
    weights weight;
    weight.load(kernel);
    float sum[K_STRIP][K_VECTOR], bias[K_VECTOR];
#pragma unroll
    for (int s = 0; s < K_STRIP * K_VECTOR; s++) sum[s / K_VECTOR][s % K_VECTOR] = 0;
#pragma unroll
    for (int v = 0; v < K_VECTOR; v++) {
      bias[v] = p.bias ? load<T>(p.bias, c + v) : 0;
    }
#pragma unroll
    for (int ky = 0; ky < K_KH; ky++) {
      vector in[COLUMNS];
      load_line(p, image,
                y * (int)p.window.stride[1] - (int)p.window.pre[1] +
                    ky * (int)p.window.dilation[1],
                x0 * K_STRIDE - (int)p.window.pre[2], in);
      float w[K_KW][K_VECTOR];
#pragma unroll
      for (int i = 0; i < K_KW * K_VECTOR; i++) {
        w[i / K_VECTOR][i % K_VECTOR] = weight.get(
            kernel, i % K_VECTOR * TAPS + ky * K_KW + i / K_VECTOR);
      }
#pragma unroll
      for (int column = 0; column < COLUMNS; column++) {
#pragma unroll
        for (int s = 0; s < K_STRIP; s++) {
          const int kx = column - s * K_STRIDE;
          if (kx < 0 || kx >= K_KW) continue;
#pragma unroll
          for (int v = 0; v < K_VECTOR; v++) {
            sum[s][v] += in[column].get(v) * w[kx][v];
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < K_STRIP; s++) {
      if (x0 + s < width) store(p, {rest, y, x0 + s, c}, bias, sum[s]);
    }
  }
}
