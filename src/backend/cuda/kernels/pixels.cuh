// SPDX-License-Identifier: Apache-2.0
// Pixels of images of any strides, and what windows see of them. K_TRANSPOSED:
// windows of a deconvolution.
#pragma once

// A pixel of the output: where its sample begins in the input, and where its
// window does.
struct pixel {
  bool exists;
  i64 n, at[3];
};

DEVICE pixel find_pixel(const bsm_cuda_convolution &p, i64 m) {
  pixel x;
  x.at[2] = m % p.y.size[2];
  m /= p.y.size[2];
  x.at[1] = m % p.y.size[1];
  m /= p.y.size[1];
  x.at[0] = m % p.y.size[0];
  x.n = m / p.y.size[0];
  x.exists = x.n < p.y.n;
  return x;
}

// The offset of the input under a tap of the window; -1: it is outside.
DEVICE i64 find_input(const bsm_cuda_convolution &p, const pixel &x, i64 tap) {
  i64 offset = x.n * p.x.n_stride;
  bool inside = x.exists;
#pragma unroll
  for (int d = 2; d >= 0; d--) {
    const i64 k = tap % p.window.kernel[d];
    tap /= p.window.kernel[d];
    i64 at;
    if (K_TRANSPOSED) {
      at = x.at[d] + p.window.pre[d] - k * p.window.dilation[d];
      inside = inside && at >= 0 && at % p.window.stride[d] == 0;
      at /= p.window.stride[d];
    } else {
      at = x.at[d] * p.window.stride[d] - p.window.pre[d] +
           k * p.window.dilation[d];
    }
    inside = inside && at >= 0 && at < p.x.size[d];
    offset += at * p.x.stride[d];
  }
  return inside ? offset : -1;
}

DEVICE i64 find_output(const bsm_cuda_image &y, const pixel &x, i64 map) {
  return x.n * y.n_stride + map * y.c_stride + x.at[0] * y.stride[0] +
         x.at[1] * y.stride[1] + x.at[2] * y.stride[2];
}
