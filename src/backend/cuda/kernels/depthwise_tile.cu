// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of channels-last images of two dimensions whose windows
// overlap much: a thread makes K_ROWS x K_STRIP outputs of K_VECTOR maps, and a
// line of the input that it has loaded serves all of its rows. Lanes have maps
// beside each other. What is not in the image is loaded from its edge and zero,
// without branches, which cost more than the products. The window's weights are in shared memory as floats; they
// are asked for before the kernel ahead has ended. Options: K_T (of what is
// computed in float), K_ACTIVATION, K_VECTOR (1, 2), K_ROWS, K_STRIP, K_KH, K_KW
// (the window), K_STRIDE_Y, K_STRIDE_X, K_WARPS. There is no dilation.
// grid: (tiles of K_WARPS tiles, groups of 32 K_VECTOR maps)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "pieces.cuh"

typedef K_T T;

enum {
  THREADS = 32 * K_WARPS,
  MAPS = 32 * K_VECTOR,
  TAPS = K_KH * K_KW,
  PITCH = MAPS + 2,  // so that taps beside each other are in other banks
  COLUMNS = (K_STRIP - 1) * K_STRIDE_X + K_KW,
  LINES = (K_ROWS - 1) * K_STRIDE_Y + K_KH
};

typedef piece<T, K_VECTOR> vector;

struct line {
  vector at[COLUMNS];
};

DEVICE int nearest(int at, int size) {
  return at < 0 ? 0 : at < size ? at : size - 1;
}

// Where the columns of a tile are in each line, and which are in the image.
struct columns {
  int offset[COLUMNS];
  bool is_there[COLUMNS];
  DEVICE columns(const bsm_cuda_convolution &p, int x) {
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
      is_there[i] = (u32)(x + i) < (u32)p.x.size[2];
      offset[i] = nearest(x + i, (int)p.x.size[2]) * (int)p.x.stride[2];
    }
  }
};

DEVICE void load_line(line &to, const bsm_cuda_convolution &p, const T *image,
                      const columns &at, int y) {
  const bool inside = (u32)y < (u32)p.x.size[1];
  const T *from = image + nearest(y, (int)p.x.size[1]) * (int)p.x.stride[1];
#pragma unroll
  for (int i = 0; i < COLUMNS; i++) {
    to.at[i].load(from + at.offset[i]);
    to.at[i].keep(inside && at.is_there[i]);
  }
}

// Adds a line to the row of outputs that it is line `ky` of.
DEVICE void add_line(float (&sums)[K_STRIP][K_VECTOR],
                     const float (&in)[COLUMNS][K_VECTOR],
                     const float *weights) {
#pragma unroll
  for (int kx = 0; kx < K_KW; kx++) {
    float w[K_VECTOR];
#pragma unroll
    for (int v = 0; v < K_VECTOR; v++) w[v] = weights[kx * PITCH + v];
#pragma unroll
    for (int s = 0; s < K_STRIP; s++) {
#pragma unroll
      for (int v = 0; v < K_VECTOR; v++) {
        sums[s][v] += in[s * K_STRIDE_X + kx][v] * w[v];
      }
    }
  }
}

DEVICE void store_row(const bsm_cuda_convolution &p,
                      const float (&sums)[K_STRIP][K_VECTOR], i64 n, int y,
                      int x0, int c) {
  T *to = (T *)p.y.address + n * p.y.n_stride + y * (int)p.y.stride[1] + c;
  float bias[K_VECTOR];
#pragma unroll
  for (int v = 0; v < K_VECTOR; v++) {
    bias[v] = p.bias ? load<T>(p.bias, c + v) : 0;
  }
#pragma unroll
  for (int s = 0; s < K_STRIP; s++) {
    const int x = x0 + s;
    if (x >= (int)p.y.size[2]) continue;
    vector out;
    out.clear();
#pragma unroll
    for (int v = 0; v < K_VECTOR; v++) {
      float value = sums[s][v] + bias[v];
      if (p.residual.address) {
        value += load<T>(p.residual.address,
                         n * p.residual.n_stride + (c + v) * p.residual.c_stride +
                             y * p.residual.stride[1] + x * p.residual.stride[2]);
      }
      out.set(v, activate(K_ACTIVATION, value, (float)p.alpha, (float)p.beta));
    }
    out.store(to + x * (int)p.y.stride[2]);
  }
}

// The kernels of maps lie together, and are read 16 bytes at a time.
DEVICE void bring_weights(const bsm_cuda_convolution &p, int first,
                          float *weights) {
  enum { CHUNK = 16 / sizeof(T), CHUNKS = MAPS * TAPS / CHUNK };
  struct __align__(16) chunk {
    T at[CHUNK];
  };
  const T *from = (const T *)p.kernel + (i64)first * TAPS;
  const int left = ((int)p.x.c - first) * TAPS;
#pragma unroll 8
  for (int i = (int)threadIdx.x; i < CHUNKS; i += THREADS) {
    chunk x;
    if ((i + 1) * CHUNK <= left) {
      x = *(const chunk *)(from + i * CHUNK);
    } else {
#pragma unroll
      for (int e = 0; e < CHUNK; e++) {
        x.at[e] = i * CHUNK + e < left ? from[i * CHUNK + e]
                                       : from_float<T>(0.0f);
      }
    }
#pragma unroll
    for (int e = 0; e < CHUNK; e++) {
      const int map = (i * CHUNK + e) / TAPS, tap = (i * CHUNK + e) % TAPS;
      weights[tap * PITCH + map] = to_float(x.at[e]);
    }
  }
}

EARLY_KERNEL_OF(THREADS, depthwise_tile, bsm_cuda_convolution) {
  __shared__ float weights[TAPS * PITCH];
  const int maps = (int)p.x.c, first = (int)blockIdx.y * MAPS;
  bring_weights(p, first, weights);
  __syncthreads();
  wait_for_previous();
  const int width = (int)p.y.size[2], height = (int)p.y.size[1];
  const int across = (width + K_STRIP - 1) / K_STRIP;
  const int down = (height + K_ROWS - 1) / K_ROWS;
  const int lane = (int)threadIdx.x % 32, c = first + lane * K_VECTOR;
  const int tile = (int)blockIdx.x * K_WARPS + (int)threadIdx.x / 32;
  const int x0 = tile % across * K_STRIP, y0 = tile / across % down * K_ROWS;
  const i64 n = tile / across / down;
  if (n >= p.y.n || c >= maps) return;
  const T *image = (const T *)p.x.address + n * p.x.n_stride + c;
  const int from_y = y0 * K_STRIDE_Y - (int)p.window.pre[1];
  const int from_x = x0 * K_STRIDE_X - (int)p.window.pre[2];
  float sums[K_ROWS][K_STRIP][K_VECTOR];
#pragma unroll
  for (int i = 0; i < K_ROWS * K_STRIP * K_VECTOR; i++) {
    sums[i / (K_STRIP * K_VECTOR)][i / K_VECTOR % K_STRIP][i % K_VECTOR] = 0;
  }
  const columns at(p, from_x);
  line next;
  load_line(next, p, image, at, from_y);
#pragma unroll 1
  for (int l = 0; l < LINES; l++) {
    float in[COLUMNS][K_VECTOR];
#pragma unroll
    for (int i = 0; i < COLUMNS * K_VECTOR; i++) {
      in[i / K_VECTOR][i % K_VECTOR] =
          next.at[i / K_VECTOR].get(i % K_VECTOR);
    }
    if (l + 1 < LINES) load_line(next, p, image, at, from_y + l + 1);
#pragma unroll
    for (int r = 0; r < K_ROWS; r++) {
      const int ky = l - r * K_STRIDE_Y;
      if ((u32)ky < (u32)K_KH) {
        add_line(sums[r], in, weights + ky * K_KW * PITCH + lane * K_VECTOR);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < K_ROWS; r++) {
    if (y0 + r < height) store_row(p, sums[r], n, y0 + r, x0, c);
  }
}
