// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of bytes, of channels-last images of two dimensions: a
// thread makes K_STRIP outputs in a row, of K_VECTOR maps. The kernel has a row
// of all maps for each tap. Options: K_ACTIVATION, K_VECTOR, K_STRIP, K_KH, K_KW
// (the window), K_STRIDE (along a row; dilation there is 1 when K_STRIP is not);
// K_Y: u8, float, f16 or bf16; K_RESIDUAL.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "int8_end.cuh"
#include "narrow_activation.cuh"

template <class T>
struct __align__(sizeof(T) * K_VECTOR) vector {
  T at[K_VECTOR];
};

enum { COLUMNS = K_STRIP == 1 ? K_KW : (K_STRIP - 1) * K_STRIDE + K_KW };

DEVICE void store_vector(const bsm_cuda_int8_convolution &p,
                         const int8_column *columns, const i32 *sum, i64 n,
                         int y, int x, int c) {
  const bsm_cuda_image &to = p.convolution.y, &r = p.convolution.residual;
  vector<K_Y> out;
#pragma unroll
  for (int v = 0; v < K_VECTOR; v++) {
    float value = columns[v].scaled(sum[v]);
    if constexpr (K_RESIDUAL != NO_NUMBERS) {
      value += load_residual(p.end, K_RESIDUAL, r.address,
                             n * r.n_stride + (c + v) * r.c_stride +
                                 y * r.stride[1] + x * r.stride[2]);
    }
    value = activate_sum<K_Y>(K_ACTIVATION, value, p.end.alpha, p.end.beta);
    out.at[v] = result_of<K_Y>(p.end, value);
  }
  *(vector<K_Y> *)((K_Y *)to.address + n * to.n_stride + y * to.stride[1] +
                   x * to.stride[2] + c) = out;
}

KERNEL_OF(128, int8_depthwise, bsm_cuda_int8_convolution) {
  const bsm_cuda_convolution &q = p.convolution;
  const bsm_cuda_window &window = q.window;
  const int chunks = (int)q.x.c / K_VECTOR;
  const int width = (int)q.y.size[2], height = (int)q.y.size[1];
  const int strips = (width + K_STRIP - 1) / K_STRIP;
  const i64 count = q.y.n * height * strips * chunks;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const int c = (int)(i % chunks) * K_VECTOR;
    i64 rest = i / chunks;
    const int x0 = (int)(rest % strips) * K_STRIP;
    rest /= strips;
    const int y = (int)(rest % height);
    const i64 n = rest / height;
    i32 sum[K_STRIP][K_VECTOR];
#pragma unroll
    for (int s = 0; s < K_STRIP * K_VECTOR; s++) sum[s / K_VECTOR][s % K_VECTOR] = 0;
    const u8 *image = (const u8 *)q.x.address + n * q.x.n_stride + c;
    const i8 *kernel = (const i8 *)q.kernel + c;
    const int from_y = y * (int)window.stride[1] - (int)window.pre[1];
    const int from_x = x0 * K_STRIDE - (int)window.pre[2];
#pragma unroll
    for (int ky = 0; ky < K_KH; ky++) {
      const int at_y = from_y + ky * (int)window.dilation[1];
      const bool inside = (u32)at_y < (u32)q.x.size[1];
      vector<i8> w[K_KW];
#pragma unroll
      for (int kx = 0; kx < K_KW; kx++) {
        w[kx] = *(const vector<i8> *)(kernel + (ky * K_KW + kx) * p.kernel_k);
      }
      const u8 *line = image + at_y * q.x.stride[1];
#pragma unroll
      for (int column = 0; column < COLUMNS; column++) {
        const int at_x =
            from_x + column * (K_STRIP == 1 ? (int)window.dilation[2] : 1);
        vector<u8> in;
        if (inside && (u32)at_x < (u32)q.x.size[2]) {
          in = *(const vector<u8> *)(line + at_x * q.x.stride[2]);
        } else {
#pragma unroll
          for (int v = 0; v < K_VECTOR; v++) in.at[v] = (u8)p.end.x_zero;
        }
#pragma unroll
        for (int s = 0; s < K_STRIP; s++) {
          const int kx = column - s * K_STRIDE;
          if (kx < 0 || kx >= K_KW) continue;
#pragma unroll
          for (int v = 0; v < K_VECTOR; v++) {
            sum[s][v] += (i32)in.at[v] * (i32)w[kx].at[v];
          }
        }
      }
    }
    int8_column columns[K_VECTOR];
    if constexpr (K_VECTOR == 4) {
      load_columns<K_VECTOR>(p.end, c, columns);
    } else {
#pragma unroll
      for (int v = 0; v < K_VECTOR; v++) columns[v].load(p.end, c + v);
    }
#pragma unroll
    for (int s = 0; s < K_STRIP; s++) {
      if (x0 + s < width) store_vector(p, columns, sum[s], n, y, x0 + s, c);
    }
  }
}
