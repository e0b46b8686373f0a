// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of channels-last images of two dimensions: a thread
// makes K_STRIP outputs in a row, of K_VECTOR maps. Options: K_T (of what is
// computed in float), K_ACTIVATION, K_VECTOR, K_STRIP, K_KH, K_KW (the window),
// K_STRIDE (along a row; dilation there is 1 when K_STRIP is not).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"

typedef K_T T;

struct __align__(sizeof(T) * K_VECTOR) vector {
  T at[K_VECTOR];
};

enum { COLUMNS = K_STRIP == 1 ? K_KW : (K_STRIP - 1) * K_STRIDE + K_KW };

KERNEL_OF(128, depthwise, bsm_cuda_convolution) {
  const int chunks = (int)p.x.c / K_VECTOR;
  const int width = (int)p.y.size[2], height = (int)p.y.size[1];
  const int strips = (width + K_STRIP - 1) / K_STRIP;
  const i64 count = p.y.n * height * strips * chunks;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const int c = (int)(i % chunks) * K_VECTOR;
    i64 rest = i / chunks;
    const int x0 = (int)(rest % strips) * K_STRIP;
    rest /= strips;
    const int y = (int)(rest % height);
    const i64 n = rest / height;
    float sum[K_STRIP][K_VECTOR];
#pragma unroll
    for (int s = 0; s < K_STRIP * K_VECTOR; s++) sum[s / K_VECTOR][s % K_VECTOR] = 0;
    const T *image = (const T *)p.x.address + n * p.x.n_stride + c;
    const T *kernel = (const T *)p.kernel + (i64)c * (K_KH * K_KW);
    const int from_y = y * (int)p.window.stride[1] - (int)p.window.pre[1];
    const int from_x = x0 * K_STRIDE - (int)p.window.pre[2];
#pragma unroll
    for (int ky = 0; ky < K_KH; ky++) {
      const int at_y = from_y + ky * (int)p.window.dilation[1];
      if ((u32)at_y >= (u32)p.x.size[1]) continue;
      float w[K_KW][K_VECTOR];
#pragma unroll
      for (int kx = 0; kx < K_KW; kx++) {
#pragma unroll
        for (int v = 0; v < K_VECTOR; v++) {
          w[kx][v] = to_float(kernel[v * (K_KH * K_KW) + ky * K_KW + kx]);
        }
      }
      const T *line = image + at_y * p.x.stride[1];
#pragma unroll
      for (int column = 0; column < COLUMNS; column++) {
        const int at_x =
            from_x + column * (K_STRIP == 1 ? (int)p.window.dilation[2] : 1);
        if ((u32)at_x >= (u32)p.x.size[2]) continue;
        const vector in = *(const vector *)(line + at_x * p.x.stride[2]);
#pragma unroll
        for (int s = 0; s < K_STRIP; s++) {
          const int kx = column - s * K_STRIDE;
          if (kx < 0 || kx >= K_KW) continue;
#pragma unroll
          for (int v = 0; v < K_VECTOR; v++) {
            sum[s][v] += to_float(in.at[v]) * w[kx][v];
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < K_STRIP; s++) {
      const int x = x0 + s;
      if (x >= width) continue;
      vector out;
#pragma unroll
      for (int v = 0; v < K_VECTOR; v++) {
        float value = sum[s][v];
        if (p.bias) value += load<T>(p.bias, c + v);
        if (p.residual.address) {
          value += load<T>(p.residual.address,
                           n * p.residual.n_stride + (c + v) * p.residual.c_stride +
                               y * p.residual.stride[1] + x * p.residual.stride[2]);
        }
        out.at[v] = from_float<T>(
            activate(K_ACTIVATION, value, (float)p.alpha, (float)p.beta));
      }
      *(vector *)((T *)p.y.address + n * p.y.n_stride + y * p.y.stride[1] +
                  x * p.y.stride[2] + c) = out;
    }
  }
}
