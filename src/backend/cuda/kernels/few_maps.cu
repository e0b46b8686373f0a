// SPDX-License-Identifier: Apache-2.0
// Convolutions of images of few maps, as the first of a network, on tensor
// cores. A block has tiles of 4 K_ROWS by 16 pixels of the output, one after the
// other, in K_BN maps: what their windows see lies in shared memory, where the
// maps of a pixel are an even number, so that lanes find two elements of k at a
// place that a table has. Images have any strides. Options: K_T (f16, bf16), K_X
// (the type of images, where that is another: float, which is rounded to K_T),
// K_ACTIVATION, K_BN (32, 64), K_ROWS, K_MAPS, and of the window K_KH, K_KW,
// K_SY, K_SX (strides), K_DY, K_DX (dilations); K_POOL: of each 2 by 2 pixels
// the largest (1) or the mean (2) is stored, with any strides. A warp has 2 lines
// of 8 pixels in place of 16 then, so that such pixels are in lanes 4 apart.
// grid: (blocks that share the tiles, tiles of maps)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "mma.cuh"
#include "narrow_activation.cuh"

#ifndef K_X
#define K_X K_T
#endif
#ifndef K_POOL
#define K_POOL 0
#endif

typedef K_T T;

DEVICE T element_of(T x) { return x; }
DEVICE T element_of(float x) { return from_float<T>(x); }

enum {
  THREADS = 128,
  LINES = K_POOL ? 2 : 1,  // of the 16 pixels that a warp multiplies at once
  ACROSS = 16 / LINES,
  DOWN = THREADS / 32 * K_ROWS * LINES,  // lines of a tile
  MAPS = K_MAPS + K_MAPS % 2,  // of a pixel in shared memory
  TAPS = K_KH * K_KW,
  K = TAPS * K_MAPS,
  STEPS = (TAPS * MAPS + 15) / 16,  // of 16 k, as they are multiplied
  ROOM = (STEPS + 3) / 4 * 64,      // for k, as weights are swizzled
  CHUNKS = ROOM / 8,
  WEIGHTS_BYTES = K_BN * ROOM * 2,
  HEIGHT = (DOWN - 1) * K_SY + (K_KH - 1) * K_DY + 1,
  WIDTH = (ACROSS - 1) * K_SX + (K_KW - 1) * K_DX + 1,
  SEEN = HEIGHT * WIDTH * K_MAPS,
  TN = K_BN / 8,  // tiles of 8 columns
  OWN = K_BN / 4  // maps of a pixel that a lane makes
};

// Where an element of k, in the order of shared memory, lies from the first
// tap on.
DEVICE int offset_of(int k) {
  const int tap = k / MAPS;
  return (tap / K_KW * K_DY * WIDTH + tap % K_KW * K_DX) * MAPS + k % MAPS;
}

// A map's column, such that the sums of a lane are OWN maps beside each other.
DEVICE int column_of(int map) {
  return map % OWN / 2 * 8 + map / OWN * 2 + map % 2;
}

DEVICE void place_weight(char *memory, int at, u32 bits) {
  const int map = at / K, tap = at % K / K_MAPS;
  const int k = tap * MAPS + at % K_MAPS;
  *(u16 *)(memory + swizzle<CHUNKS>(column_of(map), k / 8) + k % 8 * 2) =
      (u16)bits;
}

// What is left over stays zero: no number that an image may have matters there.
DEVICE void bring_weights(const bsm_cuda_mma &p, int n0, char *memory,
                          int thread) {
  for (int at = thread; at < WEIGHTS_BYTES / 16; at += THREADS) {
    ((uint4 *)memory)[at] = make_uint4(0, 0, 0, 0);
  }
  __syncthreads();
  const int rows = p.n - n0 < K_BN ? p.n - n0 : K_BN, count = rows * K;
  const T *from = (const T *)p.b + (i64)n0 * K;
  for (int at = thread * 8; at < count; at += THREADS * 8) {
    if (at + 8 <= count) {
      const uint4 chunk = *(const uint4 *)(from + at);
      const u32 words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
      for (int e = 0; e < 8; e++) {
        place_weight(memory, at + e, words[e / 2] >> e % 2 * 16);
      }
    } else {
      for (int e = at; e < count; e++) place_weight(memory, e, from[e].bits);
    }
  }
}

struct tile_at {
  int image, y, x;
};

DEVICE tile_at find_tile(const bsm_cuda_mma &p, int tile) {
  const int across = (p.out[2] + ACROSS - 1) / ACROSS;
  const int down = (p.out[1] + DOWN - 1) / DOWN;
  const int rest = tile / across;
  return {rest / down, rest % down * DOWN, tile % across * ACROSS};
}

DEVICE void bring_image(const bsm_cuda_mma &p, const tile_at &tile, T *seen,
                        int thread) {
  const K_X *image = (const K_X *)p.a + tile.image * p.image_stride;
  const int from_y = tile.y * K_SY - p.pre[1];
  const int from_x = tile.x * K_SX - p.pre[2];
#pragma unroll 8
  for (int at = thread; at < SEEN; at += THREADS) {
    const int x = at % WIDTH, y = at / WIDTH % HEIGHT;
    const int map = at / (WIDTH * HEIGHT);
    const int in_y = from_y + y, in_x = from_x + x;
    const bool is_inside =
        (u32)in_y < (u32)p.in[1] && (u32)in_x < (u32)p.in[2];
    T value = {0};
    if (is_inside) {
      value = element_of(image[in_y * p.in_stride[1] + in_x * p.in_stride[2] +
                               map * (int)p.a_column]);
    }
    seen[(y * WIDTH + x) * MAPS + map] = value;
  }
}

// Two elements of k of two pixels each, 8 k and 8 pixels, or a line, apart.
DEVICE void load_pixels(const T *seen, int2 offsets, bool low, bool high,
                        u32 (&a)[4]) {
  enum { APART = (K_POOL ? K_SY * WIDTH : 8 * K_SX) * MAPS };
  a[0] = low ? *(const u32 *)(seen + offsets.x) : 0;
  a[1] = low ? *(const u32 *)(seen + offsets.x + APART) : 0;
  a[2] = high ? *(const u32 *)(seen + offsets.y) : 0;
  a[3] = high ? *(const u32 *)(seen + offsets.y + APART) : 0;
}

// What the sums of a pixel that a lane has give.
DEVICE void find_values(const bsm_cuda_mma &p, const u32 (&bias)[OWN / 2],
                        int m, int n, const float (&sums)[TN][4], int half,
                        float (&v)[OWN]) {
  const i64 residual_at = m * p.residual_row;
#pragma unroll
  for (int i = 0; i < OWN; i++) {
    v[i] = sums[i / 2][half * 2 + i % 2] * p.scale +
           to_float(unpack<T>(bias[i / 2], i % 2));
    if (p.residual && n + i < p.n) {
      v[i] += to_float(
          ((const T *)p.residual)[residual_at + (n + i) * p.residual_column]);
    }
    v[i] = activate_sum<T>(K_ACTIVATION, v[i], p.alpha, p.beta);
  }
}

// Maps of a pixel, `apart` elements from each other.
DEVICE void store_values(const bsm_cuda_mma &p, T *to, i64 apart, int n,
                         const float (&v)[OWN]) {
#pragma unroll
  for (int i = 0; i < OWN; i += 8) {
    if (apart == 1 && n + i + 8 <= p.n && (u64)(to + i) % 16 == 0) {
      *(uint4 *)(to + i) = make_uint4(
          pack2<T>(v[i], v[i + 1]), pack2<T>(v[i + 2], v[i + 3]),
          pack2<T>(v[i + 4], v[i + 5]), pack2<T>(v[i + 6], v[i + 7]));
      continue;
    }
#pragma unroll
    for (int e = i; e < i + 8; e++) {
      if (n + e < p.n) to[e * apart] = from_float<T>(v[e]);
    }
  }
}

#if K_POOL
// As steps of pooling take one tap after the other.
DEVICE float pool(float value, float tap) {
  if (K_POOL == 2) return value + tap;
  return tap > value || tap != tap ? tap : value;
}

// Lanes of odd columns give theirs to those to the left of them.
DEVICE void store_window(const bsm_cuda_mma &p, const u32 (&bias)[OWN / 2],
                         const tile_at &at, int y, int n,
                         const float (&sums)[TN][4], int lane) {
  const int x = at.x + lane / 4;
  float v[2][OWN], out[OWN];
#pragma unroll
  for (int half = 0; half < 2; half++) {
    find_values(p, bias, 0, n, sums, half, v[half]);
  }
#pragma unroll
  for (int i = 0; i < OWN; i++) {
    out[i] = K_POOL == 2 ? 0 : lowest(0.0f);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const float own = to_float(from_float<T>(v[half][i]));
      out[i] = pool(pool(out[i], own), shuffle_xor(own, 4));
    }
    if (K_POOL == 2) out[i] /= 4;
  }
  if (lane / 4 % 2 == 0 && y / 2 < p.out[1] / 2 && x / 2 < p.out[2] / 2) {
    T *image = (T *)p.y + at.image * p.y_batch[0] + n * p.y_batch[1];
    store_values(p, image + y / 2 * p.y_line + x / 2 * p.y_row, p.y_batch[1], n,
                 out);
  }
}
#endif

// All pixels of tiles that a warp has.
DEVICE void store_tile(const bsm_cuda_mma &p, const u32 (&bias)[OWN / 2],
                       const tile_at &at, int n,
                       const float (&sums)[K_ROWS][TN][4], int warp, int lane) {
#pragma unroll
  for (int i = 0; i < K_ROWS; i++) {
    const int y = at.y + (warp * K_ROWS + i) * LINES;
#if K_POOL
    store_window(p, bias, at, y, n, sums[i], lane);
#else
    if (y >= p.out[1]) continue;
    const int line = (at.image * p.out[1] + y) * p.out[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int x = at.x + lane / 4 + half * 8;
      if (x >= p.out[2]) continue;
      float v[OWN];
      find_values(p, bias, line + x, n, sums[i], half, v);
      store_values(p, (T *)p.y + (line + x) * p.y_row + n, 1, n, v);
    }
#endif
  }
}

EARLY_RESIDENT_KERNEL_OF(THREADS, 4, few_maps, bsm_cuda_mma) {
  DYNAMIC_SHARED(memory);
  __shared__ int2 offsets[STEPS * 4];
  const int thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int n0 = (int)blockIdx.y * K_BN, own = n0 + lane % 4 * OWN;
  T *seen = (T *)(memory + WEIGHTS_BYTES);
  for (int at = thread; at < STEPS * 4; at += THREADS) {
    const int k = at / 4 * 16 + at % 4 * 2;
    offsets[at] = make_int2(offset_of(k), offset_of(k + 8));
  }
  if constexpr (MAPS != K_MAPS) {
    for (int at = thread; at < HEIGHT * WIDTH; at += THREADS) {
      seen[at * MAPS + K_MAPS].bits = 0;
    }
  }
  bring_weights(p, n0, memory, thread);
  u32 bias[OWN / 2];
#pragma unroll
  for (int i = 0; i < OWN; i++) {
    const u32 bits =
        p.bias && own + i < p.n ? ((const T *)p.bias)[own + i].bits : 0;
    bias[i / 2] = i % 2 ? bias[i / 2] | bits << 16 : bits;
  }
  wait_for_previous();

  const u32 weights = shared_address(memory);
  const int tiles = p.m / (p.out[1] * p.out[2]) *
                    ((p.out[2] + ACROSS - 1) / ACROSS) *
                    ((p.out[1] + DOWN - 1) / DOWN);
  for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
    const tile_at at = find_tile(p, tile);
    bring_image(p, at, seen, thread);
    __syncthreads();
    float sums[K_ROWS][TN][4];
#pragma unroll
    for (int i = 0; i < K_ROWS * TN * 4; i++) {
      sums[i / (TN * 4)][i / 4 % TN][i % 4] = 0;
    }
    const T *first =
        seen +
        (warp * K_ROWS * LINES * K_SY * WIDTH + lane / 4 * K_SX) * MAPS;
#pragma unroll 2
    for (int k = 0; k < STEPS; k++) {
      const int2 places = offsets[k * 4 + lane % 4];
      const int at_k = k * 16 + lane % 4 * 2;
      u32 a[K_ROWS][4], b[TN][2];
#pragma unroll
      for (int i = 0; i < K_ROWS; i++) {
        load_pixels(first + i * LINES * K_SY * WIDTH * MAPS, places,
                    at_k < TAPS * MAPS, at_k + 8 < TAPS * MAPS, a[i]);
      }
#pragma unroll
      for (int j = 0; j < TN; j += 2) {
        load_b<CHUNKS>(weights, j * 8, k, lane, &b[j]);
      }
#pragma unroll
      for (int i = 0; i < K_ROWS; i++) {
#pragma unroll
        for (int j = 0; j < TN; j++) multiply<T>(sums[i][j], a[i], b[j]);
      }
    }
    store_tile(p, bias, at, own, sums, warp, lane);
    __syncthreads();
  }
}
